#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Runs the examples of a page of documentation, so that each page is true.

    examples.py BUILD PAGE...       runs them; prints "ok NAME" or "not ok NAME: why" for each block
    examples.py --list PAGE...      prints the commands

An example is a line "$ COMMAND" in a block of a page (indented by four spaces, or fenced; in a manual page
a literal display), with lines
"> MORE" behind it that belong to the command, and then its output: both streams, to the letter. In it
"..." stands for anything within a line, a line "..." for any lines. A command succeeds, or the next one
is "echo $?". Blocks that do not begin with "$ " are not run.

All examples of a page run in order in one shell, in an empty directory, with the programs of BUILD first
in PATH; the last ones remove all that was made. The shell is root in namespaces of its own (of mounts and processes), where /mnt and /srv are
empty directories: so pages use them as anyone would, several run side by side, and nothing is left when
the namespaces end, however they do. The shell and `ls` print as at a terminal of 80 columns.

Finding the examples (blocks_of, one function for each form of page) knows nothing of running them.
"""

import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field

# Commands that not every system has, by Debian's package: a page names it before its first example.
PACKAGES = {"jq": "jq", "attr": "getfattr", "rsync": "rsync", "zstd": "zstd", "procps": "pgrep"}
OWN_MOUNTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "own_mounts.sh")


@dataclass
class Example:
    line: int  # where in the page
    command: str
    expected: list = field(default_factory=list)  # lines


@dataclass
class Block:
    line: int
    examples: list


# ---- Finding examples -----------------------------------------------------------------------


class PageError(Exception):
    pass


def is_examples(lines):
    return bool(lines) and lines[0].startswith("$ ")


def block_of(first, lines):
    """The block of these lines, without their indentation, the first of which is the page's line FIRST."""
    examples = []
    in_command = False
    for number, line in enumerate(lines, first):
        if line.startswith("$ "):
            examples.append(Example(number, line[2:]))
            in_command = True
        elif in_command and (line == ">" or line.startswith("> ")):
            examples[-1].command += "\n" + line[2:]
        else:
            examples[-1].expected.append(line)
            in_command = False
    for example in examples:
        example.expected = without_blank_end(example.expected)
    return Block(first, examples)


def without_blank_end(lines):
    lines = list(lines)
    while lines and not lines[-1].strip():
        lines.pop()
    return lines


def markdown_blocks(text):
    """(line, lines) of each block of code: indented as its first line, by four spaces or more, or fenced."""
    found = None  # of the block that the line is in: its first line, its lines
    fence = None
    indent = ""  # of an indented block
    for number, line in enumerate(text.split("\n"), 1):
        mark = re.match(r" {0,3}(```+|~~~+)", line)
        if fence:
            if mark and mark[1].startswith(fence) and line.strip() == mark[1]:
                yield found
                found, fence = None, None
            else:
                found[1].append(line)
        elif mark:
            if found:
                yield found
            found, fence = (number + 1, []), mark[1]
        elif line.startswith("    ") and (not found or line.startswith(indent)):
            if not found:
                found, indent = (number, []), re.match(" +", line)[0]
            found[1].append(line[len(indent) :])
        elif found and not line.strip():
            found[1].append("")
        elif found:
            yield found
            found = None
    if fence:
        raise PageError("a fenced block does not end")
    if found:
        yield found


# The spelling in a literal display of a manual page of characters that troff would change.
TROFF = {"e": "\\", "&": "", "(aq": "'", "(ga": "`", "(ha": "^", "(ti": "~"}


def troff_text(line):
    def spelled(escape):
        if escape[1] not in TROFF:
            raise PageError(f"an escape that a literal display does not need: {escape[0]}")
        return TROFF[escape[1]]

    return re.sub(r"\\(\(..|.|$)", spelled, line)


def manual_blocks(text):
    """(line, lines) of each literal display of a manual page (mdoc)."""
    found = None
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith(".Bd -literal"):
            found = (number + 1, [])
        elif found and line == ".Ed":
            yield found
            found = None
        elif found and line.startswith((".", "'")):
            raise PageError(f"line {number}: a request in a literal display")
        elif found:
            found[1].append(troff_text(line))
    if found:
        raise PageError("a display does not end")


FORMS = {".md": markdown_blocks, ".1": manual_blocks, ".5": manual_blocks, ".8": manual_blocks}


