#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Shells and the tools that people use, on columns and directories: their output and their effects. One open
# file is one version, whole or not at all.
#
#   ROWFS_FULL=1   more rounds of reading while others write (environment)

. "$(dirname "$0")/lib.sh"

f=$m/t/row/f
MiB=1048576

# versions COLUMN: how many its history has.
versions() {
	entries "$f/$1@" | wc -l
}

# is NAME COLUMN VERSIONS VALUE: so many versions, the newest one being VALUE and a newline; and the
# family lists no name that it did not have: no temporary or backup file is left.
is() {
	check_eq "$1" "$3: $4" "$(versions "$2"): $(cat "$f/$2")"
	check_eq "$1: nothing is left beside it" "" \
		"$(entries "$f" | grep -E '^(sed|tmp|\.|4913)|~$|\.sw.$|\.[A-Za-z0-9]{6}$')"
}

# gone NAME COLUMN: it has no cell.
gone() {
	check_eq "$1" "no, no" "$(stat "$f/$2" >/dev/null 2>&1 && echo yes || echo no), $(
		entries "$f" | grep -qxF -- "$2" && echo yes || echo no)"
}

# at COLUMN TS VALUE: writes one cell of that time.
at() {
	mkdir -p "${1%/*}" "$1@" && printf '%s\n' "$3" >"$1@/$2"
}

new_mount '{"version":1,"tables":{"t":{"families":{"f":{},"g":{}}},"u":{"families":{"f":{},"g":{}}}}}'
mkdir -p "$f" "$m/t/row/g"
printf '%s\n' a >"$TMP/a"
printf '%s\n' b >"$TMP/b"

# ---- One open file is one version ------------------------------------------------------------

makes "echo > makes a column" q 1 one -- put "$f/q" one
makes "and a second version" q 2 two -- put "$f/q" two
{ cat "$TMP/a"; cat "$TMP/b"; } >"$f/q"
is "two commands, one redirection: one version" q 3 $'a\nb'
(cat "$TMP/b"; echo x; cat "$TMP/a") >"$f/q"
is "a subshell as well" q 4 $'b\nx\na'
for i in 1 2 3; do /bin/echo "$i"; done >"$f/q"
is "a loop as well" q 5 $'1\n2\n3'
exec 3>"$f/q"
/bin/echo a >&3
is "before the close readers see the version before, and the history has no more" q 5 $'1\n2\n3'
check_eq "and the size is the old one" 6 "$(stat -c %s "$f/q")"
/bin/echo b >&3
(echo c >&3)
check_eq "so it is after children of the writer have ended" $'1\n2\n3' "$(cat "$f/q")"
exec 3>&-
is "after the close it is one version" q 6 $'a\nb\nc'
exec 3>"$f/q"
echo a >&3
echo b >&3
echo c >&3
exec 3>&-
is "also where the shell closes duplicates in between" q 7 $'a\nb\nc'
rm "$f/q@/$(entries "$f/q@" | head -n 1)"
: >"$f/q"
is "a truncation alone is an empty version" q 7 ""
check_eq "of no byte" 0 "$(stat -c %s "$f/q")"
false >"$f/q"
is "also by a command that fails" q 8 ""
fail_with "a directory is not written" - 'Is a directory' put "$f" x

# ---- Names before they are committed ---------------------------------------------------------

exec 3>"$f/unseen"
/bin/echo x >&3
loses "who makes a column sees it, nobody else does before it is committed" unseen -- test -e "$f/unseen"
exec 3>&-
is "then it is there" unseen 1 x
exec 3>"$f/unseen2"
loses "who makes it can stat it when it is empty, nobody else sees it" unseen2 -- test -e "$f/unseen2"
exec 3>&-
is "an empty one, too" unseen2 1 ""

# ---- Killed writers --------------------------------------------------------------------------

put "$f/q" kept
perl -e '$SIG{TERM} = sub { exit 1 }; open my $file, ">", $ARGV[0]; syswrite $file, "caught";
	kill "TERM", $$; sleep 5' "$f/q"
check_eq "one that catches the signal and exits commits; test_programs.sh has others" caught "$(cat "$f/q")"

# ---- Creating exclusively --------------------------------------------------------------------

fail_with "noclobber: a column that is there" 1 'cannot overwrite' bash -c "set -C; echo x >'$f/q'"
# test_sessions.sh has racers.

