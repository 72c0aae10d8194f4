#!/bin/bash
# SPDX-License-Identifier: MIT
#
# rowfs-advise and /.rowfs/advice: which input they take, what it costs, and that a table without a
# fault has no finding. tests/unit/test_advice.c has the limits of the rules.
#
#   ROWFS_FULL=1   all packages that Debian has (environment)

. "$(dirname "$0")/lib.sh"

source=$LIB_DIR/../..
advise=$BUILD/rowfs-advise
cd "$TMP" || exit 1

# rules FILE…: the rules of the findings, of JSON.
rules() {
	jq -r '.table + " " + .rule' "$@" | paste -sd ' '
}

# rows FORM [FROM TO]: rows with these keys, where % is a number; their timestamps rise.
rows() {
	jq -nc --arg form "$1" "range(${2:-1000}; ${3:-1300})"' | . as $i |
		{key: ($form | sub("%"; $i | tostring)), families: {f: {q: [{ts: ($i * 1000000), value: "some"}]}}}'
}

# ---- Usage -----------------------------------------------------------------------------------

fail_with "an unknown option" 2 '^rowfs-advise: ' "$advise" --wrong -
fail_with "no file" 2 '^rowfs-advise: FILE or STORE is missing' "$advise"
fail_with "two files" 2 '^rowfs-advise: b: one FILE or STORE only' "$advise" a b
fail_with "two formats" 2 '^rowfs-advise: only one --table, --csv or --tsv' "$advise" --csv t --tsv t -
fail_with "a delimiter of lines of JSON" 2 'goes with --csv' "$advise" --delimiter ';' -
fail_with "a family of lines of JSON" 2 'go with --csv or --tsv' "$advise" --family f -
fail_with "a table's name that is none" 1 '^rowfs-advise: a/b: not a table' "$advise" --table a/b -
fail_with "a file that is missing" 1 '^rowfs-advise: none: No such file' "$advise" none
fail_with "a schema that is missing" 1 '^rowfs-advise: none: No such file' "$advise" --schema none -
printf '{"version":1,\n"tables":{"t":{"x":1}}}' >wrong
fail_with "a schema that is none" 1 '^rowfs-advise: wrong:2: tables.t.x: ' "$advise" --schema wrong -
mkdir empty
fail_with "all rows of a file" 2 '^rowfs-advise: --whole goes with a STORE' "$advise" --whole - </dev/null
make_store used.db '{"tables":{"a":{"families":{"f":{}}},"b":{"families":{"f":{}}}}}'
echo '{"tables":{}}' >none.json
for option in '--schema none.json' '--csv t' '--tsv t'; do
	# shellcheck disable=SC2086 # two words
	fail_with "$option of a store" 2 '^rowfs-advise: --schema, --csv and --tsv go with a FILE' "$advise" $option used.db
done
check_eq "one table of a store" "# table b: 0 rows" "$("$advise" --table b used.db | cut -d , -f 1)"
fail_with "a table that is not there" 1 '^rowfs-advise: used.db: no table c' "$advise" --table c used.db
fail_with "a directory that is no store" 1 '^rowfs-advise: empty: ' "$advise" empty
fail_with "a full disk" 1 '^rowfs-advise: standard output: No space' \
	bash -c "echo '{\"key\":\"a\",\"families\":{\"f\":{\"q\":\"1\"}}}' | '$advise' - >/dev/full"

# ---- Lines of JSON ---------------------------------------------------------------------------

check_eq "no rows, no text" "" "$("$advise" - </dev/null)"
rows '%' >times.json
check_eq "rows of a table without a name" "rows writes-at-end" \
	"$("$advise" --json times.json | rules)"
check_eq "with a name" "log writes-at-end" "$("$advise" --json --table log - <times.json | rules)"
{
	echo '{"tables":{"a":{"families":{"f":"maxversions=1"},"delimiter":":"},
		"b":{"keys":{"segments":[{"name":"host","codec":"reverse-domain"}]},"families":{"f":{},"none":{}}}}}' |
		tr -d '\n\t'
	echo
	echo '{"table":"a"}'
	rows 'x:%' 100 205
	rows 'x:%' 95 100
	echo '{"table":"b"}'
	rows 'h%.example.com'
	echo '{"table":"c"}'
	rows 'h%.example.com'
} >dump.json
check_eq "tables, their delimiters and designs" "a writes-at-end a unpadded-numbers b empty-family c domains-forward" \
	"$("$advise" --json dump.json | rules)"
