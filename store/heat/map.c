/* SPDX-License-Identifier: MIT */
/* Makes a map of the records of a window: first its ranges, then column by column their values. */
#include "store/heat/heat_private.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAP_PAUSE 2000000 /* ns between two tries of a read that waits for another one's map */

struct making {
	struct heat *heat;
	uint32_t table;
	enum wcs_heat_window window;
	enum wcs_heat_metric metric;
	int64_t first, last; /* slots */
	int64_t joined;	     /* slots of a column */
	int64_t found;	     /* the first slot with a record, or behind the last */
	struct heat_rows rows;
	union heat_counts *counts; /* of a column */
	union heat_counts *totals; /* of the rows */
};

/* Fills an empty record with that of a slot: 1, 0: none, or an error. */
static int map_read(struct making *making, int64_t slot, struct heat_record *record)
{
	int rc = wcs_interrupted(&making->heat->store->options) ? -EINTR : 0;

	if (rc == 0)
		rc = heat_keep_read(making->heat, making->window, slot, making->table, record);
	if (rc == 0 && slot < making->found)
		making->found = slot;
	return rc == 0 ? record->count > 0 : rc == -ENOENT ? 0 : rc;
}

/* A busy time shall not hide the ranges of a calm one, nor the other way round. */
static double map_scale(const struct heat_spans *spans)
{
	uint64_t ops = heat_spans_ops(spans);

	return ops > 0 ? 1e6 / sqrt((double)ops) : 0;
}

static int map_divide(struct making *making, size_t rows_max)
{
	int rc = 0;

	for (int64_t slot = making->first; slot <= making->last && rc >= 0; slot++) {
		struct heat_record record = {.count = 0};

		rc = map_read(making, slot, &record);
		if (rc > 0)
			rc = heat_rows_add(&making->rows, &record.tables[0].spans,
					   map_scale(&record.tables[0].spans));
		heat_record_free(&record);
		if (rc == 0 && heat_rows_size(&making->rows) > 4 * (size_t)WCS_HEAT_ROWS_MAX)
			heat_rows_reduce(&making->rows, 2 * (size_t)WCS_HEAT_ROWS_MAX, true);
	}
	if (rc >= 0)
		rc = heat_rows_spread(&making->rows, rows_max);
	if (rc >= 0)
		heat_rows_reduce(&making->rows, rows_max, false);
	return rc < 0 ? rc : 0;
}

static uint64_t map_value(const union heat_counts *counts, enum wcs_heat_metric metric)
{
	switch (metric) {
	case WCS_HEAT_READS:
		return counts->reads;
	case WCS_HEAT_WRITES:
		return counts->writes;
	case WCS_HEAT_BYTES:
		return counts->bytes;
	case WCS_HEAT_LATENCY:
		return counts->timed > 0 ? (counts->nanoseconds / counts->timed + 999) / 1000 : 0;
	default:
		return heat_counts_ops(counts);
	}
}

static int map_fill(struct making *making, struct wcs_heat_map *map)
{
	int rc = 0;

	for (size_t column = 0; column < map->columns && rc >= 0; column++) {
		int64_t slot = making->first + (int64_t)column * making->joined;

		memset(making->counts, 0, map->rows * sizeof(*making->counts));
		for (int64_t i = 0; i < making->joined && rc >= 0; i++, slot++) {
			struct heat_record record = {.count = 0};

			rc = map_read(making, slot, &record);
			if (rc > 0)
				heat_rows_fill(&making->rows, &record.tables[0].spans,
					       making->counts);
			heat_record_free(&record);
		}
		for (size_t row = 0; row < map->rows; row++) {
			uint64_t value = map_value(&making->counts[row], making->metric);

			map->values[row * map->columns + column] = value;
			if (value > map->largest)
				map->largest = value;
			heat_counts_add(&making->totals[row], &making->counts[row]);
		}
	}
	return rc < 0 ? rc : 0;
}

