#!/bin/bash
# SPDX-License-Identifier: MIT
#
# An SQLite database in a cell, used by one connection at a time, or by several: transactions, journals beside it,
# every journal mode, a killed writer, and the database after a remount.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cells.sh"

f=$m/t/row/f

# sql DATABASE STATEMENT…: SQLite's output for them.
sql() {
	local database=$1
	shift
	sqlite3 -batch -bail "$database" "$@" 2>&1
}

# sound NAME DATABASE ROWS SUM: the database is whole, and has just these.
sound() {
	check_eq "$1" "ok $3 $4" "$(sql "$2" "PRAGMA integrity_check; SELECT count(*), sum(n) FROM t" |
		tr '|\n' '  ' | sed 's/ $//')"
}

new_mount '{"version":1,"tables":{"t":{"families":{"f":{}}}}}'
mkdir -p "$f"
d=$f/db

# ---- Transactions ------------------------------------------------------------------------------

check_eq "a table is made" "" "$(sql "$d" "CREATE TABLE t(n INTEGER PRIMARY KEY, text)")"
check_eq "no journal is left" db "$(entries "$f")"
check_eq "1,000 rows in a transaction" "" "$(sql "$d" "BEGIN;
	WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 1000)
	INSERT INTO t SELECT n, printf('text %d', n) FROM c; COMMIT")"
sound "are there" "$d" 1000 500500
check_eq "20 transactions of one connection" "" "$(for i in {1001..1020}; do
	echo "INSERT INTO t VALUES($i, 'x');"
done | sql "$d")"
sound "are there" "$d" 1020 520710
check_eq "one that is rolled back" "" "$(sql "$d" "BEGIN; DELETE FROM t; ROLLBACK")"
sound "changes nothing" "$d" 1020 520710
check_eq "an index, an update, a delete, a vacuum" "" "$(sql "$d" "CREATE INDEX i ON t(text);
	UPDATE t SET text = 'even' WHERE n % 2 = 0; DELETE FROM t WHERE n > 1000; VACUUM")"
sound "leave what they should" "$d" 1000 500500
check_eq "found by the index" 500 "$(sql "$d" "SELECT count(*) FROM t WHERE text = 'even'")"
check_eq "no journal is left" db "$(entries "$f")"
versions=$(entries "$d@" | wc -l)
sql "$d" "SELECT count(*) FROM t" >"$TMP/read"
check_eq "reading makes no version" "$versions" "$(entries "$d@" | wc -l)"
cp "$d" "$TMP/copy"
sound "a copy of the cell is the database" "$TMP/copy" 1000 500500
oldest=$(for ts in $(entries "$d@"); do
	cp "$d@/$ts" "$TMP/old" && sql "$TMP/old" "PRAGMA integrity_check" | head -n 1
done | sort | uniq -c | awk '{ print $2, $1 }' | paste -sd ' ')
check_eq "every version of it was a whole database" "ok $versions" "$oldest"

# ---- Journals ----------------------------------------------------------------------------------

for mode in delete truncate persist memory off; do
	q=$f/$mode
	check_eq "journal_mode=$mode" "$mode" "$(sql "$q" "PRAGMA journal_mode=$mode;
		CREATE TABLE t(n); BEGIN; INSERT INTO t VALUES(1), (2); COMMIT; INSERT INTO t VALUES(4)")"
	sound "its rows are there" "$q" 3 7
done
check_eq "a write-ahead log, of one process" $'exclusive\nwal' "$(sql "$f/wal" "PRAGMA locking_mode=exclusive;
	PRAGMA journal_mode=wal; CREATE TABLE t(n); INSERT INTO t VALUES(1), (2); INSERT INTO t VALUES(4)" |
	head -n 2)"
check_eq "its rows are there" $'exclusive\nok\n7' \
	"$(sql "$f/wal" "PRAGMA locking_mode=exclusive; PRAGMA integrity_check; SELECT sum(n) FROM t")"

