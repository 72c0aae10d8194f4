/* SPDX-License-Identifier: MIT */
/* The files that a crash, a power cut and a failed write leave, and the result of opening them. */
#include "tests/unit/engine.h"

#include <signal.h>
#include <sys/stat.h>

/* ---- After a crash ----------------------------------------------------------------------- */

ENGINE_TEST(test_intent_of_a_crash, 60)
{
	char *value = suite_pattern(3 * MIB, 1);
	struct wcs_slice part = {value, 3 * MIB};
	struct wcs_content content = {.parts = &part, .part_count = 1, .size = 3 * MIB};
	uint64_t id;

	SUITE_OK(ldb_extent_reserve(engine->db, &id));
	SUITE_OK(ldb_extent_stream(engine->db, id, &content));
	/* Chunks of an unfinished value stay while other chunks are deleted. */
	SUITE_OK(engine_set(engine, "r", 1, 200000, 1));
	SUITE_OK(engine_delete(engine, "r"));
	while (engine_count(engine->db, 'g') > 1)
		suite_sleep(10);
	ck_assert_int_eq(engine_count(engine->db, 'g'), 1);
	ck_assert_int_eq(engine_count(engine->db, 'v'), 48);
	engine_reopen(engine);
	engine_expect_chunks(engine->db, 0);
	free(value);
}

static void many_rows(struct engine *engine, int count)
{
	for (int i = 0; i < count; i++) {
		char row[16];

		snprintf(row, sizeof(row), "r%05d", i);
		SUITE_OK(engine_set(engine, row, 1, i % 1000 == 0 ? 70000 : 5, 1));
	}
}

/* The next open continues a drop where it stopped: rows before that place stay, rows behind it
 * go. */
ENGINE_TEST(test_drop_of_a_crash, 120)
{
	struct ldb_drop drop = {1, {SUITE_BYTES("r01000"), SUITE_BYTES("r04500")}, false};
	unsigned char record[LDB_DROP_MAX];
	struct ldb_id_key key;

	many_rows(engine, 5000);
	key = ldb_key_drop(7);
	engine_put_raw(engine, key.data, key.len, record, ldb_record_drop(record, &drop));
	engine_reopen(engine);
	ck_assert_int_eq(engine_count(engine->db, 'x'), 0);
	ck_assert_int_eq(engine_count(engine->db, 'c'), 1500);
	engine_expect(engine, "r00999", 5, 1);
	engine_expect(engine, "r04500", 5, 1);
	engine_expect_chunks(engine->db, 2);
}

ENGINE_TEST(test_drop_leaves_nothing, 120)
{

	many_rows(engine, 9500);
	SUITE_OK(wcs_backend_leveldb.drop(engine->db, 1, &suite_all, 1));
	ck_assert_int_eq(engine_count(engine->db, 'c'), 0);
	ck_assert_int_eq(engine_count(engine->db, 'x'), 0);
	engine_expect_chunks(engine->db, 0);
}

/* ---- After a power cut ------------------------------------------------------------------ */

static off_t synced; /* bytes of the file that was synced last */

/* LevelDB's calls come here, too. */
int fdatasync(int fd)
{
	struct stat st;

	if (fstat(fd, &st) == 0)
		synced = st.st_size;
	return fsync(fd);
}

static off_t log_size(struct engine *engine)
{
	char name[64], path[400];
	struct stat st;

	suite_store_file(engine->path, ".log", name);
	snprintf(path, sizeof(path), "%s/%s", engine->path, name);
	SUITE_OK(stat(path, &st));
	return st.st_size;
}

/* A moved chunked value is durable before any later change to it. Without that, a power cut could
 * keep the later change and lose the move: a garbage record for a cell that is back. */
