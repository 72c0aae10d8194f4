/* SPDX-License-Identifier: MIT */
/* The heat map's counts, against those of a model that sees the same operations. */
#include "store/heat/patterns/patterns.h"
#include "store/table/table.h"
#include "tests/unit/heat_store.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

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

SUITE_CONTRACT("The map counts rows read by gets, scans and listings, and cells and bytes written, "
	       "by any path")

SUITE_STORES(test_counts_are_exact, 60)
{
	uint64_t random = 7, reads[30] = {0}, writes[30] = {0};
	struct wcs_heat_map *map;
	char key[32];

	heat_open(s, START);
	for (int minute = 0; minute < 30; minute++) {
		heat_load(s->table, minute * 50, 50);
		writes[minute] += 50;
		for (int i = 0; i < 100; i++) {
			snprintf(key, sizeof(key), "row#%05u", suite_random(&random) % 50);
			heat_get(s->table, key);
		}
		reads[minute] += 100 + heat_scan(s, suite_all);
		wcs_heat_look(true);
		heat_get(s->table, key);
		heat_scan(s, suite_all);
		wcs_heat_look(false);
		heat_tick(s, 1);
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

/* Hours and days begin while nothing is mounted: the counts before are in their columns. */
SUITE_LEVELDB_STORE(test_counts_outlast_a_gap, 60)
{
	static const int hours[] = {7, 5 * 24};
	struct wcs_heat_map *map;
	uint64_t expected = 0;

	heat_open(s, START);
	for (size_t i = 0; i < 2; i++) {
		heat_load(s->table, 0, 20);
		expected += 20;
		heat_tick(s, 1);
		suite_shut(s);
		s->clock += 60 * hours[i] * MINUTE;
		SUITE_OK(suite_try_open(s));
		for (int window = WCS_HEAT_4D; window <= WCS_HEAT_28D; window++) {
			map = heat_map(s, (enum wcs_heat_window)window, WCS_HEAT_WRITES);
			ck_assert_uint_eq(map->total,
					  window == WCS_HEAT_28D || i == 0 ? expected : 0);
			wcs_heat_map_free(map);
		}
	}
}

/* The record of docs/format.md, but for its nanoseconds. */
SUITE_LEVELDB_STORE(test_record_of_the_example, 10)
{
	static const unsigned char head[] = {0xc0, 0x82, 0xea, 0x0d, 1, 0x23},
				   span[] = {0, 0x0d, 0x61, 0x23, 0x31, 1, 0, 0};
	unsigned char *bytes;
	size_t len;

	suite_set(s->table, "a#1", "f", "q", 1, "v");
	heat_open(s, START);
	heat_get(s->table, "a#1");
	heat_tick(s, 0);
	SUITE_OK(s->store->engine.local->note_get(s->store->engine.db, 1 + 29000000 % 361, &bytes,
						  &len));
	ck_assert_uint_gt(len, sizeof(head) + 1 + sizeof(span) + 1);
	ck_assert_mem_eq(bytes, head, sizeof(head));
	ck_assert_uint_eq(bytes[sizeof(head)], len - sizeof(head) - 1);
	ck_assert_mem_eq(bytes + sizeof(head) + 1, span, sizeof(span));
	ck_assert_uint_eq(bytes[len - 1], 1);
	free(bytes);
}

SUITE_CONTRACT("each hot key or prefix has a range of its own")

SUITE_LEVELDB_STORE(test_hot_row, 60)
{
	struct wcs_heat_map *map;
	uint64_t random = 3;
	bool found = false;
	char key[32];

	heat_open(s, START);
	heat_load(s->table, 0, 3000);
	heat_tick(s, 1);
	for (int i = 0; i < 20000; i++) {
		unsigned int n = suite_random(&random);

		snprintf(key, sizeof(key), "row#%05u", n % 4 == 0 ? 1234 : n / 4 % 3000);
		heat_get(s->table, key);
	}
	map = heat_map(s, WCS_HEAT_6H, WCS_HEAT_READS);
	for (size_t i = 0; i < map->rows; i++)
		if (map->ranges[i].row &&
		    wcs_slice_compare(map->ranges[i].start, suite_text("row#01234")) == 0) {
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

	heat_open(s, START);
	for (int minute = 0; minute < 120; minute++) {
		heat_load(s->table, minute * 200, 200);
		heat_tick(s, 1);
	}
	map = heat_map(s, WCS_HEAT_6H, WCS_HEAT_WRITES);
	ck_assert_uint_ge(map->rows, 120);
	for (int minute = 0; minute < 120; minute++) {
		char low[32], high[32];
		uint64_t inside = 0;
		size_t column = (size_t)minute + 359 - 120;

		snprintf(low, sizeof(low), "row#%05d", minute * 200);
		snprintf(high, sizeof(high), "row#%05d", minute * 200 + 200);
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

/* ---- Windows ----------------------------------------------------------------------------- */

/* Gets of a minute of a day: a wave, on keys that move on. Returns how many. */
static uint64_t heat_minute(struct suite *s, int minute)
{
	int gets = 5 + minute % 60 / 6;
	char key[32];

	for (int i = 0; i < gets; i++) {
		snprintf(key, sizeof(key), "row#%05d", (minute * 3 + i * 7) % 500);
		heat_get(s->table, key);
	}
	return (uint64_t)gets;
}

/* Checks the columns of a window against the gets of the minutes [0, minutes). */
static void heat_check_window(struct suite *s, enum wcs_heat_window window, int minutes,
			      const uint64_t *gets)
{
	struct wcs_heat_map *map = heat_map(s, window, WCS_HEAT_READS);
	int64_t first = map->start, total = 0;
	size_t checked = 0;

	for (size_t column = 0; column < map->columns; column++) {
		int64_t from = (first + (int64_t)column * map->step - START) / MINUTE;
		int64_t to = from + map->step / MINUTE;
		uint64_t expected = 0;

		for (int64_t minute = from; minute < to; minute++)
			if (minute >= 0 && minute < minutes)
				expected += gets[minute];
		ck_assert_uint_eq(heat_column(map, column), expected);
		checked += expected > 0;
		total += (int64_t)expected;
	}
	ck_assert_uint_gt(checked, 0);
	ck_assert_int_eq((int64_t)map->total, total);
	wcs_heat_map_free(map);
}

SUITE_CONTRACT("6h (one column a minute; also the default), 4d (ten minutes) and 28d (an hour) …; "
	       "survives remounts (a crash may lose a minute)")

/* A day of traffic, in which the store is closed twice, and its process killed twice. */
SUITE_LEVELDB_STORE(test_day, 120)
{
	enum { DAY = 24 * 60 };
	static uint64_t gets[DAY];
	int minute = 0;

	heat_open(s, START);
	heat_load(s->table, 0, 500);
	s->clock = START - MINUTE; /* the writes are of another time */
	SUITE_OK(wcs_heat_fold(s->store));
	s->clock = START;
	SUITE_OK(wcs_heat_fold(s->store));
	for (int part = 0; part < 4; part++) {
		int until = (part + 1) * DAY / 4 + part * 7;
		pid_t child;
		int status;

		if (until > DAY)
			until = DAY;
		s->clock = START + minute * MINUTE;
		suite_shut(s);
		/* As a model, what each minute has; the child does it. */
		for (int i = minute; i < until; i++)
			gets[i] = 5 + (uint64_t)i % 60 / 6;
		child = fork();
		ck_assert_int_ge(child, 0);
		if (child == 0) {
			if (suite_try_open(s) != 0)
				_exit(1);
			for (int i = minute; i < until; i++) {
				heat_minute(s, i);
				s->clock += MINUTE;
				if (wcs_heat_fold(s->store) != 0)
					_exit(2);
			}
			if (part % 2 == 0)
				kill(getpid(), SIGKILL);
			suite_shut(s);
			_exit(0);
		}
		ck_assert_int_eq(waitpid(child, &status, 0), child);
		ck_assert_int_eq(status, part % 2 == 0 ? SIGKILL : 0);
		minute = until;
		s->clock = START + minute * MINUTE;
		SUITE_OK(suite_try_open(s));
		for (int window = 0; window < WCS_HEAT_WINDOWS; window++)
			heat_check_window(s, (enum wcs_heat_window)window, minute, gets);
	}
}

/* ---- Places ------------------------------------------------------------------------------ */

enum { PLACES = 1200, PLACES_MINUTES = 10, PLACES_WRITES = 20000, PLACES_BATCH = 40 };

struct places {
	uint64_t writes[PLACES][PLACES_MINUTES];
	uint64_t random;
};

static void place_key(size_t place, char key[8])
{
	snprintf(key, 8, "%c%04zu", place < 1000 ? 'r' : 'z', place % 1000);
}

/* Writes random keys in batches. */
static void places_write(struct suite *s, struct places *model, size_t minute)
{
	char line[PLACES_BATCH * 64], key[8];

	for (size_t i = 0; i < PLACES_WRITES; i += PLACES_BATCH) {
		struct wcs_import *import = suite_import(s->table);
		size_t len = 0;

		for (size_t j = 0; j < PLACES_BATCH; j++) {
			size_t place = suite_random(&model->random) % (minute < 5 ? 1000 : PLACES);

			place_key(place, key);
			len += (size_t)snprintf(
				line + len, sizeof(line) - len,
				"{\"key\":\"%s\",\"families\":{\"f\":{\"q\":\"1\"}}}\n", key);
			model->writes[place][minute]++;
		}
		SUITE_OK(suite_import_text(import, line, NULL));
		SUITE_OK(wcs_import_finish(import, NULL));
		wcs_import_free(import);
	}
}

static uint64_t places_of(const struct places *model, const struct wcs_heat_range *range,
			  size_t minute)
{
	uint64_t sum = 0;
	char key[8];

	for (size_t place = 0; place < PLACES; place++) {
		place_key(place, key);
		if (wcs_slice_compare(suite_text(key), range->start) >= 0 &&
		    (!range->end.data || wcs_slice_compare(suite_text(key), range->end) < 0))
			sum += model->writes[place][minute];
	}
	return sum;
}

/* Random keys, and others behind them that come in the middle of the time: nothing is counted where
 * there were no keys, and little at a wrong place. */
SUITE_LEVELDB_STORE(test_places_of_random_writes, 120)
{
	static const struct {
		size_t ranges, percent; /* that may be wrong */
	} cases[] = {{40, 3}, {200, 12}};
	struct wcs_heat_finding findings[WCS_HEAT_FINDINGS_MAX];
	struct places *model = calloc(1, sizeof(*model));
	struct wcs_heat_map *map;

	heat_open(s, START);
	model->random = 3;
	for (size_t minute = 0; minute < PLACES_MINUTES; minute++) {
		places_write(s, model, minute);
		heat_tick(s, 1);
	}
	for (size_t i = 0; i < 2; i++) {
		uint64_t wrong = 0;

		SUITE_OK(wcs_heat_map(s->table, WCS_HEAT_6H, WCS_HEAT_WRITES, cases[i].ranges, 0,
				      &map));
		ck_assert_uint_eq(map->total, PLACES_WRITES * PLACES_MINUTES);
		for (size_t r = 0; r < map->rows; r++)
			for (size_t minute = 0; minute < PLACES_MINUTES; minute++) {
				size_t column = map->columns - 1 - PLACES_MINUTES + minute;
				uint64_t value = map->values[r * map->columns + column];
				uint64_t expected = places_of(model, &map->ranges[r], minute);

				wrong += value > expected ? value - expected : 0;
				ck_assert(expected > 0 || value == 0);
			}
		ck_assert_uint_le(wrong * 100, cases[i].percent * map->total);
		ck_assert_int_eq(wcs_heat_diagnose(map, findings), 1);
		ck_assert_int_eq(findings[0].pattern, WCS_HEAT_EVEN);
		wcs_heat_map_free(map);
	}
	free(model);
}

SUITE_CONTRACT("-o keyvis=off disables it")

SUITE_STORES(test_off, 10)
{
	struct wcs_heat_map *map;

	heat_load(s->table, 0, 3);
	ck_assert_int_eq(wcs_heat_map(s->table, WCS_HEAT_6H, WCS_HEAT_OPS, 0, 0, &map),
			 -EOPNOTSUPP);
	ck_assert_int_eq(wcs_heat_fold(s->store), -EOPNOTSUPP);
}

int main(void)
{
	return suite_main("heat", NULL);
}
