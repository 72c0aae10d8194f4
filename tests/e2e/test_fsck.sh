#!/bin/bash
# SPDX-License-Identifier: MIT
#
# fsck.rowfs on each kind of damage of keys and records; fsck.sh tells how to read a row.
# test_fsck_files.sh does the same for files.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/fsck.sh"

# ---- Usage -----------------------------------------------------------------------------------

check_eq "--help prints the usage on stdout" "Usage: fsck.rowfs [-n|-y] STORE" \
	"$("$fsck" --help 2>/dev/null | head -n 1)"
fail_with "no store named" 16 '^fsck.rowfs: STORE is missing' "$fsck"
fail_with "two stores named" 16 '^fsck.rowfs: b: ' "$fsck" a b
fail_with "-n and -y" 16 '^fsck.rowfs: -n and -y' "$fsck" -n -y a
fail_with "an unknown option" 16 '^fsck.rowfs: ' "$fsck" -x a
check_eq "no such store, without -n: it says just that" \
	"fsck.rowfs: none: there is no such directory; mkfs.rowfs makes a store" "$("$fsck" none 2>&1)"
mkdir plain && touch plain/file
fail_with "a directory that is no store" 8 '^fsck.rowfs: plain: .*not a rowfs store' "$fsck" -y plain
check_eq "which is left alone" file "$(ls plain)"

# ---- A good store ----------------------------------------------------------------------------

cat >rows <<END
{"table":"t"}
{"key":"a#1","families":{"f":{"q":[{"ts":2,"value":"two"},{"ts":1,"value":"one"}]}}}
{"key":"a#2","families":{"f":{"q":[{"ts":1,"value":"x"}]},"g":{"n":[{"ts":4,"value":"y"}]}}}
{"key":"b#1","families":{"f":{"big":[{"ts":3,"value":"$(head -c 200000 /dev/zero | tr '\0' x)"}]}}}
{"key":"b#2","families":{"f":{"big":[{"ts":3,"base64":"$(head -c 100000 /dev/zero | tr '\0' '\377' | base64 -w 0)"}]}}}
{"key":"b#3","families":{"f":{"":[{"ts":9,"value":""}]}}}
{"table":"u"}
{"key":"x","families":{"f":{"q":[{"ts":1,"value":"1"}]}}}
{"key":"y","families":{"f":{"q":[{"ts":1,"value":"2"}]}}}
{"key":"z","families":{"f":{"q":[{"ts":1,"value":"3"}]}}}
END
make_base base rows
use base
# of LevelDB's, for rows
get() {
	"$BUILD/e2e/damage" "${2:-s}" "get $1"
}
# copied HEX: TABLES has these bytes.
copied() {
	xxd -p s/TABLES | tr -d '\n' | grep -q "$1"
}
u=$(description 2) next_table=6d69 next_value=6d76 note=6d6e
big=$(get "$(cell 1 b#1 f big 3)")
record=$(get "$u")
none=${record/6e65766572/6e65766678}                                       # its policy is none
newer=${record/%000000056e65766572/0000000d6d617876657273696f6e733d33} # maxversions=3
design=00000001016b000000                                              # of one segment, the text k
designed=04${record:2}$design
clash=04${record:2}00000001016b040008 # pad, of 8 digits
later=04${record:2}00000001016b060000 # a codec of a newer program

rows <<END
a good store | true | | clean kept=- all | cmp first second && grep -q '^s: clean; [0-9]* files, 2 tables, 8 rows, 10 cells, 2 large values$' first
END
fail_with "without an option and a terminal it changes nothing and says so" 0 \
	'no terminal to ask at: nothing is changed; -y corrects' "$fsck" s
"$fsck" -n s >/dev/full 2>/dev/null
check_eq "a line that cannot be printed is an error" 8 $?

# ---- Cells -----------------------------------------------------------------------------------

