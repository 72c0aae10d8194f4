/* SPDX-License-Identifier: MIT */
/*
 * Moves of cells on both engines: each kind, each error, timestamps, and values that stay what
 * they are wherever their cell goes. The last part is about LevelDB's chunks alone.
 */
#include "suite.h"

#include "leveldb/engine.h"
#include "table.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MIB (1u << 20)

/* ---- Helpers ----------------------------------------------------------------------------- */

/* Moves in the row "r" and the family "f". */
static int move_try(struct suite *s, const struct wcs_move *asked, int64_t *ts)
{
	struct wcs_move move = *asked;

	if (move.family == NULL)
		move.family = "f";
	return wcs_cells_move(s->table, suite_text("r"), &move, ts);
}

static int64_t move_do(struct suite *s, struct wcs_move move)
{
	int64_t ts = -7;

	ck_assert_int_eq(move_try(s, &move, &ts), 0);
	return ts;
}

/* Fails so, and leaves *ts and all cells as they were. */
static void move_fails(struct suite *s, struct wcs_move move, int error)
{
	struct wcs_range range = {.start = {NULL, 0}};
	struct wcs_filter filter = {.each = WCS_EACH_CELL};
	char *before = suite_scan(s->table, &range, &filter);
	int64_t ts = 77;

	ck_assert_int_eq(move_try(s, &move, &ts), error);
	ck_assert_int_eq(ts, 77);
	suite_expect(s->table, before);
	free(before);
}

static struct wcs_move move_column(const char *from, const char *to)
{
	return (struct wcs_move){
		.kind = WCS_MOVE_COLUMN, .from = suite_text(from), .to = suite_text(to)};
}

static struct wcs_move move_column_new(const char *from, const char *to)
{
	struct wcs_move move = move_column(from, to);

	move.kind = WCS_MOVE_COLUMN_NEW;
	return move;
}

static struct wcs_move move_newest(const char *from, int64_t from_ts, const char *to)
{
	return (struct wcs_move){.kind = WCS_MOVE_CELL_NEWEST,
				 .from = suite_text(from),
				 .from_ts = from_ts,
				 .to = suite_text(to)};
}

static struct wcs_move move_cell(const char *from, int64_t from_ts, const char *to, int64_t to_ts)
{
	return (struct wcs_move){.kind = WCS_MOVE_CELL,
				 .from = suite_text(from),
				 .from_ts = from_ts,
				 .to = suite_text(to),
				 .to_ts = to_ts};
}

static struct wcs_move move_stamp(const char *column, int64_t to_ts)
{
	return (struct wcs_move){
		.kind = WCS_MOVE_STAMP, .from = suite_text(column), .to_ts = to_ts};
}

static void move_set(struct suite *s, const char *column, int64_t ts, const char *value)
{
	suite_set(s->table, "r", "f", column, ts, value);
}

static uint32_t move_etag(struct suite *s, const char *column, int64_t ts)
{
	struct wcs_cell_info info;

	ck_assert_int_eq(
		wcs_cell_get(s->table, suite_text("r"), "f", suite_text(column), ts, &info), 0);
	return info.etag;
}

static void move_set_large(struct suite *s, const char *column, int64_t ts, size_t size,
			   unsigned int seed)
{
	struct wcs_mutation *mutation = wcs_mutation_new();
	char *value = suite_pattern(size, seed);

	ck_assert_int_eq(wcs_mutation_set(mutation, "f", suite_text(column), ts,
					  (struct wcs_slice){value, size}),
			 0);
	ck_assert_int_eq(suite_mutate(s->table, "r", mutation, NULL), 0);
	free(value);
}

static struct wcs_value *move_open(struct suite *s, const char *column, int64_t ts)
{
	struct wcs_value *value;

	ck_assert_int_eq(
		wcs_value_open(s->table, suite_text("r"), "f", suite_text(column), ts, &value), 0);
	return value;
}

/* The value is the pattern of this size and seed. Closes it. */
static void expect_pattern(struct wcs_value *value, size_t size, unsigned int seed)
{
	char *expected = suite_pattern(size, seed);
	char *bytes = malloc(size + 1);
	size_t got;

	ck_assert_uint_eq(wcs_value_info(value)->size, size);
	ck_assert_int_eq(wcs_value_read(value, bytes, size + 1, 0, &got), 0);
	ck_assert_uint_eq(got, size);
	ck_assert_mem_eq(bytes, expected, size);
	wcs_value_close(value);
	free(bytes);
	free(expected);
}

/* ---- Columns ----------------------------------------------------------------------------- */

START_TEST(test_column_with_history)
{
	struct suite s;

	suite_open(&s, _i);
	move_set(&s, "p", 5, "five");
	move_set(&s, "p", 3000000, "late");
	move_set(&s, "p", 0, "");
	ck_assert_int_eq(move_do(&s, move_column("p", "q")), 3000000);
	suite_expect(s.table, "r/f/q@3000000=late r/f/q@5=five r/f/q@0= ");
	ck_assert_int_eq(move_do(&s, move_column_new("q", "o")), 3000000);
	suite_expect(s.table, "r/f/o@3000000=late r/f/o@5=five r/f/o@0= ");
	suite_close(&s);
}
END_TEST

