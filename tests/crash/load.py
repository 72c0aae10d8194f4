# SPDX-License-Identifier: MIT
"""
A mixed load on a mount, cut off at a random moment, and a check whether the cells afterwards are allowed.

    load.py schema
        prints the schema of a store for it
    load.py run MOUNT FILE SEED (power DIRECTORY | kill PID)
        works until the filesystem of DIRECTORY is shut down as by a power cut, or the process killed
    load.py check MOUNT FILE PROMISE LOGS
        compares; PROMISE is "synced" or "everything", LOGS how many logs the engine's directory had

In FILE the first leaves the steps done, and the second the cells found, on which the next round
starts.
"""

import base64
import errno
import fcntl
import json
import multiprocessing
import os
import pickle
import random
import signal
import struct
import sys
import time

import model

WORKERS = 4
LONGEST = 1 if os.environ.get("ROWFS_FULL", "0") in ("", "0") else 3  # seconds until a cut
SCHEMA = '{"version":1,"tables":{"t":{"families":{"f":{},"g":"maxversions=2","n":{"type":"intsum"}}}}}'
EXT4_IOC_SHUTDOWN = 0x8004587D
NOLOGFLUSH = 2
AFTER_A_CUT = {errno.EIO, errno.EROFS, errno.ENOTCONN, errno.ECONNABORTED, errno.ENODEV}
MIB = 1 << 20
PATIENCE = int(os.environ["LIB_PATIENCE"])  # seconds (lib.sh)
ENOUGH = 20  # acknowledged steps: more than check_rounds of crash.sh asks for


def make_directory(path):
    try:
        os.makedirs(path, exist_ok=True)
    except FileExistsError:
        pass  # also where the mount ended before makedirs saw that it is a directory