# ---- Appending -------------------------------------------------------------------------------

seq 200 >"$TMP/numbers"
xargs -P 8 -n 1 bash -c 'echo "$1" >>"$0"' "$f/numbers" <"$TMP/numbers" 2>"$TMP/errors"
check_eq "8 appenders meet no error" "" "$(sort -u "$TMP/errors" | head -n 3)"
check "no concurrent append is lost" cmp "$TMP/numbers" <(sort -n "$f/numbers")
check_eq "each was a version" 200 "$(versions numbers)"
put "$f/log" start
{ echo one; /bin/echo two; } >>"$f/log"
is "a group appends once" log 2 $'start\none\ntwo'
exec 3>>"$f/log"
echo three >&3
echo four >&3
exec 3>&-
is "also where the shell closes duplicates in between" log 3 $'start\none\ntwo\nthree\nfour'

# ---- Sizes -----------------------------------------------------------------------------------

mkdir "$TMP/sizes"
for size in 0 1 4095 4096 4097 65535 65536 65537 $((MiB - 1)) $MiB $((MiB + 1)) $((5 * MiB)); do
	head -c "$size" /dev/urandom >"$TMP/sizes/$size"
done
mkdir -p "$m/t/sizes/f" "$m/t/sizes/g"
cp "$TMP/sizes"/* "$m/t/sizes/f/"
for path in "$TMP/sizes"/*; do
	dd bs=777 if="$path" of="$m/t/sizes/g/${path##*/}" 2>/dev/null
done
check "values of 0 B to 5 MiB are read as written" diff -r "$TMP/sizes" "$m/t/sizes/f"
check "also when written in small pieces" diff -r "$TMP/sizes" "$m/t/sizes/g"
check_eq "and in the pieces that one asks for" "$(tail -c 70000 "$TMP/sizes/$((5 * MiB))" | md5sum)" \
	"$(tail -c 70000 "$m/t/sizes/f/$((5 * MiB))" | md5sum)"

# ---- Too large -------------------------------------------------------------------------------

# write_at PATH OFFSET: one byte there, O_RDWR; prints the result of write(2) itself.
write_at() {
	perl -e 'use Fcntl; sysopen my $file, $ARGV[0], O_RDWR | O_CREAT or die; sysseek $file, $ARGV[1], 0;
		syswrite($file, "x") // die "$!\n"; close $file or die "close: $!\n"' "$1" "$2"
}
check "the last byte of 100 MiB" write_at "$f/big" $((100 * MiB - 1))
check_eq "is there" "$((100 * MiB))" "$(stat -c %s "$f/big")"
fail_with "a byte behind it: EFBIG from write" - '^File too large' write_at "$f/big" $((100 * MiB))
fail_with "a byte far behind it" - '^File too large' write_at "$f/big" $((1 << 40))
fail_with "truncate to more" - 'File too large' truncate -s $((100 * MiB + 1)) "$f/big"
fail_with "appending to it" - 'File too large' bash -c "cat '$TMP/a' >>'$f/big'"
check_eq "it stays what it was" "1 $((100 * MiB))" "$(versions big) $(stat -c %s "$f/big")"
fail_with "dd of 101 MiB" - 'File too large' dd if=/dev/zero of="$f/huge" bs=1M count=101
gone "makes no column" huge

mkdir -p "$f/failed@"
printf precious >"$f/failed@/5"
check_eq "a failed write commits nothing" "" "$(python '
os.chdir(q)
def after(fd):
    """The error of each call behind the first one that failed; the last write would fit."""
    return [error(os.pwrite, fd, b"half", 100 * MIB), error(os.write, fd, b"more"),
            error(os.fsync, fd), error(os.ftruncate, fd, 0), error(os.write, fd, b"anew"),
            error(os.close, fd)]
for name, flags in [(n, f) for n in ("failed", "failed@/5", "failed-new", "failed@/6", "failed@/.draft")
                    for f in (os.O_TRUNC, 0, os.O_APPEND, os.O_TRUNC | os.O_SYNC)
                    for f in (f | os.O_WRONLY, f | os.O_RDWR)]:
    was = os.path.exists(name)
    fd = os.open(name, flags | os.O_CREAT)
    if not flags & os.O_APPEND and not flags & os.O_SYNC:
        os.write(fd, b"good")
    if flags & os.O_APPEND and flags & os.O_RDWR:
        os.ftruncate(fd, 100 * MIB)
    elif flags & os.O_APPEND:
        os.write(fd, b"x" * (100 * MIB - (8 if was else 0)))
    got = after(fd)
    if got != ["EFBIG"] * 3 + ["ok"] + ["EFBIG"] * 2:
        print(name, oct(flags), got)
    now = open(name).read(100) if os.path.exists(name) else None
    if now != ("precious" if was else None):
        print(name, oct(flags), "is", now)
