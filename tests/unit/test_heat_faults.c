/* SPDX-License-Identifier: MIT */
/* The heat map where something is in its way: clocks, full and failing disks, damaged records,
 * views that read a row twice, long keys, more tables than a store can have at once. */
#include "store/table/table.h"
#include "tests/unit/heat_store.h"

#include <malloc.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Clocks ------------------------------------------------------------------------------ */

/* A machine without a battery starts in 1970: the windows begin before it. */
SUITE_STORES(test_clock_in_1970, 30)
{
	s->heat_in_memory = true;
	heat_open(s, 5000000);
	heat_load(s->table, 0, 10);
	for (int window = 0; window < WCS_HEAT_WINDOWS; window++)
		ck_assert_uint_eq(
			heat_total(s->table, (enum wcs_heat_window)window, WCS_HEAT_WRITES), 10);
}

/* Half an hour is counted twice, and a day ahead for a moment. */
SUITE_LEVELDB_STORE(test_clock_goes_back, 30)
{
	uint64_t writes = 0;

	heat_open(s, START);
	for (int round = 0; round < 2; round++) {
		s->clock = START;
		for (int minute = 0; minute < 30; minute++) {
			heat_load(s->table, 0, 10);
			writes += 10;
			heat_tick(s, 1);
		}
	}
	heat_tick(s, 24 * 60);
	s->clock -= 24 * 60 * MINUTE;
	for (int window = 0; window < WCS_HEAT_WINDOWS; window++)
		ck_assert_uint_eq(
			heat_total(s->table, (enum wcs_heat_window)window, WCS_HEAT_WRITES),
			writes);
}

/* ---- Views ------------------------------------------------------------------------------- */

static const struct wcs_column heat_column = {{"f", 1}, {"q", 1}};

/* Views that look into a row before they give it, and others. */
static const struct wcs_step heat_views[] = {
	{.kind = WCS_STEP_HAS, .columns = &heat_column, .column_count = 1},
	{.kind = WCS_STEP_WHERE, .columns = &heat_column, .column_count = 1, .bytes = {"12345", 5}},
	{.kind = WCS_STEP_WHERE, .columns = &heat_column, .column_count = 1, .bytes = {"1", 1}},
	{.kind = WCS_STEP_KEY, .bytes = {"row.*[13579]", 12}},
	{.kind = WCS_STEP_REVERSE},
	{.kind = WCS_STEP_NEWEST, .number = 1},
};

SUITE_STORES(test_a_view_reads_a_row_once, 30)
{
	heat_open(s, START);
	heat_load(s->table, 0, 10);
	for (size_t i = 0; i < sizeof(heat_views) / sizeof(heat_views[0]); i++) {
		struct wcs_filter filter = {.chain = NULL};
		struct wcs_scan *scan;
		struct wcs_cell cell;
		int rc;

		heat_tick(s, 400);
		SUITE_OK(wcs_chain_add(s->table, NULL, &heat_views[i], &filter.chain, NULL));
		SUITE_OK(wcs_scan_open(s->table, &suite_all, 1, &filter, &scan));
		while ((rc = wcs_scan_next(scan, &cell)) > 0)
			;
		SUITE_OK(rc);
		wcs_scan_close(scan);
		wcs_chain_free(filter.chain);
		ck_assert_msg(heat_total(s->table, WCS_HEAT_6H, WCS_HEAT_READS) == 10, "view %zu",
			      i);
	}
}

