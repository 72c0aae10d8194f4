/* SPDX-License-Identifier: MIT */
/* Rows as text: which rows a stream has, and how their bytes are spelled. On both engines. */
#include "tests/unit/exported.h"

/* SUITE_BYTES for static initializers. */
#define BYTES(literal)                                                                             \
	{                                                                                          \
		literal, sizeof(literal) - 1                                                       \
	}

/* ---- Spelling ---------------------------------------------------------------------------- */

SUITE_STORES(shape, 10)
{
	exported_expect(s->table, NULL, WCS_EXPORT_ROWS, "");
	exported_expect(s->table, NULL, WCS_EXPORT_KEYS, "");
	exported_expect(s->table, "r", WCS_EXPORT_ROW, "");
	suite_set(s->table, "r", "f", "q", 5, "v");
	exported_expect(
		s->table, NULL, WCS_EXPORT_ROWS,
		"{\"key\":\"r\",\"families\":{\"f\":{\"q\":[{\"ts\":5,\"value\":\"v\"}]}}}\n");
	suite_set(s->table, "r", "f", "q", INT64_MAX, "");
	suite_set(s->table, "r", "f", "p", 0, "0");
	suite_set(s->table, "r", "a", "q", 1234567890, "x");
	suite_set(s->table, "r", "a", "", 100, "y");
	suite_set(s->table, "s", "a", "q", 99, "z");
	exported_expect(
		s->table, NULL, WCS_EXPORT_ROWS,
		"{\"key\":\"r\",\"families\":{\"a\":{\"\":[{\"ts\":100,\"value\":\"y\"}],"
		"\"q\":[{\"ts\":1234567890,\"value\":\"x\"}]},"
		"\"f\":{\"p\":[{\"ts\":0,\"value\":\"0\"}],"
		"\"q\":[{\"ts\":9223372036854775807,\"value\":\"\"},{\"ts\":5,\"value\":\"v\"}]}}}"
		"\n"
		"{\"key\":\"s\",\"families\":{\"a\":{\"q\":[{\"ts\":99,\"value\":\"z\"}]}}}\n");
	exported_expect(s->table, NULL, WCS_EXPORT_KEYS, "r\ns\n");
	exported_expect(
		s->table, "s", WCS_EXPORT_ROW,
		"{\"key\":\"s\",\"families\":{\"a\":{\"q\":[{\"ts\":99,\"value\":\"z\"}]}}}\n");
}

/* Each string stands alone, and behind and before 11 plain bytes, so that it is met at every place
 * of a word of eight. */