ENGINE_TEST(test_move_of_chunks_is_durable, 60)
{
	struct wcs_move move = {
		.kind = WCS_MOVE_COLUMN, .family = "f", .from = {"q", 1}, .to = {"p", 1}};

	for (int round = 0; round < 2; round++) {
		SUITE_OK(engine_set(engine, "small", 1, 10, 1));
		SUITE_OK(engine_move(engine, "small", &move));
		ck_assert_int_ne(synced, log_size(engine));
		SUITE_OK(engine_set(engine, "large", 1, 70000, 1));
		if (round == 1) /* also a cell of an earlier session */
			engine_reopen(engine);
		SUITE_OK(engine_move(engine, "large", &move));
		ck_assert_int_eq(synced, log_size(engine));
	}
}

/* ---- Failed writes ----------------------------------------------------------------------- */

/* A write that stops within a record. test_store_faults.c has other calls that fail, and all
 * changes that are refused then. */
ENGINE_TEST(test_latch_after_a_failed_write, 60)
{
	struct wcs_table_schema schema = {.name = "t", .delimiter = '#'};
	uint32_t id = 0, one = 1;
	unsigned int good = 0;
	char row[16];
	int rc = 0;

	signal(SIGXFSZ, SIG_IGN);
	suite_limit_files(200000);
	while (rc == 0 && good < 1000) {
		snprintf(row, sizeof(row), "r%05u", good);
		rc = engine_set(engine, row, 1, 1000, good);
		good += rc == 0;
	}
	ck_assert_int_eq(rc, -EIO);
	ck_assert_uint_gt(good, 50);
	ck_assert_int_eq(engine->errors, 1);
	suite_limit_files(UINT64_MAX);
	ck_assert_int_eq(engine_set(engine, "x", 1, 3 * MIB, 1), -EROFS);
	ck_assert_int_eq(wcs_backend_leveldb.table_put(engine->db, &id, &schema), -EROFS);
	ck_assert_uint_eq(id, 0);
	ck_assert_int_eq(wcs_backend_leveldb.table_put(engine->db, &one, NULL), -EROFS);
	ck_assert_int_eq(engine->errors, 1);
	engine_expect(engine, "r00000", 1000, 0);

	/* Acknowledged writes are there, failed ones are not, and writing goes on. */
	engine_reopen(engine);
	for (unsigned int i = 0; i < good; i++) {
		snprintf(row, sizeof(row), "r%05u", i);
		engine_expect(engine, row, 1000, i);
	}
	ck_assert_int_eq(engine_count(engine->db, 'c'), (int)good);
	SUITE_OK(engine_set(engine, "x", 1, 10, 1));
}

/* ---- Opening ----------------------------------------------------------------------------- */

SUITE_TEST(test_create_refuses_what_is_there, 60)
{
	struct wcs_fault fault = {.text = ""};
	struct engine engine;

	engine_open(&engine);
	engine_close(&engine);
	ck_assert_int_lt(wcs_backend_leveldb.local->create(engine.path, &fault), 0);
	ck_assert_str_ne(fault.text, "");
}

SUITE_TEST(test_lost_counter, 60)
{
	leveldb_writebatch_t *batch = leveldb_writebatch_create();
	struct ldb_id_key key;
	struct engine engine;

	engine_open(&engine);
	key = ldb_key_next_value;
	ldb_db_batch_delete(batch, key);
	SUITE_OK(ldb_commit(engine.db, batch, false));
	leveldb_writebatch_destroy(batch);
	engine_close(&engine);
	ck_assert_int_eq(engine_try_open(&engine), -EIO);
}

ENGINE_TEST(test_table_ids, 60)
{
	struct wcs_table_schema schema = {.name = "t", .delimiter = '#'};
	uint32_t first = 0, second = 0, third = 0;

	SUITE_OK(wcs_backend_leveldb.table_put(engine->db, &first, &schema));
	SUITE_OK(wcs_backend_leveldb.table_put(engine->db, &second, &schema));
	SUITE_OK(wcs_backend_leveldb.table_put(engine->db, &second, NULL));
	engine_reopen(engine);
	SUITE_OK(wcs_backend_leveldb.table_put(engine->db, &third, &schema));
	ck_assert_uint_eq(first, 1);
	ck_assert_uint_eq(second, 2);
	ck_assert_uint_eq(third, 3);
}
