#!/bin/bash
# SPDX-License-Identifier: MIT
#
# /.rowfs/keyvis: its names, what its files say of table, window and metric, that nothing there can be
# changed, tables that come and go, lookups, which count nothing, and the option keyvis.

. "$(dirname "$0")/lib.sh"

K=$m/.rowfs/keyvis
formats=(ansi ansi24 html json svg tsv txt)
metrics=(bytes latency ops reads writes)
files=()
for metric in "${metrics[@]}"; do
	files+=("${formats[@]/#/$metric.}")
done

new_mount '{"version":1,"tables":{"t":{"families":{"f":{}}},"u":{},"Z-1.x":{}}}'
echo '{"key":"a#b","families":{"f":{"q":["1"]}}}' >"$m/t/.rows"

# ---- Names -----------------------------------------------------------------------------------

check "it is listed" grep -qx keyvis <(entries "$m/.rowfs")
lists "a directory for each table" "$K" t u Z-1.x
lists "the files of a table, and directories of windows" "$K/t" 6h 4d 28d "${files[@]}"
for window in 6h 4d 28d; do
	lists "the files of $window" "$K/t/$window" "${files[@]}"
done
check_eq "find sees what they are" "$((3 * 4 * 35)) files, $((1 + 3 * 4)) directories" \
	"$(find "$K" -type f | wc -l) files, $(find "$K" -type d | wc -l) directories"
check_eq "so does stat" "directory directory directory -r--r--r--" \
	"$(stat -c %F "$K" "$K/t" "$K/t/4d" | paste -sd ' ') $(stat -c %A "$K/t/ops.txt")"
for name in v T ops.txt 6h .t t@ Z-1; do
	none "no table $name" "$K/$name"
done
for name in ops ops.png ops.txt.txt .txt ops. OPS.txt 5h 6H 6h/6h 6h/ops 4d/ops.gif .rows t; do
	none "no $name in a table" "$K/t/$name"
done
check_eq "an inode number for each" "$((3 * 39))" "$(stat -c %i "$K/"*/* "$K/"* | sort -u | wc -l)"

# ---- Content ---------------------------------------------------------------------------------

# says EXPECTED FILE: the table, the seconds of a column, and the metric.
says() {
	check_eq "${2#"$K/"}" "$1" "$(jq -r '[.table, .stepSeconds, .metrics[].category.message] | join(" ")' "$2")"
}
for metric in "${metrics[@]}"; do
	says "t 60 $metric" "$K/t/$metric.json"
	says "t 60 $metric" "$K/t/6h/$metric.json"
	says "t 600 $metric" "$K/t/4d/$metric.json"
	says "t 3600 $metric" "$K/t/28d/$metric.json"
done
says "Z-1.x 600 bytes" "$K/Z-1.x/4d/bytes.json"
for format in "${formats[@]}"; do
	check "$format is not empty" grep -q . "$K/t/ops.$format"
done
check "svg is a picture" grep -q '<svg' "$K/t/ops.svg"
check "html is a page" grep -qi '<html' "$K/t/ops.html"
# A stat draws nothing: the size is that of the picture that was read last.
check_eq "a picture that was not read has size 0" "0 0" "$(stat -c %s "$K/u/ops.html" "$K/Z-1.x/4d/reads.svg" | paste -sd ' ')"
cat "$K/u/ops.html" >"$TMP/page"
check_eq "then it has the size of that picture" "$(wc -c <"$TMP/page")" "$(stat -c %s "$K/u/ops.html")"
check_eq "ls -lR draws none" "35 0" "$(ls -lR "$K/u" >/dev/null && find "$K/u/28d" -type f -printf '%s\n' |
	awk '{ sum += $1 } END { print NR, sum }')"
mkdir "$TMP/copy"
check "cp copies them" cp -r "$K/u" "$TMP/copy/"
check_eq "all, and none is empty but a table without a value" "" \
	"$(find "$TMP/copy" -type f -empty ! -name '*.tsv')"

# ---- Changes ---------------------------------------------------------------------------------

no='not permitted'
fail_with "no file is made" - "$no" touch "$K/x"
fail_with "nor in a table" - "$no" touch "$K/t/x"
fail_with "nor in a window" - "$no" touch "$K/t/4d/x"
fail_with "no directory is made" - "$no" mkdir "$K/new"
fail_with "nor a window" - "$no" mkdir "$K/t/5h"
fail_with "no file is removed" - "$no" rm -f "$K/t/ops.txt"
fail_with "no table" - "$no" rmdir "$K/u"
fail_with "no window" - "$no" rmdir "$K/t/6h"
fail_with "nor all" - "$no" rmdir "$K"
fail_with "none is renamed" - "$no" mv "$K/t/ops.txt" "$K/t/reads.txt"
fail_with "none is written" - "$no" bash -c "echo x >'$K/t/ops.txt'"
fail_with "nor linked" - "$no" ln -s x "$K/t/link"
check_eq "nor resized" EPERM "$(call 'os.truncate(q, 5)' "$K/t/ops.txt")"

