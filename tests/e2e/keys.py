# SPDX-License-Identifier: MIT
"""Key designs by docs/semantics.md and Python's int and datetime alone: codecs, shown forms, names and
salts, and random keys.

    keys.py random SEED COUNT DIR     writes DIR/schema.json with tables of several designs, and for each
        table T the COUNT keys of T.shown, a line each, as T.path (below the mount's root) and T.stored
    keys.py rows SEED COUNT DIR       writes the same schema, and COUNT rows with history of each table:
        DIR/rows, in any order, for rowfs-load; DIR/want, their dump but for its line of the schema; and
        DIR/T.stored, the stored keys in their order
"""
import datetime
import json
import random
import sys

from model import cell_of, compact, components, encode, some_bytes, spell

LAST = 253402300799999999  # the last microsecond of year 9999
INT64 = (1 << 63) - 1
UNIT = {"us": (1, 6), "ms": (1000, 3), "s": (1000000, 0)}
FAMILIES = ("f", "loc")
ROOM = 4096 - 3  # bytes of a key behind its salt


# ---- Segments -----------------------------------------------------------------------------------
# A segment is an object of the schema's "segments". decode gives None where the bytes have no shown
# form, encode where the text is none.

def time_shown(number, unit):
    us, decimals = UNIT[unit]
    moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=number * us)
    text = "%04d%s" % (moment.year, moment.strftime("-%m-%dT%H:%M:%S"))
    if decimals:
        text += "." + ("%06d" % moment.microsecond)[:decimals]
    return (text + "Z").encode()


def decode(segment, data):
    codec = segment.get("codec", "text")
    digits = data if data.isdigit() else None
    if codec == "text":
        return data
    if not data:
        return None
    if codec == "reverse-domain":
        return b".".join(reversed(data.split(b".")))
    if codec == "reverse":
        return data[::-1]
    if codec == "pad":
        return b"%d" % int(digits) if digits and len(data) == segment["width"] else None
    width = 19 if codec == "reverse-time" else segment.get("width", 19)
    if not digits or len(data) != width:
        return None
    number, unit = int(digits), segment.get("unit", "us")
    if codec == "reverse-time":
        number = INT64 - number
    return time_shown(number, unit) if 0 <= number * UNIT[unit][0] <= LAST else None


def stored_time(segment, number):
    """The bytes of a time in the segment's unit."""
    if segment["codec"] == "reverse-time":
        return b"%019d" % (INT64 - number)
    return b"%0*d" % (segment.get("width", 19), number)


# ---- Keys ---------------------------------------------------------------------------------------

class Design:
    """Of a table as a schema describes it."""

    def __init__(self, table):
        keys = table.get("keys", {})
        self.delimiter = table.get("delimiter", "#").encode()
        self.families = list(table.get("families", {}))
        self.segments = [{"name": s} if isinstance(s, str) else s for s in keys.get("segments", [])]
        self.salt = keys.get("salt")

    def segment(self, i):
        return self.segments[i] if i < len(self.segments) else {}

    def show(self, key):
        parts = []
        for i, data in enumerate(key.split(self.delimiter)):
            shown = decode(self.segment(i), data)
            parts.append("%=" + spell(data) if shown is None else spell(shown))
        return spell(self.delimiter).join(parts)

    def path(self, key):
        """The components of the key's path below its table."""
        names = []
        for i, data in enumerate(key.split(self.delimiter)):
            segment = self.segment(i)
            shown = decode(segment, data)
            name = None if shown is None else encode("segment", shown, self.families)
            if name is None or (segment.get("codec", "text") != "text" and len(name.encode()) > 230):
                name = "%=" + encode("segment", data)
            names += [name] if name == "%=%" else components(name)
        return names

    def stored(self, key):
        if not self.salt:
            return key
        parts, count = key.split(self.delimiter), self.salt.get("segments", 0)
        salted = self.delimiter.join(parts[:count]) if 0 < count < len(parts) else key
        value = 0xcbf29ce484222325
        for byte in salted:
            value = (value ^ byte) * 0x100000001b3 % (1 << 64)
        value = (value >> 32 ^ value) % (1 << 32) % self.salt["buckets"]
        return b"%02x" % value + self.delimiter + key


# ---- Random keys --------------------------------------------------------------------------------

