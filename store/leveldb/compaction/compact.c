/* SPDX-License-Identifier: MIT */
/*
 * The thread that compacts the ranges that callers pushed and, between their slices, the table with
 * the largest share of dead bytes (space.c). It also deletes extents (reclaim.c).
 *
 * LevelDB keeps a deleted key until a compaction meets it, and steps over each of them when it
 * seeks: a million take a good part of a second. A caller that deletes many keys in a row therefore
 * pushes their range. Other deletes only cost space.
 *
 * A compaction writes the new tables before it deletes the old ones, and if it finds no room, all
 * writing ends. It merges the tables of one level in a range with everything of the next level
 * between them. Therefore each slice is small beside the free room, and nothing is compacted if
 * there is too little room for the least. Each free inode counts as room for one table.
 *
 * LevelDB's one background thread works for nobody else meanwhile, and closing the store waits for
 * the slice under way.
 */
#include <errno.h>
#include <sys/statvfs.h>

#include "store/leveldb/compaction/compaction.h"

enum {
	COMPACT_TABLES = 8,	 /* in one slice at most */
	COMPACT_FILES = 4,	 /* besides merged tables: a log, one table, MANIFEST, CURRENT */
	COMPACT_TRIES = 3,	 /* of a slice */
	COMPACT_LOOK_MS = 2000,	 /* between looks, while there are deletes */
	COMPACT_REST_MS = 20000, /* and while something waits for room or for readers */
};

/* ---- Slices ------------------------------------------------------------------------------ */

/* Bytes of tables that the free blocks and inodes can take. */
static uint64_t compact_room(const struct ldb *db)
{
	struct statvfs space;
	uint64_t room, files;

	if (fstatvfs(db->dir, &space) != 0)
		return 0;
	room = (uint64_t)space.f_bavail * space.f_frsize;
	files = space.f_favail > COMPACT_FILES ? space.f_favail - COMPACT_FILES : 0;
	if (space.f_files > 0 && files < room / db->table_bytes)
		room = files * db->table_bytes;
	return room;
}

/* Bytes of a slice whose compaction, with all of the first two levels and the memtable, leaves as
 * much room again. 0: there is too little room for any. LevelDB rounds a level down to MiB. Levels
 * are measured, as their tables can be many and small: counted as full tables they could leave no
 * room for ever. */
static uint64_t compact_most(struct ldb *db)
{
	uint64_t taken = db->buffer_bytes, room = compact_room(db);
	uint64_t most = COMPACT_TABLES * db->table_bytes;
	struct wcs_stats stats = {0};

	ldb_db_levels(db, &stats);
	for (size_t level = 0; level < 2; level++)
		if (stats.levels[level].files > 0)
			taken += stats.levels[level].bytes + (1 << 20);
	if (room < taken + 4 * db->table_bytes)
		return 0;
	return (room - taken) / 4 < most ? (room - taken) / 4 : most;
}

/* The end of a slice of about `bytes`, one byte of its key after the other. The slice is larger if
 * no place divides its keys. */
static struct ldb_place compact_end(struct ldb *db, const struct ldb_range *range, uint64_t bytes)
{
	struct ldb_place above = range->to;
	struct ldb_range slice = {range->from, {{0}}};
	uint64_t size = ldb_space_size(db, range);

	if (size <= bytes)
		return range->to;
	size = 0;
	for (size_t i = 0; i < LDB_PLACE_BYTES && size < bytes / 2; i++) {
		unsigned int low = 0, high = 256;

		while (high - low > 1) {
			unsigned int middle = (low + high) / 2;
			uint64_t found;

			slice.to.bytes[i] = (unsigned char)middle;
			found = ldb_space_size(db, &slice);
			if (found <= bytes) {
				low = middle;
				size = found;
			} else {
				high = middle;
				above = slice.to;
			}
		}
		slice.to.bytes[i] = (unsigned char)low;
	}
	return size > 0 ? slice.to : above;
}

/* After a failed write the logs must stay as they are, and a compaction starts another log. */
static bool compact_may(struct ldb *db)
{
	return !ldb_db_failed(db) && !db->space->stop;
}

