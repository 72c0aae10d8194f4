/* SPDX-License-Identifier: MIT */
/* The heat map's counts, against those of a model that sees the same operations. */
#include "store/heat/heat.h"
#include "tests/unit/suite.h"

#define MINUTE INT64_C(60000000)
#define START  (INT64_C(29000000) * MINUTE) /* an hour begins then, and ten minutes */

static void heat_open(struct suite *s)
{
	s->heat = true;
	s->clock = START;
	suite_reopen(s);
	if (s->table == NULL) { /* the engine in memory has forgotten it */
		SUITE_OK(wcs_table_create(s->store, "t"));
		SUITE_OK(wcs_table_open(s->store, "t", &s->table));
		SUITE_OK(wcs_family_create(s->table, "f"));
	}
}

/* The minute ends. */
static void heat_tick(struct suite *s)
{
	s->clock += MINUTE;
	SUITE_OK(wcs_heat_fold(s->store));
}

static struct wcs_heat_map *heat_map(struct suite *s, enum wcs_heat_window window,
				     enum wcs_heat_metric metric)
{
	struct wcs_heat_map *map = NULL;

	SUITE_OK(wcs_heat_map(s->table, window, metric, 0, 0, &map));
	ck_assert_uint_le(map->rows, WCS_HEAT_ROWS_MAX);
	ck_assert_uint_eq(map->ranges[0].start.len, 0);
	ck_assert_ptr_null(map->ranges[map->rows - 1].end.data);
	for (size_t i = 1; i < map->rows; i++)
		ck_assert_int_lt(wcs_slice_compare(map->ranges[i - 1].start, map->ranges[i].start),
				 0);
	return map;
}

static uint64_t heat_column(const struct wcs_heat_map *map, size_t column)
{
	uint64_t sum = 0;

	for (size_t row = 0; row < map->rows; row++)
		sum += map->values[row * map->columns + column];
	return sum;
}

static void heat_get(struct suite *s, const char *key)
{
	struct wcs_cell_info info;

	SUITE_OK(wcs_cell_get(s->table, suite_text(key), "f", suite_text("q"), WCS_TS_NEWEST,
			      &info));
}

static uint64_t heat_scan(struct suite *s, struct wcs_range range)
{
	struct wcs_scan *scan;
	struct wcs_cell cell;
	uint64_t rows = 0;
	int rc;

	SUITE_OK(wcs_scan_open(s->table, &range, 1, &suite_cells, &scan));
	while ((rc = wcs_scan_next(scan, &cell)) == 1)
		rows += cell.differs == WCS_PART_ROW;
	SUITE_OK(rc);
	wcs_scan_close(scan);
	return rows;
}

static void heat_load(struct suite *s, int first, int count, const char *form)
{
	char key[64];

	for (int i = first; i < first + count; i++) {
		snprintf(key, sizeof(key), form, i);
		suite_set(s->table, key, "f", "q", WCS_TS_SERVER, "12345");
	}
}

SUITE_CONTRACT("The map counts rows read by gets, scans and listings, and cells and bytes written, "
	       "by any path")

SUITE_STORES(test_counts_are_exact, 60)
{
	uint64_t random = 7, reads[30] = {0}, writes[30] = {0};
	struct wcs_heat_map *map;
	char key[32];

	heat_open(s);
	for (int minute = 0; minute < 30; minute++) {
		heat_load(s, minute * 50, 50, "row#%05d");
		writes[minute] += 50;
		for (int i = 0; i < 100; i++) {
			snprintf(key, sizeof(key), "row#%05u", suite_random(&random) % 50);
			heat_get(s, key);
		}
		reads[minute] += 100 + heat_scan(s, suite_all);
		heat_tick(s);
	}
	map = heat_map(s, WCS_HEAT_6H, WCS_HEAT_READS);
	ck_assert_int_eq(map->step, MINUTE);
	ck_assert_int_eq(map->start, START + MINUTE * 30 - MINUTE * 359);
	for (size_t i = 0; i < 30; i++)
		ck_assert_uint_eq(heat_column(map, 359 - 30 + i), reads[i]);
	wcs_heat_map_free(map);
	map = heat_map(s, WCS_HEAT_6H, WCS_HEAT_WRITES);
	for (size_t i = 0; i < 30; i++)
		ck_assert_uint_eq(heat_column(map, 359 - 30 + i), writes[i]);
	wcs_heat_map_free(map);
	map = heat_map(s, WCS_HEAT_6H, WCS_HEAT_BYTES);
	for (size_t i = 0; i < 30; i++)
		ck_assert_uint_eq(heat_column(map, 359 - 30 + i), writes[i] * 5);
	wcs_heat_map_free(map);
	map = heat_map(s, WCS_HEAT_4D, WCS_HEAT_OPS);
	for (size_t i = 0; i < 3; i++) {
		uint64_t expected = 0;

		for (size_t j = 10 * i; j < 10 * i + 10; j++)
			expected += reads[j] + writes[j];
		ck_assert_uint_eq(heat_column(map, 575 - 3 + i), expected);
	}
	wcs_heat_map_free(map);
}

SUITE_CONTRACT("each hot key or prefix has a range of its own")

SUITE_LEVELDB_STORE(test_hot_row, 60)
{
	struct wcs_heat_map *map;
	uint64_t random = 3;
	bool found = false;
	char key[32];

	heat_open(s);
	heat_load(s, 0, 3000, "user#%05d");
	heat_tick(s);
	for (int i = 0; i < 20000; i++) {
		unsigned int n = suite_random(&random);

		snprintf(key, sizeof(key), "user#%05u", n % 4 == 0 ? 1234 : n / 4 % 3000);
		heat_get(s, key);
	}
	map = heat_map(s, WCS_HEAT_6H, WCS_HEAT_READS);
	for (size_t i = 0; i < map->rows; i++)
		if (map->ranges[i].row &&
		    wcs_slice_compare(map->ranges[i].start, suite_text("user#01234")) == 0) {
			ck_assert_uint_ge(map->ranges[i].total, 4500);
			ck_assert_uint_le(map->ranges[i].total, 5500);
			found = true;
		}
	ck_assert(found);
	wcs_heat_map_free(map);
}

/* Each minute's keys come behind those before. */
SUITE_LEVELDB_STORE(test_diagonal, 60)
{
	struct wcs_heat_map *map;

	heat_open(s);
	for (int minute = 0; minute < 120; minute++) {
		heat_load(s, minute * 200, 200, "log#%08d");
		heat_tick(s);
	}
	map = heat_map(s, WCS_HEAT_6H, WCS_HEAT_WRITES);
	ck_assert_uint_ge(map->rows, 120);
	for (int minute = 0; minute < 120; minute++) {
		char low[32], high[32];
		uint64_t inside = 0;
		size_t column = (size_t)(359 - 120 + minute);

		snprintf(low, sizeof(low), "log#%08d", minute * 200);
		snprintf(high, sizeof(high), "log#%08d", minute * 200 + 200);
		for (size_t i = 0; i < map->rows; i++) {
			const struct wcs_heat_range *range = &map->ranges[i];

			if (wcs_slice_compare(range->start, suite_text(high)) < 0 &&
			    (range->end.data == NULL ||
			     wcs_slice_compare(range->end, suite_text(low)) > 0))
				inside += map->values[i * map->columns + column];
		}
		ck_assert_uint_eq(heat_column(map, column), 200);
		ck_assert_uint_ge(inside, 190);
	}
	wcs_heat_map_free(map);
}

int main(void)
{
	return suite_main("heat", NULL);
}
