#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The control files of rows as files: where their names are, how streams are read and sought in,
# what they cost, .drop, and that no tool aimed at one changes a row beyond the lines it writes.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

# Freed memory is not to stand in the way of what is measured below.
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:quarantine_size_mb=1

m=$TMP/m
t=$m/t
BIG=60000 # rows; about 15 MB of .rows

put() {
	printf '%s\n' "$2" >"$1"
}

# drop DIRECTORY PREFIX
drop() {
	printf '%s\n' "$2" >"$1/.drop"
}

last_error() {
	tail -n 1 "$m/.rowfs/errors"
}

# python SCRIPT [ARGUMENT…]
python() {
	python3 -c "import os, sys, errno
a = sys.argv[1:]
def error(call, *args):
    try: call(*args)
    except OSError as e: return errno.errorcode[e.errno]
    return 'ok'
$1" "${@:2}" 2>&1
}

# rows PREFIX COUNT: lines of rows PREFIX#000000 and so on, of about 250 bytes.
rows() {
	python '
for i in range(int(a[1])):
    print("{\"key\":\"%s#%06d\",\"families\":{\"f\":{\"q\":[{\"ts\":%d,\"value\":\"%s\"}]}}}"
          % (a[0], i, i + 1, ("%06d " % i) * 28))' "$1" "$2"
}

make_store "$TMP/s" '{"version":1,"tables":{
	"t":{"families":{"f":{},"g":{}}},"u":{"families":{"f":{}}},"empty":{}}}'
mount_store "$TMP/s" "$m"

# ---- Names -----------------------------------------------------------------------------------

put "$t/.rows" '{"key":"a#b","families":{"f":{"q":[{"ts":1,"value":"v"}]}}}'
put "$t/.rows" '{"key":"a!b","families":{"f":{"q":[{"ts":2,"value":"between"}]}}}'
put "$t/.rows" '{"key":"ab","families":{"f":{"q":[{"ts":3,"value":"beside"}]}}}'
mkdir -p "$t/none/yet"
for path in "$t/.rows" "$t/.drop" "$t/a/.row" "$t/a/.rows" "$t/a/.drop" "$t/a/b/.row" \
	"$t/none/yet/.row" "$t/none/.rows" "$m/empty/.rows"; do
	check_eq "${path#"$m/"}: mode, size, links" "644 0 1 regular empty file" \
		"$(stat -c '%a %s %h %F' "$path")"
done
for path in "$t/.keys" "$t/a/.keys" "$m/.rowfs/help" "$m/.rowfs/version"; do
	check_eq "${path#"$m/"} is read only" "444 0" "$(stat -c '%a %s' "$path")"
	fail_with "${path#"$m/"} cannot be written" - 'not permitted' put "$path" x
done
check_eq "they have the mount's time" "$(stat -c %y "$m/.rowfs/version")" "$(stat -c %y "$t/a/b/.row")"
for path in "$t/.row" "$t/a/b/f/.rows" "$t/a/b/f/.row" "$t/a/.families" "$t/a/.delimiter" \
	"$m/.rows" "$m/.keys" "$m/.drop" "$m/.versions/t/.rows" "$m/.versions/t/a/.keys" \
	"$m/.versions/t/a/b/.row" "$m/.versions/t/.drop" "$m/.rowfs/.rows"; do
	fail_with "${path#"$m/"} is no name" - 'No such file' stat "$path"
done
check_eq "none is listed" "" "$(find "$t" "$m/u" -name '.*' -mindepth 1)"
check_eq "what is in /.rowfs is" 1 "$(find "$m/.rowfs" -name help | wc -l)"
check_eq "a chunk of a long name has none" "No such file or directory" "$(
	long=$(printf 's%.0s' {1..230})% && mkdir "$t/$long" && stat "$t/$long/.rows" 2>&1 | sed 's/.*: //'
	rmdir "$t/$long")"

# ---- What is at and below --------------------------------------------------------------------

