/* SPDX-License-Identifier: MIT */
/*
 * Parses lines of JSON: the members tell whether it is a row, a table line or a schema line. A
 * row's mutation borrows keys, qualifiers and values from the text. Families, and strings with
 * escapes or base64, lie in the bytes of the wcs_json_text.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/grow.h"
#include "store/backend.h"
#include "store/json/json.h"
#include "store/mutation.h"
#include "store/rows.h"

/* Bytes that a column or a cell may take: here, and when the mutation is applied. */
#define ROW_JSON_ENTRY 320u

struct row_json {
	struct wcs_line line; /* borrows from the text and its bytes */
	struct wcs_json_text in;
	size_t entries_left; /* columns and cells that the line may have */
	struct wcs_line_form form;
	unsigned char *key; /* room for one, of a shown form; NULL: none yet */
};

/* Takes the JSON of one column below "families", "delete" and so on. */
typedef int row_json_column(struct row_json *row, const struct wcs_json_at *at, const char *family,
			    struct wcs_slice qualifier);

static int row_json_wrong(const struct row_json *row, const struct wcs_json_at *at, const char *why)
{
	return wcs_json_fault(&row->in, -EINVAL, at, "%s", why);
}

static int row_json_count(struct row_json *row)
{
	return row->entries_left-- > 0 ? 0
				       : wcs_json_fault(&row->in, -EFBIG, NULL,
							"a row that takes too much memory to read");
}

/* Counts an entry of the mutation, or sets the fault for the error of a wcs_mutation_ function. */
static int row_json_built(struct row_json *row, const struct wcs_json_at *at, int rc)
{
	switch (rc) {
	case 0:
		return row_json_count(row);
	case -ENAMETOOLONG:
		return wcs_json_fault(&row->in, rc, at, "a qualifier has at most %u bytes",
				      WCS_QUALIFIER_MAX);
	case -EFBIG:
		return wcs_json_fault(&row->in, rc, at, "a value has at most %u bytes",
				      WCS_VALUE_MAX);
	case -ENOMEM:
		return rc;
	default:
		return wcs_json_fault(&row->in, rc, at, "cannot be in a row: %s", strerror(-rc));
	}
}

/* ---- Values ------------------------------------------------------------------------------ */

/* A key or a qualifier as it is spelled in JSON, which was read last, becomes its bytes. */
static int row_json_name(struct row_json *row, const struct wcs_json_at *at, struct wcs_slice *name)
{
	const char *text = name->data;

	if (!memchr(text, '%', name->len))
		return 0;
	name->data = wcs_json_room(&row->in, *name);
	if (wcs_text_decode(text, name->len, row->in.to, &name->len))
		return row_json_wrong(row, at, "% must be followed by two hex digits, 0-9 and A-F");
	row->in.to += name->len;
	return 0;
}

static int row_json_base64(struct row_json *row, const struct wcs_json_at *at,
			   struct wcs_slice *value)
{
	struct wcs_slice text;
	int rc = wcs_json_string(&row->in, at, "must be base64 in quotes", &text);

	if (rc != 0)
		return rc;
	value->data = wcs_json_room(&row->in, text);
	if (wcs_text_base64_decode(text.data, text.len, row->in.to, &value->len))
		return row_json_wrong(row, at, "not base64 with padding");
	row->in.to += value->len;
	return 0;
}

static int row_json_text(struct row_json *row, const struct wcs_json_at *at,
			 struct wcs_slice *value)
{
	return wcs_json_string(&row->in, at,
			       wcs_json_at_number(&row->in)
				       ? "a number, but the family holds bytes: put it in quotes"
				       : "must be text in quotes",
			       value);
}

/* A value whose family is not known yet: text, or an integer. */
static int row_json_value(struct row_json *row, const struct wcs_json_at *at, enum wcs_form *form,
			  struct wcs_slice *value, int64_t *number)
{
	*form = wcs_json_at_number(&row->in) ? WCS_FORM_NUMBER : WCS_FORM_TEXT;
	if (*form == WCS_FORM_TEXT)
		return row_json_text(row, at, value);
	return wcs_json_integer(
		&row->in, at,
		"a number that is not whole; in a family of bytes it must be in quotes", number);
}

