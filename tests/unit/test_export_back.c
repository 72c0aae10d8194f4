/* SPDX-License-Identifier: MIT */
/* Rows as text: reading a stream back gives the same cells, at random and with large values. On
 * both engines. */
#include "tests/unit/exported.h"

static struct wcs_table *other_table(struct suite *s)
{
	struct wcs_table *table;

	SUITE_OK(wcs_table_create(s->store, "u"));
	SUITE_OK(wcs_table_open(s->store, "u", &table));
	SUITE_OK(wcs_family_create(table, "a"));
	SUITE_OK(wcs_family_create(table, "b"));
	SUITE_OK(wcs_family_create(table, "f"));
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
	struct wcs_table *table = other_table(s);
	size_t len, again_len, controls = 0;
	char *text = exported_text(s->table, NULL, WCS_EXPORT_ROWS, 1 << 20, &len);
	char *again = exported_text(s->table, NULL, WCS_EXPORT_ROWS, 4093, &again_len);
	char *cells = suite_content(s->table);

	ck_assert_uint_eq(len, again_len);
	ck_assert_int_eq(memcmp(text, again, len), 0);
	for (size_t i = 0; i < len; i++)
		controls += (unsigned char)text[i] < 0x20 || text[i] == 0x7f;
	ck_assert_uint_eq(controls, lines(text, len));
	SUITE_OK(suite_load(table, text, NULL));
	suite_expect(table, cells);
	free(again);
	again = exported_text(table, NULL, WCS_EXPORT_ROWS, 65536, &again_len);
	ck_assert_uint_eq(len, again_len);
	ck_assert_int_eq(memcmp(text, again, len), 0);
	free(again);
	free(text);
	free(cells);
	wcs_table_close(table);
}

/* A value of that many bytes: letters, with these bytes at a place. */
static void put_large(struct suite *s, const char *row, size_t len, size_t at,
		      struct wcs_slice bytes)
{
	char *value = malloc(len);

	for (size_t i = 0; i < len; i++)
		value[i] = (char)('a' + i % 26);
	memcpy(value + at, bytes.data, bytes.len);
	suite_put(s->table, suite_text(row), "f", suite_text("q"), 1,
		  (struct wcs_slice){value, len});
	free(value);
}

static const char *form(struct suite *s, const char *row)
{
	struct wcs_slice key = suite_text(row);
	size_t len;
	char *text = exported_text(s->table, &key, WCS_EXPORT_ROW, 8192, &len);
	bool is_text = strstr(text, "\"value\":\"") != NULL;

	ck_assert_int_ne(is_text, strstr(text, "\"base64\":\"") != NULL);
	free(text);
	return is_text ? "text" : "base64";
}

SUITE_HEAVY_STORES(large_values, 60)
{
	const struct wcs_slice emoji = SUITE_BYTES("\xf0\x9f\x98\x80");
	const struct wcs_slice half = SUITE_BYTES("\xf0\x9f\x98");
	const struct wcs_slice wrong = SUITE_BYTES("\xff");
	char row[16];

	/* A character across the parts in which a value is read; its first bytes alone there. */
	for (size_t i = 0; i <= 4; i++) {
		snprintf(row, sizeof(row), "whole%zu", i);
		put_large(s, row, 140000, 131072 - i, emoji);
		ck_assert_str_eq(form(s, row), "text");
		snprintf(row, sizeof(row), "half%zu", i);
		put_large(s, row, 140000, 131072 - i, half);
		ck_assert_str_eq(form(s, row), "base64");
	}
	/* At the end: of a value, and of one that ends with a part. */
	put_large(s, "last", 70000, 70000 - 4, emoji);
	ck_assert_str_eq(form(s, "last"), "text");
	put_large(s, "lasthalf", 70000, 70000 - 3, half);
	ck_assert_str_eq(form(s, "lasthalf"), "base64");
	put_large(s, "part", 131072, 131072 - 3, half);
	ck_assert_str_eq(form(s, "part"), "base64");
	put_large(s, "wrong", 131073, 131072, wrong);
	ck_assert_str_eq(form(s, "wrong"), "base64");
	/* Around the size up to which values come with their cells, and groups of three. */
	for (size_t len = WCS_VALUE_INLINE - 1; len <= WCS_VALUE_INLINE + 3; len++) {
		snprintf(row, sizeof(row), "r%zu", len);
		put_large(s, row, len, len - 1, wrong);
		ck_assert_str_eq(form(s, row), "base64");
		snprintf(row, sizeof(row), "t%zu", len);
		put_large(s, row, len, len - 1, suite_text("\n"));
		ck_assert_str_eq(form(s, row), "text");
	}
	expect_round_trip(s);
}

/* Nothing but escapes: the most that bytes can grow. */
SUITE_STORES(all_escapes, 30)
{
	char *value = calloc(1, 300000);

	suite_put(s->table, suite_text("large"), "f", suite_text("q"), 1,
		  (struct wcs_slice){value, 300000});
	suite_put(s->table, suite_text("small"), "f", suite_text("q"), 1,
		  (struct wcs_slice){value, WCS_VALUE_INLINE});
	ck_assert_str_eq(form(s, "large"), "text");
	expect_round_trip(s);
	free(value);
}
