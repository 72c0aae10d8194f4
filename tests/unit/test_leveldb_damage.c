/* SPDX-License-Identifier: MIT */
/* Damaged data: a read of it is an error, never wrong data, and never a gap. */
#include "tests/unit/engine.h"
#include "tests/unit/forge.h"

#include <glob.h>
#include <sys/stat.h>

#include "store/mutation.h"
#include "store/policy/hll.h"

/* ---- Damage ------------------------------------------------------------------------------ */

ENGINE_TEST(test_missing_chunk, 60)
{
	leveldb_writebatch_t *batch = leveldb_writebatch_create();
	char *bytes = malloc(200000);
	struct wcs_value *value;
	struct ldb_id_key key;
	size_t got;

	SUITE_OK(engine_set(engine, "r", 1, 200000, 1));
	key = ldb_key_extent(1, 2);
	ldb_db_batch_delete(batch, key);
	SUITE_OK(ldb_commit(engine->db, batch, false));
	leveldb_writebatch_destroy(batch);
	SUITE_OK(engine_value_open(engine, "r", &value));
	ck_assert_int_eq(value->ops->read(value, bytes, 200000, 0, &got), -EIO);
	SUITE_OK(value->ops->read(value, bytes, 100000, 0, &got));
	ck_assert_int_eq(engine->errors, 1);
	value->ops->close(value);
	free(bytes);
}

ENGINE_TEST(test_damaged_record, 60)
{
	static struct ldb_key key;
	struct wcs_cell_info info;
	struct wcs_scan *scan;
	struct wcs_cell cell;

	ldb_key_row(&key, 1, suite_text("r"));
	ldb_key_family(&key, "f");
	ldb_key_qualifier(&key, suite_text("q"));
	ldb_key_ts(&key, 1);
	engine_put_raw(engine, key.data, key.len, "\7what", 5);
	for (int64_t ts = WCS_TS_NEWEST; ts <= 1; ts += 2)
		ck_assert_int_eq(
			wcs_backend_leveldb.cell_open(
				engine->db, &suite_everything,
				&(struct wcs_address){1, suite_text("r"), "f", suite_text("q"), ts},
				&info, NULL),
			-EIO);
	SUITE_OK(wcs_backend_leveldb.scan_open(engine->db, &suite_everything, 1, &suite_all, 1,
					       &suite_cells, &scan));
	ck_assert_int_eq(scan->ops->next(scan, &cell), -EIO);
	ck_assert_int_eq(scan->ops->next(scan, &cell), -EIO);
	scan->ops->close(scan);
}

/* A merge into a value that the type does not allow is damage, which is returned and logged. */
ENGINE_TEST(test_damaged_aggregate, 60)
{
	static const struct {
		enum wcs_type type;
		size_t size;
	} cases[] = {
		{WCS_INTSUM, 7}, {WCS_INTMAX, 0}, {WCS_INTHLL, 9}, {WCS_INTSUM, 2 * WCS_HLL_MAX}};
	unsigned char value[WCS_AGGREGATE_LINE_MAX];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct wcs_mutation *mutation = wcs_mutation_new();
		struct wcs_slice line = {value, 0};

		engine_set(engine, "r", 1, cases[i].size, 1);
		SUITE_OK(wcs_aggregate_line(cases[i].type, "1", 1, value, &line.len));
		wcs_mutation_merge(mutation, "f", suite_text("q"), i % 2 ? WCS_TS_NEWEST : 1, line);
		mutation->writes[0].type = cases[i].type;
		ck_assert_int_eq(engine_apply(engine, "r", mutation), -EIO);
		ck_assert_int_eq(engine->errors, (int)i + 1);
		engine_expect(engine, "r", cases[i].size, 1);
	}
}

/* Damages blocks in the first half of each larger table, far from its index. */
static void flip_blocks(struct engine *engine)
{
	char pattern[300], commands[300];
	glob_t found;

	engine_reopen(engine); /* the log becomes a table */
	engine_close(engine);
	snprintf(pattern, sizeof(pattern), "%s/data/*.ldb", engine->path);
	SUITE_OK(glob(pattern, 0, NULL, &found));
	for (size_t i = 0; i < found.gl_pathc; i++) {
		const char *name = found.gl_pathv[i] + strlen(engine->path) + 1;
		struct stat st;

		SUITE_OK(stat(found.gl_pathv[i], &st));
		for (off_t part = 0; part < 8 && st.st_size >= 65536; part++) {
			off_t at = st.st_size * part / 16 + 10;

			snprintf(commands, sizeof(commands), "flip %s %lld", name, (long long)at);
			forge(engine->path, commands);
		}
	}
	globfree(&found);
	SUITE_OK(engine_try_open(engine));
}

