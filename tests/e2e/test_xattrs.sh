#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Extended attributes: the values of user.rowfs.* for tables, prefixes, rows, families and cells;
# that they are read-only, that copies carry them, and that there are no others.

. "$(dirname "$0")/lib.sh"

t=$m/t

# attribute NAME PATH: its value.
attribute() {
	getfattr --absolute-names --only-values -n "user.rowfs.$1" "$2" 2>&1
}

# attributes PATH: NAME=VALUE of all that it has, in one line.
attributes() {
	local name
	for name in family key kind qualifier stored table timestamp; do
		getfattr --absolute-names -n "user.rowfs.$name" "$1" 2>/dev/null
	done | sed -n 's/^user\.rowfs\.//p' | paste -sd ' '
}

new_mount '{"version":1,"tables":{
	"t":{"families":{"f":{},".h":{}}},
	"u":{"families":{"f":{},".h":{}}},
	"colon":{"delimiter":":","families":{"f":{}}},
	"two":{"families":{"f":{}},"keys":{"salt":{"buckets":16,"segments":2}}},
	"hosts":{"families":{"f":{}},"keys":{"salt":{"buckets":16,"segments":1},"segments":["id",
		{"name":"host","codec":"reverse-domain"},{"name":"at","codec":"pad","width":4}]}}}}'

mkdir -p "$t/a/b/f" "$t/a/b/%2Eh" "$m/colon/x/y/f"
echo 1 >"$t/a/b/f/q"
touch -d @1700000000.000001 "$t/a/b/f/q"
echo 2 >"$t/a/b/f/q@/5"
echo 3 >"$t/a/b/%2Eh/%"
echo 4 >"$m/colon/x/y/f/q"

# ---- Values ----------------------------------------------------------------------------------

check_eq "a table" 'kind="table" table="t"' "$(attributes "$t")"
check_eq "a prefix" 'key="a" kind="prefix" stored="a" table="t"' "$(attributes "$t/a")"
check_eq "a row" 'key="a#b" kind="row" stored="a#b" table="t"' "$(attributes "$t/a/b")"
check_eq "another delimiter" 'key="x:y" kind="row" stored="x:y" table="colon"' "$(attributes "$m/colon/x/y")"
check_eq "a family" 'family="f" key="a#b" kind="family" stored="a#b" table="t"' "$(attributes "$t/a/b/f")"
check_eq "a family is not spelled as its directory is" .h "$(attribute family "$t/a/b/%2Eh")"
check_eq "a column's newest cell" \
	'family="f" key="a#b" kind="cell" qualifier="q" stored="a#b" table="t" timestamp="1700000000000001"' \
	"$(attributes "$t/a/b/f/q")"
check_eq "a version" 'family="f" key="a#b" kind="cell" qualifier="q" stored="a#b" table="t" timestamp="5"' \
	"$(attributes "$t/a/b/f/q@/5")"
check_eq "a history" 'family="f" key="a#b" qualifier="q" stored="a#b" table="t"' "$(attributes "$t/a/b/f/q@")"
check_eq "the same below .versions" "$(attributes "$t/a/b/f/q@/5")" \
	"$(attributes "$m/.versions/t/a/b/f/q@/5")"
check_eq "a row that has been made a prefix" 'key="a#c" kind="prefix" stored="a#c" table="t"' \
	"$(mkdir "$t/a/c" && attributes "$t/a/c")"
check_eq "and a row by its first cell" 'key="a#c" kind="row" stored="a#c" table="t"' \
	"$(mkdir "$t/a/c/f" && echo x >"$t/a/c/f/q" && attributes "$t/a/c")"
for path in "$m" "$m/.rowfs" "$m/.rowfs/version" "$t/.families" "$t/.families/f" \
	"$t/.families/f/gc" "$t/.delimiter" "$m/.versions"; do
	check_eq "none of ${path#"$TMP/"}" "" "$(attributes "$path")"
