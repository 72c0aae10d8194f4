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

/* ---- Rows in several lines --------------------------------------------------------------- */

struct cell {
	const char *row, *family, *qualifier;
	int64_t ts;
	const char *value;
};

/* The text of rows of these cells, in their order, where a line of more than max bytes ends before
 * the next cell. */
static char *expected_lines(const struct cell *cells, size_t count, size_t max)
{
	char *text = NULL;
	size_t len, start = 0;
	FILE *out = open_memstream(&text, &len);

	for (size_t i = 0; i < count; i++) {
		const struct cell *c = &cells[i], *last = i > 0 ? c - 1 : c;
		bool row = strcmp(c->row, last->row) == 0;
		bool family = strcmp(c->family, last->family) == 0;

		fflush(out);
		if (i == 0 || !row || len - start > max) {
			fputs(i > 0 ? "]}}}\n" : "", out);
			fflush(out);
			start = len;
			fprintf(out, "{\"key\":\"%s\",\"families\":{\"%s\":{\"%s\":[", c->row,
				c->family, c->qualifier);
		} else if (family && strcmp(c->qualifier, last->qualifier) == 0) {
			fputs(",", out);
		} else {
			fputs(family ? "]," : "]},", out);
			if (!family)
				fprintf(out, "\"%s\":{", c->family);
			fprintf(out, "\"%s\":[", c->qualifier);
		}
		fprintf(out, "{\"ts\":%d,\"value\":\"%s\"}", (int)c->ts, c->value);
	}
	fputs("]}}}\n", out);
	fclose(out);
	return text;
}

static char *lines_text(struct wcs_table *table, size_t max, size_t piece, size_t *len)
{
	struct wcs_export *exported;

	SUITE_OK(wcs_export_open(table, NULL, WCS_EXPORT_ROWS, NULL, &exported));
	wcs_export_set_line_max(exported, max);
	return exported_drain(exported, piece, len);
}

/* The rows with lines of that many bytes are as expected, and make the same cells in the other
 * table, which is emptied for that. */
static void expect_lines(struct suite *s, struct wcs_table *other, const struct cell *cells,
			 size_t count, size_t max)
{
	char *expected = expected_lines(cells, count, max), *all = suite_content(s->table);
	size_t len, again_len;
	char *text = lines_text(s->table, max, 65536, &len);
	char *again = lines_text(s->table, max, 4093, &again_len);

	ck_assert_str_eq(text, expected);
	ck_assert_str_eq(again, expected);
	ck_assert_uint_eq(len, strlen(expected));
	ck_assert_uint_eq(again_len, len);
	SUITE_OK(wcs_rows_drop(other, NULL));
	SUITE_OK(suite_load(other, text, NULL));
	suite_expect(other, all);
	free(again);
	free(text);
	free(all);
	free(expected);
}

static void put_cells(struct suite *s, const struct cell *cells, size_t count)
{
	for (size_t i = 0; i < count; i++)
		suite_set(s->table, cells[i].row, cells[i].family, cells[i].qualifier, cells[i].ts,
			  cells[i].value);
}

SUITE_STORES(lines_of_small_rows, 60)
{
	static const struct cell cells[] = {
		{"a", "a", "", 3, "x"},	      {"a", "a", "", 2, ""},
		{"a", "a", "q", 2, "second"}, {"a", "b", "q", 9, "third"},
		{"a", "b", "q", 8, "fourth"}, {"a", "b", "q", 0, "fifth"},
		{"a", "f", "q", 0, "sixth"},  {"a", "f", "r", 12345, "seventh"},
		{"b", "a", "q", 1, "v"},      {"c", "f", "q", 2, "v"},
		{"c", "f", "q", 1, "w"},
	};
	const size_t count = sizeof(cells) / sizeof(cells[0]);
	struct wcs_table *other;
	size_t len, whole;
	char *text;

	other = other_table(s);
	put_cells(s, cells, count);
	text = exported_text(s->table, NULL, WCS_EXPORT_ROWS, 4096, &whole);
	for (size_t max = 1; max < whole; max++)
		expect_lines(s, other, cells, count, max);
	free(text);
	text = lines_text(s->table, 1, 4096, &len);
	ck_assert_uint_eq(lines(text, len), count);
	free(text);
	/* One stays whole, and so does each that is not beyond the bound. */
	text = lines_text(s->table, whole, 4096, &len);
	ck_assert_uint_eq(lines(text, len), 3);
	free(text);
	text = lines_text(s->table, 0, 4096, &len);
	ck_assert_uint_eq(lines(text, len), 3);
	free(text);
	wcs_table_close(other);
}

/* Values in pieces, and a line longer than the stream's buffer. */
SUITE_HEAVY_STORES(lines_of_large_values, 60)
{
	char *value = suite_pattern(150000, 1);
	struct cell cells[] = {{"a", "a", "q", 2, value}, {"a", "a", "q", 1, "small"},
			       {"a", "b", "q", 2, value}, {"a", "b", "q", 1, value},
			       {"a", "b", "r", 1, "v"},	  {"b", "b", "r", 1, value}};
	const size_t count = sizeof(cells) / sizeof(cells[0]);
	struct wcs_table *other;

	memset(value, 'x', 150000);
	value[149999] = '\0';
	other = other_table(s);
	put_cells(s, cells, count);
	for (size_t i = 1; i < count; i++) {
		char *text = expected_lines(cells, i, SIZE_MAX);
		size_t len = strlen(text) - strlen("]}}}\n");

		for (size_t max = len - 1; max <= len + 1; max++)
			expect_lines(s, other, cells, count, max);
		free(text);
	}
	expect_lines(s, other, cells, count, 1);
	wcs_table_close(other);
	free(value);
}
