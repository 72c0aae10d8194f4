# SPDX-License-Identifier: MIT
"""
Writes to a mount until an error, and knows the cells that must be there.

    full.py files MOUNT SIZE ERROR...  cells of about SIZE bytes, as files, until one of these errors
    full.py rows MOUNT SIZE ERROR...   the same, as lines of row JSON
    full.py press MOUNT SIZE N    writes three more cells, of which none is acknowledged; ENOSPC is none
    full.py again MOUNT SIZE      waits until a cell can be written again
    full.py verify MOUNT          each cell that was acknowledged and is not removed is as it was

Errors are names (ENOSPC). Every tenth cell is synced. Cells are t/KIND/N/f/q; N counts on from the
last acknowledged cell. A cell's name determines its value. The file ACKNOWLEDGED of the environment
lists the acknowledged cells: KIND, SIZE and a number a line.
"""

import errno
import json
import os
import random
import sys
import time

PATIENCE = int(os.environ["LIB_PATIENCE"])  # seconds (lib.sh)
NUMBERS_MAX = 10**6


def value(kind, number, size):
    digits = random.Random(f"{kind}{number}").randbytes(size // 2).hex()
    return digits.encode()


def put(path, data, sync=False):
    """Writes a file; an error of close counts, too."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        while data:
            data = data[os.write(fd, data):]
        if sync:
            os.fsync(fd)
    finally:
        os.close(fd)


def put_file(mount, number, size, kind="files"):
    directory = f"{mount}/t/{kind}/{number}/f"
    os.makedirs(directory, exist_ok=True)
    put(f"{directory}/q", value(kind, number, size), number % 10 == 0)


def put_row(mount, number, size):
    text = value("rows", number, size).decode()
    line = {"key": f"rows#{number}", "families": {"f": {"q": [{"ts": number, "value": text}]}}}
    put(f"{mount}/t/.rows", json.dumps(line).encode() + b"\n", number % 10 == 0)


def fill(mount, kind, size, errors):
    with open(os.environ["ACKNOWLEDGED"], "a+", encoding="ascii") as log:
        log.seek(0)
        first = max((int(line.split()[2]) for line in log), default=-1) + 1
        for number in range(first, first + NUMBERS_MAX):
            try:
                (put_file if kind == "files" else put_row)(mount, number, size)
            except OSError as error:
                if errno.errorcode[error.errno] not in errors:
                    sys.exit(f"{number - first} cells, then {error}")
                print(f"{number - first} cells of {size} bytes, then {error.strerror}")
                return
            log.write(f"{kind} {size} {number}\n")
            log.flush()


def make_empty(path):
    """Opens and closes a file, no more. A file that could be opened so is there, and empty."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC))
    try:
        size = os.stat(path).st_size
    except FileNotFoundError:
        sys.exit(f"{path} was opened and is not there")
    if size != 0:
        sys.exit(f"{path} was emptied and has {size} bytes")


def press(mount, size, number):
    for i in range(3):
        directory = f"{mount}/t/press/{number}-{i}/f"
        os.makedirs(directory, exist_ok=True)
        for make in (lambda: make_empty(f"{directory}/e"), lambda: put(f"{directory}/q", os.urandom(size)),
                     lambda: make_empty(f"{directory}/e1"), lambda: make_empty(f"{directory}/e"),
                     lambda: make_empty(f"{directory}/q") if i == 1 else None):
            try:
                make()
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    sys.exit(f"{error}")


def again(mount, size):
    end = time.monotonic() + PATIENCE
    while True:
        try:
            put_file(mount, 0, size, "again")
            return
        except OSError as error:
            if error.errno != errno.ENOSPC or time.monotonic() > end:
                sys.exit(f"still: {error}")
        time.sleep(0.2)


def verify(mount):
    count = 0
    with open(os.environ["ACKNOWLEDGED"], encoding="ascii") as log:
        for line in log:
            kind, size, number = line.split()
            path = f"{mount}/t/{kind}/{number}/f/q"
            with open(path, "rb") as file:
                if file.read() != value(kind, int(number), int(size)):
                    sys.exit(f"{path} is another")
            count += 1
    print(f"{count} cells")


if __name__ == "__main__":
    what, where = sys.argv[1:3]
    if what == "verify":
        verify(where)
    elif what == "press":
        press(where, int(sys.argv[3]), sys.argv[4])
    elif what == "again":
        again(where, int(sys.argv[3]))
    else:
        fill(where, what, int(sys.argv[3]), sys.argv[4:])