check_eq "a table's keys" $'a!b\na#b\nab' "$(cat "$t/.keys")"
check_eq "a prefix's keys: it, and those below" 'a#b' "$(cat "$t/a/.keys")"
put "$t/a/.row" '{"families":{"f":{"q":[{"ts":4,"value":"self"}]}}}'
check_eq "also its own" $'a\na#b' "$(cat "$t/a/.keys")"
check_eq "a row without rows below" 'a#b' "$(cat "$t/a/b/.keys")"
check_eq "no row" "" "$(cat "$t/none/.keys" "$t/none/yet/.rows" "$m/empty/.rows")"
check_eq "rows" $'a\na#b' "$(jq -r .key "$t/a/.rows")"
put "$t/.rows" '{"key":"#x","families":{"f":{"q":["1"]}}}'
check_eq "the empty segment is a prefix, too" '#x' "$(cat "$t/%/.keys")"
check_eq "but not of all" 5 "$(wc -l <"$t/.keys")"

# ---- A table as root -------------------------------------------------------------------------

unmount_store "$m"
mount_store "$TMP/s" "$m" -o table=t
check_eq "with -o table=T the table's are in the root" 5 "$(wc -l <"$m/.keys")"
check_eq "and a prefix's in it" $'a\na#b' "$(cat "$m/a/.keys")"
check_eq ".drop wants its name" t "$(jq -r .table "$m/.drop")"
check "they are written" put "$m/.rows" '{"key":"root","families":{"f":{"q":["1"]}}}'
check_eq "/.rowfs is there" 1 "$(grep -c '\.drop' "$m/.rowfs/help")"
unmount_store "$m"
mount_store "$TMP/s" "$m"

# ---- Reading ---------------------------------------------------------------------------------

rows big "$BIG" >"$TMP/big"
check "many rows" cp "$TMP/big" "$t/.rows"
s=$t/big/.rows
check "cat" cmp "$TMP/big" <(cat "$s")
check "cmp" cmp "$TMP/big" "$s"
check "cp" cp "$s" "$TMP/copy"
check "copies all" cmp "$TMP/big" "$TMP/copy"
check "dd" dd if="$s" of="$TMP/copy" bs=10007 status=none
check "copies all" cmp "$TMP/big" "$TMP/copy"
check "dd of large blocks" dd if="$s" of="$TMP/copy" bs=4M status=none
check "copies all" cmp "$TMP/big" "$TMP/copy"
check_eq "wc -l" "$BIG" "$(wc -l <"$s")"
check_eq "wc -c" "$(wc -c <"$TMP/big")" "$(wc -c <"$s")"
check_eq "head" "$(head -n 5 "$TMP/big")" "$(head -n 5 "$s")"
check_eq "tail" "$(tail -n 5 "$TMP/big")" "$(tail -n 5 "$s")"
check_eq "tail -c" "$(tail -c 1000 "$TMP/big")" "$(tail -c 1000 "$s")"
check_eq "tail -n +N" "$(tail -n +59990 "$TMP/big")" "$(tail -n +59990 "$s")"
check_eq "grep" "$(grep -n 059123 "$TMP/big")" "$(grep -n 059123 "$s")"
check "grep -q" grep -q 000001 "$s"
check_eq "sed -n" "$(sed -n 700p "$TMP/big")" "$(sed -n '700{p;q}' "$s")"
check_eq "awk" "$BIG" "$(awk 'END { print NR }' "$s")"
check_eq "jq" "big#059999" "$(jq -r .key "$s" | tail -n 1)"
check_eq "jq with an end" "big#000000" "$(jq -rn 'input | .key' "$s")"
check_eq "less" "$(md5sum <"$TMP/big")" "$(less "$s" | md5sum)"
check_eq "sort" "$BIG" "$(sort -u "$t/big/.keys" | wc -l)"
check_eq "cut" "big#000000" "$(cut -c 9-18 "$s" | head -n 1)"
check_eq "perl" "$BIG" "$(perl -ne 'END { print $. }' "$s")"
check_eq "a while read loop" "$(head -n 300 "$TMP/big" | md5sum)" "$(
	n=0
	while IFS= read -r line && ((n++ < 300)); do printf '%s\n' "$line"; done <"$s" | md5sum)"
