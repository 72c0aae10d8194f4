/* SPDX-License-Identifier: MIT */
/*
 * From records of CSV to lines of row JSON. Empty fields are no cells, and a row without one is no
 * line. Bytes that JSON text cannot hold as they are go as base64 (values) and %XX (keys, columns).
 */
#include "mkfs/text/csv_rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/store.h"

#define CSV_ROWS_BOM "\xef\xbb\xbf"

struct csv_column {
	char *family;	 /* NULL: that of the column before, until all headers are read */
	char *qualifier; /* as JSON text, with quotes */
	size_t field;	 /* of each record */
};

void csv_rows_open(struct csv_rows *rows, const struct csv_rows_options *options)
{
	*rows = (struct csv_rows){.options = *options};
	csv_open(&rows->csv, WCS_IMPORT_LINE_MAX);
	rows->csv.separator = options->separator;
}

void csv_rows_close(struct csv_rows *rows)
{
	for (size_t i = 0; i < rows->column_count; i++) {
		free(rows->columns[i].family);
		free(rows->columns[i].qualifier);
	}
	free(rows->columns);
	free(rows->sorted);
	json_out_free(&rows->out);
	free(rows->origins);
	csv_close(&rows->csv);
}

__attribute__((format(printf, 4, 5))) static int
csv_rows_fail(struct csv_rows *rows, int error, struct csv_place at, const char *format, ...)
{
	va_list args;

	rows->wrong = at;
	va_start(args, format);
	vsnprintf(rows->why, sizeof(rows->why), format, args);
	va_end(args);
	return error;
}

/* ---- Lines ------------------------------------------------------------------------------- */

/* Room for what is put next. */
static int csv_rows_reserve(struct csv_rows *rows, size_t more)
{
	if (json_out_reserve(&rows->out, more) == 0)
		return 0;
	return csv_rows_fail(rows, -ENOMEM, rows->csv.place, "no memory");
}

/* Ends a line, which comes from that line of the CSV. */
static int csv_rows_line(struct csv_rows *rows, uint64_t origin)
{
	if (rows->lines == rows->lines_room) {
		size_t room = rows->lines_room ? rows->lines_room * 2 : 256;
		uint64_t *origins = realloc(rows->origins, room * sizeof(*origins));

		if (!origins)
			return csv_rows_fail(rows, -ENOMEM, rows->csv.place, "no memory");
		rows->origins = origins;
		rows->lines_room = room;
	}
	json_out_put(&rows->out, "\n");
	rows->origins[rows->lines++] = origin;
	return 0;
}

/* ---- Headers ----------------------------------------------------------------------------- */

static const char *csv_rows_field(const struct csv_rows *rows, size_t i)
{
	return rows->csv.bytes + rows->csv.fields[i].start;
}

static int csv_rows_header_check(struct csv_rows *rows, const char *what)
{
	const struct csv_field *fields = rows->csv.fields;

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
	return 0;
}

static int csv_rows_family(struct csv_rows *rows, size_t i, const char *name, size_t len)
{
	struct csv_place at = rows->csv.fields[i].place;
	char *family = strndup(name, len);
	int error;

	if (!family)
		return csv_rows_fail(rows, -ENOMEM, at, "no memory");
	rows->columns[i].family = family;
	if (strlen(family) != len || !wcs_family_name_valid(family))
		return csv_rows_fail(rows, -EINVAL, at,
				     "a family's name is 1 to 64 of -_.a-zA-Z0-9");
	error = rows->options.create ? 0 : rows->options.has_family(rows->options.ctx, family);
	if (!error)
		return 0;
	csv_rows_fail(rows, error, at, "%s", "");
	return error;
}

static int csv_rows_families(struct csv_rows *rows)
{
	int error = csv_rows_header_check(rows, "families");

	for (size_t i = 1; i < rows->column_count && !error; i++)
		if (rows->csv.fields[i].len > 0)
			error = csv_rows_family(rows, i, csv_rows_field(rows, i),
						rows->csv.fields[i].len);
	return error;
}

static int csv_rows_qualifier(struct csv_rows *rows, size_t i)
{
	const struct csv_field *field = &rows->csv.fields[rows->columns[i].field];
	size_t start = rows->out.len;
	int error = csv_rows_reserve(rows, 6 * field->len + 2);

	if (error)
		return error;
	if (field->len > WCS_QUALIFIER_MAX)
		return csv_rows_fail(rows, -ENAMETOOLONG, field->place,
				     "a qualifier has at most %u bytes", WCS_QUALIFIER_MAX);
	if (field->len == 0 && rows->options.key)
		return csv_rows_fail(rows, -EINVAL, field->place, "the column has no name");
	json_out_name(&rows->out, (unsigned char *)rows->csv.bytes + field->start, field->len);
	rows->columns[i].qualifier = strndup(rows->out.bytes + start, rows->out.len - start);
	rows->out.len = start;
	if (!rows->columns[i].qualifier)
		return csv_rows_fail(rows, -ENOMEM, field->place, "no memory");
	return 0;
}

