/* SPDX-License-Identifier: MIT */
/*
 * Deletes the cells of a table that policies hide, in slices.
 *
 * - A slice looks for hidden cells in a snapshot, without a lock. They stay hidden: a mutation that
 *   would show one deletes it. Those that it found are then compared with the present cells and
 *   deleted under all row locks. A cell that was written meanwhile has another etag, and stays.
 * - The logs are synced before the deletes, so that a power cut cannot keep them and lose the newer
 *   cells that hide the deleted ones; and afterwards, so that it cannot keep a later change, which
 *   found nothing hidden to delete, and lose the deletes.
 * - A slice ends at the start of a column once it looked at enough cells, or once it found enough.
 *   The next one begins at the newest cell of that column.
 * - A family that hides nothing costs one seek a row.
 *
 * The deleted range is pushed once it is worth a compaction. The compaction serves readers, since
 * they step over every tombstone. A range with many other keys is not: it would be written anew as
 * a whole, for readers who hardly notice the few tombstones; space.c sees to its bytes. The
 * collector never waits for LevelDB: while two ranges wait, the next one grows.
 *
 * One thread collects at a time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/leveldb/compaction/compaction.h"

enum {
	COLLECT_LOOKS = 20,	  /* at cells, for each that a slice may delete */
	COLLECT_STEPS = 8,	  /* before a seek */
	COLLECT_CELLS = 100000,	  /* are worth a compaction: a seek crosses them in some 12 ms */
	COLLECT_END_CELLS = 1000, /* the same at the end of a table */
	COLLECT_DENSITY = 10,	  /* of a range to compact: times the deleted bytes, at most */
	COLLECT_RANGES = 2,	  /* that wait, at most */
	COLLECT_ETAG = 4,	  /* bytes */
};

struct collect {
	struct ldb *db;
	const struct wcs_view *view;
	struct wcs_collect *progress;
	leveldb_iterator_t *iter;
	leveldb_writebatch_t *found; /* hidden cells: keys with their etags */
	size_t looked, hidden;	     /* cells looked at, and found */
	const struct wcs_gc *gc;     /* of the family; NULL: it hides nothing */
	uint64_t rank;
	leveldb_iterator_t *now; /* of the present cells, under the locks */
	leveldb_writebatch_t *batch;
	uint64_t dead; /* bytes of deleted keys and inline values */
	int rc;	       /* of collect_delete */
	struct ldb_key_parts parts;
	struct ldb_key column; /* of the present cell; its first bytes are row and family */
	struct ldb_key key;
	struct ldb_key end;   /* the first key behind the table */
	struct ldb_key first; /* the first cell found */
};

static void collect_copy(struct ldb_key *to, const void *key, size_t len)
{
	memcpy(to->data, key, to->len = len);
}

/* ---- Looking ----------------------------------------------------------------------------- */

/* Enters the column of a cell. */
static int collect_enter(struct collect *c, const unsigned char *key, size_t len)
{
	char family[WCS_FAMILY_NAME_MAX + 1];

	if (ldb_key_split(key, len, &c->parts))
		return ldb_db_damaged(c->db, "a cell's key");
	memcpy(family, key + c->parts.row_end, c->parts.family_end - c->parts.row_end);
	collect_copy(&c->column, key, c->parts.column_end);
	c->gc = wcs_view_gc(c->view, family);
	c->rank = 1;
	return 0;
}

/* Notes a hidden cell, which is under the iterator. */
static int collect_found(struct collect *c, const unsigned char *key, size_t len)
{
	unsigned char etag[COLLECT_ETAG];
	struct ldb_cell cell;
	int rc = ldb_iter_cell(c->db, c->iter, &cell);

	if (rc)
		return rc;
	if (c->hidden++ == 0)
		collect_copy(&c->first, key, len);
	put_be32(etag, cell.etag);
	leveldb_writebatch_put(c->found, (const char *)key, len, (const char *)etag, COLLECT_ETAG);
	return 0;
}

/* Looks at the cell under the iterator, which moves on. 1: the slice ends before it. */
static int collect_look(struct collect *c)
{
	size_t len;
	const unsigned char *key = ldb_iter_key(c->iter, &len);
	bool inside = c->column.len > 0 && ldb_key_starts(key, len, &c->column);
	int rc = 0;

	if (c->hidden >= c->progress->batch ||
	    (!inside && c->looked >= COLLECT_LOOKS * c->progress->batch))
		return 1;
	c->looked++;
	if (!inside)
		rc = collect_enter(c, key, len);
	else if (ldb_key_split_ts(key, len, c->parts.column_end, &c->parts.ts))
		rc = ldb_db_damaged(c->db, "a cell's key");
	if (!rc && !c->gc) {
		collect_copy(&c->key, key, c->parts.family_end);
		ldb_key_past(&c->key);
		ldb_iter_skip(c->iter, &c->key, COLLECT_STEPS);
		return 0;
	}
	if (!rc && wcs_view_hides(c->view, wcs_view_expiry(c->gc, c->rank, c->parts.ts)))
		rc = collect_found(c, key, len);
	else
		c->rank++;
	leveldb_iter_next(c->iter);
	return rc;
}

/* ---- Deleting ---------------------------------------------------------------------------- */

