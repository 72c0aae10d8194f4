/* SPDX-License-Identifier: MIT */
/* The space of deleted rows is given back: in any order of deletes, across sessions, and at once on
 * a full medium, in any kind of file where LevelDB has them. */
#include "tests/unit/engine.h"

#include <dirent.h>
#include <errno.h>
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

static void set_value(struct engine *engine, const char *row, unsigned int seed, size_t size)
{
	struct wcs_mutation *mutation = wcs_mutation_new();
	uint32_t *value = malloc(size);
	uint64_t state = seed;

	ck_assert_ptr_nonnull(value);
	for (size_t i = 0; i < size / sizeof(*value); i++)
		value[i] = suite_random(&state);
	wcs_mutation_set(mutation, "f", suite_text("q"), 1, (struct wcs_slice){value, size});
	SUITE_OK(engine_apply(engine, row, mutation));
	free(value);
}

static void set_row(struct engine *engine, const char *row, unsigned int seed)
{
	set_value(engine, row, seed, SHRINK_ROW);
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

/* ---- At rest ----------------------------------------------------------------------------- */

/* Rows are deleted, or replaced, one by one. */
struct order {
	const char *name;
	size_t size;		     /* of a value */
	unsigned int first;	     /* percent of the rows: the first one to go */
	unsigned int stride;	     /* from one to the next, around the end; 0: backwards */
	unsigned int gone, replaced; /* percent of the rows */
	unsigned int opened;	     /* times anew meanwhile */
};

enum { ORDER_BYTES = 24 * MIB, ORDER_EXTENTS = 20000 };

static const struct order orders[] = {
	{"all, the first ones first", SHRINK_ROW, 0, 1, 100, 0, 0},
	{"the last ones first", SHRINK_ROW, 80, 0, 60, 0, 0},
	{"the newest", SHRINK_ROW, 50, 1, 50, 0, 0},
	{"every other", SHRINK_ROW, 0, 2, 50, 0, 0},
	{"scattered", SHRINK_ROW, 0, 4001, 70, 0, 0},
	{"scattered, in ten sessions", SHRINK_ROW, 0, 4001, 70, 0, 9},
	{"the oldest, in three sessions", SHRINK_ROW, 0, 1, 60, 0, 2},
	{"all replaced", SHRINK_ROW, 0, 1, 0, 100, 0},
	{"some replaced again and again", SHRINK_ROW, 10, 100, 0, 200, 4},
	{"large values, scattered", ORDER_EXTENTS, 0, 1009, 60, 0, 0},
	{"large values, the newest, in two sessions", ORDER_EXTENTS, 50, 1, 50, 0, 1},
	{"large values, replaced", ORDER_EXTENTS, 0, 7, 0, 100, 1},
};

/* Removes the rows, and returns the bytes that live. */
static uint64_t order_run(struct engine *engine, const struct order *order)
{
	unsigned int rows = (unsigned int)(ORDER_BYTES / order->size);
	unsigned int gone = rows * order->gone / 100, changes = gone + rows * order->replaced / 100;
	unsigned int stride = order->stride > 0 ? order->stride : rows - 1;
	unsigned int row = rows * order->first / 100, session = changes / (order->opened + 1);
	char name[16];

	for (unsigned int i = 0; i < rows; i++) {
		snprintf(name, sizeof(name), "r%06u", i);
		set_value(engine, name, i, order->size);
	}
	for (unsigned int i = 1; i <= changes; i++, row = (row + stride) % rows) {
		snprintf(name, sizeof(name), "r%06u", row);
		if (order->replaced > 0)
			set_value(engine, name, rows + i, order->size);
		else
			SUITE_OK(engine_delete(engine, name));
		if (i % session == 0 && i < changes)
			engine_reopen(engine);
	}
	return (uint64_t)(rows - gone) * order->size;
}

/* Waits until the engine takes no more than that. */
static void expect_rest(struct engine *engine, uint64_t most, const char *name)
{
	uint64_t use = disk_use(engine);

	for (int wait = 0; wait < 300 && use > most; wait++) {
		suite_sleep(100);
		use = disk_use(engine);
	}
	ck_assert_msg(use <= most, "%s: %llu bytes, not %llu", name, (unsigned long long)use,
		      (unsigned long long)most);
}

/* The bound of a medium so small, whose write buffer is 256 KiB, not 16 MiB: 1.3 times the live
 * data and, instead of 64 MiB, 4 for what LevelDB does not make smaller. */
SUITE_TEST(test_orders, 280)
{
	shrink_room = SHRINK_DISK;
	for (size_t i = 0; i < sizeof(orders) / sizeof(*orders); i++) {
		struct engine engine;
		uint64_t live;

		engine_open(&engine);
		live = order_run(&engine, &orders[i]);
		expect_rest(&engine, live / 10 * 13 + 4 * MIB, orders[i].name);
		engine_close(&engine);
	}
}

/* A store without counts: they are of another form, in a note that is damaged. */
ENGINE_TEST(test_counts_that_are_unknown, 60)
{
	enum { ROWS = 3000 };
	leveldb_writebatch_t *batch = leveldb_writebatch_create();

	shrink_room = SHRINK_DISK;
	set_rows(engine, ROWS);
	for (unsigned int i = 0; i < ROWS; i++) {
		struct ldb_key key;
		char row[16];

		snprintf(row, sizeof(row), "r%03u", i);
		ldb_key_row(&key, 1, suite_text(row));
		ldb_key_family(&key, "f");
		ldb_key_qualifier(&key, suite_text("q"));
		ldb_key_ts(&key, 1);
		leveldb_writebatch_delete(batch, (const char *)key.data, key.len);
	}
	SUITE_OK(ldb_commit(engine->db, batch, false));
	leveldb_writebatch_destroy(batch);
	ck_assert_int_eq(engine_count(engine->db, 'c'), 0);
	ldb_space_save(engine->db); /* and therefore not when it is closed */
	SUITE_OK(ldb_note_put(engine->db, LDB_NOTE_DEAD, (const unsigned char *)"1", 1));
	engine_reopen(engine);
	expect_rest(engine, 4 * MIB, "unknown counts");
}

/* The counts that a session would find now after a kill. */
static uint64_t counts_kept(struct engine *engine)
{
	unsigned char *record = NULL;
	uint64_t sum = 0;
	size_t len = 0;
	int rc = ldb_note_get(engine->db, LDB_NOTE_DEAD, &record, &len);

	ck_assert(rc == 0 || rc == -ENOENT);
	for (size_t at = 0; at < len; at += 12)
		sum += get_be64(record + at + 4);
	leveldb_free(record);
	return sum;
}

/* A kill forgets 4 MiB of deletes at most, however busy the thread that compacts is. */
ENGINE_TEST(test_counts_after_a_kill, 60)
{
	enum { ROWS = 5000 };
	char row[16];

	shrink_room = SHRINK_DISK;
	set_rows(engine, ROWS);
	shrink_room = 0; /* nothing is compacted */
	for (unsigned int i = 0; i < ROWS; i++) {
		snprintf(row, sizeof(row), "r%03u", i);
		SUITE_OK(engine_delete(engine, row));
		ck_assert_uint_ge(counts_kept(engine) + 4 * MIB + SHRINK_ROW,
				  (uint64_t)i * SHRINK_ROW);
	}
}
