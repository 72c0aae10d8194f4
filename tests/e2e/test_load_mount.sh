#!/bin/bash
# SPDX-License-Identifier: MIT
#
# rowfs-load into directories of a mount: the cells that arrive, and that its errors name the line
# and the reason as those of a store do.

. "$(dirname "$0")/lib.sh"

load=$BUILD/rowfs-load
cd "$TMP" || exit 1
make_store s '{"tables":{"t":{"families":{"f":{},"g":{}}},"u":{"families":{"f":{}}}}}'
mount_store s m

row() {
	printf '{"key":"%s","families":{"f":{"q":["%s"]}}}' "$1" "$2"
}
T='{"table":"t"}'

# stops NAME LINE REGEX DIRECTORY TEXT…: loading these lines there stops at that one.
stops() {
	local name=$1 line=$2 regex=$3 directory=$4
	shift 4
	lines "$@" >in
	fail_with "$name" 1 "^rowfs-load: in:$line: $regex" "$load" "$directory" in
}

# ---- Cells that arrive -----------------------------------------------------------------------

check "rows of several tables, and a schema" "$load" m <(lines \
	'{"tables":{"v":{"families":{"f":{}}}}}' "$T" "$(row a 1)" '' '{"table":"v"}' "$(row b 2)" \
	'{"key":"c","families":{"f":{"table":["3"],"version":["\u0041"]}}}' "$T" "$(row d#e 4)")
check_eq "the first table" 1 "$(cat m/t/a/f/q)"
check_eq "the table that the schema made" 2 "$(cat m/v/b/f/q)"
check_eq "a column called table" 3 "$(cat m/v/c/f/table)"
check_eq "a column called version" A "$(cat m/v/c/f/version)"
check_eq "the first table again" 4 "$(cat m/t/d/e/f/q)"
yields "into a table they arrive" 5 'cat m/u/a/f/q' "$load" m/u <(lines '{"table":"u"}' "$(row a 5)")
check "into a directory below it, from standard input without a newline" \
	bash -c "printf '%s' '$(row d#x 6)' | '$load' m/t/d"
check_eq "arrived" 6 "$(cat m/t/d/x/f/q)"
yields "by a link they arrive" 7 'cat m/t/l/f/q' bash -c "ln -s m/t link && '$load' link <<<'$(row l 7)'"
check "csv" "$load" --csv t m <(lines ',f,g' ',a,b' 'k,1,' 'l,,2')
check_eq "one family" 1 "$(cat m/t/k/f/a)"
check_eq "the other" 2 "$(cat m/t/l/g/b)"
awk 'BEGIN { print "{\"table\":\"u\"}"
	for (i = 0; i < 20000; i++)
		printf "{\"key\":\"r#%d\",\"families\":{\"f\":{\"q\":[{\"ts\":%d,\"value\":\"%d\"}]}}}\n", i, i, i
	}' >many
yields "20,000 rows: all of them" 20000 'entries m/u/r | wc -l' "$load" m many
check_eq "the last one" 19999 "$(cat m/u/r/19999/f/q)"
sed 's/r#/s#/; 9001s/"ts"/"tz"/' many >late
fail_with "a bad line behind many" 1 \
	'^rowfs-load: late:9001: .*tz.* \(8999 lines applied before it\)$' "$load" m late
check_eq "no line behind it is applied" 8999 "$(entries m/u/s | wc -l)"
awk 'BEGIN { print ",f"; print ",q"
	for (i = 3; i <= 30000; i++) print (i == 9001 ? "m/" : "c#") i ",\"" i (i % 2 ? "\n" : "") "\""
	}' | sed '20000s/"/""/' >late.csv
fail_with "csv: a bad record behind a piece" 1 \
	'^rowfs-load: late.csv:20000:[0-9]+: .*quotes.* \(13331 lines applied' "$load" --csv u m late.csv
check_eq "csv: all before it are applied" 13330 "$(entries m/u/c | wc -l)"
sed '20000d' late.csv >outside.csv
fail_with "csv: a row that is refused" 1 \
	'^rowfs-load: outside.csv:13500: key' "$load" --csv u m/u/c outside.csv

# ---- Where it stops --------------------------------------------------------------------------

