#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Locks: flock(2) and fcntl(2) hold between processes, and a column is one thing to lock.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

m=$TMP/m
f=$m/t/row/f
python=$(python3 -c 'import sys; print(sys.executable)') || die "there is no python3"

# entries DIRECTORY: what it lists, in its own order.
entries() {
	find "$1" -mindepth 1 -maxdepth 1 -printf '%f\n' 2>/dev/null
}

# wait_for FILE: until another process has made it.
wait_for() {
	local i
	for ((i = 0; i < 200; i++)); do
		[ -e "$1" ] && return
		sleep 0.02
	done
	die "nobody made $1"
}

# refused COMMAND…: flock(1) exits with 1 where it does not get the lock.
refused() {
	"$@" true
	[ $? = 1 ]
}

# What one process does and sees: each line of code is run by Python, with the path as q.
cat >"$TMP/locks.py" <<'PYTHON'
import errno, fcntl, os, signal, struct, subprocess, sys, time
from fcntl import LOCK_EX, LOCK_SH, LOCK_NB, LOCK_UN, flock, lockf

q = sys.argv[2]
GETLK, SETLK, SETLKW = 36, 37, 38 # F_OFD_…


def said(call):
    try:
        call()
        return "ok"
    except OSError as error:
        return errno.errorcode[error.errno]


def other(code, path=None):
    """What another process says of the code."""
    return subprocess.check_output([sys.executable, sys.argv[0], code, path or q]).decode().strip()


def try_flock(kind, flags=os.O_RDWR, path=None):
    return other("print(said(lambda: flock(os.open(q, %d), %d)))" % (flags, kind | LOCK_NB), path)


def try_lockf(kind, length=0, start=0, path=None):
    return other(
        "print(said(lambda: lockf(os.open(q, os.O_RDWR), %d, %d, %d)))" % (kind | LOCK_NB, length, start),
        path,
    )


def record(kind, start, length):
    return struct.pack("hhqqi4x", kind, os.SEEK_SET, start, length, 0)


def ofd(fd, command, kind, start=0, length=0):
    return struct.unpack("hhqqi4x", fcntl.fcntl(fd, command, record(kind, start, length)))


exec(sys.argv[1])
PYTHON

# says NAME EXPECTED PATH CODE: what Python prints.
says() {
	check_eq "$1" "$2" "$("$python" "$TMP/locks.py" "$4" "$3" 2>&1 | paste -sd ' ')"
}

make_store "$TMP/s" '{"version":1,"tables":{"t":{"families":{"f":{},"g":{}}}}}'
mount_store "$TMP/s" "$m"
mkdir -p "$f" "$m/t/row/g"
for column in q r s db lock; do echo 0 >"$f/$column"; done
echo 0 >"$m/t/row/g/q"

# ---- flock -----------------------------------------------------------------------------------

