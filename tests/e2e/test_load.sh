#!/bin/bash
# SPDX-License-Identifier: MIT
#
# rowfs-load: the lines that it takes, the place where it stops and its messages then. Conditions
# ("if") check the cells that arrived in the store, so that no mount is needed.

. "$(dirname "$0")/lib.sh"
FINAL=data

load=$BUILD/rowfs-load
cd "$TMP" || exit 1

# fresh: a store s with the tables t and u.
fresh() {
	rm -rf s
	make_store s '{"tables":{"t":{"families":{"f":{},"g":{}}},"u":{"families":{"f":{}}}}}'
}

# is NAME TABLE KEY COLUMN JSON: the newest value of f/COLUMN is JSON, or it has none (null).
is() {
	check "$1" "$load" s <(lines "{\"table\":\"$2\"}" \
		"{\"key\":\"$3\",\"if\":{\"f\":{\"$4\":$5}}}")
}

# newest_of STORE TABLE: its rows, with the newest values.
newest_of() {
	"$BUILD/rowfs-dump" "$1" "$2" | jq -c 'select(.key) | [.key, (.families | map_values(map_values(.[0].value)))]' | paste -sd ' '
}

T='{"table":"t"}'
row() {
	printf '{"key":"%s","families":{"f":{"q":["%s"]}}}' "$1" "$2"
}

# ---- Usage -----------------------------------------------------------------------------------

fail_with "no store named" 2 '^rowfs-load: STORE is missing' "$load"
fail_with "too many names" 2 '^rowfs-load: c: ' "$load" a b c
fail_with "an unknown option" 2 '^rowfs-load: ' "$load" --wrong a
fail_with "a store that is missing" 1 '^rowfs-load: .*none' "$load" none /dev/null
mkdir plain
fail_with "a directory that is no store" 1 '^rowfs-load: .*plain' "$load" plain /dev/null
check_eq "and nothing is put into it" "" "$(ls -A plain)"
fresh
fail_with "a file that is missing" 1 '^rowfs-load: none: No such file' "$load" s none
fail_with "a file that is a directory" 1 '^rowfs-load: plain:1: Is a directory' "$load" s plain

# ---- Accepted lines --------------------------------------------------------------------------

makes "rows from a file: the first is there" t a q '"1"' -- "$load" s <(lines "$T" "$(row a 1)" "$(row b 2)")
is "the second is there" t b q '"2"'
is "another row is not" t c q null
makes "rows from standard input arrive" t c q '"3"' -- bash -c "'$load' s < <(printf '%s\n' '$T' '$(row c 3)')"
check "rows from standard input, called -" bash -c "printf '%s\n' '$T' '$(row c 4)' | '$load' s -"
is "arrived" t c q '"4"'
check "no newline at the end, CR LF, blank lines" \
	"$load" s <(printf '%s\r\n\n  \r\n%s' "$T" "$(row d 5)")
is "arrived" t d q '"5"'
check "an empty file" "$load" s /dev/null
check "table lines switch" "$load" s <(lines "$T" "$(row e 6)" '{"table":"u"}' "$(row e 7)" "$T" \
	"$(row f 8)")
is "first table" t e q '"6"'
is "second table" u e q '"7"'
is "first table again" t f q '"8"'
is "not in the second" u f q null
check "a schema line adds tables and families" "$load" s <(lines \
	'{"version":1,"tables":{"v":{"families":{"f":"maxversions=1"}}}}' '{"table":"v"}' \
	"$(row a 9)")
is "arrived" v a q '"9"'
check "any bytes" "$load" s <(lines "$T" \
	'{"key":"k%00%FF","families":{"f":{"q%0A":["\u0000"],"b":[{"base64":"AP8="}],"":["e"]}}}')
is "a key and a column with escapes" t 'k%00%FF' 'q%0A' '"\u0000"'
is "the empty column" t 'k%00%FF' '' '"e"'
check "a byte order mark before the first line" "$load" s <(printf '\xef\xbb\xbf' && lines "$T" "$(row mark 1)")
is "is passed over" t mark q '"1"'
check "and may be all there is" "$load" s <(printf '\xef\xbb\xbf')
fail_with "but not in a later line" 1 ':2: not JSON' "$load" s <(lines "$T" $'\xef\xbb\xbf'"$(row mark 2)")
check "a long line" "$load" s <(lines "$T" \
	"{\"key\":\"long\",\"families\":{\"f\":{\"q\":[\"$(head -c 100000 /dev/zero | tr '\0' x)\"]}}}" \
	"$(row behind 1)")
is "the row behind it" t behind q '"1"'
# big BYTES: a row with a value of that size.
big() {
	printf '{"table":"t"}\n{"key":"big","families":{"f":{"q":["'
	head -c "$1" /dev/zero | tr '\0' x
	printf '"]}}}\n'
}
big 104857600 >huge
check "a value of 100 MiB" "$load" s huge
big 104857601 >huge
fail_with "a byte more" 1 '^rowfs-load: huge:2: .*104857600' "$load" s huge
rm huge

# ---- Where it stops --------------------------------------------------------------------------

# stops NAME LINE REGEX TEXT…: loading these lines stops at that one, the file being called `in`.
stops() {
	local name=$1 line=$2 regex=$3
	shift 3
	lines "$@" >in
	fail_with "$name" 1 "^rowfs-load: in:$line: $regex" "$load" s in
}

fresh
stops "a wrong line" 4 'families.f.q: a number.*\(2 lines applied before it\)$' "$T" \
	"$(row a 1)" "$(row b 1)" '{"key":"c","families":{"f":{"p":["x"],"q":[5]}}}' "$(row d 1)"
