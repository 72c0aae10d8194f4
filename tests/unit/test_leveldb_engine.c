/* SPDX-License-Identifier: MIT */
/*
 * What only the LevelDB engine has: chunks and their garbage, what a crash leaves behind, the
 * latch after a failed write, damaged data. Looks below the store's interface where it must; what
 * both engines do alike is in the other suites.
 */
#include "suite.h"

#include "leveldb/chunk.h"
#include "leveldb/engine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MIB (1u << 20)

struct engine {
	char path[256];
	struct wcs_options options;
	struct ldb *db;
	int errors; /* lines logged as such */
	char log[512];
};

/* ---- Helpers ----------------------------------------------------------------------------- */

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

static int engine_try_open(struct engine *engine)
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

static void engine_open(struct engine *engine)
{
	memset(engine, 0, sizeof(*engine));
	snprintf(engine->path, sizeof(engine->path), "%s/engine.XXXXXX", suite_directory());
	ck_assert_ptr_nonnull(mkdtemp(engine->path));
	engine->options =
		(struct wcs_options){.log = engine_log, .log_ctx = engine, .now = engine_now};
	ck_assert_int_eq(wcs_backend_leveldb.create(engine->path, NULL), 0);
	ck_assert_int_eq(engine_try_open(engine), 0);
}

static void engine_close(struct engine *engine)
{
	wcs_backend_leveldb.close(engine->db);
	engine->db = NULL;
}

static void engine_reopen(struct engine *engine)
{
	engine_close(engine);
	ck_assert_int_eq(engine_try_open(engine), 0);
}

