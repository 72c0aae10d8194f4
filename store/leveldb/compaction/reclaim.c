/* SPDX-License-Identifier: MIT */
/*
 * Chunks that no cell needs any more, and the thread that deletes them.
 *
 * A mutation never touches the chunks of what it replaces or deletes: it leaves a garbage record.
 * A reader takes a ticket before it looks a cell up. The thread collects records, then takes the
 * next ticket number as a barrier: who comes behind it looks cells up after the garbage was
 * committed and cannot find these chunks; who came before is waited for. A scan keeps its ticket;
 * an open value gives it up for a hold on its own chunks, so that behind the barrier whoever can
 * still read a value holds it. What is held is left for the pass that its release asks for. So an
 * open value stays readable whatever is deleted, it keeps no other's space, and no reader waits.
 *
 * Before chunks are deleted the logs are synced: otherwise a power cut could keep the delete of
 * the chunks and lose the mutation that made them garbage.
 *
 * A record goes in one batch with all of its chunks: of two a power cut could lose the first, at
 * the end of a log that LevelDB closed unsynced, and keep the second. An intent belongs to a
 * mutation under way, unless it is older than this session: then it is garbage.
 *
 * What cannot be read or written now is tried again at the next wake. Only the latch of a failed
 * write (db->failed) ends reclaiming until the store is opened anew.
 */
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "store/leveldb/engine.h"

enum {
	RECLAIM_ROUND = 1024,	/* records per barrier */
	RECLAIM_DELETES = 1000, /* per batch, and what the last record adds */
	RECLAIM_PAUSE_MS = 50,	/* between wake and work, so that one sync serves many records */
};

struct reclaim_item {
	uint64_t id;
	uint32_t chunks;
};

void ldb_reclaim_enter(struct ldb *db, struct ldb_ticket *ticket)
{
	struct ldb_reclaim *reclaim = &db->reclaim;
	struct ldb_ticket *head = &reclaim->readers;

	pthread_mutex_lock(&reclaim->lock);
	ticket->number = reclaim->next_ticket++;
	ticket->next = head;
	ticket->prev = head->prev;
	head->prev->next = ticket;
	head->prev = ticket;
	pthread_mutex_unlock(&reclaim->lock);
}

/* The caller holds the lock. */
static void reclaim_drop_ticket(struct ldb_reclaim *reclaim, struct ldb_ticket *ticket)
{
	bool oldest = reclaim->readers.next == ticket;

	ticket->prev->next = ticket->next;
	ticket->next->prev = ticket->prev;
	if (oldest && reclaim->waiting)
		pthread_cond_signal(&reclaim->wake);
}

void ldb_reclaim_leave(struct ldb *db, struct ldb_ticket *ticket)
{
	pthread_mutex_lock(&db->reclaim.lock);
	reclaim_drop_ticket(&db->reclaim, ticket);
	pthread_mutex_unlock(&db->reclaim.lock);
}

/* The caller holds the lock. */
static void reclaim_want(struct ldb_reclaim *reclaim)
{
	if (reclaim->wanted)
		return;
	reclaim->wanted = true;
	pthread_cond_signal(&reclaim->wake);
}

void ldb_reclaim_wake(struct ldb *db)
{
	pthread_mutex_lock(&db->reclaim.lock);
	reclaim_want(&db->reclaim);
	pthread_mutex_unlock(&db->reclaim.lock);
}

/* ---- Held values ------------------------------------------------------------------------- */

static struct ldb_hold **reclaim_bucket(struct ldb_reclaim *reclaim, uint64_t id)
{
	return &reclaim->holds[id % LDB_HOLDS];
}

void ldb_reclaim_hold(struct ldb *db, struct ldb_ticket *ticket, struct ldb_hold *hold, uint64_t id)
{
	struct ldb_reclaim *reclaim = &db->reclaim;
	struct ldb_hold **bucket = reclaim_bucket(reclaim, id);

	pthread_mutex_lock(&reclaim->lock);
	hold->id = id;
	hold->awaited = false;
	hold->next = *bucket;
	*bucket = hold;
	reclaim_drop_ticket(reclaim, ticket);
	pthread_mutex_unlock(&reclaim->lock);
}

void ldb_reclaim_release(struct ldb *db, struct ldb_hold *hold)
{
	struct ldb_reclaim *reclaim = &db->reclaim;
	struct ldb_hold **link = reclaim_bucket(reclaim, hold->id);

	pthread_mutex_lock(&reclaim->lock);
	while (*link != hold)
		link = &(*link)->next;
	*link = hold->next;
	if (hold->awaited)
		reclaim_want(reclaim);
	pthread_mutex_unlock(&reclaim->lock);
}

