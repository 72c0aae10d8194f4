#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Damaged, exchanged, forged and missing files of a store: a mount refuses it or gives EIO, and says which file and
# that fsck.rowfs helps; fsck.rowfs finds it, saves the readable cells, and the second time finds nothing. fsck.sh
# tells how to read a row; tests/unit/test_repair.c damages every file in many places.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/fsck.sh"

"$python" -S - <<'END' || die "no rows"
import base64, json, random

def write(name, rows):
    """Rows of a table, a key, a qualifier and a value. A line names each table before its rows, which are a batch."""
    last = None
    with open(name, 'w') as file:
        for table, key, qualifier, value in rows:
            if table != last:
                print(json.dumps({'table': table}), file=file)
            last, value = table, base64.b64encode(value).decode()
            print(json.dumps({'key': key, 'families': {'f': {qualifier: [{'ts': 1, 'base64': value}]}}}), file=file)

def some(rows, qualifier='q', size=300):
    return [('t', f'r{row:03}', qualifier, source.randbytes(size)) for row in rows]

for part in 'ab':
    write('files.' + part, [('tu'[group % 2], f'{part}{group}{i:02}', 'q', b'%099d\xff' % i)
                            for group in range(10, 30) for i in range(100)])
for part in 'abce':
    source = random.Random(part == 'e')
    write('names.' + part, [('t', f'{part}{i:03}', 'q', source.randbytes(2500)) for i in range(200)])
write('forge.0', some(range(40)))
write('forge.1', some(range(10, 40)))
write('forge.2', some(range(20, 40)) + some(range(5)))
write('forge.3', [cell for row in range(40) for i in range(30) for cell in some([row], f'other{i:04}')])
write('forge.4', some([40, 0]))
END
yes 'This is some other file. ' | head -c 50000 | tr -d '\n' >text
make_base files files.a files.b
make_base names names.a names.b names.c names.e
make_base forge forge.0 forge.1 forge.2 forge.3 forge.4
"$BUILD/rowfs-dump" names >/dev/null || die "the store cannot be dumped" # which makes a table of its log

# file PATTERN: the name in data/ of the base's largest such file.
file() {
	basename "$(find "$base/data" -name "$1" -printf '%s %p\n' | sort -n | tail -n 1)"
}

# in_its_place FILE: it gives way to a directory with something in it.
in_its_place() {
	rm -f "$1" && mkdir "$1" && echo precious >"$1/x"
}

# ---- Logs, tables, MANIFEST ------------------------------------------------------------------

# kept_is_cut DIRECTORY: it has the bytes that were cut from the log, from the end of a record up to the zeros.
kept_is_cut() {
	local kept
	kept=$(echo "$1"/torn-"$log"-*)
	cmp -n "$((100352 - ${kept##*-}))" -i "${kept##*-}:0" "$base/data/$log" "$kept"
}

# The log ends in zeros, and its last record is torn; a mount cuts it and keeps the end.
cut_by_mount() {
	d zero .log 100352 166103
	"$BUILD/rowfs-dump" . 2>&1 >/dev/null | grep -q 'torn-' && (cd .. && kept_is_cut s)
}

