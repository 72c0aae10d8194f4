#!/bin/bash
# SPDX-License-Identifier: MIT
#
# fio and stress-ng on files: fio's sums hold, also in the next mount, and stress-ng finds no fault;
# the mount serves on, in bounded memory, with nothing left open and a clean log.

. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/cells.sh"

# Stressors on files, with the operations that each does, in about half a second, and an option of
# those whose own choice is too large. Not among them: stressors that need links, devices or
# directories beside files (dir, dirdeep, link, symlink, mknod, inotify), files over 100 MiB
# (copy-file), modes that are kept (access), renames between directories (rename), extents and flags
# (fiemap, chattr, verity), a write to an open file of which one failed (fsize).
FILES=(chmod:20 chown:150 dentry:30 dirmany:100 dup:50 fallocate:2:fallocate-bytes=4m fault:100
	fcntl:100 file-ioctl:100 filename:8 flock:100 fstat:100 getdent:100
	handle:100 hdd:200:hdd-bytes=4m io:20 iomix:50:iomix-bytes=4m locka:100 lockf:100 lockofd:100
	msync:100:msync-bytes=4m open:100 readahead:50:readahead-bytes=4m revio:100:revio-bytes=4m
	seek:100 sendfile:50 splice:100 sync-file:3:sync-file-bytes=4m touch:50 utime:50)
# Stressors on directories alone, below a prefix.
DIRECTORIES=(chdir:10:chdir-dirs=64 dir:20:dir-dirs=200)

# The directory that a stressor makes is named after its process, or its parent's: the second and
# the first one in a namespace of its own. Families of these names make it one.
families() {
	local name separator=
	for name in "${FILES[@]}"; do
		printf '%s"tmp-stress-ng-%s-1-0":{},"tmp-stress-ng-%s-2-0":{}' "$separator" \
			"${name%%:*}" "${name%%:*}"
		separator=,
	done
}

cat >"$TMP/job.fio" <<'END'
[global]
size=1m
bs=4k
verify=crc32c
verify_fatal=1
randseed=7

[sequential]
rw=write
ioengine=sync

[random]
rw=randwrite
ioengine=psync

[mapped]
rw=randwrite
ioengine=mmap

[vectors]
rw=randwrite
ioengine=pvsync
bsrange=512-64k

[synced]
rw=randwrite
ioengine=sync
fsync=64

[several]
rw=randwrite
ioengine=psync
numjobs=3
nrfiles=4
filesize=64k
END

# job DIRECTORY OPTION…: runs the job file there.
job() {
	local directory=$1
	shift
	fio --directory="$directory" --aux-path="$TMP" "$@" --output="$TMP/fio" "$TMP/job.fio"
}

new_mount "{\"version\":1,\"tables\":{\"fio\":{\"families\":{\"f\":{}}},
	\"files\":{\"families\":{$(families)}},\"dirs\":{\"families\":{\"f\":{}}}}}"

# ---- fio ---------------------------------------------------------------------------------------

f=$m/fio/row/f
mkdir -p "$f"
check "fio: 8 jobs in one family find what they wrote" job "$f"
printf '%s.0.0 1048576\n' sequential random mapped vectors synced >"$TMP/want"
printf 'several.%d.%d 65536\n' 0 0 0 1 0 2 0 3 1 0 1 1 1 2 1 3 2 0 2 1 2 2 2 3 >>"$TMP/want"
check "each file has its size" diff <(sort "$TMP/want") <(find "$f" -type f -printf '%f %s\n' | sort)
# One when it lays the file out, one when it writes: two open files.
check_eq "and at most two versions" "" "$(for q in "$f"/*; do
	(($(entries "$q@" | wc -l) <= 2)) || echo "$q"
done)"
remount
check "they find it in the next mount" job "$f" --verify_only
printf X | dd of="$f/mapped.0.0" bs=1 seek=5000 conv=notrunc status=none
fail_with "a byte that another wrote is found" - 'verify failed' job "$f" --verify_only

# ---- stress-ng ---------------------------------------------------------------------------------

# stressor DIRECTORY NAME:OPERATIONS[:OPTION]: one line: the name and "ok", or the fault.
stressor() {
	local directory=$1 name count option status=0
	IFS=: read -r name count option <<<"$2"
	unshare --pid --fork --kill-child stress-ng --temp-path "$directory" --"$name" 1 \
		--"$name-ops" "$count" ${option:+"--$option"} --timeout 1200s --verify --metrics \
		>"$TMP/stress.$name" 2>&1 || status=$?
	if ((status != 0)) || grep -qE '(fail|error): ' "$TMP/stress.$name"; then
		echo "$name: exit $status: $(grep -E "(fail|error): |^[^s]" "$TMP/stress.$name" | head -n 3)"
	elif ! awk -v name="$name" '$4 == name && $5 > 0 { n++ } END { exit !n }' "$TMP/stress.$name"; then
		echo "$name: did nothing: $(tail -n 3 "$TMP/stress.$name")"
	else
		echo "$name: ok"
	fi
}
export -f stressor
export TMP

# stress NAME DIRECTORY STRESSOR…: all of them, three at a time.
stress() {
	local name=$1 directory=$2
	shift 2
	check_eq "$name" "$(printf '%s\n' "$@" | sed 's/:.*/: ok/' | sort)" \
		"$(printf '%s\n' "$@" | xargs -P 3 -I '{}' bash -c 'stressor "$0" "$1"' "$directory" '{}' | sort)"
}

pid=$(mount_pid "$m")
# descriptors: how many the process that serves has open.
descriptors() {
	find "/proc/$pid/fd" -mindepth 1 | wc -l
}
mkdir -p "$m/files/row" "$m/dirs/row"
before=$(descriptors)
stress "stressors on files" "$m/files/row" "${FILES[@]}"
stress "stressors on directories" "$m/dirs/row" "${DIRECTORIES[@]}"
check_eq "they leave no file" "" "$(find "$m/files" "$m/dirs" -type f)"
check_eq "nor a cell" "" "$(find "$m/.versions/files" "$m/.versions/dirs" -type f)"
check "the mount serves on" bash -c 'echo on >"$0" && [ "$(cat "$0")" = on ]' "$f/on"
check "with no more descriptors than before" test "$(descriptors)" -le $((before + 20))
# A sanitizer keeps freed memory for a while.
limit=131072
grep -qE '__(asan|tsan)_init' "$BUILD/rowfs" && limit=1500000
check "within its memory" test "$(awk '$1 == "VmHWM:" { print $2 }' "/proc/$pid/status")" -lt "$limit"
check_eq "and its log has no warning" "" "$(grep -v ': info: ' "$(mount_log "$m")")"

finish
