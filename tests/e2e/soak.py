# SPDX-License-Identifier: MIT
"""Processes that write, read, drop, change policies and collect in one mount, against models.

    soak.py MOUNT DIRECTORY SECONDS STEPS SEED  the soak; leaves its models in DIRECTORY
    soak.py MOUNT DIRECTORY verify              compares the mount with them, then takes policies away

The soak takes SECONDS, and goes on until each writer did STEPS and each other part did something.

Writers have rows and a family of their own, so each knows their visible content, and looks
after each change, itself and through another process: its model is in soak_model.py. Of the
families f, s and g0, g1, ... the first has no policy, that of the second is changed all the time,
those of the others are changed by their writers. Groups of columns are written together, through
.row and .rows, with a marker: the number of the change, and of the newest one that the group has.
Readers compare rows with their markers, and these with the changes that the writers began and ended
before and after. Prints the fault, or how much was done.
"""
import json
import os
import pickle
import random
import sys
import time
import traceback

from calls import Looker, started
from soak_model import (GROUP, LEAVES, NEVER, OWN, PREFIXES, SHARED, WRITERS, Shared, Wrong, control,
                        look, names_in, open_at, read, row_key)
from soak_writer import Writer


class Reader:
    def __init__(self, mount, shared, seed):
        self.mount, self.shared = mount, shared
        self.random = random.Random(seed * 100 + 50)
        self.last = {}

    def begun(self, writer, row):
        at = self.shared.row(writer, row)
        return self.shared.get(at + 1), self.shared.get(at + 2)

    def marker(self, writer, row, before, text):
        """The marker is one of the time from `before` up to now."""
        key = row_key(writer, row)
        ended, there = before
        started = self.shared.get(self.shared.row(writer, row))
        if text is None:
            if row < LEAVES or (started == ended and there):
                raise Wrong("%s was there, and is not seen" % key)
            return None
        number, head, floor = text.split()
        if started == ended and not there:
            raise Wrong("%s was not there, and is seen" % key)
        if not max(ended, self.last.get(key, 0)) <= int(number) <= started:
            raise Wrong("%s is seen as of change %s: %d had ended, %d was seen, %d had begun" % (
                key, number, ended, self.last.get(key, 0), started))
        self.last[key] = int(number)
        return int(number), head, int(floor)

    def rows(self, writer):
        rows = range(PREFIXES * LEAVES)
        before = [self.begun(writer, row) for row in rows]
        lines = read("%s/t/w%d/.rows" % (self.mount, writer)).splitlines()
        seen = {line["key"]: line["families"] for line in map(json.loads, lines)}
        for row in rows:
            key = row_key(writer, row)
            families = seen.pop(key, {})
            text = families.get("f", {}).get("m", [{"value": None}])[0]["value"]
            if families and text is None:
                raise Wrong("%s has no marker" % key)
            marker = self.marker(writer, row, before[row], text)
            if marker:
                self.group(key, families, *marker)
        if seen:
            raise Wrong("rows that nobody wrote: %s" % list(seen))

    @staticmethod
    def group(key, families, number, head, floor):
        for family, columns in families.items():
            for name in GROUP:
                cells = columns.get(name, [])
                numbers = [int(cell["value"].split(";")[0]) for cell in cells]
                if family == "f" and head != "?" and str(max(numbers[:1], default=0)) != head:
                    raise Wrong("%s/f/%s is of change %s, not %s" % (key, name, numbers[:1], head))
                if any(not floor <= one <= number for one in numbers):
                    raise Wrong("%s/%s/%s has cells of %s, not %d to %d" % (
                        key, family, name, numbers, floor, number))
                if family == "s" and len(cells) > SHARED[-1].versions:
                    raise Wrong("%s/s/%s shows %d cells" % (key, name, len(cells)))

    def files(self, writer):
        row = self.random.randrange(PREFIXES * LEAVES)
        before = self.begun(writer, row)
        seen = open_at("%s/t/%s/f/m" % (self.mount, row_key(writer, row).replace("#", "/")))
        self.marker(writer, row, before, seen and seen[1])
        names = os.listdir("%s/t/w%d" % (self.mount, writer))
        if "0" not in names or names != sorted(names):
            raise Wrong("w%d lists %s" % (writer, names))

    def run(self):
        reads = 0
        while not self.shared.stopped() or reads == 0:
            writer = self.random.randrange(WRITERS)
            self.rows(writer) if reads % 8 == 0 else self.files(writer)
            reads += 1
            time.sleep(0.01)
        return "%d reads" % reads


# ---- Drops, policies and the collector ----------------------------------------------------------

