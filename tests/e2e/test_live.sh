#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Live files with the tools that people use, and the lines of /.rowfs/trace.

. "$(dirname "$0")/lib.sh"

new_mount '{"version":1,"tables":{"t":{"families":{"f":{}}},
	"copy":{"families":{"f":{}}},
	"coded":{"keys":{"segments":["a",{"name":"n","codec":"pad","width":5}],"salt":{"buckets":4}},"families":{"f":{}}}}}' \
	-o autodir
trace=$m/.rowfs/trace
f=$m/t/.changes

# ---- Tools ---------------------------------------------------------------------------------------

# tool NAME EXPECTED COMMAND [FILES]: what it prints of lines 1, 2, … that come 0.1 s apart once it has
# opened the file (so many times), until it ends by itself.
tool() {
	local pid writer
	no_files_open
	bash -c "$3" >"$TMP/tool" 2>&1 &
	pid=$!
	track_pid "$pid"
	{
		files_open "${4:-1}"
		for ((i = 1; ; i++)); do
			put "$m/t/.rows" "{\"key\":\"k\",\"families\":{\"f\":{\"q\":[{\"ts\":$i,\"value\":\"v$i\"}]}}}"
			sleep 0.1
		done
	} &
	writer=$!
	within ended "$pid"
	check_eq "$1" "$2" "$(cat "$TMP/tool")"
	kill "$writer" 2>/dev/null
	wait "$writer" 2>/dev/null
}

export f trace
# shellcheck disable=SC2016 # the command's own
{
	only='grep --line-buffered -o "v[0-9][0-9]*"'
	tool "head -n 1" v1 "head -n 1 \$f | $only"
	tool "head -n 3 in two processes" $'v1\nv2\nv3' "{ head -n 1; head -n 2; } <\$f | $only"
	tool "timeout cat" $'v1\nv2\nv3' "timeout 1000 cat \$f | $only | head -n 3"
	tool "grep -m" v3 "grep -m 1 v3 \$f | $only"
	tool "tail -f" $'v1\nv2\nv3' "tail -s 0.2 -f \$f | $only | head -n 3; :"
	tool "tail -n +1 -f" $'v1\nv2\nv3' "stdbuf -oL tail -n +1 -f \$f | $only | head -n 3; :"
	tool "tail -F, and another one" $'v1\nv1' \
		"tail -s 0.2 -f \$f | head -n 1 | $only & tail -s 0.2 -F \$f | head -n 1 | $only; wait" 2
	tool "jq" $'"v1"\n"v2"' 'jq --unbuffered .families.f.q[0].value $f | head -n 2'
	tool "jq -n first" '"v1"' 'jq -n "first(inputs).families.f.q[0].value" $f'
	tool "while read" $'v1\nv2\nv3\nv4' \
		'while read -r l; do l=${l##*:\"}; l=${l%%\"*}; echo "$l"; [ "$l" = v4 ] && break; done <$f'
	tool "sh: while read" $'v1' "dash -c 'while read -r l; do echo \"\$l\"; break; done <\$f' | $only"
	tool "dd" $'v1' "dd if=\$f bs=64k count=1 status=none | $only"
	tool "sed q" $'v2' "sed -n '2{p;q}' \$f | $only"
	tool "awk" $'v1\nv2' "mawk -W interactive '{ print } NR == 2 { exit }' \$f | $only"
	tool "python" $'v1\nv2' "python3 -c 'import sys
for n, l in zip(range(2), open(sys.argv[1])): print(l, end=\"\", flush=True)' \$f | $only"
	tool "perl" 'v1' "perl -ne 'print; exit' \$f | $only"
}
check_eq "timeout ends a waiting cat" 124 "$(
	timeout 0.2 cat "$f"
	echo $?)"
