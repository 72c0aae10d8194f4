#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a command and ends it at a limit of processor time, together with all its descendants.

    limit.py PROCESSOR WALL DIRECTORY REPORT COMMAND...

PROCESSOR, in seconds, limits the processor time of the command and all its descendants, daemons and
finished ones too. WALL, in seconds, is a net for a command that waits for ever. After the command,
limit.py unmounts the mounts below DIRECTORY and kills the processes that remain.

The first line of REPORT has the seconds of processor time, the seconds on the clock, and "ended",
"processor" or "wall". Each following line is a mount or a process that the command left. The status
is that of the command, or 128 and the signal that ended it; 124 at a limit.

All descendants stay below this process, since it adopts orphans (PR_SET_CHILD_SUBREAPER): those that
ended are in its RUSAGE_CHILDREN, those that run are in /proc.
"""

import ctypes
import os
import resource
import signal
import sys
import time

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
TICK = os.sysconf("SC_CLK_TCK")
PROCESSORS = os.sysconf("SC_NPROCESSORS_ONLN")
SIGNALS = {signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP}
GRACE = 20  # seconds after SIGTERM
LOOKS, LOOK = 15, 0.2  # a process that sleeps through so many looks does not end by itself
ENDING = 60  # seconds: nor does one that runs on for so long


class Stopped(Exception):
    """A signal asks to end."""


class Process:
    def __init__(self, pid):
        with open(f"/proc/{pid}/stat", "rb") as stat:
            fields = stat.read().rpartition(b")")[2].split()
        self.pid = pid
        self.state = fields[0]
        self.parent = int(fields[1])
        # Of the process, and of its children that it has waited for.
        self.seconds = sum(map(int, fields[11:15])) / TICK

    def command(self):
        try:
            with open(f"/proc/{self.pid}/cmdline", "rb") as words:
                return words.read().replace(b"\0", b" ").decode(errors="replace").strip()
        except OSError:
            return ""


def descendants():
    """The processes below this one, zombies too."""
    children = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                process = Process(int(name))
            except OSError:
                continue  # it has ended
            children.setdefault(process.parent, []).append(process)
    below, parents = [], [os.getpid()]
    while parents:
        for process in children.get(parents.pop(), []):
            below.append(process)
            parents.append(process.pid)
    return below


def seconds(running):
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime + sum(p.seconds for p in running)


class Command:
    def __init__(self, words):
        self.start = time.monotonic()
        self.wall = 0
        self.status = None  # while it runs
        self.alone = False  # it has ended, and so have all its descendants
        self.pid = os.fork()
        if self.pid == 0:
            os.setpgid(0, 0)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
            for number in (signal.SIGPIPE, signal.SIGXFSZ):  # which Python ignores
                signal.signal(number, signal.SIG_DFL)
            try:
                os.execvp(words[0], words)
            except OSError as error:
                print(f"{words[0]}: {error.strerror}", file=sys.stderr, flush=True)
                os._exit(127)

    def reap(self):
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                if pid == self.pid:
                    self.wall = time.monotonic() - self.start
                    code = os.waitstatus_to_exitcode(status)
                    self.status = code if code >= 0 else 128 - code
        except ChildProcessError:
            self.alone = True

    def wait(self, longest):
        """Waits until a child ends, at most so many seconds."""
        number = signal.sigtimedwait(SIGNALS, max(longest, 0))
        if number and number.si_signo != signal.SIGCHLD:
            raise Stopped(number.si_signo)
        self.reap()

    def run(self, limit, net):
        """Waits until it ends or meets a limit, which is returned. Its processors cannot use up the
        rest of the time sooner than the next look at it."""
        due = self.start + limit / PROCESSORS
        while True:
            self.reap()
            if self.status is not None:
                return "ended"
            left = self.start + net - time.monotonic()
            if left <= 0:
                return "wall"
            if time.monotonic() >= due:
                rest = limit - seconds(descendants())
                if rest <= 0:
                    return "processor"
                due = time.monotonic() + max(rest / PROCESSORS, 0.1)
            self.wait(min(left, due - time.monotonic()))

    def settle(self):
        """Waits while descendants are on their way out; returns those that are not."""
        last, same = {}, 0
        for _ in range(int(ENDING / LOOK)):
            self.reap()
            below = [] if self.alone else [p for p in descendants() if p.state not in b"ZX"]
            if not below:
                return []
            now = {p.pid: p.seconds for p in below}
            same = same + 1 if now == last and all(p.state in b"STI" for p in below) else 0
            if same >= LOOKS:
                break
            last = now
            self.wait(LOOK)
        return below

    def end(self):
        """Ends it, and gives it time to clean up."""
        try:
            os.killpg(self.pid, signal.SIGTERM)
            until = time.monotonic() + GRACE
            while self.status is None and time.monotonic() < until:
                self.wait(until - time.monotonic())
        except (ProcessLookupError, Stopped):
            pass
        self.kill()

    def kill(self):
        """Kills all descendants. A process that the kernel holds may outlive this."""
        for _ in range(100):
            self.reap()
            if self.alone:
                return
            for process in descendants():
                try:
                    os.kill(process.pid, signal.SIGKILL)
                except OSError:
                    pass  # it has ended, or is another user's
            signal.sigtimedwait({signal.SIGCHLD}, 0.1)


def unmount_below(directory):
    """Unmounts what is mounted below the directory; returns the places."""
    below = os.fsencode(directory) + b"/"
    with open("/proc/self/mounts", "rb") as mounts:
        places = [line.split()[1] for line in mounts]
    if not any(place.startswith(below) or b"\\" in place for place in places):
        return []
    import re  # with subprocess half of the time that this program takes to start
    import subprocess
    places = [re.sub(rb"\\([0-7]{3})", lambda m: bytes([int(m[1], 8)]), place) for place in places]
    places = [os.fsdecode(p) for p in reversed(places) if p.startswith(below)]
    for place in places:
        # Forced: a request that nobody answers holds processes that cannot be killed.
        for words in (["umount", "-f", "-l"], ["fusermount3", "-u", "-z"]):
            try:
                if subprocess.run([*words, place], capture_output=True, timeout=GRACE).returncode == 0:
                    break
            except (OSError, subprocess.TimeoutExpired):
                pass
    return places


def main():
    limit, net, directory, report, *words = sys.argv[1:]
    prctl = ctypes.CDLL(None).prctl
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    command = Command(words)
    left = []
    try:
        how = command.run(float(limit), float(net))
        if how == "ended":
            left += [f"left mounted: {place}" for place in unmount_below(directory)]
            left += [f"left running: {p.pid} {p.command()}" for p in command.settle()]
            command.kill()
    except Stopped as stopped:
        command.status = command.status or 128 + stopped.args[0]
        how = "stopped"
    if how != "ended":
        command.end()
        unmount_below(directory)
        command.kill()
        command.wall = command.wall or time.monotonic() - command.start
    spent = seconds([] if command.alone else descendants())
    with open(report, "w") as out:
        print(f"{spent:.1f} {command.wall:.0f} {how}", *left, sep="\n", file=out)
    sys.exit(124 if how in ("processor", "wall") else command.status)


main()
