/* SPDX-License-Identifier: MIT */
/*
 * Rows as streams of text: the cells of a scan are spelled into the reader's memory. A step that
 * may not fit there is spelled into a room, and the reader gets it in parts.
 *
 * - One scan gives a subtree, so all of it is of one moment.
 * - A large value is read twice, in pieces: the first pass finds out whether it is UTF-8, which
 *   its member's name depends on. Memory does not grow with a row or value.
 * - A step has a bound of the bytes that it writes, which is known before it is taken.
 * - A row with more text than WCS_EXPORT_LINE_MAX takes several lines, which bounds the memory
 *   that a reader of lines needs.
 */
#include "store/backend.h"
#include "store/chain/chain.h"
#include "store/engine/engine.h"
#include "store/json/row_json_write.h"
#include "store/rows.h"
#include "store/table/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(WCS_AGGREGATE_VALUE_MAX < WCS_ROW_VALUE_READ &&
		       WCS_AGGREGATE_VALUE_MAX / 3 * 4 + 64 <
			       WCS_ROW_WRITE_VALUE(WCS_ROW_VALUE_PIECE),
	       "one step reads and spells a state");
_Static_assert(WCS_EXPORT_LINE_MAX + WCS_ROW_WRITE_HEAD + WCS_ROW_WRITE_VALUE(WCS_VALUE_MAX) <
		       WCS_IMPORT_LINE_MOST,
	       "every line can be read back");
#define EXPORT_ROOM (WCS_ROW_WRITE_HEAD + WCS_ROW_WRITE_VALUE(WCS_ROW_VALUE_PIECE) + 64u)

enum export_step {
	EXPORT_FIND = 0, /* the next cell */
	EXPORT_CELL,	 /* spells it */
	EXPORT_VALUE,	 /* spells a piece of its value */
	EXPORT_FINISH,
};

struct wcs_export {
	enum wcs_export_kind kind;
	struct wcs_table *table; /* a handle of its own */
	int state;		 /* 1: more steps follow; 0: the end; or an error */
	enum export_step step;	 /* the next one */
	struct wcs_scan *scan;
	struct wcs_cell cell; /* the last one found */

	struct wcs_table_schema schema; /* when it was opened; its policies are not read */
	enum wcs_type type;		/* of the last cell's family */

	struct wcs_row_value value; /* the present large one; no memory before the first */

	size_t start, end; /* of the unread text in room */
	struct wcs_row_writer writer;
	unsigned char *room; /* EXPORT_ROOM bytes; NULL: not needed so far */
};

/* ---- Opening ----------------------------------------------------------------------------- */

/* A type changes only while its family has no cell, so these are the types of the scan's cells. */
static int export_families(struct wcs_export *exported, struct wcs_table *table)
{
	int rc = table_enter(table);

	if (rc != 0)
		return rc == -ENOENT ? 0 : rc;
	rc = table_describe(table, table->families, table->family_count, &exported->schema);
	table_leave(table);
	return rc;
}

int wcs_export_open(struct wcs_table *table, const struct wcs_slice *key, enum wcs_export_kind kind,
		    struct wcs_chain *chain, struct wcs_export **exported)
{
	static const enum wcs_each each[] = {
		[WCS_EXPORT_KEYS] = WCS_EACH_ROW, [WCS_EXPORT_CELLS] = WCS_EACH_COLUMN};
	struct wcs_filter filter = {.each = WCS_EACH_CELL, .chain = chain};
	bool one_row = kind == WCS_EXPORT_ROW || kind == WCS_EXPORT_LOOK;
	struct wcs_subtree subtree;
	struct wcs_export *made;
	int rc;

	if ((unsigned int)kind > WCS_EXPORT_CELLS || (one_row && key == NULL))
		return -EINVAL;
	filter.each = each[kind];
	filter.uncounted = kind == WCS_EXPORT_LOOK;
	made = calloc(1, sizeof(*made));
	if (made == NULL)
		return -ENOMEM;
	made->kind = kind;
	made->table = table_hold(table);
	made->state = 1;
	made->writer.line_max = kind == WCS_EXPORT_ROWS ? WCS_EXPORT_LINE_MAX : 0;
	made->writer.keys = wcs_chain_raw(chain) ? NULL : wcs_table_keys(table);
	rc = wcs_subtree_init(&subtree, key, wcs_table_delimiter(table));
	if (rc == 0)
		rc = wcs_scan_open(table, subtree.ranges, one_row ? 1 : subtree.count, &filter,
				   &made->scan);
	if (rc == 0 && kind != WCS_EXPORT_KEYS)
		rc = export_families(made, table);
	if (rc != 0) {
		wcs_export_close(made);
		return rc;
	}
	*exported = made;
	return 0;
}

void wcs_export_close(struct wcs_export *exported)
{
	if (exported == NULL)
		return;
	wcs_scan_close(exported->scan);
	wcs_table_close(exported->table);
	free(exported->schema.families);
	free(exported->value.bytes);
	free(exported->room);
	free(exported);
}

/* ---- Large values ------------------------------------------------------------------------ */

static int export_read_value(void *ctx, void *buf, size_t len, uint64_t offset, size_t *got)
{
	return wcs_scan_read(ctx, buf, len, offset, got);
}

