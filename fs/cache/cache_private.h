/* SPDX-License-Identifier: MIT */
/* What the files of cache*.c have of each other. */
#ifndef FS_CACHE_PRIVATE_H
#define FS_CACHE_PRIVATE_H

#include "fs/cache/cache.h"

/* Counts a change, of a column or of anything. */
void cache_changed_column(struct fs *fs, uint64_t column);
void cache_changed_tree(struct fs *fs);

/* Withdraws a node, and its entry, which has the name `as` by now, later. */
void cache_withdraw_as(struct fs *fs, struct node *node, struct wcs_slice as);
/* The same without withdrawing the node. */
void cache_expire_as(struct fs *fs, struct node *node, struct wcs_slice as);

/* Sends the notice of the column's entry, without waiting and without withdrawing it. */
void cache_expire_soon(struct fs *fs, const struct pos *pos);

/* Is it, or a directory above it, removed? Then no lookup finds its entries. */
bool cache_is_below_removed(const struct node *node);

/* There was no memory to find what is kept. */
void cache_failed(struct fs *fs);

/* ---- cache_find.c ---- */

/* A node of the plain tree, with a reference; NULL: there is none. */
struct node *cache_find_table(struct fs *fs, const struct wcs_table *table);
struct node *cache_find_family(struct fs *fs, struct wcs_table *table, struct wcs_slice row,
			       const char *family);
/* A directory that is no history. */
struct node *cache_find_directory(struct fs *fs, const struct pos *pos);
/* A key; whole false: or else the longest part of it that has a node. */
struct node *cache_find_key(struct fs *fs, struct wcs_table *table, struct wcs_slice key,
			    bool *whole);

/* May the kernel have its entry still? */
bool cache_node_is_kept(const struct node *node);

/* Is the column's entry kept, or its notice under way? *column: its id, where it is. */
bool cache_is_kept(struct fs *fs, const struct pos *pos, uint64_t *column);
/* Has what is kept of it had another name too often? */
bool cache_is_worn(struct fs *fs, const struct pos *pos, uint64_t *column);
/* The next lookup of the column finds another node than those that it has. */
void cache_renew(struct fs *fs, const struct pos *pos);

/* Marks open versions of a column that have gone, in the plain tree, as without a name. */
void cache_check_versions(struct fs *fs, struct node *family, struct wcs_slice qualifier);

#endif
