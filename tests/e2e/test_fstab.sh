#!/bin/bash
# SPDX-License-Identifier: MIT
#
# mount(8), umount(8) and /etc/fstab: `mount -t fuse.rowfs` has mount.fuse3 run rowfs, which it finds
# on the path. In a mount namespace of its own, with a directory of that path, an /etc/fstab and a
# /run/mount that are seen nowhere else.

. "$(dirname "$0")/lib.sh"
own_mounts

need_fuse
[ "$(id -u)" = 0 ] || skip "only root can put an /etc/fstab in the place of another"
nobody=65534

mkdir "$TMP/root"
mount -t tmpfs -o mode=755 none "$TMP/root" || die "root cannot mount here"
mkdir "$TMP/root/sbin" "$TMP/root/run" "$TMP/root/home"
cp "$BUILD/rowfs" "$TMP/root/sbin"
mknod -m 666 "$TMP/root/fuse" c 10 229
: >"$TMP/root/fuse.conf"
: >"$TMP/root/fstab"
mkdir -p /usr/local/sbin /run/mount
mount --bind "$TMP/root/sbin" /usr/local/sbin || die "there is no /usr/local/sbin"
mount --bind "$TMP/root/run" /run/mount || die "there is no /run/mount"
mount --bind "$TMP/root/fuse" /dev/fuse
mount --bind "$TMP/root/fstab" /etc/fstab || die "there is no /etc/fstab"
[ ! -e /etc/fuse.conf ] || mount --bind "$TMP/root/fuse.conf" /etc/fuse.conf
mount --bind "$TMP/root" /mnt || die "there is no /mnt"
cd /mnt/home || die "/mnt cannot be entered"
place=/mnt/home

user() {
	env -i PATH=/usr/local/sbin:/usr/bin:/bin:/usr/sbin:/sbin LC_ALL=C.UTF-8 HOME="$place" \
		${ROWFS_TEST_RUN+ROWFS_TEST_RUN="$ROWFS_TEST_RUN"} ${ASAN_OPTIONS+ASAN_OPTIONS="$ASAN_OPTIONS"} \
		setpriv --reuid="$nobody" --regid="$nobody" --clear-groups -- "$@"
}

# entry PLACE: the lines of the mount table with it, of rowfs.
entry() {
	lib_mount_table | grep -qxF -- "$place/$1" &&
		awk '$3 == "fuse.rowfs"' /proc/self/mounts | while read -r source where type rest; do
			[ "$(printf %b "$where")" != "$place/$1" ] || echo "$source $type $rest"
		done
}

# has OPTION PLACE: the mount has that option.
has() {
	entry "$2" | cut -d ' ' -f 3 | tr , '\n' | grep -qxF -- "$1"
}

# gone PLACE: nothing is mounted there, and its store is not in use any more.
gone() {
	[ -z "$(entry "$1")" ] || return
	within unserved "$1"
}

# unserved PLACE: no process serves it.
unserved() {
	[ -z "$(pgrep_here "^rowfs .* $place/$1( |\$)")" ]
}

# leave [NAME]: unmounts m, which ends it.
leave() {
	umount m
	check "${1-it ends}" gone m
}

schema='{"version":1,"tables":{"t":{"families":{"f":{}}},"u":{}}}'
for store in s other "odd store,\\x"; do
	make_store "$place/$store" "$schema"
done
mkdir m n "odd m"
track_mount m
track_mount n
track_mount "odd m"

# ---- mount -t fuse.rowfs -----------------------------------------------------------------------

yields "mount -t fuse.rowfs serves" "t u" 'echo m/* | sed s,m/,,g' mount -t fuse.rowfs s m
check_eq "the mount table has the store's path" "$place/s" "$(entry m | cut -d ' ' -f 1)"
mkdir -p m/t/row/f
echo one >m/t/row/f/q
leave "umount ends it"
check "options are passed on" mount -t fuse.rowfs -o ro,umask=077,table=t "$place/s" m
check_eq "those of rowfs" "600 one" "$(stat -c %a m/row/f/q) $(cat m/row/f/q)"
check "and those of the kernel" has ro m
check "umount, with a slash behind it" umount m/
check "ends it" gone m

