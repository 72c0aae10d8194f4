/* SPDX-License-Identifier: MIT */
/*
 * CSV: records mean the same in one piece and in many, and with every field in quotes; the lines of
 * row JSON that come of them are such.
 */
#include "tests/fuzz/fuzz.h"

#include "mkfs/text/csv_rows.h"

#define CSV_FUZZ_RECORD 2000

struct csv_fuzz_text {
	char *bytes;
	size_t len;
};

static void csv_fuzz_add(struct csv_fuzz_text *text, const void *bytes, size_t len)
{
	text->bytes = realloc(text->bytes, text->len + len + 1);
	FUZZ_CHECK(text->bytes);
	if (len > 0)
		memcpy(text->bytes + text->len, bytes, len);
	text->len += len;
}

/* The record with all its fields in quotes. */
static void csv_fuzz_quote(const struct csv *csv, struct csv_fuzz_text *text)
{
	for (size_t i = 0; i < csv->count; i++) {
		const struct csv_field *field = &csv->fields[i];

		FUZZ_CHECK(field->start + field->len <= csv->len);
		csv_fuzz_add(text, i > 0 ? ",\"" : "\"", i > 0 ? 2 : 1);
		for (size_t at = 0; at < field->len; at++) {
			char byte = csv->bytes[field->start + at];

			csv_fuzz_add(text, byte == '"' ? "\"\"" : &byte, byte == '"' ? 2 : 1);
		}
		csv_fuzz_add(text, "\"", 1);
	}
	csv_fuzz_add(text, "\n", 1);
}

/* Reads records in pieces of that size, and gives them back in quotes. */
static int csv_fuzz_read(const char *bytes, size_t len, size_t piece, struct csv_fuzz_text *quoted,
			 struct csv_place *wrong)
{
	struct csv csv = {.max = CSV_FUZZ_RECORD, .separator = ',', .place = {1, 1}};
	size_t used;
	int more = 0;

	for (size_t at = 0; at < len && more >= 0; at += used) {
		more = csv_read(&csv, bytes + at, len - at < piece ? len - at : piece, &used);
		if (more > 0)
			csv_fuzz_quote(&csv, quoted);
		FUZZ_CHECK(more < 0 || (used > 0 && used <= piece));
	}
	if (more >= 0)
		more = csv_end(&csv);
	if (more > 0)
		csv_fuzz_quote(&csv, quoted);
	*wrong = csv.wrong;
	FUZZ_CHECK(more >= 0 || (csv.why && csv.wrong.line > 0 && csv.wrong.column > 0));
	free(csv.bytes);
	free(csv.fields);
	return more < 0 ? more : 0;
}

static void csv_fuzz_records(const char *bytes, size_t len, size_t piece)
{
	struct csv_fuzz_text whole = {NULL, 0}, pieces = {NULL, 0}, again = {NULL, 0};
	struct csv_place wrong, other;
	int error = csv_fuzz_read(bytes, len, len + 1, &whole, &wrong);

	FUZZ_CHECK(csv_fuzz_read(bytes, len, piece, &pieces, &other) == error);
	FUZZ_CHECK(fuzz_same(whole.bytes, whole.len, pieces.bytes, pieces.len));
	FUZZ_CHECK(wrong.line == other.line && wrong.column == other.column);
	FUZZ_CHECK(csv_fuzz_read(whole.bytes, whole.len, whole.len + 1, &again, &wrong) == 0);
	FUZZ_CHECK(fuzz_same(whole.bytes, whole.len, again.bytes, again.len));
	free(whole.bytes);
	free(pieces.bytes);
	free(again.bytes);
}

