/* SPDX-License-Identifier: MIT */
/*
 * Every call with which the engine writes fails in turn, during every kind of operation.
 * Acknowledged writes stay; the operation happened or did not; nothing is written afterwards until
 * the store is opened anew; and reading goes on. The model is the engine in memory, which does the
 * same operations.
 */
#include "tests/unit/suite.h"

#include "tests/crash/fault.h"

#include <inttypes.h>
#include <time.h>

#define MIB (1u << 20)

enum {
	OPERATIONS = 32,
	MANY = 4100,	 /* cells, more than a batch of a drop */
	DROP = 20,	 /* the operation that is not seen as one while it goes on */
	CALLS_MAX = 5000 /* more would not be the engine */
};

struct run {
	char path[256];
	struct wcs_store *store;
	struct wcs_table *table;
	bool forgets; /* the engine in memory, which cannot be opened anew */
	bool sync;    /* of the options */
	int64_t gc_interval;
	_Atomic int errors; /* lines logged as such */
	char error[512];
};

/* ---- A store ----------------------------------------------------------------------------- */

static void run_log(void *ctx, enum wcs_log_level level, const char *text)
{
	struct run *run = ctx;

	if (level != WCS_LOG_ERROR)
		return;
	if (run->errors++ == 0)
		snprintf(run->error, sizeof(run->error), "%s", text);
}

static int64_t run_now(void *ctx)
{
	(void)ctx;
	return 1000000;
}

static int run_open(struct run *run)
{
	struct wcs_options options = {.log = run_log,
				      .log_ctx = run,
				      .now = run_now,
				      .gc_interval = run->gc_interval,
				      .sync = run->sync};
	struct wcs_fault fault = {.text = ""};
	int rc = wcs_store_open(run->path, &options, &run->store, &fault);

	run->table = NULL;
	if (rc != 0) {
		ck_assert_str_ne(fault.text, "");
		run->store = NULL;
		return rc;
	}
	SUITE_OK(wcs_table_open(run->store, "t", &run->table));
	return 0;
}

static void run_close(struct run *run)
{
	wcs_table_close(run->table);
	wcs_store_close(run->store);
}

static int run_reopen(struct run *run)
{
	if (run->forgets)
		return 0;
	run_close(run);
	return run_open(run);
}

/* ---- The content ------------------------------------------------------------------------- */

struct sum {
	uint64_t hash; /* FNV-1a */
	unsigned int cells;
	char row[64];
};

static void sum_add(struct sum *sum, const void *data, size_t len)
{
	const unsigned char *bytes = data;

	for (size_t i = 0; i < len; i++)
		sum->hash = (sum->hash ^ bytes[i]) * 0x100000001b3u;
}

static void sum_value(struct sum *sum, struct wcs_scan *scan, uint64_t size)
{
	static unsigned char piece[1 << 16];

	for (uint64_t offset = 0; offset < size;) {
		size_t got = 0;

		SUITE_OK(wcs_scan_read(scan, piece, sizeof(piece), offset, &got));
		ck_assert_uint_gt(got, 0);
		sum_add(sum, piece, got);
		offset += got;
	}
}

static void sum_cell(struct sum *sum, struct wcs_scan *scan, const struct wcs_cell *cell)
{
	sum->cells++;
	sum_add(sum, cell->family.data, cell->family.len);
	sum_add(sum, cell->qualifier.data, cell->qualifier.len);
	sum_add(sum, &cell->info.ts, sizeof(cell->info.ts));
	sum_add(sum, &cell->info.size, sizeof(cell->info.size));
	if (cell->info.size <= WCS_VALUE_INLINE)
		sum_add(sum, cell->value.data, cell->value.len);
	else
		sum_value(sum, scan, cell->info.size);
}

static void sum_end(struct sum *sum, FILE *out)
{
	if (sum->cells > 0)
		fprintf(out, "%s: %u cells, %016" PRIx64 "\n", sum->row, sum->cells, sum->hash);
	sum->hash = 0xcbf29ce484222325u;
	sum->cells = 0;
}

static void put_rows(const struct run *run, FILE *out)
{
	struct wcs_range all = {{NULL, 0}, {NULL, 0}};
	struct sum sum = {.cells = 0};
	struct wcs_cell cell;
	struct wcs_scan *scan;
	int more;

	SUITE_OK(wcs_scan_open(run->table, &all, &suite_cells, &scan));
	sum_end(&sum, out);
	while ((more = wcs_scan_next(scan, &cell)) > 0) {
		if (strlen(sum.row) != cell.row.len ||
		    memcmp(sum.row, cell.row.data, cell.row.len) != 0) {
			sum_end(&sum, out);
			snprintf(sum.row, sizeof(sum.row), "%.*s", (int)cell.row.len,
				 (const char *)cell.row.data);
		}
		sum_cell(&sum, scan, &cell);
	}
	ck_assert_int_eq(more, 0);
	sum_end(&sum, out);
	wcs_scan_close(scan);
}

