#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The control files of rows as files: where their names are, how streams are read and sought in, and
# their cost.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/control.sh"

# Freed memory must not distort the measurements below.
export ASAN_OPTIONS=${ASAN_OPTIONS:-}:quarantine_size_mb=1
BIG=60000 # rows; about 15 MB of .rows
SOME=8000 # 2 MB, and so more than the part that a stream keeps

mount_tables

# ---- Names -----------------------------------------------------------------------------------

put "$t/.rows" '{"key":"a#b","families":{"f":{"q":[{"ts":1,"value":"v"}]}}}'
put "$t/.rows" '{"key":"a!b","families":{"f":{"q":[{"ts":2,"value":"between"}]}}}'
put "$t/.rows" '{"key":"ab","families":{"f":{"q":[{"ts":3,"value":"beside"}]}}}'
mkdir -p "$t/none/yet"
for path in "$t/.rows" "$t/a/.rows" "$t/none/yet/.row" "$t/none/.rows" "$m/empty/.rows"; do
	check_eq "${path#"$m/"}: mode, size, links" "644 0 1 regular empty file" \
		"$(stat -c '%a %s %h %F' "$path")"
done
for path in "$t/.drop" "$t/a/.drop" "$t/a/b/.row"; do
	check_eq "${path#"$m/"}: mode, links" "644 1 regular file" "$(stat -c '%a %h %F' "$path")"
done
for path in "$t/.keys" "$t/a/.keys" "$m/.rowfs/help" "$m/.rowfs/version"; do
	check_eq "${path#"$m/"} is read only" 444 "$(stat -c %a "$path")"
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

# ---- Streams at and below a directory --------------------------------------------------------

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

remount -o table=t
check_eq "with -o table=T the table's are in the root" 5 "$(wc -l <"$m/.keys")"
check_eq "and a prefix's in it" $'a\na#b' "$(cat "$m/a/.keys")"
check_eq ".drop wants its name" t "$(jq -r .table "$m/.drop")"
check "they are written" put "$m/.rows" '{"key":"root","families":{"f":{"q":["1"]}}}'
check_eq "/.rowfs is there" 1 "$(grep -c '\.drop' "$m/.rowfs/help")"
remount

# ---- Reading ---------------------------------------------------------------------------------

rows some "$SOME" >"$TMP/some"
check "some rows" cp "$TMP/some" "$t/.rows"
s=$t/some/.rows
check "cmp" cmp "$TMP/some" "$s"
# shellcheck disable=SC2016 # the command's own
for command in 'cat $f' 'cp $f $to; cat $to' 'dd if=$f of=$to bs=10007 status=none; cat $to' \
	'dd if=$f of=$to bs=4M status=none; cat $to' 'wc -l <$f' 'wc -c <$f' 'head -n 5 $f' 'tail -n 5 $f' 'tail -c 1000 $f' \
	'tail -n +7990 $f' 'grep -n 007123 $f' 'sed -n 700p $f' 'sed 700q $f' 'awk "END { print NR }" $f' 'less $f' \
	'sort -u -S 1M $f' 'cut -c 9-18 $f' 'perl -ne "END { print $. }" $f' 'jq -r .key $f' 'jq -rn "input | .key" $f'; do
	check_eq "$command" "$(f=$TMP/some to=$TMP/copy bash -c "$command || echo failed" | md5sum)" \
		"$(f=$s to=$TMP/copy bash -c "$command || echo failed here" | md5sum)"
done
check "grep -q" grep -q 000001 "$s"
rows big "$BIG" >"$TMP/big"
check "many rows" cp "$TMP/big" "$t/.rows"
s=$t/big/.rows
check "cmp of many" cmp "$TMP/big" "$s"
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

