#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Messages to an operator when something cannot be done, to the letter: the fault, the reason, and
# the remedy where it is not plain. The store's path stands once in each line.

. "$(dirname "$0")/lib.sh"
cd "$TMP" || die "no $TMP"
PATH=$BUILD:$PATH

# told NAME STATUS LINES COMMAND…: it fails with STATUS and prints just LINES on stderr, in which PID stands
# for any process.
told() {
	local name=$1 want=$2 lines=$3 status=0
	shift 3
	"$@" >.out 2>.err || status=$?
	check_eq "$name" "$want: $lines" "$status: $(sed 's/process [0-9]*/process PID/' .err)"
}

make_store "$TMP/s" '{"tables":{"t":{"families":{"f":{},"n":{"type":"intsum"}}}}}'
mkdir plain full m && touch file full/x

# ---- Programs --------------------------------------------------------------------------------

none="there is no such directory; mkfs.rowfs makes a store"
told "rowfs: no store" 1 "rowfs: none: $none" rowfs none m
told "rowfs-load: no store" 1 "rowfs-load: none: $none" rowfs-load none file
told "fsck.rowfs: no store" 8 "fsck.rowfs: none: $none" fsck.rowfs -n none
none="not a rowfs store: it has no marker ROWFS; mkfs.rowfs makes a store"
told "rowfs: another directory" 1 "rowfs: $TMP/plain: $none" rowfs plain m
told "fsck.rowfs: another directory" 8 "fsck.rowfs: plain: $none" fsck.rowfs -n plain
told "rowfs-dump: another directory" 1 "rowfs-dump: plain: neither a store nor a directory of a mount" \
	rowfs-dump plain
told "mkfs.rowfs: a store" 1 "mkfs.rowfs: $TMP/s: there is a rowfs store already; mkfs.rowfs --force replaces it" \
	mkfs.rowfs s
told "mkfs.rowfs: a directory with a file" 1 \
	"mkfs.rowfs: $TMP/full: a directory that is neither empty nor a rowfs store; name a new place" mkfs.rowfs full
told "mkfs.rowfs: a file" 1 "mkfs.rowfs: $TMP/file: exists and is not a directory; name a new place" mkfs.rowfs file
told "mkfs.rowfs: no place" 1 "mkfs.rowfs: none/s: the directory to make it in does not exist" mkfs.rowfs none/s
told "rowfs: an option without its value" 2 "rowfs: uid: its value must be 0 to 4294967294; see rowfs --help" \
	rowfs -o uid s m
told "rowfs: a value that is none" 2 "rowfs: umask=8: its value must be octal, 0 to 777; see rowfs --help" \
	rowfs -o umask=8 s m
told "rowfs: an option that is none" 2 "rowfs: error: fuse: unknown option(s): \`-o none'
Try 'rowfs --help'." rowfs -o none s m

# limited COMMAND…: it may write to no file, as the shell's ulimit -f has it; its output is such a file.
limited() (
	set -o pipefail
	(ulimit -c 0 && ulimit -f 0 && TMPDIR=$TMP exec "$@" >"$TMP/limited") 2>&1 | cat >&2
)

names_now() {
	find . ! -name .out ! -name .check | sort
}
touch limited names && names_now >names
fail_with "fsck.rowfs -n: a limit on files" 8 \
	"^fsck.rowfs: s: IO error: $TMP/fsck.rowfs.[^:]*: File too large$" limited fsck.rowfs -n s
fail_with "mkfs.rowfs: a limit on files" 1 "^mkfs.rowfs: $TMP/new: cannot be written: File too large$" \
	limited mkfs.rowfs new
fail_with "rowfs-path: a limit on files" 1 "^rowfs-path: standard output: File too large$" limited rowfs-path t a
fail_with "rowfs-path --help: a limit on files" 1 "^rowfs-path: standard output: File too large$" \
	limited rowfs-path --help
check_eq "nothing is left of these" "$(cat names)" "$(names_now)"
for program in "fsck.rowfs -y" rowfs-dump rowfs-load; do
	name=${program% *}
	# shellcheck disable=SC2086 # a program and its option
	fail_with "$program: a limit on files" "$([ "$name" = fsck.rowfs ] && echo 8 || echo 1)" \
		"^$name: .*/[^:]*: File too large$" limited $program s
