/* SPDX-License-Identifier: MIT */
/* Rows from text: in pieces of any size, applied when they are whole, to the rows that may be. */
#include "tests/unit/suite.h"

/* ---- Which rows are applied when --------------------------------------------------------- */

SUITE_STORES(test_lines_are_applied_when_the_call_returns, 10)
{
	struct wcs_import *import = suite_import(s->table);

	SUITE_OK(suite_import_text(
		import, "{\"key\":\"a\",\"families\":{\"f\":{\"q\":\"1\"}}}\n{\"key\"", NULL));
	suite_expect(s->table, "a/f/q@1000000=1 ");
	SUITE_OK(suite_import_text(import, ":\"b\",\"families\":{\"f\":{\"q\":\"2\"}}}", NULL));
	suite_expect(s->table, "a/f/q@1000000=1 ");
	ck_assert_uint_eq(wcs_import_lines(import), 1);
	SUITE_OK(suite_import_text(import, "\n", NULL));
	suite_expect(s->table, "a/f/q@1000000=1 b/f/q@1000000=2 ");
	SUITE_OK(suite_import_text(
		import, " \t\r\n\n{\"table\":\"t\"}\r\n{\"key\":\"c\",\"delete\":true}", NULL));
	ck_assert_uint_eq(wcs_import_lines(import), 2);
	SUITE_OK(wcs_import_finish(import, NULL));
	ck_assert_uint_eq(wcs_import_lines(import), 3);
	SUITE_OK(wcs_import_finish(import, NULL));
	ck_assert_uint_eq(wcs_import_lines(import), 3);
	wcs_import_free(import);
}

SUITE_STORES(test_cancel_forgets_the_unfinished_line, 10)
{
	struct wcs_import *import = suite_import(s->table);

	SUITE_OK(suite_import_text(
		import, "{\"key\":\"a\",\"families\":{\"f\":{\"q\":\"1\"}}}\n{\"key\"", NULL));
	wcs_import_cancel(import);
	SUITE_OK(wcs_import_finish(import, NULL));
	suite_expect(s->table, "a/f/q@1000000=1 ");
	wcs_import_free(import);
}

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

/* ---- Only some rows ---------------------------------------------------------------------- */

static void below(struct suite *s, const char *key, bool row, const char *line, int expected)
{
	struct wcs_slice slice = suite_text(key);
	struct wcs_import_options options = {.key = &slice, .row = row};
	struct wcs_import *import = NULL;
	struct wcs_fault fault = {0};
	int rc;

	SUITE_OK(wcs_import_new(s->table, &options, &import));
	rc = suite_import_text(import, line, &fault);
	if (rc == 0)
		rc = wcs_import_finish(import, &fault);
	ck_assert_msg(rc == expected, "%s %s: %d %s", key, line, rc, fault.text);
	wcs_import_free(import);
}

SUITE_STORES(test_keys_outside, 10)
{
	below(s, "a", false, "{\"key\":\"a\",\"families\":{\"f\":{\"q\":\"\"}}}", 0);
	below(s, "a", false, "{\"key\":\"a#b\",\"families\":{\"f\":{\"q\":\"\"}}}", 0);
	below(s, "a", false, "{\"key\":\"a#\",\"families\":{\"f\":{\"q\":\"\"}}}", 0);
	below(s, "a", false, "{\"key\":\"ab\"}", -EINVAL);
	below(s, "a", false, "{\"key\":\"a!b\"}", -EINVAL);
	below(s, "a", false, "{\"key\":\"b\"}", -EINVAL);
	below(s, "a#b", false, "{\"key\":\"a\"}", -EINVAL);
	below(s, "", false, "{\"key\":\"#x\",\"families\":{\"f\":{\"q\":\"\"}}}", 0);
	below(s, "", false, "{\"key\":\"x\"}", -EINVAL);
	below(s, "a", false, "{}", -EINVAL);
	suite_expect(s->table, "#x/f/q@1000000= a/f/q@1000000= a#/f/q@1000000= a#b/f/q@1000000= ");
}

