/* SPDX-License-Identifier: MIT */
/*
 * Tables as CSV. The first pass over the newest cells gathers the columns, in the order of the
 * cells of a row. The second pass writes the rows. Cells come from a store as they are, from a
 * mount as lines of row JSON. In memory are the columns, and one value, or one line. After a failed
 * write, `out` ignores the rest.
 */
#include "mkfs/text/csv_write.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/grow.h"
#include "mkfs/text/csv.h"
#include "mkfs/text/lines.h"
#include "store/keys/keys.h"
#include "store/rows.h"

struct csv_column {
	struct wcs_slice family, qualifier; /* in one memory, which begins with the family */
	enum wcs_type type;
};

struct csv_table {
	const struct csv_options *options;
	const struct wcs_table_schema *table;
	struct output *out;
	struct rows *rows;
	struct lines lines; /* of a mount */
	const char *text;   /* lines that are not read yet */
	size_t text_len;
	struct wcs_line *line; /* the present one */
	size_t next;	       /* its cell to come */
	struct wcs_cell cell;  /* the present one */
	bool row_begins;       /* it is the first of its row in the families wanted */
	char *value;	       /* a large one of a store */
	size_t value_room;
	char digits[24]; /* of an integer of a store */
	struct csv_column *columns;
	size_t count, room;
	size_t at; /* the present or last column */
	int exit_code;
	unsigned char key[WCS_ROW_KEY_MAX]; /* of the line before */
	size_t key_len;
	char shown[WCS_KEYS_TEXT_MAX(WCS_ROW_KEY_MAX)]; /* the form of a key */
};

static bool csv_fail(struct csv_table *csv, const char *why)
{
	csv->exit_code = rows_fail(csv->rows, why);
	return false;
}

/* Names the present cell before the reason. */
static bool csv_fail_cell(struct csv_table *csv, const char *why)
{
	char *key = wcs_keys_text(csv->table->keys, csv->cell.row);
	char *qualifier = wcs_text_encode(csv->cell.qualifier);
	char *text = NULL;

	if (!key || !qualifier ||
	    asprintf(&text, "row %s, column %.*s:%s: %s", key, (int)csv->cell.family.len,
		     (const char *)csv->cell.family.data, qualifier, why) < 0)
		text = NULL;
	csv_fail(csv, text ? text : why);
	free(text);
	free(qualifier);
	free(key);
	return false;
}

/* Compares the cell's column to the gathered one of that number. */
static int csv_order(const struct csv_table *csv, size_t at)
{
	const struct csv_column *column = &csv->columns[at];
	int order = wcs_slice_compare(csv->cell.family, column->family);

	return order ? order : wcs_slice_compare(csv->cell.qualifier, column->qualifier);
}

/* ---- Cells ------------------------------------------------------------------------------- */

static bool csv_fail_read(struct csv_table *csv, int rc)
{
	return csv_fail(csv, rc == -EINVAL ? "not rows as this program knows them" : strerror(-rc));
}

/* Goes to the next line of a mount. 1; 0: the end; or an error. */
static int csv_line(struct csv_table *csv)
{
	const struct wcs_line_form form = {.keys = csv->table->keys};
	const struct wcs_slice before = {csv->key, csv->key_len};
	const char *newline;
	size_t len;
	int rc = csv->text_len > 0 ? 1 : lines_next(&csv->lines, &csv->text, &csv->text_len);

	if (rc <= 0)
		return rc;
	newline = memchr(csv->text, '\n', csv->text_len);
	len = newline ? (size_t)(newline - csv->text) : csv->text_len;
	rc = wcs_line_parse(csv->text, len, &form, &csv->line, NULL);
	if (rc || csv->line->kind != WCS_LINE_ROW || !csv->line->key.data)
		return rc == -ENOMEM ? rc : -EINVAL;
	csv->text += len + (newline != NULL);
	csv->text_len -= len + (newline != NULL);
	csv->next = 0;
	csv->row_begins |= wcs_slice_compare(csv->line->key, before) != 0;
	memcpy(csv->key, csv->line->key.data, csv->line->key.len);
	csv->key_len = csv->line->key.len;
	return 1;
}

/* Goes to the next cell of any version. As csv_line. */
static int csv_next_cell(struct csv_table *csv)
{
	int rc = 1;

	if (csv->rows->store) {
		rc = wcs_export_cell(csv->rows->exported, &csv->cell);
		csv->row_begins |= rc > 0 && csv->cell.differs == WCS_PART_ROW;
		return rc;
	}
	while (rc > 0 && (!csv->line || !wcs_line_cell(csv->line, csv->next, &csv->cell)))
		rc = csv_line(csv);
	csv->next++;
	return rc;
}

/* Is the present cell of a family wanted, and not an older one of the last column? A row of a mount
 * may go on in the next line, also within a column. */
