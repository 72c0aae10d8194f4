#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Damaged and missing files of a store: a mount refuses it or gives EIO, and says which file and
# that fsck.rowfs helps; fsck.rowfs finds it, saves the readable rows, and the second time finds
# nothing. tests/unit/test_damaged_files.c damages every file in many places, test_log_damage.c the
# headers of logs.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/fsck.sh"

# flip FILE OFFSET: flips a bit there; a negative offset counts from the end.
flip() {
	python3 - "$1" "$2" <<'END'
import sys
path, at = sys.argv[1], int(sys.argv[2])
data = bytearray(open(path, 'rb').read())
data[at] ^= 0x10
open(path, 'wb').write(data)
END
}

# zero FILE OFFSET LENGTH
zero() {
	dd if=/dev/zero of="$1" bs=1 seek="$2" count="$3" conv=notrunc status=none
}

# cp_foreign FILE: puts a table of the store `foreign` in its place.
cp_foreign() {
	cp "$(find foreign/data -name '*.ldb' | head -n 1)" "$1"
}

# foreign_text FILE: it is no log at all.
foreign_text() {
	echo "hello, this is some other file" >"$1"
}

# append FILE: a table that only grew.
append() {
	head -c 5000 /dev/urandom >>"$1"
}

# in_file PATTERN COMMAND…: runs the command with the largest such file of the store s, whose name
# is put into `damaged`.
in_file() {
	local pattern=$1 command=$2 file
	shift 2
	file=$(find s -path "s/$pattern" -printf '%s %p\n' | sort -n | tail -n 1 | cut -d ' ' -f 2)
	[ -n "$file" ] || die "$case: there is no $pattern"
	echo "${file#s/}" >damaged
	if [ "$command" = truncate ]; then
		truncate "$@" "$file"
	else
		"$command" "$file" "$@"
	fi
}

# file_rows: a case of exit code 4 for each line of the input, in parts between bars: its name, its
# words, the file and the command, and the expected result: refused, by a mount; kept, in the
# quarantine; every, row is there; or the least number of rows.
file_rows() {
	local lines line name words command holds hold
	mapfile -t lines
	for line in "${lines[@]}"; do
		IFS='|' read -r name words command holds <<<"$line"
		read -r name <<<"$name"
		read -r words <<<"$words"
		read -ra command <<<"$command"
		[[ $holds != *refused* ]] || refused "$name" "${command[@]}"
		damage_file 4 "$name" "$words" "${command[@]}"
		for hold in $holds; do
			case $hold in
			refused) ;;
			kept) expect_kept ;;
			every) expect_every_row ;;
			*) expect_some "$hold" ;;
			esac
		done
	done
}

# rows_of STORE: its rows alone, sorted.
rows_of() {
	dump_rows "$1" | grep -v '^{"table"' | sort
}

# damage_file CODE NAME WORDS PATTERN COMMAND…: damages such a file; -n finds just that, in such words,
# and -y corrects it.
damage_file() {
	local code=$1 name=$2 words=$3
	shift 3
	damage_with "$code" "$name" in_file "$@"
	file=$(cat damaged)
	check_eq "$case: -n finds just that" "1 1" "$(grep -c "^s: $file: $words" first) \
$(tail -n 1 first | cut -d ' ' -f 2)"
	check_eq "$case: -y corrects it" 1 "$(grep -c "^s: $file: $words.*; corrected: " second)"
	check_eq "$case: -y leaves nothing" 1 "$(tail -n 1 second | grep -c ', 0 left;')"
}

# expect_kept: the damaged file is in the quarantine, as it was.
expect_kept() {
	check_eq "$case: it is in the quarantine" "${file##*/}" "$(ls s.quarantine-*/files)"
}

# expect_some MINIMUM: only rows from before are there, and at least so many.
expect_some() {
	rows_of s >have
	check_eq "$case: nothing is there that was not before" "" "$(comm -13 all have)"
	check "$case: what could be read is there ($(wc -l <have) rows)" test "$(wc -l <have)" -ge "$1"
}

expect_every_row() {
	check_eq "$case: every row is there" "$(sha256sum <all)" "$(rows_of s | sha256sum)"
}

# refused NAME PATTERN COMMAND…: a mount refuses a store so damaged, and names the file.
refused() {
	case=$1
	shift
	fresh
	in_file "$@"
	mkdir -p "$TMP/refused"
	fail_with "a mount refuses $case" 1 "$(basename "$(cat damaged)").*fsck\.rowfs" \
		"$BUILD/rowfs" -f s "$TMP/refused"
}

