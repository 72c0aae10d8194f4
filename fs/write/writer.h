/* SPDX-License-Identifier: MIT */
/*
 * Write sessions: what an open file has written and not yet committed. A session makes at most one
 * new version of its cell, or one value of a draft, each time whole; that of an aggregate's cell
 * merges the lines that it is given (writer_lines.c). Its node is its own, so that
 * the kernel's page cache of it is seen by nobody who reads a committed value.
 *
 * A session comes to be by CREATE, or in three steps, since the kernel opens the node that it
 * looked up: OPEN for writing of a stored value's node is answered with ESTALE (retry.h), the
 * kernel repeats the LOOKUP, that gets a session's node (writers_lookup), and opens it.
 *
 * Locks. A family's lock (writers_share, writers_exclude) is held across calls of the store: by
 * who opens or commits a session or stamps a cell, with others; by who renames or removes a file
 * there, or makes one with O_EXCL, alone. So a commit goes wholly before or behind the rename of
 * its column, in whichever tree. Below it comes the lock of one session, which is held while it
 * commits too, so that what is committed is one state of it. No lock of the registry is held across
 * a call of the store. Each function says whether its caller holds the family's lock.
 */
#ifndef FS_WRITER_H
#define FS_WRITER_H

#include "fs/fs.h"
#include "fs/names/spell.h"

struct writer;
struct writers;

struct caches;
/* Sessions that are open hold their columns there. NULL: no memory. */
struct writers *writers_new(struct caches *caches);
void writers_free(struct writers *writers);
size_t writers_count(const struct writers *writers);

/* The lock of the family that the node is in, with others or alone; not to be taken twice. */
void writers_share(struct fs *fs, const struct node *node);
void writers_exclude(struct fs *fs, const struct node *node);
void writers_release(struct fs *fs, const struct node *node);

/* ---- Which there are; without the family's lock where nothing else is said ---------------- */

/* Is the node a session's that this thread may open: looked up for it, or of a name that its
 * process makes? Not to read where the name was removed since. */
bool writer_is_for(const struct node *node, pid_t thread, bool write);

/* A session that this thread's process has open for the node's name; with one reference. -ENOENT.
 */
int writers_own(struct fs *fs, pid_t thread, const struct node *node, struct node **session);

/* A session for the name of any node, with a node that the kernel does not know. */
int writers_reopen(struct fs *fs, pid_t thread, const struct node *node, struct node **session);

/* The promised session's node for a lookup of a stored cell or a draft, with one reference.
 * -ENOENT: none was promised. */
int writers_lookup(struct fs *fs, pid_t thread, struct node *dir, const struct spelled *child,
		   const struct wcs_cell_info *info, struct node **node);

/* The session's node of a new file that the same process made and has not committed, with one
 * reference. -ENOENT: there is none. */
int writers_hidden(struct fs *fs, pid_t thread, const struct node *dir, const struct spelled *child,
		   struct node **node);

/* Is the name reserved by a session that makes it, with O_EXCL? */
bool writers_reserved(struct fs *fs, const struct node *dir, const struct spelled *child);

/* Makes the session of a new file. exclusive: its name is reserved. */
int writers_create(struct fs *fs, pid_t thread, struct node *dir, const struct spelled *child,
		   bool exclusive, struct node **node);

/* The file was removed, a column with its history: what its sessions still write goes nowhere. Of
 * those that make a name, which nobody else sees, only this process's of just that name. Family's
 * lock: alone. */
void writers_detach(struct fs *fs, pid_t thread, enum node_kind kind, struct file_id id);

/* The history was removed, and its drafts with it; the same. Family's lock: alone. */
void writers_detach_drafts(struct fs *fs, uint64_t column);

/* A directory was removed, told by `plain`, and the drafts at or below it with it; the same. When
 * it returns none of them is committed any more. Family's lock: not held. */
void writers_detach_drafts_below(struct fs *fs, uint64_t plain);

/* All rows at or below a directory of segments, or of a table, or a family of them (NULL: all), are
 * about to be dropped: the same for what is in them, but nothing of those that make a name. When it
 * returns none of them commits any more. Family's lock: not held. */
void writers_detach_below(struct fs *fs, const struct node *dir, const char *family);

/* Returns when what is committed, renamed or removed at the moment is. Family's lock: not held. */
void writers_barrier(struct fs *fs);

/* What a name stands for that a session goes to. */
struct writer_target {
	enum node_kind kind; /* NODE_CELL, NODE_VERSION or NODE_DRAFT */
	struct file_id id;
	struct wcs_slice qualifier; /* but of a draft */
	int64_t ts;		    /* WCS_TS_NEWEST, or of a version */
};

