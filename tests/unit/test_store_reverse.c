/* SPDX-License-Identifier: MIT */
/* Scans of several ranges and in reverse order, and the moves of scans within a row. */
#include "store/table/table.h"
#include "tests/unit/suite.h"

/* Reads the rest of a scan whose rows have the cells 2 and 1 of one column. */
static void scan_expect_rows(struct wcs_scan *scan, const char *rows)
{
	struct wcs_cell cell;

	for (; *rows; rows++)
		for (int64_t ts = 2; ts >= 1; ts--) {
			ck_assert_int_eq(wcs_scan_next(scan, &cell), 1);
			ck_assert_int_eq(*(const char *)cell.row.data, *rows);
			ck_assert_int_eq(cell.info.ts, ts);
			ck_assert_int_eq(cell.differs, ts == 2 ? WCS_PART_ROW : WCS_PART_TS);
		}
	ck_assert_int_eq(wcs_scan_next(scan, &cell), 0);
}

/* Ranges of which one is empty, read by one scan. */
SUITE_STORES(test_ranges, 10)
{
	static const char *const rows[] = {"a", "b", "b#", "c", "d", "e", "f"};
	static const struct {
		const char *seek, *forward,
			*reverse; /* the first bytes of the rows from there on */
	} seeks[] = {{"d", "ef", "b"},	{"a", "bef", ""}, {"b!", "ef", "b"}, {"f!", "", "feb"},
		     {"e", "ef", "b"},	{"f", "f", "eb"}, {"zz", "", "feb"}, {"", "bef", ""},
		     {"f#", "", "feb"}, {"b", "bef", ""}};
	const struct wcs_range ranges[] = {{suite_text("aa"), suite_text("b!")},
					   {suite_text("c"), suite_text("c")},
					   {suite_text("e"), suite_text("f")},
					   {suite_text("f"), {NULL, 0}}};
	const struct wcs_range wrong[][2] = {
		{{suite_text("b"), suite_text("c")}, {suite_text("a"), suite_text("b")}},
		{{suite_text("a"), suite_text("c")}, {suite_text("b"), suite_text("d")}},
		{{suite_text("a"), {NULL, 0}}, {suite_text("b"), suite_text("c")}}};
	struct wcs_scan *scan;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		suite_set_versions(s->table, rows[i], "f", 2);
	suite_expect_text(suite_scan(s->table, ranges + 1, 1, &suite_cells), "");
	suite_expect_text(suite_scan(s->table, ranges, 0, &suite_cells), "");
	for (int reverse = 0; reverse < 2; reverse++) {
		struct wcs_filter filter = {.reverse = reverse};

		SUITE_OK(wcs_scan_open(s->table, ranges, 4, &filter, &scan));
		scan_expect_rows(scan, reverse ? "feb" : "bef");
		for (size_t i = 0; i < sizeof(seeks) / sizeof(seeks[0]); i++) {
			SUITE_OK(wcs_scan_seek(scan, suite_text(seeks[i].seek)));
			scan_expect_rows(scan, reverse ? seeks[i].reverse : seeks[i].forward);
		}
		wcs_scan_close(scan);
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		ck_assert_int_eq(wcs_scan_open(s->table, wrong[i], 2, &suite_cells, &scan),
				 -EINVAL);
}

/* Puts the rows of a scan's text into the other order. */
static char *scan_turned(char *text)
{
	char *turned = calloc(strlen(text) + 1, 1), *end = turned + strlen(text);

	for (char *row = text, *next; *row; row = next) {
		size_t len = strcspn(row, "/") + 1;

		for (next = row; strncmp(next, row, len) == 0;)
			next += strcspn(next, " ") + 1;
		end -= next - row;
		memcpy(end, row, (size_t)(next - row));
	}
	free(text);
	return turned;
}

/* Rows of few and many cells, small and large ones, with short and long keys, of which policies
 * hide some and all. */
SUITE_STORES(test_reverse, 60)
{
	static const char *const names[] = {"a", "f"};
	char *bytes = suite_pattern(70000, 3), name[WCS_ROW_KEY_MAX];
	struct wcs_filter filters[] = {{.newest = 0},
				       {.newest = 1},
				       {.families = names, .family_count = 2},
				       {.qualifier_from = suite_text("2"), .ts_to = 11},
				       {.qualifier_to = suite_text("1"), .ts_from = 9}};

	s->clock = 10;
	for (size_t row = 0; row < suite_rounds(42, 60); row++) {
		size_t len = row % 7 == 3 ? suite_row_max(s) : 3;

		memset(name, row % 2 ? 0 : 0xff, sizeof(name));
		snprintf(name, sizeof(name), "%02zu", row);
		for (size_t i = 0; i < row; i++) {
			char qualifier[24];

			snprintf(qualifier, sizeof(qualifier), "%zu", i / 3);
			suite_put(s->table, (struct wcs_slice){name, len}, i % 5 ? "f" : names[0],
				  suite_text(qualifier), (int64_t)(8 + i % 3),
				  (struct wcs_slice){bytes, row % 5	? row * 3
							    : row == 40 ? 70000
									: 4000});
		}
	}
	for (int round = 0; round < 3; round++) {
		suite_policy(s->table, "f", round ? "maxage=1ms" : "maxversions=2");
		s->clock = round == 2 ? 1009 : 10;
		for (size_t i = 0; i < 4 * sizeof(filters) / sizeof(filters[0]); i++) {
			struct wcs_filter filter = filters[i / 4];
			char *forward, *reverse;

			filter.each = (enum wcs_each)(i % 4);
			forward = scan_turned(suite_scan(s->table, &suite_all, 1, &filter));
			filter.reverse = true;
			reverse = suite_scan(s->table, &suite_all, 1, &filter);
			ck_assert(forward[0] != 0 && strcmp(forward, reverse) == 0);
			free(forward);
			free(reverse);
		}
	}
	free(bytes);
}

/* A scan that has begun does not see later changes. */
SUITE_LEVELDB_STORE(test_reverse_is_of_one_moment, 10)
{
	const struct wcs_filter filter = {.reverse = true};
	struct wcs_scan *scan;
	struct wcs_cell cell;

	for (const char *row = "a\0b\0c\0d\0"; *row; row += 2)
		suite_set_versions(s->table, row, "f", 2);
	SUITE_OK(wcs_scan_open(s->table, &suite_all, 1, &filter, &scan));
	ck_assert_int_eq(wcs_scan_next(scan, &cell), 1);
	suite_delete_row(s->table, "a");
	suite_set(s->table, "b", "a", "q", 1, "");
	suite_set(s->table, "bb", "f", "q", 1, "");
	SUITE_OK(wcs_scan_seek(scan, suite_text("zz")));
	scan_expect_rows(scan, "dcba");
	wcs_scan_close(scan);
}

/* Checks the next cell: of the rows 10 to 49 the row n has the columns 0, 2 … 2n-2. n 9 and 50: the
 * end. */
static void scan_expect_column(struct wcs_scan *scan, int n, int column, int64_t ts)
{
	struct wcs_cell cell;
	char name[16];

	ck_assert_int_eq(wcs_scan_next(scan, &cell), n > 9 && n < 50);
	if (n == 9 || n == 50)
		return;
	snprintf(name, sizeof(name), "%02d", n);
	ck_assert_int_eq(wcs_slice_compare(cell.row, suite_text(name)), 0);
	snprintf(name, sizeof(name), "%02d", column);
	ck_assert_int_eq(wcs_slice_compare(cell.qualifier, suite_text(name)), 0);
	ck_assert_int_eq(cell.info.ts, ts);
}

SUITE_CONTRACT("backend.h: scan_enter and scan_skip")
SUITE_STORES(test_enter_and_skip, 60)
{
	char row[16], name[16];
	struct wcs_scan *scan;

	for (int n = 10; n < 50; n++)
		for (int i = 0; i < 2 * n; i++) {
			snprintf(row, sizeof(row), "%02d", n);
			snprintf(name, sizeof(name), "%02d", i / 2 * 2);
			suite_set(s->table, row, "f", name, 1 + i % 2, "v");
		}
	for (int reverse = 0; reverse < 2; reverse++) {
		const struct wcs_filter filter = {.reverse = reverse};
		int step = reverse ? -1 : 1;

		SUITE_OK(wcs_scan_open(s->table, &suite_all, 1, &filter, &scan));
		for (int i = 0; i < 4000; i++) {
			int n = 10 + i * 7 % 40, column = i * 13 % 100;
			bool there = column <= 2 * n - 2;

			snprintf(row, sizeof(row), "%02d", n);
			snprintf(name, sizeof(name), "%02d", column);
			SUITE_OK(wcs_scan_seek(scan, (struct wcs_slice){row, 2 + (size_t)reverse}));
			scan_expect_column(scan, n, 0, 2);
			SUITE_OK(scan->ops->enter(scan, suite_text(row), i % 5 ? "f" : "b",
						  suite_text(name)));
			if (i % 5 == 0)
				column = 0, there = true;
			column = there ? (column + 1) / 2 * 2 : 0;
			n = there ? n : n + step;
			scan_expect_column(scan, n, column, 2);
			if (n == 9 || n == 50)
				continue;
			if (i % 3 == 0) {
				scan->ops->skip(scan, WCS_PART_QUALIFIER);
				if (column < 2 * n - 2)
					scan_expect_column(scan, n, column + 2, 2);
				else
					scan_expect_column(scan, n + step, 0, 2);
			} else if (i % 3 == 1) {
				scan_expect_column(scan, n, column, 1);
				scan->ops->skip(scan, i % 2 ? WCS_PART_ROW : WCS_PART_FAMILY);
				scan_expect_column(scan, n + step, 0, 2);
			} else { /* the same row again, and the next */
				snprintf(row, sizeof(row), "%02d", n);
				SUITE_OK(scan->ops->enter(scan, suite_text(row), NULL,
							  suite_text("")));
				scan_expect_column(scan, atoi(row), 0, 2);
				scan->ops->skip(scan, WCS_PART_ROW);
				scan_expect_column(scan, atoi(row) + step, 0, 2);
			}
		}
		wcs_scan_close(scan);
	}
}
