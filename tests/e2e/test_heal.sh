#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Mounts whose server ends before they are unmounted: dead ones, which the next start clears where
# they are of rowfs, and nothing else; auto_unmount; and SIGTERM while files are open.

. "$(dirname "$0")/lib.sh"

need_fuse
cd "$TMP" || exit 1
rowfs=$BUILD/rowfs
mkdir m
make_store s '{"version":1,"tables":{"t":{"families":{"f":{}}}}}'
track_mount m
f=m/t/row/f

# servers: the pids of the servers of s; mounters: of their mounters; helpers: of fusermount3 for
# them.
servers() {
	local pid
	for pid in $(pgrep -f "^$rowfs .*s $TMP/m\$|^$rowfs .*s m\$"); do
		grep -qs "^Name:.${1:-rowfs}\$" "/proc/$pid/status" &&
			[ "$(readlink "/proc/$pid/exe")" = "$(realpath "$rowfs")" ] &&
			grep -qsaF "HEAL_TEST=$$" "/proc/$pid/environ" && echo "$pid"
	done
}
mounters() {
	servers rowfs-mounter
}
helpers() {
	pgrep -f "^fusermount3 .*-- $TMP/m\$"
}
export HEAL_TEST=$$

# files: those of the store that the engine does not make and remove as it goes.
files() {
	find s -type f ! -name '*.ldb' ! -name '*.log' ! -name 'MANIFEST-*' ! -name LOG.old -printf '%P\n' | sort
}
files >before

nothing_runs() {
	[ -z "$(servers)$(mounters)$(helpers)" ]
}

# ---- SIGTERM while files are open ----------------------------------------------------------------

cat >open.py <<'PYTHON'
import fcntl, mmap, os, sys, time

f = sys.argv[1]
RW = os.O_RDWR | os.O_CREAT
synced, unsynced, mapped = (os.open(f + "/" + q, RW) for q in ("synced", "unsynced", "mapped"))
os.write(synced, b"synced")
os.fsync(synced)
os.write(synced, b" and more")
os.write(unsynced, b"x" * 3000000)
os.ftruncate(mapped, 100)
data = mmap.mmap(mapped, 100)
data[0:6] = b"mapped"
with open(f + "/closed", "w") as file:
    file.write("closed")
reader = os.open(f + "/closed", os.O_RDONLY)
fcntl.flock(reader, fcntl.LOCK_EX)
if os.fork() == 0:  # waits for the lock until the mount has gone
    try:
        fcntl.flock(os.open(f + "/closed", os.O_RDONLY), fcntl.LOCK_EX)
    except OSError as error:
        os._exit(0)
    os._exit(1)
listing = os.scandir(f)
next(listing)
rows = os.open(f + "/../../.rows", os.O_RDONLY)
os.read(rows, 10)
version = os.open(f + "/closed@/.draft", RW)
os.write(version, b"draft")
os.chdir(f)
open(sys.argv[2], "w").close()
while not os.path.exists(sys.argv[3]):
    time.sleep(0.02)
try:
    os.write(unsynced, b"more")
    print("written")
except OSError as error:
    print(os.strerror(error.errno))
for fd in (synced, unsynced, mapped, reader, rows, version):
    try:
        os.close(fd)
    except OSError:
        pass
print("waiter", os.wait()[1])
PYTHON

for signal in TERM INT HUP; do
	rm -f open go
	mount_store s m
	pid=$(mount_pid m)
	log=$(mount_log m)
	mkdir -p "$f"
	"$python" -S open.py "$f" "$TMP/open" "$TMP/go" >said 2>&1 &
	holder=$!
	track_pid "$holder"
	check "files are open" within test -e open
	kill -"$signal" "$pid"
	check "SIG$signal ends the server" within ended "$pid"
	status=0
	wait "$pid" || status=$?
	check_eq "with success" 0 "$status"
	check "nothing is mounted then" not_mounted m
	check "nor does anything of it run" within nothing_runs
	check "no error was logged" bash -c '! grep -i error "$0"' "$log"
	lib_forget "$TMP/m"
	mount_store s m
	: >go
	wait "$holder"
	check_eq "who had them open is told, and waits for no lock" \
		$'Transport endpoint is not connected\nwaiter 0' "$(cat said)"
	check_eq "what was committed stays, the rest is not there" "closed synced" "$(find "$f" -type f -printf '%f\n' | sort | paste -sd ' ')"
	check_eq "as it was committed" "closedsynced" "$(cat "$f/closed" "$f/synced")"
	rm -r m/t/row
	unmount_store m
	check_eq "no file is left in the store" "$(cat before)" "$(files)"
done
track_mount m

# ---- auto_unmount --------------------------------------------------------------------------------

# start OPTIONS…: as its user does.
start() {
	"$rowfs" "$@" s m
}

