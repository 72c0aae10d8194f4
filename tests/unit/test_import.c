/* SPDX-License-Identifier: MIT */
/* Rows from text: in pieces of any size, and rows of cells. tests/e2e/test_control_rows.sh has
 * lines that are applied when they are whole, and keys outside; test_load.sh has tables that
 * switch. */
#include "tests/unit/suite.h"

/* ---- Which rows are applied when --------------------------------------------------------- */

/* A line sees the changes of the lines before it in the same piece. */
SUITE_STORES(test_a_row_again_in_one_piece, 10)
{
	struct wcs_import *import = suite_import(s->table);

	SUITE_OK(suite_import_text(
		import,
		"{\"key\":\"a\",\"families\":{\"f\":{\"q\":\"1\"}}}\n"
		"{\"key\":\"a\",\"if\":{\"f\":{\"q\":\"1\"}},\"append\":{\"f\":{\"q\":"
		"\"2\"}}}\n"
		"{\"key\":\"a\",\"if\":{\"f\":{\"q\":\"12\"}},\"delete\":true}\n",
		NULL));
	suite_expect(s->table, "");
	wcs_import_free(import);
}

struct applied {
	struct wcs_table *table;
	char rows[256];
};

static void applied_note(void *ctx, struct wcs_slice row)
{
	struct applied *applied = ctx;
	struct wcs_key_info info;
	size_t n = strlen(applied->rows);

	SUITE_OK(wcs_key_get(applied->table, row, &info));
	snprintf(applied->rows + n, sizeof(applied->rows) - n, "%.*s%s ", (int)row.len,
		 (const char *)row.data, info.row ? "+" : "-");
}

SUITE_STORES(test_applied_is_told, 10)
{
	struct applied applied = {.rows = ""};
	struct wcs_import_options options = {.applied = applied_note, .ctx = &applied};
	struct wcs_import *import = NULL;

	applied.table = s->table;
	SUITE_OK(wcs_import_new(s->table, &options, &import));
	ck_assert_int_eq(suite_import_text(import,
					   "{\"key\":\"a\",\"families\":{\"f\":{\"q\":\"1\"}}}\n"
					   "{\"key\":\"b\",\"delete\":true}\n"
					   "{\"key\":\"c\",\"if\":{\"f\":{\"q\":\"1\"}}}\n"
					   "{\"key\":\"d\",\"families\":{\"f\":{\"q\":\"1\"}}}\n",
					   NULL),
			 -ECANCELED);
	ck_assert_str_eq(applied.rows, "a+ b- ");
	wcs_import_free(import);
}

/* ---- Pieces ------------------------------------------------------------------------------ */

/* More lines than one batch takes, two of them bad; some are longer than IMPORT_BYTES,
 * and one column grows. fuzz_rows.c compares pieces of any rows. */
SUITE_STORES(test_pieces_of_any_size, 60)
{
	static const size_t sizes[] = {7, 5000, 1 << 20};
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	for (int i = 1; i <= 1500; i++) {
		if (i % 100 == 50) /* the width makes 100,000 spaces */
			fprintf(out,
				"{\"key\":\"r%d\",\"families\":{\"f\":{\"q\":\"%100000s\"}}}\n", i,
				"v");
		else if (i % 100 == 51)
			fprintf(out, "{\"key\":\"r50\",\"append\":{\"f\":{\"a\":\"+%d\"}}}\n", i);
		else
			fprintf(out, "{\"key\":\"r%d\",\"families\":{\"f\":{\"q\":%s}}}%s\n", i,
				i == 1200 ? "5" : "\"v\"", i == 1201 ? "x" : "");
	}
	fclose(out);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct wcs_import *import = suite_import(s->table);
		struct wcs_fault fault = {0};
		struct wcs_count count;
		int rc = 0;

		for (size_t at = 0; at < len && rc == 0; at += sizes[i])
			rc = wcs_import_write(import, text + at,
					      len - at < sizes[i] ? len - at : sizes[i], &fault);
		ck_assert_int_eq(rc, -EINVAL);
		ck_assert_int_eq(fault.line, 1200);
		ck_assert_uint_eq(wcs_import_lines(import), 1199);
		wcs_import_free(import);
		SUITE_OK(wcs_rows_count(s->table, NULL, NULL, &count));
		ck_assert_uint_eq(count.rows, 1199 - 12);
		suite_expect_value(s->table, "r50", "f", "a", WCS_TS_NEWEST,
				   "+51+151+251+351+451+551+651+751+851+951+1051+1151");
		SUITE_OK(wcs_rows_drop(s->table, NULL));
	}
	free(text);
}

/* ---- Rows of cells ----------------------------------------------------------------------- */

/* 2,000 rows; one is written to a family that the table does not have. */
SUITE_STORES(test_made_rows, 30)
{
	struct wcs_import *import = suite_import(s->table);
	struct wcs_fault fault = {0};
	struct wcs_count count;
	int rc = 0;

	for (uint64_t i = 1; i <= 2000 && rc == 0; i++) {
		char key[8];
		struct wcs_cell cell = {.family = suite_text(i == 1300 ? "none" : "f"),
					.qualifier = suite_text("q"),
					.info = {.ts = 5}};

		snprintf(key, sizeof(key), "r%d", (int)i);
		cell.row = cell.value = suite_text(key);
		rc = wcs_import_row(import, &cell, 1, 3 * i, &fault);
	}
	ck_assert_int_eq(rc ? rc : wcs_import_finish(import, &fault), -EINVAL);
	ck_assert_int_eq(fault.line, 3 * 1300);
	ck_assert_str_eq(fault.text, "family none: table t does not have it; it has a, b, f (1299 "
				     "lines applied before it)");
	ck_assert_uint_eq(wcs_import_lines(import), 1299);
	wcs_import_free(import);
	SUITE_OK(wcs_rows_count(s->table, NULL, NULL, &count));
	ck_assert_uint_eq(count.rows, 1299);
	suite_expect_value(s->table, "r1299", "f", "q", 5, "r1299");
}
