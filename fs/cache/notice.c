/* SPDX-License-Identifier: MIT */
/*
 * The thread that sends notices, and waiting for it.
 *
 * A request that waits may hold a lock which another request waits for while that holds the
 * directory's: rmdir of a history holds the family's lock and waits for the history's, which an
 * unlink in it holds. A wait therefore ends after PATIENCE for one notice; the node becomes stale,
 * and the kernel is told to drop its attributes, which takes no lock there.
 */
#include "fs/cache/notice.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fs/serve/loop.h"
#include "lib/clock.h"
#include "lib/grow.h"

enum { PATIENCE = 1 }; /* seconds */

struct notice {
	struct node *dir, *node;
	char *name;
};

struct notice_batch {
	struct notice_batch *next; /* in the queue. Lock: the notices', as all below once queued */
	struct notice *all;
	size_t count, room;
	size_t done;
	bool waited; /* a thread waits for it, and frees it */
};

struct notices {
	pthread_mutex_t lock;
	pthread_cond_t more; /* in the queue, or it ends */
	pthread_cond_t done; /* one more was sent. On the monotonic clock */
	struct notice_batch *first, **last;
	uint64_t sent;
	bool ends;
	pthread_t thread;
	bool started; /* the main thread's */
};

struct notices *notices_new(void)
{
	struct notices *notices = calloc(1, sizeof(*notices));

	if (!notices)
		return NULL;
	pthread_mutex_init(&notices->lock, NULL);
	pthread_cond_init(&notices->more, NULL);
	clock_cond_init(&notices->done);
	notices->last = &notices->first;
	return notices;
}

static void batch_free(struct fs *fs, struct notice_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++) {
		batch->all[i].node->expiring--;
		nodes_put(fs->nodes, batch->all[i].node, 1);
		nodes_put(fs->nodes, batch->all[i].dir, 1);
		free(batch->all[i].name);
	}
	free(batch->all);
	free(batch);
}

void notices_free(struct fs *fs, struct notices *notices)
{
	struct notice_batch *next;

	if (!notices)
		return;
	for (struct notice_batch *batch = notices->first; batch; batch = next) {
		next = batch->next;
		batch_free(fs, batch);
	}
	pthread_cond_destroy(&notices->done);
	pthread_cond_destroy(&notices->more);
	pthread_mutex_destroy(&notices->lock);
	free(notices);
}

int notice_add(struct notice_batch **to, struct node *dir, const char *name, struct node *node)
{
	struct notice_batch *batch = *to ? *to : calloc(1, sizeof(*batch));
	char *copy;

	if (!batch)
		return -ENOMEM;
	*to = batch;
	if (grow(&batch->all, &batch->room, batch->count + 1, 4, sizeof(*batch->all)) != 0)
		return -ENOMEM;
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	node->expiring++;
	batch->all[batch->count++] = (struct notice){node_get(dir), node_get(node), copy};
	return 0;
}

void notice_attributes(struct fs *fs, const struct node *node)
{
	fuse_lowlevel_notify_inval_inode(fs->session, node->nodeid, -1, 0);
}

/* The inode of a value may have other names, such as a place that it is bound to. Lock: the
 * notices', released while one is sent. */
static void send_batch(struct fs *fs, struct notice_batch *batch)
{
	struct notices *notices = fs->notices;

	while (batch->done < batch->count && !notices->ends) {
		const struct notice *notice = &batch->all[batch->done];

		pthread_mutex_unlock(&notices->lock);
		fuse_lowlevel_notify_inval_entry(fs->session, notice->dir->nodeid, notice->name,
						 strlen(notice->name));
		if (node_is_stored(notice->node))
			notice_attributes(fs, notice->node);
		pthread_mutex_lock(&notices->lock);
		batch->done++;
		notices->sent++;
		pthread_cond_broadcast(&notices->done);
	}
}