SUITE_STORES(test_one_row, 10)
{
	struct wcs_import_options options = {.row = true};
	struct wcs_import *import = NULL;

	below(s, "a", true, "{\"families\":{\"f\":{\"q\":\"1\"}}}", 0);
	below(s, "a", true, "{\"key\":\"%61\",\"families\":{\"f\":{\"r\":\"1\"}}}", 0);
	below(s, "a", true, "{\"key\":\"a#b\",\"families\":{\"f\":{\"r\":\"1\"}}}", -EINVAL);
	below(s, "", true, "{\"families\":{\"f\":{\"r\":\"1\"}}}", -EINVAL);
	suite_expect(s->table, "a/f/q@1000000=1 a/f/r@1000000=1 ");
	ck_assert_int_eq(wcs_import_new(s->table, &options, &import), -EINVAL);
	ck_assert_int_eq(wcs_import_new(NULL, NULL, &import), -EINVAL);
}

/* ---- Other lines ------------------------------------------------------------------------- */

struct other {
	struct suite *s;
	struct wcs_table *u;
	int schemas;
};

static int other_take(void *ctx, const struct wcs_line *line, struct wcs_table **table,
		      struct wcs_fault *fault)
{
	struct other *other = ctx;

	if (line->kind == WCS_LINE_SCHEMA) {
		other->schemas++;
		return 0;
	}
	if (strcmp(line->table, "u") == 0)
		*table = other->u;
	else if (strcmp(line->table, "t") == 0)
		*table = other->s->table;
	else
		return snprintf(fault->text, sizeof(fault->text), "no such table") ? -ENOENT : 0;
	return 0;
}

SUITE_STORES(test_tables_switch, 10)
{
	struct other other = {.schemas = 0};
	struct wcs_import_options options = {.other = other_take, .ctx = &other};
	struct wcs_import *import = NULL;
	struct wcs_fault fault = {0};

	SUITE_OK(wcs_table_create(s->store, "u"));
	SUITE_OK(wcs_table_open(s->store, "u", &other.u));
	SUITE_OK(wcs_family_create(other.u, "g"));
	other.s = s;
	SUITE_OK(wcs_import_new(NULL, &options, &import));
	ck_assert_int_eq(
		suite_import_text(
			import,
			"{\"tables\":{}}\n{\"version\":1}\n{\"table\":\"t\"}\n"
			"{\"key\":\"a\",\"families\":{\"f\":{\"q\":\"1\"}}}\n"
			"{\"table\":\"u\"}\n{\"key\":\"b\",\"families\":{\"g\":{\"q\":\"2\"}}}\n"
			"{\"key\":\"c\",\"families\":{\"g\":{\"q\":\"3\"}}}\n{\"table\":\"v\"}\n"
			"{\"key\":\"d\",\"families\":{\"g\":{\"q\":\"4\"}}}\n",
			&fault),
		-ENOENT);
	ck_assert_str_eq(fault.text, "no such table (3 lines applied before it)");
	ck_assert_int_eq(fault.line, 8);
	ck_assert_int_eq(other.schemas, 2);
	suite_expect(s->table, "a/f/q@1000000=1 ");
	suite_expect(other.u, "b/g/q@1000000=2 c/g/q@1000000=3 ");
	wcs_import_free(import);
	SUITE_OK(wcs_import_new(NULL, &options, &import));
	ck_assert_int_eq(suite_import_text(import, "{\"key\":\"a\"}\n", &fault), -EINVAL);
	ck_assert_ptr_nonnull(strstr(fault.text, "no line {\"table\": NAME} came before it"));
	wcs_import_free(import);
	wcs_table_close(other.u);
}

/* ---- Rows that the caller makes ---------------------------------------------------------- */

/* 2,000 rows; one is written to a family that the table does not have. */
SUITE_STORES(test_made_rows, 30)
{
	struct wcs_import *import = suite_import(s->table);
	struct wcs_slice qualifier = {"q", 1};
	struct wcs_fault fault = {0};
	struct wcs_count count;
	int rc = 0;

	for (uint64_t i = 1; i <= 2000 && rc == 0; i++) {
		struct wcs_mutation *mutation = NULL;
		char *key = wcs_import_bytes(import, 8);

		ck_assert_ptr_nonnull(key);
		snprintf(key, 8, "r%d", (int)i);
		rc = wcs_import_begin(import, &mutation);
		if (rc == 0)
			SUITE_OK(wcs_mutation_set(mutation, i == 1300 ? "none" : "f", qualifier, 5,
						  (struct wcs_slice){key, strlen(key)}));
		if (rc == 0)
			rc = wcs_import_row(import, (struct wcs_slice){key, strlen(key)}, 3 * i,
					    &fault);
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
