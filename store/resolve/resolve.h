/* SPDX-License-Identifier: MIT */
/*
 * The resolve layer: reads the cells that a mutation or a move needs (for server timestamps,
 * appends, increments, merges, conditions, hidden cells), decides, and hands the engine plain
 * edits: cells to delete and cells to make. Private to store/.
 */
#ifndef WCS_RESOLVE_H
#define WCS_RESOLVE_H

#include "store/table/table.h"

/* As wcs_rows_mutate, of checked and sealed mutations; the caller has entered the table. room: for
 * the values that an append copies. Sets `hidden` of the writes that were applied: does the view
 * hide the cell that the write made? For its age that is exact. For its rank no more of the column
 * is read than the write needs: a cell behind newer ones may seem shown, but never the reverse.
 * Of several writes that make one cell at least one is marked. */
int resolve_rows(const struct wcs_table *table, const struct wcs_view *view,
		 struct wcs_entry *entries, size_t count, enum room_for room, size_t *applied);

/* Memory of the last batch of a store, for the next. NULL is none. */
struct resolve_edits;
void resolve_edits_free(struct resolve_edits *edits);

/* As wcs_cells_move; arguments as above. *hidden: as that of a write, for the cell that moved. */
int resolve_move(const struct wcs_table *table, const struct wcs_view *view, struct wcs_slice row,
		 const struct wcs_move *move, int64_t *ts, bool *hidden);

#endif
