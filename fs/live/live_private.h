/* SPDX-License-Identifier: MIT */
/* The inside of live files. */
#ifndef FS_LIVE_PRIVATE_H
#define FS_LIVE_PRIVATE_H

#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>

#include "fs/live/live.h"
#include "fs/live/ring.h"
#include "store/chain/chain.h"

#define LIVE_RING_MAX ((uint64_t)64 << 20) /* bytes of the lines that wait, of each feed */

enum {
	LIVE_BACK = 1 << 20,   /* bytes that a reader can seek back */
	LIVE_FILES_MAX = 1024, /* open at once */
};

/* A request that waits for a line. */
struct live_waiter {
	struct live_waiter *next;
	struct live_file *file; /* with a reference */
	fuse_req_t req;		/* a READ */
	size_t size;
	uint64_t offset;
	struct fuse_pollhandle *ph; /* or the handle of a POLL, which was answered: perhaps ready */
	bool interrupted;
};

struct live {
	struct fs *fs;
	struct ring *trace, *changes;
	struct wcs_watch watch;
	atomic_uint waits; /* waiters, also those that the thread looks at */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct live_file *files; /* Lock: lock, as for all below */
	size_t file_count;
	uint64_t opens;
	struct live_waiter *waiting;
	uint64_t wakes; /* calls of live_push that found waiters */
	bool woken, ended;
	bool started; /* the thread that answers waiters */
	pthread_t thread;
};

struct live_file {
	struct live_file *next; /* Lock: the live's, as for users */
	size_t users;		/* 1 while it is open, and 1 for each waiter */
	struct live *live;
	uint64_t number;	 /* of its open, from 1 on */
	const struct node *node; /* the kernel holds it while the file is open */
	struct ring *ring;
	struct ring_reader reader;
	/* Of .changes: the rows that it is about. */
	struct wcs_table *table; /* the node's */
	bool keyed;		 /* those of this key and below it; else all */
	unsigned char delimiter;
	struct wcs_chain *chain; /* of these, the ones in its range; NULL: all */
	uint32_t layout;	 /* the table's, of key and chain */
	size_t key_len;
	char key[WCS_ROW_KEY_MAX];

	atomic_bool follows; /* live_follow was called */
	atomic_bool ended;   /* no more lines come: its table was removed. Set under live's lock */
	pthread_mutex_t lock;
	struct wcs_change_reader *lines; /* Lock: lock, as for all below */
	bool in_line;
	int error;	      /* of a line that cannot go on; 0: none */
	uint64_t from, made;  /* the offsets of the first byte made, and of the next one */
	_Atomic uint64_t end; /* made, and 1 more within a line; may be read without the lock */
	char *kept;	      /* the last LIVE_BACK bytes made: byte o at o % LIVE_BACK */
};

/* ---- live.c ---- */
/* Adds a line to a feed as ring_push does, and wakes the readers. */
void live_push(struct live *live, struct ring *ring, struct ring_line line);

/* ---- live_wait.c ---- */
/* Starts the thread that answers waiters, if it does not run. False: it cannot. Lock: the live's.
 */
bool live_start(struct live *live);
/* The file has ended: no POLL of it waits from here on, as soon as the thread has seen that. */
void live_forget(struct live_file *file);

/* ---- live_file.c ---- */
/* Copies up to len bytes from the offset on; *got is 0 if there are none yet. -ESPIPE: they are no
 * longer kept; or an error of the line. */
int live_file_read(struct live_file *file, void *buf, size_t len, uint64_t offset, size_t *got);
/* Would a read at the offset give something, or an error? */
bool live_file_ready(struct live_file *file, uint64_t offset);
/* Returns a reference to the file; the last one frees it. */
void live_put(struct live_file *file);

/* ---- changes.c ---- */
/* Sets the rows of the file by its node. Errors as of live_open. */
int changes_open(struct fs *fs, struct live_file *file);
/* Has the table other keys than at the open, so that the rows of the file are not known? */
bool changes_stale(const struct live_file *file);
/* A line of a feed about that key (data NULL: none); releases line, whose NULL is no memory. NULL:
 * no memory. */
struct wcs_change *live_line(struct wcs_slice key, json_t *line);
/* The function of a table's watch. */
void changes_told(void *ctx, const struct wcs_table *table, struct wcs_change *change);

/* ---- trace.c ---- */
/* The function that metrics_note calls; ctx: the fs. */
struct metrics_note *trace_received(void *ctx, const void *request);

#endif
