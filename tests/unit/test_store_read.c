/* SPDX-License-Identifier: MIT */
/* Reading on both engines: cells, values, scans with each filter, order of arbitrary bytes. */
#include "mutation.h"

#include "suite.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct wcs_slice q = {"q", 1};
static const struct wcs_range all = {.start = {NULL, 0}};

static void read_put(struct wcs_table *table, struct wcs_slice row, const char *family,
		     struct wcs_slice qualifier, int64_t ts, struct wcs_slice value)
{
	struct wcs_mutation *mutation = wcs_mutation_new();

	ck_assert_int_eq(wcs_mutation_set(mutation, family, qualifier, ts, value), 0);
	ck_assert_int_eq(wcs_row_mutate(table, row, mutation, NULL), 0);
	wcs_mutation_free(mutation);
}

/* ---- Cells and values -------------------------------------------------------------------- */

START_TEST(test_cell_get)
{
	struct wcs_cell_info info = {.ts = 77};
	struct wcs_slice r = suite_text("r");
	struct suite s;

	suite_open(&s, _i);
	suite_set(s.table, "r", "f", "q", 5, "five!");
	suite_set(s.table, "r", "f", "q", 9, "nine");
	ck_assert_int_eq(wcs_cell_get(s.table, r, "f", q, WCS_TS_NEWEST, &info), 0);
	ck_assert_int_eq(info.ts, 9);
	ck_assert_uint_eq(info.size, 4);
	ck_assert_int_eq(wcs_cell_get(s.table, r, "f", q, 5, &info), 0);
	ck_assert_int_eq(info.ts, 5);
	ck_assert_uint_eq(info.size, 5);
	info.ts = 77;
	ck_assert_int_eq(wcs_cell_get(s.table, r, "f", q, 6, &info), -ENOENT);
	ck_assert_int_eq(wcs_cell_get(s.table, r, "f", q, 0, &info), -ENOENT);
	ck_assert_int_eq(wcs_cell_get(s.table, r, "f", q, INT64_MAX, &info), -ENOENT);
	ck_assert_int_eq(wcs_cell_get(s.table, r, "a", q, WCS_TS_NEWEST, &info), -ENOENT);
	ck_assert_int_eq(wcs_cell_get(s.table, r, "none", q, WCS_TS_NEWEST, &info), -ENOENT);
	ck_assert_int_eq(wcs_cell_get(s.table, r, "", q, WCS_TS_NEWEST, &info), -ENOENT);
	ck_assert_int_eq(wcs_cell_get(s.table, suite_text("q"), "f", q, 5, &info), -ENOENT);
	ck_assert_int_eq(wcs_cell_get(s.table, suite_text("rr"), "f", q, 5, &info), -ENOENT);
	ck_assert_int_eq(wcs_cell_get(s.table, r, "f", suite_text(""), 5, &info), -ENOENT);
	ck_assert_int_eq(wcs_cell_get(s.table, r, "f", suite_text("qq"), 5, &info), -ENOENT);
	ck_assert_int_eq(info.ts, 77);
	suite_close(&s);
}
END_TEST

