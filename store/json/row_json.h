/* SPDX-License-Identifier: MIT */
/* A line of JSON, and the parser of its row object. Private to store/json. */
#ifndef WCS_ROW_JSON_H
#define WCS_ROW_JSON_H

#include "store/json/json.h"

/* Memory for decoded names and values. */
struct wcs_row_json_piece {
	struct wcs_row_json_piece *next;
	unsigned char bytes[];
};

struct wcs_line {
	enum wcs_line_kind kind;
	json_t *root;
	struct wcs_row_json_piece *pieces;
	const char *table;
	struct wcs_schema *schema;
	struct wcs_slice key;
	struct wcs_mutation *mutation; /* borrows from root and pieces */
};

/* Fills key and mutation of a line from the row object in its root. After a failure wcs_line_free
 * releases the parts. */
int wcs_row_json_read(struct wcs_line *line, struct wcs_fault *fault);

#endif
