/* SPDX-License-Identifier: MIT */
/*
 * The cost of garbage collection: a requested pass, next to deletes of the same keys by plain
 * batches of LevelDB, which know the keys; and the cost for a store that has nothing to collect.
 *
 * Both work on copies of one store, by turns; medians are compared, and the range of the turns is
 * printed. Seconds are of the clock, since collecting waits for the medium and for LevelDB; the
 * processor time beside them is of all threads, so with LevelDB's own work.
 *
 *   BENCH_CELLS=N  cells to collect (default 1,000,000)
 *   BENCH_TURNS=N  (default 5)
 *   BENCH_SHAPE=S  only this shape: rows, columns or aged
 */
#include "tests/bench/measure.h"
#include "tests/unit/suite.h"

#include "store/leveldb/engine.h"
#include "store/table/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TURNS_MAX = 100, BATCH = 4000, GROUP = 500, GC_DIRECTORY = 100 };

/* ---- Stores with cells to collect ---------------------------------------------------------- */

/*
 * A table "t" with a family "f", and the part of it that its policy hides. Rows are named by a
 * letter, a directory and a number: those that stay "a#…" and "z#…", those that go "m#…" between
 * them.
 */
struct gc_shape {
	const char *name, *what, *policy;
	unsigned int rows, versions; /* of each row the newest version stays */
	unsigned int gone;	     /* rows of one version, which goes */
	unsigned int others;	     /* rows of one version, which stays: "k#…" */
};

/* Many rows, tall columns, and rows that go as a whole. */
enum { GC_ROWS, GC_COLUMNS, GC_AGED, GC_SHAPES };

struct gc_store {
	char path[256];
	struct wcs_store *store;
	struct wcs_table *table;
};

static uint64_t gc_shape_cells(const struct gc_shape *shape)
{
	return (uint64_t)shape->rows * (shape->versions - 1) + shape->gone;
}

static void row_name(char *row, size_t size, char first, unsigned int i)
{
	snprintf(row, size, "%c#%05u#%02u", first, i / GC_DIRECTORY, i % GC_DIRECTORY);
}

static char row_side(const struct gc_shape *shape, unsigned int i)
{
	return i < shape->rows / 2 ? 'a' : 'z';
}

/* ---- Filling ----------------------------------------------------------------------------- */

struct group {
	struct wcs_table *table;
	struct wcs_entry entries[GROUP];
	char rows[GROUP][32], values[GROUP][32];
	size_t count;
};

static void group_apply(struct group *group)
{
	size_t applied;

	ck_assert_int_eq(wcs_rows_mutate(group->table, group->entries, group->count, &applied), 0);
	for (size_t i = 0; i < group->count; i++)
		wcs_mutation_free(group->entries[i].mutation);
	group->count = 0;
}

static void group_add(struct group *group, char first, unsigned int i, int64_t ts)
{
	struct wcs_entry *entry = &group->entries[group->count];
	char *row = group->rows[group->count], *value = group->values[group->count];

	row_name(row, sizeof(group->rows[0]), first, i);
	snprintf(value, sizeof(group->values[0]), "%u.%05u", i * 31 % 360,
		 (i * 7919 + (unsigned int)(ts % 1000) * 104729) % 100000);
	entry->row = suite_text(row);
	entry->mutation = wcs_mutation_new();
	wcs_mutation_set(entry->mutation, "f", suite_text("lat"), ts, suite_text(value));
	if (++group->count == GROUP)
		group_apply(group);
}

/* One version of all rows after the other, as they come in life. */
static void fill(struct group *group, const struct gc_shape *shape)
{
	int64_t old = 1700000000000000;
	int64_t newest = shape->gone > 0 ? (int64_t)time(NULL) * 1000000 : old;

	for (unsigned int i = 0; i < shape->gone; i++)
		group_add(group, 'm', i, old);
	for (unsigned int v = shape->versions; v > 0; v--)
		for (unsigned int i = 0; i < shape->rows; i++)
			group_add(group, row_side(shape, i), i, newest - v);
	for (unsigned int i = 0; i < shape->others; i++)
		group_add(group, 'k', i, newest);
	if (group->count > 0)
		group_apply(group);
}

