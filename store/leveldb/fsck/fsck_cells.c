/* SPDX-License-Identifier: MIT */
/*
 * Judges the cells: their keys, records, tables and families.
 *
 * Cells of a table without description make the table lost-N; cells of a family that their table
 * does not have make that family. They are reported once for each family.
 */
#include "store/leveldb/fsck/fsck_keys.h"

#include <stdio.h>

struct ldb_fsck_cells {
	uint32_t id;		       /* of the present table; 0: none yet */
	struct ldb_fsck_table *table;  /* valid until a table is added */
	bool added;		       /* it had no description */
	struct ldb_buffer row, record; /* the last row's prefix; a changed record */
};

/* ---- Lost tables and families ------------------------------------------------------------ */

static int cells_enter_table(struct ldb_fsck *f, uint32_t id)
{
	struct ldb_fsck_cells *cells = f->cells;
	int rc = 0;

	cells->table = ldb_fsck_find(f, id);
	cells->added = !cells->table;
	if (cells->added) {
		rc = ldb_fsck_add_table(f, id);
		cells->table = ldb_fsck_find(f, id);
	}
	cells->id = id;
	return rc;
}

/* Adds a family that the present table does not have. */
static int cells_add_family(struct ldb_fsck *f, const char *name)
{
	struct ldb_fsck_table *table = f->cells->table;
	char place[160];
	int rc = ldb_fsck_add_family(table, name);

	snprintf(place, sizeof(place), "table %s, family %s", table->schema.name, name);
	if (rc)
		return rc;
	if (f->cells->added)
		return ldb_fsck_found(f, WCS_FOUND_DAMAGE,
				      "cells of a table that no description names",
				      "the table is made, with that family", place);
	return ldb_fsck_found(f, WCS_FOUND_DAMAGE, "cells of a family that the table does not have",
			      "the table has that family now", place);
}

/* ---- Values ------------------------------------------------------------------------------ */

/* May the value be of the family's type? fsck_values.c looks into large ones. */
static bool cells_value_good(enum wcs_type type, const struct ldb_cell *cell)
{
	struct wcs_slice value = {cell->data, (size_t)cell->size};
	int64_t number;

	if (type == WCS_BYTES)
		return true;
	if (cell->id != 0)
		return type == WCS_INTHLL && cell->size <= WCS_AGGREGATE_VALUE_MAX;
	return wcs_aggregate_number(type, value, &number) == 0;
}

/* ---- The pass ---------------------------------------------------------------------------- */

int ldb_fsck_cells_start(struct ldb_fsck *f)
{
	ldb_fsck_cells_free(f);
	f->cells = calloc(1, sizeof(*f->cells));
	return f->cells ? 0 : -ENOMEM;
}

void ldb_fsck_cells_free(struct ldb_fsck *f)
{
	if (!f->cells)
		return;
	free(f->cells->row.data);
	free(f->cells->record.data);
	free(f->cells);
	f->cells = NULL;
}

/* Writes a changed record, and under another key the cell of a table whose id leaves no room. */
static int cells_write(struct ldb_fsck *f, struct wcs_slice key, struct wcs_slice record)
{
	uint32_t id = ldb_fsck_table_id(f, f->cells->table);
	int rc = 0;

	if (id == f->cells->id)
		return record.data == f->cells->record.data ? ldb_fsck_put(f, key, record) : 0;
	rc = ldb_buffer_set(&f->key, key);
	if (rc)
		return rc;
	put_be32(f->key.data + 1, id);
	rc = ldb_fsck_put(f, ldb_buffer_slice(&f->key), record);
	return rc ? rc : ldb_fsck_delete(f, key);
}

/* A cell of the present table, whose key and record are good. */
static int cells_judge(struct ldb_fsck *f, struct wcs_slice key, const struct ldb_key_parts *parts,
		       const struct ldb_cell *cell, const char **what)
{
	struct ldb_fsck_cells *cells = f->cells;
	struct wcs_slice row = {key.data, parts->row_end};
	const char *name = (const char *)key.data + parts->row_end;
	const struct wcs_family *family =
		wcs_schema_family(&cells->table->schema, name, strlen(name));
	int rc = family ? 0 : cells_add_family(f, name);

	if (!family)
		family = wcs_schema_family(&cells->table->schema, name, strlen(name));
	if (rc)
		return rc;
	if (!cells_value_good(family->type, cell))
		*what = "its value is none of its family's type";
	if (cell->id > f->last_value && cell->id <= LDB_FSCK_VALUE_MAX)
		f->last_value = cell->id;
	if (cell->id != 0)
		rc = ldb_fsck_value(f, key, cell, family->type, &cells->record, what);
	if (rc || *what)
		return rc;
	f->fsck->result->cells++;
	if (wcs_slice_compare(ldb_buffer_slice(&cells->row), row) == 0)
		return 0;
	f->fsck->result->rows++;
	return ldb_buffer_set(&cells->row, row);
}

int ldb_fsck_cells_one(struct ldb_fsck *f, struct wcs_slice key, struct wcs_slice record,
		       const char **what)
{
	struct ldb_key_parts parts;
	struct ldb_cell cell;
	int rc = 0;

	if (ldb_key_split(key.data, key.len, &parts) ||
	    !wcs_family_name_valid((const char *)key.data + parts.row_end)) {
		*what = "a key that is no cell's";
		return 0;
	}
	f->cells->record.len = 0;
	if (ldb_record_cell_decode(record.data, record.len, &cell)) {
		*what = "its record is damaged";
	} else {
		if (!f->cells->table || parts.table != f->cells->id)
			rc = cells_enter_table(f, parts.table);
		if (!rc)
			rc = cells_judge(f, key, &parts, &cell, what);
	}
	if (rc)
		return rc;
	if (*what) {
		ldb_fsck_cell_place(f, key);
		return 0;
	}
	if (f->cells->record.len > 0)
		record = ldb_buffer_slice(&f->cells->record);
	return cells_write(f, key, record);
}
