/* SPDX-License-Identifier: MIT */
/* Aggregate families on both engines: the results of merges, and the refusals.
 * test_store_threads.c has concurrent merges. */
#include "tests/unit/suite.h"

#include "store/policy/hll.h"

/* The value that a line stands for; it stays until the test's end. */
static struct wcs_slice value_of(enum wcs_type type, const char *line)
{
	static unsigned char values[256][WCS_AGGREGATE_LINE_MAX];
	static size_t next;
	unsigned char *value = values[next++ % 256];
	size_t len;

	SUITE_OK(wcs_aggregate_line(type, line, strlen(line), value, &len));
	return (struct wcs_slice){value, len};
}

static void add_types(struct suite *s)
{
	SUITE_OK(wcs_family_set_type(s->table, "a", WCS_INTSUM));
	SUITE_OK(wcs_family_set_type(s->table, "b", WCS_INTHLL));
	SUITE_OK(wcs_family_create(s->table, "max"));
	SUITE_OK(wcs_family_set_type(s->table, "max", WCS_INTMAX));
	SUITE_OK(wcs_family_create(s->table, "min"));
	SUITE_OK(wcs_family_set_type(s->table, "min", WCS_INTMIN));
}

static enum wcs_type type_of(const struct suite *s, const char *family)
{
	struct wcs_family found;
	enum wcs_type type;

	SUITE_OK(wcs_family_get(s->table, family, &found));
	type = found.type;
	wcs_family_clear(&found);
	return type;
}

static int merge(struct suite *s, const char *family, int64_t ts, const char *line, int64_t *made)
{
	struct wcs_mutation *mutation = wcs_mutation_new();
	struct wcs_slice value = value_of(type_of(s, family), line);

	SUITE_OK(wcs_mutation_merge(mutation, family, suite_text("q"), ts, value));
	return suite_mutate(s->table, "r", mutation, made);
}

static int64_t merged(struct suite *s, const char *family, int64_t ts, const char *line)
{
	int64_t made;

	SUITE_OK(merge(s, family, ts, line, &made));
	return made;
}

/* The column as "ts=number" of its cells, newest first. */
static void expect(struct suite *s, const char *family, const char *expected)
{
	struct wcs_filter filter = {.each = WCS_EACH_CELL, .families = &family, .family_count = 1};
	char text[512] = "";
	struct wcs_scan *scan;
	struct wcs_cell cell;

	SUITE_OK(wcs_scan_open(s->table, &suite_all, 1, &filter, &scan));
	while (wcs_scan_next(scan, &cell) == 1) {
		unsigned char value[WCS_AGGREGATE_VALUE_MAX];
		size_t len = strlen(text), got;
		int64_t number;

		SUITE_OK(wcs_scan_read(scan, value, sizeof(value), 0, &got));
		ck_assert_uint_eq(got, cell.info.size);
		SUITE_OK(wcs_aggregate_number(type_of(s, family), (struct wcs_slice){value, got},
					      &number));
		snprintf(text + len, sizeof(text) - len, "%lld=%lld ", (long long)cell.info.ts,
			 (long long)number);
	}
	wcs_scan_close(scan);
	ck_assert_str_eq(text, expected);
}

SUITE_CONTRACT("store.h, Writing: wcs_mutation_merge and wcs_mutation_replace")
SUITE_STORES(test_merge_into_the_newest, 30)
{
	add_types(s);
	ck_assert_int_eq(merged(s, "a", WCS_TS_NEWEST, "5"), 1000000);
	s->clock = 2000000;
	ck_assert_int_eq(merged(s, "a", WCS_TS_NEWEST, "-7"), 1000000);
	expect(s, "a", "1000000=-2 ");
	merged(s, "max", WCS_TS_NEWEST, "-5");
	merged(s, "max", WCS_TS_NEWEST, "-7");
	expect(s, "max", "2000000=-5 ");
	merged(s, "max", WCS_TS_NEWEST, "3");
	expect(s, "max", "2000000=3 ");
	merged(s, "min", WCS_TS_NEWEST, "5");
	merged(s, "min", WCS_TS_NEWEST, "7");
	expect(s, "min", "2000000=5 ");
	merged(s, "min", WCS_TS_NEWEST, "-7");
	expect(s, "min", "2000000=-7 ");
	merged(s, "b", WCS_TS_NEWEST, "ann");
	merged(s, "b", WCS_TS_NEWEST, "bob");
	merged(s, "b", WCS_TS_NEWEST, "ann");
	expect(s, "b", "2000000=2 ");
}

