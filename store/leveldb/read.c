/* SPDX-License-Identifier: MIT */
/*
 * Point reads: one cell, one value, what a key leads to. Each is one seek or one get, a key two.
 *
 * What the view hides is not found. An older version's rank is counted only where its policy looks
 * at ranks, and no further than to where they are all the same to it.
 *
 * A value is looked up under a ticket and then held, so its extents stay while it is open (see
 * reclaim.c). It is immutable; several threads may read it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/leveldb/compaction/compaction.h"
#include "store/leveldb/extent.h"
#include "store/table/subtree.h"

struct read_value {
	struct wcs_value base;
	struct ldb *db;
	struct ldb_hold hold; /* of a in extents value */
	struct ldb_cell cell;
	unsigned char data[]; /* of an inline value */
};

/* What a cell's bytes are borrowed from. */
struct read_found {
	char *record;
	leveldb_iterator_t *iter;
	int64_t ts;
	int64_t expires;
	struct ldb_cell cell;
};

static void read_found_free(struct read_found *found)
{
	leveldb_free(found->record);
	if (found->iter)
		leveldb_iter_destroy(found->iter);
}

static int read_exact(struct ldb *db, struct ldb_key *key, int64_t ts, struct read_found *found)
{
	char *text = NULL;
	size_t len;

	ldb_key_ts(key, ts);
	found->record =
		leveldb_get(db->db, db->read, (const char *)key->data, key->len, &len, &text);
	if (text)
		return ldb_db_error(db, "read", text);
	if (!found->record)
		return -ENOENT;
	found->ts = ts;
	return ldb_record_cell_decode(found->record, len, &found->cell)
		       ? ldb_db_damaged(db, "a cell's record")
		       : 0;
}

static int read_newest(struct ldb *db, const struct ldb_key *key, struct read_found *found)
{
	struct ldb_key_parts parts;
	const unsigned char *data;
	bool within;
	size_t len;
	int err;

	found->iter = ldb_db_iterate(db);
	ldb_iter_seek(found->iter, key);
	within = ldb_iter_within(found->iter, key);
	/* Also where a cell was found: a newer one may be in a block that could not be read. */
	err = ldb_db_iter_error(db, found->iter);
	if (err)
		return err;
	if (!within)
		return -ENOENT;
	data = ldb_iter_key(found->iter, &len);
	if (ldb_key_split(data, len, &parts) || ldb_iter_cell(found->iter, &found->cell))
		return ldb_db_damaged(db, "a cell's key or record");
	found->ts = parts.ts;
	return 0;
}

/* The rank of the cell ts of the column, or `last` where it has that one or a higher one. -ENOENT:
 * it went meanwhile, and what was before it may have, too. */
static int read_rank(struct ldb *db, const struct ldb_key *column, int64_t ts, uint64_t last,
		     uint64_t *rank)
{
	leveldb_iterator_t *iter = ldb_db_iterate(db);
	uint64_t found = 1;
	int64_t newer = -1;
	int err = 0;

	ldb_iter_seek(iter, column);
	for (; found < last && ldb_iter_within(iter, column); leveldb_iter_next(iter)) {
		size_t len;
		const unsigned char *key = ldb_iter_key(iter, &len);

		err = ldb_key_split_ts(key, len, column->len, &newer);
		if (err || newer <= ts)
			break;
		found++;
	}
	err = err ? ldb_db_damaged(db, "a cell's key") : ldb_db_iter_error(db, iter);
	leveldb_iter_destroy(iter);
	if (!err && found < last && newer != ts)
		err = -ENOENT;
	if (!err)
		*rank = found;
	return err;
}

/* Is the cell found seen? -ENOENT: it is not. column: the key's part that is the column's. */
static int read_seen(struct ldb *db, const struct wcs_view *view, const struct wcs_gc *gc,
		     const struct ldb_key *column, bool newest, struct read_found *found)
{
	uint64_t rank = 1, last = gc ? wcs_gc_last_rank(gc) : 1;
	int err = 0;

	if (!newest && last > 1 && !wcs_view_hides(view, wcs_view_expiry(gc, 1, found->ts)) &&
	    wcs_view_hides(view, wcs_view_expiry(gc, last, found->ts)))
		err = read_rank(db, column, found->ts, last, &rank);
	else if (!newest)
		rank = last;
	if (err)
		return err;
	found->expires = wcs_view_expiry(gc, rank, found->ts);
	return wcs_view_hides(view, found->expires) ? -ENOENT : 0;
}

/* Whatever it returns, found is to be freed. */
static int read_find(struct ldb *db, const struct wcs_view *view, uint32_t table,
		     struct wcs_slice row, const char *family, struct wcs_slice qualifier,
		     int64_t ts, struct read_found *found)
{
	bool newest = ts == WCS_TS_NEWEST;
	struct ldb_key key;
	size_t column;
	int err;

	memset(found, 0, sizeof(*found));
	ldb_key_row(&key, table, row);
	ldb_key_family(&key, family);
	ldb_key_qualifier(&key, qualifier);
	column = key.len;
	err = newest ? read_newest(db, &key, found) : read_exact(db, &key, ts, found);
	key.len = column;
	return err ? err : read_seen(db, view, wcs_view_gc(view, family), &key, newest, found);
}

static struct wcs_cell_info read_info(const struct read_found *found)
{
	return (struct wcs_cell_info){found->ts, found->cell.size, found->cell.etag,
				      found->expires};
}

