/* SPDX-License-Identifier: MIT */
/*
 * Moves cells within one family of a row: as one batch under the row's lock, like a mutation.
 *
 * - A value is neither read nor written again: its record is, under another key and with another
 *   etag. A value in extents keeps its id, so that open values stay readable; it becomes garbage
 *   only if its cell goes without a successor.
 * - One id can thus stand under two keys, one after the other, and a power cut that loses the end
 *   of an older log and keeps a newer one must never mix the two: the first key could come back
 *   beside a garbage record of the second, for extents that a cell leads to. Before a value in
 *   extents moves the logs are synced, as they may hold its extents or the end of their intent; the
 *   batch itself is a synced write, before the row's lock is free.
 * - No key is put and deleted in one batch: a cell that keeps its key does not move.
 */
#include <errno.h>

#include "store/leveldb/write/mutate.h"

struct move {
	struct ldb_mutate m; /* its key: the target column, or a cell of it */
	const struct wcs_move *asked;
	bool same;	     /* the target column is the source column */
	struct ldb_key from; /* the source column, or a cell of it */
	size_t from_end, to_end;
	struct ldb_cell cell; /* that moves; valid while the iterator stays */
	int64_t ts;	      /* its timestamp; once it moved, the new one */
	uint64_t rank;	      /* of the cell once it moved, at least */
};

/* ---- Looking ----------------------------------------------------------------------------- */

static int move_iter_cell(struct move *move)
{
	int rc = ldb_iter_cell(move->m.db, move->m.iter, &move->cell);

	return rc ? rc : ldb_iter_ts(move->m.db, move->m.iter, move->from_end, &move->ts);
}

/* Puts the iterator at the cell that moves: the named one, or the newest. */
static int move_look_from(struct move *move, bool named)
{
	bool found;

	if (named)
		ldb_key_ts(&move->from, move->asked->from_ts);
	ldb_iter_seek(move->m.iter, &move->from);
	found = ldb_iter_within(move->m.iter, &move->from);
	move->from.len = move->from_end;
	return found ? move_iter_cell(move) : -ENOENT;
}

/* ---- Moving ------------------------------------------------------------------------------ */

/* Moves the cell under the iterator into the target column, with timestamp ts. */
static void move_put(struct move *move, int64_t ts)
{
	struct ldb_mutate *m = &move->m;
	const struct ldb_cell *cell = &move->cell;
	uint32_t etag = atomic_fetch_add_explicit(&m->db->etag, 1, memory_order_relaxed);
	size_t len, key_len;
	const unsigned char *key = ldb_iter_key(m->iter, &key_len);

	if (cell->id == 0) {
		struct wcs_slice value = {cell->data, (size_t)cell->size};

		len = ldb_record_inline(m->record, etag, value);
	} else {
		len = ldb_record_extents(m->record, etag, cell->size, cell->id);
		m->unsynced = true;
	}
	m->key.len = move->to_end;
	ldb_key_ts(&m->key, ts);
	ldb_row_put(m, len);
	leveldb_writebatch_delete(m->batch, (const char *)key, key_len);
	ldb_space_dead_key(m->db, key, key_len, len);
}

/* Makes the newest cell of the source column, or the named one, the newest of the target column. A
 * column's older cells move, too, or are deleted if the target column had cells. */
static int move_newest(struct move *move)
{
	bool named = move->asked->kind == WCS_MOVE_CELL_NEWEST, met;
	struct ldb_mutate *m = &move->m;
	int64_t ts, newest = 0;
	size_t len;
	int rc = 0;

	m->key.len = move->to_end;
	ldb_iter_seek(m->iter, &m->key);
	met = ldb_iter_within(m->iter, &m->key);
	if (met)
		rc = ldb_iter_ts(m->db, m->iter, move->to_end, &newest);
	if (!rc)
		rc = move_look_from(move, named);
	if (!rc && met && move->asked->kind == WCS_MOVE_COLUMN_NEW)
		rc = -EEXIST;
	if (rc || (move->same && !named))
		return rc;
	ts = move->ts;
	if (met && newest >= ts)
		rc = ldb_row_server_ts(m, true, newest, &ts);
	if (rc)
		return rc;
	move_put(move, ts);
	while (!rc && !named) {
		leveldb_iter_next(m->iter);
		if (!ldb_iter_within(m->iter, &move->from))
			break;
		rc = move_iter_cell(move);
		if (!rc && met)
			rc = ldb_row_delete(m, &len);
		else if (!rc)
			move_put(move, move->ts);
	}
	move->ts = ts;
	return rc;
}

