#!/bin/bash
# SPDX-License-Identifier: MIT
#
# What the kernel keeps of cells that their age will hide, when the clock of rowfs is set. The kernel's
# own clock is another, so what it keeps goes only where rowfs says so.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/clock.sh
. "$(dirname "$0")/clock.sh"

m=$TMP/m
f=$m/t/row/f

# requests KIND: how many there were.
requests() {
	grep -cE "opcode: $1 " "$log"
}

# lookups COMMAND…: how many the command makes.
lookups() {
	local before
	before=$(requests LOOKUP)
	"$@" >/dev/null 2>&1
	echo $(($(requests LOOKUP) - before))
}

# fails_within SECONDS COMMAND…: it fails before so many seconds are over.
fails_within() {
	local end=$((SECONDS + $1 + 1))
	shift
	while "$@" >/dev/null 2>&1; do
		((SECONDS < end)) || return 1
		sleep 0.05
	done
}

make_store "$TMP/s" \
	'{"version":1,"tables":{"t":{"families":{"f":{"gc":"maxage=1d"},"g":{}}},"u":{"families":{"f":{}}}}}'
fake_clock
set_clock +0d
mount_store "$TMP/s" "$m" -d -o gcinterval=0
log=$(mount_log "$m")
mkdir -p "$f" "$m/u/row/f"
echo 1 >"$f/q"
echo 1 >"$f/r"
echo stays >"$m/u/row/f/q"
cat "$f/q" "$f/r" "$m/u/row/f/q" >/dev/null # so that they are kept
# The row's directories are looked up each time, since they may go with their last cell.
above=$(lookups stat "$f")
check_eq "a column is kept" "$above" "$(lookups cat "$f/q")"
check_eq "one of another table, too" 0 "$(lookups cat "$m/u/row/f/q")"
sleep 2.5
check_eq "while nobody sets the clock" "$above" "$(lookups cat "$f/q")"

set_clock +2d
fail_with "two days later it cannot be opened at once" 1 'No such file' cat "$f/q"
check "its name is gone soon" fails_within 2 stat "$f/q"
check "and that of another" fails_within 2 stat "$f/r"
check_eq "what has no age is as it was" stays "$(cat "$m/u/row/f/q")"
check_eq "and still kept" 0 "$(lookups cat "$m/u/row/f/q")"

set_clock +0d
check_eq "back again it is there" 1 "$(cat "$f/q")"
cat "$f/r" >/dev/null
sleep 1.5
set_clock +2d
check "the second time it goes as well" fails_within 2 stat "$f/r"
set_clock +1d
echo 2 >"$f/q"
cat "$f/q" >/dev/null
set_clock +47h
sleep 1.5
check_eq "a jump within its age leaves it" 2 "$(cat "$f/q")"
set_clock +49h
check "and one beyond does not" fails_within 2 stat "$f/q"
unmount_store "$m"

finish
