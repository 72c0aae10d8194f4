#!/bin/bash
# SPDX-License-Identifier: MIT
#
# fsck.rowfs -n just looks: on a medium that cannot be written to, beside others that look, and leaving nothing
# behind; but not while somebody uses the store. It looks at stores only: a directory without a good marker is a store
# only where nothing else is in it.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/fsck.sh"

{
	echo '{"table":"t"}'
	for i in $(seq 100); do
		echo '{"key":"r'"$i"'","families":{"f":{"q":[{"ts":1,"value":"v"}]}}}'
	done
} >rows
make_base base rows
use base

# files DIRECTORY: its files, with sizes and times.
files() {
	find "$1" -printf '%p %s %T@ %l\n' | sort
}

rm s/LOCK
before=$(find s -type f -printf '%p %s %T@\n' | sort)
check "a store without its LOCK is clean" "$fsck" -n s
check_eq "and is as it was" "$before" "$(find s -type f -printf '%p %s %T@\n' | sort)"
check "a program that uses it makes one" test "$(cells s | wc -l)$(ls s/LOCK)" = 100s/LOCK

# locked KIND RELEASE COMMAND…: runs it while another process holds such a lock, as docs/format.md has it, until it
# waits or to the end.
locked() {
	"$python" -S -c 'import fcntl, subprocess, sys
lock = open("s/LOCK", "r+")
fcntl.lockf(lock, getattr(fcntl, sys.argv[1]) | fcntl.LOCK_NB)
command = subprocess.Popen(sys.argv[3:])
def waits():
    with open("/proc/%d/wchan" % command.pid) as file:
        return "nanosleep" in file.read()
if sys.argv[2] == "waits":
    while command.poll() is None and not waits():
        pass
    fcntl.lockf(lock, fcntl.LOCK_UN)
sys.exit(command.wait())' "$@"
}

# slowly COMMAND…: a second of its clock takes 100.
slowly() {
	at_time "2026-01-01 00:00:00 x0.01" "$@"
}

check "a check does not keep out another" locked LOCK_SH end "$fsck" -n s
fail_with "but keeps out a program that uses the store" 1 "in use by process" locked LOCK_SH end "$BUILD/rowfs-dump" s
fail_with "and is kept out by it" 8 "in use by process" locked LOCK_EX end "$fsck" -n s
check "a lock that is released within a second is waited for" slowly locked LOCK_EX waits "$fsck" -n s
check "also by a program that would use it" slowly locked LOCK_EX waits "$BUILD/rowfs-dump" s
# The mount is gone before its process, as after any umount.
for i in 1 2 3; do
	"$BUILD/rowfs" s mounted || die "cannot mount"
	track_mount mounted
	check "the store can be used right behind an unmount" \
		bash -c 'fusermount3 -u mounted && "$0" s /dev/null' "$BUILD/rowfs-load"
done

# ---- A store whose marker is not good ------------------------------------------------------------

for case in "neither marker nor lock|rm s/ROWFS s/LOCK" "data/ of another program|rm -r s/ROWFS s/data/* && touch s/data/notes"; do
	fresh
	eval "${case#*|}"
	before=$(files s)
	for option in -n -y; do
		fail_with "${case%|*}: fsck.rowfs $option leaves it alone" 8 \
			'^fsck.rowfs: s: not a rowfs store: it has no marker ROWFS; mkfs.rowfs makes a store$' "$fsck" $option s
	done
	check_eq "${case%|*}: it is as it was" "$before" "$(files s)"
done
rows <<'END'
with a lock it is mended | rm ROWFS LOCK; touch LOCK | ROWFS: damaged or missing | kept=- all
no marker, and lost+found | rm ROWFS; mkdir lost+found | ROWFS: damaged or missing | kept=- all | test -d s/lost+found
a damaged marker, and somebody's directory | echo junk >ROWFS; mkdir sub | ROWFS: damaged or missing | all | test -d s/sub
END

# ---- Few descriptors -------------------------------------------------------------------------------

# few LIMIT COMMAND…: with so few descriptors.
few() (
	ulimit -n "$1" && exec "${@:2}"
)

# With any limit, it checks the whole store, or names the resource of which it has too few.
fresh
for option in -n -y; do
	wrong="" short=0
	for ((limit = 3; limit <= 40; limit++)); do
		few $limit "$fsck" --version >said 2>&1 || continue # it cannot even start
		status=0
		few $limit "$fsck" $option s >said 2>&1 || status=$?
		case $status:$(cat said) in
		"0:s: clean; "*) ;;
		8:fsck.rowfs:*": Too many open files") short=$((short + 1)) ;;
		*) wrong+="; $limit: $status: $(cat said)" ;;
		esac
	done
	check_eq "with few descriptors $option finds no damage" "" "$wrong"
	check "nor does it check then ($short)" test "$short" -gt 3
	check_eq "nor leave something behind" "" "$(find . -name 'fsck.rowfs.*' -o -name '*quarantine*')"
done
expect all

# ---- By others -----------------------------------------------------------------------------------

# as_user COMMAND…: as an ordinary user, for whom this directory is /mnt, since those above it may be closed to others.
as_user() {
	"$LIB_DIR/own_mounts.sh" sh -c 'mount --bind . /mnt && cd /mnt &&
		TMPDIR=/mnt exec setpriv --reuid=1 --regid=1 --clear-groups -- "$@"' - "$@"
}

if [ "$(id -u)" = 0 ]; then
	mkdir ro
	mount --bind s ro && track_mount ro
	mount -o remount,bind,ro ro || die "cannot mount read-only"
	check "on a medium that is read-only, too" "$fsck" -n ro
	fail_with "-y says why it cannot" 8 "Read-only file system" "$fsck" -y ro
	umount ro && lib_forget "$(realpath -ms ro)"

	# A file that a user may not read is no damage, which -y would mend.
	table=$(find s/data -name '*.ldb' -size +1k | head -n 1)
	chown -R 1:1 s
	chown 0:0 "$table"
	chmod 600 "$table"
	chmod 777 .
	cp "$fsck" .
	for option in -n -y; do
		fail_with "a table that the user may not read ends $option" 8 "${table##*/}: Permission denied" \
			as_user ./fsck.rowfs $option s
	done
	check_eq "which leaves no quarantine" "" "$(find . -name '*quarantine*')"
	check "and nothing was wrong" "$fsck" -n s
	chown 1:1 "$table"
	chown 0:0 s/ROWFS
	# The command names the store if the message has all of its path. Root runs it in a shell.
	long=$(printf 'long%0120d' 0) bait="a'\$(touch pwn);b"
	for store in s "$bait" "$long"; do
		argument=/mnt/$store
		[ "$store" = "$long" ] && argument=STORE
		[ "$store" = s ] || mv s "$store"
		fail_with "nor is a marker damaged that the user may not read: $store" 8 'ROWFS: Permission denied: it belongs to root,' \
			as_user ./fsck.rowfs -y "$store"
		check_eq "which the command repairs: $store" "-R 1 $argument" \
			"$(bash -c "chown() { echo \"\$*\"; }; $(as_user ./fsck.rowfs -y "$store" 2>&1 | sed 's/.*; as root: //')")"
		[ "$store" = s ] || mv "$store" s
	done
	check "which runs no other" [ ! -e pwn ]
fi

# shellcheck disable=SC2154 # fsck.sh sets it
check "the converter did not end" kill -0 "$converter"
finish
