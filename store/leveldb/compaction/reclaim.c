/* SPDX-License-Identifier: MIT */
/*
 * Deletes the extents which no cell refers to, once no reader needs them.
 *
 * A mutation leaves the extents of replaced and deleted cells, and writes a garbage record. A
 * reader takes a ticket of the present round before it looks a cell up. The thread collects records
 * and begins the other round: its readers look cells up after the garbage was committed and cannot
 * find these extents. Once those of the round before have left, the extents are deleted. A scan
 * keeps its ticket; an open value exchanges it for a hold on its own extents, so then every value
 * that can still be read is held. The thread skips held extents until their release wakes it. Hence
 * an open value stays readable whatever is deleted, keeps no other's space, and no reader waits.
 *
 * The logs are synced before extents are deleted: otherwise a power cut could keep that delete and
 * lose the mutation that made them garbage. A record goes in one batch with all of its extents: of
 * two batches a power cut could lose the first, at the end of a log that LevelDB closed unsynced,
 * and keep the second. An intent belongs to a mutation under way, or, if it is older than this
 * session, is garbage.
 *
 * After an error the next wake tries again.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/leveldb/compaction/compaction.h"

enum {
	RECLAIM_HOLDS = 64,   /* buckets of held values */
	RECLAIM_ROUND = 1024, /* records */
};

struct reclaim_item {
	uint64_t id;
	uint32_t extents;
};

