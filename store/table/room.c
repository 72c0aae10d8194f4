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
 * - A medium can have bytes and no more files (inodes), which the engine needs as well: so both are
 *   kept free, and one call tells both.
 */
#include "store/table/table.h"

#include "store/disk/directory.h"

#include <errno.h>

#define ROOM_LEAST  (32u << 20)
#define ROOM_MOST   (512u << 20)
#define ROOM_PLENTY (UINT64_C(4) << 30)
#define ROOM_FILES  128u
#define ROOM_FILE   (1u << 20) /* bytes of a table, at least */

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

/* A merge of all of level 0, where it grew as far as it may, makes some 100 tables before it
 * deletes any; then there are logs and a MANIFEST. On a medium of few files the store has few, too,
 * and cannot make more at once than it has. */
static uint64_t room_reserve_files(uint64_t files)
{
	uint64_t share = files / 8 * 3;

	return share < ROOM_FILES ? share : ROOM_FILES;
}

static uint64_t room_beyond(uint64_t free, uint64_t kept)
{
	return free > kept ? free - kept : 0;
}

/* quarters: of the reserve that are left alone. */
static uint64_t room_in_bytes(const struct wcs_space *space, unsigned int quarters)
{
	return room_beyond(space->free, room_reserve(space->total) / 4 * quarters);
}

static uint64_t room_in_files(const struct wcs_space *space, unsigned int quarters)
{
	uint64_t kept = room_reserve_files(space->files) / 4 * quarters;
	uint64_t left = room_beyond(space->files_free, kept);

	return space->files == 0 || left > UINT64_MAX / ROOM_FILE ? UINT64_MAX : left * ROOM_FILE;
}

static bool room_has(const struct wcs_space *space, uint64_t size, unsigned int quarters)
{
	return room_in_bytes(space, quarters) >= size && room_in_files(space, quarters) >= size;
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
	       room_has(&space, ROOM_PLENTY + 2 * most, 4);
}

static int room_take(struct wcs_store *store, uint64_t size, unsigned int quarters)
{
	uint64_t writing;
	struct wcs_space space;
	int rc;

	if (size == 0 || store->directory == NULL)
		return 0;
	writing = atomic_fetch_add(&store->writing, size) + size;
	rc = directory_space(store->directory, &space);
	if (rc == 0 && !room_has(&space, 2 * writing, quarters))
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
	uint64_t bytes, files;

	if (rc != 0)
		return rc;
	bytes = room_in_bytes(space, 5);
	files = room_in_files(space, 5);
	space->lacks_files = files < bytes;
	space->available = space->lacks_files ? files : bytes;
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
