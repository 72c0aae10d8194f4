#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Cells as files: their stat, reads while others write, and histories.

. "$(dirname "$0")/lib.sh"

f=$m/t/row/f

text() {
	head -c "$1" /dev/zero | tr '\0' x
}

began=$(date +%s)
make_store "$TMP/s" '{"version":1,"tables":{"t":{"families":{"f":{},"g":{}}},"u":{}}}'
{
	echo '{"table":"t"}'
	printf '{"key":"row","families":{"f":{"time":[%s,%s,%s,%s],"base64":[{"ts":9,"base64":"AP/+"}]' \
		'{"ts":1700000000123456,"value":"newest"}' '{"ts":1699999990000001,"value":"older"}' \
		'{"ts":1,"value":"one"}' '{"ts":0,"value":"zero"}'
	for size in 0 1 511 512 513 4095 4096 4097 65535 65536 65537 1048576; do
		printf ',"s%d":[{"ts":%d,"value":"%s"}]' "$size" $((size + 1)) "$(text "$size")"
	done
	printf ',"zero":[{"ts":0,"value":"z"}],"max":[{"ts":9223372036854775807,"value":"m"}]'
	printf ',"year2100":[{"ts":4102444800999999,"value":"y"}]'
	printf '},"g":{"time":[{"ts":1700000000123456,"value":"g"}]}}}\n'
} >"$TMP/rows"
"$BUILD/rowfs-load" "$TMP/s" "$TMP/rows" 2>"$TMP/load" || die "loading: $(cat "$TMP/load")"
mount_store "$TMP/s" "$m"

# ---- Size and times --------------------------------------------------------------------------

for size in 0 1 511 512 513 4095 4096 4097 65535 65536 65537 1048576; do
	check_eq "a value of $size bytes: size, blocks" "$size $(((size + 511) / 512))" \
		"$(stat -c '%s %b' "$f/s$size")"
	check_eq "and its cell's" "$size $(((size + 511) / 512))" \
		"$(stat -c '%s %b' "$f/s$size@/$((size + 1))")"
	check "and its bytes" cmp <(text "$size") "$f/s$size"
done
check_eq "any bytes" '\0 377 376' "$(od -An -c "$f/base64" | tr -s ' ' | sed 's/^ //')"
check_eq "wc -c" 1048576 "$(wc -c <"$f/s1048576")"
check_eq "du counts the blocks" 1048576 "$(du -B1 "$f/s1048576" | cut -f 1)"
check_eq "du --apparent-size counts bytes" 513 "$(du -b "$f/s513" | cut -f 1)"

# times NAME SECONDS.MICROSECONDS PATH: all three times.
times() {
	check_eq "$1" "$2 $2 $2" "$(stat -c '%.6X %.6Y %.6Z' "$3")"
}
times "the newest cell's timestamp is q's time" 1700000000.123456 "$f/time"
times "a cell's timestamp is its time" 1700000000.123456 "$f/time@/1700000000123456"
times "an older one's" 1699999990.000001 "$f/time@/1699999990000001"
times "a microsecond after 1970" 0.000001 "$f/time@/1"
times "1970 itself" 0.000000 "$f/time@/0"
times "1970 as the newest" 0.000000 "$f/zero"
times "the next century" 4102444800.999999 "$f/year2100"
check_eq "no nanoseconds are made up" 123456000 "$(stat -c %.9Y "$f/time" | cut -d . -f 2)"
times "the last timestamp of all" 9223372036854.775807 "$f/max@/9223372036854775807"
check_eq "cells newest first" "$(lines 1700000000123456 1699999990000001 1 0)" \
	"$(entries "$f/time@")"
check_eq "each its own value" "newest older one zero" "$(cd "$f/time@" && printf '%s %s %s %s' \
	"$(cat 1700000000123456)" "$(cat 1699999990000001)" "$(cat 1)" "$(cat 0)")"
check_eq "q is the newest" newest "$(cat "$f/time")"
fail_with "no other cell is there; test_drafts.sh has names that are none" - 'No such file' stat "$f/time@/2"
fail_with "no history of a column that is missing" - 'No such file' stat "$f/none@"
fail_with "nor of a history" - 'No such file' stat "$f/time@@"
fail_with "a cell is no directory" - 'Not a directory' stat "$f/time@/1/x"

# ---- Modes, owners, links, inodes ------------------------------------------------------------

check_eq "a column is 0644, regular, with 2 links" "644 regular file 2" "$(stat -c '%a %F %h' "$f/time")"
check_eq "a cell has 1" "644 regular file 1" "$(stat -c '%a %F %h' "$f/time@/1")"
check_eq "directories are 0755 with 1 link" "755 directory 1" \
	"$(stat -c '%a %F %h' "$m" "$m/t" "$m/t/row" "$f" "$f/time@" "$m/.versions" "$m/.rowfs" \
		"$m/t/.families" | sort -u)"
