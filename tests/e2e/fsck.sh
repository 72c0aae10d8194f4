# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Shared by the tests of fsck.rowfs: tables of damage to a store of known cells, which is made anew for each row.
#
#   make_base NAME ROWS…    the store NAME, by one rowfs-load of each file; each but the last becomes a table of
#                           LevelDB's, if there is more than the schema in it, and the last stays in a log
#   use NAME                the store of which each row damages a copy
#   rows                    a table, one row a line, in parts between bars:
#
#     name | damage | findings | expectations | a command that succeeds then; may be left out
#
#   damage: shell commands in the directory of the copy `s`, such as d COMMANDS (tests/unit/forge.h).
#   findings: extended regular expressions, with & between two. fsck.rowfs -n finds just these, and changes
#   nothing; -y corrects each, and the quarantine has the store as it was; the second -y finds nothing.
#   expectations: words, of which the last tells the cells that are left:
#
#     clean                 there is no finding, and all three runs exit with 0, not with 4, 1 and 0
#     refused[=REGEX]       a mount refuses the store before, with such words, or names the file of the first finding
#     reads=STATUS          a reader ends before with 1 or that status
#     kept=-                there is no quarantine
#     all                   all cells of the base, as they were loaded
#     without=REGEX         all but those that match, as ["table","row","family","qualifier",ts,"value"]; two commas
#                           are a bar
#     below                 those that the command tells
#     NUMBER                so many or more, and only such as the base had at some time

# shellcheck disable=SC2034 # lib.sh prints it
FINAL=data
fsck=$BUILD/fsck.rowfs
TMPDIR_SCRATCH=$TMP/scratch
cd "$TMP" || exit 1
mkdir "$TMPDIR_SCRATCH" mounted
export TMPDIR=$TMPDIR_SCRATCH
case=

base_schema='{"version":1,"tables":{"t":{"families":{"f":{},"g":{},"n":{"type":"intsum"},"h":{"type":"inthll"}}},"u":{"families":{"f":{}}}}}'

d() {
	"$BUILD/e2e/damage" "$TMP/s" "$*" || die "$case: damage $*"
}

hex() {
	printf %s "$1" | od -An -tx1 -v | tr -d ' \n'
}

# Keys, as docs/format.md has them: of a cell, by table, row, family, qualifier and timestamp; of an extent, a
# garbage record, a description and a drop.
cell() {
	printf '63%08x%s0001%s00%s0001%016x' "$1" "$(hex "$2")" "$(hex "$3")" "$(hex "$4")" $((0x7fffffffffffffff - $5))
}
extent() {
	printf '76%016x%08x' "$1" "$2"
}
garbage() {
	printf '67%016x' "$1"
}
description() {
	printf '6d74%08x' "$1"
}
drop() {
	printf '78%016x' "$1"
}

make_base() {
	make_store "$1" "$base_schema"
	for part in "${@:2}"; do
		"$BUILD/rowfs-load" "$1" "$part" || die "$part cannot be loaded"
	done
	cat "${@:2}" | cells_of >"$1.ever"
	converted whole <"$1.ever" >"$1.whole"
}

# One process converts the JSON of all rows: to start jq for each took a third of their time.
# A request is a line "KIND FILE"; the result replaces the file, and an empty line answers.
coproc CONVERTER {
	# shellcheck disable=SC2154 # lib.sh sets it
	exec "$python" -S -E -c 'if True:
		import json, sys

		def cells(lines):
			table, found = None, []
			for line in map(json.loads, lines):
				table = line.get("table", table)
				for family, columns in line.get("families", {}).items() if "key" in line else ():
					for qualifier, versions in columns.items():
						found += [[table, line["key"], family, qualifier, cell["ts"], cell.get("value", cell.get("base64"))]
							  for cell in versions]
			return [json.dumps(cell, separators=(",", ":"), ensure_ascii=False) for cell in found]

		def whole(lines):
			return sorted({tuple(json.loads(line)[:5]): line.rstrip("\n") for line in lines}.values())

		for request in sys.stdin:
			kind, path = request.split()
			with open(path, encoding="utf-8", errors="surrogateescape") as file:
				lines = globals()[kind](file)
			with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
				file.writelines(line + "\n" for line in lines)
			print(flush=True)'
}
converter=$CONVERTER_PID # unset when it ends
track_pid "$converter"
exec {requests}>&"${CONVERTER[1]}" {answers}<&"${CONVERTER[0]}"

# converted KIND: of stdin. In a pipeline, `die` ends only its subshell: each test checks at its end
# that the converter runs.
converted() {
	local file=$TMP/.converted.$BASHPID
	cat >"$file"
	echo "$1 $file" >&"$requests"
	read -r _ <&"$answers" || die "the converter ended"
	cat "$file"
	rm "$file"
}

# cells_of: the cells of row JSON, one a line.
cells_of() {
	converted cells
}

# cells STORE: those that it has, sorted.
cells() {
	"$BUILD/rowfs-dump" "$1" | cells_of | sort
}

# fresh: a new copy of the store.
fresh() {
	rm -rf s s.quarantine-*
	cp -a "$base" s
}

use() {
	base=$1
	cp "$base.whole" whole
	fresh
	check_eq "the store $base has the cells that were loaded" "" "$(cells s | diff whole -)"
}

# state: all bytes of the store.
state() {
	tar -cf - s | sha256sum
}