/* The store as text: its schema, and a line for each row. */
static char *run_text(const struct run *run)
{
	struct wcs_schema *schema;
	char *tables, *text;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	ck_assert_ptr_nonnull(out);
	SUITE_OK(wcs_schema_get(run->store, &schema));
	tables = wcs_schema_line(schema);
	wcs_schema_free(schema);
	fprintf(out, "%s\n", tables);
	free(tables);
	put_rows(run, out);
	fclose(out);
	return text;
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

static int delete_row(struct wcs_table *table, const char *row)
{
	struct wcs_mutation *mutation = wcs_mutation_new();

	wcs_mutation_delete_row(mutation);
	return suite_mutate(table, row, mutation, NULL);
}

static int delete_version(struct wcs_table *table, const char *row, const char *qualifier,
			  int64_t ts)
{
	struct wcs_mutation *mutation = wcs_mutation_new();

	wcs_mutation_delete_cell(mutation, "f", suite_text(qualifier), ts);
	return suite_mutate(table, row, mutation, NULL);
}

static int append(struct wcs_table *table, const char *row)
{
	struct wcs_mutation *mutation = wcs_mutation_new();

	wcs_mutation_append(mutation, "f", suite_text("log"), suite_text("line\n"), WCS_TS_NONE);
	return suite_mutate(table, row, mutation, NULL);
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

static int operate(struct run *run, int number)
{
	struct wcs_table *table = run->table;
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
		return wcs_store_sync(run->store);
	case 4:
	case 14:
		return append(table, "row");
	case 6:
		return move(table, "row", "chunked", "moved");
	case 7:
		return set(table, "large", "streamed", ts, MIB + 70000);
	case 8:
	case 26:
		return wcs_family_set_gc(table, "f", number == 8 ? "maxversions=2" : "never", NULL);
	case 9:
		return delete_version(table, "row", "small", 105);
	case 15:
		return many(table, "many", MANY);
	case 16:
		return many(table, "many#more", 10);
	case 17:
		return wcs_table_create(run->store, "u");
	case 18:
		return wcs_gc_run(run->store);
	case 19:
	case 31:
		return run_reopen(run);
	case DROP:
		return wcs_rows_drop(table, &(struct wcs_slice){"many", 4});
	case 21:
		return wcs_family_create(table, "g");
	case 22:
		return delete_row(table, "large");
	case 25:
		return wcs_table_remove(run->store, "u");
	case 27:
		return wcs_family_remove(table, "g");
	case 28:
		return set(table, "large", "streamed", ts, MIB + 1);
	case 29:
		return many(table, "many", 10);
	default:
		return delete_row(table, "many");
	}
}

/* ---- One fault --------------------------------------------------------------------------- */

struct mode {
	int error;
	bool stays;
	unsigned int step; /* each call, or each so many */
	bool sync; /* every operation is to be durable: more calls, and written but not synced */
};

static const struct mode modes[] = {
	{EIO, false, 1, false}, {ENOSPC, true, 3, false}, {EIO, false, 1, true}};

/* The content of the engine in memory before each operation and behind the last. */
static char *texts[OPERATIONS + 1];

static void arm(const struct run *run, const struct mode *mode, uint64_t at)
{
	struct fault *fault = fault_control();

	atomic_store(&fault->at, 0);
	snprintf(fault->below, sizeof(fault->below), "%s", run->path);
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
static void expect_state(const struct run *run, int number, const char *when, uint64_t at)
{
	char *text = run_text(run);
	bool after = number < OPERATIONS && strcmp(text, texts[number + 1]) == 0;

	ck_assert_msg(after || strcmp(text, texts[number]) == 0,
		      "%s, call %" PRIu64
		      " failing in operation %d: expected %.2000s, found %.2000s",
		      when, at, number, texts[number], text);
	free(text);
}

static void expect_read_only(struct run *run, int rc, const struct mode *mode)
{
	ck_assert_msg(rc == -mode->error || rc == -EROFS, "%d", rc);
	ck_assert(wcs_store_failed(run->store));
	ck_assert_ptr_nonnull(strstr(run->error, "read-only"));
	ck_assert_int_eq(set(run->table, "row", "late", 1, 10), -EROFS);
	ck_assert_int_eq(delete_row(run->table, "row"), -EROFS);
	ck_assert_int_eq(move(run->table, "row", "small", "late"), -EROFS);
	ck_assert_int_eq(wcs_rows_drop(run->table, NULL), -EROFS);
	ck_assert_int_eq(wcs_table_create(run->store, "late"), -EROFS);
	ck_assert_int_eq(wcs_store_sync(run->store), -EROFS);
}

/* Runs the operations with a call that fails. Returns whether there was such a call. */
static bool run_with_fault(struct run *run, const struct mode *mode, uint64_t at)
{
	int rc = 0, number;
	bool fired;

	run->errors = 0;
	run->sync = mode->sync;
	SUITE_OK(run_open(run));
	arm(run, mode, at);
	for (number = 0; number < OPERATIONS; number++) {
		rc = operate(run, number);
		if (rc != 0)
			break;
	}
	fired = atomic_load(&fault_control()->fired) > 0;
	ck_assert_msg(rc == 0 || fired, "operation %d: %d", number, rc);
	if (rc != 0 && run->store)
		expect_read_only(run, rc, mode);
	if (run->store && number != DROP)
		expect_state(run, number, "at once", at);
	disarm();
	if (run->store)
		run_close(run);
	SUITE_OK(run_open(run));
	expect_state(run, number, "opened anew", at);
	SUITE_OK(set(run->table, "row", "late", 1, 10));
	SUITE_OK(wcs_store_sync(run->store));
	run_close(run);
	return fired;
}

/* ---- All of them ------------------------------------------------------------------------- */

static void make_texts(void)
{
	struct run run = {.forgets = true};
	struct suite s;

	suite_open(&s, SUITE_MEMORY);
	run.store = s.store;
	run.table = s.table;
	for (int i = 0; i < OPERATIONS; i++) {
		texts[i] = run_text(&run);
		SUITE_OK(operate(&run, i));
	}
	texts[OPERATIONS] = run_text(&run);
	suite_close(&s);
}

static void copy(const char *from, const char *to)
{
	char command[900];

	snprintf(command, sizeof(command), "rm -rf '%s' && cp -a '%s' '%s'", to, from, to);
	SUITE_OK(system(command));
}

SUITE_LOOP(test_every_call_fails, sizeof(modes) / sizeof(modes[0]), 280)
{
	const struct mode *mode = &modes[_i];
	struct run run = {.store = NULL};
	uint64_t at = 1;
	struct suite s;

	make_texts();
	suite_open(&s, SUITE_LEVELDB);
	wcs_table_close(s.table);
	wcs_store_close(s.store);
	snprintf(run.path, sizeof(run.path), "%s/copy", suite_directory());
	do {
		ck_assert_uint_lt(at, CALLS_MAX);
		copy(s.path, run.path);
		at += mode->step;
	} while (run_with_fault(&run, mode, at - mode->step));
	printf("%s%s%s: %" PRIu64 " calls\n", strerror(mode->error),
	       mode->stays ? ", for good" : "", mode->sync ? ", durable writes" : "",
	       at - 1 - mode->step);
	ck_assert_uint_gt(at, 100);
	for (int i = 0; i <= OPERATIONS; i++)
		free(texts[i]);
}

/* ---- The collector ----------------------------------------------------------------------- */

static void rest(long milliseconds)
{
	nanosleep(&(struct timespec){0, milliseconds * 1000000}, NULL);
}

/* It cannot collect in a store that takes no more writes, and says so once, not at every pass. */
SUITE_TEST(test_collector_stops_for_good, 30)
{
	static const struct mode mode = {EIO, true, 1, false};
	struct run run = {.gc_interval = 5000};
	struct suite s;

	suite_open(&s, SUITE_LEVELDB);
	snprintf(run.path, sizeof(run.path), "%s", s.path);
	wcs_table_close(s.table);
	wcs_store_close(s.store);
	SUITE_OK(run_open(&run));
	wcs_gc_pause(run.store, true);
	SUITE_OK(wcs_family_set_gc(run.table, "f", "maxversions=1", NULL));
	for (int64_t ts = 1; ts <= 3; ts++)
		SUITE_OK(set(run.table, "row", "q", ts, 10));
	arm(&run, &mode, 1);
	ck_assert_int_eq(set(run.table, "row", "q", 4, 10), -EIO);
	ck_assert_int_eq(atomic_load(&run.errors), 1);
	wcs_gc_pause(run.store, false);
	for (int i = 0; i < 500 && atomic_load(&run.errors) < 2; i++)
		rest(10);
	rest(300);
	ck_assert_int_eq(atomic_load(&run.errors), 2);
	ck_assert_int_eq(wcs_gc_run(run.store), -EROFS);
	ck_assert_int_eq(atomic_load(&run.errors), 2);
	disarm();
	run_close(&run);
	SUITE_OK(run_open(&run));
	SUITE_OK(wcs_gc_run(run.store));
	run_close(&run);
}