check_eq "who shares an open file goes on where the other stopped" "$(sed -n 1,3p "$TMP/big")" "$({
	IFS= read -r line
	echo "$line"
	bash -c 'IFS= read -r line; echo "$line"'
	head -n 1
} <"$s")"
check_eq "several at once" 4 "$(
	for _ in 1 2 3 4; do cmp "$s" "$TMP/big" && echo same & done | wc -l)"
check_eq "sendfile sees an empty file" 0 "$(python '
i, o = os.open(a[0], os.O_RDONLY), os.open(a[1], os.O_WRONLY | os.O_CREAT)
print(os.sendfile(o, i, 0, 1 << 16))' "$s" "$TMP/sent")"
check_eq "tar and rsync do" "0 0" "$(tar -C "$t/a" -cf - .rows | tar -xOf - | wc -c) $(
	rsync "$t/a/.rows" "$TMP/synced" && stat -c %s "$TMP/synced")"
check_eq "a shared mapping is refused" ENODEV "$(python '
import ctypes
c = ctypes.CDLL(None, use_errno=True)
c.mmap.restype = ctypes.c_void_p
c.mmap(None, 4096, 1, 1, os.open(a[0], os.O_RDWR), 0) # PROT_READ, MAP_SHARED
print(errno.errorcode[ctypes.get_errno()])' "$s")"

# ---- Seeking ---------------------------------------------------------------------------------

seek='
fd, big = os.open(a[0], os.O_RDONLY), open(a[1], "rb").read()
MB = 1 << 20
def at(offset, n=1000):
    try: return "same" if os.pread(fd, n, offset) == big[offset:offset + n] else "other"
    except OSError as e: return errno.errorcode[e.errno]
def go(offset):
    os.lseek(fd, offset, 0)
    try: return "same" if os.read(fd, 1000) == big[offset:offset + 1000] else "other"
    except OSError as e: return errno.errorcode[e.errno]
'
# seeks NAME EXPECTED EXPRESSION…
seeks() {
	check_eq "$1" "$2" "$(python "$seek""print($3)" "$s" "$TMP/big")"
}
seeks "forward" "same same" "*[go(5 * MB), go(9 * MB + 1)]"
seeks "back to the start of a small part" "same same" "*[at(1000), at(0)]"
seeks "back by just 1 MiB" same "[at(3 * MB), at(3 * MB + 1000 - MB)][1]"
seeks "further back" ESPIPE "[at(3 * MB), at(3 * MB + 999 - MB)][1]"
seeks "back to 0 from there" ESPIPE "[at(3 * MB), go(0)][1]"
seeks "and forward again" same "[at(3 * MB), at(0), at(3 * MB + 1)][2]"
seeks "within the last 1 MiB, at random" "{'same'}" "(lambda r: {x for x in
	[at(8 * MB)] + [at(8 * MB - r.randrange(MB - 1000)) for _ in range(200)]})(__import__('random').Random(1))"
seeks "at the end" 0 "len(os.pread(fd, 100, len(big)))"
seeks "over the end" 0 "len(os.pread(fd, 100, 1 << 40))"
seeks "the last bytes" same "at(len(big) - 1000)"
seeks "over a part's end there is less" 500 "len(os.pread(fd, 1000, len(big) - 500))"
seeks "SEEK_END is 0, as the size is" 0 "os.lseek(fd, 0, 2)"
seeks "a large read in one" "True" "os.pread(fd, 6 * MB, 0) == big[:6 * MB]"
check_eq "threads that read one open file at once" "same" "$(python "$seek"'
import concurrent.futures as f
with f.ThreadPoolExecutor(8) as pool:
    print(*set(pool.map(at, [i * 1000 for i in range(900)])))' "$s" "$TMP/big")"

# ---- What it costs ---------------------------------------------------------------------------

pid=$(mount_pid "$m")
# ticks: of processor time that the daemon has used.
ticks() {
	awk '{ print $14 + $15 }' "/proc/$pid/stat"
}
# sent: bytes that the daemon has written, most of them to the kernel.
sent() {
	awk '/^wchar/ { print $2 }' "/proc/$pid/io"
}
before=$(sent)
head -n 1 "$s" >/dev/null
first=$(($(sent) - before))
before=$(ticks)
cat "$s" >/dev/null
whole=$(($(ticks) - before))
before=$(ticks)
for ((i = 0; i < 50; i++)); do head -n 1 "$s"; done >/dev/null
check "head -n 1 of $BIG rows gets no more than it reads" test "$first" -lt 300000
check "and fifty of them cost less than reading all twice ($(($(ticks) - before)) and $whole ticks)" \
	test $(($(ticks) - before)) -lt $((2 * whole + 10))
