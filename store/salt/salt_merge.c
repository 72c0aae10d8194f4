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
 * - The last row of a buffer is cut where the buffer ends, and a large value is not in it. If the
 *   caller wants more, the engine's scan goes to the last cell given, and the rest of the row comes
 *   from it directly.
 * - A row without its own salt is passed over, and counted.
 *
 * A scan of the engine for each bucket would copy nothing. 256 of them take five times as long for
 * a directory of 100 rows, and 4.5 MiB of memory.
 *
 * "Behind" and "before" are in the scan's order.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "store/salt/salt_buffer.h"

enum {
	MERGE_MEMORY = 2 << 20,	 /* bytes of all buffers */
	MERGE_BUFFER = 64 << 10, /* bytes of one, at most */
	MERGE_FIRST = 8,	 /* rows of the first one, of a scan that reads whole rows */
	MERGE_ROWS = 1 << 16,	 /* of one, at most */
	MERGE_BOUND = WCS_ROW_KEY_MAX + 1,
};

struct merge_bucket {
	bool known;	   /* the buffer has the bucket's next row, unless there is none */
	bool last;	   /* no row is behind those of the buffer */
	bool cut;	   /* the buffer's last row lacks cells */
	unsigned int rows; /* that the buffer takes next time */
	struct salt_buffer buffer;
};

struct merge {
	struct wcs_scan base; /* over one of the engine, of all buckets */
	const struct wcs_engine *engine;
	const struct wcs_keys *keys;
	enum wcs_each each;
	bool reverse;
	int state; /* 1: under way; else the result of every further call */

	bool placed;	    /* there is a position; else the scan begins at the end of all keys */
	bool stale;	    /* the heap is to be made; buckets may be unknown */
	bool in_row;	    /* the position is the present row: the root's */
	bool direct;	    /* the row's next cells come from the engine */
	bool given;	    /* the last cell given is of the present row */
	size_t at;	    /* index in the root's buffer of the next cell */
	enum wcs_part skip; /* the next cell differs in it; WCS_PART_TS: any cell */
	enum wcs_part differs; /* from the last cell given */

	/* The engine's cell behind a bucket's last row, or behind a row that came from the engine,
	 * and the place of its bucket. -1: there is none, or the engine has moved. */
	int found_place;
	struct wcs_cell found;

	size_t row_len, heap_count;
	unsigned char row[MERGE_BOUND];	  /* the position: the last row, or the target of a seek */
	unsigned char bytes[MERGE_BOUND]; /* of a call of the engine */
	unsigned char heap[WCS_KEYS_BUCKETS_MAX]; /* places */
	size_t count;
	struct merge_bucket buckets[]; /* in the scan's order; an index is a place */
};

/* The order of two keys in the scan. */
static int merge_compare(const struct merge *merge, struct wcs_slice a, struct wcs_slice b)
{
	int order = wcs_slice_compare(a, b);

	return merge->reverse ? -order : order;
}

/* Does a seek to the target pass over the row? In reverse order also over that of the target. */
static bool merge_passes(const struct merge *merge, struct wcs_slice row, struct wcs_slice target)
{
	return merge_compare(merge, row, target) < merge->reverse;
}

/* The place of a bucket, and the bucket at a place. */
static size_t merge_place(const struct merge *merge, size_t bucket)
{
	return merge->reverse ? merge->count - 1 - bucket : bucket;
}

static struct merge_bucket *merge_root(struct merge *merge)
{
	return &merge->buckets[merge->heap[0]];
}

static struct wcs_slice merge_row(const struct merge *merge)
{
	return (struct wcs_slice){merge->row, merge->row_len};
}

/* Is the bucket, which is known, without a next row? */
static bool bucket_ends(const struct merge_bucket *bucket)
{
	return bucket->buffer.first == bucket->buffer.count;
}

/* Lacks the buffer cells of the present row? */
static bool row_is_cut(const struct merge_bucket *root)
{
	return root->cut && root->buffer.end == root->buffer.count;
}

/* ---- Buffers ----------------------------------------------------------------------------- */

/* Keeps the engine's cell (rc 0: its end, which is behind the last place). */
static void merge_keep(struct merge *merge, int rc)
{
	merge->found_place = rc == 0 ? (int)merge->count
				     : (int)merge_place(merge, salt_bucket(merge->found.row));
}

/* Copies rows into the buffer, from the engine's cell on, until it has enough or the bucket ends. 0
 * or an error. */
