#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Copies by any tool: out of /.versions every cell comes along, out of the plain tree the newest of
# each column.
#
#   ROWFS_FULL=1   more formats of tar (environment)

. "$(dirname "$0")/lib.sh"
FINAL=data

v=$m/.versions

# files DIRECTORY: every file below it, with its sum, as find and sha256sum see them.
files() {
	(cd "$1" && find . -type f -print0 | sort -z | xargs -0r sha256sum)
}

# same NAME FROM TO: TO has the cells that FROM was loaded with: keys, timestamps, values.
same() {
	check "$1: the same cells" diff "$TMP/expect.$2" <(model tree "$v/$3" f g)
}

# newest NAME FROM TO [MODULO]: TO has the newest cells of FROM, and no others; their timestamps are
# those of FROM, rounded down to so many microseconds (0: any).
newest() {
	local modulo=${4:-1}
	check "$1: the newest cells" diff <(rounded "$modulo" <"$TMP/newest.$2") \
		<(model tree "$v/$3" f g | if [ "$modulo" = 0 ]; then rounded 0; else cat; fi)
}

# rounded MODULO: the timestamps of lines of cells, rounded down.
rounded() {
	perl -pe 'BEGIN { $modulo = shift }
		s/ (\d+)( \d+ \w+)$/" " . ($modulo ? $1 - $1 % $modulo : 0) . $2/e' "$1"
}

# changed RSYNC-ARGUMENT…: the transfers, deletes and failures that rsync reports, shortly.
changed() {
	rsync -i "$@" 2>&1 | grep '^[^.]' | head -n 5
}

# empty TABLE: removes all its rows, as a user can.
empty() {
	find "$m/$1" -mindepth 1 -maxdepth 1 -exec rm -r {} + 2>"$TMP/rm" || cat "$TMP/rm"
}

# anew TABLE: another one of that name. Deletes of a hundred rounds in one table would make each listing slower.
anew() {
	put "$m/$1/.drop" "table $1" && mkdir "$m/$1" "$m/$1/.families/f" "$m/$1/.families/g"
}

# carry NAME VERIFY FROM [MODULO] -- COMMAND…: the command fills the table u from FROM, as VERIFY (same
# or newest) finds; u is another, empty table behind it.
carry() {
	local name=$1 verify=$2 from=$3 modulo=1
	shift 3
	[ "$1" = -- ] || { modulo=$1 && shift; }
	check "$name" "${@:2}"
	"$verify" "$name" "$from" u "$modulo"
	anew u
}

# tar_copy FORMAT FROM TO [OPTION…]: from one directory to the other.
tar_copy() {
	local format=$1 from=$2 to=$3
	shift 3
	tar -C "$from" --format="$format" -cf - . | tar -C "$to" -xf - "$@"
}

PYTHONPATH=$LIB_DIR "$python" -S - "$TMP" <<'PYTHON' >"$TMP/rows" || die "making rows"
import random, sys
from model import *

random.seed(7)
LAST = (1 << 63) - 1
rows = {}
def cell(table, key, family, qualifier, ts, value):
    rows.setdefault((table, key), {}).setdefault(family, {}).setdefault(qualifier, {})[ts] = value

context = [b"", b".", b"..", b"x@", b"@"]
odd = context + [b".x", b"a/b", b"100%", b"\x00", b"\n", b" ", b"\xff\xfe",
       "\u00fc".encode(), b"f", b"g", b"-rf", b"*", b"~", b"\\", b"a b", "\u65e5\u672c".encode(), b"%41"]
for qualifier in odd:
    table = "c" if qualifier in context else "t"
    cell(table, b"odd#row", "f", qualifier, 1700000000123456, b"newest of " + qualifier)
    cell(table, b"odd#row", "f", qualifier, 1699999999000001, b"older of " + qualifier)
for segment in odd + [b".rows", b".families"]:
    cell("t", b"k#" + segment, "f", b"q", 1500000000000001, b"1")
    cell("t", b"k#" + segment + b"#f", "g", b"q", 1500000000000002, b"2")
    if b"." in segment or segment in (b"f", b"%41", b""):
        cell("t", segment or b"-", "g", b"q", 1500000000999999, segment)
for key in (b"#", b"##", b"a", b"a#", b"a#b", b"a#b#", b"a!", b"a#b#c#d#e#f#g#h"):
    cell("t", key, "f", b"q", 1600000000500000, key)
for ts in (0, 1, 999999, 1000000, 1700000000000000, 1700000000000001, 4102444800999999, LAST):
    cell("t", b"times", "g", b"q%d" % ts, ts, b"%d" % ts)
    cell("t", b"times", "f", b"all", ts, b"%d" % ts)
