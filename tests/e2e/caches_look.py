# SPDX-License-Identifier: MIT
"""A process's view of names: by looking them up, and in listings."""
import errno
import os
import time

GONE = "gone"


def look(path):
    """A process's view of a name: of a file its value, size and time."""
    seen = GONE
    try:
        st = os.stat(path)
        seen = "half there"
        if os.path.isdir(path):
            return ["dir", sorted(os.listdir(path))]
        with open(path, "rb") as file:
            value = file.read().decode("latin-1")
        again = os.stat(path)
        if again.st_ino != st.st_ino:  # of the name before a rename, see docs/kernel-cache.md
            st, again = again, os.stat(path)
        return ["file", value, st.st_size, st.st_mtime_ns // 1000, again.st_ino == st.st_ino]
    except (FileNotFoundError, NotADirectoryError):
        return seen


def scan(directory):
    """A listing with attributes, as of `ls -l`."""
    with os.scandir(directory) as entries:
        return [(entry, entry.stat(follow_symlinks=False)) for entry in entries]


def find(path):
    """A process's view of a name in a listing of its directory: of a file its size and time."""
    directory, name = os.path.split(path.rstrip("/"))
    try:
        found = [pair for pair in scan(directory) if pair[0].name == name]
    except (FileNotFoundError, NotADirectoryError) as error:
        return "half there" if error.filename != directory else GONE
    if len(found) != 1:
        return "twice" if found else GONE
    entry, st = found[0]
    again = os.stat(path)
    if entry.inode() != st.st_ino or st != again:
        return ["other attributes", str(st), str(again)]
    if entry.is_dir(follow_symlinks=False):
        return ["dir", os.path.isdir(path)]
    return ["file", st.st_size, st.st_mtime_ns // 1000]


def visit(path):
    os.stat(path)
    with open(path, "rb") as file:
        file.read()


def hammer(paths, deadline):
    """Looks at names until the time is over; prints only faults. An open may get ESTALE where others rename the
    same names all the time (docs/semantics.md)."""
    looks = [(scan, path) for path in sorted(set(os.path.dirname(path.rstrip("/")) for path in paths))]
    looks += [(visit, path) for path in paths]
    while time.time() < deadline:
        for look_at, path in looks:
            try:
                look_at(path)
            except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
                pass
            except OSError as error:
                if look_at == visit and error.errno == errno.ESTALE:
                    continue
                return "%s: %s" % (path, error)
    return ""
