/* SPDX-License-Identifier: MIT */
/*
 * A plain engine in memory: the second reading of store.h, to compare the real one with.
 *
 * All cells of all tables are one array, sorted by table, row, family, qualifier and timestamp
 * (newest first). Every call looks through it from the first cell to the last under one mutex.
 * Cells never change and are counted by reference, so a scan or an open value keeps what it saw.
 */
#include "memory_engine.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct memory_cell {
	size_t refs; /* guarded by the engine's mutex */
	uint32_t table;
	struct wcs_slice row;
	struct wcs_slice family;
	struct wcs_slice qualifier;
	struct wcs_slice value;
	int64_t ts;
	uint32_t etag;
	char bytes[]; /* of all four slices */
};

struct memory_cells {
	struct memory_cell **all;
	size_t count;
	size_t room;
};

struct memory_table {
	uint32_t id;
	struct wcs_table_schema schema;
};

struct memory_engine {
	pthread_mutex_t mutex; /* guards all that follows */
	const struct wcs_options *options;
	struct memory_cells cells;
	struct memory_table *tables;
	size_t table_count;
	uint32_t last_table;
	uint32_t last_etag;
};

struct memory_value {
	struct wcs_value base;
	struct memory_engine *engine;
	struct memory_cell *cell;
};

struct memory_scan {
	struct wcs_scan base;
	struct memory_engine *engine;
	struct memory_cells found;
	size_t next;
	bool at_cell;
};

struct memory_list {
	struct wcs_list base;
	struct wcs_slice *segments; /* each with bytes of its own */
	size_t count;
	size_t next;
};

/* Tests have no use for an engine that goes on without memory. */
static void *memory_get(void *old, size_t size)
{
	void *got = realloc(old, size > 0 ? size : 1);

	if (got == NULL)
		abort();
	return got;
}

static struct wcs_slice memory_text(const char *text)
{
	return (struct wcs_slice){text, strlen(text)};
}

