#!/bin/bash
# SPDX-License-Identifier: MIT
#
# .drop: what it says, what it drops, and that nothing but just the prefix and a newline drops a row.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/control.sh
. "$(dirname "$0")/control.sh"

LIB_PATIENCE=60 # for an unmount, which waits for compaction
mount_tables
for key in a 'a#b' 'a!b' ab root '#x'; do
	put "$t/.rows" '{"key":"'"$key"'","families":{"f":{"q":[{"ts":1,"value":"12"}]}}}'
done
rows big 20000 >"$TMP/big"
cp "$TMP/big" "$t/.rows"

check_eq "what a drop would delete" \
	'{"table":"t","prefix":"a","rows":2,"bytes":4}' "$(cat "$t/a/.drop")"
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

finish
