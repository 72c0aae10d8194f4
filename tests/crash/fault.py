# SPDX-License-Identifier: MIT
"""
Sets the faults of fault.so, through its file.

    fault.py make FILE DIRECTORY         calls that write below DIRECTORY count
    fault.py arm FILE N ERROR [stays]    the N-th call from now on fails with ERROR (a name); stays:
                                         those behind it do as well
    fault.py disarm FILE
    fault.py fired FILE                  succeeds where a call has failed since
"""

import errno
import os
import struct
import sys

NUMBERS = struct.Struct("=QQQQQ")  # count, at, fired, error, stays, as in fault.h
SIZE = 512


def put(file, at, error, stays):
    """at is written last: the program may be running."""
    file.seek(16)
    file.write(struct.pack("=QQQ", 0, error, stays))
    file.flush()
    file.seek(8)
    file.write(struct.pack("=Q", at))


def main():
    what, path = sys.argv[1:3]
    if what == "make":
        with open(path, "wb") as file:
            directory = os.path.realpath(sys.argv[3]).encode()
            file.write((NUMBERS.pack(0, 0, 0, 0, 0) + directory).ljust(SIZE, b"\0"))
        return
    with open(path, "r+b") as file:
        count, _, fired, _, _ = NUMBERS.unpack(file.read(NUMBERS.size))
        if what == "arm":
            error = getattr(errno, sys.argv[4])
            put(file, count + int(sys.argv[3]), error, int(sys.argv[5:] == ["stays"]))
        elif what == "disarm":
            put(file, 0, 0, 0)
        else:
            sys.exit(fired == 0)


if __name__ == "__main__":
    main()
