#!/bin/bash
# SPDX-License-Identifier: MIT
#
# rowfs itself: its options, its messages when it cannot mount, that it returns once it serves, its
# end, and the traces that it leaves.

. "$(dirname "$0")/lib.sh"

need_fuse
rowfs=$BUILD/rowfs
cd "$TMP" || exit 1
mkdir m n plain
echo text >file
make_store s '{"version":1,"tables":{"t":{"families":{"f":{}}},"u":{"families":{"f":{}}}}}'
make_store 'other#1'

# run ARGUMENT…: rowfs, which must return.
run() {
	"$rowfs" "$@"
}

# mounted PLACE
mounted() {
	grep -qF " $TMP/$1 fuse.rowfs " /proc/self/mounts
}

# servers: the processes that serve stores of this test.
export LIB_TEST=$$
servers() {
	local pid
	for pid in $(pgrep -x rowfs); do
		grep -qsaF "LIB_TEST=$$" "/proc/$pid/environ" && echo "$pid"
	done
}

# server: the one that there is.
server() {
	servers | tail -n 1
}

# stopped PID: each of its threads.
stopped() {
	[ -d "/proc/${1:?}" ] && ! grep -h '^State:' "/proc/$1/task/"*/status | grep -v 'T (stopped)'
}

# unmount PLACE: and wait for its server.
unmount() {
	local pid
	pid=$(server)
	within fusermount3 -u "$1" && within ended "$pid"
}

track_mount m
track_mount n

# ---- Usage -----------------------------------------------------------------------------------

fail_with "no argument" 2 '^rowfs: ' run
fail_with "no mountpoint" 2 '^rowfs: ' run s
fail_with "one argument too many" 2 '^rowfs: .*x' run s m x
fail_with "--status takes none" 2 '^rowfs: s: ' run --status s
fail_with "an unknown letter" 2 '^rowfs: ' run -Z s m
fail_with "an unknown word" 2 '^rowfs: ' run --wrong s m
fail_with "-o without options" 2 '^rowfs: ' run s m -o
for option in wrong wrong=1 uid=nobody-here uid=-1 uid= uid=1x gid=x gid=99999999999 umask=9 umask=1000 umask=x \
	cache=x cache=-1 cache=1k table=a/b table= strict=1 'ro=1' 'sync=x'; do
	fail_with "-o $option is refused" 2 "^rowfs: .*${option%%=*}" run -o "$option" s m
	check "and nothing is mounted" not_mounted m
	fusermount3 -u m 2>/dev/null
done

# ---- Refused mounts --------------------------------------------------------------------------

fail_with "a directory that is no store" 1 '^rowfs: .*plain: .*(store)' run plain m
check_eq "it is left as it was" "" "$(ls -A plain)"
fail_with "a file that is no store" 1 '^rowfs: .*file: ' run file m
fail_with "a mountpoint in the store" 1 '^rowfs: .*s/data: it lies in a store' run s s/data
fail_with "the store itself" 1 '^rowfs: .*s: ' run s s
check "it is left alone" run s m
unmount m
fail_with "a store below the mountpoint" 1 'would be hidden' run s .
fail_with "no mountpoint there" 1 '^rowfs: .*nowhere: No such file' run s nowhere
fail_with "a mountpoint that is no directory" 1 '^rowfs: .*file: .*[Nn]ot a directory' run s file
fail_with "a table that is missing" 1 '^rowfs: .*nothere' run -o table=nothere s m
fail_with "an open file that is no mount" 1 '^rowfs: /dev/fd/0: is not an open mount' run s /dev/fd/0 <file
fail_with "nor is a device but FUSE's" 1 '^rowfs: /dev/fd/0: is not an open mount' run s /dev/fd/0 </dev/zero
check "nothing is mounted then" not_mounted m
check_eq "and nothing runs" "" "$(servers)"
check "the store is free" "$BUILD/rowfs-load" s /dev/null

# held COMMAND…: runs it while the store is open in a process without a mount.
held() {
	"$python" -S -c 'import fcntl, subprocess, sys
lock = open("s/LOCK", "r+")
fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
sys.exit(subprocess.call(sys.argv[1:]))' "$@"
}
fail_with "a store in use without a mount: that is said" 1 '^rowfs: .*in use by process' held "$rowfs" s m

# ---- Mounting --------------------------------------------------------------------------------

check_eq "it says nothing, and lets go of the terminal" "" "$(run s m 2>&1)"
check_eq "when it returns it serves" "t u" "$(echo m/* | sed s,m/,,g)"
check "as fuse.rowfs" mounted m
check "of that store" grep -qE "^([^ ]*/)?s $TMP/m " /proc/self/mounts
pid=$(server)
check "by a process of its own" test -n "$pid"
check_eq "which keeps no directory busy" / "$(readlink "/proc/$pid/cwd")"
check_eq "nor a terminal" "/ / /" \
	"$(readlink "/proc/$pid/fd/0" "/proc/$pid/fd/1" "/proc/$pid/fd/2" | paste -sd ' ')"
