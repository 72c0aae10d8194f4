/* SPDX-License-Identifier: MIT */
/* The diagnosis of heat maps: known patterns, each also with noise and hidden in a larger map, and
 * maps that only resemble one. */
#include "tests/unit/heat.h"
#include "tests/unit/suite.h"

static uint64_t random_state;

static uint64_t below(uint32_t bound)
{
	return suite_random(&random_state) % bound;
}

/* "hot row 12-12 40 %, scans" of the findings; frees the map. */
static void expect(struct wcs_heat_map *map, const char *expected)
{
	struct wcs_heat_finding findings[WCS_HEAT_FINDINGS_MAX];
	int count = wcs_heat_diagnose(map, findings);
	char text[512] = "";

	ck_assert_int_gt(count, 0);
	for (int i = 0; i < count; i++) {
		size_t len = strlen(text);

		ck_assert_uint_gt(strlen(findings[i].words), 10);
		ck_assert_uint_lt(strlen(findings[i].words), sizeof(findings[i].words) - 1);
		snprintf(text + len, sizeof(text) - len, "%s%s", i > 0 ? ", " : "",
			 wcs_heat_pattern_name(findings[i].pattern));
		len = strlen(text);
		if (findings[i].ranges)
			snprintf(text + len, sizeof(text) - len, " %zu-%zu", findings[i].first,
				 findings[i].last);
		ck_assert_int_eq(findings[i].warning, findings[i].ranges);
	}
	ck_assert_str_eq(text, expected);
	heat_map_free(map);
}

/* Adds `level` to each value, more or less by half. */
static struct wcs_heat_map *noise(size_t rows, size_t columns, uint32_t level)
{
	struct wcs_heat_map *map = heat_map_plain(rows, columns, WCS_HEAT_OPS);

	for (size_t r = 0; r < rows; r++)
		for (size_t c = 0; c < columns; c++)
			heat_map_add(map, r, c, level > 0 ? level / 2 + below(level + 1) : 0);
	return map;
}

/* ---- Traffic ----------------------------------------------------------------------------- */

#define SIZES 4
SUITE_LOOP(test_known_traffic_is_named, HEAT_TRAFFICS *SIZES, 60)
{
	static const struct {
		size_t ranges, columns;
	} sizes[SIZES] = {{1000, 360}, {300, 180}, {100, 360}, {40, 60}};
	const struct heat_traffic *traffic = &heat_traffics[_i / SIZES];
	struct wcs_heat_finding findings[WCS_HEAT_FINDINGS_MAX];
	struct wcs_heat_map *map =
		heat_traffic_map(traffic, sizes[_i % SIZES].ranges, sizes[_i % SIZES].columns);

	ck_assert_int_eq(wcs_heat_diagnose(map, findings), 1);
	ck_assert_str_eq(wcs_heat_pattern_name(findings[0].pattern),
			 wcs_heat_pattern_name(traffic->pattern));
	if (traffic->pattern == WCS_HEAT_SCANS)
		ck_assert_int_eq(findings[0].period / 60000000, 30);
	heat_map_free(map);
}

/* ---- Thresholds, from both sides --------------------------------------------------------- */

SUITE_TEST(test_nothing_and_little, 10)
{
	struct wcs_heat_map *map = noise(20, 360, 0);

	heat_map_add(map, 3, 5, 99);
	expect(map, "little traffic");
	expect(noise(20, 360, 0), "no traffic");
	expect(noise(20, 4, 100), "little traffic");
	expect(noise(20, 5, 100), "even load");
	map = noise(20, 360, 100);
	heat_map_begin(map, 356);
	expect(map, "little traffic");
	map = noise(20, 360, 0);
	heat_map_begin(map, 360);
	expect(map, "no traffic");
}

SUITE_TEST(test_a_hot_row_has_more_than_a_fifth, 10)
{
	struct wcs_heat_map *map;

	for (int share = 20; share <= 21; share++) {
		map = noise(100, 60, 0);
		for (size_t r = 0; r < 100; r++)
			for (size_t c = 0; c < 60; c++)
				heat_map_add(map, r, c,
					     (uint64_t)(r == 40 ? share * 99 : 100 - share));
		map->ranges[40].row = true;
		expect(map, share == 21 ? "hot row 40-40" : "no known pattern");
	}
}

SUITE_TEST(test_two_hot_rows_as_hot_as_each_other, 10)
{
	struct wcs_heat_map *map = noise(100, 60, 0);

	for (size_t r = 0; r < 100; r++)
		for (size_t c = 0; c < 60; c++)
			heat_map_add(map, r, c, r == 20 || r == 70 ? 500 : 10);
	map->ranges[20].row = map->ranges[70].row = true;
	expect(map, "hot row 20-20, hot row 70-70");
}

