#!/bin/bash
# SPDX-License-Identifier: MIT
#
# rowfs-dump: its output for a store, and that rowfs-load makes the same of it.
# model.py gives the expected dump; test_dump_mount.sh has the directories of mounts.

. "$(dirname "$0")/lib.sh"
FINAL=data

dump=$BUILD/rowfs-dump
load=$BUILD/rowfs-load
cd "$TMP" || exit 1

# store SCHEMA LINE…: a new store s with these lines in it.
store() {
	rm -rf s
	make_store s "$1"
	shift
	printf '%s\n' "$@" >lines
	"$load" s lines >.check 2>&1 || die "rowfs-load failed: $(cat .check)"
}

# ---- Usage -----------------------------------------------------------------------------------

fail_with "an unknown option" 2 '^rowfs-dump: ' "$dump" --wrong a b
fail_with "no store named" 2 '^rowfs-dump: STORE or DIRECTORY is missing' "$dump"
fail_with "too many names" 2 '^rowfs-dump: d: ' "$dump" a b c d
fail_with "--family without --csv" 2 '^rowfs-dump: --family' "$dump" --family f a
fail_with "--csv needs a table" 2 '^rowfs-dump: --csv: ' bash -c "
	'$BUILD/mkfs.rowfs' plain && '$dump' --csv plain"
fail_with "a store that is missing" 1 '^rowfs-dump: none: No such file' "$dump" none
mkdir broken && echo something >broken/ROWFS
fail_with "a store that is none" 1 '^rowfs-dump: .*broken' "$dump" broken
"$BUILD/mkfs.rowfs" unmarked && rm unmarked/ROWFS
for program in rowfs-dump rowfs-load; do
	fail_with "$program: a store without its marker" 1 \
		"^$program: .*/unmarked/ROWFS: damaged or missing; fsck.rowfs rebuilds it" \
		"$BUILD/$program" unmarked </dev/null
done
check_eq "nothing is printed of what cannot be read" "" "$("$dump" broken 2>/dev/null)"

# ---- The dump --------------------------------------------------------------------------------

store '{"tables":{"t":{"families":{"f":{}}},"z":{"delimiter":":","families":{}}}}'
check_eq "an empty store" \
	'{"version":1,"tables":{"t":{"delimiter":"#","families":{"f":{"gc":"never","type":"bytes"}}},"z":{"delimiter":":","families":{}}}}
{"table":"t"}
{"table":"z"}' "$("$dump" s)"
# jq reads numbers as floating point: it changes those above 2^53.
for seed in 1 2 3; do
	mkdir "m$seed"
	last=$((1 << 53))
	((seed > 1)) || last=9223372036854775807
	model dump "$seed" "m$seed" "$last" || die "no model"
	make_store "s$seed"
	check "random rows $seed can be loaded" "$load" "s$seed" "m$seed/in"
	check "their dump" bash -c "'$dump' s$seed >m$seed/got"
	check "is what the model says" cmp "m$seed/want" "m$seed/got"
	make_store "c$seed"
	check "it loads into an empty store" bash -c "'$dump' s$seed | '$load' c$seed"
	check "whose dump is the same" bash -c "'$dump' c$seed | cmp - m$seed/want"
	check "jq agrees that each line is JSON" bash -c "jq -c . m$seed/got | wc -l | grep -qx $(wc -l <m$seed/want)"
	((seed > 1)) || continue
	make_store "j$seed"
	check "a dump that went through jq is the same rows" bash -c "
		jq -c . m$seed/got | '$load' j$seed && '$dump' j$seed | cmp - m$seed/want"
done

# ---- Parts of a store ------------------------------------------------------------------------

row() {
	printf '{"key":"%s","families":{"f":{"q":[{"ts":1,"value":"v"}]}}}' "$1"
}
two='{"tables":{"t":{"families":{"f":{}}},"u":{"delimiter":":","families":{"f":{}}}}}'
store "$two" '{"table":"t"}' "$(row a)" "$(row 'a!')" "$(row 'a#b')" "$(row 'a#b#c')" "$(row 'a%25')" \
	"$(row 'a%00#x')" '{"table":"u"}' "$(row a)" "$(row 'a#b')" "$(row 'a:b')"
