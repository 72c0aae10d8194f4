/* SPDX-License-Identifier: MIT */
/*
 * Lists the children of a prefix P: the distinct segments S of the rows P·S and P·S·delimiter·rest,
 * in the order of the rows, by skipping from child to child with one scan, which gives the first
 * visible cell of each row. A segment stands at its first row; in reverse order at its last.
 *
 * The rows of a segment need not be adjacent. Bytes below the delimiter put rows such as ab!x
 * between the row ab and the rows ab#…. The tail of a segment S is its rows P·S·delimiter….
 *
 * Forward: a row P·S is the first of S. A row in the tail of S is the first of S unless there is a
 * row P·S. Only segments that start with S and a byte below the delimiter have rows between the
 * two: if the last segment given is one of them, a seek shows whether there is a row P·S.
 *
 * In reverse order: a row in the tail of S is the last of S, and the listing goes on before that
 * tail. A row P·S is the last of S unless S has a tail, which a seek shows in the same case.
 */
#include "store/chain/chain_private.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
	LIST_ROW_MAX = WCS_ROW_KEY_MAX + 1, /* bytes of a bound */
	LIST_NO_BYTE = -1,
};

/* The position from which the next row is looked for; behind means before in reverse order. */
enum list_from {
	LIST_HERE,  /* the scan's next row */
	LIST_ROW,   /* behind the row P·last */
	LIST_TAIL,  /* behind the tail of last */
	LIST_CHILD, /* behind the row at which last stands, which is to be found out */
};

struct wcs_list {
	struct wcs_scan *scan;
	unsigned char delimiter;
	bool reverse;
	bool closed;  /* P ends in the delimiter: the row P is the empty segment */
	bool started; /* there is a last segment */
	bool bare;    /* the row found is P·segment */
	bool probed;  /* the scan is elsewhere than at the row found */
	int state;    /* 1: under way; else the result of every further call */
	enum list_from from;
	size_t prefix_len, last_len, segment_len;
	unsigned char last[LIST_ROW_MAX];
	unsigned char segment[LIST_ROW_MAX];   /* of the row found */
	unsigned char bound[LIST_ROW_MAX + 1]; /* P, and the rest of a seek's bound */
};

int wcs_list_open(struct wcs_table *table, struct wcs_slice prefix, const struct wcs_slice *after,
		  struct wcs_chain *chain, struct wcs_list **made)
{
	const struct wcs_filter rows = {.each = WCS_EACH_ROW, .chain = chain};
	int rc = store_check_slice(prefix, WCS_ROW_KEY_MAX);
	unsigned char end[LIST_ROW_MAX];
	struct wcs_range range = {prefix, {NULL, 0}};
	struct wcs_list *list;
	size_t end_len;

	if (rc == 0 && after != NULL)
		rc = store_check_slice(*after, WCS_ROW_KEY_MAX);
	if (rc != 0)
		return rc;
	list = malloc(sizeof(*list));
	if (list == NULL)
		return -ENOMEM;
	memset(list, 0, offsetof(struct wcs_list, last));
	rc = table_enter(table);
	if (rc == 0) {
		list->delimiter = table->delimiter;
		table_leave(table);
	}
	list->reverse = chain_reversed(chain);
	list->prefix_len = prefix.len;
	if (prefix.len > 0) {
		memcpy(list->bound, prefix.data, prefix.len);
		memcpy(end, prefix.data, prefix.len);
		list->closed = list->bound[prefix.len - 1] == list->delimiter;
	}
	end_len = engine_past(end, prefix.len);
	if (end_len > 0)
		range.end = (struct wcs_slice){end, end_len};
	if (after != NULL) {
		list->started = true;
		list->from = LIST_CHILD;
		list->probed = true;
		list->last_len = after->len;
		if (after->len > 0)
			memcpy(list->last, after->data, after->len);
	}
	list->state = 1;
	if (rc == 0)
		rc = wcs_scan_open(table, &range, 1, &rows, &list->scan);
	if (rc != 0)
		free(list);
	else
		*made = list;
	return rc;
}

void wcs_list_close(struct wcs_list *list)
{
	if (list == NULL)
		return;
	wcs_scan_close(list->scan);
	free(list);
}

/* ---- Moving ------------------------------------------------------------------------------ */

/* Takes the part behind P of the scan's next row. 1: taken; 0: the end; or an error. */
static int list_take(struct wcs_list *list, struct wcs_slice *rest)
{
	struct wcs_cell cell;
	int rc = wcs_scan_next(list->scan, &cell);

	if (rc > 0)
		*rest = (struct wcs_slice){(const char *)cell.row.data + list->prefix_len,
					   cell.row.len - list->prefix_len};
	return rc;
}

/* Puts the scan at the first row from P·segment·byte on, or in reverse order at the last row before
 * it. byte LIST_NO_BYTE: there is none. */
static int list_seek(struct wcs_list *list, const unsigned char *segment, size_t len, int byte)
{
	size_t room = LIST_ROW_MAX - 1 - list->prefix_len;

	if (len > room) { /* no key has more bytes */
		len = room;
		byte = 0;
	}
	memcpy(list->bound + list->prefix_len, segment, len);
	if (byte != LIST_NO_BYTE)
		list->bound[list->prefix_len + len++] = (unsigned char)byte;
	return wcs_scan_seek(list->scan, (struct wcs_slice){list->bound, list->prefix_len + len});
}

static int list_seek_past_row(struct wcs_list *list, const unsigned char *segment, size_t len)
{
	return list_seek(list, segment, len, list->reverse ? LIST_NO_BYTE : 0);
}

