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
 * - A row with more keys than a batch should hold ends the batch before it. It is then deleted
 *   alone, as any change of a row (erase.c), under its own lock. Its batch makes the records if
 *   there are none.
 * - The deleted keys of a drop of more than one batch are compacted in slices, at most one slice
 *   behind it. Few tombstones therefore slow readers down while the drop runs and when it returns.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "store/leveldb/write/write.h"

enum {
	DROP_CELLS = 4000,	   /* in a batch: some milliseconds under the row locks */
	DROP_SLICE_CELLS = 200000, /* a seek crosses them in some 25 ms */
	DROP_RANGE_CELLS = 1000,   /* fewer, in each of several ranges, need no compaction */
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
	bool large;    /* the row at start is too large for a batch */
	bool compacts; /* it has more than one batch */
	uint32_t table;
	const struct wcs_range *ranges;
	size_t range_count, range; /* the range under way */
	struct wcs_slice start;	   /* of its rest */
	leveldb_iterator_t *iter;
	leveldb_writebatch_t *batch, *row; /* row: the deletes of one row */
	size_t cells, bytes;		   /* in the batch: cells, and bytes of their keys */
	uint64_t dead;			   /* the same with inline values */
	size_t slice_range;		   /* the slice begins in this range, at `slice` */
	struct wcs_slice slice;
	size_t slice_cells;
	uint64_t slice_bytes;
	unsigned int pauses; /* in the slice */
	uint64_t number;     /* of the last range that was pushed */
	struct ldb_key key;
	struct ldb_key end; /* of the range under way: its first key not to be deleted */
	unsigned char start_bytes[LDB_ROW_BOUND], slice_row[LDB_ROW_BOUND];
	unsigned char record[LDB_DROP_MAX];
};

/* ---- A batch ----------------------------------------------------------------------------- */

/* The first key behind a range. */
static void drop_behind(const struct drop *drop, size_t range, struct ldb_key *key)
{
	ldb_key_table_past(key, drop->table);
	if (drop->ranges[range].end.data)
		ldb_key_row(key, drop->table, drop->ranges[range].end);
}

/* Makes a range the one under way. An empty slice begins there. */
static void drop_set_range(struct drop *drop, size_t range)
{
	drop->range = range;
	drop->start = drop->ranges[range].start;
	drop_behind(drop, range, &drop->end);
	if (drop->slice_cells + drop->cells > 0)
		return;
	drop->slice_range = range;
	drop->slice = drop->start;
}

/* Adds the row under the iterator, whose prefix is drop->key, to the batch, and moves behind it. 1:
 * it is too large, and not added. */
static int drop_row(struct drop *drop)
{
	size_t cells = 0, bytes = 0, len;
	uint64_t values = 0;

	leveldb_writebatch_clear(drop->row);
	for (; ldb_iter_within(drop->iter, &drop->key); leveldb_iter_next(drop->iter)) {
		struct ldb_cell cell;
		int rc = ldb_db_batch_cell(drop->db, drop->row, drop->iter, &cell, &len);

		if (rc)
			return rc;
		cells++;
		bytes += len;
		values += cell.id == 0 ? cell.size : 0;
		drop->garbage = drop->garbage || cell.id != 0;
		if (bytes > DROP_BYTES)
			return 1;
	}
	leveldb_writebatch_append(drop->batch, drop->row);
	drop->cells += cells;
	drop->bytes += bytes;
	drop->dead += bytes + values;
	return 0;
}

