#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Rows written as JSON into .row and .rows: the effect of a line, no effect of a bad one, and whole
# copies by cat. test_soak.sh reads rows while they change.

. "$(dirname "$0")/lib.sh"

t=$m/t

# write PATH TEXT: writes the text as it is, by one write(2), and prints the results of write and
# close: "ok", or the name of an error and which of both gave it.
write() {
	python '
fd = opened(os.O_WRONLY)
written = error(write, fd, os.fsencode(a[1]))
closed = error(close, fd) if written == "ok" else "ok"
print("write " + written if written != "ok" else "close " + closed if closed != "ok" else "ok")' "$1" "$2"
}

# newest ROW FAMILY QUALIFIER: from the row's .row.
newest() {
	jq -r ".families[\"$2\"][\"$3\"][0].value" "$1/.row"
}

schema='{"version":1,"tables":{
	"t":{"families":{"f":{},"g":{}}},
	"u":{"families":{"f":{},"g":{}}},
	"colon":{"delimiter":":","families":{"f":{},"g":{}}},
	"other":{"families":{"f":{}}}}}'
new_mount "$schema"
mkdir -p "$t/a/b"

# ---- One row ---------------------------------------------------------------------------------

check_eq "the .row of no row is empty" "" "$(cat "$t/a/b/.row")"
began=$(date +%s)
check "a row is written by its .row" put "$t/a/b/.row" \
	'{"families":{"f":{"q":[{"ts":7,"value":"new"},{"ts":5,"value":"old"}],"r":["x"]},"g":{"":[{"ts":1,"value":""}]}}}'
check_eq "its cells are there" "new old" "$(cat "$t/a/b/f/q") $(cat "$t/a/b/f/q@/5")"
check "one that is just text has the present" test "$(stat -c %Y "$t/a/b/f/r")" -ge "$began" -a \
	"$(stat -c %Y "$t/a/b/f/r")" -le "$(date +%s)"
check_eq "and reads as it was written" '{"q":[{"ts":7,"value":"new"},{"ts":5,"value":"old"}]}' \
	"$(jq -c '.families.f | del(.r)' "$t/a/b/.row")"
check_eq "with its key" "a#b" "$(jq -r .key "$t/a/b/.row")"
check_eq "the empty qualifier and value" '{"":[{"ts":1,"value":""}]}' \
	"$(jq -c .families.g "$t/a/b/.row")"
check_eq "a prefix is no row" "" "$(cat "$t/a/.row")"
check "the key may be said" put "$t/a/b/.row" '{"key":"a#b","families":{"f":{"q":["newer"]}}}'
check_eq "what is named is written" newer "$(newest "$t/a/b" f q)"
check_eq "the rest stays" x "$(newest "$t/a/b" f r)"
check_eq "another key is refused" "write EINVAL" \
	"$(write "$t/a/b/.row" $'{"key":"a#c","families":{"f":{"q":["x"]}}}\n')"
check_eq "also one below" "write EINVAL" \
	"$(write "$t/a/b/.row" $'{"key":"a#b#c","families":{"f":{"q":["x"]}}}\n')"
check "and neither is made" test ! -e "$t/a/c" -a ! -e "$t/a/b/c"
check "append" put "$t/a/b/.row" '{"append":{"f":{"r":"yz"}}}'
check_eq "goes behind the newest value" xyz "$(newest "$t/a/b" f r)"
check "increment" put "$t/a/b/.row" '{"increment":{"f":{"n":5}}}'
check "increment once more" put "$t/a/b/.row" '{"increment":{"f":{"n":-7}}}'
check_eq "is 8 bytes, big-endian" fffffffffffffffe "$(xxd -p "$t/a/b/f/n")"
check_eq "not on what is none" "write EINVAL" "$(write "$t/a/b/.row" $'{"increment":{"f":{"q":1}}}\n')"
check_eq "not past its range" "write EOVERFLOW" \
	"$(write "$t/a/b/.row" $'{"increment":{"f":{"n":-9223372036854775807}}}\n')"
