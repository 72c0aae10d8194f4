/* SPDX-License-Identifier: MIT */
/* Mountpoints. For the main thread, before other threads start: these functions may fork. */
#ifndef FS_MOUNTPOINT_H
#define FS_MOUNTPOINT_H

#include <stdbool.h>

/*
 * Checks that the mountpoint is a directory without a rowfs mounted on it, and clears a dead rowfs
 * mount. An open mount (below) is taken as it is. *path: absolute, without symbolic links; the
 * caller frees it. 0, or a negative errno after a message on standard error.
 */
int mountpoint_prepare(const char *given, char **path);

/* Is the path /dev/fd/N, the descriptor of an existing mount? mount.fuse3 passes that with
 * drop_privileges. The server cannot unmount such a mount. */
bool mountpoint_is_open(const char *path);

/* The descriptor of an open mount; -1: the path is an ordinary one. */
int mountpoint_fd(const char *path);

/* Unmounts a dead rowfs mount at path, without a message. */
void mountpoint_clear(const char *path);

/* Is path equal to the directory or below it? Both absolute and without symbolic links. */
int mountpoint_covers(const char *directory, const char *path);

#endif
