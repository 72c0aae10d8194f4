/* SPDX-License-Identifier: MIT */
/*
 * Reads a table of a million cells as lines of JSON, and prints the same bytes with a plain
 * iterator of LevelDB that knows how keys and values lie and nothing else of rowfs: how much of the
 * engine's speed is left for rows as text.
 *
 * Both read the same store, by turns; the medians of the processor time are compared: both read
 * what the system has in memory, and other work of the machine does not count. BENCH_CELLS and
 * BENCH_TURNS in the environment choose others.
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
#define BENCH_PIECE   (128u << 10) /* bytes in one read, as of cat */
#define BENCH_TURNS   7

struct bench {
	struct suite suite;
	size_t cells;
	size_t bytes; /* that were printed */
	uint64_t sum; /* of them */
};

/* ---- The table --------------------------------------------------------------------------- */

static void bench_row(struct bench *bench, size_t row)
{
	struct wcs_mutation *mutation = wcs_mutation_new();
	char key[64], qualifiers[BENCH_COLUMNS][32], values[BENCH_COLUMNS][64];

	snprintf(key, sizeof(key), "STC#%02zu#%06zu", row / 10000, row);
	for (size_t i = 0; i < BENCH_COLUMNS; i++) {
		snprintf(qualifiers[i], sizeof(qualifiers[i]), "column%zu", i);
		snprintf(values[i], sizeof(values[i]), "%zu.%zu", row * 7 % 1000, row * 31 + i);
		ck_assert_int_eq(wcs_mutation_set(mutation, "f", suite_text(qualifiers[i]),
						  (int64_t)(1700000000000000 + row),
						  suite_text(values[i])),
				 0);
	}
	ck_assert_int_eq(suite_mutate(bench->suite.table, key, mutation, NULL), 0);
}

static void bench_fill(struct bench *bench)
{
	struct ldb *db;

	suite_open(&bench->suite, SUITE_LEVELDB);
	for (size_t row = 0; row < bench->cells / BENCH_COLUMNS; row++)
		bench_row(bench, row);
	suite_reopen(&bench->suite);
	db = bench->suite.store->db;
	leveldb_compact_range(db->db, NULL, 0, NULL, 0);
}

/* ---- By turns ---------------------------------------------------------------------------- */

/* Takes what is printed: as cheap as writing it somewhere, and enough to tell it from other. */
static void bench_take(struct bench *bench, const char *text, size_t len)
{
	for (size_t i = 0; i + 8 <= len; i += 512) {
		uint64_t word;

		memcpy(&word, text + i, 8);
		bench->sum = (bench->sum ^ word) * 1099511628211u;
	}
	bench->bytes += len;
}

static void bench_start(struct bench *bench)
{
	bench->bytes = 0;
	bench->sum = 0;
}

static double bench_rows(struct bench *bench)
{
	char *buf = malloc(BENCH_PIECE);
	struct wcs_export *exported;
	double start = measure_thread();
	size_t got;

	bench_start(bench);
	ck_assert_int_eq(wcs_export_open(bench->suite.table, NULL, WCS_EXPORT_ROWS, &exported), 0);
	while (wcs_export_read(exported, buf, BENCH_PIECE, &got) == 0 && got > 0)
		bench_take(bench, buf, got);
	wcs_export_close(exported);
	free(buf);
	return measure_thread() - start;
}

/* Escapes of a string of ASCII as JSON has them; of a name also as %XX. */
static char *bench_string(char *to, const unsigned char *from, size_t len, bool name)
{
	static const char hex[] = "0123456789ABCDEF";

	for (size_t i = 0; i < len; i++) {
		unsigned char c = from[i];

		if (name && (c < 0x20 || c >= 0x7f || c == '%')) {
			*to++ = '%';
			*to++ = hex[c >> 4];
			*to++ = hex[c & 15];
			continue;
		}
		if (c == '"' || c == '\\')
			*to++ = '\\';
		*to++ = (char)c;
	}
	return to;
}

/* A part of a key without its escapes; *at moves behind its end. */
static size_t bench_part(const unsigned char **at, unsigned char *to)
{
	const unsigned char *from = *at;
	size_t len = 0;

	for (; from[0] || from[1] == 0xff; from += from[0] ? 1 : 2)
		to[len++] = from[0];
	*at = from + 2;
	return len;
}

struct bench_cell {
	unsigned char row[WCS_ROW_KEY_MAX], qualifier[WCS_QUALIFIER_MAX];
	size_t row_len, qualifier_len;
	const char *family;
	uint64_t ts;
};

static void bench_split(const unsigned char *at, struct bench_cell *cell)
{
	uint64_t reversed = 0;

	at += 5;
	cell->row_len = bench_part(&at, cell->row);
	cell->family = (const char *)at;
	at += strlen(cell->family) + 1;
	cell->qualifier_len = bench_part(&at, cell->qualifier);
	for (int i = 0; i < 8; i++)
		reversed = reversed << 8 | at[i];
	cell->ts = INT64_MAX - reversed;
}