/* How many keys of a key space there are. */
static int engine_count(struct engine *engine, char space)
{
	leveldb_iterator_t *iter = ldb_db_iterate(engine->db);
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

static void sleep_ms(long ms)
{
	struct timespec time = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

/* Waits until the thread has left this many chunks, and no garbage records. */
static void engine_expect_chunks(struct engine *engine, int chunks)
{
	for (int i = 0; i < 1000; i++) {
		if (engine_count(engine, 'v') == chunks && engine_count(engine, 'g') == 0)
			return;
		sleep_ms(10);
	}
	ck_abort_msg("%d chunks and %d garbage records, expected %d and none",
		     engine_count(engine, 'v'), engine_count(engine, 'g'), chunks);
}

static int engine_apply(struct engine *engine, const char *row, struct wcs_mutation *mutation)
{
	int64_t ts;
	int rc;

	wcs_mutation_seal(mutation);
	rc = wcs_backend_leveldb.mutate(engine->db, 1, suite_text(row), mutation, &ts);
	wcs_mutation_free(mutation);
	return rc;
}

static int engine_set(struct engine *engine, const char *row, int64_t ts, size_t size,
		      unsigned int seed)
{
	struct wcs_mutation *mutation = wcs_mutation_new();
	char *value = suite_pattern(size, seed);
	int rc;

	wcs_mutation_set(mutation, "f", suite_text("q"), ts, (struct wcs_slice){value, size});
	rc = engine_apply(engine, row, mutation);
	free(value);
	return rc;
}

static int engine_delete(struct engine *engine, const char *row)
{
	struct wcs_mutation *mutation = wcs_mutation_new();

	wcs_mutation_delete_row(mutation);
	return engine_apply(engine, row, mutation);
}

static int engine_value_open(struct engine *engine, const char *row, struct wcs_value **value)
{
	return wcs_backend_leveldb.value_open(engine->db, 1, suite_text(row), "f", suite_text("q"),
					      WCS_TS_NEWEST, value);
}

/* The whole value is the pattern of this size and seed. */
static void expect_value(struct wcs_value *value, size_t size, unsigned int seed)
{
	char *expected = suite_pattern(size, seed);
	char *bytes = malloc(size + 1);
	size_t got;

	ck_assert_uint_eq(value->info.size, size);
	ck_assert_int_eq(wcs_backend_leveldb.value_read(value, bytes, size + 1, 0, &got), 0);
	ck_assert_uint_eq(got, size);
	ck_assert_mem_eq(bytes, expected, size);
	free(bytes);
	free(expected);
}

static void engine_expect(struct engine *engine, const char *row, size_t size, unsigned int seed)
{
	struct wcs_value *value;

	ck_assert_int_eq(engine_value_open(engine, row, &value), 0);
	expect_value(value, size, seed);
	wcs_backend_leveldb.value_close(value);
}

static void engine_put_raw(struct engine *engine, const void *key, size_t key_len,
			   const void *value, size_t len)
{
	leveldb_writebatch_t *batch = leveldb_writebatch_create();

	leveldb_writebatch_put(batch, key, key_len, value, len);
	ck_assert_int_eq(ldb_db_write(engine->db, batch, false), 0);
	leveldb_writebatch_destroy(batch);
}

/* ---- Chunks and their garbage ------------------------------------------------------------ */

START_TEST(test_replace_frees_chunks)
{
	struct engine engine;

	engine_open(&engine);
	ck_assert_int_eq(engine_set(&engine, "r", 1, 200000, 1), 0);
	ck_assert_int_eq(engine_count(&engine, 'v'), 4);
	ck_assert_int_eq(engine_set(&engine, "r", 1, 70000, 2), 0);
	engine_expect_chunks(&engine, 2);
	engine_expect(&engine, "r", 70000, 2);
	ck_assert_int_eq(engine_set(&engine, "r", 1, 10, 3), 0);
	engine_expect_chunks(&engine, 0);
	engine_close(&engine);
}
END_TEST

/* Values around every bound where their storage changes. */
START_TEST(test_sizes)
{
	static const size_t sizes[] = {0,     1,       4095,	    4096,	 4097,
				       65535, 65536,   65537,	    131072,	 MIB - 1,
				       MIB,   MIB + 1, 3 * MIB / 2, 3 * MIB - 1, 5 * MIB + 7};
	struct engine engine;

	engine_open(&engine);
	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		ck_assert_int_eq(engine_set(&engine, "r", 1, sizes[i], i), 0);
		engine_expect(&engine, "r", sizes[i], i);
	}
	engine_reopen(&engine);
	engine_expect(&engine, "r", 5 * MIB + 7, 14);
	ck_assert_int_eq(engine_delete(&engine, "r"), 0);
	engine_expect_chunks(&engine, 0);
	engine_close(&engine);
}
END_TEST

START_TEST(test_open_value_keeps_its_chunks)
{
	struct wcs_value *value;
	struct engine engine;

	engine_open(&engine);
	ck_assert_int_eq(engine_set(&engine, "r", 1, 3 * MIB, 1), 0);
	ck_assert_int_eq(engine_value_open(&engine, "r", &value), 0);
	ck_assert_int_eq(engine_delete(&engine, "r"), 0);
	sleep_ms(300);
	expect_value(value, 3 * MIB, 1);
	ck_assert_int_eq(engine_count(&engine, 'v'), 48);
	wcs_backend_leveldb.value_close(value);
	engine_expect_chunks(&engine, 0);
	engine_close(&engine);
}
END_TEST

START_TEST(test_scan_keeps_chunks)
{
	struct wcs_range range = {{NULL, 0}, {NULL, 0}};
	struct wcs_filter filter = {0};
	char *expected = suite_pattern(200000, 1);
	char *bytes = malloc(200000);
	struct engine engine;
	struct wcs_scan *scan;
	struct wcs_cell cell;
	size_t got;

	engine_open(&engine);
	ck_assert_int_eq(engine_set(&engine, "r", 1, 200000, 1), 0);
	ck_assert_int_eq(wcs_backend_leveldb.scan_open(engine.db, 1, &range, &filter, &scan), 0);
	ck_assert_int_eq(engine_delete(&engine, "r"), 0);
	sleep_ms(300);
	ck_assert_int_eq(wcs_backend_leveldb.scan_next(scan, &cell), 1);
	ck_assert_int_eq(wcs_backend_leveldb.scan_read(scan, bytes, 200000, 0, &got), 0);
	ck_assert_uint_eq(got, 200000);
	ck_assert_mem_eq(bytes, expected, got);
	ck_assert_int_eq(wcs_backend_leveldb.scan_next(scan, &cell), 0);
	wcs_backend_leveldb.scan_close(scan);
	engine_expect_chunks(&engine, 0);
	engine_close(&engine);
	free(bytes);
	free(expected);
}
END_TEST

/* An open value keeps its own chunks and no other's. */
START_TEST(test_open_value_keeps_only_its_chunks)
{
	struct wcs_value *first, *second;
	struct engine engine;

	engine_open(&engine);
	ck_assert_int_eq(engine_set(&engine, "a", 1, 100000, 1), 0);
	ck_assert_int_eq(engine_value_open(&engine, "a", &first), 0);
	ck_assert_int_eq(engine_value_open(&engine, "a", &second), 0);
	for (unsigned int i = 0; i < 5; i++) {
		ck_assert_int_eq(engine_set(&engine, "b", 1, 300000, i), 0);
		ck_assert_int_eq(engine_delete(&engine, "b"), 0);
		engine_expect_chunks(&engine, 2);
	}
	ck_assert_int_eq(engine_delete(&engine, "a"), 0);
	sleep_ms(300);
	ck_assert_int_eq(engine_count(&engine, 'g'), 1);
	/* the garbage of later values goes though the record before it must wait */
	ck_assert_int_eq(engine_set(&engine, "b", 1, 300000, 9), 0);
	ck_assert_int_eq(engine_delete(&engine, "b"), 0);
	for (int i = 0; i < 1000 && engine_count(&engine, 'v') > 2; i++)
		sleep_ms(10);
	ck_assert_int_eq(engine_count(&engine, 'v'), 2);
	wcs_backend_leveldb.value_close(first);
	sleep_ms(300);
	expect_value(second, 100000, 1);
	wcs_backend_leveldb.value_close(second);
	engine_expect_chunks(&engine, 0);
	engine_close(&engine);
}
END_TEST

/* A record or key of garbage that cannot be understood is told and stops no other. */
START_TEST(test_bad_garbage_record_stops_no_other)
{
	struct ldb_id_key key;
	struct engine engine;

	engine_open(&engine);
	ldb_key_garbage(&key, 0);
	engine_put_raw(&engine, key.data, key.len, "\7what", 5);
	engine_put_raw(&engine, "g\0\0x", 4, "", 0);
	for (unsigned int i = 0; i < 3; i++) {
		ck_assert_int_eq(engine_set(&engine, "r", 1, 200000, i), 0);
		ck_assert_int_eq(engine_delete(&engine, "r"), 0);
		for (int k = 0; k < 1000 && engine_count(&engine, 'v') > 0; k++)
			sleep_ms(10);
		ck_assert_int_eq(engine_count(&engine, 'v'), 0);
	}
	ck_assert_int_eq(engine_count(&engine, 'g'), 2);
	ck_assert_int_eq(engine.errors, 1);
	engine_close(&engine);
}
END_TEST

/* A reader that came after the garbage does not hold it up. */
START_TEST(test_later_reader_does_not_wait)
{
	struct wcs_value *first, *second;
	struct engine engine;

	engine_open(&engine);
	ck_assert_int_eq(engine_set(&engine, "a", 1, 100000, 1), 0);
	ck_assert_int_eq(engine_set(&engine, "b", 1, 100000, 2), 0);
	ck_assert_int_eq(engine_value_open(&engine, "a", &first), 0);
	ck_assert_int_eq(engine_delete(&engine, "a"), 0);
	sleep_ms(200);
	ck_assert_int_eq(engine_value_open(&engine, "b", &second), 0);
	wcs_backend_leveldb.value_close(first);
	engine_expect_chunks(&engine, 2);
	expect_value(second, 100000, 2);
	wcs_backend_leveldb.value_close(second);
	engine_close(&engine);
}
END_TEST

START_TEST(test_close_does_not_wait_for_readers)
{
	struct ldb_ticket ticket;
	struct engine engine;

	engine_open(&engine);
	ldb_reclaim_enter(engine.db, &ticket);
	ck_assert_int_eq(engine_set(&engine, "r", 1, 200000, 1), 0);
	ck_assert_int_eq(engine_delete(&engine, "r"), 0);
	sleep_ms(200);
	engine_reopen(&engine);
	engine_expect_chunks(&engine, 0);
	engine_close(&engine);
}
END_TEST

/* Two writes of one cell in one mutation: the first one's chunks belong to nobody. */
START_TEST(test_replaced_within_a_mutation)
{
	static const size_t sizes[] = {100000, 2 * MIB};
	struct engine engine;

	engine_open(&engine);
	for (size_t i = 0; i < 2; i++) {
		struct wcs_mutation *mutation = wcs_mutation_new();
		char *value = suite_pattern(sizes[i], 1);
		struct wcs_slice bytes = {value, sizes[i]};

		wcs_mutation_set(mutation, "f", suite_text("q"), 5, bytes);
		wcs_mutation_set(mutation, "f", suite_text("q"), 5, bytes);
		ck_assert_int_eq(engine_apply(&engine, "r", mutation), 0);
		engine_expect_chunks(&engine, (int)ldb_record_chunks(sizes[i]));
		engine_expect(&engine, "r", sizes[i], 1);
		free(value);
	}
	engine_close(&engine);
}
END_TEST

START_TEST(test_failed_mutation_leaves_nothing)
{
	struct wcs_mutation *mutation = wcs_mutation_new();
	char *value = suite_pattern(3 * MIB, 1);
	struct wcs_slice bytes = {value, 3 * MIB};
	struct engine engine;

	engine_open(&engine);
	wcs_mutation_if(mutation, "f", suite_text("q"), &bytes);
	wcs_mutation_set(mutation, "f", suite_text("q"), 5, bytes);
	wcs_mutation_set(mutation, "f", suite_text("r"), 5, (struct wcs_slice){value, 5000});
	ck_assert_int_eq(engine_apply(&engine, "r", mutation), -ECANCELED);
	engine_expect_chunks(&engine, 0);

	mutation = wcs_mutation_new();
	wcs_mutation_append(mutation, "f", suite_text("q"), bytes, WCS_TS_NONE);
	wcs_mutation_increment(mutation, "f", suite_text("q"), 1);
	ck_assert_int_eq(engine_apply(&engine, "r", mutation), -EINVAL);
	engine_expect_chunks(&engine, 0);
	ck_assert_int_eq(engine_count(&engine, 'c'), 0);
	engine_close(&engine);
	free(value);
}
END_TEST

START_TEST(test_append_grows_into_chunks)
{
	struct engine engine;
	size_t size = 0;
	char *value = suite_pattern(3 * MIB, 9);

	engine_open(&engine);
	for (size_t step = 1000; size + step <= 3 * MIB; step *= 2) {
		struct wcs_mutation *mutation = wcs_mutation_new();

		wcs_mutation_append(mutation, "f", suite_text("q"),
				    (struct wcs_slice){value + size, step / 2}, WCS_TS_NONE);
		wcs_mutation_append(mutation, "f", suite_text("q"),
				    (struct wcs_slice){value + size + step / 2, step - step / 2},
				    WCS_TS_NONE);
		ck_assert_int_eq(engine_apply(&engine, "r", mutation), 0);
		size += step;
		engine_expect(&engine, "r", size, 9);
	}
	ck_assert_uint_gt(size, MIB);
	ck_assert_int_eq(engine_delete(&engine, "r"), 0);
	engine_expect_chunks(&engine, 0);
	engine_close(&engine);
	free(value);
}
END_TEST

START_TEST(test_ids_are_not_used_again)
{
	struct engine engine;
	uint64_t first, second;

	engine_open(&engine);
	ck_assert_int_eq(ldb_chunk_reserve(engine.db, &first), 0);
	engine_reopen(&engine);
	ck_assert_int_eq(ldb_chunk_reserve(engine.db, &second), 0);
	ck_assert_uint_gt(second, first);
	engine_close(&engine);
}
END_TEST

/* ---- What a crash leaves ----------------------------------------------------------------- */

START_TEST(test_intent_of_a_crash)
{
	char *value = suite_pattern(3 * MIB, 1);
	struct ldb_source source;
	struct engine engine;
	uint64_t id;

	engine_open(&engine);
	ldb_source_init(&source);
	ck_assert_int_eq(ldb_source_add(&source, (struct wcs_slice){value, 3 * MIB}), 0);
	ck_assert_int_eq(ldb_chunk_reserve(engine.db, &id), 0);
	ck_assert_int_eq(ldb_chunk_stream(engine.db, id, &source), 0);
	ldb_source_free(&source);
	/* While it is under way nothing of it goes, whatever else does. */
	ck_assert_int_eq(engine_set(&engine, "r", 1, 200000, 1), 0);
	ck_assert_int_eq(engine_delete(&engine, "r"), 0);
	for (int i = 0; i < 500 && engine_count(&engine, 'g') > 1; i++)
		sleep_ms(10);
	ck_assert_int_eq(engine_count(&engine, 'g'), 1);
	ck_assert_int_eq(engine_count(&engine, 'v'), 48);
	engine_reopen(&engine);
	engine_expect_chunks(&engine, 0);
	engine_close(&engine);
	free(value);
}
END_TEST

static void many_rows(struct engine *engine, int count)
{
	for (int i = 0; i < count; i++) {
		char row[16];

		snprintf(row, sizeof(row), "r%05d", i);
		ck_assert_int_eq(engine_set(engine, row, 1, i % 1000 == 0 ? 70000 : 5, 1), 0);
	}
}

/* The next open finishes a drop where it stood: what lies before stays, what lies behind goes. */
START_TEST(test_drop_of_a_crash)
{
	struct ldb_drop drop = {1, {SUITE_BYTES("r01000"), SUITE_BYTES("r04500")}};
	unsigned char record[LDB_DROP_MAX];
	struct ldb_id_key key;
	struct engine engine;

	engine_open(&engine);
	many_rows(&engine, 5000);
	ldb_key_drop(&key, 7);
	engine_put_raw(&engine, key.data, key.len, record, ldb_record_drop(record, &drop));
	engine_reopen(&engine);
	ck_assert_int_eq(engine_count(&engine, 'x'), 0);
	ck_assert_int_eq(engine_count(&engine, 'c'), 1500);
	engine_expect(&engine, "r00999", 5, 1);
	engine_expect(&engine, "r04500", 5, 1);
	engine_expect_chunks(&engine, 2);
	engine_close(&engine);
}
END_TEST

START_TEST(test_drop_leaves_nothing)
{
	struct wcs_range all = {{NULL, 0}, {NULL, 0}};
	struct engine engine;

	engine_open(&engine);
	many_rows(&engine, 3500);
	ck_assert_int_eq(wcs_backend_leveldb.drop(engine.db, 1, &all), 0);
	ck_assert_int_eq(engine_count(&engine, 'c'), 0);
	ck_assert_int_eq(engine_count(&engine, 'x'), 0);
	engine_expect_chunks(&engine, 0);
	engine_close(&engine);
}
END_TEST

/* Writes rows of two cells that must agree, large and small, until it is killed. */
static void crash_writer(struct engine *engine)
{
	for (unsigned int i = 0;; i++) {
		static const size_t sizes[] = {10, 5000, 300000, 2 * MIB};
		struct wcs_mutation *mutation = wcs_mutation_new();
		size_t size = sizes[i % 4];
		char *value = suite_pattern(size, i % 7);
		char row[16];

		snprintf(row, sizeof(row), "r%u", i % 5);
		wcs_mutation_set(mutation, "f", suite_text("q"), 1,
				 (struct wcs_slice){value, size});
		wcs_mutation_set(mutation, "f", suite_text("seed"), 1,
				 (struct wcs_slice){&i, sizeof(i)});
		engine_apply(engine, row, mutation);
		free(value);
	}
}

static void crash_once(struct engine *engine, long ms)
{
	pid_t child = fork();

	ck_assert_int_ge(child, 0);
	if (child == 0) {
		if (engine_try_open(engine) == 0)
			crash_writer(engine);
		_exit(1);
	}
	sleep_ms(ms);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static int crash_check_row(struct engine *engine, const char *row)
{
	static const size_t sizes[] = {10, 5000, 300000, 2 * MIB};
	struct wcs_value *value;
	unsigned int i;
	size_t got;

	if (wcs_backend_leveldb.value_open(engine->db, 1, suite_text(row), "f", suite_text("seed"),
					   1, &value))
		return 0;
	ck_assert_int_eq(wcs_backend_leveldb.value_read(value, &i, sizeof(i), 0, &got), 0);
	wcs_backend_leveldb.value_close(value);
	engine_expect(engine, row, sizes[i % 4], i % 7);
	return sizes[i % 4] > WCS_VALUE_INLINE ? (int)ldb_record_chunks(sizes[i % 4]) : 0;
}

START_TEST(test_killed_while_writing)
{
	struct engine engine;
	int rows = 0;

	engine_open(&engine);
	engine_close(&engine);
	for (long round = 0; round < 12; round++) {
		int chunks = 0;

		crash_once(&engine, 60 + 23 * round);
		ck_assert_int_eq(engine_try_open(&engine), 0);
		for (int i = 0; i < 5; i++) {
			char row[16];

			snprintf(row, sizeof(row), "r%d", i);
			chunks += crash_check_row(&engine, row);
		}
		rows += engine_count(&engine, 'c');
		engine_expect_chunks(&engine, chunks);
		engine_close(&engine);
	}
	ck_assert_int_gt(rows, 0);
}
END_TEST

/* ---- What a power cut may take ---------------------------------------------------------- */

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
	struct dirent **entries;
	char data[300];
	struct stat st;
	off_t size = 0;
	int count;

	snprintf(data, sizeof(data), "%s/data", engine->path);
	count = scandir(data, &entries, NULL, alphasort);
	for (int i = 0; i < count; i++) {
		size_t len = strlen(entries[i]->d_name);
		char path[600];

		snprintf(path, sizeof(path), "%s/%s", data, entries[i]->d_name);
		if (len > 4 && strcmp(entries[i]->d_name + len - 4, ".log") == 0 &&
		    stat(path, &st) == 0)
			size = st.st_size;
		free(entries[i]);
	}
	free(entries);
	return size;
}

/* A moved chunked value is durable before anything else can be done to it: a power cut that kept
 * what followed and lost the move would leave garbage on record for a cell that is back. */
START_TEST(test_move_of_chunks_is_durable)
{
	struct wcs_move move = {
		.kind = WCS_MOVE_COLUMN, .family = "f", .from = {"q", 1}, .to = {"p", 1}};
	struct engine engine;
	int64_t ts;

	engine_open(&engine);
	for (int round = 0; round < 2; round++) {
		ck_assert_int_eq(engine_set(&engine, "small", 1, 10, 1), 0);
		ck_assert_int_eq(
			wcs_backend_leveldb.move(engine.db, 1, suite_text("small"), &move, &ts), 0);
		ck_assert_int_ne(synced, log_size(&engine));
		ck_assert_int_eq(engine_set(&engine, "large", 1, 70000, 1), 0);
		if (round == 1) /* also what an earlier session made */
			engine_reopen(&engine);
		ck_assert_int_eq(
			wcs_backend_leveldb.move(engine.db, 1, suite_text("large"), &move, &ts), 0);
		ck_assert_int_eq(synced, log_size(&engine));
	}
	engine_close(&engine);
}
END_TEST

/* ---- Failed writes ----------------------------------------------------------------------- */

static void limit_files(rlim_t bytes)
{
	struct rlimit limit = {bytes, RLIM_INFINITY};

	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

START_TEST(test_latch_after_a_failed_write)
{
	struct wcs_range all = {{NULL, 0}, {NULL, 0}};
	struct wcs_table_schema schema = {.name = "t", .delimiter = '#'};
	struct engine engine;
	uint32_t id = 0;
	unsigned int good = 0;
	char row[16];
	int rc = 0;

	signal(SIGXFSZ, SIG_IGN);
	engine_open(&engine);
	limit_files(200000);
	while (rc == 0 && good < 1000) {
		snprintf(row, sizeof(row), "r%05u", good);
		rc = engine_set(&engine, row, 1, 1000, good);
		good += rc == 0;
	}
	ck_assert_int_eq(rc, -EIO);
	ck_assert_uint_gt(good, 50);
	ck_assert_int_eq(engine.errors, 1);
	limit_files(RLIM_INFINITY);
	ck_assert_int_eq(engine_set(&engine, "x", 1, 10, 1), -EROFS);
	ck_assert_int_eq(engine_set(&engine, "x", 1, 3 * MIB, 1), -EROFS);
	ck_assert_int_eq(engine_delete(&engine, "r00000"), -EROFS);
	ck_assert_int_eq(wcs_backend_leveldb.drop(engine.db, 1, &all), -EROFS);
	ck_assert_int_eq(wcs_backend_leveldb.sync(engine.db), -EROFS);
	ck_assert_int_eq(wcs_backend_leveldb.table_put(engine.db, &id, &schema), -EROFS);
	ck_assert_uint_eq(id, 0);
	ck_assert_int_eq(wcs_backend_leveldb.table_remove(engine.db, 1), -EROFS);
	ck_assert_int_eq(engine.errors, 1);
	engine_expect(&engine, "r00000", 1000, 0);

	/* What was acknowledged is there, what failed is not, and writing goes on. */
	engine_reopen(&engine);
	for (unsigned int i = 0; i < good; i++) {
		snprintf(row, sizeof(row), "r%05u", i);
		engine_expect(&engine, row, 1000, i);
	}
	ck_assert_int_eq(engine_count(&engine, 'c'), (int)good);
	ck_assert_int_eq(engine_set(&engine, "x", 1, 10, 1), 0);
	engine_close(&engine);
}
END_TEST

/* ---- Opening ----------------------------------------------------------------------------- */

START_TEST(test_in_use)
{
	struct engine engine, second;

	engine_open(&engine);
	second = engine;
	ck_assert_int_eq(engine_try_open(&second), -EBUSY);
	engine_close(&engine);
}
END_TEST

START_TEST(test_create_refuses_what_is_there)
{
	struct wcs_fault fault = {.text = ""};
	struct engine engine;

	engine_open(&engine);
	engine_close(&engine);
	ck_assert_int_lt(wcs_backend_leveldb.create(engine.path, &fault), 0);
	ck_assert_str_ne(fault.text, "");
}
END_TEST

START_TEST(test_open_makes_nothing)
{
	struct engine engine;
	struct stat st;
	char data[300];

	engine_open(&engine);
	engine_close(&engine);
	snprintf(data, sizeof(data), "%s/data", engine.path);
	snprintf(engine.path + strlen(engine.path), 8, "/none");
	ck_assert_int_lt(engine_try_open(&engine), 0);
	ck_assert_int_ne(stat(engine.path, &st), 0);
	ck_assert_int_eq(stat(data, &st), 0);
}
END_TEST

START_TEST(test_lost_counter)
{
	leveldb_writebatch_t *batch = leveldb_writebatch_create();
	struct ldb_id_key key;
	struct engine engine;

	engine_open(&engine);
	ldb_key_next_value(&key);
	ldb_db_batch_delete(batch, &key);
	ck_assert_int_eq(ldb_db_write(engine.db, batch, false), 0);
	leveldb_writebatch_destroy(batch);
	engine_close(&engine);
	ck_assert_int_eq(engine_try_open(&engine), -EIO);
}
END_TEST

START_TEST(test_table_ids)
{
	struct wcs_table_schema schema = {.name = "t", .delimiter = '#'};
	struct engine engine;
	uint32_t first = 0, second = 0, third = 0;

	engine_open(&engine);
	ck_assert_int_eq(wcs_backend_leveldb.table_put(engine.db, &first, &schema), 0);
	ck_assert_int_eq(wcs_backend_leveldb.table_put(engine.db, &second, &schema), 0);
	ck_assert_int_eq(wcs_backend_leveldb.table_remove(engine.db, second), 0);
	engine_reopen(&engine);
	ck_assert_int_eq(wcs_backend_leveldb.table_put(engine.db, &third, &schema), 0);
	ck_assert_uint_eq(first, 1);
	ck_assert_uint_eq(second, 2);
	ck_assert_uint_eq(third, 3);
	engine_close(&engine);
}
END_TEST

/* ---- Damage ------------------------------------------------------------------------------ */

START_TEST(test_missing_chunk)
{
	leveldb_writebatch_t *batch = leveldb_writebatch_create();
	char *bytes = malloc(200000);
	struct wcs_value *value;
	struct ldb_id_key key;
	struct engine engine;
	size_t got;

	engine_open(&engine);
	ck_assert_int_eq(engine_set(&engine, "r", 1, 200000, 1), 0);
	ldb_key_chunk(&key, 1, 2);
	ldb_db_batch_delete(batch, &key);
	ck_assert_int_eq(ldb_db_write(engine.db, batch, false), 0);
	leveldb_writebatch_destroy(batch);
	ck_assert_int_eq(engine_value_open(&engine, "r", &value), 0);
	ck_assert_int_eq(wcs_backend_leveldb.value_read(value, bytes, 200000, 0, &got), -EIO);
	ck_assert_int_eq(wcs_backend_leveldb.value_read(value, bytes, 100000, 0, &got), 0);
	ck_assert_int_eq(engine.errors, 1);
	wcs_backend_leveldb.value_close(value);
	engine_close(&engine);
	free(bytes);
}
END_TEST

START_TEST(test_damaged_record)
{
	static struct ldb_key key;
	struct wcs_range all = {{NULL, 0}, {NULL, 0}};
	struct wcs_filter filter = {0};
	struct wcs_cell_info info;
	struct engine engine;
	struct wcs_scan *scan;
	struct wcs_cell cell;

	engine_open(&engine);
	ldb_key_row(&key, 1, suite_text("r"));
	ldb_key_family(&key, "f");
	ldb_key_qualifier(&key, suite_text("q"));
	ldb_key_ts(&key, 1);
	engine_put_raw(&engine, key.data, key.len, "\7what", 5);
	for (int64_t ts = WCS_TS_NEWEST; ts <= 1; ts += 2)
		ck_assert_int_eq(wcs_backend_leveldb.cell_get(engine.db, 1, suite_text("r"), "f",
							      suite_text("q"), ts, &info),
				 -EIO);
	ck_assert_int_eq(wcs_backend_leveldb.scan_open(engine.db, 1, &all, &filter, &scan), 0);
	ck_assert_int_eq(wcs_backend_leveldb.scan_next(scan, &cell), -EIO);
	ck_assert_int_eq(wcs_backend_leveldb.scan_next(scan, &cell), -EIO);
	wcs_backend_leveldb.scan_close(scan);
	engine_close(&engine);
}
END_TEST

/* Damages blocks in the first half of each larger table, far from its index. */
static int flip_bytes(const char *path, const struct stat *st, int type, struct FTW *at)
{
	size_t len = strlen(path);
	int fd;

	(void)at;
	if (type != FTW_F || st->st_size < 65536 || strcmp(path + len - 4, ".ldb") != 0)
		return 0;
	fd = open(path, O_RDWR);
	ck_assert_int_ge(fd, 0);
	for (off_t i = 0; i < 8; i++) {
		unsigned char byte;
		off_t place = st->st_size * i / 16 + 10;

		ck_assert_int_eq(pread(fd, &byte, 1, place), 1);
		byte ^= 0x55;
		ck_assert_int_eq(pwrite(fd, &byte, 1, place), 1);
	}
	close(fd);
	return 0;
}

/* Newest cells in a block that cannot be read: an error, never the older cells behind them. */
START_TEST(test_damaged_block)
{
	struct wcs_range all = {{NULL, 0}, {NULL, 0}};
	struct wcs_filter filter = {.each = WCS_EACH_COLUMN};
	struct engine engine;
	struct wcs_scan *scan;
	struct wcs_cell cell;
	int good = 0, bad = 0, rc;

	engine_open(&engine);
	for (int i = 0; i < 60; i++) {
		char row[16];

		snprintf(row, sizeof(row), "r%02d", i);
		for (int64_t ts = 1; ts <= 9; ts++)
			ck_assert_int_eq(engine_set(&engine, row, ts, 1000, (unsigned int)i), 0);
	}
	engine_reopen(&engine); /* the log becomes a table */
	engine_close(&engine);
	nftw(engine.path, flip_bytes, 16, FTW_PHYS);
	ck_assert_int_eq(engine_try_open(&engine), 0);
	for (int i = 0; i < 60; i++) {
		struct wcs_cell_info info;
		char row[16];

		snprintf(row, sizeof(row), "r%02d", i);
		rc = wcs_backend_leveldb.cell_get(engine.db, 1, suite_text(row), "f",
						  suite_text("q"), WCS_TS_NEWEST, &info);
		ck_assert(rc == -EIO || (rc == 0 && info.ts == 9));
		good += rc == 0;
		bad += rc != 0;
	}
	ck_assert_int_gt(good, 0);
	ck_assert_int_gt(bad, 0);
	ck_assert_int_eq(wcs_backend_leveldb.scan_open(engine.db, 1, &all, &filter, &scan), 0);
	while ((rc = wcs_backend_leveldb.scan_next(scan, &cell)) == 1)
		ck_assert_int_eq(cell.info.ts, 9);
	ck_assert_int_eq(rc, -EIO);
	wcs_backend_leveldb.scan_close(scan);
	engine_close(&engine);
}
END_TEST

static int no_table(void *ctx, uint32_t id, const struct wcs_table_schema *schema)
{
	(void)ctx;
	(void)id;
	(void)schema;
	return 0;
}

/* A key of a table that is none is damage, not the end of the tables. */
START_TEST(test_bad_key_of_a_table)
{
	struct wcs_table_schema schema = {.name = "t", .delimiter = '#'};
	struct engine engine;
	uint32_t id = 0;

	engine_open(&engine);
	ck_assert_int_eq(wcs_backend_leveldb.table_put(engine.db, &id, &schema), 0);
	ck_assert_int_eq(wcs_backend_leveldb.tables_load(engine.db, no_table, NULL), 0);
	engine_put_raw(&engine, "mt\0\0\0\0\0", 7, "", 0);
	ck_assert_int_eq(wcs_backend_leveldb.tables_load(engine.db, no_table, NULL), -EIO);
	engine_close(&engine);
}
END_TEST

START_TEST(test_bad_key_of_a_drop)
{
	struct engine engine;

	engine_open(&engine);
	engine_put_raw(&engine, "x\0\0\0\0\0\0\0\0\0", 10, "", 0);
	engine_close(&engine);
	ck_assert_int_eq(engine_try_open(&engine), -EIO);
}
END_TEST

/* Children in a block that cannot be read: an error, never a listing without them. */
START_TEST(test_damaged_block_is_no_gap_in_a_listing)
{
	struct wcs_slice segment;
	struct wcs_list *list;
	struct engine engine;
	int next = 0, rc;

	engine_open(&engine);
	for (int i = 0; i < 600; i++) {
		char row[16];

		snprintf(row, sizeof(row), "r%03d#x", i);
		ck_assert_int_eq(engine_set(&engine, row, 1, 1000, (unsigned int)i), 0);
	}
	engine_reopen(&engine); /* the log becomes a table */
	engine_close(&engine);
	nftw(engine.path, flip_bytes, 16, FTW_PHYS);
	ck_assert_int_eq(engine_try_open(&engine), 0);
	for (int from = 0; from < 600; from += 20) {
		char name[16];
		struct wcs_slice after = {name,
					  (size_t)snprintf(name, sizeof(name), "r%03d", from)};

		next = from + 1;
		ck_assert_int_eq(wcs_backend_leveldb.list_open(engine.db, 1, suite_text(""), '#',
							       &after, &list),
				 0);
		while ((rc = wcs_backend_leveldb.list_next(list, &segment)) == 1) {
			snprintf(name, sizeof(name), "r%03d", next++);
			ck_assert_int_eq(wcs_slice_compare(segment, suite_text(name)), 0);
		}
		wcs_backend_leveldb.list_close(list);
		if (from == 0)
			ck_assert_int_eq(rc, -EIO);
		ck_assert(rc == -EIO || next == 600);
	}
	engine_close(&engine);
}
END_TEST

/* ---- Listing ----------------------------------------------------------------------------- */

static int segment_compare(const void *a, const void *b)
{
	return wcs_slice_compare(*(const struct wcs_slice *)a, *(const struct wcs_slice *)b);
}

/* What the listing of prefix must give, by looking at every row. */
static size_t naive_list(const struct wcs_slice *rows, size_t count, struct wcs_slice prefix,
			 unsigned char delimiter, const struct wcs_slice *after,
			 struct wcs_slice *segments)
{
	const unsigned char *p = prefix.data;
	bool closed = prefix.len > 0 && p[prefix.len - 1] == delimiter;
	size_t made = 0, kept = 0;

	for (size_t i = 0; i < count; i++) {
		const unsigned char *row = rows[i].data;
		size_t len = rows[i].len - prefix.len;
		const unsigned char *end;
		struct wcs_slice segment;

		if (rows[i].len < prefix.len || memcmp(row, p, prefix.len) != 0)
			continue;
		end = memchr(row + prefix.len, delimiter, len);
		if (len == 0 && !closed)
			continue;
		segment = (struct wcs_slice){row + prefix.len,
					     end ? (size_t)(end - row) - prefix.len : len};
		if (!after || wcs_slice_compare(segment, *after) > 0)
			segments[made++] = segment;
	}
	qsort(segments, made, sizeof(*segments), segment_compare);
	for (size_t i = 0; i < made; i++) {
		if (kept == 0 || wcs_slice_compare(segments[kept - 1], segments[i]) != 0)
			segments[kept++] = segments[i];
	}
	return kept;
}

static struct wcs_slice random_key(uint64_t *state, unsigned char *to, size_t min, size_t max)
{
	static const unsigned char alphabet[] = {'#', '#', '|', '|', 1, 1,
						 '!', '"', '$', 'a', 0, 0xFF};
	size_t len = min + suite_random(state) % (max - min + 1);

	for (size_t i = 0; i < len; i++)
		to[i] = alphabet[suite_random(state) % sizeof(alphabet)];
	return (struct wcs_slice){to, len};
}

START_TEST(test_list_against_model)
{
	static const unsigned char delimiters[] = {'#', '|', 1};
	static unsigned char keys[400][8];
	static struct wcs_slice rows[400], expected[400];
	struct engine engine;
	uint64_t state = 5;

	engine_open(&engine);
	for (uint32_t table = 1; table <= 60; table++) {
		const unsigned char delimiter = delimiters[table % 3];
		size_t count = 1 + suite_random(&state) % (table % 2 ? 400 : 40);
		struct wcs_mutation *mutation = wcs_mutation_new();
		uint32_t cells = 1 + suite_random(&state) % 12;

		for (uint32_t i = 0; i < cells; i++)
			wcs_mutation_set(mutation, "f", suite_text("q"), i, suite_text("v"));
		wcs_mutation_seal(mutation);
		for (size_t i = 0; i < count; i++) {
			int64_t ts;

			rows[i] = random_key(&state, keys[i], 1, 6);
			ck_assert_int_eq(wcs_backend_leveldb.mutate(engine.db, table, rows[i],
								    mutation, &ts),
					 0);
		}
		wcs_mutation_free(mutation);
		for (int i = 0; i < 300; i++) {
			unsigned char p[8], a[8];
			struct wcs_slice prefix = random_key(&state, p, 0, 3);
			struct wcs_slice after = random_key(&state, a, 0, 3);
			bool resumed = suite_random(&state) % 2;
			size_t n = naive_list(rows, count, prefix, delimiter,
					      resumed ? &after : NULL, expected);
			struct wcs_list *list;
			struct wcs_slice segment;

			ck_assert_int_eq(
				wcs_backend_leveldb.list_open(engine.db, table, prefix, delimiter,
							      resumed ? &after : NULL, &list),
				0);
			for (size_t k = 0; k < n; k++) {
				ck_assert_int_eq(wcs_backend_leveldb.list_next(list, &segment), 1);
				ck_assert_int_eq(wcs_slice_compare(segment, expected[k]), 0);
			}
			ck_assert_int_eq(wcs_backend_leveldb.list_next(list, &segment), 0);
			ck_assert_int_eq(wcs_backend_leveldb.list_next(list, &segment), 0);
			wcs_backend_leveldb.list_close(list);
		}
	}
	engine_close(&engine);
}
END_TEST

static void make(Suite *suite)
{
	suite_add_once(suite, "replace_frees_chunks", test_replace_frees_chunks, 60);
	suite_add_once(suite, "sizes", test_sizes, 60);
	suite_add_once(suite, "open_value_keeps_its_chunks", test_open_value_keeps_its_chunks, 60);
	suite_add_once(suite, "scan_keeps_chunks", test_scan_keeps_chunks, 60);
	suite_add_once(suite, "open_value_keeps_only_its_chunks",
		       test_open_value_keeps_only_its_chunks, 60);
	suite_add_once(suite, "bad_garbage_record_stops_no_other",
		       test_bad_garbage_record_stops_no_other, 60);
	suite_add_once(suite, "bad_key_of_a_table", test_bad_key_of_a_table, 60);
	suite_add_once(suite, "bad_key_of_a_drop", test_bad_key_of_a_drop, 60);
	suite_add_once(suite, "damaged_block_is_no_gap_in_a_listing",
		       test_damaged_block_is_no_gap_in_a_listing, 60);
	suite_add_once(suite, "later_reader_does_not_wait", test_later_reader_does_not_wait, 60);
	suite_add_once(suite, "close_does_not_wait_for_readers",
		       test_close_does_not_wait_for_readers, 60);
	suite_add_once(suite, "replaced_within_a_mutation", test_replaced_within_a_mutation, 60);
	suite_add_once(suite, "failed_mutation_leaves_nothing", test_failed_mutation_leaves_nothing,
		       60);
	suite_add_once(suite, "append_grows_into_chunks", test_append_grows_into_chunks, 60);
	suite_add_once(suite, "ids_are_not_used_again", test_ids_are_not_used_again, 60);
	suite_add_once(suite, "intent_of_a_crash", test_intent_of_a_crash, 60);
	suite_add_once(suite, "drop_of_a_crash", test_drop_of_a_crash, 120);
	suite_add_once(suite, "drop_leaves_nothing", test_drop_leaves_nothing, 120);
	suite_add_once(suite, "killed_while_writing", test_killed_while_writing, 120);
	suite_add_once(suite, "move_of_chunks_is_durable", test_move_of_chunks_is_durable, 60);
	suite_add_once(suite, "latch_after_a_failed_write", test_latch_after_a_failed_write, 60);
	suite_add_once(suite, "in_use", test_in_use, 60);
	suite_add_once(suite, "create_refuses_what_is_there", test_create_refuses_what_is_there,
		       60);
	suite_add_once(suite, "open_makes_nothing", test_open_makes_nothing, 60);
	suite_add_once(suite, "lost_counter", test_lost_counter, 60);
	suite_add_once(suite, "table_ids", test_table_ids, 60);
	suite_add_once(suite, "missing_chunk", test_missing_chunk, 60);
	suite_add_once(suite, "damaged_record", test_damaged_record, 60);
	suite_add_once(suite, "damaged_block", test_damaged_block, 60);
	suite_add_once(suite, "list_against_model", test_list_against_model, 120);
}

int main(void)
{
	return suite_main("leveldb_engine", make);
}