static int row_json_ts(struct row_json *row, const struct wcs_json_at *at, int64_t *ts)
{
	static const char why[] = "must be a whole number of microseconds, 0 or more";
	int rc = wcs_json_integer(&row->in, at, why, ts);

	return rc == 0 && *ts < 0 ? row_json_wrong(row, at, why) : rc;
}

/* ---- Columns ----------------------------------------------------------------------------- */

/* One member of a cell object. valued: "value" or "base64" came. */
static int row_json_cell_member(struct row_json *row, const struct wcs_json_at *at,
				struct wcs_write *write, bool *valued, struct wcs_slice *state)
{
	bool text = wcs_json_is(at, "value");

	if (wcs_json_is(at, "ts"))
		return row_json_ts(row, at, &write->ts);
	if (wcs_json_is(at, "state"))
		return row_json_base64(row, at, state);
	if (!text && !wcs_json_is(at, "base64"))
		return row_json_wrong(row, at, "a cell has only ts, state and value or base64");
	if (*valued)
		return row_json_wrong(row, at, "a cell has value or base64, not both");
	*valued = true;
	return text ? row_json_value(row, at, &write->form, &write->value, &write->delta)
		    : row_json_base64(row, at, &write->value);
}

static int row_json_cell(struct row_json *row, const struct wcs_json_at *at, const char *family,
			 struct wcs_slice qualifier)
{
	struct wcs_write write = {.kind = WCS_WRITE_SET,
				  .family = family,
				  .qualifier = qualifier,
				  .ts = WCS_TS_SERVER};
	bool valued = !wcs_json_read_byte(&row->in.reader, '{');
	struct wcs_slice state = {NULL, 0};
	struct wcs_json_at inner = {.up = at};
	int rc = 0;

	if (valued)
		rc = row_json_value(row, at, &write.form, &write.value, &write.delta);
	else
		while (rc == 0 && (rc = wcs_json_member(&row->in, &inner)) == 1)
			rc = row_json_cell_member(row, &inner, &write, &valued, &state);
	if (rc == 0 && !valued && !state.data)
		rc = row_json_wrong(row, at, "the cell has no value");
	if (rc != 0)
		return rc;
	if (state.data) { /* a value beside it is only its estimate */
		write.form = WCS_FORM_STATE;
		write.value = state;
		if (write.ts != WCS_TS_SERVER)
			write.kind = WCS_WRITE_MERGE;
	}
	return row_json_built(row, at, wcs_mutation_write(row->line.mutation, write));
}

static int row_json_cells(struct row_json *row, const struct wcs_json_at *at, const char *family,
			  struct wcs_slice qualifier)
{
	struct wcs_json_at inner = {.up = at};
	int rc = 0, c = wcs_json_read_peek(&row->in.reader);

	if (c == '"' || wcs_json_at_number(&row->in))
		return row_json_cell(row, at, family, qualifier);
	if (!wcs_json_read_byte(&row->in.reader, '['))
		return row_json_wrong(row, at,
				      c == 'n' ? "null is no value; \"delete\" deletes a column"
					       : "must be text, a number or a list of cells");
	while (rc == 0 && (rc = wcs_json_element(&row->in, &inner)) == 1)
		rc = row_json_cell(row, &inner, family, qualifier);
	return rc;
}

static int row_json_delete(struct row_json *row, const struct wcs_json_at *at, const char *family,
			   struct wcs_slice qualifier)
{
	struct wcs_mutation *mutation = row->line.mutation;
	struct wcs_json_at inner = {.up = at};
	int64_t ts;
	int rc = 0;

