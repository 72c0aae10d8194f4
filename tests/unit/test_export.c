/* SPDX-License-Identifier: MIT */
/* Rows as text: which rows a stream has, how their bytes are spelled, and that reading it back
 * gives the same cells. On both engines. */
#include "suite.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* SUITE_BYTES for what is static. */
#define BYTES(literal)                                                                             \
	{                                                                                          \
		literal, sizeof(literal) - 1                                                       \
	}

/* ---- Short calls ------------------------------------------------------------------------- */

/* All of a stream, read in pieces of that size. The caller frees it. */
static char *drain(struct wcs_export *exported, size_t piece, size_t *len)
{
	char *text = NULL, *buf = malloc(piece);
	size_t got = 0;
	FILE *out = open_memstream(&text, len);

	do {
		ck_assert_int_eq(wcs_export_read(exported, buf, piece, &got), 0);
		ck_assert_uint_le(got, piece);
		fwrite(buf, 1, got, out);
	} while (got > 0);
	ck_assert_int_eq(wcs_export_read(exported, buf, piece, &got), 0);
	ck_assert_uint_eq(got, 0);
	wcs_export_close(exported);
	fclose(out);
	free(buf);
	return text;
}

static char *export_text(struct wcs_table *table, const struct wcs_slice *key,
			 enum wcs_export_kind kind, size_t piece, size_t *len)
{
	struct wcs_export *exported;

	ck_assert_int_eq(wcs_export_open(table, key, kind, &exported), 0);
	return drain(exported, piece, len);
}

static void expect_bytes(struct wcs_table *table, const struct wcs_slice *key,
			 enum wcs_export_kind kind, const char *expected)
{
	size_t len;
	char *text = export_text(table, key, kind, 4096, &len);

	ck_assert_str_eq(text, expected);
	ck_assert_uint_eq(len, strlen(expected));
	free(text);
}

static void expect(struct wcs_table *table, const char *key, enum wcs_export_kind kind,
		   const char *expected)
{
	struct wcs_slice slice = suite_text(key ? key : "");

	expect_bytes(table, key ? &slice : NULL, kind, expected);
}

static void put(struct wcs_table *table, struct wcs_slice row, const char *family,
		struct wcs_slice qualifier, int64_t ts, struct wcs_slice value)
{
	struct wcs_mutation *mutation = wcs_mutation_new();

	ck_assert_int_eq(wcs_mutation_set(mutation, family, qualifier, ts, value), 0);
	ck_assert_int_eq(wcs_row_mutate(table, row, mutation, NULL), 0);
	wcs_mutation_free(mutation);
}

/* ---- Spelling ---------------------------------------------------------------------------- */

