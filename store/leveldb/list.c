/* SPDX-License-Identifier: MIT */
/*
 * Lists the children of a prefix P: the distinct segments S of the rows P·S and P·S·delimiter·rest,
 * in the order of the segments' bytes, by skipping from child to child.
 *
 * The order of the rows differs from that. Bytes below the delimiter put rows such as ab!x between
 * the row ab and the rows ab#…, so the segments ab and ab!x overlap. The tail of a segment S is its
 * rows P·S·delimiter…. Let `last` be the last segment given, and R a row found, of segment S':
 *
 * - S' <= last: R is in the tail of a segment given before. The listing goes on behind that tail.
 * - S' > last: segments between the two can have rows only behind R. Such a segment Z is a prefix
 *   of S' but not of `last`, with a byte below the delimiter next in S'; it exists if its tail has
 *   rows. The shortest such Z comes first, else S'.
 *
 * Z is at most as long as the common prefix of S' and the first row K behind all rows that start
 * with P·S': a tail of Z lies there, all keys from S' up to it start with P·Z, and K is one of
 * them. One seek to K therefore mostly shows that there is none.
 *
 * A segment found in its tail has no row between P·S and the tail, because R was the first row from
 * a position at or before P·S. The listing goes on behind the tail at once, and the common case is
 * one seek a child. If the view can hide whole rows, the listing looks into each row and tail for a
 * visible cell. The iterator is one view for the whole listing. It passes over a block that it
 * cannot read and reports it only when asked, so it is asked before each segment is given: a gap
 * must not pass for the next child.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "store/leveldb/engine.h"

enum {
	LIST_STEPS = 8,	 /* before a seek */
	LIST_RETRY = 32, /* seeks until steps are tried again, after steps did not suffice */
	LIST_SEGMENT_MAX = LDB_ROW_BOUND,
};

/* The position from which the next row is looked for. */
enum list_from {
	LIST_FIRST, /* the first row that starts with P */
	LIST_ROW,   /* behind the row P·last */
	LIST_TAIL,  /* behind the tail of last */
};

struct list {
	struct wcs_list base;
	struct ldb *db;
	leveldb_iterator_t *iter;
	unsigned char delimiter;
	bool closed; /* P ends in the delimiter: the row P is the empty segment */
	int state;   /* 1: under way; else the result of every further call */
	bool placed; /* the iterator is at the last row found */
	enum list_from from;
	unsigned seeks; /* until steps are tried again; 0: they are tried */
	bool started;	/* there is a last segment */
	size_t last_len;
	size_t segment_len;
	bool bare; /* the row found is P·segment, not of its tail */
	struct wcs_view view;
	uint32_t table;
	size_t plain_len;
	struct ldb_key prefix; /* of the keys of all rows that start with P */
	struct ldb_key target;
	unsigned char plain[LIST_SEGMENT_MAX]; /* P */
	unsigned char last[LIST_SEGMENT_MAX];
	unsigned char segment[2 * LIST_SEGMENT_MAX]; /* of the row found */
	unsigned char behind[2 * LIST_SEGMENT_MAX];  /* of the row behind all that start with it */
};

int ldb_list_open(void *db, const struct wcs_view *view, uint32_t table, struct wcs_slice prefix,
		  unsigned char delimiter, const struct wcs_slice *after, struct wcs_list **made)
{
	struct list *list = malloc(sizeof(*list));

	if (!list)
		return -ENOMEM;
	memset(list, 0, offsetof(struct list, prefix));
	list->base.backend = &wcs_backend_leveldb;
	list->db = db;
	list->view = *view;
	list->table = table;
	list->delimiter = delimiter;
	list->plain_len = prefix.len;
	if (prefix.len > 0)
		memcpy(list->plain, prefix.data, prefix.len);
	list->closed =
		prefix.len > 0 && ((const unsigned char *)prefix.data)[prefix.len - 1] == delimiter;
	ldb_key_table(&list->prefix, table);
	ldb_key_row_prefix(&list->prefix, prefix);
	list->started = after != NULL;
	if (after && after->len > 0) {
		list->last_len = after->len < LIST_SEGMENT_MAX ? after->len : LIST_SEGMENT_MAX;
		memcpy(list->last, after->data, list->last_len);
	}
	list->from = after ? LIST_ROW : LIST_FIRST;
	list->state = 1;
	list->iter = ldb_db_iterate(list->db);
	*made = &list->base;
	return 0;
}

