/* SPDX-License-Identifier: MIT */
/*
 * Rows as streams of text: a scan, whose cells are spelled into a buffer when the reader has taken
 * what was in it.
 *
 * - One scan gives a subtree, so all of it is of one moment; between the row and those below it
 *   the scan seeks.
 * - A value that does not come with its cell is read in pieces, twice: its member's name depends
 *   on whether all of it is UTF-8. So nothing here grows with a row or value.
 * - Each step writes less than the room that it finds.
 * - A row of more text than WCS_EXPORT_LINE_MAX takes several lines, so that who reads one needs no
 *   more memory than for that and a cell.
 */
#include "lib/utf8.h"
#include "store/backend.h"
#include "store/json/row_json_write.h"
#include "store/table/subtree.h"
#include "store/table/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT_FILL  (64u << 10) /* steps go on until so many bytes wait */
#define EXPORT_READ  (64u << 10) /* of a large value at a time; the store keeps it in such parts */
#define EXPORT_PIECE (16u << 10) /* of those, spelled in one step */
_Static_assert(WCS_AGGREGATE_VALUE_MAX < EXPORT_READ &&
		       WCS_AGGREGATE_VALUE_MAX / 3 * 4 + 64 < WCS_ROW_WRITE_VALUE(EXPORT_PIECE),
	       "a state is read and spelled in one step");
_Static_assert(WCS_EXPORT_LINE_MAX + WCS_ROW_WRITE_HEAD + WCS_ROW_WRITE_VALUE(WCS_VALUE_MAX) <
		       WCS_IMPORT_LINE_MOST,
	       "every line can be read back");
#define EXPORT_ROOM (EXPORT_FILL + WCS_ROW_WRITE_HEAD + WCS_ROW_WRITE_VALUE(EXPORT_PIECE) + 64u)

struct export_family {
	char name[WCS_FAMILY_NAME_MAX + 1];
	size_t len;
	enum wcs_type type;
};

struct wcs_export {
	enum wcs_export_kind kind;
	struct wcs_table *table; /* a handle of its own */
	int state;		 /* 1: under way; 0: the end; or an error */
	struct wcs_scan *scan;
	struct wcs_subtree subtree;
	bool below; /* nothing is left to seek */

	struct export_family *families; /* by name */
	size_t family_count;
	enum wcs_type type; /* of the last cell's family */

	/* a large value under way */
	uint64_t value_size, value_at; /* read up to here */
	unsigned char *value;	       /* NULL until the first one comes */
	size_t value_start, value_end; /* bytes that were read and not yet spelled */
	bool in_value;

	size_t start, end; /* of the text that waits in room */
	struct wcs_row_writer writer;
	unsigned char room[EXPORT_ROOM];
};

/* ---- Opening ----------------------------------------------------------------------------- */

static int export_add_family(struct wcs_export *exported, struct wcs_table *table, const char *name)
{
	struct export_family *families;
	struct wcs_family family;
	int rc = wcs_family_get(table, name, &family);

	if (rc != 0)
		return rc == -ENOENT ? 0 : rc; /* removed meanwhile */
	families = realloc(exported->families, (exported->family_count + 1) * sizeof(*families));
	if (families != NULL) {
		exported->families = families;
		families += exported->family_count++;
		strcpy(families->name, name);
		families->len = strlen(name);
		families->type = family.type;
	}
	wcs_family_clear(&family);
	return families != NULL ? 0 : -ENOMEM;
}

/* A type changes only while its family has no cell: what the scan finds is of these. */
static int export_families(struct wcs_export *exported, struct wcs_table *table)
{
	char name[WCS_FAMILY_NAME_MAX + 1];
	const char *after = NULL;
	int rc;

	while ((rc = wcs_family_next(table, after, name)) == 0) {
		rc = export_add_family(exported, table, name);
		if (rc != 0)
			return rc;
		after = name;
	}
	return rc == -ENOENT ? 0 : rc;
}

