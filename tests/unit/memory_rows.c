/* SPDX-License-Identifier: MIT */
/* Changes of rows in the memory engine, whose mutex is held from rows_open to rows_close. */
#include "tests/unit/memory.h"

struct memory_rows {
	struct memory_engine *engine;
	uint32_t table;
};

int memory_rows_open(void *db, uint32_t table, const struct wcs_edit *edits, size_t count,
		     struct wcs_rows **rows)
{
	struct memory_rows *made = memory_cells_realloc(NULL, sizeof(*made));

	(void)edits;
	(void)count;
	made->engine = db;
	made->table = table;
	pthread_mutex_lock(&made->engine->mutex);
	*rows = (struct wcs_rows *)made;
	return 0;
}

void memory_rows_close(struct wcs_rows *base)
{
	struct memory_rows *rows = (struct memory_rows *)base;

	pthread_mutex_unlock(&rows->engine->mutex);
	free(rows);
}

/* Is the cell of the row, or, if family is not NULL, of that column, and not later than ts? */
static bool memory_rows_in(const struct memory_rows *rows, const struct memory_cell *cell,
			   const struct wcs_address *at)
{
	if (at->family == NULL)
		return cell->table == rows->table && memory_cells_same(cell->row, at->row);
	return memory_cells_in(cell, rows->table, at->row, at->family, at->qualifier) &&
	       (at->ts == WCS_TS_NEWEST || cell->ts <= at->ts);
}

int memory_rows_find(struct wcs_rows *base, const struct wcs_address *at, struct wcs_stored *found)
{
	struct memory_rows *rows = (struct memory_rows *)base;
	const struct memory_cells *cells = &rows->engine->cells;

	for (size_t i = 0; i < cells->count; i++) {
		const struct memory_cell *cell = cells->all[i];

		if (!memory_rows_in(rows, cell, at))
			continue;
		*found = (struct wcs_stored){.ts = cell->ts,
					     .size = cell->value.len,
					     .etag = cell->etag,
					     .data = cell->value.data};
		return 1;
	}
	return 0;
}

int memory_rows_read(struct wcs_rows *rows, const struct wcs_stored *cell, void *buf, size_t len,
		     uint64_t offset, size_t *got)
{
	(void)rows;
	return memory_cells_read((struct wcs_slice){cell->data, (size_t)cell->size}, buf, len,
				 offset, got);
}

int memory_rows_purge(struct wcs_rows *base, const struct wcs_address *at)
{
	struct memory_rows *rows = (struct memory_rows *)base;
	struct memory_cells *cells = &rows->engine->cells;

	for (size_t i = cells->count; i-- > 0;)
		if (memory_rows_in(rows, cells->all[i], at))
			memory_cells_remove(cells, i);
	return 0;
}

static bool memory_deleted(const struct memory_cell *cell, const struct wcs_edit *edit)
{
	if (edit->delete_row)
		return true;
	for (size_t i = 0; i < edit->delete_count; i++) {
		const struct wcs_delete *entry = &edit->deletes[i];

		if (!memory_cells_same(cell->family, memory_cells_text(entry->family)))
			continue;
		if (entry->kind == WCS_DELETE_FAMILY)
			return true;
		if (memory_cells_same(cell->qualifier, entry->qualifier) &&
		    (entry->kind == WCS_DELETE_COLUMN || cell->ts == entry->ts))
			return true;
	}
	return false;
}

static void memory_apply(struct memory_rows *rows, const struct wcs_edit *edit)
{
	struct memory_cells *cells = &rows->engine->cells;

	for (size_t i = cells->count; i-- > 0;)
		if (cells->all[i]->table == rows->table &&
		    memory_cells_same(cells->all[i]->row, edit->row) &&
		    memory_deleted(cells->all[i], edit))
			memory_cells_remove(cells, i);
	for (size_t i = 0; i < edit->set_count; i++)
		memory_cells_set(cells, memory_cells_new(rows->engine, rows->table, edit->row,
							 &edit->sets[i]));
}

/* rows_find gives every value whole, so no set has a `from`. */
int memory_rows_apply(struct wcs_rows *base, const struct wcs_edit *edits, size_t count,
		      size_t *applied)
{
	for (*applied = 0; *applied < count; ++*applied)
		memory_apply((struct memory_rows *)base, &edits[*applied]);
	return 0;
}
