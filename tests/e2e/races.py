# SPDX-License-Identifier: MIT
"""Processes that write, read, rename and remove the same few columns at once.

    races.py FAMILY ACTS PROCESSES ACT…

Each process does ACTS acts, which it chooses at random: `write` and `edit` make a new version through a new open file,
`read` and `map` read one, `move`, `remove` and `look` do as named. Every value tells its own length and sum, so
a reader knows whether it is whole; a writer also asks for the size of its open file. Where names
are removed or renamed, one such size of all may be another version's, or one read may see the end of the file where the
next has its bytes (docs/semantics.md, Rare cases), and one act in 500 may meet a name that is another file's each time
it is looked at. Prints the fault, or "ok"; how often each act was done goes to
standard error.
"""
import collections
import errno
import hashlib
import json
import mmap
import os
import random
import sys

from calls import started

NAMES = ["a", "b", "x" * 230 + "%/tail"]
SIZES = [0, 10, 5000, 60000]
MET = {errno.ENOENT: "gone", errno.ESTALE: "stale", errno.ENODEV: "stale"}


def value(chance):
    body = bytes([chance.randrange(1, 256)]) * chance.choice(SIZES)
    return hashlib.md5(body).digest() + body


def is_whole(data):
    return len(data) - 16 in SIZES and hashlib.md5(data[16:]).digest() == data[:16]


def told(data):
    return "%d bytes from %r to %r" % (len(data), data[16:20], data[-4:])


def write_through(path, flags, chance):
    data = value(chance)
    fd = os.open(path, os.O_CREAT | os.O_TRUNC | flags)
    try:
        half = len(data) // 2
        os.write(fd, data[:half])
        os.write(fd, data[half:])
        size = os.fstat(fd).st_size
        back = data if flags == os.O_WRONLY else os.pread(fd, 1 << 20, 0)
    finally:
        os.close(fd)
    if back != data:
        return "wrote %s, size %d, read back %s" % (told(data), size, told(back))
    return None if size == len(data) else "size"


def write(path, chance):
    return write_through(path, os.O_WRONLY, chance)


def edit(path, chance):
    return write_through(path, os.O_RDWR, chance)


def resume(path, chance):
    """Opens an existing file to write, and leaves it. A file that goes between its lookup and its opening is empty."""
    fd = os.open(path, os.O_RDWR)
    data = os.pread(fd, 1 << 20, 0)
    size = os.fstat(fd).st_size
    os.close(fd)
    if (data and not is_whole(data)) or size != len(data):
        return "opened to write: %s, size %d" % (told(data), size)
    return None


def read(path, chance):
    fd = os.open(path, os.O_RDONLY)
    size = os.fstat(fd).st_size
    data, piece = b"", b"-"
    while piece:
        piece = os.read(fd, 4096 if size < 10000 else 50000)
        data += piece
    again = os.pread(fd, 1 << 20, 0)
    later = again or os.pread(fd, 1 << 20, 0)
    os.close(fd)
    if not is_whole(data) or data != later:
        return "read %s, then %s and %s, size %d" % (told(data), told(again), told(later), size)
    return None if data == again else "size"


def map_it(path, chance):
    fd = os.open(path, os.O_RDONLY)
    try:
        with mmap.mmap(fd, os.fstat(fd).st_size, prot=mmap.PROT_READ) as pages:
            data = pages[:]
        whole = os.pread(fd, 1 << 20, 0)
    except ValueError:  # it is shorter than that, or empty
        return "size"
    finally:
        os.close(fd)
    if data == whole[:len(data)] and is_whole(whole):
        return None if data == whole else "size"
    return "mapped %s of %s" % (told(data), told(whole))


def move(path, chance):
    directory = path.partition("/x")[0] if "%/" in path else os.path.dirname(path)
    os.rename(path, directory + "/" + chance.choice(NAMES))


def remove(path, chance):
    if chance.random() < 0.4:
        os.unlink(path)


def look(path, chance):
    os.stat(path)


def work(family, count, acts, number):
    """The faults that one process found, and how often it did each act."""
    chance, done = random.Random(number), collections.Counter()
    for _ in range(count):
        act, path = chance.choice(acts), family + "/" + chance.choice(NAMES)
        try:
            wrong = act(path, chance)
        except OSError as error:
            wrong = MET.get(error.errno, str(error))
        done[wrong if wrong in ("size", *MET.values()) else act.__name__] += 1
        if wrong and wrong not in done:
            return "%s: %s" % (act.__name__, wrong.replace("x" * 230, "x…")), done
    return "", done


def main():
    family, each, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    acts = [{"map": map_it}.get(name) or globals()[name] for name in sys.argv[4:]]
    os.makedirs(family + "/" + NAMES[2].partition("/")[0], exist_ok=True)
    pipes = [started(lambda: json.dumps(work(family, each, acts, number))) for number in range(count)]
    said = [json.load(pipe) for pipe in pipes]
    wrong = [text for text, _ in said if text]
    done = sum((collections.Counter(one) for _, one in said), collections.Counter())
    stay = not {"remove", "move"} & set(sys.argv[4:])
    for odd, most in ("size", 0 if stay else 1), ("stale", 0 if stay else sum(done.values()) // 500):
        if done[odd] > most:
            wrong.append("%s: %d of %d" % (odd, done[odd], sum(done.values())))
    print("\n".join(wrong) if wrong else "ok")
    print(" ".join("%s:%d" % pair for pair in sorted(done.items())), file=sys.stderr)


main()
