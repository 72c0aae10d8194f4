#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Locks of fcntl(2), of processes and of open files: ranges, their owners, and their ends.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/locks.sh"

lock_mount
# The first fcntl lock of a mount, of a file that is open to read, is known by its open file alone.
says "the first lock of a mount goes with the close of its file" "EAGAIN ok" '
fd = held(lockf, LOCK_SH, flags=RO)
print(try_lockf(LOCK_EX))
os.close(fd)
print(try_lockf(LOCK_EX))'
same "an exclusive lock excludes" "EAGAIN EAGAIN ok" '
fd = held(lockf, LOCK_EX)
print(try_lockf(LOCK_EX), try_lockf(LOCK_SH))
lockf(fd, LOCK_UN)
print(try_lockf(LOCK_EX))'
same "a shared one does not exclude shared ones" "ok EAGAIN" '
fd = held(lockf, LOCK_SH, flags=RO)
print(try_lockf(LOCK_SH), try_lockf(LOCK_EX))'
same "a range excludes what overlaps" "EAGAIN EAGAIN ok ok ok" '
fd = held(lockf, LOCK_EX, 10, 100)
print(try_lockf(LOCK_EX, 1, 109), try_lockf(LOCK_EX, 91, 10))
print(try_lockf(LOCK_EX, 1, 110), try_lockf(LOCK_EX, 90, 10))
lockf(fd, LOCK_UN, 5, 100)
print(try_lockf(LOCK_EX, 5, 100))'
says "a process holds 4,096 ranges of a file" "4096 ENOLCK" '
fd, n = os.open(q, RW), 0
lock = lambda: said(lambda: lockf(fd, LOCK_EX | LOCK_NB, 1, 2 * n))
while lock() == "ok":
    n += 1
print(n, lock())'
same "unlocking the middle leaves both sides" "EAGAIN ok EAGAIN" '
fd = held(lockf, LOCK_EX, 30, 0)
lockf(fd, LOCK_UN, 10, 10)
print(try_lockf(LOCK_EX, 10, 0), try_lockf(LOCK_EX, 10, 10), try_lockf(LOCK_EX, 10, 20))'
same "a part becomes shared" "EAGAIN ok EAGAIN" '
fd = held(lockf, LOCK_EX, 30, 0)
lockf(fd, LOCK_SH, 10, 10)
print(try_lockf(LOCK_SH, 10, 0), try_lockf(LOCK_SH, 10, 10), try_lockf(LOCK_SH, 10, 20))'
same "beyond the end of the value as well, and to the end of all" "EAGAIN ok EAGAIN EAGAIN" '
fd = held(lockf, LOCK_EX, 0, 1 << 40)
print(try_lockf(LOCK_EX, 1, 1 << 50), try_lockf(LOCK_EX, 1, 0))
print(try_lockf(LOCK_EX, 1, (1 << 63) - 1), try_lockf(LOCK_EX, 0, 0))'
same "F_GETLK tells of it, and by which process" "True" '
fd, parent = os.open(q, RW), os.getpid()
lockf(fd, LOCK_EX, 10, 5)
lockf(fd, LOCK_EX, 10, 30)
print(other(lambda: get_record(os.open(q, RW), fcntl.F_RDLCK) == ("exclusive", 5, 10, parent)))'
same "of one to the end, too" "True" '
fd, parent = os.open(q, RO), os.getpid()
lockf(fd, LOCK_SH, 0, 5)
print(other(lambda: get_record(os.open(q, RW), fcntl.F_WRLCK, 100) == ("shared", 5, 0, parent)))'
same "and that there is none" "none none" '
fd = held(lockf, LOCK_SH, 10, 5)
print(get_record(fd, fcntl.F_WRLCK)[0])
print(other(lambda: get_record(os.open(q, RW), fcntl.F_RDLCK)[0]))'
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
same "the end of its process frees it" "EAGAIN ok" '
holder = locked(lockf, writer, LOCK_EX)
print(try_lockf(LOCK_EX))
holder.send(signal.SIGKILL)
holder.result()
print(try_lockf(LOCK_EX))'
same "also where its parent still has the file open" "EAGAIN ok" '
fd = os.open(q, RO)
holder = locked(lockf, fd, LOCK_SH)
print(try_lockf(LOCK_EX))
holder.send(signal.SIGKILL)
holder.result()
print(try_lockf(LOCK_EX))'
same "a child does not have it" "EAGAIN" '
fd = held(lockf, LOCK_EX)
print(other(lambda: said(lambda: lockf(fd, LOCK_EX | LOCK_NB))))'
same "nor does a close by a child free it" "EAGAIN" '
fd = held(lockf, LOCK_EX)
other(lambda: os.close(fd))
print(try_lockf(LOCK_EX))'
same "a process does not exclude itself" "ok" '
lockf(os.open(q, RW), LOCK_EX)
print(said(lambda: lockf(os.open(q, RW), LOCK_EX | LOCK_NB)))'
same "a writer and a reader of a column lock the same" "EAGAIN EAGAIN" '
fd = held(lockf, LOCK_SH, flags=RO)
print(try_lockf(LOCK_EX, flags=WO), try_lockf(LOCK_EX, flags=RW | os.O_TRUNC))'
same "a new version changes nothing" "EAGAIN" '
fd = held(lockf, LOCK_EX)
other(lambda: open(q, "w").write("new"))
print(try_lockf(LOCK_EX))'
same "flock and fcntl locks know nothing of each other" "ok" '
fd = held(lockf, LOCK_EX)
print(try_flock(LOCK_EX))'
waits lockf
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
one, copy, two = os.open(q, $flags), None, os.open(q, $flags)
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
seq 40 | xargs -P 8 -I '{}' "$python" "$LIB_DIR/locks.py" '
fd = os.open(q + "lock", RW | os.O_CREAT)
lockf(fd, LOCK_EX)
n = int(open(q).read())
open(q, "w").write(str(n + 1))' "$f/count"
check_eq "8 processes that lock count right" 40 "$(cat "$f/count")"

finish
