/* SPDX-License-Identifier: MIT */
/* A full medium: the store refuses writes and changes that copy before the engine meets the limit.
 * It allows deletes and changes that free more than they write. */
#include "store/heat/heat.h"
#include "store/table/table.h"
#include "tests/unit/suite.h"

#include <stdatomic.h>
#include <sys/statvfs.h>
#include <time.h>

#define GIB	((uint64_t)1 << 30)
#define MIB	((uint64_t)1 << 20)
#define RESERVE (512 * MIB)	  /* of the medium below, as docs/semantics.md has it */
#define FULL	(RESERVE / 4 * 5) /* df shows no room */

static uint64_t room_free = 8 * GIB;
static uint64_t room_files, room_files_free; /* inodes; of 0 the medium does not tell */

static atomic_uint room_reads;

/* The store's calls come here. */
int fstatvfs(int fd, struct statvfs *space)
{
	(void)fd;
	room_reads++;
	memset(space, 0, sizeof(*space));
	space->f_frsize = 4096;
	space->f_blocks = 16 * GIB / 4096;
	space->f_bfree = space->f_bavail = room_free / 4096;
	space->f_files = room_files;
	space->f_ffree = space->f_favail = room_files_free;
	return 0;
}

/* Until no small write takes the reading of before. */
static void room_wait(void)
{
	suite_sleep(6);
}

static void room_set(uint64_t bytes)
{
	room_free = bytes;
	room_wait();
}

static void room_set_files(uint64_t files)
{
	room_files_free = files;
	room_wait();
}

static int set(struct suite *s, const char *row)
{
	struct wcs_mutation *mutation = wcs_mutation_new();

	wcs_mutation_set(mutation, "f", suite_text("q"), 1, suite_text("v"));
	return suite_mutate(s->table, row, mutation, NULL);
}

/* A store with the rows a and b on a medium that is full then. */
static void open_full(struct suite *s)
{
	room_set(8 * GIB);
	suite_open(s, SUITE_LEVELDB);
	SUITE_OK(set(s, "a"));
	SUITE_OK(set(s, "b"));
	room_set(4096);
}

SUITE_TEST(test_small_writes_share_a_reading, 60)
{
	struct timespec start, end;
	unsigned int before;
	int64_t milliseconds;
	struct suite s;

	suite_open(&s, SUITE_LEVELDB);
	before = room_reads;
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (int i = 0; i < 2000; i++)
		SUITE_OK(set(&s, "a"));
	clock_gettime(CLOCK_MONOTONIC, &end);
	milliseconds = (end.tv_sec - start.tv_sec) * 1000 + (end.tv_nsec - start.tv_nsec) / 1000000;
	ck_assert_int_le(room_reads - before, milliseconds / 5 + 2);
	suite_close(&s);
}

SUITE_TEST(test_full_takes_deletes_only, 60)
{
	struct suite s;

	open_full(&s);
	ck_assert_int_eq(set(&s, "a"), -ENOSPC);
	ck_assert_int_eq(wcs_store_room(s.store, 1), -ENOSPC);
	suite_delete_row(s.table, "b");
	suite_expect(s.table, "a/f/q@1=v ");
	SUITE_OK(wcs_rows_drop(s.table, NULL));
	ck_assert(!wcs_store_failed(s.store));
	room_set(8 * GIB);
	SUITE_OK(wcs_store_room(s.store, 1));
	SUITE_OK(set(&s, "c"));
	suite_expect(s.table, "c/f/q@1=v ");
	suite_close(&s);
}

/* Writes a row as a line of rows does. */
static int set_line(struct suite *s, const char *row)
{
	struct wcs_entry entry = {.row = suite_text(row), .mutation = wcs_mutation_new()};
	size_t applied;
	int rc;

	wcs_mutation_set(entry.mutation, "f", suite_text("q"), 1, suite_text("v"));
	rc = wcs_rows_mutate(s->table, &entry, 1, &applied);
	wcs_mutation_free(entry.mutation);
	return rc;
}

