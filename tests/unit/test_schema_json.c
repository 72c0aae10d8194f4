/* SPDX-License-Identifier: MIT */
/* Schemas as JSON: accepted ones, refused ones with the place of the fault, and the canonical
 * text. */

#include "tests/unit/suite.h"

static struct wcs_schema *parse(const char *text)
{
	struct wcs_schema *schema = NULL;
	struct wcs_fault fault = {0};

	ck_assert_msg(wcs_schema_parse(text, strlen(text), &schema, &fault) == 0, "%s: %d: %s",
		      text, fault.line, fault.text);
	return schema;
}

SUITE_TEST(test_all_may_be_left_out, 10)
{
	static const char *const texts[] = {"{}", "{\"version\":1}", "{\"tables\":{}}",
					    " \n{ }\r\n"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct wcs_schema *schema = parse(texts[i]);

		ck_assert_uint_eq(schema->table_count, 0);
		wcs_schema_free(schema);
	}
}

static const struct {
	const char *text;
	int line;
	const char *says; /* the text starts with this */
} faults[] = {
	{"", 1, "not JSON"},
	{"[]", 0, "must be an object"},
	{"{\"version\":1,\n\"tables\":{\n", 3, "not JSON"},
	{"{}\n x", 2, "not JSON"},
	{"\n{\"version\":2}", 2, "version: newer than this program"},
	{"{\n\"tabels\":{},\"version\":99}", 2, "version: newer than this program"},
	{"{\"version\":0}", 1, "version: must be the number 1"},
	{"{\"version\":\"1\"}", 1, "version: must"},
	{"{\"version\":1.0}", 1, "version: must"},
	{"{\"version\":99999999999999999999}", 1, "version: an integer beyond 64 bits"},
	{"{\n\n\"tabels\":{}}", 3, "tabels: a schema has only"},
	{"{\"tables\":[]}", 1, "tables: must"},
	{"{\"tables\":{\n\"t\":null}}", 2, "tables.t: must"},
	{"{\"tables\":{\n\"\":{}}}", 2, "tables.\"\": a table's name"},
	{"{\"tables\":{\n\".t\":{}}}", 2, "tables..t: a table's name"},
	{"{\"tables\":{\"a/b\":{}}}", 1, "tables.a/b: a table's name"},
	{"{\"tables\":{\"a\\nb\":{}}}", 1, "tables.a%0Ab: a table's name"},
	{"{\"tables\":{\"t\":{\n\"gc\":\"never\"}}}", 2, "tables.t.gc: a table has only"},
	{"{\"tables\":{\"t\":{\n\"delimiter\":\"\"}}}", 2, "tables.t.delimiter: must"},
	{"{\"tables\":{\"t\":{\"delimiter\":\"##\"}}}", 1, "tables.t.delimiter: must"},
	{"{\"tables\":{\"t\":{\"delimiter\":\"/\"}}}", 1, "tables.t.delimiter: must"},
	{"{\"tables\":{\"t\":{\"delimiter\":\"%\"}}}", 1, "tables.t.delimiter: must"},
	{"{\"tables\":{\"t\":{\"delimiter\":\".\"}}}", 1, "tables.t.delimiter: must"},
	{"{\"tables\":{\"t\":{\"delimiter\":\"\\u0000\"}}}", 1, "tables.t.delimiter: must"},
	{"{\"tables\":{\"t\":{\"delimiter\":\"\xc3\xa4\"}}}", 1, "tables.t.delimiter: must"},
	{"{\"tables\":{\"t\":{\"delimiter\":35}}}", 1, "tables.t.delimiter: must"},
	{"{\"tables\":{\"t\":{\n\"protected\":1}}}", 2,
	 "tables.t.protected: must be true or false"},
	{"{\"tables\":{\"t\":{\"families\":[\n]}}}", 1, "tables.t.families: must"},
	{"{\"tables\":{\"t\":{\"families\":{\n\"a b\":{}}}}}", 2,
	 "tables.t.families.a b: a family's name"},
	{"{\"tables\":{\"t\":{\"families\":{\"f\":1}}}}", 1, "tables.t.families.f: must"},
	{"{\"tables\":{\"t\":{\"families\":{\"f\":{\n\n\"ttl\":1}}}}}", 3,
	 "tables.t.families.f.ttl: a family has only"},
	{"{\"tables\":{\"t\":{\"families\":{\"f\":{\"gc\":null}}}}}", 1,
	 "tables.t.families.f.gc: must be a policy"},
	{"{\"tables\":{\"t\":{\"families\":{\"f\":{\"gc\":\"never\\u0000\"}}}}}", 1,
	 "tables.t.families.f.gc: must be a policy"},
	{"{\"tables\":{\"t\":{\"families\":{\"f\":{\"type\":\"text\"}}}}}", 1,
	 "tables.t.families.f.type: must be"},
	{"{\"tables\":{\"t\":{\"families\":{\"f\":{\"type\":\"bytes\\u0000\"}}}}}", 1,
	 "tables.t.families.f.type: must be"},
	{"{\"tables\":{\"vehicles\":{\"families\":{\n\"a\":{\"gc\":\"never\"},\n\"loc\":{\"type\":"
	 "\"bytes\",\n\"gc\":\"maxage=5\"}}}}}",
	 4,
	 "tables.vehicles.families.loc.gc: a unit must follow the number: ms, s, m, h or d, "
	 "at character 9 of the policy"},
	/* Escaped names, names that stand elsewhere too, lists and braces inside strings. */
	{"{\"tables\":{\"gc\":{},\n\"f\":{\"families\":{\"gc\":\"never\",\n\"\\u0066\":{"
	 "\n\"\\u0067c\":"
	 "\"x\"}}}}}",
	 4, "tables.f.families.f.gc: expected"},
	{"{\"tables\":{\"t\":{\"delimiter\":\"{\",\n\"families\":{\"f\":\"never\",\n\"g\":\"]}"
	 "\\\"\"}}}}",
	 3, "tables.t.families.g: expected"},
	{"{\"version\":1,\n\"version\":1}", 2, "version: named twice"},
	{"{\"tables\":{\"t\":{},\n\"u\":{},\n\"\\u0074\":{}}}", 3, "tables.t: named twice"},
	{"{\"tables\":{\"t\":{\"families\":{\"f\":{\"gc\":\"never\",\n\"gc\":\"never\"}}}}}", 2,
	 "tables.t.families.f.gc: named twice"},
	{"{\"tables\":[{\"a\":1},[0,{\"b\":1,\n\"b\":2}]]}", 2, "tables[1][1].b: named twice"},
	{"{\"tables\":{\"\\u0000\":{}}}", 1, "not JSON"},
	{"{\"tables\":{\"\xff\":{}}}", 1, "not JSON"},
	{"{\"tables\":{\"\\ud800\":{}}}", 1, "not JSON"},
};

