/* SPDX-License-Identifier: MIT */
/*
 * Reads the tables of a store: all rows of a table, within the limits, else a sample of about as
 * many bytes, in equal parts: at the table's start and at each of its splits. The splits divide a
 * table by bytes, so each row is as likely in the sample as any other one, whatever its size. A
 * scan asks the store's options whether it is interrupted. These reads are no traffic: they do not
 * count in the heat maps.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/clock.h"
#include "store/advice/advice_private.h"
#include "store/chain/chain.h"
#include "store/table/table.h"

#define SAMPLE_CELLS 200000u /* of a part, in which a row need not end */
#define SAMPLE_CELL  16u     /* bytes of a stored cell beside its names and its value */
#define SAMPLE_ASKS  1024u   /* cells between looks at the clock */

struct splits {
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

/* May this cell be read? A row that began is read to its end, as far as cells and time allow. */
static bool is_within(const struct wcs_cell *cell, const struct amount *most,
		      const struct amount *read)
{
	if (most->until > 0 && read->cells % SAMPLE_ASKS == 0 && clock_ns() > most->until)
		return false;
	return read->cells < most->cells &&
	       (cell->differs != WCS_PART_ROW ||
		(read->rows < most->rows && read->bytes < most->bytes));
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
	while ((rc = wcs_scan_next(scan, &cell)) == 1 && is_within(&cell, most, read)) {
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
	struct splits *splits = ctx;

	advice_key_set(&splits->keys[splits->count++], row);
	return 0;
}

/* About how many rows the table has, of which so many from its start on were read. */
static uint64_t all_rows(const struct advice_stats *stats, const struct splits *splits)
{
	size_t passed = 0;

	while (passed < splits->count && wcs_slice_compare(advice_key_slice(&splits->keys[passed]),
							   advice_key_slice(&stats->row.key)) < 0)
		passed++;
	return 2 * stats->rows * (splits->count + 1) / (2 * passed + 1);
}

/* Reads a sample of a table of which so much was read. A table without splits keeps these rows. */
static int read_sample(struct wcs_advice *advice, struct wcs_table *table,
		       const struct amount *first)
{
	struct wcs_range range = {.start = {NULL, 0}};
	struct amount read, most = {.rows = UINT64_MAX, .cells = SAMPLE_CELLS};
	struct splits *splits = calloc(1, sizeof(*splits));
	int rc = splits ? wcs_rows_splits(table, NULL, NULL, add_split, splits) : -ENOMEM;

	advice->stats.sample = true;
	if (rc == 0 && splits->count > 0) {
		uint64_t of = all_rows(&advice->stats, splits);

		advice_again(advice);
		advice->stats.sample = true;
		advice->stats.of = of;
		most.bytes = first->bytes / (splits->count + 1) + 1;
	}
	for (size_t i = 0; rc >= 0 && splits->count > 0 && i <= splits->count; i++) {
		range.end = i < splits->count ? advice_key_slice(&splits->keys[i])
					      : (struct wcs_slice){NULL, 0};
		rc = read_range(advice, table, &range, &most, &read);
		range.start = range.end;
	}
	free(splits);
	return rc < 0 ? rc : 0;
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
	return rc == 1 ? read_sample(advice, table, &read) : rc;
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
			wcs_advice_table_end(advice);
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
