/* SPDX-License-Identifier: MIT */
/*
 * How much of the engine's speed is left for rows as text. A million cells are loaded as lines of
 * JSON, and the same keys and values are written with plain batches of LevelDB. Then the table is
 * read as lines of JSON, and the same bytes are printed with a plain iterator of LevelDB that knows
 * how keys and values lie and nothing else of rowfs.
 *
 * Each is done by turns, a load into a new store each time, in pieces of the size that a file is
 * written and read in; the medians are compared. Shown are the time by the clock and the processor
 * time of all threads; LevelDB's own thread has the same to do for both.
 *
 *   BENCH_CELLS=N    (default 1,000,000)
 *   BENCH_COLUMNS=N  of a row, up to 10 (default 10)
 *   BENCH_TURNS=N    (default 5)
 */
#include "tests/bench/measure.h"
#include "tests/unit/suite.h"

#include "store/leveldb/engine.h"
#include "store/table/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BENCH_PIECE (1u << 20)	 /* bytes in one write or read, as of rowfs-load */
#define BENCH_BATCH (256u << 10) /* bytes in one batch of LevelDB */

struct bench_time {
	double wall, processor;
};

struct bench {
	struct suite suite; /* the table that is read */
	size_t cells, columns;
	char *text;
	size_t text_len;
	char *pairs; /* of the store: key and value with their lengths before them */
	size_t pairs_len;
	size_t read; /* bytes that were printed, of the text */
};

static struct bench_time bench_start(void)
{
	return (struct bench_time){measure_now(), measure_processor()};
}

static struct bench_time bench_since(struct bench_time start)
{
	return (struct bench_time){measure_now() - start.wall,
				   measure_processor() - start.processor};
}

/* ---- In ---------------------------------------------------------------------------------- */

/* Rows as a dump writes them. */
static void bench_text(struct bench *bench)
{
	FILE *out = open_memstream(&bench->text, &bench->text_len);

	for (size_t row = 0; row < bench->cells / bench->columns; row++) {
		fprintf(out, "{\"key\":\"STC#%02zu#%06zu\",\"families\":{\"f\":{", row / 10000,
			row);
		for (size_t i = 0; i < bench->columns; i++)
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

/* The bytes that loading put into LevelDB. */
static void bench_pairs(struct bench *bench, struct suite *suite)
{
	FILE *out = open_memstream(&bench->pairs, &bench->pairs_len);
	leveldb_iterator_t *iter = ldb_db_iterate(suite->store->engine.db);
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

static struct bench_time bench_parse(struct bench *bench)
{
	const char *text = bench->text, *end = text + bench->text_len;
	struct bench_time start = bench_start();
	struct wcs_line *line = NULL;

	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));

		if (wcs_line_parse(text, (size_t)(newline - text), NULL, &line, NULL) != 0)
			ck_abort_msg("a line is wrong"); /* an assertion for each takes long */
		text = newline + 1;
	}
	wcs_line_free(line);
	return bench_since(start);
}

/* Loads the text into a new store. */
static struct bench_time bench_load_into(struct bench *bench, struct suite *suite)
{
	struct wcs_import *import;
	struct wcs_fault fault;
	struct bench_time start, took;

	suite_open(suite, SUITE_LEVELDB);
	ck_assert_int_eq(wcs_import_new(suite->table, NULL, &import), 0);
	start = bench_start();
	for (size_t at = 0, n; at < bench->text_len; at += n) {
		n = bench->text_len - at;
		if (n > BENCH_PIECE)
			n = BENCH_PIECE;
		ck_assert_msg(wcs_import_write(import, bench->text + at, n, &fault) == 0, "%s",
			      fault.text);
	}
	took = bench_since(start);
	ck_assert_uint_eq(wcs_import_lines(import), bench->cells / bench->columns);
	wcs_import_free(import);
	return took;
}

static struct bench_time bench_load(struct bench *bench)
{
	struct suite suite;
	struct bench_time took = bench_load_into(bench, &suite);

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

static struct bench_time bench_batches(struct bench *bench)
{
	leveldb_writebatch_t *batch = leveldb_writebatch_create();
	const char *at = bench->pairs, *end = at + bench->pairs_len, *first = at;
	struct suite suite;
	struct ldb *db;
	struct bench_time start, took;

