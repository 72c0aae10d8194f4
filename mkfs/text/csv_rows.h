/* SPDX-License-Identifier: MIT */
/*
 * CSV as rows. Its header is that of `cbt import`: a row of families, unless there is one for all,
 * whose names carry to the right; a row of qualifiers; then rows, the key first. Or it is one row
 * that names the columns, as family:qualifier unless there is one family for all, one or more of
 * which hold the key.
 */
#ifndef CSV_ROWS_H
#define CSV_ROWS_H

#include "mkfs/text/csv.h"
#include "store/rows.h"

struct csv_row {
	struct wcs_slice key;
	/* At least one, sorted; families end in NUL, ts may be WCS_TS_SERVER. */
	const struct wcs_cell *cells;
	size_t count;
	uint64_t line; /* at which its record begins */
};

/* A callback's error ends reading; why is the caller's. */
struct csv_rows_options {
	const char *family; /* of all columns, and no row of families; NULL: there is one */
	const char *key;  /* an ordinary header's columns with the segments of the key, as a record
			   * of CSV; NULL: no such header */
	const char *null; /* the text of a field without quotes that is no cell; NULL: any empty
			   * field is none */
	bool create;	  /* the family may be missing */
	char separator, escape; /* of struct csv */
	bool literal;		/* of struct csv */
	const char *delimiter;	/* --delimiter; NULL: none */
	const char *escapes;	/* --escape; NULL: none */
	bool timestamps;	/* value@timestamp */
	/* Has the table the family? */
	int (*has_family)(void *ctx, const char *family);
	/* The header is read: `line` is where its last record begins, the cells are its columns,
	 * sorted and without values. Sets *keys to the design in whose shown form the keys are;
	 * NULL, as before the call: they are bytes. Sets *delimiter, which is '#' before. */
	int (*begin)(void *ctx, const struct csv_row *header, const struct wcs_keys **keys,
		     unsigned char *delimiter);
	/* The slices are good until it returns, but names of families and qualifiers until
	 * csv_rows_close. */
	int (*row)(void *ctx, const struct csv_row *row);
	void *ctx;
};

struct csv_column;

struct csv_rows {
	struct csv_rows_options options;
	struct csv csv;
	struct csv_column *columns; /* the keys', then those of cells; NULL: not read yet */
	size_t column_count, key_count;
	struct wcs_cell *cells; /* room for those of a row */
	const struct wcs_keys *keys;
	unsigned char delimiter;
	struct wcs_text joined;		    /* the key of several columns */
	unsigned char key[WCS_ROW_KEY_MAX]; /* of a shown form */
	uint64_t body; /* line of the first row; 0: the headers are not read yet */
	/* The place and the reason; an empty reason: a callback failed. */
	struct csv_place wrong;
	char why[256];
};

void csv_rows_open(struct csv_rows *rows, const struct csv_rows_options *options);
void csv_rows_close(struct csv_rows *rows);
/* Read the next bytes, and the end. */
int csv_rows_read(struct csv_rows *rows, const char *text, size_t len);
int csv_rows_end(struct csv_rows *rows);

#endif
