/* SPDX-License-Identifier: MIT */
/*
 * Parses lines of JSON: the members tell whether it is a row, a table line or a schema line. The
 * mutation of a row borrows families, plain qualifiers and text values from the tree. Decoded ones
 * lie in `bytes`: a name or value is never longer than its text.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/backend.h"
#include "store/json/json.h"
#include "store/mutation.h"
#include "store/text.h"

struct row_json {
	struct wcs_line line; /* borrows from root and bytes */
	json_t *root;
	struct wcs_fault *fault;
	size_t used;
	unsigned char bytes[]; /* as many as the line has */
};

/* Takes the JSON of one column below "families", "delete" and so on. */
typedef int row_json_column(struct row_json *in, const struct wcs_json_at *at, const char *family,
			    struct wcs_slice qualifier, const json_t *json);

static int row_json_wrong(const struct row_json *in, const struct wcs_json_at *at, const char *why)
{
	return wcs_json_fault(in->fault, -EINVAL, at, "%s", why);
}

/* Sets the fault for the error of a wcs_mutation_ function. */
static int row_json_built(const struct row_json *in, const struct wcs_json_at *at, int rc)
{
	switch (rc) {
	case 0:
		return 0;
	case -ENAMETOOLONG:
		return wcs_json_fault(in->fault, rc, at, "a qualifier has at most %u bytes",
				      WCS_QUALIFIER_MAX);
	case -EFBIG:
		return wcs_json_fault(in->fault, rc, at, "a value has at most %u bytes",
				      WCS_VALUE_MAX);
	case -ENOMEM:
		return wcs_fault_set(in->fault, -ENOMEM, "no memory");
	default:
		return wcs_json_fault(in->fault, rc, at, "cannot be in a row: %s", strerror(-rc));
	}
}

/* A key or a qualifier as it is spelled in JSON. The bytes are never NULL. */
static int row_json_name(struct row_json *in, const struct wcs_json_at *at, const char *text,
			 size_t len, struct wcs_slice *name)
{
	*name = (struct wcs_slice){.data = text, .len = len};
	if (wcs_text_is_plain(text, len))
		return 0;
	name->data = in->bytes + in->used;
	if (wcs_text_decode(text, len, in->bytes + in->used, &name->len))
		return row_json_wrong(in, at, "% must be followed by two hex digits, 0-9 and A-F");
	in->used += name->len;
	return 0;
}

static int row_json_base64(struct row_json *in, const struct wcs_json_at *at, const json_t *json,
			   struct wcs_slice *value)
{
	const char *text = json_string_value(json);
	size_t len = json_string_length(json);

	if (!text)
		return row_json_wrong(in, at, "must be base64 in quotes");
	if (wcs_text_base64_decode(text, len, in->bytes + in->used, &value->len))
		return row_json_wrong(in, at, "not base64 with padding");
	value->data = in->bytes + in->used;
	in->used += value->len;
	return 0;
}

static int row_json_text(struct row_json *in, const struct wcs_json_at *at, const json_t *json,
			 struct wcs_slice *value)
{
	if (json_is_number(json))
		return row_json_wrong(in, at,
				      "a number, but the family holds bytes: put it in quotes");
	if (!json_is_string(json))
		return row_json_wrong(in, at, "must be text in quotes");
	value->data = json_string_value(json);
	value->len = json_string_length(json);
	return 0;
}

/* A value whose family is not known yet: text, or an integer. */
static int row_json_value(struct row_json *in, const struct wcs_json_at *at, const json_t *json,
			  enum wcs_form *form, struct wcs_slice *value, int64_t *number)
{
	if (json_is_integer(json)) {
		*form = WCS_FORM_NUMBER;
		*number = json_integer_value(json);
		return 0;
	}
	if (json_is_number(json))
		return row_json_wrong(in, at, "a number that is not whole: put it in quotes");
	*form = WCS_FORM_TEXT;
	return row_json_text(in, at, json, value);
}

