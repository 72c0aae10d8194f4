#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks how the tree is cut into rooms (folders): their size, their includes, their calls.

    scripts/rooms.py rooms          5 to 15 files each, and a line in docs/architecture.md
    scripts/rooms.py includes       no cycle among rooms, and only what a layer may include
    scripts/rooms.py calls OBJECTS  no cycle among files and none among rooms, by the calls in the object
                                    files below OBJECTS

Prints each fault and exits with 1 if there is one.

The headers of an enclosing room are its interface: a room below may include them, so they count as a
room apart from that room's source files.
"""
import glob
import os
import re
import subprocess
import sys

LAYERS = ("lib", "store", "fs", "mkfs")
# A layer, and the headers of the tree that it may include.
MAY_INCLUDE = {
    "lib": r"lib/.*",
    "store": r"store/.*|lib/.*",
    "fs": r"fs/.*|lib/.*|store/(store|rows|advice/advice|chain/chain|chain/views|keys/keys|heat/heat|heat/patterns/patterns)\.h",
    "mkfs": r"mkfs/.*|lib/.*|store/(store|rows|advice/advice|chain/views|keys/keys)\.h",
}


def files_below(*layers):
    return sorted(f for layer in layers for f in glob.glob(f"{layer}/**/*.[ch]", recursive=True))


def includes(file):
    with open(file, encoding="utf-8") as text:
        return re.findall(r'^\s*#\s*include\s*"([^"]*)"', text.read(), re.M)


def cycles(graph):
    """The strongly connected parts of more than one node (Tarjan 1972)."""
    index, low, stack, found = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in sorted(graph.get(node, ())):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            part = stack[stack.index(node):]
            del stack[stack.index(node):]
            if len(part) > 1:
                found.append(part)

    for node in list(graph):
        if node not in index:
            visit(node)
    return found


def faults_of_cycles(edges):
    """edges: (from, to) -> why there is that edge."""
    graph = {}
    for a, b in edges:
        graph.setdefault(a, set()).add(b)
    for part in cycles(graph):
        yield "cycle: " + ", ".join(sorted(part))
        for (a, b), why in sorted(edges.items()):
            if a in part and b in part:
                yield f"    {a} -> {b}: {', '.join(sorted(why))}"


def check_rooms():
    with open("docs/architecture.md", encoding="utf-8") as page:
        text = page.read()
    rooms = {}
    for file in files_below(*LAYERS):
        rooms.setdefault(os.path.dirname(file), []).append(file)
    for room, files in sorted(rooms.items()):
        if not 5 <= len(files) <= 15:
            yield f"{room}: {len(files)} files, not 5 to 15"
        if f"`{room}/`" not in text:
            yield f"{room}: no line in docs/architecture.md"


def room_of(file, includer):
    room = os.path.dirname(file)
    encloses = os.path.dirname(includer).startswith(room + "/")
    return f"{room} (headers)" if encloses else room


def check_includes():
    edges = {}
    for file in files_below(*LAYERS):
        layer = file.split("/")[0]
        for header in includes(file):
            if not re.fullmatch(MAY_INCLUDE[layer], header):
                yield f"{file}: includes {header}"
            if os.path.dirname(header) == os.path.dirname(file):
                continue
            # A header is also part of the interface to the rooms that its own room encloses.
            for a in {os.path.dirname(file)} | ({f"{os.path.dirname(file)} (headers)"} if file.endswith(".h") else set()):
                edges.setdefault((a, room_of(header, file)), set()).add(f"{os.path.basename(file)} includes {header}")
    yield from faults_of_cycles(edges)


def check_calls(objects):
    """A call is a relocation of that type in code; the address of a function, as in a table, is none."""
    defined, calls = {}, {}
    sources = {f[:-2]: f for f in files_below(*LAYERS) if f.endswith(".c")}
    for source in sources:
        out = subprocess.run(["nm", "--defined-only", "-g", f"{objects}/{source}.o"],
                             stdout=subprocess.PIPE, text=True, check=True).stdout
        for line in out.splitlines():
            defined[line.split()[-1]] = source
    for source in sources:
        out = subprocess.run(["objdump", "-r", f"{objects}/{source}.o"],
                             stdout=subprocess.PIPE, text=True, check=True).stdout
        for name in re.findall(r"^\S+ R_\S*(?:PLT32|CALL26|JUMP26)\s+([A-Za-z_]\w*)", out, re.M):
            other = defined.get(name, source)
            if other != source:
                calls.setdefault((sources[source], sources[other]), set()).add(name)
    yield from faults_of_cycles(calls)
    rooms = {}
    for (a, b), names in calls.items():
        if os.path.dirname(a) != os.path.dirname(b):
            why = rooms.setdefault((os.path.dirname(a), os.path.dirname(b)), set())
            why.update(f"{os.path.basename(a)} calls {name}" for name in names)
    yield from faults_of_cycles(rooms)


def main():
    checks = {"rooms": check_rooms, "includes": check_includes, "calls": check_calls}
    faults = list(checks[sys.argv[1]](*sys.argv[2:]))
    print("\n".join(faults), end="\n" if faults else "")
    sys.exit(1 if faults else 0)


main()
