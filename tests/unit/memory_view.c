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

void memory_view_purge(struct memory_cells *cells, const struct wcs_view *view, uint32_t table,
		       struct wcs_slice row, const char *family, struct wcs_slice qualifier)
{
	for (size_t i = cells->count; i-- > 0;)
		if (memory_cells_in(cells->all[i], table, row, family, qualifier) &&
		    memory_view_hides(cells, i, view))
			memory_cells_remove(cells, i);
}

/* Does the view hide the newest cell of a column, or one that is as new as ts? */
static bool memory_hides_from(const struct memory_cells *cells, const struct wcs_view *view,
			      uint32_t table, struct wcs_slice row, const char *family,
			      struct wcs_slice qualifier, int64_t ts)
{
	bool first = true;

	for (size_t i = 0; i < cells->count; i++) {
		if (!memory_cells_in(cells->all[i], table, row, family, qualifier))
			continue;
		if ((first || cells->all[i]->ts >= ts) && memory_view_hides(cells, i, view))
			return true;
		first = false;
	}
	return false;
}

/* A hidden column does not exist for a move. No hidden cell may count, be in the way, or gain rank
 * because a cell leaves. Hidden cells stay if all cells move, if one more comes as the newest, or
 * if the newest only gets another time before them. */
void memory_view_purge_move(struct memory_cells *cells, const struct wcs_view *view, uint32_t table,
			    struct wcs_slice row, const struct wcs_move *move)
{
	const struct wcs_gc *gc = wcs_view_gc(view, move->family);
	bool ranks = gc != NULL && wcs_gc_last_rank(gc) > 1;
	bool leaves = move->kind == WCS_MOVE_CELL || move->kind == WCS_MOVE_CELL_NEWEST;
	int64_t ts = leaves			    ? move->from_ts
		     : move->kind == WCS_MOVE_STAMP ? move->to_ts
						    : INT64_MAX;

	if ((leaves && ranks) ||
	    memory_hides_from(cells, view, table, row, move->family, move->from, ts))
		memory_view_purge(cells, view, table, row, move->family, move->from);
	if (move->kind == WCS_MOVE_STAMP || memory_cells_same(move->from, move->to))
		return;
	if (move->kind == WCS_MOVE_CELL ||
	    memory_hides_from(cells, view, table, row, move->family, move->to, INT64_MAX))
		memory_view_purge(cells, view, table, row, move->family, move->to);
}
