/* SPDX-License-Identifier: MIT */
/*
 * The thread that deletes extents which no cell refers to, and the readers that it waits for.
 *
 * A mutation leaves the extents of replaced and deleted cells, and writes a garbage record. A
 * reader takes a ticket of the present round before it looks a cell up. The thread collects records
 * and begins the other round: its readers look cells up after the garbage was committed and cannot
 * find these extents; the thread waits for those of the round before. A scan keeps its ticket; an
 * open value exchanges it for a hold on its own extents, so behind the barrier every value that can
 * still be read is held. The thread skips held extents until their release wakes it. Hence an open
 * value stays readable whatever is deleted, keeps no other's space, and no reader waits.
 *
 * The logs are synced before extents are deleted: otherwise a power cut could keep that delete and
 * lose the mutation that made them garbage. A record goes in one batch with all of its extents: of
 * two batches a power cut could lose the first, at the end of a log that LevelDB closed unsynced,
 * and keep the second. An intent belongs to a mutation under way, or, if it is older than this
 * session, is garbage.
 *
 * After an error the thread retries at the next wake. Only a failed write (db->failed) ends it.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/leveldb/compaction/compaction.h"

enum {
	RECLAIM_HOLDS = 64,	/* buckets of held values */
	RECLAIM_ROUND = 1024,	/* records per barrier */
	RECLAIM_DELETES = 1000, /* per batch, and those of the last record */
	RECLAIM_PAUSE_MS = 50, /* from the wake to the work, so that one sync serves many records */
};

struct ldb_reclaim {
	pthread_mutex_t lock;
	pthread_cond_t wake; /* the thread: work, a reader left, stop */
	/* under lock */
	unsigned int round;		       /* of tickets; 0 or 1 */
	size_t readers[2];		       /* with a ticket of each round */
	struct ldb_hold *holds[RECLAIM_HOLDS]; /* by id; one for each open value */
	bool wanted;
	atomic_bool stop;
	/* the thread's own, but for warned */
	pthread_t thread;
	atomic_bool warned; /* of a bad record, once */
};

struct reclaim_item {
	uint64_t id;
	uint32_t extents;
};

/* ---- Readers ----------------------------------------------------------------------------- */

void ldb_reclaim_enter(struct ldb *db, struct ldb_ticket *ticket)
{
	pthread_mutex_lock(&db->reclaim->lock);
	ticket->round = db->reclaim->round;
	db->reclaim->readers[ticket->round]++;
	pthread_mutex_unlock(&db->reclaim->lock);
}

/* The caller holds the lock. */
static void reclaim_drop_ticket(struct ldb_reclaim *reclaim, const struct ldb_ticket *ticket)
{
	if (--reclaim->readers[ticket->round] == 0 && ticket->round != reclaim->round)
		pthread_cond_signal(&reclaim->wake);
}

void ldb_reclaim_leave(struct ldb *db, struct ldb_ticket *ticket)
{
	pthread_mutex_lock(&db->reclaim->lock);
	reclaim_drop_ticket(db->reclaim, ticket);
	pthread_mutex_unlock(&db->reclaim->lock);
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
	if (!db->reclaim) /* a drop is resumed; the thread starts later, and looks */
		return;
	pthread_mutex_lock(&db->reclaim->lock);
	reclaim_want(db->reclaim);
	pthread_mutex_unlock(&db->reclaim->lock);
}

void ldb_reclaim_hold(struct ldb *db, struct ldb_ticket *ticket, struct ldb_hold *hold, uint64_t id)
{
	struct ldb_reclaim *reclaim = db->reclaim;
	struct ldb_hold **bucket = &reclaim->holds[id % RECLAIM_HOLDS];

	pthread_mutex_lock(&reclaim->lock);
	*hold = (struct ldb_hold){id, false, *bucket};
	*bucket = hold;
	reclaim_drop_ticket(reclaim, ticket);
	pthread_mutex_unlock(&reclaim->lock);
}

