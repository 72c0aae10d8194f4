#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""no_landlock.py COMMAND…: runs it as on a kernel without Landlock, whose first call gives ENOSYS.

The filter of seccomp(2) has four instructions; the call has the number 444 on every machine.
"""
import ctypes
import os
import struct
import sys

ENOSYS = 38
code = b"".join(struct.pack("HBBI", *i) for i in [
    (0x20, 0, 0, 0),  # load the number
    (0x15, 0, 1, 444),  # is it landlock_create_ruleset?
    (0x06, 0, 0, 0x00050000 | ENOSYS),
    (0x06, 0, 0, 0x7FFF0000)])
instructions = ctypes.create_string_buffer(code, len(code))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", 4, ctypes.addressof(instructions)))
libc = ctypes.CDLL(None, use_errno=True)
zero = ctypes.c_ulong(0)
if libc.prctl(38, ctypes.c_ulong(1), zero, zero, zero) or libc.prctl(22, ctypes.c_ulong(2), program):
    sys.exit("no_landlock.py: " + os.strerror(ctypes.get_errno()))
os.execvp(sys.argv[1], sys.argv[1:])
