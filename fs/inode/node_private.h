/* SPDX-License-Identifier: MIT */
/* One node, for the inode table alone. */
#ifndef FS_NODE_PRIVATE_H
#define FS_NODE_PRIVATE_H

#include "fs/inode/node.h"

/* A node with one reference, which holds one to its parent. NULL: no memory. */
struct node *node_new(const struct node_key *key, uint8_t flags);

/* The key that finds the node now; its name is borrowed from the node. */
struct node_key node_key_of(const struct node *node);
bool node_key_equal(const struct node_key *a, const struct node_key *b);
/* The same for all stored cells of one name. */
uint64_t node_key_hash(const struct node_key *key);

#endif
