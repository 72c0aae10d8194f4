/* SPDX-License-Identifier: MIT */
/*
 * Values under moves: a value does not change when its cell moves, also while other threads read
 * and move it. The last part is about LevelDB's chunks alone.
 */
#include "tests/unit/move.h"

#include "store/table/table.h"
#include "tests/unit/engine.h"

#include <pthread.h>
#include <stdatomic.h>

/* ---- Values ------------------------------------------------------------------------------ */

SUITE_CONTRACT(
	"store.h, Writing: cells that move keep their values; Reading: an open value is immutable")

/* Where another value stood before, the etag tells the two apart. */
SUITE_STORES(test_etags, 30)
{
	uint32_t before;

	move_set(s, "p", 5, "one");
	move_set(s, "q", 5, "one");
	before = move_etag(s, "q", 5);
	move_do(s, move_cell("p", 5, "q", 5));
	ck_assert_uint_ne(move_etag(s, "q", 5), before);
	/* away, something else instead, and back */
	before = move_etag(s, "q", 5);
	move_do(s, move_column("q", "p"));
	move_set(s, "q", 5, "two");
	ck_assert_uint_ne(move_etag(s, "q", 5), before);
	before = move_etag(s, "q", 5);
	move_do(s, move_cell("p", 5, "q", 5));
	ck_assert_uint_ne(move_etag(s, "q", 5), before);
}

SUITE_STORES(test_values_of_any_size, 120)
{
	static const size_t sizes[] = {0, 1, 4095, 4096, 4097, 65536, 65537, 200000, 3 * MIB};

	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t size = sizes[i];

		move_set_large(s, "a", 7, size, i);
		move_set_large(s, "a", 5, size, i + 50);
		ck_assert_int_eq(move_do(s, move_column("a", "b")), 7);
		move_expect_pattern(move_open(s, "b", WCS_TS_NEWEST), size, i);
		move_expect_pattern(move_open(s, "b", 5), size, i + 50);
		ck_assert_int_eq(move_do(s, move_stamp("b", 6)), 6);
		ck_assert_int_eq(move_do(s, move_cell("b", 5, "c", 9)), 9);
		ck_assert_int_eq(move_do(s, move_newest("b", 6, "c")), 1000000);
		move_expect_pattern(move_open(s, "c", WCS_TS_NEWEST), size, i);
		move_expect_pattern(move_open(s, "c", 9), size, i + 50);
		if ((int)s->engine == SUITE_LEVELDB)
			suite_reopen(s);
		if ((int)s->engine == SUITE_LEVELDB)
			move_expect_pattern(move_open(s, "c", WCS_TS_NEWEST), size, i);
		suite_delete_row(s->table, "r");
	}
}

/* Open values do not change, not even those of cells that a move replaces or drops. */
SUITE_STORES(test_open_values, 60)
{
	static const size_t sizes[] = {10, 300000};

	for (size_t i = 0; i < 2; i++) {
		struct wcs_value *moved, *replaced, *dropped;

		move_set_large(s, "p", 5, sizes[i], 1);
		move_set_large(s, "q", 5, sizes[i], 2);
		move_set_large(s, "o", 4, sizes[i], 3);
		move_set_large(s, "o", 6, sizes[i], 4);
		moved = move_open(s, "p", 5);
		replaced = move_open(s, "q", 5);
		dropped = move_open(s, "o", 4);
		move_do(s, move_cell("p", 5, "q", 5));
		move_do(s, move_column("o", "q"));
		move_do(s, move_stamp("q", 7));
		suite_delete_row(s->table, "r");
		suite_sleep(300);
		ck_assert_int_eq(wcs_value_info(moved)->ts, 5);
		move_expect_pattern(moved, sizes[i], 1);
		move_expect_pattern(replaced, sizes[i], 2);
		move_expect_pattern(dropped, sizes[i], 3);
	}
}

