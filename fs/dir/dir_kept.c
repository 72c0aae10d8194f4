/* SPDX-License-Identifier: MIT */
/*
 * The children of the last offsets, in two parts, of which the older one is emptied and used anew
 * when the other is full. So an entry of a listing costs no allocation, and what is kept does not
 * grow.
 *
 * An offset is a turn and a position, which counts the entries before it. All is of turn 0 until a
 * look back meets another child than the one that the offset is kept for: what follows is of a
 * further turn then, since the offset may still be in use. Without that, offsets come in sequence,
 * so a part has few runs.
 *
 * Invariant: an offset that is in both parts has the same child in both.
 */
#include "fs/dir/dir_kept.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS_FIRST = 4, ENDS_FIRST = 64, BYTES_FIRST = 1024 };

#define POSITIONS ((off_t)1 << 40) /* in a turn */
#define TURNS	  ((off_t)1 << 23)

static void part_free(struct dir_kept_part *part)
{
	free(part->runs);
	free(part->ends);
	free(part->bytes);
}

void dir_kept_clear(struct dir_kept *kept)
{
	part_free(&kept->last);
	part_free(&kept->before);
	*kept = (struct dir_kept){.turn = 0};
}

static bool part_has(const struct dir_kept_part *part, off_t offset, size_t *index)
{
	for (size_t i = part->run_count; i-- > 0;) {
		const struct dir_kept_run *run = &part->runs[i];

		if (offset >= run->first && offset < run->end) {
			*index = run->index + (size_t)(offset - run->first);
			return true;
		}
	}
	return false;
}

static size_t part_end(const struct dir_kept_part *part, size_t count)
{
	return count > 0 ? part->ends[count - 1] : 0;
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

/* Room for one more, with so many bytes in all. */
static int part_grow(struct dir_kept_part *part, size_t end)
{
	struct dir_kept_run *runs =
		grown(part->runs, &part->runs_room, RUNS_FIRST, part->run_count + 1, sizeof(*runs));
	size_t *ends;
	char *bytes;

	if (!runs)
		return -ENOMEM;
	part->runs = runs;
	ends = grown(part->ends, &part->ends_room, ENDS_FIRST, part->count + 1, sizeof(*ends));
	if (!ends)
		return -ENOMEM;
	part->ends = ends;
	bytes = grown(part->bytes, &part->bytes_room, BYTES_FIRST, end, 1);
	if (!bytes)
		return -ENOMEM;
	part->bytes = bytes;
	return 0;
}

static int part_add(struct dir_kept_part *part, off_t offset, enum node_kind kind,
		    struct wcs_slice bytes)
{
	size_t at = part_end(part, part->count), end = at + 1 + bytes.len;
	struct dir_kept_run *run;
	int rc = part_grow(part, end);

	if (rc != 0)
		return rc;
	part->bytes[at] = (char)kind;
	if (bytes.len > 0)
		memcpy(part->bytes + at + 1, bytes.data, bytes.len);
	if (part->run_count == 0 || part->runs[part->run_count - 1].end != offset)
		part->runs[part->run_count++] = (struct dir_kept_run){offset, offset, part->count};
	run = &part->runs[part->run_count - 1];
	run->end = offset + 1;
	part->ends[part->count++] = end;
	return 0;
}

off_t dir_kept_position(off_t offset)
{
	return offset % POSITIONS;
}

static bool is_of_another(const struct dir_kept *kept, off_t offset, enum node_kind kind,
			  struct wcs_slice bytes)
{
	enum node_kind known_kind;
	struct wcs_slice known;

	if (!dir_kept_find(kept, offset, &known_kind, &known))
		return false;
	return known_kind != kind || known.len != bytes.len ||
	       (bytes.len > 0 && memcmp(known.data, bytes.data, bytes.len) != 0);
}

/* The newest turn is tried first: who looks back once more meets what had an offset of it. */
off_t dir_kept_next(struct dir_kept *kept, off_t offset, enum node_kind kind,
		    struct wcs_slice bytes)
{
	off_t next = offset + 1, position = dir_kept_position(next);

	if (!is_of_another(kept, next, kind, bytes))
		return next;
	next = kept->turn * POSITIONS + position;
	while (is_of_another(kept, next, kind, bytes)) {
		kept->turn = (kept->turn + 1) % TURNS;
		next = kept->turn * POSITIONS + position;
	}
	return next;
}

/* One that is in the older part only is given again, so it is one of the last again. */
int dir_kept_add(struct dir_kept *kept, off_t offset, enum node_kind kind, struct wcs_slice bytes)
{
	struct dir_kept_part full = kept->last;
	size_t index;

	if (part_has(&kept->last, offset, &index))
		return 0;
	if (full.count == DIR_KEPT) {
		kept->last = kept->before;
		kept->before = full;
		kept->last.count = 0;
		kept->last.run_count = 0;
	}
	return part_add(&kept->last, offset, kind, bytes);
}

bool dir_kept_find(const struct dir_kept *kept, off_t offset, enum node_kind *kind,
		   struct wcs_slice *bytes)
{
	const struct dir_kept_part *part = &kept->last;
	size_t index, at;

	if (!part_has(part, offset, &index)) {
		part = &kept->before;
		if (!part_has(part, offset, &index))
			return false;
	}
	at = part_end(part, index);
	*kind = (enum node_kind)part->bytes[at];
	*bytes = (struct wcs_slice){part->bytes + at + 1, part->ends[index] - at - 1};
	return true;
}
