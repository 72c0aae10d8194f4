/* SPDX-License-Identifier: MIT */
/*
 * The writes that a mutation makes in one column of an aggregate family.
 *
 * They are applied in memory, one after the other, to the cells that they make, by timestamp; what
 * a cell is in the end is put into the batch once, however many writes it took. Values are small.
 * The column is what the store has and the mutation does not delete, with the cells made on top.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/leveldb/write/mutate.h"
#include "store/policy/aggregate.h"

enum { MERGE_LEVELS = 10 };

/* In a skip list, newest first: the timestamps come in any order, and there may be many. */
struct merge_cell {
	int64_t ts;
	struct wcs_write *write; /* the last that made it */
	size_t len;
	unsigned char *value;
	size_t asked;		   /* so many cells were made when shown was; 0: never */
	bool shown;		   /* would the view */
	struct merge_cell *next[]; /* of each level that it is in */
};

struct merge {
	struct ldb_mutate *m;
	const struct wcs_write *writes;
	const struct wcs_gc *gc; /* NULL: it hides nothing */
	bool counts;		 /* what is newer than the one write */
	size_t key_len;		 /* of the column's prefix */
	bool looked;		 /* at the store */
	bool stored;		 /* it has a newest cell */
	int64_t stored_ts;	 /* its timestamp */
	struct merge_cell *first[MERGE_LEVELS];
	size_t count;
	unsigned char old[WCS_AGGREGATE_VALUE_MAX]; /* of the store */
	unsigned char value[WCS_AGGREGATE_VALUE_MAX];
};

/* ---- Cells made -------------------------------------------------------------------------- */

/* The cell; NULL: it is not made. links: behind them it is, or would be, in each level. */
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

/* A fourth of the cells of each level is in the next one; which ones, no order of timestamps
 * foresees. */
static size_t merge_levels(size_t count)
{
	uint64_t mixed = (count + 1) * UINT64_C(0x9e3779b97f4a7c15);
	size_t levels = 1;

	for (mixed ^= mixed >> 32; levels < MERGE_LEVELS && mixed % 4 == 0; mixed /= 4)
		levels++;
	return levels;
}

