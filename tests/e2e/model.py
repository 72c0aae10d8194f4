# SPDX-License-Identifier: MIT
"""The expected form of rows as names in a mount, as lines of JSON and as CSV, by docs/semantics.md
and Python's json, base64 and csv alone: tests compare two things that do not share a line of code.

    model tree DIRECTORY FAMILY…   a line for each cell below a table's directory, sorted: key,
        family, qualifier, timestamp, size and digest of the value; below /.versions all cells,
        elsewhere the newest ones
    model random SEED COUNT PREFIX prints COUNT lines of rows below PREFIX, full of any bytes
    model cells FILE               prints each cell of the lines in FILE, in one order
    model ordered FILE             fails unless keys ascend, columns do, and versions descend
    model dump SEED DIR TS         writes DIR/in (lines for rowfs-load) and DIR/want (the dump of
        them); no timestamp is above TS
    model random_csv SEED FILE KEY NAME=VALUE…
                                   writes a CSV of random fields for the families f and g
    model csv FILE KEY NAME=VALUE… prints its cells, a line each; KEY empty: as cbt import takes it, or
                                   the columns whose fields with # between them are the keys; the
                                   others are parameters of Python's reader, and of its writer;
                                   null=TEXT is no cell, in place of an empty field
    model fit FILE                 prints the rows of a dump's table t, without cells that CSV cannot have
    model harmless FILE            prints lines of an earlier version as this one spells them
    model newest FILE              prints the newest values of a dump's only table, as csv does
"""
import base64
import json
import os
import re
import struct
import sys

from calls import later

csv, hashlib, random = later("csv", "hashlib", "random")  # which few commands need

sys.setrecursionlimit(20000)

CHUNK = 230
SCHEMA = {"t": {"f": "never", "g": "maxversions=1000"}, "u": {"f": "never"}, "empty": {}}


# ---- Spelling -----------------------------------------------------------------------------------

def escape(data):
    return "".join("%%%02X" % byte for byte in data)


def spell(data, others=""):
    """Bytes as text, %XX for '%', control bytes, bytes that are not UTF-8, and the others."""
    name = ""
    for char in data.decode("utf-8", "surrogateescape"):
        bad = char in "%\x7f" + others or char < " " or "\udc80" <= char <= "\udcff"
        name += escape(char.encode("utf-8", "surrogateescape")) if bad else char
    return name


def unspell(text):
    data = os.fsencode(text) if isinstance(text, str) else text
    return re.sub(b"%([0-9A-F]{2})", lambda match: bytes([int(match[1], 16)]), data)


def encode(kind, data, families=()):
    """The encoded name of bytes; kind is "segment" or "qualifier"."""
    if not data:
        return "%"
    if data in ([family.encode() for family in families] if kind == "segment" else (b".", b"..")):
        return escape(data)
    name = spell(data, "/")
    if kind == "segment" and name.startswith("."):
        name = "%2E" + name[1:]
    if kind == "qualifier" and name.endswith("@"):
        name = name[:-1] + "%40"
    return name


def components(name):
    """The names of the chunk directories and the last chunk of an encoded name."""
    if len(name.encode()) <= CHUNK:
        return [name]
    chunks = [""]
    for atom in re.findall("%[0-9A-F]{2}|.", name, re.DOTALL):
        if len((chunks[-1] + atom).encode()) > CHUNK:
            chunks.append("")
        chunks[-1] += atom
    last = chunks.pop()
    return [chunk + "%" for chunk in chunks] + [escape(last.encode()) if last in (".", "..") else last]


def row_components(key, families=(), delimiter=b"#"):
    return [part for segment in key.split(delimiter)
            for part in components(encode("segment", segment, families))]


# ---- Trees --------------------------------------------------------------------------------------
# Directories are entered one name at a time, since a path string ends at 4,096 bytes.

