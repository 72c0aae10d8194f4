/* SPDX-License-Identifier: MIT */
/*
 * Cells that their policy hides as soon as they are written are counted and logged, on both
 * engines. A read tells whether a cell is hidden.
 */
#include "tests/unit/suite.h"

#define SECOND INT64_C(1000000)
#define HOUR   (3600 * SECOND)

/* The clock stands at 10 hours. */
static void hidden_policy(struct suite *s, const char *policy)
{
	s->clock = 10 * HOUR;
	suite_policy(s->table, "f", policy);
}

static uint64_t hidden_cells(struct suite *s)
{
	struct wcs_gc_status status;

	wcs_gc_status(s->store, &status);
	return status.hidden;
}

static void hidden_set(struct suite *s, const char *column, int64_t ts)
{
	suite_set(s->table, "r", "f", column, ts, "secret");
}

SUITE_CONTRACT("store.h, Garbage collection: hidden in struct wcs_gc_status")
SUITE_STORES(test_by_age, 30)
{
	struct wcs_mutation *mutation = wcs_mutation_new();

	hidden_policy(s, "maxage=1h");
	hidden_set(s, "q", 9 * HOUR);
	hidden_set(s, "q", WCS_TS_SERVER);
	ck_assert_uint_eq(hidden_cells(s), 0);
	hidden_set(s, "q", 9 * HOUR - 1);
	ck_assert_uint_eq(hidden_cells(s), 1);
	wcs_mutation_set_newest(mutation, "f", suite_text("new"), 8 * HOUR, suite_text("v"));
	SUITE_OK(suite_mutate(s->table, "r", mutation, NULL));
	ck_assert_uint_eq(hidden_cells(s), 2);
	suite_set(s->table, "r", "a", "q", 1, "v"); /* it has no policy */
	ck_assert_uint_eq(hidden_cells(s), 2);
}

/* As a row of a dump comes: each column's newest version first. */
SUITE_STORES(test_a_history_in_one_mutation, 30)
{
	struct wcs_mutation *mutation = wcs_mutation_new();

	hidden_policy(s, "maxversions=20");
	for (int64_t ts = 50; ts > 0; ts--)
		wcs_mutation_set(mutation, "f", suite_text("q"), ts, suite_text("v"));
	SUITE_OK(suite_mutate(s->table, "r", mutation, NULL));
	ck_assert_uint_eq(hidden_cells(s), 30);
}

/* A row that fails, or is not reached, was not written. */
SUITE_STORES(test_of_many_rows_those_that_are_applied, 30)
{
	struct wcs_entry entries[4];
	size_t applied;

	hidden_policy(s, "maxage=1h");
	for (int i = 0; i < 4; i++) {
		entries[i].row = suite_text("r");
		entries[i].mutation = wcs_mutation_new();
		wcs_mutation_set(entries[i].mutation, "f", suite_text("q"), i, suite_text("v"));
	}
	wcs_mutation_if(entries[2].mutation, "f", suite_text("q"), &(struct wcs_slice){"v", 1});
	ck_assert_int_eq(wcs_rows_mutate(s->table, entries, 4, &applied), -ECANCELED);
	ck_assert_uint_eq(hidden_cells(s), 2);
	for (int i = 0; i < 4; i++)
		wcs_mutation_free(entries[i].mutation);
}

SUITE_STORES(test_moves, 30)
{
	struct wcs_move stamp = {
		.kind = WCS_MOVE_STAMP, .family = "f", .from = {"q", 1}, .to_ts = 9 * HOUR - 1};
	struct wcs_move cell = {.kind = WCS_MOVE_CELL,
				.family = "f",
				.from = {"p", 1},
				.from_ts = 9 * HOUR + 3,
				.to = {"p", 1},
				.to_ts = 9 * HOUR + 1};

	hidden_policy(s, "maxage=1h or maxversions=2");
	hidden_set(s, "q", 10 * HOUR);
	for (int64_t ts = 2; ts <= 3; ts++)
		hidden_set(s, "p", 9 * HOUR + ts);
	SUITE_OK(wcs_cells_move(s->table, suite_text("r"), &stamp, NULL));
	ck_assert_uint_eq(hidden_cells(s), 1);
	SUITE_OK(wcs_cells_move(s->table, suite_text("r"), &cell, NULL));
	ck_assert_uint_eq(hidden_cells(s), 1); /* two are there: it is shown */
	hidden_set(s, "p", 9 * HOUR + 4);
	cell.from_ts = 9 * HOUR + 4;
	cell.to = suite_text("o");
	SUITE_OK(wcs_cells_move(s->table, suite_text("r"), &cell, NULL));
	hidden_set(s, "o", 9 * HOUR + 2);
	hidden_set(s, "p", 9 * HOUR + 5);
	hidden_set(s, "p", 9 * HOUR + 6);
	cell.from = suite_text("o");
	cell.from_ts = 9 * HOUR + 2;
	cell.to = suite_text("p");
	ck_assert_uint_eq(hidden_cells(s), 1);
	SUITE_OK(wcs_cells_move(s->table, suite_text("r"), &cell, NULL));
	ck_assert_uint_eq(hidden_cells(s), 2);
}

