# SPDX-License-Identifier: MIT
"""A writer of the soak: its changes, through files and control files, and its comparisons."""
import json
import os
import random

from calls import Looker
from soak_model import (GROUP, LEAVES, NEVER, OWN, PREFIXES, SHARED, SINGLES, History, View, Wrong,
                        control, look, now, open_at, put_in, read, row_key)


class Row:
    def __init__(self, writer, at):
        self.key = row_key(writer, at)
        self.at = at
        self.there = False
        self.number = self.floor = 0
        self.marker = ""
        self.columns = {}  # (family, column): History

    def clear(self):
        self.columns.clear()
        self.there = False


class Writer:
    def __init__(self, mount, index, shared, seed):
        self.mount, self.index, self.shared = mount, index, shared
        self.random = random.Random(seed * 100 + index)
        self.own, self.policy, self.quiet = "g%d" % index, NEVER, None
        self.rows = [Row(index, at) for at in range(PREFIXES * LEAVES)]
        self.number = self.values = self.steps = 0
        self.looked = []  # the latest rows, families and columns
        self.watched = []
        self.looker = None

    def path(self, row, *names):
        return "/".join([self.mount, "t", row.key.replace("#", "/")] + list(names))

    def families(self):
        return ["f", "s", self.own]

    def view(self, family, since, until):
        loose = tight = NEVER
        if family == self.own:
            loose = tight = self.policy
        elif family == "s":
            loose, tight = self.quiet or (SHARED[-1], SHARED[0])
        return View(loose, tight, since, until)

    def column(self, row, family, name):
        return row.columns.setdefault((family, name), History())

    def value(self):
        """Begins with the number of the last change."""
        length = self.random.choice([0, 3, 20, 20, 20, 20, 300, 5000])
        if self.random.randrange(100) == 0:
            length = 70000
        self.values += 1
        return "%d;%d%s" % (self.number, self.values, "abcdefghij"[self.values % 10] * length)

    # ---- Comparing

    def wrong(self, row, family, name, what, seen, view):
        raise Wrong("%s/%s/%s: %s\nexpected %s\nseen %s\nview %s" % (
            row.key, family, name, what, self.column(row, family, name), str(seen)[:2000], view))

    def compare_cells(self, row, family, name, cells, view):
        """Of [timestamp, value] or [timestamp, None]: not there any more when it was read."""
        column = self.column(row, family, name)
        what = column.check(view, cells)
        if what:
            self.wrong(row, family, name, what, cells, view)

    def compare(self, row, family, name, seen):
        column = self.column(row, family, name)
        view = self.view(family, seen["from"], seen["to"])
        what = column.check_newest(view, seen["stat"]) or column.check_newest(view, seen["newest"])
        if not what and seen["listed"] and column.nothing(view):
            what = "a column is listed of which nothing is to be seen"
        if not what and not seen["listed"] and column.something(view):
            what = "a column is not listed"
        if what:
            self.wrong(row, family, name, what, seen, view)
        for ts, cell in seen["cells"]:
            if cell and cell[0] != ts:
                self.wrong(row, family, name, "a version has another time", seen, view)
        self.compare_cells(row, family, name,
                           [[ts, cell and cell[1]] for ts, cell in seen["cells"]], view)

    def compare_text(self, row, families, view_of):
        marker = families.get("f", {}).pop("m", None)
        if (marker is not None) != row.there:
            raise Wrong("%s is %sthere, change %d" % (
                row.key, "" if marker else "not ", row.number))
        if marker and marker[0]["value"] != row.marker:
            raise Wrong("%s has the marker %s, not %s" % (row.key, marker, row.marker))
        for family, columns in families.items():
            for name in columns:
                self.column(row, family, name)
        for family, name in list(row.columns):
            cells = families.get(family, {}).get(name, [])
            self.compare_cells(row, family, name, [[c["ts"], c["value"]] for c in cells],
                               view_of(family))

    def compare_all(self):
        """All its rows, as .rows gives them."""
        since = now()
        lines = read("%s/t/w%d/.rows" % (self.mount, self.index)).splitlines()
        until = now()
        seen = {line["key"]: line["families"] for line in map(json.loads, lines)}
        if list(seen) != sorted(seen):
            raise Wrong("rows out of order: %s" % list(seen))
        for row in self.rows:
            self.compare_text(row, seen.pop(row.key, {}),
                              lambda family: self.view(family, since, until))
        if seen:
            raise Wrong("rows that nobody wrote: %s" % list(seen))
        keys = read("%s/t/w%d/.keys" % (self.mount, self.index)).split()
        if keys != [row.key for row in self.rows if row.there]:
            raise Wrong("keys: %s" % keys)

    def look_again(self, looks):
        for row, family, name in looks:
            self.compare(row, family, name, self.looker.look(self.path(row, family), name))

    def watch(self, rows):
        """Looks at the names that a change concerns, before it is made, and behind it."""
        self.watched = [(row, family, "c0") for row in rows for family in ("f", self.own)]
        self.look_again(self.watched)

    # ---- Changes of groups, through control files

    def started(self, row):
        self.number += 1
        row.number = self.number
        self.shared.set(self.shared.row(self.index, row.at), row.number)

    def ended(self, row):
        at = self.shared.row(self.index, row.at)
        self.shared.set(at + 2, row.there)
        self.shared.set(at + 1, row.number)

    def change(self, row, change, put_cells, deletes):
        """Applies a row object, with a marker. The cells that it writes are (family, column,
        timestamp, value); so are those that it deletes, timestamp None being all of the column;
        None: all of the row."""
        since = now()
        if deletes is None:
            row.clear()
        touched = {(f, c): self.column(row, f, c) for f, c, _, _ in put_cells + (deletes or [])}
        for (family, _), column in touched.items():
            column.begin(self.view(family, since, since))
        for family, name, ts, _ in deletes or []:
            if ts is None:
                touched[family, name].cells.clear()
            else:
                touched[family, name].remove(ts)
        for family, name, ts, text in put_cells:
            touched[family, name].put(ts, text)
        if not row.there:
            row.floor = row.number
        row.there = True
        heads = {self.column(row, "f", name).head() for name in GROUP}
        row.marker = "%d %s %d" % (row.number, heads.pop() if len(heads) == 1 else "?", row.floor)
        change.setdefault("families", {}).setdefault("f", {})["m"] = [
            {"ts": 1, "value": row.marker}]
        self.send(row, change)
        until = now()
        for (family, _), column in touched.items():
            column.end(self.view(family, until, until))
        self.ended(row)

    def send(self, row, change):
        where = self.random.randrange(3)
        if where == 0:
            os.makedirs(self.path(row), exist_ok=True)
            control(self.path(row, ".row"), json.dumps(change))
        else:
            change["key"] = row.key
            directory = "t" if where == 1 or row.at == 0 else "t/w%d" % self.index
            control("%s/%s/.rows" % (self.mount, directory), json.dumps(change))

    def write_group(self, row, anew=False):
        self.started(row)
        ts = now()
        if self.random.randrange(4) == 0:
            ts -= self.random.randrange(3000000)
        text = self.value()
        cells = [(family, name, ts, text) for family in self.families() for name in GROUP]
        change = {"families": {family: {name: [{"ts": ts, "value": text}] for name in GROUP}
                               for family in self.families()}}
        if anew:
            change["delete"] = True
        elif row.there and self.random.randrange(3) == 0:
            change["if"] = {"f": {"m": row.marker}}
        self.change(row, change, cells, None if anew else [])

    def delete_newest(self, row):
        self.started(row)
        deletes = []
        for family in self.families():
            for name in GROUP:
                cells = self.column(row, family, name).cells
                if cells:
                    deletes.append((family, name, cells[0].ts, None))
        change = {"delete": {}}
        for family, name, ts, _ in deletes:
            change["delete"].setdefault(family, {})[name] = [ts]
        self.change(row, change, [], deletes)

    def delete_columns(self, row, columns):
        self.started(row)
        change = {"delete": {}}
        for family, name in columns:
            change["delete"].setdefault(family, {})[name] = True
        self.change(row, change, [], [(family, name, None, None) for family, name in columns])

    def delete_row(self, row):
        self.started(row)
        row.clear()
        self.send(row, {"delete": True})
        self.ended(row)

    def drop(self, prefix):
        rows = self.rows[prefix * LEAVES:(prefix + 1) * LEAVES]
        if not any(row.there for row in rows):
            return
        self.watch(rows)
        for row in rows:
            self.started(row)
            row.clear()
        control("%s/t/w%d/%d/.drop" % (self.mount, self.index, prefix),
                "w%d#%d" % (self.index, prefix))
        for row in rows:
            self.ended(row)

    def set_policy(self, policy):
        self.watch(self.random.sample(self.rows, 3))
        control("%s/t/.families/%s/gc" % (self.mount, self.own), policy.text)
        until = now()
        for row in self.rows:
            for (family, _), column in row.columns.items():
                if family == self.own:
                    column.hide(self.view(family, until, until))
        self.policy = policy
        self.compare_all()

    # ---- Changes of single columns, through files

    def single(self, row, family):
        """Changes column x by way of files. Where the earlier content is unsure, since it ended just
        then, x and y are deleted."""
        kinds = [self.write, self.write, self.append, self.write_version, self.remove_version]
        if family != "s":
            kinds += [self.remove, self.rename, self.rename_version, self.stamp, self.stamp]
        kind, since = self.random.choice(kinds), now()
        columns = [self.column(row, family, name) for name in SINGLES]
        for column in columns:
            column.begin(self.view(family, since, since))
        known = [column.newest(self.view(family, since, since)) for column in columns]
        if "unknown" in known:
            return self.delete_columns(row, [(family, name) for name in SINGLES])
        before = [[cell.copy() for cell in column.cells] for column in columns]
        try:
            what = kind(row, family, columns, known)
        except OSError as error:
            what = str(error)
        until = now()
        for column, cells in zip(columns, before):
            if History(cells).ends(self.view(family, since, until)):
                return self.delete_columns(row, [(family, name) for name in SINGLES])
        if what:
            raise Wrong("%s/%s: %s: %s" % (row.key, family, kind.__name__, what))
        for column in columns:
            column.end(self.view(family, until, until))
        return None

    def stamped(self, path, since, last, text):
        """The fault of the new version, and its time."""
        seen = open_at(path)
        if not seen or seen[1] != text:
            return "made %r, not %r" % (str(seen)[:200], text[:200]), 0
        if not since <= seen[0] <= now() and not (last and since <= last.ts == seen[0] - 1):
            return "has the time %d, written at %d" % (seen[0], since), 0
        return None, seen[0]

    def write(self, row, family, columns, known, flags=os.O_TRUNC, base=""):
        path, text, since = self.path(row, family, "x"), self.value(), now()
        put_in(path, text, os.O_WRONLY | os.O_CREAT | flags)
        what, ts = self.stamped(path, since, columns[0].last(), base + text)
        if not what:
            columns[0].put(ts, base + text)
        return what

    def append(self, row, family, columns, known):
        if known[0] and len(known[0].text) > 100000:
            known[0] = None
            return self.write(row, family, columns, known)
        return self.write(row, family, columns, known, os.O_APPEND,
                          known[0].text if known[0] else "")

    def write_version(self, row, family, columns, _known):
        ts, text = now() - self.random.randrange(3000000), self.value()
        path = self.path(row, family, "x@", str(ts))
        put_in(path, text)
        columns[0].put(ts, text)

    def remove_version(self, row, family, columns, _known):
        sure = [cell for cell in columns[0].cells if cell.sure]
        if family == "s":
            sure = sure[:SHARED[0].versions]
        if not sure:
            return
        cell = self.random.choice(sure)
        os.unlink(self.path(row, family, "x@", str(cell.ts)))
        columns[0].remove(cell.ts)

    def refused(self, call, *args):
        """The call finds nothing."""
        try:
            call(*args)
        except FileNotFoundError:
            return None
        return "is done, where there is nothing"

    def remove(self, row, family, columns, known):
        path = self.path(row, family, "x")
        if not known[0]:
            return self.refused(os.unlink, path)
        os.unlink(path)
        columns[0].cells.clear()
        return None

    def rename(self, row, family, columns, known):
        """x becomes y, or y's newest version."""
        x, y = self.path(row, family, "x"), self.path(row, family, "y")
        if not known[0]:
            return self.refused(os.rename, x, y)
        os.rename(x, y)
        return self.moved(y, columns, known, list(columns[0].cells))

    def rename_version(self, row, family, columns, known):
        sure = [cell for cell in columns[0].cells if cell.sure]
        if not sure:
            return None
        cell, y = self.random.choice(sure), self.path(row, family, "y")
        os.rename(self.path(row, family, "x@", str(cell.ts)), y)
        return self.moved(y, columns, [cell, known[1]], [cell])

    def moved(self, path, columns, known, cells):
        """The cells left column x, the first one for y as its newest one; those behind it follow
        where y had none."""
        since, (first, newest) = now(), known
        seen = open_at(path)
        if not seen or seen[1] != first.text:
            return "moved %r, not %s" % (str(seen)[:200], first)
        if newest and first.ts <= newest.ts:
            right = newest.ts < seen[0] <= max(since, newest.ts + 1)
        else:
            right = seen[0] == first.ts
        if not right:
            return "%s became one of %d, behind %s" % (first, seen[0], newest)
        for cell in cells:
            columns[0].remove(cell.ts)
        if not newest:
            columns[1].cells.clear()
            for cell in cells[1:]:
                columns[1].put(cell.ts, cell.text, cell.sure)
        columns[1].put(seen[0], first.text)
        return None

    def stamp(self, row, family, columns, known):
        path, cell = self.path(row, family, "x"), known[0]
        ts = (cell.ts if cell else now()) + self.random.randrange(-50000, 50000)
        if not cell:
            return self.refused(os.utime, path)
        older = [other.ts for other in columns[0].cells[1:] if other.sure]
        try:
            os.utime(path, ns=(ts * 1000, ts * 1000))
        except OSError as error:
            return None if older and older[0] >= ts else "refused: %s" % error
        if older and older[0] >= ts:
            return "took the time %d behind %d" % (ts, older[0])
        columns[0].remove(cell.ts)
        columns[0].put(ts, cell.text)
        return None

    # ---- Steps

    def step(self):
        row = self.random.choice(self.rows)
        kind = self.random.randrange(1000)
        prefix = row.at // LEAVES
        family, names = self.random.choice(self.families()), GROUP
        if max((len(c.cells) for c in row.columns.values()), default=0) > 20:
            self.write_group(row, True)
        elif kind < 300:
            self.write_group(row)
        elif kind < 700 and row.there:
            self.single(row, family)
            names = SINGLES
        elif kind < 800:
            self.delete_newest(row)
        elif kind < 820:
            self.delete_columns(row, [(family, name) for name in GROUP])
        elif kind < 860:
            self.write_group(row, True)
        elif kind < 890 and prefix > 0:
            self.delete_row(row)
        elif kind < 910 and prefix > 0:
            self.drop(prefix)
        elif kind < 935:
            self.set_policy(self.random.choice(OWN))
        elif kind < 970:
            self.compare_all()
        name = self.random.choice(names)
        self.compare(row, family, name, look(self.path(row, family), name))
        self.looked = self.looked[-30:] + [(row, family, name)]
        self.look_again(self.watched + [self.looked[-1], self.random.choice(self.looked)])
        self.look_again([look for look in self.looked if look[1] == self.own][:2])
        self.watched = []
        self.steps += 1

    def run(self):
        self.looker = Looker(look)
        while self.goes_on(self):
            self.step()
        return "%d steps" % self.steps
