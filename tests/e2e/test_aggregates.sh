#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Aggregate families as files: the shown values, how lines are merged and which are refused, and
# that tools copy the numbers.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cells.sh"

types='"f":{},"sum":{"type":"intsum"},"min":{"type":"intmin"},"max":{"type":"intmax"},"hll":{"type":"inthll"}'
new_mount "{\"version\":1,\"tables\":{\"t\":{\"families\":{$types}},\"u\":{\"families\":{$types}}}}" -o gcinterval=0
r=$m/t/r
mkdir -p "$r"/{f,sum,min,max,hll} "$m/u"
s=$r/sum

# numbers_call CODE ARGUMENT…: `call` with the number that a file shows.
numbers_call() {
	call 'def number(path):
    with open(path, "rb") as file: return int(file.read())
'"$1" "${@:2}"
}
# merge PATH LINE, replace PATH LINE: writes the line.
merge() {
	echo "$2" >>"$1"
}
replace() {
	echo "$2" >"$1"
}
# said NAME REGEX: the last error matches.
said() {
	error "$1" "^[^ ]+ ${2#^}"
}
# estimate NAME COUNT PATH: the number is within 2 % of the count.
estimate() {
	local number
	number=$(cat "$3")
	check "$1" test $((number * 100)) -ge $(($2 * 98)) -a $((number * 100)) -le $(($2 * 102))
}

# ---- Shown values

for number in 0 7 -5 1234567 9223372036854775807 -9223372036854775808; do
	echo "$number" >"$s/shown"
	check_eq "$number is shown" "$number" "$(cat "$s/shown")"
	check_eq "$number: its size, blocks and links" "$((${#number} + 1)) 1 2" "$(stat -c '%s %b %h' "$s/shown")"
	check_eq "$number: of its version" "$((${#number} + 1)) 1 1" "$(stat -c '%s %b %h' "$s/shown@/"*)"
	check_eq "$number: below /.versions" "$number $((${#number} + 1))" \
		"$(cat "$m/.versions/t/r/sum/shown@/"*) $(stat -c %s "$m/.versions/t/r/sum/shown@/"*)"
done
check_eq "a listing has the sizes" 21 "$(find "$s" -name shown -printf '%s\n')"
check_eq "its time is its timestamp" "$(entries "$s/shown@")" \
	"$(stat -c %.6Y "$s/shown" | tr -d .)"
check_eq "what is stored are 8 bytes" -9223372036854775808 \
	"$(jq -r '.families.sum.shown[0].value' "$r/.row")"
rm "$s/shown"

# ---- Merging and replacing

before=$(date +%s%6N)
echo 5 >>"$s/q"
ts=$(entries "$s/q@")
check "a new column has the present as its timestamp" test "$ts" -ge "$before" -a "$ts" -le "$(date +%s%6N)"
echo 6 >>"$s/q"
makes "lines are merged into the newest cell" "$s/q" "$ts=-9" -- merge "$m/.versions/t/r/sum/q@/$ts" -20
makes "> replaces its number, under its timestamp" "$s/q" "$ts=4" -- replace "$s/q" 4
renews "and makes a new column" "$s/p" 1 "" -- replace "$s/p" 1
echo 10 >>"$s/q@/100"
echo 11 >>"$s/q@/100"
echo 3 >"$s/q@/50"
makes "buckets are merged one by one" "$s/q" "$ts=5 100=21 50=3" -- merge "$s/q" 1
makes "and replaced" "$s/q" "$ts=5 100=2 50=3" -- replace "$s/q@/100" 2
rm "$s/q@/$ts"
makes "what is the newest is merged into" "$s/q" "100=10 50=3" -- merge "$s/q" 8
echo +7 >"$s/q"
makes "signs and zeros are taken" "$s/q" "100=14 50=3" -- merge "$s/q" 007
for number in 5 -3 4; do
	echo "$number" >>"$r/min/q"
	echo "$number" >>"$r/max/q"
