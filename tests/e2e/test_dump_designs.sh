#!/bin/bash
# SPDX-License-Identifier: MIT
#
# rowfs-dump and rowfs-load on tables with key designs, in stores and mounts: as JSON, as CSV, and from
# one design to another. keys.py has the expected dump of random rows: ROWFS_KEYS of each design
# (environment; default: 300). ROWFS_FULL=1: a larger table goes from design to design.

. "$(dirname "$0")/lib.sh"
FINAL=data

dump=$BUILD/rowfs-dump
load=$BUILD/rowfs-load
cd "$TMP" || exit 1

# ---- Random rows -----------------------------------------------------------------------------

mkdir random mnt
"$python" -S "$LIB_DIR/keys.py" rows 5 "${ROWFS_KEYS:-300}" random || die "no model"
make_store s "$(cat random/schema.json)"
check "random rows of four designs can be loaded" "$load" s random/rows
"$dump" s >got
check "their dump is what the model says" cmp random/want <(tail -n +2 got)
check_eq "its schema has the designs" "$(jq -cS '.tables | map_values(.keys)' random/schema.json)" \
	"$(head -n 1 got | jq -cS '.tables | map_values(.keys)')"
make_store copy
check "it loads into an empty store" "$load" copy got
check "whose dump is the same" bash -c "'$dump' copy | cmp - got"
check "and once more, where there are rows" "$load" copy got
check "a program that reads and writes JSON can be between" bash -c "
	rm -r copy && '$BUILD/mkfs.rowfs' copy && jq -c . got | '$load' copy && '$dump' copy | cmp - got"
mount_store copy mnt
check "a mount's dump is the same" bash -c "'$dump' mnt | cmp - got"
for table in plain times; do
	check ".raw of $table has the stored keys, too" cmp random/$table.stored \
		<("$dump" --view .raw s $table | jq -r 'select(.key).key')
done
check "and .rows are these rows" cmp <(jq -c 'select(.key)' random/want) <(cat mnt/ids/.rows mnt/plain/.rows mnt/times/.rows mnt/web/.rows | jq -c .)
for table in web ids; do
	for from in s mnt; do
		check "$table as CSV from $from" bash -c "'$dump' --csv $from $table >$table.$from.csv"
	done
	check "is the same" cmp $table.s.csv $table.mnt.csv
	"$python" -S -c 'import csv; [print(row[0]) for row in list(csv.reader(open(0, errors="replace", newline="")))[2:]]' <$table.s.csv >keys
	check "the keys are shown ones" cmp keys <("$dump" s $table | jq -r 'select(.key).key')
	check ".raw has the stored keys, with their salts" cmp random/$table.stored \
		<("$dump" --view .raw s $table | jq -r 'select(.key).key')
	rm -rf read
	make_store read "$(cat random/schema.json)"
	check "it loads back" bash -c "'$dump' --csv --timestamps s $table >csv && '$load' --csv $table --timestamps read csv"
	check "as the newest cells" cmp <("$dump" read $table) <("$dump" --view .newest/1 s $table)
done
check "a table loads through a mount" bash -c "
	'$dump' s >all && sed 's/\"web\"/\"other\"/' all >in && '$load' mnt in && '$dump' s web | tail -n +3 >want &&
	'$dump' mnt other | tail -n +3 | cmp - want"
unmount_store mnt

# ---- Prefixes, views and CSV -----------------------------------------------------------------

cat >schema.json <<'JSON'
{"tables": {
  "web": {"families": {"f": {}}, "keys": {"segments":
    ["tenant", {"name": "host", "codec": "reverse-domain"}, {"name": "at", "codec": "reverse-time", "unit": "s"}]}},
  "plain": {"families": {"f": {}}}}}