fd = os.open("failed", os.O_WRONLY | os.O_TRUNC)
os.write(fd, b"synced")
os.fsync(fd)
after(fd)
for flags in (os.O_TRUNC, 0):  # cp grows sparse files so
    fd = os.open("failed", os.O_RDWR | flags)
    got = [error(os.ftruncate, fd, 100 * MIB + 1), error(os.write, fd, b"more"), error(os.close, fd)]
    if got != ["EFBIG"] * 3:
        print("ftruncate", got)' "$f")"

check_eq "but what was synced before" "synced precious" "$(cat "$f/failed" "$f/failed@/5" | sed 's/dp/d p/')"
check_eq "no other version is there" 2 "$(versions failed)"

# ---- Cells by their timestamp ----------------------------------------------------------------

put "$f/h" first
mkdir -p "$f/h@"
now=$(entries "$f/h@")
makes "writing q@/TS sets that cell" h 2 first -- put "$f/h@/1700000000000001" past
check_eq "exactly" "past 1700000000.000001" \
	"$(cat "$f/h@/1700000000000001") $(stat -c %.6Y "$f/h@/1700000000000001")"
makes "again it replaces the cell" h 2 first -- bash -c 'cat "$1" "$2" >"$0"' "$f/h@/1700000000000001" "$TMP/a" "$TMP/b"
makes "as does what is appended to it" h 2 first -- bash -c 'echo c >>"$0"' "$f/h@/1700000000000001"
check_eq "by the new value" $'a\nb\nc' "$(cat "$f/h@/1700000000000001")"
makes "a later one is the newest" h 3 future -- put "$f/h@/4102444800000000" future
makes "a write above it is newer still" h 4 above -- put "$f/h" above
check_eq "its history is in order" "4102444800000001 4102444800000000 $now 1700000000000001" \
	"$(entries "$f/h@" | paste -sd ' ')"
{ bash -c 'exec 3>"$0"; /bin/printf half >&3; kill -KILL $$' "$f/h@/5"; } 2>/dev/null
check "a killed writer of a cell commits nothing" test ! -e "$f/h@/5"

# ---- Removing --------------------------------------------------------------------------------

makes "rm of a cell: the next older is the newest" h 3 future -- rm "$f/h@/4102444800000001"
makes "rm of an old one leaves the newest" h 2 future -- rm "$f/h@/1700000000000001"
loses "rm of a column, which goes" h -- rm "$f/h"
check_eq "with its history" "" "$(entries "$f/h@" 2>/dev/null)"
makes "a new one of that name has no past" h 1 new -- put "$f/h" new
loses "rm of the last cell takes the column" h -- rm "$f/h@/$(entries "$f/h@")"
fail_with "rm of what is not there" - 'No such file' rm "$f/h"
fail_with "rm of a cell that is not there" - 'No such file' rm "$f/q@/77"

# ---- Editors ---------------------------------------------------------------------------------

seq 3 >"$f/e"
makes "sed -i makes a version of the column" e 2 $'1\ntwo\n3' -- sed -i s/2/two/ "$f/e"
makes "sed -i of several, each once more" e 4 $'1\ntwo\nthree' -- sed -i s/3/three/ "$f/e" "$f/e"
yields "sed -i that changes nothing keeps the value" $'1\ntwo\nthree' 'cat "$f/e"' sed -i s/x/y/ "$f/e"
yields "sed -i.bak makes a column of the old text" $'1\ntwo\nthree' 'cat "$f/e.bak"' sed -i.bak s/1/one/ "$f/e"
check_eq "and the new one" $'one\ntwo\nthree' "$(cat "$f/e")"
seq 3 >"$f/v"
makes "vim, in ex mode makes one version" v 2 $'1\ntwo\n3' -- vim -Nu NONE -es +%s/2/two/ +wq "$f/v" </dev/null
check "vim with a backup" vim -Nu NONE -es -c 'set backup writebackup backupcopy=auto backupskip=' \
	-c 'set backupdir=.' +%s/3/three/ +wq "$f/v" </dev/null
