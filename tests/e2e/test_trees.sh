#!/bin/bash
# SPDX-License-Identifier: MIT
#
# /T and /.versions/T are one tree: what is open, reserved, a draft, removed or renamed in one is so in
# the other. And a rename and the commits of who has the file open come one after the other.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

m=$TMP/m
make_store "$TMP/s" '{"version":1,"tables":{"t":{"families":{"f":{}}}}}'
mount_store "$TMP/s" "$m"
f=$m/t/row/f
mkdir -p "$f"
python=$(python3 -c 'import sys; print(sys.executable)') || die "there is no python3"

cat >"$TMP/prelude.py" <<'END'
import ctypes, errno, os, sys
mount = sys.argv[1]
plain, versions = mount + "/t/row/f/", mount + "/.versions/t/row/f/"
def put(path, data):
    with open(path, "w") as file: file.write(data)
def get(path):
    with open(path) as file: return file.read()
def column(name, **cells):
    if os.path.exists(plain + name): os.unlink(plain + name)
    os.makedirs(plain + name + "@", exist_ok=True)
    for ts, value in cells.items(): put(plain + name + "@/" + ts[1:], value)
def history(name):
    try: names = os.listdir(plain + name + "@")
    except FileNotFoundError: names = []
    return " ".join(ts + "=" + get(plain + name + "@/" + ts) for ts in names)
def opened(path, data=None, flags=os.O_WRONLY):
    fd = os.open(path, flags)
    if data: os.write(fd, data)
    return fd
def error(call, *arguments):
    try: call(*arguments)
    except OSError as fault: return errno.errorcode[fault.errno]
    return "ok"
def child(call, *arguments):
    """What another process gets."""
    r, w = os.pipe()
    if os.fork() == 0:
        os.write(w, str(call(*arguments)).encode())
        os._exit(0)
    os.close(w)
    with os.fdopen(r) as pipe: answer = pipe.read()
    os.wait()
    return answer
END

# py CODE: runs it behind the prelude, prints what it prints.
py() {
	"$python" -c "$(cat "$TMP/prelude.py")
$1" "$m" 2>&1
}

# ---- Drafts ----------------------------------------------------------------------------------

for way in "plain versions" "versions plain"; do
	read -r a b <<<"$way"
	check_eq "a draft of $a is in $b" "text text" "$(py "
column('d', _1='one')
put($a + 'd@/.draft', 'text')
print(get($b + 'd@/.draft'), child(get, $b + 'd@/.draft'))")"
	check_eq "written over in $b" "newer 5" "$(py "
put($b + 'd@/.draft', 'newer')
print(get($a + 'd@/.draft'), os.stat($a + 'd@/.draft').st_size)")"
	check_eq "renamed in $b" "newer ENOENT" "$(py "
os.rename($b + 'd@/.draft', $b + 'd@/.other')
print(get($a + 'd@/.other'), error(os.stat, $a + 'd@/.draft'))")"
	check_eq "renamed from $a to $b" "newer ENOENT" "$(py "
os.rename($a + 'd@/.other', $b + 'd@/.third')
print(get($a + 'd@/.third'), error(os.stat, $b + 'd@/.other'))")"
	check_eq "renamed from $a to a cell of $b" "2=newer 1=one" "$(py "
os.rename($a + 'd@/.third', $b + 'd@/2')
print(history('d'))")"
	check_eq "removed in $b" "ENOENT ENOENT" "$(py "
put($a + 'd@/.draft', 'text')
os.unlink($b + 'd@/.draft')
print(error(os.stat, $a + 'd@/.draft'), error(os.stat, $b + 'd@/.draft'))")"
	check_eq "with the history in $b" "ENOENT" "$(py "
os.makedirs($a + 'e@', exist_ok=True)
put($a + 'e@/.draft', 'text')
os.rmdir($b + 'e@')
os.makedirs($a + 'e@', exist_ok=True)
print(error(os.stat, $a + 'e@/.draft'))")"

	# ---- O_EXCL --------------------------------------------------------------------------

	flags='os.O_CREAT | os.O_EXCL | os.O_WRONLY'
	for name in 77 .draft2; do
		check_eq "$name reserved in $a is not made in $b" "EEXIST EEXIST first" "$(py "
column('x', _1='one')
fd = os.open($a + 'x@/$name', $flags)
os.write(fd, b'first')
print(error(os.open, $b + 'x@/$name', $flags),
      child(error, os.open, $b + 'x@/$name', $flags), end=' ')
os.close(fd)
print(get($b + 'x@/$name'))
os.unlink($b + 'x@/$name')")"
	done

	# ---- What is removed -----------------------------------------------------------------

	check_eq "what is open in $a and removed in $b is not written any more" "2=two" "$(py "
column('r', _1='one', _2='two')
fd = opened($a + 'r@/1', b'late')
os.unlink($b + 'r@/1')
os.fsync(fd)
os.close(fd)
print(history('r'))")"
	check_eq "nor is a column's version in $a, where the column is removed" "ENOENT " "$(py "
column('r', _1='one', _2='two')
fd = opened($a + 'r@/1', b'late')
os.unlink(plain + 'r')
os.fsync(fd)
os.write(fd, b'later')
os.close(fd)
print(error(os.stat, plain + 'r'), history('r'))")"
	check_eq "but one that is just made in $a is" "3=new" "$(py "
