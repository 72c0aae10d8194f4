/* SPDX-License-Identifier: MIT */
/*
 * The inside of a write session, shared by its files, from bottom to top: the registry (writers.c),
 * lines (writer_lines.c), bytes (writer_bytes.c), then renames (writers_move.c), commits
 * (writer_commit.c) and open files (writer.c).
 */
#ifndef FS_WRITER_PRIVATE_H
#define FS_WRITER_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "fs/cache/cache.h"
#include "fs/value/spool.h"
#include "fs/value/value.h"
#include "fs/write/writer.h"

/* The state of a session that takes lines. */
struct writer_lines {
	bool on; /* it takes lines; set by the first open */
	enum wcs_type type;
	uint64_t end;  /* bytes: the size to show, and the offset of the next write */
	bool replaces; /* the next line replaces the number */
	bool whole;    /* its file was created or truncated */
	char *text;    /* of the line that has no newline yet */
	size_t len, room;
	uint64_t number; /* of the next line, from 1 */
	const char *why; /* the reason of the refusal under way; static */
};

struct writer {
	pthread_mutex_t lock;
	unsigned handles;  /* open files. Lock: lock, as all below */
	bool direct;	   /* opened to write only; constant while a file is open, then read without
			    * lock */
	bool append;	   /* opened to append, and did nothing else so far */
	bool pending;	   /* created or truncated, and not committed since */
	bool truncated;	   /* pending, and truncated */
	bool dirty;	   /* written or resized, and not committed since; lines: one has begun */
	bool stamped;	   /* stamp is the time of the version to be made */
	bool reserved;	   /* it has a reservation for the draft that it makes */
	_Atomic int error; /* of the first write that failed: it commits nothing any more */
	int64_t stamp;
	int64_t committed; /* timestamp of the version that it made; negative: none yet */
	int64_t time;	   /* to show */
	uint64_t final_size;
	struct value *base;
	struct spool spool;
	size_t appended; /* bytes of spool that a commit has appended */
	struct writer_lines lines;

	atomic_bool hidden;   /* it makes a file that no other process sees yet */
	atomic_bool unlinked; /* its file was removed: it commits nothing any more */
	atomic_bool aborted;  /* its process was killed: the same */

	pid_t thread;	       /* that looked it up or created it; constant */
	_Atomic pid_t process; /* that opened it first; 0: none yet */
	bool exclusive;	       /* its name is reserved while it is hidden */
	bool found;	       /* by a lookup, which has set mark */
	struct cache_mark mark;

	/* Changes under the exclusive lock of its family together with its own and the registry's;
	 * each of them is enough to read it. */
	struct writer_target target; /* owns its qualifier; data NULL: the node's */

	struct writers *registry; /* that it is in, or NULL. Locks: both, as next; one to read */
	struct writer *next;
	struct node *node; /* set when it enters the registry */
};

/* Does it make a file that no other process sees yet, and will it still? */
static inline bool writer_hidden(const struct writer *writer)
{
	return writer->hidden && !writer->unlinked && !writer->aborted;
}

/* ---- Its bytes; lock: the session's -------------------------------------------------------- */

/* Its size before the tail. */
uint64_t writer_base_size(const struct writer *writer);
void writer_drop_base(struct writer *writer);

/* Takes the newest value as its base. -ENOENT, unless it makes the file. */
int writer_load_base(struct fs *fs, struct node *node, struct writer *writer);

/* Makes *whole of a value (NULL: none) and the session's bytes from `from` on. -EFBIG. */
int writer_join(struct fs *fs, struct writer *writer, struct value *value, size_t from,
		struct spool *whole);

/* Copies the base in front of the tail. After an error the session is as before. */
int writer_make_whole(struct fs *fs, struct writer *writer);

/* Empties it, as O_TRUNC does. */
int writer_truncate_all(struct fs *fs, struct writer *writer);

/* ---- Its lines; locks: the session's, and the family's, shared ------------------------------- */

/* Takes lines for a cell of that type; cleared before. needs_number: the cell must exist, unless
 * the session makes it. -ENOENT; -EOPNOTSUPP: an inthll with O_EXCL. */
int writer_lines_open(struct fs *fs, const struct node *node, struct writer *writer,
		      enum wcs_type type, int flags, bool needs_number);

/* Reads the stored cell as it is now. The family's lock is not needed. */
int writer_lines_read(const struct node *node, void *buf, size_t len, uint64_t offset, size_t *got);

/* The next line replaces the number, which stays until then. */
void writer_lines_truncate(struct writer *writer);

/* Merges a line that has no newline. Reports its error. */
int writer_lines_end(struct fs *fs, const struct node *node, struct writer *writer);

/* The last close, after writer_lines_end: reports a file that was made or truncated without a line
 * written to it, and frees the text. */
void writer_lines_close(struct fs *fs, const struct node *node, struct writer *writer);

/* ---- Its commits; locks: the family's, shared, and the session's ----------------------------- */

/* Commits all that it has, if its file is still there. */
int writer_commit_all(struct fs *fs, struct node *node, struct writer *writer);

/* At the last close: gives a stamp that no version took to the stored cell. */
int writer_stamp_stored(struct fs *fs, const struct node *node, struct writer *writer);

/* ---- The registry -------------------------------------------------------------------------- */

enum { WRITERS_BUCKETS = 256, WRITERS_FAMILIES = 64 };

struct writers {
	pthread_mutex_t lock;
	struct writer *open[WRITERS_BUCKETS]; /* by the column. Lock: lock */
	_Atomic size_t count;		      /* of open; may be read without the lock, as a hint */
	pthread_rwlock_t families[WRITERS_FAMILIES]; /* by the family's st_ino */
	struct caches *caches;
};

/* The position that the session of a node writes to. Lock: the family's, or the session's. */
int writer_pos(const struct node *node, struct pos *pos);

/* Adds a session, unless it is in the registry; removes it, if it is. */
void writers_remember(struct fs *fs, struct writer *writer, struct node *node);
void writers_forget(struct writer *writer);

/* With the registry's lock: the sessions of a column; adding and removing a session where its
 * target says. */
struct writer **writers_bucket(struct writers *writers, uint64_t column);
void writers_put_in(struct writers *writers, struct writer *writer);
void writers_take_out(struct writers *writers, struct writer *writer);

#endif