START_TEST(test_column_leaves_its_neighbours)
{
	struct suite s;

	suite_open(&s, _i);
	suite_set(s.table, "r", "a", "q", 5, "family");
	suite_set(s.table, "q", "f", "q", 5, "row");
	suite_set(s.table, "r#", "f", "q", 5, "row");
	move_set(&s, "", 5, "before");
	move_set(&s, "q", 5, "v");
	move_set(&s, "q\x01", 5, "behind");
	move_set(&s, "qq", 5, "behind");
	ck_assert_int_eq(move_do(&s, move_column("q", "z")), 5);
	suite_expect(s.table, "q/f/q@5=row r/a/q@5=family r/f/@5=before r/f/q\\01@5=behind "
			      "r/f/qq@5=behind r/f/z@5=v r#/f/q@5=row ");
	suite_close(&s);
}
END_TEST

START_TEST(test_column_onto_older)
{
	struct suite s;

	suite_open(&s, _i);
	move_set(&s, "p", 8, "new");
	move_set(&s, "p", 6, "gone");
	move_set(&s, "p", 1, "gone too");
	move_set(&s, "q", 7, "seven");
	move_set(&s, "q", 6, "six");
	ck_assert_int_eq(move_do(&s, move_column("p", "q")), 8);
	suite_expect(s.table, "r/f/q@8=new r/f/q@7=seven r/f/q@6=six ");
	suite_close(&s);
}
END_TEST

/* The server's timestamp: the present, or just behind the newest where that is not earlier. */
START_TEST(test_column_onto_newer)
{
	struct suite s;

	suite_open(&s, _i);
	move_set(&s, "p", 6, "new");
	move_set(&s, "p", 5, "gone");
	move_set(&s, "q", 7, "seven");
	ck_assert_int_eq(move_do(&s, move_column("p", "q")), 1000000);
	suite_expect(s.table, "r/f/q@1000000=new r/f/q@7=seven ");
	move_set(&s, "p", 1000000, "equal");
	ck_assert_int_eq(move_do(&s, move_column("p", "q")), 1000001);
	s.clock = 500;
	move_set(&s, "p", 8, "back");
	ck_assert_int_eq(move_do(&s, move_column("p", "q")), 1000002);
	s.clock = 2000000;
	move_set(&s, "p", 1000002, "on");
	ck_assert_int_eq(move_do(&s, move_column("p", "q")), 2000000);
	suite_expect(s.table, "r/f/q@2000000=on r/f/q@1000002=back r/f/q@1000001=equal "
			      "r/f/q@1000000=new r/f/q@7=seven ");
	suite_close(&s);
}
END_TEST

START_TEST(test_column_same)
{
	struct suite s;
	uint32_t etag;

	suite_open(&s, _i);
	move_set(&s, "q", 7, "seven");
	move_set(&s, "q", 6, "six");
	etag = move_etag(&s, "q", 7);
	ck_assert_int_eq(move_do(&s, move_column("q", "q")), 7);
	suite_expect(s.table, "r/f/q@7=seven r/f/q@6=six ");
	ck_assert_uint_eq(move_etag(&s, "q", 7), etag);
	move_fails(&s, move_column_new("q", "q"), -EEXIST);
	move_fails(&s, move_column("p", "p"), -ENOENT);
	move_fails(&s, move_column_new("p", "p"), -ENOENT);
	suite_close(&s);
}
END_TEST

START_TEST(test_column_new)
{
	struct suite s;

	suite_open(&s, _i);
	move_set(&s, "p", 9, "p");
	move_set(&s, "q", 7, "q");
	move_fails(&s, move_column_new("p", "q"), -EEXIST);
	move_fails(&s, move_column_new("q", "p"), -EEXIST);
	move_fails(&s, move_column_new("none", "q"), -ENOENT);
	ck_assert_int_eq(move_do(&s, move_column_new("p", "pq")), 9);
	suite_expect(s.table, "r/f/pq@9=p r/f/q@7=q ");
	suite_close(&s);
}
END_TEST

/* ---- Single cells ------------------------------------------------------------------------ */

START_TEST(test_cell_newest)
{
	struct suite s;

	suite_open(&s, _i);
	move_set(&s, "p", 9, "nine");
	move_set(&s, "p", 5, "five");
	move_set(&s, "p", 3, "three");
	move_set(&s, "p", 1, "one");
	ck_assert_int_eq(move_do(&s, move_newest("p", 3, "q")), 3);
	suite_expect(s.table, "r/f/p@9=nine r/f/p@5=five r/f/p@1=one r/f/q@3=three ");
	ck_assert_int_eq(move_do(&s, move_newest("p", 5, "q")), 5);
	ck_assert_int_eq(move_do(&s, move_newest("p", 1, "q")), 1000000);
	suite_expect(s.table, "r/f/p@9=nine r/f/q@1000000=one r/f/q@5=five r/f/q@3=three ");
	/* the last of its column; and the clock stands still */
	ck_assert_int_eq(move_do(&s, move_newest("p", 9, "q")), 1000001);
	suite_expect(s.table, "r/f/q@1000001=nine r/f/q@1000000=one r/f/q@5=five r/f/q@3=three ");
	move_set(&s, "p", 1000001, "equal");
	ck_assert_int_eq(move_do(&s, move_newest("p", 1000001, "q")), 1000002);
	suite_expect_value(s.table, "r", "f", "q", 1000002, "equal");
	suite_expect_value(s.table, "r", "f", "q", 1000001, "nine");
	suite_close(&s);
}
END_TEST

