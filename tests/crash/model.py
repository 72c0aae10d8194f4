# SPDX-License-Identifier: MIT
"""
The content that a store must have after a crash, derived from the steps of its users.

A state is a dict of cells: (table, row, family, qualifier, timestamp) -> value. A worker alone
writes its cells, one step after the other; a step is atomic: a mutation of a row, a move,
a drop, a change of the schema. So after a crash the worker's cells are those behind one of its
steps: not before the last one that was promised, and not behind the last one that was begun.
"""

import base64
import dataclasses
import hashlib
import json
import os

SERVER = None  # a timestamp that the server gave, and that nobody has seen
KEPT = 1 << 16  # larger values are known by their digest


def seen(value):
    """The representation of a value of bytes in a state."""
    return value if len(value) <= KEPT else (len(value), hashlib.blake2b(value).hexdigest())


@dataclasses.dataclass
class Step:
    """The puts (a value) and deletes (None) of a step, by cell. Times of time.monotonic_ns."""

    effects: dict
    begun: int
    acknowledged: int = 0  # 0: never
    name: str = ""


@dataclasses.dataclass
class History:
    """The steps of a worker in one round. synced: (begun, acknowledged, steps of its own before)."""

    base: dict
    steps: list = dataclasses.field(default_factory=list)
    synced: list = dataclasses.field(default_factory=list)
    faults: list = dataclasses.field(default_factory=list)

    def forget_since(self, cut):
        """Takes back acknowledgements behind a cut. A power cut that is an ioctl lets a sync that is
        under way succeed though it did nothing; a process without power gets no answer."""
        self.synced = [s for s in self.synced if s[1] < cut]
        for step in self.steps:
            if step.acknowledged >= cut:
                step.acknowledged = 0


# ---- Cells that are there ---------------------------------------------------------------------


def read_rows(path, table):
    """The cells of a .rows file; none where its directory is not there."""
    cells = {}
    if not os.path.isdir(os.path.dirname(path)):
        return cells
    with open(path, "rb") as lines:
        for line in lines:
            row = json.loads(line)
            for family, columns in row["families"].items():
                for qualifier, versions in columns.items():
                    for cell in versions:
                        value = cell.get("value")
                        if "base64" in cell:
                            value = base64.b64decode(cell["base64"])
                        elif isinstance(value, str):
                            value = value.encode()
                        value = value if isinstance(value, int) else seen(value)
                        key = (table, row["key"], family, qualifier, cell["ts"])
                        assert key not in cells, f"twice: {key}"
                        cells[key] = value
    return cells


def read_schema(mount, table):
    """A table's families and policies, as cells without a row."""
    with open(f"{mount}/.rowfs/schema.json", encoding="utf-8") as file:
        tables = json.load(file)["tables"]
    if table not in tables:
        return {}
    cells = {(table, "", "", "", 0): "table"}
    for family, what in tables[table].get("families", {}).items():
        cells[(table, "", family, "", 0)] = what["gc"]
    return cells


def read_worker(mount, number):
    """All that worker has: its prefix of the table t, and its own table."""
    own = f"s{number}"
    cells = read_rows(f"{mount}/t/w{number}/.rows", "t")
    cells.update(read_schema(mount, own))
    cells.update(read_rows(f"{mount}/{own}/.rows", own))
    return cells


# ---- Cells that may be there ------------------------------------------------------------------


def resolve(step, known, found):
    """Gives the cells of a step whose timestamp nobody has seen those that were found."""
    effects = {}
    for cell, value in step.effects.items():
        if cell[4] is SERVER:
            column = [c for c in found if c[:4] == cell[:4] and found[c] == value]
            fresh = [c for c in column if c not in known]
            cell = (fresh or column or [cell[:4] + (-1,)])[0]
        effects[cell] = value
    return effects


def apply(cells, effects):
    for cell, value in effects.items():
        if value is None:
            cells.pop(cell, None)
        else:
            cells[cell] = value


def differing(a, b):
    return {cell for cell in a.keys() | b.keys() if a.get(cell) != b.get(cell)}


