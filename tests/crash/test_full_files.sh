#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Disks that run out of files (inodes) with room for bytes left: as test_full.sh, also where other
# programs took them.

. "$(dirname "$0")/crash.sh"
need_fuse
need_disks

disk=$TMP/disk
export ACKNOWLEDGED=$TMP/acknowledged
: >"$ACKNOWLEDGED"

# rows_of PREFIX: more of them than a drop deletes in one batch.
rows_of() {
	seq 5000 | sed "s/.*/{\"key\":\"$1#&\",\"families\":{\"f\":{\"q\":[{\"ts\":1,\"value\":\"v\"}]}}}/"
}

# take_all: makes files until there can be none.
take_all() {
	local i
	for ((i = 0; i < 1000; i++)); do
		: >"$disk/other/$i" || return 0
	done 2>/dev/null
	return 1
}

remove_files() {
	rm -r "$m/t/files" && : >"$ACKNOWLEDGED"
}

# A compaction may free inodes before df looks; then there is room again.
no_room() {
	full files "$m" 200000 ENOSPC && [[ $(df --output=pcent "$m" | tail -n 1) = *100% ]]
}

make_disk "$disk" 256 -N 48
mkdir "$disk/other"
make_store "$disk/store" '{"version":1,"tables":{"t":{"families":{"f":{}}}}}'
mount_store "$disk/store" "$m" -o gcinterval=0

check "rows are there" eval "rows_of a >'$m/t/.rows' && rows_of b >'$m/t/.rows'"
check "a file is there" full again "$m" 200000
unmount_store "$m"
mount_store "$disk/store" "$m" -o gcinterval=0
check "other programs take all inodes" take_all
check "writes are refused" full files "$m" 200000 ENOSPC
check "no value can be written" test ! -s "$ACKNOWLEDGED"
check "errors says that it is inodes" grep -q 'inodes' "$m/.rowfs/errors"
check "a file can be removed" rm "$m/t/again/0/f/q"
rm "$disk/other/0" # which a log could take; its table would then be one too many
check "rows can be dropped" eval "echo a >'$m/t/a/.drop'"
check "it can be made durable" sync_mount "$m"
rm -r "$disk/other"
check "with inodes there is room" full again "$m" 200000

check "the store itself takes them" within no_room
cat "$TMP/.check"
check "bytes are left" test "$(df --output=avail -BM "$disk" | tail -n 1 | tr -dc 0-9)" -gt 20
check "all of it is there" full verify "$m"
check "all rows can be dropped" eval "echo b >'$m/t/b/.drop'"
check "all files can be removed" remove_files
check "then there is room again" full again "$m" 1000000
unmount_store "$m"
mount_store "$disk/store" "$m"
check "also in another mount" full again "$m" 10000
unmount_store "$m"
check_fsck "$disk/store"
unplug "$disk"
finish