/* What became of the versions of a file that was renamed. */
struct writer_moved {
	bool merged;	/* only the newest is left, as a version of another column */
	int64_t newest; /* the timestamp of the newest before */
	int64_t now;	/* and its timestamp now */
};

/* The file `from` became `to`: its sessions go with it, those of what `to` was are detached.
 * moved: NULL where nothing of `from` was stored. -ENOENT: then no session of this thread's process
 * was making `from` either. Family's lock: alone. */
int writers_rename(struct fs *fs, pid_t thread, struct file_id from, const struct writer_target *to,
		   const struct writer_moved *moved);

/* The same for the versions of a column that became another. */
int writers_rename_history(struct fs *fs, uint64_t column, const struct writer_target *to,
			   const struct writer_moved *moved);

/* ---- One session ------------------------------------------------------------------------- */

/* Frees a session; for its node only. */
void writer_free(struct writer *writer);

/* Was its name removed or replaced? */
bool writer_is_unlinked(const struct writer *writer);

/* The size and time to show. */
void writer_stat(struct writer *writer, uint64_t *size, int64_t *time);

/* One more open file on the session's node; flags of open(2). -ENOENT: the cell has gone;
 * -EOPNOTSUPP: an inthll, with O_EXCL; -ENOSPC: there are too many drafts. Family's lock: shared.
 */
int writer_open(struct fs *fs, struct node *node, int flags, pid_t thread);

int writer_read(struct node *node, void *buf, size_t len, uint64_t offset, size_t *got);

/* Writes at offset, but behind all that is there where the file was opened to append; mapped: from
 * a page, which stays at its place. -EFBIG, -ENOSPC and the like: what cannot be committed for its
 * size is refused here. After an error the session commits nothing any more, and every later write
 * and commit returns that error. */
int writer_write(struct fs *fs, struct writer *writer, const void *data, size_t len,
		 uint64_t offset, bool mapped);

/* Do its bytes go past the kernel's pages? Once it is open, the same for all its open files, which
 * so see the same. Lines are taken by the write that brings them; and what is opened to write only
 * cannot be mapped, so its pages would be of use to nobody, while they cost a copy and, before each
 * write(2), a question for attributes that would have to go with it. Not where each write(2) is
 * to be durable: past the pages it comes in pieces, each as if it were one. */
bool writer_is_direct(const struct node *node);

/* A write failed outside of writer_write: the same. */
void writer_fail(struct node *node, int error);
/* Has a write failed, or a line been refused? Both are reported then. */
bool writer_failed(const struct node *node);

/* Does it take lines? Once it is open. */
bool writer_takes_lines(const struct node *node);

/* Writes to a session that takes lines: append: wherever the offset is, for O_APPEND. *taken: bytes
 * that it took, fewer than len where a line behind them cannot be, or none, with an error. *merged:
 * the cell has become another, perhaps in spite of an error. The errors of lines are reported.
 * Family's lock: shared. */
int writer_write_lines(struct fs *fs, struct node *node, const void *data, size_t len,
		       uint64_t offset, bool append, size_t *taken, bool *merged);

/* Cuts or grows it; commits at once where no file is open on it (truncate(2)). A failure counts as
 * a failed write. Family's lock: shared. */
int writer_resize(struct fs *fs, struct node *node, off_t size);

/* Sets the time of the version that the session makes. Family's lock: shared. */
int writer_stamp(struct fs *fs, struct node *node, int64_t stamp);

/* A close of one descriptor by that thread: commits if its process opened the file and something
 * was written or resized; if a signal killed it, nothing of the session is committed any more.
 * Family's lock: shared. */
int writer_flush(struct fs *fs, struct node *node, pid_t thread);

/* Commits what is not committed, before an fsync. Family's lock: shared. */
int writer_commit(struct fs *fs, struct node *node);

/* Its node is about to be handed out by a lookup that began with the mark, for the usual spelling
 * of its column (cache.h). */
struct cache_mark;
void writer_found(struct node *node, const struct cache_mark *mark);

/* The kernel came with its node: if it was looked up, what was kept of its column has given way to
 * it. False: that is not known. Family's lock: shared. */
bool writer_replaces(struct fs *fs, struct node *node);

/* The kernel keeps no entry of its column any more, but those made from now on. Waits: without a
 * lock. */
void writer_expire(struct fs *fs, struct node *node);

/* Nothing of the session is committed any more. */
void writer_abort(struct node *node);

/* One open file less; the last one commits what remains, created or truncated only. Family's lock:
 * shared. */
int writer_close(struct fs *fs, struct node *node);

#endif
