#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Processes that write, read, rename and remove the same columns at once: each read is one whole
# value. A writer sees, with at most one exception, the size of its own value, with any entries in
# the kernel's cache.

. "$(dirname "$0")/lib.sh"

m=$TMP/m
make_store "$TMP/s" '{"version":1,"tables":{"t":{"families":{"f":{}}}}}'
mount_store "$TMP/s" "$m"

# race PROCESSES ACT…
race() {
	local processes=$1
	shift
	check_eq "$processes processes: $*" ok \
		"$(python3 "$(dirname "$0")/races.py" "$m/t/row$((row++))/f" 3 "$processes" "$@" 2>>"$TMP/acts")"
}

row=1
race 4 write edit read map look
race 4 write remove read
race 4 write move read
race 3 edit edit remove
race 6 write read map remove move edit look
race 6 write read remove move edit look resume
for act in write edit read map_it remove move look resume; do
	check "each was done: $act" grep -q "$act:" "$TMP/acts"
done
check "nothing is left open" within grep -qx 'rowfs_open_files 1' "$m/.rowfs/metrics"

finish