# Options that fstab, systemd and mount use among themselves, and all kinds of access times.
for options in defaults rw,_netdev,noauto,nofail,x-systemd.automount,x-gvfs-hide,X-mount.group=0 \
	rw,dev,suid,exec,atime owner,group,comment=fleet nouser,auto,async,loud \
	noatime,nodiratime relatime,diratime strictatime,lazytime norelatime,nolazytime \
	silent,allow_other,default_permissions; do
	yields "mount -o $options serves" one 'cat m/t/row/f/q' mount -t fuse.rowfs -o "$options" s m
	leave "and ends"
	check "rowfs takes them itself" rowfs -o "$options" s m
	umount m
	gone m || not_ok "rowfs -o $options ends" "it does not"
done
for options in user users user,exec,dev; do
	mount -t fuse.rowfs -o "$options" s m
	check "mount -o $options: no set-user-ID programs" has nosuid m
	check_eq "others as far as they are named" "$([[ $options == *,* ]] || echo 'nodev noexec')" \
		"$(entry m | cut -d ' ' -f 3 | tr , '\n' | grep -xE 'nodev|noexec' | sort | paste -sd ' ')"
	leave
done
for options in ro,rw:rw rw,ro:ro; do
	rowfs -o "${options%:*}" s m
	check "the last of ${options%:*} counts" has "${options#*:}" m
	leave
done
check "mount.fuse -t fuse.rowfs" /sbin/mount.fuse3 "$place/s" "$place/m" -t fuse.rowfs -o rw
leave
check "mount -t fuse rowfs#STORE" mount -t fuse "rowfs#$place/s" m
leave

# ---- Messages ----------------------------------------------------------------------------------

fail_with "no store" 1 '^rowfs: .*/nowhere: (No such file|there is no such directory)' mount -t fuse.rowfs "$place/nowhere" m
fail_with "no mountpoint" - 'nowhere.*(does not exist|No such)' mount -t fuse.rowfs s nowhere
fail_with "a wrong option" 2 "^rowfs: .*unknown option.*wrong" mount -t fuse.rowfs -o wrong s m
fail_with "a wrong value" 2 '^rowfs: umask=9: ' mount -t fuse.rowfs -o umask=9 s m
fail_with "a table that is missing" 1 '^rowfs: v: .*no such table' mount -t fuse.rowfs -o table=v s m
mount -t fuse.rowfs s m
fail_with "a store in use" 1 '^rowfs: .*in use' mount -t fuse.rowfs s n
fail_with "a mountpoint in use" 1 '^rowfs: .*is busy' mount -t fuse.rowfs other m
fail_with "remount: what to do instead" - '^rowfs: remount: .*unmount' mount -o remount,ro m
check "that changes nothing" sh -c 'echo two >m/t/row/f/q'
fail_with "umount of a mount with an open file" - busy sh -c 'exec 3<m/t/row/f/q; umount m'
yields "a mount is moved and serves there" two 'cat n/t/row/f/q' mount --move m n
check "is unmounted there" umount n
check "ends" gone m

# ---- /etc/fstab --------------------------------------------------------------------------------

