/* SPDX-License-Identifier: MIT */
/*
 * Hidden cells that a change could bring back. A delete of a newer cell, or its move, gives those
 * behind it a lower rank, and their policy might show them again; what was hidden stays hidden, so
 * it goes first.
 *
 * They are deleted before the change, in batches of their own: nobody sees them, so nobody sees
 * them go, and those of a column with many of them are not held in memory. The logs are synced
 * before, for a power cut must not lose what hides them and keep that they went; and behind, for it
 * must not keep the change and lose that.
 */
#include "store/leveldb/write/mutate.h"

enum { PURGE_CELLS = 1000 }; /* in one batch */

static int purge_flush(struct ldb_mutate *m, size_t *cells)
{
	int err;

	m->unsynced = true;
	err = ldb_mutate_sync(m);
	if (!err)
		err = ldb_db_write(m->db, m->batch, false);
	leveldb_writebatch_clear(m->batch);
	*cells = 0;
	m->unsynced = true;
	return err;
}

/* Deletes from the iterator's cell on to the column's end. */
static int purge_rest(struct ldb_mutate *m)
{
	size_t cells = 0;
	int err = 0;

	for (; !err && ldb_iter_within(m->iter, &m->key); leveldb_iter_next(m->iter)) {
		size_t len;

		err = ldb_mutate_delete_cell(m, &len);
		if (!err && ++cells == PURGE_CELLS)
			err = purge_flush(m, &cells);
	}
	return err || cells == 0 ? err : purge_flush(m, &cells);
}

/* Puts the iterator at the first cell of the column that is hidden, or behind the column. */
static int purge_find(struct ldb_mutate *m, const struct wcs_gc *gc, struct ldb_hidden *hidden)
{
	hidden->rank = 1;
	ldb_iter_seek(m->iter, &m->key);
	for (; ldb_iter_within(m->iter, &m->key); leveldb_iter_next(m->iter), hidden->rank++) {
		size_t len;
		const unsigned char *key = ldb_iter_key(m->iter, &len);

		if (ldb_key_split_ts(key, len, m->key.len, &hidden->ts))
			return ldb_db_damaged(m->db, "a cell's key");
		hidden->any =
			wcs_view_hides(m->view, wcs_view_expiry(gc, hidden->rank, hidden->ts));
		if (hidden->any)
			break;
	}
	return 0;
}

int ldb_purge_if(struct ldb_mutate *m, const char *family, struct wcs_slice qualifier,
		 bool (*must)(void *ctx, const struct ldb_hidden *hidden), void *ctx)
{
	const struct wcs_gc *gc = wcs_view_gc(m->view, family);
	struct ldb_hidden hidden = {.any = false};
	int err, unread;

	if (!gc)
		return 0;
	ldb_mutate_key(m, family, qualifier);
	m->iter = ldb_db_iterate(m->db);
	err = purge_find(m, gc, &hidden);
	if (!err && hidden.any && (!must || must(ctx, &hidden)))
		err = purge_rest(m);
	unread = ldb_db_iter_error(m->db, m->iter);
	leveldb_iter_destroy(m->iter);
	return unread ? unread : err;
}

int ldb_purge_column(struct ldb_mutate *m, const char *family, struct wcs_slice qualifier)
{
	return ldb_purge_if(m, family, qualifier, NULL, NULL);
}
