/* SPDX-License-Identifier: MIT */
/*
 * Makes rows of records of CSV. Empty fields are no cells, and a record without cells is no row.
 * The cells of a row are sorted, as those of a scan. A header without columns is empty lines.
 */
#include "mkfs/text/csv_rows.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/keys/keys.h"
#include "store/rows.h"

struct csv_column {
	char family[WCS_FAMILY_NAME_MAX + 1];
	struct wcs_slice qualifier; /* owned */
	size_t field;		    /* of each record */
};

void csv_rows_open(struct csv_rows *rows, const struct csv_rows_options *options)
{
	*rows = (struct csv_rows){.options = *options,
				  .csv = {.max = WCS_IMPORT_LINE_MAX,
					  .separator = options->separator,
					  .place = {1, 1}}};
}

void csv_rows_close(struct csv_rows *rows)
{
	for (size_t i = 0; i < rows->column_count; i++)
		free((void *)(uintptr_t)rows->columns[i].qualifier.data);
	free(rows->columns);
	free(rows->cells);
	free(rows->csv.bytes);
	free(rows->csv.fields);
}

__attribute__((format(printf, 4, 5))) static int
csv_rows_fail(struct csv_rows *rows, int rc, struct csv_place at, const char *format, ...)
{
	va_list args;

	rows->wrong = at;
	va_start(args, format);
	vsnprintf(rows->why, sizeof(rows->why), format, args);
	va_end(args);
	return rc;
}

static int csv_rows_no_memory(struct csv_rows *rows)
{
	return csv_rows_fail(rows, -ENOMEM, rows->csv.place, "no memory");
}

/* ---- Headers ----------------------------------------------------------------------------- */

static const char *csv_rows_field(const struct csv_rows *rows, size_t i)
{
	return rows->csv.bytes + rows->csv.fields[i].start;
}

static int csv_rows_family(struct csv_rows *rows, size_t i, const char *name, size_t len)
{
	struct csv_place at = rows->csv.fields[i].place;
	char *family = rows->columns[i].family;
	int rc;

	if (len <= WCS_FAMILY_NAME_MAX)
		memcpy(family, name, len);
	if (strlen(family) != len || !wcs_family_name_valid(family))
		return csv_rows_fail(rows, -EINVAL, at,
				     "a family's name is 1 to 64 of -_.a-zA-Z0-9");
	rc = rows->options.create ? 0 : rows->options.has_family(rows->options.ctx, family);
	return rc == 0 ? 0 : csv_rows_fail(rows, rc, at, "%s", "");
}

static int csv_rows_qualifier(struct csv_rows *rows, struct csv_column *column)
{
	const struct csv_field *field = &rows->csv.fields[column->field];
	void *bytes;

	if (field->len > WCS_QUALIFIER_MAX)
		return csv_rows_fail(rows, -ENAMETOOLONG, field->place,
				     "a qualifier has at most %u bytes", WCS_QUALIFIER_MAX);
	if (field->len == 0 && rows->options.key)
		return csv_rows_fail(rows, -EINVAL, field->place, "the column has no name");
	bytes = malloc(field->len + 1);
	if (!bytes)
		return csv_rows_no_memory(rows);
	memcpy(bytes, csv_rows_field(rows, column->field), field->len);
	column->qualifier = (struct wcs_slice){bytes, field->len};
	return 0;
}

static int csv_rows_compare(const void *left, const void *right)
{
	const struct csv_column *a = left, *b = right;
	int order = strcmp(a->family, b->family);

	return order ? order : wcs_slice_compare(a->qualifier, b->qualifier);
}

/* Sorts the columns of cells by family, then qualifier. None may stand in the headers twice. */
static int csv_rows_sort(struct csv_rows *rows)
{
	struct csv_column *columns = rows->columns;

	qsort(columns + 1, rows->column_count - 1, sizeof(*columns), csv_rows_compare);
	for (size_t i = 2; i < rows->column_count; i++) {
		size_t a = columns[i - 1].field, b = columns[i].field;

		if (csv_rows_compare(&columns[i - 1], &columns[i]) == 0)
			return csv_rows_fail(rows, -EINVAL, rows->csv.fields[a > b ? a : b].place,
					     "this column of family %s is there twice",
					     columns[i].family);
	}
	return 0;
}

