/* SPDX-License-Identifier: MIT */
/* Rows from text: in pieces of any size, up to the first bad line, and what is said of that. */
#include "suite.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct wcs_import *import_of(struct wcs_table *table)
{
	struct wcs_import *import = NULL;

	ck_assert_int_eq(wcs_import_new(table, NULL, &import), 0);
	return import;
}

static int write_text(struct wcs_import *import, const char *text, struct wcs_fault *fault)
{
	return wcs_import_write(import, text, strlen(text), fault);
}

/* ---- What is applied when ---------------------------------------------------------------- */

START_TEST(test_lines_are_applied_when_the_call_returns)
{
	struct wcs_import *import;
	struct suite s;

	suite_open(&s, _i);
	import = import_of(s.table);
	ck_assert_int_eq(write_text(import,
				    "{\"key\":\"a\",\"families\":{\"f\":{\"q\":\"1\"}}}\n{\"key\"",
				    NULL),
			 0);
	suite_expect(s.table, "a/f/q@1000000=1 ");
	ck_assert_int_eq(write_text(import, ":\"b\",\"families\":{\"f\":{\"q\":\"2\"}}}", NULL), 0);
	suite_expect(s.table, "a/f/q@1000000=1 ");
	ck_assert_uint_eq(wcs_import_lines(import), 1);
	ck_assert_int_eq(write_text(import, "\n", NULL), 0);
	suite_expect(s.table, "a/f/q@1000000=1 b/f/q@1000000=2 ");
	ck_assert_int_eq(write_text(import,
				    " \t\r\n\n{\"table\":\"t\"}\r\n{\"key\":\"c\",\"delete\":true}",
				    NULL),
			 0);
	ck_assert_uint_eq(wcs_import_lines(import), 2);
	ck_assert_int_eq(wcs_import_finish(import, NULL), 0);
	ck_assert_uint_eq(wcs_import_lines(import), 3);
	ck_assert_int_eq(wcs_import_finish(import, NULL), 0);
	ck_assert_uint_eq(wcs_import_lines(import), 3);
	wcs_import_free(import);
	suite_close(&s);
}
END_TEST

START_TEST(test_cancel_forgets_the_unfinished_line)
{
	struct wcs_import *import;
	struct suite s;

	suite_open(&s, _i);
	import = import_of(s.table);
	ck_assert_int_eq(write_text(import,
				    "{\"key\":\"a\",\"families\":{\"f\":{\"q\":\"1\"}}}\n{\"key\"",
				    NULL),
			 0);
	wcs_import_cancel(import);
	ck_assert_int_eq(wcs_import_finish(import, NULL), 0);
	suite_expect(s.table, "a/f/q@1000000=1 ");
	wcs_import_free(import);
	suite_close(&s);
}
END_TEST

/* A line that sees what the lines before it in the same piece did. */
START_TEST(test_a_row_again_in_one_piece)
{
	struct wcs_import *import;
	struct suite s;

	suite_open(&s, _i);
	import = import_of(s.table);
	ck_assert_int_eq(
		write_text(import,
			   "{\"key\":\"a\",\"families\":{\"f\":{\"q\":\"1\"}}}\n"
			   "{\"key\":\"a\",\"if\":{\"f\":{\"q\":\"1\"}},\"append\":{\"f\":{\"q\":"
			   "\"2\"}}}\n"
			   "{\"key\":\"a\",\"if\":{\"f\":{\"q\":\"12\"}},\"delete\":true}\n",
			   NULL),
		0);
	suite_expect(s.table, "");
	wcs_import_free(import);
	suite_close(&s);
}
END_TEST

struct applied {
	struct wcs_table *table;
	char rows[256];
};

static void applied_note(void *ctx, struct wcs_slice row)
{
	struct applied *applied = ctx;
	struct wcs_key_info info;
	size_t n = strlen(applied->rows);

	ck_assert_int_eq(wcs_key_get(applied->table, row, &info), 0);
	snprintf(applied->rows + n, sizeof(applied->rows) - n, "%.*s%s ", (int)row.len,
		 (const char *)row.data, info.row ? "+" : "-");
}