done
check_eq "none is listed" "" "$(getfattr -R --absolute-names -d -m - "$m" 2>&1)"
check_eq "getfattr -n prints one of a whole tree" 5 \
	"$(getfattr -R --absolute-names -n user.rowfs.kind "$t/a/b" 2>/dev/null | grep -c 'rowfs.kind=')"

# 64-bit FNV-1a, its upper half XORed into its lower half, modulo 16.
salt=$(python 'hash = 0xcbf29ce484222325
for byte in q.encode():
    hash = (hash ^ byte) * 0x100000001b3 % 2 ** 64
print("%02x" % ((hash ^ hash >> 32) % 2 ** 32 % 16))' 'a%b')
mkdir -p "$m/hosts/a%25b/maps.google.com/7/f"
echo 1 >"$m/hosts/a%25b/maps.google.com/7/f/q"
stored="$salt#a%b#com.google.maps#0007"
check_eq "with a design: the key that is shown, and the one that is stored" \
	"family=\"f\" key=\"a%25b#maps.google.com#7\" kind=\"cell\" qualifier=\"q\" stored=\"$stored\" table=\"hosts\"" \
	"$(attributes "$m/hosts/a%25b/maps.google.com/7/f/q" | sed 's/ timestamp=.*//')"
mkdir -p "$m/two/a/b/f" "$m/hosts/a%25b/com"
echo 1 >"$m/two/a/b/f/q"
check_eq "of a directory above the segments of the salt no stored key" 'key="a" kind="prefix" table="two"' "$(attributes "$m/two/a")"
check_eq "it is the beginning of those below" "$(cat "$m/two/.raw/.keys")" "$(attribute stored "$m/two/a/b")"
check_eq "also without a row of its own" "$salt#a%b" "$(attribute stored "$m/hosts/a%25b")"
mkdir "$m/two/a/f" && echo 1 >"$m/two/a/f/q"
check_eq "with a row it has that of the row" 1 "$(grep -cxF "$(attribute stored "$m/two/a")" "$m/two/.raw/.keys")"
check_eq "as .keys has it" "$(cat "$m/hosts/.keys")" "$(attribute key "$m/hosts/a%25b/maps.google.com/7")"
check_eq "below .raw both are the stored one" "$stored $stored" \
	"$(attribute key "$m/hosts/.raw/$salt/a%25b/com.google.maps/0007") $(attribute stored "$m/hosts/.raw/$salt/a%25b/com.google.maps/0007")"

# ---- Raw bytes -------------------------------------------------------------------------------

mkdir -p "$t/%01%25%FF/%/f" "$t/long/f"
echo raw >"$t/%01%25%FF/%/f/%00%FF%40"
check_eq "a key is its bytes" "b'\\x01%\\xff#'" \
	"$(python 'print(os.getxattr(a[0], "user.rowfs.key"))' "$t/%01%25%FF/%")"
check_eq "so is a qualifier" "b'\\x00\\xff@'" \
	"$(python 'print(os.getxattr(a[0], "user.rowfs.qualifier"))' "$t/%01%25%FF/%/f/%00%FF%40")"
check_eq "also the empty one" "b''" \
	"$(python 'print(os.getxattr(a[0], "user.rowfs.qualifier"))' "$t/a/b/%2Eh/%")"
long=$(printf 'l%.0s' {1..200})
check_eq "and one of 16 KiB, in chunks" 16384 "$(python '
os.chdir(a[0])
q = b"l" * 16384
chunks = [q[i:i + 230] + b"%" for i in range(0, len(q) - 230, 230)]
for chunk in chunks:
    if not os.path.isdir(chunk): os.mkdir(chunk)
    os.chdir(chunk)
open(q[len(chunks) * 230:], "w").close()
print(len(os.getxattr(q[len(chunks) * 230:], "user.rowfs.qualifier")))' "$t/long/f")"
check_eq "a chunk of a name has none" "[]" \
	"$(python 'print(os.listxattr(a[0]))' "$t/long/f/$long$(printf 'l%.0s' {1..30})%")"

# ---- What a policy does with a cell ----------------------------------------------------------

# fates NAME POLICY EXPECTED: of the newest cell, and of the three versions, newest first.
fates() {
	put "$m/u/.families/f/gc" "$2"
	check_eq "$1" "$3" "$(for path in "$m/u/g/f/q" "$m/u/g/f/q@/"{3000000000000000,2000000000000000,1000000000000000}; do
		attribute gc "$path"
		echo
	done | paste -sd ,)"
}
mkdir -p "$m/u/g/f/q@"
for ((i = 1; i <= 3; i++)); do echo $i >"$m/u/g/f/q@/${i}000000000000000"; done
put "$m/u/g/f/one" 1
fates "without a policy it is kept" never keep,keep,keep,keep
fates "newer cells collect it" maxversions=5 "rank 5,rank 5,rank 5,rank 5"
age() {
	date -u -d "@$(($1 + 20000 * 86400))" +%FT%T.000001Z
}
ages=$(age 3000000000),$(age 3000000000),$(age 2000000000),$(age 1000000000)
fates "its age does" maxage=20000d "$ages"
fates "either: the time comes in any case" "maxversions=5 or maxage=20000d" "$ages"
fates "both: first newer cells, then, with as many, the time" "maxversions=2 and maxage=20000d" \
	"rank 2,rank 2,rank 2,$(age 1000000000)"