SUITE_STORES(test_merge_into_buckets, 30)
{
	add_types(s);
	ck_assert_int_eq(merged(s, "a", 20, "1"), 20);
	ck_assert_int_eq(merged(s, "a", 10, "2"), 10);
	ck_assert_int_eq(merged(s, "a", 0, "4"), 0);
	ck_assert_int_eq(merged(s, "a", 10, "8"), 10);
	ck_assert_int_eq(merged(s, "a", WCS_TS_NEWEST, "16"), 20);
	expect(s, "a", "20=17 10=10 0=4 ");
	ck_assert_int_eq(merged(s, "a", WCS_TS_MAX, "1"), WCS_TS_MAX);
	ck_assert_int_eq(merged(s, "a", WCS_TS_NEWEST, "1"), WCS_TS_MAX);
	expect(s, "a", "9223372036854775807=2 20=17 10=10 0=4 ");
}

static int replace(struct suite *s, const char *family, const char *line, int64_t *made)
{
	struct wcs_mutation *mutation = wcs_mutation_new();
	struct wcs_slice value = value_of(type_of(s, family), line);

	SUITE_OK(wcs_mutation_replace(mutation, family, suite_text("q"), value));
	return suite_mutate(s->table, "r", mutation, made);
}

/* The newest cell keeps its timestamp; a hidden cell is no newest cell. */
SUITE_STORES(test_replace, 30)
{
	struct wcs_mutation *mutation = wcs_mutation_new();
	struct wcs_slice q = SUITE_BYTES("q");
	int64_t made;

	add_types(s);
	SUITE_OK(replace(s, "a", "5", &made));
	ck_assert_int_eq(made, 1000000);
	s->clock = 2000000;
	SUITE_OK(replace(s, "a", "7", &made));
	ck_assert_int_eq(made, 1000000);
	merged(s, "a", 10, "1");
	expect(s, "a", "1000000=7 10=1 ");
	wcs_mutation_merge(mutation, "a", q, WCS_TS_NEWEST, value_of(WCS_INTSUM, "100"));
	wcs_mutation_replace(mutation, "a", q, value_of(WCS_INTSUM, "1"));
	wcs_mutation_merge(mutation, "a", q, WCS_TS_NEWEST, value_of(WCS_INTSUM, "2"));
	SUITE_OK(suite_mutate(s->table, "r", mutation, &made));
	ck_assert_int_eq(made, 1000000);
	expect(s, "a", "1000000=3 10=1 ");
	mutation = wcs_mutation_new();
	wcs_mutation_delete_cell(mutation, "a", q, 1000000);
	wcs_mutation_replace(mutation, "a", q, value_of(WCS_INTSUM, "4"));
	SUITE_OK(suite_mutate(s->table, "r", mutation, &made));
	expect(s, "a", "10=4 ");
	suite_policy(s->table, "a", "maxage=1ms");
	SUITE_OK(replace(s, "a", "6", &made));
	ck_assert_int_eq(made, 2000000);
	expect(s, "a", "2000000=6 ");
	merged(s, "b", WCS_TS_NEWEST, "ann");
	merged(s, "b", WCS_TS_NEWEST, "bob");
	SUITE_OK(replace(s, "b", "eve", &made));
	expect(s, "b", "2000000=1 ");
	merged(s, "max", WCS_TS_MAX, "3");
	SUITE_OK(replace(s, "max", "2", &made));
	expect(s, "max", "9223372036854775807=2 ");
	mutation = wcs_mutation_new();
	wcs_mutation_replace(mutation, "f", q, value_of(WCS_INTSUM, "4"));
	ck_assert_int_eq(suite_mutate(s->table, "r", mutation, &made), -EINVAL);
}

/* Deletes come first; then each write sees the result of the writes before it. */
SUITE_STORES(test_merges_of_one_mutation, 30)
{
	struct wcs_slice q = SUITE_BYTES("q");
	struct wcs_mutation *mutation = wcs_mutation_new();
	int64_t made;

	add_types(s);
	merged(s, "a", 30, "1000");
	merged(s, "a", 20, "100");
	merged(s, "a", 10, "10");
	wcs_mutation_merge(mutation, "a", q, WCS_TS_NEWEST, value_of(WCS_INTSUM, "1"));
	wcs_mutation_merge(mutation, "a", q, 10, value_of(WCS_INTSUM, "2"));
	wcs_mutation_delete_cell(mutation, "a", q, 30);
	wcs_mutation_merge(mutation, "a", q, WCS_TS_NEWEST, value_of(WCS_INTSUM, "3"));
	wcs_mutation_set(mutation, "a", q, 25, value_of(WCS_INTSUM, "7"));
	wcs_mutation_increment(mutation, "a", q, 5);
	wcs_mutation_merge(mutation, "a", q, 30, value_of(WCS_INTSUM, "9"));
	wcs_mutation_merge(mutation, "a", q, 25, value_of(WCS_INTSUM, "1"));
	SUITE_OK(suite_mutate(s->table, "r", mutation, &made));
	ck_assert_int_eq(made, 25);
	expect(s, "a", "30=9 25=13 20=104 10=12 ");
	mutation = wcs_mutation_new();
	wcs_mutation_delete_row(mutation);
	wcs_mutation_merge(mutation, "a", q, 10, value_of(WCS_INTSUM, "2"));
	SUITE_OK(suite_mutate(s->table, "r", mutation, &made));
	expect(s, "a", "10=2 ");
}

