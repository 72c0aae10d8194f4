/* SPDX-License-Identifier: MIT */
/*
 * A warning in the log tells that a policy hides a cell as soon as it is written, stamped or moved,
 * once an hour for a family, on both engines.
 */
#include "tests/unit/suite.h"

#define HOUR INT64_C(3600000000)

/* The clock stands at 10 hours. The family, with another policy, has not been warned about yet. */
static void hidden_policy(struct suite *s, const char *policy)
{
	s->clock = 10 * HOUR;
	suite_policy(s->table, "f", "never");
	suite_policy(s->table, "f", policy);
	s->warnings = 0;
}

static void hidden_set(struct suite *s, const char *column, int64_t ts)
{
	suite_set(s->table, "r", "f", column, ts, "secret");
}

SUITE_CONTRACT("store.h, Garbage collection: a warning for a cell that is hidden at once")
SUITE_STORES(test_by_age, 30)
{
	struct wcs_mutation *mutation = wcs_mutation_new();

	hidden_policy(s, "maxage=1h");
	hidden_set(s, "q", 9 * HOUR);
	hidden_set(s, "q", WCS_TS_SERVER);
	suite_set(s->table, "r", "a", "q", 1, "v"); /* it has no policy */
	ck_assert_int_eq(s->warnings, 0);
	hidden_set(s, "q", 9 * HOUR - 1);
	ck_assert_int_eq(s->warnings, 1);
	ck_assert_str_eq(s->log,
			 "table t, family f: a cell was written that its policy hides at once");
	hidden_set(s, "q", 9 * HOUR - 1); /* within the hour */
	ck_assert_int_eq(s->warnings, 1);
	hidden_policy(s, "maxage=1h");
	wcs_mutation_set_newest(mutation, "f", suite_text("new"), 8 * HOUR, suite_text("v"));
	SUITE_OK(suite_mutate(s->table, "r", mutation, NULL));
	ck_assert_int_eq(s->warnings, 1);
}

/* As a row of a dump comes: each column's newest version first. */
SUITE_STORES(test_a_history_in_one_mutation, 30)
{
	for (int64_t versions = 20; versions <= 21; versions++) {
		struct wcs_mutation *mutation = wcs_mutation_new();

		hidden_policy(s, "maxversions=20");
		for (int64_t ts = versions; ts > 0; ts--)
			wcs_mutation_set(mutation, "f", suite_text("q"), ts, suite_text("v"));
		SUITE_OK(suite_mutate(s->table, "r", mutation, NULL));
		ck_assert_int_eq(s->warnings, versions == 21);
	}
}

/* A row that fails, or is not reached, was not written. */
SUITE_STORES(test_of_many_rows_those_that_are_applied, 30)
{
	struct wcs_entry entries[2];
	size_t applied;

	hidden_policy(s, "maxage=1h");
	for (int i = 0; i < 2; i++) {
		entries[i].row = suite_text("r");
		entries[i].mutation = wcs_mutation_new();
		wcs_mutation_set(entries[i].mutation, "f", suite_text("q"), i, suite_text("v"));
	}
	wcs_mutation_if(entries[0].mutation, "f", suite_text("q"), &(struct wcs_slice){"v", 1});
	ck_assert_int_eq(wcs_rows_mutate(s->table, entries, 2, &applied), -ECANCELED);
	ck_assert_int_eq(s->warnings, 0);
	for (int i = 0; i < 2; i++)
		wcs_mutation_free(entries[i].mutation);
}

SUITE_STORES(test_moves, 30)
{
	struct wcs_move stamp = {
		.kind = WCS_MOVE_STAMP, .family = "f", .from = {"q", 1}, .to_ts = 9 * HOUR};
	struct wcs_move cell = {.kind = WCS_MOVE_CELL,
				.family = "f",
				.from = {"q", 1},
				.from_ts = 9 * HOUR,
				.to = {"p", 1},
				.to_ts = 9 * HOUR + 1};

	hidden_policy(s, "maxage=1h");
	hidden_set(s, "q", 10 * HOUR);
	SUITE_OK(wcs_cells_move(s->table, suite_text("r"), &stamp, NULL));
	SUITE_OK(wcs_cells_move(s->table, suite_text("r"), &cell, NULL));
	ck_assert_int_eq(s->warnings, 0);
	cell.from = cell.to;
	cell.from_ts = 9 * HOUR + 1;
	cell.to_ts = 8 * HOUR;
	SUITE_OK(wcs_cells_move(s->table, suite_text("r"), &cell, NULL));
	ck_assert_int_eq(s->warnings, 1);
	hidden_policy(s, "maxage=1h");
	hidden_set(s, "q", 10 * HOUR);
	stamp.to_ts = 9 * HOUR - 1;
	SUITE_OK(wcs_cells_move(s->table, suite_text("r"), &stamp, NULL));
	ck_assert_int_eq(s->warnings, 1);
}

SUITE_STORES(test_merges, 30)
{
	for (int64_t ts = 9 * HOUR; ts >= 9 * HOUR - 1; ts--) {
		struct wcs_mutation *mutation = wcs_mutation_new();

		if (ts == 9 * HOUR)
			SUITE_OK(wcs_family_set_type(s->table, "f", WCS_INTSUM));
		hidden_policy(s, "maxage=1h");
		wcs_mutation_merge(mutation, "f", suite_text("q"), ts,
				   SUITE_BYTES("\0\0\0\0\0\0\0\1"));
		SUITE_OK(suite_mutate(s->table, "r", mutation, NULL));
		ck_assert_int_eq(s->warnings, ts < 9 * HOUR);
	}
}