static const struct {
	struct wcs_slice bytes;
	const char *key, *name, *value; /* NULL: it has to be base64 */
} spellings[] = {
	{BYTES("plain text ~!#$&'()*+,-./:;<=>?@[]^_`{|}"),
	 "plain text ~!#$&'()*+,-./:;<=>?@[]^_`{|}", "plain text ~!#$&'()*+,-./:;<=>?@[]^_`{|}",
	 "plain text ~!#$&'()*+,-./:;<=>?@[]^_`{|}"},
	{BYTES("\""), "\"", "\\\"", "\\\""},
	{BYTES("\\"), "\\", "\\\\", "\\\\"},
	{BYTES("%"), "%25", "%25", "%"},
	{BYTES("\0"), "%00", "%00", "\\u0000"},
	{BYTES("\b\t\n\f\r"), "%08%09%0A%0C%0D", "%08%09%0A%0C%0D", "\\b\\t\\n\\f\\r"},
	{BYTES("\v\x01\x1f\x7f"), "%0B%01%1F%7F", "%0B%01%1F%7F", "\\u000b\\u0001\\u001f\\u007f"},
	{BYTES("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"), "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
	 "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
	{BYTES("\xff"), "%FF", "%FF", NULL},
	{BYTES("\xc3"), "%C3", "%C3", NULL},
	{BYTES("\xe2\x82"), "%E2%82", "%E2%82", NULL},
	{BYTES("\xed\xa0\x80"), "%ED%A0%80", "%ED%A0%80", NULL},
	{BYTES("\xc0\x80"), "%C0%80", "%C0%80", NULL},
	{BYTES("\xf4\x90\x80\x80"), "%F4%90%80%80", "%F4%90%80%80", NULL},
	{BYTES("\xc2\x9b\xc2\xa0"), "\xc2\x9b\xc2\xa0", "\\u009b\xc2\xa0", "\\u009b\xc2\xa0"},
	{BYTES("\xc2\xad\xd8\x9c\xd8\x9d"), "\xc2\xad\xd8\x9c\xd8\x9d", "\\u00ad\\u061c\xd8\x9d",
	 "\\u00ad\\u061c\xd8\x9d"},
	{BYTES("\xe1\x85\xa0\xe2\x80\xae\xe2\x80\x99"), "\xe1\x85\xa0\xe2\x80\xae\xe2\x80\x99",
	 "\\u1160\\u202e\xe2\x80\x99", "\\u1160\\u202e\xe2\x80\x99"},
	{BYTES("\xef\xb8\x8f\xf3\xa0\x81\x81"), "\xef\xb8\x8f\xf3\xa0\x81\x81",
	 "\\ufe0f\\udb40\\udc41", "\\ufe0f\\udb40\\udc41"},
	{BYTES("\xf4\x8f\xbf\xbf"), "\xf4\x8f\xbf\xbf", "\\udbff\\udfff", "\\udbff\\udfff"},
};

static size_t surround(char *to, struct wcs_slice bytes, size_t before, size_t after)
{
	memset(to, 'x', before);
	memcpy(to + before, bytes.data, bytes.len);
	memset(to + before + bytes.len, 'y', after);
	return before + bytes.len + after;
}

static void expect_spelling(struct suite *s, size_t i, size_t before, size_t after)
{
	static const char xs[] = "xxxxxxxxxxx", ys[] = "yyyyyyyyyyy";
	char bytes[128], expected[1024];
	struct wcs_slice row = {bytes, surround(bytes, spellings[i].bytes, before, after)};
	int b = (int)before, a = (int)after;

	if (!spellings[i].value)
		suite_put(s->table, row, "f", row, 7, suite_text(""));
	else
		suite_put(s->table, row, "f", row, 7, row);
	snprintf(expected, sizeof(expected), "%.*s%s%.*s\n", b, xs, spellings[i].key, a, ys);
	exported_expect_bytes(s->table, &row, WCS_EXPORT_KEYS, expected);
	snprintf(expected, sizeof(expected),
		 "{\"key\":\"%.*s%s%.*s\",\"families\":{\"f\":{\"%.*s%s%.*s\":"
		 "[{\"ts\":7,\"value\":\"%.*s%s%.*s\"}]}}}\n",
		 b, xs, spellings[i].name, a, ys, b, xs, spellings[i].name, a, ys,
		 spellings[i].value ? b : 0, xs, spellings[i].value ? spellings[i].value : "",
		 spellings[i].value ? a : 0, ys);
	exported_expect_bytes(s->table, &row, WCS_EXPORT_ROW, expected);
}

SUITE_STORES(spelling, 30)
{
	for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++)
		for (size_t before = 0; before <= 11; before++)
			for (size_t after = 0; after <= 11; after += before == 0 ? 1 : 11)
				expect_spelling(s, i, before, after);
}

/* A value that is written in pieces, which cut its characters at every place. */
SUITE_STORES(pieces_of_hostile_characters, 30)
{
	static const struct {
		const char *bytes, *text;
	} characters[] = {{"\xc2\x9b", "\\u009b"},
			  {"\xe2\x80\xae", "\\u202e"},
			  {"\xf3\xa0\x81\x81", "\\udb40\\udc41"}};
	enum { COUNT = 30000 };
	char *value = malloc(4 * COUNT + 4), *expected = malloc(12 * COUNT + 128);

	for (size_t i = 0; i < 3; i++)
		for (size_t before = 0; before < 4; before++) {
			char *to = value, *want = expected;

			want += sprintf(want, "{\"key\":\"r\",\"families\":{\"f\":{\"q\":"
					      "[{\"ts\":7,\"value\":\"");
			to += sprintf(to, "%.*s", (int)before, "xxx");
			want += sprintf(want, "%.*s", (int)before, "xxx");
			for (size_t k = 0; k < COUNT; k++) {
				to = stpcpy(to, characters[i].bytes);
				want = stpcpy(want, characters[i].text);
			}
			strcpy(want, "\"}]}}}\n");
			suite_put(s->table, suite_text("r"), "f", suite_text("q"), 7,
				  suite_text(value));
			exported_expect(s->table, NULL, WCS_EXPORT_ROWS, expected);
		}
	free(value);
	free(expected);
}

