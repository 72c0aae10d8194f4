#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kills the server of a mount under a load of notices.

    hangs.py MOUNT PID SEED running|waiting

Clients make directories in the table t, and others make and drop the row t/b, of which the server
tells the kernel. `running` kills the server after some drops; `waiting` when one of its threads
waits in the kernel for the directory's lock, which a client of the stopped server holds: without an
abort no process ends then. Ends with 0 when the clients have got errors and ended.
"""

import os
import random
import signal
import sys
import time

ROW = b'{"key":"b#1","families":{"f":{"q":"v"}}}\n'
WAITS = 5  # looks at a stopped server that find the thread still waiting


def write(path, data):
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, data)
    finally:
        os.close(fd)


def make_directories(mount, number):
    for i in range(1 << 30):
        os.mkdir(f"{mount}/t/{number}.{i}")


def drop_rows(mount, tell=None):
    while True:
        write(f"{mount}/t/.rows", ROW)
        write(f"{mount}/t/b/.drop", b"b\n")
        if tell is not None:
            os.write(tell, b".")


def client(work, *args):
    pid = os.fork()
    if pid == 0:
        try:
            work(*args)
        except OSError:
            pass
        os._exit(0)
    return pid


def states(pid):
    """The state of each thread: a letter of proc(5)."""
    found = ""
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/stat", "rb") as stat:
            found += stat.read().rpartition(b") ")[2][:1].decode()
    return found


def waits(pid):
    """Stops the server. Does a thread of it wait in the kernel for as long as it is stopped?"""
    os.kill(pid, signal.SIGSTOP)
    looks = 0
    while looks < WAITS:
        found = states(pid)
        if set(found) <= set("TD"):
            if "D" not in found:
                os.kill(pid, signal.SIGCONT)
                return False
            looks += 1
        time.sleep(0.002)
    return True


def main():
    mount, pid, seed, when = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
    chance = random.Random(seed)
    told, tell = os.pipe()
    clients = [client(make_directories, mount, i) for i in range(2)]
    clients.append(client(drop_rows, mount, tell))
    os.close(tell)
    if when == "running":
        for _ in range(chance.randint(1, 40)):
            os.read(told, 1)
    else:
        os.read(told, 1)
        while "D" not in states(pid) or not waits(pid):
            pass
    os.kill(pid, signal.SIGKILL)
    for child in clients:
        os.waitpid(child, 0)


main()
