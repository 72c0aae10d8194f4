/* SPDX-License-Identifier: MIT */
/*
 * Applies mutations of many rows: those of a group become one LevelDB batch, made from one view
 * under the locks of all their rows.
 *
 * - A group has no row twice, so each of its mutations sees everything that came before it: the
 *   writes of earlier groups.
 * - A mutation is built apart and joins the group when it is complete. If one fails, its part is
 *   left out and the group ends before it, so the batch is exactly the mutations before.
 * - A mutation that may be large, stream a value or show hidden cells again goes alone, through
 *   ldb_mutate_row. So a group has no intents, and its memory and its time under the locks are
 *   bounded.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/leveldb/write/mutate.h"

enum {
	BATCH_ROWS = 512,    /* in a group */
	BATCH_SEEN = 1024,   /* slots for their hashes; a power of two */
	BATCH_MASK_BITS = 64 /* stripes in a word of the mask */
};
/* Of a group: keys and values that it puts, keys that it deletes. */
#define BATCH_BYTES (256u << 10)

struct batch {
	struct ldb *db;
	uint32_t table;
	struct wcs_entry *entries;
	size_t count; /* left */
	leveldb_writebatch_t *one, *all;
	leveldb_iterator_t *iter;
	bool changes, garbage;	   /* of the group */
	uint64_t seen[BATCH_SEEN]; /* hashes of its rows, 0: none */
	uint64_t stripes[(LDB_STRIPES + BATCH_MASK_BITS - 1) / BATCH_MASK_BITS]; /* of its rows */
	struct ldb_mutate m;
};

/* ---- Groups ------------------------------------------------------------------------------ */

/* About how many bytes the mutation puts; SIZE_MAX: it must go alone. */
static size_t batch_size(const struct wcs_view *view, const struct wcs_entry *entry)
{
	const struct wcs_mutation *mutation = entry->mutation;
	size_t size = entry->row.len;

	for (size_t i = 0; i < mutation->write_count && size <= BATCH_BYTES; i++) {
		const struct wcs_write *write = &mutation->writes[i];

		if (write->kind == WCS_WRITE_APPEND)
			return SIZE_MAX;
		size += entry->row.len + write->qualifier.len;
		size += write->type == WCS_INTHLL ? WCS_AGGREGATE_VALUE_MAX : write->value.len;
	}
	for (size_t i = 0; i < mutation->delete_count; i++)
		if (mutation->deletes[i].kind == WCS_DELETE_CELL &&
		    wcs_view_gc(view, mutation->deletes[i].family))
			return SIZE_MAX;
	return size <= BATCH_BYTES ? size : SIZE_MAX;
}

/* Adds the row to the group. False: the group has it, or another row with its hash. */
static bool batch_note(struct batch *batch, struct wcs_slice row)
{
	uint64_t hash = ldb_row_hash(batch->table, row);
	size_t stripe = ldb_row_stripe(hash), at;

	hash = hash ? hash : 1;
	for (at = hash % BATCH_SEEN; batch->seen[at]; at = (at + 1) % BATCH_SEEN)
		if (batch->seen[at] == hash)
			return false;
	batch->seen[at] = hash;
	batch->stripes[stripe / BATCH_MASK_BITS] |= (uint64_t)1 << stripe % BATCH_MASK_BITS;
	return true;
}

/* How many of the entries left make the next group. 0: the first must go alone. */
static size_t batch_group(struct batch *batch)
{
	size_t bytes = 0, n;

	memset(batch->seen, 0, sizeof(batch->seen));
	memset(batch->stripes, 0, sizeof(batch->stripes));
	for (n = 0; n < batch->count && n < BATCH_ROWS; n++) {
		size_t size = batch_size(batch->m.view, &batch->entries[n]);

		if (size > BATCH_BYTES - bytes || !batch_note(batch, batch->entries[n].row))
			break;
		bytes += size;
	}
	return n;
}

static bool batch_has_stripe(const struct batch *batch, size_t stripe)
{
	return batch->stripes[stripe / BATCH_MASK_BITS] >> stripe % BATCH_MASK_BITS & 1;
}

/* Builds one mutation and lets it join the group. */
static int batch_add(struct batch *batch, struct wcs_entry *entry)
{
	struct ldb_mutate *m = &batch->m;
	int rc;

	ldb_row_init(m, batch->table, entry->row, entry->mutation, batch->one);
	m->iter = batch->iter;
	rc = ldb_mutate_build(m);
	if (!rc && m->changes) {
		ldb_values_end(m);
		leveldb_writebatch_append(batch->all, batch->one);
		batch->changes = true;
		batch->garbage = batch->garbage || m->garbage;
	}
	if (!rc)
		entry->ts = m->last_ts;
	leveldb_writebatch_clear(batch->one);
	free(m->made);
	return rc;
}

/* Applies the next group, of at most n mutations; *n becomes how many were applied. */
static int batch_apply(struct batch *batch, size_t *n)
{
	size_t added = 0, deleted = 0;
	int rc = 0, written = 0;

	batch->changes = batch->garbage = false;
	for (size_t i = 0; i < LDB_STRIPES; i++)
		if (batch_has_stripe(batch, i))
			pthread_mutex_lock(&batch->db->rows[i]);
	batch->iter = ldb_db_iterate(batch->db);
	while (!rc && added < *n && deleted < BATCH_BYTES) {
		rc = batch_add(batch, &batch->entries[added]);
		if (!rc) {
			deleted += batch->m.deleted;
			added++;
		}
	}
	leveldb_iter_destroy(batch->iter);
	if (batch->changes)
		written = ldb_commit(batch->db, batch->all, batch->db->options->sync);
	for (size_t i = LDB_STRIPES; i > 0; i--)
		if (batch_has_stripe(batch, i - 1))
			pthread_mutex_unlock(&batch->db->rows[i - 1]);
	leveldb_writebatch_clear(batch->all);
	*n = written ? 0 : added;
	if (!written && batch->garbage)
		ldb_reclaim_wake(batch->db);
	return written ? written : rc;
}

int ldb_batch_rows(void *engine, const struct wcs_view *view, uint32_t table,
		   struct wcs_entry *entries, size_t count, size_t *applied)
{
	struct ldb *db = engine;
	struct batch *batch;
	size_t done = 0;
	int rc = 0;

	*applied = 0;
	if (ldb_db_failed(db))
		return -EROFS;
	batch = malloc(sizeof(*batch));
	if (!batch)
		return -ENOMEM;
	batch->db = batch->m.db = db;
	batch->m.view = view;
	batch->table = table;
	batch->one = leveldb_writebatch_create();
	batch->all = leveldb_writebatch_create();
	while (!rc && done < count) {
		size_t n;

		batch->entries = entries + done;
		batch->count = count - done;
		n = batch_group(batch);
		if (n > 0) {
			rc = batch_apply(batch, &n);
		} else {
			rc = ldb_mutate_row(db, view, table, batch->entries->row,
					    batch->entries->mutation, &batch->entries->ts);
			n = rc ? 0 : 1;
		}
		done += n;
	}
	leveldb_writebatch_destroy(batch->one);
	leveldb_writebatch_destroy(batch->all);
	free(batch);
	*applied = done;
	return rc;
}
