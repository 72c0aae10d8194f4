/* SPDX-License-Identifier: MIT */
/* The cells of one row, as mutations and moves look at them, replace and delete them. */
#include <errno.h>
#include <stddef.h>

#include "lib/hash.h"
#include "store/leveldb/write/mutate.h"

uint64_t ldb_row_hash(uint32_t table, struct wcs_slice row)
{
	return hash_bytes(HASH_START ^ table, row.data, row.len);
}

pthread_mutex_t *ldb_row_lock(struct ldb *db, uint32_t table, struct wcs_slice row)
{
	return &db->rows[ldb_row_stripe(ldb_row_hash(table, row))];
}

void ldb_row_init(struct ldb_mutate *m, uint32_t table, struct wcs_slice row,
		  struct wcs_mutation *mutation, leveldb_writebatch_t *batch)
{
	struct ldb *db = m->db;
	const struct wcs_view *view = m->view;

	memset(m, 0, offsetof(struct ldb_mutate, key));
	m->db = db;
	m->view = view;
	m->mutation = mutation;
	m->batch = batch;
	m->now = -1;
	ldb_key_row(&m->key, table, row);
	m->row_end = m->key.len;
}

void ldb_row_column(struct ldb_mutate *m, const char *family, struct wcs_slice qualifier)
{
	m->key.len = m->row_end;
	ldb_key_family(&m->key, family);
	ldb_key_qualifier(&m->key, qualifier);
}

void ldb_row_put(struct ldb_mutate *m, size_t record_len)
{
	leveldb_writebatch_put(m->batch, (const char *)m->key.data, m->key.len,
			       (const char *)m->record, record_len);
	m->changes = true;
}

/* Counts the key and the inline value of the cell under the iterator as dead. */
static void row_dead(struct ldb_mutate *m, const struct ldb_cell *cell)
{
	size_t len;
	const unsigned char *key = ldb_iter_key(m->iter, &len);

	ldb_space_dead_key(m->db, key, len, cell->id == 0 ? cell->size : 0);
}

int ldb_row_delete(struct ldb_mutate *m, size_t *key_len)
{
	struct ldb_cell cell;
	int rc = ldb_db_batch_cell(m->db, m->batch, m->iter, &cell, key_len);

	if (rc)
		return rc;
	m->garbage = m->garbage || cell.id != 0;
	row_dead(m, &cell);
	return 0;
}

/* Accounts for the replaced cell at m->key, with m->iter there or behind. */
static int row_replaced_here(struct ldb_mutate *m)
{
	struct ldb_cell cell;
	int rc;

	if (!ldb_iter_within(m->iter, &m->key))
		return 0;
	rc = ldb_iter_cell(m->db, m->iter, &cell);
	if (rc)
		return rc;
	if (cell.id != 0) {
		ldb_db_batch_value(m->db, m->batch, &cell);
		m->garbage = true;
	}
	row_dead(m, &cell);
	return 0;
}

int ldb_row_replaced(struct ldb_mutate *m)
{
	ldb_iter_seek(m->iter, &m->key);
	return row_replaced_here(m);
}

int ldb_row_server_ts(struct ldb_mutate *m, bool found, int64_t newest, int64_t *ts)
{
	if (m->now < 0)
		m->now = m->db->options->now(m->db->options->now_ctx);
	if (m->now < 0)
		m->now = 0;
	if (found && newest == INT64_MAX)
		return -EOVERFLOW;
	*ts = found && newest >= m->now ? newest + 1 : m->now;
	return 0;
}

/* ---- Ranks ------------------------------------------------------------------------------- */

bool ldb_row_has_ranks(const struct ldb_mutate *m, const char *family)
{
	const struct wcs_gc *gc = wcs_view_gc(m->view, family);

	return gc && wcs_gc_last_rank(gc) > 1;
}

bool ldb_row_counts(const struct ldb_mutate *m, const struct wcs_write *writes, size_t count)
{
	bool given = writes->kind == WCS_WRITE_SET || writes->kind == WCS_WRITE_MERGE;

	return count == 1 && given && writes->ts >= 0 && m->mutation->delete_count == 0 &&
	       !m->mutation->delete_row && ldb_row_has_ranks(m, writes->family);
}

int ldb_row_newer(struct ldb_mutate *m, size_t column_end, int64_t ts, uint64_t *newer)
{
	size_t key_len = m->key.len;
	uint64_t count = 0;
	int rc = 0;

	m->key.len = column_end;
	ldb_iter_seek(m->iter, &m->key);
	for (; count < LDB_ROW_STEPS && ldb_iter_within(m->iter, &m->key);
	     leveldb_iter_next(m->iter), count++) {
		int64_t met;

		rc = ldb_iter_ts(m->db, m->iter, column_end, &met);
		if (rc || met <= ts)
			break;
	}
	m->key.len = key_len;
	if (!rc)
		*newer = count;
	return rc;
}

int ldb_row_replaced_newer(struct ldb_mutate *m, size_t column_end, int64_t ts, uint64_t *newer)
{
	int rc = ldb_row_newer(m, column_end, ts, newer);

	if (rc)
		return rc;
	return *newer < LDB_ROW_STEPS ? row_replaced_here(m) : ldb_row_replaced(m);
}