check_eq "and has a session of its own" "$pid" "$(ps -o sid= -p "$pid" | tr -d ' ')"
mkdir -p m/t/row/f
echo kept >m/t/row/f/q
fail_with "a store in use: who uses it" 1 "^rowfs: .*in use.*\\b$pid\\b" run s n
check "nothing is mounted then" not_mounted n
ln -s s link
fail_with "also by another name" 1 "^rowfs: .*in use.*\\b$pid\\b" run link n
fail_with "a mountpoint in use" 1 '^rowfs: .*m: .*(busy|in use|mounted)' run 'other#1' m
check "the mount there goes on" test "$(cat m/t/row/f/q)" = kept
ln -s m place
fail_with "a mountpoint in use by another name" 1 '^rowfs: .*m: .*(busy|in use|mounted)' \
	run 'other#1' place
fail_with "or with a slash behind it" 1 '^rowfs: .*m: .*(busy|in use|mounted)' run 'other#1' place/
rm place
check "another store on another place, whose user gives the mount other names" \
	run -o fsname=/none,subtype=ext4 'other#1' n
check "works next to it" mkdir n/x
# ours: the mounts of this test that --status lists.
ours() {
	"$rowfs" --status | grep -F "$TMP/" | sort
}
version=$("$rowfs" --version | cut -d ' ' -f 2)
check_eq "--status lists both: store, mountpoint, process, version" \
	"$(printf "$TMP/%s\t$TMP/%s\t%s\t$version\n" 'other#1' n "$(server)" s m "$pid")" "$(ours)"
kill -STOP "$pid"
check_eq "of one that does not answer no version" "$TMP/s	$TMP/m	$pid	?" "$(ours | grep "/s	")"
kill -CONT "$pid"
check "is unmounted" within fusermount3 -u n
yields "fusermount3 -u, behind which --status lists none" "" 'ours' unmount m
check "it is unmounted" not_mounted m
check_eq "no process is left" "" "$(servers)"
check_eq "the mountpoint is empty" "" "$(ls -A m)"

# ---- Ending ----------------------------------------------------------------------------------

yields "another mount has what was written" kept 'cat m/t/row/f/q' run s m
head -c 5000000 /dev/urandom >large
cp large m/t/row/f/large
exec 3<m/t/row/f/large
pid=$(server)
kill -TERM "$pid"
check "SIGTERM with a file open ends the process" within ended "$pid"
exec 3<&-
check "it is unmounted" not_mounted m
yields "a third mount has what was written" "" 'cmp large m/t/row/f/large 2>&1' run s m
unmount m
# cycle NUMBER END…: mounts, writes, and unmounts by the command END; it must be there next time.
cycle() {
	local number=$1 pid
	shift
	run s m || return
	pid=$(server)
	[ "$number" = 0 ] || [ "$(cat "m/t/row/f/cycle$((number - 1))")" = "$number" ] || return
	echo $((number + 1)) >"m/t/row/f/cycle$number"
	"$@" && within ended "$pid" && not_mounted m
}
end_by_signal() {
	kill -TERM "$(server)"
}
for ((i = 0; i < 10; i++)); do
	check "mounting and unmounting, round $i" cycle "$i" fusermount3 -u m
done
for ((; i < 20; i++)); do
	check "mounting and SIGTERM, round $i" cycle "$i" end_by_signal
done

"$rowfs" -f s m >log 2>&1 &
pid=$!
track_pid "$pid"
within mounted m
check "-f stays in the foreground" lib_alive "$pid"
check "and serves" test -d m/t
kill -TERM "$pid"
wait "$pid"
check_eq "SIGTERM is a success" 0 $?
check "it is unmounted" not_mounted m

# ---- Dead mounts -----------------------------------------------------------------------------

files() {
	find s -type f ! -name '*.ldb' ! -name '*.log' ! -name 'MANIFEST-*' -printf '%P\n' | sort
}
files >before
check "a mount" run s m
for ((i = 0; i < 200; i++)); do
	echo "$i" >"m/t/row/f/crash$i"
done
perl -e 'open my $f, ">", "m/t/row/f/uncommitted"; syswrite $f, "x" x 5000000; kill "KILL", $ARGV[0];
	select undef, undef, undef, 0.02 while readlink "/proc/$ARGV[0]/exe"' "$(server)" 2>/dev/null
fail_with "a mount whose server was killed is dead" - 'endpoint is not connected|connection abort' ls m
yields "a new mount clears it and serves" "t u" 'echo m/* | sed s,m/,,g' run s m
check_eq "everything that was closed is there" "$(seq 0 199)" \
	"$(cat m/t/row/f/crash* | sort -n)"
