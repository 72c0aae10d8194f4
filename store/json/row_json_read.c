/* SPDX-License-Identifier: MIT */
/*
 * Makes a mutation of the tree of a row object. The mutation borrows families, plain qualifiers and
 * text values from the tree, and decoded ones from the pieces of the line.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/backend.h"
#include "store/json/row_json.h"
#include "store/mutation.h"
#include "store/text.h"

struct row_json {
	struct wcs_line *line;
	struct wcs_fault *fault;
};

/* The value of a cell, as its members give it. */
struct row_json_given {
	enum wcs_form form;
	struct wcs_slice value;
	int64_t number;
	bool valued; /* "value" or "base64" came */
};

/* Takes the JSON of one column below "families", "delete" and so on. */
typedef int row_json_column(struct row_json *in, const struct wcs_json_at *at, const char *family,
			    struct wcs_slice qualifier, const json_t *json);

static unsigned char *row_json_piece(struct wcs_line *line, size_t len)
{
	struct wcs_row_json_piece *piece = malloc(sizeof(*piece) + len);

	if (!piece)
		return NULL;
	piece->next = line->pieces;
	line->pieces = piece;
	return piece->bytes;
}

static int row_json_no_memory(const struct row_json *in)
{
	return wcs_fault_set(in->fault, -ENOMEM, "no memory");
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
		return row_json_no_memory(in);
	default:
		return wcs_json_fault(in->fault, rc, at, "cannot be in a row: %s", strerror(-rc));
	}
}

/* A key or a qualifier as it is spelled in JSON. The bytes are never NULL. */
static int row_json_name(struct row_json *in, const struct wcs_json_at *at, const char *text,
			 size_t len, struct wcs_slice *name)
{
	unsigned char *bytes;

	*name = (struct wcs_slice){.data = text, .len = len};
	if (wcs_text_is_plain(text, len))
		return 0;
	bytes = row_json_piece(in->line, len);
	if (!bytes)
		return row_json_no_memory(in);
	name->data = bytes;
	if (wcs_text_decode(text, len, bytes, &name->len))
		return wcs_json_fault(in->fault, -EINVAL, at,
				      "%% must be followed by two hex digits, 0-9 and A-F");
	return 0;
}

static int row_json_base64(struct row_json *in, const struct wcs_json_at *at, const json_t *json,
			   struct wcs_slice *value)
{
	const char *text = json_string_value(json);
	size_t len = json_string_length(json);
	unsigned char *bytes;

	if (!text)
		return wcs_json_fault(in->fault, -EINVAL, at, "must be base64 in quotes");
	bytes = row_json_piece(in->line, len / 4 * 3);
	if (!bytes)
		return row_json_no_memory(in);
	if (wcs_text_base64_decode(text, len, bytes, &value->len))
		return wcs_json_fault(in->fault, -EINVAL, at, "not base64 with padding");
	value->data = bytes;
	return 0;
}

static int row_json_text(struct row_json *in, const struct wcs_json_at *at, const json_t *json,
			 struct wcs_slice *value)
{
	if (json_is_number(json))
		return wcs_json_fault(in->fault, -EINVAL, at,
				      "a number, but the family holds bytes: put it in quotes");
	if (!json_is_string(json))
		return wcs_json_fault(in->fault, -EINVAL, at, "must be text in quotes");
	value->data = json_string_value(json);
	value->len = json_string_length(json);
	return 0;
}

/* A value whose family is not known yet: text, or an integer. */
static int row_json_value(struct row_json *in, const struct wcs_json_at *at, const json_t *json,
			  struct row_json_given *given)
{
	if (json_is_integer(json)) {
		given->form = WCS_FORM_NUMBER;
		given->number = json_integer_value(json);
		return 0;
	}
	if (json_is_number(json))
		return wcs_json_fault(in->fault, -EINVAL, at,
				      "a number that is not whole: put it in quotes");
	given->form = WCS_FORM_TEXT;
	return row_json_text(in, at, json, &given->value);
}

static int row_json_ts(struct row_json *in, const struct wcs_json_at *at, const json_t *json,
		       int64_t *ts)
{
	if (!json_is_integer(json) || json_integer_value(json) < 0)
		return wcs_json_fault(in->fault, -EINVAL, at,
				      "must be a whole number of microseconds, 0 or more");
	*ts = json_integer_value(json);
	return 0;
}

/* One member of a cell object. */
static int row_json_cell_member(struct row_json *in, const struct wcs_json_at *at,
				const json_t *json, int64_t *ts, struct row_json_given *given,
				struct wcs_slice *state)
{
	bool text = strcmp(at->name, "value") == 0;