done
check_eq "the least and the greatest" "-3 5" "$(cat "$r/min/q") $(cat "$r/max/q")"
echo 9 >"$r/min/q"
echo -9 >"$r/max/q"
check_eq "are replaced by others" "9 -9" "$(cat "$r/min/q") $(cat "$r/max/q")"

# ---- Lines

printf '1\n20\n300\n' >>"$s/lines"
check_eq "several lines of one write" 321 "$(cat "$s/lines")"
printf '1\n20\n300' >"$s/lines"
check_eq "the last one ends with the close" 321 "$(cat "$s/lines")"
{ printf 1; printf 2; echo 3; printf 4; } >"$s/lines"
check_eq "a line in pieces" 127 "$(cat "$s/lines")"
{ /usr/bin/printf 1; /usr/bin/printf 2; echo 3; } >>"$s/lines"
check_eq "by several processes" 250 "$(cat "$s/lines")"
seq 1 100000 >"$s/lines"
check_eq "many lines" 5000050000 "$(cat "$s/lines")"
check_eq "and one version" 1 "$(entries "$s/lines@" | wc -l)"
seq 1 100000 | tee -a "$r/max/lines" "$r/min/lines" >/dev/null
check_eq "through tee" "1 100000" "$(cat "$r/min/lines") $(cat "$r/max/lines")"
exec 3>>"$s/lines"
echo 1 >"$s/lines"
for number in 1 10 100; do
	echo $number >&3
	check_eq "a line is merged when it is written: $number" "$((number * 10 / 9 + 1))" "$(cat "$s/lines")"
	cat "$s/lines" >"$TMP/shown"
	check_eq "and its size is right: $number" "$(wc -c <"$TMP/shown")" "$(stat -c %s "$s/lines")"
done
exec 3>&-
check_eq "writes by one open file" ok "$(numbers_call '
fd = os.open(q, os.O_RDWR | os.O_CREAT)
assert write(fd, b"1\n20\n3") == 6
assert number(q) == 21 # lines that are ended are merged
assert (os.fstat(fd).st_size, os.lseek(fd, 0, os.SEEK_END)) == (6, 6) # it is as long as what was written
assert write(fd, b"0\n") == 2
assert number(q) == 51 # the rest of the line
assert os.pread(fd, 100, 0) == b"51\n"
write(fd, b"49")
fsync(fd)
assert number(q) == 100 # fsync ends a line
assert write(fd, b"1\n1\nx\n1\n") == 4 # a short count where a line is bad, then the error
assert error(write, fd, b"x\n1\n") == "EINVAL"
assert number(q) == 102
assert (error(write, fd, b"1\n"), error(close, fd)) == ("EINVAL", "EINVAL")' "$s/calls")"
check_eq "by one that appends" ok "$(numbers_call '
fd = os.open(q, os.O_WRONLY | os.O_APPEND)
assert write(fd, b"1y") == 2
assert error(write, fd, b"2\n3\n") == "EINVAL" # by the write that ends the line, also when tried again
assert error(write, fd, b"2\n3\n") == "EINVAL"
assert number(q) == 102
os.ftruncate(fd, 0)
assert write(fd, b"100\n") == 4 # truncated it begins anew
write(fd, b"z")
assert (error(fsync, fd), error(close, fd)) == ("EINVAL", "EINVAL")' "$s/calls")"
check_eq "by one that truncates" ok "$(numbers_call '
fd = os.open(q, os.O_WRONLY | os.O_TRUNC)
assert number(q) == 100 # it is what it was
write(fd, b"4\n")
assert number(q) == 4
os.ftruncate(fd, 0)
assert number(q) == 4
os.pwrite(fd, b"5\n", 0)
os.pwrite(fd, b"1\n", 2)
assert number(q) == 6 # the next line replaces, those behind are merged
close(fd)' "$s/calls")"
check_eq "at the end of what it shows" ok "$(numbers_call '
fd = os.open(q, os.O_WRONLY)
assert os.lseek(fd, 0, os.SEEK_END) == 2
assert write(fd, b"10\n") == 3
assert number(q) == 16
close(fd)
with open(q, "a") as file: # buffered
    for i in range(1000): file.write("%d\n" % i)
