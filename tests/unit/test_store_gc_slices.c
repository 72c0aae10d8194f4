/* SPDX-License-Identifier: MIT */
/*
 * Changes between two slices of the collector's pass: it goes on in the middle of a column, and
 * takes no cell that is visible by then.
 */
#include "tests/unit/suite.h"

#include "store/table/table.h"

static void gc_fill(struct suite *s, const char *policy, int64_t versions)
{
	suite_policy(s->table, "f", policy);
	suite_set_versions(s->table, "r", "f", versions);
	suite_set(s->table, "other", "f", "q", 1, "v");
}

/* A slice of the pass that stands there. */
static void gc_slice(struct suite *s, struct wcs_collect *at, size_t batch)
{
	struct wcs_view view;

	at->batch = batch;
	SUITE_OK(table_enter(s->table));
	view = table_view(s->table);
	SUITE_OK(s->store->engine.local->collect(s->store->engine.db, &view, s->table->id, at));
	table_leave(s->table);
}

/* To the end of the pass. between, where it is not NULL, is called before each slice. */
static void gc_slices_end(struct suite *s, struct wcs_collect *at, size_t batch,
			  void (*between)(struct suite *s))
{
	for (int i = 0; i < 1000 && !at->done; i++) {
		if (between != NULL)
			between(s);
		gc_slice(s, at, batch);
	}
	ck_assert(at->done);
}

static void gc_delete_other(struct suite *s)
{
	suite_delete_row(s->table, "other");
	suite_set(s->table, "other", "f", "q", 1, "v");
}

/* The cells of row "r" that are stored, hidden or not. */
static void gc_slices_expect(struct suite *s, int64_t newest, int64_t oldest)
{
	struct wcs_range range = {.start = suite_text("r"), .end = SUITE_BYTES("s")};
	char expected[8192] = "";

	for (int64_t ts = newest; ts >= oldest; ts--)
		sprintf(expected + strlen(expected), "r/f/q@%lld=v ", (long long)ts);
	suite_policy(s->table, "f", "never");
	suite_expect_scan(s->table, &range, &suite_cells, expected);
}

/* Whether others delete between the slices or not. */
SUITE_LOOP(test_slices_go_on_in_a_column, 2, 60)
{
	struct wcs_collect at = {0};
	struct suite s;

	suite_open(&s, SUITE_LEVELDB);
	gc_fill(&s, "maxversions=100", 150);
	gc_slices_end(&s, &at, 7, _i ? gc_delete_other : NULL);
	ck_assert_uint_eq(at.collected, 50);
	gc_slices_expect(&s, 150, 51);
	suite_close(&s);
}

/* A cell that is seen now stands where the slice before found a hidden one. */
SUITE_LEVELDB_STORE(test_column_made_anew_between_slices, 60)
{
	struct wcs_collect at = {0};

	gc_fill(s, "maxversions=2", 10);
	gc_slice(s, &at, 2);
	ck_assert_uint_eq(at.collected, 2);
	suite_delete_row(s->table, "r");
	suite_set_versions(s->table, "r", "f", 1);
	gc_slices_end(s, &at, 2, NULL);
	ck_assert_uint_eq(at.collected, 2);
	gc_slices_expect(s, 1, 1);
}

/* The next cell has a lower rank than it had at the end of the slice before. */
SUITE_LEVELDB_STORE(test_newer_cells_deleted_between_slices, 60)
{
	struct wcs_collect at = {0};

	gc_fill(s, "maxversions=100", 100);
	gc_slice(s, &at, 5);
	for (int64_t ts = 100; ts > 90; ts--)
		suite_delete_cell(s->table, "r", "f", "q", ts);
	suite_set(s->table, "r", "f", "q", 0, "v");
	gc_slices_end(s, &at, 5, NULL);
	ck_assert_uint_eq(at.collected, 0);
	gc_slices_expect(s, 90, 0);
}

/* A deleted cell counts no more, even if the policy is another one now. */
SUITE_LEVELDB_STORE(test_policy_changed_between_slices, 60)
{
	struct wcs_collect at = {0};

	gc_fill(s, "maxversions=2", 20);
	gc_slice(s, &at, 5);
	ck_assert_uint_eq(at.collected, 5);
	suite_policy(s->table, "f", "maxversions=10");
	gc_slices_end(s, &at, 5, NULL);
	ck_assert_uint_eq(at.collected, 5 + 5);
	suite_policy(s->table, "f", "never");
	suite_delete_cell(s->table, "r", "f", "q", 20);
	suite_delete_cell(s->table, "r", "f", "q", 19);
	gc_slices_expect(s, 13, 6);
}

/* Cells that come between slices, newer ones and such as are hidden at once. */
SUITE_LEVELDB_STORE(test_cells_written_between_slices, 60)
{
	struct wcs_collect at = {0};

	gc_fill(s, "maxversions=10", 20);
	gc_slice(s, &at, 5);
	suite_set(s->table, "r", "f", "q", 21, "v");
	suite_set(s->table, "r", "f", "q", 2, "w");
	gc_slices_end(s, &at, 5, NULL);
	at.done = false;
	gc_slices_end(s, &at, 5, NULL);
	ck_assert_uint_eq(at.collected, 11);
	gc_slices_expect(s, 21, 12);
}
