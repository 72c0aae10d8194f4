#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Renaming columns and versions, and as programs use it: they write a temporary file and rename it.
# test_caches.sh looks at names that the kernel had cached.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cells.sh"

f=$m/t/row/f
future=4102444800000000
last=9223372036854775807

# refused NAME ERRNO FROM TO: rename(2) fails with that errno.
refused() {
	check_eq "$1" "$2" "$(call 'rename(*a)' "$3" "$4")"
}

new_mount '{"version":1,"tables":{
	"t":{"families":{"f":{},"g":{},"one":"maxversions=1","two":"maxversions=2","day":"maxage=1d"}},
	"u":{"families":{"f":{},"g":{}}}}}'
mkdir -p "$f" "$m/t/row/g" "$m/t/row/one" "$m/t/row/two" "$m/t/row/day" "$m/t/other/f" "$m/u/row/f"

# ---- The target is not there -----------------------------------------------------------------

column "$f/a" 1000=x 2000=y 3000=z
makes "mv to a new name renames the column, history and all" "$f/b" "3000=z 2000=y 1000=x" -- mv "$f/a" "$f/b"
gone "the old name goes" "$f/a"
check_eq "its time is that of its newest cell" 0.003000 "$(stat -c %.6Y "$f/b")"
check_eq "and its size" 1 "$(stat -c %s "$f/b")"
makes "mv back gives what was" "$f/a" "3000=z 2000=y 1000=x" -- mv "$f/b" "$f/a"
check "mv to a name of odd bytes" mv "$f/a" "$f/%0A ü%FF%40"
is "it is a column as any" "$f/%0A ü%FF%40" "3000=z 2000=y 1000=x"
makes "the empty name is one, too" "$f/%" "3000=z 2000=y 1000=x" -- mv "$f/%0A ü%FF%40" "$f/%"
check "back from it" mv "$f/%" "$f/a"
check_eq "rename onto itself changes nothing" ok "$(call 'rename(a[0], a[0])' "$f/a")"
is "nothing at all" "$f/a" "3000=z 2000=y 1000=x"
head -c 5000000 /dev/urandom >"$TMP/large"
cp "$TMP/large" "$f/large"
yields "mv of a large value moves it whole" "" 'cmp "$TMP/large" "$f/larger" 2>&1' mv "$f/large" "$f/larger"
for i in {1..60}; do echo "$i" >"$f/many"; done
before=$(history "$f/many")
makes "mv of a long history moves it all" "$f/many2" "$before" -- mv "$f/many" "$f/many2"
check "one that is too long for mv is copied below /.versions" cp -a "$m/.versions/t/row/f/many2@" "$m/.versions/t/row/f/many@"
is "whole" "$f/many" "$before"

# ---- The target is there ---------------------------------------------------------------------

# over NAME A B HISTORY: mv of the cells A over the cells B gives b this history; "fresh VALUE OLDER"
# is a newest cell of the present above the older ones.
over() {
	local value older
	# shellcheck disable=SC2086 # cells are words
	column "$f/a" $2 && column "$f/b" $3
	check "mv $1" mv "$f/a" "$f/b"
	read -r _ value older <<<"$4"
	case $4 in
	fresh*) newest_is "mv $1: then" "$f/b" "$value" "$older" ;;
	*) is "mv $1: then" "$f/b" "$4" ;;
	esac
	gone "mv $1: column a goes, also its older version" "$f/a"
}
over "over a column makes its newest b's newest, at its timestamp if that is later" \
	"4000=ao 5000=an" "2000=bo 3000=bn" "5000=an 3000=bn 2000=bo"
check_eq "b's time" 0.005000 "$(stat -c %.6Y "$f/b")"
over "of an older over a newer one gets a fresh timestamp" 1000=an 3000=bn "fresh an 3000=bn"
over "of one of the same timestamp gets a fresh one, too" 3000=an 3000=bn "fresh an 3000=bn"
over "over one of the future is a microsecond later" 1000=an $future=bn "$((future + 1))=an $future=bn"
over "of one of a later future keeps its timestamp" "$((future + 5))=an 7=ao" $future=bn \
	"$((future + 5))=an $future=bn"
over "of the last timestamp of all, which is later than any other, keeps it" $last=an 1000=bn "$last=an 1000=bn"
over "of an empty value makes an empty version" 1000= 500=bn "1000= 500=bn"
column "$f/a" 1000=an
column "$f/b" $last=bn
refused "above the last timestamp of all there is no room" EOVERFLOW "$f/a" "$f/b"
is "then nothing changed in b" "$f/b" "$last=bn"
is "nor in a" "$f/a" "1000=an"