for size in (0, 1, 511, 512, 513, 4096, 65536, 65537, 150000):
    cell("t", b"sizes", "f", b"s%d" % size, 1600000000000000 + size, random.randbytes(size))
    cell("t", b"sizes", "f", b"two", 1600000000000000 + size, random.randbytes(size))
for length in (229, 230, 231, 250, 256, 460, 700):
    cell("l", b"long#" + b"s" * length, "f", b"q" * length, 1600000000000007, b"long")
    cell("l", b"long#" + b"s" * length, "f", b"q" * length, 1600000000000006, b"longer")
    # Chunks that end before an escape or a character, and last ones of odd spelling.
    for end in (b"@", b"/", b"\n@", "\u00fc@".encode(), b"/.", b"..", b"\xff"):
        cell("l", b"odd#%d" % length, "f", b"q" * (length - 1) + end, 1600000000000007, end)
for i in range(25):
    for n in range(random.randint(1, 4)):
        cell("t", b"many#%d#%d" % (i % 7, i), random.choice("fg"), b"q%d" % random.randint(0, 3),
             random.randint(10**15, 2 * 10**15), b"%d %d" % (i, n))
# Within the limits of the oldest formats of tar: short names, times of 11 octal digits.
for i in range(30):
    for n in range(3):
        cell("s", b"row%d#x" % (i % 10), "fg"[i % 2], b"q%d" % i, 10**15 + i * 1234567 + n, b"%d %d" % (i, n))
cell("s", b"row0#x", "f", b"e", 4102444800999999, b"")
cell("s", b"a#", "f", b"x", 0, b"zero")

expect = {}
for (table, key), families in sorted(rows.items()):
    if table not in expect:
        print(json.dumps({"table": table}))
    print(row_line(key, families))
    expect.setdefault(table, []).extend((key, family, qualifier, ts) + describe(value)
        for family, columns in families.items() for qualifier, cells in columns.items()
        for ts, value in cells.items())
for table, cells in expect.items():
    newest = {cell[:3]: cell for cell in sorted(cells)}
    for name, cells in ("expect", cells), ("newest", newest.values()):
        with open("%s/%s.%s" % (sys.argv[1], name, table), "w") as file:
            file.write(lines(cells))
PYTHON

families='{"families":{"f":{},"g":{}}}'
tables=
for table in t s c l u w x; do tables+=",\"$table\":$families"; done
make_store "$TMP/s" "{\"version\":1,\"tables\":{${tables#,}}}"
"$BUILD/rowfs-load" "$TMP/s" "$TMP/rows" >"$TMP/load" 2>&1 || die "loading: $(cat "$TMP/load")"
mount_store "$TMP/s" "$m"

# ---- The tree has all loaded cells -----------------------------------------------------------

for table in t s c l; do
	check "/.versions/$table has every cell, once" diff "$TMP/expect.$table" <(model tree "$v/$table" f g)
	check "/$table has the newest of each column" diff "$TMP/newest.$table" <(model tree "$m/$table" f g)
done

# ---- Out of /.versions -----------------------------------------------------------------------

for to in .versions/u u; do
	check "cp -a to $to" cp -a "$v/t/." "$m/$to"
	same "cp -a to $to" t u
	[ "$to" = u ] || check "cp -a over it" cp -a "$v/t/." "$m/$to"
	same "cp -a over it, to $to" t u
	empty u
	check_eq "rm -r left nothing" "" "$(find "$v/u" -mindepth 1)"
	carry "rsync -a to $to" same t -- rsync -a "$v/t/" "$m/$to/"
	carry "tar, pax, to $to" same t -- tar_copy pax "$v/t" "$m/$to"
	for format in ustar gnu $(rounds "" "v7 oldgnu"); do
		carry "tar, $format, to $to, of short names" same s -- tar_copy "$format" "$v/s" "$m/$to"
	done
done
# Names whose spelling depends on where a byte stands, and names in chunks.
for table in c l; do
	for verify in same newest; do
		from=$v/$table to=$v/u
		[ $verify = same ] || from=$m/$table to=$m/u
		carry "cp -a of odd names ($from)" $verify "$table" -- cp -a "$from/." "$to"
		check "rm -r of odd names leaves nothing ($from)" test -z "$(find "$v/u" -mindepth 1)"
		carry "tar of odd names ($from)" $verify "$table" -- tar_copy pax "$from" "$to"
		check "rsync -a of odd names ($from)" rsync -a "$from/" "$to/"
		$verify "rsync -a of odd names ($from)" "$table" u
		check_eq "rsync again changes nothing ($from)" "" "$(changed -a "$from/" "$to/")"
		empty u
	done
