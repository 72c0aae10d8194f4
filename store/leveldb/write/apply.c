/* SPDX-License-Identifier: MIT */
/*
 * Applies edits: those of one call become one LevelDB batch.
 *
 * A value in extents that moves keeps its id, so that open values stay readable. One id can thus
 * stand under two keys, one after the other, and a power cut that loses the end of an older log and
 * keeps a newer one must never mix the two: the first key could come back beside a garbage record
 * of the second, for extents that a cell leads to. Before a value in extents moves the logs are
 * synced, as they may hold its extents or the end of their intent; the batch itself is a synced
 * write, before the row's lock is free.
 *
 * A delete that makes the batch large is finished behind it (erase.c), the first one of an edit,
 * unless the edit also sets cells there.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/leveldb/write/write.h"

#define APPLY_DELETED (256u << 10) /* bytes of deleted keys in a batch of several edits */

/* ---- Deletes ----------------------------------------------------------------------------- */

/* Does the edit set a cell that this entry (NULL: of the whole row) deletes? */
static bool apply_sets_in(const struct wcs_edit *edit, const struct wcs_delete *entry)
{
	if (!entry)
		return edit->set_count > 0;
	for (size_t i = 0; i < edit->set_count; i++)
		if (strcmp(edit->sets[i].family, entry->family) == 0 &&
		    (entry->kind == WCS_DELETE_FAMILY ||
		     wcs_slice_compare(edit->sets[i].qualifier, entry->qualifier) == 0))
			return true;
	return false;
}

/* Has ldb_erase_commit delete the key's cells, from the iterator's on. The key moves past them. */
static int apply_erase(struct ldb_rows *rows)
{
	size_t len;
	const unsigned char *from = ldb_iter_key(rows->iter, &len);

	ldb_key_past(&rows->key);
	return ldb_erase_set(rows, (struct wcs_slice){from, len},
			     (struct wcs_slice){rows->key.data, rows->key.len});
}

/* Deletes every cell that the key is a prefix of. A column that moves is deleted cell by cell: each
 * is a step from the one before. */
static int apply_delete_all(struct ldb_rows *rows, const struct wcs_edit *edit,
			    const struct wcs_delete *entry)
{
	bool cell = entry && entry->kind == WCS_DELETE_CELL;
	bool near = cell && ldb_iter_before(rows->iter, &rows->key);
	bool taken = entry && entry->taken, erases = !cell && !apply_sets_in(edit, entry);

	if (near)
		ldb_rows_next(rows);
	if (!near || ldb_iter_before(rows->iter, &rows->key))
		ldb_rows_seek(rows);
	while (ldb_iter_within(rows->iter, &rows->key)) {
		size_t len;
		int rc;

		if (erases && ldb_erase_starts(rows))
			return apply_erase(rows);
		rc = ldb_rows_delete(rows, taken, &len);
		if (rc)
			return rc;
		rows->deleted += len;
		rows->changes = true;
		taken = false; /* of a column: its newest */
		if (cell)
			break; /* the next may be behind many tombstones */
		ldb_rows_step(rows);
	}
	return 0;
}

static int apply_deletes(struct ldb_rows *rows, const struct wcs_edit *edit, size_t row_end)
{
	int rc = 0;

	rows->key.len = row_end;
	if (edit->delete_row)
		return apply_delete_all(rows, edit, NULL);
	for (size_t i = 0; i < edit->delete_count && !rc; i++) {
		const struct wcs_delete *entry = &edit->deletes[i];

		rows->key.len = row_end;
		ldb_key_family(&rows->key, entry->family);
		if (entry->kind != WCS_DELETE_FAMILY)
			ldb_key_qualifier(&rows->key, entry->qualifier);
		if (entry->kind == WCS_DELETE_CELL)
			ldb_key_ts(&rows->key, entry->ts);
		rc = apply_delete_all(rows, edit, entry);
	}
	return rc;
}

/* ---- Sets -------------------------------------------------------------------------------- */

/* Accounts for the cell at the key, if there is one, as replaced. */
static int apply_replaced(struct ldb_rows *rows)
{
	struct ldb_cell cell;
	const unsigned char *key;
	size_t len;
	int rc;

	ldb_rows_seek(rows);
	if (!ldb_iter_within(rows->iter, &rows->key))
		return 0;
	rc = ldb_iter_cell(rows->db, rows->iter, &cell);
	if (rc)
		return rc;
	if (cell.id) {
		ldb_db_batch_value(rows->db, rows->batch, &cell);
		rows->garbage = true;
	}
	key = ldb_iter_key(rows->iter, &len);
	ldb_space_dead_key(rows->db, key, len, cell.id ? 0 : cell.size);
	return 0;
}

