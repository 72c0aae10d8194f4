# SPDX-License-Identifier: MIT
"""System calls that no shell has, for `call` and `python` of lib.sh.

    module calls call CODE ARGUMENT…  runs CODE with these names; prints "ok", or the errno that ended it
    module calls run CODE ARGUMENT…   the same without "ok"

The arguments are the list a, the first one q, the second us if it is a number."""
import errno
import fcntl
import mmap
import os
import sys
import time
from os import close, fsync, rename, replace, write


class Later:
    """A module or library that is slow to load, and is loaded where it is first used."""

    def __init__(self, load):
        self._load = load

    def __getattr__(self, name):
        if name == "_loaded":
            self._loaded = self._load()
            return self._loaded
        return getattr(self._loaded, name)


def later(*names):
    return [Later(lambda name=name: __import__(name)) for name in names]


ctypes, json, signal, subprocess, tempfile, threading = later(
    "ctypes", "json", "signal", "subprocess", "tempfile", "threading")
libc = Later(lambda: ctypes.CDLL(None, use_errno=True))
NOREPLACE, EXCHANGE = 1, 2
MIB = 1 << 20


def put(path, text):
    with open(path, "wb" if isinstance(text, bytes) else "w") as file:
        file.write(text)


def get(path):
    with open(path) as file:
        return file.read()


def opened(flags=os.O_WRONLY | os.O_CREAT | os.O_TRUNC):
    return os.open(q, flags, 0o600)


def stamp(file, us):
    os.utime(file, ns=(us * 1000, us * 1000))


def renameat2(old, new, flags):
    if libc.renameat2(-100, os.fsencode(old), -100, os.fsencode(new), flags):
        raise OSError(ctypes.get_errno(), "renameat2")


def error(call, *arguments):
    """ok, or the name of the errno that the call ended with."""
    try:
        call(*arguments)
    except OSError as fault:
        return errno.errorcode[fault.errno]
    return "ok"


def started(call, *arguments):
    """A pipe with the result of the call in another process."""
    out, into = os.pipe()
    if os.fork() == 0:
        try:
            os.write(into, str(call(*arguments)).encode())
        finally:
            os._exit(0)
    os.close(into)
    return os.fdopen(out)


def child(call, *arguments):
    """The result of the call in another process, once that has ended."""
    with started(call, *arguments) as pipe:
        answer = pipe.read()
    os.wait()
    return answer


def output(*command):
    """The bytes that a program, named by its path, prints. It must succeed."""
    out, into = os.pipe()
    pid = os.posix_spawn(command[0], command, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, into, 1)])
    os.close(into)
    with os.fdopen(out, "rb") as pipe:
        text = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert status == 0, f"{command[0]}: exit {status}"
    return text


class Looker:
    """A process that reports the values that a function passes to it."""

    def __init__(self, look):
        asked, self.asks = os.pipe()
        answers, into = os.pipe()
        if os.fork() == 0:
            os.close(self.asks)
            with os.fdopen(asked) as questions:
                for line in questions:
                    os.write(into, (json.dumps(look(*json.loads(line))) + "\n").encode())
            os._exit(0)
        os.close(asked)
        os.close(into)
        self.answers = os.fdopen(answers)

    def look(self, *question):
        os.write(self.asks, (json.dumps(question) + "\n").encode())
        return json.loads(self.answers.readline())


def main(kind, code, *arguments):
    names = globals()
    names["a"] = a = list(arguments)
    names["q"] = a[0] if a else None
    names["us"] = int(a[1]) if len(a) > 1 and a[1].lstrip("-").isdigit() else None
    try:
        exec(code, names)
        if kind == "call":
            print("ok")
    except OSError as fault:
        print(errno.errorcode[fault.errno])
