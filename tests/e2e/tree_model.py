# SPDX-License-Identifier: MIT
"""What a mount must show of any bytes: the spelling of names, and every cell read back from a tree.

Written from the promise alone, so that tests compare two things that do not share a line of code.
Directories are entered one name at a time, since a path string ends at 4,096 bytes.

    python3 tree_model.py cells DIRECTORY FAMILY…

prints a line for each cell below a table's directory, sorted: key, family, qualifier, timestamp,
size and digest of the value. Below /.versions these are all cells, elsewhere the newest ones.
"""

import hashlib
import os
import re
import sys

sys.setrecursionlimit(20000)

CHUNK = 230


def escape(data):
    return "".join("%%%02X" % byte for byte in data)


def encode(kind, data, families=()):
    """The encoded name of bytes; kind is "segment" or "qualifier"."""
    if not data:
        return "%"
    if kind == "segment" and data in [family.encode() for family in families]:
        return escape(data)
    if kind == "qualifier" and data in (b".", b".."):
        return escape(data)
    name = ""
    for char in data.decode("utf-8", "surrogateescape"):
        plain = char not in "/%\x7f" and char >= " " and not "\udc80" <= char <= "\udcff"
        name += char if plain else escape(char.encode("utf-8", "surrogateescape"))
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
    return [chunk + "%" for chunk in chunks[:-1]] + chunks[-1:]


def row_components(key, families=(), delimiter=b"#"):
    names = []
    for segment in key.split(delimiter):
        names += components(encode("segment", segment, families))
    return names


def decode(name):
    if name == "%":
        return b""
    return re.sub(
        b"%([0-9A-F]{2})", lambda match: bytes([int(match[1], 16)]), os.fsencode(name)
    )


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
    file = os.open(name, os.O_RDONLY, dir_fd=fd)
    with os.fdopen(file, "rb") as stream:
        return stream.read()


def write(fd, name, value):
    file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, dir_fd=fd)
    with os.fdopen(file, "wb") as stream:
        stream.write(value)


class Tree:
    def __init__(self, families):
        self.families = families
        self.cells = []

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
                segment = decode(above + name)
                longer = segment if key is None else key + b"#" + segment
                self.below(fd, name, self.segments, longer)

    def family(self, fd, row, above=""):
        for name in os.listdir(fd):
            if name != "%" and name.endswith("%"):
                self.below(fd, name, self.family, row, above + name[:-1])
            elif name.endswith("@"):
                self.below(fd, name, self.history, row + (decode(above + name[:-1]),))
            else:
                stamp = os.stat(name, dir_fd=fd).st_mtime_ns // 1000
                self.cell(fd, name, row + (decode(above + name), stamp))

    def history(self, fd, column):
        for name in os.listdir(fd):
            self.cell(fd, name, column + (int(name),))

    def cell(self, fd, name, cell):
        self.cells.append(cell + describe(read(fd, name)))


def describe(value):
    return (len(value), hashlib.sha256(value).hexdigest()[:16])


def lines(cells):
    return "".join("%r %s %r %d %d %s\n" % cell for cell in sorted(cells))


def tree_cells(directory, families):
    tree = Tree(families)
    fd = enter(directory)
    tree.segments(fd, None)
    os.close(fd)
    return tree.cells


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] != "cells":
        sys.exit("usage: tree_model.py cells DIRECTORY FAMILY…")
    try:
        sys.stdout.write(lines(tree_cells(sys.argv[2], sys.argv[3:])))
    except OSError as error:
        sys.exit("tree_model: %.200s" % error)