START_TEST(test_cell)
{
	struct suite s;

	suite_open(&s, _i);
	move_set(&s, "p", 9, "nine");
	move_set(&s, "p", 5, "five");
	move_set(&s, "q", 7, "seven");
	ck_assert_int_eq(move_do(&s, move_cell("p", 5, "q", 3)), 3);
	suite_expect(s.table, "r/f/p@9=nine r/f/q@7=seven r/f/q@3=five ");
	ck_assert_int_eq(move_do(&s, move_cell("q", 7, "p", 9)), 9);
	suite_expect(s.table, "r/f/p@9=seven r/f/q@3=five ");
	ck_assert_int_eq(move_do(&s, move_cell("q", 3, "new", INT64_MAX)), INT64_MAX);
	ck_assert_int_eq(move_do(&s, move_cell("p", 9, "new", 0)), 0);
	suite_expect(s.table, "r/f/new@9223372036854775807=five r/f/new@0=seven ");
	suite_close(&s);
}
END_TEST

START_TEST(test_cell_in_its_column)
{
	struct suite s;
	uint32_t etag;

	suite_open(&s, _i);
	move_set(&s, "q", 9, "nine");
	move_set(&s, "q", 5, "five");
	move_set(&s, "q", 3, "three");
	ck_assert_int_eq(move_do(&s, move_cell("q", 3, "q", 12)), 12);
	suite_expect(s.table, "r/f/q@12=three r/f/q@9=nine r/f/q@5=five ");
	ck_assert_int_eq(move_do(&s, move_cell("q", 12, "q", 5)), 5);
	suite_expect(s.table, "r/f/q@9=nine r/f/q@5=three ");
	etag = move_etag(&s, "q", 5);
	ck_assert_int_eq(move_do(&s, move_cell("q", 5, "q", 5)), 5);
	suite_expect(s.table, "r/f/q@9=nine r/f/q@5=three ");
	ck_assert_uint_eq(move_etag(&s, "q", 5), etag);
	move_fails(&s, move_cell("q", 6, "q", 6), -ENOENT);
	suite_close(&s);
}
END_TEST

START_TEST(test_stamp)
{
	struct suite s;
	uint32_t etag;

	suite_open(&s, _i);
	move_set(&s, "q", 9, "nine");
	move_set(&s, "q", 5, "five");
	move_set(&s, "qq", 7, "other");
	ck_assert_int_eq(move_do(&s, move_stamp("q", 5000000)), 5000000);
	ck_assert_int_eq(move_do(&s, move_stamp("q", 6)), 6);
	suite_expect(s.table, "r/f/q@6=nine r/f/q@5=five r/f/qq@7=other ");
	move_fails(&s, move_stamp("q", 5), -EINVAL);
	move_fails(&s, move_stamp("q", 4), -EINVAL);
	etag = move_etag(&s, "q", 6);
	ck_assert_int_eq(move_do(&s, move_stamp("q", 6)), 6);
	ck_assert_uint_eq(move_etag(&s, "q", 6), etag);
	ck_assert_int_eq(move_do(&s, move_stamp("q", INT64_MAX)), INT64_MAX);
	ck_assert_int_eq(move_do(&s, move_stamp("qq", 0)), 0);
	suite_expect(s.table, "r/f/q@9223372036854775807=nine r/f/q@5=five r/f/qq@0=other ");
	suite_close(&s);
}
END_TEST

START_TEST(test_stamp_does_not_look_at_to)
{
	struct wcs_move move = move_stamp("q", 8);
	struct suite s;

	suite_open(&s, _i);
	move_set(&s, "q", 9, "nine");
	move_set(&s, "p", 8, "eight");
	move.from_ts = -5;
	move.to = suite_text("p");
	ck_assert_int_eq(move_do(&s, move), 8);
	move.to = (struct wcs_slice){NULL, WCS_QUALIFIER_MAX + 1};
	move.to_ts = 7;
	ck_assert_int_eq(move_do(&s, move), 7);
	suite_expect(s.table, "r/f/p@8=eight r/f/q@7=nine ");
	suite_close(&s);
}
END_TEST

/* ---- Timestamps at their end ------------------------------------------------------------- */

START_TEST(test_timestamps_end)
{
	struct suite s;

	suite_open(&s, _i);
	move_set(&s, "q", INT64_MAX - 2, "q");
	move_set(&s, "p", 4, "p");
	move_set(&s, "o", 4, "o");
	ck_assert_int_eq(move_do(&s, move_column("p", "q")), INT64_MAX - 1);
	ck_assert_int_eq(move_do(&s, move_newest("o", 4, "q")), INT64_MAX);
	move_set(&s, "p", 4, "p");
	move_set(&s, "o", INT64_MAX, "o");
	move_fails(&s, move_column("p", "q"), -EOVERFLOW);
	move_fails(&s, move_newest("p", 4, "q"), -EOVERFLOW);
	move_fails(&s, move_column("o", "q"), -EOVERFLOW);
	move_fails(&s, move_newest("o", INT64_MAX, "q"), -EOVERFLOW);
	/* what is not there is told first, and the other kinds ask for no server's timestamp */
	move_fails(&s, move_column("none", "q"), -ENOENT);
	move_fails(&s, move_newest("p", 5, "q"), -ENOENT);
	move_fails(&s, move_column_new("p", "q"), -EEXIST);
	ck_assert_int_eq(move_do(&s, move_column("q", "q")), INT64_MAX);
	ck_assert_int_eq(move_do(&s, move_cell("p", 4, "q", INT64_MAX)), INT64_MAX);
	suite_expect_value(s.table, "r", "f", "q", WCS_TS_NEWEST, "p");
	ck_assert_int_eq(move_do(&s, move_column("o", "p")), INT64_MAX);
	suite_close(&s);
}
END_TEST