static int csv_rows_compare(const void *left, const void *right)
{
	const struct csv_column *a = *(struct csv_column *const *)left;
	const struct csv_column *b = *(struct csv_column *const *)right;
	int order = strcmp(a->family, b->family);

	return order ? order : strcmp(a->qualifier, b->qualifier);
}

/* No column may stand in the headers twice. */
static int csv_rows_distinct(struct csv_rows *rows)
{
	size_t count = rows->column_count - 1;

	rows->sorted = calloc(count, sizeof(struct csv_column *));
	if (!rows->sorted)
		return csv_rows_fail(rows, -ENOMEM, rows->csv.place, "no memory");
	for (size_t i = 0; i < count; i++)
		rows->sorted[i] = &rows->columns[i + 1];
	qsort(rows->sorted, count, sizeof(struct csv_column *), csv_rows_compare);
	for (size_t i = 1; i < count; i++) {
		size_t a = rows->sorted[i - 1]->field, b = rows->sorted[i]->field;

		if (csv_rows_compare(&rows->sorted[i - 1], &rows->sorted[i]) == 0)
			return csv_rows_fail(rows, -EINVAL, rows->csv.fields[a > b ? a : b].place,
					     "this column of family %s is there twice",
					     rows->sorted[i]->family);
	}
	return 0;
}

