#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Operations of programs on open files: write in the middle, leave holes, map, sync, unlink, die.

. "$(dirname "$0")/lib.sh"

f=$m/t/row/f

# Functions for the codes below, besides calls.py: the value that another process reads, the column's value, and
# a process that is killed with the column open.
prelude='
import resource
RW, TRUNC, CREATE = os.O_RDWR, os.O_RDWR | os.O_CREAT | os.O_TRUNC, os.O_RDWR | os.O_CREAT
def seen(): return output("/bin/cat", q)
def put(data):
    with open(q, "wb") as file: file.write(data)
def killed(act, flags, number=9):
    """Another process opens the column, acts on the open file, and is killed."""
    if os.fork() == 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        number == 9 or signal.signal(number, signal.SIG_DFL)
        act(os.open(q, flags))
        os.kill(os.getpid(), number)
    os.wait()
'

# run NAME BEFORE VERSIONS VALUE CODE: Python runs on a column that has the value BEFORE (none: no
# column); then it has so many versions more, the newest one being VALUE (as printf %b has it).
run() {
	local name=$1 before=$2 versions=$3
	rm -f "$f/q"
	[ "$before" = none ] || printf %b "$before" >"$f/q"
	[ "$before" = none ] || versions=$((versions + 1))
	printf %b "$4" >"$TMP/want"
	check_eq "$name" ok "$(call "$prelude$5" "$f/q" | tail -n 1)"
	check_eq "$name: versions" "$versions" "$(entries "$f/q@" | wc -l)"
	if ((versions > 0)); then
		check "$name: the value" cmp "$TMP/want" "$f/q"
	fi
	check_eq "$name: names" "$( ((versions > 0)) && echo q)" "$(entries "$f")"
}

new_mount '{"version":1,"tables":{"t":{"families":{"f":{}}}}}'
mkdir -p "$f"

# ---- Where is written ------------------------------------------------------------------------

run "pwrite in the middle" 0123456789 1 012xy56789 'fd = os.open(q, RW); os.pwrite(fd, b"xy", 3); os.close(fd)'
run "pwrite from the end to the start" none 1 abc \
	'fd = os.open(q, CREATE)
for i in (2, 1, 0): os.pwrite(fd, b"abc"[i:i + 1], i)
os.close(fd)'
run "a hole in front" none 1 '\0\0\0\0x' 'fd = os.open(q, CREATE); os.pwrite(fd, b"x", 4); os.close(fd)'
run "a hole behind" ab 1 'ab\0\0c' 'fd = os.open(q, RW); os.pwrite(fd, b"c", 4); os.close(fd)'
run "a large hole" none 1 '' 'fd = os.open(q, CREATE); os.pwrite(fd, b"x", 3000000)
assert os.pread(fd, 10, 2999995) == b"\0" * 5 + b"x"
os.ftruncate(fd, 0); os.close(fd)'
run "ftruncate to less" 0123456789 1 012 'fd = os.open(q, RW); os.ftruncate(fd, 3); os.close(fd)'
run "ftruncate to more" 012 1 '012\0\0' 'fd = os.open(q, RW); os.ftruncate(fd, 5); os.close(fd)'
run "ftruncate to less, then more: zeros" 0123456789 1 '012\0\0' \
	'fd = os.open(q, RW); os.ftruncate(fd, 3); os.ftruncate(fd, 5); os.close(fd)'
