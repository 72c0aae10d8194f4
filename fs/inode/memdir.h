/* SPDX-License-Identifier: MIT */
/*
 * Directories that live in memory: the store knows no empty rows, so what mkdir made, and what
 * removing the last cell emptied, is kept here until rmdir or the end of the mount.
 *
 * A directory is named by its path: the table's name and then its components, each appended with
 * memdir_path_add. A path exists if it or something below it was added. So a draft is added below
 * its directory, which exists as long as the draft.
 */
#ifndef FS_MEMDIR_H
#define FS_MEMDIR_H

#include <stdbool.h>
#include <stddef.h>

#include "store/store.h"

#define MEMDIRS_MAX 100000u /* directories in memory at once */

enum memdir_part {
	MEMDIR_TABLE = 'T',
	MEMDIR_SEGMENT = 'S',
	MEMDIR_FAMILY = 'F',
	MEMDIR_HISTORY = 'H',
	MEMDIR_CHUNK = 'C',
	MEMDIR_DRAFTS = 'P',
	MEMDIR_DRAFT = 'D' /* its bytes: what tells it from others */
};

/* A path under construction, of one thread; zero it first, memdir_path_clear frees it. */
struct memdir_path {
	unsigned char *data;
	size_t len, room;
};

/* Appends a component. 0 or -ENOMEM. */
int memdir_path_add(struct memdir_path *path, enum memdir_part part, struct wcs_slice bytes);
void memdir_path_clear(struct memdir_path *path);

/* The order of components, and of children: <0, 0 or >0 as a comes before b, is the same, or comes
 * behind it. */
int memdir_order(struct wcs_slice a, struct wcs_slice b);

struct memdirs;
struct memdirs *memdirs_new(void); /* NULL: no memory */
void memdirs_free(struct memdirs *dirs);
size_t memdirs_count(struct memdirs *dirs);

/* Any thread may call these. Adds a path, also one that is there: 0, -ENOMEM, or -ENOSPC at
 * MEMDIRS_MAX. */
int memdirs_add(struct memdirs *dirs, const struct memdir_path *path);
/* Takes the path and all below it away. */
void memdirs_remove(struct memdirs *dirs, const struct memdir_path *path);
/* A family of the table goes (family: a path of just that component): its directories become
 * those of their rows. */
void memdirs_remove_family(struct memdirs *dirs, const struct memdir_path *table,
			   const struct memdir_path *family);
bool memdirs_exists(struct memdirs *dirs, const struct memdir_path *path);
/* Is there something below it? */
bool memdirs_has_children(struct memdirs *dirs, const struct memdir_path *path);

/*
 * The first child of path, of that part, whose bytes are greater than after (NULL: the first of
 * all). 0: its bytes are in *child, which the caller frees; -ENOENT: none; -ENOMEM.
 */
struct memdir_child {
	char *data;
	size_t len;
};
int memdirs_next(struct memdirs *dirs, const struct memdir_path *path, enum memdir_part part,
		 const struct wcs_slice *after, struct memdir_child *child);

#endif
