#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The process behind a mount gains no privileges, and its log says which files it can reach.
# tests/unit/test_sandbox.c checks the files that it can open.

. "$(dirname "$0")/lib.sh"
FINAL=permission
need_fuse

# landlock: does the kernel have it? Its version is asked for by the number of the call.
landlock() {
	"$python" -S -c 'import ctypes, sys
sys.exit(ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), ctypes.c_uint32(1)) <= 0)'
}

make_store "$TMP/s" '{"version":1,"tables":{"t":{"families":{"f":{}}}}}'
mount_store "$TMP/s" "$TMP/m"
if landlock; then
	said="no new privileges; Landlock allows access to the store's files only"
else
	said="no new privileges; all files are in reach: the kernel has no Landlock"
fi
check "the log says which files are in reach" grep -qF "$said" "$(mount_log "$TMP/m")"
for status in "/proc/$(mount_pid "$TMP/m")/task"/*/status; do
	check_eq "no new privileges in any thread" 1 "$(awk '/^NoNewPrivs/ { print $2 }' "$status")"
done
check "large values find their files" bash -c "mkdir -p '$TMP/m/t/r/f' &&
	head -c 3000000 /dev/zero >'$TMP/m/t/r/f/q' && cmp -n 3000000 '$TMP/m/t/r/f/q' /dev/zero"
echo value >"$TMP/m/t/r/f/p"
unmount_store "$TMP/m"

# On a mount without devices nobody opens /dev/null.
check "it mounts where /dev/null cannot be opened" "$LIB_DIR/own_mounts.sh" sh -c '
	mount --bind /dev/null /dev/null && mount -o remount,bind,nodev /dev/null &&
	! cat /dev/null 2>&- && "$@" <&- >&- 2>&- && [ -d "$3/t" ] && umount "$3"' - \
	"$BUILD/rowfs" "$TMP/s" "$TMP/m"

# ---- Links that the owner of a store puts into it after the check ---------------------------------

# plant: makes the next files of the engine's links to another file.
plant() {
	local last
	last=$(find "$TMP/s/data" -name '0*' -printf '%f\n' | sort -n | tail -n 1)
	last=$((10#${last%%.*}))
	for ((i = last + 1; i < last + 20; i++)); do
		ln -s "$TMP/theirs" "$TMP/s/data/$(printf %06d "$i").log"
		ln -s "$TMP/theirs" "$TMP/s/data/$(printf %06d "$i").ldb"
	done
}
unplant() {
	find "$TMP/s/data" -type l -delete
}
# rows: more than the engine keeps in memory.
rows() {
	"$python" -S -c 'for i in range(400):
    print("""{"key":"r%d","families":{"f":{"q":"%s"}}}""" % (i, "%d" % (i * 7919 % 1000) * 30000))'
}
if landlock; then
	echo precious >"$TMP/theirs"
	mkfifo "$TMP/in"
	"$BUILD/rowfs-load" "$TMP/s" <"$TMP/in" >"$TMP/out" 2>&1 &
	pid=$!
	track_pid "$pid"
	exec 7>"$TMP/in"
	echo '{"table":"t"}' >&7
	opens_store "$pid"
	within grep -q pipe "/proc/$pid/wchan" || not_ok "rowfs-load waits for rows" "it does not"
	plant
	rows >&7 2>/dev/null
	exec 7>&-
	wait "$pid"
	check_eq "a link in the store does not lead rowfs-load out of it" precious "$(cat "$TMP/theirs")"
	unplant
	mount_store "$TMP/s" "$TMP/m"
	plant
	rows 2>/dev/null >"$TMP/m/t/.rows"
	check_eq "nor a mount" precious "$(cat "$TMP/theirs")"
	unmount_store "$TMP/m"
	unplant
fi

# An export is anybody's.
mkfifo "$TMP/export"
"$BUILD/rowfs-advise" --table t "$TMP/export" >"$TMP/out" 2>&1 &
pid=$!
track_pid "$pid"
exec 7>"$TMP/export"
check "rowfs-advise gives up its rights before it reads an export" within grep -q '^NoNewPrivs:.1' "/proc/$pid/status"
echo '{"key":"k","families":{"f":{"q":"v"}}}' >&7
exec 7>&-
wait "$pid"
check_eq "and reads it" "0 1 row" "$? $(grep -oE '[0-9]+ rows?' "$TMP/out" | head -n 1)"

# Without Landlock nothing holds links back.
without=$LIB_DIR/no_landlock.py
if [ "$(id -u)" = 0 ]; then
	mkdir "$TMP/theirs.d"
	chown 1 "$TMP/s" "$TMP/theirs.d"
	for command in "rowfs-load $TMP/s" "rowfs-dump $TMP/s" "mkfs.rowfs $TMP/theirs.d/new" "fsck.rowfs -n $TMP/s"; do
		read -ra words <<<"$command"
		status=1
		[[ $command == fsck* ]] && status=8
		fail_with "without Landlock root's ${words[0]} leaves another user's store alone" "$status" \
			'belongs to another user, .*; --foreign uses it all the same' \
			"$without" "$BUILD/${words[0]}" "${words[@]:1}" </dev/null
		check "but for --foreign" "$without" "$BUILD/${words[0]}" --foreign "${words[@]:1}" </dev/null
	done
	check_eq "nothing was made when it refused" "new" "$(ls -A "$TMP/theirs.d")"
	chown 0 "$TMP/s"
	chown 1 "$TMP/s/data"
	fail_with "nor does it use another user's data/" 1 'belongs to another user, ' \
		"$without" "$BUILD/rowfs-dump" "$TMP/s"
	chown 0 "$TMP/s/data"
fi

# ---- In a pid namespace of its own, it cannot tell outside threads apart.

if [ "$(id -u)" != 0 ]; then
	finish
	exit
fi
fail_with "nor there without a /proc of that namespace" 1 'another pid namespace' \
	unshare --pid --fork --kill-child "$BUILD/rowfs" "$TMP/s" "$TMP/m"
fail_with "or without any" 1 '/proc is missing' \
	"$LIB_DIR/own_mounts.sh" sh -c 'mount -t tmpfs none /proc && exec "$@"' - "$BUILD/rowfs" "$TMP/s" "$TMP/m"
mount --bind "$TMP/m" "$TMP/m"
track_mount "$TMP/m"
mount --make-shared "$TMP/m"
# A /proc of its own, that only its mount namespace has; the mount is seen outside.
unshare --pid --fork --kill-child --mount --propagation=unchanged sh -c '
	mount --make-private /proc && mount -t proc proc /proc && exec "$@"' - \
	"$BUILD/rowfs" -f "$TMP/s" "$TMP/m" </dev/null >"$TMP/log" 2>&1 &
track_pid $!
track_mount "$TMP/m"
check "a server in another pid namespace" within test -d "$TMP/m/t"
check_eq "it can be read from outside" value "$(cat "$TMP/m/t/r/f/p")"
check "by several at once" bash -c "for i in {1..50}; do cat '$TMP/m/t/r/f/p' & done | sort -u | diff - <(echo value)"
fail_with "what is there cannot be written" 1 'not permitted' cp /etc/hostname "$TMP/m/t/r/f/p"
fail_with "and nothing be made" 1 'not permitted' cp /etc/hostname "$TMP/m/t/r/f/new"
fail_with "nor be cut" 1 'not permitted' truncate -s 2 "$TMP/m/t/r/f/p"
check "with a reason" grep -q 'pid namespace' "$TMP/m/.rowfs/errors"
check "rows can be" bash -c "echo '{\"families\":{\"f\":{\"p\":\"row\"}}}' >'$TMP/m/t/r/.row'"
check_eq "and are read" row "$(cat "$TMP/m/t/r/f/p")"
check "and removed" rm "$TMP/m/t/r/f/p"
check "it is unmounted" within fusermount3 -u "$TMP/m"
wait
umount "$TMP/m"
finish
