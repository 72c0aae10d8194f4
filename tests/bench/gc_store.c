/* SPDX-License-Identifier: MIT */
/* Shared by the benchmarks of garbage collection: see gc_store.h. */
#include "tests/bench/gc_store.h"

#include "store/leveldb/engine.h"
#include "store/table/table.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { GROUP = 500 };

/* ---- Shapes ------------------------------------------------------------------------------ */

struct gc_shape gc_shape(int kind, unsigned int cells)
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

void gc_each_shape(void (*run)(const struct gc_shape *shape))
{
	const char *only = getenv("BENCH_SHAPE");

	for (int kind = 0; kind < GC_SHAPES; kind++) {
		struct gc_shape shape = gc_shape(kind, measure_setting("BENCH_CELLS", 1000000));

		if (only != NULL && strcmp(only, shape.name) != 0)
			continue;
		printf("%s: %s\n", shape.name, shape.what);
		fflush(stdout);
		run(&shape);
		fflush(stdout);
	}
}

uint64_t gc_shape_cells(const struct gc_shape *shape)
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

void gc_row(const struct gc_shape *shape, char *row, size_t size, unsigned int i)
{
	row_name(row, size, row_side(shape, i), i);
}

void gc_row_gone(char *row, size_t size, unsigned int i)
{
	row_name(row, size, 'm', i);
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
static void fill(struct group *group, const struct gc_shape *shape, bool hidden)
{
	int64_t old = 1700000000000000;
	int64_t newest = shape->gone > 0 ? (int64_t)time(NULL) * 1000000 : old;

	for (unsigned int i = 0; hidden && i < shape->gone; i++)
		group_add(group, 'm', i, old);
	for (unsigned int v = hidden ? shape->versions : 1; v > 0; v--)
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

void gc_store_make(struct gc_store *store, const char *name, const struct gc_shape *shape,
		   bool hidden)
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
	fill(group, shape, hidden);
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

void gc_store_copy(struct gc_store *copy, const struct gc_store *from, const char *name)
{
	snprintf(copy->path, sizeof(copy->path), "%s/%s", suite_directory(), name);
	shell("cp -a '%s' '%s'", from->path, copy->path);
}

void gc_store_remove(struct gc_store *store)
{
	shell("rm -rf '%s'%s", store->path, "");
}

void gc_store_open(struct gc_store *store, int64_t interval)
{
	struct wcs_options options = {.gc_interval = interval};
	struct wcs_fault fault = {.text = ""};

	ck_assert_msg(wcs_store_open(store->path, &options, &store->store, &fault) == 0, "%s",
		      fault.text);
	ck_assert_int_eq(wcs_table_open(store->store, "t", &store->table), 0);
}

void gc_store_close(struct gc_store *store)
{
	wcs_table_close(store->table);
	wcs_store_close(store->store);
}

void gc_store_settle(struct gc_store *store)
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

uint64_t gc_store_size(struct gc_store *store)
{
	const struct dirent *entry;
	char path[600];
	uint64_t size = 0;
	struct stat st;
	DIR *dir;

	gc_store_close(store);
	gc_store_open(store, 0);
	gc_store_settle(store);
	snprintf(path, sizeof(path), "%s/data", store->path);
	dir = opendir(path);
	ck_assert_ptr_nonnull(dir);
	while ((entry = readdir(dir)) != NULL) {
		snprintf(path, sizeof(path), "%s/data/%s", store->path, entry->d_name);
		if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
			size += (uint64_t)st.st_size;
	}
	closedir(dir);
	return size;
}