/* Renames the column q of a row, and back. */
static int rename_twice(struct suite *s, const char *row)
{
	struct wcs_move move = {.kind = WCS_MOVE_COLUMN, .family = "f"};
	int rc = 0;

	for (int i = 0; rc == 0 && i < 2; i++) {
		move.from = suite_text(i == 0 ? "q" : "p");
		move.to = suite_text(i == 0 ? "p" : "q");
		rc = wcs_cells_move(s->table, suite_text(row), &move, NULL);
	}
	return rc;
}

/* No write begins where df shows no room, and each does where it shows some. Only the commit of a
 * value that was admitted may use more. */
SUITE_TEST(test_one_rule_for_all_writes, 60)
{
	struct wcs_space space;
	struct suite s;

	room_set(8 * GIB);
	suite_open(&s, SUITE_LEVELDB);
	SUITE_OK(set(&s, "a"));
	for (int i = 0; i < 2; i++) {
		int expected = i == 0 ? -ENOSPC : 0;

		room_set(i == 0 ? FULL : FULL + 4096);
		SUITE_OK(wcs_store_space(s.store, &space));
		ck_assert_uint_eq(space.available, i == 0 ? 0 : 4096);
		ck_assert_int_eq(wcs_store_room(s.store, 1), expected);
		ck_assert_int_eq(set_line(&s, "b"), expected);
		ck_assert_int_eq(rename_twice(&s, "a"), expected);
		SUITE_OK(set(&s, "a"));
	}
	suite_close(&s);
}

/* ---- Files ------------------------------------------------------------------------------- */

static bool lacks_files(struct suite *s)
{
	struct wcs_space space;

	SUITE_OK(wcs_store_space(s->store, &space));
	return space.lacks_files;
}

/* A medium with bytes but without inodes is full, too. */
SUITE_TEST(test_no_files_takes_deletes_only, 60)
{
	struct suite s;

	open_full(&s);
	room_set(8 * GIB);
	room_files = 100000;
	room_set_files(127);
	ck_assert_int_eq(set(&s, "a"), -ENOSPC);
	ck_assert_int_eq(wcs_store_room(s.store, 1), -ENOSPC);
	ck_assert(lacks_files(&s));
	suite_delete_row(s.table, "b");
	SUITE_OK(wcs_rows_drop(s.table, NULL));
	ck_assert(!wcs_store_failed(s.store));
	room_set_files(129);
	SUITE_OK(set(&s, "c"));
	ck_assert_int_eq(wcs_store_room(s.store, 1), -ENOSPC);
	room_set_files(161);
	SUITE_OK(wcs_store_room(s.store, 1));
	ck_assert_int_eq(wcs_store_room(s.store, WCS_VALUE_MAX), -ENOSPC);
	ck_assert(lacks_files(&s));
	room_set_files(160 + 300);
	SUITE_OK(wcs_store_room(s.store, WCS_VALUE_MAX));
	room_set_files(90000);
	ck_assert(!lacks_files(&s));
	suite_close(&s);
	room_files = 0;
}

/* On a medium with few of them a share is kept, not more than there are. */
SUITE_TEST(test_few_files, 60)
{
	struct suite s;

	suite_open(&s, SUITE_LEVELDB);
	room_files = 64;
	room_set_files(31);
	SUITE_OK(set(&s, "a"));
	SUITE_OK(wcs_store_room(s.store, 1));
	room_set_files(23);
	ck_assert_int_eq(set(&s, "a"), -ENOSPC);
	suite_close(&s);
	room_files = 0;
}

/* ---- Moves ------------------------------------------------------------------------------- */

/* Sets r/f/qualifier@ts to len bytes, where there is room. */
static void set_bytes(struct suite *s, const char *qualifier, int64_t ts, size_t len)
{
	uint64_t was = room_free;
	char *bytes = suite_pattern(len, 1);

	room_set(8 * GIB);
	suite_put(s->table, suite_text("r"), "f", suite_text(qualifier), ts,
		  (struct wcs_slice){bytes, len});
	room_set(was);
	free(bytes);
}

