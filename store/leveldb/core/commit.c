/* SPDX-License-Identifier: MIT */
/*
 * Writes batches, one at a time, and counts them.
 *
 * - After a failed append to its log LevelDB reports success for writes that it loses. No write may
 *   succeed behind a failed one, so the failure is recorded under the lock under which the next
 *   write begins, and ends writing.
 * - A durable write is a plain write and then a sync (sync.c), which concurrent writers share.
 * - While a requested compaction runs (compaction/manual.c), LevelDB must not move its memtable
 *   into a table. Writers wait once half of the memtable is taken; the other half allows for the
 *   unfilled ends of its blocks. LevelDB checks the room before it writes, so the last batch may
 *   have any size.
 */
#include <errno.h>

#include "store/leveldb/engine.h"

enum {
	COMMIT_BUSY_FILES = 6, /* on level 0; LevelDB slows writers from 8 and stops them at 12 */
	COMMIT_ENTRY = 64,     /* bytes at most that the memtable adds to a key and its value */
};

struct commit_sum {
	uint64_t entries, written, deleted, bytes;
};

static void commit_put(void *arg, const char *key, size_t key_len, const char *value, size_t len)
{
	struct commit_sum *sum = arg;

	(void)value;
	sum->entries++;
	sum->written += ldb_key_is_cell(key, key_len);
	sum->bytes += key_len + len;
}

static void commit_delete(void *arg, const char *key, size_t key_len)
{
	struct commit_sum *sum = arg;

	sum->entries++;
	sum->bytes += key_len;
	sum->deleted += ldb_key_is_cell(key, key_len);
}

int ldb_commit_uncounted(struct ldb *db, leveldb_writebatch_t *batch)
{
	struct commit_sum sum = {0};
	char *text = NULL;
	int rc = 0;

	pthread_mutex_lock(&db->write_lock);
	while (db->bounded && db->admitted >= db->buffer_bytes / 2)
		pthread_cond_wait(&db->unbounded, &db->write_lock);
	if (db->bounded) {
		leveldb_writebatch_iterate(batch, &sum, commit_put, commit_delete);
		db->admitted += sum.bytes + sum.entries * COMMIT_ENTRY;
	}
	if (atomic_load(&db->failed))
		rc = -EROFS;
	else if (ldb_db_is_gone(db)) /* LevelDB would write on to a file without a name */
		rc = ldb_db_fail(db, -EIO, "");
	else
		leveldb_write(db->db, db->write, batch, &text);
	if (text)
		rc = ldb_db_fail(db, ldb_db_errno(text), text);
	pthread_mutex_unlock(&db->write_lock);
	leveldb_free(text);
	return rc;
}

int ldb_commit(struct ldb *db, leveldb_writebatch_t *batch, bool sync)
{
	struct commit_sum sum = {0};
	int rc = ldb_commit_uncounted(db, batch);

	if (rc)
		return rc;
	leveldb_writebatch_iterate(batch, &sum, commit_put, commit_delete);
	ldb_count(&db->counters.cells_written, sum.written);
	ldb_count(&db->counters.cells_deleted, sum.deleted);
	ldb_count(&db->counters.bytes_written, sum.bytes);
	rc = sync ? ldb_sync_logs(db) : 0;
	/* The caller must report a failure, yet readers see the batch: nothing may build on it. */
	return rc ? ldb_db_fail(db, rc, "what was written could not be synced") : 0;
}

void ldb_commit_bound(struct ldb *db, bool bounded)
{
	pthread_mutex_lock(&db->write_lock);
	db->bounded = bounded;
	db->admitted = 0;
	pthread_cond_broadcast(&db->unbounded);
	pthread_mutex_unlock(&db->write_lock);
}

bool ldb_commit_busy(void *engine)
{
	struct ldb *db = engine;
	bool busy = ldb_db_property(db, "leveldb.num-files-at-level0") >= COMMIT_BUSY_FILES;

	pthread_mutex_lock(&db->write_lock);
	busy = busy || (db->bounded && db->admitted >= db->buffer_bytes / 4);
	pthread_mutex_unlock(&db->write_lock);
	return busy;
}

int ldb_note_put(void *engine, uint16_t number, const unsigned char *bytes, size_t len)
{
	leveldb_writebatch_t *batch = leveldb_writebatch_create();
	int rc;

	ldb_db_batch_put(batch, ldb_key_note(number), bytes, len);
	rc = ldb_commit(engine, batch, false);
	leveldb_writebatch_destroy(batch);
	return rc;
}

int ldb_note_get(void *engine, uint16_t number, unsigned char **bytes, size_t *len)
{
	int rc = ldb_db_get(engine, ldb_key_note(number), bytes, len);

	return rc || *bytes ? rc : -ENOENT;
}