is "the rows before it are applied" t a q '"1"'
is "both" t b q '"1"'
is "it is not, nor a part of it" t c p null
is "those behind it are not" t d q null
stops "what is not JSON" 2 'not JSON: .*, at character [0-9]+ \(0 lines applied before it\)$' "$T" '{"key":"a"'
stops "a row before any table line" 1 'a row, but no line .*table' "$(row a 1)"
stops "a table that is missing" 2 'table w: the store has none' "$T" '{"table":"w"}'
stops "a family that is missing" 3 'family h: table t does not have it; it has f, g \(1 line applied before it\)$' \
	"$T" "$(row a 1)" '{"key":"a","families":{"h":{"q":["x"]},"f":{"h":["x"]}}}'
is "nothing of that row is applied" t a h null
stops "a row without a key" 2 'the row has no "key"' "$T" '{"families":{"f":{"q":["x"]}}}'
stops "a condition that does not hold" 2 'if.f.q: the row is not as "if" says' "$T" \
	'{"key":"a","if":{"f":{"q":"other"}},"families":{"f":{"q":["2"]}}}'
is "nothing is applied then" t a q '"1"'
stops "increment of text" 2 'increment.f.q: "increment" of a value' "$T" '{"key":"a","increment":{"f":{"q":1}}}'
stops "a key that is too long" 2 'key: has at most 4096 bytes' "$T" \
	"$(row "$(printf '%4097s' '' | tr ' ' k)" 1)"
stops "a wrong schema line" 1 'tables.t.families.f: ' '{"tables":{"t":{"families":{"f":"x"}}}}'
stops "a schema that does not fit the store" 3 '.*t' "$T" "$(row a 1)" \
	'{"tables":{"t":{"delimiter":":"}}}'
# tests/unit/test_row_json.c and test_import_bad.c have faults within a row.
fresh
lines "$T" "$(row b 1)" "$(row a 1)" >in
"$load" s in
printf '%s\n%s' "$T" '{"key":"cut","families":{"f":{"q":["x"' >in
fail_with "a file that is cut off" 1 '^rowfs-load: in:2: not JSON' "$load" s in
fail_with "a store that is in use" 1 '^rowfs-load: .*in use' bash -c "
	mkfifo hold; '$load' s hold & exec 9>hold; opens_store \$!
	'$load' s /dev/null; status=\$?; exec 9>&-; wait; exit \$status"

# ---- CSV -------------------------------------------------------------------------------------

# csv STOP REGEX OPTION… <CSV: it fails at that place with these words.
csv() {
	local place=$1 regex=$2
	shift 2
	cat >in.csv
	fail_with "csv: $regex" 1 "^rowfs-load: in.csv:$place: $regex" "$load" --csv t "$@" s in.csv
}

fresh
printf ',f,,g\r\n,a,"b,""c""\n",a\r\nk1,1,2,3\r\n\r\n"k,2",,,"x\ny"\r\nk3,,,\r\nk4,@,4@5,@6' >in.csv
check "csv: families carry to the right, empty fields are skipped" "$load" --csv t s in.csv
is "the first column" t k1 a '"1"'
is "quotes, a comma and a newline in a column's name" t k1 'b,\"c\"%0A' '"2"'
is "a field that is empty is no cell" t k,2 a null
is "@ is a value like any other" t k4 'b,\"c\"%0A' '"4@5"'
check "csv: another family" "$load" s <(lines "$T" '{"key":"k1","if":{"g":{"a":"3"}}}' \
	'{"key":"k,2","if":{"g":{"a":"x\ny"}}}' '{"key":"k4","if":{"g":{"a":"@6"}}}')
fresh
check "csv: timestamps on request" "$load" --timestamps --csv t s in.csv
check "csv: are taken off the value" "$load" s <(lines "$T" '{"key":"k4","if":{"g":{"a":""}}}' \
	'{"key":"k4","if":{"f":{"b,\"c\"%0A":"4","a":"@"}},"delete":{"f":{"b,\"c\"%0A":[5]}}}' \
	'{"key":"k4","if":{"f":{"b,\"c\"%0A":null}},"delete":{"g":{"a":[6]}}}' \
	'{"key":"k4","if":{"g":{"a":null}}}')
fresh
printf '\xef\xbb\xbf,a,b\nk,1,2\n' >in.csv
check "csv: one family for all, behind a byte order mark" "$load" --csv t --family f s in.csv
printf '\xef\xbb\xbf"","a"\r\n"quoted","1"\r\n' >quoted.csv
check "csv: also where the first field is in quotes" "$load" --csv t --family f s quoted.csv
check_eq "its row is there" quoted "$("$BUILD/rowfs-dump" s t | jq -r 'select(.key == "quoted").key')"
is "arrived" t k b '"2"'
csv 1:4 'family no: table t does not have it; it has f, g \(0 lines' < <(printf ',f,no\n,a,b\nk,1,\n')
csv 1:1 'the first field of the families must be empty' < <(printf 'key,f\n')
csv 2:2 'the second field of the columns must not be empty' < <(printf ',f,\n,,b\n')
csv 1:1 'the columns have no field behind' --family f < <(printf '""\n')
csv 2:1 '2 fields, but the row before has 3' < <(printf ',f,\n,a\n')
csv 2:4 'this column of family f is there twice' < <(printf ',f,\n,a,a\n')
csv 4:1 '3 fields, but the header has 2 \(1 line applied' < <(printf ',f\n,a\nk,1\nl,1,2\n')
csv 4:1 'the row has no key \(1 line applied' < <(printf ',f\n,a\nk,1\n,2\n')
csv 3:4 'a quote in a field' < <(printf ',f\n,a\nk,1"\n')
csv 3:6 'a field in quotes goes on' < <(printf ',f\n,a\nk,"1"2\n')
csv 4:3 'the quotes of this field are not closed \(1 line' < <(printf ',f\n,a\nk,1\nl,"x\n\n')
csv 2:1 'the file ends before its columns' < <(printf ',f\n')
csv 1:1 'the file ends before its columns' </dev/null
csv 3:1 'a row key has at most 4096 bytes' < <(printf ',f\n,a\n%05000d,1\n' 0)
check "csv: empty lines alone are a table without cells" "$load" --csv t s <(printf '\n\n')
fail_with "csv: which must exist" 1 ':1: table w: the store has none' "$load" --csv w s <(printf '\n\n')
csv 3:1 'the row has no key' < <(printf ',f,\n,a,b\n,,\n')
fail_with "csv: a table that is missing" 1 ':1:2: table w: the store has none of that name; --create makes it' \
	"$load" --csv w s <(printf ',f\n,a\n')
