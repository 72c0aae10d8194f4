# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Every end-to-end test sources it: checks, stores and mounts that clean up after themselves.
#
#   . "$(dirname "$0")/lib.sh"
#   new_mount '{"version":1,"tables":{"t":{"families":{"f":{}}}}}' -o strict
#   check "a row can be made" mkdir "$m/t/row"
#   check_eq "its value" 1 "$(cat "$m/t/row/f/q")"
#   fail_with "no such family" 1 'not permitted' mkdir "$m/t/row/f/x"
#   finish
#
# A check prints "ok NAME" or "not ok NAME: why" and never ends the test; a failed store or mount,
# without which it cannot go on, ends it. However the test ends, its mounts are undone, the
# processes that it started are gone and $TMP is removed.
#
#   BUILD   the programs' directory (environment; default: build/ of this repository)
#   TMP     a directory of the test's own, and m in it, where it has its mount
#   CHECKS, FAILED   how many checks ran, and failed
#   FINAL   set to "data", "leak" or "permission", for a test or before one check: a failed check of
#           that kind is never run again (scripts/run_tests.sh)

set -u
export LC_ALL=C.UTF-8 TZ=UTC0
umask 022

LIB_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
BUILD=$(cd "${BUILD:-$LIB_DIR/../../build}" 2>/dev/null && pwd) || {
	echo "not ok setup: there are no programs in ${BUILD:-build/}"
	exit 1
}
TMP=$(mktemp -d "${TMPDIR:-/tmp}/rowfs-e2e.XXXXXX") || exit 1
m=$TMP/m
CHECKS=0
FAILED=0
LIB_MOUNTS=()           # mountpoints, in the order in which they were mounted
declare -A LIB_MOUNT_PID # mountpoint -> pid of the process that serves it, if we are its parent
declare -A LIB_MOUNT_LOG # mountpoint -> file with its stderr
LIB_PIDS=()             # other processes
# Seconds until an event that is waited for counts as missing: the check fails by its name before the
# runner ends the test (30 minutes).
export LIB_PATIENCE=${LIB_PATIENCE:-600}
LIB_MAIN='import sys
sys.path[0] = sys.argv.pop(1)
__import__(sys.argv[1]).main(*sys.argv[2:])'
LIB_SANITIZER='(ERROR|WARNING): (Address|Leak|Thread)Sanitizer|runtime error:'

# Found once for all tests of a run: where python3 is a wrapper, that is slower than the program. Tests
# start it with -S, since they need Python's own modules alone, and these start in half of the time or less.
export ROWFS_PYTHON=${ROWFS_PYTHON:-$(python3 -c 'import sys; print(sys.executable)')}
python=$ROWFS_PYTHON
# Modules are compiled once, into the programs' directory; never into the sources.
if [ -w "$BUILD" ]; then
	unset PYTHONDONTWRITEBYTECODE
	export PYTHONPYCACHEPREFIX=$BUILD/python
else
	export PYTHONDONTWRITEBYTECODE=1
fi

trap lib_exit EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# ok NAME: a check passed.
ok() {
	CHECKS=$((CHECKS + 1))
	printf 'ok %s\n' "$1"
}

# not_ok NAME WHY: a check failed.
not_ok() {
	CHECKS=$((CHECKS + 1))
	FAILED=$((FAILED + 1))
	printf 'not ok %s: %s\n' "$1" "$2"
	[ -z "${FINAL-}" ] || printf 'final: %s\n' "$FINAL"
}

# die WHY: ends the test, failed.
die() {
	not_ok "${0##*/}" "$1"
	exit 1
}

# skip WHY: ends the test, skipped.
skip() {
	printf 'skip: %s\n' "$1"
	exit 77
}

# check NAME COMMAND…: the command succeeds.
check() {
	local name=$1 status=0
	shift
	"$@" >"$TMP/.check" 2>&1 || status=$?
	if ((status != 0)); then
		not_ok "$name" "exit $status: $(lib_tail "$TMP/.check")"
	elif lib_matches "$TMP/.check" "$LIB_SANITIZER"; then
		not_ok "$name" "$(cat "$TMP/.check")"
	else
		ok "$name"
	fi
}

