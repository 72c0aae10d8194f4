/* SPDX-License-Identifier: MIT */
/*
 * Mutations of a row: all of one is one LevelDB batch, made under the row's lock.
 *
 * - Where one seek to the row's start may save many, it tells whether the row is there at all; if
 *   not, nothing else is read. Not where little is to be read: it steps over every deleted cell at
 *   the row's start, so that 20,000 columns deleted one by one in order would cost the square of
 *   that.
 * - What is read of the row comes from one iterator; its error is asked for once, before
 *   anything is written or said about the row.
 */
#include "store/leveldb/write/mutate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MUTATE_ASKS_ROW = 3 }; /* writes */

/* FNV-1a */
uint64_t ldb_mutate_hash(uint32_t table, struct wcs_slice row)
{
	const unsigned char *data = row.data;
	uint64_t hash = 0xcbf29ce484222325u ^ table;

	for (size_t i = 0; i < row.len; i++)
		hash = (hash ^ data[i]) * 0x100000001b3u;
	return hash;
}

pthread_mutex_t *ldb_mutate_lock(struct ldb *db, uint32_t table, struct wcs_slice row)
{
	return &db->rows[ldb_mutate_stripe(ldb_mutate_hash(table, row))];
}

void ldb_mutate_init(struct ldb_mutate *m, struct ldb *db, const struct wcs_view *view,
		     leveldb_writebatch_t *batch, uint32_t table, struct wcs_slice row,
		     struct wcs_mutation *mutation)
{
	memset(m, 0, offsetof(struct ldb_mutate, key));
	m->db = db;
	m->view = view;
	m->mutation = mutation;
	m->now = -1;
	ldb_key_row(&m->key, table, row);
	m->row_end = m->key.len;
	m->batch = batch;
}

void ldb_mutate_key(struct ldb_mutate *m, const char *family, struct wcs_slice qualifier)
{
	m->key.len = m->row_end;
	ldb_key_family(&m->key, family);
	ldb_key_qualifier(&m->key, qualifier);
}

void ldb_mutate_garbage(struct ldb_mutate *m, const struct ldb_cell *cell)
{
	if (cell->id == 0)
		return;
	ldb_db_batch_value(m->db, m->batch, cell);
	m->garbage = true;
}

/* The key and the inline value of the cell under the iterator are dead. */
static void mutate_dead(struct ldb_mutate *m, size_t key_len, const struct ldb_cell *cell)
{
	size_t len;

	ldb_space_dead_key(m->db, ldb_iter_key(m->iter, &len), key_len,
			   cell->id == 0 ? cell->size : 0);
}

int ldb_mutate_delete_cell(struct ldb_mutate *m, size_t *key_len)
{
	struct ldb_cell cell;
	int err = ldb_db_batch_cell(m->db, m->batch, m->iter, &cell, key_len);

	if (err)
		return err;
	if (cell.id != 0)
		m->garbage = true;
	mutate_dead(m, *key_len, &cell);
	return 0;
}

int ldb_mutate_replaced(struct ldb_mutate *m)
{
	ldb_iter_seek(m->iter, &m->key);
	return ldb_mutate_replaced_here(m);
}

int ldb_mutate_replaced_here(struct ldb_mutate *m)
{
	struct ldb_cell cell;

	if (!ldb_iter_within(m->iter, &m->key))
		return 0;
	if (ldb_iter_cell(m->iter, &cell))
		return ldb_db_damaged(m->db, "a cell's record");
	ldb_mutate_garbage(m, &cell);
	mutate_dead(m, m->key.len, &cell);
	return 0;
}

static int64_t mutate_now(struct ldb_mutate *m)
{
	if (m->now < 0) {
		m->now = m->db->options->now(m->db->options->now_ctx);
		if (m->now < 0)
			m->now = 0;
	}
	return m->now;
}

int ldb_mutate_server_ts(struct ldb_mutate *m, bool found, int64_t newest, int64_t *ts)
{
	int64_t now = mutate_now(m);

	if (!found || newest < now)
		*ts = now;
	else if (newest == INT64_MAX)
		return -EOVERFLOW;
	else
		*ts = newest + 1;
	return 0;
}

