#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Locks of flock(2) and fcntl(2) hold between processes, and a column is one thing to lock. Both
# kinds, then flock, fcntl, names, the mount's options, and the end of the mount under processes that wait.

. "$(dirname "$0")/lib.sh"

export TMP
f=$m/t/row/f
plain=$TMP/plain # a directory that is not of the mount

# run CODE PATH…: see locks.py.
run() {
	rm -f "$TMP"/gate.*
	"$python" -S "$LIB_DIR/locks.py" "$@" 2>&1
}

# says NAME EXPECTED CODE [PATH]
says() {
	check_eq "$1" "$2" "$(run "$3" "${4:-$f/q}")"
}

# same NAME EXPECTED CODE: an ordinary file gives the expected result, too.
same() {
	local results
	rm -f "$plain"/*
	echo 0 >"$plain/q"
	mapfile -t results < <(run "$3" "$plain/q" "$3" "$f/q")
	check_eq "$1 (ordinary file)" "$2" "${results[0]-}"
	check_eq "$1" "$2" "${results[1]-}"
}

mkdir "$plain"
new_mount '{"version":1,"tables":{"t":{"families":{"f":{},"g":{}}}}}'
mkdir -p "$f" "$m/t/row/g"
for column in q r lock; do echo 0 >"$f/$column"; done
echo 0 >"$m/t/row/g/q"

# The first fcntl lock of a mount, of a file that is open to read, is known by its open file alone.
says "the first lock of a mount goes with the close of its file" "EAGAIN ok" '
fd = held(lockf, LOCK_SH, flags=RO)
print(try_lockf(LOCK_EX))
os.close(fd)
print(try_lockf(LOCK_EX))'

# ---- Both kinds ------------------------------------------------------------------------------

# either NAME EXPECTED CODE [says]: the code with each kind of locks as `how`, as `same` does, or `says`.
either() {
	local results cases=() how i=0
	rm -f "$plain"/*
	echo 0 >"$plain/q"
	for how in flock lockf; do
		[ -n "${4-}" ] || cases+=("how = $how$3" "$plain/q")
		cases+=("how = $how$3" "$f/q")
	done
	mapfile -t results < <(run "${cases[@]}")
	for how in flock lockf; do
		[ -n "${4-}" ] || check_eq "$1 ($how, ordinary file)" "$2" "${results[i++]-}"
		check_eq "$1 ($how)" "$2" "${results[i++]-}"
	done
}

either "an exclusive lock excludes until it is unlocked" "EAGAIN EAGAIN ok" '
fd = held(how, LOCK_EX)
print(try_lock(how, LOCK_EX), try_lock(how, LOCK_SH))
how(fd, LOCK_UN)
print(try_lock(how, LOCK_EX))'
either "shared locks stand together" "ok EAGAIN" '
fd = held(how, LOCK_SH, flags=RO)
print(try_lock(how, LOCK_SH), try_lock(how, LOCK_EX))'
either "a reader and a writer of a column lock the same" "EAGAIN EAGAIN EAGAIN" '
fd = held(how, LOCK_SH, flags=RO)
print(*[try_lock(how, LOCK_EX, flags=flags) for flags in (WO, RW, WO | os.O_TRUNC)])'
either "a writer and a reader, too" "EAGAIN EAGAIN" '
fd = os.open(q, WO | os.O_TRUNC)
os.write(fd, b"x")
how(fd, LOCK_EX)
print(try_lock(how, LOCK_SH, flags=RO))
os.fsync(fd)
print(try_lock(how, LOCK_SH, flags=RO))'
either "and who makes a name that is not committed" "EAGAIN" '
fd = os.open(q + ".made", RW | os.O_CREAT)
how(fd, LOCK_EX)
print(try_lock(how, LOCK_EX, flags=RW | os.O_CREAT, path=q + ".made"))
os.unlink(q + ".made")'
either "a new version changes nothing, nor a name that is moved over it, nor that it is made anew" \
	"EAGAIN EAGAIN EAGAIN" '
fd = held(how, LOCK_EX)
def anew(): os.unlink(q); open(q, "w").write("anew")
def over(): open(q + ".new", "w").write("over"); os.rename(q + ".new", q)
for change in (lambda: open(q, "w").write("new")), over, anew:
    other(change)
    print(try_lock(how, LOCK_EX))' says
either "who waits gets it when it is free" "waited" '
fd = held(how, LOCK_EX)
child = waits(how, writer, LOCK_EX)
child.open_gate()
how(fd, LOCK_UN)
print(child.result())'
either "who waits can be killed" "signal 9 ok" '
fd = held(how, LOCK_EX)
child = waits(how, writer, LOCK_EX)
child.send(signal.SIGKILL)
print(child.result())
how(fd, LOCK_UN)
print(try_lock(how, LOCK_EX))'
either "who waits can be interrupted" "EINTR ok" '
def stop(*_): raise OSError(errno.EINTR, "")
signal.signal(signal.SIGUSR1, stop)
fd = held(how, LOCK_EX)
child = waits(how, writer, LOCK_EX)
child.send(signal.SIGUSR1)
print(child.result())
how(fd, LOCK_UN)
print(try_lock(how, LOCK_EX))'
either "a signal that is handled does not end it" "waited" '
signal.signal(signal.SIGUSR1, lambda *_: None)
signal.siginterrupt(signal.SIGUSR1, False)
fd = held(how, LOCK_EX)
child = waits(how, writer, LOCK_EX)
for _ in range(20): child.send(signal.SIGUSR1); time.sleep(0.005)
child.open_gate()
how(fd, LOCK_UN)
print(child.result())'
either "who waits gets it when its holder is killed" "waited" '
holder = locked(how, writer, LOCK_EX)
child = waits(how, writer, LOCK_EX)
child.open_gate()
holder.send(signal.SIGKILL)
print(child.result())'

# ---- flock -----------------------------------------------------------------------------------

exec 9<"$f/q"
flock 9
for options in -n "-n -s" "-w 0.2"; do
	# shellcheck disable=SC2086 # options are words
	check_eq "flock $options of a column that is locked" 1 "$(flock $options "$f/q" true; echo $?)"
done
check "another column is free" flock -n "$f/r" true
check "also of that name in another family" flock -n "$m/t/row/g/q" true
yields "who only reads is not stopped, nor who writes" 1 'cat "$f/q"' bash -c 'cat "$0" && echo 1 >"$0"' "$f/q"
exec 9<&-
same "a duplicate keeps it until that is closed" "EAGAIN ok" '
fd = os.open(q, RO)
copy = os.dup(fd)
flock(fd, LOCK_EX)
os.close(fd)
print(try_flock(LOCK_EX))
os.close(copy)
print(try_flock(LOCK_EX))'
same "two open files of one process exclude each other" "EAGAIN" '
one, two = os.open(q, RW), os.open(q, RW)
flock(one, LOCK_EX)
print(said(lambda: flock(two, LOCK_EX | LOCK_NB)))'
same "shared becomes exclusive, where nobody else has it, and shared again" "EAGAIN ok EAGAIN ok EAGAIN" '
fd = held(flock, LOCK_SH)
print(try_flock(LOCK_EX), said(lambda: flock(fd, LOCK_EX | LOCK_NB)), try_flock(LOCK_SH))
flock(fd, LOCK_SH)
print(try_flock(LOCK_SH), try_flock(LOCK_EX))'
same "what cannot become exclusive is lost, as flock(2) says" "EAGAIN ok" '
one, two = os.open(q, RW), os.open(q, RW)
flock(one, LOCK_SH)
flock(two, LOCK_SH)
print(said(lambda: flock(one, LOCK_EX | LOCK_NB)), said(lambda: flock(two, LOCK_EX | LOCK_NB)))'
same "of two that have it shared and wait for it alone one gets it, then the other" "ok ok" '
one, two = os.open(q, RW), os.open(q, RW)
flock(one, LOCK_SH)
flock(two, LOCK_SH)
def first(ready):
    ready()
    return said(lambda: flock(one, LOCK_EX) or flock(one, LOCK_UN))
first = Process(first)
first.asleep()
print(said(lambda: flock(two, LOCK_EX) or flock(two, LOCK_UN)), first.result())'
same "a process that is forked shares it, and can unlock it" "EAGAIN ok ok" '
fd = held(flock, LOCK_EX)
print(try_flock(LOCK_EX), other(lambda: said(lambda: flock(fd, LOCK_UN))), try_flock(LOCK_EX))'
same "and keeps it when the parent closes it" "EAGAIN ok" '
fd = os.open(q, RW)
child = locked(flock, fd, LOCK_EX)
os.close(fd)
print(try_flock(LOCK_EX))
child.send(signal.SIGKILL)
child.result()
print(try_flock(LOCK_EX))'
same "who waits gets it when it is the close that frees it" "waited" '
fd = held(flock, LOCK_EX, flags=RO)
child = waits(flock, reader, LOCK_EX, without=fd)
child.open_gate()
os.close(fd)
print(child.result())'
same "all who wait to share it get it at once" "waited waited waited EAGAIN" '
fd = held(flock, LOCK_EX)
files = [os.open(q, RW) for _ in range(3)]
children = [waits(flock, file, LOCK_SH) for file in files]
children[0].open_gate()
flock(fd, LOCK_UN)
print(*[child.result() for child in children], try_flock(LOCK_EX))'
same "more can wait than the server has threads" "40 times waited, 0 otherwise" '
fd = held(flock, LOCK_EX)
children = [waits(flock, writer, LOCK_EX) for _ in range(40)]
os.stat(q)
children[0].open_gate()
flock(fd, LOCK_UN)
results = [child.result() for child in children]
print("%d times waited, %d otherwise" % (results.count("waited"), 40 - results.count("waited")))'
# counts NAME COMMAND…: forty times, by 8 processes at once, the command adds one to f/count.
counts() {
	echo 0 >"$f/count"
	seq 40 | xargs -P 8 -I '{}' "${@:2}"
	check_eq "$1" 40 "$(cat "$f/count")"
}
counts "8 processes that lock count right" bash -c 'exec 9<"$1"; flock 9; n=$(cat "$0"); echo $((n + 1)) >"$0"' \
	"$f/count" "$f/lock"
check_eq "and no lock makes a version" 1 "$(entries "$f/lock@" | wc -l)"
counts "also where they lock the column that they write" \
	bash -c 'exec 9<"$0"; flock 9; n=$(cat "$0"); echo $((n + 1)) >"$0"' "$f/count"

# ---- fcntl -----------------------------------------------------------------------------------

same "a range excludes what overlaps" "EAGAIN EAGAIN ok ok ok" '
fd = held(lockf, LOCK_EX, 10, 100)
print(try_lockf(LOCK_EX, 1, 109), try_lockf(LOCK_EX, 91, 10))
print(try_lockf(LOCK_EX, 1, 110), try_lockf(LOCK_EX, 90, 10))
lockf(fd, LOCK_UN, 5, 100)
print(try_lockf(LOCK_EX, 5, 100))'
same "random ranges of three open files split, merge, become shared and free again" "True" '
import random
random.seed(1)
files, has = [os.open(q, RW) for _ in range(3)], [[fcntl.F_UNLCK] * 24 for _ in range(3)]
def in_way(mine, wanted, start, end):
    return any(fcntl.F_WRLCK in (kind, wanted) and kind != fcntl.F_UNLCK
               for other in range(3) if other != mine for kind in has[other][start:end])
for step in range(5000):
    mine, start = random.randrange(3), random.randrange(24)
    wanted, end = random.choice((fcntl.F_RDLCK, fcntl.F_WRLCK, fcntl.F_UNLCK)), random.randint(start + 1, 24)
    length = end - start if end < 24 else 0 # the last byte stands for all behind it
    blocked = wanted != fcntl.F_UNLCK and in_way(mine, wanted, start, end)
    if wanted != fcntl.F_UNLCK:
        found = get_record(files[mine], wanted, start, length, OFD_GETLK)[0]
        assert (found != "none") == blocked, "step %d: %s" % (step, found)
    assert ofd(files[mine], wanted, start, length) == ("EAGAIN" if blocked else "ok"), "step %d" % step
    if not blocked:
        has[mine][start:end] = [wanted] * (end - start)
print(True)'
says "a process holds 4,096 ranges of a file" "4096 ENOLCK" '
fd, n = os.open(q, RW), 0
lock = lambda: said(lambda: lockf(fd, LOCK_EX | LOCK_NB, 1, 2 * n))
while lock() == "ok":
    n += 1
print(n, lock())'
same "beyond the end of the value as well, and to the end of all" "EAGAIN ok EAGAIN EAGAIN" '
fd = held(lockf, LOCK_EX, 0, 1 << 40)
print(try_lockf(LOCK_EX, 1, 1 << 50), try_lockf(LOCK_EX, 1, 0))
print(try_lockf(LOCK_EX, 1, (1 << 63) - 1), try_lockf(LOCK_EX, 0, 0))'
same "F_GETLK tells of it, by which process, also to the end, and that there is none" "True True none none" '
fd, parent = os.open(q, RW), os.getpid()
def way(kind, start): return other(lambda: get_record(os.open(q, RW), kind, start))
lockf(fd, LOCK_EX, 10, 5)
lockf(fd, LOCK_EX, 10, 30)
lockf(fd, LOCK_SH, 0, 40)
for kind, start, lock in (fcntl.F_RDLCK, 0, ("exclusive", 5, 10)), (fcntl.F_WRLCK, 100, ("shared", 40, 0)):
    print(way(kind, start) == str((*lock, parent)))
print(get_record(fd, fcntl.F_WRLCK)[0], other(lambda: get_record(os.open(q, RW), fcntl.F_RDLCK, 40)[0]))'
for flags in RW RO; do
	same "any close of the column by its process frees it ($flags)" "EAGAIN ok" "
fd, second = os.open(q, RW), os.open(q, $flags)
lockf(fd, LOCK_EX)
print(try_lockf(LOCK_EX))
os.close(second)
print(try_lockf(LOCK_EX))"
	same "of a duplicate as well, though a child has it open ($flags)" "EAGAIN ok" "
fd = os.open(q, $flags)
copy = os.dup(fd)
child = Process(lambda ready: (ready(), signal.pause()))
child.asleep()
lockf(fd, LOCK_SH)
print(try_lockf(LOCK_EX))
os.close(copy)
print(try_lockf(LOCK_EX))
child.send(signal.SIGKILL)
child.result()"
done
same "the end of its process frees it, also where its parent still has the file open" "EAGAIN ok" '
fd = os.open(q, RO)
holder = locked(lockf, fd, LOCK_SH)
print(try_lockf(LOCK_EX))
holder.send(signal.SIGKILL)
holder.result()
print(try_lockf(LOCK_EX))'
same "a child does not have it, nor does a close by the child free it" "EAGAIN EAGAIN" '
fd = held(lockf, LOCK_EX)
print(other(lambda: said(lambda: lockf(fd, LOCK_EX | LOCK_NB))))
other(lambda: os.close(fd))
print(try_lockf(LOCK_EX))'
same "a process does not exclude itself" "ok" '
lockf(os.open(q, RW), LOCK_EX)
print(said(lambda: lockf(os.open(q, RW), LOCK_EX | LOCK_NB)))'
same "flock and fcntl locks know nothing of each other" "ok" '
fd = held(lockf, LOCK_EX)
print(try_flock(LOCK_EX))'
same "a part of it that is free is enough" "EAGAIN waited" '
fd = held(lockf, LOCK_EX)
child = waits(lockf, writer, LOCK_EX, 10, 10)
lockf(fd, LOCK_UN, 5, 5)
print(try_lockf(LOCK_EX, 10, 10))
child.open_gate()
lockf(fd, LOCK_SH, 5, 0)
lockf(fd, LOCK_UN, 10, 10)
print(child.result())'
same "who would wait for each other are told" "EDEADLK waited" '
one, two = os.open(q, RW), os.open(q + "2", RW | os.O_CREAT)
lockf(one, LOCK_EX)
def child(ready):
    lockf(two, LOCK_EX)
    ready()
    return said(lambda: lockf(one, LOCK_EX)).replace("ok", "waited")
process = Process(child)
process.asleep()
print(said(lambda: lockf(two, LOCK_EX)))
lockf(one, LOCK_UN)
print(process.result())'
same "also three of them" "EDEADLK ok ok" '
fd = os.open(q, RW)
def child(at, ready):
    lockf(fd, LOCK_EX, 1, at)
    ready()
    return said(lambda: lockf(fd, LOCK_EX, 1, at - 1))
lockf(fd, LOCK_EX, 1, 0)
processes = []
for at in 1, 2:
    processes.append(Process(lambda ready: child(at, ready)))
    processes[-1].asleep()
print(said(lambda: lockf(fd, LOCK_EX, 1, 2)))
lockf(fd, LOCK_UN)
print(*[process.result() for process in processes])'
rm -f "$f/q2"
same "locks of open files (F_OFD) exclude as well" "ok EAGAIN ok EAGAIN" '
one, two = os.open(q, RW), os.open(q, RW)
print(ofd(one, fcntl.F_WRLCK), ofd(two, fcntl.F_WRLCK), ofd(one, fcntl.F_UNLCK))
ofd(two, fcntl.F_WRLCK)
print(try_lockf(LOCK_EX))'
for flags in RW RO; do
	same "no other close frees them, and their own does ($flags)" "EAGAIN EAGAIN ok" "
one, two = os.open(q, $flags), os.open(q, $flags)
copy = os.dup(one)
ofd(one, fcntl.F_RDLCK)
os.close(two)
print(try_lockf(LOCK_EX))
os.close(one)
print(try_lockf(LOCK_EX))
os.close(copy)
print(try_lockf(LOCK_EX))"
done
echo 0 >"$f/count"
says "8 processes that lock with fcntl count right" 40 '
def count(ready):
    for _ in range(5):
        fd = os.open(q + "lock", RW | os.O_CREAT)
        lockf(fd, LOCK_EX)
        n = int(open(q).read())
        open(q, "w").write(str(n + 1))
        os.close(fd)
for process in [Process(count) for _ in range(8)]: process.result()
print(open(q).read())' "$f/count"

# ---- Names -----------------------------------------------------------------------------------

same "a rename takes the locks along" "EAGAIN EAGAIN waited ok ok" '
fd = held(flock, LOCK_EX)
lockf(fd, LOCK_EX)
child = waits(flock, writer, LOCK_EX, without=fd)
os.rename(q, q + ".moved")
open(q, "w").write("new")
print(try_flock(LOCK_EX, path=q + ".moved"), try_lockf(LOCK_EX, path=q + ".moved"))
child.open_gate()
os.close(fd)
print(child.result(), try_flock(LOCK_EX), try_lockf(LOCK_EX, path=q + ".moved"))'
rm -f "$f/q.moved"
same "so a file can be locked before it gets its name" "EAGAIN ok" '
temporary = os.open(q + ".tmp", RW | os.O_CREAT | os.O_EXCL)
flock(temporary, LOCK_EX)
os.rename(q + ".tmp", q)
print(try_flock(LOCK_EX))
flock(temporary, LOCK_UN)
print(try_flock(LOCK_EX))'
says "a name that is locked keeps its locks when another is moved over it" "EAGAIN ok" '
fd = held(flock, LOCK_EX)
temporary = os.open(q + ".tmp", RW | os.O_CREAT | os.O_EXCL)
flock(temporary, LOCK_EX)
os.rename(q + ".tmp", q)
os.close(temporary)
print(try_flock(LOCK_EX))
os.close(fd)
print(try_flock(LOCK_EX))'
says "one that was locked once does not" "EAGAIN EAGAIN ok" '
fd = held(flock, LOCK_EX)
flock(fd, LOCK_UN)
temporary = os.open(q + ".tmp", RW | os.O_CREAT | os.O_EXCL)
flock(temporary, LOCK_EX)
os.rename(q + ".tmp", q)
print(try_flock(LOCK_EX), said(lambda: flock(fd, LOCK_EX | LOCK_NB)))
os.close(temporary)
print(said(lambda: flock(fd, LOCK_EX | LOCK_NB)))'
ts=$(entries "$f/q@" | head -n 1)
says "a version can be locked, and is one below /.versions, and one with its column" "EAGAIN EAGAIN EAGAIN ok" "
fd = held(flock, LOCK_EX)
lockf(fd, LOCK_EX)
print(try_flock(LOCK_EX, path='$m/.versions/t/row/f/q@/$ts'), try_lockf(LOCK_EX))
print(try_flock(LOCK_EX, path='$f/q'), try_flock(LOCK_EX, path='$f/other', flags=RW | os.O_CREAT))" "$f/q@/$ts"
# lockable PATH: a file that has no versions, or a directory.
lockable() {
	says "${1#"$TMP/"} can be locked and freed" "EAGAIN ok" '
fd = held(flock, LOCK_EX, flags=RO)
print(try_flock(LOCK_EX, flags=RO))
os.close(fd)
print(try_flock(LOCK_EX, flags=RO))' "$1"
}
for control in .rowfs/errors .rowfs/schema.json t/.delimiter t/.families/f/gc; do
	lockable "$m/$control"
	says "$control has fcntl locks" "EAGAIN ok" '
fd = held(lockf, LOCK_SH, flags=RO)
print(try_lockf(LOCK_EX, flags=WO))
os.close(fd)
print(try_lockf(LOCK_EX, flags=WO))' "$m/$control"
done
for dir in "$m" "$m/t" "$m/t/row" "$f" "$f/q@" "$m/.versions/t" "$m/.rowfs"; do
	lockable "$dir"
done

# ---- How many --------------------------------------------------------------------------------

says "65536 locks can be held, then no more until one is given up" "65536 ENOLCK ENOLCK ENOLCK ok" '
files = [os.open(q + str(i), RW | os.O_CREAT) for i in range(64)]
count, answer = 0, "ok"
while answer == "ok":
    answer = said(lambda: lockf(files[count % 64], LOCK_SH, 1, count // 64 * 2))
    count += answer == "ok"
print(count, answer, try_flock(LOCK_EX))
print(waits(lockf, files[0], LOCK_EX, 1, 0).result())
lockf(files[0], LOCK_UN, 1, 0)
print(try_flock(LOCK_EX))'
says "they go with their process, and all can be had again" "ok 65536" '
print(try_flock(LOCK_EX))
files = [os.open(q + str(i), RW) for i in range(64)]
for i in range(65536):
    lockf(files[i % 64], LOCK_SH, 1, i // 64 * 2)
print(i + 1)'
if [ "$(id -u)" = 0 ]; then
	remount -o allow_other
	says "each other user has 16384, all others 49152, and root the rest" "16384 16384 16384 0 16384 1" '
os.chdir(os.path.dirname(q))
held = {}
def most(user):
    """How many locks the user gets who may only read."""
    os.seteuid(user)
    files = held[user] = [os.open("q%d" % i, RO) for i in range(64)]
    count, answer = 0, "ok"
    while answer == "ok":
        answer = said(lambda: lockf(files[count % 64], LOCK_SH, 1, user << 20 | count // 64 * 2))
        count += answer == "ok"
    assert answer == "ENOLCK", answer
    os.seteuid(0)
    return count
print(*map(most, (1001, 1002, 1003, 1004, 0)))
lockf(held[1001][0], LOCK_UN, 1, 1001 << 20)
print(most(1004))'
fi
rm -f "$f"/q[0-9]*

# ---- Options ---------------------------------------------------------------------------------

mkdir -p "$m/.versions/t/row/f/q@"
ts=$(entries "$f/q@" | head -n 1)
remount -o table=t
says "with table=T a version is one in both trees" "EAGAIN" "
flock(os.open(q, RW), LOCK_EX)
print(try_flock(LOCK_EX, path='$m/.versions/row/f/q@/$ts'))" "$m/row/f/q@/$ts"
remount -o ro
says "a mount that is read-only has locks" "EAGAIN EAGAIN" '
fd = held(flock, LOCK_EX, flags=RO)
ofd(fd, fcntl.F_RDLCK)
print(try_flock(LOCK_EX, flags=RO), try_flock(LOCK_SH, flags=RO))'
unmount_store "$m"

# ---- The end of the mount --------------------------------------------------------------------

# waiting: a process that holds a lock, and one that waits for it and says in $TMP/answer how that
# ended.
waiting() {
	rm -f "$TMP/answer" "$TMP/asleep"
	run '
fd = held(flock, LOCK_EX)
lockf(fd, LOCK_EX)
child = waits('"$1"', writer, LOCK_EX)
open(os.environ["TMP"] + "/asleep", "w").close()
print(child.result())' "$f/q" >"$TMP/answer" &
	waiter=$!
	track_pid "$waiter"
	within test -e "$TMP/asleep" || die "nobody waits"
}

for how in flock lockf; do
	mount_store "$TMP/s" "$m"
	waiting "$how"
	kill -TERM "$(mount_pid "$m")"
	wait "$waiter"
	check_eq "who waits when the server is told to end gets an error ($how)" ENOTCONN \
		"$(cat "$TMP/answer")"
	unmount_store "$m"
done
mount_store "$TMP/s" "$m"
waiting flock
fail_with "who waits keeps the mount busy" - busy fusermount3 -u "$m"
{ kill -KILL "$(mount_pid "$m")" && wait "$waiter" "$(mount_pid "$m")"; } 2>/dev/null
check "who waits when the server is killed gets an error" \
	grep -qE '^(ENOTCONN|ECONNABORTED)$' "$TMP/answer"
lib_unmount_anyway "$m"
lib_forget "$m"

finish
