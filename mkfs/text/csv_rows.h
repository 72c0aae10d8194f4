/* SPDX-License-Identifier: MIT */
/*
 * CSV as lines of row JSON. Its header is that of `cbt import`: a row of families, unless there is
 * one for all, whose names carry to the right; a row of qualifiers; then rows, the key first. Or it
 * is one row that names the columns, and the key is in one of them.
 */
#ifndef CSV_ROWS_H
#define CSV_ROWS_H

#include "mkfs/text/csv.h"

struct csv_rows_options {
	const char *table;
	const char *family; /* of all columns, and no row of families; NULL: there is one */
	const char *key;    /* the column with the keys, of an ordinary header; NULL: none such */
	bool create;	    /* make the table and the family where they are missing */
	char separator;
	bool timestamps; /* value@timestamp */
	/* Has the table the family? Any error ends reading there; why is the caller's. */
	int (*has_family)(void *ctx, const char *family);
	void *ctx;
};

struct csv_column;

struct csv_text {
	char *bytes;
	size_t len, room;
	bool failed; /* no memory: nothing is added any more */
};

struct csv_rows {
	struct csv_rows_options options;
	struct csv csv;
	struct csv_column *columns; /* the keys', then those of cells; NULL: not read yet */
	size_t column_count;
	uint64_t body;	     /* line of the first row; 0: the headers are not read yet */
	struct csv_text out; /* lines made by the present call */
	uint64_t *origins;   /* of each of them: the line of the CSV it comes from */
	size_t lines, lines_room;
	/* The place and the reason; an empty reason: has_family gave it. */
	struct csv_place wrong;
	char why[256];
};

void csv_rows_open(struct csv_rows *rows, const struct csv_rows_options *options);
void csv_rows_close(struct csv_rows *rows);
/* Read the next bytes, and the end: the lines of the call are in out, also those before an error.
 * The first line of all is a table line, or with `create` a schema. */
int csv_rows_read(struct csv_rows *rows, const char *text, size_t len);
int csv_rows_end(struct csv_rows *rows);

#endif
