/* SPDX-License-Identifier: MIT */
/*
 * The records of the windows. A window has a ring of slots, one more than it shows; a record
 * replaces the one a round before, so nothing needs to be removed. The number of a record in the
 * engine is its place in the rings. Without an engine that keeps them they are in memory.
 */
#include "store/heat/heat_private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct heat_kept {
	unsigned char *bytes;
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
	heat->kept = heat->in_store ? NULL : calloc(KEPT_COUNT, sizeof(*heat->kept));
	return heat->in_store || heat->kept != NULL;
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
	const struct heat_kept *kept;
	int rc = 0;

	if (heat->in_store)
		return engine->local->note_get(engine->db, number, bytes, len);
	pthread_mutex_lock(&heat->keeping);
	kept = &heat->kept[number];
	*bytes = kept->bytes != NULL ? malloc(kept->len) : NULL;
	if (*bytes == NULL) {
		rc = kept->bytes != NULL ? -ENOMEM : -ENOENT;
	} else {
		memcpy(*bytes, kept->bytes, kept->len);
		*len = kept->len;
	}
	pthread_mutex_unlock(&heat->keeping);
	return rc;
}

/* Takes the bytes. */
static int keep_put(struct heat *heat, uint16_t number, unsigned char *bytes, size_t len)
{
	const struct wcs_engine *engine = &heat->store->engine;
	int rc;

	if (heat->in_store) {
		rc = engine->local->note_put(engine->db, number, bytes, len);
		free(bytes);
		return rc;
	}
	pthread_mutex_lock(&heat->keeping);
	free(heat->kept[number].bytes);
	heat->kept[number] = (struct heat_kept){bytes, len};
	pthread_mutex_unlock(&heat->keeping);
	return 0;
}

/* ---- Reading ----------------------------------------------------------------------------- */

/* The record of the slot itself. -ENOENT: there is none, or none that can be read. */
static int keep_read_one(struct heat *heat, enum wcs_heat_window window, int64_t slot,
			 uint32_t wanted, struct heat_record *record)
{
	unsigned char *bytes;
	size_t len;
	int rc = keep_get(heat, keep_number(window, slot), &bytes, &len);

	if (rc != 0)
		return rc;
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
			uint32_t wanted, struct heat_record *record)
{
	struct heat_record parts[10] = {{.count = 0}};
	size_t count = (size_t)(windows[window].step / windows[window - 1].step), found = 0;
	int rc = 0;

	for (size_t i = 0; i < count && rc == 0; i++) {
		rc = heat_keep_read(heat, window - 1, slot * (int64_t)count + (int64_t)i, wanted,
				    &parts[i]);
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
		   struct heat_record *record)
{
	int rc = keep_read_one(heat, window, slot, wanted, record);
	int64_t kept;

	if (rc != -ENOENT || window == WCS_HEAT_6H)
		return rc;
	kept = store_now(heat->store) -
	       (int64_t)windows[window - 1].columns * heat_window_step(window - 1);
	if ((slot + 1) * heat_window_step(window) < kept)
		return rc;
	return keep_compose(heat, window, slot, wanted, record);
}

/* ---- Writing ----------------------------------------------------------------------------- */

int heat_keep_write(struct heat *heat, enum wcs_heat_window window, int64_t slot,
		    struct heat_record *record)
{
	unsigned char *bytes;
	size_t len;
	int rc = heat_record_fit(record, heat->in_store ? HEAT_RECORD : HEAT_MEMORY_RECORD,
				 heat->in_store ? HEAT_RECORD_MAX : HEAT_MEMORY_RECORD_MAX);

	if (rc == 0)
		rc = heat_record_encode(record, slot, &bytes, &len);
	return rc == 0 ? keep_put(heat, keep_number(window, slot), bytes, len) : rc;
}

/* Writes the record of a slot whose time has ended, unless there is one. */
static void keep_end_slot(struct heat *heat, enum wcs_heat_window window, int64_t slot)
{
	struct heat_record record = {.count = 0};
	int rc = keep_read_one(heat, window, slot, 0, &record);

	if (rc == -ENOENT && keep_compose(heat, window, slot, 0, &record) == 0)
		heat_keep_write(heat, window, slot, &record);
	heat_record_free(&record);
}

/* The same of a window. */
static void keep_end_slots(struct heat *heat, enum wcs_heat_window window, int64_t since,
			   int64_t now)
{
	int64_t step = heat_window_step(window), finer = heat_window_step(window - 1);
	int64_t first = now - (int64_t)windows[window - 1].columns * finer;

	if (first < since) /* before first the finer window has no records any more */
		first = since;
	for (int64_t slot = first / step; slot < now / step; slot++)
		keep_end_slot(heat, window, slot);
}

void heat_keep_up(struct heat *heat, int64_t since, int64_t now)
{
	keep_end_slots(heat, WCS_HEAT_4D, since, now);
	keep_end_slots(heat, WCS_HEAT_28D, since, now);
}
