/* SPDX-License-Identifier: MIT */
/*
 * Reads the tables of a store: all rows of a table, within the limits, else a sample, which begins
 * again at the table's start. Its parts begin at the splits of the table and at the splits of each
 * part between them. A part ends after a number of bytes, not of rows: the splits divide a table by
 * bytes, so each row is as likely in the sample as any other one, whatever its size. A scan asks
 * the store's options whether it is interrupted. These reads are no traffic: they do not count in
 * the heat maps.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "store/advice/advice_private.h"
#include "store/chain/chain.h"
#include "store/table/table.h"

#define SAMPLE_ROWS  100u     /* of a part, if all rows are of the same size */
#define SAMPLE_TIMES 4u	      /* so many times as many, if they are smaller there */
#define SAMPLE_CELLS 2000u    /* of a part, and the rest of its last row, */
#define SAMPLE_MOST  4000000u /* unless the sample has so many cells */
#define SAMPLE_CELL  16u      /* bytes of a stored cell beside its names and its value */
#define SAMPLE_ASKS  1024u    /* cells between looks at the clock */

/* Bounds of parts. */
struct sample {
	size_t count;
	struct advice_key keys[WCS_SPLITS_MAX];
};

/* What may be read, or was. */
struct amount {
	uint64_t rows, cells, bytes;
	int64_t until; /* of the clock; 0: no end */
};

/* About what the engine stores for a cell. */
static uint64_t stored_bytes(const struct wcs_cell *cell)
{
	uint64_t value = cell->info.size <= WCS_VALUE_INLINE ? cell->info.size : 0;

	return SAMPLE_CELL + value + cell->qualifier.len +
	       (cell->differs == WCS_PART_ROW ? cell->row.len : 0);
}

/* May this cell be read? A row that began is read to its end, as far as that is no load. */
static bool is_within(const struct wcs_advice *advice, const struct wcs_cell *cell,
		      const struct amount *most, const struct amount *read)
{
	if (most->until > 0 && read->cells % SAMPLE_ASKS == 0 && clock_ns() > most->until)
		return false;
	if (cell->differs == WCS_PART_ROW)
		return read->rows < most->rows && read->cells < most->cells &&
		       read->bytes < most->bytes;
	return read->cells < most->cells || advice->stats->cells < SAMPLE_MOST;
}

/* Reads the rows of a range. 1: a limit ended it; 0: the range did. */
static int read_range(struct wcs_advice *advice, struct wcs_table *table,
		      const struct wcs_range *range, const struct amount *most, struct amount *read)
{
	const struct wcs_filter filter = {.each = WCS_EACH_CELL, .uncounted = true};
	struct wcs_scan *scan;
	struct wcs_cell cell;
	int rc = wcs_scan_open(table, range, 1, &filter, &scan);

	*read = (struct amount){.rows = 0};
	if (rc != 0)
		return rc;
	while ((rc = wcs_scan_next(scan, &cell)) == 1 && is_within(advice, &cell, most, read)) {
		read->rows += cell.differs == WCS_PART_ROW;
		read->cells++;
		read->bytes += stored_bytes(&cell);
		wcs_advice_cell(advice, &cell);
	}
	wcs_scan_close(scan);
	return rc;
}

static int add_split(void *ctx, struct wcs_slice row)
{
	struct sample *sample = ctx;

	advice_key_set(&sample->keys[sample->count++], row);
	return 0;
}

/* The part before the key at that place, or behind the last one. */
static struct wcs_range part_of(const struct sample *sample, size_t at,
				const struct wcs_range *whole)
{
	struct wcs_range part = *whole;

	if (at > 0)
		part.start =
			(struct wcs_slice){sample->keys[at - 1].bytes, sample->keys[at - 1].len};
	if (at < sample->count)
		part.end = (struct wcs_slice){sample->keys[at].bytes, sample->keys[at].len};
	return part;
}

/* Reads at the start of a range and behind each of its splits. inner: room for these. */
static int read_places(struct wcs_advice *advice, struct wcs_table *table,
		       const struct wcs_range *range, size_t places, struct sample *inner,
		       const struct amount *most)
{
	struct amount read;
	int rc;

	inner->count = 0;
	if (places > WCS_SPLITS_MAX)
		places = WCS_SPLITS_MAX;
	rc = wcs_range_splits(table, range, places - 1, add_split, inner);
	for (size_t i = 0; i <= inner->count && rc >= 0; i++) {
		struct wcs_range part = part_of(inner, i, range);

		advice_apart(advice);
		rc = read_range(advice, table, &part, most, &read);
	}
	return rc < 0 ? rc : 0;
}