static int csv_rows_carry(struct csv_rows *rows, size_t i)
{
	if (rows->columns[i].family)
		return 0;
	rows->columns[i].family = strdup(rows->columns[i - 1].family);
	if (!rows->columns[i].family)
		return csv_rows_fail(rows, -ENOMEM, rows->csv.place, "no memory");
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

static int csv_rows_qualifiers(struct csv_rows *rows)
{
	const char *family = rows->options.family;
	int error = csv_rows_header_check(rows, "columns");

	if (!error && rows->options.key)
		error = csv_rows_find_key(rows);
	if (!error && family)
		error = csv_rows_family(rows, 1, family, strlen(family));
	for (size_t i = 1; i < rows->column_count && !error; i++) {
		error = csv_rows_carry(rows, i);
		if (!error)
			error = csv_rows_qualifier(rows, i);
	}
	return error ? error : csv_rows_distinct(rows);
}

static int csv_rows_columns(struct csv_rows *rows)
{
	rows->columns = calloc(rows->csv.count, sizeof(*rows->columns));
	if (!rows->columns)
		return csv_rows_fail(rows, -ENOMEM, rows->csv.place, "no memory");
	rows->column_count = rows->csv.count;
	for (size_t i = 0; i < rows->column_count; i++)
		rows->columns[i].field = i;
	return 0;
}

/* A schema of that family of the table alone. */
static int csv_rows_create(struct csv_rows *rows)
{
	const struct csv_rows_options *options = &rows->options;
	int error = csv_rows_reserve(rows, 6 * strlen(options->table) + 128);

	if (error)
		return error;
	json_out_put(&rows->out, "{\"version\":1,\"tables\":{");
	json_out_text(&rows->out, (const unsigned char *)options->table, strlen(options->table));
	json_out_put(&rows->out, ":{\"families\":{\"");
	json_out_put(&rows->out, options->family);
	json_out_put(&rows->out, "\":{}}}}}");
	return csv_rows_line(rows, rows->csv.fields[0].place.line);
}

static int csv_rows_table(struct csv_rows *rows)
{
	int error = rows->options.create ? csv_rows_create(rows) : 0;

	if (!error)
		error = csv_rows_reserve(rows, strlen(rows->options.table) * 6 + 32);
	if (error)
		return error;
	json_out_put(&rows->out, "{\"table\":");
	json_out_text(&rows->out, (const unsigned char *)rows->options.table,
		      strlen(rows->options.table));
	json_out_put(&rows->out, "}");
	return csv_rows_line(rows, rows->csv.fields[0].place.line);
}

/* Some programs put a byte order mark before UTF-8. */
static void csv_rows_unmark(struct csv_rows *rows)
{
	struct csv_field *field = &rows->csv.fields[0];
	const size_t n = strlen(CSV_ROWS_BOM);

	if (field->len >= n && memcmp(csv_rows_field(rows, 0), CSV_ROWS_BOM, n) == 0) {
		field->start += n;
		field->len -= n;
	}
}

static int csv_rows_header(struct csv_rows *rows)
{
	bool first = !rows->columns;
	int error = first ? csv_rows_columns(rows) : 0;

	if (first)
		csv_rows_unmark(rows);
	if (!error && rows->csv.count != rows->column_count)
		error = csv_rows_fail(rows, -EINVAL, rows->csv.fields[0].place,
				      "%zu fields, but the row before has %zu", rows->csv.count,
				      rows->column_count);
	if (error)
		return error;
	if (first && !rows->options.family)
		return csv_rows_families(rows);
	error = csv_rows_qualifiers(rows);
	if (!error)
		error = csv_rows_table(rows);
	if (!error)
		rows->body = rows->csv.place.line;
	return error;
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
	for (size_t i = at; i < *len; i++)
		if (__builtin_mul_overflow(ts, 10, &ts) ||
		    __builtin_add_overflow(ts, text[i] - '0', &ts))
			return WCS_TS_SERVER;
	*len = at - 1;
	return ts;
}

static int csv_rows_cell(struct csv_rows *rows, const struct csv_column *column)
{
	const struct csv_field *field = &rows->csv.fields[column->field];
	const unsigned char *bytes = (const unsigned char *)csv_rows_field(rows, column->field);
	int64_t ts = WCS_TS_SERVER;
	size_t len = field->len;
	char stamp[48] = "";
	int error;

	if (rows->options.timestamps)
		ts = csv_rows_ts((const char *)bytes, &len);
	if (len > WCS_VALUE_MAX)
		return csv_rows_fail(rows, -EFBIG, field->place, "a value has at most %u bytes",
				     WCS_VALUE_MAX);
	error = csv_rows_reserve(rows, strlen(column->qualifier) + 6 * len + 128);
	if (error)
		return error;
	if (ts != WCS_TS_SERVER)
		snprintf(stamp, sizeof(stamp), "\"ts\":%" PRId64 ",", ts);
	json_out_put(&rows->out, column->qualifier);
	json_out_put(&rows->out, ":[{");
	json_out_put(&rows->out, stamp);
	if (json_out_ascii(bytes, len)) {
		json_out_put(&rows->out, "\"value\":");
		json_out_text(&rows->out, bytes, len);
	} else {
		json_out_put(&rows->out, "\"base64\":");
		json_out_base64(&rows->out, bytes, len);
	}
	json_out_put(&rows->out, "}]");
	return 0;
}

/* What stands before a cell: of a family's first its name. last: of the cell before; NULL: none. */
static int csv_rows_begin(struct csv_rows *rows, const char *family, const char *last)
{
	int error = csv_rows_reserve(rows, strlen(family) + 16);

	if (error)
		return error;
	if (last && strcmp(last, family) == 0) {
		json_out_put(&rows->out, ",");
		return 0;
	}
	json_out_put(&rows->out, last ? "},\"" : "\"");
	json_out_put(&rows->out, family);
	json_out_put(&rows->out, "\":{");
	return 0;
}

static int csv_rows_key(struct csv_rows *rows)
{
	size_t at = rows->columns[0].field;
	const struct csv_field *key = &rows->csv.fields[at];
	int error = csv_rows_reserve(rows, 6 * key->len + 64);

	if (key->len == 0)
		return csv_rows_fail(rows, -EINVAL, key->place, "the row has no key");
	if (key->len > WCS_ROW_KEY_MAX)
		return csv_rows_fail(rows, -ENAMETOOLONG, key->place,
				     "a row key has at most %u bytes", WCS_ROW_KEY_MAX);
	if (error)
		return error;
	json_out_put(&rows->out, "{\"key\":");
	json_out_name(&rows->out, (const unsigned char *)csv_rows_field(rows, at), key->len);
	json_out_put(&rows->out, ",\"families\":{");
	return 0;
}

static int csv_rows_row(struct csv_rows *rows)
{
	size_t start = rows->out.len;
	const char *last = NULL;
	int error;

	if (rows->csv.count != rows->column_count)
		return csv_rows_fail(rows, -EINVAL, rows->csv.fields[0].place,
				     "%zu fields, but the header has %zu", rows->csv.count,
				     rows->column_count);
	error = csv_rows_key(rows);
	for (size_t i = 0; i + 1 < rows->column_count && !error; i++) {
		const struct csv_column *column = rows->sorted[i];

		if (rows->csv.fields[column->field].len == 0)
			continue;
		error = csv_rows_begin(rows, column->family, last);
		if (!error)
			error = csv_rows_cell(rows, column);
		last = column->family;
	}
	if (!error)
		error = csv_rows_reserve(rows, 8);
	if (error || !last) {
		rows->out.len = start;
		return error;
	}
	json_out_put(&rows->out, "}}}");
	return csv_rows_line(rows, rows->csv.fields[0].place.line);
}

/* ---- Records ----------------------------------------------------------------------------- */

static int csv_rows_wrong(struct csv_rows *rows, int error)
{
	return csv_rows_fail(rows, error, rows->csv.wrong, "%s", rows->csv.why);
}

int csv_rows_read(struct csv_rows *rows, const char *text, size_t len)
{
	rows->out.len = rows->lines = 0;
	while (len > 0) {
		size_t used;
		int more = csv_read(&rows->csv, text, len, &used), error = 0;

		if (more < 0)
			return csv_rows_wrong(rows, more);
		if (more > 0)
			error = rows->body ? csv_rows_row(rows) : csv_rows_header(rows);
		if (error)
			return error;
		text += used;
		len -= used;
	}
	return 0;
}

int csv_rows_end(struct csv_rows *rows)
{
	int more = csv_end(&rows->csv), error = 0;

	rows->out.len = rows->lines = 0;
	if (more < 0)
		return csv_rows_wrong(rows, more);
	if (more > 0)
		error = rows->body ? csv_rows_row(rows) : csv_rows_header(rows);
	if (!error && !rows->body)
		error = csv_rows_fail(rows, -EINVAL, rows->csv.place,
				      "the file ends before its columns are named");
	return error;
}
