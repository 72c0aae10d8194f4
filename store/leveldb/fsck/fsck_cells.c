/* SPDX-License-Identifier: MIT */
/*
 * Checks the cells: their keys, records, tables and families. Large values are added to the index,
 * from which fsck_values.c reads them by id.
 *
 * Cells of a table without description, or of a family that their table does not have, go to the
 * quarantine as rows. They are reported once for each family, with their number.
 */
#include "store/leveldb/fsck/fsck_keys.h"

#include <inttypes.h>
#include <stdio.h>

#include "lib/system/message.h"
#include "store/keys/keys.h"
#include "store/leveldb/extent.h"
#include "store/rows.h"

enum { CELLS_LOST_MAX = 4096 /* families of one table that are reported one by one */ };

struct cells_lost {
	char family[WCS_FAMILY_NAME_MAX + 1];
	uint64_t count;
};

struct cells {
	struct ldb_fsck *f;
	uint32_t id;			    /* of the present table */
	const struct ldb_fsck_table *table; /* NULL: it has no description */
	char name[WCS_TABLE_NAME_MAX + 1];
	struct ldb_buffer row; /* the last row's prefix */
	size_t lost_count, lost_room;
	struct cells_lost *lost; /* families of the present table */
};

/* ---- Text -------------------------------------------------------------------------------- */

enum { CELLS_PLACE_PART = 240 /* shown bytes of a row key or qualifier */ };

void ldb_fsck_print(char *to, size_t room, const struct wcs_keys *keys, struct wcs_slice bytes)
{
	char *text = wcs_keys_text(keys, bytes);
	size_t len = text ? strlen(text) : 0;

	if (len < room)
		snprintf(to, room, "%s", text ? text : "");
	else
		snprintf(to, room, "%.*s...", (int)room - 4, text);
	free(text);
}

const char *ldb_fsck_cell_place(struct ldb_fsck *f, struct wcs_slice key,
				const struct ldb_key_parts *parts)
{
	static unsigned char bytes[WCS_QUALIFIER_MAX]; /* of one thread, as all of the check */
	const struct ldb_fsck_table *table = ldb_fsck_find(f, parts->table);
	const struct wcs_keys *keys = table ? table->schema.keys : NULL;
	char row[CELLS_PLACE_PART], qualifier[CELLS_PLACE_PART], name[WCS_TABLE_NAME_MAX + 1];
	struct wcs_slice stored = {bytes, ldb_key_get_row(key.data, parts, bytes)};

	ldb_fsck_table_name(f, parts->table, name);
	ldb_fsck_print(row, sizeof(row), keys, wcs_keys_unsalted(keys, stored));
	ldb_fsck_print(qualifier, sizeof(qualifier), NULL,
		       (struct wcs_slice){bytes, ldb_key_get_qualifier(key.data, parts, bytes)});
	snprintf(f->place, sizeof(f->place), "table %s, row %s, %s:%s at %" PRId64, name, row,
		 (const char *)key.data + parts->row_end, qualifier, parts->ts);
	return f->place;
}

/* ---- Cells as rows ----------------------------------------------------------------------- */

struct cells_value {
	struct ldb_fsck *f;
	const struct ldb_cell *cell;
};

static int cells_read(void *ctx, void *buf, size_t len, uint64_t offset, size_t *got)
{
	struct cells_value *value = ctx;

	return ldb_extent_read(value->f->db, value->cell, buf, len, offset, got);
}