/* Keeps of the items those that nobody holds; of the others the last release wakes the thread. */
static void reclaim_leave_held(struct ldb_reclaim *reclaim, struct reclaim_item *items,
			       size_t *count)
{
	size_t kept = 0;

	pthread_mutex_lock(&reclaim->lock);
	for (size_t i = 0; i < *count; i++) {
		struct ldb_hold *hold = *reclaim_bucket(reclaim, items[i].id);
		bool held = false;

		for (; hold; hold = hold->next) {
			if (hold->id == items[i].id)
				held = hold->awaited = true;
		}
		if (!held)
			items[kept++] = items[i];
	}
	pthread_mutex_unlock(&reclaim->lock);
	*count = kept;
}

/* ---- The thread -------------------------------------------------------------------------- */

/* Sleeps a moment, less where the store is being closed. Returns whether to go on. */
static bool reclaim_pause(struct ldb_reclaim *reclaim)
{
	struct timespec until;
	bool go_on;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += RECLAIM_PAUSE_MS * 1000000L;
	if (until.tv_nsec >= 1000000000L) {
		until.tv_nsec -= 1000000000L;
		until.tv_sec++;
	}
	pthread_mutex_lock(&reclaim->lock);
	while (!reclaim->stop &&
	       pthread_cond_timedwait(&reclaim->wake, &reclaim->lock, &until) != ETIMEDOUT)
		;
	go_on = !reclaim->stop;
	pthread_mutex_unlock(&reclaim->lock);
	return go_on;
}

/* Waits until nobody is left who came before now. Returns whether to go on. */
static bool reclaim_barrier(struct ldb_reclaim *reclaim)
{
	uint64_t barrier;
	bool go_on;

	pthread_mutex_lock(&reclaim->lock);
	barrier = reclaim->next_ticket++;
	reclaim->waiting = true;
	while (!reclaim->stop && reclaim->readers.next != &reclaim->readers &&
	       reclaim->readers.next->number < barrier)
		pthread_cond_wait(&reclaim->wake, &reclaim->lock);
	reclaim->waiting = false;
	go_on = !reclaim->stop;
	pthread_mutex_unlock(&reclaim->lock);
	return go_on;
}

/* Lets LevelDB catch up first. Returns whether to go on. */
static bool reclaim_yield(struct ldb *db)
{
	bool go_on = true, busy;

	do {
		busy = ldb_db_busy(db);
		if (busy) {
			go_on = reclaim_pause(&db->reclaim);
		} else {
			pthread_mutex_lock(&db->reclaim.lock);
			go_on = !db->reclaim.stop;
			pthread_mutex_unlock(&db->reclaim.lock);
		}
	} while (busy && go_on);
	return go_on;
}

/* A record or key that cannot be understood keeps its chunks, and stops no other. */
static bool reclaim_refuse(struct ldb *db)
{
	if (!atomic_exchange(&db->reclaim.told, true))
		ldb_db_damaged(db, "a garbage record");
	return false;
}

/* The record under the iterator. Returns whether it is garbage. */
static bool reclaim_take(struct ldb *db, leveldb_iterator_t *iter, struct reclaim_item *item)
{
	enum ldb_garbage_kind kind;
	size_t len;
	const char *data = leveldb_iter_key(iter, &len);

	if (!ldb_key_garbage_decode(data, len, &item->id))
		return reclaim_refuse(db);
	data = leveldb_iter_value(iter, &len);
	if (ldb_record_garbage_decode(data, len, &kind, &item->chunks))
		return reclaim_refuse(db);
	return kind == LDB_GARBAGE || item->id < db->first_id;
}

int ldb_reclaim_pending(struct ldb *db, uint64_t max, uint64_t *count, uint64_t *chunks)
{
	leveldb_iterator_t *iter = ldb_db_iterate(db);
	struct reclaim_item item;
	struct ldb_id_key first;
	uint64_t found = 0, sum = 0;
	int err;

	ldb_key_garbage(&first, 0);
	leveldb_iter_seek(iter, (const char *)first.data, first.len);
	for (; found < max && ldb_iter_in_space(iter, &first); leveldb_iter_next(iter)) {
		if (!reclaim_take(db, iter, &item))
			continue;
		found++;
		sum += item.chunks;
	}
	err = ldb_db_iter_error(db, iter);
	leveldb_iter_destroy(iter);
	if (!err) {
		*count = found;
		*chunks = sum;
	}
	return err;
}

/* The garbage from *from on, which moves behind it. */
static int reclaim_collect(struct ldb *db, uint64_t *from, struct reclaim_item *items,
			   size_t *count)
{
	leveldb_iterator_t *iter = ldb_db_iterate(db);
	struct ldb_id_key key;
	int err;

	*count = 0;
	ldb_key_garbage(&key, *from);
	leveldb_iter_seek(iter, (const char *)key.data, key.len);
	for (; *count < RECLAIM_ROUND && ldb_iter_in_space(iter, &key); leveldb_iter_next(iter)) {
		if (!reclaim_take(db, iter, &items[*count]))
			continue;
		*from = items[*count].id + 1;
		(*count)++;
	}
	err = ldb_db_iter_error(db, iter);
	leveldb_iter_destroy(iter);
	return err;
}