SUITE_STORES(base64, 10)
{
	static const struct {
		struct wcs_slice bytes;
		const char *text;
	} values[] = {
		{BYTES("\xff"), "/w=="},
		{BYTES("\xff\xfe"), "//4="},
		{BYTES("\xff\xfe\xfd"), "//79"},
		{BYTES("text, then \x80"), "dGV4dCwgdGhlbiCA"},
		{BYTES("\0\x10\x83\x10\x51\x87\x20\x92\x8b\x30\xd3\x8f"), "ABCDEFGHIJKLMNOP"},
		{BYTES("0123456789\xf0\x9f\x98"), "MDEyMzQ1Njc4OfCfmA=="},
	};
	char expected[256];

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		suite_put(s->table, suite_text("r"), "f", suite_text("q"), 7, values[i].bytes);
		snprintf(expected, sizeof(expected),
			 "{\"key\":\"r\",\"families\":{\"f\":{\"q\":[{\"ts\":7,\"base64\":\"%s\"}]"
			 "}}}\n",
			 values[i].text);
		exported_expect(s->table, NULL, WCS_EXPORT_ROWS, expected);
	}
}

SUITE_STORES(integers, 10)
{
	static const struct {
		struct wcs_slice bytes;
		const char *text;
	} values[] = {
		{BYTES("\0\0\0\0\0\0\0\0"), "\"value\":0"},
		{BYTES("\0\0\0\0\0\0\0\5"), "\"value\":5"},
		{BYTES("\0\0\0\0\0\0\0\x63"), "\"value\":99"},
		{BYTES("\0\0\0\0\0\0\0\x64"), "\"value\":100"},
		{BYTES("\xff\xff\xff\xff\xff\xff\xff\xff"), "\"value\":-1"},
		{BYTES("\0\x20\0\0\0\0\0\0"), "\"value\":9007199254740992"},
		{BYTES("\0\x20\0\0\0\0\0\1"), "\"value\":\"9007199254740993\""},
		{BYTES("\xff\xe0\0\0\0\0\0\0"), "\"value\":-9007199254740992"},
		{BYTES("\xff\xdf\xff\xff\xff\xff\xff\xff"), "\"value\":\"-9007199254740993\""},
		{BYTES("\x7f\xff\xff\xff\xff\xff\xff\xff"), "\"value\":\"9223372036854775807\""},
		{BYTES("\x80\0\0\0\0\0\0\0"), "\"value\":\"-9223372036854775808\""},
	};
	static const enum wcs_type types[] = {WCS_INTSUM, WCS_INTMIN, WCS_INTMAX};
	static const char *const families[] = {"a", "b", "f"};
	char expected[512];

	for (size_t i = 0; i < 3; i++)
		SUITE_OK(wcs_family_set_type(s->table, families[i], types[i]));
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		const char *text = values[i].text;

		for (size_t k = 0; k < 3; k++)
			suite_put(s->table, suite_text("r"), families[k], suite_text("q"), 7,
				  values[i].bytes);
		snprintf(expected, sizeof(expected),
			 "{\"key\":\"r\",\"families\":{\"a\":{\"q\":[{\"ts\":7,%s}]},"
			 "\"b\":{\"q\":[{\"ts\":7,%s}]},\"f\":{\"q\":[{\"ts\":7,%s}]}}}\n",
			 text, text, text);
		exported_expect(s->table, NULL, WCS_EXPORT_ROWS, expected);
	}
}

