/* SPDX-License-Identifier: MIT */
/*
 * The ranges that wait for the thread of compact.c, and the thread's wake-up.
 *
 * The queue is short. A caller that pushes onto a full queue waits, so that no more tombstones pile
 * up than a seek crosses in a moment.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/leveldb/compaction/compaction.h"

/* From one compaction of all dead bytes to the next, at least. */
enum { QUEUE_STORE_S = 5 };

/* The caller holds the lock. */
static uint64_t queue_append(struct ldb_queue *queue, const struct ldb_range *range)
{
	queue->ranges[(queue->first + queue->count++) % LDB_QUEUE_RANGES] = *range;
	pthread_cond_signal(&queue->wake);
	return ++queue->pushed;
}

uint64_t ldb_queue_push(struct ldb *db, const struct ldb_range *range)
{
	struct ldb_queue *queue = db->queue;
	uint64_t number = 0;

	pthread_mutex_lock(&queue->lock);
	while (!queue->stop && queue->pushed - queue->finished >= LDB_QUEUE_RANGES)
		pthread_cond_wait(&queue->done, &queue->lock);
	if (!queue->stop)
		number = queue_append(queue, range);
	pthread_mutex_unlock(&queue->lock);
	return number;
}

bool ldb_queue_offer(struct ldb *db, const struct ldb_range *range, unsigned int most)
{
	struct ldb_queue *queue = db->queue;
	bool room;

	pthread_mutex_lock(&queue->lock);
	room = !queue->stop && queue->pushed - queue->finished < most;
	if (room)
		queue_append(queue, range);
	pthread_mutex_unlock(&queue->lock);
	return room;
}

void ldb_queue_wait(struct ldb *db, uint64_t number)
{
	struct ldb_queue *queue = db->queue;

	pthread_mutex_lock(&queue->lock);
	while (!queue->stop && queue->finished < number)
		pthread_cond_wait(&queue->done, &queue->lock);
	pthread_mutex_unlock(&queue->lock);
}

void ldb_queue_wake(struct ldb *db)
{
	pthread_mutex_lock(&db->queue->lock);
	db->queue->woken = true;
	pthread_cond_signal(&db->queue->wake);
	pthread_mutex_unlock(&db->queue->lock);
}

void ldb_queue_store(void *engine)
{
	struct ldb_queue *queue = ((struct ldb *)engine)->queue;
	int64_t now = clock_ns();

	pthread_mutex_lock(&queue->lock);
	if (!queue->all && now >= queue->next_all) {
		queue->all = queue->woken = true;
		queue->next_all = now + QUEUE_STORE_S * CLOCK_SECOND;
		pthread_cond_signal(&queue->wake);
	}
	pthread_mutex_unlock(&queue->lock);
}

void ldb_queue_count(struct ldb *db, uint64_t *finished, uint64_t *pending)
{
	pthread_mutex_lock(&db->queue->lock);
	*finished = db->queue->finished + db->queue->tables;
	*pending = db->queue->pushed - db->queue->finished + db->queue->taken;
	pthread_mutex_unlock(&db->queue->lock);
}

void ldb_queue_cancel(struct ldb *db)
{
	pthread_mutex_lock(&db->queue->lock);
	db->queue->stop = true;
	pthread_cond_signal(&db->queue->wake);
	pthread_cond_broadcast(&db->queue->done);
	pthread_mutex_unlock(&db->queue->lock);
}

int ldb_queue_start(struct ldb *db)
{
	struct ldb_queue *queue = calloc(1, sizeof(*queue));

	if (!queue)
		return -ENOMEM;
	pthread_mutex_init(&queue->lock, NULL);
	pthread_cond_init(&queue->done, NULL);
	clock_cond_init(&queue->wake);
	db->queue = queue;
	return 0;
}

void ldb_queue_free(struct ldb *db)
{
	struct ldb_queue *queue = db->queue;

	if (!queue)
		return;
	pthread_cond_destroy(&queue->wake);
	pthread_cond_destroy(&queue->done);
	pthread_mutex_destroy(&queue->lock);
	free(queue);
}
