#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Drafts: any name in a history that is no timestamp is kept in memory until it becomes a cell.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

m=$TMP/m
f=$m/t/row/f
h=$f/q@

# entries DIRECTORY: what it lists, in its own order.
entries() {
	find "$1" -mindepth 1 -maxdepth 1 -printf '%f\n' 2>/dev/null
}

# column PATH TS=VALUE…: makes the column anew, of these cells.
column() {
	local path=$1 cell
	shift
	rm -f "$path"
	mkdir -p "$path@"
	for cell; do
		printf %s "${cell#*=}" >"$path@/${cell%%=*}"
	done
}

# is NAME PATH TS=VALUE…: its cells, newest first; and that both trees list just these.
is() {
	local name=$1 path=$2 want=$3 ts cells=() all
	for ts in $(entries "$path@"); do
		cells+=("$ts=$(cat "$path@/$ts")")
	done
	check_eq "$name" "$want" "${cells[*]}"
	all=$(entries "$m/.versions${path#"$m"}@" | wc -l)
	check_eq "$name: /.versions lists as many" "${#cells[@]}" "$all"
}

# gone NAME PATH: it is not there.
gone() {
	fail_with "$1" - 'No such file' stat "$2"
}

# put PATH TEXT: without a newline.
put() {
	printf %s "$2" >"$1"
}

python=$(python3 -c 'import sys; print(sys.executable)') || die "there is no python3"
prelude='
import ctypes, errno, os, sys, tempfile
libc = ctypes.CDLL(None, use_errno=True)
def renameat2(old, new, flags):
    if libc.renameat2(-100, os.fsencode(old), -100, os.fsencode(new), flags):
        raise OSError(ctypes.get_errno(), "renameat2")
a = sys.argv[2:]
try:
    exec(sys.argv[1])
    print("ok")
except OSError as error:
    print(errno.errorcode[error.errno])
'

# call CODE ARGUMENT…: runs Python with the arguments as the list a; prints "ok" or errno's name.
call() {
	"$python" -c "$prelude" "$@" 2>&1
}

make_store "$TMP/s" '{"version":1,"tables":{"t":{"families":{"f":{},"g":{}}}}}'
mount_store "$TMP/s" "$m"
mkdir -p "$f" "$m/t/row/g"

# ---- What a draft is -------------------------------------------------------------------------

column "$f/q" 1000=one 2000=two
check "a name that is no timestamp can be made" put "$h/draft" text
check_eq "and read" text "$(cat "$h/draft")"
check_eq "its size" 4 "$(stat -c %s "$h/draft")"
check_eq "a regular file with one link" "regular file 1" "$(stat -c '%F %h' "$h/draft")"
is "no listing has it" "$f/q" "2000=two 1000=one"
check_eq "nor one of the family" q "$(entries "$f")"
check_eq "q is not touched by it" "two 0.002000" "$(cat "$f/q") $(stat -c %.6Y "$f/q")"
for name in .hidden .1000.AbCdEf 1000~ 1000.bak 1x 0x1 01 00 +1 -1 ' 1' 1.5 9223372036854775808 \
	18446744073709551617 x@ '%' ü "$(printf 'd%.0s' {1..255})"; do
	gone "before '${name:0:20}' is made it is not there" "$h/$name"
	check "'${name:0:20}' is a draft" put "$h/$name" "$name"
	check_eq "it has its own text" "$name" "$(cat "$h/$name")"
done
is "none of them is a cell" "$f/q" "2000=two 1000=one"
for name in .hidden 01 -1 1000~ 9223372036854775808; do
	check "rm of '$name'" rm "$h/$name"
	gone "takes it away" "$h/$name"
done
put "$h/draft" longer-text
check_eq "a draft is written over" longer-text "$(cat "$h/draft")"
echo more >>"$h/draft"
check_eq "and appended to" longer-textmore "$(cat "$h/draft")"
check "truncate" truncate -s 6 "$h/draft"
check_eq "shortens it" longer "$(cat "$h/draft")"
printf XY | dd of="$h/draft" conv=notrunc bs=1 seek=2 2>/dev/null
check_eq "it is written in the middle" loXYer "$(cat "$h/draft")"
check "chmod, chown and touch are accepted" bash -c \
	'chmod 600 "$0" && chown "$(id -u)" "$0" && touch -d @5 "$0" && touch "$0"' "$h/draft"