check_eq "O_NONBLOCK: EAGAIN, then a line" $'EAGAIN\nv' "$(python '
fd = os.open(a[0], os.O_RDONLY | os.O_NONBLOCK)
print(error(os.read, fd, 10))
put(a[1], "v")
print(json.loads(os.read(fd, 1000))["families"]["f"]["q"][0]["value"])' "$f" "$m/t/k/f/q")"
check_eq "poll, select and epoll" $'[]\n[] [3]\n1\n1\n1\n[]' "$(python '
import select
fd = os.open(a[0], os.O_RDONLY)
p, e = select.poll(), select.epoll()
p.register(fd, select.POLLIN)
print(p.poll(100))
for _ in range(20): select.select([fd], [], [], 0.005)
none = select.select([fd], [], [], 0)[0]
threading.Timer(0.2, put, (a[1], "v")).start()
print(none, select.select([fd], [], [])[0])
os.read(fd, 100000)
threading.Timer(0.2, put, (a[1], "v")).start()
print(len(p.poll()))
os.read(fd, 100000)
e.register(fd, select.EPOLLIN)
threading.Timer(0.2, put, (a[1], "v")).start()
print(len(e.poll()))
print(len(p.poll(0)))
os.read(fd, 100000)
print(p.poll(0))' "$f" "$m/t/k/f/q")"
for live in "$f" "$trace"; do
	check_eq "edge-triggered epoll tells of each line behind those that were read: ${live##*/}" $'1\n1\n1\n1\n1' "$(python '
import select
fd, e = os.open(a[0], os.O_RDONLY | os.O_NONBLOCK), select.epoll()
e.register(fd, select.EPOLLIN | select.EPOLLET)
for _ in range(5):
    timer = threading.Timer(0.1, put, (a[1], "v"))
    timer.start()
    print(len(e.poll()))
    timer.join()
    while error(os.read, fd, 100000) == "ok": pass' "$live" "$m/t/k/f/q")"
done
check_eq "other files are always ready" 1 "$(python '
import select
print(select.select([os.open(a[0], os.O_RDONLY)], [], [])[0] != [] and 1)' "$m/t/k/f/q")"
check_eq "a signal ends a read: EINTR" "-1 EINTR" "$(python '
buf = ctypes.create_string_buffer(10)
fd = os.open(a[0], os.O_RDONLY)
signal.signal(signal.SIGALRM, lambda *_: None)
signal.siginterrupt(signal.SIGALRM, True)
signal.setitimer(signal.ITIMER_REAL, 0.2, 0.2)
print(libc.read(fd, buf, 10), errno.errorcode[ctypes.get_errno()])' "$f")"
check_eq "a signal that is ignored does not" "v" "$(python '
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
fd = os.open(a[0], os.O_RDONLY)
threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGUSR1)).start()
threading.Timer(0.4, put, (a[1], "v")).start()
print(json.loads(os.read(fd, 10000))["families"]["f"]["q"][0]["value"])' "$f" "$m/t/k/f/q")"
check_eq "a reader seeks back, but not before its first byte" "same ESPIPE" "$(python '
fd = os.open(a[0], os.O_RDONLY)
for n in range(100): put(a[1], "v" * 3000)
text = b"".join(os.pread(fd, 4000, i * 4000) for i in range(50))
again = b"".join(os.pread(fd, 2000, i * 2000) for i in range(100))
for n in range(500): put(a[1], "v" * 3000)
for n in range(300): os.pread(fd, 4000, 200000 + n * 4000)
print("same" if text == again and len(text) == 200000 else "other", error(os.pread, fd, 1, 0))' "$f" "$m/t/k/f/q")"
check_eq "an exact read of many bytes does not wait for the next" True "$(python '
fd = os.open(a[0], os.O_RDONLY)
for n in range(1000): put(a[1], "v" * 3000)
got = 0
while got < 2 << 20: got += len(os.read(fd, 8 << 20))
print(got >= 2 << 20)' "$f" "$m/t/k/f/q")"
no_files_open
cat "$f" >/dev/null &
reader=$!
files_open 1
kill -9 "$reader"
check "kill -9 ends a reader" within ended "$reader"
check "and closes its file" no_files_open

# ---- Sizes, drops and removals -------------------------------------------------------------------

head -n 1 "$f" | wc -c >"$TMP/large" &
reader=$!
files_open 1
head -c 73400320 /dev/zero | tr '\0' a >"$m/t/large/f/q"
within ended "$reader"
check_eq "a waiting reader gets a value of 70 MiB" 1 "$(($(cat "$TMP/large") / 73400320))"
rm -r "$m/t/large"

