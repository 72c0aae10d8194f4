/* SPDX-License-Identifier: MIT */
/* Advice about stores: samples of large tables, and rules about traffic. */
#include "tests/unit/advice.h"
#include "tests/unit/heat.h"

/* ---- Traffic ----------------------------------------------------------------------------- */

/* Adds the same to each value of a range. */
static void heat_range(struct wcs_heat_map *map, size_t range, uint64_t value)
{
	for (size_t c = 0; c < map->columns; c++)
		heat_map_add(map, range, c, value);
}

/* The range t040# has that many percent of the operations. */
static void heat_hot(struct wcs_heat_map *map, unsigned int percent)
{
	for (size_t r = 0; r < map->rows; r++)
		heat_range(map, r, r == 40 ? percent * 99 : 100 - percent);
}

static void heat_hot_row(struct wcs_heat_map *map, unsigned int percent)
{
	heat_hot(map, percent);
	map->ranges[40].row = true;
}

/* Each minute the next range has that many percent of the writes, and the others are far from it.
 */
static void heat_end(struct wcs_heat_map *map, unsigned int percent)
{
	for (size_t c = 0; c < map->columns; c++)
		heat_map_add(map, 20 + c, c, 20 * percent);
	for (size_t i = 0; i < 20; i++)
		heat_range(map, i < 10 ? i : 80 + i, 100 - percent);
}

/* A hot row, and 9,960 operations and more. */
static void heat_little(struct wcs_heat_map *map, unsigned int more)
{
	heat_range(map, 40, 166);
	map->ranges[40].row = true;
	heat_map_add(map, 1, 0, more);
}

/* Two hot ranges, or rows. */
static void heat_two(struct wcs_heat_map *map, unsigned int rows)
{
	for (size_t r = 0; r < map->rows; r++)
		heat_range(map, r, r == 40 || r == 70 ? 500 : 5);
	map->ranges[40].row = map->ranges[70].row = rows > 0;
}

static void heat_even(struct wcs_heat_map *map, unsigned int value)
{
	for (size_t r = 0; r < map->rows; r++)
		heat_range(map, r, value);
}

static const struct heat_case {
	const char *rule, *key; /* that is the evidence; NULL: there is none */
	void (*fill)(struct wcs_heat_map *map, unsigned int of);
	unsigned int of;
} heat_cases[] = {
	{"hot-row", "t040#", heat_hot_row, 21}, {"hot-row", NULL, heat_hot_row, 20},
	{"hot-prefix", "t040", heat_hot, 31},	{"hot-prefix", NULL, heat_hot, 30},
	{"hot-end", "t020#", heat_end, 51},	{"hot-end", NULL, heat_end, 50},
	{"hot-row", "t040#", heat_little, 40},	{"hot-row", NULL, heat_little, 39},
	{"hot-row", "t040#", heat_two, 1},	{"hot-row", "t070#", heat_two, 1},
	{"hot-prefix", "t040", heat_two, 0},	{"hot-prefix", "t070", heat_two, 0},
	{"rule", NULL, heat_even, 0},		{"rule", NULL, heat_even, 5000},
	{"rule", NULL, heat_even, 10000},
};

/* Checks the findings of a table with that traffic, frees the map. key NULL: there is none. */
static void heat_expect(const char *table, struct wcs_heat_map *map, const char *rule,
			const char *key)
{
	struct checked checked;
	char member[80];

	checked_open(&checked, table, true);
	feed(&checked, "p01#1", 1);
	SUITE_OK(wcs_advice_traffic(checked.advice, map, map));
	checked_end(&checked);
	ck_assert_msg((strstr(checked.text, rule) != NULL) == (key != NULL), "%s", checked.text);
	snprintf(member, sizeof(member), "\"keys\":[\"%s\"]", key ? key : "");
	ck_assert_msg(key == NULL || strstr(checked.text, member), "%s", checked.text);
	checked_close(&checked);
	heat_map_free(map);
}

SUITE_LOOP(test_traffic_rules, sizeof(heat_cases) / sizeof(*heat_cases), 10)
{
	const struct heat_case *c = &heat_cases[_i];
	struct wcs_heat_map *map = heat_map_plain(100, 60, WCS_HEAT_OPS);

	c->fill(map, c->of);
	heat_expect(PLAIN, map, c->rule, c->key);
}

/* A part of a segment is no name where a codec shows its bytes as others: the range's first key is.
 */
