/* SPDX-License-Identifier: MIT */
/*
 * Loads a million cells as lines of JSON, and writes the same keys and values with plain batches of
 * LevelDB: how much of the engine's speed is left for rows that come as text.
 *
 * Both write into a new store each time, by turns, in pieces of the size that a file is written in;
 * the medians are compared. It is the processor time of the thread that loads, which other work on
 * the machine moves less than the clock; LevelDB's own thread has the same to do for both.
 * BENCH_CELLS and BENCH_TURNS in the environment choose others.
 */
#include "tests/bench/measure.h"
#include "tests/unit/suite.h"

#include "store/leveldb/engine.h"
#include "store/table/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BENCH_COLUMNS 10
#define BENCH_PIECE   (128u << 10) /* bytes in one write, as of cat */
#define BENCH_BATCH   (256u << 10) /* bytes in one batch of LevelDB */
#define BENCH_TURNS   5

struct bench {
	size_t cells;
	char *text;
	size_t text_len;
	char *pairs; /* of the store: key and value with their lengths before them */
	size_t pairs_len;
	double *times[3]; /* parse, load, raw */
};

/* Rows of ten columns, as a dump writes them. */
static void bench_text(struct bench *bench)
{
	FILE *out = open_memstream(&bench->text, &bench->text_len);

	for (size_t row = 0; row < bench->cells / BENCH_COLUMNS; row++) {
		fprintf(out, "{\"key\":\"STC#%02zu#%06zu\",\"families\":{\"f\":{", row / 10000,
			row);
		for (size_t i = 0; i < BENCH_COLUMNS; i++)
			fprintf(out, "%s\"column%zu\":[{\"ts\":%zu,\"value\":\"%zu.%zu\"}]",
				i ? "," : "", i, 1700000000000000 + row, row * 7 % 1000,
				row * 31 + i);
		fputs("}}}\n", out);
	}
	fclose(out);
}

static void bench_keep(FILE *out, const char *bytes, size_t len)
{
	uint32_t n = (uint32_t)len;

	fwrite(&n, sizeof(n), 1, out);
	fwrite(bytes, 1, len, out);
}

/* What loading put into LevelDB. */
static void bench_pairs(struct bench *bench, struct suite *suite)
{
	FILE *out = open_memstream(&bench->pairs, &bench->pairs_len);
	leveldb_iterator_t *iter = ldb_db_iterate(suite->store->db);
	size_t len, cells = 0;

	for (leveldb_iter_seek(iter, "c", 1); leveldb_iter_valid(iter); leveldb_iter_next(iter)) {
		const char *key = leveldb_iter_key(iter, &len);

		if (key[0] != 'c')
			break;
		bench_keep(out, key, len);
		key = leveldb_iter_value(iter, &len);
		bench_keep(out, key, len);
		cells++;
	}
	leveldb_iter_destroy(iter);
	fclose(out);
	ck_assert_uint_eq(cells, bench->cells);
}

static double bench_parse(const struct bench *bench)
{
	const char *text = bench->text, *end = text + bench->text_len;
	double start = measure_thread();

	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		struct wcs_line *line;

		ck_assert_int_eq(wcs_line_parse(text, (size_t)(newline - text), &line, NULL), 0);
		wcs_line_free(line);
		text = newline + 1;
	}
	return measure_thread() - start;
}

static double bench_load(struct bench *bench)
{
	struct wcs_import *import;
	struct wcs_fault fault;
	struct suite suite;
	double start, took;

	suite_open(&suite, SUITE_LEVELDB);
	ck_assert_int_eq(wcs_import_new(suite.table, NULL, &import), 0);
	start = measure_thread();
	for (size_t at = 0, n; at < bench->text_len; at += n) {
		n = bench->text_len - at;
		if (n > BENCH_PIECE)
			n = BENCH_PIECE;
		ck_assert_msg(wcs_import_write(import, bench->text + at, n, &fault) == 0, "%s",
			      fault.text);
	}
	took = measure_thread() - start;
	ck_assert_uint_eq(wcs_import_lines(import), bench->cells / BENCH_COLUMNS);
	wcs_import_free(import);
	if (!bench->pairs)
		bench_pairs(bench, &suite);
	suite_close(&suite);
	return took;
}

static struct wcs_slice bench_pair_part(const char **at)
{
	struct wcs_slice part = {NULL, 0};
	uint32_t n;

	memcpy(&n, *at, sizeof(n));
	part = (struct wcs_slice){*at + sizeof(n), n};
	*at += sizeof(n) + n;
	return part;
}

static double bench_raw(const struct bench *bench)
{
	leveldb_writebatch_t *batch = leveldb_writebatch_create();
	const char *at = bench->pairs, *end = at + bench->pairs_len, *first = at;
	struct suite suite;
	struct ldb *db;
	double start, took;

	suite_open(&suite, SUITE_LEVELDB);
	db = suite.store->db;
	start = measure_thread();
	while (at < end) {
		struct wcs_slice key = bench_pair_part(&at), value = bench_pair_part(&at);

		leveldb_writebatch_put(batch, key.data, key.len, value.data, value.len);
		if (at - first < (ptrdiff_t)BENCH_BATCH && at < end)
			continue;
		ck_assert_int_eq(ldb_commit(db, batch, false), 0);
		leveldb_writebatch_clear(batch);
		first = at;
	}
	took = measure_thread() - start;
	leveldb_writebatch_destroy(batch);
	suite_close(&suite);
	return took;
}

static void bench_run(struct bench *bench)
{
	size_t turns = measure_setting("BENCH_TURNS", BENCH_TURNS);
	double parse, load, raw;

	for (int i = 0; i < 3; i++)
		bench->times[i] = calloc(turns, sizeof(double));
	bench_load(bench);
	for (size_t i = 0; i < turns; i++) {
		bench->times[0][i] = bench_parse(bench);
		bench->times[1][i] = bench_load(bench);
		bench->times[2][i] = bench_raw(bench);
	}
	parse = measure_median(bench->times[0], turns);
	load = measure_median(bench->times[1], turns);
	raw = measure_median(bench->times[2], turns);
	for (int i = 0; i < 3; i++)
		free(bench->times[i]);
	printf("rows in: %zu cells, %.1f MB of JSON, %.1f MB in the engine, median of %zu\n",
	       bench->cells, (double)bench->text_len / 1e6, (double)bench->pairs_len / 1e6, turns);
	printf("  parsing alone         %6.3f s\n", parse);
	printf("  load                  %6.3f s, %.0f cells a second\n", load,
	       (double)bench->cells / load);
	printf("  plain LevelDB batches %6.3f s\n", raw);
	printf("  ratio                 %6.2f, without parsing %.2f\n", raw / load,
	       raw / (load - parse));
}

START_TEST(bench_rows_in)
{
	struct bench bench = {.cells = measure_setting("BENCH_CELLS", 1000000)};

	bench_text(&bench);
	bench_run(&bench);
	free(bench.text);
	free(bench.pairs);
}
END_TEST

static void make(Suite *suite)
{
	suite_add_once(suite, "rows in", bench_rows_in, 1200);
}

int main(void)
{
	return suite_main("bench: rows in", make);
}