# A file that has a reader which follows it has a size; a copy by it would end there.
no_files_open
tail -f "$f" >/dev/null &
tail=$!
track_pid "$tail"
files_open 1
put "$m/t/k/f/q" v
check "a file that is followed has a size" within test -s "$f"
cat "$f" >"$m/copy/.rows" &
mirror=$!
track_pid "$mirror"
files_open 3 # with its output
for i in 1 2 3 4 5 6 7 8 9; do put "$m/t/copied/f/q$i" "$i"; done
put "$m/t/.rows" '{"key":"copied","families":{"f":{"last":"value"}}}'
check "a mirror beside tail -f" within test -f "$m/copy/copied/f/last"
check_eq "and its rows" "$(cat "$m/t/copied/.row")" "$(cat "$m/copy/copied/.row")"
kill "$tail" "$mirror"
check "both end" no_files_open

# A drop goes in the order of keys: it has not ended while the last row is there.
check_eq "each reader that opens before the end of a drop has its line" "True True" "$(python '
with open(a[0] + "/.rows", "w") as rows:
    for i in range(100000): rows.write("{\"key\":\"k%05d\",\"families\":{\"f\":{\"q\":\"v\"}}}\n" % i)
drop = threading.Thread(target=put, args=(a[0] + "/.drop", "copy\n"))
def reader(): return os.open(a[0] + "/.changes", os.O_RDONLY | os.O_NONBLOCK)
def last_row():
    try:
        with open(a[0] + "/k99999/.row") as row: return row.read() != ""
    except OSError: return False
fds, during = [reader()], []
drop.start()
while len(during) < 400:
    fd = reader()
    if not last_row(): break
    during.append(fd)
    fds.append(fd)
drop.join()
def read(fd):
    try: return os.read(fd, 1000)
    except BlockingIOError: return b""
print(len(during) > 2, {read(fd) for fd in fds} == {b"{\"dropped\":\"\"}\n"})' "$m/copy")"

check_eq "a removed table ends a poll, then the file, and has no open" "[1] b'' b'' ESTALE" "$(python '
import select
os.mkdir(a[0])
directory = os.open(a[0], os.O_RDONLY | os.O_DIRECTORY)
fd = os.open(a[0] + "/.changes", os.O_RDONLY | os.O_NONBLOCK)
waits = os.open(a[0] + "/.changes", os.O_RDONLY)
p = select.poll()
p.register(fd, select.POLLIN)
threading.Timer(0.2, os.rmdir, (a[0],)).start()
print([event for _, event in p.poll()], os.read(fd, 10), os.read(waits, 10), error(lambda: os.open(".changes", os.O_RDONLY, dir_fd=directory)))' "$m/gone")"

# ---- The trace -----------------------------------------------------------------------------------

check_eq "its mode and size" "600 0" "$(stat -c '%a %s' "$trace")"
check_eq "it is not listed" "" "$(find "$m/.rowfs" -name trace)"
fail_with "it cannot be written" - 'not permitted' put "$trace" x

# traced COMMAND…: the lines of the trace that the command makes.
traced() {
	local fd
	exec {fd}<"$trace"
	"$@" >/dev/null 2>&1
	stat "$m/coded/.none" >/dev/null 2>&1
	jq -nc 'label $out | inputs | if .error == "ENOENT" and .table == "coded" then break $out else . end' <&"$fd"
	exec {fd}<&-
}
put "$m/coded/.rows" '{"key":"x\"y#7","families":{"f":{"q":"value"}}}'
traced cat "$m/coded/x\"y/7/f/q" >"$TMP/lines"
check_eq "its members" '["time","pid","command","uid","operation","table","key","rows","bytes","us","error"]' \
	"$(jq -c 'select(.operation == "read") | keys_unsorted' "$TMP/lines" | head -n 1)"
check_eq "a read" "[\"cat\",$(id -u),\"coded\",\"x\\\"y#7\",5,null]" \
	"$(jq -c 'select(.operation == "read") | [.command,.uid,.table,.key,.bytes,.error]' "$TMP/lines")"
check_eq "the way to it" '["x\"y","x\"y#7"]' \
	"$(jq -c 'select(.operation == "lookup" and .prefix) | .prefix' "$TMP/lines" | sort -u | jq -sc .)"
