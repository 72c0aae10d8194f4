/* SPDX-License-Identifier: MIT */
/* Offsets of a listing: which it gives, and behind which children they resume. */
#ifndef FS_DIR_KEPT_H
#define FS_DIR_KEPT_H

#include <stdbool.h>
#include <sys/types.h>

#include "fs/inode/node.h"

#define DIR_KEPT 2048 /* at least so many of the last are there */

/* Offsets in sequence. */
struct dir_kept_run {
	off_t first, end;
	size_t index; /* of the child behind which the first resumes */
};

/* Children, one behind the other in memory. */
struct dir_kept_part {
	struct dir_kept_run *runs;
	size_t run_count, runs_room;
	size_t count;
	size_t *ends; /* of each, in bytes */
	size_t ends_room;
	char *bytes; /* of each its kind, and then its own */
	size_t bytes_room;
};

/* Those of one listing; zero it first. One thread at a time. */
struct dir_kept {
	struct dir_kept_part last, before;
	off_t turn; /* the newest */
};

void dir_kept_clear(struct dir_kept *kept);

/* How many entries had been given before that offset, when it was given. */
off_t dir_kept_position(off_t offset);

/* The offset behind a child that follows another offset: the next one, unless that is kept for
 * another child. */
off_t dir_kept_next(struct dir_kept *kept, off_t offset, enum node_kind kind,
		    struct wcs_slice bytes);

/* Keeps a child as what stands before that offset, which dir_kept_next gave. 0 or -ENOMEM. */
int dir_kept_add(struct dir_kept *kept, off_t offset, enum node_kind kind, struct wcs_slice bytes);

/* The child before that offset, which is good until another is added. False: it is not known. */
bool dir_kept_find(const struct dir_kept *kept, off_t offset, enum node_kind *kind,
		   struct wcs_slice *bytes);

#endif
