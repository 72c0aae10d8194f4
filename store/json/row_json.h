/* SPDX-License-Identifier: MIT */
/* What a line of JSON holds, and the part of its parser that reads row objects. Private. */
#ifndef WCS_ROW_JSON_H
#define WCS_ROW_JSON_H

#include "store/json/json.h"

/* Memory for what had to be decoded. */
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

/* Fills key and mutation of a line, which has root only, from the row object in root. On failure
 * wcs_line_free releases what was made so far. */
int wcs_row_json_read(struct wcs_line *line, struct wcs_fault *fault);

#endif