static int fill_copy(struct merge *merge, size_t place, int rc)
{
	struct merge_bucket *bucket = &merge->buckets[place];
	size_t number = merge_place(merge, place);
	struct wcs_scan *of = merge->base.below;
	struct wcs_cell *cell = &merge->found;
	unsigned int rows = 0;
	int added;

	for (; rc > 0 && salt_bucket(cell->row) == number; rc = of->ops->next(of, cell)) {
		if (cell->differs == WCS_PART_ROW && rows == bucket->rows)
			return 0;
		if (cell->differs == WCS_PART_ROW &&
		    !salt_passes(merge->engine, merge->keys, cell->row)) {
			of->ops->skip(of, WCS_PART_ROW);
			continue;
		}
		rows += cell->differs == WCS_PART_ROW;
		cell->row = salt_stripped(cell->row);
		added = salt_buffer_add(&bucket->buffer, cell);
		bucket->cut = added == 0 && cell->differs > WCS_PART_ROW;
		if (added <= 0 || (merge->each == WCS_EACH_ROW && rows == bucket->rows))
			return added < 0 ? added : 0;
	}
	if (rc < 0)
		return rc;
	bucket->last = true;
	merge_keep(merge, rc);
	return 0;
}

/* Fills the bucket's buffer with the rows from the target on (data NULL: from the bucket's end
 * back), of which the engine may have found the first. 0 or an error. */
static int merge_fill(struct merge *merge, size_t place, struct wcs_slice target)
{
	struct merge_bucket *bucket = &merge->buckets[place];
	unsigned int number = (unsigned int)merge_place(merge, place);
	struct wcs_scan *of = merge->base.below;
	int rc = 1;

	if (merge->found_place != (int)place ||
	    (target.data != NULL && merge_passes(merge, salt_stripped(merge->found.row), target))) {
		rc = of->ops->seek(of, salt_bound(merge->keys, number, target, merge->bytes));
		if (rc == 0)
			rc = of->ops->next(of, &merge->found);
	}
	merge->found_place = -1;
	merge->found.differs = WCS_PART_ROW;
	salt_buffer_clear(&bucket->buffer);
	bucket->last = bucket->cut = false;
	rc = fill_copy(merge, place, rc);
	if (rc != 0)
		return rc;
	bucket->known = true;
	if (bucket->rows < MERGE_ROWS)
		bucket->rows *= 2;
	salt_buffer_next(&bucket->buffer);
	return 0;
}

/* ---- The heap ---------------------------------------------------------------------------- */

static bool heap_less(const struct merge *merge, size_t a, size_t b)
{
	return merge_compare(merge, merge->buckets[a].buffer.row, merge->buckets[b].buffer.row) < 0;
}

static void heap_sink(struct merge *merge, size_t at)
{
	unsigned char moved = merge->heap[at];
	size_t below;

	while ((below = 2 * at + 1) < merge->heap_count) {
		if (below + 1 < merge->heap_count &&
		    heap_less(merge, merge->heap[below + 1], merge->heap[below]))
			below++;
		if (!heap_less(merge, merge->heap[below], moved))
			break;
		merge->heap[at] = merge->heap[below];
		at = below;
	}
	merge->heap[at] = moved;
}

/* Finds the next row of each bucket, and makes the heap of them. The engine's cell behind a bucket
 * shows that those between have no rows. 0 or an error. */
static int heap_make(struct merge *merge)
{
	struct wcs_slice target = {merge->placed ? merge->row : NULL, merge->row_len};
	int rc = 0;

	merge->found_place = -1;
	merge->heap_count = 0;
	for (size_t place = 0; place < merge->count && rc == 0; place++) {
		struct merge_bucket *bucket = &merge->buckets[place];

		if (!bucket->known && (int)place < merge->found_place) {
			salt_buffer_clear(&bucket->buffer);
			bucket->known = bucket->last = true;
		} else if (!bucket->known) {
			rc = merge_fill(merge, place, target);
		}
		if (!bucket_ends(bucket))
			merge->heap[merge->heap_count++] = (unsigned char)place;
	}
	for (size_t at = merge->heap_count / 2; at-- > 0 && rc == 0;)
		heap_sink(merge, at);
	merge->stale = false;
	return rc;
}

/* Moves the root's bucket behind the present row. 0 or an error. */
static int heap_advance(struct merge *merge)
{
	struct merge_bucket *bucket = merge_root(merge);
	struct wcs_slice behind = {merge->row, merge->row_len + !merge->reverse};
	int rc = 0;

	merge->row[merge->row_len] = '\0';
	if (!salt_buffer_next(&bucket->buffer) && !bucket->last)
		rc = merge_fill(merge, merge->heap[0], behind);
	if (rc == 0 && bucket_ends(bucket))
		merge->heap[0] = merge->heap[--merge->heap_count];
	if (rc == 0 && merge->heap_count > 0)
		heap_sink(merge, 0);
	return rc;
}

