/* SPDX-License-Identifier: MIT */
/* Calls of the store that read cells: see calls.h. */
#include "tests/unit/calls.h"

static int run_get(struct calls *calls)
{
	struct wcs_cell_info info;
	struct wcs_key_info key;
	int rc = wcs_cell_get(calls->suite.table, suite_text("r"), "a", suite_text("q"), 1, &info);

	if (rc == 0)
		rc = wcs_key_get(calls->suite.table, suite_text("r"), &key);
	if (rc == 0)
		calls_out_text(calls, info.size == 3 && key.row && key.prefix ? "is" : "is not");
	return rc;
}

static int value(struct calls *calls, const char *row, const char *family, const char *qualifier)
{
	static char buf[CALLS_BIG + 1];
	struct wcs_value *value;
	size_t got;
	int rc = wcs_value_open(calls->suite.table, suite_text(row), family, suite_text(qualifier),
				WCS_TS_NEWEST, &value);

	if (rc != 0)
		return rc;
	rc = wcs_value_read(value, buf, sizeof(buf), 0, &got);
	if (rc == 0 && got < sizeof(buf))
		calls_out_text(calls, got == CALLS_BIG ? "big" : "small");
	wcs_value_close(value);
	return rc;
}

static int run_value(struct calls *calls)
{
	int rc = value(calls, "r", "a", "q");

	return rc != 0 ? rc : value(calls, "r#s", "f", "big");
}

static int scan_rows(struct calls *calls, bool reverse)
{
	static char buf[CALLS_BIG + 1];
	const char *families[] = {"a", "f"};
	struct wcs_range range = {.start = suite_text("r"), .end = suite_text("t")};
	struct wcs_filter filter = {.families = families,
				    .family_count = 2,
				    .qualifier_from = suite_text("a"),
				    .qualifier_to = suite_text("z"),
				    .newest = 1,
				    .reverse = reverse};
	struct wcs_scan *scan;
	struct wcs_cell cell;
	size_t got;
	int rc = wcs_scan_open(calls->suite.table, &range, 1, &filter, &scan), more = 0;

	if (rc != 0)
		return rc;
	while (rc == 0 && (more = wcs_scan_next(scan, &cell)) == 1) {
		calls_out(calls, cell.row.data, cell.row.len);
		calls_out(calls, "/", 1);
		calls_out(calls, cell.qualifier.data, cell.qualifier.len);
		calls_out(calls, " ", 1);
		if (cell.info.size > WCS_VALUE_INLINE)
			rc = wcs_scan_read(scan, buf, sizeof(buf), 0, &got);
		if (rc == 0 && cell.row.len == 1 && !reverse)
			rc = wcs_scan_seek(scan, suite_text("r#"));
	}
	wcs_scan_close(scan);
	return rc != 0 ? rc : more;
}

static int run_scan(struct calls *calls)
{
	return scan_rows(calls, false);
}

static int run_reverse(struct calls *calls)
{
	return scan_rows(calls, true);
}

static int run_list(struct calls *calls)
{
	struct wcs_list_child after = {.segment = suite_text("1")};
	struct wcs_slice segment;
	struct wcs_list *list;
	int rc = wcs_list_open(calls->suite.table, suite_text("t#"), &after, NULL, &list);

	if (rc != 0)
		return rc;
	while ((rc = wcs_list_next(list, &segment)) == 1)
		calls_out(calls, segment.data, segment.len);
	wcs_list_close(list);
	return rc;
}

static int run_count(struct calls *calls)
{
	struct wcs_slice key = suite_text("t");
	struct wcs_count count;
	int rc = wcs_rows_count(calls->suite.table, &key, NULL, &count);

	if (rc == 0)
		calls_out_text(calls, count.rows == 2 && count.cells == 2 ? "two" : "not two");
	return rc;
}

static int see_cell(void *ctx, const struct wcs_cell *cell)
{
	calls_out(ctx, cell->row.data, cell->row.len);
	return 0;
}

static int run_explain(struct calls *calls)
{
	struct wcs_count count;
	uint64_t newer;
	int rc = wcs_family_newer(calls->suite.table, "a", 1, &newer);

	if (rc == 0)
		rc = wcs_family_explain(calls->suite.table, "a", "maxversions=1", see_cell, calls,
					&count, NULL);
	if (rc == 0)
		calls_out_text(calls, count.cells == 1 && newer == 0 ? " one" : " not one");
	return rc;
}

static int see_split(void *ctx, struct wcs_slice row)
{
	calls_out(ctx, row.data, row.len);
	return 0;
}

static int run_splits(struct calls *calls)
{
	return wcs_rows_splits(calls->suite.table, NULL, NULL, see_split, calls);
}

static int run_stats(struct calls *calls)
{
	struct wcs_stats stats;
	char *words = wcs_store_engine_text(calls->suite.store);
	int rc = words ? wcs_store_stats(calls->suite.store, &stats) : -ENOMEM;

	free(words);
	return rc;
}

/* ---- All of them ------------------------------------------------------------------------- */

const struct call calls_read[] = {
	{.name = "get", .run = run_get, .out = "is "},
	{.name = "value", .run = run_value, .out = "small big ", .least = 2},
	{.name = "scan", .run = run_scan, .out = "r/q r#s/q r#s/big ", .least = 2},
	{.name = "reverse", .run = run_reverse, .out = "r#s/q r#s/big r/q ", .least = 3},
	{.name = "list", .run = run_list, .out = "2", .least = 1},
	{.name = "count", .run = run_count, .out = "two ", .least = 1},
	{.name = "explain", .run = run_explain, .out = "r one ", .least = 2},
	{.name = "splits", .run = run_splits, .out = "", .least = 1},
	{.name = "stats", .run = run_stats, .least = 1},
	{.name = NULL},
};
