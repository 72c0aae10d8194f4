# SPDX-License-Identifier: MIT
"""Files that are opened without a lookup of their names: by file handles, bound to a place, held by O_PATH or open.

    handles.py MOUNT PLACE --list           prints the scenarios
    handles.py MOUNT PLACE SCENARIO [WAY]   runs one, in the table t; prints only faults

PLACE is an empty file, to which columns are bound. Expected values are those that were written."""
import ctypes
import json
import mmap
import os
import shutil
import signal
import struct
import sys

from calls import child, error, libc, put

COUNT = 150
MS_REMOUNT, MS_BIND, MNT_DETACH, AT_FDCWD = 32, 4096, 2, -100
mount, place = sys.argv[1:3]
table = mount + "/t"
family = table + "/a/f"


class Handle(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint), ("type", ctypes.c_int), ("bytes", ctypes.c_ubyte * 128)]


def checked(result, what):
    if result < 0:
        raise OSError(ctypes.get_errno(), what)
    return result


def handle_of(path):
    handle, where = Handle(size=128), ctypes.c_int()
    checked(libc.name_to_handle_at(AT_FDCWD, os.fsencode(path), ctypes.byref(handle), ctypes.byref(where), 0), path)
    return handle


def open_handle(handle, flags=os.O_RDONLY):
    root = os.open(mount, os.O_RDONLY)
    try:
        return checked(libc.open_by_handle_at(root, ctypes.byref(handle), flags), "open_by_handle_at")
    finally:
        os.close(root)


def forget():
    """The kernel forgets all dentries of the mount that no process uses, and so their inodes."""
    checked(libc.mount(b"none", os.fsencode(mount), None, MS_REMOUNT, None), "remount")


def bind(path, to):
    checked(libc.mount(os.fsencode(path), os.fsencode(to), None, MS_BIND, None), "bind")


def unbind(path):
    checked(libc.umount2(os.fsencode(path), MNT_DETACH), "unbind")


def same(what, expected, got):
    if expected != got:
        print("%s: expected %.200r, got %.200r" % (what, expected, got))


def get(path):
    with open(path) as file:
        return file.read()


def fill(row):
    os.makedirs("%s/%s/f" % (table, row), exist_ok=True)
    for i in range(COUNT):
        put("%s/%s/f/q%d" % (table, row, i), "%s%d" % (row, i))


def found(handles):
    """Which of the columns of row a the handles open: own, ESTALE, or a wrong value."""
    results = set()
    for i, handle in enumerate(handles):
        try:
            with os.fdopen(open_handle(handle)) as file:
                value = file.read()
            results.add("own" if value == "a%d" % i else value)
        except OSError as fault:
            results.add(os.strerror(fault.errno))
    return results


# ---- File handles ------------------------------------------------------------------------------

STALE = "Stale file handle"


def handles():
    fill("a")
    fill("b")
    names = ["%s/q%d" % (family, i) for i in range(COUNT)]
    all_of = [handle_of(name) for name in names]
    files = [os.open(name, os.O_RDONLY) for name in names]
    same("handles of open files", {"own"}, found(all_of))
    for file in files:
        os.close(file)
    for round_of in range(3):
        forget()
        for i in range(COUNT):
            get("%s/b/f/q%d" % (table, i))
            os.stat("%s/b/f/q%d@" % (table, i))
        same("forgotten handles", set(), found(all_of) - {"own", STALE})
    forget()
    directories = [handle_of(path) for path in (table, table + "/a", family)]
    expected = [os.listdir(path) for path in (table, table + "/a", family)]
    for handle, names in zip(directories, expected):
        fd = open_handle(handle)
        same("handle of a directory", names, os.listdir(fd))
        os.close(fd)
    with open(place, "w") as file:
        json.dump([bytes(handle).hex() for handle in all_of], file)


def earlier():
    """Those that handles() left in PLACE, in a later mount."""
    with open(place) as file:
        all_of = [Handle.from_buffer_copy(bytes.fromhex(text)) for text in json.load(file)]
    files = [os.open("%s/%s/f/q%d" % (table, row, i), os.O_RDONLY) for row in "ab" for i in range(COUNT)]
    same("handles of an earlier mount", {STALE}, found(all_of))
    for file in files:
        os.close(file)


# ---- Files that are opened without a lookup -------------------------------------------------------


