/* SPDX-License-Identifier: MIT */
/* Ranks of cells in their column, as far as a mutation looks. */
#include "store/leveldb/write/mutate.h"

/* What a policy hides for its age alone, no delete brings back, and newer cells do not hide. */
bool ldb_rank_matters(const struct ldb_mutate *m, const char *family)
{
	const struct wcs_gc *gc = wcs_view_gc(m->view, family);

	return gc && wcs_gc_last_rank(gc) > 1;
}

bool ldb_rank_counts(const struct ldb_mutate *m, const struct wcs_write *writes, size_t count)
{
	bool given = writes->kind == WCS_WRITE_SET || writes->kind == WCS_WRITE_MERGE;

	return count == 1 && given && writes->ts >= 0 && m->mutation->delete_count == 0 &&
	       !m->mutation->delete_row && ldb_rank_matters(m, writes->family);
}

int ldb_rank_newer(struct ldb_mutate *m, size_t column_end, int64_t ts, uint64_t *newer)
{
	size_t key_len = m->key.len;
	uint64_t count = 0;
	int err = 0;

	m->key.len = column_end;
	ldb_iter_seek(m->iter, &m->key);
	for (; count < LDB_RANK_STEPS && ldb_iter_within(m->iter, &m->key);
	     leveldb_iter_next(m->iter), count++) {
		size_t len;
		const unsigned char *key = ldb_iter_key(m->iter, &len);
		int64_t met;

		err = ldb_key_split_ts(key, len, column_end, &met);
		if (err || met <= ts)
			break;
	}
	m->key.len = key_len;
	if (err)
		return ldb_db_damaged(m->db, "a cell's key");
	*newer = count;
	return 0;
}

int ldb_rank_replaced(struct ldb_mutate *m, size_t column_end, int64_t ts, uint64_t *newer)
{
	int err = ldb_rank_newer(m, column_end, ts, newer);

	if (err)
		return err;
	return *newer < LDB_RANK_STEPS ? ldb_mutate_replaced_here(m) : ldb_mutate_replaced(m);
}
