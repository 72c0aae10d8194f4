/* SPDX-License-Identifier: MIT */
/* The mounts of rowfs that this process sees, as /proc/self/mounts lists them. */
#ifndef FS_MOUNTS_H
#define FS_MOUNTS_H

#include <stdbool.h>
#include <stdio.h>

/* Opens the list; NULL: no /proc. endmntent(3) closes it. */
FILE *mounts_open(void);

/* The next mount: its store, or the name that -o fsname gave it, and its mountpoint. Both are good
 * until the next call. Not for two threads. */
bool mounts_next(FILE *mounts, const char **store, const char **mountpoint);

/* Prints a line for each mount: store, mountpoint and process, with tabs between them. 0, or a
 * negative errno. */
int mounts_print(FILE *to);

#endif