def enter(directory, *names, make=False):
    """A descriptor of the directory that the names lead to."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    for name in names:
        if make:
            try:
                os.mkdir(name, dir_fd=fd)
            except FileExistsError:
                pass
        below = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=fd)
        os.close(fd)
        fd = below
    return fd


def read(fd, name):
    with os.fdopen(os.open(name, os.O_RDONLY, dir_fd=fd), "rb") as stream:
        return stream.read()


def write(fd, name, value):
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    with os.fdopen(os.open(name, flags, dir_fd=fd), "wb") as stream:
        stream.write(value)


class Tree:
    def __init__(self, directory, families):
        self.families, self.cells = families, []
        self.below(enter(directory), ".", self.segments, None)

    def below(self, fd, name, walk, *state):
        inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY, dir_fd=fd)
        try:
            walk(inner, *state)
        finally:
            os.close(inner)

    def segments(self, fd, key, above=""):
        for name in os.listdir(fd):
            if key is not None and not above and name in self.families:
                self.below(fd, name, self.family, (key, name))
            elif name != "%" and name.endswith("%"):
                self.below(fd, name, self.segments, key, above + name[:-1])
            else:
                segment = b"" if name == "%" and not above else unspell(above + name)
                self.below(fd, name, self.segments, segment if key is None else key + b"#" + segment)

    def family(self, fd, row, above=""):
        def qualifier(name):
            return b"" if above + name == "%" else unspell(above + name)
        for name in os.listdir(fd):
            if name != "%" and name.endswith("%"):
                self.below(fd, name, self.family, row, above + name[:-1])
            elif name.endswith("@"):
                self.below(fd, name, self.history, row + (qualifier(name[:-1]),))
            else:
                stamp = os.stat(name, dir_fd=fd).st_mtime_ns // 1000
                self.cell(fd, name, row + (qualifier(name), stamp))

    def history(self, fd, column):
        for name in os.listdir(fd):
            self.cell(fd, name, column + (int(name),))

    def cell(self, fd, name, cell):
        self.cells.append(cell + describe(read(fd, name)))


def describe(value):
    return (len(value), hashlib.sha256(value).hexdigest()[:16])


def lines(cells):
    return "".join("%r %s %r %d %d %s\n" % cell for cell in sorted(cells))


# ---- Rows as JSON -------------------------------------------------------------------------------

# Characters that act on terminals, hide or reorder text, as rowfs(5) lists them.
HOSTILE = re.compile("[\x7f-\x9f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f"
                     "\ufeff\ufff0-\ufffb\ufffe\uffff\U000e0000-\U0010ffff]")


def harmless(text):
    units = lambda match: struct.unpack(">%dH" % (1 + (match[0] > "\uffff")), match[0].encode("utf-16-be"))
    return HOSTILE.sub(lambda match: "".join("\\u%04x" % unit for unit in units(match)), text)


def compact(value):
    return harmless(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def print_harmless(path):
    with open(path, encoding="utf-8", newline="") as source:
        sys.stdout.write(harmless(source.read()))


def cell_of(ts, value):
    try:
        return {"ts": ts, "value": value.decode("utf-8")}
    except UnicodeDecodeError:
        return {"ts": ts, "base64": base64.b64encode(value).decode("ascii")}


def row_line(key, families):
    """The line of a row {family: {qualifier: {timestamp: value}}}, in the order of a dump."""
    return compact({"key": spell(key), "families": {
        family: {spell(name): [cell_of(ts, columns[name][ts]) for ts in sorted(columns[name], reverse=True)]
                 for name in sorted(columns)} for family, columns in sorted(families.items())}})


def value_of(cell):
    if "base64" in cell:
        return base64.b64decode(cell["base64"], validate=True)
    return str(cell["value"]).encode("utf-8")


def columns_of(row):
    """Key, family, qualifier and cells of each column."""
    for family, columns in row["families"].items():
        for qualifier, cells in columns.items():
            yield unspell(row["key"]), family, unspell(qualifier), cells


def rows_of(name):
    with open(name, "rb") as source:
        for line in source:
            yield json.loads(line)


def some_bytes(rng, most):
    kind, size = rng.randrange(5), rng.randrange(most + 1)
    if kind == 0:
        return rng.randbytes(size)
    if kind == 1:
        return "".join(rng.choices("aé€😀\u009b\u202e\ufe0f\U000e0041\n\r\t\0\"\\%\x7f,/ .@#", k=size // 4)).encode()
    if kind == 2:
        return bytes(rng.choices(b"\x00\x1f %!\"#$@./\x7f\x80\xc3\xa9\xff", k=size))
    return bytes(rng.choices(b"abc019 xyz", k=size))


def print_random(seed, count, prefix):
    rng, prefix = random.Random(int(seed)), prefix.encode()
    keys = {prefix}
    while len(keys) < int(count):
        keys.add(prefix + b"#" + some_bytes(rng, rng.choice((3, 20, 300))))
    for key in rng.sample(sorted(keys), len(keys)):
        families = {}
        for family in rng.sample("fg", rng.randrange(1, 3)):
            columns = families[family] = {}
            for _ in range(rng.randrange(1, 4)):
                columns[spell(some_bytes(rng, rng.choice((4, 40, 400))))] = [
                    cell_of(stamp, some_bytes(rng, rng.choice((0, 30, 30, 30, 9000, 9000, 200000))))
                    for stamp in rng.sample(range(1, 1 << 50), rng.randrange(1, 4))]
        print(json.dumps({"key": spell(key), "families": families}, ensure_ascii=rng.random() < 0.5))


def print_cells(name):
    for cell in sorted(column[:3] + (cell["ts"], value_of(cell)) for row in rows_of(name)
                       for column in columns_of(row) for cell in column[3]):
        print(*cell)


def ordered(name):
    before = None
    for row in rows_of(name):
        key = unspell(row["key"])
        assert spell(key) == row["key"], "not the one spelling: %r" % row["key"]
        assert before is None or before < key, "%r behind %r" % (key, before)
        before = key
        names = [column[1:3] for column in columns_of(row)]
        assert names == sorted(names), key
        for *_, cells in columns_of(row):
            stamps = [cell["ts"] for cell in cells]
            assert stamps and stamps == sorted(set(stamps), reverse=True), key


# ---- Dumps, and CSV -----------------------------------------------------------------------------

def write_dump(seed, directory, last):
    rng, last = random.Random(int(seed)), int(last)
    schema = compact({"version": 1, "tables": {table: {"delimiter": "#", "families": {
        family: {"gc": gc, "type": "bytes"} for family, gc in sorted(SCHEMA[table].items())}}
        for table in sorted(SCHEMA)}})
    loaded, want = [schema], [schema]
    for table in sorted(SCHEMA):
        rows = {}
        for out in loaded, want:
            out.append(compact({"table": table}))
        for _ in range(200 if SCHEMA[table] else 0):
            key = b"k" + some_bytes(rng, 10) if rng.randrange(8) else some_bytes(rng, 200) + b"#"
            family, qualifier = rng.choice(list(SCHEMA[table])), some_bytes(rng, 20)
            ts = rng.choice([0, 1, 1700000000000000, last, rng.randrange(last)])
            value = some_bytes(rng, 40 if rng.randrange(20) else 100000)
            rows.setdefault(key, {}).setdefault(family, {}).setdefault(qualifier, {})[ts] = value
            cell = {"base64": base64.b64encode(value).decode(), "ts": ts}
            loaded.append(json.dumps({"families": {family: {escape(qualifier): [cell]}}, "key": escape(key)}))
        want += [row_line(key, rows[key]) for key in sorted(rows)]
    for name, out in ("in", loaded), ("want", want):
        with open("%s/%s" % (directory, name), "w", encoding="utf-8", newline="") as file:
            file.write("\n".join(out) + "\n")


def csv_parameters(words):
    """Those of Python's csv, and the text of a field that is no cell."""
    parameters = dict(word.split("=", 1) for word in words)
    if "quoting" in parameters:
        parameters["quoting"] = int(parameters["quoting"])
    return parameters.pop("null", ""), parameters


