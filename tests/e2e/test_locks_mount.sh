#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Locks and the mount: their largest number, the effect of an unmount on waiting processes, the
# effect of its options.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/locks.sh"

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
remount -o table=t
says "with table=T a version is one in both trees" "EAGAIN" "
flock(os.open(q, RW), LOCK_EX)
print(try_flock(LOCK_EX, path='$m/.versions/row/f/q@/$ts'))" "$m/row/f/q@/$ts"
remount -o ro
says "a mount that is read-only has locks" "EAGAIN EAGAIN" '
fd = held(flock, LOCK_EX, flags=RO)
ofd(fd, fcntl.F_RDLCK)
print(try_flock(LOCK_EX, RO), try_flock(LOCK_SH, RO))'
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
