/* SPDX-License-Identifier: MIT */
/*
 * Tables as CSV. Columns are kept in the order in which a row has them, so that a row is written
 * as it is read; only they are held in memory.
 */
#include "mkfs/text/csv_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mkfs/text/rows_reader.h"

struct csv_column {
	size_t family_len, qualifier_len;
	unsigned char *names; /* the family, and the qualifier behind it */
};

struct csv_table {
	const struct csv_options *options;
	const struct wcs_table_schema *table;
	struct output *out;
	struct rows *rows;
	struct rows_reader reader;
	struct csv_column *columns;
	size_t count, room;
	size_t at; /* the column that the row is at, or that it was at last */
	int exit_code;
	unsigned char value[64u << 10];
};

static bool csv_fail(struct csv_table *csv, const char *why)
{
	csv->exit_code = rows_fail(csv->rows, why);
	return false;
}

/* Says which cell it is about. */
static bool csv_fail_cell(struct csv_table *csv, const char *why)
{
	const struct rows_reader *reader = &csv->reader;
	char *key = wcs_text_encode((struct wcs_slice){reader->key.bytes, reader->key.len});
	char *qualifier =
		wcs_text_encode((struct wcs_slice){reader->qualifier.bytes, reader->qualifier.len});
	char *text = NULL;

	if (!key || !qualifier ||
	    asprintf(&text, "row %s, column %.*s:%s: %s", key, (int)reader->family.len,
		     reader->family.bytes, qualifier, why) < 0)
		text = NULL;
	csv_fail(csv, text ? text : why);
	free(text);
	free(qualifier);
	free(key);
	return false;
}

static bool csv_write_bytes(struct csv_table *csv, const void *data, size_t len)
{
	csv->exit_code = output_write(csv->out, data, len);
	return csv->exit_code == PROGRAM_OK;
}

static bool csv_put(struct csv_table *csv, const char *text)
{
	return csv_write_bytes(csv, text, strlen(text));
}

/* ---- Fields ------------------------------------------------------------------------------ */

static bool csv_has(const unsigned char *bytes, size_t len, char byte)
{
	return len > 0 && memchr(bytes, byte, len);
}

static bool csv_needs_quotes(const unsigned char *bytes, size_t len)
{
	return csv_has(bytes, len, ',') || csv_has(bytes, len, '"') || csv_has(bytes, len, '\n') ||
	       csv_has(bytes, len, '\r');
}

/* Bytes within quotes. */
static bool csv_quoted(struct csv_table *csv, const unsigned char *bytes, size_t len)
{
	const unsigned char *quote;

	while (len > 0 && (quote = memchr(bytes, '"', len))) {
		size_t some = (size_t)(quote + 1 - bytes);

		if (!csv_write_bytes(csv, bytes, some) || !csv_put(csv, "\""))
			return false;
		bytes += some;
		len -= some;
	}
	return csv_write_bytes(csv, bytes, len);
}

static bool csv_name(struct csv_table *csv, const unsigned char *bytes, size_t len)
{
	if (!csv_needs_quotes(bytes, len))
		return csv_write_bytes(csv, bytes, len);
	return csv_put(csv, "\"") && csv_quoted(csv, bytes, len) && csv_put(csv, "\"");
}

static bool csv_stamp(struct csv_table *csv)
{
	return !csv->options->timestamps || (csv_put(csv, "@") && csv_put(csv, csv->reader.ts));
}

static bool csv_value(struct csv_table *csv)
{
	size_t len = rows_reader_value(&csv->reader, csv->value, sizeof(csv->value));
	bool more = csv->reader.value != ROWS_VALUE_NONE;
	bool quotes = more || csv_needs_quotes(csv->value, len);

	if (len == 0 && !csv->reader.exit_code && !csv->options->timestamps)
		return csv_fail_cell(csv, "an empty value: only with --timestamps can CSV have it");
	if (quotes && !csv_put(csv, "\""))
		return false;
	while (len > 0) {
		if (!(quotes ? csv_quoted(csv, csv->value, len)
			     : csv_write_bytes(csv, csv->value, len)))
			return false;
		len = more ? rows_reader_value(&csv->reader, csv->value, sizeof(csv->value)) : 0;
	}
	return csv_stamp(csv) && (!quotes || csv_put(csv, "\""));
}

/* ---- Columns ----------------------------------------------------------------------------- */

static int csv_compare(const void *a, size_t a_len, const void *b, size_t b_len)
{
	size_t len = a_len < b_len ? a_len : b_len;
	int order = len > 0 ? memcmp(a, b, len) : 0;

	return order ? order : (a_len > b_len) - (a_len < b_len);
}

/* Order of the column that the reader is at against one that is known. */
static int csv_order(const struct rows_reader *reader, const struct csv_column *column)
{
	int order = csv_compare(reader->family.bytes, reader->family.len, column->names,
				column->family_len);

	if (order)
		return order;
	return csv_compare(reader->qualifier.bytes, reader->qualifier.len,
			   column->names + column->family_len, column->qualifier_len);
}

/* Where the reader's column is, or would be. */
static bool csv_find(const struct csv_table *csv, size_t *at)
{
	size_t low = 0, high = csv->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = csv_order(&csv->reader, &csv->columns[middle]);

		if (order == 0) {
			*at = middle;
			return true;
		}
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	*at = low;
	return false;
}

static bool csv_grow(struct csv_table *csv)
{
	size_t room = csv->room ? 2 * csv->room : 64;
	struct csv_column *columns = realloc(csv->columns, room * sizeof(*columns));

	if (!columns)
		return csv_fail(csv, "no memory");
	csv->columns = columns;
	csv->room = room;
	return true;
}

