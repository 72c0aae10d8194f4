#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The tree: the directories and files of a store's rows, and the spelling of any bytes as names.
# model.py gives the expected tree. test_keys.sh has the order of listings, with other delimiters.

. "$(dirname "$0")/lib.sh"

# load TABLE KEY…: rows of these keys (as row JSON spells them), each with the column f/q.
load() {
	local table=$1
	shift
	{
		lines "{\"table\":\"$table\"}"
		(($# == 0)) || printf '{"key":"%s","families":{"f":{"q":[{"ts":5,"value":"x"}]}}}\n' "$@"
	} >>"$TMP/rows"
}

# no_segment NAME PATH, no_column NAME PATH: neither to be found nor to be made.
no_segment() {
	none "$1: not found" "$m/$2"
	fail_with "$1: not made" - 'Invalid argument' mkdir "$m/$2"
}
no_column() {
	none "$1: not found" "$m/$2"
	fail_with "$1: not made" - 'Invalid argument' put "$m/$2" x
}

make_store "$TMP/s" '{"version":1,"tables":{
	"t": {"families":{"f":{},"loc":{},"f.b":{},".hid":{},"..":{},"-":{}}},
	"colon": {"delimiter":":","families":{"f":{}}},
	"bytes": {"families":{"f":{},".f":{},"UP":{}}},
	"other": {"families":{"f":{}}},
	"empty": {},
	"_x": {}}}'

load t 'STC#22#173' 'STC#22#175' 'STC#22' 'STC' 'a##b' 'a#' '#' '##' '#lead' 'end#' \
	'loc' 'p#loc' 'p#loc#q' 'p#.hid' 'p#f.b' 'p#..' 'p#-' 'p#fx' 'p#F'
load colon 'a:b' 'a#b' 'c:' ':d'
lines '{"table":"t"}' '{"key":"fam","families":{"loc":{"q":["x"]},".hid":{"q":["x"]},
	"..":{"q":["x"]},"-":{"q":["x"]},"f.b":{"q":["x"]}}}' | sed ':a;N;$!ba;s/,\n\t/,/' >>"$TMP/rows"

# ---- Any bytes -------------------------------------------------------------------------------
# Writes row JSON to the first file and, for each cell, its path and its value to the second. The
# value is the cell's address in hexadecimal.

PYTHONPATH=$LIB_DIR "$python" -S - "$TMP/awkward" "$TMP/expected" <<'PYTHON' || die "no rows"
import random, sys
from model import encode, row_line

rows, tree, seen = open(sys.argv[1], "wb"), open(sys.argv[2], "wb"), set()

def cell(key, column):
    if not key or (key, column) in seen:
        return
    seen.add((key, column))
    value = "%s:%s" % (key.hex(), column.hex())
    rows.write(row_line(key, {"f": {column: {7: value.encode()}}}).encode() + b"\n")
    names = [encode("segment", segment, ("f", ".f", "UP")) for segment in key.split(b"#")]
    path = "/".join(names + ["f", encode("qualifier", column)])
    tree.write(("%s\t%s\n" % (path, value)).encode())

rows.write(b'{"table":"bytes"}\n')
awkward = [b"", b"@", b"a@", b"@a", b"a@b", b"@@", b".", b"..", b"...", b".a", b"a.", b".@", b"..@",
    b"%", b"%%", b"%41", b"a%", b"%2F", b"/", b"a/b", b"//", b" ", b" a ", b"f", b".f", b"UP", b"up", b"ff", b"F",
    b"-", b"*", b"\\", b"\\n", b"'", b'"', b"~", b"\n", b"a\nb", b"\r\n", b"\t", b"\0", b"\0\0", b"a\0", b"\x7F",
    b"\x80", b"\xFF", b"\xFF\xFF", b"\xC3\xA9", b"\xC3", b"\xA9\xC3", b"\xE2\x82\xAC", b"\xE2\x82", b"\xE2\x82z",
    b"\xF0\x9F\x98\x80", b"\xF0\x9F\x98", b"\xC0\x80", b"\xC1\xBF", b"\xE0\x80\xAF", b"\xE0\x9F\xBF",
    b"\xED\x9F\xBF", b"\xED\xA0\x80", b"\xEE\x80\x80", b"\xF4\x8F\xBF\xBF", b"\xF4\x90\x80\x80", b"\xF5\x80",
    b"\xEF\xBB\xBF", b"\xC2\x85", b"\xC2\x80", b"\xDF\xBF", b"\xE0\xA0\x80", b"\xEF\xBF\xBF", b"\xF0\x90\x80\x80",
    b"\xF0\x8F\xBF\xBF", b"\xF0\x90\x80\xC0", b"\xF8\x88\x80\x80", b"\xE2\x80\xA8", b"e\xCC\x81", b"1700000000000000", b"x" * 230,
    b"x" * 227 + b"/", b"\xC3\xA9" * 115, b"%" * 76]
