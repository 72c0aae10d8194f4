/* SPDX-License-Identifier: MIT */
/*
 * The room that a compaction takes.
 *
 * It writes anew what it merges before it deletes the old, and one that finds no room ends all
 * writing. What it merges are the tables of one level in a range and all of the next level between
 * them. So each piece is small beside the room that there is, and none is compacted where there is
 * too little for the least. Room is files (inodes) as well, each of which is worth one table.
 */
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "store/disk/directory.h"
#include "store/leveldb/engine.h"
#include "store/leveldb/formats/file.h"

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

/* The levels are measured, since their tables can be many and small: counted as full ones they
 * could leave no room for ever. */
uint64_t ldb_shrink_piece(struct ldb *db)
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
bool ldb_shrink_left(struct ldb *db)
{
	uint64_t there = 0, used = 0;

	for (unsigned int level = 0; level < WCS_LEVELS_MAX; level++) {
		char name[40];

		snprintf(name, sizeof(name), "leveldb.num-files-at-level%u", level);
		used += ldb_stats_number(db, name);
	}
	if (atomic_load(&db->failed) || directory_each(db->dir, shrink_count, &there) != 0 ||
	    there <= used)
		return false;
	if (ldb_shrink_piece(db) > 0)
		ldb_manual_flush(db);
	return true;
}