# found RUN SUM REGEX…: each of them matches one line of the run, whose last line has the sum.
found() {
	local lines line regex count wrong=
	mapfile -t lines <"$1"
	((${#lines[@]})) || lines=(nothing)
	[[ ${lines[-1]} == "s: $2;"* ]] || wrong=" ${lines[-1]}"
	for regex in "${@:3}"; do
		count=0
		for line in "${lines[@]}"; do
			[[ $line =~ ^s:\ .*$regex ]] && count=$((count + 1))
		done
		((count == 1)) || wrong+=" $count times: $regex"
	done
	check_eq "$case: $1 tells the findings" "" "$wrong"
}

# runs CODES: fsck.rowfs -n, -y and -y again, whose output is in first, second, third.
runs() {
	local before codes="" run option
	before=$(state)
	for run in first second third; do
		[ $run = first ] && option=-n || option=-y
		"$fsck" $option s >$run 2>$run.err
		codes+="$? "
		[ $run != first ] || check_eq "$case: -n changes nothing" "$before" "$(state)"
	done
	check_eq "$case: exit codes of -n, -y, -y; no errors" "$1 " "$codes$(cat first.err second.err third.err)"
	check_eq "$case: -y counts what is there then" "$(tail -n 1 third | sed 's/.* files*, //')" \
		"$(tail -n 1 second | sed 's/.* files*, //')"
	check_eq "$case: at last it is clean" "" "$(grep -v 's: clean; \|a mount reclaims\|mount finishes\|mount removes\| in zeros' third)"
}

# expect WORD: an expectation that is known behind the runs.
expect() {
	local want=${1#*=}
	case $1 in
	kept=-) check_eq "$case: there is no quarantine" "" "$(compgen -G 's.quarantine-*')" ;;
	below) ;;
	all) check_eq "$case: every cell is there" "" "$(cells s | diff whole -)" ;;
	without=*)
		grep -vE "${want//,,/|}" whole >rest
		check_eq "$case: all other cells are there" "" "$(cells s | diff rest -)"
		;;
	*)
		cells s >have
		check_eq "$case: nothing is there that was not before" "" "$(sort -u "$base.ever" | comm -13 - have)"
		check "$case: the cells that could be read are there ($(wc -l <have))" test "$(wc -l <have)" -ge "$1"
		;;
	esac
}

# row NAME DAMAGE FINDINGS EXPECTATIONS [COMMAND]
row() {
	local damage=$2 words=" $4 " word codes="4 1 0" place regexes count i
	case=$1
	mapfile -t regexes < <(sed 's/^ *//; s/ & /\n/g; s/ *$//' <<<"$3")
	count=${#regexes[@]}
	fresh
	(cd s && eval "$damage") || die "$case: cannot be made"
	rm -rf damaged && cp -a s damaged
	for word in $words; do
		case $word in
		clean) codes="0 0 0" ;;
		reads=*) check "$case: a reader gets an error" reads "${word#*=}" ;;
		refused)
			place=${regexes[0]%%: *}
			fail_with "$case: a mount refuses it" 1 "${place##*/}.*fsck\.rowfs" "$BUILD/rowfs" -f s mounted
			;;
		refused=*) fail_with "$case: a mount refuses it" 1 "${word#*=}" "$BUILD/rowfs" -f s mounted ;;
		esac
	done
	[[ $words != *" re"[af]* ]] || { rm -rf s && cp -a damaged s; } # a reader may compact it
	runs "$codes"
	if [ "$codes" = "4 1 0" ]; then
		found first "$count found, 0 corrected, $count left" "${regexes[@]%%; repair: *}"
		for i in "${!regexes[@]}"; do
			[[ ${regexes[i]} == *'; repair: '* ]] || regexes[i]+='.*; repair: '
		done
		found second "$count found, $count corrected, 0 left" "${regexes[@]}"
	fi
	if [ "$codes" = "4 1 0" ] && [[ $words != *" kept=- "* ]]; then
		check_eq "$case: the quarantine has the store alone" store "$(ls s.quarantine-*)"
		check "$case: as it was" diff -r damaged s.quarantine-*/store
	fi
	for word in $words; do
		[[ $word =~ ^(clean|reads=.*|refused.*)$ ]] || expect "$word"
	done
	[ -z "${5:-}" ] || check "$case: $5" eval "$5"
}

# reads STATUS
reads() {
	local status=0
	"$BUILD/e2e/damage" s look >/dev/null 2>&1 || status=$?
	[ $status = 1 ] || [ $status = "$1" ] || { echo "exit $status" && return 1; }
}

rows() {
	local lines line name damage findings expectations last
	mapfile -t lines
	for line in "${lines[@]}"; do
		IFS='|' read -r name damage findings expectations last <<<"$line"
		row "${name% }" "$damage" "$findings" "$expectations" "$last"
	done
}

# edited SCRIPT: the store has the cells of the base as sed edits them.
edited() {
	diff <(sed "$1" whole | sort) <(cells s)
}

# ask ANSWER [SECONDS]: runs fsck.rowfs on the store s at a terminal, answers each question so, after that
# time; its output is in `asked`, its exit code in $status.
ask() {
	status=0
	"$python" -S - "$fsck" s "$1" "${2:-0}" >asked 2>&1 <<'END' || status=$?
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
}