# A block of the log has two batches of a hundred rows, and the begin of a third. Of a torn log seven batches are left.
use files
log=$(file '*.log') table=$(file '*.ldb') manifest=$(file 'MANIFEST-*')
should="bytes and should have"
stay="keys could be read in it and stay"
torn='without="b1[789],,"b2'
foreign=$TMP/names/data/$(base=names file '*.ldb')
rows <<END
a bit of a log | d flip .log 100000 | data/$log: at [0-9]*: a record whose checksum is wrong | refused 3700
zeros in a log | d zero .log 40000 32768 | data/$log: at [0-9]*: | refused 3000
no log | d rm .log | data/$log: it is missing, or the end of MANIFEST-[0-9]* is | refused 2000 | grep "^s: data/$log: cells may be lost" second
a text in place of a log | echo "hello, this is some other file" >data/$log | data/$log: at 0: a record of an unknown type; repair: 0 changes could be read in it and stay | refused 2000
a log whose last record was being written | d cut .log -700 | | clean 3800
a torn log | d zero .log 100352 166103 | | clean kept=- $torn | grep 'it ends in zeros' first && kept_is_cut s
a torn log that a mount cut | cut_by_mount | | clean kept=- $torn | kept_is_cut s && grep 'what was cut from a log' first
no marker, beside the end that a mount cut | cut_by_mount; rm ROWFS | ROWFS: damaged or missing | kept=- $torn | kept_is_cut s
a bit of a table | d flip .ldb 10000 | data/$table: at [0-9]*: a block whose checksum is wrong | 3800
a bit of a table's index | d flip .ldb -300 | data/$table: at [0-9]*: a block whose checksum is wrong | all
a bit of a table's end | d flip .ldb -3 | data/$table: at [0-9]*: the end of the table is no footer | all
a table that is cut | d cut .ldb 20000 | data/$table: it has 20000 $should [0-9]* | 2200
an empty table | d cut .ldb 0 | data/$table: it has 0 $should | 2000
a table of another store | cp $foreign data/$table | data/$table: it is another table: it has [0-9]* $should | 2000
no table | d rm .ldb | data/$table: it is missing | refused 2000
a table with bytes behind it | head -c 5000 /dev/urandom >>data/$table | data/$table: it has [0-9]* $should .*; repair: [0-9]* $stay | all | ! grep lost second && tail -n 1 first | grep 'left; [0-9]* files; tables, rows and cells were not counted$' && tail -n 1 second | grep 'files, 2 tables, 4000 rows, 4000 cells, 0 large values$'
a table that no MANIFEST lists | cp data/$table data/000099.ldb | | clean kept=- all | grep '^s: data/000099.ldb: no MANIFEST lists it; the next mount removes it$' first
a table whose copy no MANIFEST lists | cp data/$table data/000099.ldb; d cut data/$table 0 | data/$table: it has 0 $should | all
one of which a cell was replaced since | d put $(cell 1 a1000 f q 1) 00000000016869; d cut .ldb 0; cp ../files/data/$table data/000099.ldb | data/.*.ldb: it has 0 $should | below | diff <(sed 's/^..t","a1000.*/["t","a1000","f","q",1,"hi"]/; /"b/d' whole) <(cells s | grep -v '"b')
one with other keys than those that are damaged | cp $foreign data/000099.ldb; d flip data/$table 10000 | data/$table: at [0-9]*: a block whose checksum is wrong | 3800
a log whose number leaves no room | d mv .log 18014398509481984.log | data/$log: it is missing & data/18014398509481984.log: LevelDB gives no log this number | refused all
a MANIFEST that is cut | d cut MANIFEST 60 | data/$manifest: it has no edits | refused all
CURRENT that is none | d flip CURRENT 3 | data/CURRENT: it does not name a MANIFEST | refused all
no CURRENT | d rm CURRENT | data/CURRENT: it is missing | refused all
a bit of ROWFS at 1 | d flip ROWFS 1 | ROWFS: damaged or missing | refused all
a bit of ROWFS at 25 | d flip ROWFS 25 | ROWFS: damaged or missing | refused all
no ROWFS | d rm ROWFS | ROWFS: damaged or missing | refused kept=- all
a bit of the MANIFEST | d flip MANIFEST 40 | data/$manifest: at 0: a record whose checksum is wrong | refused all
a damaged edit between two others | d "edit 3 1000; edit 3 1000; edit 3 1000; write MANIFEST -20 67617262616765" | data/$manifest: at [0-9]*: a record | refused all
no table, and one that no MANIFEST lists | find data -name '*.ldb' ! -name $table -exec cp {} data/000099.ldb ';' -quit; d rm .ldb | data/$table: it is missing & data/$manifest: its end is missing | 2000 | grep "rows .*: cells there may be lost with what is damaged of data/$table" second
no MANIFEST | d rm MANIFEST | data/CURRENT: it names $manifest, which is missing & data/MANIFEST: there is none | refused all
a repair that was interrupted | mkdir data.new && cp data/CURRENT data.new | data.new: left by a repair that did not come to its end; repair: removed | kept=- all
END

