/* SPDX-License-Identifier: MIT */
/* Lines of JSON: the effect of a row object, and each refusal with its message. */

#include "lib/utf8.h"
#include "tests/unit/suite.h"

/* A row object, the table's only row before it, and the table behind it. */
static const struct {
	const char *before, *line, *content;
} rows[] = {
	{NULL,
	 "{\"key\":\"STC#22\",\"ts\":9,\"families\":{\"f\":{\"lat\":[{\"ts\":17,\"value\":\"53.4\"}"
	 ","
	 "{\"value\":\"x\"},{\"ts\":0,\"base64\":\"aGk=\"},\"text\"],\"\":[\"\"],\"none\":[],"
	 "\"one\":\"alone\"},\"a\":{}}}\r",
	 "STC#22/f/@1000000= STC#22/f/lat@1000001=text STC#22/f/lat@1000000=x "
	 "STC#22/f/lat@17=53.4 STC#22/f/lat@0=hi STC#22/f/one@1000000=alone "},
	{NULL,
	 "{\"key\":\"%00%FF%25%2F\\u00e4%41\",\"families\":{\"f\":{\"%0A%C3\":[\"\\u0000x\\u0000\"]"
	 ","
	 "\"\\u007f\":[{\"base64\":\"AP/+\"}],"
	 "\"b\":[{\"ts\":9223372036854775807,\"base64\":\"\"}]}}}",
	 "\\00\\FF%/\\C3\\A4A/f/\\0A\\C3@1000000=\\00x\\00 "
	 "\\00\\FF%/\\C3\\A4A/f/b@9223372036854775807= "
	 "\\00\\FF%/\\C3\\A4A/f/\\7F@1000000=\\00\\FF\\FE "},
	{"{\"key\":\"k\",\"families\":{\"f\":{\"q\":\"v\"}}}", "{\"key\":\"k\",\"delete\":true}",
	 ""},
	{"{\"key\":\"k\",\"families\":{\"f\":{\"q\":\"v\"},\"a\":{\"q%01\":\"v\",\"r\":[{\"ts\":5,"
	 "\"value\":\"v\"},{\"ts\":4,\"value\":\"v\"},{\"ts\":0,\"value\":\"v\"}],\"none\":\"v\"},"
	 "\"b\":{\"q\":\"v\"}}}",
	 "{\"key\":\"k\",\"delete\":{\"f\":true,\"a\":{\"q%01\":true,\"r\":[5,0],\"none\":[]},"
	 "\"b\":{}}}",
	 "k/a/none@1000000=v k/a/r@4=v k/b/q@1000000=v "},
	{"{\"key\":\"k\",\"families\":{\"f\":{\"a\":\"old\"}}}",
	 "{\"key\":\"k\",\"if\":{\"f\":{\"a\":\"old\",\"b\":null}},\"append\":{\"f\":{\"a\":"
	 "\"new\"}},"
	 "\"increment\":{\"f\":{\"n\":-9223372036854775808,\"m\":1}}}",
	 "k/f/a@1000001=oldnew k/f/a@1000000=old k/f/m@1000000=\\00\\00\\00\\00\\00\\00\\00\\01 "
	 "k/f/n@1000000=\\80\\00\\00\\00\\00\\00\\00\\00 "},
	/* Beyond 2^53 the digits of an integer come in quotes. */
	{NULL,
	 "{\"key\":\"k\",\"increment\":{\"f\":{\"a\":\"9007199254740993\",\"b\":\"+5\","
	 "\"c\":\"-9223372036854775808\"}}}",
	 "k/f/a@1000000=\\00\\20\\00\\00\\00\\00\\00\\01 "
	 "k/f/b@1000000=\\00\\00\\00\\00\\00\\00\\00\\05 "
	 "k/f/c@1000000=\\80\\00\\00\\00\\00\\00\\00\\00 "},
};

SUITE_STORES(test_rows, 60)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *const lines[] = {rows[i].before, rows[i].line};

		SUITE_OK(wcs_rows_drop(s->table, NULL));
		for (int k = rows[i].before == NULL; k < 2; k++) {
			struct wcs_fault fault = {0};
			int rc = suite_load(s->table, lines[k], &fault);

			ck_assert_msg(rc == 0, "%s: %s", lines[k], fault.text);
		}
		suite_expect(s->table, rows[i].content);
	}
}

#define CELL(x) "{\"families\":{\"f\":{\"q\":[" x "]}}}"

