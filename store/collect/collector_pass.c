/* SPDX-License-Identifier: MIT */
/*
 * A pass of the collector over all tables.
 *
 * - It takes the tables by name, and of each the engine's slices, one at a time under the table's
 *   gate. In the background it sleeps after each slice several times as long as the slice took, and
 *   while the engine lags behind; a requested pass only lets the engine catch up.
 * - Its place is a table's name and the engine's own bytes. It is stored now and then; a lost place
 *   costs one more pass.
 * - It looks at the clock before each slice, for the grace (grace.c).
 */
#include "store/collect/collector_private.h"
#include "store/keys/salt_ranges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/bytes.h"

enum {
	COLLECTOR_SLOW_CELLS = 1000, /* in one hold of the engine's locks, in the background */
	COLLECTOR_FAST_CELLS = 8000,
	COLLECTOR_SLOW_COMPACT = 50000, /* a seek crosses so many in about 6 ms */
	COLLECTOR_FAST_COMPACT = 200000,
	COLLECTOR_LOOKS = 20,	 /* at cells, for each that a slice may delete */
	COLLECTOR_SLEEP = 9,	 /* times the duration of a slice, in the background */
	COLLECTOR_BUSY_MS = 50,	 /* a rest while the engine lags behind */
	COLLECTOR_BUSY_MAX = 40, /* such rests before a slice, at most */
	COLLECTOR_STORE_S = 10,	 /* between two times that the place is stored */
};

/* ---- One slice ---------------------------------------------------------------- */

struct collector_look {
	struct wcs_collector *collector;
	const struct wcs_table *table;
	int64_t now;
};

/* Is the policy of this family not in its grace? Counts it once, in the table's first slice. */
static bool collector_takes(void *ctx, const char *name)
{
	const struct collector_look *look = ctx;
	struct wcs_collector *collector = look->collector;
	const struct table_family *family = family_of(look->table, name);

	if (collector->fast || family == NULL ||
	    !grace_covers(&collector->grace, &family->family, look->now))
		return true;
	collector->left += collector->slice.len == 0;
	return false;
}

/* One slice of the table. */
static int collector_slice(struct wcs_collector *collector, struct wcs_table *table)
{
	struct wcs_store *store = collector->store;
	struct wcs_view view = {.policies = NULL, .now = store_now(store)};
	struct collector_look look = {collector, table, view.now};
	struct wcs_policies *policies = NULL;
	int rc = table_enter(table);

	if (rc != 0)
		return rc;
	if (table->policies != NULL)
		rc = wcs_policies_some(table->policies, collector_takes, &look, &policies);
	view.policies = policies;
	collector->slice.batch = collector->fast ? COLLECTOR_FAST_CELLS : COLLECTOR_SLOW_CELLS;
	collector->slice.look = COLLECTOR_LOOKS * collector->slice.batch;
	collector->slice.compact =
		collector->fast ? COLLECTOR_FAST_COMPACT : COLLECTOR_SLOW_COMPACT;
	pthread_mutex_lock(&store->collecting);
	if (rc == 0 && policies != NULL && store->engine.local != NULL)
		rc = store->engine.local->collect(store->engine.db, &view, table->id,
						  &collector->slice);
	else if (rc == 0)
		collector->slice.done = true;
	pthread_mutex_unlock(&store->collecting);
	collector->row = (struct wcs_slice){collector->slice.row, collector->slice.row_len};
	if (wcs_keys_salted(wcs_table_keys(table)) && collector->row.len > WCS_KEYS_SALT)
		collector->row = salt_stripped(collector->row);
	table_leave(table);
	wcs_policies_drop(policies);
	return rc;
}

/* ---- The place --------------------------------------------------------------------------- */

/* The clock(8) table-length(1) table place; big-endian. */
void collector_store_place(struct wcs_collector *collector)
{
	size_t name = strlen(collector->table), len = 9 + name + collector->slice.len;
	const struct wcs_engine *engine = &collector->store->engine;
	unsigned char *bytes = malloc(len);

	collector->stored = grace_steady();
	if (bytes == NULL)
		return;
	put_be64(bytes, (uint64_t)store_now(collector->store));
	bytes[8] = (unsigned char)name;
	memcpy(bytes + 9, collector->table, name);
	memcpy(bytes + 9 + name, collector->slice.at, collector->slice.len);
	/* Where it fails the store is read-only, and says so. */
	if (engine->local != NULL)
		engine->local->note_put(engine->db, WCS_NOTE_COLLECTOR, bytes, len);
	free(bytes);
}