/* Newest cells in a block that cannot be read: an error, never the older cells behind them. Rows
 * there: an error, never a listing without them. */
ENGINE_TEST(test_damaged_block, 60)
{
	struct wcs_filter filter = {.each = WCS_EACH_COLUMN};
	struct engine_table around;
	struct wcs_table *table;
	struct wcs_scan *scan;
	struct wcs_list *list;
	struct wcs_slice segment;
	struct wcs_cell cell;
	int good = 0, next, rc;
	char row[16];

	for (int i = 0; i < 600; i++)
		for (int64_t ts = 1; ts <= 3; ts++) {
			snprintf(row, sizeof(row), "r%03d#x", i);
			SUITE_OK(engine_set(engine, row, ts, 1000, (unsigned int)i));
		}
	flip_blocks(engine);
	for (int i = 0; i < 600; i++) {
		struct wcs_cell_info info;

		snprintf(row, sizeof(row), "r%03d#x", i);
		rc = wcs_backend_leveldb.cell_open(engine->db, &suite_everything,
						   &(struct wcs_address){1, suite_text(row), "f",
									 suite_text("q"),
									 WCS_TS_NEWEST},
						   &info, NULL);
		ck_assert(rc == -EIO || (rc == 0 && info.ts == 3));
		good += rc == 0;
	}
	ck_assert(good > 0 && good < 600);
	for (int reverse = 0; reverse < 2; reverse++) {
		filter.reverse = reverse;
		SUITE_OK(wcs_backend_leveldb.scan_open(engine->db, &suite_everything, 1, &suite_all,
						       1, &filter, &scan));
		for (next = 0; (rc = scan->ops->next(scan, &cell)) == 1; next++) {
			snprintf(row, sizeof(row), "r%03d#x", reverse ? 599 - next : next);
			ck_assert_int_eq(wcs_slice_compare(cell.row, suite_text(row)), 0);
			ck_assert_int_eq(cell.info.ts, 3);
		}
		ck_assert_int_eq(rc, -EIO);
		scan->ops->close(scan);
	}
	table = engine_table(engine, &around);
	for (int from = 0; from < 600; from += 20) {
		snprintf(row, sizeof(row), "r%03d", from);
		next = from + 1;
		SUITE_OK(wcs_list_open(table, suite_text(""),
				       &(struct wcs_list_child){{row, 4}, .below = false}, NULL,
				       &list));
		while ((rc = wcs_list_next(list, &segment)) == 1) {
			char name[16];

			snprintf(name, sizeof(name), "r%03d", next++);
			ck_assert_int_eq(wcs_slice_compare(segment, suite_text(name)), 0);
		}
		wcs_list_close(list);
		ck_assert(rc == -EIO || (next == 600 && from > 0));
	}
}

static int no_table(void *ctx, uint32_t id, const struct wcs_table_schema *schema)
{
	(void)ctx;
	(void)id;
	(void)schema;
	return 0;
}

/* A key of a table that is none is damage, not the end of the tables. */
ENGINE_TEST(test_bad_key_of_a_table, 60)
{
	struct wcs_table_schema schema = {.name = "t", .delimiter = '#'};
	uint32_t id = 0;

	SUITE_OK(wcs_backend_leveldb.table_put(engine->db, &id, &schema));
	SUITE_OK(wcs_backend_leveldb.tables_load(engine->db, no_table, NULL));
	engine_put_raw(engine, "mt\0\0\0\0\0", 7, "", 0);
	ck_assert_int_eq(wcs_backend_leveldb.tables_load(engine->db, no_table, NULL), -EIO);
}

SUITE_TEST(test_bad_key_of_a_drop, 60)
{
	struct engine engine;

	engine_open(&engine);
	engine_put_raw(&engine, "x\0\0\0\0\0\0\0\0\0", 10, "", 0);
	engine_close(&engine);
	ck_assert_int_eq(engine_try_open(&engine), -EIO);
}
