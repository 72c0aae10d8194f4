/* SPDX-License-Identifier: MIT */
/* Schemas as JSON: accepted ones, refused ones with the place of the fault, and the canonical
 * text. */

#include "tests/unit/suite.h"

#include "store/keys/keys.h"

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
	{"[]", 1, "must be an object"},
	{"{\"version\":1,\n\"tables\":{\n", 3, "not JSON"},
	{"{}\n x", 2, "not JSON"},
	{"\n{\"version\":2}", 2, "version: newer than this program"},
	{"{\n\"tabels\":{},\"version\":99}", 2, "version: newer than this program"},
	{"{\"version\":0}", 1, "version: must be the number 1"},
	{"{\"version\":\"1\"}", 1, "version: must"},
	{"{\"version\":1.0}", 1, "version: must"},
	{"{\n\"version\":1e999}", 2, "a number that no double holds"},
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
	{"{\"tables\":{\"t\":{\n\"keys\":[]}}}", 2, "tables.t.keys: must be an object"},
	{"{\"tables\":{\"t\":{\"keys\":{\n\"segment\":[]}}}}", 2,
	 "tables.t.keys.segment: a design has only segments and salt"},
	{"{\"tables\":{\"t\":{\"keys\":{\"segments\":{}}}}}", 1,
	 "tables.t.keys.segments: must be a list"},
	{"{\"tables\":{\"t\":{\"keys\":{\"segments\":[\"a\",\n1]}}}}", 2,
	 "tables.t.keys.segments[1]: must be an object or a name in quotes"},
	{"{\"tables\":{\"t\":{\"keys\":{\"segments\":[\"a\",\n\"a\"]}}}}", 2,
	 "tables.t.keys.segments[1]: a: two segments have that name"},
	{"{\"tables\":{\"t\":{\"keys\":{\"segments\":[\"a b\"]}}}}", 1,
	 "tables.t.keys.segments[0]: a segment's name is 1 to 64 of -_.a-zA-Z0-9"},
	{"{\"tables\":{\"t\":{\"keys\":{\"segments\":[{}]}}}}", 1,
	 "tables.t.keys.segments[0]: a segment's name is 1 to 64"},
	{"{\"tables\":{\"t\":{\"keys\":{\"segments\":[{\"name\":"
	 "\"0123456789012345678901234567890123"
	 "4567890123456789012345678901234\"}]}}}}",
	 1, "tables.t.keys.segments[0].name: a segment's name is 1 to 64"},
	{"{\"tables\":{\"t\":{\"keys\":{\"segments\":[{\"name\":\"a\",\"length\":8}]}}}}", 1,
	 "tables.t.keys.segments[0].length: a segment has only name, codec, unit and width"},
	{"{\"tables\":{\"t\":{\"keys\":{\"segments\":[{\"name\":\"a\",\n\"codec\":\"hash\"}]}}}}",
	 2, "tables.t.keys.segments[0].codec: must be \"text\", \"reverse-domain\", \"time\", "},
	{"{\"tables\":{\"t\":{\"keys\":{\"segments\":[{\"name\":\"a\",\"unit\":\"ns\"}]}}}}", 1,
	 "tables.t.keys.segments[0].unit: must be \"us\", \"ms\" or \"s\""},
	{"{\"tables\":{\"t\":{\"keys\":{\"segments\":[{\"name\":\"a\",\"codec\":\"pad\","
	 "\"width\":0}]}}}}",
	 1, "tables.t.keys.segments[0].width: must be a whole number from 1 to 19"},
	{"{\"tables\":{\"t\":{\"keys\":{\"segments\":[{\"name\":\"a\",\"codec\":\"pad\","
	 "\"width\":20}]}}}}",
	 1, "tables.t.keys.segments[0].width: must be a whole number from 1 to 19"},
	{"{\"tables\":{\"t\":{\"keys\":{\"segments\":[{\"name\":\"a\",\"codec\":\"pad\"}]}}}}", 1,
	 "tables.t.keys.segments[0]: a: the codec pad needs a width from 1 to 19"},
	{"{\"tables\":{\"t\":{\"keys\":{\"segments\":[{\"name\":\"a\",\"width\":3}]}}}}", 1,
	 "tables.t.keys.segments[0]: a: the codec text has no width"},
	{"{\"tables\":{\"t\":{\"keys\":{\n\"salt\":{}}}}}", 2,
	 "tables.t.keys.salt: a salt has buckets"},
	{"{\"tables\":{\"t\":{\"keys\":{\"salt\":16}}}}", 1,
	 "tables.t.keys.salt: must be an object"},
	{"{\"tables\":{\"t\":{\"keys\":{\"salt\":{\"bucket\":2}}}}}", 1,
	 "tables.t.keys.salt.bucket: a salt has only buckets and segments"},
	{"{\"tables\":{\"t\":{\"keys\":{\"salt\":{\"buckets\":1}}}}}", 1,
	 "tables.t.keys.salt.buckets: must be a whole number from 2 to 256"},
	{"{\"tables\":{\"t\":{\"keys\":{\"salt\":{\"buckets\":257}}}}}", 1,
	 "tables.t.keys.salt.buckets: must be a whole number from 2 to 256"},
	{"{\"tables\":{\"t\":{\"keys\":{\"salt\":{\"buckets\":2,\"segments\":33}}}}}", 1,
	 "tables.t.keys.salt.segments: must be a whole number from 0 to 32"},
	{"{\"tables\":{\"t\":{\"keys\":{},\n\"keys\":{}}}}", 2, "tables.t.keys: named twice"},
	{"{\"tables\":{\"t\":{\n\"keys\":{\"segments\":[{\"name\":\"at\",\"codec\":\"time\"}]},\n"
	 "\"delimiter\":\"-\"}}}",
	 2, "tables.t.keys: at: the codec time makes '-', which is the table's delimiter"},
	{"{\"tables\":{\"t\":{\"delimiter\":\"a\",\n\"keys\":{\"salt\":{\"buckets\":2}}}}}", 2,
	 "tables.t.keys: the salt makes 'a', which is the table's delimiter"},
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
	 4, "tables.vehicles.families.loc.gc: a unit must follow the number: ms, s, m, h or d"},
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

