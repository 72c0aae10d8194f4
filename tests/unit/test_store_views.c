/* SPDX-License-Identifier: MIT */
/*
 * Cells that policies hide do not exist, on both engines: for reads, scans and listings, and for
 * mutations. They stay hidden when cells in front of them are deleted or moved.
 */
#include "tests/unit/suite.h"

#include <stdint.h>

#define SECOND INT64_C(1000000)

static void views_set(struct suite *s, const char *row, const char *qualifier, int64_t ts)
{
	char value[2] = {(char)('0' + ts % 10), '\0'};

	suite_set(s->table, row, "f", qualifier, ts, value);
}

static void views_lists(struct suite *s, const char *prefix, const char *expected)
{
	char *segments = suite_list(s->table, suite_text(prefix), NULL, false);

	ck_assert_str_eq(segments, expected);
	free(segments);
}

static struct wcs_key_info views_key(struct suite *s, const char *key)
{
	struct wcs_key_info info;

	SUITE_OK(wcs_key_get(s->table, suite_text(key), &info));
	return info;
}

static int views_get(struct suite *s, int64_t ts, struct wcs_cell_info *info)
{
	return wcs_cell_get(s->table, suite_text("r"), "f", suite_text("q"), ts, info);
}

/* The timestamp of the cell that a move made. */
static int views_move(struct suite *s, struct wcs_move move, int64_t *ts)
{
	move.family = "f";
	return wcs_cells_move(s->table, suite_text("r"), &move, ts);
}

/* All cells of r/f, without that. */
static void views_expect(struct suite *s, const char *cells)
{
	char expected[400] = "";
	size_t len = 0;

	while (*cells) {
		size_t cell = strcspn(cells, " ") + 1;

		len += (size_t)snprintf(expected + len, sizeof(expected) - len, "r/f/%.*s",
					(int)cell, cells);
		cells += cell;
	}
	suite_expect(s->table, expected);
}

/* ---- Reading ----------------------------------------------------------------------------- */

SUITE_CONTRACT("store.h, Garbage collection: a policy hides cells from all reads")
SUITE_STORES(test_hidden_by_rank, 30)
{
	struct wcs_cell_info info;
	struct wcs_value *value;

	suite_policy(s->table, "f", "maxversions=2");
	for (int64_t ts = 1; ts <= 4; ts++)
		views_set(s, "r", "q", ts);
	suite_expect(s->table, "r/f/q@4=4 r/f/q@3=3 ");
	SUITE_OK(views_get(s, 3, &info));
	ck_assert_int_eq(views_get(s, 2, &info), -ENOENT);
	ck_assert_int_eq(views_get(s, 1, &info), -ENOENT);
	ck_assert_int_eq(wcs_value_open(s->table, suite_text("r"), "f", suite_text("q"), 2, &value),
			 -ENOENT);
	SUITE_OK(views_get(s, WCS_TS_NEWEST, &info));
	ck_assert_int_eq(info.expires, WCS_TS_MAX);
}

SUITE_STORES(test_hidden_by_age, 30)
{
	struct wcs_cell_info info;

	suite_policy(s->table, "f", "maxage=1s");
	s->clock = 10 * SECOND;
	views_set(s, "r", "q", 9 * SECOND);
	views_set(s, "r", "q", 9 * SECOND - 1);
	suite_expect(s->table, "r/f/q@9000000=0 ");
	SUITE_OK(views_get(s, WCS_TS_NEWEST, &info));
	ck_assert_int_eq(info.expires, 10 * SECOND + 1);
	ck_assert(views_key(s, "r").row);
	ck_assert_int_eq(views_key(s, "r").expires, 10 * SECOND + 1);
	s->clock = 10 * SECOND + 1;
	suite_expect(s->table, "");
	ck_assert_int_eq(views_get(s, WCS_TS_NEWEST, &info), -ENOENT);
	ck_assert_int_eq(views_get(s, 9 * SECOND, &info), -ENOENT);
	ck_assert(!views_key(s, "r").row);
	views_lists(s, "", "");
	s->clock = 10 * SECOND; /* put right, the clock brings it back */
	suite_expect(s->table, "r/f/q@9000000=0 ");
	views_lists(s, "", "r ");
}