static const struct {
	const char *text;
	const char *says; /* the fault's text starts with this */
} faults[] = {
	{"", "not JSON: it is empty"},
	{" hello world", "not JSON: it must start with '{'"},
	{"{\"key\":\"a\"", "not JSON: it ends before its closing brace"},
	{"{\"key\":\"a\",\"families\":{\"f\":{\"q\":null}}}",
	 "families.f.q: null is no value; \"delete\" deletes a column"},
	{"{99999999999999999999}", "not JSON"},
	{"{\"key\":\"a\",99999999999999999999}", "not JSON"},
	{"[]", "must be an object"},
	{"\"text\"", "not JSON"},
	{"{\"key\":\"a\"} {}", "not JSON: text behind the closing brace"},
	{"{\"key\":\"\xff\"}", "not JSON"},
	{"{\"a\\u0000\":1}", "not JSON"},
	{"{\"key\":1}", "key: must be text"},
	{"{\"key\":null}", "key: must be text"},
	{"{\"key\":\"\"}", "key: must not be empty"},
	{"{\"key\":\"%\"}", "key: % must be followed"},
	{"{\"key\":\"%4\"}", "key: % must be followed"},
	{"{\"key\":\"%c3\"}", "key: % must be followed"},
	{"{\"key\":\"%G0\"}", "key: % must be followed"},
	{"{\"keys\":\"a\"}", "keys: a row has only key, families, "},
	{"{\"key\":\"a\",\"key\":\"a\"}", "key: named twice"},
	{"{\"families\":[]}", "families: must be an object"},
	{"{\"families\":{\"a b\":{}}}", "families.a b: a family's name"},
	{"{\"families\":{\"\":{}}}", "families.\"\": a family's name"},
	{"{\"families\":{\"f\":true}}", "families.f: must be an object"},
	{"{\"families\":{\"f\":{\"q\":true}}}", "families.f.q: must be text, a number or a list"},
	{"{\"families\":{\"f\":{\"q\":{\"value\":\"x\"}}}}",
	 "families.f.q: must be text, a number or a list"},
	{"{\"families\":{\"f\":{\"%\":[]}}}", "families.f.%: % must be followed"},
	{"{\"families\":{\"f\":{\"q\":[],\"q\":[]}}}", "families.f.q: named twice"},
	{"{\"families\":{\"f\":{\"q\":[],\"%71\":[]}}}", "families.f.%71: named twice"},
	{"{\"families\":{\"f\":{\"a%62\":[],\"%61b\":[]}}}", "families.f.%61b: named twice"},
	{"{\"families\":{\"f\":{\"%0A\":[],\"\\n\":[]}}}", "families.f.%0A: named twice"},
	{CELL("\"a\",null"), "families.f.q[1]: must be text"},
	{CELL("{}"), "families.f.q[0]: the cell has no value"},
	{CELL("{\"ts\":5}"), "families.f.q[0]: the cell has no value"},
	{CELL("{\"value\":1.5}"), "families.f.q[0].value: a number that is not whole"},
	{CELL("{\"value\":null}"), "families.f.q[0].value: must be text"},
	{CELL("{\"value\":\"x\",\"base64\":\"\"}"), "families.f.q[0].base64: a cell has value or"},
	{CELL("{\"value\":\"x\",\"value\":\"x\"}"), "families.f.q[0].value: named twice"},
	{CELL("{\"value\":\"x\",\"state\":5}"), "families.f.q[0].state: must be base64"},
	{CELL("{\"value\":\"x\",\"TS\":1}"), "families.f.q[0].TS: a cell has only"},
	{CELL("{\"value\":\"x\",\"ts\":-1}"), "families.f.q[0].ts: must be a whole number"},
	{CELL("{\"value\":\"x\",\"ts\":1.0}"), "families.f.q[0].ts: must be a whole number"},
	{CELL("{\"value\":\"x\",\"ts\":\"1\"}"), "families.f.q[0].ts: must be a whole number"},
	{CELL("{\"value\":1e999}"), "families.f.q[0].value: a number that is not whole"},
	{CELL("{\"base64\":5}"), "families.f.q[0].base64: must be base64"},
	{CELL("{\"base64\":\"A\"}"), "families.f.q[0].base64: not base64"},
	{CELL("{\"base64\":\"AA\"}"), "families.f.q[0].base64: not base64"},
	{CELL("{\"base64\":\"A===\"}"), "families.f.q[0].base64: not base64"},
	{CELL("{\"base64\":\"AB==\"}"), "families.f.q[0].base64: not base64"},
	{CELL("{\"base64\":\"AA==AA==\"}"), "families.f.q[0].base64: not base64"},
	{CELL("{\"base64\":\"AA-_\"}"), "families.f.q[0].base64: not base64"},
	{CELL("{\"base64\":\"AA A\"}"), "families.f.q[0].base64: not base64"},
	{"{\"delete\":false}", "delete: must be an object"},
	{"{\"delete\":{\"f\":false}}", "delete.f: must be an object"},
	{"{\"delete\":{\"f\":{\"q\":false}}}", "delete.f.q: must be true or a list"},
	{"{\"delete\":{\"f\":{\"q\":[1,-1]}}}", "delete.f.q[1]: must be a whole number"},
	{"{\"append\":true}", "append: must be an object"},
	{"{\"append\":{\"f\":true}}", "append.f: must be an object"},
	{"{\"append\":{\"f\":{\"q\":5}}}", "append.f.q: a number, but"},
	{"{\"increment\":{\"f\":{\"q\":\"\"}}}", "increment.f.q: must be a whole number"},
	{"{\"increment\":{\"f\":{\"q\":\"5 \"}}}", "increment.f.q: must be a whole number"},
	{"{\"increment\":{\"f\":{\"q\":\"99999999999999999999x\"}}}",
	 "increment.f.q: must be a whole number"},
	{"{\"increment\":{\"f\":{\"q\":true}}}", "increment.f.q: must be a whole number"},
	{"{\"increment\":{\"f\":{\"q\":5.0}}}", "increment.f.q: must be a whole number"},
	{"{\"if\":{\"f\":{\"q\":true}}}", "if.f.q: must be text"},
	{"{\"if\":{\"f\":{\"q\":[]}}}", "if.f.q: must be text"},
	{"{\"table\":5}", "table: must be a table's name"},
	{"{\"table\":\".t\"}", "table: must be a table's name"},
	{"{\"table\":\"t\\u0000\"}", "table: must be a table's name"},
	{"{\"table\":\"t\",\"key\":\"a\"}", "table: must stand alone"},
	{"{\"tables\":5}", "tables: must be an object"},
	{"{\"version\":2}", "version: newer than this program"},
};

