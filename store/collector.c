/* SPDX-License-Identifier: MIT */
/*
 * The collector's thread: when it passes, what it leaves alone, how fast it goes.
 *
 * - A pass goes through the tables in the order of their names and takes the engine's slices of
 *   each, under the table's gate, one at a time. In the background it sleeps after each several
 *   times as long as that took, and while the engine lags behind; a pass that somebody asked for
 *   only lets the engine catch up.
 * - Its place, a table's name and the engine's own word for where it is there, is stored now and
 *   then. It is a matter of speed only: a place that is lost costs one pass more.
 * - The clock is compared with one that never jumps. Where the difference between the two changed
 *   by more than a day since the last look, or the clock is a day away from when the store was
 *   last open, there is grace for every policy.
 */
#include "collector.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COLLECTOR_SECOND INT64_C(1000000)
#define COLLECTOR_JUMP	 (24 * 3600 * COLLECTOR_SECOND)

enum {
	COLLECTOR_SLOW_CELLS = 500, /* in one hold of the engine's locks, in the background */
	COLLECTOR_FAST_CELLS = 4000,
	COLLECTOR_LOOKS = 20,	 /* at cells, for each that a slice may delete */
	COLLECTOR_SLEEP = 9,	 /* times what a slice took, in the background */
	COLLECTOR_BUSY_MS = 50,	 /* a rest while the engine lags behind */
	COLLECTOR_BUSY_MAX = 40, /* such rests before a slice, at most */
	COLLECTOR_STORE_S = 10,	 /* between two times that the place is stored */
};

struct wcs_collector {
	struct wcs_store *store;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake; /* the thread: something changed of what is below */
	pthread_cond_t done; /* who waits for a pass */
	bool stop;	     /* Lock: lock, as all below */
	bool paused;
	uint64_t asked;	  /* passes that were asked for */
	uint64_t granted; /* of these, done, or given up with `error` */
	int error;
	struct wcs_gc_status status;

	/* The thread's own. */
	bool fast;
	char table[WCS_TABLE_NAME_MAX + 1]; /* the pass is there; "": at the start */
	struct wcs_collect slice;
	int64_t steady;	    /* the clock less the one that never jumps, at the last look */
	int64_t jumped;	    /* when the clock jumped, by the one that never does; 0: it did not */
	int64_t stored;	    /* when the place was, by the same clock */
	int64_t last_start; /* of the last pass, by the same */
	uint64_t left;	    /* families that the pass leaves alone */
	int failed;	    /* the first error of a table of the pass */
};

/* ---- Clocks ------------------------------------------------------------------------------ */

static int64_t collector_steady(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * COLLECTOR_SECOND + now.tv_nsec / 1000;
}

static bool collector_far(int64_t a, int64_t b)
{
	return (a > b ? a - b : b - a) > COLLECTOR_JUMP;
}

/* Notices that the clock jumped. */
static void collector_look_at_clock(struct wcs_collector *collector)
{
	int64_t steady = collector_steady(), offset = store_now(collector->store) - steady;

	if (collector_far(offset, collector->steady)) {
		collector->jumped = steady;
		store_log(
			collector->store, WCS_LOG_WARNING,
			"the clock jumped by more than a day; what it hides is not collected yet");
	}
	collector->steady = offset;
}

/* Until when a policy's hidden cells are left alone, by the clock; INT64_MIN: they are not. */
static int64_t collector_grace_end(const struct wcs_collector *collector,
				   const struct wcs_family *family)
{
	int64_t grace = collector->store->options.gc_grace, end = INT64_MIN;

	if (collector->fast || grace <= 0)
		return end;
	if (family->gc_changed > 0 && family->gc_changed <= INT64_MAX - grace)
		end = family->gc_changed + grace;
	if (collector->jumped > 0 && collector->jumped + grace + collector->steady > end)
		end = collector->jumped + grace + collector->steady;
	return end;
}

/* ---- What a pass may take ---------------------------------------------------------------- */

/* The policies of the table whose hidden cells may go. The caller has entered it. */
static int collector_policies(struct wcs_collector *collector, const struct wcs_table *table,
			      int64_t now, struct wcs_policies **policies)
{
	const struct wcs_family **ripe = calloc(table->family_count + 1, sizeof(*ripe));
	size_t count = 0;
	int rc;

	if (ripe == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < table->family_count; i++) {
		const struct wcs_family *family = &table->families[i]->family;
		bool changed_later = family->gc_changed > now; /* the clock went back */

		if (collector->fast ||
		    (!changed_later && collector_grace_end(collector, family) <= now))
			ripe[count++] = family;
		else if (strcmp(family->gc, "never") != 0 && collector->slice.len == 0)
			collector->left++; /* once: in the table's first slice */
	}
	rc = wcs_policies_new(ripe, count, policies);
	free(ripe);
	return rc;
}

