#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Refusals by the errno that the call itself gives, where no other test has them; limits of the
# state in memory; and a disk that is nearly full.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cells.sh"

t=$m/t
f=$t/row/f

# Without the heat map, which writes a record each minute: the bytes on disk are compared.
new_mount '{"version":1,"tables":{"t":{"families":{"f":{},"g":{}}},"u":{"families":{"f":{}}}}}' \
	-o keyvis=off
mkdir -p "$f" "$t/row/g" "$t/other/f" "$t/empty" "$m/u/row/f"
column "$f/q" 1000=o 2000=n
column "$f/p" 3000=p
column "$f/last" 9223372036854775807=l

# ---- One by one --------------------------------------------------------------------------------

# says ERRNO CODE PATH…: the result of Python's call on the paths, below the mount, as the list a.
says() {
	check_eq "$2 of ${*:3}" "$1" "$(cd "$m" && call "$2" "${@:3}")"
}

name255=$(printf 'x%.0s' {1..255})
says ENAMETOOLONG 'os.mkdir(q)' "t/x$name255"
says ENAMETOOLONG 'os.mkdir(q)' "x$name255"
says ENAMETOOLONG 'os.open(q, os.O_CREAT | os.O_WRONLY)' "t/row/f/x$name255"
says ENAMETOOLONG 'os.rename(*a)' t/row/f/p "t/row/f/x$name255"
says EOVERFLOW 'fd = os.open(q, os.O_WRONLY | os.O_APPEND); os.write(fd, b"x"); os.fsync(fd)' t/row/f/last
says EOVERFLOW 'fd = os.open(q, os.O_WRONLY); os.write(fd, b"x"); os.fsync(fd)' t/row/f/last
says EOVERFLOW 'os.truncate(q, 0)' t/row/f/last
says EEXIST 'os.mkdir(q)' t/row
says EEXIST 'os.mkdir(q)' t/row/f
says EEXIST 'os.mkdir(q)' t/row/f/q@
says EEXIST 'os.open(q, os.O_CREAT | os.O_EXCL | os.O_WRONLY)' t/row/f/q
says EXDEV 'os.rename(*a)' t/empty t/new
says EXDEV 'os.rename(*a)' t/row/f t/row/h
says EINVAL 'os.lseek(os.open(q, os.O_RDONLY), -1, 0)' t/row/f/q
says ENOENT 'os.unlink(q)' t/row/f/%41
says EISDIR 'os.open(q, os.O_WRONLY)' t/row/f
says EISDIR 'os.unlink(q)' t/row
is "nothing of this changed a column" "$f/q" "2000=n 1000=o"
is "nor another" "$f/p" "3000=p"
is "nor the last" "$f/last" "9223372036854775807=l"
check_eq "nor made one" "last p q" "$(entries "$f" | paste -sd ' ')"
check_eq "nor a row" "empty other row" "$(entries "$t" | paste -sd ' ')"
for where in t/new t/row/new t/empty/new; do
	call 'os.open(q, os.O_CREAT | os.O_WRONLY)' "$m/$where" >/dev/null
	check "errors says which families there are ($where)" bash -c \
		'tail -n 1 "$0/.rowfs/errors" | grep -F "$1" | grep -qE "\bf\b.*\bg\b"' "$m" "$where"
done

for change in 'os.truncate(q, (100 << 20) + 1)' 'os.pwrite(os.open(q, os.O_WRONLY), b"x", 100 << 20)'; do
	before=$(wc -l <"$m/.rowfs/errors")
	check_eq "$change" EFBIG "$(call "$change" "$f/q")"
	check_eq "errors says why" "t/row/f/q a value has at most 100 MiB" \
		"$(tail -n "+$((before + 1))" "$m/.rowfs/errors" | grep -oE 't/row/f/q|a value has.*MiB' | paste -sd ' ')"
done

# ---- The state in memory is bounded ------------------------------------------------------------

