/* SPDX-License-Identifier: MIT */
/* The mounts that this process sees, as /proc/self/mountinfo lists them. */
#ifndef FS_MOUNTS_H
#define FS_MOUNTS_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

struct mounts_entry {
	const char *what;  /* of rowfs: the store, or the name that -o fsname gave it */
	const char *where; /* the mountpoint */
	bool rowfs;
	unsigned number; /* of its connection, the device's minor number */
};

/* Opens the list of all mounts; NULL: no /proc. The caller closes it. */
FILE *mounts_open(void);

/* The next mount; its names are good until the next call. Not for two threads. */
bool mounts_next(FILE *mounts, struct mounts_entry *entry);

/* The process that has the store open; 0: none; -1: unknown, because the store is unreadable. */
pid_t mounts_holder(const char *store);

/* Was the process killed, although threads of it may be left? False if there is none. */
bool mounts_dying(pid_t process);

/* Prints a line for each mount of rowfs: store, mountpoint and process, with tabs between them. 0,
 * or a negative errno. */
int mounts_print(FILE *to);

#endif