	suite_open(&suite, SUITE_LEVELDB);
	db = suite.store->engine.db;
	start = bench_start();
	while (at < end) {
		struct wcs_slice key = bench_pair_part(&at), value = bench_pair_part(&at);

		leveldb_writebatch_put(batch, key.data, key.len, value.data, value.len);
		if (at - first < (ptrdiff_t)BENCH_BATCH && at < end)
			continue;
		ck_assert_int_eq(ldb_commit(db, batch, false), 0);
		leveldb_writebatch_clear(batch);
		first = at;
	}
	took = bench_since(start);
	leveldb_writebatch_destroy(batch);
	suite_close(&suite);
	return took;
}

/* ---- Out --------------------------------------------------------------------------------- */

/* Compares the printed bytes with the text. */
static void bench_take(struct bench *bench, const char *text, size_t len)
{
	ck_assert_uint_le(bench->read + len, bench->text_len);
	ck_assert(memcmp(bench->text + bench->read, text, len) == 0);
	bench->read += len;
}

static struct bench_time bench_export(struct bench *bench)
{
	char *buf = malloc(BENCH_PIECE);
	struct wcs_export *exported;
	struct bench_time start = bench_start();
	size_t got;

	bench->read = 0;
	ck_assert_int_eq(
		wcs_export_open(bench->suite.table, NULL, WCS_EXPORT_ROWS, NULL, &exported), 0);
	while (wcs_export_read(exported, buf, BENCH_PIECE, &got) == 0 && got > 0)
		bench_take(bench, buf, got);
	wcs_export_close(exported);
	free(buf);
	return bench_since(start);
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

static struct bench_time bench_iterate(struct bench *bench)
{
	struct ldb *db = bench->suite.store->engine.db;
	struct bench_cell *cell = malloc(2 * sizeof(*cell)), *last = cell + 1, *swap;
	char *buf = malloc(2 * BENCH_PIECE), *to = buf;
	struct bench_time start = bench_start();
	leveldb_iterator_t *iter = ldb_db_iterate(db);
	bool first = true;

	bench->read = 0;
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
	return bench_since(start);
}

/* ---- Output ------------------------------------------------------------------------------ */

static const struct {
	const char *what;
	struct bench_time (*turn)(struct bench *bench);
} turns[] = {
	{"parsing alone", bench_parse},	   {"load", bench_load},
	{"plain batches", bench_batches},  {"read as text", bench_export},
	{"plain iterator", bench_iterate},
};
enum { PARSE, LOAD, BATCHES, EXPORT, ITERATE, TURNS };

/* The medians of the turns; prints them. */
static void bench_medians(const struct bench *bench, struct bench_time *times, size_t count,
			  struct bench_time *median, const char *what)
{
	double *wall = calloc(2 * count, sizeof(*wall)), *processor = wall + count;

	for (size_t i = 0; i < count; i++) {
		wall[i] = times[i].wall;
		processor[i] = times[i].processor;
	}
	median->wall = measure_median(wall, count);
	median->processor = measure_median(processor, count);
	free(wall);
	printf("  %-15s %7.3f s, %6.0f cells/ms; processor %7.3f s, %6.0f cells/ms\n", what,
	       median->wall, (double)bench->cells / median->wall / 1000, median->processor,
	       (double)bench->cells / median->processor / 1000);
}

static void bench_run(struct bench *bench)
{
	size_t count = measure_setting("BENCH_TURNS", 5);
	struct bench_time *times[TURNS], median[TURNS];

	for (int kind = 0; kind < TURNS; kind++) {
		times[kind] = calloc(count, sizeof(*times[kind]));
		turns[kind].turn(bench);
	}
	for (size_t i = 0; i < count; i++)
		for (int kind = 0; kind < TURNS; kind++)
			times[kind][i] = turns[kind].turn(bench);
	printf("rows: %zu cells, %zu a row, %.1f MB of JSON, %.1f MB in the engine, median of "
	       "%zu\n",
	       bench->cells, bench->columns, (double)bench->text_len / 1e6,
	       (double)bench->pairs_len / 1e6, count);
	for (int kind = 0; kind < TURNS; kind++) {
		bench_medians(bench, times[kind], count, &median[kind], turns[kind].what);
		free(times[kind]);
	}
	printf("  ratio of the load to batches: %.2f, processor %.2f; of reading: %.2f, processor "
	       "%.2f\n",
	       median[BATCHES].wall / median[LOAD].wall,
	       median[BATCHES].processor / median[LOAD].processor,
	       median[ITERATE].wall / median[EXPORT].wall,
	       median[ITERATE].processor / median[EXPORT].processor);
}

SUITE_TEST(bench_rows, 1800)
{
	struct bench bench = {.cells = measure_setting("BENCH_CELLS", 1000000),
			      .columns = measure_setting("BENCH_COLUMNS", 10)};
	struct ldb *db;

	bench_text(&bench);
	bench_load_into(&bench, &bench.suite);
	suite_reopen(&bench.suite);
	db = bench.suite.store->engine.db;
	leveldb_compact_range(db->db, NULL, 0, NULL, 0);
	bench_pairs(&bench, &bench.suite);
	bench_run(&bench);
	suite_close(&bench.suite);
	free(bench.text);
	free(bench.pairs);
}