START_TEST(test_read_arguments)
{
	char *bytes = suite_pattern(WCS_QUALIFIER_MAX + 2, 1);
	struct wcs_slice longer_row = {bytes, WCS_ROW_KEY_MAX + 1};
	struct wcs_slice longer_qualifier = {bytes, WCS_QUALIFIER_MAX + 1};
	struct wcs_slice empty = {NULL, 0};
	struct wcs_slice missing = {NULL, 1};
	struct wcs_slice r = suite_text("r");
	struct wcs_cell_info info;
	struct wcs_key_info key;
	struct wcs_value *value;
	struct wcs_list *list;
	struct suite s;

	suite_open(&s, _i);
	ck_assert_int_eq(wcs_cell_get(s.table, empty, "f", q, 0, &info), -EINVAL);
	ck_assert_int_eq(wcs_cell_get(s.table, missing, "f", q, 0, &info), -EINVAL);
	ck_assert_int_eq(wcs_cell_get(s.table, longer_row, "f", q, 0, &info), -ENAMETOOLONG);
	ck_assert_int_eq(wcs_cell_get(s.table, r, "f", longer_qualifier, 0, &info), -ENAMETOOLONG);
	ck_assert_int_eq(wcs_cell_get(s.table, r, "f", missing, 0, &info), -EINVAL);
	ck_assert_int_eq(wcs_cell_get(s.table, r, "f", q, -2, &info), -EINVAL);
	ck_assert_int_eq(wcs_value_open(s.table, empty, "f", q, 0, &value), -EINVAL);
	ck_assert_int_eq(wcs_value_open(s.table, longer_row, "f", q, 0, &value), -ENAMETOOLONG);
	ck_assert_int_eq(wcs_value_open(s.table, r, "f", longer_qualifier, 0, &value),
			 -ENAMETOOLONG);
	ck_assert_int_eq(wcs_value_open(s.table, r, "f", q, -2, &value), -EINVAL);
	ck_assert_int_eq(wcs_value_open(s.table, r, "none", q, 0, &value), -ENOENT);
	ck_assert_int_eq(wcs_value_open(s.table, r, "f", q, 0, &value), -ENOENT);
	ck_assert_int_eq(wcs_key_get(s.table, longer_row, &key), -ENAMETOOLONG);
	ck_assert_int_eq(wcs_key_get(s.table, missing, &key), -EINVAL);
	ck_assert_int_eq(wcs_list_open(s.table, longer_row, NULL, &list), -ENAMETOOLONG);
	ck_assert_int_eq(wcs_list_open(s.table, r, &longer_row, &list), -ENAMETOOLONG);
	ck_assert_int_eq(wcs_list_open(s.table, missing, NULL, &list), -EINVAL);
	wcs_value_close(NULL);
	wcs_scan_close(NULL);
	wcs_list_close(NULL);
	wcs_table_close(NULL);
	wcs_store_close(NULL);
	free(bytes);
	suite_close(&s);
}
END_TEST

static void read_check_value(struct wcs_table *table, size_t size, unsigned int seed)
{
	const size_t offsets[] = {0,	 1,	 4095,	   4096,     65535, 65536,
				  65537, 131071, size / 2, size - 1, size,  size + 1};
	char *bytes = suite_pattern(size, seed);
	char *buf = malloc(size + 10);
	struct wcs_value *value;
	size_t got;

	read_put(table, suite_text("large"), "f", q, 1, (struct wcs_slice){bytes, size});
	ck_assert_int_eq(wcs_value_open(table, suite_text("large"), "f", q, 1, &value), 0);
	ck_assert_uint_eq(wcs_value_info(value)->size, size);
	ck_assert_int_eq(wcs_value_info(value)->ts, 1);
	ck_assert_int_eq(wcs_value_read(value, buf, size + 10, 0, &got), 0);
	ck_assert_uint_eq(got, size);
	ck_assert_int_eq(memcmp(buf, bytes, size), 0);
	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		size_t rest = offsets[i] < size ? size - offsets[i] : 0;
		size_t len = i % 3 == 0 ? 1 : i % 3 == 1 ? 70000 : 4096;

		len = len < size + 10 ? len : size;
		ck_assert_int_eq(wcs_value_read(value, buf, len, offsets[i], &got), 0);
		ck_assert_uint_eq(got, len < rest ? len : rest);
		ck_assert(got == 0 || memcmp(buf, bytes + offsets[i], got) == 0);
	}
	ck_assert_int_eq(wcs_value_read(value, buf, 5, UINT64_MAX, &got), 0);
	ck_assert_uint_eq(got, 0);
	wcs_value_close(value);
	free(buf);
	free(bytes);
}

START_TEST(test_value_sizes)
{
	const size_t sizes[] = {1,
				WCS_VALUE_INLINE - 1,
				WCS_VALUE_INLINE,
				WCS_VALUE_INLINE + 1,
				65535,
				65536,
				65537,
				131071,
				131072,
				131073,
				196608,
				196609,
				1000000,
				WCS_VALUE_WARN,
				WCS_VALUE_WARN + 1};
	struct suite s;

	suite_open(&s, _i);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		ck_assert_int_eq(s.warnings, 0);
		read_check_value(s.table, sizes[i], (unsigned int)i);
	}
	ck_assert_int_eq(s.warnings, 1);
	ck_assert_ptr_null(strstr(s.log, "large"));
	/* and back from the largest to a small one */
	read_check_value(s.table, 10, 99);
	ck_assert_int_eq(s.warnings, 1);
	suite_close(&s);
}
END_TEST

