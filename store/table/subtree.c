/* SPDX-License-Identifier: MIT */
/*
 * Subtrees. A delimiter is an ASCII byte above NUL: a row's own range therefore ends before the
 * range of the rows below it starts, and the delimiter has a next byte.
 */
#include "store/table/subtree.h"

#include <errno.h>
#include <string.h>

/* Writes a bound: the key and one more byte. */
static struct wcs_slice subtree_bound(unsigned char *to, const struct wcs_slice *key,
				      unsigned char last)
{
	if (key->len > 0)
		memcpy(to, key->data, key->len);
	to[key->len] = last;
	return (struct wcs_slice){to, key->len + 1};
}

int wcs_subtree_init(struct wcs_subtree *subtree, const struct wcs_slice *key,
		     unsigned char delimiter)
{
	struct wcs_range *own = &subtree->ranges[0], *below = &subtree->ranges[1];

	*own = *below = (struct wcs_range){.start = {NULL, 0}};
	subtree->count = 1;
	if (!key)
		return 0;
	if (key->len > WCS_ROW_KEY_MAX)
		return -ENAMETOOLONG;
	if (key->len > 0 && !key->data)
		return -EINVAL;
	own->end = subtree_bound(subtree->past, key, '\0');
	own->start = (struct wcs_slice){subtree->past, key->len};
	below->start = subtree_bound(subtree->start, key, delimiter);
	below->end = subtree_bound(subtree->end, key, (unsigned char)(delimiter + 1));
	subtree->count = 2;
	return 0;
}
