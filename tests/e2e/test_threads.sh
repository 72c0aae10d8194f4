#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Requests that wait hold nobody up, and where there can be no more threads the process that serves goes
# on with those that it has, or does not begin. Limits of threads bind no root: test_user.sh runs this as
# an ordinary user.

. "$(dirname "$0")/lib.sh"

threads() {
	find "/proc/$(mount_pid "$m")/task" -mindepth 1 -maxdepth 1 | wc -l
}

# serves WHEN: requests of all kinds, also those that wait, and enough for the engine to merge files.
serves() {
	check_eq "many that wait hold nobody up, $1" \
		"others are served
those that do not wait: {0}
those that waited: {0}
rows that are left: as many" "$("$python" -S "$LIB_DIR/bounds.py" waiters "$m" 100 2>&1)"
	check "much is written, $1" sh -c 'mkdir -p "$0/t/much/f" && for i in 1 2 3 4 5 6 7 8; do
		head -c 6000000 /dev/zero >"$0/t/much/f/q$i" || exit 1; done' "$m"
	check_eq "and read" 48000000 "$(cat "$m"/t/much/f/* | wc -c)"
	check_eq "long reads are answered, $1" '12 {"rows":0,"cells":0,"bytes":0}' \
		"$(for i in {1..12}; do cat "$m/long/.value/$never/.count"; done 2>&1 | sed 's/ *$//' | uniq -c | sed 's/^ *//')"
	check "and compacted" sh -c 'echo "$1" >"$0/t/much/.drop" && echo run >"$0/.rowfs/gc"' "$m" much
}

# served PID: the mount answers, or the process has ended.
served() {
	[ -d "$m/t" ] || ended "$1"
}

# Leaks are looked for by another thread.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
never='(?:a|aa){1,24}[bc]' # takes long to find that it does not match 24 letters a
new_mount '{"version":1,"tables":{"t":{"families":{"f":{}}},"long":{"families":{"f":{}}}}}'
"$python" -S -c '
for i in range(100):
    print("{\"key\":\"%d\",\"families\":{\"f\":{\"q\":\"%s\"}}}" % (i, "a" * 24))' >"$m/long/.rows"
# The kernel shows the memory of a server to root alone.
[ "$(id -u)" != 0 ] || check_eq "each thread has a guard below its stack that no function steps over" 65536 "$("$python" -S -c '
import sys
maps = [line.split() for line in open("/proc/%s/maps" % sys.argv[1])]
limit = next(line for line in open("/proc/%s/limits" % sys.argv[1]) if "stack" in line).split()[3]
stack = int(limit) if limit.isdigit() else 2 << 20
found, guard = [], (0, 0)
for line in maps:
    start, end = (int(at, 16) for at in line[0].split("-"))
    if line[1] == "---p":
        guard = start, end
    elif line[1] == "rw-p" and guard[1] == start and end - start == stack:
        found.append(start - guard[0])
print(*sorted(set(found)))' "$(mount_pid "$m")")"
before=$(threads)
within served "$(mount_pid "$m")"
if (($(id -u) != 0)); then
	prlimit --pid "$(mount_pid "$m")" --nproc=1:1
	serves "without another thread"
	check_eq "there was none" "$before" "$(threads)"
else
	serves "with threads"
fi
unmount_store "$m"

# A server that ends unmounts, also where no further process may be started for it.
if (($(id -u) != 0)); then
	mount_store "$TMP/s" "$m"
	pid=$(mount_pid "$m")
	within served "$pid"
	for process in "$pid" $(pgrep -P "$pid"); do
		prlimit --pid "$process" --nproc=1:1
	done
	kill -TERM "$pid"
	check "without another process: it ends" within ended "$pid"
	check "and has unmounted" not_mounted "$m"
	unmount_store "$m"
fi

# With few from the beginning it serves, or says that it cannot; it undoes the mounts that it had
# made by then.
few() {
	local pid status=0
	bash -c 'ulimit -u "$1" && exec "$2" -f "$3" "$4"' - "$1" "$BUILD/rowfs" "$TMP/s" "$m" \
		>"$TMP/few" 2>&1 &
	pid=$!
	track_mount "$m"
	check "$1 processes: it serves or ends" within served "$pid"
	# One that is mounted may still find that it can start no thread, and ends.
	if sh -c 'cd "$0/t" && mkdir -p few/f && echo 1 >few/f/q' "$m" 2>/dev/null; then
		check "$1 processes are enough: it is unmounted" within fusermount3 -u "$m"
	else
		check "$1 processes are too few: it ends" within ended "$pid"
	fi
	wait "$pid" || status=$?
	check "$1 processes: exit $status" test "$status" -le 1
	((status == 0)) || check "with a reason" grep -q '^rowfs: ' "$TMP/few"
	check "nothing is mounted then" within not_mounted "$m"
}

if (($(id -u) != 0)); then
	own=$(ps -L -u "$(id -u)" --no-headers | wc -l)
	for more in 1 2 3 4 5 6 8 10 12; do
		few $((own + more))
	done
fi

finish