for name in '' 'a"b' .t; do
	fail_with "csv: a table's name that is none" 1 "^rowfs-load: table $name: a table's name is 1 to 50" \
		"$load" --csv "$name" --family f --create s /dev/null
done
fail_with "csv: a family's name that is none" 1 '^rowfs-load: family a b: a family.s name is 1 to 64' \
	"$load" --csv t --family 'a b' s /dev/null
fail_with "--csv and --tsv" 2 'only one --csv or --tsv' "$load" --csv t --tsv t s
fail_with "--family without --csv" 2 'go with --csv' "$load" --family f s

# ---- Ends of lines, UTF-16 and UTF-32 -------------------------------------------------------------------

# As Python's csv: LF, CR LF and CR alone, and any of them in quotes.
for end in '\n' '\r\n' '\r'; do
	# shellcheck disable=SC2059 # it is part of the format
	printf ",f,$end,a,b${end}k1,1,2$end${end}k2,\"x\r\ny\",${end}k3,,\"z\"$end" >ends.csv
	rm -rf ends
	make_store ends '{"tables":{"t":{"families":{"f":{}}}}}'
	check "csv: lines that end in $end" "$load" --csv t ends ends.csv
	check_eq "csv: lines that end in $end: its rows" '["k1",["1"],["2"]] ["k2",["x\r\ny"],null] ["k3",null,["z"]]' \
		"$("$BUILD/rowfs-dump" ends | jq -c 'select(.key) | [.key, (.families.f | .a, .b | if . then map(.value) else null end)]' | paste -sd ' ')"
	printf 'k4,1' >>ends.csv
	fail_with "csv: lines that end in $end are counted" 1 ':8:1: 2 fields, but the header has 3 \(3 lines applied' \
		"$load" --csv t ends ends.csv
done
check "csv: rowfs-advise reads CR alone" "$BUILD/rowfs-advise" --csv t <(tr '\n' '\r' <<<$',f\n,a\nk1,1\nk2,2')
for order in UTF-{16,32}{LE,BE}; do
	for mark in '\ufeff' ''; do
		for text in ',f\n,a\nk,1\n' '{"key":"k"}\n'; do
			# shellcheck disable=SC2059 # it is the format
			printf "$mark$text" | iconv -f UTF-8 -t "$order" >utf.txt
			for command in "$load --csv t s" "$load s" "$BUILD/rowfs-advise --csv t" "$BUILD/rowfs-advise"; do
				read -ra words <<<"$command"
				fail_with "$order, $mark$text: ${words[0]##*/} ${words[1]-}" 1 \
					"utf.txt:1: this is $order; iconv -f $order -t UTF-8 " "${words[@]}" utf.txt
			done
		done
	done
	check_eq "$order: the advice helps" '{"key":"k"}' "$(iconv -f "$order" -t UTF-8 utf.txt)"
done

# ---- Delimiters ----------------------------------------------------------------------------------

fresh
printf ';f;\n;"a;1";b,\nk;"1;2";3,4\n' >in.csv
check "csv: --delimiter" "$load" --csv t --delimiter ';' s in.csv
check_eq "is between the fields" '["k",{"f":{"a;1":"1;2","b,":"3,4"}}]' "$(newest_of s t)"
mount_store s m
check "also into a mount" "$load" --csv t --delimiter ';' m/t <(printf ';f;\n;a;b\nl;1;2,3\n')
check_eq "arrived" 2,3 "$(cat m/t/l/f/b)"
unmount_store m
while read -r header byte; do
	csv 1:1 "the columns have no field behind the first: is $byte" --key id < <(printf "%b\\n" "$header")
done <<'END'
id;f:a ';' between the fields .--delimiter ';'.
id\tf:a a tab between the fields .--tsv.
id|f:a '.' between the fields .--delimiter '.'.
END
csv 1:1 "the columns have no field behind the first: is ',' between" --key id --delimiter ';' < <(printf 'id,f:a\n')
for delimiter in '' ';;' ä '"' $'\n' $'\r' '\t'; do
	fail_with "--delimiter $delimiter" 2 'it is one byte' "$load" --csv t --delimiter "$delimiter" s
done
fail_with "--delimiter with --tsv" 2 'goes with --csv' "$load" --tsv t --delimiter ';' s
fail_with "--delimiter with JSON" 2 'goes with --csv' "$load" --delimiter ';' s

# ---- Null and empty fields -----------------------------------------------------------------------

fresh
printf 'id,f:a,f:b,f:c,f:d\nk,N,"N",,""\nl,N,N,N,N\n' >in.csv
check "csv: --null" "$load" --csv t --key id --null N s in.csv
check_eq "TEXT is no cell, but in quotes; empty fields are empty values" '["k",{"f":{"b":"N","c":"","d":""}}]' "$(newest_of s t)"
mount_store s m
check "also into a mount" "$load" --csv t --key id --null N m <(sed 's/^k/m/' in.csv)
check_eq "arrived" "$(printf 'b 1\nc 0\nd 0')" "$(cd m/t/m/f && stat -c '%n %s' -- *[!@])"
unmount_store m
fresh
check "csv: an empty TEXT" "$load" --csv t --key id --null '' s in.csv
check_eq "tells no cell from an empty one" '["k",{"f":{"a":"N","b":"N","d":""}}] ["l",{"f":{"a":"N","b":"N","c":"N","d":"N"}}]' \
	"$(newest_of s t)"
csv 3:1 'the row has no key \(1 line applied' --key id --null N < <(printf 'id,f:a\n"N",1\nN,2\n')
csv 2:3 'a column of the key is empty' --key id,at --null N < <(printf 'id,at,f:a\nk,N,1\n')
fail_with "--null without --csv" 2 'go with --csv' "$load" --null N s