check "delete of a cell" put "$t/a/b/.row" '{"delete":{"f":{"q":[5]}}}'
check "is gone" test ! -e "$t/a/b/f/q@/5" -a -e "$t/a/b/f/q@/7"
check "an empty list deletes nothing" put "$t/a/b/.row" '{"delete":{"f":{"q":[]}}}'
check "is not gone" test -e "$t/a/b/f/q@/7"
check "delete of a column" put "$t/a/b/.row" '{"delete":{"f":{"q":true}}}'
check "is gone, and the rest is not" test ! -e "$t/a/b/f/q" -a -e "$t/a/b/f/r"
check "delete of a family" put "$t/a/b/.row" '{"delete":{"g":true}}'
check "is gone, and the rest is not" test ! -e "$t/a/b/g" -a -e "$t/a/b/f/r"
check "deletes come before sets" put "$t/a/b/.row" \
	'{"families":{"f":{"only":[{"ts":3,"value":"1"}]}},"delete":true}'
check_eq "in one mutation" '{"key":"a#b","families":{"f":{"only":[{"ts":3,"value":"1"}]}}}' \
	"$(cat "$t/a/b/.row")"
yields "delete of the row leaves none" "" 'cat "$t/.keys"' put "$t/a/b/.row" '{"delete":true}'
check_eq "its .row is there and empty" "" "$(cat "$t/a/b/.row")"
check "and takes the row again" put "$t/a/b/.row" '{"families":{"f":{"q":["again"]}}}'
check_eq "as it was" again "$(newest "$t/a/b" f q)"
check_eq "the row with an empty key cannot be" "EINVAL" \
	"$(mkdir "$t/%" && write "$t/%/.row" $'{"families":{"f":{"q":["x"]}}}\n' | sed 's/.* //')"
check_eq "and reads as none" "" "$(cat "$t/%/.row")"

# ---- Check and mutate ------------------------------------------------------------------------

put "$t/a/b/.row" '{"delete":true,"families":{"f":{"state":["free"]}}}'
check_eq "what holds is done, and the script goes on" $'next\n1' "$(
	echo '{"if":{"f":{"state":"free"}},"families":{"f":{"state":["taken"]}}}' >"$t/a/b/.row" && echo next
	newest "$t/a/b" f state | grep -c taken)"
check_eq "what does not stops it, and changes nothing" taken "$(
	{ echo '{"if":{"f":{"state":"free"}},"families":{"f":{"state":["mine"]}}}' >"$t/a/b/.row" && echo next; } 2>&-
	newest "$t/a/b" f state)"
check_eq "by ECANCELED of write" "write ECANCELED" \
	"$(write "$t/a/b/.row" $'{"if":{"f":{"state":null}},"families":{"f":{"state":["mine"]}}}\n')"
check "null is a column that is not there" put "$t/a/b/.row" \
	'{"if":{"f":{"none":null,"state":"taken"}},"families":{"f":{"none":["1"]}}}'
check_eq "of many racers one wins" won "$(
	for ((i = 0; i < 16; i++)); do
		{ echo '{"if":{"f":{"lock":null}},"families":{"f":{"lock":["'$i'"]}}}' >"$t/a/b/.row" && echo won; } 2>&- &
	done
	wait)"
counters=()
for ((i = 0; i < 8; i++)); do
	for ((k = 0; k < 50; k++)); do echo '{"increment":{"f":{"count":1}}}'; done >"$t/a/b/.row" &
	counters+=($!)
	track_pid $!
done
wait "${counters[@]}"
check_eq "no increment is lost" "$(printf '%016x' 400)" "$(xxd -p "$t/a/b/f/count")"

# ---- Reading on ------------------------------------------------------------------------------

check_eq "who writes a row and reads on reads it as that left it" "one two" "$(
	exec 3<>"$t/a/b/.row"
	echo '{"delete":true,"families":{"f":{"q":["one"]}}}' >&3
	one=$(jq -r '.families.f.q[0].value' <&3)
	echo '{"families":{"f":{"q":["two"]}}}' >&3
	read -r two <&3
	echo "$one $(jq -r '.families.f.q[0].value' <<<"$two")")"
check_eq "the increment's result" 1 "$(
	exec 3<>"$t/a/b/.row"
	echo '{"increment":{"g":{"n":1}}}' >&3
	jq -r '.families.g.n[0].value' <&3 | xxd -p | grep -c '^0000000000000001')"