column('r', _1='one', _2='two')
fd = os.open($a + 'r@/3', os.O_CREAT | os.O_WRONLY)
child(os.unlink, plain + 'r')
os.write(fd, b'new')
os.close(fd)
print(history('r'))")"

	# ---- What is renamed -----------------------------------------------------------------

	check_eq "a version open in $a goes where its column goes" "ENOENT 2=two 1=late" "$(py "
column('r', _1='one', _2='two')
child(error, os.unlink, plain + 's')
fd = opened($a + 'r@/1', b'late')
os.rename(plain + 'r', plain + 's')
os.close(fd)
print(error(os.stat, plain + 'r'), history('s'))")"
	check_eq "of a column that became one of another's versions the newest does" \
		"ENOENT 2=late! 0=old" "$(py "
column('r', _1='one', _2='two')
column('s', _0='old')
one, two = opened($a + 'r@/1', b'gone!'), opened($a + 'r@/2', b'late!')
os.rename(plain + 'r', plain + 's')
os.close(one), os.close(two)
print(error(os.stat, plain + 'r'), history('s'))")"
	check_eq "a version open in $a goes where it goes in $b" "3=late" "$(py "
column('r', _1='one')
fd = opened($a + 'r@/1', b'late')
os.rename($b + 'r@/1', $b + 'r@/3')
os.close(fd)
print(history('r'))")"
	check_eq "also to a column" "ENOENT late" "$(py "
column('r', _1='one')
fd = opened($a + 'r@/1', b'late')
os.rename($b + 'r@/1', plain + 'moved')
os.close(fd)
print(error(os.stat, plain + 'r'), get(plain + 'moved'))
os.unlink(plain + 'moved')")"
	check_eq "a version that is replaced in $b is not written by who has it open in $a" "2=one" "$(py "
column('r', _1='one', _2='two')
fd = opened($a + 'r@/2', b'late')
os.rename($b + 'r@/1', $b + 'r@/2')
os.close(fd)
print(history('r'))")"
done

check_eq "of racers in both trees for a name with O_EXCL one wins" "800 800" "$(py "
won = []
def racer(base):
    mine = []
    for i in range(800):
        try: os.close(os.open('%sx@/%d' % (base, i + 1), $flags))
        except FileExistsError: continue
        mine.append(i)
    return ' '.join(map(str, mine))
column('x', _9999='x')
pipes = []
for base in (plain, versions) * 2:
    r, w = os.pipe()
    if os.fork() == 0:
        os.write(w, racer(base).encode())
        os._exit(0)
    os.close(w)
    pipes.append(r)
for r in pipes: won += os.fdopen(r).read().split()
for _ in pipes: os.wait()
print(len(won), len(set(won)))")"

# ---- Renames against commits -----------------------------------------------------------------

# Two write, sync, write and close, over and over, while others rename the column and its name back.
# Who is told that its value is synced finds it as the newest or in the history, whole.
cat >"$TMP/stress.py" <<'END'
import os, sys
exec(open(sys.argv[2]).read())
flags, count, stop = eval(sys.argv[3]), int(sys.argv[4]), sys.argv[2] + ".stop"
names = "pq"

def writer(number):
    made, i = [], 0
    while len(made) < count:
        i += 1
        try: fd = os.open(plain + names[i % 2], os.O_WRONLY | flags)
        except FileNotFoundError: continue
        value = "%d.%d;" % (number, len(made))
        os.write(fd, value.encode() if flags else value.encode().ljust(20))
        os.fsync(fd)
        if flags: os.write(fd, b"!")
        os.close(fd)
        made.append(value + "!" if flags else value)
    return " ".join(made)

def renamer(number):
    renames = 0
    while not os.path.exists(stop):
        try: os.rename(plain + names[number], plain + names[1 - number])
        except FileNotFoundError: continue
        renames += 1
    return str(renames)

def start(call, number):
    r, w = os.pipe()
    if os.fork() == 0:
        os.write(w, call(number).encode())
        os._exit(0)
    os.close(w)
    return os.fdopen(r)

if os.path.exists(stop): os.unlink(stop)
put(plain + "q", " " * 20)
renamers = [start(renamer, number) for number in (0, 1)]
writers = [start(writer, number) for number in (0, 1)]
made = " ".join(pipe.read() for pipe in writers).split()
put(stop, "")
renames = sum(int(pipe.read()) for pipe in renamers)
left = [name for name in os.listdir(plain) if name in names]
directory = plain + left[0] + "@/"
found = [get(directory + ts).strip() for ts in os.listdir(directory)]
# What another appended may stand between.
lost = [value for value in made if not any(value.rstrip("!") in text for text in found)]
marks = sum(text.count("!") for text in found[:1]) if flags & os.O_APPEND else \
    sum(text.endswith("!") for text in found)
print("columns", len(left), "made", len(made), "lost", len(lost), "versions", len(found) - 1,
      "marks", marks, "of", "many" if renames > 20 else renames, "renames")
END
for flags in 0 os.O_TRUNC os.O_APPEND; do
	rm -f "$f/p" "$f/q"
	marks=60
	[ "$flags" != 0 ] || marks=0
	check_eq "no commit is lost by a rename, none is made under the old name ($flags)" \
		"columns 1 made 60 lost 0 versions 60 marks $marks of many renames" \
		"$(timeout 120 "$python" "$TMP/stress.py" "$m" "$TMP/prelude.py" "$flags" 30 2>&1 | tail -n 3)"
done

finish