done
check_eq "nothing is left beside the store" "$(grep -v ^./s/ names)" "$(names_now | grep -v ^./s/)"
check "and nothing is wrong with it" fsck.rowfs -n s

if [ "$(id -u)" = 0 ]; then
	chmod 755 . && mkdir -m 700 theirs
	nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	fail_with "rowfs-dump: a directory of somebody else's" 1 '^rowfs-dump: .*theirs: .*Permission denied' \
		"${nobody[@]}" "$BUILD/rowfs-dump" theirs
else
	mkdir -m 0 theirs
	told "rowfs-dump: a directory that is closed" 1 \
		"rowfs-dump: $TMP/theirs: Permission denied: its mode is 0000; chmod u+rwX opens it" rowfs-dump theirs
fi

mount_store s m
used="$TMP/s: in use by process PID, mounted at $TMP/m; fusermount3 -u unmounts it"
for program in rowfs-dump rowfs-load; do
	told "$program: in use by a mount" 1 "$program: ${used%;*}; try $program $TMP/m" $program s
done
told "rowfs-path: in use by a mount" 1 "rowfs-path: ${used%;*}; try rowfs-path --store $TMP/m" rowfs-path --store s t a
for command in "rowfs-dump m/t" "rowfs-load m/t file" "rowfs-advise m/t" "rowfs-path --store m/t t a"; do
	# shellcheck disable=SC2086 # a program and its arguments
	check "$command" $command
done
check_eq "which look for no name that is missing" "" "$(cat m/.rowfs/errors)"
mkdir n
told "rowfs: in use" 1 "rowfs: $used" rowfs s n
told "rowfs -o check: in use" 1 "fsck.rowfs: $used"$'\n'"rowfs: $TMP/s: not mounted: fsck.rowfs -n could not check it" \
	rowfs -o check s n
told "fsck.rowfs: in use" 8 "fsck.rowfs: $used" fsck.rowfs -n s
told "mkfs.rowfs: in use" 1 "mkfs.rowfs: $used" mkfs.rowfs --force s
for place in m m/t; do
	mounted="not a store: $TMP/s is mounted at $TMP/m"
	told "rowfs: $place is taken for a store" 1 "rowfs: $TMP/$place: $mounted" rowfs $place n
	told "fsck.rowfs: $place is taken for a store" 8 "fsck.rowfs: $place: $mounted" fsck.rowfs -n $place
done
check_eq "and that asks the mount for no name" "" "$(cat m/.rowfs/errors)"
mkfs.rowfs other || die "no other store"
for place in s s/data; do
	told "rowfs: a mountpoint in another store, $place" 1 "rowfs: $TMP/$place: it lies in a store, which keeps its own files there" \
		rowfs other $place
done
told "rowfs: the store behind the mountpoint" 2 "rowfs: s: the store comes first: rowfs s n" rowfs n s
told "also where the mountpoint is missing" 2 "rowfs: s: the store comes first: rowfs s none" rowfs none s

# ---- In a mount ------------------------------------------------------------------------------

# refused NAME PATH REASON COMMAND…: it fails, and the mount's errors give the reason.
refused() {
	local name=$1 path=$2 reason=$3
	shift 3
	"$@" >.out 2>.err && not_ok "$name" "it succeeded"
	check_eq "$name" "$path: $reason" "$(tail -n 1 m/.rowfs/errors | cut -d ' ' -f 2-)"
}

mkdir -p m/t/row/f m/.versions/t/row/f
spelled="no name is spelled so: %XX, with upper-case digits, stands for / % control bytes, what is not UTF-8, and nothing else"
refused "a table's name" /-t "a table's name is 1 to 50 of -_.a-zA-Z0-9, not - or . first" mkdir m/-t
refused "a family's name" '/t/.families/a b' "a family's name is 1 to 64 of -_.a-zA-Z0-9" mkdir 'm/t/.families/a b'
refused "a family without a row" /t/f "it is a family, and no row can be here; families are in rows, below the segments of their keys" mkdir m/t/f
fail_with "a list of a family without a row" - "No such file" ls m/t/f
check "is told the same" grep -q "/t/f: it is a family, and no row can be here" m/.rowfs/errors
refused "a delimiter beside directories" /t/.delimiter:1 "the table has rows or directories; its delimiter stays until they are removed" \
	sh -c 'echo : >m/t/.delimiter'
