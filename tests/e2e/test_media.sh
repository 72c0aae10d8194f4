#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A store on a medium that cannot be written, or has no room: each program names a remedy, the
# remedy helps, and nothing is lost. Needs root, for the media.

. "$(dirname "$0")/lib.sh"
cd "$TMP" || die "no $TMP"
[ "$(id -u)" = 0 ] || skip "only root can mount a medium"
PATH=$BUILD:$PATH

make_store base '{"tables":{"t":{"families":{"f":{}}}}}'
{
	echo '{"table":"t"}'
	for ((i = 0; i < 2000; i++)); do
		printf '{"key":"r%04d","families":{"f":{"q":[{"ts":1,"value":"%0200d"}]}}}\n' $i $i
	done
} >rows
rowfs-load base rows || die "the rows cannot be loaded"
rowfs-dump base >whole || die "the store cannot be dumped"
mkdir m medium

# on_medium OPTIONS: the store is medium/s, on a medium of its own.
on_medium() {
	mount -t tmpfs -o "$1" none medium || die "no medium"
	cp -a base medium/s
}

# ---- That cannot be written ------------------------------------------------------------------

on_medium size=16m
mount -o remount,ro medium || die "it stays writable"
words="^[a-z-]*: $TMP/medium/s: its LOCK cannot be opened: Read-only file system; copy the store \(cp -a\) to a medium that can be written, and use the copy$"
fail_with "read-only: rowfs" 1 "$words" rowfs medium/s m
fail_with "read-only: rowfs -o ro" 1 "$words" rowfs -o ro medium/s m
fail_with "read-only: rowfs-dump" 1 "$words" rowfs-dump medium/s
fail_with "read-only: rowfs-load" 1 "$words" rowfs-load medium/s rows
check "read-only: fsck.rowfs -n can look" fsck.rowfs -n medium/s
cp -a medium/s copy
check_eq "read-only: the copy has all rows" "$(cat whole)" "$(rowfs-dump copy)"
umount medium || die "the medium is busy"

# ---- Without room ----------------------------------------------------------------------------

on_medium size=16m
cat /dev/zero >medium/other 2>"$TMP/.full"
words="^[a-z.-]*: .*: No space left on device; make some room on that medium, which the engine needs to start, and try again$"
fail_with "no room: rowfs" 1 "$words" rowfs medium/s m
fail_with "no room: rowfs-dump" 1 "$words" rowfs-dump medium/s
check "no room: fsck.rowfs -n can look" fsck.rowfs -n medium/s
check "no room: fsck.rowfs -y finds nothing to repair, and writes nothing" fsck.rowfs -y medium/s
truncate -s -1M medium/other
mount_store medium/s m
check_eq "some room: the mount serves all rows" 2000 "$(find m/t -mindepth 1 -maxdepth 1 | wc -l)"
unmount_store m
rm medium/other
check_eq "some room: nothing is lost" "$(cat whole)" "$(rowfs-dump medium/s)"
umount medium || die "the medium is busy"

# A repair that has no room does not begin.
on_medium size=40m
table=$(find medium/s/data -name '*.ldb' -size +9k | head -n 1)
printf garbage | dd of="$table" bs=1 seek=5000 conv=notrunc status=none
head -c 30M /dev/zero >medium/other # there is room for a copy of it, but not for all that a repair writes
before=$(find medium/s -type f -exec sha256sum {} + | sort)
fail_with "no room for a repair: fsck.rowfs -y" 8 \
	"^fsck.rowfs: $TMP/medium/s/data: a repair takes up to [0-9]+ MiB, which that medium has no room for; make room and repair again$" \
	fsck.rowfs -y medium/s
check_eq "no room for a repair: it changes nothing" "$before" "$(find medium/s -type f -exec sha256sum {} + | sort)"
check_eq "no room for a repair: and copies nothing" "" "$(compgen -G 'medium/s.quarantine-*')"
rm medium/other
fsck.rowfs -y medium/s >repaired
check_eq "no room for a repair: with room it repairs" 1 $?
rowfs-dump medium/s >rest
check "no room for a repair: and the other rows are there" test "$(comm -12 <(sort whole) <(sort rest) | wc -l)" -gt 1500
umount medium

finish