check "flock of a column" flock -n "$f/q" true
flock "$f/q" -c "touch '$TMP/held'; sleep 60" &
holder=$!
track_pid "$holder"
wait_for "$TMP/held"
check "another process does not get it" refused flock -n "$f/q"
check "nor shared" refused flock -n -s "$f/q"
check "nor after waiting" refused flock -w 0.2 "$f/q"
check "another column is free" flock -n "$f/r" true
check "also of that name in another family" flock -n "$m/t/row/g/q" true
check_eq "who only reads is not stopped" 0 "$(cat "$f/q")"
echo 1 >"$f/q"
check_eq "nor who writes" 1 "$(cat "$f/q")"
check "after a new version it holds" refused flock -n "$f/q"
pkill -P "$holder" 2>/dev/null
kill "$holder" 2>/dev/null
wait "$holder" 2>/dev/null
check "it goes with its holder" flock -w 5 "$f/q" true
says "shared locks stand together" "ok EWOULDBLOCK" "$f/q" '
fd = os.open(q, os.O_RDONLY)
flock(fd, LOCK_SH)
print(try_flock(LOCK_SH))
print(try_flock(LOCK_EX).replace("EAGAIN", "EWOULDBLOCK"))'
says "unlocking frees it" "EAGAIN ok" "$f/q" '
fd = os.open(q, os.O_RDWR)
flock(fd, LOCK_EX)
print(try_flock(LOCK_EX))
flock(fd, LOCK_UN)
print(try_flock(LOCK_EX))'
says "so does closing" "EAGAIN ok" "$f/q" '
fd = os.open(q, os.O_RDONLY)
flock(fd, LOCK_EX)
print(try_flock(LOCK_EX))
os.close(fd)
print(try_flock(LOCK_EX))'
says "a duplicate keeps it" "EAGAIN ok" "$f/q" '
fd = os.open(q, os.O_RDONLY)
copy = os.dup(fd)
flock(fd, LOCK_EX)
os.close(fd)
print(try_flock(LOCK_EX))
os.close(copy)
print(try_flock(LOCK_EX))'
says "two open files of one process exclude each other" "EAGAIN" "$f/q" '
one, two = os.open(q, os.O_RDWR), os.open(q, os.O_RDWR)
flock(one, LOCK_EX)
print(said(lambda: flock(two, LOCK_EX | LOCK_NB)))'
says "a reader and a writer of a column lock the same" "EAGAIN EAGAIN" "$f/q" '
fd = os.open(q, os.O_RDONLY)
flock(fd, LOCK_EX)
print(try_flock(LOCK_EX, os.O_WRONLY))
print(try_flock(LOCK_EX, os.O_WRONLY | os.O_TRUNC))'
says "a writer and a reader, too" "EAGAIN EAGAIN" "$f/q" '
fd = os.open(q, os.O_WRONLY | os.O_TRUNC)
os.write(fd, b"x")
flock(fd, LOCK_EX)
print(try_flock(LOCK_EX, os.O_RDONLY))
os.fsync(fd)
print(try_flock(LOCK_EX, os.O_RDONLY))'
says "shared becomes exclusive, where nobody else has it" "EAGAIN ok EAGAIN" "$f/q" '
fd = os.open(q, os.O_RDWR)
flock(fd, LOCK_SH)
print(try_flock(LOCK_EX))
print(said(lambda: flock(fd, LOCK_EX | LOCK_NB)))
print(try_flock(LOCK_SH))'
says "a lock is inherited by a child" "EAGAIN ok" "$f/q" '
fd = os.open(q, os.O_RDWR)
os.set_inheritable(fd, True)
flock(fd, LOCK_EX)
child = subprocess.Popen(["sleep", "0.6"], close_fds=False)
os.close(fd)
print(try_flock(LOCK_EX))
child.wait()
print(try_flock(LOCK_EX))'
says "who waits gets it when it is free" "waited" "$f/q" '
fd = os.open(q, os.O_RDWR)
flock(fd, LOCK_EX)
child = subprocess.Popen([sys.executable, sys.argv[0],
    "fd = os.open(q, os.O_RDWR); flock(fd, LOCK_EX); print(\"waited\" if os.path.exists(%r) else \"early\")"
    % (sys.argv[0] + ".free"), q])
time.sleep(0.4)
open(sys.argv[0] + ".free", "w").close()
flock(fd, LOCK_UN)
child.wait()'
says "who waits can be killed" "-9 ok" "$f/q" '
fd = os.open(q, os.O_RDWR)
flock(fd, LOCK_EX)
child = subprocess.Popen([sys.executable, sys.argv[0], "flock(os.open(q, os.O_RDWR), LOCK_EX)", q])
time.sleep(0.4)
child.kill()
print(child.wait(timeout=5))
flock(fd, LOCK_UN)
print(try_flock(LOCK_EX))'
says "who waits can be interrupted" "EINTR ok" "$f/q" '
fd = os.open(q, os.O_RDWR)
flock(fd, LOCK_EX)
child = subprocess.Popen([sys.executable, sys.argv[0], """
def stop(*_): raise OSError(errno.EINTR, "")
signal.signal(signal.SIGALRM, stop); signal.setitimer(signal.ITIMER_REAL, 0.3)
print(said(lambda: flock(os.open(q, os.O_RDWR), LOCK_EX)), flush=True)""", q])
child.wait(timeout=5)
flock(fd, LOCK_UN)
print(try_flock(LOCK_EX))'
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

# ---- fcntl -----------------------------------------------------------------------------------

