/* SPDX-License-Identifier: MIT */
/* Attributes of nodes. */
#ifndef FS_ATTR_H
#define FS_ATTR_H

#include "fs.h"
#include "node.h"

void attr_fill(struct fs *fs, const struct node *node, struct stat *st);

/* Seconds for which the kernel may keep them: a node stands for one stored value, so its
 * attributes do not change, but those of a write session do. */
double attr_timeout(const struct node *node);

#endif
