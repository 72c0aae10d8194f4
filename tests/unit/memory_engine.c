/* SPDX-License-Identifier: MIT */
/*
 * A plain engine in memory: the second reading of store.h, to compare the real one with.
 *
 * All cells of all tables are one array, sorted by table, row, family, qualifier and timestamp
 * (newest first). Every call looks through it from the first cell to the last under one mutex,
 * which a thread that changes rows may take again. Cells never change and are counted by reference,
 * so a scan or an open value keeps the cells that it saw. All handles that are opened with a path
 * are handles on one engine.
 */
#include "tests/unit/memory.h"

#include "store/keys/keys.h"

/* ---- The engine and its tables ----------------------------------------------------------- */

static struct memory_engine *memory_known; /* has a path; one thread opens and closes handles */

static int memory_open(const char *path, const struct wcs_options *options, void **db,
		       struct wcs_fault *fault)
{
	struct memory_engine *engine = path[0] != '\0' ? memory_known : NULL;
	pthread_mutexattr_t recursive;

	(void)options;
	(void)fault;
	if (engine == NULL) {
		engine = memory_cells_realloc(NULL, sizeof(*engine));
		memset(engine, 0, sizeof(*engine));
		pthread_mutexattr_init(&recursive);
		pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
		pthread_mutex_init(&engine->mutex, &recursive);
		pthread_mutexattr_destroy(&recursive);
	}
	if (path[0] != '\0')
		memory_known = engine;
	engine->handles++;
	*db = engine;
	return 0;
}

static void memory_schema_clear(struct wcs_table_schema *schema)
{
	for (size_t i = 0; i < schema->family_count; i++)
		free(schema->families[i].gc);
	free(schema->families);
	free(schema->keys);
}

static void memory_schema_copy(struct wcs_table_schema *copy, const struct wcs_table_schema *from)
{
	*copy = *from;
	copy->families = memory_cells_realloc(NULL, from->family_count * sizeof(*copy->families));
	for (size_t i = 0; i < from->family_count; i++) {
		copy->families[i] = from->families[i];
		copy->families[i].gc = strdup(from->families[i].gc);
	}
	if (from->keys != NULL)
		copy->keys = memcpy(memory_cells_realloc(NULL, sizeof(*copy->keys)), from->keys,
				    sizeof(*copy->keys));
}

static void memory_close(void *db)
{
	struct memory_engine *engine = db;

	if (--engine->handles > 0)
		return;
	if (memory_known == engine)
		memory_known = NULL;
	memory_cells_clear(&engine->cells);
	for (size_t i = 0; i < MEMORY_NOTES; i++)
		free(engine->notes[i].bytes);
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
	size_t i = 0;

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
	if (schema != NULL)
		memory_schema_copy(&engine->tables[i].schema, schema);
	else
		engine->tables[i] = engine->tables[--engine->table_count];
	pthread_mutex_unlock(&engine->mutex);
	return 0;
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

/* ---- Collecting -------------------------------------------------------------------------- */

/* Does the view hide the i-th cell? Its rank is counted again for each. */
static bool memory_hides(const struct memory_cells *cells, size_t i, const struct wcs_view *view)
{
	const struct memory_cell *cell = cells->all[i];
	char family[WCS_FAMILY_NAME_MAX + 1] = "";
	uint64_t rank = 1;

	memcpy(family, cell->family.data, cell->family.len);
	for (size_t newer = i; newer-- > 0 && memory_cells_in(cells->all[newer], cell->table,
							      cell->row, family, cell->qualifier);)
		rank++;
	return wcs_view_hides(view, wcs_view_expiry(wcs_view_gc(view, family), rank, cell->ts));
}

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
		if (!memory_hides(&engine->cells, i, view))
			continue;
		slice->collected++;
		slice->bytes += cell->value.len;
		memory_cells_remove(&engine->cells, i);
	}
	pthread_mutex_unlock(&engine->mutex);
	slice->done = true;
	return 0;
}

static int memory_note_put(void *db, uint16_t number, const unsigned char *bytes, size_t len)
{
	struct memory_engine *engine = db;
	struct memory_note *note = &engine->notes[number];

	pthread_mutex_lock(&engine->mutex);
	note->bytes = memory_cells_realloc(note->bytes, len);
	memcpy(note->bytes, bytes, len);
	note->len = len;
	pthread_mutex_unlock(&engine->mutex);
	return 0;
}

static int memory_note_get(void *db, uint16_t number, unsigned char **bytes, size_t *len)
{
	struct memory_engine *engine = db;
	const struct memory_note *note = &engine->notes[number];
	int rc = -ENOENT;

	pthread_mutex_lock(&engine->mutex);
	if (note->bytes != NULL) {
		*len = note->len;
		*bytes = memory_cells_realloc(NULL, *len);
		memcpy(*bytes, note->bytes, *len);
		rc = 0;
	}
	pthread_mutex_unlock(&engine->mutex);
	return rc;
}

static void memory_shrink(void *db)
{
	(void)db;
}

static const struct wcs_local memory_local = {
	.sync = memory_sync,
	.failed = memory_never,
	.gone = memory_never,
	.stats = memory_stats,
	.text = memory_describe,
	.collect = memory_collect,
	.busy = memory_never,
	.shrink = memory_shrink,
	.note_put = memory_note_put,
	.note_get = memory_note_get,
};

const struct wcs_backend wcs_backend_memory = {
	.name = "memory",
	.can = {.reverse = true},
	.open = memory_open,
	.close = memory_close,
	.tables_load = memory_tables_load,
	.table_put = memory_table_put,
	.scan_open = memory_scan_open,
	.rows_open = memory_rows_open,
	.rows_find = memory_rows_find,
	.rows_read = memory_rows_read,
	.rows_purge = memory_rows_purge,
	.rows_apply = memory_rows_apply,
	.rows_close = memory_rows_close,
	.local = &memory_local,
};
