/* SPDX-License-Identifier: MIT */
/*
 * Scans ranges of rows with one iterator, which is one consistent view.
 *
 * - Keys outside the filter are skipped: by a few steps first, as the next wanted key is mostly
 *   near, then by a seek.
 * - In reverse order the cursor goes back row by row; each row is read forward. A row's prefix ends
 *   it, as the keys behind it were read before.
 * - The prefix of the present column is kept encoded. The bytes that a key shares with it tell the
 *   parts of the address that are the same, which are not decoded again.
 * - A cell's rank is counted, as the scan enters every column at its newest cell, up to the last
 *   rank that its policy distinguishes.
 * - An iterator passes over a block that it cannot read and reports it only when asked. It is asked
 *   at each row, and before a cell is given if there was such a block: an older version must not
 *   pass for the newest.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/leveldb/compaction/compaction.h"
#include "store/leveldb/core/cursor.h"
#include "store/leveldb/extent.h"

enum {
	SCAN_ASKS = 256, /* keys between two questions whether to go on */
	/* In reverse order, keys of a row that cost less to keep than two seeks: if all of them are
	 * read, and if few of them are. */
	SCAN_KEEP = 24,
	SCAN_KEEP_FIRST = 12,
};

#define SCAN_CELL SIZE_MAX /* as a length to skip: one cell */

struct scan {
	struct wcs_scan base;
	struct ldb *db;
	uint32_t table;
	struct ldb_ticket ticket;
	struct ldb_cursor cursor;
	size_t leave; /* bytes of the column whose keys to skip before the next cell; SCAN_CELL */
	bool at_cell; /* cell is the last one given */
	enum wcs_part differs; /* the first part that differs from the last cell given */
	bool row_left;	       /* in reverse order: the row before the target is next */
	uint64_t read;	       /* bytes of values */
	unsigned passed;       /* keys */
	int state;	       /* 1: under way; else the result of every further call */

	const struct wcs_filter *filter;
	int64_t ts_last; /* of the filter */
	struct wcs_view view;

	/* the present cell */
	struct ldb_key_parts parts;
	struct ldb_cell cell;
	uint32_t given;		 /* cells of the column */
	const struct wcs_gc *gc; /* of its family; NULL: it hides nothing */
	uint64_t last_rank;	 /* the last that gc distinguishes */
	uint64_t rank;		 /* of the cell; at most last_rank */
	int64_t expires;
	size_t row_len;
	struct wcs_slice qualifier;
	char family[WCS_FAMILY_NAME_MAX + 1];
	unsigned char row[WCS_ROW_KEY_MAX];
	unsigned char unescaped[WCS_QUALIFIER_MAX]; /* of a qualifier with escapes */

	struct ldb_key column; /* of the present cell; its first bytes are row and family */
	struct ldb_key target; /* of a skip */
	/* The first key past the present range; in reverse order its first key. */
	struct ldb_key end;
	size_t range, range_count;
	struct wcs_range ranges[]; /* and their bytes */
};

/* ---- Ranges ---------------------------------------------------------------------------- */

/* A bound as a key; the end of a range may be open. */
static void scan_bound(const struct scan *scan, struct ldb_key *key, struct wcs_slice bound)
{
	if (bound.data)
		ldb_key_row(key, scan->table, bound);
	else
		ldb_key_table_past(key, scan->table);
}

/* Makes that range the present one. The target becomes the key from which it is read: its own bound
 * in front, or the given one if that is in the range. */
static void scan_set_range(struct scan *scan, size_t i, const struct wcs_slice *given)
{
	struct wcs_slice start = scan->ranges[i].start, end = scan->ranges[i].end;

	scan->range = i;
	if (scan->filter->reverse) {
		if (given && (!end.data || wcs_slice_compare(*given, end) < 0))
			end = *given;
		scan_bound(scan, &scan->target, end);
		ldb_key_row(&scan->end, scan->table, start);
	} else {
		if (given && wcs_slice_compare(*given, start) > 0)
			start = *given;
		ldb_key_row(&scan->target, scan->table, start);
		scan_bound(scan, &scan->end, end);
	}
}

