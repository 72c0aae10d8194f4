/* SPDX-License-Identifier: MIT */
/*
 * A drop of many rows: how long it takes, how long other calls wait meanwhile, and the cost of
 * seeks and listings in the dropped range, against a store that never had these rows.
 *
 *   BENCH_ROWS=N  rows to drop (default 1,000,000), of three cells each
 *   BENCH_LARGE=N rows with a value of 100,000 bytes to drop besides (default 0)
 */
#include "tests/bench/measure.h"
#include "tests/unit/suite.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NEIGHBOURS = 1000, LARGE = 100000 };

static const char *const columns[] = {"lat", "lon", "speed"};

struct waits {
	struct wcs_table *table;
	atomic_bool *stop;
	void (*once)(struct wcs_table *table, unsigned int turn);
	const char *name;
	uint64_t turns;
	double sum, longest, above; /* above: sum of those longer than 10 ms */
};

/* ---- Filling ----------------------------------------------------------------------------- */

static void put_row(struct wcs_table *table, const char *row, const char *value, size_t len)
{
	struct wcs_mutation *mutation = wcs_mutation_new();

	for (size_t i = 0; i < 3; i++)
		wcs_mutation_set(mutation, "f", suite_text(columns[i]), 1700000000000000,
				 (struct wcs_slice){value, len});
	ck_assert_int_eq(wcs_row_mutate(table, suite_text(row), mutation, NULL), 0);
	wcs_mutation_free(mutation);
}

static void put_neighbours(struct wcs_table *table)
{
	char row[32];

	for (int i = 0; i < NEIGHBOURS; i++) {
		snprintf(row, sizeof(row), "%c#%06d", i % 2 ? 'a' : 'z', i);
		put_row(table, row, "53.4174", 7);
	}
}

static void put_rows(struct wcs_table *table, unsigned int rows, unsigned int large)
{
	char row[32], *bytes = suite_pattern(LARGE, 1);

	for (unsigned int i = 0; i < rows; i++) {
		snprintf(row, sizeof(row), "m#%u#%07u", i % 10, i);
		put_row(table, row, "53.4174", 7);
	}
	for (unsigned int i = 0; i < large; i++) {
		snprintf(row, sizeof(row), "m#large#%07u", i);
		put_row(table, row, bytes, LARGE);
	}
	free(bytes);
}

/* ---- Measurements ------------------------------------------------------------------------ */

static void write_once(struct wcs_table *table, unsigned int turn)
{
	char row[32];

	snprintf(row, sizeof(row), "b#%06u", turn % NEIGHBOURS);
	put_row(table, row, "53.4174", 7);
}

static void read_once(struct wcs_table *table, unsigned int turn)
{
	struct wcs_cell_info info;
	char row[32];

	snprintf(row, sizeof(row), "a#%06u", 2 * (turn % (NEIGHBOURS / 2)) + 1);
	ck_assert_int_eq(wcs_cell_get(table, suite_text(row), "f", suite_text("lat"), -1, &info),
			 0);
}

static void list_root(struct wcs_table *table, unsigned int turn)
{
	(void)turn;
	free(suite_list(table, suite_text(""), NULL));
}

static void list_dropped(struct wcs_table *table, unsigned int turn)
{
	(void)turn;
	free(suite_list(table, suite_text("m#"), NULL));
}

/* The first row from the dropped ones on. */
static void seek_once(struct wcs_table *table, unsigned int turn)
{
	struct wcs_range range = {.start = SUITE_BYTES("m")};
	struct wcs_filter filter = {.each = WCS_EACH_ROW};
	struct wcs_scan *scan;
	struct wcs_cell cell;

	(void)turn;
	ck_assert_int_eq(wcs_scan_open(table, &range, &filter, &scan), 0);
	ck_assert_int_eq(wcs_scan_next(scan, &cell), 1);
	wcs_scan_close(scan);
}

static void turn_once(struct waits *waits)
{
	double start = measure_now(), took;

	waits->once(waits->table, (unsigned int)waits->turns);
	took = measure_now() - start;
	waits->turns++;
	waits->sum += took;
	waits->above += took > 0.01 ? took : 0;
	if (took > waits->longest)
		waits->longest = took;
}

