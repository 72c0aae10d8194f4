#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Names in a history: times, and drafts, which are kept in memory until they become a cell. Drafts of
# programs that make a file under a temporary name: rsync's, which are no column's name, and cells too old
# for their family.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cells.sh"

f=$m/t/row/f
h=$f/q@

new_mount '{"version":1,"tables":{"t":{"families":{
	"f":{},"g":{},"a":{"gc":"maxage=4s"},"s":{"type":"intsum","gc":"maxage=1h"},"hour":{"gc":"maxage=1h"}}}}}'
mkdir -p "$f" "$m/t/row/g"

# ---- The nature of a draft -------------------------------------------------------------------

column "$f/q" 1000=one 2000=two
yields "a name with a leading dot can be made, and read" text 'cat "$h/.draft"' put "$h/.draft" text
check_eq "its size" 4 "$(stat -c %s "$h/.draft")"
check_eq "a regular file with one link" "regular file 1" "$(stat -c '%F %h' "$h/.draft")"
is "no listing has it" "$f/q" "2000=two 1000=one"
check_eq "nor one of the family" q "$(entries "$f")"
check_eq "q is not touched by it" "two 0.002000" "$(cat "$f/q") $(stat -c %.6Y "$f/q")"
for name in .hidden .1000.AbCdEf .q.swp .% .ü sedAbC123 sedxxxxxx ".$(printf 'd%.0s' {1..254})"; do
	gone "before '${name:0:20}' is made it is not there" "$h/$name"
	yields "'${name:0:20}' is a draft with its own text" "$name" 'cat "$h/$name"' put "$h/$name" "$name"
	loses "rm of '${name:0:20}' takes it away" "$h/$name" -- rm "$h/$name"
done
for name in draft 1000~ 1000.bak 1x 0x1 01 00 +1 -1 ' 1' 1.5 9223372036854775808 18446744073709551617 \
	x@ % %31 ü sed sedAbC12 sedAbC1234 sedAbC-12 sED123456 2024-02-30 2024-01-01T 1969-12-31 \
	2024-01-01T10:00:00.1234567Z "$(printf 'd%.0s' {1..255})"; do
	fail_with "'${name:0:20}' is nothing to make" 1 'Invalid argument' put "$h/$name" x
	check "errors says why: '${name:0:20}'" bash -c 'tail -n 1 "$0" | grep -q "a version.s name is"' "$m/.rowfs/errors"
	gone "nor is it there" "$h/$name"
	check_eq "nor a name to rename to: '${name:0:20}'" EINVAL "$(call 'os.rename(*a)' "$h/1000" "$h/$name")"
done
check "errors says why of a rename, too" bash -c 'tail -n 1 "$0" | grep -q "/ddd.*a version.s name is"' "$m/.rowfs/errors"
is "none of them is a cell" "$f/q" "2000=two 1000=one"
yields "a draft is written over" longer-text 'cat "$h/.draft"' put "$h/.draft" longer-text
echo more >>"$h/.draft"
check_eq "and appended to" longer-textmore "$(cat "$h/.draft")"
yields "truncate shortens it" longer 'cat "$h/.draft"' truncate -s 6 "$h/.draft"
printf XY | dd of="$h/.draft" conv=notrunc bs=1 seek=2 2>/dev/null
check_eq "it is written in the middle" loXYer "$(cat "$h/.draft")"
check "chmod, chown and touch are accepted" bash -c \
	'chmod 600 "$0" && chown "$(id -u)" "$0" && touch -d @5 "$0" && touch "$0"' "$h/.draft"
check_eq "and keep the text" loXYer "$(cat "$h/.draft")"
fail_with "O_EXCL of one that is there" 1 'cannot overwrite' bash -c "set -C; echo x >'$h/.draft'"
check "O_EXCL of a new one" bash -c "set -C; echo x >'$h/.new'"
fail_with "a link" - 'not permitted' ln "$h/.draft" "$h/.link"
fail_with "a symbolic link" - 'not permitted' ln -s draft "$h/.link"
fail_with "a directory" - 'not permitted' mkdir "$h/.dir"
head -c 5000000 /dev/urandom >"$TMP/large"
check "5 MB" cp "$TMP/large" "$h/.large"
check "are kept whole" cmp "$TMP/large" "$h/.large"
check_eq "fsync of one" ok "$(call 'with open(a[0], "w") as f: f.write("synced"); f.flush(); os.fsync(f.fileno())' "$h/.sync")"
check_eq "keeps it" synced "$(cat "$h/.sync")"
makes "nothing of this is a cell" "$f/q" "2000=two 1000=one" -- put "$h/.draft" half

# ---- Times -------------------------------------------------------------------------------------

