/* SPDX-License-Identifier: MIT */
/*
 * Compactions that are asked for, and who writes meanwhile.
 *
 * LevelDB 1.23 ends the process with SIGSEGV where one of these is under way and what is in memory
 * cannot be moved into a table: who waits for the compaction is woken by that error, takes it back,
 * and the thread that does it still writes to what was taken back (mended by LevelDB's commit
 * eb31d19, "Allow compaction to finish in TEST_CompactRange", which Debian 12 has not). A failing
 * or full medium must not end the mount. So nothing is moved meanwhile: what is in memory goes into
 * a table first, and then no more is written than fits in, until the compaction is done. No other
 * error of LevelDB's comes from elsewhere: its log is synced past it (sync.c).
 *
 * LevelDB does not always do what it is asked to first: its own empty write, which it would make
 * the move behind, can be done as part of another's, and then moves nothing; nor does it say where
 * it could not begin another log. Another log is what tells.
 */
#include <string.h>

#include "store/disk/directory.h"
#include "store/leveldb/engine.h"
#include "store/leveldb/formats/file.h"

/* What LevelDB's memtable keeps of a key beside it and its value, or less. */
enum { MANUAL_ENTRY = 64 };
/* Zeros behind a key, with which it is none of the store's: format.md. */
enum { MANUAL_ZEROS = 16 };

void ldb_manual_init(struct ldb_manual *manual)
{
	pthread_mutex_init(&manual->lock, NULL);
	pthread_cond_init(&manual->ended, NULL);
}

void ldb_manual_clear(struct ldb_manual *manual)
{
	pthread_cond_destroy(&manual->ended);
	pthread_mutex_destroy(&manual->lock);
}

static void manual_put(void *arg, const char *key, size_t key_len, const char *value, size_t len)
{
	uint64_t *bytes = arg;

	(void)key;
	(void)value;
	*bytes += key_len + len + MANUAL_ENTRY;
}

static void manual_delete(void *arg, const char *key, size_t key_len)
{
	manual_put(arg, key, key_len, NULL, 0);
}

/* LevelDB looks at what there is before it writes: the batch itself may be of any size. Blocks of
 * its memory are not filled to their ends, so half of what it gathers is counted on. */
void ldb_manual_admit(struct ldb *db, leveldb_writebatch_t *batch)
{
	struct ldb_manual *manual = &db->manual;

	while (manual->runs && manual->written >= db->buffer_bytes / 2)
		pthread_cond_wait(&manual->ended, &db->write_lock);
	if (manual->runs)
		leveldb_writebatch_iterate(batch, &manual->written, manual_put, manual_delete);
}

bool ldb_manual_busy(struct ldb *db)
{
	bool busy;

	pthread_mutex_lock(&db->write_lock);
	busy = db->manual.runs && db->manual.written >= db->buffer_bytes / 4;
	pthread_mutex_unlock(&db->write_lock);
	return busy;
}

static void manual_mark(struct ldb *db, bool runs)
{
	pthread_mutex_lock(&db->write_lock);
	db->manual.runs = runs;
	db->manual.written = 0;
	pthread_cond_broadcast(&db->manual.ended);
	pthread_mutex_unlock(&db->write_lock);
}

static int manual_log(void *ctx, int dir, const char *name)
{
	uint64_t *last = ctx, number;

	(void)dir;
	if (ldb_file_parse(name, &number) == LDB_FILE_LOG && number > *last)
		*last = number;
	return 0;
}

/* The number of the log that is written; 0: unknown. */
static uint64_t manual_last_log(struct ldb *db)
{
	uint64_t last = 0;

	return directory_each(db->dir, manual_log, &last) == 0 ? last : 0;
}

static void manual_flush(struct ldb *db)
{
	/* No key is empty, so nothing but the memtable has to do with this range. */
	leveldb_compact_range(db->db, "", 0, "", 0);
}

/* Moves all that was written before this into tables. False: perhaps not. */
static bool manual_empty(struct ldb *db)
{
	uint64_t before = manual_last_log(db);

	manual_flush(db);
	return before > 0 && manual_last_log(db) > before;
}

static void manual_batch_mark(leveldb_writebatch_t *batch, struct wcs_slice at)
{
	char key[LDB_PLACE_BYTES + MANUAL_ZEROS] = {0};

	memcpy(key, at.data, at.len);
	leveldb_writebatch_delete(batch, key, at.len + MANUAL_ZEROS);
}

/* LevelDB merges tables into the level below, and leaves the lowest level that the range has as it
 * is: a delete that is in one table with what it deletes would stay. So a table is made that
 * reaches over the range and lies above all of that: of deletes of two keys that cannot be. */
static bool manual_cover(struct ldb *db, struct wcs_slice start, struct wcs_slice end)
{
	leveldb_writebatch_t *batch = leveldb_writebatch_create();
	int err;

	manual_batch_mark(batch, start);
	manual_batch_mark(batch, end);
	err = ldb_db_write_uncounted(db, batch);
	leveldb_writebatch_destroy(batch);
	return err == 0;
}

bool ldb_manual_run(struct ldb *db, struct wcs_slice start, struct wcs_slice end, bool cover)
{
	bool empty;

	pthread_mutex_lock(&db->manual.lock);
	manual_flush(db); /* LevelDB ends what it is at, while nobody has to wait for that */
	empty = !cover || manual_cover(db, start, end);
	manual_mark(db, true);
	empty = empty && manual_empty(db);
	if (empty)
		leveldb_compact_range(db->db, start.data, start.len, end.data, end.len);
	manual_mark(db, false);
	pthread_mutex_unlock(&db->manual.lock);
	return empty;
}

void ldb_manual_flush(struct ldb *db)
{
	pthread_mutex_lock(&db->manual.lock);
	manual_flush(db);
	pthread_mutex_unlock(&db->manual.lock);
}
