#!/bin/bash
# SPDX-License-Identifier: MIT
#
# /T and /.versions/T are one tree: an entry that is open, reserved, a draft, removed or renamed in
# one is so in the other. And a rename and the commits of processes that have the file open come one
# after the other.

. "$(dirname "$0")/lib.sh"

new_mount '{"version":1,"tables":{"t":{"families":{"f":{}}}}}'
f=$m/t/row/f
mkdir -p "$f"

# Shared by the codes below; both trees.
cat >"$TMP/prelude.py" <<'END'
plain, versions = q + "/t/row/f/", q + "/.versions/t/row/f/"
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
    if data: write(fd, data)
    return fd
END

# py CODE ARGUMENT…: runs it behind the prelude, prints its output.
py() {
	python "$(cat "$TMP/prelude.py")
$1" "$m" "${@:2}"
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

	# ---- Removed entries -----------------------------------------------------------------

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

	# ---- Renamed entries -----------------------------------------------------------------

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
for pipe in [started(racer, base) for base in (plain, versions) * 2]: won += pipe.read().split()
print(len(won), len(set(won)))")"

# ---- Renames against commits -----------------------------------------------------------------

# Two write, sync, write and close, over and over, while others rename the column and its name back.
# A writer whose sync succeeded finds its value as the newest or in the history, whole.
stress='
flags, count, stop = eval(a[1]), int(a[2]), a[3]
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

if os.path.exists(stop): os.unlink(stop)
put(plain + "q", " " * 20)
renamers = [started(renamer, number) for number in (0, 1)]
writers = [started(writer, number) for number in (0, 1)]
made = " ".join(pipe.read() for pipe in writers).split()
put(stop, "")
renames = sum(int(pipe.read()) for pipe in renamers)
left = [name for name in os.listdir(plain) if name in names]
directory = plain + left[0] + "@/"
found = [get(directory + ts).strip() for ts in os.listdir(directory)]
# Text that another process appended may stand between.
lost = [value for value in made if not any(value.rstrip("!") in text for text in found)]
marks = sum(text.count("!") for text in found[:1]) if flags & os.O_APPEND else \
    sum(text.endswith("!") for text in found)
print("columns", len(left), "made", len(made), "lost", len(lost), "versions", len(found) - 1,
      "marks", marks, "of", "many" if renames > 20 else renames, "renames")'
for flags in 0 os.O_TRUNC os.O_APPEND; do
	rm -f "$f/p" "$f/q"
	marks=60
	[ "$flags" != 0 ] || marks=0
	check_eq "no commit is lost by a rename, none is made under the old name ($flags)" \
		"columns 1 made 60 lost 0 versions 60 marks $marks of many renames" \
		"$(py "signal.alarm(120)$stress" "$flags" 30 "$TMP/stop" | tail -n 3)"
done

finish