# ---- Cost ------------------------------------------------------------------------------------

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
# constant NAME PATH MIB: reading so much of it takes no more of that.
constant() {
	local start peak now i
	start=$(anonymous)
	peak=$start
	for ((i = 0; i < $3; i++)); do
		head -c 1000000 >/dev/null
		now=$(anonymous)
		((now > peak)) && peak=$now
	done <"$2"
	check "$1 takes constant memory ($start to $peak KiB)" test $((peak - start)) -lt 8000
}
cat "$s" >/dev/null
constant "reading 15 MB" "$s" 14
python 'import json
json.dump({"key": "huge", "families": {"f": {"q": ["v" * (24 << 20)]}}}, sys.stdout)' >"$TMP/huge"
cp "$TMP/huge" "$t/.rows"
mkdir -p "$t/huge"
check_eq "a value of 24 MiB comes out as it went in" "$(jq -r '.families.f.q[0]' "$TMP/huge" | md5sum)" \
	"$(jq -r '.families.f.q[0].value' "$t/huge/.row" | md5sum)"
constant "and that" "$t/huge/.row" 20
drop "$t/huge" huge

# A view of one moment: later writes behind the reader do not show.
check_eq "a stream is of one moment" "$BIG" "$(
	{
		read -r _
		put "$t/.rows" '{"key":"big#zzz","families":{"f":{"q":["late"]}}}'
		put "$t/.rows" '{"key":"big#030000","delete":true}'
		cat
	} <"$s" | wc -l | { read -r n; echo $((n + 1)); })"
check_eq "the next one has it" 'big#zzz' "$(tail -n 1 "$t/big/.keys")"

# ---- Metrics ---------------------------------------------------------------------------------

# HELP, then TYPE, then samples of that family only, and no family twice; buckets never fall.
check_eq "metrics is the text format of Prometheus" "" "$(python '
import re
label = r"[a-z_]+=\"(?:[^\"\\\n]|\\[\"\\n])*\""
sample = r"([a-z_]+)(?:\{(%s(?:,%s)*)\})? ([0-9.e+-]+)\n" % (label, label)
names, below = [], 0
for family in re.split("^(?=# HELP )", get(q), flags=re.M)[1:]:
    head = re.match(r"# HELP (\w+) .+\n# TYPE \1 (counter|gauge|histogram)\n(?=%s)" % sample, family)
    if not head or re.sub(sample, "", family[head.end():]) or head[1] in names:
        print(family)
        continue
    names.append(head[1])
    if head[2] == "counter" and not head[1].endswith("_total"): print(head[1])
    for name, labels, value in re.findall(sample, family[head.end():]):
        kind, value = name[len(head[1]):], float(value)
        if not name.startswith(head[1]) or kind not in \
                (("_bucket", "_sum", "_count") if head[2] == "histogram" else ("",)): print(name)
        if kind == "_bucket" and "le=\"0.00001\"" not in labels and value < below: print(labels, value)
        if kind == "_bucket": below = value
        if kind == "_count" and value != below: print(labels, value)' "$m/.rowfs/metrics")"
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

# ---- Readers that leave streams open ---------------------------------------------------------

# hold: opens streams as another user until one is refused, and prints how many there were and why.
if [ "$(id -u)" = 0 ]; then
	unmount_store "$m"
	mount_store "$TMP/s" "$m" -o allow_other
	cat >"$TMP/hold.py" <<'END'
import os, sys
os.chdir(sys.argv[1]), os.setgroups([]), os.setgid(int(sys.argv[2])), os.setuid(int(sys.argv[2]))
held = []
try:
    while len(held) < 300:
        held.append(os.open("t/.keys", os.O_RDONLY))
        os.read(held[-1], 1)
except OSError as e:
    print(len(held) - 1, os.strerror(e.errno), flush=True)
sys.stdin.read()
END
	mkfifo "$TMP/end"
	exec 8<>"$TMP/end"
	for user in 1001 1002 1003 1004; do
		"$python" -S "$TMP/hold.py" "$m" "$user" <"$TMP/end" >"$TMP/held.$user" 8>&- &
		track_pid $!
		within test -s "$TMP/held.$user"
	done
	check_eq "each other user has a share of the streams, and all together a larger one" \
		"64 64 64 0 Too many open files in system" \
		"$(for i in 1 2 3 4; do cut -d ' ' -f 1 "$TMP/held.100$i"; done | paste -sd ' ') $(
			cut -d ' ' -f 2- "$TMP/held.1001")"
	check "root reads on beside them" test "$(wc -l <"$t/.keys")" -gt "$BIG"
	check "and dumps" "$BUILD/rowfs-dump" "$m" t a
	exec 8>&-
fi

finish
