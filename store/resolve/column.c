/* SPDX-License-Identifier: MIT */
/*
 * Decides the writes that a mutation makes in one column, in the order in which they were added.
 *
 * The newest cell of the column is the later one of the newest in the store that the mutation does
 * not delete, and the newest written so far, which replaces the other if they are equal. The store
 * is read only when a write asks. A server's timestamp is later than the newest cell, so only a
 * given timestamp can meet a cell that exists.
 *
 * A write whose cell is hidden at once is marked, as far as the mutation tells: its rank is that of
 * the newest cell, or one more than the rank of the write before, if that has a later timestamp.
 */
#include "store/resolve/change.h"

#include <errno.h>
#include <string.h>

#include "lib/bytes.h"

struct column {
	struct change *c;
	const struct wcs_write *writes;
	const struct wcs_gc *gc;   /* NULL: it hides nothing */
	size_t first;		   /* of its sets in the edit */
	bool modifies;		   /* a write asks for the newest value */
	uint64_t rank;		   /* of the write before, at least; 0: there is none */
	int64_t last;		   /* its timestamp */
	bool looked;		   /* at the store */
	bool found;		   /* there is a newest cell */
	int64_t ts;		   /* its timestamp */
	struct wcs_content newest; /* its value, if modifies is set */
};

/* ---- The newest cell --------------------------------------------------------------------- */

/* Takes the store's newest cell, unless a written one is newer. */
static int column_look(struct column *column)
{
	const struct wcs_write *write = column->writes;
	struct change *c = column->c;
	struct wcs_stored cell;
	int found;

	if (column->looked || c->mutation->delete_row)
		return 0;
	column->looked = true;
	found = change_find(c, write->family, write->qualifier, WCS_TS_NEWEST, &cell);
	while (found > 0 &&
	       wcs_mutation_deletes(c->mutation, write->family, write->qualifier, cell.ts))
		found = change_older(c, write->family, write->qualifier, &cell);
	if (found <= 0)
		return found;
	if (column->found && column->ts >= cell.ts)
		return 0;
	column->found = true;
	column->ts = cell.ts;
	return column->modifies ? change_keep(c, &cell, &column->newest) : 0;
}

/* Whether the view shows the newest cell. A hidden cell has no value. */
static bool column_shown(const struct column *column)
{
	return column->found &&
	       !wcs_view_hides(column->c->view, wcs_view_expiry(column->gc, 1, column->ts));
}

/* Puts the cell that a write makes, and finds out whether the view hides it. given: the store may
 * have a cell of that timestamp. */
static int column_put(struct column *column, struct wcs_write *write, int64_t ts, bool given,
		      const struct wcs_content *value)
{
	if (column->rank > 0 && column->last >= ts)
		column->rank += column->last > ts;
	else
		column->rank = column->found && column->ts > ts ? 2 : 1;
	column->last = ts;
	write->hidden =
		wcs_view_hides(column->c->view, wcs_view_expiry(column->gc, column->rank, ts));
	return change_put(column->c, write, ts, value, !given);
}

/* ---- The kinds of writes ----------------------------------------------------------------- */

static int column_set(struct column *column, struct wcs_write *write)
{
	struct wcs_content value = {
		.parts = &write->value, .part_count = 1, .size = write->value.len};
	bool newest = write->kind == WCS_WRITE_SET_NEWEST;
	bool given = write->ts != WCS_TS_SERVER;
	int64_t ts = write->ts;
	int rc = 0;

	if (newest || !given)
		rc = column_look(column);
	if (newest && column_shown(column) && column->ts > ts)
		given = false;
	if (rc == 0 && !given)
		rc = change_server_ts(column->c, column->found, column->ts, &ts);
	if (rc == 0)
		rc = column_put(column, write, ts, given, &value);
	if (rc != 0 || (column->found && column->ts > ts))
		return rc;
	column->found = true;
	column->ts = ts;
	column->newest = value;
	return 0;
}

