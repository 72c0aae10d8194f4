#!/bin/bash
# SPDX-License-Identifier: MIT
#
# fsck.rowfs on each kind of damage of keys and records: the first run reports it, -y corrects it,
# the second run finds nothing, the removed cells are in the quarantine and load, and all else is
# still there. test_fsck_files.sh does the same for files.

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

make_base
damage_with 0 "nothing is wrong with a good store" true
check_eq "a clean store: the first run" "s: clean; N files, 2 tables, 8 rows, 10 cells, 2 large values" \
	"$(numbers <first)"
check_eq "nothing is corrected" "$(cat first)" "$(cat second)"
check_eq "no quarantine is made" 0 "$(quarantines)"
fail_with "without an option and a terminal it changes nothing and says so" 0 \
	'no terminal to ask at: nothing is changed; -y corrects' "$fsck" s
"$fsck" -n s >/dev/full 2>/dev/null
check_eq "what cannot be printed is an error" 8 $?

# ---- Cells -----------------------------------------------------------------------------------

rows <<END
a key that does not decode | damage put hex:6300000001ff 00 | key 6300000001ff: a key that is no cell.s | all | 1 6300000001ff
a family's name that is none | damage put hex:630000000161000166212100710001$(ts 1) 0000000001 | key 63.*: a key that is no cell.s | all | 1
a record that does not decode | damage put cell:1:a#1:f:q:2 0701 | table t, row a#1, f:q at 2: its record is damaged | t_a1_old t_a2 t_b1 t_b2 u_all | 1
a large value without its id | damage put cell:1:a#2:f:q:1 010000000000000000000186a00000000000000000 | row a#2, f:q at 1: its record is damaged | t_a1 t_a2_g t_b1 t_b2 u_all | 1
END

row "a family that the table does not have | damage put cell:1:a#1:zz:q:5 00000000016869 | table t, family zz: 1 cells of a family that the table does not have | all"
expect_rows '{"table":"t"}' '{"key":"a#1","families":{"zz":{"q":[{"ts":5,"value":"hi"}]}}}'

row "a table that no description names | damage put cell:77:r%:f:q:5 0000000001ff | table lost-77, family f: 1 cells of a table that no description names | all"
expect_rows '{"table":"lost-77"}' '{"key":"r%25","families":{"f":{"q":[{"ts":5,"base64":"/w=="}]}}}'

# The state of the element "a" as docs/format.md has it, and a number.
damage_with 0 "values of aggregate families" eval 'damage put cell:1:a#1:h:q:5 0000000001010041515481
	damage put cell:1:a#1:n:q:5 00000000010000000000000007'
for value in n:ff n:000000000000000700 h: h:01004151; do
	row "an aggregate's value that is none: $value | damage put cell:1:a#1:${value%:*}:q:5 0000000001${value#*:} | row a#1, ${value%:*}:q at 5: its value is none of its family.s type | all | 1"
done

