/* SPDX-License-Identifier: MIT */
/*
 * Every call with which the engine writes fails in turn, during every kind of operation.
 * Acknowledged writes stay; the operation happened or did not; nothing is written afterwards until
 * the store is opened again; and reading goes on. The model is the engine in memory, which does the
 * same operations.
 */
#include "tests/unit/suite.h"

#include "tests/crash/fault.h"

#include <inttypes.h>

#define MIB (1u << 20)

enum {
	OPERATIONS = 32,
	MANY = 4100,	 /* cells, more than a batch of a drop */
	DROP = 20,	 /* the operation that is not seen as one while it goes on */
	CALLS_MAX = 5000 /* more would not be the engine */
};

static int reopen(struct suite *s)
{
	if (s->engine == SUITE_MEMORY) /* which forgets */
		return 0;
	suite_shut(s);
	return suite_try_open(s);
}

/* ---- The operations ---------------------------------------------------------------------- */

static int set(struct wcs_table *table, const char *row, const char *qualifier, int64_t ts,
	       size_t size)
{
	struct wcs_mutation *mutation = wcs_mutation_new();
	char *value = suite_pattern(size, (unsigned int)ts);
	int rc;

	wcs_mutation_set(mutation, "f", suite_text(qualifier), ts, (struct wcs_slice){value, size});
	wcs_mutation_set(mutation, "a", suite_text(qualifier), ts, suite_text("beside it"));
	rc = suite_mutate(table, row, mutation, NULL);
	free(value);
	return rc;
}

static int move(struct wcs_table *table, const char *row, const char *from, const char *to)
{
	struct wcs_move what = {.kind = WCS_MOVE_COLUMN,
				.family = "f",
				.from = suite_text(from),
				.to = suite_text(to)};

	return wcs_cells_move(table, suite_text(row), &what, NULL);
}

static int many(struct wcs_table *table, const char *row, int cells)
{
	struct wcs_mutation *mutation = wcs_mutation_new();
	static char qualifiers[MANY][8];

	for (int i = 0; i < cells; i++) {
		snprintf(qualifiers[i], sizeof(qualifiers[i]), "%d", i);
		wcs_mutation_set(mutation, "f", suite_text(qualifiers[i]), 1, suite_text("v"));
	}
	return suite_mutate(table, row, mutation, NULL);
}

static int operate(struct suite *s, int number)
{
	struct wcs_table *table = s->table;
	int64_t ts = 100 + number;

	switch (number) {
	case 0:
	case 5:
	case 11:
	case 23:
		return set(table, "row", "small", ts, 20);
	case 1:
	case 12:
		return set(table, "row", "chunked", ts, 70000);
	case 2:
	case 13:
		return set(table, "large", "streamed", ts, MIB + 5);
	case 3:
	case 10:
	case 24:
		return wcs_store_sync(s->store);
	case 4:
	case 14:
		return suite_load(
			table, "{\"key\":\"row\",\"append\":{\"f\":{\"log\":\"line\\n\"}}}", NULL);
	case 6:
		return move(table, "row", "chunked", "moved");
	case 7:
		return set(table, "large", "streamed", ts, MIB + 70000);
	case 8:
	case 26:
		return wcs_family_set_gc(table, "f", number == 8 ? "maxversions=2" : "never", NULL);
	case 9:
		return suite_load(table, "{\"key\":\"row\",\"delete\":{\"f\":{\"small\":[105]}}}",
				  NULL);
	case 15:
		return many(table, "many", MANY);
	case 16:
		return many(table, "many#more", 10);
	case 17:
		return wcs_table_create(s->store, "u");
	case 18:
		return wcs_gc_run(s->store);
	case 19:
	case 31:
		return reopen(s);
	case DROP:
		return wcs_rows_drop(table, &(struct wcs_slice){"many", 4});
	case 21:
		return wcs_family_create(table, "g");
	case 22:
		return suite_load(table, "{\"key\":\"large\",\"delete\":true}", NULL);
	case 25:
		return wcs_table_remove(s->store, "u");
	case 27:
		return wcs_family_remove(table, "g");
	case 28:
		return set(table, "large", "streamed", ts, MIB + 1);
	case 29:
		return many(table, "many", 10);
	default:
		return suite_load(table, "{\"key\":\"many\",\"delete\":true}", NULL);
	}
}

