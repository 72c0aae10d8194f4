/* SPDX-License-Identifier: MIT */
/* What the table of nodes needs of one node, beside what node.h says. Any thread. */
#ifndef FS_NODE_PRIVATE_H
#define FS_NODE_PRIVATE_H

#include "fs/inode/node.h"

/* A node with one reference, which holds one of its parent. NULL: no memory. */
struct node *node_new(const struct node_key *key, uint8_t flags);
/* Frees it with what it owns; its parent's reference is the caller's to put. */
void node_free(struct node *node);

/* The key that leads to it now; its name is borrowed from the node. */
struct node_key node_key_of(const struct node *node);
bool node_key_equal(const struct node_key *a, const struct node_key *b);
/* The same for all cells of one name. */
uint64_t node_key_hash(const struct node_key *key);

/* Adds one, whose reference the caller has or takes then. 0 or -ENOMEM. */
int node_list_add(struct node_list *list, struct node *node);

#endif
