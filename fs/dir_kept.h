/* SPDX-License-Identifier: MIT */
/* Which children a listing gave at its last offsets, to resume behind them. */
#ifndef FS_DIR_KEPT_H
#define FS_DIR_KEPT_H

#include <stdbool.h>
#include <sys/types.h>

#include "node.h"

#define DIR_KEPT 2048 /* at least so many of the last are there */

/* Children that follow each other, one behind the other in memory. */
struct dir_kept_run {
	off_t first; /* the offset behind the first of them */
	size_t count;
	size_t *ends; /* of each, in bytes */
	size_t ends_room;
	char *bytes; /* of each its kind, and then its own */
	size_t bytes_room;
};

/* Those of one listing; zero it first. One thread at a time. */
struct dir_kept {
	struct dir_kept_run last, before;
};

void dir_kept_clear(struct dir_kept *kept);

/* Keeps a child as what stands before that offset. 0 or -ENOMEM. */
int dir_kept_add(struct dir_kept *kept, off_t offset, enum node_kind kind, struct wcs_slice bytes);

/* The child before that offset, which is good until another is added. False: it is not known. */
bool dir_kept_find(const struct dir_kept *kept, off_t offset, enum node_kind *kind,
		   struct wcs_slice *bytes);

#endif