static int move_cell(struct move *move)
{
	const struct wcs_move *asked = move->asked;
	struct ldb_mutate *m = &move->m;
	uint64_t newer = 0;
	int rc = 0;

	if (move->same && asked->from_ts == asked->to_ts)
		return move_look_from(move, true);
	/* The cells that will be newer than the moved one. */
	if (ldb_row_has_ranks(m, asked->family))
		rc = ldb_row_newer(m, move->to_end, asked->to_ts, &newer);
	if (move->same && asked->from_ts > asked->to_ts && newer > 0)
		newer--;
	move->rank += newer;
	ldb_key_ts(&m->key, asked->to_ts);
	if (!rc)
		rc = ldb_row_replaced(m);
	if (!rc)
		rc = move_look_from(move, true);
	if (rc)
		return rc;
	move_put(move, asked->to_ts);
	move->ts = asked->to_ts;
	return 0;
}

/* -EINVAL unless the new timestamp is later than the cell behind the newest. */
static int move_stamp(struct move *move)
{
	int64_t older, ts = move->asked->to_ts;
	struct ldb_mutate *m = &move->m;
	int rc = move_look_from(move, false);

	if (rc || ts == move->ts)
		return rc;
	if (ts < move->ts) {
		leveldb_iter_next(m->iter);
		if (ldb_iter_within(m->iter, &move->from)) {
			rc = ldb_iter_ts(m->db, m->iter, move->from_end, &older);
			if (!rc && older >= ts)
				rc = -EINVAL;
		}
		if (!rc)
			rc = move_look_from(move, false);
	}
	if (rc)
		return rc;
	move_put(move, ts);
	move->ts = ts;
	return 0;
}

/* ---- All of it --------------------------------------------------------------------------- */

/* Whether hidden cells of the source column would be shown again, or count. The older cells keep
 * their rank if all of the column moves, or if the newest cell gets a later timestamp. */
static bool move_purges_from(void *ctx, const struct ldb_hidden *hidden)
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
		return hidden->ts >= asked->from_ts || ldb_row_has_ranks(&move->m, asked->family);
	}
	return true;
}

/* The same of the target column: behind a visible newest cell they only get a higher rank. */
static bool move_purges_to(void *ctx, const struct ldb_hidden *hidden)
{
	const struct move *move = ctx;

	return hidden->rank == 1 || move->asked->kind == WCS_MOVE_CELL;
}

static int move_apply(struct move *move)
{
	const struct wcs_move *asked = move->asked;
	struct ldb_mutate *m = &move->m;
	int rc = ldb_purge_column(m, asked->family, asked->from, move_purges_from, move);
	bool extents;

	if (!rc && !move->same)
		rc = ldb_purge_column(m, asked->family, asked->to, move_purges_to, move);
	if (rc)
		return rc;
	m->iter = ldb_db_iterate(m->db);
	if (asked->kind == WCS_MOVE_STAMP)
		rc = move_stamp(move);
	else
		rc = asked->kind == WCS_MOVE_CELL ? move_cell(move) : move_newest(move);
	rc = ldb_db_iter_end(m->db, m->iter, rc);
	extents = m->unsynced;
	if (!rc)
		rc = ldb_values_sync(m);
	if (rc || !m->changes)
		return rc;
	return ldb_commit(m->db, m->batch, extents || m->db->options->sync);
}

int ldb_move_cells(void *db, const struct wcs_view *view, uint32_t table, struct wcs_slice row,
		   const struct wcs_move *asked, int64_t *ts, bool *hidden)
{
	pthread_mutex_t *lock = ldb_row_lock(db, table, row);
	struct move move = {.asked = asked, .rank = 1, .m.db = db, .m.view = view};
	struct ldb_mutate *m = &move.m;
	int rc;

	if (ldb_db_failed(db))
		return -EROFS;
	ldb_row_init(m, table, row, NULL, leveldb_writebatch_create());
	ldb_row_column(m, asked->family, asked->from);
	move.from.len = move.from_end = m->key.len;
	memcpy(move.from.data, m->key.data, m->key.len);
	move.same = asked->kind == WCS_MOVE_STAMP || wcs_slice_compare(asked->from, asked->to) == 0;
	if (!move.same)
		ldb_row_column(m, asked->family, asked->to);
	move.to_end = m->key.len;
	pthread_mutex_lock(lock);
	rc = move_apply(&move);
	pthread_mutex_unlock(lock);
	leveldb_writebatch_destroy(m->batch);
	if (m->garbage) /* also on failure: purged cells are garbage */
		ldb_reclaim_wake(db);
	if (!rc) {
		*ts = move.ts;
		*hidden = m->changes &&
			  wcs_view_hides(view, wcs_view_expiry(wcs_view_gc(view, asked->family),
							       move.rank, move.ts));
	}
	return rc;
}
