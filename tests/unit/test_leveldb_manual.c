/* SPDX-License-Identifier: MIT */
/*
 * A requested compaction, and writers while it is under way: the medium may fail then, and no
 * thread waits for ever.
 */
#include "tests/unit/engine.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	ROWS = 2000,
	VALUE = 4096,
	WRITES = 5000, /* of that size: more than LevelDB gathers in memory, less than twice that */
	STILL_MS = 300, /* no write ends for so long: the writers wait */
	SLOW_MS = 50,	/* a call that fails takes that long */
};

/* ---- A medium that waits, and fails ------------------------------------------------------ */

enum medium { WORKS, HOLDS, BREAKS, BROKEN, NO_LOG };
static _Atomic enum medium medium;
static atomic_bool held;     /* the compaction came */
static atomic_int written;   /* rows, since then */
static atomic_int meanwhile; /* those until it went on */
static atomic_int tables;    /* writes to them */

static bool ends_with(const char *path, const char *end)
{
	size_t len = strlen(path);

	return len > strlen(end) && strcmp(path + len - strlen(end), end) == 0;
}

static bool is_table(int fd)
{
	char link[64], path[512];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	path[len < 0 ? 0 : len] = '\0';
	return ends_with(path, ".ldb");
}

/* The compaction's first table waits until others have written all that they want to, or wait. */
static void hold(void)
{
	atomic_store(&held, true);
	for (int ms = 0; ms < STILL_MS && atomic_load(&meanwhile) < WRITES; ms += 10) {
		int before = atomic_load(&meanwhile), now;

		suite_sleep(10);
		now = atomic_load(&written);
		atomic_store(&meanwhile, now);
		if (now != before)
			ms = 0;
	}
}