START_TEST(test_largest_value)
{
	struct suite s;

	suite_open(&s, SUITE_LEVELDB);
	read_check_value(s.table, WCS_VALUE_MAX, 7);
	suite_reopen(&s);
	suite_delete_row(s.table, "large");
	suite_expect(s.table, "");
	suite_close(&s);
}
END_TEST

/* An open value stays what it was, whatever becomes of its cell. */
static void read_open_value_stays(struct suite *s, size_t size)
{
	char *bytes = suite_pattern(size, 1);
	char *buf = malloc(size);
	struct wcs_slice r = suite_text("r");
	struct wcs_value *value;
	struct wcs_value *second;
	size_t got;

	read_put(s->table, r, "f", q, 1, (struct wcs_slice){bytes, size});
	ck_assert_int_eq(wcs_value_open(s->table, r, "f", q, 1, &value), 0);
	ck_assert_int_eq(wcs_value_open(s->table, r, "f", q, WCS_TS_NEWEST, &second), 0);
	suite_set(s->table, "r", "f", "q", 1, "replaced");
	ck_assert_int_eq(wcs_value_read(value, buf, size, 0, &got), 0);
	ck_assert_uint_eq(got, size);
	ck_assert_int_eq(memcmp(buf, bytes, size), 0);
	suite_delete_row(s->table, "r");
	read_put(s->table, r, "f", q, 1, (struct wcs_slice){bytes + 1, size - 1});
	wcs_value_close(value);
	memset(buf, 0, size);
	ck_assert_int_eq(wcs_value_read(second, buf, size, 0, &got), 0);
	ck_assert_uint_eq(got, size);
	ck_assert_int_eq(memcmp(buf, bytes, size), 0);
	ck_assert_int_eq(wcs_rows_drop(s->table, NULL), 0);
	memset(buf, 0, size);
	ck_assert_int_eq(wcs_value_read(second, buf, size, 0, &got), 0);
	ck_assert_int_eq(memcmp(buf, bytes, size), 0);
	wcs_value_close(second);
	suite_expect(s->table, "");
	free(buf);
	free(bytes);
}

START_TEST(test_open_value_stays)
{
	struct suite s;

	suite_open(&s, _i);
	read_open_value_stays(&s, 10);
	read_open_value_stays(&s, 5000);
	read_open_value_stays(&s, 70000);
	read_open_value_stays(&s, 3000000);
	suite_close(&s);
}
END_TEST

/* ---- Order ------------------------------------------------------------------------------- */

static const struct wcs_slice read_sorted[] = {
	{"\0", 1},	  {"\0\0", 2},	 {"\0\1", 2},	  {"\0\xff", 2},       {"\1", 1},
	{"\1\0", 2},	  {" ", 1},	 {"a", 1},	  {"a\0", 2},	       {"a\0\0", 3},
	{"a\0b", 3},	  {"a\1", 2},	 {"a!", 2},	  {"a#", 2},	       {"a##", 3},
	{"a#b", 3},	  {"aa", 2},	 {"a\xfe", 2},	  {"a\xff", 2},	       {"a\xff\0", 3},
	{"a\xff\xff", 3}, {"b", 1},	 {"\x7f", 1},	  {"\x80", 1},	       {"\xfe", 1},
	{"\xff", 1},	  {"\xff\0", 2}, {"\xff\xff", 2}, {"\xff\xff\xff", 3},
};
#define READ_SORTED (sizeof(read_sorted) / sizeof(read_sorted[0]))