# ---- A store with a table and a log ------------------------------------------------------------

# some_rows KEY: 100 rows.
some_rows() {
	for ((i = 0; i < 100; i++)); do
		printf '{"key":"%s%02d","families":{"f":{"q":[{"ts":%d,"value":"%0100d"}]}}}\n' "$1" $i $i $i
	done
}

# twenty A: 2,000 rows, a batch of each hundred.
twenty() {
	for ((group = 10; group < 30; group++)); do
		echo "{\"table\":\"$((group % 2))\"}" | tr 01 tu
		some_rows "$1$group"
	done
}

make_store base "$base_schema"
twenty a | "$BUILD/rowfs-load" base || die "the rows cannot be loaded"
twenty b | "$BUILD/rowfs-load" base || die "the rows cannot be loaded"
cp -a base other
rows_of other >all # which makes a table of the log there
rm -r other
check_eq "the store has its rows" 4000 "$(wc -l <all)"

# ---- Logs ------------------------------------------------------------------------------------

log='data/*.log' table='data/*.ldb' manifest='data/MANIFEST-*'

# A block has two batches of a hundred rows, and the begin of a third.
file_rows <<END
a bit of a log | at [0-9]*: a record whose checksum is wrong | $log flip 100000 | refused kept 3700
zeros in a log | at [0-9]*: | $log zero 40000 32768 | refused kept 3000
no log | it is missing, or the end of MANIFEST-[0-9]* is | $log rm | refused 2000
a text in place of a log | at 0: a record of an unknown type | $log foreign_text | refused kept 2000
END
check_eq "$case: -y says so" 1 "$(grep -c '0 changes could be read in it and stay' second)"

damage_with 0 "a log whose last record was being written" in_file "$log" truncate -s -700
expect_some 3800

# ---- Tables ----------------------------------------------------------------------------------

make_store foreign "$base_schema"
some_rows x | sed '1i {"table":"t"}' | "$BUILD/rowfs-load" foreign || die "the rows cannot be loaded"
"$BUILD/rowfs-dump" foreign >foreign.rows || die "cannot dump"

# Nothing of a table that only grew is lost, and nothing says so.
file_rows <<END
a bit of a table | at [0-9]*: a block whose checksum is wrong | $table flip 10000 | kept 3800
a bit of a table's index | at [0-9]*: a block whose checksum is wrong | $table flip -300 | kept every
a bit of a table's end | at [0-9]*: the end of the table is no footer | $table flip -3 | kept every
a table that is cut | it has 20000 bytes and should have [0-9]* | $table truncate -s 20000 | kept 2200
an empty table | it has 0 bytes and should have | $table truncate -s 0 | kept 2000
a table of another store | it is another table: it has [0-9]* bytes and should have | $table cp_foreign | 2000
no table | it is missing | $table rm | refused 2000
a table with bytes behind it | it has [0-9]* bytes and should have | $table append | kept every
END
check_eq "$case: -y says that all is there" "1 0" "$(grep -c '[0-9] keys could be read in it and stay, all that it had;' second) \
$(grep -c lost second)"
check_eq "$case: -n does not count what it did not look at" \
	"s: 1 found, 0 corrected, 1 left; N files; tables, rows and cells were not counted" \
	"$(tail -n 1 first | sed -E 's/; [0-9]+ files/; N files/')"
check_eq "$case: -y does" "2 tables, 4000 rows, 4000 cells, 0 large values" \
	"$(tail -n 1 second | sed 's/.* files, //')"

# ---- Directories where files belong ------------------------------------------------------------

# in_its_place: the file gives way to a directory with something in it.
in_its_place() {
	rm -f "$1" && mkdir "$1" && echo precious >"$1/x"
}

# A file of the engine's: a check ends there.
for pattern in data/LOCK "$table" "$log" data/CURRENT "$manifest"; do
	refused "a directory for $pattern" "$pattern" in_its_place
	file=$(cat damaged)
	before=$(state)
	for answer in -n -y; do
		fail_with "$case: $answer ends" 8 "^fsck.rowfs: s: $file: it is a directory where a file belongs; move it" \
			"$fsck" "$answer" s
		check_eq "$case: $answer changes nothing" "$before" "$(state)"
	done
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

# ---- A refused mount names the file --------------------------------------------------------------