	if (wcs_json_read_word(&row->in.reader, "true")) {
		rc = wcs_mutation_delete_column(mutation, family, qualifier);
		return row_json_built(row, at, rc);
	}
	if (!wcs_json_read_byte(&row->in.reader, '['))
		return row_json_wrong(row, at, "must be true or a list of timestamps");
	while (rc == 0 && (rc = wcs_json_element(&row->in, &inner)) == 1) {
		rc = row_json_ts(row, &inner, &ts);
		if (rc != 0)
			return rc;
		rc = wcs_mutation_delete_cell(mutation, family, qualifier, ts);
		rc = row_json_built(row, &inner, rc);
	}
	return rc;
}

static int row_json_append(struct row_json *row, const struct wcs_json_at *at, const char *family,
			   struct wcs_slice qualifier)
{
	struct wcs_slice data;
	int rc = row_json_text(row, at, &data);

	if (rc != 0)
		return rc;
	rc = wcs_mutation_append(row->line.mutation, family, qualifier, data, WCS_TS_NONE);
	return row_json_built(row, at, rc);
}

/* A number, or its digits in quotes. */
static int row_json_increment(struct row_json *row, const struct wcs_json_at *at,
			      const char *family, struct wcs_slice qualifier)
{
	static const char why[] = "must be a whole number";
	struct wcs_slice digits;
	int64_t delta;
	int rc;

	if (wcs_json_read_peek(&row->in.reader) != '"') {
		rc = wcs_json_integer(&row->in, at, why, &delta);
	} else {
		rc = wcs_json_string(&row->in, at, why, &digits);
		if (rc == 0)
			rc = wcs_integer_parse(digits.data, digits.len, &delta);
		if (rc == -EINVAL)
			rc = row_json_wrong(row, at, why);
		else if (rc == -EOVERFLOW)
			rc = wcs_json_fault(&row->in, rc, at, "an integer beyond 64 bits");
	}
	if (rc != 0)
		return rc;
	rc = wcs_mutation_increment(row->line.mutation, family, qualifier, delta);
	return row_json_built(row, at, rc);
}

static int row_json_if(struct row_json *row, const struct wcs_json_at *at, const char *family,
		       struct wcs_slice qualifier)
{
	struct wcs_condition condition = {
		.family = family,
		.qualifier = qualifier,
		.absent = wcs_json_read_word(&row->in.reader, "null"),
	};
	int rc = condition.absent ? 0
				  : row_json_value(row, at, &condition.form, &condition.given,
						   &condition.number);

	if (rc != 0)
		return rc;
	return row_json_built(row, at, wcs_mutation_condition(row->line.mutation, condition));
}

/* ---- Rows -------------------------------------------------------------------------------- */

static int row_json_columns(struct row_json *row, const struct wcs_json_at *at, const char *family,
			    row_json_column *each)
{
	struct wcs_json_at inner = {.up = at};
	int rc = wcs_json_object(&row->in, at, " with a member per column");

	while (rc == 0 && (rc = wcs_json_member(&row->in, &inner)) == 1) {
		struct wcs_slice qualifier = inner.name;

		rc = row_json_name(row, &inner, &qualifier);
		if (rc == 0)
			rc = row_json_count(row);
		if (rc == 0) {
			wcs_json_rename(&row->in, qualifier);
			rc = each(row, &inner, family, qualifier);
		}
	}
	return rc;
}

static size_t row_json_entries(const struct row_json *row)
{
	const struct wcs_mutation *mutation = row->line.mutation;

	return mutation->condition_count + mutation->delete_count + mutation->write_count;
}

static int row_json_families(struct row_json *row, const struct wcs_json_at *at,
			     row_json_column *each)
{
	struct wcs_json_at inner = {.up = at};
	int rc = wcs_json_object(&row->in, at, " with a member per family");

	while (rc == 0 && (rc = wcs_json_member(&row->in, &inner)) == 1) {
		const char *family = wcs_json_copy(&row->in, inner.name);

		if (!wcs_family_name_valid(family))
			return row_json_wrong(row, &inner,
					      "a family's name is 1 to 64 of -_.a-zA-Z0-9");
		if (each == row_json_delete && wcs_json_read_word(&row->in.reader, "true")) {
			rc = wcs_mutation_delete_family(row->line.mutation, family);
			rc = row_json_built(row, &inner, rc);
		} else {
			size_t entries = row_json_entries(row);

			rc = row_json_columns(row, &inner, family, each);
			if (rc == 0 && row_json_entries(row) == entries)
				rc = wcs_mutation_delete_nothing(row->line.mutation, family);
		}
	}
	return rc;
}

