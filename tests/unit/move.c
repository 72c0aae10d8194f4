/* SPDX-License-Identifier: MIT */
/* Moves of cells, and the cells that they move. */
#include "tests/unit/move.h"

int move_try(struct suite *s, const struct wcs_move *asked, int64_t *ts)
{
	struct wcs_move move = *asked;

	if (move.family == NULL)
		move.family = "f";
	return wcs_cells_move(s->table, suite_text("r"), &move, ts);
}

int64_t move_do(struct suite *s, struct wcs_move move)
{
	int64_t ts = -7;

	SUITE_OK(move_try(s, &move, &ts));
	return ts;
}

void move_fails(struct suite *s, struct wcs_move move, int error)
{
	char *before = suite_content(s->table);
	int64_t ts = 77;

	ck_assert_int_eq(move_try(s, &move, &ts), error);
	ck_assert_int_eq(ts, 77);
	suite_expect(s->table, before);
	free(before);
}

void move_set(struct suite *s, const char *column, int64_t ts, const char *value)
{
	suite_set(s->table, "r", "f", column, ts, value);
}

uint32_t move_etag(struct suite *s, const char *column, int64_t ts)
{
	struct wcs_cell_info info;

	SUITE_OK(wcs_cell_get(s->table, suite_text("r"), "f", suite_text(column), ts, &info));
	return info.etag;
}

void move_set_large(struct suite *s, const char *column, int64_t ts, size_t size, unsigned int seed)
{
	char *value = suite_pattern(size, seed);

	suite_put(s->table, suite_text("r"), "f", suite_text(column), ts,
		  (struct wcs_slice){value, size});
	free(value);
}

struct wcs_value *move_open(struct suite *s, const char *column, int64_t ts)
{
	struct wcs_value *value;

	SUITE_OK(wcs_value_open(s->table, suite_text("r"), "f", suite_text(column), ts, &value));
	return value;
}

void move_expect_pattern(struct wcs_value *value, size_t size, unsigned int seed)
{
	char *expected = suite_pattern(size, seed);
	char *bytes = malloc(size + 1);
	size_t got;

	ck_assert_uint_eq(wcs_value_info(value)->size, size);
	SUITE_OK(wcs_value_read(value, bytes, size + 1, 0, &got));
	ck_assert_uint_eq(got, size);
	ck_assert_mem_eq(bytes, expected, size);
	wcs_value_close(value);
	free(bytes);
	free(expected);
}
