# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Shared by the tests of fsck.rowfs: a store of known rows, damaged anew for each case.
#
#   make_base                      the store `base`, of the rows in rows/*
#   damage_with CODE NAME COMMAND  a fresh copy `s`, damaged by the command; then -n (exit CODE), -y
#                                  (exit 1, or 0 where CODE is 0), and -y again (exit 0, clean); their
#                                  output is in first, second, third
#   row LINE                       a case of exit code 4, in parts between bars: its name, its command, the arguments
#                                  of expect_found, with & between two, those of expect_there, or "all",
#                                  and those of expect_raw; the last two may be empty
#   rows                           one for each line of the input
#   expect_found REGEX…            the lines of the first run, each once, and as many of the second,
#                                  which say that it is corrected
#   expect_there PART…             the store has the rows of just those files of rows/
#   expect_all_there
#   expect_raw COUNT [KEY]         lines in raw.json; one has that key, in hexadecimal
#   expect_rows LINE…              the rows in rows.json, as loaded into a fresh store and dumped
#   expect_rows_of FILE            the same, of a file of rows

fsck=$BUILD/fsck.rowfs
TMPDIR_SCRATCH=$TMP/scratch
cd "$TMP" || exit 1
mkdir "$TMPDIR_SCRATCH" rows
export TMPDIR=$TMPDIR_SCRATCH
case=

# damage_of STORE COMMAND…, damage COMMAND…: of the store s.
damage_of() {
	"$BUILD/e2e/damage" "$@" || die "damage $*"
}
damage() {
	damage_of s "$@"
}

# ts N: a timestamp as cell keys have it.
ts() {
	printf '%016x' $((0x7fffffffffffffff - $1))
}

base_schema='{"version":1,"tables":{"t":{"families":{"f":{},"g":{},"n":{"type":"intsum"},"h":{"type":"inthll"}}},"u":{"families":{"f":{}}}}}'