START_TEST(test_applied_is_told)
{
	struct applied applied = {.rows = ""};
	struct wcs_import_options options = {.applied = applied_note, .ctx = &applied};
	struct wcs_import *import = NULL;
	struct suite s;

	suite_open(&s, _i);
	applied.table = s.table;
	ck_assert_int_eq(wcs_import_new(s.table, &options, &import), 0);
	ck_assert_int_eq(write_text(import,
				    "{\"key\":\"a\",\"families\":{\"f\":{\"q\":\"1\"}}}\n"
				    "{\"key\":\"b\",\"delete\":true}\n"
				    "{\"key\":\"c\",\"if\":{\"f\":{\"q\":\"1\"}}}\n"
				    "{\"key\":\"d\",\"families\":{\"f\":{\"q\":\"1\"}}}\n",
				    NULL),
			 -ECANCELED);
	ck_assert_str_eq(applied.rows, "a+ b- ");
	wcs_import_free(import);
	suite_close(&s);
}
END_TEST

/* ---- Pieces ------------------------------------------------------------------------------ */

#define PIECES_LINES 1500

/* Rows of all kinds, some large, some of them bad if bad is set. */
static char *pieces_text(uint64_t *state, bool bad, size_t *len)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, len);

	for (int i = 0; i < PIECES_LINES; i++) {
		uint32_t kind = suite_random(state) % 100, row = suite_random(state) % 400;

		if (kind < 10)
			fputs(kind < 5 ? "\n" : "{\"table\":\"t\"}\r\n", out);
		else if (kind < 15)
			fprintf(out, "{\"key\":\"r%u\",\"delete\":{\"f\":true}}\n", row);
		else if (kind < 20)
			fprintf(out, "{\"key\":\"r%u\",\"append\":{\"a\":{\"log\":\"%d;\"}}}\n",
				row, i);
		else if (kind < 22)
			fprintf(out, "{\"key\":\"r%u\",\"families\":{\"b\":{\"big\":\"%0*d\"}}}\n",
				row, 200 << (suite_random(state) % 10), i);
		else
			fprintf(out,
				"{\"key\":\"r%u\",\"families\":{\"f\":{\"q%%0A\":[{\"ts\":%d,"
				"\"value\":"
				"\"\\u0000\xc3\xa4%d\"},\"now\"]},\"a\":{\"\":[{\"base64\":\"/"
				"w==\"}]}}}"
				"\n",
				row, i, i);
		if (bad && i == PIECES_LINES / 2)
			fprintf(out, "{\"key\":\"bad\",\"families\":{\"f\":{\"q\":5}}}\n");
	}
	fclose(out);
	return text;
}

/* *line: of the fault. */
static int pieces_import(struct wcs_table *table, const char *text, size_t len, uint64_t *state,
			 size_t longest, struct wcs_fault *fault)
{
	struct wcs_import *import = import_of(table);
	int rc = 0;

	while (len > 0 && rc == 0) {
		size_t n = 1 + suite_random(state) % longest;

		n = n < len ? n : len;
		rc = wcs_import_write(import, text, n, fault);
		text += n;
		len -= n;
	}
	if (rc == 0)
		rc = wcs_import_finish(import, fault);
	wcs_import_free(import);
	return rc;
}

START_TEST(test_pieces_of_any_size)
{
	static const size_t longest[] = {1, 7, 100, 5000, 100000, 10000000};
	uint64_t state = (uint64_t)time(NULL);
	char *text[2];
	size_t len[2];

	printf("state %llu\n", (unsigned long long)state);
	fflush(stdout);
	text[0] = pieces_text(&state, false, &len[0]);
	text[1] = pieces_text(&state, true, &len[1]);
	for (int bad = 0; bad < 2; bad++) {
		char *first = NULL, first_fault[256] = "";

		for (size_t i = 0; i < sizeof(longest) / sizeof(longest[0]); i++) {
			struct wcs_fault fault = {0};
			struct suite s;
			char *got;
			int rc;

			suite_open(&s, _i);
			rc = pieces_import(s.table, text[bad], len[bad], &state, longest[i],
					   &fault);
			ck_assert_int_eq(rc, bad ? -EINVAL : 0);
			ck_assert_int_eq(fault.line, bad ? PIECES_LINES / 2 + 2 : 0);
			got = suite_content(s.table);
			if (first) {
				ck_assert_str_eq(got, first);
				ck_assert_str_eq(fault.text, first_fault);
				free(got);
			} else {
				first = got;
				strcpy(first_fault, fault.text);
			}
			suite_close(&s);
		}
		free(first);
	}
	free(text[0]);
	free(text[1]);
}
END_TEST