check_eq "all of it, also where something was read before" "same" "$(
	exec 3<>"$t/a/b/.row"
	read -r _ <&3
	echo '{"families":{"f":{"q":["three"]}}}' >&3
	cmp - "$t/a/b/.row" <&3 && echo same)"
check_eq "from the start, in one read and in many" "same same" "$(python '
fd = opened(os.O_RDWR)
now = lambda: open(q, "rb").read()
os.write(fd, b"{\"append\":{\"f\":{\"q\":\"four\"}}}\n")
os.lseek(fd, 0, 0)
print("same" if os.read(fd, 1 << 20) == now() else "other")
os.write(fd, b"{\"append\":{\"f\":{\"q\":\"five\"}}}\n")
os.lseek(fd, 1000, 0)
text = b""
while True:
    some = os.read(fd, 3)
    if not some: break
    text += some
print("same" if text == now() else "other")' "$t/a/b/.row" | paste -sd ' ')"
check_eq "reading an open file without writing starts at its beginning" '{"key":"a#b"' \
	"$(exec 3<>"$t/a/b/.row"; head -c 12 <&3)"

# ---- Many rows -------------------------------------------------------------------------------

put "$t/.drop" t
mkdir -p "$t/p"
for ((i = 0; i < 100; i++)); do
	printf '{"key":"p#%02d","families":{"f":{"q":[{"ts":1,"value":"%d"}]}}}\n' "$i" "$i"
done >"$TMP/hundred"
check "rows are written by cat" bash -c "cat '$TMP/hundred' >'$t/.rows'"
check_eq "count: wc -l .keys" 100 "$(wc -l <"$t/.keys")"
check_eq "they read as they were written" "" "$(diff "$TMP/hundred" "$t/.rows")"
check "by one write for each line" bash -c "while IFS= read -r l; do echo \"\$l\"; done <'$TMP/hundred' >'$t/p/.rows'"
check "also with the table's line before" bash -c "{ echo '{\"table\":\"t\"}'; cat '$TMP/hundred'; } >'$t/.rows'"
fail_with "a NUL behind a number is refused" - 'Invalid argument' bash -c \
	'printf "{\"key\":\"nul\",\"families\":{\"f\":{\"q\":[{\"ts\":17\\0,\"value\":\"x\"}]}}}\n" >"$1"' - "$t/.rows"
check_eq "and makes no row" 0 "$(grep -c nul "$t/.keys")"
check_eq "another table's line is refused" "write EINVAL" "$(write "$t/.rows" $'{"table":"u"}\n')"
error "and errors names it" '/t/\.rows:1: .*\bu\b'
check ">> does the same" bash -c "cat '$TMP/hundred' >>'$t/.rows'"
check "so does tee" bash -c "tee '$t/.rows' <'$TMP/hundred' >/dev/null"
check "so does cp" cp "$TMP/hundred" "$t/.rows"
check_eq "each replaces the cells of the same timestamps" "" "$(diff "$TMP/hundred" "$t/.rows")"
check "the last line may end with the file" bash -c "printf '{\"key\":\"p#last\",\"families\":{\"f\":{\"q\":[\"1\"]}}}' >'$t/.rows'"
check "and is applied by close" test -e "$t/p/last/f/q"
check_eq "its error is that of close" "close EINVAL" "$(write "$t/.rows" '{"key":')"
check_eq "what a killed writer left unfinished is not applied" "" "$(
	(python '
fd = opened(os.O_WRONLY)
write(fd, b"{\"key\":\"killed\",\"families\":{\"f\":{\"q\":[\"1\"]}}}")
os.kill(os.getpid(), signal.SIGKILL)' "$t/.rows"; :) 2>/dev/null
	grep -x killed "$t/.keys")"
check "a key below the directory" put "$t/p/.rows" '{"key":"p#in#deep","families":{"f":{"q":["1"]}}}'
check "and its own" put "$t/p/.rows" '{"key":"p","families":{"f":{"q":["1"]}}}'
for key in q 'p!' 'p!#x' pp 'pp#x' o '#p'; do
	check_eq "a key that is not: $key" "write EINVAL" \
		"$(write "$t/p/.rows" '{"key":"'"$key"'","families":{"f":{"q":["1"]}}}'$'\n')"
	error "errors says why" '/t/p/.rows:1: .*key'