class Worker:
    """Changes its own cells, one step after the other, and knows the cells that must be there."""

    def __init__(self, mount, number, base, seed, cut, progress):
        self.mount = mount
        self.number = number
        self.random = random.Random(seed)
        self.cells = dict(base)
        self.history = model.History(base)
        self.cut = cut
        self.progress = progress
        self.clock = max([int(time.time() * 1e6)] + [c[4] for c in base])
        self.count = 0

    # ---- The model

    def step(self, name, effects):
        step = model.Step(effects, time.monotonic_ns(), 0, name)
        self.history.steps.append(step)
        return step

    def done(self, steps, ts=None):
        """The steps were acknowledged. ts: the server's timestamp, as far as it can be asked."""
        now = time.monotonic_ns()
        for step in steps:
            step.acknowledged = now
        for step in steps:
            try:
                step.effects = {
                    c[:4] + (ts(),) if c[4] is model.SERVER else c: v
                    for c, v in step.effects.items()
                }
            finally:
                model.apply(self.cells, step.effects)
        self.progress[self.number] += len(steps)

    def column(self, row, family, qualifier):
        """Its cells, newest first."""
        found = [c for c in self.cells if c[:4] == ("t", row, family, qualifier)]
        return sorted(found, key=lambda c: -c[4])

    def put(self, row, family, qualifier, ts, value):
        """The effects of a version; cells that the policy of g then hides are gone."""
        cell = ("t", row, family, qualifier, ts)
        effects = {cell: model.seen(value)}
        if family == "g":
            others = [c for c in self.column(row, family, qualifier) if c[4] != ts]
            newer = [c for c in others if ts is not model.SERVER and c[4] > ts]
            order = newer + [cell] + others[len(newer):]
            effects.update({c: None for c in order[2:]})
        return effects

    def tick(self):
        self.clock += self.random.randint(1, 1000)
        return self.clock

    def value(self, large=True):
        self.count += 1
        head = f"{self.number}.{len(self.history.steps)}.{self.count} ".encode()
        size = self.random.choice([0, 10, 10, 100, 100, 1000, 5000])
        if large:
            size = self.random.choice([size] * 12 + [60000, 70000, 300000, 900000])
        return head + self.random.randbytes(size).hex().encode()[:size]

    # ---- Places

    def pick(self, family=None, some=False):
        """A row, family and qualifier. some: with a cell."""
        row = f"w{self.number}#r{self.random.randrange(5)}"
        family = family or self.random.choice("ffg")
        place = (row, family, f"c{self.random.randrange(6)}")
        if some and not self.column(*place):
            there = [c for c in self.cells if c[0] == "t" and c[2] == family and "#r" in c[1]]
            place = self.random.choice(there)[1:4] if there else None
        return place

    def path(self, row, family, qualifier, ts=None):
        directory = f"{self.mount}/t/{row.replace('#', '/')}/{family}"
        make_directory(directory)
        return f"{directory}/{qualifier}" if ts is None else f"{directory}/{qualifier}@/{ts}"

    def stamp(self, path):
        return lambda: os.stat(path).st_mtime_ns // 1000

    def write(self, path, data, flags=os.O_TRUNC, sync=False):
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | flags, 0o644)
        try:
            while data:
                data = data[os.write(fd, data):]
            if sync:
                began = time.monotonic_ns()
                os.fsync(fd)
                self.history.synced.append((began, time.monotonic_ns(), len(self.history.steps)))
        finally:
            os.close(fd)

    # ---- Steps

    def set(self):
        place = self.pick()
        path, value = self.path(*place), self.value()
        step = self.step("set", self.put(*place, model.SERVER, value))
        self.write(path, value, sync=self.random.random() < 0.1)
        self.done([step], self.stamp(path))

    def set_large(self):
        row, _, _ = self.pick()
        place = (row, "g", f"large{self.random.randrange(2)}")
        path = self.path(*place)
        value = self.value() + self.random.randbytes(self.random.randrange(MIB, 5 * MIB))
        step = self.step("set_large", self.put(*place, model.SERVER, value))
        self.write(path, value, sync=self.random.random() < 0.3)
        self.done([step], self.stamp(path))

    def set_version(self):
        place, value = self.pick(), self.value()
        cells = self.column(*place)
        ts = self.random.choice(cells)[4] if cells and self.random.random() < 0.5 else self.tick()
        path = self.path(*place)
        make_directory(path + "@")
        step = self.step("set_version", self.put(*place, ts, value))
        self.write(f"{path}@/{ts}", value)
        self.done([step])

    def append(self):
        row, _, _ = self.pick()
        place = (row, self.random.choice("fg"), "log")
        cells = self.column(*place)
        value = self.value(large=False)
        whole = (self.cells[cells[0]] if cells else b"") + value
        if len(whole) > model.KEPT:
            return self.remove(place)
        path = self.path(*place)
        step = self.step("append", self.put(*place, model.SERVER, whole))
        self.write(path, value, os.O_APPEND, sync=self.random.random() < 0.1)
        return self.done([step], self.stamp(path))

    def increment(self):
        row, _, _ = self.pick()
        cells = self.column(row, "n", "hits")
        ts = cells[0][4] if cells else model.SERVER
        number = self.random.randrange(1, 100)
        total = number + (self.cells[cells[0]] if cells else 0)
        path = self.path(row, "n", "hits")
        step = self.step("increment", {("t", row, "n", "hits", ts): total})
        line = json.dumps({"increment": {"n": {"hits": number}}}).encode()
        self.write(f"{self.mount}/t/{row.replace('#', '/')}/.row", line + b"\n", 0)
        self.done([step], self.stamp(path))

    def remove(self, place=None):
        place = place or self.pick(some=True)
        if not place:
            return
        path = self.path(*place)
        cells = self.column(*place)
        if len(cells) > 1 and self.random.random() < 0.5:
            cell = self.random.choice(cells)
            step = self.step("remove_version", {cell: None})
            os.unlink(f"{path}@/{cell[4]}")
        elif cells:
            step = self.step("remove", {c: None for c in cells})
            os.unlink(path)
        else:
            return
        self.done([step])

    def rename(self):
        place = self.pick(some=True)
        if not place:
            return
        row, family, qualifier = place
        to = "large9" if qualifier.startswith("large") else f"c{self.random.randrange(6)}"
        if to == qualifier or qualifier == "log":
            return
        cells, there = self.column(*place), self.column(row, family, to)
        newest = cells[0]
        if not there:
            effects = {c[:3] + (to, c[4]): self.cells[c] for c in cells}
        else:
            ts = newest[4] if newest[4] > there[0][4] else model.SERVER
            effects = {newest[:3] + (to, ts): self.cells[newest]}
            if family == "g":
                effects.update({c: None for c in there[1:]})
        effects.update({c: None for c in cells})
        source, target = self.path(*place), self.path(row, family, to)
        step = self.step("rename", effects)
        os.rename(source, target)
        self.done([step], self.stamp(target))

    def rename_version(self):
        place = self.pick("f", some=True)
        if not place:
            return
        cells = self.column(*place)
        cell = self.random.choice(cells)
        to = f"c{self.random.randrange(6)}"
        if to == place[2]:
            return
        there = self.column(place[0], "f", to)
        ts = cell[4] if not there or cell[4] > there[0][4] else model.SERVER
        effects = {cell: None, cell[:3] + (to, ts): self.cells[cell]}
        source, target = self.path(*place), self.path(place[0], "f", to)
        step = self.step("rename_version", effects)
        os.rename(f"{source}@/{cell[4]}", target)
        self.done([step], self.stamp(target))

    def stamp_again(self):
        place = self.pick(some=True)
        if not place:
            return
        cell = self.column(*place)[0]
        self.clock = max(self.clock, cell[4])
        ts = self.tick()
        path = self.path(*place)
        step = self.step("stamp_again", {cell: None, cell[:4] + (ts,): self.cells[cell]})
        os.utime(path, ns=(ts * 1000, ts * 1000))
        self.done([step])

    def row(self):
        """Several cells of a row at once, some of them large, and some columns gone."""
        row, _, _ = self.pick()
        sets, deletes, effects = {}, {}, {}
        large = self.random.random() < 0.1
        for qualifier in self.random.sample(range(6), self.random.randrange(2, 6)):
            family, qualifier = self.random.choice("fg"), f"c{qualifier}"
            cells = self.column(row, family, qualifier)
            if self.random.random() < 0.3:
                deletes.setdefault(family, {})[qualifier] = True
                effects.update({c: None for c in cells})
                continue
            value = self.value()
            if large:
                value += self.random.randbytes(self.random.randrange(MIB))
            self.clock = max([self.clock] + [c[4] for c in cells])
            ts = self.tick()
            cell = {"ts": ts, "base64": base64.b64encode(value).decode()}
            sets.setdefault(family, {})[qualifier] = [cell]
            effects.update(self.put(row, family, qualifier, ts, value))
        line = {"families": sets}
        if deletes:
            line["delete"] = deletes
        path = f"{os.path.dirname(self.path(row, 'f', ''))}"
        step = self.step("row", effects)
        self.write(f"{os.path.dirname(path)}/.row", json.dumps(line).encode() + b"\n", 0)
        self.done([step])

    def rows(self, count=None):
        """Many rows, each a step, below a prefix that drop takes."""
        prefix = f"w{self.number}#d{self.random.randrange(3)}"
        count = count or self.random.choice([3, 30, 300])
        lines, steps = [], []
        make_directory(f"{self.mount}/t/{prefix.replace('#', '/')}")
        for i in range(count):
            ts, value = self.tick(), self.value(large=False)
            key = f"{prefix}#{i:05}" if i else prefix
            cell = {"ts": ts, "value": value.decode()}
            lines.append(json.dumps({"key": key, "families": {"f": {"q": [cell]}}}))
            steps.append(self.step("rows", {("t", key, "f", "q", ts): model.seen(value)}))
        path = f"{self.mount}/t/{prefix.replace('#', '/')}/.rows"
        self.write(path, "\n".join(lines).encode() + b"\n", 0)
        self.done(steps)
        return prefix

    def drop(self, prefix=None):
        prefix = prefix or f"w{self.number}#d{self.random.randrange(3)}"
        gone = [c for c in self.cells
                if c[0] == "t" and (c[1] == prefix or c[1].startswith(prefix + "#"))]
        make_directory(f"{self.mount}/t/{prefix.replace('#', '/')}")
        step = self.step("drop", {c: None for c in gone})
        self.write(f"{self.mount}/t/{prefix.replace('#', '/')}/.drop", prefix.encode() + b"\n", 0)
        self.done([step])

    def drop_long(self):
        """More than a batch of the engine's."""
        self.drop(self.rows(5000))

    def schema(self):
        """Its own table: made, given families and policies, filled, emptied, removed."""
        table = f"s{self.number}"
        path = f"{self.mount}/{table}"
        families = [c[2] for c in self.cells if c[:2] == (table, "") and c[2]]
        rows = [c for c in self.cells if c[0] == table and c[1]]
        if (table, "", "", "", 0) not in self.cells:
            step = self.step("table", {(table, "", "", "", 0): "table"})
            os.mkdir(path)
        elif rows and self.random.random() < 0.4:
            step = self.step("drop_table", {c: None for c in rows})
            self.write(f"{path}/.drop", table.encode() + b"\n", 0)
        elif families and self.random.random() < 0.3:
            family = self.random.choice(families)
            if any(c[2] == family for c in rows):
                return
            step = self.step("family_gone", {(table, "", family, "", 0): None})
            os.rmdir(f"{path}/.families/{family}")
        elif families and self.random.random() < 0.4:
            ts, value, family = self.tick(), self.value(), self.random.choice(families)
            cell = {"ts": ts, "value": value.decode()}
            line = {"key": "r", "families": {family: {f"c{ts}": [cell]}}}
            step = self.step("table_row", {(table, "r", family, f"c{ts}", ts): model.seen(value)})
            self.write(f"{path}/.rows", json.dumps(line).encode() + b"\n", 0)
        elif families and self.random.random() < 0.5:
            family = self.random.choice(families)
            policy = f"maxversions={self.random.randrange(3, 9)}"
            step = self.step("policy", {(table, "", family, "", 0): policy})
            self.write(f"{path}/.families/{family}/gc", policy.encode() + b"\n", 0)
        elif not families and self.random.random() < 0.3:
            step = self.step("table_gone", {(table, "", "", "", 0): None})
            os.rmdir(path)
        elif len(families) < 3:
            family = f"x{self.random.randrange(1000)}"
            if family in families:
                return
            step = self.step("family", {(table, "", family, "", 0): "never"})
            os.mkdir(f"{path}/.families/{family}")
        else:
            return
        self.done([step])

    def sync(self):
        own = len(self.history.steps)
        fd = os.open(f"{self.mount}/t", os.O_RDONLY | os.O_DIRECTORY)
        try:
            began = time.monotonic_ns()
            os.fsync(fd)
            self.history.synced.append((began, time.monotonic_ns(), own))
        finally:
            os.close(fd)

    def collect(self):
        if self.number == 0:
            self.write(f"{self.mount}/.rowfs/gc", b"run\n", 0)

    # ---- All of it

    DOES = {"set": 30, "set_large": 2, "set_version": 10, "append": 15, "increment": 8, "remove": 10,
            "rename": 12, "rename_version": 6, "stamp_again": 8, "row": 15, "rows": 3, "drop": 2,
            "drop_long": 0.3, "schema": 5, "sync": 2, "collect": 0.5}

    def work(self):
        names, weights = list(self.DOES), list(self.DOES.values())
        while True:
            name = self.random.choices(names, weights)[0]
            try:
                getattr(self, name)()
            except OSError as error:
                if not self.cut.value:
                    self.history.faults.append(f"{name}, before the cut: {error}")
                elif error.errno not in AFTER_A_CUT:
                    self.history.faults.append(f"{name}: {error}")
                return
            if self.cut.value and time.monotonic_ns() - self.cut.value > PATIENCE * 10**9:
                self.history.faults.append("writing went on behind the cut")
                return


