/* SPDX-License-Identifier: MIT */
/*
 * Tells which rows a damaged file may have lost. Their keys cannot be read, but a table is sorted,
 * so they are between the last key before the damage and the first one behind it.
 */
#include "store/leveldb/fsck/fsck_keys.h"

#include <stdio.h>

enum { LOST_MAX = 1000, LOST_ROW = 240 /* bytes of a row key that are shown */ };

/* An internal key without its sequence number. */
static struct wcs_slice lost_key(struct wcs_slice key)
{
	return (struct wcs_slice){key.data, key.len < 8 ? 0 : key.len - 8};
}

int ldb_fsck_lose(struct ldb_fsck *f, uint64_t number, struct wcs_slice from, struct wcs_slice to)
{
	static const struct wcs_slice descriptions = {"mt", 2}, past = {"mu", 2};
	struct ldb_fsck_lost *lost = f->lost;
	int rc;

	from = lost_key(from);
	to = lost_key(to);
	f->copy_wins |= (from.len == 0 || wcs_slice_compare(from, past) < 0) &&
			(to.len == 0 || wcs_slice_compare(descriptions, to) < 0);
	if (f->lost_count == LOST_MAX) { /* the last one is all rows from now on */
		lost[LOST_MAX - 1].from.len = lost[LOST_MAX - 1].to.len = 0;
		return 0;
	}
	if (grow(&f->lost, &f->lost_room, f->lost_count + 1, 16, sizeof(*lost)))
		return -ENOMEM;
	lost = &f->lost[f->lost_count++];
	memset(lost, 0, sizeof(*lost));
	lost->number = number;
	rc = ldb_buffer_set(&lost->from, from);
	return rc ? rc : ldb_buffer_set(&lost->to, to);
}

void ldb_fsck_lost_clear(struct ldb_fsck *f, size_t count)
{
	while (f->lost_count > count) {
		free(f->lost[--f->lost_count].from.data);
		free(f->lost[f->lost_count].to.data);
	}
	if (count > 0)
		return;
	free(f->lost);
	f->lost = NULL;
	f->lost_room = 0;
}

/* The table and, as text, the row of one end of a range. False: the key is not of a cell. */
static bool lost_place(const struct ldb_buffer *key, uint32_t *table, char row[LOST_ROW])
{
	static unsigned char bytes[WCS_ROW_KEY_MAX]; /* of one thread, as all of the check */
	struct ldb_key_parts parts;

	if (ldb_key_split(key->data, key->len, &parts))
		return false;
	*table = parts.table;
	ldb_fsck_print(row, LOST_ROW, NULL,
		       (struct wcs_slice){bytes, ldb_key_get_row(key->data, &parts, bytes)});
	return true;
}

static void lost_tell(struct ldb_fsck *f, const struct ldb_fsck_lost *lost)
{
	char from[LOST_ROW], to[LOST_ROW], what[160], name[LDB_FILE_NAME_MAX];
	uint32_t first = 0, last = UINT32_MAX;
	bool starts = lost_place(&lost->from, &first, from), ends = false;

	if (!starts && lost->from.len > 0) /* behind all cells */
		return;
	if (lost->to.len > 0)
		ends = lost_place(&lost->to, &last, to);
	ldb_file_name(name, LDB_FILE_TABLE, lost->number);
	snprintf(what, sizeof(what), "cells there may be lost with what is damaged of data/%s",
		 name);
	for (size_t i = 0; i < f->table_count; i++) {
		const struct ldb_fsck_table *table = &f->tables[i];
		bool has_from = starts && table->id == first, has_to = ends && table->id == last;

		if (table->id >= first && table->id <= last)
			wcs_fsck_found(f->fsck, WCS_FOUND_NOTICE, what, NULL, "table %s, %s%s%s%s",
				       table->schema.name,
				       !has_from && !has_to ? "all rows"
				       : table->schema.keys
					       ? (has_from ? "stored keys from " : "stored keys")
				       : has_from ? "rows from "
						  : "rows",
				       has_from ? from : "",
				       has_to	  ? " to "
				       : has_from ? " on"
						  : "",
				       has_to ? to : "");
	}
}

void ldb_fsck_lost_tell(struct ldb_fsck *f)
{
	for (size_t i = 0; i < f->lost_count; i++)
		lost_tell(f, &f->lost[i]);
}