/* ---- One fault --------------------------------------------------------------------------- */

struct mode {
	int error;
	bool stays;
	unsigned int usual, full; /* one call of so many fails, see suite_rounds */
	bool sync; /* every operation is to be durable: more calls, and written but not synced */
};

static const struct mode modes[] = {
	{EIO, false, 13, 1, false}, {ENOSPC, true, 19, 3, false}, {EIO, false, 17, 1, true}};

/* The content of the engine in memory before each operation and behind the last. */
static char *texts[OPERATIONS + 1];

static void arm(const struct suite *s, const struct mode *mode, uint64_t at)
{
	struct fault *fault = fault_control();

	atomic_store(&fault->at, 0);
	snprintf(fault->below, sizeof(fault->below), "%s", s->path);
	atomic_store(&fault->error, (uint64_t)mode->error);
	atomic_store(&fault->stays, mode->stays);
	atomic_store(&fault->fired, 0);
	atomic_store(&fault->count, 0);
	atomic_store(&fault->at, at);
}

static void disarm(void)
{
	atomic_store(&fault_control()->at, 0);
}

/* It is as before operation number, or as behind it. */
static void expect_state(const struct suite *s, int number, const char *when, uint64_t at)
{
	char *text = suite_state(s);
	bool after = number < OPERATIONS && strcmp(text, texts[number + 1]) == 0;

	ck_assert_msg(after || strcmp(text, texts[number]) == 0,
		      "%s, call %" PRIu64
		      " failing in operation %d: expected %.2000s, found %.2000s",
		      when, at, number, texts[number], text);
	free(text);
}

/* LevelDB 1.23 writes on behind the half of a record that failed in its MANIFEST, where it moves a
 * memtable into a table within a compaction. Such a store is opened after a repair, which keeps
 * everything (docs/recovery.md). */
static void open_again(struct suite *s, uint64_t at)
{
	char quarantine[300];
	const struct wcs_check_options options = {.repair = true, .quarantine = quarantine};
	struct wcs_check_result result;
	struct wcs_fault fault = {.text = ""};

	if (suite_try_open(s) == 0)
		return;
	ck_assert_msg(strstr(s->log, "/data/MANIFEST-") != NULL, "call %" PRIu64 ": open: %s", at,
		      s->log);
	printf("call %" PRIu64 ": %s\n", at, s->log);
	snprintf(quarantine, sizeof(quarantine), "%s/quarantine", suite_directory());
	suite_remove(quarantine);
	ck_assert_msg(wcs_store_check(s->path, &options, &result, &fault) == 0, "%s", fault.text);
	ck_assert_msg(suite_try_open(s) == 0, "call %" PRIu64 ": repaired: %s", at, s->log);
}

