/* SPDX-License-Identifier: MIT */
/*
 * The cost of a salt: the same rows in tables of 1 (none), 4, 16, 64 and 256 buckets, loaded and
 * read by turns, as ratios of the time without a salt. The salt is that of the whole key, so every
 * read but that of a row covers all buckets.
 *
 *   load     all rows in ascending order, in batches, with the server's timestamps
 *   restore  the same into another table, with timestamps
 *   stream   a scan of all cells
 *   back     the same in reverse order
 *   listing  the children of the table, each with BENCH_GROUP rows below it
 *   prefix   scans of the rows below one child
 *   look     wcs_key_get of children
 *   point    wcs_cell_get of random rows
 *   splits   wcs_rows_splits of the table
 *
 *   BENCH_ROWS=N   (default 200,000), each of two cells
 *   BENCH_TURNS=N  (default 5)
 */
#include "tests/bench/measure.h"
#include "tests/unit/suite.h"

#include "store/leveldb/engine.h"
#include "store/table/table.h"

enum { BENCH_GROUP = 100, BENCH_BATCH = 1000, BENCH_POINTS = 20000, BENCH_PREFIXES = 200 };

static const unsigned int bench_buckets[] = {1, 4, 16, 64, 256};
#define BENCH_TABLES (sizeof(bench_buckets) / sizeof(bench_buckets[0]))

enum bench_kind { LOAD, RESTORE, STREAM, BACK, LISTING, PREFIX, LOOK, POINT, SPLITS, BENCH_KINDS };
static const char *const bench_names[] = {"load",   "restore", "stream", "back",  "listing",
					  "prefix", "look",    "point",	 "splits"};

#define BENCH_TURNS_MAX 100
static double bench_seconds[BENCH_KINDS][BENCH_TABLES][BENCH_TURNS_MAX];

static struct wcs_slice bench_key(char *key, size_t size, size_t row)
{
	int len = snprintf(key, size, "%06zu#%03zu", row / BENCH_GROUP, row % BENCH_GROUP);

	return (struct wcs_slice){key, (size_t)len};
}

static void bench_load(struct wcs_table *table, size_t rows, int64_t ts)
{
	static char keys[BENCH_BATCH][24], values[BENCH_BATCH][24];
	struct wcs_mutation *mutations[BENCH_BATCH];
	struct wcs_entry entries[BENCH_BATCH];
	size_t applied;

	for (size_t i = 0; i < BENCH_BATCH; i++)
		mutations[i] = wcs_mutation_new();
	for (size_t row = 0; row < rows; row += BENCH_BATCH) {
		for (size_t i = 0; i < BENCH_BATCH; i++) {
			struct wcs_slice value = suite_text(values[i]);

			value.len = (size_t)snprintf(values[i], sizeof(values[i]), "value %zu",
						     (row + i) * 7919 % 100000);
			wcs_mutation_free(mutations[i]);
			mutations[i] = wcs_mutation_new();
			SUITE_OK(wcs_mutation_set(mutations[i], "a", suite_text("x"), ts, value));
			SUITE_OK(wcs_mutation_set(mutations[i], "f", suite_text("y"), ts, value));
			entries[i] = (struct wcs_entry){
				.row = bench_key(keys[i], sizeof(keys[i]), row + i),
				.mutation = mutations[i]};
		}
		SUITE_OK(wcs_rows_mutate(table, entries, BENCH_BATCH, &applied));
	}
	for (size_t i = 0; i < BENCH_BATCH; i++)
		wcs_mutation_free(mutations[i]);
}

static void bench_scan(struct wcs_table *table, const struct wcs_range *range, bool reverse,
		       size_t cells)
{
	const struct wcs_filter filter = {.reverse = reverse};
	struct wcs_scan *scan;
	struct wcs_cell cell;
	size_t found = 0;

	SUITE_OK(wcs_scan_open(table, range, 1, &filter, &scan));
	while (wcs_scan_next(scan, &cell) == 1)
		found++;
	wcs_scan_close(scan);
	ck_assert_uint_eq(found, cells);
}

static void bench_list(struct wcs_table *table, size_t children)
{
	struct wcs_list *list;
	struct wcs_slice segment;
	size_t found = 0;

	SUITE_OK(wcs_list_open(table, suite_text(""), NULL, NULL, &list));
	while (wcs_list_next(list, &segment) == 1)
		found++;
	wcs_list_close(list);
	ck_assert_uint_eq(found, children);
}

static void bench_prefixes(struct wcs_table *table, size_t rows)
{
	for (size_t i = 0; i < BENCH_PREFIXES; i++) {
		size_t child = i * 7919 % (rows / BENCH_GROUP);
		char start[16], end[16];
		struct wcs_range range = {suite_text(start), suite_text(end)};

		range.start.len = (size_t)snprintf(start, sizeof(start), "%06u#", (unsigned)child);
		range.end.len = (size_t)snprintf(end, sizeof(end), "%06u$", (unsigned)child);
		bench_scan(table, &range, false, (size_t)2 * BENCH_GROUP);
	}
}

