/* SPDX-License-Identifier: MIT */
/*
 * The rows of a store that is not mounted, or of a directory in a mount, as streams of text. A
 * failure prints its reason and returns PROGRAM_FAILED.
 */
#ifndef ROWS_H
#define ROWS_H

#include "mkfs/base/mounted.h"
#include "store/rows.h"

struct rows {
	const struct program *program;
	const char *path;
	struct wcs_schema *schema;
	const char *views; /* a chain, set after rows_open; NULL: everything. With segments in it
			      (wcs_view_descends) rows_start takes no key */
	bool remarked;	   /* the remark on it, if a store has one, is printed */

	struct wcs_store *store; /* NULL: a mount */
	struct wcs_table *table;
	struct wcs_export *exported;

	struct mounted mounted; /* of a store all zero */
	int fd;			/* of .rows; -1: none is open */
	const char *name;	/* of the table of the stream */
};

int rows_open(const struct program *program, const char *path, struct rows **rows);
void rows_close(struct rows *rows);

/* Starts the stream of a table's rows; key: only the row of that key and those below it. Ends the
 * last stream. kind: of the export of a store; in a mount it is text. */
int rows_start(struct rows *rows, const struct wcs_table_schema *table, const struct wcs_slice *key,
	       enum wcs_export_kind kind);
/* Its next bytes; *got is 0 only at the end. */
int rows_read(struct rows *rows, void *buf, size_t len, size_t *got);
/* Prints why the stream is wrong. Returns PROGRAM_FAILED. */
int rows_fail(const struct rows *rows, const char *why);

#endif
