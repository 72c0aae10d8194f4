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
unmount_store "$TMP/m"
finish
