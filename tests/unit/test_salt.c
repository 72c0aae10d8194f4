/* SPDX-License-Identifier: MIT */
/*
 * Salted tables: rows without their salt, the engine's seeks that reads cost, and scans of large
 * rows beside those of a plain table.
 */
#include "store/backend.h"
#include "store/chain/chain.h"
#include "store/table/table.h"
#include "tests/unit/suite.h"

#include <stdatomic.h>

/* The stored key as contract-2, section 10, has it. */
static char *salt_expected(const char *key, unsigned int buckets, unsigned int salted, char *stored)
{
	uint64_t hash = 14695981039346656037u;
	unsigned int segments = 0;

	for (const char *byte = key; *byte != '\0'; byte++) {
		if (*byte == '#' && ++segments == salted)
			break;
		hash = (hash ^ (unsigned char)*byte) * 1099511628211u;
	}
	hash = (hash & 0xFFFFFFFFu) ^ (hash >> 32);
	sprintf(stored, "%02x#%s", (unsigned int)(hash % buckets), key);
	return stored;
}

/* ---- Stored keys ------------------------------------------------------------------------- */

static const char *const keys[] = {"a",	   "a!b",   "a#b", "a#b#c", "a#b#d", "b",
				   "b#x#", "c#y#z", "#q",  "##",    "d\xff", "e#\xff\xff"};
enum { KEYS = sizeof(keys) / sizeof(keys[0]) };

static struct wcs_chain *raw_chain(struct wcs_table *table)
{
	const struct wcs_step step = {.kind = WCS_STEP_RAW};
	struct wcs_chain *chain;

	SUITE_OK(wcs_chain_add(table, NULL, &step, &chain, NULL));
	return chain;
}

/* Writes a row by its stored key, as another client would. */
static void put_stored(struct suite *s, const char *stored)
{
	const struct wcs_keys *design = wcs_table_keys(s->table);

	atomic_store(&s->table->keys, NULL);
	suite_set(s->table, stored, "f", "q", 1, "foreign");
	suite_set(s->table, stored, "f", "r", 1, "foreign");
	atomic_store(&s->table->keys, design);
}

SUITE_CONTRACT("contract-2, 10: a stored key without its right salt shows in .raw only")
SUITE_LEVELDB_STORE(test_rows_without_their_salt, 30)
{
	const struct wcs_filter rows = {.each = WCS_EACH_ROW};
	struct wcs_stats stats;
	struct wcs_key_info info;
	struct wcs_count count;
	struct wcs_chain *raw;
	char own[32];
	unsigned int other;

	suite_salt(s, 16, 0);
	suite_set(s->table, "b", "f", "q", 1, "v");
	suite_set(s->table, "d", "f", "q", 1, "v");
	for (int i = 0; i < 3; i++) { /* in each bucket but its own */
		static const char *const foreign[] = {"a", "b#c", "z"};
		char stored[32];

		salt_expected(foreign[i], 16, 0, own);
		sscanf(own, "%2x", &other);
		for (unsigned int bucket = 0; bucket < 16; bucket++)
			if (bucket != other) {
				snprintf(stored, sizeof(stored), "%02x#%s", bucket, foreign[i]);
				put_stored(s, stored);
			}
	}
	put_stored(s, "00#");
	put_stored(s, "zz#a");
	put_stored(s, "a");
	suite_expect(s->table, "b/f/q@1=v d/f/q@1=v ");
	suite_expect_scan(s->table, &suite_all, &rows, "b/f/q@1=v d/f/q@1=v ");
	SUITE_OK(wcs_store_stats(s->store, &stats));
	ck_assert_uint_eq(stats.rows_wrong_salt, 2 * (3 * 15 + 1));
	SUITE_OK(wcs_key_get(s->table, suite_text("b"), &info));
	ck_assert(info.row && !info.prefix);
	SUITE_OK(wcs_key_get(s->table, suite_text("z"), &info));
	ck_assert(!info.row && !info.prefix);
	suite_expect_text(suite_list(s->table, suite_text(""), NULL, false), "b d ");
	raw = raw_chain(s->table);
	SUITE_OK(wcs_rows_count(s->table, NULL, raw, &count));
	ck_assert_uint_eq(count.rows, 2 + 3 * 15 + 3);
	wcs_chain_free(raw);
	SUITE_OK(wcs_rows_drop(s->table, NULL)); /* all of them, so that the design may change */
	SUITE_OK(wcs_table_set_delimiter(s->table, '|', NULL));
}