/* Moves in r/f, with so much room. */
static int move_with(struct suite *s, uint64_t room, enum wcs_move_kind kind, const char *from,
		     int64_t from_ts, const char *to, int64_t to_ts)
{
	const struct wcs_move move = {.kind = kind,
				      .family = "f",
				      .from = suite_text(from),
				      .from_ts = from_ts,
				      .to = suite_text(to),
				      .to_ts = to_ts};

	room_set(room);
	return wcs_cells_move(s->table, suite_text("r"), &move, NULL);
}

/* Each kind writes the value again; touching all files of a full store would double it. */
SUITE_LEVELDB_STORE(test_full_refuses_moves_of_values, 60)
{
	const uint64_t short_of_it = FULL + 4096;
	char *before, *after;

	set_bytes(s, "q", 5, WCS_VALUE_INLINE);
	set_bytes(s, "p", 7, WCS_VALUE_INLINE);
	before = suite_scan(s->table, &(struct wcs_range){0}, 1, &(struct wcs_filter){0});
	ck_assert_int_eq(move_with(s, short_of_it, WCS_MOVE_COLUMN, "q", 0, "n", 0), -ENOSPC);
	ck_assert_int_eq(move_with(s, short_of_it, WCS_MOVE_COLUMN_NEW, "q", 0, "n", 0), -ENOSPC);
	ck_assert_int_eq(move_with(s, short_of_it, WCS_MOVE_COLUMN, "q", 0, "p", 0), -ENOSPC);
	ck_assert_int_eq(move_with(s, short_of_it, WCS_MOVE_CELL_NEWEST, "q", 5, "p", 0), -ENOSPC);
	ck_assert_int_eq(move_with(s, short_of_it, WCS_MOVE_CELL, "q", 5, "n", 9), -ENOSPC);
	ck_assert_int_eq(move_with(s, short_of_it, WCS_MOVE_STAMP, "q", 0, "", 9), -ENOSPC);
	after = suite_scan(s->table, &(struct wcs_range){0}, 1, &(struct wcs_filter){0});
	ck_assert_str_eq(after, before);
	/* A move that fails for another reason returns that reason. */
	ck_assert_int_eq(move_with(s, 4096, WCS_MOVE_COLUMN_NEW, "q", 0, "p", 0), -EEXIST);
	ck_assert_int_eq(move_with(s, 4096, WCS_MOVE_COLUMN, "no", 0, "p", 0), -ENOENT);
	ck_assert_int_eq(move_with(s, 4096, WCS_MOVE_STAMP, "no", 0, "", 9), -ENOENT);
	SUITE_OK(move_with(s, 4096, WCS_MOVE_COLUMN, "q", 0, "q", 0));
	SUITE_OK(move_with(s, FULL + 16384, WCS_MOVE_STAMP, "q", 0, "", 9));
	SUITE_OK(move_with(s, FULL + 16384, WCS_MOVE_COLUMN, "q", 0, "n", 0));
	ck_assert(!wcs_store_failed(s->store));
	free(before);
	free(after);
}

/* A large value stays in its place; only its record moves. */
SUITE_LEVELDB_STORE(test_full_moves_large_values, 60)
{
	set_bytes(s, "q", 5, MIB);
	set_bytes(s, "p", 7, MIB);
	SUITE_OK(move_with(s, RESERVE - MIB, WCS_MOVE_COLUMN, "q", 0, "n", 0));
	SUITE_OK(move_with(s, RESERVE - MIB, WCS_MOVE_STAMP, "n", 0, "", 9));
	SUITE_OK(move_with(s, RESERVE - MIB, WCS_MOVE_COLUMN, "n", 0, "p", 0));
	/* But not for ever: the rest of the reserve is for deletes. */
	ck_assert_int_eq(move_with(s, RESERVE / 2, WCS_MOVE_STAMP, "p", 0, "", 20), -ENOSPC);
}

