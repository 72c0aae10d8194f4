/* SPDX-License-Identifier: MIT */
/* The memory engine's mutations and moves: applied to a copy of the row, which then takes its
 * place. */
#include "tests/unit/memory.h"

#include "store/policy/aggregate.h"

/* A row while a mutation is applied to it: its cells alone. */
struct memory_row {
	struct memory_engine *engine;
	const struct wcs_view *view;
	uint32_t table;
	struct wcs_slice key;
	struct memory_cells cells;
	size_t largest; /* of the values made: its size and family */
	const char *largest_family;
};

static const struct memory_cell *memory_newest(const struct memory_row *row, const char *family,
					       struct wcs_slice qualifier)
{
	return memory_cells_find(&row->cells, row->table, row->key, family, qualifier,
				 WCS_TS_NEWEST);
}

/* The newest cell of a column, or the one with that timestamp, if the view shows it: a hidden cell
 * has no value. */
static const struct memory_cell *memory_shown(const struct memory_row *row, const char *family,
					      struct wcs_slice qualifier, int64_t ts)
{
	return memory_view_find(&row->cells, row->view, row->table, row->key, family, qualifier, ts,
				NULL);
}

static void memory_remove(struct memory_row *row, const struct memory_cell *cell)
{
	for (size_t i = row->cells.count; i-- > 0;)
		if (row->cells.all[i] == cell)
			memory_cells_remove(&row->cells, i);
}

/* The present, later than the newest cell. */
static int memory_server_ts(const struct memory_row *row, const struct memory_cell *newest,
			    int64_t *ts)
{
	int64_t now = row->engine->options->now(row->engine->options->now_ctx);

	if (now < 0)
		now = 0;
	if (newest != NULL && newest->ts == WCS_TS_MAX)
		return -EOVERFLOW;
	*ts = newest != NULL && newest->ts >= now ? newest->ts + 1 : now;
	return 0;
}

static int memory_write_set(struct memory_row *row, const struct wcs_write *write, int64_t wanted,
			    struct wcs_slice value, int64_t *ts)
{
	const struct memory_cell *newest = memory_newest(row, write->family, write->qualifier);
	int rc;

	if (write->kind == WCS_WRITE_SET_NEWEST && newest != NULL && newest->ts > wanted &&
	    memory_shown(row, write->family, write->qualifier, WCS_TS_NEWEST) != NULL)
		wanted = WCS_TS_SERVER;
	if (wanted == WCS_TS_SERVER) {
		rc = memory_server_ts(row, newest, &wanted);
		if (rc != 0)
			return rc;
	}
	memory_cells_set(&row->cells,
			 memory_cells_new(row->engine, row->table, row->key, write, wanted, value));
	if (value.len > row->largest) {
		row->largest = value.len;
		row->largest_family = write->family;
	}
	*ts = wanted;
	return 0;
}

static int memory_write_append(struct memory_row *row, const struct wcs_write *write, int64_t *ts)
{
	const struct memory_cell *newest = memory_newest(row, write->family, write->qualifier);
	const struct memory_cell *shown =
		memory_shown(row, write->family, write->qualifier, WCS_TS_NEWEST);
	const struct memory_cell *replaced;
	struct wcs_slice old = shown != NULL ? shown->value : (struct wcs_slice){NULL, 0};
	int64_t wanted = WCS_TS_SERVER;
	char *joined, *at;
	int rc;

	if (old.len + write->value.len > WCS_VALUE_MAX)
		return -EFBIG;
	joined = memory_cells_realloc(NULL, old.len + write->value.len);
	at = joined;
	memory_cells_copy(&at, old);
	memory_cells_copy(&at, write->value);
	old.len += write->value.len;
	/* The cell that an append stands for goes, unless it is the newest: that one is
	 * overwritten. */
	replaced = memory_cells_find(&row->cells, row->table, row->key, write->family,
				     write->qualifier, write->replaces);
	if (write->replaces != WCS_TS_NONE && replaced != NULL && replaced == newest)
		wanted = write->replaces;
	else if (write->replaces != WCS_TS_NONE && replaced != NULL)
		memory_remove(row, replaced);
	rc = memory_write_set(row, write, wanted, (struct wcs_slice){joined, old.len}, ts);
	free(joined);
	return rc;
}