run "truncate by path, while it is not open" 0123 1 01 'os.truncate(q, 2)'
run "ftruncate to its own size" 0123 1 0123 'fd = os.open(q, RW); os.ftruncate(fd, 4); os.close(fd)'
run "writing what was there" 0123 1 0123 'fd = os.open(q, RW); os.write(fd, b"0123"); os.close(fd)'
run "opening alone" 0123 0 0123 'fd = os.open(q, RW); os.read(fd, 2); os.close(fd)'
run "opening alone, to append" 0123 0 0123 'os.close(os.open(q, os.O_WRONLY | os.O_APPEND))'
run "opening with O_TRUNC alone" 0123 1 '' 'os.close(os.open(q, TRUNC))'
run "creating alone" none 1 '' 'os.close(os.open(q, CREATE))'
run "creating alone, to append" none 1 '' 'os.close(os.open(q, CREATE | os.O_APPEND))'
run "creating alone, with O_EXCL" none 1 '' 'os.close(os.open(q, CREATE | os.O_EXCL))'
run "a name is reserved at open with O_EXCL, and committed at close" none 1 '' '
fd = os.open(q, CREATE | os.O_EXCL)
assert (error(os.open, q, CREATE | os.O_EXCL), child(error, os.open, q, CREATE | os.O_EXCL)) == ("EEXIST",) * 2
os.close(fd)'
run "creating an older version alone, with O_EXCL" new 2 new '
os.close(os.open(q + "@/77", CREATE | os.O_EXCL))
assert "77" in os.listdir(q + "@")
os.close(os.open(q + "@/78", CREATE))
os.unlink(q + "@/77")
os.rename(q + "@/78", q + "@/79")
os.close(os.open(q + "@/77", os.O_WRONLY | os.O_CREAT | os.O_EXCL))
assert [open(q + "@/" + ts).read() for ts in ("77", "79")] == ["", ""]'
run "writev" none 1 onetwo 'fd = os.open(q, CREATE); os.writev(fd, [b"one", b"two"]); os.close(fd)'
run "copy_file_range" source 1 'sourcesour' \
	'fd = os.open(q, RW); os.lseek(fd, 0, 2)
other = os.open(q, os.O_RDONLY)
os.copy_file_range(other, fd, 4); os.close(fd)'
run "sendfile" source 1 'sourceurce' 'fd = os.open(q, RW); os.lseek(fd, 0, 2)
os.sendfile(fd, os.open(q, os.O_RDONLY), 2, 4); os.close(fd)'
run "posix_fallocate" 01 1 '01\0\0' 'fd = os.open(q, RW); os.posix_fallocate(fd, 0, 4); os.close(fd)'
run "SEEK_END, SEEK_DATA, SEEK_HOLE" 0123 0 0123 'fd = os.open(q, os.O_RDONLY)
assert os.lseek(fd, 0, os.SEEK_END) == 4
assert os.lseek(fd, 1, os.SEEK_DATA) == 1
assert os.lseek(fd, 0, os.SEEK_HOLE) == 4'
run "reading at and behind the end" 0123 0 0123 'fd = os.open(q, os.O_RDONLY)
assert (os.pread(fd, 9, 3), os.pread(fd, 9, 4), os.pread(fd, 9, 1 << 40)) == (b"3", b"", b"")'
run "random writes, compared with a plain model" none 1 '' '
import random
random.seed(5)
fd, model = os.open(q, CREATE), bytearray()
for _ in range(300):
    at, data = random.randrange(200000), os.urandom(random.randrange(1, 9000))
    what = random.randrange(10)
    if what == 0:
        os.ftruncate(fd, at)
        model = model[:at] + bytes(max(0, at - len(model)))
    elif what < 4:
        assert os.pread(fd, 9000, at) == bytes(model[at:at + 9000])
    else:
        os.pwrite(fd, data, at)
        model += bytes(max(0, at - len(model)))
        model[at:at + len(data)] = data
    assert os.fstat(fd).st_size == len(model)
os.fsync(fd)
assert seen() == bytes(model)
os.ftruncate(fd, 0)
os.close(fd)'

# ---- One version -----------------------------------------------------------------------------

run "fsync, then more writes" none 1 onetwothree 'fd = os.open(q, CREATE)
os.write(fd, b"one"); os.fsync(fd); assert seen() == b"one"
os.write(fd, b"two"); assert seen() == b"one"
os.fsync(fd); assert seen() == b"onetwo"
os.write(fd, b"three"); os.close(fd)'
run "fdatasync" old 1 new 'fd = os.open(q, TRUNC); os.write(fd, b"new"); os.fdatasync(fd); assert seen() == b"new"'
run "fsync without a change" old 0 old 'fd = os.open(q, RW); os.fsync(fd); os.close(fd)'
run "fsync and a truncation alone" old 1 '' 'fd = os.open(q, TRUNC); os.fsync(fd); assert seen() == b""'
run "closing twice what was duplicated" old 1 onetwo 'fd = os.open(q, TRUNC); other = os.dup(fd)
os.write(fd, b"one"); os.close(fd); os.write(other, b"two"); os.close(other)'
run "a child that writes and ends" old 1 parentchild 'fd = os.open(q, TRUNC)
os.write(fd, b"parent")
if os.fork() == 0:
    os.write(fd, b"child"); os._exit(0)
