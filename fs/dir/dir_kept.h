/* SPDX-License-Identifier: MIT */
/* The offsets of a listing, and the child after which each resumes. */
#ifndef FS_DIR_KEPT_H
#define FS_DIR_KEPT_H

#include <stdbool.h>
#include <sys/types.h>

#include "fs/inode/node.h"

#define DIR_KEPT 2048 /* at least this many recent offsets are kept */

/* Consecutive offsets. */
struct dir_kept_run {
	off_t first, end;
	size_t index; /* of the child that belongs to the first */
};

/* Children, packed. */
struct dir_kept_part {
	struct dir_kept_run *runs;
	size_t run_count, runs_room;
	size_t count;
	size_t *ends; /* where each child ends in `bytes` */
	size_t ends_room;
	char *bytes; /* for each child a struct dir_kept_head, its name and its `given` */
	size_t bytes_room;
};

/* The offsets of one listing; starts zeroed. One thread at a time. */
struct dir_kept {
	struct dir_kept_part last, before;
	off_t turn; /* the newest */
};

void dir_kept_clear(struct dir_kept *kept);

/* The number of entries before the offset. */
off_t dir_kept_position(off_t offset);

/* The offset after a child that follows `offset`: the next one, unless that is kept for a different
 * child. */
off_t dir_kept_next(struct dir_kept *kept, off_t offset, enum node_kind kind,
		    const struct wcs_list_child *child);

/* Keeps the child before an offset that dir_kept_next returned. 0 or -ENOMEM. */
int dir_kept_add(struct dir_kept *kept, off_t offset, enum node_kind kind,
		 const struct wcs_list_child *child);

/* The child before the offset, borrowed until the next dir_kept_add. False: not kept any more. */
bool dir_kept_find(const struct dir_kept *kept, off_t offset, enum node_kind *kind,
		   struct wcs_list_child *child);

#endif