check_eq "and keep the text" loXYer "$(cat "$h/draft")"
fail_with "O_EXCL of one that is there" 1 'cannot overwrite' bash -c "set -C; echo x >'$h/draft'"
check "O_EXCL of a new one" bash -c "set -C; echo x >'$h/new'"
fail_with "a link" - 'not permitted' ln "$h/draft" "$h/link"
fail_with "a symbolic link" - 'not permitted' ln -s draft "$h/link"
fail_with "a directory" - 'not permitted' mkdir "$h/dir"
head -c 5000000 /dev/urandom >"$TMP/large"
check "5 MB" cp "$TMP/large" "$h/large"
check "are kept whole" cmp "$TMP/large" "$h/large"
check_eq "fsync of one" ok "$(call 'with open(a[0], "w") as f: f.write("synced"); f.flush(); os.fsync(f.fileno())' "$h/sync")"
check_eq "keeps it" synced "$(cat "$h/sync")"
put "$h/draft" half
is "nothing of this is a cell" "$f/q" "2000=two 1000=one"

# ---- Becoming a cell -------------------------------------------------------------------------

put "$h/draft" three
check "mv of a draft to a timestamp" mv "$h/draft" "$h/3000"
is "makes it that cell" "$f/q" "3000=three 2000=two 1000=one"
gone "the draft goes" "$h/draft"
check_eq "q shows it" "three 0.003000 5" "$(cat "$f/q") $(stat -c '%.6Y %s' "$f/q")"
put "$h/draft" new
check "mv over a cell" mv "$h/draft" "$h/1000"
is "replaces it" "$f/q" "3000=three 2000=two 1000=new"
put "$h/draft" x
check_eq "RENAME_NOREPLACE over a cell" EEXIST "$(call 'renameat2(*a, 1)' "$h/draft" "$h/1000")"
check_eq "RENAME_EXCHANGE with one" EINVAL "$(call 'renameat2(*a, 2)' "$h/draft" "$h/1000")"
check_eq "RENAME_NOREPLACE to a new one" ok "$(call 'renameat2(*a, 1)' "$h/draft" "$h/500")"
is "does it" "$f/q" "3000=three 2000=two 1000=new 500=x"
put "$h/a" A
put "$h/b" B
check "mv of a draft to another" mv "$h/a" "$h/c"
check_eq "renames it" A "$(cat "$h/c")"
gone "the old name goes" "$h/a"
check "mv over a draft" mv "$h/c" "$h/b"
check_eq "replaces it" A "$(cat "$h/b")"
check "mv of a cell to a draft" mv "$h/500" "$h/500.bak"
is "takes the cell away" "$f/q" "3000=three 2000=two 1000=new"
check_eq "its value is the draft's" x "$(cat "$h/500.bak")"
check "and back" mv "$h/500.bak" "$h/500"
is "it is there again" "$f/q" "3000=three 2000=two 1000=new 500=x"
check "mv of the newest to a draft" mv "$h/3000" "$h/old"
check_eq "q shows the next older" "two 0.002000" "$(cat "$f/q") $(stat -c %.6Y "$f/q")"
mkdir "$f/r@"
put "$h/draft" x
check_eq "a draft of one column is renamed in its history only" EXDEV \
	"$(call 'os.rename(*a)' "$h/draft" "$f/r@/1")"
check "mv copies it" mv "$h/draft" "$f/r@/1"
is "to the other column" "$f/r" "1=x"
mkdir "$f/fresh@"
put "$f/fresh@/draft" first
gone "a column that has only drafts is none" "$f/fresh"
check "mv of one to a timestamp" mv "$f/fresh@/draft" "$f/fresh@/77"
is "makes the column" "$f/fresh" "77=first"
check_eq "5 MB" ok "$(call 'os.rename(*a)' "$h/large" "$h/600")"
check "become a cell whole" cmp "$TMP/large" "$h/600"
rm "$h/600"

# ---- Programs --------------------------------------------------------------------------------

