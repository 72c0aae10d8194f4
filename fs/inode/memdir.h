/* SPDX-License-Identifier: MIT */
/*
 * Directories that exist only in memory: the store has no empty rows. A directory that mkdir made,
 * or whose last cell was removed, stays here until rmdir or the end of the mount.
 *
 * A path identifies a directory: the table's name and then each component, appended with
 * memdir_path_add. A path exists if it or a path below it was added. A draft is added below its
 * directory, which therefore exists as long as the draft.
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
	MEMDIR_DRAFT = 'D' /* its bytes: an identifier */
};

/* A path under construction, of one thread. Zero it first; memdir_path_clear frees it. */
struct memdir_path {
	unsigned char *data;
	size_t len, room;
};

/* Appends a component. 0 or -ENOMEM. */
int memdir_path_add(struct memdir_path *path, enum memdir_part part, struct wcs_slice bytes);
void memdir_path_clear(struct memdir_path *path);

struct memdirs *memdirs_new(void); /* NULL: no memory */
void memdirs_free(struct memdirs *dirs);
size_t memdirs_count(struct memdirs *dirs);

/* Any thread may call these functions. Adds a path, or finds it there: 0, -ENOMEM, or -ENOSPC at
 * MEMDIRS_MAX. */
int memdirs_add(struct memdirs *dirs, const struct memdir_path *path);
/* Removes the path and all below it. */
void memdirs_remove(struct memdirs *dirs, const struct memdir_path *path);
/* A family of the table is removed (family: a path of that component alone): the directories of its
 * rows stay. */
void memdirs_remove_family(struct memdirs *dirs, const struct memdir_path *table,
			   const struct memdir_path *family);
/* Is a path below it, or (itself) does the path exist? */
bool memdirs_has(struct memdirs *dirs, const struct memdir_path *path, bool itself);

/* Frees *child (data NULL: none yet) and makes it the first child of path of that part whose bytes
 * are greater than after (NULL: of all), which may be *child. The caller frees the last one's data.
 * -ENOENT: none, then data is NULL; -ENOMEM. */
int memdirs_next(struct memdirs *dirs, const struct memdir_path *path, enum memdir_part part,
		 const struct wcs_slice *after, struct wcs_slice *child);

#endif