check_eq "keeps the history" "3 three" "$(versions v) $(tail -n 1 "$f/v")"
rm -f "$f/v~"
makes "vim makes a column of one version" v2 1 hello -- vim -Nu NONE -es -c 'normal ihello' +wq "$f/v2" </dev/null
# killed_vim: one that has written its swap file.
killed_vim() {
	vim -Nu NONE "$@" -es -c 'normal ihello' -c preserve -c '!kill -KILL $PPID' "$f/v2" </dev/null
}
killed_vim 2>/dev/null
check_eq "a killed vim leaves its swap file as a column" .v2.swp "$(entries "$f" | grep swp)"
rm "$f/.v2.swp"
mkdir "$TMP/swap"
killed_vim --cmd "set directory=$TMP/swap//" 2>/dev/null
check_eq "and elsewhere, where its option directory says so" "0 1" \
	"$(entries "$f" | grep -c swp) $(entries "$TMP/swap" | grep -c 'v2[.]swp$')"
yields "perl -i edits in place" bye 'cat "$f/v2"' perl -pi -e s/hello/bye/ "$f/v2"
yields "ed edits, too" ed 'cat "$f/v2"' bash -c 'printf "s/bye/ed/\nw\nq\n" | ed -s "$0"' "$f/v2"

# ---- Tools that write ------------------------------------------------------------------------

makes "cp makes a column" w 1 b -- cp "$TMP/b" "$f/w"
makes "tee makes a version" w 2 a -- bash -c 'tee "$0" <"$1"' "$f/w" "$TMP/a"
makes "tee -a appends" w 3 $'a\nb' -- bash -c 'tee -a "$0" <"$1"' "$f/w" "$TMP/b"
check "tee into several" bash -c 'tee "$0/w1" "$0/w2" >/dev/null <"$1"' "$f" "$TMP/a"
check_eq "writes each" "a a" "$(cat "$f/w1") $(cat "$f/w2")"
size='entries "$f/dd@" | wc -l; stat -c %s "$f/dd"'
yields "truncate makes a column" $'1\n100\n0' "$size; tr -d '\0' <\$f/dd | wc -c" truncate -s 100 "$f/dd"
yields "dd makes a version" $'2\n100000' "$size" dd if=/dev/zero of="$f/dd" bs=1000 count=100
yields "dd conv=notrunc seek writes into the value" $'3\n100000\nXYZ' "$size; tail -c +5001 \$f/dd | head -c 3" \
	bash -c 'printf XYZ | dd of="$0" bs=1 seek=5000 conv=notrunc' "$f/dd"
yields "dd conv=fsync oflag=append appends" $'4\n100003\nend' "$size; tail -c 3 \$f/dd" \
	bash -c 'printf end | dd of="$0" conv=notrunc,fsync oflag=append' "$f/dd"
yields "truncate to less cuts" $'5\n5002\nXY' "$size; tail -c 2 \$f/dd" truncate -s 5002 "$f/dd"
yields "truncate to more fills up with zeros" $'6\n1048576\n0' "$size; tail -c +5003 \$f/dd | tr -d '\0' | wc -c" \
	truncate -s 1M "$f/dd"
yields "fallocate -l makes it longer" $'7\n2097152' "$size" fallocate -x -l 2M "$f/dd"
seq 1000 >"$TMP/seq"
check "split" split -l 100 "$TMP/seq" "$f/split."
check_eq "makes ten columns" "10 1000" "$(find "$f" -name 'split.*' | wc -l) $(cat "$f"/split.* | wc -l)"
check "they make the whole" cmp "$TMP/seq" <(cat "$f"/split.*)
makes "install makes a column" i 1 a -- install -m 755 -o "$(id -u)" "$TMP/a" "$f/i"
makes "install over it removes its target first: a new history" i 1 b -- install -m 644 "$TMP/b" "$f/i"
makes "install -C of the same leaves it" i 1 b -- install -C -m 644 "$TMP/b" "$f/i"
yields "install -d makes directories" "$m/t/installed/f" 'ls -d $m/t/installed/f' install -d "$m/t/installed/f"
check "cp --remove-destination" bash -c 'echo x >>"$1" && cp --remove-destination "$0" "$1"' "$TMP/a" "$f/i"
is "starts a new history" i 1 a
makes "cp -f keeps it" i 2 b -- cp -f "$TMP/b" "$f/i"
check "cp --sparse=always of holes" bash -c 'truncate -s 1M "$0" && cp --sparse=always "$0" "$1"' \
	"$TMP/hole" "$f/hole"