says "an exclusive lock excludes" "EAGAIN EAGAIN ok" "$f/q" '
fd = os.open(q, os.O_RDWR)
lockf(fd, LOCK_EX)
print(try_lockf(LOCK_EX).replace("EACCES", "EAGAIN"))
print(try_lockf(LOCK_SH).replace("EACCES", "EAGAIN"))
lockf(fd, LOCK_UN)
print(try_lockf(LOCK_EX))'
says "a shared one does not exclude shared ones" "ok EAGAIN" "$f/q" '
fd = os.open(q, os.O_RDWR)
lockf(fd, LOCK_SH)
print(try_lockf(LOCK_SH))
print(try_lockf(LOCK_EX).replace("EACCES", "EAGAIN"))'
says "a range excludes what overlaps" "EAGAIN EAGAIN ok ok ok" "$f/q" '
fd = os.open(q, os.O_RDWR)
lockf(fd, LOCK_EX, 10, 100)
print(try_lockf(LOCK_EX, 1, 109))
print(try_lockf(LOCK_EX, 91, 10))
print(try_lockf(LOCK_EX, 1, 110))
print(try_lockf(LOCK_EX, 90, 10))
lockf(fd, LOCK_UN, 5, 100)
print(try_lockf(LOCK_EX, 5, 100))'
says "unlocking the middle leaves both sides" "EAGAIN ok EAGAIN" "$f/q" '
fd = os.open(q, os.O_RDWR)
lockf(fd, LOCK_EX, 30, 0)
lockf(fd, LOCK_UN, 10, 10)
print(try_lockf(LOCK_EX, 10, 0))
print(try_lockf(LOCK_EX, 10, 10))
print(try_lockf(LOCK_EX, 10, 20))'
says "beyond the end of the value as well, and to the end of all" "EAGAIN ok" "$f/q" '
fd = os.open(q, os.O_RDWR)
lockf(fd, LOCK_EX, 0, 1 << 40)
print(try_lockf(LOCK_EX, 1, (1 << 50)))
print(try_lockf(LOCK_EX, 1, 0))'
says "F_GETLK tells of it, and by which process" "True" "$f/q" '
fd = os.open(q, os.O_RDWR)
lockf(fd, LOCK_EX, 10, 5)
print(other("""
fd = os.open(q, os.O_RDWR)
kind, _, start, length, pid = struct.unpack("hhqqi4x",
    fcntl.fcntl(fd, fcntl.F_GETLK, record(fcntl.F_WRLCK, 0, 0)))
print(kind == fcntl.F_WRLCK and (start, length) == (5, 10) and pid == os.getppid())"""))'
says "and that there is none" "True" "$f/q" '
fd = os.open(q, os.O_RDWR)
print(struct.unpack("hhqqi4x", fcntl.fcntl(fd, fcntl.F_GETLK, record(fcntl.F_WRLCK, 0, 0)))[0] == fcntl.F_UNLCK)'
says "any close of the column by its process frees it" "EAGAIN ok" "$f/q" '
fd, second = os.open(q, os.O_RDWR), os.open(q, os.O_RDWR)
lockf(fd, LOCK_EX)
print(try_lockf(LOCK_EX))
os.close(second)
print(try_lockf(LOCK_EX))'
says "its end as well" "EAGAIN ok" "$f/q" '
child = subprocess.Popen([sys.executable, sys.argv[0],
    "fd = os.open(q, os.O_RDWR); lockf(fd, LOCK_EX); print(flush=True); time.sleep(60)", q],
    stdout=subprocess.PIPE)
child.stdout.readline()
print(try_lockf(LOCK_EX))
child.kill()
child.wait()
print(try_lockf(LOCK_EX))'
says "a child does not have it" "EAGAIN" "$f/q" '
fd = os.open(q, os.O_RDWR)
lockf(fd, LOCK_EX)
if os.fork() == 0:
    print(said(lambda: lockf(fd, LOCK_EX | LOCK_NB)), flush=True)
    os._exit(0)
os.wait()'
says "a process does not exclude itself" "ok" "$f/q" '
lockf(os.open(q, os.O_RDWR), LOCK_EX)
print(said(lambda: lockf(os.open(q, os.O_RDWR), LOCK_EX | LOCK_NB)))'
says "a writer and a reader of a column lock the same" "EAGAIN EAGAIN" "$f/q" '
fd = os.open(q, os.O_RDONLY)
lockf(fd, LOCK_SH)
print(other("print(said(lambda: lockf(os.open(q, os.O_WRONLY), LOCK_EX | LOCK_NB)))"))
print(other("print(said(lambda: lockf(os.open(q, os.O_RDWR | os.O_TRUNC), LOCK_EX | LOCK_NB)))"))'
says "a new version changes nothing" "EAGAIN" "$f/q" '
fd = os.open(q, os.O_RDWR)
lockf(fd, LOCK_EX)
other("open(q, \"w\").write(\"new\")")
print(try_lockf(LOCK_EX))'
says "flock and fcntl locks know nothing of each other" "ok" "$f/q" '
fd = os.open(q, os.O_RDWR)
lockf(fd, LOCK_EX)
print(try_flock(LOCK_EX))'
says "who waits gets it when it is free" "waited" "$f/q" '
fd = os.open(q, os.O_RDWR)
lockf(fd, LOCK_EX)
child = subprocess.Popen([sys.executable, sys.argv[0],
    "fd = os.open(q, os.O_RDWR); lockf(fd, LOCK_EX); print(\"waited\" if os.path.exists(%r) else \"early\")"
    % (sys.argv[0] + ".free2"), q])
