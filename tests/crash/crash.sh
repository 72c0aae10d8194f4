# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Shared by the tests of crashes, on top of the end-to-end tests' lib.sh: a small ext4 in a file.

. "$(dirname "${BASH_SOURCE[0]}")/../e2e/lib.sh"
FINAL=data

CRASH_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# need_disks: a machine where an ext4 can be mounted from a file, or the test is skipped.
need_disks() {
	[ "$(id -u)" = 0 ] || skip "only root can mount an ext4"
	grep -qw ext4 /proc/filesystems || skip "the kernel has no ext4"
	losetup -f >/dev/null 2>&1 || skip "there is no loop device"
}

# make_disk DIRECTORY MIB [OPTION…]: an ext4 of that size, mounted there, with these options of
# mkfs.ext4. Its file is DIRECTORY.img.
make_disk() {
	truncate -s "$2M" "$1.img"
	mkfs.ext4 -q -F -m 0 "${@:3}" "$1.img" || die "cannot make an ext4"
	mkdir -p "$1"
	plug "$1"
}

# plug DIRECTORY: mounts it. Not with the option discard: a commit that a cut interrupts still discards
# the blocks that it would have freed, which the files before it go on using.
plug() {
	mount -o loop "$1.img" "$1" 2>"$TMP/.plug" ||
		die "cannot mount an ext4: $(lib_tail "$TMP/.plug")"
	track_mount "$1"
}

# unplug DIRECTORY: unmounts it, and waits until its loop device is gone too: another device on the
# same file would not see writes that this one still holds.
unplug() {
	local image tries
	image=$(realpath "$1.img")
	umount "$1" 2>"$TMP/.plug" || die "cannot unmount an ext4: $(lib_tail "$TMP/.plug")"
	lib_forget "$(realpath -ms "$1")"
	for ((tries = LIB_PATIENCE * 20; tries > 0; tries--)); do
		[ -n "$(losetup -j "$image")" ] || return 0
		sleep 0.05
	done
	die "the loop device of $1 does not go"
}

# bury_mount MOUNTPOINT: unmounts a mount of mount_store whose process was killed.
bury_mount() {
	local mountpoint
	mountpoint=$(realpath -ms "$1")
	wait "${LIB_MOUNT_PID[$mountpoint]}" 2>/dev/null
	check "a mount whose process was killed goes" fusermount3 -u "$mountpoint"
	lib_forget "$mountpoint"
}

# load ARGUMENT…: load.py.
load() {
	"$python" -S "$CRASH_DIR/load.py" "$@"
}

# full ARGUMENT…: full.py.
full() {
	"$python" -S "$CRASH_DIR/full.py" "$@"
}

# sync_mount MOUNTPOINT: makes all of it durable.
sync_mount() {
	sync "$1"
}

# check_fsck STORE [WHEN]: the store is whole.
check_fsck() {
	check "fsck.rowfs finds nothing${2:+, $2}" "$BUILD/fsck.rowfs" -n "$1"
}

# whole_but_drops STORE: as check_fsck, but for drops that a crash met: the next mount finishes them.
whole_but_drops() {
	local drops
	"$BUILD/fsck.rowfs" -n "$1" >"$TMP/.fsck" 2>&1 && return
	cat "$TMP/.fsck"
	drops=$(grep -c ': a drop of rows was not finished; a mount finishes it$' "$TMP/.fsck")
	((drops > 0)) && grep -q ": $drops found, 0 corrected, $drops left;" "$TMP/.fsck"
}

# Totals of all rounds of a test of crashes: see check_rounds.
ROUNDS=0
TELLING=0
GAPS=0

# after_crash NAME STORE MOUNTPOINT STATE PROMISE LOGS: load.py check accepts the content that the
# load left, and the store is whole, both before and after a mount met it.
after_crash() {
	local what
	check "fsck.rowfs finds nothing, $1, before a mount" whole_but_drops "$2"
	mount_store "$2" "$3"
	check "$1: what must be there is" load check "$3" "$4" "$5" "$6"
	what=$(tail -n 1 "$TMP/.check")
	echo "$what"
	((++ROUNDS))
	[[ $what =~ \ ([0-9]+)\ promised ]] && ((BASH_REMATCH[1] >= 10 && ++TELLING))
	[[ $what =~ gap ]] && ((++GAPS))
	unmount_store "$3"
	check_fsck "$2" "$1, after a mount"
}

# crash_often N STORE STATE FUNCTION: calls that with each number up to N, until a check fails. The
# store is a young one now and then.
crash_often() {
	local number
	for ((number = 1; number <= $1; number++)); do
		if ((number % 25 == 1)); then
			rm -rf "$2" "$3"
			make_store "$2" "$(load schema)"
		fi
		"$4" "$number"
		((FAILED == 0)) || return
	done
}

# check_rounds PERCENT: in so many of the rounds at least ten steps had to be there, else they tell
# nothing; and few have a gap, in which cells are looked at by themselves.
check_rounds() {
	echo "$ROUNDS rounds, $TELLING with ten promises or more, $GAPS with a gap"
	check "of $ROUNDS rounds $1% had to keep ten steps" \
		test $((ROUNDS > 0 && TELLING * 100 >= ROUNDS * $1)) = 1
	check "of $ROUNDS rounds few have a gap" test $((GAPS * 4)) -le $((ROUNDS + 4))
}
