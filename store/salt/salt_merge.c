/* SPDX-License-Identifier: MIT */
/*
 * The scan of several buckets: one scan of the engine over all of them, whose rows are merged in
 * the order of their keys.
 *
 * - The engine's scan is at one place at a time. Each bucket therefore has a buffer of rows that
 *   were copied ahead (salt_buffer.h), filled by one seek and a run of steps. A buffer takes a few
 *   rows at first, one behind a seek, and twice as many each time it is filled again.
 * - A heap has the buckets by the key of their next row; its root is the bucket whose row is being
 *   given.
 * - A row that does not fit into a buffer is cut there, and a large value is not in it. Where the
 *   caller wants more, the engine's scan goes to the last cell given, and the rest of the row comes
 *   from it directly.
 * - The engine's cell that ended a buffer or a row is in hand until the engine moves. It is the
 * next row of its bucket, and shows that the buckets before have none.
 * - A row without its own salt is passed over, and counted.
 *
 * "Behind" and "before" are in the scan's order.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "store/salt/salt_merge.h"

/* ---- The present row --------------------------------------------------------------------- */

/* Puts the engine's scan at the last cell that the reader took of the root's row, or before the
 * row's first, and lets the rest of the row come from it. 0 or an error. */
static int merge_rest(struct merge *merge)
{
	const struct wcs_cell *last = &merge->reader.cell;
	struct wcs_scan *of = merge->base.below;
	struct wcs_slice stored = wcs_keys_stored(merge->keys, merge_row_key(merge), merge->bytes);
	char family[WCS_FAMILY_NAME_MAX + 1];
	struct wcs_cell cell;
	int rc;

	merge->hand = false;
	merge->from = MERGE_REST;
	if (merge->reader.taken == 0)
		return of->ops->enter(of, stored, NULL, (struct wcs_slice){NULL, 0});
	memcpy(family, last->family.data, last->family.len);
	family[last->family.len] = '\0';
	rc = of->ops->enter(of, stored, family, last->qualifier);
	while (rc == 0) {
		rc = merge_step(merge, &cell);
		if (rc <= 0 || wcs_slice_compare(cell.row, stored) != 0 ||
		    cell.info.ts < last->info.ts)
			return rc < 0 ? rc : -EIO; /* rows are of one moment */
		rc = cell.info.ts > last->info.ts ? 0 : 1;
	}
	if (rc > 0 && merge->skip < WCS_PART_TS)
		of->ops->skip(of, merge->skip);
	return rc < 0 ? rc : 0;
}

/* The next cell of the present row from its buffer. 1: there; 0: the row ends, or the rest is the
 * engine's. */
static int merge_read_buffer(struct merge *merge, struct wcs_cell *cell)
{
	while (salt_buffer_read(merge_root(merge), &merge->reader, cell)) {
		if (cell->differs < merge->differs)
			merge->differs = cell->differs;
		if (merge->skip < WCS_PART_TS && merge->differs > merge->skip)
			continue;
		return 1;
	}
	return 0;
}

/* The same from the engine: 1, 0 or an error. */
static int merge_read_engine(struct merge *merge, struct wcs_cell *cell)
{
	size_t place = merge->place;
	int rc = merge_step(merge, cell);

	if (rc < 0)
		return rc;
	if (rc == 0 || wcs_slice_compare(salt_stripped(cell->row), merge_row_key(merge)) != 0 ||
	    merge->place_of[salt_bucket(cell->row)] != place) {
		merge_take(merge, place, rc > 0 ? cell : NULL);
		return 0;
	}
	if (cell->differs < merge->differs)
		merge->differs = cell->differs;
	cell->row = salt_stripped(cell->row);
	return 1;
}