static void *sender(void *arg)
{
	struct fs *fs = arg;
	struct notices *notices = fs->notices;
	struct notice_batch *batch;

	pthread_mutex_lock(&notices->lock);
	while (!notices->ends) {
		batch = notices->first;
		if (!batch) {
			pthread_cond_wait(&notices->more, &notices->lock);
			continue;
		}
		send_batch(fs, batch);
		if (batch->done < batch->count)
			break;
		notices->first = batch->next;
		if (!batch->next)
			notices->last = &notices->first;
		if (!batch->waited) {
			pthread_mutex_unlock(&notices->lock);
			batch_free(fs, batch);
			pthread_mutex_lock(&notices->lock);
		}
	}
	pthread_mutex_unlock(&notices->lock);
	return NULL;
}

int notices_start(struct fs *fs)
{
	int rc = pthread_create(&fs->notices->thread, NULL, sender, fs);

	fs->notices->started = rc == 0;
	return -rc;
}

void notices_end(struct fs *fs)
{
	struct notices *notices = fs->notices;

	pthread_mutex_lock(&notices->lock);
	notices->ends = true;
	pthread_cond_broadcast(&notices->more);
	pthread_cond_broadcast(&notices->done);
	pthread_mutex_unlock(&notices->lock);
	if (notices->started)
		pthread_join(notices->thread, NULL);
	notices->started = false;
}

/* Waits until one more is sent. -ETIMEDOUT: PATIENCE is over. Lock: the notices'. */
static int await_one(struct notices *notices)
{
	uint64_t sent = notices->sent;
	struct timespec end = clock_deadline(PATIENCE * CLOCK_SECOND);
	int rc = 0;

	while (notices->sent == sent && !notices->ends && rc == 0)
		rc = -pthread_cond_timedwait(&notices->done, &notices->lock, &end);
	return rc;
}

/* Makes the kernel ask for the nodes' attributes, which answers ESTALE: see fs_getattr. */
static void withdraw(struct fs *fs, struct notice_batch *batch, size_t from)
{
	for (size_t i = from; i < batch->count; i++) {
		struct node *node = batch->all[i].node;

		node_state_set(node, NODE_S_STALE | NODE_S_REMOVED);
		notice_attributes(fs, node);
	}
}

void notices_await(struct fs *fs)
{
	struct notices *notices = fs->notices;
	int rc = 0;

	loop_wait_begin(fs);
	pthread_mutex_lock(&notices->lock);
	while (notices->first && !notices->ends && rc == 0)
		rc = await_one(notices);
	pthread_mutex_unlock(&notices->lock);
	loop_wait_end(fs);
}

void notices_send(struct fs *fs, struct notice_batch *batch, enum notice_how how)
{
	struct notices *notices = fs->notices;
	bool done;
	int rc = 0;

	if (!batch)
		return;
	if (batch->count == 0) { /* no memory for the first */
		batch_free(fs, batch);
		return;
	}
	if (how == NOTICE_WAIT && !loop_can_wait())
		how = NOTICE_NOW;
	if (how == NOTICE_NOW)
		withdraw(fs, batch, 0);
	batch->waited = how == NOTICE_WAIT;
	if (batch->waited)
		loop_wait_begin(fs);
	pthread_mutex_lock(&notices->lock);
	*notices->last = batch;
	notices->last = &batch->next;
	pthread_cond_signal(&notices->more);
	if (how != NOTICE_WAIT) {
		pthread_mutex_unlock(&notices->lock);
		return;
	}
	while (batch->done < batch->count && !notices->ends && rc == 0)
		rc = await_one(notices);
	/* With the lock: no other thread can free the batch before. */
	done = batch->done == batch->count;
	if (!done && !notices->ends) {
		fs_log(NULL, WCS_LOG_DEBUG, "the kernel was slow to take a notice");
		withdraw(fs, batch, batch->done);
	}
	batch->waited = false;
	pthread_mutex_unlock(&notices->lock);
	loop_wait_end(fs);
	if (done)
		batch_free(fs, batch);
}
