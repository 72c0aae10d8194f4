#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Long reads of one user leave the mount to others: forty of them run or wait in his queue, while he himself, other
# users and root read, and root and others have long reads of their own. Forty reads are more than a mount had
# threads for.

. "$(dirname "$0")/lib.sh"

[ "$(id -u)" = 0 ] || skip "only root acts as several users"

reader=2001 other=2002
never='(?:a|aa){1,24}[bc]' # takes long to find that it does not match 24 letters a
slow=slow/.value/$never/.count
short=slow/.first/200/.value/$never/.count

# as UID COMMAND…: in the mount, whose directory that user may not be able to reach by its path.
as() {
	cd "$m" && exec env --default-signal=INT setpriv --reuid="$1" --regid="$1" --clear-groups -- "${@:2}"
}

server=0
# spent: the server's processor time, in hundredths of a second.
spent() {
	awk '{ print $14 + $15 }' "/proc/$server/stat"
}
# low: the threads of the server with a low priority, and their processor time.
low() {
	cat /proc/"$server"/task/*/stat 2>/dev/null | sed 's/.*) //' |
		awk '$17 > 0 { threads++; time += $12 + $13 } END { print threads + 0, time + 0 }'
}
# high: how many threads have the usual one.
high() {
	cat /proc/"$server"/task/*/stat 2>/dev/null | sed 's/.*) //' | awk '$17 == 0 { threads++ } END { print threads + 0 }'
}

# unpadded: without the spaces behind a number that may grow.
unpadded() {
	sed 's/ *$//'
}
# begin PATH: forty processes of the reader read it.
begin() {
	local i
	readers=()
	for i in {1..40}; do
		(as $reader cat "$1") >"$TMP/out.$i" 2>"$TMP/err.$i" &
		readers+=($!)
		track_pid $!
	done
	within begun
	within eval "((\$(spent) > $(spent) + 10))"
}
# begun: each of them has the file open, or has ended.
begun() {
	local pid
	for pid in "${readers[@]}"; do
		ended "$pid" || find "/proc/$pid/fd" -lname '*/.count' 2>/dev/null | grep -q . || return
	done
}
# alive: how many of them have not ended.
alive() {
	local pid count=0
	for pid in "${readers[@]}"; do
		! lib_alive "$pid" || count=$((count + 1))
	done
	echo $count
}
# beside NAME EXPECTED UID COMMAND…: prints that beside the readers, of which most go on.
beside() {
	check_eq "beside forty long reads: $1" "$2" "$(as "${@:3}" 2>&1 | unpadded)"
	check "$1: most of the forty go on" test "$(alive)" -ge 20
}
# soon NAME EXPECTED UID COMMAND…: prints that before the server has worked as long as a read takes it.
soon() {
	local before took
	before=$(spent)
	beside "$@"
	took=$(($(spent) - before))
	check "$1: soon, in $took of $long hundredths" test $took -lt "$long"
}
# end SIGNAL NAME PID…: the signal ends them before the server has worked as long as a read takes it.
end() {
	local before pid took
	before=$(spent)
	kill "-$1" "${@:3}"
	for pid in "${@:3}"; do
		within ended "$pid" || not_ok "$2" "$pid goes on"
	done
	took=$(($(spent) - before))
	check "$2 end soon, in $took of $long hundredths" test $took -lt "$long"
}

make_store "$TMP/s" '{"version":1,"tables":{"slow":{"families":{"f":{}}},"end":{"families":{"f":{}}},"t":{"families":{"f":{}}}}}'
"$python" -S -c '
print("{\"table\":\"slow\"}")
for i in range(3000):
    print("{\"key\":\"%05d\",\"families\":{\"f\":{\"q\":[{\"ts\":1,\"value\":\"%s\"}]}}}" % (i, "ab" if i % 1000 == 9 else "a" * 24))
print("{\"table\":\"end\"}")
for i in range(21200):
    print("{\"key\":\"%05d\",\"families\":{\"f\":{\"q\":[{\"ts\":1,\"value\":\"%s\"}]}}}" % (i, "ab" if 200 <= i < 20200 else "a" * 24))
print("{\"table\":\"t\"}")
for i in range(100):
    print("{\"key\":\"%d#%d\",\"families\":{\"f\":{\"q\":[{\"ts\":1,\"value\":\"%03d\"}]}}}" % (i % 10, i, i))