column "$f/d" 1=x
for time in 2024-01-31 2024-01-31T10:00Z 2024-01-31T10:00:00+02:00 '2024-01-31 10:00:00.25' 1970-01-01T00:00:00.000002Z; do
	us=$(date -u -d "$time" +%s%6N | sed 's/^0*//')
	check "a cell is written by its time, $time" put "$f/d@/$time" "$time"
	check_eq "and has its timestamp" "$time" "$(cat "$f/d@/$us")"
	check_eq "both names are one file" "$(stat -c '%i %h %y' "$f/d@/$us")" "$(stat -c '%i %h %y' "$f/d@/$time")"
	check_eq "one is listed" "$us 1" "$(entries "$f/d@" | paste -sd ' ')"
	check_eq "it is read by its time in /.versions" "$time" "$(cat "$m/.versions/t/row/f/d@/$time")"
	check_eq "O_EXCL of the other name" EEXIST "$(call 'os.open(q, os.O_CREAT | os.O_EXCL)' "$f/d@/$us")"
	echo more >>"$f/d@/$time"
	check_eq "appending by the one is seen by the other" "${time}more" "$(cat "$f/d@/$us")"
	loses "rm of its time takes the cell" "$f/d@/$us" -- rm "$f/d@/$time"
done
makes "mv to a time is mv to its timestamp" "$f/d" "1706659200000000=x" -- mv "$f/d@/1" "$f/d@/2024-01-31"
check_eq "mv between two names of one cell" ok "$(call 'os.rename(*a)' "$f/d@/2024-01-31" "$f/d@/1706659200000000")"
is "changes nothing" "$f/d" "1706659200000000=x"
check "a draft to a time" bash -c 'echo y >"$0/.x" && mv "$0/.x" "$0/2024-02-01"' "$f/d@"
is "is that cell" "$f/d" "1706745600000000=y 1706659200000000=x"
mkdir -p "$TMP/tarred/d@"
echo tar >"$TMP/tarred/d@/2024-02-01"
check "tar of a time" bash -c 'tar -C "$0/tarred" -c . | tar --overwrite -C "$1" -x' "$TMP" "$f"
is "as well" "$f/d" "1706745600000000=tar 1706659200000000=x"
rm "$f/d"

# ---- Becoming a cell -------------------------------------------------------------------------

put "$h/.draft" three
check "mv of a draft to a timestamp" mv "$h/.draft" "$h/3000"
is "makes it that cell" "$f/q" "3000=three 2000=two 1000=one"
gone "the draft goes" "$h/.draft"
check_eq "q shows it" "three 0.003000 5" "$(cat "$f/q") $(stat -c '%.6Y %s' "$f/q")"
put "$h/.draft" new
makes "mv over a cell replaces it" "$f/q" "3000=three 2000=two 1000=new" -- mv "$h/.draft" "$h/1000"
put "$h/.draft" x
check_eq "RENAME_NOREPLACE over a cell" EEXIST "$(call 'renameat2(*a, 1)' "$h/.draft" "$h/1000")"
check_eq "RENAME_EXCHANGE with one" EINVAL "$(call 'renameat2(*a, 2)' "$h/.draft" "$h/1000")"
check_eq "RENAME_NOREPLACE to a new one" ok "$(call 'renameat2(*a, 1)' "$h/.draft" "$h/500")"
is "does it" "$f/q" "3000=three 2000=two 1000=new 500=x"
put "$h/.a" A
put "$h/.b" B
yields "mv of a draft to another renames it" A 'cat "$h/.c"' mv "$h/.a" "$h/.c"
gone "the old name goes" "$h/.a"
yields "mv over a draft replaces it" A 'cat "$h/.b"' mv "$h/.c" "$h/.b"
check "mv of a cell to a draft" mv "$h/500" "$h/.500.bak"
is "takes the cell away" "$f/q" "3000=three 2000=two 1000=new"
check_eq "its value is the draft's" x "$(cat "$h/.500.bak")"
makes "and back, where it is again" "$f/q" "3000=three 2000=two 1000=new 500=x" -- mv "$h/.500.bak" "$h/500"
check "mv of the newest to a draft" mv "$h/3000" "$h/.old"
check_eq "q shows the next older" "two 0.002000" "$(cat "$f/q") $(stat -c %.6Y "$f/q")"
mkdir "$f/r@"
put "$h/.draft" x
check_eq "a draft of one column is renamed in its history only" EXDEV \
	"$(call 'os.rename(*a)' "$h/.draft" "$f/r@/1")"
makes "mv copies it to the other column" "$f/r" "1=x" -- mv "$h/.draft" "$f/r@/1"
mkdir "$f/fresh@"
loses "a column that has only drafts is none" "$f/fresh" -- put "$f/fresh@/.draft" first
makes "mv of one to a timestamp makes the column" "$f/fresh" "77=first" -- mv "$f/fresh@/.draft" "$f/fresh@/77"
check_eq "5 MB" ok "$(call 'os.rename(*a)' "$h/.large" "$h/600")"
check "become a cell whole" cmp "$TMP/large" "$h/600"
rm "$h/600"

