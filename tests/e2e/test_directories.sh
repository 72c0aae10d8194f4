#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Directories: which can be made and removed where, the emptied ones that stay in memory, and
# refusals.

. "$(dirname "$0")/lib.sh"

t=$m/t

# refused NAME COMMAND…: EPERM.
refused() {
	fail_with "$1" - 'Operation not permitted' "${@:2}"
}

new_mount '{"version":1,"tables":{"t":{"families":{"f":{},"g":{}}},"gone":{}}}'

# ---- Tables ----------------------------------------------------------------------------------

check "mkdir makes a table" mkdir "$m/made"
lists "which is empty" "$m/made"
check_eq "its delimiter is #" '#' "$(cat "$m/made/.delimiter")"
lists "and it has no families" "$m/made/.families"
check "rmdir removes a table" rmdir "$m/gone"
none "then it is gone" "$m/gone"
fail_with "twice is no table" - 'File exists' mkdir "$m/made"
for name in -x .x 'a b' a/ 'a#' é a@ "$(printf '%051d' 0)"; do
	[[ $name == */ ]] && continue
	fail_with "no table is called '$name'" - 'Invalid argument|Operation not permitted' \
		mkdir -- "$m/$name"
done
for name in _ 0 A.b-c_d "$(printf '%050d' 0)"; do
	check "a table may be called '$name'" mkdir "$m/$name"
done
rmdir "$m/_" "$m/0" "$m/A.b-c_d" "$m/$(printf '%050d' 0)"
mkdir "$m/made/.families/f"
fail_with "rmdir of a table with a family" - 'not empty' rmdir "$m/made"
mkdir -p "$m/made/r/f"
put "$m/made/r/f/q" x
fail_with "rmdir of a table with a row" - 'not empty' rmdir "$m/made"
fail_with "rm -r of a table that has a family" - 'not empty' rm -r "$m/made"
lists "it removes the rows and leaves the table" "$m" made t
lists "with its families" "$m/made/.families" f
rmdir "$m/made/.families/f"
check "without it the table goes" rmdir "$m/made"
refused "no file next to the tables" put "$m/file" x
mkdir "$m/kept"
remount
lists "tables outlive the mount" "$m" kept t
rmdir "$m/kept"
for value in 1 2; do
	check "a table may be made again" mkdir -p "$m/gone/.families/f" "$m/gone/r/f"
	check_eq "and has nothing of the one before" "" "$(cat "$m/gone/.rows")"
	put "$m/gone/r/f/q" "$value"
	remount
	check_eq "its rows outlive the mount" "$value" "$(cat "$m/gone/r/f/q")"
	rm -r "$m/gone/r"
	rmdir "$m/gone/.families/f" "$m/gone"
done

# ---- Prefixes and families -------------------------------------------------------------------

