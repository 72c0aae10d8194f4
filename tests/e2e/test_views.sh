#!/bin/bash
# SPDX-License-Identifier: MIT
# Views against the contract: the tree and the streams of chains beside a model of lists (views.py), wrong
# arguments, writes, tools that copy and compare, and what moves while a process stands in a view.
#
#   ROWFS_FULL=1    three times as many random chains (environment)
. "$(dirname "$0")/lib.sh"

new_mount '{"version":1,"tables":{"t":{"families":{"f":{},"g":{},".h":{},"n":{"type":"intsum"}}},
	"u":{"families":{"f":{"gc":"maxversions=1"}}},"slow":{"families":{"f":{}}},"gone":{"families":{"f":{}}},"split":{"families":{"f":{}}}}}'
t=$m/t families=f,g,.h,n

views() {
	"$python" -S "$LIB_DIR/views.py" "$@" 2>&1
}

# reason NAME REGEX: the last line of the errors matches.
reason() {
	error "$1: the reason" "$2"
}

# For python: a directory of the C library, and the rest of its names but of . and ..
readdir='
libc.opendir.restype = libc.readdir.restype = ctypes.c_void_p
dir = ctypes.c_void_p(libc.opendir(q.encode()))
def names():
    while entry := libc.readdir(dir):
        name = ctypes.string_at(entry + 19).decode()
        if name[0] != ".":
            yield name
'

# ---- Beside the model ----------------------------------------------------------------------

views table >"$TMP/in"
cat "$TMP/in" >"$t/.rows"
cat "$t/.rows" >"$TMP/rows"
check_eq "each view" "$(printf '%s' '25 chains, 0 differ')" "$(views check "$t" "$TMP/rows" $families \
	.from/b .to/b .prefix/a a/.prefix/1 .from/% .first/3 .last/3 .first/0 .newest/0 .reverse .sample/0.5 '.key/a#.*' .has/f \
	.has/.h .has/%2Eh .has/g:% .where/n:c=7 .family/n .columns/f:q,n '.column/q.*' '.value/v[12]' .newest/1 .at/3 .since/1970-01-02 \
	.until/1970-01-01T00:00:01.000001Z)"
chains=$(rounds 100 300)
check_eq "random chains" "$chains chains, 0 differ" "$(views random "$t" "$TMP/rows" $families 1 "$chains")"

# ---- Names ---------------------------------------------------------------------------------

check_eq "ls -a shows no view" '' "$(entries "$t" | grep '^[.]')"
lists "a view alone is empty" "$t/.from"
lists "a view of a family lists these" "$t/.has" f g %2Eh n
lists "the other one" "$t/.family" f g %2Eh n
lists "no other lists them" "$t/.columns"
none "an unknown view" "$t/.nope"
none "an argument of one" "$t/.nope/1"
none "no view below .versions" "$m/.versions/t/.first"
none "no .drop in a view" "$t/.first/1/.drop"
none "no .families in a view" "$t/.first/1/.families"
none "no .delimiter in a view" "$t/.first/1/.delimiter"
none "a row that the view does not show" "$t/.from/b/a"
none "a cell that it does not show" "$t/.family/g/a/f"
long=$(printf 'l%.0s' {1..230})%/$(printf 'l%.0s' {1..70})
check_eq "a long key goes on in chunks" "$(views keys "$TMP/rows" "c/.from/$long")" "$(cat "$t/c/.from/$long/.keys")"
lists "a chunk of one is empty" "$t/c/.from/${long%/*}"
fail_with "no argument goes on in a chunk but a key" - 'Invalid argument' stat "$t/.newest/${long%/*}/a"
fail_with "a key that is split at another place" - 'Invalid argument' stat "$t/c/.from/${long%/*}/%"

# ---- Wrong arguments -----------------------------------------------------------------------