check "gives the same bytes" cmp "$TMP/hole" "$f/hole"
check "cp --reflink=auto within the mount" cp --reflink=auto "$f/hole" "$f/hole2"
check "as well" cmp "$TMP/hole" "$f/hole2"
fail_with "gzip leaves a file with two links alone" - 'other link' gzip -k "$f/split.aa"
check "gzip -c" bash -c 'gzip -c "$0" >"$0.gz"' "$f/split.aa"
check "can be unpacked" cmp "$f/split.aa" <(gzip -dc "$f/split.aa.gz")
makes "sort -o makes a column" sorted 1 $'a\nb' -- sort -o "$f/sorted" "$TMP/b" "$TMP/a"
makes "sort -u -o onto itself makes a version" sorted 2 $'b\na' -- sort -ru -o "$f/sorted" "$f/sorted"
makes "cp within the family copies the newest value alone" sorted2 1 $'b\na' -- cp "$f/sorted" "$f/sorted2"
check "tar into a column" tar -C "$TMP" -cf "$f/archive" a b
check_eq "lists from it" "a b" "$(tar -tf "$f/archive" | paste -sd ' ')"
check "tar -r adds to it" tar -C "$TMP" -rf "$f/archive" seq
check_eq "one more" "a b seq" "$(tar -tf "$f/archive" | paste -sd ' ')"
check "cp -l, which would link, copies nothing" bash -c '! cp -l "$0" "$1" && test ! -e "$1"' "$f/w" "$f/linked"
fail_with "cp to a prefix directory" - 'not permitted' cp "$TMP/a" "$m/t/row/a"
check "/.rowfs/errors says which families there are" \
	bash -c 'grep -q f "$0/.rowfs/errors" && grep -q g "$0/.rowfs/errors"' "$m"
check "mktemp in a family" bash -c 'p=$(mktemp "$0/XXXXXX.tmp") && test -f "$p" && rm "$p"' "$f"
check "shred -u" bash -c 'echo secret >"$0" && shred -u "$0" && ! test -e "$0"' "$f/secret"

# ---- Tools that find and count ---------------------------------------------------------------

