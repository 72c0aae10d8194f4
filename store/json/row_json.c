/* SPDX-License-Identifier: MIT */
/*
 * Parses lines of JSON: the members tell whether it is a row, a table line or a schema line. A line
 * owns all bytes that its mutation borrows.
 */
#include "store/json/row_json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/backend.h"

static int row_json_table(struct wcs_line *line, struct wcs_fault *fault)
{
	struct wcs_json_at at = {.name = "table"};
	const json_t *json = json_object_get(line->root, at.name);
	const char *name = json_string_value(json);

	if (json_object_size(line->root) != 1)
		return wcs_json_fault(fault, -EINVAL, &at, "must stand alone in its line");
	if (!name || strlen(name) != json_string_length(json) || !wcs_table_name_valid(name))
		return wcs_json_fault(fault, -EINVAL, &at, "must be a table's name in quotes");
	line->kind = WCS_LINE_TABLE;
	line->table = name;
	return 0;
}

static int row_json_line(struct wcs_line *line, const char *text, size_t len,
			 struct wcs_fault *fault)
{
	int rc = wcs_json_parse(text, len, &line->root, fault);

	if (rc)
		return rc;
	if (json_object_get(line->root, "table"))
		return row_json_table(line, fault);
	if (json_object_get(line->root, "version") || json_object_get(line->root, "tables")) {
		line->kind = WCS_LINE_SCHEMA;
		return wcs_schema_parse(text, len, &line->schema, fault);
	}
	line->kind = WCS_LINE_ROW;
	return wcs_row_json_read(line, fault);
}

int wcs_line_parse(const char *text, size_t len, struct wcs_line **line, struct wcs_fault *fault)
{
	struct wcs_line *made = calloc(1, sizeof(*made));
	int rc;

	if (!made)
		return wcs_fault_set(fault, -ENOMEM, "no memory");
	rc = row_json_line(made, text, len, fault);
	if (rc) {
		wcs_line_free(made);
		return rc;
	}
	*line = made;
	return 0;
}

void wcs_line_free(struct wcs_line *line)
{
	if (!line)
		return;
	wcs_mutation_free(line->mutation);
	wcs_schema_free(line->schema);
	while (line->pieces) {
		struct wcs_row_json_piece *piece = line->pieces;

		line->pieces = piece->next;
		free(piece);
	}
	json_decref(line->root);
	free(line);
}

enum wcs_line_kind wcs_line_kind(const struct wcs_line *line)
{
	return line->kind;
}

const char *wcs_line_table(const struct wcs_line *line)
{
	return line->table;
}

const struct wcs_schema *wcs_line_schema(const struct wcs_line *line)
{
	return line->schema;
}

struct wcs_slice wcs_line_key(const struct wcs_line *line)
{
	return line->key;
}

struct wcs_mutation *wcs_line_mutation(const struct wcs_line *line)
{
	return line->mutation;
}
