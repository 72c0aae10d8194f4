/* SPDX-License-Identifier: MIT */
/*
 * The children of the last offsets, in two runs, of which the older one is emptied and used anew
 * when the other is full. So an entry of a listing costs no allocation, and what is kept does not
 * grow.
 *
 * Invariant: where `before` has children, `last` starts behind them.
 */
#include "dir_kept.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ENDS_FIRST = 64, BYTES_FIRST = 1024 };

static void run_free(struct dir_kept_run *run)
{
	free(run->ends);
	free(run->bytes);
}

void dir_kept_clear(struct dir_kept *kept)
{
	run_free(&kept->last);
	run_free(&kept->before);
	*kept = (struct dir_kept){.last = {.first = 0}};
}

static bool run_has(const struct dir_kept_run *run, off_t offset)
{
	return offset >= run->first && offset < run->first + (off_t)run->count;
}

static size_t run_end(const struct dir_kept_run *run, size_t count)
{
	return count > 0 ? run->ends[count - 1] : 0;
}

/* An array of that size with room for so many, moved if need be; NULL: no memory, it stays. */
static void *grown(void *array, size_t *room, size_t first, size_t needed, size_t size)
{
	size_t more = *room ? *room : first;

	if (needed <= *room)
		return array;
	while (more < needed)
		more *= 2;
	array = realloc(array, more * size);
	if (array)
		*room = more;
	return array;
}

static int run_add(struct dir_kept_run *run, enum node_kind kind, struct wcs_slice bytes)
{
	size_t at = run_end(run, run->count), end = at + 1 + bytes.len;
	size_t *ends = grown(run->ends, &run->ends_room, ENDS_FIRST, run->count + 1, sizeof(*ends));
	char *data;

	if (!ends)
		return -ENOMEM;
	run->ends = ends;
	data = grown(run->bytes, &run->bytes_room, BYTES_FIRST, end, 1);
	if (!data)
		return -ENOMEM;
	run->bytes = data;
	data[at] = (char)kind;
	if (bytes.len > 0)
		memcpy(data + at + 1, bytes.data, bytes.len);
	run->ends[run->count++] = end;
	return 0;
}

static void swap(struct dir_kept *kept)
{
	struct dir_kept_run last = kept->last;

	kept->last = kept->before;
	kept->before = last;
}

/* Offsets come in sequence; where one comes again, what was behind it is of no use any more, and
 * where it is another, nothing is. */
int dir_kept_add(struct dir_kept *kept, off_t offset, enum node_kind kind, struct wcs_slice bytes)
{
	struct dir_kept_run *last = &kept->last;

	if (run_has(&kept->before, offset)) {
		last->count = 0;
		swap(kept);
	} else if (!run_has(last, offset) && offset != last->first + (off_t)last->count) {
		kept->before.count = 0;
		last->count = 0;
		last->first = offset;
	}
	last->count = (size_t)(offset - last->first);
	if (last->count == DIR_KEPT) {
		swap(kept);
		last->count = 0;
		last->first = offset;
	}
	return run_add(last, kind, bytes);
}

bool dir_kept_find(const struct dir_kept *kept, off_t offset, enum node_kind *kind,
		   struct wcs_slice *bytes)
{
	const struct dir_kept_run *run = run_has(&kept->last, offset) ? &kept->last : &kept->before;
	size_t index = (size_t)(offset - run->first), at;

	if (!run_has(run, offset))
		return false;
	at = run_end(run, index);
	*kind = (enum node_kind)run->bytes[at];
	*bytes = (struct wcs_slice){run->bytes + at + 1, run->ends[index] - at - 1};
	return true;
}