check_eq "a header for each table" '# table a: 110 rows, 110 cells, 440 bytes of values; all rows were read
# table b: 300 rows, 300 cells, 1200 bytes of values; all rows were read
# table c: 300 rows, 300 cells, 1200 bytes of values; all rows were read' "$("$advise" dump.json | grep '^#')"
check_eq "a finding for people" 'c: note domains-forward: 100 % of the values of this segment are domains with the top level last (limit 90 %)
    segment 1
    key h1000.example.com' "$("$advise" dump.json | sed -n '/^c:/,/key/p')"
check_eq "an evidence has the shown key" '"h1000.example.com" 300 false' "$("$advise" --json dump.json |
	jq -r 'select(.table == "c").evidence | "\(.keys[0] | tojson) \(.rows) \(.sample)"')"
jq -c --arg mark $'\u009b31m\u202e' '.key = $mark + "#" + .key' times.json >hostile.json
check_eq "a key that would act on a terminal is %XX for people" '    key %C2%9B31m%E2%80%AE#1299' \
	"$("$advise" <(jq -c '.key += "#ann@example.com"' hostile.json) | grep -m 1 '^    key' | cut -d '#' -f 1-2)"
echo '{"tables":{"rows":{"keys":{"segments":[{"name":"id","codec":"reverse"}]}}}}' >reverse.json
check_eq "a schema of a file" 0 "$("$advise" --json --schema reverse.json times.json && echo 0)"
echo '{"tables":{"rows":{"keys":{"segments":[{"name":"host","codec":"reverse-domain"}]}}}}' >hosts.json
check_eq "the first key is coded as the others" "# table rows: 300 rows, 300 cells, 1200 bytes of values; all rows were read" \
	"$({ rows 'z%.example.com' 1000 1150; rows 'a%.example.net' 1000 1150; } | "$advise" --schema hosts.json - | grep '^#')"
check_eq "a byte order mark" "rows writes-at-end" \
	"$({ printf '\xef\xbb\xbf' && cat times.json; } | "$advise" --json - | rules)"
check_eq "rows as people write them" "# table rows: 1 row, 3 cells, 10 bytes of values; all rows were read" \
	"$("$advise" - <<<'{"key":"a","families":{"f":{"q":"x","r":["y",{"ts":1,"value":12345678}]}}}')"
check_eq "a line without a newline" "# table rows: 1 row, 1 cell, 1 byte of values; all rows were read" \
	"$(printf '%s' '{"key":"a","families":{"f":{"q":"x"}}}' | "$advise" -)"

check_eq "rows in no order of their keys" "# table rows: 300 rows, 300 cells, 1200 bytes of values; all rows were read; \
the rows are not in the order of their keys, so writes-at-end, number-first and salt-idle were not looked for" \
	"$({ tail -n 100 times.json && head -n 200 times.json; } | "$advise" -)"
{ rows 'u#%' 100 205 && rows 'u#%' 95 100; } >sorted.json
check_eq "their findings say so" 'true true false' "$({
	"$advise" --json sorted.json && tac sorted.json | "$advise" --json -
	{ tail -n 50 sorted.json && head -n 60 sorted.json; } | "$advise" --json -
} | jq 'select(.rule == "unpadded-numbers").evidence.sorted' | xargs)"

# refused NAME MESSAGE LINE: as rowfs-load refuses it.
make_store refusing.db '{"tables":{"rows":{"families":{"f":{}}}}}'
refused() {
	local told
	fail_with "$1" 1 "^rowfs-advise: standard input:2:?[0-9]*: $2" bash -c 'printf "%s" "$1" | "$0" -' "$advise" \
		$'{"key":"a","families":{"f":{"q":"x"}}}\n'"$3"
	told=$(printf '{"table":"rows"}\n%s\n' "$3" | "$BUILD/rowfs-load" refusing.db 2>&1)
	check "$1: rowfs-load says so, too" grep -q ":2: $2" <<<"$told"
}
refused "no JSON" '' '{"key":'
refused "an unknown member" 'x: a row has only ' '{"key":"b","x":1}'
refused "a key that is none" 'key: ' '{"key":7}'
refused "an empty key" 'key: must not be empty' '{"key":""}'
fail_with "a row without a key" 1 '^rowfs-advise: standard input:1: a row without a key' \
	"$advise" - <<<'{"families":{"f":{"q":"x"}}}'

# ---- Long lines, and memory ------------------------------------------------------------------

long_line() {
	printf '{"key":"%s","families":{"f":{"q":[{"ts":1,"value":"' "$1"
	head -c "$2" /dev/zero | tr '\0' x
	printf '"}]}}}\n'
}
{
	rows 'a#%'
	long_line b $((11 << 20))
	rows 'c#%'
} >long.json
check_eq "a line of 11 MiB among others" "cell-10mib 11534336 b 601 row-10mib 11534336 b 601" "$("$advise" --json long.json |
	jq -r '"\(.rule) \(.evidence | "\(.value) \(.keys[0]) \(.rows)")"' | sort | paste -sd ' ')"