os.wait(); assert seen() == b"old"; os.close(fd)'
run "a child that outlives its parent" old 1 parentchild '
fd = os.open(q, TRUNC)
os.write(fd, b"parent")
(r, w), (closed, tell) = os.pipe(), os.pipe()
if os.fork() == 0:
    if os.fork() == 0:
        os.close(r); os.close(tell); os.read(closed, 1); os.write(fd, b"child"); os.close(fd); os._exit(0)
    os._exit(0)
os.wait(); os.close(w); os.close(fd); os.close(tell); os.read(r, 1)'
run "two writers of one column" old 2 two '
one, two = os.open(q, TRUNC), os.open(q, TRUNC)
os.write(one, b"one"); os.write(two, b"two")
assert seen() == b"old"
assert (os.pread(one, 9, 0), os.pread(two, 9, 0)) == (b"one", b"two")
os.close(one); assert seen() == b"one"
os.close(two); assert seen() == b"two"'
run "the last to close is the newest" old 2 one '
one, two = os.open(q, TRUNC), os.open(q, TRUNC)
os.write(one, b"one"); os.write(two, b"two")
os.close(two); os.close(one)'
run "who writes and who reads have what was newest when they opened" old 2 Yld '
writer, reader = os.open(q, RW), os.open(q, os.O_RDONLY)
put(b"other")
os.write(writer, b"Y"); os.close(writer)
assert os.read(reader, 9) == b"old"'
run "two writers, of which the first goes on: its commit replaces its own version" old 2 two '
one, two = os.open(q, TRUNC), os.open(q, TRUNC)
os.write(one, b"one"); os.fsync(one); os.write(two, b"two"); os.close(two)
assert seen() == b"two"
os.write(one, b"+"); os.close(one)
history = sorted(os.listdir(q + "@"))
assert [open(q + "@/" + ts).read() for ts in history] == ["old", "one+", "two"]'
run "a reader has what was when it opened" old 1 new '
reader = os.open(q, os.O_RDONLY)
writer = os.open(q, TRUNC)
os.write(writer, b"new")
assert os.pread(reader, 9, 0) == b"old"
os.close(writer)
assert (os.pread(reader, 9, 0), os.fstat(reader).st_size) == (b"old", 3)
assert seen() == b"new"'
run "reopening an open file through /proc" old 1 newer '
fd = os.open(q, TRUNC); os.write(fd, b"new")
other = os.open("/proc/self/fd/%d" % fd, os.O_RDWR)
os.pwrite(other, b"er", 3)
os.close(other); os.close(fd)'
run "O_APPEND and a reader between two writes" old 1 oldonetwo '
fd = os.open(q, RW | os.O_APPEND)
os.write(fd, b"one"); assert (seen(), os.pread(fd, 9, 0)) == (b"old", b"oldone")
os.write(fd, b"two"); os.close(fd)'
run "O_APPEND keeps what others append" old 2 oldthemme '
fd = os.open(q, os.O_WRONLY | os.O_APPEND)
os.write(fd, b"me")
with open(q, "ab") as other: other.write(b"them")
os.close(fd)'
run "also between two commits" old 2 oldonetwothree '
fd = os.open(q, os.O_WRONLY | os.O_APPEND)
os.write(fd, b"one"); os.fsync(fd)
with open(q, "ab") as other: other.write(b"two")
os.write(fd, b"three"); os.close(fd)'
run "O_SYNC: each write is seen when it returns" old 1 new '
fd = os.open(q, os.O_WRONLY | os.O_TRUNC | os.O_SYNC)
os.write(fd, b"n"); assert seen() == b"n"
os.write(fd, b"ew"); assert seen() == b"new"; os.close(fd)'
# A process that looks the name up while it is opened may cause the file to be reopened without the
# page cache: semantics.md.
run "O_SYNC: one write is one change" old 1 "$(printf '%05000000d' 0)" '
import threading
done, sizes = threading.Event(), set()
def look():
    while not done.is_set():
        sizes.add(os.stat(q).st_size)