# check_eq NAME EXPECTED ACTUAL
check_eq() {
	if [ "$2" = "$3" ]; then
		ok "$1"
	else
		not_ok "$1" "expected $(lib_quote "$2"), got $(lib_quote "$3")"
	fi
}

# fail_with NAME STATUS REGEX COMMAND…: the command exits with STATUS ("-": any but 0), and its
# stderr matches the extended regular expression.
fail_with() {
	local name=$1 want=$2 regex=$3 status=0
	shift 3
	"$@" >"$TMP/.out" 2>"$TMP/.check" || status=$?
	if lib_matches "$TMP/.check" "$LIB_SANITIZER"; then
		not_ok "$name" "$(cat "$TMP/.check")"
	elif ((status == 0)) || [ "$want" != - ] && [ "$want" != "$status" ]; then
		not_ok "$name" "exit $status, not $want: $(lib_tail "$TMP/.check")"
	elif ! lib_matches "$TMP/.check" "$regex"; then
		not_ok "$name" "stderr has no /$regex/: $(lib_tail "$TMP/.check")"
	else
		ok "$name"
	fi
}

# own_mounts [ARGUMENT…]: root runs the test, which has made nothing yet, with these arguments in a
# mount namespace of its own.
own_mounts() {
	[ "$(id -u)" = 0 ] && [ -z "${OWN_MOUNTS-}" ] || return 0
	rmdir "$TMP"
	OWN_MOUNTS=yes exec "$LIB_DIR/own_mounts.sh" "$0" "$@"
}

# yields NAME EXPECTED EXPRESSION COMMAND…: the command succeeds, and then the shell's EXPRESSION
# prints EXPECTED.
yields() {
	check "$1" "${@:4}"
	check_eq "$1: then" "$2" "$(eval "$3")"
}

# makes NAME ARGUMENT… -- COMMAND…: the command succeeds, and then `is NAME ARGUMENT…` holds, which
# the test has. loses, renews: the same with its `gone` and `newest_is`.
makes() {
	lib_then is "$@"
}
loses() {
	lib_then gone "$@"
}
renews() {
	lib_then newest_is "$@"
}

# error NAME REGEX: the last line of the errors of the mount $m matches.
error() {
	local reasons=()
	mapfile -t reasons <"$m/.rowfs/errors"
	if [[ ${reasons[*]: -1} =~ $2 ]]; then
		ok "$1"
	else
		not_ok "$1" "the last error is: ${reasons[*]: -1}"
	fi
}

# entries DIRECTORY: the names that it lists, in its own order.
entries() {
	ls -AU "$1" 2>/dev/null
}

# sorted DIRECTORY: the names that it lists.
sorted() {
	entries "$1" | sort
}

# lists NAME DIRECTORY ENTRY…: the directory has these names and no others, each once.
lists() {
	check_eq "$1" "$( (($# == 2)) || lines "${@:3}" | sort)" "$(sorted "$2")"
}

# none NAME PATH: there is nothing of that name.
none() {
	fail_with "$1" - 'No such file or directory' stat "$2"
}

# lines TEXT…: each on a line.
lines() {
	printf '%s\n' "$@"
}

# put PATH TEXT: writes the text and a newline.
put() {
	printf '%s\n' "$2" >"$1"
}

# module NAME ARGUMENT…: calls main of NAME.py, whose compiled form is kept; that of a program never is.
module() {
	"$python" -S -c "$LIB_MAIN" "$LIB_DIR" "$@"
}

# call CODE ARGUMENT…: runs Python with calls.py, the arguments as its list a; prints the output of
# the code, then "ok" or the name of the errno that ended it. python: the same without "ok".
call() {
	"$python" -S -c "$LIB_MAIN" "$LIB_DIR" calls call "$@" 2>&1
}
python() {
	"$python" -S -c "$LIB_MAIN" "$LIB_DIR" calls run "$@" 2>&1
}