assert number(q) == 499516' "$s/calls")"

# ---- Refusals

echo 5 >"$s/bad"
ts=$(entries "$s/bad@")
while IFS= read -r line; do
	for redirect in '>>' '>'; do
		fail_with "refused by $redirect: '$line'" 1 'write error: Invalid argument' \
			bash -c "printf '%s\n' '$line' $redirect '$s/bad'"
		said "and why: '$line'" '^/t/r/sum/bad:1: not a whole number within 64 bits$'
	done
done <<'EOF'
x
1.0
1e3
0x10
 1
1 
--1
-
9223372036854775808
-9223372036854775809

1 2
EOF
is "none of them changed anything" "$s/bad" "$ts=5"
fail_with "a bad line behind others" 1 'write error: Invalid argument' \
	bash -c "printf '1\n2\nx\n100\n' >>'$s/bad'"
said "its number is told" '^/t/r/sum/bad:3: '
is "the lines before it are merged, it and those behind are not" "$s/bad" "$ts=8"
fail_with "the same in one write" 1 'write error: Invalid argument' \
	bash -c "/usr/bin/printf '1\n-1\nx\n100\n' >>'$s/bad'"
said "its number is told" '^/t/r/sum/bad:3: '
is "with the same result" "$s/bad" "$ts=8"
fail_with "nothing behind it is taken from that open file" 1 'write error: Invalid argument' \
	bash -c "{ printf 1; echo x; echo 2; } >>'$s/bad'"
is "and nothing merged" "$s/bad" "$ts=8"
echo 9223372036854775800 >"$s/bad"
fail_with "a sum out of range" 1 'write error: Value too large' bash -c "echo 8 >>'$s/bad'"
said "is told" '^/t/r/sum/bad:1: the sum would leave the range of 64 bits$'
fail_with "within many lines, too" 1 'write error: Value too large' \
	bash -c "printf '%s\n' 1 2 3 -1 -1 3 1 -100 >>'$s/bad'"
is "behind those that fit" "$s/bad" "$ts=9223372036854775807"
said "the line is told" '^/t/r/sum/bad:7: the sum'
fail_with "a line that never ends" 1 'Invalid argument' \
	bash -c "head -c 3000000 /dev/zero | tr '\0' 1 >>'$s/bad'"
check_eq "and changed nothing" 9223372036854775807 "$(cat "$s/bad")"
echo 5 >"$s/bad"
check_eq "writes elsewhere than at the end" ok "$(numbers_call '
fd = os.open(q, os.O_RDWR)
for offset in 0, 1, 100:
    assert error(os.pwrite, fd, b"7\n", offset) == "EINVAL", offset
assert (error(os.ftruncate, fd, 1), error(os.ftruncate, fd, 50)) == ("EINVAL", "EINVAL")
assert error(os.truncate, q, 0) == "EINVAL"
assert error(mmap.mmap, fd, 2) == "ENODEV"
assert number(q) == 5
assert error(os.mknod, q + "-nod") == "ENOTSUP"
assert not os.path.exists(q + "-nod")' "$s/bad")"
fail_with "truncate to another size" 1 'Invalid argument' truncate -s 7 "$s/bad"
is "nothing of it changed anything" "$s/bad" "$ts=5"

# ---- Files without a line

