/* SPDX-License-Identifier: MIT */
/*
 * Deleted keys and the space that they hold: the functions of this folder.
 *
 * LevelDB keeps a deleted key as a tombstone until a compaction meets it. Callers add the bytes
 * that they delete to the counts of space.c, and push ranges that readers would be slow in; the
 * thread of compact.c compacts both, and deletes extents (reclaim.c).
 */
#ifndef WCS_LEVELDB_COMPACTION_H
#define WCS_LEVELDB_COMPACTION_H

#include <time.h>

#include "lib/clock.h"
#include "store/leveldb/engine.h"

/* ---- reclaim.c: readers of extents, and the deletion of extents ---- */
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
void ldb_reclaim_stop(struct ldb *db); /* frees */
/* Deletes one round of garbage, for the thread of compact.c. True: there may be more that no reader
 * needs. */
bool ldb_reclaim_run(struct ldb *db);
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

/* ---- space.c: dead bytes, that is deleted and replaced keys with their values; ranges ---- */
#define LDB_SPACE_RANGES  8u
#define LDB_SPACE_BUCKETS 256u
#define LDB_SPACE_LOOKS	  6u	  /* without a delete in between, after which there are none */
#define LDB_NOTE_DEAD	  0xFFFFu /* the note with the counts */
struct ldb_dead {
	struct ldb_dead *next; /* in its bucket */
	uint32_t id;	       /* of a table */
	struct ldb_range range;
	uint64_t bytes;
};
struct ldb_space {
	pthread_mutex_t lock;
	pthread_cond_t wake;	    /* the thread: a range, a count, stop */
	pthread_cond_t done;	    /* the others: a range was compacted, stop */
	atomic_bool stop;	    /* set under lock, as full and looks */
	atomic_bool full;	    /* compact every table with dead bytes: the medium is full */
	_Atomic unsigned int looks; /* left before the thread sleeps, if there are no deletes */
	/* under lock */
	bool woken;				   /* the thread should look for work */
	int64_t next_full;			   /* full is not set before, as of clock_ns */
	struct ldb_range ranges[LDB_SPACE_RANGES]; /* a ring, by number */
	uint64_t pushed, finished;		   /* ranges, numbered from 1 */
	uint64_t compacted;			   /* tables */
	struct ldb_dead *tables[LDB_SPACE_BUCKETS];
	struct ldb_dead *taken; /* is being compacted; its bytes are those not freed yet */
	uint64_t sum;		/* bytes of all tables */
	size_t count;		/* tables */
	uint64_t unsaved;	/* dead bytes since the note was written */
	bool dirty;		/* the counts are not those of the note */
};
/* Reads the counts of the last session. After an error, too, ldb_space_stop frees all. */
int ldb_space_start(struct ldb *db);
void ldb_space_stop(struct ldb *db);
/* Counts dead bytes of a table's keys between two keys. Any thread, under any lock but that of
 * ldb_space. */
void ldb_space_dead(struct ldb *db, struct wcs_slice from, struct wcs_slice to, uint64_t bytes);
/* Counts one key and the bytes of its value. */
void ldb_space_dead_key(struct ldb *db, const void *key, size_t len, uint64_t value);
/* About how many bytes so many extents of garbage have. */
uint64_t ldb_space_extents(struct ldb *db, uint64_t extents);
/* All dead bytes. */
uint64_t ldb_space_bytes(struct ldb *db);
/* Bytes of LevelDB's tables in the range, about. */
uint64_t ldb_space_size(struct ldb *db, const struct ldb_range *range);
/* Appends a range to compact if fewer than `most` ranges wait or are being compacted. waits: it
 * waits until there are fewer, and the caller holds no lock. Returns the range's number. 0: it will
 * not be compacted; the thread finds it later, by its dead bytes, or a writer by steps across its
 * tombstones. */
uint64_t ldb_space_push(struct ldb *db, const struct ldb_range *range, unsigned int most,
			bool waits);
/* Wakes the thread. */
void ldb_space_wake(struct ldb *db);
/* Sleeps for ms (0: for ever), or until the store is closed or, with until_woken, there is work.
 * True: the time is over. The caller holds the lock. */
bool ldb_space_sleep(struct ldb_space *space, long ms, bool until_woken);
/* Sleeps a moment, or until the store is closed. */
void ldb_space_rest(struct ldb *db);
/* Lets LevelDB catch up, for a limited time, because its writers may never pause. to_ranges: only
 * while no range waits. False: the store is being closed. */
bool ldb_space_yield(struct ldb *db, bool to_ranges);
/* Returns once that range and all before it were compacted or given up. */
void ldb_space_wait(struct ldb *db, uint64_t number);
/* Lets the thread compact everything with dead bytes and remove the tables that readers kept; every
 * few seconds at most. */
void ldb_space_full(void *db);
void ldb_space_compactions(struct ldb *db, uint64_t *finished, uint64_t *pending);
/* Writes the note if the counts changed. */
void ldb_space_save(struct ldb *db);
/* The rest is for the thread of compact.c. Takes the table to compact next, and its range of dead
 * keys; false: there is none. all: whatever the bound. */
bool ldb_space_take(struct ldb *db, bool all, struct ldb_range *range);
/* Gives it back. done: all of the range was compacted; else `left` of it was not. */
void ldb_space_taken(struct ldb *db, const struct ldb_range *left, bool done);
/* A compaction of the range freed bytes: its size before and after. */
void ldb_space_freed(struct ldb *db, const struct ldb_range *range, uint64_t before,
		     uint64_t after);

/* ---- compact.c: the thread that compacts ---- */
int ldb_compact_start(struct ldb *db);
/* Ends the thread; ldb_space_push and ldb_space_wait return at once from now on. */
void ldb_compact_stop(struct ldb *db);

/* ---- manual.c: requested compactions ---- */
/* Compacts the keys of the range, which should be few: writers may wait for it. False: LevelDB did
 * not begin. The caller holds no lock. */
bool ldb_manual_run(struct ldb *db, const struct ldb_range *range);
/* Asks LevelDB to move its memtable into a table. The caller holds no lock. */
void ldb_manual_flush(struct ldb *db);
/* LevelDB's tables, those not in use too, and the number of its newest log; 0: unknown. */
struct ldb_manual_files {
	uint64_t tables, last_log;
};
struct ldb_manual_files ldb_manual_files(struct ldb *db);

/* ---- collect.c: an operation of backend.h ---- */
int ldb_collect_slice(void *db, const struct wcs_view *view, uint32_t table,
		      struct wcs_collect *slice);

#endif