done
check_eq "an escape of the delimiter is the delimiter" 1 "$(put "$t/p/.rows" \
	'{"key":"p%23esc","families":{"f":{"q":["1"]}}}'; grep -cx 'p#esc' "$t/.keys")"
check_eq "with another delimiter" "write EINVAL" "$(mkdir "$m/colon/p" &&
	write "$m/colon/p/.rows" $'{"key":"p#x","families":{"f":{"q":["1"]}}}\n')"
check "and that" put "$m/colon/p/.rows" '{"key":"p:x","families":{"f":{"q":["1"]}}}'

# ---- Bad lines -------------------------------------------------------------------------------

# bad NAME ERROR REGEX LINE: the third of five lines. The write fails with that error, the two
# before are applied, the two behind are not, and errors says which line, why, and how many were.
bad() {
	local before behind
	before=$(printf '{"key":"bad#%s","families":{"f":{"q":["1"]}}}\n' 1 2)
	behind=$(printf '{"key":"bad#%s","families":{"f":{"q":["1"]}}}\n' 4 5)
	mkdir -p "$t/bad"
	echo bad >"$t/bad/.drop"
	check_eq "$1: $2" "write $2" "$(write "$t/.rows" "$before"$'\n'"$4"$'\n'"$behind"$'\n')"
	check_eq "$1: what is before is applied, what is behind is not" "bad#1 bad#2" \
		"$(grep '^bad#' "$t/.keys" | paste -sd ' ')"
	error "$1: errors has the line and the reason" "/t/\\.rows:3: .*($3)"
	error "$1: and how many lines were applied" '\b2 lines\b'
}

# tests/unit/test_row_json.c and test_import_bad.c have other faults.
bad "no JSON" EINVAL 'JSON' '{"key":"bad#3"'
bad "an unknown family" EINVAL 'nofamily.*\bf\b.*\bg\b' '{"key":"bad#3","families":{"nofamily":{"q":["1"]}}}'
bad "a failed if" ECANCELED if '{"key":"bad#3","if":{"f":{"q":"1"}},"families":{"f":{"q":["2"]}}}'
bad "a schema" EINVAL 'schema' '{"version":1,"tables":{}}'
bad "a key over its limit" ENAMETOOLONG 'key' \
	'{"key":"'"$(printf 'k%.0s' {1..4097})"'","families":{"f":{"q":["1"]}}}'
bad "a qualifier over its limit" ENAMETOOLONG 'qualifier' \
	'{"key":"bad#3","families":{"f":{"'"$(printf 'k%.0s' {1..16385})"'":["1"]}}}'
write "$t/.rows" $'x\n' >"$TMP/out"
error "a bad first line says so" '/t/.rows:1: .*\b0 lines\b'
check_eq "each later write and the close of that open file fail as well" \
	"EINVAL EINVAL EINVAL" "$(python '
fd = opened(os.O_WRONLY)
for text in b"x\n", b"{\"key\":\"later\",\"families\":{\"f\":{\"q\":[\"1\"]}}}\n":
    print(error(write, fd, text))
print(error(close, fd))' "$t/.rows" | paste -sd ' ')"
check "and nothing of them is applied" bash -c "! grep -qx later '$t/.keys'"
check_eq "the error is said once" 1 "$(grep -c 'rows:1: not JSON' <(tail -n 1 "$m/.rowfs/errors"))"
check_eq "an open file that can be read has the reason of its own write" \
	"EINVAL 2: family no: table t does not have it; it has f, g (1 line applied before it)" "$(python '
fd = opened(os.O_RDWR)
print(error(write, fd, b"{\"key\":\"own\"}\n{\"key\":\"own\",\"families\":{\"no\":{\"q\":[\"1\"]}}}\n"), os.pread(fd, 200, 0).decode())
assert os.pread(fd, 7, 3) == b"family " and os.pread(fd, 9, 500) == b""' "$t/.rows" | paste -sd ' ' | sed 's/ *$//')"
{
	printf '{"key":"big","families":{"f":{"q":["'
	head -c 104857601 /dev/zero | tr '\0' v
	printf '"]}}}\n'
} >"$TMP/big"
fail_with "a value over its limit" - 'too large' cp "$TMP/big" "$t/.rows"
check "is not applied" bash -c "! grep -qx big '$t/.keys'"
rm "$TMP/big"