static void *turn_until(void *arg)
{
	struct waits *waits = arg;

	while (!atomic_load(waits->stop))
		turn_once(waits);
	return NULL;
}

static double microseconds(struct wcs_table *table, void (*once)(struct wcs_table *, unsigned int))
{
	struct waits waits = {.table = table, .once = once};

	for (int i = 0; i < 5; i++)
		turn_once(&waits);
	return 1e6 * waits.sum / (double)waits.turns;
}

static void compare(struct wcs_table *table, struct wcs_table *fresh, const char *when)
{
	printf("  %s: seek %.1f us (never had them: %.1f), listing the table %.1f (%.1f), "
	       "where they were %.1f (%.1f)\n",
	       when, microseconds(table, seek_once), microseconds(fresh, seek_once),
	       microseconds(table, list_root), microseconds(fresh, list_root),
	       microseconds(table, list_dropped), microseconds(fresh, list_dropped));
}

static void say_waits(const char *when, const struct waits *waits)
{
	printf("  %s %-8s %8llu, mean %7.1f us, longest %6.1f ms, %.2f s in those over 10 ms\n",
	       when, waits->name, (unsigned long long)waits->turns,
	       1e6 * waits->sum / (double)waits->turns, 1e3 * waits->longest, waits->above);
}

/* Drops with others at work, or lets them work alone for a while. */
static void drop_beside(struct wcs_table *table, bool drop)
{
	atomic_bool stop = false;
	struct waits waits[] = {
		{.table = table, .stop = &stop, .once = write_once, .name = "writes"},
		{.table = table, .stop = &stop, .once = read_once, .name = "reads"},
		{.table = table, .stop = &stop, .once = list_root, .name = "listings"},
	};
	pthread_t threads[3];
	double start = measure_now();

	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, turn_until, &waits[i]);
	if (drop)
		ck_assert_int_eq(wcs_rows_drop(table, &SUITE_BYTES("m")), 0);
	else
		measure_pause(5000);
	start = measure_now() - start;
	atomic_store(&stop, true);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	if (drop)
		printf("  dropped in %.2f s, with a writer, a reader and a lister at work\n",
		       start);
	for (int i = 0; i < 3; i++)
		say_waits(drop ? "meanwhile" : "alone    ", &waits[i]);
}

SUITE_TEST(bench_drop, 1200)
{
	unsigned int rows = measure_setting("BENCH_ROWS", 1000000);
	unsigned int large = measure_setting("BENCH_LARGE", 0);
	struct wcs_count count;
	struct wcs_stats stats;
	struct suite s, fresh;
	double start = measure_now(), busy, written;

	suite_open(&s, SUITE_LEVELDB);
	suite_open(&fresh, SUITE_LEVELDB);
	put_neighbours(fresh.table);
	put_neighbours(s.table);
	put_rows(s.table, rows, large);
	printf("drop: %u rows of three cells, %u of large values, written in %.1f s\n", rows, large,
	       measure_now() - start);
	drop_beside(s.table, false);
	start = measure_now();
	ck_assert_int_eq(wcs_rows_count(s.table, &SUITE_BYTES("m"), &count), 0);
	printf("  counted %llu rows in %.2f s\n", (unsigned long long)count.rows,
	       measure_now() - start);
	compare(s.table, fresh.table, "before");
	drop_beside(s.table, true);
	compare(s.table, fresh.table, "after ");
	start = measure_now();
	do {
		measure_pause(10);
		ck_assert_int_eq(wcs_store_stats(s.store, &stats), 0);
	} while (stats.values_pending + stats.compactions_pending > 0);
	printf("  space of large values freed %.2f s later; %llu compactions\n",
	       measure_now() - start, (unsigned long long)stats.compactions);
	suite_close(&s);
	busy = measure_processor();
	put_rows(fresh.table, rows, 0);
	written = measure_processor() - busy;
	start = measure_now();
	busy = measure_processor();
	ck_assert_int_eq(wcs_rows_drop(fresh.table, &SUITE_BYTES("m")), 0);
	busy = measure_processor() - busy;
	printf("  dropped in %.2f s with nobody else at work\n", measure_now() - start);
	printf("  processor time: writing %.2f s, dropping %.2f s, ratio %.2f\n", written, busy,
	       busy / written);
	suite_close(&fresh);
}