/* ---- The present row --------------------------------------------------------------------- */

/* Lets the row's cells from that column on come from the engine. 0 or an error. */
static int row_enter_direct(struct merge *merge, const char *family, struct wcs_slice qualifier)
{
	struct wcs_scan *of = merge->base.below;

	merge->direct = true;
	merge->found_place = -1;
	return of->ops->enter(of, wcs_keys_stored(merge->keys, merge_row(merge), merge->bytes),
			      family, qualifier);
}

/* Puts the engine at the last cell from the buffer, and lets the row's rest come from there. 0 or
 * an error. */
static int row_go_direct(struct merge *merge)
{
	struct wcs_scan *of = merge->base.below;
	char family[WCS_FAMILY_NAME_MAX + 1];
	struct wcs_cell last, cell;
	int rc;

	salt_buffer_get(&merge_root(merge)->buffer, merge->at - 1, &last);
	memcpy(family, last.family.data, last.family.len);
	family[last.family.len] = '\0';
	rc = row_enter_direct(merge, family, last.qualifier);
	if (rc != 0)
		return rc;
	do
		rc = of->ops->next(of, &cell);
	while (rc > 0 && cell.info.ts > last.info.ts); /* the column's newer cells */
	if (rc <= 0)
		return rc < 0 ? rc : -EIO; /* rows are of one moment */
	if (merge->skip < WCS_PART_TS)
		of->ops->skip(of, merge->skip);
	return 0;
}

/* The row's next cell from the engine: 1, 0 or an error. */
static int row_read_direct(struct merge *merge, struct wcs_cell *cell)
{
	int rc = merge->base.below->ops->next(merge->base.below, &merge->found);

	if (rc < 0)
		return rc;
	if (rc == 0 || merge_place(merge, salt_bucket(merge->found.row)) != merge->heap[0] ||
	    wcs_slice_compare(salt_stripped(merge->found.row), merge_row(merge)) != 0) {
		merge_keep(merge, rc);
		return 0;
	}
	*cell = merge->found;
	if (cell->differs < merge->differs)
		merge->differs = cell->differs;
	return 1;
}

/* The row's next cell: 1, 0 or an error. */
static int row_read(struct merge *merge, struct wcs_cell *cell)
{
	const struct merge_bucket *root = merge_root(merge);
	int rc = 0;

	if (merge->skip == WCS_PART_ROW)
		return 0;
	while (!merge->direct && merge->at < root->buffer.end) {
		salt_buffer_get(&root->buffer, merge->at++, cell);
		if (cell->differs < merge->differs)
			merge->differs = cell->differs;
		if (merge->skip == WCS_PART_TS || merge->differs <= merge->skip)
			return 1;
	}
	if (!merge->direct && !row_is_cut(root))
		return 0;
	if (!merge->direct)
		rc = row_go_direct(merge);
	return rc == 0 ? row_read_direct(merge, cell) : rc;
}

/* Moves to the next row. 1: there; 0: the end; or an error. */
static int row_next(struct merge *merge)
{
	const struct salt_buffer *buffer;
	int rc = 0;

	if (merge->in_row)
		rc = heap_advance(merge);
	else if (merge->stale)
		rc = heap_make(merge);
	merge->in_row = rc == 0 && merge->heap_count > 0;
	if (!merge->in_row)
		return rc;
	buffer = &merge_root(merge)->buffer;
	merge->placed = true;
	merge->direct = false;
	merge->at = buffer->first;
	merge->row_len = buffer->row.len;
	memcpy(merge->row, buffer->row.data, buffer->row.len);
	merge->skip = WCS_PART_TS;
	merge->differs = WCS_PART_ROW;
	return 1;
}