static int row_json_ts(struct row_json *in, const struct wcs_json_at *at, const json_t *json,
		       int64_t *ts)
{
	if (!json_is_integer(json) || json_integer_value(json) < 0)
		return row_json_wrong(in, at, "must be a whole number of microseconds, 0 or more");
	*ts = json_integer_value(json);
	return 0;
}

/* One member of a cell object. valued: "value" or "base64" came. */
static int row_json_cell_member(struct row_json *in, const struct wcs_json_at *at,
				const json_t *json, struct wcs_write *write, bool *valued,
				struct wcs_slice *state)
{
	bool text = strcmp(at->name, "value") == 0;

	if (strcmp(at->name, "ts") == 0)
		return row_json_ts(in, at, json, &write->ts);
	if (strcmp(at->name, "state") == 0)
		return row_json_base64(in, at, json, state);
	if (!text && strcmp(at->name, "base64") != 0)
		return row_json_wrong(in, at, "a cell has only ts, state and value or base64");
	if (*valued)
		return row_json_wrong(in, at, "a cell has value or base64, not both");
	*valued = true;
	return text ? row_json_value(in, at, json, &write->form, &write->value, &write->delta)
		    : row_json_base64(in, at, json, &write->value);
}

static int row_json_cell(struct row_json *in, const struct wcs_json_at *at, const char *family,
			 struct wcs_slice qualifier, const json_t *json)
{
	struct wcs_write write = {.kind = WCS_WRITE_SET,
				  .family = family,
				  .qualifier = qualifier,
				  .ts = WCS_TS_SERVER};
	bool valued = !json_is_object(json);
	struct wcs_slice state = {NULL, 0};
	struct wcs_json_at inner = {.up = at};
	json_t *member;
	int rc = 0;

	if (valued)
		rc = row_json_value(in, at, json, &write.form, &write.value, &write.delta);
	json_object_foreach((json_t *)(uintptr_t)json, inner.name, member)
	{
		rc = row_json_cell_member(in, &inner, member, &write, &valued, &state);
		if (rc != 0)
			break;
	}
	if (!rc && !valued && !state.data)
		rc = row_json_wrong(in, at, "the cell has no value");
	if (rc != 0)
		return rc;
	if (state.data) { /* a value beside it is only its estimate */
		write.form = WCS_FORM_STATE;
		write.value = state;
		if (write.ts != WCS_TS_SERVER)
			write.kind = WCS_WRITE_MERGE;
	}
	return row_json_built(in, at, wcs_mutation_write(in->line.mutation, write));
}

static int row_json_cells(struct row_json *in, const struct wcs_json_at *at, const char *family,
			  struct wcs_slice qualifier, const json_t *json)
{
	struct wcs_json_at inner = {.up = at};
	json_t *cell;
	int rc;

	if (json_is_string(json) || json_is_number(json))
		return row_json_cell(in, at, family, qualifier, json);
	if (!json_is_array(json))
		return row_json_wrong(in, at,
				      json_is_null(json)
					      ? "null is no value; \"delete\" deletes a column"
					      : "must be text, a number or a list of cells");
	json_array_foreach(json, inner.index, cell)
	{
		rc = row_json_cell(in, &inner, family, qualifier, cell);
		if (rc != 0)
			return rc;
	}
	return 0;
}

static int row_json_delete(struct row_json *in, const struct wcs_json_at *at, const char *family,
			   struct wcs_slice qualifier, const json_t *json)
{
	struct wcs_mutation *mutation = in->line.mutation;
	struct wcs_json_at inner = {.up = at};
	json_t *element;
	int64_t ts = 0;
	int rc;

	if (json_is_true(json)) {
		rc = wcs_mutation_delete_column(mutation, family, qualifier);
		return row_json_built(in, at, rc);
	}
	if (!json_is_array(json))
		return row_json_wrong(in, at, "must be true or a list of timestamps");
	json_array_foreach(json, inner.index, element)
	{
		rc = row_json_ts(in, &inner, element, &ts);
		if (rc != 0)
			return rc;
		rc = wcs_mutation_delete_cell(mutation, family, qualifier, ts);
		if (rc != 0)
			return row_json_built(in, &inner, rc);
	}
	return 0;
}

