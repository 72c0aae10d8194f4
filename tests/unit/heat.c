/* SPDX-License-Identifier: MIT */
#include "tests/unit/heat.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MINUTE INT64_C(60000000)
#define START  INT64_C(1795651200000000) /* 2026-11-26 00:00 UTC */

/* ---- Maps -------------------------------------------------------------------------------- */

struct wcs_heat_map *heat_map_new(const char *const *starts, size_t rows, size_t columns,
				  enum wcs_heat_metric metric)
{
	struct wcs_heat_map *map = calloc(1, sizeof(*map));

	map->metric = metric;
	map->delimiter = '#';
	map->start = map->counting = START;
	map->step =
		HEAT_MINUTES / (int64_t)(columns > HEAT_MINUTES ? HEAT_MINUTES : columns) * MINUTE;
	map->columns = columns;
	map->rows = rows;
	map->ranges = calloc(rows, sizeof(*map->ranges));
	map->values = calloc(rows * columns + 1, sizeof(*map->values));
	for (size_t r = 0; r < rows; r++) {
		size_t len = strlen(starts[r]);
		bool nul = len > 0 && starts[r][len - 1] == '\\';
		char *key = strdup(starts[r]);

		key[nul ? len - 1 : len] = '\0';
		map->ranges[r].start = (struct wcs_slice){key, len};
		if (r > 0) {
			map->ranges[r - 1].end = map->ranges[r].start;
			map->ranges[r - 1].row = nul;
		}
	}
	return map;
}

struct wcs_heat_map *heat_map_plain(size_t rows, size_t columns, enum wcs_heat_metric metric)
{
	char(*keys)[HEAT_KEY_MAX] = calloc(rows, sizeof(*keys));
	const char **starts = calloc(rows, sizeof(*starts));
	struct wcs_heat_map *map;

	for (size_t r = 0; r < rows; r++) {
		if (r > 0)
			snprintf(keys[r], sizeof(keys[r]), "t%03zu#", r);
		starts[r] = keys[r];
	}
	map = heat_map_new(starts, rows, columns, metric);
	free(starts);
	free(keys);
	return map;
}

void heat_map_free(struct wcs_heat_map *map)
{
	for (size_t r = 0; map && r < map->rows; r++)
		free((void *)(uintptr_t)map->ranges[r].start.data);
	if (map) {
		free(map->ranges);
		free(map->values);
	}
	free(map);
}

void heat_map_add(struct wcs_heat_map *map, size_t range, size_t column, uint64_t value)
{
	uint64_t *at = &map->values[range * map->columns + column];

	*at += value;
	map->ranges[range].total += value;
	map->total += value;
	if (*at > map->largest)
		map->largest = *at;
}

void heat_map_count(struct wcs_heat_map *map, const char *key, size_t column, uint64_t value)
{
	struct wcs_slice slice = {key, strlen(key)};
	size_t r = map->rows - 1;

	while (r > 0 && wcs_slice_compare(map->ranges[r].start, slice) > 0)
		r--;
	heat_map_add(map, r, column, value);
}

void heat_map_begin(struct wcs_heat_map *map, size_t column)
{
	map->counting = map->start + (int64_t)column * map->step;
}

/* ---- Traffic ----------------------------------------------------------------------------- */

static unsigned int heat_random(struct heat_to *to, unsigned int below)
{
	to->random = to->random * 6364136223846793005u + 1442695040888963407u;
	return (unsigned int)(to->random >> 33) % below;
}

static void heat_send(struct heat_to *to, enum heat_op op, const char *key)
{
	to->op(to->ctx, op, key);
}

static void user_row(int index, char key[HEAT_KEY_MAX])
{
	snprintf(key, HEAT_KEY_MAX, "user#%04d", index);
}

static void event_row(int index, char key[HEAT_KEY_MAX])
{
	snprintf(key, HEAT_KEY_MAX, "event#%06d", index);
}

static void tenant_row(int index, char key[HEAT_KEY_MAX])
{
	snprintf(key, HEAT_KEY_MAX, "tenant%02d#order#%03d", index / 50, index % 50);
}

/* 200 operations on random rows of the first `rows`, with half as many a minute more or less. */
static void heat_background(struct heat_to *to, void (*row)(int, char *), unsigned int rows,
			    unsigned int count)
{
	char key[HEAT_KEY_MAX];

	count = count / 2 + heat_random(to, count + 1);
	for (unsigned int i = 0; i < count; i++) {
		row((int)heat_random(to, rows), key);
		heat_send(to, i % 4 == 0 ? HEAT_WRITE : HEAT_READ, key);
	}
}

