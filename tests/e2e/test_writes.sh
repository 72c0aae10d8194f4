#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Writing cells by any tool: one open file is one version, whole or not at all.

. "$(dirname "$0")/lib.sh"

f=$m/t/row/f
MiB=1048576

# versions COLUMN: how many its history has.
versions() {
	entries "$f/$1@" | wc -l
}

# is NAME COLUMN VERSIONS VALUE: so many versions, the newest one being VALUE and a newline.
is() {
	check_eq "$1" "$3: $4" "$(versions "$2"): $(cat "$f/$2")"
}

# gone NAME COLUMN: it has no cell.
gone() {
	check_eq "$1" "no, no" "$(stat "$f/$2" >/dev/null 2>&1 && echo yes || echo no), $(
		entries "$f" | grep -qxF -- "$2" && echo yes || echo no)"
}

new_mount '{"version":1,"tables":{"t":{"families":{"f":{},"g":{}}}}}'
mkdir -p "$f"
echo a >"$TMP/a"
echo b >"$TMP/b"

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
before=$(versions q)
{ bash -c 'sleep 60 >"$0" & pid=$!; sleep 0.3; kill -TERM $pid; wait' "$f/q"; } 2>/dev/null
is "a slow command that is ended leaves the value" q "$before" kept
perl -e '$SIG{TERM} = sub { exit 1 }; open my $file, ">", $ARGV[0]; syswrite $file, "caught";
	kill "TERM", $$; sleep 5' "$f/q"
check_eq "one that catches the signal and exits does" caught "$(cat "$f/q")"

# ---- Creating exclusively --------------------------------------------------------------------

fail_with "noclobber: a column that is there" 1 'cannot overwrite' bash -c "set -C; echo x >'$f/q'"
winners=0
versions=0
for i in 1 2 3 4 5 6 7 8 9 10; do
	seq 6 | xargs -P 6 -n 1 bash -c 'set -C; echo "$2" >"$0" && echo "$2" >>"$1"' \
		"$f/race$i" "$TMP/won$i" 2>/dev/null
	[ "$(cat "$TMP/won$i")" = "$(cat "$f/race$i")" ] && winners=$((winners + 1))
	versions=$((versions + $(versions "race$i")))
done
check_eq "of racers with O_EXCL one wins, and its value is there" "10 10" "$winners $versions"

# ---- Appending -------------------------------------------------------------------------------

seq 400 >"$TMP/numbers"
xargs -P 8 -n 1 bash -c 'echo "$1" >>"$0"' "$f/numbers" <"$TMP/numbers" 2>"$TMP/errors"
check_eq "8 appenders meet no error" "" "$(sort -u "$TMP/errors" | head -n 3)"
check "no concurrent append is lost" cmp "$TMP/numbers" <(sort -n "$f/numbers")
check_eq "each was a version" 400 "$(versions numbers)"
put "$f/log" start
{ echo one; /bin/echo two; } >>"$f/log"
is "a group appends once" log 2 $'start\none\ntwo'
exec 3>>"$f/log"
echo three >&3
echo four >&3
exec 3>&-
is "also where the shell closes duplicates in between" log 3 $'start\none\ntwo\nthree\nfour'

# ---- In parallel -----------------------------------------------------------------------------

seq 200 | xargs -P 8 -I '{}' bash -c 'echo {} >"$0"' "$f/contended" 2>"$TMP/errors"
check_eq "8 writers of one column meet no error" "" "$(sort -u "$TMP/errors" | head -n 3)"
check_eq "each made a version" 200 "$(versions contended)"
check "with a value of its own" cmp <(seq 200) <(cat "$f"/contended@/* | sort -n)

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
check "tar reads them" bash -c "tar -C '$m/t/sizes/f' -c . | tar -C '$TMP' -x --one-top-level=tar"
check "the same" diff -r "$TMP/sizes" "$TMP/tar"

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
    if flags & os.O_APPEND:
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
makes "again: it is replaced" h 2 first -- put "$f/h@/1700000000000001" again
check_eq "by the new value" again "$(cat "$f/h@/1700000000000001")"
makes "a later one is the newest" h 3 future -- put "$f/h@/4102444800000000" future
check_eq "q has its time" 4102444800.000000 "$(stat -c %.6Y "$f/h")"
makes "a write above it is newer still" h 4 above -- put "$f/h" above
check_eq "by a microsecond" 4102444800.000001 "$(stat -c %.6Y "$f/h")"
{ cat "$TMP/a"; cat "$TMP/b"; } >"$f/h@/0"
check_eq "a cell at 0, by two commands" $'a\nb' "$(cat "$f/h@/0")"
echo c >>"$f/h@/0"
check_eq "appending to a cell" $'a\nb\nc' "$(cat "$f/h@/0")"
check_eq "its history is in order" "4102444800000001 4102444800000000 $now 1700000000000001 0" \
	"$(entries "$f/h@" | paste -sd ' ')"
{ bash -c 'exec 3>"$0"; /bin/printf half >&3; kill -KILL $$' "$f/h@/5"; } 2>/dev/null
check "a killed writer of a cell commits nothing" test ! -e "$f/h@/5"

# ---- Removing --------------------------------------------------------------------------------

makes "rm of a cell: the next older is the newest" h 4 future -- rm "$f/h@/4102444800000001"
makes "rm of an old one leaves the newest" h 3 future -- rm "$f/h@/1700000000000001"
loses "rm of a column, which goes" h -- rm "$f/h"
check_eq "with its history" "" "$(entries "$f/h@" 2>/dev/null)"
makes "a new one of that name has no past" h 1 new -- put "$f/h" new
loses "rm of the last cell takes the column" h -- rm "$f/h@/$(entries "$f/h@")"
fail_with "rm of what is not there" - 'No such file' rm "$f/h"
fail_with "rm of a cell that is not there" - 'No such file' rm "$f/q@/77"

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
