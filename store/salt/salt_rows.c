/* SPDX-License-Identifier: MIT */
/* The next rows of the buckets of a merge: the buffers that have them, and the heap that orders the
 * buckets: see salt_merge.c. */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "store/salt/salt_merge.h"

/* ---- The engine's scan ------------------------------------------------------------------- */

int merge_step(struct merge *merge, struct wcs_cell *cell)
{
	merge->hand = false;
	return merge->base.below->ops->next(merge->base.below, cell);
}

/* Goes to the first row of the bucket from the target on; data NULL: to its first row. */
static int rows_go(struct merge *merge, const struct merge_bucket *bucket, struct wcs_slice target)
{
	static const struct wcs_slice first = {"", 0};

	merge->hand = false;
	if (target.data == NULL && !merge->reverse)
		target = first;
	return merge->base.below->ops->seek(
		merge->base.below, salt_bound(merge->keys, bucket->number, target, merge->bytes));
}

void merge_take(struct merge *merge, size_t from, const struct wcs_cell *cell)
{
	merge->hand = true;
	merge->hand_from = from;
	merge->hand_at = merge->count;
	if (cell == NULL)
		return;
	merge->hand_cell = *cell;
	merge->hand_at = merge->place_of[salt_bucket(cell->row)];
}

/* ---- Buffers ------------------------------------------------------------------------------ */

/* Is the cell in hand the first one of the bucket from the target on? */
static bool rows_hand_is_next(const struct merge *merge, size_t place, struct wcs_slice target)
{
	return merge->hand && merge->hand_at == place &&
	       (target.data == NULL ||
		!merge_passes(merge, salt_stripped(merge->hand_cell.row), target));
}

/* Reads the first cell for a buffer. 1, 0 or an error. */
static int rows_begin(struct merge *merge, size_t place, struct wcs_slice target,
		      struct wcs_cell *cell)
{
	int rc;

	if (rows_hand_is_next(merge, place, target)) {
		*cell = merge->hand_cell;
		cell->differs = WCS_PART_ROW;
		return 1;
	}
	rc = rows_go(merge, &merge->buckets[place], target);
	return rc == 0 ? merge_step(merge, cell) : rc;
}

/* Begins a row of the buffer, or passes over it. False: the buffer has enough rows. */
static bool rows_begin_row(struct merge *merge, struct merge_bucket *bucket,
			   const struct wcs_cell *cell, bool *passed)
{
	if (bucket->buffer.rows >= bucket->rows)
		return false;
	*passed = !salt_is_right(merge->keys, cell->row);
	if (!*passed)
		return salt_buffer_row(&bucket->buffer, salt_stripped(cell->row));
	atomic_fetch_add_explicit(merge->wrong_salt, 1, memory_order_relaxed);
	merge->base.below->ops->skip(merge->base.below, WCS_PART_ROW);
	return true;
}

/* Copies rows into the buffer, from the engine's cell on, until it has enough or the bucket ends. 0
 * or an error. */
static int rows_copy(struct merge *merge, size_t place, int rc, struct wcs_cell *cell)
{
	struct merge_bucket *bucket = &merge->buckets[place];
	bool passed = false;

	for (; rc > 0; rc = merge_step(merge, cell)) {
		if (merge->place_of[salt_bucket(cell->row)] != place)
			break;
		if (cell->differs == WCS_PART_ROW) {
			salt_buffer_end_row(&bucket->buffer);
			if (!rows_begin_row(merge, bucket, cell, &passed))
				return 0;
		}
		if (passed)
			continue;
		if (!salt_buffer_cell(&bucket->buffer, cell))
			return 0;
		if (merge->each == WCS_EACH_ROW && bucket->buffer.rows + 1 >= bucket->rows) {
			salt_buffer_end_row(&bucket->buffer);
			return 0;
		}
	}
	salt_buffer_end_row(&bucket->buffer);
	bucket->last = rc >= 0;
	if (rc >= 0)
		merge_take(merge, place, rc > 0 ? cell : NULL);
	return rc < 0 ? rc : 0;
}

