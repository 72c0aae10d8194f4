/* SPDX-License-Identifier: MIT */
/*
 * Deletes more cells of a row than one batch should hold, as one change for readers.
 *
 * - The batch of the change has a record of each range of keys that is left to delete. Readers who
 *   see the record pass over the ranges (db.c).
 * - The row stays locked until the last cell and the records are deleted, so nothing is written
 *   into the ranges meanwhile. Opening a store finishes the ranges that it finds.
 * - The logs are synced behind the batch of the change, and before the records are deleted: a power
 *   cut must not keep a later delete and lose the records, nor keep the end of the records and lose
 *   an earlier delete. In between the order does not matter: all of a range is deleted again.
 * - If a damaged block ends it, the records are deleted: a later open would delete cells written
 *   meanwhile.
 */
#include <errno.h>
#include <stdlib.h>

#include "lib/grow.h"
#include "store/leveldb/write/write.h"

#define ERASE_BATCH (1u << 20) /* bytes of keys in one batch */

bool ldb_erase_starts(const struct ldb_rows *rows)
{
	return rows->deleted >= ERASE_BATCH;
}

int ldb_erase_add(struct ldb_rows *rows, struct wcs_slice from, struct wcs_slice to)
{
	struct ldb_erased *erased = rows->erased;
	unsigned char *bytes = malloc(from.len + to.len);

	if (!erased)
		erased = rows->erased = calloc(1, sizeof(*erased));
	if (!bytes || !erased ||
	    grow(&erased->ranges, &erased->room, erased->count + 1, 1, sizeof(*erased->ranges))) {
		free(bytes);
		return -ENOMEM;
	}
	memcpy(bytes, from.data, from.len);
	memcpy(bytes + from.len, to.data, to.len);
	atomic_store(&erased->refs, 1);
	erased->ranges[erased->count++] =
		(struct ldb_erased_range){{bytes, from.len}, {bytes + from.len, to.len}};
	return 0;
}

/* ---- Batches ----------------------------------------------------------------------------- */

/* Puts the records of the ranges into a batch. -ENOMEM. */
static int erase_put_records(struct ldb_rows *rows, leveldb_writebatch_t *batch)
{
	const struct ldb_erased *erased = rows->erased;
	unsigned char *record = malloc(LDB_ERASE_MAX);

	for (size_t i = 0; record && i < erased->count; i++) {
		const struct ldb_erased_range *range = &erased->ranges[i];
		struct ldb_drop drop = {rows->table, {range->from, range->to}, true};

		ldb_db_batch_put(batch, ldb_key_drop(erased->id + i), record,
				 ldb_record_drop(record, &drop));
	}
	free(record);
	return record ? 0 : -ENOMEM;
}

/* Deletes a batch of cells of the range, from the key of `rows` on, which moves. 1: there are more;
 * 0; or an error. */
static int erase_batch(struct ldb_rows *rows, const struct ldb_erased_range *range)
{
	size_t bytes = 0, len;
	int rc = 0;

	leveldb_iter_destroy(rows->iter);
	rows->iter = ldb_db_iterate(rows->db);
	rows->sought = 0;
	ldb_iter_seek(rows->iter, &rows->key);
	while (!rc && bytes < ERASE_BATCH && leveldb_iter_valid(rows->iter)) {
		const unsigned char *key = ldb_iter_key(rows->iter, &len);

		if (wcs_slice_compare((struct wcs_slice){key, len}, range->to) >= 0)
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

/* Deletes the ranges, whose records are written, and the records. */
static int erase_run(struct ldb_rows *rows)
{
	const struct ldb_erased *erased = rows->erased;
	struct ldb *db = rows->db;
	int rc = ldb_sync_logs(db);

	for (size_t i = 0; !rc && i < erased->count; i++) {
		const struct wcs_slice *from = &erased->ranges[i].from;

		memcpy(rows->key.data, from->data, rows->key.len = from->len);
		do
			rc = erase_batch(rows, &erased->ranges[i]);
		while (rc > 0);
	}
	if (!rc)
		rc = ldb_sync_logs(db);
	if (!ldb_db_failed(db)) {
		int ended;

		for (size_t i = 0; i < erased->count; i++)
			ldb_db_batch_delete(rows->batch, ldb_key_drop(erased->id + i));
		ended = ldb_commit(db, rows->batch, db->options->sync);
		leveldb_writebatch_clear(rows->batch);
		rc = rc ? rc : ended;
	}
	return rc;
}

/* ---- All of it --------------------------------------------------------------------------- */

int ldb_erase_commit(struct ldb_rows *rows, leveldb_writebatch_t *batch, bool sync)
{
	struct ldb_erased *erased = rows->erased;
	struct ldb *db = rows->db;
	int rc;

	pthread_mutex_lock(&db->erase_lock);
	erased->id = atomic_fetch_add(&db->next_drop, erased->count);
	/* The ranges of a change whose write failed stay set. */
	rc = ldb_db_failed(db) ? -EROFS : erase_put_records(rows, batch);
	if (rc)
		goto out;
	atomic_fetch_add(&erased->refs, 1);
	ldb_erased_set(db, erased);
	rc = ldb_commit(db, batch, sync);
	if (!rc)
		rc = erase_run(rows);
	/* Readers of a store that takes no more writes go on to pass over the rest, which the next
	 * open deletes. */
	if (!ldb_db_failed(db))
		ldb_erased_set(db, NULL);
out:
	pthread_mutex_unlock(&db->erase_lock);
	return rc;
}

void ldb_erase_cancel(struct ldb_rows *rows)
{
	ldb_erased_put(rows->erased);
	rows->erased = NULL;
}

int ldb_erase_resume(struct ldb *db, uint64_t id, const struct ldb_drop *what)
{
	struct wcs_rows *base;
	struct ldb_rows *rows;
	int rc = ldb_rows_open(db, what->table, NULL, 0, &base);

	if (rc)
		return rc;
	rows = (struct ldb_rows *)base;
	rc = ldb_erase_add(rows, what->range.start, what->range.end);
	if (!rc) {
		rows->erased->id = id;
		rc = erase_run(rows);
	}
	ldb_rows_close(base);
	return rc;
}
