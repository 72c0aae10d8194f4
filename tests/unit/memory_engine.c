/* SPDX-License-Identifier: MIT */
/*
 * A plain engine in memory: the second reading of store.h, to compare the real one with.
 *
 * All cells of all tables are one array, sorted by table, row, family, qualifier and timestamp
 * (newest first). Every call looks through it from the first cell to the last under one mutex.
 * Cells never change and are counted by reference, so a scan or an open value keeps the cells that
 * it saw.
 */
#include "tests/unit/memory.h"

struct memory_value {
	struct wcs_value base;
	struct memory_engine *engine;
	struct memory_cell *cell;
};

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
	struct memory_engine *engine = memory_cells_realloc(NULL, sizeof(*engine));

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
	copy->families = memory_cells_realloc(NULL, from->family_count * sizeof(*copy->families));
	for (size_t i = 0; i < from->family_count; i++) {
		copy->families[i] = from->families[i];
		copy->families[i].gc = strdup(from->families[i].gc);
	}
}

static void memory_close(void *db)
{
	struct memory_engine *engine = db;

	memory_cells_clear(&engine->cells);
	free(engine->note);
	for (size_t i = 0; i < engine->table_count; i++)
		memory_schema_clear(&engine->tables[i].schema);
	free(engine->tables);
	pthread_mutex_destroy(&engine->mutex);
	free(engine);
}

static bool memory_never(void *db)
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
		engine->tables =
			memory_cells_realloc(engine->tables, (i + 1) * sizeof(*engine->tables));
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

static int memory_cell_get(void *db, const struct wcs_view *view, const struct wcs_address *at,
			   struct wcs_cell_info *info)
{
	struct memory_engine *engine = db;
	const struct memory_cell *cell;
	int64_t expires;

	pthread_mutex_lock(&engine->mutex);
	cell = memory_view_find(&engine->cells, view, at->table, at->row, at->family, at->qualifier,
				at->ts, &expires);
	if (cell != NULL)
		*info = memory_cells_info(cell, expires);
	pthread_mutex_unlock(&engine->mutex);
	return cell != NULL ? 0 : -ENOENT;
}

static int memory_value_open(void *db, const struct wcs_view *view, const struct wcs_address *at,
			     struct wcs_value **value)
{
	struct memory_engine *engine = db;
	struct memory_value *made;
	struct memory_cell *cell;
	int64_t expires;

	pthread_mutex_lock(&engine->mutex);
	cell = memory_view_find(&engine->cells, view, at->table, at->row, at->family, at->qualifier,
				at->ts, &expires);
	if (cell != NULL)
		cell->refs++;
	pthread_mutex_unlock(&engine->mutex);
	if (cell == NULL)
		return -ENOENT;
	made = memory_cells_realloc(NULL, sizeof(*made));
	made->base.backend = &wcs_backend_memory;
	made->base.info = memory_cells_info(cell, expires);
	made->engine = engine;
	made->cell = cell;
	*value = &made->base;
	return 0;
}

static int memory_value_read(struct wcs_value *value, void *buf, size_t len, uint64_t offset,
			     size_t *got)
{
	return memory_cells_read(((struct memory_value *)value)->cell, buf, len, offset, got);
}

static void memory_value_close(struct wcs_value *value)
{
	struct memory_value *closed = (struct memory_value *)value;

	pthread_mutex_lock(&closed->engine->mutex);
	memory_cells_put(closed->cell);
	pthread_mutex_unlock(&closed->engine->mutex);
	free(closed);
}

/* It counts nothing. */
static int memory_stats(void *db, struct wcs_stats *stats)
{
	(void)db;
	(void)stats;
	return 0;
}

static char *memory_describe(void *db)
{
	(void)db;
	return strdup("in memory\n");
}

static int memory_drop(void *db, uint32_t table, const struct wcs_slice *row,
		       const struct wcs_range *range)
{
	struct memory_engine *engine = db;

	pthread_mutex_lock(&engine->mutex);
	for (size_t i = engine->cells.count; i-- > 0;)
		if (engine->cells.all[i]->table == table &&
		    ((row && wcs_slice_compare(engine->cells.all[i]->row, *row) == 0) ||
		     memory_cells_within(engine->cells.all[i]->row, range->start, range->end)))
			memory_cells_remove(&engine->cells, i);
	pthread_mutex_unlock(&engine->mutex);
	return 0;
}

/* ---- Collecting -------------------------------------------------------------------------- */

/* All at once: the oldest first, so that no rank changes. */
static int memory_collect(void *db, const struct wcs_view *view, uint32_t table,
			  struct wcs_collect *slice)
{
	struct memory_engine *engine = db;

	pthread_mutex_lock(&engine->mutex);
	for (size_t i = engine->cells.count; i-- > 0;) {
		const struct memory_cell *cell = engine->cells.all[i];

		if (cell->table != table)
			continue;
		slice->looked++;
		if (!memory_view_hides(&engine->cells, i, view))
			continue;
		slice->collected++;
		slice->bytes += cell->value.len;
		memory_cells_remove(&engine->cells, i);
	}
	pthread_mutex_unlock(&engine->mutex);
	slice->done = true;
	return 0;
}

static void memory_collected(void *db, bool end)
{
	(void)db;
	(void)end;
}

static int memory_note_put(void *db, const unsigned char *bytes, size_t len)
{
	struct memory_engine *engine = db;

	pthread_mutex_lock(&engine->mutex);
	engine->note = memory_cells_realloc(engine->note, len);
	memcpy(engine->note, bytes, len);
	engine->note_len = len;
	pthread_mutex_unlock(&engine->mutex);
	return 0;
}

static int memory_note_get(void *db, unsigned char **bytes, size_t *len)
{
	struct memory_engine *engine = db;

	pthread_mutex_lock(&engine->mutex);
	if (engine->note != NULL) {
		*len = engine->note_len;
		*bytes = memory_cells_realloc(NULL, *len);
		memcpy(*bytes, engine->note, *len);
	}
	pthread_mutex_unlock(&engine->mutex);
	return engine->note != NULL ? 0 : -ENOENT;
}

const struct wcs_backend wcs_backend_memory = {
	.name = "memory",
	.create = memory_create,
	.open = memory_open,
	.close = memory_close,
	.sync = memory_sync,
	.failed = memory_never,
	.stats = memory_stats,
	.text = memory_describe,
	.tables_load = memory_tables_load,
	.table_put = memory_table_put,
	.table_remove = memory_table_remove,
	.cell_get = memory_cell_get,
	.value_open = memory_value_open,
	.value_read = memory_value_read,
	.value_close = memory_value_close,
	.scan_open = memory_scan_open,
	.scan_next = memory_scan_next,
	.scan_seek = memory_scan_seek,
	.scan_read = memory_scan_read,
	.scan_close = memory_scan_close,
	.rows_open = memory_rows_open,
	.rows_find = memory_rows_find,
	.rows_read = memory_rows_read,
	.rows_purge = memory_rows_purge,
	.rows_apply = memory_rows_apply,
	.rows_close = memory_rows_close,
	.drop = memory_drop,
	.collect = memory_collect,
	.collected = memory_collected,
	.busy = memory_never,
	.note_put = memory_note_put,
	.note_get = memory_note_get,
};