SUITE_TEST(test_a_hot_prefix_of_domains, 10)
{
	static const char *const starts[] = {"",
					     "com.google.mail#",
					     "com.google.maps#",
					     "com.n",
					     "com.o",
					     "com.p",
					     "com.q",
					     "com.r",
					     "com.s",
					     "com.t"};
	static const struct {
		const char *table, *key;
	} cases[] = {
		{PLAIN, "com.google.ma"},
		{"{\"keys\":{\"segments\":[{\"name\":\"a\",\"codec\":\"reverse-domain\"}]}}",
		 "mail.google.com#"},
	};

	for (size_t i = 0; i < 2; i++) {
		struct wcs_heat_map *map = heat_map_new(starts, 10, 60, WCS_HEAT_OPS);

		for (size_t r = 0; r < 10; r++)
			heat_range(map, r, r == 1 || r == 2 ? 5000 : 200);
		heat_expect(cases[i].table, map, "hot-prefix", cases[i].key);
	}
}

/* A prefix that is hot in each bucket of a salt is one finding. */
SUITE_TEST(test_a_hot_prefix_of_two_buckets, 10)
{
	static const char *const table =
		"{\"keys\":{\"segments\":[\"a\"],\"salt\":{\"buckets\":2,\"segments\":2}}}";
	char keys[20][16];
	const char *starts[21] = {""}, *first;
	struct checked checked;
	struct wcs_heat_map *map;

	for (size_t i = 0; i < 20; i++) {
		snprintf(keys[i], sizeof(keys[i]), "%02zu#%s%zu#", i / 10,
			 i % 10 == 0 ? "acme" : "c", i % 10);
		starts[i + 1] = keys[i];
	}
	map = heat_map_new(starts, 21, 60, WCS_HEAT_OPS);
	for (size_t r = 1; r < 21; r++)
		heat_range(map, r, r == 1 || r == 11 ? 5000 : 200);
	checked_open(&checked, table, true);
	SUITE_OK(wcs_advice_traffic(checked.advice, map, map));
	checked_end(&checked);
	first = strstr(checked.text, "hot-prefix");
	ck_assert_msg(strstr(checked.text, "\"value\":0.74"), "%s", checked.text);
	ck_assert_msg(first && !strstr(first + 1, "hot-prefix"), "%s", checked.text);
	checked_close(&checked);
	heat_map_free(map);
}

