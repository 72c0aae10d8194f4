#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The views of processes that lock files.

    TMP=DIRECTORY locks.py CODE PATH [CODE PATH]…

runs each CODE in a process, with its PATH as q and the definitions below; the words of its output are a line, the
result. Nothing here knows of the filesystem that the file is on."""

import errno
import fcntl
import functools
import os
import signal
import struct
import sys
import time
from fcntl import LOCK_EX, LOCK_NB, LOCK_SH, LOCK_UN, flock, lockf

PATIENCE = int(os.environ["LIB_PATIENCE"])  # seconds (lib.sh)
OFD_GETLK, OFD_SETLK = 36, 37
RO, WO, RW = os.O_RDONLY, os.O_WRONLY, os.O_RDWR

q = None


def said(call):
    """ok, or the error's name."""
    try:
        call()
        return "ok"
    except OSError as error:
        name = errno.errorcode[error.errno]
        return {"EWOULDBLOCK": "EAGAIN", "EACCES": "EAGAIN", "EDEADLOCK": "EDEADLK"}.get(name, name)


class Process:
    """A process that runs a function, which is given a way to say that it is about to wait; the
    returned value is its result. It does not inherit the open file `without`."""

    def __init__(self, function, without=None):
        self.output, output = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.output)
            try:
                if without is not None:
                    os.close(without)
                result = function(lambda: os.write(output, b"\n"))
            except BaseException as error:  # the parent shows it
                result = repr(error)
            os.write(output, str(result).encode())
            os._exit(0)
        os.close(output)

    def asleep(self):
        """It has said that it is about to wait, and does, or has ended."""
        os.read(self.output, 1)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with open("/proc/%d/stat" % self.pid) as stat:
                if stat.read().rsplit(")", 1)[1].split()[0] in "SDZ":
                    return
            time.sleep(0.01)
        self.send(signal.SIGKILL)
        raise TimeoutError("a process that is to wait does not")

    def send(self, number):
        os.kill(self.pid, number)

    def result(self):
        """Its return value, or the signal that killed it."""
        text = b""
        while True:
            more = os.read(self.output, 4096)
            if not more:
                break
            text += more
        os.close(self.output)
        status = os.waitpid(self.pid, 0)[1]
        if os.WIFSIGNALED(status):
            return "signal %d" % os.WTERMSIG(status)
        return text.decode().strip()


def other(function):
    """The answer of another process."""
    return Process(lambda _: function()).result()


def reader():
    return os.open(q, RO)


def writer():
    return os.open(q, RW)


def held(how, kind, *place, flags=RW):
    """An open file of this process that has a lock."""
    fd = os.open(q, flags)
    how(fd, kind, *place)
    return fd


def locked(how, file, *arguments):
    """A process that holds a lock on a file, open or to be opened, until it is sent a signal."""
    held = Process(lambda ready: (how(file() if callable(file) else file, *arguments), ready(),
                                  signal.pause()))
    held.asleep()
    return held


def try_lock(how, kind, *place, flags=RW, path=None):
    return other(lambda: said(lambda: how(os.open(path or q, flags), kind | LOCK_NB, *place)))


try_flock = functools.partial(try_lock, flock)
try_lockf = functools.partial(try_lock, lockf)


def waits(how, file, *arguments, without=None):
    """A process that waits for a lock on a file, open or to be opened; its result is `waited` where
    it got it after `open_gate`, `early` where it did not wait."""
    gate = "%s/gate.%d" % (os.environ["TMP"], os.getpid())

    def wait(ready):
        fd = file() if callable(file) else file
        ready()
        answer = said(lambda: how(fd, *arguments))
        if answer != "ok":
            return answer
        return "waited" if os.path.exists(gate) else "early"

    process = Process(wait, without)
    process.open_gate = lambda: open(gate, "w").close()
    process.asleep()
    return process


def record(kind, start=0, length=0, pid=0):
    return struct.pack("hhqqi4x", kind, os.SEEK_SET, start, length, pid)


def get_record(fd, kind, start=0, length=0, command=fcntl.F_GETLK):
    """Kind, start, length and process of the lock that is in the way."""
    kind, _, start, length, pid = struct.unpack(
        "hhqqi4x", fcntl.fcntl(fd, command, record(kind, start, length)))
    name = {fcntl.F_RDLCK: "shared", fcntl.F_WRLCK: "exclusive", fcntl.F_UNLCK: "none"}[kind]
    return name, start, length, pid


def ofd(fd, kind, start=0, length=0):
    return said(lambda: fcntl.fcntl(fd, OFD_SETLK, record(kind, start, length)))


for code, q in zip(sys.argv[1::2], sys.argv[2::2]):
    out, into = os.pipe()
    if os.fork() == 0:
        os.close(out)
        os.dup2(into, 1)
        os.dup2(into, 2)
        os.close(into)
        exec(code)
        sys.exit()
    os.close(into)
    with os.fdopen(out) as output:
        text = output.read()
    os.wait()
    print(*text.split(), flush=True)