/* The state long after filling: no later measurement includes compactions of the filled data. The
 * first compaction may end on a level that is too small, from which LevelDB moves tables to the
 * next one by itself. */
static void compact(struct ldb *db)
{
	leveldb_compact_range(db->db, NULL, 0, NULL, 0);
	measure_pause(1000);
	leveldb_compact_range(db->db, NULL, 0, NULL, 0);
}

static void gc_store_close(struct gc_store *store)
{
	wcs_table_close(store->table);
	wcs_store_close(store->store);
}

static void gc_store_make(struct gc_store *store, const char *name, const struct gc_shape *shape)
{
	struct wcs_options options = {.gc_interval = 0};
	struct group *group = calloc(1, sizeof(*group));

	snprintf(store->path, sizeof(store->path), "%s/%s", suite_directory(), name);
	ck_assert_int_eq(wcs_store_create(store->path, NULL, false, NULL, NULL), 0);
	ck_assert_int_eq(wcs_store_open(store->path, &options, &store->store, NULL), 0);
	ck_assert_int_eq(wcs_table_create(store->store, "t"), 0);
	ck_assert_int_eq(wcs_table_open(store->store, "t", &store->table), 0);
	ck_assert_int_eq(wcs_family_create(store->table, "f"), 0);
	group->table = store->table;
	fill(group, shape);
	free(group);
	ck_assert_int_eq(wcs_family_set_gc(store->table, "f", shape->policy, NULL), 0);
	compact(store->store->engine.db);
	gc_store_close(store);
}

/* ---- Stores ------------------------------------------------------------------------------ */

static void shell(const char *format, const char *a, const char *b)
{
	char line[640];

	snprintf(line, sizeof(line), format, a, b);
	ck_assert_int_eq(system(line), 0);
}

static void gc_store_copy(struct gc_store *copy, const struct gc_store *from, const char *name)
{
	snprintf(copy->path, sizeof(copy->path), "%s/%s", suite_directory(), name);
	shell("cp -a '%s' '%s'", from->path, copy->path);
}

static void gc_store_remove(struct gc_store *store)
{
	shell("rm -rf '%s'%s", store->path, "");
}

static void gc_store_open(struct gc_store *store, int64_t interval)
{
	struct wcs_options options = {.gc_interval = interval};
	struct wcs_fault fault = {.text = ""};

	ck_assert_msg(wcs_store_open(store->path, &options, &store->store, &fault) == 0, "%s",
		      fault.text);
	ck_assert_int_eq(wcs_table_open(store->store, "t", &store->table), 0);
}

static void gc_store_settle(struct gc_store *store)
{
	struct wcs_stats stats;
	int quiet = 0;

	while (quiet < 3) {
		double busy = measure_processor();

		ck_assert_int_eq(wcs_store_stats(store->store, &stats), 0);
		measure_pause(100);
		if (stats.compactions_pending == 0 && measure_processor() - busy < 0.005)
			quiet++;
		else
			quiet = 0;
	}
}

/* ---- Turns --------------------------------------------------------------------------------- */

struct times {
	double seconds[TURNS_MAX], processor[TURNS_MAX];
};

struct bench {
	struct gc_shape shape;
	uint64_t cells;
	size_t turns;
	struct gc_store base;
	struct times collected, compacted, deleted;
};

/* ---- Collecting -------------------------------------------------------------------------- */

/* Leaves the store closed, without the cells that its policy hides. */
static void collect(struct bench *bench, struct gc_store *store, size_t turn)
{
	struct wcs_gc_status status;
	double start, busy;

	gc_store_open(store, 0);
	gc_store_settle(store);
	start = measure_now();
	busy = measure_processor();
	ck_assert_int_eq(wcs_gc_run(store->store), 0);
	bench->collected.seconds[turn] = measure_now() - start;
	bench->collected.processor[turn] = measure_processor() - busy;
	wcs_gc_status(store->store, &status);
	ck_assert_uint_eq(status.cells, bench->cells);
	gc_store_settle(store);
	bench->compacted.seconds[turn] = measure_now() - start - 0.3; /* that it is quiet */
	bench->compacted.processor[turn] = measure_processor() - busy;
	gc_store_close(store);
}

