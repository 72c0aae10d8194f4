# SPDX-License-Identifier: MIT
"""Shared by the processes of the soak: a column as its only writer knows it, the rows and policies,
short calls on files, looks at them, and the changes that began and ended.

Of a column the model knows which of its cells must be seen, may be, and must not.
The store may delete a hidden cell at any moment, or keep it, so a cell that was hidden once is
unsure. When another policy shows the cell, it is there or gone, and stays so. A hidden cell that a
delete or a rename would show again is gone. Of the policy and the time only bounds may be known.
Then cells that the loosest policy hides at the earliest moment must not be seen; cells that only
the tightest hides at the latest one are unsure.
"""
import mmap
import os
import struct
import time


# ---- Columns ------------------------------------------------------------------------------------

def now():
    return time.time_ns() // 1000


class Policy:
    """Hides versions of too high a rank, and those too old (microseconds); 0: it does not. both: only
    those that are both."""

    def __init__(self, text, versions=0, age=0, both=False):
        self.text, self.versions, self.age, self.both = text, versions, age, both

    def hides(self, rank, ts, moment):
        reasons = (0 < self.versions < rank, 0 < self.age < moment - ts)
        return all(reasons) if self.both else any(reasons)


class View:
    def __init__(self, loose, tight, since, until):
        self.loose, self.tight, self.since, self.until = loose, tight, since, until

    def hides(self, rank, ts):
        return self.loose.hides(rank, ts, self.since)

    def may_hide(self, rank, ts):
        return self.tight.hides(rank, ts, self.until)

    def __str__(self):
        return "%s to %s, %d to %d" % (self.loose.text, self.tight.text, self.since, self.until)


class Cell:
    def __init__(self, ts, text, sure=True):
        self.ts, self.text, self.sure, self.hidden = ts, text, sure, False

    def copy(self):
        return Cell(self.ts, self.text, self.sure)

    def __repr__(self):
        return "%d=%s(%d)%s" % (self.ts, self.text[:8], len(self.text), "" if self.sure else "?")


class History:
    def __init__(self, cells=None):
        self.cells = cells or []  # newest first

    def __str__(self):
        return str(self.cells)

    def hide(self, view):
        """Time went on, or the policy is about to change."""
        for at, cell in enumerate(self.cells):
            if view.may_hide(at + 1, cell.ts):
                cell.sure = False

    def begin(self, view):
        """A change: begin, any of put and remove, end."""
        self.hide(view)
        rank = 1
        for cell in self.cells:
            cell.hidden = view.hides(rank, cell.ts)
            rank += cell.sure

    def end(self, view):
        at = 0
        while at < len(self.cells):
            if self.cells[at].hidden and not view.may_hide(at + 1, self.cells[at].ts):
                del self.cells[at]
            else:
                at += 1
        self.hide(view)

    def put(self, ts, text, sure=True):
        self.remove(ts)
        self.cells.append(Cell(ts, text, sure))
        self.cells.sort(key=lambda cell: -cell.ts)

    def remove(self, ts):
        self.cells = [cell for cell in self.cells if cell.ts != ts]

    def last(self):
        return self.cells[0] if self.cells else None

    def head(self):
        """The number that the newest value starts with."""
        return int(self.cells[0].text.split(";")[0]) if self.cells else 0

    def newest(self, view):
        """The newest cell, None, or "unknown"."""
        if not self.cells:
            return None
        first = self.cells[0]
        if first.sure:
            return "unknown" if view.may_hide(1, first.ts) else first
        return None if view.hides(1, first.ts) else "unknown"

    def ends(self, view):
        """Does the view depend on the moment?"""
        age = view.tight.age
        return age > 0 and (view.until - view.since > age // 2 or any(
            view.since <= cell.ts + age + 1 <= view.until + 1 for cell in self.cells))

    def nothing(self, view):
        return all(view.hides(1, cell.ts) for cell in self.cells)

    def something(self, view):
        return any(cell.sure and not view.may_hide(1, cell.ts) for cell in self.cells[:1])

    def check_newest(self, view, seen):
        """The newest cell as [timestamp, text or its length], or None. Returns the fault."""
        if seen is None:
            return "nothing is seen" if self.something(view) else None
        for cell in self.cells:
            if cell.ts == seen[0]:
                if seen[1] not in (cell.text, len(cell.text)):
                    return "the newest cell has another value"
                return "the newest cell is hidden" if view.hides(1, cell.ts) else None
            if cell.sure and not view.may_hide(1, cell.ts):
                return "it is not the newest cell"
        return "the newest cell is none of its cells"

    def check(self, view, seen):
        """All cells as [timestamp, text], newest first, and learns from it; text None: it was gone
        before it was read."""
        if [ts for ts, _ in seen] != sorted((ts for ts, _ in seen), reverse=True):
            return "the cells are not in order"
        seen, at, known = [cell for cell in seen if cell[1] is not None], 0, []
        for cell in self.cells:
            if at < len(seen) and seen[at][0] == cell.ts:
                if view.hides(at + 1, cell.ts):
                    return "a hidden cell is shown"
                if seen[at][1] != cell.text:
                    return "a cell has another value"
                cell.sure = True
                at += 1
            elif view.may_hide(at + 1, cell.ts):
                cell.sure = False
            elif cell.sure:
                return "a cell is lost"
            else:
                continue
            known.append(cell)
        if at < len(seen):
            return "a cell came back, or was never written"
        self.cells = known
        self.hide(view)
        return None


# ---- Rows, policies and files -------------------------------------------------------------------

WRITERS, PREFIXES, LEAVES = 2, 4, 3  # the rows of the first prefix are never removed
GROUP, SINGLES = ["c0", "c1"], ["x", "y"]
NEVER = Policy("never")
OWN = [NEVER, Policy("maxversions=1", versions=1), Policy("maxversions=3", versions=3),
       Policy("maxage=500ms", age=500000), Policy("maxage=2s", age=2000000),
       Policy("maxversions=2 or maxage=1s", versions=2, age=1000000),
       Policy("maxversions=2 and maxage=300ms", versions=2, age=300000, both=True)]
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
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
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

    def stop(self):
        self.set(0, 1)

    def stopped(self):
        return self.get(0) != 0


def row_key(writer, at):
    return "w%d#%d#%d" % (writer, at // LEAVES, at % LEAVES)
