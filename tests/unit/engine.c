/* SPDX-License-Identifier: MIT */
/* A LevelDB engine of a test's own. */
#include "tests/unit/engine.h"

#include "store/resolve/resolve.h"

static void engine_log(void *ctx, enum wcs_log_level level, const char *text)
{
	struct engine *engine = ctx;

	engine->errors += level == WCS_LOG_ERROR;
	snprintf(engine->log, sizeof(engine->log), "%s", text);
}

static int64_t engine_now(void *ctx)
{
	(void)ctx;
	return 1000;
}

int engine_try_open(struct engine *engine)
{
	struct wcs_fault fault = {.text = ""};
	void *db;
	int rc = wcs_backend_leveldb.open(engine->path, &engine->options, &db, &fault);

	if (rc == 0)
		engine->db = db;
	else
		ck_assert_str_ne(fault.text, "");
	return rc;
}

void engine_open(struct engine *engine)
{
	memset(engine, 0, sizeof(*engine));
	snprintf(engine->path, sizeof(engine->path), "%s/engine.XXXXXX", suite_directory());
	ck_assert_ptr_nonnull(mkdtemp(engine->path));
	engine->options =
		(struct wcs_options){.log = engine_log, .log_ctx = engine, .now = engine_now};
	SUITE_OK(wcs_backend_leveldb.local->create(engine->path, NULL));
	SUITE_OK(engine_try_open(engine));
}

void engine_close(struct engine *engine)
{
	wcs_backend_leveldb.close(engine->db);
	engine->db = NULL;
}

void engine_reopen(struct engine *engine)
{
	engine_close(engine);
	SUITE_OK(engine_try_open(engine));
}

int engine_count(struct ldb *db, char space)
{
	leveldb_iterator_t *iter = ldb_db_iterate(db);
	int count = 0;

	for (leveldb_iter_seek(iter, &space, 1); leveldb_iter_valid(iter);
	     leveldb_iter_next(iter)) {
		size_t len;

		if (leveldb_iter_key(iter, &len)[0] != space)
			break;
		count++;
	}
	leveldb_iter_destroy(iter);
	return count;
}

void engine_expect_chunks(struct ldb *db, int chunks)
{
	for (int i = 0; i < 60000; i++) { /* ten minutes: the thread is stuck */
		if (engine_count(db, 'v') == chunks && engine_count(db, 'g') == 0)
			return;
		suite_sleep(10);
	}
	ck_abort_msg("%d chunks and %d garbage records, expected %d and none",
		     engine_count(db, 'v'), engine_count(db, 'g'), chunks);
}

struct wcs_table *engine_table(struct engine *engine, struct engine_table *around)
{
	memset(around, 0, sizeof(*around));
	around->store.engine =
		(struct wcs_engine){.backend = &wcs_backend_leveldb, .db = engine->db};
	around->store.options = engine->options;
	around->table.store = &around->store;
	around->table.id = 1;
	around->table.delimiter = '#';
	around->table.handles = 1; /* the caller's: a scan holds the table, too */
	pthread_rwlock_init(&around->table.gate, NULL);
	return &around->table;
}

int engine_apply(struct engine *engine, const char *row, struct wcs_mutation *mutation)
{
	struct wcs_entry entry = {.row = suite_text(row), .mutation = mutation};
	struct engine_table around;
	size_t applied;
	int rc;

	wcs_mutation_seal(mutation);
	rc = resolve_rows(engine_table(engine, &around), &suite_everything, &entry, 1, ROOM_NEW,
			  &applied);
	wcs_mutation_free(mutation);
	return rc;
}

int engine_move(struct engine *engine, const char *row, const struct wcs_move *move)
{
	struct engine_table around;
	bool hidden;
	int64_t ts;

	return resolve_move(engine_table(engine, &around), &suite_everything, suite_text(row), move,
			    &ts, &hidden);
}

int engine_set(struct engine *engine, const char *row, int64_t ts, size_t size, unsigned int seed)
{
	struct wcs_mutation *mutation = wcs_mutation_new();
	char *value = suite_pattern(size, seed);
	int rc;

	wcs_mutation_set(mutation, "f", suite_text("q"), ts, (struct wcs_slice){value, size});
	rc = engine_apply(engine, row, mutation);
	free(value);
	return rc;
}

int engine_delete(struct engine *engine, const char *row)
{
	struct wcs_mutation *mutation = wcs_mutation_new();

	wcs_mutation_delete_row(mutation);
	return engine_apply(engine, row, mutation);
}

int engine_value_open(struct engine *engine, const char *row, struct wcs_value **value)
{
	struct wcs_cell_info info;

	return wcs_backend_leveldb.cell_open(
		engine->db, &suite_everything,
		&(struct wcs_address){1, suite_text(row), "f", suite_text("q"), WCS_TS_NEWEST},
		&info, value);
}

void engine_expect_value(struct wcs_value *value, size_t size, unsigned int seed)
{
	char *expected = suite_pattern(size, seed);
	char *bytes = malloc(size + 1);
	size_t got;

	ck_assert_uint_eq(value->info.size, size);
	SUITE_OK(value->ops->read(value, bytes, size + 1, 0, &got));
	ck_assert_uint_eq(got, size);
	ck_assert_mem_eq(bytes, expected, size);
	free(bytes);
	free(expected);
}

void engine_expect(struct engine *engine, const char *row, size_t size, unsigned int seed)
{
	struct wcs_value *value;

	SUITE_OK(engine_value_open(engine, row, &value));
	engine_expect_value(value, size, seed);
	value->ops->close(value);
}

void engine_put_raw(struct engine *engine, const void *key, size_t key_len, const void *value,
		    size_t len)
{
	leveldb_writebatch_t *batch = leveldb_writebatch_create();

	leveldb_writebatch_put(batch, key, key_len, value, len);
	SUITE_OK(ldb_commit(engine->db, batch, false));
	leveldb_writebatch_destroy(batch);
}