START_TEST(test_order_of_rows)
{
	struct wcs_filter filter = {.each = WCS_EACH_ROW};
	struct wcs_scan *scan;
	struct wcs_cell cell;
	struct suite s;

	suite_open(&s, _i);
	for (size_t i = 0; i < READ_SORTED; i++)
		read_put(s.table, read_sorted[(i * 11) % READ_SORTED], "f", q, 1, q);
	ck_assert_int_eq(wcs_scan_open(s.table, &all, &filter, &scan), 0);
	for (size_t i = 0; i < READ_SORTED; i++) {
		ck_assert_int_eq(wcs_scan_next(scan, &cell), 1);
		ck_assert_int_eq(wcs_slice_compare(cell.row, read_sorted[i]), 0);
	}
	ck_assert_int_eq(wcs_scan_next(scan, &cell), 0);
	wcs_scan_close(scan);
	/* each range between two of them, and from each one's successor */
	for (size_t from = 0; from < READ_SORTED; from++) {
		for (size_t to = from; to < READ_SORTED; to++) {
			struct wcs_range range = {read_sorted[from], read_sorted[to]};
			size_t count = 0;

			ck_assert_int_eq(wcs_scan_open(s.table, &range, &filter, &scan), 0);
			while (wcs_scan_next(scan, &cell) == 1)
				ck_assert_int_eq(
					wcs_slice_compare(cell.row, read_sorted[from + count++]),
					0);
			ck_assert_uint_eq(count, to - from);
			wcs_scan_close(scan);
		}
	}
	suite_close(&s);
}
END_TEST

START_TEST(test_order_of_qualifiers)
{
	struct wcs_filter filter = {.each = WCS_EACH_CELL};
	struct wcs_scan *scan;
	struct wcs_cell cell;
	struct suite s;

	suite_open(&s, _i);
	read_put(s.table, q, "f", (struct wcs_slice){NULL, 0}, 5, q);
	for (size_t i = 0; i < READ_SORTED; i++)
		read_put(s.table, q, "f", read_sorted[(i * 11) % READ_SORTED], 5, q);
	ck_assert_int_eq(wcs_scan_open(s.table, &all, &filter, &scan), 0);
	ck_assert_int_eq(wcs_scan_next(scan, &cell), 1);
	ck_assert_uint_eq(cell.qualifier.len, 0);
	for (size_t i = 0; i < READ_SORTED; i++) {
		ck_assert_int_eq(wcs_scan_next(scan, &cell), 1);
		ck_assert_int_eq(wcs_slice_compare(cell.qualifier, read_sorted[i]), 0);
	}
	ck_assert_int_eq(wcs_scan_next(scan, &cell), 0);
	wcs_scan_close(scan);
	for (size_t i = 0; i < READ_SORTED; i++) {
		struct wcs_cell_info info;

		ck_assert_int_eq(wcs_cell_get(s.table, q, "f", read_sorted[i], 5, &info), 0);
		ck_assert_int_eq(wcs_cell_get(s.table, q, "f", read_sorted[i], 4, &info), -ENOENT);
	}
	suite_close(&s);
}
END_TEST

START_TEST(test_order_of_families_and_timestamps)
{
	static const char *const families[] = {"-", ".", "0", "A", "_", "aa", "a-", "a."};
	struct suite s;

	suite_open(&s, _i);
	for (size_t i = 0; i < 8; i++) {
		ck_assert_int_eq(wcs_family_create(s.table, families[i]), 0);
		suite_set(s.table, "r", families[i], "", 1, "");
	}
	suite_set(s.table, "r", "a", "z", 1, "");
	suite_set(s.table, "r", "a", "z", INT64_MAX, "");
	suite_set(s.table, "r", "a", "z", 0, "");
	suite_set(s.table, "r", "a", "z", 256, "");
	suite_set(s.table, "r", "a", "z", 255, "");
	suite_expect(s.table, "r/-/@1= r/./@1= r/0/@1= r/A/@1= r/_/@1= "
			      "r/a/z@9223372036854775807= r/a/z@256= r/a/z@255= r/a/z@1= r/a/z@0= "
			      "r/a-/@1= r/a./@1= r/aa/@1= ");
	suite_close(&s);
}
END_TEST