int ldb_read_cell(void *db, const struct wcs_view *view, uint32_t table, struct wcs_slice row,
		  const char *family, struct wcs_slice qualifier, int64_t ts,
		  struct wcs_cell_info *info)
{
	struct read_found found;
	int err = read_find(db, view, table, row, family, qualifier, ts, &found);

	if (!err)
		*info = read_info(&found);
	read_found_free(&found);
	return err;
}

static struct read_value *read_value_new(struct ldb *db, const struct read_found *found)
{
	size_t len = found->cell.id ? 0 : (size_t)found->cell.size;
	struct read_value *value = malloc(sizeof(*value) + len);

	if (!value)
		return NULL;
	value->base.backend = &wcs_backend_leveldb;
	value->base.info = read_info(found);
	value->db = db;
	value->cell = found->cell;
	value->cell.data = value->data;
	if (len > 0)
		memcpy(value->data, found->cell.data, len);
	return value;
}

int ldb_read_open(void *engine, const struct wcs_view *view, uint32_t table, struct wcs_slice row,
		  const char *family, struct wcs_slice qualifier, int64_t ts,
		  struct wcs_value **value)
{
	struct ldb *db = engine;
	struct read_value *made = NULL;
	struct ldb_ticket ticket;
	struct read_found found;
	int err;

	ldb_reclaim_enter(db, &ticket);
	err = read_find(db, view, table, row, family, qualifier, ts, &found);
	if (!err) {
		made = read_value_new(db, &found);
		err = made ? 0 : -ENOMEM;
	}
	if (made && made->cell.id)
		ldb_reclaim_hold(db, &ticket, &made->hold, made->cell.id);
	else
		ldb_reclaim_leave(db, &ticket);
	read_found_free(&found);
	if (made)
		*value = &made->base;
	return err;
}

int ldb_read_value(struct wcs_value *base, void *buf, size_t len, uint64_t offset, size_t *got)
{
	struct read_value *value = (struct read_value *)base;

	int err = ldb_extent_read(value->db, &value->cell, buf, len, offset, got);

	if (!err)
		ldb_count(&value->db->counters.bytes_read, *got);
	return err;
}

void ldb_read_close(struct wcs_value *base)
{
	struct read_value *value = (struct read_value *)base;

	if (!value)
		return;
	if (value->cell.id)
		ldb_reclaim_release(value->db, &value->hold);
	free(value);
}

/* Is there a cell whose key starts with this? The first key from there on decides. */
static int read_starts(struct ldb *db, leveldb_iterator_t *iter, const struct ldb_key *prefix,
		       bool *starts)
{
	ldb_iter_seek(iter, prefix);
	*starts = ldb_iter_within(iter, prefix);
	return *starts ? 0 : ldb_db_iter_error(db, iter);
}

int ldb_read_shows(struct ldb *db, const struct wcs_view *view, uint32_t table,
		   const struct wcs_range *range, bool *shows, int64_t *expires)
{
	struct wcs_filter filter = {.each = WCS_EACH_ROW};
	struct wcs_scan *scan;
	struct wcs_cell cell;
	int rc = ldb_scan_open(db, view, table, range, &filter, &scan);

	if (rc != 0)
		return rc;
	rc = ldb_scan_next(scan, &cell);
	ldb_scan_close(scan);
	*shows = rc > 0;
	if (rc > 0 && cell.info.expires < *expires)
		*expires = cell.info.expires;
	return rc < 0 ? rc : 0;
}

static int read_key_shown(struct ldb *db, const struct wcs_view *view, uint32_t table,
			  struct wcs_slice key, unsigned char delimiter, struct wcs_key_info *info)
{
	struct wcs_key_info known = {false, false, WCS_TS_MAX};
	struct wcs_subtree subtree;
	int err = wcs_subtree_init(&subtree, &key, delimiter);

	if (!err)
		err = ldb_read_shows(db, view, table, &subtree.ranges[0], &known.row,
				     &known.expires);
	if (!err)
		err = ldb_read_shows(db, view, table, &subtree.ranges[1], &known.prefix,
				     &known.expires);
	if (!err)
		*info = known;
	return err;
}

int ldb_read_key(void *engine, const struct wcs_view *view, uint32_t table, struct wcs_slice key,
		 unsigned char delimiter, struct wcs_key_info *info)
{
	struct wcs_key_info known = {false, false, WCS_TS_MAX};
	struct ldb *db = engine;
	struct ldb_key row, prefix;
	leveldb_iterator_t *iter;
	int err = 0;

	if (wcs_view_hides_rows(view))
		return read_key_shown(db, view, table, key, delimiter, info);
	ldb_key_table(&prefix, table);
	ldb_key_row_prefix(&prefix, key);
	ldb_key_row_prefix(&prefix, (struct wcs_slice){&delimiter, 1});
	iter = ldb_db_iterate(db);
	if (key.len > 0) {
		ldb_key_row(&row, table, key);
		err = read_starts(db, iter, &row, &known.row);
	}
	/* Without the row, the iterator may be among the rows of the prefix already. */
	if (!err && !known.row && key.len > 0)
		known.prefix = ldb_iter_within(iter, &prefix);
	if (!err && !known.prefix)
		err = read_starts(db, iter, &prefix, &known.prefix);
	leveldb_iter_destroy(iter);
	if (!err)
		*info = known;
	return err;
}