rows < <(for len in 7 22 67 202 607 1822 5467 16402 49207; do
	echo "a text of $len bytes | head -c $len ../text >data/$log | data/$log: at 0: | refused 2000"
done)
# A repair that lost cells says so; before, -n cannot find what is missing in the rest.
while IFS='|' read -r case damage told; do
	fresh
	(cd s/data && eval "$damage") || die "$case: cannot be made"
	status=0
	"$fsck" -y s >second 2>&1 || status=$?
	check_eq "$case: it is repaired" 1 $status
	check "$case: which says that cells may be lost" grep -q "^s: $told" second
	check "$case: then it is clean" "$fsck" -n s
done <<'END'
no tables and no MANIFEST|rm ./*.ldb MANIFEST-*|data/MANIFEST: cells may be lost
no files|rm ./*|data/MANIFEST: cells may be lost
empty tables, without TABLES|rm ../TABLES; truncate -s 0 ./*.ldb|tables without a description: cells there may be lost .* data/0
END
fresh
(cd s && cut_by_mount)
check "a store with the end that a mount cut can be replaced" "$BUILD/mkfs.rowfs" --force s

# ---- Exchanged names -------------------------------------------------------------------------

# LevelDB aborts where tables of one level overlap. These are one behind the other. Without compression the first three
# have one size.
large_tables() {
	mapfile -t tables < <(cd names/data && find . -name '*.ldb' -size +400k -printf '%f\n' | sort)
	[ ${#tables[@]} = 4 ] || die "there are ${#tables[@]} large tables"
}
large_tables
"$BUILD/e2e/damage" names "table ${tables[0]} plain; table ${tables[1]} plain; table ${tables[2]} plain" || die "not made anew"
large_tables
use names
a=${tables[0]} b=${tables[1]} c=${tables[2]} e=${tables[3]}
another="it is another table"
size="it has [0-9]+ $should [0-9]+"
anew="repair: rebuilt from all tables and logs"

# exchange FILE FILE
exchange() {
	(cd "$TMP/s/data" && mv "$1" x && mv "$2" "$1" && mv x "$2")
}

# lost FILE: -y says between which rows some may be lost.
lost() {
	grep -q "rows from .*: cells there may be lost .*data/$1" second
}

rows <<END
a damaged copy of another | cp data/$a data/$e; d write data/$e 20000 67617262616765 | data/$e: $another, and damaged: $size; $anew | without="t","e | lost $e
a copy of another, cut short | cp data/$a data/$b; d cut data/$b 200000 | data/$b: $another, and damaged: it has 200000 bytes | without="t","b
a copy of another | cp data/$a data/$e | data/$e: $another: $size | without="t","e | lost $e
a copy of another of its size | cp data/$a data/$b | data/$b: $another: it has other keys | without="t","b | lost $b
two exchanged names | exchange $a $e | data/$a: $another: $size; $anew & data/$e: $another: $size; $anew | all
three exchanged names | exchange $a $b; exchange $b $c | data/$a: $another: it has other keys & data/$b: $another: it has other keys & data/$c: $another: it has other keys | all
a chain of names | mv data/$b data/$c; mv data/$a data/$b | data/$a: it is missing & data/$b: $another & data/$c: $another | without="t","c | lost $c
a name that no table has | mv data/$a data/009000.ldb | data/$a: it is missing & data/MANIFEST-.*: its end is missing | all
two exchanged names, one damaged | exchange $a $e; d write data/$e 20000 67617262616765 | data/$a: $another: $size & data/$e: $another, and damaged: $size | without="t","a | lost $a
two exchanged names, and two damaged tables | exchange $a $b; d flip data/$a -1; d flip data/$c 20 | data/$a: $another, and damaged: at & data/$b: $another: it has other keys & data/$c: at | without="t","b,,"c00[01]"
END
mount_store s "$TMP/m"
check "$case: it can be mounted, and read" test "$(find "$TMP/m/t" -maxdepth 1 | wc -l)" -gt 500
unmount_store "$TMP/m"

# ---- Forged content --------------------------------------------------------------------------

# Checksums are right, and contents are such as LevelDB cannot survive. No program ends by a signal: a reader gets an error,
# or ends with 1. It may read on where LevelDB passes the place. AddressSanitizer ends it with 99 where new finds no memory,
# or memory is left.
use forge
manifest=$(file 'MANIFEST-*') table=$(file '*.ldb')
order="data/.*ldb: at 0: a block whose keys are not in order"
no_index="data/.*ldb: at [0-9]*: a block that is no index"
beyond="data/.*ldb: at [0-9]*: a block that reaches beyond the end"
passes="data/.*ldb: at [0-9]*: a block that its index passes"
used="data/.*log: at [0-9]*: the record that ends here has a sequence number that is too high, or was used before"
rows <<END
a restart outside of the block | d table first data -8 00ffff7f | $order | reads=0 1225
a restart outside of the index | d table first index -8 00ffff7f | $no_index | reads=0 all
a restart between entries | d table first data -8 03000000 | $order | reads=1 1225
a restart between entries of the index | d table first index -8 03000000 | $no_index | reads=1 all
no restart | d table first data -4 00000000 | $order | reads=0 1225
no restart of the index | d table first index -4 00000000 | $no_index | reads=0 all
restarts that do not fit | d table first data -4 00000010 | $order | reads=1 1225
restarts of the index that do not fit | d table first index -4 00000010 | $no_index | reads=1 all
an internal key under 8 bytes | d table first data 1 07 | $order | reads=1 1225
an internal key under 8 bytes in the index | d table first index 1 07 | $no_index | reads=1 all
keys out of order | d table first data 3 ffffff | $order | reads=1 1225
keys of the index out of order | d table first index 3 ffffff | $no_index | reads=1 all
an entry whose bytes are 2^32 or more | d table first data 1 ffffffff0f | $order | reads=1 1225
an entry of the index of 2^32 bytes or more | d table first index 1 ffffffff0f | $no_index | reads=1 all
an entry whose bytes are 2^32 and 16 | d table first data 1 f0ffffff0f20 | $order | reads=99 1225
an entry of the index of 2^32 bytes and 16 | d table first index 1 f0ffffff0f20 | $no_index | reads=99 all
an index of 32 GiB | d table first size 34359738368 | $beyond | reads=99 all
an index of 2^63 bytes | d table first size 9223372036854775808 | $beyond | reads=99 all
an index of 2^64 - 5 bytes | d table first size 18446744073709551611 | $beyond | reads=99 all
an index of 2^64 - 1 bytes | d table first size 18446744073709551615 | $beyond | reads=1 all
bounds that are too wide | d table first wide | $passes | reads=0 all
bounds that are too wide, of large rows | d table largest wide | $passes | reads=1 all
blocks that changed places | d table first swap | data/.*ldb: at [0-9]*: a block whose keys are not in order | reads=0 60
blocks of large rows that changed places | d table largest swap | data/.*ldb: at [0-9]*: a block whose keys are not in order | reads=0 60
2^56 - 1 and 2^56 in a log | d batch 72057594037927935 72057594037927936 | $used | reads=1 all
2^56 and one more in a log | d batch 72057594037927936 72057594037927937 | $used | reads=1 all
2^64 - 1 in a log | d batch 18446744073709551615 18446744073709551615 | $used | reads=1 all
one twice in a log | d batch 5000 5000 | $used | reads=1 all
2^55 - 1 twice in a log | d batch 36028797018963967 36028797018963967 | $used | reads=1 all
2^54 in a log | d batch 18014398509481984 | $used | reads=1 all
2^55 - 1 and 2^55 in a log | d batch 36028797018963967 36028797018963968 | $used | reads=1 all
2^64 - 1 behind damage in a log | d "batch 5000 18446744073709551615; flip .log 8" | data/.*log: at 0: a record whose checksum is wrong | reads=1 1240
2^54 - 40 in a log | d batch 18014398509481944 | $used | all
an empty log with the number 2^54 - 4 | touch data/18014398509481980.log | data/18014398509481980.log: LevelDB gives no log this number | all
the last number 2^54 - 1 | d edit 4 18014398509481983 | $manifest: its numbers leave no room for more | all
the last number 2^56 - 1 | d edit 4 72057594037927935 | $manifest: the sequence number 72057594037927935 is too high | reads=1 all
the last number 2^54 | d edit 4 18014398509481984 | $manifest: the sequence number 18014398509481984 is too high | reads=1 all
the last number 2^64 - 1 | d edit 4 18446744073709551615 | $manifest: the sequence number 18446744073709551615 is too high | reads=1 all
the next file | d edit 3 18446744073709551615 | $manifest: the number of a file is too high | reads=1 all
the next file 2^54 | d edit 3 18014398509481984 | $manifest: the number of a file is too high | reads=1 all
the log before | d edit 9 18446744073709551615 | $manifest: the number of a file is too high | reads=1 all
a table with the number 0 | d edit 6 L N 7 L 0 S A Z | $manifest: table 000000.ldb has no possible number | reads=1 all
a table whose last key is before its first | d edit 6 L N 7 L N S Z A | $manifest: the last key of table [0-9]*.ldb is before its first | reads=1 all
a table on two levels | d edit 7 5 N S A Z | $manifest: table [0-9]*.ldb is on two levels | reads=1 all
a log with the number 0 | touch data/000000.log | data/000000.log: LevelDB gives no log this number | reads=1 all
a log with the number 2^64 - 1 | touch data/18446744073709551615.log | data/18446744073709551615.log: LevelDB gives no log this number | reads=1 all
tables that overlap | ln data/$table data/000091.ldb; ln data/$table data/000092.ldb; d edit 3 93 7 1 91 S A Z 7 1 92 S A Z | $manifest: tables [0-9]*.ldb and [0-9]*.ldb of level 1 overlap | reads=1 refused all
END

# Such a store can be mounted: a read ends the mount, with a line, and no dead mount stays.
case="a short key"
fresh
d table first data 1 07
fail_with "$case: -o check refuses it" 1 '/s: not mounted: fsck\.rowfs -n found faults$' \
	"$BUILD/rowfs" -f -o check s mounted
fail_with "$case: rowfs-dump ends" 1 '^rowfs-dump: s: LevelDB cannot go on: internal_key' "$BUILD/rowfs-dump" s
mount_store s mounted
fail_with "$case: a read of a mount ends" 1 'connection abort|not connected' cat mounted/t/.rows
status=0
wait "$(mount_pid mounted)" || status=$?
check_eq "$case: so does the server" 1 $status
check "$case: which says why" \
	grep -qE "^rowfs: error: $TMP/s: LevelDB cannot go on: internal_key.*; fsck\.rowfs -n" "$(mount_log mounted)"
check "$case: it is unmounted" timeout 60 bash -c 'while mountpoint -q mounted; do sleep 0.02; done'
check_eq "$case: nothing dead is there" "" "$(ls mounted 2>&1)"
lib_forget "$(realpath -ms mounted)"
fresh
mount_store s mounted -o check
check "-o check mounts a store without faults" test -e mounted/t
unmount_store mounted
# ---- Directories where files belong ----------------------------------------------------------

# A file of the engine's: a check ends there.
use files
manifest=$(file 'MANIFEST-*') table=$(file '*.ldb')
for name in LOCK "$table" "$log" CURRENT "$manifest"; do
	case="a directory for data/$name"
	fresh
	in_its_place "s/data/$name"
	fail_with "$case: a mount refuses it" 1 "$name.*fsck\.rowfs" "$BUILD/rowfs" -f s mounted
	before=$(state)
	for option in -n -y; do
		fail_with "$case: $option ends" 8 "^fsck.rowfs: s: data/$name: it is a directory where a file belongs; move it" \
			"$fsck" "$option" s
	done
	check_eq "$case: that changes nothing" "$before" "$(state)"
done

# A LOCK that was taken away from under a mount.
case="no LOCK"
fresh
mkdir held
mount_store s held
mv s/LOCK lock
for option in -n -y; do
	fail_with "$case: $option leaves a store alone that is in use from before" 8 "in use by process" \
		"$fsck" $option s
done
mv lock s/LOCK
unmount_store held
check "$case: and clean" "$fsck" -n s

# ---- A refused mount names the file ----------------------------------------------------------

# For each table that is cut, a program reads, or names it, also the one with the first parts of a large value, which
# LevelDB opens at the end of a read of the parts before.
make_store large "$base_schema"
mount_store large "$TMP/m"
mkdir -p "$TMP/m/t/a/f"
head -c 30M /dev/urandom >"$TMP/m/t/a/f/big" || die "no large value"
unmount_store "$TMP/m"
"$BUILD/rowfs-dump" large >/dev/null || die "the store cannot be dumped" # which makes tables of its log
count=0 nameless=
for path in large/data/*.ldb; do
	name=${path##*/}
	cp -a large cut
	truncate -s "$(($(stat -c %s "$path") / 2))" "cut/data/$name"
	status=0
	"$BUILD/rowfs-dump" cut t none >/dev/null 2>cut.err || status=$?
	count=$((count + 1))
	((status <= 1)) || nameless+="$name: exit $status: $(cat cut.err)"
	grep -q 'cut/data: \|: cannot be read: ' cut.err && ! grep -q "$name" cut.err && nameless+="$name: $(cat cut.err)"
	grep -q 'rror' cut.err && ! grep -q 'fsck\.rowfs' cut.err && nameless+="$name, no advice: $(cat cut.err)"
	rm -r cut
