/* SPDX-License-Identifier: MIT */
/*
 * The bytes that a change copies within the store, for which it needs room: an append writes the
 * whole value again, a move the records of its cells, small values included.
 *
 * - The sizes are read before the change, without a lock: a value that another thread puts there in
 *   between found room itself.
 * - A move that frees more than it writes needs no room: a user can tidy a full medium.
 */
#include "store/table/table.h"

#include <errno.h>
#include <string.h>

/* The bytes that a move writes and frees. */
struct room_copies {
	uint64_t written, freed;
	bool values; /* it writes small values, not only records of large ones */
};

/* The size of a column's cell. *there: does the column have that cell? */
static int room_copies_cell(const struct wcs_table *table, const struct wcs_view *view,
			    struct wcs_slice row, const char *family, struct wcs_slice qualifier,
			    int64_t ts, bool *there, uint64_t *size)
{
	struct wcs_cell_info info;
	int rc = table->store->backend->cell_get(
		table->store->db, view,
		&(struct wcs_address){table->id, row, family, qualifier, ts}, &info);

	*there = rc == 0;
	*size = rc == 0 ? info.size : 0;
	return rc == -ENOENT ? 0 : rc;
}

/* ---- Appends ----------------------------------------------------------------------------- */

static int room_copies_mutation(const struct wcs_table *table, const struct wcs_view *view,
				const struct wcs_entry *entry, uint64_t *copied)
{
	const struct wcs_mutation *mutation = entry->mutation;
	int rc = 0;

	for (size_t i = 0; i < mutation->write_count && rc == 0; i++) {
		const struct wcs_write *write = &mutation->writes[i];
		uint64_t size;
		bool there;

		if (write->kind != WCS_WRITE_APPEND)
			continue;
		rc = room_copies_cell(table, view, entry->row, write->family, write->qualifier,
				      WCS_TS_NEWEST, &there, &size);
		*copied += size;
	}
	return rc;
}

int room_copies_of(const struct wcs_table *table, const struct wcs_view *view,
		   const struct wcs_entry *entries, size_t count, uint64_t *size)
{
	uint64_t copied = 0;
	size_t appends = 0;
	int rc = 0;

	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < entries[i].mutation->write_count; k++)
			appends += entries[i].mutation->writes[k].kind == WCS_WRITE_APPEND;
	if (appends > 0 && !room_is_plenty(table->store, (uint64_t)appends * WCS_VALUE_MAX))
		for (size_t i = 0; i < count && rc == 0; i++)
			rc = room_copies_mutation(table, view, &entries[i], &copied);
	if (rc == 0)
		*size = copied;
	return rc;
}

/* ---- Moves ------------------------------------------------------------------------------- */

/* Counts a cell of that size, which the move writes again. */
static void room_copies_add(struct room_copies *copies, struct wcs_slice row,
			    struct wcs_slice qualifier, uint64_t size)
{
	copies->written += row.len + qualifier.len;
	if (size <= WCS_VALUE_INLINE) {
		copies->written += size;
		copies->values = copies->values || size > 0;
	}
}

/* Counts the cells of a column that becomes another; met: that has cells. */
static int room_copies_cells(struct wcs_scan *scan, struct wcs_slice row, struct wcs_slice to,
			     bool met, struct room_copies *copies)
{
	struct wcs_cell cell;
	int rc;

	for (bool newest = true; (rc = scan->backend->scan_next(scan, &cell)) > 0; newest = false) {
		if (newest || !met)
			room_copies_add(copies, row, to, cell.info.size);
		else
			copies->freed += cell.info.size;
	}
	return rc;
}

/* Hidden cells move, too. */
static int room_copies_column(const struct wcs_table *table, struct wcs_slice row,
			      const struct wcs_move *move, bool met, struct room_copies *copies)
{
	const struct wcs_view everything = {.policies = NULL};
	const struct wcs_backend *backend = table->store->backend;
	char row_end[WCS_ROW_KEY_MAX + 1], column_end[WCS_QUALIFIER_MAX + 1];
	const struct wcs_range range = {row, {row_end, row.len + 1}};
	const struct wcs_filter filter = {.families = &move->family,
					  .family_count = 1,
					  .qualifier_from = move->from,
					  .qualifier_to = {column_end, move->from.len + 1}};
	struct wcs_scan *scan;
	int rc;

	memcpy(row_end, row.data, row.len);
	row_end[row.len] = 0;
	if (move->from.len > 0)
		memcpy(column_end, move->from.data, move->from.len);
	column_end[move->from.len] = 0;
	rc = backend->scan_open(table->store->db, &everything, table->id, &range, &filter, &scan);
	if (rc != 0)
		return rc;
	rc = room_copies_cells(scan, row, move->to, met, copies);
	backend->scan_close(scan);
	return rc;
}

/* The one cell that moves; `to`: its column then. */
static int room_copies_one(const struct wcs_table *table, const struct wcs_view *view,
			   struct wcs_slice row, const struct wcs_move *move, int64_t ts,
			   struct wcs_slice to, struct room_copies *copies)
{
	uint64_t size;
	bool there;
	int rc = room_copies_cell(table, view, row, move->family, move->from, ts, &there, &size);

	if (there)
		room_copies_add(copies, row, to, size);
	return rc;
}

static int room_copies_move(const struct wcs_table *table, const struct wcs_view *view,
			    struct wcs_slice row, const struct wcs_move *move,
			    struct room_copies *copies)
{
	bool column = move->kind == WCS_MOVE_COLUMN || move->kind == WCS_MOVE_COLUMN_NEW;
	bool same = wcs_slice_compare(move->from, move->to) == 0;
	int64_t replaced = column ? WCS_TS_NEWEST : move->to_ts;
	bool met = false;
	uint64_t size;
	int rc;

	if (move->kind == WCS_MOVE_STAMP)
		return room_copies_one(table, view, row, move, WCS_TS_NEWEST, move->from, copies);
	if (move->kind == WCS_MOVE_CELL_NEWEST)
		return room_copies_one(table, view, row, move, move->from_ts, move->to, copies);
	if (same && (column || move->from_ts == move->to_ts))
		return 0;
	rc = room_copies_cell(table, view, row, move->family, move->to, replaced, &met, &size);
	if (rc != 0 || (met && move->kind == WCS_MOVE_COLUMN_NEW))
		return rc;
	if (column)
		return room_copies_column(table, row, move, met, copies);
	copies->freed = size;
	return room_copies_one(table, view, row, move, move->from_ts, move->to, copies);
}

int room_copies_enter(struct wcs_table *table, const struct wcs_view *view, struct wcs_slice row,
		      const struct wcs_move *move, uint64_t *size)
{
	struct room_copies copies = {0};
	int rc = 0;

	if (!room_is_plenty(table->store, 0))
		rc = room_copies_move(table, view, row, move, &copies);
	if (rc != 0)
		return rc;
	if (copies.freed > copies.written)
		copies.written = 0;
	rc = room_enter(table->store, copies.written, !copies.values);
	if (rc == 0)
		*size = copies.written;
	return rc;
}