/* Compacts a slice of the range, whose start moves to the slice's end. False: it could not. */
static bool compact_slice(struct ldb *db, struct ldb_range *range)
{
	struct ldb_range slice = *range;
	uint64_t most, before, after;
	bool done = false;

	ldb_space_yield(db, false);
	most = compact_most(db);
	slice.to = compact_end(db, range, most);
	before = ldb_space_size(db, &slice);
	if (most == 0 || before > 4 * most)
		return false;
	for (int tries = 0; tries < COMPACT_TRIES && !done && compact_may(db); tries++)
		done = ldb_manual_run(db, &slice);
	if (!done)
		return false;
	after = ldb_space_size(db, &slice);
	ldb_space_freed(db, &slice, before, after);
	range->from = slice.to;
	return true;
}

/* ---- The thread -------------------------------------------------------------------------- */

/* Compacts the ranges that were pushed, as far as it can, and deletes some extents. True: more of
 * these can be deleted. */
static bool compact_pushed(struct ldb *db)
{
	struct ldb_space *space = db->space;

	pthread_mutex_lock(&space->lock);
	while (space->finished < space->pushed) {
		struct ldb_range range = space->ranges[(space->finished + 1) % LDB_SPACE_RANGES];

		pthread_mutex_unlock(&space->lock);
		while (compact_slice(db, &range) && ldb_place_compare(&range.from, &range.to) < 0)
			;
		pthread_mutex_lock(&space->lock);
		space->finished++;
		pthread_cond_broadcast(&space->done);
	}
	pthread_mutex_unlock(&space->lock);
	return ldb_reclaim_run(db);
}

/* Compacts the table with the largest share of dead bytes. 0: there is none; 1: done; -1: it could
 * not. */
static int compact_densest(struct ldb *db, bool full)
{
	struct ldb_range range;
	bool done;

	if (!compact_may(db) || !ldb_space_take(db, full, &range))
		return 0;
	do {
		done = compact_slice(db, &range);
		ldb_space_save(db);
		compact_pushed(db);
	} while (done && ldb_place_compare(&range.from, &range.to) < 0);
	ldb_space_taken(db, &range, done);
	return done ? 1 : -1;
}

/* Removes obsolete tables. LevelDB does it when it moves its memtable into a table, but leaves
 * those that a reader has open then. True: some may be left. */
static bool compact_left(struct ldb *db)
{
	struct wcs_stats stats = {0};
	uint64_t used = 0;

	ldb_db_levels(db, &stats);
	for (size_t level = 0; level < stats.level_count; level++)
		used += stats.levels[level].files;
	if (!compact_may(db) || ldb_manual_files(db).tables <= used)
		return false;
	if (compact_most(db) > 0)
		ldb_manual_flush(db);
	return true;
}

static void *compact_main(void *arg)
{
	struct ldb *db = arg;
	struct ldb_space *space = db->space;

	while (!space->stop) {
		bool full = space->full, more = compact_pushed(db), quiet, left;
		int done = compact_densest(db, full);

		if (done > 0 || more)
			continue;
		quiet = atomic_load(&space->looks) == 0;
		if (quiet)
			ldb_space_save(db);
		left = (quiet || full) && compact_left(db);
		pthread_mutex_lock(&space->lock);
		space->full = space->full && !full;
		if (!quiet)
			space->looks -= ldb_space_sleep(space, COMPACT_LOOK_MS, true);
		else
			ldb_space_sleep(space, left || done < 0 ? COMPACT_REST_MS : 0, true);
		space->woken = false;
		pthread_mutex_unlock(&space->lock);
	}
	return NULL;
}

int ldb_compact_start(struct ldb *db)
{
	return pthread_create(&db->compact_thread, NULL, compact_main, db) == 0 ? 0 : -ENOMEM;
}

void ldb_compact_stop(struct ldb *db)
{
	struct ldb_space *space = db->space;

	pthread_mutex_lock(&space->lock);
	space->stop = true;
	pthread_cond_signal(&space->wake);
	pthread_cond_broadcast(&space->done);
	pthread_mutex_unlock(&space->lock);
	pthread_join(db->compact_thread, NULL);
}