SUITE_TEST(test_a_hot_prefix_lasts, 10)
{
	struct wcs_heat_map *map = noise(100, 60, 10);

	for (size_t r = 30; r < 40; r++)
		for (size_t c = 0; c < 60; c++)
			heat_map_add(map, r, c, 100);
	expect(map, "hot prefix 30-39");
	map = noise(100, 60, 10);
	for (size_t r = 30; r < 40; r++) /* as much, but in ten columns */
		for (size_t c = 20; c < 30; c++)
			heat_map_add(map, r, c, 600);
	expect(map, "no known pattern");
	map = noise(100, 60, 10); /* 10 of 100 ranges with a quarter */
	for (size_t r = 30; r < 40; r++)
		for (size_t c = 0; c < 60; c++)
			heat_map_add(map, r, c, 20);
	expect(map, "even load");
}

/* Ten prefixes of ten ranges, of which one has 45 %, and another one 40 %, four times its even
 * share, or a little less. */
SUITE_TEST(test_two_hot_prefixes, 10)
{
	for (uint64_t second = 1599; second <= 1600; second++) {
		struct wcs_heat_map *map = noise(100, 60, 0);

		for (size_t r = 0; r < 100; r++)
			for (size_t c = 0; c < 60; c++)
				heat_map_add(map, r, c,
					     r / 10 == 3   ? 1800
					     : r / 10 == 7 ? second
							   : 75);
		expect(map,
		       second == 1600 ? "hot prefix 30-39, hot prefix 70-79" : "hot prefix 30-39");
	}
}

/* Nine first segments, of which one is as hot as four of them. They begin with two different bytes,
 * of which one has half of any load. */
SUITE_TEST(test_a_hot_segment_among_unlike_ones, 10)
{
	char keys[29][HEAT_KEY_MAX] = {""};
	const char *starts[29] = {keys[0]};
	struct wcs_heat_map *map;

	for (size_t r = 1; r < 29; r++) {
		if (r <= 20)
			snprintf(keys[r], sizeof(keys[r]), "com.google.maps#p%02zu", r);
		else
			snprintf(keys[r], sizeof(keys[r]), "org.site%zu", r);
		starts[r] = keys[r];
	}
	for (uint64_t hot = 22; hot <= 23; hot++) { /* 44.0 and 45.1 % of all */
		map = heat_map_new(starts, 29, 60, WCS_HEAT_OPS);
		for (size_t r = 1; r < 29; r++)
			for (size_t c = 0; c < 60; c++)
				heat_map_add(map, r, c, r <= 20 ? hot : 70);
		expect(map, hot == 23 ? "hot prefix 1-20" : "no known pattern");
	}
}

SUITE_TEST(test_sequential_keys_both_ways, 10)
{
	struct wcs_heat_map *map = noise(100, 60, 1), *back = noise(100, 60, 1),
			    *jumps = noise(100, 60, 1), *stays = noise(100, 60, 1),
			    *ring = noise(100, 60, 1);

	for (size_t c = 0; c < 60; c++) {
		heat_map_add(map, 20 + c, c, 500);
		heat_map_add(back, 90 - c, c, 500);
		heat_map_add(jumps, c * 37 % 100, c, 500);
		heat_map_add(stays, 99, c, 500);
		heat_map_add(ring, 10 + c % 20 * 4, c, 500);
	}
	expect(map, "sequential keys 20-79");
	expect(back, "sequential keys 31-90");
	expect(jumps, "no known pattern");
	expect(stays, "hot prefix 99-99");
	expect(ring, "sequential keys 10-86");
	for (size_t teeth = 4; teeth <= 5; teeth++) { /* steps of which all but one go forward */
		map = noise(100, 60, 1);
		for (size_t c = 0; c < 60; c++)
			heat_map_add(map, c % teeth * 20, c, 500);
		expect(map, teeth == 5 ? "sequential keys 0-80" : "no known pattern");
	}
	for (size_t steps = 9; steps <= 10; steps++) { /* one of them back */
		map = noise(100, steps + 1, 0);
		for (size_t c = 0; c <= steps; c++)
			heat_map_add(map, c % 6 * 15, c, 500);
		expect(map, steps == 10 ? "sequential keys 0-75" : "no known pattern");
	}
	map = noise(100, 60, 1); /* each column at a place of its own, all places alike */
	for (size_t c = 0; c < 600; c++)
		heat_map_add(map, c * 37 % 100, c / 10, 500);
	expect(map, "even load");
	map = noise(100, 100, 1);
	for (size_t c = 0; c < 100; c++)
		heat_map_add(map, c * 37 % 100, c, 500);
	expect(map, "no known pattern");
	map = noise(100, 5, 0); /* a young map: each column has a fifth */
	for (size_t r = 0; r < 100; r++)
		heat_map_add(map, r, r / 20, 30);
	expect(map, "sequential keys 9-89");
}

SUITE_TEST(test_scans_have_a_period, 10)
{
	struct wcs_heat_map *map = noise(100, 360, 2), *rare = noise(100, 360, 2),
			    *wild = noise(100, 360, 2), *part = noise(100, 360, 2);
	static const size_t at[] = {3, 11, 90, 95, 200, 203, 340};

	for (size_t r = 0; r < 100; r++) {
		for (size_t c = 7; c < 360; c += 60)
			heat_map_add(map, r, c + (r > 40), 100); /* it takes more than a column */
		heat_map_add(rare, r, 10, 300);
		heat_map_add(rare, r, 190, 300);
		for (size_t i = 0; i < 7; i++)
			heat_map_add(wild, r, at[i], 100);
		for (size_t c = 7; r < 50 && c < 360; c += 60)
			heat_map_add(part, r, c, 200);
	}
	expect(map, "periodic scans");
	expect(rare, "even load");
	expect(wild, "even load");
	expect(part, "even load");
}

