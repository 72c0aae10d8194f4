/* SPDX-License-Identifier: MIT */
/*
 * Lines of a feed of changes: the edit of a commit as row JSON.
 *
 *   {"key":K,"ts":T,"delete":{F:true,F:{Q:true,Q:[T,…]}},"families":{F:{Q:[{"ts":T,…}]}}}
 *
 * An edit is decided, so a line needs nothing of the row that it meets: appends, increments, merges
 * and moves are deletes and cells by then. A reader of the line merges the state of an inthll;
 * a delete of its cell beside it makes that a replacement.
 *
 * The line is made while the row is locked. A large value is only opened then, and has its place in
 * the text; a reader spells it there.
 */
#include "store/engine/engine.h"
#include "store/resolve/change.h"
#include "store/resolve/feed_line.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/grow.h"

enum { FEED_ROOM = 512 };    /* of a line, at first */
#define FEED_MAX (64u << 20) /* bytes of a line, without its large values */

struct feed {
	const struct wcs_table *table;
	const struct wcs_edit *edit;
	struct wcs_slice row; /* without salt */
	struct wcs_change *change;
	struct wcs_row_writer writer;
};

/* Makes room behind the text for what the writer writes next. */
static int feed_room(struct feed *feed, size_t most)
{
	struct wcs_text *text = &feed->change->text;
	int rc = text->len > FEED_MAX
			 ? -EFBIG
			 : grow(&text->bytes, &text->room, text->len + most, FEED_ROOM, 1);

	if (rc == 0)
		wcs_row_write_to(&feed->writer, (unsigned char *)text->bytes + text->len);
	return rc;
}

static void feed_took(struct feed *feed)
{
	struct wcs_text *text = &feed->change->text;

	text->len = (size_t)(feed->writer.to - (unsigned char *)text->bytes);
}

static int feed_print(struct feed *feed, const char *format, const char *family, int64_t ts)
{
	struct wcs_text *text = &feed->change->text;
	int rc = feed_room(feed, WCS_FAMILY_NAME_MAX + 64);

	if (rc == 0)
		text->len += (size_t)snprintf(text->bytes + text->len, text->room - text->len,
					      format, family, (long long)ts);
	return rc;
}

static enum wcs_type feed_type(const struct feed *feed, const char *family)
{
	const struct table_family *known = family_of(feed->table, family);

	return known != NULL ? known->family.type : WCS_BYTES;
}

/* ---- Deletes ----------------------------------------------------------------------------- */

/* By column, and the widest delete of a column first. */
static int feed_compare(const void *left, const void *right)
{
	const struct wcs_delete *a = left, *b = right;
	int order = strcmp(a->family, b->family);

	if (order == 0 && (a->kind == WCS_DELETE_FAMILY || b->kind == WCS_DELETE_FAMILY))
		return (int)a->kind - (int)b->kind;
	if (order == 0)
		order = wcs_slice_compare(a->qualifier, b->qualifier);
	if (order == 0)
		order = (int)a->kind - (int)b->kind;
	return order != 0 ? order : (a->ts > b->ts) - (a->ts < b->ts);
}

/* Does the next delete have the same column as *at? */
static bool feed_same(const struct wcs_delete *at, const struct wcs_delete *next)
{
	return strcmp(at->family, next->family) == 0 && next->kind != WCS_DELETE_FAMILY &&
	       wcs_slice_compare(at->qualifier, next->qualifier) == 0;
}

/* Writes the deletes of one column, from *at on; moves on to the next one. */
static int feed_column(struct feed *feed, const struct wcs_delete **at,
		       const struct wcs_delete *end)
{
	const struct wcs_delete *first = *at;
	int rc = feed_room(feed, 3 * first->qualifier.len + 16);

	if (rc == 0) {
		wcs_row_write_name(&feed->writer, first->qualifier);
		feed_took(feed);
		rc = feed_print(feed, first->kind == WCS_DELETE_COLUMN ? "%s:true" : "%s:[%lld", "",
				first->ts);
	}
	while (++*at < end && rc == 0 && feed_same(first, *at))
		if (first->kind == WCS_DELETE_CELL)
			rc = feed_print(feed, "%s,%lld", "", (*at)->ts);
	return rc == 0 && first->kind == WCS_DELETE_CELL ? feed_print(feed, "]", "", 0) : rc;
}

