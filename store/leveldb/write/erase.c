/* SPDX-License-Identifier: MIT */
/*
 * Deletes more cells of a row than one batch should hold, as one change for readers.
 *
 * - The batch of the change has a record of the range of keys that is left to delete. Readers who
 *   see the record pass over the range (db.c).
 * - The row stays locked until the last cell and the record are deleted, so nothing is written into
 *   the range meanwhile. Opening a store finishes the range that it finds.
 * - The logs are synced behind the batch of the change, and before the record is deleted: a power
 *   cut must not keep a later delete and lose the record, nor keep the end of the record and lose
 *   an earlier delete. In between the order does not matter: all of the range is deleted again.
 * - If a damaged block ends it, the record is deleted: a later open would delete cells written
 *   meanwhile.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/leveldb/write/write.h"

#define ERASE_BATCH (1u << 20) /* bytes of keys in one batch */

bool ldb_erase_starts(const struct ldb_rows *rows)
{
	return !rows->erased && rows->deleted >= ERASE_BATCH;
}

int ldb_erase_set(struct ldb_rows *rows, struct wcs_slice from, struct wcs_slice to)
{
	struct ldb_erased *erased = malloc(sizeof(*erased) + from.len + to.len);

	if (!erased)
		return -ENOMEM;
	memcpy(erased->bytes, from.data, from.len);
	memcpy(erased->bytes + from.len, to.data, to.len);
	erased->from = (struct wcs_slice){erased->bytes, from.len};
	erased->to = (struct wcs_slice){erased->bytes + from.len, to.len};
	atomic_init(&erased->refs, 1);
	rows->erased = erased;
	return 0;
}

/* Deletes a batch of cells of the range, from the key of `rows` on, which moves. 1: there are more;
 * 0; or an error. */
static int erase_batch(struct ldb_rows *rows)
{
	size_t bytes = 0, len;
	int rc = 0;

	leveldb_iter_destroy(rows->iter);
	rows->iter = ldb_db_iterate(rows->db);
	rows->sought = 0;
	ldb_iter_seek(rows->iter, &rows->key);
	while (!rc && bytes < ERASE_BATCH && leveldb_iter_valid(rows->iter)) {
		const unsigned char *key = ldb_iter_key(rows->iter, &len);

		if (wcs_slice_compare((struct wcs_slice){key, len}, rows->erased->to) >= 0)
			break;
		memcpy(rows->key.data, key, rows->key.len = len);
		rc = ldb_rows_delete(rows, false, &len);
		bytes += len;
		rows->erased_keys = true;
		leveldb_iter_next(rows->iter);
	}
	if (!rc)
		rc = ldb_db_iter_error(rows->db, rows->iter);
	if (!rc && bytes > 0)
		rc = ldb_commit(rows->db, rows->batch, false);
	leveldb_writebatch_clear(rows->batch);
	return rc ? rc : bytes >= ERASE_BATCH;
}

/* Deletes the range, whose record is written, and the record. */
static int erase_run(struct ldb_rows *rows)
{
	struct ldb *db = rows->db;
	int rc = ldb_sync_logs(db), ended;

	memcpy(rows->key.data, rows->erased->from.data, rows->key.len = rows->erased->from.len);
	for (int more = !rc; more > 0;) {
		more = erase_batch(rows);
		rc = more < 0 ? more : 0;
	}
	if (!rc)
		rc = ldb_sync_logs(db);
	if (ldb_db_failed(db))
		return rc;
	ldb_db_batch_delete(rows->batch, ldb_key_drop(rows->erased->id));
	ended = ldb_commit(db, rows->batch, db->options->sync);
	leveldb_writebatch_clear(rows->batch);
	return rc ? rc : ended;
}

/* ---- All of it --------------------------------------------------------------------------- */

static int erase_commit(struct ldb_rows *rows, leveldb_writebatch_t *batch, bool sync,
			unsigned char *record)
{
	struct ldb_erased *erased = rows->erased;
	struct ldb_drop drop = {rows->table, {erased->from, erased->to}, true};
	struct ldb *db = rows->db;
	int rc;

	ldb_db_batch_put(batch, ldb_key_drop(erased->id), record, ldb_record_drop(record, &drop));
	atomic_fetch_add(&erased->refs, 1);
	ldb_erased_set(db, erased);
	rc = ldb_commit(db, batch, sync);
	if (!rc)
		rc = erase_run(rows);
	/* Readers of a store that takes no more writes go on to pass over the rest, which the next
	 * open deletes. */
	if (!ldb_db_failed(db))
		ldb_erased_set(db, NULL);
	return rc;
}

int ldb_erase_commit(struct ldb_rows *rows, leveldb_writebatch_t *batch, bool sync)
{
	struct ldb *db = rows->db;
	unsigned char *record = malloc(LDB_ERASE_MAX);
	int rc = record ? -EROFS : -ENOMEM;

	pthread_mutex_lock(&db->erase_lock);
	rows->erased->id = atomic_fetch_add(&db->next_drop, 1);
	/* The range of a change whose write failed stays set. */
	if (record && !ldb_db_failed(db))
		rc = erase_commit(rows, batch, sync, record);
	pthread_mutex_unlock(&db->erase_lock);
	free(record);
	return rc;
}

int ldb_erase_resume(struct ldb *db, uint64_t id, const struct ldb_drop *what)
{
	struct wcs_rows *base;
	struct ldb_rows *rows;
	int rc = ldb_rows_open(db, what->table, NULL, 0, &base);

	if (rc)
		return rc;
	rows = (struct ldb_rows *)base;
	rc = ldb_erase_set(rows, what->range.start, what->range.end);
	if (!rc) {
		rows->erased->id = id;
		rc = erase_run(rows);
	}
	ldb_rows_close(base);
	return rc;
}