keys() {
	"$dump" "$@" | jq -r 'select(.key).key' | xargs
}
check_eq "one table" '{"version":1,"tables":{"u":{"delimiter":":","families":{"f":{"gc":"never","type":"bytes"}}}}}
{"table":"u"}' "$("$dump" s u | head -n 2)"
check_eq "its rows" "a a#b a:b" "$(keys s u)"
check_eq "a prefix" "a a#b a#b#c" "$(keys s t a)"
check_eq "below a row" "a#b a#b#c" "$(keys s t 'a#b')"
check_eq "with another delimiter" "a a:b" "$(keys s u a)"
check_eq "a prefix is spelled as in .keys" "a%25" "$(keys s t a%25)"
check_eq "so that any byte can be in it" "a%00#x" "$(keys s t a%00)"
check_eq "a prefix without rows" 2 "$("$dump" s t nothing | wc -l)"
fail_with "a table that is missing" 1 '^rowfs-dump: table w: there is none' "$dump" s w
fail_with "a prefix that is none" 1 '^rowfs-dump: a%: a % has two upper-case hex digits behind it$' "$dump" s t a%
fail_with "a prefix that is too long" 1 'a row key has 1 to 4096 bytes' \
	"$dump" s t "$(printf '%4097s' '')"

# ---- Failing ---------------------------------------------------------------------------------

fail_with "a full disk" 1 '^rowfs-dump: standard output: No space left' bash -c "'$dump' s >/dev/full"
fail_with "a closed output" 1 '^rowfs-dump: standard output: Bad file' bash -c "'$dump' s >&-"
check_eq "a reader that has gone ends it without a word" "" \
	"$(env --default-signal=PIPE bash -c "exec 3> >(:); wait \$!; exec '$dump' s 2>&1 >&3")"
fail_with "a store that is in use" 1 '^rowfs-dump: .*in use' bash -c "
	mkfifo hold; '$load' s hold & exec 9>hold; opens_store \$!
	'$dump' s; status=\$?; exec 9>&-; wait; exit \$status"

# A block of data that cannot be read: the output is incomplete, and an error says so.
store "$two" '{"table":"t"}' "$(row a)"
head -c 3000000 /dev/urandom | base64 -w 0 >large
printf '{"table":"t"}\n{"key":"b","families":{"f":{"q":[{"ts":1,"value":"%s"}]}}}\n' \
	"$(head -c 3000000 large)" >lines
check "a large value can be loaded" "$load" s lines
check "and dumped" bash -c "'$dump' s t b | tail -n 1 | jq -r .families.f.q[0].value | tr -d '\n' |
	cmp - <(head -c 3000000 large)"
