/* SPDX-License-Identifier: MIT */
/* Writes a table as the CSV that `cbt import` takes. */
#ifndef CSV_WRITE_H
#define CSV_WRITE_H

#include "mkfs/base/output.h"
#include "mkfs/text/rows.h"

struct csv_options {
	const char *family; /* only this one; NULL: all */
	bool timestamps;    /* values as value@timestamp */
	bool header;	    /* one line names the columns, in place of two */
};

/*
 * A row of families, each named where its first column stands, and a row of qualifiers; or one row
 * of "key" and the columns, as family:qualifier unless there is only one family. Then the rows,
 * each column's newest value, nothing where there is none. A key is bytes, of a table with a key
 * design its shown form. Reads the rows twice, since the columns come first. key: as in rows_start.
 * Prints why it fails, and returns PROGRAM_FAILED then: CSV cannot carry an empty value (without
 * its timestamp), an empty qualifier and a cell of an inthll.
 */
int csv_write(struct rows *rows, const struct wcs_table_schema *table, const struct wcs_slice *key,
	      const struct csv_options *options, struct output *out);

#endif