JSON
make_store t "$(cat schema.json)"
row() {
	printf '{"key":"%s","families":{"f":{"q":[{"ts":1,"value":"%s"}]}}}\n' "$1" "$2"
}
{
	echo '{"table":"web"}'
	row 'acme#maps.google.com#2020-01-01T00:00:00Z' 1
	row 'acme#maps.google.com#2020-01-02T00:00:00Z' 2
	row 'acme#www.google.com#%=old' 3
	row 'b%0A,c#%=' 4
	echo '{"table":"plain"}'
	row 'a%0Ab#%25' 5
} >rows
check "some rows" "$load" t rows
cp -r t mounted
mount_store mounted mnt
# A later time is a lesser key. 9223372035277057807 is INT64_MAX - 1577836800 - 118200 seconds.
keys() {
	"$dump" "$@" | jq -r 'select(.key).key' | xargs
}
day='acme#maps.google.com#2020-01-0'
for from in t mnt; do
	check_eq "a prefix ($from)" "${day}2T00:00:00Z ${day}1T00:00:00Z" "$(keys $from web 'acme#maps.google.com')"
	check_eq "a row by any form of its time ($from)" "${day}1T00:00:00Z" "$(keys $from web "${day}1")"
	check_eq "a segment that has no shown form ($from)" 'acme#www.google.com#%=old' \
		"$(keys $from web 'acme#www.google.com#%=old')"
	check_eq "a range ($from)" "${day}1T00:00:00Z acme#www.google.com#%=old" \
		"$(keys --view ".from/acme%23maps.google.com%232020-01-01/.to/b" $from web)"
	check_eq "a view in a directory in a view ($from)" "${day}2T00:00:00Z" \
		"$(keys --view .newest/1/acme/.prefix/maps.google.com/.first/1 $from web)"
	check_eq "the rows of that directory alone ($from)" "${day}2T00:00:00Z ${day}1T00:00:00Z" \
		"$(keys --view .newest/1/acme/maps.google.com $from web)"
	check_eq "which .first counts ($from)" 'acme#www.google.com#%=old' "$(keys --view .reverse/acme/.first/1 $from web)"
	check_eq "in chunks and stored keys ($from)" "acme#com.google.maps#9223372035276852607" \
		"$(keys --view .raw/acme/com.google.maps/.first/1 $from web)"
	fail_with "a view that is none there ($from)" 1 'rowfs-dump: .*[.]newst' "$dump" --view .newest/1/acme/.newst/1 $from web
	fail_with "a prefix that is none ($from)" 1 '^rowfs-dump: a#b#x: at: under reverse-time it is a time like' \
		"$dump" $from web 'a#b#x'
	check_eq "--csv has shown keys ($from)" ',f
,q
acme#maps.google.com#2020-01-02T00:00:00Z,2
acme#maps.google.com#2020-01-01T00:00:00Z,1
acme#www.google.com#%=old,3
"b%0A,c#%=",4' "$("$dump" --csv $from web)"
	check_eq "of a plain table it has the bytes ($from)" $',f\n,q\n"a\nb#%",5' "$("$dump" --csv $from plain)"
	check_eq ".raw has the stored keys ($from)" "acme#com.google.maps#9223372035276852607
acme#com.google.maps#9223372035276939007
acme#com.google.www#old
b%0A,c#" "$("$dump" --view .raw $from web | jq -r 'select(.key).key')"
	check_eq "and no design ($from)" null "$("$dump" --view .raw/.first/1 $from web | jq -c 'select(.version).tables.web.keys')"
	check_eq "a prefix is one of them ($from)" 'acme#com.google.www#old' \
		"$(keys --view .raw $from web 'acme#com.google.www')"
	check_eq "as CSV, too ($from)" $'"b\n,c#",4' "$("$dump" --csv --view .raw $from web | tail -n 2)"
done
check_eq "a directory in .raw has none, too" $'{"version":1,"keys":null}\n{"key":"acme#com.google.www#old"}' \
	"$("$dump" mnt/web/.raw/acme/com.google.www | jq -c 'if .version then {version, keys: .tables.web.keys} else {key} end |
		select(.key != null or .version)')"

# ---- CSV into tables with designs --------------------------------------------------------------