SUITE_STORES(test_overflow_changes_nothing, 30)
{
	struct wcs_mutation *mutation = wcs_mutation_new();

	add_types(s);
	merged(s, "a", 10, "9223372036854775800");
	ck_assert_int_eq(merge(s, "a", 10, "8", NULL), -EOVERFLOW);
	ck_assert_int_eq(merge(s, "a", WCS_TS_NEWEST, "8", NULL), -EOVERFLOW);
	wcs_mutation_merge(mutation, "a", suite_text("q"), 5, value_of(WCS_INTSUM, "1"));
	wcs_mutation_increment(mutation, "a", suite_text("q"), 8);
	ck_assert_int_eq(suite_mutate(s->table, "r", mutation, NULL), -EOVERFLOW);
	expect(s, "a", "10=9223372036854775800 ");
	merged(s, "a", 10, "7");
	merged(s, "max", 10, "9223372036854775807");
	merged(s, "max", 10, "9223372036854775807");
	merged(s, "min", 10, "-9223372036854775808");
	merged(s, "min", 10, "-9223372036854775808");
	expect(s, "a", "10=9223372036854775807 ");
	expect(s, "max", "10=9223372036854775807 ");
	expect(s, "min", "10=-9223372036854775808 ");
}

static int mutate_one(struct suite *s, int kind, const char *family, struct wcs_slice value)
{
	struct wcs_mutation *mutation = wcs_mutation_new();
	struct wcs_slice q = SUITE_BYTES("q");

	switch (kind) {
	case 0:
		wcs_mutation_set(mutation, family, q, 1, value);
		break;
	case 1:
		wcs_mutation_set_newest(mutation, family, q, 1, value);
		break;
	case 2:
		wcs_mutation_append(mutation, family, q, value, WCS_TS_NONE);
		break;
	case 3:
		wcs_mutation_increment(mutation, family, q, 1);
		break;
	default:
		wcs_mutation_merge(mutation, family, q, 1, value);
		break;
	}
	return suite_mutate(s->table, "r", mutation, NULL);
}

SUITE_STORES(test_refuses, 30)
{
	static const char *const families[] = {"a", "min", "max", "b"};
	struct wcs_slice text = SUITE_BYTES("5"), integer = SUITE_BYTES("\0\0\0\0\0\0\0\5");
	struct wcs_slice state = SUITE_BYTES("\1\0");

	add_types(s);
	for (int i = 0; i < 4; i++) {
		struct wcs_slice good = i < 3 ? integer : state, bad = i < 3 ? state : integer;

		for (int kind = 0; kind < 5; kind++)
			if (kind != 3)
				ck_assert_int_eq(mutate_one(s, kind, families[i], text), -EINVAL);
		ck_assert_int_eq(mutate_one(s, 0, families[i], bad), -EINVAL);
		ck_assert_int_eq(mutate_one(s, 2, families[i], good), -EINVAL);
		ck_assert_int_eq(mutate_one(s, 4, families[i], bad), -EINVAL);
		if (i > 0)
			ck_assert_int_eq(mutate_one(s, 3, families[i], good), -EINVAL);
	}
	ck_assert_int_eq(mutate_one(s, 4, "f", integer), -EINVAL);
	suite_expect(s->table, "");
	for (int i = 0; i < 4; i++)
		for (int kind = 0; kind < 5; kind++)
			if (kind != 2 && (i == 0 || kind != 3))
				SUITE_OK(mutate_one(s, kind, families[i], i < 3 ? integer : state));
	expect(s, "a", "1=11 ");
}

SUITE_CONTRACT("store.h, Garbage collection: a policy hides cells from all reads")
/* A merge does not see hidden cells; it sees shown cells, at any rank. */
SUITE_STORES(test_hidden_cells_do_not_count, 30)
{
	add_types(s);
	merged(s, "a", 400, "1");
	merged(s, "a", 300, "2");
	merged(s, "a", 200, "9223372036854775807");
	suite_policy(s->table, "a", "maxversions=2");
	merged(s, "a", 300, "4");
	expect(s, "a", "400=1 300=6 ");
	merged(s, "a", 200, "8");
	expect(s, "a", "400=1 300=6 ");
	suite_policy(s->table, "a", "never");
	expect(s, "a", "400=1 300=6 200=8 ");
	suite_policy(s->table, "a", "maxage=1ms");
	ck_assert_int_eq(merged(s, "a", WCS_TS_NEWEST, "16"), 1000000);
	expect(s, "a", "1000000=16 ");
}

