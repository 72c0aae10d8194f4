/* SPDX-License-Identifier: MIT */
/* Counts the rows and cells of a subtree, or of a family; divides a subtree into parts. */
#include "store/chain/chain_private.h"
#include "store/salt/salt.h"

#include <errno.h>

static int count_ranges(struct wcs_table *table, const struct wcs_range *ranges, size_t range_count,
			const struct wcs_filter *filter, struct wcs_count *count)
{
	uint64_t row_bytes = 0; /* of values of the present row */
	struct wcs_count found = {.rows = 0};
	struct wcs_scan *scan;
	struct wcs_cell cell;
	int rc = wcs_scan_open(table, ranges, range_count, filter, &scan);

	if (rc != 0)
		return rc;
	while ((rc = wcs_scan_next(scan, &cell)) == 1) {
		if (cell.differs == WCS_PART_ROW) {
			row_bytes = 0;
			found.rows++;
		}
		found.cells++;
		found.bytes += cell.info.size;
		row_bytes += cell.info.size;
		store_weigh_row(table, row_bytes, cell.info.size);
	}
	wcs_scan_close(scan);
	if (rc == 0)
		*count = found;
	return rc;
}

int wcs_rows_count(struct wcs_table *table, const struct wcs_slice *key, struct wcs_chain *chain,
		   struct wcs_count *count)
{
	const struct wcs_filter filter = {.each = WCS_EACH_CELL, .chain = chain};
	struct wcs_subtree subtree;
	int rc = wcs_subtree_init(&subtree, key, wcs_table_delimiter(table));

	return rc == 0 ? count_ranges(table, subtree.ranges, subtree.count, &filter, count) : rc;
}

int wcs_family_count(struct wcs_table *table, const char *name, struct wcs_count *count)
{
	const struct wcs_filter filter = {.families = &name, .family_count = 1};
	const struct wcs_range all = {.start = {NULL, 0}};

	return count_ranges(table, &all, 1, &filter, count);
}

/* ---- Dividing ---------------------------------------------------------------------------- */

int wcs_rows_splits(struct wcs_table *table, const struct wcs_slice *key, struct wcs_chain *chain,
		    int (*each)(void *ctx, struct wcs_slice row), void *ctx)
{
	struct chain_bounds bounds;
	struct wcs_subtree subtree;
	size_t count;
	int rc = wcs_subtree_init(&subtree, key, wcs_table_delimiter(table));

	if (rc == 0)
		rc = wcs_chain_moves(chain) ? -EINVAL : table_enter(table);
	if (rc != 0)
		return rc;
	chain_bounds(chain, wcs_table_keys(table), &bounds);
	count = chain_cut(&bounds, subtree.ranges, subtree.count);
	table_leave(table); /* its id is never used again, and many buckets take a while */
	return count == 0 ? 0
			  : salt_splits(&table->store->engine,
					chain_keys(chain, wcs_table_keys(table)), table->id,
					&subtree.ranges[count - 1], WCS_SPLITS_MAX, each, ctx);
}
