/* SPDX-License-Identifier: MIT */
/* Shared by the tests of the LevelDB engine: an engine without a store around it, and functions
 * that look below its interface at its keys. */
#ifndef TEST_ENGINE_H
#define TEST_ENGINE_H

#include "tests/unit/suite.h"

#include "store/leveldb/compaction/compaction.h"
#include "store/leveldb/extent.h"
#include "store/table/table.h"

#define MIB (1u << 20)

struct engine {
	char path[256];
	struct wcs_options options;
	struct ldb *db;
	int errors; /* lines logged as such */
	char log[512];
};

/* A test, as SUITE_TEST, whose argument is an engine that engine_open made. */
#define ENGINE_TEST(name, seconds)                                                                 \
	static void name(struct engine *engine);                                                   \
	SUITE_REGISTER(name, name##_run, 1, seconds)                                               \
	static void name##_run(int _i __attribute__((unused)))                                     \
	{                                                                                          \
		struct engine engine;                                                              \
		engine_open(&engine);                                                              \
		name(&engine);                                                                     \
		engine_close(&engine);                                                             \
	}                                                                                          \
	static void name(struct engine *engine)

/* Opens the database at engine->path; returns the backend's error. */
int engine_try_open(struct engine *engine);
/* A new engine, in a directory of its own. Its clock stands at 1,000. */
void engine_open(struct engine *engine);
void engine_close(struct engine *engine);
void engine_reopen(struct engine *engine);
/* How many keys of a key space there are. */
int engine_count(struct ldb *db, char space);
/* Waits until the thread has left this many chunks, and no garbage records. */
void engine_expect_chunks(struct ldb *db, int chunks);
/* Table 1, without a store around its engine. */
struct engine_table {
	struct wcs_store store;
	struct wcs_table table;
};
struct wcs_table *engine_table(struct engine *engine, struct engine_table *around);
/* Seals and frees the mutation of table 1; returns the backend's error. */
int engine_apply(struct engine *engine, const char *row, struct wcs_mutation *mutation);
/* Moves cells of a row of that table. */
int engine_move(struct engine *engine, const char *row, const struct wcs_move *move);
/* The cell f/q of the row: the pattern of this size and seed. */
int engine_set(struct engine *engine, const char *row, int64_t ts, size_t size, unsigned int seed);
int engine_delete(struct engine *engine, const char *row);
/* The newest cell of f/q. */
int engine_value_open(struct engine *engine, const char *row, struct wcs_value **value);
/* That cell is this pattern. */
void engine_expect(struct engine *engine, const char *row, size_t size, unsigned int seed);
/* A key and value of LevelDB's, past the engine. */
void engine_put_raw(struct engine *engine, const void *key, size_t key_len, const void *value,
		    size_t len);
/* The whole value is the pattern of this size and seed. */
void engine_expect_value(struct wcs_value *value, size_t size, unsigned int seed);

#endif
