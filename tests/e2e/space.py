# SPDX-License-Identifier: MIT
"""Writes and removes values of all sizes, in many orders and rhythms, below a bound of disk use.

    space.py STORE MOUNTPOINT SECONDS MIB BYTES SEED

It takes SECONDS, and goes on until it wrote MIB.
"""
import json
import os
import random
import sys
import time

KIB, MIB = 1 << 10, 1 << 20
SIZES = (10, 800, 4000, 5000, 40 * KIB, 70 * KIB, 300 * KIB, MIB, 4 * MIB, 12 * MIB)
ROWS, COLUMNS = 6, 40


def disk_use(store):
    total = 0
    for place, _, names in os.walk(store):
        for name in names:
            try:
                total += os.stat(os.path.join(place, name)).st_blocks * 512
            except FileNotFoundError:
                pass
    return total


class Load:
    def __init__(self, store, mountpoint, most, chance):
        self.store, self.root, self.most, self.chance = store, mountpoint, most, chance
        self.block = chance.randbytes(16 * MIB)
        self.written = 0

    def bytes(self, size):
        """Of no two values alike, and not to be compressed."""
        at = self.chance.randrange(len(self.block) - size)
        return self.block[at:at + size]

    def family(self):
        place = "%s/t/%d/%s" % (self.root, self.chance.randrange(ROWS), self.chance.choice("fg"))
        os.makedirs(place, exist_ok=True)
        return place

    def put(self, path, size):
        with open(path, "wb") as file:
            file.write(self.bytes(size))
        self.written += size

    def columns(self):
        family = self.family()
        return [os.path.join(family, name) for name in os.listdir(family)]

    def write(self):
        family, size = self.family(), self.chance.choice(SIZES)
        for _ in range(1 + self.chance.randrange(max(2, min(200, 20 * MIB // size)))):
            self.put("%s/%d" % (family, self.chance.randrange(COLUMNS)), size)

    def rewrite(self):
        """One cell, again and again."""
        family, size = self.family(), self.chance.choice(SIZES[:-2])
        os.makedirs(family + "/again@", exist_ok=True)
        for _ in range(min(300, 20 * MIB // size)):
            self.put(family + "/again@/5", size)

    def write_rows(self):
        with open(self.root + "/t/.rows", "w") as file:
            for i in range(20000):
                cell = {"f": {"q%d" % self.chance.randrange(3): "%0*d" % (30 + i % 400, i)}}
                file.write(json.dumps({"key": "many#%05d" % i, "families": cell}) + "\n")
        self.written += 5 * MIB

    def remove(self):
        columns, pause = self.columns(), self.chance.choice((0, 0, 0.01, 0.1, 0.3))
        self.chance.shuffle(columns)
        for path in columns[:self.chance.randrange(len(columns) + 1)]:
            os.unlink(path)
            time.sleep(pause / max(1, len(columns) / 8))

    def remove_versions(self):
        for path in self.columns():
            for ts in os.listdir(path + "@")[self.chance.randrange(4)::2]:
                os.unlink("%s@/%s" % (path, ts))

    def move(self):
        columns = self.columns()
        for i in range(0, len(columns) - 1, 2):
            os.rename(columns[i], columns[i + 1])

    def drop(self):
        row = self.chance.choice([str(i) for i in range(ROWS)] + ["many", "many"])
        if os.path.isdir("%s/t/%s" % (self.root, row)):
            with open("%s/t/%s/.drop" % (self.root, row), "w") as file:
                file.write(row + "\n")

    def drop_some(self):
        with open(self.root + "/t/.drop", "w") as file:
            for i in range(0, 100, 3):
                file.write("many#%03d\n" % self.chance.randrange(200))

    def collect(self):
        with open(self.root + "/.rowfs/gc", "w") as file:
            file.write("run\n")

    def rest(self):
        time.sleep(self.chance.random())

    def run(self, seconds, mib):
        end, largest = time.monotonic() + seconds, 0
        adds = (self.write, self.write, self.write, self.rewrite, self.write_rows)
        takes = (self.remove, self.remove, self.remove_versions, self.move, self.drop, self.collect,
                 self.rest)
        while time.monotonic() < end or self.written < mib * MIB:
            use = disk_use(self.store)
            largest = max(largest, use)
            if use < self.most // 2:
                kinds = 3 * adds + takes
            else:
                kinds = adds + takes if use < self.most - 64 * MIB else takes
            self.chance.choice(kinds)()
        return largest


def main():
    store, mountpoint, seconds, mib, most, seed = sys.argv[1:]
    load = Load(store, mountpoint, int(most), random.Random(int(seed)))
    largest = load.run(float(seconds), int(mib))
    print("written %d MiB, at most %d MiB of disk" % (load.written // MIB, largest // MIB))


if __name__ == "__main__":
    main()
