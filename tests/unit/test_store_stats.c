/* SPDX-License-Identifier: MIT */
/* A store's statistics, on the LevelDB engine: each number after the operations that must change
 * it. */
#include "tests/unit/suite.h"

enum { LARGE = 300000 };

static struct wcs_stats stats_of(const struct suite *s)
{
	struct wcs_stats stats;

	ck_assert_int_eq(wcs_store_stats(s->store, &stats), 0);
	return stats;
}

static void set_large(struct suite *s, const char *row)
{
	uint64_t state = 1;
	char *bytes = malloc(LARGE); /* that cannot be compressed */

	for (size_t i = 0; i < LARGE; i++)
		bytes[i] = (char)(suite_random(&state) >> 16);

	suite_put(s->table, suite_text(row), "f", suite_text("q"), 1,
		  (struct wcs_slice){bytes, LARGE});
	free(bytes);
}

/* The bounds are one moment of March 1973 in seconds and in microseconds. */
SUITE_STORES(test_old_cells, 10)
{
	static const int64_t old[] = {100000000, 1700000000, 1700000000000, 99999999999999},
			     others[] = {0,
					 1,
					 99999999,
					 100000000000000,
					 1700000000000000,
					 WCS_TS_SERVER};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		suite_set(s->table, "r", "f", "q", others[i], "v");
	ck_assert_uint_eq(stats_of(s).cells_old, 0);
	for (size_t i = 0; i < sizeof(old) / sizeof(old[0]); i++)
		suite_set(s->table, "r", "f", "q", old[i], "v");
	ck_assert_uint_eq(stats_of(s).cells_old, sizeof(old) / sizeof(old[0]));
}

SUITE_LEVELDB_STORE(test_written_and_deleted, 10)
{
	struct wcs_stats before, after;

	before = stats_of(s);
	suite_set(s->table, "r", "f", "q", 1, "12345");
	suite_set(s->table, "r", "f", "q", 2, "67");
	suite_set(s->table, "s", "f", "q", 2, "8");
	after = stats_of(s);
	ck_assert_uint_eq(after.cells_written - before.cells_written, 3);
	ck_assert_uint_eq(after.cells_old, 0);
	ck_assert_uint_eq(after.cells_deleted, before.cells_deleted);
	ck_assert_uint_ge(after.bytes_written - before.bytes_written, 8);
	suite_delete_row(s->table, "r");
	ck_assert_uint_eq(stats_of(s).cells_deleted - before.cells_deleted, 2);
	SUITE_OK(wcs_rows_drop(s->table, NULL));
	after = stats_of(s);
	ck_assert_uint_eq(after.cells_deleted - before.cells_deleted, 3);
	ck_assert_uint_eq(after.drops, 0);
	ck_assert(!after.failed);
}

/* A refused mutation writes nothing. */
SUITE_LEVELDB_STORE(test_refused, 10)
{
	struct wcs_stats before, after;

	suite_set(s->table, "r", "f", "q", 1, "1");
	before = stats_of(s);
	ck_assert_int_eq(suite_load(s->table,
				    "{\"key\":\"r\",\"if\":{\"f\":{\"q\":\"other\"}},"
				    "\"families\":{\"f\":{\"q\":\"2\"}}}",
				    NULL),
			 -ECANCELED);
	after = stats_of(s);
	ck_assert_uint_eq(after.cells_written, before.cells_written);
	ck_assert_uint_eq(after.bytes_written, before.bytes_written);
}

SUITE_LEVELDB_STORE(test_read, 10)
{
	struct wcs_value *value;
	struct wcs_stats before;
	char buf[100];
	size_t got;

	suite_set(s->table, "r", "f", "q", 1, "12345");
	set_large(s, "s");
	before = stats_of(s);
	SUITE_OK(wcs_value_open(s->table, suite_text("s"), "f", suite_text("q"), 1, &value));
	ck_assert_uint_eq(stats_of(s).value_bytes_read, before.value_bytes_read);
	SUITE_OK(wcs_value_read(value, buf, sizeof(buf), LARGE - 30, &got));
	wcs_value_close(value);
	ck_assert_uint_eq(stats_of(s).value_bytes_read - before.value_bytes_read, 30);
	free(suite_scan(s->table, &(struct wcs_range){.start = {NULL, 0}}, 1,
			&(struct wcs_filter){.each = WCS_EACH_CELL}));
	ck_assert_uint_eq(stats_of(s).value_bytes_read - before.value_bytes_read, 35 + LARGE);
}

