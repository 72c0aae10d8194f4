/* SPDX-License-Identifier: MIT */
/*
 * Decides the writes that a mutation makes in one column of an aggregate family.
 *
 * They are applied in memory, one after the other, to the cells that they make, by timestamp; each
 * cell is set once, in its final state, however many writes made it. Values are small. The column
 * consists of the store's cells that the mutation does not delete, with the cells made on top.
 */
#include "store/policy/aggregate.h"
#include "store/resolve/change.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { MERGE_LEVELS = 10 };

/* In a skip list, newest first: the timestamps come in any order, and there may be many. */
struct merge_cell {
	int64_t ts;
	struct wcs_write *write; /* the last that made it */
	size_t len;
	unsigned char *value;
	size_t asked;		   /* how many cells were made when shown was set; 0: never */
	bool shown;		   /* whether the view would show it */
	struct merge_cell *next[]; /* of each level that it is in */
};

struct merge {
	struct change *c;
	const struct wcs_write *writes;
	const struct wcs_gc *gc; /* NULL: it hides nothing */
	bool looked;		 /* at the store */
	bool stored;		 /* it has a newest cell */
	int64_t stored_ts;	 /* its timestamp */
	struct merge_cell *first[MERGE_LEVELS];
	size_t count;
	unsigned char old[WCS_AGGREGATE_VALUE_MAX]; /* of the store */
	unsigned char value[WCS_AGGREGATE_VALUE_MAX];
};

/* ---- Cells made -------------------------------------------------------------------------- */

/* The cell of that timestamp; NULL: it is not made. links (may be NULL): the links to its place in
 * each level. */
static struct merge_cell *merge_find(struct merge *merge, int64_t ts, struct merge_cell ***links)
{
	struct merge_cell **next = merge->first;

	for (size_t level = MERGE_LEVELS; level-- > 0;) {
		while (next[level] && next[level]->ts > ts)
			next = next[level]->next;
		if (links)
			links[level] = &next[level];
	}
	return next[0] && next[0]->ts == ts ? next[0] : NULL;
}

/* A fourth of the cells of each level is in the next one, independent of their timestamps. */
static struct merge_cell *merge_insert(struct merge *merge, int64_t ts,
				       struct merge_cell **const *links)
{
	uint64_t mixed = (merge->count + 1) * UINT64_C(0x9e3779b97f4a7c15);
	size_t levels = 1;
	struct merge_cell *cell;

	for (mixed ^= mixed >> 32; levels < MERGE_LEVELS && mixed % 4 == 0; mixed /= 4)
		levels++;
	cell = calloc(1, sizeof(*cell) + levels * sizeof(cell->next[0]));
	if (!cell)
		return NULL;
	cell->ts = ts;
	for (size_t level = 0; level < levels; level++) {
		cell->next[level] = *links[level];
		*links[level] = cell;
	}
	merge->count++;
	return cell;
}

/* Gives the cell of that timestamp merge->value. */
static int merge_make(struct merge *merge, struct wcs_write *write, int64_t ts, size_t len)
{
	struct merge_cell **links[MERGE_LEVELS];
	struct merge_cell *cell = merge_find(merge, ts, links);
	unsigned char *value = malloc(len);

	if (value && !cell)
		cell = merge_insert(merge, ts, links);
	if (!value || !cell) {
		free(value);
		return -ENOMEM;
	}
	memcpy(value, merge->value, len);
	free(cell->value);
	cell->value = value;
	cell->len = len;
	cell->write = write;
	return 0;
}

/* ---- The store --------------------------------------------------------------------------- */

/* Moves on from *found and *cell (as of change_find) to the first cell from there on that the
 * mutation does not delete. 1: *cell is it; 0: there is none. */
static int merge_kept(struct merge *merge, int found, struct wcs_stored *cell)
{
	const struct wcs_write *write = merge->writes;

	while (found > 0 &&
	       wcs_mutation_deletes(merge->c->mutation, write->family, write->qualifier, cell->ts))
		found = change_older(merge->c, write->family, write->qualifier, cell);
	return found;
}