done
check "there are tables to cut ($count)" test "$count" -ge 3
check_eq "whichever is cut: refused with its name, or served" "" "$nameless"
rm -r large

# ---- Asked first -----------------------------------------------------------------------------

case="a bit of the MANIFEST"
fresh
d flip MANIFEST 40
before=$(state)
ask n
check_eq "making all anew is asked for: exit code after no" 4 $status
check_eq "the question tells the effects" 1 "$(grep -c 'deleted or replaced may be back.*kept.*\[y/n\]' asked)"
ask $'\003'
check_eq "Ctrl-C at the question stops it" 32 $status
check_eq "and nothing is changed or copied" "$before" "$(state)$(compgen -G 's.quarantine-*')"
fail_with "no copy, no repair" 8 '^fsck.rowfs: .*File too large' \
	bash -c "ulimit -f 8; trap '' XFSZ; '$fsck' -y s"
check_eq "the store is as it was" "$before" "$(state)"
cp -a s manifest
fresh
d flip .ldb 10000
rm -rf damaged && cp -a s damaged
fail_with "no new database, no repair" 8 '^fsck.rowfs: .*data.new/.*File too large' \
	bash -c "ulimit -f 300; trap '' XFSZ; '$fsck' -y s"
check "the store is as it was" diff -r damaged s
check_eq "nor is there a quarantine" "" "$(compgen -G 's.quarantine-*')"
rm -rf s && mv manifest s
ask y 1.1
check_eq "after yes" 1 $status
check "its progress is shown, at a terminal" grep -qE '(copy, MiB|rebuilding|files): [0-9]+( of [0-9]+ MiB)?, [0-9]+ s' asked
expect all