/* A salt spreads the load of a prefix that it divides among its buckets, and of sequential keys. */
SUITE_TEST(test_the_traffic_of_salted_tables, 10)
{
	char keys[100][16];
	const char *starts[101] = {""};
	struct wcs_heat_map *map;

	for (size_t i = 0; i < 100; i++) {
		snprintf(keys[i], sizeof(keys[i]), "%02zu#p%02zu#", i / 25, i % 25);
		starts[i + 1] = keys[i];
	}
	for (int divided = 0; divided <= 1; divided++) {
		map = heat_map_new(starts, 101, 60, WCS_HEAT_OPS);
		for (size_t r = 0; r < 100; r++)
			heat_range(map, r + 1, r % 25 == 4 && (divided || r / 25 == 2) ? 1000 : 10);
		heat_expect(SALTED, map, "hot-prefix", divided ? NULL : "p04");
	}
	map = heat_map_new(starts, 101, 60, WCS_HEAT_OPS);
	heat_end(map, 90);
	heat_expect(SALTED, map, "hot-end", NULL);
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
static int sample_read(struct suite *s, struct wcs_advice_options options, char **text)
{
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

/* The findings of a sample: of a table with more than 10,000 rows. */
static void sample_take(struct suite *s, bool json, char **text)
{
	SUITE_OK(sample_read(s, (struct wcs_advice_options){.json = json, .rows = 10000}, text));
}

/* Rows of a sample are from all over the table. */
SUITE_LEVELDB_STORE(test_a_large_table_is_sampled, 120)
{
	uint64_t read, of;
	double share;
	char *text;

	sample_fill(s, SAMPLE_ROWS);
	suite_reopen(s);
	sample_take(s, true, &text);
	ck_assert_ptr_nonnull(strstr(text, "\"rule\":\"personal-keys\""));
	share = strtod(strstr(text, "\"value\":") + strlen("\"value\":"), NULL);
	ck_assert_double_eq_tol(share, 0.25, 0.05);
	/* The family "a" has no cell, but a sample is no evidence of that. */
	ck_assert_ptr_null(strstr(text, "empty-family"));
	free(text);
	sample_take(s, false, &text);
	ck_assert_int_eq(sscanf(strstr(text, "a sample of "), "a sample of %lu of about %lu rows",
				&read, &of),
			 2);
	ck_assert_uint_lt(read, 20000);
	ck_assert_uint_gt(of, SAMPLE_ROWS / 2);
	ck_assert_uint_lt(of, SAMPLE_ROWS * 2);
	free(text);
	SUITE_OK(sample_read(s, (struct wcs_advice_options){.json = true, .whole = true}, &text));
	ck_assert_ptr_nonnull(strstr(text, "\"value\":0.25,"));
	ck_assert_ptr_nonnull(strstr(text, "empty-family"));
	free(text);
}

/* Tables of 40,000 rows. The key has the form `form`, of the row's number divided by `divisor`, and
 * of the number. The last 100 of each `every` rows have the form `other` and values of 3000 bytes.
 */
static const struct sampled_case {
	const char *rule, *form, *other;
	int engine, divisor, every, value;
	bool found;
} sampled_cases[] = {
	{"personal-keys", "u%06d#n%d", "u%06d#ann%d@example.com", SUITE_LEVELDB, 1, 1000, 100,
	 true},
	/* 0.5 %, which have most of the bytes, are no 1 %. */
	{"personal-keys", "u%06d#n%d", "u%06d#ann%d@example.com", SUITE_LEVELDB, 1, 20000, 3,
	 false},
	/* Rows of one tenant that follow one another are no evidence about 16 buckets. */
	{"salt-uneven", "t%02d#%06d", NULL, SUITE_SALTED_ONE, 100000, 0, 100, false},
	{"writes-at-end", "%06d#%06d", NULL, SUITE_LEVELDB, 1, 0, 100, true},
	{"writes-at-end", "tenant#%06d#%06d", NULL, SUITE_LEVELDB, 1, 0, 100, true},
	/* A sample may lack the large values. */
	{"long-names", "%06d#%06d", NULL, SUITE_LEVELDB, 1, 0, 1, false},
};

static void sampled_fill(struct suite *s, const struct sampled_case *c)
{
	struct wcs_import *import = suite_import(s->table);
	static char line[8192], value[3001];
	uint64_t state = 1;
	char key[64];

	for (int i = 0; i < 40000; i++) {
		bool other = c->every > 0 && i % c->every >= c->every - 100;
		int len = other ? 3000 : c->value;

		for (int at = 0; at < len; at++)
			value[at] = (char)('a' + suite_random(&state) % 26);
		value[len] = '\0';
		snprintf(key, sizeof(key), other ? c->other : c->form, i / c->divisor, i);
		snprintf(line, sizeof(line),
			 "{\"key\":\"%s\",\"families\":{\"f\":{\"%s\":[{\"ts\":%d,"
			 "\"value\":\"%s\"}]}}}\n",
			 key, strcmp(c->rule, "long-names") ? "q" : "a-long-qualifier-of-30-bytes",
			 i * 2000, value);
		SUITE_OK(suite_import_text(import, line, NULL));
	}
	SUITE_OK(wcs_import_finish(import, NULL));
	wcs_import_free(import);
}

/* A sample finds a fault only if it is evidence of it. */
SUITE_LOOP(test_evidence_of_samples, sizeof(sampled_cases) / sizeof(*sampled_cases), 120)
{
	const struct sampled_case *c = &sampled_cases[_i];
	struct suite s;
	char *text;

	suite_open(&s, c->engine);
	sampled_fill(&s, c);
	suite_reopen(&s);
	sample_take(&s, true, &text);
	ck_assert_msg((strstr(text, c->rule) != NULL) == c->found, "%s", text);
	free(text);
	sample_take(&s, false, &text);
	ck_assert_ptr_nonnull(strstr(text, "a sample of "));
	free(text);
	suite_close(&s);
}

/* Up to the limit all rows are read. */
SUITE_STORES(test_a_small_table_is_read_whole, 60)
{
	char *text;

	sample_fill(s, 1000);
	SUITE_OK(sample_read(s, (struct wcs_advice_options){.json = false}, &text));
	ck_assert_ptr_nonnull(strstr(text, "# table t: 1000 rows, 1000 cells, 100000 bytes of "
					   "values; all rows were read"));
	free(text);
}

/* What has not reached a table file yet has no splits. */
SUITE_LEVELDB_STORE(test_without_splits_the_first_rows_are_read, 60)
{
	char *text;

	sample_fill(s, 2000);
	SUITE_OK(sample_read(s, (struct wcs_advice_options){.rows = 1000}, &text));
	ck_assert_msg(strstr(text, "# table t: 1000 rows, 1000 cells, 100000 bytes of values; "
				   "the first rows of a larger table") != NULL,
		      "%s", text);
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
	ck_assert_int_eq(sample_read(s, (struct wcs_advice_options){.json = true}, &text), -EINTR);
	free(text);
	wcs_store_close(s->store);
	SUITE_OK(suite_try_open(s));
}