for foreground in "" yes; do
	if [ -n "$foreground" ]; then
		mount_store s m -o auto_unmount
		check "auto_unmount: the server gives up what it does elsewhere" grep -q 'no new privileges' "$(mount_log m)"
		check_eq "and gains no privileges" 1 "$(awk '/^NoNewPrivs/ { print $2 }' "/proc/$(mount_pid m)/status")"
		lib_forget "$TMP/m" && track_mount m
	else
		check "auto_unmount: a mount" start -o auto_unmount
	fi
	mkdir -p "$f"
	echo "$foreground" >"$f/q"
	check_eq "has one server" 1 "$(servers | wc -l)"
	kill -KILL "$(servers)"
	check "killed, it is unmounted" within not_mounted m
	check "and all ends that runs" within nothing_runs
	check "a plain directory is left" rmdir m
	mkdir m
	check "it is mounted again" start
	check_eq "with what was written" "$foreground" "$(cat "$f/q")"
	within fusermount3 -u m
	within nothing_runs
done
# again: killed, and started while its mounter clears the mount.
again() {
	local i
	start -o auto_unmount || return
	for ((i = 0; i < 20; i++)); do
		echo "$i" >"$f/q"
		kill -KILL "$(servers)"
		start -o auto_unmount && [ "$(cat "$f/q")" = "$i" ] || return
	done
}
check "killed and started at once, it serves each time" again
check "and in the end no more" within fusermount3 -u m
within nothing_runs
start -o auto_unmount
check "auto_unmount, and fusermount3 -u" within fusermount3 -u m
check "ends all" within nothing_runs
start -o auto_unmount
check "auto_unmount, and SIGTERM" kill -TERM "$(servers)"
check "unmounts it" within not_mounted m
check "and ends all" within nothing_runs
start -o auto_unmount
within fusermount3 -u m && start
check "a mount that took the place of one stays" within sh -c '! pgrep -f "^fusermount3 .*-- $0/m\$"' "$TMP"
check "and serves" test -d "$f"
within fusermount3 -u m
within nothing_runs
start -o auto_unmount
kill -KILL "$(mounters)"
check "a mount goes on without its mounter" test -d "$f"
within fusermount3 -u m
check "and ends without it" within nothing_runs

# ---- Dead mounts -----------------------------------------------------------------------------------

if [ "$(id -u)" = 0 ]; then
	# dead TYPE SOURCE: a mount of that type on m, whose server has gone.
	dead() {
		"$python" -S - "$1" "$2" "$TMP/m" <<'PYTHON'
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
fd = os.open("/dev/fuse", os.O_RDWR)
type, source, place = (word.encode() for word in sys.argv[1:])
options = b"fd=%d,rootmode=40000,user_id=0,group_id=0" % fd
if libc.mount(source, place, type, 0, options) != 0:
    sys.exit(os.strerror(ctypes.get_errno()))
PYTHON
	}
	for type in fuse.other fuse fuse.rowfs2 fuse.rowf; do
		check "a dead mount of the type $type" dead "$type" fuse.rowfs
		fail_with "$type: it is none of ours" 1 '^rowfs: .*/m: is a dead mount of another filesystem, or lies in a dead mount; unmount that' start
		check "$type: it is still there" lib_mounted "$TMP/m"
		umount m
	done
	dead fuse.rowfs s
	dead fuse.rowfs "$TMP/elsewhere"
	dead fuse.other other
	dead fuse.rowfs s
	fail_with "under two dead mounts, one is another's" 1 \
		'cleared a dead mount of s.*|is a dead mount of another filesystem' start
	check_eq "those above it are cleared, it and those below it are not" 3 "$(lib_mount_table | grep -cxF "$TMP/m")"
	umount m
	check "without it the others are cleared" start
	check_eq "all of them" 1 "$(lib_mount_table | grep -cxF "$TMP/m")"
	check "and the mount serves" test -d "$f"
	umount m
	within nothing_runs
fi

# A mountpoint that cannot be looked into for another reason is no dead mount.
fail_with "a mountpoint that is missing is not made" 1 "^rowfs: nowhere: (No such file|there is no such directory)" "$rowfs" s nowhere
check "nothing is there" test ! -e nowhere
start
pid=$(servers)
kill -KILL "$pid"
within ended "$pid"
fail_with "killed, it leaves a dead mount" - 'not connected|connection abort' ls m
mkdir plain
fail_with "one below it is not, and that is said" 1 '^rowfs: .*m/t/row: .*lies in a dead mount; unmount that$' \
	"$rowfs" plain m/t/row
fail_with "which is cleared, and that is said" 0 '^rowfs: .*/m: cleared a dead mount of .*/s$' \
	bash -c '"$0" s m && exit 0' "$rowfs"
within fusermount3 -u m
check "all has ended" within nothing_runs
finish