START_TEST(shape)
{
	struct suite s;

	suite_open(&s, _i);
	expect(s.table, NULL, WCS_EXPORT_ROWS, "");
	expect(s.table, NULL, WCS_EXPORT_KEYS, "");
	expect(s.table, "r", WCS_EXPORT_ROW, "");
	suite_set(s.table, "r", "f", "q", 5, "v");
	expect(s.table, NULL, WCS_EXPORT_ROWS,
	       "{\"key\":\"r\",\"families\":{\"f\":{\"q\":[{\"ts\":5,\"value\":\"v\"}]}}}\n");
	suite_set(s.table, "r", "f", "q", INT64_MAX, "");
	suite_set(s.table, "r", "f", "p", 0, "0");
	suite_set(s.table, "r", "a", "q", 1234567890, "x");
	suite_set(s.table, "r", "a", "", 100, "y");
	suite_set(s.table, "s", "a", "q", 99, "z");
	expect(s.table, NULL, WCS_EXPORT_ROWS,
	       "{\"key\":\"r\",\"families\":{\"a\":{\"\":[{\"ts\":100,\"value\":\"y\"}],"
	       "\"q\":[{\"ts\":1234567890,\"value\":\"x\"}]},"
	       "\"f\":{\"p\":[{\"ts\":0,\"value\":\"0\"}],"
	       "\"q\":[{\"ts\":9223372036854775807,\"value\":\"\"},{\"ts\":5,\"value\":\"v\"}]}}}\n"
	       "{\"key\":\"s\",\"families\":{\"a\":{\"q\":[{\"ts\":99,\"value\":\"z\"}]}}}\n");
	expect(s.table, NULL, WCS_EXPORT_KEYS, "r\ns\n");
	expect(s.table, "s", WCS_EXPORT_ROW,
	       "{\"key\":\"s\",\"families\":{\"a\":{\"q\":[{\"ts\":99,\"value\":\"z\"}]}}}\n");
	suite_close(&s);
}
END_TEST

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
	{BYTES("\xc2\x80"), "\xc2\x80", "\xc2\x80", "\xc2\x80"},
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
		put(s->table, row, "f", row, 7, suite_text(""));
	else
		put(s->table, row, "f", row, 7, row);
	snprintf(expected, sizeof(expected), "%.*s%s%.*s\n", b, xs, spellings[i].key, a, ys);
	expect_bytes(s->table, &row, WCS_EXPORT_KEYS, expected);
	snprintf(expected, sizeof(expected),
		 "{\"key\":\"%.*s%s%.*s\",\"families\":{\"f\":{\"%.*s%s%.*s\":"
		 "[{\"ts\":7,\"value\":\"%.*s%s%.*s\"}]}}}\n",
		 b, xs, spellings[i].name, a, ys, b, xs, spellings[i].name, a, ys,
		 spellings[i].value ? b : 0, xs, spellings[i].value ? spellings[i].value : "",
		 spellings[i].value ? a : 0, ys);
	expect_bytes(s->table, &row, WCS_EXPORT_ROW, expected);
}

START_TEST(spelling)
{
	struct suite s;

	suite_open(&s, _i);
	for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++)
		for (size_t before = 0; before <= 11; before++)
			for (size_t after = 0; after <= 11; after += before == 0 ? 1 : 11)
				expect_spelling(&s, i, before, after);
	suite_close(&s);
}
END_TEST

START_TEST(base64)
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
	struct suite s;

	suite_open(&s, _i);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		put(s.table, suite_text("r"), "f", suite_text("q"), 7, values[i].bytes);
		snprintf(expected, sizeof(expected),
			 "{\"key\":\"r\",\"families\":{\"f\":{\"q\":[{\"ts\":7,\"base64\":\"%s\"}]"
			 "}}}\n",
			 values[i].text);
		expect(s.table, NULL, WCS_EXPORT_ROWS, expected);
	}
	suite_close(&s);
}
END_TEST

START_TEST(integers)
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
	struct suite s;

	suite_open(&s, _i);
	for (size_t i = 0; i < 3; i++)
		ck_assert_int_eq(wcs_family_set_type(s.table, families[i], types[i]), 0);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		const char *text = values[i].text;

		for (size_t k = 0; k < 3; k++)
			put(s.table, suite_text("r"), families[k], suite_text("q"), 7,
			    values[i].bytes);
		snprintf(expected, sizeof(expected),
			 "{\"key\":\"r\",\"families\":{\"a\":{\"q\":[{\"ts\":7,%s}]},"
			 "\"b\":{\"q\":[{\"ts\":7,%s}]},\"f\":{\"q\":[{\"ts\":7,%s}]}}}\n",
			 text, text, text);
		expect(s.table, NULL, WCS_EXPORT_ROWS, expected);
	}
	suite_close(&s);
}
END_TEST

/* ---- Which rows -------------------------------------------------------------------------- */