static void bench_points(struct wcs_table *table, size_t rows, bool look)
{
	struct wcs_cell_info info;
	struct wcs_key_info found;
	char key[24];

	for (size_t i = 0; i < BENCH_POINTS; i++) {
		struct wcs_slice row = bench_key(key, sizeof(key), i * 7919 % rows);

		if (look) {
			row.len = 6;
			SUITE_OK(wcs_key_get(table, row, &found));
			ck_assert(found.prefix && !found.row);
		} else {
			SUITE_OK(wcs_cell_get(table, row, "f", suite_text("y"), WCS_TS_NEWEST,
					      &info));
		}
	}
}

static int bench_split(void *ctx, struct wcs_slice row)
{
	(void)row;
	(*(size_t *)ctx)++;
	return 0;
}

static void bench_splits(struct wcs_table *table)
{
	size_t splits = 0;

	SUITE_OK(wcs_rows_splits(table, NULL, NULL, bench_split, &splits));
	ck_assert_uint_le(splits, WCS_SPLITS_MAX);
}

static void bench_run(struct wcs_table *table, enum bench_kind kind, size_t rows)
{
	static const struct wcs_range all = {.start = {NULL, 0}};

	if (kind == LOAD)
		bench_load(table, rows, WCS_TS_SERVER);
	else if (kind == RESTORE)
		bench_load(table, rows, 1);
	else if (kind == STREAM || kind == BACK)
		bench_scan(table, &all, kind == BACK, 2 * rows);
	else if (kind == LISTING)
		bench_list(table, rows / BENCH_GROUP);
	else if (kind == PREFIX)
		bench_prefixes(table, rows);
	else if (kind == SPLITS)
		bench_splits(table);
	else
		bench_points(table, rows, kind == LOOK);
}

static struct wcs_table *bench_other_table(struct suite *suite)
{
	const struct wcs_keys *keys = wcs_table_keys(suite->table);
	struct wcs_fault fault;
	struct wcs_table *table;

	SUITE_OK(wcs_table_create(suite->store, "u"));
	SUITE_OK(wcs_table_open(suite->store, "u", &table));
	SUITE_OK(wcs_family_create(table, "a"));
	SUITE_OK(wcs_family_create(table, "f"));
	if (keys != NULL)
		SUITE_OK(wcs_table_set_keys(table, keys, &fault));
	return table;
}

/* Fills a new store for each table, so that all stand alone, and measures one after the other. */
static void bench_turn(size_t turn, size_t rows)
{
	static struct suite suites[BENCH_TABLES];

	for (int kind = 0; kind < BENCH_KINDS; kind++)
		for (size_t i = 0; i < BENCH_TABLES; i++) {
			size_t at = (i + turn) % BENCH_TABLES;
			struct wcs_table *table;
			double start;

			if (kind == LOAD) {
				suite_open(&suites[at], SUITE_LEVELDB);
				if (bench_buckets[at] > 1)
					suite_salt(&suites[at], bench_buckets[at], 0);
			}
			table = kind == RESTORE ? bench_other_table(&suites[at]) : suites[at].table;
			start = measure_now();
			bench_run(table, (enum bench_kind)kind, rows);
			bench_seconds[kind][at][turn] = measure_now() - start;
			if (kind == RESTORE)
				wcs_table_close(table);
			if (kind <= RESTORE) {
				struct ldb *db = suites[at].store->engine.db;

				leveldb_compact_range(db->db, NULL, 0, NULL, 0);
			}
		}
	for (size_t i = 0; i < BENCH_TABLES; i++)
		suite_close(&suites[i]);
}

static void bench_print(size_t turns)
{
	double ratios[BENCH_TURNS_MAX];

	printf("%-10s %10s", "", "1, ms");
	for (size_t i = 1; i < BENCH_TABLES; i++)
		printf("   %16u", bench_buckets[i]);
	printf("\n");
	for (int kind = 0; kind < BENCH_KINDS; kind++) {
		for (size_t i = 1; i < BENCH_TABLES; i++) {
			for (size_t turn = 0; turn < turns; turn++)
				ratios[turn] =
					bench_seconds[kind][i][turn] / bench_seconds[kind][0][turn];
			measure_sort(ratios, turns);
			if (i == 1) {
				double plain[BENCH_TURNS_MAX];

				memcpy(plain, bench_seconds[kind][0], sizeof(plain));
				printf("%-10s %10.1f", bench_names[kind],
				       1000 * measure_median(plain, turns));
			}
			printf("   %4.2f (%4.2f-%4.2f)", ratios[turns / 2], ratios[0],
			       ratios[turns - 1]);
		}
		printf("\n");
	}
}

static void bench_all(int unused __attribute__((unused)))
{
	size_t rows = measure_setting("BENCH_ROWS", 200000) / BENCH_BATCH * BENCH_BATCH;
	size_t turns = measure_setting("BENCH_TURNS", 5);

	ck_assert(turns > 0 && turns <= BENCH_TURNS_MAX && rows >= BENCH_BATCH);
	printf("%zu rows, %zu turns: times over those of a table without a salt\n", rows, turns);
	for (size_t turn = 0; turn < turns; turn++)
		bench_turn(turn, rows);
	bench_print(turns);
}

static void bench_make(Suite *suite)
{
	static const TTest test = {"bench_keys", bench_all, __FILE__, __LINE__};
	TCase *tcase = tcase_create("keys");

	tcase_set_timeout(tcase, 3600);
	tcase_add_test(tcase, &test);
	suite_add_tcase(suite, tcase);
}

int main(void)
{
	return suite_main("bench_keys", bench_make);
}
