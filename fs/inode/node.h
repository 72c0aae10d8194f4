/* SPDX-License-Identifier: MIT */
/*
 * The inode table: one node for each inode that the kernel holds. A node knows its parent and its
 * own part of the position (a segment, a family, a qualifier), so that a position is found by
 * walking up and a node stays small. The kernel's node id is the node's address.
 *
 * A cell's node stands for one stored value, not for a name: its timestamp and etag are part of
 * its identity, so that a name whose value was replaced leads to another node, and the kernel's
 * page cache never mixes two values. Where the same value gets another timestamp or name, under an
 * inode that the kernel keeps, the node follows: nodes_stamp, nodes_move.
 */
#ifndef FS_NODE_H
#define FS_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "store/store.h"

enum node_kind {
	NODE_ROOT,     /* all tables */
	NODE_TABLE,    /* rows by their key's first segment */
	NODE_PREFIX,   /* a key: deeper segments, and the families of that row */
	NODE_FAMILY,   /* one family of one row */
	NODE_CELL,     /* the newest cell of a column */
	NODE_HISTORY,  /* a column's versions */
	NODE_VERSION,  /* one of them */
	NODE_ROWFS,    /* /.rowfs */
	NODE_FAMILIES, /* T/.families */
	NODE_POLICIES, /* T/.families/F */
	NODE_CONTROL,  /* a control file; ts is its enum control */
	NODE_DRAFT,    /* a temporary file, which is no cell yet */
	NODE_DRAFTS,   /* a directory of drafts, in a family or a history */
	NODE_CHUNK,    /* a part of long names; its name is their encoded beginning */
};

/* What tells nodes apart. name: the bytes that the name stands for, not their spelling. */
struct node_key {
	struct node *parent;
	enum node_kind kind;
	struct wcs_slice name;
	int64_t ts;    /* NODE_CELL, NODE_VERSION: of the stored value; NODE_CONTROL: which */
	uint32_t etag; /* of the stored value; NODE_TABLE: tells it from an earlier one of its name
			*/
	uint32_t size; /* of the stored value, bytes; does not tell nodes apart */
};

struct node {
	struct node *parent;	      /* NULL: the root. Holds a reference */
	struct node *next;	      /* in its hash chain. Lock: the chain's shard */
	struct node *child;	      /* the first. Lock: the parents', for this node */
	struct node *sibling, **link; /* Lock: the parents', for the parent */
	uint64_t refs;		      /* of the kernel's lookups and of children. Atomic */
	uint64_t ino;		      /* st_ino: stable across mounts */
	uint64_t plain;		      /* the same place's st_ino outside of /.versions */
	uint64_t alias; /* `plain` of the name that the kernel's entry got by a rename, though
			 * the node is not of what has that name; 0: none. Atomic */
	union {
		struct wcs_table *table; /* NODE_TABLE: owned */
		struct writer *writer;	 /* with NODE_F_WRITER: owned */
		struct node *moved;	 /* other cells: what it stands for now; NULL: itself. Holds
					  * a reference. Atomic, set once */
	};
	int64_t ts; /* of a cell: atomic, as etag; changed under its shard's lock */
	uint32_t etag;
	uint32_t size;	   /* of the stored value, bytes */
	uint32_t opens;	   /* open files of the kernel's inode. Atomic */
	uint32_t expiring; /* notices of it that are under way. Atomic */
	uint16_t name_len;
	uint8_t kind;  /* enum node_kind */
	uint8_t flags; /* NODE_F_… */
	uint8_t state; /* NODE_S_… Atomic */
	uint8_t hops;  /* nodes that lead here by `moved` */
	char name[];   /* name_len bytes and a NUL */
};

/* Constant. */
enum {
	NODE_F_VERSIONS = 1, /* below /.versions */
	NODE_F_WRITER = 2,   /* stands for one write session, not for a stored value */
};

enum {
	NODE_S_REMOVED = 1, /* found by no key any more */
	NODE_S_KEPT = 2,    /* the kernel may have an entry for it that it does not ask for again */
	NODE_S_STALE = 4,   /* the kernel may have such an entry, but the name leads elsewhere */
	NODE_S_PASSED = 8,  /* written past: the kernel has a wrong size now and then */
	NODE_S_SHOWN = 16,  /* of a write session: the kernel may keep its attributes */
	NODE_S_LISTED = 32, /* kept since a listing, whose entry the kernel may yet have to make */
	NODE_S_UNLINKED = 64, /* its name was removed or replaced, and no lookup found it since */
};

#define NODE_HOPS_MAX 200 /* nodes from an inode to what it stands for */

/* Nodes, each with a reference. Zero it first. */
struct node_list {
	struct node **all;
	size_t count, room;
};

struct nodes;

/* Makes the table with its root, of kind NODE_ROOT or, with a table (which it takes over),
 * NODE_TABLE. NULL: no memory. */
struct nodes *nodes_new(struct wcs_table *root_table);
/* Frees the table with all nodes in it; no request may be under way. */
void nodes_free(struct nodes *nodes);
struct node *nodes_root(struct nodes *nodes);
/* How many there are beside the root. */
size_t nodes_count(struct nodes *nodes);

/* The node of that key, made if need be, with one reference more. NULL: no memory. A table that
 * goes with a new NODE_TABLE is taken over on success; with a found one it is closed. */