z=$m/t/z
at "$z/1/f/old" 1000000000000000 old
at "$z/1/f/new" 1700000000000001 new
at "$z/2/f/empty" 1700000000000000 x
: >"$z/2/f/empty@/1700000000000000"
at "$z/2/g/big" 1700000000000002 "$(head -c 5000 /dev/zero | tr '\0' x)"
# found NAME EXPECTED FIND-ARGUMENT…
found() {
	local name=$1 want=$2
	shift 2
	check_eq "$name" "$want" "$(find "$z" "$@" -printf '%P\n' 2>&1 | sort | paste -sd ' ')"
}
found "find" " 1 1/f 1/f/new 1/f/old 2 2/f 2/f/empty 2/g 2/g/big"
found "find -type f" "1/f/new 1/f/old 2/f/empty 2/g/big" -type f
found "find -newermt" "1/f/new 2/f/empty 2/g/big" -type f -newermt 2020-01-01
found "to the microsecond" "1/f/new 2/g/big" -type f -newermt '2023-11-14 22:13:20.000000 UTC'
found "and above" "2/g/big" -type f -newermt '2023-11-14 22:13:20.000001 UTC'
found "find -newer" "2/g/big" -type f -newer "$z/1/f/new"
found "find -size" "2/g/big" -type f -size +4k
found "find -size in bytes" "1/f/new 1/f/old" -size 4c
found "find -empty" "2/f/empty" -type f -empty
found "find -path" "1/f/new 1/f/old" -path '*/1/f/*'
found "find -links 2" "1/f/new 1/f/old 2/f/empty 2/g/big" -links 2
found "find -mtime" "1/f/new 1/f/old 2/f/empty 2/g/big" -type f -mtime +30
check_eq "find in /.versions" "2" "$(find "$m/.versions/t/z/1" -type f | wc -l)"
check_eq "grep -r" "$z/1/f/new:new" "$(grep -r new "$z")"
check_eq "grep -rc finds each once" 4 "$(grep -rc . "$z" | wc -l)"
check_eq "du -b" "$((5001 + 4 + 4))" "$(find "$z" -type f -print0 | du -bc --files0-from=- | tail -n 1 | cut -f 1)"
check_eq "du counts links once for each name" 512 "$(du -B1 "$z/1/f/new" | cut -f 1)"
yields "df, and df -T names the type" fuse.rowfs 'df --output=fstype "$m" | tail -n 1' df "$m"
check "df has room" test "$(df --output=avail "$m" | tail -n 1)" -gt 0
check "df -i" df -i "$m"
check_eq "stat -c" "4 1 1700000000 regular file 2" "$(stat -c '%s %b %Y %F %h' "$z/1/f/new")"
yields "stat -f: names of 255 bytes" 255 'stat -f -c %l "$m"' stat -f "$m"
check_eq "ls" $'1\n2' "$(ls "$z")"
# shellcheck disable=SC2012
check_eq "ls -t: newest first" "new old" "$(ls -t "$z/1/f" | paste -sd ' ')"
check_eq "ls -S" "big" "$(ls -S "$z/2/g")"
check "ls -lR" ls -lR --time-style=full-iso "$m"
# shellcheck disable=SC2012
check_eq "ls -la shows no history" "2" "$(ls -A "$z/1/f" | wc -l)"
check_eq "wc" "3 3 5009" "$(cat "$z"/1/f/* "$z"/2/*/* | wc | awk '{ print $1, $2, $3 }')"
check_eq "a glob" "$z/1/f/new $z/1/f/old" "$(echo "$z"/1/f/*)"
seq 200 | xargs -P 8 -I '{}' bash -c 'mkdir -p "$0/many/{}/f" && echo {} >"$0/many/{}/f/q"' "$m/t" 2>"$TMP/errors"
check_eq "xargs -P writes without an error" "" "$(head -n 3 "$TMP/errors")"
check_eq "all of it, and xargs -P reads" "200 20100" "$(find "$m/t/many" -type f | wc -l) $(
	find "$m/t/many" -type f -print0 | xargs -0 -P 8 -n 10 cat | awk '{ n += $1 } END { print n }')"
check "cp -r of a prefix" cp -r "$m/t/many" "$m/t/many2"
check "diff -r of two prefixes that are alike" diff -r "$m/t/many" "$m/t/many2"
echo other >"$m/t/many2/7/f/q"
mkdir -p "$m/t/many2/new/g"
echo x >"$m/t/many2/new/g/q"
check_eq "diff -rq of two that are not" "2" "$(diff -rq "$m/t/many" "$m/t/many2" | wc -l)"
check "diff -r across tables" bash -c 'cp -a "$0/t/many" "$0/u/" && diff -r "$0/t/many" "$0/u/many"' "$m"
check_eq "find -name -delete" "0 200" "$(find "$m/t/many2" -name q -delete 2>&1 | wc -l) $(
	find "$m/t/many2" -type d -name '[0-9]*' | wc -l)"
check_eq "find -delete of a tree" "" "$(find "$m/t/many2" -delete 2>&1; ls -d "$m/t/many2" 2>/dev/null)"
check_eq "find -newermt -delete" "1/f/old" "$(find "$z" -type f -newermt 2020-01-01 -delete
	cd "$z" && find . -type f -printf '%P\n')"
check "rm -r of a row" rm -r "$z/1"
check "rm -r of a prefix" rm -r "$z"
check "leaves nothing" test ! -e "$z"
check "rm -rf of what is not there" rm -rf "$m/t/nothing"
yields "rm -r through /.versions leaves nothing, neither" "" 'entries "$m/u"' rm -r "$m/.versions/u/many"
check_eq "getfattr -d" "" "$(getfattr --absolute-names -d "$f/w" 2>&1 | grep -v rowfs)"
check "file, stat, head, tail and md5sum -c" bash -c 'cd "$0" && md5sum w w1 | md5sum -c --quiet' "$f"

# ---- Into the mount and out of it: test_copies.sh has more -----------------------------------

mkdir -p "$TMP/dir/x/f"
seq 10 >"$TMP/dir/x/f/one"
seq 20 >"$TMP/dir/x/f/two"
yields "cp -a in gives the same" "" 'diff -r "$TMP/dir" "$m/u"' cp -a "$TMP/dir/." "$m/u"
yields "cp -au of what is not newer, to the microsecond, makes no version" 1 'entries "$m/u/x/f/two@" | wc -l' \
	cp -au "$TMP/dir/." "$m/u"