static int merge_find(struct merge *merge, struct wcs_cell *cell)
{
	int rc = merge->in_row ? row_read(merge, cell) : 0;

	while (rc == 0) {
		rc = row_next(merge);
		if (rc <= 0)
			return rc;
		rc = row_read(merge, cell);
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
	cell->row = merge_row(merge);
	cell->differs = merge->differs;
	merge->differs = merge->skip = WCS_PART_TS;
	merge->given = true;
	return 1;
}

/* ---- Moving ------------------------------------------------------------------------------ */

static int merge_seek(struct wcs_scan *base, struct wcs_slice target)
{
	struct merge *merge = (struct merge *)base;
	/* The rows from the target on are behind the position. */
	bool ahead = merge_compare(merge, target, merge_row(merge)) >= !merge->reverse;

	if (merge->state < 0)
		return merge->state;
	for (size_t place = 0; place < merge->count; place++) {
		struct merge_bucket *bucket = &merge->buckets[place];
		struct salt_buffer *buffer = &bucket->buffer;

		bucket->known = bucket->known && ahead;
		while (bucket->known && !bucket_ends(bucket) &&
		       merge_passes(merge, buffer->row, target))
			salt_buffer_next(buffer);
		bucket->known = bucket->known && (!bucket_ends(bucket) || bucket->last);
		if (!bucket->known)
			bucket->rows = 1;
	}
	merge->in_row = merge->given = false;
	merge->stale = merge->placed = true;
	merge->state = 1;
	merge->row_len = target.len;
	if (target.len > 0)
		memmove(merge->row, target.data, target.len);
	return 0;
}

/* The index in the buffer of the row's first cell from that column on, or of the row's end. */
static size_t row_find(const struct salt_buffer *buffer, struct wcs_slice family,
		       struct wcs_slice qualifier)
{
	size_t at = buffer->first;
	struct wcs_cell cell;
	int order;

	for (; at < buffer->end; at++) {
		salt_buffer_get(buffer, at, &cell);
		order = wcs_slice_compare(cell.family, family);
		if (order == 0)
			order = wcs_slice_compare(cell.qualifier, qualifier);
		if (order >= 0)
			break;
	}
	return at;
}

static int merge_enter(struct wcs_scan *base, struct wcs_slice row, const char *family,
		       struct wcs_slice qualifier)
{
	struct merge *merge = (struct merge *)base;
	const struct merge_bucket *root = merge_root(merge);

	(void)row; /* the present one */
	if (merge->state <= 0)
		return merge->state;
	merge->given = false;
	merge->skip = WCS_PART_TS;
	merge->differs = WCS_PART_ROW;
	if (!merge->direct && family == NULL)
		merge->at = root->buffer.first;
	else if (!merge->direct)
		merge->at = row_find(&root->buffer, (struct wcs_slice){family, strlen(family)},
				     qualifier);
	if (merge->direct || (row_is_cut(root) && merge->at == root->buffer.end))
		return row_enter_direct(merge, family, qualifier);
	return 0;
}

static void merge_skip(struct wcs_scan *base, enum wcs_part part)
{
	struct merge *merge = (struct merge *)base;

	if (!merge->given)
		return;
	if (merge->direct && part > WCS_PART_ROW)
		merge->base.below->ops->skip(merge->base.below, part);
	else if (part < merge->skip)
		merge->skip = part;
}

static int merge_read(struct wcs_scan *base, void *buf, size_t len, uint64_t offset, size_t *got)
{
	struct merge *merge = (struct merge *)base;
	int rc = 0;

	if (!merge->given)
		return -EINVAL;
	if (!merge->direct)
		rc = row_go_direct(merge);
	return rc == 0 ? scan_pass_read(base, buf, len, offset, got) : rc;
}

/* ---- Opening ----------------------------------------------------------------------------- */

static void merge_close(struct wcs_scan *base)
{
	struct merge *merge = (struct merge *)base;

	for (size_t place = 0; place < merge->count; place++)
		salt_buffer_free(&merge->buckets[place].buffer);
	scan_pass_close(base);
}

static const struct scan_ops merge_ops = {merge_next,  merge_seek, merge_read,
					  merge_enter, merge_skip, merge_close};

struct wcs_scan *salt_merge(const struct wcs_engine *engine, const struct wcs_keys *keys,
			    const struct wcs_filter *filter, struct wcs_scan *below)
{
	size_t room = MERGE_MEMORY / keys->buckets;
	struct merge *merge = malloc(sizeof(*merge) + keys->buckets * sizeof(*merge->buckets));

	if (merge == NULL)
		return NULL;
	memset(merge, 0, offsetof(struct merge, row));
	merge->base = (struct wcs_scan){.ops = &merge_ops, .below = below};
	merge->engine = engine;
	merge->keys = keys;
	merge->each = filter->each;
	merge->reverse = filter->reverse;
	merge->placed = !filter->reverse; /* before the first row */
	merge->stale = true;
	merge->state = 1;
	merge->count = keys->buckets;
	for (size_t place = 0; place < merge->count; place++)
		merge->buckets[place] = (struct merge_bucket){
			.rows = merge->each == WCS_EACH_CELL ? MERGE_FIRST : 1,
			.buffer.most = room < MERGE_BUFFER ? room : MERGE_BUFFER};
	return &merge->base;
}
