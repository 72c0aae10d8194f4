/* SPDX-License-Identifier: MIT */
/*
 * Deletes the cells of a table that policies hide, in slices.
 *
 * - Hidden cells are looked for without a lock. From the first one on a batch of them is found
 *   again and deleted under all row locks, so no mutation runs between its reads and its deletes,
 *   and a cell written meanwhile stays.
 * - The logs are synced before a batch, so that a power cut cannot keep the deletes and lose the
 *   newer cells that hide the deleted ones; and afterwards, so that it cannot keep a later change,
 *   which found nothing hidden to delete, and lose the deletes.
 * - A slice ends after it looked at enough cells or deleted enough of them, also in the middle of a
 *   column. If nobody else deleted a cell of that column since, all cells that it counted there are
 *   in place: a cell's rank is not less than it was, and the next slice, or the batch under the
 *   locks, resumes at the position. Otherwise it starts at the column's newest cell, counts ranks
 *   as far as the policy distinguishes them, and then seeks to the position, past the tombstones of
 *   earlier slices.
 * - A family that hides nothing costs one seek a row.
 *
 * The range that was deleted is offered to the queue once that is worth a compaction, which is for
 * readers, who step over every tombstone. A range with many other keys is not: it would be written
 * anew as a whole, for readers who hardly notice the few tombstones; space.c sees to its bytes. The
 * collector never waits for LevelDB: while two ranges are in the queue, the next one grows.
 *
 * One thread collects at a time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/leveldb/compaction/compaction.h"

enum {
	COLLECT_STEPS = 8,	      /* before a seek */
	COLLECT_LOOKS_PER_DELETE = 4, /* under the locks */
	COLLECT_DEEP = 10000,	      /* ranks, to count under the locks: about a millisecond */
	COLLECT_TRIES = 3,	      /* before more of them are counted there */
	COLLECT_END_CELLS = 1000,     /* are worth a compaction at the end of a table */
	COLLECT_DENSITY = 10,	      /* of a range to compact: times the deleted bytes, at most */
	COLLECT_QUEUE = 2,	      /* ranges in the queue, at most */
};

struct collect {
	struct ldb *db;
	const struct wcs_view *view;
	leveldb_iterator_t *iter;
	const struct ldb_key *resume; /* the position to resume at; NULL: passed */
	const struct wcs_gc *gc;      /* of the family; NULL: it hides nothing */
	uint64_t last_rank, rank;
	size_t looked, look;	       /* cells looked at, and how many at most */
	size_t again;		       /* cells that the slice before looked at, too */
	uint64_t deletes[LDB_STRIPES]; /* the counters, before the iterator was made */
	struct ldb_key_parts parts;
	struct ldb_key column; /* of the present cell; its first bytes are row and family */
	struct ldb_key target;
	struct ldb_key at;    /* the position of the slice */
	struct ldb_key end;   /* the first key behind the table */
	struct ldb_key first; /* the first cell that was deleted */
	uint64_t dead;	      /* bytes of deleted keys and inline values */
};

enum collect_found { COLLECT_END = 0, COLLECT_HIDDEN, COLLECT_ENOUGH };

/* Enters the column of a cell. */
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

/* Moves on to the resume position if the cell is before it and the cells between do not matter. */
static bool collect_resumes(struct collect *c, const unsigned char *key, size_t len, bool hidden)
{
	const struct ldb_key *resume = c->resume;
	bool before = resume && ldb_key_compare(key, len, resume) < 0;

	if (before && !hidden && c->rank < c->last_rank)
		return false;
	c->resume = NULL;
	if (before)
		ldb_iter_seek(c->iter, resume);
	return before;
}

/* Looks at the cell under the iterator. 1: it is hidden; 0: the iterator moved on. */
static int collect_look(struct collect *c)
{
	size_t len;
	const unsigned char *key = ldb_iter_key(c->iter, &len);
	bool hidden;
	int rc = 0;

	if (c->resume)
		c->again++;
	else
		c->looked++;
	if (c->column.len == 0 || !ldb_key_starts(key, len, &c->column))
		rc = collect_enter(c, key, len);
	else if (ldb_key_split_ts(key, len, c->parts.column_end, &c->parts.ts))
		rc = ldb_db_damaged(c->db, "a cell's key");
	if (rc)
		return rc;
	if (!c->gc) {
		c->target.len = c->parts.family_end;
		memcpy(c->target.data, key, c->target.len);
		ldb_key_past(&c->target);
		ldb_iter_skip(c->iter, &c->target, COLLECT_STEPS);
		return 0;
	}
	hidden = wcs_view_hides(c->view, wcs_view_expiry(c->gc, c->rank, c->parts.ts));
	if (collect_resumes(c, key, len, hidden))
		return 0;
	if (hidden)
		return 1;
	leveldb_iter_next(c->iter);
	c->rank++;
	return 0;
}