# ---- One version -----------------------------------------------------------------------------

column "$f/q" 1000=x 2000=y 3000=z
rm -f "$f/b"
makes "mv q@/TS b moves that one cell" "$f/b" "2000=y" -- mv "$f/q@/2000" "$f/b"
is "the others stay" "$f/q" "3000=z 1000=x"
column "$f/b" 500=bn
makes "over a column it becomes the newest" "$f/b" "1000=x 500=bn" -- mv "$f/q@/1000" "$f/b"
check "over a newer one" bash -c "printf new >'$f/b@/5000' && mv '$f/q@/3000' '$f/b'"
newest_is "it becomes the newest, too" "$f/b" z "5000=new 1000=x 500=bn"
gone "the last cell takes its column along" "$f/q"
column "$f/q" 1000=x 2000=y 3000=z
check "mv of a version to another timestamp" mv "$f/q@/2000" "$f/q@/4000"
is "sets that cell" "$f/q" "4000=y 3000=z 1000=x"
makes "to one that is there replaces it" "$f/q" "3000=y 1000=x" -- mv "$f/q@/4000" "$f/q@/3000"
check_eq "with RENAME_NOREPLACE it does not" EEXIST \
	"$(call 'renameat2(*a, NOREPLACE)' "$f/q@/1000" "$f/q@/3000")"
check_eq "but to a free one it does" ok \
	"$(call 'renameat2(*a, NOREPLACE)' "$f/q@/1000" "$f/q@/2000")"
is "nothing else changed" "$f/q" "3000=y 2000=x"
renews "mv of an older version to its own column makes it the newest again" "$f/q" x "3000=y" -- mv "$f/q@/2000" "$f/q"
for into in "$f/q@/7" "$f/q@/3000" "$f/q@/.draft" "$m/.versions/t/row/f/q@/7"; do
	fail_with "a column is no version of itself" 1 'subdirectory of itself' mv "$f/q" "$into"
done
newest_is "and nothing is lost" "$f/q" x "3000=y"
refused "a version to another column's history" EXDEV "$f/q@/3000" "$f/b@/3000"
yields "mv copies it: the cell is there" y 'cat "$f/b@/7"' mv "$f/q@/3000" "$f/b@/7"
check "and not here" test ! -e "$f/q@/3000"
refused "a version that is missing" ENOENT "$f/q@/77" "$f/b"

# ---- RENAME_NOREPLACE, RENAME_EXCHANGE -------------------------------------------------------

column "$f/a" 1000=a
column "$f/b" 2000=b
mv -n "$f/a" "$f/b" 2>/dev/null
is "mv -n keeps the target" "$f/b" "2000=b"
is "and the source" "$f/a" "1000=a"
makes "mv -n to a new name moves" "$f/n" "1000=a" -- mv -n "$f/a" "$f/n"
gone "it all" "$f/a"
check_eq "RENAME_NOREPLACE over a column" EEXIST "$(call 'renameat2(*a, NOREPLACE)' "$f/n" "$f/b")"
check_eq "to a new name" ok "$(call 'renameat2(*a, NOREPLACE)' "$f/n" "$f/a")"
check_eq "RENAME_EXCHANGE" EINVAL "$(call 'renameat2(*a, EXCHANGE)' "$f/a" "$f/b")"
is "changes nothing in a" "$f/a" "1000=a"
is "nor in b" "$f/b" "2000=b"
check_eq "of 8 racers to one name one wins, and the others keep theirs" "1 7 7" "$(python '
for i in range(8): put("%s/racer%d" % (q, i), str(i))
r, w = os.pipe()
def racer(i):
    close(w)
    os.read(r, 1)
    return error(renameat2, "%s/racer%d" % (q, i), q + "/goal", NOREPLACE)
racers = [started(racer, i) for i in range(8)]
close(w)
won = [pipe.read() for pipe in racers]
assert get(q + "/goal") == str(won.index("ok"))
print(won.count("ok"), won.count("EEXIST"), str(os.listdir(q)).count("racer"))' "$f")"

# ---- Refusals --------------------------------------------------------------------------------

column "$f/a" 1000=ao 2000=an
refused "to another family" EXDEV "$f/a" "$m/t/row/g/a"
refused "to another row" EXDEV "$f/a" "$m/t/other/f/a"
refused "to another table" EXDEV "$f/a" "$m/u/row/f/a"
refused "a version to another column's in /.versions" EXDEV "$m/.versions/t/row/f/a@/1000" \
	"$m/.versions/t/row/f/b@/1000"