# wrong PATH REASON: EINVAL, and the reason in the errors.
wrong() {
	fail_with "$1 is wrong" - 'Invalid argument' stat "$t/$1"
	reason "$1" " /t/$2"
}
wrong .first/01 '\.first/01: it is a whole number below 2\^64, without leading zeros, at character 2$'
wrong .first/x '\.first/x: it is a whole number below 2\^64, without leading zeros, at character 1$'
wrong .newest/-1 '\.newest/-1: .*, at character 1$'
wrong .last/18446744073709551616 '\.last/18446744073709551616: .*, at character 20$'
wrong .sample/2 '\.sample/2: it is 1, or 0\. and up to 9 digits'
wrong .sample/0.50 '\.sample/0\.50: .*, at character 4$'
wrong .at/yesterday '\.at/yesterday: it is microseconds since 1970, a date,'
wrong .since/1w '\.since/1w: '
wrong .until/2024-02-30 '\.until/2024-02-30: '
wrong .from/a% '\.from/a%: .*, at character 2$'
wrong .from/a%2f '\.from/a%2f: .*, at character 2$'
wrong a/.to/%zz 'a/\.to/%zz: .*, at character 1$'
wrong .from/"$(printf 'a%.0s' {1..240})" '\.from/a*: .* goes on in directories: 230 bytes and %,'
wrong '.key/a(b' '\.key/a\(b: .*, at character 4$'
wrong '.key/%2F%2F[' '\.key/%2F%2F\[: .*, at character 8$'
wrong '.value/*' '\.value/\*: '
wrong '.column/a{2,1}' '\.column/'
wrong .has/nope '\.has/nope: there is no family nope$'
wrong .family/f:q '\.family/f:q: .*, at character 2$'
wrong .columns/f,nope '\.columns/f,nope: there is no family nope$'
wrong .columns/f, '\.columns/f,: '
wrong .has/f: '\.has/f:: '
wrong .where/f:q '\.where/f:q: '
fail_with "an argument of 256 bytes" - 'File name too long' stat "$t/.key/$(printf 'a%.0s' {1..256})"
check_eq "a key above its limit" ENAMETOOLONG "$(python "
fd = os.open(q, os.O_RDONLY)
for _ in range(20):
    fd = os.open('a' * 230 + '%', os.O_RDONLY, dir_fd=fd)
" "$t/.from")"
path=$t
for ((i = 0; i < 32; i++)); do path+=/.key/$(printf 'a*%.0s' {1..55}).\*; done
check "32 views as long as a path may be: ${#path} bytes" ls "$path"
fail_with "33 views" - 'Too many levels of symbolic links' stat "$t$(printf '/.reverse%.0s' {1..33})"
reason "33 views" 'a chain has at most 32 views'
before=$(grep -c 'from is above' "$m/.rowfs/errors")
check_eq ".from above .to is empty" '' "$(cat "$t/.from/b/.to/a/.newest/1/.rows")"
lists "and lists nothing" "$t/.from/b/.to/a"
check_eq "which is one line of the errors" $((before + 1)) "$(grep -c 'from is above' "$m/.rowfs/errors")"
check_eq "an empty range is none" "" "$(cat "$t/.from/b/.to/b/.rows")"
check_eq "and no line" $((before + 1)) "$(grep -c 'from is above' "$m/.rowfs/errors")"

# A time that may be of another unit: PATH NUMBER TIME, with a line of the errors.
while read -r path number time; do
	check "$path is found" stat "$t/$path"
	reason "$path" " /t/$path: $number is microseconds, $time: are seconds \(add 000000\) or milliseconds \(add 000\) meant\?$"
done <<'END'
.since/1700000000 1700000000 1970-01-01T00:28:20.000000Z
.until/1700000000000 1700000000000 1970-01-20T16:13:20.000000Z
a/.at/17 17 1970-01-01T00:00:00.000017Z
.newest/1/.since/99999999999999 99999999999999 1973-03-03T09:46:39.999999Z
.at/0 0 1970-01-01T00:00:00.000000Z
END
lines=$(wc -l <"$m/.rowfs/errors")
errors=$(grep '^rowfs_errors_total' "$m/.rowfs/metrics")
for time in 100000000000000 1700000000000000 1970-01-01 1970-01-01T00:00Z now 1700000000s 7d; do
	check "$time is found" stat "$t/.since/$time"
done
check_eq "times in microseconds, dates and spans add no line" "$lines" "$(wc -l <"$m/.rowfs/errors")"
check "another number does" stat "$t/.since/1"
check_eq "which is one line" $((lines + 1)) "$(wc -l <"$m/.rowfs/errors")"
check_eq "and no error" "$errors" "$(grep '^rowfs_errors_total' "$m/.rowfs/metrics")"

