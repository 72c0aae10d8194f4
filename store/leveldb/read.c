/* SPDX-License-Identifier: MIT */
/*
 * Point reads: a cell, a value, the rows that a key leads to. A cell takes one seek or one get, a
 * key two; where a policy can hide the newest cell, a scan passes over the hidden ones.
 *
 * A hidden cell is not found. An older version's rank is counted only if its policy looks at ranks,
 * and only as far as the policy distinguishes them.
 *
 * A value is looked up under a ticket and then held, so that its extents stay while it is open (see
 * reclaim.c). It is immutable; several threads may read it.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/leveldb/compaction/compaction.h"
#include "store/leveldb/extent.h"

struct read_value {
	struct wcs_value base;
	struct ldb *db;
	struct ldb_hold hold; /* of a value in extents */
	struct ldb_cell cell;
	unsigned char data[]; /* of an inline value */
};

/* A cell found, and the owners of its bytes. */
struct read_found {
	char *record;
	leveldb_iterator_t *iter;
	struct ldb_erased *erased; /* that the iterator passes over */
	int64_t ts;
	int64_t expires;
	struct ldb_cell cell;
};

static void read_found_free(struct read_found *found)
{
	leveldb_free(found->record);
	if (found->iter)
		leveldb_iter_destroy(found->iter);
	ldb_erased_put(found->erased);
}

static int read_exact(struct ldb *db, struct ldb_key *key, int64_t ts, struct read_found *found)
{
	char *text = NULL;
	size_t len;

	ldb_key_ts(key, ts);
	if (ldb_erased_has(db, key))
		return -ENOENT;
	found->record =
		leveldb_get(db->db, db->read, (const char *)key->data, key->len, &len, &text);
	if (text)
		return ldb_db_error(db, "read", text);
	if (!found->record)
		return -ENOENT;
	if (ldb_record_cell_decode(found->record, len, &found->cell))
		return ldb_db_damaged(db, "a cell's record");
	found->ts = ts;
	return 0;
}

/* Moves to the first key >= the given one that is not erased. -EIO, logged: keys are not in order.
 */
static int read_seek(struct ldb *db, leveldb_iterator_t *iter, const struct ldb_key *key,
		     const struct ldb_erased *erased)
{
	if (!ldb_iter_finds(iter, key->data, key->len))
		return ldb_db_damaged(db, "the order of keys");
	ldb_erased_pass(erased, iter);
	return 0;
}

static int read_newest(struct ldb *db, const struct ldb_key *key, struct read_found *found)
{
	bool within;
	int rc;

	found->iter = ldb_db_iterate_cells(db, &found->erased);
	rc = read_seek(db, found->iter, key, found->erased);
	if (rc)
		return rc;
	within = ldb_iter_within(found->iter, key);
	/* Asked also if a cell was found: a newer one may be in a block that could not be read. */
	rc = ldb_db_iter_error(db, found->iter);
	if (!rc && !within)
		rc = -ENOENT;
	if (!rc)
		rc = ldb_iter_cell(db, found->iter, &found->cell);
	return rc ? rc : ldb_iter_ts(db, found->iter, key->len, &found->ts);
}

/* Finds out when the cell found expires; its rank is counted if it matters. column: the prefix of
 * its column. -ENOENT: the view hides it, or it was deleted meanwhile, and newer cells may have
 * been, too. */
static int read_seen(struct ldb *db, const struct wcs_view *view, const struct wcs_gc *gc,
		     const struct ldb_key *column, bool newest, struct read_found *found)
{
	uint64_t last = gc ? wcs_gc_last_rank(gc) : 1, rank = newest ? 1 : last;
	struct ldb_erased *erased;
	leveldb_iterator_t *iter;
	int64_t newer = -1;
	int rc = 0;

	if (rank > 1 && !wcs_view_hides(view, wcs_view_expiry(gc, 1, found->ts)) &&
	    wcs_view_hides(view, wcs_view_expiry(gc, last, found->ts))) {
		iter = ldb_db_iterate_cells(db, &erased);
		rc = read_seek(db, iter, column, erased);
		for (rank = 1; !rc && rank < last && ldb_iter_within(iter, column); rank++) {
			rc = ldb_iter_ts(db, iter, column->len, &newer);
			if (rc || newer <= found->ts)
				break;
			leveldb_iter_next(iter);
			ldb_erased_pass(erased, iter);
		}
		rc = ldb_db_iter_end(db, iter, rc);
		ldb_erased_put(erased);
		if (!rc && rank < last && newer != found->ts)
			rc = -ENOENT;
	}
	if (rc)
		return rc;
	found->expires = wcs_view_expiry(gc, rank, found->ts);
	return wcs_view_hides(view, found->expires) ? -ENOENT : 0;
}

