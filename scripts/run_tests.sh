#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Runs test programs and closes with one line: "N passed, N failed", and ", N skipped" where there
# are. A test is one line. Where it failed, its output follows, its failed checks first. Exit 0 when
# something passed and nothing failed.
#
#   scripts/run_tests.sh [-b BUILD] [-j JOBS] [-s] [-t SECONDS] TEST…
#
#   -b  the directory of the programs under test (default: build)
#   -j  how many tests run side by side (default: 1)
#   -s  they are built with sanitizers
#   -t  the limit of one test: seconds of processor time, its own and that of all its descendants
#       (default: 300). No test fails by the clock, but for a net of 30 minutes, or of -t where that
#       is longer.
#
# A *.sh is an end-to-end test: each line "ok …" or "not ok …" is a check; exit 77 skips it.
# Everything else is a unit test, whose checks its libcheck summary counts. A test that fails
# without a failed check, or that ran none, counts as one failure; so does what it leaves: a mount
# or a file below its TMPDIR, or a process. What is left is cleaned away. A test has a TMPDIR and a
# HOME of its own, and ROWFS_TEST_RUN in the environment of its processes. The TMPDIR of a unit test
# is in memory (/dev/shm) where that and the machine have 2 GiB free, and that of an end-to-end test
# where they have 8: they sync often, and none needs a disk. The long runs of end-to-end tests
# (ROWFS_FULL, ROWFS_BOUNDS, ROWFS_SOAK, -s) are on a disk.
#
# A script that failed runs once more, alone, after all others. If it passes then, it counts as
# passed, and a line "UNSTABLE name: check" at the end has the check that failed first. A third one
# in a run is a failure; so is one that was unstable in its last run too (BUILD/unstable has the
# names). A failure is final, without another run, where the script prints a line "final: …" (FINAL
# of tests/e2e/lib.sh), a sanitizer reports something, or something is left; at a limit; and in a
# unit test.

set -u

usage() {
	sed -n 's/^#   \(scripts.*\)/usage: \1/p' "$0" >&2
	exit 2
}

build=build
jobs=1
queue= # of a lane: the file that has the tests of all lanes, one on a line
memory= # a directory in memory; of a lane, below that of all. If empty, tests use $work
e2e=    # end-to-end tests use it, as unit tests do
sanitized=
limit=300
while getopts b:ej:m:q:st: option; do
	case $option in
	b) build=$OPTARG ;;
	e) e2e=yes ;;
	j) jobs=$OPTARG ;;
	m) memory=$OPTARG ;;
	q) queue=$OPTARG ;;
	s) sanitized=yes ;;
	t) limit=$OPTARG ;;
	*) usage ;;
	esac
done
shift $((OPTIND - 1))

passed=0
failed=0
skipped=0
work=$(mktemp -d "${TMPDIR:-/tmp}/rowfs-run.XXXXXX") || exit 1
tmp=$work/tmp
home=$work/home
log=$work/log
spent=$work/spent # the report of limit.py
first=${queue:-$work/queue} # .again: scripts to run once more; .reports: of their first runs
here=$(dirname "$(realpath "$0")")
run=${ROWFS_TEST_RUN:-}/$(basename "$work")
net=$((limit > 1800 ? limit : 1800))
limiter=0 # pid of the limit.py that the test runs under
lanes=()  # pids
limited='import sys
sys.path[0] = sys.argv.pop(1)
import limit' # its compiled form is kept; that of a program never is
sanitizer='(ERROR|WARNING): (Address|Leak|Thread)Sanitizer|runtime error:'

# Prints at most 20 lines of stdin, and how many there are more.
some() {
	awk 'NR <= 20; END { if (NR > 20) print "and " NR - 20 " more" }'
}

# Prints a line about each mount, process and file that the test left, and removes them.
clean() {
	if [ -e "$spent" ]; then
		sed 1d "$spent" | some
	else # somebody killed limit.py
		grep -lsaF "ROWFS_TEST_RUN=$run/" /proc/[0-9]*/environ | cut -d / -f 3 | xargs -r kill -KILL 2>/dev/null
	fi
	find "$tmp" -mindepth 1 -maxdepth 1 -printf 'left behind: %p\n' 2>/dev/null | some
	rm -rf --one-file-system -- "$tmp" "$home"
}

