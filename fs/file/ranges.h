/* SPDX-License-Identifier: MIT */
/*
 * The locked ranges of one file, split and merged as by fcntl(2). Each range has an owner; ranges
 * of one owner never overlap. Waiting is the caller's task. The caller serializes calls.
 */
#ifndef FS_RANGES_H
#define FS_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "fs/serve/share.h"

enum { RANGES_PROCESS_MAX = 4096 }; /* of one process in one file: each call walks all of them */

#define RANGES_END ((uint64_t)INT64_MAX) /* the last byte of any file */

/* A held or requested range. */
struct range {
	struct range *next;
	uint64_t start, end; /* inclusive; at most RANGES_END */
	uint64_t owner;
	const void *handle; /* the open file through which it was taken */
	pid_t pid;	    /* of the process that took it */
	uid_t user;	    /* whose share it is of */
	bool exclusive;
};

struct ranges {
	struct range *first; /* unordered */
};

/* The number of ranges that there may be. */
struct ranges_room {
	const struct fs *fs;
	struct share share;
};

/* The first range in the list `from` that conflicts with want; NULL: none. */
const struct range *ranges_conflict(const struct range *from, const struct range *want);

/* The conflicting range with the lowest start; NULL: none. */
const struct range *ranges_conflict_lowest(const struct ranges *ranges, const struct range *want);

/* Takes want for its owner, whose ranges there it replaces. The caller has asked for conflicts.
 * room: of all ranges, which is kept up to date. -ENOLCK: no room for the user, or the
 * process holds RANGES_PROCESS_MAX of them; nothing has changed. */
int ranges_take(struct ranges *ranges, const struct range *want, struct ranges_room *room);

/* Releases the owner's part of want. -ENOLCK: that would split a range and there is no room; never
 * for a release of the whole file. */
int ranges_give(struct ranges *ranges, const struct range *want, struct ranges_room *room);

/* Releases all ranges that were taken through the open file, of any owner. */
void ranges_give_handle(struct ranges *ranges, const void *handle, struct ranges_room *room);

#endif
