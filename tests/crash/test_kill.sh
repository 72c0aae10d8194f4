#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The process behind a mount is killed under a mixed load, N times (default: 4). After each all
# that was acknowledged is there, synced or not, and nothing is half there.
#
#   tests/crash/test_kill.sh [N [SEED]]     N: also ROWFS_ROUNDS in the environment

. "$(dirname "$0")/crash.sh"
need_fuse

check "the model takes what may be there, and finds what may not" "$python" -S "$CRASH_DIR/model_test.py"
kills=${1:-${ROWFS_ROUNDS:-4}}
seed=${2:-$RANDOM$RANDOM}
store=$TMP/store

# kill_once NUMBER: one round.
kill_once() {
	mount_store "$store" "$m" -o gcinterval=1
	check "kill $1: the load goes on until then" load run "$m" "$TMP/state" $((seed + $1)) \
		kill "$(mount_pid "$m")"
	bury_mount "$m"
	after_crash "kill $1 (seed $seed)" "$store" "$m" "$TMP/state" everything 1
}

crash_often "$kills" "$store" "$TMP/state" kill_once
check_rounds 75
finish