/* A move that frees more than it takes is allowed on any medium. */
SUITE_LEVELDB_STORE(test_full_takes_moves_that_free, 60)
{
	set_bytes(s, "q", 5, 1000);
	set_bytes(s, "q", 4, 5000);
	set_bytes(s, "p", 3, 10);
	SUITE_OK(move_with(s, 4096, WCS_MOVE_COLUMN, "q", 0, "p", 0));
	set_bytes(s, "q", 9, 10);
	SUITE_OK(move_with(s, 4096, WCS_MOVE_CELL, "q", 9, "p", 5));
	ck_assert_int_eq(move_with(s, 4096, WCS_MOVE_CELL, "p", 5, "p", 3), -ENOSPC);
}

/* A column moves with all its versions, hidden or not, but onto another's with one. */
SUITE_LEVELDB_STORE(test_room_for_a_history, 60)
{
	enum { VERSIONS = 100 };

	for (int ts = 1; ts <= VERSIONS; ts++) {
		set_bytes(s, "q", ts, 4000);
		set_bytes(s, "o", ts, ts == VERSIONS ? 4000 : 1);
	}
	set_bytes(s, "p", 1, 1);
	ck_assert_int_eq(move_with(s, FULL + 11 * VERSIONS * 1000, WCS_MOVE_COLUMN, "q", 0, "n", 0),
			 -ENOSPC);
	suite_policy(s->table, "f", "maxversions=1");
	ck_assert_int_eq(move_with(s, FULL + 11 * VERSIONS * 1000, WCS_MOVE_COLUMN, "q", 0, "n", 0),
			 -ENOSPC);
	suite_policy(s->table, "f", "never");
	SUITE_OK(move_with(s, FULL + 16384, WCS_MOVE_COLUMN, "o", 0, "p", 0));
	SUITE_OK(move_with(s, FULL + 13 * VERSIONS * 1000, WCS_MOVE_COLUMN, "q", 0, "n", 0));
}

/* ---- Appends ----------------------------------------------------------------------------- */

static struct wcs_mutation *one_byte_more(void)
{
	struct wcs_mutation *mutation = wcs_mutation_new();

	wcs_mutation_append(mutation, "f", suite_text("q"), suite_text("v"), WCS_TS_NONE);
	return mutation;
}

/* An append writes the whole value anew. */
SUITE_LEVELDB_STORE(test_room_for_an_append, 60)
{
	struct wcs_entry entries[2] = {{.row = suite_text("other")}, {.row = suite_text("r")}};
	size_t applied;

	set_bytes(s, "q", 1, 10 * MIB);
	for (int i = 0; i < 2; i++)
		entries[i].mutation = one_byte_more();
	room_set(RESERVE + 19 * MIB);
	ck_assert_int_eq(suite_mutate(s->table, "r", one_byte_more(), NULL), -ENOSPC);
	room_set(FULL + 29 * MIB);
	ck_assert_int_eq(wcs_rows_mutate(s->table, entries + 1, 1, &applied), -ENOSPC);
	ck_assert_uint_eq(applied, 0);
	ck_assert_int_eq(wcs_rows_mutate(s->table, entries, 2, &applied), -ENOSPC);
	ck_assert_uint_eq(applied, 1);
	room_set(FULL + 31 * MIB);
	SUITE_OK(wcs_rows_mutate(s->table, entries, 2, &applied));
	ck_assert_uint_eq(applied, 2);
	for (int i = 0; i < 2; i++)
		wcs_mutation_free(entries[i].mutation);
}

/* Of a batch on a full medium those before the first that writes are applied. */
SUITE_LEVELDB_STORE(test_full_ends_a_batch, 60)
{
	struct wcs_entry entries[3];
	size_t applied = 9;

	room_set(8 * GIB);
	SUITE_OK(set(s, "a"));
	SUITE_OK(set(s, "b"));
	for (int i = 0; i < 3; i++)
		entries[i].mutation = wcs_mutation_new();
	entries[0].row = suite_text("a");
	wcs_mutation_delete_row(entries[0].mutation);
	entries[1].row = suite_text("c");
	wcs_mutation_set(entries[1].mutation, "f", suite_text("q"), 1, suite_text("v"));
	entries[2].row = suite_text("b");
	wcs_mutation_delete_row(entries[2].mutation);
	room_set(4096);
	ck_assert_int_eq(wcs_rows_mutate(s->table, entries, 3, &applied), -ENOSPC);
	ck_assert_uint_eq(applied, 1);
	suite_expect(s->table, "b/f/q@1=v ");
	room_set(8 * GIB);
	SUITE_OK(wcs_rows_mutate(s->table, entries, 3, &applied));
	ck_assert_uint_eq(applied, 3);
	suite_expect(s->table, "c/f/q@1=v ");
	for (int i = 0; i < 3; i++)
		wcs_mutation_free(entries[i].mutation);
}

