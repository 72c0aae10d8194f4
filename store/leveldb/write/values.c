/* SPDX-License-Identifier: MIT */
/*
 * Values in extents that edits make.
 *
 * Values too large for the batch are streamed beforehand, mostly before the row's lock is taken,
 * under intents; the batch holds the cell and the end of the intent. The logs are synced in
 * between, so that a power cut cannot keep the cell and lose extents. An edit that fails turns its
 * intents into garbage.
 */
#include <errno.h>
#include <stdlib.h>

#include "lib/grow.h"
#include "store/leveldb/write/write.h"

/* A new entry; NULL: no memory. */
static struct ldb_made *values_add(struct ldb_rows *rows, struct ldb_made made)
{
	if (grow(&rows->made, &rows->made_room, rows->made_count + 1, 8, sizeof(made)))
		return NULL;
	rows->made[rows->made_count] = made;
	return &rows->made[rows->made_count++];
}

/* Writes a value's extents: at once, under an intent (stream), or into the batch. */
static int values_put(struct ldb_rows *rows, const struct wcs_content *value, bool stream,
		      struct ldb_made *made)
{
	int rc = ldb_extent_reserve(rows->db, &made->id);

	if (rc)
		return rc;
	made->extents = ldb_extent_count(value->size);
	made->streamed = stream;
	if (!stream)
		return ldb_extent_batch(rows->db, rows->batch, made->id, value);
	rows->unsynced = true;
	return ldb_extent_stream(rows->db, made->id, value);
}

int ldb_values_prepare(struct ldb_rows *rows, const struct wcs_edit *edit)
{
	int rc = 0;

	for (size_t i = 0; i < edit->given_count && !rc; i++) {
		const struct wcs_slice *given = &edit->given[i];
		struct wcs_content value = {.parts = given, .part_count = 1, .size = given->len};
		struct ldb_made *made = values_add(rows, (struct ldb_made){.given = given->data});

		if (!made)
			return -ENOMEM;
		if (rows->batch_extents + given->len <= LDB_BATCH_BYTES)
			rows->batch_extents += given->len;
		else
			rc = values_put(rows, &value, true, made);
	}
	return rc ? rc : ldb_values_sync(rows);
}

/* The streamed or planned entry of the set's value, if that is one of the given ones; else a new
 * entry, whose bytes are not in batch_extents yet. */
static struct ldb_made *values_made(struct ldb_rows *rows, const struct wcs_edit *edit,
				    const struct wcs_content *value, bool *stream)
{
	size_t at = value->from || value->part_count != 1 ? edit->given_count : rows->used;

	while (at < edit->given_count &&
	       (rows->made[at].given != value->parts->data || edit->given[at].len != value->size))
		at++;
	if (at < edit->given_count) {
		rows->used = at + 1;
		return &rows->made[at];
	}
	*stream = rows->batch_extents + value->size > LDB_BATCH_BYTES;
	rows->batch_extents += *stream ? 0 : (size_t)value->size;
	return values_add(rows, (struct ldb_made){0});
}

int ldb_values_extents(struct ldb_rows *rows, const struct wcs_edit *edit, size_t set, uint64_t *id)
{
	const struct wcs_content *value = &edit->sets[set].value;
	bool stream = false;
	struct ldb_made *made = values_made(rows, edit, value, &stream);
	int rc = 0;

	if (!made)
		return -ENOMEM;
	made->edit = edit;
	made->set = set;
	if (!made->streamed)
		rc = values_put(rows, value, stream, made);
	*id = made->id;
	return rc;
}

static bool values_same_column(const struct wcs_set *a, const struct wcs_set *b)
{
	return strcmp(a->family, b->family) == 0 &&
	       wcs_slice_compare(a->qualifier, b->qualifier) == 0;
}

void ldb_values_replace(struct ldb_rows *rows, const struct wcs_edit *edit, size_t set)
{
	const struct wcs_set *later = &edit->sets[set];

	if (set == 0 || !values_same_column(later - 1, later))
		return;
	for (size_t i = 0; i < rows->made_count; i++) {
		struct ldb_made *made = &rows->made[i];

		if (made->edit == edit && edit->sets[made->set].ts == later->ts &&
		    values_same_column(&edit->sets[made->set], later))
			made->replaced = true;
	}
}

int ldb_values_sync(struct ldb_rows *rows)
{
	if (!rows->unsynced)
		return 0;
	rows->unsynced = false;
	return ldb_sync_logs(rows->db);
}

void ldb_values_end(struct ldb_rows *rows, leveldb_writebatch_t *batch)
{
	for (size_t i = 0; i < rows->made_count; i++) {
		const struct ldb_made *made = &rows->made[i];

		if (made->replaced || (made->streamed && !made->edit)) {
			ldb_db_batch_garbage(batch, made->id, LDB_GARBAGE, made->extents);
			rows->garbage = true;
		} else if (made->streamed) {
			ldb_db_batch_delete(batch, ldb_key_garbage(made->id));
		}
	}
}

/* If the write fails too, the next open takes the intents for garbage. */
void ldb_values_abandon(struct ldb_rows *rows)
{
	bool streamed = false;

	leveldb_writebatch_clear(rows->batch);
	for (size_t i = 0; i < rows->made_count; i++) {
		if (!rows->made[i].streamed)
			continue;
		ldb_db_batch_garbage(rows->batch, rows->made[i].id, LDB_GARBAGE,
				     rows->made[i].extents);
		streamed = true;
	}
	if (streamed && ldb_commit(rows->db, rows->batch, false) == 0)
		ldb_reclaim_wake(rows->db);
}
