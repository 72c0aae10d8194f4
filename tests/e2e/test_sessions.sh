#!/bin/bash
# SPDX-License-Identifier: MIT
# Write sessions that meet: of threads, processes and names. Each check is named after a fault that
# was there.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

m=$TMP/m
make_store "$TMP/s" '{"version":1,"tables":{"t":{"families":{"f":{}}}}}'
mount_store "$TMP/s" "$m"
f=$m/t/row/f
mkdir -p "$f"

cat >"$TMP/threads.py" <<'END'
# A new name is opened by one thread while another closes it; then it is written.
import os, sys, threading
path = sys.argv[1]
for i in range(300):
    name = "%s/n%d" % (path, i)
    first = os.open(name, os.O_CREAT | os.O_WRONLY)
    closer = threading.Thread(target=os.close, args=(first,))
    closer.start()
    try:
        second = os.open(name, os.O_WRONLY)
        os.write(second, b"x")
        os.close(second)
    except FileNotFoundError:
        pass
    closer.join()
print(len(os.listdir(path)))
END
check_eq "a hidden name that is opened while it is closed hangs nothing" 300 \
	"$(timeout 60 python3 "$TMP/threads.py" "$f")"
rm -r "$f"
mkdir -p "$f"

cat >"$TMP/exclusive.py" <<'END'
# Four processes race for each of many names.
import os, sys
path, count = sys.argv[1], 1500
def racer(out):
    won = []
    for i in range(count):
        try:
            fd = os.open("%s/x%d" % (path, i), os.O_CREAT | os.O_EXCL | os.O_WRONLY)
            os.write(fd, b"w")
            os.close(fd)
            won.append(i)
        except FileExistsError:
            pass
    os.write(out, (" ".join(map(str, won)) + "\n").encode())
pipes = []
for _ in range(4):
    r, w = os.pipe()
    if os.fork() == 0:
        racer(w)
        os._exit(0)
    os.close(w)
    pipes.append(r)
won = []
for r in pipes:
    won += os.fdopen(r).read().split()
for _ in range(4):
    os.wait()
print(len(won), len(set(won)))
END
check_eq "of racers for a name with O_EXCL one wins" "1500 1500" \
	"$(timeout 100 python3 "$TMP/exclusive.py" "$f")"

cat >"$TMP/creators.py" <<'END'
# Two processes make one new name; each sees its own, and both commit.
import os, sys
name = sys.argv[1]
mine = os.open(name, os.O_CREAT | os.O_WRONLY)
ready, go = os.pipe(), os.pipe()
if os.fork() == 0:
    other = os.open(name, os.O_CREAT | os.O_WRONLY)
    os.write(ready[1], b"r")
    os.read(go[0], 1)
    os._exit(0 if os.path.exists(name) else 1)
os.read(ready[0], 1)
seen = os.path.exists(name)
os.write(go[1], b"g")
print(seen, os.wait()[1] == 0)
END
check_eq "of two that make one name each sees its own" "True True" \
	"$(python3 "$TMP/creators.py" "$f/both")"

cat >"$TMP/thread.py" <<'END'
# A thread opens and ends; its process goes on with the file.
import os, sys, threading
name, fds = sys.argv[1], []
opener = threading.Thread(target=lambda: fds.append(os.open(name, os.O_CREAT | os.O_WRONLY)))
opener.start()
opener.join()
os.write(fds[0], b"data")
seen = os.path.exists(name)
copy = os.dup(fds[0])
os.close(fds[0])
print(seen, open(name).read())
END
check_eq "a file is its process's when the thread that opened it has ended" "True data" \
	"$(python3 "$TMP/thread.py" "$f/threaded")"

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
	python3 -c 'import os, sys; os.utime(3, (2000000000, 2000000000))'
exec 3<&-
check_eq "and is its timestamp" 2000000000000000 "$(ls "$f/touched@")"

finish