check_eq "a stream that is not read costs others nothing" 'a#b' "$(
	exec 3<"$s"
	read -r _ <&3
	drop "$t/none" none 2>/dev/null
	mkdir "$t/.families/late" && rmdir "$t/.families/late" && cat "$t/a/b/.keys")"

# anonymous: memory of the daemon that is no file's, in KiB.
anonymous() {
	awk '/^RssAnon/ { print $2 }' "/proc/$pid/status"
}
cat "$s" >/dev/null
start=$(anonymous)
peak=$start
{
	for ((i = 0; i < 14; i++)); do
		head -c 1000000 >/dev/null
		now=$(anonymous)
		((now > peak)) && peak=$now
	done
} <"$s"
check "reading 15 MB takes constant memory ($start to $peak KiB)" test $((peak - start)) -lt 8000
python 'import json
json.dump({"key": "huge", "families": {"f": {"q": ["v" * (24 << 20)]}}}, sys.stdout)' >"$TMP/huge"
cp "$TMP/huge" "$t/.rows"
mkdir -p "$t/huge"
check_eq "a value of 24 MiB comes out as it went in" "$(jq -r '.families.f.q[0]' "$TMP/huge" | md5sum)" \
	"$(jq -r '.families.f.q[0].value' "$t/huge/.row" | md5sum)"
start=$(anonymous)
peak=$start
{
	for ((i = 0; i < 20; i++)); do
		head -c 1000000 >/dev/null
		now=$(anonymous)
		((now > peak)) && peak=$now
	done
} <"$t/huge/.row"
check "and takes constant memory as well ($start to $peak KiB)" test $((peak - start)) -lt 8000
drop "$t/huge" huge

# A view of one moment: what is written behind the reader does not show.
check_eq "a stream is of one moment" "$BIG" "$(
	{
		read -r _
		put "$t/.rows" '{"key":"big#zzz","families":{"f":{"q":["late"]}}}'
		put "$t/.rows" '{"key":"big#030000","delete":true}'
		cat
	} <"$s" | wc -l | { read -r n; echo $((n + 1)); })"
check_eq "the next one has it" 'big#zzz' "$(tail -n 1 "$t/big/.keys")"

# ---- Drops -----------------------------------------------------------------------------------

check_eq "what a drop would delete" \
	'{"table":"t","prefix":"a","rows":2,"bytes":5}' "$(cat "$t/a/.drop")"
check_eq "of a table" '{"table":"u","prefix":"","rows":0,"bytes":0}' "$(cat "$m/u/.drop")"
check_eq "of no row" '{"table":"t","prefix":"none#yet","rows":0,"bytes":0}' \
	"$(mkdir -p "$t/none/yet" && cat "$t/none/yet/.drop")"
keys=$(md5sum <"$t/.keys")
for text in '' b 'a ' ' a' 'a#' 'a#b' A aa t '*' a/ $'a\r' $'a\na' $'a\n' $'\na' 'a%'; do
	check_eq "what is not just the prefix is refused: $(printf %q "$text")" EINVAL \
		"$(python 'print(error(os.write, os.open(a[0], os.O_WRONLY), os.fsencode(a[1]) + b"\n"))' \
			"$t/a/.drop" "$text")"
