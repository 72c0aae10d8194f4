/* SPDX-License-Identifier: MIT */
/* Shared by the files cache*.c. */
#ifndef FS_CACHE_PRIVATE_H
#define FS_CACHE_PRIVATE_H

#include <pthread.h>

#include "fs/cache/cache.h"

enum { CACHE_SLOTS = 4096, DEFERRED_MAX = 16 };

struct cache_slot {
	_Atomic uint64_t changed; /* the number of the last change */
	_Atomic uint64_t holds;	  /* of write sessions; of all columns in this slot */
};

struct deferred {
	pid_t thread;
	uint64_t column; /* held meanwhile; 0: the entry is free */
	int64_t since;
};

struct caches {
	_Atomic uint64_t tree;	  /* changes of more than one column */
	_Atomic uint64_t columns; /* changes of one, which number them */
	struct cache_slot slots[CACHE_SLOTS];
	struct cache_deferrals {
		pthread_mutex_t lock;
		_Atomic size_t count;		   /* may be read without the lock, as a hint */
		struct deferred all[DEFERRED_MAX]; /* Lock: lock */
	} deferrals;
};

/* Counts a change: of one column, or of more. */
void cache_changed_column(struct caches *caches, uint64_t column);
void cache_changed_tree(struct fs *fs);

/* Sends a notice for a node's dentry, which now has the name `as`. */
void cache_expire_as(struct fs *fs, struct node *node, struct wcs_slice as, enum notice_how how);

/* Has nothing changed since the mark that it is of? Does a write session hold its column? */
bool cache_is_marked(struct fs *fs, const struct cache_mark *mark);
bool cache_is_held(struct fs *fs, const struct cache_mark *mark);

/* The position of a node, and the newest cell there. Errors as of pos_stored. */
int cache_cell_of(const struct node *node, struct pos *pos, struct wcs_cell_info *info);
/* Marks a node whose name is gone NODE_S_UNLINKED. */
void cache_mark_unlinked(struct fs *fs, struct node *node);

/* Is it, or a directory above it, removed? Then no lookup finds its entries. */
bool cache_is_below_removed(const struct node *node);

/* Logs that there was no memory to find the dentries of a change. */
void cache_failed(void);

/* The nodes of a column, logging a failure. */
void cache_cells(struct fs *fs, struct node *family, struct wcs_slice qualifier,
		 struct node_list *list);

/* ---- cache_find.c ---- */

/* A node of the plain tree, with a reference; NULL: there is none. */
struct node *cache_find_table(struct fs *fs, const struct wcs_table *table);
struct node *cache_find_family(struct fs *fs, struct wcs_table *table, struct wcs_slice row,
			       const char *family);
/* A directory that is no history. */
struct node *cache_find_directory(struct fs *fs, const struct pos *pos);
/* The directory of a key. *whole false: that of the longest part of the key that has a node. */
struct node *cache_find_key(struct fs *fs, struct wcs_table *table, struct wcs_slice key,
			    bool *whole);

/* May the kernel still have its dentry? */
bool cache_node_is_kept(const struct node *node);

/* Is the column's dentry kept, or its notice under way? Only nodes with at least that many hops
 * count. *column: its id, if true. */
bool cache_is_kept(struct fs *fs, const struct pos *pos, uint8_t hops, uint64_t *column);
/* Removes the nodes of the column, so that the next lookup makes another one. */
void cache_renew(struct fs *fs, const struct pos *pos);

/* Marks open versions of a column that are gone, in the plain tree, NODE_S_UNLINKED. */
void cache_check_versions(struct fs *fs, struct node *family, struct wcs_slice qualifier);

#endif
