#!/bin/bash
# SPDX-License-Identifier: MIT
#
# An ordinary user mounts through fusermount3: the permissions to look inside and to unmount, and
# other tests run again by that user. Root becomes one for it, in a mount namespace of its own, so
# that its preparations (a /dev/fuse for everybody, a directory that the user can enter) are nowhere
# else.
#
#   USER_TESTS   which tests to run again (default: those that check most in little time; with ROWFS_FULL more)

. "$(dirname "$0")/lib.sh"
FINAL=permission
own_mounts

USER_TESTS=${USER_TESTS:-test_directories.sh test_tools.sh test_threads.sh $(rounds "" test_drafts.sh)}
uid=$(id -u)
# The capabilities that the unit for systemd leaves, as setpriv has them.
bounded=-all$(sed -n 's/^CapabilityBoundingSet=//p' "$LIB_DIR/../../contrib/rowfs@.service" |
	sed 's/\(^\| \)CAP_/,+/g' | tr '[:upper:]' '[:lower:]')
place=$TMP
cd "$place" || exit 1

# user COMMAND…: as the ordinary user, with nothing of root's environment.
user() {
	if ((uid == $(id -u))); then
		"$@"
	else
		env -i PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin LC_ALL=C.UTF-8 TZ=UTC0 \
			HOME="$place" TMPDIR="$place" BUILD="$BUILD" ${CI+CI="$CI"} \
			${ROWFS_TEST_RUN+ROWFS_TEST_RUN="$ROWFS_TEST_RUN"} ${ROWFS_FULL+ROWFS_FULL="$ROWFS_FULL"} \
			${ASAN_OPTIONS+ASAN_OPTIONS="$ASAN_OPTIONS"} \
			setpriv --reuid="$uid" --regid="$uid" --clear-groups -- "$@"
	fi
}

# become_user: prepares /mnt, where the user has the programs and the tests.
become_user() {
	uid=$((1000000 + $$)) # of this test alone: the limit of its processes counts those of all others
	mkdir "$TMP/root"
	mount -t tmpfs -o mode=755 none "$TMP/root" || die "root cannot mount here"
	mknod -m 666 "$TMP/root/fuse" c 10 229
	: >"$TMP/root/fuse.conf"
	{
		cat /etc/passwd
		echo "rowfs-test:x:$uid:$uid::/mnt/home:/bin/sh" # fusermount3 wants a name
	} >"$TMP/root/passwd"
	mkdir "$TMP/root/bin"
	cp -r "$LIB_DIR" "$TMP/root/e2e"
	find "$BUILD" -maxdepth 1 -type f -perm -100 -exec cp {} "$TMP/root/bin" \;
	install -d -o "$uid" -g "$uid" "$TMP/root/home"
	mount --bind "$TMP/root/fuse" /dev/fuse
	mount --bind "$TMP/root/passwd" /etc/passwd
	[ ! -e /etc/fuse.conf ] || mount --bind "$TMP/root/fuse.conf" /etc/fuse.conf
	mount --bind "$TMP/root" /mnt || die "there is no /mnt"
	BUILD=/mnt/bin
	LIB_DIR=/mnt/e2e
	place=/mnt/home
	cd "$place" || die "$place cannot be entered"
}

need_fuse
((uid != 0)) || become_user
s=$place/s
m=$place/m
user mkdir "$m" "$place/n"
track_mount "$m"

# ---- One mount ---------------------------------------------------------------------------------

echo '{"version":1,"tables":{"t":{"families":{"f":{}}}}}' >"$TMP/schema"
check "a user makes a store" user "$BUILD/mkfs.rowfs" --schema /dev/stdin "$s" <"$TMP/schema"
check_eq "all of which is the user's" "$uid" "$(find "$s" -printf '%U\n' | sort -u)"
check "and mounts it" user "$BUILD/rowfs" "$s" "$m"
mount=$(grep -F " $m fuse.rowfs " /proc/self/mounts)
check_eq "it is the user's mount" "user_id=$uid" "$(grep -o 'user_id=[0-9]*' <<<"$mount")"
check_eq "without set-user-ID programs and devices" "nodev nosuid" \
	"$(cut -d ' ' -f 4 <<<"$mount" | tr , '\n' | grep -xE 'nosuid|nodev' | sort | paste -sd ' ')"
server=$(serving "^$BUILD/rowfs $s $m\$")
check "the process that serves gains no privileges" \
	grep -q '^NoNewPrivs:[[:space:]]*1$' "/proc/${server:-none}/status"