/* The next cell of the present row: 1, 0 or an error. */
static int merge_read(struct merge *merge, struct wcs_cell *cell)
{
	int rc = 0;

	if (merge->skip == WCS_PART_ROW || merge->from == MERGE_NONE)
		return 0;
	if (merge->from == MERGE_ROOT) {
		rc = merge_read_buffer(merge, cell);
		if (rc > 0 || !merge_root(merge)->cut)
			return rc;
		rc = merge_rest(merge);
	}
	return rc == 0 ? merge_read_engine(merge, cell) : rc;
}

static void merge_set_row(struct merge *merge, enum merge_row from, size_t place,
			  struct wcs_slice row)
{
	merge->from = from;
	merge->place = place;
	merge->positioned = true;
	merge->passed = false;
	merge->row_len = row.len;
	memcpy(merge->row, row.data, row.len);
	merge->skip = WCS_PART_TS;
	merge->differs = WCS_PART_ROW;
}

/* Moves to the row that was entered. 1: *cell is its first; 0: it has none; or an error. */
static int merge_enter_row(struct merge *merge, struct wcs_cell *cell)
{
	struct wcs_slice row = {merge->enter, merge->enter_len}, stored;
	unsigned int number = wcs_keys_bucket(merge->keys, row);
	size_t place = merge->place_of[number];
	int rc;

	merge->entering = false;
	if (place == merge->count || merge->buckets[place].state == MERGE_EMPTY)
		return 0;
	stored = wcs_keys_stored(merge->keys, row, merge->bytes);
	merge->hand = false;
	rc = merge->base.below->ops->enter(merge->base.below, stored,
					   merge->family[0] != '\0' ? merge->family : NULL,
					   merge->column);
	if (rc == 0)
		rc = merge_step(merge, cell);
	if (rc <= 0 || wcs_slice_compare(cell->row, stored) != 0)
		return rc < 0 ? rc : 0;
	merge_set_row(merge, MERGE_ALONE, place, row);
	return 1;
}

/* Makes the last target the position. */
static void merge_set_position(struct merge *merge)
{
	merge->row_len = merge->target_len;
	memcpy(merge->row, merge->target, merge->target_len);
}

/* Moves to the next row. 1: there; 0: the end; or an error. */
static int merge_next_row(struct merge *merge)
{
	int rc = 0;

	if (merge->from == MERGE_ROOT || merge->from == MERGE_REST) {
		merge->passed = true;
		rc = merge_advance(merge);
	} else if (merge->from == MERGE_ALONE) {
		merge_set_position(merge);
	}
	merge->from = MERGE_NONE;
	if (rc == 0 && merge->unknown)
		rc = merge_make_heap(merge);
	if (rc != 0 || merge->heap_count == 0)
		return rc;
	merge_set_row(merge, MERGE_ROOT, merge->heap[0], merge_root(merge)->row);
	salt_buffer_start(merge_root(merge), &merge->reader);
	return 1;
}

static int merge_find(struct merge *merge, struct wcs_cell *cell)
{
	int rc = merge->entering ? merge_enter_row(merge, cell) : 0;

	while (rc == 0) {
		rc = merge_read(merge, cell);
		if (rc != 0)
			break;
		rc = merge_next_row(merge);
		if (rc <= 0)
			return rc;
		rc = 0;
	}
	return rc;
}

static int merge_next(struct wcs_scan *base, struct wcs_cell *cell)
{
	struct merge *merge = (struct merge *)base;

	if (merge->state <= 0)
		return merge->state;
	merge->given = false;
	merge->state = merge_find(merge, cell);
	if (merge->state <= 0)
		return merge->state;
	cell->row = merge_row_key(merge);
	cell->differs = merge->differs;
	merge->differs = merge->skip = WCS_PART_TS;
	merge->cell = *cell;
	merge->given = true;
	return 1;
}

/* ---- Moving ------------------------------------------------------------------------------ */

/* Moves a bucket to the target. ahead: its rows from there on come behind its present row. */
static void bucket_seek(const struct merge *merge, struct merge_bucket *bucket,
			struct wcs_slice target, bool ahead)
{
	bool there = bucket->state == MERGE_READY && ahead;