/* Makes the range present from which a seek to the row goes on. False: there is none. */
static bool scan_seek_range(struct scan *scan, struct wcs_slice row)
{
	bool reverse = scan->filter->reverse;
	size_t low = 0, high = scan->range_count;

	while (low < high) { /* how many ranges lie before the row */
		size_t middle = low + (high - low) / 2;
		const struct wcs_range *range = &scan->ranges[middle];

		if (reverse ? wcs_slice_compare(range->start, row) < 0
			    : range->end.data && wcs_slice_compare(range->end, row) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == (reverse ? 0 : scan->range_count))
		return false;
	scan_set_range(scan, reverse ? low - 1 : low, &row);
	return true;
}

/* Makes the range present that follows in the scan's order. False: there is none. */
static bool scan_next_range(struct scan *scan)
{
	bool reverse = scan->filter->reverse;

	if (scan->range == (reverse ? 0 : scan->range_count - 1))
		return false;
	scan_set_range(scan, reverse ? scan->range - 1 : scan->range + 1, NULL);
	return true;
}

static void scan_copy_ranges(struct scan *scan, const struct wcs_range *ranges, size_t count)
{
	unsigned char *bytes = (unsigned char *)(scan->ranges + count);

	scan->range_count = count;
	for (size_t i = 0; i < count; i++) {
		struct wcs_slice *bounds[] = {&scan->ranges[i].start, &scan->ranges[i].end};

		scan->ranges[i] = ranges[i];
		for (size_t j = 0; j < 2; j++) {
			if (bounds[j]->len > 0)
				memcpy(bytes, bounds[j]->data, bounds[j]->len);
			if (bounds[j]->data)
				bounds[j]->data = bytes;
			bytes += bounds[j]->len;
		}
	}
}

static void ldb_scan_close(struct wcs_scan *base)
{
	struct scan *scan = (struct scan *)base;

	if (!scan)
		return;
	ldb_cursor_close(&scan->cursor);
	ldb_reclaim_leave(scan->db, &scan->ticket);
	ldb_count(&scan->db->counters.bytes_read, scan->read);
	free(scan);
}

/* ---- Skipping ---------------------------------------------------------------------------- */

/* Makes target the present column's first bytes. */
static void scan_target(struct scan *scan, size_t len)
{
	memcpy(scan->target.data, scan->column.data, len);
	scan->target.len = len;
}

/* Leaves a row for the next one. */
static void scan_leave_row(struct scan *scan)
{
	scan->row_left = scan->filter->reverse;
	if (!scan->row_left)
		ldb_cursor_skip_row(&scan->cursor, &scan->target);
}

static void scan_leave(struct scan *scan, size_t len)
{
	if (len == 0)
		return;
	if (len == SCAN_CELL || len == scan->parts.column_end)
		ldb_cursor_next(&scan->cursor);
	if (len == SCAN_CELL ||
	    (len == scan->parts.column_end && !ldb_cursor_within(&scan->cursor, &scan->column)))
		return; /* mostly a column has one cell */
	scan_target(scan, len);
	ldb_key_past(&scan->target);
	if (len == scan->parts.row_end)
		scan_leave_row(scan);
	else
		ldb_cursor_skip(&scan->cursor, &scan->target);
}

/* ---- The present cell -------------------------------------------------------------------- */

/* The first part in which a key differs from the present column. */
static enum wcs_part scan_differs(const struct scan *scan, const unsigned char *key, size_t len)
{
	size_t shared = ldb_key_shared(key, len, &scan->column);

	if (scan->column.len == 0 || shared < scan->parts.row_end)
		return WCS_PART_ROW;
	if (shared < scan->parts.family_end)
		return WCS_PART_FAMILY;
	return shared < scan->column.len ? WCS_PART_QUALIFIER : WCS_PART_TS;
}

/* Takes a key of another column apart; the parts before the one that differs stay. */
static int scan_enter_column(struct scan *scan, const unsigned char *key, size_t len,
			     enum wcs_part differs)
{
	bool same_family = differs == WCS_PART_QUALIFIER;
	struct ldb_key_parts parts = scan->parts;
	size_t kept = same_family ? parts.family_end : 0;
	const char *family;

	if (same_family ? ldb_key_split_column(key, len, &parts) : ldb_key_split(key, len, &parts))
		return ldb_db_damaged(scan->db, "a cell's key");
	if (differs == WCS_PART_ROW)
		scan->row_len = ldb_key_get_row(key, &parts, scan->row);
	family = (const char *)key + parts.row_end;
	if (!same_family && (scan->column.len == 0 || strcmp(scan->family, family) != 0)) {
		strcpy(scan->family, family);
		scan->gc = wcs_view_gc(&scan->view, family);
		scan->last_rank = scan->gc ? wcs_gc_last_rank(scan->gc) : 1;
	}
	memcpy(scan->column.data + kept, key + kept, parts.column_end - kept);
	scan->column.len = parts.column_end;
	scan->qualifier =
		(struct wcs_slice){scan->column.data + parts.family_end, parts.qualifier_len};
	if (parts.family_end + parts.qualifier_len + 2 < parts.column_end) {
		ldb_key_get_qualifier(key, &parts, scan->unescaped);
		scan->qualifier.data = scan->unescaped;
	}
	scan->parts = parts;
	scan->given = 0;
	scan->rank = 1;
	return 0;
}

/* ---- The filter -------------------------------------------------------------------------- */

/* False: the family is not wanted, and the scan skipped it. */
static bool scan_family_wanted(struct scan *scan)
{
	size_t low = 0, high = scan->filter->family_count;
	const char *wanted;

	if (!scan->filter->families)
		return true;
	while (low < high) { /* the first wanted family from the present one on */
		size_t middle = low + (high - low) / 2;

		if (strcmp(scan->filter->families[middle], scan->family) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	wanted = low < scan->filter->family_count ? scan->filter->families[low] : NULL;
	if (wanted && strcmp(wanted, scan->family) == 0)
		return true;
	if (wanted) {
		scan_target(scan, scan->parts.row_end);
		ldb_key_family(&scan->target, wanted);
		if (scan->filter->qualifier_from.len > 0)
			ldb_key_qualifier(&scan->target, scan->filter->qualifier_from);
		ldb_cursor_skip(&scan->cursor, &scan->target);
	} else {
		scan_leave(scan, scan->parts.row_end);
	}
	return false;
}

static bool scan_qualifier_wanted(struct scan *scan)
{
	if (scan->filter->qualifier_to.data &&
	    wcs_slice_compare(scan->qualifier, scan->filter->qualifier_to) >= 0) {
		scan_leave(scan, scan->parts.family_end);
		return false;
	}
	if (scan->filter->qualifier_from.len == 0 ||
	    wcs_slice_compare(scan->qualifier, scan->filter->qualifier_from) >= 0)
		return true;
	scan_target(scan, scan->parts.family_end);
	ldb_key_qualifier(&scan->target, scan->filter->qualifier_from);
	ldb_cursor_skip(&scan->cursor, &scan->target);
	return false;
}

/* Older cells behind a hidden one are hidden. A cell that is too new is stepped over if the rank of
 * the cells behind it matters. */
static bool scan_version_wanted(struct scan *scan)
{
	scan->expires = wcs_view_expiry(scan->gc, scan->rank, scan->parts.ts);
	if (scan->parts.ts < scan->filter->ts_from ||
	    (scan->filter->newest && scan->given >= scan->filter->newest) ||
	    wcs_view_hides(&scan->view, scan->expires)) {
		scan_leave(scan, scan->parts.column_end);
		return false;
	}
	if (scan->parts.ts <= scan->ts_last)
		return true;
	if (scan->rank < scan->last_rank) {
		scan_leave(scan, SCAN_CELL);
		return false;
	}
	scan_target(scan, scan->parts.column_end);
	ldb_key_ts(&scan->target, scan->ts_last);
	ldb_cursor_skip(&scan->cursor, &scan->target);
	return false;
}

/* Goes back to the row before the present one. 1: there; 0: the end; or an error. */
static int scan_back(struct scan *scan)
{
	int rc;

	if (scan->column.len > 0)
		scan_target(scan, scan->parts.row_end);
	do
		rc = ldb_cursor_back(&scan->cursor, &scan->target, &scan->end);
	while (rc == 0 && scan_next_range(scan));
	scan->row_left = false;
	scan->column.len = 0;
	return rc;
}

/* Goes on in the next range. 1: there; 0: the end. */
static int scan_forward(struct scan *scan)
{
	if (!scan_next_range(scan))
		return 0;
	if (ldb_cursor_before(&scan->cursor, &scan->target))
		ldb_cursor_skip_row(&scan->cursor, &scan->target);
	return 1;
}

/* Finds the next key of the ranges, and the first part in which it differs from the present column:
 * the cursor's key, unless a range ends there, or in reverse order a row. 1: there; 0: the end; or
 * an error. */
static int scan_key(struct scan *scan, const unsigned char **key, size_t *len,
		    enum wcs_part *differs)
{
	int rc;

	do {
		*key = scan->row_left ? NULL : ldb_cursor_key(&scan->cursor, len);
		*differs = *key ? scan_differs(scan, *key, *len) : WCS_PART_ROW;
		if (*differs != WCS_PART_ROW)
			return 1;
		if (*key && (scan->filter->reverse ? scan->column.len == 0
						   : ldb_key_compare(*key, *len, &scan->end) < 0))
			return 1;
		rc = scan->filter->reverse ? scan_back(scan) : *key ? scan_forward(scan) : 0;
	} while (rc > 0);
	return rc;
}

/* Moves to the next cell that passes the filter. 1: there; 0: the end; or an error. */
static int scan_find(struct scan *scan)
{
	const struct wcs_options *options = scan->db->options;
	const unsigned char *key;
	enum wcs_part differs;
	size_t len;
	int rc;

	while ((rc = scan_key(scan, &key, &len, &differs)) > 0) {
		rc = 0;
		if (differs < scan->differs)
			scan->differs = differs;
		if (differs < WCS_PART_TS)
			rc = scan_enter_column(scan, key, len, differs);
		else if (ldb_key_split_ts(key, len, scan->parts.column_end, &scan->parts.ts))
			rc = ldb_db_damaged(scan->db, "a cell's key");
		else if (scan->rank < scan->last_rank)
			scan->rank++;
		if (!rc && ++scan->passed % SCAN_ASKS == 0 && wcs_interrupted(options))
			rc = -EINTR;
		if (rc)
			return rc;
		if (scan_family_wanted(scan) && scan_qualifier_wanted(scan) &&
		    scan_version_wanted(scan))
			return 1;
	}
	return rc;
}

/* The bytes whose keys to skip for the next cell. */
static size_t scan_leaves(const struct scan *scan, enum wcs_each each)
{
	const size_t leave[] = {[WCS_EACH_CELL] = SCAN_CELL,
				[WCS_EACH_COLUMN] = scan->parts.column_end,
				[WCS_EACH_FAMILY] = scan->parts.family_end,
				[WCS_EACH_ROW] = scan->parts.row_end};

	return leave[each];
}

static void scan_give(struct scan *scan, struct wcs_cell *cell)
{
	const struct ldb_key_parts *parts = &scan->parts;

	cell->differs = scan->differs;
	scan->differs = WCS_PART_TS;
	cell->row = (struct wcs_slice){scan->row, scan->row_len};
	cell->family = (struct wcs_slice){scan->family, parts->family_end - parts->row_end - 1};
	cell->qualifier = scan->qualifier;
	cell->info =
		(struct wcs_cell_info){parts->ts, scan->cell.size, scan->cell.etag, scan->expires};
	cell->value =
		(struct wcs_slice){scan->cell.data, scan->cell.id ? 0 : (size_t)scan->cell.size};
	scan->given++;
	scan->read += cell->value.len;
	scan->at_cell = true;
	scan->leave = scan_leaves(scan, scan->filter->each);
	if (scan->filter->each == WCS_EACH_CELL && scan->filter->newest &&
	    scan->given >= scan->filter->newest)
		scan->leave = parts->column_end;
}

static int ldb_scan_next(struct wcs_scan *base, struct wcs_cell *cell)
{
	struct scan *scan = (struct scan *)base;
	int rc = 0;

	if (scan->state <= 0)
		return scan->state;
	scan->at_cell = false; /* the cell borrows from the iterator's position */
	scan_leave(scan, scan->leave);
	scan->state = scan_find(scan);
	rc = ldb_cursor_error(&scan->cursor);
	if (!rc && scan->state > 0)
		rc = ldb_cursor_cell(&scan->cursor, &scan->cell);
	if (rc)
		scan->state = rc;
	if (scan->state > 0)
		scan_give(scan, cell);
	return scan->state;
}

/* ---- Moving ------------------------------------------------------------------------------ */

/* Forgets the present cell, and makes the range present in which the rows from this one on are. The
 * target becomes the key from which it is read. 1: there is one; 0: there is none; or an error. */
static int scan_leave_cell(struct scan *scan, struct wcs_slice row)
{
	scan->at_cell = false;
	if (scan->state < 0)
		return scan->state;
	scan->leave = 0;
	scan->differs = WCS_PART_ROW;
	scan->column.len = 0;
	scan->row_left = scan->filter->reverse;
	return scan->state = scan_seek_range(scan, row);
}

/* Moves to the target, or in reverse order to the row before it. */
static void scan_move(struct scan *scan)
{
	if (scan->row_left)
		ldb_cursor_leave(&scan->cursor);
	else if (ldb_cursor_before(&scan->cursor, &scan->target))
		ldb_cursor_skip_row(&scan->cursor, &scan->target);
	else
		ldb_cursor_seek(&scan->cursor, &scan->target);
}

static int ldb_scan_seek(struct wcs_scan *base, struct wcs_slice row)
{
	struct scan *scan = (struct scan *)base;
	int rc = scan_leave_cell(scan, row);

	if (rc > 0)
		scan_move(scan);
	return rc < 0 ? rc : 0;
}

/* Is the target the prefix of the present row? */
static bool scan_in_row(const struct scan *scan)
{
	return scan->column.len > 0 && scan->parts.row_end == scan->target.len &&
	       memcmp(scan->column.data, scan->target.data, scan->target.len) == 0;
}

/* Moves to the target, or to the row before it if its row ends there. */
static void scan_enter_back(struct scan *scan, size_t row_end, bool in_row)
{
	if (!in_row || !ldb_cursor_rewind(&scan->cursor, &scan->target))
		ldb_cursor_seek(&scan->cursor, &scan->target);
	scan->target.len = row_end;
	scan->row_left = !ldb_cursor_within(&scan->cursor, &scan->target);
}

static int ldb_scan_enter(struct wcs_scan *base, struct wcs_slice row, const char *family,
			  struct wcs_slice qualifier)
{
	struct scan *scan = (struct scan *)base;
	unsigned char past[WCS_ROW_KEY_MAX + 1];
	struct wcs_slice behind = {past, row.len + 1};
	const struct wcs_range *range;
	bool in_row;
	size_t row_end;
	int rc;

	ldb_key_row(&scan->target, scan->table, row);
	in_row = scan_in_row(scan);
	memcpy(past, row.data, row.len);
	past[row.len] = 0;
	rc = scan_leave_cell(scan, scan->filter->reverse ? behind : row);
	if (rc <= 0)
		return rc;
	range = &scan->ranges[scan->range];
	if (wcs_slice_compare(row, range->start) < 0 ||
	    (range->end.data && wcs_slice_compare(row, range->end) >= 0)) {
		scan_move(scan);
		return 0;
	}
	ldb_key_row(&scan->target, scan->table, row);
	row_end = scan->target.len;
	if (family) {
		ldb_key_family(&scan->target, family);
		ldb_key_qualifier(&scan->target, qualifier);
	}
	if (scan->filter->reverse)
		scan_enter_back(scan, row_end, in_row);
	else
		scan_move(scan);
	return 0;
}

static void ldb_scan_skip(struct wcs_scan *base, enum wcs_part part)
{
	struct scan *scan = (struct scan *)base;

	if (scan->at_cell && part < WCS_PART_TS)
		scan->leave = scan_leaves(scan, (enum wcs_each)(WCS_EACH_ROW - part));
}

static int ldb_scan_read(struct wcs_scan *base, void *buf, size_t len, uint64_t offset, size_t *got)
{
	struct scan *scan = (struct scan *)base;
	int rc;

	if (!scan->at_cell)
		return -EINVAL;
	rc = ldb_extent_read(scan->db, &scan->cell, buf, len, offset, got);
	if (!rc)
		scan->read += *got;
	return rc;
}

static const struct scan_ops scan_functions = {ldb_scan_next,  ldb_scan_seek, ldb_scan_read,
					       ldb_scan_enter, ldb_scan_skip, ldb_scan_close};

/* ---- Opening ----------------------------------------------------------------------------- */

int ldb_scan_open(void *db, const struct wcs_view *view, uint32_t table,
		  const struct wcs_range *ranges, size_t range_count,
		  const struct wcs_filter *filter, struct wcs_scan **made)
{
	size_t bytes = range_count * sizeof(*ranges);
	struct scan *scan;
	int rc;

	for (size_t i = 0; i < range_count; i++)
		bytes += ranges[i].start.len + ranges[i].end.len;
	scan = malloc(sizeof(*scan) + bytes);
	if (!scan)
		return -ENOMEM;
	memset(scan, 0, offsetof(struct scan, row));
	scan->base.ops = &scan_functions;
	scan->db = db;
	scan->table = table;
	scan->differs = WCS_PART_ROW;
	scan->filter = filter;
	scan->ts_last = filter->ts_to ? filter->ts_to - 1 : INT64_MAX;
	scan->view = *view;
	scan->state = 1;
	scan->column.len = 0;
	scan_copy_ranges(scan, ranges, range_count);
	scan_set_range(scan, filter->reverse ? range_count - 1 : 0, NULL);
	ldb_reclaim_enter(scan->db, &scan->ticket);
	rc = ldb_cursor_open(&scan->cursor, scan->db,
			     !filter->reverse		       ? 0
			     : filter->each >= WCS_EACH_FAMILY ? SCAN_KEEP_FIRST
							       : SCAN_KEEP,
			     &scan->end);
	if (rc) {
		ldb_reclaim_leave(scan->db, &scan->ticket);
		free(scan);
		return rc;
	}
	scan->row_left = filter->reverse;
	if (!filter->reverse)
		ldb_cursor_seek(&scan->cursor, &scan->target);
	*made = &scan->base;
	return 0;
}
