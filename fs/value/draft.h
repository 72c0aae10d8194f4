/* SPDX-License-Identifier: MIT */
/*
 * Drafts: temporary files, which are no cells. In a history each name with a leading dot is a
 * draft, and `sed` with six characters; in a family the temporary names that rsync gives to
 * columns, if no column can have them; and in both all files of rsync's directory for delayed
 * updates (NODE_DRAFTS). Drafts live in memory, no listing shows them, and they end with the mount.
 * A rename to a timestamp or to a column makes the draft that cell, which rsync and editors rely
 * on. The directory of a draft exists as long as the draft, or is removed with it.
 *
 * To a write session a draft is like a cell: a whole value, which a commit replaces. Any thread may
 * call these functions.
 */
#ifndef FS_DRAFT_H
#define FS_DRAFT_H

#include "fs/fs.h"
#include "fs/inode/node.h"
#include "fs/value/value.h"

#define DRAFTS_MAX    1000u	  /* at once */
#define DRAFTS_MEMORY (64u << 20) /* bytes of all together; other values are in files */

struct drafts;
struct drafts *drafts_new(void); /* NULL: no memory */
/* Called after nodes_free. */
void drafts_free(struct drafts *drafts);
size_t drafts_count(const struct drafts *drafts);

/* The draft's time, size and etag, and its value with a reference unless value is NULL. -ENOENT. */
int draft_get(struct fs *fs, struct file_id id, struct wcs_cell_info *info, struct value **value);

/* Reserves room for a new draft, so that its commit does not fail for lack of it. -ENOSPC: there
 * are DRAFTS_MAX, with those reserved. */
int drafts_reserve(struct fs *fs);
/* Gives back a reservation. */
void drafts_unreserve(struct fs *fs);

/*
 * Sets value and time of a draft in dir. before: the etag that the draft must have, 0: there must
 * be none; NULL: any state. reserved: it uses a reservation if it makes the draft. -EAGAIN: the
 * draft is not as `before` says; -ENOSPC; or an error of a file, -EIO or -EMFILE.
 */
int draft_put(struct fs *fs, struct node *dir, struct file_id id, struct value *value, int64_t ts,
	      const uint32_t *before, bool reserved);

/* Turns a stored version into a draft in dir with that time. */
int draft_of_version(struct fs *fs, struct node *dir, struct file_id id, const struct pos *version,
		     int64_t ts);

/* Sets the time. -ENOENT. */
int draft_stamp(struct fs *fs, struct file_id id, int64_t ts);

/* Removes it; a file that is open for reading keeps its value. -ENOENT. */
int draft_remove(struct fs *fs, struct file_id id);

/* Removes the drafts at or below a directory (plain: of its node), in families of that name, or in
 * all (NULL). */
void drafts_remove(struct fs *fs, uint64_t plain, const char *family);

/* Renames it within its directory to another name, over a draft of that name. -ENOENT. */
int draft_rename(struct fs *fs, struct file_id from, struct file_id to);

#endif
