/* SPDX-License-Identifier: MIT */
/*
 * Rows that are being changed: their locks, and looks at their cells.
 *
 * Everything read of the rows comes from one iterator, made under their locks. It is asked for its
 * error at each look: it passes over a block that it cannot read.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "lib/hash.h"
#include "store/leveldb/write/write.h"

enum {
	ROWS_PURGE = 1000, /* cells in one batch of a purge */
	/* A run of tombstones to compact: so long takes a step over it, and so many cells were
	 * deleted since the last one. */
	ROWS_RUN_NS = 200000,
	ROWS_RUN = 2000,
};

/* ---- Locks ------------------------------------------------------------------------------- */

static void rows_stripe(struct ldb_rows *rows, struct wcs_slice row)
{
	uint64_t hash = hash_bytes(HASH_START ^ rows->table, row.data, row.len);
	size_t stripe = (hash ^ hash >> 32) % LDB_STRIPES;

	rows->stripes[stripe / LDB_ROWS_MASK_BITS] |= (uint64_t)1 << stripe % LDB_ROWS_MASK_BITS;
}

/* Takes or frees the locks, in ascending order: nobody takes two in the other. */
static void rows_lock(struct ldb_rows *rows, int (*change)(pthread_mutex_t *lock))
{
	for (size_t i = 0; i < sizeof(rows->stripes) / sizeof(rows->stripes[0]); i++)
		for (uint64_t left = rows->stripes[i]; left != 0; left &= left - 1)
			change(&rows->db->rows[i * LDB_ROWS_MASK_BITS +
					       (size_t)__builtin_ctzll(left)]);
}

/* A key has 41 KB: one is kept for the next change. */
static struct ldb_rows *rows_new(struct ldb *db, uint32_t table)
{
	struct ldb_rows *rows = atomic_exchange(&db->spare, NULL);

	if (!rows)
		rows = malloc(sizeof(*rows));
	if (!rows)
		return NULL;
	memset(rows, 0, offsetof(struct ldb_rows, key));
	rows->db = db;
	rows->table = table;
	rows->batch = leveldb_writebatch_create();
	return rows;
}

static void rows_free(struct ldb_rows *rows)
{
	ldb_values_abandon(rows);
	leveldb_writebatch_destroy(rows->batch);
	free(rows->made);
	free(atomic_exchange(&rows->db->spare, rows));
}

int ldb_rows_open(void *engine, uint32_t table, const struct wcs_edit *edits, size_t count,
		  struct wcs_rows **made)
{
	struct ldb *db = engine;
	struct ldb_rows *rows;
	int rc = 0;

	if (ldb_db_failed(db))
		return -EROFS;
	rows = rows_new(db, table);
	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < count && !rc; i++) {
		rc = ldb_values_prepare(rows, &edits[i]);
		rows_stripe(rows, edits[i].row);
	}
	if (rc) {
		rows_free(rows);
		return rc;
	}
	rows_lock(rows, pthread_mutex_lock);
	rows->iter = ldb_db_iterate(db);
	*made = (struct wcs_rows *)rows;
	return 0;
}

void ldb_rows_cancel(struct ldb_rows *rows)
{
	ldb_erased_put(rows->erased);
	rows->erased = NULL;
}

void ldb_rows_close(struct wcs_rows *closed)
{
	struct ldb_rows *rows = (struct ldb_rows *)closed;
	struct ldb_range range;

	leveldb_iter_destroy(rows->iter);
	rows_lock(rows, pthread_mutex_unlock);
	if (rows->garbage)
		ldb_reclaim_wake(rows->db);
	if (rows->erased_keys) {
		range = ldb_range(rows->erased->from, rows->erased->to);
		ldb_space_push(rows->db, &range, LDB_SPACE_RANGES, false);
	}
	ldb_rows_cancel(rows);
	if (rows->has_crossed)
		ldb_space_push(rows->db, &rows->crossed, 1, false);
	rows_free(rows);
}

/* ---- Looks ------------------------------------------------------------------------------- */

/* Makes the key the prefix of the row, or of a column of it. */
static void rows_key(struct ldb_rows *rows, const struct wcs_address *at)
{
	ldb_key_row(&rows->key, rows->table, at->row);
	if (!at->family)
		return;
	ldb_key_family(&rows->key, at->family);
	ldb_key_qualifier(&rows->key, at->qualifier);
}

void ldb_rows_seek(struct ldb_rows *rows)
{
	const struct ldb_key *key = &rows->key;

	if (rows->sought > 0 && ldb_key_compare(rows->from, rows->sought, key) <= 0 &&
	    !ldb_iter_before(rows->iter, key))
		return;
	ldb_iter_seek(rows->iter, key);
	rows->looked = true;
	rows->sought = key->len <= sizeof(rows->from) ? key->len : 0;
	memcpy(rows->from, key->data, rows->sought);
}

void ldb_rows_next(struct ldb_rows *rows)
{
	leveldb_iter_next(rows->iter);
	rows->sought = 0;
	rows->looked = true;
}

/* Deletes in descending order would meet ever longer runs: every look behind a deleted key, and
 * each listing, steps over all of them. Time is the only measure of a run that LevelDB gives. */