check_eq "who mounted owns everything" "$(id -u) $(id -g)" \
	"$(stat -c '%u %g' "$m" "$m/t" "$m/t/row" "$f" "$f/time" "$f/time@" "$f/time@/1" | sort -u)"
check_eq "a table's time is its directories'" 1 \
	"$(stat -c '%.9X %.9Y %.9Z' "$m/t" "$m/t/row" "$f" "$f/time@" "$m/.versions/t" | tr ' ' '\n' |
		sort -u | wc -l)"
made=$(stat -c %Y "$m/t")
check "the table was made in this test" test "$made" -ge "$began" -a "$made" -le "$(date +%s)"
check "and the store not later" test "$(stat -c %Y "$m")" -le "$(stat -c %Y "$m/t")"

inodes() {
	(cd "$m" && find . .versions -printf '%i %.10T@ %p\n' | sort -k 3)
}

# What restic and borg compare of a file: size, time and inode, by stat and by a listing.
seen() {
	stat -c '%s %y %i' "$@" && find "${@%/*}" -mindepth 1 -maxdepth 1 -printf '%p %i\n'
}
for ts in 1 "$(entries "$f/time@" | head -n 1)"; do # an older version, and the newest
	for history in "$f/time@" "$m/.versions/t/row/f/time@"; do
		printf aaaa >"$history/$ts"
		version=$(seen "$history/$ts")
		column=$(stat -c '%s %y %i' "$f/time")
		check_eq "a version keeps its inode" "$version" "$(seen "$history/$ts")"
		printf bbbb >"$history/$ts"
		check "replaced under its own timestamp it has another one" \
			test "$version" != "$(seen "$history/$ts")"
		check_eq "which a listing has as well" "$(stat -c %i "$history/$ts")" \
			"$(find "$history" -name "$ts" -printf '%i\n')"
		check_eq "while size and time are the same" "$(head -n 1 <<<"$version" | cut -d ' ' -f 1-4)" \
			"$(stat -c '%s %y' "$history/$ts")"
		check_eq "and the column has the inode that it had" "${column##* }" "$(stat -c %i "$f/time")"
		exec 3>>"$history/$ts"
		check_eq "a writer has the inode of what is there" "$(stat -c %i "$history/$ts")" \
			"$(stat -L -c %i /proc/self/fd/3)"
		printf more >&3
		check "until it has written" cmp -s <(stat -c %i "$history/$ts") <(stat -L -c %i /proc/$$/fd/3)
		exec 3>&-
	done
done
inodes >"$TMP/inodes"
check_eq "q, each of its cells and the others have inodes of their own" "" \
	"$(for path in "$f"/* "$f"/time@/* "$f"/time@ "$m/t/row/g/time" "$m/t/row/g" "$f" "$m/t/row" \
		"$m/t" "$m/u" "$m"; do stat -c %i "$path"; done | sort | uniq -d)"
check_eq "readdir gives the same inodes" "$(stat -c '%i %n' "$f"/* | sed "s,$f/,," | sort)" \
	"$(find "$f" -mindepth 1 -printf '%i %f\n' | sort)"
remount
inodes >"$TMP/again"
check "inodes and times are the same in the next mount" cmp "$TMP/inodes" "$TMP/again"

check "chmod is accepted" chmod 600 "$f/time"
check "and ignored" test "$(stat -c %a "$f/time")" = 644
check "chmod of a directory is accepted" chmod 700 "$m/t/row"
check "and ignored" test "$(stat -c %a "$m/t/row")" = 755
if [ "$(id -u)" = 0 ]; then
	check "chown is accepted" chown 12:34 "$f/time" "$m/t/row"
	check_eq "and ignored" "0 0" "$(stat -c '%u %g' "$f/time")"
fi
check_eq "neither makes a version" 4 "$(entries "$f/time@" | wc -l)"
check "a directory's times can be set" touch -d @5 "$m/t/row" "$m/t" "$m"
check "and are ignored" test "$(stat -c %Y "$m/t/row")" != 5

# ---- Open files whose names go -----------------------------------------------------------------

# Each open file of a name that was removed or replaced has no link and an inode number of its own,
# and the new file of the name has the name's; a version has one for each of its values.
check_eq "open files of names that went" "" "$("$python" -S - "$m/t" <<'END'
import itertools, os, sys
os.chdir(sys.argv[1])
FLAGS = {"read": os.O_RDONLY, "write": os.O_WRONLY, "both": os.O_RDWR}
def put(path, text):
    with open(path, "w") as file: file.write(text)
def replace(path):
    other = os.path.dirname(path) + "/.other"
    put(other, "other")
    os.rename(other, path)
def drop(path): put("gone/.drop", "gone\n")
def row(path): put("gone/.row", '{"delete":true}\n')
def version(path):
    for name in os.listdir("gone/f/q@"): os.unlink("gone/f/q@/" + name)
