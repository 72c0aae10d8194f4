# SPDX-License-Identifier: MIT
"""The simplest model of views: a list of rows, filtered view by view, from row JSON of the whole table.

    views.py rows FILE CHAIN…             the .rows of each chain (.from/a/.newest/1) in the table of FILE's rows
    views.py keys FILE CHAIN…             their .keys
    views.py check TABLE FILE FAMILIES CHAIN…
                                          compares each chain in a mount's table with the model: streams, count,
                                          listings in their order, names, values and attributes. Segments may stand
                                          before and between views (a/.first/1/b/.newest/2)
    views.py random TABLE FILE FAMILIES SEED COUNT
                                          the same with COUNT random chains of up to five views
    views.py parts DIRECTORY              checks that the keys of .splits cut a directory into all its rows
    views.py table                        row JSON of a table full of odd keys, columns and values
FAMILIES: separated by commas. Prints what differs, and fails if anything does."""
import json
import os
import random
import re
import sys
import time
from datetime import datetime, timedelta, timezone

from model import CHUNK, cell_of, columns_of, compact, components, encode, rows_of, spell, unspell, value_of

DELIMITER = b"#"


# ---- Rows -------------------------------------------------------------------------------------------

class Cell:
    def __init__(self, cell):
        self.json, self.ts = cell, cell["ts"]
        number = "value" in cell and not isinstance(cell["value"], str)
        self.file = value_of(cell) + (b"\n" if number else b"")
        self.size = 8 if number else len(self.file)

    def text(self):
        return self.file[:-1] if self.file.endswith(b"\n") else self.file


def table_of(name):
    rows = {}
    for row in rows_of(name):
        for key, family, qualifier, cells in columns_of(row):
            rows.setdefault(key, {}).setdefault(family, {})[qualifier] = [Cell(cell) for cell in cells]
    return [(key, rows[key]) for key in sorted(rows)]


def row_text(key, families):
    return compact({"key": spell(key), "families": {
        family: {spell(qualifier): [cell.json for cell in columns[qualifier]] for qualifier in sorted(columns)}
        for family, columns in sorted(families.items())}})


def below(rows, place):
    """The rows at and below a directory; None: the table."""
    return [row for row in rows if place is None or row[0] == place or row[0].startswith(place + DELIMITER)]


def filtered(rows, keep):
    """keep: of (family, qualifier, cells), the cells that stay."""
    result = []
    for key, families in rows:
        left = {}
        for family, columns in families.items():
            for qualifier, cells in columns.items():
                cells = keep(family, qualifier, cells)
                if cells:
                    left.setdefault(family, {})[qualifier] = cells
        if left:
            result.append((key, left))
    return result


# ---- Views ------------------------------------------------------------------------------------------

def decoded(text):
    return unspell(os.fsencode(text))


def column(text):
    family, colon, qualifier = text.partition(":")
    return decoded(family).decode(), None if not colon else b"" if qualifier == "%" else decoded(qualifier)


def has(families, family, qualifier):
    return family in families and (qualifier is None or qualifier in families[family])