# ---- Copies ----------------------------------------------------------------------------------

echo t >"$t/.drop"
echo u >"$m/u/.drop"
echo colon >"$m/colon/.drop"
model random 1 200 src >"$TMP/made"
check "rows of any bytes are written" bash -c "cat '$TMP/made' >'$t/.rows'"
cat "$t/src/.rows" >"$TMP/dump"
check "they are read in order, in one spelling" model ordered "$TMP/dump"
check_eq "and are the same cells" "" \
	"$(diff <(model cells "$TMP/made") <(model cells "$TMP/dump") | head -c 300)"
check_eq "keys are spelled alike in .keys" "" "$(diff <(jq -r .key "$TMP/dump") "$t/.keys" | head -c 300)"
check "another table by cat alone" bash -c "cat '$t/.rows' >'$m/u/.rows'"
check "is the same" cmp "$TMP/dump" <(cat "$m/u/.rows")
echo u >"$m/u/.drop"
check "through jq -c ." bash -c "jq -c . '$t/src/.rows' >'$m/u/.rows'"
check "is the same" cmp "$TMP/dump" <(cat "$m/u/.rows")
make_store "$TMP/s2" "$schema"
mount_store "$TMP/s2" "$TMP/m2"
check "another store by cat alone" bash -c "cat '$t/src/.rows' >'$TMP/m2/t/.rows'"
check "is the same" cmp "$TMP/dump" <(cat "$TMP/m2/t/.rows")
unmount_store "$TMP/m2"
check "a table with another delimiter" bash -c "cat '$t/.rows' >'$m/colon/.rows'"
check "is the same" cmp "$TMP/dump" <(cat "$m/colon/.rows")
check_eq "one with fewer families says which is missing" 1 \
	"$(cat "$t/.rows" 2>&- >"$m/other/.rows" || tail -n 1 "$m/.rowfs/errors" | grep -c 'other/.rows:[0-9]*: .*\bg\b')"
check_eq "a dump and a load of it change nothing" "" \
	"$(cat "$TMP/dump" >"$t/.rows"; cmp "$TMP/dump" "$t/.rows" 2>&1)"
check "rows that were dropped can be loaded again" bash -c "echo src >'$t/src/.drop' && cat '$TMP/dump' >'$t/.rows'"
check "to the same" cmp "$TMP/dump" <(cat "$t/.rows")

# ---- Timestamps that may be of another unit ----------------------------------------------------

mkdir -p "$t/old"
row='{"key":"old","families":{"f":{"q":[{"ts":1700000000,"value":"x"},{"ts":17,"value":"y"}]}}}'
two='{"key":"old","families":{"f":{"p":[{"ts":1700000000000,"value":"x"},{"ts":100000000,"value":"y"}]}}}'
check_eq "a row of seconds is taken" ok "$(write "$t/.rows" "$row"$'\n')"
error "and the errors ask for the unit" '/t/\.rows: 1 cell is older than 1973: is its timestamp seconds or milliseconds\?$'
check_eq "so is a .row, without a newline" ok "$(write "$t/old/.row" "$two")"
error "and the errors ask, too" '/t/old/\.row: 2 cells are older than 1973: are their timestamps seconds or milliseconds\?$'
lines=$(wc -l <"$m/.rowfs/errors")
check_eq "many lines ask once" "ok $((lines + 1))" \
	"$(write "$t/.rows" "$row"$'\n'"$two"$'\n') $(wc -l <"$m/.rowfs/errors")"
error "about all of them" '/t/\.rows: 3 cells are older'
check_eq "a wrong line behind them is refused" "write EINVAL" "$(write "$t/.rows" "$row"$'\nwrong\n')"
error "and is the last line of the errors" '/t/\.rows:2: not JSON'
lines=$(wc -l <"$m/.rowfs/errors")
check_eq "microseconds and small numbers are taken, without a line" "ok $lines" \
	"$(write "$t/.rows" '{"key":"old","families":{"f":{"q":["x",{"ts":1700000000000000,"value":"y"},{"ts":1,"value":"z"}]}}}'$'\n') $(
		wc -l <"$m/.rowfs/errors")"

finish
