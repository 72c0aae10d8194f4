/* SPDX-License-Identifier: MIT */
/* Mutations by themselves: their limits, and which cells a sealed one deletes. */
#include "store/mutation.h"

#include "tests/unit/suite.h"

static const struct wcs_slice mutation_none = {NULL, 0};

SUITE_TEST(test_arguments, 10)
{
	static char bytes[WCS_QUALIFIER_MAX + 1];
	struct wcs_mutation *mutation = wcs_mutation_new();
	struct wcs_slice longest = {bytes, WCS_QUALIFIER_MAX};
	struct wcs_slice longer = {bytes, WCS_QUALIFIER_MAX + 1};
	struct wcs_slice large = {bytes, WCS_VALUE_MAX + 1};
	struct wcs_slice missing = {NULL, 1};

	SUITE_OK(wcs_mutation_set(mutation, "f", longest, 0, mutation_none));
	ck_assert_int_eq(wcs_mutation_set(mutation, "f", longer, 0, mutation_none), -ENAMETOOLONG);
	ck_assert_int_eq(wcs_mutation_set(mutation, "f", missing, 0, mutation_none), -EINVAL);
	ck_assert_int_eq(wcs_mutation_set(mutation, "f", longest, 0, large), -EFBIG);
	ck_assert_int_eq(wcs_mutation_set(mutation, "f", longest, 0, missing), -EINVAL);
	ck_assert_int_eq(wcs_mutation_set(mutation, "", longest, 0, mutation_none), -EINVAL);
	ck_assert_int_eq(wcs_mutation_set(mutation, "a b", longest, 0, mutation_none), -EINVAL);
	ck_assert_int_eq(wcs_mutation_set(mutation, NULL, longest, 0, mutation_none), -EINVAL);
	ck_assert_int_eq(wcs_mutation_set(mutation, "f", longest, -2, mutation_none), -EINVAL);
	ck_assert_int_eq(wcs_mutation_set(mutation, "f", longest, INT64_MIN, mutation_none),
			 -EINVAL);
	ck_assert_int_eq(wcs_mutation_set_newest(mutation, "f", longest, -1, mutation_none),
			 -EINVAL);
	ck_assert_int_eq(wcs_mutation_append(mutation, "f", longest, large, WCS_TS_NONE), -EFBIG);
	ck_assert_int_eq(wcs_mutation_append(mutation, "f", longer, mutation_none, WCS_TS_NONE),
			 -ENAMETOOLONG);
	ck_assert_int_eq(wcs_mutation_increment(mutation, "f", longer, 1), -ENAMETOOLONG);
	ck_assert_int_eq(wcs_mutation_increment(mutation, "/", longest, 1), -EINVAL);
	ck_assert_uint_eq(mutation->write_count, 1);

	ck_assert_int_eq(wcs_mutation_delete_family(mutation, "f/"), -EINVAL);
	ck_assert_int_eq(wcs_mutation_delete_column(mutation, "f", longer), -ENAMETOOLONG);
	ck_assert_int_eq(wcs_mutation_delete_cell(mutation, "f", longest, -1), -EINVAL);
	ck_assert_uint_eq(mutation->delete_count, 0);

	ck_assert_int_eq(wcs_mutation_if(mutation, "f", longer, NULL), -ENAMETOOLONG);
	ck_assert_int_eq(wcs_mutation_if(mutation, "f", longest, &large), -EFBIG);
	ck_assert_int_eq(wcs_mutation_if(mutation, "f\n", longest, NULL), -EINVAL);
	ck_assert_uint_eq(mutation->condition_count, 0);
	wcs_mutation_free(mutation);
	wcs_mutation_free(NULL);
}

SUITE_TEST(test_deletes, 10)
{
	struct wcs_mutation *mutation = wcs_mutation_new();
	struct wcs_slice q = SUITE_BYTES("q");
	struct wcs_slice r = SUITE_BYTES("r");

	wcs_mutation_seal(mutation);
	ck_assert(!wcs_mutation_deletes(mutation, "a", q, 1));
	SUITE_OK(wcs_mutation_delete_cell(mutation, "b", q, 7));
	SUITE_OK(wcs_mutation_delete_cell(mutation, "b", q, 0));
	SUITE_OK(wcs_mutation_delete_column(mutation, "b", r));
	SUITE_OK(wcs_mutation_delete_column(mutation, "c", mutation_none));
	SUITE_OK(wcs_mutation_delete_family(mutation, "a"));
	wcs_mutation_seal(mutation);
	ck_assert(wcs_mutation_deletes(mutation, "a", q, 1));
	ck_assert(wcs_mutation_deletes(mutation, "a", mutation_none, 0));
	ck_assert(wcs_mutation_deletes(mutation, "b", q, 7));
	ck_assert(wcs_mutation_deletes(mutation, "b", q, 0));
	ck_assert(!wcs_mutation_deletes(mutation, "b", q, 6));
	ck_assert(!wcs_mutation_deletes(mutation, "b", SUITE_BYTES("q\0"), 7));
	ck_assert(wcs_mutation_deletes(mutation, "b", r, 6));
	ck_assert(wcs_mutation_deletes(mutation, "c", mutation_none, 6));
	ck_assert(!wcs_mutation_deletes(mutation, "c", q, 6));
	ck_assert(!wcs_mutation_deletes(mutation, "d", q, 6));
	SUITE_OK(wcs_mutation_delete_row(mutation));
	ck_assert(wcs_mutation_deletes(mutation, "d", q, 6));
	wcs_mutation_free(mutation);
}
