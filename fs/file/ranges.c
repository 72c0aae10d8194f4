/* SPDX-License-Identifier: MIT */
/* Ranges in an unordered list: a file has few. */
#include "fs/file/ranges.h"

#include <errno.h>
#include <stdlib.h>

static bool overlap(const struct range *a, const struct range *b)
{
	return a->start <= b->end && b->start <= a->end;
}

const struct range *ranges_conflict(const struct range *from, const struct range *want)
{
	while (from && (from->owner == want->owner || !overlap(from, want) ||
			!(from->exclusive || want->exclusive)))
		from = from->next;
	return from;
}

const struct range *ranges_conflict_lowest(const struct ranges *ranges, const struct range *want)
{
	const struct range *range = ranges_conflict(ranges->first, want), *lowest = range;

	while (range) {
		if (range->start < lowest->start)
			lowest = range;
		range = ranges_conflict(range->next, want);
	}
	return lowest;
}

/* A new range. NULL: no room. */
static struct range *range_new(size_t *room)
{
	struct range *range = *room > 0 ? calloc(1, sizeof(*range)) : NULL;

	if (range)
		(*room)--;
	return range;
}

static void range_free(struct range *range, size_t *room)
{
	if (!range)
		return;
	free(range);
	(*room)++;
}

static void take_out(struct range **link, size_t *room)
{
	struct range *range = *link;

	*link = range->next;
	range_free(range, room);
}

/* The owner's range that extends beyond want on both sides; there is at most one. */
static struct range *around(const struct ranges *ranges, const struct range *want)
{
	struct range *range = ranges->first;

	while (range && (range->owner != want->owner || range->start >= want->start ||
			 range->end <= want->end))
		range = range->next;
	return range;
}

/* Cuts want out of the middle of a range; right becomes the second part. */
static void split(struct range *range, const struct range *want, struct range *right)
{
	*right = *range;
	right->start = want->end + 1;
	range->end = want->start - 1;
	range->next = right;
}

/* Cuts want out of the owner's ranges, none of which extends beyond it on both sides. */
static void cut(struct ranges *ranges, const struct range *want, size_t *room)
{
	struct range **link = &ranges->first, *range;

	while ((range = *link) != NULL) {
		if (range->owner == want->owner && overlap(range, want)) {
			if (range->start >= want->start && range->end <= want->end) {
				take_out(link, room);
				continue;
			}
			if (range->start < want->start)
				range->end = want->start - 1;
			else
				range->start = want->end + 1;
		}
		link = &range->next;
	}
}

/* Merges a range with the owner's ranges of its kind that touch it. */
static void merge(struct ranges *ranges, struct range *range, size_t *room)
{
	struct range **link = &ranges->first, *other;

	while ((other = *link) != NULL) {
		bool before = other->end + 1 == range->start,
		     behind = range->end + 1 == other->start;

		if (!(before || behind) || other->owner != range->owner ||
		    other->handle != range->handle || other->exclusive != range->exclusive) {
			link = &other->next;
			continue;
		}
		if (before)
			range->start = other->start;
		else
			range->end = other->end;
		take_out(link, room);
	}
}

int ranges_give(struct ranges *ranges, const struct range *want, size_t *room)
{
	struct range *range = around(ranges, want), *right;

	if (!range) {
		cut(ranges, want, room);
		return 0;
	}
	right = range_new(room);
	if (!right)
		return -ENOLCK;
	split(range, want, right);
	return 0;
}

static size_t ranges_of_process(const struct ranges *ranges, pid_t pid)
{
	size_t n = 0;

	for (const struct range *range = ranges->first; range; range = range->next)
		n += range->pid == pid;
	return n;
}

int ranges_take(struct ranges *ranges, const struct range *want, size_t *room)
{
	struct range *range = NULL;

	if (ranges_of_process(ranges, want->pid) < RANGES_PROCESS_MAX)
		range = range_new(room);
	if (!range)
		return -ENOLCK;
	if (ranges_give(ranges, want, room) != 0) {
		range_free(range, room);
		return -ENOLCK;
	}
	*range = *want;
	merge(ranges, range, room);
	range->next = ranges->first;
	ranges->first = range;
	return 0;
}

void ranges_give_handle(struct ranges *ranges, const void *handle, size_t *room)
{
	struct range **link = &ranges->first;

	while (*link) {
		if ((*link)->handle == handle)
			take_out(link, room);
		else
			link = &(*link)->next;
	}
}
