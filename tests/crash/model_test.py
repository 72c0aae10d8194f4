# SPDX-License-Identifier: MIT
"""Stores that model.py must take, and stores with a fault that it must find."""

import model

A, B, C, D = (("t", "r", "f", q, 1) for q in "abcd")
HIDDEN = ("t", "r", "g", "a", 1)


def history(*effects, synced=0, base=None):
    """Steps on base, one after the other, all acknowledged; so many of them were synced."""
    steps = [model.Step(e, 10 * i + 1, 10 * i + 2, f"step {i + 1}") for i, e in enumerate(effects)]
    found = model.History(base or {}, steps)
    if synced:
        found.synced = [(10 * synced - 5, 10 * synced - 4, synced)]
    return found


def expect(name, steps, found, fine, one_log=False, **more):
    faults, (_, promised, _, gap) = model.compare([history(*steps, **more)], [found], False, one_log)
    assert bool(faults) != fine, f"{name}: {faults}"
    return promised, gap


ROW = {A: "1", B: "2"}  # one step
LATER = {C: "3"}

# A prefix of the steps.
assert expect("nothing", [ROW, LATER], {}, True) == (0, False)
assert expect("the first", [ROW, LATER], ROW, True) == (0, False)
assert expect("all", [ROW, LATER], ROW | LATER, True) == (0, False)
assert expect("what was promised", [ROW, LATER], ROW, True, synced=1) == (1, False)
expect("not what was promised", [ROW, LATER], {}, False, synced=1)
expect("half a row", [ROW], {A: "1"}, False, one_log=True)
expect("a cell from nowhere", [ROW], {D: "4"}, False)
expect("another value", [ROW], {A: "1", B: "x"}, False)

# A gap: only where there were two logs.
assert expect("a gap", [ROW, LATER], LATER, True) == (0, True)
expect("a gap with one log", [ROW, LATER], LATER, False, one_log=True)
expect("a gap in what was promised", [ROW, LATER], LATER, False, synced=1)
for half in ({A: "1"}, {B: "2"}):
    expect("half a row with two logs", [ROW, LATER], half | LATER, False)
    expect("half a row and no more", [ROW, LATER], half, False)

# Half of a move, or of a row that was deleted.
MOVE = {A: None, D: "1"}
expect("half a move: twice", [ROW, MOVE, LATER], ROW | {D: "1"} | LATER, False)
expect("half a move: gone", [MOVE, LATER], {B: "2"} | LATER, False, base=ROW)
assert expect("a move that is lost", [ROW, MOVE, LATER], ROW | LATER, True)[1]
expect("half a delete", [{A: None, B: None}, LATER], {A: "1"} | LATER, False, base=ROW)

# Cells that a later step touched tell nothing of an earlier one.
OVER = {A: "5"}
assert expect("written over", [ROW, OVER, LATER], OVER | LATER, True)[1]

# The cells that a policy hides depend on the lost steps; rows of one drop go one after the other.
assert expect("hidden", [ROW, {A: "6", HIDDEN: "x"}, LATER], {A: "6", B: "2"} | LATER, True)[1]
OTHER = ("t", "r#s", "f", "a", 1)
assert expect("a drop", [ROW, {OTHER: "7"}, {A: None, B: None, OTHER: None}, LATER],
              {OTHER: "7"} | LATER, True)[1]