/* ---- Which rows -------------------------------------------------------------------------- */

SUITE_STORES(subtree, 10)
{
	static const char *const keys[] = {"!",	    "#",   "#x",  "##",	 "a",	 "a!",
					   "a!b",   "a\"", "a b", "a#",	 "a##c", "a#b",
					   "a#b#c", "a$",  "a$b", "a#!", "ab",	 "a/b",
					   "aa#b",  "b",   "b!",  "c#d", "c!"};
	struct wcs_slice empty = {NULL, 0};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		suite_set(s->table, keys[i], "f", "q", 1, "v");
		suite_set(s->table, keys[i], "f", "q", 2, "v");
		suite_set(s->table, keys[i], "f", "r", 2, "v");
	}
	exported_expect(s->table, "a", WCS_EXPORT_KEYS, "a\na#\na#!\na##c\na#b\na#b#c\n");
	exported_expect(s->table, "a#", WCS_EXPORT_KEYS, "a#\na##c\n");
	exported_expect(s->table, "a#b", WCS_EXPORT_KEYS, "a#b\na#b#c\n");
	exported_expect(s->table, "b", WCS_EXPORT_KEYS, "b\n");
	exported_expect(s->table, "c", WCS_EXPORT_KEYS, "c#d\n");
	exported_expect(s->table, "d", WCS_EXPORT_KEYS, "");
	exported_expect_bytes(s->table, &empty, WCS_EXPORT_KEYS, "#\n##\n#x\n");
	exported_expect(s->table, NULL, WCS_EXPORT_KEYS,
			"!\n#\n##\n#x\na\na "
			"b\na!\na!b\na\"\na#\na#!\na##c\na#b\na#b#c\na$\na$b\na/b\naa#b\n"
			"ab\nb\nb!\nc!\nc#d\n");
	exported_expect(s->table, "c", WCS_EXPORT_ROWS,
			"{\"key\":\"c#d\",\"families\":{\"f\":{\"q\":[{\"ts\":2,\"value\":\"v\"},"
			"{\"ts\":1,\"value\":\"v\"}],\"r\":[{\"ts\":2,\"value\":\"v\"}]}}}\n");
	exported_expect(s->table, "c", WCS_EXPORT_ROW, "");
}

SUITE_STORES(other_delimiter, 10)
{
	ck_assert_int_eq(wcs_table_set_delimiter(s->table, 0x7f, NULL), 0);
	suite_set(s->table, "a", "f", "q", 1, "v");
	suite_set(s->table, "a#b", "f", "q", 1, "v");
	suite_set(s->table, "a\x7f", "f", "q", 1, "v");
	suite_set(s->table, "a\x7f\xff", "f", "q", 1, "v");
	suite_set(s->table, "a\x80", "f", "q", 1, "v");
	exported_expect(s->table, "a", WCS_EXPORT_KEYS, "a\na%7F\na%7F%FF\n");
}

SUITE_STORES(longest_names, 10)
{
	char *key = suite_pattern(WCS_ROW_KEY_MAX, 1), *qualifier = malloc(WCS_QUALIFIER_MAX);
	struct wcs_slice row = {key, suite_row_max(s)}, above = {key, suite_row_max(s) - 1};
	struct wcs_slice too_long = {key, WCS_ROW_KEY_MAX + 1};
	struct wcs_export *exported;
	size_t len;
	char *text;

	memset(key, 0xff, suite_row_max(s));
	memset(qualifier, 0, WCS_QUALIFIER_MAX);
	key[suite_row_max(s) - 1] = '#';
	suite_put(s->table, row, "f", (struct wcs_slice){qualifier, WCS_QUALIFIER_MAX}, 1, above);
	text = exported_text(s->table, &row, WCS_EXPORT_ROWS, 1000, &len);
	ck_assert_uint_eq(len, strlen("{\"key\":\"#\",\"families\":{\"f\":{\"\":"
				      "[{\"ts\":1,\"base64\":\"\"}]}}}\n") +
				       3 * (suite_row_max(s) - 1) + 3 * WCS_QUALIFIER_MAX +
				       (suite_row_max(s) - 1) / 3 * 4);
	free(text);
	text = exported_text(s->table, &above, WCS_EXPORT_KEYS, 1000, &len);
	ck_assert_uint_eq(len, 3 * (suite_row_max(s) - 1) + 2);
	free(text);
	ck_assert_int_eq(wcs_export_open(s->table, &too_long, WCS_EXPORT_ROWS, NULL, &exported),
			 -ENAMETOOLONG);
	ck_assert_int_eq(wcs_export_open(s->table, NULL, WCS_EXPORT_ROW, NULL, &exported), -EINVAL);
	free(key);
	free(qualifier);
}

