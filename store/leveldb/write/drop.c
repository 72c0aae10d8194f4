/* SPDX-License-Identifier: MIT */
/*
 * Drops ranges of rows, in batches of whole rows.
 *
 * - A batch is made and written under all row locks, so no mutation runs between its reads and its
 *   deletes.
 * - A drop of more than one batch has a record of each remaining range. The first batch makes them,
 *   every batch replaces that of the range under way, and the last one of a range deletes it. Rows
 *   written behind the drop's position are in no record and stay, also if the next open finishes
 *   the drop after a crash.
 * - The logs are synced after each of these batches, once the row locks are free: a power cut must
 *   not keep a later batch, or the end of the drop, and lose an earlier one. A mutation before that
 *   sync is lost together with the batch, or is not acknowledged as durable either. With the option
 *   sync the batch itself is a synced write.
 * - A drop that fails deletes its records: finished later, it would delete rows written meanwhile.
 * - A single row may go with the ranges, in the first batch. So the records are of ranges only, and
 *   all is one drop.
 * - A row with more keys than a batch should hold is deleted alone, as any change of a row
 *   (erase.c), under its own lock. Its batch makes the records if there are none.
 * - The deleted keys of a drop of more than one batch are compacted in slices, at most one slice
 *   behind it. So few tombstones slow readers down while the drop runs and when it returns.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "store/leveldb/write/write.h"

enum {
	DROP_CELLS = 4000,	   /* in a batch: some milliseconds under the row locks */
	DROP_SLICE_CELLS = 200000, /* a seek crosses them in some 25 ms */
	DROP_RANGE_CELLS = 1000,   /* fewer, in one of several ranges, need no compaction */
	DROP_PAUSE_MS = 50,
	DROP_PAUSES = 20, /* at most, in a slice, while LevelDB lags behind */
};
#define DROP_BYTES	 (1u << 20)  /* of keys in a batch: LevelDB keeps it in memory */
#define DROP_SLICE_BYTES (32u << 20) /* of keys and values */

struct drop {
	struct ldb *db;
	uint64_t id;   /* of the first range; those of the others follow */
	bool recorded; /* there are records of the ranges that are left */
	bool unsynced; /* the last batch must be synced before the next */
	bool garbage;
	bool compacts; /* it has more than one batch */
	uint32_t table;
	const struct wcs_slice *row; /* NULL: none any more */
	const struct wcs_range *ranges;
	size_t range_count, range; /* the range under way */
	struct wcs_slice start;	   /* of its rest */
	leveldb_iterator_t *iter;
	leveldb_writebatch_t *batch;
	size_t cells, bytes; /* in the batch: cells, and bytes of their keys */
	size_t large_len;    /* of a row that is too large for a batch; 0: none was met */
	struct drop_part {
		size_t cells;
		uint64_t dead; /* bytes of their keys and inline values */
	} * parts;	       /* of the batch, in each range */
	size_t slice_cells;
	uint64_t slice_bytes;
	unsigned int pauses; /* in the slice */
	uint64_t number;     /* of the last slice in the queue */
	struct ldb_key seek;
	struct ldb_key slice; /* its start, in the range of the slice */
	struct ldb_key end;   /* of the range under way: its first key not to be deleted */
	unsigned char start_bytes[LDB_ROW_BOUND], large[WCS_ROW_KEY_MAX];
	unsigned char record[LDB_DROP_MAX];
};

/* Notes the row of a key. -EAGAIN. */
static int drop_note_large(struct drop *drop, const unsigned char *key, size_t len)
{
	struct ldb_key_parts parts;

	if (ldb_key_split(key, len, &parts))
		return ldb_db_damaged(drop->db, "a cell's key");
	drop->large_len = ldb_key_get_row(key, &parts, drop->large);
	return -EAGAIN;
}

