/* SPDX-License-Identifier: MIT */
/*
 * Tables as CSV. The first pass over the rows gathers the columns, in the order of the cells of a
 * row; only these are in memory. The second pass writes the rows. After a failed write, `out`
 * ignores the rest.
 */
#include "mkfs/text/csv_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/grow.h"
#include "mkfs/text/rows_reader.h"

struct csv_table {
	const struct csv_options *options;
	const struct wcs_table_schema *table;
	struct output *out;
	struct rows *rows;
	struct rows_reader reader;
	struct wcs_slice *columns; /* as rows_reader.h spells them */
	size_t count, room;
	size_t at; /* the present or last column of the row */
	int exit_code;
	unsigned char value[64u << 10];
};

static bool csv_fail(struct csv_table *csv, const char *why)
{
	csv->exit_code = rows_fail(csv->rows, why);
	return false;
}

/* Names the present cell before the reason. */
static bool csv_fail_cell(struct csv_table *csv, const char *why)
{
	const struct rows_name *row = &csv->reader.key, *column = &csv->reader.column;
	size_t family = csv->reader.family_len;
	char *key = wcs_text_encode((struct wcs_slice){row->bytes, row->len});
	char *qualifier =
		wcs_text_encode((struct wcs_slice){column->bytes + family, column->len - family});
	char *text = NULL;

	if (!key || !qualifier ||
	    asprintf(&text, "row %s, column %s:%s: %s", key, (const char *)column->bytes, qualifier,
		     why) < 0)
		text = NULL;
	csv_fail(csv, text ? text : why);
	free(text);
	free(qualifier);
	free(key);
	return false;
}

/* ---- Fields ------------------------------------------------------------------------------ */

static bool csv_needs_quotes(const unsigned char *bytes, size_t len)
{
	for (const char *special = ",\"\n\r"; len > 0 && *special; special++)
		if (memchr(bytes, *special, len))
			return true;
	return false;
}

/* Writes bytes within quotes. */
static void csv_quoted(struct csv_table *csv, const unsigned char *bytes, size_t len)
{
	const unsigned char *quote;

	while (len > 0 && (quote = memchr(bytes, '"', len))) {
		size_t some = (size_t)(quote + 1 - bytes);

		output_write(csv->out, bytes, some);
		output_text(csv->out, "\"");
		bytes += some;
		len -= some;
	}
	output_write(csv->out, bytes, len);
}

static void csv_name(struct csv_table *csv, const unsigned char *bytes, size_t len)
{
	if (!csv_needs_quotes(bytes, len)) {
		output_write(csv->out, bytes, len);
		return;
	}
	output_text(csv->out, "\"");
	csv_quoted(csv, bytes, len);
	output_text(csv->out, "\"");
}

static bool csv_value(struct csv_table *csv)
{
	size_t len = rows_reader_value(&csv->reader, csv->value, sizeof(csv->value));
	bool more = csv->reader.value != ROWS_VALUE_NONE;
	bool quotes = more || csv_needs_quotes(csv->value, len);

	if (len == 0 && !csv->reader.exit_code && !csv->options->timestamps)
		return csv_fail_cell(csv, "an empty value: only with --timestamps can CSV have it");
	if (quotes)
		output_text(csv->out, "\"");
	while (len > 0 && !csv->out->failed) {
		if (quotes)
			csv_quoted(csv, csv->value, len);
		else
			output_write(csv->out, csv->value, len);
		len = more ? rows_reader_value(&csv->reader, csv->value, sizeof(csv->value)) : 0;
	}
	if (csv->options->timestamps) {
		output_text(csv->out, "@");
		output_text(csv->out, csv->reader.ts);
	}
	if (quotes)
		output_text(csv->out, "\"");
	return !csv->out->failed;
}

/* ---- Columns ----------------------------------------------------------------------------- */

/* Compares the reader's column to the gathered one of that number. */
static int csv_order(const struct csv_table *csv, size_t at)
{
	const struct rows_name *name = &csv->reader.column;
	struct wcs_slice column = csv->columns[at];
	int order =
		memcmp(name->bytes, column.data, name->len < column.len ? name->len : column.len);

	return order ? order : (name->len > column.len) - (name->len < column.len);
}

/* Finds the reader's column, or its place. */
static bool csv_find(const struct csv_table *csv, size_t *at)
{
	size_t high = csv->count;
	int order = 1;

	*at = 0;
	while (*at < high && order) {
		size_t middle = (*at + high) / 2;

		order = csv_order(csv, middle);
		if (order < 0)
			high = middle;
		else
			*at = middle + (order > 0);
	}
	return order == 0;
}