/* Cells whose text is as long as it can be, read into memory of any length: a step goes there only
 * if all of it fits. */
SUITE_STORES(any_piece, 60)
{
	static const struct wcs_slice names[] = {BYTES("\xff\xff\xff"), BYTES("\xff\xff\xff\0")};
	static const struct wcs_slice values[] = {BYTES("\1\1\1\1\1\1\1\1"), BYTES("\xff"),
						  BYTES("")};
	size_t len, again_len;
	char *text, *again;

	for (size_t i = 0; i < 8; i++)
		for (size_t k = 0; k < 3; k++)
			suite_put(s->table, names[i & 1], i & 2 ? "f" : "a", names[i >> 2],
				  INT64_MAX - (int64_t)k, values[k]);
	text = exported_text(s->table, NULL, WCS_EXPORT_ROWS, 1 << 20, &len);
	for (size_t piece = 1; piece < len + 512; piece++) {
		again = exported_text(s->table, NULL, WCS_EXPORT_ROWS, piece, &again_len);
		ck_assert_uint_eq(len, again_len);
		ck_assert_int_eq(memcmp(text, again, len), 0);
		free(again);
	}
	free(text);
}

SUITE_STORES(one_moment, 10)
{
	struct wcs_export *rows, *keys;
	struct wcs_slice key = suite_text("a");
	size_t len;
	char *text;

	suite_set(s->table, "a", "f", "q", 1, "old");
	suite_set(s->table, "a!", "f", "q", 1, "old");
	suite_set(s->table, "a#b", "f", "q", 1, "old");
	SUITE_OK(wcs_export_open(s->table, &key, WCS_EXPORT_ROWS, NULL, &rows));
	SUITE_OK(wcs_export_open(s->table, &key, WCS_EXPORT_KEYS, NULL, &keys));
	suite_set(s->table, "a", "f", "q", 1, "new");
	suite_set(s->table, "a#a", "f", "q", 1, "new");
	suite_delete_row(s->table, "a#b");
	text = exported_drain(rows, 1, &len);
	ck_assert_str_eq(
		text,
		"{\"key\":\"a\",\"families\":{\"f\":{\"q\":[{\"ts\":1,\"value\":\"old\"}]}}}\n"
		"{\"key\":\"a#b\",\"families\":{\"f\":{\"q\":[{\"ts\":1,\"value\":\"old\"}]}}"
		"}\n");
	free(text);
	text = exported_drain(keys, 1, &len);
	ck_assert_str_eq(text, "a\na#b\n");
	free(text);
	exported_expect(s->table, "a", WCS_EXPORT_KEYS, "a\na#a\n");
}

/* The unread rest of an export costs nothing and leaves nothing. */
SUITE_STORES(closed_early, 30)
{
	struct wcs_export *exported;
	char name[16], buf[8];
	size_t got;

	for (int i = 0; i < 2000; i++) {
		snprintf(name, sizeof(name), "r%06d", i);
		suite_set(s->table, name, "f", "q", 1, "value");
	}
	SUITE_OK(wcs_export_open(s->table, NULL, WCS_EXPORT_ROWS, NULL, &exported));
	wcs_export_close(exported);
	SUITE_OK(wcs_export_open(s->table, NULL, WCS_EXPORT_ROWS, NULL, &exported));
	SUITE_OK(wcs_export_read(exported, buf, 0, &got));
	ck_assert_uint_eq(got, 0);
	SUITE_OK(wcs_export_read(exported, buf, sizeof(buf), &got));
	ck_assert_uint_eq(got, sizeof(buf));
	ck_assert_int_eq(memcmp(buf, "{\"key\":\"", 8), 0);
	wcs_export_close(exported);
	wcs_export_close(NULL);
}