check "nothing else" test ! -e m/t/row/f/uncommitted
check_eq "there is one mount" 1 "$(grep -cF " $TMP/m " /proc/self/mounts)"
check "which is unmounted" unmount m
check "wholly" not_mounted m
check_eq "no spool file is left in the store" "$(cat before)" "$(files)"
run s m
kill -KILL "$(server)"
check "a dead mount is cleared for another store" run 'other#1' m
check "which serves" mkdir m/y
unmount m
mkdir links
ln -s ../m links/first
ln -s "$TMP/links/first" second
for place in second links/first second/; do
	run s m
	kill -KILL "$(server)"
	check "a dead mount is cleared by its symbolic link $place" run 'other#1' "$place"
	yields "it is mounted where that leads, once" 1 'grep -cF " $TMP/m " /proc/self/mounts' mounted m
	unmount m
done
rm -r links second
run s m
pid=$(server)
kill -KILL "$pid"
check "a dead mount is left" within ended "$pid"
fail_with "another program that has its store is told to end, not to be unmounted there" 1 \
	'/s: in use by process [0-9]+; unmount it or end that program$' held "$rowfs" s n
fusermount3 -u m
run s m
pid=$(server)
kill -STOP "$pid"
check "the server stops" within stopped "$pid"
"$rowfs" 'other#1' m >"$TMP/dying" 2>&1 &
new=$!
check "who mounts waits for a mount that does not answer" within grep -qs request_wait_answer "/proc/$new/wchan"
kill -KILL "$pid"
wait "$new"
check "a mount that dies meanwhile is cleared" grep -q 'cleared a dead mount' "$TMP/dying"
check "and the other store is mounted" mkdir m/dying
rmdir m/dying
rm dying
unmount m

# ---- Options ---------------------------------------------------------------------------------

# with OPTIONS…: mounts s on m with these.
with() {
	check "mounts with $*" run "$@" s m
}
with -o ro
check "ro: reads" test "$(cat m/t/row/f/q)" = kept
check "ro: is in the mount table" grep -qE " $TMP/m fuse.rowfs ro," /proc/self/mounts
for command in 'echo x >m/t/row/f/q' 'echo x >m/t/row/f/new' 'rm m/t/row/f/q' 'mkdir m/new' \
	'mkdir m/t/new' 'rm m/t/row/f/q@/*' 'mkdir m/t/.families/g' 'echo never >m/t/.families/f/gc' \
	'echo "{}" >m/.rowfs/schema.json' 'rmdir m/u'; do
	fail_with "ro: $command" - 'Read-only file system' bash -c "$command"
done
unmount m
with -o table=t
check_eq "table=: it is the root" row "$(ls m)"
check_eq "its columns are there" kept "$(cat m/row/f/q)"
check "and written" bash -c 'echo again >m/row/f/q'
check "rows are made" bash -c 'mkdir -p m/made/f && echo x >m/made/f/q'
check "another table is not there" test ! -e m/u
unmount m
with -o sync
check "sync: writes" bash -c 'echo sync >m/t/row/f/sync && cat m/t/row/f/sync'
check_eq "what table= wrote is there" "again x" "$(cat m/t/row/f/q m/t/made/f/q | paste -sd ' ')"
unmount m
# offers NAME EXPECTED EXPRESSION OPTION…: mounts s on m with these; the shell's EXPRESSION prints EXPECTED.
offers() {
	yields "$1" "$2" "$3" run "${@:4}" s m
	unmount m
}
offers "options in several lists" "12 34 600" 'stat -c "%u %g %a" m/t/row/f/q' -o cache=8,uid=12 -o gid=34,umask=077
offers "an owner and a group by name" "root tty" 'stat -c "%U %G" m/t/row/f/q' -o uid=root,gid=tty
offers "an option without a space" 660 'stat -c %a m/t/row/f/q' -oumask=07
[ "$(id -u)" != 0 ] ||
	offers "allow_other" 1 'grep -cE " $TMP/m fuse.rowfs [^ ]*allow_other" /proc/self/mounts' -o allow_other
check "options behind the operands" run s m -o umask=022,noexec,nosuid
check "libfuse's own pass through" grep -qE " $TMP/m fuse.rowfs [^ ]*noexec" /proc/self/mounts
unmount m

# ---- Inherited descriptors ------------------------------------------------------------------------

check "with 0 to 2 closed it returns" sh -c '"$0" s m <&- >&- 2>&-' "$rowfs"
check "and serves" test -d m/t
unmount m
check "so does one with other files open" test "$( (run s m 3>&1 4>&1 >/dev/null 2>&1) | cat; echo "${PIPESTATUS[*]}")" = "0 0"
check "it has closed them" sh -c 'ls -l "/proc/$0/fd" >fds && ! grep pipe: fds; status=$?; rm fds; exit $status' "$(server)"
unmount m
cp -r s closed
"$BUILD/rowfs-dump" closed nosuchtable 2>&- && not_ok "a table that is not there" "it succeeded"
check "what is said to a closed standard error is in no file of the store" sh -c '! grep -r nosuchtable closed'
rm -r closed