fates "both, while one never says so" "maxversions=5 and never" keep,keep,keep,keep
fates "two of them" "(maxversions=5 or maxversions=7) and maxversions=6" "rank 6,rank 6,rank 6,rank 6"
fates "a time after the year 9999 is in microseconds" maxage=100000000d \
	8643000000000000001,8643000000000000001,8642000000000000001,8641000000000000001
check_eq "in a view it is the same" 8642000000000000001 "$(attribute gc "$m/u/.at/2000000000000000/g/f/q")"
put "$m/u/.families/f/gc" maxversions=3
check_eq "also in .raw and .versions" "rank 3 rank 3" \
	"$(attribute gc "$m/u/.raw/g/f/q") $(attribute gc "$m/.versions/u/g/f/q@/1000000000000000")"
check_eq "a file that is no cell yet has none" "ENODATA rank 3" "$(python '
file = open(a[0], "w")
print(error(os.getxattr, a[0], "user.rowfs.gc"), end=" ")
file.write("v"); file.close()
print(os.getxattr(a[0], "user.rowfs.gc").decode())' "$m/u/g/f/new")"
for path in "$m/u/g/f/q@" "$m/u/g/f" "$m/u/g" "$m/u"; do
	fail_with "${path##*/} has none" - 'No such attribute' getfattr --absolute-names -n user.rowfs.gc "$path"
done
rm -r "$m/u/g"
put "$m/u/.families/f/gc" never

# ---- Sizes and errors ------------------------------------------------------------------------

# Python asks without a size; ctypes asks as we want it.
getxattr='
def get(path, name, size):
    n = libc.getxattr(path.encode(), name.encode(), ctypes.create_string_buffer(64), size)
    return n if n >= 0 else errno.errorcode[ctypes.get_errno()]
'
# gets NAME EXPECTED PATH ATTRIBUTE SIZE: with a buffer of that size.
gets() {
	check_eq "$1" "$2" "$(python "$getxattr"'print(get(a[0], a[1], int(a[2])))' "${@:3}")"
}
gets "a size of 0 asks how long a value is" 16 "$t/a/b/f/q" user.rowfs.timestamp 0
gets "a buffer that is just long enough" 16 "$t/a/b/f/q" user.rowfs.timestamp 16
gets "one that is too short" ERANGE "$t/a/b/f/q" user.rowfs.timestamp 15
check_eq "how long the list is" 0 "$(python 'print(libc.listxattr(q.encode(), None, 0))' "$t/a")"
for name in family qualifier timestamp other; do
	gets "a prefix has no $name" ENODATA "$t/a" "user.rowfs.$name" 64
done
gets "a table has no key" ENODATA "$t" user.rowfs.key 64
for name in user.other security.capability; do
	gets "there is no $name" ENODATA "$t/a/b/f/q" "$name" 64