START_TEST(test_latest_timestamp_needs_no_other)
{
	struct suite s;

	suite_open(&s, _i);
	move_set(&s, "q", INT64_MAX - 1, "q");
	move_set(&s, "p", INT64_MAX, "p");
	ck_assert_int_eq(move_do(&s, move_column("p", "q")), INT64_MAX);
	suite_expect(s.table, "r/f/q@9223372036854775807=p r/f/q@9223372036854775806=q ");
	suite_close(&s);
}
END_TEST

/* A clock before 1970 counts as 1970. */
START_TEST(test_clock_before_its_start)
{
	struct suite s;

	suite_open(&s, _i);
	move_set(&s, "p", 0, "p");
	move_set(&s, "q", 0, "q");
	s.clock = -5;
	ck_assert_int_eq(move_do(&s, move_column("p", "q")), 1);
	suite_expect(s.table, "r/f/q@1=p r/f/q@0=q ");
	suite_close(&s);
}
END_TEST

/* ---- What does not exist, and arguments -------------------------------------------------- */

START_TEST(test_missing)
{
	struct suite s;

	suite_open(&s, _i);
	for (int round = 0; round < 2; round++) {
		move_fails(&s, move_column("p", "q"), -ENOENT);
		move_fails(&s, move_column_new("p", "z"), -ENOENT);
		move_fails(&s, move_newest("p", 5, "q"), -ENOENT);
		move_fails(&s, move_cell("p", 5, "q", 5), -ENOENT);
		move_fails(&s, move_cell("p", 5, "q", 6), -ENOENT);
		move_fails(&s, move_stamp("p", 5), -ENOENT);
		/* the row is there, and columns around the one that is not */
		move_set(&s, "o", 5, "o");
		move_set(&s, "pp", 5, "pp");
		move_set(&s, "q", 5, "q");
		suite_set(s.table, "r", "a", "p", 5, "a");
	}
	move_fails(&s, move_newest("q", 4, "p"), -ENOENT);
	move_fails(&s, move_newest("q", 6, "p"), -ENOENT);
	move_fails(&s, move_cell("q", 4, "o", 5), -ENOENT);
	suite_close(&s);
}
END_TEST

START_TEST(test_missing_family)
{
	struct wcs_move moves[] = {move_column("q", "p"),     move_column("q", "q"),
				   move_column_new("q", "p"), move_newest("q", 5, "p"),
				   move_cell("q", 5, "p", 5), move_stamp("q", 6)};
	struct suite s;

	suite_open(&s, _i);
	move_set(&s, "q", 5, "q");
	for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++) {
		moves[i].family = "none";
		move_fails(&s, moves[i], -ENOENT);
		moves[i].family = "";
		move_fails(&s, moves[i], -ENOENT);
	}
	suite_close(&s);
}
END_TEST

START_TEST(test_missing_table)
{
	struct wcs_move move = move_column("q", "p");
	struct wcs_table *table;
	struct suite s;
	int64_t ts = 77;

	suite_open(&s, _i);
	ck_assert_int_eq(wcs_table_create(s.store, "u"), 0);
	ck_assert_int_eq(wcs_table_open(s.store, "u", &table), 0);
	ck_assert_int_eq(wcs_table_remove(s.store, "u"), 0);
	move.family = "f";
	ck_assert_int_eq(wcs_cells_move(table, suite_text("r"), &move, &ts), -ENOENT);
	ck_assert_int_eq(ts, 77);
	wcs_table_close(table);
	suite_close(&s);
}
END_TEST

START_TEST(test_arguments)
{
	struct wcs_slice no_bytes = {NULL, 1};
	struct wcs_move move;
	struct suite s;

	suite_open(&s, _i);
	move_set(&s, "q", 5, "q");
	move = move_column("q", "p");
	move.kind = (enum wcs_move_kind)(WCS_MOVE_STAMP + 1);
	move_fails(&s, move, -EINVAL);
	move.kind = (enum wcs_move_kind)(-1);
	move_fails(&s, move, -EINVAL);
	move_fails(&s, move_newest("q", 5, "q"), -EINVAL);
	move_fails(&s, move_newest("none", 5, "none"), -EINVAL);
	move_fails(&s, move_newest("q", -1, "p"), -EINVAL);
	move_fails(&s, move_cell("q", -1, "p", 5), -EINVAL);
	move_fails(&s, move_cell("q", 5, "p", -1), -EINVAL);
	move_fails(&s, move_cell("q", 5, "q", INT64_MIN), -EINVAL);
	move_fails(&s, move_stamp("q", -1), -EINVAL);
	move = move_column("q", "p");
	move.to = no_bytes;
	move_fails(&s, move, -EINVAL);
	move.to = move.from;
	move.from = no_bytes;
	move_fails(&s, move, -EINVAL);
	suite_close(&s);
}
END_TEST

