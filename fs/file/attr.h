/* SPDX-License-Identifier: MIT */
/* Attributes of nodes. Any thread. */
#ifndef FS_ATTR_H
#define FS_ATTR_H

#include "fs/fs.h"
#include "fs/inode/node.h"

/* Microseconds since 1970 as stat(2) has them. */
struct timespec attr_time(int64_t us);

/* Fills all attributes. */
void attr_fill(struct fs *fs, const struct node *node, struct stat *st);

/* Seconds for which the kernel may cache the attributes; call it after attr_fill. A node stands for
 * one stored value, so its attributes do not change. A session's do: the kernel caches them from
 * CREATE, which saves a request at the open, until something but its own WRITE may change them, and
 * at most until the first FLUSH. */
double attr_timeout(const struct fs *fs, struct node *inode);

/* The next reply lets the kernel cache a session's attributes. */
void attr_keep(struct node *session);

/* A session's attributes may have changed: invalidates the kernel's. The caller holds no lock. */
void attr_changed(struct fs *fs, struct node *session);

#endif
