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

/* A new range of the user. NULL: no room. */
static struct range *range_new(struct ranges_room *room, uid_t user)
{
	struct range *range;

	if (!share_take(&room->share, room->fs, user, 1))
		return NULL;
	range = calloc(1, sizeof(*range));
	if (!range)
		share_give(&room->share, user, 1);
	return range;
}

static void take_out(struct range **link, struct ranges_room *room)
{
	struct range *range = *link;

	*link = range->next;
	share_give(&room->share, range->user, 1);
	free(range);
}

/* Merges a range with the owner's ranges of its kind that touch it. */
static void merge(struct ranges *ranges, struct range *range, struct ranges_room *room)
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

int ranges_give(struct ranges *ranges, const struct range *want, struct ranges_room *room)
{
	struct range **link = &ranges->first, *range, *behind;

	while ((range = *link) != NULL) {
		bool before = range->start<want->start, after = range->end> want->end;

		if (range->owner != want->owner || !overlap(range, want)) {
			link = &range->next;
		} else if (before && after) { /* then it is the only one */
			behind = range_new(room, range->user);
			if (!behind)
				return -ENOLCK;
			*behind = *range;
			behind->start = want->end + 1;
			range->end = want->start - 1;
			range->next = behind;
			return 0;
		} else if (before) {
			range->end = want->start - 1;
		} else if (after) {
			range->start = want->end + 1;
		} else {
			take_out(link, room);
		}
	}
	return 0;
}

int ranges_take(struct ranges *ranges, const struct range *want, struct ranges_room *room)
{
	struct range *range = NULL;
	size_t of_process = 0;

	for (const struct range *other = ranges->first; other; other = other->next)
		of_process += other->pid == want->pid;
	if (of_process < RANGES_PROCESS_MAX)
		range = range_new(room, want->user);
	if (!range)
		return -ENOLCK;
	if (ranges_give(ranges, want, room) != 0) {
		free(range);
		share_give(&room->share, want->user, 1);
		return -ENOLCK;
	}
	*range = *want;
	merge(ranges, range, room);
	range->next = ranges->first;
	ranges->first = range;
	return 0;
}

void ranges_give_handle(struct ranges *ranges, const void *handle, struct ranges_room *room)
{
	struct range **link = &ranges->first;

	while (*link) {
		if ((*link)->handle == handle)
			take_out(link, room);
		else
			link = &(*link)->next;
	}
}
