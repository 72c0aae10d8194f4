/* SPDX-License-Identifier: MIT */
/* Rows from text: in pieces of any size, applied when they are whole, to the rows that may be. */
#include "tests/unit/suite.h"

#include <time.h>

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
	struct wcs_import *import = suite_import(table);
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

SUITE_LOOP(test_pieces_of_any_size, SUITE_ENGINES, 300)
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
	suite_expect(s->table, "a/f/q@1000000=1 ");
	suite_expect(other.u, "b/g/q@1000000=2 c/g/q@1000000=3 ");
	wcs_import_free(import);
	SUITE_OK(wcs_import_new(NULL, &options, &import));
	ck_assert_int_eq(suite_import_text(import, "{\"key\":\"a\"}\n", &fault), -EINVAL);
	ck_assert_ptr_nonnull(strstr(fault.text, "no line {\"table\": NAME} came before it"));
	wcs_import_free(import);
	wcs_table_close(other.u);
}
