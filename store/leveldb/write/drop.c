/* SPDX-License-Identifier: MIT */
/*
 * Drops of a row range, in batches of whole rows.
 *
 * - A batch is made and written under all row locks, so no mutation comes between what is read
 *   and what is deleted.
 * - A drop that one batch does not finish has a record of what is left, which every batch replaces
 *   and the last one deletes. What the drop passed is not in it, so rows written there
 *   afterwards stay, also when a crash lets the next open finish the drop.
 * - Behind each of these batches the logs are synced, once the row locks are free: a power cut
 *   must not keep a later batch, or the end of the drop, and lose an earlier one. A mutation that
 *   comes into that window is lost with the batch before it or is not yet promised either, except
 *   with the option sync; there the batch is a synced write itself.
 * - A drop that fails gives up what is left: were it finished later, it would take what was
 *   written meanwhile.
 * - A single row may go with the range, in the first batch: so the record is of the range only, and
 *   the two are one drop.
 * - The deleted keys are compacted in slices while the drop goes on, one slice behind it at most.
 *   So it returns when its rows are gone and who comes to the place where they were is not slowed
 *   down by them, nor was it much meanwhile.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "store/leveldb/compaction/compaction.h"

enum {
	DROP_CELLS = 4000,	   /* in a batch: some milliseconds under the row locks */
	DROP_SLICE_CELLS = 200000, /* what a seek crosses in some 25 ms */
	DROP_PAUSE_MS = 50,
	DROP_PAUSES = 20, /* at most, in a slice, while LevelDB lags behind */
};
#define DROP_BYTES	 (1u << 20)  /* of keys in a batch: LevelDB keeps it in memory */
#define DROP_SLICE_BYTES (32u << 20) /* of keys and values */

struct drop {
	struct ldb *db;
	uint64_t id;
	bool recorded; /* there is a record */
	bool unsynced; /* the batch put last must be synced before the next */
	bool garbage;
	bool compacts; /* more than a batch: it is worth it */
	uint32_t table;
	const struct wcs_slice *row; /* NULL: none any more */
	struct wcs_slice start;	     /* of what is left of the range */
	leveldb_iterator_t *iter;
	leveldb_writebatch_t *batch;
	size_t cells, bytes; /* in the batch */
	uint64_t dead;	     /* the same, with values that are no extents */
	size_t slice_cells;
	uint64_t slice_bytes;
	unsigned int pauses; /* in the slice */
	uint64_t number;     /* of the slice pushed last */
	struct ldb_key seek;
	struct ldb_key slice; /* where the slice begins */
	struct ldb_key end;   /* first key not to be deleted */
	struct wcs_range range;
	unsigned char start_bytes[LDB_ROW_BOUND];
	unsigned char record[LDB_DROP_MAX];
};

static bool drop_valid(const struct drop *drop)
{
	const unsigned char *key;
	size_t len;

	if (!leveldb_iter_valid(drop->iter))
		return false;
	key = ldb_iter_key(drop->iter, &len);
	return ldb_key_compare(key, len, &drop->end) < 0;
}

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

static int drop_single_row(struct drop *drop)
{
	if (!drop->row)
		return 0;
	ldb_key_row(&drop->seek, drop->table, *drop->row);
	ldb_iter_seek(drop->iter, &drop->seek);
	drop->row = NULL;
	return drop_row(drop, drop->seek.len);
}

/* Collects rows until the batch is full. *more: there are others, from drop->start on. */
static int drop_collect(struct drop *drop, bool *more)
{
	int first = drop_single_row(drop);

	if (first)
		return first;
	ldb_key_row(&drop->seek, drop->table, drop->start);
	ldb_iter_seek(drop->iter, &drop->seek);
	for (*more = false; drop_valid(drop);) {
		struct ldb_key_parts parts;
		size_t len;
		const unsigned char *key = ldb_iter_key(drop->iter, &len);
		int rc = 0;

		if (ldb_key_split(key, len, &parts))
			return ldb_db_damaged(drop->db, "a cell's key");
		if (drop->cells >= DROP_CELLS || drop->bytes >= DROP_BYTES) {
			drop->start = (struct wcs_slice){
				drop->start_bytes, ldb_key_get_row(key, &parts, drop->start_bytes)};
			*more = true;
			return 0;
		}
		memcpy(drop->seek.data, key, parts.row_end);
		rc = drop_row(drop, parts.row_end);
		if (rc)
			return rc;
	}
	return 0;
}

static void drop_put_record(struct drop *drop, bool more)
{
	struct ldb_drop left = {drop->table, {drop->start, drop->range.end}};
	struct ldb_id_key key;

	ldb_key_drop(&key, drop->id);
	if (more)
		ldb_db_batch_put(drop->batch, &key, drop->record,
				 ldb_record_drop(drop->record, &left));
	else if (drop->recorded)
		ldb_db_batch_delete(drop->batch, &key);
}