stop() {
	trap '' INT TERM HUP
	if ((limiter)); then
		kill -TERM "$limiter" 2>/dev/null
		wait "$limiter" 2>/dev/null
	fi
	if ((${#lanes[@]})); then
		kill -TERM "${lanes[@]}" 2>/dev/null
		wait "${lanes[@]}" 2>/dev/null
	fi
	clean >/dev/null 2>&1
	exit "$1"
}
trap 'stop 130' INT
trap 'stop 143' TERM HUP
trap 'rm -rf --one-file-system -- "$work" ${memory:+"$memory"}' EXIT

# Makes $memory where /dev/shm and the memory have room for the files of some unit tests; sets $e2e where
# they have room for those of end-to-end tests.
make_memory() {
	local type blocks size available free
	if [ -n "$queue" ]; then
		[ -z "$memory" ] || memory=$(mktemp -d "$memory/lane.XXXXXX")
		return
	fi
	read -r type blocks size < <(stat -f -c '%T %a %S' /dev/shm 2>/dev/null)
	available=$(awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo) # KiB
	[ "$type" = tmpfs ] || return
	free=$(((blocks * size >> 10) < available ? blocks * size >> 10 : available))
	((free >= 2 << 20)) && memory=$(mktemp -d /dev/shm/rowfs-run.XXXXXX 2>/dev/null) || return
	((free < 8 << 20)) || [ "${ROWFS_FULL:-0}${ROWFS_BOUNDS-}${ROWFS_SOAK-}$sanitized" != 0 ] || e2e=yes
}

# Leaks are found by tracing the process, which not every machine allows.
sanitizer_options() {
	local leaks=1
	printf 'int main(void)\n{\n\treturn 0;\n}\n' >"$work/probe.c"
	if ! { "${CC:-gcc}" -fsanitize=address -o "$work/probe" "$work/probe.c" &&
		ASAN_OPTIONS=detect_leaks=1 "$work/probe"; } >/dev/null 2>&1; then
		echo "leaks cannot be detected on this machine"
		leaks=0
	fi
	export ASAN_OPTIONS=detect_leaks=$leaks:exitcode=99:abort_on_error=0
	export UBSAN_OPTIONS=print_stacktrace=1
	export TSAN_OPTIONS=suppressions=$PWD/tests/tsan.supp:exitcode=99
	export CK_FORK=no
}

# The sum of one number over the summary lines of libcheck.
summary() {
	sed -n "s/^[0-9]*%: Checks: .*\\b$1: \\([0-9]*\\).*/\\1/p; t
		s/^[0-9]*%: $1: \\([0-9]*\\),.*/\\1/p" "$log" | awk '{ n += $1 } END { print n + 0 }'
}

# Counts the checks of a test that exited with a status into $good and $bad.
count() {
	local test=$1 status=$2 how=$3
	if [[ $test == *.sh ]]; then
		good=$(grep -c '^ok ' "$log")
		bad=$(grep -c '^not ok ' "$log")
		((status == 77)) && return
	else
		bad=$(($(summary Failures) + $(summary Errors)))
		good=$(($(summary Checks) - bad))
	fi
	case $how in
	processor) why="took more than $limit s of processor time" ;;
	wall) why="no end within $net s on the clock" ;;
	*)
		((good + bad == 0)) && why="no check ran"
		((status != 0 && bad == 0)) && why="exit $status"
		;;
	esac
	[ -z "$why" ] || bad=$((bad + 1))
}

# Has the test, which failed, no second run?
is_final() {
	[[ $test != *.sh ]] || [[ $how != ended ]] || [ -n "$remains" ] || grep -qaE "^final: |$sanitizer" "$log"
}

# Adds the test, and the check that failed first, to the ones that run once more.
put_off() {
	local check
	check=$(grep -am 1 '^not ok ' "$log") || check=$why
	check=${check#not ok }
	printf '%s\t%s\n' "$test" "${check:0:300}" >>"$first.again"
}

# Prints the line of the test with this word and, where it failed, its output.
report() {
	printf '%-5s %-40s %4d passed, %d failed, %s s of processor, %s s\n' "$1" "$test" "$good" "$bad" "$cpu" "$wall"
	case $1 in
	AGAIN | FAIL)
		{
			grep -a '^not ok' "$log"
			grep -av '^not ok' "$log"
			[ -z "$why" ] || echo "$why"
			[ -z "$remains" ] || printf '%s\n' "$remains"
		} | sed 's/^/    /'
		;;
	SKIP) tail -n 1 "$log" | sed 's/^/    /' ;;
	PASS) grep -a '^UNSTABLE ' "$log" ;; # a test that runs tests
	esac
}