static int memory_write_increment(struct memory_row *row, const struct wcs_write *write,
				  int64_t *ts)
{
	const struct memory_cell *newest =
		memory_shown(row, write->family, write->qualifier, WCS_TS_NEWEST);
	unsigned char bytes[8] = {0};
	uint64_t bits = 0;
	int64_t sum;

	if (newest != NULL && newest->value.len != sizeof(bytes))
		return -EINVAL;
	if (newest != NULL)
		memcpy(bytes, newest->value.data, sizeof(bytes));
	for (size_t i = 0; i < sizeof(bytes); i++)
		bits = bits << 8 | bytes[i];
	if (__builtin_add_overflow((int64_t)bits, write->delta, &sum))
		return -EOVERFLOW;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)((uint64_t)sum >> (56 - 8 * i));
	return memory_write_set(row, write, WCS_TS_SERVER, (struct wcs_slice){bytes, sizeof(bytes)},
				ts);
}

/* For an aggregate family: the value in any form that the caller may give. */
static int memory_write_given(struct memory_row *row, const struct wcs_write *write, int64_t *ts)
{
	unsigned char *value = memory_cells_realloc(NULL, WCS_AGGREGATE_VALUE_MAX);
	size_t len;
	int rc = wcs_aggregate_apply(write, (struct wcs_slice){NULL, 0}, value, &len);

	if (rc == 0)
		rc = memory_write_set(row, write, write->ts, (struct wcs_slice){value, len}, ts);
	free(value);
	return rc;
}

/* Of an aggregate family: the value becomes one with that of the cell, if the view shows it. */
static int memory_write_merge(struct memory_row *row, const struct wcs_write *write, int64_t *ts)
{
	int64_t wanted = write->kind == WCS_WRITE_MERGE ? write->ts : WCS_TS_NEWEST;
	const struct memory_cell *cell = memory_shown(row, write->family, write->qualifier, wanted);
	unsigned char *value = memory_cells_realloc(NULL, WCS_AGGREGATE_VALUE_MAX);
	size_t len;
	int rc = wcs_aggregate_apply(
		write, cell != NULL ? cell->value : (struct wcs_slice){NULL, 0}, value, &len);

	if (wanted == WCS_TS_NEWEST)
		wanted = cell != NULL ? cell->ts : WCS_TS_SERVER;
	if (rc == 0)
		rc = memory_write_set(row, write, wanted, (struct wcs_slice){value, len}, ts);
	free(value);
	return rc;
}

static int memory_write(struct memory_row *row, const struct wcs_write *write, int64_t *ts)
{
	const struct memory_cell *shown =
		memory_shown(row, write->family, write->qualifier, WCS_TS_NEWEST);

	switch (write->kind) {
	case WCS_WRITE_SET:
	case WCS_WRITE_SET_NEWEST:
		if (wcs_type_aggregates(write->type))
			return memory_write_given(row, write, ts);
		return memory_write_set(row, write, write->ts, write->value, ts);
	case WCS_WRITE_APPEND:
		return memory_write_append(row, write, ts);
	case WCS_WRITE_INCREMENT:
		if (write->type == WCS_INTSUM)
			return memory_write_merge(row, write, ts);
		return memory_write_increment(row, write, ts);
	case WCS_WRITE_MERGE:
		return memory_write_merge(row, write, ts);
	case WCS_WRITE_REPLACE:
		/* The newest cell that is shown gets the value; its timestamp stays. */
		return memory_write_set(row, write, shown != NULL ? shown->ts : WCS_TS_SERVER,
					write->value, ts);
	}
	return -EINVAL;
}

static bool memory_deleted(const struct memory_cell *cell, const struct wcs_mutation *mutation)
{
	if (mutation->delete_row)
		return true;
	for (size_t i = 0; i < mutation->delete_count; i++) {
		const struct wcs_delete *entry = &mutation->deletes[i];

		if (!memory_cells_same(cell->family, memory_cells_text(entry->family)))
			continue;
		if (entry->kind == WCS_DELETE_FAMILY)
			return true;
		if (memory_cells_same(cell->qualifier, entry->qualifier) &&
		    (entry->kind == WCS_DELETE_COLUMN || cell->ts == entry->ts))
			return true;
	}
	return false;
}