static int list_seek_past_tail(struct wcs_list *list, const unsigned char *segment, size_t len)
{
	return list_seek(list, segment, len, list->delimiter + !list->reverse);
}

/* ---- The row found ----------------------------------------------------------------------- */

/* The bytes that the segment found has in common with another. */
static size_t list_common(const struct wcs_list *list, const void *bytes, size_t len)
{
	const unsigned char *other = bytes;
	size_t common = 0;

	while (common < len && common < list->segment_len && list->segment[common] == other[common])
		common++;
	return common;
}

/* Whether a row is in the tail of the segment found: 1, 0 or an error. */
static int list_has_tail(struct wcs_list *list)
{
	struct wcs_slice rest = {NULL, 0};
	size_t len = list->segment_len;
	int rc = list_seek(list, list->segment, len, list->delimiter + list->reverse);

	if (rc == 0)
		rc = list_take(list, &rest);
	return rc <= 0 ? rc
		       : rest.len > len && list_common(list, rest.data, len) == len &&
				 ((const unsigned char *)rest.data)[len] == list->delimiter;
}

/* Whether there is a row P·segment of the segment found, forward: 1, 0 or an error. */
static int list_has_row(struct wcs_list *list)
{
	struct wcs_slice rest = {NULL, 0};
	size_t len = list->segment_len;
	int rc;

	if (len == 0 && !list->closed) /* that row is P */
		return 0;
	rc = list_seek(list, list->segment, len, LIST_NO_BYTE);
	if (rc == 0)
		rc = list_take(list, &rest);
	return rc <= 0 ? rc : rest.len == len && list_common(list, rest.data, len) == len;
}

/* Whether the segment found, of a row P·segment or of one in its tail, was given for one of the
 * other kind: 1, 0 or an error. */
static int list_gave(struct wcs_list *list)
{
	size_t len = list->segment_len;

	if (!list->started || list_common(list, list->last, list->last_len) < len)
		return 0;
	if (list->last_len == len)
		return 1;
	if (list->last[len] > list->delimiter)
		return 0;
	list->probed = true;
	return list->reverse ? list_has_tail(list) : list_has_row(list);
}

/* Whether the row found is P itself, which is no empty segment. */
static bool list_is_parent(const struct wcs_list *list)
{
	return list->bare && list->segment_len == 0 && !list->closed;
}

/* Takes the scan's next row apart. 1: taken; 0: the end; or an error. */
static int list_take_segment(struct wcs_list *list)
{
	const unsigned char *delimiter;
	struct wcs_slice rest = {NULL, 0};
	int rc = list_take(list, &rest);

	if (rc <= 0)
		return rc;
	delimiter = rest.len > 0 ? memchr(rest.data, list->delimiter, rest.len) : NULL;
	list->bare = delimiter == NULL;
	list->segment_len = rest.len;
	if (delimiter != NULL)
		list->segment_len = (size_t)(delimiter - (const unsigned char *)rest.data);
	if (list->segment_len > 0)
		memcpy(list->segment, rest.data, list->segment_len);
	return 1;
}

/* ---- Going on ---------------------------------------------------------------------------- */

/* Finds the next segment by its first row, in reverse order by its last. 1: there is one; 0: the
 * end; or an error. */
static int list_find(struct wcs_list *list)
{
	int rc;

	while ((rc = list_take_segment(list)) > 0) {
		if (list_is_parent(list))
			continue;
		if (list->bare != list->reverse)
			return 1;
		rc = list_gave(list);
		if (rc <= 0)
			return rc < 0 ? rc : 1;
		if (!list->bare)
			rc = list_seek_past_tail(list, list->segment, list->segment_len);
		else if (list->probed)
			rc = list_seek_past_row(list, list->segment, list->segment_len);
		list->probed = false;
		if (rc < 0)
			break;
	}
	return rc;
}

/* Goes on behind the child `after`, which stands at its row or at its tail, if it has rows. */
static int list_pass_child(struct wcs_list *list)
{
	int tail, row = 0;

	memcpy(list->segment, list->last, list->last_len);
	list->segment_len = list->last_len;
	tail = list_has_tail(list);
	if (tail > 0 && !list->reverse)
		row = list_has_row(list);
	if (tail < 0 || row < 0)
		return tail < 0 ? tail : row;
	return tail && !row ? list_seek_past_tail(list, list->last, list->last_len)
			    : list_seek_past_row(list, list->last, list->last_len);
}

static int list_go_on(struct wcs_list *list)
{
	if (list->from == LIST_TAIL)
		return list_seek_past_tail(list, list->last, list->last_len);
	if (list->from == LIST_CHILD)
		return list_pass_child(list);
	if (list->from == LIST_ROW && list->probed)
		return list_seek_past_row(list, list->last, list->last_len);
	return 0;
}

int wcs_list_next(struct wcs_list *list, struct wcs_slice *segment)
{
	int rc;

	if (list->state <= 0)
		return list->state;
	rc = list_go_on(list);
	list->probed = false;
	if (rc == 0)
		rc = list_find(list);
	list->state = rc;
	if (rc <= 0)
		return rc;
	list->from = list->bare ? LIST_ROW : LIST_TAIL;
	memcpy(list->last, list->segment, list->segment_len);
	list->last_len = list->segment_len;
	list->started = true;
	*segment = (struct wcs_slice){list->last, list->last_len};
	store_rows_read++;
	return 1;
}

bool wcs_list_is_below(const struct wcs_list *list)
{
	return list->from == LIST_TAIL;
}