	if (strcmp(at->name, "ts") == 0)
		return row_json_ts(in, at, json, ts);
	if (strcmp(at->name, "state") == 0)
		return row_json_base64(in, at, json, state);
	if (!text && strcmp(at->name, "base64") != 0)
		return wcs_json_fault(in->fault, -EINVAL, at,
				      "a cell has only ts, state and value or base64");
	if (given->valued)
		return wcs_json_fault(in->fault, -EINVAL, at,
				      "a cell has value or base64, not both");
	given->valued = true;
	return text ? row_json_value(in, at, json, given)
		    : row_json_base64(in, at, json, &given->value);
}

static int row_json_cell(struct row_json *in, const struct wcs_json_at *at, const char *family,
			 struct wcs_slice qualifier, const json_t *json)
{
	struct row_json_given given = {.form = WCS_FORM_VALUE};
	struct wcs_slice state = {NULL, 0};
	int64_t ts = WCS_TS_SERVER;
	const char *name;
	json_t *member;
	int rc = 0;

	if (!json_is_object(json)) {
		rc = row_json_value(in, at, json, &given);
		given.valued = true;
	}
	json_object_foreach((json_t *)(uintptr_t)json, name, member)
	{
		struct wcs_json_at inner = {.up = at, .name = name};

		rc = row_json_cell_member(in, &inner, member, &ts, &given, &state);
		if (rc)
			break;
	}
	if (!rc && !given.valued && !state.data)
		rc = wcs_json_fault(in->fault, -EINVAL, at, "the cell has no value");
	if (rc)
		return rc;
	if (state.data) /* a value beside it is only its estimate */
		given = (struct row_json_given){.form = WCS_FORM_STATE, .value = state};
	rc = wcs_mutation_set_form(in->line->mutation, family, qualifier, ts, given.form,
				   given.value, given.number);
	return row_json_built(in, at, rc);
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
		return wcs_json_fault(in->fault, -EINVAL, at,
				      json_is_null(json)
					      ? "null is no value; \"delete\" deletes a column"
					      : "must be text, a number or a list of cells");
	json_array_foreach(json, inner.index, cell)
	{
		rc = row_json_cell(in, &inner, family, qualifier, cell);
		if (rc)
			return rc;
	}
	return 0;
}

static int row_json_delete(struct row_json *in, const struct wcs_json_at *at, const char *family,
			   struct wcs_slice qualifier, const json_t *json)
{
	struct wcs_mutation *mutation = in->line->mutation;
	struct wcs_json_at inner = {.up = at};
	json_t *element;
	int64_t ts = 0;
	int rc;

	if (json_is_true(json)) {
		rc = wcs_mutation_delete_column(mutation, family, qualifier);
		return row_json_built(in, at, rc);
	}
	if (!json_is_array(json))
		return wcs_json_fault(in->fault, -EINVAL, at,
				      "must be true or a list of timestamps");
	json_array_foreach(json, inner.index, element)
	{
		rc = row_json_ts(in, &inner, element, &ts);
		if (rc)
			return rc;
		rc = wcs_mutation_delete_cell(mutation, family, qualifier, ts);
		if (rc)
			return row_json_built(in, &inner, rc);
	}
	return 0;
}

static int row_json_append(struct row_json *in, const struct wcs_json_at *at, const char *family,
			   struct wcs_slice qualifier, const json_t *json)
{
	struct wcs_slice data;
	int rc = row_json_text(in, at, json, &data);

	if (rc)
		return rc;
	rc = wcs_mutation_append(in->line->mutation, family, qualifier, data, WCS_TS_NONE);
	return row_json_built(in, at, rc);
}

/* A number, or its digits in quotes. */
static int row_json_integer(struct row_json *in, const struct wcs_json_at *at, const json_t *json,
			    int64_t *number)
{
	int rc = -EINVAL;

	if (json_is_integer(json)) {
		*number = json_integer_value(json);
		return 0;
	}
	if (json_is_string(json))
		rc = wcs_integer_parse(json_string_value(json), json_string_length(json), number);
	if (rc == -EOVERFLOW)
		return wcs_json_fault(in->fault, rc, at, "an integer beyond 64 bits");
	return rc ? wcs_json_fault(in->fault, rc, at, "must be a whole number") : 0;
}

static int row_json_increment(struct row_json *in, const struct wcs_json_at *at, const char *family,
			      struct wcs_slice qualifier, const json_t *json)
{
	int64_t delta;
	int rc = row_json_integer(in, at, json, &delta);

	if (rc)
		return rc;
	rc = wcs_mutation_increment(in->line->mutation, family, qualifier, delta);
	return row_json_built(in, at, rc);
}

static int row_json_if(struct row_json *in, const struct wcs_json_at *at, const char *family,
		       struct wcs_slice qualifier, const json_t *json)
{
	struct row_json_given given = {.form = WCS_FORM_VALUE};
	int rc;

	if (json_is_null(json)) {
		rc = wcs_mutation_if(in->line->mutation, family, qualifier, NULL);
		return row_json_built(in, at, rc);
	}
	rc = row_json_value(in, at, json, &given);
	if (rc)
		return rc;
	rc = wcs_mutation_if_form(in->line->mutation, family, qualifier, given.form, given.value,
				  given.number);
	return row_json_built(in, at, rc);
}