SUITE_STORES(test_joined_policies, 30)
{
	s->clock = 10 * SECOND;
	for (int64_t ts = 1; ts <= 4; ts++)
		views_set(s, "r", "q", ts * 2 * SECOND);
	suite_policy(s->table, "f",
		     "maxversions=1 and maxage=5s"); /* 4 s: old, and not the newest */
	suite_expect(s->table, "r/f/q@8000000=0 r/f/q@6000000=0 ");
	suite_policy(s->table, "f", "maxversions=3 or maxage=3s");
	suite_expect(s->table, "r/f/q@8000000=0 ");
	suite_policy(s->table, "f", "never");
	suite_expect(s->table, "r/f/q@8000000=0 r/f/q@6000000=0 r/f/q@4000000=0 r/f/q@2000000=0 ");
}

SUITE_STORES(test_open_value_stays, 30)
{
	struct wcs_value *value;
	char byte;
	size_t got;

	suite_policy(s->table, "f", "maxage=1s");
	s->clock = 5 * SECOND;
	views_set(s, "r", "q", 5 * SECOND);
	SUITE_OK(wcs_value_open(s->table, suite_text("r"), "f", suite_text("q"), WCS_TS_NEWEST,
				&value));
	s->clock = 50 * SECOND;
	suite_expect(s->table, "");
	SUITE_OK(wcs_value_read(value, &byte, 1, 0, &got));
	ck_assert_int_eq(byte, '0');
	wcs_value_close(value);
}

SUITE_STORES(test_filters_count_hidden_newer_cells, 30)
{
	struct wcs_filter older = {.ts_to = 4}, middle = {.ts_from = 2, .ts_to = 4},
			  one = {.ts_to = 5, .newest = 1};

	suite_policy(s->table, "f", "maxversions=3");
	for (int64_t ts = 1; ts <= 5; ts++)
		views_set(s, "r", "q", ts);
	suite_expect_scan(s->table, &suite_all, &older, "r/f/q@3=3 ");
	suite_expect_scan(s->table, &suite_all, &middle, "r/f/q@3=3 ");
	suite_expect_scan(s->table, &suite_all, &one, "r/f/q@4=4 ");
}

/* Rows that lie between a row and its tail, each hidden and shown. */
SUITE_STORES(test_listings, 30)
{
	s->clock = 10 * SECOND;
	suite_policy(s->table, "f", "maxage=5s");
	views_set(s, "a", "q", 1);
	views_set(s, "a!x", "q", 9 * SECOND);
	views_set(s, "a#1", "q", 1);
	views_set(s, "a#2", "q", 9 * SECOND);
	views_set(s, "b", "q", 1);
	views_set(s, "b#1", "q", 1);
	views_set(s, "c!y#1", "q", 9 * SECOND);
	views_set(s, "c#1", "q", 1);
	suite_set(s->table, "b", "a", "q", 1, "kept"); /* in a family that hides nothing */
	views_lists(s, "", "a!x a b c!y ");
	views_lists(s, "a#", "2 ");
	views_lists(s, "b#", "");
	ck_assert(!views_key(s, "a").row);
	ck_assert(views_key(s, "a").prefix);
	ck_assert(views_key(s, "b").row);
	ck_assert(!views_key(s, "b").prefix);
	ck_assert_int_eq(views_key(s, "b").expires, WCS_TS_MAX);
	ck_assert(!views_key(s, "c").prefix);
}

/* ---- Hidden for good --------------------------------------------------------------------- */

SUITE_CONTRACT("docs/semantics.md, Garbage collection: a hidden cell never returns")
SUITE_STORES(test_delete_of_many_hidden, 60)
{
	for (int64_t ts = 1; ts <= 2503; ts++)
		views_set(s, "r", "q", ts);
	suite_policy(s->table, "f", "maxversions=2");
	suite_delete_cell(s->table, "r", "f", "q", 2503);
	suite_expect(s->table, "r/f/q@2502=2 ");
	suite_policy(s->table, "f", "never");
	suite_expect(s->table, "r/f/q@2502=2 ");
}

/* Cells hidden by a wrong policy are there again without it. That holds if only some moves happened
 * meanwhile: of the newest cell, of all of the column, or of another column over it. */
