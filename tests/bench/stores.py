# SPDX-License-Identifier: MIT
"""Stores of a build, filled and mounted, for benchmarks."""
import contextlib, os, subprocess, sys, time

BUILD = os.path.abspath(sys.argv[1])


def setting(name, otherwise):
    return type(otherwise)(os.environ.get('BENCH_' + name, otherwise))


def make(store, schema, build=BUILD):
    with open(store + '.schema', 'w') as file:
        file.write(schema)
    subprocess.run([f'{build}/mkfs.rowfs', '--schema', file.name, store], check=True)


def load(store, table, rows):
    program = subprocess.Popen([f'{BUILD}/rowfs-load', store], stdin=subprocess.PIPE, text=True,
                               stdout=subprocess.DEVNULL)
    program.stdin.write(f'{{"table":"{table}"}}\n')
    program.stdin.writelines(rows)
    program.stdin.close()
    assert program.wait() == 0


@contextlib.contextmanager
def mounted(store, *options, build=BUILD):
    mount = store + '.mount'
    os.makedirs(mount, exist_ok=True)
    subprocess.run([f'{build}/rowfs', *options, store, mount], check=True)
    try:
        yield mount
    finally:
        while subprocess.run(['fusermount3', '-u', mount]).returncode != 0:
            time.sleep(0.1)


def quantile(times, q):
    return sorted(times)[min(int(q * len(times)), len(times) - 1)]
