/* SPDX-License-Identifier: MIT */
/*
 * Judges the cells: their keys, records, tables and families. Large values are added to the
 * temporary database, from which fsck_values.c reads them by id.
 *
 * Cells of a table without description make the table lost-N; cells of a family that their table
 * does not have make that family. They are reported once for each family, with their number.
 */
#include "store/leveldb/fsck/fsck_keys.h"

#include <inttypes.h>
#include <stdio.h>

#include "lib/system/message.h"
#include "store/keys/keys.h"

struct ldb_fsck_cells {
	uint32_t id;		      /* of the present table; 0: none yet */
	struct ldb_fsck_table *table; /* valid until a table is added */
	bool added;		      /* it had no description */
	struct ldb_buffer row, key;   /* the last row's prefix; a key with another table */
	size_t lost_count, lost_room;
	struct cells_lost {
		char family[WCS_FAMILY_NAME_MAX + 1];
		uint64_t count;
	} * lost; /* families of the present table */
};

/* ---- Text -------------------------------------------------------------------------------- */

enum { CELLS_PLACE_PART = 240 /* shown bytes of a row key or qualifier */ };

const char *ldb_fsck_cell_place(struct ldb_fsck *f, struct wcs_slice key)
{
	static unsigned char bytes[WCS_QUALIFIER_MAX]; /* of one thread, as all of the check */
	char row[CELLS_PLACE_PART], qualifier[CELLS_PLACE_PART], name[WCS_TABLE_NAME_MAX + 1];
	const struct ldb_fsck_table *table;
	const struct wcs_keys *keys;
	struct ldb_key_parts parts;
	struct wcs_slice stored;

	ldb_key_split(key.data, key.len, &parts);
	table = ldb_fsck_find(f, parts.table);
	keys = table ? table->schema.keys : NULL;
	stored = (struct wcs_slice){bytes, ldb_key_get_row(key.data, &parts, bytes)};
	ldb_fsck_table_name(f, parts.table, name);
	ldb_fsck_print(row, sizeof(row), keys, wcs_keys_unsalted(keys, stored));
	ldb_fsck_print(qualifier, sizeof(qualifier), NULL,
		       (struct wcs_slice){bytes, ldb_key_get_qualifier(key.data, &parts, bytes)});
	snprintf(f->place, sizeof(f->place), "table %s, row %s, %s:%s at %" PRId64, name, row,
		 (const char *)key.data + parts.row_end, qualifier, parts.ts);
	return f->place;
}

/* ---- Lost tables and families ------------------------------------------------------------ */

/* Reports the lost families of the present table. */
static int cells_tell(struct ldb_fsck *f)
{
	struct ldb_fsck_cells *cells = f->cells;
	char what[128], place[160];
	int rc = 0;

	for (size_t i = 0; !rc && i < cells->lost_count; i++) {
		const struct cells_lost *lost = &cells->lost[i];

		snprintf(what, sizeof(what), "%" PRIu64 " cell%s of a %s", lost->count,
			 message_plural(lost->count),
			 cells->added ? "table that no description names"
				      : "family that the table does not have");
		snprintf(place, sizeof(place), "table %s, family %s", cells->table->schema.name,
			 lost->family);
		rc = ldb_fsck_found(f, WCS_FOUND_DAMAGE, what,
				    cells->added ? "the table is made, with that family"
						 : "the table has that family now",
				    place);
	}
	cells->lost_count = 0;
	return rc;
}

static int cells_enter_table(struct ldb_fsck *f, uint32_t id)
{
	struct ldb_fsck_cells *cells = f->cells;
	int rc = cells_tell(f);

	cells->table = ldb_fsck_find(f, id);
	cells->added = !cells->table;
	if (!rc && cells->added) {
		rc = ldb_fsck_add_table(f, id);
		cells->table = ldb_fsck_find(f, id);
	}
	cells->id = id;
	return rc;
}