stops "a bad line, counted over tables" 7 'families.f.q: a number.*\(3 lines applied before it\)$' m \
	"$T" "$(row s1 1)" '{"table":"u"}' '' "$(row s2 2)" "$(row s3 3)" \
	'{"key":"s4","families":{"f":{"q":[5]}}}' "$(row s5 4)"
check_eq "what is before it is applied" "1 2 3" "$(cat m/t/s1/f/q) $(cat m/u/s2/f/q) $(cat m/u/s3/f/q)"
check_eq "it is not, nor what is behind" "" "$(entries m/t | grep '^s[45]')$(entries m/u | grep '^s[45]')"
stops "a condition" 3 'if.f.q: the row is not as "if" says \(1 line applied' m/t \
	"$(row s6 1)" '' '{"key":"s6","if":{"f":{"q":null}}}'
stops "a row before any table line" 1 'a row, but no line .*table' m "$(row a 1)"
stops "a table that is missing" 2 'table w: the store has none of that name' m "$T" '{"table":"w"}'
stops "another table" 1 'the rows of table u cannot go to table t' m/t '{"table":"u"}'
stops "a key outside" 2 'key: .*\(1 line applied' m/t/d "$(row d 1)" "$(row e 1)"
stops "a schema that does not fit" 2 '.*delimiter' m "$T" '{"tables":{"t":{"delimiter":":"}}}'
printf ',f,no\n,a,b\nk,1,\n' >in
fail_with "csv: an unknown family" 1 '^rowfs-load: in:1:4: family no: table t does not have it; it has f, g ' \
	"$load" --csv t m in
printf ',f\n,a\nd#k,1\n"d#l","x\ny"\ne,1\n' >in
fail_with "csv: a key outside" 1 '^rowfs-load: in:6: key: .*\(2 lines applied' "$load" --csv t m/t/d in
echo column >m/t/a/f/.rows
fail_with "a family's directory" 1 'm/t/a/f: holds no rows' "$load" m/t/a/f /dev/null
check_eq "in which .rows is a column" column "$(cat m/t/a/f/.rows)"
rm m/t/a/f/.rows
fail_with "a directory that is missing" 1 'm/none: there is no such directory' "$load" m/none /dev/null

# ---- Whose error it is -----------------------------------------------------------------------

# The list of errors has those of all writers and of all times.

for ((i = 1; i <= 100; i++)); do row "limit$i" "$i" && echo; done >many
lines '{"key":"z","append":{"nofam":{"a":"b"}}}' 2>/dev/null >m/t/.rows
fail_with "an error of its own, behind an old one of that line" 1 \
	'^rowfs-load: many:[0-9]+: File too large: .*ulimit -f.*, here or up to [0-9]+ lines behind \(at least [0-9]+ lines applied before it\)$' \
	bash -c "ulimit -f 3; '$load' m/t many"
line=$( (ulimit -f 3 && exec "$load" m/t many) 2>&1 | sed -E 's/.*many:([0-9]+): .*least ([0-9]+) .*/\1 \2/')
check_eq "the lines before it are those of the limit" "$(find m/t -maxdepth 1 -name 'limit*' | wc -l)" "${line#* }"
check_eq "and counted" "$((${line#* } + 1))" "${line% *}"
printf '{"tables":%4000s{"t":{}}}\n' '' >large
fail_with "a schema beyond the limit" 1 '^rowfs-load: large:1: the schema: File too large: .*ulimit -f' \
	bash -c "ulimit -f 3; '$load' m large"

# together WRITER: loads one of the writer's own files, in which one line has a family of its own
# name, and prints the message, with the bad line before it.
together() {
	local bad=$((1 + RANDOM % 40)) i
	for ((i = 1; i <= 40; i++)); do
		printf '{"key":"p%d#%d","families":{"%s":{"q":["1"]}}}\n' "$1" "$i" \
			"$( ((i == bad)) && echo "no$1" || echo f)"
	done >"together$1"
	echo "$1 $bad $("$load" m/t "together$1" 2>&1)"
}
# wrong: of the lines "WRITER BAD MESSAGE" of together, those that do not name the bad line, the
# reason and the count.
wrong() {
	while read -r writer bad message; do
		[[ $message == "rowfs-load: together$writer:$bad: family no$writer: table t "*" ($((bad - 1)) line"* ]] ||
			echo "$writer $bad $message"
	done
}
rounds=$(rounds 10 110)
for ((round = 0; round < rounds; round++)); do
	pids=()
	for ((w = 0; w < 6; w++)); do
		together "$w" >"said$w" &
		pids+=($!)
	done
	wait "${pids[@]}"
	cat said[0-5]
