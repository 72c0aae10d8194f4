#!/bin/bash
# SPDX-License-Identifier: MIT
# The kernel's caches: that it keeps entries, and that no other process ever sees a state before a
# change, by any way to change something.
#
#   ROWFS_FULL=1   more rounds of changes while others look or wait (environment)

. "$(dirname "$0")/lib.sh"
export TMP

schema='{"version":1,"tables":{"t":{"families":{"f":{}}}}}'
caches=$LIB_DIR/caches.py

# ---- Kept entries, by the log of all requests -----------------------------------------------

make_store "$TMP/kept" "$schema"
mount_store "$TMP/kept" "$m" -d
f=$m/t/a/b/f
mkdir -p "$f"
echo value >"$f/q"
long=$(printf 'n%.0s' {1..230})
mkdir -p "$m/t/$long%"/tail/f
echo value >"$m/t/$long%/tail/f/q"

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

# ---- A listing with attributes ---------------------------------------------------------------

COUNT=1000
mkdir "$m/t/.families/n" "$m/t/wide"
echo intsum >"$m/t/.families/n/type"

# Makes a row of COUNT columns, a number and a table of COUNT rows, none of which the kernel knows.
make_listed() {
	awk -v n=$COUNT 'BEGIN {
		printf "{\"families\":{\"n\":{\"sum\":1234},\"f\":{"
		for (i = 0; i < n; i++)
			printf "%s\"q%d\":\"%0*d\"", i ? "," : "", i, i % 50 + 1, 0
		print "}}}"
	}' >"$m/t/wide/.row"
	seq -f '{"key":"many#%g","families":{"f":{"q":["x"]}}}' $COUNT >"$m/t/.rows"
}

# inodes: how many the kernel holds.
inodes() {
	awk '$1 == "rowfs_inodes" { print $2 }' "$m/.rowfs/metrics"
}

# sizes DIRECTORY: of all that it lists, in order.
sizes() {
	find "$1" -mindepth 1 -maxdepth 1 -printf '%f %s\n' | sort
}

before=$(inodes)
make_listed
wide=$m/t/wide/f
stat "$wide" "$m/t/wide/n" "$m/t/many" >/dev/null
check_eq "a listing with attributes looks no column up" 0 "$(requests_of LOOKUP ls -l "$wide")"
check_eq "nor does what comes behind it" 0 "$(requests_of LOOKUP cat "$wide"/q*)"
check_eq "its sizes are the right ones" \
	"$(for ((i = 0; i < COUNT; i++)); do echo "q$i $((i % 50 + 1))"; done | sort)" "$(sizes "$wide")"
check_eq "and that of a number" "0 sum 5" "$(requests_of LOOKUP ls -l "$m/t/wide/n") $(sizes "$m/t/wide/n")"
check_eq "a listing with attributes looks no row up" 0 "$(requests_of LOOKUP ls -l "$m/t/many")"
exec 3>>"$wide/q7"
stat "$wide/q7" >/dev/null
check_eq "but a column that is open to write" 1 "$(requests_of LOOKUP sizes "$wide")"
echo >&3
exec 3>&-
ls -l "$wide" >/dev/null
check_eq "until it is closed" "0 9" "$(requests_of LOOKUP ls -l "$wide") $(stat -c %s "$wide/q7")"
echo '{"delete":true}' >"$m/t/wide/.row"
echo many >"$m/t/many/.drop"
check_eq "nothing is listed of what was deleted" "" "$(sizes "$m/t/wide")$(sizes "$m/t/many" 2>/dev/null)"
within eval '(($(inodes) <= before + 10))'
check "and what listings gave the kernel is given back: all but control files and the like" \
	[ "$(inodes)" -le $((before + 10)) ]
unmount_store "$m"

# ---- Views of other processes -----------------------------------------------------------------

new_mount "$schema"
for scenario in $("$python" -S "$caches" --list); do
	check_eq "$scenario is seen at once" "$scenario" \
		"$("$python" -S "$caches" "$m" t "$scenario" 0 2>&1)"
	check_eq "$scenario, while others look" "$scenario" \
		"$("$python" -S "$caches" "$m" t "$scenario" "$(rounds 0.1 0.3)" 3 2>&1)"
done

# ---- Waits --------------------------------------------------------------------------------------

# Each of these runs in a loop of its own, until the versions were made so often. Errors from meeting each
# other are no fault; a loop that does not come to an end is.
d=$m/t/x times=$(rounds 20 120)
loops=()
run() {
	(
		until [ -e "$TMP/over" ]; do
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
for ((i = 0; i < times; i++)); do
	make_versions 2>"$TMP/made"
done &
loops+=($!)
within ended $!
touch "$TMP/over"
stuck=0
for pid in "${loops[@]}"; do
	track_pid "$pid"
	within ended "$pid" || stuck=$((stuck + 1))
done
check_eq "changes that lock against each other all come to an end" 0 "$stuck"
rm -rf "$d"
mkdir -p "$d/f"
echo after >"$d/f/q"
check_eq "and the mount is as it should be" after "$(cat "$d/f/q")"
check_eq "in both trees" after "$(cat "$m/.versions/t/x/f/q@"/*)"
unmount_store "$m"

finish
