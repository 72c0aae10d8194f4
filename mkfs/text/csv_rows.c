/* SPDX-License-Identifier: MIT */
/*
 * Makes rows of records of CSV. Null fields are no cells, and a record without cells is no row.
 * The cells of a row are sorted, as those of a scan. A header without columns is empty lines.
 */
#include "mkfs/text/csv_rows.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/grow.h"
#include "lib/system/message.h"
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
				  .key_count = 1,
				  .delimiter = WCS_DELIMITER_DEFAULT,
				  .csv = {.max = WCS_IMPORT_LINE_MAX,
					  .separator = options->separator,
					  .escape = options->escape,
					  .literal = options->literal,
					  .place = {1, 1}}};
}

void csv_rows_close(struct csv_rows *rows)
{
	for (size_t i = 0; i < rows->column_count; i++)
		free((void *)(uintptr_t)rows->columns[i].qualifier.data);
	free(rows->columns);
	free(rows->cells);
	free(rows->joined.bytes);
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

static struct wcs_slice csv_rows_field(const struct csv_rows *rows, size_t i)
{
	const struct csv_field *field = &rows->csv.fields[i];

	return (struct wcs_slice){rows->csv.bytes + field->start, field->len};
}

static int csv_rows_family(struct csv_rows *rows, struct csv_column *column, struct wcs_slice name)
{
	struct csv_place at = rows->csv.fields[column->field].place;
	char *family = column->family;
	int rc;

	if (name.len <= WCS_FAMILY_NAME_MAX)
		memcpy(family, name.data, name.len);
	if (strlen(family) != name.len || !wcs_family_name_valid(family))
		return csv_rows_fail(rows, -EINVAL, at,
				     "a family's name is 1 to 64 of -_.a-zA-Z0-9");
	rc = rows->options.create ? 0 : rows->options.has_family(rows->options.ctx, family);
	return rc == 0 ? 0 : csv_rows_fail(rows, rc, at, "%s", "");
}

static int csv_rows_qualifier(struct csv_rows *rows, struct csv_column *column,
			      struct wcs_slice name)
{
	struct csv_place at = rows->csv.fields[column->field].place;
	void *bytes;

	if (name.len > WCS_QUALIFIER_MAX)
		return csv_rows_fail(rows, -ENAMETOOLONG, at, "a qualifier has at most %u bytes",
				     WCS_QUALIFIER_MAX);
	if (name.len == 0 && rows->options.key)
		return csv_rows_fail(rows, -EINVAL, at, "the column has no name");
	bytes = malloc(name.len + 1);
	if (!bytes)
		return csv_rows_no_memory(rows);
	memcpy(bytes, name.data, name.len);
	column->qualifier = (struct wcs_slice){bytes, name.len};
	return 0;
}

/* Reads the name of a column, family:qualifier. */
static int csv_rows_both(struct csv_rows *rows, struct csv_column *column)
{
	struct wcs_slice name = csv_rows_field(rows, column->field), family = name;
	const char *colon = memchr(name.data, ':', name.len);
	int rc;

	if (!colon)
		return csv_rows_fail(rows, -EINVAL, rows->csv.fields[column->field].place,
				     "the column %.*s is of no family: it is family:column, or "
				     "--family F is that of all columns",
				     name.len < 64 ? (int)name.len : 64, (const char *)name.data);
	family.len = (size_t)(colon - (const char *)name.data);
	rc = csv_rows_family(rows, column, family);
	return rc ? rc
		  : csv_rows_qualifier(rows, column,
				       (struct wcs_slice){colon + 1, name.len - family.len - 1});
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
	size_t first = rows->key_count;

	qsort(columns + first, rows->column_count - first, sizeof(*columns), csv_rows_compare);
	for (size_t i = first + 1; i < rows->column_count; i++) {
		size_t a = columns[i - 1].field, b = columns[i].field;

		if (csv_rows_compare(&columns[i - 1], &columns[i]) == 0)
			return csv_rows_fail(rows, -EINVAL, rows->csv.fields[a > b ? a : b].place,
					     "this column of family %s is there twice",
					     columns[i].family);
	}
	return 0;
}

/* The header has no column of that name: lists those that it has, as many as fit. */
static int csv_rows_unknown(struct csv_rows *rows, struct wcs_slice name)
{
	int rc = csv_rows_fail(rows, -EINVAL, rows->csv.fields[0].place,
			       name.len > 0
				       ? "the header has no column %.*s; it has"
				       : "--key has a column without a name%.*s; the header has",
			       name.len < 64 ? (int)name.len : 64, (const char *)name.data);
	size_t used = strlen(rows->why);

	for (size_t i = 0; i < rows->csv.count && used < sizeof(rows->why); i++)
		used += (size_t)snprintf(rows->why + used, sizeof(rows->why) - used, "%s %.*s",
					 i > 0 ? "," : "", (int)rows->csv.fields[i].len,
					 rows->csv.bytes + rows->csv.fields[i].start);
	return rc;
}

/* Finds the field of the header that has that name, the one of the key that is at `at`. */
static int csv_rows_find(struct csv_rows *rows, struct wcs_slice name, size_t at)
{
	int len = name.len < 64 ? (int)name.len : 64;
	size_t found = SIZE_MAX;

	for (size_t i = 0; i < rows->csv.count; i++) {
		if (wcs_slice_compare(csv_rows_field(rows, i), name) != 0)
			continue;
		for (size_t k = 0; k < at; k++)
			if (rows->columns[k].field == i)
				found = i;
		if (found != SIZE_MAX)
			return csv_rows_fail(rows, -EINVAL, rows->csv.fields[i].place,
					     "the column %.*s is there twice", len,
					     (const char *)name.data);
		found = i;
	}
	if (found == SIZE_MAX)
		return csv_rows_unknown(rows, name);
	rows->columns[at].field = found;
	return 0;
}

/* The columns of the key become the first, in its order; the others keep theirs. */
static int csv_rows_find_key(struct csv_rows *rows, const struct csv *names)
{
	size_t next = names->count;
	int rc = 0;

	if (next > rows->column_count)
		return csv_rows_fail(rows, -EINVAL, rows->csv.fields[0].place,
				     "the key has %zu columns, the header %zu", next,
				     rows->column_count);
	for (size_t i = 0; i < next && rc == 0; i++)
		rc = csv_rows_find(rows,
				   (struct wcs_slice){names->bytes + names->fields[i].start,
						      names->fields[i].len},
				   i);
	for (size_t i = 0; i < rows->column_count && rc == 0; i++) {
		bool key = false;

		for (size_t k = 0; k < names->count; k++)
			key = key || rows->columns[k].field == i;
		if (!key)
			rows->columns[next++].field = i;
	}
	rows->key_count = names->count;
	return rc;
}

static int csv_rows_key(struct csv_rows *rows)
{
	const char *key = rows->options.key;
	struct csv names = {.max = WCS_IMPORT_LINE_MAX, .separator = ',', .place = {1, 1}};
	int more = csv_read(&names, key, strlen(key), &(size_t){0});
	int rc;

	if (more == 0)
		more = csv_end(&names);
	rc = more > 0 ? csv_rows_find_key(rows, &names)
		      : csv_rows_fail(rows, -EINVAL, rows->csv.fields[0].place, "--key '%.64s': %s",
				      key, more < 0 ? names.why : "names no column");
	free(names.bytes);
	free(names.fields);
	return rc;
}

/* The header has one field: that of the keys alone is one of a table without cells. */
static int csv_rows_alone(struct csv_rows *rows, const char *what)
{
	struct wcs_slice field = csv_rows_field(rows, 0);
	struct csv_place at = rows->csv.fields[0].place;

	for (const char *other = ";|,"; *other; other++)
		if (memchr(field.data, *other, field.len))
			return csv_rows_fail(rows, -EINVAL, at,
					     "the %s have no field behind the first: is '%c' "
					     "between the fields (--delimiter '%c')?",
					     what, *other, *other);
	if (memchr(field.data, '\t', field.len))
		return csv_rows_fail(rows, -EINVAL, at,
				     "the %s have no field behind the first: is a tab between the "
				     "fields (--tsv)?",
				     what);
	return rows->options.key ? 0
				 : csv_rows_fail(rows, -EINVAL, at,
						 "the %s have no field behind the first", what);
}

/* Reads the row of families, or else that of qualifiers. */
static int csv_rows_names(struct csv_rows *rows, bool families)
{
	const char *family = rows->options.family;
	const char *what = families ? "families" : "columns";
	const struct csv_field *fields = rows->csv.fields;
	bool ordinary = rows->options.key != NULL, both = ordinary && !family;
	int rc = 0;

	if (fields[0].len > 0 && !ordinary)
		return csv_rows_fail(rows, -EINVAL, fields[0].place,
				     "the first field of the %s must be empty: below it are the "
				     "row keys; for a header that names all columns, add "
				     "--key COLUMN --family F",
				     what);
	if (rows->csv.count < 2)
		rc = csv_rows_alone(rows, what);
	else if (fields[1].len == 0 && !ordinary)
		return csv_rows_fail(rows, -EINVAL, fields[1].place,
				     "the second field of the %s must not be empty", what);
	if (ordinary && rc == 0)
		rc = csv_rows_key(rows);
	for (size_t i = rows->key_count; i < rows->column_count && rc == 0; i++) {
		struct csv_column *column = &rows->columns[i];
		struct wcs_slice name = csv_rows_field(rows, column->field);

		if (both)
			rc = csv_rows_both(rows, column);
		else if (family && i == rows->key_count)
			rc = csv_rows_family(rows, column,
					     (struct wcs_slice){family, strlen(family)});
		else if (families && name.len > 0)
			rc = csv_rows_family(rows, column, name);
		else if (families || family)
			strcpy(column->family, column[-1].family);
		if (!families && !both && rc == 0)
			rc = csv_rows_qualifier(rows, column, name);
	}
	return rc == 0 && !families ? csv_rows_sort(rows) : rc;
}

/* Adds a cell to the row. */
static void csv_rows_put(struct csv_rows *rows, const struct csv_column *column, int64_t ts,
			 struct wcs_slice value, struct csv_row *row)
{
	struct wcs_cell *cell = &rows->cells[row->count];
	struct wcs_slice family = {column->family, strlen(column->family)};

	*cell = (struct wcs_cell){.differs = WCS_PART_ROW,
				  .row = row->key,
				  .family = family,
				  .qualifier = column->qualifier,
				  .info = {.ts = ts, .size = value.len},
				  .value = value};
	if (row->count++ > 0)
		cell->differs = strcmp(cell[-1].family.data, family.data) == 0 ? WCS_PART_QUALIFIER
									       : WCS_PART_FAMILY;
}

static int csv_rows_begin(struct csv_rows *rows, uint64_t line)
{
	struct csv_row header = {.cells = rows->cells, .line = line};

	for (size_t i = rows->key_count; i < rows->column_count; i++)
		csv_rows_put(rows, &rows->columns[i], 0, (struct wcs_slice){"", 0}, &header);
	return rows->options.begin(rows->options.ctx, &header, &rows->keys, &rows->delimiter);
}

static int csv_rows_header(struct csv_rows *rows)
{
	const struct csv_field *field = &rows->csv.fields[0];
	bool families = !rows->columns && !rows->options.family && !rows->options.key;
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
				     message_plural(rows->csv.count), rows->column_count);
	rc = csv_rows_names(rows, families);
	if (rc == 0 && !families) {
		rows->body = rows->csv.place.line;
		rc = csv_rows_begin(rows, field->place.line);
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

/* Does the field stand for no cell? */
static bool csv_rows_is_null(const struct csv_rows *rows, size_t i)
{
	const char *null = rows->options.null;
	struct wcs_slice field;

	if (!null || rows->csv.fields[i].null)
		return rows->csv.fields[i].len == 0;
	field = csv_rows_field(rows, i);
	return !rows->csv.fields[i].quoted && field.len == strlen(null) &&
	       memcmp(field.data, null, field.len) == 0;
}

/* Adds a cell of a field that is not null. */
static int csv_rows_cell(struct csv_rows *rows, const struct csv_column *column,
			 struct csv_row *row)
{
	struct wcs_slice value = csv_rows_field(rows, column->field);
	int64_t ts = WCS_TS_SERVER;

	if (rows->options.timestamps)
		ts = csv_rows_ts(value.data, &value.len);
	if (value.len > WCS_VALUE_MAX)
		return csv_rows_fail(rows, -EFBIG, rows->csv.fields[column->field].place,
				     "a value has at most %u bytes", WCS_VALUE_MAX);
	csv_rows_put(rows, column, ts, value, row);
	return 0;
}

/* Joins the segments of the key to rows->joined. */
static int csv_rows_join(struct csv_rows *rows)
{
	struct wcs_text *joined = &rows->joined;

	joined->len = 0;
	for (size_t i = 0; i < rows->key_count; i++) {
		struct wcs_slice segment = csv_rows_field(rows, rows->columns[i].field);
		struct csv_place at = rows->csv.fields[rows->columns[i].field].place;

		if (segment.len == 0 || csv_rows_is_null(rows, rows->columns[i].field))
			return csv_rows_fail(rows, -EINVAL, at, "a column of the key is empty");
		if (memchr(segment.data, rows->delimiter, segment.len))
			return csv_rows_fail(rows, -EINVAL, at,
					     "a column of the key has the delimiter %c",
					     rows->delimiter);
		if (grow(&joined->bytes, &joined->room, joined->len + segment.len + 1, 256, 1))
			return csv_rows_no_memory(rows);
		if (i > 0)
			joined->bytes[joined->len++] = (char)rows->delimiter;
		memcpy(joined->bytes + joined->len, segment.data, segment.len);
		joined->len += segment.len;
	}
	return 0;
}

static int csv_rows_row(struct csv_rows *rows)
{
	const struct csv_field *fields = rows->csv.fields, *key = &fields[rows->columns[0].field];
	struct csv_row row = {.key = csv_rows_field(rows, rows->columns[0].field),
			      .cells = rows->cells,
			      .line = fields[0].place.line};
	struct wcs_fault fault = {0};
	int rc = 0;

	if (rows->csv.count != rows->column_count)
		return csv_rows_fail(rows, -EINVAL, fields[0].place,
				     "%zu field%s, but the header has %zu", rows->csv.count,
				     message_plural(rows->csv.count), rows->column_count);
	if (rows->key_count == rows->column_count)
		return csv_rows_fail(rows, -EINVAL, fields[0].place,
				     "a row, but all columns of the header are of the key");
	if (rows->key_count > 1) {
		rc = csv_rows_join(rows);
		row.key = (struct wcs_slice){rows->joined.bytes, rows->joined.len};
	} else if (row.key.len == 0 || csv_rows_is_null(rows, rows->columns[0].field)) {
		rc = csv_rows_fail(rows, -EINVAL, key->place, "the row has no key");
	}
	if (rc != 0)
		return rc;
	if (rows->keys) {
		rc = wcs_keys_parse(rows->keys, 0, row.key, NULL, rows->key, &row.key.len, &fault);
		row.key.data = rows->key;
	}
	if (rc == -EINVAL)
		return csv_rows_fail(rows, rc, key->place, "%s", fault.text);
	if (rc != 0 || row.key.len > WCS_ROW_KEY_MAX)
		return csv_rows_fail(rows, -ENAMETOOLONG, key->place,
				     "a row key has at most %u bytes", WCS_ROW_KEY_MAX);
	for (size_t i = rows->key_count; i < rows->column_count && rc == 0; i++)
		if (!csv_rows_is_null(rows, rows->columns[i].field))
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
		return csv_rows_begin(rows, 1); /* of a table without cells */
	if (rc == 0 && !rows->body)
		rc = csv_rows_fail(rows, -EINVAL, rows->csv.place,
				   "the file ends before its columns are named");
	return rc;
}