done
carry "tar, gnu" same t -- tar_copy gnu "$v/t" "$v/u"
carry "cp -r" same t -- cp -r "$v/t/." "$v/u"
check "rsync -r, without times" rsync -r "$v/t/" "$v/u/"
same "rsync -r" t u
carry "rsync -a --inplace over it" same t -- rsync -a --inplace "$v/t/" "$v/u/"
carry "tar x -m" same t -- tar_copy gnu "$v/t" "$v/u" -m

# ---- Through a directory elsewhere -----------------------------------------------------------

mkdir "$TMP/out" "$TMP/out2"
check "cp -a to a directory elsewhere" cp -a "$v/t/." "$TMP/out"
check "it has the same files" diff <(files "$v/t") <(files "$TMP/out")
# Other filesystems do not have times beyond the year 2446.
times() {
	(cd "$1" && find . -type f ! -name 9223372036854775807 -printf '%p %T@ %s\n' | sort)
}
check "and times" diff <(times "$v/t") <(times "$TMP/out")
carry "and back" same t -- cp -a "$TMP/out/." "$v/u"
check "rsync -a there" rsync -a "$v/s/" "$TMP/out2/"
carry "and back by tar" same s -- tar_copy ustar "$TMP/out2" "$m/u"

# ---- rsync again, and rsync --delete ---------------------------------------------------------

yields "rsync -a, and rsync again changes no file" "" 'changed -a "$v/t/" "$v/u/"' rsync -a "$v/t/" "$v/u/"
check_eq "also by sums" "" "$(changed -ac "$v/t/" "$v/u/")"
same "rsync again" t u
check "cp of other rows into it" cp -a "$v/s/." "$v/u"
mkdir -p "$m/u/extra/row/f"
echo x >"$m/u/extra/row/f/q"
echo y >"$m/u/odd/row/f/q"
echo z >"$m/u/times/f/all@/77"
rm "$m/u/a/f/q"
check "rsync -a --delete between two /.versions" rsync -a --delete "$v/t/" "$v/u/"
same "rsync --delete" t u
check_eq "and again: nothing" "" "$(changed -a --delete "$v/t/" "$v/u/")"
yields "rsync -a --delete of an empty table empties it" "" 'model tree "$v/u" f g' rsync -a --delete "$v/x/" "$v/u/"

# ---- Out of the plain tree -------------------------------------------------------------------

empty u
carry "cp -a of the plain tree" newest t -- cp -a "$m/t/." "$m/u"
carry "tar, pax, of the plain tree" newest t -- tar_copy pax "$m/t" "$m/u"
carry "tar, gnu, of the plain tree" newest t 1000000 -- tar_copy gnu "$m/t" "$m/u"
for format in v7 oldgnu $(rounds "" ustar); do
	carry "tar, $format, of the plain tree" newest s 1000000 -- tar_copy "$format" "$m/s" "$m/u"
done
low=$(date +%s%6N)
check "cp -r of the plain tree" cp -r "$m/t/." "$m/u"
newest "cp -r: values" t u 0
check "all of the present" test "$(model tree "$v/u" f g | awk '{ print $(NF - 2) }' | sort -n | head -n 1)" -ge "$low"
empty u

check "rsync -a of the plain tree" rsync -a "$m/t/" "$m/u/"
check_eq "again: it changes nothing" "" "$(changed -a "$m/t/" "$m/u/")"
newest "and makes no version" t u
mkdir -p "$m/w/a/b/f"
echo old >"$m/w/a/b/f/q"
rsync -a "$m/w/" "$m/u/"
echo newer >"$m/w/a/b/f/q"
check_eq "after one write it copies one file" ">f" \
	"$(changed -a "$m/w/" "$m/u/" | cut -c -2)"
check_eq "whose history has all of them now" "3 newer" \
	"$(find "$m/u/a/b/f/q@" -type f | wc -l) $(cat "$m/u/a/b/f/q")"
check_eq "with the source's time" "$(stat -c %.6Y "$m/w/a/b/f/q")" "$(stat -c %.6Y "$m/u/a/b/f/q")"
carry "rsync -a --delete of a plain tree" newest s -- rsync -a --delete "$m/s/" "$m/u/"
empty w

# ---- Moving ----------------------------------------------------------------------------------

cp -a "$v/s/." "$v/w"
check "mv of every row of a table in /.versions to another" bash -c "mv '$v/w'/* '$v/x'"
same "mv" s x
check_eq "what was moved is gone" "" "$(model tree "$v/w" f g)"
remount
same "after a remount" s x

finish