class Check:
    """The steps behind which a worker's cells can be, of those that found allows."""

    def __init__(self, history, found):
        self.history = history
        self.found = found
        known = set(history.base)
        self.effects = []
        for step in history.steps:
            effects = resolve(step, known, found)
            known.update(effects)
            self.effects.append(effects)

    def nearest(self, least):
        """(differing cells, steps) of the best match from least steps on."""
        best = None
        for count, wrong in self.states(least):
            if best is None or len(wrong) <= len(best[0]):
                best = (set(wrong), count)
        return best

    def states(self, least):
        cells = dict(self.history.base)
        for effects in self.effects[:least]:
            apply(cells, effects)
        wrong = differing(cells, self.found)
        yield least, wrong
        for count in range(least, len(self.effects)):
            apply(cells, self.effects[count])
            for cell in self.effects[count]:
                if cells.get(cell) == self.found.get(cell):
                    wrong.discard(cell)
                else:
                    wrong.add(cell)
            yield count + 1, wrong

    def matches(self, least):
        return [count for count, wrong in self.states(least) if not wrong]

    def matches_by_cell(self, least):
        """Is each cell as it was behind one of the steps from least on, if not all the same, and
        no step half there?"""
        cells = dict(self.history.base)
        for effects in self.effects[:least]:
            apply(cells, effects)
        allowed = {cell: [value] for cell, value in cells.items()}
        last = {cell: i for i, effects in enumerate(self.effects) for cell in effects}
        for i, effects in enumerate(self.effects[least:], least):
            if self.is_half([c for c in effects if last[c] == i], effects, allowed):
                return False
            for cell, value in effects.items():
                allowed.setdefault(cell, [None]).append(value)
        return all(self.found.get(cell) in allowed.get(cell, [None])
                   for cell in allowed.keys() | self.found.keys())


    def is_half(self, cells, effects, before):
        """Has the step done its part to some of these cells of a row, and to others not? before:
        the values that each may have had. The cells that the policy of g hides depend on steps that may
        be lost."""
        done, undone = set(), set()
        for cell in cells:
            there = self.found.get(cell)
            if cell[2] != "g" and there != effects[cell]:
                undone.add(cell[:2])
            elif cell[2] != "g" and there not in before.get(cell, [None]):
                done.add(cell[:2])
        return bool(done & undone)


def promised(histories, everything):
    """For each worker how many steps must be there: those acknowledged before an acknowledged sync
    began, or all that were acknowledged."""
    began = max((begun for h in histories for begun, _, _ in h.synced), default=0)
    counts = []
    for history in histories:
        count = max((own for _, _, own in history.synced), default=0)
        for i, step in enumerate(history.steps):
            if step.acknowledged and (everything or step.acknowledged <= began):
                count = max(count, i + 1)
        counts.append(count)
    return counts


def show(cell, value):
    value = repr(value)
    return f"{cell} {value[:40] + '…' if len(value) > 40 else value}"


def explain(number, check, least):
    wrong, count = check.nearest(least)
    steps = check.history.steps
    cells = dict(check.history.base)
    for effects in check.effects[:count]:
        apply(cells, effects)
    lines = [
        f"worker {number}: no state from step {least} to {len(steps)} is what is there;"
        f" the nearest, behind step {count}"
        f" ({steps[count - 1].name if count else 'none'}), differs in {len(wrong)} cells:"
    ]
    for cell in sorted(wrong, key=repr)[:6]:
        touched = [f"{i + 1}:{steps[i].name}" for i, e in enumerate(check.effects) if cell in e]
        lines.append(f"  expected {show(cell, cells.get(cell))}, found {check.found.get(cell)!r:.60}"
                     f", steps {' '.join(touched)}")
    return "\n".join(lines)


def compare(histories, found, everything, one_log):
    """The fault as text; and (steps, steps promised, steps lost, whether there was a gap).

    LevelDB's log keeps the order of all writes, so that the remaining ones are a prefix of all of them.
    Only where a crash met two logs, the end of the older one may be gone and the newer one not: a
    gap, in which each cell is looked at by itself, and each step that nothing followed as a whole.
    """
    faults = [fault for history in histories for fault in history.faults]
    least = promised(histories, everything)
    checks = [Check(h, f) for h, f in zip(histories, found)]
    ends = []
    gap = False
    for number, check in enumerate(checks):
        counts = check.matches(least[number])
        if not counts and not one_log and check.matches_by_cell(least[number]):
            gap = True
            counts = list(range(least[number], len(check.effects) + 1))
        if not counts:
            faults.append(explain(number, check, least[number]))
            counts = [len(check.effects)]
        ends.append(counts)
    if one_log or everything:
        faults += out_of_order(histories, ends)
    steps = sum(len(h.steps) for h in histories)
    lost = steps - sum(max(counts) for counts in ends)
    return faults, (steps, sum(least), lost, gap)


def out_of_order(histories, ends):
    """A step that is there was begun after another worker's was acknowledged, which is not."""
    faults = []
    for a, history in enumerate(histories):
        kept = min(ends[a])
        if kept == 0:
            continue
        begun = history.steps[kept - 1].begun
        for b, other in enumerate(histories):
            for i, step in enumerate(other.steps[max(ends[b]):], max(ends[b])):
                if step.acknowledged and step.acknowledged < begun:
                    faults.append(f"worker {a} has step {kept} ({history.steps[kept - 1].name}),"
                                  f" worker {b} lost the earlier {i + 1} ({step.name})")
                    break
    return faults