/* ---- Bad lines --------------------------------------------------------------------------- */

static const struct {
	const char *line;
	int error;
	const char *says;
} bad_lines[] = {
	{"x", -EINVAL, "not JSON: '[' or '{' expected, at character 1"},
	{"{\"key\":\"k\"", -EINVAL, "not JSON: "},
	{"{\"key\":\"k\",\"rows\":1}", -EINVAL, "rows: a row has only key, families, "},
	{"{\"key\":\"k\",\"key\":\"k\"}", -EINVAL, "key: named twice, at character 12"},
	{"{\"families\":{}}", -EINVAL, "the row has no \"key\""},
	{"{\"key\":\"\"}", -EINVAL, "key: must not be empty"},
	{"{\"key\":\"k\",\"families\":{\"f\":{\"q\":[7]}}}", -EINVAL,
	 "families.f.q: a number, but the family holds bytes"},
	{"{\"key\":\"k\",\"families\":{\"f\":{\"q\":[{\"value\":1,\"state\":\"AQA=\"}]}}}", -EINVAL,
	 "families.f.q: only an inthll"},
	{"{\"key\":\"k\",\"if\":{\"f\":{\"q\":7}}}", -EINVAL, "if.f.q: a number, but"},
	{"{\"key\":\"k\",\"families\":{\"f\":{\"q\":[{\"base64\":\"?\"}]}}}", -EINVAL,
	 "families.f.q[0].base64: not base64"},
	{"{\"key\":\"k\",\"families\":{\"none\":{\"q\":\"x\"}}}", -EINVAL,
	 "family none: table t does not have it; it has a, b, f"},
	{"{\"key\":\"k\",\"delete\":{\"none\":true}}", -EINVAL, "family none: table t does not"},
	{"{\"key\":\"k\",\"delete\":{\"none\":{\"q\":[1]}}}", -EINVAL, "family none: "},
	{"{\"key\":\"k\",\"if\":{\"none\":{\"q\":null}}}", -EINVAL, "family none: "},
	{"{\"key\":\"k\",\"if\":{\"f\":{\"q\":\"x\"}}}", -ECANCELED,
	 "the row is not as \"if\" says"},
	{"{\"key\":\"a\",\"increment\":{\"f\":{\"q\":1}}}", -EINVAL,
	 "\"increment\" of a value that"},
	{"{\"key\":\"n\",\"increment\":{\"f\":{\"q\":1}}}", -EOVERFLOW,
	 "an integer or a timestamp"},
	{"{\"key\":\"m\",\"families\":{\"f\":{\"q\":\"x\"}}}", -EOVERFLOW,
	 "an integer or a timestamp"},
	{"{\"table\":\"u\"}", -EINVAL, "the rows of table u cannot go to table t"},
	{"{\"table\":\"t\",\"key\":\"k\"}", -EINVAL, "table: must stand alone"},
	{"{\"version\":1,\"tables\":{}}", -EINVAL, "a schema, not a row: it belongs into /.rowfs/"},
};