# For each table that is cut, a mount serves, or names it, also the one with the first parts of a
# large value, which LevelDB opens at the end of a read of the parts before.
make_store large "$base_schema"
mount_store large "$TMP/m"
mkdir -p "$TMP/m/t/a/f"
head -c 30M /dev/urandom >"$TMP/m/t/a/f/big" || die "no large value"
unmount_store "$TMP/m"
"$BUILD/rowfs-dump" large >/dev/null || die "the store cannot be dumped" # which makes tables of its log
tables=0 nameless=
for path in large/data/*.ldb; do
	name=${path##*/}
	cp -a large cut
	truncate -s "$(($(stat -c %s "$path") / 2))" "cut/data/$name"
	status=0
	"$BUILD/rowfs-dump" cut t none >/dev/null 2>cut.err || status=$?
	tables=$((tables + 1))
	((status <= 1)) || nameless+="$name: exit $status: $(cat cut.err)"
	grep -q 'cut/data: \|: cannot be read: ' cut.err && ! grep -q "$name" cut.err && nameless+="$name: $(cat cut.err)"
	grep -q 'rror' cut.err && ! grep -q 'fsck\.rowfs' cut.err && nameless+="$name, no advice: $(cat cut.err)"
	rm -r cut
done
check "there are tables to cut ($tables)" test "$tables" -ge 3
check_eq "whichever is cut: refused with its name, or served" "" "$nameless"
rm -r large

# ---- The record of files in use ------------------------------------------------------------------

file_rows <<END
a MANIFEST that is cut | it has no edits | $manifest truncate -s 60 | refused every
CURRENT that is none | it does not name a MANIFEST | data/CURRENT flip 3 | refused kept every
no CURRENT | it is missing | data/CURRENT rm | refused every
a bit of ROWFS at 1 | damaged or missing | ROWFS flip 1 | refused kept every
a bit of ROWFS at 25 | damaged or missing | ROWFS flip 25 | refused kept every
no ROWFS | damaged or missing | ROWFS rm | refused every
a bit of the MANIFEST | at 0: a record whose checksum is wrong | $manifest flip 40 | refused every
END
check_eq "$case: all of the store was copied" "$(printf 'LOCK\nROWFS\nTABLES\ndata')" "$(ls s.quarantine-*/store)"
check_eq "$case: as it was" "$(flip base/"$file" 40 && cd base && find . -type f -exec sha256sum {} + | sort)" \
	"$(cd s.quarantine-*/store && find . -type f -exec sha256sum {} + | sort)"
flip base/"$file" 40

remove_manifest() {
	rm s/data/MANIFEST-*
}
damage_with 4 "no MANIFEST" remove_manifest
check_eq "$case: -y corrects all" 1 "$(tail -n 1 second | grep -c '2 found, 2 corrected, 0 left;')"
expect_every_row

# ---- Asked first -----------------------------------------------------------------------------

fresh
in_file "$manifest" flip 40
ask n
check_eq "making all anew is asked for: exit code after no" 4 $status
check_eq "with what it can do" 1 "$(grep -c 'deleted or replaced may be back.*copied.*\[y/n\]' asked)"
check_eq "nothing is copied then" 0 "$(quarantines)"
before=$(state)
ask $'\003'
check_eq "Ctrl-C at the question stops it" 32 $status
check_eq "and nothing is changed" "$before 0" "$(state) $(quarantines)"
ask y 1.1
check_eq "after yes" 1 $status
check "what it does is shown, at a terminal" grep -qE '(copy|making anew|files): [0-9]+ of [0-9]+ MiB, [0-9]+ s' asked
expect_every_row

# ---- Where it is done ----------------------------------------------------------------------------

# The quarantine is beside the store, also for a shell inside it.
for place in . ../s/ ./. "$TMP/s/"; do
	fresh
	in_file "$manifest" flip 40
	status=0
	(cd s && "$fsck" -y "$place" >"$TMP/within") || status=$?
	check_eq "fsck.rowfs -y $place, in the store" "1 1" "$status $(quarantines)"
	check_eq "in the store is what belongs there" "$(printf 'LOCK\nROWFS\nTABLES\ndata')" "$(ls -A s)"
	expect_every_row
done

# The leftover of an interrupted repair is removed; mkfs.rowfs --force takes it for the store's.
leave() {
	mkdir s/data.new && cp s/data/CURRENT s/data.new
}
damage_with 4 "a repair that was interrupted" leave
expect_found 'data.new: left by a repair that did not come to its end; corrected: removed'
expect_every_row
fresh
leave
check "a store with what it left can be replaced" "$BUILD/mkfs.rowfs" --force s
check_eq "with all of that" "$(printf 'LOCK\nROWFS\nTABLES\ndata')" "$(ls -A s)"

