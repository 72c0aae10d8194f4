#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The memory of the serving process stays within the bounds of docs/semantics.md ("Memory"): while
# many files are stat'ed, a long prefix is listed, large values are read and written, streams are
# left open, and hostile text comes. A request beyond a bound is refused, and everything else is
# served.
#
#   ROWFS_BOUNDS=full   with the full sizes: 1,000,000 files, 10,000,000 rows, 100 MiB (`make bounds`)
#
# Two measures for a cap. The memory that the process may write is limited by the kernel
# (RLIMIT_DATA), to its size after mounting and so much more: an allocation beyond fails. The peak
# of resident memory (VmHWM) also counts pages of the store's files, which the kernel takes back
# when it needs them; so it is looked at where there are few of those. Sanitizers take memory of
# their own, so with them neither says anything, and the test only checks that requests are served.

. "$(dirname "$0")/lib.sh"

FILES=20000 ROWS=200000 VALUE=16 STREAMS=200 BETWEEN=128 HOSTILE=24 MIXED=40 VERSIONS=400000
FIXED=48 # MiB, the fixed parts; 72 after gigabytes of values
if [ "${ROWFS_BOUNDS:-}" = full ]; then
	FILES=1000000 ROWS=10000000 VALUE=100 STREAMS=200 BETWEEN=8192 HOSTILE=200 MIXED=400 VERSIONS=4000000
	FIXED=72
fi
CACHE=16 # MiB of cache=
SCHEMA='{"version":1,"tables":{"t":{"families":{"f":{}}}}}'
programs=$BUILD

bounds() {
	"$python" -S "$LIB_DIR/bounds.py" "$@" 2>&1
}

# of FIELD: of the serving process, KiB.
of() {
	awk -v field="$1:" '$1 == field { print $2 }' "/proc/$(mount_pid "$m")/status"
}

sanitized() {
	nm "$programs/rowfs" | grep -qE '__[at]san_init'
}

# begin NAME MIB: mounts $TMP/NAME, which is made if need be, and lets the serving process take so
# much more; 0: any.
begin() {
	[ -e "$TMP/$1" ] || make_store "$TMP/$1" "$SCHEMA"
	mount_store "$TMP/$1" "$m" -o "cache=$CACHE"
	(($2 == 0)) || sanitized || prlimit --pid "$(mount_pid "$m")" --data=$((($(of VmData) + ($2 << 10)) << 10))
}

# peak NAME MIB: no more was ever resident.
peak() {
	local peak
	peak=$(of VmHWM)
	if sanitized || ((peak <= $2 << 10)); then
		ok "$1"
	else
		not_ok "$1" "$peak KiB, of at most $(($2 << 10))"
	fi
}

# end: the mounted filesystem is alive, and is unmounted.
end() {
	check "it serves" sh -c 'ls "$0/t" && cat "$0/.rowfs/version"' "$m"
	check "and is written" sh -c 'mkdir -p "$0/t/last/f" && echo 1 >"$0/t/last/f/q"' "$m"
	check_eq "and read" 1 "$(cat "$m/t/last/f/q")"
	unmount_store "$m"
}

load() {
	make_store "$TMP/$1" "$SCHEMA"
	bounds rows "${@:2}" | "$BUILD/rowfs-load" "$TMP/$1" || die "rowfs-load failed"
}

# ---- Files that are stat'ed: 256 bytes for each inode that the kernel holds --------------------

load stat $((FILES / 10)) r 10
inodes=$((FILES + 2 * FILES / 10 + 4))
cap=$((CACHE + FIXED + inodes * 256 / 1048576))
begin stat $cap
check_eq "files are stat'ed" "$FILES" \
	"$(find "$m/t" -type f -printf '%s\n' | awk '{ n += $1 } END { print n }')"
held=$(awk '$1 == "rowfs_inodes" { print $2 }' "$m/.rowfs/metrics")
check "the kernel holds them" test "$held" -ge $((FILES / 2))
check_eq "once more, which takes no more" "$FILES" "$(find "$m/t" -type f -size -2 | wc -l)"
peak "memory while files are stat'ed" $cap
end
rm -r "$TMP/stat"

