#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Locks of flock(2) hold between processes, and a column is one thing to lock; names and locks.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/locks.sh"

# hold FILE: another process has the file open and locked, with flock; its pid is $holder.
hold() {
	rm -f "$TMP/held"
	bash -c 'exec 9<"$0"; flock 9; : >"$1"; exec sleep 60' "$1" "$TMP/held" &
	holder=$!
	track_pid "$holder"
	within test -e "$TMP/held" || die "$1 could not be locked"
}

# let_go: ends it.
let_go() {
	kill -KILL "$holder"
	wait "$holder" 2>/dev/null
}

# refused COMMAND…: flock(1) exits with 1 where it does not get the lock.
refused() {
	"$@" true
	[ $? = 1 ]
}

lock_mount

# ---- flock -----------------------------------------------------------------------------------

check "flock of a column" flock -n "$f/q" true
hold "$f/q"
check "another process does not get it" refused flock -n "$f/q"
check "nor shared" refused flock -n -s "$f/q"
check "nor after waiting" refused flock -w 0.2 "$f/q"
check "another column is free" flock -n "$f/r" true
check "also of that name in another family" flock -n "$m/t/row/g/q" true
check_eq "who only reads is not stopped" 0 "$(cat "$f/q")"
echo 1 >"$f/q"
check_eq "nor who writes" 1 "$(cat "$f/q")"
check "after a new version it holds" refused flock -n "$f/q"
echo 2 >"$f/new" && mv "$f/new" "$f/q"
check_eq "when another name is moved over it" 2 "$(cat "$f/q")"
check "it holds as well" refused flock -n "$f/q"
rm "$f/q"
echo 3 >"$f/q"
check "also when the column is removed and made anew" refused flock -n "$f/q"
let_go
check "it goes with its holder, who is killed" flock -w 5 "$f/q" true
same "shared locks stand together" "ok EAGAIN" '
fd = held(flock, LOCK_SH, flags=RO)
print(try_flock(LOCK_SH), try_flock(LOCK_EX))'
same "unlocking frees it" "EAGAIN ok" '
fd = held(flock, LOCK_EX)
print(try_flock(LOCK_EX))
flock(fd, LOCK_UN)
print(try_flock(LOCK_EX))'
same "so does closing" "EAGAIN ok" '
fd = held(flock, LOCK_EX, flags=RO)
print(try_flock(LOCK_EX))
os.close(fd)
print(try_flock(LOCK_EX))'
same "a duplicate keeps it" "EAGAIN ok" '
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
same "a reader and a writer of a column lock the same" "EAGAIN EAGAIN EAGAIN" '
fd = held(flock, LOCK_EX, flags=RO)
print(try_flock(LOCK_EX, WO), try_flock(LOCK_EX, RW), try_flock(LOCK_EX, WO | os.O_TRUNC))'
same "a writer and a reader, too" "EAGAIN EAGAIN" '
fd = os.open(q, WO | os.O_TRUNC)
os.write(fd, b"x")
flock(fd, LOCK_EX)
print(try_flock(LOCK_EX, RO))
os.fsync(fd)
print(try_flock(LOCK_EX, RO))'
same "and who makes a name that is not committed" "EAGAIN" '
fd = os.open(q + ".made", RW | os.O_CREAT)
flock(fd, LOCK_EX)
print(try_flock(LOCK_EX, RW | os.O_CREAT, q + ".made"))'
rm -f "$f/q.made"
same "shared becomes exclusive, where nobody else has it" "EAGAIN ok EAGAIN" '
fd = held(flock, LOCK_SH)
print(try_flock(LOCK_EX))
print(said(lambda: flock(fd, LOCK_EX | LOCK_NB)))
print(try_flock(LOCK_SH))'
same "exclusive becomes shared" "ok EAGAIN" '
fd = held(flock, LOCK_EX)
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
waits flock
same "also when it is the close that frees it" "waited" '
fd = held(flock, LOCK_EX, flags=RO)
child = waits(flock, reader, LOCK_EX, without=fd)
child.open_gate()
os.close(fd)
print(child.result())'
same "or when its holder is killed" "waited" '
holder = locked(flock, writer, LOCK_EX)
child = waits(flock, writer, LOCK_EX)
child.open_gate()
holder.send(signal.SIGKILL)
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
echo 0 >"$f/count"
# shellcheck disable=SC2016
seq 40 | xargs -P 8 -I '{}' bash -c 'exec 9<"$1"; flock 9; n=$(cat "$0"); echo $((n + 1)) >"$0"' \
	"$f/count" "$f/lock"
check_eq "8 processes that lock count right" 40 "$(cat "$f/count")"
check_eq "and no lock makes a version" 1 "$(entries "$f/lock@" | wc -l)"
echo 0 >"$f/count"
# shellcheck disable=SC2016
seq 40 | xargs -P 8 -I '{}' bash -c 'exec 9<"$0"; flock 9; n=$(cat "$0"); echo $((n + 1)) >"$0"' \
	"$f/count"
check_eq "also where they lock the column that they write" 40 "$(cat "$f/count")"

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
for control in .rowfs/errors .rowfs/schema.json t/.delimiter t/.families/f/gc; do
	says "$control can be locked" "EAGAIN EAGAIN ok" '
fd = held(flock, LOCK_EX, flags=RO)
lockf(fd, LOCK_SH)
print(try_flock(LOCK_EX, RO), try_lockf(LOCK_EX, flags=WO))
os.close(fd)
print(try_lockf(LOCK_EX, flags=WO))' "$m/$control"
done
for dir in "$m" "$m/t" "$m/t/row" "$f" "$f/q@" "$m/.versions/t" "$m/.rowfs"; do
	hold "$dir"
	check "the directory ${dir#"$TMP/"} can be locked" refused flock -n "$dir"
	let_go
	check "and freed" flock -w 5 "$dir" true
done
finish
