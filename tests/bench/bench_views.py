#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Views of a mounted store: each against the plain read that does the same work, by turns. The
median of the turns' ratios counts.

  BENCH_ROWS=N   rows of the table (default 1,000,000), each of one cell in two families
  BENCH_TURNS=N  turns (default 5)

bench_views.py BUILD
"""
import os, statistics, subprocess, tempfile, time
from stores import load, make, mounted, setting

ROWS = setting('ROWS', 1000000)
TURNS = setting('TURNS', 5)
GROUP = 1000  # rows of a prefix
SCHEMA = '{"version":1,"tables":{"t":{"families":{"a":{},"b":{}}}}}'


def fill(store):
    """Keys are three digits of a group of groups, of a group, and of a row."""
    make(store, SCHEMA)
    load(store, 't', (f'{{"key":"{i // GROUP:05d}#{i % GROUP:03d}","families":{{"a":{{"x":"{i % 100}"}},'
                      f'"b":{{"y":"value{i * 7919 % 1000:03d}"}}}}}}\n' for i in range(ROWS)))


def read(path):
    """All of a file; its bytes, and the seconds until the first and the last."""
    start, first, size = time.perf_counter(), None, 0
    file = os.open(path, os.O_RDONLY)
    while block := os.read(file, 1 << 20):
        first = first or time.perf_counter()
        size += len(block)
    os.close(file)
    end = time.perf_counter()
    return size, (first or end) - start, end - start


def seconds_of(*command):
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def tar(path):
    return seconds_of('tar', '-C', path, '-cf', '/dev/null', '.')


def compare(what, aim, work, peer):
    ratios, seconds = [], []
    for turn in range(TURNS):
        pair = [work(), peer()] if turn % 2 == 0 else [peer(), work()][::-1]
        seconds.append(pair[0])
        ratios.append(pair[0] / pair[1])
    print(f'{what:52} {statistics.median(ratios):8.2f} x   {min(ratios):.2f} to {max(ratios):.2f}   '
          f'{statistics.median(seconds) * 1000:10.2f} ms   {aim}', flush=True)


def tell(what, aim, unit, work):
    figures = [work() for _ in range(TURNS)]
    print(f'{what:52} {statistics.median(figures):8.4g} {unit}   {min(figures):.4g} to {max(figures):.4g}   '
          f'{"":10}      {aim}', flush=True)


def splits(table):
    with open(table + '/.splits') as file:
        return file.read().split()


def balance(table):
    """The largest part over the smallest, in rows."""
    rows = [0] + [int(key.replace('#', '')) for key in splits(table)] + [ROWS]
    parts = [b - a for a, b in zip(rows, rows[1:])]
    return max(parts) / max(1, min(parts))


def readers(table, count):
    """Seconds of so many readers side by side that read all of the table."""
    keys = splits(table)
    bounds = [keys[i * len(keys) // count] for i in range(1, count)]
    paths = [table + (f'/.from/{a}' if a else '') + (f'/.to/{b}' if b else '') + '/.rows'
             for a, b in zip([None] + bounds, bounds + [None])]
    start = time.perf_counter()
    for reader in [subprocess.Popen(['cat', path], stdout=subprocess.DEVNULL) for path in paths]:
        assert reader.wait() == 0
    return time.perf_counter() - start


def run(table):
    middle = f'{ROWS // GROUP // 2:05d}'
    after = f'{ROWS // GROUP // 2 + 1:05d}'
    of_range = f'{table}/.from/{middle}/.to/{after}/.rows'
    few = min(100000, ROWS // 2)
    assert read(of_range)[0] == read(f'{table}/{middle}/.rows')[0]
    compare(f'.from/A/.to/B/.rows of {GROUP} rows, to the prefix', '<= 1.2', lambda: read(of_range)[2],
            lambda: read(f'{table}/{middle}/.rows')[2])
    tell('its first byte', '< 1', 'ms', lambda: read(of_range)[1] * 1000)
    tell('.last/10/.rows', '< 1', 'ms', lambda: read(table + '/.last/10/.rows')[2] * 1000)
    compare('.reverse/.rows, to .rows', '<= 2', lambda: read(table + '/.reverse/.rows')[2],
            lambda: read(table + '/.rows')[2])
    tell('.key/RE/.keys: rows a second', '>= 1e6', '/s',
         lambda: ROWS / read(table + '/.key/.*#500/.keys')[2])
    tell('.count: cells a second', '>= 3e6', '/s', lambda: 2 * ROWS / read(table + '/.count')[2])
    tell('.splits', '< 5', 'ms', lambda: read(table + '/.splits')[2] * 1000)
    tell('its largest part over the smallest', '<= 2', 'x', lambda: balance(table))
    compare(f'tar of .first/{few // 10}, to the same plain', '<= 3',
            lambda: tar(f'{table}/.first/{few // 10}'),
            lambda: seconds_of('tar', '-C', table, '-cf', '/dev/null',
                               *[f'{i:05d}' for i in range(few // 10 // GROUP)]))
    compare('one reader of .rows, to four of four splits', '>= 1.6', lambda: readers(table, 1),
            lambda: readers(table, 4))


with tempfile.TemporaryDirectory() as place:
    fill(place + '/store')
    with mounted(place + '/store') as mount:
        run(mount + '/t')