int ldb_fsck_keep_cell(struct ldb_fsck *f, struct wcs_slice key, const struct ldb_key_parts *parts,
		       const struct ldb_cell *cell)
{
	static unsigned char row[WCS_ROW_KEY_MAX], qualifier[WCS_QUALIFIER_MAX];
	const struct ldb_fsck_table *table = ldb_fsck_find(f, parts->table);
	const struct wcs_keys *keys = table ? table->schema.keys : NULL;
	const char *name_of_family = (const char *)key.data + parts->row_end;
	const struct wcs_family *family = table ? ldb_fsck_family(table, name_of_family) : NULL;
	struct cells_value chunks = {f, cell};
	struct wcs_quarantine_value value = {cells_read, &chunks};
	char name[WCS_TABLE_NAME_MAX + 1];
	struct wcs_cell kept = {
		.row = wcs_keys_unsalted(
			keys, (struct wcs_slice){row, ldb_key_get_row(key.data, parts, row)}),
		.family = {name_of_family, parts->family_end - parts->row_end - 1},
		.qualifier = {qualifier, ldb_key_get_qualifier(key.data, parts, qualifier)},
		.info = {.ts = parts->ts, .size = cell->size},
		.value = {cell->data, cell->id ? 0 : (size_t)cell->size}};

	ldb_fsck_table_name(f, parts->table, name);
	return wcs_quarantine_cell(f->fsck->quarantine, name, keys,
				   family ? family->type : WCS_BYTES, &kept, &value);
}

/* ---- Lost tables and families ------------------------------------------------------------ */

/* Reports the lost families of the present table. */
static void cells_tell(struct cells *cells)
{
	struct ldb_fsck *f = cells->f;
	const char *done = NULL;
	char what[128];

	if (cells->lost_count > 0 && ldb_fsck_may(f))
		done = LDB_FSCK_ROWS;
	for (size_t i = 0; i < cells->lost_count; i++) {
		const struct cells_lost *lost = &cells->lost[i];

		snprintf(what, sizeof(what), "%" PRIu64 " cell%s of a %s", lost->count,
			 message_plural(lost->count),
			 cells->table ? "family that the table does not have"
				      : "table that no description names");
		wcs_fsck_found(f->fsck, WCS_FOUND_DAMAGE, what, done, "table %s, family %s",
			       cells->name, lost->family);
	}
	cells->lost_count = 0;
}

/* Counts a cell of a lost family; before its first the quarantine gets a schema line with it. */
static int cells_lost_family(struct cells *cells, const char *name)
{
	struct wcs_family family = {.type = WCS_TYPE_NONE};
	struct wcs_table_schema table = {.family_count = 1, .families = &family};
	struct wcs_schema schema = {.table_count = 1, .tables = &table};
	struct cells_lost *lost;
	char *line;
	int rc;

	for (size_t i = 0; i < cells->lost_count; i++) {
		lost = &cells->lost[i];
		if (strcmp(lost->family, name) == 0) {
			lost->count++;
			return 0;
		}
	}
	if (cells->lost_count == CELLS_LOST_MAX)
		cells_tell(cells); /* some may be reported twice then */
	if (grow(&cells->lost, &cells->lost_room, cells->lost_count + 1, 16, sizeof(*lost)))
		return -ENOMEM;
	lost = &cells->lost[cells->lost_count++];
	lost->count = 1;
	strcpy(lost->family, name);
	if (!ldb_fsck_may(cells->f))
		return 0;
	strcpy(family.name, name);
	strcpy(table.name, cells->name);
	line = wcs_schema_line(&schema);
	rc = line ? wcs_quarantine_more_schema(cells->f->fsck->quarantine, line) : -ENOMEM;
	free(line);
	return rc;
}

/* A cell: its key, the key's parts, its record, and that decoded. */
struct cells_cell {
	struct wcs_slice key, record;
	struct ldb_key_parts parts;
	struct ldb_cell cell;
};

static int cells_refer(struct cells *cells, const struct cells_cell *cell, enum ldb_fsck_ref ref)
{
	return ldb_fsck_refer(cells->f, cell->cell.id, ref, cell->cell.size, cell->key);
}

/* Takes a cell of a lost family out of the store; fsck_values.c takes one with a large value. */
static int cells_take_lost(struct cells *cells, const struct cells_cell *cell)
{
	struct ldb_fsck *f = cells->f;
	int rc = cells_lost_family(cells, (const char *)cell->key.data + cell->parts.row_end);

	if (!rc && cell->cell.id != 0)
		return cells_refer(cells, cell, ldb_fsck_may(f) ? LDB_REF_LOST : LDB_REF_CELL);
	if (!rc && ldb_fsck_may(f)) {
		rc = ldb_fsck_keep_cell(f, cell->key, &cell->parts, &cell->cell);
		if (!rc)
			rc = ldb_fsck_delete(f, cell->key);
	}
	return rc;
}