/* Nor does it see cells that newer cells of the same mutation hide. */
SUITE_STORES(test_cells_hidden_meanwhile, 30)
{
	struct wcs_mutation *mutation = wcs_mutation_new();
	struct wcs_slice q = SUITE_BYTES("q");

	add_types(s);
	merged(s, "a", 50, "1");
	merged(s, "a", 10, "2");
	suite_policy(s->table, "a", "maxversions=3");
	wcs_mutation_merge(mutation, "a", q, 20, value_of(WCS_INTSUM, "1"));
	wcs_mutation_merge(mutation, "a", q, 20, value_of(WCS_INTSUM, "1"));
	wcs_mutation_merge(mutation, "a", q, 50, value_of(WCS_INTSUM, "1"));
	wcs_mutation_merge(mutation, "a", q, 20, value_of(WCS_INTSUM, "1"));
	wcs_mutation_merge(mutation, "a", q, 30, value_of(WCS_INTSUM, "4"));
	wcs_mutation_merge(mutation, "a", q, 20, value_of(WCS_INTSUM, "1"));
	wcs_mutation_merge(mutation, "a", q, 10, value_of(WCS_INTSUM, "7"));
	wcs_mutation_merge(mutation, "a", q, 40, value_of(WCS_INTSUM, "5"));
	wcs_mutation_merge(mutation, "a", q, 20, value_of(WCS_INTSUM, "8"));
	SUITE_OK(suite_mutate(s->table, "r", mutation, NULL));
	expect(s, "a", "50=2 40=5 30=4 ");
	suite_policy(s->table, "a", "never");
	expect(s, "a", "50=2 40=5 30=4 20=8 10=7 ");
}

enum { MANY = 50000 };

/* Each timestamp once, rising, falling or in no order. */
static int64_t many_ts(int order, int64_t i)
{
	return order == 0 ? i : order == 1 ? MANY - 1 - i : i * 12347 % MANY;
}

SUITE_CONTRACT("store.h, Writing: a mutation is atomic, several merges add up")
/* Many cells of one column in one mutation. */
SUITE_LEVELDB_STORE(test_many_cells, 60)
{
	struct wcs_slice q = SUITE_BYTES("q"), one = value_of(WCS_INTSUM, "1");

	add_types(s);
	for (int order = 0; order < 3; order++) {
		struct wcs_mutation *mutation = wcs_mutation_new();
		struct wcs_scan *scan;
		struct wcs_cell cell;

		for (int64_t i = 0; i < 2 * MANY; i++)
			wcs_mutation_merge(mutation, "a", q, many_ts(order, i % MANY), one);
		SUITE_OK(suite_mutate(s->table, "r", mutation, NULL));
		SUITE_OK(wcs_scan_open(s->table, &suite_all, 1, &suite_cells, &scan));
		for (int64_t ts = MANY; ts-- > 0;) {
			unsigned char value[WCS_AGGREGATE_LINE_MAX];
			struct wcs_slice read = {value, 0};
			int64_t found;

			ck_assert_int_eq(wcs_scan_next(scan, &cell), 1);
			ck_assert_int_eq(cell.info.ts, ts);
			SUITE_OK(wcs_scan_read(scan, value, sizeof(value), 0, &read.len));
			SUITE_OK(wcs_aggregate_number(WCS_INTSUM, read, &found));
			ck_assert_int_eq(found, 2 * (order + 1));
		}
		ck_assert_int_eq(wcs_scan_next(scan, &cell), 0);
		wcs_scan_close(scan);
	}
}

/* fuzz_aggregate.c compares integers in lines with strtoll. */
SUITE_TEST(test_lines, 30)
{
	unsigned char value[WCS_AGGREGATE_LINE_MAX];
	size_t len;

	SUITE_OK(wcs_aggregate_line(WCS_INTMAX, "256", 3, value, &len));
	ck_assert_uint_eq(len, 8);
	ck_assert_mem_eq(value, "\0\0\0\0\0\0\1\0", 8);
	ck_assert_int_eq(wcs_aggregate_line(WCS_INTSUM, "1\0", 2, value, &len), -EINVAL);
	ck_assert_int_eq(wcs_aggregate_line(WCS_BYTES, "1", 1, value, &len), -EINVAL);
	SUITE_OK(wcs_aggregate_line(WCS_INTHLL, "", 0, value, &len));
	ck_assert_uint_eq(len, WCS_HLL_ELEMENT);
}
