/* SPDX-License-Identifier: MIT */
/*
 * Evaluates views and filters over an engine that only gives cells in order.
 *
 * A cell's rank is counted from the newest cell of its column, which the engine gives first. Only
 * whole rows are skipped with a seek.
 */
#include "store/engine/engine.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { FILTER_ASKS = 1024 }; /* cells between two questions whether to go on */

struct filter {
	struct wcs_scan base;
	struct wcs_view view;
	const struct wcs_options *options;
	const struct wcs_filter *wanted;
	enum wcs_each each;	 /* of the next cell */
	bool entering;		 /* cells of the row before the present column are passed over */
	bool started;		 /* there is a present column */
	const struct wcs_gc *gc; /* of its family */
	uint64_t rank;		 /* of the last cell in it */
	unsigned int passed;	 /* cells */
	uint32_t fitting;	 /* cells of it that fit */
	bool given[WCS_EACH_ROW + 1]; /* a cell of the present column, family, row was given */
	size_t row_len, qualifier_len;
	char family[WCS_FAMILY_NAME_MAX + 1];
	unsigned char row[WCS_ROW_KEY_MAX + 1];
	unsigned char qualifier[WCS_QUALIFIER_MAX + 1];
};

static bool filter_same(struct wcs_slice a, const void *data, size_t len)
{
	return wcs_slice_compare(a, (struct wcs_slice){data, len}) == 0;
}

/* Makes the cell's column the present one. */
static void filter_enter_column(struct filter *filter, const struct wcs_cell *cell)
{
	bool row = filter->started && filter_same(cell->row, filter->row, filter->row_len);
	bool family = row && filter_same(cell->family, filter->family, strlen(filter->family));

	if (family && filter_same(cell->qualifier, filter->qualifier, filter->qualifier_len))
		return;
	filter->given[WCS_EACH_COLUMN] = false;
	filter->given[WCS_EACH_FAMILY] = filter->given[WCS_EACH_FAMILY] && family;
	filter->given[WCS_EACH_ROW] = filter->given[WCS_EACH_ROW] && row;
	filter->started = true;
	filter->rank = 0;
	filter->fitting = 0;
	filter->row_len = cell->row.len;
	memcpy(filter->row, cell->row.data, cell->row.len);
	memcpy(filter->family, cell->family.data, cell->family.len);
	filter->family[cell->family.len] = '\0';
	filter->qualifier_len = cell->qualifier.len;
	if (cell->qualifier.len > 0)
		memcpy(filter->qualifier, cell->qualifier.data, cell->qualifier.len);
	filter->gc = wcs_view_gc(&filter->view, filter->family);
}

/* Is it a cell of the row to enter, before the column to enter? */
static bool filter_before(const struct filter *filter, const struct wcs_cell *cell)
{
	int order = wcs_slice_compare(cell->family,
				      (struct wcs_slice){filter->family, strlen(filter->family)});

	if (order == 0)
		order = wcs_slice_compare(
			cell->qualifier,
			(struct wcs_slice){filter->qualifier, filter->qualifier_len});
	return order < 0 && filter_same(cell->row, filter->row, filter->row_len);
}

static int filter_next(struct wcs_scan *base, struct wcs_cell *cell)
{
	struct filter *filter = (struct filter *)base;
	const struct wcs_filter *wanted = filter->wanted;
	struct wcs_scan *of = base->below;
	int rc = 0;

	if (filter->each == WCS_EACH_ROW && filter->given[WCS_EACH_ROW]) {
		filter->row[filter->row_len] = 0;
		rc = of->ops->seek(
			of, (struct wcs_slice){filter->row, filter->row_len + !wanted->reverse});
	}
	while (rc == 0 && (rc = of->ops->next(of, cell)) > 0) {
		rc = 0;
		if (++filter->passed % FILTER_ASKS == 0 && wcs_interrupted(filter->options))
			return -EINTR;
		filter->entering = filter->entering && filter_before(filter, cell);
		if (filter->entering)
			continue;
		filter_enter_column(filter, cell);
		cell->info.expires = wcs_view_expiry(filter->gc, ++filter->rank, cell->info.ts);
		if (wcs_view_hides(&filter->view, cell->info.expires) ||
		    !engine_filter_has(filter->wanted, cell))
			continue;
		filter->fitting++;
		if ((wanted->newest != 0 && filter->fitting > wanted->newest) ||
		    (filter->each != WCS_EACH_CELL && filter->given[filter->each]))
			continue;
		cell->differs = (enum wcs_part)(filter->given[WCS_EACH_ROW] +
						filter->given[WCS_EACH_FAMILY] +
						filter->given[WCS_EACH_COLUMN]);
		filter->given[WCS_EACH_COLUMN] = filter->given[WCS_EACH_FAMILY] = true;
		filter->given[WCS_EACH_ROW] = true;
		filter->each = wanted->each;
		return 1;
	}
	return rc;
}

