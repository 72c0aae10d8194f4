/* SPDX-License-Identifier: MIT */
/* The inside of a write session, shared by writer.c and the registry in writers.c. */
#ifndef FS_WRITER_PRIVATE_H
#define FS_WRITER_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "spool.h"
#include "writer.h"

struct writer {
	pthread_mutex_t lock;
	unsigned handles; /* open files. Lock: lock, as all below */
	bool draft;	  /* constant: it commits only when it is renamed to a version */
	bool append;	  /* opened to append, and has done nothing else so far */
	bool pending;	  /* created or truncated, and not committed since */
	bool truncated;	  /* of these, truncated */
	bool dirty;	  /* written or resized, and not committed since */
	bool stamped;	  /* stamp is the time of the version to be made */
	int64_t stamp;
	int64_t committed; /* timestamp of the version it made; negative: none yet */
	int64_t time;	   /* what to show as its time */
	uint64_t final_size;
	struct wcs_value *base;
	struct spool spool;
	char *renamed; /* its column's qualifier, where that is not its node's name; NULL */
	size_t renamed_len;
	size_t appended; /* bytes of spool that a commit has appended */

	atomic_bool hidden;   /* makes a name that nobody else sees yet */
	atomic_bool unlinked; /* its name was removed: it commits nothing more */
	atomic_bool aborted;  /* its writer was killed: the same */

	pid_t thread;	/* it was looked up or created for; constant */
	pid_t process;	/* of whoever opened it first; set before it enters the registry */
	bool exclusive; /* its name is reserved while it is hidden */

	struct writer *next; /* in the registry, under its lock, as is ino */
	uint64_t ino;	     /* of its name as it is now */
	struct node *node;   /* set when it enters the registry */
};

/* created: it makes a new name. NULL: no memory. */
struct writer *writer_new(pid_t thread, bool created);

/* Does it make a name that nobody else sees yet, and will it? */
static inline bool writer_hidden(const struct writer *writer)
{
	return writer->hidden && !writer->unlinked && !writer->aborted;
}

/* Its name was removed: when this returns, it commits no more. */
void writer_unlink(struct writer *writer);

/* Its name is another from now on; moved: what became of its version, NULL: nothing. 0 or
 * -ENOMEM. */
int writer_rename(struct writer *writer, struct wcs_slice name, const struct writer_moved *moved);

/* Puts a session in the registry with its first open file, and takes it out with the last. */
void writers_remember(struct fs *fs, struct writer *writer, struct node *node);
void writers_forget(struct fs *fs, struct writer *writer);

#endif
