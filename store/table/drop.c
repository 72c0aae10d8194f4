/* SPDX-License-Identifier: MIT */
/*
 * Drops the rows of a subtree.
 *
 * A delimiter is an ASCII byte above NUL: a row's own range therefore ends before the range of the
 * rows below it starts, and the delimiter has a next byte.
 */
#include "store/salt/salt.h"
#include "store/table/table.h"

#include <errno.h>
#include <string.h>

/* ---- Subtrees ---------------------------------------------------------------------------- */

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

/* ---- Dropping ---------------------------------------------------------------------------- */

/* Holds admin, not the gate: during a long drop the table stays, and lookups do not wait. The
 * delimiter changes under admin only. */
int wcs_rows_drop(struct wcs_table *table, const struct wcs_slice *key)
{
	const bool above = key != NULL && key->len > 0; /* there can be a row of that key itself */
	struct wcs_subtree subtree;
	size_t first;
	int rc = table_lock(table);

	if (rc != 0)
		return rc;
	rc = table->protected ? -EPERM : wcs_subtree_init(&subtree, key, table->delimiter);
	if (rc == 0 && above && key->len > wcs_keys_row_max(wcs_table_keys(table)))
		rc = -ENAMETOOLONG;
	if (rc == 0) {
		first = above ? 0 : subtree.count - 1;
		rc = salt_drop(&table->store->engine, wcs_table_keys(table), table->id,
			       subtree.ranges + first, subtree.count - first);
	}
	table_unlock(table);
	return rc;
}