/* A scan gives all cells of one row as of one moment. */
SUITE_STORES(test_scan_under_way, 30)
{
	char *bytes = malloc(200000);
	char *expected = suite_pattern(200000, 1);
	struct wcs_scan *scan;
	struct wcs_cell cell;
	size_t got;

	move_set_large(s, "p", 5, 200000, 1);
	move_set_large(s, "p", 4, 200000, 1);
	SUITE_OK(wcs_scan_open(s->table, &suite_all, 1, &suite_cells, &scan));
	ck_assert_int_eq(wcs_scan_next(scan, &cell), 1);
	move_do(s, move_column("p", "q"));
	ck_assert_int_eq(wcs_scan_next(scan, &cell), 1);
	ck_assert_int_eq(cell.info.ts, 4);
	ck_assert_uint_eq(cell.qualifier.len, 1);
	ck_assert_mem_eq(cell.qualifier.data, "p", 1);
	SUITE_OK(wcs_scan_read(scan, bytes, 200000, 0, &got));
	ck_assert_uint_eq(got, 200000);
	ck_assert_mem_eq(bytes, expected, got);
	ck_assert_int_eq(wcs_scan_next(scan, &cell), 0);
	wcs_scan_close(scan);
	free(bytes);
	free(expected);
}

SUITE_STORES(test_family_of_moved_cells_stays, 30)
{
	move_set(s, "p", 5, "v");
	move_do(s, move_column("p", "q"));
	ck_assert_int_eq(wcs_family_remove(s->table, "f"), -ENOTEMPTY);
	suite_expect(s->table, "r/f/q@5=v ");
	suite_delete_row(s->table, "r");
	SUITE_OK(wcs_family_remove(s->table, "f"));
}

/* ---- Several at once --------------------------------------------------------------------- */

struct mover {
	struct suite *suite;
	const char *from, *to;
	atomic_bool *stop;
	atomic_int moved;
};

static void *mover_main(void *arg)
{
	struct mover *mover = arg;
	struct wcs_move move = move_column_new(mover->from, mover->to);

	while (!atomic_load(mover->stop)) {
		int rc = move_try(mover->suite, &move, NULL);

		if (rc == 0)
			atomic_fetch_add(&mover->moved, 1);
		else if (rc != -ENOENT)
			break;
	}
	return NULL;
}

SUITE_CONTRACT("store.h, Writing: wcs_cells_move, atomically")
/* However often a column moves to and fro, a reader of the row finds it once and whole. */
SUITE_STORES(test_readers_see_all_or_nothing, 120)
{
	char *texts[2];
	atomic_bool stop = false;
	struct mover movers[2] = {{s, "p", "q", &stop, 0}, {s, "q", "p", &stop, 0}};
	pthread_t threads[2];

	move_set_large(s, "p", 5, 70000, 1);
	move_set(s, "p", 4, "four");
	texts[0] = suite_content(s->table);
	move_do(s, move_column("p", "q"));
	texts[1] = suite_content(s->table);
	for (int i = 0; i < 2; i++)
		SUITE_OK(pthread_create(&threads[i], NULL, mover_main, &movers[i]));
	for (int i = 0; i < 500 || atomic_load(&movers[0].moved) == 0; i++) {
		char *text = suite_content(s->table);

		ck_assert_msg(strcmp(text, texts[0]) == 0 || strcmp(text, texts[1]) == 0, "%s",
			      text);
		free(text);
	}
	atomic_store(&stop, true);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	ck_assert_int_gt(movers[0].moved, 0);
	ck_assert_int_le(abs(movers[0].moved - movers[1].moved), 1);
	free(texts[0]);
	free(texts[1]);
}

#define RACE_MOVES 200

struct racer {
	struct suite *suite;
	char name[2];
};

static void *racer_main(void *arg)
{
	struct racer *racer = arg;
	struct wcs_move move = move_column(racer->name, "q");

	for (int i = 0; i < RACE_MOVES; i++) {
		move_set(racer->suite, racer->name, 0, racer->name);
		move_do(racer->suite, move);
	}
	return NULL;
}

/* Columns that move onto one at once: each becomes a version of its own. */
SUITE_STORES(test_no_version_is_lost, 120)
{
	struct racer racers[] = {{s, "a"}, {s, "b"}, {s, "c"}, {s, "d"}};
	pthread_t threads[4];
	struct wcs_scan *scan;
	struct wcs_cell cell;
	int cells = 0;

	for (int i = 0; i < 4; i++)
		SUITE_OK(pthread_create(&threads[i], NULL, racer_main, &racers[i]));
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	SUITE_OK(wcs_scan_open(s->table, &suite_all, 1, &suite_cells, &scan));
	while (wcs_scan_next(scan, &cell) == 1) {
		ck_assert_mem_eq(cell.qualifier.data, "q", 1);
		cells++;
	}
	wcs_scan_close(scan);
	ck_assert_int_eq(cells, 4 * RACE_MOVES);
}