START_TEST(subtree)
{
	static const char *const keys[] = {"!",	    "#",   "#x",  "##",	 "a",	 "a!",
					   "a!b",   "a\"", "a b", "a#",	 "a##c", "a#b",
					   "a#b#c", "a$",  "a$b", "a#!", "ab",	 "a/b",
					   "aa#b",  "b",   "b!",  "c#d", "c!"};
	struct wcs_slice empty = {NULL, 0};
	struct suite s;

	suite_open(&s, _i);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		suite_set(s.table, keys[i], "f", "q", 1, "v");
		suite_set(s.table, keys[i], "f", "q", 2, "v");
		suite_set(s.table, keys[i], "f", "r", 2, "v");
	}
	expect(s.table, "a", WCS_EXPORT_KEYS, "a\na#\na#!\na##c\na#b\na#b#c\n");
	expect(s.table, "a#", WCS_EXPORT_KEYS, "a#\na##c\n");
	expect(s.table, "a#b", WCS_EXPORT_KEYS, "a#b\na#b#c\n");
	expect(s.table, "b", WCS_EXPORT_KEYS, "b\n");
	expect(s.table, "c", WCS_EXPORT_KEYS, "c#d\n");
	expect(s.table, "d", WCS_EXPORT_KEYS, "");
	expect_bytes(s.table, &empty, WCS_EXPORT_KEYS, "#\n##\n#x\n");
	expect(s.table, NULL, WCS_EXPORT_KEYS,
	       "!\n#\n##\n#x\na\na b\na!\na!b\na\"\na#\na#!\na##c\na#b\na#b#c\na$\na$b\na/b\naa#b\n"
	       "ab\nb\nb!\nc!\nc#d\n");
	expect(s.table, "c", WCS_EXPORT_ROWS,
	       "{\"key\":\"c#d\",\"families\":{\"f\":{\"q\":[{\"ts\":2,\"value\":\"v\"},"
	       "{\"ts\":1,\"value\":\"v\"}],\"r\":[{\"ts\":2,\"value\":\"v\"}]}}}\n");
	expect(s.table, "c", WCS_EXPORT_ROW, "");
	suite_close(&s);
}
END_TEST

START_TEST(other_delimiter)
{
	struct suite s;

	suite_open(&s, _i);
	ck_assert_int_eq(wcs_table_set_delimiter(s.table, 0x7f), 0);
	suite_set(s.table, "a", "f", "q", 1, "v");
	suite_set(s.table, "a#b", "f", "q", 1, "v");
	suite_set(s.table, "a\x7f", "f", "q", 1, "v");
	suite_set(s.table, "a\x7f\xff", "f", "q", 1, "v");
	suite_set(s.table, "a\x80", "f", "q", 1, "v");
	expect(s.table, "a", WCS_EXPORT_KEYS, "a\na%7F\na%7F%FF\n");
	suite_close(&s);
}
END_TEST

START_TEST(longest_names)
{
	char *key = suite_pattern(WCS_ROW_KEY_MAX, 1), *qualifier = malloc(WCS_QUALIFIER_MAX);
	struct wcs_slice row = {key, WCS_ROW_KEY_MAX}, above = {key, WCS_ROW_KEY_MAX - 1};
	struct wcs_slice too_long = {key, WCS_ROW_KEY_MAX + 1};
	struct wcs_export *exported;
	struct suite s;
	size_t len;
	char *text;

	suite_open(&s, _i);
	memset(key, 0xff, WCS_ROW_KEY_MAX);
	memset(qualifier, 0, WCS_QUALIFIER_MAX);
	key[WCS_ROW_KEY_MAX - 1] = '#';
	put(s.table, row, "f", (struct wcs_slice){qualifier, WCS_QUALIFIER_MAX}, 1, above);
	text = export_text(s.table, &row, WCS_EXPORT_ROWS, 1000, &len);
	ck_assert_uint_eq(len, strlen("{\"key\":\"#\",\"families\":{\"f\":{\"\":"
				      "[{\"ts\":1,\"base64\":\"\"}]}}}\n") +
				       3 * (WCS_ROW_KEY_MAX - 1) + 3 * WCS_QUALIFIER_MAX +
				       (WCS_ROW_KEY_MAX - 1) / 3 * 4);
	free(text);
	text = export_text(s.table, &above, WCS_EXPORT_KEYS, 1000, &len);
	ck_assert_uint_eq(len, 3 * (WCS_ROW_KEY_MAX - 1) + 2);
	free(text);
	ck_assert_int_eq(wcs_export_open(s.table, &too_long, WCS_EXPORT_ROWS, &exported),
			 -ENAMETOOLONG);
	ck_assert_int_eq(wcs_export_open(s.table, NULL, WCS_EXPORT_ROW, &exported), -EINVAL);
	suite_close(&s);
	free(key);
	free(qualifier);
}
END_TEST

