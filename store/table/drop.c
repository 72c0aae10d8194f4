/* SPDX-License-Identifier: MIT */
/* Drops the rows of a subtree. */
#include "store/salt/salt.h"
#include "store/table/table.h"

#include <errno.h>

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
