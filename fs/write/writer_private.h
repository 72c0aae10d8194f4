/* SPDX-License-Identifier: MIT */
/*
 * The inside of a write session, shared by its open files (writer.c), its bytes (writer_bytes.c),
 * its commits (writer_commit.c) and the registry (writers.c, writers_move.c).
 */
#ifndef FS_WRITER_PRIVATE_H
#define FS_WRITER_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "fs/cache/cache.h"
#include "fs/value/spool.h"
#include "fs/value/value.h"
#include "fs/write/writer.h"

/* Of a session that takes lines. */
struct writer_lines {
	bool on; /* it does; set by the first open */
	enum wcs_type type;
	uint64_t end;  /* bytes, to show, and where what comes next must be written */
	bool replaces; /* the next line is in place of what is there */
	bool whole;    /* its file was created or truncated */
	char *text;    /* of the line that is not ended */
	size_t len, room;
	uint64_t number; /* of the next line, from 1 */
	const char *why; /* of what is about to be refused; static */
};

struct writer {
	pthread_mutex_t lock;
	unsigned handles; /* open files. Lock: lock, as all below */
	bool direct;	  /* opened to write only: see writer_is_direct */
	bool append;	  /* opened to append, and has done nothing else so far */
	bool pending;	  /* created or truncated, and not committed since */
	bool truncated;	  /* of these, truncated */
	bool dirty;	  /* written or resized, and not committed since; of lines: one is begun */
	bool stamped;	  /* stamp is the time of the version to be made */
	bool reserved;	  /* room for the draft that it makes was reserved */
	int error;	  /* of the first write that failed, after which nothing is committed */
	int64_t stamp;
	int64_t committed; /* timestamp of the version it made; negative: none yet */
	int64_t time;	   /* what to show as its time */
	uint64_t final_size;
	struct value *base;
	struct spool spool;
	size_t appended; /* bytes of spool that a commit has appended */
	struct writer_lines lines;

	atomic_bool hidden;   /* makes a name that nobody else sees yet */
	atomic_bool unlinked; /* its name was removed: it commits nothing more */
	atomic_bool aborted;  /* its writer was killed: the same */

	pid_t thread;	       /* it was looked up or created for; constant */
	_Atomic pid_t process; /* of whoever opened it first; 0: nobody yet */
	bool exclusive;	       /* its name is reserved while it is hidden */
	bool found;	       /* set by its lookup, as mark is */
	struct cache_mark mark;

	/* What it writes to. Changes under its family's lock, alone, together with its own and the
	 * registry's: each of them is enough to read it. */
	struct writer_target target;
	char *renamed; /* target's qualifier, where its node has another; NULL */

	struct writers *registry; /* that it is in; NULL: none. Lock: both, as next; one to read */
	struct writer *next;
	struct node *node; /* set when it enters the registry */
};

/* Does it make a name that nobody else sees yet, and will it? */
static inline bool writer_hidden(const struct writer *writer)
{
	return writer->hidden && !writer->unlinked && !writer->aborted;
}

/* ---- Its bytes; lock: the session's -------------------------------------------------------- */

/* Its size before the tail. */
uint64_t writer_base_size(const struct writer *writer);
void writer_drop_base(struct writer *writer);

/* Takes the newest value as its base. -ENOENT, but not where it makes the name. */
int writer_load_base(struct fs *fs, struct node *node, struct writer *writer);

/* Copies base in front of the tail. A session that cannot be made whole stays as it is. */
int writer_make_whole(struct fs *fs, struct writer *writer);

/* Empties it, as O_TRUNC does. */
int writer_truncate_all(struct fs *fs, struct writer *writer);

/* ---- Its lines; lock: the session's, and the family's, shared -------------------------------- */

/* It takes none, and has nothing of one. */
void writer_lines_clear(struct writer *writer);

/* Begins to, for a cell of that type; cleared before. needs_number: the cell must be there, but not
 * where the session makes the name. -ENOENT; -EOPNOTSUPP: with O_EXCL, an inthll. */
int writer_lines_open(struct fs *fs, const struct node *node, struct writer *writer,
		      enum wcs_type type, int flags, bool needs_number);

/* As the stored cell is now. Without the family's lock. */
int writer_lines_read(const struct node *node, void *buf, size_t len, uint64_t offset, size_t *got);

/* The next line replaces the number; until then it is what it was. */
void writer_lines_truncate(struct writer *writer);

/* alone: no file is open, so no line could follow. -EINVAL: to a size that is neither 0 nor its
 * own.
 */
int writer_lines_resize(struct fs *fs, const struct node *node, struct writer *writer,
			uint64_t size, bool alone);

/* Merges a line that is not ended. Why it fails is reported. */
int writer_lines_end(struct fs *fs, const struct node *node, struct writer *writer);

/* The last close, behind that: reports where nothing was written to a file that was made or
 * truncated for it, and keeps no text. */
void writer_lines_close(struct fs *fs, const struct node *node, struct writer *writer);

/* ---- Its commits; locks: the family's, shared, and the session's ----------------------------- */

/* Commits what it has, if its name is still there. */
int writer_commit_all(struct fs *fs, struct node *node, struct writer *writer);

/* At the last close: a stamp that no version took goes to the cell that is there. */
int writer_stamp_stored(struct fs *fs, const struct node *node, struct writer *writer);

/* ---- The registry -------------------------------------------------------------------------- */

enum { WRITERS_BUCKETS = 256, WRITERS_FAMILIES = 64 };

struct writers {
	pthread_mutex_t lock;
	struct writer *open[WRITERS_BUCKETS]; /* by the column. Lock: lock, as all below */
	_Atomic size_t count;		      /* of open; may be read without the lock, as a hint */
	pthread_rwlock_t families[WRITERS_FAMILIES]; /* by the family's st_ino */
	struct caches *caches;
};

/* Puts a session in the registry, where it may be already, and takes it out, if it is there. */
void writers_remember(struct fs *fs, struct writer *writer, struct node *node);
void writers_forget(struct writer *writer);

/* The position that the session of a node writes to. Lock: the family's, or the session's. */
int writer_pos(const struct node *node, struct pos *pos);

/* Is there no session at all? */
bool writers_none(const struct writers *writers);

/* The session in which that thread's process makes this name, unseen by others, with a reference to
 * its node; NULL: there is none. */
struct writer *writers_find_hidden(struct fs *fs, pid_t thread, struct file_id id);

/* With the registry's lock: the sessions of a column; the first one of that file behind `from`
 * (NULL: of all); taking one out, and putting it in, where its target says. */
struct writer **writers_bucket(struct writers *writers, uint64_t column);
struct writer *writers_find(struct writers *writers, struct writer *from, struct file_id id);
void writers_put_in(struct writers *writers, struct writer *writer);
void writers_take_out(struct writers *writers, struct writer *writer);

#endif
