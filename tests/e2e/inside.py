#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""inside.py PID [NAME ARGUMENT… [-- NAME ARGUMENT…]…]: system calls of another process, made as by an attacker who runs code in it.

Each call is made by the first thread of the process, at the instruction in which it waits. Prints the result of each on a line: a
number, or the name of an errno. An argument is a number, PREV (the result before), or text, which is copied to the thread's stack.
x86-64 only; needs the right to trace the process.
"""
import ctypes
import errno
import os
import re
import sys

NUMBERS = {
    "write": 1, "close": 3, "fork": 57, "execve": 59, "truncate": 76, "chmod": 90, "fchmod": 91, "fcntl": 72, "setfsuid": 122,
    "setresuid": 117, "clone": 56, "openat": 257, "fchmodat": 268, "unshare": 272, "prlimit64": 302, "geteuid": 107, "socket": 41,
    "io_uring_setup": 425, "fchmodat2": 452, "setxattrat": 463, "removexattrat": 466, "file_setattr": 469, "setxattr": 188, "kill": 62,
}
TRACE = {"getregs": 12, "setregs": 13, "singlestep": 9, "detach": 17, "seize": 0x4206, "interrupt": 0x4207}
REGISTERS = "r15 r14 r13 r12 bp bx r11 r10 r9 r8 ax cx dx si di orig_ax ip cs flags sp ss fs_base gs_base ds es fs gs".split()
AGAIN = 512  # ERESTARTSYS and up: not for programs

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


def trace(what, pid, data=None):
    if libc.ptrace(TRACE[what], pid, None, data) < 0:
        sys.exit(f"inside.py: {what}: {os.strerror(ctypes.get_errno())}")


class Registers(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulonglong) for name in REGISTERS]


def wait(pid):
    _, status = os.waitpid(pid, 0x40000000)  # __WALL
    if not os.WIFSTOPPED(status):
        sys.exit(f"inside.py: the process ended: {status:#x}")


def call(pid, saved, name, arguments):
    now = Registers.from_buffer_copy(saved)
    free = saved.sp - 8192
    values = []
    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
        for argument in arguments:
            if isinstance(argument, str):
                memory.seek(free)
                memory.write(argument.encode() + b"\0")
                values.append(free)
                free += len(argument) + 8
            else:
                values.append(argument)
        memory.seek(saved.ip - 2)
        if memory.read(2) != b"\x0f\x05":
            sys.exit("inside.py: the thread does not wait in a system call")
    values += [0] * (6 - len(values))
    now.di, now.si, now.dx, now.r10, now.r8, now.r9 = (value & (1 << 64) - 1 for value in values)
    now.ax, now.ip, now.orig_ax = NUMBERS[name], saved.ip - 2, (1 << 64) - 1
    trace("setregs", pid, ctypes.byref(now))
    trace("singlestep", pid)
    wait(pid)
    trace("getregs", pid, ctypes.byref(now))
    return ctypes.c_longlong(now.ax).value


def main():
    pid, words, previous = int(sys.argv[1]), sys.argv[2:], 0
    saved = Registers()
    trace("seize", pid)
    trace("interrupt", pid)
    wait(pid)
    trace("getregs", pid, ctypes.byref(saved))
    while words:
        end = words.index("--") if "--" in words else len(words)
        arguments = [previous if word == "PREV" else int(word, 0) if re.fullmatch(r"-?(0x[0-9a-f]+|0o[0-7]+|\d+)", word) else word
                     for word in words[1:end]]
        previous = call(pid, saved, words[0], arguments)
        print(errno.errorcode.get(-previous, previous) if previous < 0 else previous)
        words = words[end + 1:]
    trace("setregs", pid, ctypes.byref(saved))
    trace("detach", pid)


main()