big=$(damage_of base get cell:1:b#1:f:big:3)
row "a large value in a family of integers | damage delete cell:1:b#1:f:big:3; damage put cell:1:b#1:n:big:3 $big | row b#1, n:big at 3: its value is none of its family.s type | t_a1 t_a2 t_b2 u_all | 5"

# ---- Tables and counters ---------------------------------------------------------------------

record=$(damage_of base get table:2)
for value in ff "${record/6e65766572/6e65766678}" "022f${record:4}"; do
	damage_with 4 "a description that is damaged, and TABLES: ${value:0:4}" damage put table:2 "$value"
	check_eq "$case: it is put back" 1 \
		"$(grep -c '^s: table u: .*; corrected: put back from TABLES; what it was is in' second)"
	expect_all_there
	expect_raw 1 6d7400000002
	check_eq "$case: with its policy" "$record" "$(damage get table:2)"
done

row "a description that is gone, and TABLES | damage delete table:1 | table t: its description is missing; corrected: put back from TABLES | all"
check_eq "$case: there is no quarantine" 0 "$(quarantines)"
check_eq "$case: it is as it was" "$(damage_of base get table:1)" "$(damage get table:1)"
fresh && damage delete table:1
mkdir -p refused
fail_with "a description that is gone: a mount refuses the store" 1 'fsck.rowfs' "$BUILD/rowfs" -f s refused
check "a description that is gone: and leaves TABLES alone" cmp base/TABLES s/TABLES

# A table without rows can be gone for good, since an older program removes it without a word to TABLES.
drop_u() {
	for key in $(damage keys | grep ^6300000002); do damage delete "hex:$key"; done
	damage delete table:2
}
damage_with 0 "a table that was removed, and TABLES from before" drop_u
check_eq "$case: it is not put back" "s: clean; N files, 1 table" \
	"$(numbers <second | cut -d , -f 1-2)"
newer=${record/%000000056e65766572/0000000d6d617876657273696f6e733d33} # maxversions=3
damage_with 0 "a description that an older program changed, and TABLES from before" damage put table:2 "$newer"
check_eq "$case: LevelDB's stays" "$newer" "$(damage get table:2)"
check_eq "$case: and TABLES is as that" maxversions=3 "$(grep -ao 'maxversions=3' s/TABLES)"

low="counter of tables: too low: what is there would be written over; corrected: counted anew"
row "a counter that is older than TABLES, so descriptions are | damage put table:2 $newer; damage put next-table 00000002 | table u: its description can be an old one, since newer ones were damaged & $low | all"
check_eq "$case: it is the one of TABLES" "$record" "$(damage get table:2)"

damage_copy() {
	printf x | dd of=s/TABLES bs=1 seek=20 conv=notrunc status=none
}
anew="TABLES: the copy of the tables' descriptions is damaged; corrected: made anew"
row "TABLES that is damaged | damage_copy | $anew"
check "$case: it is as it was" cmp base/TABLES s/TABLES
check_eq "$case: the damaged one is in the quarantine" TABLES "$(ls s.quarantine-*/files)"
row "a directory for TABLES | rm s/TABLES && mkdir s/TABLES && echo precious >s/TABLES/x | $anew"
check "$case: it is as it was" cmp base/TABLES s/TABLES
check_eq "$case: what stood there is in the quarantine" precious "$(quarantine files/TABLES/x)"
fresh && rm s/TABLES
check "a store without TABLES is clean" "$fsck" -n s
"$BUILD/rowfs-dump" s >/dev/null
check "and who opens it to write makes TABLES" cmp base/TABLES s/TABLES

row "a description that does not decode, without TABLES | rm s/TABLES; damage put table:2 ff | table 2: its description is damaged & table lost-2, family f: 3 cells of a table that no description names | t_a1 t_a2 t_b1 t_b2 | 1 6d7400000002"
sed 's/"u"/"lost-2"/' rows/u_all >lost
expect_rows_of lost

gone="table lost-1, family f: 6 cells of a table & table lost-1, family g: 1 cells of a table"
row "a description that is gone, of a table with large values | rm s/TABLES; damage delete table:1 | $gone | u_all"
cat rows/t_a1 rows/t_a2 rows/t_b1 rows/t_b2 | sed 's/"t"/"lost-1"/' >lost
expect_rows_of lost
check_eq "$case: their parts are not taken once more" rows.json "$(ls s.quarantine-*)"
rm -rf back && make_store back "$base_schema"
check "$case: they load under the table's name" "$BUILD/rowfs-load" back <(quarantine rows.json | sed 's/"lost-1"/"t"/')
check_eq "$case: and are as they were" "$("$BUILD/rowfs-dump" base t | tail -n +2)" \
	"$("$BUILD/rowfs-dump" back t | tail -n +2)"

row "a policy that is none | rm s/TABLES; damage put table:2 ${record/6e65766572/6e65766678} | table u: a family.s policy is none, or not canonical; corrected: put right | all | 1"
check_eq "$case: now it is never" never "$("$BUILD/rowfs-dump" s | head -n 1 | jq -r .tables.u.families.f.gc)"
row "a delimiter that is none | rm s/TABLES; damage put table:2 022f${record:4} | table u: its delimiter is none; corrected: put right | all | 1"

row "two tables of one name | damage put table:3 $record | table lost-3: its name is none, or another table.s; corrected: put right & $low | | 1"
check_eq "$case: the first keeps it" "$(cat rows/u_all)" "$("$BUILD/rowfs-dump" s u | tail -n +2)"
check_eq "$case: the second has another" '["lost-3","t","u"]' \
	"$("$BUILD/rowfs-dump" s | head -n 1 | jq -c '.tables | keys')"

row "no counter of tables | damage delete next-table | counter of tables: missing or damaged; corrected: counted anew | all"
check_eq "$case: it is past the last table" 00000003 "$(damage get next-table)"
row "no counter of values | damage delete next-value | counter of values: missing or damaged; corrected: counted anew | all"
check_eq "$case: it is past the last value" 0000000000000003 "$(damage get next-value)"

rows <<END
a counter of values that is too low | damage put next-value 0000000000000001 | counter of values: too low: what is there would be written over; corrected | all
a damaged note of the collector | damage put note 00 | key 6d6e: the note of where the collector was is damaged | all | 1 6d6e
a key of no kind | damage put hex:7a01 02 | key 7a01: a key of no kind that there is | all | 1 7a01
an unknown key among the descriptions | damage put hex:6d7a 02 | key 6d7a: a key of no kind that there is | all | 1 6d7a
END

# ---- Large values ----------------------------------------------------------------------------

# Of a value that goes, its cell and those of its parts that are there are in raw.json.
garbage="row b#1, f:big at 3: its value would be deleted as garbage at the next mount; corrected"
rows <<END
a part of a value is missing | damage delete chunk:1:2 | table t, row b#1, f:big at 3: chunk 2 of its value is missing; corrected: taken | t_a1 t_a2 t_b2 u_all | 4
the last part of a value is missing | damage delete chunk:1:3 | row b#1, f:big at 3: chunk 3 of its value is missing | t_a1 t_a2 t_b2 u_all | 4
all parts of a value are missing | for i in 0 1 2 3; do damage delete chunk:1:\$i; done | row b#1, f:big at 3: chunk 0 of its value is missing | t_a1 t_a2 t_b2 u_all | 1
a part of a value has another length | damage put chunk:1:1 00 | row b#1, f:big at 3: chunk 1 of its value is not as long as it must be | t_a1 t_a2 t_b2 u_all | 5
a part too many | damage put chunk:1:9 0102 | value 1: 1 chunks that no cell has; corrected: taken to the quarantine, raw.json | all | 1 76000000000000000100000009
parts that no cell has | damage put chunk:777:0 01; damage put chunk:777:5 02 | value 777: 2 chunks that no cell has | all | 2 76000000000000030900000000
a part's key that is none | damage put hex:7600 01 | key 7600: a key that is no chunk.s | all | 1 7600
a value that would be deleted as garbage | damage put garbage:1 0100000004 | $garbage | all
a value that a mutation seems to be writing | damage put garbage:1 0000000004 | $garbage | all
a record of garbage that does not decode | damage put garbage:999 05 | key 6700000000000003e7: a record of garbage is damaged | all | 1 6700000000000003e7
END

# A value that went into the quarantine as a row, with more parts than it has.
row "a part too many of a value that goes | rm s/TABLES; damage delete table:1; damage put chunk:1:9 0102 | $gone & value 1: 1 chunks that no cell has; corrected: taken to the quarantine, raw.json"
check_eq "$case: it is kept" "$(printf '\001\002' | base64)" \
	"$(quarantine raw.json | jq -r 'select(.why == "a chunk that no cell has").value')"

row "two cells with one value | damage put cell:1:c:g:copy:9 $big | table t, row c, g:copy at 9: its value is another cell.s, too; corrected: taken | all"
sed -n 's/"b#1"/"c"/; s/"f":{"big"/"g":{"copy"/; s/"ts":3,/"ts":9,/; p' rows/t_b1 >shared
expect_rows_of shared

damage_with 0 "garbage that waits for a mount is not wrong" \
	eval 'damage put garbage:778 0100000002; damage put chunk:778:1 01'
check_eq "$case: but told" "s: 1 value: deleted values whose space a mount reclaims" "$(head -n 1 first)"

# ---- Drops -----------------------------------------------------------------------------------

drop() { # TABLE START END in hexadecimal
	printf '%08x01%04x%s%s' "$1" $((${#2} / 2)) "$2" "$3"
}
row "a drop that was not finished | damage put drop:3 $(drop 1 6123 6124) | table t: a drop of rows was not finished; a mount finishes it; corrected: finished | t_b1 t_b2 u_all"
check_eq "$case: there is no quarantine" 0 "$(quarantines)"
rows <<END
a drop of a table that is gone | damage put drop:3 $(drop 9 6123 6124) | key 780000000000000003: a drop of rows of a table that is gone | all | 1 780000000000000003
a record of a drop that does not decode | damage put drop:3 01 | key 780000000000000003: the record of a drop is damaged | all | 1 780000000000000003
END

# ---- Much at once ----------------------------------------------------------------------------

damage_many() {
	rm s/TABLES
	damage put hex:7a 00
	damage put table:2 ff
	damage delete chunk:1:0
	damage put chunk:500:0 01
	damage put garbage:2 0100000002
	damage delete next-value
}
damage_with 4 "much at once" damage_many
check_eq "$case: all of it is corrected" "s: 7 found, 7 corrected, 0 left" "$(tail -n 1 second | cut -d ';' -f 1)"
expect_there t_a1 t_a2 t_b2

# ---- Questions -------------------------------------------------------------------------------

fresh && damage put hex:7a01 02
ask n
check_eq "at a terminal, answered no: exit code" 4 $status
check_eq "it asked once" 1 "$(grep -c 'Correct it.*\[y/n\]' asked)"
check_eq "and took nothing away" 1 "$(damage keys | grep -c ^7a)"
ask y
check_eq "answered yes: exit code" 1 $status
check_eq "and did it" 0 "$(damage keys | grep -c ^7a)"
ask y
check_eq "the second time there is nothing to ask" "0 0" "$status $(grep -c 'y/n' asked)"

# ---- In use ----------------------------------------------------------------------------------

fresh
mount_store s "$TMP/m"
fail_with "a store that is mounted" 8 \
	"^fsck.rowfs: [^ ]*/s: in use by process $(mount_pid "$TMP/m"); unmount it" "$fsck" -n s
fail_with "also with -y" 8 "in use by process $(mount_pid "$TMP/m")" "$fsck" -y s
unmount_store "$TMP/m"

check_eq "no scratch directory is left" "" "$(find "$TMPDIR_SCRATCH" -mindepth 1)"

finish