/* From the last row to the first, by a view and by the filter: each in its own range. */
SUITE_STORES(test_a_reversed_scan_moves_through_the_ranges, 60)
{
	static const struct wcs_step reverse = {.kind = WCS_STEP_REVERSE};

	heat_open(s, START);
	heat_load(s->table, 0, 2000);
	for (int i = 0; i < 2; i++) {
		struct wcs_filter filter = {.reverse = i == 0};
		struct wcs_heat_map *map;
		struct wcs_scan *scan;
		struct wcs_cell cell;

		heat_tick(s, 400);
		if (i == 1)
			SUITE_OK(wcs_chain_add(s->table, NULL, &reverse, &filter.chain, NULL));
		SUITE_OK(wcs_scan_open(s->table, &suite_all, 1, &filter, &scan));
		while (wcs_scan_next(scan, &cell) > 0)
			;
		wcs_scan_close(scan);
		wcs_chain_free(filter.chain);
		SUITE_OK(wcs_heat_map(s->table, WCS_HEAT_6H, WCS_HEAT_READS, 0, 0, &map));
		ck_assert_uint_eq(map->total, 2000);
		ck_assert_uint_gt(map->rows, 50);
		ck_assert_uint_lt(map->largest, 200);
		wcs_heat_map_free(map);
	}
}

/* A scan of all rows each minute: few rows are counted one by one; of many no row looks hot. */
SUITE_STORES(test_scans_make_no_hot_row, 60)
{
	struct wcs_heat_map *map;

	heat_open(s, START);
	for (int rows = 5; rows <= 1000; rows += 995) {
		heat_load(s->table, 0, rows);
		heat_tick(s, 400);
		for (int minute = 0; minute < 10; minute++) {
			struct wcs_count count;

			SUITE_OK(wcs_rows_count(s->table, NULL, NULL, &count));
			heat_tick(s, 1);
		}
		SUITE_OK(wcs_heat_map(s->table, WCS_HEAT_6H, WCS_HEAT_READS, 0, 0, &map));
		ck_assert_uint_eq(map->total, 10 * (uint64_t)rows);
		for (size_t i = 0; i < map->rows; i++)
			ck_assert_uint_le(map->ranges[i].total, rows == 5 ? 10 : 500);
		ck_assert_uint_le(map->largest, rows == 5 ? 1 : 100);
		wcs_heat_map_free(map);
	}
}

/* ---- Records that cannot be kept or read ------------------------------------------------- */

/* After a failed write the store is read-only; its reads are in the map all the same. */
static void heat_run_without_room(struct suite *s)
{
	struct rlimit limit;

	heat_open(s, START);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = 1;
	setrlimit(RLIMIT_FSIZE, &limit);
	for (int minute = 0; minute < 30; minute++) {
		heat_get(s->table, "row#00003");
		s->clock += MINUTE;
		wcs_heat_fold(s->store);
	}
	for (int window = 0; window < WCS_HEAT_WINDOWS; window++)
		ck_assert_uint_eq(
			heat_total(s->table, (enum wcs_heat_window)window, WCS_HEAT_READS), 30);
}

