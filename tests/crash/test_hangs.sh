#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Servers are killed while the kernel handles notices of theirs, N times as root and N times as an
# ordinary user (default: 5): no process of the server, and no client, hangs. Every other kill meets
# a server that hangs for ever without an abort (see hangs.py). Then the same where nothing aborts,
# since all processes of the mount were killed: the next program that starts on the store does.
#
#   tests/crash/test_hangs.sh [N [SEED]]

. "$(dirname "$0")/crash.sh"
[ "$(id -u)" = 0 ] || skip "only root can end what hangs"
own_mounts "$@"
need_fuse

kills=${1:-${ROWFS_ROUNDS:-5}}
seed=${2:-$RANDOM$RANDOM}
connections=/sys/fs/fuse/connections
nobody=65534

# An ordinary user can enter this place, which nobody else sees, and mount.
place=/mnt
mount -t tmpfs -o mode=755 none $place || die "root cannot mount here"
cd $place || exit 1
mkdir bin root user
chown "$nobody" user
find "$BUILD" -maxdepth 1 -type f -perm -100 -exec cp {} bin \;
cp "$CRASH_DIR/hangs.py" bin
chmod -R go+rX bin
mknod -m 666 fuse c 10 229
mount --bind fuse /dev/fuse || die "there is no /dev/fuse"
[ -d $connections ] || mount -t sysfs none /sys || die "there is no /sys"

# fusectl: the kernel's control files of connections are there; no_fusectl: they are not.
fusectl() {
	mount -t fusectl none $connections || die "fusectl cannot be mounted"
}
no_fusectl() {
	mount -t tmpfs none $connections || die "$connections cannot be hidden"
}

# by NAME: what follows is done by root or user, who has a store and a mountpoint.
by() {
	me=$1
	as=()
	[ "$me" = root ] || as=(env -i PATH="$PATH" LC_ALL=C.UTF-8 HOME="$place/user"
		${ASAN_OPTIONS+ASAN_OPTIONS="$ASAN_OPTIONS"} ${ROWFS_TEST_RUN+ROWFS_TEST_RUN="$ROWFS_TEST_RUN"}
		setpriv --reuid="$nobody" --regid="$nobody" --clear-groups --)
	s=$place/$me/s
	m=$place/$me/m
}

# ended_all PID: with all threads; a killed process whose first thread has ended is none of lib_alive.
ended_all() {
	local threads=("/proc/$1/task/"*)
	((${#threads[@]} == 1)) && ended "$1"
}

# hangs PID: killed, but a thread is left.
hangs() {
	ended "$1" && ! ended_all "$1"
}

# start OPTION…: mounts in the background; server is its pid.
start() {
	check "$what: a mount" "${as[@]}" bin/rowfs "$@" "$s" "$m"
	find_server
}

# find_server: server is the pid of the mount's server.
find_server() {
	server=$(bin/rowfs --status | awk -F '\t' -v place="$m" '$2 == place { print $3 }')
	[ -n "$server" ] || die "$what: no server"
}

# load NUMBER running|waiting: hangs.py; clients is its pid.
load_notices() {
	"${as[@]}" "$python" -S bin/hangs.py "$m" "$server" $((seed + $1)) "$2" &
	clients=$!
}

# all_ended: the server and its clients have; else root ends them.
all_ended() {
	within ended_all "$server" && within ended_all "$clients" && return
	umount -f "$m" 2>/dev/null # busy, but aborted
	return 1
}

# leave: the dead mount goes.
leave() {
	wait "$clients"
	check_eq "$what: the load did its part" 0 $?
	check "$what: a dead mount goes" "${as[@]}" fusermount3 -u "$m"
}

# ---- The mounter aborts --------------------------------------------------------------------------

# kill_often: N kills.
kill_often() {
	local number when
	for ((number = 1; number <= kills; number++)); do
		what="kill $number by $me (seed $seed)"
		when=running
		((number % 2 == 0)) || when=waiting
		start
		load_notices $number $when
		check "$what: nothing hangs" all_ended
		((FAILED == 0)) || return
		leave
	done
}

for who in root user; do
	by $who
	mkdir "$m"
	[ $who = root ] || chown "$nobody" "$m"
	printf '{"tables":{"t":{"delimiter":"#","families":{"f":{}}}}}' >schema
	check "$who has a store" "${as[@]}" bin/mkfs.rowfs --schema schema "$s"
	track_mount "$m"
done

by root
no_fusectl
kill_often
fusectl
((FAILED == 0)) || finish
what="in the foreground"
bin/rowfs -f "$s" "$m" 2>log &
server=$!
within lib_mounted "$m"
load_notices 0 waiting
check "$what: nothing hangs" all_ended
leave

what=auto_unmount
start -o auto_unmount
load_notices 0 waiting
check "$what: nothing hangs" all_ended
check "$what: it is unmounted" within not_mounted "$m"

what=drop_privileges
PATH=$place/bin:$PATH check "$what: a mount" mount.fuse3 "$s" "$m" -t fuse.rowfs -o "drop_privileges,fsname=$s"
find_server
load_notices 0 waiting
check "$what: nothing hangs" all_ended
leave

by user
kill_often
((FAILED == 0)) || finish

# ---- The next start aborts -----------------------------------------------------------------------

# all_killed: a mount hangs, and its mounter was killed.
all_killed() {
	start
	kill -KILL "$(pgrep -P "$server" -x rowfs-mounter)"
	load_notices 0 waiting
	check "$what: it hangs without its mounter" within hangs "$server"
}

# next_start PROGRAM ARGUMENT…: starts on the store.
next_start() {
	what="$1 by $me"
	all_killed
	check "$what: it starts" "${as[@]}" "bin/$1" "${@:2}" </dev/null
	check "$what: nothing hangs then" all_ended
}

next_start fsck.rowfs -n "$s"
leave
next_start rowfs-dump "$s"
leave
next_start rowfs-load "$s"
leave
next_start rowfs-advise "$s"
leave
next_start mkfs.rowfs --force --schema schema "$s"
leave
next_start rowfs "$s" "$m"
check "$what: it serves" "${as[@]}" test -d "$m/t"
check "$what: and ends" "${as[@]}" fusermount3 -u "$m"

by root
no_fusectl
next_start fsck.rowfs -n "$s"
leave
what="another store in its place"
check "$what: is made" bin/mkfs.rowfs --schema schema $place/root/other
all_killed
check "$what: it starts" bin/rowfs $place/root/other "$m"
check "$what: nothing hangs then" all_ended
check "$what: it serves" test -d "$m/t"
check "$what: and ends" fusermount3 -u "$m"

by user
what="a user without fusectl"
all_killed
for program in "fsck.rowfs -n $s" "rowfs-dump $s" "rowfs $s $m"; do
	read -ra words <<<"$program"
	fail_with "$what: ${words[0]} names the command for root" - \
		"$s: process $server was killed, and hangs in its mount; as root: umount -f $m\$" \
		"${as[@]}" "bin/${words[0]}" "${words[@]:1}"
done
check_eq "$what: --status tells" "$s	$m	dead" "$(bin/rowfs --status | grep -F "$s	")"
umount -f "$m" 2>/dev/null # busy, but aborted
check "$what: which ends it" all_ended
leave
finish
