/* SPDX-License-Identifier: MIT */
/* Attributes of nodes. Any thread. */
#ifndef FS_ATTR_H
#define FS_ATTR_H

#include "fs/fs.h"
#include "fs/inode/node.h"

/* Microseconds since 1970 as stat(2) has them. */
struct timespec attr_time(int64_t us);

/* Fills all attributes of a node. */
void attr_fill(struct fs *fs, const struct node *node, struct stat *st);

/*
 * Fills the attributes of an inode of the kernel. *timeout: seconds for which the kernel may cache
 * them. Returns 0, or -ESTALE: the name is gone, and no file is open.
 *
 * handle: the request's open file; the attributes are those of its value or write session. NULL:
 * they are those of the name's newest value. That differs from the node's value where the inode is
 * bound to a place, or held by O_PATH or a file handle. An open inode keeps the attributes of its
 * own value until it is opened or truncated for another one (NODE_S_PASSED).
 */
struct handle;
int attr_get(struct fs *fs, struct node *inode, const struct handle *handle, struct stat *st,
	     double *timeout);

/* The value that the node's name has now. 0, -ENOENT or another error. */
int attr_newest(struct fs *fs, const struct node *node, struct wcs_cell_info *info);

/* Another value than the node's is served through the inode from here on. */
void attr_pass(struct fs *fs, struct node *inode);

/* Seconds for which the kernel may cache the attributes; call it after attr_fill. A node stands for
 * one stored value, so its attributes do not change. A session's do: the kernel caches them from
 * CREATE, which saves a request at the open, until something but its own WRITE may change them, and
 * at most until the first FLUSH. */
double attr_timeout(const struct fs *fs, struct node *inode);

/* A session's attributes may have changed: invalidates the kernel's. The caller holds no lock. */
void attr_changed(struct fs *fs, struct node *session);

#endif