/* The shown form of a key becomes its bytes. */
static int row_json_shown(struct row_json *row, const struct wcs_json_at *at,
			  const struct wcs_keys *keys, struct wcs_slice *key)
{
	struct wcs_fault why = {0};
	int rc;

	if (!row->key)
		row->key = malloc(WCS_ROW_KEY_MAX);
	if (!row->key)
		return -ENOMEM;
	rc = wcs_keys_parse(keys, 0, *key, NULL, row->key, &key->len, &why);
	key->data = row->key;
	return rc == -EINVAL ? row_json_wrong(row, at, why.text) : rc;
}

/* The same, of a text that may have "%=" in a plain table. */
static int row_json_plain(struct row_json *row, const struct wcs_json_at *at, struct wcs_slice *key)
{
	struct wcs_keys plain;

	if (!row->form.delimiter || !memchr(key->data, '%', key->len) ||
	    !memmem(key->data, key->len, "%=", 2))
		return row_json_name(row, at, key);
	plain = wcs_keys_plain(row->form.delimiter);
	return row_json_shown(row, at, &plain, key);
}

static int row_json_key(struct row_json *row, const struct wcs_json_at *at)
{
	const struct wcs_keys *keys = row->form.keys;
	struct wcs_slice key;
	int rc = wcs_json_string(&row->in, at, "must be text in quotes", &key);

	if (rc == 0)
		rc = keys ? row_json_shown(row, at, keys, &key) : row_json_plain(row, at, &key);
	if (rc == -ENAMETOOLONG || (rc == 0 && key.len > WCS_ROW_KEY_MAX))
		return wcs_json_fault(&row->in, -ENAMETOOLONG, at, "has at most %u bytes",
				      WCS_ROW_KEY_MAX);
	if (rc != 0)
		return rc;
	if (key.len == 0)
		return row_json_wrong(row, at, "must not be empty");
	row->line.key = key;
	return 0;
}

static int row_json_member(struct row_json *row, const struct wcs_json_at *at)
{
	static const struct {
		const char *name;
		row_json_column *each;
	} parts[] = {{"key", NULL},
		     {"families", row_json_cells},
		     {"delete", row_json_delete},
		     {"append", row_json_append},
		     {"increment", row_json_increment},
		     {"if", row_json_if}};
	const size_t count = sizeof(parts) / sizeof(parts[0]);
	size_t i = 0;

	if (wcs_json_is(at, "ts")) /* of a feed of changes */
		return wcs_json_skip(&row->in, at);
	if (wcs_json_is(at, "dropped") || wcs_json_is(at, "lost"))
		return row_json_wrong(
			row, at, "no row: the feed of changes has a gap here; copy the table anew");
	while (i < count && !wcs_json_is(at, parts[i].name))
		i++;
	if (i == count)
		return row_json_wrong(row, at,
				      "a row has only key, families, delete, append, "
				      "increment and if");
	if (!parts[i].each)
		return row_json_key(row, at);
	if (parts[i].each == row_json_delete && wcs_json_read_word(&row->in.reader, "true"))
		return wcs_mutation_delete_row(row->line.mutation);
	return row_json_families(row, at, parts[i].each);
}

/* ---- Lines ------------------------------------------------------------------------------- */

/* The line's only member. */
static int row_json_table(struct row_json *row, const struct wcs_json_at *at)
{
	static const char why[] = "must be a table's name in quotes";
	struct wcs_json_at next = *at;
	struct wcs_slice name;
	int rc = at->count > 1 ? 1 : wcs_json_string(&row->in, at, why, &name);

	if (rc == 0) {
		row->line.kind = WCS_LINE_TABLE;
		row->line.table = wcs_json_copy(&row->in, name);
		if (strlen(row->line.table) != name.len || !wcs_table_name_valid(row->line.table))
			return row_json_wrong(row, at, why);
		rc = wcs_json_member(&row->in, &next);
	}
	return rc == 1 ? row_json_wrong(row, at, "must stand alone in its line") : rc;
}

