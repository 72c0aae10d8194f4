#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Times: mtime is the timestamp. Setting it re-stamps the newest cell, or the version being written.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cells.sh"

f=$m/t/row/f
last=9223372036854775807

# stamp PATH MICROSECONDS: utimensat(2) by path.
stamp() {
	[ "$(call 'stamp(q, us)' "$@")" = ok ]
}

# stamped NAME ERRNO PATH MICROSECONDS: the result of utimensat(2) by path, with no open write.
stamped() {
	check_eq "$1" "$2" "$(call 'stamp(q, us)' "$3" "$4")"
}

new_mount '{"version":1,"tables":{
	"t":{"families":{"f":{},"g":{},"one":"maxversions=1","day":"maxage=1d"}}}}'
mkdir -p "$f" "$m/t/row/g" "$m/t/row/one" "$m/t/row/day"

# ---- No write is open ------------------------------------------------------------------------

column "$f/q" 1000=o 2000=n
makes "a stamp re-stamps the newest cell, only that" "$f/q" "1700000000123456=n 1000=o" -- stamp "$f/q" 1700000000123456
check_eq "all times are exact to the microsecond" \
	"1700000000.123456000 1700000000.123456000 1700000000.123456000" "$(stat -c '%.9X %.9Y %.9Z' "$f/q")"
check_eq "size and value stay" "1 n" "$(stat -c %s "$f/q") $(cat "$f/q")"
fail_with "the old version's name is not found" - 'No such file' stat "$f/q@/2000"
check_eq "the new one's is" "n 1700000000.123456" \
	"$(cat "$f/q@/1700000000123456") $(stat -c %.6Y "$f/q@/1700000000123456")"
makes "an earlier one, later than the next older version is taken" "$f/q" "1001=n 1000=o" -- stamp "$f/q" 1001
makes "the same one changes nothing" "$f/q" "1001=n 1000=o" -- stamp "$f/q" 1001
stamped "one that is the next older version's" EINVAL "$f/q" 1000
stamped "one that is before it" EINVAL "$f/q" 999
stamped "0 below another version" EINVAL "$f/q" 0
stamped "a negative one" EINVAL "$f/q" -1
stamped "a very negative one" EINVAL "$f/q" -1700000000000000
is "nothing of this changed it" "$f/q" "1001=n 1000=o"
makes "the last timestamp of all can be one" "$f/q" "$last=n 1000=o" -- stamp "$f/q" $last
makes "a stamp back mends that" "$f/q" "5000=n 1000=o" -- stamp "$f/q" 5000
column "$f/single" 2000=n
makes "a single version can be of 1970" "$f/single" "0=n" -- stamp "$f/single" 0
makes "and come back a microsecond at a time" "$f/single" "1=n" -- stamp "$f/single" 1
stamped "what is not there" ENOENT "$f/none" 1
check "no column came of it" test ! -e "$f/none"
column "$f/q" 1000=o 2000=n
makes "touch -c -d does it, too" "$f/q" "5000001=n 1000=o" -- touch -c -d @5.000001 "$f/q"
fail_with "touch -c to before the next older" - 'Invalid argument' touch -c -d @0.0005 "$f/q"
fail_with "touch -c to a negative time" - 'Invalid argument' touch -c -d @-1 "$f/q"
is "neither changed it" "$f/q" "5000001=n 1000=o"
renews "touch -c gives the newest the present" "$f/q" n 1000=o -- touch -c "$f/q"
column "$f/q" 1000=o 4102444800000000=n
renews "touch -c of one of the future gives it the present as well" "$f/q" n 1000=o -- touch -c "$f/q"
column "$f/q" 1000=o 2000=n
makes "touch -r takes another's time" "$f/q" "1000000001=n 1000=o" -- touch -c -r "$f/single" -d +1000sec "$f/q"
check "touch -a" touch -c -a -d @77 "$f/q"
check_eq "a lone atime" ok "$(call 'os.utime(q, ns=(7000, os.stat(q).st_mtime_ns))' "$f/q")"
makes "a negative atime alone is ignored" "$f/q" "1000000001=n 1000=o" -- touch -c -a -d @-77 "$f/q"
makes "touch -m is a stamp" "$f/q" "2000000000=n 1000=o" -- touch -c -m -d @2000 "$f/q"
check_eq "a stamp through a descriptor that reads" ok \
	"$(call 'fd = opened(os.O_RDONLY); stamp(fd, us); close(fd)' "$f/q" 7000)"
