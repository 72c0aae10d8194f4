/* SPDX-License-Identifier: MIT */
/*
 * The children of a listing's most recent offsets, in two parts. When the newer part is full, the
 * older one is cleared and reused. The parts grow by doubling and are reused, so an entry needs no
 * allocation of its own, and the memory has a bound.
 *
 * An offset consists of a turn and a position; the position counts the entries before it. The first
 * turn is 0. After a seek back, the listing may find another child at a kept offset. A program may
 * still use that offset, so this child and those after it get offsets of a new
 * turn. Offsets are otherwise consecutive, so a part has few runs.
 *
 * Invariant: an offset that is in both parts has the same child in both.
 */
#include "fs/dir/dir_kept.h"

#include <stdlib.h>
#include <string.h>

#include "lib/grow.h"

enum { RUNS_FIRST = 4, ENDS_FIRST = 64, BYTES_FIRST = 1024 };

#define POSITIONS ((off_t)1 << 40) /* of one turn */
#define TURNS	  ((off_t)1 << 23)

/* The head of a kept child, before its bytes; it is not aligned. */
struct dir_kept_head {
	uint16_t len; /* of the name */
	unsigned char kind;
	bool below;
};

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

off_t dir_kept_position(off_t offset)
{
	return offset % POSITIONS;
}

static bool is_of_another(const struct dir_kept *kept, off_t offset, enum node_kind kind,
			  const struct wcs_list_child *child)
{
	enum node_kind known_kind;
	struct wcs_list_child known;

	if (!dir_kept_find(kept, offset, &known_kind, &known))
		return false;
	return known_kind != kind || known.below != child->below ||
	       wcs_slice_compare(known.segment, child->segment) != 0 ||
	       wcs_slice_compare(known.given, child->given) != 0;
}

/* Tries the next offset of the same turn, then the newest turn, then new turns. After a second seek
 * back the newest turn often fits, because the first one gave the same children its offsets. */
off_t dir_kept_next(struct dir_kept *kept, off_t offset, enum node_kind kind,
		    const struct wcs_list_child *child)
{
	off_t next = offset + 1, position = dir_kept_position(next);

	if (!is_of_another(kept, next, kind, child))
		return next;
	next = kept->turn * POSITIONS + position;
	while (is_of_another(kept, next, kind, child)) {
		kept->turn = (kept->turn + 1) % TURNS;
		next = kept->turn * POSITIONS + position;
	}
	return next;
}

/* Adds an offset that only the older part has to the newer part too: it was just used again and
 * should be kept longer. */
int dir_kept_add(struct dir_kept *kept, off_t offset, enum node_kind kind,
		 const struct wcs_list_child *child)
{
	const struct dir_kept_head head = {(uint16_t)child->segment.len, (unsigned char)kind,
					   child->below};
	struct dir_kept_part *part = &kept->last, full = *part;
	struct dir_kept_run *run;
	size_t at, end;
	int rc;

	if (part_has(part, offset, &at))
		return 0;
	if (full.count == DIR_KEPT) {
		*part = kept->before;
		kept->before = full;
		part->count = 0;
		part->run_count = 0;
	}
	at = part_end(part, part->count);
	end = at + sizeof(head) + child->segment.len + child->given.len;
	rc = grow(&part->runs, &part->runs_room, part->run_count + 1, RUNS_FIRST,
		  sizeof(*part->runs));
	if (rc == 0)
		rc = grow(&part->ends, &part->ends_room, part->count + 1, ENDS_FIRST,
			  sizeof(*part->ends));
	if (rc == 0)
		rc = grow(&part->bytes, &part->bytes_room, end, BYTES_FIRST, 1);
	if (rc != 0)
		return rc;
	memcpy(part->bytes + at, &head, sizeof(head));
	at += sizeof(head);
	if (child->segment.len > 0)
		memcpy(part->bytes + at, child->segment.data, child->segment.len);
	at += child->segment.len;
	if (child->given.len > 0)
		memcpy(part->bytes + at, child->given.data, child->given.len);
	if (part->run_count == 0 || part->runs[part->run_count - 1].end != offset)
		part->runs[part->run_count++] = (struct dir_kept_run){offset, offset, part->count};
	run = &part->runs[part->run_count - 1];
	run->end = offset + 1;
	part->ends[part->count++] = end;
	return 0;
}

bool dir_kept_find(const struct dir_kept *kept, off_t offset, enum node_kind *kind,
		   struct wcs_list_child *child)
{
	const struct dir_kept_part *part = &kept->last;
	struct dir_kept_head head;
	size_t index, at;

	if (!part_has(part, offset, &index)) {
		part = &kept->before;
		if (!part_has(part, offset, &index))
			return false;
	}
	at = part_end(part, index);
	memcpy(&head, part->bytes + at, sizeof(head));
	at += sizeof(head);
	*kind = (enum node_kind)head.kind;
	*child = (struct wcs_list_child){.segment = {part->bytes + at, head.len},
					 .below = head.below};
	at += head.len;
	child->given = (struct wcs_slice){part->bytes + at, part->ends[index] - at};
	return true;
}