/* ---- LevelDB's chunks -------------------------------------------------------------------- */

static struct ldb *chunks_db(struct suite *s)
{
	return s->store->engine.db;
}

/* A value of 200,000 bytes has 4 chunks, one of 70,000 has 2. */
SUITE_LEVELDB_STORE(test_chunks_stay_or_go, 60)
{
	move_set_large(s, "p", 9, 200000, 1);
	move_set_large(s, "p", 5, 70000, 2);
	move_do(s, move_column("p", "q"));
	move_do(s, move_stamp("q", 8));
	move_do(s, move_cell("q", 5, "q", 5));
	move_do(s, move_column("q", "q"));
	ck_assert_int_eq(engine_count(chunks_db(s), 'g'), 0);
	ck_assert_int_eq(engine_count(chunks_db(s), 'v'), 6);
	/* replaced */
	move_do(s, move_cell("q", 8, "q", 5));
	engine_expect_chunks(chunks_db(s), 4);
	move_set(s, "p", 3, "small");
	move_do(s, move_cell("q", 5, "p", 3));
	engine_expect_chunks(chunks_db(s), 4);
	/* older ones of a column that goes */
	move_set_large(s, "p", 2, 70000, 3);
	move_set_large(s, "q", 9, 70000, 4);
	move_do(s, move_column("p", "q"));
	engine_expect_chunks(chunks_db(s), 6);
	move_fails(s, move_cell("none", 1, "q", 9), -ENOENT);
	suite_reopen(s);
	engine_expect_chunks(chunks_db(s), 6);
	move_expect_pattern(move_open(s, "q", WCS_TS_NEWEST), 200000, 1);
	move_expect_pattern(move_open(s, "q", 9), 70000, 4);
	move_set(s, "p", 9, "small");
	move_do(s, move_cell("p", 9, "q", 9));
	engine_expect_chunks(chunks_db(s), 4);
	suite_delete_row(s->table, "r");
	engine_expect_chunks(chunks_db(s), 0);
}

/* A value that was streamed before its mutation, so that it had an intent. */
SUITE_LEVELDB_STORE(test_streamed_value_moves, 60)
{
	move_set_large(s, "p", 9, 3 * MIB, 1);
	move_do(s, move_column("p", "q"));
	move_set_large(s, "p", 9, 3 * MIB, 2);
	move_do(s, move_cell("p", 9, "q", 9));
	engine_expect_chunks(chunks_db(s), 48);
	suite_reopen(s);
	engine_expect_chunks(chunks_db(s), 48);
	move_expect_pattern(move_open(s, "q", 9), 3 * MIB, 2);
}

SUITE_LEVELDB_STORE(test_damaged_cell, 30)
{
	leveldb_writebatch_t *batch = leveldb_writebatch_create();
	static struct ldb_key key;
	int64_t ts = 77;
	struct wcs_move moves[] = {move_column("q", "p"), move_newest("q", 5, "p"),
				   move_cell("q", 5, "p", 5), move_cell("o", 5, "q", 5),
				   move_stamp("q", 8)};

	move_set(s, "o", 5, "o");
	move_set(s, "q", 5, "q");
	ldb_key_row(&key, 1, suite_text("r"));
	ldb_key_family(&key, "f");
	ldb_key_qualifier(&key, suite_text("q"));
	ldb_key_ts(&key, 5);
	leveldb_writebatch_put(batch, (const char *)key.data, key.len, "\7what", 5);
	SUITE_OK(ldb_commit(chunks_db(s), batch, false));
	leveldb_writebatch_destroy(batch);
	for (size_t i = 0; i < sizeof(moves) / sizeof(moves[0]); i++)
		ck_assert_int_eq(move_try(s, &moves[i], &ts), -EIO);
	ck_assert_int_eq(ts, 77);
	suite_expect_value(s->table, "r", "f", "o", 5, "o");
}