# ---- Programs --------------------------------------------------------------------------------

column "$f/q" 1000=one 2000=two
makes "sed -i of a cell changes that cell" "$f/q" "2000=two 1000=1" -- sed -i s/one/1/ "$h/1000"
makes "sed -i of the newest changes that one" "$f/q" "2000=2 1000=1" -- sed -i s/two/2/ "$h/2000"
check_eq "as q shows it" 2 "$(cat "$f/q")"
fail_with "sed -i.bak, whose backup would be no version" - 'cannot rename' sed -i.bak s/1/eins/ "$h/1000"
is "changes nothing" "$f/q" "2000=2 1000=1"
check "sed -i through /.versions" sed -i s/1/un/ "$m/.versions/t/row/f/q@/1000"
is "is the same" "$f/q" "2000=2 1000=un"
printf rsync >"$TMP/1000"
touch -d @1234567890 "$TMP/1000"
makes "rsync of one cell sets it" "$f/q" "2000=2 1000=rsync" -- rsync -a "$TMP/1000" "$h/"
printf rsync2 >"$TMP/1500"
makes "rsync of a new one makes it" "$f/q" "2000=2 1500=rsync2 1000=rsync" -- rsync -a "$TMP/1500" "$h/"
check "rsync --inplace" rsync -a --inplace --ignore-times "$TMP/1500" "$h/1500"
is "as well" "$f/q" "2000=2 1500=rsync2 1000=rsync"
fail_with "rsync --backup, whose name is none" 23 'Invalid argument' \
	rsync -a --inplace --backup --ignore-times "$TMP/1500" "$h/1500"
is "changes nothing" "$f/q" "2000=2 1500=rsync2 1000=rsync"
check "vim of a cell" vim -Nu NONE -es +'%s/rsync2/vim/' +wq "$h/1500" </dev/null
check_eq "changes it" vim "$(cat "$h/1500")"
is "and nothing else" "$f/q" "2000=2 1500=vim 1000=rsync"
check_eq "a temporary file renamed to a timestamp before its close" ok "$(call '
with tempfile.NamedTemporaryFile("w", prefix=".", dir=a[0], delete=False) as t:
    t.write("tmp")
    t.flush()
    os.replace(t.name, a[0] + "/1500")' "$h")"
is "sets the cell, once it is closed" "$f/q" "2000=2 1500=tmp 1000=rsync"
check_eq "one renamed after its close" ok "$(call '
with tempfile.NamedTemporaryFile("w", prefix=".", dir=a[0], delete=False) as t:
    t.write("tmp2")
os.replace(t.name, a[0] + "/1501")' "$h")"
is "as well" "$f/q" "2000=2 1501=tmp2 1500=tmp 1000=rsync"
check_eq "one that is removed leaves nothing" ok "$(call '
with tempfile.NamedTemporaryFile("w", prefix=".", dir=a[0]) as t:
    t.write("x")
    t.flush()
assert not os.path.exists(t.name)' "$h")"
yields "install makes a cell" rsync2 'cat "$h/1502"' install -m 600 "$TMP/1500" "$h/1502"
seq 60 | xargs -P 6 -I '{}' bash -c 'echo "$1" >"$0/.tmp.$1" && mv "$0/.tmp.$1" "$0/9$1"' "$h" '{}' \
	2>"$TMP/errors"
check_eq "6 at once meet no error" "" "$(head -n 3 "$TMP/errors")"
check_eq "and each its cell" 1830 \
	"$(cat "$h"/9[1-9] "$h"/9[1-5][0-9] "$h"/960 | awk '{ n += $1 } END { print n }')"

# ---- As cells are read and written --------------------------------------------------------------

column "$f/q" 1000=one
# draft CODE: with the file h/draft, "one", at path.
draft() {
	put "$h/.draft" one
	python 'path = q
def get(): return open(path).read()
def killed(name):
    file = open(name, "w")
    file.write("half"); file.flush()
    os.kill(os.getpid(), 9)
'"$1" "$h/.draft" "$h"
}

check_eq "a reader has one value, whatever is written" "one one two" "$(draft '
r = open(path)
r1 = os.read(r.fileno(), 2)
open(path, "w").write("two")
rest = os.read(r.fileno(), 9)
with open(path, "r+") as s: t = os.pread(r.fileno(), 9, 0)
print((r1 + rest).decode(), t.decode(), get())')"
check_eq "and while it is written" "one two! one" "$(draft '
r = open(path)
with open(path, "r+") as w:
    w.write("two!"); w.flush()
    print(get(), end=" ")
