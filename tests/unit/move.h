/* SPDX-License-Identifier: MIT */
/* Shared by the tests of moves: each kind of move, in the row "r" and the family "f". */
#ifndef TEST_MOVE_H
#define TEST_MOVE_H

#include "tests/unit/suite.h"

/* The moves of store.h. */
#define MOVE(kind, from, from_ts, to, to_ts)                                                       \
	((struct wcs_move){WCS_MOVE_##kind, NULL, suite_text(from), from_ts, suite_text(to), to_ts})
#define move_column(from, to)		    MOVE(COLUMN, from, 0, to, 0)
#define move_column_new(from, to)	    MOVE(COLUMN_NEW, from, 0, to, 0)
#define move_newest(from, from_ts, to)	    MOVE(CELL_NEWEST, from, from_ts, to, 0)
#define move_cell(from, from_ts, to, to_ts) MOVE(CELL, from, from_ts, to, to_ts)
#define move_stamp(column, to_ts)	    MOVE(STAMP, column, 0, "", to_ts)

/* Moves in the row "r" and the family "f". */
int move_try(struct suite *s, const struct wcs_move *asked, int64_t *ts);
/* Moves, checks that it went well, and returns the timestamp. */
int64_t move_do(struct suite *s, struct wcs_move move);
/* Fails so, and leaves *ts and all cells as they were. */
void move_fails(struct suite *s, struct wcs_move move, int error);
void move_set(struct suite *s, const char *column, int64_t ts, const char *value);
uint32_t move_etag(struct suite *s, const char *column, int64_t ts);
void move_set_large(struct suite *s, const char *column, int64_t ts, size_t size,
		    unsigned int seed);
struct wcs_value *move_open(struct suite *s, const char *column, int64_t ts);
/* The value is the pattern of this size and seed. Closes it. */
void move_expect_pattern(struct wcs_value *value, size_t size, unsigned int seed);

#endif