static struct merge_cell *merge_insert(struct merge *merge, int64_t ts,
				       struct merge_cell **const *links)
{
	size_t levels = merge_levels(merge->count);
	struct merge_cell *cell = calloc(1, sizeof(*cell) + levels * sizeof(cell->next[0]));

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

/* The cell becomes merge->value. */
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

static void merge_free(struct merge *merge)
{
	struct merge_cell *cell = merge->first[0], *next;

	for (; cell; cell = next) {
		next = cell->next[0];
		free(cell->value);
		free(cell);
	}
	free(merge);
}

/* ---- The store --------------------------------------------------------------------------- */

/* Walks down the column's cells in the store that the mutation does not delete, from where m->iter
 * is. 1: *ts is the next; 0: the end. */
static int merge_stored(struct merge *merge, int64_t *ts)
{
	struct ldb_mutate *m = merge->m;

	m->key.len = merge->key_len;
	for (; ldb_iter_within(m->iter, &m->key); leveldb_iter_next(m->iter)) {
		size_t len;
		const unsigned char *key = ldb_iter_key(m->iter, &len);

		if (ldb_key_split_ts(key, len, merge->key_len, ts))
			return ldb_db_damaged(m->db, "a cell's key");
		if (!wcs_mutation_deletes(m->mutation, merge->writes->family,
					  merge->writes->qualifier, *ts))
			return 1;
	}
	return 0;
}

static bool merge_is_new(const struct merge *merge)
{
	return merge->m->row_empty || merge->m->mutation->delete_row;
}

static void merge_start(struct merge *merge)
{
	merge->m->key.len = merge->key_len;
	ldb_iter_seek(merge->m->iter, &merge->m->key);
}

/* 1: the column has a newest cell; 0: it has none. */
static int merge_newest(struct merge *merge, int64_t *ts)
{
	int found;

	if (!merge->looked && !merge_is_new(merge)) {
		merge_start(merge);
		found = merge_stored(merge, &merge->stored_ts);
		if (found < 0)
			return found;
		merge->stored = found == 1;
	}
	merge->looked = true;
	if (!merge->stored && merge->count == 0)
		return 0;
	*ts = merge->stored ? merge->stored_ts : merge->first[0]->ts;
	if (merge->count > 0 && merge->first[0]->ts > *ts)
		*ts = merge->first[0]->ts;
	return 1;
}

/* The rank of a cell of that timestamp, as far as the policy tells ranks apart. */
static int merge_rank(struct merge *merge, int64_t ts, uint64_t *rank)
{
	uint64_t last = wcs_gc_last_rank(merge->gc);
	const struct merge_cell *made = merge->first[0];
	int64_t stored = 0;
	int found = 0;

	if (!merge_is_new(merge)) {
		merge_start(merge);
		found = merge_stored(merge, &stored);
	}
	for (*rank = 1; found >= 0 && *rank < last; ++*rank) {
		int64_t newer = made ? made->ts : -1;

		if (found == 1 && stored > newer)
			newer = stored;
		if (newer <= ts)
			break;
		if (made && made->ts == newer)
			made = made->next[0];
		if (found == 1 && stored == newer) {
			leveldb_iter_next(merge->m->iter);
			found = merge_stored(merge, &stored);
		}
	}
	return found < 0 ? found : 0;
}

/* Its rank is counted only where it matters. */
static int merge_look(struct merge *merge, int64_t ts)
{
	const struct wcs_view *view = merge->m->view;
	uint64_t rank;
	int err;

	if (wcs_view_hides(view, wcs_view_expiry(merge->gc, 1, ts)))
		return 0;
	if (!wcs_view_hides(view, wcs_view_expiry(merge->gc, UINT64_MAX, ts)))
		return 1;
	err = merge_rank(merge, ts, &rank);
	return err ? err : !wcs_view_hides(view, wcs_view_expiry(merge->gc, rank, ts));
}

/* Would the view show a cell of that timestamp? 1, 0, or an error. Only a cell that is made anew
 * changes the answer. */
static int merge_shown(struct merge *merge, int64_t ts)
{
	struct merge_cell *cell = merge_find(merge, ts, NULL);
	int shown;

	if (cell && cell->asked == merge->count)
		return cell->shown;
	shown = merge_look(merge, ts);
	if (cell && shown >= 0) {
		cell->asked = merge->count;
		cell->shown = shown;
	}
	return shown;
}

/* The same of the newest cell; *ts: its timestamp, where it would. */
static int merge_newest_shown(struct merge *merge, int64_t *ts)
{
	int found = merge_newest(merge, ts);

	return found > 0 ? merge_shown(merge, *ts) : found;
}

static int merge_server_ts(struct merge *merge, int64_t *ts)
{
	int64_t newest = 0;
	int found = merge_newest(merge, &newest);

	return found < 0 ? found : ldb_mutate_server_ts(merge->m, found, newest, ts);
}

static const char merge_no_value[] = "an aggregate's value is none of its type";

/* Reads the store's cell. 1: *old is its value; 0: there is none. */
static int merge_read(struct merge *merge, int64_t ts, struct wcs_slice *old)
{
	struct ldb_mutate *m = merge->m;
	struct ldb_cell cell;
	size_t got = 0;
	int err;

	if (merge_is_new(merge) ||
	    wcs_mutation_deletes(m->mutation, merge->writes->family, merge->writes->qualifier, ts))
		return 0;
	m->key.len = merge->key_len;
	ldb_key_ts(&m->key, ts);
	ldb_iter_seek(m->iter, &m->key);
	if (!ldb_iter_within(m->iter, &m->key))
		return 0;
	if (ldb_iter_cell(m->iter, &cell))
		return ldb_db_damaged(m->db, "a cell's record");
	if (cell.size > sizeof(merge->old))
		return ldb_db_damaged(m->db, merge_no_value);
	err = ldb_chunk_read(m->db, &cell, merge->old, (size_t)cell.size, 0, &got);
	if (err)
		return err;
	*old = (struct wcs_slice){merge->old, got};
	return 1;
}

/* ---- Writes ------------------------------------------------------------------------------ */

/* Where the write goes; *shown: to a cell that is there, with whose value it merges. */
static int merge_place(struct merge *merge, const struct wcs_write *write, int64_t *ts, bool *shown)
{
	int64_t newest = 0;
	int sees;

	*shown = false;
	*ts = write->ts;
	switch (write->kind) {
	case WCS_WRITE_SET:
	case WCS_WRITE_APPEND: /* is refused */
		return *ts >= 0 ? 0 : merge_server_ts(merge, ts);
	case WCS_WRITE_SET_NEWEST:
		sees = merge_newest_shown(merge, &newest);
		if (sees > 0 && newest > *ts)
			return merge_server_ts(merge, ts);
		return sees < 0 ? sees : 0;
	case WCS_WRITE_MERGE:
	case WCS_WRITE_INCREMENT:
	case WCS_WRITE_REPLACE:
		break;
	}
	sees = *ts >= 0 ? merge_shown(merge, *ts) : merge_newest_shown(merge, &newest);
	if (sees < 0)
		return sees;
	*shown = sees && write->kind != WCS_WRITE_REPLACE;
	if (*ts < 0 && !sees)
		return merge_server_ts(merge, ts);
	*ts = *ts < 0 ? newest : *ts;
	return 0;
}

static int merge_write(struct merge *merge, struct wcs_write *write)
{
	const struct merge_cell *cell = NULL;
	struct wcs_slice old = {NULL, 0};
	size_t len;
	int64_t ts;
	bool shown;
	int err = merge_place(merge, write, &ts, &shown);

	if (!err && shown)
		cell = merge_find(merge, ts, NULL);
	if (cell)
		old = (struct wcs_slice){cell->value, cell->len};
	else if (!err && shown)
		err = merge_read(merge, ts, &old);
	if (err < 0)
		return err;
	err = wcs_aggregate_apply(write, old, merge->value, &len);
	if (err == -EINVAL) /* of what the write gives, the store has seen to that */
		return ldb_db_damaged(merge->m->db, merge_no_value);
	return err ? err : merge_make(merge, write, ts, len);
}

/* rank: at least, of those that are made. */
static int merge_put(struct merge *merge, const struct merge_cell *cell, uint64_t rank)
{
	struct ldb_mutate *m = merge->m;
	uint64_t newer = 0;
	struct ldb_source source;
	int err = 0;

	m->key.len = merge->key_len;
	ldb_key_ts(&m->key, cell->ts);
	if (!m->row_empty && merge->counts)
		err = ldb_rank_replaced(m, merge->key_len, cell->ts, &newer);
	else if (!m->row_empty)
		err = ldb_mutate_replaced(m);
	if (err)
		return err;
	cell->write->hidden =
		wcs_view_hides(m->view, wcs_view_expiry(merge->gc, rank + newer, cell->ts));
	ldb_source_init(&source);
	err = ldb_source_add(&source, (struct wcs_slice){cell->value, cell->len});
	if (!err)
		err = ldb_column_put(m, cell->write, cell->ts, &source);
	ldb_source_free(&source);
	return err;
}

int ldb_column_merge(struct ldb_mutate *m, struct wcs_write *writes, size_t count)
{
	struct merge *merge = malloc(sizeof(*merge));
	const struct merge_cell *cell;
	uint64_t rank = 0;
	int err = 0;

	if (!merge)
		return -ENOMEM;
	memset(merge, 0, offsetof(struct merge, old));
	ldb_mutate_key(m, writes->family, writes->qualifier);
	merge->m = m;
	merge->writes = writes;
	merge->gc = wcs_view_gc(m->view, writes->family);
	merge->key_len = m->key.len;
	merge->counts = ldb_rank_counts(m, writes, count);
	for (size_t i = 0; i < count && !err; i++) {
		writes[i].hidden = false; /* until the cell is put that it is the last of */
		err = merge_write(merge, &writes[i]);
	}
	for (cell = merge->first[0]; cell && !err; cell = cell->next[0])
		err = merge_put(merge, cell, ++rank);
	merge_free(merge);
	return err;
}