START_TEST(one_moment)
{
	struct wcs_export *rows, *keys;
	struct wcs_slice key = suite_text("a");
	struct suite s;
	size_t len;
	char *text;

	suite_open(&s, _i);
	suite_set(s.table, "a", "f", "q", 1, "old");
	suite_set(s.table, "a!", "f", "q", 1, "old");
	suite_set(s.table, "a#b", "f", "q", 1, "old");
	ck_assert_int_eq(wcs_export_open(s.table, &key, WCS_EXPORT_ROWS, &rows), 0);
	ck_assert_int_eq(wcs_export_open(s.table, &key, WCS_EXPORT_KEYS, &keys), 0);
	suite_set(s.table, "a", "f", "q", 1, "new");
	suite_set(s.table, "a#a", "f", "q", 1, "new");
	suite_delete_row(s.table, "a#b");
	text = drain(rows, 1, &len);
	ck_assert_str_eq(
		text,
		"{\"key\":\"a\",\"families\":{\"f\":{\"q\":[{\"ts\":1,\"value\":\"old\"}]}}}\n"
		"{\"key\":\"a#b\",\"families\":{\"f\":{\"q\":[{\"ts\":1,\"value\":\"old\"}]}}"
		"}\n");
	free(text);
	text = drain(keys, 1, &len);
	ck_assert_str_eq(text, "a\na#b\n");
	free(text);
	expect(s.table, "a", WCS_EXPORT_KEYS, "a\na#a\n");
	suite_close(&s);
}
END_TEST

/* What is left unread costs nothing and leaves nothing. */
START_TEST(closed_early)
{
	struct wcs_export *exported;
	struct suite s;
	char name[16], buf[8];
	size_t got;

	suite_open(&s, _i);
	for (int i = 0; i < 2000; i++) {
		snprintf(name, sizeof(name), "r%06d", i);
		suite_set(s.table, name, "f", "q", 1, "value");
	}
	ck_assert_int_eq(wcs_export_open(s.table, NULL, WCS_EXPORT_ROWS, &exported), 0);
	wcs_export_close(exported);
	ck_assert_int_eq(wcs_export_open(s.table, NULL, WCS_EXPORT_ROWS, &exported), 0);
	ck_assert_int_eq(wcs_export_read(exported, buf, 0, &got), 0);
	ck_assert_uint_eq(got, 0);
	ck_assert_int_eq(wcs_export_read(exported, buf, sizeof(buf), &got), 0);
	ck_assert_uint_eq(got, sizeof(buf));
	ck_assert_int_eq(memcmp(buf, "{\"key\":\"", 8), 0);
	wcs_export_close(exported);
	wcs_export_close(NULL);
	suite_close(&s);
}
END_TEST

