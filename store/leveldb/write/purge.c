/* SPDX-License-Identifier: MIT */
/*
 * Deletes hidden cells that a change could show again. A delete of a newer cell, or its move, gives
 * older cells a lower rank, and their policy might show them.
 *
 * They are deleted before the change, in batches of their own: readers see neither the cells nor
 * their delete, and a column with many of them is not held in memory. The logs are synced before,
 * because a power cut must not lose the cells that hide them and keep their delete; and afterwards,
 * because it must not keep the change and lose their delete.
 */
#include "store/leveldb/write/mutate.h"

enum { PURGE_CELLS = 1000 }; /* in one batch */

static int purge_flush(struct ldb_mutate *m)
{
	int rc;

	m->unsynced = true;
	rc = ldb_values_sync(m);
	if (!rc)
		rc = ldb_commit(m->db, m->batch, false);
	leveldb_writebatch_clear(m->batch);
	m->unsynced = true;
	return rc;
}

/* Puts the iterator at the first hidden cell of the column, or behind the column. */
static int purge_find(struct ldb_mutate *m, const struct wcs_gc *gc, struct ldb_hidden *hidden)
{
	hidden->rank = 1;
	ldb_iter_seek(m->iter, &m->key);
	for (; ldb_iter_within(m->iter, &m->key); leveldb_iter_next(m->iter), hidden->rank++) {
		int rc = ldb_iter_ts(m->db, m->iter, m->key.len, &hidden->ts);

		if (rc)
			return rc;
		hidden->any =
			wcs_view_hides(m->view, wcs_view_expiry(gc, hidden->rank, hidden->ts));
		if (hidden->any)
			break;
	}
	return 0;
}

int ldb_purge_column(struct ldb_mutate *m, const char *family, struct wcs_slice qualifier,
		     bool (*must)(void *ctx, const struct ldb_hidden *hidden), void *ctx)
{
	const struct wcs_gc *gc = wcs_view_gc(m->view, family);
	struct ldb_hidden hidden = {.any = false};
	size_t cells = 0, len;
	int rc;

	if (!gc)
		return 0;
	ldb_row_column(m, family, qualifier);
	m->iter = ldb_db_iterate(m->db);
	rc = purge_find(m, gc, &hidden);
	if (!rc && hidden.any && (!must || must(ctx, &hidden))) {
		for (; !rc && ldb_iter_within(m->iter, &m->key); leveldb_iter_next(m->iter)) {
			rc = ldb_row_delete(m, &len);
			if (!rc && ++cells % PURGE_CELLS == 0)
				rc = purge_flush(m);
		}
		if (!rc && cells % PURGE_CELLS != 0)
			rc = purge_flush(m);
	}
	return ldb_db_iter_end(m->db, m->iter, rc);
}
