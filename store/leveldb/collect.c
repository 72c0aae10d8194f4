/* SPDX-License-Identifier: MIT */
/*
 * Collecting: what policies hide of a table is deleted, in slices.
 *
 * - Hidden cells are looked for without a lock. From the first one on a batch of them is found
 *   again and deleted under all row locks, as a drop does: so no mutation comes between what is
 *   read and what is deleted, and a cell that was written meanwhile stays.
 * - The logs are synced before a batch, so that a power cut cannot keep the deletes and lose the
 *   newer cells that were their reason; and behind it, so that it cannot keep a later change, which
 *   found nothing hidden to delete, and lose the deletes.
 * - A slice ends where it looked at enough cells or deleted enough of them, also in the middle of a
 *   column. The next one comes to that column at its newest cell, counts ranks up to where they
 *   are known, and goes on where the one before ended: so it does not step over all that was
 *   deleted already.
 * - Families that hide nothing are stepped over with one seek a row.
 *
 * One thread collects at a time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mutate.h"

enum {
	COLLECT_STEPS = 8,	      /* before a seek */
	COLLECT_LOOKS_PER_DELETE = 4, /* under the locks */
	COLLECT_EMPTIED = 50000,      /* deletes that are worth a compaction */
	COLLECT_EMPTIED_END = 1000,   /* the same, at the end of a table */
	COLLECT_DENSITY = 10,	      /* the range is not larger than so many times what went */
};

struct collect {
	struct ldb *db;
	const struct wcs_view *view;
	leveldb_iterator_t *iter;
	const struct ldb_key *resume; /* go on there; NULL: it was passed */
	const struct wcs_gc *gc;      /* of the family; NULL: it hides nothing */
	uint64_t last_rank, rank;
	size_t looked, look; /* cells looked at, and how many at most */
	struct ldb_key_parts parts;
	struct ldb_key column; /* of the present cell; its first bytes are row and family */
	struct ldb_key target;
	struct ldb_key end;   /* the first key behind the table */
	struct ldb_key first; /* the first cell that was collected */
};

enum collect_found { COLLECT_END = 0, COLLECT_HIDDEN, COLLECT_ENOUGH };

static void collect_skip(struct collect *c)
{
	if (!ldb_iter_step_to(c->iter, &c->target, COLLECT_STEPS))
		ldb_iter_seek(c->iter, &c->target);
}

/* Goes to the first key behind all that start with the column's first len bytes. */
static void collect_past(struct collect *c, size_t len)
{
	memcpy(c->target.data, c->column.data, len);
	c->target.len = len;
	ldb_key_past(&c->target);
	collect_skip(c);
}

/* A cell of another column than before. */
static int collect_enter(struct collect *c, const unsigned char *key, size_t len)
{
	char family[WCS_FAMILY_NAME_MAX + 1];

	if (ldb_key_split(key, len, &c->parts))
		return ldb_db_damaged(c->db, "a cell's key");
	memcpy(family, key + c->parts.row_end, c->parts.family_end - c->parts.row_end);
	memcpy(c->column.data, key, c->parts.column_end);
	c->column.len = c->parts.column_end;
	c->gc = wcs_view_gc(c->view, family);
	c->last_rank = c->gc ? wcs_gc_last_rank(c->gc) : 1;
	c->rank = 1;
	return 0;
}

/* Is the cell, in whose column the slice before ended, one before that end? Then goes there. */
static bool collect_resumes(struct collect *c, const unsigned char *key, size_t len, bool hidden)
{
	const struct ldb_key *resume = c->resume;

	if (!resume || (!hidden && c->rank < c->last_rank))
		return false;
	c->resume = NULL;
	if (!ldb_key_starts(resume->data, resume->len, &c->column) ||
	    ldb_key_compare(key, len, resume) >= 0)
		return false;
	c->rank = c->last_rank;
	ldb_iter_seek(c->iter, resume);
	return true;
}

/* Looks at the cell under the iterator. 1: it is hidden; 0: it is not, and the iterator moved on.
 */
