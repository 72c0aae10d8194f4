#!/bin/bash
# SPDX-License-Identifier: MIT
#
# The process behind a mount gains no privileges, and its log says which files it can reach. What it
# can open is the concern of tests/unit/test_sandbox.c.

# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
need_fuse

# landlock: does the kernel have it? Its version is asked for by the number of the call.
landlock() {
	python3 -c 'import ctypes, sys
sys.exit(ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), ctypes.c_uint32(1)) <= 0)'
}

make_store "$TMP/s" '{"version":1,"tables":{"t":{"families":{"f":{}}}}}'
mount_store "$TMP/s" "$TMP/m"
if landlock; then
	said="no new privileges; of all files Landlock leaves the store's in reach"
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

# ---- In a pid namespace of its own, it cannot tell the threads of who is outside apart.

if [ "$(id -u)" != 0 ]; then
	finish
	exit
fi
fail_with "nor there without a /proc of that namespace" 1 'another pid namespace' \
	unshare --pid --fork --kill-child "$BUILD/rowfs" "$TMP/s" "$TMP/m"
fail_with "or without any" 1 '/proc is missing' \
	unshare --mount sh -c 'mount -t tmpfs none /proc && exec "$@"' - "$BUILD/rowfs" "$TMP/s" "$TMP/m"
mount --bind "$TMP/m" "$TMP/m"
track_mount "$TMP/m"
mount --make-shared "$TMP/m"
# A /proc of its own, that only its mount namespace has; the mount is seen outside.
unshare --pid --fork --kill-child --mount --propagation unchanged sh -c '
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
check "it is unmounted" fusermount3 -u "$TMP/m"
wait
umount "$TMP/m"
finish
