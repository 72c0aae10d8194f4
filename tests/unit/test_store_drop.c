/* SPDX-License-Identifier: MIT */
/* Drops of rows on both engines. */
#include "store/mutation.h"

#include "tests/unit/suite.h"

static void expect_counted(const struct wcs_count *count, uint64_t rows, uint64_t cells,
			   uint64_t bytes)
{
	ck_assert_uint_eq(count->rows, rows);
	ck_assert_uint_eq(count->cells, cells);
	ck_assert_uint_eq(count->bytes, bytes);
}

static void expect_count(struct wcs_table *table, const struct wcs_slice *key, uint64_t rows,
			 uint64_t cells, uint64_t bytes)
{
	struct wcs_count count = {.rows = 99};

	SUITE_OK(wcs_rows_count(table, key, NULL, &count));
	expect_counted(&count, rows, cells, bytes);
}

static void drop_fill(struct suite *s)
{
	suite_set(s->table, "#x", "f", "q", 1, "0");
	suite_set(s->table, "a", "f", "q", 1, "1");
	suite_set(s->table, "a", "f", "q", 2, "22");
	suite_set(s->table, "a", "f", "r", 1, "333");
	suite_set(s->table, "a!b", "f", "q", 1, "between");
	suite_set(s->table, "a#", "a", "", 1, "4");
	suite_set(s->table, "a#b", "f", "q", 1, "5");
	suite_set(s->table, "a#b#c", "f", "q", 1, "6");
	suite_set(s->table, "a$", "f", "q", 1, "behind");
	suite_set(s->table, "ab", "f", "q", 1, "another");
}

#define A_ROWS "a/f/q@2=22 a/f/q@1=1 a/f/r@1=333 "
#define A_HASH "a#/a/@1=4 "
#define A_REST "a#b/f/q@1=5 a#b#c/f/q@1=6 "
#define OTHERS "a$/f/q@1=behind ab/f/q@1=another "

SUITE_CONTRACT("store.h, Writing: wcs_rows_drop")
/* A drop takes a row and those below it; keys that only begin alike stay, also those between. No
 * row has the empty key, but rows are below it. */
