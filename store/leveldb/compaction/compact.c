/* SPDX-License-Identifier: MIT */
/*
 * The thread that compacts the ranges of the queue, and the ranges with the most dead bytes.
 *
 * LevelDB keeps a deleted key until a compaction meets it, and steps over each of them when it
 * seeks: a million take a good part of a second. A caller that deletes many keys in a row therefore
 * pushes their range in slices. Other deletes only cost space, and space.c chooses the next range.
 *
 * A range is compacted slice by slice, as large as there is room for: LevelDB's one background
 * thread works for nobody else meanwhile, and closing the store waits for the slice under way.
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
	COMPACT_QUIET = 5,	 /* looks without a delete in between */
};

/* The thread's own. */
struct compact {
	struct ldb *db;
	bool left;    /* it compacted something, so obsolete tables may be left */
	bool blocked; /* the range that it took last could not be compacted */
};

/* Sleeps for ms, or until the store is closed. The caller holds the lock. */
static void compact_pause(struct ldb_queue *queue, long ms, bool until_woken)
{
	const struct timespec until = clock_deadline(ms * (CLOCK_SECOND / 1000));

	while (!queue->stop && !(until_woken && (queue->count > 0 || queue->woken)) &&
	       pthread_cond_timedwait(&queue->wake, &queue->lock, &until) != ETIMEDOUT)
		;
}

/* After a failed write the logs must stay as they are, and a compaction starts another log. */
static bool compact_may(struct ldb *db)
{
	return !ldb_db_failed(db) && !db->queue->stop && ldb_shrink_has_files(db);
}

/* Compacts the range slice by slice; after each, dead->from moves to the slice's
 * end. False: it did not reach the end. */
static bool compact_range(struct ldb *db, struct ldb_dead *dead, bool cover)
{
	struct ldb_queue *queue = db->queue;

	do {
		struct ldb_place next;
		uint64_t most;
		bool done = false;

		/* LevelDB may catch up, for a limited time, because its writers may never pause. */
		for (int i = 0; i < COMPACT_PAUSES && !queue->stop && ldb_commit_busy(db); i++) {
			pthread_mutex_lock(&queue->lock);
			compact_pause(queue, COMPACT_PAUSE_MS, false);
			pthread_mutex_unlock(&queue->lock);
		}
		if (!compact_may(db))
			return false;
		most = ldb_shrink_slice(db);
		next = ldb_slice_end(db, &dead->from, dead->to, most);
		if (most == 0 || ldb_slice_size(db, &dead->from, &next) > 4 * most)
			return false;
		for (int tries = 0; tries < COMPACT_TRIES && !done && compact_may(db); tries++)
			done = ldb_manual_run(db, ldb_place_key(&dead->from), ldb_place_key(&next),
					      cover);
		if (!done)
			return false;
		dead->from = next;
		ldb_space_save(db, LDB_SPACE_UNSAVED);
	} while (ldb_place_compare(&dead->from, &dead->to) < 0);
	return true;
}

static void compact_finish(struct ldb_queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	queue->finished++;
	pthread_cond_broadcast(&queue->done);
	pthread_mutex_unlock(&queue->lock);
}

/* Compacts a range of the queue, for readers. They do not meet a tombstone that is in one table
 * with its key; such keys stay, and stay counted. */
static void compact_queued(struct ldb *db, struct ldb_dead range)
{
	struct ldb_dead rest = range;
	uint64_t before = ldb_slice_size(db, &range.from, &range.to), after;

	compact_range(db, &rest, false);
	after = ldb_slice_size(db, &range.from, &range.to);
	range.bytes = before > after ? before - after : 0;
	ldb_space_forget(db, &range);
	compact_finish(db->queue);
}

/* Compacts the range with the most dead bytes. False: there is none, or it could not. */
static bool compact_densest(struct compact *compact, bool all)
{
	struct ldb *db = compact->db;
	struct ldb_dead dead;
	bool done;

	compact->blocked = false;
	if (!compact_may(db) || !ldb_space_take(db, all, &dead))
		return false;
	pthread_mutex_lock(&db->queue->lock);
	db->queue->pushed++;
	pthread_mutex_unlock(&db->queue->lock);
	done = compact_range(db, &dead, true);
	if (done)
		dead.keys = 0;
	ldb_space_taken(db, &dead);
	compact_finish(db->queue);
	compact->blocked = !done;
	compact->left = compact->left || done;
	return done;
}

/* Sleeps, as there is nothing to compact. all: the medium is full. */
static void compact_rest(struct compact *compact, bool all)
{
	struct ldb_queue *queue = compact->db->queue;
	bool quiet = ldb_space_look(compact->db, COMPACT_QUIET) && !compact->blocked;
	bool left = false;

	if (quiet || all || compact->left)
		left = ldb_shrink_left(compact->db);
	compact->left = false;
	pthread_mutex_lock(&queue->lock);
	if (!quiet)
		compact_pause(queue, COMPACT_LOOK_MS, true);
	else if (left)
		compact_pause(queue, COMPACT_LEFT_MS, true);
	else if (!queue->stop && queue->count == 0 && !queue->woken)
		pthread_cond_wait(&queue->wake, &queue->lock);
	queue->woken = false;
	pthread_mutex_unlock(&queue->lock);
}

static void *compact_main(void *db)
{
	struct compact compact = {.db = db};
	struct ldb_queue *queue = compact.db->queue;

	pthread_mutex_lock(&queue->lock);
	while (queue->count > 0 || !queue->stop) {
		bool queued = queue->count > 0, all = queue->all;
		struct ldb_dead range = queue->ranges[queue->first];

		if (queued) {
			queue->first = (queue->first + 1) % LDB_QUEUE_RANGES;
			queue->count--;
		}
		pthread_mutex_unlock(&queue->lock);
		if (queued) {
			compact_queued(db, range);
		} else if (!compact_densest(&compact, all)) {
			if (all) {
				pthread_mutex_lock(&queue->lock);
				queue->all = false;
				pthread_mutex_unlock(&queue->lock);
			}
			compact_rest(&compact, all);
		}
		pthread_mutex_lock(&queue->lock);
	}
	pthread_mutex_unlock(&queue->lock);
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
