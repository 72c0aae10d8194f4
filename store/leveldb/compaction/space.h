/* SPDX-License-Identifier: MIT */
/*
 * Dead bytes: what deletes left in the tables, by ranges of keys. Every deleter counts them, the
 * thread of compact.c takes the ranges.
 */
#ifndef WCS_LEVELDB_SPACE_H
#define WCS_LEVELDB_SPACE_H

#include <pthread.h>

#include "store/leveldb/encoding/record.h"

struct ldb;

#define LDB_SPACE_PARTS	  64u
#define LDB_SPACE_UNSAVED (8u << 20) /* dead bytes that a kill may forget */

struct ldb_space_part {
	struct ldb_place start; /* up to the next one's */
	struct ldb_dead dead;
};

struct ldb_space {
	pthread_mutex_t lock; /* of all below; none is taken under it */
	struct ldb_space_part *parts[LDB_SPACE_PARTS];
	size_t count;
	struct ldb_dead taken;	 /* of a part, while it is compacted */
	uint64_t changes, saved; /* how many there were, and when the file was written */
	uint64_t unsaved;	 /* dead bytes since then */
	uint64_t seen;		 /* changes at the last look */
	unsigned int still;	 /* looks since they were more */
	bool awake;		 /* the compactor looks now and then */
	bool quiet;		 /* nothing was deleted for a while */
};

/* Reads the file of the last session. */
int ldb_space_start(struct ldb *db);
void ldb_space_stop(struct ldb *db);
/* Counts deleted keys. Any thread, under any lock but that of compact. */
void ldb_space_dead(struct ldb *db, const struct ldb_dead *dead);
/* One key, and the bytes of its value. */
void ldb_space_dead_key(struct ldb *db, const void *key, size_t len, uint64_t value);
/* A range was compacted that was not taken, and is so many bytes smaller. */
void ldb_space_forget(struct ldb *db, const struct ldb_dead *dead);
/* About how many bytes so many chunks of garbage have. */
uint64_t ldb_space_chunks(struct ldb *db, uint64_t chunks);
/* All dead bytes. */
uint64_t ldb_space_bytes(struct ldb *db);
/* Takes the range to be compacted next; false: there is none. all: whatever the bound. For the
 * thread of compact.c, as all below. */
bool ldb_space_take(struct ldb *db, bool all, struct ldb_dead *dead);
/* It was compacted, but for the rest, which has no keys where all of it was. */
void ldb_space_taken(struct ldb *db, const struct ldb_dead *rest);
/* Writes the file, where anything changed since and so many bytes were counted. */
void ldb_space_save(struct ldb *db, uint64_t least);
/* Looks for changes. True: there was none for so many looks, and the next one wakes the thread. */
bool ldb_space_look(struct ldb *db, unsigned int looks);

#endif