void ldb_reclaim_release(struct ldb *db, struct ldb_hold *hold)
{
	struct ldb_reclaim *reclaim = db->reclaim;
	struct ldb_hold **link = &reclaim->holds[hold->id % RECLAIM_HOLDS];

	pthread_mutex_lock(&reclaim->lock);
	while (*link != hold)
		link = &(*link)->next;
	*link = hold->next;
	if (hold->awaited)
		reclaim_want(reclaim);
	pthread_mutex_unlock(&reclaim->lock);
}

/* ---- The thread -------------------------------------------------------------------------- */

/* Sleeps a moment, or until the store is closed. The caller holds the lock. */
static void reclaim_pause(struct ldb_reclaim *reclaim)
{
	const struct timespec until = clock_deadline(RECLAIM_PAUSE_MS * (CLOCK_SECOND / 1000));

	while (!reclaim->stop &&
	       pthread_cond_timedwait(&reclaim->wake, &reclaim->lock, &until) != ETIMEDOUT)
		;
}

/* Waits for the readers that entered before now. Then it removes the held items; the last release
 * of each wakes the thread. False: the store is being closed. */
static bool reclaim_barrier(struct ldb_reclaim *reclaim, struct reclaim_item *items, size_t *count)
{
	unsigned int before;
	size_t kept = 0;

	pthread_mutex_lock(&reclaim->lock);
	before = reclaim->round;
	reclaim->round = !before; /* no reader is left of it: an earlier call waited for them */
	while (!reclaim->stop && reclaim->readers[before] > 0)
		pthread_cond_wait(&reclaim->wake, &reclaim->lock);
	for (size_t i = 0; i < *count; i++) {
		struct ldb_hold *hold = reclaim->holds[items[i].id % RECLAIM_HOLDS];
		bool held = false;

		for (; hold; hold = hold->next) {
			if (hold->id == items[i].id)
				held = hold->awaited = true;
		}
		if (!held)
			items[kept++] = items[i];
	}
	*count = kept;
	pthread_mutex_unlock(&reclaim->lock);
	return !reclaim->stop;
}

/* Reads up to max garbage records from *from on, which moves behind them, into items (NULL: only
 * counts). A damaged record keeps its extents and stops no other. */
static int reclaim_collect(struct ldb *db, uint64_t *from, uint64_t max, struct reclaim_item *items,
			   uint64_t *count, uint64_t *extents)
{
	leveldb_iterator_t *iter = ldb_db_iterate(db);
	struct ldb_id_key first = ldb_key_garbage(*from);
	uint64_t found = 0, sum = 0;
	int rc;

	ldb_iter_seek_id(iter, first);
	for (; found < max && ldb_iter_in_space(iter, first); leveldb_iter_next(iter)) {
		size_t key_len, len;
		const char *key = leveldb_iter_key(iter, &key_len);
		const char *record = leveldb_iter_value(iter, &len);
		enum ldb_garbage_kind kind;
		struct reclaim_item item;

		if (!ldb_key_garbage_decode(key, key_len, &item.id) ||
		    ldb_record_garbage_decode(record, len, &kind, &item.extents)) {
			if (!atomic_exchange(&db->reclaim->warned, true))
				ldb_db_damaged(db, "a garbage record");
			continue;
		}
		if (kind != LDB_GARBAGE && item.id >= db->first_id)
			continue;
		if (items)
			items[found] = item;
		*from = item.id + 1;
		sum += item.extents;
		found++;
	}
	rc = ldb_db_iter_end(db, iter, 0);
	if (rc)
		return rc;
	*count = found;
	*extents = sum;
	return 0;
}

int ldb_reclaim_pending(struct ldb *db, uint64_t max, uint64_t *count, uint64_t *extents)
{
	return reclaim_collect(db, &(uint64_t){0}, max, NULL, count, extents);
}

/* Counts the dead bytes of a deleted record and its extents. */
static void reclaim_dead(struct ldb *db, const struct reclaim_item *item)
{
	struct ldb_id_key first = ldb_key_extent(item->id, 0), record = ldb_key_garbage(item->id);
	struct ldb_id_key last = ldb_key_extent(item->id, item->extents);

	ldb_space_dead(db, (struct wcs_slice){first.data, first.len},
		       (struct wcs_slice){last.data, last.len},
		       ldb_space_extents(db, item->extents));
	ldb_space_dead_key(db, record.data, record.len, LDB_GARBAGE_LEN);
}