gone="/s/data: missing, and with it all that the store held; restore a copy of it, or a dump \(mkfs.rowfs --force, rowfs-load\)$"
fresh
"$BUILD/rowfs-dump" s >whole || die "the store cannot be dumped"
rm -r s/data
fail_with "no data/: fsck.rowfs says what is gone, and what to do" 8 "$gone" "$fsck" -n s
fail_with "no data/: so does a mount" 1 "$gone" "$BUILD/rowfs" -f s "$TMP/refused"
check "no data/: an empty store can be made there" "$BUILD/mkfs.rowfs" --force s
check "no data/: into which a dump goes" "$BUILD/rowfs-load" s whole
check_eq "no data/: then all is there" "$(cat whole)" "$("$BUILD/rowfs-dump" s)"

# Foreign files are found as the message says.
fresh
mkfifo s/data/fifo
fail_with "a FIFO: it is refused" 8 'in it, which no store has; there, .* shows it' "$fsck" -n s
check_eq "a FIFO: the command that it names shows it" ./fifo \
	"$(cd s/data && bash -c "$(sed -E 's/.*; there, (.*) shows it;.*/\1/' "$TMP/.check")")"

# No room for the copy: nothing is repaired.
fresh
in_file "$manifest" flip 40
before=$(state)
fail_with "no copy, no repair" 8 '^fsck.rowfs: .*/s\.quarantine-[0-9TZ]*/.*: File too large' bash -c "ulimit -f 8; trap '' XFSZ; '$fsck' -y s"
check_eq "the store is as it was" "$before" "$(state)"

# ---- Huge files ----------------------------------------------------------------------------------

# huge NAME PATTERN COMMAND…: the file gets a hole of 1 TiB: nobody waits for it, and it takes no space.
huge() {
	local option status
	case=$1
	for option in -n -y; do
		fresh
		in_file "${@:2}"
		status=0
		timeout 60 "$fsck" $option s >huge 2>&1 || status=$?
		check "$case: $option ends ($status)" test $status -le 4
		check "$case: $option takes no space" test "$(du -sm . | cut -f 1)" -lt 100
	done
	check "$case: then it is clean" "$fsck" -n s
}
for pattern in "$log" "$manifest" "$table" data/CURRENT; do
	huge "1 TiB at the end of $pattern" "$pattern" truncate -s 1T
	expect_every_row
done

# Data behind the hole: fewer bytes than a record's header has, or more.
behind() {
	truncate -s 1T "$1" && printf %s "$2" >>"$1"
}
for tail in x "some other text"; do
	huge "1 TiB before '$tail' in a log" "$log" behind "$tail"
	check_eq "$case: it is kept" "$tail" "$(tail -qc "${#tail}" s.quarantine-*/files/*)"
done
rm -rf s.quarantine-*

# Told to end while it copies a table of many pieces before a hole of 1 TiB, it ends at once.
fresh
read -r status seconds size < <(python3 - "$fsck" <<'END'
import glob, os, signal, subprocess, sys, time
table = max(glob.glob('s/data/*.ldb'), key=os.path.getsize)
with open(table, 'r+b') as file:
    for at in range(1, 20000):
        file.seek(at << 20)
        file.write(b'x' * 4096)
    file.truncate(1 << 40)
fsck = subprocess.Popen([sys.argv[1], '-y', 's'], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
copy = []
while not copy and fsck.poll() is None:
    copy = glob.glob('s.quarantine-*/files/' + os.path.basename(table))
fsck.send_signal(signal.SIGTERM)
start = time.monotonic()
status = fsck.wait(120)
print(status, int(time.monotonic() - start), os.path.getsize(copy[0]) if copy else -1)
END
)
check_eq "TERM during a copy to the quarantine: it says that it was stopped" 32 "$status"
check "and it ends at once ($seconds s)" test "$seconds" -lt 10
check "with less than the copy ($size bytes)" test "$size" -ge 0 -a "$size" -lt $((1 << 40))
rm -rf s s.quarantine-*

# ---- Through a mount -----------------------------------------------------------------------------

# A store of tables only, one of them with a damaged block: its rows are EIO, others are read.
fresh
rows_of s >/dev/null
in_file "$table" flip 10000
mount_store s "$TMP/m"
read -r good bad wrong < <(python3 - "$TMP/m/t" <<'END'
import errno, sys
counts = {'good': 0, 'bad': 0, 'wrong': 0}
for part in 'ab':
    for group in range(10, 30, 2):
        for i in range(100):
            try:
                text = open(f'{sys.argv[1]}/{part}{group}{i:02d}/f/q').read()
                counts['good' if text == f'{i:0100d}' else 'wrong'] += 1
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

finish