/* Writes the deletes, which are sorted. */
static int feed_sorted(struct feed *feed, const struct wcs_delete *at, const struct wcs_delete *end)
{
	int rc = feed_print(feed, ",\"delete\":{", "", 0);

	while (rc == 0 && at < end) {
		const char *family = at->family;
		bool whole = at->kind == WCS_DELETE_FAMILY;

		rc = feed_print(feed, whole ? "\"%s\":true" : "\"%s\":{", family, 0);
		while (rc == 0 && at < end && strcmp(at->family, family) == 0) {
			if (whole)
				at++;
			else
				rc = feed_column(feed, &at, end);
			if (rc == 0 && !whole && at < end && strcmp(at->family, family) == 0)
				rc = feed_print(feed, ",", "", 0);
		}
		if (rc == 0)
			rc = feed_print(feed, whole ? "%s" : "}%s", at < end ? "," : "", 0);
	}
	return rc == 0 ? feed_print(feed, "}", "", 0) : rc;
}

/* The deletes of the edit, and those of cells whose state is set. */
static int feed_deletes(struct feed *feed)
{
	const struct wcs_edit *edit = feed->edit;
	size_t count = edit->delete_count;
	struct wcs_delete *all;
	int rc = 0;

	if (edit->delete_row)
		return feed_print(feed, ",\"delete\":true", "", 0);
	for (size_t i = 0; i < edit->set_count; i++)
		count += feed_type(feed, edit->sets[i].family) == WCS_INTHLL;
	if (count == 0)
		return 0;
	all = malloc(count * sizeof(*all));
	if (all == NULL)
		return -ENOMEM;
	if (edit->delete_count > 0)
		memcpy(all, edit->deletes, edit->delete_count * sizeof(*all));
	count = edit->delete_count;
	for (size_t i = 0; i < edit->set_count; i++)
		if (feed_type(feed, edit->sets[i].family) == WCS_INTHLL)
			all[count++] = (struct wcs_delete){.kind = WCS_DELETE_CELL,
							   .family = edit->sets[i].family,
							   .qualifier = edit->sets[i].qualifier,
							   .ts = edit->sets[i].ts};
	qsort(all, count, sizeof(*all), feed_compare);
	rc = feed_sorted(feed, all, all + count);
	free(all);
	return rc;
}

/* ---- Cells ------------------------------------------------------------------------------- */

/* Opens the value that the set has made. */
static int feed_open(struct feed *feed, const struct wcs_set *set, struct wcs_value **value)
{
	const struct wcs_view all = {.policies = NULL};
	const struct wcs_address at = {.table = feed->table->id,
				       .row = feed->edit->row,
				       .family = set->family,
				       .qualifier = set->qualifier,
				       .ts = set->ts};
	struct wcs_cell_info info;

	return engine_cell(&feed->table->store->engine, &all, &at, &info, value);
}

/* Leaves the value to the reader of the line. */
static int feed_large(struct feed *feed, const struct wcs_set *set)
{
	struct wcs_change *change = feed->change;
	struct feed_value *entry;
	int rc = grow(&change->values, &change->value_room, change->value_count + 1, 1,
		      sizeof(*change->values));

	if (rc != 0)
		return rc;
	entry = &change->values[change->value_count];
	entry->at = change->text.len;
	atomic_init(&entry->text, WCS_TEXT_UNKNOWN);
	rc = feed_open(feed, set, &entry->value);
	if (rc != 0)
		return rc;
	change->value_count++;
	change->size += wcs_value_info(entry->value)->size;
	return 0;
}

/* Puts the whole value of the set, which has at most WCS_AGGREGATE_VALUE_MAX bytes, into bytes. */
static int feed_whole(struct feed *feed, const struct wcs_set *set, unsigned char *bytes)
{
	const struct wcs_content *content = &set->value;
	struct wcs_value *value;
	size_t len = 0, got;
	int rc;

	if (content->from != NULL) {
		rc = feed_open(feed, set, &value);
		if (rc != 0)
			return rc;
		rc = wcs_value_read(value, bytes, (size_t)content->size, 0, &got);
		wcs_value_close(value);
		return rc;
	}
	for (size_t i = 0; i < content->part_count; i++) {
		if (content->parts[i].len > 0)
			memcpy(bytes + len, content->parts[i].data, content->parts[i].len);
		len += content->parts[i].len;
	}
	return 0;
}