/* Two good lines, an empty one, the bad one, a good one: in one piece and line by line. */
static void bad_line(int engine, size_t i, bool whole)
{
	static const char before[] = "{\"key\":\"b\",\"families\":{\"f\":{\"q\":\"1\"}}}\n"
				     "\n{\"key\":\"b\",\"append\":{\"f\":{\"q\":\"2\"}}}\n",
			  behind[] = "\n{\"key\":\"d\",\"families\":{\"f\":{\"q\":\"x\"}}}\n";
	struct wcs_fault fault = {0}, again = {0};
	struct wcs_import *import;
	char text[1024], *got;
	struct suite s;
	int rc;

	suite_open(&s, engine);
	suite_set(s.table, "a", "f", "q", 1, "text");
	suite_set(s.table, "m", "f", "q", INT64_MAX, "");
	suite_set(s.table, "n", "f", "q", 1, "\x7f\xff\xff\xff\xff\xff\xff\xff");
	import = import_of(s.table);
	snprintf(text, sizeof(text), "%s%s%s", before, bad_lines[i].line, behind);
	if (whole) {
		rc = write_text(import, text, &fault);
	} else {
		ck_assert_int_eq(write_text(import, before, &fault), 0);
		rc = write_text(import, text + strlen(before), &fault);
	}
	ck_assert_msg(rc == bad_lines[i].error, "%s: %d, %s", bad_lines[i].line, rc, fault.text);
	ck_assert_msg(strncmp(fault.text, bad_lines[i].says, strlen(bad_lines[i].says)) == 0,
		      "%s: %s", bad_lines[i].line, fault.text);
	ck_assert_msg(strstr(fault.text, " (2 lines applied before it)") != NULL, "%s", fault.text);
	ck_assert_int_eq(fault.line, 4);
	ck_assert_uint_eq(wcs_import_lines(import), 2);
	got = suite_content(s.table);
	ck_assert_str_eq(got, "a/f/q@1=text b/f/q@1000001=12 b/f/q@1000000=1 "
			      "m/f/q@9223372036854775807= "
			      "n/f/q@1=\\7F\\FF\\FF\\FF\\FF\\FF\\FF\\FF ");
	free(got);

	/* From now on it says so again, and applies nothing. */
	ck_assert_int_eq(write_text(import, behind, &again), rc);
	ck_assert_str_eq(again.text, fault.text);
	ck_assert_int_eq(again.line, 4);
	ck_assert_int_eq(wcs_import_finish(import, NULL), rc);
	ck_assert_uint_eq(wcs_import_lines(import), 2);
	wcs_import_free(import);
	suite_close(&s);
}

START_TEST(test_bad_lines)
{
	for (size_t i = 0; i < sizeof(bad_lines) / sizeof(bad_lines[0]); i++) {
		bad_line(_i, i, true);
		bad_line(_i, i, false);
	}
}
END_TEST

START_TEST(test_limits)
{
	char *key = calloc(1, WCS_ROW_KEY_MAX + 64), *spaces = malloc(1 << 20);
	struct wcs_fault fault = {0};
	struct wcs_import *import;
	struct suite s;
	int rc = 0;

	suite_open(&s, _i);
	strcpy(key, "{\"key\":\"");
	memset(key + 8, 'k', WCS_ROW_KEY_MAX + 1);
	strcat(key, "\"}\n");
	import = import_of(s.table);
	ck_assert_int_eq(write_text(import, key, &fault), -ENAMETOOLONG);
	ck_assert_msg(strncmp(fault.text, "key: has at most 4096 bytes", 27) == 0, "%s",
		      fault.text);
	wcs_import_free(import);

	/* A line over the limit ends the import before it is there as a whole. */
	memset(spaces, ' ', 1 << 20);
	import = import_of(s.table);
	for (int i = 0; i < 256 && rc == 0; i++)
		rc = wcs_import_write(import, spaces, 1 << 20, &fault);
	ck_assert_int_eq(rc, 0);
	ck_assert_int_eq(wcs_import_write(import, spaces, 1, &fault), -EFBIG);
	ck_assert_str_eq(fault.text, "the line is longer than 256 MiB (0 lines applied before it)");
	ck_assert_int_eq(fault.line, 1);
	wcs_import_free(import);
	suite_close(&s);
	free(spaces);
	free(key);
}
END_TEST

