/* SPDX-License-Identifier: MIT */
/*
 * CSV: records mean the same in one piece and in many, and with every field in quotes; the cells of
 * their rows are in order, and as row JSON they mean the same.
 */
#include "tests/fuzz/fuzz.h"

#include "lib/grow.h"
#include "mkfs/text/csv_rows.h"
#include "store/mutation.h"
#include "store/rows.h"

#define CSV_FUZZ_RECORD 2000

static void csv_fuzz_add(struct wcs_text *text, const void *bytes, size_t len)
{
	FUZZ_CHECK(grow(&text->bytes, &text->room, text->len + len, 4096, 1) == 0);
	memcpy(text->bytes + text->len, bytes, len);
	text->len += len;
}

/* The record with all its fields in quotes. */
static void csv_fuzz_quote(const struct csv *csv, struct wcs_text *text)
{
	for (size_t i = 0; i < csv->count; i++) {
		const struct csv_field *field = &csv->fields[i];

		FUZZ_CHECK(field->start + field->len <= csv->len);
		csv_fuzz_add(text, i > 0 ? ",\"" : "\"", i > 0 ? 2 : 1);
		for (size_t at = 0; at < field->len; at++) {
			char byte = csv->bytes[field->start + at];

			if (byte == '"' || (csv->escape && byte == csv->escape))
				csv_fuzz_add(text, &byte, 1);
			csv_fuzz_add(text, &byte, 1);
		}
		csv_fuzz_add(text, "\"", 1);
	}
	csv_fuzz_add(text, "\n", 1);
}