struct node *nodes_get(struct nodes *nodes, const struct node_key *key, uint8_t flags,
		       struct wcs_table *table);

/* A node of its own for one write session, which it takes over on success; with one reference.
 * NULL: no memory. */
struct node *nodes_get_writer(struct nodes *nodes, const struct node_key *key,
			      struct writer *writer);

/* The node of that key, with one reference more. NULL: there is none. */
struct node *nodes_find(struct nodes *nodes, const struct node_key *key);

/* The name of that key is removed: the kernel takes the inode that it has for it as dead, so the
 * next lookup of the name must find another node. */
void nodes_remove(struct nodes *nodes, const struct node_key *key);

/* Adds all stored values' nodes of one column of a family's node. 0 or -ENOMEM. */
int nodes_cells(struct nodes *nodes, struct node *family, struct wcs_slice qualifier,
		struct node_list *list);
/* Adds all children of a node but those of write sessions. 0 or -ENOMEM. */
int nodes_children(struct nodes *nodes, struct node *parent, struct node_list *list);
void node_list_clear(struct nodes *nodes, struct node_list *list);

/* A stored value's node stands for another cell with the same bytes from now on: one with another
 * timestamp. */
void nodes_stamp(struct nodes *nodes, struct node *node, const struct wcs_cell_info *info);
/* One with another name, which has a node; a reference to that is taken over. False: the node has
 * moved so often that it is better forgotten; then nothing is done. */
bool nodes_move(struct nodes *nodes, struct node *node, struct node *to);

/* One reference more, for who has one. Returns node. */
static inline struct node *node_get(struct node *node)
{
	__atomic_fetch_add(&node->refs, 1, __ATOMIC_RELAXED);
	return node;
}

/* One reference more, unless the last one is gone: then false. For who finds the node elsewhere
 * than in the table, where it is until it is freed. */
bool node_get_alive(struct node *node);

static inline uint8_t node_state(const struct node *node)
{
	return __atomic_load_n(&node->state, __ATOMIC_SEQ_CST);
}

/* Returns the state before. */
static inline uint8_t node_state_set(struct node *node, uint8_t bits)
{
	return __atomic_fetch_or(&node->state, bits, __ATOMIC_SEQ_CST);
}

static inline uint8_t node_state_clear(struct node *node, uint8_t bits)
{
	return __atomic_fetch_and(&node->state, (uint8_t)~bits, __ATOMIC_SEQ_CST);
}

static inline bool node_is_stored(const struct node *node)
{
	return node->kind == NODE_CELL && !(node->flags & NODE_F_WRITER);
}

/* What it stands for since a rename; NULL: itself. */
static inline struct node *node_moved(const struct node *node)
{
	return node_is_stored(node) ? __atomic_load_n(&node->moved, __ATOMIC_ACQUIRE) : NULL;
}

/* What an inode that the kernel holds stands for by now. */
static inline struct node *node_now(struct node *node)
{
	for (struct node *moved; (moved = node_moved(node)) != NULL;)
		node = moved;
	return node;
}

static inline int64_t node_ts(const struct node *node)
{
	return __atomic_load_n(&node->ts, __ATOMIC_RELAXED);
}

static inline uint32_t node_etag(const struct node *node)
{
	return __atomic_load_n(&node->etag, __ATOMIC_RELAXED);
}

/* Is the node at or below that directory, which is told by `plain`, in whichever tree? */
static inline bool node_is_below(const struct node *node, uint64_t plain)
{
	while (node && node->plain != plain)
		node = node->parent;
	return node != NULL;
}

/* Is the node in that family of a row, or that family itself? */
static inline bool node_is_in_family(const struct node *node, const char *family)
{
	while (node && node->kind != NODE_FAMILY)
		node = node->parent;
	return node && strcmp(node->name, family) == 0;
}

/* Gives count references back; the last one frees the node. */
void nodes_put(struct nodes *nodes, struct node *node, uint64_t count);

/* The st_ino of a file that has no name any more: of no other value, and of no name. */
uint64_t node_unlinked_ino(const struct node *node);

/* The st_ino of a child of parent. */
uint64_t node_child_ino(const struct node *parent, enum node_kind kind, struct wcs_slice name);

/* Which file a name means: the same in both trees, and whatever is in it. 0 is in none. */
struct file_id {
	uint64_t column; /* of all that belongs to one column; a family's draft: of the family */
	uint64_t file;
};

/* Of a child of dir, a NODE_CELL, NODE_VERSION or NODE_DRAFT. */
struct file_id node_child_id(const struct node *dir, enum node_kind kind, struct wcs_slice name);
/* Of a node of these kinds. */
struct file_id node_id(const struct node *node);
/* Of a version of a column. */
struct file_id node_version_id(uint64_t column, struct wcs_slice name);

/* What tells a table's node from that of an earlier table of its name. */
static inline uint32_t node_table_etag(const struct wcs_table *table)
{
	uint64_t created = (uint64_t)wcs_table_created(table);

	return (uint32_t)created ^ (uint32_t)(created >> 32);
}

/* The directory that a chunk of a name is in, whatever chunks are between; other nodes: itself.
 * Every node's parent is such a one. */
static inline struct node *node_base(struct node *node)
{
	return node->kind == NODE_CHUNK ? node->parent : node;
}

static inline struct wcs_slice node_name(const struct node *node)
{
	return (struct wcs_slice){node->name, node->name_len};
}

#endif