/* ---- Conditions -------------------------------------------------------------------------- */

/* 1: the cell's value is the expected one; 0: it is not; or an error. */
static int mutate_cell_equals(struct ldb_mutate *m, const struct ldb_cell *cell,
			      struct wcs_slice expected)
{
	const unsigned char *bytes = expected.data;
	unsigned char piece[LDB_CHUNK];

	if (cell->size != expected.len)
		return 0;
	if (cell->id == 0)
		return expected.len == 0 || memcmp(cell->data, bytes, expected.len) == 0;
	for (size_t offset = 0; offset < expected.len;) {
		size_t got;
		int err = ldb_chunk_read(m->db, cell, piece, sizeof(piece), offset, &got);

		if (err)
			return err;
		if (memcmp(piece, bytes + offset, got) != 0)
			return 0;
		offset += got;
	}
	return 1;
}

/* Puts the iterator at the column's newest cell that the view shows. 1: there; 0: it has none. */
static int mutate_seek_shown(struct ldb_mutate *m, const char *family, struct wcs_slice qualifier)
{
	const unsigned char *key;
	int64_t ts;
	size_t len;

	if (m->row_empty)
		return 0;
	ldb_mutate_key(m, family, qualifier);
	ldb_iter_seek(m->iter, &m->key);
	if (!ldb_iter_within(m->iter, &m->key))
		return 0;
	key = ldb_iter_key(m->iter, &len);
	if (ldb_key_split_ts(key, len, m->key.len, &ts))
		return ldb_db_damaged(m->db, "a cell's key");
	return !wcs_view_hides(m->view, wcs_view_expiry(wcs_view_gc(m->view, family), 1, ts));
}

static int mutate_condition(struct ldb_mutate *m, const struct wcs_condition *condition)
{
	int found = mutate_seek_shown(m, condition->family, condition->qualifier);
	struct ldb_cell cell;
	int equal;

	if (found < 0)
		return found;
	if (!found || condition->absent)
		return found == condition->absent ? -ECANCELED : 0;
	if (ldb_iter_cell(m->iter, &cell))
		return ldb_db_damaged(m->db, "a cell's record");
	equal = mutate_cell_equals(m, &cell, condition->expected);
	if (equal < 0)
		return equal;
	return equal ? 0 : -ECANCELED;
}

static int mutate_conditions(struct ldb_mutate *m)
{
	int err = 0;

	for (size_t i = 0; i < m->mutation->condition_count && !err; i++)
		err = mutate_condition(m, &m->mutation->conditions[i]);
	return err;
}

/* ---- Deletes ----------------------------------------------------------------------------- */

/* Deletes every cell that the key is a prefix of. */
static int mutate_delete_all(struct ldb_mutate *m)
{
	ldb_iter_seek(m->iter, &m->key);
	for (; ldb_iter_within(m->iter, &m->key); leveldb_iter_next(m->iter)) {
		size_t len;
		int err = ldb_mutate_delete_cell(m, &len);

		if (err)
			return err;
		m->deleted += len;
		m->changes = true;
		if (len == m->key.len)
			break; /* one cell; the next may be behind many that were deleted */
	}
	return 0;
}

static int mutate_delete(struct ldb_mutate *m, const struct wcs_delete *delete)
{
	m->key.len = m->row_end;
	ldb_key_family(&m->key, delete->family);
	if (delete->kind != WCS_DELETE_FAMILY)
		ldb_key_qualifier(&m->key, delete->qualifier);
	if (delete->kind == WCS_DELETE_CELL)
		ldb_key_ts(&m->key, delete->ts);
	return mutate_delete_all(m);
}

static int mutate_deletes(struct ldb_mutate *m)
{
	int err = 0;

	if (m->row_empty)
		return 0;
	if (m->mutation->delete_row) {
		m->key.len = m->row_end;
		return mutate_delete_all(m);
	}
	for (size_t i = 0; i < m->mutation->delete_count && !err; i++)
		err = mutate_delete(m, &m->mutation->deletes[i]);
	return err;
}

/* ---- All of it --------------------------------------------------------------------------- */

