/* SPDX-License-Identifier: MIT */
/*
 * Row JSON: lines mean the same in one piece and in many. Their rows, written as row JSON and read
 * into an empty table, are the same again.
 */
#include "tests/fuzz/fuzz.h"

#include "tests/unit/exported.h"

/* A store that all inputs use, with no rows in it before and behind each. */
static struct wcs_table *rows_fuzz_table(void)
{
	static const char schema[] =
		"{\"version\":1,\"tables\":{\"t\":{\"families\":{\"a\":{},\"b\":{},"
		"\"s\":{\"type\":\"intsum\"},\"m\":{\"type\":\"intmin\"},"
		"\"x\":{\"type\":\"intmax\"},\"h\":{\"type\":\"inthll\"}}}}}";
	struct wcs_store *store = fuzz_store();
	struct wcs_table *table = NULL;
	struct wcs_schema *parsed;

	FUZZ_CHECK(wcs_schema_parse(schema, strlen(schema), &parsed, NULL) == 0);
	FUZZ_CHECK(wcs_schema_apply(store, parsed, NULL) == 0);
	wcs_schema_free(parsed);
	FUZZ_CHECK(wcs_table_open(store, "t", &table) == 0);
	return table;
}

struct rows_fuzz_result {
	int error;
	uint64_t lines;
	struct wcs_fault fault;
};

/* Reads the text in pieces of that size. */
static struct rows_fuzz_result rows_fuzz_read(struct wcs_table *table, const char *text, size_t len,
					      size_t piece)
{
	struct rows_fuzz_result result = {.error = 0};
	struct wcs_import *import = NULL;

	FUZZ_CHECK(wcs_import_new(table, NULL, &import) == 0);
	for (size_t at = 0; at < len && !result.error; at += piece)
		result.error = wcs_import_write(import, text + at,
						len - at < piece ? len - at : piece, &result.fault);
	if (!result.error)
		result.error = wcs_import_finish(import, &result.fault);
	result.lines = wcs_import_lines(import);
	wcs_import_free(import);
	return result;
}

static char *rows_fuzz_text(struct wcs_table *table)
{
	return exported_text(table, NULL, WCS_EXPORT_ROWS, 4096, &(size_t){0});
}

static void rows_fuzz_same(struct wcs_table *table, const char *expected)
{
	char *text = rows_fuzz_text(table);

	FUZZ_CHECK(strcmp(text, expected) == 0);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct wcs_table *a, *b;
	size_t piece = fuzz_byte(&data, &size) + 1;
	struct rows_fuzz_result whole, pieces;
	char *text = fuzz_text(data, size), *rows;

	if (!a) {
		a = rows_fuzz_table();
		b = rows_fuzz_table();
	}
	whole = rows_fuzz_read(a, text, size, size + 1);
	pieces = rows_fuzz_read(b, text, size, piece);
	free(text);
	FUZZ_CHECK(whole.error == pieces.error && whole.lines == pieces.lines);
	FUZZ_CHECK(strcmp(whole.fault.text, pieces.fault.text) == 0);
	FUZZ_CHECK(whole.fault.line == pieces.fault.line);
	FUZZ_CHECK((whole.error != 0) == (whole.fault.text[0] != '\0'));
	rows = rows_fuzz_text(a);
	rows_fuzz_same(b, rows);
	if (rows[0] != '\0') {
		FUZZ_CHECK(wcs_rows_drop(b, NULL) == 0);
		whole = rows_fuzz_read(b, rows, strlen(rows), SIZE_MAX);
		FUZZ_CHECK(whole.error == 0);
		rows_fuzz_same(b, rows);
	}
	free(rows);
	FUZZ_CHECK(wcs_rows_drop(a, NULL) == 0 && wcs_rows_drop(b, NULL) == 0);
	return 0;
}