"$dump" --csv --timestamps t web >web.csv
unmount_store mnt
make_store n "$(cat schema.json)"
check "CSV into a store" "$load" --csv web --timestamps n web.csv
check_eq "is the same rows" "$("$dump" t web)" "$("$dump" n web)"
rm -r n
make_store n "$(cat schema.json)"
mount_store n mnt
check "and into a mount" "$load" --csv web --timestamps mnt web.csv
check_eq "is the same rows" "$("$dump" t web)" "$("$dump" mnt web)"
rm -r mnt/web/*
check "and into a table of it" "$load" --csv web --timestamps mnt/web web.csv
check_eq "is the same rows" "$("$dump" t web)" "$("$dump" mnt web)"
printf 'k,q\n"x%%y#%%",1\n' >in.csv
check "keys of a plain table are bytes" "$load" --csv plain --key k --family f mnt in.csv
check_eq "as they are" 'x%25y#%25' "$(cat mnt/plain/.keys)"
# wrong PLACE WORDS KEY: the key is refused so.
wrong() {
	printf 'q,key\n1,x#y.z\n2,"%s"\n' "$3" >in.csv
	for into in t mnt; do
		fail_with "csv: $2 ($into)" 1 "^rowfs-load: in.csv:$1: $2.* \(1 line applied before it\)$" \
			"$load" --csv web --key key --family f $into in.csv
	done
}
unmount_store mnt
mount_store n mnt
wrong 3:3 'at: under reverse-time it is a time like' 'a#b#x'
wrong 3:3 'at: its canonical form is 2020-01-01T00:00:00Z' 'a#b#2020-01-01'
wrong 3:3 'host: the empty segment is written %=' 'a#'
wrong 3:3 'a % has two upper-case hex digits behind it' 'a%'
wrong 3:3 'a row key has at most 4096 bytes' "$(printf '%4097s' '' | tr ' ' a)"
unmount_store mnt

# ---- Other designs -----------------------------------------------------------------------------

# A table that exists keeps its design: the line of a schema gives it none, and its rows' keys go through it.
"$dump" t web >before
check "a schema with another design" bash -c "
	sed 's/\"unit\":\"s\"/\"unit\":\"ms\"/' <('$dump' t web) >in; ! cmp -s in <('$dump' t web)"
check "goes into a table with rows" "$load" t in
check "which keeps its own" bash -c "'$dump' t web | cmp - before"
check "and its families" "$load" t <(printf '%s\n' '{"tables":{"web":{"families":{"g":{}},"keys":{"segments":[]}}}}' \
	'{"table":"web"}' '{"key":"b%0A,c#%=","families":{"g":{"q":[{"ts":1,"value":"5"}]}}}')
check_eq "a new family has its cell" 5 "$("$dump" t web | jq -r 'select(.families.g).families.g.q[0].value')"
rm -r t
make_store t "$(cat schema.json)"
check "goes into an empty table" "$load" t in
check "which keeps its own" bash -c "'$dump' t web | cmp - before"
mount_store t mnt
for into in mnt mnt/web; do
	check "goes into $into" "$load" $into in
	check "which keeps its own" bash -c "'$dump' mnt web | cmp - before"
done
while read -r word bit; do
	check "a line with another design and protected $word" "$load" mnt \
		<<<"{\"tables\":{\"web\":{\"protected\":$word,\"keys\":{\"segments\":[]}}}}"
	check_eq "takes effect otherwise" "$bit" "$(cat mnt/web/.protected)"
done <<<$'true 1\nfalse 0'
unmount_store mnt
check "--no-schema does the same" "$load" --no-schema t in
check_eq "a new table has that of the line" '["a",{"name":"b","codec":"pad","width":3}]' "$(
	"$BUILD/mkfs.rowfs" made && "$load" made <<<'{"tables":{"n":{"keys":{"segments":["a",{"name":"b","codec":"pad","width":3}]}}}}' &&
		"$dump" made | jq -c .tables.n.keys.segments | head -n 1)"
fail_with "--no-schema with CSV" 2 '^rowfs-load: --no-schema goes with lines of JSON' "$load" --no-schema --csv t t in
fail_with "a table that is missing" 1 '^rowfs-load: in:2: table web: the store has none' bash -c "
	'$BUILD/mkfs.rowfs' none && '$load' --no-schema none in"

# Rows with history, whose design changes. Their lines stay as they are, in another order.
old='{"tables":{"t":{"families":{"f":{}},"keys":{"segments":["device",{"name":"at","codec":"time","unit":"s"}]}}}}'
new='{"tables":{"t":{"families":{"f":{}},"keys":{"segments":[{"name":"device","codec":"reverse"},
	{"name":"at","codec":"reverse-time","unit":"s"}],"salt":{"buckets":16,"segments":1}}}}}'
awk -v count="$(rounds 20000 100000)" 'BEGIN {
	for (i = 0; i < count; i++)
		printf "{\"key\":\"%d#2026-11-%02dT%02d:%02d:%02dZ\",\"families\":{\"f\":{\"q\":[{\"ts\":2,\"value\":\"b%d\"},{\"ts\":1,\"value\":\"a\"}]}}}\n",
			i % 1000, 1 + i % 28, i % 24, i / 60 % 60, i % 60, i
}' >lines
LC_ALL=C sort -u lines >want
sed '1i {"table":"t"}' lines >rows
make_store old "$old"
"$load" old rows || die "no rows"
make_store new "$new"
check "a dump of many rows with history loads into a table of another design" bash -c "
	'$dump' old t | '$load' new"
check "as the same rows" bash -c "'$dump' new t | tail -n +3 | LC_ALL=C sort | cmp - want"
check_eq "the newest comes first" "$(grep '"key":"7#' want | tail -n 1)" "$("$dump" new t 7 | sed -n 3p)"
check "and back through a mount" bash -c "rm -r old && '$BUILD/mkfs.rowfs' --schema <(cat <<<'$old') old"
mount_store old mnt
check "of tables" bash -c "'$dump' new | '$load' mnt && '$dump' mnt | tail -n +3 | LC_ALL=C sort | cmp - want"
unmount_store mnt

check "and into a plain table" bash -c "rm -r old && '$BUILD/mkfs.rowfs' --schema <(cat <<<'{\"tables\":{\"t\":{}}}') old &&
	'$dump' new | '$load' old && '$dump' old | tail -n +3 | cmp - want"
check_eq "which stays plain" null "$("$dump" old | head -n 1 | jq -c .tables.t.keys)"

# The other way, in a mount.
make_store both "$(jq -c --argjson new "$new" '.tables.new = $new.tables.t | .tables.old = .tables.t | del(.tables.t)' <<<"$old")"
mount_store both mnt
check "and by .rows" bash -c "tail -n +2 rows >mnt/old/.rows && cat mnt/old/.rows >mnt/new/.rows &&
	cat mnt/new/.rows | LC_ALL=C sort | cmp - want"

finish
