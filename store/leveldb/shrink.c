/* SPDX-License-Identifier: MIT */
/*
 * Giving back the space of what was deleted, all over the store, on a medium that is full.
 *
 * A compaction writes anew what it merges before it deletes the old, and one that finds no room
 * ends all writing. What it merges are the tables of one level in a range and all of the next level
 * between them, so one over everything can merge everything. So it goes piece by piece, each small
 * beside the room that there is, and not where there is too little for the least of them. Room is
 * files (inodes) as well, each of which is worth one table.
 */
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "directory.h"
#include "engine.h"
#include "file.h"

/* What LevelDB makes beside the tables that it merges: a log, a table of what is in memory,
 * MANIFEST and CURRENT. */
enum { SHRINK_FILES = 4 };

/* How much can be written into as many files as there can be. */
static uint64_t shrink_files(const struct ldb *db, const struct statvfs *space)
{
	uint64_t files = space->f_favail;

	if (space->f_files == 0 || files > UINT64_MAX / db->table_bytes)
		return UINT64_MAX;
	return files > SHRINK_FILES ? (files - SHRINK_FILES) * db->table_bytes : 0;
}

static uint64_t shrink_free(struct ldb *db)
{
	uint64_t bytes, files;
	struct statvfs space;

	if (fstatvfs(db->dir, &space) != 0)
		return 0;
	bytes = (uint64_t)space.f_bavail * space.f_frsize;
	files = shrink_files(db, &space);
	return bytes < files ? bytes : files;
}

/* What every piece takes with it, however small it is: all of the first two levels and what is in
 * memory. */
static uint64_t shrink_taken(struct ldb *db)
{
	return ldb_stats_level(db, 0) + ldb_stats_level(db, 1) + db->buffer_bytes;
}

bool ldb_shrink_has_files(struct ldb *db)
{
	struct statvfs space;

	return fstatvfs(db->dir, &space) == 0 &&
	       shrink_files(db, &space) >= shrink_taken(db) + 4 * db->table_bytes;
}

/* How much one piece may have, so that merging it, after all of the first two levels and what is in
 * memory, leaves room for as much again. 0: there is no room for any. The levels are measured,
 * since their tables can be many and small: counted as full ones they could leave no room for ever.
 */
static uint64_t shrink_piece(struct ldb *db)
{
	uint64_t taken = shrink_taken(db);
	uint64_t piece = LDB_PIECE_TABLES * db->table_bytes;
	uint64_t free = shrink_free(db);

	if (free < taken + 4 * db->table_bytes)
		return 0;
	return (free - taken) / 4 < piece ? (free - taken) / 4 : piece;
}

static int shrink_count(void *ctx, int dir, const char *name)
{
	uint64_t *tables = ctx, number;

	(void)dir;
	*tables += ldb_file_parse(name, &number) == LDB_FILE_TABLE;
	return 0;
}

/* LevelDB looks for what it can remove when it moves what is in memory into a table, and keeps what
 * a reader has then. */
void ldb_shrink_left(struct ldb *db)
{
	uint64_t there = 0, used = 0;

	if (shrink_piece(db) == 0)
		return;
	for (unsigned int level = 0; level < WCS_LEVELS_MAX; level++) {
		char name[40];

		snprintf(name, sizeof(name), "leveldb.num-files-at-level%u", level);
		used += ldb_stats_number(db, name);
	}
	if (directory_each(db->dir, shrink_count, &there) == 0 && there > used)
		ldb_manual_flush(db);
}

bool ldb_shrink_run(struct ldb *db)
{
	struct ldb_place at = {{0}}, end = {{0x7F}}, next;

	while (memcmp(&at, &end, sizeof(at)) < 0) {
		uint64_t piece = shrink_piece(db);

		if (piece == 0 || atomic_load(&db->failed) || ldb_compact_stopped(db))
			return false;
		next = ldb_place_end(db, &at, end, piece);
		if (ldb_place_size(db, &at, &next) <= 4 * piece &&
		    !ldb_manual_run(db, ldb_place_key(&at), ldb_place_key(&next)))
			return false;
		at = next;
	}
	return true;
}