# ---- Escapes --------------------------------------------------------------------------------------

fresh
cat >in.csv <<'END'
id,f:a,f:b\,c,f:d
k\"1,\N,"\\N, \"x\"",a\nb\tc\
d\,
l,\0\b\f\r\v,"""\/","\
"
END
check "csv: --escape backslash" "$load" --csv t --key id --escape backslash s in.csv
check_eq "its escapes" '["k\"1",{"f":{"b,c":"\\N, \"x\"","d":"a\nb\tc\nd,"}}] ["l",{"f":{"a":"\u0000\b\f\r\u000b","b,c":"\"/","d":"\n"}}]' \
	"$(newest_of s t)"
check "csv: without it a backslash is a byte" "$load" --csv t --key id --family g s <(printf 'id,a\nm,\\N\\n\n')
check_eq "as it is" '["m",{"g":{"a":"\\N\\n"}}]' "$(newest_of s t | grep -o '\["m".*')"
fresh
check "csv: with --null there are empty values beside \\N" "$load" --csv t --key id --escape backslash --null '\N' s \
	<(printf 'id,f:a,f:b,f:c\nk,\\N,,\\\\N\n')
check_eq "and a value of these bytes" '["k",{"f":{"b":"","c":"\\N"}}]' "$(newest_of s t)"
mount_store s m
check "also into a mount" "$load" --csv t --key id --escape backslash m/t <(printf 'id,f:a\nn,a\\nb\n')
check_eq "arrived" $'a\nb' "$(cat m/t/n/f/a)"
unmount_store m
fresh
printf 'id\tf:q\tf:"r"\n"a"\t"hi"\t5" disk\nb\t"x" y\t\\"\nc\t"open\t\\N\n' >in.tsv
check "tsv: with escapes quotes are ordinary bytes" "$load" --tsv t --key id --escape backslash s in.tsv
check_eq "also the first of a field" \
	'["\"a\"",{"f":{"\"r\"":"5\" disk","q":"\"hi\""}}] ["b",{"f":{"\"r\"":"\"","q":"\"x\" y"}}] ["c",{"f":{"q":"\"open"}}]' "$(newest_of s t)"
fresh
"$load" --tsv t --key id --escape backslash --skip-bad bad s < <(printf 'id\tf:q\na\t"1\t2\nb\t"3\n') 2>err
check_eq "also in a record that is skipped" $'standard input:2:1: 3 fields, but the header has 2\na\t"1\t2 ["b",{"f":{"q":"\\"3"}}]' \
	"$(cat bad) $(newest_of s t)"
rm bad
check "csv: with tabs, escapes and quotes" "$load" --csv t --key id --delimiter $'\t' --escape backslash s <(printf 'id\tf:q\nc\t"\\"4"\n')
check_eq "these are no bytes of the field" '["c",{"f":{"q":"\"4"}}]' "$(newest_of s t | grep -o '\["c".*')"
escapes=(--key id --escape backslash)
csv 4:4 'unknown escape; write a backslash as \\\\ \(1 line applied' "${escapes[@]}" < <(printf 'id,f:a\nk,a\\\nb\nl,\\x\n')
csv 2:5 'unknown escape' "${escapes[@]}" < <(printf 'id,f:a\nk,"\\N"\n')
csv 2:5 'a null field, .N, has other bytes' "${escapes[@]}" < <(printf 'id,f:a\nk,\\Nx\n')
csv 2:5 'the last field ends in an escape' "${escapes[@]}" < <(echo -n $'id,f:a\nkl,\\')
csv 2:3 'the quotes of this field are not closed' "${escapes[@]}" < <(printf 'id,f:a\nk,"x\\"\n')
fail_with "another escape" 2 'only backslash is known' "$load" --csv t --escape x s
fail_with "--escape without --csv" 2 'go with --csv' "$load" --escape backslash s
fail_with "--escape and --delimiter of one byte" 2 'the same byte' "$load" --csv t --delimiter $'\\' --escape backslash s

# ---- CSV with an ordinary header ---------------------------------------------------------------

fresh
printf 'a,id,b\r\n1,k1,2\r\n,k2,"x\ny"\r\n,k3,\r\n' >in.csv
check "csv: an ordinary header, the key in any column" "$load" --csv t --key id --family f s in.csv
is "the columns before the key" t k1 a '"1"'
is "and behind it" t k1 b '"2"'
is "the key is no cell" t k1 id null
is "an empty field is no cell" t k2 a null
is "a line in quotes" t k2 b '"x\ny"'
sed 's/,/\t/g' in.csv >in.tsv
fail_with "--create is asked for" 1 'in.tsv:1:1: table new: the store has none of that name; --create makes it' \
	"$load" --tsv new --key id --family n s in.tsv
check "--tsv --create: a table" "$load" --tsv new --key id --family n --create s in.tsv
check "and a family" "$load" --csv t --key id --family n --create s in.csv
check_eq "have the same rows" "$("$BUILD/rowfs-dump" --csv --family n s t)" "$("$BUILD/rowfs-dump" --csv s new)"
check_eq "which are those of the file" $',n,\n,a,b\nk1,1,2\nk2,,"x\ny"' "$("$BUILD/rowfs-dump" --csv s new)"
sed -n 1,2p in.csv >more.csv
mount_store s m
check "into a mount" "$load" --csv made --key id --family n --create m more.csv
check_eq "with its table" "1 2" "$(cat m/made/k1/n/a m/made/k1/n/b | sed 's/./& /; s/ $//')"
check "into a table of it" "$load" --csv made --key a --family n --create m/made more.csv
check_eq "with other keys" k1 "$(cat m/made/1/n/id)"
unmount_store m
ordinary=(--key id --family f)
csv 1:1 'the first field of the families .*; for a header that names all .* --key COLUMN --family F' \
	< <(printf 'id,name\n1,x\n')
csv 1:1 'the header has no column id' "${ordinary[@]}" < <(printf 'a,b\n')
csv 1:6 'the column id is there twice' "${ordinary[@]}" < <(printf 'id,a,id\n')
csv 1:6 'this column of family f is there twice' "${ordinary[@]}" < <(printf 'a,id,a\n')
csv 1:4 'the column has no name' "${ordinary[@]}" < <(printf 'id,\n')
csv 2:1 'a row, but all columns of the header are of the key' "${ordinary[@]}" < <(printf 'id\nk\n')
csv 3:3 'the row has no key \(1 line applied' "${ordinary[@]}" < <(printf 'a,id\n1,k\n2,\n')
csv 3:1 '3 fields, but the header has 2 \(1 line applied' "${ordinary[@]}" < <(printf 'a,id\n1,k\n2,l,\n')
csv 3:1 '1 field, but the header has 2 \(1 line applied' "${ordinary[@]}" < <(printf 'id,a\nk,1\nl\n')

# Keys of several columns, and columns that have their families.
fresh
printf 'at,company,f:lat,route,g:a:b\n9,STC,53.4,22,x\n7,"VI,A",,1,"y\nz"\n' >in.csv
cells='["STC#22#9",{"f":{"lat":"53.4"},"g":{"a:b":"x"}}] ["VI,A#1#7",{"g":{"a:b":"y\nz"}}]'
check "csv: a key of three columns, in the order of --key" "$load" --csv t --key company,route,at s in.csv
check_eq "and columns that have their families" "$cells" "$(newest_of s t)"
check "--create makes their families" "$load" --csv both --key company,route,at --create s in.csv
check_eq "all of them" "$cells f g" "$(newest_of s both) $("$BUILD/rowfs-dump" s both |
	jq -r 'select(.tables) | .tables.both.families | keys | join(" ")')"
printf ',x,,y\n,a,b,a\nk,1,2,3\n' >families.csv
check "--create makes those of a row of families" "$load" --csv rows --create s families.csv
check_eq "with their cells" '["k",{"x":{"a":"1","b":"2"},"y":{"a":"3"}}]' "$(newest_of s rows)"
for text in '' id; do # a table without cells
	check "--create makes that of --family without columns" "$load" --csv "bare$text" --key id --family f --create s <(lines "$text" "")
	check_eq "alone" f "$("$BUILD/rowfs-dump" s "bare$text" | jq -r 'select(.tables).tables[].families | keys[]')"
done
"$load" s <<<'{"tables":{"bar":{"delimiter":"|","families":{"f":{},"g":{}}}}}'
check "the key is joined with the table's delimiter" "$load" --csv bar --key route,company s <(sed 's/^at/f:at/' in.csv)
check_eq "which is not #" '["1|VI,A",{"f":{"at":"7"},"g":{"a:b":"y\nz"}}] ["22|STC",{"f":{"at":"9","lat":"53.4"},"g":{"a:b":"x"}}]' \
	"$(newest_of s bar)"
check "with --family a colon is part of the column" "$load" --csv colon --key company,route --family f --create s in.csv
check_eq "of its name" '["STC#22",{"f":{"at":"9","f:lat":"53.4","g:a:b":"x"}}] ["VI,A#1",{"f":{"at":"7","g:a:b":"y\nz"}}]' \
	"$(newest_of s colon)"
check "a column with a comma has quotes in --key" "$load" --csv comma --key '"a,b",c' --family f --create s \
	<(printf 'c,"a,b",d\n1,2,3\n')
check_eq "as in a line of CSV" '["2#1",{"f":{"d":"3"}}]' "$(newest_of s comma)"
mount_store s m
check "a key of several columns into a mount" "$load" --csv t --key company,route,at m in.csv
check_eq "in its directories" "53.4 x" "$(cat m/t/STC/22/9/f/lat) $(cat m/t/STC/22/9/g/a:b)"
check "into a directory of it" "$load" --csv bar --key route,company m/bar/22 <(printf 'f:q,route,company\n1,22,NEW\n')
check_eq "with its delimiter" 1 "$(cat m/bar/22/NEW/f/q)"
check "--create makes families in a mount" "$load" --csv both --key company,route,at --create m <(sed 's/g:/h:/' in.csv)
check_eq "with their cells" x "$(cat m/both/STC/22/9/h/a:b)"
unmount_store m
several=(--key "b,a" --family f)
csv 1:1 'the header has no column b; it has a, c, d .0 lines' "${several[@]}" < <(printf 'a,c,d\n')
csv 1:1 'the header has no column b; it has a{100}, c{100},' "${several[@]}" < <(python 'print(*[c * 100 for c in "acd"], sep=",")')
csv 1:1 '--key has a column without a name; the header has a, b .0 lines' --key a, --family f < <(printf 'a,b\n')
csv 1:5 'the column b is there twice' "${several[@]}" < <(printf 'b,a,b\n')
csv 1:3 'the column b is there twice' --key b,b --family f < <(printf 'a,b,c\n')
csv 1:1 'the key has 2 columns, the header 1' "${several[@]}" < <(printf 'b\n')
csv 2:1 'a row, but all columns of the header are of the key' "${several[@]}" < <(printf 'a,b\n1,2\n')
csv 1:1 "--key 'a,\"b': the quotes of this field" --key 'a,"b' --family f < <(printf 'a,b,c\n')
csv 1:1 "--key '': names no column" --key '' --family f < <(printf 'a,b,c\n')
csv 3:1 'a column of the key has the delimiter # \(1 line applied' "${several[@]}" < <(printf 'a,b,c\n1,2,3\n4#,5,6\n')
csv 3:3 'a column of the key is empty \(1 line applied' "${several[@]}" < <(printf 'a,b,c\n1,2,3\n4,,6\n')
csv 2:4002 'a row key has at most 4096 bytes' "${several[@]}" < <(printf 'a,b,c\n%04000d,%096d,1\n' 0 0)
csv 1:8 'the column lat is of no family: it is family:column, or --family F' --key id < <(printf 'id,f:a,lat\n')
csv 1:4 'family no: table t does not have it; it has f, g' --key id < <(printf 'id,no:a\n')
csv 1:4 'a family.s name is 1 to 64' --key id < <(printf 'id,:a\n')
csv 1:4 'the column has no name' --key id < <(printf 'id,f:\n')
csv 1:8 'this column of family f is there twice' --key id < <(printf 'id,f:a,f:a\n')

# ---- Bad records that are skipped ---------------------------------------------------------------

# skipping WANT REGEX OPTION… <CSV: bad records of in.csv go to the file `bad`, which has WANT then.
skipping() {
	local want=$1 status=0
	cat >in.csv
	rm -f bad
	"$load" --csv t --skip-bad bad "${@:2}" s in.csv 2>err || status=$?
	check_eq "skipped: ${want%%$'\n'*}" "1 $want" "$status $(cat bad)"
}
fresh
skipping $'in.csv:3:1: 3 fields, but the header has 2\nb,2,3\nin.csv:5:1: the row has no key\n,4' --family f \
	< <(printf ',q\na,1\nb,2,3\nc,3\n,4\nd,5')
check_eq "the others are there" '["a",{"f":{"q":"1"}}] ["c",{"f":{"q":"3"}}] ["d",{"f":{"q":"5"}}]' "$(newest_of s t)"
check_eq "the end says how many" $'rowfs-load: 3 rows, 3 cells, N s\nrowfs-load: bad: bad records that were skipped: 2' \
	"$(sed 's/[0-9.]* s$/N s/' err)"
check "after correction they load" "$load" --csv t --family f s <(head -n 1 in.csv; grep -v '^in.csv:' bad | sed 's/^b,2,3$/b,2/; s/^,/e,/')
check_eq "and are there" "b e" "$(newest_of s t | grep -oE '[be]"' | tr -d '"' | paste -sd ' ')"
skipping $'in.csv:2:4: a quote in a field that does not begin with one\na,1"' --family f < <(printf ',q\na,1"\nb,1\n')
skipping $'in.csv:3:4: a field in quotes goes on behind them; a quote in it is two\na,"x\nb,"y"' --family f \
	< <(printf ',q\na,"x\nb,"y"\nc,1\n')
skipping $'in.csv:3:3: the quotes of this field are not closed\nb,"x\n\nc,1' --family f < <(printf ',q\na,1\nb,"x\n\nc,1')
skipping $'in.csv:2:1: a column of the key has the delimiter #\n"a\n#",b,1' --key i,j < <(printf 'i,j,f:q\n"a\n#",b,1\nc,d,1\n')
# A long line arrives in many pieces. The limit is one of processor time, a few times as long as it takes.
{ printf ',q\na,' && head -c 209715200 /dev/zero | tr '\0' x && printf '\nb,6\n'; } >in.csv
fail_with "a record of 200 MiB is skipped, and each byte of it looked at a few times" 1 '^rowfs-load: bad: .* skipped: 1$' bash -c "
	[ -n '${ASAN_OPTIONS:-}' ] || ulimit -t 6; exec '$load' --csv t --family f --skip-bad bad s in.csv"
check_eq "its reason" "in.csv:2:3: a value has at most 104857600 bytes" "$(grep -ao '^in.csv:.*' bad | tail -n 1)"
is "the row behind it" t b q '"6"'
printf ',q\na\n' >$'in\n\xff.csv'
rm bad
"$load" --csv t --family f --skip-bad bad s $'in\n\xff.csv' 2>/dev/null
check_eq "a name that has a newline is spelled as in messages" $'in%0A%FF.csv:2:1: 1 field, but the header has 2\na' "$(cat bad)"
printf 'i,f:q\n' >in.csv
printf 'old' >old
"$load" --csv t --family f --skip-bad old s < <(printf ',q\na\n') 2>err
check_eq "a line that the file of bad records ends in stays one of its own" \
	$'old\nstandard input:2:1: 1 field, but the header has 2\na' "$(cat old)"
rm old
fail_with "a header is no record" 1 '^rowfs-load: in.csv:1:1: the header has no column k' "$load" --csv t --skip-bad bad --key k s in.csv
fail_with "lines of JSON are not skipped" 2 'skip-bad goes with --csv' "$load" --skip-bad bad s
fail_with "the input is not the file of bad records" 1 '^rowfs-load: --skip-bad in.csv: it is the input' \
	"$load" --csv t --skip-bad in.csv s in.csv
fail_with "a file that cannot be made" 1 '^rowfs-load: --skip-bad none/bad: No such file' "$load" --csv t --skip-bad none/bad s in.csv
fail_with "no room for bad records" 1 '^rowfs-load: .*:3: /dev/full: No space left on device .1 line applied before it.$' "$load" --csv t --family f --skip-bad /dev/full s <(printf ',q\na,1\nb\nc,1\n')

# Random records, good ones and bad ones of each kind, with all ends of lines: the good ones arrive, as when
# they come alone, and the bad ones are in the file, unchanged.
"$python" -S - <<'END'
import random
seed = random.getrandbits(32)
print("seed", seed)
rng = random.Random(seed)
for name, end in ("lf", "\n"), ("crlf", "\r\n"), ("cr", "\r"):
    records = []
    for i in range(12000):
        key = "k%d#%d" % (i % 7, i)
        good = ["%s,%d,v" % (key, i), '%s,%d,"a%sb ""%d"""' % (key, i, end, i), key + ",,", ""]
        bad = [key, "%s,%d,v,x" % (key, i), "%s,x%d,v" % (key, i), ",%d,v" % i, '%s,%d,v"x' % (key, i),
               '%s,%d,"v%s"x' % (key, i, end), key * 1100 + ",1,v"] # a key of more than 4096 bytes
        wrong = rng.random() < .01
        records.append((rng.choice(bad if wrong else good), wrong))
    for file, of in ("all", (False, True)), ("good", (False,)), ("bad", (True,)):
        with open("%s.%s" % (file, name), "w", newline="") as out:
            out.write(("" if file == "bad" else "key,n:n,f:q" + end) + "".join(text + end for text, wrong in records if wrong in of))
    with open("count." + name, "w") as out:
        out.write("%d" % sum(wrong for text, wrong in records))