# requests_of KIND COMMAND…: how many requests of a kind a command makes of the mount $m, with -d.
requests_of() {
	local pattern="opcode: $1 " before log
	log=$(mount_log "$m")
	before=$(grep -cE "$pattern" "$log")
	"${@:2}" >/dev/null 2>"$TMP/.requests"
	echo $(($(grep -cE "$pattern" "$log") - before))
}

# model COMMAND ARGUMENT…: see model.py.
model() {
	module model "$@"
}

# rounds USUAL FULL: prints FULL where ROWFS_FULL is set and not 0, else USUAL. Either may be empty.
rounds() {
	case ${ROWFS_FULL:-0} in
	0) echo "$1" ;;
	*) echo "$2" ;;
	esac
}

# need_fuse: in CI a machine without FUSE is a fault, elsewhere a reason to skip.
need_fuse() {
	[ -e /dev/fuse ] && return
	[ "${CI:-}" = true ] && die "there is no /dev/fuse"
	skip "there is no /dev/fuse"
}

# make_store STORE [SCHEMA]: makes a store; SCHEMA is JSON.
make_store() {
	local arguments=("$1")
	if [ $# -gt 1 ]; then
		printf '%s\n' "$2" >"$TMP/.schema.json"
		arguments=(--schema "$TMP/.schema.json" "$1")
	fi
	"$BUILD/mkfs.rowfs" "${arguments[@]}" >"$TMP/.check" 2>&1 ||
		die "mkfs.rowfs failed: $(lib_tail "$TMP/.check")"
}

# mount_store STORE MOUNTPOINT [OPTION…]: mounts, in the foreground of a process of ours, so that
# its log can be looked at: mount_log MOUNTPOINT prints the file's name.
mount_store() {
	local store=$1 mountpoint=$2 log pid
	shift 2
	need_fuse
	[ -d "$mountpoint" ] || mkdir -p "$mountpoint" || die "cannot make $mountpoint"
	mountpoint=$(cd -P -- "$mountpoint" && pwd)
	log=$TMP/${mountpoint##*/}.log
	"$BUILD/rowfs" -f "$@" "$store" "$mountpoint" </dev/null >"$log" 2>&1 &
	pid=$!
	LIB_MOUNTS+=("$mountpoint")
	LIB_MOUNT_PID[$mountpoint]=$pid
	LIB_MOUNT_LOG[$mountpoint]=$log
	for ((i = 0; i < LIB_PATIENCE * 20; i++)); do
		lib_mounted "$mountpoint" && return
		lib_alive "$pid" || break
		sleep 0.05
	done
	lib_end "$pid" 0
	wait "$pid"
	lib_mounted "$mountpoint" || lib_forget "$mountpoint"
	die "rowfs did not mount: $(lib_tail "$log")"
}

# faketime_library: prints the path of libfaketime.
faketime_library() {
	local library
	for library in {/usr/lib,/usr/local/lib}{,/*}{,/faketime}/libfaketimeMT.so.1; do
		[ ! -e "$library" ] || break
	done
	[ -e "$library" ] || return
	echo "$library"
}

# at_time "YYYY-MM-DD hh:mm:ss" COMMAND…: runs a command whose clock begins then.
at_time() {
	local library
	library=$(faketime_library) || die "there is no libfaketime"
	LD_PRELOAD=$library FAKETIME="@$1" DONT_FAKE_MONOTONIC=1 FAKETIME_DONT_FAKE_MONOTONIC=1 \
		ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0" "${@:2}"
}

# track_mount MOUNTPOINT: undo this mount too when the test ends (one not made by mount_store).
track_mount() {
	LIB_MOUNTS+=("$(realpath -ms "$1")")
}

# track_pid PID: end this process too when the test ends.
track_pid() {
	LIB_PIDS+=("$1")
}

# mount_pid MOUNTPOINT, mount_log MOUNTPOINT: the process and the log of a mount of mount_store.
mount_pid() {
	local place
	lib_place "$1"
	printf '%s\n' "${LIB_MOUNT_PID[$place]-}"
}
mount_log() {
	local place
	lib_place "$1"
	printf '%s\n' "${LIB_MOUNT_LOG[$place]-}"
}

# unmount_store MOUNTPOINT: unmounts. A failed check is: the mount cannot be undone, the process
# does not end in time with status 0, a sanitizer reported something.
unmount_store() {
	local place mountpoint
	lib_place "$1"
	mountpoint=$place
	for ((i = 0; i < LIB_PATIENCE * 20; i++)); do
		lib_mounted "$mountpoint" || break
		fusermount3 -u "$mountpoint" 2>"$TMP/.unmount" && break
		sleep 0.05
	done
	if lib_mounted "$mountpoint"; then
		not_ok "unmount $mountpoint" "$(lib_tail "$TMP/.unmount")"
		lib_unmount_anyway "$mountpoint"
	fi
	lib_served "$mountpoint"
	lib_forget "$mountpoint"
}

# new_mount SCHEMA [OPTION…]: makes the store $TMP/s, and mounts it on $m.
new_mount() {
	make_store "$TMP/s" "$1"
	mount_store "$TMP/s" "$m" "${@:2}"
}

# remount [OPTION…]: mounts it there again.
remount() {
	unmount_store "$m"
	mount_store "$TMP/s" "$m" "$@"
}

# within COMMAND…: waits until it succeeds, which a test that passes never sees fail.
within() {
	local i
	for ((i = 0; i < LIB_PATIENCE * 20; i++)); do
		"$@" && return
		sleep 0.05
	done
	return 1
}

# opens_store PID: the process has opened the files of a store.
opens_store() {
	within eval "find /proc/$1/fd -lname '*/data/*.log' 2>/dev/null | grep -q ."
}
export -f within opens_store

# files_open N: so many files of the mount $m are open, beside the metrics.
files_open() {
	within eval "((\$(sed -n 's/^rowfs_open_files //p' '$m/.rowfs/metrics') >= $1))"
}

# no_files_open: the kernel has also released those that were closed.
no_files_open() {
	within grep -qx 'rowfs_open_files 0' "$m/.rowfs/metrics"
}

# ended PID: the process has ended.
ended() {
	! lib_alive "$1"
}

# not_mounted PLACE: below $TMP, or absolute.
not_mounted() {
	case $1 in
	/*) ! lib_mounted "$1" ;;
	*) ! lib_mounted "$TMP/$1" ;;
	esac
}

# pgrep_here REGEX: pids of the processes in this mount namespace whose command line matches. Where a
# test has one of its own, these are none of another test's, which has the same paths.
pgrep_here() {
	local pid
	for pid in $(pgrep -f "$1"); do
		[ "/proc/$pid/ns/mnt" -ef /proc/self/ns/mnt ] && echo "$pid"
	done
}

# serving REGEX: those of them that serve a mount. The mounter and the connector are named rowfs like their
# parent, in its session, until they have run.
serving() {
	local pid parent session
	for pid in $(pgrep_here "$1"); do
		read -r parent session < <(ps -o ppid=,sid= -p "$pid") || continue
		[ "$(ps -o comm= -p "$pid")" != rowfs ] ||
			[ "$(ps -o comm=,sid= -p "$parent" | tr -s ' ')" = "rowfs $session" ] || echo "$pid"
	done
}

# finish: ends the test: passed where checks ran and none failed. It unmounts the remaining mounts,
# and that counts as well.
finish() {
	((CHECKS > 0)) || die "no check ran"
	exit $((FAILED > 0))
}

# ---- Private -------------------------------------------------------------------------------

lib_tail() {
	tail -n 5 "$1" 2>/dev/null | tr '\n' ' '
}

lib_then() {
	local verify=$1 name=$2 arguments=()
	shift 2
	while [ "$1" != -- ]; do
		arguments+=("$1")
		shift
	done
	check "$name" "${@:2}"
	"$verify" "$name: then" "${arguments[@]}"
}

lib_quote() {
	local text=$1
	((${#text} <= 500)) || text="${text:0:500}…"
	printf '%q' "$text"
}

# lib_matches FILE REGEX: a line of the file matches the extended regular expression. A short file
# takes no process.
lib_matches() {
	local text line
	[ -s "$1" ] || return 1
	IFS= read -r -N 65536 text <"$1"
	if ((${#text} == 65536)); then
		grep -qE -- "$2" "$1"
		return
	fi
	while IFS= read -r line; do
		[[ ! $line =~ $2 ]] || return 0
	done <<<"${text%$'\n'}" # which adds a newline
	return 1
}

lib_alive() {
	local key value=Z
	[ -e "/proc/$1/status" ] || return 1
	while read -r key value; do
		[ "$key" != State: ] || break
	done 2>/dev/null <"/proc/$1/status"
	[[ $value != Z* ]]
}

# Sets place to the mountpoint as mount_store knows it, which most callers write so.
lib_place() {
	place=$1
	[ -n "${LIB_MOUNT_PID[$place]+known}" ] || place=$(realpath -ms "$1")
}

# Prints the places of the mount table, as they are.
lib_mount_table() {
	local place
	while read -r _ place _; do
		printf '%b\n' "$place"
	done </proc/self/mounts
}

lib_mounted() {
	local place
	while read -r _ place _; do
		[[ $place != *\\* ]] || printf -v place '%b' "$place"
		[ "$place" != "$1" ] || return 0
	done </proc/self/mounts
	return 1
}

lib_unmount_anyway() {
	fusermount3 -u -z "$1" 2>/dev/null || umount -l "$1" 2>/dev/null
}

# Waits for a process to end, at most so many seconds; then kills it. Status 1: had to be killed.
lib_end() {
	local pid=$1
	for ((i = $2 * 20; i > 0; i--)); do
		lib_alive "$pid" || return 0
		sleep 0.05
	done
	kill -KILL "$pid" 2>/dev/null
	return 1
}

# Checks how the process behind a mount ended.
lib_served() {
	local mountpoint=$1 status=0
	local pid=${LIB_MOUNT_PID[$mountpoint]-} log=${LIB_MOUNT_LOG[$mountpoint]-}
	[ -n "$pid" ] || return 0
	if ! lib_end "$pid" "$LIB_PATIENCE"; then
		not_ok "rowfs on $mountpoint" "did not end within $LIB_PATIENCE s after it was unmounted"
		wait "$pid" 2>/dev/null
		return 0
	fi
	wait "$pid" 2>/dev/null || status=$?
	if lib_matches "$log" "$LIB_SANITIZER"; then
		not_ok "rowfs on $mountpoint" "a sanitizer's report"
		cat "$log"
	elif ((status != 0)); then
		FINAL=data not_ok "rowfs on $mountpoint" "exit $status: $(lib_tail "$log")"
	fi
}

lib_forget() {
	local rest=() place
	for place in "${LIB_MOUNTS[@]}"; do
		[ "$place" = "$1" ] || rest+=("$place")
	done
	LIB_MOUNTS=("${rest[@]}")
	unset "LIB_MOUNT_PID[$1]" "LIB_MOUNT_LOG[$1]"
}

lib_exit() {
	local status=$? place
	trap '' INT TERM
	cd / || status=1
	while ((${#LIB_MOUNTS[@]} > 0)); do
		unmount_store "${LIB_MOUNTS[-1]}"
	done
	for pid in "${LIB_PIDS[@]}"; do
		lib_alive "$pid" && kill -TERM "$pid" 2>/dev/null
	done
	for pid in "${LIB_PIDS[@]}"; do
		lib_end "$pid" 5
	done
	while read -r place; do
		[[ $place == "$TMP"/* ]] && lib_unmount_anyway "$place"
	done < <(lib_mount_table | tac)
	rm -rf --one-file-system -- "$TMP"
	# libfaketime leaves these where its process was killed, at_time's or another's. All that this
	# user owns go, also other tests', unless a process has the pid in the name.
	shopt -s nullglob
	for place in /dev/shm/{sem.,}faketime_s{em,hm}_*; do
		[ ! -O "$place" ] || [ -e "/proc/${place##*_}" ] || rm -f "$place"
	done
	((status == 0 && FAILED > 0)) && status=1
	exit "$status"
}
