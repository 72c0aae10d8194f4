/* SPDX-License-Identifier: MIT */
/*
 * The room that a compaction takes, and tables that it left.
 *
 * A compaction writes the new tables before it deletes the old ones, and if it finds no room, all
 * writing ends. It merges the tables of one level in a range with everything of the next level
 * between them. Therefore each slice is small beside the free room, and nothing is compacted if
 * there is too little room for the least. Each free inode counts as room for one table.
 */
#include <sys/statvfs.h>

#include "store/disk/directory.h"
#include "store/leveldb/compaction/compaction.h"
#include "store/leveldb/formats/file.h"

/* Files besides merged tables: a log, a table of the memtable, MANIFEST, CURRENT. */
enum { SHRINK_FILES = 4 };

/* How much the free inodes can take. */
static uint64_t shrink_inodes(const struct ldb *db, const struct statvfs *space)
{
	uint64_t files = space->f_favail;

	if (space->f_files == 0 || files > UINT64_MAX / db->table_bytes)
		return UINT64_MAX;
	return files > SHRINK_FILES ? (files - SHRINK_FILES) * db->table_bytes : 0;
}

/* Every slice includes all of the first two levels, and the memtable. LevelDB rounds a
 * level down to MiB. Levels are measured, as their tables can be many and small: counted as full
 * tables they could leave no room for ever. */
static uint64_t shrink_taken(struct ldb *db)
{
	struct wcs_stats stats = {0};
	uint64_t bytes = db->buffer_bytes;

	ldb_db_levels(db, &stats);
	for (size_t level = 0; level < 2; level++)
		if (stats.levels[level].files > 0)
			bytes += stats.levels[level].bytes + (1 << 20);
	return bytes;
}

uint64_t ldb_shrink_slice(struct ldb *db)
{
	uint64_t taken = shrink_taken(db), most = LDB_SLICE_TABLES * db->table_bytes;
	uint64_t room, inodes;
	struct statvfs space;

	if (fstatvfs(db->dir, &space) != 0)
		return 0;
	room = (uint64_t)space.f_bavail * space.f_frsize;
	inodes = shrink_inodes(db, &space);
	if (room > inodes)
		room = inodes;
	if (room < taken + 4 * db->table_bytes)
		return 0;
	return (room - taken) / 4 < most ? (room - taken) / 4 : most;
}

static int shrink_count(void *ctx, int dir, const char *name)
{
	uint64_t *tables = ctx, number;

	(void)dir;
	*tables += ldb_file_parse(name, &number) == LDB_FILE_TABLE;
	return 0;
}

/* LevelDB removes obsolete tables when it moves its memtable into a table, except those that a
 * reader has open then. */
bool ldb_shrink_left(struct ldb *db)
{
	struct wcs_stats stats = {0};
	uint64_t there = 0, used = 0;

	ldb_db_levels(db, &stats);
	for (size_t level = 0; level < stats.level_count; level++)
		used += stats.levels[level].files;
	if (ldb_db_failed(db) || directory_each(db->dir, shrink_count, &there) != 0 ||
	    there <= used)
		return false;
	if (ldb_shrink_slice(db) > 0)
		ldb_manual_flush(db);
	return true;
}
