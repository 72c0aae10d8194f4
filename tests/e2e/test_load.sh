#!/bin/bash
# SPDX-License-Identifier: MIT
#
# rowfs-load: which lines it takes, where it stops and what it says then. What arrived in the store
# is asked with conditions ("if"), so that no mount is needed.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

load=$BUILD/rowfs-load
cd "$TMP" || exit 1

# fresh: a store s with the tables t and u.
fresh() {
	rm -rf s
	make_store s '{"tables":{"t":{"families":{"f":{},"g":{}}},"u":{"families":{"f":{}}}}}'
}

# lines LINE…: as a file on standard output.
lines() {
	printf '%s\n' "$@"
}

# is NAME TABLE KEY COLUMN JSON: the newest value of f/COLUMN is JSON, or it has none (null).
is() {
	check "$1" "$load" s <(lines "{\"table\":\"$2\"}" \
		"{\"key\":\"$3\",\"if\":{\"f\":{\"$4\":$5}}}")
}

T='{"table":"t"}'
row() {
	printf '{"key":"%s","families":{"f":{"q":["%s"]}}}' "$1" "$2"
}

# ---- Usage -----------------------------------------------------------------------------------

check "--help succeeds" "$load" --help
check_eq "--help prints the usage on stdout" "Usage: rowfs-load [--csv TABLE] STORE|DIRECTORY [FILE]" \
	"$("$load" --help 2>/dev/null | head -n 1)"
check_eq "--help fits a screen" "" "$("$load" --help | awk 'length > 92 || NR > 36')"
check "--version names the program" grep -qE '^rowfs-load \(rowfs\) [0-9]' <("$load" --version)
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

# ---- What it takes ---------------------------------------------------------------------------

check "rows from a file" "$load" s <(lines "$T" "$(row a 1)" "$(row b 2)")
is "the first is there" t a q '"1"'
is "the second is there" t b q '"2"'
is "another row is not" t c q null
check "rows from standard input" bash -c "'$load' s < <(printf '%s\n' '$T' '$(row c 3)')"
is "arrived" t c q '"3"'
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
check "deletes come before sets" "$load" s <(lines "$T" \
	'{"families":{"f":{"new":["x"]}},"delete":{"f":true},"key":"a"}')
is "the old column is gone" t a q null
is "the new one is there" t a new '"x"'
check "delete true: the row" "$load" s <(lines "$T" '{"key":"a","delete":true}')
is "gone" t a new null
check "append" "$load" s <(lines "$T" '{"key":"b","append":{"f":{"q":"!"}}}')
is "applied" t b q '"2!"'
check "increment" "$load" s <(lines "$T" '{"key":"n","increment":{"f":{"q":65}}}')
is "applied" t n q '"\u0000\u0000\u0000\u0000\u0000\u0000\u0000A"'
check "the newest of several timestamps" "$load" s <(lines "$T" \
	'{"key":"ts","families":{"f":{"q":[{"ts":3,"value":"3"},{"ts":9,"value":"9"},{"ts":5,"value":"5"}]}}}')
is "is shown" t ts q '"9"'
check "a long line" "$load" s <(lines "$T" \
	"{\"key\":\"long\",\"families\":{\"f\":{\"q\":[\"$(head -c 100000 /dev/zero | tr '\0' x)\"]}}}" \
	"$(row behind 1)")
is "the row behind it" t behind q '"1"'
bash -c "printf '{\"table\":\"t\"}\n{\"key\":\"big\",\"families\":{\"f\":{\"q\":[\"'; \
	head -c 104857600 /dev/zero | tr '\0' x; printf '\"]}}}\n'" >big
check "a value of 100 MiB" "$load" s big
sed -i 's/xx"\]/xxy"]/' big
fail_with "a byte more" 1 '^rowfs-load: big:2: .*104857600' "$load" s big
rm big

# ---- Where it stops --------------------------------------------------------------------------

# stops NAME LINE REGEX TEXT…: loading these lines stops at that one, the file being called `in`.
stops() {
	local name=$1 line=$2 regex=$3
	shift 3
	lines "$@" >in
	fail_with "$name" 1 "^rowfs-load: in:$line: $regex" "$load" s in
}

fresh
stops "a wrong line" 4 'families.f.q\[0\]: a number.*\(2 lines applied before it\)$' "$T" \
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
stops "a condition that does not hold" 2 'the row is not as "if" says' "$T" \
	'{"key":"a","if":{"f":{"q":"other"}},"families":{"f":{"q":["2"]}}}'
is "nothing is applied then" t a q '"1"'
stops "increment of text" 2 '"increment" of a value' "$T" '{"key":"a","increment":{"f":{"q":1}}}'
stops "a key that is too long" 2 'key: has at most 4096 bytes' "$T" \
	"$(row "$(printf '%4097s' '' | tr ' ' k)" 1)"
stops "a wrong schema line" 1 'tables.t.families.f: ' '{"tables":{"t":{"families":{"f":"x"}}}}'
stops "a schema that does not fit the store" 3 '.*t' "$T" "$(row a 1)" \
	'{"tables":{"t":{"delimiter":":"}}}'
printf '%s\n%s' "$T" '{"key":"cut","families":{"f":{"q":["x"' >in
fail_with "a file that is cut off" 1 '^rowfs-load: in:2: not JSON' "$load" s in
fail_with "a store that is in use" 1 '^rowfs-load: .*in use' bash -c "
	mkfifo hold && '$load' s hold & sleep 0.01; exec 9>hold; sleep 0.5
	'$load' s /dev/null; status=\$?; exec 9>&-; wait; exit \$status"

# ---- Size ------------------------------------------------------------------------------------

# A sanitizer's own memory is beyond any limit.
fresh
awk 'BEGIN { print "{\"table\":\"t\"}"
	for (i = 0; i < 100000; i++)
		printf "{\"key\":\"r#%d\",\"families\":{\"f\":{\"q\":[\"%d\"],\"r\":[{\"ts\":5,\"value\":\"x\"}]}}}\n", i, i
	}' >many
check "100,000 rows in 256 MiB of memory" bash -c "
	[ -n '${ASAN_OPTIONS:-}' ] || ulimit -v 262144; exec '$load' s many"
is "the last one is there" t 'r#99999' q '"99999"'

finish