static void reclaim_put(leveldb_writebatch_t *batch, const struct reclaim_item *item)
{
	struct ldb_id_key key;

	for (uint32_t chunk = 0; chunk < item->chunks; chunk++) {
		ldb_key_chunk(&key, item->id, chunk);
		ldb_db_batch_delete(batch, &key);
	}
	ldb_key_garbage(&key, item->id);
	ldb_db_batch_delete(batch, &key);
}

/* The record and its chunks are dead. */
static void reclaim_dead(struct ldb *db, const struct reclaim_item *item)
{
	struct ldb_id_key first, last;
	struct ldb_dead dead;

	ldb_key_chunk(&first, item->id, 0);
	ldb_key_chunk(&last, item->id, item->chunks);
	dead = (struct ldb_dead){ldb_place_before((struct wcs_slice){first.data, first.len}),
				 ldb_place_behind((struct wcs_slice){last.data, last.len}),
				 item->chunks, ldb_space_chunks(db, item->chunks)};
	ldb_space_dead(db, &dead);
	ldb_key_garbage(&first, item->id);
	ldb_space_dead_key(db, first.data, first.len, LDB_GARBAGE_LEN);
}

/* Deletes the chunks of all items, in batches. 1: stopped on the way. */
static int reclaim_delete(struct ldb *db, const struct reclaim_item *items, size_t count)
{
	leveldb_writebatch_t *batch = leveldb_writebatch_create();
	size_t deletes = 0, done = 0;
	int err = 0;

	for (size_t i = 0; i < count && !err; i++) {
		reclaim_put(batch, &items[i]);
		deletes += items[i].chunks + 1;
		if (deletes < RECLAIM_DELETES && i + 1 < count)
			continue;
		err = reclaim_yield(db) ? ldb_db_write(db, batch, false) : 1;
		leveldb_writebatch_clear(batch);
		for (deletes = 0; !err && done <= i; done++)
			reclaim_dead(db, &items[done]);
	}
	leveldb_writebatch_destroy(batch);
	return err;
}

/* All garbage there is. 1: stopped on the way. */
static int reclaim_pass(struct ldb *db, struct reclaim_item *items)
{
	uint64_t from = 0;
	size_t count;
	int err;

	do {
		err = reclaim_collect(db, &from, items, &count);
		if (err || count == 0)
			return err;
		if (!reclaim_barrier(&db->reclaim))
			return 1;
		reclaim_leave_held(&db->reclaim, items, &count);
		if (count > 0)
			err = ldb_sync_logs(db);
		if (!err)
			err = reclaim_delete(db, items, count);
		if (!err)
			ldb_stats_reclaimed(db, count);
	} while (!err);
	return err;
}

static void *reclaim_main(void *arg)
{
	struct ldb *db = arg;
	struct ldb_reclaim *reclaim = &db->reclaim;
	struct reclaim_item items[RECLAIM_ROUND];

	pthread_mutex_lock(&reclaim->lock);
	while (!reclaim->stop) {
		if (!reclaim->wanted || atomic_load(&db->failed)) {
			pthread_cond_wait(&reclaim->wake, &reclaim->lock);
			continue;
		}
		pthread_mutex_unlock(&reclaim->lock);
		if (reclaim_pause(reclaim)) {
			pthread_mutex_lock(&reclaim->lock);
			reclaim->wanted = false;
			pthread_mutex_unlock(&reclaim->lock);
			if (reclaim_pass(db, items) < 0)
				ldb_db_log(db, WCS_LOG_WARNING,
					   "space of deleted values is not reclaimed for now");
		}
		pthread_mutex_lock(&reclaim->lock);
	}
	pthread_mutex_unlock(&reclaim->lock);
	return NULL;
}

int ldb_reclaim_start(struct ldb *db)
{
	struct ldb_reclaim *reclaim = &db->reclaim;
	pthread_condattr_t attr;
	int err;

	reclaim->readers.next = reclaim->readers.prev = &reclaim->readers;
	reclaim->wanted = true; /* what the last session left */
	pthread_mutex_init(&reclaim->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&reclaim->wake, &attr);
	pthread_condattr_destroy(&attr);
	err = pthread_create(&reclaim->thread, NULL, reclaim_main, db);
	if (!err)
		return 0;
	pthread_cond_destroy(&reclaim->wake);
	pthread_mutex_destroy(&reclaim->lock);
	return -ENOMEM;
}

void ldb_reclaim_stop(struct ldb *db)
{
	struct ldb_reclaim *reclaim = &db->reclaim;

	pthread_mutex_lock(&reclaim->lock);
	reclaim->stop = true;
	pthread_cond_signal(&reclaim->wake);
	pthread_mutex_unlock(&reclaim->lock);
	pthread_join(reclaim->thread, NULL);
	pthread_cond_destroy(&reclaim->wake);
	pthread_mutex_destroy(&reclaim->lock);
}