static int export_scan(struct wcs_export *exported, struct wcs_table *table)
{
	const struct wcs_subtree *subtree = &exported->subtree;
	struct wcs_range range = subtree->ranges[0];
	struct wcs_filter filter = {.each = WCS_EACH_CELL};

	if (exported->kind == WCS_EXPORT_KEYS)
		filter.each = WCS_EACH_ROW;
	exported->below = exported->kind == WCS_EXPORT_ROW || subtree->count == 1;
	if (!exported->below)
		range.end = subtree->ranges[1].end;
	return wcs_scan_open(table, &range, &filter, &exported->scan);
}

int wcs_export_open(struct wcs_table *table, const struct wcs_slice *key, enum wcs_export_kind kind,
		    struct wcs_export **exported)
{
	struct wcs_export *made;
	int rc;

	if ((unsigned int)kind > WCS_EXPORT_ROW || (kind == WCS_EXPORT_ROW && key == NULL))
		return -EINVAL;
	made = malloc(sizeof(*made));
	if (made == NULL)
		return -ENOMEM;
	memset(made, 0, offsetof(struct wcs_export, writer.row));
	made->kind = kind;
	made->table = table_hold(table);
	made->state = 1;
	made->writer.line_max = kind == WCS_EXPORT_ROWS ? WCS_EXPORT_LINE_MAX : 0;
	rc = wcs_subtree_init(&made->subtree, key, wcs_table_delimiter(table));
	if (rc == 0)
		rc = export_scan(made, table);
	if (rc == 0 && kind != WCS_EXPORT_KEYS)
		rc = export_families(made, table);
	if (rc != 0) {
		wcs_export_close(made);
		return rc;
	}
	*exported = made;
	return 0;
}

void wcs_export_set_line_max(struct wcs_export *exported, size_t bytes)
{
	exported->writer.line_max = bytes;
}

void wcs_export_close(struct wcs_export *exported)
{
	if (exported == NULL)
		return;
	wcs_scan_close(exported->scan);
	wcs_table_close(exported->table);
	free(exported->families);
	free(exported->value);
	free(exported);
}

/* ---- Large values ------------------------------------------------------------------------ */

/* Reads the next part of the value behind the `kept` bytes that are at the start of its room. */
static int export_read_value(struct wcs_export *exported, size_t kept)
{
	size_t got = 0;
	int rc = wcs_scan_read(exported->scan, exported->value + kept, EXPORT_READ,
			       exported->value_at, &got);

	if (rc == 0 && got == 0)
		rc = -EIO; /* shorter than its cell says */
	if (rc != 0)
		return rc;
	exported->value_at += got;
	exported->value_start = 0;
	exported->value_end = kept + got;
	return 0;
}

/* Is all of the value UTF-8? */
static int export_check_value(struct wcs_export *exported, bool *text)
{
	size_t kept = 0;

	while (exported->value_at < exported->value_size) {
		int rc = export_read_value(exported, kept);
		size_t good;

		if (rc != 0)
			return rc;
		good = utf8_prefix(exported->value, exported->value_end);
		kept = exported->value_end - good;
		if (kept > 3)
			break;
		memmove(exported->value, exported->value + good, kept);
	}
	*text = kept == 0;
	return 0;
}

static int export_begin_value(struct wcs_export *exported, const struct wcs_cell *cell)
{
	bool text = false;
	int rc;

	if (exported->value == NULL)
		exported->value = malloc(EXPORT_READ + 3);
	if (exported->value == NULL)
		return -ENOMEM;
	exported->value_size = cell->info.size;
	exported->value_at = 0;
	rc = export_check_value(exported, &text);
	if (rc != 0)
		return rc;
	exported->value_at = 0;
	exported->value_start = exported->value_end = 0;
	exported->in_value = true;
	wcs_row_write_begin(&exported->writer, text);
	return 0;
}

