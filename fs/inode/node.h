/* SPDX-License-Identifier: MIT */
/*
 * The inode table: one node for each inode that the kernel holds, found by its key or by the nodeid
 * that the kernel names it by. A nodeid and a generation are given once: a file handle of the
 * kernel (name_to_handle_at, NFS), which keeps both, never leads to another node, nor to one of a
 * later mount.
 *
 * A node stores its parent and its own part of the position (a segment, a family, a qualifier), and
 * a walk up the parents gives the whole position. A cell's node stands for one stored value: the
 * timestamp and the etag are part of its identity. A name whose value was replaced leads to another
 * node, and the kernel's page cache never mixes two values. If the same value gets another
 * timestamp or name under an inode that the kernel holds, the node follows (nodes_stamp,
 * nodes_move). A short control file has a node for each of its texts; the etag is the text's.
 *
 * Any thread may call these functions.
 */
#ifndef FS_NODE_H
#define FS_NODE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

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
	NODE_VIEW,     /* T/.from: its children are arguments */
	NODE_VIEWED, /* T/.from/KEY, T/.reverse: a directory of segments through a chain of views */
	NODE_EXPLAIN, /* T/.families/F/explain: its files are named by policies */
	NODE_KEYVIS,  /* /.rowfs/keyvis: its children are named by tables */
	NODE_HEAT,    /* /.rowfs/keyvis/T: the heat map of a table in all formats */
	NODE_WINDOW,  /* /.rowfs/keyvis/T/4d: the same of a span of time */
	NODE_KINDS,
};

/* The identity of a node. name: decoded bytes. */
struct node_key {
	struct node *parent;
	enum node_kind kind;
	struct wcs_slice name;
	int64_t ts;    /* NODE_CELL, NODE_VERSION: of the stored value; NODE_CONTROL: which one */
	uint32_t etag; /* of the stored value; NODE_TABLE: differs if the table is made anew;
			* NODE_VIEWED: the delimiter; NODE_CONTROL: of the text, 0: of a stream */
	uint32_t size; /* of the stored value or text in bytes; no part of the identity */
};

struct node {
	struct node *parent;	      /* NULL: the root. Holds a reference */
	struct node *next;	      /* in its hash chain. Lock: the chain's shard */
	struct node *child;	      /* the first. Lock: the parents', for this node */
	struct node *sibling, **link; /* Lock: the parents', for the parent */
	_Atomic uint64_t refs;	      /* the kernel's lookups and the node's children */
	uint64_t nodeid;	      /* the kernel's name of the inode; constant */
	uint64_t ino;		      /* st_ino: stable across mounts */
	uint64_t plain;		      /* st_ino of the same place outside of /.versions */
	_Atomic uint64_t alias;	      /* `plain` of the name that a rename gave to the kernel's
				       * dentry, if that name has another node; 0: none */
	union {
		void *owned;		 /* the next two, for any kind */
		struct wcs_table *table; /* NODE_TABLE: owned */
		struct view *view;	 /* NODE_VIEWED: owned */
		struct writer *writer;	 /* with NODE_F_WRITER: owned */
		/* NODE_CONTROL with a text: NODE_LOOKED and the thread whose lookup found the
		 * node, until it opens it; then the number of that request; 0: neither came */
		_Atomic uint64_t looked;
		/* Other cells: the node that this one stands for since a rename; NULL: itself.
		 * Holds a reference. Set once. */
		struct node *_Atomic moved;
	};
	_Atomic int64_t ts; /* of a cell; ts and etag change under the shard's lock */
	_Atomic uint32_t etag;
	uint32_t generation;	   /* of the nodeid; constant */
	_Atomic uint32_t size;	   /* st_size: of the stored value, or of a control file */
	_Atomic uint32_t opens;	   /* open files of the kernel's inode */
	_Atomic uint32_t expiring; /* notices of its dentry that are queued or being sent */
	uint16_t name_len;
	uint8_t kind;	       /* enum node_kind */
	uint8_t flags;	       /* NODE_F_… */
	_Atomic uint8_t state; /* NODE_S_… */
	_Atomic uint8_t hops;  /* nodes that lead here by `moved` */
	char name[];	       /* name_len bytes and a NUL */
};

/* Constant. */
enum {
	NODE_F_VERSIONS = 1, /* below /.versions */
	NODE_F_WRITER = 2,   /* stands for a write session, not for a stored value */
	NODE_F_VIEW = 4,     /* a view, or below one: nothing changes there */
};