/* Reads the line, or sets its kind to that of a schema. */
static int row_json_line(struct row_json *row)
{
	struct wcs_json_at at = {.up = NULL};
	int rc = wcs_json_object(&row->in, NULL, " in braces");

	while (rc == 0 && (rc = wcs_json_member(&row->in, &at)) == 1) {
		if (wcs_json_is(&at, "table"))
			return row_json_table(row, &at);
		if (wcs_json_is(&at, "version") || wcs_json_is(&at, "tables")) {
			row->line.kind = WCS_LINE_SCHEMA;
			return 0;
		}
		rc = row_json_member(row, &at);
	}
	return rc;
}

unsigned char *wcs_line_empty(struct wcs_line **line, size_t len)
{
	struct row_json *row = *line ? (struct row_json *)*line : calloc(1, sizeof(*row));

	if (row && !row->line.mutation)
		row->line.mutation = wcs_mutation_new();
	if (!row || !row->line.mutation ||
	    grow(&row->in.bytes, &row->in.room, len + 1, 256, 1) != 0) {
		if (row && !*line)
			wcs_line_free(&row->line);
		return NULL;
	}
	wcs_schema_free(row->line.schema);
	row->line = (struct wcs_line){.kind = WCS_LINE_ROW, .mutation = row->line.mutation};
	wcs_mutation_clear(row->line.mutation);
	*line = &row->line;
	return row->in.bytes;
}

int wcs_line_parse(const char *text, size_t len, const struct wcs_line_form *form,
		   struct wcs_line **line, struct wcs_fault *fault)
{
	bool older = *line != NULL;
	struct row_json *row;
	int rc;

	if (!wcs_line_empty(line, len))
		return wcs_fault_set(fault, -ENOMEM, "no memory");
	row = (struct row_json *)*line;
	row->form = form ? *form : (struct wcs_line_form){.keys = NULL};
	row->in.limit = row->form.memory;
	row->entries_left = row->in.limit > 0 ? row->in.limit / ROW_JSON_ENTRY : SIZE_MAX;
	rc = wcs_json_start(&row->in, text, len, fault);
	if (rc == 0)
		rc = row_json_line(row);
	if (rc == 0 && row->line.kind == WCS_LINE_SCHEMA)
		rc = wcs_schema_read(text, len, &row->line.schema, fault);
	else
		rc = wcs_json_finish(&row->in, rc);
	if (rc != 0 && !older) {
		wcs_line_free(*line);
		*line = NULL;
	}
	return rc;
}

bool wcs_line_cell(struct wcs_line *line, size_t i, struct wcs_cell *cell)
{
	const struct wcs_write *write;

	if (i >= line->mutation->write_count)
		return false;
	write = &line->mutation->writes[i];
	*cell = (struct wcs_cell){
		.differs = i == 0 ? WCS_PART_ROW : WCS_PART_FAMILY,
		.row = line->key,
		.family = {write->family, strlen(write->family)},
		.qualifier = write->qualifier,
		.info = {.ts = write->kind == WCS_WRITE_SET ? write->ts : WCS_TS_SERVER,
			 .size = write->value.len},
		.value = write->value};
	if (write->form == WCS_FORM_NUMBER) {
		cell->info.size = 8;
		cell->value.data = line->digits;
		cell->value.len = (size_t)snprintf(line->digits, sizeof(line->digits), "%" PRId64,
						   write->delta);
	}
	return true;
}

void wcs_line_free(struct wcs_line *line)
{
	struct row_json *row = (struct row_json *)line;

	if (!line)
		return;
	wcs_mutation_free(line->mutation);
	wcs_schema_free(line->schema);
	wcs_json_free(&row->in);
	free(row->key);
	free(row);
}
