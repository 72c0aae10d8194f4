/* SPDX-License-Identifier: MIT */
/*
 * Room on the medium. A write that fails in the engine ends all writing until the store is opened
 * again; a write without room is therefore refused before it reaches the engine.
 *
 * - A reserve stays free for the engine: for its log, for a compaction, which writes the new tables
 *   before it deletes the old, and for deletes, which are never refused. Without the reserve a full
 *   store could not be opened.
 * - A refusal makes the engine compact deleted data; otherwise it does not hurry with that.
 * - Concurrent writers are counted together.
 * - An append writes the whole value again, a move the records of its cells, small values included.
 *   They count, too. Their sizes are read only if there may be too little room, before the change
 *   and without a lock: a value that another thread puts there in between found room itself.
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

#define ROOM_LEAST  (32u << 20)
#define ROOM_MOST   (512u << 20)
#define ROOM_PLENTY (UINT64_C(4) << 30)
#define ROOM_FILES  128u
#define ROOM_FILE   (1u << 20)	/* bytes of a table, at least */
#define ROOM_SMALL  (64u << 10) /* bytes of a write that takes an old reading */
#define ROOM_FRESH  (5 * CLOCK_SECOND / 1000)

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
		store->backend->shrink(store->db);
		rc = -ENOSPC;
	}
	return rc;
}

/* Is there so much room that a call need not count the bytes it copies: small values of one row,
 * and `most` bytes of large ones? */
static bool room_is_plenty(struct wcs_store *store, uint64_t most)
{
	struct wcs_space space;

	if (store->directory == NULL)
		return true;
	return room_read(store, true, &space) == 0 && room_has(&space, ROOM_PLENTY + 2 * most, 4);
}

/* Reserves room for a write. records: of large values that move, which may take a quarter of the
 * reserve: large values can be renamed on a full medium. */
static int room_enter(struct wcs_store *store, uint64_t size, bool records)
{
	uint64_t writing;
	int rc;

	if (size == 0 || store->directory == NULL)
		return 0;
	writing = atomic_fetch_add(&store->writing, size) + size;
	rc = room_check(store, 2 * writing, records ? 3 : 4);
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
		bytes = room_in_bytes(&found, 5);
		files = room_in_files(&found, 5);
		found.lacks_files = files < bytes;
		found.available = found.lacks_files ? files : bytes;
	}
	if (rc == 0)
		*space = found;
	return rc;
}

int wcs_store_room(struct wcs_store *store, uint64_t size)
{
	return store->directory == NULL ? 0 : room_check(store, size > 0 ? 3 * size : 1, 5);
}

/* ---- Writes and moves -------------------------------------------------------------------- */

/* The bytes that a move writes and frees. */
struct room_copies {
	uint64_t written, freed;
	bool values; /* it writes small values, not only records of large ones */
};

/* A cell; its ts is WCS_TS_NONE and its size 0 where it does not exist. */
static int room_copies_cell(const struct wcs_table *table, const struct wcs_view *view,
			    struct wcs_address at, struct wcs_cell_info *info)
{
	int rc;

	at.table = table->id;
	rc = table->store->backend->cell_get(table->store->db, view, &at, info);
	if (rc != 0)
		*info = (struct wcs_cell_info){.ts = WCS_TS_NONE};
	return rc == -ENOENT ? 0 : rc;
}

int room_enter_writes(const struct wcs_table *table, const struct wcs_view *view,
		      const struct wcs_entry *entries, size_t count, uint64_t *size)
{
	uint64_t total = 0;
	size_t appends = 0;
	int rc = 0;

	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < entries[i].mutation->write_count; k++) {
			const struct wcs_write *write = &entries[i].mutation->writes[k];

			total += entries[i].row.len + write->qualifier.len;
			total += wcs_type_aggregates(write->type) ? WCS_AGGREGATE_VALUE_MAX
								  : write->value.len;
			appends += write->kind == WCS_WRITE_APPEND;
		}
	if (appends > 0 && room_is_plenty(table->store, (uint64_t)appends * WCS_VALUE_MAX))
		appends = 0;
	for (size_t i = 0; i < count && appends > 0; i++)
		for (size_t k = 0; k < entries[i].mutation->write_count && rc == 0; k++) {
			const struct wcs_write *write = &entries[i].mutation->writes[k];
			struct wcs_address at = {.row = entries[i].row,
						 .family = write->family,
						 .qualifier = write->qualifier,
						 .ts = WCS_TS_NEWEST};
			struct wcs_cell_info info = {0};

			if (write->kind == WCS_WRITE_APPEND)
				rc = room_copies_cell(table, view, at, &info);
			total += info.size;
		}
	if (rc == 0)
		rc = room_enter(table->store, total, false);
	if (rc == 0)
		*size = total;
	return rc;
}

