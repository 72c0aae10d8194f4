/* SPDX-License-Identifier: MIT */
/* Rows from text up to the first bad line, or one that is too long, and the message about that
 * line. */
#include "tests/unit/suite.h"

static const struct {
	const char *line;
	int error;
	const char *says;
} bad_lines[] = {
	{"x", -EINVAL, "not JSON: it must start with '{', at character 1"},
	{"{\"key\":\"k\"", -EINVAL, "not JSON: "},
	{"{\"key\":\"k\",\"key\":\"k\"}", -EINVAL, "key: named twice, at character 12"},
	{"{\"families\":{}}", -EINVAL, "the row has no \"key\""},
	{"{\"key\":\"k\",\"families\":{\"f\":{\"q\":[7]}}}", -EINVAL,
	 "families.f.q: a number, but the family holds bytes"},
	{"{\"key\":\"k\",\"families\":{\"f\":{\"q\":[{\"value\":1,\"state\":\"AQA=\"}]}}}", -EINVAL,
	 "families.f.q: only an inthll"},
	{"{\"key\":\"k\",\"if\":{\"f\":{\"q\":7}}}", -EINVAL, "if.f.q: a number, but"},
	{"{\"key\":\"k\",\"families\":{\"none\":{\"q\":\"x\"}}}", -EINVAL,
	 "family none: table t does not have it; it has a, b, f"},
	{"{\"key\":\"k\",\"families\":{\"a\":{},\"none\":{}}}", -EINVAL,
	 "family none: table t does not have it; it has a, b, f"},
	{"{\"key\":\"k\",\"delete\":{\"none\":{\"q\":[]}}}", -EINVAL,
	 "family none: table t does not"},
	{"{\"key\":\"k\",\"delete\":{\"none\":true}}", -EINVAL, "family none: table t does not"},
	{"{\"key\":\"k\",\"delete\":{\"none\":{\"q\":[1]}}}", -EINVAL, "family none: "},
	{"{\"key\":\"k\",\"if\":{\"none\":{\"q\":null}}}", -EINVAL, "family none: "},
	{"{\"key\":\"k\",\"if\":{\"f\":{\"q\":\"x\"}}}", -ECANCELED,
	 "if.f.q: the row is not as \"if\" says"},
	{"{\"key\":\"k\",\"if\":{\"f\":{\"q\":null,\"r\":\"x\"}}}", -ECANCELED,
	 "the row is not as \"if\" says"},
	{"{\"key\":\"a\",\"increment\":{\"f\":{\"q\":1}}}", -EINVAL,
	 "increment.f.q: \"increment\" of a value that"},
	{"{\"key\":\"n\",\"increment\":{\"f\":{\"q\":1}}}", -EOVERFLOW,
	 "increment.f.q: an integer or a timestamp"},
	{"{\"key\":\"m\",\"families\":{\"f\":{\"q\":\"x\"}}}", -EOVERFLOW,
	 "families.f.q: an integer or a timestamp"},
	{"{\"key\":\"m\",\"families\":{\"f\":{\"p\":\"x\",\"q\":\"x\"}}}", -EOVERFLOW,
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
	import = suite_import(s.table);
	snprintf(text, sizeof(text), "%s%s%s", before, bad_lines[i].line, behind);
	if (whole) {
		rc = suite_import_text(import, text, &fault);
	} else {
		SUITE_OK(suite_import_text(import, before, &fault));
		rc = suite_import_text(import, text + strlen(before), &fault);
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
	ck_assert_int_eq(suite_import_text(import, behind, &again), rc);
	ck_assert_str_eq(again.text, fault.text);
	ck_assert_int_eq(again.line, 4);
	ck_assert_int_eq(wcs_import_finish(import, NULL), rc);
	ck_assert_uint_eq(wcs_import_lines(import), 2);
	wcs_import_free(import);
	suite_close(&s);
}

SUITE_LOOP(test_bad_lines, SUITE_ENGINES, 60)
{
	for (size_t i = 0; i < sizeof(bad_lines) / sizeof(bad_lines[0]); i++) {
		bad_line(_i, i, true);
		bad_line(_i, i, false);
	}
}

/* A line over the limit ends the import before it is there as a whole; options may set another. */
SUITE_STORES(test_limits, 120)
{
	static const struct {
		size_t line_max;
		int pieces;  /* of 1 MiB, which fit */
		size_t last; /* bytes behind them, which do not */
		const char *limit;
	} cases[] = {{0, 256, 1, "256 MiB"},
		     {1 << 20, 1, 2, "1 MiB"},
		     {1 << 20, 0, (1 << 20) + 2, "1 MiB"}};
	struct wcs_import_options options = {.line_max = WCS_IMPORT_LINE_MOST + 1};
	char *line = malloc((1 << 20) + 2), expected[100];
	struct wcs_import *import;

	ck_assert_int_eq(wcs_import_new(s->table, &options, &import), -EINVAL);
	memset(line, ' ', 1 << 20);
	memcpy(line + (1 << 20), "x\n", 2);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *last = cases[i].pieces > 0 ? line + (1 << 20) : line;
		struct wcs_fault fault = {0};

		options.line_max = cases[i].line_max;
		SUITE_OK(wcs_import_new(s->table, &options, &import));
		for (int piece = 0; piece < cases[i].pieces; piece++)
			SUITE_OK(wcs_import_write(import, line, 1 << 20, &fault));
		ck_assert_int_eq(wcs_import_write(import, last, cases[i].last, &fault), -EFBIG);
		snprintf(expected, sizeof(expected),
			 "the line is longer than %s (0 lines applied before it)", cases[i].limit);
		ck_assert_str_eq(fault.text, expected);
		ck_assert_int_eq(fault.line, 1);
		wcs_import_free(import);
	}
	free(line);
}

#define NINE "\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"\""

/* Ten entries, of 320 bytes each, are read: a column and nine cells. */
SUITE_STORES(test_memory_of_a_line, 10)
{
	static const char before[] = "{\"key\":\"k\",\"families\":{\"f\":{\"q\":[";
	struct wcs_import_options options = {.memory = 3200};
	struct wcs_fault fault = {0};
	struct wcs_import *import;
	char text[200];

	SUITE_OK(wcs_import_new(s->table, &options, &import));
	snprintf(text, sizeof(text), "%s%s]}}}\n%s%s,\"\"]}}}\n", before, NINE, before, NINE);
	ck_assert_int_eq(suite_import_text(import, text, &fault), -EFBIG);
	ck_assert_str_eq(fault.text, "a row that takes too much memory to read (1 line applied "
				     "before it)");
	wcs_import_free(import);
}

SUITE_STORES(test_long_names_leave_room_for_the_count, 10)
{
	struct wcs_fault fault = {0};
	struct wcs_import *import;
	char name[8];

	for (int i = 0; i < 90; i++) {
		snprintf(name, sizeof(name), "fam%d", i);
		SUITE_OK(wcs_family_create(s->table, name));
	}
	import = suite_import(s->table);
	ck_assert_int_eq(suite_import_text(import,
					   "{\"key\":\"k\",\"families\":{\"x\":{\"q\":\"\"}}}\n",
					   &fault),
			 -EINVAL);
	ck_assert_ptr_nonnull(
		strstr(fault.text, "family x: table t does not have it; it has a, b, "));
	ck_assert_ptr_nonnull(strstr(fault.text, " (0 lines applied before it)"));
	wcs_import_free(import);
}