: >"$s/bad"
is "truncating alone leaves the number" "$s/bad" "$ts=5"
said "and says so" '^/t/r/sum/bad: no line was written: the number is what it was$'
{ :; echo 6; } >"$s/bad"
is "a line then replaces it" "$s/bad" "$ts=6"
loses "creating alone makes nothing" "$s/touched" -- touch "$s/touched"
said "and says so, too" '^/t/r/sum/touched: no line was written: nothing was made$'
exec 3>"$s/unseen"
gone "a new name is not seen by others" "$s/unseen"
/usr/bin/printf 1 >&3 # of another process, whose end does not end the line
gone "not before its first line ends" "$s/unseen"
echo 2 >&3
check_eq "but then" 12 "$(cat "$s/unseen")"
exec 3>&-
yields "O_EXCL makes a new one with its line" 5 'cat "$s/excl"' bash -c "set -C; echo 5 >'$s/excl'"
fail_with "but not twice" 1 'cannot overwrite' bash -c "set -C; echo 5 >'$s/excl'"

# ---- Long lines

# long BYTES LAST: one of so many bytes, in pieces, without a newline.
long() {
	head -c $(($1 - 1)) /dev/zero | tr '\0' 0 | dd bs=1000 status=none && printf %s "$2"
}
{ long 1048576 x && echo; } >>"$r/hll/long"
check_eq "an element of 1 MiB" 1 "$(cat "$r/hll/long")"
{ long 1048576 y; } >>"$r/hll/long"
check_eq "that a close ends" 2 "$(cat "$r/hll/long")"
fail_with "a longer one" - 'Invalid argument' bash -c "head -c 1048577 /dev/zero >>'$r/hll/long'"
said "says why" '^/t/r/hll/long:1: a line of more than 1 MiB$'
check_eq "and is none" 2 "$(cat "$r/hll/long")"
{ long 4096 7 && echo; } >"$s/long"
check_eq "an integer in 4096 bytes" 7 "$(cat "$s/long")"
printf '%04096d\n' 8 | dd bs=5000 iflag=fullblock status=none >"$s/long"
check_eq "also in one write" 8 "$(cat "$s/long")"
fail_with "in more, before the line ends" - 'Invalid argument' \
	bash -c "printf %04097d 9 | dd bs=5000 iflag=fullblock status=none >>'$s/long'"
said "says why" '^/t/r/sum/long:1: not a whole number within 64 bits$'
fail_with "also when it ends in the same write" - 'Invalid argument' \
	bash -c "printf '%04097d\\n' 9 | dd bs=5000 iflag=fullblock status=none >>'$s/long'"
check_eq "none of them is merged" 8 "$(cat "$s/long")"

# ---- Killed, removed and renamed under a writer

# killed COMMAND…: runs it, a process that kills itself.
killed() {
	bash -c "$1; kill -9 \$\$" 2>/dev/null &
	wait $! 2>/dev/null
}
killed "exec >>'$s/killed'; echo 1; printf 2"
check_eq "a line that a killed writer did not end is not merged, those before are" 1 "$(cat "$s/killed")"
killed "exec >'$s/killed'; echo 5; printf 6"
check_eq "the same where it replaces" 5 "$(cat "$s/killed")"
killed "exec >'$s/killed-new'; printf 6"
gone "or is alone" "$s/killed-new"
exec 3>>"$s/removed"
echo 1 >&3
rm "$s/removed"
echo 2 >&3
exec 3>&-
gone "what is written to a removed file goes nowhere" "$s/removed"
echo 1 >"$s/from"
exec 3>>"$s/from"
mv "$s/from" "$s/to"
echo 2 >&3
exec 3>&-
check_eq "a rename takes the writer along" 3 "$(cat "$s/to")"
gone "and leaves nothing" "$s/from"
column "$s/a" 10=1 20=2
column "$s/b" 30=3 15=4
mv "$s/a" "$s/b"
check_eq "mv makes it the newest version of another" "2 3 4" \
	"$(for version in $(entries "$s/b@"); do cat "$s/b@/$version"; done | paste -sd' ')"
makes "mv of a version" "$s/c" "15=4" -- mv "$s/b@/15" "$s/c"

# ---- Many at once

for writer in 1 2 3 4 5 6 7 8; do
	for ((i = 0; i < 200; i++)); do
		echo 1 >>"$s/many"
		((i % 4)) || printf '1\n-1\n1\n' >>"$s/many"
	done &
	pids[writer]=$!