/* Reads records in pieces of that size, and gives them back in quotes. */
static int csv_fuzz_read(const char *bytes, size_t len, size_t piece, char escape,
			 struct wcs_text *quoted, struct csv_place *wrong)
{
	struct csv csv = {
		.max = CSV_FUZZ_RECORD, .separator = ',', .escape = escape, .place = {1, 1}};
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

static void csv_fuzz_records(const char *bytes, size_t len, size_t piece, char escape)
{
	struct wcs_text whole = {.bytes = NULL}, pieces = {.bytes = NULL}, again = {.bytes = NULL};
	struct csv_place wrong, other;
	int error = csv_fuzz_read(bytes, len, len + 1, escape, &whole, &wrong);

	FUZZ_CHECK(csv_fuzz_read(bytes, len, piece, escape, &pieces, &other) == error);
	FUZZ_CHECK(fuzz_same(whole.bytes, whole.len, pieces.bytes, pieces.len));
	FUZZ_CHECK(wrong.line == other.line && wrong.column == other.column);
	FUZZ_CHECK(csv_fuzz_read(whole.bytes, whole.len, whole.len + 1, escape, &again, &wrong) ==
		   0);
	FUZZ_CHECK(fuzz_same(whole.bytes, whole.len, again.bytes, again.len));
	free(whole.bytes);
	free(pieces.bytes);
	free(again.bytes);
}

/* Lines that end in CR LF, or in CR, mean the same as with LF alone. */
static void csv_fuzz_ends(const char *bytes, size_t len, const char *end)
{
	struct wcs_text other = {.bytes = NULL}, a = {.bytes = NULL}, b = {.bytes = NULL};
	struct csv_place wrong, at;
	int rc;

	if (len == 0 || memchr(bytes, '"', len) || memchr(bytes, '\r', len))
		return;
	for (size_t i = 0; i < len; i++)
		csv_fuzz_add(&other, bytes[i] == '\n' ? end : bytes + i,
			     bytes[i] == '\n' ? strlen(end) : 1);
	rc = csv_fuzz_read(bytes, len, len + 1, 0, &a, &wrong);
	FUZZ_CHECK(csv_fuzz_read(other.bytes, other.len, other.len + 1, 0, &b, &at) == rc);
	FUZZ_CHECK(fuzz_same(a.bytes, a.len, b.bytes, b.len));
	FUZZ_CHECK(wrong.line == at.line && wrong.column == at.column);
	free(other.bytes);
	free(a.bytes);
	free(b.bytes);
}

static int csv_fuzz_family(void *ctx, const char *family)
{
	(void)ctx;
	FUZZ_CHECK(wcs_family_name_valid(family));
	return 0;
}

struct csv_fuzz_rows {
	struct wcs_text text; /* of all rows */
	uint64_t line;	      /* of the last one; 0: the header is not read */
};

static int csv_fuzz_begin(void *ctx, const struct csv_row *header, const struct wcs_keys **keys,
			  unsigned char *delimiter)
{
	struct csv_fuzz_rows *seen = ctx;

	FUZZ_CHECK(seen->line == 0 && header->line > 0 && *keys == NULL && *delimiter == '#');
	seen->line = header->line;
	return 0;
}

static bool csv_fuzz_equal(struct wcs_slice a, struct wcs_slice b)
{
	return wcs_slice_compare(a, b) == 0;
}

static void csv_fuzz_cell(const struct csv_row *row, size_t i, const struct wcs_write *write)
{
	const struct wcs_cell *cell = &row->cells[i];
	enum wcs_part differs = WCS_PART_ROW;
	int order = 0;

	if (i > 0) {
		order = wcs_slice_compare(cell[-1].family, cell->family);
		differs = order ? WCS_PART_FAMILY : WCS_PART_QUALIFIER;
		if (!order)
			order = wcs_slice_compare(cell[-1].qualifier, cell->qualifier);
		FUZZ_CHECK(order < 0);
	}
	FUZZ_CHECK(cell->differs == differs && csv_fuzz_equal(cell->row, row->key));
	FUZZ_CHECK(strcmp(write->family, cell->family.data) == 0);
	FUZZ_CHECK(strlen(write->family) == cell->family.len);
	FUZZ_CHECK(csv_fuzz_equal(write->qualifier, cell->qualifier));
	FUZZ_CHECK(csv_fuzz_equal(write->value, cell->value));
	FUZZ_CHECK(write->ts == cell->info.ts);
}

/* The row, as a line, is read as its mutation. */
static int csv_fuzz_row(void *ctx, const struct csv_row *row)
{
	struct csv_fuzz_rows *seen = ctx;
	size_t start = seen->text.len;
	struct wcs_line *line = NULL;

	FUZZ_CHECK(row->line > seen->line && row->count > 0 && row->key.len > 0);
	seen->line = row->line;
	FUZZ_CHECK(wcs_text_row(&seen->text, NULL, row->cells, row->count) == 0);
	FUZZ_CHECK(seen->text.bytes[seen->text.len - 1] == '\n');
	FUZZ_CHECK(!wcs_line_parse(seen->text.bytes + start, seen->text.len - start - 1, NULL,
				   &line, NULL));
	FUZZ_CHECK(line->kind == WCS_LINE_ROW && csv_fuzz_equal(line->key, row->key));
	FUZZ_CHECK(line->mutation->write_count == row->count && !line->mutation->delete_row);
	for (size_t i = 0; i < row->count; i++)
		csv_fuzz_cell(row, i, &line->mutation->writes[i]);
	wcs_line_free(line);
	return 0;
}

static int csv_fuzz_rows_read(const char *bytes, size_t len, size_t piece, unsigned int how,
			      struct csv_fuzz_rows *seen)
{
	struct csv_rows_options options = {.separator = ',',
					   .family = how & 1 ? "f" : NULL,
					   .key = how & 64 ? "a,b" : NULL,
					   .escape = how & 128 ? '\\' : 0,
					   .timestamps = (how & 2) != 0,
					   .has_family = csv_fuzz_family,
					   .begin = csv_fuzz_begin,
					   .row = csv_fuzz_row,
					   .ctx = seen};
	struct csv_rows rows;
	int error = 0;

	csv_rows_open(&rows, &options);
	for (size_t at = 0; at < len && !error; at += piece)
		error = csv_rows_read(&rows, bytes + at, len - at < piece ? len - at : piece);
	if (!error)
		error = csv_rows_end(&rows);
	FUZZ_CHECK((error != 0) == (rows.why[0] != '\0'));
	csv_rows_close(&rows);
	return error;
}

static void csv_fuzz_rows(const char *bytes, size_t len, size_t piece, unsigned int how)
{
	struct csv_fuzz_rows whole = {.line = 0}, pieces = {.line = 0};
	int error = csv_fuzz_rows_read(bytes, len, len + 1, how, &whole);

	FUZZ_CHECK(csv_fuzz_rows_read(bytes, len, piece, how, &pieces) == error);
	FUZZ_CHECK(fuzz_same(whole.text.bytes, whole.text.len, pieces.text.bytes, pieces.text.len));
	free(whole.text.bytes);
	free(pieces.text.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned int how = fuzz_byte(&data, &size);
	size_t piece = how % 64 / 4 + 1;

	csv_fuzz_records((const char *)data, size, piece, how & 128 ? '\\' : 0);
	csv_fuzz_ends((const char *)data, size, "\r\n");
	csv_fuzz_ends((const char *)data, size, "\r");
	csv_fuzz_rows((const char *)data, size, piece, how);
	return 0;
}
