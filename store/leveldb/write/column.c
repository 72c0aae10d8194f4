/* SPDX-License-Identifier: MIT */
/*
 * Applies the writes that a mutation makes in one column, in the order in which they were added.
 *
 * The newest cell of the column is the later one of the newest in the store that the mutation does
 * not delete, and the newest written so far, which replaces the other if they are equal. The store
 * is read only when a write asks. A server's timestamp is later than the newest cell, so only a
 * given timestamp can meet a cell that exists.
 *
 * A write whose cell is hidden at once is marked. Its rank is that of the newest cell, or at least
 * one more than the rank of the write before, if that has a later timestamp. A write that is alone
 * in its column, and looks for the cell that it replaces, starts at the newest cell and counts.
 */
#include <errno.h>
#include <stddef.h>

#include "store/leveldb/write/mutate.h"

struct column {
	struct ldb_mutate *m;
	const struct wcs_write *writes;
	const struct wcs_gc *gc; /* NULL: it hides nothing */
	bool counts;		 /* newer cells of the store, for the one write */
	uint64_t newer;		 /* cells of the store */
	uint64_t rank;		 /* of the write before, at least; 0: there is none */
	int64_t last;		 /* its timestamp */
	size_t key_len;		 /* of the column's prefix */
	bool looked;		 /* at the store */
	bool found;		 /* there is a newest cell */
	int64_t ts;		 /* its timestamp */
	struct ldb_source newest;
};

/* ---- The newest cell --------------------------------------------------------------------- */

/* Takes the store's newest cell, under the iterator, unless a written one is newer. */
static int column_take_stored(struct column *column, int64_t ts)
{
	struct ldb_mutate *m = column->m;
	struct ldb_cell cell;

	if (column->found && column->ts >= ts)
		return 0;
	if (ldb_iter_cell(m->iter, &cell))
		return ldb_db_damaged(m->db, "a cell's record");
	if (cell.id == 0) { /* the iterator will move */
		memcpy(m->newest, cell.data, (size_t)cell.size);
		cell.data = m->newest;
	}
	column->found = true;
	column->ts = ts;
	ldb_source_clear(&column->newest);
	return ldb_source_add_cell(&column->newest, &cell);
}

static int column_look(struct column *column)
{
	struct ldb_mutate *m = column->m;
	const struct wcs_write *write = column->writes;

	if (column->looked)
		return 0;
	column->looked = true;
	if (m->row_empty || m->mutation->delete_row)
		return 0;
	m->key.len = column->key_len;
	ldb_iter_seek(m->iter, &m->key);
	for (; ldb_iter_within(m->iter, &m->key); leveldb_iter_next(m->iter)) {
		int64_t ts;
		int rc = ldb_iter_ts(m->db, m->iter, column->key_len, &ts);

		if (rc)
			return rc;
		if (!wcs_mutation_deletes(m->mutation, write->family, write->qualifier, ts))
			return column_take_stored(column, ts);
	}
	return 0;
}

/* Whether the view shows the newest cell. A hidden cell has no value. */
static bool column_shown(const struct column *column)
{
	return column->found &&
	       !wcs_view_hides(column->m->view, wcs_view_expiry(column->gc, 1, column->ts));
}

/* ---- Storing ----------------------------------------------------------------------------- */

/* Accounts for the cell at the key as replaced, in the store and in this mutation. */
static int column_replace(struct column *column, const struct wcs_write *write, int64_t ts)
{
	struct ldb_mutate *m = column->m;

	for (size_t i = 0; i < m->made_count; i++) {
		struct ldb_made *made = &m->made[i];

		if (made->ts == ts && made->write >= column->writes && made->write < write)
			made->replaced = true;
	}
	if (m->row_empty)
		return 0;
	if (column->counts)
		return ldb_row_replaced_newer(m, column->key_len, ts, &column->newer);
	return ldb_row_replaced(m);
}

/* Writes the extents of the write's value, unless they were streamed before the lock. */
static int column_extents(struct ldb_mutate *m, const struct wcs_write *write,
			  const struct ldb_source *source, size_t *index)
{
	bool stream = false;

	if (m->prepared_used < m->prepared && m->made[m->prepared_used].write == write) {
		*index = m->prepared_used++;
		return 0;
	}
	if (!ldb_values_is_given(write)) { /* the others are in batch_extents already */
		stream = m->batch_extents + source->size > LDB_BATCH_BYTES;
		m->batch_extents += stream ? 0 : (size_t)source->size;
	}
	return ldb_values_put(m, write, source, stream, index);
}

static int column_record(struct ldb_mutate *m, const struct wcs_write *write, int64_t ts,
			 const struct ldb_source *source, size_t *len)
{
	uint32_t etag = atomic_fetch_add_explicit(&m->db->etag, 1, memory_order_relaxed);
	unsigned char scratch[WCS_VALUE_INLINE];
	const unsigned char *data;
	size_t index;
	int rc;

	if (source->size <= WCS_VALUE_INLINE) {
		size_t size = (size_t)source->size;

		rc = ldb_source_view(m->db, source, 0, size, scratch, &data);
		if (!rc)
			*len = ldb_record_inline(m->record, etag, (struct wcs_slice){data, size});
		return rc;
	}
	rc = column_extents(m, write, source, &index);
	if (rc)
		return rc;
	m->made[index].ts = ts;
	*len = ldb_record_extents(m->record, etag, source->size, m->made[index].id);
	return 0;
}

