/* SPDX-License-Identifier: MIT */
/* Reads the newest cells from a stream of rows. */
#ifndef ROWS_READER_H
#define ROWS_READER_H

#include "mkfs/text/rows.h"

#define ROWS_READER_ROOM (64u << 10)

/* The kind of the present value. */
enum rows_value { ROWS_VALUE_NONE, ROWS_VALUE_TEXT, ROWS_VALUE_BASE64, ROWS_VALUE_NUMBER };

/* A key, or a column: the family, a NUL, and the qualifier. Columns are ordered by these bytes. */
struct rows_name {
	size_t len;
	unsigned char bytes[WCS_FAMILY_NAME_MAX + 1 + WCS_QUALIFIER_MAX];
};

/* Of a stream that was just started; all but rows is zero at first. */
struct rows_reader {
	struct rows *rows;
	int exit_code; /* PROGRAM_FAILED: the reason is printed */
	struct rows_name key, column;
	size_t family_len;     /* of the column, with the NUL */
	struct rows_name next; /* the key of the line after the row */
	struct rows_name last; /* the last column of the row's line before */
	char ts[24];	       /* of the cell, decimal */

	enum rows_value value; /* the unread part */
	bool in_row, in_family;
	bool ahead;	/* at the families of the line after the row */
	bool again;	/* at the first column of another line of the row */
	size_t at, end; /* of the unread text in room */
	unsigned char room[ROWS_READER_ROOM];
};

/* The next row: fills key. False: the end, or a failure. */
bool rows_reader_row(struct rows_reader *reader);
/* The next column of the row: fills column and ts. False: the row's end, or a failure. */
bool rows_reader_column(struct rows_reader *reader);
/* The next bytes of the column's newest value; 0 only at the end, or at a failure. The next column
 * skips unread bytes. */
size_t rows_reader_value(struct rows_reader *reader, void *buf, size_t len);

#endif
