/* SPDX-License-Identifier: MIT */
/*
 * Folds the counts of the shards into the record of the present minute, once a minute and before a
 * map is made, and divides the axis anew by the operations seen.
 */
#include "store/heat/heat_private.h"

#include <errno.h>
#include <stdlib.h>

#define MINUTE INT64_C(60000000)
#define DECAY  0.7 /* of a range's weight, from a minute to the next */

/* ---- Folding ----------------------------------------------------------------------------- */

/* The minute in which most of the time since the last fold lies; at most a minute behind it. */
static int64_t heat_slot(const struct heat *heat, int64_t now)
{
	int64_t half = (now - heat->folded) / 2;

	if (half < 0)
		return now / MINUTE;
	return (heat->folded + (half < MINUTE / 2 ? half : MINUTE / 2)) / MINUTE;
}

/* Adds the counts seen to the record of the slot. */
static int heat_write(struct heat *heat, int64_t slot, struct heat_record *seen)
{
	struct heat_record parts[2] = {*seen, {.count = 0}}, sum = {.count = 0};
	int rc = heat_keep_read(heat, WCS_HEAT_6H, slot, 0, &parts[1]);

	if (rc == 0 || rc == -ENOENT)
		rc = heat_record_join(&sum, parts, 2);
	if (rc == 0)
		rc = heat_keep_minute(heat, slot, &sum);
	heat_record_free(&parts[1]);
	heat_record_free(&sum);
	return rc;
}

static int heat_fold(struct heat *heat)
{
	struct heat_record seen = {.count = 0};
	int64_t now, slot, last;
	struct heat_live live;
	uint64_t ops;
	int rc, taken;

	pthread_mutex_lock(&heat->folding);
	now = store_now(heat->store);
	last = heat->folded;
	slot = heat_slot(heat, now);
	heat_live_read(&live, heat->store);
	pthread_mutex_lock(&heat->lock);
	rc = taken = heat_fold_take(heat, &seen, &ops);
	if (rc == 0 && (ops > 0 || heat_axis_full(heat->axis)))
		rc = heat_axis_divide(heat, &live, &seen, ops,
				      slot != last / MINUTE || now / MINUTE != slot ? DECAY : 1);
	pthread_mutex_unlock(&heat->lock);
	if (seen.count > 0)
		rc = heat_write(heat, slot, &seen);
	heat_record_free(&seen);
	heat->folded = now;
	pthread_mutex_unlock(&heat->folding);
	return taken != 0 ? taken : rc;
}

int wcs_heat_fold(struct wcs_store *store)
{
	return store->heat != NULL ? heat_fold(store->heat) : -EOPNOTSUPP;
}

/* ---- Starting and stopping --------------------------------------------------------------- */

/* Waits for the end of the minute. Returns false if the store is to be closed. */
static bool heat_wait(struct heat *heat)
{
	bool stop;
	int rc = 0;

	pthread_mutex_lock(&heat->lock);
	while (!heat->stop && rc != ETIMEDOUT) {
		int64_t now = store_now(heat->store);
		struct timespec end = clock_deadline((MINUTE - now % MINUTE) * 1000);

		rc = pthread_cond_timedwait(&heat->wake, &heat->lock, &end);
	}
	stop = heat->stop;
	pthread_mutex_unlock(&heat->lock);
	return !stop;
}

static void *heat_main(void *arg)
{
	struct heat *heat = arg;

	while (heat_wait(heat))
		heat_fold(heat);
	heat_fold(heat);
	return NULL;
}

static void heat_free(struct heat *heat)
{
	heat_axis_free(heat->axis);
	heat_keep_free(heat);
	for (size_t i = 0; i < HEAT_SHARDS; i++)
		pthread_mutex_destroy(&heat->shards[i].lock);
	pthread_mutex_destroy(&heat->mapping);
	pthread_mutex_destroy(&heat->folding);
	pthread_mutex_destroy(&heat->lock);
	pthread_cond_destroy(&heat->wake);
	free(heat);
}

int heat_start(struct wcs_store *store)
{
	struct heat *heat;

	if (!store->options.heat)
		return 0;
	heat = calloc(1, sizeof(*heat));
	if (heat == NULL)
		return -ENOMEM;
	heat->store = store;
	heat->since = heat->folded = store_now(store);
	heat->in_store = store->engine.local != NULL && !store->options.heat_in_memory;
	pthread_mutex_init(&heat->lock, NULL);
	pthread_mutex_init(&heat->mapping, NULL);
	pthread_mutex_init(&heat->folding, NULL);
	clock_cond_init(&heat->wake);
	for (size_t i = 0; i < HEAT_SHARDS; i++) {
		pthread_mutex_init(&heat->shards[i].lock, NULL);
		heat->shards[i].random = UINT64_C(0x9e3779b97f4a7c15) * (i + 1);
	}
	heat->axis = calloc(1, sizeof(*heat->axis));
	if (!heat_keep_init(heat) || heat->axis == NULL ||
	    pthread_create(&heat->thread, NULL, heat_main, heat) != 0) {
		heat_free(heat);
		return -ENOMEM;
	}
	pthread_setname_np(heat->thread, "heat");
	store->heat = heat;
	return 0;
}

void heat_stop(struct wcs_store *store)
{
	struct heat *heat = store->heat;

	if (heat == NULL)
		return;
	pthread_mutex_lock(&heat->lock);
	heat->stop = true;
	pthread_cond_signal(&heat->wake);
	pthread_mutex_unlock(&heat->lock);
	pthread_join(heat->thread, NULL);
	store->heat = NULL;
	heat_free(heat);
}