refused "a policy that is too long" /t/.families/f/gc:1 "longer than 1024 bytes" \
	sh -c 'printf "never%02000d\n" 0 >m/t/.families/f/gc'
refused "one of which the canonical spelling is" /t/.families/f/gc:1 "longer than 1024 bytes" \
	sh -c 'yes "never||" | head -n 140 | tr -d "\n" | sed "s/\$/never\n/" >m/t/.families/f/gc'
refused "one that is wrong somewhere" /t/.families/f/gc:1 "a unit must follow the number: ms, s, m, h or d, at character 13" \
	sh -c 'echo maxage=12345w >m/t/.families/f/gc'
refused "one that is too long in a schema" /.rowfs/schema.json:1 "tables.t.families.f: longer than 1024 bytes, at character 29" \
	sh -c 'printf "{\"tables\":{\"t\":{\"families\":{\"f\":\"never%02000d\"}}}}\n" 0 >m/.rowfs/schema.json'
refused "a design that is wrong in its second line" /t/.design:2 "segments: named twice, at character 1" \
	sh -c 'printf "{\"segments\":[\"a\"],\n\"segments\":[\"a\"]}\n" >m/t/.design'
refused "a segment with the delimiter" '/t/a#b' "it holds the delimiter, at which keys become paths: a directory for each segment (mkdir -p)" mkdir 'm/t/a#b'
refused "a segment with a leading dot" /t/.a "only control files and views start with a dot, /.rowfs/help has them; that of a key is written %2E" mkdir m/t/.a
refused "a segment that is not spelled right" /t/%61 "$spelled (rowfs(5))" mkdir m/t/%61
refused "a column that is not spelled right" /t/row/f/%61 "$spelled (rowfs(5))" touch m/t/row/f/%61
raw="the name has control bytes, or bytes that are not UTF-8, as they are; write them %XX, as shown here"
refused "a column with a newline" /t/row/f/a%0Ab "$raw" touch $'m/t/row/f/a\nb'
refused "a column that is not UTF-8" /t/row/f/%FF "$raw" touch $'m/t/row/f/\xff'
refused "one of /.versions" /.versions/t/row/f/%61@ "$spelled (rowfs(5))" mkdir m/.versions/t/row/f/%61@
histories="in /.versions a family has only histories: column q is a directory q@, with its versions in it"
refused "a column of /.versions" /.versions/t/row/f/x "$histories" touch m/.versions/t/row/f/x
refused "made as a directory" /.versions/t/row/f/x "$histories" mkdir m/.versions/t/row/f/x
refused "one that is spelled in escapes" /.versions/t/row/f/%2Fx "$histories" touch m/.versions/t/row/f/%2Fx
refused "one that is spelled wrong" /.versions/t/row/f/%61 "$spelled (rowfs(5))" touch m/.versions/t/row/f/%61
long=$(printf '%0230d' 0)
mkdir "m/.versions/t/row/f/$long%"
fail_with "the end of a long one" - "Invalid argument" touch "m/.versions/t/row/f/$long%/x"
check "is told the same" grep -q "0/x: $histories\$" <(tail -n 1 m/.rowfs/errors)
nothing="a directory is a table, a segment of a key, a family or a history, and none of these can be here"
refused "a directory in a family" /t/row/f/x "$nothing" mkdir m/t/row/f/x
refused "a directory among control files" /.rowfs/x "$nothing" mkdir m/.rowfs/x
refused "a file that is in no family" /t/row/q "cells are files in a family of a row; the families of table t are: f, n" touch m/t/row/q
refused "a file in no family, spelled wrong" '/t/a#b' "it holds the delimiter, at which keys become paths: a directory for each segment (mkdir -p)" touch 'm/t/a#b'
echo one >m/t/row/f/q
echo two >m/t/row/f/q
older=$(find m/t/row/f/q@ -type f | sort | head -n 1)
refused "a file above the tables" /file "a file is a column, in a family of a row, or one of its versions, and none of these can be here" touch m/file
refused "a file that is spelled like a history" /t/row/f/x@ "column@ is the directory of a column's versions; a final @ of a column's own name is written %40" sh -c 'echo >m/t/row/f/x@'
refused "a table's new name" /v "table t cannot be renamed; copy it: fsck.rowfs(8) shows how" mv m/t m/v
mkdir m/u m/u/.families/g
refused "a table that has families" /u 'the table has rows or families; "table" and its name, written to its .drop, removes it with them' rmdir m/u
refused "a time of before the older version" /t/row/f/q "the time must be later than the next older version's" \
	touch -d "@$((${older##*/} / 1000000 - 100))" m/t/row/f/q
