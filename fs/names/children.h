/* SPDX-License-Identifier: MIT */
/* The children of a directory, in an order in which a listing can resume after any child. */
#ifndef FS_CHILDREN_H
#define FS_CHILDREN_H

#include "fs/fs.h"
#include "fs/names/spell.h"

/* A child, after which a listing resumes. */
struct child {
	enum node_kind kind;
	size_t len;
	char bytes[];
};

/* A copy of a child; NULL: no memory. Freed with free. */
struct child *child_new(enum node_kind kind, struct wcs_slice bytes);

/*
 * Calls each for the children of node after `after` (NULL: for all): segments, then families, each
 * in the order of their bytes; versions newest first; chunk directories in memory last. Names are
 * not split, so node is no chunk directory. bytes: as spell_child takes them. info: of a column, as
 * lookup_file gives it, NULL if it would take another read; valid during the call. Stops if each
 * returns other than 0 and returns that; 0: the end; or an error. The cost grows with the children
 * given. Any thread that holds no lock of the inode table; each is called in that thread, while the
 * walk holds no lock.
 */
typedef int children_each(void *ctx, enum node_kind kind, struct wcs_slice bytes,
			  const struct wcs_cell_info *info);
int children_walk(struct fs *fs, const struct node *node, const struct child *after,
		  children_each *each, void *ctx);

#endif
