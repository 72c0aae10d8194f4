#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The collector and drops beside users of a mount, and the state that they leave.

Users read a random cell (as cat), list a random directory (as ls) and write a cell (as echo).

gc      They work while the collector runs and while it is paused, by turns. Two turns that follow
        each other are a pair, either of them first; the median of the pairs' ratios counts, since
        other work on the machine changes from second to second.
drop    The same before a drop of many rows, and beside it.
after   Reads and listings in a store from which cells were collected and rows dropped, and in one
        that never had them, by turns.

  BENCH_CELLS=N    cells to collect, and rows to drop (default 2,000,000)
  BENCH_TURNS=N    pairs of turns (default 10)
  BENCH_SECONDS=N  for each turn (default 3)

bench_beside.py BUILD
"""
import json, os, random, statistics, tempfile, threading, time
from stores import load, make, mounted, quantile, setting

CELLS = setting('CELLS', 2000000)
TURNS = setting('TURNS', 10)
SECONDS = setting('SECONDS', 3.0)
OPTIONS = '-o', 'gcinterval=1,gcgrace=0'
DIRECTORY, VERSIONS, CATS, ROUNDS, SETTLE = 100, 4, 20, 15, 0.3
ROWS = CELLS // (VERSIONS - 1)
SCHEMA = '{"version":1,"tables":{"t":{"families":{"f":{"gc":"maxversions=1"}}}}}'


def row_of(i, first=None):
    """A row that stays is below a or z; those that are dropped lie between them."""
    first = first or ('a' if i < ROWS // 2 else 'z')
    return f'{first}/{i // DIRECTORY:05d}/{i % DIRECTORY:02d}'


def fill(store, versions):
    """A new store with so many versions of each row; the newest is the same in all stores."""
    make(store, SCHEMA)
    load(store, 't', (f'{{"key":"{row_of(i).replace("/", "#")}","families":{{"f":{{"lat":['
                      f'{{"ts":{version},"value":"{i * 31 % 360}.{version:05d}"}}]}}}}}}\n'
                      for version in range(VERSIONS - versions + 1, VERSIONS + 1) for i in range(ROWS)))


def tell(mount, word):
    with open(f'{mount}/.rowfs/gc', 'w') as file:
        file.write(word + '\n')


def collected(mount):
    with open(f'{mount}/.rowfs/gc') as file:
        return json.load(file)['total']['cells']


# ---- Users -----------------------------------------------------------------------------------

def cat(mount):
    with open(f'{mount}/t/{row_of(random.randrange(ROWS))}/f/lat', 'rb', buffering=0) as file:
        assert file.read(64)


def ls(mount):
    assert os.listdir(os.path.dirname(f'{mount}/t/{row_of(random.randrange(ROWS))}'))


def echo(mount):
    with open(f'{mount}/t/{row_of(random.randrange(ROWS))}/f/lat', 'wb', buffering=0) as file:
        file.write(b'53.41741\n')


def took(call, mount):
    start = time.monotonic()
    call(mount)
    return 1e6 * (time.monotonic() - start)


def work(mount, ends):
    """The times of their calls, in microseconds, until ends() is true."""
    times = {'cat': [], 'ls': [], 'echo >': []}
    while not ends():
        times['cat'] += [took(cat, mount) for _ in range(CATS)]
        times['ls'].append(took(ls, mount))
        times['echo >'].append(took(echo, mount))
    return times


def work_for(mount, seconds):
    end = time.monotonic() + seconds
    return work(mount, lambda: time.monotonic() > end)


def say(kind, when, times):
    print(f'  {kind:6} {when:8} {len(times):7} times, p50 {quantile(times, 0.5):7.1f} us, '
          f'p99 {quantile(times, 0.99):7.1f} us, longest {max(times) / 1000:6.1f} ms')


def say_ratios(what, ratios):
    print(f'    {what}: median {statistics.median(ratios):.2f} '
          f'({min(ratios):.2f} to {max(ratios):.2f})', flush=True)


# ---- What is beside them -----------------------------------------------------------------------

def beside_collector(mount):
    pairs, before = [], collected(mount)
    for number in range(TURNS):
        pair = {}
        for word in ('pause', 'resume') if number % 2 else ('resume', 'pause'):
            tell(mount, word)
            time.sleep(SETTLE)
            pair[word] = work_for(mount, SECONDS)
        pairs.append(pair)
    cells = collected(mount) - before
    print(f'gc: {cells / TURNS / (SECONDS + SETTLE):.0f} cells a second collected while it ran'
          f'{"; all, so BENCH_CELLS is too small" if cells >= CELLS else ""}')
    for kind in pairs[0]['pause']:
        for word, when in ('pause', 'paused'), ('resume', 'running'):
            say(kind, when, [us for pair in pairs for us in pair[word][kind]])
        for q in 0.5, 0.99:
            say_ratios(f'p{100 * q:.0f}, running to paused, of a pair',
                       [quantile(pair['resume'][kind], q) / quantile(pair['pause'][kind], q)
                        for pair in pairs])


def drop(mount):
    with open(f'{mount}/t/m/.drop', 'w') as file:
        file.write('m\n')


def beside_drop(mount):
    alone = work_for(mount, SECONDS)
    dropper = threading.Thread(target=drop, args=(mount,))
    start = time.monotonic()
    dropper.start()
    beside = work(mount, lambda: not dropper.is_alive())
    print(f'drop: {CELLS} rows in {time.monotonic() - start:.2f} s, with others at work')
    for kind in alone:
        say(kind, 'alone', alone[kind])
        say(kind, 'beside', beside[kind])


def compare(mount, never):
    """Each look is at names that the kernel does not keep: through the mount's tree of versions."""
    looks = {'list the table': lambda m: os.listdir(f'{m}/.versions/t'),
             'list directories': lambda m: os.listdir(f'{m}/.versions/t/z'),
             'list 100 rows': lambda m: ls(f'{m}/.versions'),
             'newest cell': cat}
    print('after: microseconds, and in the store that never had them')
    for name, look in looks.items():
        both = [[statistics.median(took(look, m) for _ in range(30)) for m in (mount, never)]
                for _ in range(ROUNDS)]
        print(f'  {name:20} {statistics.median(a for a, _ in both):9.1f} '
              f'{statistics.median(b for _, b in both):9.1f}')
        say_ratios('ratio', [a / b for a, b in both])


def size(place):
    return sum(os.path.getsize(f'{place}/data/{name}') for name in os.listdir(f'{place}/data'))


def main():
    with tempfile.TemporaryDirectory(prefix='rowfs-bench.') as place:
        fill(f'{place}/store', VERSIONS)
        fill(f'{place}/never', 1)
        with mounted(f'{place}/store', *OPTIONS) as mount:
            beside_collector(mount)
            tell(mount, 'run')
        load(f'{place}/store', 't', (f'{{"key":"{row_of(i, "m").replace("/", "#")}","families":{{"f":'
                                     f'{{"lat":"53.4174","lon":"6.2709"}}}}}}\n' for i in range(CELLS)))
        with mounted(f'{place}/store', *OPTIONS) as mount:
            beside_drop(mount)
            time.sleep(5)  # for the compactions behind it
        with mounted(f'{place}/store', *OPTIONS) as mount, mounted(f'{place}/never', *OPTIONS) as never:
            compare(mount, never)
        print(f'files: {size(f"{place}/store") / 1e6:.2f} MB, '
              f'{size(f"{place}/never") / 1e6:.2f} MB in the store that never had them')


main()
