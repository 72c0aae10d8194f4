/* SPDX-License-Identifier: MIT */
/*
 * The writes that a mutation makes in one column, in the order in which they were added.
 *
 * The newest cell of the column is the later one of two: the newest in the store that the
 * mutation does not delete, and the newest written so far (which wins where they are equal, for it
 * replaces the other). The store is looked at only when a write asks. A server's timestamp is
 * later than the newest cell, so only a timestamp that was given can meet a cell that is there.
 *
 * A write whose cell is hidden at once is marked. Its rank is that of the newest, or at least one
 * more than that of the write before, where that has a later timestamp; a write that is alone in
 * its column, and looks there for what it replaces, comes from the column's newest cell and counts.
 */
#include <errno.h>
#include <string.h>

#include "store/leveldb/encoding/bytes.h"
#include "store/leveldb/write/mutate.h"

struct column {
	struct ldb_mutate *m;
	const struct wcs_write *writes;
	const struct wcs_gc *gc; /* NULL: it hides nothing */
	bool counts;		 /* what is newer than the one write */
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

/* The newest cell of the store, under the iterator, becomes the newest if it is. */
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
		size_t len;
		const unsigned char *key = ldb_iter_key(m->iter, &len);
		int64_t ts;

		if (ldb_key_split_ts(key, len, column->key_len, &ts))
			return ldb_db_damaged(m->db, "a cell's key");
		if (!wcs_mutation_deletes(m->mutation, write->family, write->qualifier, ts))
			return column_take_stored(column, ts);
	}
	return 0;
}

/* Is there a newest cell, and does the view show it? What it hides has no value. */
static bool column_shown(const struct column *column)
{
	return column->found &&
	       !wcs_view_hides(column->m->view, wcs_view_expiry(column->gc, 1, column->ts));
}

/* ---- Storing ----------------------------------------------------------------------------- */

/* What stands at the key (a cell's) becomes garbage, in the store and of this mutation. */
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
		return ldb_rank_replaced(m, column->key_len, ts, &column->newer);
	return ldb_mutate_replaced(m);
}

/* Chunks what write makes, unless that was done before the lock. */
static int column_chunks(struct ldb_mutate *m, const struct wcs_write *write,
			 const struct ldb_source *source, size_t *index)
{
	if (m->prepared_used < m->prepared && m->made[m->prepared_used].write == write) {
		*index = m->prepared_used++;
		return 0;
	}
	if (ldb_mutate_is_given(write)) /* counted before */
		return ldb_mutate_chunks(m, write, source, false, index);
	if (m->batch_chunks + source->size > LDB_BATCH_BYTES)
		return ldb_mutate_chunks(m, write, source, true, index);
	m->batch_chunks += (size_t)source->size;
	return ldb_mutate_chunks(m, write, source, false, index);
}

static int column_record(struct ldb_mutate *m, const struct wcs_write *write, int64_t ts,
			 const struct ldb_source *source, size_t *len)
{
	uint32_t etag = atomic_fetch_add_explicit(&m->db->etag, 1, memory_order_relaxed);
	unsigned char scratch[WCS_VALUE_INLINE];
	const unsigned char *data;
	size_t index;
	int err;

	if (source->size <= WCS_VALUE_INLINE) {
		size_t size = (size_t)source->size;

		err = ldb_source_view(m->db, source, 0, size, scratch, &data);
		if (!err)
			*len = ldb_record_inline(m->record, etag, (struct wcs_slice){data, size});
		return err;
	}
	err = column_chunks(m, write, source, &index);
	if (err)
		return err;
	m->made[index].ts = ts;
	*len = ldb_record_chunked(m->record, etag, source->size, m->made[index].id);
	return 0;
}