/* Reads a sample of a table whose rows have so many bytes. A table without splits keeps the rows
 * that were read, as one part. */
static int read_sample(struct wcs_advice *advice, struct wcs_table *table, uint64_t row_bytes)
{
	const struct wcs_range all = {.start = {NULL, 0}};
	const struct amount most = {.rows = (uint64_t)SAMPLE_ROWS * SAMPLE_TIMES,
				    .cells = SAMPLE_CELLS,
				    .bytes = SAMPLE_ROWS * row_bytes};
	struct sample *outer = calloc(2, sizeof(*outer));
	int rc = outer ? wcs_range_splits(table, &all, WCS_SPLITS_MAX, add_split, outer) : -ENOMEM;

	if (rc == 0 && outer->count == 0)
		advice->stats->parts = 1;
	else if (rc == 0)
		advice_again(advice);
	for (size_t i = 0; rc == 0 && outer->count > 0 && i <= outer->count; i++) {
		struct wcs_range part = part_of(outer, i, &all);

		rc = read_places(advice, table, &part, WCS_ADVICE_PLACES / (outer->count + 1),
				 &outer[1], &most);
	}
	free(outer);
	return rc;
}

static int read_table(struct wcs_advice *advice, struct wcs_table *table)
{
	const struct wcs_range all = {.start = {NULL, 0}};
	struct amount read, most = {.rows = UINT64_MAX, .cells = UINT64_MAX, .bytes = UINT64_MAX};
	int rc;

	if (!advice->options.whole) {
		most.rows = advice->options.rows ? advice->options.rows : WCS_ADVICE_ROWS;
		most.until = clock_ns() + WCS_ADVICE_SECONDS * CLOCK_SECOND;
	}
	rc = read_range(advice, table, &all, &most, &read);
	return rc == 1 ? read_sample(advice, table, read.bytes / (read.rows | 1) + 1) : rc;
}

/* Reads the heat maps, if the store counts and the table had traffic. */
static int read_traffic(struct wcs_advice *advice, struct wcs_table *table)
{
	struct wcs_heat_map *operations = NULL, *writes = NULL;
	int rc = wcs_heat_map(table, WCS_HEAT_6H, WCS_HEAT_OPS, 0, 0, &operations);

	if (rc == 0 && operations->total > 0)
		rc = wcs_heat_map(table, WCS_HEAT_6H, WCS_HEAT_WRITES, 0, 0, &writes);
	if (rc == 0 && writes)
		rc = wcs_advice_traffic(advice, operations, writes);
	wcs_heat_map_free(writes);
	wcs_heat_map_free(operations);
	return rc == -EOPNOTSUPP ? 0 : rc;
}

/* Reads a table of the store, and prints its findings. */
static int advise_table(struct wcs_advice *advice, struct wcs_store *store,
			const struct wcs_table_schema *schema)
{
	struct wcs_table *table;
	int rc = wcs_interrupted(&store->options) ? -EINTR
						  : wcs_table_open(store, schema->name, &table);

	if (rc == 0) {
		rc = wcs_advice_table(advice, schema);
		if (rc == 0)
			rc = read_table(advice, table);
		if (rc == 0)
			rc = read_traffic(advice, table);
		if (rc == 0)
			rc = wcs_advice_table_end(advice);
		wcs_table_close(table);
	}
	if (rc == -ENOENT) { /* it was removed meanwhile */
		advice->schema = NULL;
		rc = 0;
	}
	return rc;
}

int wcs_advice_store(struct wcs_advice *advice, struct wcs_store *store)
{
	const char *only = advice->options.table;
	struct wcs_schema *schema;
	int rc = wcs_schema_get(store, &schema);

	if (rc != 0)
		return rc;
	for (size_t i = 0; i < schema->table_count && rc == 0; i++)
		if (!only || strcmp(only, schema->tables[i].name) == 0)
			rc = advise_table(advice, store, &schema->tables[i]);
	if (rc == 0)
		wcs_advice_end(advice);
	advice->schema = NULL;
	wcs_schema_free(schema);
	return rc;
}