static bool mutate_same_column(const struct wcs_write *a, const struct wcs_write *b)
{
	return strcmp(a->family, b->family) == 0 &&
	       wcs_slice_compare(a->qualifier, b->qualifier) == 0;
}

static int mutate_writes(struct ldb_mutate *m)
{
	struct wcs_write *writes = m->mutation->writes;
	size_t count = m->mutation->write_count;
	int err = 0;

	for (size_t from = 0, to; from < count && !err; from = to) {
		for (to = from + 1; to < count; to++) {
			if (!mutate_same_column(&writes[from], &writes[to]))
				break;
		}
		if (wcs_type_aggregates(writes[from].type))
			err = ldb_column_merge(m, writes + from, to - from);
		else
			err = ldb_column_write(m, writes + from, to - from);
	}
	return err;
}

static bool mutate_deletes_same_column(const struct wcs_delete *a, const struct wcs_delete *b)
{
	return a->kind == b->kind && strcmp(a->family, b->family) == 0 &&
	       wcs_slice_compare(a->qualifier, b->qualifier) == 0;
}

/* Cells behind those that are deleted must not come back. */
static int mutate_purge(struct ldb_mutate *m)
{
	int err = 0;

	for (size_t i = 0; i < m->mutation->delete_count && !err; i++) {
		const struct wcs_delete *delete = &m->mutation->deletes[i];

		if (delete->kind == WCS_DELETE_CELL &&
		    (i == 0 || !mutate_deletes_same_column(delete, delete - 1)) &&
		    ldb_rank_matters(m, delete->family))
			err = ldb_purge_column(m, delete->family, delete->qualifier);
	}
	m->key.len = m->row_end;
	return err;
}

/* Does a new row save more than it costs to know that it is new? */
static bool mutate_asks_row(const struct wcs_mutation *mutation)
{
	return mutation->write_count >= MUTATE_ASKS_ROW && mutation->delete_count == 0 &&
	       !mutation->delete_row && mutation->condition_count == 0;
}

int ldb_mutate_build(struct ldb_mutate *m)
{
	int err, unread;

	if (mutate_asks_row(m->mutation)) {
		ldb_iter_seek(m->iter, &m->key);
		m->row_empty = !ldb_iter_within(m->iter, &m->key);
	}
	err = mutate_conditions(m);
	if (!err)
		err = mutate_deletes(m);
	if (!err)
		err = mutate_writes(m);
	unread = ldb_db_iter_error(m->db, m->iter);
	return unread ? unread : err;
}

static int mutate_apply(struct ldb_mutate *m)
{
	int err = mutate_purge(m);

	if (err)
		return err;
	m->iter = ldb_db_iterate(m->db);
	err = ldb_mutate_build(m);
	leveldb_iter_destroy(m->iter);
	if (err || !m->changes)
		return err;
	err = ldb_mutate_sync(m);
	if (err)
		return err;
	ldb_mutate_end_intents(m);
	return ldb_db_write(m->db, m->batch, m->db->options->sync);
}

int ldb_mutate_row(void *engine, const struct wcs_view *view, uint32_t table, struct wcs_slice row,
		   struct wcs_mutation *mutation, int64_t *ts)
{
	struct ldb *db = engine;
	pthread_mutex_t *lock = ldb_mutate_lock(db, table, row);
	struct ldb_mutate m;
	int err;

	if (atomic_load(&db->failed))
		return -EROFS;
	ldb_mutate_init(&m, db, view, leveldb_writebatch_create(), table, row, mutation);
	err = ldb_mutate_prepare(&m);
	if (!err) {
		pthread_mutex_lock(lock);
		err = mutate_apply(&m);
		pthread_mutex_unlock(lock);
	}
	if (err)
		ldb_mutate_abandon(&m);
	if (m.garbage) /* also on failure: what was purged before is */
		ldb_reclaim_wake(db);
	if (!err)
		wcs_warn_value(db->options, m.largest_family, m.largest);
	if (!err && ts)
		*ts = m.last_ts;
	leveldb_writebatch_destroy(m.batch);
	free(m.made);
	return err;
}
