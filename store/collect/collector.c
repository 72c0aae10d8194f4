/* SPDX-License-Identifier: MIT */
/* The collector's thread: it starts the passes, and answers the other threads. */
#include "store/collect/collector_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Starting passes ---------------------------------------------------------------------- */

/* Microseconds until the next pass; 0: now; negative: until a request. The caller holds the lock.
 */
static int64_t collector_due(const struct wcs_collector *collector)
{
	int64_t interval = collector->store->options.gc_interval, left;

	if (collector->asked > collector->granted)
		return 0;
	if (collector->paused || collector->halted || interval <= 0)
		return -1;
	if (collector->last_start == 0 || collector->status.table[0] != '\0')
		return 0;
	left = collector->last_start + interval - collector_steady();
	return left > 0 ? left : 0;
}

static bool collector_failed(const struct wcs_collector *collector)
{
	const struct wcs_engine *engine = &collector->store->engine;

	return engine->local != NULL && engine->local->failed(engine->db);
}

/* The caller holds the lock, which is released during the pass. */
static void collector_one_pass(struct wcs_collector *collector)
{
	struct wcs_gc_status *status = &collector->status;
	uint64_t asked = collector->asked;
	int rc;

	collector->fast = asked > collector->granted;
	collector->before = collector->slice.collected;
	collector->left = 0;
	collector->failed = 0;
	collector->last_start = collector_steady();
	status->running = true;
	status->pass_started = store_now(collector->store);
	status->pass_cells = 0;
	if (collector->fast) { /* all of the store, not from the middle on */
		status->table[0] = '\0';
		status->row_len = collector->slice.len = 0;
	}
	pthread_mutex_unlock(&collector->lock);
	rc = collector_failed(collector) ? -EROFS : collector_pass(collector);
	collector_store_place(collector);
	if (rc < 0 && !collector->halted) /* once, if the store takes no more writes */
		store_log(collector->store, WCS_LOG_ERROR, "garbage collection stopped: %s",
			  strerror(-rc));
	pthread_mutex_lock(&collector->lock);
	collector->halted = rc < 0 && collector_failed(collector);
	status->running = false;
	if (rc < 0) { /* not at once again */
		status->table[0] = '\0';
		status->row_len = 0;
	}
	if (rc == 0) {
		status->passes++;
		status->last_started = status->pass_started;
		status->last_ended = store_now(collector->store);
		status->last_cells = status->pass_cells;
		status->left = collector->left;
	}
	if (collector->fast) {
		collector->granted = asked;
		collector->error = rc > 0 ? -ECANCELED : rc;
		pthread_cond_broadcast(&collector->done);
	}
}

static void *collector_main(void *arg)
{
	struct wcs_collector *collector = arg;

	pthread_mutex_lock(&collector->lock);
	while (!collector->stop) {
		int64_t due = collector_due(collector);

		if (due == 0)
			collector_one_pass(collector);
		else if (due > 0)
			collector_sleep(collector, due);
		else
			pthread_cond_wait(&collector->wake, &collector->lock);
	}
	pthread_mutex_unlock(&collector->lock);
	return NULL;
}

/* ---- Starting and stopping --------------------------------------------------------------- */

static void collector_free(struct wcs_collector *collector)
{
	pthread_cond_destroy(&collector->wake);
	pthread_cond_destroy(&collector->done);
	pthread_mutex_destroy(&collector->lock);
	free(collector);
}

int collector_start(struct wcs_store *store)
{
	struct wcs_collector *collector = calloc(1, sizeof(*collector));

	if (collector == NULL)
		return -ENOMEM;
	collector->store = store;
	pthread_mutex_init(&collector->lock, NULL);
	clock_cond_init(&collector->wake);
	pthread_cond_init(&collector->done, NULL);
	collector->stored = collector_steady();
	collector->offset = store_now(store) - collector->stored;
	collector_load_place(collector);
	if (pthread_create(&collector->thread, NULL, collector_main, collector) != 0) {
		collector_free(collector);
		return -ENOMEM;
	}
	pthread_setname_np(collector->thread, "gc");
	store->collector = collector;
	return 0;
}

void collector_stop(struct wcs_store *store)
{
	struct wcs_collector *collector = store->collector;

	if (collector == NULL)
		return;
	wcs_gc_end(store);
	pthread_join(collector->thread, NULL);
	collector_free(collector);
	store->collector = NULL;
}

/* ---- Requests of other threads ----------------------------------------------------------- */

int wcs_gc_run(struct wcs_store *store)
{
	struct wcs_collector *collector = store->collector;
	uint64_t number;
	int rc;

	pthread_mutex_lock(&collector->lock);
	number = ++collector->asked;
	pthread_cond_signal(&collector->wake);
	while (!collector->stop && collector->granted < number)
		pthread_cond_wait(&collector->done, &collector->lock);
	rc = collector->granted < number ? -ECANCELED : collector->error;
	pthread_mutex_unlock(&collector->lock);
	return rc;
}

void wcs_gc_end(struct wcs_store *store)
{
	struct wcs_collector *collector = store->collector;

	pthread_mutex_lock(&collector->lock);
	collector->stop = true;
	pthread_cond_signal(&collector->wake);
	pthread_cond_broadcast(&collector->done);
	pthread_mutex_unlock(&collector->lock);
}

void wcs_gc_pause(struct wcs_store *store, bool paused)
{
	struct wcs_collector *collector = store->collector;

	pthread_mutex_lock(&collector->lock);
	collector->paused = paused;
	pthread_cond_signal(&collector->wake);
	pthread_mutex_unlock(&collector->lock);
}

void wcs_gc_status(struct wcs_store *store, struct wcs_gc_status *status)
{
	struct wcs_collector *collector = store->collector;
	int64_t due;

	pthread_mutex_lock(&collector->lock);
	*status = collector->status;
	due = status->running ? -1 : collector_due(collector);
	status->next = due < 0 ? 0 : store_now(store) + due;
	status->paused = collector->paused;
	pthread_mutex_unlock(&collector->lock);
}