done
for ((i = 0; i < 100; i++)); do echo "$i"; done >"$t/a/b/f/many"
gets "nor after 100 writes, each of which asks for one" ENODATA "$t/a/b/f/many" security.capability 64
check_eq "and the others still answer" cell "$(attribute kind "$t/a/b/f/many")"
gets "ACLs are of another kind" ENOTSUP "$t/a/b/f/q" system.posix_acl_access 64

# ---- Setting ---------------------------------------------------------------------------------

check "user.rowfs.* can be set" setfattr -n user.rowfs.key -v other "$t/a/b/f/q"
check_eq "which does nothing" "a#b" "$(attribute key "$t/a/b/f/q")"
check "also what is none" setfattr -n user.rowfs.none -v x "$t/a"
check "and removed" setfattr -x user.rowfs.timestamp "$t/a/b/f/q"
check_eq "which does nothing" 1700000000000001 "$(attribute timestamp "$t/a/b/f/q")"
fail_with "no other can be set" - 'not supported' setfattr -n user.x -v y "$t/a/b/f/q"
fail_with "or removed" - 'not supported' setfattr -x user.x "$t/a/b/f/q"
fail_with "not of a directory" - 'not supported' setfattr -n trusted.x -v y "$t/a"
check "setting one does not make a version" test "$(find "$t/a/b/f/q@" -type f | wc -l)" = 2

# ---- Copies ----------------------------------------------------------------------------------

check "cp -a keeps what can be kept" cp -a "$m/.versions/t/a" "$m/.versions/u/a"
check_eq "and the copy speaks for itself" 'family="f" key="a#b" kind="cell" qualifier="q" stored="a#b" table="u" timestamp="5"' \
	"$(attributes "$m/u/a/b/f/q@/5")"
rm -r "$m/u/a"
check "rsync -aX" rsync -aX "$m/.versions/t/a" "$m/.versions/u/"
check_eq "rsync -aX again has nothing to do" "" "$(rsync -aXi "$m/.versions/t/a" "$m/.versions/u/")"
mkdir "$TMP/local" "$t/r"
echo 1 >"$TMP/local/one"
echo 2 >"$TMP/local/two"
touch -r "$t" "$TMP/local" # directories have their table's time
check "rsync -aX into a mount" rsync -aX "$TMP/local/" "$t/r/f/"
check_eq "again: has nothing to do" "" "$(rsync -aXi "$TMP/local/" "$t/r/f/")"
check "rsync -aX out of it" rsync -aX "$t/r/f/" "$TMP/out.rsync/"
check_eq "again: neither" "" "$(rsync -aXi "$t/r/f/" "$TMP/out.rsync/")"
check "rsync -aX to another row" rsync -aX "$t/r/f/" "$t/r/r2/f/" --mkpath
check_eq "again: neither" "" "$(rsync -aXi "$t/r/f/" "$t/r/r2/f/")"
rm -r "$m/u/a"
check "tar --xattrs out" tar --xattrs --xattrs-include='*' -C "$m/.versions/t" -cf "$TMP/x.tar" a
check "tar --xattrs in" tar --xattrs --xattrs-include='*' -C "$m/.versions/u" -xf "$TMP/x.tar"
check_eq "gives the cells" "$(cat "$t/a/b/f/q@/5")" "$(cat "$m/u/a/b/f/q@/5")"
check "a file is made by mknod as well, which tar --xattrs does" \
	python 'os.mknod(a[0], 0o100644)' "$t/a/b/f/node"
check_eq "and is empty" "0 cell" "$(stat -c %s "$t/a/b/f/node") $(attribute kind "$t/a/b/f/node")"
check "also one that is no version yet" python 'os.mknod(a[0], 0o100644)' "$t/a/b/f/node@/.draft"
check_eq "not twice" EEXIST "$(call 'os.mknod(q, 0o100644)' "$t/a/b/f/node")"
check "cp -a out of the mount" cp -a "$t/a" "$TMP/out"
check "ls -l asks without harm" ls -lR --color=always "$t/a"

finish
