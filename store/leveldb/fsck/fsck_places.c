/* SPDX-License-Identifier: MIT */
/*
 * Tells places as text: of a cell, and of the rows that a damaged file may have lost. The keys of
 * those cannot be read, but a table is sorted, so they are between the last key before the damage
 * and the first one behind it.
 */
#include "store/leveldb/fsck/fsck_keys.h"

#include <inttypes.h>
#include <stdio.h>

#include "store/keys/keys.h"

enum { LOST_MAX = 1000, PLACES_PART = 240 /* shown bytes of a row key or qualifier */ };

const char *ldb_fsck_cell_place(struct ldb_fsck *f, struct wcs_slice key)
{
	static unsigned char bytes[WCS_QUALIFIER_MAX]; /* of one thread, as all of the check */
	char row[PLACES_PART], qualifier[PLACES_PART], name[WCS_TABLE_NAME_MAX + 1];
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

/* An internal key without its sequence number. */
static struct wcs_slice places_key(struct wcs_slice key)
{
	return (struct wcs_slice){key.data, key.len < 8 ? 0 : key.len - 8};
}

int ldb_fsck_lose(void *ctx, uint64_t number, struct wcs_slice from, struct wcs_slice to)
{
	struct ldb_fsck *f = ctx;
	struct ldb_fsck_lost *lost = f->lost;
	int rc;

	if (f->lost_count == LOST_MAX) { /* the last one is all rows from now on */
		lost[LOST_MAX - 1].from.len = lost[LOST_MAX - 1].to.len = 0;
		return 0;
	}
	if (grow(&f->lost, &f->lost_room, f->lost_count + 1, 16, sizeof(*lost)))
		return -ENOMEM;
	lost = &f->lost[f->lost_count++];
	*lost = (struct ldb_fsck_lost){.number = number};
	rc = ldb_buffer_set(&lost->from, places_key(from));
	return rc ? rc : ldb_buffer_set(&lost->to, places_key(to));
}

bool ldb_fsck_is_lost(const struct ldb_fsck *f, struct wcs_slice key)
{
	for (size_t i = 0; i < f->lost_count; i++) {
		const struct ldb_buffer *from = &f->lost[i].from, *to = &f->lost[i].to;

		if (wcs_slice_compare(ldb_buffer_slice(from), key) <= 0 &&
		    (to->len == 0 || wcs_slice_compare(key, ldb_buffer_slice(to)) <= 0))
			return true;
	}
	return false;
}

void ldb_fsck_lost_free(struct ldb_fsck *f)
{
	for (size_t i = 0; i < f->lost_count; i++) {
		free(f->lost[i].from.data);
		free(f->lost[i].to.data);
	}
	free(f->lost);
}

/* The table and, as text, the row of one end of a range. False: the key is not of a cell. */
static bool places_row(const struct ldb_buffer *key, uint32_t *table, char row[PLACES_PART])
{
	static unsigned char bytes[WCS_ROW_KEY_MAX]; /* of one thread, as all of the check */
	struct ldb_key_parts parts;

	if (ldb_key_split(key->data, key->len, &parts))
		return false;
	*table = parts.table;
	ldb_fsck_print(row, PLACES_PART, NULL,
		       (struct wcs_slice){bytes, ldb_key_get_row(key->data, &parts, bytes)});
	return true;
}

static void places_lost(struct ldb_fsck *f, const struct ldb_fsck_lost *lost)
{
	char from[PLACES_PART], to[PLACES_PART], what[160], name[LDB_FILE_NAME_MAX];
	uint32_t first = 0, last = UINT32_MAX;
	bool starts = places_row(&lost->from, &first, from), ends = false, told = false;

	if (!starts && lost->from.len > 0) /* behind all cells */
		return;
	if (lost->to.len > 0)
		ends = places_row(&lost->to, &last, to);
	ldb_file_name(name, LDB_FILE_TABLE, lost->number);
	snprintf(what, sizeof(what), "cells there may be lost with what is damaged of data/%s",
		 name);
	for (size_t i = 0; i < f->table_count; i++) {
		const struct ldb_fsck_table *table = &f->tables[i];
		bool has_from = starts && table->id == first, has_to = ends && table->id == last;

		if (table->id < first || table->id > last)
			continue;
		wcs_fsck_found(f->fsck, WCS_FOUND_NOTICE, what, NULL, "table %s, %s%s%s%s%s",
			       table->schema.name, table->schema.keys ? "stored keys" : "rows",
			       has_from ? " from " : "", has_from ? from : "", has_to ? " to " : "",
			       has_to ? to : "");
		told = true;
	}
	if (!told)
		wcs_fsck_found(f->fsck, WCS_FOUND_NOTICE, what, NULL,
			       "tables without a description");
}

void ldb_fsck_lost_tell(struct ldb_fsck *f)
{
	for (size_t i = 0; i < f->lost_count; i++)
		places_lost(f, &f->lost[i]);
	for (size_t i = 0; i < f->files.fault_count; i++) {
		const struct ldb_files_fault *fault = &f->files.faults[i];

		if (fault->kind == LDB_FILE_LOG && (fault->missing || fault->damage.count > 0))
			wcs_fsck_found(f->fsck, WCS_FOUND_NOTICE,
				       "cells may be lost, those that changed last", NULL,
				       "data/%s", fault->name);
		if (fault->kind == LDB_FILE_MANIFEST && !f->files.whole)
			wcs_fsck_found(f->fsck, WCS_FOUND_NOTICE,
				       "cells may be lost, if files are missing that it named",
				       NULL, "data/%s", fault->name);
	}
}