/* The column of the keys becomes the first, the others keep their order. */
static int csv_rows_find_key(struct csv_rows *rows)
{
	const char *name = rows->options.key;
	size_t found = SIZE_MAX;

	for (size_t i = 0; i < rows->column_count; i++) {
		const struct csv_field *field = &rows->csv.fields[i];

		if (field->len != strlen(name) ||
		    memcmp(csv_rows_field(rows, i), name, field->len) != 0)
			continue;
		if (found != SIZE_MAX)
			return csv_rows_fail(rows, -EINVAL, field->place,
					     "the column %.64s is there twice", name);
		found = i;
	}
	if (found == SIZE_MAX)
		return csv_rows_fail(rows, -EINVAL, rows->csv.fields[0].place,
				     "the header has no column %.64s", name);
	for (size_t i = found; i > 0; i--)
		rows->columns[i].field = i - 1;
	rows->columns[0].field = found;
	return 0;
}

/* Reads the row of families, or else that of qualifiers. */
static int csv_rows_names(struct csv_rows *rows, bool families)
{
	const char *family = rows->options.family;
	const char *what = families ? "families" : "columns";
	const struct csv_field *fields = rows->csv.fields;
	int rc = 0;

	if (fields[0].len > 0 && !rows->options.key)
		return csv_rows_fail(rows, -EINVAL, fields[0].place,
				     "the first field of the %s must be empty: below it are the "
				     "row keys; for a header that names all columns, add "
				     "--key COLUMN --family F",
				     what);
	if (rows->csv.count < 2)
		return csv_rows_fail(rows, -EINVAL, fields[0].place,
				     "the %s have no field behind the first", what);
	if (fields[1].len == 0 && !rows->options.key)
		return csv_rows_fail(rows, -EINVAL, fields[1].place,
				     "the second field of the %s must not be empty", what);
	if (!families && rows->options.key)
		rc = csv_rows_find_key(rows);
	if (rc == 0 && family)
		rc = csv_rows_family(rows, 1, family, strlen(family));
	for (size_t i = 1; i < rows->column_count && rc == 0; i++) {
		size_t len = fields[i].len;

		if (families && len > 0)
			rc = csv_rows_family(rows, i, csv_rows_field(rows, i), len);
		else if (families || (family && i > 1))
			strcpy(rows->columns[i].family, rows->columns[i - 1].family);
		if (!families && rc == 0)
			rc = csv_rows_qualifier(rows, &rows->columns[i]);
	}
	return rc == 0 && !families ? csv_rows_sort(rows) : rc;
}

static int csv_rows_header(struct csv_rows *rows)
{
	const struct csv_field *field = &rows->csv.fields[0];
	bool families = !rows->columns && !rows->options.family;
	int rc;

	if (!rows->columns) {
		rows->columns = calloc(rows->csv.count, sizeof(*rows->columns));
		rows->cells = calloc(rows->csv.count, sizeof(*rows->cells));
		if (!rows->columns || !rows->cells)
			return csv_rows_no_memory(rows);
		rows->column_count = rows->csv.count;
		for (size_t i = 0; i < rows->column_count; i++)
			rows->columns[i].field = i;
	}
	if (rows->csv.count != rows->column_count)
		return csv_rows_fail(rows, -EINVAL, field->place,
				     "%zu field%s, but the row before has %zu", rows->csv.count,
				     rows->csv.count == 1 ? "" : "s", rows->column_count);
	rc = csv_rows_names(rows, families);
	if (rc == 0 && !families) {
		rows->body = rows->csv.place.line;
		rc = rows->options.begin(rows->options.ctx, field->place.line, &rows->keys);
	}
	return rc;
}

/* ---- Rows -------------------------------------------------------------------------------- */

/* The timestamp behind the last '@' of the field, and *len without it. WCS_TS_SERVER: none, then
 * all of the field is its value. */
static int64_t csv_rows_ts(const char *text, size_t *len)
{
	size_t at = *len;
	int64_t ts = 0;

	while (at > 0 && text[at - 1] >= '0' && text[at - 1] <= '9')
		at--;
	if (at == 0 || at == *len || text[at - 1] != '@')
		return WCS_TS_SERVER;
	if (wcs_integer_parse(text + at, *len - at, &ts))
		return WCS_TS_SERVER;
	*len = at - 1;
	return ts;
}