static int collect_look(struct collect *c)
{
	size_t len;
	const unsigned char *key = ldb_iter_key(c->iter, &len);
	bool hidden;
	int err = 0;

	if (!c->resume) /* else it was looked at by the slice before */
		c->looked++;
	if (c->column.len == 0 || !ldb_key_starts(key, len, &c->column))
		err = collect_enter(c, key, len);
	else if (ldb_key_split_ts(key, len, c->parts.column_end, &c->parts.ts))
		err = ldb_db_damaged(c->db, "a cell's key");
	if (err)
		return err;
	if (!c->gc) {
		collect_past(c, c->parts.family_end);
		return 0;
	}
	hidden = wcs_view_hides(c->view, wcs_view_expiry(c->gc, c->rank, c->parts.ts));
	if (collect_resumes(c, key, len, hidden))
		return 0;
	if (hidden)
		return 1;
	leveldb_iter_next(c->iter);
	if (c->rank < c->last_rank)
		c->rank++;
	return 0;
}

/* Moves to the next hidden cell. An enum collect_found, or an error. */
static int collect_find(struct collect *c)
{
	while (leveldb_iter_valid(c->iter)) {
		size_t len;
		const unsigned char *key = ldb_iter_key(c->iter, &len);
		int rc;

		if (ldb_key_compare(key, len, &c->end) >= 0)
			return COLLECT_END;
		if (c->looked >= c->look)
			return COLLECT_ENOUGH;
		rc = collect_look(c);
		if (rc != 0)
			return rc < 0 ? rc : COLLECT_HIDDEN;
	}
	return COLLECT_END;
}

/* Puts a new iterator at the column of the key where the slice is to start. */
static int collect_start(struct collect *c, const struct ldb_key *from)
{
	struct ldb_key_parts parts;

	c->iter = ldb_db_iterate(c->db);
	c->column.len = 0;
	c->looked = 0;
	c->rank = c->last_rank = 1;
	c->resume = NULL;
	c->target = *from;
	if (from->len > LDB_KEY_TABLE_LEN) {
		if (ldb_key_split(from->data, from->len, &parts))
			return ldb_db_damaged(c->db, "the place of the collector");
		c->target.len = parts.column_end;
		c->resume = from;
	}
	ldb_iter_seek(c->iter, &c->target);
	return 0;
}

/* Ends with the iterator: what it found, or the error that it met. */
static int collect_stop(struct collect *c, int found)
{
	int err = ldb_db_iter_error(c->db, c->iter);

	leveldb_iter_destroy(c->iter);
	return err ? err : found;
}

static void collect_place(const struct collect *c, struct ldb_key *at)
{
	size_t len;
	const unsigned char *key = ldb_iter_key(c->iter, &len);

	memcpy(at->data, key, len);
	at->len = len;
}

/* Deletes the hidden cell under the iterator, which moves behind it. */
static int collect_delete(struct collect *c, leveldb_writebatch_t *batch,
			  struct wcs_collect *progress)
{
	struct ldb_cell cell;
	size_t len;
	const unsigned char *key = ldb_iter_key(c->iter, &len);

	if (ldb_iter_cell(c->iter, &cell))
		return ldb_db_damaged(c->db, "a cell's record");
	leveldb_writebatch_delete(batch, (const char *)key, len);
	if (cell.id != 0)
		ldb_db_batch_garbage(batch, cell.id, LDB_GARBAGE, ldb_record_chunks(cell.size));
	progress->collected++;
	progress->bytes += len + cell.size;
	leveldb_iter_next(c->iter);
	return 0;
}

/* Collects a batch from the place on, which moves. The caller holds all row locks. */
static int collect_batch(struct collect *c, struct ldb_key *at, leveldb_writebatch_t *batch,
			 struct wcs_collect *progress)
{
	uint64_t until = progress->collected + progress->batch;
	int found = collect_start(c, at);

	c->look = COLLECT_LOOKS_PER_DELETE * progress->batch;
	if (found == 0)
		found = collect_find(c);
	while (found == COLLECT_HIDDEN) {
		if (progress->collected >= until) {
			found = COLLECT_ENOUGH;
			break;
		}
		found = collect_delete(c, batch, progress);
		if (found == 0)
			found = collect_find(c);
	}
	if (found == COLLECT_ENOUGH)
		collect_place(c, at);
	return collect_stop(c, found);
}

/* Syncs the logs where something was written since they were: what a batch deletes must not be
 * hidden by a cell that a power cut can lose. The caller holds all row locks. */
static int collect_sync_again(struct ldb *db, uint64_t written)
{
	return atomic_load(&db->counters.bytes_written) == written ? 0 : ldb_db_sync_logs(db);
}

