# SPDX-License-Identifier: MIT
"""What another process sees right after a change, where the kernel keeps entries.

    caches.py MOUNT TABLE SCENARIO SECONDS [READERS]

Makes the scenario's changes over and over. Before each, a process has looked at every name that the
change concerns, and another has listed their directories with attributes, or just that one; after each
both look again, now the one first and now the other, and must see the new state. Meanwhile READERS more
processes look at the same names and list the same directories all the time; what they see is not
compared, but they must meet no error other than that a name is not there. Prints what was wrong, or the
scenario's name; `caches.py --list` prints the names of all.
"""
import errno
import json
import mmap
import os
import shutil
import signal
import subprocess
import sys
import time

GONE = "gone"


def look(path):
    """What a process sees of a name: of a file its value, size and time."""
    seen = GONE
    try:
        st = os.stat(path)
        seen = "half there"
        if os.path.isdir(path):
            return ["dir", sorted(os.listdir(path))]
        with open(path, "rb") as file:
            value = file.read().decode("latin-1")
        again = os.stat(path)
        return ["file", value, st.st_size, st.st_mtime_ns // 1000, again.st_ino == st.st_ino]
    except (FileNotFoundError, NotADirectoryError):
        return seen


def scan(directory):
    """A listing with attributes, as of `ls -l`."""
    with os.scandir(directory) as entries:
        return [(entry, entry.stat(follow_symlinks=False)) for entry in entries]


def find(path):
    """What a process sees of a name in a listing of its directory: of a file its size and time."""
    directory, name = os.path.split(path.rstrip("/"))
    try:
        found = [pair for pair in scan(directory) if pair[0].name == name]
    except (FileNotFoundError, NotADirectoryError) as error:
        return "half there" if error.filename != directory else GONE
    if len(found) != 1:
        return "twice" if found else GONE
    entry, st = found[0]
    again = os.stat(path)
    if entry.inode() != st.st_ino or st != again:
        return ["other attributes", str(st), str(again)]
    if entry.is_dir(follow_symlinks=False):
        return ["dir", os.path.isdir(path)]
    return ["file", st.st_size, st.st_mtime_ns // 1000]


class Reader:
    """A process that looks at names, by the function `look`, when it is asked to."""

    def __init__(self, look):
        ask, self.ask = os.pipe()
        self.answer, answer = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.ask)
            with os.fdopen(ask) as questions:
                for line in questions:
                    seen = [look(path) for path in json.loads(line)]
                    os.write(answer, (json.dumps(seen) + "\n").encode())
            os._exit(0)
        os.close(ask)
        os.close(answer)
        self.answers = os.fdopen(self.answer)

    def look(self, paths):
        os.write(self.ask, (json.dumps(paths) + "\n").encode())
        return json.loads(self.answers.readline())


def visit(path):
    os.stat(path)
    with open(path, "rb") as file:
        file.read()


def hammer(paths, deadline):
    """Looks at names until the time is over; what it prints is wrong."""
    looks = [(scan, path) for path in sorted(set(os.path.dirname(path.rstrip("/")) for path in paths))]
    looks += [(visit, path) for path in paths]
    while time.time() < deadline:
        for look_at, path in looks:
            try:
                look_at(path)
            except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
                pass
            except OSError as error:
                return "%s: %s" % (path, error)
    return ""


class World:
    def __init__(self, mount, table):
        self.mount, self.table = mount, table
        self.plain = "%s/%s" % (mount, table)
        self.versions = "%s/.versions/%s" % (mount, table)
        self.row = "a/b"
        self.stamp = int(time.time() * 1000000) - 1000000000
        self.number = 0
        os.makedirs("%s/%s/f" % (self.plain, self.row), exist_ok=True)

    def f(self, name=""):
        return "%s/%s/f/%s" % (self.plain, self.row, name)

    def v(self, name=""):
        return "%s/%s/f/%s" % (self.versions, self.row, name)

    def next(self):
        """A value that was not there before."""
        self.number += 1
        return "v" * (self.number % 7) + str(self.number)

    def ts(self):
        self.stamp += 1000
        return self.stamp


def put(path, value, flags=os.O_WRONLY | os.O_CREAT | os.O_TRUNC):
    fd = os.open(path, flags, 0o644)
    os.write(fd, value.encode())
    os.close(fd)


def value(text, ts=None):
    return ["file", text, len(text), ts]


def fresh(world, name="q"):
    """Removes a column, and makes it anew with two cells; returns their values and times."""
    if os.path.exists(world.f(name)):
        os.unlink(world.f(name))
    cells = []
    for _ in range(2):
        cell = (world.next(), world.ts())
        os.makedirs(world.v(name + "@"), exist_ok=True)
        put(world.v("%s@/%d" % (name, cell[1])), cell[0])
        cells.append(cell)
    return cells


# A scenario is a generator: it yields the names that a change will concern, makes the change when
# it goes on, and yields what is to be seen of them.

def write(world):
    put(world.f("q"), world.next())
    yield [world.f("q")]
    new = world.next()
    put(world.f("q"), new)
    yield [value(new)]


def append(world):
    old = world.next()
    put(world.f("q"), old)
    yield [world.f("q")]
    new = world.next()
    put(world.f("q"), new, os.O_WRONLY | os.O_APPEND)
    yield [value(old + new)]


def truncated(world):
    """What the last close commits, and nobody waits for."""
    put(world.f("q"), world.next())
    yield [world.f("q"), world.f("n")]
    os.close(os.open(world.f("q"), os.O_WRONLY | os.O_TRUNC))
    os.close(os.open(world.f("n"), os.O_WRONLY | os.O_CREAT))
    yield [value(""), value("")]
    yield [world.f("q"), world.f("n")]
    os.unlink(world.f("n"))
    os.truncate(world.f("q"), 5)
    yield [value("\0" * 5), GONE]


def synced(world):
    put(world.f("q"), world.next())
    yield [world.f("q")]
    fd = os.open(world.f("q"), os.O_RDWR | os.O_TRUNC)
    new = world.next()
    os.write(fd, new.encode())
    os.fsync(fd)
    yield [value(new)]
    yield [world.f("q")]
    more = world.next()
    os.write(fd, more.encode())
    os.close(fd)
    yield [value(new + more)]


def map_shared(path):
    """Where others look at the name at that moment, an open file may be one without pages."""
    while True:
        fd = os.open(path, os.O_RDWR)
        try:
            return fd, mmap.mmap(fd, 4)
        except OSError as error:
            os.close(fd)
            if error.errno != errno.ENODEV:
                raise


def mapped(world):
    put(world.f("q"), "aaaa")
    yield [world.f("q")]
    fd, pages = map_shared(world.f("q"))
    pages[0:4] = b"bbbb"
    pages.flush()
    os.close(fd)
    pages.close()
    yield [value("bbbb")]


def start_asker(fd):
    """A process that asks for an open file's attributes over and over, until it is killed or alone."""
    parent, pid = os.getpid(), os.fork()
    if pid == 0:
        while os.getppid() == parent:
            os.fstat(fd)
        os._exit(0)
    return pid


def reopened(world):
    """Opened for writing without a lookup; what was open before keeps its value. The kernel takes its size
    for 0 meanwhile, so others ask for that."""
    old = world.next()
    put(world.f("q"), old)
    fd = os.open(world.f("q"), os.O_RDONLY)
    yield [world.f("q")]
    new = world.next()
    put("/proc/self/fd/%d" % fd, new, os.O_WRONLY | os.O_TRUNC)
    yield [value(new)]
    yield [world.f("q")]
    asker = start_asker(fd)
    os.close(os.open("/proc/self/fd/%d" % fd, os.O_WRONLY | os.O_TRUNC))
    os.kill(asker, signal.SIGKILL)
    os.waitpid(asker, 0)
    yield [value("")]
    assert os.read(fd, 100).decode() == old
    os.close(fd)


def older(world):
    """Removing the newest version makes the older one the newest, then none."""
    for history in world.f("q@"), world.v("q@"):
        (first, first_ts), (second, second_ts) = fresh(world)
        yield [world.f("q"), world.f()]
        os.unlink("%s/%d" % (history, second_ts))
        yield [value(first, first_ts), ["dir", ["q"]]]
        yield [world.f("q"), world.f()]
        os.unlink("%s/%d" % (history, first_ts))
        yield [GONE, ["dir", []]]


def emptied(world):
    for history in world.f("q@"), world.v("q@"):
        fresh(world)
        yield [world.f("q")]
        shutil.rmtree(history)
        yield [GONE]


def version(world):
    """A version is written by its name."""
    for history in world.f("q@"), world.v("q@"):
        fresh(world)
        yield [world.f("q")]
        new, ts = world.next(), world.ts()
        put("%s/%d" % (history, ts), new)
        yield [value(new, ts)]
        yield [world.f("q")]
        new = world.next()
        put("%s/%d" % (history, ts), new)
        yield [value(new, ts)]
        yield [world.f("q")]
        os.close(os.open("%s/%d" % (history, ts), os.O_WRONLY | os.O_TRUNC))
        yield [value("", ts)]


def version_moved(world):
    for history in world.f("q@"), world.v("q@"):
        (first, first_ts), (second, second_ts) = fresh(world)
        yield [world.f("q")]
        later = world.ts()
        os.rename("%s/%d" % (history, first_ts), "%s/%d" % (history, later))
        yield [value(first, later)]
        yield [world.f("q")]
        os.rename("%s/%d" % (history, later), "%s/%d" % (history, first_ts))
        yield [value(second, second_ts)]


def version_out(world):
    """A version becomes another column's newest."""
    (first, first_ts), (second, second_ts) = fresh(world)
    for name in "r", "r":
        yield [world.f("q"), world.f("r")]
        os.rename(world.f("q@/%d" % second_ts), world.f("r"))
        yield [value(first, first_ts), value(second)]
        second, second_ts = world.next(), world.ts()
        put(world.f("q@/%d" % second_ts), second)
    os.unlink(world.f("r"))


def draft(world):
    for history in world.f("q@"), world.v("q@"):
        fresh(world)
        yield [world.f("q")]
        new, ts = world.next(), world.ts()
        put("%s/.draft" % history, new)
        os.rename("%s/.draft" % history, "%s/%d" % (history, ts))
        yield [value(new, ts)]


def renamed(world):
    """To a new name, over another, and back, without a look between."""
    first, second = world.next(), world.next()
    put(world.f("a"), first)
    yield [world.f("a"), world.f("b")]
    os.rename(world.f("a"), world.f("b"))
    yield [GONE, value(first)]
    put(world.f("a"), second)
    yield [world.f("a"), world.f("b")]
    os.rename(world.f("a"), world.f("b"))
    yield [GONE, value(second)]
    yield [world.f("a"), world.f("b")]
    for _ in range(20):
        os.rename(world.f("b"), world.f("a"))
        os.rename(world.f("a"), world.f("b"))
    yield [GONE, value(second)]
    yield [world.f("a"), world.f("b")]
    new = world.next()
    put(world.f("b"), new)
    yield [GONE, value(new)]
    os.unlink(world.f("b"))


def renamed_changed(world):
    """What has another name by now is changed under it, by ways of its history."""
    first, second = fresh(world, "a")
    yield [world.f("a"), world.f("b")]
    os.rename(world.f("a"), world.f("b"))
    os.unlink(world.v("b@/%d" % second[1]))
    yield [GONE, value(*first)]
    os.unlink(world.f("b"))


def renamed_open(world):
    """The renamed file is open: who has it open and who looks at the name see the same."""
    first = world.next()
    put(world.f("a"), world.next())
    put(world.f("b"), world.next())
    put(world.f("a"), first)
    fd = os.open(world.f("a"), os.O_RDONLY)
    yield [world.f("a"), world.f("b")]
    os.rename(world.f("a"), world.f("b"))
    yield [GONE, value(first, os.fstat(fd).st_mtime_ns // 1000)]
    yield [world.f("b")]
    stamp = os.fstat(fd).st_mtime_ns // 1000 + 5
    os.utime(world.f("b"), ns=(stamp * 1000, stamp * 1000))
    yield [value(first, stamp)]
    os.close(fd)
    os.unlink(world.f("b"))


def stamped(world):
    first, second = fresh(world)
    fd = os.open(world.f("q"), os.O_RDONLY)
    for way in world.f("q"), fd, "/proc/self/fd/%d" % fd:
        yield [world.f("q")]
        stamp = world.ts()
        os.utime(way, ns=(stamp * 1000, stamp * 1000))
        yield [value(second[0], stamp)]
    yield [world.f("q")]
    put(world.v("q@/%d" % world.ts()), "x")
    stamp = world.ts()
    os.utime(fd, ns=(stamp * 1000, stamp * 1000))
    yield [value("x", stamp)]
    os.close(fd)


def stamped_renamed(world):
    """Through a file that was opened by another name; the kernel may know the new one by another inode."""
    for listed in False, True:
        new = world.next()
        put(world.f("p"), new)
        fd = os.open(world.f("p"), os.O_RDONLY)
        os.rename(world.f("p"), world.f("q"))
        yield [world.f("q")]
        if listed:
            scan(world.f())
        stamp = world.ts()
        os.utime(fd, ns=(stamp * 1000, stamp * 1000))
        yield [value(new, stamp)]
        os.close(fd)


def removed(world):
    put(world.f("q"), world.next())
    yield [world.f("q"), world.f()]
    os.unlink(world.f("q"))
    yield [GONE, ["dir", []]]
    yield [world.f("q")]
    new = world.next()
    put(world.f("q"), new, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    yield [value(new)]


def directories(world):
    """Removed and made again, through both trees."""
    for one, other in (world.plain, world.versions), (world.versions, world.plain):
        for name in "d", "d/e", "d/e/f", "d/" + "x" * 300:
            paths = [world.plain + "/" + name]
            if len(name) > 300:
                name = "d/" + "x" * 230 + "%/" + "x" * 70
                paths = [world.plain + "/d/" + "x" * 230 + "%", world.plain + "/" + name]
            os.makedirs(one + "/" + name)
            yield paths
            while name:
                os.rmdir(other + "/" + name)
                name = os.path.dirname(name)
            yield [GONE] * len(paths)
            yield paths
            os.makedirs(world.plain + "/" + paths[-1][len(world.plain) + 1:])
            for path in paths:
                assert os.path.isdir(path)
            shutil.rmtree(world.plain + "/d")
            yield [GONE] * len(paths)


def working(world):
    """A process that works in a directory which another removes and makes again."""
    os.makedirs(world.plain + "/d/e/f", exist_ok=True)
    put(world.plain + "/d/e/f/q", "1")
    os.chdir(world.plain + "/d/e/f")
    assert look("q")[1] == "1"
    yield [world.plain + "/d/e/f/q"]
    shutil.rmtree(world.versions + "/d")
    assert look("q") == GONE
    yield [GONE]
    yield [world.plain + "/d/e/f/q"]
    os.makedirs(world.versions + "/d/e/f/q@")
    put(world.versions + "/d/e/f/q@/5", "2")
    yield [value("2", 5)]
    look("q")
    yield [world.plain + "/d/e/f/q"]
    put(world.plain + "/d/e/f/q", "3")
    seen = look("q")
    assert seen == GONE or seen[1] == "3", seen
    yield [value("3")]
    os.chdir("/")
    shutil.rmtree(world.plain + "/d")


def tables(world):
    for tree in world.mount, world.mount + "/.versions":
        path = world.mount + "/u"
        os.mkdir(tree + "/u")
        yield [path, path + "/x"]
        os.mkdir(path + "/.families/g")
        os.makedirs(path + "/x/g")
        put(path + "/x/g/q", "1")
        yield [["dir", ["x"]], ["dir", ["g"]]]
        shutil.rmtree(path + "/x")
        os.rmdir(path + "/.families/g")
        yield [path, path + "/x"]
        os.rmdir(tree + "/u")
        yield [GONE, GONE]


def families(world):
    """A segment that looks like a family has another spelling, at any depth."""
    spelled = "%67%61%6D"
    for way in "mkdir", "schema":
        put_row = world.plain + "/k/gam/l/f"
        os.makedirs(put_row)
        put(put_row + "/q", "1")
        yield [world.plain + "/k/gam", put_row + "/q", world.plain + "/k/" + spelled]
        if way == "mkdir":
            os.mkdir(world.plain + "/.families/gam")
        else:
            with open(world.mount + "/.rowfs/schema.json", "w") as file:
                json.dump({"version": 1, "tables": {world.table: {"families": {"gam": {}}}}}, file)
        yield [GONE, GONE, ["dir", ["l"]]]
        renamed_row = put_row.replace("gam", spelled)
        yield [renamed_row, renamed_row + "/q"]
        put(renamed_row + "/q", "22")
        yield [["dir", ["q"]], value("22")]
        os.makedirs(world.plain + "/k/gam")
        yield [world.plain + "/k/" + spelled, world.plain + "/k/gam"]
        os.rmdir(world.plain + "/.families/gam")
        yield [GONE, ["dir", ["l"]]]
        shutil.rmtree(world.plain + "/k")


def delimiter(world):
    table = world.mount + "/w"
    os.mkdir(table)
    os.mkdir(table + "/.families/f")
    for byte in "!", "+", "#":
        path = table + "/a+b"
        os.makedirs(path + "/f") if byte != "#" else os.makedirs(path[:-2] + "/b/f")
        yield [path, path + "/f", table + "/a/b"]
        shutil.rmtree(table + "/a+b" if byte != "#" else table + "/a")
        put(table + "/.delimiter", byte + "\n", os.O_WRONLY)
        yield [GONE, GONE, GONE]
    os.rmdir(table + "/.families/f")
    os.rmdir(table)


def long_names(world):
    """Names that stand in chunk directories, and those that resolve in two places."""
    for length in 300, 240:
        name = "n" * length
        split = world.f("n" * 230 + "%/" + "n" * (length - 230))
        history = world.v("n" * 230 + "%/" + "n" * (length - 230) + "@")
        os.makedirs(history)
        cells = [(world.next(), world.ts()) for _ in range(2)]
        for text, ts in cells:
            put("%s/%d" % (history, ts), text)
        paths = [split] + ([world.f(name)] if length <= 255 else [])
        yield paths
        os.unlink("%s/%d" % (history, cells[1][1]))
        yield [value(*cells[0])] * len(paths)
        yield paths
        new = world.next()
        put(paths[-1], new)
        yield [value(new)] * len(paths)
        yield paths
        os.unlink(paths[-1])
        yield [GONE] * len(paths)
        os.makedirs(world.f("m" * 230 + "%"))
        for source in paths:
            for target in "short", "m" * 240:
                put(source, new)
                put(world.f("m" * 230 + "%/" + "m" * 10), "old")
                targets = [world.f(target)]
                if target != "short":
                    targets.append(world.f("m" * 230 + "%/" + "m" * 10))
                yield paths + targets
                os.rename(source, targets[0])
                yield [GONE] * len(paths) + [value(new)] * len(targets)
                yield paths + targets
                put(targets[-1], new + new)
                yield [GONE] * len(paths) + [value(new + new)] * len(targets)
                os.unlink(targets[0])
        os.rmdir(world.f("m" * 230 + "%"))
        yield [os.path.dirname(split)]
        shutil.rmtree(os.path.dirname(history))
        if os.path.isdir(os.path.dirname(split)):
            os.rmdir(os.path.dirname(split))
        yield [GONE]


def commands(world):
    """What people type."""
    def run(*command):
        subprocess.run(command, check=True)
    source = os.environ["TMP"] + "/source"
    put(world.f("q"), "one\n")
    yield [world.f("q"), world.f("p")]
    run("sed", "-i", "s/one/three/", world.f("q"))
    yield [value("three\n"), GONE]
    yield [world.f("q"), world.f("p")]
    run("mv", world.f("q"), world.f("p"))
    yield [GONE, value("three\n")]
    yield [world.f("p")]
    run("touch", "-d", "@2000000000", world.f("p"))
    yield [value("three\n", 2000000000000000)]
    os.makedirs(source, exist_ok=True)
    put(source + "/p", "by rsync\n")
    os.utime(source + "/p", (2000000001, 2000000001))
    yield [world.f("p")]
    run("rsync", "-a", source + "/", world.f())
    yield [value("by rsync\n", 2000000001000000)]
    yield [world.f("p")]
    put(source + "/p", "in place\n")
    os.utime(source + "/p", (2000000002, 2000000002))
    run("rsync", "-a", "--inplace", source + "/", world.f())
    yield [value("in place\n", 2000000002000000)]
    yield [world.f("p"), world.f("q")]
    run("cp", "-a", world.f("p"), world.f("q"))
    run("rm", world.f("p"))
    yield [GONE, value("in place\n", 2000000002000000)]
    run("rm", "-r", world.f())
    os.mkdir(world.f())


SCENARIOS = {function.__name__.replace("_", "-"): function for function in (
    write, append, truncated, synced, mapped, reopened, older, emptied, version, version_moved,
    version_out, draft, renamed, renamed_changed, renamed_open, stamped, stamped_renamed, removed, directories,
    working, tables, families, delimiter, long_names, commands)}


def matches(expected, seen):
    if isinstance(seen, str) or expected == GONE or "dir" in (expected[0], seen[0]):
        return expected == seen
    return expected[:3] == seen[:3] and (expected[3] is None or expected[3] == seen[3]) and seen[4]


def is_listed(path):
    """Names that are not split resolve, but are listed where they are split."""
    return len(os.path.basename(path.rstrip("/"))) <= 231


def is_found(expected, seen):
    if expected == GONE or isinstance(seen, str):
        return expected == seen
    if expected[0] == "dir":
        return seen == ["dir", True]
    return seen[:2] == ["file", expected[2]] and (expected[3] is None or expected[3] == seen[2])


def compare(reader, paths, expected, matching):
    seen = reader.look(paths)
    return ["%s: %s, not %s" % (path, got, want)
            for path, got, want in zip(paths, seen, expected) if not matching(want, got)]


def start_readers(paths, count, deadline):
    pipes = []
    for _ in range(count):
        out, into = os.pipe()
        if os.fork() == 0:
            os.chdir("/")
            os.write(into, hammer(paths, deadline).encode())
            os._exit(0)
        os.close(into)
        pipes.append(out)
    return pipes


def main():
    if sys.argv[1] == "--list":
        print("\n".join(SCENARIOS))
        return
    world = World(sys.argv[1], sys.argv[2])
    scenario, deadline = SCENARIOS[sys.argv[3]], time.time() + float(sys.argv[4])
    reader, lister = Reader(look), Reader(find)
    names, rounds, wrong, pipes = [], 0, [], []
    while not wrong and (rounds < 3 or time.time() < deadline):
        steps = scenario(world)
        for paths in steps:
            if rounds % 2 == 0:
                reader.look(paths)
            lister.look(paths)
            names += [path for path in paths if path not in names]
            expected = next(steps)
            listed = [pair for pair in zip(paths, expected) if is_listed(pair[0])]
            listing = lister, [path for path, _ in listed], [want for _, want in listed], is_found
            both = [listing, (reader, paths, expected, matches)]
            for one in both if rounds % 3 == 0 else reversed(both):
                wrong += compare(*one)
        rounds += 1
        if rounds == 1 and len(sys.argv) > 5:
            pipes = start_readers(names, int(sys.argv[5]), deadline)
    for pipe in pipes:
        with os.fdopen(pipe) as found:
            wrong += [text for text in [found.read()] if text]
    print("\n".join(wrong[:3]) if wrong else sys.argv[3])


main()