/* Designs, and their canonical text. */
static const struct {
	const char *text;
	const char *line; /* NULL: the same */
} designs[] = {
	{"{}", NULL},
	{" { \n } ", "{}"},
	{"{\"segments\":[]}", "{}"},
	{"{\"segments\":[\"a\",\"B-_.9\"]}", NULL},
	{"{\"salt\":{\"buckets\":2}}", NULL},
	{"{\"salt\":{\"segments\":32,\"buckets\":256}}",
	 "{\"salt\":{\"buckets\":256,\"segments\":32}}"},
	{"{\"salt\":{\"buckets\":16,\"segments\":0}}", "{\"salt\":{\"buckets\":16}}"},
	{"{\"segments\":[{\"name\":\"a\"},{\"codec\":\"text\",\"name\":\"b\"}]}",
	 "{\"segments\":[\"a\",\"b\"]}"},
	{"{\"segments\":[{\"name\":\"a\",\"codec\":\"reverse-domain\"},"
	 "{\"name\":\"b\",\"codec\":\"reverse\"}]}",
	 NULL},
	{"{\"segments\":[{\"name\":\"a\",\"codec\":\"time\",\"unit\":\"us\",\"width\":19}]}",
	 "{\"segments\":[{\"name\":\"a\",\"codec\":\"time\"}]}"},
	{"{\"segments\":[{\"name\":\"a\",\"codec\":\"time\",\"unit\":\"ms\",\"width\":13},"
	 "{\"name\":\"b\",\"codec\":\"reverse-time\",\"unit\":\"s\"},"
	 "{\"name\":\"c\",\"codec\":\"pad\",\"width\":8}],"
	 "\"salt\":{\"buckets\":16,\"segments\":2}}",
	 NULL},
};

SUITE_TEST(test_designs, 10)
{
	for (size_t i = 0; i < sizeof(designs) / sizeof(designs[0]); i++) {
		const char *expected = designs[i].line ? designs[i].line : designs[i].text;
		struct wcs_keys keys;
		char *line;

		SUITE_OK(
			wcs_keys_json_parse(designs[i].text, strlen(designs[i].text), &keys, NULL));
		line = wcs_keys_json(&keys);
		ck_assert_msg(strncmp(line, expected, strlen(expected)) == 0 &&
				      strcmp(line + strlen(expected), "\n") == 0,
			      "%s", line);
		free(line);
	}
	suite_expect_text(wcs_keys_json(NULL), "{}\n");
}