static int filter_seek(struct wcs_scan *base, struct wcs_slice row)
{
	struct filter *filter = (struct filter *)base;

	filter->started = filter->entering = false;
	filter->each = filter->wanted->each;
	memset(filter->given, 0, sizeof(filter->given));
	return base->below->ops->seek(base->below, row);
}

/* Seeks the row and passes over the cells before the column. */
static int filter_enter(struct wcs_scan *base, struct wcs_slice row, const char *family,
			struct wcs_slice qualifier)
{
	struct filter *filter = (struct filter *)base;
	int rc;

	filter->row_len = row.len;
	memmove(filter->row, row.data, row.len);
	filter->row[row.len] = 0;
	filter->qualifier_len = family != NULL ? qualifier.len : 0;
	if (filter->qualifier_len > 0)
		memmove(filter->qualifier, qualifier.data, qualifier.len);
	memmove(filter->family, family != NULL ? family : "",
		family != NULL ? strlen(family) + 1 : 1);
	rc = filter_seek(base, (struct wcs_slice){filter->row, row.len + filter->wanted->reverse});
	filter->entering = true;
	return rc;
}

static void filter_skip(struct wcs_scan *base, enum wcs_part part)
{
	struct filter *filter = (struct filter *)base;

	if (filter->started)
		filter->each = (enum wcs_each)(WCS_EACH_ROW - part);
}

static const struct scan_ops filter_ops = {filter_next,	 filter_seek, scan_pass_read,
					   filter_enter, filter_skip, scan_pass_close};

static int filter_open(const struct wcs_engine *engine, const struct wcs_view *view, uint32_t table,
		       const struct wcs_range *ranges, size_t range_count,
		       const struct wcs_filter *wanted, struct wcs_scan **scan)
{
	static const struct wcs_view everything = {.policies = NULL};
	static const struct wcs_filter cells[] = {{.reverse = false}, {.reverse = true}};
	struct filter *filter = malloc(sizeof(*filter));
	int rc;

	if (filter == NULL)
		return -ENOMEM;
	memset(filter, 0, offsetof(struct filter, family));
	filter->base.ops = &filter_ops;
	filter->view = *view;
	filter->options = engine->options;
	filter->wanted = wanted;
	filter->each = wanted->each;
	rc = engine->backend->scan_open(engine->db, &everything, table, ranges, range_count,
					&cells[wanted->reverse], &filter->base.below);
	if (rc != 0)
		free(filter);
	else
		*scan = &filter->base;
	return rc;
}

/* ---- Any engine -------------------------------------------------------------------------- */

bool engine_filter_has(const struct wcs_filter *filter, const struct wcs_cell *cell)
{
	bool family = filter->families == NULL;

	for (size_t i = 0; i < filter->family_count && !family; i++)
		family = strlen(filter->families[i]) == cell->family.len &&
			 memcmp(filter->families[i], cell->family.data, cell->family.len) == 0;
	return family && wcs_slice_compare(cell->qualifier, filter->qualifier_from) >= 0 &&
	       (filter->qualifier_to.data == NULL ||
		wcs_slice_compare(cell->qualifier, filter->qualifier_to) < 0) &&
	       cell->info.ts >= filter->ts_from &&
	       (filter->ts_to == 0 || cell->info.ts < filter->ts_to);
}

static int engine_compare_names(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

void engine_sort_families(const char **families, size_t count)
{
	if (count > 0)
		qsort(families, count, sizeof(*families), engine_compare_names);
}

int engine_scan(const struct wcs_engine *engine, const struct wcs_view *view, uint32_t table,
		const struct wcs_range *ranges, size_t range_count, const struct wcs_filter *filter,
		struct wcs_scan **scan)
{
	if (filter->reverse && !engine->backend->can.reverse)
		return -EOPNOTSUPP;
	if (!engine->backend->can.filter)
		return filter_open(engine, view, table, ranges, range_count, filter, scan);
	return engine->backend->scan_open(engine->db, view, table, ranges, range_count, filter,
					  scan);
}

int engine_first(const struct wcs_engine *engine, const struct wcs_view *view, uint32_t table,
		 const struct wcs_range *ranges, size_t range_count,
		 const struct wcs_filter *filter, struct wcs_cell *cell)
{
	struct wcs_scan *scan;
	int rc = engine_scan(engine, view, table, ranges, range_count, filter, &scan);

	if (rc != 0)
		return rc;
	rc = scan->ops->next(scan, cell);
	scan->ops->close(scan);
	return rc;
}