static int merge_first(struct merge *merge, struct wcs_stored *cell)
{
	const struct wcs_write *write = merge->writes;

	if (merge->c->mutation->delete_row)
		return 0;
	return merge_kept(
		merge, change_find(merge->c, write->family, write->qualifier, WCS_TS_NEWEST, cell),
		cell);
}

/* 1: the column has a newest cell; 0: it has none. */
static int merge_newest(struct merge *merge, int64_t *ts)
{
	struct wcs_stored cell;
	int found;

	if (!merge->looked) {
		found = merge_first(merge, &cell);
		if (found < 0)
			return found;
		merge->stored = found > 0;
		merge->stored_ts = found > 0 ? cell.ts : 0;
	}
	merge->looked = true;
	if (!merge->stored && merge->count == 0)
		return 0;
	*ts = merge->stored ? merge->stored_ts : merge->first[0]->ts;
	if (merge->count > 0 && merge->first[0]->ts > *ts)
		*ts = merge->first[0]->ts;
	return 1;
}

/* The rank of a cell of that timestamp, as far as the policy distinguishes ranks. */
static int merge_rank(struct merge *merge, int64_t ts, uint64_t *rank)
{
	uint64_t last = wcs_gc_last_rank(merge->gc);
	const struct merge_cell *made = merge->first[0];
	const struct wcs_write *write = merge->writes;
	struct wcs_stored cell;
	int found = merge_first(merge, &cell);

	for (*rank = 1; found >= 0 && *rank < last; ++*rank) {
		int64_t newer = made ? made->ts : -1;

		if (found > 0 && cell.ts > newer)
			newer = cell.ts;
		if (newer <= ts)
			break;
		if (made && made->ts == newer)
			made = made->next[0];
		if (found > 0 && cell.ts == newer) {
			found = change_older(merge->c, write->family, write->qualifier, &cell);
			found = merge_kept(merge, found, &cell);
		}
	}
	return found < 0 ? found : 0;
}

/* Whether the view would show a cell of that timestamp: 1, 0, or an error. Its rank is counted only
 * if it matters. Only a new cell changes the answer. */
static int merge_shown(struct merge *merge, int64_t ts)
{
	const struct wcs_view *view = merge->c->view;
	struct merge_cell *cell = merge_find(merge, ts, NULL);
	uint64_t rank = 1;
	bool shown = !wcs_view_hides(view, wcs_view_expiry(merge->gc, 1, ts));
	int rc;

	if (cell && cell->asked == merge->count)
		return cell->shown;
	if (shown && wcs_view_hides(view, wcs_view_expiry(merge->gc, UINT64_MAX, ts))) {
		rc = merge_rank(merge, ts, &rank);
		if (rc)
			return rc;
		shown = !wcs_view_hides(view, wcs_view_expiry(merge->gc, rank, ts));
	}
	if (cell) {
		cell->asked = merge->count;
		cell->shown = shown;
	}
	return shown;
}

static int merge_damaged(const struct merge *merge)
{
	store_log(merge->c->table->store, WCS_LOG_ERROR,
		  "an aggregate's value is none of its type");
	return -EIO;
}

/* Reads the cell of that timestamp in the store. 1: *old is its value; 0: there is none. */
static int merge_read(struct merge *merge, int64_t ts, struct wcs_slice *old)
{
	const struct wcs_write *write = merge->writes;
	struct wcs_stored cell;
	size_t got;
	int found, rc;

	if (wcs_mutation_deletes(merge->c->mutation, write->family, write->qualifier, ts))
		return 0;
	found = change_find(merge->c, write->family, write->qualifier, ts, &cell);
	if (found <= 0 || cell.ts != ts)
		return found < 0 ? found : 0;
	if (cell.size > sizeof(merge->old))
		return merge_damaged(merge);
	*old = (struct wcs_slice){merge->old, (size_t)cell.size};
	if (cell.data != NULL) {
		memcpy(merge->old, cell.data, old->len);
		return 1;
	}
	rc = merge->c->table->store->engine.backend->rows_read(merge->c->rows, &cell, merge->old,
							       old->len, 0, &got);
	return rc != 0 ? rc : 1;
}

