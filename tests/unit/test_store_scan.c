/* SPDX-License-Identifier: MIT */
/* Scans on both engines: their order, filters and arguments, and where they resume. */
#include "store/table/table.h"
#include "tests/unit/suite.h"

#include <errno.h>
#include <stdatomic.h>

static const struct wcs_slice q = {"q", 1};

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

SUITE_CONTRACT("store.h, Reading: a scan gives cells in order")
SUITE_STORES(test_order_of_rows, 20)
{
	struct wcs_filter filter = {.each = WCS_EACH_ROW};
	struct wcs_scan *scan;
	struct wcs_cell cell;

	for (size_t i = 0; i < READ_SORTED; i++)
		suite_put(s->table, read_sorted[(i * 11) % READ_SORTED], "f", q, 1, q);
	SUITE_OK(wcs_scan_open(s->table, &suite_all, 1, &filter, &scan));
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

			SUITE_OK(wcs_scan_open(s->table, &range, 1, &filter, &scan));
			while (wcs_scan_next(scan, &cell) == 1)
				ck_assert_int_eq(
					wcs_slice_compare(cell.row, read_sorted[from + count++]),
					0);
			ck_assert_uint_eq(count, to - from);
			wcs_scan_close(scan);
		}
	}
}

SUITE_STORES(test_order_of_qualifiers, 10)
{
	struct wcs_scan *scan;
	struct wcs_cell cell;

	suite_put(s->table, q, "f", (struct wcs_slice){NULL, 0}, 5, q);
	for (size_t i = 0; i < READ_SORTED; i++)
		suite_put(s->table, q, "f", read_sorted[(i * 11) % READ_SORTED], 5, q);
	SUITE_OK(wcs_scan_open(s->table, &suite_all, 1, &suite_cells, &scan));
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

		SUITE_OK(wcs_cell_get(s->table, q, "f", read_sorted[i], 5, &info));
		ck_assert_int_eq(wcs_cell_get(s->table, q, "f", read_sorted[i], 4, &info), -ENOENT);
	}
}

SUITE_STORES(test_order_of_families_and_timestamps, 10)
{
	static const char *const families[] = {"-", ".", "0", "A", "_", "aa", "a-", "a."};

	for (size_t i = 0; i < 8; i++) {
		SUITE_OK(wcs_family_create(s->table, families[i]));
		suite_set(s->table, "r", families[i], "", 1, "");
	}
	suite_set(s->table, "r", "a", "z", 1, "");
	suite_set(s->table, "r", "a", "z", INT64_MAX, "");
	suite_set(s->table, "r", "a", "z", 0, "");
	suite_set(s->table, "r", "a", "z", 256, "");
	suite_set(s->table, "r", "a", "z", 255, "");
	suite_expect(s->table, "r/-/@1= r/./@1= r/0/@1= r/A/@1= r/_/@1= "
			       "r/a/z@9223372036854775807= r/a/z@256= r/a/z@255= r/a/z@1= r/a/z@0= "
			       "r/a-/@1= r/a./@1= r/aa/@1= ");
}

SUITE_STORES(test_longest_of_all, 10)
{
	char *bytes = malloc(WCS_QUALIFIER_MAX);
	struct wcs_slice row = {bytes, suite_row_max(s)};
	struct wcs_slice column = {bytes, WCS_QUALIFIER_MAX};
	char family[WCS_FAMILY_NAME_MAX + 1];
	struct wcs_scan *scan;
	struct wcs_cell cell;

	memset(family, 'z', WCS_FAMILY_NAME_MAX);
	family[WCS_FAMILY_NAME_MAX] = '\0';
	SUITE_OK(wcs_family_create(s->table, family));
	for (int byte = 0; byte < 256; byte += 51) {
		memset(bytes, byte, WCS_QUALIFIER_MAX);
		suite_put(s->table, row, family, column, INT64_MAX, q);
	}
	SUITE_OK(wcs_scan_open(s->table, &suite_all, 1, &suite_cells, &scan));
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
}

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