	if (bucket->state == MERGE_EMPTY || (bucket->state == MERGE_DONE && ahead))
		return;
	while (there && merge_passes(merge, bucket->buffer.row, target))
		there = salt_buffer_next(&bucket->buffer);
	if (there)
		return;
	if (bucket->state == MERGE_READY && ahead && bucket->last) {
		bucket->state = MERGE_DONE;
		return;
	}
	bucket->state = MERGE_UNKNOWN;
	bucket->rows = 1;
}

/* Moves all buckets to the target. */
static void merge_move(struct merge *merge, struct wcs_slice target)
{
	bool ahead;

	if (merge->from == MERGE_ALONE)
		merge_set_position(merge);
	ahead = !merge->positioned ||
		merge_compare(merge, target, merge_row_key(merge)) >= merge->passed;
	for (size_t place = 0; place < merge->count; place++)
		bucket_seek(merge, &merge->buckets[place], target, ahead);
	merge->hand = merge->hand && ahead;
	merge->from = MERGE_NONE;
	merge->given = merge->entering = merge->passed = false;
	merge->unknown = merge->placed = merge->positioned = true;
	merge->skip = WCS_PART_TS;
	merge->differs = WCS_PART_ROW;
	merge->target_len = target.len;
	if (target.len > 0)
		memmove(merge->target, target.data, target.len);
	merge_set_position(merge);
	if (merge->state == 0)
		merge->state = 1;
}

static int merge_seek(struct wcs_scan *base, struct wcs_slice row)
{
	struct merge *merge = (struct merge *)base;

	if (merge->state < 0)
		return merge->state;
	merge_move(merge, row);
	return 0;
}

/* Enters the present row, whose cells are in the buffer or come from the engine. 1: done; 0: it
 * cannot be; or an error. */
static int merge_enter_present(struct merge *merge, const char *family, struct wcs_slice qualifier)
{
	struct wcs_slice stored, name = {family, family != NULL ? strlen(family) : 0};
	bool found = true;
	int rc;

	merge->given = false;
	merge->differs = WCS_PART_ROW;
	if (merge->from == MERGE_ROOT && family == NULL)
		salt_buffer_start(merge_root(merge), &merge->reader);
	else if (merge->from == MERGE_ROOT)
		found = salt_buffer_enter(merge_root(merge), &merge->reader, name, qualifier);
	if (!found && merge_root(merge)->cut)
		return 0;
	merge->skip = found ? WCS_PART_TS : WCS_PART_ROW;
	if (merge->from == MERGE_ROOT)
		return 1;
	stored = wcs_keys_stored(merge->keys, merge_row_key(merge), merge->bytes);
	merge->hand = false;
	rc = merge->base.below->ops->enter(merge->base.below, stored, family, qualifier);
	return rc < 0 ? rc : 1;
}

static int merge_enter(struct wcs_scan *base, struct wcs_slice row, const char *family,
		       struct wcs_slice qualifier)
{
	struct merge *merge = (struct merge *)base;
	struct wcs_slice behind = {merge->bytes, row.len};
	int rc = merge->state;

	if (rc < 0)
		return rc;
	if (row.len > wcs_keys_row_max(merge->keys)) /* there is no such row */
		return merge_seek(base, row);
	if (merge->from != MERGE_NONE && rc > 0 &&
	    wcs_slice_compare(row, merge_row_key(merge)) == 0) {
		rc = merge_enter_present(merge, family, qualifier);
		if (rc != 0)
			return rc < 0 ? rc : 0;
	}
	merge->enter_len = row.len;
	memmove(merge->enter, row.data, row.len);
	merge->family[0] = '\0';
	merge->column = (struct wcs_slice){merge->qualifier, 0};
	if (family != NULL) {
		memmove(merge->family, family, strlen(family) + 1);
		merge->column.len = qualifier.len;
		if (qualifier.len > 0)
			memmove(merge->qualifier, qualifier.data, qualifier.len);
	}
	memcpy(merge->bytes, merge->enter, row.len);
	if (!merge->reverse)
		merge->bytes[behind.len++] = '\0';
	merge_move(merge, behind);
	merge->entering = true;
	return 0;
}