static enum wcs_type csv_type(const struct csv_table *csv)
{
	const struct rows_name *name = &csv->reader.family;

	for (size_t i = 0; i < csv->table->family_count; i++) {
		const struct wcs_family *family = &csv->table->families[i];

		if (csv_compare(family->name, strlen(family->name), name->bytes, name->len) == 0)
			return family->type;
	}
	return WCS_BYTES;
}

static bool csv_add(struct csv_table *csv, size_t at)
{
	const struct rows_reader *reader = &csv->reader;
	struct csv_column column = {reader->family.len, reader->qualifier.len, NULL};

	if (reader->qualifier.len == 0)
		return csv_fail_cell(csv, "a column without a name, which CSV cannot have");
	if (csv_type(csv) == WCS_INTHLL)
		return csv_fail_cell(csv, "an inthll, whose state CSV cannot have: take other "
					  "families (--family), or JSON");
	if (csv->count == csv->room && !csv_grow(csv))
		return false;
	column.names = malloc(column.family_len + column.qualifier_len);
	if (!column.names)
		return csv_fail(csv, "no memory");
	memcpy(column.names, reader->family.bytes, column.family_len);
	memcpy(column.names + column.family_len, reader->qualifier.bytes, column.qualifier_len);
	memmove(csv->columns + at + 1, csv->columns + at,
		(csv->count - at) * sizeof(*csv->columns));
	csv->columns[at] = column;
	csv->count++;
	return true;
}

static bool csv_wanted(const struct csv_table *csv)
{
	const struct rows_name *family = &csv->reader.family;
	const char *wanted = csv->options->family;

	return !wanted ||
	       (strlen(wanted) == family->len && memcmp(wanted, family->bytes, family->len) == 0);
}

static bool csv_next_column(struct csv_table *csv)
{
	while (rows_reader_column(&csv->reader))
		if (csv_wanted(csv))
			return true;
	return false;
}

/* The first pass. */
static bool csv_gather(struct csv_table *csv)
{
	while (rows_reader_row(&csv->reader)) {
		while (csv_next_column(csv)) {
			/* Mostly the one behind the last. */
			bool known = csv->at + 1 < csv->count &&
				     csv_order(&csv->reader, &csv->columns[csv->at + 1]) == 0;

			if (known)
				csv->at++;
			else if (!csv_find(csv, &csv->at) && !csv_add(csv, csv->at))
				return false;
		}
	}
	csv->exit_code = csv->reader.exit_code;
	return csv->exit_code == PROGRAM_OK;
}

/* ---- Rows -------------------------------------------------------------------------------- */

static bool csv_header(struct csv_table *csv)
{
	for (size_t i = 0; i < csv->count; i++) {
		const struct csv_column *column = &csv->columns[i], *before = column - 1;
		bool same = i > 0 && csv_compare(column->names, column->family_len, before->names,
						 before->family_len) == 0;

		if (!csv_put(csv, ",") ||
		    (!same && !csv_write_bytes(csv, column->names, column->family_len)))
			return false;
	}
	if (!csv_put(csv, "\n"))
		return false;
	for (size_t i = 0; i < csv->count; i++) {
		const struct csv_column *column = &csv->columns[i];

		if (!csv_put(csv, ",") ||
		    !csv_name(csv, column->names + column->family_len, column->qualifier_len))
			return false;
	}
	return csv_put(csv, "\n");
}

/* Commas up to the field with this number; field 0 is the key's. */
static bool csv_commas(struct csv_table *csv, size_t field)
{
	for (; csv->at < field; csv->at++)
		if (!csv_put(csv, ","))
			return false;
	return true;
}

static bool csv_row(struct csv_table *csv)
{
	const struct rows_name *key = &csv->reader.key;
	size_t column;

	if (!csv_next_column(csv))
		return !csv->reader.exit_code; /* nothing in the families wanted */
	if (!csv_name(csv, key->bytes, key->len))
		return false;
	csv->at = 0;
	do {
		if (!csv_find(csv, &column))
			return csv_fail_cell(csv, "the column came while the table was read: try "
						  "again");
		if (!csv_commas(csv, column + 1) || !csv_value(csv))
			return false;
	} while (csv_next_column(csv));
	return csv_commas(csv, csv->count) && csv_put(csv, "\n");
}

static bool csv_rows(struct csv_table *csv)
{
	while (rows_reader_row(&csv->reader))
		if (!csv_row(csv))
			break;
	if (!csv->exit_code)
		csv->exit_code = csv->reader.exit_code;
	return csv->exit_code == PROGRAM_OK;
}

static bool csv_start(struct csv_table *csv, const struct wcs_table_schema *table,
		      const struct wcs_slice *key)
{
	rows_reader_init(&csv->reader, csv->rows);
	csv->at = 0;
	csv->exit_code = rows_start(csv->rows, table, key);
	return csv->exit_code == PROGRAM_OK;
}

int csv_write(struct rows *rows, const struct wcs_table_schema *table, const struct wcs_slice *key,
	      const struct csv_options *options, struct output *out)
{
	struct csv_table *csv = calloc(1, sizeof(*csv));
	int exit_code;

	if (!csv)
		return program_fail(out->program, "no memory");
	csv->rows = rows;
	csv->table = table;
	csv->options = options;
	csv->out = out;
	if (csv_start(csv, table, key) && csv_gather(csv) && csv->count > 0 && csv_header(csv) &&
	    csv_start(csv, table, key))
		csv_rows(csv);
	exit_code = csv->exit_code;
	for (size_t i = 0; i < csv->count; i++)
		free(csv->columns[i].names);
	free(csv->columns);
	free(csv);
	return exit_code;
}