static void expect_next(struct wcs_scan *scan, const char *row, int64_t ts)
{
	struct wcs_cell cell;

	ck_assert_int_eq(wcs_scan_next(scan, &cell), 1);
	ck_assert_int_eq(memcmp(cell.row.data, row, 1), 0);
	ck_assert_int_eq(cell.info.ts, ts);
}

SUITE_STORES(seek, 10)
{
	static const char *const keys[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
	struct wcs_range range = {.end = BYTES("g")};
	struct wcs_scan *scan;
	struct wcs_cell cell;
	size_t got;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		for (int ts = 1; ts <= 20; ts++)
			suite_set(s->table, keys[i], "f", "q", ts, keys[i]);
	SUITE_OK(wcs_scan_open(s->table, &range, 1, &suite_cells, &scan));
	SUITE_OK(wcs_scan_seek(scan, suite_text("b")));
	expect_next(scan, "b", 20);
	/* Back, and to the row where it is. */
	SUITE_OK(wcs_scan_seek(scan, suite_text("a")));
	ck_assert_int_eq(wcs_scan_read(scan, &got, 1, 0, &got), -EINVAL);
	expect_next(scan, "a", 20);
	expect_next(scan, "a", 19);
	SUITE_OK(wcs_scan_seek(scan, suite_text("a")));
	expect_next(scan, "a", 20);
	SUITE_OK(wcs_scan_seek(scan, suite_text("b!")));
	expect_next(scan, "c", 20);
	SUITE_OK(wcs_scan_seek(scan, suite_text("f")));
	expect_next(scan, "f", 20);
	SUITE_OK(wcs_scan_seek(scan, suite_text("g")));
	ck_assert_int_eq(wcs_scan_next(scan, &cell), 0);
	SUITE_OK(wcs_scan_seek(scan, suite_text("e")));
	expect_next(scan, "e", 20);
	wcs_scan_close(scan);
}

/* The warning comes with each reading of the row, not with its writing, and names no key. */
SUITE_HEAVY_STORES(heavy_row, 60)
{
	const size_t size = WCS_ROW_WARN / 10;
	char *value = malloc(size);
	struct wcs_slice key = SUITE_BYTES("heavy");
	struct wcs_count count;

	memset(value, 'v', size); /* as text, no longer than that */
	for (int i = 0; i < 11; i++) {
		char q = (char)('a' + i);

		if (i == 10) {
			ck_assert_int_eq(wcs_rows_count(s->table, NULL, NULL, &count), 0);
			ck_assert_uint_eq(count.bytes, WCS_ROW_WARN);
			ck_assert_int_eq(s->warnings, 0);
		}
		suite_put(s->table, key, "f", (struct wcs_slice){&q, 1}, 1,
			  (struct wcs_slice){value, i < 10 ? size : 1});
	}
	suite_set(s->table, "light", "f", "q", 1, "v");
	ck_assert_int_eq(s->warnings, 0);
	ck_assert_int_eq(wcs_rows_count(s->table, NULL, NULL, &count), 0);
	ck_assert_int_eq(s->warnings, 1);
	ck_assert_ptr_nonnull(strstr(s->log, "table t has a row of more than 104857600 bytes"));
	ck_assert_ptr_null(strstr(s->log, "heavy"));
	for (int kind = WCS_EXPORT_ROWS; kind <= WCS_EXPORT_ROW; kind++) {
		struct wcs_export *exported;
		size_t got;

		SUITE_OK(wcs_export_open(s->table, &key, (enum wcs_export_kind)kind, NULL,
					 &exported));
		do
			SUITE_OK(wcs_export_read(exported, value, size, &got));
		while (got > 0);
		wcs_export_close(exported);
	}
	ck_assert_int_eq(s->warnings, 3); /* but for the keys */
	free(value);
}
