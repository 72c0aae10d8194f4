#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Power cuts under a mixed load, N of them (default: 4), half of them on a mount with the option
# sync. After each everything that was promised is there, nothing is half there, nothing came back.
#
#   tests/crash/test_power.sh [N [SEED]]     N: also ROWFS_ROUNDS in the environment

. "$(dirname "$0")/crash.sh"
need_fuse
need_disks

cuts=${1:-${ROWFS_ROUNDS:-4}}
seed=${2:-$RANDOM$RANDOM}
disk=$TMP/disk
store=$disk/store

# logs: how many logs the engine left that are not empty.
logs() {
	find "$store/data" -name '*.log' -size +0 | wc -l
}

# cut NUMBER: one round.
cut() {
	local options=(-o gcinterval=1) promise=synced
	if (($1 % 2)); then
		options+=(-o sync)
		promise=everything
	fi
	mount_store "$store" "$m" "${options[@]}"
	check "cut $1: the load goes on until then" load run "$m" "$TMP/state" $((seed + $1)) \
		power "$disk"
	unmount_store "$m"
	unplug "$disk"
	plug "$disk"
	after_crash "cut $1 (seed $seed, $promise)" "$store" "$m" "$TMP/state" "$promise" "$(logs)"
}

make_disk "$disk" 768
crash_often "$cuts" "$store" "$TMP/state" cut
check_rounds 50
unplug "$disk"
finish