size() {
	du -sb --exclude=LOG "$TMP/s" | cut -f 1
}
before=$(size)
filling=()
for part in 1 2 3 4; do
	call 'os.mkdir(q)
os.chdir(q) # the directories above are looked up each time
for i in range(100000): os.mkdir("%05d" % i)' "$t/empty/$part" >"$TMP/filled.$part" &
	filling+=($!)
	track_pid $!
done
wait "${filling[@]}"
check_eq "of empty directories there can be 100,000, then ENOSPC" "ENOSPC ENOSPC ENOSPC ENOSPC" \
	"$(cat "$TMP"/filled.? | paste -sd ' ')"
made=$((4 + $(for part in 1 2 3 4; do ls -U "$t/empty/$part"; done | wc -l)))
check "no more, and nearly as many" test "$made" -le 100000 -a "$made" -ge 99980
check_eq "nothing of them is on disk" "$before" "$(size)"
fail_with "a directory elsewhere is refused as well" - 'No space' mkdir "$t/more"
check "cells are not: a new one" put "$f/full" x
check "a row that is emptied goes at once" rm -r "$t/row/g" "$t/other"
check "rmdir makes room" rmdir "$t/empty/1/00000"
check "for one" mkdir "$t/more"
remount
check_eq "the next mount has none of them" row "$(entries "$t" | paste -sd ' ')"
check "and room" mkdir -p "$t/more/and/more"

# ---- A disk that is nearly full ----------------------------------------------------------------

# full: the store stands on a small filesystem of its own, in memory.
full() {
	local d=$TMP/disk n=$TMP/n
	mkdir "$d"
	mount -t tmpfs -o size=200m none "$d" || die "root cannot mount a tmpfs"
	make_store "$d/s" '{"version":1,"tables":{"t":{"families":{"f":{}}}}}'
	mount_store "$d/s" "$n"
	mkdir -p "$n/t/row/f"
	put "$n/t/row/f/kept" kept
	check_eq "df shows that disk" "$(df --output=size "$d" | tail -n 1)" \
		"$(df --output=size "$n" | tail -n 1)"
	check_eq "without what is left to the engine" "$(($(df --output=avail "$d" | tail -n 1) - 40960))" \
		"$(($(df --output=avail "$n" | tail -n 1)))"
	check_eq "a value that has no room is ENOSPC from write itself" ENOSPC "$(call '
fd = opened()
write(fd, b"begun")
for i in range(90): write(fd, bytes(1 << 20))' "$n/t/row/f/kept")"
	check_eq "commits nothing" "kept 1" "$(cat "$n/t/row/f/kept") $(entries "$n/t/row/f/kept@" | wc -l)"
	unmount_store "$n"
	umount "$d"
}
# ---- Errors that the log omits -----------------------------------------------------------------

# Row keys, qualifiers and values may be private data: each kind of them is in a request that fails.
private() {
	local n=$TMP/private f=$TMP/private/t/secretkey/f
	mkdir -p "$f"
	{
		echo secretvalue >"$f/secretqualifier"
		echo '{"key":"secretkey","families":{"f":{"secretqualifier":[{"value":1}]}}}' >"$n/t/.rows"
		echo '{"secretmember":1}' >"$n/t/secretkey/.row"
		echo 'secretvalue' >"$n/t/secretkey/.drop"
		echo 'maxversions=secretvalue' >"$n/t/.families/f/gc"
		echo secretvalue >"$f/secretqualifier@/secretname"
		echo secretvalue >"$n/t/secretkey/secretfile"
		mkdir "$n/t/secretkey/f/secretqualifier2"
		touch -d @-5 "$f/secretqualifier"
		cat "$f/secretnothing"
		ln "$f/secretqualifier" "$f/secretlink"
		truncate -s 200M "$f/secretqualifier"
	} 2>/dev/null
}
make_store "$TMP/secrets" '{"version":1,"tables":{"t":{"families":{"f":{}}}}}'
mount_store "$TMP/secrets" "$TMP/private"
log=$(mount_log "$TMP/private")
private
check "errors has the path" grep -q secretkey "$TMP/private/.rowfs/errors"
check "the log has lines of that" test "$(wc -l <"$log")" -ge 5
check_eq "and none with a key, qualifier or value" "" "$(grep secret "$log")"
unmount_store "$TMP/private"