for file in s/data/*.log s/data/*.ldb; do
	[ -e "$file" ] && size=$(stat -c %s "$file") && ((size > 100000)) &&
		printf 'damaged!' | dd of="$file" bs=1 seek=$((size / 2)) conv=notrunc 2>/dev/null
done
fail_with "a damaged store" 1 '^rowfs-dump: s: read: Corruption: ' "$dump" s

# ---- CSV -------------------------------------------------------------------------------------

cells() {
	printf '{"key":"%s","families":%s}' "$1" "$2"
}
store '{"tables":{"t":{"families":{"f":{},"g":{},"h":{}}},"n":{"families":{"i":{"type":"intsum"}}}}}' \
	'{"table":"t"}' \
	"$(cells r1 '{"f":{"b":[{"ts":9,"value":"new"},{"ts":3,"value":"old"}]},"h":{"a":[{"ts":1,"value":"x"}]}}')" \
	"$(cells 'r,2' '{"f":{"a":[{"ts":1,"value":"say \"hi\",\nthen\r go"}],"b":[{"ts":2,"base64":"/w=="}]}}')" \
	"$(cells r3 '{"h":{"a":[{"ts":5,"value":" x "}],"b%0A":[{"ts":7,"value":"é"}]}}')"
printf ',f,,h,\n,a,b,a,"b\n"\n"r,2","say ""hi"",\nthen\r go",\xff,,\nr1,,new,x,\nr3,,, x ,é\n' >want
check "--csv" bash -c "'$dump' --csv s t | cmp - want"
check_eq "--timestamps" ',f,h
,b,a
r1,new@9,x@1' "$("$dump" --csv --timestamps s t r1)"
check_eq "--family" ',h,
,a,"b
"
r1,x,
r3, x ,é' "$("$dump" --csv --family h s t)"
check_eq "a family without cells" "" "$("$dump" --csv --family g s t)"
check "loads back, and adds nothing" bash -c "
	'$dump' s >before; '$dump' --csv --family g s t >empty; '$load' --csv t s <empty && '$dump' s | cmp - before"
# Views.
check_eq "--view" r,2 "$("$dump" --view .first/1/.newest/1 s t | jq -r '.key // empty')"
check_eq "in reverse order" r3 "$("$dump" --view .reverse/.first/1 s t | jq -r '.key // empty')"
check_eq "a time that may be of another unit is asked about, once" \
	"rowfs-dump: s: table t: .until/1700000000: 1700000000 is microseconds, 1970-01-01T00:28:20.000000Z: are seconds (add 000000) or milliseconds (add 000) meant?" \
	"$("$dump" --view .reverse/.until/1700000000 s t 2>&1 >/dev/null)"
check_eq "others are not" "" "$("$dump" --view .since/1970-01-01/.at/now s t 2>&1 >/dev/null)"
check_eq "as CSV" ',f
,b
r1,new' "$("$dump" --csv --view .columns/f:b/.key/r1 s t)"
fail_with "a wrong argument of a view" 1 '^rowfs-dump: s: table t: \.first/x: it is a whole number' "$dump" --view .first/x s t
check_eq "of which nothing is printed" '' "$("$dump" --view .first/x s t 2>/dev/null)"
fail_with "a PREFIX beside directories in the chain" 2 'r1: --view .first/1/r/.last/1 has a directory already' "$dump" --view .first/1/r/.last/1 s t r1
fail_with "what is no view" 2 'a chain begins with a view' "$dump" --view first/1 s t
fail_with "a chain of no table" 2 'name the TABLE' "$dump" --view .first/1 s
fail_with "a family that is missing" 1 '^rowfs-dump: table t: there is no family x' \
	"$dump" --csv --family x s t
check_eq "a prefix's columns alone" ',f,h
,b,a
r1,new,x' "$("$dump" --csv s t r1)"

# one LINE…: a store with just this in table t.
one() {
	store '{"tables":{"t":{"families":{"f":{}}}}}' '{"table":"t"}' "$@"
}
one "$(cells r '{"f":{"q":[{"ts":1,"value":""}]}}')"
fail_with "an empty value cannot be" 1 '^rowfs-dump: s: table t: row r, column f:q: an empty value' \
	"$dump" --csv s t
check_eq "but with its timestamp" ',f
,q
r,@1' "$("$dump" --csv --timestamps s t)"
one "$(cells 'r%0D%0A' '{"f":{"q%0D%0A":[{"ts":1,"value":"a\r\nb"}]}}')"
printf ',f\n,"q\r\n"\n"r\r\n","a\r\nb"\n' >want
check "CR LF in a key, a column and a value is in quotes" bash -c "'$dump' --csv s t | cmp - want"
check_eq "and comes back" "$("$dump" s t)" "$(rm -rf r && make_store r "$two" &&
	"$dump" --csv --timestamps s t | "$load" --csv t --timestamps r && "$dump" r t)"
one "$(cells r '{"f":{"":[{"ts":1,"value":"a"}]}}')"
fail_with "nor a column without a name" 1 'row r, column f:: a column without a name' "$dump" --csv s t
printf '{"table":"t"}\n{"key":"r","families":{"f":{"q":[{"ts":1,"value":"%s"}]}}}\n' \
	"$(head -c 200000 large),$(head -c 65535 large)\\r\\n" >lines
one "$(sed -n 2p lines)"
printf ',f\n,q\nr,"%s\r\n"\n' "$(head -c 200000 large),$(head -c 65535 large)" >want
check "so is CR LF far behind in a value" bash -c "'$dump' --csv s t | cmp - want"

# Aggregates: integers go as their digits, both ways; an inthll has more than a field can hold.
typed='{"tables":{"t":{"families":{"f":{},"n":{"type":"intsum"},"x":{"type":"intmin"},"h":{"type":"inthll"}}}}}'
store "$typed" '{"table":"t"}' \
	"$(cells r1 '{"f":{"a":[{"ts":1,"value":"5"}]},"n":{"b":[{"ts":9,"value":-5},{"ts":3,"value":1}]},"x":{"c":[{"ts":7,"value":"-9223372036854775808"}]}}')" \
	"$(cells r2 '{"n":{"b":[{"ts":8,"value":"9223372036854775807"}]}}')"
printf ',f,n,x\n,a,b,c\nr1,5@1,-5@9,-9223372036854775808@7\nr2,,9223372036854775807@8,\n' >want
check "integers as CSV" bash -c "'$dump' --csv --timestamps s t | cmp - want"
"$dump" s | sed 's/,{"ts":3,"value":1}//' >rows
rm -rf r && make_store r "$typed"
check "read back" "$load" --csv t --timestamps r want
check "are the same cells" bash -c "'$dump' r | cmp - rows"
check "numbers without timestamps are read" "$load" --csv t r <(printf ',n\n,b\nr1,+007\n')
check_eq "as numbers" 7 "$("$dump" r | jq -r 'select(.key == "r1").families.n.b[0].value')"
fail_with "what is none is refused" 1 'families.n.b: must be a whole number within 64 bits' \
	"$load" --csv t r <(printf ',n\n,b\nr1,5.0\n')
fail_with "so is an estimate" 1 'families.h.v: an inthll is given as its "state"' \
	"$load" --csv t r <(printf ',h\n,v\nr1,5\n')
check "an inthll" "$load" r <(printf '%s\n' '{"table":"t"}' "$(cells r1 '{"h":{"v":[{"ts":1,"state":"AQA="}]}}')")
fail_with "cannot be in CSV" 1 'row r1, column h:v: an inthll, whose state CSV cannot have' \
	"$dump" --csv r t
check "other families can" "$dump" --csv --family n r t

# One line as header.
make_store h '{"tables":{"t":{"families":{"f":{},"g":{}}},"none":{"families":{"f":{}}}}}'
"$load" h <<'END'
{"table":"t"}
{"key":"a#1","families":{"f":{"b":["1"],"c,\"d\"":["2"]},"g":{"b:c":["3"]}}}
{"key":"b","families":{"g":{"b:c":["x\ny"]}}}
END
check_eq "--header is one line" 'key,f:b,"f:c,""d""",g:b:c
a#1,1,2,3
b,,,"x
y"' "$("$dump" --csv --header h t)"
check_eq "of one family it has the columns alone" 'key,b,"c,""d"""
a#1,1,2' "$("$dump" --csv --header --family f h t)"
make_store back '{"tables":{"t":{"families":{"f":{},"g":{}}}}}'
check "rowfs-load takes it" bash -c "'$dump' --csv --header --timestamps h t | '$load' --csv t --timestamps --key key back &&
	'$dump' h t | cmp - <('$dump' back t)"
check "that of one family, too" bash -c "'$dump' --csv --header --family f h t | '$load' --csv one --key key --family f --create back &&
	cmp <('$dump' --csv --header back one) <('$dump' --csv --header --family f h t | sed '1s/b,\"c/f:b,\"f:c/')"
check_eq "a table without cells has the line key" key "$("$dump" --csv --header h none)"
check "which rowfs-load takes" "$load" --csv none --key key h <(echo key)
"$load" h <<<'{"tables":{"t":{}}}
{"table":"t"}
{"key":"k","families":{"f":{"key":["1"]}}}'
fail_with "a column key beside that of the keys" 1 'row k, column f:key: the header has a column key already: leave out --family' \
	"$dump" --csv --header --family f h t
check_eq "is none with its family" key,f:b "$("$dump" --csv --header h t | head -n 1 | cut -d , -f 1,2)"
fail_with "--header without --csv" 2 '^rowfs-dump: --family, --timestamps and --header go with --csv' "$dump" --header h

# Random tables, without cells that CSV cannot have, read back by Python's csv.
for seed in 2 3; do
	model fit "m$seed/want" >"m$seed/rows"
	rm -rf r && make_store r '{"tables":{"t":{"families":{"f":{},"g":{}}}}}'
	"$load" r <(echo '{"table":"t"}' && cat "m$seed/rows") || die "no rows for CSV"
	check "random rows $seed as CSV" bash -c "'$dump' --csv r t >m$seed/csv"
	model csv "m$seed/csv" "" | sort >"m$seed/cells"
	check "has the newest values of all" cmp "m$seed/cells" <(model newest "m$seed/rows" | sort)
	check "of which there are some" test "$(wc -l <"m$seed/cells")" -gt 50
done

finish
