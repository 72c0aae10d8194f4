/* SPDX-License-Identifier: MIT */
/* Shared by the files cache*.c. */
#ifndef FS_CACHE_PRIVATE_H
#define FS_CACHE_PRIVATE_H

#include "fs/cache/cache.h"

/* Counts a change: of one column, or of more. */
void cache_changed_column(struct fs *fs, uint64_t column);
void cache_changed_tree(struct fs *fs);

/* Makes a node stale, and sends a notice for its dentry, which now has the name `as`. */
void cache_withdraw_as(struct fs *fs, struct node *node, struct wcs_slice as);
/* The same without making the node stale. */
void cache_expire_as(struct fs *fs, struct node *node, struct wcs_slice as);

/* Sends a notice for the column's dentry, without waiting and without making its node stale. */
void cache_expire_soon(struct fs *fs, const struct pos *pos);

/* Is it, or a directory above it, removed? Then no lookup finds its entries. */
bool cache_is_below_removed(const struct node *node);

/* Logs that there was no memory to find the dentries of a change. */
void cache_failed(struct fs *fs);

/* ---- cache_find.c ---- */

/* A node of the plain tree, with a reference; NULL: there is none. */
struct node *cache_find_table(struct fs *fs, const struct wcs_table *table);
struct node *cache_find_family(struct fs *fs, struct wcs_table *table, struct wcs_slice row,
			       const char *family);
/* A directory that is no history. */
struct node *cache_find_directory(struct fs *fs, const struct pos *pos);
/* Of a key. *whole false: of the longest part of the key that has a node. */
struct node *cache_find_key(struct fs *fs, struct wcs_table *table, struct wcs_slice key,
			    bool *whole);

/* May the kernel still have its dentry? */
bool cache_node_is_kept(const struct node *node);

/* Is the column's dentry kept, or its notice under way? *column: its id, if true. */
bool cache_is_kept(struct fs *fs, const struct pos *pos, uint64_t *column);
/* Has a node of it that is kept reached NODE_HOPS_MAX? */
bool cache_is_worn(struct fs *fs, const struct pos *pos, uint64_t *column);
/* Removes the nodes of the column, so that the next lookup makes another one. */
void cache_renew(struct fs *fs, const struct pos *pos);

/* Marks open versions of a column that are gone, in the plain tree, NODE_S_UNLINKED. */
void cache_check_versions(struct fs *fs, struct node *family, struct wcs_slice qualifier);

#endif
