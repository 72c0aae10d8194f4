/* SPDX-License-Identifier: MIT */
/*
 * The records of the windows. A window has a ring of slots, one more than it shows; a record
 * replaces the one a round before, so nothing needs to be removed. With each minute the records of
 * its time in the coarser windows are written anew. The number of a record in the engine is its
 * place in the rings. While the engine takes none they are kept in memory: without a
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

#define SECOND INT64_C(1000000)
const struct heat_window heat_windows[WCS_HEAT_WINDOWS] = {
	[WCS_HEAT_6H] = {60 * SECOND, 360, WCS_NOTE_HEAT},
	[WCS_HEAT_4D] = {600 * SECOND, 576, WCS_NOTE_HEAT + 361},
	[WCS_HEAT_28D] = {3600 * SECOND, 672, WCS_NOTE_HEAT + 361 + 577},
};
#define KEPT_COUNT (1 + 361 + 577 + 673)

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
	return (uint16_t)(heat_windows[window].first + slot % (heat_windows[window].columns + 1));
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

int heat_keep_read(struct heat *heat, enum wcs_heat_window window, int64_t slot, uint32_t wanted,
		   struct heat_record *record)
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

/* ---- Writing ----------------------------------------------------------------------------- */

static int keep_encode(struct heat_record *record, int64_t slot, size_t share, size_t most,
		       unsigned char **bytes, size_t *len)
{
	int rc = heat_record_fit(record, share, most);

	return rc == 0 ? heat_record_encode(record, slot, bytes, len) : rc;
}

/* Makes the record fit and keeps it. */
static int keep_write(struct heat *heat, enum wcs_heat_window window, int64_t slot,
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

/* Writes the record of a slot anew, from those of the finer window's slots in it. */
static int keep_compose(struct heat *heat, enum wcs_heat_window window, int64_t slot)
{
	struct heat_record parts[10] = {{.count = 0}}, sum = {.count = 0};
	size_t count = (size_t)(heat_windows[window].step / heat_windows[window - 1].step);
	int rc = 0;

	for (size_t i = 0; i < count && rc == 0; i++) {
		rc = heat_keep_read(heat, window - 1, slot * (int64_t)count + (int64_t)i, 0,
				    &parts[i]);
		if (rc == -ENOENT)
			rc = 0;
	}
	if (rc == 0)
		rc = heat_record_join(&sum, parts, count);
	if (rc == 0)
		rc = keep_write(heat, window, slot, &sum);
	for (size_t i = 0; i < count; i++)
		heat_record_free(&parts[i]);
	heat_record_free(&sum);
	return rc;
}

int heat_keep_minute(struct heat *heat, int64_t minute, struct heat_record *record)
{
	int rc = keep_write(heat, WCS_HEAT_6H, minute, record);

	for (enum wcs_heat_window i = WCS_HEAT_4D; i < WCS_HEAT_WINDOWS && rc == 0; i++)
		rc = keep_compose(heat, i,
				  minute * heat_windows[WCS_HEAT_6H].step / heat_windows[i].step);
	return rc;
}