static bool csv_wants(const struct csv_table *csv)
{
	const char *wanted = csv->options->family;
	struct wcs_slice family = csv->cell.family;

	if (wanted && wcs_slice_compare(family, (struct wcs_slice){wanted, strlen(wanted)}) != 0)
		return false;
	return csv->row_begins || csv->at >= csv->count || csv_order(csv, csv->at) != 0;
}

/* Goes to the next column of the families wanted. False: the end, or a failure. */
static bool csv_cell(struct csv_table *csv)
{
	int rc;

	csv->row_begins = false;
	do
		rc = csv_next_cell(csv);
	while (rc > 0 && !csv_wants(csv));
	return rc < 0 ? csv_fail_read(csv, rc) : rc > 0;
}

/* Reads the value of the present cell: the digits of an integer. */
static int csv_read_value(struct csv_table *csv, struct wcs_slice *value)
{
	enum wcs_type type = csv->columns[csv->at].type;
	uint64_t size = csv->cell.info.size, at = 0;
	size_t got = 1;
	int64_t number;
	int rc = 0;

	*value = csv->cell.value;
	if (!csv->rows->store)
		return 0;
	if (size > WCS_VALUE_INLINE) {
		rc = grow(&csv->value, &csv->value_room, (size_t)size, 1u << 20, 1);
		for (; rc == 0 && at < size && got > 0; at += got)
			rc = wcs_export_value(csv->rows->exported, csv->value + at,
					      (size_t)(size - at), at, &got);
		*value = (struct wcs_slice){csv->value, (size_t)at};
	}
	if (rc == 0 && wcs_type_aggregates(type) &&
	    wcs_aggregate_number(type, *value, &number) == 0)
		*value = (struct wcs_slice){csv->digits,
					    (size_t)sprintf(csv->digits, "%" PRId64, number)};
	return rc;
}

/* ---- Fields ------------------------------------------------------------------------------ */

static bool csv_needs_quotes(struct wcs_slice bytes)
{
	return csv_plain(bytes.data, bytes.len, ',', '\r') < bytes.len;
}

/* Writes bytes of a field; quotes: it is in quotes. */
static void csv_put_field(struct csv_table *csv, struct wcs_slice bytes, bool quotes)
{
	const unsigned char *at = bytes.data, *end = at + bytes.len, *quote;

	while (quotes && at < end && (quote = memchr(at, '"', (size_t)(end - at)))) {
		output_write(csv->out, at, (size_t)(quote + 1 - at));
		output_text(csv->out, "\"");
		at = quote + 1;
	}
	output_write(csv->out, at, (size_t)(end - at));
}

static void csv_name(struct csv_table *csv, struct wcs_slice name)
{
	bool quotes = csv_needs_quotes(name);

	output_text(csv->out, quotes ? "\"" : "");
	csv_put_field(csv, name, quotes);
	output_text(csv->out, quotes ? "\"" : "");
}

static bool csv_value(struct csv_table *csv)
{
	struct wcs_slice value;
	int rc = csv_read_value(csv, &value);
	bool quotes;
	char ts[24];

	if (rc)
		return csv_fail_read(csv, rc);
	if (value.len == 0 && !csv->options->timestamps)
		return csv_fail_cell(csv, "an empty value: only with --timestamps can CSV have it");
	quotes = csv_needs_quotes(value);
	output_text(csv->out, quotes ? "\"" : "");
	csv_put_field(csv, value, quotes);
	if (csv->options->timestamps)
		output_write(csv->out, ts, (size_t)sprintf(ts, "@%" PRId64, csv->cell.info.ts));
	output_text(csv->out, quotes ? "\"" : "");
	return !csv->out->failed;
}

/* ---- Columns ----------------------------------------------------------------------------- */

/* Sets at to the cell's column, or to its place. */
static bool csv_find(struct csv_table *csv)
{
	size_t low = csv->row_begins ? 0 : csv->at + 1, high = csv->count;
	int order = 1;

	if (low < high && csv_order(csv, low) == 0) { /* usually */
		csv->at = low;
		return true;
	}
	while (low < high && order) {
		size_t middle = (low + high) / 2;

		order = csv_order(csv, middle);
		if (order < 0)
			high = middle;
		else
			low = middle + (order > 0);
	}
	csv->at = low;
	return order == 0;
}