START_TEST(test_row_keys)
{
	char *bytes = suite_pattern(WCS_ROW_KEY_MAX + 1, 1);
	struct wcs_slice rows[] = {{bytes, 0}, {bytes, WCS_ROW_KEY_MAX + 1}, {NULL, 1}};
	static const int errors[] = {-EINVAL, -ENAMETOOLONG, -EINVAL};
	struct wcs_move move = move_column("q", "p");
	struct suite s;

	suite_open(&s, _i);
	move.family = "f";
	for (size_t i = 0; i < 3; i++)
		ck_assert_int_eq(wcs_cells_move(s.table, rows[i], &move, NULL), errors[i]);
	suite_close(&s);
	free(bytes);
}
END_TEST

/* The longest row key and qualifiers, all NUL bytes, which are the longest when stored. */
START_TEST(test_longest_keys)
{
	char *bytes = calloc(1, WCS_QUALIFIER_MAX + 1);
	struct wcs_slice row = {bytes, WCS_ROW_KEY_MAX};
	struct wcs_slice longest = {bytes, WCS_QUALIFIER_MAX};
	struct wcs_slice shorter = {bytes, WCS_QUALIFIER_MAX - 1};
	struct wcs_mutation *mutation = wcs_mutation_new();
	struct wcs_move move = {
		.kind = WCS_MOVE_COLUMN, .family = "f", .from = shorter, .to = longest};
	struct wcs_cell_info info;
	struct suite s;
	int64_t ts;

	suite_open(&s, _i);
	wcs_mutation_set(mutation, "f", shorter, 5, suite_text("v"));
	ck_assert_int_eq(wcs_row_mutate(s.table, row, mutation, NULL), 0);
	wcs_mutation_free(mutation);
	ck_assert_int_eq(wcs_cells_move(s.table, row, &move, &ts), 0);
	ck_assert_int_eq(ts, 5);
	ck_assert_int_eq(wcs_cell_get(s.table, row, "f", shorter, 5, &info), -ENOENT);
	ck_assert_int_eq(wcs_cell_get(s.table, row, "f", longest, 5, &info), 0);
	move.to.len++;
	ck_assert_int_eq(wcs_cells_move(s.table, row, &move, &ts), -ENAMETOOLONG);
	move.from = move.to;
	move.to = longest;
	ck_assert_int_eq(wcs_cells_move(s.table, row, &move, &ts), -ENAMETOOLONG);
	suite_close(&s);
	free(bytes);
}
END_TEST

START_TEST(test_any_qualifier)
{
	static const struct wcs_slice names[] = {{NULL, 0}, {"\0", 1},	 {"\0\0", 2}, {"\0\1", 2},
						 {"\1", 1}, {"\xff", 1}, {"a\0b", 3}};
	static const char *const shown[] = {
		"r/f/@5=v ",	 "r/f/\\00@5=v ", "r/f/\\00\\00@5=v ", "r/f/\\00\\01@5=v ",
		"r/f/\\01@5=v ", "r/f/\\FF@5=v ", "r/f/a\\00b@5=v "};
	size_t count = sizeof(names) / sizeof(names[0]);
	struct suite s;

	suite_open(&s, _i);
	move_set(&s, "", 5, "v");
	for (size_t i = 0; i < count; i++) {
		struct wcs_move move = {.kind = WCS_MOVE_COLUMN_NEW, .from = names[i]};

		move.to = names[(i + 1) % count];
		suite_expect(s.table, shown[i]);
		ck_assert_int_eq(move_do(&s, move), 5);
	}
	suite_expect(s.table, shown[0]);
	suite_close(&s);
}
END_TEST

START_TEST(test_timestamp_is_not_asked_for)
{
	struct wcs_move move = move_column("q", "p");
	struct suite s;

	suite_open(&s, _i);
	move_set(&s, "q", 5, "q");
	ck_assert_int_eq(move_try(&s, &move, NULL), 0);
	suite_expect(s.table, "r/f/p@5=q ");
	suite_close(&s);
}
END_TEST

/* ---- Values ------------------------------------------------------------------------------ */

/* Where another value stood before, the etag tells the two apart. */
START_TEST(test_etags)
{
	struct suite s;
	uint32_t before;

	suite_open(&s, _i);
	move_set(&s, "p", 5, "one");
	move_set(&s, "q", 5, "one");
	before = move_etag(&s, "q", 5);
	move_do(&s, move_cell("p", 5, "q", 5));
	ck_assert_uint_ne(move_etag(&s, "q", 5), before);
	/* away, something else instead, and back */
	before = move_etag(&s, "q", 5);
	move_do(&s, move_column("q", "p"));
	move_set(&s, "q", 5, "two");
	ck_assert_uint_ne(move_etag(&s, "q", 5), before);
	before = move_etag(&s, "q", 5);
	move_do(&s, move_cell("p", 5, "q", 5));
	ck_assert_uint_ne(move_etag(&s, "q", 5), before);
	suite_close(&s);
}
END_TEST