END
for end in lf crlf cr; do
	for name in good all; do
		rm -rf $name
		make_store $name '{"tables":{"t":{"families":{"f":{},"n":{"type":"intmax"}}}}}'
	done
	check "the good records load ($end)" "$load" --csv t --key key good good.$end
	fail_with "all records, bad ones skipped ($end)" 1 "bad.$end.store: bad records that were skipped: $(cat count.$end)\$" \
		"$load" --csv t --key key --skip-bad bad.$end.store all all.$end
	check_eq "leave the good ones ($end)" "$("$BUILD/rowfs-dump" --csv good t | sha256sum)" "$("$BUILD/rowfs-dump" --csv all t | sha256sum)"
	"$load" all <<<'{"tables":{"m":{"families":{"f":{},"n":{"type":"intmax"}}}}}'
	mount_store all m
	fail_with "the same into a mount ($end)" 1 "bad.$end.mount: bad records that were skipped: $(cat count.$end)\$" \
		"$load" --csv m --key key --skip-bad bad.$end.mount m all.$end
	check_eq "with the same rows ($end)" "$("$BUILD/rowfs-dump" --csv good t | sha256sum)" "$("$BUILD/rowfs-dump" --csv m m | sha256sum)"
	unmount_store m
	for to in store mount; do
		check_eq "the others are in the file ($end, $to)" "$(tr -d '\r\n' <bad.$end | sha256sum)" \
			"$(grep -av "^all.$end:[0-9]" bad.$end.$to | tr -d '\r\n' | sha256sum)"
		check_eq "each with its line ($end, $to)" "$(cat count.$end)" "$(grep -ac "^all.$end:[0-9]" bad.$end.$to)"
	done