for option in --inplace --append; do
	versions=$(entries "$m/u/x/f/one@" | wc -l)
	seq 10 >>"$TMP/dir/x/f/one"
	check "rsync $option" rsync -a "$option" "$TMP/dir/" "$m/u/"
	check_eq "makes a version" $((versions + 1)) "$(entries "$m/u/x/f/one@" | wc -l)"
	check "gives the same" diff -r "$TMP/dir" "$m/u"
done
for format in gnu pax ustar v7 oldgnu; do
	check "tar -d finds no difference, $format" bash -c \
		'tar -C "$0" --format="$2" -cf "$1" . && tar -C "$0" -df "$1"' "$m/u" "$TMP/out.tar" "$format"
done
check "mv into the mount" mv "$TMP/a" "$m/u/x/f/moved"
check_eq "and out of it" a "$(mv "$m/u/x/f/moved" "$TMP/moved" && cat "$TMP/moved")"
yields "rsync --remove-source-files to a directory moves out, all of it" "" \
	'find "$m/u" -type f; diff -r "$TMP/dir" "$TMP/back"' rsync -a --remove-source-files "$m/u/" "$TMP/back/"

# ---- Reading while others write --------------------------------------------------------------

# meanwhile NAME WRITER GOOD COLUMN VERSIONS: Python reads the column while another process runs `writer`; each
# text is `good`. In the end the column has so many versions. The writer calls turn(i) in its i-th round: there
# are as many reads as a fifth of the rounds.
rounds=$(rounds 110 200) # 22 reads or more
meanwhile() {
	check_eq "$1" "many reads, 0 bad" "$(python "
import select
count = mmap.mmap(-1, 8)
def turn(i):
    while int.from_bytes(count[:8], 'little') < i // 5: time.sleep(0.001)
$2
$3
reads = bad = 0
pipe = started(writer)
while not select.select([pipe], [], [], 0)[0]:
    reads, bad = reads + 1, bad + (not good(get(q)))
    count[:8] = reads.to_bytes(8, 'little')
print('many' if reads > 20 else reads, 'reads,', bad, 'bad', end=pipe.read().replace('None', ''))" "$f/$4")"
	check_eq "$1: versions" "$5" "$(versions "$4")"
}
echo 0 0 0 >"$f/clock"
meanwhile "who reads in a loop sees whole values, never an older one after a newer" '
def writer():
    for i in range(1, '$((rounds + 1))'):
        turn(i)
        put(q, "%d %d %d\n" % (i, i, i))' '
last = 0
def good(text):
    global last
    earlier, last = last, int(text.split()[0])
    return text == "%d %d %d\n" % (last, last, last) and last >= earlier' clock $((rounds + 1))
check_eq "and the last" "$rounds $rounds $rounds" "$(cat "$f/clock")"
: >"$f/tail"
meanwhile "who reads what another appends to sees whole lines, from the first" '
def writer():
    for i in range(1, '$((rounds + 1))'):
        turn(i)
        with open(q, "a") as file: file.write("%d\n" % i)' '
def good(text): return text == "".join("%d\n" % (i + 1) for i in range(text.count("\n")))' tail $((rounds + 1))
head -c 5000 /dev/zero | tr '\0' 0 >"$f/race"
meanwhile "a name that others are renamed over is always there, and whole" '
def writer():
    for i in range('"$rounds"'):
        turn(i)
        put(q + ".tmp", str(i % 10) * 5000)
        rename(q + ".tmp", q)' '
def good(text): return text == text[0] * 5000' race $((rounds + 1))

# ---- After a remount -------------------------------------------------------------------------

seq 20 | while read -r i; do put "$f/steady" "$i"; done
entries "$f" | sort >"$TMP/columns"
(cd "$f" && md5sum -- *) >"$TMP/sums"
remount
check_eq "the same columns" "$(cat "$TMP/columns")" "$(entries "$f" | sort)"
makes "with the same values, and histories" steady 20 20 -- bash -c "cd '$f' && md5sum -c --quiet '$TMP/sums'"
check "the values of all sizes" diff -r "$TMP/sizes" "$m/t/sizes/f"
check "those in small pieces" diff -r "$TMP/sizes" "$m/t/sizes/g"
gone "what was removed is not back" h

finish