START_TEST(test_values_of_any_size)
{
	static const size_t sizes[] = {0, 1, 4095, 4096, 4097, 65536, 65537, 200000, 3 * MIB};
	struct suite s;

	suite_open(&s, _i);
	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t size = sizes[i];

		move_set_large(&s, "a", 7, size, i);
		move_set_large(&s, "a", 5, size, i + 50);
		ck_assert_int_eq(move_do(&s, move_column("a", "b")), 7);
		expect_pattern(move_open(&s, "b", WCS_TS_NEWEST), size, i);
		expect_pattern(move_open(&s, "b", 5), size, i + 50);
		ck_assert_int_eq(move_do(&s, move_stamp("b", 6)), 6);
		ck_assert_int_eq(move_do(&s, move_cell("b", 5, "c", 9)), 9);
		ck_assert_int_eq(move_do(&s, move_newest("b", 6, "c")), 1000000);
		expect_pattern(move_open(&s, "c", WCS_TS_NEWEST), size, i);
		expect_pattern(move_open(&s, "c", 9), size, i + 50);
		if (_i == SUITE_LEVELDB)
			suite_reopen(&s);
		if (_i == SUITE_LEVELDB)
			expect_pattern(move_open(&s, "c", WCS_TS_NEWEST), size, i);
		suite_delete_row(s.table, "r");
	}
	suite_close(&s);
}
END_TEST

/* Values that are open stay what they were, also those of cells that a move replaces or drops. */
START_TEST(test_open_values)
{
	static const size_t sizes[] = {10, 300000};
	struct suite s;

	suite_open(&s, _i);
	for (size_t i = 0; i < 2; i++) {
		struct wcs_value *moved, *replaced, *dropped;

		move_set_large(&s, "p", 5, sizes[i], 1);
		move_set_large(&s, "q", 5, sizes[i], 2);
		move_set_large(&s, "o", 4, sizes[i], 3);
		move_set_large(&s, "o", 6, sizes[i], 4);
		moved = move_open(&s, "p", 5);
		replaced = move_open(&s, "q", 5);
		dropped = move_open(&s, "o", 4);
		move_do(&s, move_cell("p", 5, "q", 5));
		move_do(&s, move_column("o", "q"));
		move_do(&s, move_stamp("q", 7));
		suite_delete_row(s.table, "r");
		nanosleep(&(struct timespec){0, 300000000}, NULL);
		ck_assert_int_eq(wcs_value_info(moved)->ts, 5);
		expect_pattern(moved, sizes[i], 1);
		expect_pattern(replaced, sizes[i], 2);
		expect_pattern(dropped, sizes[i], 3);
	}
	suite_close(&s);
}
END_TEST

/* A scan gives all cells of one row as of one moment. */
START_TEST(test_scan_under_way)
{
	struct wcs_range range = {.start = {NULL, 0}};
	struct wcs_filter filter = {.each = WCS_EACH_CELL};
	char *bytes = malloc(200000);
	char *expected = suite_pattern(200000, 1);
	struct wcs_scan *scan;
	struct wcs_cell cell;
	struct suite s;
	size_t got;

	suite_open(&s, _i);
	move_set_large(&s, "p", 5, 200000, 1);
	move_set_large(&s, "p", 4, 200000, 1);
	ck_assert_int_eq(wcs_scan_open(s.table, &range, &filter, &scan), 0);
	ck_assert_int_eq(wcs_scan_next(scan, &cell), 1);
	move_do(&s, move_column("p", "q"));
	ck_assert_int_eq(wcs_scan_next(scan, &cell), 1);
	ck_assert_int_eq(cell.info.ts, 4);
	ck_assert_uint_eq(cell.qualifier.len, 1);
	ck_assert_mem_eq(cell.qualifier.data, "p", 1);
	ck_assert_int_eq(wcs_scan_read(scan, bytes, 200000, 0, &got), 0);
	ck_assert_uint_eq(got, 200000);
	ck_assert_mem_eq(bytes, expected, got);
	ck_assert_int_eq(wcs_scan_next(scan, &cell), 0);
	wcs_scan_close(scan);
	suite_close(&s);
	free(bytes);
	free(expected);
}
END_TEST

START_TEST(test_family_of_moved_cells_stays)
{
	struct suite s;

	suite_open(&s, _i);
	move_set(&s, "p", 5, "v");
	move_do(&s, move_column("p", "q"));
	ck_assert_int_eq(wcs_family_remove(s.table, "f"), -ENOTEMPTY);
	suite_expect(s.table, "r/f/q@5=v ");
	suite_delete_row(s.table, "r");
	ck_assert_int_eq(wcs_family_remove(s.table, "f"), 0);
	suite_close(&s);
}
END_TEST

/* ---- Several at once --------------------------------------------------------------------- */

struct mover {
	struct suite *suite;
	const char *from, *to;
	atomic_bool *stop;
	atomic_int moved;
};

static void *mover_main(void *arg)
{
	struct mover *mover = arg;
	struct wcs_move move = move_column_new(mover->from, mover->to);

	while (!atomic_load(mover->stop)) {
		int rc = move_try(mover->suite, &move, NULL);

		if (rc == 0)
			atomic_fetch_add(&mover->moved, 1);
		else if (rc != -ENOENT)
			break;
	}
	return NULL;
}