print(get(), r.read())')"
check_eq "a writer that is killed leaves it as it was" one "$(draft 'print(child(killed, path) + get())')"
check_eq "and makes none" ENOENT "$(draft '
print(child(killed, path + "9") + error(os.stat, path + "9"))')"
check_eq "a new one is seen by its maker alone, until it is committed" "True ENOENT ok 3" "$(draft '
fd = os.open(path + "new", os.O_CREAT | os.O_WRONLY)
os.write(fd, b"new")
print(os.path.exists(path + "new"), child(error, os.stat, path + "new"), end=" ")
os.fsync(fd)
print(child(error, os.stat, path + "new"), os.stat(path + "new").st_size)')"
rm "$h/.draftnew"
check_eq "O_EXCL reserves it" "EEXIST EEXIST" "$(draft '
flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
fd = os.open(path + "x", flags)
print(child(error, os.open, path + "x", flags), end=" ")
os.close(fd)
print(child(error, os.open, path + "x", flags))')"
rm "$h/.draftx"
check_eq "of two writers each one writes a whole value, the last one stays" "ONE one! one!" "$(draft '
a1, a2 = os.open(path, os.O_RDWR), os.open(path, os.O_RDWR)
os.pwrite(a1, b"ONE", 0)
os.pwrite(a2, b"!", 3)
os.close(a1)
print(get(), os.pread(a2, 9, 0).decode(), end=" ")
os.close(a2)
print(get())')"
check_eq "fsync and more writes" "two two two three" "$(draft '
fd = os.open(path, os.O_WRONLY | os.O_TRUNC)
os.write(fd, b"two"); os.fsync(fd)
print(get(), end=" ")
os.write(fd, b" three")
print(get(), end=" ")
os.close(fd)
print(get())')"
check_eq "it is mapped to read and to write" "one One" "$(draft '
with open(path, "r") as r: print(mmap.mmap(r.fileno(), 0, prot=mmap.PROT_READ)[:].decode(), end=" ")
with open(path, "r+") as w:
    view = mmap.mmap(w.fileno(), 0)
    view[0:1] = b"O"
    view.flush()
    view.close()
print(get())')"
check_eq "a time that is set stays, also through its rename to another" "5.000006 5.000006" "$(draft '
os.utime(path, ns=(5000006000, 5000006000))
print("%.6f" % os.stat(path).st_mtime, end=" ")
os.rename(path, path + "2")
print("%.6f" % os.stat(path + "2").st_mtime)
os.unlink(path + "2")')"
check_eq "a time that is set while it is open as well" "7 two" "$(draft '
with open(path, "w") as w:
    w.write("two")
    os.utime(w.fileno(), (7, 7))
print(int(os.stat(path).st_mtime), get())')"
check_eq "renamed to a timestamp while it is open, fsynced and written on" "one two! ENOENT" "$(draft '
with open(path, "r+") as w:
    os.rename(path, a[1] + "/1600")
    print(open(a[1] + "/1600").read(), end=" ")
    w.write("two"); w.flush(); os.fsync(w.fileno())
    assert open(a[1] + "/1600").read() == "two"
    w.write("!")
print(open(a[1] + "/1600").read(), child(error, os.stat, path))')"
rm "$h/1600"
check_eq "unlinked while it is open it is written to nowhere" "one ENOENT" "$(draft '
with open(path, "r+") as w:
    os.unlink(path)
    print(w.read(), end=" ")
    w.write("two")
print(child(error, os.stat, path))')"
check_eq "of 6 that append none loses a line" "600 600" "$(draft '
def append(i):
    for n in range(100):
        with open(path + "log", "a") as log: log.write("%d.%d\n" % (i, n))
for pipe in [started(append, i) for i in range(6)]: pipe.read()
lines = open(path + "log").read().split()
print(len(lines), len(set(lines)))')"
check_eq "who reads it never sees half of it" "many 0" "$(draft '
pid = os.fork()
if pid == 0:
    for i in range(300):
        with open(path, "w") as w:
            for _ in range(5): w.write(str(i % 10) * 1000); w.flush()
    os._exit(0)
reads = bad = 0
while os.waitpid(pid, os.WNOHANG)[0] == 0:
    value = get()
    reads += 1
    bad += value != "one" and not (len(value) == 5000 and len(set(value)) == 1)
print("many" if reads > 20 else reads, bad)')"
makes "nothing of this is a cell" "$f/q" "1000=one" -- rm -f "$h/.draft" "$h/.draftlog"

# ---- Bounds ------------------------------------------------------------------------------------

remount
mkdir -p "$h"
check_eq "there are 1,000 at most" "1000 ENOSPC ok" "$(call '
def make(name): open("%s/%s" % (a[0], name), "w").close()
made = 0
try:
    while made < 2000:
        make(".b%d" % made)
        made += 1