int ldb_column_put(struct ldb_mutate *m, const struct wcs_write *write, int64_t ts,
		   const struct ldb_source *source)
{
	size_t len;
	int err = column_record(m, write, ts, source, &len);

	if (err)
		return err;
	leveldb_writebatch_put(m->batch, (const char *)m->key.data, m->key.len,
			       (const char *)m->record, len);
	m->changes = true;
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

/* Is the cell with that timestamp, which a write makes next, hidden at once? */
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
	int err = 0;

	m->key.len = column->key_len;
	ldb_key_ts(&m->key, ts);
	if (given)
		err = column_replace(column, write, ts);
	write->hidden = column_hides(column, ts);
	return err ? err : ldb_column_put(m, write, ts, source);
}

/* ---- The kinds of writes ----------------------------------------------------------------- */

static int column_set(struct column *column, struct wcs_write *write)
{
	bool newest = write->kind == WCS_WRITE_SET_NEWEST;
	bool given = write->ts != WCS_TS_SERVER;
	struct ldb_source source;
	int64_t ts = write->ts;
	int err = 0;

	if (newest || !given)
		err = column_look(column);
	if (newest && column_shown(column) && column->ts > ts)
		given = false;
	if (!err && !given)
		err = ldb_mutate_server_ts(column->m, column->found, column->ts, &ts);
	if (err)
		return err;
	ldb_source_init(&source);
	err = ldb_source_add(&source, write->value);
	if (!err)
		err = column_store(column, write, ts, given, &source);
	ldb_source_free(&source);
	if (err || (column->found && column->ts > ts))
		return err;
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
	int err;

	if (column_shown(column)) {
		if (column->newest.size != sizeof(scratch))
			return -EINVAL;
		err = ldb_source_view(column->m->db, &column->newest, 0, sizeof(scratch), scratch,
				      &bytes);
		if (err)
			return err;
		number = (int64_t)ldb_get64(bytes);
	}
	if (__builtin_add_overflow(number, write->delta, &number))
		return -EOVERFLOW;
	ldb_put64(scratch, (uint64_t)number);
	ldb_source_set_number(&column->newest, scratch);
	return 0;
}

/* The cell that an append stands for goes, where it is not the newest. */
static int column_remove(struct column *column, const struct wcs_write *write)
{
	struct ldb_mutate *m = column->m;
	int err;

	m->key.len = column->key_len;
	ldb_key_ts(&m->key, write->replaces);
	err = column_replace(column, write, write->replaces);
	if (!err)
		leveldb_writebatch_delete(m->batch, (const char *)m->key.data, m->key.len);
	column->rank = 0;
	return err;
}

/* Makes a new newest cell of the newest one. */
static int column_modify(struct column *column, struct wcs_write *write)
{
	bool append = write->kind == WCS_WRITE_APPEND;
	bool replaces = append && write->replaces != WCS_TS_NONE;
	bool given;
	int64_t ts = 0;
	int err = column_look(column);

	if (!err && !column_shown(column))
		ldb_source_clear(&column->newest);
	given = replaces && column->found && column->ts == write->replaces;
	if (!err)
		err = append ? column_append(column, write) : column_increment(column, write);
	if (!err && given)
		ts = write->replaces;
	else if (!err)
		err = ldb_mutate_server_ts(column->m, column->found, column->ts, &ts);
	if (!err && replaces && !given)
		err = column_remove(column, write);
	if (!err)
		err = column_store(column, write, ts, given, &column->newest);
	if (err)
		return err;
	column->found = true;
	column->ts = ts;
	return 0;
}

int ldb_column_write(struct ldb_mutate *m, struct wcs_write *writes, size_t count)
{
	struct column column;
	int err = 0;

	memset(&column, 0, offsetof(struct column, newest));
	ldb_source_init(&column.newest);
	ldb_mutate_key(m, writes->family, writes->qualifier);
	column.m = m;
	column.writes = writes;
	column.gc = wcs_view_gc(m->view, writes->family);
	column.counts = ldb_rank_counts(m, writes, count);
	column.key_len = m->key.len;
	for (size_t i = 0; i < count && !err; i++) {
		if (writes[i].kind == WCS_WRITE_SET || writes[i].kind == WCS_WRITE_SET_NEWEST)
			err = column_set(&column, &writes[i]);
		else
			err = column_modify(&column, &writes[i]);
	}
	ldb_source_free(&column.newest);
	return err;
}