static int row_json_append(struct row_json *in, const struct wcs_json_at *at, const char *family,
			   struct wcs_slice qualifier, const json_t *json)
{
	struct wcs_slice data;
	int rc = row_json_text(in, at, json, &data);

	if (rc != 0)
		return rc;
	rc = wcs_mutation_append(in->line.mutation, family, qualifier, data, WCS_TS_NONE);
	return row_json_built(in, at, rc);
}

/* A number, or its digits in quotes. */
static int row_json_increment(struct row_json *in, const struct wcs_json_at *at, const char *family,
			      struct wcs_slice qualifier, const json_t *json)
{
	int64_t delta = json_integer_value(json);
	int rc = json_is_integer(json) ? 0 : -EINVAL;

	if (json_is_string(json))
		rc = wcs_integer_parse(json_string_value(json), json_string_length(json), &delta);
	if (rc != 0)
		return wcs_json_fault(in->fault, rc, at,
				      rc == -EOVERFLOW ? "an integer beyond 64 bits"
						       : "must be a whole number");
	rc = wcs_mutation_increment(in->line.mutation, family, qualifier, delta);
	return row_json_built(in, at, rc);
}

static int row_json_if(struct row_json *in, const struct wcs_json_at *at, const char *family,
		       struct wcs_slice qualifier, const json_t *json)
{
	struct wcs_condition condition = {
		.family = family, .qualifier = qualifier, .absent = json_is_null(json)};
	int rc = condition.absent ? 0
				  : row_json_value(in, at, json, &condition.form, &condition.given,
						   &condition.number);

	if (rc != 0)
		return rc;
	return row_json_built(in, at, wcs_mutation_condition(in->line.mutation, condition));
}

/* Two names may be spelled differently and be the same column. Runs only where a name of the
 * object has an escape. */
static int row_json_distinct(struct row_json *in, const struct wcs_json_at *at, json_t *columns)
{
	json_t *seen = json_object(), *member;
	struct wcs_json_at inner = {.up = at};
	int rc = 0;

	json_object_foreach(columns, inner.name, member)
	{
		size_t len = strlen(inner.name);
		unsigned char *bytes = malloc(len + 1);
		char *spelling = NULL;

		if (bytes && wcs_text_decode(inner.name, len, bytes, &len) == 0)
			spelling = wcs_text_encode((struct wcs_slice){bytes, len});
		free(bytes);
		if (spelling && json_object_get(seen, spelling))
			rc = row_json_wrong(in, &inner, "named twice");
		else if (!spelling || json_object_set_new(seen, spelling, json_true()))
			rc = wcs_fault_set(in->fault, -ENOMEM, "no memory");
		free(spelling);
		if (rc != 0)
			break;
	}
	json_decref(seen);
	return rc;
}

static int row_json_columns(struct row_json *in, const struct wcs_json_at *at, json_t *columns,
			    row_json_column *each)
{
	struct wcs_json_at inner = {.up = at};
	bool plain = true;
	json_t *member;
	int rc;

	if (!json_is_object(columns))
		return row_json_wrong(in, at, "must be an object with a member per column");
	json_object_foreach(columns, inner.name, member)
	{
		struct wcs_slice qualifier;

		rc = row_json_name(in, &inner, inner.name, strlen(inner.name), &qualifier);
		plain = plain && qualifier.data == inner.name;
		if (rc == 0)
			rc = each(in, &inner, at->name, qualifier, member);
		if (rc != 0)
			return rc;
	}
	return plain ? 0 : row_json_distinct(in, at, columns);
}

static int row_json_families(struct row_json *in, const struct wcs_json_at *at, json_t *families,
			     row_json_column *each)
{
	struct wcs_json_at inner = {.up = at};
	json_t *member;
	int rc;

	if (!json_is_object(families))
		return row_json_wrong(in, at, "must be an object with a member per family");
	json_object_foreach(families, inner.name, member)
	{
		if (!wcs_family_name_valid(inner.name))
			return row_json_wrong(in, &inner,
					      "a family's name is 1 to 64 of -_.a-zA-Z0-9");
		if (each == row_json_delete && json_is_true(member)) {
			rc = wcs_mutation_delete_family(in->line.mutation, inner.name);
			rc = row_json_built(in, &inner, rc);
		} else {
			rc = row_json_columns(in, &inner, member, each);
		}
		if (rc != 0)
			return rc;
	}
	return 0;
}