refused "a time of before 1970" /t/row/f/q "a timestamp lies between the years 1970 and 294247" touch -d 1969-12-31 m/t/row/f/q
"$python" -S -c 'print({"tables": {"n%d" % i: {} for i in range(998)}})' | tr "'" '"' >m/.rowfs/schema.json
refused "one table too many" /more "the store has 1000 tables, the maximum" mkdir m/more
check "is not a file too many" grep -q 'No space left' .err
refused "nor by the schema" /.rowfs/schema.json "table more: a store holds at most 1000 tables" \
	sh -c 'echo "{\"tables\":{\"more\":{}}}" | dd of=m/.rowfs/schema.json' # which looks at close
check "which is none, either" grep -q 'No space left' .err

# ---- Typical mistakes ------------------------------------------------------------------------

# mistaken: reads rows "ERRNO | CALL | LINE": the call ends with that errno, and the last line of the errors is
# LINE. A call is a path to look at, or "TEXT > PATH", "mkdir PATH", "rm PATH", "rmdir PATH".
mistaken() {
	local want act line
	while IFS='|' read -r want act line; do
		act=${act# } act=${act% }
		case $act in
		*' > '*) set -- 'write(opened(os.O_WRONLY | os.O_CREAT), a[1].encode() + b"\n")' "m/${act##* > }" "${act% > *}" ;;
		'mkdir '*) set -- 'os.mkdir(q)' "m/${act#* }" ;;
		'rm '*) set -- 'os.unlink(q)' "m/${act#* }" ;;
		'rmdir '*) set -- 'os.rmdir(q)' "m/${act#* }" ;;
		*) set -- 'os.stat(q)' "m/$act" ;;
		esac
		check_eq "$act" "${want% } ${line# }" "$(call "$@") $(tail -n 1 m/.rowfs/errors | cut -d ' ' -f 2-)"
	done
}