check "rows are made" user mkdir -p "$m/t/a/b/f"
check "and written" user sh -c 'echo one >"$0" && echo two >>"$0"' "$m/t/a/b/f/q"
check_eq "and read" $'one\ntwo' "$(user cat "$m/t/a/b/f/q")"
check_eq "everything is the user's" "$uid" \
	"$(user find "$m" "$m/.versions" "$m/.rowfs" -printf '%U\n' | sort -u)"
check "chmod and chown to oneself are accepted" user sh -c 'chmod 600 "$0" && chown "$(id -u)" "$0"' \
	"$m/t/a/b/f/q"
fail_with "devices are refused" - 'not permitted' user mknod "$m/t/a/b/f/null" c 1 3
fail_with "the store is in use" 1 'in use' user "$BUILD/rowfs" "$s" "$m/t"
fail_with "allow_other is for those whom /etc/fuse.conf allows it" 1 user_allow_other \
	user sh -c '"$0/mkfs.rowfs" other && "$0/rowfs" -o allow_other other n' "$BUILD"

# as_root: checks that only root can make.
as_root() {
	fail_with "root cannot look inside" - 'Permission denied' ls "$m"
	fail_with "nor read" - 'Permission denied' cat "$m/t/a/b/f/q"
	check_eq "but --status tells root which version serves" "$("$BUILD/rowfs" --version)" \
		"rowfs $("$BUILD/rowfs" --status | awk -F '\t' -v place="$m" '$2 == place { print $4 }')"
	fail_with "nor can another user" - 'Permission denied' \
		setpriv --reuid=1 --regid=1 --clear-groups ls "$m"
	fail_with "who cannot unmount it, either" - 'not permitted|only root|not found|Permission' \
		setpriv --reuid=1 --regid=1 --clear-groups fusermount3 -u "$m"
	check_eq "it is still there" $'one\ntwo' "$(user cat "$m/t/a/b/f/q")"
	mkdir -m 700 "$place/roots"
	make_store "$place/roots/s"
	fail_with "a store of root's is closed to the user" 1 'Permission denied' \
		user "$BUILD/rowfs" "$place/roots/s" "$place/n"
	chmod 755 "$place/roots"
	fail_with "also where it can be seen" 1 'Permission denied' \
		user "$BUILD/rowfs" "$place/roots/s" "$place/n"
	mkdir "$place/roots/m"
	fail_with "a mountpoint of root's, too" 1 'no write access|[Pp]ermission' \
		user "$BUILD/rowfs" other roots/m
}
(($(id -u) != 0)) || as_root

yields "the user unmounts it: it is unmounted" "" 'grep -F " $m " /proc/self/mounts' user fusermount3 -u "$m"
yields "mounts it again with what was written" $'one\ntwo' 'user cat "$m/t/a/b/f/q"' user "$BUILD/rowfs" "$s" "$m"
check "and unmounts it" user fusermount3 -u "$m"

user mkdir -p "$place/up/m"
track_mount "$place/down/m"
check "a mount in a directory" user "$BUILD/rowfs" "$s" "$place/up/m"
user mv "$place/up" "$place/down"
check "that is renamed" lib_mounted "$place/down/m"
server=$(serving "^$BUILD/rowfs $s $place/up/m\$")
kill -TERM "$server"
check "ends" within ended "$server"
check "and is unmounted where it is" not_mounted "$place/down/m"

# ---- A store that root uses, too -----------------------------------------------------------------

# all_theirs AFTER: every file of the user's stores and quarantines is still the user's.
all_theirs() {
	check_eq "root's $1 leaves no file of root's" "$uid:$uid" "$(find r r.* -printf '%U:%G\n' 2>"$TMP/said" | sort -u)"
}

# refused RESULT CALL…: a system call of the server fails so, made as by an attacker's code in it.
refused() {
	check_eq "inside, ${*:2}" "$1" "$("$LIB_DIR/inside.py" "$server" "${@:2}" 2>&1)"
}

