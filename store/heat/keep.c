/* SPDX-License-Identifier: MIT */
/*
 * The records of the windows. A window has a ring of slots, one more than it shows; a record
 * replaces the one a round before, so nothing needs to be removed. The number of a record in the
 * engine is its place in the rings. While the engine takes none they are kept in memory: without a
 * local engine, on a full medium, after a failed write.
 */
#include "store/heat/heat_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct heat_kept {
	unsigned char *bytes; /* NULL: it is not in memory */
	size_t len;
};

static const struct window {
	int64_t step; /* seconds */
	uint16_t columns;
	uint16_t first; /* number of its first record */
} windows[WCS_HEAT_WINDOWS] = {
	[WCS_HEAT_6H] = {60, 360, 1},
	[WCS_HEAT_4D] = {600, 576, 1 + 361},
	[WCS_HEAT_28D] = {3600, 672, 1 + 361 + 577},
};
#define KEPT_COUNT (1 + 361 + 577 + 673)

size_t heat_window_columns(enum wcs_heat_window window)
{
	return windows[window].columns;
}

int64_t heat_window_step(enum wcs_heat_window window)
{
	return windows[window].step * 1000000;
}

bool heat_keep_init(struct heat *heat)
{
	pthread_mutex_init(&heat->keeping, NULL);
	heat->kept = calloc(KEPT_COUNT, sizeof(*heat->kept));
	return heat->kept != NULL;
}

void heat_keep_free(struct heat *heat)
{
	for (size_t i = 0; heat->kept != NULL && i < KEPT_COUNT; i++)
		free(heat->kept[i].bytes);
	free(heat->kept);
	pthread_mutex_destroy(&heat->keeping);
}

static uint16_t keep_number(enum wcs_heat_window window, int64_t slot)
{
	return (uint16_t)(windows[window].first + slot % (windows[window].columns + 1));
}

/* ---- Bytes ------------------------------------------------------------------------------- */

static int keep_get(struct heat *heat, uint16_t number, unsigned char **bytes, size_t *len)
{
	const struct wcs_engine *engine = &heat->store->engine;
	const struct heat_kept *kept = &heat->kept[number];
	int rc = -ENOENT;

	pthread_mutex_lock(&heat->keeping);
	if (kept->bytes != NULL) {
		*bytes = malloc(kept->len);
		rc = *bytes != NULL ? 0 : -ENOMEM;
	}
	if (rc == 0)
		memcpy(*bytes, kept->bytes, *len = kept->len);
	pthread_mutex_unlock(&heat->keeping);
	return rc == -ENOENT && heat->in_store
		       ? engine->local->note_get(engine->db, number, bytes, len)
		       : rc;
}

/* Takes the bytes. NULL: the engine has the record. */
static void keep_in_memory(struct heat *heat, uint16_t number, unsigned char *bytes, size_t len)
{
	pthread_mutex_lock(&heat->keeping);
	free(heat->kept[number].bytes);
	heat->kept[number] = (struct heat_kept){bytes, len};
	pthread_mutex_unlock(&heat->keeping);
}

/* A full medium takes none: the room that is left is for deletes. */
static int keep_in_store(struct heat *heat, uint16_t number, const unsigned char *bytes, size_t len)
{
	const struct wcs_engine *engine = &heat->store->engine;
	int rc = room_enter(heat->store, len, ROOM_BEGUN);

	if (rc != 0)
		return rc;
	rc = engine->local->note_put(engine->db, number, bytes, len);
	room_leave(heat->store, len);
	return rc;
}

/* ---- Reading ----------------------------------------------------------------------------- */

/* The record of the slot itself. -ENOENT: there is none, or none that can be read. */
static int keep_read_one(struct heat *heat, enum wcs_heat_window window, int64_t slot,
			 uint32_t wanted, struct heat_record *record)
{
	unsigned char *bytes = NULL;
	size_t len;
	int rc = -ENOENT;

	if (slot >= 0) /* a window can begin before 1970 */
		rc = keep_get(heat, keep_number(window, slot), &bytes, &len);
	if (rc == 0)
		rc = heat_record_decode(record, slot, wanted, bytes, len);
	free(bytes);
	if (rc == -EIO) {
		heat_record_free(record);
		rc = -ENOENT;
	}
	return rc;
}