static bool memory_same(struct wcs_slice a, struct wcs_slice b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

/* ---- Cells ------------------------------------------------------------------------------- */

static struct wcs_slice memory_put_bytes(char **at, struct wcs_slice from)
{
	struct wcs_slice put = {*at, from.len};

	if (from.len > 0)
		memcpy(*at, from.data, from.len);
	*at += from.len;
	return put;
}

static struct memory_cell *memory_cell_new(struct memory_engine *engine, uint32_t table,
					   struct wcs_slice row, const struct wcs_write *write,
					   int64_t ts, struct wcs_slice value)
{
	struct wcs_slice family = memory_text(write->family);
	struct memory_cell *cell = memory_get(NULL, sizeof(*cell) + row.len + family.len +
							    write->qualifier.len + value.len);
	char *at = cell->bytes;

	cell->refs = 1;
	cell->table = table;
	cell->row = memory_put_bytes(&at, row);
	cell->family = memory_put_bytes(&at, family);
	cell->qualifier = memory_put_bytes(&at, write->qualifier);
	cell->value = memory_put_bytes(&at, value);
	cell->ts = ts;
	cell->etag = ++engine->last_etag;
	return cell;
}

static void memory_cell_put(struct memory_cell *cell)
{
	if (--cell->refs == 0)
		free(cell);
}

static void memory_cells_add(struct memory_cells *cells, size_t at, struct memory_cell *cell)
{
	if (cells->count == cells->room) {
		cells->room = cells->room * 2 + 8;
		cells->all = memory_get(cells->all, cells->room * sizeof(*cells->all));
	}
	memmove(&cells->all[at + 1], &cells->all[at], (cells->count - at) * sizeof(*cells->all));
	cells->all[at] = cell;
	cells->count++;
}

static void memory_cells_remove(struct memory_cells *cells, size_t at)
{
	memory_cell_put(cells->all[at]);
	cells->count--;
	memmove(&cells->all[at], &cells->all[at + 1], (cells->count - at) * sizeof(*cells->all));
}

static void memory_cells_clear(struct memory_cells *cells)
{
	for (size_t i = 0; i < cells->count; i++)
		memory_cell_put(cells->all[i]);
	free(cells->all);
}

static int memory_compare(const struct memory_cell *a, const struct memory_cell *b)
{
	int order;

	if (a->table != b->table)
		return a->table < b->table ? -1 : 1;
	order = wcs_slice_compare(a->row, b->row);
	if (order == 0)
		order = wcs_slice_compare(a->family, b->family);
	if (order == 0)
		order = wcs_slice_compare(a->qualifier, b->qualifier);
	if (order == 0)
		order = (a->ts < b->ts) - (a->ts > b->ts);
	return order;
}

/* Puts the cell where it belongs, in place of one at the same address. */
static void memory_cells_set(struct memory_cells *cells, struct memory_cell *cell)
{
	size_t at = 0;

	while (at < cells->count && memory_compare(cells->all[at], cell) < 0)
		at++;
	if (at < cells->count && memory_compare(cells->all[at], cell) == 0)
		memory_cells_remove(cells, at);
	memory_cells_add(cells, at, cell);
}

/* The newest cell of a column, or the one with that timestamp. NULL: none. */
static struct memory_cell *memory_find(const struct memory_cells *cells, uint32_t table,
				       struct wcs_slice row, const char *family,
				       struct wcs_slice qualifier, int64_t ts)
{
	for (size_t i = 0; i < cells->count; i++) {
		struct memory_cell *cell = cells->all[i];

		if (cell->table == table && memory_same(cell->row, row) &&
		    memory_same(cell->family, memory_text(family)) &&
		    memory_same(cell->qualifier, qualifier) &&
		    (ts == WCS_TS_NEWEST || ts == cell->ts))
			return cell;
	}
	return NULL;
}

/* ---- The engine and its tables ----------------------------------------------------------- */

static int memory_create(const char *path, struct wcs_fault *fault)
{
	(void)path;
	(void)fault;
	return 0;
}

static int memory_open(const char *path, const struct wcs_options *options, void **db,
		       struct wcs_fault *fault)
{
	struct memory_engine *engine = memory_get(NULL, sizeof(*engine));

	(void)path;
	(void)fault;
	memset(engine, 0, sizeof(*engine));
	pthread_mutex_init(&engine->mutex, NULL);
	engine->options = options;
	*db = engine;
	return 0;
}

static void memory_schema_clear(struct wcs_table_schema *schema)
{
	for (size_t i = 0; i < schema->family_count; i++)
		free(schema->families[i].gc);
	free(schema->families);
}

static void memory_schema_copy(struct wcs_table_schema *copy, const struct wcs_table_schema *from)
{
	*copy = *from;
	copy->families = memory_get(NULL, from->family_count * sizeof(*copy->families));
	for (size_t i = 0; i < from->family_count; i++) {
		copy->families[i] = from->families[i];
		copy->families[i].gc = strdup(from->families[i].gc);
	}
}

static void memory_close(void *db)
{
	struct memory_engine *engine = db;

	memory_cells_clear(&engine->cells);
	for (size_t i = 0; i < engine->table_count; i++)
		memory_schema_clear(&engine->tables[i].schema);
	free(engine->tables);
	pthread_mutex_destroy(&engine->mutex);
	free(engine);
}

static bool memory_failed(void *db)
{
	(void)db;
	return false;
}

static int memory_sync(void *db)
{
	(void)db;
	return 0;
}

static int memory_tables_load(void *db,
			      int (*each)(void *ctx, uint32_t id,
					  const struct wcs_table_schema *schema),
			      void *ctx)
{
	struct memory_engine *engine = db;
	int rc = 0;

	pthread_mutex_lock(&engine->mutex);
	for (size_t i = 0; rc == 0 && i < engine->table_count; i++)
		rc = each(ctx, engine->tables[i].id, &engine->tables[i].schema);
	pthread_mutex_unlock(&engine->mutex);
	return rc;
}

static int memory_table_put(void *db, uint32_t *id, const struct wcs_table_schema *schema)
{
	struct memory_engine *engine = db;
	struct wcs_table_schema copy;
	size_t i = 0;

	memory_schema_copy(&copy, schema);
	pthread_mutex_lock(&engine->mutex);
	while (i < engine->table_count && engine->tables[i].id != *id)
		i++;
	if (i < engine->table_count) {
		memory_schema_clear(&engine->tables[i].schema);
	} else {
		engine->tables = memory_get(engine->tables, (i + 1) * sizeof(*engine->tables));
		engine->table_count++;
		*id = ++engine->last_table;
	}
	engine->tables[i].id = *id;
	engine->tables[i].schema = copy;
	pthread_mutex_unlock(&engine->mutex);
	return 0;
}

static int memory_table_remove(void *db, uint32_t id)
{
	struct memory_engine *engine = db;

	pthread_mutex_lock(&engine->mutex);
	for (size_t i = 0; i < engine->table_count; i++) {
		if (engine->tables[i].id != id)
			continue;
		memory_schema_clear(&engine->tables[i].schema);
		engine->tables[i] = engine->tables[--engine->table_count];
		break;
	}
	pthread_mutex_unlock(&engine->mutex);
	return 0;
}

/* ---- Cells and keys ---------------------------------------------------------------------- */

static struct wcs_cell_info memory_info(const struct memory_cell *cell)
{
	return (struct wcs_cell_info){.ts = cell->ts, .size = cell->value.len, .etag = cell->etag};
}

static int memory_cell_get(void *db, uint32_t table, struct wcs_slice row, const char *family,
			   struct wcs_slice qualifier, int64_t ts, struct wcs_cell_info *info)
{
	struct memory_engine *engine = db;
	const struct memory_cell *cell;

	pthread_mutex_lock(&engine->mutex);
	cell = memory_find(&engine->cells, table, row, family, qualifier, ts);
	if (cell != NULL)
		*info = memory_info(cell);
	pthread_mutex_unlock(&engine->mutex);
	return cell != NULL ? 0 : -ENOENT;
}

static int memory_value_open(void *db, uint32_t table, struct wcs_slice row, const char *family,
			     struct wcs_slice qualifier, int64_t ts, struct wcs_value **value)
{
	struct memory_engine *engine = db;
	struct memory_value *made;
	struct memory_cell *cell;

	pthread_mutex_lock(&engine->mutex);
	cell = memory_find(&engine->cells, table, row, family, qualifier, ts);
	if (cell != NULL)
		cell->refs++;
	pthread_mutex_unlock(&engine->mutex);
	if (cell == NULL)
		return -ENOENT;
	made = memory_get(NULL, sizeof(*made));
	made->base.backend = &wcs_backend_memory;
	made->base.info = memory_info(cell);
	made->engine = engine;
	made->cell = cell;
	*value = &made->base;
	return 0;
}

static int memory_read(const struct memory_cell *cell, void *buf, size_t len, uint64_t offset,
		       size_t *got)
{
	size_t rest = offset < cell->value.len ? cell->value.len - (size_t)offset : 0;

	*got = len < rest ? len : rest;
	if (*got > 0)
		memcpy(buf, (const char *)cell->value.data + offset, *got);
	return 0;
}

static int memory_value_read(struct wcs_value *value, void *buf, size_t len, uint64_t offset,
			     size_t *got)
{
	return memory_read(((struct memory_value *)value)->cell, buf, len, offset, got);
}

static void memory_value_close(struct wcs_value *value)
{
	struct memory_value *closed = (struct memory_value *)value;

	pthread_mutex_lock(&closed->engine->mutex);
	memory_cell_put(closed->cell);
	pthread_mutex_unlock(&closed->engine->mutex);
	free(closed);
}

static bool memory_starts_with(struct wcs_slice bytes, struct wcs_slice prefix)
{
	return bytes.len >= prefix.len &&
	       (prefix.len == 0 || memcmp(bytes.data, prefix.data, prefix.len) == 0);
}

static int memory_key_get(void *db, uint32_t table, struct wcs_slice key, unsigned char delimiter,
			  struct wcs_key_info *info)
{
	struct memory_engine *engine = db;
	struct wcs_key_info found = {.row = false};

	pthread_mutex_lock(&engine->mutex);
	for (size_t i = 0; i < engine->cells.count; i++) {
		const struct memory_cell *cell = engine->cells.all[i];
		const unsigned char *bytes = cell->row.data;

		if (cell->table != table || !memory_starts_with(cell->row, key))
			continue;
		if (cell->row.len == key.len)
			found.row = true;
		else if (bytes[key.len] == delimiter)
			found.prefix = true;
	}
	pthread_mutex_unlock(&engine->mutex);
	*info = found;
	return 0;
}

/* ---- Scans ------------------------------------------------------------------------------- */

static bool memory_within(struct wcs_slice bytes, struct wcs_slice from, struct wcs_slice to)
{
	return wcs_slice_compare(bytes, from) >= 0 &&
	       (to.data == NULL || wcs_slice_compare(bytes, to) < 0);
}

static bool memory_matches(const struct memory_cell *cell, const struct wcs_filter *filter)
{
	bool family = filter->families == NULL;

	for (size_t i = 0; filter->families != NULL && i < filter->family_count; i++)
		family = family || memory_same(cell->family, memory_text(filter->families[i]));
	return family &&
	       memory_within(cell->qualifier, filter->qualifier_from, filter->qualifier_to) &&
	       cell->ts >= filter->ts_from && (filter->ts_to == 0 || cell->ts < filter->ts_to);
}

/* Are the two in one row, one family, one column? */
static bool memory_alike(const struct memory_cell *a, const struct memory_cell *b,
			 enum wcs_each each)
{
	return each != WCS_EACH_CELL && memory_same(a->row, b->row) &&
	       (each == WCS_EACH_ROW ||
		(memory_same(a->family, b->family) &&
		 (each == WCS_EACH_FAMILY || memory_same(a->qualifier, b->qualifier))));
}

static void memory_scan_fill(struct memory_scan *scan, uint32_t table,
			     const struct wcs_range *range, const struct wcs_filter *filter)
{
	const struct memory_cells *cells = &scan->engine->cells;
	const struct memory_cell *column = NULL;
	uint32_t of_column = 0;

	for (size_t i = 0; i < cells->count; i++) {
		struct memory_cell *cell = cells->all[i];
		size_t count = scan->found.count;

		if (cell->table != table || !memory_within(cell->row, range->start, range->end) ||
		    !memory_matches(cell, filter))
			continue;
		if (column == NULL || !memory_alike(column, cell, WCS_EACH_COLUMN))
			of_column = 0;
		column = cell;
		of_column++;
		if (filter->newest != 0 && of_column > filter->newest)
			continue;
		if (count > 0 && memory_alike(scan->found.all[count - 1], cell, filter->each))
			continue;
		cell->refs++;
		memory_cells_add(&scan->found, count, cell);
	}
}

static int memory_scan_open(void *db, uint32_t table, const struct wcs_range *range,
			    const struct wcs_filter *filter, struct wcs_scan **scan)
{
	struct memory_scan *made = memory_get(NULL, sizeof(*made));

	memset(made, 0, sizeof(*made));
	made->base.backend = &wcs_backend_memory;
	made->engine = db;
	pthread_mutex_lock(&made->engine->mutex);
	memory_scan_fill(made, table, range, filter);
	pthread_mutex_unlock(&made->engine->mutex);
	*scan = &made->base;
	return 0;
}

static int memory_scan_next(struct wcs_scan *scan, struct wcs_cell *cell)
{
	struct memory_scan *at = (struct memory_scan *)scan;
	const struct memory_cell *found;

	at->at_cell = at->next < at->found.count;
	if (!at->at_cell)
		return 0;
	found = at->found.all[at->next++];
	cell->row = found->row;
	cell->family = found->family;
	cell->qualifier = found->qualifier;
	cell->info = memory_info(found);
	cell->value = (struct wcs_slice){NULL, 0};
	if (found->value.len <= WCS_VALUE_INLINE)
		cell->value = found->value;
	return 1;
}

static int memory_scan_read(struct wcs_scan *scan, void *buf, size_t len, uint64_t offset,
			    size_t *got)
{
	struct memory_scan *at = (struct memory_scan *)scan;

	if (!at->at_cell)
		return -EINVAL;
	return memory_read(at->found.all[at->next - 1], buf, len, offset, got);
}

static void memory_scan_close(struct wcs_scan *scan)
{
	struct memory_scan *closed = (struct memory_scan *)scan;

	pthread_mutex_lock(&closed->engine->mutex);
	memory_cells_clear(&closed->found);
	pthread_mutex_unlock(&closed->engine->mutex);
	free(closed);
}

/* ---- Listings ---------------------------------------------------------------------------- */

/* Keeps a copy of the segment in its place, once. */
static void memory_list_add(struct memory_list *list, struct wcs_slice segment)
{
	char *copy;
	size_t at = 0;

	while (at < list->count && wcs_slice_compare(list->segments[at], segment) < 0)
		at++;
	if (at < list->count && memory_same(list->segments[at], segment))
		return;
	list->segments = memory_get(list->segments, (list->count + 1) * sizeof(segment));
	memmove(&list->segments[at + 1], &list->segments[at], (list->count - at) * sizeof(segment));
	copy = memory_get(NULL, segment.len);
	list->segments[at] = memory_put_bytes(&copy, segment);
	list->count++;
}

static int memory_list_open(void *db, uint32_t table, struct wcs_slice prefix,
			    unsigned char delimiter, const struct wcs_slice *after,
			    struct wcs_list **list)
{
	struct memory_engine *engine = db;
	struct memory_list *made = memory_get(NULL, sizeof(*made));
	const unsigned char *bytes = prefix.data;
	bool itself = prefix.len > 0 && bytes[prefix.len - 1] == delimiter;

	memset(made, 0, sizeof(*made));
	made->base.backend = &wcs_backend_memory;
	pthread_mutex_lock(&engine->mutex);
	for (size_t i = 0; i < engine->cells.count; i++) {
		const struct memory_cell *cell = engine->cells.all[i];
		const char *key = cell->row.data;
		struct wcs_slice segment;

		if (cell->table != table || !memory_starts_with(cell->row, prefix) ||
		    (cell->row.len == prefix.len && !itself))
			continue;
		segment.data = key + prefix.len;
		for (segment.len = 0; prefix.len + segment.len < cell->row.len; segment.len++)
			if ((unsigned char)key[prefix.len + segment.len] == delimiter)
				break;
		if (after == NULL || wcs_slice_compare(segment, *after) > 0)
			memory_list_add(made, segment);
	}
	pthread_mutex_unlock(&engine->mutex);
	*list = &made->base;
	return 0;
}

static int memory_list_next(struct wcs_list *list, struct wcs_slice *segment)
{
	struct memory_list *at = (struct memory_list *)list;

	if (at->next == at->count)
		return 0;
	*segment = at->segments[at->next++];
	return 1;
}

static void memory_list_close(struct wcs_list *list)
{
	struct memory_list *closed = (struct memory_list *)list;

	for (size_t i = 0; i < closed->count; i++)
		free((void *)(uintptr_t)closed->segments[i].data);
	free(closed->segments);
	free(closed);
}

/* ---- Writing ----------------------------------------------------------------------------- */

/* A row while a mutation is applied to it: its cells alone. */
struct memory_row {
	struct memory_engine *engine;
	uint32_t table;
	struct wcs_slice key;
	struct memory_cells cells;
	size_t largest; /* of the values made: its size and family */
	const char *largest_family;
};

static const struct memory_cell *memory_newest(const struct memory_row *row, const char *family,
					       struct wcs_slice qualifier)
{
	return memory_find(&row->cells, row->table, row->key, family, qualifier, WCS_TS_NEWEST);
}

static bool memory_holds(const struct memory_row *row, const struct wcs_condition *condition)
{
	const struct memory_cell *cell =
		memory_newest(row, condition->family, condition->qualifier);

	if (condition->absent)
		return cell == NULL;
	return cell != NULL && memory_same(cell->value, condition->expected);
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

	if (write->kind == WCS_WRITE_SET_NEWEST && newest != NULL && newest->ts > wanted)
		wanted = WCS_TS_SERVER;
	if (wanted == WCS_TS_SERVER) {
		rc = memory_server_ts(row, newest, &wanted);
		if (rc != 0)
			return rc;
	}
	memory_cells_set(&row->cells,
			 memory_cell_new(row->engine, row->table, row->key, write, wanted, value));
	if (value.len > row->largest) {
		row->largest = value.len;
		row->largest_family = write->family;
	}
	*ts = wanted;
	return 0;
}

/* The cell that an append stands for goes, unless it is the newest: that one is overwritten. */
static int64_t memory_replace(struct memory_row *row, const struct wcs_write *write,
			      const struct memory_cell *newest)
{
	if (write->replaces == WCS_TS_NONE)
		return WCS_TS_SERVER;
	if (newest != NULL && newest->ts == write->replaces)
		return write->replaces;
	for (size_t i = row->cells.count; i-- > 0;) {
		const struct memory_cell *cell = row->cells.all[i];

		if (cell->ts == write->replaces &&
		    memory_same(cell->family, memory_text(write->family)) &&
		    memory_same(cell->qualifier, write->qualifier))
			memory_cells_remove(&row->cells, i);
	}
	return WCS_TS_SERVER;
}

static int memory_write_append(struct memory_row *row, const struct wcs_write *write, int64_t *ts)
{
	const struct memory_cell *newest = memory_newest(row, write->family, write->qualifier);
	struct wcs_slice old = newest != NULL ? newest->value : (struct wcs_slice){NULL, 0};
	char *joined;
	char *at;
	int rc;

	if (old.len + write->value.len > WCS_VALUE_MAX)
		return -EFBIG;
	joined = memory_get(NULL, old.len + write->value.len);
	at = joined;
	memory_put_bytes(&at, old);
	memory_put_bytes(&at, write->value);
	old.len += write->value.len;
	rc = memory_write_set(row, write, memory_replace(row, write, newest),
			      (struct wcs_slice){joined, old.len}, ts);
	free(joined);
	return rc;
}

static int memory_write_increment(struct memory_row *row, const struct wcs_write *write,
				  int64_t *ts)
{
	const struct memory_cell *newest = memory_newest(row, write->family, write->qualifier);
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

static int memory_write(struct memory_row *row, const struct wcs_write *write, int64_t *ts)
{
	switch (write->kind) {
	case WCS_WRITE_SET:
	case WCS_WRITE_SET_NEWEST:
		return memory_write_set(row, write, write->ts, write->value, ts);
	case WCS_WRITE_APPEND:
		return memory_write_append(row, write, ts);
	case WCS_WRITE_INCREMENT:
		return memory_write_increment(row, write, ts);
	}
	return -EINVAL;
}

static bool memory_deleted(const struct memory_cell *cell, const struct wcs_mutation *mutation)
{
	if (mutation->delete_row)
		return true;
	for (size_t i = 0; i < mutation->delete_count; i++) {
		const struct wcs_delete *entry = &mutation->deletes[i];

		if (!memory_same(cell->family, memory_text(entry->family)))
			continue;
		if (entry->kind == WCS_DELETE_FAMILY)
			return true;
		if (memory_same(cell->qualifier, entry->qualifier) &&
		    (entry->kind == WCS_DELETE_COLUMN || cell->ts == entry->ts))
			return true;
	}
	return false;
}

static int memory_row_apply(struct memory_row *row, const struct wcs_mutation *mutation,
			    int64_t *ts)
{
	int rc = 0;

	for (size_t i = 0; i < mutation->condition_count; i++)
		if (!memory_holds(row, &mutation->conditions[i]))
			return -ECANCELED;
	for (size_t i = row->cells.count; i-- > 0;)
		if (memory_deleted(row->cells.all[i], mutation))
			memory_cells_remove(&row->cells, i);
	for (size_t order = 0; order < mutation->write_count; order++)
		for (size_t i = 0; rc == 0 && i < mutation->write_count; i++)
			if (mutation->writes[i].order == order)
				rc = memory_write(row, &mutation->writes[i], ts);
	return rc;
}

/* Takes a copy of the row, so that what fails half way changes nothing. Returns where the row is,
 * or would be. The caller clears row->cells. */
static size_t memory_row_take(struct memory_row *row)
{
	const struct memory_cells *cells = &row->engine->cells;
	size_t first = 0;

	while (first < cells->count && (cells->all[first]->table < row->table ||
					(cells->all[first]->table == row->table &&
					 wcs_slice_compare(cells->all[first]->row, row->key) < 0)))
		first++;
	for (size_t i = first; i < cells->count && cells->all[i]->table == row->table &&
			       memory_same(cells->all[i]->row, row->key);
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
	       memory_same(cells->all[first]->row, row->key))
		memory_cells_remove(cells, first);
	for (size_t i = 0; i < row->cells.count; i++) {
		row->cells.all[i]->refs++;
		memory_cells_add(cells, first + i, row->cells.all[i]);
	}
}

static int memory_mutate(void *db, uint32_t table, struct wcs_slice key,
			 const struct wcs_mutation *mutation, int64_t *ts)
{
	struct memory_engine *engine = db;
	struct memory_row row = {.engine = engine, .table = table, .key = key};
	int64_t made = 0;
	size_t first;
	int rc;

	pthread_mutex_lock(&engine->mutex);
	first = memory_row_take(&row);
	rc = memory_row_apply(&row, mutation, &made);
	if (rc == 0) {
		memory_row_put(&row, first);
		*ts = made;
	}
	memory_cells_clear(&row.cells);
	pthread_mutex_unlock(&engine->mutex);
	if (rc == 0)
		wcs_warn_value(engine->options, row.largest_family, row.largest);
	return rc;
}

/* ---- Moving ------------------------------------------------------------------------------ */

static void memory_remove(struct memory_row *row, const struct memory_cell *cell)
{
	for (size_t i = row->cells.count; i-- > 0;)
		if (row->cells.all[i] == cell)
			memory_cells_remove(&row->cells, i);
}

/* The cell becomes the cell (qualifier, ts), in place of one that is there. */
static int memory_move_to(struct memory_row *row, const struct wcs_move *move,
			  const struct memory_cell *cell, struct wcs_slice qualifier, int64_t ts,
			  int64_t *made)
{
	struct wcs_write write = {.family = move->family, .qualifier = qualifier};

	*made = ts;
	if (memory_same(cell->qualifier, qualifier) && cell->ts == ts)
		return 0;
	memory_cells_set(&row->cells, memory_cell_new(row->engine, row->table, row->key, &write, ts,
						      cell->value));
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
	if (memory_same(move->from, move->to))
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

		if (cell != newest && memory_same(cell->family, newest->family) &&
		    memory_same(cell->qualifier, newest->qualifier) && cell->ts >= move->to_ts)
			return -EINVAL;
	}
	return memory_move_to(row, move, newest, move->from, move->to_ts, made);
}

static int memory_row_move(struct memory_row *row, const struct wcs_move *move, int64_t *made)
{
	bool one = move->kind == WCS_MOVE_CELL_NEWEST || move->kind == WCS_MOVE_CELL;
	const struct memory_cell *cell =
		memory_find(&row->cells, row->table, row->key, move->family, move->from,
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

static int memory_move(void *db, uint32_t table, struct wcs_slice key, const struct wcs_move *move,
		       int64_t *ts)
{
	struct memory_engine *engine = db;
	struct memory_row row = {.engine = engine, .table = table, .key = key};
	int64_t made = 0;
	size_t first;
	int rc;

	pthread_mutex_lock(&engine->mutex);
	first = memory_row_take(&row);
	rc = memory_row_move(&row, move, &made);
	if (rc == 0) {
		memory_row_put(&row, first);
		*ts = made;
	}
	memory_cells_clear(&row.cells);
	pthread_mutex_unlock(&engine->mutex);
	return rc;
}

static int memory_drop(void *db, uint32_t table, const struct wcs_range *range)
{
	struct memory_engine *engine = db;

	pthread_mutex_lock(&engine->mutex);
	for (size_t i = engine->cells.count; i-- > 0;)
		if (engine->cells.all[i]->table == table &&
		    memory_within(engine->cells.all[i]->row, range->start, range->end))
			memory_cells_remove(&engine->cells, i);
	pthread_mutex_unlock(&engine->mutex);
	return 0;
}

const struct wcs_backend wcs_backend_memory = {
	.name = "memory",
	.create = memory_create,
	.open = memory_open,
	.close = memory_close,
	.sync = memory_sync,
	.failed = memory_failed,
	.tables_load = memory_tables_load,
	.table_put = memory_table_put,
	.table_remove = memory_table_remove,
	.cell_get = memory_cell_get,
	.value_open = memory_value_open,
	.value_read = memory_value_read,
	.value_close = memory_value_close,
	.key_get = memory_key_get,
	.scan_open = memory_scan_open,
	.scan_next = memory_scan_next,
	.scan_read = memory_scan_read,
	.scan_close = memory_scan_close,
	.list_open = memory_list_open,
	.list_next = memory_list_next,
	.list_close = memory_list_close,
	.mutate = memory_mutate,
	.move = memory_move,
	.drop = memory_drop,
};
