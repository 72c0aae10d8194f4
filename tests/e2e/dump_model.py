# SPDX-License-Identifier: MIT
"""Tables as plain dictionaries, and what a dump of them is, by Python's json, base64 and csv.

    dump_model.py make SEED DIR TS
        writes DIR/in (lines for rowfs-load) and DIR/want (the dump of them); no timestamp is above TS
    dump_model.py csv FILE        prints the cells of a CSV as cbt import takes it, a line each
    dump_model.py fit FILE        prints the rows of a dump's table t, without what CSV cannot have
    dump_model.py newest FILE     prints those of a dump's only table, newest values, the same way
"""

import base64
import csv
import json
import random
import sys

SCHEMA = {"t": {"f": "never", "g": "maxversions=1000"}, "u": {"f": "never"}, "empty": {}}


def is_text(data):
    try:
        data.decode("utf-8")
        return True
    except UnicodeDecodeError:
        return False


def name(data):
    """%XX for '%', control bytes and what is not UTF-8."""
    out = ""
    while data:
        for n in (1, 2, 3, 4):
            if is_text(data[:n]):
                break
        else:
            n = 0
        if n == 0 or data[0] < 0x20 or data[0] == 0x7F or data[0] == 0x25:
            out += "%%%02X" % data[0]
            data = data[1:]
        else:
            out += data[:n].decode("utf-8")
            data = data[n:]
    return out


def compact(value):
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("\x7f", "\\u007f")


def cell(ts, value):
    if is_text(value):
        return {"ts": ts, "value": value.decode("utf-8")}
    return {"ts": ts, "base64": base64.b64encode(value).decode("ascii")}


def row_line(key, families):
    out = {}
    for family in sorted(families):
        out[family] = {}
        for qualifier in sorted(families[family]):
            cells = families[family][qualifier]
            out[family][name(qualifier)] = [cell(ts, cells[ts]) for ts in sorted(cells, reverse=True)]
    return compact({"key": name(key), "families": out})


def random_bytes(rng, most):
    kind = rng.randrange(4)
    size = rng.randrange(most)
    if kind == 0:
        return rng.randbytes(size)
    if kind == 1:
        return "".join(rng.choice("aé€😀\"\\%\n\x00\x7f#/.@,") for _ in range(size)).encode()
    return "".join(rng.choice("abcdefghijklmnop qrstuvwxyz") for _ in range(size)).encode()


def schema_line():
    tables = {}
    for table in sorted(SCHEMA):
        families = {f: {"gc": gc, "type": "bytes"} for f, gc in sorted(SCHEMA[table].items())}
        tables[table] = {"delimiter": "#", "families": families}
    return compact({"version": 1, "tables": tables})


def make(seed, directory, last):
    rng = random.Random(seed)
    lines, want = [schema_line()], [schema_line()]
    for table in sorted(SCHEMA):
        rows = {}
        lines.append(compact({"table": table}))
        want.append(compact({"table": table}))
        for _ in range(200 if SCHEMA[table] else 0):
            key = b"k" + random_bytes(rng, 10) if rng.randrange(8) else random_bytes(rng, 200) + b"#"
            family = rng.choice(list(SCHEMA[table]))
            qualifier = random_bytes(rng, 20)
            ts = rng.choice([0, 1, 1700000000000000, last, rng.randrange(last)])
            value = random_bytes(rng, 40 if rng.randrange(20) else 100000)
            columns = rows.setdefault(key, {}).setdefault(family, {})
            columns.setdefault(qualifier, {})[ts] = value
            coded = base64.b64encode(value).decode()
            escaped = "".join("%%%02X" % byte for byte in qualifier)
            lines.append(json.dumps({"families": {family: {escaped: [{"base64": coded, "ts": ts}]}},
                                     "key": "".join("%%%02X" % byte for byte in key)}))
        want += [row_line(key, rows[key]) for key in sorted(rows)]
    with open(directory + "/in", "w", encoding="utf-8") as out:
        out.write("\n".join(lines) + "\n")
    with open(directory + "/want", "w", encoding="utf-8", newline="") as out:
        out.write("\n".join(want) + "\n")


def from_csv(path):
    csv.field_size_limit(1 << 30)
    with open(path, encoding="utf-8", errors="surrogateescape", newline="") as source:
        records = list(csv.reader(source))
    if not records:
        return
    families, qualifiers = records[0], records[1]
    assert families[0] == "" and qualifiers[0] == "" and families[1] != ""
    for i in range(1, len(families)):
        families[i] = families[i] or families[i - 1]
    for record in records[2:]:
        assert len(record) == len(families) == len(qualifiers)
        for family, qualifier, value in list(zip(families, qualifiers, record))[1:]:
            if value:
                yield record[0], family, qualifier, value


def unname(text):
    data = b""
    while text:
        if text[0] == "%":
            data += bytes([int(text[1:3], 16)])
            text = text[3:]
        else:
            data += text[0].encode()
            text = text[1:]
    return data.decode("utf-8", "surrogateescape")


def fits(qualifier, cell_object):
    value = cell_object.get("value")
    value = base64.b64decode(cell_object["base64"]) if value is None else value.encode()
    return qualifier and value


def fit(path):
    table = None
    with open(path, encoding="utf-8", newline="\n") as source:
        for line in source:
            row = json.loads(line)
            table = row.get("table", table)
            if table != "t" or "key" not in row:
                continue
            kept = {}
            for family, columns in row["families"].items():
                for qualifier, cells in columns.items():
                    cells = [c for c in cells if fits(qualifier, c)]
                    if cells:
                        kept.setdefault(family, {})[qualifier] = cells
            if kept:
                print(compact({"key": row["key"], "families": kept}))


def newest(path):
    with open(path, encoding="utf-8", newline="\n") as source:
        for line in source:
            row = json.loads(line)
            for family, columns in row.get("families", {}).items():
                for qualifier, cells in columns.items():
                    value = cells[0].get("value")
                    if value is None:
                        value = base64.b64decode(cells[0]["base64"]).decode("utf-8", "surrogateescape")
                    yield unname(row["key"]), family, unname(qualifier), str(value)


def main():
    if sys.argv[1] == "make":
        make(int(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
        return
    if sys.argv[1] == "fit":
        fit(sys.argv[2])
        return
    for found in (from_csv if sys.argv[1] == "csv" else newest)(sys.argv[2]):
        print(ascii(found))


main()
