/* SPDX-License-Identifier: MIT */
/*
 * The ranges that wait for the thread of compact.c, and the thread's wake-up.
 *
 * The queue is short. A drop that pushes onto a full queue waits, so that no more tombstones pile
 * up than a seek crosses in a moment.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/leveldb/compaction/compaction.h"

/* From one compaction of all dead bytes to the next, at least. */
enum { QUEUE_STORE_S = 5 };

uint64_t ldb_queue_push(struct ldb *db, const struct ldb_range *range, unsigned int most,
			bool waits)
{
	struct ldb_queue *queue = db->queue;
	uint64_t number = 0;

	pthread_mutex_lock(&queue->lock);
	while (waits && !queue->stop && queue->pushed - queue->finished >= most)
		pthread_cond_wait(&queue->done, &queue->lock);
	if (!queue->stop && queue->pushed - queue->finished < most) {
		number = ++queue->pushed;
		queue->ranges[number % LDB_QUEUE_RANGES] = *range;
		pthread_cond_signal(&queue->wake);
	}
	pthread_mutex_unlock(&queue->lock);
	return number;
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
