# SPDX-License-Identifier: MIT
"""Shared by the processes of the soak: the rows and policies, short calls on files, looks at
them, and the changes that began and ended."""
import mmap
import os
import struct

from soak_model import Policy, now

WRITERS, PREFIXES, LEAVES = 2, 4, 3  # the rows of the first prefix are never removed
GROUP, SINGLES = ["c0", "c1"], ["x", "y"]
NEVER = Policy("never")
OWN = [NEVER, Policy("maxversions=1", versions=1), Policy("maxversions=3", versions=3),
       Policy("maxage=500ms", age=500000), Policy("maxage=2s", age=2000000),
       Policy("maxversions=2 or maxage=1s", versions=2, age=1000000)]
SHARED = [Policy("maxversions=2", versions=2), Policy("maxversions=3", versions=3),
          Policy("maxversions=5", versions=5)]  # the tightest first, the loosest last


class Wrong(Exception):
    pass


def put(path, text, flags=os.O_WRONLY | os.O_CREAT | os.O_TRUNC):
    fd = os.open(path, flags, 0o644)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def put_in(path, *args):
    """The same, with the directories. Those may vanish with a cell whose time is over."""
    for _ in range(5):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        try:
            return put(path, *args)
        except FileNotFoundError:
            pass
    raise Wrong("%s cannot be made" % path)


def read(path):
    with open(path, encoding="latin-1") as file:
        return file.read()


def control(path, line):
    """One line to a control file, which a shell would write in one go, too."""
    put(path, line + "\n", os.O_WRONLY)


# ---- Looking ------------------------------------------------------------------------------------

def open_at(path):
    """Timestamp and value of a file, or None: it is not there."""
    try:
        with open(path, encoding="latin-1") as file:
            opened = os.fstat(file.fileno())
            text = file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if len(text) != opened.st_size:
        text = "%d bytes of %d" % (len(text), opened.st_size)
    return [opened.st_mtime_ns // 1000, text]


def stat_at(path):
    """Its timestamp by stat, and its size."""
    try:
        st = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return [st.st_mtime_ns // 1000, st.st_size]


def names_in(path):
    try:
        return os.listdir(path)
    except (FileNotFoundError, NotADirectoryError):
        return []


def look(family, name):
    """A process's view of a column, between two moments."""
    seen = {"from": now()}
    seen["stat"] = stat_at("%s/%s" % (family, name))
    seen["newest"] = open_at("%s/%s" % (family, name))
    seen["listed"] = name in names_in(family)
    history = "%s/%s@" % (family, name)
    seen["cells"] = [[int(ts), open_at("%s/%s" % (history, ts))] for ts in names_in(history)]
    seen["to"] = now()
    return seen


# ---- Begun and ended changes --------------------------------------------------------------------

class Shared:
    """Numbers in memory: stop, and of each row the last change that began, that ended, and whether
    the row is then there."""

    def __init__(self):
        self.memory = mmap.mmap(-1, 4 * (1 + 3 * WRITERS * PREFIXES * LEAVES))

    def get(self, at):
        return struct.unpack_from("=I", self.memory, 4 * at)[0]

    def set(self, at, number):
        struct.pack_into("=I", self.memory, 4 * at, number)

    @staticmethod
    def row(writer, row):
        return 1 + 3 * (writer * PREFIXES * LEAVES + row)

    def stopped(self):
        return self.get(0) != 0


def row_key(writer, at):
    return "w%d#%d#%d" % (writer, at // LEAVES, at % LEAVES)