looker = threading.Thread(target=look)
fd = os.open(q, os.O_WRONLY | os.O_SYNC)
looker.start()
assert os.write(fd, b"0" * 5000000) == 5000000
done.set(); looker.join(); os.close(fd)
assert sizes <= {3, 5000000}, sizes'
run "O_SYNC, to read as well" none 1 new '
fd = os.open(q, CREATE | os.O_SYNC)
os.write(fd, b"n"); assert seen() == b"n"
os.write(fd, b"ew"); assert seen() == b"new"; os.close(fd)'
run "a write that is to be durable, among others" none 1 onetwothree '
fd = os.open(q, os.O_WRONLY | os.O_CREAT)
os.write(fd, b"one"); assert child(os.path.exists, q) == "False"
os.pwritev(fd, [b"two"], 3, os.RWF_DSYNC); assert seen() == b"onetwo"
os.pwrite(fd, b"three", 6); assert seen() == b"onetwo"; os.close(fd)'
run "O_APPEND and O_SYNC" old 1 oldonetwo '
fd = os.open(q, os.O_WRONLY | os.O_APPEND | os.O_SYNC)
os.write(fd, b"one"); assert seen() == b"oldone"
os.write(fd, b"two"); assert seen() == b"oldonetwo"; os.close(fd)'
for open in "fd = os.open(q, os.O_WRONLY | os.O_CREAT); other = os.open(q, RW); look = os.pread" \
	"other = os.open(q, CREATE); fd = os.open(q, os.O_WRONLY); look = lambda *_: mmap.mmap(other, 11)[2:6]"; do
	run "two descriptors see what the other writes: $open" none 1 one2three4 "$open"'
os.write(fd, b"onetwothree"); assert os.pread(other, 20, 0) == b"onetwothree"
os.pwrite(fd, b"2", 3); assert os.pread(other, 20, 0) == b"one2wothree"
assert look(other, 4, 2) == b"e2wo"
os.pwrite(other, b"2three4", 3); os.ftruncate(fd, 10)
assert os.pread(other, 20, 0) == b"one2three4"
os.close(fd); os.close(other)'
done

# ---- Attributes of unfinished files ------------------------------------------------------------

run "attributes of a new file follow what is done to it" none 1 four '
fd = os.open(q, os.O_WRONLY | os.O_CREAT)
def here(): return os.stat(fd).st_size, os.stat(fd).st_mtime_ns
def there(): s = subprocess.run(["stat", "-c", "%s %.9Y", q], capture_output=True).stdout.split(); return int(s[0]), int(s[1].replace(b".", b""))
assert here()[0] == 0
os.fsync(fd); assert here() == there()
os.utime(q, ns=(0, 2000000000123456000)); assert here() == (0, 2000000000123456000)
os.utime(fd, ns=(0, 2000000001123456000)); assert here() == (0, 2000000001123456000)
os.write(fd, b"fourfive"); assert here()[0] == 8
os.ftruncate(fd, 4); assert here()[0] == 4
os.fsync(fd); assert here() == there() == (4, 2000000001123456000)
os.close(fd)'
run "a new file that was only made, by a descriptor that opens nothing" none 1 "" '
fd = os.open(q, os.O_WRONLY | os.O_CREAT)
path = os.open(q, os.O_PATH); os.stat(path); os.close(fd)
assert os.stat(path).st_mtime_ns == os.stat(q).st_mtime_ns'

run "1,000 small writes" none 1 "$(seq -s '' 1000)" 'fd = os.open(q, CREATE)
for i in range(1, 1001): os.write(fd, b"%d" % i)
os.close(fd)'
run "nothing is left open by a process that ends" old 1 new 'fd = os.open(q, TRUNC); os.write(fd, b"new")'

# ---- Maps ------------------------------------------------------------------------------------

run "reading a map" 0123456789 0 0123456789 '
fd = os.open(q, os.O_RDONLY)
assert mmap.mmap(fd, 10, prot=mmap.PROT_READ)[3:6] == b"345"'
run "a map keeps the value that was opened" old 1 new '
fd = os.open(q, os.O_RDONLY)
data = mmap.mmap(fd, 3, prot=mmap.PROT_READ)
os.close(fd)
put(b"new")
assert data[:] == b"old"'
run "a map of a large value" none 1 '' '
value = os.urandom(3000001)
put(value)
fd = os.open(q, os.O_RDONLY)
data = mmap.mmap(fd, 0, prot=mmap.PROT_READ)
assert data[:] == value
assert data[2999990:] == value[2999990:]
os.unlink(q)
assert data[1500000:1500100] == value[1500000:1500100]
put(b"")'
run "a private map changes nothing" old 0 old '
data = mmap.mmap(os.open(q, RW), 3, flags=mmap.MAP_PRIVATE)
data[0:3] = b"new"'
for end in "data.flush(); os.fsync(fd); data.close(); os.close(fd)" "data.close(); os.close(fd)"; do
	run "writing through a map: $end" 0123456789 1 012xy56789 "