SUITE_CONTRACT("contract-2, 10: the limit of 4,096 bytes applies to the stored key")
SUITE_LEVELDB_STORE(test_longest_stored_key, 30)
{
	char *bytes = suite_pattern(WCS_ROW_KEY_MAX, 1);
	struct wcs_slice longest = {bytes, 4093}, longer = {bytes, 4094};
	struct wcs_mutation *mutation = wcs_mutation_new();
	struct wcs_entry entries[] = {{.row = suite_text("a"), .mutation = mutation},
				      {.row = longest, .mutation = mutation},
				      {.row = longer, .mutation = mutation},
				      {.row = suite_text("b"), .mutation = mutation}};
	struct wcs_move move = {.kind = WCS_MOVE_COLUMN, .family = "f", .from = suite_text("q")};
	struct wcs_cell_info info;
	struct wcs_key_info key;
	struct wcs_chain *raw;
	struct wcs_count count;
	size_t applied;

	suite_salt(s, 16, 1);
	SUITE_OK(wcs_mutation_set(mutation, "f", suite_text("q"), 1, suite_text("v")));
	ck_assert_int_eq(wcs_rows_mutate(s->table, entries, 4, &applied), -ENAMETOOLONG);
	ck_assert_uint_eq(applied, 2);
	SUITE_OK(wcs_cell_get(s->table, longest, "f", suite_text("q"), 1, &info));
	ck_assert_int_eq(wcs_cell_get(s->table, longer, "f", suite_text("q"), 1, &info),
			 -ENAMETOOLONG);
	ck_assert_int_eq(wcs_key_get(s->table, longer, &key), -ENAMETOOLONG);
	ck_assert_int_eq(wcs_rows_drop(s->table, &longer), -ENAMETOOLONG);
	ck_assert_int_eq(wcs_cells_move(s->table, longer, &move, NULL), -ENAMETOOLONG);
	raw = raw_chain(s->table);
	SUITE_OK(wcs_rows_count(s->table, NULL, raw, &count));
	ck_assert_uint_eq(count.rows, 2);
	wcs_chain_free(raw);
	wcs_mutation_free(mutation);
	free(bytes);
}

/* A scan keeps the design of a table that is removed and closed meanwhile. */
SUITE_LEVELDB_STORE(test_scan_of_a_removed_table, 30)
{
	struct wcs_scan *scan;
	struct wcs_cell cell;

	suite_salt(s, 16, 0);
	for (int i = 0; i < KEYS; i++)
		suite_set(s->table, keys[i], "f", "q", 1, "v");
	SUITE_OK(wcs_scan_open(s->table, &suite_all, 1, &suite_cells, &scan));
	SUITE_OK(wcs_table_drop(s->table));
	wcs_table_close(s->table);
	s->table = NULL;
	for (int i = 0; i < KEYS; i++)
		ck_assert_int_eq(wcs_scan_next(scan, &cell), 1);
	ck_assert_int_eq(wcs_scan_next(scan, &cell), 0);
	wcs_scan_close(scan);
}

/* ---- Shown keys -------------------------------------------------------------------------- */

/* The rows that a view shows, each with a space. */
static char *rows_of(struct wcs_table *table, bool raw, const struct wcs_step *step)
{
	const struct wcs_step first = {.kind = WCS_STEP_RAW};
	struct wcs_filter filter = {.each = WCS_EACH_ROW};
	struct wcs_chain *chain = NULL;
	struct wcs_scan *scan;
	struct wcs_cell cell;
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	if (raw)
		SUITE_OK(wcs_chain_add(table, NULL, &first, &chain, NULL));
	SUITE_OK(wcs_chain_add(table, chain, step, &filter.chain, NULL));
	wcs_chain_free(chain);
	SUITE_OK(wcs_scan_open(table, &suite_all, 1, &filter, &scan));
	while (wcs_scan_next(scan, &cell) == 1)
		fprintf(out, "%.*s ", (int)cell.row.len, (const char *)cell.row.data);
	wcs_scan_close(scan);
	wcs_chain_free(filter.chain);
	fclose(out);
	return text;
}

SUITE_CONTRACT(
	"contract-2, 9: rows whose whole shown key matches; a range as far as segments are text")
