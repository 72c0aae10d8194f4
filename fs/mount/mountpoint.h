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

/* The descriptor N of an open mount, if the path is /dev/fd/N, which mount.fuse3 passes with
 * drop_privileges; -1: an ordinary path. The server cannot unmount an open mount. */
int mountpoint_fd(const char *path);

/* Unmounts lazily: fusermount3, where libfuse has it or else from PATH, takes the place of the
 * process. If it is nowhere, the process exits with this status. */
enum { MOUNTPOINT_NO_FUSERMOUNT = 127 };
_Noreturn void mountpoint_become_fusermount(const char *path, bool quiet);

/* Unmounts a dead rowfs mount at path, without a message. */
void mountpoint_clear(const char *path);

/* Is path equal to the directory or below it? Both absolute and without symbolic links. */
int mountpoint_covers(const char *directory, const char *path);

#endif