/* Adds a family that the present table does not have. */
static int cells_add_family(struct ldb_fsck *f, const char *name)
{
	struct ldb_fsck_cells *cells = f->cells;
	struct cells_lost *lost;

	if (grow(&cells->lost, &cells->lost_room, cells->lost_count + 1, 16, sizeof(*lost)))
		return -ENOMEM;
	lost = &cells->lost[cells->lost_count++];
	lost->count = 0;
	strcpy(lost->family, name);
	return ldb_fsck_add_family(cells->table, name);
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
	f->cells = calloc(1, sizeof(*f->cells));
	return f->cells ? 0 : -ENOMEM;
}

void ldb_fsck_cells_free(struct ldb_fsck *f)
{
	if (!f->cells)
		return;
	free(f->cells->lost);
	free(f->cells->row.data);
	free(f->cells->key.data);
	free(f->cells);
	f->cells = NULL;
}

int ldb_fsck_cells_end(struct ldb_fsck *f)
{
	return cells_tell(f);
}

int ldb_fsck_cell_key(struct ldb_fsck *f, struct wcs_slice *key)
{
	struct ldb_fsck_table *table =
		ldb_fsck_find(f, get_be32((const unsigned char *)key->data + 1));
	uint32_t id = ldb_fsck_table_id(f, table);
	int rc;

	if (id == table->id)
		return 0;
	rc = ldb_buffer_set(&f->cells->key, *key);
	if (!rc) {
		put_be32(f->cells->key.data + 1, id);
		*key = ldb_buffer_slice(&f->cells->key);
	}
	return rc;
}

/* A cell of the present table, whose key and record are good. */
static int cells_judge(struct ldb_fsck *f, struct wcs_slice key, const struct ldb_key_parts *parts,
		       const struct ldb_cell *cell, struct ldb_verdict *verdict)
{
	struct ldb_fsck_cells *cells = f->cells;
	const char *name = (const char *)key.data + parts->row_end;
	const struct wcs_family *family = ldb_fsck_family(cells->table, name);
	struct wcs_slice row = {key.data, parts->row_end};
	struct ldb_fsck_ref ref = {.id = cell->id, .size = cell->size, .cell = key};
	int rc = 0;

	if (!family) {
		rc = cells_add_family(f, name);
		if (rc)
			return rc;
		family = ldb_fsck_family(cells->table, name);
	}
	for (size_t i = 0; i < cells->lost_count; i++)
		cells->lost[i].count += strcmp(cells->lost[i].family, name) == 0;
	f->fsck->result->cells++;
	if (wcs_slice_compare(ldb_buffer_slice(&cells->row), row) != 0) {
		f->fsck->result->rows++;
		rc = ldb_buffer_set(&cells->row, row);
	}
	ref.type = family->type;
	ref.gone = !cells_value_good(family->type, cell);
	if (ref.gone) {
		verdict->drop = true;
		verdict->what = "its value is none of its family's type";
		verdict->place = ldb_fsck_cell_place(f, key);
	}
	if (cell->id > f->last_value)
		f->last_value = cell->id;
	return rc || cell->id == 0 ? rc : ldb_fsck_scratch_refer(f, &ref);
}

int ldb_fsck_cells_one(struct ldb_fsck *f, struct wcs_slice key, struct wcs_slice record,
		       struct ldb_verdict *verdict)
{
	struct ldb_key_parts parts;
	struct ldb_cell cell;
	int rc = 0;

	verdict->drop = true;
	if (ldb_key_split(key.data, key.len, &parts) ||
	    !wcs_family_name_valid((const char *)key.data + parts.row_end)) {
		verdict->what = "a key that is no cell's";
		verdict->place = ldb_fsck_key_place(f, key);
		return 0;
	}
	if (ldb_record_cell_decode(record.data, record.len, &cell) || cell.id > LDB_VALUE_ID_MAX) {
		verdict->what = "its record is damaged";
		verdict->place = ldb_fsck_cell_place(f, key);
		return 0;
	}
	verdict->drop = false;
	if (!f->cells->table || parts.table != f->cells->id)
		rc = cells_enter_table(f, parts.table);
	if (!rc)
		rc = cells_judge(f, key, &parts, &cell, verdict);
	verdict->key = key;
	return rc ? rc : ldb_fsck_cell_key(f, &verdict->key);
}