def blocks_of(page):
    """The blocks of examples of a page, by the form that its name says."""
    form = FORMS.get(os.path.splitext(page)[1])
    if not form:
        raise PageError("no form of page is known by that name")
    with open(page, encoding="utf-8") as file:
        text = file.read()
    blocks = [block_of(first, lines) for first, lines in form(text) if is_examples(lines)]
    prompts = len(re.findall(r"^\s+\$ |^\$ ", text, re.M))
    found = sum(len(block.examples) for block in blocks)
    if found == 0:
        raise PageError("there are no examples in it")
    if found != prompts:
        raise PageError(f"{prompts} lines begin with '$ ', but {found} are commands of examples")
    return blocks


def unnamed_packages(page, blocks):
    """The packages that the page's commands need and that it does not name at its start."""
    with open(page, encoding="utf-8") as file:
        start = "".join(file.readlines()[: blocks[0].line - 1])
    commands = "\n".join(example.command for block in blocks for example in block.examples)
    return [
        f"{package}, for {command}"
        for package, command in PACKAGES.items()
        if re.search(rf"\b{command}\b", commands) and not re.search(rf"\b{package}\b", start)
    ]


# ---- Running them ---------------------------------------------------------------------------

# Reads the names of files with commands, runs them and answers with their status. It is process 1 of its
# namespace, so its end is that of all that it started.
SHELL = r"""
set -u
examples_mounts() {
	awk '$3 == "fuse.rowfs" { print $2 }' /proc/self/mounts | grep -vxF "${examples_others-}"
}
examples_others=$(examples_mounts) # mounts that an ordinary user cannot unmount
mount --bind "$1" "$2/bin" || exit 1
for place in mnt mnt srv srv; do # twice: a page's umount too many finds another private directory
	mount --bind "$2/$place" "/$place" || exit 1
done
cd "$2/home" || exit 1
PATH=$2/bin:$PATH
HOME=$2/home
set --
set +u
ls() {
	if [ /proc/self/fd/1 -ef "$examples_out" ]; then
		command ls -C --width=80 --tabsize=0 "$@"
	else
		command ls "$@"
	fi
}
examples_exit() {
	return "$examples_status"
}
examples_status=0
echo ready >&9
while read -r examples_file <&8; do
	examples_out=${examples_file%.command}.out
	examples_command=$(<"$examples_file")
	{
		examples_exit # sets $? for the command
		eval "$examples_command"
	} </dev/null >>"$examples_out" 2>&1 8<&- 9>&-
	examples_status=$?
	echo "$examples_status" >&9
done
"""

LEFT = 'find ~ /mnt /srv -mindepth 1 -maxdepth 1 -printf "left: %p\\n"'

# Unmounts the mounts that the page left; their servers end by themselves.
UNMOUNT = r"""
cd /
for ((examples_i = 0; examples_i < LIB_PATIENCE * 20; examples_i++)); do
	[ -n "$(examples_mounts)" ] || break
	examples_mounts | tac | while read -r place; do
		umount "$(printf '%b' "$place")" 2>/dev/null
	done
	[ "$examples_i" = 0 ] || sleep 0.05
done
examples_mounts | sed 's/^/still mounted: /'
for ((examples_i = 0; examples_i < LIB_PATIENCE * 20; examples_i++)); do
	examples_left=$(grep -lE '^Name:.(rowfs|fsck)' /proc/[0-9]*/status 2>/dev/null)
	[ -n "$examples_left" ] || break
	sleep 0.05
done
for examples_left in $examples_left; do
	echo "still running: $(head -n 1 "$examples_left")"
done
"""


class ShellEnded(Exception):
    pass


def above_ten(fd):
    """Moves a descriptor out of the way of those that the shell's script names."""
    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(fd)
    return moved


