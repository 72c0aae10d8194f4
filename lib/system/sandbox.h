/* SPDX-License-Identifier: MIT */
/* A process gives up rights for good. Call these from the main thread, before others start. */
#ifndef FS_SANDBOX_H
#define FS_SANDBOX_H

#include <stddef.h>

#include "lib/system/syscalls.h"

/* The rights that remain below a directory. */
enum sandbox_rights {
	SANDBOX_ALL,	/* all but to run programs */
	SANDBOX_READ,	/* files and directories */
	SANDBOX_ENTRIES /* to list, make, rename and remove directories */
};
struct sandbox_place {
	int fd; /* of the directory, O_PATH suffices; -1: the entry is ignored */
	enum sandbox_rights rights;
};

/*
 * This process gains no privileges any more (PR_SET_NO_NEW_PRIVS). Where the kernel has Landlock,
 * it opens no files but those of the places, and of /proc to read; it opens no TCP connection, and
 * signals no process outside. Open files stay open.
 * *how: words for the log. 1; 0: the kernel has no Landlock; or a negative errno.
 */
int sandbox_enter(const struct sandbox_place *places, size_t count, const char **how);

/* The place of the store at path. The owner of a directory above can exchange it at any time, so
 * SANDBOX_ALL goes only to a directory that looks like a store now. The caller closes its fd. */
struct sandbox_place sandbox_store(const char *path);

/* If root opens another user's directory, the files that this process makes from now on belong to
 * that directory's owner and group. All rights of root stay. 0 or a negative errno. */
int sandbox_own(int fd);

/* If root opens another user's directory, this process becomes that user and the directory's group,
 * for good: it keeps no other group and no capability. 1; 0: it stays as it is; or a negative
 * errno, as where root may not change its user (CAP_SETUID, CAP_SETGID). */
int sandbox_become(int fd);

/*
 * For the process behind a mount, which has values in its memory, and for the connector, which
 * alone connects: it gives up its capabilities, makes only the system calls of the list, and cannot
 * be traced or dumped.
 */
int sandbox_harden(enum syscalls_list list);

#endif