START_TEST(test_longest_of_all)
{
	char *bytes = malloc(WCS_QUALIFIER_MAX);
	struct wcs_slice row = {bytes, WCS_ROW_KEY_MAX};
	struct wcs_slice column = {bytes, WCS_QUALIFIER_MAX};
	char family[WCS_FAMILY_NAME_MAX + 1];
	struct wcs_filter filter = {.each = WCS_EACH_CELL};
	struct wcs_scan *scan;
	struct wcs_cell cell;
	struct suite s;

	suite_open(&s, _i);
	memset(family, 'z', WCS_FAMILY_NAME_MAX);
	family[WCS_FAMILY_NAME_MAX] = '\0';
	ck_assert_int_eq(wcs_family_create(s.table, family), 0);
	for (int byte = 0; byte < 256; byte += 51) {
		memset(bytes, byte, WCS_QUALIFIER_MAX);
		read_put(s.table, row, family, column, INT64_MAX, q);
	}
	ck_assert_int_eq(wcs_scan_open(s.table, &all, &filter, &scan), 0);
	for (int byte = 0; byte < 256; byte += 51) {
		memset(bytes, byte, WCS_QUALIFIER_MAX);
		ck_assert_int_eq(wcs_scan_next(scan, &cell), 1);
		ck_assert_int_eq(wcs_slice_compare(cell.row, row), 0);
		ck_assert_int_eq(wcs_slice_compare(cell.qualifier, column), 0);
		ck_assert_int_eq(wcs_slice_compare(cell.family, suite_text(family)), 0);
	}
	ck_assert_int_eq(wcs_scan_next(scan, &cell), 0);
	wcs_scan_close(scan);
	free(bytes);
	suite_close(&s);
}
END_TEST

/* ---- Filters ----------------------------------------------------------------------------- */

static void read_fill(struct wcs_table *table)
{
	static const char *const rows[] = {"r", "s"};
	static const char *const families[] = {"a", "b"};
	static const char *const columns[] = {"", "p", "q"};

	for (size_t r = 0; r < 2; r++)
		for (size_t f = 0; f < 2; f++)
			for (size_t c = 0; c < 3; c++)
				for (int64_t ts = 1; ts <= 3; ts++)
					suite_set(table, rows[r], families[f], columns[c], ts, "");
}

START_TEST(test_scan_read_without_a_cell)
{
	struct wcs_range range = {.start = {NULL, 0}};
	struct wcs_filter filter = {.each = WCS_EACH_CELL};
	struct wcs_scan *scan;
	struct wcs_cell cell;
	struct suite s;
	char byte;
	size_t got;

	suite_open(&s, _i);
	suite_set(s.table, "r", "f", "q", 1, "v");
	ck_assert_int_eq(wcs_scan_open(s.table, &range, &filter, &scan), 0);
	ck_assert_int_eq(wcs_scan_read(scan, &byte, 1, 0, &got), -EINVAL);
	ck_assert_int_eq(wcs_scan_next(scan, &cell), 1);
	ck_assert_int_eq(wcs_scan_read(scan, &byte, 1, 0, &got), 0);
	ck_assert_uint_eq(got, 1);
	ck_assert_int_eq(wcs_scan_next(scan, &cell), 0);
	ck_assert_int_eq(wcs_scan_read(scan, &byte, 1, 0, &got), -EINVAL);
	ck_assert_int_eq(wcs_scan_next(scan, &cell), 0);
	ck_assert_int_eq(wcs_scan_read(scan, &byte, 1, 0, &got), -EINVAL);
	wcs_scan_close(scan);
	suite_close(&s);
}
END_TEST

START_TEST(test_each)
{
	struct wcs_filter filter = {.each = WCS_EACH_COLUMN};
	struct suite s;

	suite_open(&s, _i);
	read_fill(s.table);
	suite_expect_scan(s.table, &all, &filter,
			  "r/a/@3= r/a/p@3= r/a/q@3= r/b/@3= r/b/p@3= r/b/q@3= "
			  "s/a/@3= s/a/p@3= s/a/q@3= s/b/@3= s/b/p@3= s/b/q@3= ");
	filter.each = WCS_EACH_FAMILY;
	suite_expect_scan(s.table, &all, &filter, "r/a/@3= r/b/@3= s/a/@3= s/b/@3= ");
	filter.each = WCS_EACH_ROW;
	suite_expect_scan(s.table, &all, &filter, "r/a/@3= s/a/@3= ");
	suite_close(&s);
}
END_TEST

