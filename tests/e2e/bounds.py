# SPDX-License-Identifier: MIT
"""Operations of the tests of bounds on a mount that a shell cannot do, or only slowly.

    rows COUNT PREFIX COLUMNS     prints rows for rowfs-load
    hostile KIND BYTES            prints a line of about that length that is not a row
    send FILE [KIND BYTES]        writes such a line, or its stdin, to FILE, and a newline; prints the error
    streams MOUNT COUNT KIB       has COUNT streams open that are not read on, and writes KIB between
    writers MOUNT COUNT KIB       writes COUNT files of KIB, all open at once
    unfinished MOUNT COUNT MIB    has COUNT unfinished lines of MIB
    mixed MOUNT PID CLIENTS MIB   has CLIENTS write and read values of all sizes; prints the peak of PID, MiB
    waiters MOUNT COUNT           has COUNT processes wait for a lock, and checks that other processes are served
"""

import base64
import errno
import fcntl
import os
import random
import signal
import sys
import time

PIECE = 1 << 20


def rows(count, prefix, columns):
    cells = ",".join('"q%d":["v"]' % i for i in range(int(columns)))
    sys.stdout.write('{"table":"t"}\n')
    for i in range(int(count)):
        sys.stdout.write('{"key":"%s#%08d","families":{"f":{%s}}}\n' % (prefix, i, cells))


def histories(count, *columns):
    sys.stdout.write('{"table":"t"}\n')
    for column in columns:
        for first in range(0, int(count), 10000):
            cells = ",".join('{"ts":%d,"value":"v"}' % ts for ts in range(first, first + 10000))
            sys.stdout.write('{"key":"r","families":{"f":{"%s":[%s]}}}\n' % (column, cells))


HOSTILE = {
    "lists": (b'{"key":', b"[", b""),
    "objects": (b"", b'{"a":', b""),
    "elements": (b'{"key":"r#x","families":[', b"[],", b"0]}"),
    "numbers": (b'{"key":"r#x","families":{"f":{"q":[', b"0,", b"0]}}}"),
    "digits": (b'{"key":"r#x","families":{"f":{"q":', b"1", b"}}}"),
    "string": (b'{"key":"', b"x", b""),
    "spaces": (b'{"key":"r#x"', b" ", b",}"),
    "members": (b'{"key":"r#x"', b',"a%d":0', b"}"),
}


def line(kind, size):
    begin, middle, end = HOSTILE[kind]
    count = int(size) // len(middle)
    if kind == "members":
        return begin + b"".join(middle % i for i in range(count)) + end
    return begin + middle * count + end


def hostile(kind, size):
    sys.stdout.buffer.write(line(kind, size))


def name(call, *arguments):
    try:
        call(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno]
    return ""


def write_all(fd, data):
    data = memoryview(data)
    while data:
        data = data[os.write(fd, data[:PIECE]) :]


def send(path, *hostile_line):
    fd = os.open(path, os.O_WRONLY)
    data = line(*hostile_line) if hostile_line else sys.stdin.buffer.read()
    error = name(write_all, fd, data + b"\n")
    print(name(os.close, fd) or error or "no error")


def put(mount, key, value):
    fd = os.open(mount + "/t/.rows", os.O_WRONLY)
    write_all(fd, b'{"key":"%s","families":{"f":{"q":["%s"]}}}\n' % (key, value))
    os.close(fd)


def streams(mount, count, kib):
    value = base64.b64encode(random.Random(1).randbytes(48 << 10))
    never = [os.open(mount + "/t/.rows", os.O_RDONLY) for _ in range(20)]
    opened, written, refused = [], 0, ""
    row = b"w%d" % os.getpid()
    key = b'{"key":"%s#' % row
    for i in range(int(count)):
        opened.append(os.open(mount + "/t/.rows", os.O_RDONLY))
        refused = name(os.read, opened[-1], 100)
        if refused:
            print("stream %d is refused: %s" % (i + 1, refused))
            os.close(opened.pop())
            break
        while written * 64 < (i + 1) * int(kib):
            put(mount, b"%s#%06d" % (row, written), value)
            written += 1
    if refused: # one that ends makes room for another
        os.close(opened.pop())
        opened.append(os.open(mount + "/t/.rows", os.O_RDONLY))
        print("then another is", name(os.read, opened[-1], 100) or "served")
    lines = 0
    while piece := os.read(opened[0], PIECE):
        lines += piece.count(key)
    print("the first shows %d later rows" % lines)
    for fd in opened:
        os.close(fd)
    seen = 0
    while piece := os.read(never[0], PIECE):
        seen += piece.count(key)
    print("one that begins now shows", "all" if seen == written else "%d of %d" % (seen, written))
    for fd in never:
        os.close(fd)