static bool csv_add(struct csv_table *csv, size_t at)
{
	const struct rows_name *name = &csv->reader.column;
	const struct wcs_family *family =
		rows_family(csv->table, name->bytes, csv->reader.family_len - 1);
	void *column = NULL;

	if (name->len == csv->reader.family_len)
		return csv_fail_cell(csv, "a column without a name, which CSV cannot have");
	if (family && family->type == WCS_INTHLL)
		return csv_fail_cell(csv, "an inthll, whose state CSV cannot have: take other "
					  "families (--family), or JSON");
	if (grow(&csv->columns, &csv->room, csv->count + 1, 64, sizeof(*csv->columns)) == 0)
		column = malloc(name->len);
	if (!column)
		return csv_fail(csv, "no memory");
	memcpy(column, name->bytes, name->len);
	memmove(csv->columns + at + 1, csv->columns + at,
		(csv->count - at) * sizeof(*csv->columns));
	csv->columns[at] = (struct wcs_slice){column, name->len};
	csv->count++;
	return true;
}

/* Goes to the next column of the families wanted. */
static bool csv_next_column(struct csv_table *csv)
{
	const char *wanted = csv->options->family;

	while (rows_reader_column(&csv->reader))
		if (!wanted || strcmp(wanted, (const char *)csv->reader.column.bytes) == 0)
			return true;
	return false;
}

/* The first pass. */
static bool csv_gather(struct csv_table *csv)
{
	while (rows_reader_row(&csv->reader)) {
		while (csv_next_column(csv)) {
			/* Usually the column after the last one. */
			if (csv->at + 1 < csv->count && csv_order(csv, csv->at + 1) == 0)
				csv->at++;
			else if (!csv_find(csv, &csv->at) && !csv_add(csv, csv->at))
				return false;
		}
	}
	csv->exit_code = csv->reader.exit_code;
	return csv->exit_code == PROGRAM_OK;
}

/* ---- Rows -------------------------------------------------------------------------------- */

static void csv_header(struct csv_table *csv)
{
	for (size_t i = 0; i < csv->count; i++) {
		const char *family = csv->columns[i].data;

		output_text(csv->out, ",");
		if (i == 0 || strcmp(family, csv->columns[i - 1].data) != 0)
			output_text(csv->out, family);
	}
	output_text(csv->out, "\n");
	for (size_t i = 0; i < csv->count; i++) {
		const unsigned char *column = csv->columns[i].data;
		size_t family = strlen((const char *)column) + 1;

		output_text(csv->out, ",");
		csv_name(csv, column + family, csv->columns[i].len - family);
	}
	output_text(csv->out, "\n");
}

/* Writes commas up to the field of that number; field 0 is the key's. */
static void csv_commas(struct csv_table *csv, size_t field)
{
	for (; csv->at < field; csv->at++)
		output_text(csv->out, ",");
}

static bool csv_row(struct csv_table *csv)
{
	const struct rows_name *key = &csv->reader.key;
	size_t column;

	if (!csv_next_column(csv))
		return !csv->reader.exit_code; /* no cell in the families wanted */
	csv_name(csv, key->bytes, key->len);
	csv->at = 0;
	do {
		if (!csv_find(csv, &column))
			return csv_fail_cell(csv, "the column came while the table was read: try "
						  "again");
		csv_commas(csv, column + 1);
		if (!csv_value(csv))
			return false;
	} while (csv_next_column(csv));
	csv_commas(csv, csv->count);
	output_text(csv->out, "\n");
	return !csv->out->failed;
}

static bool csv_start(struct csv_table *csv, const struct wcs_table_schema *table,
		      const struct wcs_slice *key)
{
	csv->reader = (struct rows_reader){.rows = csv->rows};
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
	if (csv_start(csv, table, key) && csv_gather(csv) && csv->count > 0) {
		csv_header(csv);
		if (csv_start(csv, table, key))
			while (rows_reader_row(&csv->reader) && csv_row(csv))
				;
		if (!csv->exit_code)
			csv->exit_code = csv->reader.exit_code;
	}
	exit_code = csv->exit_code;
	for (size_t i = 0; i < csv->count; i++)
		free((void *)(uintptr_t)csv->columns[i].data);
	free(csv->columns);
	free(csv);
	return exit_code;
}
