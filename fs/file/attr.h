/* SPDX-License-Identifier: MIT */
/* Attributes of nodes. */
#ifndef FS_ATTR_H
#define FS_ATTR_H

#include "fs/fs.h"
#include "fs/inode/node.h"

/* Microseconds since 1970 as stat(2) has them. */
struct timespec attr_time(int64_t us);

/* Does the node stand for a file? Otherwise it is a directory. */
bool attr_is_file(const struct node *node);

/* Fills all attributes. */
void attr_fill(struct fs *fs, const struct node *node, struct stat *st);

/* Seconds for which the kernel may keep those that an inode of it has, asked behind attr_fill: a
 * node stands for one stored value, so its attributes do not change. Those of a write session do:
 * they are kept from a CREATE on, so that the open which goes with it need not ask, until they may
 * change otherwise than by the kernel's own WRITE, with the first FLUSH at the latest. */
double attr_timeout(struct node *inode);

/* The kernel is about to be given a session's attributes to keep. */
void attr_keep(struct node *session);

/* They may have changed: the kernel asks for them again. Without a lock. */
void attr_changed(struct fs *fs, struct node *session);

#endif