/* Joins the records of the finer window's slots. */
static int keep_compose(struct heat *heat, enum wcs_heat_window window, int64_t slot,
			uint32_t wanted, bool all, struct heat_record *record)
{
	struct heat_record parts[10] = {{.count = 0}};
	size_t count = (size_t)(windows[window].step / windows[window - 1].step), found = 0;
	int rc = 0;

	for (size_t i = 0; i < count && rc == 0; i++) {
		rc = heat_keep_read(heat, window - 1, slot * (int64_t)count + (int64_t)i, wanted,
				    all, &parts[i]);
		found += rc == 0;
		if (rc == -ENOENT)
			rc = 0;
	}
	if (rc == 0)
		rc = found > 0 ? heat_record_join(record, parts, count) : -ENOENT;
	for (size_t i = 0; i < count; i++)
		heat_record_free(&parts[i]);
	return rc;
}

int heat_keep_read(struct heat *heat, enum wcs_heat_window window, int64_t slot, uint32_t wanted,
		   bool all, struct heat_record *record)
{
	int rc = keep_read_one(heat, window, slot, wanted, record);
	int64_t kept;

	if (rc != -ENOENT || window == WCS_HEAT_6H)
		return rc;
	kept = store_now(heat->store) -
	       (int64_t)windows[window - 1].columns * heat_window_step(window - 1);
	if (!all && (slot + 1) * heat_window_step(window) < kept)
		return rc;
	return keep_compose(heat, window, slot, wanted, all, record);
}

/* ---- Writing ----------------------------------------------------------------------------- */

static int keep_encode(struct heat_record *record, int64_t slot, size_t share, size_t most,
		       unsigned char **bytes, size_t *len)
{
	int rc = heat_record_fit(record, share, most);

	return rc == 0 ? heat_record_encode(record, slot, bytes, len) : rc;
}

int heat_keep_write(struct heat *heat, enum wcs_heat_window window, int64_t slot,
		    struct heat_record *record)
{
	uint16_t number = keep_number(window, slot);
	unsigned char *bytes = NULL;
	size_t len;
	int rc = -EROFS;

	if (heat->in_store)
		rc = keep_encode(record, slot, HEAT_RECORD, HEAT_RECORD_MAX, &bytes, &len);
	if (rc == 0)
		rc = keep_in_store(heat, number, bytes, len);
	free(bytes);
	bytes = NULL;
	if (rc != 0)
		rc = keep_encode(record, slot, HEAT_MEMORY_RECORD, HEAT_MEMORY_RECORD_MAX, &bytes,
				 &len);
	if (rc == 0)
		keep_in_memory(heat, number, bytes, len);
	return rc;
}

/* Writes the record of a slot whose time has ended, unless there is one. again: also then. */
static void keep_end_slot(struct heat *heat, enum wcs_heat_window window, int64_t slot, bool again)
{
	struct heat_record record = {.count = 0};
	int rc = again ? -ENOENT : keep_read_one(heat, window, slot, 0, &record);

	if (rc == -ENOENT && keep_compose(heat, window, slot, 0, true, &record) == 0)
		heat_keep_write(heat, window, slot, &record);
	heat_record_free(&record);
}

/* The same of a window. A time that passes twice, because the clock was set, has further counts. */
static void keep_end_slots(struct heat *heat, enum wcs_heat_window window, int64_t since,
			   int64_t now)
{
	int64_t step = heat_window_step(window), finer = heat_window_step(window - 1);
	int64_t kept = now - (int64_t)windows[window - 1].columns * finer; /* by the finer window */

	for (int64_t slot = (since > kept ? since : kept) / step; slot < now / step; slot++)
		keep_end_slot(heat, window, slot, slot * step >= kept);
}

void heat_keep_up(struct heat *heat, int64_t since, int64_t now)
{
	keep_end_slots(heat, WCS_HEAT_4D, since, now);
	keep_end_slots(heat, WCS_HEAT_28D, since, now);
}

/* Writes the records of a window that are missing although a finer one has some of their time. */
static void keep_complete(struct heat *heat, enum wcs_heat_window window,
			  enum wcs_heat_window finer, int64_t now)
{
	int64_t step = heat_window_step(window), end = now / step, before = -1;
	uint16_t first = windows[finer].first;

	for (uint16_t number = first; number <= first + windows[finer].columns; number++) {
		unsigned char *bytes = NULL;
		int64_t slot = -1;
		size_t len;

		if (keep_get(heat, number, &bytes, &len) == 0)
			slot = heat_record_slot(bytes, len) * heat_window_step(finer) / step;
		free(bytes);
		if (slot != before && slot < end && slot >= end - windows[window].columns)
			keep_end_slot(heat, window, slot, false);
		before = slot; /* neighbours are mostly of the same */
	}
}

void heat_keep_begin(struct heat *heat, int64_t now)
{
	keep_complete(heat, WCS_HEAT_4D, WCS_HEAT_6H, now);
	keep_complete(heat, WCS_HEAT_28D, WCS_HEAT_6H, now);
	keep_complete(heat, WCS_HEAT_28D, WCS_HEAT_4D, now);
}
