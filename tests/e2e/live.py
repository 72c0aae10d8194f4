# SPDX-License-Identifier: MIT
"""Readers of live files under load, for test_live.sh and test_changes.sh. Each command prints "ok", or the fault.

    live.py restarts TABLE SESSIONS   processes commit numbers, each to rows of its own, while readers of .changes
        come and go: each gets every commit from its open on, once, and in order.
    live.py change TABLE STEPS        processes change the same rows in every way. Each makes STEPS changes.
    live.py lost TABLE                a reader of .changes that begins to read behind more commits than are kept.
    live.py wait FILE READERS         many blocked readers; a look at the mount meanwhile.
"""
import errno
import json
import mmap
import os
import random
import select
import signal
import sys
import time

WRITERS = 8
SEED = int(os.environ.get("ROWFS_SEED", time.time()))


def forked(call, *arguments):
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            status = call(*arguments) is not None
        except BaseException as fault:  # a test must see it
            print(repr(fault), flush=True)
        os._exit(status)
    return pid


def waited(pids):
    return [pid for pid in pids if os.waitpid(pid, 0)[1] != 0]


class Numbers:
    """The last number that each writer has committed, and whether all end, in memory that processes share."""

    def __init__(self):
        self.memory = mmap.mmap(-1, 8 * WRITERS + 1)

    def set(self, writer, number):
        self.memory[8 * writer:8 * writer + 8] = number.to_bytes(8, "little")

    def end(self):
        self.memory[8 * WRITERS] = 1

    def ended(self):
        return self.memory[8 * WRITERS] == 1

    def all(self):
        return [int.from_bytes(self.memory[8 * w:8 * w + 8], "little") for w in range(WRITERS)]


# ---- Restarts ------------------------------------------------------------------------------------


def commit_numbers(table, writer, numbers):
    number = 0
    while not numbers.ended():
        number += 1
        if number % 2:
            with open(f"{table}/.rows", "w") as rows:
                rows.write('{"key":"w%d#%d","families":{"f":{"q":"%d"}}}\n' % (writer, number % 7, number))
        else:
            with open(f"{table}/w{writer}/{number % 7}/f/q", "w") as cell:
                cell.write(str(number))
        numbers.set(writer, number)


def crowd(table, numbers, chance):
    """Readers that read slowly, and are killed."""
    def read():
        fd = os.open(f"{table}/.changes", os.O_RDONLY)
        while True:
            os.read(fd, chance.choice([1, 100, 10000]))
    while not numbers.ended():
        pid = forked(read)
        time.sleep(chance.random() * 0.2)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def session(table, numbers, chance):
    """Reads some lines of .changes, and what was committed by then. Returns the fault."""
    before = numbers.all()
    fd = os.open(f"{table}/.changes", os.O_RDONLY)
    after = numbers.all()
    seen, text, last = [[] for _ in range(WRITERS)], b"", None
    lines_left = chance.randrange(2000)
    while last is None or any(last[w] > after[w] + 1 and seen[w][-1:] < [last[w]] for w in range(WRITERS)):
        if not select.select([fd], [], [], int(os.environ["LIB_PATIENCE"]))[0]:
            return f"no line: {seen} of {last}"
        text += os.read(fd, chance.choice([1, 100, 4096, 131072]))
        *lines, text = text.split(b"\n")
        lines_left -= len(lines)
        for line in lines:
            row = json.loads(line)
            (cell,) = row["families"]["f"]["q"]
            seen[int(row["key"][1:].split("#")[0])].append(int(cell["value"]))
        if last is None and lines_left <= 0:
            last = numbers.all()
    os.close(fd)
    for w, got in enumerate(seen):
        if got and got != list(range(got[0], got[0] + len(got))):
            return f"writer {w}: {got}"
        if got and not before[w] < got[0] <= after[w] + 2:
            return f"writer {w} begins with {got[0]}; at the open it had committed {before[w]} to {after[w]}"
    return None


def restarts(table, sessions):
    numbers, chance, fault = Numbers(), random.Random(SEED), None
    pids = [forked(commit_numbers, table, w, numbers) for w in range(WRITERS)]
    pids += [forked(crowd, table, numbers, random.Random(SEED + i)) for i in range(2)]
    for _ in range(int(sessions)):
        fault = fault or session(table, numbers, chance)
    numbers.end()
    failed = waited(pids)
    return fault or (failed and "a writer failed")


# ---- Changes of every kind -----------------------------------------------------------------------


def change(table, steps):
    return "a writer failed" if waited([forked(change_some, table, random.Random(SEED + w), int(steps))
                                        for w in range(WRITERS)]) else None


def change_some(table, chance, steps):
    """Other processes change the same cells, so a step may find nothing."""
    for _ in range(steps):
        row = f"{table}/{chance.choice('ab')}/{chance.randrange(3)}"
        try:
            chance.choice(STEPS)(table, row, chance)
        except OSError as fault:
            if fault.errno not in (errno.ENOENT, errno.ESTALE, errno.EINVAL, errno.EEXIST, errno.ECANCELED):
                raise


