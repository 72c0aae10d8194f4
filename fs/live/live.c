/* SPDX-License-Identifier: MIT */
/* The state of live files, and the lines that come. A line that is added wakes the thread that
 * answers waiting requests (live_wait.c). */
#include "fs/live/live_private.h"

#include <stdlib.h>

#include "fs/names/spell.h"

struct live *live_new(struct fs *fs)
{
	struct live *live = calloc(1, sizeof(*live));

	if (!live)
		return NULL;
	live->fs = fs;
	pthread_mutex_init(&live->lock, NULL);
	pthread_cond_init(&live->wake, NULL);
	live->trace = ring_new(LIVE_RING_MAX);
	live->changes = ring_new(LIVE_RING_MAX);
	if (live->trace && live->changes)
		return live;
	live_free(live);
	return NULL;
}

void live_free(struct live *live)
{
	if (!live)
		return;
	ring_free(live->trace);
	ring_free(live->changes);
	pthread_mutex_destroy(&live->lock);
	pthread_cond_destroy(&live->wake);
	free(live);
}

bool live_is(const struct node *node)
{
	return node->kind == NODE_CONTROL &&
	       (node->ts == CONTROL_TRACE || node->ts == CONTROL_CHANGES);
}

void live_push(struct live *live, struct ring *ring, struct ring_line line)
{
	if (!ring_push(ring, line) || atomic_load(&live->waits) == 0)
		return;
	pthread_mutex_lock(&live->lock);
	live->wakes++;
	if (!live->woken)
		pthread_cond_signal(&live->wake);
	live->woken = true;
	pthread_mutex_unlock(&live->lock);
}