done
check_eq "errors says what to write" 1 "$(last_error | grep -c '/t/a/.drop:1: .*write just a and a newline')"
check_eq "without its newline it drops nothing" EINVAL "$(python '
fd = os.open(a[0], os.O_WRONLY)
os.write(fd, b"a")
print(error(os.close, fd))' "$t/a/.drop")"
check "nor does an empty write, or none" bash -c ": >'$t/a/.drop' && printf '' >'$t/a/.drop'"
(python '
fd = os.open(a[0], os.O_WRONLY)
os.write(fd, b"a")
os.kill(os.getpid(), 9)' "$t/a/.drop"; :) 2>/dev/null
check_eq "a table wants its name" EINVAL \
	"$(python 'print(error(os.write, os.open(a[0], os.O_WRONLY), b"\n"))' "$t/.drop")"
check_eq "nothing was dropped by all these" "$keys" "$(md5sum <"$t/.keys")"
mkdir -p "$t/a/b/c/d" "$t/a/e" "$t/ab/kept"
check "the prefix and a newline" drop "$t/a" a
check_eq "drops what is at and below" "0" "$(grep -c '^a\(#\|$\)' "$t/.keys")"
check_eq "and not what is beside it" 'a!b ab' "$(grep '^a' "$t/.keys" | paste -sd ' ')"
check "no directory is left of it" test ! -e "$t/a"
check "others are" test -d "$t/ab/kept"
check "byte by byte" bash -c "mkdir '$t/bytes' && printf 'bytes\n' | dd of='$t/bytes/.drop' bs=1 status=none"
check "many rows" drop "$t/big" big
check_eq "all of them" 0 "$(grep -c ^big "$t/.keys")"
check_eq "the rest stays" '#x a!b ab root' "$(paste -sd ' ' "$t/.keys")"
check "rows written behind a drop stay" put "$t/.rows" '{"key":"big#000001","families":{"f":{"q":["1"]}}}'
check_eq "the empty prefix" 0 "$(drop "$t/%" ''; grep -c '^#' "$t/.keys")"
mkdir -p "$t/%01%25%FF"
put "$t/%01%25%FF/.row" '{"families":{"f":{"q":["1"]}}}'
check_eq "a prefix of any bytes is read as rows spell it" '%01%25%FF' "$(jq -r .prefix "$t/%01%25%FF/.drop")"
check "and written so" drop "$t/%01%25%FF" '%01%25%FF'
check_eq "drops it" 0 "$(grep -c '^%01' "$t/.keys")"
mkdir -p "$t/%01%25%FF" "$t/a\"\\b"
put "$t/%01%25%FF/.row" '{"families":{"f":{"q":["1"]}}}'
check "or as the bytes are" drop "$t/%01%25%FF" $'\x01%\xff'
check_eq "drops it" 0 "$(grep -c '^%01' "$t/.keys")"
check_eq "what JSON escapes is escaped" 'a"\b' "$(jq -r .prefix "$t/a\"\\b/.drop")"
mkdir "$t/w" "$t/w/f"
echo x >"$t/w/f/old"
exec 4>>"$t/w/f/old"
exec 5>>"$m/.versions/t/w/f/old@/7"
echo late >&4
echo late >&5
check "while a file in it is being written" drop "$t/w" w
exec 4>&- 5>&-
check_eq "what that wrote goes nowhere, as after rm" "" "$(grep -x w "$t/.keys")"
mkdir -p "$t/more"
check "a table by its name" drop "$t" t
check_eq "all of it" "" "$(cat "$t/.keys")$(find "$t" -mindepth 1)"
check "reading goes on after a write" bash -c "mkdir -p '$t/x' && echo '{\"families\":{\"f\":{\"q\":[\"1\"]}}}' >'$t/x/.row' &&
	exec 3<>'$t/x/.drop' && echo x >&3 && jq -e '.rows == 0' <&3 >/dev/null"

# ---- No tool changes a row -------------------------------------------------------------------

