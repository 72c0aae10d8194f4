/* SPDX-License-Identifier: MIT */
/* Deletes of more cells of a row than LevelDB gets in one batch: a row key of 3 KB makes 1,000
 * cells enough. */
#include "tests/unit/engine.h"

#include <pthread.h>

enum { CELLS = 1000, KEY = 3000 };

static char key_bytes[KEY];
static const struct wcs_slice row = {key_bytes, KEY};

static void key_make(void)
{
	memset(key_bytes, 'k', KEY);
}

static void erase_set(struct wcs_mutation *mutation, const char *family, const char *qualifier,
		      int64_t count)
{
	for (int64_t ts = 1; ts <= count; ts++)
		SUITE_OK(wcs_mutation_set(mutation, family, suite_text(qualifier), ts,
					  suite_text(qualifier)));
}

static void erase_apply(struct wcs_table *table, struct wcs_mutation *mutation)
{
	SUITE_OK(wcs_row_mutate(table, row, mutation, NULL));
	wcs_mutation_free(mutation);
}

static void erase_fill(struct wcs_table *table)
{
	struct wcs_mutation *mutation = wcs_mutation_new();

	key_make();
	suite_set(table, "a", "f", "q", 1, "before");
	suite_set(table, "z", "f", "q", 1, "behind");
	erase_set(mutation, "a", "q", 2);
	erase_set(mutation, "f", "p", 3);
	erase_set(mutation, "f", "q", CELLS);
	erase_set(mutation, "f", "r", 4);
	erase_apply(table, mutation);
}

/* The columns of the long row with the number of their cells, and the values of the newest; in
 * front of them the number of rows. */
static void erase_expect(struct wcs_table *table, bool reverse, const char *expected)
{
	struct wcs_filter filter = {.chain = suite_reverse(table, reverse)};
	char text[512] = "", last[80] = "", column[80];
	int cells = 0, rows = 0;
	struct wcs_scan *scan;
	struct wcs_cell cell;

	SUITE_OK(wcs_scan_open(table, &suite_all, 1, &filter, &scan));
	for (int more = 1; more > 0;) {
		more = wcs_scan_next(scan, &cell);
		ck_assert_int_ge(more, 0);
		rows += more > 0 && cell.differs == WCS_PART_ROW;
		if (more > 0 && cell.row.len != KEY)
			continue;
		column[0] = 0;
		if (more > 0)
			snprintf(column, sizeof(column), "%.*s/%.*s", (int)cell.family.len,
				 (const char *)cell.family.data, (int)cell.qualifier.len,
				 (const char *)cell.qualifier.data);
		if (strcmp(column, last) != 0) {
			if (cells > 0)
				sprintf(text + strlen(text), " %s:%d", last, cells);
			strcpy(last, column);
			cells = 0;
		}
		cells++;
	}
	wcs_scan_close(scan);
	wcs_chain_free(filter.chain);
	sprintf(last, "%d rows", rows);
	memmove(text + strlen(last), text, strlen(text) + 1);
	memcpy(text, last, strlen(last));
	ck_assert_str_eq(text, expected);
}

static void delete_column(struct wcs_table *table)
{
	struct wcs_mutation *mutation = wcs_mutation_new();

	wcs_mutation_delete_column(mutation, "f", suite_text("q"));
	erase_apply(table, mutation);
}

static void delete_family(struct wcs_table *table)
{
	struct wcs_mutation *mutation = wcs_mutation_new();

	wcs_mutation_delete_family(mutation, "f");
	erase_apply(table, mutation);
}

static void delete_row(struct wcs_table *table)
{
	struct wcs_mutation *mutation = wcs_mutation_new();

	wcs_mutation_delete_row(mutation);
	erase_apply(table, mutation);
}

/* The set comes behind the delete, and stays. */
static void replace_column(struct wcs_table *table)
{
	struct wcs_mutation *mutation = wcs_mutation_new();

	wcs_mutation_delete_column(mutation, "f", suite_text("q"));
	wcs_mutation_set(mutation, "f", suite_text("q"), 500, suite_text("new"));
	erase_apply(table, mutation);
}

static void delete_and_set_beside(struct wcs_table *table)
{
	struct wcs_mutation *mutation = wcs_mutation_new();

	wcs_mutation_delete_column(mutation, "f", suite_text("q"));
	wcs_mutation_delete_column(mutation, "f", suite_text("r"));
	wcs_mutation_set(mutation, "f", suite_text("s"), 500, suite_text("new"));
	erase_apply(table, mutation);
}

/* A large delete whose batch began with another row. */
static void delete_in_a_batch(struct wcs_table *table)
{
	struct wcs_mutation *first = wcs_mutation_new(), *second = wcs_mutation_new();
	struct wcs_entry entries[] = {
		{suite_text("a"), first, 0}, {row, second, 0}, {suite_text("z"), first, 0}};
	size_t applied;

	wcs_mutation_delete_row(first);
	wcs_mutation_delete_column(second, "f", suite_text("q"));
	SUITE_OK(wcs_rows_mutate(table, entries, 3, &applied));
	ck_assert_uint_eq(applied, 3);
	wcs_mutation_free(first);
	wcs_mutation_free(second);
}

