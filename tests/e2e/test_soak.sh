#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Processes that write, read, drop, change policies and collect in one mount, against models: each
# view is right at every step, and in the next mount. ROWFS_SOAK in the environment is the duration
# in seconds, instead of 300 steps of each writer; ROWFS_SEED chooses the changes, though not how
# they mix.

. "$(dirname "$0")/lib.sh"
FINAL=data

seconds=${ROWFS_SOAK:-0}
seed=${ROWFS_SEED:-$RANDOM}
soak() {
	"$python" -S "$LIB_DIR/soak.py" "$m" "$TMP" "$@" 2>&1
}

echo "ROWFS_SEED=$seed ROWFS_SOAK=$seconds"
new_mount '{"version":1,"tables":{"t":{"families":
	{"f":{},"s":{"gc":"maxversions=5"},"g0":{},"g1":{}}}}}' -o gcinterval=1,gcgrace=0
done=$(soak "$seconds" 300 "$seed")
echo "$done"
check_eq "what is seen is right at every step" "" "$(grep -A 100 wrong <<<"$done")"
check_eq "each part did something" 5 "$(grep -oE '[1-9][0-9]* (steps|reads|drops|policies)' <<<"$done" |
	wc -l)"
check "cells were collected" within eval '(($(jq .total.cells "$m/.rowfs/gc") > 0))'
# Its writers do write cells that their policy hides at once.
check_eq "the log has no other warning" "" \
	"$(grep -vE ': info: |its policy hides at once$' "$(mount_log "$m")")"
remount -o gcinterval=0,gcgrace=0
check_eq "and in the next mount" "as it was" "$(soak verify)"
unmount_store "$m"

finish