refused "a row" EXDEV "$m/t/row" "$m/t/row2"
refused "a family" EXDEV "$f" "$m/t/other/f2"
refused "a family to another row" EXDEV "$f" "$m/t/other/one"
refused "a history" EXDEV "$f/a@" "$f/z@"
refused "a table" EPERM "$m/t" "$m/t2"
refused "a table in /.versions" EPERM "$m/.versions/t" "$m/.versions/t2"
refused "what is not there" ENOENT "$f/none" "$f/b"
refused "from a name that is no name" ENOENT "$f/%41" "$f/b"
refused "to a name that is no name" EINVAL "$f/a" "$f/%41"
refused "to a name with a bad escape" EINVAL "$f/a" "$f/x%zz"
refused "onto a directory" EISDIR "$f/a" "$f/a@"
check "to a history's name it fails" test ok != "$(call 'rename(*a)' "$f/a" "$f/fresh@")"
for file in .rowfs/errors .rowfs/schema.json .rowfs/version t/.delimiter t/.families/f/gc \
	t/.families/f/type; do
	refused "$file" EPERM "$m/$file" "$m/${file%/*}/renamed"
	check "$file is still there" test -e "$m/$file"
done
check "a family's control directory stays" bash -c "! mv '$m/t/.families/g' '$m/t/.families/h' &&
	test -d '$m/t/.families/g' -a ! -e '$m/t/.families/h'"
refused "the control directory" EPERM "$m/.rowfs" "$m/rowfs"
check_eq "a column over a control file" "EPERM" "$(call 'rename(*a)' "$f/a" "$m/t/.delimiter" |
	sed s/EXDEV/EPERM/)"
refused "over a control file of its own directory" EPERM "$m/.rowfs/version" "$m/.rowfs/errors"
is "nothing of this changed a" "$f/a" "2000=an 1000=ao"
check_eq "nor the delimiter" "#" "$(head -c 1 "$m/t/.delimiter")"

# ---- Across directories: mv copies -----------------------------------------------------------

column "$m/t/row/g/b" 5000=bn 4000=bo
check "mv to another family" mv "$f/a" "$m/t/row/g/b"
is "copies the newest cell with its timestamp and starts a new history" "$m/t/row/g/b" "2000=an"
gone "and removes the column" "$f/a"
mkdir -p "$m/t/p/f" "$m/t/p/k/g"
column "$m/t/p/f/x" 1000=xo 2000=xn
column "$m/t/p/k/g/y" 3000=y
makes "mv of a prefix copies its rows" "$m/t/p2/f/x" "2000=xn" -- mv "$m/t/p" "$m/t/p2"
is "and those below" "$m/t/p2/k/g/y" "3000=y"
check "and is gone" test ! -e "$m/t/p"
mkdir -p "$m/t/v/f"
column "$m/t/v/f/x" 1000=xo 2000=xn
makes "mv of a history as well" "$m/t/v/f/z" "2000=xn 1000=xo" -- mv "$m/.versions/t/v/f/x@" "$m/.versions/t/v/f/z@"
gone "and removes it" "$m/t/v/f/x"

# ---- Policies --------------------------------------------------------------------------------

o=$m/t/row/one w=$m/t/row/two d=$m/t/row/day
printf first >"$o/q"
printf second >"$o/q"
check "of a column of which a policy hides the older cells, mv of the newest" \
	mv "$o/q@/$(entries "$o/q@")" "$o/r"
gone "does not bring the older back" "$o/q"
check_eq "and moves it" "second 1" "$(cat "$o/r") $(entries "$o/r@" | wc -l)"
printf first >"$o/q"
printf second >"$o/q"
check "mv of the whole column" mv "$o/q" "$o/s"
loses "does not bring it back, neither" "$o/s" -- rm "$o/s@/$(entries "$o/s@")"
column "$w/b" 1000=bo 2000=bn
column "$w/a" 3000=a
makes "mv over a column with as many versions as it may have hides the oldest" "$w/b" "3000=a 2000=bn" -- \
	mv "$w/a" "$w/b"
printf x >"$d/q"
check "mv of a version to a time at which its policy hides it" \
	mv "$d/q@/$(entries "$d/q@")" "$d/q@/1000"
gone "shows nothing" "$d/q"

# ---- Open files ------------------------------------------------------------------------------