# ---- A long prefix ---------------------------------------------------------------------------

load list "$ROWS" p 1
begin list $((CACHE + 16 + (2 * ROWS >> 20))) # index and filter of the engine's tables: 2 bytes a cell
# list: how many names, with . and ..
list() {
	# shellcheck disable=SC2012
	ls -f "$m/t/p" | wc -l
}
check_eq "a long prefix is listed" $((ROWS + 2)) "$(list)"
list >"$TMP/beside" &
pid=$!
check_eq "by another program" "$ROWS" \
	"$("$python" -S -c 'import os, sys; print(sum(1 for _ in os.scandir(sys.argv[1])))' "$m/t/p")"
wait $pid
check_eq "beside another" $((ROWS + 2)) "$(cat "$TMP/beside")"
check_eq "its keys are read" "$ROWS" "$(wc -l <"$m/t/p/.keys")"
# The kernel keeps some pages of the engine's files in the process.
((ROWS > 1000000)) || peak "memory while a prefix is listed" $((CACHE + FIXED + 64))
end

# ---- Columns with a long history --------------------------------------------------------------

make_store "$TMP/history" "$SCHEMA"
{
	bounds histories "$VERSIONS" a b
	bounds histories 110000 c
	printf '%s\n' '{"key":"r","families":{"f":{"short":[{"ts":1,"value":"old"}]}}}'
} | "$BUILD/rowfs-load" "$TMP/history" || die "rowfs-load failed"
begin history 0
check "a column with a long history is removed" rm "$m/t/r/f/a"
check_eq "with all of it" "0 b c short" \
	"$(find "$m/t/r/f/a@" -type f 2>/dev/null | wc -l) $(entries "$m/t/r/f" | xargs)"
check "another replaces a column" mv "$m/t/r/f/b" "$m/t/r/f/short"
check_eq "which keeps its own history" "2 c short" \
	"$(find "$m/t/r/f/short@" -type f | wc -l) $(entries "$m/t/r/f" | xargs)"
peak "memory while columns with a long history are removed" $((CACHE + FIXED + 64))
fail_with "a history that is too long is not renamed" 1 'File too large' mv "$m/t/r/f/c" "$m/t/r/f/d"
error "with a reason" 'a history of more than 100000 versions or 32 MiB is not renamed; copy it with'
check "a row with a long history is dropped" sh -c 'echo r >"$0/t/r/.drop"' "$m"
check_eq "whole" "" "$(entries "$m/t")"
end
rm -r "$TMP/history"

# ---- .rows that is not read, and many --------------------------------------------------------

# 256 at most, each 2 MiB, and the writes that the engine had gathered when it began: up to 16 MiB,
# shared by those that began between the same two moments at which the engine began to gather anew.
streams=$((CACHE + FIXED + STREAMS * 2 + STREAMS * BETWEEN / 1024 + 64))
begin list $streams
check_eq "streams are left open while others write" \
	"the first shows 0 later rows
one that begins now shows all" "$(bounds streams "$m" "$STREAMS" "$BETWEEN")"
end
begin list $((CACHE + FIXED + 256 * 2 + 64))
check_eq "there is an end to it" \
	"stream 257 is refused: ENFILE
then another is served
the first shows 0 later rows
one that begins now shows all" "$(bounds streams "$m" 300 0)"
check "and a reason" grep -q 'streams of rows' "$m/.rowfs/errors"
end
rm -r "$TMP/list"

# ---- Large values, four at once --------------------------------------------------------------

begin values $((CACHE + FIXED + 4 * 3 * VALUE))
mkdir -p "$m/t/r/f"
pids=()
for i in 1 2 3 4; do
	head -c $((VALUE << 20)) /dev/urandom >"$TMP/value$i"
	sha256sum <"$TMP/value$i" >"$TMP/sum$i"
