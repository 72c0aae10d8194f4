/* SPDX-License-Identifier: MIT */
/* The place where the filesystem is to appear. For the main thread, before there are others: it
 * may fork. */
#ifndef FS_MOUNTPOINT_H
#define FS_MOUNTPOINT_H

#include <stdbool.h>

/*
 * Makes a mountpoint ready: it must be a directory on which no rowfs is mounted; a dead mount of
 * one (its process has gone) is cleared. *path: absolute, without symbolic links; the caller
 * frees it. 0, or a negative errno after a message on standard error.
 */
int mountpoint_prepare(const char *given, char **path);

/* Is a rowfs mount of that store to be seen? */
bool mountpoint_serves(const char *store);

/* Is path the directory, or below it? Both absolute and without symbolic links. */
int mountpoint_covers(const char *directory, const char *path);

#endif
