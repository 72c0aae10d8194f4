# SPDX-License-Identifier: MIT
"""Changes of columns and versions, for caches.py: each yields the names that it concerns, and then
their expected state."""
import errno
import mmap
import os
import shutil
import signal
import time

from caches_look import GONE, scan


class World:
    def __init__(self, mount, table):
        self.mount, self.table = mount, table
        self.plain = "%s/%s" % (mount, table)
        self.versions = "%s/.versions/%s" % (mount, table)
        self.row = "a/b"
        self.stamp = int(time.time() * 1000000) - 1000000000
        self.number = 0
        os.makedirs("%s/%s/f" % (self.plain, self.row), exist_ok=True)

    def f(self, name=""):
        return "%s/%s/f/%s" % (self.plain, self.row, name)

    def v(self, name=""):
        return "%s/%s/f/%s" % (self.versions, self.row, name)

    def next(self):
        """A value that was not there before."""
        self.number += 1
        return "v" * (self.number % 7) + str(self.number)

    def ts(self):
        self.stamp += 1000
        return self.stamp


def put(path, value, flags=os.O_WRONLY | os.O_CREAT | os.O_TRUNC):
    fd = os.open(path, flags, 0o644)
    os.write(fd, value.encode())
    os.close(fd)


def value(text, ts=None):
    return ["file", text, len(text), ts]


def fresh(world, name="q"):
    """Removes a column, and rebuilds it with two cells; returns their values and times."""
    if os.path.exists(world.f(name)):
        os.unlink(world.f(name))
    cells = []
    for _ in range(2):
        cell = (world.next(), world.ts())
        os.makedirs(world.v(name + "@"), exist_ok=True)
        put(world.v("%s@/%d" % (name, cell[1])), cell[0])
        cells.append(cell)
    return cells


# A scenario is a generator: it yields the names that a change will concern, makes the change when
# it goes on, and yields their expected state.

def write(world):
    put(world.f("q"), world.next())
    yield [world.f("q")]
    new = world.next()
    put(world.f("q"), new)
    yield [value(new)]


def append(world):
    old = world.next()
    put(world.f("q"), old)
    yield [world.f("q")]
    new = world.next()
    put(world.f("q"), new, os.O_WRONLY | os.O_APPEND)
    yield [value(old + new)]


def truncated(world):
    """The last close commits, and no process waits for that."""
    put(world.f("q"), world.next())
    yield [world.f("q"), world.f("n")]
    os.close(os.open(world.f("q"), os.O_WRONLY | os.O_TRUNC))
    os.close(os.open(world.f("n"), os.O_WRONLY | os.O_CREAT))
    yield [value(""), value("")]
    yield [world.f("q"), world.f("n")]
    os.unlink(world.f("n"))
    os.truncate(world.f("q"), 5)
    yield [value("\0" * 5), GONE]


def synced(world):
    put(world.f("q"), world.next())
    yield [world.f("q")]
    fd = os.open(world.f("q"), os.O_RDWR | os.O_TRUNC)
    new = world.next()
    os.write(fd, new.encode())
    os.fsync(fd)
    yield [value(new)]
    yield [world.f("q")]
    more = world.next()
    os.write(fd, more.encode())
    os.close(fd)
    yield [value(new + more)]


def map_shared(path):
    """Where others look at the name at that moment, an open file may be one without pages."""
    while True:
        fd = os.open(path, os.O_RDWR)
        try:
            return fd, mmap.mmap(fd, 4)
        except OSError as error:
            os.close(fd)
            if error.errno != errno.ENODEV:
                raise


def mapped(world):
    put(world.f("q"), "aaaa")
    yield [world.f("q")]
    fd, pages = map_shared(world.f("q"))
    pages[0:4] = b"bbbb"
    pages.flush()
    os.close(fd)
    pages.close()
    yield [value("bbbb")]


def start_asker(fd):
    """A process that asks for an open file's attributes over and over, until it is killed or alone."""
    parent, pid = os.getpid(), os.fork()
    if pid == 0:
        while os.getppid() == parent:
            os.fstat(fd)
        os._exit(0)
    return pid


def reopened(world):
    """Opened for writing without a lookup; a file that was open before keeps its value. The kernel takes its size
    for 0 meanwhile, so others ask for that."""
    old = world.next()
    put(world.f("q"), old)
    fd = os.open(world.f("q"), os.O_RDONLY)
    yield [world.f("q")]
    new = world.next()
    put("/proc/self/fd/%d" % fd, new, os.O_WRONLY | os.O_TRUNC)
    yield [value(new)]
    yield [world.f("q")]
    asker = start_asker(fd)
    os.close(os.open("/proc/self/fd/%d" % fd, os.O_WRONLY | os.O_TRUNC))
    os.kill(asker, signal.SIGKILL)
    os.waitpid(asker, 0)
    yield [value("")]
    assert os.read(fd, 100).decode() == old
    os.close(fd)


def older(world):
    """Removing the newest version makes the older one the newest, then none."""
    for history in world.f("q@"), world.v("q@"):
        (first, first_ts), (second, second_ts) = fresh(world)
        yield [world.f("q"), world.f()]
        os.unlink("%s/%d" % (history, second_ts))
        yield [value(first, first_ts), ["dir", ["q"]]]
        yield [world.f("q"), world.f()]
        os.unlink("%s/%d" % (history, first_ts))
        yield [GONE, ["dir", []]]


