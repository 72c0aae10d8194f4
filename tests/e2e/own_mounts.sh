#!/bin/bash
# SPDX-License-Identifier: MIT
#
# own_mounts.sh COMMAND…: runs it, as root, in a mount namespace of its own. That begins with a copy
# of each mount of other tests, and none of those would end with its unmount: so they go first. These
# are the mounts of rowfs and what lies in a test's directory; what else there is stays, since the
# root itself may be of FUSE or in a file.
#
# own_mounts.sh --within COMMAND…: in a mount namespace that the caller has made.

if [ "$1" != --within ]; then
	exec unshare --mount "$0" --within "$@"
fi
shift
awk '$2 != "/" && ($3 == "fuse.rowfs" ||
	$2 ~ /\/rowfs-e2e[.]/ && ($3 ~ /^fuse/ || $1 ~ /^\/dev\/loop/)) { print $2 }' /proc/self/mounts | while read -r place; do
	umount -l "$(printf '%b' "$place")" 2>/dev/null
done
exec "$@"
