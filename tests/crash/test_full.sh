#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Full disks: writes say so, no acknowledged write is lost, deletes still work, and then there is
# room again.
#
#   ROWFS_FULL=1    larger disks, and smaller cells, too (environment)

. "$(dirname "$0")/crash.sh"
need_fuse
need_disks

disk=$TMP/disk
export ACKNOWLEDGED=$TMP/acknowledged

# Removes every second file that was acknowledged; large ones slowly, so that each is one that the
# engine meets alone.
remove_half() {
	local kind size number
	while read -r kind size number; do
		((size >= 1000000 && number % 2 == 0)) || continue
		rm "$m/t/$kind/$number/f/q" || return
		sleep 0.1
	done <"$ACKNOWLEDGED"
	awk -v root="$m/t" '$2 < 1000000 && $3 % 2 == 0 { print root "/" $1 "/" $3 "/f/q" }' "$ACKNOWLEDGED" |
		xargs -r rm || return
	awk '$3 % 2' "$ACKNOWLEDGED" >"$ACKNOWLEDGED.left"
	mv "$ACKNOWLEDGED.left" "$ACKNOWLEDGED"
}

# on_disk NAME MIB COMMAND…: runs the command with a mount whose store is on a disk of that size;
# the store is whole behind it. The command reads NAME from $what.
on_disk() {
	local what=$1
	: >"$ACKNOWLEDGED"
	make_disk "$disk" "$2"
	make_store "$disk/store" '{"version":1,"tables":{"t":{"families":{"f":{},"n":{"type":"intsum"}}}}}'
	mount_store "$disk/store" "$m"
	"${@:3}"
	unmount_store "$m"
	check_fsck "$disk/store"
	unplug "$disk"
	rm -f "$disk.img"
}

# another_mount: mounts the store again.
another_mount() {
	unmount_store "$m"
	mount_store "$disk/store" "$m"
}

# fill_disk MIB KIND SIZE
fill_disk() {
	check "$what: until there is no space" full "$2" "$m" "$3" ENOSPC
	cat "$TMP/.check"
	check "$what: errors says so" grep -qE 'no room|No space' "$m/.rowfs/errors"
	check "$what: all of it is there" full verify "$m"
	if [ "$2" = files ]; then
		check "$what: half of it can be removed" remove_half
	else
		check "$what: all of it can be dropped" eval "echo rows >'$m/t/rows/.drop'"
		: >"$ACKNOWLEDGED"
	fi
	check "$what: then there is room again" full again "$m" $(($1 * 30000))
	check "$what: what was not removed is there" full verify "$m"
	check "$what: it can be made durable" sync_mount "$m"
	another_mount
	check "$what: also in another mount" full verify "$m"
	check "$what: where it can be written" full again "$m" 10000
}

# press: fills the disk, and again and again tries to write more, so that the engine frees its spare
# space.
press() {
	local round
	for round in $(seq 18); do
		if ((round > 12)); then
			rm -r "$m/t/press/$((round - 1))-2" || return
			sleep 3
		fi
		full press "$m" 3000000 "$round" || return
	done
}

# The engine merges tables to give space back, and needs space for that.
press_disk() {
	check "$what: no error but that it is full" press
	check "$what: a file can be removed" rm "$m/t/press/1-0/f/q"
	check "$what: all can" rm -r "$m/t/press"
	check "$what: then there is room again" full again "$m" 3000000
}

# touch_all: stamps every cell of the rows anew.
touch_all() {
	find "$m/t/rows" -type f -exec touch {} +
}

# append_to DIRECTORY: appends a byte to its cell q, which is written anew.
append_to() {
	echo '{"append":{"f":{"q":"x"}}}' >"$1/.row"
}