SUITE_TEST(test_fault_names_member_and_line, 10)
{
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		struct wcs_schema *schema = NULL;
		struct wcs_fault fault = {0};
		const char *text = faults[i].text;

		ck_assert_msg(wcs_schema_parse(text, strlen(text), &schema, &fault) == -EINVAL,
			      "%s", text);
		ck_assert_msg(strncmp(fault.text, faults[i].says, strlen(faults[i].says)) == 0,
			      "%s: '%s'", text, fault.text);
		ck_assert_msg(fault.line == faults[i].line, "%s: line %d (%s)", text, fault.line,
			      fault.text);
		ck_assert_ptr_null(schema);
		ck_assert_int_eq(wcs_schema_parse(text, strlen(text), &schema, NULL), -EINVAL);
	}
}

SUITE_TEST(test_hostile_text, 10)
{
	static char deep[1 << 20];
	char nul[] = "{\"tables\":{}\0}";
	struct wcs_schema *schema = NULL;
	struct wcs_fault fault;

	memset(deep, '[', sizeof(deep));
	ck_assert_int_eq(wcs_schema_parse(deep, sizeof(deep), &schema, &fault), -EINVAL);
	for (size_t i = 0; i + 5 <= sizeof(deep); i += 5)
		memcpy(deep + i, "{\"a\":", 5);
	ck_assert_int_eq(wcs_schema_parse(deep, sizeof(deep), &schema, &fault), -EINVAL);
	ck_assert_int_eq(wcs_schema_parse(nul, sizeof(nul) - 1, &schema, &fault), -EINVAL);
	ck_assert_int_eq(wcs_schema_parse(NULL, 0, &schema, &fault), -EINVAL);
	/* Named twice deeper than any schema goes. */
	strcpy(deep, "{\"x\":[[[[[[[[[[[[[[[[[[[[{\"a\":1,\"a\":2}]]]]]]]]]]]]]]]]]]]]}");
	ck_assert_int_eq(wcs_schema_parse(deep, strlen(deep), &schema, &fault), -EINVAL);
}