column "$f/a" 1000=one
column "$f/b" 2000=two
exec 3<"$f/a" 4<"$f/b"
mv "$f/a" "$f/b"
check_eq "who reads has what was, of both" "one two" "$(cat <&3) $(cat <&4)"
exec 3<&- 4<&-
column "$f/b" 2000=two
exec 3>"$f/b"
/bin/printf three >&3
column "$f/a" 3000=one
yields "an uncommitted write of the target is not seen" one 'cat "$f/b"' mv "$f/a" "$f/b"
exec 3>&-
check_eq "nor does its close harm what is there" "3000=one 2000=two" \
	"$(history "$f/b" | grep -o '3000=.*')"
column "$f/a" 1000=old
exec 3>"$f/a"
/bin/printf new >&3
rm -f "$f/b"
makes "an uncommitted write of the source is not moved yet" "$f/b" "1000=old" -- mv "$f/a" "$f/b"
exec 3>&-
newest_is "but goes where its column went" "$f/b" new "1000=old"
gone "and does not bring the old name back" "$f/a"

# replaced STEPS BEFORE: Python makes a temporary file and takes these steps, of which `rename` is
# to the column; that makes one version on top of BEFORE, and no other name.
replaced() {
	local names before=$2 name="$1${2:+, over a column}"
	rm -f "$f/b"
	[ -z "$before" ] || column "$f/b" "$before"
	names=$(entries "$f" | grep -vxF b | sort)
	check_eq "$name" ok "$(call '
steps = a[2].split()
text, t = ["ew", "n"] if steps.count("write") == 2 else ["new"], tempfile.NamedTemporaryFile(
    "w", dir=a[1], prefix=".b.", delete=False)
names = [t.name + "2", t.name]
do = {"write": lambda: t.write(text.pop()), "flush": t.flush, "fsync": lambda: fsync(t.fileno()),
      "stamp": lambda: os.utime(t.fileno(), (5000, 5000)), "close": t.close,
      "aside": lambda: rename(names.pop(), names[-1]), "rename": lambda: replace(names[-1], q)}
for step in steps: do[step]()' "$f/b" "$f" "$1")"
	check_eq "$name: the value" new "$(cat "$f/b")"
	check_eq "$name: one version" $((1 + ${#before} / 6)) "$(entries "$f/b@" | wc -l)"
	check_eq "$name: no other name" "$names" "$(entries "$f" | grep -vxF b | sort)"
}
for before in "" 1000=x; do
	for steps in "write close rename" "write flush rename close" "rename write close" \
		"write flush fsync rename close" "write flush fsync rename write close" \
		"write flush rename fsync write close" "write flush aside rename close" \
		"write flush stamp rename close"; do
		replaced "$steps" "$before"
	done
	check_eq "${before:+over a column: }the stamp is the version's" 5000.000000 "$(stat -c %.6Y "$f/b")"
done
column "$f/b" 1000=old
check_eq "before its close a renamed write is seen by no other process" "old new" "$(call '
with tempfile.NamedTemporaryFile("w", dir=a[1], delete=False) as t:
    t.write("new")
    t.flush()
    replace(t.name, a[0])
    print(subprocess.check_output(["cat", a[0]]).decode(), end=" ")
print(open(a[0]).read(), end=" ")' "$f/b" "$f" | sed 's/ ok$//')"
check_eq "a temporary file that is removed leaves nothing" ok "$(call '
before = os.listdir(a[0])
with tempfile.NamedTemporaryFile("w", dir=a[0]) as t:
    t.write("x")
    t.flush()
    assert os.path.exists(t.name)
with tempfile.TemporaryFile("w+", dir=a[0]) as t:
    t.write("unnamed")
    t.seek(0)
    assert t.read() == "unnamed"
assert os.listdir(a[0]) == before' "$f")"
before=$(history "$f/b")
call 'with tempfile.NamedTemporaryFile("w", dir=a[1], delete=False) as t:
    t.write("half")
    t.flush()
    replace(t.name, a[0])
    os.kill(os.getpid(), 9)' "$f/b" "$f" >/dev/null 2>&1
is "who is killed after the rename and before the close has committed nothing" "$f/b" "$before"

# ---- After a remount -------------------------------------------------------------------------

(cd "$m/.versions" && find . -type f -exec md5sum {} + | sort -k 2) >"$TMP/before"
remount
check "the next mount has the same cells" \
	diff "$TMP/before" <(cd "$m/.versions" && find . -type f -exec md5sum {} + | sort -k 2)

finish
