#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Locks and the mount: how many there can be, what its end does to who waits, what its options
# change; and a database in a cell, which lives by locks.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/locks.sh
. "$(dirname "$0")/locks.sh"

# wait_for FILE: until another process has made it.
wait_for() {
	for ((i = 0; i < 500; i++)); do
		[ -e "$1" ] && return
		sleep 0.02
	done
	die "nobody made $1"
}

lock_mount

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
rm -f "$f"/q[0-9]*
# ---- Options ---------------------------------------------------------------------------------

mkdir -p "$m/.versions/t/row/f/q@"
ts=$(entries "$f/q@" | head -n 1)
unmount_store "$m"
mount_store "$TMP/s" "$m" -o table=t
says "with table=T a version is one in both trees" "EAGAIN" "
flock(os.open(q, RW), LOCK_EX)
print(try_flock(LOCK_EX, path='$m/.versions/row/f/q@/$ts'))" "$m/row/f/q@/$ts"
unmount_store "$m"
mount_store "$TMP/s" "$m" -o ro
says "a mount that is read-only has locks" "EAGAIN EAGAIN" '
fd = os.open(q, RO)
flock(fd, LOCK_EX)
ofd(fd, fcntl.F_RDLCK)
print(try_flock(LOCK_EX, RO), try_flock(LOCK_SH, RO))'
unmount_store "$m"

# ---- The end of the mount --------------------------------------------------------------------

# waiting: a process that holds a lock, and one that waits for it and says in $TMP/answer how that
# ended.
waiting() {
	rm -f "$TMP/answer" "$TMP/asleep"
	run '
fd = os.open(q, RW)
flock(fd, LOCK_EX)
lockf(fd, LOCK_EX)
child = waits('"$1"', writer, LOCK_EX)
open(os.environ["TMP"] + "/asleep", "w").close()
print(child.result())' "$f/q" >"$TMP/answer" &
	waiter=$!
	track_pid "$waiter"
	wait_for "$TMP/asleep"
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

# ---- A database in a cell --------------------------------------------------------------------

mount_store "$TMP/s" "$m"
rm -f "$f/db"
cat >"$TMP/sql.py" <<'PYTHON'
import fcntl, os, sqlite3, sys
path, steps = sys.argv[1:]


def connect(timeout=0.2, path=path):
    return sqlite3.connect(path, timeout=timeout, isolation_level=None)


def said(call):
    try:
        return call()
    except sqlite3.Error as error:
        return str(error)


def other(function):
    """What another process says, that opens the database anew."""
    output, into = os.pipe()
    if os.fork() == 0:
        os.write(into, str(said(function)).encode())
        os._exit(0)
    os.close(into)
    with open(output) as text:
        answer = text.read()
    os.wait()
    return answer


def rows(path=path):
    return connect(path=path).execute("SELECT count(*) FROM t").fetchone()[0]


exec(steps)
PYTHON
# sql NAME EXPECTED STEPS
sql() {
	check_eq "sqlite: $1" "$2" "$(timeout 100 "$python" "$TMP/sql.py" "$f/db" "$3" 2>&1 | paste -sd ' ')"
}
sql "a table" 0 '
with connect() as db: db.execute("CREATE TABLE t (a, b)")
print(rows())'
for i in 1 2 3; do
	sql "row $i" "$i" "
db = connect()
db.execute('INSERT INTO t VALUES ($i, zeroblob(10000))')
db.close()
print(rows())"
done
sql "it is sound" ok 'print(connect().execute("PRAGMA integrity_check").fetchone()[0])'
check_eq "its journal is gone" "" "$(entries "$f" | grep journal)"
check_eq "each connection that wrote made one version" 4 "$(entries "$f/db@" | wc -l)"
sql "the version before is a database, too" 2 "
print(rows('file:$f/db@/$(entries "$f/db@" | sed -n 2p)'.replace('file:', '')))"
sql "while one connection writes another finds it locked" "database is locked 3 ok 4" '
db = connect()
db.execute("BEGIN IMMEDIATE")
db.execute("INSERT INTO t VALUES (4, 4)")
print(other(lambda: connect().execute("BEGIN IMMEDIATE")), other(rows))
db.execute("COMMIT")
db.close()
print(other(lambda: connect().execute("BEGIN IMMEDIATE") and "ok"), other(rows))'
sql "while one reads another cannot commit" "database is locked 4" '
db = connect()
db.execute("BEGIN")
db.execute("SELECT * FROM t").fetchone()
print(other(lambda: connect().execute("DELETE FROM t")))
db.close()
print(other(rows))'
sql "what is rolled back is not there" 4 '
db = connect()
db.execute("BEGIN")
db.execute("INSERT INTO t VALUES (5, 5)")
db.execute("ROLLBACK")
db.close()
print(rows())'
sql "a writer that is killed leaves what was there, and a lock for nobody" "9 4 ok" '
pid = os.fork()
if pid == 0:
    db = connect()
    db.execute("PRAGMA cache_size = 1")
    db.execute("BEGIN IMMEDIATE")
    db.executemany("INSERT INTO t VALUES (?, zeroblob(10000))", [[i] for i in range(100)])
    os.kill(os.getpid(), 9)
print(os.WTERMSIG(os.waitpid(pid, 0)[1]), rows())
print(connect().execute("PRAGMA integrity_check").fetchone()[0])'
# An open file is not brought up to date by a lock: so the lock is held when it is opened.
sql "80 rows of 8 processes that lock, open, write and close are all there" "84 ok" '
for worker in range(8):
    if os.fork() == 0:
        for i in range(10):
            with open(path + ".lock", "a") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                db = connect(60)
                db.execute("INSERT INTO t VALUES (?, ?)", (worker, i))
                db.close()
        os._exit(0)
for worker in range(8): os.wait()
print(rows(), connect().execute("PRAGMA integrity_check").fetchone()[0])'
unmount_store "$m"
mount_store "$TMP/s" "$m"
sql "the next mount has it" "84 ok" '
print(rows(), connect().execute("PRAGMA integrity_check").fetchone()[0])'

finish