/* The newest value with the bytes behind it. */
static int column_append(struct column *column, const struct wcs_slice *bytes)
{
	struct wcs_content *newest = &column->newest;
	size_t count = newest->part_count;
	struct wcs_slice *parts = change_alloc(column->c->edit, (count + 1) * sizeof(*parts));

	if (parts == NULL)
		return -ENOMEM;
	column->c->copied += newest->size;
	if (count > 0)
		memcpy(parts, newest->parts, count * sizeof(*parts));
	parts[count] = *bytes;
	newest->parts = parts;
	newest->part_count = count + 1;
	newest->size += bytes->len;
	return 0;
}

/* The newest value becomes one more number. A number is in memory as a whole: change_keep. */
static int column_increment(struct column *column, int64_t delta)
{
	unsigned char *bytes = change_alloc(column->c->edit, 8);
	uint64_t bits = 0;
	int64_t number;

	if (bytes == NULL)
		return -ENOMEM;
	if (column_shown(column) && column->newest.size != 8)
		return -EINVAL;
	for (size_t i = 0; i < column->newest.part_count; i++)
		for (size_t k = 0; k < column->newest.parts[i].len; k++)
			bits = bits << 8 | ((const unsigned char *)column->newest.parts[i].data)[k];
	if (__builtin_add_overflow((int64_t)bits, delta, &number))
		return -EOVERFLOW;
	put_be64(bytes, (uint64_t)number);
	column->newest = (struct wcs_content){.from = NULL};
	return column_append(column, &(struct wcs_slice){bytes, 8});
}

/* Deletes a cell, also if the mutation made it. */
static int column_delete(struct column *column, int64_t ts)
{
	struct wcs_delete entry = {.kind = WCS_DELETE_CELL,
				   .family = column->writes->family,
				   .qualifier = column->writes->qualifier,
				   .ts = ts};
	struct wcs_edit *edit = column->c->edit;
	size_t kept = column->first;

	for (size_t i = kept; i < edit->set_count; i++)
		if (edit->sets[i].ts != ts)
			edit->sets[kept++] = edit->sets[i];
	edit->set_count = kept;
	return change_delete(column->c, entry);
}

/* Makes a new newest cell of the newest one: an append or an increment. */
static int column_modify(struct column *column, struct wcs_write *write)
{
	bool append = write->kind == WCS_WRITE_APPEND;
	bool replaces = append && write->replaces != WCS_TS_NONE;
	int64_t ts = write->replaces;
	bool given;
	int rc = column_look(column);

	if (rc != 0)
		return rc;
	if (!column_shown(column))
		column->newest = (struct wcs_content){.from = NULL};
	given = replaces && column->found && column->ts == ts;
	if (!append)
		rc = column_increment(column, write->delta);
	else if (column->newest.size + write->value.len > WCS_VALUE_MAX)
		rc = -EFBIG;
	else
		rc = column_append(column, &write->value);
	if (rc == 0 && !given)
		rc = change_server_ts(column->c, column->found, column->ts, &ts);
	if (rc == 0 && replaces && !given) { /* the cell that the append stands for is older */
		rc = column_delete(column, write->replaces);
		column->rank = 0;
	}
	if (rc == 0)
		rc = column_put(column, write, ts, given, &column->newest);
	column->found = true;
	column->ts = ts;
	return rc;
}

int column_write(struct change *c, struct wcs_write *writes, size_t count)
{
	struct column column = {.c = c,
				.writes = writes,
				.gc = wcs_view_gc(c->view, writes->family),
				.first = c->edit->set_count};
	int rc = 0;

	for (size_t i = 0; i < count; i++)
		column.modifies = column.modifies || writes[i].kind == WCS_WRITE_APPEND ||
				  writes[i].kind == WCS_WRITE_INCREMENT;
	for (size_t i = 0; i < count && rc == 0; i++) {
		if (writes[i].kind == WCS_WRITE_SET || writes[i].kind == WCS_WRITE_SET_NEWEST)
			rc = column_set(&column, &writes[i]);
		else
			rc = column_modify(&column, &writes[i]);
	}
	return rc;
}
