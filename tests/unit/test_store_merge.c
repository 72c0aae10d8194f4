/* SPDX-License-Identifier: MIT */
/* Row mutations on both engines that merge with existing values: appends and increments. */
#include "tests/unit/suite.h"

static const struct wcs_slice q = {"q", 1};

static int64_t write_append_for(struct wcs_table *table, const char *row, const char *data,
				int64_t replaces)
{
	struct wcs_mutation *mutation = wcs_mutation_new();
	int64_t ts;

	SUITE_OK(wcs_mutation_append(mutation, "f", q, suite_text(data), replaces));
	SUITE_OK(suite_mutate(table, row, mutation, &ts));
	return ts;
}

static int write_increment(struct wcs_table *table, const char *row, int64_t delta, int64_t *ts)
{
	struct wcs_mutation *mutation = wcs_mutation_new();

	SUITE_OK(wcs_mutation_increment(mutation, "f", q, delta));
	return suite_mutate(table, row, mutation, ts);
}

SUITE_CONTRACT("store.h, Writing: wcs_mutation_append")
SUITE_STORES(test_append_for_an_earlier_cell, 10)
{
	struct wcs_cell_info gone;
	int64_t first, other;

	first = write_append_for(s->table, "r", "a", WCS_TS_NONE);
	ck_assert_int_eq(write_append_for(s->table, "r", "b", first), first);
	suite_expect_value(s->table, "r", "f", "q", WCS_TS_NEWEST, "ab");
	other = write_append_for(s->table, "r", "X", WCS_TS_NONE);
	ck_assert_int_gt(other, first);
	/* Another writer appended in between: its text stays, and the earlier cell goes. */
	ck_assert_int_gt(write_append_for(s->table, "r", "c", first), other);
	suite_expect_value(s->table, "r", "f", "q", WCS_TS_NEWEST, "abXc");
	suite_expect_value(s->table, "r", "f", "q", other, "abX");
	ck_assert_int_eq(wcs_cell_get(s->table, suite_text("r"), "f", q, first, &gone), -ENOENT);
}

SUITE_STORES(test_append, 10)
{
	int64_t ts = 0;

	SUITE_OK(suite_append(s->table, "r", "ab", &ts));
	ck_assert_int_eq(ts, 1000000);
	SUITE_OK(suite_append(s->table, "r", "cd", &ts));
	ck_assert_int_eq(ts, 1000001);
	SUITE_OK(suite_append(s->table, "r", "", &ts));
	suite_expect(s->table, "r/f/q@1000002=abcd r/f/q@1000001=abcd r/f/q@1000000=ab ");
}

SUITE_HEAVY_STORES(test_append_over_the_limit, 60)
{
	char *bytes = suite_pattern(WCS_VALUE_MAX, 1);
	struct wcs_slice large = {bytes, WCS_VALUE_MAX};
	struct wcs_cell_info info;

	suite_put(s->table, suite_text("r"), "f", q, 1, large);
	ck_assert_int_eq(s->warnings, 1);
	ck_assert_ptr_nonnull(strstr(s->log, "104857600"));
	ck_assert_int_eq(suite_append(s->table, "r", "x", NULL), -EFBIG);
	SUITE_OK(wcs_cell_get(s->table, suite_text("r"), "f", q, WCS_TS_NEWEST, &info));
	ck_assert_int_eq(info.ts, 1);
	free(bytes);
}

/* The size of the resulting value counts, not that of the appended piece. */
SUITE_HEAVY_STORES(test_append_warns_of_the_whole_value, 30)
{
	const size_t piece = 6u << 20;
	char *bytes = suite_pattern(piece, 4);

	for (int i = 1; i <= 3; i++) {
		struct wcs_mutation *mutation = wcs_mutation_new();

		wcs_mutation_append(mutation, "f", q, (struct wcs_slice){bytes, piece},
				    WCS_TS_NONE);
		SUITE_OK(suite_mutate(s->table, "r", mutation, NULL));
		ck_assert_int_eq(s->warnings, i - 1);
	}
	ck_assert_ptr_nonnull(strstr(s->log, "family f: a value of 18874368 bytes"));
	free(bytes);
}

SUITE_CONTRACT("store.h, Writing: wcs_mutation_delete_cell")
/* A mutation that looks at one column only, in a row whose first cells were deleted: it must find
 * its column behind any number of tombstones. */
SUITE_STORES(test_delete_one_by_one, 30)
{
	char name[16];

	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "q%03d", i);
		suite_set(s->table, "r", "f", name, 1, "v");
		suite_set(s->table, "r", "f", name, 2, "w");
	}
	for (int i = 0; i < 300; i++) {
		struct wcs_mutation *mutation = wcs_mutation_new();

		snprintf(name, sizeof(name), "q%03d", i);
		if (i % 2)
			wcs_mutation_delete_column(mutation, "f", suite_text(name));
		else
			wcs_mutation_delete_cell(mutation, "f", suite_text(name), 2);
		SUITE_OK(suite_mutate(s->table, "r", mutation, NULL));
		suite_expect_value(s->table, "r", "f", name, WCS_TS_NEWEST, i % 2 ? "-" : "v");
		suite_expect_value(s->table, "r", "f", "q299", WCS_TS_NEWEST, i < 299 ? "w" : "-");
	}
}

SUITE_CONTRACT("store.h, Writing: wcs_mutation_increment")
SUITE_STORES(test_increment, 10)
{
	int64_t ts = 0;

	SUITE_OK(write_increment(s->table, "r", 5, &ts));
	ck_assert_int_eq(ts, 1000000);
	SUITE_OK(write_increment(s->table, "r", -7, &ts));
	ck_assert_int_eq(ts, 1000001);
	suite_expect(s->table, "r/f/q@1000001=\\FF\\FF\\FF\\FF\\FF\\FF\\FF\\FE "
			       "r/f/q@1000000=\\00\\00\\00\\00\\00\\00\\00\\05 ");
}

SUITE_STORES(test_increment_errors, 10)
{
	int64_t ts = 77;

	suite_set(s->table, "r", "f", "q", 1, "1234567");
	ck_assert_int_eq(write_increment(s->table, "r", 1, &ts), -EINVAL);
	suite_set(s->table, "r", "f", "q", 2, "123456789");
	ck_assert_int_eq(write_increment(s->table, "r", 1, &ts), -EINVAL);
	suite_set(s->table, "r", "f", "q", 3, "");
	ck_assert_int_eq(write_increment(s->table, "r", 0, &ts), -EINVAL);
	SUITE_OK(write_increment(s->table, "max", INT64_MAX, NULL));
	ck_assert_int_eq(write_increment(s->table, "max", 1, &ts), -EOVERFLOW);
	SUITE_OK(write_increment(s->table, "min", INT64_MIN, NULL));
	ck_assert_int_eq(write_increment(s->table, "min", -1, &ts), -EOVERFLOW);
	SUITE_OK(write_increment(s->table, "min", INT64_MAX, NULL));
	ck_assert_int_eq(ts, 77);
}