static int feed_value(struct feed *feed, const struct wcs_set *set, enum wcs_type type)
{
	const struct wcs_content *content = &set->value;
	unsigned char bytes[WCS_AGGREGATE_VALUE_MAX];
	struct wcs_slice value = {bytes, (size_t)content->size};
	int64_t estimate;
	int rc;

	if (type != WCS_INTHLL && content->size > WCS_VALUE_INLINE)
		return feed_large(feed, set);
	if (content->size > sizeof(bytes))
		return -EIO;
	rc = feed_whole(feed, set, bytes);
	if (rc == 0)
		rc = feed_room(feed, WCS_ROW_WRITE_VALUE(value.len) + 64);
	if (rc == 0 && type == WCS_INTHLL)
		rc = wcs_aggregate_number(type, value, &estimate) == 0 ? 0 : -EIO;
	if (rc != 0)
		return rc;
	if (type == WCS_INTHLL)
		wcs_row_write_state(&feed->writer, estimate, value);
	else
		wcs_row_write_value(&feed->writer, value, type);
	feed_took(feed);
	return 0;
}

/* Must the value be opened, and does a later write of the mutation replace its cell? To open it
 * would give the later value. */
static bool feed_is_replaced(const struct feed *feed, const struct wcs_set *set)
{
	const struct wcs_set *end = feed->edit->sets + feed->edit->set_count, *next = set + 1;

	if (set->value.size <= WCS_VALUE_INLINE && set->value.from == NULL)
		return false;
	for (; next < end && strcmp(next->family, set->family) == 0 &&
	       wcs_slice_compare(next->qualifier, set->qualifier) == 0;
	     next++)
		if (next->ts == set->ts)
			return true;
	return false;
}

static int feed_sets(struct feed *feed)
{
	const struct wcs_set *before = NULL, *set = feed->edit->sets;
	enum wcs_type type = WCS_BYTES;
	int rc = 0;

	for (size_t i = 0; i < feed->edit->set_count && rc == 0; i++, set++) {
		struct wcs_cell cell = {.differs = WCS_PART_TS,
					.row = feed->row,
					.family = {set->family, strlen(set->family)},
					.qualifier = set->qualifier,
					.info = {.ts = set->ts}};

		if (feed_is_replaced(feed, set))
			continue;
		if (before == NULL)
			cell.differs = WCS_PART_ROW;
		else if (strcmp(before->family, set->family) != 0)
			cell.differs = WCS_PART_FAMILY;
		else if (wcs_slice_compare(before->qualifier, set->qualifier) != 0)
			cell.differs = WCS_PART_QUALIFIER;
		if (cell.differs <= WCS_PART_FAMILY)
			type = feed_type(feed, set->family);
		rc = feed_room(feed, wcs_row_write_head(&feed->writer, &cell));
		if (rc == 0) {
			wcs_row_write_cell(&feed->writer, &cell, cell.differs);
			feed_took(feed);
			rc = feed_value(feed, set, type);
		}
		before = set;
	}
	return rc;
}

static int feed_line(struct feed *feed)
{
	const struct wcs_cell cell = {.row = feed->row};
	int rc = feed_room(feed, wcs_row_write_head(&feed->writer, &cell));

	if (rc != 0)
		return rc;
	wcs_row_write_open(&feed->writer, feed->row);
	feed_took(feed);
	rc = feed_print(feed, "%s,\"ts\":%lld", "", store_now(feed->table->store));
	if (rc == 0)
		rc = feed_deletes(feed);
	if (rc == 0)
		rc = feed_sets(feed);
	if (rc == 0)
		rc = feed_room(feed, 16);
	if (rc != 0)
		return rc;
	wcs_row_write_finish(&feed->writer);
	feed_took(feed);
	return 0;
}

/* Room is made for the longest spelling of a value. */
static void feed_shrink(struct wcs_text *text)
{
	char *bytes = realloc(text->bytes, text->len);

	if (bytes == NULL)
		return;
	text->bytes = bytes;
	text->room = text->len;
}

void feed_tell(const struct wcs_table *table, struct wcs_slice row, const struct wcs_edit *edit)
{
	const struct wcs_watch *watch = atomic_load_explicit(&table->watch, memory_order_acquire);
	struct feed feed = {.table = table, .edit = edit, .row = row};

	if (watch == NULL || (!edit->delete_row && edit->delete_count + edit->set_count == 0))
		return;
	feed.writer.keys = wcs_table_keys(table);
	feed.change = feed_line_new(row);
	if (feed.change != NULL && feed_line(&feed) != 0) {
		wcs_change_free(feed.change);
		feed.change = NULL;
	}
	if (feed.change != NULL)
		feed_shrink(&feed.change->text);
	watch->changed(watch->ctx, table, feed.change);
}

void wcs_table_watch(struct wcs_table *table, const struct wcs_watch *watch)
{
	atomic_store(&table->watch, watch);
}
