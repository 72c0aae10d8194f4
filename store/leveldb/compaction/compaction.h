/* SPDX-License-Identifier: MIT */
/*
 * Deleted keys and the space that they hold: the functions of this folder.
 *
 * LevelDB keeps a deleted key as a tombstone until a compaction meets it. Callers add the bytes
 * that they delete to the counts of space.c, and push ranges that readers would be slow in to the
 * queue; the thread of compact.c compacts both. The thread of reclaim.c deletes extents.
 */
#ifndef WCS_LEVELDB_COMPACTION_H
#define WCS_LEVELDB_COMPACTION_H

#include <time.h>

#include "lib/clock.h"
#include "store/leveldb/encoding/place.h"
#include "store/leveldb/engine.h"

#define LDB_SLICE_TABLES  8u	     /* tables in one compaction at most */
#define LDB_SPACE_UNSAVED (8u << 20) /* dead bytes that a kill may forget */

/* ---- reclaim.c: readers of extents, and the thread that deletes extents ---- */
/* A reader that may look up cells with extents. All garbage of after it entered stays. */
struct ldb_ticket {
	unsigned int round; /* 0 or 1 */
};
/* An open value: its extents stay. */
struct ldb_hold {
	uint64_t id;
	bool awaited; /* its extents are garbage, which the thread left for later */
	struct ldb_hold *next;
};
int ldb_reclaim_start(struct ldb *db);
void ldb_reclaim_stop(struct ldb *db);
/* Tells the thread that a garbage record was committed. */
void ldb_reclaim_wake(struct ldb *db);
/* Enter before a cell is looked up, leave after its extents were last read. A ticket keeps all
 * later garbage, so it is for a moment, or for a scan. */
void ldb_reclaim_enter(struct ldb *db, struct ldb_ticket *ticket);
void ldb_reclaim_leave(struct ldb *db, struct ldb_ticket *ticket);
/* Leaves the ticket, and holds the extents of one value that was found under it. */
void ldb_reclaim_hold(struct ldb *db, struct ldb_ticket *ticket, struct ldb_hold *hold,
		      uint64_t id);
void ldb_reclaim_release(struct ldb *db, struct ldb_hold *hold);
/* Counts garbage records, up to max, and their extents. */
int ldb_reclaim_pending(struct ldb *db, uint64_t max, uint64_t *count, uint64_t *extents);

/* ---- queue.c: ranges that wait for the thread of compact.c, and its wake-up ---- */
#define LDB_QUEUE_RANGES 8u
struct ldb_queue {
	pthread_mutex_t lock;
	pthread_cond_t wake; /* the thread: a range, stop */
	pthread_cond_t done; /* the others: a range was compacted, stop */
	/* under lock */
	struct ldb_range ranges[LDB_QUEUE_RANGES]; /* a ring, by number */
	uint64_t pushed, finished;		   /* ranges, numbered from 1 */
	atomic_bool all;	 /* compact every table with dead bytes: the medium is full */
	int64_t next_all;	 /* ldb_queue_store does not set that before, as of clock_ns */
	bool woken;		 /* the thread should look for work */
	atomic_bool stop;	 /* set under lock */
	atomic_bool taken;	 /* a table is being compacted */
	_Atomic uint64_t tables; /* that were compacted */
};
int ldb_queue_start(struct ldb *db);
void ldb_queue_free(struct ldb *db);
/* Stops the thread; the calls below return at once from now on. */
void ldb_queue_cancel(struct ldb *db);
/* Appends a range if fewer than `most` ranges wait or are being compacted. waits: until then, and
 * the caller holds no lock. Returns the range's number. 0: it is not in the queue; the thread finds
 * it later, by its dead bytes, which are counted, or by seeks across its tombstones. */
uint64_t ldb_queue_push(struct ldb *db, const struct ldb_range *range, unsigned int most,
			bool waits);
/* Returns once that range and all before it were compacted or given up. */
void ldb_queue_wait(struct ldb *db, uint64_t number);
/* Lets the thread compact everything with dead bytes and remove the tables that readers kept; every
 * few seconds at most. */
void ldb_queue_store(void *db);
void ldb_queue_wake(struct ldb *db);
void ldb_queue_count(struct ldb *db, uint64_t *finished, uint64_t *pending);

/* ---- compact.c: the thread that compacts ---- */
int ldb_compact_start(struct ldb *db);
void ldb_compact_stop(struct ldb *db);

/* ---- manual.c: requested compactions ---- */
/* Compacts the keys from start to end, which should be few: writers may wait for it. cover: also
 * tombstones that are in one table with the key that they delete. False: LevelDB did not begin. The
 * caller holds no lock. */
bool ldb_manual_run(struct ldb *db, struct wcs_slice start, struct wcs_slice end, bool cover);
/* Asks LevelDB to move its memtable into a table. The caller holds no lock. */
void ldb_manual_flush(struct ldb *db);

/* ---- slices.c: a key range in slices ---- */
/* Bytes of the tables in the range, about. */
uint64_t ldb_slice_size(struct ldb *db, const struct ldb_place *from, const struct ldb_place *to);
/* The end of a slice of about `bytes` that starts at from; the slice is larger if no place divides
 * its keys. */
struct ldb_place ldb_slice_end(struct ldb *db, const struct ldb_place *from, struct ldb_place end,
			       uint64_t bytes);

/* ---- shrink.c: the room that a compaction takes ---- */
/* Bytes of a slice whose compaction, with all of the first two levels and the memtable, leaves as
 * much room again. 0: there is too little room for any. */
uint64_t ldb_shrink_slice(struct ldb *db);
/* Removes obsolete tables that readers had open. Returns whether some are left. For the thread of
 * compact.c. */
bool ldb_shrink_left(struct ldb *db);

/* ---- space.c: dead bytes, that is deleted and replaced keys with their values ---- */
/* Reads the counts of the last session. After an error, too, ldb_space_stop frees all. */
int ldb_space_start(struct ldb *db);
void ldb_space_stop(struct ldb *db);
/* Counts dead bytes of a table's keys between two keys. Any thread, under any lock but that of
 * queue.c. */
void ldb_space_dead(struct ldb *db, struct wcs_slice from, struct wcs_slice to, uint64_t bytes);
/* Counts one key and the bytes of its value. */
void ldb_space_dead_key(struct ldb *db, const void *key, size_t len, uint64_t value);
/* Subtracts bytes that a compaction freed in the range; NULL: in the table that was taken. */
void ldb_space_freed(struct ldb *db, const struct ldb_range *range, uint64_t bytes);
/* About how many bytes so many extents of garbage have. */
uint64_t ldb_space_extents(struct ldb *db, uint64_t extents);
/* All dead bytes. */
uint64_t ldb_space_bytes(struct ldb *db);
/* The rest is for the thread of compact.c. Takes the table to compact next, and its range of dead
 * keys; false: there is none. all: whatever the bound. */
bool ldb_space_take(struct ldb *db, bool all, struct ldb_range *range);
/* Gives it back. done: all of the range was compacted. */
void ldb_space_taken(struct ldb *db, bool done);
/* Writes the file if anything changed and at least so many bytes were counted since. */
void ldb_space_save(struct ldb *db, uint64_t least);
/* Looks for changes. True: there was none for a while, and the next one wakes the thread. */
bool ldb_space_look(struct ldb *db);

/* ---- collect.c: an operation of backend.h ---- */
int ldb_collect_slice(void *db, const struct wcs_view *view, uint32_t table,
		      struct wcs_collect *slice);

#endif
