/* SPDX-License-Identifier: MIT */
/*
 * A pass of the collector over all tables.
 *
 * - It takes the tables by name, and of each the engine's slices, one at a time under the table's
 *   gate. In the background it sleeps after each slice several times as long as the slice took, and
 *   while the engine lags behind; a requested pass only lets the engine catch up.
 * - Its place is a table's name and the engine's own bytes. It is stored now and then; a lost place
 *   costs one more pass.
 * - It looks at the clock before each slice, for the grace.
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
	COLLECTOR_SLEEP = 9,	 /* times the duration of a slice, in the background */
	COLLECTOR_BUSY_MS = 50,	 /* a rest while the engine lags behind */
	COLLECTOR_BUSY_MAX = 40, /* such rests before a slice, at most */
	COLLECTOR_STORE_S = 10,	 /* between two times that the place is stored */
};

#define COLLECTOR_JUMP (24 * 3600 * COLLECTOR_SECOND) /* of the clock */

/* ---- The grace --------------------------------------------------------------------------- */

static bool collector_far(int64_t a, int64_t b)
{
	return (a > b ? a - b : b - a) > COLLECTOR_JUMP;
}

static void collector_look_at_clock(struct wcs_collector *collector)
{
	int64_t steady = collector_steady(), offset = store_now(collector->store) - steady;

	if (collector_far(offset, collector->offset)) {
		collector->jumped = steady;
		store_log(
			collector->store, WCS_LOG_WARNING,
			"the clock jumped by more than a day; what it hides is not collected yet");
	}
	collector->offset = offset;
}

/* Must the collector spare the cells that this family's policy hides? */
static bool collector_spares(const struct wcs_collector *collector, const struct wcs_family *family,
			     int64_t now)
{
	int64_t length = collector->store->options.gc_grace, end = INT64_MIN;

	if (family->gc_changed > now) /* the clock went back */
		return true;
	if (length <= 0)
		return false;
	if (family->gc_changed > 0 && family->gc_changed <= INT64_MAX - length)
		end = family->gc_changed + length;
	if (collector->jumped > 0 && collector->jumped + length + collector->offset > end)
		end = collector->jumped + length + collector->offset;
	return end > now;
}

/* ---- One slice --------------------------------------------------------------------------- */

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
	    !collector_spares(collector, &family->family, look->now))
		return true;
	collector->left += collector->slice.len == 0;
	return false;
}

/* Puts the end of the slice and its counts into the status. */
static void collector_tell(struct wcs_collector *collector, const struct wcs_table *table)
{
	const struct wcs_collect *slice = &collector->slice;
	struct wcs_slice row = {slice->row, slice->row_len};
	struct wcs_gc_status *status = &collector->status;

	if (wcs_keys_salted(wcs_table_keys(table)) && row.len > WCS_KEYS_SALT)
		row = salt_stripped(row);
	pthread_mutex_lock(&collector->lock);
	status->cells = slice->collected;
	status->bytes = slice->bytes;
	status->looked = slice->looked;
	status->pass_cells = slice->collected - collector->before;
	status->row_len = row.len;
	memcpy(status->row, row.data, row.len);
	pthread_mutex_unlock(&collector->lock);
}

/* One slice of the table. */
static int collector_slice(struct wcs_collector *collector, struct wcs_table *table)
{
	struct wcs_store *store = collector->store;
	struct wcs_view view = {.policies = NULL, .now = store_now(store)};
	struct collector_look look = {collector, table, view.now};
	struct wcs_collect *slice = &collector->slice;
	struct wcs_policies *policies = NULL;
	int rc = table_enter(table);

	if (rc != 0)
		return rc;
	if (table->policies != NULL)
		rc = wcs_policies_some(table->policies, collector_takes, &look, &policies);
	view.policies = policies;
	slice->batch = collector->fast ? COLLECTOR_FAST_CELLS : COLLECTOR_SLOW_CELLS;
	slice->done = policies == NULL || store->engine.local == NULL;
	pthread_mutex_lock(&store->collecting);
	if (rc == 0 && !slice->done)
		rc = store->engine.local->collect(store->engine.db, &view, table->id, slice);
	pthread_mutex_unlock(&store->collecting);
	collector_tell(collector, table);
	table_leave(table);
	wcs_policies_drop(policies);
	return rc;
}