for one in awkward:
    cell(b"row", one)
for byte in (bytes([n]) for n in range(256)):
    for one in byte, b"x" + byte, byte + b"x", b"x" + byte + b"y":
        cell(b"all", one)
        cell(one, b"q")
for first in awkward:
    for key in first, first + b"#k", b"k#" + first, b"k#" + first + b"##":
        cell(key, b"q")
    for second in b"", b".", b"f", b"\xFF", b"\xC3\xA9", b"/":
        cell(first + b"#" + second, first)
random.seed(1)
for _ in range(500):
    cell(*(bytes(random.randrange(random.choice((256, 128, 128))) for _ in range(random.randrange(10)))
           for _ in range(2)))
PYTHON
"$BUILD/rowfs-load" "$TMP/s" "$TMP/awkward" 2>"$TMP/load" || die "loading: $(cat "$TMP/load")"
"$BUILD/rowfs-load" "$TMP/s" "$TMP/rows" 2>"$TMP/load" || die "loading: $(cat "$TMP/load")"
mount_store "$TMP/s" "$m"

cut -f 1 "$TMP/expected" | sort >"$TMP/paths"
(cd "$m/bytes" && find . -type f -printf '%P\n') 2>"$TMP/find" | sort >"$TMP/found"
check_eq "find meets no error on awkward names" "" "$(cat "$TMP/find")"
check "each column once, spelled as it should be" diff "$TMP/paths" "$TMP/found"
check_eq "file names are valid UTF-8 without control bytes" "" "$(tr -d '\n' <"$TMP/found" | perl -ne '
	print "invalid" unless utf8::decode($_) && !/[\x00-\x1F\x7F]/')"
(cd "$m/bytes" && perl -e 'while (<>) {
	my ($path) = split /\t/;
	open my $file, "<", "./$path" or print "$path: $!\n" and next;
	print "$path\t", join("", <$file>), "\n";
}' "$TMP/expected") >"$TMP/values" 2>&1
check "each of those names opens its own cell" diff "$TMP/expected" "$TMP/values"
(cd "$m/.versions/bytes" && find . -type f -printf '%P\n') 2>&1 | sort >"$TMP/found"
sed 's,$,@/7,' "$TMP/paths" | sort >"$TMP/histories"
check "/.versions has each cell once, spelled the same way" diff "$TMP/histories" "$TMP/found"
check_eq "listed and found by globs alike" "$(entries "$m/bytes/row/f" | wc -l)" \
	"$(cd "$m/bytes/row/f" && printf '%s\n' * .[!.]* ..?* | wc -l)"

# ---- Rows and prefixes -----------------------------------------------------------------------

lists "/ lists the tables and nothing else" "$m" t colon bytes other empty _x
lists "a table without rows is empty" "$m/empty"
check_eq "tables come in the order of their names" "_x bytes colon empty other t" "$(entries "$m" | paste -sd ' ')"
lists "a directory is a row and a prefix at once" "$m/t/STC/22" f 173 175
lists "the same one level up" "$m/t/STC" f 22
check_eq "the row's column is there" x "$(cat "$m/t/STC/22/f/q")"
check_eq "the deeper row's as well" x "$(cat "$m/t/STC/22/173/f/q")"
lists "a# is the row a/%, a##b is a/%/b" "$m/t/a/%" f b
lists "a is a prefix only" "$m/t/a" %
lists "an empty first segment" "$m/t/%" % lead
lists "## is three empty segments" "$m/t/%/%/%" f
lists "# is two, and a prefix" "$m/t/%/%" % f
lists "an empty last segment" "$m/t/end" %
none "a prefix that no key has" "$m/t/nowhere"
none "a deeper one" "$m/t/STC/22/174"
none "STC# is not a row" "$m/t/STC/%"
none "a table that is missing" "$m/nowhere"
none "a family that the row does not have" "$m/t/STC/22/loc"
none "a column that the row does not have" "$m/t/STC/22/f/r"
none "below a column" "$m/t/STC/22/f/r/s"
fail_with "a column is no directory" - 'Not a directory' stat "$m/t/STC/22/f/q/x"

lists "another delimiter" "$m/colon" a a#b c %
check_eq "splits keys" x "$(cat "$m/colon/a/b/f/q")"
check_eq "and # does not there" x "$(cat "$m/colon/a#b/f/q")"
lists "an empty segment at the end" "$m/colon/c" %
lists "and at the start" "$m/colon/%" d
no_segment "a segment with the delimiter in it" 't/p#q'
no_segment "and of another table" 'colon/p:q'
no_segment "and escaped" 'colon/p%3Aq'


