/* SPDX-License-Identifier: MIT */
/*
 * Write sessions: the uncommitted state of a file that is open for writing. A session makes at most
 * one new version of its cell, or one value of a draft, each time as a whole; a session of an
 * aggregate's cell merges lines instead (writer_lines.c). A session has its own node, so the
 * kernel's page cache never shows uncommitted bytes to a reader of a committed value.
 *
 * CREATE makes a session at once. Otherwise it takes three steps, because the kernel opens the node
 * that it looked up: OPEN for writing of a stored value's node answers ESTALE (retry.h), the kernel
 * repeats the LOOKUP, which returns the node of a new session (writers_lookup), and opens that.
 *
 * Locks. A family's lock (writers_share, writers_exclude) may be held across calls of the store:
 * shared to open or commit a session or to stamp a cell, exclusive to rename or remove a file there
 * or to make one with O_EXCL. A commit therefore lies wholly before or after a rename of its
 * column, in either tree. Below it comes the lock of one session, which is also held during its
 * commit, so a commit contains one state. The registry's lock is never held across a call of the
 * store. Each function says which lock its caller holds.
 */
#ifndef FS_WRITER_H
#define FS_WRITER_H

#include "fs/fs.h"
#include "fs/names/spell.h"

struct cache_mark;

/* Open sessions hold their columns in caches. NULL: no memory. */
struct writers *writers_new(struct caches *caches);
void writers_free(struct writers *writers);
size_t writers_count(const struct writers *writers);

/* Takes and releases the lock of the family that the node is in. A thread takes it once. */
void writers_share(struct fs *fs, const struct node *node);
void writers_exclude(struct fs *fs, const struct node *node);
void writers_release(struct fs *fs, const struct node *node);

/* ---- The registry; the caller holds no family's lock unless it says so --------------------- */

/* May this thread open the session of the node? It may if it looked the session up, or if its
 * process makes the file. A removed file may not be opened to read. */
bool writer_is_for(const struct node *node, pid_t thread, bool write);

/* The node of the session of that file that this thread's process opened first, with a reference;
 * NULL: there is none. hidden: only a session whose file no other process sees yet. */
struct node *writers_own(struct fs *fs, pid_t thread, struct file_id id, bool hidden);

/* A new session for the name of any node; the kernel does not know the session's node. */
int writers_reopen(struct fs *fs, pid_t thread, const struct node *node, struct node **session);

/* A lookup of a stored cell or a draft: the node of a new session, with a reference, if the lookup
 * is part of a retry that wants to write. -ENOENT: it is not. */
int writers_lookup(struct fs *fs, pid_t thread, struct node *dir, const struct spelled *child,
		   const struct wcs_cell_info *info, struct node **node);

/* Does a session make that file with O_EXCL, and is the name therefore reserved? */
bool writers_reserved(struct fs *fs, const struct node *dir, const struct spelled *child);

/* Makes the session of a new file. exclusive: reserves its name. */
int writers_create(struct fs *fs, pid_t thread, struct node *dir, const struct spelled *child,
		   bool exclusive, struct node **node);

/*
 * A detached session commits nothing any more. A session that makes a new file is seen by its
 * process alone, so removals by other processes do not detach it.
 */

/* The file was removed; history: with its versions. replaced: a session that is not open yet will
 * find the new file, and stays. Family's lock: exclusive. */
void writers_detach(struct fs *fs, pid_t thread, struct file_id id, bool history, bool replaced);

/* All rows at or below a directory of segments or a table (plain: of its node), or one family of
 * them (NULL: all), are about to be dropped. Sessions that make a new file stay. drafts: the
 * directory was removed instead, with the drafts at or below it. On return no commit of the
 * detached sessions is under way. */
void writers_detach_below(struct fs *fs, uint64_t plain, bool drafts, const char *family);

/* A barrier: waits for all commits, renames and removals that are under way. */
void writers_barrier(struct fs *fs);

/* The name that a session writes to. */
struct writer_target {
	enum node_kind kind; /* NODE_CELL, NODE_VERSION or NODE_DRAFT */
	struct file_id id;
	struct wcs_slice qualifier; /* not of a draft */
	int64_t ts;		    /* WCS_TS_NEWEST, or of a version */
};