static void sequential_minute(int minute, struct heat_to *to)
{
	char key[HEAT_KEY_MAX];

	for (int i = 0; i < 200; i++) {
		event_row(minute * 200 + i, key);
		heat_send(to, HEAT_WRITE, key);
	}
	heat_background(to, event_row, (unsigned int)minute * 200 + 200, 20);
}

static void hot_row_minute(int minute, struct heat_to *to)
{
	(void)minute;
	heat_background(to, user_row, 2000, 200);
	for (unsigned int i = 0, count = 200 + heat_random(to, 100); i < count; i++)
		heat_send(to, i % 4 == 0 ? HEAT_WRITE : HEAT_READ, "user#1234");
}

static void hot_prefix_minute(int minute, struct heat_to *to)
{
	char key[HEAT_KEY_MAX];

	(void)minute;
	heat_background(to, tenant_row, 2000, 150);
	for (unsigned int i = 0, count = 250 + heat_random(to, 100); i < count; i++) {
		tenant_row(17 * 50 + (int)heat_random(to, 50), key);
		heat_send(to, i % 4 == 0 ? HEAT_WRITE : HEAT_READ, key);
	}
}

static void scans_minute(int minute, struct heat_to *to)
{
	heat_background(to, user_row, 2000, 100);
	if (minute % 30 == 12)
		heat_send(to, HEAT_SCAN, "");
}

static void even_minute(int minute, struct heat_to *to)
{
	(void)minute;
	heat_background(to, user_row, 2000, 500);
}

const struct heat_traffic heat_traffics[HEAT_TRAFFICS] = {
	{"sequential", WCS_HEAT_SEQUENTIAL, 0, event_row, sequential_minute},
	{"hot-row", WCS_HEAT_HOT_ROW, 2000, user_row, hot_row_minute},
	{"hot-prefix", WCS_HEAT_HOT_PREFIX, 2000, tenant_row, hot_prefix_minute},
	{"scans", WCS_HEAT_SCANS, 2000, user_row, scans_minute},
	{"even", WCS_HEAT_EVEN, 2000, user_row, even_minute},
};

/* ---- Traffic as a map -------------------------------------------------------------------- */

struct heat_counter {
	const struct heat_traffic *traffic;
	struct wcs_heat_map *map;
	int minute;
};

static void heat_count_op(void *ctx, enum heat_op op, const char *key)
{
	struct heat_counter *counter = ctx;
	struct wcs_heat_map *map = counter->map;
	size_t column = (size_t)counter->minute * map->columns / HEAT_MINUTES;
	char row[HEAT_KEY_MAX];

	if (op != HEAT_SCAN)
		heat_map_count(map, key, column, 1);
	for (int i = 0; op == HEAT_SCAN && i < counter->traffic->rows; i++) {
		counter->traffic->row(i, row);
		heat_map_count(map, row, column, 1);
	}
}

struct wcs_heat_map *heat_traffic_map(const struct heat_traffic *traffic, size_t ranges,
				      size_t columns)
{
	int rows = traffic->rows > 0 ? traffic->rows : HEAT_MINUTES * 200;
	char(*keys)[HEAT_KEY_MAX] = calloc(ranges + 2, sizeof(*keys));
	const char **starts = calloc(ranges + 2, sizeof(*starts));
	struct heat_counter counter = {traffic, NULL, 0};
	struct heat_to to = {heat_count_op, &counter, 1};
	size_t made = 1;

	starts[0] = "";
	for (size_t r = 1; r < ranges; r++, made++) {
		traffic->row((int)(r * (size_t)rows / ranges), keys[made]);
		if (traffic->pattern == WCS_HEAT_HOT_ROW && strcmp(keys[made], "user#1234") > 0 &&
		    strcmp(keys[made - 1], "user#1234") <= 0) {
			made -= strcmp(keys[made - 1], "user#1234") == 0;
			traffic->row((int)(r * (size_t)rows / ranges), keys[made + 2]);
			starts[made++] = "user#1234";
			starts[made++] = "user#1234\\";
		}
		starts[made] = keys[made];
	}
	counter.map = heat_map_new(starts, made, columns, WCS_HEAT_OPS);
	for (counter.minute = 0; counter.minute < HEAT_MINUTES; counter.minute++)
		traffic->minute(counter.minute, &to);
	free(starts);
	free(keys);
	return counter.map;
}