static void hidden_merge(struct suite *s, const char *column, int64_t ts)
{
	struct wcs_mutation *mutation = wcs_mutation_new();

	wcs_mutation_merge(mutation, "f", suite_text(column), ts, SUITE_BYTES("\0\0\0\0\0\0\0\1"));
	SUITE_OK(suite_mutate(s->table, "r", mutation, NULL));
}

SUITE_STORES(test_merges, 30)
{
	hidden_policy(s, "maxage=1h or maxversions=2");
	SUITE_OK(wcs_family_set_type(s->table, "f", WCS_INTSUM));
	hidden_merge(s, "q", 8 * HOUR);
	ck_assert_uint_eq(hidden_cells(s), 1);
	hidden_merge(s, "q", WCS_TS_NEWEST);
	for (int i = 3; i > 0; i--) {
		ck_assert_uint_eq(hidden_cells(s), 1);
		hidden_merge(s, "p", 9 * HOUR + i);
	}
	ck_assert_uint_eq(hidden_cells(s), 2);
}

/* Each write counts if, and only if, it cannot be read. */
SUITE_STORES(test_as_a_read_says, 60)
{
	static const char *const policies[] = {"maxversions=1",
					       "maxversions=3",
					       "maxage=10s",
					       "maxage=10s or maxversions=2",
					       "maxage=10s and maxversions=2",
					       "(maxage=5s and maxversions=1) or maxversions=4"};
	uint64_t state = 7, hidden = 0;

	hidden_policy(s, "never");
	for (int i = 0; i < 3000; i++) {
		static const char *const columns[] = {"p", "q"};
		const char *column = columns[suite_random(&state) % 2];
		int64_t ts = s->clock - suite_random(&state) % 20 * SECOND;
		struct wcs_cell_info info;

		if (suite_random(&state) % 16 == 0)
			SUITE_OK(wcs_family_set_gc(s->table, "f",
						   policies[suite_random(&state) % 6], NULL));
		if (suite_random(&state) % 8 == 0)
			suite_delete_row(s->table, "r");
		s->clock += suite_random(&state) % 3 * SECOND;
		hidden_set(s, column, ts);
		hidden += wcs_cell_get(s->table, suite_text("r"), "f", suite_text(column), ts,
				       &info) == -ENOENT;
		ck_assert_uint_eq(hidden_cells(s), hidden);
	}
	ck_assert_uint_gt(hidden, 500);
	ck_assert_uint_lt(hidden, 2500);
}

/* ---- The log ----------------------------------------------------------------------------- */

SUITE_LOOP(test_one_line_when_the_store_is_closed, SUITE_ENGINES, 30)
{
	struct suite s;

	suite_open(&s, _i);
	hidden_policy(&s, "maxage=1h");
	for (int i = 0; i < 100; i++)
		hidden_set(&s, "q", i);
	ck_assert_int_eq(s.warnings, 0);
	suite_reopen(&s);
	ck_assert_int_eq(s.warnings, 1);
	ck_assert_str_eq(s.log,
			 "table t, family f: 100 cells were written that its policy hides at once");
	suite_close(&s);
	ck_assert_int_eq(s.warnings, 1);
}

SUITE_TEST(test_lines_are_few, 30)
{
	struct suite s;

	suite_open(&s, SUITE_LEVELDB);
	s.hidden_every = HOUR;
	suite_reopen(&s);
	s.clock = 10 * HOUR;
	suite_policy(s.table, "f", "maxage=1h");
	for (int i = 0; i < 100; i++)
		hidden_set(&s, "q", i);
	ck_assert_int_eq(s.warnings, 1);
	ck_assert_str_eq(s.log,
			 "table t, family f: 1 cell was written that its policy hides at once");
	suite_policy(s.table, "f", "maxage=2h");
	ck_assert_int_eq(s.warnings, 2);
	ck_assert_str_eq(
		s.log,
		"table t, family f: 99 more cells were written that its policy hides at once");
	suite_close(&s);
	ck_assert_int_eq(s.warnings, 2);
}