/* The line is refused with that error, and a text that starts so. */
static struct wcs_fault refused(const char *text, int error, const char *says)
{
	struct wcs_line *line = NULL;
	struct wcs_fault fault = {0};
	int rc = wcs_line_parse(text, strlen(text), NULL, &line, &fault);

	ck_assert_msg(rc == error, "%s: %d", text, rc);
	ck_assert_msg(strncmp(fault.text, says, strlen(says)) == 0, "%s: '%s'", text, fault.text);
	ck_assert_ptr_null(line);
	ck_assert_int_eq(wcs_line_parse(text, strlen(text), NULL, &line, NULL), error);
	return fault;
}

SUITE_TEST(test_fault_names_member, 60)
{
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		refused(faults[i].text, -EINVAL, faults[i].says);
}

static const struct {
	const char *text, *says, *number;
	int line;
} ranges[] = {
	{CELL("{\"value\":\"x\",\"ts\":9223372036854775808}"),
	 "families.f.q[0].ts: an integer beyond 64 bits", "9223", 1},
	{CELL("{\"ts\":5,\"value\":\"\"},{\"ts\":-9223372036854775809,\"value\":\"\"}"),
	 "families.f.q[1].ts: an integer beyond 64 bits", "-9223", 1},
	{"{\"delete\":{\"f\":{\"q\":[1,99999999999999999999]}}}",
	 "delete.f.q[1]: an integer beyond 64 bits", "9999", 1},
	{"{\"version\":9223372036854775808}", "version: an integer beyond 64 bits", "9223", 1},
	{"{\"key\":\"a\",\n\"increment\":{\"f\":{\"q\":9223372036854775808}}}",
	 "increment.f.q: an integer beyond 64 bits", "9223", 2},
};

SUITE_TEST(test_fault_of_range, 60)
{
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		const char *text = ranges[i].text, *begin = strrchr(text, '\n');
		struct wcs_fault fault = refused(text, -EOVERFLOW, ranges[i].says);

		ck_assert_str_eq(fault.text, ranges[i].says);
		begin = begin ? begin + 1 : text;
		ck_assert_int_eq(fault.line, ranges[i].line);
		ck_assert_int_eq(fault.column, strstr(begin, ranges[i].number) - begin + 1);
	}
}

/* Text with something of len bytes 'x' in the middle. */
static char *padded(const char *before, size_t len, const char *after)
{
	char *text = malloc(strlen(before) + len + strlen(after) + 1);

	strcpy(text, before);
	memset(text + strlen(before), 'x', len);
	strcpy(text + strlen(before) + len, after);
	return text;
}