struct ldb_reclaim {
	pthread_mutex_t lock;
	/* under lock */
	unsigned int round;		       /* of tickets; 0 or 1 */
	size_t readers[2];		       /* with a ticket of each round */
	struct ldb_hold *holds[RECLAIM_HOLDS]; /* by id; one for each open value */
	bool wanted;			       /* there may be records that were not collected */
	/* the thread's own, but for warned */
	struct reclaim_item items[RECLAIM_ROUND]; /* for which it began the present round */
	size_t count;
	bool passes; /* it goes through the records, and is at `from` */
	uint64_t from;
	atomic_bool warned; /* of a bad record, once */
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
static void reclaim_drop_ticket(struct ldb *db, const struct ldb_ticket *ticket)
{
	if (--db->reclaim->readers[ticket->round] == 0 && ticket->round != db->reclaim->round)
		ldb_space_wake(db);
}

void ldb_reclaim_leave(struct ldb *db, struct ldb_ticket *ticket)
{
	pthread_mutex_lock(&db->reclaim->lock);
	reclaim_drop_ticket(db, ticket);
	pthread_mutex_unlock(&db->reclaim->lock);
}

/* The caller holds the lock. */
static void reclaim_want(struct ldb *db)
{
	if (!db->reclaim->wanted)
		ldb_space_wake(db);
	db->reclaim->wanted = true;
}

void ldb_reclaim_wake(struct ldb *db)
{
	pthread_mutex_lock(&db->reclaim->lock);
	reclaim_want(db);
	pthread_mutex_unlock(&db->reclaim->lock);
}

void ldb_reclaim_hold(struct ldb *db, struct ldb_ticket *ticket, struct ldb_hold *hold, uint64_t id)
{
	struct ldb_reclaim *reclaim = db->reclaim;
	struct ldb_hold **bucket = &reclaim->holds[id % RECLAIM_HOLDS];

	pthread_mutex_lock(&reclaim->lock);
	*hold = (struct ldb_hold){id, false, *bucket};
	*bucket = hold;
	reclaim_drop_ticket(db, ticket);
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
		reclaim_want(db);
	pthread_mutex_unlock(&reclaim->lock);
}

/* ---- The thread -------------------------------------------------------------------------- */

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

/* Deletes the items, each in a batch of its own. */
static int reclaim_delete(struct ldb *db)
{
	const struct ldb_reclaim *reclaim = db->reclaim;
	leveldb_writebatch_t *batch = leveldb_writebatch_create();
	int rc = reclaim->count > 0 ? ldb_sync_logs(db) : 0;

	for (size_t i = 0; i < reclaim->count && !rc && ldb_space_yield(db, true); i++) {
		const struct reclaim_item *item = &reclaim->items[i];

		for (uint32_t extent = 0; extent < item->extents; extent++)
			ldb_db_batch_delete(batch, ldb_key_extent(item->id, extent));
		ldb_db_batch_delete(batch, ldb_key_garbage(item->id));
		rc = ldb_commit(db, batch, false);
		leveldb_writebatch_clear(batch);
		if (!rc) {
			reclaim_dead(db, item);
			ldb_count(&db->counters.values_reclaimed, 1);
		}
	}
	leveldb_writebatch_destroy(batch);
	return rc;
}

/* Takes the held ones from the items; the last release of each wakes the thread. False: there are
 * readers of the round before. */
static bool reclaim_unread(struct ldb_reclaim *reclaim)
{
	size_t count = reclaim->count;
	bool unread;

	pthread_mutex_lock(&reclaim->lock);
	unread = reclaim->readers[!reclaim->round] == 0;
	if (unread)
		reclaim->count = 0;
	for (size_t i = 0; i < count && unread; i++) {
		struct reclaim_item item = reclaim->items[i];
		struct ldb_hold *hold = reclaim->holds[item.id % RECLAIM_HOLDS];
		bool held = false;

		for (; hold; hold = hold->next)
			if (hold->id == item.id)
				held = hold->awaited = true;
		if (!held)
			reclaim->items[reclaim->count++] = item;
	}
	pthread_mutex_unlock(&reclaim->lock);
	return unread;
}

/* Collects the next items, and begins a round. 0: there is no more garbage. */
static int reclaim_next(struct ldb *db)
{
	struct ldb_reclaim *reclaim = db->reclaim;
	uint64_t found = 0, extents;
	int rc;

	reclaim->count = 0;
	if (!reclaim->passes) {
		pthread_mutex_lock(&reclaim->lock);
		reclaim->passes = reclaim->wanted;
		reclaim->wanted = false;
		pthread_mutex_unlock(&reclaim->lock);
		if (!reclaim->passes)
			return 0;
		ldb_space_rest(db); /* one sync then serves many records */
		reclaim->from = 0;
	}
	rc = reclaim_collect(db, &reclaim->from, RECLAIM_ROUND, reclaim->items, &found, &extents);
	reclaim->passes = !rc && found > 0;
	if (!reclaim->passes)
		return rc ? rc : 1; /* more may have come */
	pthread_mutex_lock(&reclaim->lock);
	reclaim->count = (size_t)found;
	reclaim->round = !reclaim->round;
	pthread_mutex_unlock(&reclaim->lock);
	return 1;
}

bool ldb_reclaim_run(struct ldb *db)
{
	int rc;

	if (db->space->stop || ldb_db_failed(db) || !reclaim_unread(db->reclaim))
		return false;
	rc = reclaim_delete(db);
	if (!rc)
		rc = reclaim_next(db);
	if (rc >= 0)
		return rc > 0;
	db->reclaim->passes = false;
	pthread_mutex_lock(&db->reclaim->lock);
	db->reclaim->count = 0;
	db->reclaim->wanted = false;
	pthread_mutex_unlock(&db->reclaim->lock);
	ldb_db_log(db, WCS_LOG_WARNING, "space of deleted values is not reclaimed for now");
	return false;
}

int ldb_reclaim_start(struct ldb *db)
{
	struct ldb_reclaim *reclaim = calloc(1, sizeof(*reclaim));

	if (!reclaim)
		return -ENOMEM;
	reclaim->wanted = true; /* garbage of the last session */
	pthread_mutex_init(&reclaim->lock, NULL);
	db->reclaim = reclaim;
	return 0;
}

void ldb_reclaim_stop(struct ldb *db)
{
	if (db->reclaim)
		pthread_mutex_destroy(&db->reclaim->lock);
	free(db->reclaim);
}