def column(chance):
    return chance.choice(["q", "r", "sp ace", "x%01"])


def put(path, data, flags=os.O_TRUNC):
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | flags)
    try:
        os.write(fd, data)
    finally:
        os.close(fd)


def value(chance):
    size = chance.choice([0, 3, 3, 3, 100, 4097, 70000])
    return chance.randbytes(size) if chance.random() < 0.5 else (b"text " * (size // 5 + 1))[:size]


def do_line(table, row, chance):
    key = row[len(table) + 1:].replace("/", "#")
    name = chance.choice(["q", "r", "new"])
    with open(f"{table}/.rows", "w") as rows:
        rows.write(json.dumps(chance.choice([
            {"key": key, "families": {"f": {name: [{"ts": chance.randrange(9), "value": "v"}], "s": "w"}}},
            {"key": key, "families": {"n": {name: "v", "other": "w"}}},
            {"key": key, "delete": {"f": {name: [chance.randrange(9), 3]}}},
            {"key": key, "delete": {"f": {name: True}, "n": {name: True}}},
            {"key": key, "delete": {"f": True}, "families": {"n": {"q": "instead"}}},
            {"key": key, "delete": True},
            {"key": key, "append": {"f": {name: "+"}}, "families": {"f": {"z": "1"}}},
            {"key": key, "increment": {"i": {name: chance.randrange(-9, 9)}}},
            {"key": key, "if": {"f": {name: "v"}}, "families": {"f": {name: "was v"}}},
        ])) + "\n")


STEPS = [
    do_line, do_line, do_line,
    lambda t, row, c: put(f"{row}/f/{column(c)}", value(c)),
    lambda t, row, c: put(f"{row}/f/{column(c)}", value(c), os.O_APPEND),
    lambda t, row, c: put(f"{row}/n/{column(c)}", value(c)),
    lambda t, row, c: put(f"{row}/i/{column(c)}", b"%d\n" % c.randrange(99), os.O_APPEND),
    lambda t, row, c: put(f"{row}/i/{column(c)}", b"%d\n" % c.randrange(99)),
    lambda t, row, c: put(f"{row}/h/{column(c)}", b"%d\n" % c.randrange(9999), os.O_APPEND),
    lambda t, row, c: put(f"{row}/h/{column(c)}", b"one\n"),
    lambda t, row, c: os.rename(f"{row}/f/{column(c)}", f"{row}/f/{column(c)}"),
    lambda t, row, c: os.utime(f"{row}/f/{column(c)}", (5, 5)),
    lambda t, row, c: os.unlink(f"{row}/f/{column(c)}"),
    lambda t, row, c: put(f"{row}/f/q@/{c.randrange(9)}", value(c)),
    lambda t, row, c: os.unlink(f"{row}/f/q@/{c.randrange(9)}"),
]


# ---- Lines that are lost -------------------------------------------------------------------------


def lost(table):
    """Each line is a number in a row; the ring holds the last 64 MiB of them."""
    lines, size = 8000, 10000
    fd = os.open(f"{table}/.changes", os.O_RDONLY)
    with open(f"{table}/.rows", "w") as rows:
        for n in range(lines):
            rows.write('{"key":"l#%d","families":{"f":{"q":[{"ts":%d,"value":"%s"}]}}}\n' % (n, n, "x" * size))
    with os.fdopen(fd) as changes:
        first = json.loads(changes.readline())
        if list(first) != ["lost"]:
            return f"begins with {first}"
        for n in range(first["lost"], lines):
            row = json.loads(changes.readline())
            if row["key"] != f"l#{n}":
                return f"{row['key']} for {n}, {first}"
    kept = (lines - first["lost"]) * size
    return None if 30 << 20 < kept < 64 << 20 else f"{kept} bytes are kept"


# ---- Many readers --------------------------------------------------------------------------------


def wait(file, readers):
    """Blocked readers hold up nobody."""
    readers = int(readers)

    def read():
        fd = os.open(file, os.O_RDONLY)
        os.write(into, b".")
        return None if os.read(fd, 100000).endswith(b"}\n") else 1

    out, into = os.pipe()
    pids = [forked(read) for _ in range(readers)]
    for _ in range(readers):
        os.read(out, 1)
    time.sleep(0.2)
    table = os.path.dirname(file)
    for n in range(100):
        os.listdir(table)
    with open(f"{table}/.rows", "w") as rows:
        rows.write('{"key":"end","families":{"f":{"q":"v"}}}\n')
    return "a reader failed" if waited(pids) else None


if __name__ == "__main__":
    print({"restarts": restarts, "change": change, "lost": lost, "wait": wait}[sys.argv[1]](*sys.argv[2:]) or "ok")
