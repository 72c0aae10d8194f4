#!/bin/bash
# SPDX-License-Identifier: MIT
#
# A disk that fails under a mount: writers get an error, nothing is written afterwards, reading goes
# on, the log says so, and another mount has all acknowledged writes. A few chosen calls fail here;
# tests/unit/test_store_faults.c fails every one.

. "$(dirname "$0")/crash.sh"
need_fuse

store=$TMP/store
control=$TMP/control
export ACKNOWLEDGED=$TMP/acknowledged
# The sanitizers' library wants to come first, and need not.
FAULTY=(env "LD_PRELOAD=$BUILD/crash/fault.so" "ROWFS_FAULT=$control"
	"ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0")

fault() {
	"$python" -S "$CRASH_DIR/fault.py" "$@"
}

# mount_faulty: mounts with a disk that can fail.
mount_faulty() {
	local build=$BUILD
	mkdir -p "$TMP/faulty"
	printf '#!/bin/sh\nexec %s "$@"\n' "$(printf '%q ' "${FAULTY[@]}" "$BUILD/rowfs")" \
		>"$TMP/faulty/rowfs"
	chmod +x "$TMP/faulty/rowfs"
	BUILD=$TMP/faulty
	mount_store "$store" "$m"
	BUILD=$build
}

# check_read_only NAME
check_read_only() {
	fail_with "$1: nothing is written afterwards" 1 'Read-only file system' \
		mkdir "$m/new"
	fail_with "$1: nothing is removed" 1 'Read-only file system' rm "$m/t/files/0/f/q"
	fail_with "$1: no cell is written" 1 'Read-only file system' full again "$m" 10
	fail_with "$1: fsync says so, too" 1 'Read-only file system' sync_mount "$m/t"
	check "$1: the log says so" grep -q 'read-only until it is opened again' "$(mount_log "$m")"
	check "$1: reading goes on" full verify "$m"
}

# check_anew NAME
check_anew() {
	mount_store "$store" "$m"
	check "$1: another mount has what was acknowledged" full verify "$m"
	check "$1: and takes more" full again "$m" 1000
	unmount_store "$m"
	check_fsck "$store"
}

# fail_call N ERROR SIZE: the N-th call from now on, under writes of cells of that size.
fail_call() {
	local name="$2 at call $1, cells of $3 bytes"
	mount_faulty
	check "$name: before it all is well" eval "fault arm '$control' $1 $2"
	check "$name: who writes is told" full files "$m" "$3" "$2" EROFS
	check "$name: it was that call" fault fired "$control"
	fault disarm "$control"
	check_read_only "$name"
	unmount_store "$m"
	check_anew "$name"
}

# fail_mount N: the N-th call of a mount that starts fails, for good.
fail_mount() {
	local name="mounting, EIO from call $1 on" status=0
	fault arm "$control" "$1" EIO stays
	"${FAULTY[@]}" "$BUILD/rowfs" "$store" "$m" >"$TMP/mount.out" 2>&1 || status=$?
	check "$name: it was that call" fault fired "$control"
	if ((status == 0)); then
		track_mount "$m"
		check "$name: reading goes on" full verify "$m"
		unmount_store "$m"
	else
		check_eq "$name: it is refused" 1 "$status"
		check "$name: with a reason" grep -q '^rowfs: .*: .*error' "$TMP/mount.out"
	fi
	fault disarm "$control"
	check_anew "$name"
}

make_store "$store" '{"version":1,"tables":{"t":{"families":{"f":{}}}}}'
fault make "$control" "$store/data"
: >"$ACKNOWLEDGED"

fail_call 40 EIO 100
fail_call 1 EIO 100
fail_call 2 ENOSPC 5000
fail_call 7 EIO 3000000
fail_call 33 ENOSPC 3000000

for call in 1 2 4 7 11 16; do
	fail_mount "$call"
done

# A limit on the sizes of files is met by the log.
name="a limit on file sizes"
mount_store "$store" "$m"
prlimit --pid "$(mount_pid "$m")" --fsize=300000
check "$name: who writes is told" full files "$m" 5000 EIO EROFS
check_read_only "$name"
unmount_store "$m"
check_anew "$name"
finish
