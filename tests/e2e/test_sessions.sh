#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Write sessions that meet: of threads, processes and names. Each check is named after a fault that
# was there. And processes that write, read, rename and remove the same columns at once: each read is
# one whole value. A writer sees, with at most one exception, the size of its own value, with any
# entries in the kernel's cache.
#
#   ROWFS_FULL=1   more acts of each process at once (environment)

. "$(dirname "$0")/lib.sh"

new_mount '{"version":1,"tables":{"t":{"families":{"f":{}}}}}'
f=$m/t/row/f
mkdir -p "$f"

check_eq "a hidden name that is opened while it is closed hangs nothing" 300 "$(python '
signal.alarm(60)
for i in range(300): # one thread opens a new name while another closes it; then it is written
    name = "%s/n%d" % (q, i)
    closer = threading.Thread(target=close, args=(os.open(name, os.O_CREAT | os.O_WRONLY),))
    closer.start()
    try:
        second = os.open(name, os.O_WRONLY)
        write(second, b"x")
        close(second)
    except FileNotFoundError:
        pass
    closer.join()
print(len(os.listdir(q)))' "$f")"
rm -r "$f"
mkdir -p "$f"

check_eq "of racers for a name with O_EXCL one wins" "1500 1500" "$(python '
signal.alarm(100)
def racer():
    won = []
    for i in range(1500):
        try: fd = os.open("%s/x%d" % (q, i), os.O_CREAT | os.O_EXCL | os.O_WRONLY)
        except FileExistsError: continue
        write(fd, b"w")
        close(fd)
        won.append(str(i))
    return " ".join(won)
won = " ".join([pipe.read() for pipe in [started(racer) for _ in range(4)]]).split()
print(len(won), len(set(won)))' "$f")"

check_eq "of two that make one name each sees its own" "True True" "$(python '
os.open(q, os.O_CREAT | os.O_WRONLY)
ready, go = os.pipe(), os.pipe()
def other():
    os.open(q, os.O_CREAT | os.O_WRONLY)
    write(ready[1], b"r")
    os.read(go[0], 1)
    return os.path.exists(q)
second = started(other)
os.read(ready[0], 1)
seen = os.path.exists(q)
write(go[1], b"g")
print(seen, second.read())' "$f/both")"

check_eq "a file is its process's when the thread that opened it has ended" "True data" "$(python '
fds = []
opener = threading.Thread(target=lambda: fds.append(os.open(q, os.O_CREAT | os.O_WRONLY)))
opener.start()
opener.join()
write(fds[0], b"data")
seen = os.path.exists(q)
os.dup(fds[0])
close(fds[0])
print(seen, get(q))' "$f/threaded")"

exec 3>>"$f/touched"
echo value >"$f/touched"
exec 3>&-
check_eq "a file that was only created does not hide what another wrote" value "$(cat "$f/touched")"
check_eq "and makes no version" 1 "$(find "$f/touched@" -type f | wc -l)"

fail_with "a family of the empty key cannot be made" - 'Invalid argument' mkdir -p "$m/t/%/f"

mkdir -p "$m/t/gone/f"
mkfifo "$TMP/opened" "$TMP/removed"
(
	echo >"$TMP/opened"
	read -r _ <"$TMP/removed"
	echo data
) >"$m/t/gone/f/z" &
read -r _ <"$TMP/opened"
rm -r "$m/t/gone"
echo >"$TMP/removed"
wait $!
check_eq "a directory removed under a writer comes back with what it writes" data \
	"$(cat "$m/t/gone/f/z")"
check "and can be used" bash -c "echo y >'$m/t/gone/f/y'"

exec 3<"$f/touched"
check "the time of a cell is set through a file that is open to read" \
	python 'os.utime(3, (2000000000, 2000000000))'
exec 3<&-
check_eq "and is its timestamp" 2000000000000000 "$(ls "$f/touched@")"

# ---- Many at once ----------------------------------------------------------------------------

acts=$(rounds 400 3000) # of a process

# race PROCESSES ACT…
race() {
	local processes=$1
	shift
	check_eq "$processes processes: $*" ok \
		"$("$python" -S "$(dirname "$0")/races.py" "$m/t/row$((row++))/f" "$acts" "$processes" "$@" 2>>"$TMP/acts")"
}

row=1
race 4 write edit read map look
race 4 write remove read
race 4 write move read
race 3 edit edit remove
race 6 write read map remove move edit look
race 6 write read remove move edit look resume
for act in write edit read map_it remove move look resume; do
	check "each was done: $act" grep -q "$act:" "$TMP/acts"
done
check "nothing is left open" no_files_open

finish