void ldb_list_close(struct wcs_list *base)
{
	struct list *list = (struct list *)base;

	if (!list)
		return;
	leveldb_iter_destroy(list->iter);
	free(list);
}

/* ---- Moving ------------------------------------------------------------------------------ */

/* Makes target the prefix of all rows that start with P·segment. */
static void list_target(struct list *list, const unsigned char *segment, size_t len)
{
	memcpy(list->target.data, list->prefix.data, list->prefix.len);
	list->target.len = list->prefix.len;
	ldb_key_row_prefix(&list->target, (struct wcs_slice){segment, len});
}

/* Makes target the first key behind the row P·segment. */
static void list_target_past_row(struct list *list, const unsigned char *segment, size_t len)
{
	list_target(list, segment, len);
	ldb_key_close(&list->target);
	ldb_key_past(&list->target);
}

/* Makes target the first key behind the tail of P·segment. */
static void list_target_past_tail(struct list *list, const unsigned char *segment, size_t len)
{
	unsigned char past = (unsigned char)(list->delimiter + 1);

	list_target(list, segment, len);
	ldb_key_row_prefix(&list->target, (struct wcs_slice){&past, 1});
}

/* Moves forward to target: by a few steps if they sufficed for the children before. */
static void list_skip(struct list *list)
{
	if (list->seeks > 0) {
		list->seeks--;
		ldb_iter_seek(list->iter, &list->target);
	} else if (!ldb_iter_skip(list->iter, &list->target, LIST_STEPS)) {
		list->seeks = LIST_RETRY;
	}
}

/* Whether the view shows the row P·segment, or its tail (both exist). */
static int list_shows(struct list *list, size_t len, bool tail, bool *shows)
{
	unsigned char row[2 * LIST_SEGMENT_MAX];
	int64_t expires = WCS_TS_MAX;

	*shows = true;
	if (!wcs_view_hides_rows(&list->view))
		return 0;
	memcpy(row, list->plain, list->plain_len);
	memcpy(row + list->plain_len, list->segment, len);
	return ldb_read_shows(list->db, &list->view, list->table,
			      (struct wcs_slice){row, list->plain_len + len},
			      tail ? &list->delimiter : NULL, shows, &expires);
}

/* ---- The row found ----------------------------------------------------------------------- */

/* Takes the part behind P of the row under the iterator. 1: taken; 0: the row is not below P; -EIO:
 * its key is damaged. */
static int list_row(const struct list *list, unsigned char *to, size_t *taken)
{
	struct ldb_key_parts parts;
	const unsigned char *key;
	size_t len;

	if (!ldb_iter_within(list->iter, &list->prefix))
		return 0;
	key = ldb_iter_key(list->iter, &len);
	if (ldb_key_split(key, len, &parts))
		return -EIO;
	*taken = ldb_key_unescape(key + list->prefix.len, parts.row_end - 2 - list->prefix.len, to);
	return 1;
}

/* Takes the segment of the first row from the iterator on. 1: taken; 0: there is none below P. */
static int list_take(struct list *list)
{
	const unsigned char *delimiter;
	bool shown = false;
	size_t len = 0;
	int rc;

	while (!shown) {
		rc = list_row(list, list->segment, &len);
		if (rc <= 0)
			return rc ? ldb_db_damaged(list->db, "a cell's key") : 0;
		rc = list_shows(list, len, false, &shown);
		if (rc)
			return rc;
		if (!shown) {
			list_target_past_row(list, list->segment, len);
			list_skip(list);
		}
	}
	delimiter = memchr(list->segment, list->delimiter, len);
	list->bare = !delimiter;
	list->segment_len = delimiter ? (size_t)(delimiter - list->segment) : len;
	return 1;
}