/* Adds a cell of a field that is not empty. */
static int csv_rows_cell(struct csv_rows *rows, const struct csv_column *column,
			 struct csv_row *row)
{
	const struct csv_field *field = &rows->csv.fields[column->field];
	const char *bytes = csv_rows_field(rows, column->field);
	struct wcs_cell *cell = &rows->cells[row->count];
	struct wcs_slice family = {column->family, strlen(column->family)};
	int64_t ts = WCS_TS_SERVER;
	size_t len = field->len;

	if (rows->options.timestamps)
		ts = csv_rows_ts(bytes, &len);
	if (len > WCS_VALUE_MAX)
		return csv_rows_fail(rows, -EFBIG, field->place, "a value has at most %u bytes",
				     WCS_VALUE_MAX);
	*cell = (struct wcs_cell){.differs = WCS_PART_ROW,
				  .row = row->key,
				  .family = family,
				  .qualifier = column->qualifier,
				  .info = {.ts = ts, .size = len},
				  .value = {bytes, len}};
	if (row->count++ > 0)
		cell->differs = strcmp(cell[-1].family.data, family.data) == 0 ? WCS_PART_QUALIFIER
									       : WCS_PART_FAMILY;
	return 0;
}

static int csv_rows_row(struct csv_rows *rows)
{
	const struct csv_field *fields = rows->csv.fields, *key = &fields[rows->columns[0].field];
	struct csv_row row = {.key = {rows->csv.bytes + key->start, key->len},
			      .cells = rows->cells,
			      .line = fields[0].place.line};
	struct wcs_fault fault = {0};
	int rc = 0;

	if (rows->csv.count != rows->column_count)
		return csv_rows_fail(rows, -EINVAL, fields[0].place,
				     "%zu field%s, but the header has %zu", rows->csv.count,
				     rows->csv.count == 1 ? "" : "s", rows->column_count);
	if (key->len == 0)
		return csv_rows_fail(rows, -EINVAL, key->place, "the row has no key");
	if (rows->keys) {
		rc = wcs_keys_parse(rows->keys, 0, row.key, NULL, rows->key, &row.key.len, &fault);
		row.key.data = rows->key;
	}
	if (rc == -EINVAL)
		return csv_rows_fail(rows, rc, key->place, "%s", fault.text);
	if (rc != 0 || row.key.len > WCS_ROW_KEY_MAX)
		return csv_rows_fail(rows, -ENAMETOOLONG, key->place,
				     "a row key has at most %u bytes", WCS_ROW_KEY_MAX);
	for (size_t i = 1; i < rows->column_count && rc == 0; i++)
		if (fields[rows->columns[i].field].len > 0)
			rc = csv_rows_cell(rows, &rows->columns[i], &row);
	return rc == 0 && row.count > 0 ? rows->options.row(rows->options.ctx, &row) : rc;
}

/* ---- Records ----------------------------------------------------------------------------- */

/* more: as csv_read and csv_end returned it. */
static int csv_rows_take(struct csv_rows *rows, int more)
{
	if (more < 0)
		return csv_rows_fail(rows, more, rows->csv.wrong, "%s", rows->csv.why);
	if (more == 0)
		return 0;
	return rows->body ? csv_rows_row(rows) : csv_rows_header(rows);
}

int csv_rows_read(struct csv_rows *rows, const char *text, size_t len)
{
	size_t used;
	int rc = 0;

	for (; len > 0 && rc == 0; text += used, len -= used)
		rc = csv_rows_take(rows, csv_read(&rows->csv, text, len, &used));
	return rc;
}

int csv_rows_end(struct csv_rows *rows)
{
	int rc = csv_rows_take(rows, csv_end(&rows->csv));

	if (rc == 0 && !rows->columns && rows->csv.place.line > 1)
		return rows->options.begin(rows->options.ctx, 1,
					   &rows->keys); /* of a table without cells */
	if (rc == 0 && !rows->body)
		rc = csv_rows_fail(rows, -EINVAL, rows->csv.place,
				   "the file ends before its columns are named");
	return rc;
}