# until_full COMMAND…: repeats a command that copies cells until there is no room for it; it must
# not take so much that the engine meets a full disk.
until_full() {
	local tries
	for ((tries = 0; tries < 10; tries++)); do
		"$@" 2>"$TMP/.full" && continue
		! grep -v 'No space left on device' "$TMP/.full"
		return
	done
	echo "there is always room"
	return 1
}

# touch_often: twice, with or without room for it.
touch_often() {
	for _ in 1 2; do
		touch_all 2>"$TMP/.full" || ! grep -v 'No space left on device' "$TMP/.full" ||
			return
	done
}

# Copies of existing cells fill a disk as well as other writes.
copy_on_full_disk() {
	check "$what: a large cell" full again "$m" 3000000
	check "$what: until there is no space" full rows "$m" 4000 ENOSPC
	check "$what: touch is refused in time" until_full touch_all
	check "$what: so are appends" until_full append_to "$m/t/again/0"
	check "$what: all of it is there" full verify "$m"
	check "$what: half of it can be removed" remove_half
	check "$what: touch as often as one likes" touch_often
	check "$what: then there is room again" full again "$m" 1000000
	check "$what: and for a touch" within touch "$m/t/again/0/f/q"
	check "$what: and for an append" within append_to "$m/t/again/0"
	another_mount
	check "$what: what was not removed is there" full verify "$m"
}

# one_rule: no kind of write begins while df shows no room, and each does once it shows some. Another
# program's file takes all but 36 MiB of the 40 that df subtracts on this disk; 32 are the reserve.
one_rule() {
	local free kind
	local -A writes=(
		[echo]="echo v >'$m/t/a/f/new'"
		[over]="echo v >'$m/t/a/f/q'"
		[append]="echo v >>'$m/t/a/f/q'"
		[number]="echo 1 >>'$m/t/a/n/q'"
		[row]="echo '{\"families\":{\"f\":{\"q\":\"v\"}}}' >'$m/t/a/.row'"
		[rows]="echo '{\"key\":\"b\",\"families\":{\"f\":{\"q\":\"v\"}}}' >'$m/t/.rows'"
		[load]="echo '{\"key\":\"b\",\"families\":{\"f\":{\"q\":\"v\"}}}' | '$BUILD/rowfs-load' '$m/t'"
		[resize]="truncate -s 9 '$m/t/a/f/q'"
		[touch]="touch '$m/t/a/f/q'"
		[move]="mv '$m/t/a/f/q' '$m/t/a/f/p' && mv '$m/t/a/f/p' '$m/t/a/f/q'"
	)
	mkdir -p "$m/t/a/f" "$m/t/a/n"
	check "$what: a value" put "$m/t/a/f/q" v
	check "$what: a number" put "$m/t/a/n/q" 1
	free=$(stat -f -c '%a * %S' "$disk")
	fallocate -l $((free - (36 << 20))) "$disk/other"
	check_eq "$what: df shows none" 0 "$(df --output=avail "$m" | tail -n 1 | xargs)"
	for kind in "${!writes[@]}"; do
		fail_with "$what: $kind" - 'No space left on device' bash -c "${writes[$kind]}"
	done
	check_eq "$what: nothing has changed" "v q" "$(cat "$m/t/a/f/q") $(ls "$m/t/a/f")"
	rm "$disk/other"
	for kind in "${!writes[@]}"; do
		check "$what: with room $kind" bash -c "${writes[$kind]}"
	done
}

on_disk "one rule for all writes" 128 one_rule
on_disk "a disk that is filled again and again" 150 press_disk
on_disk "copies on a full disk" 64 copy_on_full_disk
disks=("64 files 200000" "64 rows $(rounds 12000 4000)")
[ -z "$(rounds "" full)" ] || disks+=("64 rows 1000" "300 files 1500000" "300 rows 100000")
for one in "${disks[@]}"; do
	read -r mib kind size <<<"$one"
	on_disk "$mib MiB, $kind of $size bytes" "$mib" fill_disk "$mib" "$kind" "$size"
done
finish