class Way:
    """A column that was found once, and is opened again and again without its name."""

    all = []

    def __init__(self, how, path):
        self.how, self.fd = how, None
        Way.all.append(self)
        if how == "bind":
            bind(path, place)
            self.path = place
        elif how == "inside":  # a path in the mount itself
            self.path = table + "/b/f/place"
            os.makedirs(table + "/b/f", exist_ok=True)
            put(self.path, "")
            bind(path, self.path)
        else:
            self.fd = os.open(path, os.O_PATH if how == "O_PATH" else os.O_RDONLY)
            self.path = "/proc/self/fd/%d" % self.fd

    def end(self):
        Way.all.remove(self)
        if self.fd is None:
            unbind(self.path)
        else:
            os.close(self.fd)


def column(how, name="q", value="first"):
    path = family + "/" + name
    os.makedirs(family, exist_ok=True)
    if os.path.exists(path):
        os.unlink(path)
    put(path, value)
    return path, Way(how, path)


def shows(what, way, path, value):
    """An open finds the value, and then the attributes are its own."""
    fd = os.open(way.path, os.O_RDONLY)
    was, now = os.fstat(fd), os.stat(path)
    same(what, value, os.read(fd, 1 << 20).decode())
    for field in "st_size", "st_mtime_ns", "st_ino", "st_nlink", "st_blocks":
        same("%s: %s" % (what, field), getattr(now, field), getattr(was, field))
    same(what + ": its end", len(value), os.lseek(fd, 0, os.SEEK_END))
    os.close(fd)