make_base() {
	local big text
	big=$(head -c 200000 /dev/zero | tr '\0' x)
	text=$(head -c 100000 /dev/zero | tr '\0' '\377' | base64 -w 0)
	echo '{"key":"a#1","families":{"f":{"q":[{"ts":1,"value":"one"}]}}}' >rows/t_a1_old
	echo '{"key":"a#1","families":{"f":{"q":[{"ts":2,"value":"two"},{"ts":1,"value":"one"}]}}}' >rows/t_a1
	echo '{"key":"a#2","families":{"f":{"q":[{"ts":1,"value":"x"}]},"g":{"n":[{"ts":4,"value":"y"}]}}}' >rows/t_a2
	echo '{"key":"a#2","families":{"g":{"n":[{"ts":4,"value":"y"}]}}}' >rows/t_a2_g
	echo '{"key":"b#1","families":{"f":{"big":[{"ts":3,"value":"'"$big"'"}]}}}' >rows/t_b1
	{
		echo '{"key":"b#2","families":{"f":{"big":[{"ts":3,"base64":"'"$text"'"}]}}}'
		echo '{"key":"b#3","families":{"f":{"":[{"ts":9,"value":""}]}}}'
	} >rows/t_b2
	{
		echo '{"key":"x","families":{"f":{"q":[{"ts":1,"value":"1"}]}}}'
		echo '{"key":"y","families":{"f":{"q":[{"ts":1,"value":"2"}]}}}'
		echo '{"key":"z","families":{"f":{"q":[{"ts":1,"value":"3"}]}}}'
	} >rows/u_all
	for part in rows/*; do
		sed -i "1i {\"table\":\"${part:5:1}\"}" "$part"
	done
	make_store base "$base_schema"
	load base t_a1 t_a2 t_b1 t_b2 u_all
	"$BUILD/rowfs-dump" base >whole || die "the store cannot be dumped"
}

# load STORE PART…: loads files of rows/.
load() {
	local store=$1
	shift
	(cd "$TMP/rows" && cat /dev/null "$@") | "$BUILD/rowfs-load" "$store" ||
		die "the rows cannot be loaded"
}

# fresh: a new copy of the store.
fresh() {
	rm -rf s s.quarantine-*
	cp -a base s
}

# state: all bytes of the store.
state() {
	find s -type f -exec sha256sum {} + | sort
}

# numbers: without the number of files.
numbers() {
	sed 's/; [0-9]* files/; N files/'
}

damage_with() {
	local want=$1 status=0 before
	case=$2
	shift 2
	fresh
	"$@" || die "$case: cannot be made"
	before=$(state)
	"$fsck" -n s >first 2>first.err || status=$?
	check_eq "$case: -n exits with $want" "$want" "$status"
	check_eq "$case: and changes nothing" "$before" "$(state)"
	status=0
	"$fsck" -y s >second 2>second.err || status=$?
	check_eq "$case: -y exits with $((want > 0))" "$((want > 0))" "$status"
	status=0
	"$fsck" -y s >third 2>third.err || status=$?
	check_eq "$case: the second time it exits with 0" 0 "$status"
	check_eq "$case: and finds nothing" "" "$(grep -v 's: clean; ' third | grep -v 'a mount reclaims')"
	check_eq "$case: no errors are printed" "" "$(cat first.err second.err third.err)"
}

row() {
	local name command regexes parts raw words
	IFS='|' read -r name command regexes parts raw <<<"$1"
	read -r name <<<"$name"
	damage_with 4 "$name" eval "$command"
	mapfile -t words < <(sed 's/ & /\n/g; s/^ *//; s/ *$//' <<<"$regexes")
	expect_found "${words[@]}"
	read -ra words <<<"$parts"
	case "${words[*]}" in
	'') ;;
	all) expect_all_there ;;
	*) expect_there "${words[@]}" ;;
	esac
	read -ra words <<<"$raw"
	((${#words[@]} == 0)) || expect_raw "${words[@]}"
}

rows() {
	local lines line
	mapfile -t lines
	for line in "${lines[@]}"; do
		row "$line"
	done
}

expect_found() {
	local line
	for line; do
		line=${line%%; corrected*}
		check_eq "$case: -n finds it" "1 0" \
			"$(grep -cE "^s: .*$line" first) $(grep -cE "$line.*; corrected: " first)"
		check_eq "$case: -y corrects it" 1 "$(grep -cE "^s: .*$line.*; corrected: " second)"
	done
	check_eq "$case: -n finds nothing else" "s: $# found, 0 corrected, $# left" \
		"$(tail -n 1 first | cut -d ';' -f 1)"
	check_eq "$case: -y corrects all" "s: $# found, $# corrected, 0 left" \
		"$(tail -n 1 second | cut -d ';' -f 1)"
}

# dump_rows STORE: its rows, with the lines that name their table.
dump_rows() {
	"$BUILD/rowfs-dump" "$1" | tail -n +2
}

# without_empty: rows with one line for each table, and none for those that have no rows.
without_empty() {
	awk '/^{"table":/ { table = $0; next }
		{ if (table != last) print table; last = table; print }'
}

expect_there() {
	rm -rf expected
	make_store expected "$base_schema"
	load expected "$@"
	check_eq "$case: all that is good is there" "$(dump_rows expected | without_empty)" \
		"$(dump_rows s | without_empty)"
}

expect_all_there() {
	check_eq "$case: all that is good is there" "$(tail -n +2 whole)" "$(dump_rows s)"
}

# quarantines: how many there are.
quarantines() {
	find . -maxdepth 1 -name 's.quarantine-*' | wc -l
}

# quarantine FILE: prints it, of the store's one quarantine.
quarantine() {
	cat s.quarantine-*/"$1"
}

expect_raw() {
	check_eq "$case: raw.json has $1 records" "$1" "$(quarantine raw.json | wc -l)"
	check "$case: each is an object of three texts" jq -e '[.why, .key, .value] | all(type == "string")' \
		s.quarantine-*/raw.json
	[ $# -lt 2 ] || check_eq "$case: its key is the one that is gone" "$2" \
		"$(quarantine raw.json | head -n 1 | jq -r .key | base64 -d | od -An -tx1 -v | tr -d ' \n')"
}

expect_rows_of() {
	rm -rf loaded
	make_store loaded
	check "$case: rows.json loads" "$BUILD/rowfs-load" loaded s.quarantine-*/rows.json
	check_eq "$case: it is what was taken away" "$(without_empty <"$1")" \
		"$(dump_rows loaded | without_empty)"
}

expect_rows() {
	printf '%s\n' "$@" >lines
	expect_rows_of lines
}

# ask ANSWER [SECONDS]: runs fsck.rowfs on the store s at a terminal, answers each question so, after that
# time; its output is in `asked`, its exit code in $status.
ask() {
	python3 - "$fsck" s "$1" "${2:-0}" >asked 2>&1 <<'END'
import os, pty, sys, time
program, store, answer, seconds = sys.argv[1:]
pid, fd = pty.fork()
if pid == 0:
    os.execv(program, [program, store])
text = b''
while True:
    try:
        some = os.read(fd, 65536)
    except OSError:
        break
    if not some:
        break
    text += some
    if text.endswith(b'[y/n] '):
        time.sleep(float(seconds))
        os.write(fd, answer.encode() + b'\n')
_, status = os.waitpid(pid, 0)
sys.stdout.write(text.decode().replace('\r\n', '\n'))
sys.exit(os.waitstatus_to_exitcode(status))
END
	status=$?
}