lost="cells of a table that no description names"
type="its value is none of its family.s type"
# The state of the element "a" as docs/format.md has it, and a number, are values of aggregate families.
rows <<END
a key that does not decode | d put 6300000001ff 00 | key 6300000001ff: a key that is no cell.s | all
a family's name that is none | d put 63000000016100016621210071$(printf '0001%016x' $((2 ** 63 - 2))) 0000000001 | key 63.*: a key that is no cell.s | all
a record that does not decode | d put $(cell 1 a#1 f q 2) 0701 | table t, row a#1, f:q at 2: its record is damaged | without="a#1","f","q",2
a large value without its id | d put $(cell 1 a#2 f q 1) 010000000000000000000186a00000000000000000 | row a#2, f:q at 1: its record is damaged | without="a#2","f"
a family that the table does not have | d put $(cell 1 a#1 zz q 5) 00000000016869 | table t, family zz: cells of a family that the table does not have | below | edited '\$a["t","a#1","zz","q",5,"hi"]'
a table that no description names | d put $(cell 77 r% f q 5) 0000000001ff | table lost-77, family f: $lost | below | edited '\$a["lost-77","r%25","f","q",5,"/w=="]'
values of aggregate families | d put $(cell 1 a#1 h q 5) 0000000001010041515481; d put $(cell 1 a#1 n q 5) 00000000010000000000000007 | | clean
a number of one byte | d put $(cell 1 a#1 n q 5) 0000000001ff | row a#1, n:q at 5: $type | all
a number of nine bytes | d put $(cell 1 a#1 n q 5) 0000000001000000000000000700 | row a#1, n:q at 5: $type | all
no state of an element | d put $(cell 1 a#1 h q 5) 0000000001 | row a#1, h:q at 5: $type | all
a state that is cut | d put $(cell 1 a#1 h q 5) 000000000101004151 | row a#1, h:q at 5: $type | all
a large value in a family of integers | d "delete $(cell 1 b#1 f big 3); put $(cell 1 b#1 n big 3) $big" | row b#1, n:big at 3: $type | without="b#1"
END

# ---- Tables and counters ---------------------------------------------------------------------

back="table u: .*; repair: put back from TABLES"
low="counter of tables: too low: what is there would be written over; repair: counted again"
anew="TABLES: the copy of the tables' descriptions is damaged; repair: made anew"
high="the number of its value leaves no room for more; repair: it has its own copy of that"
{
	echo '{"table":"t"}'
	for i in 1 2 3; do
		echo '{"key":"h'$i'","families":{"f":{"big":[{"ts":1,"value":"'"$(head -c 100000 /dev/zero | tr '\0' $i)"'"}]}}}'
	done
} >high
gone="table lost-1, family f: $lost & table lost-1, family g: $lost"
# A table without rows can be gone for good, since an older program removes it without a word to TABLES.
rows <<END
a description that does not decode, and TABLES | d put $u ff | $back | all | [ \$(get $u) = $record ]
a policy that is none, and TABLES | d put $u $none | $back | all | [ \$(get $u) = $record ]
a delimiter that is none, and TABLES | d put $u 022f${record:4} | $back | all | [ \$(get $u) = $record ]
a description that is gone, and TABLES | d delete $(description 1) | table t: its description is missing; repair: put back from TABLES | refused=fsck.rowfs all | [ \$(get \$(description 1)) = \$(get \$(description 1) base) ]
a table that was removed, and TABLES from before | for key in \$(d keys); do case \$key in 6300000002*) d delete \$key ;; esac; done; d delete $u | | clean without=^..u" | grep -q 's: clean; [0-9]* files, 1 table,' second
a description that an older program changed, and TABLES | d put $u $newer | | clean all | [ \$(get $u) = $newer ] && grep -qa 'maxversions=3' s/TABLES
a description with a key design | d put $u $designed | | clean all | [ \$(get $u) = $designed ] && copied $designed
a delimiter that is none, and a key design | rm TABLES; d put $u 042f${designed:4} | table u: its delimiter is none; repair: put right | all | [ \$(get $u) = $designed ]
a key design that makes the delimiter | d put $u 0437${clash:4} | $back | all | [ \$(get $u) = $record ]
a key design that is cut off | d put $u ${designed%00} | $back | all | [ \$(get $u) = $record ]
a counter that is older than TABLES, so descriptions are | d "put $u $newer; put $next_table 00000002" | table u: its description can be an old one, since newer ones were damaged & $low | all | [ \$(get $u) = $record ]
TABLES that is damaged | d write TABLES 20 78 | $anew | all | cmp base/TABLES s/TABLES
a directory for TABLES | rm TABLES && mkdir TABLES && echo precious >TABLES/x | $anew | all | cmp base/TABLES s/TABLES && grep -q precious s.quarantine-*/store/TABLES/x
no TABLES, which is clean | rm TABLES | | clean all | cmp base/TABLES s/TABLES
a description that does not decode, without TABLES | rm TABLES; d put $u ff | table 2: its description is damaged & table lost-2, family f: $lost | below | edited 's/^..u/["lost-2/'
no description of a table with large values | rm TABLES; d delete $(description 1) | $gone | below | edited 's/^..t/["lost-1/'
a policy that is none | rm TABLES; d put $u $none | table u: a family.s policy is none, or not canonical; repair: put right | all | "$BUILD/rowfs-dump" s | head -n 1 | jq -e '.tables.u.families.f.gc == "never"'
a delimiter that is none | rm TABLES; d put $u 022f${record:4} | table u: its delimiter is none; repair: put right | all
two tables of one name | d put $(description 3) $record | table lost-3: its name is none, or another table.s; repair: put right & $low | all | "$BUILD/rowfs-dump" s | head -n 1 | jq -e '.tables | keys == ["lost-3", "t", "u"]'
no counter of tables | d delete $next_table | counter of tables: missing or damaged; repair: counted again | all | [ \$(get $next_table) = 00000003 ]
no counter of values | d delete $next_value | counter of values: missing or damaged; repair: counted again | all | [ \$(get $next_value) = 0000000000000003 ]
a counter of values that is too low | d put $next_value 0000000000000001 | counter of values: too low: what is there would be written over | all
a counter of tables that leaves no room | d put $next_table ffffffff | counter of tables: too high: it leaves no room for more; repair: counted again | refused=fsck.rowfs all | [ \$(get $next_table) = 00000003 ]
a counter of values that leaves no room | d put $next_value ffffffffffffff00 | counter of values: too high: it leaves no room for more; repair: counted again | refused=fsck.rowfs all
the highest counter of tables | d put $next_table 7fffffff | counter of tables: too high: it leaves no room for more; repair: counted again | all | [ \$(get $next_table) = 00000003 ]
the highest counter of values | d put $next_value 7fffffffffffffff | counter of values: too high: it leaves no room for more; repair: counted again | all | [ \$(get $next_value) = 0000000000000003 ]
values from the highest counter on | d put $next_value 7fffffffffffffff; "$BUILD/rowfs-load" . ../high 2>/dev/null | counter of values: too high & row h1, f:big at 1: $high & row h2, f:big at 1: $high & row h3, f:big at 1: $high | below | diff <({ cat whole; cells_of <high; } | sort) <(cells s)
a counter of tables that leaves no room, without TABLES | rm TABLES; d put $next_table ffffffff | counter of tables: too high | refused=fsck.rowfs all
a counter of tables that is too low, without TABLES | rm TABLES; d put $next_table 00000002 | counter of tables: too low | refused=fsck.rowfs all
a table with the highest number | d "put $(description 2147483647) ${record:0:20}017a${record:24}; put $(cell 2147483647 r f q 5) 00000000016869" | table z: its number leaves no room for more tables; repair: it has another number | below | edited '\$a["z","r","f","q",5,"hi"]'
a table whose number leaves no room | d "put $(description 4294967295) ${record:0:20}017a${record:24}; put $(cell 4294967295 r f q 5) 00000000016869" | table z: its number leaves no room for more tables; repair: it has another number | refused=fsck.rowfs below | edited '\$a["z","r","f","q",5,"hi"]'
a damaged note of the collector | d put $note 00 | key 6d6e: the note of where the collector was is damaged | all
a key of no kind | d put 7a01 02 | key 7a01: a key of an unknown kind | all
an unknown key among the descriptions | d put 6d7a 02 | key 6d7a: a key of an unknown kind | all
END

# Of a newer program nothing is repaired.
while IFS='|' read -r part described why; do
	fresh
	d "put $u $described; put 7a01 02"
	fail_with "$part that is not known is no damage" 8 "^fsck.rowfs: s: $why; use a newer rowfs$" "$fsck" -y s
	fail_with "and nor can it be read" 1 "^rowfs-dump: .*/s/data: $why; use a newer rowfs$" "$BUILD/rowfs-dump" s
	check_eq "it is left alone, as is all else" "$described 1" "$(get "$u") $(d keys | grep -c ^7a)"
	check "and no quarantine is made" [ ! -e s.quarantine-* ]
done <<END
a codec|$later|table u: its key design has a codec that this program does not know
a version of a description|06${record:2}|table 2: a newer program described it
END

tables=$(printf '"t%d":{},' {1..1000})
make_store many "{\"version\":1,\"tables\":{${tables%,}}}"
"$BUILD/e2e/damage" many "put $(description 2000) $record; put $next_table 000007d1" || die "no more tables"
for option in -n -y; do
	fail_with "more tables than a store can have: fsck.rowfs $option says so" 8 \
		'^fsck.rowfs: many: it has more than 1000 tables, which no store can have$' "$fsck" $option many
done
fail_with "and it cannot be opened" 1 'many/data: .*fsck\.rowfs' "$BUILD/rowfs-dump" many

fresh
rm s/TABLES
cells s >/dev/null
check "a program that opens a store without TABLES to write makes it" cmp base/TABLES s/TABLES

# ---- Large values ----------------------------------------------------------------------------

deleted="row b#1, f:big at 3: its value would be deleted as garbage at the next mount"
rows <<END
a part of a value is missing | d delete $(extent 1 2) | table t, row b#1, f:big at 3: chunk 2 of its value is missing; repair: taken | without="b#1"
the last part of a value is missing | d delete $(extent 1 3) | row b#1, f:big at 3: chunk 3 of its value is missing | without="b#1"
all parts of a value are missing | for i in 0 1 2 3; do d delete \$(extent 1 \$i); done | row b#1, f:big at 3: chunk 0 of its value is missing | without="b#1"
a part of a value has another length | d put $(extent 1 1) 00 | row b#1, f:big at 3: chunk 1 of its value is not as long as it must be | without="b#1"
a part too many | d put $(extent 1 9) 0102 | value 1: it has chunks that no cell has; repair: taken out | all
parts that no cell has | d "put $(extent 777 0) 01; put $(extent 777 5) 02" | value 777: it has chunks that no cell has | all
a part's key that is none | d put 7600 01 | key 7600: a key that is no chunk.s | all
a value that would be deleted as garbage | d put $(garbage 1) 0100000004 | $deleted | all
a value that a mutation seems to be writing | d put $(garbage 1) 0000000004 | $deleted | all
a record of garbage that does not decode | d put $(garbage 999) 05 | key $(garbage 999): a record of garbage is damaged | all
a part too many of a value that goes | rm TABLES; d "delete $(description 1); put $(extent 1 9) 0102" | $gone & value 1: it has chunks that no cell has; repair: taken out | below | edited 's/^..t/["lost-1/'
two cells with one value | d put $(cell 1 c g copy 9) $big | table t, row c, g:copy at 9: its value is another cell.s, too; repair: it has its own copy | below | edited '/b#1/{p; s/b#1","f","big",3/c","g","copy",9/}'
garbage that waits for a mount | d "put $(garbage 778) 0100000002; put $(extent 778 1) 01" | | clean all | grep -qxF "s: 1 value: deleted values whose space a mount reclaims" first
a drop that was not finished | d put $(drop 3) 0000000101000261236124 | | clean kept=- without="a# | [ "\$(head -n 1 first)" = "s: table t: a drop of rows was not finished; a mount finishes it" ]
a drop of a table that is gone | d put $(drop 3) 0000000901000261236124 | key $(drop 3): a drop of rows of a table that is gone | all
a record of a drop that does not decode | d put $(drop 3) 01 | key $(drop 3): the record of a drop is damaged | all
much at once | rm TABLES; d "put 7a 00; put $u ff; delete $(extent 1 0); put $(extent 500 0) 01; put $(garbage 2) 0100000002; delete $next_value" | key 7a & table 2 & table lost-2 & b#1, f:big & value 500 & b#2, f:big & counter of values | below | edited '/b#1/d; s/^..u/["lost-2/'
END

# A table without a key design, as fsck.rowfs(8) puts it back.
fresh
rm s/TABLES
d delete "$(description 1)"
"$fsck" -y s >/dev/null 2>&1
"$BUILD/rowfs-dump" s lost-1 | sed 's/"lost-1"/"t"/g' >rows.json
check_eq "it is as unprotected as others" "" "$(head -n 1 rows.json | grep -o protected)"
check "rows of a lost table go into the table that it was" "$BUILD/rowfs-load" s rows.json
check "as they were" cmp <("$BUILD/rowfs-dump" base t | grep key) <("$BUILD/rowfs-dump" s t | grep key)

# ---- Key designs -----------------------------------------------------------------------------
# c0 is the salt of a, in 256 buckets; c1 is not.

base_schema='{"version":1,"tables":{"d":{"keys":{"segments":[{"name":"host","codec":"reverse-domain"},
	{"name":"n","codec":"pad","width":4}]},"families":{"f":{}}},
	"s":{"keys":{"segments":[{"name":"id","codec":"reverse"}],"salt":{"buckets":256}},"families":{"f":{}}}}}'
cat >designed <<END
{"table":"d"}
{"key":"maps.google.com#7","families":{"f":{"q":[{"ts":1,"value":"x"}]}}}
{"key":"%=#%=x","families":{"f":{"q":[{"ts":1,"value":"y"}]}}}
{"table":"s"}
{"key":"4711","families":{"f":{"q":[{"ts":1,"value":"z"}]}}}
{"key":"%25#x","families":{"f":{"q":[{"ts":1,"value":"z"}]}}}
END
make_base designs designed
use designs
gone="family zz: cells of a family that the table does not have"
rows <<END
a good store with key designs | true | | clean kept=- all | [[ \$(get $(cell 1 com.google.maps#0007 f q 1)) == 00*78 && \$(get $(cell 1 "#x" f q 1)) == 00*79 ]]
a record that does not decode, of a coded key | d put $(cell 1 com.google.maps#0007 f q 1) 0701 | table d, row maps.google.com#7, f:q at 1: its record is damaged | without=maps
a family that the table does not have, of coded keys | d "put $(cell 1 com.google.maps#0008 zz q 5) 00000000016869; put $(cell 1 com#8 zz q 5) 00000000016a" | table d, family zz: cells of a family | below | edited '\$a["d","com#%=8","zz","q",5,"j"]\n["d","maps.google.com#8","zz","q",5,"hi"]'
the same of a salted key | d put $(cell 2 c0#a zz q 5) 00000000016869 | table s, $gone | below | edited '\$a["s","a","zz","q",5,"hi"]'
the same of a key with another salt | d put $(cell 2 c1#ab zz q 5) 00000000016869 | table s, $gone | all | [ \$(get $(cell 2 c1#ab zz q 5)) = 00000000016869 ]
a record that does not decode, of a salted key | d put $(cell 2 c0#a f q 5) 0701 | table s, row a, f:q at 5: its record is damaged | all
no description of a table with a design | rm TABLES; d delete $(description 1) | table lost-1, family f: $lost | below | edited '/^..d/{s/d/lost-1/; s/maps.google.com#7/com.google.maps#0007/; s/%=//g}'
END

# Rows without a description have stored keys. fsck.rowfs(8) tells how they come back.
fresh
rm s/TABLES
d "delete $(description 1); delete $(description 2)"
"$fsck" -y s >/dev/null 2>&1
"$BUILD/rowfs-dump" s | sed 's/"lost-1"/"d"/; s/"lost-2"/"s"/' >lost
check_eq "they have their salt" 2 "$(jq -r '.key // empty' lost | grep -cE '^[0-9a-f]{2}#(1174|%25#x)$')"
for table in d s; do
	salt=$([ $table = d ] || echo '.[3:] | ')
	rm -rf new
	"$BUILD/mkfs.rowfs" --schema <(cat <<<"$base_schema") new
	check "rows of lost table $table with stored keys go into a table with its design" bash -c "
		jq -c 'if .key then .key |= ($salt\"%=\" + gsub(\"#\"; \"#%=\")) else . end' lost |
			awk '/^.\"table\"/ { on = /\"$table\"/ } on' | '$BUILD/rowfs-load' new"
	check "as they were" cmp <("$BUILD/rowfs-dump" "$base" $table) <("$BUILD/rowfs-dump" new $table)
done

# ---- Questions -------------------------------------------------------------------------------

fresh
d put 7a01 02
ask n
check_eq "at a terminal, answered no: exit code" 4 $status
check_eq "it asked once" 1 "$(grep -c 'Repair it.*\[y/n\]' asked)"
check_eq "and took nothing away" 1 "$(d keys | grep -c ^7a)"
ask y
check_eq "answered yes: exit code" 1 $status
check_eq "and did it" 0 "$(d keys | grep -c ^7a)"
ask y
check_eq "the second time there is nothing to ask" "0 0" "$status $(grep -c 'y/n' asked)"

# ---- In use ----------------------------------------------------------------------------------

fresh
mount_store s "$TMP/m"
fail_with "a store that is mounted" 8 \
	"^fsck.rowfs: [^ ]*/s: in use by process $(mount_pid "$TMP/m"), mounted at $TMP/m; fusermount3 -u" "$fsck" -n s
fail_with "also with -y" 8 "in use by process $(mount_pid "$TMP/m")" "$fsck" -y s
unmount_store "$TMP/m"

check_eq "no scratch directory is left" "" "$(find "$TMPDIR_SCRATCH" -mindepth 1)"

# shellcheck disable=SC2154 # fsck.sh sets it
check "the converter did not end" kill -0 "$converter"
finish
