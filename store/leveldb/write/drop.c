/* SPDX-License-Identifier: MIT */
/*
 * Drops a row range, in batches of whole rows.
 *
 * - A batch is made and written under all row locks, so no mutation runs between its reads and its
 *   deletes.
 * - A drop of more than one batch has a record of its remaining range, which every batch replaces
 *   and the last one deletes. Rows written behind the drop's position are not in the record and
 *   stay, also if the next open finishes the drop after a crash.
 * - The logs are synced after each of these batches, once the row locks are free: a power cut must
 *   not keep a later batch, or the end of the drop, and lose an earlier one. A mutation before that
 *   sync is lost together with the batch, or is not acknowledged as durable either. With the option
 *   sync the batch itself is a synced write.
 * - A drop that fails deletes its record: finished later, it would delete rows written meanwhile.
 * - A single row may go with the range, in the first batch. So the record is of the range only, and
 *   the two are one drop.
 * - The deleted keys are compacted in slices during the drop, at most one slice behind it. So few
 *   tombstones slow readers down while the drop runs, and none when it returns.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "store/leveldb/compaction/compaction.h"

enum {
	DROP_CELLS = 4000,	   /* in a batch: some milliseconds under the row locks */
	DROP_SLICE_CELLS = 200000, /* a seek crosses them in some 25 ms */
	DROP_PAUSE_MS = 50,
	DROP_PAUSES = 20, /* at most, in a slice, while LevelDB lags behind */
};
#define DROP_BYTES	 (1u << 20)  /* of keys in a batch: LevelDB keeps it in memory */
#define DROP_SLICE_BYTES (32u << 20) /* of keys and values */

struct drop {
	struct ldb *db;
	uint64_t id;
	bool recorded; /* there is a record */
	bool unsynced; /* the last batch must be synced before the next */
	bool garbage;
	bool compacts; /* it has more than one batch */
	uint32_t table;
	const struct wcs_slice *row; /* NULL: none any more */
	struct wcs_slice start;	     /* of the remaining range */
	leveldb_iterator_t *iter;
	leveldb_writebatch_t *batch;
	size_t cells, bytes; /* in the batch: cells, and bytes of their keys */
	uint64_t dead;	     /* bytes of their keys and inline values */
	size_t slice_cells;
	uint64_t slice_bytes;
	unsigned int pauses; /* in the slice */
	uint64_t number;     /* of the last slice in the queue */
	struct ldb_key seek;
	struct ldb_key slice; /* its start */
	struct ldb_key end;   /* first key not to be deleted */
	struct wcs_range range;
	unsigned char start_bytes[LDB_ROW_BOUND];
	unsigned char record[LDB_DROP_MAX];
};

/* Deletes the row under the iterator, which moves behind it. */
static int drop_row(struct drop *drop, size_t row_end)
{
	drop->seek.len = row_end;
	for (; ldb_iter_within(drop->iter, &drop->seek); leveldb_iter_next(drop->iter)) {
		struct ldb_cell cell;
		size_t len;
		int rc = ldb_db_batch_cell(drop->db, drop->batch, drop->iter, &cell, &len);

		if (rc)
			return rc;
		drop->cells++;
		drop->bytes += len;
		drop->dead += len + (cell.id == 0 ? cell.size : 0);
		drop->garbage = drop->garbage || cell.id != 0;
	}
	return 0;
}

/* Collects rows until the batch is full. *more: there are others, from drop->start on. */
static int drop_collect(struct drop *drop, bool *more)
{
	int rc = 0;

	*more = false;
	if (drop->row) {
		ldb_key_row(&drop->seek, drop->table, *drop->row);
		ldb_iter_seek(drop->iter, &drop->seek);
		drop->row = NULL;
		rc = drop_row(drop, drop->seek.len);
	}
	ldb_key_row(&drop->seek, drop->table, drop->start);
	ldb_iter_seek(drop->iter, &drop->seek);
	while (!rc && ldb_iter_before(drop->iter, &drop->end)) {
		struct ldb_key_parts parts;
		size_t len;
		const unsigned char *key = ldb_iter_key(drop->iter, &len);

		if (ldb_key_split(key, len, &parts))
			return ldb_db_damaged(drop->db, "a cell's key");
		if (drop->cells >= DROP_CELLS || drop->bytes >= DROP_BYTES) {
			drop->start = (struct wcs_slice){
				drop->start_bytes, ldb_key_get_row(key, &parts, drop->start_bytes)};
			*more = true;
			break;
		}
		memcpy(drop->seek.data, key, parts.row_end);
		rc = drop_row(drop, parts.row_end);
	}
	return rc;
}

