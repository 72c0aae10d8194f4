#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Another user owns a directory above root's mountpoint: he renames it, and plants a link to a directory
# of root's, where root has another mount. root follows no link of his, mounts on the directory that it
# checked, and unmounts its own mount, wherever that is, and no other. Then mounts that moved or went by root's own hand.
#
#   ROUNDS   how many races at each event (default: 10; with ROWFS_FULL 100)

. "$(dirname "$0")/lib.sh"
FINAL=permission
own_mounts
need_fuse
[ "$(id -u)" = 0 ] || skip "only root mounts without fusermount3"

ROUNDS=${ROUNDS:-$(rounds 10 100)}
rowfs=$BUILD/rowfs
cd "$TMP" || exit 1
make_store s '{"version":1,"tables":{"t":{"families":{"f":{}}}}}'
chmod 755 s
chmod 644 s/ROWFS s/LOCK # others may ask for events of them
mkdir -p victim/m theirs plain/m etc
chown 1:1 theirs
mount -t tmpfs none victim || die "root cannot mount here"
mkdir victim/m
echo precious >victim/m/file

# theirs COMMAND…: the other user's command, in the user's directory. Its path needs no permission.
theirs() {
	(cd theirs && exec setpriv --reuid=1 --regid=1 --clear-groups -- "$@")
}

