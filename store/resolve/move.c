/* SPDX-License-Identifier: MIT */
/*
 * Decides a move of cells within one family of a row: each cell that moves is deleted and set at
 * another address, with a value that is taken over, not copied, if it is large. A cell that keeps
 * its address does not move.
 */
#include "store/keys/salt_ranges.h"
#include "store/resolve/change.h"

#include <errno.h>

struct move {
	struct change c;
	const struct wcs_move *asked;
	bool same;	     /* the target column is the source column */
	struct wcs_slice to; /* the target column */
	int64_t ts;	     /* of the cell that moves; once it moved, the new one */
	bool changes;
};

static int move_find(struct move *move, struct wcs_slice qualifier, int64_t ts,
		     struct wcs_stored *cell)
{
	return change_find(&move->c, move->asked->family, qualifier, ts, cell);
}

/* Finds the cell that moves: the one at ts, or the newest. -ENOENT. */
static int move_look(struct move *move, int64_t ts, struct wcs_stored *cell)
{
	int found = move_find(move, move->asked->from, ts, cell);

	if (found == 0 || (found > 0 && ts != WCS_TS_NEWEST && cell->ts != ts))
		return -ENOENT;
	move->ts = found > 0 ? cell->ts : 0;
	return found < 0 ? found : 0;
}

/* Moves the cell into the target column, with timestamp ts. whole: it is the newest of the source
 * column, all of which is deleted. */
static int move_put(struct move *move, const struct wcs_stored *cell, int64_t ts, bool fresh,
		    bool whole)
{
	struct wcs_set set = {
		.family = move->asked->family, .qualifier = move->to, .ts = ts, .fresh = fresh};
	int rc = change_keep(&move->c, cell, &set.value);

	set.takes = set.value.from != NULL;
	move->changes = true;
	move->c.copied += move->c.edit->row.len + move->to.len + (set.takes ? 0 : cell->size);
	move->c.values = move->c.values || (!set.takes && cell->size > 0);
	if (rc == 0)
		rc = change_delete(&move->c, (struct wcs_delete){.kind = whole ? WCS_DELETE_COLUMN
									       : WCS_DELETE_CELL,
								 .family = move->asked->family,
								 .qualifier = move->asked->from,
								 .ts = cell->ts,
								 .taken = set.takes});
	return rc != 0 ? rc : change_set(&move->c, set);
}

/* Makes the newest cell of the source column, or the named one, the newest of the target column. A
 * column's older cells move, too, or are deleted if the target column had cells. */
static int move_newest(struct move *move)
{
	bool named = move->asked->kind == WCS_MOVE_CELL_NEWEST;
	struct wcs_stored cell, newest;
	int met = move_find(move, move->to, WCS_TS_NEWEST, &newest), rc, found = 1;
	int64_t ts;

	if (met < 0)
		return met;
	rc = move_look(move, named ? move->asked->from_ts : WCS_TS_NEWEST, &cell);
	if (rc == 0 && met > 0 && move->asked->kind == WCS_MOVE_COLUMN_NEW)
		rc = -EEXIST;
	if (rc != 0 || (move->same && !named))
		return rc;
	ts = move->ts;
	if (met > 0 && newest.ts >= ts)
		rc = change_server_ts(&move->c, true, newest.ts, &ts);
	if (rc == 0)
		rc = move_put(move, &cell, ts, true, met > 0 && !named);
	while (rc == 0 && !named) {
		found = change_older(&move->c, move->asked->family, move->asked->from, &cell);
		if (found <= 0)
			break;
		if (met > 0) {
			move->c.freed += cell.size;
			if (move->c.freed > move->c.copied)
				break; /* it needs no room */
			continue;
		}
		rc = move_put(move, &cell, cell.ts, true, false);
		if (move->c.edit->set_count > WCS_MOVE_CELLS_MAX ||
		    move->c.copied > WCS_MOVE_BYTES_MAX)
			rc = -EFBIG;
	}
	move->ts = ts;
	return found < 0 ? found : rc;
}

static int move_cell(struct move *move)
{
	const struct wcs_move *asked = move->asked;
	struct wcs_stored cell = {.ts = 0};
	int rc, met;

	if (move->same && asked->from_ts == asked->to_ts)
		return move_look(move, asked->from_ts, &cell);
	met = move_find(move, move->to, asked->to_ts, &cell);
	if (met > 0 && cell.ts == asked->to_ts)
		move->c.freed = cell.size;
	else if (met > 0)
		met = 0;
	rc = met < 0 ? met : move_look(move, asked->from_ts, &cell);
	if (rc == 0)
		rc = move_put(move, &cell, asked->to_ts, met == 0, false);
	if (rc == 0)
		move->ts = asked->to_ts;
	return rc;
}