SUITE_CONTRACT("store.h, Reading: struct wcs_filter, wcs_scan_read")
SUITE_STORES(test_scan_read_without_a_cell, 10)
{
	struct wcs_scan *scan;
	struct wcs_cell cell;
	char byte;
	size_t got;

	suite_set(s->table, "r", "f", "q", 1, "v");
	SUITE_OK(wcs_scan_open(s->table, &suite_all, 1, &suite_cells, &scan));
	ck_assert_int_eq(wcs_scan_read(scan, &byte, 1, 0, &got), -EINVAL);
	ck_assert_int_eq(wcs_scan_next(scan, &cell), 1);
	SUITE_OK(wcs_scan_read(scan, &byte, 1, 0, &got));
	ck_assert_uint_eq(got, 1);
	ck_assert_int_eq(wcs_scan_next(scan, &cell), 0);
	ck_assert_int_eq(wcs_scan_read(scan, &byte, 1, 0, &got), -EINVAL);
	ck_assert_int_eq(wcs_scan_next(scan, &cell), 0);
	ck_assert_int_eq(wcs_scan_read(scan, &byte, 1, 0, &got), -EINVAL);
	wcs_scan_close(scan);
}

SUITE_STORES(test_each, 10)
{
	struct wcs_filter filter = {.each = WCS_EACH_COLUMN};

	read_fill(s->table);
	suite_expect_scan(s->table, &suite_all, &filter,
			  "r/a/@3= r/a/p@3= r/a/q@3= r/b/@3= r/b/p@3= r/b/q@3= "
			  "s/a/@3= s/a/p@3= s/a/q@3= s/b/@3= s/b/p@3= s/b/q@3= ");
	filter.each = WCS_EACH_FAMILY;
	suite_expect_scan(s->table, &suite_all, &filter, "r/a/@3= r/b/@3= s/a/@3= s/b/@3= ");
	filter.each = WCS_EACH_ROW;
	suite_expect_scan(s->table, &suite_all, &filter, "r/a/@3= s/a/@3= ");
}

SUITE_STORES(test_families, 10)
{
	static const char *const names[] = {"none", "b", "a/", "b", "f"};
	struct wcs_filter filter = {.each = WCS_EACH_ROW, .families = names, .family_count = 5};

	read_fill(s->table);
	suite_set(s->table, "s", "f", "q", 1, "");
	suite_expect_scan(s->table, &suite_all, &filter, "r/b/@3= s/b/@3= ");
	filter.each = WCS_EACH_FAMILY;
	suite_expect_scan(s->table, &suite_all, &filter, "r/b/@3= s/b/@3= s/f/q@1= ");
	filter.family_count = 1;
	suite_expect_scan(s->table, &suite_all, &filter, "");
	filter.family_count = 0;
	suite_expect_scan(s->table, &suite_all, &filter, "");
}

SUITE_STORES(test_qualifiers, 10)
{
	static const char *const names[] = {"a"};
	struct wcs_range row = {.start = SUITE_BYTES("r"), .end = SUITE_BYTES("r\0")};
	struct wcs_filter filter = {.each = WCS_EACH_COLUMN};

	read_fill(s->table);
	suite_set(s->table, "r", "a", "pp", 1, "");
	filter.qualifier_from = suite_text("p");
	suite_expect_scan(s->table, &row, &filter,
			  "r/a/p@3= r/a/pp@1= r/a/q@3= r/b/p@3= r/b/q@3= ");
	filter.qualifier_to = suite_text("q");
	suite_expect_scan(s->table, &row, &filter, "r/a/p@3= r/a/pp@1= r/b/p@3= ");
	filter.qualifier_to = SUITE_BYTES("p\0");
	suite_expect_scan(s->table, &row, &filter, "r/a/p@3= r/b/p@3= ");
	filter.qualifier_from = suite_text("");
	filter.qualifier_to = SUITE_BYTES("\0");
	suite_expect_scan(s->table, &row, &filter, "r/a/@3= r/b/@3= ");
	filter.qualifier_to = suite_text("");
	suite_expect_scan(s->table, &row, &filter, "");
	filter.qualifier_from = suite_text("pz");
	filter.qualifier_to = (struct wcs_slice){NULL, 0};
	filter.each = WCS_EACH_ROW;
	suite_expect_scan(s->table, &suite_all, &filter, "r/a/q@3= s/a/q@3= ");
	filter.each = WCS_EACH_CELL;
	filter.families = names;
	filter.family_count = 1;
	suite_expect_scan(s->table, &row, &filter, "r/a/q@3= r/a/q@2= r/a/q@1= ");
}