/* However often a column moves to and fro, a reader of the row finds it once and whole. */
START_TEST(test_readers_see_all_or_nothing)
{
	struct wcs_range range = {.start = {NULL, 0}};
	struct wcs_filter filter = {.each = WCS_EACH_CELL};
	char *texts[2];
	atomic_bool stop = false;
	struct suite s;
	struct mover movers[2] = {{&s, "p", "q", &stop, 0}, {&s, "q", "p", &stop, 0}};
	pthread_t threads[2];

	suite_open(&s, _i);
	move_set_large(&s, "p", 5, 70000, 1);
	move_set(&s, "p", 4, "four");
	texts[0] = suite_scan(s.table, &range, &filter);
	move_do(&s, move_column("p", "q"));
	texts[1] = suite_scan(s.table, &range, &filter);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, mover_main, &movers[i]), 0);
	for (int i = 0; i < 500 || atomic_load(&movers[0].moved) == 0; i++) {
		char *text = suite_scan(s.table, &range, &filter);

		ck_assert_msg(strcmp(text, texts[0]) == 0 || strcmp(text, texts[1]) == 0, "%s",
			      text);
		free(text);
	}
	atomic_store(&stop, true);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	ck_assert_int_gt(movers[0].moved, 0);
	ck_assert_int_le(abs(movers[0].moved - movers[1].moved), 1);
	suite_close(&s);
	free(texts[0]);
	free(texts[1]);
}
END_TEST

#define RACE_MOVES 200

struct racer {
	struct suite *suite;
	char name[2];
};

static void *racer_main(void *arg)
{
	struct racer *racer = arg;
	struct wcs_move move = move_column(racer->name, "q");

	for (int i = 0; i < RACE_MOVES; i++) {
		move_set(racer->suite, racer->name, 0, racer->name);
		move_do(racer->suite, move);
	}
	return NULL;
}

/* Columns that move onto one at once: each becomes a version of its own. */
START_TEST(test_no_version_is_lost)
{
	struct wcs_range range = {.start = {NULL, 0}};
	struct wcs_filter filter = {.each = WCS_EACH_CELL};
	struct suite s;
	struct racer racers[] = {{&s, "a"}, {&s, "b"}, {&s, "c"}, {&s, "d"}};
	pthread_t threads[4];
	struct wcs_scan *scan;
	struct wcs_cell cell;
	int cells = 0;

	suite_open(&s, _i);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, racer_main, &racers[i]), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	ck_assert_int_eq(wcs_scan_open(s.table, &range, &filter, &scan), 0);
	while (wcs_scan_next(scan, &cell) == 1) {
		ck_assert_mem_eq(cell.qualifier.data, "q", 1);
		cells++;
	}
	wcs_scan_close(scan);
	ck_assert_int_eq(cells, 4 * RACE_MOVES);
	suite_close(&s);
}
END_TEST

/* ---- LevelDB's chunks -------------------------------------------------------------------- */

static struct ldb *chunks_db(struct suite *s)
{
	return s->store->db;
}

/* How many keys of a key space there are. */
static int chunks_count(struct suite *s, char space)
{
	leveldb_iterator_t *iter = ldb_db_iterate(chunks_db(s));
	int count = 0;

	for (leveldb_iter_seek(iter, &space, 1); leveldb_iter_valid(iter);
	     leveldb_iter_next(iter)) {
		size_t len;

		if (leveldb_iter_key(iter, &len)[0] != space)
			break;
		count++;
	}
	leveldb_iter_destroy(iter);
	return count;
}

/* Waits until this many chunks are left, and no garbage records. */
static void chunks_expect(struct suite *s, int chunks)
{
	for (int i = 0; i < 1000; i++) {
		if (chunks_count(s, 'v') == chunks && chunks_count(s, 'g') == 0)
			return;
		nanosleep(&(struct timespec){0, 10000000}, NULL);
	}
	ck_abort_msg("%d chunks and %d garbage records, expected %d and none", chunks_count(s, 'v'),
		     chunks_count(s, 'g'), chunks);
}

/* A value of 200,000 bytes has 4 chunks, one of 70,000 has 2. */
START_TEST(test_chunks_stay_or_go)
{
	struct suite s;

	suite_open(&s, SUITE_LEVELDB);
	move_set_large(&s, "p", 9, 200000, 1);
	move_set_large(&s, "p", 5, 70000, 2);
	move_do(&s, move_column("p", "q"));
	move_do(&s, move_stamp("q", 8));
	move_do(&s, move_cell("q", 5, "q", 5));
	move_do(&s, move_column("q", "q"));
	ck_assert_int_eq(chunks_count(&s, 'g'), 0);
	ck_assert_int_eq(chunks_count(&s, 'v'), 6);
	/* replaced */
	move_do(&s, move_cell("q", 8, "q", 5));
	chunks_expect(&s, 4);
	move_set(&s, "p", 3, "small");
	move_do(&s, move_cell("q", 5, "p", 3));
	chunks_expect(&s, 4);
	/* older ones of a column that goes */
	move_set_large(&s, "p", 2, 70000, 3);
	move_set_large(&s, "q", 9, 70000, 4);
	move_do(&s, move_column("p", "q"));
	chunks_expect(&s, 6);
	move_fails(&s, move_cell("none", 1, "q", 9), -ENOENT);
	suite_reopen(&s);
	chunks_expect(&s, 6);
	expect_pattern(move_open(&s, "q", WCS_TS_NEWEST), 200000, 1);
	expect_pattern(move_open(&s, "q", 9), 70000, 4);
	move_set(&s, "p", 9, "small");
	move_do(&s, move_cell("p", 9, "q", 9));
	chunks_expect(&s, 4);
	suite_delete_row(s.table, "r");
	chunks_expect(&s, 0);
	suite_close(&s);
}
END_TEST