/* One slice of the table. */
static int collector_slice(struct wcs_collector *collector, struct wcs_table *table)
{
	struct wcs_store *store = collector->store;
	struct wcs_view view = {.policies = NULL, .now = store_now(store)};
	struct wcs_policies *policies = NULL;
	int rc = table_enter(table);

	if (rc != 0)
		return rc;
	rc = collector_policies(collector, table, view.now, &policies);
	view.policies = policies;
	collector->slice.batch = collector->fast ? COLLECTOR_FAST_CELLS : COLLECTOR_SLOW_CELLS;
	collector->slice.look = COLLECTOR_LOOKS * collector->slice.batch;
	pthread_mutex_lock(&store->collecting);
	if (rc == 0 && policies != NULL)
		rc = store->backend->collect(store->db, &view, table->id, &collector->slice);
	else if (rc == 0)
		collector->slice.done = true;
	pthread_mutex_unlock(&store->collecting);
	table_leave(table);
	wcs_policies_drop(policies);
	return rc;
}

/* ---- The place --------------------------------------------------------------------------- */

/* The clock(8) table-length(1) table place; big-endian. */
static void collector_store_place(struct wcs_collector *collector)
{
	size_t name = strlen(collector->table), len = 9 + name + collector->slice.len;
	uint64_t now = (uint64_t)store_now(collector->store);
	unsigned char *bytes = malloc(len);

	collector->stored = collector_steady();
	if (bytes == NULL)
		return;
	for (int i = 0; i < 8; i++)
		bytes[i] = (unsigned char)(now >> (56 - 8 * i));
	bytes[8] = (unsigned char)name;
	memcpy(bytes + 9, collector->table, name);
	memcpy(bytes + 9 + name, collector->slice.at, collector->slice.len);
	/* Where it fails the store is read-only, and says so. */
	collector->store->backend->note_put(collector->store->db, bytes, len);
	free(bytes);
}

static void collector_load_place(struct wcs_collector *collector)
{
	struct wcs_store *store = collector->store;
	unsigned char *bytes = NULL;
	size_t len = 0, name;
	uint64_t last = 0;

	if (store->backend->note_get(store->db, &bytes, &len) != 0)
		return;
	name = len >= 9 ? bytes[8] : 0;
	if (len < 9 || name > WCS_TABLE_NAME_MAX || len - 9 < name ||
	    len - 9 - name > sizeof(collector->slice.at))
		goto out;
	for (int i = 0; i < 8; i++)
		last = last << 8 | bytes[i];
	memcpy(collector->table, bytes + 9, name);
	collector->slice.len = len - 9 - name;
	memcpy(collector->slice.at, bytes + 9 + name, collector->slice.len);
	if (last > INT64_MAX || collector_far((int64_t)last, store_now(store)))
		collector->jumped = collector_steady();
out:
	free(bytes);
}

/* ---- Resting ----------------------------------------------------------------------------- */

/* Sleeps, less where there is a reason to look. The caller holds the lock. */
static void collector_sleep(struct wcs_collector *collector, int64_t microseconds)
{
	int64_t until = collector_steady() + microseconds;
	struct timespec at = {.tv_sec = until / COLLECTOR_SECOND,
			      .tv_nsec = until % COLLECTOR_SECOND * 1000};

	pthread_cond_timedwait(&collector->wake, &collector->lock, &at);
}

/* Is a pass to stop here? The caller holds the lock. */
static bool collector_interrupted(const struct wcs_collector *collector)
{
	return collector->stop || /* nobody waits any more */
	       (!collector->fast && (collector->paused || collector->asked > collector->granted));
}

static void collector_rest(struct wcs_collector *collector, int64_t took)
{
	const struct wcs_store *store = collector->store;
	bool busy = true;

	pthread_mutex_lock(&collector->lock);
	if (!collector->fast && !collector_interrupted(collector))
		collector_sleep(collector, COLLECTOR_SLEEP * took);
	for (int i = 0; i < COLLECTOR_BUSY_MAX && busy; i++) {
		if (collector_interrupted(collector))
			break;
		pthread_mutex_unlock(&collector->lock);
		busy = store->backend->busy(store->db);
		pthread_mutex_lock(&collector->lock);
		if (busy)
			collector_sleep(collector, COLLECTOR_BUSY_MS * 1000);
	}
	pthread_mutex_unlock(&collector->lock);
}

/* ---- Passes ------------------------------------------------------------------------------ */

static void collector_tell(struct wcs_collector *collector, const struct wcs_collect *before)
{
	struct wcs_gc_status *status = &collector->status;
	const struct wcs_collect *slice = &collector->slice;

	pthread_mutex_lock(&collector->lock);
	status->cells += slice->collected - before->collected;
	status->bytes += slice->bytes - before->bytes;
	status->looked += slice->looked - before->looked;
	status->pass_cells += slice->collected - before->collected;
	strcpy(status->table, collector->table);
	pthread_mutex_unlock(&collector->lock);
}