static void drop_put_record(struct drop *drop, bool more)
{
	struct ldb_drop left = {drop->table, {drop->start, drop->range.end}};
	struct ldb_id_key key = ldb_key_drop(drop->id);

	if (more)
		ldb_db_batch_put(drop->batch, key, drop->record,
				 ldb_record_drop(drop->record, &left));
	else if (drop->recorded)
		ldb_db_batch_delete(drop->batch, key);
}

/* Makes and writes one batch, under all row locks. 1: there is more; 0: done. */
static int drop_batch(struct drop *drop)
{
	bool more = false;
	int rc;

	drop->iter = ldb_db_iterate(drop->db);
	drop->cells = drop->bytes = drop->dead = 0;
	rc = ldb_db_iter_end(drop->db, drop->iter, drop_collect(drop, &more));
	if (!rc && (drop->cells > 0 || drop->recorded)) {
		drop->unsynced = more || drop->recorded;
		drop_put_record(drop, more);
		rc = ldb_commit(drop->db, drop->batch, drop->db->options->sync);
		drop->recorded = more;
	}
	leveldb_writebatch_clear(drop->batch);
	return rc ? rc : more;
}

/* ---- Compaction --------------------------------------------------------------------------- */

/* Counts the batch's dead bytes, and pushes the slice to the queue once it is large enough. */
static void drop_compact(struct drop *drop, bool more)
{
	struct ldb_dead dead;

	drop->seek = drop->end;
	if (more)
		ldb_key_row(&drop->seek, drop->table, drop->start);
	dead = ldb_dead_range((struct wcs_slice){drop->slice.data, drop->slice.len},
			      (struct wcs_slice){drop->seek.data, drop->seek.len}, drop->cells,
			      drop->dead);
	if (drop->cells > 0)
		ldb_space_dead(drop->db, &dead);
	drop->slice_cells += drop->cells;
	drop->slice_bytes += drop->dead;
	if (!drop->compacts ||
	    (more && drop->slice_cells < DROP_SLICE_CELLS && drop->slice_bytes < DROP_SLICE_BYTES))
		return;
	ldb_queue_wait(drop->db, drop->number);
	dead.keys = drop->slice_cells;
	dead.bytes = drop->slice_bytes;
	drop->number = ldb_queue_push(drop->db, &dead);
	drop->slice = drop->seek;
	drop->slice_cells = drop->slice_bytes = drop->pauses = 0;
}

/* ---- All of it --------------------------------------------------------------------------- */

static void drop_begin(struct drop *drop)
{
	struct ldb *db = drop->db;
	size_t cells = 0;

	drop->batch = leveldb_writebatch_create();
	ldb_key_table_past(&drop->end, drop->table);
	if (drop->range.end.data)
		ldb_key_row(&drop->end, drop->table, drop->range.end);
	ldb_key_row(&drop->slice, drop->table, drop->row ? *drop->row : drop->start);
	/* Has it more than one batch? This reads ahead, which need not be done under the locks. */
	drop->iter = ldb_db_iterate(db);
	ldb_key_row(&drop->seek, drop->table, drop->start);
	ldb_iter_seek(drop->iter, &drop->seek);
	for (; cells <= DROP_CELLS && ldb_iter_before(drop->iter, &drop->end); cells++)
		leveldb_iter_next(drop->iter);
	leveldb_iter_destroy(drop->iter);
	drop->compacts = cells > DROP_CELLS && ldb_shrink_has_files(db);
	if (drop->compacts) /* a tombstone in one table with its key would stay */
		ldb_manual_flush(db);
	atomic_fetch_add(&db->drops, 1);
}