static void merge_skip(struct wcs_scan *base, enum wcs_part part)
{
	struct merge *merge = (struct merge *)base;

	if (!merge->given)
		return;
	if (merge->from == MERGE_ROOT || part == WCS_PART_ROW)
		merge->skip = part < merge->skip ? part : merge->skip;
	else
		merge->base.below->ops->skip(merge->base.below, part);
}

static int merge_read_value(struct wcs_scan *base, void *buf, size_t len, uint64_t offset,
			    size_t *got)
{
	struct merge *merge = (struct merge *)base;
	struct wcs_slice value = merge->cell.value;
	int rc = 0;

	if (!merge->given)
		return -EINVAL;
	if (merge->from == MERGE_ROOT && merge->cell.info.size > WCS_VALUE_INLINE)
		rc = merge_rest(merge);
	if (rc != 0)
		return rc;
	if (merge->from != MERGE_ROOT)
		return merge->base.below->ops->read(merge->base.below, buf, len, offset, got);
	*got = 0;
	if (offset < value.len)
		*got = len < value.len - (size_t)offset ? len : value.len - (size_t)offset;
	if (*got > 0)
		memcpy(buf, (const unsigned char *)value.data + offset, *got);
	return 0;
}

/* ---- Opening ----------------------------------------------------------------------------- */

static void merge_close(struct wcs_scan *base)
{
	struct merge *merge = (struct merge *)base;

	for (size_t place = 0; place < merge->count; place++)
		salt_buffer_free(&merge->buckets[place].buffer);
	scan_pass_close(base);
}

static const struct scan_ops merge_ops = {merge_next,  merge_seek, merge_read_value,
					  merge_enter, merge_skip, merge_close};

static void merge_init(struct merge *merge, const struct salt_ranges *ranges)
{
	size_t room = MERGE_MEMORY / ranges->bucket_count;

	merge->count = ranges->bucket_count;
	for (size_t i = 0; i < WCS_KEYS_BUCKETS_MAX; i++)
		merge->place_of[i] = merge->count;
	for (size_t i = 0; i < merge->count; i++) {
		size_t place = merge->reverse ? merge->count - 1 - i : i;

		merge->buckets[place] = (struct merge_bucket){
			.number = ranges->buckets[i],
			.rows = merge->each == WCS_EACH_CELL ? MERGE_FIRST : 1,
			.buffer.most = room < MERGE_BUFFER ? room : MERGE_BUFFER};
		merge->place_of[ranges->buckets[i]] = place;
	}
}

int salt_merge(const struct wcs_engine *engine, const struct wcs_keys *keys,
	       const struct wcs_view *view, uint32_t table, const struct salt_ranges *ranges,
	       const struct wcs_filter *filter, struct wcs_scan **made)
{
	struct merge *merge =
		malloc(sizeof(*merge) + ranges->bucket_count * sizeof(*merge->buckets));
	int rc;

	if (merge == NULL)
		return -ENOMEM;
	memset(merge, 0, offsetof(struct merge, row));
	merge->base.ops = &merge_ops;
	merge->keys = keys;
	merge->wrong_salt = engine->wrong_salt;
	merge->each = filter->each;
	merge->reverse = filter->reverse;
	merge->state = 1;
	merge->unknown = true;
	merge->skip = WCS_PART_TS;
	merge_init(merge, ranges);
	rc = engine_scan(engine, view, table, ranges->ranges, ranges->count, filter,
			 &merge->base.below);
	if (rc != 0)
		merge_close(&merge->base);
	else
		*made = &merge->base;
	return rc;
}
