#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Runs test programs and closes with one line: "N passed, N failed", and ", N skipped" where there
# are. A test is one line. Where it failed, all that it printed follows, its failed checks first, and
# comes again at the end. Exit 0 when something passed and nothing failed.
#
#   scripts/run_tests.sh [-b BUILD] [-j JOBS] [-s] [-t SECONDS] TEST…
#
#   -b  the directory of the programs under test (default: build)
#   -j  how many tests run side by side (default: 1)
#   -s  they are built with sanitizers
#   -t  the time limit of one test (default: 300)
#
# A *.sh is an end-to-end test: each line "ok …" or "not ok …" is a check; exit 77 skips it.
# Everything else is a unit test, whose checks its libcheck summary counts. A test that fails
# without a failed check, or that ran none, counts as one failure; so does what it leaves: a mount
# or a file below its TMPDIR, or a process. What is left is cleaned away. A test's processes are
# known by ROWFS_TEST_RUN in their environment.

set -u

usage() {
	sed -n 's/^#   \(scripts.*\)/usage: \1/p' "$0" >&2
	exit 2
}

build=build
jobs=1
queue= # of a lane: the file that has the tests of all lanes, one on a line
sanitized=
limit=300
while getopts b:j:q:st: option; do
	case $option in
	b) build=$OPTARG ;;
	j) jobs=$OPTARG ;;
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
log=$work/log
failures=${queue:-$work/queue}.failures
run=${ROWFS_TEST_RUN:-}/$(basename "$work")
runner=0 # pid of the `timeout` that the test runs under
lanes=() # pids

# Mountpoints below the test's directory, the innermost first.
left_mounts() {
	local place
	while read -r _ place _; do
		place=$(printf '%b' "$place")
		[[ $place == "$tmp"/* ]] && printf '%s\n' "$place"
	done </proc/self/mounts | tac
}

# Processes of the test.
left_processes() {
	grep -lsaF "ROWFS_TEST_RUN=$run/" /proc/[0-9]*/environ | cut -d / -f 3
}

# Removes what a test left and prints a line about each.
clean() {
	local place pid
	left_mounts | while read -r place; do
		printf 'left mounted: %s\n' "$place"
		umount -l "$place" 2>/dev/null || fusermount3 -u -z "$place"
	done
	for _ in 1 2 3 4 5 6 7 8 9 10; do # a process may be on its way out
		[ -n "$(left_processes)" ] || break
		sleep 0.2
	done
	for pid in $(left_processes); do
		printf 'left running: %s %s\n' "$pid" "$(tr '\0' ' ' <"/proc/$pid/cmdline")"
		kill -KILL "$pid" 2>/dev/null
	done
	find "$tmp" -mindepth 1 -maxdepth 1 -printf 'left behind: %p\n' 2>/dev/null
	rm -rf --one-file-system -- "$tmp"
}

stop() {
	trap '' INT TERM HUP
	if ((runner)); then
		kill -TERM "$runner" 2>/dev/null
		wait "$runner" 2>/dev/null
	fi
	if ((${#lanes[@]})); then
		kill -TERM "${lanes[@]}" 2>/dev/null
		wait "${lanes[@]}" 2>/dev/null
	fi
	clean >/dev/null 2>&1
	rm -rf -- "$work"
	exit "$1"
}
trap 'stop 130' INT
trap 'stop 143' TERM HUP
trap 'rm -rf -- "$work"' EXIT

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
	local test=$1 status=$2
	if [[ $test == *.sh ]]; then
		good=$(grep -c '^ok ' "$log")
		bad=$(grep -c '^not ok ' "$log")
		((status == 77)) && return
	else
		bad=$(($(summary Failures) + $(summary Errors)))
		good=$(($(summary Checks) - bad))
	fi
	if ((status == 124 || status == 137)); then
		echo "no end within $limit s" >>"$log"
		bad=$((bad + 1))
	elif ((status != 0 && bad == 0)); then
		echo "exit $status" >>"$log"
		bad=1
	elif ((good + bad == 0)); then
		echo "no check ran" >>"$log"
		bad=1
	fi
}

run_test() {
	local test=$1 status=0 word=PASS start=$SECONDS good=0 bad=0 left
	[[ $test == */* ]] || test=./$test
	mkdir "$tmp"
	TMPDIR=$tmp BUILD=$build ROWFS_TEST_RUN=$run/ \
		timeout -k 10 "$limit" "$test" </dev/null >"$log" 2>&1 9>&- &
	runner=$!
	wait "$runner" 2>/dev/null || status=$?
	runner=0
	count "$test" "$status"
	left=$(clean)
	if [ -n "$left" ]; then
		printf '%s\n' "$left" >>"$log"
		bad=$((bad + 1))
	fi
	if ((bad > 0)); then
		word=FAIL
	elif ((status == 77)); then
		word=SKIP
		skipped=$((skipped + 1))
	fi
	passed=$((passed + good))
	failed=$((failed + bad))
	{
		printf '%s %-40s %4d passed, %d failed, %d s\n' "$word" "$test" "$good" "$bad" \
			$((SECONDS - start))
		case $word in
		FAIL) { grep '^not ok' "$log"; grep -v '^not ok' "$log"; } | sed 's/^/    /' ;;
		SKIP) tail -n 1 "$log" | sed 's/^/    /' ;;
		esac
	} >"$work/report"
	[ -z "$queue" ] || flock 9
	cat "$work/report"
	[ "$word" != FAIL ] || cat "$work/report" >>"$failures"
	[ -z "$queue" ] || flock -u 9
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

# Jobs of a shell with job control have a process group of their own and take SIGINT; so Ctrl-C
# reaches only this script, and tests meet signals as they would anywhere.
set -m
export CK_DEFAULT_TIMEOUT=${CK_DEFAULT_TIMEOUT:-60} CK_VERBOSITY=normal
build=$(realpath -m "$build")
[ -z "$sanitized" ] || sanitizer_options
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

if (($# > 1)) && [ -e "$failures" ]; then
	echo
	echo "Failed:"
	cat "$failures"
fi
line="$passed passed, $failed failed"
((skipped == 0)) || line="$line, $skipped skipped"
echo "$line"
((passed > 0 && failed == 0))