SUITE_LEVELDB_STORE(test_views_of_shown_keys, 30)
{
	static const char *const rows[] = {"a#example.org#00007", "a#com.google.maps#00042",
					   "a#com.google.mail#00420", "b#com.google.maps#00004"};
	static const struct {
		const char *expression, *rows;
		bool raw;
	} cases[] = {
		{"a#maps.*", "a#com.google.maps#00042 ", false},
		{"a#m[a-z.]*#42", "a#com.google.maps#00042 ", false},
		{".#maps\\.google\\.com#4.*", "a#com.google.maps#00042 b#com.google.maps#00004 ",
		 false},
		{"a#com.*", "", false},
		{"a#org\\.example#7", "a#example.org#00007 ", false},
		{"..#b#com.*", NULL, true},
	};
	struct wcs_keys design = {.buckets = 16,
				  .salt_segments = 1,
				  .segment_count = 3,
				  .segments = {{.name = "t", .codec = WCS_CODEC_TEXT},
					       {.name = "host", .codec = WCS_CODEC_REVERSE_DOMAIN},
					       {.name = "n", .codec = WCS_CODEC_PAD, .width = 5}}};
	struct wcs_step sample = {.kind = WCS_STEP_SAMPLE};
	char stored[40], expected[200] = "";
	struct wcs_fault fault;
	char *text;

	SUITE_OK(wcs_table_set_keys(s->table, &design, &fault));
	for (int i = 0; i < 4; i++)
		suite_set(s->table, rows[i], "f", "q", 1, "v");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct wcs_step step = {.kind = WCS_STEP_KEY,
					      .bytes = suite_text(cases[i].expression)};

		snprintf(expected, sizeof(expected), "%s ", salt_expected(rows[3], 16, 1, stored));
		suite_expect_text(rows_of(s->table, cases[i].raw, &step),
				  cases[i].rows != NULL ? cases[i].rows : expected);
	}
	for (int i = 0; i < 4; i++) { /* a sample has a row from its key's hash on */
		for (int above = 0; above < 2; above++) {
			sample.number = suite_sample(rows[i]) * UINT64_C(1000000000) / 4294967296u +
					(uint64_t)above;
			text = rows_of(s->table, false, &sample);
			ck_assert_int_eq(strstr(text, rows[i]) != NULL, above);
			free(text);
		}
	}
}

/* ---- Seeks ------------------------------------------------------------------------------- */

/* LevelDB, with its calls counted. */
static struct wcs_backend counting;
static struct scan_ops counting_ops;
static const struct scan_ops *counted; /* the functions that it calls */
static struct {
	unsigned int scans, seeks, keys;
	unsigned int buckets; /* of the last scan */
} calls;

static int count_seek(struct wcs_scan *scan, struct wcs_slice row)
{
	calls.seeks++;
	return counted->seek(scan, row);
}

static int count_enter(struct wcs_scan *scan, struct wcs_slice row, const char *family,
		       struct wcs_slice qualifier)
{
	calls.seeks++;
	return counted->enter(scan, row, family, qualifier);
}

static int count_open(void *db, const struct wcs_view *view, uint32_t table,
		      const struct wcs_range *ranges, size_t range_count,
		      const struct wcs_filter *filter, struct wcs_scan **scan)
{
	int rc = wcs_backend_leveldb.scan_open(db, view, table, ranges, range_count, filter, scan);

	if (rc != 0)
		return rc;
	calls.scans++;
	calls.buckets = 0;
	for (size_t i = 0; i < range_count; i++)
		calls.buckets +=
			i == 0 || memcmp(ranges[i].start.data, ranges[i - 1].start.data, 2) != 0;
	counted = (*scan)->ops;
	counting_ops = *counted;
	counting_ops.seek = count_seek;
	counting_ops.enter = count_enter;
	(*scan)->ops = &counting_ops;
	return 0;
}

static int count_key(void *db, uint32_t table, struct wcs_slice key, unsigned char delimiter,
		     struct wcs_key_info *info)
{
	calls.keys++;
	return wcs_backend_leveldb.key_get(db, table, key, delimiter, info);
}

static void calls_clear(void)
{
	memset(&calls, 0, sizeof(calls));
}

enum { CHILDREN = 50, BELOW = 30, BUCKETS = 16 };

/* Fills a table, and opens it again with counted calls. */
static void count_begin(struct suite *s, unsigned int salted)
{
	struct wcs_fault fault;
	char row[16];

	suite_salt(s, BUCKETS, salted);
	for (int child = 0; child < CHILDREN; child++)
		for (int i = 0; i < BELOW; i++) {
			snprintf(row, sizeof(row), "%02d#%02d", child, i);
			suite_set(s->table, row, "f", "q", 1, "v");
		}
	suite_shut(s);
	counting = wcs_backend_leveldb;
	counting.scan_open = count_open;
	counting.key_get = count_key;
	SUITE_OK(wcs_store_open_backend(&counting, s->path, NULL, &s->store, &fault));
	SUITE_OK(wcs_table_open(s->store, "t", &s->table));
	calls_clear();
}