SUITE_STORES(test_timestamps_and_newest, 10)
{
	static const char *const names[] = {"a"};
	struct wcs_range row = {.start = SUITE_BYTES("r"), .end = SUITE_BYTES("r\0")};
	struct wcs_filter filter = {
		.families = names, .family_count = 1, .qualifier_from = SUITE_BYTES("p")};

	read_fill(s->table);
	filter.newest = 1;
	suite_expect_scan(s->table, &row, &filter, "r/a/p@3= r/a/q@3= ");
	filter.newest = 2;
	suite_expect_scan(s->table, &row, &filter, "r/a/p@3= r/a/p@2= r/a/q@3= r/a/q@2= ");
	filter.newest = 4;
	filter.ts_to = 3;
	suite_expect_scan(s->table, &row, &filter, "r/a/p@2= r/a/p@1= r/a/q@2= r/a/q@1= ");
	filter.newest = 1;
	suite_expect_scan(s->table, &row, &filter, "r/a/p@2= r/a/q@2= ");
	filter.newest = 0;
	filter.ts_from = 2;
	suite_expect_scan(s->table, &row, &filter, "r/a/p@2= r/a/q@2= ");
	filter.ts_to = 0;
	filter.each = WCS_EACH_COLUMN;
	suite_expect_scan(s->table, &row, &filter, "r/a/p@3= r/a/q@3= ");
	filter.ts_from = 4;
	suite_expect_scan(s->table, &row, &filter, "");
	filter.ts_to = 4;
	suite_expect_scan(s->table, &row, &filter, "");
	filter.ts_from = INT64_MAX;
	filter.ts_to = 0;
	suite_set(s->table, "r", "a", "q", INT64_MAX, "");
	suite_expect_scan(s->table, &row, &filter, "r/a/q@9223372036854775807= ");
	filter.ts_from = 0;
	filter.ts_to = INT64_MAX;
	suite_expect_scan(s->table, &row, &filter, "r/a/p@3= r/a/q@3= ");
}

SUITE_STORES(test_scan_arguments, 10)
{
	char *bytes = suite_pattern(WCS_QUALIFIER_MAX + 2, 1);
	struct wcs_filter filter = {.each = WCS_EACH_ROW};
	struct wcs_range range = {.start = {bytes, WCS_ROW_KEY_MAX + 2}};
	struct wcs_scan *scan;

	ck_assert_int_eq(wcs_scan_open(s->table, &range, 1, &filter, &scan), -ENAMETOOLONG);
	range.start.len = WCS_ROW_KEY_MAX + 1;
	suite_expect_scan(s->table, &range, &filter, "");
	range.start.len = 1;
	range.end = (struct wcs_slice){bytes, WCS_ROW_KEY_MAX + 2};
	ck_assert_int_eq(wcs_scan_open(s->table, &range, 1, &filter, &scan), -ENAMETOOLONG);
	range.end.len = WCS_ROW_KEY_MAX + 1;
	suite_expect_scan(s->table, &range, &filter, "");
	range.start = (struct wcs_slice){NULL, 1};
	ck_assert_int_eq(wcs_scan_open(s->table, &range, 1, &filter, &scan), -EINVAL);
	filter.qualifier_from = (struct wcs_slice){bytes, WCS_QUALIFIER_MAX + 2};
	ck_assert_int_eq(wcs_scan_open(s->table, &suite_all, 1, &filter, &scan), -ENAMETOOLONG);
	filter.qualifier_from.len = WCS_QUALIFIER_MAX + 1;
	suite_set(s->table, "r", "f", "q", 1, "");
	suite_expect_scan(s->table, &suite_all, &filter,
			  wcs_slice_compare(filter.qualifier_from, q) > 0 ? "" : "r/f/q@1= ");
	filter.qualifier_from = (struct wcs_slice){NULL, 0};
	filter.ts_from = -1;
	ck_assert_int_eq(wcs_scan_open(s->table, &suite_all, 1, &filter, &scan), -EINVAL);
	filter.ts_from = 0;
	filter.ts_to = -1;
	ck_assert_int_eq(wcs_scan_open(s->table, &suite_all, 1, &filter, &scan), -EINVAL);
	filter.ts_to = 0;
	filter.each = (enum wcs_each)4;
	ck_assert_int_eq(wcs_scan_open(s->table, &suite_all, 1, &filter, &scan), -EINVAL);
	free(bytes);
}

