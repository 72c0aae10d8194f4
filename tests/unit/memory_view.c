/* SPDX-License-Identifier: MIT */
/*
 * Selects the cells of the memory engine that a view shows. It counts a cell's rank anew for each
 * question, and evaluates the family's policy for that cell alone.
 */
#include "tests/unit/memory.h"

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
	if (expires != NULL)
		*expires = memory_view_expiry(cells, i, view);
	return cell;
}
