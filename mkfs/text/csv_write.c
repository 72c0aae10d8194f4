/* SPDX-License-Identifier: MIT */
/*
 * Tables as CSV. The first pass over the newest cells gathers the columns, in the order of the
 * cells of a row; only these are in memory. The second pass writes the rows. Cells come from a
 * store as they are, from a mount as row JSON. After a failed write, `out` ignores the rest.
 */
#include "mkfs/text/csv_write.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/grow.h"
#include "mkfs/text/csv.h"
#include "store/keys/keys.h"
#include "store/rows.h"

#define CSV_VALUE (64u << 10) /* a longer value is in quotes */

struct csv_column {
	struct wcs_slice family, qualifier; /* in one memory, which begins with the family */
	enum wcs_type type;
};

struct csv_table {
	const struct csv_options *options;
	const struct wcs_table_schema *table;
	struct output *out;
	struct rows *rows;
	struct wcs_reader *reader; /* of a mount */
	struct wcs_cell cell;	   /* the present one */
	bool row_begins;	   /* it is the first of its row in the families wanted */
	uint64_t value_at;	   /* offset of its unread bytes in a store */
	struct csv_column *columns;
	size_t count, room;
	size_t at; /* the present or last column */
	int exit_code;
	unsigned char value[CSV_VALUE + 16];
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

/* ---- Cells ------------------------------------------------------------------------------- */

/* Says why a read failed, unless rows_read did. */
static bool csv_fail_read(struct csv_table *csv, int rc)
{
	csv->exit_code = PROGRAM_FAILED;
	if (rc == -ECANCELED)
		return false;
	return csv_fail(csv, rc == -EINVAL ? "not rows as this program knows them" : strerror(-rc));
}

static int csv_text(void *ctx, void *buf, size_t len, size_t *got)
{
	return rows_read(ctx, buf, len, got) == PROGRAM_OK ? 0 : -ECANCELED;
}

/* Goes to the next column of the families wanted. False: the end, or a failure. */
static bool csv_cell(struct csv_table *csv)
{
	const char *wanted = csv->options->family;
	const struct wcs_cell *cell = &csv->cell;
	int rc;

	csv->row_begins = false;
	do {
		rc = csv->rows->store ? wcs_export_cell(csv->rows->exported, &csv->cell)
				      : wcs_reader_next(csv->reader, &csv->cell);
		csv->row_begins |= cell->differs == WCS_PART_ROW;
	} while (rc > 0 &&
		 (cell->differs == WCS_PART_TS || /* an older one */
		  (wanted && (strlen(wanted) != cell->family.len ||
			      memcmp(wanted, cell->family.data, cell->family.len) != 0))));
	csv->value_at = 0;
	return rc < 0 ? csv_fail_read(csv, rc) : rc > 0;
}

/* The next bytes of the value, some at least; 0 only at its end, or at a failure. */
static size_t csv_value_read(struct csv_table *csv, void *buf, size_t len)
{
	size_t got = 0;
	int rc = 0;

	if (!csv->rows->store) {
		rc = wcs_reader_value(csv->reader, buf, len, &got);
	} else if (csv->value_at < csv->cell.info.size) {
		rc = wcs_export_value(csv->rows->exported, buf, len, csv->value_at, &got);
		csv->value_at += got;
	}
	if (rc < 0)
		csv_fail_read(csv, rc);
	return got;
}

/* The value, or if it is longer more than CSV_VALUE bytes from its start. */
static struct wcs_slice csv_value_begin(struct csv_table *csv)
{
	enum wcs_type type = csv->columns[csv->at].type;
	struct wcs_slice value = csv->cell.value;
	size_t got = csv->cell.info.size > WCS_VALUE_INLINE, len = 0;
	int64_t number;

	while (got > 0 && len <= CSV_VALUE) {
		got = csv_value_read(csv, csv->value + len, sizeof(csv->value) - len);
		len += got;
		value = (struct wcs_slice){csv->value, len};
	}
	if (csv->rows->store && wcs_type_aggregates(type) &&
	    wcs_aggregate_number(type, value, &number) == 0) {
		len = (size_t)sprintf((char *)csv->value, "%" PRId64, number);
		value = (struct wcs_slice){csv->value, len};
	}
	return value;
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

	if (quotes)
		output_text(csv->out, "\"");
	csv_put_field(csv, name, quotes);
	if (quotes)
		output_text(csv->out, "\"");
}

static bool csv_value(struct csv_table *csv)
{
	struct wcs_slice value = csv_value_begin(csv);
	bool more = value.len > CSV_VALUE;
	bool quotes = more || csv_needs_quotes(value);
	char ts[24];

	if (csv->exit_code)
		return false;
	if (value.len == 0 && !csv->options->timestamps)
		return csv_fail_cell(csv, "an empty value: only with --timestamps can CSV have it");
	if (quotes)
		output_text(csv->out, "\"");
	while (value.len > 0 && !csv->out->failed) {
		csv_put_field(csv, value, quotes);
		value.len = more ? csv_value_read(csv, csv->value, sizeof(csv->value)) : 0;
	}
	if (csv->options->timestamps)
		output_write(csv->out, ts, (size_t)sprintf(ts, "@%" PRId64, csv->cell.info.ts));
	if (quotes)
		output_text(csv->out, "\"");
	return !csv->exit_code && !csv->out->failed;
}

/* ---- Columns ----------------------------------------------------------------------------- */

/* Compares the cell's column to the gathered one of that number. */
static int csv_order(const struct csv_table *csv, size_t at)
{
	const struct csv_column *column = &csv->columns[at];
	int order = wcs_slice_compare(csv->cell.family, column->family);

	return order ? order : wcs_slice_compare(csv->cell.qualifier, column->qualifier);
}

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
	wcs_reader_free(csv->reader);
	csv->reader = NULL;
	csv->exit_code = rows_start(csv->rows, table, key, WCS_EXPORT_CELLS);
	if (csv->exit_code == PROGRAM_OK && !csv->rows->store &&
	    wcs_reader_new(csv_text, csv->rows, table->keys, &csv->reader) != 0)
		csv_fail(csv, "no memory");
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
	wcs_reader_free(csv->reader);
	free(csv);
	return exit_code;
}
