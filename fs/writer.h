/* SPDX-License-Identifier: MIT */
/*
 * Write sessions: what an open file has written and not yet committed. A session makes at most one
 * new version of its cell, each time whole. Its node is its own, so that the kernel's page cache
 * of it is seen by nobody who reads a stored value.
 *
 * A session comes to be by CREATE, or in three steps, since the kernel opens the node that it
 * looked up: OPEN for writing of a stored value's node is answered with ESTALE (promise.h), the
 * kernel repeats the LOOKUP, that gets a session's node (writers_lookup), and opens it.
 *
 * Any thread may call these. No registry lock is held across a call of the store; the lock of one
 * session is, while it commits, so that what is committed is one state of it.
 */
#ifndef FS_WRITER_H
#define FS_WRITER_H

#include "fs.h"
#include "spell.h"

struct writer;
struct writers;

/* What became of the versions of a column that was renamed. */
struct writer_moved {
	bool merged;	/* only the newest is left, as a version of another column */
	int64_t newest; /* the timestamp of the newest before */
	int64_t now;	/* and its timestamp now */
};

struct writers *writers_new(void); /* NULL: no memory */
void writers_free(struct writers *writers);

/* Is the node a session's that this thread may open: looked up for it, or of a name that its
 * process makes? */
bool writer_is_for(const struct node *node, pid_t thread);

/* A session that this thread's process has open for the node's name; with one reference. -ENOENT.
 */
int writers_own(struct fs *fs, pid_t thread, const struct node *node, struct node **session);

/* A session for the name of any node, with a node that the kernel does not know. */
int writers_reopen(struct fs *fs, pid_t thread, const struct node *node, struct node **session);

/* The promised session's node for a lookup of a stored cell, with one reference. -ENOENT: none was
 * promised. */
int writers_lookup(struct fs *fs, pid_t thread, struct node *dir, const struct spelled *child,
		   const struct wcs_cell_info *info, struct node **node);

/* The session's node of a new cell that the same process made and has not committed, with one
 * reference. -ENOENT: there is none. */
int writers_hidden(struct fs *fs, pid_t thread, const struct node *dir, const struct spelled *child,
		   struct node **node);

/* Is the name reserved by a session that makes it, with O_EXCL? */
bool writers_reserved(struct fs *fs, const struct node *dir, const struct spelled *child);

/* Makes the session of a new cell. exclusive: its name is reserved. */
int writers_create(struct fs *fs, pid_t thread, struct node *dir, const struct spelled *child,
		   bool exclusive, struct node **node);

/* The cell's name was removed: what its sessions still write goes nowhere. True if a session of
 * this process had made the name and not committed. dir: the directory that holds the name. */
bool writers_detach(struct fs *fs, pid_t thread, const struct node *dir,
		    const struct spelled *child);

/* Makes the session of a draft. */
int writers_draft(struct fs *fs, pid_t thread, struct node *dir, const struct spelled *child,
		  struct node **node);

/* Commits a draft as the cell of that position. */
int writer_publish(struct node *draft, const struct pos *pos);

/* Makes a draft's content that of a cell. */
int writer_load(struct fs *fs, struct node *draft, const struct pos *pos);

/* The name from becomes the name to, both in dir: its sessions go with it, those of `to` are
 * detached. moved: NULL where nothing of `from` was stored. -ENOENT: then no session of this
 * thread's process was making `from` either. */
int writers_rename(struct fs *fs, pid_t thread, const struct node *dir, const struct spelled *from,
		   const struct spelled *to, const struct writer_moved *moved);

/* Frees a session; for its node only. */
void writer_free(struct writer *writer);

/* The size and time to show. */
void writer_stat(struct writer *writer, uint64_t *size, int64_t *time);

/* One more open file on the session's node; flags of open(2). -ENOENT: the cell has gone;
 * -EOPNOTSUPP: of its type. */
int writer_open(struct fs *fs, struct node *node, int flags, pid_t thread);

int writer_read(struct writer *writer, void *buf, size_t len, uint64_t offset, size_t *got);

/* Writes at offset, but behind all that is there where the file was opened to append; mapped: from
 * a page, which stays at its place. -EFBIG, -ENOSPC and the like: what cannot be committed for its
 * size is refused here. */
int writer_write(struct fs *fs, struct writer *writer, const void *data, size_t len,
		 uint64_t offset, bool mapped);

/* Cuts or grows it; commits at once where no file is open on it (truncate(2)). */
int writer_resize(struct fs *fs, struct node *node, off_t size);

/* Sets the time of the version that the session makes. */
int writer_stamp(struct node *node, int64_t stamp);

/* A close of one descriptor by that thread: commits if its process opened the file and something
 * was written or resized; if a signal killed it, nothing of the session is committed any more. */
int writer_flush(struct node *node, pid_t thread);

/* Commits what is not committed, before an fsync. */
int writer_commit(struct node *node);

/* Nothing of the session is committed any more. */
void writer_abort(struct node *node);

/* One open file less; the last one commits what remains, created or truncated only. */
int writer_close(struct fs *fs, struct node *node);

#endif
