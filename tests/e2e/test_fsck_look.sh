#!/bin/bash
# SPDX-License-Identifier: MIT
#
# fsck.rowfs -n just looks: on a medium that cannot be written to, beside others that look, and
# leaving nothing behind; but not while somebody uses the store. It looks at stores only: a
# directory without a good marker is a store only where nothing else is in it.

. "$(dirname "$0")/lib.sh"

cd "$TMP" || exit 1
make_store s '{"version":1,"tables":{"t":{"families":{"f":{}}}}}'
for i in $(seq 100); do
	echo "{\"key\":\"r$i\",\"families\":{\"f\":{\"q\":\"v$i\"}}}"
done >rows
sed -i '1i {"table":"t"}' rows
"$BUILD/rowfs-load" s rows || die "cannot load"

rm s/LOCK
find s -type f -printf '%p %s %T@\n' | sort >before
check_eq "a store without its LOCK is clean" 0 "$("$BUILD/fsck.rowfs" -n s >out 2>&1; echo $?)"
check_eq "and is as it was" "$(cat before)" "$(find s -type f -printf '%p %s %T@\n' | sort)"
"$BUILD/rowfs-dump" s >/dev/null || die "cannot dump"
check "who uses it makes one" test -f s/LOCK

mkdir m

# locked KIND COMMAND…: runs it while another process holds such a lock, as docs/format.md has it.
locked() {
	python3 -c 'import fcntl, subprocess, sys
lock = open("s/LOCK", "r+")
fcntl.lockf(lock, getattr(fcntl, sys.argv[1]) | fcntl.LOCK_NB)
sys.exit(subprocess.call(sys.argv[2:]))' "$@"
}

check "who looks does not keep out who looks" locked LOCK_SH "$BUILD/fsck.rowfs" -n s
fail_with "but who would use it" 1 "in use by process" locked LOCK_SH "$BUILD/rowfs-dump" s
fail_with "and is kept out by who uses it" 8 "in use by process" \
	locked LOCK_EX "$BUILD/fsck.rowfs" -n s

# released COMMAND…: the same, but the other process lets go when the command has tried for a while.
released() {
	python3 -c 'import fcntl, subprocess, sys, time
lock = open("s/LOCK", "r+")
fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
command = subprocess.Popen(sys.argv[1:])
time.sleep(0.5)
fcntl.lockf(lock, fcntl.LOCK_UN)
sys.exit(command.wait())' "$@"
}

check "what is let go within a second is waited for" released "$BUILD/fsck.rowfs" -n s
check "also by who would use it" released "$BUILD/rowfs-dump" s
# The mount is gone before its process, as after any umount.
for i in 1 2 3; do
	"$BUILD/rowfs" s m || die "cannot mount"
	track_mount m
	check "the store can be used right behind an unmount" \
		bash -c 'fusermount3 -u m && "$0" s /dev/null' "$BUILD/rowfs-load"
done

# ---- A store whose marker is not good ------------------------------------------------------------

# unmarked COMMAND…: runs it in `u`, a new copy of the store.
unmarked() {
	rm -rf u u.quarantine-*
	if ! cp -a s u || ! (cd u && "$@"); then
		die "no copy"
	fi
}

# mended NAME: fsck.rowfs -y mends `u`.
mended() {
	check_eq "$1" "1 0" \
		"$("$BUILD/fsck.rowfs" -y u >out 2>&1; echo $?) $("$BUILD/fsck.rowfs" -n u >out 2>&1; echo $?)"
}

# told NAME WORDS: a check, a repair or a mount of `u` fails with these words, and the store stays
# as it is.
told() {
	local before option
	before=$(find u -printf '%p %s %T@ %l\n' | sort)
	for option in -n -y; do
		fail_with "$1: fsck.rowfs $option says what it is" 8 "^fsck.rowfs: $TMP/u$2\$" "$BUILD/fsck.rowfs" $option u
	done
	fail_with "$1: rowfs does, too" 1 "^rowfs: $TMP/u$2\$" "$BUILD/rowfs" -f u m
	fail_with "$1: so does rowfs-dump" 1 "^rowfs-dump: $TMP/u$2\$" "$BUILD/rowfs-dump" u
	check_eq "$1: it is as it was" "$before" "$(find u -printf '%p %s %T@ %l\n' | sort)"
}

# foreign NAME ENTRY COMMAND…: the entry that the command makes keeps the store from being mended
# until it is moved away.
foreign() {
	unmarked "${@:3}"
	told "$1" "/$2: not a store's, and ROWFS is damaged or missing; move it away and run fsck.rowfs -y"
	rm -rf away && mv "u/$2" away
	mended "$1: moved away, it is mended"
}