/* Runs the operations with a call that fails. Returns whether there was such a call. */
static bool run_with_fault(struct suite *s, const struct mode *mode, uint64_t at)
{
	int rc = 0, number;
	bool fired;

	s->errors = 0;
	s->sync = mode->sync;
	SUITE_OK(suite_try_open(s));
	arm(s, mode, at);
	for (number = 0; number < OPERATIONS; number++) {
		rc = operate(s, number);
		if (rc != 0)
			break;
	}
	fired = atomic_load(&fault_control()->fired) > 0;
	ck_assert_msg(rc == 0 || fired, "operation %d: %d", number, rc);
	if (rc != 0 && s->store) {
		ck_assert_msg(rc == -mode->error || rc == -EROFS, "%d", rc);
		ck_assert(wcs_store_failed(s->store));
		ck_assert_ptr_nonnull(strstr(s->error, "read-only"));
		ck_assert_int_eq(set(s->table, "row", "late", 1, 10), -EROFS);
		ck_assert_int_eq(suite_load(s->table, "{\"key\":\"row\",\"delete\":true}", NULL),
				 -EROFS);
		ck_assert_int_eq(move(s->table, "row", "small", "late"), -EROFS);
		ck_assert_int_eq(wcs_rows_drop(s->table, NULL), -EROFS);
		ck_assert_int_eq(wcs_table_create(s->store, "late"), -EROFS);
		ck_assert_int_eq(wcs_store_sync(s->store), -EROFS);
	}
	if (s->store && number != DROP)
		expect_state(s, number, "at once", at);
	disarm();
	suite_shut(s);
	open_again(s, at);
	expect_state(s, number, "opened again", at);
	SUITE_OK(set(s->table, "row", "late", 1, 10));
	SUITE_OK(wcs_store_sync(s->store));
	suite_shut(s);
	return fired;
}

/* ---- All of them ------------------------------------------------------------------------- */

static void copy(const char *from, const char *to)
{
	char command[900];

	snprintf(command, sizeof(command), "rm -rf '%s' && cp -a '%s' '%s'", to, from, to);
	SUITE_OK(system(command));
}

SUITE_LOOP(test_every_call_fails, sizeof(modes) / sizeof(modes[0]), 280)
{
	const struct mode *mode = &modes[_i];
	char base[256];
	uint64_t at = 1, step = suite_rounds(mode->usual, mode->full);
	struct suite s;

	suite_open(&s, SUITE_MEMORY);
	for (int i = 0; i < OPERATIONS; i++) {
		texts[i] = suite_state(&s);
		SUITE_OK(operate(&s, i));
	}
	texts[OPERATIONS] = suite_state(&s);
	suite_close(&s);
	suite_open(&s, SUITE_LEVELDB);
	suite_shut(&s);
	strcpy(base, s.path);
	snprintf(s.path, sizeof(s.path), "%s/copy", suite_directory());
	do {
		ck_assert_uint_lt(at, CALLS_MAX);
		copy(base, s.path);
		at += step;
	} while (run_with_fault(&s, mode, at - step));
	printf("%s%s%s: %" PRIu64 " calls\n", strerror(mode->error),
	       mode->stays ? ", for good" : "", mode->sync ? ", durable writes" : "",
	       at - 1 - step);
	ck_assert_uint_gt(at, 100);
	for (int i = 0; i <= OPERATIONS; i++)
		free(texts[i]);
}

/* ---- The collector ----------------------------------------------------------------------- */

/* It cannot collect in a store that takes no more writes, and says so once, not at every pass. */
SUITE_LEVELDB_STORE(test_collector_stops_for_good, 30)
{
	static const struct mode mode = {EIO, true, 1, 1, false};

	s->gc_interval = 5000;
	suite_reopen(s);
	wcs_gc_pause(s->store, true);
	suite_policy(s->table, "f", "maxversions=1");
	for (int64_t ts = 1; ts <= 3; ts++)
		SUITE_OK(set(s->table, "row", "q", ts, 10));
	arm(s, &mode, 1);
	ck_assert_int_eq(set(s->table, "row", "q", 4, 10), -EIO);
	ck_assert_int_eq(s->errors, 1);
	wcs_gc_pause(s->store, false);
	while (s->errors < 2)
		suite_sleep(10);
	suite_sleep(300); /* some more intervals */
	ck_assert_int_eq(s->errors, 2);
	ck_assert_int_eq(wcs_gc_run(s->store), -EROFS);
	ck_assert_int_eq(s->errors, 2);
	disarm();
	suite_reopen(s);
	SUITE_OK(wcs_gc_run(s->store));
}