static int row_json_key(struct row_json *in, const struct wcs_json_at *at, const json_t *json)
{
	struct wcs_slice key;
	int rc;

	if (!json_is_string(json))
		return row_json_wrong(in, at, "must be text in quotes");
	rc = row_json_name(in, at, json_string_value(json), json_string_length(json), &key);
	if (rc != 0)
		return rc;
	if (key.len == 0)
		return row_json_wrong(in, at, "must not be empty");
	if (key.len > WCS_ROW_KEY_MAX)
		return wcs_json_fault(in->fault, -ENAMETOOLONG, at, "has at most %u bytes",
				      WCS_ROW_KEY_MAX);
	in->line.key = key;
	return 0;
}

/* Makes the key and the mutation of a row. */
static int row_json_row(struct row_json *in)
{
	static const struct {
		const char *name;
		row_json_column *each;
	} parts[] = {{"families", row_json_cells},
		     {"delete", row_json_delete},
		     {"append", row_json_append},
		     {"increment", row_json_increment},
		     {"if", row_json_if}};
	const size_t count = sizeof(parts) / sizeof(parts[0]);
	struct wcs_json_at at = {0};
	json_t *json;
	int rc = 0;

	in->line.mutation = wcs_mutation_new();
	if (!in->line.mutation)
		return wcs_fault_set(in->fault, -ENOMEM, "no memory");
	json_object_foreach(in->root, at.name, json)
	{
		size_t i = 0;

		while (i < count && strcmp(at.name, parts[i].name) != 0)
			i++;
		if (strcmp(at.name, "key") == 0)
			rc = row_json_key(in, &at, json);
		else if (i == count)
			rc = row_json_wrong(in, &at,
					    "a row has only key, families, delete, append, "
					    "increment and if");
		else if (parts[i].each == row_json_delete && json_is_true(json))
			rc = row_json_built(in, &at, wcs_mutation_delete_row(in->line.mutation));
		else
			rc = row_json_families(in, &at, json, parts[i].each);
		if (rc != 0)
			break;
	}
	return rc;
}

/* ---- Lines ------------------------------------------------------------------------------- */

int wcs_line_parse(const char *text, size_t len, struct wcs_line **line, struct wcs_fault *fault)
{
	struct row_json *in = malloc(sizeof(*in) + len);
	struct wcs_json_at at = {.name = "table"};
	const json_t *table;
	const char *name;
	int rc;

	if (!in)
		return wcs_fault_set(fault, -ENOMEM, "no memory");
	*in = (struct row_json){.fault = fault};
	rc = wcs_json_parse(text, len, &in->root, fault);
	table = json_object_get(in->root, "table");
	if (table) {
		in->line.kind = WCS_LINE_TABLE;
		in->line.table = name = json_string_value(table);
		if (json_object_size(in->root) != 1)
			rc = row_json_wrong(in, &at, "must stand alone in its line");
		else if (!name || strlen(name) != json_string_length(table) ||
			 !wcs_table_name_valid(name))
			rc = row_json_wrong(in, &at, "must be a table's name in quotes");
	} else if (json_object_get(in->root, "version") || json_object_get(in->root, "tables")) {
		in->line.kind = WCS_LINE_SCHEMA;
		rc = wcs_schema_parse(text, len, &in->line.schema, fault);
	} else if (rc == 0) {
		in->line.kind = WCS_LINE_ROW;
		rc = row_json_row(in);
	}
	if (rc == 0)
		*line = &in->line;
	else
		wcs_line_free(&in->line);
	return rc;
}

void wcs_line_free(struct wcs_line *line)
{
	struct row_json *in = (struct row_json *)line;

	if (!line)
		return;
	wcs_mutation_free(line->mutation);
	wcs_schema_free(line->schema);
	json_decref(in->root);
	free(in);
}
