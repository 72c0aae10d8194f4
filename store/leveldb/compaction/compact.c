/* SPDX-License-Identifier: MIT */
/*
 * The thread that compacts: ranges that were emptied, and those with the most dead bytes.
 *
 * LevelDB keeps a deleted key until a compaction meets it, and steps over each of them when it
 * seeks: across a million that takes a good part of a second. So who deletes many keys in a row
 * pushes their range, in slices of moderate size. The queue is short. Who pushes onto a full one
 * waits, so that no more deletes pile up than what a seek crosses in a moment. For all other
 * deletes it is a matter of space only, and space.c says which range is next.
 *
 * A range is compacted piece by piece, as large as there is room for: LevelDB has one background
 * thread, which works for nobody else meanwhile, and closing the store waits for the piece under
 * way.
 *
 * While there are deletes the thread looks every two seconds for more to do. Some seconds after the
 * last it compacts down to a lower bound, removes the tables that readers kept, and then sleeps
 * until there is another delete.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "store/leveldb/engine.h"

enum {
	COMPACT_QUEUE = 8,
	COMPACT_PAUSE_MS = 50,
	COMPACT_PAUSES = 40, /* at most, before a slice, while LevelDB lags behind */
	COMPACT_TRIES = 3,   /* of a piece */
	COMPACT_STORE_S = 5, /* from one compaction of all dead bytes to the next, at least */
	COMPACT_LOOK_MS = 2000,
	COMPACT_LEFT_MS = 20000, /* between looks for tables that readers kept */
	COMPACT_QUIET = 5,	 /* looks without a delete in between */
};

struct ldb_compact_range {
	struct ldb_compact_range *next;
	struct ldb_dead dead;
};

uint64_t ldb_compact_push(struct ldb *db, const struct ldb_dead *dead)
{
	struct ldb_compact *compact = &db->compact;
	struct ldb_compact_range *range = malloc(sizeof(*range));
	uint64_t ticket = 0;

	if (!range)
		return 0;
	range->next = NULL;
	range->dead = *dead;
	pthread_mutex_lock(&compact->lock);
	while (!compact->stop && compact->pushed - compact->finished >= COMPACT_QUEUE)
		pthread_cond_wait(&compact->done, &compact->lock);
	if (compact->stop) {
		free(range);
	} else {
		*compact->last = range;
		compact->last = &range->next;
		ticket = ++compact->pushed;
		pthread_cond_signal(&compact->wake);
	}
	pthread_mutex_unlock(&compact->lock);
	return ticket;
}

void ldb_compact_wake(struct ldb *db)
{
	pthread_mutex_lock(&db->compact.lock);
	db->compact.woken = true;
	pthread_cond_signal(&db->compact.wake);
	pthread_mutex_unlock(&db->compact.lock);
}

void ldb_compact_store(void *engine)
{
	struct ldb *db = engine;
	struct ldb_compact *compact = &db->compact;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	pthread_mutex_lock(&compact->lock);
	if (!compact->all && now.tv_sec - compact->shrunk >= COMPACT_STORE_S) {
		compact->all = compact->woken = true;
		compact->shrunk = now.tv_sec;
		pthread_cond_signal(&compact->wake);
	}
	pthread_mutex_unlock(&compact->lock);
}

void ldb_compact_wait(struct ldb *db, uint64_t ticket)
{
	struct ldb_compact *compact = &db->compact;

	pthread_mutex_lock(&compact->lock);
	while (!compact->stop && compact->finished < ticket)
		pthread_cond_wait(&compact->done, &compact->lock);
	pthread_mutex_unlock(&compact->lock);
}

bool ldb_compact_stopped(struct ldb *db)
{
	bool stopped;

	pthread_mutex_lock(&db->compact.lock);
	stopped = db->compact.stop;
	pthread_mutex_unlock(&db->compact.lock);
	return stopped;
}

void ldb_compact_count(struct ldb *db, uint64_t *finished, uint64_t *pending)
{
	pthread_mutex_lock(&db->compact.lock);
	*finished = db->compact.finished;
	*pending = db->compact.pushed - db->compact.finished;
	pthread_mutex_unlock(&db->compact.lock);
}

/* ---- The thread -------------------------------------------------------------------------- */

/* Sleeps so long, less where the store is being closed. The caller holds the lock. */
static void compact_pause(struct ldb_compact *compact, long ms, bool until_woken)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += ms % 1000 * 1000000L;
	if (until.tv_nsec >= 1000000000L) {
		until.tv_nsec -= 1000000000L;
		until.tv_sec++;
	}
	while (!compact->stop && !(until_woken && (compact->first || compact->woken)) &&
	       pthread_cond_timedwait(&compact->wake, &compact->lock, &until) != ETIMEDOUT)
		;
}

/* Lets LevelDB catch up with what others write; not for ever, since that may never end. The caller
 * holds the lock, which is free in between. */
static void compact_yield(struct ldb *db)
{
	struct ldb_compact *compact = &db->compact;
	bool busy = true;

	for (int i = 0; i < COMPACT_PAUSES && busy && !compact->stop; i++) {
		pthread_mutex_unlock(&compact->lock);
		busy = ldb_db_busy(db);
		pthread_mutex_lock(&compact->lock);
		if (busy)
			compact_pause(compact, COMPACT_PAUSE_MS, false);
	}
}

/* After a failed write the logs must stay as they are, and compacting starts another. */
static bool compact_may(struct ldb *db)
{
	return !atomic_load(&db->failed) && !ldb_compact_stopped(db) && ldb_shrink_has_files(db);
}

