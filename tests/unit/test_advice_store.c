/* SPDX-License-Identifier: MIT */
/* Advice about stores: samples of large tables, and rules about traffic. */
#include "tests/unit/advice.h"

/* ---- Traffic ----------------------------------------------------------------------------- */

enum { HEAT_RANGES = 12, HEAT_MINUTES = 10 };

/* A map of the ranges "", p01#1, p02#2, …, all without traffic. */
struct heat {
	struct wcs_heat_map map;
	struct wcs_heat_range ranges[HEAT_RANGES];
	char starts[HEAT_RANGES][16];
	uint64_t values[HEAT_RANGES * HEAT_MINUTES];
};

static void heat_begin(struct heat *heat)
{
	*heat = (struct heat){.map = {.step = 60000000,
				      .columns = HEAT_MINUTES,
				      .rows = HEAT_RANGES,
				      .ranges = heat->ranges,
				      .values = heat->values}};
	for (size_t i = 1; i < HEAT_RANGES; i++) {
		snprintf(heat->starts[i], sizeof(heat->starts[i]), "p%02zu#%zu", i, i);
		heat->ranges[i].start = suite_text(heat->starts[i]);
		heat->ranges[i - 1].end = heat->ranges[i].start;
	}
}

static void heat_add(struct heat *heat, size_t range, size_t minute, uint64_t value)
{
	heat->values[range * HEAT_MINUTES + minute] += value;
	heat->ranges[range].total += value;
	heat->map.total += value;
}

/* Range 3 is one row, with that many of 100,000 operations. */
static void heat_row(struct heat *heat, uint64_t value)
{
	heat->ranges[3].row = true;
	heat_add(heat, 3, 0, value);
	heat_add(heat, 5, 0, 30000);
	heat_add(heat, 7, 0, 70000 - value);
}

/* The first segment p04 has two ranges, with that many of 100,000 operations together. */
static void heat_prefix(struct heat *heat, uint64_t value)
{
	snprintf(heat->starts[5], sizeof(heat->starts[5]), "p04#9");
	heat_add(heat, 4, 0, value / 2);
	heat_add(heat, 5, 0, value - value / 2);
	heat_add(heat, 7, 0, 100000 - value);
}

/* The same of a prefix that a salt keeps together. */
static void heat_salted(struct heat *heat, uint64_t value)
{
	for (size_t i = 1; i < HEAT_RANGES; i++)
		snprintf(heat->starts[i], sizeof(heat->starts[i]), "02#p%02zu#1", i);
	for (size_t i = 1; i < HEAT_RANGES; i++)
		heat->ranges[i].start = suite_text(heat->starts[i]);
	heat_add(heat, 4, 0, value);
	heat_add(heat, 7, 0, 100000 - value);
}

/* Most writes of a minute meet the next range; but for `value` minutes, in which none has most. */
static void heat_end(struct heat *heat, uint64_t value)
{
	for (size_t minute = 0; minute < HEAT_MINUTES; minute++) {
		heat_add(heat, minute + 1, minute, minute < value ? 1000 : 1001);
		heat_add(heat, 0, minute, 1000);
	}
}

/* All writes meet the last range; but for `value` minutes, which meet the first. */
static void heat_last(struct heat *heat, uint64_t value)
{
	for (size_t minute = 0; minute < HEAT_MINUTES; minute++)
		heat_add(heat, minute < value ? 0 : HEAT_RANGES - 1, minute, 1000);
}

static const struct heat_case {
	const char *rule, *table;
	void (*fill)(struct heat *heat, uint64_t value);
	uint64_t found, silent;
} heat_cases[] = {
	{"hot-row", PLAIN, heat_row, 10001, 10000},
	{"hot-prefix", PLAIN, heat_prefix, 50001, 50000},
	{"hot-prefix", SALTED, heat_salted, 50001, 50000},
	{"hot-end", PLAIN, heat_end, 0, 1},
	{"hot-end", PLAIN, heat_last, 0, 1},
};

SUITE_LOOP(test_traffic_rules, sizeof(heat_cases) / sizeof(*heat_cases), 10)
{
	const struct heat_case *c = &heat_cases[_i];

	for (int found = 0; found <= 1; found++) {
		struct checked checked;
		struct heat heat;

		heat_begin(&heat);
		c->fill(&heat, found ? c->found : c->silent);
		checked_open(&checked, c->table, true);
		feed(&checked, "p01#1", 1);
		wcs_advice_traffic(checked.advice, &heat.map, &heat.map);
		checked_expect(&checked, c->rule, found);
	}
}

/* A salt spreads the load of a prefix that it divides among its buckets. */
SUITE_TEST(test_a_divided_prefix_is_not_hot, 10)
{
	struct checked checked;
	struct heat heat;

	heat_begin(&heat);
	heat_salted(&heat, 50000);
	snprintf(heat.starts[7], sizeof(heat.starts[7]), "03#p04#1");
	checked_open(&checked, SALTED, true);
	feed(&checked, "p01#1", 1);
	wcs_advice_traffic(checked.advice, &heat.map, &heat.map);
	checked_expect(&checked, "hot-prefix", false);
}