/* A value that is open keeps its space, and that shows. */
SUITE_LEVELDB_STORE(test_reclaimed, 60)
{
	struct wcs_value *value;
	struct wcs_stats stats;

	set_large(s, "r");
	set_large(s, "s");
	SUITE_OK(wcs_value_open(s->table, suite_text("r"), "f", suite_text("q"), 1, &value));
	SUITE_OK(wcs_rows_drop(s->table, NULL));
	while (stats_of(s).values_pending > 1)
		suite_sleep(10);
	stats = stats_of(s);
	ck_assert_uint_eq(stats.values_pending, 1);
	wcs_value_close(value);
	while (stats_of(s).values_reclaimed < 2)
		suite_sleep(10);
	stats = stats_of(s);
	ck_assert_uint_eq(stats.values_pending, 0);
	ck_assert_uint_eq(stats.values_reclaimed, 2);
}

static uint64_t files_of(const struct wcs_stats *stats, uint64_t *bytes)
{
	uint64_t files = 0;

	*bytes = 0;
	for (size_t i = 0; i < stats->level_count; i++) {
		files += stats->levels[i].files;
		*bytes += stats->levels[i].bytes;
	}
	return files;
}

SUITE_LEVELDB_STORE(test_files, 60)
{
	uint64_t bytes = 0;
	char row[16], *text;
	struct wcs_stats stats = stats_of(s);

	ck_assert_uint_le(stats.level_count, WCS_LEVELS_MAX);
	ck_assert_uint_gt(stats.cache_bytes, 0);
	for (int i = 0; i < 120; i++) { /* 36 MB, more than fits into memory */
		snprintf(row, sizeof(row), "%03d", i);
		set_large(s, row);
	}
	while (files_of(&stats, &bytes) == 0 || bytes < 10 << 20) {
		suite_sleep(10);
		stats = stats_of(s);
	}
	ck_assert_uint_gt(files_of(&stats, &bytes), 0);
	ck_assert_uint_ge(bytes, 10 << 20);
	ck_assert_uint_le(bytes, 40 << 20);
	ck_assert_uint_gt(stats.memory_bytes, 0);
	text = wcs_store_engine_text(s->store);
	ck_assert_ptr_nonnull(strstr(text, "Level  Files Size(MB)"));
	free(text);
}

/* More than a batch is compacted, and that is done when the drop returns. */
SUITE_LEVELDB_STORE(test_drop_compacts, 60)
{
	struct wcs_stats stats;
	char row[16];

	for (int i = 0; i < 10000; i++) {
		snprintf(row, sizeof(row), "r#%05d", i);
		suite_set(s->table, row, "f", "q", 1, "v");
	}
	SUITE_OK(wcs_rows_drop(s->table, &SUITE_BYTES("r#00001")));
	ck_assert_uint_eq(stats_of(s).compactions, 0);
	SUITE_OK(wcs_rows_drop(s->table, &SUITE_BYTES("r")));
	stats = stats_of(s);
	ck_assert_uint_eq(stats.compactions, 1);
	ck_assert_uint_eq(stats.compactions_pending, 0);
	ck_assert_uint_eq(stats.cells_deleted, 10000);
}

SUITE_TEST(test_engine_without_numbers, 10)
{
	struct suite s;
	char *text;

	suite_open(&s, SUITE_MEMORY);
	ck_assert_uint_eq(stats_of(&s).level_count, 0);
	ck_assert(!stats_of(&s).failed);
	text = wcs_store_engine_text(s.store);
	ck_assert_str_ne(text, "");
	free(text);
	suite_close(&s);
}