/* Deletes the row under the iterator, which moves behind it. -EAGAIN: it is too large. */
static int drop_row(struct drop *drop, size_t row_end)
{
	size_t most = drop->bytes + DROP_BYTES;

	drop->seek.len = row_end;
	for (; ldb_iter_within(drop->iter, &drop->seek); leveldb_iter_next(drop->iter)) {
		struct ldb_cell cell;
		size_t len;
		int rc = ldb_db_batch_cell(drop->db, drop->batch, drop->iter, &cell, &len);

		if (rc)
			return rc;
		if (drop->bytes + len > most)
			return drop_note_large(drop, ldb_iter_key(drop->iter, &len), len);
		drop->cells++;
		drop->bytes += len;
		drop->parts[drop->range].cells++;
		drop->parts[drop->range].dead += len + (cell.id == 0 ? cell.size : 0);
		drop->garbage = drop->garbage || cell.id != 0;
	}
	return 0;
}

/* Makes a range the one under way. */
static void drop_set_range(struct drop *drop, size_t range)
{
	drop->range = range;
	drop->start = drop->ranges[range].start;
	ldb_key_table_past(&drop->end, drop->table);
	if (drop->ranges[range].end.data)
		ldb_key_row(&drop->end, drop->table, drop->ranges[range].end);
}