/* Lines that end in CR LF mean the same as with LF alone. */
static void csv_fuzz_ends(const char *bytes, size_t len)
{
	struct csv_fuzz_text crlf = {NULL, 0}, a = {NULL, 0}, b = {NULL, 0};
	struct csv_place wrong;

	if (len == 0 || memchr(bytes, '"', len) || memchr(bytes, '\r', len))
		return;
	for (size_t i = 0; i < len; i++)
		csv_fuzz_add(&crlf, bytes[i] == '\n' ? "\r\n" : bytes + i,
			     bytes[i] == '\n' ? 2 : 1);
	if (csv_fuzz_read(bytes, len, len + 1, &a, &wrong) == 0 &&
	    csv_fuzz_read(crlf.bytes, crlf.len, crlf.len + 1, &b, &wrong) == 0)
		FUZZ_CHECK(fuzz_same(a.bytes, a.len, b.bytes, b.len));
	free(crlf.bytes);
	free(a.bytes);
	free(b.bytes);
}

static int csv_fuzz_family(void *ctx, const char *family)
{
	(void)ctx;
	FUZZ_CHECK(wcs_family_name_valid(family));
	return 0;
}

static void csv_fuzz_line(const struct csv_rows *rows, const char *text, size_t len, bool first)
{
	struct wcs_line *line = NULL;

	FUZZ_CHECK(rows->lines > 0);
	FUZZ_CHECK(wcs_line_parse(text, len, &line, NULL) == 0);
	FUZZ_CHECK(line->kind == (first ? WCS_LINE_TABLE : WCS_LINE_ROW));
	FUZZ_CHECK(first || line->key.len > 0);
	wcs_line_free(line);
}

/* Takes the lines of a call, which are all there is in out. */
static void csv_fuzz_take(const struct csv_rows *rows, struct csv_fuzz_text *text)
{
	size_t at = 0;

	for (size_t i = 0; i < rows->lines; i++) {
		const char *line = rows->out.bytes + at;
		const char *end = memchr(line, '\n', rows->out.len - at);

		FUZZ_CHECK(end);
		csv_fuzz_line(rows, line, (size_t)(end - line), text->len == 0);
		csv_fuzz_add(text, line, (size_t)(end - line) + 1);
		FUZZ_CHECK(i == 0 || rows->origins[i] > rows->origins[i - 1]);
		at = (size_t)(end - rows->out.bytes) + 1;
	}
}

static int csv_fuzz_rows_read(const char *bytes, size_t len, size_t piece, unsigned int how,
			      struct csv_fuzz_text *text)
{
	struct csv_rows_options options = {.table = "t",
					   .separator = ',',
					   .family = how & 1 ? "f" : NULL,
					   .timestamps = (how & 2) != 0,
					   .has_family = csv_fuzz_family};
	struct csv_rows rows;
	int error = 0;

	csv_rows_open(&rows, &options);
	for (size_t at = 0; at < len && !error; at += piece) {
		error = csv_rows_read(&rows, bytes + at, len - at < piece ? len - at : piece);
		csv_fuzz_take(&rows, text);
	}
	if (!error) {
		error = csv_rows_end(&rows);
		csv_fuzz_take(&rows, text);
	}
	FUZZ_CHECK((error != 0) == (rows.why[0] != '\0'));
	csv_rows_close(&rows);
	return error;
}

static void csv_fuzz_rows(const char *bytes, size_t len, size_t piece, unsigned int how)
{
	struct csv_fuzz_text whole = {NULL, 0}, pieces = {NULL, 0};
	int error = csv_fuzz_rows_read(bytes, len, len + 1, how, &whole);

	FUZZ_CHECK(csv_fuzz_rows_read(bytes, len, piece, how, &pieces) == error);
	FUZZ_CHECK(fuzz_same(whole.bytes, whole.len, pieces.bytes, pieces.len));
	free(whole.bytes);
	free(pieces.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned int how = fuzz_byte(&data, &size);
	size_t piece = how / 4 + 1;

	csv_fuzz_records((const char *)data, size, piece);
	csv_fuzz_ends((const char *)data, size);
	csv_fuzz_rows((const char *)data, size, piece, how);
	return 0;
}
