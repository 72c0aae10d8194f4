/* SPDX-License-Identifier: MIT */
/* What the requests of open files share. */
#ifndef FS_FILE_H
#define FS_FILE_H

#include "fs/fs.h"
#include "fs/inode/node.h"

/* Commits what a session's open files have written so far, and reports why it cannot. 0 or an
 * error. Any thread; takes the family's lock of writers. */
int file_commit(struct fs *fs, struct node *session);

#endif
