#!/bin/bash
# SPDX-License-Identifier: MIT
# Files that are opened without a lookup: a file handle opens its own file or none, and a column that
# is bound to a place, or held by O_PATH or open, shows its newest value to each new open.

. "$(dirname "$0")/lib.sh"
own_mounts
[ "$(id -u)" = 0 ] || skip "only root can open a file handle"

handles() {
	"$python" -S "$LIB_DIR/handles.py" "$m" "$TMP/place" "$@" 2>&1
}

: >"$TMP/place"
new_mount '{"version":1,"tables":{"t":{"families":{"f":{},"n":{"type":"intsum"}}}}}'
check_eq "a file handle opens its own file, or is ESTALE" "" "$(handles handles)"
remount
check_eq "one of an earlier mount is ESTALE" "" "$(handles earlier)"
while read -r scenario way; do
	check_eq "$scenario, $way" "" "$(handles "$scenario" "$way")"
done < <(handles --list)

finish