/* Even traffic, a scan of the table and no traffic break no rule. */
SUITE_TEST(test_even_traffic, 10)
{
	for (uint64_t value = 0; value <= 10000; value += 5000) {
		struct checked checked;
		struct heat heat;

		heat_begin(&heat);
		for (size_t range = 0; range < HEAT_RANGES; range++)
			for (size_t minute = 0; minute < HEAT_MINUTES; minute++)
				heat_add(&heat, range, minute, value);
		checked_open(&checked, PLAIN, true);
		feed(&checked, "p01#1", 1);
		wcs_advice_traffic(checked.advice, &heat.map, &heat.map);
		checked_end(&checked);
		ck_assert_str_eq(checked.text, "");
		checked_close(&checked);
	}
}

/* ---- Samples ----------------------------------------------------------------------------- */

enum { SAMPLE_ROWS = 120000, SAMPLE_BATCH = 1000, SAMPLE_VALUE = 100 };

/* Rows of which those from the last quarter on begin with a mail address. */
static void sample_fill(struct suite *s, int rows)
{
	char line[256], value[SAMPLE_VALUE + 1] = "";
	struct wcs_import *import = suite_import(s->table);
	uint64_t state = 1;

	for (int i = 0; i < rows; i++) {
		for (int at = 0; at < SAMPLE_VALUE; at++) /* it must not be compressed */
			value[at] = (char)('a' + suite_random(&state) % 26);
		snprintf(line, sizeof(line),
			 "{\"key\":\"k%06d#%s\",\"families\":{\"f\":{\"q\":\"%s\"}}}\n", i,
			 i < rows / 4 * 3 ? "x" : "ann@example.com", value);
		SUITE_OK(suite_import_text(import, line, NULL));
	}
	SUITE_OK(wcs_import_finish(import, NULL));
	wcs_import_free(import);
}

/* The findings of the store, or an error. */
static int sample_read(struct suite *s, bool json, bool whole, char **text)
{
	struct wcs_advice_options options = {.json = json, .whole = whole};
	struct wcs_advice *advice;
	size_t len;
	int rc;

	options.to = open_memstream(text, &len);
	SUITE_OK(wcs_advice_new(&options, &advice));
	rc = wcs_advice_store(advice, s->store);
	wcs_advice_free(advice);
	SUITE_OK(fclose(options.to));
	return rc;
}

static double sample_number(const char *text, const char *member)
{
	const char *at = strstr(text, member);

	ck_assert_msg(at != NULL, "%s: %s", member, text);
	return strtod(at + strlen(member), NULL);
}

/* The share of a quarter is found within the error that the sample states, from rows all over the
 * table; and exactly, if all rows are read. */
SUITE_LEVELDB_STORE(test_a_large_table_is_sampled, 120)
{
	char *text;

	sample_fill(s, SAMPLE_ROWS);
	suite_reopen(s);
	SUITE_OK(sample_read(s, true, false, &text));
	ck_assert_ptr_nonnull(strstr(text, "\"rule\":\"personal-keys\""));
	ck_assert_double_le(sample_number(text, "\"rows\":"), WCS_ADVICE_ROWS);
	ck_assert_double_ge(sample_number(text, "\"rows\":"), WCS_ADVICE_ROWS / 2.0);
	ck_assert_double_ge(sample_number(text, "\"parts\":"), 10);
	ck_assert_double_eq_tol(sample_number(text, "\"value\":"), 0.25,
				sample_number(text, "\"error\":"));
	ck_assert_double_le(sample_number(text, "\"error\":"), 0.31);
	/* The family "a" has no cell, but a sample is no evidence of that. */
	ck_assert_ptr_null(strstr(text, "empty-family"));
	free(text);
	SUITE_OK(sample_read(s, true, true, &text));
	ck_assert_double_eq(sample_number(text, "\"rows\":"), SAMPLE_ROWS);
	ck_assert_double_eq(sample_number(text, "\"value\":"), 0.25);
	ck_assert_ptr_nonnull(strstr(text, "empty-family"));
	free(text);
	SUITE_OK(sample_read(s, false, false, &text));
	ck_assert_ptr_nonnull(strstr(text, "a sample in "));
	free(text);
}

/* Up to the limit all rows are read. */
SUITE_STORES(test_a_small_table_is_read_whole, 60)
{
	char *text;

	sample_fill(s, 1000);
	SUITE_OK(sample_read(s, false, false, &text));
	ck_assert_ptr_nonnull(strstr(text, "# table t: 1000 rows, 1000 cells, 100000 bytes of "
					   "values; all rows were read"));
	free(text);
}

static bool sample_interrupted(void)
{
	return true;
}

SUITE_LEVELDB_STORE(test_advice_can_be_interrupted, 60)
{
	const struct wcs_options options = {.interrupted = sample_interrupted};
	struct wcs_fault fault;
	char *text;

	sample_fill(s, 10000);
	suite_shut(s);
	SUITE_OK(wcs_store_open(s->path, &options, &s->store, &fault));
	ck_assert_int_eq(sample_read(s, true, false, &text), -EINTR);
	free(text);
	wcs_store_close(s->store);
	SUITE_OK(suite_try_open(s));
}