done

# ---- Its end -----------------------------------------------------------------------------------

fresh
"$load" s <(lines "$T" "$(row a 1)" '{"key":"b","families":{"f":{"x":["1","2"]},"g":{"y":["3"]}}}') 2>err
check_eq "it ends with rows, cells and seconds" "rowfs-load: 2 rows, 4 cells, N s" "$(sed 's/[0-9.]* s$/N s/' err)"
"$load" --quiet s <(lines "$T" "$(row a 1)") 2>err
check_eq "--quiet prints none of it" "" "$(cat err)"
"$load" s <<<'{"tables":{"aged":{"families":{"f":{"gc":"maxage=1d"}}}}}'
"$load" --quiet --csv aged --timestamps s <(lines ,f ,q a,1@1) 2>err
check_eq "but warnings" "rowfs-load: s: table aged, family f: a cell was written that its policy hides at once" "$(cat err)"
fail_with "and errors" 1 ':1: not JSON' "$load" --quiet s <(echo x)
# Timestamps that may be of another unit: they are loaded, and counted.
one='1 cell is older than 1973: is its timestamp seconds or milliseconds?'
three='3 cells are older than 1973: are their timestamps seconds or milliseconds?'
# asks NAME MESSAGE OPTION…: a load of standard input into where, a store or a mount, ends well with the message.
asks() {
	local said status=0
	said=$("$load" "${@:3}" "$where" - 2>&1) || status=$?
	check_eq "$where, $1: its end" "0 ${2:+rowfs-load: $2}" "$status $said"
}
# stamped TS…: a row with these timestamps.
stamped() {
	printf '%s\n{"key":"old","families":{"f":{"q":[%s]}}}\n' "$T" "$(printf '{"ts":%s,"value":"x"}\n' "$@" | paste -sd ,)"
}
for where in s m; do
	[ $where = s ] || mount_store s m
	asks "seconds" "$one" < <(stamped 1700000000 1700000000000000 99999999 17)
	asks "milliseconds, and others" "$three" < <(stamped 1700000000000 99999999999999 100000000 100000000000000)
	asks "microseconds, small numbers, and the server's" "" < <(stamped 100000000000001 0 1 18 && row new 1)
	asks "deletes" "" < <(lines "$T" '{"key":"old","delete":{"f":{"q":[17]}}}')
	asks "CSV" "$one" --csv t --timestamps < <(printf ',f,\n,a,b\nk,x@1700000000,y@1700000000000000\n')
	fail_with "$where, a wrong line" 1 "$one" "$load" $where < <(stamped 1700000001 && echo wrong)
