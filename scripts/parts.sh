#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Runs targets of make, each a part that goes on after a failed one, and closes with one line:
# "N passed, N failed", and ", N skipped" where there are.
#
#   scripts/parts.sh [-t SECONDS] PART… [-- PART…]
#
#   PART  the arguments of make, quoted as in a shell: 'asan ROWFS_KINDS="unit fuzz"'
#   --    the parts behind it run beside those before it
#   -t    seconds on the clock for all parts; a part that is cut counts as failed
#
# The output of a part follows when it ends. A line for each part at the end has its minutes on the
# clock and its minutes of processor time.

set -u
cd "$(dirname "$0")/.." || exit 1

limit=10000000
while getopts t: option; do
	case $option in
	t) limit=$OPTARG ;;
	*) sed -n 's/^#   \(scripts.*\)/usage: \1/p' "$0" >&2 && exit 2 ;;
	esac
done
shift $((OPTIND - 1))

work=$(mktemp -d "${TMPDIR:-/tmp}/rowfs-parts.XXXXXX") || exit 1
export TMPDIR=$work # a part that is cut may leave files
rows=()             # pids

# Ends the rows or, in a row, the part that runs, whose output is $log, and waits for that.
stop() {
	local running
	trap '' INT TERM HUP
	mapfile -t running < <(jobs -p)
	if ((${#running[@]})); then
		kill -TERM "${running[@]}" 2>/dev/null
		wait 2>/dev/null
		[ -z "${log-}" ] || print cat "$log"
	fi
	exit "$1"
}
# A subshell has no traps until it sets them.
trap_signals() {
	trap 'stop 130' INT
	trap 'stop 143' TERM HUP
}
trap_signals
trap 'rm -rf --one-file-system -- "$work"' EXIT

# print COMMAND…: prints its output, and none of the other row in between.
print() {
	flock 9
	"$@"
	flock -u 9
}

# part NUMBER WORDS: runs make with these words. A part that fails without a failed check, or without a
# closing line, counts as one failure.
part() {
	local words log=$work/$1.log spent=$work/$1.spent status=0 good=0 bad=0 other=0 cpu=0 wall=0 how=killed
	local left=$((limit - SECONDS))
	eval "words=($2)"
	print echo "== make $2"
	if ((left > 0)); then
		python3 scripts/limit.py 1e7 "$left" "$work" "$spent" make "${words[@]}" </dev/null >"$log" 2>&1 9>&- &
		wait "$!" || status=$?
		print cat "$log"
		[ ! -e "$spent" ] || read -r cpu wall how <"$spent"
		read -r good bad other < <(sed -nE 's/^([0-9]+) passed, ([0-9]+) failed(, ([0-9]+) skipped)?$/\1 \2 \4/p' "$log" |
			tail -n 1)
	else
		how=wall
	fi
	good=${good:-0} bad=${bad:-0} other=${other:-0}
	if [ "$how" = wall ]; then
		bad=$(($(grep -cs '^FAIL ' "$log") + 1))
		how="cut, no time is left"
	elif ((good + bad + other == 0 || (status != 0 && bad == 0))); then
		bad=1
		how="exit $status"
	else
		how=
	fi
	echo "$good $bad $other" >"$work/$1.counts"
	{
		awk -v wall="$wall" -v cpu="$cpu" 'BEGIN { printf "%5.1f min, %5.1f min of processor: ", wall / 60, cpu / 60 }'
		echo "make $2: $good passed, $bad failed${how:+ ($how)}"
		grep -s '^UNSTABLE ' "$log"
	} >"$work/$1.line"
}

# row FIRST: runs the parts from that number on, up to the next "--".
row() {
	local number=$1
	trap_signals
	exec 9>"$work/lock" # rows exclude each other by their own descriptors
	for (( ; number < ${#parts[@]}; number++)); do
		[ "${parts[number]}" != -- ] || break
		part "$number" "${parts[number]}"
	done
}

set -m # Ctrl-C reaches only this script
parts=("$@")
for number in "${!parts[@]}"; do
	if ((number == 0)) || [ "${parts[number - 1]}" = -- ]; then
		row "$number" &
		rows+=($!)
	fi
done
wait "${rows[@]}"

passed=0
failed=0
skipped=0
for number in "${!parts[@]}"; do
	[ "${parts[number]}" != -- ] || continue
	read -r good bad other < <(cat "$work/$number.counts" || echo 0 1 0)
	cat "$work/$number.line"
	passed=$((passed + good))
	failed=$((failed + bad))
	skipped=$((skipped + other))
done
echo "$((SECONDS / 60)) minutes"
line="$passed passed, $failed failed"
((skipped == 0)) || line="$line, $skipped skipped"
echo "$line"
((passed > 0 && failed == 0))