SUITE_STORES(test_drop, 10)
{
	static const struct {
		const char *key; /* NULL: of all */
		uint64_t rows, cells, bytes;
		const char *left;
	} cases[] = {
		{"a", 4, 6, 9, "#x/f/q@1=0 a!b/f/q@1=between " OTHERS},
		{"a#b#c", 1, 1, 1,
		 "#x/f/q@1=0 " A_ROWS "a!b/f/q@1=between " A_HASH "a#b/f/q@1=5 " OTHERS},
		{"a#c", 0, 0, 0, "#x/f/q@1=0 " A_ROWS "a!b/f/q@1=between " A_HASH A_REST OTHERS},
		{"", 1, 1, 1, A_ROWS "a!b/f/q@1=between " A_HASH A_REST OTHERS},
		{NULL, 8, 10, 30, ""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct wcs_slice bytes = suite_text(cases[i].key != NULL ? cases[i].key : "");
		const struct wcs_slice *key = cases[i].key != NULL ? &bytes : NULL;

		drop_fill(s);
		expect_count(s->table, key, cases[i].rows, cases[i].cells, cases[i].bytes);
		SUITE_OK(wcs_rows_drop(s->table, key));
		suite_expect(s->table, cases[i].left);
		expect_count(s->table, key, 0, 0, 0);
	}
	suite_set(s->table, "a#b", "f", "q", 1, "again");
	expect_count(s->table, &SUITE_BYTES("a"), 1, 1, 5);
}

SUITE_STORES(test_drop_limits, 10)
{
	char *bytes = suite_pattern(WCS_ROW_KEY_MAX + 1, 1);
	struct wcs_slice longest = {bytes, suite_row_max(s)}, longer = {bytes, WCS_ROW_KEY_MAX + 1};
	struct wcs_mutation *mutation = wcs_mutation_new();
	struct wcs_count count;

	wcs_mutation_set(mutation, "f", suite_text("q"), 1, suite_text("v"));
	SUITE_OK(wcs_row_mutate(s->table, longest, mutation, NULL));
	wcs_mutation_free(mutation);
	ck_assert_int_eq(wcs_rows_drop(s->table, &longer), -ENAMETOOLONG);
	ck_assert_int_eq(wcs_rows_count(s->table, &longer, NULL, &count), -ENAMETOOLONG);
	expect_count(s->table, &longest, 1, 1, 1);
	SUITE_OK(wcs_rows_drop(s->table, &longest));
	suite_expect(s->table, "");
	free(bytes);
}

/* Another delimiter makes other rows be below. */
SUITE_STORES(test_drop_with_another_delimiter, 10)
{
	struct wcs_slice key = SUITE_BYTES("a");

	ck_assert_int_eq(wcs_table_set_delimiter(s->table, 0x7f, NULL), 0);
	suite_set(s->table, "a", "f", "q", 1, "1");
	suite_set(s->table, "a#b", "f", "q", 1, "2");
	suite_set(s->table, "a\x7f", "f", "q", 1, "3");
	suite_set(s->table, "a\x80", "f", "q", 1, "4");
	SUITE_OK(wcs_rows_drop(s->table, &key));
	suite_expect(s->table, "a#b/f/q@1=2 a\\80/f/q@1=4 ");
}

SUITE_STORES(test_drop_leaves_other_tables, 10)
{
	struct wcs_table *other;

	SUITE_OK(wcs_table_create(s->store, "u"));
	SUITE_OK(wcs_table_open(s->store, "u", &other));
	SUITE_OK(wcs_family_create(other, "f"));
	suite_set(s->table, "\xff\xff", "f", "q", 1, "t");
	suite_set(other, "\x01", "f", "q", 1, "u");
	suite_set(other, "\xff\xff", "f", "q", 1, "u");
	SUITE_OK(wcs_rows_drop(s->table, NULL));
	suite_expect(s->table, "");
	suite_expect(other, "\\01/f/q@1=u \\FF\\FF/f/q@1=u ");
	wcs_table_close(other);
}

static void expect_family(struct wcs_table *table, const char *name, uint64_t rows, uint64_t cells,
			  uint64_t bytes)
{
	struct wcs_count count;

	SUITE_OK(wcs_family_count(table, name, &count));
	expect_counted(&count, rows, cells, bytes);
}

SUITE_CONTRACT("store.h, Tables: wcs_family_drop")
/* More versions of one column than go at once, hidden ones, and those of the first and last time.
 */
SUITE_STORES(test_family_drop, 30)
{
	drop_fill(s);
	suite_set(s->table, "a", "b", "q", 1, "other");
	suite_set(s->table, "z", "f", "q", 0, "first");
	suite_set(s->table, "z", "f", "q", WCS_TS_MAX, "last");
	suite_set_versions(s->table, "many", "f", 4500);
	suite_policy(s->table, "f", "maxversions=4200");
	expect_family(s->table, "a", 1, 1, 1);
	expect_family(s->table, "b", 1, 1, 5);
	expect_family(s->table, "none", 0, 0, 0);
	ck_assert_int_eq(wcs_family_drop(s->table, "none"), -ENOENT);
	SUITE_OK(wcs_family_drop(s->table, "f"));
	suite_expect(s->table, "a/b/q@1=other a#/a/@1=4 ");
	expect_family(s->table, "f", 0, 0, 0);
	suite_policy(s->table, "f", "never");
	suite_expect(s->table, "a/b/q@1=other a#/a/@1=4 ");
	suite_set(s->table, "a", "f", "q", 1, "again");
	suite_expect(s->table, "a/b/q@1=other a/f/q@1=again a#/a/@1=4 ");
	SUITE_OK(wcs_family_drop(s->table, "f"));
	SUITE_OK(wcs_family_remove(s->table, "f"));
	SUITE_OK(wcs_table_set_protected(s->table, true));
	ck_assert_int_eq(wcs_family_drop(s->table, "a"), -EPERM);
	suite_expect(s->table, "a/b/q@1=other a#/a/@1=4 ");
}

SUITE_CONTRACT("store.h, Tables: wcs_table_drop")
SUITE_STORES(test_table_drop, 10)
{
	struct wcs_table *again;

	drop_fill(s);
	SUITE_OK(wcs_table_set_protected(s->table, true));
	ck_assert_int_eq(wcs_table_drop(s->table), -EPERM);
	SUITE_OK(wcs_table_set_protected(s->table, false));
	SUITE_OK(wcs_table_drop(s->table));
	ck_assert_int_eq(wcs_table_drop(s->table), -ENOENT);
	suite_expect_schema(s->store, "");
	SUITE_OK(wcs_table_create(s->store, "t"));
	SUITE_OK(wcs_table_open(s->store, "t", &again));
	SUITE_OK(wcs_family_create(again, "f"));
	suite_expect(again, "");
	wcs_table_close(again);
}