check_eq "sizes for people" 'rows: warning row-10mib: 11 MiB are the values of the largest row (limit 10 MiB)
rows: warning cell-10mib: 11 MiB is the largest cell (limit 10 MiB)' "$("$advise" long.json | grep '^rows:')"
# wide FORMAT N: a row with columns of that format.
wide() {
	printf '{"key":"a","families":{"f":{'
	seq -f "$1," "$2" | tr -d '\n'
	printf '"x":"x"}}}\n'
}
check_eq "100,001 columns as people write them" "many-columns 100001" \
	"$(wide '"%.0f":"some"' 100000 | "$advise" --json - | jq -r '"\(.rule) \(.evidence.value)"')"
check_eq "12 MiB as Python writes them" "row-10mib 12582913" "$("$python" -S -c 'import json
print(json.dumps({"key": "a", "families": {"f": {str(i): "x" * 2**20 for i in range(12)} | {"y": "x"}}}))' |
	"$advise" --json - | jq -r '"\(.rule) \(.evidence.value)"')"
fail_with "a long line that is wrong" 1 'standard input:2: x: a row has only ' \
	bash -c "{ echo '{\"key\":\"a\",\"families\":{}}'; sed 's/\"key\"/\"x\"/' long.json | tail -n +301; } | '$advise' -"

# A row in lines of 4 MiB, a million columns together, and a million rows.
{
	for i in {1..10}; do wide "\"$i-%.0f\":[{\"ts\":1,\"value\":\"xxxxxxxxxxxx\"}]" 99999; done
	seq -f '{"key":"a%07.0f","families":{"f":{"q":[{"ts":1,"value":"x"}]}}}' 1000000
} >large.json
check_eq "memory does not grow with the rows, nor with the lines of one" "1000000 columns 1000001 rows" "$(
	[ -n "${ASAN_OPTIONS:-}" ] || ulimit -v 64000 # a sanitizer's own memory is beyond any limit
	"$advise" --json large.json |
		jq -r 'select(.rule == "many-columns").evidence | "\(.value) columns \(.rows) rows"'
)"
rm large.json

# ---- CSV -------------------------------------------------------------------------------------

check_eq "CSV of cbt import" "log writes-at-end" "$({
	printf ',f\n,q\n'
	jq -r '"\(.key),x@\(.key)000000"' times.json
} | "$advise" --json --timestamps --csv log - | rules)"
check_eq "with an ordinary header and tabs" "log domains-forward" "$({
	printf 'name\thost\n'
	seq -f $'ann\th%.0f.example.com' 200
} | "$advise" --json --tsv log --family f --key host - | rules)"
check_eq "a key of two columns, and a column that has its family" "log domains-forward" "$({
	printf 'v:q\tname\thost\n'
	seq -f $'ann\tx\th%.0f.example.com' 200
} | "$advise" --json --tsv log --key host,name - | rules)"
check_eq "as rowfs-load takes it, with a delimiter, escapes and a word for no value" "log domains-forward" "$({
	printf 'v:q;v:r;host\n'
	seq -f 'ann\;ann;N;h%.0f.example.com' 200
} | "$advise" --json --csv log --key host --delimiter ';' --escape backslash --null N - | rules)"
check_eq "in the shown form of a design" 0 "$({
	printf 'name,host\n'
	seq -f 'ann,h%.0f.example.com' 200
} | "$advise" --json --schema <(echo '{"tables":{"log":{"keys":{"segments":[{"name":"h","codec":"reverse-domain"}]}}}}') \
	--csv log --family f --key host - && echo 0)"
fail_with "a record that is too short" 1 '^rowfs-advise: standard input:3:1: 1 field, but the header has 2' \
	bash -c "printf ',f\n,q\na\n' | '$advise' --csv t -"
fail_with "a quote that does not end" 1 '^rowfs-advise: standard input:3:' \
	bash -c "printf ',f\n,q\na,\"x' | '$advise' --csv t -"
check_eq "a field of 2 MiB" "t cell-1mib" "$({
	printf ',f\n,q\na,'
	head -c $((2 << 20)) /dev/zero | tr '\0' x
} | "$advise" --json --csv t - | rules)"