SCHEMA = {"version": 1, "tables": {
    "plain": {"keys": {"salt": {"buckets": 7}}},
    "web": {"keys": {"segments": ["tenant", {"name": "host", "codec": "reverse-domain"},
                                  {"name": "at", "codec": "reverse-time"}],
                     "salt": {"buckets": 16, "segments": 2}}},
    "times": {"delimiter": "|", "keys": {"segments": [
        {"name": "s", "codec": "time", "unit": "s", "width": 10}, {"name": "ms", "codec": "time", "unit": "ms"},
        {"name": "us", "codec": "time"}, {"name": "rs", "codec": "reverse-time", "unit": "s"},
        {"name": "rms", "codec": "reverse-time", "unit": "ms"}, {"name": "us16", "codec": "time", "width": 16},
        {"name": "ms15", "codec": "time", "unit": "ms", "width": 15}, {"name": "host", "codec": "reverse-domain"}]}},
    "ids": {"delimiter": "\u0001", "keys": {"segments": [
        {"name": "one", "codec": "pad", "width": 1}, {"name": "id", "codec": "reverse"},
        {"name": "many", "codec": "pad", "width": 19}, {"name": "some", "codec": "pad", "width": 5}], "salt": {"buckets": 256, "segments": 1}}},
}}
for _table in SCHEMA["tables"].values():
    _table["families"] = {family: {} for family in FAMILIES}


def random_segment(rng, segment, delimiter):
    """Bytes without the delimiter: most have a shown form, and many nearly have one."""
    codec = segment.get("codec", "text")
    if codec == "pad":
        data = b"%0*d" % (segment["width"], rng.randrange(10 ** rng.randint(1, segment["width"])))
    elif "time" in codec:
        last = LAST // UNIT[segment.get("unit", "us")][0]
        if codec == "time":
            last = min(last, 10 ** segment.get("width", 19) - 1)
        data = stored_time(segment, rng.choice([0, 1, last, rng.randrange(last), rng.randrange(last)]))
        if rng.randrange(8) == 0:  # perhaps after year 9999
            data = b"%d" % (int(data) + rng.choice([-1, 1])) if data[:1] not in b"0-" else b"9" * len(data)
    else:
        data = rng.choice([b"maps.google.com", b"..", b".a", b"a.", b"f", b"loc", b"col", b"%=", b"%3D", b"now",
                           some_bytes(rng, 12), some_bytes(rng, 12), some_bytes(rng, rng.choice([300, 900]))])
    if rng.randrange(6) == 0:
        data = rng.choice([b"", data[1:], b"0" + data, data + b"x", some_bytes(rng, 20), b"-1", b"+1", b" 1"])
    return data.replace(delimiter, b"")


def random_keys(rng, design, count):
    keys = set()
    while len(keys) < count:
        key = design.delimiter.join(random_segment(rng, design.segment(i), design.delimiter)
                                    for i in range(rng.randint(1, len(design.segments) + 2)))
        if 0 < len(key) <= ROOM:
            keys.add(key)
    return sorted(keys)


def write(directory, name, lines):
    with open("%s/%s" % (directory, name), "w", encoding="utf-8", newline="") as out:
        out.writelines(line + "\n" for line in lines)


def write_random(seed, count, directory):
    rng = random.Random(int(seed))
    write(directory, "schema.json", [json.dumps(SCHEMA)])
    for name, table in SCHEMA["tables"].items():
        design = Design(table)
        keys = random_keys(rng, design, int(count))
        write(directory, name + ".shown", [design.show(key) for key in keys])
        write(directory, name + ".path", ["/".join([name] + design.path(key)) for key in keys])
        write(directory, name + ".stored", [spell(design.stored(key)) for key in keys])


def write_rows(seed, count, directory):
    rng = random.Random(int(seed))
    loaded, want = [], []
    write(directory, "schema.json", [json.dumps(SCHEMA)])
    for name, table in sorted(SCHEMA["tables"].items()):
        design, lines = Design(table), [compact({"table": name})]
        keys = random_keys(rng, design, int(count))
        write(directory, name + ".stored", [spell(key) for key in sorted(map(design.stored, keys))])
        for key in keys:
            cells = [cell_of(ts, b"v" + some_bytes(rng, 30)) for ts in (9, 5, 1)[:rng.randint(1, 3)]]
            lines.append(compact({"key": design.show(key), "families": {rng.choice(FAMILIES): {"q": cells}}}))
        want += lines
        loaded += lines[:1] + rng.sample(lines[1:], len(lines) - 1)
    write(directory, "rows", loaded)
    write(directory, "want", want)


if __name__ == "__main__":
    {"random": write_random, "rows": write_rows}[sys.argv[1]](*sys.argv[2:])
