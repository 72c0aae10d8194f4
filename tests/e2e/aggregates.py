# SPDX-License-Identifier: MIT
"""The system calls of test_aggregates.sh: prints "ok NAME" or "not ok NAME: why".

aggregates.py open|elsewhere PATH    writes by one open file, and refused ones
aggregates.py looks PATH             a reader looks after each write
aggregates.py random MOUNT ROW SEED  random writes against a model; exit 1 where they differ
"""

import errno
import mmap
import os
import random
import sys

failed = False


def is_(name, expected, actual):
    global failed
    if expected == actual:
        print("ok", name)
    else:
        failed = True
        print(f"not ok {name}: expected {expected!r}, got {actual!r}")


def error(call, *args):
    try:
        return call(*args)
    except OSError as e:
        return errno.errorcode[e.errno]


def number(path):
    with open(path, "rb") as file:
        return file.read()


def test_open(path):
    fd = os.open(path, os.O_RDWR | os.O_CREAT)
    is_("calls: the count of a write", 6, os.write(fd, b"1\n20\n3"))
    is_("calls: lines that are ended are merged", b"21\n", number(path))
    is_("calls: the file is as long as what was written", 6, os.fstat(fd).st_size)
    is_("calls: and its end there", 6, os.lseek(fd, 0, os.SEEK_END))
    is_("calls: the rest of a line", 2, os.write(fd, b"0\n"))
    is_("calls: ends it", b"51\n", number(path))
    is_("calls: reading shows the number", b"51\n", os.pread(fd, 100, 0))
    os.write(fd, b"49")
    os.fsync(fd)
    is_("calls: fsync ends a line", b"100\n", number(path))
    is_("calls: a short count where a line is bad", 4, os.write(fd, b"1\n1\nx\n1\n"))
    is_("calls: then the error", "EINVAL", error(os.write, fd, b"x\n1\n"))
    is_("calls: what was counted is merged", b"102\n", number(path))
    is_("calls: nothing more is taken", "EINVAL", error(os.write, fd, b"1\n"))
    is_("calls: close tells, too", "EINVAL", error(os.close, fd))
    fd = os.open(path, os.O_WRONLY | os.O_APPEND)
    is_("calls: begun", 2, os.write(fd, b"1y"))
    is_("calls: refused by the write that ends it", "EINVAL", error(os.write, fd, b"2\n3\n"))
    is_("calls: also when that is tried again", "EINVAL", error(os.write, fd, b"2\n3\n"))
    is_("calls: and nothing is merged", b"102\n", number(path))
    os.ftruncate(fd, 0)
    is_("calls: truncated it begins anew", 4, os.write(fd, b"100\n"))
    os.write(fd, b"z")
    is_("calls: fsync tells of a bad line", "EINVAL", error(os.fsync, fd))
    is_("calls: as close does", "EINVAL", error(os.close, fd))
    fd = os.open(path, os.O_WRONLY | os.O_TRUNC)
    is_("calls: truncated, it is what it was", b"100\n", number(path))
    os.write(fd, b"4\n")
    is_("calls: a line replaces it", b"4\n", number(path))
    os.ftruncate(fd, 0)
    is_("calls: ftruncate alone changes nothing", b"4\n", number(path))
    os.pwrite(fd, b"5\n", 0)
    os.pwrite(fd, b"1\n", 2)
    is_("calls: the next line replaces, those behind are merged", b"6\n", number(path))
    os.close(fd)
    fd = os.open(path, os.O_WRONLY)
    is_("calls: the end of what it shows", 2, os.lseek(fd, 0, os.SEEK_END))
    is_("calls: a write there", 3, os.write(fd, b"10\n"))
    is_("calls: is merged", b"16\n", number(path))
    os.close(fd)
    with open(path, "a") as file:
        for i in range(1000):
            file.write(f"{i}\n")
    is_("calls: by a buffered file", b"499516\n", number(path))


def test_elsewhere(path):
    fd = os.open(path, os.O_RDWR)
    before = number(path)
    is_("elsewhere: at the start", "EINVAL", error(os.pwrite, fd, b"7\n", 0))
    is_("elsewhere: in the middle", "EINVAL", error(os.pwrite, fd, b"7\n", 1))
    is_("elsewhere: behind the end", "EINVAL", error(os.pwrite, fd, b"7\n", 100))
    is_("elsewhere: ftruncate", "EINVAL", error(os.ftruncate, fd, 1))
    is_("elsewhere: a longer one", "EINVAL", error(os.ftruncate, fd, 50))
    is_("elsewhere: truncate", "EINVAL", error(os.truncate, path, 0))
    is_("elsewhere: mmap", "ENODEV", error(mmap.mmap, fd, 2))
    is_("elsewhere: changed nothing", before, number(path))
    os.close(fd)
    is_("elsewhere: mknod", "ENOTSUP", error(os.mknod, path + "-nod"))
    is_("elsewhere: makes nothing", False, os.path.exists(path + "-nod"))


def test_looks(path):
    """The kernel keeps the name while nobody writes; each look behind a write is exact."""
    total = 0
    wrong = []
    for i in range(300):
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        for _ in range(i % 3):
            total += 7 ** (i % 9)
            os.write(fd, b"%d\n" % 7 ** (i % 9))
            if os.stat(path).st_size != len(str(total)) + 1 or int(number(path)) != total:
                wrong.append(i)
        os.close(fd)
        if total and os.stat(path).st_size != len(str(total)) + 1:
            wrong.append(i)
    is_("looks", [], wrong)


def test_random(mount, row, seed):
    """Columns as {timestamp: number}; all views agree, for all ways of writing."""
    choose = random.Random(int(seed))
    plain, versions = os.path.join(mount, row), os.path.join(mount, ".versions", row)
    os.makedirs(plain)
    model = {}
    for step in range(300):
        name = choose.choice("abc")
        cells = model.setdefault(name, {})
        numbers = [choose.randint(-50, 50) for _ in range(choose.choice([1, 1, 1, 2, 5]))]
        lines = "".join(f"{n}\n" for n in numbers)
        replaces = choose.random() < 0.3
        ts = max(cells, default=None)
        path = os.path.join(plain, name)
        kind = choose.random()
        if kind < 0.5:
            ts = choose.randint(0, 5)
            path = os.path.join(choose.choice([plain, versions]), name + "@")
            os.makedirs(path, exist_ok=True)
            path = os.path.join(path, str(ts))
        elif kind < 0.6 and cells:
            ts = choose.choice(list(cells))
            os.unlink(os.path.join(plain, name + "@", str(ts)))
            del cells[ts]
            continue
        with open(path, "w" if replaces else "a") as file:
            file.write(lines)
        if ts is None:
            ts = int(os.listdir(os.path.join(plain, name + "@"))[0])
        cells[ts] = sum(numbers) + (0 if replaces else cells.get(ts, 0))
        for tree in plain, versions:
            history = os.path.join(tree, name + "@")
            seen = {int(v): int(number(os.path.join(history, v))) for v in os.listdir(history)}
            if seen != cells:
                is_(f"random: step {step}: {path}", cells, seen)
                return
        if int(number(os.path.join(plain, name))) != cells[max(cells)]:
            is_(f"random: step {step}: the newest", cells, number(os.path.join(plain, name)))
            return


tests = {"open": test_open, "elsewhere": test_elsewhere, "looks": test_looks, "random": test_random}
tests[sys.argv[1]](*sys.argv[2:])
sys.exit(failed)
