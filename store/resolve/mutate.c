/* SPDX-License-Identifier: MIT */
/*
 * Decides a mutation: its conditions, its deletes, and column by column its writes.
 *
 * If it may save many looks, one look at the row's start tells whether the row exists; if not,
 * nothing else is read. A small mutation does without: in an engine of sorted tables that look
 * steps over every tombstone at the row's start, so 20,000 columns deleted one by one in order
 * would cost the square of that. A group of a salted table asks for each row: there it is a step to
 * the next row, and later a seek.
 */
#include "store/resolve/change.h"

#include <errno.h>
#include <string.h>

enum { MUTATE_ASKS_ROW = 3 }; /* writes */

/* -ECANCELED: the cell has another value. */
static int mutate_compare(struct change *c, const struct wcs_stored *cell,
			  struct wcs_slice expected)
{
	const unsigned char *bytes = expected.data;
	unsigned char part[65536];

	if (cell->size != expected.len)
		return -ECANCELED;
	if (expected.len == 0)
		return 0;
	if (cell->data != NULL)
		return memcmp(cell->data, bytes, expected.len) == 0 ? 0 : -ECANCELED;
	for (size_t offset = 0, got; offset < expected.len; offset += got) {
		int rc = c->table->store->engine.backend->rows_read(c->rows, cell, part,
								    sizeof(part), offset, &got);

		if (rc != 0)
			return rc;
		if (memcmp(part, bytes + offset, got) != 0)
			return -ECANCELED;
	}
	return 0;
}

/* Asks whether the view shows the column's newest cell, and its value. */
static int mutate_condition(struct change *c, const struct wcs_condition *condition)
{
	const struct wcs_gc *gc = wcs_view_gc(c->view, condition->family);
	struct wcs_stored cell;
	int found = change_find(c, condition->family, condition->qualifier, WCS_TS_NEWEST, &cell);
	bool shown = found > 0 && !wcs_view_hides(c->view, wcs_view_expiry(gc, 1, cell.ts));

	if (found < 0)
		return found;
	if (!shown || condition->absent)
		return shown == condition->absent ? -ECANCELED : 0;
	return mutate_compare(c, &cell, condition->expected);
}

int mutate_row(struct change *c)
{
	const struct wcs_mutation *mutation = c->mutation;
	struct wcs_write *writes = mutation->writes;
	size_t count = mutation->write_count, asks = c->sorted ? 1 : MUTATE_ASKS_ROW;
	struct wcs_stored any;
	int rc = 0;

	if (count >= asks && mutation->delete_count == 0 && !mutation->delete_row &&
	    mutation->condition_count == 0) {
		rc = change_find(c, NULL, (struct wcs_slice){NULL, 0}, WCS_TS_NEWEST, &any);
		c->row_empty = rc == 0;
		rc = rc < 0 ? rc : 0;
	}
	for (size_t i = 0; i < mutation->condition_count && rc == 0; i++)
		rc = mutate_condition(c, &mutation->conditions[i]);
	c->edit->delete_row = mutation->delete_row;
	for (size_t i = 0; i < mutation->delete_count && rc == 0; i++)
		rc = change_delete(c, mutation->deletes[i]);
	for (size_t from = 0, to; from < count && rc == 0; from = to) {
		for (to = from + 1; to < count; to++) {
			if (strcmp(writes[from].family, writes[to].family) != 0 ||
			    wcs_slice_compare(writes[from].qualifier, writes[to].qualifier) != 0)
				break;
		}
		if (wcs_type_aggregates(writes[from].type))
			rc = merge_write(c, writes + from, to - from);
		else
			rc = column_write(c, writes + from, to - from);
	}
	return rc;
}