unmount_store m
make_store "$TMP/mistakes" '{"tables":{"t":{"families":{"loc":{},"meta":{},"n":{"type":"intsum"}}},"d":{"delimiter":":"},
"k":{"keys":{"segments":["id",{"name":"at","codec":"time","unit":"s"}]},"families":{"f":{}}}}}'
mount_store mistakes m
mkdir -p m/t/STC/22/{loc,n}
echo 53.4 >m/t/STC/22/loc/lat
views="views stand in a table, in directories of segments and in other views"
near="there is no view or control file of that name; the nearest is"
number="it is a whole number below 2^64, without leading zeros, at character"
time="it is microseconds since 1970, a date, a time like 2024-01-31T10:00:00Z, now, or a span before now like 90s 15m 1h 7d, at character 1"
families="the families of table t, which are in rows, are: loc, meta, n"
missing="no row or directory has that name yet (mkdir -p makes one, and with the option autodir none is needed); $families"
delimiter="it holds the delimiter, at which keys become paths: a directory for each segment (mkdir -p)"
mistaken <<EOF
ENOENT | t/.newst/1 | /t/.newst: $near .newest/N
ENOENT | t/.form/STC | /t/.form: $near .from/KEY
ENOENT | t/STC/.lastt/1 | /t/STC/.lastt: $near .last/N
ENOENT | t/.first/9/.wehre/loc:lat=1 | /t/.first/9/.wehre: $near .where/F:Q=V
ENOENT | t/.colums/loc:lat | /t/.colums: $near .column/RE or .columns/F:Q,F,...
ENOENT | t/.ket/STC | /t/.ket: $near .key/RE
ENOENT | t/.revers | /t/.revers: $near .reverse
ENOENT | t/.kyes | /t/.kyes: $near .keys
ENOENT | t/.row | /t/.row: it stands only in directories of segments and in views of them
ENOENT | t/.reverse/1 | /t/.reverse/1: no row or directory has that name in this view, and .reverse takes no argument
ENOENT | t/newest/1 | /t/newest: $missing; a view or control file begins with a dot
ENOENT | t/STC/.raw | /t/STC/.raw: it stands only in a table, as the first view
ENOENT | t/.newest/1/.raw | /t/.newest/1/.raw: it stands only in a table, as the first view
ENOENT | .newest/1/t | /.newest: $views
ENOENT | t/STC/22/loc/.newest/1/lat | /t/STC/22/loc/.newest: $views
ENOENT | .versions/t/.since/1h | /.versions/t/.since: /.versions has no views and no control files
ENOENT | t/.first/1/.drop | /t/.first/1/.drop: it stands only in a table and in directories of segments, outside of views
EINVAL | t/.newest/one | /t/.newest/one: $number 1
EINVAL | t/.first/.rows | /t/.first/.rows: $number 1
EINVAL | t/.first/10k | /t/.first/10k: $number 3
EINVAL | t/.sample/10% | /t/.sample/10%: it is 1, or 0. and up to 9 digits of which the last is not 0, at character 2
EINVAL | t/.since/yesterday | /t/.since/yesterday: $time
EINVAL | t/.since/1hour | /t/.since/1hour: $time
EINVAL | t/.at/2026-13-01 | /t/.at/2026-13-01: $time
EINVAL | t/.key/(STC | /t/.key/(STC: missing closing parenthesis, at character 5
EINVAL | t/.has/lco | /t/.has/lco: there is no family lco
EINVAL | t/.columns/loc.lat | /t/.columns/loc.lat: there is no family loc.lat
EINVAL | t/.family/loc:lat | /t/.family/loc:lat: it is a family alone; .columns takes columns, at character 4
EINVAL | k/.from/a#yesterday | /k/.from/a#yesterday: at: under time it is a time like 2024-01-31T10:00:00Z, at character 3
EROFS | 1 > t/.newest/1/STC/22/loc/lat | /t/.newest/1/STC/22/loc/lat: a view is read-only: change the row by its path outside of views
ENOENT | t/STC#22 | /t/STC#22: $delimiter
EINVAL | mkdir d/STC:22 | /d/STC:22: $delimiter
ENOENT | t/STC/22/lco/lat | /t/STC/22/lco: $missing
ENOENT | tt/STC | /tt: there is no table of that name; the tables are: d, k, t
ENOENT | t/loc/lat | /t/loc: it is a family, and no row can be here; families are in rows, below the segments of their keys
ENOENT | t/.families/lco/gc | /t/.families/lco: there is no family of that name; the families of table t are: loc, meta, n
ENOENT | t/.families/loc/policy | /t/.families/loc/policy: the names here are: drop, gc, type
EPERM | 1 > t/STC/22/lat | /t/STC/22/lat: cells are files in a family of a row; the families of table t are: loc, meta, n
EINVAL | 1.5 > t/STC/22/n/c | /t/STC/22/n/c:1: not a whole number within 64 bits
EINVAL | maxage=3w > t/.families/loc/gc | /t/.families/loc/gc:1: a unit must follow the number: ms, s, m, h or d, at character 9
EINVAL | {"key":"a","families":{"lco":{"q":"v"}}} > t/.rows | /t/.rows:1: family lco: table t does not have it; it has loc, meta, n (0 lines applied before it)
EINVAL | {"key":"STC","families":{}} > t/STC/22/.rows | /t/STC/22/.rows:1: key: is outside the prefix written to (0 lines applied before it)
EPERM | rm t/.rows | /t/.rows: control files cannot be removed
EPERM | rmdir t/.first | /t/.first: views and the directories of control files cannot be removed
ENOENT | .rowfs/error | /.rowfs/error: the names here are: advice, advice.json, engine, errors, gc, help, keyvis, metrics, schema.json, version
ENOENT | t/STC/22/loc/lat@/now | /t/STC/22/loc/lat@/now: a version's name is its timestamp in microseconds, or a time like 2024-01-31T10:00:00Z, not before 1970; a temporary file's starts with a dot
EOF
if [ "$(id -u)" = 0 ]; then # the kernel refuses it to others
	for file in t/.count t/STC/.keys t/.splits t/.families/loc/explain/never .rowfs/{errors,help,metrics,version,keyvis/t/ops.json}; do
		mistaken <<<"EPERM | x > $file | /$file: it can only be read"
	done
fi
# One mistake is one line, and the last one has the reason, however often the name is looked up.
mkdir m/-x 2>.err # an error takes the place of the last miss
wc -l <m/.rowfs/errors >lines
refused "a control file that is misspelt" /t/.rowss "$near .rows" sh -c 'echo x >m/t/.rowss'
refused "a view, as a directory" /t/.frst "$near .first/N" mkdir m/t/.frst
refused "as a file" /t/.lst "$near .last/N" touch m/t/.lst
refused "as one that is listed" /t/.lastt "$near .last/N" ls m/t/.lastt/1
refused "a control file of another place" /t/STC/.delimiter "it stands only in a table, outside of views" touch m/t/STC/.delimiter
check_eq "each is one line" $(($(cat lines) + 5)) "$(wc -l <m/.rowfs/errors)"
wc -l <m/.rowfs/errors >lines
for name in .git .hg .svn .hidden .directory .Trash .Trash-1000 .DS_Store .xdg-volume-info .nfs .env .snapshot; do
	for place in m m/t m/t/STC m/t/.first/9 m/.rowfs; do
		[ ! -e "$place/$name" ] || not_ok "$place/$name" "it is there"
	done
done
check_eq "names that programs look up are no mistakes" "$(cat lines)" "$(wc -l <m/.rowfs/errors)"
echo x >m/t/STC/22/loc/.newest
check_eq "a column may have the name of a view" x "$(cat m/t/STC/22/loc/.newest)"
unmount_store m

# ---- A reader that has left ------------------------------------------------------------------

# unread COMMAND…: runs it with SIGPIPE ignored, and with a pipe that nobody reads; prints its status and message.
unread() {
	python 'out, into = os.pipe()
os.close(out)
ended = subprocess.run(a, stdout=into, stderr=subprocess.PIPE, restore_signals=False)
print(ended.returncode, ended.stderr.decode(), end="")' "$@"
}
for command in "rowfs-dump s" "rowfs-dump --csv s t" "rowfs-advise s" "rowfs-path t a" "mkfs.rowfs --help" "fsck.rowfs --help" "rowfs --help"; do
	# shellcheck disable=SC2086 # a program and its arguments
	check_eq "$command: ends quietly" -13 "$(unread $command | xargs)"
done
rm s/ROWFS
check_eq "fsck.rowfs ends what it began" "9 fsck.rowfs: standard output: Broken pipe" "$(unread fsck.rowfs -y s)"
check "and its repair is whole" fsck.rowfs -n s
check_eq "nothing of it is left" "" "$(find . -name 'fsck.rowfs.*')"
mount_store s m

# ---- Commands to copy ------------------------------------------------------------------------

unmount_store m
bait="a'\$(touch pwn);b"
mkdir "$bait"
mount_store s "$bait"
fail_with "rowfs-dump: in use by a mount of that name" 1 'mounted at .*; try rowfs-dump ' rowfs-dump s
check "its command dumps the mount" bash -c "$(sed "s/.*; try //" "$TMP/.check")"
check "and no other command runs" [ ! -e pwn ]
unmount_store "$bait"

finish
