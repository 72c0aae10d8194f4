/* SPDX-License-Identifier: MIT */
/*
 * What was written, stamped or moved and is hidden by its policy at once: counted, and told to the
 * log without key and value, one line for a family in the time that the options say. Private to
 * store*.c, table*.c and family.c.
 *
 * Which cells these are the engine says (backend.h).
 */
#ifndef WCS_HIDDEN_H
#define WCS_HIDDEN_H

#include <stdatomic.h>
#include <stdint.h>

struct table_family;
struct wcs_mutation;
struct wcs_table;

/* Of a family. */
struct hidden {
	_Atomic uint64_t untold; /* cells since the last line */
	_Atomic int64_t told;	 /* when that was, by the clock that never jumps; 0: never */
};

/* Counts what a mutation that was applied has hidden; or a cell of the family. The caller has
 * entered the table. */
void hidden_count_mutation(struct wcs_table *table, const struct wcs_mutation *mutation);
void hidden_count_cell(struct wcs_table *table, const char *family);
/* Tells what is due of the table. The caller has entered it. */
void hidden_tell(struct wcs_table *table);
/* The family goes: tells the rest. */
void hidden_end(const struct wcs_table *table, struct table_family *family);

#endif