mkdir "$m/gone/.families/"x{10..59}
check_eq "a family that goes while it is listed ends no listing" x39,x40,x59 "$(python "$readdir
some = names() # the first reply has 32 entries, with . and ..
for name in some:
    if name == 'x39':
        break
os.rmdir(a[1] + name)
print(name, *list(some)[::19], sep=',')" "$m/gone/.has" "$m/gone/.families/")"
rmdir "$m/gone/.families/"x{10..38} "$m/gone/.families/"x{40..59}
check ".has of a family" stat "$t/.has/g"
mkdir "$t/.families/x" && check "a family's view" stat "$t/.has/x"
rmdir "$t/.families/x"
fail_with "is wrong once the family is removed" - 'Invalid argument' stat "$t/.has/x"

# ---- Read-only -----------------------------------------------------------------------------

v=$t/.newest/1
file=$(cd "$v" && find . -path './d/f/*' -o -path './d/g/*' -o -path './d/%2Eh/*' | grep -v @ | head -n 1)
before=$(md5sum <"$t/.rows")
# refused NAME COMMAND…: EROFS.
refused() {
	fail_with "$1 in a view" - 'Read-only file system' "${@:2}"
}
refused "an open for writing" sh -c ": >>'$v/$file'"
refused "a truncation" truncate -s 0 "$v/$file"
refused "an overwrite" cp "$TMP/in" "$v/$file"
refused "a new file" touch "$v/${file%/*}/new"
refused "a new row" mkdir -p "$v/new/f"
refused "mkdir" mkdir "$v/d/new"
refused "unlink" rm -f "$v/$file"
refused "rmdir" rmdir "$v/d"
refused "rm -r" rm -r "$v/a"
refused "a rename" mv "$v/$file" "$v/$file.new"
refused "a rename out of it" "$python" -S -c 'import os, sys; os.rename(*sys.argv[1:])' "$v/$file" "$t/$file.new"
refused "a rename into it" "$python" -S -c 'import os, sys; os.rename(*sys.argv[1:])' "$t/$file" "$v/$file.new"
refused "a directory's rename into it" "$python" -S -c 'import os, sys; os.rename(*sys.argv[1:])' "$t/a" "$v/new"
refused "a link" ln "$t/$file" "$v/new"
refused "a symlink" ln -s x "$v/new"
refused "mknod" mkfifo "$v/new"
refused "chmod" chmod 600 "$v/$file"
refused "chown" chown 0:0 "$v/$file"
refused "a time" touch "$v/$file"
refused "a time of a directory" touch "$v/d"
refused "an attribute" setfattr -n user.rowfs.x -v 1 "$v/$file"
refused "removing one" setfattr -x user.rowfs.x "$v/$file"
refused ".rows" sh -c "echo '{}' >'$v/.rows'"
refused ".row" sh -c "echo '{}' >>'$v/d/.row'"
refused "O_RDWR" sh -c ": <>'$v/.rows'"
refused "a time of a view's name" touch "$t/.from/new"
refused "a draft" touch "$v/${file%/*}/.q.abcdef"
check_eq "nothing has changed" "$before" "$(md5sum <"$t/.rows")"
check_eq "modes are as outside" "$(cd "$t" && stat -c %a "$file" a .rows .keys)" "$(cd "$v" && stat -c %a "$file" a .rows .keys)"
check_eq "owners are as outside" "$(cd "$t" && stat -c %u:%g "$file" a)" "$(cd "$v" && stat -c %u:%g "$file" a)"
check_eq "an inode's number is of the chain" 3 "$(stat -c %i "$t/$file" "$v/$file" "$t/.newest/2/$file" | sort -u | wc -l)"
check_eq "a file has one link" '1 2' "$(stat -c %h "$v/$file" "$t/$file" | xargs)"
check_eq "the kind of a view" table "$(getfattr --only-values -n user.rowfs.kind "$v")"
check_eq "of its row" row "$(getfattr --only-values -n user.rowfs.kind "$v/d")"
check_eq "of a prefix whose row it does not show" prefix "$(getfattr --only-values -n user.rowfs.kind "$t/.from/a%23/a")"

# ---- Tools ---------------------------------------------------------------------------------

