/* SPDX-License-Identifier: MIT */
/*
 * Reserves room for writes and moves, also for the bytes that they copy within the store: an append
 * writes the whole value again, a move the records of its cells, small values included.
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

/* A cell; its ts is WCS_TS_NONE and its size 0 where it does not exist. */
static int room_copies_cell(const struct wcs_table *table, const struct wcs_view *view,
			    struct wcs_address at, struct wcs_cell_info *info)
{
	int rc;

	at.table = table->id;
	rc = table->store->backend->cell_get(table->store->db, view, &at, info);
	if (rc != 0)
		*info = (struct wcs_cell_info){.ts = WCS_TS_NONE};
	return rc == -ENOENT ? 0 : rc;
}

/* ---- Writes ------------------------------------------------------------------------------ */

int room_enter_writes(const struct wcs_table *table, const struct wcs_view *view,
		      const struct wcs_entry *entries, size_t count, uint64_t *size)
{
	uint64_t total = 0;
	size_t appends = 0;
	int rc = 0;

	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < entries[i].mutation->write_count; k++) {
			const struct wcs_write *write = &entries[i].mutation->writes[k];

			total += entries[i].row.len + write->qualifier.len;
			total += wcs_type_aggregates(write->type) ? WCS_AGGREGATE_VALUE_MAX
								  : write->value.len;
			appends += write->kind == WCS_WRITE_APPEND;
		}
	if (appends > 0 && room_is_plenty(table->store, (uint64_t)appends * WCS_VALUE_MAX))
		appends = 0;
	for (size_t i = 0; i < count && appends > 0; i++)
		for (size_t k = 0; k < entries[i].mutation->write_count && rc == 0; k++) {
			const struct wcs_write *write = &entries[i].mutation->writes[k];
			struct wcs_address at = {.row = entries[i].row,
						 .family = write->family,
						 .qualifier = write->qualifier,
						 .ts = WCS_TS_NEWEST};
			struct wcs_cell_info info = {0};

			if (write->kind == WCS_WRITE_APPEND)
				rc = room_copies_cell(table, view, at, &info);
			total += info.size;
		}
	if (rc == 0)
		rc = room_enter(table->store, total, false);
	if (rc == 0)
		*size = total;
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

/* Counts the cells of a column that becomes another, hidden ones too; met: that one has cells. */
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
	struct wcs_cell cell;
	int rc;

	memcpy(row_end, row.data, row.len);
	row_end[row.len] = 0;
	if (move->from.len > 0)
		memcpy(column_end, move->from.data, move->from.len);
	column_end[move->from.len] = 0;
	rc = backend->scan_open(table->store->db, &everything, table->id, &range, &filter, &scan);
	if (rc != 0)
		return rc;
	for (bool newest = true; (rc = backend->scan_next(scan, &cell)) > 0; newest = false) {
		if (newest || !met)
			room_copies_add(copies, row, move->to, cell.info.size);
		else
			copies->freed += cell.info.size;
	}
	backend->scan_close(scan);
	return rc;
}

static int room_copies_move(const struct wcs_table *table, const struct wcs_view *view,
			    struct wcs_slice row, const struct wcs_move *move,
			    struct room_copies *copies)
{
	bool column = move->kind == WCS_MOVE_COLUMN || move->kind == WCS_MOVE_COLUMN_NEW;
	bool stamp = move->kind == WCS_MOVE_STAMP;
	struct wcs_address from = {.row = row,
				   .family = move->family,
				   .qualifier = move->from,
				   .ts = stamp ? WCS_TS_NEWEST : move->from_ts};
	struct wcs_address to = {.row = row,
				 .family = move->family,
				 .qualifier = move->to,
				 .ts = column ? WCS_TS_NEWEST : move->to_ts};
	struct wcs_cell_info info;
	int rc;

	if (column || move->kind == WCS_MOVE_CELL) {
		if (wcs_slice_compare(move->from, move->to) == 0 && (column || from.ts == to.ts))
			return 0;
		rc = room_copies_cell(table, view, to, &info);
		if (rc != 0 || (info.ts != WCS_TS_NONE && move->kind == WCS_MOVE_COLUMN_NEW))
			return rc;
		if (column)
			return room_copies_column(table, row, move, info.ts != WCS_TS_NONE, copies);
		copies->freed = info.size;
	}
	rc = room_copies_cell(table, view, from, &info);
	if (info.ts != WCS_TS_NONE)
		room_copies_add(copies, row, stamp ? move->from : move->to, info.size);
	return rc;
}

int room_enter_move(const struct wcs_table *table, const struct wcs_view *view,
		    struct wcs_slice row, const struct wcs_move *move, uint64_t *size)
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
