#!/bin/bash
# SPDX-License-Identifier: MIT
# What the kernel keeps: that it does, and that no other process ever sees what was, by any way to
# change something.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
export TMP

m=$TMP/m
schema='{"version":1,"tables":{"t":{"families":{"f":{}}}}}'
caches=$LIB_DIR/caches.py

# ---- What is kept, by the log of all requests -----------------------------------------------

make_store "$TMP/kept" "$schema"
mount_store "$TMP/kept" "$m" -d
log=$(mount_log "$m")
f=$m/t/a/b/f
mkdir -p "$f"
echo value >"$f/q"
long=$(printf 'n%.0s' {1..230})
mkdir -p "$m/t/$long%"/tail/f
echo value >"$m/t/$long%/tail/f/q"

# Prints how many requests of a kind there were so far.
requests() {
	grep -cE "opcode: $1 " "$log"
}

# requests_of KIND COMMAND…: how many requests of a kind a command makes.
requests_of() {
	local kind=$1 before
	shift
	before=$(requests "$kind")
	"$@" >/dev/null 2>"$TMP/.requests"
	echo "$(($(requests "$kind") - before))"
}

look() {
	for ((i = 0; i < 50; i++)); do
		stat "$f/q" "$f" "$m/t/$long%/tail/f/q" "$m/t" && cat "$f/q" "$m/t/$long%/tail/f/q"
	done
}

look >/dev/null
check_eq "paths of columns and directories are looked up once" 0 "$(requests_of LOOKUP look)"
check_eq "attributes are asked for once" 0 "$(requests_of GETATTR look)"
check_eq "a file that is opened is opened each time" 100 "$(requests_of OPEN look)"

exec 3>>"$f/q"
stat "$f/q" >/dev/null
check_eq "not a column that is open to write" 50 \
	"$(requests_of LOOKUP bash -c "for ((i = 0; i < 50; i++)); do stat '$f/q'; done")"
echo more >&3
exec 3>&-
cat "$f/q" >/dev/null
check_eq "but again when that is closed" 0 "$(requests_of LOOKUP cat "$f/q")"

history=$m/.versions/t/a/b/f/q@
oldest=$(find "$history" -type f | sort | head -n 1)
check_eq "nothing below .versions is kept" 300 \
	"$(requests_of LOOKUP bash -c "for ((i = 0; i < 50; i++)); do stat '$history'; done")"
cat "$f/q" >/dev/null
rm "$oldest"
check_eq "the removal of an older version leaves the newest kept" 0 "$(requests_of LOOKUP cat "$f/q")"
mkdir "$m/t/a/b/c" "$m/t/.families/g"
check_eq "and so do a directory and a family that are made" 0 "$(requests_of LOOKUP cat "$f/q")"
touch -d @2000000000 "$f/q"
mv "$f/q" "$f/r"
check_eq "a column that was renamed keeps its entry" 0 "$(requests_of LOOKUP cat "$f/r")"
check_eq "a name that is not there is looked up each time" 50 \
	"$(requests_of LOOKUP bash -c "for ((i = 0; i < 50; i++)); do [ -e '$f/none' ]; done")"
unmount_store "$m"

# ---- What is seen -----------------------------------------------------------------------------

make_store "$TMP/s" "$schema"
mount_store "$TMP/s" "$m"
for scenario in $(python3 "$caches" --list); do
	check_eq "$scenario is seen at once" "$scenario" \
		"$(timeout 100 python3 "$caches" "$m" t "$scenario" 0.3 2>&1)"
	check_eq "$scenario, while others look" "$scenario" \
		"$(timeout 100 python3 "$caches" "$m" t "$scenario" 1 3 2>&1)"
done

# ---- What waits for what ------------------------------------------------------------------------

# Each of these in a loop of its own, until the time is over. What they meet of each other is no
# error; that one of them does not come to an end is.
end=$((SECONDS + 8))
d=$m/t/x
loops=()
run() {
	(
		while ((SECONDS < end)); do
			"$@"
		done
	) >/dev/null 2>&1 &
	loops+=($!)
}
make_versions() {
	mkdir -p "$d/f" "$m/.versions/t/x/f/q@"
	for ts in 1 2 3 4 5; do
		echo "$ts" >"$m/.versions/t/x/f/q@/$ts"
	done
	echo new >"$d/f/q"
}
run make_versions
run rm -r "$d/f/q@"
run rm -r "$m/.versions/t/x/f/q@"
run rmdir "$d/f/q@" "$m/.versions/t/x/f/q@" "$m/.versions/t/x/f" "$d/f"
run mv "$d/f/q@/2" "$d/f/p"
run mv "$d/f/q@/3" "$m/.versions/t/x/f/q@/9"
run mv "$d/f/q" "$m/.versions/t/x/f/q@/7"
run mv "$d/f/p" "$d/f/q"
run touch "$d/f/q"
run rm -rf "$d"
run grep -r . "$d"
run cat "$d/f/q" "$d/f/q@/4"
run sed -i s/n/m/ "$d/f/q"
stuck=0
for pid in "${loops[@]}"; do
	track_pid "$pid"
	for ((i = 0; i < 600; i++)); do
		lib_alive "$pid" || break
		sleep 0.1
	done
	! lib_alive "$pid" || stuck=$((stuck + 1))
done
check_eq "changes that lock against each other all come to an end" 0 "$stuck"
rm -rf "$d"
mkdir -p "$d/f"
echo after >"$d/f/q"
check_eq "and the mount is as it should be" after "$(cat "$d/f/q")"
check_eq "in both trees" after "$(cat "$m/.versions/t/x/f/q@"/*)"
unmount_store "$m"

finish