/* ---- Deleting the same keys -------------------------------------------------------------- */

static bool is_hidden(const struct bench *bench, const char *key, bool first)
{
	return bench->shape.gone > 0 ? key[LDB_KEY_TABLE_LEN] == 'm' : !first;
}

/* The keys, each with its length before it. */
static char *hidden_keys(const struct bench *bench, struct gc_store *store, size_t *size)
{
	leveldb_iterator_t *iter = ldb_db_iterate(store->store->engine.db);
	char *keys = NULL, column[64] = "";
	size_t len, column_len = 0;
	FILE *out = open_memstream(&keys, size);

	for (leveldb_iter_seek(iter, "c", 1); leveldb_iter_valid(iter); leveldb_iter_next(iter)) {
		const char *key = leveldb_iter_key(iter, &len);
		bool first;

		if (key[0] != 'c')
			break;
		first = len - LDB_KEY_TS_LEN != column_len || memcmp(key, column, column_len) != 0;
		column_len = len - LDB_KEY_TS_LEN;
		memcpy(column, key, column_len);
		if (!is_hidden(bench, key, first))
			continue;
		fwrite(&len, sizeof(len), 1, out);
		fwrite(key, 1, len, out);
	}
	leveldb_iter_destroy(iter);
	fclose(out);
	return keys;
}

static void delete_keys(struct gc_store *store, const char *keys, size_t size, uint64_t cells)
{
	leveldb_writebatch_t *batch = leveldb_writebatch_create();
	const char *at = keys, *end = keys + size;
	uint64_t count = 0;
	size_t len;

	for (; at < end; at += sizeof(len) + len) {
		memcpy(&len, at, sizeof(len));
		leveldb_writebatch_delete(batch, at + sizeof(len), len);
		if (++count % BATCH != 0 && count < cells)
			continue;
		ck_assert_int_eq(ldb_commit(store->store->engine.db, batch, false), 0);
		leveldb_writebatch_clear(batch);
	}
	leveldb_writebatch_destroy(batch);
	ck_assert_uint_eq(count, cells);
}

static void delete (struct bench *bench, struct gc_store *store, size_t turn)
{
	double start, busy;
	size_t size;
	char *keys;

	gc_store_open(store, 0);
	gc_store_settle(store);
	keys = hidden_keys(bench, store, &size);
	start = measure_now();
	busy = measure_processor();
	delete_keys(store, keys, size, bench->cells);
	bench->deleted.seconds[turn] = measure_now() - start;
	bench->deleted.processor[turn] = measure_processor() - busy;
	free(keys);
	gc_store_close(store);
}

/* ---- Nothing to do ----------------------------------------------------------------------- */

/* The cost of one pass in the background. Other threads of the store have nothing to do. */
static void idle(struct gc_store *store, const char *what)
{
	struct wcs_gc_status status, before;
	double busy, start, spent, took;

	gc_store_open(store, 0);
	gc_store_settle(store);
	gc_store_close(store);
	gc_store_open(store, 1000);
	wcs_gc_status(store->store, &before);
	busy = measure_processor();
	start = measure_now();
	do {
		measure_pause(500);
		wcs_gc_status(store->store, &status);
	} while (measure_now() - start < 3 ||
		 (status.passes < before.passes + 3 && measure_now() - start < 120));
	spent = (measure_processor() - busy) / (double)(status.passes - before.passes);
	took = (measure_now() - start) / (double)(status.passes - before.passes);
	printf("  %s: a pass takes %.2f ms of the processor in %.1f ms; one in five minutes is "
	       "%.4f %% of it\n",
	       what, 1e3 * spent, 1e3 * took, 100 * spent / 300);
	gc_store_close(store);
}

