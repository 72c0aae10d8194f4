/* SPDX-License-Identifier: MIT */
/* The mounts that this process sees, as /proc/self/mountinfo lists them. */
#ifndef FS_MOUNTS_H
#define FS_MOUNTS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum { MOUNTS_PATIENCE = 2000 }; /* milliseconds */

struct mounts_entry {
	const char *what;  /* of rowfs: the store; with drop_privileges the name that mount.fuse3
			      gave it */
	const char *where; /* the mountpoint */
	bool rowfs;
	unsigned number;     /* of its connection, the device's minor number */
	const char *options; /* of the filesystem: user_id=N,group_id=N,... */
};

#define MOUNTS_MARKER "ROWFS" /* the file that each store has in its directory */
/* Is there a regular file of that name in the directory? */
bool mounts_has(const char *directory, const char *name);
bool mounts_has_at(int directory, const char *name);

/* Opens the list of all mounts; NULL: no /proc. The caller closes it. */
FILE *mounts_open(void);

/* The next mount; its names are good until the next call. Not for two threads. */
bool mounts_next(FILE *mounts, struct mounts_entry *entry);

/* A mount, whatever its path is now. */
struct mounts_id {
	uint64_t mount; /* from Linux 6.8 on no later mount has this id, before only no present one
			 */
	dev_t device;
};

/* Identifies the mount in which fd was opened; O_PATH suffices. Asks no FUSE server, which could
 * hang. 0 or a negative errno. */
int mounts_identify(int fd, struct mounts_id *id);

/* The mountpoint of a store, an absolute path without links; the caller frees it. answers: which
 * places count, of several; NULL: all. NULL: none, or no memory. */
char *mounts_place(const char *store, bool (*answers)(const char *place));

/* Is path equal to the directory or below it? Both absolute and without symbolic links. */
bool mounts_covers(const char *directory, const char *path);

struct mounts_around {
	char store[PATH_MAX]; /* as `what` of an entry */
	char place[PATH_MAX]; /* the mountpoint */
};
/* The rowfs mount in which an absolute path without links lies. False: none. Asks no server. */
bool mounts_around(const char *path, struct mounts_around *around);

/* The process that has the store open; 0: none; -1: unknown, because the store is unreadable. */
pid_t mounts_holder(const char *store);

/* Is the process a rowfs, which serves a mount of the store that it has open? False: unknown, too.
 */
bool mounts_serves(pid_t process);

/* Was the process killed, although threads of it may be left? False if there is none. */
bool mounts_dying(pid_t process);

/* Prints a line for each mount of rowfs: store, mountpoint, process and, of one that is served, the
 * version of its program, with tabs between them. A server that hangs delays this by
 * MOUNTS_PATIENCE. 0, or a negative errno. */
int mounts_print(FILE *to);

#endif