int open(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list args;

	va_start(args, flags);
	if (flags & O_CREAT)
		mode = va_arg(args, mode_t);
	va_end(args);
	if (atomic_load(&medium) == NO_LOG && ends_with(path, ".log")) {
		errno = EMFILE;
		return -1;
	}
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

ssize_t write(int fd, const void *data, size_t len)
{
	enum medium now = atomic_load(&medium);
	bool table = is_table(fd);

	atomic_fetch_add(&tables, table);
	if (table && now != WORKS && now != NO_LOG) {
		if (now == BROKEN) {
			suite_sleep(SLOW_MS);
			errno = EIO;
			return -1;
		}
		hold();
		atomic_store(&medium, now == BREAKS ? BROKEN : WORKS);
	}
	return syscall(SYS_write, fd, data, len);
}

/* ---- Writers meanwhile ------------------------------------------------------------------- */

static int set_row(struct engine *engine, char kind, int i, uint64_t *state)
{
	struct wcs_mutation *mutation = wcs_mutation_new();
	uint64_t value[VALUE / sizeof(uint64_t)];
	char row[16];

	for (size_t at = 0; at < VALUE / sizeof(uint64_t); at++)
		value[at] = suite_random(state);
	snprintf(row, sizeof(row), "%c%05d", kind, i);
	wcs_mutation_set(mutation, "f", suite_text("q"), 1,
			 (struct wcs_slice){value, sizeof(value)});
	return engine_apply(engine, row, mutation);
}

/* Returns the number of acknowledged writes; *rc: the error of the first other one. */
static int set_rows(struct engine *engine, char kind, int rows, int *rc)
{
	uint64_t state = (uint64_t)(unsigned char)kind;

	*rc = 0;
	for (int i = 0; i < rows; i++) {
		*rc = set_row(engine, kind, i, &state);
		if (*rc)
			return i;
		atomic_fetch_add(&written, kind == 'w');
	}
	return rows;
}

/* Rows in one table, their deletes in another: the range from "a" to "b" is worth merging. */
static void make_work(struct engine *engine)
{
	char row[16];
	int rc;

	atomic_store(&written, 0);
	ck_assert_int_eq(set_rows(engine, 'a', ROWS, &rc), ROWS);
	ldb_manual_flush(engine->db);
	for (int i = 0; i < ROWS; i += 2) {
		snprintf(row, sizeof(row), "a%05d", i);
		SUITE_OK(engine_delete(engine, row));
	}
	ldb_manual_flush(engine->db);
}

static void expect_rows(struct engine *engine, int writes)
{
	ck_assert_int_eq(engine_count(engine->db, 'c'), ROWS / 2 + writes);
}

static struct ldb_range work(void)
{
	struct ldb_key start, end;

	ldb_key_row(&start, 1, suite_text("a"));
	ldb_key_row(&end, 1, suite_text("b"));
	return ldb_range((struct wcs_slice){start.data, start.len},
			 (struct wcs_slice){end.data, end.len});
}

static uint64_t push(struct engine *engine)
{
	struct ldb_range range = work();

	return ldb_space_push(engine->db, &range, LDB_SPACE_RANGES, true);
}

/* Begins the compaction, which is held at its first table: nothing is in memory before. */
static uint64_t begin(struct engine *engine, enum medium how)
{
	uint64_t number;

	make_work(engine);
	atomic_store(&held, false);
	atomic_store(&meanwhile, 0);
	atomic_store(&medium, how);
	number = push(engine);
	while (!atomic_load(&held))
		suite_sleep(1);
	return number;
}

/* ---- Tests ------------------------------------------------------------------------------- */

ENGINE_TEST(test_writers_wait_for_a_while, 60)
{
	int rc;
	uint64_t number = begin(engine, HOLDS);

	ck_assert_int_eq(set_rows(engine, 'w', WRITES, &rc), WRITES);
	ldb_space_wait(engine->db, number);
	ck_assert_int_eq(medium, WORKS);
	ck_assert_int_gt(meanwhile, 0);
	ck_assert_int_lt(meanwhile, WRITES);
	expect_rows(engine, WRITES);
	ck_assert_int_eq(engine->errors, 0);
}

/* A mutation offers its range, and goes on although the queue is full and the medium holds. */
ENGINE_TEST(test_offers_do_not_wait, 60)
{
	struct ldb_range range = work();
	uint64_t number = begin(engine, HOLDS), finished, pending;
	int rc;

	for (unsigned int i = 0; i < 2 * LDB_SPACE_RANGES; i++)
		ldb_space_push(engine->db, &range, LDB_SPACE_RANGES, false);
	ldb_space_compactions(engine->db, &finished, &pending);
	ck_assert_uint_eq(pending, LDB_SPACE_RANGES);
	ck_assert_int_eq(medium, HOLDS);
	ck_assert_int_eq(set_rows(engine, 'w', WRITES, &rc), WRITES);
	ldb_space_wait(engine->db, number + LDB_SPACE_RANGES - 1);
	expect_rows(engine, WRITES);
}

/* The memtable cannot be moved into a table, and the compaction cannot go on. */
ENGINE_TEST(test_medium_breaks, 60)
{
	int rc, writes;
	uint64_t number = begin(engine, BREAKS);

	writes = set_rows(engine, 'w', 3 * WRITES, &rc);
	ck_assert_int_eq(medium, BROKEN);
	ck_assert_int_eq(rc, -EIO);
	ck_assert_int_eq(set_rows(engine, 'x', 1, &rc), 0);
	ck_assert_int_eq(rc, -EROFS);
	ldb_space_wait(engine->db, number);
	ck_assert_int_eq(engine->errors, 1);
	expect_rows(engine, writes);
	atomic_store(&medium, WORKS);
	engine_reopen(engine);
	expect_rows(engine, writes);
}

/* Without a new log LevelDB does not move the memtable into a table, and reports no error. */
ENGINE_TEST(test_not_without_a_log, 60)
{
	int before, rc;

	make_work(engine);
	ck_assert_int_eq(set_rows(engine, 'w', 1, &rc), 1);
	atomic_store(&medium, NO_LOG);
	before = atomic_load(&tables);
	ldb_space_wait(engine->db, push(engine));
	ck_assert_int_eq(tables, before);
	atomic_store(&medium, WORKS);
	ldb_space_wait(engine->db, push(engine));
	ck_assert_int_gt(tables, before);
	expect_rows(engine, 1);
}

SUITE_TEST(test_places_of_long_keys, 60)
{
	unsigned char bytes[2000];
	struct wcs_slice key = {bytes, sizeof(bytes)};
	struct ldb_place before, behind;

	memset(bytes, 0xFF, sizeof(bytes));
	bytes[0] = 'c';
	before = ldb_place_before(key);
	behind = ldb_place_behind(key);
	ck_assert_uint_eq(ldb_place_key(&before).len, LDB_PLACE_BYTES);
	ck_assert_int_eq(memcmp(&before, bytes, sizeof(before)), 0);
	ck_assert_uint_eq(ldb_place_key(&behind).len, 1);
	ck_assert_int_eq(behind.bytes[0], 'd');
	key.len = 3;
	before = ldb_place_before(key);
	behind = ldb_place_behind(key);
	ck_assert_uint_eq(ldb_place_key(&before).len, 3);
	ck_assert_int_eq(memcmp(&before, &behind, sizeof(before)), 0);
}