/* Moves to the next hidden cell. An enum collect_found, or an error. */
static int collect_find(struct collect *c)
{
	while (ldb_iter_before(c->iter, &c->end)) {
		int rc;

		/* A slice that goes back far goes on as far again. */
		if (c->looked >= c->look && c->looked - c->look >= c->again)
			return COLLECT_ENOUGH;
		rc = collect_look(c);
		if (rc != 0)
			return rc < 0 ? rc : COLLECT_HIDDEN;
	}
	return COLLECT_END;
}

/* Makes an iterator at the start of the slice, whose cell has that rank; 0: the rank is
 * unknown, and the iterator starts at the column's newest cell. */
static int collect_start(struct collect *c, const struct ldb_key *from, uint64_t rank)
{
	int rc = 0;

	c->iter = ldb_db_iterate(c->db);
	c->column.len = 0;
	c->rank = 0;
	c->looked = c->again = 0;
	c->resume = NULL;
	c->target = *from;
	if (from->len > LDB_KEY_TABLE_LEN)
		rc = collect_enter(c, from->data, from->len);
	if (rc)
		return rc;
	if (rank > 0) {
		c->rank = rank;
	} else if (c->column.len > 0) {
		c->target.len = c->column.len;
		c->resume = from;
	}
	ldb_iter_seek(c->iter, &c->target);
	return 0;
}

/* Sets the position to the iterator's. */
static void collect_place(struct collect *c, struct ldb_key *at)
{
	size_t len;
	const unsigned char *key = ldb_iter_key(c->iter, &len);

	memcpy(at->data, key, len);
	at->len = len;
	if (!ldb_key_starts(key, len, &c->column) || c->resume)
		c->rank = 0; /* unknown */
}

/* Collects a batch from the position on, which moves. rank is that of the cell there; 0: unknown.
 * The caller holds all row locks. */
static int collect_batch(struct collect *c, struct ldb_key *at, uint64_t rank,
			 leveldb_writebatch_t *batch, struct wcs_collect *progress)
{
	uint64_t until = progress->collected + progress->batch;
	int found = collect_start(c, at, rank);

	c->look = COLLECT_LOOKS_PER_DELETE * progress->batch;
	if (found == 0)
		found = collect_find(c);
	while (found == COLLECT_HIDDEN && progress->collected < until) {
		struct ldb_cell cell;
		size_t len;

		found = ldb_db_batch_cell(c->db, batch, c->iter, &cell, &len);
		if (found)
			break;
		progress->collected++;
		progress->bytes += len + cell.size;
		c->dead += len + (cell.id == 0 ? cell.size : 0);
		leveldb_iter_next(c->iter);
		found = collect_find(c);
	}
	if (found == COLLECT_HIDDEN)
		found = COLLECT_ENOUGH;
	if (found == COLLECT_ENOUGH)
		collect_place(c, at);
	progress->looked += c->looked;
	return ldb_db_iter_end(c->db, c->iter, found);
}

/* The counter of deletes in the column of the cell, as it was before the slice. */
static uint64_t *collect_deletes(struct collect *c, const struct ldb_key *at)
{
	return &c->deletes[ldb_commit_deletes(c->db, at->data, at->len) - c->db->counters.deletes];
}

/* Collects one batch. The cell `at`, of rank c->rank, was hidden when it was looked at. The caller
 * holds all row locks. */
static int collect_locked(struct collect *c, struct ldb_key *at, leveldb_writebatch_t *batch,
			  struct wcs_collect *progress)
{
	uint64_t before = progress->collected, *deletes = collect_deletes(c, at);
	_Atomic uint64_t *now = ldb_commit_deletes(c->db, at->data, at->len);
	/* Whether the cells that were counted are still there. */
	bool holds = atomic_load(now) == *deletes;
	int found, rc = 0;

	if (!holds && c->rank > COLLECT_DEEP && c->db->collected.tries++ < COLLECT_TRIES) {
		c->rank = 0;
		return COLLECT_ENOUGH;
	}
	c->db->collected.tries = 0;
	found = collect_batch(c, at, holds ? c->rank : 0, batch, progress);
	if (found >= 0 && progress->collected > before)
		rc = ldb_commit(c->db, batch, c->db->options->sync);
	*collect_deletes(c, at) = atomic_load(ldb_commit_deletes(c->db, at->data, at->len));
	return rc ? rc : found;
}