/* Counts a cell of that size, which the move writes again. */
static void room_copies_add(struct room_copies *copies, struct wcs_slice row,
			    struct wcs_slice qualifier, uint64_t size)
{
	copies->written += row.len + qualifier.len;
	if (size <= WCS_VALUE_INLINE) {
		copies->written += size;
		copies->values = copies->values || size > 0;
	}
}

/* Counts the cells of a column that becomes another, hidden ones too; met: that one has cells. */
static int room_copies_column(const struct wcs_table *table, struct wcs_slice row,
			      const struct wcs_move *move, bool met, struct room_copies *copies)
{
	const struct wcs_view everything = {.policies = NULL};
	const struct wcs_backend *backend = table->store->backend;
	char row_end[WCS_ROW_KEY_MAX + 1], column_end[WCS_QUALIFIER_MAX + 1];
	const struct wcs_range range = {row, {row_end, row.len + 1}};
	const struct wcs_filter filter = {.families = &move->family,
					  .family_count = 1,
					  .qualifier_from = move->from,
					  .qualifier_to = {column_end, move->from.len + 1}};
	struct wcs_scan *scan;
	struct wcs_cell cell;
	int rc;

	memcpy(row_end, row.data, row.len);
	row_end[row.len] = 0;
	if (move->from.len > 0)
		memcpy(column_end, move->from.data, move->from.len);
	column_end[move->from.len] = 0;
	rc = backend->scan_open(table->store->db, &everything, table->id, &range, &filter, &scan);
	if (rc != 0)
		return rc;
	for (bool newest = true; (rc = backend->scan_next(scan, &cell)) > 0; newest = false) {
		if (newest || !met)
			room_copies_add(copies, row, move->to, cell.info.size);
		else
			copies->freed += cell.info.size;
	}
	backend->scan_close(scan);
	return rc;
}

static int room_copies_move(const struct wcs_table *table, const struct wcs_view *view,
			    struct wcs_slice row, const struct wcs_move *move,
			    struct room_copies *copies)
{
	bool column = move->kind == WCS_MOVE_COLUMN || move->kind == WCS_MOVE_COLUMN_NEW;
	bool stamp = move->kind == WCS_MOVE_STAMP;
	struct wcs_address from = {.row = row,
				   .family = move->family,
				   .qualifier = move->from,
				   .ts = stamp ? WCS_TS_NEWEST : move->from_ts};
	struct wcs_address to = {.row = row,
				 .family = move->family,
				 .qualifier = move->to,
				 .ts = column ? WCS_TS_NEWEST : move->to_ts};
	struct wcs_cell_info info;
	int rc;

	if (column || move->kind == WCS_MOVE_CELL) {
		if (wcs_slice_compare(move->from, move->to) == 0 && (column || from.ts == to.ts))
			return 0;
		rc = room_copies_cell(table, view, to, &info);
		if (rc != 0 || (info.ts != WCS_TS_NONE && move->kind == WCS_MOVE_COLUMN_NEW))
			return rc;
		if (column)
			return room_copies_column(table, row, move, info.ts != WCS_TS_NONE, copies);
		copies->freed = info.size;
	}
	rc = room_copies_cell(table, view, from, &info);
	if (info.ts != WCS_TS_NONE)
		room_copies_add(copies, row, stamp ? move->from : move->to, info.size);
	return rc;
}

int room_enter_move(const struct wcs_table *table, const struct wcs_view *view,
		    struct wcs_slice row, const struct wcs_move *move, uint64_t *size)
{
	struct room_copies copies = {0};
	int rc = 0;

	if (!room_is_plenty(table->store, 0))
		rc = room_copies_move(table, view, row, move, &copies);
	if (rc != 0)
		return rc;
	if (copies.freed > copies.written)
		copies.written = 0;
	rc = room_enter(table->store, copies.written, !copies.values);
	if (rc == 0)
		*size = copies.written;
	return rc;
}