cat >/etc/fstab <<FSTAB
# a line that is mounted by name only, one that always is, one that may fail
$place/s		$place/m		fuse.rowfs	noauto,nofail,_netdev,x-systemd.automount,noatime,umask=077	0 0
$place/odd\\040store,\\134x	$place/odd\\040m	fuse.rowfs	defaults,table=t	0 2
FSTAB
check "mount MOUNTPOINT" mount m
check_eq "with the options of its line" "600 two" "$(stat -c %a m/t/row/f/q) $(cat m/t/row/f/q)"
leave
check "mount STORE" mount "$place/s"
check "has it there" test -d m/t
leave
yields "mount -a leaves out noauto" "" 'entry m' mount -a
check "mounts the other, with odd characters" mkdir -p "odd m/row/f"
check_eq "once" 1 "$(entry "odd m" | wc -l)"
yields "mount -a again mounts nothing twice" 1 'entry "odd m" | wc -l' mount -a
server=$(serving "^rowfs $place/odd store")
check_eq "by one server" 1 "$(wc -w <<<"$server")"
kill -KILL "$server"
fail_with "killed, it is dead" - 'endpoint is not connected|connection abort' ls "odd m"
check "umount of a dead mount" umount "odd m"
mount "odd m"
kill -KILL "$(serving "^rowfs $place/odd store")"
check "mount clears a dead mount" mount "odd m"
yields "which serves, and lies there once" 1 'entry "odd m" | wc -l' mkdir -p "odd m/again/f"
check "umount -a of the type" umount -a -t fuse.rowfs
check_eq "undoes all" "" "$(awk '$3 == "fuse.rowfs"' /proc/self/mounts)"
gone "odd m"
check "findmnt finds no error in the file" findmnt --verify --tab-file /etc/fstab

# ---- As another user ---------------------------------------------------------------------------

install -d -o $nobody -g $nobody users users/m
echo "$schema" >users/schema.json
cp "$BUILD/mkfs.rowfs" /usr/local/sbin
check "a user makes a store" user /usr/local/sbin/mkfs.rowfs --schema users/schema.json users/s
track_mount users/m
check "setuid=USER" mount -t fuse.rowfs -o "setuid=$(id -nu $nobody)" "$place/users/s" users/m
check "mounts as that user" has "user_id=$nobody" users/m
check "who writes" user mkdir -p users/m/t/row/f
fail_with "root cannot look inside" - 'Permission denied' ls users/m/t
check "root unmounts it" umount users/m
check "it ends" gone users/m

echo "$place/users/s $place/users/m fuse.rowfs noauto,user,umask=022 0 0" >/etc/fstab
check "a user mounts what fstab lets users mount" user mount "$place/users/m"
check "as the user" has "user_id=$nobody" users/m
check "without programs" has noexec users/m
check "and writes" user mkdir -p users/m/t/other/f
check "and unmounts it" user umount "$place/users/m"
check "it ends" gone users/m
check "what is not there, a user mounts as with rowfs itself" user mount -t fuse.rowfs "$place/users/s" "$place/users/m"
check "as the user" has "user_id=$nobody" users/m
check "and unmounts it" user fusermount3 -u "$place/users/m"
check "it ends" gone users/m
fail_with "a user does not mount what is root's" 1 'Permission denied' \
	user mount -t fuse.rowfs "$place/s" "$place/users/m"

# ---- Without privileges ------------------------------------------------------------------------

check "drop_privileges" mount -t fuse.rowfs -o drop_privileges,default_permissions,umask=027 s m
check_eq "serves" "two 640" "$(cat m/t/row/f/q) $(stat -c %a m/t/row/f/q)"
pid=$(serving "^rowfs $place/s /dev/fd/")
check_eq "three processes, without any privilege" "3 0000000000000000" \
	"$(for process in $(pgrep_here "^rowfs $place/s /dev/fd/"); do
		awk '/^CapEff/ { print $2 }' "/proc/$process/status"
	done | uniq -c | xargs)"
check "writes" sh -c 'echo three >m/t/row/f/q'
check "umount" umount m
check "ends it" within ended "$pid"
fail_with "with allow_other it wants the checks of default_permissions" 1 'default_permissions is needed' \
	mount -t fuse.rowfs -o drop_privileges,allow_other s m
check "the dead mount that mount.fuse3 leaves is cleared" mount -t fuse.rowfs s m
check_eq "by one that serves" three "$(cat m/t/row/f/q)"
leave "which is unmounted, and ends"

cd /
finish