done
wait "${pids[@]}"
check_eq "of 8 writers' lines none is lost" 2000 "$(cat "$s/many")"
check_eq "and they are one cell" 1 "$(entries "$s/many@" | wc -l)"
ts=$(entries "$s/many@")
for writer in 1 2 3 4 5 6 7 8; do
	for ((i = 0; i < 100; i++)); do
		case $((writer % 4)) in
		0) echo 1 >>"$s/many" ;;
		1) echo 1 >>"$s/many@/$ts" ;;
		2) echo 1 >>"$m/.versions/t/r/sum/many@/$ts" ;;
		3) echo '{"increment":{"sum":{"many":1}}}' >"$r/.row" ;;
		esac
	done &
	pids[writer]=$!
done
wait "${pids[@]}"
check_eq "nor by whatever ways they come" "$ts=2800" "$(history "$s/many")"
# The kernel keeps the name while nobody writes.
check_eq "every look is exact" ok "$(numbers_call '
total = 0
for i in range(300):
    fd = os.open(q, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for _ in range(i % 3):
        total += 7 ** (i % 9)
        write(fd, b"%d\n" % 7 ** (i % 9))
        assert (os.stat(q).st_size, number(q)) == (len(str(total)) + 1, total), i
    close(fd)
    assert not total or os.stat(q).st_size == len(str(total)) + 1, i' "$s/looks")"
check_eq "random writes are as a model of cells says, in both trees" ok "$(numbers_call '
import random
random.seed(7)
trees = [a[0] + tree + "/t/random/" for tree in ("", "/.versions")]
merges = {"sum": sum, "min": min, "max": max}
model = {}
for step in range(500):
    family = random.choice(list(merges))
    name = family + "/" + random.choice("abc")
    os.makedirs(trees[0] + family, exist_ok=True)
    cells = model.setdefault(name, {})
    numbers = [random.randint(-50, 50) for _ in range(random.choice([1, 1, 1, 2, 5]))]
    replaces = random.random() < 0.3
    ts, path, kind = max(cells, default=None), trees[0] + name, random.random()
    if kind < 0.5:
        ts, path = random.randint(0, 5), random.choice(trees) + name + "@"
        os.makedirs(path, exist_ok=True)
        path += "/%d" % ts
    elif kind < 0.6 and cells:
        ts = random.choice(list(cells))
        os.unlink("%s%s@/%d" % (trees[0], name, ts))
        del cells[ts]
        continue
    with open(path, "w" if replaces else "a") as file:
        file.write("".join("%d\n" % n for n in numbers))
    if ts is None:
        ts = int(os.listdir(trees[0] + name + "@")[0])
    cells[ts] = merges[family](numbers + ([cells[ts]] if ts in cells and not replaces else []))
    for tree in trees:
        history = tree + name + "@/"
        assert {int(v): number(history + v) for v in os.listdir(history)} == cells, (step, path)
    assert number(trees[0] + name) == cells[max(cells)], (step, path)' "$m")"

# ---- Times

column "$s/times" 1000=1 5000=2
makes "touch stamps the newest cell" "$s/times" "4000=2 1000=1" -- touch -d @0.004 "$s/times"
fail_with "but not to before the next one" 1 'Invalid argument' touch -d @0.001 "$s/times"
echo 9 >"$TMP/nine"
touch -d @0.003 "$TMP/nine"
makes "cp -p replaces and stamps" "$s/times" "3000=9 1000=1" -- cp -p "$TMP/nine" "$s/times"
touch -d @0.0005 "$TMP/nine"
echo 8 >"$TMP/nine" && touch -d @0.0005 "$TMP/nine"
check "an older stamp gives way" cp -p "$TMP/nine" "$s/times"
is "and the number is there" "$s/times" "3000=8 1000=1"
makes "a new column has the stamp" "$s/stamped" "500=8" -- cp -p "$TMP/nine" "$s/stamped"
column "$s/late" 1000=1 5000=2
exec 3>>"$s/late"
echo 1 >&3
touch -d @0.004 - >&3
echo 4 >"$s/late@/4500"
exec 3>&-
is "a stamp that has become too early" "$s/late" "5000=3 4500=4 1000=1"
said "is told at the close" '^/t/r/sum/late: the new time could not be stored: Invalid argument$'

# ---- Tools

column "$m/t/tools/sum/q" 1000=-1 2000000=22
column "$m/t/tools/sum/p" 3000000=333
column "$m/t/tools/min/q" 4000000=4
column "$m/t/tools/max/q" 5000000=-55555
# numbers ROW: family, column and cells.
numbers() {
	local family name
	for family in sum min max; do
		for name in $(entries "$m/$1/$family"); do
			echo "$family $name $(history "$m/$1/$family/$name")"
		done
	done
}
newest='sum p 3000000=333
sum q 2000000=22
min q 4000000=4
max q 5000000=-55555'
all=${newest/2000000=22/2000000=22 1000=-1}
check_eq "what is to be copied" "$all" "$(numbers t/tools)"
yields "cp -a: the newest, with their times" "$newest" 'numbers u/cp' cp -a "$m/t/tools" "$m/u/cp"
yields "rsync -a: the same" "$newest" 'numbers u/rsync' rsync -a "$m/t/tools/" "$m/u/rsync/"
check_eq "rsync finds nothing more to do" "" "$(rsync -ai "$m/t/tools/" "$m/u/rsync/" | grep '^>')"
mkdir "$m/u/tar" "$m/u/posix"
yields "tar: numbers" "$newest" 'numbers u/tar' bash -c "tar c -C '$m/t/tools' . | tar x -C '$m/u/tar'"
check "tar --overwrite, over them" bash -c "tar c -C '$m/t/tools' . | tar x --overwrite -C '$m/u/tar'"
check_eq "tar --overwrite: the same numbers" "$newest" "$(numbers u/tar)"
for tool in "cp -a" "rsync -a"; do
	read -ra command <<<"$tool"
	to=u/all-${tool%% *}
	check "$tool, all versions" "${command[@]}" "$m/.versions/t/tools" "$m/.versions/$to"
	[ "$tool" = "cp -a" ] || to=$to/tools
	check_eq "$tool: all cells" "$all" "$(numbers "$to")"
done
mkdir -p "$m/.versions/u/all-tar"
check "tar, all versions" bash -c "tar c -C '$m/.versions/t/tools' . | tar x -C '$m/.versions/u/all-tar'"
check_eq "tar: all cells" "$all" "$(numbers u/all-tar)"
rsync -a "$m/t/tools/" "$m/u/cp/"
mkdir -p "$m/u/mv/sum"
makes "mv to another row copies the newest" "$m/u/mv/sum/q" "2000000=22" -- mv "$m/u/cp/sum/q" "$m/u/mv/sum/q"
gone "and removes it" "$m/u/cp/sum/q"
yields "install: the number" 22 'cat "$m/u/mv/sum/p"' install "$m/u/mv/sum/q" "$m/u/mv/sum/p"
yields "cp to a file of bytes: it is its text" "22" 'cat "$r/f/bytes"' cp "$m/u/mv/sum/q" "$r/f/bytes"
yields "and back: its number" 22 'cat "$s/back"' cp "$r/f/bytes" "$s/back"
renews "sed -i makes a version" "$m/u/mv/sum/q" 44 "2000000=22" -- sed -i s/22/44/ "$m/u/mv/sum/q"
check_eq "and leaves no other name" "p q" "$(entries "$m/u/mv/sum" | sort | paste -sd' ')"
yields "sed -i of a version sets that" 55 'cat "$m/u/mv/sum/q@/2000000"' sed -i s/22/55/ "$m/u/mv/sum/q@/2000000"
yields "vim: its number" 66 'cat "$m/u/mv/sum/q"' vim -u NONE -n -es -c 's/44/66/' -c wq "$m/u/mv/sum/q"
check_eq "and no other name" "p q" "$(entries "$m/u/mv/sum" | sort | paste -sd' ')"
yields "dd to a new one: its number" 5 'cat "$s/dd"' bash -c "echo 5 | dd of='$s/dd' status=none"

# Drafts are text until they become cells.
yields "a draft is text" 77 'cat "$s/q@/.draft"' replace "$s/q@/.draft" 77
mv "$s/q@/.draft" "$s/q@/60"
check_eq "that becomes a number" 77 "$(cat "$s/q@/60")"
mv "$s/q@/60" "$s/q@/.60"
yields "and back" "77" 'cat "$s/q@/61"' mv "$s/q@/.60" "$s/q@/61"
for text in x '' '1\n2'; do
	printf %b "$text" >"$s/q@/.draft"
	fail_with "a draft that is no number: '$text'" 1 'Invalid argument|to a subdirectory of itself' \
		mv "$s/q@/.draft" "$s/q@/70"
	said "is refused in words: '$text'" '^/t/r/sum/q@/.draft: it is not one line'
	check_eq "and stays: '$text'" "$(printf %b "$text")" "$(cat "$s/q@/.draft")"
done
fail_with "nothing is made of it" 1 'No such file' cat "$s/q@/70"

# ---- inthll

h=$r/hll
for name in ann bob ann eve bob; do echo "$name" >>"$h/few"; done
check_eq "elements count once" 3 "$(cat "$h/few")"
check_eq "the size is the estimate's" 2 "$(stat -c %s "$h/few")"
printf 'ann\n\neve' >>"$h/few"
check_eq "an empty line is an element, the last line one, too" 4 "$(cat "$h/few")"
seq 1 100000 >"$h/many"
estimate "many elements in one file" 100000 "$h/many"
seq 50001 150000 >>"$h/many"
estimate "half of them twice" 150000 "$h/many"
cat "$h/many" "$h/many" >"$TMP/shown"
check_eq "the size is the number's" "$(wc -c <"$TMP/shown")" \
	"$(stat -c %s "$h/many" "$h/many@"/* | awk '{ sum += $1 } END { print sum }')"
state=$(jq -r '.families.hll.many[0].state' "$r/.row")
seq 1 150000 | shuf >"$h/again"
check_eq "the same elements make the same state" "$state" "$(jq -r '.families.hll.again[0].state' "$r/.row")"
yields "> replaces them" 1 'cat "$h/again"' replace "$h/again" one
mkdir -p "$m/u/elements/hll" "$m/u/elements/sum"
for tool in "cp" "cp -a" "install" "rsync -a" "mv"; do
	read -ra command <<<"$tool"
	fail_with "$tool does not copy an estimate as an element" - 'not supported' \
		"${command[@]}" "$h/many" "$m/u/elements/hll/"
done
said "why is told" '^/u/elements/hll/many: the file of an inthll has its estimate'
check_eq "nothing was made" "" "$(entries "$m/u/elements/hll")"
estimate "nothing was lost" 150000 "$h/many"
fail_with "nor is a version kept as a draft" 1 'not supported' \
	mv "$h/many@/$(entries "$h/many@")" "$h/many@/.draft"
check "row JSON copies it" bash -c "jq -c '{families:{hll:{many:.families.hll.many}}}' '$r/.row' >'$m/u/elements/.row'"
check_eq "with its state" "$state" "$(jq -r '.families.hll.many[0].state' "$m/u/elements/.row")"
check "cp of an estimate as a number" cp "$h/few" "$m/u/elements/sum/few"
check_eq "is that number" 4 "$(cat "$m/u/elements/sum/few")"


# ---- All is there after a remount

before=$(find "$m/t" -type f -exec grep -H . {} + | sort | cksum)
ino=$(stat -c %i "$s/q")
remount
check_eq "the numbers are there" "$before" "$(find "$m/t" -type f -exec grep -H . {} + | sort | cksum)"
check_eq "so is the inode" "$ino" "$(stat -c %i "$s/q")"
finish
