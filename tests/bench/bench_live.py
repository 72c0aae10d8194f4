#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Requests of a mount while nobody reads its live files, and while a program does, by turns. The ratio
of the best turns counts, as other programs only slow a turn down. The lines that the reader gets, and those that it is told to have
lost, are as many as the requests or commits were.

  BENCH_SECONDS=N  of a turn (default 3)
  BENCH_TURNS=N    turns (default 5)
  BENCH_PEER=DIR   another build, whose mounts take the place of those without a reader

bench_live.py BUILD
"""
import json, multiprocessing, os, re, statistics, subprocess, tempfile, time
from stores import BUILD, make, mounted, setting

PEER = setting('PEER', BUILD)
SECONDS = setting('SECONDS', 3.0)
TURNS = setting('TURNS', 5)
PROCESSES = 2
SCHEMA = '{"version":1,"tables":{"t":{"families":{"f":{}}}}}'


def look_up(mount, until):
    """Names that do not exist: a request each."""
    count = 0
    while time.time() < until:
        for count in range(count, count + 100):
            os.access(f'{mount}/t/.none{count}', os.F_OK)
        count += 1
    return count


def write(mount, until):
    """Commits of a small value, each by one write to .rows."""
    count, row = 0, os.open(f'{mount}/t/.rows', os.O_WRONLY)
    while time.time() < until:
        count += 1
        os.write(row, b'{"key":"r%d","families":{"f":{"q":"value"}}}\n' % (count % 1000))
    os.close(row)
    return count


def read_cells(mount, until):
    count = 0
    while time.time() < until:
        count += 1
        with open(f'{mount}/t/r{count % 1000}/f/q') as file:
            file.read()
    return count


def rate(work, mount):
    """Of all processes, per second."""
    until = time.time() + SECONDS
    with multiprocessing.Pool(PROCESSES) as pool:
        counts = pool.starmap(work, [(mount, until)] * PROCESSES)
    return sum(counts) / SECONDS, sum(counts)


def rate_read(work, mount, file, wanted):
    """The same while a program reads the file; and the lines that it gets of these, and those lost."""
    with tempfile.TemporaryFile() as got:
        reader = subprocess.Popen(['cat', f'{mount}/{file}'], stdout=got)
        time.sleep(0.2)
        figure, count = rate(work, mount)
        time.sleep(0.5)
        reader.terminate()
        reader.wait()
        got.seek(0)
        text = got.read().decode()
    lines = len(re.findall(wanted, text))
    lost = sum(json.loads(line)['lost'] for line in re.findall(r'^\{"lost".*$', text, re.M))
    return figure, count, lines, lost


def compare(what, work, mount, peer, file=None, wanted=None):
    rates, others, told = [], [], []
    for turn in range(TURNS):
        if turn % 2:
            alone = rate(work, peer)[0]
        if file:
            figure, count, lines, lost = rate_read(work, mount, file, wanted)
            assert count <= lines + lost, (count, lines, lost)
            told.append(lost / count)
        else:
            figure = rate(work, mount)[0]
        if not turn % 2:
            alone = rate(work, peer)[0]
        rates.append(figure)
        others.append(alone)
    lost = f', {max(told):.1%} lost at most' if told else ''
    print(f'{what:36} {max(rates) / max(others):6.3f}   best {max(rates):6.0f}/s, median '
          f'{statistics.median(rates):6.0f}/s{lost}', flush=True)


with tempfile.TemporaryDirectory() as directory:
    make(directory + '/a', SCHEMA)
    make(directory + '/b', SCHEMA, PEER)
    with mounted(directory + '/a', '-o', 'autodir') as a, mounted(directory + '/b', '-o', 'autodir', build=PEER) as b:
        for mount in a, b:
            write(mount, time.time() + 1)
        for name, work in ('lookups', look_up), ('cells read', read_cells), ('commits', write):
            compare(name + ', without a reader', work, a, b)
        compare('lookups, with a reader of trace', look_up, a, b, '.rowfs/trace', '"operation":"lookup".*ENOENT')
        compare('cells read, with a reader of trace', read_cells, a, b, '.rowfs/trace', '"operation":"open"')
        compare('commits, with a reader of .changes', write, a, b, 't/.changes', '"key":')
