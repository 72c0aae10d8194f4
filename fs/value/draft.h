/* SPDX-License-Identifier: MIT */
/*
 * Drafts: files that are no cells. In a history a name with a leading dot is one, or `sed` with six
 * characters; in a family the temporary names that rsync gives to columns which have no other; and
 * all files of rsync's directory for delayed updates, in both (NODE_DRAFTS). They are kept in
 * memory, listed nowhere, and gone with the mount. Renamed to a timestamp, or to a
 * column, a draft becomes that cell: so rsync and editors, which write to a temporary name, work.
 * The directory that a draft is in exists as long as the draft, or until it is removed with it.
 *
 * A draft is to a write session what a cell of the store is: a value as a whole, which a commit
 * replaces. Any thread may call these.
 */
#ifndef FS_DRAFT_H
#define FS_DRAFT_H

#include "fs/fs.h"
#include "fs/inode/node.h"
#include "fs/value/value.h"

#define DRAFTS_MAX    1000u	  /* at once */
#define DRAFTS_MEMORY (64u << 20) /* bytes of all together; what would not fit is in files */

struct drafts;
struct drafts *drafts_new(void); /* NULL: no memory */
/* The inode table has gone. */
void drafts_free(struct drafts *drafts);
size_t drafts_count(struct drafts *drafts);

/* The draft's time, size and etag, and if value is not NULL its value. -ENOENT. */
int draft_get(struct fs *fs, struct file_id id, struct wcs_cell_info *info, struct value **value);

/* Makes room for one that is to come, so that its commit does not fail for it. -ENOSPC: there are
 * DRAFTS_MAX, those to come included. */
int drafts_reserve(struct fs *fs);
/* Gives that back. */
void drafts_unreserve(struct fs *fs);

/* What a draft must be for draft_put to replace it. */
struct draft_before {
	bool any;      /* whatever it is */
	uint32_t etag; /* else: with this etag; 0: not there */
};

/*
 * Gives the draft, which is in dir, that value and time. reserved: room for it was reserved; when
 * it is made, that is given back. -EAGAIN: it is not as `before` says. -ENOSPC; and errors of a
 * file, -EIO, -EMFILE.
 */
int draft_put(struct fs *fs, struct node *dir, struct file_id id, struct value *value, int64_t ts,
	      const struct draft_before *before, bool reserved);

/* Sets its time. -ENOENT. */
int draft_stamp(struct fs *fs, struct file_id id, int64_t ts);

/* Takes it away: who has it open to read keeps it. -ENOENT. */
int draft_remove(struct fs *fs, struct file_id id);

/* Takes away all of a history. */
void drafts_remove_all(struct fs *fs, uint64_t column);

/* Takes away all at or below a directory, told by node.plain; family: in families of that name;
 * NULL: in all. */
void drafts_remove_below(struct fs *fs, uint64_t plain, const char *family);

/* Gives it another name in the same directory, in place of a draft of that name. -ENOENT. */
int draft_rename(struct fs *fs, struct file_id from, struct file_id to);

#endif