START_TEST(test_families)
{
	static const char *const names[] = {"none", "b", "a/", "b", "f"};
	struct wcs_filter filter = {.each = WCS_EACH_ROW, .families = names, .family_count = 5};
	struct suite s;

	suite_open(&s, _i);
	read_fill(s.table);
	suite_set(s.table, "s", "f", "q", 1, "");
	suite_expect_scan(s.table, &all, &filter, "r/b/@3= s/b/@3= ");
	filter.each = WCS_EACH_FAMILY;
	suite_expect_scan(s.table, &all, &filter, "r/b/@3= s/b/@3= s/f/q@1= ");
	filter.family_count = 1;
	suite_expect_scan(s.table, &all, &filter, "");
	filter.family_count = 0;
	suite_expect_scan(s.table, &all, &filter, "");
	suite_close(&s);
}
END_TEST

START_TEST(test_qualifiers)
{
	static const char *const names[] = {"a"};
	struct wcs_range row = {.start = SUITE_BYTES("r"), .end = SUITE_BYTES("r\0")};
	struct wcs_filter filter = {.each = WCS_EACH_COLUMN};
	struct suite s;

	suite_open(&s, _i);
	read_fill(s.table);
	suite_set(s.table, "r", "a", "pp", 1, "");
	filter.qualifier_from = suite_text("p");
	suite_expect_scan(s.table, &row, &filter, "r/a/p@3= r/a/pp@1= r/a/q@3= r/b/p@3= r/b/q@3= ");
	filter.qualifier_to = suite_text("q");
	suite_expect_scan(s.table, &row, &filter, "r/a/p@3= r/a/pp@1= r/b/p@3= ");
	filter.qualifier_to = SUITE_BYTES("p\0");
	suite_expect_scan(s.table, &row, &filter, "r/a/p@3= r/b/p@3= ");
	filter.qualifier_from = suite_text("");
	filter.qualifier_to = SUITE_BYTES("\0");
	suite_expect_scan(s.table, &row, &filter, "r/a/@3= r/b/@3= ");
	filter.qualifier_to = suite_text("");
	suite_expect_scan(s.table, &row, &filter, "");
	filter.qualifier_from = suite_text("pz");
	filter.qualifier_to = (struct wcs_slice){NULL, 0};
	filter.each = WCS_EACH_ROW;
	suite_expect_scan(s.table, &all, &filter, "r/a/q@3= s/a/q@3= ");
	filter.each = WCS_EACH_CELL;
	filter.families = names;
	filter.family_count = 1;
	suite_expect_scan(s.table, &row, &filter, "r/a/q@3= r/a/q@2= r/a/q@1= ");
	suite_close(&s);
}
END_TEST

START_TEST(test_timestamps_and_newest)
{
	static const char *const names[] = {"a"};
	struct wcs_range row = {.start = SUITE_BYTES("r"), .end = SUITE_BYTES("r\0")};
	struct wcs_filter filter = {
		.families = names, .family_count = 1, .qualifier_from = SUITE_BYTES("p")};
	struct suite s;

	suite_open(&s, _i);
	read_fill(s.table);
	filter.newest = 1;
	suite_expect_scan(s.table, &row, &filter, "r/a/p@3= r/a/q@3= ");
	filter.newest = 2;
	suite_expect_scan(s.table, &row, &filter, "r/a/p@3= r/a/p@2= r/a/q@3= r/a/q@2= ");
	filter.newest = 4;
	filter.ts_to = 3;
	suite_expect_scan(s.table, &row, &filter, "r/a/p@2= r/a/p@1= r/a/q@2= r/a/q@1= ");
	filter.newest = 1;
	suite_expect_scan(s.table, &row, &filter, "r/a/p@2= r/a/q@2= ");
	filter.newest = 0;
	filter.ts_from = 2;
	suite_expect_scan(s.table, &row, &filter, "r/a/p@2= r/a/q@2= ");
	filter.ts_to = 0;
	filter.each = WCS_EACH_COLUMN;
	suite_expect_scan(s.table, &row, &filter, "r/a/p@3= r/a/q@3= ");
	filter.ts_from = 4;
	suite_expect_scan(s.table, &row, &filter, "");
	filter.ts_to = 4;
	suite_expect_scan(s.table, &row, &filter, "");
	filter.ts_from = INT64_MAX;
	filter.ts_to = 0;
	suite_set(s.table, "r", "a", "q", INT64_MAX, "");
	suite_expect_scan(s.table, &row, &filter, "r/a/q@9223372036854775807= ");
	filter.ts_from = 0;
	filter.ts_to = INT64_MAX;
	suite_expect_scan(s.table, &row, &filter, "r/a/p@3= r/a/q@3= ");
	suite_close(&s);
}
END_TEST