int ldb_column_put(struct ldb_mutate *m, const struct wcs_write *write, int64_t ts,
		   const struct ldb_source *source)
{
	size_t len;
	int rc = column_record(m, write, ts, source, &len);

	if (rc)
		return rc;
	ldb_row_put(m, len);
	if (source->size > m->largest) {
		m->largest = source->size;
		m->largest_family = write->family;
	}
	if (write->order >= m->last_order) {
		m->last_order = write->order;
		m->last_ts = ts;
	}
	return 0;
}

/* Whether the view hides the cell that a write makes next, with that timestamp. */
static bool column_hides(struct column *column, int64_t ts)
{
	uint64_t rank = 1 + column->newer, known = 1;

	if (!column->gc)
		return false;
	if (column->rank > 0 && column->last >= ts)
		known = column->rank + (column->last > ts);
	else if (column->found && column->ts > ts)
		known = 2;
	column->rank = rank > known ? rank : known;
	column->last = ts;
	return wcs_view_hides(column->m->view, wcs_view_expiry(column->gc, column->rank, ts));
}

static int column_store(struct column *column, struct wcs_write *write, int64_t ts, bool given,
			const struct ldb_source *source)
{
	struct ldb_mutate *m = column->m;
	int rc = 0;

	m->key.len = column->key_len;
	ldb_key_ts(&m->key, ts);
	if (given)
		rc = column_replace(column, write, ts);
	write->hidden = column_hides(column, ts);
	return rc ? rc : ldb_column_put(m, write, ts, source);
}

/* ---- The kinds of writes ----------------------------------------------------------------- */

static int column_set(struct column *column, struct wcs_write *write)
{
	bool newest = write->kind == WCS_WRITE_SET_NEWEST;
	bool given = write->ts != WCS_TS_SERVER;
	struct ldb_source source;
	int64_t ts = write->ts;
	int rc = 0;

	if (newest || !given)
		rc = column_look(column);
	if (newest && column_shown(column) && column->ts > ts)
		given = false;
	if (!rc && !given)
		rc = ldb_row_server_ts(column->m, column->found, column->ts, &ts);
	if (rc)
		return rc;
	ldb_source_init(&source);
	rc = ldb_source_add(&source, write->value);
	if (!rc)
		rc = column_store(column, write, ts, given, &source);
	ldb_source_free(&source);
	if (rc || (column->found && column->ts > ts))
		return rc;
	column->found = true;
	column->ts = ts;
	ldb_source_clear(&column->newest);
	return ldb_source_add(&column->newest, write->value);
}

static int column_append(struct column *column, const struct wcs_write *write)
{
	if (column->newest.size + write->value.len > WCS_VALUE_MAX)
		return -EFBIG;
	return ldb_source_add(&column->newest, write->value);
}

static int column_increment(struct column *column, const struct wcs_write *write)
{
	unsigned char scratch[8];
	const unsigned char *bytes;
	int64_t number = 0;
	int rc;

	if (column_shown(column)) {
		if (column->newest.size != sizeof(scratch))
			return -EINVAL;
		rc = ldb_source_view(column->m->db, &column->newest, 0, sizeof(scratch), scratch,
				     &bytes);
		if (rc)
			return rc;
		number = (int64_t)ldb_get64(bytes);
	}
	if (__builtin_add_overflow(number, write->delta, &number))
		return -EOVERFLOW;
	ldb_put64(scratch, (uint64_t)number);
	ldb_source_set_number(&column->newest, scratch);
	return 0;
}

/* Deletes the cell that an append stands for, if it is not the newest. */
static int column_remove(struct column *column, const struct wcs_write *write)
{
	struct ldb_mutate *m = column->m;
	int rc;

	m->key.len = column->key_len;
	ldb_key_ts(&m->key, write->replaces);
	rc = column_replace(column, write, write->replaces);
	if (!rc)
		leveldb_writebatch_delete(m->batch, (const char *)m->key.data, m->key.len);
	column->rank = 0;
	return rc;
}

/* Makes a new newest cell of the newest one: an append or an increment. */
static int column_modify(struct column *column, struct wcs_write *write)
{
	bool append = write->kind == WCS_WRITE_APPEND;
	bool replaces = append && write->replaces != WCS_TS_NONE;
	bool given;
	int64_t ts = 0;
	int rc = column_look(column);

	if (!rc && !column_shown(column))
		ldb_source_clear(&column->newest);
	given = replaces && column->found && column->ts == write->replaces;
	if (!rc)
		rc = append ? column_append(column, write) : column_increment(column, write);
	if (!rc && given)
		ts = write->replaces;
	else if (!rc)
		rc = ldb_row_server_ts(column->m, column->found, column->ts, &ts);
	if (!rc && replaces && !given)
		rc = column_remove(column, write);
	if (!rc)
		rc = column_store(column, write, ts, given, &column->newest);
	if (rc)
		return rc;
	column->found = true;
	column->ts = ts;
	return 0;
}

int ldb_column_write(struct ldb_mutate *m, struct wcs_write *writes, size_t count)
{
	struct column column;
	int rc = 0;

	memset(&column, 0, offsetof(struct column, newest));
	ldb_source_init(&column.newest);
	ldb_row_column(m, writes->family, writes->qualifier);
	column.m = m;
	column.writes = writes;
	column.gc = wcs_view_gc(m->view, writes->family);
	column.counts = ldb_row_counts(m, writes, count);
	column.key_len = m->key.len;
	for (size_t i = 0; i < count && !rc; i++) {
		if (writes[i].kind == WCS_WRITE_SET || writes[i].kind == WCS_WRITE_SET_NEWEST)
			rc = column_set(&column, &writes[i]);
		else
			rc = column_modify(&column, &writes[i]);
	}
	ldb_source_free(&column.newest);
	return rc;
}
