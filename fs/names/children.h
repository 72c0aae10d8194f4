/* SPDX-License-Identifier: MIT */
/* The children of a directory, in an order in which a listing can resume after any child. */
#ifndef FS_CHILDREN_H
#define FS_CHILDREN_H

#include "fs/fs.h"
#include "fs/names/spell.h"

/* A child, after which a listing resumes. */
struct child {
	enum node_kind kind;
	bool below; /* as in struct wcs_list_child */
	size_t len, given_len;
	char bytes[]; /* the name and a NUL, then `given` */
};

/* A scan of the store that goes on behind the last child given. Zero it first; one thread at a
 * time. */
struct children_scan {
	struct wcs_list *list;	  /* of segments */
	struct wcs_scan *scan;	  /* of columns or versions; both NULL: none is open */
	struct wcs_slice segment; /* the last one found */
	struct wcs_cell cell;	  /* the last one found */
	bool kept;		  /* it was not taken */
	struct wcs_list_child at; /* the segment for which `each` is called */
	/* The next two are of an open directory in a view, whose listing shows one moment of the
	 * view, and stay when the scan is closed. */
	bool entered;		 /* chain is the directory's */
	struct wcs_chain *chain; /* borrowed */
};
bool children_scan_is_open(const struct children_scan *scan);
void children_scan_close(struct children_scan *scan);

/* A copy of a child; NULL: no memory. Freed with free. */
struct child *child_new(enum node_kind kind, const struct wcs_list_child *of);
struct wcs_list_child child_of(const struct child *child); /* borrowed */

/*
 * Calls each for the children of node after `after` (NULL: for all): segments in the order of their
 * first rows, then families and columns in the order of their bytes; versions newest first; chunk
 * directories in memory last. Names are not split, so node is no chunk directory. bytes: as
 * spell_child takes them. info: of a column or version, as lookup_file gives it, NULL if it would
 * take another read; valid during the call. Stops if each returns other than 0 and returns that; 0:
 * the end; or an error. The cost grows with the children given. Any thread that holds no lock of
 * the inode table; each is called in that thread, while the walk holds no lock.
 *
 * scan (NULL: none): if `each` returned more than 0, it may be open and hold the child that `each`
 * did not take. The caller closes it, or passes it to the next walk of the same directory, with
 * the child before that one as `after`: that walk opens no scan of its own.
 */
typedef int children_each(void *ctx, enum node_kind kind, struct wcs_slice bytes,
			  const struct wcs_cell_info *info);
int children_walk(struct fs *fs, const struct node *node, const struct child *after,
		  struct children_scan *scan, children_each *each, void *ctx);

#endif