/* A value must fit twice, besides the engine's own reserve. */
SUITE_LEVELDB_STORE(test_room_grows_with_the_value, 60)
{
	room_set(GIB * 3 / 4);
	SUITE_OK(wcs_store_room(s->store, 1 << 20));
	ck_assert_int_eq(wcs_store_room(s->store, WCS_VALUE_MAX), -ENOSPC);
	room_set(GIB);
	SUITE_OK(wcs_store_room(s->store, WCS_VALUE_MAX));
}

static void expect_compactions(struct suite *s, uint64_t count)
{
	struct wcs_stats stats;

	for (int i = 0; i < 1000; i++) {
		ck_assert_int_eq(wcs_store_stats(s->store, &stats), 0);
		if (stats.compactions == count && stats.compactions_pending == 0)
			return;
		suite_sleep(10);
	}
	ck_abort_msg("%u compactions, expected %u", (unsigned int)stats.compactions,
		     (unsigned int)count);
}

/* A few scattered deletes are not worth a compaction, unless there is no room; and then not one for
 * each request that finds none. test_leveldb_shrink checks the space given back. */
SUITE_TEST(test_full_gives_back_what_was_deleted, 60)
{
	struct suite s;

	open_full(&s);
	suite_delete_row(s.table, "b");
	expect_compactions(&s, 0);
	ck_assert_int_eq(set(&s, "c"), -ENOSPC);
	expect_compactions(&s, 1);
	ck_assert_int_eq(set(&s, "c"), -ENOSPC);
	ck_assert_int_eq(wcs_store_room(s.store, 1), -ENOSPC);
	expect_compactions(&s, 1);
	suite_expect(s.table, "a/f/q@1=v ");
	suite_close(&s);
}

/* Are there records of the heat map in the engine? */
static bool heat_stored(struct suite *s)
{
	const struct wcs_engine *engine = &s->store->engine;

	for (uint16_t number = 1; number <= 1611; number++) {
		unsigned char *bytes;
		size_t len;

		if (engine->local->note_get(engine->db, number, &bytes, &len) == 0) {
			free(bytes);
			return true;
		}
	}
	return false;
}

static void expect_reads(struct suite *s, uint64_t reads)
{
	struct wcs_heat_map *map;

	SUITE_OK(wcs_heat_map(s->table, WCS_HEAT_6H, WCS_HEAT_READS, 0, 0, &map));
	ck_assert_uint_eq(map->total, reads);
	wcs_heat_map_free(map);
}

/* The room that is left is for deletes: the heat map is in memory until there is more. */
SUITE_TEST(test_full_keeps_the_heat_map_in_memory, 60)
{
	struct wcs_cell_info info;
	struct suite s;

	room_set(8 * GIB);
	suite_open(&s, SUITE_LEVELDB);
	SUITE_OK(set(&s, "a"));
	s.heat = true;
	suite_reopen(&s);
	for (int i = 0; i < 2; i++) {
		room_set(i == 0 ? 4096 : 8 * GIB);
		SUITE_OK(wcs_cell_get(s.table, suite_text("a"), "f", suite_text("q"), WCS_TS_NEWEST,
				      &info));
		expect_reads(&s, (uint64_t)i + 1);
		ck_assert(heat_stored(&s) == (i == 1));
	}
	suite_reopen(&s);
	expect_reads(&s, 2);
	suite_close(&s);
}