def writers(mount, count, kib):
    """Each file that was written and closed without an error must be there, each other must not."""
    directory = mount + "/t/files/f"
    os.makedirs(directory, exist_ok=True)
    piece = random.Random(2).randbytes(int(kib) << 10)
    opened, refused = {}, {}
    for i in range(int(count)):
        path = "%s/q%d" % (directory, i)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        error = name(write_all, fd, piece + b"%d" % i)
        if error:
            refused[error] = refused.get(error, 0) + 1
            os.unlink(path)
            name(os.close, fd)
        else:
            opened[path] = fd
    print("refused:", " ".join(sorted(refused)) or "none")
    for i in range(30): # the engine needs files of its own for these
        put(mount, b"meanwhile#%d" % i, base64.b64encode(random.Random(i).randbytes(1 << 20)))
    print("closed:", " ".join({name(os.close, fd) for fd in opened.values()}) or "all")
    wrong = 0
    for path in opened:
        with open(path, "rb") as file:
            wrong += file.read() != piece + path.rsplit("q", 1)[1].encode()
    print("wrong:", wrong)
    print("there:", "as many" if len(os.listdir(directory)) == len(opened) else "others")
    print("some were written" if opened else "none was written")


def unfinished(mount, count, mib):
    piece = b'{"key":"r#u","x":"'.ljust(int(mib) << 20, b"x")
    opened, errors = [], []
    for _ in range(int(count)):
        opened.append(os.open(mount + "/t/.rows", os.O_WRONLY))
        errors.append(name(write_all, opened[-1], piece) or "kept")
    print(" ".join(sorted(set(errors))), flush=True)
    put(mount, b"meanwhile", b"served")
    os.kill(os.getpid(), signal.SIGKILL)


def waiters(mount, count):
    path = mount + "/t/locked/f/q"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    held = os.open(path, os.O_WRONLY | os.O_CREAT)
    os.write(held, b"locked")
    os.fsync(held)
    fcntl.flock(held, fcntl.LOCK_EX)
    children = []
    for i in range(int(count)):
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                if i % 3 == 0:
                    fd = os.open(path, os.O_RDONLY)
                    os.close(held)
                    fcntl.flock(fd, fcntl.LOCK_EX)
                else:
                    row = "%s/t/n%d/f" % (mount, i)
                    os.makedirs(row)
                    for j in range(10):
                        fd = os.open(row + "/q", os.O_WRONLY | os.O_CREAT)
                        os.write(fd, b"%d" % j)
                        os.fsync(fd)
                        os.close(fd)
                    if i % 3 == 2:
                        with open("%s/t/n%d/.drop" % (mount, i), "w") as file:
                            file.write("n%d\n" % i)
                status = 0
            finally:
                os._exit(status)
        children.append(pid)
    os.stat(mount + "/t")
    os.listdir(mount + "/t")
    print("others are served")
    busy = [pid for i, pid in enumerate(children) if i % 3]
    print("those that do not wait:", {os.waitpid(pid, 0)[1] for pid in busy})
    fcntl.flock(held, fcntl.LOCK_UN)
    os.close(held)
    waiting = [pid for i, pid in enumerate(children) if i % 3 == 0]
    print("those that waited:", {os.waitpid(pid, 0)[1] for pid in waiting})
    left = sum(entry[0] == "n" for entry in os.listdir(mount + "/t"))
    print("rows that are left:", "as many" if left == len([i for i in range(int(count)) if i % 3 == 1])
          else left)


def memory(pid):  # MiB, without pages of files
    with open("/proc/%s/status" % pid) as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon:")) >> 10


def mixed(mount, pid, clients, mib):
    """Half of the values have 100 KB to 1 MB, half are small. Each client writes MIB."""
    directory = mount + "/t/mixed/f"
    os.makedirs(directory, exist_ok=True)
    children, peak = [], 0
    for i in range(int(clients)):
        children.append(os.fork())
        if children[-1] == 0:
            rng, left = random.Random(i), int(mib) << 20
            block = rng.randbytes(2_000_000)
            while left > 0:
                path = "%s/q%d" % (directory, rng.randrange(60))
                size = rng.choice([rng.randrange(10, 1000), rng.randrange(100_000, 1_000_000)])
                with open(path, "wb") as file:
                    at = rng.randrange(len(block) - size)
                    file.write(block[at:at + size])
                with open(path, "rb") as file:
                    file.read()
                left -= size
            os._exit(0)
    while children:
        peak = max(peak, memory(pid))
        time.sleep(0.02)
        children = [child for child in children if os.waitpid(child, os.WNOHANG)[0] == 0]
    print(peak)


globals()[sys.argv[1]](*sys.argv[2:])
