/* SPDX-License-Identifier: MIT */
/*
 * Reads: cells, values, keys and scans. Each call checks its arguments, takes the table's
 * gate and calls the engine, which may trust the arguments.
 *
 * An empty range, filter or list of families never reaches the engine.
 */
#include "store/table/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Arguments --------------------------------------------------------------------------- */

int store_check_slice(struct wcs_slice slice, size_t max)
{
	if (slice.len > max)
		return -ENAMETOOLONG;
	return slice.data == NULL && slice.len > 0 ? -EINVAL : 0;
}

int store_check_row(struct wcs_slice row)
{
	return row.len == 0 ? -EINVAL : store_check_slice(row, WCS_ROW_KEY_MAX);
}

/* A bound may be a byte longer than the key it bounds: the longest key with a NUL behind it. */
static int store_check_bounds(struct wcs_slice from, struct wcs_slice to, size_t max)
{
	int rc = store_check_slice(from, max + 1);

	return rc == 0 ? store_check_slice(to, max + 1) : rc;
}

static bool store_bounds_empty(struct wcs_slice from, struct wcs_slice to)
{
	return to.data != NULL && wcs_slice_compare(from, to) >= 0;
}

/* ---- Reading cells ----------------------------------------------------------------------- */

/* Checks the cell's name and enters the table for a call on it. */
static int store_enter_cell(struct wcs_table *table, const struct wcs_address *at,
			    struct wcs_view *view)
{
	int rc = store_check_row(at->row);

	if (rc == 0)
		rc = store_check_slice(at->qualifier, WCS_QUALIFIER_MAX);
	if (rc == 0 && at->ts < 0 && at->ts != WCS_TS_NEWEST)
		rc = -EINVAL;
	if (rc == 0)
		rc = table_enter(table);
	if (rc != 0)
		return rc;
	*view = table_view(table);
	if (family_of(table, at->family) != NULL)
		return 0;
	table_leave(table);
	return -ENOENT;
}

int wcs_cell_get(struct wcs_table *table, struct wcs_slice row, const char *family,
		 struct wcs_slice qualifier, int64_t ts, struct wcs_cell_info *info)
{
	const struct wcs_address at = {table->id, row, family, qualifier, ts};
	struct wcs_view view;
	int rc = store_enter_cell(table, &at, &view);

	if (rc != 0)
		return rc;
	rc = table->store->backend->cell_get(table->store->db, &view, &at, info);
	table_leave(table);
	return rc;
}

int wcs_value_open(struct wcs_table *table, struct wcs_slice row, const char *family,
		   struct wcs_slice qualifier, int64_t ts, struct wcs_value **value)
{
	const struct wcs_address at = {table->id, row, family, qualifier, ts};
	struct wcs_view view;
	int rc = store_enter_cell(table, &at, &view);

	if (rc != 0)
		return rc;
	rc = table->store->backend->value_open(table->store->db, &view, &at, value);
	table_leave(table);
	return rc;
}

const struct wcs_cell_info *wcs_value_info(const struct wcs_value *value)
{
	return &value->info;
}

int wcs_value_read(struct wcs_value *value, void *buf, size_t len, uint64_t offset, size_t *got)
{
	uint64_t rest = offset < value->info.size ? value->info.size - offset : 0;
	size_t wanted = len < rest ? len : (size_t)rest;

	if (wanted == 0) {
		*got = 0;
		return 0;
	}
	return value->backend->value_read(value, buf, wanted, offset, got);
}

void wcs_value_close(struct wcs_value *value)
{
	if (value != NULL)
		value->backend->value_close(value);
}

/* Whether the view shows a cell in the range; *expires falls to the time when it hides that cell.
 */
static int store_shows(const struct wcs_table *table, const struct wcs_view *view,
		       struct wcs_slice start, struct wcs_slice end, bool *shows, int64_t *expires)
{
	static const struct wcs_filter first = {.each = WCS_EACH_ROW};
	const struct wcs_backend *backend = table->store->backend;
	const struct wcs_range range = {start, end};
	struct wcs_scan *scan;
	struct wcs_cell cell;
	int rc = backend->scan_open(table->store->db, view, table->id, &range, &first, &scan);

	if (rc != 0)
		return rc;
	rc = backend->scan_next(scan, &cell);
	backend->scan_close(scan);
	*shows = rc > 0;
	if (rc > 0 && cell.info.expires < *expires)
		*expires = cell.info.expires;
	return rc < 0 ? rc : 0;
}

static int store_key_get(const struct wcs_table *table, const struct wcs_view *view,
			 struct wcs_slice key, struct wcs_key_info *info)
{
	struct wcs_key_info known = {false, false, WCS_TS_MAX};
	struct wcs_subtree below;
	int rc = wcs_subtree_init(&below, &key, table->delimiter);
	const struct wcs_range *rows = below.ranges;