def newest(how):
    path, way = column(how)
    shows("as it was found", way, path, "first")
    for value in "second, longer", "3", "", "fifth" * 20000:
        put(path, value)
        if how != "open": # there the inode keeps the attributes of its value until another is opened
            same("attributes before an open", len(value), os.stat(way.path).st_size)
        shows("written", way, path, value)
        shutil.copyfile(way.path, place + ".copy")
        same("copied", value, get(place + ".copy"))
    os.unlink("%s@/%d" % (path, os.stat(path).st_mtime_ns // 1000))
    shows("the newest version removed", way, path, "")
    other = family + "/.other"
    put(other, "replaced")
    os.rename(other, path)
    shows("replaced by a rename", way, path, "replaced")
    put(table + "/a/.row", '{"families":{"f":{"q":"of a row"}}}\n')
    shows("written by .row", way, path, "of a row")
    way.end()


def changed(how):
    """Each kind of change as the first one."""
    other = family + "/.other"
    for change in (
        lambda path: put(path, "new"),
        lambda path: put(other, "new") or os.rename(other, path),
        lambda path: put(table + "/a/.row", '{"families":{"f":{"q":"new"}}}\n'),
        lambda path: put(table + "/.rows", '{"key":"a","families":{"f":{"q":"new"}}}\n'),
        lambda path: put("%s@/%d" % (path, 1 << 60), "new"),
        lambda path: put("%s@/%d" % (path, os.stat(path).st_mtime_ns // 1000), "new"),
        lambda path: put(mount + "/.versions/t/a/f/q@/%d" % (1 << 60), "new"),
        lambda path: put(path + "@/.draft", "new") or os.rename(path + "@/.draft", "%s@/%d" % (path, 1 << 60)),
        lambda path: put(other, "new") or os.rename("%s@/%s" % (other, os.listdir(other + "@")[0]), path),
        lambda path: os.unlink(path) or put(path, "new"),
        lambda path: os.unlink(path) or put(table + "/a/.row", '{"families":{"f":{"q":"new"}}}\n'),
        lambda path: os.unlink(path) or put(other, "new") or os.rename(other, path),
    ):
        path, way = column(how)
        change(path)
        shows("changed", way, path, "new")
        way.end()


def written(how):
    path, way = column(how)
    versions = lambda: len(os.listdir(path + "@"))
    put(path, "second")
    for flags, text, value, more in (
        (os.O_WRONLY | os.O_TRUNC, "third", "third", 1),
        (os.O_WRONLY | os.O_APPEND, " and more", "third and more", 1),
        (os.O_RDWR, "T", "Third and more", 1),
        (os.O_WRONLY | os.O_TRUNC, "", "", 1),
        (os.O_RDWR | os.O_TRUNC, "fourth", "fourth", 1),
    ):
        before = versions()
        fd = os.open(way.path, flags)
        os.write(fd, text.encode()) if text else 0
        os.close(fd)
        same("written through it", value, get(path))
        same("versions", before + more, versions())
        shows("then", way, path, value)
    os.truncate(way.path, 3)
    shows("truncated through it", way, path, "fou")
    same("truncated through it", "fou", get(path))
    stamp = os.stat(path).st_mtime_ns + 5000000000
    os.utime(way.path, ns=(stamp, stamp))
    same("stamped through it", stamp, os.stat(path).st_mtime_ns)
    shows("then", way, path, "fou")
    way.end()


def held(how):
    """A reader of the old value ends early at worst; a mapping of the newest is refused."""
    size = 300000
    for length in size, size * 2, 1000:
        path, way = column(how, "big", "a" * size)
        with open(way.path) as reader:
            begun = reader.read(100000)
            put(path, "b" * length)
            shows("beside a reader", way, path, "b" * length)
            with open(way.path, "rb") as file:
                same("a shared mapping", "ENODEV", error(mmap.mmap, file.fileno(), 10, mmap.MAP_SHARED, mmap.PROT_READ))
                if length >= size:
                    same("a private one", signal.SIGBUS, mapped(file))
            rest = begun + reader.read()
            same("the reader's bytes", set("a"), set(rest))
        way.end()


def mapped(file):
    """The signal that ends a process that reads a private mapping."""
    pid = os.fork()
    if pid == 0:
        mmap.mmap(file.fileno(), 10, access=mmap.ACCESS_COPY).read()
        os._exit(0)
    return os.WTERMSIG(os.waitpid(pid, 0)[1])


def removed(how):
    for remove in (
        lambda path: os.unlink(path),
        lambda path: [os.unlink("%s@/%s" % (path, name)) for name in os.listdir(path + "@")],
        lambda path: put(table + "/a/.row", '{"delete":{"f":{"q":true}}}\n'),
        lambda path: put(table + "/a/.drop", "a\n"),
    ):
        for writes in 0, 1:
            path, way = column(how)
            for i in range(writes):
                put(path, "second")
            remove(path)
            for flags in os.O_RDONLY, os.O_WRONLY | os.O_TRUNC, os.O_RDWR:
                same("removed, opened", "ESTALE", error(os.open, way.path, flags))
            if how != "open":
                same("removed, its attributes", "ESTALE", error(os.stat, way.path))
            same("and not made anew", False, os.path.exists(path))
            way.end()


def others(how):
    """The same of a version, of a number, of the other tree, and in a view."""
    path, way = column(how)
    way.end()
    for version in path + "@/5", mount + "/.versions/t/a/f/q@/5":
        put(version, "old")
        way = Way(how, version)
        put(version, "new")
        shows("a version", way, version, "new")
        put(way.path, "newest")
        shows("a version, written", way, version, "newest")
        way.end()
    number = table + "/a/n/sum"
    put(table + "/a/.row", '{"families":{"n":{"sum":5}}}\n')
    way = Way(how, number)
    put(table + "/a/.row", '{"families":{"n":{"sum":7}}}\n')
    shows("a number", way, number, get(number))
    with open(way.path, "a") as file:
        file.write("3\n")
    shows("a number, merged", way, number, get(number))
    way.end()
    for other in table + "/.newest/1/a/f/q", table + "/.reverse/a/f/q":
        put(path, "old")
        way = Way(how, other)
        put(path, "new, longer")
        same("in a view", "new, longer", get(way.path))
        way.end()


def beside(how):
    """Readers beside a writer: each open has one whole value, not older than the last commit."""
    path, way = column(how, "busy", "none")
    put(path, "%010d" % 0)
    last = mmap.mmap(-1, 8)

    def read():
        faults = []
        while (least := struct.unpack("q", last[:])[0]) < 300:
            text = get(way.path)
            number = int(text[:10])
            if text != ("%010d" % number) * (number % 7 * 1000 + 1) or number < least:
                faults.append((least, text[:20], len(text)))
        return faults[:3]

    readers = []
    for i in range(2):
        out, into = os.pipe()
        if os.fork() == 0:
            os.write(into, repr(read()).encode())
            os._exit(0)
        os.close(into)
        readers.append(os.fdopen(out))
    for number in range(1, 301):
        put(path if number % 2 else way.path, ("%010d" % number) * (number % 7 * 1000 + 1))
        last[:] = struct.pack("q", number)
    for reader in readers:
        same("a reader's faults", "[]", reader.read())
        os.wait()
    way.end()


OF_WAYS = (newest, changed, written, held, removed, others, beside)
WAYS = ("bind", "inside", "O_PATH", "open")

if sys.argv[3] == "--list":
    for scenario in OF_WAYS:
        for way_of in WAYS:
            print(scenario.__name__, way_of)
else:
    try:
        globals()[sys.argv[3]](*sys.argv[4:])
    finally:
        for left in list(Way.all):
            left.end()
