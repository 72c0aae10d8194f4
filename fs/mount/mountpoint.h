/* SPDX-License-Identifier: MIT */
/*
 * Mountpoints. For the main thread, before other threads start: these functions may fork.
 *
 * The owner of a directory above a mountpoint can put another directory or a link in its path at
 * any time. The path is therefore resolved once, for the check. root mounts on that directory, and
 * unmounts the mount that it made, wherever both are by then. Other users mount and unmount through
 * fusermount3, by the path.
 */
#ifndef FS_MOUNTPOINT_H
#define FS_MOUNTPOINT_H

#include <stdbool.h>

#include "lib/system/mounts.h"

struct mountpoint {
	char *path; /* absolute, without symbolic links; or /dev/fd/N, below */
	/* The directory, and the directory that has its name; O_PATH, -1 for an open mount. None is
	 * within the mount: that would keep it busy. */
	int directory, parent;
	struct mounts_id mount; /* of the mount once it is there; 0: unknown */
};

/*
 * Checks that the mountpoint is a directory without a rowfs mounted on it, and clears a dead rowfs
 * mount. An open mount (below) is taken as it is. mountpoint_close and free(path) release it. 0, or
 * a negative errno after a message on standard error.
 */
int mountpoint_prepare(const char *given, struct mountpoint *mountpoint);

/* Closes the descriptors, which only the mounter needs. */
void mountpoint_close(struct mountpoint *mountpoint);

/* The descriptor N of an open mount, if the path is /dev/fd/N, which mount.fuse3 passes with
 * drop_privileges; -1: an ordinary path. The server cannot unmount an open mount. */
int mountpoint_fd(const char *path);

/* Is the directory still the one that its name in its parent leads to? Otherwise the owner of a
 * directory above has moved or replaced it; a message says so. */
bool mountpoint_stays(const struct mountpoint *mountpoint);

/* Finds the mount that was made there, whose server has /dev/fuse open as fd. False: it is not
 * there any more. */
bool mountpoint_mounted(struct mountpoint *mountpoint, int fd);

/* Opens the root of that mount, O_PATH, wherever it is now; asks its server nothing. -ENOENT: it
 * was unmounted. -EBUSY: its path is blocked, or changes all the time. */
int mountpoint_open_root(const struct mountpoint *mountpoint);

/* Unmounts that mount lazily, and ends the process, with MOUNTPOINT_LEFT if the mount could not be
 * unmounted. Without the privilege to unmount, fusermount3, where libfuse has it or else from PATH,
 * takes the place of the process. */
enum { MOUNTPOINT_LEFT = 127 };
_Noreturn void mountpoint_unmount(const struct mountpoint *mountpoint);

/* Unmounts that mount if it is dead, without a message. */
void mountpoint_clear(const struct mountpoint *mountpoint);

#endif