def work(worker, path):
    try:
        worker.work()
    except BaseException as error:
        worker.history.faults.append(f"worker {worker.number}: {error!r}")
        raise
    finally:
        worker.history.forget_since(worker.cut.value or time.monotonic_ns())
        with open(path, "wb") as file:
            pickle.dump(worker.history, file)


def cut_off(how, what):
    if how == "kill":
        os.kill(int(what), signal.SIGKILL)
        return
    fd = os.open(what, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.ioctl(fd, EXT4_IOC_SHUTDOWN, struct.pack("I", NOLOGFLUSH))
    os.close(fd)


def wait(seed, chance, processes, progress):
    """Until a random moment: one round in six at the very beginning, the others behind enough steps,
    however slow these are."""
    if seed % 6 == 0:
        time.sleep(chance.uniform(0, 0.2))
        return
    time.sleep(chance.uniform(0.2, LONGEST))
    end = time.monotonic() + PATIENCE
    while sum(progress) < ENOUGH and time.monotonic() < end and all(p.is_alive() for p in processes):
        time.sleep(chance.uniform(0, 0.2))


def run(mount, path, seed, how, what):
    chance = random.Random(seed)
    try:
        with open(path, "rb") as file:
            bases = pickle.load(file)
    except FileNotFoundError:
        bases = [{}] * WORKERS
    cut = multiprocessing.Value("q", 0)
    progress = multiprocessing.Array("q", WORKERS, lock=False)  # each worker has its own
    workers = [Worker(mount, i, bases[i], chance.random(), cut, progress) for i in range(WORKERS)]
    processes = [multiprocessing.Process(target=work, args=(w, f"{path}.{w.number}"))
                 for w in workers]
    for process in processes:
        process.start()
    wait(seed, chance, processes, progress)
    cut.value = time.monotonic_ns()
    cut_off(how, what)
    for process in processes:
        process.join(PATIENCE)
        if process.is_alive():
            process.kill()
            sys.exit("a worker hangs behind the cut")
        if process.exitcode != 0:
            sys.exit("a worker failed")


def check(mount, path, promise, logs):
    histories = []
    for number in range(WORKERS):
        with open(f"{path}.{number}", "rb") as file:
            histories.append(pickle.load(file))
    found = [model.read_worker(mount, number) for number in range(WORKERS)]
    faults, counts = model.compare(histories, found, promise == "everything", int(logs) <= 1)
    if faults:
        sys.exit("\n".join(faults))
    with open(path, "wb") as file:
        pickle.dump(found, file)
    print("%d steps, %d promised, %d lost%s" % (*counts[:3], ", with a gap" if counts[3] else ""))


if __name__ == "__main__":
    multiprocessing.set_start_method("fork")
    if sys.argv[1:] == ["schema"]:
        print(SCHEMA)
    elif sys.argv[1] == "run":
        run(*sys.argv[2:4], int(sys.argv[4]), *sys.argv[5:7])
    else:
        check(*sys.argv[2:6])