# ---- Where it is done ------------------------------------------------------------------------

# The quarantine is beside the store, also for a shell inside it.
for place in . ../s/ ./. "$TMP/s/"; do
	case="fsck.rowfs -y $place, in the store"
	fresh
	d flip MANIFEST 40
	status=0
	(cd s && "$fsck" -y "$place" >"$TMP/within") || status=$?
	check_eq "$case" "1 1" "$status $(compgen -G 's.quarantine-*' | wc -l)"
	check_eq "$case: the store has its files alone" "$(printf 'LOCK\nROWFS\nTABLES\ndata')" "$(ls -A s)"
	expect all
done

# mkfs.rowfs --force takes the leftover of an interrupted repair for the store's.
fresh
mkdir s/data.new
check "a store with a leftover can be replaced" "$BUILD/mkfs.rowfs" --force s
check_eq "with all of that" "$(printf 'LOCK\nROWFS\nTABLES\ndata')" "$(ls -A s)"

gone="/s/data: missing, and with it all that the store held; restore a copy of it, or a dump \(mkfs.rowfs --force, rowfs-load\)$"
fresh
"$BUILD/rowfs-dump" s >dump || die "the store cannot be dumped"
rm -r s/data
fail_with "no data/: fsck.rowfs says so, and how to go on" 8 "$gone" "$fsck" -n s
fail_with "no data/: so does a mount" 1 "$gone" "$BUILD/rowfs" -f s mounted
check "no data/: an empty store can be made there" "$BUILD/mkfs.rowfs" --force s
check "no data/: into which a dump goes" "$BUILD/rowfs-load" s dump
check_eq "no data/: then all is there" "$(cat dump)" "$("$BUILD/rowfs-dump" s)"