rows keep 20 >"$TMP/keep"
cp "$TMP/keep" "$t/.rows"
put "$t/.rows" '{"key":"keep","families":{"f":{"q":[{"ts":9,"value":"self"}]}}}'
cat "$t/.rows" >"$TMP/all"
echo '{"key":"keep#000001","delete":true}' >"$TMP/line"
echo text >"$TMP/text"
cp "$TMP/line" "$TMP/.rows"
cp "$TMP/line" "$TMP/.row"
cp "$TMP/text" "$TMP/.drop"
tar -C "$TMP" -cf "$TMP/control.tar" .rows .row .drop
# same NAME: every row is as it was.
same() {
	check "$1 changes no row" cmp "$TMP/all" "$t/.rows"
}
for name in .rows .row .drop .keys; do
	c=$t/keep/$name
	for command in 'rm -f' 'unlink' 'truncate -s 0' 'truncate -s 5' 'shred -u -n 0' \
		"mv $TMP/line" "mv $t/keep/000001/f/q" "mv $t/keep/000001" 'sed -i s/x/y/' \
		"install $TMP/line" "cp --remove-destination $TMP/line" "ln -f $TMP/line" \
		"ln -sf $TMP/line" "rsync -a $TMP/line" "rmdir" "mkdir" "mkfifo" "perl -pi -e s/x/y/"; do
		# shellcheck disable=SC2086 # words
		if timeout 20 $command "$c" >"$TMP/out" 2>&1 && [[ $command != perl* && $command != shred* ]]; then
			not_ok "$command $name" "succeeded: $(cat "$TMP/out")"
		fi
		check "$name is there after $command" test -f "$c"
	done
	cp "$TMP/line" "$TMP/moved"
	fail_with "mv $name away" - 'not permitted' mv "$c" "$TMP/away"
	fail_with "mv $name to another name" - 'not permitted' mv "$c" "$t/keep/x"
	fail_with "mv $name into a family" - 'not permitted|cross-device' mv -n "$c" "$t/keep/f/x"
	check "touch $name" touch "$c"
	check "chmod $name" chmod 600 "$c"
	same "what is aimed at $name"
done
fail_with "tar x onto them" - 'exist|not permitted' tar -C "$t/keep" -xf "$TMP/control.tar"
same "tar x"
fail_with "rm -r of a control file" - 'not permitted' rm -rf "$t/keep/.rows"
check "find -delete meets none" bash -c "! find '$t' -name '.row*' | grep ."
check "mktemp next to them fails" bash -c "! mktemp '$t/keep/.rows.XXXXXX' 2>/dev/null"
fail_with "cp of what is no row" - 'Invalid argument' cp "$TMP/text" "$t/keep/.rows"
fail_with "dd of what is no prefix" - 'Invalid argument' dd if="$TMP/text" of="$t/keep/.drop" status=none
fail_with "tee" - 'Invalid argument' tee "$t/keep/.row" <"$TMP/text"
fail_with "rsync --inplace of what is no row" - 'Invalid argument' rsync --inplace "$TMP/text" "$t/keep/.rows"
same "what is no row"
check "cp writes its lines and no more" cp "$TMP/line" "$t/keep/.rows"
check_eq "one row went" "$(grep -v 'keep#000001' "$TMP/all" | md5sum)" "$(md5sum <"$t/.rows")"
check_eq "/.rowfs/errors is not removed either" "not permitted" \
	"$(rm -f "$m/.rowfs/errors" 2>&1 | grep -o 'not permitted')"

# ---- Metrics ---------------------------------------------------------------------------------

check_eq "metrics is lines of the text format" "" "$(
	grep -vE '^# (HELP|TYPE) [a-z_]+ .|^[a-zA-Z_:]+(\{[^}]*\})? [-+.0-9eEInfNa]+$' "$m/.rowfs/metrics")"
check "and has some" test "$(grep -vc '^#' "$m/.rowfs/metrics")" -gt 30
check "engine says something" test -n "$(cat "$m/.rowfs/engine")"
for name in metrics engine; do
	check_eq "$name is read only" 444 "$(stat -c %a "$m/.rowfs/$name")"
	fail_with "$name cannot be written" - 'not permitted' put "$m/.rowfs/$name" x
	check_eq "$name is listed" "$m/.rowfs/$name" "$(find "$m/.rowfs" -name $name)"
done

# ---- Help ------------------------------------------------------------------------------------

for name in .rows .keys .drop .row .families .delimiter schema.json errors metrics engine version; do
	check "help speaks of $name" grep -qF -- "$name" "$m/.rowfs/help"
done
check_eq "its lines fit a terminal" "" "$(grep -E '.{101}' "$m/.rowfs/help")"
check_eq "a report of no sanitizer" 0 "$(grep -cE "$LIB_SANITIZER" "$(mount_log "$m")")"

finish