SUITE_TEST(test_tables_limit, 10)
{
	struct wcs_schema *schema = NULL;
	struct wcs_fault fault;

	for (size_t count = WCS_TABLES_MAX; count <= WCS_TABLES_MAX + 1; count++) {
		char *text = NULL;
		size_t len;
		FILE *out = open_memstream(&text, &len);

		fputs("{\"tables\":{", out);
		for (size_t i = 0; i < count; i++)
			fprintf(out, "%s\"t%zu\":{}", i ? "," : "", i);
		fputs("}}", out);
		fclose(out);
		ck_assert_int_eq(wcs_schema_parse(text, len, &schema, &fault),
				 count > WCS_TABLES_MAX ? -EINVAL : 0);
		free(text);
	}
	ck_assert_uint_eq(schema->table_count, WCS_TABLES_MAX);
	wcs_schema_free(schema);
}

SUITE_TEST(test_format, 10)
{
	struct wcs_schema *schema = parse(
		"{\"version\":1,\"tables\":{\n"
		"\"b\":{\"delimiter\":\":\",\"families\":{\"z\":\"maxversions=3\",\n"
		"\"a\":{\"gc\":\"maxage=24h or maxversions=1\",\"type\":\"intsum\"},\"m\":{}}},\n"
		"\"a\":{\"delimiter\":\"\\\"\"}}}");
	char *text = wcs_schema_format(schema), *again;

	ck_assert_int_eq(schema->tables[0].created, 0);
	ck_assert_str_eq(text, "{\n"
			       "  \"version\": 1,\n"
			       "  \"tables\": {\n"
			       "    \"a\": {\n"
			       "      \"delimiter\": \"\\\"\",\n"
			       "      \"families\": {}\n"
			       "    },\n"
			       "    \"b\": {\n"
			       "      \"delimiter\": \":\",\n"
			       "      \"families\": {\n"
			       "        \"a\": {\n"
			       "          \"gc\": \"maxage=1d or maxversions=1\",\n"
			       "          \"type\": \"intsum\"\n"
			       "        },\n"
			       "        \"m\": {},\n"
			       "        \"z\": {\n"
			       "          \"gc\": \"maxversions=3\"\n"
			       "        }\n"
			       "      }\n"
			       "    }\n"
			       "  }\n"
			       "}\n");
	wcs_schema_free(schema);
	wcs_schema_free(NULL);
	schema = parse(text);
	again = wcs_schema_format(schema);
	ck_assert_str_eq(text, again);
	wcs_schema_free(schema);
	free(text);
	free(again);
}

SUITE_TEST(test_line, 10)
{
	static const char *const delimiters[] = {"#",	" ",   "\\\"",	  "\\\\",    "\\b",
						 "\\n", "\\r", "\\u0001", "\\u001F", "\x7f"};
	char text[160], *line;

	for (size_t i = 0; i < sizeof(delimiters) / sizeof(delimiters[0]); i++) {
		struct wcs_schema *schema;

		snprintf(text, sizeof(text),
			 "{\"version\":1,\"tables\":{\"t\":{\"delimiter\":\"%s\",\"families\":{"
			 "\"f\":{\"gc\":\"maxage=1d or maxversions=1\"}}}}}\n",
			 delimiters[i]);
		schema = parse(text);
		line = wcs_schema_line(schema);
		ck_assert_str_eq(line, text);
		free(line);
		wcs_schema_free(schema);
	}
}