# ---- Other readers and writers -----------------------------------------------------------------

connect='
import sqlite3
def connect(): return sqlite3.connect(q, timeout=0.2, isolation_level=None)
def rows(): return connect().execute("SELECT count(*) FROM t").fetchone()[0]
def execute(statement):
    try: return connect().execute(statement) and "ok"
    except sqlite3.Error as fault: return fault
db = connect()
'
check_eq "another process sees what is committed, and that alone" "0 3" "$(python "$connect"'
def seen(): return sqlite3.connect("file:%s?immutable=1" % q, uri=True).execute("SELECT count(*) FROM t").fetchone()[0]
db.execute("CREATE TABLE t(n)"); db.execute("PRAGMA cache_spill=1"); db.execute("BEGIN")
db.executemany("INSERT INTO t VALUES(?)", [(1,), (2,), (3,)])
print(child(seen), end=" ")
db.execute("COMMIT")
print(child(seen))' "$f/seen")"

# ---- Two at once -------------------------------------------------------------------------------

# A connection has the database that it opened, and its lock does not bring that up to date
# (semantics.md): a process that opens under a lock of another file loses nothing.
sql "$f/two" "CREATE TABLE t(n)"
check_eq "of two connections the one that commits last stays" "0 ok 0" "$(python "$connect"'
def seen(): return db.execute("SELECT count(*) FROM t").fetchone()[0]
print(seen(), child(execute, "INSERT INTO t VALUES(1)"), seen())
db.execute("INSERT INTO t VALUES(20)")' "$f/two")"
sound "and the database is whole" "$f/two" 1 20
writers=()
for _ in 1 2 3; do
	for _ in {1..10}; do
		flock "$f/lock" sqlite3 "$f/two" "INSERT INTO t VALUES(1)"
	done &
	track_pid $!
	writers+=($!)
done
wait "${writers[@]}"
sound "of three that open it under a lock no commit is lost" "$f/two" 31 50

sql "$f/both" "CREATE TABLE t(n); INSERT INTO t VALUES(1), (2), (4)"
check_eq "while one connection writes another finds it locked" "database is locked 3 ok 4" "$(python "$connect"'
db.execute("BEGIN IMMEDIATE"); db.execute("INSERT INTO t VALUES(8)")
print(child(execute, "BEGIN IMMEDIATE"), child(rows), end=" ")
db.execute("COMMIT"); db.close()
print(child(execute, "BEGIN IMMEDIATE"), child(rows))' "$f/both")"
check_eq "while one reads another cannot commit" "database is locked 4" "$(python "$connect"'
db.execute("BEGIN"); db.execute("SELECT * FROM t").fetchone()
print(child(execute, "DELETE FROM t"), end=" ")
db.close()
print(child(rows))' "$f/both")"

# ---- Killed ------------------------------------------------------------------------------------

{ said=$(python "$connect"'
db.execute("CREATE TABLE t(n)"); db.execute("PRAGMA cache_size=2")
for i in range(1, 11): db.execute("INSERT INTO t VALUES(?)", (i,))
db.execute("BEGIN"); db.executemany("INSERT INTO t VALUES(?)", [(1000000,)] * 20000)
print(os.path.exists(q + "-journal"), flush=True)
os.kill(os.getpid(), 9)' "$f/killed"); } 2>/dev/null
check_eq "a writer is in a transaction that outgrew its memory, and has a journal" True "$said"
sound "after it is killed what it committed is there, and no more" "$f/killed" 10 55
check "the journal is gone" test ! -e "$f/killed-journal"

# ---- The next mount ----------------------------------------------------------------------------

remount
sound "the database is whole in the next mount" "$d" 1000 500500
sound "so is the killed one" "$f/killed" 10 55
check_eq "and it is written on" "" "$(sql "$d" "INSERT INTO t VALUES(1001, 'more')")"
sound "as before" "$d" 1001 501501

finish
