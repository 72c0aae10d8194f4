#!/bin/bash
# SPDX-License-Identifier: MIT
#
# own_mounts.sh [--OPTION…] COMMAND…: runs it in a mount namespace of its own; options are unshare's.
#
# Where / is no mount point (in a chroot), unshare cannot make the mounts private. Root does it from
# the namespace's own root, where nsenter arrives; a user namespace has slaves from the start.
#
# The namespace begins with a copy of each mount of other tests, and none of those would end with
# its unmount: so they go first. These are the mounts of rowfs and those in a test's directory;
# other mounts stay, since the root itself may be of FUSE or in a file.

if [ "$1" != --within ]; then
	options=(--mount --propagation=unchanged)
	[ "$(id -u)" = 0 ] || options+=(--user --map-root-user)
	while [[ $1 == --* ]]; do
		options+=("$1")
		shift
	done
	exec unshare "${options[@]}" "$0" --within "$(id -u)" "$@"
fi
if [ "$2" = 0 ]; then
	nsenter --mount=/proc/self/ns/mnt mount --make-rprivate / || exit 1
fi
shift 2
awk '$2 != "/" && ($3 == "fuse.rowfs" ||
	$2 ~ /\/rowfs-e2e[.]/ && ($3 ~ /^fuse/ || $1 ~ /^\/dev\/loop/)) { print $2 }' /proc/self/mounts | while read -r place; do
	umount -l "$(printf '%b' "$place")" 2>/dev/null
done
exec "$@"