sh -c "cd '$t' && for k in 1 2 3 4 5 6 7 8 9; do printf '{\"key\":\"%s\",\"families\":{\"f\":{\"q\":[{\"ts\":%s00,\"value\":\"%s\"}]}}}\n' z#\$k \$k v\$k; done" >"$m/t/.rows"
put "$t/z/5/f/q" newer
cat "$t/.rows" >"$TMP/rows"
# files CHAIN: its files as the model has them: path and value's digest.
check_eq "find .since -type f" "5/f/q" "$(cd "$t/z/.since/1h" && find . -type f | sed 's#^\./##')"
check_eq "the rest of it" '' "$(cd "$t/.since/1h" && find . -type f | grep -v '^./z/5/f/q$')"
check_eq "diff -r of two times" "Only in $t/z/.at/700: 6
Only in $t/z/.at/700: 7" "$(diff -r "$t/z/.at/500" "$t/z/.at/700" | sort)"
check_eq "diff of a change" "Files $t/.at/700/z/5/f/q and $t/.at/now/z/5/f/q differ" "$(diff -rq "$t/.at/700" "$t/.at/now" | grep '^Files.*/t/[.]at/700/z/')"
check_eq "grep -r" "3/f/q:v3" "$(cd "$t/z/.to/5" && grep -r v3)"
check_eq "grep in a value's view" 9 "$(grep -rl . "$t/z/.value/v.|newer" | wc -l)"
mkdir "$TMP/tar" "$TMP/rsync" "$TMP/cp"
check "tar out of a view" sh -c "tar -C '$t/.newest/1/z' --format=posix -cf - . | tar -C '$TMP/tar' -xf -"
check "rsync out of a view" rsync -a "$t/.newest/1/z/" "$TMP/rsync/"
check "cp -a out of a view" cp -a "$t/.newest/1/z/." "$TMP/cp/"
for tool in tar rsync cp; do
	check_eq "$tool: the values" "$(cd "$t/z" && find . -type f | sort | xargs md5sum)" "$(cd "$TMP/$tool" && find . -type f | sort | xargs md5sum)"
	check_eq "$tool: the times" "$(cd "$t/z" && find . -type f -printf '%P %T@\n' | sort)" "$(cd "$TMP/$tool" && find . -type f -printf '%P %T@\n' | sort)"
done
check_eq "ls -U in .reverse" "9 8 7 6 5 4 3 2 1" "$(entries "$t/z/.reverse" | xargs)"
check_eq "ls -U in .last" "7 8 9" "$(entries "$t/z/.last/3" | xargs)"
check_eq "in the reverse of the first" "3 2 1" "$(entries "$t/z/.first/3/.reverse" | xargs)"
check_eq "in the first of the reverse" "9 8 7" "$(entries "$t/z/.reverse/.first/3" | xargs)"
check_eq ".rows of a chain" "$(views rows "$TMP/rows" z/.reverse/.first/2)" "$(cat "$t/z/.reverse/.first/2/.rows")"
check_eq "the answer to a question that is no prefix" "z#5" "$(cat "$t/.where/f:q=newer/.keys")"
check_eq "head closes a stream" 1 "$(head -n 1 "$t/.reverse/.keys" | wc -l)"
check_eq ".splits of a small table" '' "$(cat "$t/.splits" "$t/.from/a/.splits" "$t/a/.splits")"

"$python" -S -c '
for i in range(10000):
    name = "l" * 300 if i % 4 == 0 else "/%"
    print("{\"key\":\"p%d#%s%05d%%00\",\"families\":{\"f\":{\"q\":[{\"ts\":1,\"value\":\"%s\"}]}}}" % (
        i % 2, name.replace("%", "%25"), i, "v" * 1000))
' >"$m/split/.rows"
remount
for place in . p0 p1 .from/p1 p0/.from/%2F .reverse; do
	check_eq ".splits of $place divide it" ok "$(views parts "$m/split/$place")"
done
check "some are in chunks" grep -q '%/l' "$m/split/.splits"

# Policies apply before the chain.
echo '{"key":"r","families":{"f":{"q":[{"ts":2,"value":"new"},{"ts":1,"value":"old"}]}}}' >"$m/u/.rows"
check_eq "a cell that its policy hides is in no view" '' "$(cat "$m/u/.at/1/.rows" "$m/u/.value/old/.rows")"
none "nor its row" "$m/u/.at/1/r"

# ---- What moves ----------------------------------------------------------------------------

