#!/bin/bash
# SPDX-License-Identifier: MIT
#
# No tool that is aimed at a control file changes a row beyond the lines that it writes: they cannot be
# removed, renamed, truncated, replaced or made. Nothing but just the prefix and a newline in .drop drops
# rows, a family or a table, and nothing in a protected table.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/control.sh"

mount_tables

# ---- Tools -------------------------------------------------------------------------------------

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
		if $command "$c" >"$TMP/out" 2>&1 && [[ $command != perl* && $command != shred* ]]; then
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
drop "$t" t

# ---- .drop -------------------------------------------------------------------------------------

for key in a 'a#b' 'a!b' ab root '#x'; do
	put "$t/.rows" '{"key":"'"$key"'","families":{"f":{"q":[{"ts":1,"value":"12"}]}}}'
done
rows big 20000 >"$TMP/big"
cp "$TMP/big" "$t/.rows"

# refuses NAME FILE TEXT: a write of the text and a newline is EINVAL.
refuses() {
	check_eq "$1: $(printf %q "$3")" EINVAL \
		"$(python 'print(error(os.write, os.open(a[0], os.O_WRONLY), os.fsencode(a[1]) + b"\n"))' "$2" "$3")"
}

check_eq "what a drop would delete" \
	'{"table":"t","prefix":"a","rows":2,"bytes":4}' "$(jq -c . "$t/a/.drop")"
check_eq "of a table" '{"table":"u","prefix":"","rows":0,"bytes":0}' "$(jq -c . "$m/u/.drop")"
check_eq "of no row" '{"table":"t","prefix":"none#yet","rows":0,"bytes":0}' \
	"$(mkdir -p "$t/none/yet" && jq -c . "$t/none/yet/.drop")"
keys=$(md5sum <"$t/.keys")
for text in '' b 'a ' ' a' 'a#' 'a#b' A aa t '*' a/ $'a\r' $'a\na' $'a\n' $'\na' 'a%'; do
	refuses "what is not just the prefix is refused" "$t/a/.drop" "$text"