# run_test TEST [again]
run_test() {
	local test=$1 again=${2-} status=0 word=PASS good=0 bad=0 why='' remains cpu='?' wall='?' how=killed
	tmp=$work/tmp
	[[ $test == *.sh && ! (-n $e2e && $test == *e2e/test_*) ]] || tmp=${memory:-$work}/tmp
	mkdir "$tmp" "$home"
	rm -f "$spent"
	HOME=$home TMPDIR=$tmp BUILD=$build ROWFS_TEST_RUN=$run/ \
		"$python" -S -c "$limited" "$here" "$limit" "$net" "${tmp%/tmp}" "$spent" "$test" </dev/null >"$log" 2>&1 9>&- &
	limiter=$!
	wait "$limiter" 2>/dev/null || status=$?
	limiter=0
	[ ! -e "$spent" ] || read -r cpu wall how <"$spent"
	count "$test" "$status" "$how"
	remains=$(clean)
	[ -z "$remains" ] || bad=$((bad + 1))
	if ((bad > 0)); then
		word=FAIL
		if [ -z "$again" ] && ! is_final; then
			word=AGAIN
			put_off
		fi
	elif ((status == 77)); then
		word=SKIP
	fi
	if [ "$word" != AGAIN ]; then
		passed=$((passed + good))
		failed=$((failed + bad))
		((status != 77 || bad > 0)) || skipped=$((skipped + 1))
	fi
	report "$word" >"$work/report"
	[ -z "$queue" ] || flock 9
	if [ -z "$again" ]; then
		cat "$work/report"
	else # without the lines that the first run printed
		grep -avxFf "$first.reports" "$work/report"
	fi
	[ "$word" != AGAIN ] || cat "$work/report" >>"$first.reports"
	[ -z "$queue" ] || flock -u 9
	((bad == 0))
}

# ---- Lanes: this script again, several times side by side ----------------------------------

# Takes the next test of the queue into $test.
take_test() {
	flock 9
	test=$(head -n 1 "$queue")
	sed -i 1d "$queue"
	flock -u 9
	[ -n "$test" ]
}

# One lane: runs tests until none are left, and adds its counts to a file beside the queue.
run_lane() {
	local test
	exec 9>"$queue.lock"
	while take_test; do
		run_test "$test"
	done
	echo "$passed $failed $skipped" >>"$queue.counts"
}

# A lane that ended without its counts is a failure.
run_lanes() {
	local options=(-b "$build" -q "$work/queue" -t "$limit") lane good bad left ended=0
	[ -z "$memory" ] || options+=(-m "$memory" ${e2e:+-e})
	printf '%s\n' "$@" >"$work/queue"
	for ((lane = 0; lane < jobs; lane++)); do
		TMPDIR=$work "$0" "${options[@]}" &
		lanes+=($!)
	done
	wait "${lanes[@]}"
	lanes=()
	while read -r good bad left; do
		passed=$((passed + good))
		failed=$((failed + bad))
		skipped=$((skipped + left))
		ended=$((ended + 1))
	done <"$work/queue.counts"
	failed=$((failed + jobs - ended))
}

# ---- Scripts that failed -------------------------------------------------------------------

# Runs them once more. Fills $unstable with "name<TAB>check" of each that passes then.
unstable=()
run_again() {
	local test check
	while IFS=$'\t' read -r test check; do
		! run_test "$test" again || unstable+=("$test"$'\t'"$check")
	done <"$first.again"
}

# judge_unstable TEST…: prints the unstable ones of these tests, and counts those that are a failure.
judge_unstable() {
	local one names=$build/unstable
	for one in "${unstable[@]}"; do
		echo "UNSTABLE ${one/$'\t'/: }"
		if grep -qsxF "${one%%$'\t'*}" "$names"; then
			echo "    it was unstable in its last run too"
			failed=$((failed + 1))
		fi
	done
	if ((${#unstable[@]} > 2)); then
		echo "    more than two are unstable"
		failed=$((failed + 1))
	fi
	{
		printf '%s\n' "$@" | grep -svxFf - "$names"
		printf '%s\n' "${unstable[@]%%$'\t'*}"
	} | grep . >"$work/unstable"
	if [ -s "$work/unstable" ] || [ -e "$names" ]; then
		cp "$work/unstable" "$names"
	fi
}

# Jobs of a shell with job control have a process group of their own and take SIGINT; so Ctrl-C
# reaches only this script, and tests meet signals as they would anywhere.
set -m
export CK_VERBOSITY=normal
unset XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME # they are below HOME
# Found once, also for the tests: where python3 is a wrapper, that is slower than the program.
python=${ROWFS_PYTHON:-$(python3 -c 'import sys; print(sys.executable)')} || exit 1
export ROWFS_PYTHON=$python
build=$(realpath -m "$build")
if [ -w "$build" ]; then # as in lib.sh
	unset PYTHONDONTWRITEBYTECODE
	export PYTHONPYCACHEPREFIX=$build/python
fi
[ -z "$sanitized" ] || sanitizer_options
make_memory
if [ -n "$queue" ]; then
	run_lane
	exit 0
fi
if ((jobs > 1 && $# > 1)); then
	run_lanes "$@"
else
	for test in "$@"; do
		run_test "$test"
	done
fi
[ ! -e "$first.again" ] || run_again
judge_unstable "$@"
line="$passed passed, $failed failed"
((skipped == 0)) || line="$line, $skipped skipped"
echo "$line"
((passed > 0 && failed == 0))