SUITE_TEST(test_design_faults, 10)
{
	static const struct {
		const char *text;
		int line, column;
		const char *says;
	} bad[] = {
		{"", 1, 1, "not JSON: it is empty"},
		{"[]", 1, 1, "must be an object"},
		{"{}{}", 1, 3, "not JSON: text behind the closing brace"},
		{"{\"segments\":[\n \"a\", {\"name\":\"b\",\"codec\":7}]}", 2, 19,
		 "segments[1].codec: must be"},
		{"{\"salt\":{\"buckets\":99999999999999999999}}", 1, 20,
		 "salt.buckets: an integer"},
	};
	struct wcs_keys keys = {.buckets = 7};
	struct wcs_fault fault;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ck_assert_int_eq(
			wcs_keys_json_parse(bad[i].text, strlen(bad[i].text), &keys, &fault),
			-EINVAL);
		ck_assert_msg(strncmp(fault.text, bad[i].says, strlen(bad[i].says)) == 0, "%s",
			      fault.text);
		ck_assert_int_eq(fault.line, bad[i].line);
		ck_assert_int_eq(fault.column, bad[i].column);
		ck_assert_uint_eq(keys.buckets, 7);
	}
}

SUITE_TEST(test_too_many_segments, 10)
{
	for (int count = 32; count <= 33; count++) {
		struct wcs_fault fault = {.text = ""};
		struct wcs_keys keys;
		char text[512] = "{\"segments\":[";

		for (int i = 0; i < count; i++)
			sprintf(text + strlen(text), "%s\"s%d\"", i > 0 ? "," : "", i);
		strcat(text, "]}");
		ck_assert_int_eq(wcs_keys_json_parse(text, strlen(text), &keys, &fault),
				 count > 32 ? -EINVAL : 0);
		ck_assert_str_eq(fault.text,
				 count > 32 ? "segments: a design has at most 32 segments" : "");
	}
}

/* In a schema: open, explicitly plain, and with a delimiter. */
SUITE_TEST(test_designs_in_schemas, 10)
{
	static const char text[] = "{\n"
				   "  \"version\": 1,\n"
				   "  \"tables\": {\n"
				   "    \"a\": {\n"
				   "      \"delimiter\": \"|\",\n"
				   "      \"keys\": {\n"
				   "        \"segments\": [\n"
				   "          \"tenant\",\n"
				   "          {\n"
				   "            \"name\": \"at\",\n"
				   "            \"codec\": \"reverse-time\"\n"
				   "          }\n"
				   "        ],\n"
				   "        \"salt\": {\n"
				   "          \"buckets\": 16,\n"
				   "          \"segments\": 1\n"
				   "        }\n"
				   "      },\n"
				   "      \"families\": {}\n"
				   "    },\n"
				   "    \"b\": {\n"
				   "      \"keys\": {},\n"
				   "      \"families\": {}\n"
				   "    },\n"
				   "    \"c\": {\n"
				   "      \"families\": {}\n"
				   "    }\n"
				   "  }\n"
				   "}\n";
	struct wcs_schema *schema = parse(text);

	ck_assert_uint_eq(schema->tables[0].keys->buckets, 16);
	ck_assert_uint_eq(schema->tables[0].keys->salt_segments, 1);
	ck_assert_uint_eq(schema->tables[0].keys->segment_count, 2);
	ck_assert_str_eq(schema->tables[0].keys->segments[1].name, "at");
	ck_assert_int_eq(schema->tables[0].keys->segments[1].codec, WCS_CODEC_REVERSE_TIME);
	ck_assert(wcs_keys_equal(schema->tables[1].keys, NULL));
	ck_assert_ptr_nonnull(schema->tables[1].keys);
	ck_assert_ptr_null(schema->tables[2].keys);
	suite_expect_text(wcs_schema_format(schema), text);
	suite_expect_text(wcs_schema_line(schema),
			  "{\"version\":1,\"tables\":{\"a\":{\"delimiter\":\"|\",\"keys\":{"
			  "\"segments\":[\"tenant\",{\"name\":\"at\",\"codec\":\"reverse-time\"}],"
			  "\"salt\":{\"buckets\":16,\"segments\":1}},\"families\":{}},\"b\":{"
			  "\"keys\":{},\"families\":{}},\"c\":{\"families\":{}}}}\n");
	wcs_schema_free(schema);
}