/* One batch, under all row locks. 1: there is more; 0: done. */
static int drop_batch(struct drop *drop)
{
	bool more = false;
	int rc, unread;

	drop->iter = ldb_db_iterate(drop->db);
	drop->cells = drop->bytes = drop->dead = 0;
	rc = drop_collect(drop, &more);
	unread = ldb_db_iter_error(drop->db, drop->iter);
	leveldb_iter_destroy(drop->iter);
	if (unread)
		rc = unread;
	if (!rc && (drop->cells > 0 || drop->recorded)) {
		drop->unsynced = more || drop->recorded;
		drop_put_record(drop, more);
		rc = ldb_commit(drop->db, drop->batch, drop->db->options->sync);
		drop->recorded = more;
	}
	leveldb_writebatch_clear(drop->batch);
	return rc ? rc : more;
}

/* Passes on what the batch said, unless it cannot be made durable. */
static int drop_sync(struct drop *drop, int more)
{
	int rc = more >= 0 && drop->unsynced ? ldb_sync_logs(drop->db) : 0;

	drop->unsynced = false;
	return rc ? rc : more;
}

static void drop_give_up(struct drop *drop)
{
	if (!drop->recorded)
		return;
	leveldb_writebatch_clear(drop->batch);
	drop_put_record(drop, false);
	ldb_commit(drop->db, drop->batch, true);
}

/* ---- Beside the deleting ----------------------------------------------------------------- */

/* The keys of the slice so far, of which a batch or all is dead. */
static struct ldb_dead drop_dead(struct drop *drop, bool more, uint64_t keys, uint64_t bytes)
{
	drop->seek = drop->end;
	if (more)
		ldb_key_row(&drop->seek, drop->table, drop->start);
	return (struct ldb_dead){
		ldb_place_before((struct wcs_slice){drop->slice.data, drop->slice.len}),
		ldb_place_behind((struct wcs_slice){drop->seek.data, drop->seek.len}), keys, bytes};
}

/* Counts what the batch deleted, and compacts what was deleted since the last slice, once that is
 * enough. */
static void drop_compact(struct drop *drop, bool more)
{
	struct ldb_dead dead = drop_dead(drop, more, drop->cells, drop->dead);

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

/* Lets LevelDB catch up with what others write; not for ever, since that may never end. */
static void drop_yield(struct drop *drop)
{
	for (; drop->pauses < DROP_PAUSES && ldb_commit_busy(drop->db); drop->pauses++)
		nanosleep(&(struct timespec){0, DROP_PAUSE_MS * 1000000L}, NULL);
}

/* Is it more than one batch? Reads that much ahead, which need not be done under the locks then. */
static bool drop_is_long(struct drop *drop)
{
	size_t cells = 0;

	drop->iter = ldb_db_iterate(drop->db);
	ldb_key_row(&drop->seek, drop->table, drop->start);
	ldb_iter_seek(drop->iter, &drop->seek);
	for (; cells <= DROP_CELLS && drop_valid(drop); cells++)
		leveldb_iter_next(drop->iter);
	leveldb_iter_destroy(drop->iter);
	return cells > DROP_CELLS;
}

/* ---- All of it --------------------------------------------------------------------------- */

static void drop_begin(struct drop *drop)
{
	drop->batch = leveldb_writebatch_create();
	ldb_key_table_past(&drop->end, drop->table);
	if (drop->range.end.data)
		ldb_key_row(&drop->end, drop->table, drop->range.end);
	ldb_key_row(&drop->slice, drop->table, drop->row ? *drop->row : drop->start);
	drop->compacts = drop_is_long(drop) && ldb_shrink_has_files(drop->db);
	if (drop->compacts) /* deletes in one table with what they delete would stay */
		ldb_manual_flush(drop->db);
	atomic_fetch_add(&drop->db->drops, 1);
}

static int drop_run(struct drop *drop)
{
	int more;

	drop_begin(drop);
	do {
		drop_yield(drop);
		ldb_db_lock_rows(drop->db);
		more = drop_batch(drop);
		ldb_db_unlock_rows(drop->db);
		more = drop_sync(drop, more);
		drop_compact(drop, more > 0);
	} while (more > 0);
	if (more < 0)
		drop_give_up(drop);
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
	struct ldb_id_key first;
	int rc = 0, unread;

	ldb_key_drop(&first, 0);
	leveldb_iter_seek(iter, (const char *)first.data, first.len);
	for (; !rc && ldb_iter_in_space(iter, &first); leveldb_iter_next(iter)) {
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
	unread = ldb_db_iter_error(db, iter);
	leveldb_iter_destroy(iter);
	return rc ? rc : unread;
}