fd = os.open(q, RW)
data = mmap.mmap(fd, 10)
data[3:5] = b'xy'
$end"
done
run "where the file was closed before" 0123456789 1 012xy56789 '
fd = os.open(q, RW)
data = mmap.mmap(fd, 10)
os.close(fd)
data[3:5] = b"xy"
data.close()
while b"xy" not in seen(): time.sleep(0.02)'
run "of a new column" none 1 'mapped' '
fd = os.open(q, CREATE); os.ftruncate(fd, 6)
data = mmap.mmap(fd, 6)
data[:] = b"mapped"
data.close(); os.close(fd)'
run "a map and write(2) see each other" 0123456789 1 ab2yz56789 '
fd = os.open(q, RW)
data = mmap.mmap(fd, 10)
os.pwrite(fd, b"ab", 0)
assert data[0:3] == b"ab2"
data[3:5] = b"yz"
assert os.pread(fd, 5, 0) == b"ab2yz"
assert seen() == b"0123456789"
data.close(); os.close(fd)'
run "a large map" none 1 '' '
fd = os.open(q, CREATE); os.ftruncate(fd, 2000003)
data, value = mmap.mmap(fd, 2000003), os.urandom(2000003)
data[:] = value
data.flush(); data.close(); os.close(fd)
assert seen() == value
put(b"")
os.unlink(q); put(b"")'

# ---- Unlinked while open, killed -------------------------------------------------------------

run "a reader keeps what is unlinked" old 0 old '
fd = os.open(q, os.O_RDONLY); os.unlink(q)
assert not os.path.exists(q)
assert os.pread(fd, 9, 0) == b"old"
os.fstat(fd)
put(b"old")'
for open in "fd = os.open(q, CREATE | os.O_EXCL)" "put(b'old'); fd = os.open(q, RW)"; do
	run "a writer whose column is unlinked reads and writes on: $open" none 0 '' "$open"'
os.write(fd, b"new"); os.unlink(q)
assert not os.path.exists(q)
os.lseek(fd, 0, 0); assert os.read(fd, 9) == b"new"
os.write(fd, b"er"); assert os.fstat(fd).st_size == 5
os.close(fd)
assert not os.path.exists(q)'
done
run "unlinked and made again while it is open" old 0 again '
fd = os.open(q, RW); os.write(fd, b"new"); os.unlink(q)
put(b"again")
os.close(fd)'
for signal in KILL TERM INT HUP SEGV PIPE; do
	run "killed by SIG$signal" old 0 old "killed(lambda fd: os.write(fd, b'half'), TRUNC, signal.SIG$signal)"
done
for open in "0 5" "os.O_TRUNC 5" "os.O_TRUNC 0" "os.O_APPEND 5"; do
	run "killed with ${open#* } MiB, ${open% *}" old 0 old \
		"killed(lambda fd: os.write(fd, bytes(${open#* } << 20)), os.O_WRONLY | ${open% *})"
done
run "killed after fsync: what was committed stays" old 1 new '
killed(lambda fd: (os.write(fd, b"new"), os.fsync(fd), os.write(fd, b"half")), TRUNC)'
run "killed with a new name" none 0 '' 'killed(lambda fd: os.write(fd, b"half"), CREATE)'
run "killed with a map" 0123456789 0 0123456789 '
maps = []
def act(fd): maps.append(mmap.mmap(fd, 10)); maps[0][0:4] = b"half"
killed(act, RW)'
run "the name of a killed writer with O_EXCL is free" none 1 mine '
killed(lambda fd: None, CREATE | os.O_EXCL)
fd = os.open(q, CREATE | os.O_EXCL); os.write(fd, b"mine"); os.close(fd)'
run "a child is killed, its parent closes" old 1 parent '
fd = os.open(q, TRUNC); os.write(fd, b"parent")
if os.fork() == 0: os.kill(os.getpid(), 9)
os.wait(); os.close(fd)'
finish