foreign "the marker under another name" ROWFS~ mv ROWFS ROWFS~
foreign "no marker, and somebody's file" foo mv ROWFS foo
foreign "a damaged marker, and somebody's directory" sub sh -c 'echo junk >ROWFS; mkdir sub'
foreign "a directory for the marker" ROWFS sh -c 'rm ROWFS; mkdir ROWFS'
foreign "a link for the marker" ROWFS sh -c 'mv ROWFS ../marker; ln -s ../marker ROWFS'
# The root of a medium has it.
for damage in 'rm ROWFS' 'echo junk >ROWFS'; do
	unmarked sh -c "mkdir lost+found; $damage"
	mended "lost+found is nobody's ($damage)"
	check "and stays" test -d u/lost+found
done
unmarked rm ROWFS LOCK
told "neither marker nor lock" \
	": has data/, but neither LOCK nor ROWFS; if it is a store, touch its LOCK and run fsck.rowfs -y"
touch u/LOCK
mended "with a lock it is mended"

# ---- Few descriptors -------------------------------------------------------------------------------

# few LIMIT COMMAND…: with so few descriptors.
few() (
	ulimit -n "$1" && exec "${@:2}"
)

# descriptors OPTION: with any limit, it checks the whole store `u`, or names the resource of which
# it has too few.
descriptors() {
	local limit status wrong="" short=0 said
	for ((limit = 3; limit <= 40; limit++)); do
		few $limit "$BUILD/fsck.rowfs" --version >said 2>&1 || continue # it cannot even start
		status=0
		few $limit "$BUILD/fsck.rowfs" "$1" u >said 2>&1 || status=$?
		said=$(cat said)
		case $status:$said in
		0:"u: clean; "*) ;;
		8:fsck.rowfs:*": Too many open files") short=$((short + 1)) ;;
		*) wrong="$wrong; $limit: $status: $said" ;;
		esac
	done
	check_eq "with few descriptors $1 finds no damage" "" "$wrong"
	check "nor does it check then ($short)" test "$short" -gt 3
	check_eq "nor leave something behind" "" "$(find . -name 'fsck.rowfs.*' -o -name '*quarantine*')"
}

unmarked true
rm -rf ./*quarantine* && mkdir tmp
export TMPDIR=$TMP/tmp
descriptors -n
descriptors -y
unset TMPDIR
check_eq "and all is there" "$("$BUILD/rowfs-dump" s)" "$("$BUILD/rowfs-dump" u)"

# ---- By others -----------------------------------------------------------------------------------

# as_user COMMAND…: as an ordinary user, for whom this directory is /mnt, since those above it may be
# closed to others.
as_user() {
	"$LIB_DIR/own_mounts.sh" sh -c 'mount --bind . /mnt && cd /mnt &&
		TMPDIR=/mnt exec setpriv --reuid=1 --regid=1 --clear-groups -- "$@"' - "$@"
}

if [ "$(id -u)" = 0 ]; then
	mkdir ro
	mount --bind s ro && track_mount ro
	mount -o remount,bind,ro ro || die "cannot mount read-only"
	check_eq "on a medium that is read-only, too" 0 \
		"$("$BUILD/fsck.rowfs" -n ro >out 2>&1; echo $?)"
	check_eq "-y says why it cannot" 8 "$("$BUILD/fsck.rowfs" -y ro >out 2>&1; echo $?)"
	check "in words" grep -q "Read-only file system" out
	umount ro && lib_forget "$(realpath -ms ro)"

	# A file that a user may not read is no damage, which -y would mend.
	"$BUILD/rowfs-load" s rows || die "cannot load"
	table=$(find s/data -name '*.ldb' | head -n 1)
	chown -R 1:1 s
	chown 0:0 "$table"
	chmod 600 "$table"
	chmod 777 .
	cp "$BUILD/fsck.rowfs" .
	fail_with "a table that the user may not read stops a check" 8 \
		"${table##*/}: Permission denied" as_user ./fsck.rowfs -n s
	fail_with "and a repair" 8 "${table##*/}: Permission denied" as_user ./fsck.rowfs -y s
	check_eq "which leaves no quarantine" "" "$(find . -name '*quarantine*')"
	check "and nothing was wrong" "$BUILD/fsck.rowfs" -n s
	chown 1:1 "$table"
	chown 0:0 s/ROWFS
	fail_with "nor is a marker damaged that the user may not read" 8 "/s/ROWFS: Permission denied\$" as_user ./fsck.rowfs -y s
fi
finish