check "mkdir of a prefix" mkdir "$t/a"
lists "it is listed" "$t" a
lists "and empty" "$t/a"
check "mkdir -p of a row and its family" mkdir -p "$t/b/c/f"
lists "they are listed" "$t" a b
lists "on the way as well" "$t/b" c
lists "the family too" "$t/b/c" f
fail_with "a second mkdir" - 'File exists' mkdir "$t/a"
fail_with "a family made twice" - 'File exists' mkdir "$t/b/c/f"
fail_with "mkdir where nothing is" - 'No such file' mkdir "$t/nowhere/x"
check "mkdir -p of what is there" mkdir -p "$t/b/c/f"
put "$t/b/c/f/q" x
check "they hold a row" test "$(cat "$t/b/c/f/q")" = x
fail_with "rmdir of a prefix with a row" - 'not empty' rmdir "$t/b"
fail_with "of the row" - 'not empty' rmdir "$t/b/c"
fail_with "of its family" - 'not empty' rmdir "$t/b/c/f"
check "mkdir of another family" mkdir "$t/b/c/g"
check "rmdir of it while it is empty" rmdir "$t/b/c/g"
none "it is gone" "$t/b/c/g"
none "a family that the row has no cell of" "$t/b/c/g"
fail_with "a row needs not its parents: rmdir above" - 'not empty' rmdir "$t/b"
check "rmdir of an empty prefix" rmdir "$t/a"
none "it is gone" "$t/a"
fail_with "rmdir of what is not there" - 'No such file' rmdir "$t/a"
fail_with "rmdir of a column" - 'Not a directory' rmdir "$t/b/c/f/q"
fail_with "rm of a directory" - 'Is a directory' rm "$t/b/c"
mkdir -p "$t/a/b/c" "$t/a%00/f" "$t/a%00%00" "$t/ab" "$t/a!"
check_eq "a NUL in a name comes before all other bytes" "a a%00 a%00%00 a! ab b" "$(entries "$t" | paste -sd ' ')"
rm -r "$t/a"
lists "a removed prefix takes what is below it, and no name that begins alike" "$t" a%00 a%00%00 a! ab b
lists "which keep theirs" "$t/a%00" f
rm -r "$t"/a*
mkdir -p "$t/a/empty" "$t/b/c/g" "$t/b/c/f/h@"
remount
lists "empty directories end with the mount" "$t" b
lists "of families as well" "$t/b/c" f
none "of histories as well" "$t/b/c/f/h@"
fail_with "a family directly below a table: not made" - 'Invalid argument' mkdir "$t/f"
none "nor found" "$t/f"

# ---- Which entry goes where ------------------------------------------------------------------

refused "no file in a table" put "$t/file" x
refused "no file in a prefix" put "$t/b/file" x
refused "no file in a row" put "$t/b/c/file" x
refused "no file where a family does not exist" bash -c "mkdir -p '$t/b/c/nofamily' &&
	echo x >'$t/b/c/nofamily/q'"
rmdir "$t/b/c/nofamily" 2>/dev/null
refused "no directory in a family" mkdir "$t/b/c/f/directory"
refused "no directory in a history" mkdir "$t/b/c/f/q@/5"
fail_with "nor of another name" - 'Operation not permitted|Invalid argument' \
	mkdir "$t/b/c/f/q@/directory"
refused "no hard link" ln "$t/b/c/f/q" "$t/b/c/f/link"
refused "no hard link of a cell" ln "$t/b/c/f/q@/$(ls "$t/b/c/f/q@")" "$t/b/c/f/link"
refused "no symbolic link" ln -s q "$t/b/c/f/link"
refused "no symbolic link in a prefix" ln -s b "$t/link"
refused "no FIFO" mkfifo "$t/b/c/f/fifo"
refused "no socket" perl -e 'use Socket; socket my $s, AF_UNIX, SOCK_STREAM, 0 or die;
	chdir $ARGV[0] or die; bind $s, sockaddr_un("socket") or die "$!\n"' "$t/b/c/f"
if [ "$(id -u)" = 0 ]; then
	refused "no device" mknod "$t/b/c/f/null" c 1 3
fi
lists "none of them left anything" "$t/b/c/f" q
lists "nor elsewhere" "$t" b
fail_with "mkdir of a column's name" - 'File exists' mkdir "$t/b/c/f/q"

# ---- Histories -------------------------------------------------------------------------------

