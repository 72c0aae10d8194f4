/* SPDX-License-Identifier: MIT */
/* The place where the filesystem is to appear. For the main thread, before there are others: it
 * may fork. */
#ifndef FS_MOUNTPOINT_H
#define FS_MOUNTPOINT_H

#include <stdbool.h>

/*
 * Makes a mountpoint ready: it must be a directory on which no rowfs is mounted; a dead mount of
 * one (its process has gone) is cleared. *path: absolute, without symbolic links; the caller
 * frees it. An open one is taken as it is. 0, or a negative errno after a message on standard
 * error.
 */
int mountpoint_prepare(const char *given, char **path);

/*
 * Is it /dev/fd/N, the kernel's end of a mount that is there already? mount.fuse3 gives that with
 * drop_privileges; who serves it cannot unmount it.
 */
bool mountpoint_is_open(const char *path);

/* The descriptor of one; -1: path is none. */
int mountpoint_fd(const char *path);

/* Unmounts what is there, where that is a dead mount of a rowfs; without a word. */
void mountpoint_clear(const char *path);

/* Is path the directory, or below it? Both absolute and without symbolic links. */
int mountpoint_covers(const char *directory, const char *path);

#endif
