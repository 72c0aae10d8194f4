/* SPDX-License-Identifier: MIT */
/*
 * Applies a mutation to a row: as one LevelDB batch, made under the row's lock.
 *
 * - If it may save many seeks, one seek to the row's start tells whether the row exists; if not,
 *   nothing else is read. A small mutation does without: the seek steps over every tombstone at
 *   the row's start, so 20,000 columns deleted one by one in order would cost the square of that.
 * - Everything read of the row comes from one iterator, whose error is asked for once, before
 *   anything is written or reported about the row.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/leveldb/write/mutate.h"

enum { MUTATE_ASKS_ROW = 3 }; /* writes */

/* ---- Conditions -------------------------------------------------------------------------- */

/* -ECANCELED: the cell has another value. */
static int mutate_compare(struct ldb_mutate *m, const struct ldb_cell *cell,
			  struct wcs_slice expected)
{
	const unsigned char *bytes = expected.data;
	unsigned char part[LDB_EXTENT];

	if (cell->size != expected.len)
		return -ECANCELED;
	for (size_t offset = 0, got; offset < expected.len; offset += got) {
		int rc = ldb_extent_read(m->db, cell, part, sizeof(part), offset, &got);

		if (rc)
			return rc;
		if (memcmp(part, bytes + offset, got) != 0)
			return -ECANCELED;
	}
	return 0;
}

/* Asks whether the view shows the column's newest cell, and its value. */
static int mutate_condition(struct ldb_mutate *m, const struct wcs_condition *condition)
{
	const struct wcs_gc *gc = wcs_view_gc(m->view, condition->family);
	struct ldb_cell cell;
	bool shown = false;
	int64_t ts;
	int rc = 0;

	ldb_row_column(m, condition->family, condition->qualifier);
	ldb_iter_seek(m->iter, &m->key);
	if (ldb_iter_within(m->iter, &m->key)) {
		rc = ldb_iter_ts(m->db, m->iter, m->key.len, &ts);
		shown = !rc && !wcs_view_hides(m->view, wcs_view_expiry(gc, 1, ts));
	}
	if (rc)
		return rc;
	if (!shown || condition->absent)
		return shown == condition->absent ? -ECANCELED : 0;
	rc = ldb_iter_cell(m->db, m->iter, &cell);
	return rc ? rc : mutate_compare(m, &cell, condition->expected);
}

/* ---- Deletes ----------------------------------------------------------------------------- */

/* Deletes every cell that the key is a prefix of. */
static int mutate_delete_all(struct ldb_mutate *m)
{
	ldb_iter_seek(m->iter, &m->key);
	for (; ldb_iter_within(m->iter, &m->key); leveldb_iter_next(m->iter)) {
		size_t len;
		int rc = ldb_row_delete(m, &len);

		if (rc)
			return rc;
		m->deleted += len;
		m->changes = true;
		if (len == m->key.len)
			break; /* one cell; the next may be behind many tombstones */
	}
	return 0;
}

static int mutate_deletes(struct ldb_mutate *m)
{
	int rc = 0;

	m->key.len = m->row_end;
	if (m->mutation->delete_row)
		return mutate_delete_all(m);
	for (size_t i = 0; i < m->mutation->delete_count && !rc; i++) {
		const struct wcs_delete *delete = &m->mutation->deletes[i];

		m->key.len = m->row_end;
		ldb_key_family(&m->key, delete->family);
		if (delete->kind != WCS_DELETE_FAMILY)
			ldb_key_qualifier(&m->key, delete->qualifier);
		if (delete->kind == WCS_DELETE_CELL)
			ldb_key_ts(&m->key, delete->ts);
		rc = mutate_delete_all(m);
	}
	return rc;
}

/* ---- All of it --------------------------------------------------------------------------- */

int ldb_mutate_build(struct ldb_mutate *m)
{
	const struct wcs_mutation *mutation = m->mutation;
	struct wcs_write *writes = mutation->writes;
	size_t count = mutation->write_count;
	int rc = 0, unread;

	if (count >= MUTATE_ASKS_ROW && mutation->delete_count == 0 && !mutation->delete_row &&
	    mutation->condition_count == 0) {
		ldb_iter_seek(m->iter, &m->key);
		m->row_empty = !ldb_iter_within(m->iter, &m->key);
	}
	for (size_t i = 0; i < mutation->condition_count && !rc; i++)
		rc = mutate_condition(m, &mutation->conditions[i]);
	if (!rc)
		rc = mutate_deletes(m);
	for (size_t from = 0, to; from < count && !rc; from = to) {
		for (to = from + 1; to < count; to++) {
			if (strcmp(writes[from].family, writes[to].family) != 0 ||
			    wcs_slice_compare(writes[from].qualifier, writes[to].qualifier) != 0)
				break;
		}
		if (wcs_type_aggregates(writes[from].type))
			rc = ldb_merge_write(m, writes + from, to - from);
		else
			rc = ldb_column_write(m, writes + from, to - from);
	}
	unread = ldb_db_iter_error(m->db, m->iter);
	return unread ? unread : rc;
}

static int mutate_apply(struct ldb_mutate *m)
{
	const struct wcs_delete *last = NULL, *delete = m->mutation->deletes;
	int rc = 0;

	/* Cells behind those that are deleted must not be shown again. */
	for (size_t i = 0; i < m->mutation->delete_count && !rc; i++, delete ++) {
		if (delete->kind != WCS_DELETE_CELL || !ldb_row_has_ranks(m, delete->family) ||
		    (last && strcmp(last->family, delete->family) == 0 &&
		     wcs_slice_compare(last->qualifier, delete->qualifier) == 0))
			continue;
		last = delete;
		rc = ldb_purge_column(m, delete->family, delete->qualifier, NULL, NULL);
	}
	if (rc)
		return rc;
	m->key.len = m->row_end;
	m->iter = ldb_db_iterate(m->db);
	rc = ldb_mutate_build(m);
	leveldb_iter_destroy(m->iter);
	if (!rc && m->changes)
		rc = ldb_values_sync(m);
	if (rc || !m->changes)
		return rc;
	ldb_values_end(m);
	return ldb_commit(m->db, m->batch, m->db->options->sync);
}

int ldb_mutate_row(void *engine, const struct wcs_view *view, uint32_t table, struct wcs_slice row,
		   struct wcs_mutation *mutation, int64_t *ts)
{
	struct ldb *db = engine;
	pthread_mutex_t *lock = ldb_row_lock(db, table, row);
	struct ldb_mutate m;
	int rc;

	if (ldb_db_failed(db))
		return -EROFS;
	m.db = db;
	m.view = view;
	ldb_row_init(&m, table, row, mutation, leveldb_writebatch_create());
	rc = ldb_values_prepare(&m);
	if (!rc) {
		pthread_mutex_lock(lock);
		rc = mutate_apply(&m);
		pthread_mutex_unlock(lock);
	}
	if (rc)
		ldb_values_abandon(&m);
	if (m.garbage) /* also on failure: purged cells are garbage */
		ldb_reclaim_wake(db);
	if (!rc)
		wcs_warn_value(db->options, m.largest_family, m.largest);
	if (!rc && ts)
		*ts = m.last_ts;
	leveldb_writebatch_destroy(m.batch);
	free(m.made);
	return rc;
}
