/* SPDX-License-Identifier: MIT */
/*
 * Compactions that the engine requests of LevelDB.
 *
 * LevelDB 1.23 ends the process with SIGSEGV if its memtable cannot be moved into a table while a
 * requested compaction runs: the waiting thread is woken by that error and takes its request back,
 * and the background thread still writes to it (mended by LevelDB's commit eb31d19, "Allow
 * compaction to finish in TEST_CompactRange", which Debian 12 lacks). A failing or full medium must
 * not end the mount. Therefore the memtable is moved into a table first, and until the compaction
 * ends no more is written than the new memtable holds (commit.c). No other error of LevelDB's comes
 * from elsewhere: sync.c syncs the log past LevelDB.
 *
 * A request to move the memtable may do nothing: the empty write behind which LevelDB would move it
 * can become part of another write; nor does LevelDB report that it could not begin another log.
 * The number of the newest log shows whether it moved.
 */
#include "store/disk/directory.h"
#include "store/leveldb/compaction/compaction.h"
#include "store/leveldb/formats/file.h"

/* Zeros behind a key, which make it a key that no store has: docs/format.md. */
enum { MANUAL_ZEROS = 16 };

static int manual_file(void *ctx, int dir, const char *name)
{
	struct ldb_manual_files *files = ctx;
	uint64_t number;
	enum ldb_file_kind kind = ldb_file_parse(name, &number);

	(void)dir;
	files->tables += kind == LDB_FILE_TABLE;
	if (kind == LDB_FILE_LOG && number > files->last_log)
		files->last_log = number;
	return 0;
}

struct ldb_manual_files ldb_manual_files(struct ldb *db)
{
	struct ldb_manual_files files = {0};

	return directory_each(db->dir, manual_file, &files) == 0 ? files
								 : (struct ldb_manual_files){0};
}

static void manual_flush(struct ldb *db)
{
	/* No key is empty, so no table overlaps this range and only the memtable moves. */
	leveldb_compact_range(db->db, "", 0, "", 0);
}

static void manual_mark(leveldb_writebatch_t *batch, struct wcs_slice at)
{
	char key[LDB_PLACE_BYTES + MANUAL_ZEROS] = {0};

	memcpy(key, at.data, at.len);
	leveldb_writebatch_delete(batch, key, at.len + MANUAL_ZEROS);
}

bool ldb_manual_run(struct ldb *db, const struct ldb_range *range)
{
	struct wcs_slice start = ldb_place_key(&range->from), end = ldb_place_key(&range->to);
	leveldb_writebatch_t *batch = leveldb_writebatch_create();
	uint64_t before;
	bool moved;

	pthread_mutex_lock(&db->manual_lock);
	manual_flush(db); /* LevelDB ends its present work while no writer has to wait for it */
	/* LevelDB merges tables into the level below, and leaves the lowest level in the range as
	 * it is: a tombstone in one table with its key would stay. Deletes of two keys that no
	 * store has make a table that covers the range and lies above all of it. */
	manual_mark(batch, start);
	manual_mark(batch, end);
	moved = ldb_commit_uncounted(db, batch) == 0;
	leveldb_writebatch_destroy(batch);
	ldb_commit_bound(db, true);
	if (moved) {
		before = ldb_manual_files(db).last_log;
		manual_flush(db);
		moved = before > 0 && ldb_manual_files(db).last_log > before;
	}
	if (moved)
		leveldb_compact_range(db->db, start.data, start.len, end.data, end.len);
	ldb_commit_bound(db, false);
	pthread_mutex_unlock(&db->manual_lock);
	return moved;
}

void ldb_manual_flush(struct ldb *db)
{
	pthread_mutex_lock(&db->manual_lock);
	manual_flush(db);
	pthread_mutex_unlock(&db->manual_lock);
}