SUITE_LOOP(test_a_wrong_policy, SUITE_ENGINES, 10)
{
	static const struct wcs_slice o = {"o", 1}, p = {"p", 1}, q = {"q", 1};
	const struct {
		struct wcs_move move;
		int versions; /* of the policy */
		const char *then;
	} cases[] = {
		{{.kind = WCS_MOVE_STAMP, .from = q, .to_ts = 90}, 1, "o@20=0 q@90=9 q@3=3 q@2=2 "},
		{{.kind = WCS_MOVE_STAMP, .from = q, .to_ts = 4}, 2, "o@20=0 q@4=9 q@3=3 q@2=2 "},
		{{.kind = WCS_MOVE_STAMP, .from = q, .to_ts = 3}, 1, "o@20=0 q@3=9 "},
		{{.kind = WCS_MOVE_COLUMN, .from = q, .to = p}, 1, "o@20=0 p@9=9 p@3=3 p@2=2 "},
		{{.kind = WCS_MOVE_COLUMN_NEW, .from = q, .to = p}, 1, "o@20=0 p@9=9 p@3=3 p@2=2 "},
		{{.kind = WCS_MOVE_COLUMN, .from = o, .to = q}, 1, "q@20=0 q@9=9 q@3=3 q@2=2 "},
		{{.kind = WCS_MOVE_COLUMN, .from = q, .to = o}, 1, "o@1000=9 o@20=0 "},
		{{.kind = WCS_MOVE_CELL_NEWEST, .from = o, .from_ts = 20, .to = q},
		 1,
		 "q@20=0 q@9=9 q@3=3 q@2=2 "},
		{{.kind = WCS_MOVE_CELL_NEWEST, .from = q, .from_ts = 9, .to = p},
		 1,
		 "o@20=0 p@9=9 "},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char policy[32];
		struct suite s;
		int64_t ts;

		snprintf(policy, sizeof(policy), "maxversions=%d", cases[i].versions);
		suite_open(&s, _i);
		s.clock = 1000;
		views_set(&s, "r", "o", 20);
		views_set(&s, "r", "q", 2);
		views_set(&s, "r", "q", 3);
		views_set(&s, "r", "q", 9);
		suite_policy(s.table, "f", policy);
		SUITE_OK(views_move(&s, cases[i].move, &ts));
		suite_policy(s.table, "f", "never");
		views_expect(&s, cases[i].then);
		suite_close(&s);
	}
}

SUITE_STORES(test_moves, 30)
{
	struct wcs_move column = {
		.kind = WCS_MOVE_COLUMN_NEW, .from = suite_text("q"), .to = suite_text("p")};
	struct wcs_move cell = {.kind = WCS_MOVE_CELL,
				.from = suite_text("p"),
				.from_ts = 9 * SECOND,
				.to = suite_text("o"),
				.to_ts = 8 * SECOND};
	int64_t ts;

	s->clock = 10 * SECOND;
	suite_policy(s->table, "f", "maxversions=1 or maxage=5s");
	views_set(s, "r", "p", 4 * SECOND); /* hidden: there is no column p */
	ck_assert_int_eq(views_move(s,
				    (struct wcs_move){.kind = WCS_MOVE_COLUMN,
						      .from = suite_text("p"),
						      .to = suite_text("q")},
				    &ts),
			 -ENOENT);
	views_set(s, "r", "p", 4 * SECOND);
	views_set(s, "r", "q", 9 * SECOND);
	views_set(s, "r", "q", 8 * SECOND);
	SUITE_OK(views_move(s, column, &ts));
	suite_expect(s->table, "r/f/p@9000000=0 ");
	SUITE_OK(views_move(s, cell, &ts));
	suite_expect(s->table, "r/f/o@8000000=0 ");
	suite_policy(s->table, "f", "never");
	suite_expect(s->table, "r/f/o@8000000=0 ");
}

/* ---- Mutations --------------------------------------------------------------------------- */

SUITE_CONTRACT("store.h, Garbage collection: changes do not see hidden cells")
SUITE_STORES(test_append_and_increment_start_anew, 30)
{
	suite_policy(s->table, "f", "maxage=1s");
	views_set(s, "r", "q", 1);
	views_set(s, "r", "n", 2);
	s->clock = 10 * SECOND;
	SUITE_OK(suite_load(s->table,
			    "{\"key\":\"r\",\"append\":{\"f\":{\"q\":\"new\"}},"
			    "\"increment\":{\"f\":{\"n\":7}}}",
			    NULL));
	suite_expect(s->table,
		     "r/f/n@10000000=\\00\\00\\00\\00\\00\\00\\00\\07 r/f/q@10000000=new ");
}