/* Adds rows of the range to the batch. 1: the batch is full, and ends before drop->start. */
static int drop_rows(struct drop *drop)
{
	int rc = 0;

	ldb_key_row(&drop->key, drop->table, drop->start);
	ldb_iter_seek(drop->iter, &drop->key);
	while (!rc && ldb_iter_before(drop->iter, &drop->end)) {
		struct ldb_key_parts parts;
		size_t len;
		const unsigned char *key = ldb_iter_key(drop->iter, &len);

		if (ldb_key_split(key, len, &parts))
			return ldb_db_damaged(drop->db, "a cell's key");
		memcpy(drop->key.data, key, drop->key.len = parts.row_end);
		rc = drop->cells >= DROP_CELLS || drop->bytes >= DROP_BYTES;
		if (!rc)
			drop->large = (rc = drop_row(drop)) > 0;
		if (rc > 0)
			drop->start = (struct wcs_slice){
				drop->start_bytes,
				ldb_key_get_row(drop->key.data, &parts, drop->start_bytes)};
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

/* Makes and writes one batch. The caller holds all row locks. 1: there is more; 0: done. */
static int drop_batch(struct drop *drop)
{
	size_t first = drop->range;
	int more, rc;

	drop->iter = ldb_db_iterate(drop->db);
	leveldb_writebatch_clear(drop->batch);
	while ((more = drop_rows(drop)) == 0 && drop->range + 1 < drop->range_count)
		drop_set_range(drop, drop->range + 1);
	more = ldb_db_iter_end(drop->db, drop->iter, more);
	if (more < 0 || (drop->cells == 0 && !drop->recorded))
		return more;
	drop->unsynced = more || drop->recorded;
	drop_put_records(drop, drop->batch, first, more);
	rc = ldb_commit(drop->db, drop->batch, drop->db->options->sync);
	drop->recorded = more;
	return rc ? rc : more;
}

/* Deletes the large row, which is met again if it is written anew. 1. */
static int drop_large(struct drop *drop)
{
	struct wcs_edit edit = {.row = drop->start, .delete_row = true};
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
	drop->large = false;
	return rc ? rc : 1;
}

/* ---- Compaction -------------------------------------------------------------------------- */

/* The keys of a range that the slice has. */
static struct ldb_range drop_part(struct drop *drop, size_t range, bool more)
{
	struct ldb_range part;

	ldb_key_row(&drop->key, drop->table,
		    range == drop->slice_range ? drop->slice : drop->ranges[range].start);
	part.from = ldb_place_before((struct wcs_slice){drop->key.data, drop->key.len});
	if (more && range == drop->range)
		ldb_key_row(&drop->key, drop->table, drop->start);
	else
		drop_behind(drop, range, &drop->key);
	part.to = ldb_place_behind((struct wcs_slice){drop->key.data, drop->key.len});
	return part;
}

/* Counts the batch's dead bytes, and pushes the slice once it is large, or the last one. */
static void drop_compact(struct drop *drop, bool more)
{
	struct ldb_range first = drop_part(drop, drop->slice_range, more), part = first;
	size_t ranges = drop->range - drop->slice_range + 1;

	if (drop->range > drop->slice_range)
		part = drop_part(drop, drop->range, more);
	if (drop->cells > 0)
		ldb_space_dead(drop->db, ldb_place_key(&first.from), ldb_place_key(&part.to),
			       drop->dead);
	drop->slice_cells += drop->cells;
	drop->slice_bytes += drop->dead;
	drop->cells = drop->bytes = drop->dead = 0;
	drop->compacts = drop->compacts || more;
	if (!drop->compacts || (ranges > 1 && drop->slice_cells / ranges < DROP_RANGE_CELLS) ||
	    (more && drop->slice_cells < DROP_SLICE_CELLS && drop->slice_bytes < DROP_SLICE_BYTES))
		return;
	ldb_space_wait(drop->db, drop->number);
	for (size_t i = drop->slice_range; i <= drop->range; i++) {
		part = drop_part(drop, i, more);
		drop->number = ldb_space_push(drop->db, &part, LDB_SPACE_RANGES, true);
	}
	if (!more)
		return;
	memcpy(drop->slice_row, drop->start.data, drop->start.len);
	drop->slice = (struct wcs_slice){drop->slice_row, drop->start.len};
	drop->slice_range = drop->range;
	drop->slice_cells = drop->slice_bytes = drop->pauses = 0;
}

/* ---- All of it --------------------------------------------------------------------------- */

static int drop_run(struct drop *drop)
{
	struct ldb *db = drop->db;
	int more, rc;

	atomic_fetch_add(&db->drops, 1);
	do {
		/* LevelDB may catch up, for a limited time, because its writers may never pause. */
		for (; drop->pauses < DROP_PAUSES && ldb_commit_busy(db); drop->pauses++)
			nanosleep(&(struct timespec){0, DROP_PAUSE_MS * 1000000L}, NULL);
		if (drop->large) {
			more = drop_large(drop);
		} else {
			ldb_db_lock_rows(db);
			more = drop_batch(drop);
			ldb_db_unlock_rows(db);
		}
		rc = more >= 0 && drop->unsynced ? ldb_sync_logs(db) : 0;
		drop->unsynced = false;
		more = rc ? rc : more;
		if (more >= 0)
			drop_compact(drop, more > 0);
	} while (more > 0);
	if (more < 0 && drop->recorded) {
		leveldb_writebatch_clear(drop->batch);
		drop_put_records(drop, drop->batch, 0, false);
		ldb_commit(db, drop->batch, true);
	}
	if (drop->garbage)
		ldb_reclaim_wake(db);
	ldb_space_wait(db, drop->number);
	atomic_fetch_sub(&db->drops, 1);
	return more;
}

/* recorded: the ranges have records, the first one with that id. */
static int drop_ranges(struct ldb *db, uint64_t id, bool recorded, uint32_t table,
		       const struct wcs_range *ranges, size_t count)
{
	struct drop *drop = malloc(sizeof(*drop));
	int rc;

	if (!drop)
		return -ENOMEM;
	memset(drop, 0, offsetof(struct drop, key));
	drop->db = db;
	drop->id = id;
	drop->recorded = recorded;
	drop->table = table;
	drop->ranges = ranges;
	drop->range_count = count;
	drop_set_range(drop, 0);
	drop->batch = leveldb_writebatch_create();
	drop->row = leveldb_writebatch_create();
	rc = drop_run(drop);
	leveldb_writebatch_destroy(drop->batch);
	leveldb_writebatch_destroy(drop->row);
	free(drop);
	return rc;
}

int ldb_drop_rows(void *engine, uint32_t table, const struct wcs_range *ranges, size_t count)
{
	struct ldb *db = engine;

	if (ldb_db_failed(db))
		return -EROFS;
	return drop_ranges(db, atomic_fetch_add(&db->next_drop, count), false, table, ranges,
			   count);
}

/* ---- After a crash ----------------------------------------------------------------------- */

static int drop_resume_one(struct ldb *db, uint64_t id, const struct ldb_drop *what)
{
	int rc = what->keys ? ldb_erase_resume(db, id, what)
			    : drop_ranges(db, id, true, what->table, &what->range, 1);

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
