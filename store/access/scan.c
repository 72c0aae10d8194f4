/* SPDX-License-Identifier: MIT */
/* Scans: checks the arguments and copies the filter. An empty range, filter or list of families
 * never reaches an engine. */
#include "store/chain/chain_private.h"
#include "store/heat/heat_count.h"
#include "store/salt/salt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Arguments --------------------------------------------------------------------------- */

/* A bound may be a byte longer than the key it bounds: the longest key with a NUL behind it. */
static int scan_check_bounds(struct wcs_slice from, struct wcs_slice to, size_t max)
{
	int rc = store_check_slice(from, max + 1);

	return rc == 0 ? store_check_slice(to, max + 1) : rc;
}

/* ---- Scans ------------------------------------------------------------------------------- */

/* The scan without cells: it has no engine and no state, and all callers share it. */
static struct wcs_scan scan_none;

static void scan_copy_slice(struct wcs_slice *slice, char **to)
{
	if (slice->data == NULL)
		return;
	if (slice->len > 0)
		memcpy(*to, slice->data, slice->len);
	slice->data = *to;
	*to += slice->len;
}

/* Copies the filter with its slices, and those of its families that the table has. NULL: no memory.
 */
static struct wcs_filter *scan_copy_filter(const struct wcs_table *table,
					   const struct wcs_filter *filter)
{
	size_t count = filter->families != NULL ? filter->family_count : 0, kept = 0;
	struct wcs_filter *copy =
		malloc(sizeof(*copy) + count * (sizeof(char *) + WCS_FAMILY_NAME_MAX + 1) +
		       filter->qualifier_from.len + filter->qualifier_to.len + 1);
	const char **names = (const char **)(copy + 1);
	char *bytes = (char *)(names + count);

	if (copy == NULL)
		return NULL;
	*copy = *filter;
	for (size_t i = 0; i < count; i++) {
		if (family_of(table, filter->families[i]) == NULL)
			continue;
		names[kept++] = strcpy(bytes, filter->families[i]);
		bytes += strlen(bytes) + 1;
	}
	engine_sort_families(names, kept);
	if (copy->families != NULL)
		copy->families = names;
	copy->family_count = kept;
	scan_copy_slice(&copy->qualifier_from, &bytes);
	scan_copy_slice(&copy->qualifier_to, &bytes);
	return copy;
}

/* Keeps the ranges that are not empty; kept has room for all. -EINVAL: they are not in order. */
static int scan_keep_ranges(const struct wcs_range *ranges, size_t count, struct wcs_range *kept,
			    size_t *kept_count)
{
	size_t made = 0;

	for (size_t i = 0; i < count; i++) {
		int rc = scan_check_bounds(ranges[i].start, ranges[i].end, WCS_ROW_KEY_MAX);

		if (rc != 0)
			return rc;
		if (engine_bounds_empty(ranges[i].start, ranges[i].end))
			continue;
		if (made > 0 && (kept[made - 1].end.data == NULL ||
				 wcs_slice_compare(kept[made - 1].end, ranges[i].start) > 0))
			return -EINVAL;
		kept[made++] = ranges[i];
	}
	*kept_count = made;
	return 0;
}

/* The caller has entered the table. */
static int scan_start(struct wcs_table *table, const struct wcs_range *ranges, size_t range_count,
		      const struct wcs_filter *filter, struct wcs_scan **scan)
{
	struct wcs_view view = table_view(table);
	struct wcs_filter *copy = scan_copy_filter(table, filter);
	int rc = 0;

	if (copy == NULL)
		return -ENOMEM;
	if (range_count == 0 || engine_filter_empty(copy)) {
		free(copy);
		*scan = &scan_none;
		return 0;
	}
	if (copy->chain != NULL)
		rc = chain_scan(table, &view, ranges, range_count, copy, scan);
	else
		rc = salt_scan(&table->store->engine, wcs_table_keys(table), &view, table->id,
			       ranges, range_count, copy, scan);
	if (rc != 0) {
		free(copy);
		return rc;
	}
	(*scan)->policies = wcs_policies_hold(table->policies);
	(*scan)->table = table_hold(table);
	(*scan)->filter = copy;
	(*scan)->heat = NULL;
	return 0;
}

int wcs_scan_open(struct wcs_table *table, const struct wcs_range *ranges, size_t range_count,
		  const struct wcs_filter *filter, struct wcs_scan **scan)
{
	struct wcs_range *kept = malloc((range_count + 1) * sizeof(*kept));
	int rc = kept != NULL ? 0 : -ENOMEM;
	struct chain_bounds bounds;

	if (rc == 0)
		rc = scan_keep_ranges(ranges, range_count, kept, &range_count);
	if (rc == 0)
		rc = scan_check_bounds(filter->qualifier_from, filter->qualifier_to,
				       WCS_QUALIFIER_MAX);
	if (rc == 0 &&
	    (filter->ts_from < 0 || filter->ts_to < 0 ||
	     (unsigned int)filter->each > WCS_EACH_ROW || wcs_chain_moves(filter->chain)))
		rc = -EINVAL;
	if (rc == 0)
		rc = table_enter(table);
	if (rc == 0) {
		if (filter->chain != NULL) {
			chain_bounds(filter->chain, wcs_table_keys(table), &bounds);
			range_count = chain_cut(&bounds, kept, range_count);
		}
		rc = scan_start(table, kept, range_count, filter, scan);
		table_leave(table);
	}
	free(kept);
	return rc;
}

int wcs_scan_next(struct wcs_scan *scan, struct wcs_cell *cell)
{
	int rc = scan->ops != NULL ? scan->ops->next(scan, cell) : 0;

	store_rows_read += rc > 0 && cell->differs == WCS_PART_ROW;
	/* The rows of a chain are counted by chain_scan.c. */
	if (rc > 0 && cell->differs == WCS_PART_ROW && scan->filter->chain == NULL &&
	    !scan->filter->uncounted)
		heat_count_row(scan, wcs_table_keys(scan->table), cell->row);
	return rc;
}

int wcs_scan_seek(struct wcs_scan *scan, struct wcs_slice row)
{
	int rc = store_check_slice(row, WCS_ROW_KEY_MAX + 1);

	return rc == 0 && scan->ops != NULL ? scan->ops->seek(scan, row) : rc;
}

int wcs_scan_read(struct wcs_scan *scan, void *buf, size_t len, uint64_t offset, size_t *got)
{
	return scan->ops != NULL ? scan->ops->read(scan, buf, len, offset, got) : -EINVAL;
}

void wcs_scan_close(struct wcs_scan *scan)
{
	struct wcs_policies *policies;
	struct wcs_filter *filter;
	struct wcs_table *table;

	if (scan == NULL || scan->ops == NULL)
		return;
	policies = scan->policies;
	filter = scan->filter;
	table = scan->table;
	heat_count_close(scan);
	scan->ops->close(scan);
	wcs_policies_drop(policies);
	wcs_table_close(table);
	free(filter);
}
