/* SPDX-License-Identifier: MIT */
/* The mounts that this process sees, as /proc/self/mounts lists them. */
#ifndef FS_MOUNTS_H
#define FS_MOUNTS_H

#include <stdbool.h>
#include <stdio.h>

struct mounts_entry {
	const char *what;  /* of rowfs: the store, or the name that -o fsname gave it */
	const char *where; /* the mountpoint */
	bool rowfs;
};

/* Opens the list of all mounts; NULL: no /proc. The caller closes it. */
FILE *mounts_open(void);

/* The next mount; its names are good until the next call. Not for two threads. */
bool mounts_next(FILE *mounts, struct mounts_entry *entry);

/* Prints a line for each mount of rowfs: store, mountpoint and process, with tabs between them. 0,
 * or a negative errno. */
int mounts_print(FILE *to);

#endif