/* The caller frees found, also after an error. */
static int read_find(struct ldb *db, const struct wcs_view *view, const struct wcs_address *at,
		     struct read_found *found)
{
	bool newest = at->ts == WCS_TS_NEWEST;
	struct ldb_key key;
	size_t column;
	int rc;

	memset(found, 0, sizeof(*found));
	ldb_key_row(&key, at->table, at->row);
	ldb_key_family(&key, at->family);
	ldb_key_qualifier(&key, at->qualifier);
	column = key.len;
	rc = newest ? read_newest(db, &key, found) : read_exact(db, &key, at->ts, found);
	key.len = column;
	return rc ? rc : read_seen(db, view, wcs_view_gc(view, at->family), &key, newest, found);
}

static struct wcs_cell_info read_info(const struct read_found *found)
{
	return (struct wcs_cell_info){found->ts, found->cell.size, found->cell.etag,
				      found->expires};
}

static int ldb_read_value(struct wcs_value *base, void *buf, size_t len, uint64_t offset,
			  size_t *got)
{
	struct read_value *value = (struct read_value *)base;
	int rc = ldb_extent_read(value->db, &value->cell, buf, len, offset, got);

	if (!rc)
		ldb_count(&value->db->counters.bytes_read, *got);
	return rc;
}

static void ldb_read_close(struct wcs_value *base)
{
	struct read_value *value = (struct read_value *)base;

	if (!value)
		return;
	if (value->cell.id)
		ldb_reclaim_release(value->db, &value->hold);
	free(value);
}

static const struct value_ops read_functions = {ldb_read_value, ldb_read_close};

/* Makes a value that owns what was found. */
static int read_make(struct ldb *db, const struct read_found *found, struct read_value **made)
{
	size_t len = found->cell.id ? 0 : (size_t)found->cell.size;
	struct read_value *value = malloc(sizeof(*value) + len);

	if (!value)
		return -ENOMEM;
	value->base.ops = &read_functions;
	value->base.info = read_info(found);
	value->db = db;
	value->cell = found->cell;
	value->cell.data = value->data;
	if (len > 0)
		memcpy(value->data, found->cell.data, len);
	*made = value;
	return 0;
}

int ldb_read_open(void *engine, const struct wcs_view *view, const struct wcs_address *at,
		  struct wcs_cell_info *info, struct wcs_value **value)
{
	struct ldb *db = engine;
	struct read_value *made = NULL;
	struct ldb_ticket ticket;
	struct read_found found;
	int rc;

	if (value)
		ldb_reclaim_enter(db, &ticket);
	rc = read_find(db, view, at, &found);
	if (!rc)
		*info = read_info(&found);
	if (!rc && value)
		rc = read_make(db, &found, &made);
	if (made)
		*value = &made->base;
	if (made && made->cell.id)
		ldb_reclaim_hold(db, &ticket, &made->hold, made->cell.id);
	else if (value)
		ldb_reclaim_leave(db, &ticket);
	read_found_free(&found);
	return rc;
}

/* Whether a cell's key starts with prefix. */
static int read_starts(struct ldb *db, leveldb_iterator_t *iter, const struct ldb_erased *erased,
		       const struct ldb_key *prefix, bool *starts)
{
	int rc = read_seek(db, iter, prefix, erased);

	if (rc)
		return rc;
	*starts = ldb_iter_within(iter, prefix);
	return *starts ? 0 : ldb_db_iter_error(db, iter);
}

int ldb_read_key(void *db, uint32_t table, struct wcs_slice key, unsigned char delimiter,
		 struct wcs_key_info *info)
{
	struct wcs_key_info known = {false, false, WCS_TS_MAX};
	struct ldb_key row, prefix;
	struct ldb_erased *erased;
	leveldb_iterator_t *iter;
	int rc = 0;

	ldb_key_table(&prefix, table);
	ldb_key_row_prefix(&prefix, key);
	ldb_key_row_prefix(&prefix, (struct wcs_slice){&delimiter, 1});
	iter = ldb_db_iterate_cells(db, &erased);
	if (key.len > 0) {
		ldb_key_row(&row, table, key);
		rc = read_starts(db, iter, erased, &row, &known.row);
		/* If the row does not exist, the iterator may be among the rows below already. */
		known.prefix = !rc && !known.row && ldb_iter_within(iter, &prefix);
	}
	if (!rc && !known.prefix)
		rc = read_starts(db, iter, erased, &prefix, &known.prefix);
	leveldb_iter_destroy(iter);
	ldb_erased_put(erased);
	if (!rc)
		*info = known;
	return rc;
}