/* Deletes a cell that was found, unless it was written since. */
static void collect_delete(void *arg, const char *key, size_t len, const char *etag,
			   size_t etag_len)
{
	struct collect *c = arg;
	struct ldb_cell cell;

	(void)etag_len;
	if (c->rc)
		return;
	collect_copy(&c->key, key, len);
	if (!leveldb_iter_valid(c->now))
		ldb_iter_seek(c->now, &c->key);
	else if (ldb_iter_before(c->now, &c->key))
		ldb_iter_skip(c->now, &c->key, COLLECT_STEPS);
	if (!ldb_iter_within(c->now, &c->key))
		return;
	c->rc = ldb_iter_cell(c->db, c->now, &cell);
	if (c->rc || cell.etag != get_be32((const unsigned char *)etag))
		return;
	c->rc = ldb_db_batch_cell(c->db, c->batch, c->now, &cell, &len);
	c->progress->collected++;
	c->progress->bytes += len + cell.size;
	c->dead += len + (cell.id == 0 ? cell.size : 0);
}

static int collect_write(struct collect *c)
{
	int rc = ldb_sync_logs(c->db);

	if (rc)
		return rc;
	c->batch = leveldb_writebatch_create();
	ldb_db_lock_rows(c->db);
	c->now = ldb_db_iterate(c->db);
	leveldb_writebatch_iterate(c->found, c, collect_delete, NULL);
	rc = ldb_db_iter_end(c->db, c->now, c->rc);
	if (!rc && c->dead > 0)
		rc = ldb_commit(c->db, c->batch, c->db->options->sync);
	ldb_db_unlock_rows(c->db);
	/* A later change that finds nothing hidden must not outlive the deletes. If it comes before
	 * this sync, it could: a power cut may keep its log and lose that of the batch, which
	 * LevelDB closed in between. A sync under the locks would hold up every writer for that. */
	if (!rc && c->dead > 0 && !c->db->options->sync)
		rc = ldb_sync_logs(c->db);
	leveldb_writebatch_destroy(c->batch);
	return rc;
}

/* ---- A slice ----------------------------------------------------------------------------- */

/* Looks from the place of the last slice on, deletes the cells found, and moves the place. */
static int collect_run(struct collect *c)
{
	struct wcs_collect *progress = c->progress;
	const unsigned char *key;
	size_t len;
	int rc = 0;

	ldb_iter_seek_bytes(c->iter, progress->at, progress->len);
	while (!rc && ldb_iter_before(c->iter, &c->end))
		rc = collect_look(c);
	rc = rc < 0 ? rc : ldb_db_iter_error(c->db, c->iter);
	if (!rc && c->hidden > 0)
		rc = collect_write(c);
	progress->looked += c->looked;
	if (rc)
		return rc;
	progress->done = !ldb_iter_before(c->iter, &c->end);
	progress->len = progress->row_len = 0;
	if (progress->done)
		return 0;
	key = ldb_iter_key(c->iter, &len);
	rc = collect_enter(c, key, len);
	if (rc)
		return rc;
	progress->row_len = ldb_key_get_row(key, &c->parts, progress->row);
	ldb_key_ts(&c->column, WCS_TS_MAX);
	memcpy(progress->at, c->column.data, progress->len = c->column.len);
	return 0;
}

/* Adds the cells that a slice deleted to the range to compact, which is pushed if it is worth it.
 */
static void collect_push(struct collect *c, uint64_t cells)
{
	struct ldb_tombstones *all = &c->db->tombstones;
	const struct ldb_key *to = c->progress->done ? &c->end : &c->column;
	struct wcs_slice first = {c->first.data, c->first.len}, end = {to->data, to->len};
	bool done = c->progress->done, pushed = true;

	if (cells > 0) {
		ldb_space_dead(c->db, first, end, c->dead);
		if (all->cells == 0)
			all->range.from = ldb_place_before(first);
		all->cells += cells;
		all->bytes += c->dead;
	}
	all->range.to = ldb_place_behind(end);
	if (all->cells < (done ? COLLECT_END_CELLS : COLLECT_CELLS))
		pushed = done;
	else if (ldb_space_size(c->db, &all->range) / COLLECT_DENSITY <= all->bytes)
		pushed = ldb_space_push(c->db, &all->range,
					done ? LDB_SPACE_RANGES : COLLECT_RANGES, false) != 0;
	if (pushed || done)
		all->cells = all->bytes = 0;
}

int ldb_collect_slice(void *engine, const struct wcs_view *view, uint32_t table,
		      struct wcs_collect *progress)
{
	struct collect *c = malloc(sizeof(*c));
	uint64_t collected = progress->collected;
	int rc;

	if (!c)
		return -ENOMEM;
	memset(c, 0, offsetof(struct collect, parts));
	c->db = engine;
	c->view = view;
	c->progress = progress;
	c->column.len = 0;
	ldb_key_table_past(&c->end, table);
	ldb_key_table(&c->key, table);
	if (progress->len == 0)
		c->db->tombstones.cells = c->db->tombstones.bytes = 0;
	if (progress->len <= c->key.len || !ldb_key_starts(progress->at, progress->len, &c->key))
		memcpy(progress->at, c->key.data, progress->len = c->key.len);
	c->found = leveldb_writebatch_create();
	c->iter = ldb_db_iterate(c->db);
	rc = collect_run(c);
	leveldb_iter_destroy(c->iter);
	leveldb_writebatch_destroy(c->found);
	if (!rc) {
		if (c->dead > 0)
			ldb_reclaim_wake(c->db);
		collect_push(c, progress->collected - collected);
	}
	free(c);
	return rc;
}
