#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws the terminal session of README as SVG: docs/pictures/session.svg, by `make docs-pictures`.

    scripts/session.py BUILD >FILE.svg

Runs the commands below on a real mount, with the runner of the pages' examples, and draws the commands and
their output. The cells have fixed timestamps, so the same programs draw the same picture.
"""
import html
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "e2e"))
from examples import Shell  # noqa: E402

BEFORE = [
    "mkfs.rowfs fleet.db && mkdir /mnt/fleet && rowfs fleet.db /mnt/fleet && cd /mnt/fleet",
    "mkdir vehicles vehicles/.families/loc vehicles/.families/meta",
    """cat >vehicles/.rows <<'END'
{"key":"DUB#46#12","families":{"meta":{"driver":[{"ts":1700000000000000,"value":"Cy\\n"}]}}}
{"key":"STC#22#173","families":{"loc":{"lat":[{"ts":1700003600000000,"value":"53.4174\\n"}]},"meta":{"driver":[{"ts":1700000000000000,"value":"Ann\\n"}]}}}
{"key":"STC#22#175","families":{"meta":{"driver":[{"ts":1700000000000000,"value":"Bo\\n"}]}}}
END""",
]

SESSION = """\
# a directory is a prefix of keys: rows STC#22#…
ls vehicles/STC/22
# a file is a cell, NAME@ its history
echo 53.4198 >vehicles/STC/22/173/loc/lat
cat vehicles/STC/22/173/loc/lat
cat vehicles/STC/22/173/loc/lat@/*
# a path is a query
cat vehicles/.where/meta:driver=Ann/.keys
diff -r vehicles/.at/2024-01-01 vehicles | tail -n 3
# an error has its reason
echo 7 >vehicles/STC/22/173/seats
cut -d ' ' -f 2- .rowfs/errors
"""

AFTER = "cd; umount /mnt/fleet; rm -r fleet.db; rmdir /mnt/fleet"

COLUMNS = 78
LINE = 19  # pixels
COLUMN = 8.4  # pixels: about the advance of a monospace font of 14 pixels
MARGIN = 16
BAR = 30

STYLE = (
    "text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#33333d;"
    "white-space:pre}.c{fill:#1a4fa3;font-weight:600}.m{fill:#6a6a76}.b{fill:#fbfbfd;stroke:#c8c8d2}"
    ".t{fill:#ececf2}@media(prefers-color-scheme:dark){text{fill:#d6d6e0}.c{fill:#8ab8ff}.m{fill:#9a9aaa}"
    ".b{fill:#16161d;stroke:#3a3a46}.t{fill:#23232d}}"
)


def lines_of(shell):
    """(class, text) of each line of the session."""
    for command in BEFORE:
        status, output = shell.run(command)
        if status:
            sys.exit(f"session: {command}: {output}")
    for command in SESSION.splitlines():
        if command.startswith("#"):
            yield "m", command
            continue
        yield "c", "$ " + command
        for line in shell.run(command)[1].splitlines():
            while line:
                yield "", line[:COLUMNS]
                line = line[COLUMNS:]
    shell.run(AFTER)


def drawing(lines):
    width = round(2 * MARGIN + COLUMNS * COLUMN)
    height = BAR + MARGIN + len(lines) * LINE
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
           f'height="{height}" role="img" aria-labelledby="t">')
    yield '<title id="t">A shell in a mounted store</title>'
    yield f"<style>{STYLE}</style>"
    yield f'<rect class="b" x=".5" y=".5" width="{width - 1}" height="{height - 1}" rx="8"/>'
    yield f'<path class="t" d="M1 {BAR}V8.5a7.5 7.5 0 0 1 7.5 -7.5H{width - 8.5}a7.5 7.5 0 0 1 7.5 7.5V{BAR}z"/>'
    yield f'<text class="m" x="{width / 2:g}" y="20" text-anchor="middle">/mnt/fleet</text>'
    for number, (kind, text) in enumerate(lines):
        y = BAR + 20 + number * LINE
        attribute = f' class="{kind}"' if kind else ""
        yield f'<text{attribute} x="{MARGIN}" y="{y}" xml:space="preserve">{html.escape(text, quote=False)}</text>'
    yield "</svg>"


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    shell = Shell(os.path.abspath(sys.argv[1]))
    try:
        lines = list(lines_of(shell))
    finally:
        shell.close()
    print("\n".join(drawing(lines)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