START_TEST(test_scan_arguments)
{
	char *bytes = suite_pattern(WCS_QUALIFIER_MAX + 2, 1);
	struct wcs_filter filter = {.each = WCS_EACH_ROW};
	struct wcs_range range = {.start = {bytes, WCS_ROW_KEY_MAX + 2}};
	struct wcs_scan *scan;
	struct suite s;

	suite_open(&s, _i);
	ck_assert_int_eq(wcs_scan_open(s.table, &range, &filter, &scan), -ENAMETOOLONG);
	range.start.len = WCS_ROW_KEY_MAX + 1;
	suite_expect_scan(s.table, &range, &filter, "");
	range.start.len = 1;
	range.end = (struct wcs_slice){bytes, WCS_ROW_KEY_MAX + 2};
	ck_assert_int_eq(wcs_scan_open(s.table, &range, &filter, &scan), -ENAMETOOLONG);
	range.end.len = WCS_ROW_KEY_MAX + 1;
	suite_expect_scan(s.table, &range, &filter, "");
	range.start = (struct wcs_slice){NULL, 1};
	ck_assert_int_eq(wcs_scan_open(s.table, &range, &filter, &scan), -EINVAL);
	filter.qualifier_from = (struct wcs_slice){bytes, WCS_QUALIFIER_MAX + 2};
	ck_assert_int_eq(wcs_scan_open(s.table, &all, &filter, &scan), -ENAMETOOLONG);
	filter.qualifier_from.len = WCS_QUALIFIER_MAX + 1;
	suite_set(s.table, "r", "f", "q", 1, "");
	suite_expect_scan(s.table, &all, &filter,
			  wcs_slice_compare(filter.qualifier_from, q) > 0 ? "" : "r/f/q@1= ");
	filter.qualifier_from = (struct wcs_slice){NULL, 0};
	filter.ts_from = -1;
	ck_assert_int_eq(wcs_scan_open(s.table, &all, &filter, &scan), -EINVAL);
	filter.ts_from = 0;
	filter.ts_to = -1;
	ck_assert_int_eq(wcs_scan_open(s.table, &all, &filter, &scan), -EINVAL);
	filter.ts_to = 0;
	filter.each = (enum wcs_each)4;
	ck_assert_int_eq(wcs_scan_open(s.table, &all, &filter, &scan), -EINVAL);
	free(bytes);
	suite_close(&s);
}
END_TEST