static int collect_write(struct collect *c, struct ldb_key *at, struct wcs_collect *progress)
{
	leveldb_writebatch_t *batch = leveldb_writebatch_create();
	uint64_t written = atomic_load(&c->db->counters.bytes_written);
	uint64_t before = progress->collected;
	int found = ldb_sync_logs(c->db), rc = 0;

	ldb_db_lock_rows(c->db);
	/* Cells written since that sync may hide those that the batch deletes. */
	if (found == 0 && atomic_load(&c->db->counters.bytes_written) != written)
		found = ldb_sync_logs(c->db);
	if (found == 0)
		found = collect_locked(c, at, batch, progress);
	ldb_db_unlock_rows(c->db);
	/* A later change that finds nothing hidden must not outlive the deletes. If it comes before
	 * this sync, it could: a power cut may keep its log and lose that of the batch, which
	 * LevelDB closed in between. A sync under the locks would hold up every writer for that. */
	if (found >= 0 && progress->collected > before && !c->db->options->sync)
		rc = ldb_sync_logs(c->db);
	leveldb_writebatch_destroy(batch);
	return rc ? rc : found;
}

/* ---- A slice ----------------------------------------------------------------------------- */

/* Looks for the first hidden cell from the place on, and collects from there. */
static int collect_from(struct collect *c, struct ldb_key *at, struct wcs_collect *progress)
{
	const struct ldb_collected *last = &c->db->collected;
	bool known;
	int found;

	for (size_t i = 0; i < LDB_STRIPES; i++)
		c->deletes[i] = atomic_load(&c->db->counters.deletes[i]);
	known = last->rank > 0 && ldb_key_compare(at->data, at->len, &last->at) == 0 &&
		last->deletes == *collect_deletes(c, at);
	found = collect_start(c, at, known ? last->rank : 0);
	if (found == 0)
		found = collect_find(c);
	if (found == COLLECT_HIDDEN || found == COLLECT_ENOUGH)
		collect_place(c, at);
	found = ldb_db_iter_end(c->db, c->iter, found);
	progress->looked += c->looked;
	if (found != COLLECT_HIDDEN)
		return found;
	c->first = *at;
	return collect_write(c, at, progress);
}

/* Keeps the position for the next slice, and its row for a status. */
static void collect_remember(struct collect *c, const struct ldb_key *at,
			     struct wcs_collect *progress)
{
	struct ldb_collected *collected = &c->db->collected;
	struct ldb_key_parts parts;

	collected->rank = progress->done ? 0 : c->rank;
	if (collected->rank > 0) {
		collected->at = *at;
		collected->deletes = *collect_deletes(c, at);
	}
	progress->row_len = 0;
	if (!progress->done && ldb_key_split(at->data, at->len, &parts) == 0)
		progress->row_len = ldb_key_get_row(at->data, &parts, progress->row);
}

/* Counts the cells that a slice deleted up to `to`, and adds them to the range to compact. */
static void collect_add(struct collect *c, const struct ldb_key *to, uint64_t cells)
{
	struct ldb_tombstones *all = &c->db->tombstones;
	struct wcs_slice first = {c->first.data, c->first.len}, end = {to->data, to->len};

	ldb_space_dead(c->db, first, end, c->dead);
	if (all->cells == 0)
		all->range.from = ldb_place_before(first);
	all->range.to = ldb_place_behind(end);
	all->cells += cells;
	all->bytes += c->dead;
}

/* Offers the range to the queue if it is worth a compaction. end: of the table. */
static void collect_offer(struct ldb *db, size_t enough, bool end)
{
	struct ldb_tombstones *all = &db->tombstones;
	const struct ldb_range *range = &all->range;
	bool dense, queued = true;

	if (all->cells >= (end ? COLLECT_END_CELLS : enough)) {
		dense = ldb_slice_size(db, &range->from, &range->to) / COLLECT_DENSITY <=
			all->bytes;
		queued = !dense ||
			 ldb_queue_offer(db, range, end ? LDB_QUEUE_RANGES : COLLECT_QUEUE);
	} else if (!end) {
		return;
	}
	if (queued || end)
		all->cells = all->bytes = 0;
}

int ldb_collect_slice(void *engine, const struct wcs_view *view, uint32_t table,
		      struct wcs_collect *progress)
{
	struct ldb *db = engine;
	struct collect *c = malloc(sizeof(*c));
	uint64_t collected = progress->collected;
	struct ldb_key *at;
	int found;

	if (!c)
		return -ENOMEM;
	at = &c->at;
	c->db = db;
	c->view = view;
	c->look = progress->look;
	c->dead = 0;
	ldb_key_table_past(&c->end, table);
	ldb_key_table(at, table);
	if (progress->len == 0)
		db->tombstones.cells = db->tombstones.bytes = 0;
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
	collect_remember(c, at, progress);
	if (progress->collected > collected) {
		collect_add(c, progress->done ? &c->end : at, progress->collected - collected);
		ldb_reclaim_wake(db);
	}
	collect_offer(db, progress->compact, progress->done);
out:
	free(c);
	return found < 0 ? found : 0;
}