' >"$TMP/rows"
"$BUILD/rowfs-load" "$TMP/s" <"$TMP/rows" >"$TMP/loaded" 2>&1 || die "rowfs-load: $(cat "$TMP/loaded")"
mount_store "$TMP/s" "$m" -o allow_other
server=$(mount_pid "$m")
all='{"rows":3,"cells":3,"bytes":6}'
first='{"rows":1,"cells":1,"bytes":2}'
before=$(spent)
check_eq "a long read" "$all" "$(unpadded <"$m/$slow")"
long=$(($(spent) - before)) # hundredths of a second
check "is one" test "$long" -gt 50
usual=$(high)

# ---- Beside forty long reads of a user -------------------------------------------------------

begin "$slow"
check "they are read with a low priority" test "$(low | cut -d ' ' -f 2)" -gt 0
for user in $other $reader; do
	soon "cat of $user" 042 "$user" cat t/2/42/f/q
	soon "stat of $user" 3 "$user" stat -c %s t/3/43/f/q
	soon "ls of $user" "$(printf '%s\n' {0..9})" "$user" ls t
	soon "a row of $user" '{"key":"4#44","families":{"f":{"q":[{"ts":1,"value":"044"}]}}}' "$user" cat t/4/44/.row
done
soon "a small count of root" '{"rows":100,"cells":100,"bytes":300}' 0 cat t/.count
beside "a long count of root" "$all" 0 cat "$slow"
beside "a long count of another user" "$first" $other cat "$short"
end INT "those that began last" "${readers[@]:30:5}"
end KILL "others that began last" "${readers[@]:35}"
end INT "those that began first" "${readers[@]:0:5}"
end KILL "the rest" "${readers[@]:5:25}"
wait "${readers[@]}" 2>/dev/null

# ---- Then all others are served ----------------------------------------------------------------

begin "$short"
wait "${readers[@]}"
check_eq "each of forty ends with the number" "40 $first" "$(cat "$TMP"/out.* "$TMP"/err.* | unpadded | sort | uniq -c | sed 's/^ *//')"
check "as many threads serve other requests as before" test "$(high)" -ge "$usual"
check "those for long reads end" within eval '[ "$(low)" = "0 0" ]'

# ---- Reads of one file beside each other -------------------------------------------------------

# Eight threads of each of two processes want the end of an open stream, for which the first one works long: those that
# wait for it leave it the places of their user.
for i in 1 2; do
	python '
file, size, last = os.open(q, os.O_RDONLY), 0, []
while size < us - (1 << 17):
    size += len(os.pread(file, 1 << 17, size))
def end():
    at, got = size, b""
    while piece := os.pread(file, 1 << 17, at):
        at, got = at + len(piece), (got + piece)[-63:]
    last.append(got.decode())
threads = [threading.Thread(target=end) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(*last, sep="", end="")' "$m/end/.value/$never/.rows" $((20000 * 63)) >"$TMP/end.$i" &
	ends[i]=$!
	track_pid $!
done
for i in 1 2; do
	check "eight threads read an open stream, $i" within ended "${ends[i]}"
	check_eq "each has its end, $i" '8 {"key":"20199","families":{"f":{"q":[{"ts":1,"value":"ab"}]}}}' \
		"$(sort "$TMP/end.$i" | uniq -c | sed 's/^ *//')"
done

# ---- The end of the mount ----------------------------------------------------------------------

begin "$slow"
fail_with "the mount is in use" - 'busy' fusermount3 -u "$m"
kill -TERM "$server"
check "SIGTERM ends the server beside forty long reads" within ended "$server"
for pid in "${readers[@]}"; do
	within ended "$pid" || not_ok "they end as well" "$pid goes on"
done
check_eq "none had a number" "" "$(cat "$TMP"/out.*)"
unmount_store "$m"
mount_store "$TMP/s" "$m" -o allow_other
server=$(mount_pid "$m")
begin "$slow"
check "a forced unmount" umount -f -l "$m"
check "ends the server, too" within ended "$server"
for pid in "${readers[@]}"; do
	within ended "$pid" || not_ok "its readers end as well" "$pid goes on"
done

finish