done >said
check_eq "of several at once each has its own" "" "$(wrong <said | head -n 3)"

# ---- Schemas in tables -----------------------------------------------------------------------

stops "a schema of another table" 2 \
	'the schema of table newtab cannot go to table t: load it into the root .*\(1 line applied' m/t \
	"$(row n1 1)" '{"version":1,"tables":{"t":{"families":{"newfam":{}}},"newtab":{}}}' "$(row n2 1)"
check_eq "changes nothing" "" "$(ls -d m/newtab m/t/.families/newfam m/t/n2 2>/dev/null)"
stops "also below a table" 1 'the schema of table u cannot go to table t' m/t/d '{"tables":{"u":{}}}'
check "a dump of a table goes into that table" bash -c \
	"'$BUILD/rowfs-dump' m/t/d >dumped && '$load' m/t dumped && '$load' m/t/d dumped"
check "with families" "$load" m/t <(lines '{"tables":{"t":{"families":{"more":{}}}}}')
check "which are there" test -d m/t/.families/more

# hidden FAMILY: the messages of rowfs-load about a new and an old cell in that family of table
# aged.
hidden() {
	"$load" m <<-END 2>&1
		{"table":"aged"}
		{"key":"a","families":{"$1":{"q":["new",{"ts":1600000000000000,"value":"old"}]}}}
	END
}

"$load" m <<<'{"tables":{"aged":{"families":{"all":{},"day":{"gc":"maxage=1d"}}}}}'
check_eq "nothing hidden" "" "$(hidden all)"
hidden day
check_eq "a cell that is too old is not there" 1 "$(find m/aged/a/day/q@ -type f | wc -l)"
check "as the errors say" grep -q ' /: table aged, family day: a cell was written that its policy hides at once$' \
	m/.rowfs/errors
unmount_store m
mount_store s m -o table=t
check "where the mount shows one table, its schema" "$load" m <(lines '{"tables":{"t":{}}}')
stops "and no other" 1 'the schema of table u cannot go to table t' m '{"tables":{"u":{}}}'
unmount_store m

track_mount m
# dying OPTION…: what a load into a mount says whose server is killed before the input comes.
dying() {
	local pid
	"$BUILD/rowfs" "$TMP/s" m
	mkfifo pipe
	"$load" "$@" <pipe 2>said &
	pid=$!
	exec 9>pipe
	within bash -c "ls -l /proc/$pid/fd | grep -q '$TMP/m'" || echo "it does not open the mount"
	kill -KILL "$(serving "$TMP/s m")"
	within bash -c '! cat m/.rowfs/schema.json' 2>/dev/null
	cat >&9
	exec 9>&-
	wait "$pid"
	head -n 1 said
	within fusermount3 -u m
	rm pipe said
}
check_eq "a mount that dies: any line may be the bad one" \
	"rowfs-load: standard input:1: Transport endpoint is not connected, here or up to 2 lines behind (at least 0 lines applied before it)" \
	"$(lines "$(row x 1)" "$(row y 1)" "$(row z 1)" | dying m/t)"
check_eq "of two" "here or up to 1 line behind" "$(lines "$(row x 1)" "$(row y 1)" | dying m/t | grep -o 'here or .* behind')"
check_eq "of one" "rowfs-load: standard input:1: Transport endpoint is not connected (at least 0 lines applied before it)" \
	"$(lines "$(row x 1)" | dying m/t)"
check_eq "the schema of a mount that dies" \
	"rowfs-load: standard input:1:2: $TMP/m/.rowfs/schema.json: Transport endpoint is not connected (0 lines applied before it)" \
	"$(lines ,f ,q a,1 | dying --csv t m)"
check_eq "the same in a store" \
	"rowfs-load: s: table aged, family day: a cell was written that its policy hides at once" \
	"$("$load" s 2>&1 <<-END
		{"table":"aged"}
		{"key":"a","families":{"day":{"q":["new",{"ts":1600000000000000,"value":"old"}]}}}
		{"key":"b","families":{"day":{"q":["new",{"ts":1600000000000000,"value":"old"}]}}}
	END
	)"
finish