static char *bench_number(char *to, uint64_t number)
{
	char digits[20];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + number % 10);
	while (number /= 10);
	memcpy(to, digits + at, sizeof(digits) - at);
	return to + sizeof(digits) - at;
}

/* All rows are in one family, and each column has one cell, so that this is all there is. */
static char *bench_print(char *to, const struct bench_cell *cell, bool first, bool same,
			 const char *value, size_t len)
{
	if (!same) {
		to = stpcpy(to, first ? "{\"key\":\"" : "}}}\n{\"key\":\"");
		to = bench_string(to, cell->row, cell->row_len, true);
		to = stpcpy(to, "\",\"families\":{\"");
		to = stpcpy(to, cell->family);
		to = stpcpy(to, "\":{\"");
	} else {
		to = stpcpy(to, ",\"");
	}
	to = bench_string(to, cell->qualifier, cell->qualifier_len, true);
	to = stpcpy(to, "\":[{\"ts\":");
	to = bench_number(to, cell->ts);
	to = stpcpy(to, ",\"value\":\"");
	to = bench_string(to, (const unsigned char *)value, len, false);
	return stpcpy(to, "\"}]");
}

static double bench_raw(struct bench *bench)
{
	struct ldb *db = bench->suite.store->db;
	struct bench_cell *cell = malloc(2 * sizeof(*cell)), *last = cell + 1, *swap;
	char *buf = malloc(2 * BENCH_PIECE), *to = buf;
	double start = measure_thread();
	leveldb_iterator_t *iter = ldb_db_iterate(db);
	bool first = true;

	bench_start(bench);
	last->row_len = 0;
	for (leveldb_iter_seek(iter, "c", 1); leveldb_iter_valid(iter); leveldb_iter_next(iter)) {
		size_t key_len, len;
		const unsigned char *key = (const unsigned char *)leveldb_iter_key(iter, &key_len);
		const char *value = leveldb_iter_value(iter, &len);
		bool same;

		if (key[0] != 'c')
			break;
		bench_split(key, cell);
		same = cell->row_len == last->row_len &&
		       memcmp(cell->row, last->row, cell->row_len) == 0;
		to = bench_print(to, cell, first, same, value + 5, len - 5);
		first = false;
		swap = cell;
		cell = last;
		last = swap;
		if (to - buf < (ptrdiff_t)BENCH_PIECE)
			continue;
		bench_take(bench, buf, BENCH_PIECE);
		memmove(buf, buf + BENCH_PIECE, (size_t)(to - buf) - BENCH_PIECE);
		to -= BENCH_PIECE;
	}
	to = stpcpy(to, "}}}\n");
	bench_take(bench, buf, (size_t)(to - buf));
	leveldb_iter_destroy(iter);
	free(buf);
	free(cell < last ? cell : last);
	return measure_thread() - start;
}

/* ---- What is printed --------------------------------------------------------------------- */

static void bench_run(struct bench *bench)
{
	size_t turns = measure_setting("BENCH_TURNS", BENCH_TURNS), bytes;
	double *rows = calloc(turns, sizeof(double)), *raw = calloc(turns, sizeof(double));
	double rows_time, raw_time;
	uint64_t sum;

	bench_fill(bench);
	bench_rows(bench);
	bytes = bench->bytes;
	sum = bench->sum;
	bench_raw(bench);
	ck_assert_uint_eq(bytes, bench->bytes);
	ck_assert_uint_eq(sum, bench->sum);
	for (size_t i = 0; i < turns; i++) {
		rows[i] = bench_rows(bench);
		raw[i] = bench_raw(bench);
	}
	rows_time = measure_median(rows, turns);
	raw_time = measure_median(raw, turns);
	printf("rows out: %zu cells, %zu MiB of JSON, medians of %zu turns\n", bench->cells,
	       bytes >> 20, turns);
	printf("  read as text       %7.3f s  %6.0f cells/ms\n", rows_time,
	       (double)bench->cells / rows_time / 1000);
	printf("  raw iterator       %7.3f s  %6.0f cells/ms\n", raw_time,
	       (double)bench->cells / raw_time / 1000);
	printf("  ratio to raw          %.2f\n", raw_time / rows_time);
	suite_close(&bench->suite);
	free(rows);
	free(raw);
}

START_TEST(bench_all)
{
	struct bench bench = {.cells = measure_setting("BENCH_CELLS", 1000000)};

	bench_run(&bench);
}
END_TEST

static void bench_add(Suite *suite)
{
	suite_add_once(suite, "rows out", bench_all, 600);
}

int main(void)
{
	return suite_main("rows out", bench_add);
}
