/* SPDX-License-Identifier: MIT */
/* The memory engine's scans: each takes all it will give when it is opened. */
#include "tests/unit/memory.h"

struct memory_scan {
	struct wcs_scan base;
	struct memory_engine *engine;
	struct memory_cells found;
	int64_t *expires; /* of each */
	size_t next;
	bool at_cell;
};

static bool memory_matches(const struct memory_cell *cell, const struct wcs_filter *filter)
{
	bool family = filter->families == NULL;

	for (size_t i = 0; filter->families != NULL && i < filter->family_count; i++)
		family = family ||
			 memory_cells_same(cell->family, memory_cells_text(filter->families[i]));
	return family &&
	       memory_cells_within(cell->qualifier, filter->qualifier_from, filter->qualifier_to) &&
	       cell->ts >= filter->ts_from && (filter->ts_to == 0 || cell->ts < filter->ts_to);
}

/* Are the two in one row, one family, one column? */
static bool memory_alike(const struct memory_cell *a, const struct memory_cell *b,
			 enum wcs_each each)
{
	return each != WCS_EACH_CELL && memory_cells_same(a->row, b->row) &&
	       (each == WCS_EACH_ROW ||
		(memory_cells_same(a->family, b->family) &&
		 (each == WCS_EACH_FAMILY || memory_cells_same(a->qualifier, b->qualifier))));
}

static void memory_scan_fill(struct memory_scan *scan, const struct wcs_view *view, uint32_t table,
			     const struct wcs_range *range, const struct wcs_filter *filter)
{
	const struct memory_cells *cells = &scan->engine->cells;
	const struct memory_cell *column = NULL;
	uint32_t of_column = 0;

	for (size_t i = 0; i < cells->count; i++) {
		struct memory_cell *cell = cells->all[i];
		size_t count = scan->found.count;

		if (cell->table != table ||
		    !memory_cells_within(cell->row, range->start, range->end) ||
		    !memory_matches(cell, filter) || memory_view_hides(cells, i, view))
			continue;
		if (column == NULL || !memory_alike(column, cell, WCS_EACH_COLUMN))
			of_column = 0;
		column = cell;
		of_column++;
		if (filter->newest != 0 && of_column > filter->newest)
			continue;
		if (count > 0 && memory_alike(scan->found.all[count - 1], cell, filter->each))
			continue;
		cell->refs++;
		memory_cells_add(&scan->found, count, cell);
		scan->expires =
			memory_cells_realloc(scan->expires, (count + 1) * sizeof(*scan->expires));
		scan->expires[count] = memory_view_expiry(cells, i, view);
	}
}

int memory_scan_open(void *db, const struct wcs_view *view, uint32_t table,
		     const struct wcs_range *range, const struct wcs_filter *filter,
		     struct wcs_scan **scan)
{
	struct memory_scan *made = memory_cells_realloc(NULL, sizeof(*made));

	memset(made, 0, sizeof(*made));
	made->base.backend = &wcs_backend_memory;
	made->engine = db;
	pthread_mutex_lock(&made->engine->mutex);
	memory_scan_fill(made, view, table, range, filter);
	pthread_mutex_unlock(&made->engine->mutex);
	*scan = &made->base;
	return 0;
}

int memory_scan_next(struct wcs_scan *scan, struct wcs_cell *cell)
{
	struct memory_scan *at = (struct memory_scan *)scan;
	const struct memory_cell *found;

	at->at_cell = at->next < at->found.count;
	if (!at->at_cell)
		return 0;
	found = at->found.all[at->next++];
	cell->row = found->row;
	cell->family = found->family;
	cell->qualifier = found->qualifier;
	cell->info = memory_cells_info(found, at->expires[at->next - 1]);
	cell->value = (struct wcs_slice){NULL, 0};
	if (found->value.len <= WCS_VALUE_INLINE)
		cell->value = found->value;
	return 1;
}

int memory_scan_seek(struct wcs_scan *scan, struct wcs_slice row)
{
	struct memory_scan *at = (struct memory_scan *)scan;

	at->at_cell = false;
	at->next = 0;
	while (at->next < at->found.count &&
	       wcs_slice_compare(at->found.all[at->next]->row, row) < 0)
		at->next++;
	return 0;
}

int memory_scan_read(struct wcs_scan *scan, void *buf, size_t len, uint64_t offset, size_t *got)
{
	struct memory_scan *at = (struct memory_scan *)scan;

	if (!at->at_cell)
		return -EINVAL;
	return memory_cells_read(at->found.all[at->next - 1], buf, len, offset, got);
}

void memory_scan_close(struct wcs_scan *scan)
{
	struct memory_scan *closed = (struct memory_scan *)scan;

	pthread_mutex_lock(&closed->engine->mutex);
	memory_cells_clear(&closed->found);
	free(closed->expires);
	pthread_mutex_unlock(&closed->engine->mutex);
	free(closed);
}