check "a history directory can be made" mkdir "$t/b/c/f/new@"
check "it is there" test -d "$t/b/c/f/new@"
lists "but not listed" "$t/b/c/f" q
check "/.versions lists it" grep -qx new@ <(sorted "$m/.versions/t/b/c/f")
check "and removed" rmdir "$t/b/c/f/new@"
none "then it is gone" "$t/b/c/f/new@"
fail_with "one that holds a cell stays" - 'not empty' rmdir "$t/b/c/f/q@"
mkdir -p "$t/h/f"
put "$t/h/f/q" x
rm "$t/h/f/q@"/*
none "a column without a cell is gone" "$t/h/f/q"
check "an emptied history does not keep its family" rmdir "$t/h/f"
check "nor the row" rmdir "$t/h"

# ---- rm -r -----------------------------------------------------------------------------------

# rows: some, at several depths.
rows() {
	local row
	for row in x/1 x/1/2 x/1/2/3 x/4 x/% x/%25/5; do
		mkdir -p "$1/$row/f" "$1/$row/g"
		put "$1/$row/f/p" "$row"
		put "$1/$row/f/q" "$row"
		put "$1/$row/f/q" "$row, again"
		put "$1/$row/g/%" "$row"
	done
}
rows "$t"
check_eq "find meets each column once" 18 "$(find "$t/x" -type f | wc -l)"
check_eq "and each cell in /.versions" 24 "$(find "$m/.versions/t/x" -type f | wc -l)"
check "rm of the last column of a row" rm "$t/x/4/f/p" "$t/x/4/f/q" "$t/x/4/g/%"
lists "leaves its directories" "$t/x/4" f g
lists "empty" "$t/x/4/f"
check "until rmdir" rmdir "$t/x/4/f" "$t/x/4/g" "$t/x/4"
none "then they are gone" "$t/x/4"
check "rm -r of a row with rows below it" rm -r "$t/x/1"
none "all are gone" "$t/x/1"
lists "the others are not" "$t/x" % %25
check "rm -r of a prefix" rm -r "$t/x"
lists "the table is as before" "$t" b
mkdir -p "$m/.versions/t/x/1/2/f/q@" "$m/.versions/t/x/3/g/%@"
put "$m/.versions/t/x/1/2/f/q@/5" five
put "$m/.versions/t/x/1/2/f/q@/6" six
put "$m/.versions/t/x/3/g/%@/0" zero
check_eq "rows are made through /.versions as well" "$(printf 'six\nzero')" \
	"$(cat "$t/x/1/2/f/q" "$t/x/3/g/%")"
check "rm -r through /.versions" rm -r "$m/.versions/t/x"
none "it takes all" "$t/x"
rows "$t"
find "$t/x" -depth -delete
check_eq "find -delete" "" "$(sorted "$t" | grep -x x)"
rows "$t"
(cd "$t/x/1" && rm -rf ./*)
lists "rm -r of what is in the current directory" "$t/x/1"
check "leaves it to rmdir" rmdir "$t/x/1"
rm -r "$t/x"
rows "$t"
find "$t/x" -type f -delete
check_eq "removing the files alone leaves the directories" 20 "$(find "$t/x" | wc -l)"
remount
lists "until the mount ends" "$t" b
check "rm -r of all rows" bash -c "rm -r '$t'/*"
lists "leaves the table empty" "$t"

# ---- Trees in and out ------------------------------------------------------------------------

mkdir "$TMP/in"
for row in a a/b a/b/c z/%; do
	mkdir -p "$TMP/in/$row/f" "$TMP/in/$row/g"
	seq "${#row}" 50 >"$TMP/in/$row/f/numbers"
	head -c 10000 /dev/urandom >"$TMP/in/$row/g/random"
done
tar -C "$TMP/in" -cf "$TMP/tar" .

# ---- statfs ----------------------------------------------------------------------------------

check "df shows the medium below the store" test "$(df --output=size "$m" | tail -n 1)" = \
	"$(df --output=size "$TMP/s" | tail -n 1)"
check_eq "the same in a table" "$(stat -f -c '%b %l' "$m")" "$(stat -f -c '%b %l' "$t")"

# ---- autodir ---------------------------------------------------------------------------------

mkdir "$m/u"
mkdir "$m/u/.families/f"
fail_with "without autodir a new row needs mkdir" - 'No such file' bash -c "echo v >'$t/new/row/f/q'"
remount -o autodir
yields "with autodir it does not: the cell is there" v 'cat "$t/new/row/f/q"' bash -c "echo v >'$t/new/row/f/q'"
check_eq "and its row" "new#row" "$(cat "$t/.keys")"
check "nor does a row as JSON" bash -c "echo '{\"families\":{\"g\":{\"q\":[\"1\"]}}}' >'$t/other/.row'"
check "nor a version" bash -c "mkdir '$m/.versions/t/old/f/q@' && echo x >'$m/.versions/t/old/f/q@/5'"
long=$(printf 'x%.0s' {1..230})
check "nor a long segment" bash -c "echo x >'$t/$long%/rest/f/q'"
check_eq "a name that nobody wrote below is a directory" directory "$(stat -c %F "$t/none/at/all")"
lists "it is empty" "$t/none"
lists "and is not listed" "$t" "$long%" new old other
check "mkdir -p of it succeeds" mkdir -p "$t/none/f"
fail_with "mkdir alone says that it exists" - 'File exists' mkdir "$t/none"
none "a table is not made so" "$m/nowhere/row"
none "nor a family directly in a table" "$t/f"
none "nor what has no spelling" "$t/a%zz"
fail_with "a file in a prefix is a directory" - 'Is a directory' bash -c "echo x >'$t/new/file'"
yields "rm -r removes a row, all of it" 0 'grep -c new "$t/.keys"' rm -r "$t/new"
check "it can be written to again" bash -c "echo again >'$t/new/row/f/q'"
mkdir "$m/u/.families/late" "$m/u/.families/gone"
check_eq "a segment before its family" directory "$(stat -c %F "$m/u/r/soon")"
mkdir "$m/u/.families/soon"
check "a family as soon as it is made" bash -c "echo x >'$m/u/r/soon/q'"
check_eq "is the family" '{"soon":1}' "$(jq -c '.families | map_values(length)' "$m/u/r/.row")"
rm -r "${m:?}/u/r"
for tool in 'cp -r' 'cp -a' 'rsync -a'; do
	check "$tool of a tree" bash -c "$tool '$TMP/in/a' '$TMP/in/z' '$t'"
	check "$tool: the same tree" diff -r "$TMP/in/a" "$t/a"
	rm -r "$t/a" "$t/z"
done
check "tar x of a tree" tar -C "$t" -xf "$TMP/tar"
check "tar: the same tree" diff -r "$TMP/in/a" "$t/a"
check "install -D" install -D "$TMP/in/a/f/numbers" "$t/by/install/f/numbers"
check "the same" cmp "$TMP/in/a/f/numbers" "$t/by/install/f/numbers"

# ---- The order of a listing ------------------------------------------------------------------

# Bytes below the delimiter put the row a!x before the rows below a. A child stands at its first key, in .reverse at
# its last; a directory in memory stands where its row would.
remount
mkdir -p "$m/order/.families/f"
check_eq "listings follow the keys, as .keys does, both ways" "" "$(python '
import random
rng = random.Random(34)
segment = lambda: "".join(rng.choice("!\"$a") for _ in range(rng.randint(1, 4)))
keys = sorted({"#".join(segment() for _ in range(rng.randint(1, 2))) for _ in range(500)})
put(q + "/.rows", "".join(json.dumps({"key": key, "families": {"f": {"q": "v"}}}) + "\n" for key in keys))
first, last = {}, {}
for key in keys:
    first.setdefault(key.split("#")[0], key)
    last[key.split("#")[0]] = key
def compare(what, want, got):
    if want != got: print(what, [pair for pair in zip(want, got) if pair[0] != pair[1]][:3], len(want), len(got))
compare("keys", keys, get(q + "/.keys").splitlines())
compare("stored", sorted(first, key=first.get), os.listdir(q))
compare("reversed", sorted(last, key=last.get, reverse=True), os.listdir(q + "/.reverse"))
for name in {segment() for _ in range(200)}:
    os.makedirs(q + "/" + name, exist_ok=True)
    first.setdefault(name, name)
compare("with memory", sorted(first, key=first.get), os.listdir(q))
for name in rng.sample(sorted(first), 60): # rows of which directories stay in memory
    for key in [key for key in keys if key.split("#")[0] == name]:
        os.remove(q + "/" + key.replace("#", "/") + "/f/q")
        keys.remove(key)
compare("emptied", sorted({name: min([key for key in keys if key.split("#")[0] == name], default=name) for name in first}.items(),
    key=lambda item: item[1]), [(name, min([key for key in keys if key.split("#")[0] == name], default=name)) for name in os.listdir(q)])
' "$m/order")"

finish
