/* SPDX-License-Identifier: MIT */
/* Moves of cells, from column x to y or within x, in families whose policy the writer knows. */
#include "tests/unit/soak.h"

#include <inttypes.h>

/* The newest cell, in a family whose policy the writer knows. False: none is shown. */
static bool soak_move_newest(struct soak_writer *writer, struct soak_row *row, int family,
			     int column, struct history_cell *cell)
{
	struct history_view view = soak_view(writer, family);
	int known = history_newest(&row->columns[family][column], &view, cell);

	if (known < 0)
		soak_fail("%s/%s: the model does not know its newest cell", row->key,
			  soak_columns[column]);
	return known;
}

static void soak_move_cells(struct soak_writer *writer, struct soak_row *row, struct wcs_move *move,
			    int expected, int64_t *ts)
{
	int rc = wcs_cells_move(writer->soak->table, suite_text(row->key), move, ts);

	if (rc != expected)
		soak_fail("%s: move %d gave %d, not %d", row->key, (int)move->kind, rc, expected);
}

void soak_move_stamp(struct soak_writer *writer, struct soak_row *row, int family)
{
	struct history *history = &row->columns[family][SOAK_X];
	struct wcs_move move = {.kind = WCS_MOVE_STAMP,
				.family = soak_family(writer, family),
				.from = suite_text("x")};
	struct history_view view = soak_view(writer, family);
	struct history_cell cell;
	bool found = soak_move_newest(writer, row, family, SOAK_X, &cell);
	int expected = found ? 0 : -ENOENT;
	int64_t ts;

	move.to_ts = found ? cell.ts + soak_below(&writer->state, 50000) - 25000 : writer->now;
	if (found && history->count > 1 && history->cells[1].sure &&
	    history->cells[1].ts >= move.to_ts)
		expected = -EINVAL;
	soak_move_cells(writer, row, &move, expected, &ts);
	if (expected != 0)
		return;
	if (ts != move.to_ts)
		soak_fail("%s was stamped %" PRId64 ", not %" PRId64, row->key, ts, move.to_ts);
	history_begin(history, &view);
	history_remove(history, cell.ts);
	cell.ts = ts;
	history_put(history, &cell);
	history_end(history, &view);
}

/* Where a cell goes that becomes the newest of column y. */
static bool soak_move_ts(struct soak_writer *writer, struct soak_row *row, int family,
			 const struct history_cell *cell, int64_t ts)
{
	const struct history *to = &row->columns[family][SOAK_Y];
	struct history_cell newest;

	if (!soak_move_newest(writer, row, family, SOAK_Y, &newest))
		return ts == cell->ts || history_server_ts(to, writer->now, ts);
	return newest.ts < cell->ts ? ts == cell->ts : history_server_ts(to, writer->now, ts);
}

void soak_move_column(struct soak_writer *writer, struct soak_row *row, int family)
{
	struct history *from = &row->columns[family][SOAK_X], *to = &row->columns[family][SOAK_Y];
	struct wcs_move move = {.kind = WCS_MOVE_COLUMN,
				.family = soak_family(writer, family),
				.from = suite_text("x"),
				.to = suite_text("y")};
	struct history_view view = soak_view(writer, family);
	struct history_cell cell, newest;
	bool found = soak_move_newest(writer, row, family, SOAK_X, &cell);
	bool met = soak_move_newest(writer, row, family, SOAK_Y, &newest);
	int64_t ts;

	soak_move_cells(writer, row, &move, found ? 0 : -ENOENT, &ts);
	if (!found)
		return;
	if (met ? !soak_move_ts(writer, row, family, &cell, ts) : ts != cell.ts)
		soak_fail("%s/x became y with the timestamp %" PRId64, row->key, ts);
	history_begin(to, &view);
	if (!met) /* its hidden cells do not belong to the column that comes */
		to->count = 0;
	for (size_t i = met ? 1 : 0; i < from->count && !met; i++)
		history_put(to, &from->cells[i]);
	cell.ts = ts;
	history_put(to, &cell);
	from->count = 0;
	history_end(to, &view);
}

void soak_move_cell(struct soak_writer *writer, struct soak_row *row, int family)
{
	struct history *from = &row->columns[family][SOAK_X], *to = &row->columns[family][SOAK_Y];
	uint32_t which = soak_below(&writer->state, 3);
	struct history_cell cell = from->cells[which];
	bool found = which < from->count && cell.sure;
	struct wcs_move move = {.kind = WCS_MOVE_CELL_NEWEST,
				.family = soak_family(writer, family),
				.from = suite_text("x"),
				.from_ts =
					which < from->count ? cell.ts : 1, /* which it never has */
				.to = suite_text("y")};
	struct history_view view = soak_view(writer, family);
	int64_t ts;

	soak_move_cells(writer, row, &move, found ? 0 : -ENOENT, &ts);
	if (!found)
		return;
	if (!soak_move_ts(writer, row, family, &cell, ts))
		soak_fail("%s/x@%" PRId64 " became y with the timestamp %" PRId64, row->key,
			  cell.ts, ts);
	history_begin(from, &view);
	history_begin(to, &view);
	history_remove(from, cell.ts);
	cell.ts = ts;
	history_put(to, &cell);
	history_end(from, &view);
	history_end(to, &view);
}
