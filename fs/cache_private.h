/* SPDX-License-Identifier: MIT */
/* What cache.c, with its counts, and cache_expire.c, which finds entries, have of each other. */
#ifndef FS_CACHE_PRIVATE_H
#define FS_CACHE_PRIVATE_H

#include "cache.h"

/* Counts a change, of a column or of anything. */
void cache_changed_column(struct fs *fs, uint64_t column);
void cache_changed_tree(struct fs *fs);

/* Withdraws a node, and its entry later; as: the entry has another name by now. */
void cache_withdraw(struct fs *fs, struct node *node);
void cache_withdraw_as(struct fs *fs, struct node *node, struct wcs_slice as);

/* Is the column's entry kept, or its notice under way? *column: its id, where it is. */
bool cache_is_kept(struct fs *fs, const struct pos *pos, uint64_t *column);
/* Sends the notice of the column's entry, without waiting and without withdrawing it. */
void cache_expire_soon(struct fs *fs, const struct pos *pos);

/* There was no memory to find what is kept. */
void cache_failed(struct fs *fs);

#endif