/* One batch, with the cell at `at` being hidden when it was looked at. */
static int collect_write(struct collect *c, struct ldb_key *at, struct wcs_collect *progress)
{
	leveldb_writebatch_t *batch = leveldb_writebatch_create();
	uint64_t before = progress->collected;
	uint64_t written = atomic_load(&c->db->counters.bytes_written);
	int found = ldb_db_sync_logs(c->db), err = 0;

	ldb_db_lock_rows(c->db);
	if (found == 0)
		found = collect_sync_again(c->db, written);
	if (found == 0)
		found = collect_batch(c, at, batch, progress);
	if (found >= 0 && progress->collected > before)
		err = ldb_db_write(c->db, batch, c->db->options->sync);
	ldb_db_unlock_rows(c->db);
	/* A later change in which nothing hidden is left to be seen must not outlive this. */
	if (!err && found >= 0)
		err = ldb_db_sync_logs(c->db);
	leveldb_writebatch_destroy(batch);
	progress->looked += c->looked;
	return err ? err : found;
}

/* ---- Compaction -------------------------------------------------------------------------- */

/* Remembers a slice that deleted so many bytes from there on. */
static void collect_emptied(struct ldb *db, const struct ldb_key *from, const struct ldb_key *to,
			    uint64_t cells, uint64_t bytes)
{
	struct ldb_emptied *emptied = &db->emptied;

	if (cells == 0)
		return;
	if (emptied->cells == 0)
		emptied->from = *from;
	emptied->to = *to;
	emptied->cells += cells;
	emptied->bytes += bytes;
}

static uint64_t collect_size(struct ldb *db, const struct ldb_key *from, const struct ldb_key *to)
{
	const char *start = (const char *)from->data, *limit = (const char *)to->data;
	uint64_t size = 0;

	leveldb_approximate_sizes(db->db, 1, &start, &from->len, &limit, &to->len, &size);
	return size;
}

/* A range is not worth it that holds much else: all of it would be written anew, and a reader
 * hardly notices the few deletes. */
void ldb_collect_settle(void *engine, bool end)
{
	struct ldb *db = engine;
	struct ldb_emptied *emptied = &db->emptied;

	if (emptied->cells >= (end ? COLLECT_EMPTIED_END : COLLECT_EMPTIED)) {
		if (collect_size(db, &emptied->from, &emptied->to) / COLLECT_DENSITY <=
		    emptied->bytes)
			ldb_compact_push(db,
					 (struct wcs_slice){emptied->from.data, emptied->from.len},
					 (struct wcs_slice){emptied->to.data, emptied->to.len});
		emptied->cells = emptied->bytes = 0;
	}
	if (end)
		emptied->cells = emptied->bytes = 0;
}

/* ---- A slice ----------------------------------------------------------------------------- */

/* Looks for the first hidden cell from the place on, and collects from there. */
static int collect_from(struct collect *c, struct ldb_key *at, struct wcs_collect *progress)
{
	int found = collect_start(c, at);

	if (found == 0)
		found = collect_find(c);
	if (found == COLLECT_HIDDEN || found == COLLECT_ENOUGH)
		collect_place(c, at);
	found = collect_stop(c, found);
	progress->looked += c->looked;
	if (found != COLLECT_HIDDEN)
		return found;
	c->first = *at;
	return collect_write(c, at, progress);
}

int ldb_collect_slice(void *engine, const struct wcs_view *view, uint32_t table,
		      struct wcs_collect *progress)
{
	struct ldb *db = engine;
	struct collect *c = malloc(sizeof(*c));
	struct ldb_key *at = malloc(sizeof(*at));
	uint64_t collected = progress->collected, bytes = progress->bytes;
	int found = -ENOMEM;

	if (!c || !at)
		goto out;
	c->db = db;
	c->view = view;
	c->look = progress->look;
	ldb_key_table_past(&c->end, table);
	ldb_key_table(at, table);
	if (progress->len == 0)
		db->emptied.cells = db->emptied.bytes = 0;
	if (progress->len > LDB_KEY_TABLE_LEN && progress->len <= sizeof(at->data) &&
	    memcmp(progress->at, at->data, LDB_KEY_TABLE_LEN) == 0) {
		memcpy(at->data, progress->at, progress->len);
		at->len = progress->len;
	}
	found = collect_from(c, at, progress);
	if (found < 0)
		goto out;
	progress->done = found == COLLECT_END;
	progress->len = progress->done ? 0 : at->len;
	memcpy(progress->at, at->data, progress->len);
	collect_emptied(db, &c->first, progress->done ? &c->end : at,
			progress->collected - collected, progress->bytes - bytes);
	if (progress->collected > collected)
		ldb_reclaim_wake(db);
out:
	free(c);
	free(at);
	return found < 0 ? found : 0;
}