done
unmount_store m
# counts INPUT OPTION…: the line at the end, without the seconds.
counts() {
	"$load" --csv t --family f "${@:2}" s - <"$1" 2>&1 | sed 's/[0-9.]* s$/N s/'
}
check_eq "lines with one key are reported, also to a script" "rowfs-load: 1000 lines made 1 row, 1000 cells, N s" \
	"$(counts <(echo id,q; for i in {1..1000}; do echo "k,$i"; done) --key id)"
check_eq "those with two of three keys, and one that makes no cell" "rowfs-load: 3 lines made 2 rows, 3 cells, N s" \
	"$(counts <(printf 'id,q\na,1\nb,2\na,3\nb,\n') --key id)"
check_eq "also with --quiet" "rowfs-load: 2 lines made 1 row, 2 cells, N s" "$(counts <(printf 'id,q\na,1\na,2\n') --key id --quiet)"
check_eq "not lines with keys of their own" "" "$(counts <(printf 'id,q\na,1\nb,2\n') --key id)"
check_eq "nor lines of JSON, which change a row" "" "$(lines "$T" "$(row a 1)" "$(row a 2)" | "$load" s 2>&1)"
make_store sums '{"tables":{"t":{"families":{"n":{"type":"intsum"}}}}}'
check_eq "nor lines beside records that the store refuses" "rowfs-load: 2 rows, N s" \
	"$("$load" --csv t --key id --skip-bad bad sums <(printf 'id,n:q\na,1\nb,x\na,2\nc,y\n') 2>&1 | sed -n '1s/rows, .* s$/rows, N s/p')"