# Foreign files are found as the message says.
fresh
mkfifo s/data/fifo
fail_with "a FIFO: it is refused" 8 'in it, which no store has; there, .* shows it' "$fsck" -n s
check_eq "a FIFO: the command that it names shows it" ./fifo \
	"$(cd s/data && bash -c "$(sed -E 's/.*; there, (.*) shows it;.*/\1/' "$TMP/.check")")"

# ---- Huge files ------------------------------------------------------------------------------

# huge FILE [TEXT]: it gets a hole of 1 TiB, with the text behind it: nobody waits for it, and it takes no space.
huge() {
	local option status
	case="1 TiB in $1 before '${2-}'"
	for option in -n -y; do
		fresh
		truncate -s 1T "s/data/$1" && printf %s "${2-}" >>"s/data/$1"
		status=0
		(ulimit -t 30 && exec "$fsck" $option s >huge 2>&1) || status=$? # seconds of processor
		check "$case: $option ends ($status)" test $status -le 4
		check "$case: $option takes no space" test "$(du -sm . | cut -f 1)" -lt 100
	done
	check "$case: then it is clean" "$fsck" -n s
}
for name in "$log" "$manifest" "$table" CURRENT; do
	huge "$name"
	expect all
done
# Fewer bytes than a record's header has, or more.
for tail in x "some other text"; do
	huge "$log" "$tail"
	check_eq "$case: it is kept" "$tail" "$(tail -qc "${#tail}" s.quarantine-*/store/data/"$log" 2>/dev/null ||
		tail -qc "${#tail}" s/data/"$log")"