/* A limit of one's own, for lines in one piece and in several. */
START_TEST(test_limit_of_options)
{
	struct wcs_import_options options = {.line_max = 1 << 20};
	char *line = malloc((1 << 20) + 2);
	struct wcs_import *import;
	struct wcs_fault fault;
	struct suite s;

	suite_open(&s, _i);
	memset(line, ' ', 1 << 20);
	memcpy(line + (1 << 20), "x\n", 2);
	for (int pieces = 1; pieces <= 2; pieces++) {
		size_t first = pieces == 1 ? 0 : 1 << 20;

		fault = (struct wcs_fault){0};
		ck_assert_int_eq(wcs_import_new(s.table, &options, &import), 0);
		ck_assert_int_eq(wcs_import_write(import, line, first, &fault), 0);
		ck_assert_int_eq(
			wcs_import_write(import, line + first, (1 << 20) + 2 - first, &fault),
			-EFBIG);
		ck_assert_str_eq(fault.text,
				 "the line is longer than 1 MiB (0 lines applied before it)");
		wcs_import_free(import);
	}
	options.line_max = WCS_IMPORT_LINE_MOST + 1;
	ck_assert_int_eq(wcs_import_new(s.table, &options, &import), -EINVAL);
	suite_close(&s);
	free(line);
}
END_TEST

START_TEST(test_long_names_leave_room_for_the_count)
{
	struct wcs_fault fault = {0};
	struct wcs_import *import;
	char name[8];
	struct suite s;

	suite_open(&s, _i);
	for (int i = 0; i < 90; i++) {
		snprintf(name, sizeof(name), "fam%d", i);
		ck_assert_int_eq(wcs_family_create(s.table, name), 0);
	}
	import = import_of(s.table);
	ck_assert_int_eq(
		write_text(import, "{\"key\":\"k\",\"families\":{\"x\":{\"q\":\"\"}}}\n", &fault),
		-EINVAL);
	ck_assert_ptr_nonnull(
		strstr(fault.text, "family x: table t does not have it; it has a, b, "));
	ck_assert_ptr_nonnull(strstr(fault.text, " (0 lines applied before it)"));
	wcs_import_free(import);
	suite_close(&s);
}
END_TEST

/* ---- Only some rows ---------------------------------------------------------------------- */

static void below(struct suite *s, const char *key, bool row, const char *line, int expected)
{
	struct wcs_slice slice = suite_text(key);
	struct wcs_import_options options = {.key = &slice, .row = row};
	struct wcs_import *import = NULL;
	struct wcs_fault fault = {0};
	int rc;

	ck_assert_int_eq(wcs_import_new(s->table, &options, &import), 0);
	rc = write_text(import, line, &fault);
	if (rc == 0)
		rc = wcs_import_finish(import, &fault);
	ck_assert_msg(rc == expected, "%s %s: %d %s", key, line, rc, fault.text);
	wcs_import_free(import);
}

START_TEST(test_keys_outside)
{
	struct suite s;

	suite_open(&s, _i);
	below(&s, "a", false, "{\"key\":\"a\",\"families\":{\"f\":{\"q\":\"\"}}}", 0);
	below(&s, "a", false, "{\"key\":\"a#b\",\"families\":{\"f\":{\"q\":\"\"}}}", 0);
	below(&s, "a", false, "{\"key\":\"a#\",\"families\":{\"f\":{\"q\":\"\"}}}", 0);
	below(&s, "a", false, "{\"key\":\"ab\"}", -EINVAL);
	below(&s, "a", false, "{\"key\":\"a!b\"}", -EINVAL);
	below(&s, "a", false, "{\"key\":\"b\"}", -EINVAL);
	below(&s, "a#b", false, "{\"key\":\"a\"}", -EINVAL);
	below(&s, "", false, "{\"key\":\"#x\",\"families\":{\"f\":{\"q\":\"\"}}}", 0);
	below(&s, "", false, "{\"key\":\"x\"}", -EINVAL);
	below(&s, "a", false, "{}", -EINVAL);
	suite_expect(s.table, "#x/f/q@1000000= a/f/q@1000000= a#/f/q@1000000= a#b/f/q@1000000= ");
	suite_close(&s);
}
END_TEST

