/* SPDX-License-Identifier: MIT */
/* What a directory lists, in an order in which a listing can be resumed behind any child. */
#ifndef FS_CHILDREN_H
#define FS_CHILDREN_H

#include "fs/fs.h"
#include "fs/names/spell.h"

/* A child to resume behind. */
struct child {
	enum node_kind kind;
	size_t len;
	char bytes[];
};

/* A copy of a child; NULL: no memory. Freed with free. */
struct child *child_new(enum node_kind kind, struct wcs_slice bytes);

/*
 * Calls each for the children of node behind `after` (NULL: for all): first segments, then
 * families, each by their bytes ascending; versions newest first; last chunk directories that are
 * in memory. Names are not split: node is no chunk. bytes are what spell_child takes; info: of a
 * column, what lookup_file gives, NULL where it would take more than the listing; good during the
 * call. Stops when each returns other than 0, and returns that; 0: the end; or an error. Its cost
 * grows with the children given. Any thread, without a lock of the inode table; each is called in
 * that thread, with no lock of the walk's held.
 */
typedef int children_each(void *ctx, enum node_kind kind, struct wcs_slice bytes,
			  const struct wcs_cell_info *info);
int children_walk(struct fs *fs, const struct node *node, const struct child *after,
		  children_each *each, void *ctx);

#endif
