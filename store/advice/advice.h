/* SPDX-License-Identifier: MIT */
/*
 * Advice on the design of tables: statistics of keys, rows, cells and traffic, and a table of rules
 * that find faults in them. Memory does not grow with a table. Errors and ownership as in store.h.
 * An advice belongs to one thread at a time.
 */
#ifndef WCS_ADVICE_H
#define WCS_ADVICE_H

#include "store/heat/heat.h"
#include "store/rows.h"

#include <stdio.h>

/* A table of a store with at most so many rows is read whole, if that takes no longer. Of any other
 * one a sample is read, in up to 101 places all over the table. */
#define WCS_ADVICE_ROWS	   1000000u
#define WCS_ADVICE_SECONDS 2

struct wcs_advice_options {
	FILE *to;	   /* gets the text; errors stay in it (ferror) */
	bool json;	   /* a line of JSON for each finding; else text for people */
	bool whole;	   /* reads all rows of a store's tables */
	uint64_t rows;	   /* in the place of WCS_ADVICE_ROWS; 0: that */
	const char *table; /* of a store only this one, borrowed; NULL: all */
};

struct wcs_advice;
int wcs_advice_new(const struct wcs_advice_options *options, struct wcs_advice **advice);
void wcs_advice_free(struct wcs_advice *advice);

/* Begins a table; the one before has ended. Of the schema, which is borrowed until the table's end,
 * an open delimiter is '#'; it need not name all families. -ENOMEM. */
int wcs_advice_table(struct wcs_advice *advice, const struct wcs_table_schema *schema);
/* The next cell of the table. Cells of a row come together, those of a column too; rows in any
 * order. Of cell->info only ts (WCS_TS_SERVER: not known) and size count; the value does not. */
void wcs_advice_cell(struct wcs_advice *advice, const struct wcs_cell *cell);
/* The traffic of the table: its heat maps of operations and of writes. -ENOMEM. */
int wcs_advice_traffic(struct wcs_advice *advice, const struct wcs_heat_map *operations,
		       const struct wcs_heat_map *writes);
/* Ends the table, if there is one, and prints its findings. */
void wcs_advice_table_end(struct wcs_advice *advice);
/* The same, and prints the findings that are about several tables. */
void wcs_advice_end(struct wcs_advice *advice);

/* The tables of a store, from the first to the end. -EINTR; -ENOMEM; errors of scans. */
int wcs_advice_store(struct wcs_advice *advice, struct wcs_store *store);

#endif