/* Hands the rows and their bytes to the map. */
static int map_ranges(struct making *making, struct wcs_heat_map *map)
{
	union heat_counts all = {.reads = 0};
	size_t len = 0;
	unsigned char *bytes;

	for (size_t i = 0; i < map->rows; i++)
		len += making->rows.rows[i].start.len;
	map->ranges = calloc(1, map->rows * sizeof(*map->ranges) + len + 1);
	if (map->ranges == NULL)
		return -ENOMEM;
	bytes = (unsigned char *)(map->ranges + map->rows);
	for (size_t i = 0; i < map->rows; i++) {
		struct wcs_slice start = making->rows.rows[i].start;
		struct wcs_heat_range *range = &map->ranges[i];

		memcpy(bytes, start.data, start.len);
		range->start = (struct wcs_slice){bytes, start.len};
		range->total = map_value(&making->totals[i], making->metric);
		bytes += start.len;
		heat_counts_add(&all, &making->totals[i]);
		if (i > 0) {
			range[-1].end = range->start;
			range[-1].row = wcs_keys_one(range[-1].start, range->start);
		}
	}
	map->total = map_value(&all, making->metric);
	return 0;
}

static int map_make(struct making *making, size_t rows_max, struct wcs_heat_map *map)
{
	int rc = map_divide(making, rows_max);
	int64_t since = making->heat->since;

	if (rc != 0)
		return rc;
	map->rows = making->rows.count;
	map->values = calloc(map->rows * map->columns, sizeof(*map->values));
	making->counts = calloc(map->rows, sizeof(*making->counts));
	making->totals = calloc(map->rows, sizeof(*making->totals));
	if (map->values == NULL || making->counts == NULL || making->totals == NULL)
		return -ENOMEM;
	rc = map_fill(making, map);
	if (rc == 0)
		rc = map_ranges(making, map);
	map->counting = making->found * heat_windows[making->window].step;
	if (since < map->counting)
		map->counting = since;
	if (map->counting < map->start)
		map->counting = map->start;
	return rc;
}

/* 0: no other map is being made, until `mapping` is unlocked. -EINTR. */
static int map_begin(struct heat *heat)
{
	while (pthread_mutex_trylock(&heat->mapping) != 0) {
		if (wcs_interrupted(&heat->store->options))
			return -EINTR;
		nanosleep(&(struct timespec){.tv_nsec = MAP_PAUSE}, NULL);
	}
	wcs_hold();
	return 0;
}

int wcs_heat_map(struct wcs_table *table, enum wcs_heat_window window, enum wcs_heat_metric metric,
		 size_t rows_max, size_t columns_max, struct wcs_heat_map **made)
{
	struct heat *heat = table->store->heat;
	int64_t step = heat_windows[window].step, columns = heat_windows[window].columns;
	struct making making = {
		.heat = heat, .table = table->id, .window = window, .metric = metric, .joined = 1};
	struct wcs_heat_map *map;
	int rc = wcs_heat_fold(table->store);

	if (rc == -EOPNOTSUPP || rc == -ENOMEM)
		return rc;
	map = calloc(1, sizeof(*map));
	if (map == NULL)
		return -ENOMEM;
	making.last = store_now(table->store) / step;
	making.first = making.last - columns + 1;
	making.found = making.last + 1;
	if (columns_max > 0)
		making.joined = (columns + (int64_t)columns_max - 1) / (int64_t)columns_max;
	/* All columns are equal, and none reaches into the future. */
	while (columns % making.joined != 0)
		making.joined++;
	*map = (struct wcs_heat_map){.window = window,
				     .metric = metric,
				     .delimiter = table->delimiter,
				     .start = making.first * step,
				     .step = step * making.joined};
	map->columns = (size_t)(columns / making.joined);
	rc = map_begin(heat);
	if (rc != 0) {
		free(map);
		return rc;
	}
	rc = heat_rows_init(&making.rows, table->delimiter);
	if (rc == 0)
		rc = map_make(&making,
			      rows_max > 0 && rows_max < WCS_HEAT_ROWS_MAX ? rows_max
									   : WCS_HEAT_ROWS_MAX,
			      map);
	heat_rows_free(&making.rows);
	free(making.counts);
	free(making.totals);
	wcs_release();
	pthread_mutex_unlock(&heat->mapping);
	if (rc != 0)
		wcs_heat_map_free(map);
	else
		*made = map;
	return rc;
}

void wcs_heat_map_free(struct wcs_heat_map *map)
{
	if (map == NULL)
		return;
	free(map->ranges);
	free(map->values);
	free(map);
}