/* ---- Values ------------------------------------------------------------------------------ */

/* Is the value of the family's type? fsck_values.c reports one that cannot be read. */
static bool cells_value_good(struct cells *cells, enum wcs_type type, const struct ldb_cell *cell)
{
	static unsigned char bytes[WCS_AGGREGATE_VALUE_MAX];
	struct wcs_slice value = {cell->data, (size_t)cell->size};
	int64_t number;
	size_t got;

	if (type == WCS_BYTES)
		return true;
	if (cell->size > sizeof(bytes))
		return false;
	if (cell->id != 0) {
		if (ldb_extent_read(cells->f->db, cell, bytes, sizeof(bytes), 0, &got))
			return true;
		value = (struct wcs_slice){bytes, got};
	}
	return wcs_aggregate_number(type, value, &number) == 0;
}

static int cells_value(struct cells *cells, const struct cells_cell *cell, enum wcs_type type)
{
	struct ldb_fsck *f = cells->f;
	enum ldb_fsck_ref ref = LDB_REF_CELL;
	int rc = 0;

	if (!cells_value_good(cells, type, &cell->cell)) {
		rc = ldb_fsck_take(f, WCS_FOUND_DAMAGE, "its value is none of its family's type",
				   ldb_fsck_cell_place(f, cell->key, &cell->parts), cell->key,
				   cell->record);
		ref = ldb_fsck_may(f) ? LDB_REF_RAW : LDB_REF_CELL;
	}
	return rc || cell->cell.id == 0 ? rc : cells_refer(cells, cell, ref);
}

/* ---- The pass ---------------------------------------------------------------------------- */

static void cells_enter_table(struct cells *cells, uint32_t id)
{
	cells_tell(cells);
	cells->id = id;
	cells->table = ldb_fsck_find(cells->f, id);
	ldb_fsck_table_name(cells->f, id, cells->name);
}

static int cells_one(void *ctx, struct wcs_slice key, struct wcs_slice record)
{
	struct cells *cells = ctx;
	struct ldb_fsck *f = cells->f;
	struct cells_cell cell = {.key = key, .record = record};
	const struct wcs_family *family = NULL;
	struct wcs_slice row;
	int rc = 0;

	if (ldb_key_split(key.data, key.len, &cell.parts) ||
	    !wcs_family_name_valid((const char *)key.data + cell.parts.row_end))
		return ldb_fsck_take(f, WCS_FOUND_DAMAGE, "a key that is no cell's",
				     ldb_fsck_key_place(f, key), key, record);
	if (ldb_record_cell_decode(record.data, record.len, &cell.cell))
		return ldb_fsck_take(f, WCS_FOUND_DAMAGE, "its record is damaged",
				     ldb_fsck_cell_place(f, key, &cell.parts), key, record);
	if (cell.parts.table != cells->id)
		cells_enter_table(cells, cell.parts.table);
	if (cell.cell.id > f->last_value)
		f->last_value = cell.cell.id;
	if (cells->table)
		family = ldb_fsck_family(cells->table, (const char *)key.data + cell.parts.row_end);
	if (!family)
		return cells_take_lost(cells, &cell);
	f->fsck->result->cells++;
	row = (struct wcs_slice){key.data, cell.parts.row_end};
	if (wcs_slice_compare(ldb_buffer_slice(&cells->row), row) != 0) {
		f->fsck->result->rows++;
		rc = ldb_buffer_set(&cells->row, row);
	}
	return rc ? rc : cells_value(cells, &cell, family->type);
}

int ldb_fsck_cells(struct ldb_fsck *f)
{
	struct cells cells = {.f = f};
	int rc;

	cells_enter_table(&cells, 0);
	rc = ldb_fsck_pass(f, 'c', "cells", cells_one, &cells);
	if (!rc)
		cells_tell(&cells);
	free(cells.lost);
	free(cells.row.data);
	return rc;
}