/* ---- Writes ------------------------------------------------------------------------------ */

/* The timestamp that the write goes to. *shown: it merges with the value of the cell there. */
static int merge_place(struct merge *merge, const struct wcs_write *write, int64_t *ts, bool *shown)
{
	bool sets = write->kind == WCS_WRITE_SET || write->kind == WCS_WRITE_SET_NEWEST;
	int64_t newest = 0;
	int found, sees = 0;

	*shown = false;
	*ts = write->ts;
	if (write->kind == WCS_WRITE_SET && *ts >= 0)
		return 0;
	if (!sets && *ts >= 0) {
		sees = merge_shown(merge, *ts);
		*shown = sees > 0 && write->kind != WCS_WRITE_REPLACE;
		return sees < 0 ? sees : 0;
	}
	found = merge_newest(merge, &newest);
	if (found > 0 && write->kind != WCS_WRITE_SET)
		sees = merge_shown(merge, newest);
	if (found < 0 || sees < 0)
		return found < 0 ? found : sees;
	if (write->kind == WCS_WRITE_SET_NEWEST && (!sees || newest <= *ts))
		return 0;
	if (!sets && sees) {
		*shown = write->kind != WCS_WRITE_REPLACE;
		*ts = newest;
		return 0;
	}
	return change_server_ts(merge->c, found, newest, ts);
}

static int merge_apply(struct merge *merge, struct wcs_write *write)
{
	const struct merge_cell *cell = NULL;
	struct wcs_slice old = {NULL, 0};
	size_t len;
	int64_t ts;
	bool shown;
	int rc = merge_place(merge, write, &ts, &shown);

	if (!rc && shown)
		cell = merge_find(merge, ts, NULL);
	if (cell)
		old = (struct wcs_slice){cell->value, cell->len};
	else if (!rc && shown)
		rc = merge_read(merge, ts, &old);
	if (rc < 0)
		return rc;
	rc = wcs_aggregate_apply(write, old, merge->value, &len);
	if (rc == -EINVAL) /* of the cell: the store checked the value written */
		return merge_damaged(merge);
	return rc ? rc : merge_make(merge, write, ts, len);
}

/* rank: of the cell among those that are made. */
static int merge_put(struct merge *merge, const struct merge_cell *cell, uint64_t rank)
{
	struct wcs_slice *part = change_alloc(merge->c->edit, sizeof(*part) + cell->len);
	const struct wcs_write *write = cell->write;
	struct wcs_content value = {.parts = part, .part_count = 1, .size = cell->len};

	if (part == NULL)
		return -ENOMEM;
	*part = (struct wcs_slice){part + 1, cell->len};
	memcpy(part + 1, cell->value, cell->len);
	cell->write->hidden =
		wcs_view_hides(merge->c->view, wcs_view_expiry(merge->gc, rank, cell->ts));
	return change_put(merge->c, write, cell->ts, &value, false);
}

int merge_write(struct change *c, struct wcs_write *writes, size_t count)
{
	struct merge *merge = malloc(sizeof(*merge));
	struct merge_cell *cell, *next;
	uint64_t rank = 0;
	int rc = 0;

	if (merge == NULL)
		return -ENOMEM;
	memset(merge, 0, offsetof(struct merge, old));
	merge->c = c;
	merge->writes = writes;
	merge->gc = wcs_view_gc(c->view, writes->family);
	for (size_t i = 0; i < count && rc == 0; i++) {
		writes[i].hidden =
			false; /* until the cell is set, by the last write that made it */
		rc = merge_apply(merge, &writes[i]);
	}
	for (cell = merge->first[0]; cell != NULL; cell = next) {
		next = cell->next[0];
		if (rc == 0)
			rc = merge_put(merge, cell, ++rank);
		free(cell->value);
		free(cell);
	}
	free(merge);
	return rc;
}
