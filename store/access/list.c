/* SPDX-License-Identifier: MIT */
/*
 * Lists the children of a prefix P: the distinct segments S of the rows P·S and P·S·delimiter·rest,
 * in the order of the rows, by skipping from child to child with one scan, which gives the first
 * visible cell of each row. A segment stands at its first row; in reverse order at its last.
 *
 * The rows of a segment need not be adjacent. Bytes below the delimiter put rows such as ab!x
 * between the row ab and the rows ab#…. The tail of a segment S is its rows P·S·delimiter…, so S
 * has up to two places, its row and its tail, and stands at the first that the listing meets. Only
 * segments that start with S are between the two. The list therefore remembers which beginnings of
 * the last segment were given at their first place, and passes over their second one. It does not
 * ask the store, whose rows may have changed since.
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
	LIST_HERE, /* the scan's next row */
	LIST_ROW,  /* behind the row P·last */
	LIST_TAIL, /* behind the tail of last */
};

struct wcs_list {
	struct wcs_scan *scan;
	unsigned char delimiter;
	bool reverse;
	bool closed; /* P ends in the delimiter: the row P is the empty segment */
	bool bare;   /* the row found is P·segment */
	bool found;  /* there is a row found */
	int state;   /* 1: under way; else the result of every further call */
	enum list_from from;
	size_t prefix_len, last_len, segment_len, given_count;
	unsigned char last[LIST_ROW_MAX];      /* the last segment given before the one found */
	unsigned char segment[LIST_ROW_MAX];   /* of the row found */
	unsigned char bound[LIST_ROW_MAX + 1]; /* P, and the rest of a seek's bound */
	/* The lengths of the beginnings of `last` (up to itself) that are segments given at their
	 * first place; ascending. */
	uint16_t given[LIST_ROW_MAX];
};

/* ---- The segments given ------------------------------------------------------------------ */

/* The number of `given` that are beginnings of that segment, too. */
static size_t list_beginnings(const struct wcs_list *list, struct wcs_slice segment)
{
	const unsigned char *bytes = segment.data;
	size_t count = list->given_count, common = 0;

	while (count > 0 && common < segment.len && common < list->last_len &&
	       bytes[common] == list->last[common])
		common++;
	while (count > 0 && list->given[count - 1] > common)
		count--;
	return count;
}

/* Was the segment, of which the second place was found, given at its first one? */
static bool list_was_given(const struct wcs_list *list, struct wcs_slice segment)
{
	size_t count = list_beginnings(list, segment);

	return count > 0 && list->given[count - 1] == segment.len;
}

/* The segment was given. Any number of calls for one segment do what the first does. */
static void list_record(struct wcs_list *list, struct wcs_slice segment, bool first)
{
	size_t count = list_beginnings(list, segment);

	if (first && (count == 0 || list->given[count - 1] < segment.len))
		list->given[count++] = (uint16_t)segment.len;
	if (segment.len > 0)
		memcpy(list->last, segment.data, segment.len);
	list->last_len = segment.len;
	list->given_count = count;
}

/* Begins behind a child that another list gave. */
static void list_resume(struct wcs_list *list, const struct wcs_list_child *after)
{
	size_t len = after->segment.len;

	list->given_count = after->given.len / sizeof(*list->given);
	if (list->given_count > 0)
		memcpy(list->given, after->given.data, after->given.len);
	list->last_len = len;
	if (len > 0)
		memcpy(list->last, after->segment.data, len);
	list_record(list, after->segment, after->below == list->reverse);
	list->from = after->below ? LIST_TAIL : LIST_ROW;
}

void wcs_list_gave(struct wcs_list *list, struct wcs_slice segment)
{
	list_record(list, segment, !list->reverse);
}

struct wcs_slice wcs_list_given(const struct wcs_list *list, struct wcs_slice segment)
{
	return (struct wcs_slice){list->given,
				  list_beginnings(list, segment) * sizeof(*list->given)};
}

/* ---- Opening ----------------------------------------------------------------------------- */

int wcs_list_open(struct wcs_table *table, struct wcs_slice prefix,
		  const struct wcs_list_child *after, struct wcs_chain *chain,
		  struct wcs_list **made)
{
	const struct wcs_filter rows = {.each = WCS_EACH_ROW, .chain = chain};
	int rc = store_check_slice(prefix, WCS_ROW_KEY_MAX);
	unsigned char end[LIST_ROW_MAX];
	struct wcs_range range = {prefix, {NULL, 0}};
	struct wcs_list *list;
	size_t end_len;

	if (rc == 0 && after != NULL)
		rc = store_check_slice(after->segment, WCS_ROW_KEY_MAX);
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
	if (after != NULL)
		list_resume(list, after);
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

static int list_seek_past_tail(struct wcs_list *list, const unsigned char *segment, size_t len)
{
	return list_seek(list, segment, len, list->delimiter + !list->reverse);
}

/* ---- The row found ----------------------------------------------------------------------- */

/* Takes the scan's next row apart. 1: taken; 0: the end; or an error. */
static int list_take_segment(struct wcs_list *list)
{
	const unsigned char *delimiter;
	struct wcs_slice rest; /* of the row's key, behind P */
	struct wcs_cell cell;
	int rc = wcs_scan_next(list->scan, &cell);

	if (rc <= 0)
		return rc;
	rest = (struct wcs_slice){(const char *)cell.row.data + list->prefix_len,
				  cell.row.len - list->prefix_len};
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

/* Finds the next segment at its first place. 1: there is one; 0: the end; or an error. */
static int list_find(struct wcs_list *list)
{
	int rc;

	while ((rc = list_take_segment(list)) > 0) {
		struct wcs_slice segment = {list->segment, list->segment_len};

		if (list->bare && segment.len == 0 && !list->closed)
			continue; /* P itself, which is no empty segment */
		if (list->bare != list->reverse || !list_was_given(list, segment))
			return 1;
		if (!list->bare)
			rc = list_seek_past_tail(list, segment.data, segment.len);
		if (rc < 0)
			break;
	}
	return rc;
}

static int list_go_on(struct wcs_list *list)
{
	if (list->from == LIST_TAIL)
		return list_seek_past_tail(list, list->last, list->last_len);
	if (list->from == LIST_ROW)
		return list_seek(list, list->last, list->last_len,
				 list->reverse ? LIST_NO_BYTE : 0);
	return 0;
}

int wcs_list_next(struct wcs_list *list, struct wcs_slice *segment)
{
	int rc;

	if (list->state <= 0)
		return list->state;
	if (list->found)
		list_record(list, (struct wcs_slice){list->segment, list->segment_len},
			    list->bare != list->reverse);
	rc = list_go_on(list);
	list->from = LIST_HERE;
	if (rc == 0)
		rc = list_find(list);
	list->state = rc;
	if (rc <= 0)
		return rc;
	list->found = true;
	if (!list->bare)
		list->from = LIST_TAIL;
	*segment = (struct wcs_slice){list->segment, list->segment_len};
	store_rows_read++;
	return 1;
}

bool wcs_list_is_below(const struct wcs_list *list)
{
	return !list->bare;
}