void ldb_rows_step(struct ldb_rows *rows)
{
	struct ldb *db = rows->db;
	struct wcs_slice from = {rows->key.data, rows->key.len}, to = from;
	int64_t began = clock_ns();
	uint64_t deleted;

	ldb_rows_next(rows);
	if (clock_ns() - began < ROWS_RUN_NS || rows->has_crossed)
		return;
	deleted = atomic_load(&db->counters.cells_deleted);
	if (deleted - atomic_load(&db->compacted_at) < ROWS_RUN)
		return;
	atomic_store(&db->compacted_at, deleted);
	if (leveldb_iter_valid(rows->iter))
		to.data = ldb_iter_key(rows->iter, &to.len);
	else
		to = (struct wcs_slice){"d", 1}; /* the first key behind all cells */
	rows->crossed = ldb_range(from, to);
	rows->has_crossed = true;
}

int ldb_rows_error(struct ldb_rows *rows)
{
	int rc = rows->looked ? ldb_db_iter_error(rows->db, rows->iter) : 0;

	rows->looked = rc != 0;
	return rc;
}

/* Puts the iterator at the first cell of the column, whose prefix is in the key, that is not later
 * than ts. A look at the cell behind the present one is a step. */
static int rows_seek(struct ldb_rows *rows, int64_t ts)
{
	size_t column_end = rows->key.len;
	int64_t present = 0;
	int rc = 0;

	if (ts != WCS_TS_NEWEST && ldb_iter_within(rows->iter, &rows->key)) {
		rc = ldb_iter_ts(rows->db, rows->iter, column_end, &present);
		if (!rc && present - 1 == ts) {
			ldb_rows_next(rows);
			return 0;
		}
	}
	if (ts != WCS_TS_NEWEST)
		ldb_key_ts(&rows->key, ts);
	ldb_rows_seek(rows);
	rows->key.len = column_end;
	return rc;
}

int ldb_rows_find(struct wcs_rows *base, const struct wcs_address *at, struct wcs_stored *cell)
{
	struct ldb_rows *rows = (struct ldb_rows *)base;
	struct ldb_cell found;
	bool within;
	int64_t ts = 0;
	int rc;

	rows_key(rows, at);
	rc = rows_seek(rows, at->family ? at->ts : WCS_TS_NEWEST);
	within = !rc && ldb_iter_within(rows->iter, &rows->key);
	if (!rc)
		rc = ldb_rows_error(rows);
	if (rc || !within || !at->family)
		return rc ? rc : within;
	rc = ldb_iter_ts(rows->db, rows->iter, rows->key.len, &ts);
	if (!rc)
		rc = ldb_iter_cell(rows->db, rows->iter, &found);
	if (rc)
		return rc;
	*cell = (struct wcs_stored){.ts = ts,
				    .size = found.size,
				    .etag = found.etag,
				    .data = found.id ? NULL : found.data,
				    .id = found.id};
	return 1;
}

int ldb_rows_read(struct wcs_rows *base, const struct wcs_stored *cell, void *buf, size_t len,
		  uint64_t offset, size_t *got)
{
	struct ldb_rows *rows = (struct ldb_rows *)base;
	struct ldb_cell read = {.size = cell->size, .id = cell->id, .data = cell->data};

	return ldb_extent_read(rows->db, &read, buf, len, offset, got);
}

int ldb_rows_delete(struct ldb_rows *rows, bool taken, size_t *key_len)
{
	struct ldb_cell cell;
	const unsigned char *key;
	int rc = ldb_iter_cell(rows->db, rows->iter, &cell);

	if (rc)
		return rc;
	key = ldb_iter_key(rows->iter, key_len);
	leveldb_writebatch_delete(rows->batch, (const char *)key, *key_len);
	if (cell.id && !taken) {
		ldb_db_batch_value(rows->db, rows->batch, &cell);
		rows->garbage = true;
	}
	ldb_space_dead_key(rows->db, key, *key_len, cell.id ? 0 : cell.size);
	return 0;
}

/* ---- Purge ------------------------------------------------------------------------------- */

/* Readers see neither hidden cells nor their delete. The logs are synced before, because a power
 * cut must not lose the cells that hide them and keep their delete; and afterwards, because it must
 * not keep the edit and lose their delete. */
static int rows_purge_flush(struct ldb_rows *rows)
{
	int rc;

	rows->unsynced = true;
	rc = ldb_values_sync(rows);
	if (!rc)
		rc = ldb_commit(rows->db, rows->batch, false);
	leveldb_writebatch_clear(rows->batch);
	rows->unsynced = true;
	return rc;
}

int ldb_rows_purge(struct wcs_rows *base, const struct wcs_address *at)
{
	struct ldb_rows *rows = (struct ldb_rows *)base;
	size_t cells = 0, len;
	int rc;

	rows_key(rows, at);
	rc = rows_seek(rows, at->ts);
	for (; !rc && ldb_iter_within(rows->iter, &rows->key); ldb_rows_next(rows)) {
		rc = ldb_rows_delete(rows, false, &len);
		if (!rc && ++cells % ROWS_PURGE == 0)
			rc = rows_purge_flush(rows);
	}
	if (!rc && cells % ROWS_PURGE != 0)
		rc = rows_purge_flush(rows);
	rc = ldb_db_iter_end(rows->db, rows->iter, rc);
	rows->iter = ldb_db_iterate(rows->db);
	rows->sought = 0;
	return rc;
}