is "is one" "$f/q" "7000=n 1000=o"
exec 3<"$f/q"
stamped "while a reader has it open" ok "$f/q" 8000
check_eq "the reader has its value" n "$(cat <&3)"
exec 3<&-
stamped "times of q@/TS" ok "$f/q@/1000" 77
stamped "also of the newest" ok "$f/q@/8000" 77
makes "and by touch: they are ignored, the name decides" "$f/q" "8000=n 1000=o" -- touch -d @5 "$f/q@/1000" "$f/q@/8000"
check_eq "and shows" 0.001000 "$(stat -c %.6Y "$f/q@/1000")"
makes "below a stamped version is what was there" "$f/q" "1000=o" -- rm "$f/q@/8000"
for ((i = 0; i < 30; i++)); do printf '%s' "$i" >"$f/long"; done
before=$(entries "$f/long@" | tail -n +2)
stamped "of a long history only the newest" ok "$f/long" $((4102444800000000))
check_eq "is stamped" "4102444800000000 29 30" "$(entries "$f/long@" | head -n 1) $(cat "$f/long") $(
	entries "$f/long@" | wc -l)"
check_eq "the others stay" "$before" "$(entries "$f/long@" | tail -n +2)"
head -c 3000000 /dev/urandom >"$TMP/large"
cp "$TMP/large" "$f/large"
stamped "a large value" ok "$f/large" 77
yields "stays whole with its stamp" 77 'entries "$f/large@"' cmp "$TMP/large" "$f/large"

# ---- Metadata calls never make a version -----------------------------------------------------

column "$f/q" 1000=o 2000=n
check_eq "a mode and an owner by a descriptor" ok "$(call 'fd = opened(os.O_WRONLY); os.fchmod(fd, 0o600)
os.fchown(fd, -1, -1); fsync(fd); close(fd)' "$f/q")"
is "leave the history as it is" "$f/q" "2000=n 1000=o"
check "touch of a directory to a negative time" touch -d @-5 "$m/t/row"

# ---- While a write is open -------------------------------------------------------------------

# made NAME STAMP CODE HISTORY [CELLS]: a write by Python over these cells ("": none), or 1000=o 2000=n.
made() {
	local before=${5-1000=o 2000=n}
	rm -f "$f/w"
	# shellcheck disable=SC2086 # cells are words
	[ -z "$before" ] || column "$f/w" $before
	check_eq "$1" ok "$(call "$3" "$f/w" "$2")"
	is "$1: the history" "$f/w" "$4"
}
plain='fd = opened(); write(fd, b"new"); stamp(fd, us); close(fd)'
made "a stamp after the write is the version's" 5000 "$plain" "5000=new 2000=n 1000=o"
made "a stamp before the write, too" 5000 'fd = opened(); stamp(fd, us); write(fd, b"new"); close(fd)' \
	"5000=new 2000=n 1000=o"
made "one by path" 5000 'fd = opened(); write(fd, b"new"); stamp(q, us); close(fd)' \
	"5000=new 2000=n 1000=o"
made "the last of several" 5000 'fd = opened(); stamp(fd, 7000); write(fd, b"new")
stamp(fd, 3000); stamp(fd, us); close(fd)' "5000=new 2000=n 1000=o"
made "one with a truncation alone" 5000 'fd = opened(); stamp(fd, us); close(fd)' \
	"5000= 2000=n 1000=o"
made "one with an append" 5000 'fd = opened(os.O_WRONLY | os.O_APPEND)
write(fd, b"ew"); stamp(fd, us); close(fd)' "5000=new 2000=n 1000=o"
made "one before fsync" 5000 'fd = opened(); write(fd, b"new"); stamp(fd, us); fsync(fd); close(fd)' \
	"5000=new 2000=n 1000=o"
made "one after fsync re-stamps the version that it made" 5000 \
	'fd = opened(); write(fd, b"new"); fsync(fd); stamp(fd, us); close(fd)' "5000=new 2000=n 1000=o"
made "one between two writes and fsync" 5000 'fd = opened(); write(fd, b"n"); fsync(fd)
stamp(fd, us); write(fd, b"ew"); close(fd)' "5000=new 2000=n 1000=o"
made "one equal to the newest version's makes the write replace it" 2000 "$plain" "2000=new 1000=o"
made "also by fsync" 2000 'fd = opened(); write(fd, b"new"); stamp(fd, us); fsync(fd); close(fd)' \
	"2000=new 1000=o"
made "also with a truncation alone" 2000 'fd = opened(); stamp(fd, us); close(fd)' "2000= 1000=o"
made "one that is 0 microseconds later than the present of the write makes no second version" \
	9000000000000000 "$plain" "9000000000000000=new 2000=n 1000=o"
