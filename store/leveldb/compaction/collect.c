/* SPDX-License-Identifier: MIT */
/*
 * Deletes the cells of a table that policies hide, in slices.
 *
 * - Hidden cells are looked for in a snapshot, without a lock. They stay hidden: a mutation that
 *   would show one deletes it. From the first one on a batch of them is compared with the present
 *   cells and deleted under all row locks, so a cell that was written meanwhile, which has another
 *   etag, stays.
 * - The logs are synced before a batch, so that a power cut cannot keep the deletes and lose the
 *   newer cells that hide the deleted ones; and afterwards, so that it cannot keep a later change,
 *   which found nothing hidden to delete, and lose the deletes.
 * - A slice ends after it looked at enough cells or deleted enough of them, also in the middle of a
 *   column. The next one starts at the column's newest cell, counts ranks as far as the policy
 *   distinguishes them, and then seeks to the position, past the tombstones of earlier slices.
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
	COLLECT_END_CELLS = 1000,     /* are worth a compaction at the end of a table */
	COLLECT_DENSITY = 10,	      /* of a range to compact: times the deleted bytes, at most */
	COLLECT_QUEUE = 2,	      /* ranges in the queue, at most */
};

struct collect {
	struct ldb *db;
	const struct wcs_view *view;
	leveldb_iterator_t *iter;
	const struct wcs_gc *gc; /* of the family; NULL: it hides nothing */
	uint64_t last_rank, rank;
	size_t looked, look; /* cells looked at, and how many at most */
	struct ldb_key_parts parts;
	struct ldb_key column; /* of the present cell; its first bytes are row and family */
	struct ldb_key target;
	struct ldb_key at;    /* the position of the slice */
	struct ldb_key end;   /* the first key behind the table */
	struct ldb_key first; /* the first cell that was deleted */
	uint64_t written;     /* counters.bytes_written, before the iterator was made */
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

/* Looks at the cell under the iterator. 1: it is hidden; 0: the iterator moved on. */
static int collect_look(struct collect *c)
{
	size_t len;
	const unsigned char *key = ldb_iter_key(c->iter, &len);
	int rc = 0;

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
	if (wcs_view_hides(c->view, wcs_view_expiry(c->gc, c->rank, c->parts.ts)))
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

		if (c->looked >= c->look)
			return COLLECT_ENOUGH;
		rc = collect_look(c);
		if (rc != 0)
			return rc < 0 ? rc : COLLECT_HIDDEN;
	}
	return COLLECT_END;
}

/* Is the iterator at a cell of the column, before the position? */
static bool collect_behind(const struct collect *c, const struct ldb_key *from)
{
	size_t len;
	const unsigned char *key;

	if (!ldb_iter_within(c->iter, &c->column))
		return false;
	key = ldb_iter_key(c->iter, &len);
	return ldb_key_compare(key, len, from) < 0;
}

/* Makes an iterator at the start of the slice, whose rank it counts. */
static int collect_start(struct collect *c, const struct ldb_key *from)
{
	int rc = 0;

	c->written = atomic_load(&c->db->counters.bytes_written);
	c->iter = ldb_db_iterate(c->db);
	c->column.len = 0;
	c->looked = 0;
	ldb_iter_seek(c->iter, from);
	if (from->len <= LDB_KEY_TABLE_LEN)
		return 0;
	rc = collect_enter(c, from->data, from->len);
	if (rc || !c->gc || !ldb_iter_within(c->iter, &c->column))
		return rc;
	ldb_iter_seek(c->iter, &c->column);
	/* A slice that goes back far goes on as far again. */
	for (; c->rank < c->last_rank && collect_behind(c, from); c->rank++, c->look++)
		leveldb_iter_next(c->iter);
	if (collect_behind(c, from))
		ldb_iter_seek(c->iter, from);
	return 0;
}

static void collect_copy(struct ldb_key *to, leveldb_iterator_t *iter)
{
	const unsigned char *key = ldb_iter_key(iter, &to->len);

	memcpy(to->data, key, to->len);
}