check_eq "and the names on it" "x\"y 7 f q" "$(jq -r 'select(.operation == "lookup").name' "$TMP/lines" | sed '/^\.none$/d' | paste -sd ' ')"
check_eq "its time is now, and its process cat's" true "$(jq -s "
	all(.[]; .us >= 0 and .us < 1800e6 and (now - (.time[:19] + \"Z\" | fromdate)) < 1800) and ([.[] | select(.command == \"cat\").pid] | unique | length == 1)" \
	"$TMP/lines")"
check_eq "an error, and the name that is not there" '"ENOENT" "t" ".no\"ne"' "$(traced stat "$m/t/.no\"ne" | jq -s 'map(select(.name)) | .[-1] | .error, .table, .name' | xargs -d '\n')"
check_eq "written bytes" 70000 "$(traced cp <(head -c 70000 /dev/zero) "$m/t/k/f/big" |
	jq -s 'map(select(.operation == "write").bytes) | add')"
check_eq "rows that are read" 3 "$(
	for key in 1 2 3; do put "$m/t/.rows" "{\"key\":\"r#$key\",\"families\":{\"f\":{\"q\":\"v\"}}}"; done
	traced cat "$m/t/r/.rows" | jq -s 'map(select(.operation == "read").rows) | add')"
check_eq "none of its own requests" 0 "$(
	own() {
		stat "$trace"
		timeout 0.3 cat "$trace"
	}
	traced own | grep -cE '"(open|read|getattr|release|flush|poll)".*"table":null')"

# The lines are as many as the metrics count, kind by kind.
answered() {
	sed -nE 's/^rowfs_request_duration_seconds_count\{operation="([a-z_]*)"\} (.*)/\1 \2/p' "$m/.rowfs/metrics"
}
answered | sort >"$TMP/before"
traced "$python" -S -c '
import os, sys
t = sys.argv[1]
for i in range(300):
    d = f"{t}/n{i % 7}/{i % 3}"
    os.makedirs(d, exist_ok=True)
    with open(f"{d}/f/q{i % 5}", "w") as file: file.write("v" * i)
    os.listdir(t), os.listdir(f"{d}/f"), os.stat(f"{d}/f/q{i % 5}")
    if i % 10 == 0: os.rename(f"{d}/f/q{i % 5}", f"{d}/f/other"); os.remove(f"{d}/f/other")
' "$m/t" >"$TMP/lines"
answered | sort >"$TMP/after"
for kind in write readdir rename unlink create; do
	check_eq "one line for each $kind" "$(join -a 2 -e 0 -o 0,1.2,2.2 "$TMP/before" "$TMP/after" | awk -v "k=$kind" '$1 == k { print $3 - $2 }')" \
		"$(jq -r .operation "$TMP/lines" | grep -cx "$kind")"
done
check_eq "the names of a move, a fifo and links" "a b c d" "$(traced "$python" -S -c '
import os, sys
os.chdir(sys.argv[1])
open("a", "w").close()
for act in lambda: os.rename("a", "x"), lambda: os.mkfifo("b"), lambda: os.symlink("x", "c"), lambda: os.link("x", "d"):
    try: act()
    except OSError: pass
' "$m/t/k/f" | jq -r 'select(.operation | IN("rename", "mknod", "symlink", "link")) | .name' | xargs)"
check_eq "many readers see the same" 1 "$(
	no_files_open
	for i in 1 2 3 4 5 6 7 8; do
		sed '/"unlink"/q' "$trace" | tail -n 1 | grep -c unlink >"$TMP/reader.$i" &
	done
	files_open 8
	rm "$m/t/k/f/big"
	wait
	cat "$TMP"/reader.* | sort -u)"
no_files_open
readers=()
for i in 1 2 3 4 5 6 7 8; do
	cat "$f" >"$TMP/reader.$i" 2>&1 &
	readers+=($!)
	track_pid $!
done
cat "$trace" >"$TMP/rest" &
reader=$!
track_pid "$reader"
files_open 9
put "$m/t/k/f/q" v
for i in 1 2 3 4 5 6 7 8; do # until it waits for the second line
	within eval "[ -s $TMP/reader.$i ] && grep -q '^State:.S' /proc/${readers[i - 1]}/status"
done
ls "$m/t" >/dev/null
kill "$(mount_pid "$m")"
check "it ends with the mount" within ended "$reader"
statuses=()
for pid in "${readers[@]}"; do
	wait "$pid"
	statuses+=($?)
done
check_eq "readers that wait end without an error" "0 0 0 0 0 0 0 0" "${statuses[*]}"
check "and has its last lines" grep -q '"readdir' "$TMP/rest"
unmount_store "$m"
finish