except OSError as error: print(made, errno.errorcode[error.errno], end=" ")
os.unlink(a[0] + "/.b7")
make(".again")' "$h")"
check_eq "those that are open to be made count" "ENOSPC" "$(call '
os.unlink(a[0] + "/.again")
one = os.open(a[0] + "/.new1", os.O_CREAT | os.O_WRONLY)
two = os.open(a[0] + "/.new2", os.O_CREAT | os.O_WRONLY)' "$h")"
fail_with "and a cell is not renamed to one more" - 'No space' mv "$h/1000" "$h/.1000.bak"
is "it stays" "$f/q" "1000=one"
check_eq "who is full can still write what is there" ok "$(call '
with open(a[0] + "/.b8", "w") as w: w.write("x")
os.rename(a[0] + "/.b8", a[0] + "/.b9")
assert open(a[0] + "/.b9").read() == "x"' "$h")"
remount
rss() {
	awk '/^VmRSS/ { print $2 }' "/proc/$(mount_pid "$m")/status"
}
before=$(rss)
check_eq "200 MB of them" ok "$(call '
for i in range(250):
    with open("%s/.big%d" % (a[0], i), "wb") as w: w.write(bytes([i]) * 800000)
for i in range(250):
    assert open("%s/.big%d" % (a[0], i), "rb").read() == bytes([i]) * 800000, i' "$h")"
if grep -qa __asan_init "$BUILD/rowfs"; then limit=500000; else limit=150000; fi
check "are not all in memory ($(($(rss) - before)) KiB)" test $(($(rss) - before)) -lt "$limit"
check "nor left in the store's directory" test -z "$(find "$TMP/s" -name 'spool*')"
rm "$h"/.big{0..249}

# ---- The last cell of a column that goes elsewhere -------------------------------------------------

