/* SPDX-License-Identifier: MIT */
/*
 * Compaction of ranges that were emptied, by a thread of its own.
 *
 * LevelDB keeps a deleted key until a compaction meets it, and steps over each of them when it
 * seeks: across a million that takes a good part of a second. So who deletes many keys in a row
 * pushes their range, in slices of moderate size: LevelDB has one background thread, which works
 * for nobody else during a slice, and closing the store waits for the slice under way. What is
 * queued behind it is forgotten then; it is a matter of speed only.
 *
 * The queue is short. Who pushes onto a full one waits, so that no more deletes pile up than what
 * a seek crosses in a moment.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine.h"

enum {
	COMPACT_QUEUE = 8,
	COMPACT_PAUSE_MS = 50,
	COMPACT_PAUSES = 40, /* at most, before a slice, while LevelDB lags behind */
	COMPACT_TRIES = 3,   /* of a piece */
	COMPACT_STORE_S = 5, /* from one compaction of all there is to the next, at least */
};

struct ldb_compact_range {
	struct ldb_compact_range *next;
	size_t start_len, end_len;
	unsigned char bytes[]; /* start, end */
};

static struct ldb_compact_range *compact_new(struct wcs_slice start, struct wcs_slice end)
{
	struct ldb_compact_range *range = malloc(sizeof(*range) + start.len + end.len);

	if (!range)
		return NULL;
	range->next = NULL;
	range->start_len = start.len;
	range->end_len = end.len;
	if (start.len > 0)
		memcpy(range->bytes, start.data, start.len);
	if (end.len > 0)
		memcpy(range->bytes + start.len, end.data, end.len);
	return range;
}

uint64_t ldb_compact_push(struct ldb *db, struct wcs_slice start, struct wcs_slice end)
{
	struct ldb_compact *compact = &db->compact;
	struct ldb_compact_range *range = compact_new(start, end);
	uint64_t ticket = 0;

	if (!range)
		return 0;
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

void ldb_compact_store(void *engine)
{
	struct ldb *db = engine;
	struct ldb_compact *compact = &db->compact;
	uint64_t deleted = atomic_load(&db->counters.cells_deleted) +
			   atomic_load(&db->counters.values_reclaimed);
	struct timespec now;
	bool due;

	clock_gettime(CLOCK_MONOTONIC, &now);
	pthread_mutex_lock(&compact->lock);
	due = compact->pushed == compact->finished &&
	      now.tv_sec - compact->shrunk >= COMPACT_STORE_S;
	if (due) {
		compact->more = compact->more || compact->deleted != deleted;
		compact->deleted = deleted;
		compact->shrunk = now.tv_sec;
	}
	pthread_mutex_unlock(&compact->lock);
	if (due)
		ldb_compact_push(db, (struct wcs_slice){NULL, 0}, (struct wcs_slice){NULL, 0});
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

/* Sleeps a moment, less where the store is being closed. The caller holds the lock. */
static void compact_pause(struct ldb_compact *compact)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += COMPACT_PAUSE_MS * 1000000L;
	if (until.tv_nsec >= 1000000000L) {
		until.tv_nsec -= 1000000000L;
		until.tv_sec++;
	}
	while (!compact->stop &&
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
			compact_pause(compact);
	}
}

/* Where nothing was deleted since all was compacted, it may be readers who keep space. */
static void compact_all(struct ldb *db)
{
	struct ldb_compact *compact = &db->compact;
	bool more;

	pthread_mutex_lock(&compact->lock);
	more = compact->more;
	compact->more = false;
	pthread_mutex_unlock(&compact->lock);
	if (!more) {
		ldb_shrink_left(db);
	} else if (!ldb_shrink_run(db)) {
		pthread_mutex_lock(&compact->lock);
		compact->more = true;
		pthread_mutex_unlock(&compact->lock);
	}
}

/* After a failed write the logs must stay as they are, and compacting starts another. */
static bool compact_may(struct ldb *db)
{
	return !atomic_load(&db->failed) && !ldb_compact_stopped(db) && ldb_shrink_has_files(db);
}

static void compact_pieces(struct ldb *db, const struct ldb_compact_range *range)
{
	struct wcs_slice start = {range->bytes, range->start_len};
	struct wcs_slice limit = {range->bytes + range->start_len, range->end_len};
	struct ldb_place at = ldb_place_before(start), end = ldb_place_behind(limit), next;

	for (unsigned int tries = 0; memcmp(&at, &end, sizeof(at)) < 0 && compact_may(db);) {
		next = ldb_place_end(db, &at, end, LDB_PIECE_TABLES * db->table_bytes);
		tries = ldb_manual_run(db, ldb_place_key(&at), ldb_place_key(&next)) ? 0
										     : tries + 1;
		if (tries % COMPACT_TRIES == 0)
			at = next;
		pthread_mutex_lock(&db->compact.lock);
		compact_yield(db);
		pthread_mutex_unlock(&db->compact.lock);
	}
}

static void compact_run(struct ldb *db, const struct ldb_compact_range *range)
{
	if (atomic_load(&db->failed))
		return;
	if (range->end_len == 0)
		compact_all(db);
	else
		compact_pieces(db, range);
}

/* The caller holds the lock, which is free in between. */
static void compact_first(struct ldb *db)
{
	struct ldb_compact *compact = &db->compact;
	struct ldb_compact_range *range;

	compact_yield(db);
	range = compact->first;
	compact->first = range->next;
	if (!compact->first)
		compact->last = &compact->first;
	if (!compact->stop) {
		pthread_mutex_unlock(&compact->lock);
		compact_run(db, range);
		pthread_mutex_lock(&compact->lock);
	}
	free(range);
	compact->finished++;
	pthread_cond_broadcast(&compact->done);
}

static void *compact_main(void *arg)
{
	struct ldb *db = arg;
	struct ldb_compact *compact = &db->compact;

	pthread_mutex_lock(&compact->lock);
	while (compact->first || !compact->stop) {
		if (compact->first)
			compact_first(db);
		else
			pthread_cond_wait(&compact->wake, &compact->lock);
	}
	pthread_mutex_unlock(&compact->lock);
	return NULL;
}

int ldb_compact_start(struct ldb *db)
{
	struct ldb_compact *compact = &db->compact;
	pthread_condattr_t attr;

	compact->last = &compact->first;
	compact->more = true; /* what the last session left, for all that is known */
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
