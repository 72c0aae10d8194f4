/* SPDX-License-Identifier: MIT */
/* The memory engine's scans: each takes all it will give when it is opened. */
#include "tests/unit/memory.h"

struct memory_scan {
	struct wcs_scan base;
	struct memory_engine *engine;
	struct memory_cells found;
	size_t next;
	bool reverse;
	bool at_cell;
};

static int memory_scan_next(struct wcs_scan *scan, struct wcs_cell *cell)
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
	cell->info = (struct wcs_cell_info){
		.ts = found->ts, .size = found->value.len, .etag = found->etag};
	cell->value = (struct wcs_slice){NULL, 0};
	if (found->value.len <= WCS_VALUE_INLINE)
		cell->value = found->value;
	return 1;
}

static int memory_scan_seek(struct wcs_scan *scan, struct wcs_slice row)
{
	struct memory_scan *at = (struct memory_scan *)scan;

	at->at_cell = false;
	at->next = 0;
	while (at->next < at->found.count &&
	       at->reverse == (wcs_slice_compare(at->found.all[at->next]->row, row) >= 0))
		at->next++;
	return 0;
}

static int memory_scan_read(struct wcs_scan *scan, void *buf, size_t len, uint64_t offset,
			    size_t *got)
{
	struct memory_scan *at = (struct memory_scan *)scan;

	if (!at->at_cell)
		return -EINVAL;
	return memory_cells_read(at->found.all[at->next - 1]->value, buf, len, offset, got);
}

static void memory_scan_close(struct wcs_scan *scan)
{
	struct memory_scan *closed = (struct memory_scan *)scan;

	pthread_mutex_lock(&closed->engine->mutex);
	memory_cells_clear(&closed->found);
	pthread_mutex_unlock(&closed->engine->mutex);
	free(closed);
}

static const struct scan_ops functions = {.next = memory_scan_next,
					  .seek = memory_scan_seek,
					  .read = memory_scan_read,
					  .close = memory_scan_close};

int memory_scan_open(void *db, const struct wcs_view *view, uint32_t table,
		     const struct wcs_range *ranges, size_t range_count,
		     const struct wcs_filter *filter, struct wcs_scan **scan)
{
	struct memory_scan *made = memory_cells_realloc(NULL, sizeof(*made));
	struct memory_engine *engine = db;
	size_t at = 0;

	(void)view;
	memset(made, 0, sizeof(*made));
	made->base.ops = &functions;
	made->engine = engine;
	made->reverse = filter->reverse;
	pthread_mutex_lock(&engine->mutex);
	for (size_t i = 0; i < engine->cells.count; i++) {
		struct memory_cell *cell = engine->cells.all[i];
		size_t in = 0;

		while (in < range_count &&
		       !memory_cells_within(cell->row, ranges[in].start, ranges[in].end))
			in++;
		if (cell->table != table || in == range_count)
			continue;
		cell->refs++;
		if (!made->reverse)
			at = made->found.count;
		else if (made->found.count > 0 &&
			 memory_cells_same(made->found.all[at]->row, cell->row))
			at++;
		else
			at = 0; /* before the rows before it */
		memory_cells_add(&made->found, at, cell);
	}
	pthread_mutex_unlock(&engine->mutex);
	*scan = &made->base;
	return 0;
}