/* A state is small enough for one step. */
static int export_state(struct wcs_export *exported, const struct wcs_cell *cell)
{
	struct wcs_slice state;
	int64_t estimate;
	size_t got = 0;
	int rc;

	if (cell->info.size > WCS_AGGREGATE_VALUE_MAX)
		return -EIO;
	rc = wcs_scan_read(exported->scan, exported->value.bytes, WCS_ROW_VALUE_READ, 0, &got);
	if (rc != 0)
		return rc;
	state = (struct wcs_slice){exported->value.bytes, got};
	if (wcs_aggregate_number(WCS_INTHLL, state, &estimate) != 0)
		return -EIO;
	wcs_row_write_state(&exported->writer, estimate, state);
	return 0;
}

/* Spells the next piece of the value. */
static int export_piece(struct wcs_export *exported)
{
	int rc = wcs_row_value_piece(&exported->writer, &exported->value);

	if (rc == 0)
		exported->step = EXPORT_FIND;
	return rc < 0 ? rc : 0;
}

/* ---- Steps ------------------------------------------------------------------------------- */

int wcs_export_cell(struct wcs_export *exported, struct wcs_cell *cell)
{
	return wcs_scan_next(exported->scan, cell);
}

static int export_cell(struct wcs_export *exported, const struct wcs_cell *cell)
{
	struct wcs_row_writer *writer = &exported->writer;

	exported->step = EXPORT_FIND;
	if (exported->kind == WCS_EXPORT_KEYS) {
		wcs_row_write_key(writer, cell->row);
		return 0;
	}
	if (wcs_row_write_cell(writer, cell, cell->differs)) { /* another family */
		const struct wcs_family *known =
			wcs_schema_family(&exported->schema, cell->family.data, cell->family.len);

		exported->type = known ? known->type : WCS_BYTES;
	}
	writer->row_bytes += cell->info.size;
	if (exported->kind == WCS_EXPORT_LOOK && writer->row_bytes > WCS_EXPORT_LOOK_MAX)
		return -EFBIG;
	store_weigh_row(exported->table, writer->row_bytes, cell->info.size);
	if (exported->type != WCS_INTHLL && cell->info.size <= WCS_VALUE_INLINE) {
		wcs_row_write_value(writer, cell->value, exported->type);
		return 0;
	}
	if (exported->value.bytes == NULL)
		exported->value.bytes = malloc(WCS_ROW_VALUE_READ + 3);
	if (exported->value.bytes == NULL)
		return -ENOMEM;
	if (exported->type == WCS_INTHLL)
		return export_state(exported, cell);
	exported->step = EXPORT_VALUE;
	exported->value.read = export_read_value;
	exported->value.ctx = exported->scan;
	exported->value.size = cell->info.size;
	exported->value.text = WCS_TEXT_UNKNOWN;
	return wcs_row_value_begin(writer, &exported->value);
}

/* Finds the next step. Is there one, and does its text fit into that room with all that it may
 * overwrite behind it? */
static inline bool export_fits(struct wcs_export *exported, size_t room)
{
	const struct wcs_cell *cell = &exported->cell;
	size_t value;
	int rc;

	if (exported->state > 0 && exported->step == EXPORT_FIND) {
		rc = wcs_export_cell(exported, &exported->cell);
		exported->step = rc > 0 ? EXPORT_CELL : EXPORT_FINISH;
		if (rc < 0)
			exported->state = rc;
	}
	value = cell->info.size <= WCS_VALUE_INLINE ? cell->value.len : WCS_ROW_VALUE_PIECE;
	return exported->state > 0 &&
	       wcs_row_write_head(&exported->writer, cell) + WCS_ROW_WRITE_VALUE(value) <= room;
}

static inline void export_take_step(struct wcs_export *exported)
{
	int rc = 0;

	if (exported->step == EXPORT_CELL)
		rc = export_cell(exported, &exported->cell);
	else if (exported->step == EXPORT_VALUE)
		rc = export_piece(exported);
	else
		wcs_row_write_finish(&exported->writer);
	exported->state = rc == 0 ? exported->step != EXPORT_FINISH : rc;
}

/* Takes the steps whose text surely fits into len bytes, and returns how many bytes it has; or
 * takes one in the room, which is empty. */
static size_t export_fill(struct wcs_export *exported, unsigned char *to, size_t len)
{
	struct wcs_row_writer *writer = &exported->writer;
	size_t made = 0;

	wcs_row_write_to(writer, to);
	while (export_fits(exported, len - made)) {
		export_take_step(exported);
		made = (size_t)(writer->to - to);
	}
	if (made == 0 && exported->state > 0 && exported->room == NULL) {
		exported->room = malloc(EXPORT_ROOM);
		if (exported->room == NULL)
			exported->state = -ENOMEM;
	}
	if (made == 0 && exported->state > 0) {
		wcs_row_write_to(writer, exported->room);
		export_take_step(exported);
		exported->start = 0;
		exported->end = (size_t)(writer->to - exported->room);
	}
	return made;
}

int wcs_export_value(struct wcs_export *exported, void *buf, size_t len, uint64_t offset,
		     size_t *got)
{
	return wcs_scan_read(exported->scan, buf, len, offset, got);
}

int wcs_export_read(struct wcs_export *exported, void *buf, size_t len, size_t *got)
{
	unsigned char *to = buf;
	size_t made = 0;

	while (made < len) {
		size_t some = exported->end - exported->start;

		if (some == 0) {
			if (exported->state <= 0)
				break;
			made += export_fill(exported, to + made, len - made);
			continue;
		}
		if (some > len - made)
			some = len - made;
		memcpy(to + made, exported->room + exported->start, some);
		exported->start += some;
		made += some;
	}
	if (made == 0 && len > 0 && exported->state < 0)
		return exported->state;
	*got = made;
	return 0;
}