# inside: an attacker in the server makes a set-user-ID program of root's in the user's store. Each step fails by itself.
inside() {
	local call words steps
	cp /usr/bin/id roots/elf
	for call in "chmod roots/elf 0o4755" "fchmodat -100 roots/elf 0o4755" "fchmodat2 -100 roots/elf 0o4755 0" \
		"setxattr roots/elf user.a a 1 0" "setxattrat -100 roots/elf 0 user.a 0 0" "removexattrat -100 roots/elf 0 user.a" \
		"file_setattr -100 roots/elf 0 0 0" "truncate roots/elf 0" "setfsuid 0" "setresuid 0 0 0" "unshare 0x10000000" \
		"io_uring_setup 1 0" "execve /bin/sh 0 0" "fork" "kill $$ 0" "socket 1 2 0"; do
		read -ra words <<<"${call//roots/$place/roots}"
		refused ENOSYS "${words[@]}"
	done
	for call in "openat -100 $place/r/elf 0x41 0o4755" "openat -100 $place/r/elf 0x41 0o2755" "clone 0x10000011 0 0 0 0" \
		"prlimit64 $$ 7 0 0" "fcntl 0 8 $$" "fcntl 0 10 9"; do
		read -ra words <<<"$call"
		refused EPERM "${words[@]}"
	done
	steps=$("$LIB_DIR/inside.py" "$server" setfsuid 0 -- openat -100 "$place/r/elf" 0x41 0o755 -- write PREV x 1 -- fchmod PREV 0o4755)
	check_eq "inside, a program can be written, and not get the mode" "ENOSYS 1 ENOSYS" \
		"$(cut -d ' ' -f 1,3,4 <<<"${steps//$'\n'/ }")"
	check_eq "it is the owner's, without the mode" "$uid:$uid 755" "$(stat -c '%u:%g %a' r/elf)"
	"$LIB_DIR/inside.py" "$server" close "$(sed -n 2p <<<"$steps")" >/dev/null
	cat /usr/bin/id >r/elf
	chmod 4755 r/elf
	check_eq "had it the mode, it would run as the user" "$uid" "$(user r/elf -u)"
	rm r/elf roots/elf
}

# served: root's server of the user's store is that user, and shows what root's would.
served() {
	server=$(serving "^$BUILD/rowfs r roots/m\$")
	check_eq "the server is the user" "$(printf '%s\t%s\t%s\t%s\t%s' Uid: "$uid" "$uid" "$uid" "$uid")" \
		"$(grep ^Uid: "/proc/$server/status")"
	check_eq "and in the store's group alone" "$uid $uid $uid $uid " \
		"$(awk '/^Gid:/ { print $2, $3, $4, $5 } /^Groups:/ { print $2 }' ORS=' ' "/proc/$server/status" | sed 's/ $//')"
	check_eq "without a capability" 0000000000000000 "$(awk '/^CapPrm:/ { print $2 }' "/proc/$server/status")"
	check_eq "the mount is root's" "0:0 755,0:0 755,0:0 644,0:0 600," \
		"$(stat -c '%u:%g %a' roots/m roots/m/t/row roots/m/t/row/1/f/q roots/m/.rowfs/errors | tr '\n' ,)"
	fail_with "the user cannot trace the server" 1 'not permitted' user "$LIB_DIR/inside.py" "$server" geteuid
	fail_with "nor see its memory" - 'Permission denied' user cat "/proc/$server/mem"
	fail_with "nor use the mount" - 'Permission denied' user ls roots/m
	# A sanitizer makes more calls.
	if [ "$(uname -m)" = x86_64 ] && ! grep -qE '__(a|t)san_init' "$BUILD/rowfs"; then
		inside
	fi
}

# root_uses: root's programs on the user's store r.
root_uses() {
	local table
	echo '{"table":"t"}' >"$TMP/rows"
	for ((i = 0; i < 500; i++)); do
		echo '{"key":"row#'$i'","families":{"f":{"q":[{"ts":1,"value":"'$i'"}]}}}'
	done >>"$TMP/rows"
	check "root loads into a user's store" "$BUILD/rowfs-load" r "$TMP/rows"
	all_theirs load
	check "and mounts it" setpriv --groups=0,4 "$BUILD/rowfs" r roots/m
	served
	check "writes" sh -c 'head -c 3000000 /dev/zero >roots/m/t/row/1/f/q && echo run >roots/m/.rowfs/gc'
	all_theirs mount
	check "and unmounts it" fusermount3 -u roots/m
	check "mounts it with the unit's capabilities" setpriv --inh-caps=-all --no-new-privs --bounding-set "$bounded" \
		"$BUILD/rowfs" r roots/m
	server=$(serving "^$BUILD/rowfs r roots/m\$")
	check "the user may end it" user kill "$server"
	check "which it does" within ended "$server"
	check "and unmounts it" not_mounted "$place/roots/m"
	check "dumps it" "$BUILD/rowfs-dump" r
	all_theirs dump
	check "looks for advice" "$BUILD/rowfs-advise" r
	check "asks for a path" "$BUILD/rowfs-path" --store r t a
	all_theirs look
	check "checks it" "$BUILD/fsck.rowfs" -y r
	table=$(find r/data -name '*.ldb' -size +1k | head -n 1)
	printf garbage | dd of="$table" bs=1 seek=200 conv=notrunc status=none
	"$BUILD/fsck.rowfs" -y r >"$TMP/said"
	check_eq "and repairs it" 1 $?
	check "with a quarantine" grep -q 'r: quarantine: ' "$TMP/said"
	all_theirs repair
	check "the user can use it" user "$BUILD/rowfs-load" r <"$TMP/rows"
	check "root makes it anew" "$BUILD/mkfs.rowfs" --force --schema "$TMP/schema" r
	all_theirs mkfs.rowfs
	check "and the user can use that" user "$BUILD/rowfs-load" r <"$TMP/rows"
}

# barred PATTERN…: root's own file in the user's store is no damage, and each program says whose it is.
barred() {
	local pattern file command words
	for pattern; do
		file=$(compgen -G "$pattern" | head -n 1)
		chown 0:0 "$file"
		chmod go-rwx "$file"
		words=": $place/$file: Permission denied: it belongs to root, and this is user $uid; as root: chown -R $uid $place/r\$"
		for command in "rowfs r n" "rowfs-dump r" "rowfs-load r rows" "rowfs-advise r" "rowfs-path --store r t a" \
			"fsck.rowfs -n r" "fsck.rowfs -y r"; do
			read -ra command <<<"$command"
			# shellcheck disable=SC2128 # its first word
			fail_with "root's $file: ${command[*]}" "$([ "$command" = fsck.rowfs ] && echo 8 || echo 1)" \
				"$words" user "$BUILD/${command[0]}" "${command[@]:1}"
		done
		fail_with "root's $file: root's server, which is the user" 1 "$words" "$BUILD/rowfs" r roots/m
		check "root's $file: root can read all" "$BUILD/rowfs-dump" r
		chown -R "$uid:$uid" r
	done
}
if (($(id -u) == 0)); then
	user "$BUILD/mkfs.rowfs" --schema /dev/stdin r <"$TMP/schema"
	root_uses
	install -o "$uid" "$TMP/rows" rows
	barred r/ROWFS r/LOCK r/TABLES r/data r/data/CURRENT 'r/data/MANIFEST*' 'r/data/*.ldb'
	check "after the chown" user "$BUILD/rowfs-load" r rows
	chown -R 0:0 r
	chmod 755 r
	fail_with "a store of root's, as a whole" 1 "it belongs to root, and this is user $uid; as root: chown -R $uid $place/r\$" \
		user "$BUILD/rowfs-dump" r
	chown -R "$uid:$uid" r
	install -m 600 rows roots/secret
	mv r/TABLES tables
	ln roots/secret r/TABLES # as the user could, where fs.protected_hardlinks is 0
	fail_with "no recipe gives away another file of root's" 1 \
		": $place/r/TABLES: Permission denied: it belongs to user 0, and has other names [(]hard links[)]; remove it" "$BUILD/rowfs" r roots/m
	mv tables r/TABLES
	install -d -m 700 closed
	cp -a r closed/r
	fail_with "root's server of a store that its owner cannot reach" 1 \
		"^rowfs: $place/closed/r: user $uid, who owns it .* may not enter a directory above it: Permission denied\$" \
		"$BUILD/rowfs" closed/r roots/m
	rm -r closed
fi

# ---- The connector, which opens syslog for a mount in the background -----------------------------

# syslog TYPE: receives messages of that type of socket at /dev/log, and writes them to a file.
syslog() {
	rm -f /dev/log
	: >"$TMP/syslog"
	"$python" -u -c '
import socket, sys
log = socket.socket(socket.AF_UNIX, getattr(socket, "SOCK_" + sys.argv[1]))
log.bind("/dev/log")
if log.type == socket.SOCK_STREAM:
    log.listen()
    log, _ = log.accept()
with open(sys.argv[2], "ab", 0) as to:
    while message := log.recv(9000):
        to.write(message.replace(b"\0", b"\n") if sys.argv[1] == "STREAM" else message + b"\n")' "$1" "$TMP/syslog" &
	syslogd=$!
	track_pid "$syslogd"
	within grep -q " /dev/log$" /proc/net/unix
}

# logged LEVEL TEXT: syslog has the server's message, in the form of RFC 3164; 3 is the facility daemon.
logged() {
	check "syslog has: $2" within grep -qaE "^<$((3 * 8 + $1))>[A-Z][a-z]{2} [ 1-3][0-9] [0-9:]{8} rowfs\\[$server\\]: .*$2" "$TMP/syslog"
}

logs() {
	local type
	mkdir "$TMP/root/dev"
	mknod -m 666 "$TMP/root/dev/null" c 1 3
	mknod -m 666 "$TMP/root/dev/fuse" c 10 229
	ln -s /proc/self/fd "$TMP/root/dev/fd"
	mkdir "$TMP/root/dev/shm" # where TMPDIR may be
	mount --rbind /dev/shm "$TMP/root/dev/shm"
	mount --rbind "$TMP/root/dev" /dev
	make_store logs '{"version":1,"tables":{"t":{"families":{"f":{}}}}}'
	syslog DGRAM
	check "root mounts in the background" "$BUILD/rowfs" logs roots/m
	server=$(serving "^$BUILD/rowfs logs roots/m\$")
	logged 6 'no new privileges'
	mkdir -p roots/m/t/r/f
	# Each syslog is another one, to which the connection is made anew.
	for type in DGRAM STREAM; do
		kill "$syslogd"
		wait "$syslogd" 2>/dev/null
		syslog "$type"
		truncate -s 11000000 roots/m/t/r/f/large
		logged 4 11000000
		rm roots/m/t/r/f/large
	done
	connector=$(pgrep_here "^$BUILD/rowfs logs roots/m\$" | while read -r pid; do
		! grep -qx rowfs-connector "/proc/$pid/comm" || echo "$pid"
	done)
	check_eq "the connector has one file of its own" "socket" \
		"$(find "/proc/$connector/fd" -mindepth 1 -printf '%f %l\n' | awk '$1 > 2 { sub(/:.*/, "", $2); print $2 }')"
	check_eq "and no capability" 0000000000000000 "$(awk '/^CapPrm:/ { print $2 }' "/proc/$connector/status")"
	kill -KILL "$connector"
	within ended "$connector"
	truncate -s 11000000 roots/m/t/r/f/large
	check "the mount goes on without it" test -s roots/m/t/r/f/large
	check "and ends" fusermount3 -u roots/m
	check "with its server" within ended "$server"
	umount -l /dev
}
((uid == $(id -u))) || logs

# ---- Mounts whose server was killed --------------------------------------------------------------

# kill_server: the process that serves the user's mount, with -9; and waits for its end.
kill_server() {
	local pid
	for pid in $(serving "^$BUILD/rowfs .*$s $m\$"); do
		kill -KILL "$pid"
		within ended "$pid"
	done
}

user "$BUILD/rowfs" "$s" "$m"
kill_server
fail_with "killed, it leaves a dead mount" - 'not connected|connection abort' user ls "$m"
user "$BUILD/rowfs" "$s" "$m" 2>"$TMP/said"
check_eq "the user's next start clears it" "rowfs: $m: cleared a dead mount of $s" "$(cat "$TMP/said")"
check_eq "with what was written" $'one\ntwo' "$(user cat "$m/t/a/b/f/q")"
check_eq "there is one mount" 1 "$(lib_mount_table | grep -cxF "$m")"
kill_server
if (($(id -u) == 0)); then
	install -d -o 1 -g 1 "$place/theirs"
	fail_with "another user's start does not clear it" 1 'by another user' \
		setpriv --reuid=1 --regid=1 --clear-groups "$BUILD/rowfs" "$place/theirs" "$m"
	check "it is still there" lib_mounted "$m"
	make_store "$TMP/roots"
	fail_with "nor does root's, who cannot tell whether it is dead" 1 \
		"^rowfs: $m: is a mount of $s by another user; umount unmounts it, as root\$" \
		"$BUILD/rowfs" "$TMP/roots" "$m"
	check "which it does" umount "$m"
else
	fusermount3 -u "$m"
fi
check "auto_unmount" user "$BUILD/rowfs" -o auto_unmount "$s" "$m"
kill_server
check "clears it at once" within not_mounted "$m"
check "so that it is a directory again" user rmdir "$m"
user mkdir "$m"

# ---- Other tests -------------------------------------------------------------------------------

if (($(id -u) == 0)); then
	for name in $USER_TESTS; do
		status=0
		user "$LIB_DIR/$name" >"$TMP/other" 2>&1 || status=$?
		check_eq "$name" "exit 0: " "exit $status: $(grep -v '^ok ' "$TMP/other" | head -n 5)"
		check "$name has made checks" grep -q '^ok ' "$TMP/other"
	done
fi

finish