static int drop_run(struct drop *drop)
{
	int more, rc;

	drop_begin(drop);
	do {
		/* LevelDB may catch up, for a limited time, because its writers may never pause. */
		for (; drop->pauses < DROP_PAUSES && ldb_commit_busy(drop->db); drop->pauses++)
			nanosleep(&(struct timespec){0, DROP_PAUSE_MS * 1000000L}, NULL);
		ldb_db_lock_rows(drop->db);
		more = drop_batch(drop);
		ldb_db_unlock_rows(drop->db);
		rc = more >= 0 && drop->unsynced ? ldb_sync_logs(drop->db) : 0;
		drop->unsynced = false;
		more = rc ? rc : more;
		drop_compact(drop, more > 0);
	} while (more > 0);
	if (more < 0 && drop->recorded) {
		leveldb_writebatch_clear(drop->batch);
		drop_put_record(drop, false);
		ldb_commit(drop->db, drop->batch, true);
	}
	leveldb_writebatch_destroy(drop->batch);
	atomic_fetch_sub(&drop->db->drops, 1);
	return more;
}

static struct drop *drop_new(struct ldb *db, uint64_t id, const struct wcs_slice *row,
			     const struct ldb_drop *what)
{
	struct drop *drop = malloc(sizeof(*drop));

	if (!drop)
		return NULL;
	memset(drop, 0, offsetof(struct drop, seek));
	drop->db = db;
	drop->id = id;
	drop->table = what->table;
	drop->row = row;
	drop->range = what->range;
	drop->start = what->range.start;
	return drop;
}

int ldb_drop_rows(void *engine, uint32_t table, const struct wcs_slice *row,
		  const struct wcs_range *range)
{
	struct ldb *db = engine;
	struct ldb_drop what = {table, *range};
	struct drop *drop;
	int rc;

	if (ldb_db_failed(db))
		return -EROFS;
	drop = drop_new(db, atomic_fetch_add(&db->next_drop, 1), row, &what);
	if (!drop)
		return -ENOMEM;
	rc = drop_run(drop);
	if (drop->garbage)
		ldb_reclaim_wake(db);
	ldb_queue_wait(db, drop->number);
	free(drop);
	return rc;
}

/* ---- After a crash ----------------------------------------------------------------------- */

static int drop_resume_one(struct ldb *db, uint64_t id, const struct ldb_drop *what)
{
	struct drop *drop = drop_new(db, id, NULL, what);
	int rc;

	if (!drop)
		return -ENOMEM;
	drop->recorded = true;
	rc = drop_run(drop);
	free(drop);
	if (rc == -EIO && !ldb_db_failed(db)) {
		ldb_db_log(db, WCS_LOG_ERROR,
			   "a drop that was interrupted meets damaged data; its rest is given up");
		rc = 0;
	}
	return rc;
}

int ldb_drop_resume(struct ldb *db)
{
	leveldb_iterator_t *iter = ldb_db_iterate(db);
	struct ldb_id_key first = ldb_key_drop(0);
	int rc = 0;

	ldb_iter_seek_id(iter, first);
	for (; !rc && ldb_iter_in_space(iter, first); leveldb_iter_next(iter)) {
		struct ldb_drop what;
		size_t len;
		const char *data = leveldb_iter_key(iter, &len);
		uint64_t id;

		if (!ldb_key_drop_decode(data, len, &id)) {
			rc = ldb_db_damaged(db, "the key of a drop");
			break;
		}
		data = leveldb_iter_value(iter, &len);
		if (ldb_record_drop_decode(data, len, &what))
			rc = ldb_db_damaged(db, "the record of a drop");
		else
			rc = drop_resume_one(db, id, &what);
	}
	return ldb_db_iter_end(db, iter, rc);
}