/* The effect of a rename on the versions of a file. */
struct writer_moved {
	bool history;	/* the file is a column: its versions are moved, too */
	bool merged;	/* only the newest is left, as a version of another column */
	int64_t newest; /* the timestamp of the newest before */
	int64_t now;	/* its timestamp now */
};

/* The file `from` was renamed to `to`: its sessions follow, those of the replaced file are
 * detached. moved: NULL if nothing of `from` was stored. -ENOENT: nor did a session of this process
 * make `from`. Family's lock: exclusive. */
int writers_rename(struct fs *fs, pid_t thread, struct file_id from, const struct writer_target *to,
		   const struct writer_moved *moved);

/* ---- One session ------------------------------------------------------------------------- */

/* Frees a session; for the inode table only. */
void writer_free(struct writer *writer);

/* Was its file removed or replaced? */
bool writer_is_unlinked(const struct writer *writer);

/* The size and time to show. */
void writer_stat(struct writer *writer, uint64_t *size, int64_t *time);

/* Opens a file on the session's node; flags of open(2). -ENOENT: the cell is gone; -EOPNOTSUPP: an
 * inthll with O_EXCL; -ENOSPC: DRAFTS_MAX; -EROFS: the store failed. Family's lock: shared. */
int writer_open(struct fs *fs, struct node *node, int flags, pid_t thread);

int writer_read(struct node *node, void *buf, size_t len, uint64_t offset, size_t *got);

/* Writes at offset or, if the file was opened to append, at the end. mapped: from a page, which
 * stays at its offset. Refuses bytes that no commit could store: -EFBIG, -ENOSPC. After an error
 * the session commits nothing, and each later write and commit returns that error. */
int writer_write(struct fs *fs, struct writer *writer, const void *data, size_t len,
		 uint64_t offset, bool mapped);

/*
 * Do its bytes bypass the kernel's pages? The same for all its open files, which therefore see the
 * same bytes. True for lines, which the write that brings them merges, and for a file opened to
 * write only: it cannot be mapped, and pages would cost a copy and a GETATTR before each write(2).
 * False with O_DSYNC, where each piece that bypasses the pages would be durable on its own. Call it
 * once the session is open.
 */
bool writer_is_direct(const struct node *node);

/* A write failed outside of writer_write, with the same effect. */
void writer_fail(struct node *node, int error);
/* Has a write failed, or a line been refused? Both were reported then. */
bool writer_failed(const struct node *node);

/* Does it take lines? Call it once the session is open. */
bool writer_takes_lines(const struct node *node);

/* Writes to a session that takes lines; append: at whatever offset (O_APPEND). *taken: bytes that
 * it took; fewer than len if a later line is refused, or 0 with an error. *merged: the cell has
 * changed, perhaps despite an error. Errors of lines are reported. Family's lock: shared. */
int writer_write_lines(struct fs *fs, struct node *node, const void *data, size_t len,
		       uint64_t offset, bool append, size_t *taken, bool *merged);

/* Truncates or grows it; commits at once if no file is open on it (truncate(2)). An error counts as
 * a failed write. Family's lock: shared. */
int writer_resize(struct fs *fs, struct node *node, off_t size);

/* Sets the time of the version that the session makes. Family's lock: shared. */
int writer_stamp(struct fs *fs, struct node *node, int64_t stamp);

/* Commits a session. closing NULL (fsync): all that is not committed. Else that thread closes one
 * descriptor: commits only if its process opened the file and has written or resized it; if a
 * signal killed the process, the session commits nothing any more. Family's lock: shared. */
int writer_commit(struct fs *fs, struct node *node, const pid_t *closing);

/* A lookup that began with the mark is about to return the session's node, for the usual spelling
 * of its column (cache.h). */
void writer_found(struct node *node, const struct cache_mark *mark);

/* The kernel sent a request with the session's node. Has that node certainly replaced the dentry of
 * its column? Family's lock: shared. */
bool writer_replaces(struct fs *fs, struct node *node);

/* Invalidates the dentry of its column. Waits for the kernel; the caller holds no lock. */
void writer_expire(struct fs *fs, struct node *node);

/* The session commits nothing any more. */
void writer_abort(struct node *node);

/* Closes one file; the last close commits a creation or truncation that was not committed. Family's
 * lock: shared. */
int writer_close(struct fs *fs, struct node *node);

#endif