	if (rc == 0 && key.len > 0)
		rc = store_shows(table, view, rows[0].start, rows[0].end, &known.row,
				 &known.expires);
	rows += below.count - 1;
	if (rc == 0)
		rc = store_shows(table, view, rows->start, rows->end, &known.prefix,
				 &known.expires);
	if (rc == 0)
		*info = known;
	return rc;
}

int wcs_key_get(struct wcs_table *table, struct wcs_slice key, struct wcs_key_info *info)
{
	const struct wcs_backend *backend = table->store->backend;
	int rc = store_check_slice(key, WCS_ROW_KEY_MAX);
	struct wcs_view view;

	if (rc == 0)
		rc = table_enter(table);
	if (rc != 0)
		return rc;
	view = table_view(table);
	if (backend->key_get != NULL && !wcs_view_hides_rows(&view))
		rc = backend->key_get(table->store->db, table->id, key, table->delimiter, info);
	else
		rc = store_key_get(table, &view, key, info);
	table_leave(table);
	return rc;
}

/* ---- Scans ------------------------------------------------------------------------------- */

/* The scan without cells: it has no engine and no state, and all callers share it. */
static struct wcs_scan store_none;

static int store_compare_names(const void *left, const void *right)
{
	const char *const *a = left;
	const char *const *b = right;

	return strcmp(*a, *b);
}

/* The caller has entered the table. The engine gets the families that it has, sorted, each once. */
static int store_scan_start(struct wcs_table *table, const struct wcs_range *range,
			    struct wcs_filter filter, struct wcs_scan **scan)
{
	const struct wcs_backend *backend = table->store->backend;
	struct wcs_view view = table_view(table);
	const char **names = NULL;
	size_t kept = 0;
	int rc;

	if (filter.families != NULL && filter.family_count > 0) {
		names = calloc(filter.family_count, sizeof(*names));
		if (names == NULL)
			return -ENOMEM;
		memcpy(names, filter.families, filter.family_count * sizeof(*names));
		qsort(names, filter.family_count, sizeof(*names), store_compare_names);
		for (size_t i = 0; i < filter.family_count; i++)
			if ((kept == 0 || strcmp(names[kept - 1], names[i]) != 0) &&
			    family_of(table, names[i]) != NULL)
				names[kept++] = names[i];
		filter.family_count = kept;
		filter.families = names;
	}
	if (store_bounds_empty(range->start, range->end) ||
	    store_bounds_empty(filter.qualifier_from, filter.qualifier_to) ||
	    (filter.ts_to != 0 && filter.ts_from >= filter.ts_to) ||
	    (filter.families != NULL && filter.family_count == 0)) {
		*scan = &store_none;
		rc = 0;
	} else {
		rc = backend->scan_open(table->store->db, &view, table->id, range, &filter, scan);
		if (rc == 0)
			(*scan)->policies = wcs_policies_hold(table->policies);
	}
	free(names);
	return rc;
}

int wcs_scan_open(struct wcs_table *table, const struct wcs_range *range,
		  const struct wcs_filter *filter, struct wcs_scan **scan)
{
	int rc = store_check_bounds(range->start, range->end, WCS_ROW_KEY_MAX);

	if (rc == 0)
		rc = store_check_bounds(filter->qualifier_from, filter->qualifier_to,
					WCS_QUALIFIER_MAX);
	if (rc == 0 &&
	    (filter->ts_from < 0 || filter->ts_to < 0 || (unsigned int)filter->each > WCS_EACH_ROW))
		rc = -EINVAL;
	if (rc == 0)
		rc = table_enter(table);
	if (rc != 0)
		return rc;
	rc = store_scan_start(table, range, *filter, scan);
	table_leave(table);
	return rc;
}

int wcs_scan_next(struct wcs_scan *scan, struct wcs_cell *cell)
{
	return scan->backend != NULL ? scan->backend->scan_next(scan, cell) : 0;
}

int wcs_scan_seek(struct wcs_scan *scan, struct wcs_slice row)
{
	int rc = store_check_slice(row, WCS_ROW_KEY_MAX + 1);

	return rc == 0 && scan->backend != NULL ? scan->backend->scan_seek(scan, row) : rc;
}

int wcs_scan_read(struct wcs_scan *scan, void *buf, size_t len, uint64_t offset, size_t *got)
{
	return scan->backend != NULL ? scan->backend->scan_read(scan, buf, len, offset, got)
				     : -EINVAL;
}

void wcs_scan_close(struct wcs_scan *scan)
{
	struct wcs_policies *policies;

	if (scan == NULL || scan->backend == NULL)
		return;
	policies = scan->policies;
	scan->backend->scan_close(scan);
	wcs_policies_drop(policies);
}