/* Two names may be spelled differently and be the same column. Runs only where a name of the
 * object has an escape. */
static int row_json_distinct(struct row_json *in, const struct wcs_json_at *at, json_t *columns)
{
	json_t *seen = json_object(), *member;
	const char *name;
	int rc = 0;

	json_object_foreach(columns, name, member)
	{
		struct wcs_json_at inner = {.up = at, .name = name};
		struct wcs_slice bytes;
		char *spelling;

		rc = row_json_name(in, &inner, name, strlen(name), &bytes);
		if (rc)
			break;
		spelling = wcs_text_encode(bytes);
		if (spelling && json_object_get(seen, spelling))
			rc = wcs_json_fault(in->fault, -EINVAL, &inner, "named twice");
		else if (!spelling || json_object_set_new(seen, spelling, json_true()))
			rc = row_json_no_memory(in);
		free(spelling);
		if (rc)
			break;
	}
	json_decref(seen);
	return rc;
}

static int row_json_columns(struct row_json *in, const struct wcs_json_at *at, json_t *columns,
			    row_json_column *each)
{
	bool plain = true;
	const char *name;
	json_t *member;
	int rc;

	if (!json_is_object(columns))
		return wcs_json_fault(in->fault, -EINVAL, at,
				      "must be an object with a member per column");
	json_object_foreach(columns, name, member)
	{
		struct wcs_json_at inner = {.up = at, .name = name};
		struct wcs_slice qualifier;
		size_t len = strlen(name);

		rc = row_json_name(in, &inner, name, len, &qualifier);
		if (rc)
			return rc;
		plain = plain && qualifier.data == name;
		rc = each(in, &inner, at->name, qualifier, member);
		if (rc)
			return rc;
	}
	return plain ? 0 : row_json_distinct(in, at, columns);
}

static int row_json_families(struct row_json *in, const struct wcs_json_at *at, json_t *families,
			     row_json_column *each)
{
	const char *name;
	json_t *member;
	int rc;

	if (!json_is_object(families))
		return wcs_json_fault(in->fault, -EINVAL, at,
				      "must be an object with a member per family");
	json_object_foreach(families, name, member)
	{
		struct wcs_json_at inner = {.up = at, .name = name};

		if (!wcs_family_name_valid(name))
			return wcs_json_fault(in->fault, -EINVAL, &inner,
					      "a family's name is 1 to 64 of -_.a-zA-Z0-9");
		if (each == row_json_delete && json_is_true(member)) {
			rc = wcs_mutation_delete_family(in->line->mutation, name);
			rc = row_json_built(in, &inner, rc);
		} else {
			rc = row_json_columns(in, &inner, member, each);
		}
		if (rc)
			return rc;
	}
	return 0;
}

static int row_json_key(struct row_json *in, const struct wcs_json_at *at, const json_t *json)
{
	struct wcs_slice key;
	int rc;

	if (!json_is_string(json))
		return wcs_json_fault(in->fault, -EINVAL, at, "must be text in quotes");
	rc = row_json_name(in, at, json_string_value(json), json_string_length(json), &key);
	if (rc)
		return rc;
	if (key.len == 0)
		return wcs_json_fault(in->fault, -EINVAL, at, "must not be empty");
	if (key.len > WCS_ROW_KEY_MAX)
		return wcs_json_fault(in->fault, -ENAMETOOLONG, at, "has at most %u bytes",
				      WCS_ROW_KEY_MAX);
	in->line->key = key;
	return 0;
}

static int row_json_member(struct row_json *in, const struct wcs_json_at *at, json_t *json)
{
	static const struct {
		const char *name;
		row_json_column *each;
	} parts[] = {{"families", row_json_cells},
		     {"delete", row_json_delete},
		     {"append", row_json_append},
		     {"increment", row_json_increment},
		     {"if", row_json_if}};

	if (strcmp(at->name, "key") == 0)
		return row_json_key(in, at, json);
	if (strcmp(at->name, "delete") == 0 && json_is_true(json))
		return row_json_built(in, at, wcs_mutation_delete_row(in->line->mutation));
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strcmp(at->name, parts[i].name) == 0)
			return row_json_families(in, at, json, parts[i].each);
	return wcs_json_fault(in->fault, -EINVAL, at,
			      "a row has only key, families, delete, append, increment and if");
}

int wcs_row_json_read(struct wcs_line *line, struct wcs_fault *fault)
{
	struct row_json in = {.line = line, .fault = fault};
	const char *name;
	json_t *member;

	line->mutation = wcs_mutation_new();
	if (!line->mutation)
		return row_json_no_memory(&in);
	json_object_foreach(line->root, name, member)
	{
		struct wcs_json_at at = {.name = name};
		int rc = row_json_member(&in, &at, member);

		if (rc)
			return rc;
	}
	return 0;
}
