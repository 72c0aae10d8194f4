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
#include <stdlib.h>

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
	unsigned char number[8]; /* a value that an increment made */
	struct ldb_source newest;
};

/* ---- The newest cell --------------------------------------------------------------------- */

/* Takes the store's newest cell, unless a written one is newer. */
static int column_look(struct column *column)
{
	struct ldb_mutate *m = column->m;
	const struct wcs_write *write = column->writes;
	struct ldb_cell cell;
	int64_t ts;
	int rc;

	if (column->looked)
		return 0;
	column->looked = true;
	if (m->row_empty || m->mutation->delete_row)
		return 0;
	m->key.len = column->key_len;
	for (ldb_iter_seek(m->iter, &m->key);; leveldb_iter_next(m->iter)) {
		if (!ldb_iter_within(m->iter, &m->key))
			return 0;
		rc = ldb_iter_ts(m->db, m->iter, column->key_len, &ts);
		if (rc)
			return rc;
		if (!wcs_mutation_deletes(m->mutation, write->family, write->qualifier, ts))
			break;
	}
	if (column->found && column->ts >= ts)
		return 0;
	rc = ldb_iter_cell(m->db, m->iter, &cell);
	if (rc)
		return rc;
	if (cell.id == 0) { /* the iterator will move */
		memcpy(m->newest, cell.data, (size_t)cell.size);
		cell.data = m->newest;
	}
	column->found = true;
	column->ts = ts;
	ldb_source_clear(&column->newest);
	return ldb_source_add_cell(&column->newest, &cell);
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

int ldb_column_put(struct ldb_mutate *m, const struct wcs_write *write, int64_t ts,
		   const struct ldb_source *source)
{
	uint32_t etag = atomic_fetch_add_explicit(&m->db->etag, 1, memory_order_relaxed);
	unsigned char scratch[WCS_VALUE_INLINE];
	const unsigned char *data;
	size_t index, len = (size_t)source->size;
	int rc;

	if (source->size <= WCS_VALUE_INLINE) {
		rc = ldb_source_view(m->db, source, 0, len, scratch, &data);
		if (rc)
			return rc;
		len = ldb_record_inline(m->record, etag, (struct wcs_slice){data, len});
	} else {
		rc = ldb_values_extents(m, write, source, &index);
		if (rc)
			return rc;
		m->made[index].ts = ts;
		len = ldb_record_extents(m->record, etag, source->size, m->made[index].id);
	}
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

/* Puts the cell that a write makes, and finds out whether the view hides it. */
static int column_store(struct column *column, struct wcs_write *write, int64_t ts, bool given,
			const struct ldb_source *source)
{
	uint64_t rank, known = 1;
	int rc = 0;

	column->m->key.len = column->key_len;
	ldb_key_ts(&column->m->key, ts);
	if (given)
		rc = column_replace(column, write, ts);
	if (column->rank > 0 && column->last >= ts)
		known = column->rank + (column->last > ts);
	else if (column->found && column->ts > ts)
		known = 2;
	rank = 1 + column->newer;
	column->rank = rank > known ? rank : known;
	column->last = ts;
	write->hidden =
		wcs_view_hides(column->m->view, wcs_view_expiry(column->gc, column->rank, ts));
	return rc ? rc : ldb_column_put(column->m, write, ts, source);
}

/* ---- The kinds of writes ----------------------------------------------------------------- */

static int column_set(struct column *column, struct wcs_write *write)
{
	bool newest = write->kind == WCS_WRITE_SET_NEWEST;
	bool given = write->ts != WCS_TS_SERVER;
	struct ldb_source source = {0};
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
	rc = ldb_source_add(&source, write->value);
	if (!rc)
		rc = column_store(column, write, ts, given, &source);
	free(source.more);
	if (rc || (column->found && column->ts > ts))
		return rc;
	column->found = true;
	column->ts = ts;
	ldb_source_clear(&column->newest);
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
	ldb_put64(column->number, (uint64_t)number);
	ldb_source_clear(&column->newest);
	return ldb_source_add(&column->newest,
			      (struct wcs_slice){column->number, sizeof(column->number)});
}

/* Makes a new newest cell of the newest one: an append or an increment. */
static int column_modify(struct column *column, struct wcs_write *write)
{
	struct ldb_mutate *m = column->m;
	bool append = write->kind == WCS_WRITE_APPEND;
	bool replaces = append && write->replaces != WCS_TS_NONE;
	int64_t ts = write->replaces;
	bool given;
	int rc = column_look(column);

	if (rc)
		return rc;
	if (!column_shown(column))
		ldb_source_clear(&column->newest);
	given = replaces && column->found && column->ts == ts;
	if (!append)
		rc = column_increment(column, write);
	else if (column->newest.size + write->value.len > WCS_VALUE_MAX)
		rc = -EFBIG;
	else
		rc = ldb_source_add(&column->newest, write->value);
	if (!rc && !given)
		rc = ldb_row_server_ts(m, column->found, column->ts, &ts);
	if (!rc && replaces && !given) { /* the cell that the append stands for is not the newest */
		m->key.len = column->key_len;
		ldb_key_ts(&m->key, write->replaces);
		rc = column_replace(column, write, write->replaces);
		if (!rc)
			leveldb_writebatch_delete(m->batch, (const char *)m->key.data, m->key.len);
		column->rank = 0;
	}
	if (!rc)
		rc = column_store(column, write, ts, given, &column->newest);
	column->found = true;
	column->ts = ts;
	return rc;
}

int ldb_column_write(struct ldb_mutate *m, struct wcs_write *writes, size_t count)
{
	struct column column = {.m = m, .writes = writes};
	int rc = 0;

	ldb_row_column(m, writes->family, writes->qualifier);
	column.gc = wcs_view_gc(m->view, writes->family);
	column.counts = ldb_row_counts(m, writes, count);
	column.key_len = m->key.len;
	for (size_t i = 0; i < count && !rc; i++) {
		if (writes[i].kind == WCS_WRITE_SET || writes[i].kind == WCS_WRITE_SET_NEWEST)
			rc = column_set(&column, &writes[i]);
		else
			rc = column_modify(&column, &writes[i]);
	}
	free(column.newest.more);
	return rc;
}