START_TEST(test_one_row)
{
	struct wcs_import_options options = {.row = true};
	struct wcs_import *import = NULL;
	struct suite s;

	suite_open(&s, _i);
	below(&s, "a", true, "{\"families\":{\"f\":{\"q\":\"1\"}}}", 0);
	below(&s, "a", true, "{\"key\":\"%61\",\"families\":{\"f\":{\"r\":\"1\"}}}", 0);
	below(&s, "a", true, "{\"key\":\"a#b\",\"families\":{\"f\":{\"r\":\"1\"}}}", -EINVAL);
	below(&s, "", true, "{\"families\":{\"f\":{\"r\":\"1\"}}}", -EINVAL);
	suite_expect(s.table, "a/f/q@1000000=1 a/f/r@1000000=1 ");
	ck_assert_int_eq(wcs_import_new(s.table, &options, &import), -EINVAL);
	ck_assert_int_eq(wcs_import_new(NULL, NULL, &import), -EINVAL);
	suite_close(&s);
}
END_TEST

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

	if (wcs_line_kind(line) == WCS_LINE_SCHEMA) {
		other->schemas++;
		return 0;
	}
	if (strcmp(wcs_line_table(line), "u") == 0)
		*table = other->u;
	else if (strcmp(wcs_line_table(line), "t") == 0)
		*table = other->s->table;
	else
		return snprintf(fault->text, sizeof(fault->text), "no such table") ? -ENOENT : 0;
	return 0;
}

START_TEST(test_tables_switch)
{
	struct other other = {.schemas = 0};
	struct wcs_import_options options = {.other = other_take, .ctx = &other};
	struct wcs_import *import = NULL;
	struct wcs_fault fault = {0};
	struct suite s;

	suite_open(&s, _i);
	ck_assert_int_eq(wcs_table_create(s.store, "u"), 0);
	ck_assert_int_eq(wcs_table_open(s.store, "u", &other.u), 0);
	ck_assert_int_eq(wcs_family_create(other.u, "g"), 0);
	other.s = &s;
	ck_assert_int_eq(wcs_import_new(NULL, &options, &import), 0);
	ck_assert_int_eq(
		write_text(import,
			   "{\"tables\":{}}\n{\"table\":\"t\"}\n"
			   "{\"key\":\"a\",\"families\":{\"f\":{\"q\":\"1\"}}}\n"
			   "{\"table\":\"u\"}\n{\"key\":\"b\",\"families\":{\"g\":{\"q\":\"2\"}}}\n"
			   "{\"key\":\"c\",\"families\":{\"g\":{\"q\":\"3\"}}}\n{\"table\":\"v\"}\n"
			   "{\"key\":\"d\",\"families\":{\"g\":{\"q\":\"4\"}}}\n",
			   &fault),
		-ENOENT);
	ck_assert_str_eq(fault.text, "no such table (3 lines applied before it)");
	ck_assert_int_eq(fault.line, 7);
	ck_assert_int_eq(other.schemas, 1);
	suite_expect(s.table, "a/f/q@1000000=1 ");
	suite_expect(other.u, "b/g/q@1000000=2 c/g/q@1000000=3 ");
	wcs_import_free(import);
	ck_assert_int_eq(wcs_import_new(NULL, &options, &import), 0);
	ck_assert_int_eq(write_text(import, "{\"key\":\"a\"}\n", &fault), -EINVAL);
	ck_assert_ptr_nonnull(strstr(fault.text, "no line {\"table\": NAME} came before it"));
	wcs_import_free(import);
	wcs_table_close(other.u);
	suite_close(&s);
}
END_TEST

static void make(Suite *suite)
{
	suite_add(suite, "applied when the call returns",
		  test_lines_are_applied_when_the_call_returns, 10);
	suite_add(suite, "cancel", test_cancel_forgets_the_unfinished_line, 10);
	suite_add(suite, "a row again", test_a_row_again_in_one_piece, 10);
	suite_add(suite, "applied is told", test_applied_is_told, 10);
	suite_add(suite, "pieces of any size", test_pieces_of_any_size, 300);
	suite_add(suite, "bad lines", test_bad_lines, 60);
	suite_add(suite, "limits", test_limits, 120);
	suite_add(suite, "limit of options", test_limit_of_options, 10);
	suite_add(suite, "long names", test_long_names_leave_room_for_the_count, 10);
	suite_add(suite, "keys outside", test_keys_outside, 10);
	suite_add(suite, "one row", test_one_row, 10);
	suite_add(suite, "tables switch", test_tables_switch, 10);
}

int main(void)
{
	return suite_main("import", make);
}