/* Is the hidden cell as it was in the snapshot? 1: it is, and `now` is at it. */
static int collect_compare(struct collect *c, leveldb_iterator_t *now)
{
	struct ldb_cell was, is;
	int rc = ldb_iter_cell(c->db, c->iter, &was);

	collect_copy(&c->target, c->iter);
	if (!leveldb_iter_valid(now))
		ldb_iter_seek(now, &c->target);
	else
		ldb_iter_skip(now, &c->target, COLLECT_STEPS);
	if (rc || !ldb_iter_within(now, &c->target))
		return rc;
	rc = ldb_iter_cell(c->db, now, &is);
	return rc ? rc : is.etag == was.etag;
}

/* Collects a batch from the hidden cell under the iterator on. The caller holds all row locks.
 * now: of the present cells; the slice's own iterator if nothing was written since it was made. */
static int collect_batch(struct collect *c, leveldb_iterator_t *now, leveldb_writebatch_t *batch,
			 struct wcs_collect *progress)
{
	uint64_t until = progress->collected + progress->batch;
	int found = COLLECT_HIDDEN, rc = 1;

	c->look = c->looked + COLLECT_LOOKS_PER_DELETE * progress->batch;
	while (found == COLLECT_HIDDEN && progress->collected < until) {
		struct ldb_cell cell;
		size_t len;

		if (now != c->iter)
			rc = collect_compare(c, now);
		if (rc == 1 && (rc = ldb_db_batch_cell(c->db, batch, now, &cell, &len)) == 0) {
			progress->collected++;
			progress->bytes += len + cell.size;
			c->dead += len + (cell.id == 0 ? cell.size : 0);
			rc = 1;
		}
		if (rc < 0)
			return rc;
		leveldb_iter_next(c->iter);
		found = collect_find(c);
	}
	rc = ldb_db_iter_error(c->db, c->iter);
	return rc ? rc : found;
}

static int collect_write(struct collect *c, struct wcs_collect *progress)
{
	leveldb_writebatch_t *batch = leveldb_writebatch_create();
	leveldb_iterator_t *now = c->iter;
	uint64_t before = progress->collected;
	int found = ldb_sync_logs(c->db), rc = 0;

	ldb_db_lock_rows(c->db);
	if (atomic_load(&c->db->counters.bytes_written) != c->written)
		now = ldb_db_iterate(c->db);
	if (found == 0)
		found = collect_batch(c, now, batch, progress);
	if (now != c->iter)
		found = ldb_db_iter_end(c->db, now, found);
	if (found >= 0 && progress->collected > before)
		rc = ldb_commit(c->db, batch, c->db->options->sync);
	ldb_db_unlock_rows(c->db);
	/* A later change that finds nothing hidden must not outlive the deletes. If it comes before
	 * this sync, it could: a power cut may keep its log and lose that of the batch, which
	 * LevelDB closed in between. A sync under the locks would hold up every writer for that. */
	if (!rc && found >= 0 && progress->collected > before && !c->db->options->sync)
		rc = ldb_sync_logs(c->db);
	leveldb_writebatch_destroy(batch);
	return rc ? rc : found;
}

/* ---- A slice ----------------------------------------------------------------------------- */

/* Looks for the first hidden cell from the place on, and collects from there. */
static int collect_from(struct collect *c, struct ldb_key *at, struct wcs_collect *progress)
{
	int found = collect_start(c, at);

	if (found == 0)
		found = collect_find(c);
	if (found == COLLECT_HIDDEN) {
		collect_copy(&c->first, c->iter);
		found = collect_write(c, progress);
	}
	if (found > 0)
		collect_copy(at, c->iter);
	progress->looked += c->looked;
	return ldb_db_iter_end(c->db, c->iter, found);
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
		dense = ldb_space_size(db, range) / COLLECT_DENSITY <= all->bytes;
		queued = !dense || ldb_space_push(db, range, end ? LDB_SPACE_RANGES : COLLECT_QUEUE,
						  false) != 0;
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
	struct ldb_key_parts parts;
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
	progress->row_len = 0;
	if (!progress->done && ldb_key_split(at->data, at->len, &parts) == 0)
		progress->row_len = ldb_key_get_row(at->data, &parts, progress->row);
	if (progress->collected > collected) {
		collect_add(c, progress->done ? &c->end : at, progress->collected - collected);
		ldb_reclaim_wake(db);
	}
	collect_offer(db, progress->compact, progress->done);
out:
	free(c);
	return found < 0 ? found : 0;
}