/* Collects rows of the range until the batch is full. *more: it has others, from drop->start on. */
static int drop_collect_range(struct drop *drop, bool *more)
{
	int rc = 0;

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

/* Collects rows until the batch is full. *more: there are others, from drop->start on. */
static int drop_collect(struct drop *drop, bool *more)
{
	int rc = 0;

	if (drop->row) {
		ldb_key_row(&drop->seek, drop->table, *drop->row);
		ldb_iter_seek(drop->iter, &drop->seek);
		drop->row = NULL;
		rc = drop_row(drop, drop->seek.len);
	}
	if (!rc)
		rc = drop_collect_range(drop, more);
	while (!rc && !*more && drop->range + 1 < drop->range_count) {
		drop_set_range(drop, drop->range + 1);
		rc = drop_collect_range(drop, more);
	}
	return rc;
}

/* Puts the records of the ranges that are left, of which `first` was the first before the batch. */
static void drop_put_records(struct drop *drop, leveldb_writebatch_t *batch, size_t first,
			     bool more)
{
	for (size_t i = first; i < drop->range_count; i++) {
		struct ldb_drop left = {drop->table, drop->ranges[i], false};
		struct ldb_id_key key = ldb_key_drop(drop->id + i);

		if (i == drop->range)
			left.range.start = drop->start;
		if (!more || i < drop->range) {
			if (drop->recorded)
				ldb_db_batch_delete(batch, key);
		} else if (i == drop->range || !drop->recorded) {
			ldb_db_batch_put(batch, key, drop->record,
					 ldb_record_drop(drop->record, &left));
		}
	}
}

/* Forgets a batch that met a large row. */
static void drop_undo(struct drop *drop, size_t first, const struct wcs_slice *row,
		      struct wcs_slice start)
{
	memset(drop->parts, 0, drop->range_count * sizeof(*drop->parts));
	drop_set_range(drop, first);
	drop->row = row;
	drop->start = start;
}

/* Deletes the large row, which is met again if it is written anew. */
static int drop_large(struct drop *drop)
{
	struct wcs_edit edit = {.row = {drop->large, drop->large_len}, .delete_row = true};
	struct wcs_rows *base;
	size_t applied;
	int rc = ldb_rows_open(drop->db, drop->table, &edit, 1, &base);

	if (rc)
		return rc;
	if (!drop->recorded)
		drop_put_records(drop, ((struct ldb_rows *)base)->batch, drop->range, true);
	rc = ldb_rows_apply(base, &edit, 1, &applied);
	if (((struct ldb_rows *)base)->changes) /* an error may come after the first batch */
		drop->recorded = drop->unsynced = true;
	ldb_rows_close(base);
	drop->large_len = 0;
	return rc;
}

/* Makes and writes one batch, under all row locks. 1: there is more; 0: done. */
static int drop_batch(struct drop *drop)
{
	const struct wcs_slice *row = drop->row;
	struct wcs_slice start = drop->start;
	size_t first = drop->range;
	bool more = false;
	int rc;

	drop->iter = ldb_db_iterate(drop->db);
	drop->cells = drop->bytes = 0;
	rc = ldb_db_iter_end(drop->db, drop->iter, drop_collect(drop, &more));
	if (rc == -EAGAIN) {
		drop_undo(drop, first, row, start);
		leveldb_writebatch_clear(drop->batch);
		return 1;
	}
	if (!rc && (drop->cells > 0 || drop->recorded)) {
		drop->unsynced = more || drop->recorded;
		drop_put_records(drop, drop->batch, first, more);
		rc = ldb_commit(drop->db, drop->batch, drop->db->options->sync);
		drop->recorded = more;
	}
	leveldb_writebatch_clear(drop->batch);
	return rc ? rc : more;
}

/* ---- Compaction --------------------------------------------------------------------------- */

/* Pushes the slice, which ends at drop->seek, to the queue if it is large enough. */
static void drop_push(struct drop *drop, bool ends)
{
	size_t least = drop->range_count > 1 ? DROP_RANGE_CELLS : 0;
	struct ldb_range range;

	if (!drop->compacts ||
	    (ends ? drop->slice_cells < least
		  : drop->slice_cells < DROP_SLICE_CELLS && drop->slice_bytes < DROP_SLICE_BYTES))
		return;
	ldb_space_wait(drop->db, drop->number);
	range = ldb_range((struct wcs_slice){drop->slice.data, drop->slice.len},
			  (struct wcs_slice){drop->seek.data, drop->seek.len});
	drop->number = ldb_space_push(drop->db, &range, LDB_SPACE_RANGES, true);
	drop->slice = drop->seek;
	drop->slice_cells = drop->slice_bytes = drop->pauses = 0;
}

/* Counts the batch's dead bytes in each range, and compacts. first: its first range; more: the last
 * one goes on at drop->start. */
static void drop_compact(struct drop *drop, size_t first, bool more)
{
	size_t last = drop->range;

	for (size_t i = first; i <= last; i++) {
		struct drop_part *part = &drop->parts[i];
		bool ends = i < last || !more;
		struct wcs_slice start = drop->start;

		drop_set_range(drop, i);
		drop->start = start;
		drop->seek = drop->end;
		if (!ends)
			ldb_key_row(&drop->seek, drop->table, drop->start);
		if (part->cells > 0)
			ldb_space_dead(
				drop->db, (struct wcs_slice){drop->slice.data, drop->slice.len},
				(struct wcs_slice){drop->seek.data, drop->seek.len}, part->dead);
		drop->slice_cells += part->cells;
		drop->slice_bytes += part->dead;
		*part = (struct drop_part){0};
		drop_push(drop, ends);
		if (i == last)
			break;
		drop->slice_cells = drop->slice_bytes = 0;
		ldb_key_row(&drop->slice, drop->table, drop->ranges[i + 1].start);
	}
}

/* ---- All of it --------------------------------------------------------------------------- */

static void drop_begin(struct drop *drop)
{
	struct ldb *db = drop->db;
	size_t cells = 0;

	drop->batch = leveldb_writebatch_create();
	/* Has it more than one batch? This reads ahead, which need not be done under the locks. */
	drop->iter = ldb_db_iterate(db);
	for (size_t i = 0; i < drop->range_count && cells <= DROP_CELLS; i++) {
		drop_set_range(drop, i);
		ldb_key_row(&drop->seek, drop->table, drop->start);
		ldb_iter_seek(drop->iter, &drop->seek);
		for (; cells <= DROP_CELLS && ldb_iter_before(drop->iter, &drop->end); cells++)
			leveldb_iter_next(drop->iter);
	}
	leveldb_iter_destroy(drop->iter);
	drop_set_range(drop, 0);
	ldb_key_row(&drop->slice, drop->table, drop->row ? *drop->row : drop->start);
	drop->compacts = cells > DROP_CELLS;
	if (drop->compacts) /* a tombstone in one table with its key would stay */
		ldb_manual_flush(db);
	atomic_fetch_add(&db->drops, 1);
}

static int drop_run(struct drop *drop)
{
	int more, rc;

	drop_begin(drop);
	do {
		size_t first = drop->range;

		/* LevelDB may catch up, for a limited time, because its writers may never pause. */
		for (; drop->pauses < DROP_PAUSES && ldb_commit_busy(drop->db); drop->pauses++)
			nanosleep(&(struct timespec){0, DROP_PAUSE_MS * 1000000L}, NULL);
		ldb_db_lock_rows(drop->db);
		more = drop_batch(drop);
		ldb_db_unlock_rows(drop->db);
		if (more > 0 && drop->large_len > 0) {
			rc = drop_large(drop);
			more = rc ? rc : more;
		}
		rc = more >= 0 && drop->unsynced ? ldb_sync_logs(drop->db) : 0;
		drop->unsynced = false;
		more = rc ? rc : more;
		drop_compact(drop, first, more > 0);
	} while (more > 0);
	if (more < 0 && drop->recorded) {
		leveldb_writebatch_clear(drop->batch);
		drop_put_records(drop, drop->batch, 0, false);
		ldb_commit(drop->db, drop->batch, true);
	}
	leveldb_writebatch_destroy(drop->batch);
	atomic_fetch_sub(&drop->db->drops, 1);
	return more;
}

static struct drop *drop_new(struct ldb *db, uint64_t id, uint32_t table,
			     const struct wcs_slice *row, const struct wcs_range *ranges,
			     size_t count)
{
	struct drop *drop = malloc(sizeof(*drop));

	if (!drop)
		return NULL;
	memset(drop, 0, offsetof(struct drop, seek));
	drop->parts = calloc(count, sizeof(*drop->parts));
	if (!drop->parts) {
		free(drop);
		return NULL;
	}
	drop->db = db;
	drop->id = id;
	drop->table = table;
	drop->row = row;
	drop->ranges = ranges;
	drop->range_count = count;
	return drop;
}

static void drop_free(struct drop *drop)
{
	free(drop->parts);
	free(drop);
}

int ldb_drop_rows(void *engine, uint32_t table, const struct wcs_slice *row,
		  const struct wcs_range *ranges, size_t count)
{
	struct ldb *db = engine;
	struct drop *drop;
	int rc;

	if (ldb_db_failed(db))
		return -EROFS;
	drop = drop_new(db, atomic_fetch_add(&db->next_drop, count), table, row, ranges, count);
	if (!drop)
		return -ENOMEM;
	rc = drop_run(drop);
	if (drop->garbage)
		ldb_reclaim_wake(db);
	ldb_space_wait(db, drop->number);
	drop_free(drop);
	return rc;
}

/* ---- After a crash ----------------------------------------------------------------------- */

static int drop_resume_rows(struct ldb *db, uint64_t id, const struct ldb_drop *what)
{
	struct drop *drop = drop_new(db, id, what->table, NULL, &what->range, 1);
	int rc;

	if (!drop)
		return -ENOMEM;
	drop->recorded = true;
	rc = drop_run(drop);
	drop_free(drop);
	return rc;
}

static int drop_resume_one(struct ldb *db, uint64_t id, const struct ldb_drop *what)
{
	int rc = what->keys ? ldb_erase_resume(db, id, what) : drop_resume_rows(db, id, what);

	if (rc == -EIO && !ldb_db_failed(db)) {
		ldb_db_log(db, WCS_LOG_ERROR,
			   "a drop that was interrupted meets damaged data; its rest is given up");
		rc = 0;
	}
	return rc;
}

/* A drop that goes on may itself need a record (drop_large), which takes the place of no other. */
static void drop_number_behind(struct ldb *db, leveldb_iterator_t *iter)
{
	struct ldb_id_key first = ldb_key_drop(0);
	uint64_t id;
	size_t len;

	for (ldb_iter_seek_id(iter, first); ldb_iter_in_space(iter, first);
	     leveldb_iter_next(iter)) {
		const char *key = leveldb_iter_key(iter, &len);

		if (ldb_key_drop_decode(key, len, &id))
			atomic_store(&db->next_drop, id + 1);
	}
}

int ldb_drop_resume(struct ldb *db)
{
	leveldb_iterator_t *iter = ldb_db_iterate(db);
	struct ldb_id_key first = ldb_key_drop(0);
	int rc = 0;

	drop_number_behind(db, iter);
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