time.sleep(0.4)
open(sys.argv[0] + ".free2", "w").close()
lockf(fd, LOCK_UN)
child.wait()'
says "who waits can be killed" "-9 ok" "$f/q" '
fd = os.open(q, os.O_RDWR)
lockf(fd, LOCK_EX)
child = subprocess.Popen([sys.executable, sys.argv[0], "lockf(os.open(q, os.O_RDWR), LOCK_EX)", q])
time.sleep(0.4)
child.kill()
print(child.wait(timeout=5))
lockf(fd, LOCK_UN)
print(try_lockf(LOCK_EX))'
says "locks of open files (F_OFD) exclude as well" "EAGAIN ok" "$f/q" '
one, two = os.open(q, os.O_RDWR), os.open(q, os.O_RDWR)
ofd(one, SETLK, fcntl.F_WRLCK)
print(said(lambda: ofd(two, SETLK, fcntl.F_WRLCK)))
ofd(one, SETLK, fcntl.F_UNLCK)
print(said(lambda: ofd(two, SETLK, fcntl.F_WRLCK)))'
echo 0 >"$f/count"
seq 40 | xargs -P 8 -I '{}' "$python" "$TMP/locks.py" '
fd = os.open(q + "lock", os.O_RDWR | os.O_CREAT)
lockf(fd, LOCK_EX)
n = int(open(q).read())
open(q, "w").write(str(n + 1))' "$f/count"
check_eq "8 processes that lock count right" 40 "$(cat "$f/count")"
mkdir -p "$m/.versions/t/row/f/q@"
ts=$(entries "$f/q@" | head -n 1)
says "a version can be locked" "EAGAIN EAGAIN" "$f/q@/$ts" '
fd = os.open(q, os.O_RDWR)
flock(fd, LOCK_EX)
lockf(fd, LOCK_EX)
print(try_flock(LOCK_EX))
print(try_lockf(LOCK_EX))'
says "no lock is left by any of this" "ok ok" "$f/q" '
print(try_flock(LOCK_EX))
print(try_lockf(LOCK_EX))'

# ---- A database in a cell --------------------------------------------------------------------

rm -f "$f/db"
sql() {
	"$python" -c 'import sqlite3, sys
db = sqlite3.connect(sys.argv[1], timeout=0.2)
with db:
    for row in db.execute(sys.argv[2]): print(*row)
db.close()' "$f/db" "$1" 2>&1 | tail -n 1
}
check_eq "sqlite: a table" "" "$(sql 'CREATE TABLE t (a INTEGER, b TEXT)')"
for i in 1 2 3; do sql "INSERT INTO t VALUES ($i, 'row $i')"; done
check_eq "rows" "6 row 1row 2row 3" "$(sql "SELECT sum(a), group_concat(b, '') FROM t")"
check_eq "it is sound" ok "$(sql 'PRAGMA integrity_check')"
check_eq "its journal is gone" "" "$(entries "$f" | grep journal)"
check_eq "each connection that wrote made one version" 4 "$(entries "$f/db@" | wc -l)"
check_eq "the version before is a database, too" 2 "$(cp "$f/db@/$(entries "$f/db@" | sed -n 2p)" "$TMP/db" &&
	"$python" -c 'import sqlite3, sys
print(sqlite3.connect(sys.argv[1]).execute("SELECT count(*) FROM t").fetchone()[0])' "$TMP/db")"
check_eq "while one connection writes another finds it locked" "database is locked, 4 rows" \
	"$("$python" -c 'import sqlite3, sys
one = sqlite3.connect(sys.argv[1], timeout=0.1, isolation_level=None)
one.execute("BEGIN IMMEDIATE")
one.execute("INSERT INTO t VALUES (4, 4)")
if __name__ == "__main__":
    import subprocess
    code = "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=0.1, isolation_level=None).execute(\"BEGIN IMMEDIATE\")"
    out = subprocess.run([sys.executable, "-c", code, sys.argv[1]], capture_output=True).stderr.decode()
    print(out.strip().split(": ")[-1], end=", ")
one.execute("COMMIT")
one.close()
print(sqlite3.connect(sys.argv[1]).execute("SELECT count(*) FROM t").fetchone()[0], "rows")' "$f/db" 2>&1)"
check_eq "what is rolled back is not there" 4 "$("$python" -c 'import sqlite3, sys
one = sqlite3.connect(sys.argv[1], isolation_level=None)
one.execute("BEGIN")
one.execute("INSERT INTO t VALUES (5, 5)")
one.execute("ROLLBACK")
one.close()
print(sqlite3.connect(sys.argv[1]).execute("SELECT count(*) FROM t").fetchone()[0])' "$f/db" 2>&1)"
unmount_store "$m"
mount_store "$TMP/s" "$m"
check_eq "the next mount has it" "4 ok" "$(sql 'SELECT count(*) FROM t') $(sql 'PRAGMA integrity_check')"

finish
