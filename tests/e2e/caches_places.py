# SPDX-License-Identifier: MIT
"""Changes of directories, tables and schemas, for caches.py, and common command lines."""
import json
import os
import shutil
import subprocess

from caches_cells import put, value
from caches_look import GONE, look


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
    """Common command lines."""
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


CHANGES = (directories, working, tables, families, delimiter, long_names, commands)