def moment(text):
    spans = {"s": 1, "m": 60, "h": 3600, "d": 86400}
    if text.isdigit():
        return int(text)
    if text == "now":
        return int(time.time() * 1e6)
    if text[-1] in spans and text[:-1].isdigit():
        return int(time.time() * 1e6) - int(text[:-1]) * spans[text[-1]] * 1000000
    then = datetime.fromisoformat(text.replace("Z", "+00:00"))
    then = then if then.tzinfo else then.replace(tzinfo=timezone.utc)
    return (then - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(microseconds=1)


def sampled(key, share):
    value = 0xcbf29ce484222325
    for byte in key:
        value = (value ^ byte) * 0x100000001b3 & (1 << 64) - 1
    for factor in (0xff51afd7ed558ccd, 0xc4ceb9fe1a85ec53):
        value = (value ^ value >> 33) * factor & (1 << 64) - 1
    return ((value ^ value >> 33) >> 32) / (1 << 32) < float(share)


def apply(rows, view, text, place):
    def matches(data):
        return re.compile(decoded(text), re.DOTALL).fullmatch(data)

    if view in ("from", "to", "prefix"):
        key = (b"" if place is None else place + DELIMITER) + (b"" if text == "%" else decoded(text))
        return [row for row in rows if (row[0] >= key if view == "from" else row[0] < key if view == "to" else
                                        row[0].startswith(key))]
    if view in ("first", "last"):
        rows = below(rows, place)
        return rows[:int(text)] if view == "first" else rows[max(len(rows) - int(text), 0):]
    if view == "reverse":
        return rows[::-1]
    if view == "sample":
        return [row for row in rows if sampled(row[0], text)]
    if view == "key":
        return [row for row in rows if matches(row[0])]
    if view == "has":
        return [row for row in rows if has(row[1], *column(text))]
    if view == "where":
        name, value = text[:text.index("=", text.index(":"))], text[text.index("=", text.index(":")) + 1:]
        family, qualifier = column(name)
        return [row for row in rows if has(row[1], family, qualifier) and
                row[1][family][qualifier][0].text() == decoded(value)]
    if view in ("family", "columns"):
        wanted = [column(part) for part in text.split(",")]
        return filtered(rows, lambda family, qualifier, cells: cells if any(
            family == one and other in (None, qualifier) for one, other in wanted) else [])
    if view == "column":
        return filtered(rows, lambda family, qualifier, cells: cells if matches(qualifier) else [])
    if view == "newest":
        return filtered(rows, lambda family, qualifier, cells: cells[:int(text)])
    keep = {"value": lambda cell: matches(cell.text()), "at": lambda cell: cell.ts <= moment(text),
            "since": lambda cell: cell.ts >= moment(text), "until": lambda cell: cell.ts < moment(text)}[view]
    return filtered(rows, lambda family, qualifier, cells: [cell for cell in cells if keep(cell)])


NONE = ("reverse",)


def walk_chain(rows, chain):
    """Rows, place and direction behind a path of segments and views."""
    place, parts, reverse = None, chain.split("/"), False
    while parts:
        part = parts.pop(0)
        if part.startswith(".") and part[1:] in NONE:
            rows, reverse = apply(rows, part[1:], None, place), not reverse
        elif part.startswith("."):
            text = parts.pop(0)
            while part in (".from", ".to", ".prefix") and len(text) > 1 and text.endswith("%"):
                text = text[:-1] + parts.pop(0)
            rows = apply(rows, part[1:], text, place)
        else:
            segment = b"" if part == "%" else decoded(part)
            place = segment if place is None else place + DELIMITER + segment
    return below(rows, place), place, reverse


# ---- A mount ----------------------------------------------------------------------------------------

class Differs(Exception):
    pass


def same(what, want, got):
    if want != got:
        raise Differs("%s: expected %.600r, got %.600r" % (what, want, got))


def read(fd, name):
    with os.fdopen(os.open(name, os.O_RDONLY, dir_fd=fd), "rb") as stream:
        return stream.read()


def names(fd):
    with os.scandir(fd) as entries:
        return [entry.name for entry in entries]


def enter(fd, name):
    return os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=fd)


def unique(items):
    return list(dict.fromkeys(items))