/* Deletes the items, in batches, between which LevelDB catches up. 1: the store is being closed. */
static int reclaim_delete(struct ldb *db, const struct reclaim_item *items, size_t count)
{
	leveldb_writebatch_t *batch = leveldb_writebatch_create();
	size_t deletes = 0, done = 0;
	int rc = 0;

	for (size_t i = 0; i < count && !rc; i++) {
		for (uint32_t extent = 0; extent < items[i].extents; extent++)
			ldb_db_batch_delete(batch, ldb_key_extent(items[i].id, extent));
		ldb_db_batch_delete(batch, ldb_key_garbage(items[i].id));
		deletes += items[i].extents + 1;
		if (deletes < RECLAIM_DELETES && i + 1 < count)
			continue;
		while (!db->reclaim->stop && ldb_commit_busy(db)) {
			pthread_mutex_lock(&db->reclaim->lock);
			reclaim_pause(db->reclaim);
			pthread_mutex_unlock(&db->reclaim->lock);
		}
		rc = db->reclaim->stop ? 1 : ldb_commit(db, batch, false);
		leveldb_writebatch_clear(batch);
		for (deletes = 0; !rc && done <= i; done++)
			reclaim_dead(db, &items[done]);
	}
	leveldb_writebatch_destroy(batch);
	return rc;
}

/* Deletes all garbage. 1: the store is being closed. */
static int reclaim_pass(struct ldb *db, struct reclaim_item *items)
{
	uint64_t from = 0, found, extents;
	size_t count;
	int rc;

	do {
		rc = reclaim_collect(db, &from, RECLAIM_ROUND, items, &found, &extents);
		if (rc || found == 0)
			return rc;
		count = (size_t)found;
		if (!reclaim_barrier(db->reclaim, items, &count))
			return 1;
		if (count > 0)
			rc = ldb_sync_logs(db);
		if (!rc)
			rc = reclaim_delete(db, items, count);
		if (!rc)
			ldb_count(&db->counters.values_reclaimed, count);
	} while (!rc);
	return rc;
}

static void *reclaim_main(void *arg)
{
	struct ldb *db = arg;
	struct ldb_reclaim *reclaim = db->reclaim;
	struct reclaim_item items[RECLAIM_ROUND];

	while (!reclaim->stop) {
		pthread_mutex_lock(&reclaim->lock);
		while (!reclaim->stop && (!reclaim->wanted || ldb_db_failed(db)))
			pthread_cond_wait(&reclaim->wake, &reclaim->lock);
		reclaim_pause(reclaim);
		reclaim->wanted = false;
		pthread_mutex_unlock(&reclaim->lock);
		if (!reclaim->stop && reclaim_pass(db, items) < 0)
			ldb_db_log(db, WCS_LOG_WARNING,
				   "space of deleted values is not reclaimed for now");
	}
	return NULL;
}

static void reclaim_free(struct ldb *db)
{
	pthread_cond_destroy(&db->reclaim->wake);
	pthread_mutex_destroy(&db->reclaim->lock);
	free(db->reclaim);
	db->reclaim = NULL;
}

int ldb_reclaim_start(struct ldb *db)
{
	struct ldb_reclaim *reclaim = calloc(1, sizeof(*reclaim));

	if (!reclaim)
		return -ENOMEM;
	reclaim->wanted = true; /* garbage of the last session */
	pthread_mutex_init(&reclaim->lock, NULL);
	clock_cond_init(&reclaim->wake);
	db->reclaim = reclaim;
	if (pthread_create(&reclaim->thread, NULL, reclaim_main, db) == 0)
		return 0;
	reclaim_free(db);
	return -ENOMEM;
}

void ldb_reclaim_stop(struct ldb *db)
{
	struct ldb_reclaim *reclaim = db->reclaim;

	pthread_mutex_lock(&reclaim->lock);
	reclaim->stop = true;
	pthread_cond_signal(&reclaim->wake);
	pthread_mutex_unlock(&reclaim->lock);
	pthread_join(reclaim->thread, NULL);
	reclaim_free(db);
}