column "$f/q" 1000=one 2000=two
check "sed -i of a cell" sed -i s/one/1/ "$h/1000"
is "changes that cell" "$f/q" "2000=two 1000=1"
check "sed -i of the newest" sed -i s/two/2/ "$h/2000"
is "that one" "$f/q" "2000=2 1000=1"
check_eq "as q shows it" 2 "$(cat "$f/q")"
check "sed -i.bak" sed -i.bak s/1/eins/ "$h/1000"
is "changes it" "$f/q" "2000=2 1000=eins"
check_eq "and keeps the old text as a draft" 1 "$(cat "$h/1000.bak")"
check "sed -i through /.versions" sed -i s/eins/un/ "$m/.versions/t/row/f/q@/1000"
is "is the same" "$f/q" "2000=2 1000=un"
printf rsync >"$TMP/1000"
touch -d @1234567890 "$TMP/1000"
check "rsync of one cell" rsync -a "$TMP/1000" "$h/"
is "sets it" "$f/q" "2000=2 1000=rsync"
printf rsync2 >"$TMP/1500"
check "rsync of a new one" rsync -a "$TMP/1500" "$h/"
is "makes it" "$f/q" "2000=2 1500=rsync2 1000=rsync"
check "rsync --inplace" rsync -a --inplace --ignore-times "$TMP/1500" "$h/1500"
is "as well" "$f/q" "2000=2 1500=rsync2 1000=rsync"
check "rsync --delay-updates" rsync -a --inplace --backup --ignore-times "$TMP/1500" "$h/1500"
vim=$(command -v vim || command -v vim.tiny) || die "there is no vim"
check "vim of a cell" "$vim" -Nu NONE -es +'%s/rsync2/vim/' +wq "$h/1500" </dev/null
check_eq "changes it" vim "$(cat "$h/1500")"
is "and nothing else" "$f/q" "2000=2 1500=vim 1000=rsync"
printf perl >"$h/1500"
check "perl -i" perl -pi -e s/perl/PERL/ "$h/1500"
is "changes it" "$f/q" "2000=2 1500=PERL 1000=rsync"
check_eq "a temporary file renamed to a timestamp before its close" ok "$(call '
with tempfile.NamedTemporaryFile("w", dir=a[0], delete=False) as t:
    t.write("tmp")
    t.flush()
    os.replace(t.name, a[0] + "/1500")' "$h")"
is "sets the cell, once it is closed" "$f/q" "2000=2 1500=tmp 1000=rsync"
check_eq "one renamed after its close" ok "$(call '
with tempfile.NamedTemporaryFile("w", dir=a[0], delete=False) as t:
    t.write("tmp2")
os.replace(t.name, a[0] + "/1501")' "$h")"
is "as well" "$f/q" "2000=2 1501=tmp2 1500=tmp 1000=rsync"
check_eq "one that is removed leaves nothing" ok "$(call '
with tempfile.NamedTemporaryFile("w", dir=a[0]) as t:
    t.write("x")
    t.flush()
assert not os.path.exists(t.name)' "$h")"
check "install" install -m 600 "$TMP/1500" "$h/1502"
check_eq "makes a cell" rsync2 "$(cat "$h/1502")"
seq 60 | xargs -P 6 -I '{}' bash -c 'echo "$1" >"$0/tmp.$1" && mv "$0/tmp.$1" "$0/9$1"' "$h" '{}' \
	2>"$TMP/errors"
check_eq "6 at once meet no error" "" "$(head -n 3 "$TMP/errors")"
check_eq "and each its cell" 1830 \
	"$(cat "$h"/9[1-9] "$h"/9[1-5][0-9] "$h"/960 | awk '{ n += $1 } END { print n }')"

# ---- Going ------------------------------------------------------------------------------------

put "$h/left" x
check "rm -r of a history with drafts" rm -r "$h"
gone "takes the column" "$f/q"
mkdir -p "$h"
gone "and its drafts" "$h/left"
put "$h/left" x
check "rmdir of a history that has only drafts" rmdir "$h"
column "$f/q" 1000=one
put "$h/left" x
check "rm of the column" rm "$f/q"
gone "it goes" "$f/q"
mkdir -p "$m/t/gone/f/q@"
put "$m/t/gone/f/q@/left" x
check "rm -r of a row whose history has only drafts" rm -r "$m/t/gone"
gone "takes it" "$m/t/gone"
column "$f/q" 1000=one
put "$h/left" x
put "$h/500.tmp" y
mkdir -p "$TMP/copy" "$m/t/copy"
check "cp -a of a family in /.versions" cp -a "$m/.versions/t/row/f/." "$TMP/copy"
check_eq "copies no draft" "" "$(find "$TMP/copy" -name '*left*' -o -name '*tmp*')"
unmount_store "$m"
mount_store "$TMP/s" "$m"
is "the next mount has the cells" "$f/q" "1000=one"
gone "and no draft" "$h/left"
gone "none at all" "$h/500.tmp"

finish