class Shell:
    """A shell in namespaces of its own."""

    def __init__(self, build):
        self.count = 0
        self.directory = tempfile.mkdtemp(prefix="rowfs-examples.")
        for name in ("bin", "mnt", "srv", "home", "run"):
            os.mkdir(os.path.join(self.directory, name))
        pipe = os.pipe()
        self.commands = pipe[1]
        command_read = above_ten(pipe[0])
        pipe = os.pipe()
        self.answers = pipe[0]
        answer_write = above_ten(pipe[1])
        namespaces = ["setpriv", "--pdeathsig", "KILL", OWN_MOUNTS]
        namespaces += ["--pid", "--fork", "--kill-child", "--mount-proc"]
        script = f"exec 8<&{command_read} 9>&{answer_write} {command_read}<&- {answer_write}>&-\n"
        self.process = subprocess.Popen(
            namespaces + ["bash", "-c", script + SHELL, "bash", build, self.directory],
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr,
            pass_fds=(command_read, answer_write),
            start_new_session=True,
            env=self.environment(),
        )
        os.close(command_read)
        os.close(answer_write)
        try:
            self.answer()
        except BaseException:
            self.close()
            raise

    def environment(self):
        env = dict(os.environ, LC_ALL="C.UTF-8", TZ="UTC0", USER="root")
        for name in ("ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"):
            reports = os.path.join(self.directory, "run", "sanitizer")
            env[name] = ":".join(filter(None, [env.get(name), f"log_path={reports}"]))
        return env

    def answer(self):
        line = b""
        while not line.endswith(b"\n"):
            more = os.read(self.answers, 100)
            if not more:
                raise ShellEnded("the shell ended")
            line += more
        return line.decode().strip()

    def run(self, command):
        """The command's status and output."""
        self.count += 1
        base = os.path.join(self.directory, "run", str(self.count))
        with open(base + ".command", "w", encoding="utf-8") as file:
            file.write(command)
        open(base + ".out", "w", encoding="utf-8").close()
        os.write(self.commands, (base + ".command\n").encode())
        status = int(self.answer())
        with open(base + ".out", encoding="utf-8", errors="backslashreplace") as file:
            return status, re.sub(r"^bash: line \d+: ", "bash: ", file.read(), flags=re.M)

    def unmount(self):
        """The fault at the end of the mounts, as text."""
        wrong = self.run(UNMOUNT)[1]
        for name in os.listdir(os.path.join(self.directory, "run")):
            if name.startswith("sanitizer"):
                with open(os.path.join(self.directory, "run", name), errors="replace") as file:
                    wrong += file.read()
        return wrong

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.commands)
        # The namespace's last process is gone when nobody can write answers any more.
        try:
            while True:
                self.answer()
        except ShellEnded:
            pass
        os.close(self.answers)
        shutil.rmtree(self.directory)


def matches(expected, output):
    pattern = ""
    for line in expected:
        if line.strip() == "...":
            pattern += r"(?:.*\n)*"
        else:
            pattern += ".*".join(re.escape(part) for part in line.rstrip().split("...")) + r"[ \t]*\n"
    lines = without_blank_end(output.split("\n"))
    return re.fullmatch(pattern, "".join(line + "\n" for line in lines)) is not None


def quoted(text):
    return text.rstrip("\n").replace("\n", "\\n")[:600]


def why_not(example, following, status, output):
    """Why the example is not as the page says, or None."""
    shows_status = following is not None and following.command.split("#")[0].strip() == "echo $?"
    command = f"line {example.line}, $ {quoted(example.command)}: "
    if not matches(example.expected, output):
        return command + f"expected '{quoted(chr(10).join(example.expected))}', got '{quoted(output)}'"
    if status != 0 and not shows_status:
        return command + f"exit {status}"
    return None


def run_page(build, page):
    """Prints a line for each block; how many there were, and how many failed."""
    blocks = blocks_of(page)
    every = [example for block in blocks for example in block.examples]
    following = dict(zip(map(id, every), every[1:]))
    failed = report(page, "start", "it names the packages of its tools", unnamed_packages(page, blocks))
    shell = Shell(build)
    try:
        for block in blocks:
            wrong = []
            for example in block.examples:
                status, output = shell.run(example.command)
                wrong.append(why_not(example, following.get(id(example)), status, output))
            wrong = [why for why in wrong if why]
            failed += report(page, block.line, block.examples[0].command.split("\n")[0], wrong)
        failed += report(page, "end", "it removes what it made", [shell.run(LEFT)[1]])
        failed += report(page, "end", "what it mounted ends well", [shell.unmount()])
    except ShellEnded as error:
        failed += report(page, block.line, quoted(example.command), [str(error)])
    finally:
        shell.close()
    return len(blocks), failed


def report(page, line, name, wrong):
    wrong = "; ".join(filter(None, wrong))
    name = f"{os.path.basename(page)}:{line} {name}"
    print(f"not ok {name}: {quoted(wrong)}" if wrong else f"ok {name}", flush=True)
    return 1 if wrong else 0


def stop(number, _frame):
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, signal.SIG_IGN)
    sys.exit(128 + number)


def main():
    arguments = sys.argv[1:]
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(name, stop)
    failed = 0
    for page in arguments[1:]:
        try:
            if arguments[0] == "--list":
                for block in blocks_of(page):
                    for example in block.examples:
                        print(f"{page}:{example.line}: {example.command}")
            else:
                failed += run_page(os.path.abspath(arguments[0]), page)[1]
        except (PageError, OSError, ShellEnded) as error:
            failed += report(page, 0, "the page", [str(error)])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