done
for i in 1 2 3 4; do
	cp "$TMP/value$i" "$m/t/r/f/q$i" &
	pids+=($!)
done
for pid in "${pids[@]}"; do
	check "a large value is written beside others" wait "$pid"
done
check "another is there" cp "$TMP/value1" "$m/t/r/f/same"
pids=()
for i in 1 2 3 4; do
	dd if="$m/t/r/f/q$i" bs=1M status=none | sha256sum >"$TMP/got$i" &
	pids+=($!)
	cp "$TMP/value$i" "$m/t/r/f/same" &
	pids+=($!)
done
for pid in "${pids[@]}"; do
	check "large values are read while one is written by four" wait "$pid"
done
for i in 1 2 3 4; do
	check "it is what was written" cmp "$TMP/sum$i" "$TMP/got$i"
done
sha256sum <"$m/t/r/f/same" >"$TMP/same"
check "what four wrote is one of the four" grep -qxFf "$TMP/same" "$TMP"/sum?
check_eq "in a version each" 5 "$(find "$m/.versions/t/r/f/same@" -type f | wc -l)"
# A value that is committed is there as a file, too, whose pages are the kernel's to take back.
peak "memory while large values are written" $((CACHE + FIXED + 4 * 4 * VALUE))
end
rm -rf "$TMP/values" "$TMP"/value?

# ---- Values of all sizes, by eight clients -----------------------------------------------------

# Each client has one value in memory, of up to 1 MB, which takes twice that while it is committed.
# The allocator must give back the space that large values leave among small ones.
begin mixed 0
mixed=$(bounds mixed "$m" "$(mount_pid "$m")" 8 "$MIXED")
cap=$((CACHE + FIXED + 8 * 3))
check "memory while values of all sizes are written: $mixed MiB, of at most $cap" \
	sh -c '[ "$0" = yes ] || [ "$1" -le "$2" ]' "$(sanitized && echo yes)" "$mixed" "$cap"
end
rm -r "$TMP/mixed"

# ---- Files that are being written ------------------------------------------------------------

# 64 MiB of them in memory, and up to 4 KiB of each; the others in files without a name.
begin files $((CACHE + FIXED + 64 + 64))
check_eq "many files are written at once" $'refused: none\nclosed: all\nwrong: 0\nthere: as many
some were written' "$(bounds writers "$m" 200 512)"
end
mkdir "$TMP/bin"
ln -s "$BUILD"/* "$TMP/bin"
rm "$TMP/bin/rowfs"
printf '#!/bin/sh\nulimit -n 128 && exec "%s/rowfs" "$@"\n' "$BUILD" >"$TMP/bin/rowfs"
chmod +x "$TMP/bin/rowfs"
BUILD=$TMP/bin
begin few $((CACHE + FIXED + 64 + 64))
BUILD=$programs
check_eq "few descriptors" 128 "$(awk '/^Max open files/ { print $5 }' "/proc/$(mount_pid "$m")/limits")"
check_eq "with few descriptors some are refused, and nothing is lost" \
	$'refused: EMFILE\nclosed: all\nwrong: 0\nthere: as many\nsome were written' \
	"$(bounds writers "$m" 150 1100)"
check_eq "all are served when they are free again" \
	$'refused: none\nclosed: all\nwrong: 0\nthere: as many\nsome were written' \
	"$(rm -r "$m/t/files" && bounds writers "$m" 20 512)"
end

# ---- Threads ---------------------------------------------------------------------------------

begin threads $((CACHE + FIXED + 64 * 9))
check_eq "many that wait hold nobody up" \
	"others are served
those that do not wait: {0}
those that waited: {0}
rows that are left: as many" "$(bounds waiters "$m" 200)"
end

# ---- Hostile text ----------------------------------------------------------------------------

# 1 GiB for unfinished lines, 1 GiB for the cells of one line. Their freed memory keeps its
# addresses, so only the peak counts here.
begin hostile 0
errors=$m/.rowfs/errors

# refused ERROR WHY FILE KIND BYTES: a write of such text has the error, and a reason.
refused() {
	check_eq "$4, $5 bytes into ${3##*/}" "$1" "$(bounds send "$m/$3" "$4" "$5")"
	check "says why" sh -c 'tail -n 1 "$0" | grep -F "/$1:" | grep -qE -- "$2"' "$errors" "$3" "$2"
}