/* A value's limit takes seconds to reach: tests/e2e/test_load.sh does. */
static const struct {
	const char *before, *after;
	size_t limit;
	int error;
	const char *says;
} limits[] = {
	{"{\"key\":\"", "\"}", WCS_ROW_KEY_MAX, -ENAMETOOLONG, "key: has at most 4096 bytes"},
	{"{\"families\":{\"f\":{\"", "\":[\"\"]}}}", WCS_QUALIFIER_MAX, -ENAMETOOLONG,
	 "families.f.xx"},
	{"{\"families\":{\"", "\":{}}}", WCS_FAMILY_NAME_MAX, -EINVAL, "families.xx"},
};

SUITE_TEST(test_limits, 60)
{
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		char *text = padded(limits[i].before, limits[i].limit, limits[i].after);
		struct wcs_line *line = NULL;
		struct wcs_fault fault;

		SUITE_OK(wcs_line_parse(text, strlen(text), NULL, &line, NULL));
		wcs_line_free(line);
		free(text);
		text = padded(limits[i].before, limits[i].limit + 1, limits[i].after);
		fault = refused(text, limits[i].error, limits[i].says);
		/* The reason must not drown in a long name. */
		ck_assert_ptr_nonnull(strstr(fault.text, ": "));
		free(text);
	}
	wcs_line_free(NULL);
}

SUITE_TEST(test_syntax_fault_quotes_no_value, 60)
{
	struct wcs_fault fault = refused("{\"key\":\"a\",\"families\":{\"f\":{\"q\":[\"secret\"",
					 -EINVAL, "not JSON");

	ck_assert_ptr_null(strstr(fault.text, "secret"));
	ck_assert_int_eq(fault.line, 1);
	ck_assert_int_gt(fault.column, 1);
}

SUITE_TEST(test_hostile_depth, 60)
{
	static char deep[1 << 20];
	struct wcs_line *line = NULL;

	memset(deep, '[', sizeof(deep));
	memcpy(deep, "{\"families\":", 12);
	ck_assert_int_eq(wcs_line_parse(deep, sizeof(deep), NULL, &line, NULL), -EINVAL);
}

SUITE_TEST(test_nul_after_number_or_word, 60)
{
	static const struct {
		const char *text;
		size_t len;
	} texts[] = {
#define NUL_TEXT(text) {text, sizeof(text) - 1}
		NUL_TEXT(CELL("{\"ts\":17\0,\"value\":\"x\"}")),
		NUL_TEXT(CELL("{\"ts\":17,\"value\":17\0}")),
		NUL_TEXT("{\"key\":\"a\",\"delete\":true\0}"),
		NUL_TEXT("{\"key\":\"a\",\"if\":{\"f\":{\"q\":null\0}}}"),
		NUL_TEXT("{\"key\":\"a\"}\0"),
		NUL_TEXT("\0{\"key\":\"a\"}"),
#undef NUL_TEXT
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct wcs_line *line = NULL;
		struct wcs_fault fault = {0};

		ck_assert_msg(wcs_line_parse(texts[i].text, texts[i].len, NULL, &line, &fault) ==
				      -EINVAL,
			      "text %zu is taken", i);
		ck_assert_str_eq(fault.text, "not JSON: a NUL byte");
		ck_assert_int_eq(fault.column, (int)strlen(texts[i].text) + 1);
		ck_assert_ptr_null(line);
	}
}

/* Any encoded bytes decode to the same bytes, and their encoding is UTF-8 without control bytes. */
SUITE_TEST(test_text_round_trip, 60)
{
	srandom(10);
	for (int i = 0; i < 20000; i++) {
		unsigned char bytes[24], back[96];
		size_t len = (size_t)random() % (sizeof(bytes) + 1), back_len = 0;
		char *text;

		for (size_t k = 0; k < len; k++)
			bytes[k] = (unsigned char)(random() % 3
							   ? random()
							   : "\xc3\xa4\xe0\xa0\x80%"[random() % 6]);
		text = wcs_text_encode((struct wcs_slice){bytes, len});
		SUITE_OK(wcs_text_decode(text, strlen(text), back, &back_len));
		ck_assert_uint_eq(back_len, len);
		ck_assert_mem_eq(back, bytes, len);
		for (const unsigned char *c = (unsigned char *)text; *c;) {
			size_t n = utf8_character(c, strlen((const char *)c));

			ck_assert_uint_gt(n, 0);
			ck_assert(*c >= 0x20 && *c != 0x7f);
			c += n;
		}
		free(text);
	}
}