class Tree:
    """The tree of a view against its rows, which are in the order of the view."""
    def __init__(self, families, reverse):
        self.families, self.reverse, self.inodes = families, reverse, set()

    def listed(self, fd, children, where, above=""):
        """children: whole encoded names in order. Enters those that the directory has, chunks too."""
        mine = [components(name) for name in children]
        depth = len(above) and len(above.split("/"))
        heads = unique(parts[depth] for parts in mine)
        got = names(fd)
        same("order of " + where, heads, got)
        for head in heads:
            yield head, [name for name, parts in zip(children, mine) if parts[depth] == head and len(parts) > depth + 1]

    def directory(self, fd, rows, place, where):
        prefix = b"" if place is None else place + DELIMITER
        segments, own = {}, {}
        for key, families in rows:
            if key == place:
                own = families
            else:
                segment = key[len(prefix):].split(DELIMITER)[0]
                segments.setdefault(segment, []).append((key, families))
        order = list(segments)
        spelled = {encode("segment", segment, self.families): segment for segment in order}
        self.names(fd, list(spelled) + sorted(encode("family", f.encode()) if not f.startswith(".") else
                                              "%2E" + f[1:] for f in own), where,
                   lambda inner, name: self.directory(inner, segments[spelled[name]], prefix + spelled[name],
                                                      where + "/" + name) if name in spelled else
                   self.family(inner, own["." + name[3:] if name.startswith("%2E") else name], where + "/" + name))

    def names(self, fd, children, where, visit, above=""):
        for head, deeper in self.listed(fd, children, where, above):
            inner = enter(fd, head)
            try:
                if deeper:
                    self.names(inner, deeper, where + "/" + head, visit, above + "/" + head if above else head)
                else:
                    name = [one for one in children if components(one)[-1] == head][0]
                    visit(inner, name)
            finally:
                os.close(inner)

    def family(self, fd, columns, where):
        spelled = {encode("qualifier", qualifier): cells for qualifier, cells in sorted(columns.items())}
        self.files(fd, spelled, list(spelled), where)

    def files(self, fd, spelled, children, where, above=""):
        for head, deeper in self.listed(fd, children, where, above):
            if deeper:
                inner = enter(fd, head)
                self.files(inner, spelled, deeper, where + "/" + head, above + "/" + head if above else head)
                os.close(inner)
                continue
            cells = spelled[[one for one in children if components(one)[-1] == head][0]]
            self.file(fd, head, cells[0], where + "/" + head)
            history = enter(fd, head + "@")
            same("history " + where + "/" + head, [str(cell.ts) for cell in cells], names(history))
            for cell in cells:
                self.file(history, str(cell.ts), cell, where + "/" + head + "@/%d" % cell.ts)
            os.close(history)

    def file(self, fd, name, cell, where):
        stat = os.stat(name, dir_fd=fd)
        same("attributes of " + where, (1, len(cell.file), cell.ts), (stat.st_nlink, stat.st_size, stat.st_mtime_ns // 1000))
        same("inode of " + where, False, stat.st_ino in self.inodes)
        self.inodes.add(stat.st_ino)
        same("value of " + where, cell.file, read(fd, name))


def check_chain(table, rows, families, chain):
    shown, place, reverse = walk_chain(rows, chain)
    fd = os.open(table, os.O_RDONLY | os.O_DIRECTORY)
    for part in chain.split("/"):
        try:
            below_fd = enter(fd, part)
        except FileNotFoundError:
            os.close(fd)
            return same("existence", False, bool(shown))
        os.close(fd)
        fd = below_fd
    same("rows", "".join(row_text(*row) + "\n" for row in shown), read(fd, ".rows").decode())
    same("keys", "".join(spell(key) + "\n" for key, _ in shown), read(fd, ".keys").decode())
    cells = [cell for _, columns in shown for qualifiers in columns.values() for cells in qualifiers.values() for cell in cells]
    same("count", {"rows": len(shown), "cells": len(cells), "bytes": sum(cell.size for cell in cells)},
         json.loads(read(fd, ".count")))
    if place is not None:
        same("row", "".join(row_text(*row) + "\n" for row in shown if row[0] == place), read(fd, ".row").decode())
    Tree(families, reverse).directory(fd, shown, place, ".")
    os.close(fd)


def check_chains(table, rows, families, chains):
    failed = 0
    for chain in chains:
        try:
            check_chain(table, rows, families, chain)
        except (Differs, OSError) as fault:
            failed += 1
            print("%s: %s" % (chain, fault))
    print("%d chains, %d differ" % (len(chains), failed))
    return failed


# ---- Random chains ----------------------------------------------------------------------------------

def key_text(key):
    return "".join("%2F" if char == "/" else char for char in spell(key)) or "%"


def argument(text):
    """An argument as a path: a KEY in chunks; `.` and `..` in escapes."""
    if text in (".", ".."):
        return "%2E" * len(text)
    return "/".join(components(text))


def random_view(rng, rows, place):
    keys = [key for key, _ in rows] or [b"a"]
    cells = [(family, qualifier, cell) for _, families in rows for family, columns in families.items()
             for qualifier, column_cells in columns.items() for cell in column_cells]
    family, qualifier, cell = rng.choice(cells) if cells else ("f", b"q", Cell({"ts": 1, "value": "x"}))
    key, prefix = rng.choice(keys), b"" if place is None else place + DELIMITER
    key = key[len(prefix):] if key.startswith(prefix) else b""
    name = family + ":" + (spell(qualifier).replace("/", "%2F").replace(",", "%2C").replace("=", "%3D") or "%")
    if len(os.fsencode(name)) > 150:
        name = family
    stamp = rng.choice([cell.ts, cell.ts + 1, max(cell.ts - 1, 0)])
    view = rng.choice(["from", "to", "prefix", "first", "last", "reverse", "sample", "key", "has", "where", "family",
                       "columns", "column", "newest", "value", "at", "since", "until"])
    if view in ("from", "to"):
        return view, argument(key_text(key[:rng.randrange(len(key) + 1)] if rng.random() < 0.3 else key))
    if view == "prefix":
        return view, argument(key_text(key[:rng.randrange(len(key) + 1)]))
    if view in ("first", "last"):
        return view, str(rng.choice([0, 1, 2, 3, 5, 10, 1000]))
    if view == "newest":
        return view, str(rng.choice([0, 1, 1, 2, 3]))
    if view == "reverse":
        return view, None
    if view == "sample":
        return view, rng.choice(["0.5", "0.25", "0.9", "1", "0.000000001"])
    if view == "key":
        return view, rng.choice([".*", "a.*", "a#.*", ".*#.*", "[ab].*", "%00.*|a.*", "(?:a|b)#?1?", "a|b", "ab?"])
    if view == "column":
        return view, rng.choice(["q.*", ".*", "%2E", "[a-q]*", "r"])
    if view == "value":
        return view, rng.choice(["v.*", "[0-9]+", ".*", "v1", "", ".+"]) or ".{0}"
    if view == "has":
        return view, rng.choice([family, name])
    if view == "where":
        text = spell(cell.text()).replace("/", "%2F")
        return ("has", name) if ":" not in name or len(os.fsencode(name + text)) > 200 else (view, name + "=" + text)
    if view == "family":
        return view, family
    if view == "columns":
        return view, ",".join(unique([name, rng.choice(["f", "g:q", "n"])]))
    return view, rng.choice([str(stamp), str(stamp), "1h", "now", "1970-01-01", "1970-01-01T00:00:01Z", "2001-01-01"])


def random_chain(rng, rows, families):
    parts, place, shown = [], None, rows
    for _ in range(rng.randrange(1, 6)):
        if rng.random() < 0.3 and shown:
            key = rng.choice(shown)[0]
            prefix = b"" if place is None else place + DELIMITER
            if key != place and key.startswith(prefix):
                segment = key[len(prefix):].split(DELIMITER)[0]
                name = encode("segment", segment, families)
                if len(name.encode()) <= CHUNK:
                    parts.append(name)
                    place = prefix + segment
        view, text = random_view(rng, shown, place)
        parts += ["." + view] + ([] if text is None else [text])
        shown = walk_chain(rows, "/".join(parts))[0]
    return "/".join(parts)


def check_parts(directory):
    def keys(chain):
        with open(directory + chain + "/.keys", "rb") as stream:
            return stream.read().splitlines()
    with open(directory + "/.splits") as stream:
        splits = stream.read().splitlines()
    assert len(splits) > 3, splits
    parts = [keys("/.from/%s/.to/%s" % pair) for pair in zip(["%"] + splits, splits)] + [keys("/.from/" + splits[-1])]
    assert sorted(keys("")) == sorted(key for part in parts for key in part)
    print("ok")


# ---- The table --------------------------------------------------------------------------------------

def print_table():
    rng = random.Random(20)
    keys = [b"a", b"a#", b"a#1", b"a#1#x", b"a#2", b"a!b", b"a!b#1", b"ab", b"ab#1", b"#", b"#x", b"b#1", b"b#2#/y",
            b"b#.rows", b"b#%41", b"b#\xff\xfe", b"b#\xc3\xa9", b"b#f", b"b#f#1", b"c#\x00\n", b"c#" + b"l" * 300,
            b"c#" + b"l" * 300 + b"#1", b"c#" + b"l" * 700, b"c#" + b"l" * 229 + b"/z", b"c#m", b"d", b"..", b".", b"zz"]
    qualifiers = [b"q", b"q2", b"", b"r", b".", b"q@", b"a=b,c:d", b"q/" + b"\xff", b"w" * 300, b"w" * 301]
    values = [b"v1", b"v1\n", b"v2", b"", b"12", b"\xff\x00", b"v" * 5000, b"1\n\n"]
    for key in keys:
        families = {}
        for family in rng.sample(["f", "g", ".h"], rng.randrange(1, 4)):
            families[family] = {spell(qualifier): [cell_of(ts, rng.choice(values)) for ts in sorted(
                rng.sample([1, 2, 3, 1000000, 1000001, 10 ** 15, 16 * 10 ** 14], rng.randrange(1, 4)), reverse=True)]
                for qualifier in rng.sample(qualifiers, rng.randrange(1, 4))}
        if rng.random() < 0.4:
            families["n"] = {"c": [{"ts": 7, "value": rng.randrange(20)}, {"ts": 3, "value": -5}]}
        print(compact({"key": spell(key), "families": families}))


def main(command, *a):
    if command == "table":
        return print_table()
    if command == "parts":
        return check_parts(a[0])
    if command in ("rows", "keys"):
        rows = table_of(a[0])
        for chain in a[1:]:
            for row in walk_chain(rows, chain)[0]:
                print(row_text(*row) if command == "rows" else spell(row[0]))
        return None
    table, rows, families = a[0], table_of(a[1]), a[2].split(",")
    if command == "check":
        return check_chains(table, rows, families, a[3:]) > 0
    rng = random.Random(int(a[3]))
    return check_chains(table, rows, families, [random_chain(rng, rows, families) for _ in range(int(a[4]))]) > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