def column(path): os.unlink("gone/f/q")
def cells(path): put("gone/.row", '{"delete":{"f":{"q":true}}}\n')
def twin(path): os.unlink("../.versions/t/gone/f/q@/5")
ways = [("gone/f/q", way) for way in (os.unlink, replace, drop, row, cells, version)]
ways += [("gone/f/q@/5", way) for way in (os.unlink, replace, drop, row, cells, column)]
ways += [("gone/f/q@/.draft", way) for way in (os.unlink, replace)]
for (path, way), flags, older in itertools.product(ways, FLAGS, (False, True)):
    os.makedirs("gone/f/q@", exist_ok=True)
    put("gone/f/q@/5", "old")
    put(path, "new")
    was = os.stat(path)
    fd = os.open(path, FLAGS[flags])
    other = os.open(path, os.O_RDONLY)
    if older and path == "gone/f/q":
        put(path, "newer")
    if (os.fstat(fd).st_ino, os.fstat(fd).st_nlink) != (was.st_ino, was.st_nlink):
        print(path, way.__name__, flags, "before", os.fstat(fd), was)
    way(path)
    if way != replace: # the column may be left, or something else be made there
        os.makedirs("gone/f/q@", exist_ok=True)
        put(path, "anew")
    now, went, second = os.stat(path), os.fstat(fd), os.fstat(other)
    if (now.st_ino != was.st_ino, now.st_nlink) != (path == "gone/f/q@/5", was.st_nlink):
        print(path, way.__name__, flags, "now", now)
    inodes = {now.st_ino, went.st_ino, second.st_ino}
    if way in (row, cells, version) and flags != "read": # the unfinished write makes the column anew
        went = second
    if went.st_nlink or second.st_nlink or len(inodes) < 2:
        print(path, way.__name__, flags, older, "links", went.st_nlink, second.st_nlink, len(inodes))
    os.close(fd)
    os.close(other)
    os.unlink("gone/f/q")
    os.path.exists("gone/f/q@/.draft") and os.unlink("gone/f/q@/.draft")
# A column that is renamed takes its open files along; one whose newest version goes keeps them.
put("gone/f/a", "a")
with open("gone/f/a") as file:
    os.rename("gone/f/a", "gone/f/b")
    now, there = os.fstat(file.fileno()), os.stat("gone/f/b")
    if (now.st_nlink, now.st_ino) != (2, there.st_ino):
        print("renamed", now, there)
END
)"

# ---- Reading while others write --------------------------------------------------------------

head -c 5242880 /dev/urandom >"$TMP/large1"
head -c 5242880 /dev/urandom >"$TMP/large2"
cp "$TMP/large1" "$f/large"
exec 3<"$f/large"
head -c 100000 <&3 >"$TMP/read"
yields "a large value has two versions now" 2 'entries "$f/large@" | wc -l' cp "$TMP/large2" "$f/large"
cat <&3 >>"$TMP/read"
exec 3<&-
check "a large value half read is not mixed with the next" cmp "$TMP/large1" "$TMP/read"
check "which is read whole" cmp "$TMP/large2" "$f/large"
old=$(entries "$f/large@" | tail -n 1)
exec 3<"$f/large@/$old"
head -c 100000 <&3 >"$TMP/read"
cp "$TMP/large2" "$f/large@/$old"
cat <&3 >>"$TMP/read"
exec 3<&-
check "nor is a cell that is set anew" cmp "$TMP/large1" "$TMP/read"
check "which is the new one then" cmp "$TMP/large2" "$f/large@/$old"
cp "$TMP/large1" "$f/large"
exec 3<"$f/large"
head -c 100000 <&3 >"$TMP/read"
rm "$f/large"
cat <&3 >>"$TMP/read"
exec 3<&-
check "a large value is read to its end when it is removed" cmp "$TMP/large1" "$TMP/read"

# ---- Options ---------------------------------------------------------------------------------

remount -o strict
fail_with "strict: chmod is refused" - 'Operation not permitted' chmod 600 "$f/time"
fail_with "strict: of a directory as well" - 'Operation not permitted' chmod 700 "$m/t/row"
if [ "$(id -u)" = 0 ]; then
	fail_with "strict: chown is refused" - 'Operation not permitted' chown 12:34 "$f/time"
fi
check "strict: writing is not" bash -c "echo x >'$f/strict'"
remount -o uid=1234,gid=5678,umask=027
check_eq "uid, gid, umask: of files" "1234 5678 640" "$(stat -c '%u %g %a' "$f/time")"
check_eq "of cells" "1234 5678 640" "$(stat -c '%u %g %a' "$f/time@/1")"
check_eq "of directories" "1234 5678 750" \
	"$(stat -c '%u %g %a' "$m" "$m/t" "$m/t/row" "$f" "$f/time@" | sort -u)"
check "errors is 0600 whatever the umask" test "$(stat -c %a "$m/.rowfs/errors")" = 600

finish
