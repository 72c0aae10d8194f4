/* SPDX-License-Identifier: MIT */
/* A full medium gets back the space of deleted rows, in any kind of file where LevelDB has them. */
#include "tests/unit/engine.h"

#include <dirent.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define SHRINK_DISK (64u * MIB)
#define SHRINK_ROW  4096u /* bytes of a cell that has no chunks */

static uint64_t shrink_room = SHRINK_DISK;

static int shrink_space(struct statvfs *space)
{
	memset(space, 0, sizeof(*space));
	space->f_frsize = 4096;
	space->f_blocks = SHRINK_DISK / 4096;
	space->f_bfree = space->f_bavail = shrink_room / 4096;
	return 0;
}

/* The engine's calls come here: a small medium, so small tables. */
int statvfs(const char *path, struct statvfs *space)
{
	(void)path;
	return shrink_space(space);
}

int fstatvfs(int fd, struct statvfs *space)
{
	(void)fd;
	return shrink_space(space);
}

static void set_row(struct engine *engine, const char *row, unsigned int seed)
{
	struct wcs_mutation *mutation = wcs_mutation_new();
	unsigned char value[SHRINK_ROW];
	uint64_t state = seed;

	for (size_t i = 0; i < sizeof(value); i++)
		value[i] = (unsigned char)suite_random(&state);
	wcs_mutation_set(mutation, "f", suite_text("q"), 1,
			 (struct wcs_slice){value, sizeof(value)});
	SUITE_OK(engine_apply(engine, row, mutation));
}

/* The bytes of all files of the engine. */
static uint64_t disk_use(struct engine *engine)
{
	DIR *dir = fdopendir(dup(engine->db->dir));
	uint64_t bytes = 0;
	struct dirent *entry;
	struct stat st;

	ck_assert_ptr_nonnull(dir);
	rewinddir(dir);
	while ((entry = readdir(dir)))
		if (fstatat(engine->db->dir, entry->d_name, &st, 0) == 0 && S_ISREG(st.st_mode))
			bytes += (uint64_t)st.st_size;
	closedir(dir);
	return bytes;
}

/* Asks for space, as refused writers do, until the engine takes no more than that. */
static void expect_use(struct engine *engine, uint64_t most)
{
	for (int i = 0; i < 300; i++) {
		wcs_backend_leveldb.local->shrink(engine->db);
		if (disk_use(engine) <= most)
			return;
		suite_sleep(100);
	}
	ck_abort_msg("%llu bytes stay", (unsigned long long)disk_use(engine));
}

/* Waits until LevelDB has no more than so many MiB in tables; leftover files do not count. */
static void expect_tables(struct engine *engine, uint64_t mib)
{
	for (int i = 0; i < 300; i++) {
		struct wcs_stats stats = {0};
		uint64_t bytes = 0;

		wcs_backend_leveldb.local->shrink(engine->db);
		ck_assert_int_eq(wcs_backend_leveldb.local->stats(engine->db, &stats), 0);
		for (size_t level = 0; level < stats.level_count; level++)
			bytes += stats.levels[level].bytes;
		if (bytes <= mib * MIB)
			return;
		suite_sleep(100);
	}
	ck_abort_msg("the tables stay");
}

static void set_rows(struct engine *engine, unsigned int rows)
{
	char row[16];

	for (unsigned int i = 0; i < rows; i++) {
		snprintf(row, sizeof(row), "r%03u", i);
		set_row(engine, row, i);
	}
	ldb_manual_flush(engine->db);
	ck_assert_uint_ge(disk_use(engine), rows * SHRINK_ROW);
}

static void delete_rows(struct engine *engine, unsigned int rows, bool apart)
{
	char row[16];

	for (unsigned int i = 0; i < rows; i++) {
		snprintf(row, sizeof(row), "r%03u", i);
		SUITE_OK(engine_delete(engine, row));
		if (apart)
			ldb_manual_flush(engine->db);
	}
}

/* Scattered deletes, each moved out of memory by itself, make a table each, which lies above the
 * rows that it deletes. Counted as full tables they would take more space than there is. */
ENGINE_TEST(test_many_small_tables, 60)
{
	enum { ROWS = 40 };

	shrink_room = SHRINK_DISK;
	set_rows(engine, ROWS);
	delete_rows(engine, ROWS, true);
	ck_assert_uint_ge(ldb_db_property(engine->db, "leveldb.num-files-at-level1"), ROWS - 10);
	ck_assert_uint_ge(disk_use(engine), ROWS * SHRINK_ROW);
	shrink_room = 16 * MIB;
	expect_use(engine, ROWS * SHRINK_ROW / 2);
}

/* Keys that begin alike are told apart where they differ. */
ENGINE_TEST(test_keys_that_begin_alike, 120)
{
	enum { ROWS = 10000, LEN = 200 };
	char row[LEN + 16];

	shrink_room = SHRINK_DISK;
	memset(row, 'a', LEN);
	for (unsigned int i = 0; i < ROWS; i++) {
		snprintf(row + LEN, sizeof(row) - LEN, "%05u", i);
		set_row(engine, row, i);
	}
	ck_assert_uint_ge(disk_use(engine), ROWS * SHRINK_ROW);
	for (unsigned int i = 0; i < ROWS; i++) {
		snprintf(row + LEN, sizeof(row) - LEN, "%05u", i);
		SUITE_OK(engine_delete(engine, row));
	}
	shrink_room = 20 * MIB;
	expect_use(engine, 4 * MIB);
}

/* A reader keeps the tables of its snapshot. They go when no reader is left, even if nothing else
 * was deleted meanwhile. */
ENGINE_TEST(test_tables_that_readers_kept, 60)
{
	enum { ROWS = 1000 };
	struct wcs_scan *scan;
	struct wcs_cell cell;

	shrink_room = SHRINK_DISK;
	set_rows(engine, ROWS);
	SUITE_OK(wcs_backend_leveldb.scan_open(engine->db, &suite_everything, 1, &suite_all, 1,
					       &suite_cells, &scan));
	ck_assert_int_eq(scan->ops->next(scan, &cell), 1);
	delete_rows(engine, ROWS, false);
	shrink_room = 16 * MIB;
	expect_tables(engine, 0);
	ck_assert_uint_ge(disk_use(engine), ROWS * SHRINK_ROW);
	scan->ops->close(scan);
	expect_use(engine, MIB);
}

/* The same for rows deleted before this session. */
ENGINE_TEST(test_deleted_before, 60)
{
	enum { ROWS = 1000 };

	shrink_room = SHRINK_DISK;
	set_rows(engine, ROWS);
	delete_rows(engine, ROWS, false);
	engine_reopen(engine);
	shrink_room = 16 * MIB;
	expect_use(engine, MIB);
}