/* Adds the cell's column. */
static bool csv_add(struct csv_table *csv)
{
	const struct wcs_cell *cell = &csv->cell;
	const struct wcs_family *family =
		wcs_schema_family(csv->table, cell->family.data, cell->family.len);
	struct csv_column *column;
	unsigned char *bytes = NULL;

	if (cell->qualifier.len == 0)
		return csv_fail_cell(csv, "a column without a name, which CSV cannot have");
	if (csv->options->header && csv->options->family && cell->qualifier.len == 3 &&
	    memcmp(cell->qualifier.data, "key", 3) == 0)
		return csv_fail_cell(csv,
				     "the header has a column key already: leave out --family");
	if (family && family->type == WCS_INTHLL)
		return csv_fail_cell(csv, "an inthll, whose state CSV cannot have: take other "
					  "families (--family), or JSON");
	if (grow(&csv->columns, &csv->room, csv->count + 1, 64, sizeof(*csv->columns)) == 0)
		bytes = malloc(cell->family.len + cell->qualifier.len);
	if (!bytes)
		return csv_fail(csv, "no memory");
	memcpy(bytes, cell->family.data, cell->family.len);
	memcpy(bytes + cell->family.len, cell->qualifier.data, cell->qualifier.len);
	column = &csv->columns[csv->at];
	memmove(column + 1, column, (csv->count++ - csv->at) * sizeof(*column));
	*column = (struct csv_column){{bytes, cell->family.len},
				      {bytes + cell->family.len, cell->qualifier.len},
				      family ? family->type : WCS_BYTES};
	return true;
}

/* The first pass. */
static bool csv_gather(struct csv_table *csv)
{
	while (csv_cell(csv))
		if (!csv_find(csv) && !csv_add(csv))
			return false;
	return csv->exit_code == PROGRAM_OK;
}

/* ---- Rows -------------------------------------------------------------------------------- */

/* One line: key, and each column's name. */
static void csv_ordinary(struct csv_table *csv)
{
	output_text(csv->out, "key");
	for (size_t i = 0; i < csv->count; i++) {
		const struct csv_column *column = &csv->columns[i];
		bool quotes = csv_needs_quotes(column->qualifier);

		output_text(csv->out, quotes ? ",\"" : ",");
		if (!csv->options->family) {
			output_write(csv->out, column->family.data, column->family.len);
			output_text(csv->out, ":");
		}
		csv_put_field(csv, column->qualifier, quotes);
		output_text(csv->out, quotes ? "\"" : "");
	}
	output_text(csv->out, "\n");
}

static void csv_header(struct csv_table *csv)
{
	for (size_t i = 0; i < csv->count; i++) {
		struct wcs_slice family = csv->columns[i].family;

		output_text(csv->out, ",");
		if (i == 0 || wcs_slice_compare(family, csv->columns[i - 1].family) != 0)
			output_write(csv->out, family.data, family.len);
	}
	output_text(csv->out, "\n");
	for (size_t i = 0; i < csv->count; i++) {
		output_text(csv->out, ",");
		csv_name(csv, csv->columns[i].qualifier);
	}
	output_text(csv->out, "\n");
}

/* Writes commas from one field up to another; field 0 is the key's. */
static void csv_commas(struct csv_table *csv, size_t from, size_t to)
{
	for (; from < to; from++)
		output_text(csv->out, ",");
}

/* Writes the row's key: its bytes, or its shown form. */
static void csv_key(struct csv_table *csv)
{
	const struct wcs_keys *keys = csv->table->keys;

	if (keys)
		csv_name(csv, (struct wcs_slice){csv->shown,
						 wcs_keys_show(keys, csv->cell.row, csv->shown)});
	else
		csv_name(csv, csv->cell.row);
}

/* The second pass. */
static void csv_body(struct csv_table *csv)
{
	size_t field = SIZE_MAX; /* the last one of the row; SIZE_MAX: there is no row yet */

	while (csv_cell(csv)) {
		if (csv->row_begins && field < SIZE_MAX) {
			csv_commas(csv, field, csv->count);
			output_text(csv->out, "\n");
		}
		if (csv->row_begins) {
			csv_key(csv);
			field = 0;
		}
		if (!csv_find(csv)) {
			csv_fail_cell(csv, "the column came while the table was read: try again");
			return;
		}
		csv_commas(csv, field, csv->at + 1);
		field = csv->at + 1;
		if (!csv_value(csv))
			return;
	}
	if (csv->exit_code || field == SIZE_MAX)
		return;
	csv_commas(csv, field, csv->count);
	output_text(csv->out, "\n");
}

static bool csv_start(struct csv_table *csv, const struct wcs_table_schema *table,
		      const struct wcs_slice *key)
{
	csv->lines.start = csv->lines.end = csv->text_len = csv->key_len = 0;
	csv->next = SIZE_MAX;
	csv->exit_code = rows_start(csv->rows, table, key, WCS_EXPORT_CELLS);
	csv->lines.fd = csv->rows->fd;
	csv->lines.ended = csv->rows->fd < 0; /* no such row */
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
	csv->lines.max = WCS_IMPORT_LINE_MOST;
	if (csv_start(csv, table, key) && csv_gather(csv)) {
		if (options->header)
			csv_ordinary(csv);
		else
			csv_header(csv);
		if (csv_start(csv, table, key))
			csv_body(csv);
	}
	exit_code = csv->exit_code;
	for (size_t i = 0; i < csv->count; i++)
		free((void *)(uintptr_t)csv->columns[i].family.data);
	free(csv->columns);
	wcs_line_free(csv->line);
	free(csv->lines.buffer);
	free(csv->value);
	free(csv);
	return exit_code;
}
