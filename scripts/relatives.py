#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts free relatives ("what was kept", "who reads it", "which of them it is") in comments and pages.

    scripts/relatives.py [-v] FILE…    default: all C files, scripts' comments aside, and all pages

Prints the count for 10,000 words; -v prints each place first. A question and "those who", "a user who"
do not count. An indirect question ("tells what is wrong") counts, so a small rest is normal English.
"""
import glob
import re
import sys

PERSON = "user|reader|writer|owner|person|anyone|someone|everyone|one|those|operator|engineer|newcomer|people|attacker|root"
RELATIVE = re.compile(rf"(?<!-)\b(what|whoever|whatever)\b(?![-?])|(?<!{')(?<!'.join(p + ' ' for p in PERSON.split('|'))})\bwho\b"
                      r"|\bwhich of (?:them|these|those)\b", re.I)


def prose(file):
    """The comments of a C file, the text of a page without its examples, line by line."""
    with open(file, encoding="utf-8") as text:
        whole = text.read()
    if file.endswith((".c", ".h")):
        blank = lambda found: re.sub(r"[^\n]", " ", found.group())
        whole = re.sub(r'"(?:\\.|[^"\\\n])*"', blank, whole)
        kept = [" "] * len(whole)
        for comment in re.finditer(r"/\*.*?\*/|//[^\n]*", whole, re.S):
            kept[comment.start():comment.end()] = whole[comment.start():comment.end()]
        whole = "".join(k if c != "\n" else "\n" for k, c in zip(kept, whole))
    elif file.endswith(".md"):
        whole = re.sub(r"^(?: {4}|\t).*$", "", whole, flags=re.M)
        whole = re.sub(r"`[^`\n]*`", "", whole)
    else:
        whole = re.sub(r"^\.Bd.*?^\.Ed", lambda found: "\n" * found.group().count("\n"), whole, flags=re.S | re.M)
    return whole


def main():
    names = [a for a in sys.argv[1:] if a != "-v"] or sorted(
        f for d in ("lib", "store", "fs", "mkfs", "tests") for f in glob.glob(f"{d}/**/*.[ch]", recursive=True)
    ) + sorted(glob.glob("*.md") + glob.glob("docs/*.md") + glob.glob("man/*.[158]") + glob.glob("tests/*.md"))
    words = found = 0
    for name in names:
        for number, line in enumerate(prose(name).split("\n"), 1):
            words += len(re.findall(r"[A-Za-z][\w'-]*", line))
            for _ in RELATIVE.finditer(line):
                found += 1
                if "-v" in sys.argv:
                    print(f"{name}:{number}: {line.strip()}")
    print(f"{found} free relatives in {words} words: {found * 10000 / max(words, 1):.1f} in 10,000")


main()