static int memory_row_apply(struct memory_row *row, struct wcs_mutation *mutation, int64_t *ts)
{
	int rc = 0;

	for (size_t i = 0; i < mutation->condition_count; i++) {
		const struct wcs_condition *condition = &mutation->conditions[i];
		const struct memory_cell *cell =
			memory_shown(row, condition->family, condition->qualifier, WCS_TS_NEWEST);

		if (condition->absent
			    ? cell != NULL
			    : cell == NULL || !memory_cells_same(cell->value, condition->expected))
			return -ECANCELED;
	}
	for (size_t i = row->cells.count; i-- > 0;)
		if (memory_deleted(row->cells.all[i], mutation))
			memory_cells_remove(&row->cells, i);
	for (size_t order = 0; order < mutation->write_count; order++)
		for (size_t i = 0; rc == 0 && i < mutation->write_count; i++) {
			struct wcs_write *write = &mutation->writes[i];

			if (write->order != order)
				continue;
			rc = memory_write(row, write, ts);
			write->hidden = rc == 0 && memory_shown(row, write->family,
								write->qualifier, *ts) == NULL;
		}
	return rc;
}

/* Takes a copy of the row, so that a change that fails half way changes nothing. Returns the
 * position of the row, or of its insertion. The caller clears row->cells. */
static size_t memory_row_take(struct memory_row *row)
{
	const struct memory_cells *cells = &row->engine->cells;
	size_t first = 0;

	while (first < cells->count && (cells->all[first]->table < row->table ||
					(cells->all[first]->table == row->table &&
					 wcs_slice_compare(cells->all[first]->row, row->key) < 0)))
		first++;
	for (size_t i = first; i < cells->count && cells->all[i]->table == row->table &&
			       memory_cells_same(cells->all[i]->row, row->key);
	     i++) {
		cells->all[i]->refs++;
		memory_cells_add(&row->cells, row->cells.count, cells->all[i]);
	}
	return first;
}

/* Puts the copy in the row's place. */
static void memory_row_put(struct memory_row *row, size_t first)
{
	struct memory_cells *cells = &row->engine->cells;

	while (first < cells->count && cells->all[first]->table == row->table &&
	       memory_cells_same(cells->all[first]->row, row->key))
		memory_cells_remove(cells, first);
	for (size_t i = 0; i < row->cells.count; i++) {
		row->cells.all[i]->refs++;
		memory_cells_add(cells, first + i, row->cells.all[i]);
	}
}

int memory_mutate_row(void *db, const struct wcs_view *view, uint32_t table, struct wcs_slice key,
		      struct wcs_mutation *mutation, int64_t *ts)
{
	struct memory_engine *engine = db;
	struct memory_row row = {.engine = engine, .view = view, .table = table, .key = key};
	int64_t made = 0;
	size_t first;
	int rc;

	pthread_mutex_lock(&engine->mutex);
	/* Hidden cells go even if the call then fails. A cell that a policy hides for its age alone
	 * never shows again after a delete. */
	for (size_t i = 0; i < mutation->delete_count; i++) {
		const struct wcs_delete *entry = &mutation->deletes[i];
		const struct wcs_gc *gc = wcs_view_gc(view, entry->family);

		if (entry->kind == WCS_DELETE_CELL && gc != NULL && wcs_gc_last_rank(gc) > 1)
			memory_view_purge(&engine->cells, view, table, key, entry->family,
					  entry->qualifier);
	}
	first = memory_row_take(&row);
	rc = memory_row_apply(&row, mutation, &made);
	if (rc == 0) {
		memory_row_put(&row, first);
		if (ts != NULL)
			*ts = made;
	}
	memory_cells_clear(&row.cells);
	pthread_mutex_unlock(&engine->mutex);
	if (rc == 0)
		wcs_warn_value(engine->options, row.largest_family, row.largest);
	return rc;
}

int memory_mutate_rows(void *db, const struct wcs_view *view, uint32_t table,
		       struct wcs_entry *entries, size_t count, size_t *applied)
{
	int rc = 0;

	for (*applied = 0; *applied < count; ++*applied) {
		struct wcs_entry *entry = &entries[*applied];

		rc = memory_mutate_row(db, view, table, entry->row, entry->mutation, &entry->ts);
		if (rc != 0)
			break;
	}
	return rc;
}

/* ---- Moving ------------------------------------------------------------------------------ */

