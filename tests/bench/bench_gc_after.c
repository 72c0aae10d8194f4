/* SPDX-License-Identifier: MIT */
/*
 * The state after garbage collection: listings, seeks and files of a store from which many cells
 * were collected, next to a store that never had them. Both are open at once and measured by turns;
 * the medians of the processor time of a call are compared. The program measures once when the pass
 * has just returned, with compactions still under way, and once when they are done.
 *
 *   BENCH_CELLS=N  cells to collect (default 1,000,000)
 *   BENCH_SHAPE=S  only this shape: rows, columns or aged
 */
#include "tests/bench/gc_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 15, SLOW_US = 10000, SLOW_TIMES = 3 };

typedef void look_once(struct wcs_table *table, const struct gc_shape *shape, unsigned int number);

/* ---- Measured calls ---------------------------------------------------------------------- */

static void list(struct wcs_table *table, const char *prefix)
{
	free(suite_list(table, suite_text(prefix), NULL));
}

static void list_table(struct wcs_table *table, const struct gc_shape *shape, unsigned int number)
{
	(void)shape;
	(void)number;
	list(table, "");
}

static void list_directories(struct wcs_table *table, const struct gc_shape *shape,
			     unsigned int number)
{
	(void)shape;
	list(table, number % 2 ? "a#" : "z#");
}

static void list_rows(struct wcs_table *table, const struct gc_shape *shape, unsigned int number)
{
	char row[32];

	gc_row(shape, row, sizeof(row), number * 7919 % shape->rows);
	*(strrchr(row, '#') + 1) = '\0';
	list(table, row);
}

static void newest_cell(struct wcs_table *table, const struct gc_shape *shape, unsigned int number)
{
	struct wcs_cell_info info;
	char row[32];

	gc_row(shape, row, sizeof(row), number * 7919 % shape->rows);
	ck_assert_int_eq(
		wcs_cell_get(table, suite_text(row), "f", suite_text("lat"), WCS_TS_NEWEST, &info),
		0);
}

/* All versions of three columns. */
static void scan_from(struct wcs_table *table, const char *row)
{
	struct wcs_range range = {.start = suite_text(row)};
	struct wcs_filter filter = {.each = WCS_EACH_CELL};
	struct wcs_scan *scan;
	struct wcs_cell cell;

	ck_assert_int_eq(wcs_scan_open(table, &range, &filter, &scan), 0);
	for (int i = 0; i < 3; i++)
		ck_assert_int_ge(wcs_scan_next(scan, &cell), i == 0);
	wcs_scan_close(scan);
}

static void seek_rows(struct wcs_table *table, const struct gc_shape *shape, unsigned int number)
{
	char row[32];

	gc_row(shape, row, sizeof(row), number * 7919 % shape->rows);
	scan_from(table, row);
}

static void seek_gone(struct wcs_table *table, const struct gc_shape *shape, unsigned int number)
{
	char row[32];

	gc_row_gone(row, sizeof(row), shape->gone > 0 ? number * 7919 % shape->gone : 0);
	scan_from(table, row);
}

static const struct look {
	const char *name;
	look_once *once;
	unsigned int times;
} looks[] = {
	{"list the table", list_table, 300},	{"list directories", list_directories, 10},
	{"list 100 rows", list_rows, 100},	{"newest cell", newest_cell, 3000},
	{"seek, three cells", seek_rows, 3000}, {"seek where they were", seek_gone, 3000},
};

/* ---- Comparing --------------------------------------------------------------------------- */

/* Microseconds of one call. */
static double look(const struct look *look, struct gc_store *store, const struct gc_shape *shape,
		   unsigned int times)
{
	double start = measure_thread();

	for (unsigned int i = 0; i < times; i++)
		look->once(store->table, shape, i);
	return 1e6 * (measure_thread() - start) / times;
}

static void compare(const struct gc_shape *shape, struct gc_store *store, struct gc_store *never,
		    const char *when)
{
	printf("  %s: microseconds, and in the store that never had them\n", when);
	for (size_t i = 0; i < sizeof(looks) / sizeof(looks[0]); i++) {
		double took[ROUNDS], other[ROUNDS], ratios[ROUNDS];
		unsigned int times = looks[i].times;

		if (look(&looks[i], store, shape, 1) > SLOW_US)
			times = SLOW_TIMES;
		for (int round = 0; round < ROUNDS; round++) {
			took[round] = look(&looks[i], store, shape, times);
			other[round] = look(&looks[i], never, shape, times);
			ratios[round] = took[round] / other[round];
		}
		printf("    %-22s %9.1f %9.1f", looks[i].name, measure_median(took, ROUNDS),
		       measure_median(other, ROUNDS));
		printf("  ratio: median %.2f (", measure_median(ratios, ROUNDS));
		printf("%.2f to %.2f)\n", ratios[0], ratios[ROUNDS - 1]);
	}
	fflush(stdout);
}

static void sizes(uint64_t before, struct gc_store *store, struct gc_store *never)
{
	uint64_t size = gc_store_size(store), least = gc_store_size(never);

	printf("  files: %.2f MB before, %.2f MB afterwards, %.2f MB in the store that never had "
	       "them: ratio %.3f\n",
	       (double)before / 1e6, (double)size / 1e6, (double)least / 1e6,
	       (double)size / (double)least);
}

static void run(const struct gc_shape *shape)
{
	struct gc_store store, never;
	uint64_t before;

	gc_store_make(&never, "never", shape, false);
	gc_store_open(&never, 0);
	gc_store_settle(&never);
	gc_store_make(&store, "store", shape, true);
	gc_store_open(&store, 0);
	before = gc_store_size(&store);
	ck_assert_int_eq(wcs_gc_run(store.store), 0);
	compare(shape, &store, &never, "at once");
	gc_store_settle(&store);
	compare(shape, &store, &never, "compacted");
	sizes(before, &store, &never);
	gc_store_close(&store);
	gc_store_remove(&store);
	gc_store_close(&never);
	gc_store_remove(&never);
}

SUITE_TEST(bench_gc_after, 3600)
{
	gc_each_shape(run);
}