SUITE_LEVELDB_STORE(test_read_only_after_a_failed_write, 30)
{
	pid_t child;
	int status;

	heat_load(s->table, 0, 10);
	suite_shut(s);
	child = fork();
	if (child == 0) {
		if (suite_try_open(s) != 0)
			_exit(1);
		heat_run_without_room(s);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	SUITE_OK(suite_try_open(s));
}

/* A record of no form is as none: of a minute and of its window's others. */
SUITE_LEVELDB_STORE(test_garbage_in_the_place_of_records, 30)
{
	static const unsigned char garbage[3][5] = {
		{0xff, 0xff, 0xff, 0xff, 0xff}, {0xc0, 0x82, 0xea, 0x0d, 1}, {0}};
	heat_open(s, START);
	for (int round = 0; round < 3; round++) {
		const struct wcs_engine *engine = &s->store->engine;

		for (uint16_t number = 1; number < 1612; number++)
			SUITE_OK(engine->local->note_put(engine->db, number, garbage[round], 5));
		heat_load(s->table, 0, 10);
		s->clock += MINUTE;
		for (int window = 0; window < WCS_HEAT_WINDOWS; window++)
			ck_assert_uint_eq(
				heat_total(s->table, (enum wcs_heat_window)window, WCS_HEAT_WRITES),
				10);
	}
}

/* ---- Tables ------------------------------------------------------------------------------ */

/* As many tables as there may be, of which each is removed and made again. */
SUITE_ON(test_tables_made_again, SUITE_MEMORY, 1, 120)
{
	heat_open(s, START);
	for (int i = 1; i <= (int)WCS_TABLES_MAX + 200; i++) {
		struct wcs_table *table = heat_table(s, i);

		for (int j = 0; j < 10; j++)
			suite_set(table, "row", "f", "q", WCS_TS_SERVER, "v");
		if (i % 100 == 0 || i > (int)WCS_TABLES_MAX)
			ck_assert_msg(heat_total(table, WCS_HEAT_6H, WCS_HEAT_WRITES) == 10, "%d",
				      i);
		SUITE_OK(wcs_table_drop(table));
		wcs_table_close(table);
	}
}

/* ---- Keys -------------------------------------------------------------------------------- */

/* Empty segments, NUL bytes, the greatest byte; each followed by so many bytes of fill. */
static const struct {
	struct wcs_slice start;
	int fill;
	size_t len; /* 0: of the start */
} heat_keys[] = {
	{{"\0", 1}, 0, 0},	 {{"\0\0", 2}, 0, 0},	{{"#", 1}, 0, 0},
	{{"##", 2}, 0, 0},	 {{"a", 1}, 0, 0},	{{"a\0", 2}, 0, 0},
	{{"a#", 2}, 0, 0},	 {{"a##b", 4}, 0, 0},	{{"\xff", 1}, 0, 0},
	{{"\xff\xff", 2}, 0, 0}, {{"b", 1}, 'b', 4093}, {{"\xff", 1}, 0xff, 4093},
};
enum { HEAT_KEYS = sizeof(heat_keys) / sizeof(heat_keys[0]) };

/* The sum of the ranges of one row with the key. */
static uint64_t heat_of_row(const struct suite *s, const struct wcs_heat_map *map,
			    struct wcs_slice key)
{
	unsigned char bytes[WCS_ROW_KEY_MAX];
	struct wcs_slice stored = wcs_keys_stored(wcs_table_keys(s->table), key, bytes);
	uint64_t sum = 0;

	for (size_t i = 0; i < map->rows; i++)
		if (map->ranges[i].row && wcs_slice_compare(map->ranges[i].start, stored) == 0)
			sum += map->ranges[i].total;
	return sum;
}

SUITE_STORES(test_any_bytes_are_keys, 30)
{
	struct wcs_slice keys[HEAT_KEYS];
	struct wcs_heat_map *map;

	heat_open(s, START);
	for (size_t i = 0; i < HEAT_KEYS; i++) {
		size_t len = heat_keys[i].len > 0 ? heat_keys[i].len : heat_keys[i].start.len;
		char *bytes = malloc(len);

		memset(bytes, heat_keys[i].fill, len);
		memcpy(bytes, heat_keys[i].start.data, heat_keys[i].start.len);
		keys[i] = (struct wcs_slice){bytes, len};
		for (size_t j = 0; j < 100 + i; j++)
			suite_put(s->table, keys[i], "f", suite_text("q"), (int64_t)j,
				  suite_text("v"));
	}
	for (int window = 0; window < WCS_HEAT_WINDOWS; window++) {
		uint64_t total = 0;

		SUITE_OK(wcs_heat_map(s->table, (enum wcs_heat_window)window, WCS_HEAT_WRITES, 0, 0,
				      &map));
		for (size_t i = 0; i < HEAT_KEYS; i++) {
			ck_assert_msg(heat_of_row(s, map, keys[i]) == 100 + i, "key %zu", i);
			total += 100 + i;
		}
		ck_assert_uint_eq(map->total, total);
		wcs_heat_map_free(map);
		heat_tick(s, 30);
	}
	for (size_t i = 0; i < HEAT_KEYS; i++)
		free((void *)(uintptr_t)keys[i].data);
}

/* ---- Memory ------------------------------------------------------------------------------ */

#ifdef __SANITIZE_ADDRESS__ /* which keeps freed memory */
#define LONG_MOST (300 << 10)
#else
#define LONG_MOST (16 << 10) /* KiB */
#endif

enum { LONG_ROWS = 2000, LONG_TABLES = 30, LONG_MINUTES = 400, LONG_HOT = 50 };

/* Keys of 4,000 bytes: half of them differ at their ends alone. */
static void heat_long_key(int row, char key[4001])
{
	memset(key, 'x', 4000);
	if (row % 2 == 0) {
		snprintf(key, 6, "%05u", (unsigned int)row % 100000);
		key[5] = 'x';
	}
	snprintf(key + 3980, 21, "#%019d", row);
}

/* Each minute other rows are hot. Returns the most memory that the process had, in KiB. */
static long heat_peak(struct suite *s)
{
	struct wcs_table *tables[LONG_TABLES];
	struct rusage used;
	char name[16], key[4001];

	SUITE_OK(suite_try_open(s));
	for (int i = 0; i < LONG_TABLES; i++) {
		snprintf(name, sizeof(name), "t%d", i);
		SUITE_OK(wcs_table_open(s->store, name, &tables[i]));
	}
	for (int minute = 0; minute < LONG_MINUTES; minute++) {
		for (int i = 0; i < LONG_HOT * 3; i++) {
			int row = (minute * LONG_HOT + i % LONG_HOT) % LONG_ROWS;

			heat_long_key(row, key);
			heat_get(tables[row % LONG_TABLES], key);
		}
		s->clock += MINUTE;
		if (s->heat)
			SUITE_OK(wcs_heat_fold(s->store));
	}
	for (int i = 0; i < LONG_TABLES; i++) {
		if (s->heat)
			ck_assert_uint_gt(heat_total(tables[i], WCS_HEAT_28D, WCS_HEAT_READS), 0);
		wcs_table_close(tables[i]);
	}
	getrusage(RUSAGE_SELF, &used);
	return used.ru_maxrss;
}

SUITE_CONTRACT("It uses at most 16 MiB of memory for all tables")

SUITE_LEVELDB_STORE(test_memory_of_long_keys, 120)
{
	struct wcs_table *tables[LONG_TABLES];
	long peaks[2];
	char key[4001];
	int ends[2];

	for (int i = 0; i < LONG_TABLES; i++)
		tables[i] = heat_table(s, i);
	for (int row = 0; row < LONG_ROWS; row++) {
		heat_long_key(row, key);
		suite_set(tables[row % LONG_TABLES], key, "f", "q", WCS_TS_SERVER, "v");
	}
	for (int i = 0; i < LONG_TABLES; i++)
		wcs_table_close(tables[i]);
	suite_shut(s);
	malloc_trim(0); /* the children begin with little */
	s->clock = START;
	ck_assert_int_eq(pipe(ends), 0);
	for (int heat = 0; heat < 2; heat++) {
		pid_t child = fork();
		int status;

		if (child == 0) {
			s->heat = s->heat_in_memory = heat;
			peaks[heat] = heat_peak(s);
			_exit(write(ends[1], &peaks[heat], sizeof(peaks[heat])) < 0);
		}
		ck_assert_int_eq(waitpid(child, &status, 0), child);
		ck_assert_int_eq(status, 0);
		ck_assert_int_gt(read(ends[0], &peaks[heat], sizeof(peaks[heat])), 0);
	}
	printf("peaks: %ld and %ld KiB\n", peaks[0], peaks[1]);
	ck_assert_int_le(peaks[1] - peaks[0], LONG_MOST);
	close(ends[0]);
	close(ends[1]);
	SUITE_OK(suite_try_open(s));
}

int main(void)
{
	return suite_main("heat_faults", NULL);
}