echo '{"key":"b","families":{"f":{"q":"1"}}}' >"$m/u/.rows"
gone() { ! stat "$m/u/.first/1/b" >/dev/null 2>&1; }
check "the first row" stat "$m/u/.first/1/b"
exec 3<"$m/u/.first/1"
echo '{"key":"a","families":{"f":{"q":"1"}}}' >"$m/u/.rows"
check "is not the first any more" within gone
check "which is another" stat "$m/u/.first/1/a"
check_eq "an open directory keeps its bound, which is the key b" "a b" "$(python "print(*os.listdir(3))" 3<&3)"
exec 3<&-
check_eq "a listing stays at its end until it is rewound" "a b r - a b r z" "$(python "$readdir
print(*names(), end=' ')
put(a[1], '{\"key\":\"z\",\"families\":{\"f\":{\"q\":\"1\"}}}')
print(*names(), end='- ')
libc.rewinddir(dir)
print(*names())" "$m/u/.newest/1" "$m/u/.rows" | xargs)"
echo '{"key":"z","delete":true}' >"$m/u/.rows"
check_eq "a process can stand in a span" "a b" "$(cd "$m/u/.since/1h" && entries . | xargs)"
check_eq "a span that has passed" "" "$(entries "$m/u/.until/1h" | grep -v '^r$')"
check_eq "values are of their opening" "1 2" "$(
	exec 4<"$m/u/.newest/1/b/f/q"
	printf 2 >"$m/u/b/f/q"
	printf '%s %s' "$(cat <&4)" "$(cat "$m/u/.newest/1/b/f/q")"
)"
check_eq "names in a view are not cached" "old new" "$(
	printf old >"$m/u/b/f/q" && cat "$m/u/.newest/1/b/f/q"
	printf ' new' >"$m/u/b/f/q" && cat "$m/u/.newest/1/b/f/q"
)"

echo '{"key":"r","families":{"f":{"q":"1"}}}' >"$m/gone/.rows"
check_eq "a table's view" r "$(cd "$m/gone/.newest/1" && ls && echo 'table gone' >"$m/gone/.drop")"
(
	FAILED=0
	mkdir "$m/gone" "$m/gone/.families/f" && echo '{"key":"r","families":{"f":{"q":"1"}}}' >"$m/gone/.rows"
	cd "$m/gone/.newest/1" || exit
	echo 'table gone' >"$m/gone/.drop"
	lists "a view whose table is dropped" .
	fail_with "its rows" - 'No such file or directory' cat .rows
	exit $((FAILED > 0))
) || not_ok "a view of a dropped table" "see above"

# ---- Long reads ----------------------------------------------------------------------------

# A read of it all, with an expression that matches nothing, takes 7 s of processor time or more.
"$python" -S -c '
for i in range(12000):
    print("{\"key\":\"%05d\",\"families\":{\"f\":{\"q\":[{\"ts\":1,\"value\":\"%s\"}]}}}" % (i, "a" * 24))
' >"$m/slow/.rows"
never='(?:a|aa){1,24}[bc]'
printf aa >"$m/u/b/f/q"
check_eq "an expression that is built to be slow, in the kind of a row" E2BIG "$(python "
file = os.open(q, os.O_RDONLY)
put(a[1], 'a' * 40 + 'b')
print(error(os.getxattr, file, 'user.rowfs.kind'))" "$m/u/.value/(a+)+\$/b" "$m/u/b/f/q")"
reason "it" 'takes too many steps on a key, qualifier or value'
fail_with "an expression that is built to be slow" - 'Argument list too long' cat "$m/u/.value/(a+)+\$/.rows"
reason "it" 'takes too many steps'
fail_with "it in a listing" - 'Argument list too long' ls "$m/u/.value/(a+)+\$"
fail_with "it in a lookup" - 'Argument list too long' stat "$m/u/.value/(a+)+\$/b"
fail_with "it in a count" - 'Argument list too long' cat "$m/u/.value/(a+)+\$/.count"

