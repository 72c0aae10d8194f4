/* SPDX-License-Identifier: MIT */
/*
 * Room on the medium. A write that fails in the engine ends all writing until the store is opened
 * anew, so what has no room is refused before.
 *
 * - What is kept free is the engine's: for its log, for what it writes anew before it deletes the
 *   old, and for deletes, which are never refused. Without it a full store could not be opened.
 * - Who is refused makes the engine give back what deletes left; it does not hurry with that
 *   otherwise.
 * - Writers at the same time are counted together.
 * - What a change copies of what is there counts as well (room_copies.c), but is looked for only
 *   where it may matter.
 */
#include "table.h"

#include "directory.h"

#include <errno.h>

#define ROOM_LEAST  (32u << 20)
#define ROOM_MOST   (512u << 20)
#define ROOM_PLENTY (UINT64_C(4) << 30)

/* 32 of the engine's buffers, which grow with the medium as well, see open.c there. At most half:
 * it may write 25 MiB anew before it deletes any of the old. */
static uint64_t room_reserve(uint64_t total)
{
	uint64_t reserve = total / 8;

	if (reserve < ROOM_LEAST)
		reserve = ROOM_LEAST;
	if (reserve > ROOM_MOST)
		reserve = ROOM_MOST;
	return reserve < total / 2 ? reserve : total / 2;
}

uint64_t room_of(struct wcs_slice row, const struct wcs_mutation *mutation)
{
	uint64_t size = 0;

	for (size_t i = 0; i < mutation->write_count; i++) {
		const struct wcs_write *write = &mutation->writes[i];

		size += row.len + write->qualifier.len;
		size += wcs_type_aggregates(write->type) ? WCS_AGGREGATE_VALUE_MAX
							 : write->value.len;
	}
	return size;
}

bool room_is_plenty(const struct wcs_store *store, uint64_t most)
{
	struct wcs_space space;

	if (store->directory == NULL)
		return true;
	return directory_space(store->directory, &space) == 0 &&
	       space.free >= room_reserve(space.total) + ROOM_PLENTY + 2 * most;
}

/* quarters: of the reserve that are left alone. */
static int room_take(struct wcs_store *store, uint64_t size, unsigned int quarters)
{
	uint64_t writing;
	struct wcs_space space;
	int rc;

	if (size == 0 || store->directory == NULL)
		return 0;
	writing = atomic_fetch_add(&store->writing, size) + size;
	rc = directory_space(store->directory, &space);
	if (rc == 0 && space.free < room_reserve(space.total) / 4 * quarters + 2 * writing)
		rc = -ENOSPC;
	if (rc != 0)
		atomic_fetch_sub(&store->writing, size);
	if (rc == -ENOSPC)
		store->backend->shrink(store->db);
	return rc;
}

int room_enter(struct wcs_store *store, uint64_t size)
{
	return room_take(store, size, 4);
}

int room_enter_small(struct wcs_store *store, uint64_t size)
{
	return room_take(store, size, 3);
}

void room_leave(struct wcs_store *store, uint64_t size)
{
	if (store->directory != NULL)
		atomic_fetch_sub(&store->writing, size);
}

int room_space(const struct wcs_store *store, struct wcs_space *space)
{
	int rc = directory_space(store->directory, space);
	uint64_t kept;

	if (rc != 0)
		return rc;
	kept = room_reserve(space->total);
	kept += kept / 4;
	space->available = space->free > kept ? space->free - kept : 0;
	return 0;
}

int wcs_store_room(struct wcs_store *store, uint64_t size)
{
	struct wcs_space space;
	int rc;

	if (store->directory == NULL)
		return 0;
	rc = room_space(store, &space);
	if (rc != 0)
		return rc;
	if (space.available > 0 && space.available >= 3 * size)
		return 0;
	store->backend->shrink(store->db);
	return -ENOSPC;
}
