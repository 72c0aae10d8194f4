#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The server's timestamps while its clock stands still, goes back and jumps: the present where that
# is later than the column's newest cell, else a microsecond later than that; no version is lost.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cells.sh"

f=$m/t/row/f
base=1700000000000000 # 2023-11-14 22:13:20

# rowfs has the clock that set_clock sets. The store is $TMP/s.
library=$(faketime_library) || die "there is no libfaketime"
mkdir "$TMP/programs"
ln -s "$BUILD"/*.rowfs "$TMP/programs"
cat >"$TMP/programs/rowfs" <<END
#!/bin/sh
export LD_PRELOAD=$library FAKETIME_TIMESTAMP_FILE=$TMP/s/clock FAKETIME_NO_CACHE=1
export FAKETIME_DONT_FAKE_MONOTONIC=1 DONT_FAKE_MONOTONIC=1
export ASAN_OPTIONS="\${ASAN_OPTIONS:+\$ASAN_OPTIONS:}verify_asan_link_order=0"
exec "$BUILD/rowfs" "\$@"
END
chmod +x "$TMP/programs/rowfs"
BUILD=$TMP/programs

# set_clock TIME: as libfaketime takes it, "YYYY-MM-DD hh:mm:ss" or +2d.
set_clock() {
	echo "$1" >"$TMP/clock.new"
	mv "$TMP/clock.new" "$TMP/s/clock"
}

# clock SECONDS: it stands at so many seconds after the base.
clock() {
	set_clock "$(date -d "@$((base / 1000000 + $1))" '+%F %T')"
}

# stamps COLUMN: its timestamps as microseconds after the base, oldest first.
stamps() {
	entries "$f/$1@" | tac | while read -r ts; do echo $((ts - base)); done | paste -sd ' '
}

# values COLUMN: the values of its cells, oldest first.
values() {
	jq -j --arg column "$1" '.families.f[$column] | reverse[].value' "$m/t/row/.row"
}

# writes COLUMN FROM TO: one version for each number.
writes() {
	local i
	for ((i = $2; i <= $3; i++)); do
		echo "$i" >"$f/$1"
	done
}

make_store "$TMP/s" '{"version":1,"tables":{"t":{"families":{"f":{}}}}}'
clock 0
mount_store "$TMP/s" "$m"
mkdir -p "$f"

# ---- It stands still ---------------------------------------------------------------------------

writes still 1 100
check_eq "100 writes at one moment: each a microsecond after the one before" \
	"$(seq -s ' ' 0 99)" "$(stamps still)"
check "each has its value" cmp <(seq 100) <(cat "$f/still@"/*)
check_eq "the newest is shown" "100 1700000000.000099" "$(cat "$f/still") $(stat -c %.6Y "$f/still")"
writes other 1 1
check_eq "another column is of the present" 0 "$(stamps other)"
seq 200 | xargs -P 8 -n 1 bash -c 'echo "$1" >"$0"' "$f/race"
check_eq "of 8 writers at one moment each has a timestamp of its own" "$(seq -s ' ' 0 199)" "$(stamps race)"
check "and none is lost" cmp <(seq 200) <(values race | sort -n)
seq 100 | xargs -P 8 -n 1 bash -c 'echo "$1" >>"$0"' "$f/append"
check_eq "so with 8 that append" "$(seq -s ' ' 0 99)" "$(stamps append)"
check "whose lines are all there" cmp <(seq 100) <(sort -n "$f/append")

# ---- It goes back ------------------------------------------------------------------------------

clock -3600
writes still 101 110
check_eq "an hour back: a microsecond after the newest" "$(seq -s ' ' 0 109)" "$(stamps still)"
check "each has its value" cmp <(seq 110) <(values still)
writes early 1 2
check_eq "a new column is of the clock's hour" "-3600000000 -3599999999" "$(stamps early)"
echo two >"$f/early2"
mv "$f/early2" "$f/other"
check_eq "mv over a newer column makes its newest version" "two 0 1" "$(cat "$f/other") $(stamps other)"
cp -p "$f/early" "$f/other"
check_eq "so does cp -p of an older one" "2 0 1 2" "$(cat "$f/other") $(stamps other)"
check_eq "fsync, and more" ok "$(call 'fd = opened(); write(fd, b"3\n"); fsync(fd); write(fd, b"4\n"); close(fd)' "$f/other")"
check_eq "replaces its own version" $'3\n4 0 1 2 3' "$(cat "$f/other") $(stamps other)"
clock -7200
writes early 3 4
check_eq "still further back" "-3600000000 -3599999999 -3599999998 -3599999997" "$(stamps early)"

# ---- It goes on --------------------------------------------------------------------------------

clock 3600
writes still 111 112
check_eq "where it is later again, it is the present" "$(seq -s ' ' 0 109) 3600000000 3600000001" \
	"$(stamps still)"
clock 3600
mkdir "$f/set@"
echo future >"$f/set@/$((base + 7200000000))"
writes set 1 1
check_eq "a cell that was set later than the clock is written above" "7200000000 7200000001" "$(stamps set)"

# ---- It jumps while others write ---------------------------------------------------------------

for i in 1 2 3 4; do
	(cd "$f" && for ((n = 0; n < 60; n++)); do echo "$i-$n" >jump; done) &
	writers+=($!)
	track_pid $!
done
while lib_alive "${writers[0]}"; do
	clock $((RANDOM % 7200 - 3600))
done
wait "${writers[@]}"
check_eq "of 4 writers no version is lost while the clock jumps to and fro" 240 "$(entries "$f/jump@" | wc -l)"
check "each writer's are in the order of its writes" cmp <(for i in 1 2 3 4; do seq -f "$i-%g" 0 59; done) \
	<(values jump | sort -s -t - -k 1,1)
clock 0
unmount_store "$m"
clock -86000
mount_store "$TMP/s" "$m"
writes still 113 113
check_eq "the next mount with an earlier clock goes on as well" \
	"$(seq -s ' ' 0 109) 3600000000 3600000001 3600000002" "$(stamps still)"
check_eq "the log has no warning" "" "$(grep -v ': info: ' "$(mount_log "$m")")"
unmount_store "$m"

# ---- Entries that the kernel keeps -------------------------------------------------------------

# Cells that their age hides when the clock is set. The kernel's own clock is another, so its entries go
# only if rowfs says so.

# goes PATH: waits until the name is not there.
goes() {
	within eval "! stat '$1' >/dev/null 2>&1"
}

# looks N: waits until the idle server has read its clock so often, at most ten times a look.
looks() {
	python '
fd = libc.inotify_init()
libc.inotify_add_watch(fd, os.fsencode(q), 0x20) # IN_OPEN
for _ in range(us):
    os.read(fd, 4096)' "$TMP/s/clock" "$1"
}

rm -r "$TMP/s"
make_store "$TMP/s" \
	'{"version":1,"tables":{"t":{"families":{"f":{"gc":"maxage=1d"},"g":{}}},"u":{"families":{"f":{}}}}}'
set_clock +0d
mount_store "$TMP/s" "$m" -d -o gcinterval=0
mkdir -p "$f" "$m/u/row/f"
echo 1 >"$f/q"
echo 1 >"$f/r"
echo stays >"$m/u/row/f/q"
cat "$f/q" "$f/r" "$m/u/row/f/q" >/dev/null # so that they are kept
# The row's directories are looked up each time, since they may go with their last cell.
above=$(requests_of LOOKUP stat "$f")
check_eq "a column is kept" "$above" "$(requests_of LOOKUP cat "$f/q")"
check_eq "one of another table, too" 0 "$(requests_of LOOKUP cat "$m/u/row/f/q")"
looks 21
check_eq "while nobody sets the clock" "$above" "$(requests_of LOOKUP cat "$f/q")"

set_clock +2d
fail_with "two days later it cannot be opened at once" 1 'No such file' cat "$f/q"
check "its name goes" goes "$f/q"
check "and that of another" goes "$f/r"
check_eq "what has no age is as it was" stays "$(cat "$m/u/row/f/q")"
check_eq "and still kept" 0 "$(requests_of LOOKUP cat "$m/u/row/f/q")"

set_clock +0d
check_eq "back again it is there" 1 "$(cat "$f/q")"
cat "$f/r" >/dev/null
looks 11
set_clock +2d
check "the second time it goes as well" goes "$f/r"
set_clock +1d
echo 2 >"$f/q"
cat "$f/q" >/dev/null
cd "$f" || die "no directory to work in"
set_clock +47h
looks 11
check_eq "a jump within its age leaves it" 2 "$(cat "$f/q")"
check_eq "and the directory that a process works in" "$f" "$(readlink "/proc/$$/cwd")"
cd / || die "no root"
set_clock +49h
check "and one beyond does not" goes "$f/q"
finish