for older in 1999:ok 1500:ok 1000:ok 500:ok 0:ok -5:EINVAL; do
	column "$f/w" 1000=o 2000=n
	check_eq "one of ${older%:*}, older than the newest version's" "${older#*:}" "$(call "$plain" "$f/w" "${older%:*}")"
	newest_is "gives way to the server's timestamp (${older%:*})" "$f/w" new "2000=n 1000=o"
done
column "$f/w" 1000=o 2000=n
check_eq "a lone atime is ignored also then" ok \
	"$(call 'fd = opened(); write(fd, b"new"); st = os.fstat(fd)
class T(ctypes.Structure): _fields_ = [("s", ctypes.c_long), ("n", ctypes.c_long)]
times = (T * 2)(T(5, 0), T(0, (1 << 30) - 2))
assert ctypes.CDLL(None).futimens(fd, times) == 0
close(fd)' "$f/w")"
newest_is "the version has the server's timestamp" "$f/w" new "2000=n 1000=o"
made "where the write makes no version, it goes at close to the cell that is there" 5000 \
	'fd = opened(os.O_WRONLY); stamp(fd, us); close(fd)' "5000=n 1000=o"
made "also an earlier one" 1500 'fd = opened(os.O_WRONLY); stamp(fd, us); close(fd)' "1500=n 1000=o"
made "a new column is stamped, whatever the stamp" 5000 "$plain" "5000=new" ""
made "a new one at 0 is of 1970" 0 "$plain" "0=new" ""
made "a new empty one is stamped, too" 5000 'fd = opened(); stamp(fd, us); close(fd)' "5000=" ""
column "$f/w" 2000=n
{ call 'fd = opened(); write(fd, b"half"); stamp(fd, us); os.kill(os.getpid(), 9)' "$f/w" 5000; } \
	>/dev/null 2>&1
is "who is killed has stamped nothing" "$f/w" "2000=n"
column "$f/w" 2000=n
check_eq "before the close nobody sees the stamp" ok "$(call '
fd = opened(); write(fd, b"new"); stamp(fd, us)
seen = subprocess.check_output(["stat", "-c", "%.6Y %s", q]).decode().strip()
assert seen == "0.002000 1", seen
close(fd)
seen = subprocess.check_output(["stat", "-c", "%.6Y %s", q]).decode().strip()
assert seen == "0.005000 3", seen' "$f/w" 5000)"
check_eq "after an fsync and a stamp everybody does" ok "$(call '
fd = opened(); write(fd, b"newer"); fsync(fd); stamp(fd, us); close(fd)
seen = subprocess.check_output(["stat", "-c", "%.6Y %s", q]).decode().strip()
assert seen == "0.006000 5", seen' "$f/w" 6000)"

# ---- Tools -----------------------------------------------------------------------------------

rm -f "$f/t"
renews "touch makes a column, an empty one of the present" "$f/t" "" "" -- touch "$f/t"
before=$(history "$f/t")
yields "touch of it makes no version" 1 'entries "$f/t@" | wc -l' touch "$f/t"
check "but a later time" test "$(entries "$f/t@")" -gt "${before%=*}"
rm -f "$f/t"
makes "touch -d makes one of that time" "$f/t" "5000007=" -- touch -d @5.000007 "$f/t"
column "$f/t" 1000=o 2000=n
makes "touch -d, later, re-stamps" "$f/t" "5000000=n 1000=o" -- touch -d @5 "$f/t"
check "touch -d, earlier, but later than the next older" touch -d @1 "$f/t"
is "re-stamps as well" "$f/t" "1000000=n 1000=o"
touch -d @0.0005 "$f/t" 2>/dev/null
touch -d @-1 "$f/t" 2>/dev/null
is "before the next older it changes nothing" "$f/t" "1000000=n 1000=o"
makes "touch -a does neither" "$f/t" "1000000=n 1000=o" -- touch -a "$f/t"
check "touch of several" touch -d @9 "$f/t" "$f/t2" "$f/t3"
check_eq "stamps each" "9.000000 9.000000 9.000000" \
	"$(stat -c %.6Y "$f/t" "$f/t2" "$f/t3" | paste -sd ' ')"