static void idle_compare(struct gc_store *base, struct gc_store *collected)
{
	double busy;

	gc_store_open(base, 0);
	gc_store_settle(base);
	busy = measure_processor();
	measure_pause(3000);
	printf("  no passes: %.2f ms of the processor in 3 s\n",
	       1e3 * (measure_processor() - busy));
	ck_assert_int_eq(wcs_family_set_gc(base->table, "f", "never", NULL), 0);
	gc_store_close(base);
	idle(base, "no policy");
	idle(collected, "nothing to collect");
}

/* ---- All of it --------------------------------------------------------------------------- */

static void turn(struct bench *bench, size_t number)
{
	struct gc_store store;

	gc_store_copy(&store, &bench->base, "deleted");
	delete (bench, &store, number);
	gc_store_remove(&store);
	gc_store_copy(&store, &bench->base, "collected");
	collect(bench, &store, number);
	if (number + 1 == bench->turns && bench->shape.gone + bench->shape.others == 0)
		idle_compare(&bench->base, &store);
	gc_store_remove(&store);
}

static void say(const struct bench *bench, const char *what, struct times *times)
{
	double middle = measure_median(times->seconds, bench->turns);

	printf("  %-21s %6.3f s (%.3f to %.3f), %9.0f cells a second; processor %.3f s\n", what,
	       middle, times->seconds[0], times->seconds[bench->turns - 1],
	       (double)bench->cells / middle, measure_median(times->processor, bench->turns));
}

static void run(const struct gc_shape *shape)
{
	struct bench *bench = calloc(1, sizeof(*bench));
	struct times *collected = &bench->collected, *deleted = &bench->deleted;
	double ratios[TURNS_MAX];

	bench->shape = *shape;
	bench->cells = gc_shape_cells(&bench->shape);
	bench->turns = measure_setting("BENCH_TURNS", 5);
	if (bench->turns > TURNS_MAX)
		bench->turns = TURNS_MAX;
	gc_store_make(&bench->base, "base", &bench->shape);
	for (size_t i = 0; i < bench->turns; i++)
		turn(bench, i);
	gc_store_remove(&bench->base);
	for (size_t i = 0; i < bench->turns; i++)
		ratios[i] = deleted->seconds[i] / collected->seconds[i];
	say(bench, "collecting", collected);
	say(bench, "collecting, compacted", &bench->compacted);
	say(bench, "plain deletes", deleted);
	printf("  ratio to plain deletes: median %.2f (", measure_median(ratios, bench->turns));
	printf("%.2f to %.2f), of processor time %.2f\n", ratios[0], ratios[bench->turns - 1],
	       measure_median(deleted->processor, bench->turns) /
		       measure_median(collected->processor, bench->turns));
	free(bench);
}

static struct gc_shape shape_of(int kind, unsigned int cells)
{
	switch (kind) {
	case GC_ROWS:
		return (struct gc_shape){.name = "rows",
					 .what = "three hidden versions in each of many rows",
					 .policy = "maxversions=1",
					 .rows = (cells + 2) / 3,
					 .versions = 4};
	case GC_COLUMNS:
		return (struct gc_shape){.name = "columns",
					 .what = "1,000 hidden versions in each of some columns",
					 .policy = "maxversions=1",
					 .rows = (cells + 999) / 1000,
					 .versions = 1001,
					 .others = cells / 3};
	default:
		return (struct gc_shape){.name = "aged",
					 .what = "rows that go as a whole, between others",
					 .policy = "maxage=1d",
					 .rows = cells / 3,
					 .versions = 1,
					 .gone = cells};
	}
}

SUITE_TEST(bench_gc, 3600)
{
	const char *only = getenv("BENCH_SHAPE");

	for (int kind = 0; kind < GC_SHAPES; kind++) {
		struct gc_shape shape = shape_of(kind, measure_setting("BENCH_CELLS", 1000000));

		if (only != NULL && strcmp(only, shape.name) != 0)
			continue;
		printf("%s: %s\n", shape.name, shape.what);
		fflush(stdout);
		run(&shape);
		fflush(stdout);
	}
}