def write_csv(seed, path, key, *words):
    null, parameters = csv_parameters(words)
    rng = random.Random(int(seed))

    def text(least):
        return "".join(rng.choices("ab ,\"\n\r;\u00e4%@1" + parameters.get("escapechar", ""), k=rng.randrange(least, 7)))

    width = rng.randrange(2, 9)
    names = [text(1) + str(i) for i in range(width)]
    keys = key.split(",") if key else [""]
    order = list(range(len(keys) + width))
    if key:
        names = [rng.choice("fg") + ":" + name for name in names]
        rng.shuffle(order)
    with open(path, "w", newline="") as out:
        # csv quotes CR and LF only where they are part of the line's end.
        dialects = [
            {"lineterminator": "\r\n"}, {"lineterminator": "\n", "quoting": csv.QUOTE_ALL},
            {"lineterminator": "\r", "quoting": csv.QUOTE_ALL}]
        if null or "quoting" in parameters:  # which no quotes may surround
            dialects = dialects[:1]
        writer = csv.writer(out, **{**rng.choice(dialects), **parameters})
        if not key:
            writer.writerow(["", "f"] + [rng.choice(["", "", "g", "f"]) for _ in range(width - 1)])
        writer.writerow([(keys + names)[at] for at in order])
        for i in range(200):
            record = ["r%d." % i + text(0)] + [text(1) for _ in keys[1:]]
            record += [rng.choice([null, text(0)]) for _ in range(width)]
            writer.writerow([record[at] for at in order])