done

# Told to end while it copies a file of many pieces before a hole of 1 TiB, it ends at once.
fresh
d flip MANIFEST 40
status=$("$python" -S - "$fsck" <<'END'
import glob, signal, subprocess, sys
with open('s/torn-000001.log-7', 'wb') as file:
    for at in range(1, 20000):
        file.seek(at << 20)
        file.write(b'x' * 4096)
    file.truncate(1 << 40)
fsck = subprocess.Popen([sys.argv[1], '-y', 's'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
while not glob.glob('s.quarantine-*/store/torn-*') and fsck.poll() is None:
    pass
fsck.send_signal(signal.SIGTERM)
print(fsck.wait())
END
)
check_eq "TERM during the copy to the quarantine: it says that it was stopped" 32 "$status"
check_eq "and no part of the copy is left" "" "$(compgen -G 's.quarantine-*')"

# ---- Through a mount -------------------------------------------------------------------------

# A store of tables only, one of them with a damaged block: its rows are EIO, others are read.
fresh
cells s >/dev/null
d flip .ldb 10000
mount_store s "$TMP/m"
read -r good bad wrong < <("$python" -S - "$TMP/m/t" <<'END'
import errno, sys
counts = {'good': 0, 'bad': 0, 'wrong': 0}
for part in 'ab':
    for group in range(10, 30, 2):
        for i in range(100):
            try:
                text = open(f'{sys.argv[1]}/{part}{group}{i:02d}/f/q', 'rb').read()
                counts['good' if text == b'%099d\xff' % i else 'wrong'] += 1
            except OSError as error:
                counts['bad' if error.errno == errno.EIO else 'wrong'] += 1
print(*counts.values())
END
)
check_eq "a damaged block gives nothing but EIO" 0 "$wrong"
check "some rows cannot be read ($bad)" test "$bad" -gt 0
check "the others can ($good)" test "$good" -gt 0
check "/.rowfs/errors says that fsck.rowfs helps" \
	grep -qE '^[0-9TZ:.-]* /t/.*: the store is damaged here.*fsck\.rowfs' "$TMP/m/.rowfs/errors"
check "so does the log" grep -q 'rowfs: error: .*Corruption.*fsck.rowfs' "$(mount_log "$TMP/m")"
unmount_store "$TMP/m"

check_eq "no scratch directory is left" "" "$(find "$TMPDIR_SCRATCH" -mindepth 1)"

# shellcheck disable=SC2154 # fsck.sh sets it
check "the converter did not end" kill -0 "$converter"
finish