SUITE_STORES(test_scan_values, 10)
{
	char *bytes = suite_pattern(200000, 4);
	char buf[1000];
	struct wcs_scan *scan;
	struct wcs_cell cell;
	size_t got;

	suite_put(s->table, suite_text("r"), "f", suite_text("1"), 1,
		  (struct wcs_slice){bytes, 100});
	suite_put(s->table, suite_text("r"), "f", suite_text("2"), 1,
		  (struct wcs_slice){bytes, 200000});
	suite_put(s->table, suite_text("r"), "f", suite_text("3"), 1, (struct wcs_slice){bytes, 0});
	SUITE_OK(wcs_scan_open(s->table, &suite_all, 1, &suite_cells, &scan));
	ck_assert_int_eq(wcs_scan_next(scan, &cell), 1);
	ck_assert_uint_eq(cell.value.len, 100);
	SUITE_OK(wcs_scan_read(scan, buf, 1000, 90, &got));
	ck_assert_uint_eq(got, 10);
	ck_assert_int_eq(memcmp(buf, bytes + 90, 10), 0);
	ck_assert_int_eq(wcs_scan_next(scan, &cell), 1);
	ck_assert_uint_eq(cell.info.size, 200000);
	for (size_t at = 0; at < 200000; at += 65500) {
		SUITE_OK(wcs_scan_read(scan, buf, 1000, at, &got));
		ck_assert_uint_eq(got, 1000);
		ck_assert_int_eq(memcmp(buf, bytes + at, 1000), 0);
	}
	SUITE_OK(wcs_scan_read(scan, buf, 1000, 199999, &got));
	ck_assert_uint_eq(got, 1);
	SUITE_OK(wcs_scan_read(scan, buf, 1000, 200000, &got));
	ck_assert_uint_eq(got, 0);
	/* the slices of the cell outlive the reads in it */
	ck_assert_int_eq(wcs_slice_compare(cell.qualifier, suite_text("2")), 0);
	ck_assert_int_eq(wcs_scan_next(scan, &cell), 1);
	ck_assert_int_eq(wcs_slice_compare(cell.qualifier, suite_text("3")), 0);
	ck_assert_uint_eq(cell.info.size, 0);
	SUITE_OK(wcs_scan_read(scan, buf, 1000, 0, &got));
	ck_assert_uint_eq(got, 0);
	ck_assert_int_eq(wcs_scan_next(scan, &cell), 0);
	wcs_scan_close(scan);
	free(bytes);
}

SUITE_CONTRACT("store.h, Reading: wcs_scan_seek")
/* Row after row, each from a scan of its own that starts behind the last. */
SUITE_STORES(test_resume_by_key, 10)
{
	struct wcs_filter filter = {.each = WCS_EACH_ROW};
	char after[WCS_ROW_KEY_MAX + 1];
	struct wcs_range range = {.start = {after, 0}};
	struct wcs_scan *scan;
	struct wcs_cell cell;
	size_t count = 0;
	int rc;

	for (size_t i = 0; i < READ_SORTED; i++)
		suite_put(s->table, read_sorted[i], "f", q, 1, q);
	for (;;) {
		SUITE_OK(wcs_scan_open(s->table, &range, 1, &filter, &scan));
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
}

/* ---- Interrupts --------------------------------------------------------------------------- */

static atomic_bool scan_ends;

static bool scan_interrupted(void)
{
	return scan_ends;
}

SUITE_CONTRACT("store.h, Errors: -EINTR, as the options ask")
/* A signal ends a listing that passes over thousands of hidden rows, and none that finds nothing to
 * pass over. */
SUITE_STORES(test_interrupted, 60)
{
	const struct wcs_filter last = {.each = WCS_EACH_ROW, .reverse = true};
	struct wcs_list *list;
	struct wcs_slice segment;
	struct wcs_key_info info;
	struct wcs_scan *scan;
	struct wcs_cell cell;
	char row[16];

	for (int i = 0; i < 2000; i++) {
		snprintf(row, sizeof(row), "r%04d", i);
		suite_set(s->table, row, "f", "q", 1, "v");
	}
	SUITE_OK(wcs_family_set_gc(s->table, "f", "maxage=1ms", NULL));
	s->store->options.interrupted = scan_interrupted;
	for (int round = 0; round < 2; round++) {
		scan_ends = round == 0;
		SUITE_OK(wcs_list_open(s->table, suite_text(""), NULL, NULL, &list));
		ck_assert_int_eq(wcs_list_next(list, &segment), scan_ends ? -EINTR : 0);
		wcs_list_close(list);
		SUITE_OK(wcs_scan_open(s->table, &suite_all, 1, &last, &scan));
		ck_assert_int_eq(wcs_scan_next(scan, &cell), scan_ends ? -EINTR : 0);
		wcs_scan_close(scan);
		ck_assert_int_eq(wcs_key_get(s->table, suite_text("none"), &info), 0);
	}
}