check_eq "a put through standard input says nothing" "" "$(lines "$T" "$(row a 1)" | "$load" s 2>&1)"
mount_store s m
"$load" m/t <(row c 1) 2>err
check_eq "the same with a mount" "rowfs-load: 1 row, 1 cell, N s" "$(sed 's/[0-9.]* s$/N s/' err)"
unmount_store m

# interrupted SIGNAL STATUS HEADER OPTION… <LINES: one that is interrupted while it waits for the rest of 3,000
# lines says from which line to go on, and how, also if its name is one that a shell or head would obey.
bait="-a '\$(touch pwn);b"
interrupted() {
	local signal=$1 status=0 header=$3 name="$1: ${4:-json}" line
	cat >whole
	fresh
	mkfifo -- "$bait"
	env --default-signal="$signal" "$load" "${@:4}" s -- "$bait" 2>err &
	exec 9>"./$bait"
	head -n 2500 whole >&9
	within eval "((0x\$(sed -n 's/^SigCgt:.//p' /proc/$!/status) >> ($(kill -l "$signal") - 1) & 1))" ||
		not_ok "$name is met by a program that takes signals" "it takes none"
	within eval "(($(head -n 2500 whole | wc -c) < \$(sed -n 's/^rchar: //p' /proc/$!/io)))" ||
		not_ok "$name is met by a program that reads" "it does not read"
	within grep -q pipe "/proc/$!/wchan" || not_ok "$name is met by a program that waits for the rest" "it does not"
	kill -s "$signal" $!
	wait $! || status=$?
	exec 9>&-
	mv whole "./$bait"
	check_eq "$name ends it as that signal does" "$2" "$status"
	line=$(sed -nE 's/^rowfs-load: -a .*:([0-9]+): interrupted; go on with \(.*\) \| rowfs-load .*s \([0-9]+ lines applied before it\)/\1/p' err)
	check_eq "the lines before that are applied" $((line - header - 1)) "$("$BUILD/rowfs-dump" s t | grep -c '"key"')"
	check "the rest can be loaded as it says" env PATH="$BUILD:$PATH" \
		bash -c "$(sed -E 's/.* go on with (.*) \([0-9]+ lines.*/\1/' err)"
	check "and nothing else runs" [ ! -e pwn ]
	rm "./$bait"
	check_eq "then all are there, each once" 3000 "$("$BUILD/rowfs-dump" s t | grep -o '"value":' | wc -l)"
}
interrupted INT 130 1 < <(lines "$T"; for i in {1..3000}; do row "k$i" "$i"; echo; done)
interrupted TERM 143 2 --csv t < <(lines ,f ,q; for i in {1..3000}; do echo "k$i,$i"; done)
interrupted HUP 129 2 --csv t --skip-bad bad < <(lines ,f ,q; for i in {1..3000}; do echo "k$i,$i"; done)

# shellcheck disable=SC2086 # words
# The cells that Python's reader finds in random CSV, against those of a dump.
for _ in 1 2 3; do
	while IFS='|' read -r options key parameters; do
		fresh
		seed=$RANDOM$RANDOM
		model random_csv "$seed" random.csv "$key" $parameters || die "no random CSV"
		check "csv: random records load ($seed $options)" "$load" --csv t $options s random.csv
		check_eq "csv: as Python reads them ($seed $options)" "$(model csv random.csv "$key" $parameters | sort)" \
			"$("$BUILD/rowfs-dump" s t | model newest /dev/stdin | sort)"
	done <<-'END'
		||
		--key id,no|id,no|
		--delimiter ;||delimiter=;
		--null NULL||null=NULL
		--escape backslash||escapechar=\ doublequote=
		--delimiter ; --key id --escape backslash|id|delimiter=; escapechar=\ quoting=3
	END
done

# ---- Size ------------------------------------------------------------------------------------

# The limit is one of address space, of which malloc reserves much for each thread's arena, so there is one arena.
# A sanitizer's own memory is beyond any limit.
export MALLOC_ARENA_MAX=1
fresh
awk 'BEGIN { print "{\"table\":\"t\"}"
	for (i = 0; i < 100000; i++)
		printf "{\"key\":\"r#%d\",\"families\":{\"f\":{\"q\":[\"%d\"],\"r\":[{\"ts\":5,\"value\":\"x\"}]}}}\n", i, i
	}' >many
check "100,000 rows in 256 MiB of memory" bash -c "
	[ -n '${ASAN_OPTIONS:-}' ] || ulimit -v 262144; exec '$load' s many"
is "the last one is there" t 'r#99999' q '"99999"'

awk 'BEGIN { print ",f,"; print ",a,b"
	for (i = 0; i < 200000; i++) printf "r%d,%d,\"x\"\n", i, i }' >many.csv
check "200,000 rows of CSV in 256 MiB of memory" bash -c "
	[ -n '${ASAN_OPTIONS:-}' ] || ulimit -v 262144; exec '$load' --csv t s many.csv"
is "the last one is there" t 'r199999' b '"x"'

# Two lines a key: exactly, and beyond the number that is exact within 2 %.
for keys in 60000 200000; do
	awk -v keys="$keys" 'BEGIN { print "id,q"; for (i = 0; i < 2 * keys; i++) printf "user%06d,1\n", i % keys }' >many.csv
	made=$("$load" --csv t --key id --family g s many.csv 2>&1 | sed -nE "s/^.* $((2 * keys)) lines made (about )?([0-9]+) rows, .*/\2/p")
	check "lines of $keys keys made ${made:=0} rows" \
		[ "$((made > keys ? made - keys : keys - made))" -le "$((keys > 65536 ? keys / 50 : 0))" ]
done
finish
