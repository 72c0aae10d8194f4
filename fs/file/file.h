/* SPDX-License-Identifier: MIT */
/* Commits, for all requests of open files. */
#ifndef FS_FILE_H
#define FS_FILE_H

#include "fs/fs.h"
#include "fs/inode/node.h"

/* Commits the bytes that a session's open files have written, and reports a failure. closing: the
 * thread that closes a descriptor; NULL: for an fsync. 0 or an error. Any thread; takes the
 * family's lock. */
int file_commit(struct fs *fs, struct node *session, const pid_t *closing);

#endif