SUITE_STORES(test_conditions_do_not_see_it, 30)
{
	suite_policy(s->table, "f", "maxage=1s");
	views_set(s, "r", "q", 1);
	s->clock = 10 * SECOND;
	ck_assert_int_eq(suite_load(s->table, "{\"key\":\"r\",\"if\":{\"f\":{\"q\":\"1\"}}}", NULL),
			 -ECANCELED);
	SUITE_OK(suite_load(s->table,
			    "{\"key\":\"r\",\"if\":{\"f\":{\"q\":null}},"
			    "\"families\":{\"f\":{\"p\":\"1\"}}}",
			    NULL));
	suite_expect(s->table, "r/f/p@10000000=1 ");
}

/* The server's timestamp is later than those of hidden cells, so that it replaces no version. */
SUITE_STORES(test_server_timestamps_count_it, 30)
{
	suite_policy(s->table, "f", "maxage=1s");
	s->clock = 20 * SECOND;
	views_set(s, "r", "q", 20 * SECOND);
	s->clock = 19 * SECOND;
	ck_assert_int_eq(suite_set(s->table, "r", "f", "q", WCS_TS_SERVER, "x"), 20 * SECOND + 1);
}

SUITE_STORES(test_written_hidden, 30)
{
	suite_policy(s->table, "f", "maxversions=1 or maxage=1s");
	s->clock = 10 * SECOND;
	views_set(s, "r", "q", 1);
	suite_expect(s->table, "");
	views_set(s, "r", "q", 10 * SECOND);
	views_set(s, "r", "q", 10 * SECOND - 1);
	suite_expect(s->table, "r/f/q@10000000=0 ");
}

SUITE_STORES(test_set_newest_does_not_see_it, 30)
{
	struct wcs_mutation *mutation = wcs_mutation_new();
	int64_t ts;

	suite_policy(s->table, "f", "maxage=1s");
	s->clock = 10 * SECOND;
	views_set(s, "r", "q", 3);
	SUITE_OK(wcs_mutation_set_newest(mutation, "f", suite_text("q"), 2, suite_text("x")));
	SUITE_OK(suite_mutate(s->table, "r", mutation, &ts));
	ck_assert_int_eq(ts, 2);
	suite_expect(s->table, "");
}

/* ---- The schema -------------------------------------------------------------------------- */

SUITE_CONTRACT("store.h, Tables: a family that shows no cell holds none")
SUITE_STORES(test_family_of_hidden_cells_goes, 30)
{
	suite_policy(s->table, "f", "maxage=1s");
	views_set(s, "r", "q", 1);
	views_set(s, "r", "q", 2);
	s->clock = 10 * SECOND;
	SUITE_OK(wcs_family_set_type(s->table, "f", WCS_INTSUM));
	suite_set(s->table, "r2", "f", "q", 10 * SECOND, "8 bytes.");
	ck_assert_int_eq(wcs_family_remove(s->table, "f"), -ENOTEMPTY);
	s->clock = 20 * SECOND;
	SUITE_OK(wcs_family_remove(s->table, "f"));
	SUITE_OK(wcs_family_create(s->table, "f"));
	suite_expect(s->table, "");
}

/* A change that is refused deletes nothing: another policy shows the hidden cells again. */
SUITE_STORES(test_refused_changes_delete_nothing, 30)
{
	suite_policy(s->table, "f", "maxage=1s");
	s->clock = 10 * SECOND;
	views_set(s, "a", "q", 1);
	views_set(s, "r", "q", 10 * SECOND);
	ck_assert_int_eq(wcs_family_remove(s->table, "f"), -ENOTEMPTY);
	ck_assert_int_eq(wcs_family_set_type(s->table, "f", WCS_INTSUM), -ENOTEMPTY);
	ck_assert_int_eq(wcs_table_set_delimiter(s->table, '|', NULL), -ENOTEMPTY);
	suite_policy(s->table, "f", "never");
	suite_expect(s->table, "a/f/q@1=1 r/f/q@10000000=0 ");
}

/* A hidden cell was stored with the old delimiter. */
SUITE_STORES(test_delimiter_of_hidden_rows_stays, 30)
{
	suite_policy(s->table, "f", "maxage=1s");
	views_set(s, "r#1", "q", 1);
	s->clock = 10 * SECOND;
	ck_assert_int_eq(wcs_table_set_delimiter(s->table, '|', NULL), -EBUSY);
	suite_policy(s->table, "f", "never");
	suite_expect(s->table, "r#1/f/q@1=1 ");
	suite_policy(s->table, "f", "maxage=1s");
	if (s->engine == SUITE_LEVELDB) {
		SUITE_OK(wcs_gc_run(s->store));
		SUITE_OK(wcs_table_set_delimiter(s->table, '|', NULL));
	}
}
