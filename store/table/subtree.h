/* SPDX-License-Identifier: MIT */
/* A row and all rows below it, as ranges of keys. Private. */
#ifndef WCS_SUBTREE_H
#define WCS_SUBTREE_H

#include "store/store.h"

/*
 * Below a row are the keys that start with its key and the delimiter. Other keys may lie between
 * ("a!b" is between "a" and "a#b"): a subtree has two ranges, in order, a whole table one.
 */
struct wcs_subtree {
	struct wcs_range ranges[2]; /* borrow from here: a subtree must not be copied or moved */
	size_t count;		    /* 1 or 2 */
	unsigned char start[WCS_ROW_KEY_MAX + 1]; /* the key and the delimiter */
	unsigned char end[WCS_ROW_KEY_MAX + 1];	  /* the first key behind that prefix */
	unsigned char past[WCS_ROW_KEY_MAX + 1];  /* the first key behind the row's own */
};

/*
 * key NULL: all rows. An empty key is that of no row, but rows may be below it. -EINVAL,
 * -ENAMETOOLONG: key.
 */
int wcs_subtree_init(struct wcs_subtree *subtree, const struct wcs_slice *key,
		     unsigned char delimiter);

#endif
