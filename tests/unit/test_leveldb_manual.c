/* SPDX-License-Identifier: MIT */
/*
 * A compaction that was asked for, and who writes while it is under way: the medium may fail then,
 * and nobody waits for ever.
 */
#include "engine.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	ROWS = 2000,
	VALUE = 4096,
	WRITES = 5000, /* of that size: more than LevelDB gathers in memory, less than twice that */
	PATIENCE_MS = 1000,
	SLOW_MS = 50, /* a call that fails takes that long */
};

/* ---- A medium that waits, and fails ------------------------------------------------------ */

enum medium { WORKS, HOLDS, BREAKS, BROKEN };
static _Atomic enum medium medium;
static atomic_bool held;   /* the compaction came */
static atomic_int written; /* rows, since then */

static bool is_table(int fd)
{
	char link[64], path[512];
	ssize_t len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	if (len < 5)
		return false;
	path[len] = '\0';
	return strcmp(path + len - 4, ".ldb") == 0;
}

/* The compaction's first table waits until others have written all that they want to, or for as
 * long as one of them may be kept waiting here. */
static void hold(void)
{
	atomic_store(&held, true);
	for (int ms = 0; ms < PATIENCE_MS && atomic_load(&written) < WRITES; ms += 10)
		engine_sleep(10);
}

ssize_t write(int fd, const void *data, size_t len)
{
	enum medium now = atomic_load(&medium);

	if (now != WORKS && is_table(fd)) {
		if (now == BROKEN) {
			engine_sleep(SLOW_MS);
			errno = EIO;
			return -1;
		}
		hold();
		atomic_store(&medium, now == BREAKS ? BROKEN : WORKS);
	}
	return syscall(SYS_write, fd, data, len);
}

/* ---- Who writes meanwhile ---------------------------------------------------------------- */

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

/* Returns how many were acknowledged; *rc: what the first other one met. */
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

/* Rows in one table, their deletes in another: what lies between "a" and "b" is worth merging. */
static void make_work(struct engine *engine)
{
	char row[16];
	int rc;

	atomic_store(&written, 0);
	ck_assert_int_eq(set_rows(engine, 'a', ROWS, &rc), ROWS);
	ldb_manual_flush(engine->db);
	for (int i = 0; i < ROWS; i += 2) {
		snprintf(row, sizeof(row), "a%05d", i);
		ck_assert_int_eq(engine_delete(engine, row), 0);
	}
	ldb_manual_flush(engine->db);
}

static void expect_rows(struct engine *engine, int writes)
{
	ck_assert_int_eq(engine_count(engine->db, 'c'), ROWS / 2 + writes);
}

/* Begins the compaction, which is held at its first table: nothing is in memory before. */
static uint64_t begin(struct engine *engine, enum medium how)
{
	struct ldb_key start, end;
	uint64_t number;

	make_work(engine);
	atomic_store(&held, false);
	atomic_store(&medium, how);
	ldb_key_row(&start, 1, suite_text("a"));
	ldb_key_row(&end, 1, suite_text("b"));
	number = ldb_compact_push(engine->db, (struct wcs_slice){start.data, start.len},
				  (struct wcs_slice){end.data, end.len});
	while (!atomic_load(&held))
		engine_sleep(1);
	return number;
}

/* ---- Tests ------------------------------------------------------------------------------- */

START_TEST(test_writers_wait_for_a_while)
{
	struct engine engine;
	uint64_t number;
	int rc;

	engine_open(&engine);
	number = begin(&engine, HOLDS);
	ck_assert_int_eq(set_rows(&engine, 'w', WRITES, &rc), WRITES);
	ldb_compact_wait(engine.db, number);
	ck_assert_int_eq(medium, WORKS);
	expect_rows(&engine, WRITES);
	ck_assert_int_eq(engine.errors, 0);
	engine_close(&engine);
}
END_TEST

/* What is in memory cannot be moved into a table, and the compaction cannot go on. */
START_TEST(test_medium_breaks)
{
	struct engine engine;
	uint64_t number;
	int rc, writes;

	engine_open(&engine);
	number = begin(&engine, BREAKS);
	writes = set_rows(&engine, 'w', 3 * WRITES, &rc);
	ck_assert_int_eq(medium, BROKEN);
	ck_assert_int_eq(rc, -EIO);
	ck_assert_int_eq(set_rows(&engine, 'x', 1, &rc), 0);
	ck_assert_int_eq(rc, -EROFS);
	ldb_compact_wait(engine.db, number);
	ck_assert_int_eq(engine.errors, 1);
	expect_rows(&engine, writes);
	atomic_store(&medium, WORKS);
	engine_reopen(&engine);
	expect_rows(&engine, writes);
	engine_close(&engine);
}
END_TEST

static void make(Suite *suite)
{
	suite_add_once(suite, "writers wait for a while", test_writers_wait_for_a_while, 60);
	suite_add_once(suite, "medium breaks", test_medium_breaks, 60);
}

int main(void)
{
	return suite_main("leveldb: compactions that are asked for", make);
}
