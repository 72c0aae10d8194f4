/* SPDX-License-Identifier: MIT */
/*
 * Writes records of CSV as lines of row JSON. Empty fields are no cells, and a row without cells is
 * no line. Values that are not ASCII become base64.
 */
#include "mkfs/text/csv_rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/grow.h"
#include "store/store.h"

struct csv_column {
	char family[WCS_FAMILY_NAME_MAX + 1];
	char *qualifier; /* as JSON text, with quotes */
	size_t field;	 /* of each record */
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
		free(rows->columns[i].qualifier);
	free(rows->columns);
	free(rows->out.bytes);
	free(rows->origins);
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

/* ---- JSON -------------------------------------------------------------------------------- */

/* Makes room for more bytes; false: there is no memory, now or before. */
static bool csv_rows_reserve(struct csv_rows *rows, size_t more)
{
	struct csv_text *out = &rows->out;

	out->failed = out->failed || grow(&out->bytes, &out->room, out->len + more, 65536, 1);
	return !out->failed;
}

static void csv_rows_put(struct csv_rows *rows, const char *text)
{
	struct csv_text *out = &rows->out;
	size_t len = strlen(text);

	if (!csv_rows_reserve(rows, len))
		return;
	memcpy(out->bytes + out->len, text, len);
	out->len += len;
}

/* Writes a string in quotes. The bytes must be UTF-8. */
static void csv_rows_string(struct csv_rows *rows, const void *data, size_t len)
{
	const unsigned char *bytes = data;
	struct csv_text *out = &rows->out;

	if (!csv_rows_reserve(rows, 6 * len + 3))
		return;
	out->bytes[out->len++] = '"';
	for (size_t i = 0; i < len; i++) {
		if (bytes[i] < 0x20) {
			out->len += (size_t)sprintf(out->bytes + out->len, "\\u%04X", bytes[i]);
			continue;
		}
		if (bytes[i] == '"' || bytes[i] == '\\')
			out->bytes[out->len++] = '\\';
		out->bytes[out->len++] = (char)bytes[i];
	}
	out->bytes[out->len++] = '"';
}

/* Writes a key or qualifier of any bytes in quotes, as row JSON spells it. */
static void csv_rows_name(struct csv_rows *rows, const char *bytes, size_t len)
{
	char *text = wcs_text_encode((struct wcs_slice){bytes, len});

	if (text)
		csv_rows_string(rows, text, strlen(text));
	else
		rows->out.failed = true;
	free(text);
}

/* Writes a cell's "value" if all bytes are ASCII, else its "base64". */
static void csv_rows_value(struct csv_rows *rows, const void *data, size_t len)
{
	const unsigned char *bytes = data;
	struct csv_text *out = &rows->out;
	unsigned char rest[3] = {0}, *to;
	size_t ascii = 0, left = len % 3;

	while (ascii < len && bytes[ascii] < 0x80)
		ascii++;
	csv_rows_put(rows, ascii == len ? "\"value\":" : "\"base64\":\"");
	if (ascii == len) {
		csv_rows_string(rows, bytes, len);
		return;
	}
	if (!csv_rows_reserve(rows, 2 * len + 6))
		return;
	to = wcs_text_base64((unsigned char *)out->bytes + out->len, bytes, len / 3);
	if (left > 0) {
		memcpy(rest, bytes + len - left, left);
		to = wcs_text_base64(to, rest, 1);
		memset(to - (3 - left), '=', 3 - left);
	}
	out->len = (size_t)(to - (unsigned char *)out->bytes);
	out->bytes[out->len++] = '"';
}

/* ---- Lines ------------------------------------------------------------------------------- */

static int csv_rows_no_memory(struct csv_rows *rows)
{
	return csv_rows_fail(rows, -ENOMEM, rows->csv.place, "no memory");
}

/* Ends the line that was made of the present record. */
static int csv_rows_line(struct csv_rows *rows)
{
	csv_rows_put(rows, "\n");
	if (rows->out.failed ||
	    grow(&rows->origins, &rows->lines_room, rows->lines + 1, 256, sizeof(*rows->origins)))
		return csv_rows_no_memory(rows);
	rows->origins[rows->lines++] = rows->csv.fields[0].place.line;
	return 0;
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
	size_t start = rows->out.len;

	if (field->len > WCS_QUALIFIER_MAX)
		return csv_rows_fail(rows, -ENAMETOOLONG, field->place,
				     "a qualifier has at most %u bytes", WCS_QUALIFIER_MAX);
	if (field->len == 0 && rows->options.key)
		return csv_rows_fail(rows, -EINVAL, field->place, "the column has no name");
	csv_rows_name(rows, rows->csv.bytes + field->start, field->len);
	if (!rows->out.failed)
		column->qualifier = strndup(rows->out.bytes + start, rows->out.len - start);
	rows->out.len = start;
	return column->qualifier ? 0 : csv_rows_no_memory(rows);
}

static int csv_rows_compare(const void *left, const void *right)
{
	const struct csv_column *a = left, *b = right;
	int order = strcmp(a->family, b->family);

	return order ? order : strcmp(a->qualifier, b->qualifier);
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

/* Makes the line of the table. Before it, for --create: that of a schema of this table and family
 * alone. */
static int csv_rows_table(struct csv_rows *rows)
{
	const char *table = rows->options.table;
	int rc = 0;

	if (rows->options.create) {
		csv_rows_put(rows, "{\"version\":1,\"tables\":{");
		csv_rows_string(rows, table, strlen(table));
		csv_rows_put(rows, ":{\"families\":{\"");
		csv_rows_put(rows, rows->options.family);
		csv_rows_put(rows, "\":{}}}}}");
		rc = csv_rows_line(rows);
	}
	csv_rows_put(rows, "{\"table\":");
	csv_rows_string(rows, table, strlen(table));
	csv_rows_put(rows, "}");
	return rc == 0 ? csv_rows_line(rows) : rc;
}

static int csv_rows_header(struct csv_rows *rows)
{
	static const char bom[3] = "\xef\xbb\xbf"; /* some programs put it before UTF-8 */
	struct csv_field *field = &rows->csv.fields[0];
	bool families = !rows->columns && !rows->options.family;
	int rc;

	if (!rows->columns) {
		if (field->len >= sizeof(bom) &&
		    memcmp(csv_rows_field(rows, 0), bom, sizeof(bom)) == 0) {
			field->start += sizeof(bom);
			field->len -= sizeof(bom);
		}
		rows->columns = calloc(rows->csv.count, sizeof(*rows->columns));
		if (!rows->columns)
			return csv_rows_no_memory(rows);
		rows->column_count = rows->csv.count;
		for (size_t i = 0; i < rows->column_count; i++)
			rows->columns[i].field = i;
	}
	if (rows->csv.count != rows->column_count)
		return csv_rows_fail(rows, -EINVAL, field->place,
				     "%zu fields, but the row before has %zu", rows->csv.count,
				     rows->column_count);
	rc = csv_rows_names(rows, families);
	if (rc == 0 && !families)
		rc = csv_rows_table(rows);
	if (rc == 0 && !families)
		rows->body = rows->csv.place.line;
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

/* last: the family of the cell before; NULL: none. */
static int csv_rows_cell(struct csv_rows *rows, const struct csv_column *column, const char *last)
{
	const struct csv_field *field = &rows->csv.fields[column->field];
	const char *bytes = csv_rows_field(rows, column->field);
	int64_t ts = WCS_TS_SERVER;
	size_t len = field->len;
	char stamp[48];

	if (rows->options.timestamps)
		ts = csv_rows_ts(bytes, &len);
	if (len > WCS_VALUE_MAX)
		return csv_rows_fail(rows, -EFBIG, field->place, "a value has at most %u bytes",
				     WCS_VALUE_MAX);
	if (last && strcmp(last, column->family) == 0) {
		csv_rows_put(rows, ",");
	} else {
		csv_rows_put(rows, last ? "},\"" : "\"");
		csv_rows_put(rows, column->family);
		csv_rows_put(rows, "\":{");
	}
	csv_rows_put(rows, column->qualifier);
	csv_rows_put(rows, ":[{");
	if (ts != WCS_TS_SERVER) {
		snprintf(stamp, sizeof(stamp), "\"ts\":%" PRId64 ",", ts);
		csv_rows_put(rows, stamp);
	}
	csv_rows_value(rows, bytes, len);
	csv_rows_put(rows, "}]");
	return 0;
}

static int csv_rows_row(struct csv_rows *rows)
{
	const struct csv_field *fields = rows->csv.fields, *key = &fields[rows->columns[0].field];
	size_t start = rows->out.len;
	const char *last = NULL;
	int rc = 0;

	if (rows->csv.count != rows->column_count)
		return csv_rows_fail(rows, -EINVAL, fields[0].place,
				     "%zu fields, but the header has %zu", rows->csv.count,
				     rows->column_count);
	if (key->len == 0)
		return csv_rows_fail(rows, -EINVAL, key->place, "the row has no key");
	if (key->len > WCS_ROW_KEY_MAX)
		return csv_rows_fail(rows, -ENAMETOOLONG, key->place,
				     "a row key has at most %u bytes", WCS_ROW_KEY_MAX);
	csv_rows_put(rows, "{\"key\":");
	csv_rows_name(rows, rows->csv.bytes + key->start, key->len);
	csv_rows_put(rows, ",\"families\":{");
	for (size_t i = 1; i < rows->column_count && rc == 0; i++) {
		const struct csv_column *column = &rows->columns[i];

		if (fields[column->field].len == 0)
			continue;
		rc = csv_rows_cell(rows, column, last);
		last = column->family;
	}
	if (rc == 0 && last) {
		csv_rows_put(rows, "}}}");
		rc = csv_rows_line(rows);
	}
	if (rc != 0 || !last)
		rows->out.len = start;
	return rc;
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

	rows->out.len = rows->lines = 0;
	for (; len > 0 && rc == 0; text += used, len -= used)
		rc = csv_rows_take(rows, csv_read(&rows->csv, text, len, &used));
	return rc;
}

int csv_rows_end(struct csv_rows *rows)
{
	int rc;

	rows->out.len = rows->lines = 0;
	rc = csv_rows_take(rows, csv_end(&rows->csv));
	if (rc == 0 && !rows->body)
		rc = csv_rows_fail(rows, -EINVAL, rows->csv.place,
				   "the file ends before its columns are named");
	return rc;
}