class Dropper:
    """Drops one of two prefixes, the other one and neighbours of both being there."""
    ROWS = 60

    def __init__(self, mount, shared):
        self.mount, self.shared = mount, shared

    def fill(self, prefix):
        lines = ["%s\n" % json.dumps({"key": "d#%d#%d" % (prefix, i), "families": {
            "s": {"v": [{"ts": ts, "value": "v"} for ts in range(1, 8)]}, "f": {"v": ["v"]}}})
            for i in range(self.ROWS)]
        with open("%s/t/.rows" % self.mount, "w", encoding="latin-1") as file:
            file.write("".join(lines))

    def expect(self, prefix, rows):
        keys = read("%s/t/d/.keys" % self.mount).split()
        count = sum(key.startswith("d#%d#" % prefix) for key in keys)
        listed = len(names_in("%s/t/d/%d" % (self.mount, prefix)))
        if count != rows or listed != rows:
            raise Wrong("d#%d has %d rows, and lists %d, not %d" % (prefix, count, listed, rows))
        if not {"d#00", "d#0!", "d#1!", "d#10"} <= set(keys):
            raise Wrong("neighbours went with a drop: %s" % keys[:5])

    def run(self):
        drops = 0
        put_row = "%s/t/.rows" % self.mount
        for key in "d#00", "d#0!", "d#1!", "d#10":
            control(put_row, '{"key":"%s","families":{"f":{"v":["1"]}}}' % key)
        while not self.shared.stopped() or drops == 0:
            prefix = drops % 2
            self.fill(0)
            self.fill(1)
            self.expect(prefix, self.ROWS)
            control("%s/t/d/%d/.drop" % (self.mount, prefix), "d#%d" % prefix)
            self.expect(prefix, 0)
            self.expect(1 - prefix, self.ROWS)
            drops += 1
            time.sleep(0.2)
        return "%d drops" % drops


class Collector:
    def __init__(self, mount, shared, seed):
        self.mount, self.shared = mount, shared
        self.random = random.Random(seed * 100 + 99)

    def run(self):
        changes = 0
        while not self.shared.stopped() or changes == 0:
            kind = self.random.randrange(10)
            if kind < 6:
                control(self.mount + "/t/.families/s/gc", self.random.choice(SHARED).text)
                changes += 1
            elif kind < 9:
                control(self.mount + "/.rowfs/gc", "run")
            else:
                control(self.mount + "/.rowfs/gc", "pause")
                time.sleep(0.05)
                control(self.mount + "/.rowfs/gc", "resume")
            time.sleep(0.05)
        return "%d policies" % changes


# ---- All of it ----------------------------------------------------------------------------------

def said(part, after):
    """The report of a part, or the fault."""
    try:
        text = part.run()
        after(part)
        return text
    except Wrong as wrong:
        return "wrong: %s" % wrong
    except Exception:
        return "wrong: %s" % traceback.format_exc()


def soak(mount, directory, seconds, steps, seed):
    shared = Shared()
    end = time.monotonic() + seconds
    writers = [Writer(mount, index, shared, seed) for index in range(WRITERS)]
    for writer in writers:
        for row in writer.rows:
            writer.write_group(row)
            # It stays when they go, so the kernel keeps names in it.
            os.makedirs(writer.path(row, writer.own), exist_ok=True)

    def goes_on(writer):
        return time.monotonic() < end or writer.steps < steps

    def save(part):
        if isinstance(part, Writer):
            with open("%s/model.%d" % (directory, part.index), "wb") as file:
                pickle.dump((part.rows, part.policy.text), file)

    parts = writers + [Reader(mount, shared, seed)]
    parts += [Dropper(mount, shared), Collector(mount, shared, seed)]
    for writer in writers:
        writer.goes_on = goes_on
    pipes = [started(said, part, save) for part in parts]
    texts = [pipe.read() for pipe in pipes[:WRITERS]]
    shared.stop()
    texts += [pipe.read() for pipe in pipes[WRITERS:]]
    wrong = [text for text in texts if text.startswith("wrong")]
    print("\n".join(wrong) if wrong else ", ".join(texts))


def verify(mount, directory):
    """Hidden cells that are still stored show when the policies go, and stay."""
    writers = [Writer(mount, index, Shared(), 0) for index in range(WRITERS)]
    text = read(mount + "/t/.families/s/gc").strip()
    shared = [policy for policy in SHARED if policy.text == text][0]
    for writer in writers:
        with open("%s/model.%d" % (directory, writer.index), "rb") as file:
            writer.rows, text = pickle.load(file)
        writer.policy = [policy for policy in OWN if policy.text == text][0]
        writer.quiet = (shared, shared)
        writer.compare_all()
        writer.looker = Looker(look)
        writer.set_policy(NEVER)
    control(mount + "/t/.families/s/gc", "never")
    for _ in "as it was", "collected":
        for writer in writers:
            writer.quiet = (NEVER, NEVER)
            writer.compare_all()
        control(mount + "/.rowfs/gc", "run")
    print("as it was")


def main():
    mount, directory = sys.argv[1:3]
    if sys.argv[3] == "verify":
        return verify(mount, directory)
    return soak(mount, directory, float(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5]))


main()