START_TEST(test_scan_values)
{
	char *bytes = suite_pattern(200000, 4);
	char buf[1000];
	struct wcs_filter filter = {.each = WCS_EACH_CELL};
	struct wcs_scan *scan;
	struct wcs_cell cell;
	struct suite s;
	size_t got;

	suite_open(&s, _i);
	read_put(s.table, suite_text("r"), "f", suite_text("1"), 1, (struct wcs_slice){bytes, 100});
	read_put(s.table, suite_text("r"), "f", suite_text("2"), 1,
		 (struct wcs_slice){bytes, 200000});
	read_put(s.table, suite_text("r"), "f", suite_text("3"), 1, (struct wcs_slice){bytes, 0});
	ck_assert_int_eq(wcs_scan_open(s.table, &all, &filter, &scan), 0);
	ck_assert_int_eq(wcs_scan_next(scan, &cell), 1);
	ck_assert_uint_eq(cell.value.len, 100);
	ck_assert_int_eq(wcs_scan_read(scan, buf, 1000, 90, &got), 0);
	ck_assert_uint_eq(got, 10);
	ck_assert_int_eq(memcmp(buf, bytes + 90, 10), 0);
	ck_assert_int_eq(wcs_scan_next(scan, &cell), 1);
	ck_assert_uint_eq(cell.info.size, 200000);
	for (size_t at = 0; at < 200000; at += 65500) {
		ck_assert_int_eq(wcs_scan_read(scan, buf, 1000, at, &got), 0);
		ck_assert_uint_eq(got, 1000);
		ck_assert_int_eq(memcmp(buf, bytes + at, 1000), 0);
	}
	ck_assert_int_eq(wcs_scan_read(scan, buf, 1000, 199999, &got), 0);
	ck_assert_uint_eq(got, 1);
	ck_assert_int_eq(wcs_scan_read(scan, buf, 1000, 200000, &got), 0);
	ck_assert_uint_eq(got, 0);
	/* the slices of the cell outlive the reads in it */
	ck_assert_int_eq(wcs_slice_compare(cell.qualifier, suite_text("2")), 0);
	ck_assert_int_eq(wcs_scan_next(scan, &cell), 1);
	ck_assert_int_eq(wcs_slice_compare(cell.qualifier, suite_text("3")), 0);
	ck_assert_uint_eq(cell.info.size, 0);
	ck_assert_int_eq(wcs_scan_read(scan, buf, 1000, 0, &got), 0);
	ck_assert_uint_eq(got, 0);
	ck_assert_int_eq(wcs_scan_next(scan, &cell), 0);
	wcs_scan_close(scan);
	free(bytes);
	suite_close(&s);
}
END_TEST

/* Row after row, each from a scan of its own that starts behind the last. */
START_TEST(test_resume_by_key)
{
	struct wcs_filter filter = {.each = WCS_EACH_ROW};
	char after[WCS_ROW_KEY_MAX + 1];
	struct wcs_range range = {.start = {after, 0}};
	struct wcs_scan *scan;
	struct wcs_cell cell;
	size_t count = 0;
	struct suite s;
	int rc;

	suite_open(&s, _i);
	for (size_t i = 0; i < READ_SORTED; i++)
		read_put(s.table, read_sorted[i], "f", q, 1, q);
	for (;;) {
		ck_assert_int_eq(wcs_scan_open(s.table, &range, &filter, &scan), 0);
		rc = wcs_scan_next(scan, &cell);
		if (rc == 1) {
			ck_assert_int_eq(wcs_slice_compare(cell.row, read_sorted[count++]), 0);
			memcpy(after, cell.row.data, cell.row.len);
			after[cell.row.len] = '\0';
			range.start.len = cell.row.len + 1;
		}
		wcs_scan_close(scan);
		if (rc != 1)
			break;
	}
	ck_assert_int_eq(rc, 0);
	ck_assert_uint_eq(count, READ_SORTED);
	suite_close(&s);
}
END_TEST

static void make(Suite *suite)
{
	suite_add(suite, "cell get", test_cell_get, 10);
	suite_add(suite, "arguments", test_read_arguments, 10);
	suite_add(suite, "value sizes", test_value_sizes, 60);
	suite_add_once(suite, "largest value", test_largest_value, 60);
	suite_add(suite, "open value stays", test_open_value_stays, 30);
	suite_add(suite, "order of rows", test_order_of_rows, 20);
	suite_add(suite, "order of qualifiers", test_order_of_qualifiers, 10);
	suite_add(suite, "order of families, times", test_order_of_families_and_timestamps, 10);
	suite_add(suite, "longest of all", test_longest_of_all, 10);
	suite_add(suite, "scan read without a cell", test_scan_read_without_a_cell, 10);
	suite_add(suite, "each", test_each, 10);
	suite_add(suite, "families", test_families, 10);
	suite_add(suite, "qualifiers", test_qualifiers, 10);
	suite_add(suite, "timestamps and newest", test_timestamps_and_newest, 10);
	suite_add(suite, "scan arguments", test_scan_arguments, 10);
	suite_add(suite, "scan values", test_scan_values, 10);
	suite_add(suite, "resume by key", test_resume_by_key, 10);
}

int main(void)
{
	return suite_main("store: reading", make);
}