/* Fills the bucket's buffer with the rows from the target on (data NULL: from the first). 0 or an
 * error. */
static int rows_fill(struct merge *merge, size_t place, struct wcs_slice target)
{
	struct merge_bucket *bucket = &merge->buckets[place];
	struct wcs_cell cell;
	int rc;

	if (merge->hand && merge->hand_from <= place && place < merge->hand_at) {
		bucket->state = merge->hand_from < place ? MERGE_EMPTY : MERGE_DONE;
		return 0;
	}
	rc = rows_begin(merge, place, target, &cell);
	salt_buffer_clear(&bucket->buffer);
	bucket->last = false;
	rc = rows_copy(merge, place, rc, &cell);
	if (rc != 0 || bucket->buffer.failed)
		return rc != 0 ? rc : -ENOMEM;
	if (bucket->rows < MERGE_ROWS)
		bucket->rows *= 2;
	bucket->state = salt_buffer_next(&bucket->buffer) ? MERGE_READY
			: target.data == NULL		  ? MERGE_EMPTY
							  : MERGE_DONE;
	return 0;
}

/* Fills the buffer of a bucket whose rows are used up. */
static int rows_fill_used(struct merge *merge, size_t place)
{
	struct salt_buffer *buffer = &merge->buckets[place].buffer;
	unsigned char bytes[MERGE_BOUND];
	struct wcs_slice target = salt_buffer_last(buffer);

	memcpy(bytes, target.data, target.len);
	target.data = bytes;
	if (!merge->reverse)
		bytes[target.len++] = '\0';
	return rows_fill(merge, place, target);
}

/* ---- The heap ---------------------------------------------------------------------------- */

static bool rows_less(const struct merge *merge, size_t a, size_t b)
{
	return merge_compare(merge, merge->buckets[a].buffer.row, merge->buckets[b].buffer.row) < 0;
}

static void rows_sink(struct merge *merge, size_t at)
{
	unsigned short moved = merge->heap[at];
	size_t below;

	while ((below = 2 * at + 1) < merge->heap_count) {
		if (below + 1 < merge->heap_count &&
		    rows_less(merge, merge->heap[below + 1], merge->heap[below]))
			below++;
		if (!rows_less(merge, merge->heap[below], moved))
			break;
		merge->heap[at] = merge->heap[below];
		at = below;
	}
	merge->heap[at] = moved;
}

int merge_make_heap(struct merge *merge)
{
	struct wcs_slice target = {merge->placed ? merge->target : NULL, merge->target_len};
	int rc = 0;

	merge->heap_count = 0;
	for (size_t place = 0; place < merge->count && rc == 0; place++) {
		struct merge_bucket *bucket = &merge->buckets[place];

		if (bucket->state == MERGE_UNKNOWN)
			rc = rows_fill(merge, place, target);
		if (bucket->state == MERGE_READY)
			merge->heap[merge->heap_count++] = (unsigned short)place;
	}
	for (size_t at = merge->heap_count / 2; at-- > 0 && rc == 0;)
		rows_sink(merge, at);
	merge->unknown = rc != 0;
	return rc;
}

int merge_advance(struct merge *merge)
{
	size_t place = merge->heap[0];
	struct merge_bucket *bucket = &merge->buckets[place];
	int rc = 0;

	if (!salt_buffer_next(&bucket->buffer)) {
		bucket->state = MERGE_DONE;
		if (!bucket->last)
			rc = rows_fill_used(merge, place);
	}
	if (rc == 0 && bucket->state != MERGE_READY && --merge->heap_count > 0)
		merge->heap[0] = merge->heap[merge->heap_count];
	if (rc == 0 && merge->heap_count > 0)
		rows_sink(merge, 0);
	return rc;
}
