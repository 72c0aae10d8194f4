/* SPDX-License-Identifier: MIT */
/*
 * Room on the medium. A write that fails in the engine ends all writing until the store is opened
 * again; a write without room is therefore refused before it reaches the engine.
 *
 * - A reserve stays free for the engine: for its log, for a compaction, which writes the new tables
 *   before it deletes the old, and for deletes, which are never refused. Without the reserve a full
 *   store could not be opened.
 * - One rule admits all writes: three times the value fits beside the reserve and a quarter of it,
 *   as df shows. The commit of an admitted value may use that quarter, and a move of large values
 *   one more (enum room_for).
 * - A refusal makes the engine compact deleted data; otherwise it does not hurry with that.
 * - Concurrent writers are counted together.
 * - An append writes the whole value again, a move the records of its cells, small values included.
 *   The resolve layer reserves room for them once it knows them.
 * - A move that frees more than it writes needs no room: a user can tidy a full medium.
 * - A medium can have free bytes and no free files (inodes), and the engine needs both. One statvfs
 *   tells both.
 * - Small writes share one statvfs for a few milliseconds, in which they cannot fill the reserve. A
 *   refusal is always from a new one.
 */
#include "store/table/table.h"

#include "lib/clock.h"
#include "store/disk/directory.h"

#include <errno.h>
#include <string.h>

#define ROOM_LEAST (32u << 20)
#define ROOM_MOST  (512u << 20)
#define ROOM_FILES 128u
#define ROOM_FILE  (1u << 20)  /* bytes of a table, at least */
#define ROOM_SMALL (64u << 10) /* bytes of a write that takes an old reading */
#define ROOM_FRESH (5 * CLOCK_SECOND / 1000)

static uint64_t room_beyond(uint64_t free, uint64_t kept)
{
	return free > kept ? free - kept : 0;
}

/* quarters: of the reserve that stay free. The reserve is 32 of the engine's buffers, which grow
 * with the medium as well. At most half of the medium: a compaction may write 25 MiB before it
 * deletes any old table. */
static uint64_t room_in_bytes(const struct wcs_space *space, unsigned int quarters)
{
	uint64_t reserve = space->total / 8;

	if (reserve < ROOM_LEAST)
		reserve = ROOM_LEAST;
	if (reserve > ROOM_MOST)
		reserve = ROOM_MOST;
	if (reserve > space->total / 2)
		reserve = space->total / 2;
	return room_beyond(space->free, reserve / 4 * quarters);
}

/* A merge of a full level 0 makes some 100 tables before it deletes any; logs and a MANIFEST come
 * on top. On a medium with few files the store has few, and cannot make more at once than it has.
 */
static uint64_t room_in_files(const struct wcs_space *space, unsigned int quarters)
{
	uint64_t share = space->files / 8 * 3;
	uint64_t kept = (share < ROOM_FILES ? share : ROOM_FILES) / 4 * quarters;
	uint64_t left = room_beyond(space->files_free, kept);

	return space->files == 0 || left > UINT64_MAX / ROOM_FILE ? UINT64_MAX : left * ROOM_FILE;
}

static bool room_has(const struct wcs_space *space, uint64_t size, unsigned int quarters)
{
	return room_in_bytes(space, quarters) >= size && room_in_files(space, quarters) >= size;
}

/* Reads the free space. old: a reading of the last milliseconds will do. */
static int room_read(struct wcs_store *store, bool old, struct wcs_space *space)
{
	int64_t now = clock_ns();
	int rc = 0;

	pthread_mutex_lock(&store->space_lock);
	if (!old || store->space_read == 0 || now - store->space_read >= ROOM_FRESH) {
		rc = directory_space(store->directory, &store->space);
		store->space_read = rc == 0 ? now : 0;
	}
	*space = store->space;
	pthread_mutex_unlock(&store->space_lock);
	return rc;
}

/* Is there room for size bytes? -ENOSPC: no, and the engine makes some. */
static int room_check(struct wcs_store *store, uint64_t size, unsigned int quarters)
{
	struct wcs_space space;
	int rc = room_read(store, size <= ROOM_SMALL, &space);

	if (rc == 0 && !room_has(&space, size, quarters))
		rc = room_read(store, false, &space);
	if (rc == 0 && !room_has(&space, size, quarters)) {
		if (store->engine.local != NULL)
			store->engine.local->shrink(store->engine.db);
		rc = -ENOSPC;
	}
	return rc;
}

/* How many times the value must fit. A file's value was admitted before it was gathered. */
static uint64_t room_factor(enum room_for what)
{
	return what == ROOM_NEW ? 3 : 2;
}

int room_enter(struct wcs_store *store, uint64_t size, enum room_for what)
{
	uint64_t writing;
	int rc;

	if (size == 0 || store->directory == NULL)
		return 0;
	writing = atomic_fetch_add(&store->writing, size) + size;
	rc = room_check(store, room_factor(what) * writing, what);
	if (rc != 0)
		atomic_fetch_sub(&store->writing, size);
	return rc;
}

void room_leave(struct wcs_store *store, uint64_t size)
{
	if (store->directory != NULL)
		atomic_fetch_sub(&store->writing, size);
}

int wcs_store_space(struct wcs_store *store, struct wcs_space *space)
{
	struct wcs_space found = {0};
	uint64_t bytes, files;
	int rc = 0;

	if (store->directory != NULL) {
		rc = room_read(store, false, &found);
		bytes = room_in_bytes(&found, ROOM_NEW);
		files = room_in_files(&found, ROOM_NEW);
		found.lacks_files = files < bytes;
		found.available = found.lacks_files ? files : bytes;
	}
	if (rc == 0)
		*space = found;
	return rc;
}

bool wcs_store_gone(struct wcs_store *store)
{
	return store->engine.local != NULL && store->engine.local->gone(store->engine.db);
}

int wcs_store_room(struct wcs_store *store, uint64_t size)
{
	if (store->directory == NULL)
		return 0;
	if (wcs_store_gone(store)) /* statfs of a removed directory still succeeds */
		return -EIO;
	return room_check(store, size > 0 ? room_factor(ROOM_NEW) * size : 1, ROOM_NEW);
}

int room_enter_writes(const struct wcs_table *table, const struct wcs_entry *entries, size_t count,
		      enum room_for what, uint64_t *size)
{
	uint64_t total = 0;
	int rc;

	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < entries[i].mutation->write_count; k++) {
			const struct wcs_write *write = &entries[i].mutation->writes[k];

			total += entries[i].row.len + write->qualifier.len;
			total += wcs_type_aggregates(write->type) ? WCS_AGGREGATE_VALUE_MAX
								  : write->value.len;
		}
	rc = room_enter(table->store, total, what);
	if (rc == 0)
		*size = total;
	return rc;
}
