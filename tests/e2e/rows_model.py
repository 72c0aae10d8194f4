#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Rows as JSON, read and written by the rules of docs/semantics.md alone, to compare with.

  rows_model.py make SEED COUNT PREFIX   prints COUNT lines of rows below PREFIX, full of any bytes
  rows_model.py cells FILE               prints each cell of the lines in FILE, in one order
  rows_model.py ordered FILE             fails unless keys ascend, columns do, and versions descend
  rows_model.py halves FILE              fails where the cells of one row differ in their value
"""
import base64
import json
import random
import sys

FAMILIES = ("f", "g")


def spell(data):
    """Bytes as text with %XX for '%', control bytes and what is not UTF-8."""
    text = ""
    while data:
        for size in (1, 2, 3, 4):
            try:
                char = data[:size].decode("utf-8")
            except UnicodeDecodeError:
                continue
            if len(char) == 1 and char != "%" and ord(char) >= 32 and ord(char) != 127:
                break
            char, size = "%%%02X" % data[0], 1
            break
        else:
            char, size = "%%%02X" % data[0], 1
        text += char
        data = data[size:]
    return text


def unspell(text):
    data, i = b"", 0
    while i < len(text):
        if text[i] == "%":
            data += bytes.fromhex(text[i + 1 : i + 3])
            i += 3
        else:
            data += text[i].encode("utf-8")
            i += 1
    return data


def value_of(cell):
    if "base64" in cell:
        return base64.b64decode(cell["base64"], validate=True)
    return cell["value"].encode("utf-8")


def some_bytes(rng, most):
    kind = rng.randrange(5)
    size = rng.randrange(most + 1)
    if kind == 0:
        return rng.randbytes(size)
    if kind == 1:
        return "".join(rng.choices("aé€😀\n\r\t\0\"\\%/ .@#", k=size // 4)).encode()
    if kind == 2:
        return bytes(rng.choices(b"\x00\x1f %!\"#$@./\x7f\x80\xc3\xa9\xff", k=size))
    return bytes(rng.choices(b"abc019", k=size))


def make(seed, count, prefix):
    rng = random.Random(seed)
    keys = {prefix}
    while len(keys) < count:
        keys.add(prefix + b"#" + some_bytes(rng, rng.choice((3, 20, 300))))
    for key in rng.sample(sorted(keys), len(keys)):
        families = {}
        for family in rng.sample(FAMILIES, rng.randrange(1, 3)):
            columns = families[family] = {}
            for _ in range(rng.randrange(1, 4)):
                cells = columns[spell(some_bytes(rng, rng.choice((4, 40, 400))))] = []
                for stamp in rng.sample(range(1, 1 << 50), rng.randrange(1, 4)):
                    value = some_bytes(rng, rng.choice((0, 30, 30, 30, 9000, 9000, 200000)))
                    cell = {"ts": stamp}
                    try:
                        cell["value"] = value.decode("utf-8")
                    except UnicodeDecodeError:
                        cell["base64"] = base64.b64encode(value).decode()
                    cells.append(cell)
        print(json.dumps({"key": spell(key), "families": families},
                         ensure_ascii=rng.random() < 0.5))


def cells_of(row):
    for family, columns in row["families"].items():
        for qualifier, cells in columns.items():
            for cell in cells:
                yield (unspell(row["key"]), family, unspell(qualifier), cell["ts"],
                       value_of(cell))


def rows_of(name):
    with open(name, "rb") as lines:
        for line in lines:
            yield json.loads(line)


def ordered(name):
    before = None
    for row in rows_of(name):
        key = unspell(row["key"])
        assert spell(key) == row["key"], "not the one spelling: %r" % row["key"]
        assert before is None or before < key, "%r behind %r" % (key, before)
        before = key
        assert list(row["families"]) == sorted(row["families"]), key
        for columns in row["families"].values():
            names = [unspell(q) for q in columns]
            assert names == sorted(names), key
            for cells in columns.values():
                stamps = [cell["ts"] for cell in cells]
                assert stamps and stamps == sorted(set(stamps), reverse=True), key


def halves(name):
    for row in rows_of(name):
        newest = {value_of(cells[0]) for columns in row["families"].values()
                  for cells in columns.values()}
        assert len(newest) == 1, "row %s shows %r at once" % (row["key"], newest)


def main(what, *args):
    if what == "make":
        make(int(args[0]), int(args[1]), args[2].encode())
    elif what == "cells":
        for cell in sorted(c for row in rows_of(args[0]) for c in cells_of(row)):
            print(*cell)
    elif what == "ordered":
        ordered(args[0])
    else:
        halves(args[0])


main(*sys.argv[1:])