static void move_onto(struct wcs_table *table)
{
	struct wcs_move move = {
		.kind = WCS_MOVE_COLUMN, .family = "f", .from = {"q", 1}, .to = {"p", 1}};
	int64_t ts;

	SUITE_OK(wcs_cells_move(table, row, &move, &ts));
	ck_assert_int_eq(ts, CELLS);
}

static void drop_row(struct wcs_table *table)
{
	SUITE_OK(wcs_rows_drop(table, &row));
}

static void drop_all(struct wcs_table *table)
{
	SUITE_OK(wcs_rows_drop(table, NULL));
}

static const struct {
	void (*call)(struct wcs_table *table);
	const char *expected;
} erase_cases[] = {
	{delete_column, "3 rows a/q:2 f/p:3 f/r:4"},
	{delete_family, "3 rows a/q:2"},
	{delete_row, "2 rows"},
	{replace_column, "3 rows a/q:2 f/p:3 f/q:1 f/r:4"},
	{delete_and_set_beside, "3 rows a/q:2 f/p:3 f/s:1"},
	{delete_in_a_batch, "1 rows a/q:2 f/p:3 f/r:4"},
	{move_onto, "3 rows a/q:2 f/p:4 f/r:4"},
	{drop_row, "2 rows"},
	{drop_all, "0 rows"},
};

SUITE_CONTRACT("store.h, Writing: a mutation is atomic")
SUITE_STORES(test_delete_of_a_long_history, 120)
{
	for (size_t i = 0; i < sizeof(erase_cases) / sizeof(erase_cases[0]); i++) {
		wcs_rows_drop(s->table, NULL);
		erase_fill(s->table);
		erase_expect(s->table, false, "3 rows a/q:2 f/p:3 f/q:1000 f/r:4");
		erase_cases[i].call(s->table);
		erase_expect(s->table, false, erase_cases[i].expected);
		erase_expect(s->table, true, erase_cases[i].expected);
	}
}

/* A value in extents that the last case takes over stays, those of the older cells do not. */
ENGINE_TEST(test_move_onto_takes_one_value, 60)
{
	struct wcs_move move = {
		.kind = WCS_MOVE_COLUMN, .family = "f", .from = {"q", 1}, .to = {"p", 1}};
	struct wcs_mutation *mutation = wcs_mutation_new();

	wcs_mutation_set(mutation, "f", suite_text("p"), 1, suite_text("old"));
	SUITE_OK(engine_apply(engine, "r", mutation));
	SUITE_OK(engine_set(engine, "r", 1, 200000, 1));
	SUITE_OK(engine_set(engine, "r", 2, 70000, 2));
	SUITE_OK(engine_move(engine, "r", &move));
	engine_expect_chunks(engine->db, 2);
	move.from = (struct wcs_slice){"p", 1};
	move.to = (struct wcs_slice){"q", 1};
	SUITE_OK(engine_move(engine, "r", &move));
	engine_expect(engine, "r", 70000, 2);
}

/* ---- While it runs ----------------------------------------------------------------------- */

static atomic_bool erase_ends;

static int erase_looks_at(struct wcs_table *table, bool reverse)
{
	const char *family = "f";
	struct wcs_filter filter = {.families = &family,
				    .family_count = 1,
				    .qualifier_from = {"q", 1},
				    .qualifier_to = {"q\0", 2},
				    .chain = suite_reverse(table, reverse)};
	struct wcs_scan *scan;
	struct wcs_cell cell;
	int cells = 0;

	if (wcs_scan_open(table, &suite_all, 1, &filter, &scan) != 0)
		abort();
	while (wcs_scan_next(scan, &cell) > 0)
		cells += cell.row.len == KEY;
	wcs_scan_close(scan);
	wcs_chain_free(filter.chain);
	return cells;
}

/* A scan sees all of the column or nothing; once the newest cell is gone, no other is found. */
static void *erase_looks(void *arg)
{
	struct wcs_table *table = arg;
	struct wcs_cell_info info;
	struct wcs_key_info key;

	for (int i = 0; !erase_ends; i++) {
		int cells = erase_looks_at(table, i % 2 == 1), newest, oldest;

		if (cells != 0 && cells != CELLS)
			return "a scan saw a part";
		if (wcs_cell_get(table, row, "f", suite_text("q"), WCS_TS_NEWEST, &info) == 0 &&
		    info.ts != CELLS)
			return "an older cell was the newest";
		newest = wcs_cell_get(table, row, "f", suite_text("q"), CELLS, &info);
		oldest = wcs_cell_get(table, row, "f", suite_text("q"), 1, &info);
		if (newest == -ENOENT && oldest == 0 &&
		    wcs_cell_get(table, row, "f", suite_text("q"), CELLS, &info) == -ENOENT)
			return "an old cell was found";
		if (wcs_key_get(table, row, &key) != 0)
			return "the row could not be looked at";
	}
	return NULL;
}