# prepare: theirs/d is the other user's directory, and theirs/d/m root's mountpoint.
prepare() {
	rm -rf --one-file-system theirs/*
	theirs mkdir d
	mkdir theirs/d/m
}

# ours: the mountpoints of rowfs in this namespace, which no other test sees.
ours() {
	awk '$3 == "fuse.rowfs" { print $2 }' /proc/self/mounts
}
none_ours() {
	[ -z "$(ours)" ]
}

# server: the process behind the mount.
server() {
	serving "^$rowfs .*s [a-z/]*m\$"
}

# stop: SIGTERM, and waits.
stop() {
	local pid
	pid=$(server)
	[ -z "$pid" ] || { kill -TERM "$pid" && within ended "$pid"; }
}

# ---- Races at the start ----------------------------------------------------------------------------

cat >attacker.py <<'PYTHON'
"""As the other user: waits until the file open as 9 is opened again, then exchanges d for a link."""
import ctypes, os, sys
os.setgroups([])
os.setresgid(1, 1, 1)
os.setresuid(1, 1, 1)
libc = ctypes.CDLL(None, use_errno=True)
fd = libc.inotify_init()
IN_OPEN = 0x20
if libc.inotify_add_watch(fd, b"/proc/self/fd/9", IN_OPEN) < 0:
    sys.exit(os.strerror(ctypes.get_errno()))
print("ready", flush=True)
os.read(fd, 4096)
os.rename("d", "e")
os.symlink(sys.argv[1], "d")
PYTHON

# race NAME: the attack when rowfs opens this file of the store. Counts attacks and hits; left: mounts behind the end.
race() {
	local attacker
	prepare
	rm -f attacker.log
	(cd theirs && exec "$python" -S ../attacker.py "$TMP/victim" 9<"../s/$1") >attacker.log 2>&1 &
	attacker=$!
	track_pid "$attacker"
	within grep -qs ready attacker.log || die "no attacker: $(cat attacker.log)"
	"$rowfs" s theirs/d/m >rowfs.log 2>&1
	within ended "$attacker" && wait "$attacker" && attacks=$((attacks + 1))
	! lib_mounted "$TMP/victim/m" || hits=$((hits + 1))
	stop
	left+=$(ours)
	ours | xargs -r umount -l
}

# races NAME WHEN
races() {
	attacks=0
	hits=0
	left=
	for ((i = 0; i < ROUNDS; i++)); do
		race "$1"
	done
	check_eq "$2: the attacker acts in each race" "$ROUNDS" "$attacks"
	check_eq "$2: no race leads the mount to another directory" 0 "$hits"
	check_eq "$2: no mount is left" "" "$left"
}
races ROWFS "behind the check"
races LOCK "before the check"
check_eq "what is there stays" precious "$(cat victim/m/file)"

# ---- Links in the path -----------------------------------------------------------------------------

prepare
theirs ln -s "$TMP/victim" link
ln -s ../../victim theirs/d/link
ln -s theirs/link mine
ln -s loop loop
for path in theirs/link/m "$TMP/theirs/link/m" theirs/../theirs/link/m mine/m mine; do
	fail_with "$path has another user's link" 1 "^rowfs: $path: has a symbolic link of another user" "$rowfs" s "$path"
done
fail_with "an empty path" 1 'No such file' "$rowfs" s ""
fail_with "a path that is too long" 1 'File name too long' "$rowfs" s "./$(printf '/%.0s' {1..9000})plain/m"
fail_with "a loop" 1 '^rowfs: loop/m: .*too many' "$rowfs" s loop/m
check_eq "nothing is mounted there" "" "$(ours)"
ln -s "$TMP/plain" there
ln -s there/m here
for path in there/m here/ "$TMP/here" plain/../there/./m theirs/d/link/../plain/m; do
	check "root's own links are followed: $path" "$rowfs" s "$path"
	check_eq "to where they lead" "$TMP/plain/m" "$(ours)"
	umount plain/m
	within eval '[ -z "$(serving "^$rowfs s ")" ]'
done
rm loop mine here there

# ---- The end ---------------------------------------------------------------------------------------

umount victim
mkdir -p victim/m
# with_victim: another mount, where the link leads.
with_victim() {
	mount -t tmpfs none victim/m
	echo precious >victim/m/file
}
# stays NAME: that mount does.
stays() {
	check_eq "$1: the other mount stays" precious "$(cat victim/m/file 2>&1)"
	umount victim/m 2>/dev/null
}

# attacked NAME COMMAND: the other user's shell command while the store is mounted.
attacked() {
	theirs sh -c "$2" || not_ok "$1: the attack" "it failed"
}

# at_end NAME COMMAND: the attack, then the end of the server.
at_end() {
	prepare
	with_victim
	check "$1: a mount" "$rowfs" s theirs/d/m
	attacked "$1" "$2"
	check "$1: the server ends" stop
	check_eq "$1: its own mount is gone" "" "$(ours)"
	stays "$1"
	umount -l "$(ours)" 2>/dev/null
}
link="ln -s $TMP/victim d"
at_end "the directory above is renamed, and a link planted" "mv d e && $link"
at_end "put deeper" "mkdir -p x/y/z && mv d x/y/z/e && $link"
at_end "closed to all" "mv d e && chmod 0 e && $link"
at_end "and nothing is planted" "mv d e"

# umount(8) of root follows the planted link, of which rowfs(8) warns. rowfs serves on, and ends like before.
name="umount -f by the planted link"
prepare
with_victim
check "$name: a mount" "$rowfs" s theirs/d/m
attacked "$name" "mv d e && $link"
check "$name: it unmounts the other mount" umount -f theirs/d/m
check_eq "$name: which is gone" "" "$(ls victim/m)"
with_victim
check "$name: its own serves on" test -d theirs/e/m/t
check "$name: the server ends" stop
check_eq "$name: its own mount is gone" "" "$(ours)"
stays "$name"
for command in "umount -f" "umount -l" "fusermount3 -u"; do
	name="$command where it is"
	read -ra words <<<"$command"
	prepare
	with_victim
	check "$name: a mount" "$rowfs" s theirs/d/m
	attacked "$name" "mv d e && $link"
	check "$name" "${words[@]}" theirs/e/m
	check "$name: the server ends" within eval '[ -z "$(server)" ]'
	check_eq "$name: its own mount is gone" "" "$(ours)"
	stays "$name"
done

# Where the user has a mount namespace of their own, root's mountpoint is a plain directory there.
name="the mountpoint itself is renamed in another namespace"
prepare
with_victim
mkfifo go
"$LIB_DIR/own_mounts.sh" sh -c "touch apart && read -r _ <go && cd theirs &&
	exec setpriv --reuid=1 --regid=1 --clear-groups sh -c 'mv d/m d/n && mv d e && $link'" &
pid=$!
exec 8<>go
check "$name: it is there" within test -e apart
check "$name: a mount" "$rowfs" s theirs/d/m
echo >&8
check "$name: the attack" wait "$pid"
exec 8>&-
check "$name: the server ends" stop
check_eq "$name: its own mount is gone" "" "$(ours)"
stays "$name"
umount -l "$(ours)" 2>/dev/null

name="auto_unmount"
prepare
with_victim
check "$name: a mount" "$rowfs" -o auto_unmount s theirs/d/m
attacked "$name" "mv d e && $link"
kill -KILL "$(server)"
check "$name: the dead mount goes from where it is" within none_ours
stays "$name"

# ---- By root's own hand ------------------------------------------------------------------------------

check "a mount" "$rowfs" s plain/m
mkdir -p plain/m/t/r/f
echo v >plain/m/t/r/f/q
exec 7<plain/m/t/r/f/q
umount -l plain/m
mount -t tmpfs none plain/m
echo precious >plain/m/file
check "unmounted lazily, with a file open, it ends" stop
check_eq "and leaves the mount that took its place" precious "$(cat plain/m/file 2>&1)"
exec 7<&-
umount plain/m
check "a mount" "$rowfs" s plain/m
mkdir n
mount --move plain/m n
check "moved by root, it ends" stop
check_eq "it is unmounted where it was" "" "$(ours)"
check "a mount" "$rowfs" s plain/m
mount --bind plain/m n
check "with a second place it ends" stop
check_eq "and is unmounted at its own" "$TMP/n" "$(ours)"
umount n

# A system whose /etc/mtab is a file: libfuse would start mount(8) to write it.
cp -rL /etc/{passwd,group,nsswitch.conf,ld.so.cache} etc 2>/dev/null
: >etc/mtab
check "with a file /etc/mtab" "$LIB_DIR/own_mounts.sh" sh -c 'mount --bind etc /etc && "$@" && [ -d plain/m/t ] &&
	umount plain/m' - "$rowfs" s plain/m
check "its server ends" within eval '[ -z "$(pgrep -f "^$rowfs s plain/m")" ]'

# ---- The mounter -------------------------------------------------------------------------------------

# mounter: its effective and permitted capabilities, no_new_privs and its kind of filter.
mounter() {
	local pid
	pid=$(pgrep -P "$(server)" -x rowfs-mounter)
	awk '/^(CapEff|CapPrm|NoNewPrivs|Seccomp):/ { printf "%s ", $2 }' "/proc/$pid/status"
}
check "a mount" "$rowfs" s plain/m
check_eq "the mounter keeps CAP_SYS_ADMIN alone" "0000000000200000 0000000000200000 1 2 " "$(mounter)"
check_eq "it has no file of the mount or the store open" "" \
	"$(find "/proc/$(pgrep -P "$(server)" -x rowfs-mounter)/fd" \( -lname "$TMP/s*" -o -lname "$TMP/plain/m/*" \) -printf '%l ')"
umount plain/m
within none_ours
within eval '[ -z "$(server)" ]'
prepare
check "a mount in another user's directory" "$rowfs" s theirs/d/m
check_eq "with CAP_DAC_READ_SEARCH, to unmount there" "0000000000200004 0000000000200004 1 2 " "$(mounter)"
check "unmounted by hand, it ends" umount theirs/d/m
within eval '[ -z "$(server)" ]'
finish