done
error "errors says what to write" '/t/a/.drop:1: .*write just a and a newline'
check_eq "no newline is awaited for it, nor are further pieces" "EINVAL EINVAL" "$(python '
fd = os.open(a[0], os.O_WRONLY)
os.write(fd, b"a")
print(error(os.write, fd, b"b"), error(os.write, os.open(a[0], os.O_WRONLY), b"wrong"))' "$t/a/.drop")"
check_eq "a beginning of it without a newline is refused by close" EINVAL "$(python '
fd = os.open(a[0], os.O_WRONLY)
os.write(fd, b"ta")
print(error(os.close, fd))' "$t/.drop")"
check "nor does an empty write, or none" bash -c ": >'$t/a/.drop' && printf '' >'$t/a/.drop'"
(python '
fd = os.open(a[0], os.O_WRONLY)
os.write(fd, b"a")
os.kill(os.getpid(), 9)' "$t/a/.drop"; :) 2>/dev/null
refuses "a table wants its name" "$t/.drop" ""
check_eq "nothing was dropped by all these" "$keys" "$(md5sum <"$t/.keys")"
mkdir -p "$t/a/b/c/d" "$t/a/e" "$t/ab/kept"
check "the prefix and a newline" drop "$t/a" a
check_eq "drops what is at and below" "0" "$(grep -c '^a\(#\|$\)' "$t/.keys")"
check_eq "and not what is beside it" 'a!b ab' "$(grep '^a' "$t/.keys" | paste -sd ' ')"
check "no directory is left of it" test ! -e "$t/a"
check "others are" test -d "$t/ab/kept"
check "without a newline, at close" bash -c "mkdir '$t/end' && echo '{\"families\":{\"f\":{\"q\":[\"1\"]}}}' >'$t/end/.row' &&
	printf end >'$t/end/.drop' && test ! -e '$t/end'"
check "a key with a newline, in pieces that end there" python '
os.mkdir(a[0])
fd = os.open(a[0] + "/.drop", os.O_WRONLY)
for piece in b"n\n", b"b", b"\n":
    os.write(fd, piece)
os.close(fd)
assert not os.path.exists(a[0])' "$t/n%0Ab"
check "byte by byte" bash -c "mkdir '$t/bytes' && printf 'bytes\n' | dd of='$t/bytes/.drop' bs=1 status=none"
yields "many rows: all of them" 0 'grep -c ^big "$t/.keys"' drop "$t/big" big
check_eq "the rest stays" '#x a!b ab root' "$(paste -sd ' ' "$t/.keys")"
check "rows written behind a drop stay" put "$t/.rows" '{"key":"big#000001","families":{"f":{"q":["1"]}}}'
refuses "an empty line confirms nothing" "$t/%/.drop" ""
error "errors says what to write for the empty prefix" '/t/%/.drop:1: .*write just % and a newline'
check_eq "the empty prefix" 0 "$(drop "$t/%" %; grep -c '^#' "$t/.keys")"
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

# ---- .count ----------------------------------------------------------------------------------

c=$m/counted
mkdir -p "$c" "$c/.families/f" "$c/.families/g"
put "$c/.families/f/gc" maxversions=2
put "$c/.rows" '{"key":"a","families":{"f":{"q":[{"ts":3,"value":"333"},{"ts":2,"value":"22"},{"ts":1,"value":"1"}]}}}'
put "$c/.rows" '{"key":"a#b","families":{"f":{"q":["x"]},"g":{"q":["y"],"":["zz"]}}}'
put "$c/.rows" '{"key":"a!","families":{"g":{"q":["1234567"]}}}'
head -c 5000000 /dev/zero >"$c/a/b/g/large"
check_eq "a table's rows, cells and bytes that are shown" '{"rows":3,"cells":7,"bytes":5000016}' "$(jq -c . "$c/.count")"
check_eq "a prefix's" '{"rows":2,"cells":6,"bytes":5000009}' "$(jq -c . "$c/a/.count")"
check_eq "one row's" '{"rows":1,"cells":4,"bytes":5000004}' "$(jq -c . "$c/a/b/.count")"
check_eq "of no row" '{"rows":0,"cells":0,"bytes":0}' "$(mkdir "$c/none" && jq -c . "$c/none/.count")"
check_eq "it ends in one newline" 1 "$(wc -l <"$c/.count")"
fail_with "it is not written" - 'Permission denied|Operation not permitted' put "$c/.count" x
check_eq "it is not listed" "" "$(find "$m" -name .count)"
fail_with "and is in no row of /.versions" - 'No such file' cat "$m/.versions/counted/a/.count"

# ---- families/F/drop -------------------------------------------------------------------------

check_eq "what the drop of a family would delete" \
	'{"table":"counted","family":"g","rows":2,"cells":4,"bytes":5000010}' "$(jq -c . "$c/.families/g/drop")"
for text in f '' 'table g' counted 'g ' $'g\ng'; do
	refuses "what is not just its name is refused" "$c/.families/g/drop" "$text"
done
error "errors says what to write" '/counted/.families/g/drop:1: .*write just g and a newline'
check_eq "nothing was dropped by all these" 4 "$(jq .cells "$c/.families/g/drop")"
exec 4>>"$c/a/b/g/q" 5>>"$c/a/b/f/q"
echo late >&4
echo on >&5
ls -lR "$c" >/dev/null
check "the name and a newline" put "$c/.families/g/drop" g
exec 4>&- 5>&-
check_eq "drops its cells in all rows, also what was being written" 0 "$(jq .cells "$c/.families/g/drop")"
check_eq "rows that held others are as they were" $'a a#b xon' \
	"$(cat "$c/.keys" "$c/a/b/f/q" | paste -sd ' ')"
check_eq "names that the kernel had are gone" "f" "$(ls "$c/a/b")"
fail_with "also of open files" - 'No such file' cat "$c/a/b/g/large"
check "the family stays, takes cells" put "$c/a/.row" '{"families":{"g":{"q":["1"]}}}'
check "without a newline it is dropped by close" bash -c "printf g >'$c/.families/g/drop'"
check "and can be removed then" rmdir "$c/.families/g"

# ---- table T ---------------------------------------------------------------------------------

for text in 'table' 'table t' 'table  counted' 'Table counted' 'table counted ' 'table a'; do
	refuses "what is not the table is refused" "$c/.drop" "$text"
done
error "errors says what to write" 'write just counted and a newline, or "table counted" to remove the table, too'
refuses "in a prefix as well" "$c/a/.drop" "table counted"
mkdir -p "$c/empty/one"
exec 4>>"$c/a/b/f/q"
echo late >&4
check "table and its name" put "$c/.drop" 'table counted'
check "drops it with its families and itself" test ! -e "$c"
check_eq "from all listings and the schema" 00 \
	"$(find "$m" "$m/.versions" -maxdepth 1 -name counted | wc -l)$(grep -c counted "$m/.rowfs/schema.json")"
exec 4>&-
check "one of its name can be made" mkdir "$c"
check_eq "and is empty" "" "$(cat "$c/.keys")$(find "$c" -mindepth 1)$(ls "$c/.families")"
mkdir "$c/.families/f"
(while put "$c/.rows" '{"key":"r","families":{"f":{"q":["x"]}}}'; do :; done) 2>/dev/null &
writer=$!
check "rows are written" within test -e "$c/r"
check "while it is written to" put "$c/.drop" 'table counted'
wait "$writer"
check "it goes" test ! -e "$c"
mkdir "$c" "$c/.families/f"
(
	cd "$c" || exit 1
	printf 'table counted' >.drop
)
check "without a newline by close, from within" test ! -e "$c"
unmount_store "$m"
check "fsck.rowfs finds nothing left" "$BUILD/fsck.rowfs" -n "$TMP/s"
mount_store "$TMP/s" "$m" -o table=u
check_eq "the root of a mount cannot go" EBUSY \
	"$(python 'print(error(os.write, os.open(a[0], os.O_WRONLY), b"table u\n"))' "$m/.drop")"
remount

# ---- .protected ------------------------------------------------------------------------------

# refused NAME COMMAND…: it fails with EPERM, and the errors say that the table is protected.
refused() {
	fail_with "$1" - 'Operation not permitted' "${@:2}"
	error "errors says why: $1" 'table is protected: .*0 is written to its .protected'
}

p=$m/kept
mkdir -p "$p" "$p/.families/f" "$p/.families/void"
put "$p/.rows" '{"key":"a#b","families":{"f":{"q":["1"]}}}'
check_eq "a table is not protected" 0 "$(cat "$p/.protected")"
check_eq "and its schema does not say so" 0 "$(grep -c protected "$m/.rowfs/schema.json")"
yields "it can be, which is read" 1 'cat "$p/.protected"' put "$p/.protected" 1
check_eq "and in the schema" true "$(jq .tables.kept.protected "$m/.rowfs/schema.json")"
for text in 2 '' true '1 ' 10; do
	fail_with "nothing else is written: '$text'" - 'Invalid argument' put "$p/.protected" "$text"
done
keys=$(cat "$p/.keys")
echo x >"$p/a/b/f/open"
exec 4>>"$p/a/b/f/open"
echo y >&4
refused "a drop of a protected table" drop "$p" kept
refused "of a prefix" drop "$p/a" a
refused "of a family without cells" rmdir "$p/.families/void"
refused "of a family" rmdir "$p/.families/f"
refused "of the table itself" rmdir "$p"
refused "also by .drop" put "$p/.drop" 'table kept'
refused "of a family's cells" put "$p/.families/f/drop" f
exec 4>&-
check_eq "an open file of it is written all the same" $'x\ny' "$(cat "$p/a/b/f/open")"
check "a policy may hide as much as before" put "$p/.families/f/gc" never
fail_with "and not more" - 'Operation not permitted' put "$p/.families/f/gc" maxversions=1000
error "errors says why" \
	'kept/.families/f/gc:1: table kept is protected, and the policy would hide more of family f'
fail_with "nor by a schema" - 'Operation not permitted' put "$m/.rowfs/schema.json" \
	'{"tables":{"other":{},"kept":{"families":{"f":"maxage=1h"}}}}'
check "of which nothing is applied" test ! -e "$m/other"
check_eq "all is there" "$keys never" "$(cat "$p/.keys" "$p/.families/f/gc" | paste -sd ' ')"
unmount_store "$m"
fail_with "mkfs.rowfs --force spares it" 1 'mkfs.rowfs: .*s: table kept is protected' \
	"$BUILD/mkfs.rowfs" --force "$TMP/s"
check "a dump has it" grep -q '"kept":{"delimiter":"#","protected":true,' <("$BUILD/rowfs-dump" "$TMP/s")
check "fsck.rowfs finds nothing" "$BUILD/fsck.rowfs" -n "$TMP/s"
mount_store "$TMP/s" "$m"
check_eq "it outlives the mount" 1 "$(cat "$p/.protected")"
check "what is no drop goes on" rm -r "$p/a"
check "0 ends it" put "$p/.protected" 0
check "then a policy may hide more" put "$p/.families/f/gc" maxversions=1
check "a drop drops" drop "$p" kept
check "and families and the table go" rmdir "$p/.families/f" "$p/.families/void" "$p"

finish