/* ---- The place --------------------------------------------------------------------------- */

/* The clock(8) table-length(1) table place; big-endian. */
void collector_store_place(struct wcs_collector *collector)
{
	const char *table = collector->status.table;
	size_t name = strlen(table), len = 9 + name + collector->slice.len;
	const struct wcs_engine *engine = &collector->store->engine;
	unsigned char *bytes = malloc(len);

	collector->stored = collector_steady();
	if (bytes == NULL)
		return;
	put_be64(bytes, (uint64_t)store_now(collector->store));
	bytes[8] = (unsigned char)name;
	memcpy(bytes + 9, table, name);
	memcpy(bytes + 9 + name, collector->slice.at, collector->slice.len);
	/* Where it fails the store is read-only, and says so. */
	if (engine->local != NULL)
		engine->local->note_put(engine->db, WCS_NOTE_COLLECTOR, bytes, len);
	free(bytes);
}

void collector_load_place(struct wcs_collector *collector)
{
	const struct wcs_engine *engine = &collector->store->engine;
	unsigned char *bytes = NULL;
	size_t len = 0, name;
	uint64_t last;

	if (engine->local == NULL ||
	    engine->local->note_get(engine->db, WCS_NOTE_COLLECTOR, &bytes, &len) != 0)
		return;
	name = len >= 9 ? bytes[8] : 0;
	if (len >= 9 && name <= WCS_TABLE_NAME_MAX && len - 9 >= name &&
	    len - 9 - name <= sizeof(collector->slice.at)) {
		last = get_be64(bytes);
		memcpy(collector->status.table, bytes + 9, name);
		collector->slice.len = len - 9 - name;
		memcpy(collector->slice.at, bytes + 9 + name, collector->slice.len);
		if (collector_far(last > INT64_MAX ? INT64_MAX : (int64_t)last,
				  store_now(collector->store)))
			collector->jumped = collector_steady();
	}
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
	bool interrupted = false;
	int rc = 0;

	do {
		int64_t start = collector_steady(), took;

		collector_look_at_clock(collector);
		rc = collector_slice(collector, table);
		took = collector_steady() - start;
		if (start + took - collector->stored > COLLECTOR_STORE_S * COLLECTOR_SECOND)
			collector_store_place(collector);
		interrupted = collector_rest(collector, took);
	} while (rc == 0 && !collector->slice.done && !interrupted);
	return rc != 0 ? rc : !collector->slice.done;
}

int collector_pass(struct wcs_collector *collector)
{
	char *at = collector->status.table, next[WCS_TABLE_NAME_MAX + 1];
	struct wcs_table *table;

	for (;;) {
		bool inside = at[0] != '\0';
		int rc = inside ? wcs_table_open(collector->store, at, &table) : 0;

		if (inside && rc == 0) {
			rc = collector_table(collector, table);
			wcs_table_close(table);
		}
		if (rc == -EIO && collector->failed == 0)
			collector->failed = rc;
		if (rc != 0 && rc != -ENOENT && rc != -EIO) /* else removed, or damaged: the next */
			return rc;
		collector->slice.len = 0;
		if (wcs_table_next(collector->store, inside ? at : NULL, next) != 0)
			next[0] = '\0';
		pthread_mutex_lock(&collector->lock);
		strcpy(at, next);
		collector->status.row_len = 0;
		pthread_mutex_unlock(&collector->lock);
		if (next[0] == '\0')
			return collector->failed;
	}
}