static void collector_settle(struct wcs_collector *collector)
{
	struct wcs_store *store = collector->store;

	pthread_mutex_lock(&store->collecting);
	store->backend->collected(store->db, collector->slice.done);
	pthread_mutex_unlock(&store->collecting);
}

/* A table, from the slice's place on. 1: it was interrupted. */
static int collector_table(struct wcs_collector *collector, struct wcs_table *table)
{
	bool interrupted = false;
	int rc = 0;

	while (rc == 0 && !collector->slice.done && !interrupted) {
		struct wcs_collect before = {.looked = collector->slice.looked,
					     .collected = collector->slice.collected,
					     .bytes = collector->slice.bytes};
		int64_t start = collector_steady();

		collector_look_at_clock(collector);
		rc = collector_slice(collector, table);
		collector_tell(collector, &before);
		collector_settle(collector);
		collector_rest(collector, collector_steady() - start);
		if (collector_steady() - collector->stored > COLLECTOR_STORE_S * COLLECTOR_SECOND)
			collector_store_place(collector);
		pthread_mutex_lock(&collector->lock);
		interrupted = collector_interrupted(collector);
		pthread_mutex_unlock(&collector->lock);
	}
	return rc != 0 ? rc : interrupted && !collector->slice.done;
}

static int collector_named(struct wcs_collector *collector)
{
	struct wcs_table *table;
	int rc = wcs_table_open(collector->store, collector->table, &table);

	if (rc != 0)
		return rc;
	collector->slice.done = false;
	rc = collector_table(collector, table);
	wcs_table_close(table);
	return rc;
}

/* Goes through all tables from the place on. 1: it was interrupted; 0: it is through. */
static int collector_pass(struct wcs_collector *collector)
{
	char next[WCS_TABLE_NAME_MAX + 1];
	int rc = 0;

	while (rc == 0) {
		const char *after = collector->table;

		if (*after != '\0')
			rc = collector_named(collector);
		if (rc == -EIO && collector->failed == 0)
			collector->failed = rc;
		if (rc == -ENOENT || rc == -EIO) /* it was removed, or is damaged: the next one */
			rc = 0;
		if (rc != 0)
			break;
		collector->slice.len = 0;
		if (wcs_table_next(collector->store, *after != '\0' ? after : NULL, next) != 0)
			break;
		strcpy(collector->table, next);
	}
	if (rc != 0)
		return rc;
	collector->table[0] = '\0';
	return collector->failed;
}

static void collector_begin(struct wcs_collector *collector)
{
	struct wcs_gc_status *status = &collector->status;

	status->running = true;
	status->pass_started = store_now(collector->store);
	status->pass_cells = 0;
	collector->left = 0;
	collector->failed = 0;
	collector->last_start = collector_steady();
	collector->fast = collector->asked > collector->granted;
	if (collector->fast) { /* all of the store, not from the middle on */
		collector->table[0] = '\0';
		collector->slice.len = 0;
	}
}

static void collector_end(struct wcs_collector *collector, uint64_t asked, int rc)
{
	struct wcs_gc_status *status = &collector->status;

	status->running = false;
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

/* How long until the next pass begins; 0: now; negative: nobody knows. The caller holds the lock.
 */
static int64_t collector_due(const struct wcs_collector *collector)
{
	int64_t interval = collector->store->options.gc_interval, left;

	if (collector->asked > collector->granted)
		return 0;
	if (collector->paused || interval <= 0)
		return -1;
	if (collector->last_start == 0 || collector->table[0] != '\0')
		return 0;
	left = collector->last_start + interval - collector_steady();
	return left > 0 ? left : 0;
}

/* The caller holds the lock, which is free while the pass goes on. */
static void collector_one_pass(struct wcs_collector *collector)
{
	uint64_t asked = collector->asked;
	int rc;

	collector_begin(collector);
	pthread_mutex_unlock(&collector->lock);
	rc = collector_pass(collector);
	collector_store_place(collector);
	if (rc < 0)
		store_log(collector->store, WCS_LOG_ERROR, "garbage collection stopped: %s",
			  strerror(-rc));
	pthread_mutex_lock(&collector->lock);
	collector_end(collector, asked, rc);
	if (rc < 0) /* not at once again */
		collector->table[0] = '\0';
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
	pthread_condattr_t attr;

	if (collector == NULL)
		return -ENOMEM;
	collector->store = store;
	pthread_mutex_init(&collector->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&collector->wake, &attr);
	pthread_condattr_destroy(&attr);
	pthread_cond_init(&collector->done, NULL);
	collector->stored = collector_steady();
	collector->steady = store_now(store) - collector->stored;
	collector_load_place(collector);
	if (pthread_create(&collector->thread, NULL, collector_main, collector) != 0) {
		collector_free(collector);
		return -ENOMEM;
	}
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

/* ---- What others ask --------------------------------------------------------------------- */

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

	pthread_mutex_lock(&collector->lock);
	*status = collector->status;
	status->paused = collector->paused;
	pthread_mutex_unlock(&collector->lock);
}
