/* SPDX-License-Identifier: MIT */
/*
 * What a view shows of the memory engine's cells: a cell's rank is counted anew each time it is
 * asked for, and its family's policy is asked for that cell alone.
 */
#include "memory.h"

#include <string.h>

static bool memory_same_column(const struct memory_cell *a, const struct memory_cell *b)
{
	return a->table == b->table && memory_cells_same(a->row, b->row) &&
	       memory_cells_same(a->family, b->family) &&
	       memory_cells_same(a->qualifier, b->qualifier);
}

int64_t memory_view_expiry(const struct memory_cells *cells, size_t i, const struct wcs_view *view)
{
	const struct memory_cell *cell = cells->all[i];
	char family[WCS_FAMILY_NAME_MAX + 1] = "";
	uint64_t rank = 1;

	memcpy(family, cell->family.data, cell->family.len);
	for (size_t newer = i; newer-- > 0 && memory_same_column(cells->all[newer], cell);)
		rank++;
	return wcs_view_expiry(wcs_view_gc(view, family), rank, cell->ts);
}

bool memory_view_hides(const struct memory_cells *cells, size_t i, const struct wcs_view *view)
{
	return wcs_view_hides(view, memory_view_expiry(cells, i, view));
}

struct memory_cell *memory_view_find(const struct memory_cells *cells, const struct wcs_view *view,
				     uint32_t table, struct wcs_slice row, const char *family,
				     struct wcs_slice qualifier, int64_t ts, int64_t *expires)
{
	struct memory_cell *cell = memory_cells_find(cells, table, row, family, qualifier, ts);
	size_t i = 0;

	while (cell != NULL && cells->all[i] != cell)
		i++;
	if (cell == NULL || memory_view_hides(cells, i, view))
		return NULL;
	*expires = memory_view_expiry(cells, i, view);
	return cell;
}

void memory_view_purge(struct memory_cells *cells, const struct wcs_view *view, uint32_t table,
		       struct wcs_slice row, const char *family, struct wcs_slice qualifier)
{
	for (size_t i = cells->count; i-- > 0;) {
		const struct memory_cell *cell = cells->all[i];

		if (cell->table == table && memory_cells_same(cell->row, row) &&
		    memory_cells_same(cell->family, memory_cells_text(family)) &&
		    memory_cells_same(cell->qualifier, qualifier) &&
		    memory_view_hides(cells, i, view))
			memory_cells_remove(cells, i);
	}
}
