/* SPDX-License-Identifier: MIT */
/*
 * The thread that compacts the ranges of the queue and, between their slices, the table with the
 * largest share of dead bytes.
 *
 * LevelDB keeps a deleted key until a compaction meets it, and steps over each of them when it
 * seeks: a million take a good part of a second. A caller that deletes many keys in a row therefore
 * pushes their range in slices. Other deletes only cost space (space.c).
 *
 * A slice is as large as there is room for: LevelDB's one background thread works for nobody else
 * meanwhile, and closing the store waits for the slice under way.
 *
 * While there are deletes the thread looks for work every two seconds. Some seconds after the last
 * delete it compacts down to a lower bound, removes the tables that readers kept, and sleeps until
 * the next delete.
 */
#include <errno.h>

#include "store/leveldb/compaction/compaction.h"

enum {
	COMPACT_PAUSE_MS = 50,
	COMPACT_PAUSES = 40, /* at most, before a slice, while LevelDB lags behind */
	COMPACT_TRIES = 3,   /* of a slice */
	COMPACT_LOOK_MS = 2000,
	COMPACT_LEFT_MS = 20000, /* between looks for tables that readers kept */
};

/* The thread's own. */
struct compact {
	struct ldb *db;
	bool left;    /* it compacted something, so obsolete tables may be left */
	bool blocked; /* the table that it took last could not be compacted */
};

/* Sleeps for ms, or until the store is closed. The caller holds the lock. */
static void compact_pause(struct ldb_queue *queue, long ms, bool until_woken)
{
	const struct timespec until = clock_deadline(ms * (CLOCK_SECOND / 1000));

	while (!queue->stop &&
	       !(until_woken && (queue->finished < queue->pushed || queue->woken)) &&
	       pthread_cond_timedwait(&queue->wake, &queue->lock, &until) != ETIMEDOUT)
		;
}

/* After a failed write the logs must stay as they are, and a compaction starts another log. */
static bool compact_may(struct ldb *db)
{
	return !ldb_db_failed(db) && !db->queue->stop;
}

/* Compacts a slice of the range, whose start moves to the slice's end. taken: it is of the table
 * that was taken from space.c. Readers do not meet a tombstone that is in one table with its key,
 * so such keys of other ranges stay, and stay counted. False: it could not. */
static bool compact_slice(struct ldb *db, struct ldb_range *range, bool taken)
{
	struct ldb_queue *queue = db->queue;
	struct ldb_range slice = *range;
	uint64_t most, before, after;
	bool done = false;

	/* LevelDB may catch up, for a limited time, because its writers may never pause. */
	for (int i = 0; i < COMPACT_PAUSES && !queue->stop && ldb_commit_busy(db); i++) {
		pthread_mutex_lock(&queue->lock);
		compact_pause(queue, COMPACT_PAUSE_MS, false);
		pthread_mutex_unlock(&queue->lock);
	}
	most = ldb_shrink_slice(db);
	slice.to = ldb_slice_end(db, &slice.from, range->to, most);
	before = ldb_slice_size(db, &slice.from, &slice.to);
	if (most == 0 || before > 4 * most)
		return false;
	for (int tries = 0; tries < COMPACT_TRIES && !done && compact_may(db); tries++)
		done = ldb_manual_run(db, ldb_place_key(&slice.from), ldb_place_key(&slice.to),
				      taken);
	if (!done)
		return false;
	after = ldb_slice_size(db, &slice.from, &slice.to);
	ldb_space_freed(db, taken ? NULL : &slice, before > after ? before - after : 0);
	range->from = slice.to;
	return true;
}

/* Compacts the ranges of the queue, as far as it can. */
static void compact_queue(struct ldb *db)
{
	struct ldb_queue *queue = db->queue;

	pthread_mutex_lock(&queue->lock);
	while (queue->finished < queue->pushed) {
		struct ldb_range range = queue->ranges[(queue->finished + 1) % LDB_QUEUE_RANGES];

		pthread_mutex_unlock(&queue->lock);
		while (compact_slice(db, &range, false) &&
		       ldb_place_compare(&range.from, &range.to) < 0)
			;
		pthread_mutex_lock(&queue->lock);
		queue->finished++;
		pthread_cond_broadcast(&queue->done);
	}
	pthread_mutex_unlock(&queue->lock);
}

/* Compacts the table with the largest share of dead bytes. False: there is none, or it could not.
 */
static bool compact_densest(struct compact *compact, bool all)
{
	struct ldb *db = compact->db;
	struct ldb_range range;
	bool done;

	compact->blocked = false;
	if (!compact_may(db) || !ldb_space_take(db, all, &range))
		return false;
	atomic_store(&db->queue->taken, true);
	do {
		done = compact_slice(db, &range, true);
		compact_queue(db);
	} while (done && ldb_place_compare(&range.from, &range.to) < 0);
	ldb_space_taken(db, done);
	atomic_store(&db->queue->taken, false);
	atomic_fetch_add(&db->queue->tables, 1);
	compact->blocked = !done;
	compact->left = compact->left || done;
	return done;
}

/* Sleeps, as there is nothing to compact. all: the medium is full. */
static void compact_rest(struct compact *compact, bool all)
{
	struct ldb_queue *queue = compact->db->queue;
	bool quiet = ldb_space_look(compact->db) && !compact->blocked;
	bool left = false;

	if (quiet || all || compact->left)
		left = ldb_shrink_left(compact->db);
	compact->left = false;
	pthread_mutex_lock(&queue->lock);
	queue->all = queue->all && !all;
	if (!quiet)
		compact_pause(queue, COMPACT_LOOK_MS, true);
	else if (left)
		compact_pause(queue, COMPACT_LEFT_MS, true);
	else if (!queue->stop && queue->finished == queue->pushed && !queue->woken)
		pthread_cond_wait(&queue->wake, &queue->lock);
	queue->woken = false;
	pthread_mutex_unlock(&queue->lock);
}

static void *compact_main(void *db)
{
	struct compact compact = {.db = db};
	struct ldb_queue *queue = compact.db->queue;
	bool all;

	do {
		compact_queue(db);
		all = queue->all;
		if (!compact_densest(&compact, all))
			compact_rest(&compact, all);
	} while (!queue->stop);
	compact_queue(db);
	return NULL;
}

int ldb_compact_start(struct ldb *db)
{
	return pthread_create(&db->compact_thread, NULL, compact_main, db) == 0 ? 0 : -ENOMEM;
}

void ldb_compact_stop(struct ldb *db)
{
	ldb_queue_cancel(db);
	pthread_join(db->compact_thread, NULL);
}
