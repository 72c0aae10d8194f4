# SPDX-License-Identifier: MIT
"""The view of another process right after a change, where the kernel keeps entries.

    caches.py MOUNT TABLE SCENARIO SECONDS [READERS]

Makes the scenario's changes over and over. Before each, a process has looked at every name that the
change concerns, and another has listed their directories with attributes, or just that one; after each
both look again, now the one first and now the other, and must see the new state. Meanwhile READERS more
processes look at the same names and list the same directories all the time; their views are not
compared, but they must meet no error other than that a name is not there. Prints the fault, or the
scenario's name; `caches.py --list` prints the names of all.
"""
import os
import sys
import time

import caches_cells
import caches_places
from caches_look import GONE, find, hammer, look
from calls import Looker, started

SCENARIOS = {function.__name__.replace("_", "-"): function
             for function in caches_cells.CHANGES + caches_places.CHANGES}


def matches(expected, seen):
    if isinstance(seen, str) or expected == GONE or "dir" in (expected[0], seen[0]):
        return expected == seen
    return expected[:3] == seen[:3] and (expected[3] is None or expected[3] == seen[3]) and seen[4]


def is_listed(path):
    """Names that are not split resolve, but are listed where they are split."""
    return len(os.path.basename(path.rstrip("/"))) <= 231


def is_found(expected, seen):
    if expected == GONE or isinstance(seen, str):
        return expected == seen
    if expected[0] == "dir":
        return seen == ["dir", True]
    return seen[:2] == ["file", expected[2]] and (expected[3] is None or expected[3] == seen[2])


def compare(reader, paths, expected, matching):
    seen = reader.look(paths)
    return ["%s: %s, not %s" % (path, got, want)
            for path, got, want in zip(paths, seen, expected) if not matching(want, got)]


def all_seen(look):
    return lambda paths: [look(path) for path in paths]


def read_on(paths, deadline):
    os.chdir("/")
    return hammer(paths, deadline)


def main():
    if sys.argv[1] == "--list":
        print("\n".join(SCENARIOS))
        return
    world = caches_cells.World(sys.argv[1], sys.argv[2])
    scenario, deadline = SCENARIOS[sys.argv[3]], time.time() + float(sys.argv[4])
    reader, lister = Looker(all_seen(look)), Looker(all_seen(find))
    names, rounds, wrong, pipes = [], 0, [], []
    while not wrong and (rounds < 3 or time.time() < deadline):
        steps = scenario(world)
        for paths in steps:
            if rounds % 2 == 0:
                reader.look(paths)
            lister.look(paths)
            names += [path for path in paths if path not in names]
            expected = next(steps)
            listed = [pair for pair in zip(paths, expected) if is_listed(pair[0])]
            listing = lister, [path for path, _ in listed], [want for _, want in listed], is_found
            both = [listing, (reader, paths, expected, matches)]
            for one in both if rounds % 3 == 0 else reversed(both):
                wrong += compare(*one)
        rounds += 1
        if rounds == 1 and len(sys.argv) > 5:
            pipes = [started(read_on, names, deadline) for _ in range(int(sys.argv[5]))]
    for pipe in pipes:
        wrong += [text for text in [pipe.read()] if text]
    print("\n".join(wrong[:3]) if wrong else sys.argv[3])


main()