/* -EINVAL unless the new timestamp is later than the cell behind the newest. */
static int move_stamp(struct move *move)
{
	int64_t ts = move->asked->to_ts;
	struct wcs_stored cell, older;
	int found = 0, rc = move_look(move, WCS_TS_NEWEST, &cell);

	if (rc != 0 || ts == move->ts)
		return rc;
	older = cell;
	if (ts < cell.ts)
		found = change_older(&move->c, move->asked->family, move->asked->from, &older);
	if (found < 0 || (found > 0 && older.ts >= ts))
		return found < 0 ? found : -EINVAL;
	if (ts < cell.ts) /* its value was valid until the next look */
		rc = move_look(move, WCS_TS_NEWEST, &cell);
	if (rc == 0)
		rc = move_put(move, &cell, ts, true, false);
	if (rc == 0)
		move->ts = ts;
	return rc;
}

/* ---- Hidden cells ------------------------------------------------------------------------ */

/* Whether hidden cells of the source column would be shown again, or count. The older cells keep
 * their rank if all of the column moves, or if the newest cell gets a later timestamp. */
static bool move_purges_from(void *ctx, const struct change_hidden *hidden)
{
	const struct move *move = ctx;
	const struct wcs_move *asked = move->asked;

	if (hidden->rank == 1) /* the view shows no cell: the column does not exist */
		return true;
	switch (asked->kind) {
	case WCS_MOVE_COLUMN:
	case WCS_MOVE_COLUMN_NEW:
		return false;
	case WCS_MOVE_STAMP:
		return hidden->ts >= asked->to_ts;
	case WCS_MOVE_CELL_NEWEST:
	case WCS_MOVE_CELL:
		return hidden->ts >= asked->from_ts || change_has_ranks(&move->c, asked->family);
	}
	return true;
}

/* Whether hidden cells of the target column would be shown again, or count. Behind a visible newest
 * cell they only get a higher rank. */
static bool move_purges_to(void *ctx, const struct change_hidden *hidden)
{
	const struct move *move = ctx;

	return hidden->rank == 1 || move->asked->kind == WCS_MOVE_CELL;
}

/* ---- All of it --------------------------------------------------------------------------- */

static int move_decide(struct move *move)
{
	const struct wcs_move *asked = move->asked;
	int rc = change_purge(&move->c, asked->family, asked->from, move_purges_from, move);

	if (rc == 0 && !move->same)
		rc = change_purge(&move->c, asked->family, asked->to, move_purges_to, move);
	if (rc != 0)
		return rc;
	if (asked->kind == WCS_MOVE_STAMP)
		return move_stamp(move);
	return asked->kind == WCS_MOVE_CELL ? move_cell(move) : move_newest(move);
}

static int move_try(struct move *move, struct wcs_slice row)
{
	struct wcs_store *store = move->c.table->store;
	struct change *c = &move->c;
	uint64_t room = 0;
	size_t applied;
	int rc = store->engine.backend->rows_open(store->engine.db, c->table->id, c->edit, 1,
						  &c->rows);

	if (rc != 0)
		return rc;
	rc = move_decide(move);
	if (c->freed <= c->copied)
		room = c->copied;
	if (rc == 0)
		rc = room_enter(store, room, c->values ? ROOM_NEW : ROOM_RECORDS);
	if (rc == 0) {
		if (move->changes)
			rc = store->engine.backend->rows_apply(c->rows, c->edit, 1, &applied);
		room_leave(store, room);
	}
	if (rc == 0 && move->changes)
		feed_tell(c->table, row, c->edit);
	store->engine.backend->rows_close(c->rows);
	return rc;
}

int resolve_move(const struct wcs_table *table, const struct wcs_view *view, struct wcs_slice row,
		 const struct wcs_move *asked, int64_t *ts, bool *hidden)
{
	const struct wcs_gc *gc = wcs_view_gc(view, asked->family);
	bool stamp = asked->kind == WCS_MOVE_STAMP;
	unsigned char bytes[WCS_ROW_KEY_MAX];
	struct wcs_edit edit = {.row = wcs_keys_stored(wcs_table_keys(table), row, bytes)};
	struct move move;
	int rc = -EAGAIN;

	for (int tries = 0; rc == -EAGAIN && tries < RESOLVE_TRIES; tries++) {
		change_clear(&edit);
		move = (struct move){.c = {.table = table, .view = view, .edit = &edit, .now = -1},
				     .asked = asked,
				     .same = stamp ||
					     wcs_slice_compare(asked->from, asked->to) == 0,
				     .to = stamp ? asked->from : asked->to};
		rc = move_try(&move, row);
	}
	change_free(&edit);
	if (rc != 0)
		return rc == -EAGAIN ? -EBUSY : rc;
	*ts = move.ts;
	*hidden = move.changes && wcs_view_hides(view, wcs_view_expiry(gc, 1, move.ts));
	return 0;
}
