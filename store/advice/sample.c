/* SPDX-License-Identifier: MIT */
/*
 * Reads the tables of a store: all rows of a table that has no more than the limits say, else a
 * sample, which begins again at the table's start. Its parts begin at the splits, so that rows all
 * over the table are in it. A scan asks the store's options whether it is interrupted. These reads
 * are no traffic: they do not count in the heat maps.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/advice/advice_private.h"
#include "store/chain/chain.h"
#include "store/table/table.h"

/* The bounds of the parts, but for the start and the end of the table. */
struct sample {
	size_t count;
	struct advice_key keys[WCS_SPLITS_MAX];
};

/* The rows and cells that may be read. */
struct budget {
	uint64_t rows, cells;
};

/* Reads the rows of a range. 1: the budget ended it; 0: the range did. A row is left in its middle
 * only if it has more cells than the budget. */
static int read_range(struct wcs_advice *advice, struct wcs_table *table,
		      const struct wcs_range *range, struct budget budget)
{
	const struct wcs_filter filter = {.each = WCS_EACH_CELL, .uncounted = true};
	struct wcs_scan *scan;
	struct wcs_cell cell;
	uint64_t rows = 0, cells = 0;
	int rc = wcs_scan_open(table, range, 1, &filter, &scan);

	if (rc != 0)
		return rc;
	advice_apart(advice);
	while ((rc = wcs_scan_next(scan, &cell)) == 1) {
		rows += cell.differs == WCS_PART_ROW;
		if (rows > budget.rows || cells++ == budget.cells)
			break;
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

/* Reads a part behind the table's start and behind each split. */
static int read_parts(struct wcs_advice *advice, struct wcs_table *table,
		      const struct sample *sample)
{
	const struct budget budget = {WCS_ADVICE_ROWS / (sample->count + 1),
				      WCS_ADVICE_CELLS / (sample->count + 1)};
	struct wcs_range range = {.start = {NULL, 0}};
	int rc = 0;

	advice_again(advice);
	for (size_t i = 0; i <= sample->count && rc >= 0; i++) {
		range.end = (struct wcs_slice){NULL, 0};
		if (i < sample->count)
			range.end = (struct wcs_slice){sample->keys[i].bytes, sample->keys[i].len};
		rc = read_range(advice, table, &range, budget);
		range.start = range.end;
	}
	return rc < 0 ? rc : 0;
}

static int read_sample(struct wcs_advice *advice, struct wcs_table *table)
{
	struct sample *sample = calloc(1, sizeof(*sample));
	int rc = sample ? wcs_rows_splits(table, NULL, NULL, add_split, sample) : -ENOMEM;

	if (rc == 0 && sample->count > 0)
		rc = read_parts(advice, table, sample);
	if (rc == 0)
		advice->stats->parts = sample->count + 1;
	free(sample);
	return rc;
}

static int read_table(struct wcs_advice *advice, struct wcs_table *table)
{
	const struct wcs_range all = {.start = {NULL, 0}};
	struct budget budget = {WCS_ADVICE_ROWS, WCS_ADVICE_CELLS};
	int rc;

	if (advice->options.whole)
		budget = (struct budget){UINT64_MAX, UINT64_MAX};
	rc = read_range(advice, table, &all, budget);
	return rc == 1 ? read_sample(advice, table) : rc;
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

static bool is_interrupted(const struct wcs_store *store)
{
	return store->options.interrupted && store->options.interrupted();
}

int wcs_advice_store(struct wcs_advice *advice, struct wcs_store *store)
{
	struct wcs_schema *schema;
	struct wcs_table *table;
	int rc = wcs_schema_get(store, &schema);

	if (rc != 0)
		return rc;
	for (size_t i = 0; i < schema->table_count && rc == 0; i++) {
		rc = is_interrupted(store) ? -EINTR
					   : wcs_table_open(store, schema->tables[i].name, &table);
		if (rc == 0) {
			rc = wcs_advice_table(advice, &schema->tables[i]);
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
	}
	if (rc == 0)
		wcs_advice_end(advice);
	advice->schema = NULL;
	wcs_schema_free(schema);
	return rc;
}