[ "$(id -u)" != 0 ] || full

# ---- Errors of other users -----------------------------------------------------------------------

# Each refused request of a user who may only read is an error, and so is a name that does not exist.
users() {
	make_store "$TMP/many" '{"version":1,"tables":{"t":{"families":{"f":{}}}}}'
	mount_store "$TMP/many" "$TMP/users" -o allow_other
	check_eq "other users leave the errors of root and of each other" ok "$(python '
def fails(user, *names):
    os.seteuid(user)
    for name in names:
        assert error(os.stat, name) in ("ENOENT", "EINVAL"), name
    os.seteuid(0)
def of(user):
    return [line.split(" ")[1] for line in lines() if f"/{user}." in line]
def lines():
    return get(".rowfs/errors").splitlines()
os.chdir(q)
fails(0, "t/.where/0.error~(", "t/0.missed")
for i in range(1100):
    fails(1001, f"t/.where/1001.{i}~(", f"t/1001.missed{i}")
fails(1002, "t/.where/1002.error~(", "t/1002.missed")
fails(1001, "t/.where/1001.last~(")
assert of(0) == ["/t/.where/0.error~(:", "/t/0.missed:"], of(0)
assert of(1002) == ["/t/.where/1002.error~(:", "/t/1002.missed:"], of(1002)
assert of(1001) == [f"/t/.where/1001.{i}~(:" for i in [*range(851, 1100), "last"]], of(1001)
for user in range(2001, 2301):
    fails(user, *(f"t/.where/{user}.{i}~(" for i in range(5)), f"t/{user}.missed")
assert of(0) == ["/t/.where/0.error~(:", "/t/0.missed:"], of(0)
assert len(lines()) == 752 # 750 of others and two of root
assert [line[:27] for line in lines()] == sorted(line[:27] for line in lines())
print("ok")' "$TMP/users")"
	unmount_store "$TMP/users"
}
[ "$(id -u)" != 0 ] || users

# ---- Text for terminals --------------------------------------------------------------------------

# A user who may only read opens names of a CSI of eight bits, a right-to-left override, a line separator and a
# next line, in a store whose owner named it so. Root reads errors, trace, log, rows and messages at a terminal.
wild=$'\u009b31m\u202etxt\u2028\u0085'
spelled=%C2%9B31m%E2%80%AEtxt%E2%80%A8%C2%85 unicode='\u009b31m\u202etxt\u2028\u0085'
m=$TMP/wild s=$TMP/$wild/s
mkdir "$TMP/$wild"
make_store "$s" '{"version":1,"tables":{"t":{"families":{"f":{}}}}}'
mount_store "$s" "$m" -o allow_other -f
put "$m/t/.rows" "{\"key\":\"$wild\",\"families\":{\"f\":{\"$wild\":\"$wild\"}}}"
attack() (
	by=()
	[ "$(id -u)" != 0 ] || by=(setpriv --reuid=65534 --regid=65534 --clear-groups)
	cd "$m" && "${by[@]}" bash -c 'for name in "$1" "t/$1x" "t/.where/f:$1~(" ".rowfs/$1" "t/$1/f/$1/x" "t/.from/a/$1"; do
		cat "$name"; mkdir "$name"; echo x >"$name"; mv "$name" "$name$1"; done' - "$wild" 2>/dev/null
)
cat "$m/.rowfs/trace" >"$TMP/trace" &
track_pid $!
files_open 1
attack
none "the last name of the attack" "$m/last"
within grep -q '"name":"last"' "$TMP/trace"
kill $!
cat "$m/.rowfs/errors" >"$TMP/errors"
cat "$m/t/.rows" "$m/t/$wild/.drop" "$m/t/.counts" >"$TMP/rows" 2>/dev/null
{
	"$BUILD/rowfs" --status
	"$BUILD/rowfs-dump" "$s"
	"$BUILD/rowfs-load" "$s" </dev/null
	"$BUILD/fsck.rowfs" -n "$s"
	"$BUILD/mkfs.rowfs" --force "$s"
	"$BUILD/rowfs-load" "$s" "$wild" </dev/null
	"$BUILD/rowfs" "$s" "$TMP"
	"$BUILD/rowfs" "$wild" "$TMP"
} >"$TMP/messages" 2>&1
# escapes PROGRAM WORDS…: its message names the word, of which a second line is forged.
escapes() {
	"$BUILD/$1" "${@:2}" >"$TMP/said" 2>&1
	check "the message of $1 ${2//[^ -~]/?} names the word" grep -qF "$spelled" "$TMP/said"
	check_eq "in lines of its own" "" "$(grep '^forged' "$TMP/said")"
	cat "$TMP/said" >>"$TMP/messages"
}
word=$wild$'\n'forged
for program in rowfs mkfs.rowfs fsck.rowfs rowfs-{advise,dump,load,path}; do
	escapes "$program" "--$word"
	"$BUILD/$program" "-$wild" >>"$TMP/messages" 2>&1
