/* SPDX-License-Identifier: MIT */
/*
 * The database below the engine: reading, writing, and its errors.
 *
 * - Every write goes through ldb_db_write, one at a time. LevelDB loses what it is given after a
 *   failed append to its log though it reports success, so no write may return success that came
 *   behind a failed one: the failure is seen under the same lock as the next write's begin.
 * - A write that is to be durable is written as any other and then synced, by sync.c: writers share
 *   that, and do not wait for each other's.
 * - LevelDB's explicit snapshots are not used; an iterator is one consistent view by itself.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/leveldb/engine.h"

enum { DB_BUSY_FILES = 6 }; /* in level 0; LevelDB slows writers from 8 on, and stops them at 12 */

#define DB_ADVICE "; fsck.rowfs, once nobody uses the store, says where (-n) and repairs (-y)"

int ldb_db_errno(const char *text)
{
	if (strncmp(text, "IO error: lock ", 15) == 0)
		return -EBUSY;
	if (strstr(text, "No space left on device") || strstr(text, "Disk quota exceeded"))
		return -ENOSPC;
	return -EIO;
}

bool ldb_db_is_limit(const char *text)
{
	return strstr(text, "File too large") || strstr(text, "Too many open files");
}

void ldb_db_log(struct ldb *db, enum wcs_log_level level, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	db->options->log(db->options->log_ctx, level, text);
}

int ldb_db_error(struct ldb *db, const char *what, char *text)
{
	int err = ldb_db_errno(text);

	ldb_db_log(db, WCS_LOG_ERROR, "%s: %s%s", what, text,
		   err == -EIO && !ldb_db_is_limit(text) ? DB_ADVICE : "");
	leveldb_free(text);
	return err;
}

int ldb_db_damaged(struct ldb *db, const char *what)
{
	ldb_db_log(db, WCS_LOG_ERROR, "damaged store: %s%s", what, DB_ADVICE);
	return -EIO;
}

int ldb_db_fail(struct ldb *db, int err, const char *why)
{
	if (!atomic_exchange(&db->failed, true))
		ldb_db_log(db, WCS_LOG_ERROR,
			   "a write failed, the store is read-only until it is opened anew: %s",
			   why);
	return err;
}

static int db_write_locked(struct ldb *db, leveldb_writebatch_t *batch)
{
	char *text = NULL;
	int err;

	if (atomic_load(&db->failed))
		return -EROFS;
	leveldb_write(db->db, db->write, batch, &text);
	if (!text)
		return 0;
	err = ldb_db_fail(db, ldb_db_errno(text), text);
	leveldb_free(text);
	return err;
}

int ldb_db_write_uncounted(struct ldb *db, leveldb_writebatch_t *batch)
{
	int err;

	pthread_mutex_lock(&db->write_lock);
	ldb_manual_admit(db, batch);
	err = db_write_locked(db, batch);
	pthread_mutex_unlock(&db->write_lock);
	return err;
}

int ldb_db_write(struct ldb *db, leveldb_writebatch_t *batch, bool sync)
{
	int err = ldb_db_write_uncounted(db, batch);

	if (err)
		return err;
	ldb_stats_batch(db, batch);
	err = sync ? ldb_sync_logs(db) : 0;
	/* It is there, though its caller has to say that it is not: nothing may build on that. */
	return err ? ldb_db_fail(db, err, "what was written could not be synced") : 0;
}

void ldb_db_lock_rows(struct ldb *db)
{
	for (size_t i = 0; i < LDB_STRIPES; i++)
		pthread_mutex_lock(&db->rows[i]);
}

void ldb_db_unlock_rows(struct ldb *db)
{
	for (size_t i = LDB_STRIPES; i > 0; i--)
		pthread_mutex_unlock(&db->rows[i - 1]);
}

bool ldb_db_failed(void *engine)
{
	struct ldb *db = engine;

	return atomic_load(&db->failed);
}

int ldb_db_get(struct ldb *db, const struct ldb_id_key *key, unsigned char **value, size_t *len,
	       bool *found)
{
	char *text = NULL;
	size_t size;
	char *got = leveldb_get(db->db, db->read, (const char *)key->data, key->len, &size, &text);

	if (text)
		return ldb_db_error(db, "read", text);
	*found = got != NULL;
	*value = (unsigned char *)got;
	*len = got ? size : 0;
	return 0;
}

bool ldb_db_busy(void *engine)
{
	struct ldb *db = engine;
	char *files = leveldb_property_value(db->db, "leveldb.num-files-at-level0");
	bool busy = files && atoi(files) >= DB_BUSY_FILES;

	leveldb_free(files);
	return busy || ldb_manual_busy(db);
}

leveldb_iterator_t *ldb_db_iterate(struct ldb *db)
{
	return leveldb_create_iterator(db->db, db->read);
}

int ldb_db_iter_error(struct ldb *db, leveldb_iterator_t *iter)
{
	char *text = NULL;

	leveldb_iter_get_error(iter, &text);
	return text ? ldb_db_error(db, "read", text) : 0;
}

void ldb_db_batch_put(leveldb_writebatch_t *batch, const struct ldb_id_key *key,
		      const unsigned char *value, size_t len)
{
	leveldb_writebatch_put(batch, (const char *)key->data, key->len,
			       value ? (const char *)value : "", len);
}

void ldb_db_batch_delete(leveldb_writebatch_t *batch, const struct ldb_id_key *key)
{
	leveldb_writebatch_delete(batch, (const char *)key->data, key->len);
}

void ldb_db_batch_garbage(leveldb_writebatch_t *batch, uint64_t id, enum ldb_garbage_kind kind,
			  uint32_t chunks)
{
	unsigned char record[LDB_GARBAGE_LEN];
	struct ldb_id_key key;

	ldb_key_garbage(&key, id);
	ldb_record_garbage(record, kind, chunks);
	ldb_db_batch_put(batch, &key, record, sizeof(record));
}

void ldb_db_batch_value(struct ldb *db, leveldb_writebatch_t *batch, const struct ldb_cell *cell)
{
	uint32_t chunks = ldb_record_chunks(cell->size);

	atomic_fetch_add(&db->counters.garbage_chunks, chunks);
	atomic_fetch_add(&db->counters.garbage_bytes, cell->size);
	ldb_db_batch_garbage(batch, cell->id, LDB_GARBAGE, chunks);
}

int ldb_db_batch_cell(struct ldb *db, leveldb_writebatch_t *batch, leveldb_iterator_t *iter,
		      struct ldb_cell *cell, size_t *key_len)
{
	const char *key;

	if (ldb_iter_cell(iter, cell))
		return ldb_db_damaged(db, "a cell's record");
	key = leveldb_iter_key(iter, key_len);
	leveldb_writebatch_delete(batch, key, *key_len);
	if (cell->id != 0)
		ldb_db_batch_value(db, batch, cell);
	return 0;
}