START_TEST(seek)
{
	static const char *const keys[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
	struct wcs_range range = {.end = BYTES("g")};
	struct wcs_filter filter = {.each = WCS_EACH_CELL};
	struct wcs_scan *scan;
	struct wcs_cell cell;
	struct suite s;
	size_t got;

	suite_open(&s, _i);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		for (int ts = 1; ts <= 20; ts++)
			suite_set(s.table, keys[i], "f", "q", ts, keys[i]);
	ck_assert_int_eq(wcs_scan_open(s.table, &range, &filter, &scan), 0);
	ck_assert_int_eq(wcs_scan_seek(scan, suite_text("b")), 0);
	ck_assert_int_eq(wcs_scan_next(scan, &cell), 1);
	ck_assert_int_eq(memcmp(cell.row.data, "b", 1), 0);
	ck_assert_int_eq(cell.info.ts, 20);
	/* Back, and where it is: it goes on as if nothing had been said. */
	ck_assert_int_eq(wcs_scan_seek(scan, suite_text("a")), 0);
	ck_assert_int_eq(wcs_scan_read(scan, &got, 1, 0, &got), -EINVAL);
	ck_assert_int_eq(wcs_scan_next(scan, &cell), 1);
	ck_assert_int_eq(cell.info.ts, 19);
	ck_assert_int_eq(wcs_scan_seek(scan, suite_text("b")), 0);
	ck_assert_int_eq(wcs_scan_next(scan, &cell), 1);
	ck_assert_int_eq(memcmp(cell.row.data, "b", 1), 0);
	ck_assert_int_eq(cell.info.ts, 18);
	ck_assert_int_eq(wcs_scan_seek(scan, suite_text("b!")), 0);
	ck_assert_int_eq(wcs_scan_next(scan, &cell), 1);
	ck_assert_int_eq(memcmp(cell.row.data, "c", 1), 0);
	ck_assert_int_eq(wcs_scan_seek(scan, suite_text("f")), 0);
	ck_assert_int_eq(wcs_scan_next(scan, &cell), 1);
	ck_assert_int_eq(memcmp(cell.row.data, "f", 1), 0);
	ck_assert_int_eq(wcs_scan_seek(scan, suite_text("g")), 0);
	ck_assert_int_eq(wcs_scan_next(scan, &cell), 0);
	ck_assert_int_eq(wcs_scan_seek(scan, suite_text("a")), 0);
	ck_assert_int_eq(wcs_scan_next(scan, &cell), 0);
	wcs_scan_close(scan);
	suite_close(&s);
}
END_TEST

/* ---- There and back ---------------------------------------------------------------------- */

/* Applies the lines of a text to a table. */
static void apply(struct wcs_table *table, const char *text, size_t len)
{
	while (len > 0) {
		const char *end = memchr(text, '\n', len);
		struct wcs_fault fault = {.text = ""};
		struct wcs_line *line = NULL;

		ck_assert_ptr_nonnull(end);
		ck_assert_msg(wcs_line_parse(text, (size_t)(end - text), &line, &fault) == 0, "%s",
			      fault.text);
		ck_assert_int_eq(wcs_line_kind(line), WCS_LINE_ROW);
		ck_assert_int_eq(
			wcs_row_mutate(table, wcs_line_key(line), wcs_line_mutation(line), NULL),
			0);
		wcs_line_free(line);
		len -= (size_t)(end + 1 - text);
		text = end + 1;
	}
}

static struct wcs_table *other_table(struct suite *s)
{
	struct wcs_table *table;

	ck_assert_int_eq(wcs_table_create(s->store, "u"), 0);
	ck_assert_int_eq(wcs_table_open(s->store, "u", &table), 0);
	ck_assert_int_eq(wcs_family_create(table, "a"), 0);
	ck_assert_int_eq(wcs_family_create(table, "b"), 0);
	ck_assert_int_eq(wcs_family_create(table, "f"), 0);
	return table;
}

static size_t lines(const char *text, size_t len)
{
	size_t count = 0;

	for (size_t i = 0; i < len; i++)
		count += text[i] == '\n';
	return count;
}

/* The table's rows as text, applied to an empty table, make the same cells and the same text;
 * and its bytes do not depend on how they are read. */
static void expect_round_trip(struct suite *s)
{
	struct wcs_range range = {.start = {NULL, 0}};
	struct wcs_filter filter = {.each = WCS_EACH_CELL};
	struct wcs_table *table = other_table(s);
	size_t len, again_len, controls = 0;
	char *text = export_text(s->table, NULL, WCS_EXPORT_ROWS, 1 << 20, &len);
	char *again = export_text(s->table, NULL, WCS_EXPORT_ROWS, 4093, &again_len);
	char *cells = suite_scan(s->table, &range, &filter);

	ck_assert_uint_eq(len, again_len);
	ck_assert_int_eq(memcmp(text, again, len), 0);
	for (size_t i = 0; i < len; i++)
		controls += (unsigned char)text[i] < 0x20 || text[i] == 0x7f;
	ck_assert_uint_eq(controls, lines(text, len));
	apply(table, text, len);
	suite_expect(table, cells);
	free(again);
	again = export_text(table, NULL, WCS_EXPORT_ROWS, 65536, &again_len);
	ck_assert_uint_eq(len, again_len);
	ck_assert_int_eq(memcmp(text, again, len), 0);
	free(again);
	free(text);
	free(cells);
	wcs_table_close(table);
}

/* Bytes of one of several kinds: any, text with all escapes, letters. */
static size_t random_bytes(uint64_t *state, unsigned char *to, size_t max)
{
	static const char *const pieces[] = {"a",
					     "#",
					     "%",
					     "\"",
					     "\\",
					     "\n",
					     "\x7f",
					     "\xc3\xa9",
					     "\xff",
					     "\xe2\x82\xac",
					     "\xf0\x9f\x98\x80",
					     "\xe2\x82",
					     "plain",
					     "\x01"};
	size_t want = suite_random(state) % max, len = 0;
	uint32_t kind = suite_random(state) % 4;

	while (len < want) {
		const char *piece = pieces[suite_random(state) %
					   (kind == 1 ? sizeof(pieces) / sizeof(pieces[0]) : 8)];

		if (kind == 0 || kind == 3) {
			to[len++] = (unsigned char)(kind == 0 ? suite_random(state)
							      : 'a' + suite_random(state) % 26);
			continue;
		}
		for (; *piece && len < want; piece++)
			to[len++] = (unsigned char)*piece;
	}
	return len;
}

static void random_cell(struct suite *s, uint64_t *state, unsigned char *value)
{
	static const char *const families[] = {"a", "b", "f"};
	unsigned char row[64], qualifier[64];
	size_t row_len = 1 + random_bytes(state, row + 1, 12);
	size_t qualifier_len = random_bytes(state, qualifier, 24);
	size_t max = suite_random(state) % 20 == 0 ? 12000 : 40;

	row[0] = (unsigned char)(suite_random(state) % 8 ? 'k' : suite_random(state));
	put(s->table, (struct wcs_slice){row, row_len}, families[suite_random(state) % 3],
	    (struct wcs_slice){qualifier, qualifier_len}, suite_random(state) % 3 * 1000,
	    (struct wcs_slice){value, random_bytes(state, value, max)});
}

START_TEST(random_rows)
{
	unsigned char *value = malloc(12000);
	uint64_t state = 20261121;
	struct suite s;

	for (int round = 0; round < 4; round++) {
		suite_open(&s, _i);
		for (int i = 0; i < 300; i++)
			random_cell(&s, &state, value);
		expect_round_trip(&s);
		suite_close(&s);
	}
	free(value);
}
END_TEST

/* A value of that many bytes: letters, with these bytes at a place. */
static void put_large(struct suite *s, const char *row, size_t len, size_t at,
		      struct wcs_slice bytes)
{
	char *value = malloc(len);

	for (size_t i = 0; i < len; i++)
		value[i] = (char)('a' + i % 26);
	memcpy(value + at, bytes.data, bytes.len);
	put(s->table, suite_text(row), "f", suite_text("q"), 1, (struct wcs_slice){value, len});
	free(value);
}

static const char *form(struct suite *s, const char *row)
{
	struct wcs_slice key = suite_text(row);
	size_t len;
	char *text = export_text(s->table, &key, WCS_EXPORT_ROW, 8192, &len);
	bool is_text = strstr(text, "\"value\":\"") != NULL;

	ck_assert_int_ne(is_text, strstr(text, "\"base64\":\"") != NULL);
	free(text);
	return is_text ? "text" : "base64";
}

START_TEST(large_values)
{
	static const struct wcs_slice emoji = BYTES("\xf0\x9f\x98\x80");
	static const struct wcs_slice half = BYTES("\xf0\x9f\x98");
	static const struct wcs_slice wrong = BYTES("\xff");
	struct suite s;
	char row[16];

	suite_open(&s, _i);
	/* A character across the parts in which a value is read; its first bytes alone there. */
	for (size_t i = 0; i <= 4; i++) {
		snprintf(row, sizeof(row), "whole%zu", i);
		put_large(&s, row, 140000, 131072 - i, emoji);
		ck_assert_str_eq(form(&s, row), "text");
		snprintf(row, sizeof(row), "half%zu", i);
		put_large(&s, row, 140000, 131072 - i, half);
		ck_assert_str_eq(form(&s, row), "base64");
	}
	/* At the end: of a value, and of one that ends with a part. */
	put_large(&s, "last", 70000, 70000 - 4, emoji);
	ck_assert_str_eq(form(&s, "last"), "text");
	put_large(&s, "lasthalf", 70000, 70000 - 3, half);
	ck_assert_str_eq(form(&s, "lasthalf"), "base64");
	put_large(&s, "part", 131072, 131072 - 3, half);
	ck_assert_str_eq(form(&s, "part"), "base64");
	put_large(&s, "wrong", 131073, 131072, wrong);
	ck_assert_str_eq(form(&s, "wrong"), "base64");
	/* Around the size up to which values come with their cells, and groups of three. */
	for (size_t len = WCS_VALUE_INLINE - 1; len <= WCS_VALUE_INLINE + 3; len++) {
		snprintf(row, sizeof(row), "r%zu", len);
		put_large(&s, row, len, len - 1, wrong);
		ck_assert_str_eq(form(&s, row), "base64");
		snprintf(row, sizeof(row), "t%zu", len);
		put_large(&s, row, len, len - 1, suite_text("\n"));
		ck_assert_str_eq(form(&s, row), "text");
	}
	expect_round_trip(&s);
	suite_close(&s);
}
END_TEST

/* Nothing but escapes: the most that bytes can grow. */
START_TEST(all_escapes)
{
	char *value = calloc(1, 300000);
	struct suite s;

	suite_open(&s, _i);
	put(s.table, suite_text("large"), "f", suite_text("q"), 1,
	    (struct wcs_slice){value, 300000});
	put(s.table, suite_text("small"), "f", suite_text("q"), 1,
	    (struct wcs_slice){value, WCS_VALUE_INLINE});
	ck_assert_str_eq(form(&s, "large"), "text");
	expect_round_trip(&s);
	suite_close(&s);
	free(value);
}
END_TEST

static void add_tests(Suite *suite)
{
	suite_add(suite, "shape", shape, 10);
	suite_add(suite, "spelling", spelling, 30);
	suite_add(suite, "base64", base64, 10);
	suite_add(suite, "integers", integers, 10);
	suite_add(suite, "subtree", subtree, 10);
	suite_add(suite, "other delimiter", other_delimiter, 10);
	suite_add(suite, "longest names", longest_names, 10);
	suite_add(suite, "one moment", one_moment, 10);
	suite_add(suite, "closed early", closed_early, 30);
	suite_add(suite, "seek", seek, 10);
	suite_add(suite, "random rows", random_rows, 60);
	suite_add(suite, "large values", large_values, 60);
	suite_add(suite, "all escapes", all_escapes, 30);
}

int main(void)
{
	return suite_main("export", add_tests);
}