static int export_piece(struct wcs_export *exported)
{
	size_t len;

	if (exported->value_start == exported->value_end) {
		int rc = export_read_value(exported, 0);

		if (rc != 0)
			return rc;
	}
	len = exported->value_end - exported->value_start;
	if (len > EXPORT_PIECE)
		len = EXPORT_PIECE;
	wcs_row_write_piece(&exported->writer,
			    (struct wcs_slice){exported->value + exported->value_start, len});
	exported->value_start += len;
	if (exported->value_start == exported->value_end &&
	    exported->value_at == exported->value_size) {
		wcs_row_write_end(&exported->writer);
		exported->in_value = false;
	}
	return 1;
}

/* ---- Steps ------------------------------------------------------------------------------- */

static enum wcs_type export_type(const struct wcs_export *exported, struct wcs_slice family)
{
	for (size_t i = 0; i < exported->family_count; i++) {
		const struct export_family *known = &exported->families[i];

		if (known->len == family.len && memcmp(known->name, family.data, family.len) == 0)
			return known->type;
	}
	return WCS_BYTES;
}

/* Moves from the row's own cells to those of the rows below it. */
static int export_next(struct wcs_export *exported, struct wcs_cell *cell)
{
	const struct wcs_range *ranges = exported->subtree.ranges;
	int rc = wcs_scan_next(exported->scan, cell);

	if (rc != 1 || exported->below || wcs_slice_compare(cell->row, ranges[0].end) < 0)
		return rc;
	exported->below = true;
	if (wcs_slice_compare(cell->row, ranges[1].start) >= 0)
		return rc;
	rc = wcs_scan_seek(exported->scan, ranges[1].start);
	return rc == 0 ? wcs_scan_next(exported->scan, cell) : rc;
}

/* A state is small enough to be read and spelled at once. */
static int export_state(struct wcs_export *exported, const struct wcs_cell *cell)
{
	struct wcs_slice state;
	int64_t estimate;
	size_t got = 0;
	int rc;

	if (exported->value == NULL)
		exported->value = malloc(EXPORT_READ + 3);
	if (exported->value == NULL)
		return -ENOMEM;
	if (cell->info.size > WCS_AGGREGATE_VALUE_MAX)
		return -EIO;
	rc = wcs_scan_read(exported->scan, exported->value, EXPORT_READ, 0, &got);
	if (rc != 0)
		return rc;
	state = (struct wcs_slice){exported->value, got};
	if (wcs_aggregate_number(WCS_INTHLL, state, &estimate) != 0)
		return -EIO;
	wcs_row_write_state(&exported->writer, estimate, state);
	return 1;
}

static int export_cell(struct wcs_export *exported, const struct wcs_cell *cell)
{
	struct wcs_row_writer *writer = &exported->writer;
	int rc;

	if (exported->kind == WCS_EXPORT_KEYS) {
		wcs_row_write_key(writer, cell->row);
		return 1;
	}
	if (!wcs_row_write_same_family(writer, cell))
		exported->type = export_type(exported, cell->family);
	wcs_row_write_cell(writer, cell);
	writer->row_bytes += cell->info.size;
	store_weigh_row(exported->table, writer->row_bytes, cell->info.size);
	if (exported->type == WCS_INTHLL)
		return export_state(exported, cell);
	if (cell->info.size <= WCS_VALUE_INLINE) {
		wcs_row_write_value(writer, cell->value, exported->type);
		return 1;
	}
	rc = export_begin_value(exported, cell);
	return rc == 0 ? 1 : rc;
}

/* Fills the room, whose bytes were all taken. */
static void export_fill(struct wcs_export *exported)
{
	struct wcs_row_writer *writer = &exported->writer;
	struct wcs_cell cell;

	wcs_row_write_to(writer, exported->room);
	while (exported->state > 0 && writer->to < exported->room + EXPORT_FILL) {
		if (exported->in_value) {
			exported->state = export_piece(exported);
			continue;
		}
		exported->state = export_next(exported, &cell);
		if (exported->state > 0)
			exported->state = export_cell(exported, &cell);
		else if (exported->state == 0)
			wcs_row_write_finish(writer);
	}
	exported->start = 0;
	exported->end = (size_t)(writer->to - exported->room);
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
			export_fill(exported);
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