static size_t scan_all(struct wcs_table *table, const char *start, const char *end)
{
	const struct wcs_range range = {suite_text(start), suite_text(end)};
	struct wcs_scan *scan;
	struct wcs_cell cell;
	size_t cells = 0;

	SUITE_OK(wcs_scan_open(table, &range, 1, &suite_cells, &scan));
	while (wcs_scan_next(scan, &cell) == 1)
		cells++;
	wcs_scan_close(scan);
	return cells;
}

SUITE_CONTRACT("contract-2, 10: a listing or stream below those segments reads one bucket")
SUITE_LEVELDB_STORE(test_reads_of_one_bucket, 60)
{
	struct wcs_cell_info info;
	struct wcs_key_info key;

	count_begin(s, 1);
	ck_assert_uint_eq(scan_all(s->table, "07#", "07$"), BELOW);
	ck_assert_uint_eq(calls.scans, 1);
	ck_assert_uint_eq(calls.buckets, 1);
	ck_assert_uint_eq(calls.seeks, 0);
	calls_clear();
	suite_expect_text(suite_list(s->table, suite_text("07#2"), NULL, false),
			  "0 1 2 3 4 5 6 7 8 9 ");
	ck_assert_uint_eq(calls.buckets, 1);
	calls_clear();
	SUITE_OK(wcs_key_get(s->table, suite_text("07"), &key));
	ck_assert(key.prefix && !key.row);
	SUITE_OK(wcs_cell_get(s->table, suite_text("07#03"), "f", suite_text("q"), 1, &info));
	ck_assert_uint_eq(calls.scans, 0);
	ck_assert_uint_eq(calls.keys, 1);
}

SUITE_CONTRACT("issue 21: at most one seek a bucket and child")
SUITE_LEVELDB_STORE(test_seeks_over_all_buckets, 60)
{
	struct wcs_key_info key;

	count_begin(s, 0);
	free(suite_list(s->table, suite_text(""), NULL, false));
	ck_assert_uint_eq(calls.scans, 1);
	ck_assert_uint_eq(calls.buckets, BUCKETS);
	ck_assert_uint_le(calls.seeks, BUCKETS * (CHILDREN + 1));
	calls_clear();
	free(suite_list(s->table, suite_text(""), NULL, true));
	ck_assert_uint_le(calls.seeks, BUCKETS * (CHILDREN + 1));
	calls_clear();
	SUITE_OK(wcs_key_get(s->table, suite_text("07"), &key));
	ck_assert(key.prefix && !key.row);
	SUITE_OK(wcs_key_get(s->table, suite_text("07#03"), &key));
	ck_assert(!key.prefix && key.row);
	SUITE_OK(wcs_key_get(s->table, suite_text("x"), &key));
	ck_assert(!key.prefix && !key.row);
	ck_assert_uint_eq(calls.scans, 3);
	ck_assert_uint_le(calls.seeks, 3 * 2);
	calls_clear();
	ck_assert_uint_eq(scan_all(s->table, "07#", "07$"), BELOW); /* two in a bucket */
	ck_assert_uint_le(calls.seeks, BUCKETS);
	calls_clear();
	/* A chunk doubles: of 100 rows in a bucket the fourth has the last. */
	ck_assert_uint_eq(scan_all(s->table, "", "zz"), (size_t)CHILDREN * BELOW);
	ck_assert_uint_le(calls.seeks, 5 * BUCKETS);
}

/* ---- Large rows -------------------------------------------------------------------------- */

enum { LARGE_ROWS = 120, LARGE_STEPS = 3000 };

/* Rows of up to 30 cells, of up to 9,000 bytes: more than a chunk of 256 buckets has. */
static void large_fill(struct suite *plain, struct suite *salted)
{
	static const char *const families[] = {"a", "b", "f"};
	char *bytes = suite_pattern(9000, 1), row[16], qualifier[8];
	uint64_t state = 1;

	for (int i = 0; i < LARGE_ROWS; i++) {
		uint32_t cells = 1 + suite_random(&state) % 30;

		snprintf(row, sizeof(row), "%d#%d", i % 10, i);
		for (uint32_t n = 0; n < cells; n++) {
			struct wcs_slice value = {bytes, suite_random(&state) % 4
								 ? suite_random(&state) % 3000
								 : suite_random(&state) % 9000};
			const char *family = families[suite_random(&state) % 3];
			int64_t ts = suite_random(&state) % 4;

			snprintf(qualifier, sizeof(qualifier), "%u", suite_random(&state) % 6);
			suite_put(plain->table, suite_text(row), family, suite_text(qualifier), ts,
				  value);
			suite_put(salted->table, suite_text(row), family, suite_text(qualifier), ts,
				  value);
		}
	}
	free(bytes);
}