/* Makes the record of the cell that a set makes. */
static int apply_record(struct ldb_rows *rows, const struct wcs_edit *edit, size_t i, size_t *len)
{
	uint32_t etag = atomic_fetch_add_explicit(&rows->db->etag, 1, memory_order_relaxed);
	const struct wcs_content *value = &edit->sets[i].value;
	unsigned char scratch[WCS_VALUE_INLINE];
	const unsigned char *data;
	uint64_t id = 0;
	int rc;

	if (edit->sets[i].takes && value->from->id) {
		rows->unsynced = rows->moved = true;
		*len = ldb_record_extents(rows->record, etag, value->size, value->from->id);
		return 0;
	}
	if (value->size > WCS_VALUE_INLINE) {
		rc = ldb_values_extents(rows, edit, i, &id);
		if (!rc)
			*len = ldb_record_extents(rows->record, etag, value->size, id);
		return rc;
	}
	rc = ldb_extent_view(rows->db, value, 0, (size_t)value->size, scratch, &data);
	if (!rc)
		*len = ldb_record_inline(rows->record, etag,
					 (struct wcs_slice){data, (size_t)value->size});
	return rc;
}

static int apply_set(struct ldb_rows *rows, const struct wcs_edit *edit, size_t i, size_t row_end)
{
	const struct wcs_set *set = &edit->sets[i];
	size_t len;
	int rc = 0;

	rows->key.len = row_end;
	ldb_key_family(&rows->key, set->family);
	ldb_key_qualifier(&rows->key, set->qualifier);
	ldb_key_ts(&rows->key, set->ts);
	ldb_values_replace(rows, edit, i);
	if (!set->fresh)
		rc = apply_replaced(rows);
	if (!rc)
		rc = apply_record(rows, edit, i, &len);
	if (rc)
		return rc;
	leveldb_writebatch_put(rows->batch, (const char *)rows->key.data, rows->key.len,
			       (const char *)rows->record, len);
	rows->changes = true;
	return 0;
}

/* ---- All of it --------------------------------------------------------------------------- */

static int apply_edit(struct ldb_rows *rows, const struct wcs_edit *edit)
{
	size_t row_end;
	int rc, unread;

	ldb_key_row(&rows->key, rows->table, edit->row);
	row_end = rows->key.len;
	rc = apply_deletes(rows, edit, row_end);
	for (size_t i = 0; i < edit->set_count && !rc; i++)
		rc = apply_set(rows, edit, i, row_end);
	unread = ldb_rows_error(rows);
	return unread ? unread : rc;
}

/* Writes the batch of the edits, unless nothing changes. */
static int apply_commit(struct ldb_rows *rows, leveldb_writebatch_t *batch)
{
	bool sync;
	int rc;

	if (!rows->changes)
		return 0;
	rc = ldb_values_sync(rows);
	if (rc)
		return rc;
	ldb_values_end(rows, batch);
	sync = rows->moved || rows->db->options->sync;
	rc = rows->erased ? ldb_erase_commit(rows, batch, sync) : ldb_commit(rows->db, batch, sync);
	if (!rc)
		rows->made_count = rows->used = 0;
	return rc;
}

int ldb_rows_apply(struct wcs_rows *base, const struct wcs_edit *edits, size_t count,
		   size_t *applied)
{
	struct ldb_rows *rows = (struct ldb_rows *)base;
	leveldb_writebatch_t *all = count > 1 ? leveldb_writebatch_create() : rows->batch;
	size_t added = 0;
	int rc = 0, written;

	rows->changes = rows->moved = false;
	rows->deleted = 0;
	while (!rc && added < count && rows->deleted < APPLY_DELETED) {
		rc = apply_edit(rows, &edits[added]);
		added += !rc;
		if (rc) /* the range of an earlier edit would have ended the loop */
			ldb_rows_cancel(rows);
		if (!rc && count > 1)
			leveldb_writebatch_append(all, rows->batch);
		if (rc || count > 1)
			leveldb_writebatch_clear(rows->batch);
	}
	written = added > 0 ? apply_commit(rows, all) : 0;
	leveldb_writebatch_clear(rows->batch);
	if (count > 1)
		leveldb_writebatch_destroy(all);
	*applied = written ? 0 : added;
	return written ? written : rc;
}