# ---- A store that is moved or removed ----------------------------------------------------------

mkdir away
cp -r s mine
check "a store is mounted" run mine m
pid=$(server)
mv mine away/moved
yields "moved while it is mounted, it takes a large value" "" 'cmp large m/t/row/f/moved' cp large m/t/row/f/moved
check "rows" sh -c 'for i in $(seq 3000); do echo "{\"key\":\"many#$i\",\"families\":{\"f\":{\"q\":\"$i\"}}}"; done >m/t/.rows'
check "more than a table's size of values" sh -c 'for i in 1 2 3 4 5 6; do cp large "m/t/row/f/more$i" || exit; done'
check "runs its collector" sh -c 'echo run >m/.rowfs/gc'
check "is synced" sync m/t
check_eq "its rows are read" 3000 "$(grep -c many m/t/.keys)"
fail_with "it is in use at its new place" 1 "away/moved: in use by process $pid;" run away/moved n
unmount m
check "it is whole there" "$BUILD/fsck.rowfs" -n away/moved
yields "a mount has all of it" 3000 'grep -c many m/t/.keys' run away/moved m
check "with each value" cmp large m/t/row/f/more6
unmount m
"$rowfs" -f away/moved m 2>log &
track_pid $!
pid=$!
check "the store is mounted there" within test -d m/t
mkfifo go # a writer that has its file open
(exec 7>>m/t/row/f/moved && read -r _ <go && echo v >&7) 2>said &
writer=$!
exec 8<>go # does not wait for the writer
check "a writer has its file open" within eval "find /proc/$writer/fd -lname '*/f/moved' | grep -q ."
kill -STOP "$pid" # it would meet a store of which a part is left
rm -r away/moved
kill -CONT "$pid"
removed="the store was removed while it was mounted; unmount it, and restore a copy or a dump"
if cat m/t/row/f/more1 >got 2>/dev/null; then # of files that LevelDB has open
	check "removed while it is mounted, it gives right values" cmp got large
else
	check_eq "removed while it is mounted, it says so" "$removed" "$(tail -n 1 m/.rowfs/errors | cut -d ' ' -f 3-)"
fi
rm -f got
# A shell hides the error of a close: open and write refuse.
FINAL=data
fail_with "removed, it has no mknod" 1 'Input/output error' "$python" -S -c 'import os; os.mknod("m/t/row/f/node")'
check_eq "the errors say why, and where" "/t/row/f/node: $removed" "$(tail -n 1 m/.rowfs/errors | cut -d ' ' -f 2-)"
for write in 'echo v >m/t/row/f/q' 'echo v >m/t/row/f/moved' 'echo v >>m/t/row/f/moved' 'cp file m/t/row/f/q' 'touch m/t/row/f/q' \
	'echo "{\"key\":\"k\",\"families\":{\"f\":{\"q\":\"v\"}}}" >m/t/.rows'; do
	fail_with "and is not written: $write" 1 'Input/output error' bash -c "$write"
	check_eq "the errors say why" "$removed" "$(tail -n 1 m/.rowfs/errors | cut -d ' ' -f 3-)"
done
echo >&8
exec 8>&-
wait "$writer"
check_eq "nor by a writer that had its file open" "1 Input/output error" "$? $(sed 's/.*: //' said)"
FINAL=
rm go said
fail_with "then no write is tried" 1 'Read-only file system' bash -c 'echo v >m/t/row/f/q'
unmount m
wait "$pid"
check "the log says so" grep -q 'the store was removed while it was open; ' log # at a read, or at the write
check_eq "and nothing of damage" "" "$(grep -i damage log)"
rmdir away

# ---- Names -----------------------------------------------------------------------------------

mkdir "odd" "odd/ a,b\\c" "odd/m é,x"
make_store "odd/ a,b\\c/store"
check "a store and a place with odd names" run "odd/ a,b\\c/store/" "odd/m é,x/"
check "serve" mkdir "odd/m é,x/table"
check "are unmounted" unmount "odd/m é,x"
cd odd || exit 1
check "paths with .." run ../s ./../m/../m
cd "$TMP" || exit 1
check "mean what they say" test -d m/t
unmount m
check_eq "nothing runs at the end" "" "$(servers)"
check "nothing is mounted at the end" bash -c "! grep -F '$TMP' /proc/self/mounts"
check_eq "nothing else was left behind" "before file large link log m n odd other#1 plain s" \
	"$(echo *)"
finish