mkdir -p "$m/t/row/f"
for file in t/.rows t/row/.row .rowfs/schema.json; do
	members=900000
	[ $file != t/.rows ] || members=9000000 # a million
	overflow=EOVERFLOW
	[ $file != .rowfs/schema.json ] || overflow=EINVAL # in which no number is larger
	refused EINVAL 'more than 512 deep' "$file" lists 100000
	refused EINVAL 'more than 512 deep' "$file" objects 500000
	refused EINVAL 'not JSON' "$file" string 1000000
	refused EINVAL 'not JSON' "$file" spaces 1000000
	refused "$overflow" 'beyond 64 bits' "$file" digits 1000000
	refused EINVAL '.' "$file" members $members
done
mib=$((HOSTILE << 20))
refused EFBIG 'memory' t/.rows numbers $((mib / 3))
refused EINVAL '.' t/.rows elements $mib
refused EINVAL '.' t/row/.row numbers $((mib / 64))
refused EINVAL 'not JSON' t/row/.row string $mib
refused EFBIG '16 MiB' .rowfs/schema.json spaces $((17 << 20))
refused EFBIG '256 MiB' t/.rows string $((257 << 20))
printf '%100000s' '' | tr ' ' '(' >"$TMP/policy"
check_eq "a policy of parentheses" EINVAL "$(bounds send "$m/t/.families/f/gc" <"$TMP/policy")"
check "says why" sh -c 'tail -n 1 "$0" | grep -q longer' "$errors"
head -c 500 "$TMP/policy" >"$TMP/policy2"
check_eq "a short one" EINVAL "$(bounds send "$m/t/.families/f/gc" <"$TMP/policy2")"
check "says why" sh -c 'tail -n 1 "$0" | grep -q parenthes' "$errors"

# They are read one after the other.
pids=()
for i in 1 2; do
	bounds send "$m/t/.rows" numbers $((mib / 3)) >"$TMP/send$i" &
	pids+=($!)
done
check_eq "others are served meanwhile" 1 "$(echo 1 >"$m/t/row/f/q" && cat "$m/t/row/f/q")"
wait "${pids[@]}"
check_eq "two hostile lines at once" "EFBIG EFBIG" "$(cat "$TMP"/send? | paste -sd ' ')"
unfinished() {
	{ bounds unfinished "$m" "$@" | head -n 1; } 2>/dev/null # it kills itself
}
check_eq "unfinished lines are 1 GiB at most" "ENOMEM kept" "$(unfinished 5 255)"
check "says why" sh -c 'tail -n 1 "$0" | grep -q unfinished' "$errors"
check_eq "and go with who wrote them" "kept" "$(unfinished 1 100)"
check_eq "nothing of all that is there" "meanwhile row" \
	"$(find "$m/t" -mindepth 1 -maxdepth 1 -printf '%f\n' | sort | paste -sd ' ')"
peak "memory while hostile text comes" $((CACHE + FIXED + 2560))
after=$(of VmRSS)
check "and none of it stays" sh -c '[ "$0" = yes ] || [ "$1" -lt 524288 ]' \
	"$(sanitized && echo yes)" "$after"
end

# The same for programs.
for kind in lists objects string digits; do
	bounds hostile $kind 500000 >"$TMP/line"
	fail_with "rowfs-load refuses $kind" 1 'line 1|:1:' "$BUILD/rowfs-load" "$TMP/hostile" "$TMP/line"
	fail_with "mkfs.rowfs --schema refuses $kind" 1 '.' "$BUILD/mkfs.rowfs" --schema "$TMP/line" "$TMP/none"
	check "and makes nothing" test ! -e "$TMP/none"
done

finish