printf src >"$TMP/src"
touch -d @1700000000.123456 "$TMP/src"
ts=1700000000123456
for tool in "cp -p" "cp -a" "cp --preserve=timestamps"; do
	read -ra command <<<"$tool"
	rm -f "$f/c"
	makes "$tool to a new column gives it the file's time" "$f/c" "$ts=src" -- "${command[@]}" "$TMP/src" "$f/c"
	makes "$tool again replaces the version of that time" "$f/c" "$ts=src" -- "${command[@]}" "$TMP/src" "$f/c"
	# cp that preserves links removes a target with more than one first.
	[ "$tool" = "cp -a" ] && continue
	column "$f/c" 1000=o
	check "$tool over an older column" "${command[@]}" "$TMP/src" "$f/c"
	is "$tool: makes a version at the file's time" "$f/c" "$ts=src 1000=o"
	column "$f/c" $((ts + 1))=n
	check "$tool over a newer column" "${command[@]}" "$TMP/src" "$f/c"
	newest_is "$tool: gives way to the present" "$f/c" src "$((ts + 1))=n"
done
column "$f/c" $((ts + 1))=n
makes "cp -u of an older file copies nothing" "$f/c" "$((ts + 1))=n" -- cp -up "$TMP/src" "$f/c"
makes "install -p keeps the time" "$f/i" "$ts=src" -- install -p "$TMP/src" "$f/i"

tar -C "$TMP" --format=pax -cf "$TMP/pax.tar" --transform s/src/c/ src
column "$f/c" 1000=o 3000=n
makes "tar x over a column removes it first" "$f/c" "$ts=src" -- tar -C "$f" -xf "$TMP/pax.tar"
column "$f/c" 1000=o 3000=n
makes "tar x --overwrite keeps its history" "$f/c" "$ts=src 3000=n 1000=o" -- tar -C "$f" --overwrite -xf "$TMP/pax.tar"
check "tar x --overwrite again" tar -C "$f" --overwrite -xf "$TMP/pax.tar"
is "replaces the same time" "$f/c" "$ts=src 3000=n 1000=o"
column "$f/c" $((ts + 1))=n
check "tar x --overwrite of an older" tar -C "$f" --overwrite -xf "$TMP/pax.tar"
newest_is "gives way to the present" "$f/c" src "$((ts + 1))=n"
rm -f "$f/c"
renews "tar x -m is of the present" "$f/c" src "" -- tar -C "$f" -xmf "$TMP/pax.tar"

# ---- The server's timestamps -----------------------------------------------------------------

low=$(date +%s%6N)
perl -e 'for (1 .. 500) { open my $file, ">", $ARGV[0]; print $file $_; close $file }' "$f/fast"
high=$(date +%s%6N)
check_eq "500 writes in a row are 500 versions" 500 "$(entries "$f/fast@" | wc -l)"
check "each later than the one before" cmp <(seq 500 -1 1) \
	<(for ts in $(entries "$f/fast@"); do cat "$f/fast@/$ts"; echo; done)
check "all in the time that they took" test "$(entries "$f/fast@" | tail -n 1)" -ge "$low" -a \
	"$(entries "$f/fast@" | head -n 1)" -le $((high + 500))
column "$f/ahead" 4102444800000000=x
for i in 1 2 3; do printf '%s' "$i" >"$f/ahead"; done
is "where the clock is behind the newest version, each is a microsecond later" "$f/ahead" \
	"4102444800000003=3 4102444800000002=2 4102444800000001=1 4102444800000000=x"

# ---- Policies --------------------------------------------------------------------------------

o=$m/t/row/one
d=$m/t/row/day
printf first >"$o/q"
printf second >"$o/q"
now=$(entries "$o/q@")
call 'stamp(q, 1)' "$o/q" >/dev/null
check_eq "a stamp far back brings no hidden version back" "second 1" \
	"$(cat "$o/q") $(entries "$o/q@" | wc -l)"
stamped "and forward" ok "$o/q" $((now + 1000000))
rm "$o/q@/$(entries "$o/q@")"
check "nor does removing the stamped one" test ! -e "$o/q"
day=$((($(date +%s) - 86400) * 1000000))
printf x >"$d/q"
loses "a stamp at which its policy hides the version succeeds" "$d/q" -- stamp "$d/q" $((day - 60000000))
check_eq "a write with such a stamp" ok "$(call "$plain" "$d/r" $((day - 60000000)))"
check "too" test ! -e "$d/r"
printf x >"$d/q"
yields "a stamp just inside shows it" x 'cat "$d/q"' stamp "$d/q" $((day + 600000000))

# ---- Strict ----------------------------------------------------------------------------------

remount -o strict
column "$f/q" 1000=o
makes "strict: a stamp is one as otherwise" "$f/q" "5000=o" -- stamp "$f/q" 5000

finish