/*
 * | state    | set by                              | meaning for a lookup or request            |
 * |----------|-------------------------------------|--------------------------------------------|
 * | REMOVED  | unlink, rmdir, rename; an expired   | the table skips the node: the next LOOKUP  |
 * |          | directory; a withdrawn notice       | makes another one; no dentry below is kept |
 * | KEPT     | a LOOKUP reply with a timeout       | the kernel does not look the name up again |
 * |          |                                     | until a notice, or a new dentry, clears it |
 * | STALE    | a notice that the kernel took too   | GETATTR and OPEN answer ESTALE, and the    |
 * |          | late or cannot be waited for        | kernel repeats the LOOKUP                  |
 * | PASSED   | OPEN or truncate(2) of an inode     | the attributes are those of the name's     |
 * |          | with an older value than its name,  | newest value, with timeout 0               |
 * |          | without a LOOKUP (attr.h)           |                                            |
 * | SHOWN    | a reply with a session's attributes | the kernel keeps them; a change drops them |
 * | LISTED   | READDIRPLUS, with KEPT              | the kernel makes the dentry after the      |
 * |          |                                     | reply: only a request that has the         |
 * |          |                                     | directory's lock alone has replaced it     |
 * | UNLINKED | unlink; rename over the name        | st_nlink is 0 for the open files; cleared  |
 * |          |                                     | if a LOOKUP finds the node again           |
 */
enum {
	NODE_S_REMOVED = 1,
	NODE_S_KEPT = 2,
	NODE_S_STALE = 4,
	NODE_S_PASSED = 8,
	NODE_S_SHOWN = 16,
	NODE_S_LISTED = 32,
	NODE_S_UNLINKED = 64,
};

#define NODE_ROOT_ID 1 /* the root's nodeid (FUSE_ROOT_ID) */
/* In `looked`; alone with all other bits: several threads', or unknown ones. */
#define NODE_LOOKED (UINT64_C(1) << 63)

#define NODE_HOPS_MAX 200 /* nodes from an inode to the one that it stands for */

/* Nodes, each with a reference. Zero it first. */
struct node_list {
	struct node **all;
	size_t count, room;
};

/* Makes the table with its root: of kind NODE_ROOT or, if root_table is given, NODE_TABLE. It owns
 * root_table on success. free_writer: frees the session of a node that goes. NULL: no memory. */
struct nodes *nodes_new(struct wcs_table *root_table, void (*free_writer)(struct writer *writer));
/* Frees the table with all its nodes, at the end of all requests. */
void nodes_free(struct nodes *nodes);
struct node *nodes_root(struct nodes *nodes);
/* How many nodes there are beside the root. */
size_t nodes_count(struct nodes *nodes);

/* The node of that key, made if there is none, with one more reference. NULL: no memory. Takes over
 * the table of a NODE_TABLE or the view of a NODE_VIEWED, and frees it unless the node is new. */
struct node *nodes_get(struct nodes *nodes, const struct node_key *key, uint8_t flags, void *owned);

/* The node of a control file with that text, for a lookup by that thread (0: unknown) with that
 * number (loop_request). NULL: no memory. A node of the file with another text takes this one if it
 * is not open, and no reply to an earlier lookup is under way that would bring its old size back.
 * This spares the kernel, which has a dentry of that node, a second lookup. */
struct node *nodes_get_text(struct nodes *nodes, const struct node_key *key, uint8_t flags,
			    pid_t thread, uint64_t request);
/* The thread has the node open, by a request of that number: it has got its lookup's reply. */
void node_looked(struct node *node, pid_t thread, uint64_t request);

/* A new node for one write session, which it owns on success, with one reference. NULL: no
 * memory. */
struct node *nodes_get_writer(struct nodes *nodes, const struct node_key *key,
			      struct writer *writer);

/* The node of that nodeid; NULL: there is none. Borrowed from the kernel's reference. */
struct node *nodes_at(struct nodes *nodes, uint64_t nodeid);

/* The node of that key, with one more reference. NULL: there is none. */
struct node *nodes_find(struct nodes *nodes, const struct node_key *key);

/* Marks the node of that key as removed. The kernel treats the inode as dead, so the next lookup of
 * the name must find another node. */
void nodes_remove(struct nodes *nodes, const struct node_key *key);

/* Adds the nodes of all stored values of one column. 0 or -ENOMEM. */
int nodes_cells(struct nodes *nodes, struct node *family, struct wcs_slice qualifier,
		struct node_list *list);
/* Adds all children of a node but those of write sessions. 0 or -ENOMEM. */
int nodes_children(struct nodes *nodes, struct node *parent, struct node_list *list);
void node_list_clear(struct nodes *nodes, struct node_list *list);

/* The value of a node now has another timestamp and etag, with the same bytes. */
void nodes_stamp(struct nodes *nodes, struct node *node, const struct wcs_cell_info *info);
/* The value of a node now has another name, whose node is `to`; takes over a reference to `to`.
 * False: nothing was done, because the node is `to`, has moved already, or has NODE_HOPS_MAX hops
 * behind it. */
bool nodes_move(struct nodes *nodes, struct node *node, struct node *to);

/* Takes back count references; the last one frees the node. NULL is no node. */
void nodes_put(struct nodes *nodes, struct node *node, uint64_t count);

/* One more reference, for a caller that has one. Returns node. */
static inline struct node *node_get(struct node *node)
{
	atomic_fetch_add_explicit(&node->refs, 1, memory_order_relaxed);
	return node;
}

/* One more reference, unless the last one is gone: then false. For a caller that found the node
 * outside of the table, where a node stays until it is freed. */
bool node_get_alive(struct node *node);

static inline uint8_t node_state(const struct node *node)
{
	return node->state;
}

