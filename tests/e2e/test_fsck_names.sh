#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Tables under wrong names: the store is made anew of all tables, and no row is lost of those that
# were exchanged or renamed. LevelDB aborts where tables of one level overlap, so no repair may leave
# such a store. tests/unit/test_repair.c has repairs that are interrupted, test_wrong_tables.c tables
# of one size.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/fsck.sh"

# some_rows SEED: 1,600 rows of random keys, with values that do not compress.
some_rows() {
	python3 - "$1" <<'END'
import base64, json, random, sys
source = random.Random(int(sys.argv[1]))
print('{"table":"t"}')
for i in range(1600):
    value = base64.b64encode(source.randbytes(2500)).decode()
    print(json.dumps({'key': 'r%05d' % source.randrange(99999),
                      'families': {'f': {'q': [{'ts': int(sys.argv[1]), 'base64': value}]}}}))
END
}

# rows_of STORE: its rows, as a checksum.
rows_of() {
	"$BUILD/rowfs-dump" "$1" | sha256sum
}

# Tables of one level, one behind the other.
make_store base "$base_schema"
for seed in 1 2 3; do
	some_rows $seed | "$BUILD/rowfs-load" base || die "the rows cannot be loaded"
done
"$BUILD/rowfs-dump" base >/dev/null || die "the store cannot be dumped" # which makes tables of the log
all=$(rows_of base)
mapfile -t tables < <(find base/data -name '*.ldb' -size +2000k -printf '%f\n' | sort)
[ ${#tables[@]} -ge 3 ] || die "there are only ${#tables[@]} large tables"
a=${tables[0]} b=${tables[1]} c=${tables[2]}

# names NAME COMMAND WORDS…: damages data/ by the command; the findings of both runs have these words, and
# then all is well. Mounts and dumps of it end as they should.
names() {
	local name=$1 command=$2
	shift 2
	damage_with 4 "$name" in_data eval "$command"
	expect_found "$@"
	mount_store s "$TMP/m"
	check "$case: it can be mounted, and read" test "$(find "$TMP/m/t" -maxdepth 1 | wc -l)" -gt 1000
	unmount_store "$TMP/m"
}

in_data() {
	(cd s/data && "$@")
}

expect_every_row() {
	check_eq "$case: every row is there" "$all" "$(rows_of s)"
}

# expect_rows_of_repair COMMAND…: the rows are those that a repair leaves of a store so damaged.
expect_rows_of_repair() {
	rm -rf other other.quarantine-*
	cp -a base other
	(cd other/data && "$@") || die "$case: cannot be made"
	"$fsck" -y other >/dev/null
	check_eq "$case: what is there is what there can be" "$(rows_of other)" "$(rows_of s)"
	rm -rf other other.quarantine-*
}

# expect_kept: all of the store is in the quarantine as it was, and nothing else.
expect_kept() {
	check_eq "$case: the quarantine has the store" "store" "$(ls s.quarantine-*)"
}

garbage() {
	printf garbage | dd of="$1" bs=1 seek=20000 conv=notrunc status=none
}

size="it has [0-9]+ bytes and should have [0-9]+"
other="it is another table: $size"
anew="corrected: made anew of all tables and logs"

# expect_lost FILE: -y says between which rows some may be lost.
expect_lost() {
	check "$case: -y says what may be lost" grep -q "rows from .*: cells there may be lost .*data/$1" second
}

# ---- A copy of another table in a table's place ----------------------------------------------------

names "a damaged copy of another" "cp $a $b && garbage $b" "data/$b: it is another table, and damaged: $size"
expect_lost "$b"
expect_kept
expect_rows_of_repair rm "$b"

names "a copy of another, cut short" "cp $a $b && truncate -s 1000000 $b" \
	"data/$b: it is another table, and damaged: it has 1000000 bytes"
expect_kept
expect_rows_of_repair rm "$b"

names "a copy of another" "cp $a $b" "data/$b: $other"
expect_lost "$b"
expect_kept
expect_rows_of_repair rm "$b"

# ---- Exchanged names -----------------------------------------------------------------------------

names "two exchanged names" "mv $a x && mv $b $a && mv x $b" "data/$a: $other" "data/$b: $other"
check_eq "$case: -y says what it did" 2 "$(grep -c "$anew" second)"
expect_kept
expect_every_row

names "a chain of names" "mv $b $c && mv $a $b" "data/$a: it is missing" "data/$b: $other" "data/$c: $other"
expect_lost "$c"
expect_rows_of_repair rm "$c"

names "a name that no table has" "mv $a 009000.ldb" "data/$a: it is missing" "data/MANIFEST-.*: its end is missing"
expect_kept
expect_every_row

names "two exchanged names, one damaged" "mv $a x && mv $b $a && mv x $b && garbage $b" \
	"data/$a: $other" "data/$b: it is another table, and damaged: $size"
expect_lost "$a"
expect_kept
expect_rows_of_repair rm "$a"

check_eq "no scratch directory is left" "" "$(find "$TMPDIR_SCRATCH" -mindepth 1)"

finish