def print_csv(path, key, *words):
    null, parameters = csv_parameters(words)
    csv.field_size_limit(1 << 30)
    with open(path, encoding="utf-8", errors="surrogateescape", newline="") as source:
        header, *records = list(csv.reader(source, **parameters))
    if key:
        keys = [header.index(name) for name in key.split(",")]
        columns = [(at, *name.split(":", 1)) for at, name in enumerate(header) if at not in keys]
    else:
        families, qualifiers, records = header, records[0], records[1:]
        assert families[0] == "" and qualifiers[0] == "" and families[1] != ""
        for i in range(1, len(families)):
            families[i] = families[i] or families[i - 1]
        assert len(qualifiers) == len(families)
        keys, columns = [0], list(zip(range(len(header)), families, qualifiers))[1:]
    for record in records:
        assert len(record) == len(header)
        for at, family, qualifier in columns:
            if record[at] != null:
                print(ascii(("#".join(record[key] for key in keys), family, qualifier, record[at])))


def print_fit(path):
    table = None
    for row in rows_of(path):
        table = row.get("table", table)
        if table != "t" or "key" not in row:
            continue
        kept = {}
        for family, columns in row["families"].items():
            for qualifier, cells in columns.items():
                cells = [cell for cell in cells if qualifier and value_of(cell)]
                if cells:
                    kept.setdefault(family, {})[qualifier] = cells
        if kept:
            print(compact({"key": row["key"], "families": kept}))


def print_newest(path):
    for row in rows_of(path):
        for key, family, qualifier, cells in columns_of(row) if "families" in row else ():
            print(ascii((os.fsdecode(key), family, os.fsdecode(qualifier), os.fsdecode(value_of(cells[0])))))


def print_tree(directory, *families):
    try:
        sys.stdout.write(lines(Tree(directory, families).cells))
    except OSError as error:
        sys.exit("model: %.200s" % error)


def main(command, *arguments):
    {"tree": print_tree, "random": print_random, "cells": print_cells, "ordered": ordered,
     "dump": write_dump, "random_csv": write_csv, "csv": print_csv,
     "fit": print_fit, "harmless": print_harmless, "newest": print_newest}[command](*arguments)