/* Sets bits. Returns the state before. */
static inline uint8_t node_state_set(struct node *node, uint8_t bits)
{
	return atomic_fetch_or(&node->state, bits);
}

/* Clears bits. Returns the state before. */
static inline uint8_t node_state_clear(struct node *node, uint8_t bits)
{
	return atomic_fetch_and(&node->state, (uint8_t)~bits);
}

/* A cell, a version or a draft. */
static inline bool node_is_value(enum node_kind kind)
{
	return kind == NODE_CELL || kind == NODE_VERSION || kind == NODE_DRAFT;
}

static inline bool node_is_stored(const struct node *node)
{
	return node->kind == NODE_CELL && !(node->flags & NODE_F_WRITER);
}

/* The node that this one stands for since a rename; NULL: itself. */
static inline struct node *node_moved(const struct node *node)
{
	return node_is_stored(node) ? node->moved : NULL;
}

/* The node that an inode of the kernel stands for now, after all its renames. */
static inline struct node *node_now(struct node *node)
{
	for (struct node *moved; (moved = node_moved(node)) != NULL;)
		node = moved;
	return node;
}

static inline int64_t node_ts(const struct node *node)
{
	return atomic_load_explicit(&node->ts, memory_order_relaxed);
}

static inline uint32_t node_etag(const struct node *node)
{
	return atomic_load_explicit(&node->etag, memory_order_relaxed);
}

/* Is that the value which the node stands for? */
static inline bool node_is_of(const struct node *node, const struct wcs_cell_info *info)
{
	return node_ts(node) == info->ts && node_etag(node) == info->etag;
}

/* Is the node that directory or below it, in either tree? plain: the directory's. */
static inline bool node_is_below(const struct node *node, uint64_t plain)
{
	while (node && node->plain != plain)
		node = node->parent;
	return node != NULL;
}

/* The node, or the nearest one above it, of that kind; NULL: there is none. */
static inline const struct node *node_up(const struct node *node, enum node_kind kind)
{
	while (node && node->kind != kind)
		node = node->parent;
	return node;
}

/* Is the node in that family of a row, or that family itself? */
static inline bool node_is_in_family(const struct node *node, const char *family)
{
	const struct node *in = node_up(node, NODE_FAMILY);

	return in && strcmp(in->name, family) == 0;
}

/* The st_ino of a file without a name: no other value and no name has the same. */
uint64_t node_unlinked_ino(const struct node *node);

/* The st_ino of a child of parent. That of a version depends on the etag of its value, too, so that
 * a backup finds a cell that was replaced under its own timestamp; etag 0: the engine has none, or
 * there is no value yet. */
uint64_t node_child_ino(const struct node *parent, enum node_kind kind, struct wcs_slice name,
			uint32_t etag);

/* The hash of a key, for the inode table; the same for all stored cells and all control files of
 * one name. */
uint64_t node_key_hash(const struct node_key *key);

/* Identifies the file that a name means: the same in both trees, and for each of its values. 0
 * identifies none. */
struct file_id {
	uint64_t column; /* of all that belongs to one column; a family's draft: of the family */
	uint64_t file;
};

/* The file of a child of dir, a NODE_CELL, NODE_VERSION or NODE_DRAFT. */
struct file_id node_child_id(const struct node *dir, enum node_kind kind, struct wcs_slice name);
/* The file of a node of one of these kinds. */
struct file_id node_id(const struct node *node);
/* The file of a version of a column. */
struct file_id node_version_id(uint64_t column, struct wcs_slice name);

/* Differs between a table and an earlier one of the same name. */
static inline uint32_t node_table_etag(const struct wcs_table *table)
{
	uint64_t created = (uint64_t)wcs_table_created(table);

	return (uint32_t)created ^ (uint32_t)(created >> 32);
}

/* Is it a segment, or a chunk of one, directly below a table? There the etag is the table's layout:
 * a change of the delimiter or the key design leads to other nodes. */
static inline bool node_has_layout(enum node_kind kind, const struct node *parent)
{
	return (kind == NODE_PREFIX || kind == NODE_CHUNK) && parent->kind == NODE_TABLE;
}

/* The directory that a chunk directory splits the names of; another node: itself. Every node's
 * parent is such a base, never a chunk directory. */
static inline struct node *node_base(struct node *node)
{
	return node->kind == NODE_CHUNK ? node->parent : node;
}

static inline struct wcs_slice node_name(const struct node *node)
{
	return (struct wcs_slice){node->name, node->name_len};
}

/* ---- view.c: the chain of a NODE_VIEWED ---- */
/* Takes over the chain. NULL: no memory; the chain is freed. */
struct view *view_new(struct wcs_chain *chain);
void view_free(struct view *view); /* NULL is none */

/* The chain as spelled; NULL: of no view. Borrowed. */
struct wcs_chain *view_chain(const struct view *view);

/* The chain as it is now, or (fresh false) was less than a second ago; the caller frees it. NULL:
 * it shows all. Errors as wcs_chain_resolve. */
int view_now(struct view *view, struct wcs_table *table, bool fresh, struct wcs_chain **chain);

#endif