for tree in "$m" "$m/.versions"; do
	last=$tree/t/last/f
	mkdir -p "$m/t/last/f"
	put "$m/t/last/f/w" one # so no mkdir made its history
	version=$(entries "$last/w@")
	check "mv of the last cell to a draft" mv "$last/w@/$version" "$last/w@/.$version.bak"
	gone "takes the column away" "$m/t/last/f/w"
	check_eq "the draft is there" one "$(cat "$last/w@/.$version.bak")"
	check "the history is left, empty" test -d "$last/w@" -a -z "$(entries "$last/w@")"
	check "and mv back" mv "$last/w@/.$version.bak" "$last/w@/$version"
	is "makes it the cell again" "$m/t/last/f/w" "$version=one"
	check "sed -i of the only cell" sed -i s/one/two/ "$last/w@/$version"
	is "changes it" "$m/t/last/f/w" "$version=two"
	if [ "$tree" = "$m" ]; then # there the other tree has no names to move it to
		check "mv of the last cell to another column" mv "$last/w@/$version" "$last/v"
		is "makes that" "$last/v" "$version=two"
		check "its history is left, empty" test -d "$last/w@" -a -z "$(entries "$last/w@")"
	fi
	column "$m/t/last/f/x" 1=x
	mkdir "$last/y@"
	check "mv of the last cell to another history" mv "$last/x@/1" "$last/y@/2"
	is "makes it there" "$m/t/last/f/y" "2=x"
	check "its own is left, empty" test -d "$last/x@" -a -z "$(entries "$last/x@")"
	loses "rm -r takes the row" "$m/t/last" -- rm -rf "$m/t/last"

	# Of a column whose name has a chunk, which stands in a directory of it.
	long=$(printf 'x%.0s' {1..230})%
	for what in "mv OLD/5 OLD/.draft" "rm OLD/5" "mv OLD/5 FAMILY/other"; do
		printf '{"key":"last","families":{"f":{"%stail":[{"ts":5,"value":"kept"}]}}}\n' "${long%\%}" >"$m/t/.rows"
		what=${what//OLD/$last/$long/tail@}
		check "$(sed -E 's/x{9,}/x…/g' <<<"$what")" bash -c "${what//FAMILY/$m\/t\/last\/f}"
		check "leaves the chunk's directory" test -d "$m/t/last/f/$long"
		check "and the history" test -d "$last/$long/tail@"
		[ ! -e "$last/$long/tail@/.draft" ] ||
			check_eq "the draft is there" kept "$(cat "$last/$long/tail@/.draft")"
		loses "rm -r takes them" "$m/t/last" -- rm -rf "$m/t/last"
	done
done

# ---- Numbers that may be of another unit -------------------------------------------------------

# asks NAME NUMBER TIME: the last line of the errors asks for the unit of the version's name.
asks() {
	error "$1: the errors ask for the unit" \
		"/t/row/f/q@/$2: $2 is microseconds, $3: are seconds \(add 000000\) or milliseconds \(add 000\) meant\?$"
}
mkdir -p "$h"
put "$h/1700000000" x
asks "written" 1700000000 1970-01-01T00:28:20.000000Z
put "$m/.versions/t/row/f/q@/1700000000000" x
asks "written below /.versions" 1700000000000 1970-01-20T16:13:20.000000Z
mv "$h/1700000000" "$h/17"
asks "renamed" 17 1970-01-01T00:00:00.000017Z
put "$h/.new" x
mv "$h/.new" "$h/99999999999999"
asks "renamed from a draft" 99999999999999 1973-03-03T09:46:39.999999Z
call 'os.mknod(q)' "$h/18" >"$TMP/made"
asks "made by mknod" 18 1970-01-01T00:00:00.000018Z
lines=$(wc -l <"$m/.rowfs/errors")
for name in 100000000000000 1700000000000000 1970-01-02 1970-01-01T00:00:01Z 17 18; do
	put "$h/$name" y
	check_eq "$name is there" y "$(cat "$h/$name")"
	ls "$h/19" "$h/.none" 2>"$TMP/none"
done
check_eq "other times, names that exist, and lookups add no line" "$lines" "$(wc -l <"$m/.rowfs/errors")"

# ---- Going ------------------------------------------------------------------------------------

put "$h/.left" x
loses "rm -r of a history with drafts takes the column" "$f/q" -- rm -r "$h"
loses "and its drafts" "$h/.left" -- mkdir -p "$h"
put "$h/.left" x
check "rmdir of a history that has only drafts" rmdir "$h"
column "$f/q" 1000=one
put "$h/.left" x
loses "rm of the column, which goes" "$f/q" -- rm "$f/q"
mkdir -p "$m/t/gone/f/q@"
put "$m/t/gone/f/q@/.left" x
loses "rm -r of a row whose history has only drafts takes it" "$m/t/gone" -- rm -r "$m/t/gone"
# made TABLE: a table with a family and a history, and a draft in each.
made() {
	mkdir -p "$m/$1/.families/f" "$m/$1/row/f/q@"
	put "$m/$1/row/f/q@/.left" x
	put "$m/.versions/$1/row/f/q@/.left2" x
	put "$m/$1/row/f/.%.AbCdEf" x
}

all=$(drafts)
mkdir "$m/u"
made u
check_eq "drafts are counted" $((all + 3)) "$(drafts)"
yields "a family with drafts goes, and they with it" "$all" 'drafts' rmdir "$m/u/.families/f"
loses "also when it is made again" "$m/u/row/f/q@/.left" -- mkdir -p "$m/u/.families/f" "$m/u/row/f/q@"
made u
exec 3>>"$m/u/row/f/q@/.left" 4>>"$m/u/row/f/.%.AbCdEf"
check "directories of drafts go while these are written" rmdir "$m/u/row/f" "$m/u/row"
echo x >&3
echo x >&4
exec 3>&- 4>&-
check_eq "no draft of them is left" "$all" "$(drafts)"
loses "nor there when they are made again" "$m/u/row/f/q@/.left" -- mkdir -p "$m/u/row/f/q@"
rmdir "$m/u/row/f"
check "a prefix with a family of drafts is empty" rmdir "$m/u/row"
made u
exec 3>"$m/u/row/f/q@/.late"
rmdir "$m/u/row/f" "$m/u/row" "$m/u/.families/f"
check "a table goes while a draft is written" rmdir "$m/u"
echo x >&3
exec 3>&-
check_eq "no draft of it is left" "$all" "$(drafts)"
mkdir "$m/u"
made u
put "$m/u/row/f/q" x
yields "a drop of all rows takes their drafts" "$all" 'drafts' bash -c "echo u >'$m/u/.drop'"
made u
mkdir -p "$m/u/other/f/q@"
put "$m/u/other/f/q@/.left" x
yields "a drop of one row takes those of that row" $((all + 1)) 'drafts' bash -c "echo row >'$m/u/row/.drop'"
check_eq "and no other" x "$(cat "$m/u/other/f/q@/.left")"
made u
yields "rm -r of a row takes those of the family, too" $((all + 1)) 'drafts' rm -r "$m/u/row"
column "$f/q" 1000=one
put "$h/.left" x
put "$h/.500.tmp" y
mkdir -p "$TMP/copy" "$m/t/copy"
check "cp -a of a family in /.versions" cp -a "$m/.versions/t/row/f/." "$TMP/copy"
check_eq "copies no draft" "" "$(find "$TMP/copy" -name '*left*' -o -name '*tmp*')"
remount
is "the next mount has the cells" "$f/q" "1000=one"
gone "and no draft" "$h/.left"
gone "none at all" "$h/.500.tmp"

rm -rf "$f"
mkdir -p "$f"

# ---- Names that rsync makes in a family ----------------------------------------------------------

for name in % %2E %2E%2E x%40 %40 .%40; do
	rm -f "$f/$name"
	draft=$f/.${name#.}.AbC12z
	check "the temporary name of $name can be made" put "$draft" new
	check_eq "it is listed nowhere" "" "$(entries "$f" | grep AbC12z)"
	touch -d @1234567890 "$draft"
	makes "mv to the column makes it, at its time" "$f/$name" "1234567890000000=new" -- mv "$draft" "$f/$name"
	gone "the draft goes" "$draft"
	put "$draft" newer
	touch -d @1234567891 "$draft"
	mv "$draft" "$f/$name"
	is "over a column it is the newest version" "$f/$name" "1234567891000000=newer 1234567890000000=new"
	put "$draft" older
	touch -d @1234567000 "$draft"
	mv "$draft" "$f/$name"
	check_eq "an older one gets a fresh time" "older 3" "$(cat "$f/$name") $(entries "$f/$name@" | wc -l)"
	check "it has the present" test "$(stat -c %Y "$f/$name")" -gt 1600000000
	put "$draft" x
	check_eq "RENAME_NOREPLACE over a column" EEXIST "$(call 'renameat2(*a, 1)' "$draft" "$f/$name")"
	loses "rm of the draft takes it away" "$draft" -- rm "$draft"
	check_eq "written, renamed, then closed" "ok last 4" "$(call '
with open(a[0], "w") as w:
    w.write("last"); w.flush()
    os.rename(a[0], a[1])' "$draft" "$f/$name") $(cat "$f/$name") $(entries "$f/$name@" | wc -l)"
	rm "$f/$name"
done
for name in .%.AbC12 .%.AbC1234 .%.AbC12- .%41.AbC12z .%4.AbC12z ..%.AbC12z%; do
	fail_with "'$name' is nothing" - 'Invalid argument' bash -c "echo x >'$f/$name'"
done
check "'.foo.AbC12z' is a column as any" put "$f/.foo.AbC12z" x
check_eq "and listed" .foo.AbC12z "$(entries "$f" | grep AbC12z)"
rm "$f/.foo.AbC12z"
fail_with "there are none in /.versions" - 'Invalid argument' \
	bash -c "echo x >'$m/.versions/t/row/f/.%.AbC12z'"
column "$f/q" 1000=one
check_eq "a column does not become one" EXDEV "$(call 'os.rename(*a)' "$f/q" "$f/.%.AbC12z")"

# ---- rsync --delay-updates, which renames from a directory beside the files at its end ------------

mkdir -p "$TMP/delayed"
for name in a b 7; do
	printf %s "$name" >"$TMP/delayed/$name"
	touch -d @1234567890 "$TMP/delayed/$name"
done
d=$m/t/delayed/f
before=$(drafts)
check "rsync --delay-updates into a family" rsync -a --mkpath --delay-updates "$TMP/delayed/" "$d/"
check_eq "delivers" "7 a b" "$(entries "$d" | sort | paste -sd ' ')"
is "each at its time" "$d/a" "1234567890000000=a"
printf newer >"$TMP/delayed/a"
check "again, over a column" rsync -a --delay-updates "$TMP/delayed/" "$d/"
check_eq "delivers a version" "newer 2" "$(cat "$d/a") $(entries "$d/a@" | wc -l)"
check_eq "the third time there is nothing to do" "" "$(rsync -ai --delay-updates "$TMP/delayed/" "$d/" | grep -v '/$')"
cp -a "$m/.versions/t/delayed" "$TMP/all"
rm -r "$m/t/delayed"
check "into histories" rsync -a --delay-updates "$TMP/all/" "$m/.versions/t/delayed/"
check "delivers each version" diff -r "$TMP/all" "$m/.versions/t/delayed"
check_eq "no draft is left" "$before" "$(drafts)"
for dir in "$d" "$d/a@"; do
	gone "nor the directory" "$dir/.~tmp~"
	check "mkdir makes it" mkdir "$dir/.~tmp~"
	check_eq "listed nowhere" "" "$(entries "$dir" | grep tmp)$(entries "$m/.versions${dir#"$m"}" | grep tmp)"
	fail_with "not twice" 1 'exists' mkdir "$dir/.~tmp~"
	yields "it holds drafts of any name" text 'cat "$dir/.~tmp~/any name"' put "$dir/.~tmp~/any name" text
	fail_with "rmdir of it with one" 1 'not empty' rmdir "$dir/.~tmp~"
	check_eq "they are renamed beside it only" EXDEV "$(call 'os.rename(*a)' "$dir/.~tmp~/any name" "$f/x")"
	fail_with "no directory is in it" 1 'not permitted' mkdir "$dir/.~tmp~/dir"
	yields "as a column or version, which is then there" text 'cat "$dir/9"' mv "$dir/.~tmp~/any name" "$dir/9"
	loses "rmdir takes it" "$dir/.~tmp~" -- rmdir "$dir/.~tmp~"
	mkdir "$dir/.~tmp~"
	put "$dir/.~tmp~/left" text
done
yields "a directory above goes with it, and its drafts" "$before" 'drafts' rm -r "$m/t/delayed"
loses "it is not back" "$d/.~tmp~" -- mkdir -p "$d"
check "a column may have its name" put "$d/.~tmp~" x
is "as any" "$d/.~tmp~" "$(entries "$d/.~tmp~@")=x"
fail_with "then there is no such directory" 1 'exists' mkdir "$d/.~tmp~"
rm -r "$m/t/delayed"

# ---- Drafts of a column that grows too old ----------------------------------------------------------

for tree in "$m" "$m/.versions"; do
	old=$tree/t/old/a
	# By a row of JSON, so that no mkdir made a directory of it.
	printf '{"key":"old","families":{"a":{"v":[{"ts":%s,"value":"one"}]}}}\n' \
		"$(date +%s%6N)" >"$m/t/.rows"
	put "$old/v@/.draft" two
	put "$old/v@/.other" three
	yields "its last cell grows too old, the draft stays" two 'cat "$old/v@/.draft"' within test ! -e "$m/t/old/a/v"
	check_eq "in a directory that lists nothing" "" "$(entries "$old/v@")"
	check "it is renamed" mv "$old/v@/.draft" "$old/v@/.draft2"
	yields "over another, and stays" two 'cat "$old/v@/.other"' mv "$old/v@/.draft2" "$old/v@/.other"
	loses "mv to a timestamp of long ago shows nothing" "$m/t/old/a/v" -- mv "$old/v@/.other" "$old/v@/1"
	check "the emptied history is left" test -d "$old/v@"
	put "$old/v@/.draft" four
	now=$(date +%s%6N)
	yields "mv to one of now makes the cell" four 'cat "$m/t/old/a/v"' mv "$old/v@/.draft" "$old/v@/$now"
	put "$old/v@/.draft" five
	check "rm of all" rm "$m/t/old/a/v" "$old/v@/.draft"
	loses "rm -r takes the row, which goes" "$m/t/old" -- rm -r "$m/t/old"
done

# ---- rsync of cells too old for their family -----------------------------------------------------------

before=$(drafts)
for family in hour s; do
	aged=$m/t/aged/$family
	mkdir -p "$aged"
	printf '5\n' >"$TMP/of"
	touch -d @1234567890 "$TMP/of"
	check "rsync -a of a file that $family hides at once" rsync -a "$TMP/of" "$aged/"
	check_eq "shows nothing" "" "$(ls -A "$aged")"
	check_eq "and leaves no draft" "$before" "$(drafts)"
	echo 7 >"$aged/of"
	check "rsync over a newer one" rsync -a "$TMP/of" "$aged/"
	check_eq "is its newest version" "5 2" "$(cat "$aged/of") $(entries "$aged/of@" | wc -l)"
	check "with the present as its time" test "$(stat -c %Y "$aged/of")" -gt 1600000000
	echo 9 >"$aged/.rs.abcdef"
	check_eq "the temporary name is a column's, too" .rs.abcdef "$(entries "$aged" | grep rs)"
	check "until a time would hide it" touch -d @1 "$aged/.rs.abcdef"
	check_eq "then it is a draft" "$((before + 1)) 9" "$(drafts) $(cat "$aged/.rs.abcdef")"
	check_eq "of that time" 1 "$(stat -c %Y "$aged/.rs.abcdef")"
	check_eq "listed nowhere" of "$(entries "$aged")"
	yields "mv to a column shows nothing" of 'entries "$aged"' mv "$aged/.rs.abcdef" "$aged/new"
	gone "the draft goes" "$aged/.rs.abcdef"
	echo 9 >"$aged/.rs.abcdef"
	touch -d @1 "$aged/.rs.abcdef"
	loses "rm of it takes it away" "$aged/.rs.abcdef" -- rm "$aged/.rs.abcdef"
	echo 9 >"$aged/.rs.abcdef"
	touch -d @1 "$aged/.rs.abcdef"
	echo 10 >"$aged/.rs.abcdef"
	check_eq "it is written to as a draft" "$((before + 1)) 10" "$(drafts) $(cat "$aged/.rs.abcdef")"
	rm "$aged/.rs.abcdef"
	column "$aged/.rs.abcdef" "$(date +%s%6N)=1" "$(date +%s%6N)=2"
	touch "$aged/.rs.abcdef"
	check_eq "a column of that name that a time leaves seen stays one" "$before 2" \
		"$(drafts) $(cat "$aged/.rs.abcdef")"
	rm -r "$m/t/aged"
done

finish
