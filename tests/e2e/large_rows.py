# SPDX-License-Identifier: MIT
"""A row of more text than a line of rowfs-dump has, between two small ones, as dictionaries.

    large_rows.py make DIR    writes their cells below the directory of their table, in a mount
    large_rows.py check FILE  fails unless the lines of that dump together have just these cells,
                              each line that a row goes on behind is of more than 128 MiB, and none
                              is without its last cell; prints how many lines each row has
    large_rows.py csv         prints their newest values as CSV without quotes, which none needs
"""

import base64
import json
import os
import random
import sys

MIB = 1 << 20
LINE = 128 * MIB
# Of the value whose every byte takes six: more than a line of a dump; in the long run also than a mount takes.
SIX = (22 if os.environ.get("ROWFS_FULL", "0") in ("", "0") else 43) * MIB


def rows():
    rng = random.Random(5)
    # Without the bytes that CSV quotes or does not carry, and no UTF-8. No two MiB are alike that a
    # compression could see together.
    noise = [rng.randbytes(MIB).translate(bytes.maketrans(b'\r"', b"xx")) * 49 for _ in range(2)]
    return {
        "a": {("f", "a"): {1: b"first"}},
        "r": {
            ("f", "a"): {1: bytes(SIX)},
            ("f", "b"): {9: noise[0], 8: noise[1], 7: b"old", 6: b"older"},
            ("g", "d"): {1: b"behind"},
        },
        "z": {("f", "b"): {1: b"last"}},
    }


def make(directory):
    for key, row in rows().items():
        for (family, qualifier), cells in row.items():
            history = f"{directory}/{key}/{family}/{qualifier}@"
            os.makedirs(history)
            for ts, value in cells.items():
                with open(f"{history}/{ts}", "wb") as file:
                    file.write(value)


def check(path):
    wanted, lines, before = rows(), {}, ("", 0)
    with open(path, "rb") as dump:
        assert "tables" in json.loads(next(dump)), "no schema"
        assert json.loads(next(dump)) == {"table": "t"}, "no table"
        for text in dump:
            row = json.loads(text)
            key = row["key"]
            assert key > before[0] or (key == before[0] and before[1] > LINE), f"{key}: comes early"
            for family, columns in row["families"].items():
                for qualifier, cells in columns.items():
                    for cell in cells:
                        form = "base64" if "base64" in cell else "value"
                        value = cell[form].encode()
                        last = len(value) * (6 if value.startswith(b"\0") else 1)
                        if form == "base64":
                            value = base64.b64decode(value)
                        assert wanted[key][family, qualifier].pop(cell["ts"]) == value, key
            assert len(text) - last <= LINE, f"{key}: goes on beyond a line's length"
            lines[key] = lines.get(key, 0) + 1
            before = key, len(text)
    left = [key for key, row in wanted.items() for cells in row.values() if cells]
    assert not left, f"cells of {left} are missing"
    print(*(f"{key}:{count}" for key, count in lines.items()))


def csv():
    columns = [("f", "a"), ("f", "b"), ("g", "d")]
    out = sys.stdout.buffer
    out.write(b",f,,g\n,a,b,d\n")
    for key, row in rows().items():
        newest = [row[place][max(row[place])] if place in row else b"" for place in columns]
        out.write(b",".join([key.encode(), *newest]) + b"\n")


if __name__ == "__main__":
    {"make": make, "check": check, "csv": csv}[sys.argv[1]](*sys.argv[2:])