done
mkdir "$TMP/$wild/m"
escapes rowfs -o "$word" "$s" "$TMP/$wild/m"
escapes rowfs -o "uid=$word" "$s" "$TMP/$wild/m"
escapes rowfs --status "$word"
escapes rowfs "$s" "$m" "$word"
escapes mkfs.rowfs "$TMP/new" "$word"
"$BUILD/mkfs.rowfs" "$TMP/$wild/s2"
track_mount "$TMP/$wild/m"
"$BUILD/rowfs" "$TMP/$wild/s2" "$TMP/$wild/m"
pid=$(serving "/s2 ")
kill -KILL "$pid"
within ended "$pid"
escapes rowfs "$TMP/$wild/s2" "$TMP/$wild/m"
check "which is of a dead mount" grep -qF "/m: cleared a dead mount of $TMP/$spelled/s2" "$TMP/said"
unmount_store "$TMP/$wild/m"
check "the errors name what was opened" grep -qF "/t/.where/f:$spelled" "$TMP/errors"
check "so does the trace" grep -qF "\"name\":\"$unicode" "$TMP/trace"
check "rows have the key, column and value" grep -qF "{\"key\":\"$unicode\",\"families\":{\"f\":{\"$unicode\":" "$TMP/rows"
check_eq "which are these" "$wild $wild $wild" "$(jq -r '"\(.key) \(.families.f | keys[0]) \(.families.f[][0].value)"' <(head -n 1 "$TMP/rows"))"
check_eq ".keys is data" "$wild" "$(cat "$m/t/.keys")"
check "messages name the store" grep -qF "$spelled" "$TMP/messages"
cp "$(mount_log "$m")" "$TMP/log"
for text in errors trace rows log messages; do
	check_eq "nothing in $text acts on a terminal" "" \
		"$(LC_ALL=C grep -anP '\xc2[\x80-\x9f]|\xe2\x80[\xa8-\xae]|[\x00-\x08\x0b-\x1f\x7f]' "$TMP/$text" | head -n 3 | cat -v)"
done
check_eq "nor is a byte of a message a part of a character" "" "$(LC_ALL=C grep -aP '[^\t -~]' "$TMP/messages" | head -n 3 | cat -v)"
unmount_store "$m"
check_eq "nor in what fsck.rowfs finds" "$TMP/$spelled/s: clean" "$("$BUILD/fsck.rowfs" -n "$s" | cut -d ';' -f 1)"

finish