SUITE_LEVELDB_STORE(test_readers_see_all_or_nothing, 120)
{
	struct wcs_mutation *mutation;
	pthread_t thread;
	void *wrong;

	key_make();
	suite_set(s->table, "a", "f", "q", 1, "before");
	erase_ends = false;
	pthread_create(&thread, NULL, erase_looks, s->table);
	for (int i = 0; i < (int)suite_rounds(12, 30); i++) {
		mutation = wcs_mutation_new();
		erase_set(mutation, "f", "q", CELLS);
		erase_apply(s->table, mutation);
		(i % 2 == 0 ? delete_column : drop_row)(s->table);
	}
	erase_ends = true;
	pthread_join(thread, &wrong);
	ck_assert_msg(wrong == NULL, "%s", (const char *)wrong);
}

/* ---- Many deletes ------------------------------------------------------------------------ */

/* Each delete steps over the tombstones of those before it, until their range is compacted. */
SUITE_LEVELDB_STORE(test_deletes_in_descending_order, 120)
{
	const int rows = (int)suite_rounds(8000, 16000);
	struct wcs_stats stats = {.compactions = 0};
	char name[16];

	for (int i = 0; i < rows; i++) {
		snprintf(name, sizeof(name), "r%05d", i);
		suite_set(s->table, name, "f", "q", 1, "v");
	}
	for (int i = rows; i-- > 0;) {
		snprintf(name, sizeof(name), "r%05d", i);
		suite_delete_row(s->table, name);
	}
	/* Otherwise the first one comes when nothing was deleted for a while. */
	SUITE_OK(wcs_store_stats(s->store, &stats));
	ck_assert_uint_gt(stats.compactions, 0);
	suite_expect(s->table, "");
}

/* ---- After a crash ----------------------------------------------------------------------- */

/* The next open deletes the rest of the range, and nothing around it. */
ENGINE_TEST(test_erase_of_a_crash, 60)
{
	struct ldb_drop drop = {.table = 1, .keys = true};
	static unsigned char record[LDB_ERASE_MAX];
	static struct ldb_key from, to;
	struct ldb_id_key key = ldb_key_drop(7);

	for (int ts = 1; ts <= 9; ts++)
		SUITE_OK(engine_set(engine, "r", ts, ts % 2 ? 70000 : 5, 1));
	ldb_key_row(&from, 1, suite_text("r"));
	ldb_key_family(&from, "f");
	ldb_key_qualifier(&from, suite_text("q"));
	to = from;
	ldb_key_past(&to);
	ldb_key_ts(&from, 6); /* a delete whose first batch ended behind ts 7 */
	drop.range.start = (struct wcs_slice){from.data, from.len};
	drop.range.end = (struct wcs_slice){to.data, to.len};
	SUITE_OK(engine_set(engine, "s", 1, 5, 1));
	engine_put_raw(engine, key.data, key.len, record, ldb_record_drop(record, &drop));
	engine_reopen(engine);
	ck_assert_int_eq(engine_count(engine->db, 'x'), 0);
	ck_assert_int_eq(engine_count(engine->db, 'c'), 4);
	engine_expect(engine, "r", 70000, 1);
	engine_expect(engine, "s", 5, 1);
	engine_expect_chunks(engine->db, 4);
}

/* The next open goes on with a drop that meets a row too large for a batch, with a value in
 * extents. The record that this row's delete needs is not one of those that wait. */
ENGINE_TEST(test_drop_of_a_crash_meets_a_long_row, 60)
{
	static const struct wcs_range ranges[] = {{{"k", 1}, {"l", 1}}, {{"s", 1}, {"t", 1}}};
	struct wcs_mutation *mutation = wcs_mutation_new();
	unsigned char record[LDB_DROP_MAX];
	char text[KEY + 1] = "";

	key_make();
	memcpy(text, key_bytes, KEY);
	erase_set(mutation, "f", "q", CELLS);
	SUITE_OK(engine_apply(engine, text, mutation));
	SUITE_OK(engine_set(engine, text, CELLS + 1, 70000, 1));
	SUITE_OK(engine_set(engine, "r", 1, 5, 1));
	SUITE_OK(engine_set(engine, "s", 1, 5, 1));
	for (uint64_t i = 0; i < 2; i++) {
		struct ldb_drop drop = {.table = 1, .range = ranges[i]};
		struct ldb_id_key key = ldb_key_drop(1 + i);

		engine_put_raw(engine, key.data, key.len, record, ldb_record_drop(record, &drop));
	}
	engine_reopen(engine);
	ck_assert_uint_gt(engine->db->next_drop, 3);
	ck_assert_int_eq(engine_count(engine->db, 'x'), 0);
	ck_assert_int_eq(engine_count(engine->db, 'c'), 1);
	engine_expect(engine, "r", 5, 1);
	engine_expect_chunks(engine->db, 0);
}
