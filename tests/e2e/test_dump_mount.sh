#!/bin/bash
# SPDX-License-Identifier: MIT
#
# rowfs-dump of directories in a mount: the same bytes as of the store itself.

. "$(dirname "$0")/lib.sh"

dump=$BUILD/rowfs-dump
load=$BUILD/rowfs-load
cd "$TMP" || exit 1

# same NAME WANT ARGUMENT…: a dump by these arguments has the bytes of one by those words, of a copy of the store.
same() {
	local want
	read -ra want <<<"$2"
	"$dump" "${want[@]}" >expected || die "rowfs-dump failed"
	"$dump" "${@:3}" >got 2>err || not_ok "$1" "rowfs-dump failed: $(cat err)"
	check "$1" cmp expected got
}

row() {
	printf '{"key":"%s","families":{"f":{"q":[{"ts":3,"value":"v"},{"ts":1,"base64":"/w=="}],"r":[{"ts":3,"value":"w"}]}}}\n' "$1"
}
long=$(printf '%300s' '' | tr ' ' a)
make_store s '{"tables":{"t":{"families":{"f":{}}},"u":{"delimiter":":","families":{"f":{}}},"empty":{}}}'
{
	echo '{"table":"t"}'
	for key in a 'a!' 'a#b' 'a#b#c' 'a%00#%FF' 'a#f' 'a#f#x' "$long#b" '%C3%A9' '.x#..#y' 'a##b'; do
		row "$key"
	done
	echo '{"table":"u"}'
	for key in a a:b 'a#b' a:b:c; do
		row "$key"
	done
} >lines
"$load" s lines >.check 2>&1 || die "rowfs-load failed: $(cat .check)"
model dump 4 . 9223372036854775807 || die "no model"
make_store r
"$load" r in >.check 2>&1 || die "rowfs-load failed: $(cat .check)"

cp -a s copy

# ---- A mount of all tables -------------------------------------------------------------------

mount_store s m
same "the root" copy m
same "a table, named" "copy t" m t
same "a table's directory" "copy t" m/t
same "one with another delimiter" "copy u" m/u
same "one without families" "copy empty" m/empty
for key in a 'a#b' 'a%00' 'a#f' 'a#f#x' "$long" "$long#b" nothing '.x' 'a#'; do
	same "prefix ${key:0:9}, named" "copy t $key" m t "$key"
done
# Chains of views: the bytes and the status are those of the store, and both name a mistake.
while read -r status chain; do
	"$dump" --view "$chain" copy t >expected 2>/dev/null
	check_eq "--view $chain of the store" "$status" $?
	"$dump" --view "$chain" m t >got 2>err
	check_eq "--view $chain of the mount" "$status $status" "$? $(grep -c . err)"
	check "--view $chain: the same bytes" cmp expected got
done <<END
0 .newest/1
0 .newest/1/a/.first/1
0 .newest/1/a//b
0 .newest/1/a/%/b
0 .newest/1/a/%//b
0 .newest/1/nope/.first/1
0 .newest/1/a/b/nope
0 .newest/1/${long:0:230}%/${long:230}/.first/1
0 .from/${long:0:230}%/${long:230}/.first/1
0 .raw/.first/1
1 .newst/1
1 .newest/1/nope/.frst/1
1 .newest/one
1 .newest/1/a/../a
1 .newest/1/a/.rows
1 .newest/1/.raw
1 .newest/1/f
1 .newest/1/a/f
1 .newest/1/%61
END
same "a row's directory" "copy t a" m/t/a
same "a deeper one" "copy t a#b" m/t/a/b
same "one whose name is a family's" "copy t a#f" m/t/a/%66
same "of a long name" "copy t $long" "m/t/${long:0:230}%/${long:230}"
same "with another delimiter" "copy u a:b" m/u/a/b
same "named, with another delimiter" "copy u a:b" m u a:b
same "a slash behind it" "copy t a" m/t/a/
ln -s m/t/a link
same "a link to it" "copy t a" link
cd m/t/a || exit 1
check "the working directory" bash -c "'$dump' . | cmp - <('$dump' '$TMP/copy' t a)"
cd "$TMP" || exit 1
same "CSV" "--csv --timestamps copy t" --csv --timestamps m t
same "CSV with one header line" "--csv --header copy t" --csv --header m t
same "CSV of a row's directory" "--csv copy t a#b" --csv m/t/a/b

yields "a directory without rows" 2 '"$dump" m/t/made | wc -l' mkdir m/t/made
fail_with "a table that is missing" 1 '^rowfs-dump: table w: there is none' "$dump" m w
fail_with "a directory that is missing" 1 '^rowfs-dump: m/w: No such file' "$dump" m/w
fail_with "a table named below the root" 2 '^rowfs-dump: t: DIRECTORY is in table t' "$dump" m/t/a t
fail_with "another table than the directory's" 2 '^rowfs-dump: u: DIRECTORY is in table t' "$dump" m/t u
fail_with "CSV of all tables" 2 '^rowfs-dump: --csv: name' "$dump" --csv m
fail_with "a family's directory" 1 '^rowfs-dump: .*m/t/a/f: not the directory of a table' "$dump" m/t/a/f
check_eq "of which nothing is printed" "" "$("$dump" m/t/a/f 2>/dev/null)"
fail_with "a column" 1 '^rowfs-dump: m/t/a/f/q: ' "$dump" m/t/a/f/q
fail_with "the tree of versions" 1 'm/.versions/t: not the directory of a table' "$dump" m/.versions/t
fail_with "the control directory" 1 'm/.rowfs: not the directory of a table' "$dump" m/.rowfs
unmount_store m

# ---- A mount of one table --------------------------------------------------------------------

mount_store s one -o table=t
same "the root of a mount of one table" "copy t" one
same "its table, named" "copy t" one t
same "a prefix, named" "copy t a#b" one t 'a#b'
same "a row's directory in it" "copy t a" one/a
fail_with "another table" 2 '^rowfs-dump: u: DIRECTORY is in table t' "$dump" one u
unmount_store one

# ---- Random rows -----------------------------------------------------------------------------

mount_store r rm
check "random rows" bash -c "'$dump' rm | cmp - want"
unmount_store rm

finish