/* The next piece of the range, which then begins behind it. False: it cannot be compacted now. */
static bool compact_piece(struct ldb *db, struct ldb_dead *dead, bool cover)
{
	uint64_t piece = ldb_shrink_piece(db);
	struct ldb_place next = ldb_place_end(db, &dead->from, dead->to, piece);
	bool done = false;

	if (piece == 0 || ldb_place_size(db, &dead->from, &next) > 4 * piece)
		return false;
	for (unsigned int tries = 0; tries < COMPACT_TRIES && !done && compact_may(db); tries++)
		done = ldb_manual_run(db, ldb_place_key(&dead->from), ldb_place_key(&next), cover);
	if (done)
		dead->from = next;
	return done;
}

/* False: not to the end; the range is what is left. */
static bool compact_range(struct ldb *db, struct ldb_dead *dead, bool cover)
{
	do {
		pthread_mutex_lock(&db->compact.lock);
		compact_yield(db);
		pthread_mutex_unlock(&db->compact.lock);
		if (!compact_may(db) || !compact_piece(db, dead, cover))
			return false;
		ldb_space_save(db, LDB_SPACE_UNSAVED);
	} while (ldb_place_compare(&dead->from, &dead->to) < 0);
	return true;
}

/* The caller holds the lock, which is free in between. */
static void compact_finish(struct ldb_compact *compact)
{
	compact->finished++;
	pthread_cond_broadcast(&compact->done);
}

/* The first of the queue. It was deleted for readers' sake, who do not see what is in one table
 * with its delete; the bytes that stay for that reason are still counted. The caller holds the
 * lock, which is free in between. */
static void compact_first(struct ldb *db)
{
	struct ldb_compact *compact = &db->compact;
	struct ldb_compact_range *range = compact->first;
	struct ldb_dead dead = range->dead;
	uint64_t before, after;

	compact->first = range->next;
	if (!compact->first)
		compact->last = &compact->first;
	pthread_mutex_unlock(&compact->lock);
	before = ldb_place_size(db, &range->dead.from, &range->dead.to);
	compact_range(db, &dead, false);
	after = ldb_place_size(db, &range->dead.from, &range->dead.to);
	range->dead.bytes = before > after ? before - after : 0;
	ldb_space_forget(db, &range->dead);
	free(range);
	pthread_mutex_lock(&compact->lock);
	compact_finish(compact);
}

/* The range that has the most dead bytes. False: there is none, or it cannot be compacted now. The
 * caller holds the lock, which is free in between. */
static bool compact_densest(struct ldb *db)
{
	struct ldb_compact *compact = &db->compact;
	struct ldb_dead dead;
	bool all = compact->all, taken = false, done = false;

	pthread_mutex_unlock(&compact->lock);
	if (compact_may(db))
		taken = ldb_space_take(db, all, &dead);
	if (taken) {
		pthread_mutex_lock(&compact->lock);
		compact->pushed++;
		pthread_mutex_unlock(&compact->lock);
		done = compact_range(db, &dead, true);
		if (done)
			dead.keys = 0;
		ldb_space_taken(db, &dead);
		pthread_mutex_lock(&compact->lock);
		compact_finish(compact);
		pthread_mutex_unlock(&compact->lock);
	}
	pthread_mutex_lock(&compact->lock);
	compact->blocked = taken && !done;
	compact->left = compact->left || done;
	return done;
}

/* There is nothing to compact. The caller holds the lock, which is free in between. */
static void compact_rest(struct ldb *db)
{
	struct ldb_compact *compact = &db->compact;
	bool look = compact->all || compact->left, blocked = compact->blocked, quiet, left = false;

	compact->all = compact->left = false;
	pthread_mutex_unlock(&compact->lock);
	quiet = ldb_space_look(db, COMPACT_QUIET) && !blocked;
	if (quiet || look)
		left = ldb_shrink_left(db);
	pthread_mutex_lock(&compact->lock);
	if (!quiet)
		compact_pause(compact, COMPACT_LOOK_MS, true);
	else if (left)
		compact_pause(compact, COMPACT_LEFT_MS, true);
	else if (!compact->stop && !compact->first && !compact->woken)
		pthread_cond_wait(&compact->wake, &compact->lock);
	compact->woken = false;
}

static void *compact_main(void *arg)
{
	struct ldb *db = arg;
	struct ldb_compact *compact = &db->compact;

	pthread_mutex_lock(&compact->lock);
	while (compact->first || !compact->stop) {
		if (compact->first)
			compact_first(db);
		else if (!compact_densest(db))
			compact_rest(db);
	}
	pthread_mutex_unlock(&compact->lock);
	return NULL;
}

int ldb_compact_start(struct ldb *db)
{
	struct ldb_compact *compact = &db->compact;
	pthread_condattr_t attr;

	compact->last = &compact->first;
	pthread_mutex_init(&compact->lock, NULL);
	pthread_cond_init(&compact->done, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&compact->wake, &attr);
	pthread_condattr_destroy(&attr);
	if (pthread_create(&compact->thread, NULL, compact_main, db) == 0)
		return 0;
	pthread_cond_destroy(&compact->wake);
	pthread_cond_destroy(&compact->done);
	pthread_mutex_destroy(&compact->lock);
	return -ENOMEM;
}

void ldb_compact_cancel(struct ldb *db)
{
	pthread_mutex_lock(&db->compact.lock);
	db->compact.stop = true;
	pthread_cond_signal(&db->compact.wake);
	pthread_cond_broadcast(&db->compact.done);
	pthread_mutex_unlock(&db->compact.lock);
}

void ldb_compact_stop(struct ldb *db)
{
	struct ldb_compact *compact = &db->compact;

	ldb_compact_cancel(db);
	pthread_join(compact->thread, NULL);
	pthread_cond_destroy(&compact->wake);
	pthread_cond_destroy(&compact->done);
	pthread_mutex_destroy(&compact->lock);
}
