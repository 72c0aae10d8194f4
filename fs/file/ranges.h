/* SPDX-License-Identifier: MIT */
/*
 * The locked ranges of one file, as fcntl(2) splits and merges them. Who holds them is an owner;
 * ranges of one owner never overlap. It knows nothing of who waits. The caller serializes calls.
 */
#ifndef FS_RANGES_H
#define FS_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { RANGES_PROCESS_MAX = 4096 }; /* of one process in one file: each call walks all of them */

#define RANGES_END ((uint64_t)INT64_MAX) /* the last byte there is */

/* A range that is held, or asked for. */
struct range {
	struct range *next;
	uint64_t start, end; /* the end is part of it; at most RANGES_END */
	uint64_t owner;
	const void *handle; /* the open file through which it was taken */
	pid_t pid;	    /* of the process that took it */
	bool exclusive;
};

struct ranges {
	struct range *first; /* in no order */
};

/* The first range in from (a list) that stops another's request for want; NULL: none. */
const struct range *ranges_conflict(const struct range *from, const struct range *want);

/* Of all those the one with the lowest start. */
const struct range *ranges_conflict_lowest(const struct ranges *ranges, const struct range *want);

/* Takes want for its owner, whose ranges there it replaces. The caller has asked for conflicts.
 * room: how many more ranges there may be, which is kept up to date. -ENOLCK: no room, or the
 * process holds RANGES_PROCESS_MAX of them; nothing has changed. */
int ranges_take(struct ranges *ranges, const struct range *want, size_t *room);

/* Gives up what the owner has of the range. -ENOLCK: that would split one, for which there is no
 * room; never where all of the file is given up. */
int ranges_give(struct ranges *ranges, const struct range *want, size_t *room);

/* Gives up what was taken through that open file, by whatever owner. */
void ranges_give_handle(struct ranges *ranges, const void *handle, size_t *room);

#endif