# ---- Tables that come and go -----------------------------------------------------------------

exec 4<"$K/u/ops.json"
mkdir "$m/new"
says "new 60 ops" "$K/new/ops.json"
check "an open directory" cd "$K/new/4d"
rmdir "$m/new"
cd "$TMP" || exit 1
none "a removed table has none" "$K/new"
none "nor the files of one" "$K/new/ops.json"
mkdir "$m/new"
says "new 3600 reads" "$K/new/28d/reads.json"
rmdir "$m/new"
check "an open file stays" grep -q '"u"' <(cat <&4)
exec 4<&-
check_eq "listed meanwhile, each table that stays is there once" "ok" "$(python '
mount, view, times = a
tables = [f"k{i:03}" + "-" * 40 for i in range(120)]
for table in tables:
    os.mkdir(f"{mount}/{table}")
listing = os.scandir(view)
seen = [next(listing).name]
os.mkdir(f"{mount}/a000"); os.mkdir(f"{mount}/zz")
for table in tables[::3]:
    os.rmdir(f"{mount}/{table}")
seen += [entry.name for entry in listing]
stay = [table for i, table in enumerate(tables) if i % 3]
assert len(seen) == len(set(seen)), "a name came twice"
assert set(stay) <= set(seen), set(stay) - set(seen)
def change():
    for i in range(int(times)):
        os.mkdir(f"{mount}/l{i % 7}"); os.rmdir(f"{mount}/l{i % 7}")
thread = threading.Thread(target=change)
thread.start()
while thread.is_alive():
    seen = os.listdir(view)
    assert len(seen) == len(set(seen)) and set(stay) <= set(seen)
    for name in ("l0", "l3"):
        error(os.stat, f"{view}/{name}/ops.json")
for table in stay + ["a000", "zz"]:
    os.rmdir(f"{mount}/{table}")
print("ok")' "$m" "$K" "$(rounds 30 100)")"
lists "and no other is left" "$K" t u Z-1.x

# ---- Options ---------------------------------------------------------------------------------

remount -o table=u
lists "a mount of one table has that alone" "$K" u
check "and its paths begin there" grep -q '"paths":\["\."' "$K/u/ops.html"
check "and those of the tree" grep -q '"nodePaths":\["\."' "$K/u/ops.html"
none "no other" "$K/t"
says "u 60 ops" "$K/u/ops.json"
remount -o ro
fail_with "a read-only mount takes no changes" - 'Read-only' touch "$K/t/x"
says "t 60 ops" "$K/t/ops.json"
remount -o keyvis=on
says "t 60 ops" "$K/t/ops.json"
remount -o keyvis=off
none "without it there is none" "$K"
check_eq "nor is it listed, as the others are" "0 1" "$(entries "$m/.rowfs" | grep -cx keyvis) $(entries "$m/.rowfs" | grep -cx metrics)"
fail_with "it is made neither" - "$no" mkdir "$K"
fail_with "keyvis is on or off" 2 'keyvis=maybe: its value must be on or off' \
	"$BUILD/rowfs" -o keyvis=maybe "$TMP/none" "$TMP/none.m"

# ---- Lookups ---------------------------------------------------------------------------------

# reads: the rows read in the table look, with all ranges and times.
reads() {
	jq '[.metrics[0].matrix.rows[].cols[]] | add' "$K/look/reads.json"
}

remount
echo '{"tables":{"look":{"families":{"f":{},"n":{"type":"intsum"},"h":{"type":"inthll"}}}}}' >"$m/.rowfs/schema.json"
long=$(printf 'x%.0s' {1..300})
printf '{"key":"%s","families":{"f":{"q":"1"},"n":{"q":1}}}\n' r a#1 a#2 a#3 b#4 "long#$long" >"$TMP/rows"
check "there are rows to look up" cp "$TMP/rows" "$m/look/.rows"
mkdir "$m/look/a/2/h"
echo element >"$m/look/a/2/h/q"
before=$(reads)
for view in '' .newest/1/ .from/a/.reverse/ .first/9/ .last/9/ .has/f:q/ .key/.*/ .sample/1/ .at/now/; do
	for path in a a/2 a/2/f a/2/f/q a/2/f/q@ a/2/f/none a/2/n/q a/2/h/q c "long/${long:0:230}%" "long/${long:0:230}%/${long:230}/f/q"; do
		for _ in 1 2 3; do
			stat -- "$m/look/$view$path" >/dev/null 2>&1
			getfattr -n user.rowfs.kind "$m/look/$view$path" >/dev/null 2>&1
		done
	done
	check_eq "lookups and attributes in ${view:-the table} read no row" "$before" "$(reads)"
done
for _ in 1 2 3 4 5; do
	cat "$m/look/.from/a/a/2/f/q" >/dev/null
done
check_eq "five files opened in a view read five" $((before + 5)) "$(reads)"
cat "$m/look/a/2/f/q" >/dev/null
check_eq "one outside is another one" $((before + 6)) "$(reads)"

finish
