#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Close-to-open consistency between two mounts of one store, an engine that other clients share
# (shared.c): an open sees each change of the other mount that was closed before, whatever names,
# attributes and pages the kernel keeps; a name and its attributes are right within a second.

. "$(dirname "$0")/lib.sh"

need_fuse
a=$TMP/a
b=$TMP/b
mkdir "$a" "$b"
"$BUILD/e2e/shared" "$a" "$b" </dev/null >"$TMP/shared.log" 2>&1 &
shared=$!
track_pid $shared
track_mount "$a"
track_mount "$b"
both() {
	lib_mounted "$a" && lib_mounted "$b"
}
within both || die "no mounts: $(cat "$TMP/shared.log")"
A=$a/t/r/f
B=$b/t/r/f

# sees NAME EXPECTED FILE: the file has that content, also when it is read again.
sees() {
	check_eq "$1" "$2" "$(cat "$3" 2>&1)"
	check_eq "$1: again" "$2" "$(cat "$3" 2>&1)"
}

# size_is EXPECTED FILE
size_is() {
	[ "$(stat -c %s "$2" 2>&1)" = "$1" ]
}

mkdir -p "$A"
put "$A/q" one
sees "a new file" one "$B/q"
put "$A/q" two
sees "another value of the same size" two "$B/q"
put "$A/q" "three, which is longer"
sees "a longer value" "three, which is longer" "$B/q"
check_eq "its size, after the open" 23 "$(stat -c %s "$B/q")"
put "$B/q" "back"
sees "a value from the other side" back "$A/q"
for i in {1..20}; do
	put "$A/q" "from a, $i"
	check_eq "b reads change $i" "from a, $i" "$(cat "$B/q")"
	put "$B/q" "from b, $i"
	check_eq "a reads change $i" "from b, $i" "$(cat "$A/q")"
done

# ---- Names and attributes
put "$A/size" 1
check "its attributes are cached" size_is 2 "$B/size"
put "$A/size" 12345
check "the new size is seen soon" within size_is 6 "$B/size"
rm "$A/size"
fail_with "a removed file is not opened" 1 'No such file' cat "$B/size"
check_eq "it is not listed" "q" "$(ls "$B")"
check "nor is it there" test ! -e "$B/size"
put "$B/size" new
sees "a file made anew" new "$A/size"
mv "$A/size" "$A/other"
fail_with "a renamed file is not opened by its old name" 1 'No such file' cat "$B/size"
sees "but by its new one" new "$B/other"
mkdir -p "$a/t/x/f"
put "$a/t/x/f/q" deep
sees "a new row" deep "$b/t/x/f/q"
rm "$a/t/x/f/q"
rmdir "$a/t/x/f" "$a/t/x"
gone() {
	[ ! -e "$b/t/x" ]
}
check "a removed row goes soon" within gone
check_eq "its versions, as the other mount lists them" "$(ls "$A/q@")" "$(ls "$B/q@")"

# requests KIND COMMAND…: the mount's requests of that kind that the command makes.
requests() {
	local before kind="^rowfs_requests_total{operation=\"$1\"} "
	before=$(sed -n "s/$kind//p" "$a/.rowfs/metrics")
	"${@:2}" >/dev/null
	echo $(($(sed -n "s/$kind//p" "$a/.rowfs/metrics") - before))
}
put "$A/old" new
for i in {1..20}; do
	put "$A/old@/$i" "$i"
done
# The kernel keeps attributes for a second: those of before are gone, those of the listing are to last until its end.
for ((tries = LIB_PATIENCE; tries > 0; tries--)); do
	sleep 1.1
	began=$(date +%s%6N)
	lookups=$(requests lookup ls -l "$A/old@")
	(($(date +%s%6N) - began > 900000)) || break
done
check "one ls -l takes less than a second" test "$tries" -gt 0
check "ls -l of 21 versions looks none of them up" test "$lookups" -lt 10
check_eq "and has their attributes" "2 7 3 17" "$(stat -c '%s %.6Y' "$A/old@/7" "$A/old@/17" |
	sed -E 's/ 0\.0+/ /' | xargs)"
put "$B/old@/7" longer
check "another mount's change of a version is seen soon" within size_is 7 "$A/old@/7"

# ---- Open files
exec 4<"$B/q"
put "$A/q" "while it is open"
check_eq "an open file keeps its value" "from b, 20" "$(cat <&4)"
exec 4<&-
sees "the next open has the new one" "while it is open" "$B/q"

# ---- Changes from both sides at once
append() {
	for i in {1..100}; do
		echo "$2$i" >>"$1"
	done
}
append "$A/lines" a &
append "$B/lines" b &
wait %2 %3
check_eq "no appended line is lost" 200 "$(sort -u "$A/lines" | wc -l)"
sees "both see the same" "$(cat "$A/lines")" "$B/lines"

# ---- Errors of the engine
m=$a
fail_with "an engine that does not answer" 1 'timed out' cat "$a/t/late/f/q"
error "and the reason" 'did not answer in time; try again'
mkdir -p "$a/t/barred/f"
fail_with "an engine that refuses access" 1 'Permission denied' cp "$A/q" "$a/t/barred/f/q"
error "and the reason" 'refuses access: ask for the right to the table'

unmount_store "$a"
unmount_store "$b"
check "the process ends" within ended $shared
wait $shared
check_eq "its status, and messages" 0 "$?$(grep -v 'a request was refused' "$TMP/shared.log")"
finish
