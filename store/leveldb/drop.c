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
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

enum { DROP_CELLS = 1000 };
#define DROP_BYTES (1u << 20) /* of keys: LevelDB keeps a batch in memory */

struct drop {
	struct ldb *db;
	uint64_t id;
	bool recorded; /* there is a record */
	bool unsynced; /* the batch put last must be synced before the next */
	bool garbage;
	uint32_t table;
	struct wcs_slice start; /* in start_bytes */
	leveldb_iterator_t *iter;
	leveldb_writebatch_t *batch;
	size_t cells, bytes; /* in the batch */
	struct ldb_key seek;
	struct ldb_key end; /* first key not to be deleted */
	struct wcs_range range;
	unsigned char start_bytes[LDB_ROW_BOUND];
	unsigned char record[LDB_DROP_MAX];
};

static void drop_lock(struct ldb *db)
{
	for (size_t i = 0; i < LDB_STRIPES; i++)
		pthread_mutex_lock(&db->rows[i]);
}

static void drop_unlock(struct ldb *db)
{
	for (size_t i = LDB_STRIPES; i > 0; i--)
		pthread_mutex_unlock(&db->rows[i - 1]);
}

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
		const unsigned char *key;
		size_t len;

		if (ldb_iter_cell(drop->iter, &cell))
			return ldb_db_damaged(drop->db, "a cell's record");
		key = ldb_iter_key(drop->iter, &len);
		leveldb_writebatch_delete(drop->batch, (const char *)key, len);
		drop->cells++;
		drop->bytes += len;
		if (cell.id == 0)
			continue;
		ldb_db_batch_garbage(drop->batch, cell.id, LDB_GARBAGE,
				     ldb_record_chunks(cell.size));
		drop->garbage = true;
	}
	return 0;
}

/* Collects rows until the batch is full. *more: there are others, from drop->start on. */
static int drop_collect(struct drop *drop, bool *more)
{
	ldb_key_row(&drop->seek, drop->table, drop->start);
	ldb_iter_seek(drop->iter, &drop->seek);
	for (*more = false; drop_valid(drop);) {
		struct ldb_key_parts parts;
		size_t len;
		const unsigned char *key = ldb_iter_key(drop->iter, &len);
		int err = 0;

		if (ldb_key_split(key, len, &parts))
			return ldb_db_damaged(drop->db, "a cell's key");
		if (drop->cells >= DROP_CELLS || drop->bytes >= DROP_BYTES) {
			drop->start = (struct wcs_slice){
				drop->start_bytes, ldb_key_get_row(key, &parts, drop->start_bytes)};
			*more = true;
			return 0;
		}
		memcpy(drop->seek.data, key, parts.row_end);
		err = drop_row(drop, parts.row_end);
		if (err)
			return err;
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
	int err, unread;

	drop->iter = ldb_db_iterate(drop->db);
	drop->cells = drop->bytes = 0;
	err = drop_collect(drop, &more);
	unread = ldb_db_iter_error(drop->db, drop->iter);
	leveldb_iter_destroy(drop->iter);
	if (unread)
		err = unread;
	if (!err && (drop->cells > 0 || drop->recorded)) {
		drop->unsynced = more || drop->recorded;
		drop_put_record(drop, more);
		err = ldb_db_write(drop->db, drop->batch, drop->db->options->sync);
		drop->recorded = more;
	}
	leveldb_writebatch_clear(drop->batch);
	return err ? err : more;
}

/* Passes on what the batch said, unless it cannot be made durable. */
static int drop_sync(struct drop *drop, int more)
{
	int err = more >= 0 && drop->unsynced ? ldb_db_sync_logs(drop->db) : 0;

	drop->unsynced = false;
	return err ? err : more;
}

static void drop_give_up(struct drop *drop)
{
	if (!drop->recorded)
		return;
	leveldb_writebatch_clear(drop->batch);
	drop_put_record(drop, false);
	ldb_db_write(drop->db, drop->batch, true);
}

static int drop_run(struct drop *drop)
{
	int more;

	drop->batch = leveldb_writebatch_create();
	ldb_key_table_past(&drop->end, drop->table);
	if (drop->range.end.data)
		ldb_key_row(&drop->end, drop->table, drop->range.end);
	do {
		drop_lock(drop->db);
		more = drop_batch(drop);
		drop_unlock(drop->db);
		more = drop_sync(drop, more);
	} while (more > 0);
	if (more < 0)
		drop_give_up(drop);
	leveldb_writebatch_destroy(drop->batch);
	return more;
}

static struct drop *drop_new(struct ldb *db, uint64_t id, const struct ldb_drop *what)
{
	struct drop *drop = malloc(sizeof(*drop));

	if (!drop)
		return NULL;
	memset(drop, 0, offsetof(struct drop, seek));
	drop->db = db;
	drop->id = id;
	drop->table = what->table;
	drop->range = what->range;
	drop->start = what->range.start;
	return drop;
}

int ldb_drop_rows(void *engine, uint32_t table, const struct wcs_range *range)
{
	struct ldb *db = engine;
	struct ldb_drop what = {table, *range};
	struct drop *drop;
	bool garbage;
	int err;

	if (atomic_load(&db->failed))
		return -EROFS;
	drop = drop_new(db, atomic_fetch_add(&db->next_drop, 1), &what);
	if (!drop)
		return -ENOMEM;
	err = drop_run(drop);
	garbage = drop->garbage;
	free(drop);
	if (garbage)
		ldb_reclaim_wake(db);
	return err;
}

/* ---- After a crash ----------------------------------------------------------------------- */

static int drop_resume_one(struct ldb *db, uint64_t id, const struct ldb_drop *what)
{
	struct drop *drop = drop_new(db, id, what);
	int err;

	if (!drop)
		return -ENOMEM;
	drop->recorded = true;
	err = drop_run(drop);
	free(drop);
	if (err == -EIO && !atomic_load(&db->failed)) {
		ldb_db_log(db, WCS_LOG_ERROR,
			   "a drop that was interrupted meets damaged data; its rest is given up");
		err = 0;
	}
	return err;
}

int ldb_drop_resume(struct ldb *db)
{
	leveldb_iterator_t *iter = ldb_db_iterate(db);
	struct ldb_id_key first;
	int err = 0, unread;

	ldb_key_drop(&first, 0);
	leveldb_iter_seek(iter, (const char *)first.data, first.len);
	for (; !err && ldb_iter_in_space(iter, &first); leveldb_iter_next(iter)) {
		struct ldb_drop what;
		size_t len;
		const char *data = leveldb_iter_key(iter, &len);
		uint64_t id;

		if (!ldb_key_drop_decode(data, len, &id)) {
			err = ldb_db_damaged(db, "the key of a drop");
			break;
		}
		data = leveldb_iter_value(iter, &len);
		if (ldb_record_drop_decode(data, len, &what))
			err = ldb_db_damaged(db, "the record of a drop");
		else
			err = drop_resume_one(db, id, &what);
	}
	unread = ldb_db_iter_error(db, iter);
	leveldb_iter_destroy(iter);
	return err ? err : unread;
}
