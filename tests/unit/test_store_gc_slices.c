/* SPDX-License-Identifier: MIT */
/*
 * What changes between two slices of the collector's pass: it goes on in the middle of a column,
 * and takes no cell that is seen by then.
 */
#include "tests/unit/suite.h"

#include "store/table/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A pass, slice by slice. */
struct gc_slices {
	struct suite s;
	struct wcs_collect at;
};

static struct gc_slices *gc_slices_open(const char *policy, int64_t versions)
{
	struct gc_slices *slices = calloc(1, sizeof(*slices));

	ck_assert_ptr_nonnull(slices);
	suite_open(&slices->s, SUITE_LEVELDB);
	suite_policy(slices->s.table, "f", policy);
	suite_set_versions(slices->s.table, "r", "f", versions);
	suite_set(slices->s.table, "other", "f", "q", 1, "v");
	return slices;
}

static void gc_slices_close(struct gc_slices *slices)
{
	suite_close(&slices->s);
	free(slices);
}

static void gc_slice(struct gc_slices *slices, size_t batch, size_t look)
{
	struct wcs_table *table = slices->s.table;
	struct wcs_view view;

	slices->at.batch = batch;
	slices->at.look = look;
	ck_assert_int_eq(table_enter(table), 0);
	view = table_view(table);
	ck_assert_int_eq(slices->s.store->backend->collect(slices->s.store->db, &view, table->id,
							   &slices->at),
			 0);
	table_leave(table);
}

/* To the end of the pass. between, where it is not NULL, is called before each slice. */
static void gc_slices_end(struct gc_slices *slices, size_t batch, size_t look,
			  void (*between)(struct suite *s))
{
	for (int i = 0; i < 1000 && !slices->at.done; i++) {
		if (between != NULL)
			between(&slices->s);
		gc_slice(slices, batch, look);
	}
	ck_assert(slices->at.done);
}

static void gc_delete_other(struct suite *s)
{
	suite_delete_row(s->table, "other");
	suite_set(s->table, "other", "f", "q", 1, "v");
}

static void gc_delete_cell(struct suite *s, int64_t ts)
{
	struct wcs_mutation *mutation = wcs_mutation_new();

	wcs_mutation_delete_cell(mutation, "f", suite_text("q"), ts);
	ck_assert_int_eq(suite_mutate(s->table, "r", mutation, NULL), 0);
}

/* The cells of row "r" that are stored, hidden or not. */
static void gc_slices_expect(struct gc_slices *slices, int64_t newest, int64_t oldest)
{
	struct wcs_range range = {.start = suite_text("r"), .end = SUITE_BYTES("s")};
	struct wcs_filter filter = {.each = WCS_EACH_CELL};
	char expected[8192] = "";

	for (int64_t ts = newest; ts >= oldest; ts--)
		sprintf(expected + strlen(expected), "r/f/q@%lld=v ", (long long)ts);
	suite_policy(slices->s.table, "f", "never");
	suite_expect_scan(slices->s.table, &range, &filter, expected);
}

SUITE_TEST(test_slices_go_on_in_a_column, 60)
{
	struct gc_slices *slices = gc_slices_open("maxversions=100", 150);

	gc_slices_end(slices, 7, 30, NULL);
	ck_assert_uint_eq(slices->at.collected, 50);
	gc_slices_expect(slices, 150, 51);
	gc_slices_close(slices);
}

SUITE_TEST(test_slices_go_on_while_others_delete, 60)
{
	struct gc_slices *slices = gc_slices_open("maxversions=100", 150);

	gc_slices_end(slices, 7, 30, gc_delete_other);
	ck_assert_uint_eq(slices->at.collected, 50);
	gc_slices_expect(slices, 150, 51);
	gc_slices_close(slices);
}

/* A cell that is seen now stands where the slice before found a hidden one. */
SUITE_TEST(test_column_made_anew_between_slices, 60)
{
	struct gc_slices *slices = gc_slices_open("maxversions=2", 10);

	gc_slice(slices, 2, 100);
	ck_assert_uint_eq(slices->at.collected, 2);
	suite_delete_row(slices->s.table, "r");
	suite_set_versions(slices->s.table, "r", "f", 1);
	gc_slices_end(slices, 2, 100, NULL);
	ck_assert_uint_eq(slices->at.collected, 2);
	gc_slices_expect(slices, 1, 1);
	gc_slices_close(slices);
}

/* The rank of what comes next is less than the slice before left it. */
SUITE_TEST(test_newer_cells_deleted_between_slices, 60)
{
	struct gc_slices *slices = gc_slices_open("maxversions=100", 100);

	gc_slice(slices, 5, 50);
	for (int64_t ts = 100; ts > 90; ts--)
		gc_delete_cell(&slices->s, ts);
	suite_set(slices->s.table, "r", "f", "q", 0, "v");
	gc_slices_end(slices, 5, 50, NULL);
	ck_assert_uint_eq(slices->at.collected, 0);
	gc_slices_expect(slices, 90, 0);
	gc_slices_close(slices);
}

/* What is deleted counts no more, also where the policy is another one now. */
SUITE_TEST(test_policy_changed_between_slices, 60)
{
	struct gc_slices *slices = gc_slices_open("maxversions=2", 20);

	gc_slice(slices, 5, 100);
	ck_assert_uint_eq(slices->at.collected, 5);
	suite_policy(slices->s.table, "f", "maxversions=10");
	gc_slices_end(slices, 5, 100, NULL);
	ck_assert_uint_eq(slices->at.collected, 5 + 5);
	suite_policy(slices->s.table, "f", "never");
	gc_delete_cell(&slices->s, 20);
	gc_delete_cell(&slices->s, 19);
	gc_slices_expect(slices, 13, 6);
	gc_slices_close(slices);
}

/* Cells that come between slices, newer ones and such as are hidden at once. */
SUITE_TEST(test_cells_written_between_slices, 60)
{
	struct gc_slices *slices = gc_slices_open("maxversions=10", 20);

	gc_slice(slices, 5, 100);
	suite_set(slices->s.table, "r", "f", "q", 21, "v");
	suite_set(slices->s.table, "r", "f", "q", 2, "w");
	gc_slices_end(slices, 5, 100, NULL);
	slices->at.done = false;
	gc_slices_end(slices, 5, 100, NULL);
	ck_assert_uint_eq(slices->at.collected, 11);
	gc_slices_expect(slices, 21, 12);
	gc_slices_close(slices);
}