/* A value that was streamed before its mutation, so that it had an intent. */
START_TEST(test_streamed_value_moves)
{
	struct suite s;

	suite_open(&s, SUITE_LEVELDB);
	move_set_large(&s, "p", 9, 3 * MIB, 1);
	move_do(&s, move_column("p", "q"));
	move_set_large(&s, "p", 9, 3 * MIB, 2);
	move_do(&s, move_cell("p", 9, "q", 9));
	chunks_expect(&s, 48);
	suite_reopen(&s);
	chunks_expect(&s, 48);
	expect_pattern(move_open(&s, "q", 9), 3 * MIB, 2);
	suite_close(&s);
}
END_TEST

/* After a failed write nothing moves. */
START_TEST(test_read_only)
{
	struct suite s;

	suite_open(&s, SUITE_LEVELDB);
	move_set(&s, "q", 5, "q");
	atomic_store(&chunks_db(&s)->failed, true);
	move_fails(&s, move_column("q", "p"), -EROFS);
	suite_close(&s);
}
END_TEST

START_TEST(test_damaged_cell)
{
	leveldb_writebatch_t *batch = leveldb_writebatch_create();
	static struct ldb_key key;
	struct suite s;
	int64_t ts = 77;
	struct wcs_move moves[] = {move_column("q", "p"), move_newest("q", 5, "p"),
				   move_cell("q", 5, "p", 5), move_cell("o", 5, "q", 5),
				   move_stamp("q", 8)};

	suite_open(&s, SUITE_LEVELDB);
	move_set(&s, "o", 5, "o");
	move_set(&s, "q", 5, "q");
	ldb_key_row(&key, 1, suite_text("r"));
	ldb_key_family(&key, "f");
	ldb_key_qualifier(&key, suite_text("q"));
	ldb_key_ts(&key, 5);
	leveldb_writebatch_put(batch, (const char *)key.data, key.len, "\7what", 5);
	ck_assert_int_eq(ldb_db_write(chunks_db(&s), batch, false), 0);
	leveldb_writebatch_destroy(batch);
	for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++)
		ck_assert_int_eq(move_try(&s, &moves[i], &ts), -EIO);
	ck_assert_int_eq(ts, 77);
	suite_expect_value(s.table, "r", "f", "o", 5, "o");
	suite_close(&s);
}
END_TEST

static void make(Suite *suite)
{
	suite_add(suite, "column with history", test_column_with_history, 30);
	suite_add(suite, "column leaves its neighbours", test_column_leaves_its_neighbours, 30);
	suite_add(suite, "column onto older", test_column_onto_older, 30);
	suite_add(suite, "column onto newer", test_column_onto_newer, 30);
	suite_add(suite, "column same", test_column_same, 30);
	suite_add(suite, "column new", test_column_new, 30);
	suite_add(suite, "cell newest", test_cell_newest, 30);
	suite_add(suite, "cell", test_cell, 30);
	suite_add(suite, "cell in its column", test_cell_in_its_column, 30);
	suite_add(suite, "stamp", test_stamp, 30);
	suite_add(suite, "stamp does not look at to", test_stamp_does_not_look_at_to, 30);
	suite_add(suite, "timestamps end", test_timestamps_end, 30);
	suite_add(suite, "latest timestamp", test_latest_timestamp_needs_no_other, 30);
	suite_add(suite, "clock before its start", test_clock_before_its_start, 30);
	suite_add(suite, "missing", test_missing, 30);
	suite_add(suite, "missing family", test_missing_family, 30);
	suite_add(suite, "missing table", test_missing_table, 30);
	suite_add(suite, "arguments", test_arguments, 30);
	suite_add(suite, "row keys", test_row_keys, 30);
	suite_add(suite, "longest keys", test_longest_keys, 30);
	suite_add(suite, "any qualifier", test_any_qualifier, 30);
	suite_add(suite, "timestamp not asked for", test_timestamp_is_not_asked_for, 30);
	suite_add(suite, "etags", test_etags, 30);
	suite_add(suite, "values of any size", test_values_of_any_size, 120);
	suite_add(suite, "open values", test_open_values, 60);
	suite_add(suite, "scan under way", test_scan_under_way, 30);
	suite_add(suite, "family of moved cells", test_family_of_moved_cells_stays, 30);
	suite_add(suite, "readers see all or nothing", test_readers_see_all_or_nothing, 120);
	suite_add(suite, "no version is lost", test_no_version_is_lost, 120);
	suite_add_once(suite, "chunks stay or go", test_chunks_stay_or_go, 60);
	suite_add_once(suite, "streamed value moves", test_streamed_value_moves, 60);
	suite_add_once(suite, "read-only", test_read_only, 30);
	suite_add_once(suite, "damaged cell", test_damaged_cell, 30);
}

int main(void)
{
	return suite_main("store: moves", make);
}