# The fuzz corpora are findings or errors, and no crash.
status=0
for file in "$source"/tests/fuzz/corpus/{json,csv}/*; do
	"$advise" "$file" >/dev/null 2>&1 || [ $? = 1 ] || status=$?
	"$advise" --csv t "$file" >/dev/null 2>&1 || [ $? = 1 ] || status=$?
done
check_eq "the fuzz corpora" 0 "$status"

# ---- A table without a fault -----------------------------------------------------------------

# Some of the packages that this machine knows, as the demo has them.
every=$(rounds 8 1)
{ apt-cache dumpavail 2>/dev/null || dpkg-query --status; } |
	LC_ALL=C awk -v RS= -v ORS='\n\n' -v "every=$every" 'NR % every == 0' |
	LC_ALL=C awk -f "$source/demo/packages.awk" >packages.jsonl
[ "$(wc -l <packages.jsonl)" -gt 100 ] ||
	dpkg-query --status | LC_ALL=C awk -f "$source/demo/packages.awk" >packages.jsonl
check "the demo has rows" [ "$(wc -l <packages.jsonl)" -gt 100 ]
"$BUILD/mkfs.rowfs" --schema "$source/demo/schema.json" packages.db
"$BUILD/rowfs-load" packages.db packages.jsonl 2>/dev/null
check_eq "the demo's packages have no fault" 0 "$("$advise" --json packages.db && echo 0)"
check_eq "nor has their dump" 0 "$("$BUILD/rowfs-dump" packages.db | "$advise" --json - && echo 0)"

# ---- Stores and mounts -----------------------------------------------------------------------

make_store s '{"tables":{"t":{"families":{"f":{},"none":{}}}}}'
{ echo '{"table":"t"}' && cat times.json; } | "$BUILD/rowfs-load" s
check_eq "a store" "t writes-at-end t empty-family" "$("$advise" --json s | rules)"
check_eq "all of it" "$("$advise" s)" "$("$advise" --whole s)"
mkdir m
check_eq "an empty family for people" 't: note empty-family: the family has no cell in the table
    family none' "$("$advise" s | sed -n '/empty-family/,/family none/p')"
mount_store s m
check_eq "in a mount" "t writes-at-end t empty-family" "$(rules m/.rowfs/advice.json)"
check_eq "each line has all members" 'true true' "$(jq '[.table, .rule, .severity, .evidence.text,
	.evidence.value, .evidence.threshold, .evidence.keys, .action, .section, .source] | all(. != null)' \
	m/.rowfs/advice.json | xargs)"
check_eq "for people" "$("$advise" m/t)" "$(cat m/.rowfs/advice)"
check_eq "as lines" "$(cat m/.rowfs/advice.json)" "$("$advise" --json m)"
check_eq "both are listed" 'advice advice.json' "$(cd m/.rowfs && echo advice*)"
fail_with "neither can be written" 1 'Permission denied|Operation not permitted' bash -c 'echo x >m/.rowfs/advice'
fail_with "a store that is mounted" 1 'in use by process [0-9]*, mounted at .*; try rowfs-advise ' "$advise" s
read_rows() {
	awk 'NR > 1 { rows += $4 } END { print rows }' FS='\t' m/.rowfs/keyvis/t/reads.tsv
}
check "rows that are read are traffic" [ "$(wc -l <m/t/.keys)" -le "$(read_rows)" ]
check_eq "those that advice reads are none" "$(read_rows)" "$(cat m/.rowfs/advice >/dev/null && read_rows)"
unmount_store m

mount_store packages.db m -o table=packages
check_eq "with -o table=T it is about that table alone" '# table packages' "$(grep '^#' m/.rowfs/advice | cut -d : -f 1)"
unmount_store m

# ---- Pages -----------------------------------------------------------------------------------

anchors=$(sed -n 's/^##* //p' "$source/docs/row-keys.md" | tr '[:upper:] ' '[:lower:]-' | tr -d '`:,.')
rules_of() {
	sed -nE "s/$1.*/\\1/p" "$source/store/advice/rules.c" | sort -u
}
check "rules are found" [ "$(rules_of '^\t\{"([a-z0-9-]*)", ADVICE_' | wc -l)" -ge 25 ]
check_eq "rowfs-advise(1) has each rule" "" "$(rules_of '^\t\{"([a-z0-9-]*)", ADVICE_' |
	grep -vxF "$(sed -n 's/^[.]It Sy //p' "$source/man/rowfs-advise.1" | sed 's/ , /\n/g')")"
check "sections are found" [ "$(rules_of '^\t *"([a-z-]*)", (BIGTABLE_|ROWFS)' | wc -l)" -ge 10 ]
check_eq "row-keys.md has the section of each rule" "" "$(rules_of '^\t *"([a-z-]*)", (BIGTABLE_|ROWFS)' |
	grep -vxF "$anchors")"
check_eq "each rule has a section" "$(grep -cE '", ADVICE_(NOTE|WARNING|ERROR)' "$source/store/advice/rules.c")" \
	"$(grep -cE '^\s*"[a-z-]*", (BIGTABLE_[A-Z]*|ROWFS), .*},' "$source/store/advice/rules.c")"

finish