server=$(mount_pid "$m")
# spent: the server's processor time, in hundredths of a second.
spent() {
	awk '{ print $14 + $15 }' "/proc/$server/stat"
}
# reads: the server works on the long read that begins now, which is the only one.
reads() {
	within eval "((\$(spent) > $(spent) + 10))"
}
# soon LONG NAME COMMAND…: it succeeds, and none of the LONG long reads that run has to come to its end before. Their
# processor time is in the server's.
soon() {
	local long=$1 before took
	shift
	before=$(spent)
	check "$@"
	took=$(($(spent) - before))
	check "$1: long before the end, in $took hundredths" test $took -lt $((250 * long))
}
# ends PID…: SIGINT ends them.
ends() {
	local pid
	kill -INT "$@"
	for pid in "$@"; do within ended "$pid"; done
}
# interrupted NAME COMMAND…: runs long beside others, and ends soon after SIGINT; meanwhile other requests are served.
interrupted() {
	local i pids
	env --default-signal=INT "${@:2}" >/dev/null 2>&1 &
	pids=($!)
	track_pid $!
	check "$1 is read" reads
	# More than the loop's threads; the kernel lists a directory for one process at a time.
	for i in 1 2 3 4 5 6; do
		env --default-signal=INT ls "$m/slow/.newest/$i/.value/$never" >/dev/null 2>&1 &
		pids+=($!)
		track_pid $!
		within eval "find /proc/$!/fd -lname '*/slow/*' 2>/dev/null | grep -q ." || not_ok "$1" "a listing beside it does not begin"
	done
	soon 7 "$1 delays no other request" bash -c 'for i in {1..4}; do cat "$0" || exit; done' "$m/u/b/.row"
	check "$1 is still read" kill -0 "${pids[0]}"
	soon 7 "$1 ends at once" ends "${pids[@]}"
	wait "${pids[@]}"
}
interrupted "a listing" ls "$m/slow/.value/$never"
interrupted "a stream" cat "$m/slow/.value/$never/.rows"
interrupted "a count" cat "$m/slow/.value/$never/.count"
echo '{"key":"0","families":{"f":{"q":"b"}}}' >"$m/slow/.rows"
soon 1 "the first key of a slow stream comes at once" eval '[ "$(head -n 1 "$m/slow/.value/b|$never/.keys")" = 0 ]'
check_eq "a stream that was interrupted does not go on at another moment" "0 ESTALE 0" "$(python "
file = os.open(q, os.O_RDONLY)
signal.signal(signal.SIGINT, lambda *_: None)
print(os.read(file, 100).decode(), end=' ')
def spent():
    return sum(map(int, get('/proc/%s/stat' % a[1]).split()[13:15]))
def interrupt(before):
    while spent() < before + 10:
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt, args=(spent(),)).start()
print(error(os.read, file, 100), end=' ')
os.lseek(file, 0, os.SEEK_SET)
print(os.read(file, 100).decode())" "$m/slow/.value/b|$never/.keys" "$server" | xargs)"
reason "it" 'read it again from its start'
# readers FILES: reads each of them in a thread.
readers() {
	python "
for file in $1:
    threading.Thread(target=error, args=(os.pread, file, 100, 0)).start()" "$m/slow/.value/$never/.count" &
	readers=$!
	track_pid $readers
}
limited() { grep -q 'too many reads' "$m/.rowfs/errors"; }
readers '[os.open(q, os.O_RDONLY)] * 12' # more than the threads of a small machine
check "one open file is read" reads # one read at a time
soon 1 "its reads delay no other request" cat "$m/u/b/.row"
kill -KILL $readers
wait $readers 2>/dev/null
readers '[os.open(q, os.O_RDONLY) for _ in range(170)]' # more than the loop allows at once
check "the long reads above the limit end" within limited
soon 16 "the others delay no other request" cat "$m/u/b/.row"
kill -TERM "$server"
check "SIGTERM ends them" within ended "$server"
wait $readers

# ---- Options of the mount ------------------------------------------------------------------

remount -o autodir
check "autodir: outside of views each name is a directory" stat "$t/nope"
none "autodir: in a view none is that it does not show" "$t/.newest/1/nope"
check "autodir: a view below one" ls "$t/nope/.newest/1"
want=$(cat "$t/z/.newest/1/.rows")
remount -o table=t
check_eq "the table is the root" "$want" "$(cat "$m/z/.newest/1/.rows")"
check_eq "a view of the root" z#1 "$(cat "$m/.from/z#/.first/1/.keys")"
fail_with "which is read-only" - 'Read-only file system' mkdir "$m/.newest/1/new"

finish