/* A map of a table that a job reads whole in some minutes, and nobody else; the values of its
 * ranges differ by half, as those of a sample do. */
static struct wcs_heat_map *stripes(size_t ranges, size_t columns, const size_t *at, size_t count)
{
	struct wcs_heat_map *map = heat_map_plain(ranges, columns, WCS_HEAT_READS);

	for (size_t i = 0; i < count; i++)
		for (size_t r = 0; r < ranges; r++)
			heat_map_add(map, r, at[i], 50 + below(101));
	return map;
}
#define STRIPES(ranges, columns, ...)                                                              \
	stripes(ranges, columns, (const size_t[]){__VA_ARGS__},                                    \
		sizeof((const size_t[]){__VA_ARGS__}) / sizeof(size_t))

SUITE_TEST(test_scans_of_an_idle_table, 10)
{
	static const int64_t minute = 60000000;
	struct wcs_heat_finding findings[WCS_HEAT_FINDINGS_MAX];
	struct wcs_heat_map *map = STRIPES(200, 12, 1, 3, 5, 7, 9, 11);

	map->step = minute;
	ck_assert_int_eq(wcs_heat_diagnose(map, findings), 1);
	ck_assert_int_eq(findings[0].pattern, WCS_HEAT_SCANS);
	ck_assert_int_eq(findings[0].period, 2 * minute);
	heat_map_free(map);
	expect(STRIPES(200, 12, 1, 3, 5, 7, 9), "periodic scans");
	expect(STRIPES(200, 12, 1, 5, 9), "periodic scans");
	expect(STRIPES(200, 360, 351, 353, 355), "periodic scans");
	expect(STRIPES(200, 12, 0, 2, 5, 7, 10), "periodic scans"); /* each 2.5 columns */
	expect(STRIPES(200, 12, 1, 5), "no known pattern");	    /* two, or one */
	expect(STRIPES(200, 12, 5), "no known pattern");
	expect(STRIPES(200, 30, 1, 3, 9, 10, 14, 23, 25), "even load"); /* no period */
	expect(STRIPES(7, 12, 1, 3, 5, 7, 9), "no known pattern");	/* few ranges */
}

SUITE_TEST(test_even_means_even, 10)
{
	static const uint64_t uneven[] = {310, 260, 190, 60, 50, 40, 30, 20, 20, 20};
	struct wcs_heat_map *map = heat_map_plain(10, 12, WCS_HEAT_OPS),
			    *minute = heat_map_plain(10, 12, WCS_HEAT_OPS),
			    *burst = heat_map_plain(100, 12, WCS_HEAT_OPS);
	struct wcs_heat_finding findings[WCS_HEAT_FINDINGS_MAX];

	for (size_t r = 0; r < 10; r++) {
		heat_map_add(minute, r, 4, uneven[r]);
		for (size_t c = 0; c < 12; c++)
			heat_map_add(map, r, c, uneven[r]);
	}
	for (size_t r = 0; r < 100; r++)
		heat_map_add(burst, r, 4, 100);
	expect(map, "no known pattern");
	expect(minute, "no known pattern");
	/* One column with traffic is no change of place. */
	ck_assert_int_eq(wcs_heat_diagnose(burst, findings), 1);
	ck_assert_ptr_null(strstr(findings[0].words, "which changes"));
	expect(burst, "no known pattern");
	expect(noise(7, 60, 100), "no known pattern");
	expect(noise(8, 60, 100), "even load");
}

SUITE_TEST(test_latency_has_no_shares, 10)
{
	struct wcs_heat_map *map = heat_map_plain(50, 60, WCS_HEAT_LATENCY),
			    *slow = heat_map_plain(50, 60, WCS_HEAT_LATENCY);

	for (size_t r = 0; r < 50; r++)
		for (size_t c = 0; c < 60; c++) {
			heat_map_add(map, r, c, 100);
			heat_map_add(slow, r, c, r == 7 ? 1000 : 100);
		}
	for (size_t r = 0; r < 50; r++) {
		map->ranges[r].total /= 60;
		slow->ranges[r].total /= 60;
	}
	map->total = 100;
	slow->total = 118;
	heat_map_begin(map, 55);
	expect(map, "even load");
	expect(slow, "slow range 7-7");
	map = heat_map_plain(50, 60, WCS_HEAT_LATENCY);
	heat_map_add(map, 7, 59, 1);
	heat_map_begin(map, 56);
	expect(map, "little traffic");
}

SUITE_LOOP(test_noise_is_no_pattern, 50, 10)
{
	random_state = (uint64_t)_i;
	expect(noise(10 + below(200), 10 + below(300), 1 + (uint32_t)below(1000)), "even load");
}