/* The bytes that the segment found has in common with another. */
static size_t list_common(const struct list *list, const unsigned char *other, size_t len)
{
	size_t common = 0;

	while (common < len && common < list->segment_len && list->segment[common] == other[common])
		common++;
	return common;
}

/* The greatest possible length of a segment that comes before the one found though its rows come
 * behind. Negative: there is none, or the iterator has an error, which list_give asks for, or is at
 * a damaged key, which the listing reports when it comes there. */
static ssize_t list_longest_before(struct list *list)
{
	struct ldb_key *target = &list->target;
	size_t len;

	/* The first key behind all rows that start with P·segment. */
	list_target(list, list->segment, list->segment_len);
	while (target->data[target->len - 1] == 0xFF) /* a cell's key starts with none */
		target->len--;
	ldb_key_past(target);
	ldb_iter_seek(list->iter, target);
	list->placed = false;
	return list_row(list, list->behind, &len) > 0
		       ? (ssize_t)list_common(list, list->behind, len)
		       : -1;
}

/* Finds a segment that comes before the one found though its rows come behind. *len is its length;
 * segment_len: there is none. May move the iterator. */
static int list_find_before(struct list *list, size_t *len)
{
	size_t shortest = list->started ? list_common(list, list->last, list->last_len) + 1 : 0;
	ssize_t longest = SSIZE_MAX;
	bool shown = false;
	int rc;

	*len = list->segment_len;
	for (size_t z = shortest; z < list->segment_len; z++) {
		if (list->segment[z] >= list->delimiter)
			continue;
		if (longest == SSIZE_MAX)
			longest = list_longest_before(list);
		if (longest < 0 || z > (size_t)longest)
			break;
		list_target(list, list->segment, z);
		ldb_key_row_prefix(&list->target, (struct wcs_slice){&list->delimiter, 1});
		ldb_iter_seek(list->iter, &list->target);
		if (!ldb_iter_within(list->iter, &list->target))
			continue;
		rc = list_shows(list, z, true, &shown);
		if (rc || shown) {
			*len = z;
			return rc;
		}
	}
	return 0;
}

static int list_give(struct list *list, struct wcs_slice *segment)
{
	size_t len;
	int rc = list_find_before(list, &len);

	if (!rc)
		rc = ldb_db_iter_error(list->db, list->iter);
	if (rc)
		return rc;
	list->from = list->bare || len < list->segment_len ? LIST_ROW : LIST_TAIL;
	memcpy(list->last, list->segment, len);
	list->last_len = len;
	list->started = true;
	*segment = (struct wcs_slice){list->last, len};
	return 1;
}

/* Whether the segment found was given, or is none. Then target is where the listing goes on. */
static bool list_passed(struct list *list)
{
	struct wcs_slice found = {list->segment, list->segment_len};

	if (list->bare && list->segment_len == 0 && !list->closed) {
		list_target_past_row(list, list->segment, 0);
		return true; /* the row P itself, which is no empty segment */
	}
	if (!list->started ||
	    wcs_slice_compare(found, (struct wcs_slice){list->last, list->last_len}) > 0)
		return false;
	list_target_past_tail(list, list->segment, list->segment_len);
	return true;
}

int ldb_list_next(struct wcs_list *base, struct wcs_slice *segment)
{
	struct list *list = (struct list *)base;

	if (list->state <= 0)
		return list->state;
	if (list->from == LIST_FIRST)
		list_target(list, NULL, 0);
	else if (list->from == LIST_ROW)
		list_target_past_row(list, list->last, list->last_len);
	else
		list_target_past_tail(list, list->last, list->last_len);
	if (list->placed)
		list_skip(list);
	else
		ldb_iter_seek(list->iter, &list->target);
	list->placed = true;
	while ((list->state = list_take(list)) > 0 && list_passed(list))
		list_skip(list);
	if (list->state > 0)
		list->state = list_give(list, segment);
	else if (list->state == 0)
		list->state = ldb_db_iter_error(list->db, list->iter);
	return list->state;
}