static void large_compare(struct wcs_scan *const scans[2], const int rc[2],
			  const struct wcs_cell cells[2], bool reads)
{
	static char values[2][9000];
	size_t got[2] = {0, 0};

	ck_assert_int_eq(rc[0], rc[1]);
	if (rc[0] <= 0)
		return;
	ck_assert_int_eq(cells[0].differs, cells[1].differs);
	ck_assert_int_eq(wcs_slice_compare(cells[0].row, cells[1].row), 0);
	ck_assert_int_eq(wcs_slice_compare(cells[0].family, cells[1].family), 0);
	ck_assert_int_eq(wcs_slice_compare(cells[0].qualifier, cells[1].qualifier), 0);
	ck_assert_int_eq(cells[0].info.ts, cells[1].info.ts);
	ck_assert_uint_eq(cells[0].info.size, cells[1].info.size);
	ck_assert_int_eq(wcs_slice_compare(cells[0].value, cells[1].value), 0);
	for (int i = 0; i < 2 && reads; i++)
		SUITE_OK(wcs_scan_read(scans[i], values[i], sizeof(values[i]), 5, &got[i]));
	ck_assert_uint_eq(got[0], got[1]);
	ck_assert_int_eq(memcmp(values[0], values[1], got[0]), 0);
}

/* Moves about in both in the same way. */
static void large_walk(struct suite *const suites[2], const struct wcs_filter *filter,
		       uint64_t *state)
{
	static const char *const families[] = {"a", "b", "f"};
	struct wcs_scan *scans[2];
	struct wcs_cell cells[2];
	int rc[2] = {0, 0};

	for (int i = 0; i < 2; i++)
		SUITE_OK(wcs_scan_open(suites[i]->table, &suite_all, 1, filter, &scans[i]));
	for (int step = 0; step < LARGE_STEPS; step++) {
		uint32_t move = suite_random(state) % 24, part = suite_random(state) % 4;
		const char *family = families[suite_random(state) % 3];
		char row[16], qualifier[8];

		snprintf(row, sizeof(row), "%u#%u", suite_random(state) % 10,
			 suite_random(state) % LARGE_ROWS);
		snprintf(qualifier, sizeof(qualifier), "%u", suite_random(state) % 6);
		for (int i = 0; i < 2; i++) {
			const struct scan_ops *ops = scans[i]->ops;

			if (move < 4 && rc[i] > 0 && filter->each == WCS_EACH_CELL)
				ops->skip(scans[i], (enum wcs_part)part);
			else if (move == 4)
				SUITE_OK(ops->seek(scans[i], suite_text(row)));
			else if (move > 4 && move < 8 && rc[i] > 0 && filter->each == WCS_EACH_CELL)
				SUITE_OK(ops->enter(scans[i], cells[i].row,
						    step % 2 ? family : NULL,
						    suite_text(qualifier)));
			rc[i] = wcs_scan_next(scans[i], &cells[i]);
		}
		large_compare(scans, rc, cells, move % 3 == 0);
	}
	for (int i = 0; i < 2; i++)
		wcs_scan_close(scans[i]);
}

SUITE_CONTRACT("contract-2, 10: order, resuming, atomicity and views are as without a salt")
SUITE_LOOP(test_large_rows, 3, 120)
{
	static const unsigned int buckets[] = {2, 16, 256};
	struct suite plain, salted, *const suites[2] = {&plain, &salted};
	uint64_t state = suite_setting("ROWFS_SEED", 1);

	suite_open(&plain, SUITE_LEVELDB);
	suite_open(&salted, SUITE_LEVELDB);
	suite_salt(&salted, buckets[_i], (unsigned int)_i % 2);
	large_fill(&plain, &salted);
	for (int i = 0; i < 16; i++) {
		struct wcs_filter filter = {.each = (enum wcs_each)(i % 4),
					    .reverse = i % 8 >= 4,
					    .newest = i >= 8 ? 1 : 0};

		large_walk(suites, &filter, &state);
	}
	suite_close(&plain);
	suite_close(&salted);
}