def emptied(world):
    for history in world.f("q@"), world.v("q@"):
        fresh(world)
        yield [world.f("q")]
        shutil.rmtree(history)
        yield [GONE]


def version(world):
    """A version is written by its name."""
    for history in world.f("q@"), world.v("q@"):
        fresh(world)
        yield [world.f("q")]
        new, ts = world.next(), world.ts()
        put("%s/%d" % (history, ts), new)
        yield [value(new, ts)]
        yield [world.f("q")]
        new = world.next()
        put("%s/%d" % (history, ts), new)
        yield [value(new, ts)]
        yield [world.f("q")]
        os.close(os.open("%s/%d" % (history, ts), os.O_WRONLY | os.O_TRUNC))
        yield [value("", ts)]


def version_moved(world):
    for history in world.f("q@"), world.v("q@"):
        (first, first_ts), (second, second_ts) = fresh(world)
        yield [world.f("q")]
        later = world.ts()
        os.rename("%s/%d" % (history, first_ts), "%s/%d" % (history, later))
        yield [value(first, later)]
        yield [world.f("q")]
        os.rename("%s/%d" % (history, later), "%s/%d" % (history, first_ts))
        yield [value(second, second_ts)]


def version_out(world):
    """A version becomes another column's newest."""
    (first, first_ts), (second, second_ts) = fresh(world)
    for name in "r", "r":
        yield [world.f("q"), world.f("r")]
        os.rename(world.f("q@/%d" % second_ts), world.f("r"))
        yield [value(first, first_ts), value(second)]
        second, second_ts = world.next(), world.ts()
        put(world.f("q@/%d" % second_ts), second)
    os.unlink(world.f("r"))


def draft(world):
    for history in world.f("q@"), world.v("q@"):
        fresh(world)
        yield [world.f("q")]
        new, ts = world.next(), world.ts()
        put("%s/.draft" % history, new)
        os.rename("%s/.draft" % history, "%s/%d" % (history, ts))
        yield [value(new, ts)]


def renamed(world):
    """To a new name, over another, and back, without a look between."""
    first, second = world.next(), world.next()
    put(world.f("a"), first)
    yield [world.f("a"), world.f("b")]
    os.rename(world.f("a"), world.f("b"))
    yield [GONE, value(first)]
    put(world.f("a"), second)
    yield [world.f("a"), world.f("b")]
    os.rename(world.f("a"), world.f("b"))
    yield [GONE, value(second)]
    yield [world.f("a"), world.f("b")]
    for _ in range(20):
        os.rename(world.f("b"), world.f("a"))
        os.rename(world.f("a"), world.f("b"))
    yield [GONE, value(second)]
    yield [world.f("a"), world.f("b")]
    new = world.next()
    put(world.f("b"), new)
    yield [GONE, value(new)]
    os.unlink(world.f("b"))


def renamed_changed(world):
    """A renamed column is changed under its new name, by ways of its history."""
    first, second = fresh(world, "a")
    yield [world.f("a"), world.f("b")]
    os.rename(world.f("a"), world.f("b"))
    os.unlink(world.v("b@/%d" % second[1]))
    yield [GONE, value(*first)]
    os.unlink(world.f("b"))


def renamed_open(world):
    """The renamed file is open: its open file and a lookup of the name show the same."""
    first = world.next()
    put(world.f("a"), world.next())
    put(world.f("b"), world.next())
    put(world.f("a"), first)
    fd = os.open(world.f("a"), os.O_RDONLY)
    yield [world.f("a"), world.f("b")]
    os.rename(world.f("a"), world.f("b"))
    yield [GONE, value(first, os.fstat(fd).st_mtime_ns // 1000)]
    yield [world.f("b")]
    stamp = os.fstat(fd).st_mtime_ns // 1000 + 5
    os.utime(world.f("b"), ns=(stamp * 1000, stamp * 1000))
    yield [value(first, stamp)]
    os.close(fd)
    os.unlink(world.f("b"))


def stamped(world):
    first, second = fresh(world)
    fd = os.open(world.f("q"), os.O_RDONLY)
    for way in world.f("q"), fd, "/proc/self/fd/%d" % fd:
        yield [world.f("q")]
        stamp = world.ts()
        os.utime(way, ns=(stamp * 1000, stamp * 1000))
        yield [value(second[0], stamp)]
    yield [world.f("q")]
    put(world.v("q@/%d" % world.ts()), "x")
    stamp = world.ts()
    os.utime(fd, ns=(stamp * 1000, stamp * 1000))
    yield [value("x", stamp)]
    os.close(fd)


def stamped_renamed(world):
    """Through a file that was opened by another name; the kernel may know the new one by another inode."""
    for listed in False, True:
        new = world.next()
        put(world.f("p"), new)
        fd = os.open(world.f("p"), os.O_RDONLY)
        os.rename(world.f("p"), world.f("q"))
        yield [world.f("q")]
        if listed:
            scan(world.f())
        stamp = world.ts()
        os.utime(fd, ns=(stamp * 1000, stamp * 1000))
        yield [value(new, stamp)]
        os.close(fd)


def removed(world):
    put(world.f("q"), world.next())
    yield [world.f("q"), world.f()]
    os.unlink(world.f("q"))
    yield [GONE, ["dir", []]]
    yield [world.f("q")]
    new = world.next()
    put(world.f("q"), new, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    yield [value(new)]


CHANGES = (write, append, truncated, synced, mapped, reopened, older, emptied, version, version_moved,
           version_out, draft, renamed, renamed_changed, renamed_open, stamped, stamped_renamed, removed)