void collector_load_place(struct wcs_collector *collector)
{
	struct wcs_store *store = collector->store;
	unsigned char *bytes = NULL;
	size_t len = 0, name;
	uint64_t last;

	if (store->engine.local == NULL ||
	    store->engine.local->note_get(store->engine.db, WCS_NOTE_COLLECTOR, &bytes, &len) != 0)
		return;
	name = len >= 9 ? bytes[8] : 0;
	if (len < 9 || name > WCS_TABLE_NAME_MAX || len - 9 < name ||
	    len - 9 - name > sizeof(collector->slice.at))
		goto out;
	last = get_be64(bytes);
	memcpy(collector->table, bytes + 9, name);
	collector->slice.len = len - 9 - name;
	memcpy(collector->slice.at, bytes + 9 + name, collector->slice.len);
	grace_since(&collector->grace, last > INT64_MAX ? INT64_MAX : (int64_t)last,
		    store_now(store));
out:
	free(bytes);
}

/* ---- Resting ----------------------------------------------------------------------------- */

/* Must the pass stop here? The caller holds the lock. */
static bool collector_interrupted(const struct wcs_collector *collector)
{
	return collector->stop ||
	       (!collector->fast && (collector->paused || collector->asked > collector->granted));
}

void collector_sleep(struct wcs_collector *collector, int64_t microseconds)
{
	const struct timespec until = clock_deadline(microseconds * 1000);

	pthread_cond_timedwait(&collector->wake, &collector->lock, &until);
}

/* Rests after a slice that took so long. Must the pass stop here? */
static bool collector_rest(struct wcs_collector *collector, int64_t took)
{
	const struct wcs_store *store = collector->store;
	bool busy = true, interrupted;

	pthread_mutex_lock(&collector->lock);
	if (!collector->fast && !collector_interrupted(collector))
		collector_sleep(collector, COLLECTOR_SLEEP * took);
	for (int i = 0; i < COLLECTOR_BUSY_MAX && busy; i++) {
		if (collector_interrupted(collector))
			break;
		pthread_mutex_unlock(&collector->lock);
		busy = store->engine.local != NULL && store->engine.local->busy(store->engine.db);
		pthread_mutex_lock(&collector->lock);
		if (busy)
			collector_sleep(collector, COLLECTOR_BUSY_MS * 1000);
	}
	interrupted = collector_interrupted(collector);
	pthread_mutex_unlock(&collector->lock);
	return interrupted;
}

/* ---- Passes ------------------------------------------------------------------------------ */

/* Collects a table from the slice's place on. 1: it was interrupted. */
static int collector_table(struct wcs_collector *collector, struct wcs_table *table)
{
	struct wcs_store *store = collector->store;
	struct wcs_gc_status *status = &collector->status;
	const struct wcs_collect *slice = &collector->slice;
	bool interrupted = false;
	int rc = 0;

	while (rc == 0 && !slice->done && !interrupted) {
		uint64_t looked = slice->looked, cells = slice->collected, bytes = slice->bytes;
		int64_t start = grace_steady(), took;

		if (grace_look(&collector->grace, store_now(store)))
			store_log(store, WCS_LOG_WARNING,
				  "the clock jumped by more than a day; what it hides is not "
				  "collected yet");
		rc = collector_slice(collector, table);
		pthread_mutex_lock(&collector->lock);
		status->cells += slice->collected - cells;
		status->bytes += slice->bytes - bytes;
		status->looked += slice->looked - looked;
		status->pass_cells += slice->collected - cells;
		strcpy(status->table, collector->table);
		status->row_len = collector->row.len;
		if (collector->row.len > 0)
			memcpy(status->row, collector->row.data, collector->row.len);
		pthread_mutex_unlock(&collector->lock);
		took = grace_steady() - start;
		if (start + took - collector->stored > COLLECTOR_STORE_S * GRACE_SECOND)
			collector_store_place(collector);
		interrupted = collector_rest(collector, took);
	}
	return rc != 0 ? rc : interrupted && !slice->done;
}

int collector_pass(struct wcs_collector *collector)
{
	char next[WCS_TABLE_NAME_MAX + 1];
	struct wcs_table *table;

	for (;;) {
		bool inside = collector->table[0] != '\0';
		int rc = inside ? wcs_table_open(collector->store, collector->table, &table) : 0;

		if (inside && rc == 0) {
			collector->slice.done = false;
			rc = collector_table(collector, table);
			wcs_table_close(table);
		}
		if (rc == -EIO && collector->failed == 0)
			collector->failed = rc;
		if (rc != 0 && rc != -ENOENT && rc != -EIO) /* else removed, or damaged: the next */
			return rc;
		collector->slice.len = 0;
		if (wcs_table_next(collector->store, inside ? collector->table : NULL, next) != 0)
			break;
		strcpy(collector->table, next);
	}
	collector->table[0] = '\0';
	return collector->failed;
}