/* The cell becomes the cell (qualifier, ts), in place of one that is there. */
static int memory_move_to(struct memory_row *row, const struct wcs_move *move,
			  const struct memory_cell *cell, struct wcs_slice qualifier, int64_t ts,
			  int64_t *made)
{
	struct wcs_write write = {.family = move->family, .qualifier = qualifier};

	*made = ts;
	if (memory_cells_same(cell->qualifier, qualifier) && cell->ts == ts)
		return 0;
	memory_cells_set(&row->cells, memory_cells_new(row->engine, row->table, row->key, &write,
						       ts, cell->value));
	memory_remove(row, cell);
	return 0;
}

static int memory_move_newest(struct memory_row *row, const struct wcs_move *move,
			      const struct memory_cell *cell, int64_t *made)
{
	const struct memory_cell *newest = memory_newest(row, move->family, move->to);
	int64_t ts = cell->ts;
	int rc = 0;

	if (newest != NULL && newest->ts >= ts)
		rc = memory_server_ts(row, newest, &ts);
	return rc != 0 ? rc : memory_move_to(row, move, cell, move->to, ts, made);
}

static int memory_move_column(struct memory_row *row, const struct wcs_move *move,
			      const struct memory_cell *newest, int64_t *made)
{
	bool met = memory_newest(row, move->family, move->to) != NULL;
	const struct memory_cell *cell;
	int64_t ts;
	int rc;

	if (met && move->kind == WCS_MOVE_COLUMN_NEW)
		return -EEXIST;
	*made = newest->ts;
	if (memory_cells_same(move->from, move->to))
		return 0;
	rc = memory_move_newest(row, move, newest, made);
	while (rc == 0 && (cell = memory_newest(row, move->family, move->from)) != NULL) {
		if (met)
			memory_remove(row, cell);
		else
			memory_move_to(row, move, cell, move->to, cell->ts, &ts);
	}
	return rc;
}

static int memory_move_stamp(struct memory_row *row, const struct wcs_move *move,
			     const struct memory_cell *newest, int64_t *made)
{
	for (size_t i = 0; i < row->cells.count; i++) {
		const struct memory_cell *cell = row->cells.all[i];

		if (cell != newest && memory_cells_same(cell->family, newest->family) &&
		    memory_cells_same(cell->qualifier, newest->qualifier) &&
		    cell->ts >= move->to_ts)
			return -EINVAL;
	}
	return memory_move_to(row, move, newest, move->from, move->to_ts, made);
}

static int memory_row_move(struct memory_row *row, const struct wcs_move *move, int64_t *made)
{
	bool one = move->kind == WCS_MOVE_CELL_NEWEST || move->kind == WCS_MOVE_CELL;
	const struct memory_cell *cell =
		memory_cells_find(&row->cells, row->table, row->key, move->family, move->from,
				  one ? move->from_ts : WCS_TS_NEWEST);

	if (cell == NULL)
		return -ENOENT;
	switch (move->kind) {
	case WCS_MOVE_COLUMN:
	case WCS_MOVE_COLUMN_NEW:
		return memory_move_column(row, move, cell, made);
	case WCS_MOVE_CELL_NEWEST:
		return memory_move_newest(row, move, cell, made);
	case WCS_MOVE_CELL:
		return memory_move_to(row, move, cell, move->to, move->to_ts, made);
	case WCS_MOVE_STAMP:
		return memory_move_stamp(row, move, cell, made);
	}
	return -EINVAL;
}

int memory_mutate_move(void *db, const struct wcs_view *view, uint32_t table, struct wcs_slice key,
		       const struct wcs_move *move, int64_t *ts, bool *hidden)
{
	bool one = move->kind == WCS_MOVE_CELL || move->kind == WCS_MOVE_STAMP;
	struct memory_engine *engine = db;
	struct memory_row row = {.engine = engine, .view = view, .table = table, .key = key};
	int64_t made = 0;
	size_t first;
	int rc;

	pthread_mutex_lock(&engine->mutex);
	memory_view_purge_move(&engine->cells, view, table, key, move);
	first = memory_row_take(&row);
	rc = memory_row_move(&row, move, &made);
	if (rc == 0) {
		memory_row_put(&row, first);
		*ts = made;
		*hidden = one && memory_shown(&row, move->family,
					      move->kind == WCS_MOVE_CELL ? move->to : move->from,
					      made) == NULL;
	}
	memory_cells_clear(&row.cells);
	pthread_mutex_unlock(&engine->mutex);
	return rc;
}