# ---- Names -----------------------------------------------------------------------------------

lists "segments that look like a family are escaped whole" "$m/t/p" %6C%6F%63 %2E%68%69%64 %66%2E%62 \
	%2E%2E %2D fx F
lists "at any depth" "$m/t/p/%6C%6F%63" f q
check_eq "and lead to the row" x "$(cat "$m/t/p/%6C%6F%63/f/q")"
check "directly below the table as well" test -d "$m/t/%6C%6F%63/f"
lists "families, a leading dot escaped" "$m/t/fam" loc f.b %2Ehid %2E. -
check_eq "a family with a dot is read" x "$(cat "$m/t/fam/%2Ehid/q")"
none "directly below a table a family's name is not found" "$m/t/loc"
fail_with "nor made" - 'Invalid argument' mkdir "$m/t/loc"
none "nor a family that starts with a dot" "$m/t/%2Ehid"
fail_with "nor made" - 'Invalid argument' mkdir "$m/t/%2Ehid"

for name in %61 a%2fb a% a%4 %4 %% %G0 %0g %0a $'a\nb' $'\x7f' $'x\xff' %C3%A9 %E2%82%AC a%%b %25% '% 1' %+1 %2E%61 a%2E a%2Eb \
	%40a %20 %2 %F0%9F%98%80 %C3$'\xa9' $'\xc3'%A9 %E9%E9x%; do
	no_segment "no segment is '$name'" "t/$name"
	no_column "no column is '$name'" "t/STC/f/$name"
	none "no family is '$name'" "$m/t/STC/$name"
done
for name in .rows2 %2E%2E a%40; do
	no_segment "no segment is '$name'" "colon/$name"
done
for name in %2E%2E. .%2E %2E. %2Ea a%40b %40%40; do
	no_column "no column is '$name'" "t/STC/f/$name"
done
no_segment "a family's name escaped in part" t/p/%6Coc
no_segment "a family's name escaped in another table" other/%6C%6F%63
no_column "three dots escaped" t/STC/f/%2E%2E%2E

# The empty one, dots, a slash, a percent sign, @ at the end and inside, bytes that are no UTF-8, a newline, …
for column in % %2E %2E%2E .profile a%2Fb a%25 a%40 a@b %FF%C3 a%0Ab "a b" é€😀 "a#b"; do
	mkdir -p "$m/t/new/f"
	yields "column $column is made, and listed so" "$column" 'ls -A "$m/t/new/f"' put "$m/t/new/f/$column" x
	check "column $column is removed" rm -r "$m/t/new/f"
done

for segment in % %25 a%2F %00 %2Ex é 'a b' %FF a@ %6C%6F%63 %2E%2E '!'; do
	mkdir -p "$m/t/$segment/deep/f"
	check "a row below $segment" put "$m/t/$segment/deep/f/q" x
done
rmdir "$m/t/new"
ls -A "$m/t" >"$TMP/before"
remount
check_eq "what was made is spelled the same after a remount" "$(cat "$TMP/before")" "$(ls -A "$m/t")"

# ---- Entries that are not listed -------------------------------------------------------------

check "/.rowfs is there" test -d "$m/.rowfs"
check "/.versions is there" test -d "$m/.versions"
check "/T/.families is there" test -d "$m/t/.families"
check_eq "no listing shows a control name" "" \
	"$(find "$m/t" "$m/colon" \( -name '.families' -o -name '.delimiter' -o -path '*/f/*@' \))"
check "q@ is there" test -d "$m/t/STC/f/q@"
lists "q@ is not listed" "$m/t/STC/f" q
lists "/.versions lists the tables" "$m/.versions" t colon bytes other empty _x
lists "/.versions lists q@ instead of q" "$m/.versions/t/STC/f" q@
lists "and in it the cells" "$m/.versions/t/STC/f/q@" 5
lists "the rest of the tree is the same there" "$m/.versions/t/STC/22" f 173 175
none "/.versions has no control names" "$m/.versions/.rowfs"
none "nor itself" "$m/.versions/.versions"
none "nor has a table there" "$m/.versions/t/.families"
none "nor a delimiter" "$m/.versions/t/.delimiter"
none "an unknown control name" "$m/t/.nothing"
fail_with "which cannot be made" - 'Invalid argument|not permitted' mkdir "$m/t/.nothing"
none "a control name in a row" "$m/t/STC/.nothing"
none "a family's directory in a row does not have them" "$m/t/STC/f/.families"

finish
