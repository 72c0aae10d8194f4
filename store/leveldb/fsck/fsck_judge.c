/* SPDX-License-Identifier: MIT */
/*
 * Judges every entry in the order of the keys, by a function for each key space. In a repair the
 * entries that do not stay are deleted; the iterator does not see what is written meanwhile.
 */
#include "store/leveldb/fsck/fsck_keys.h"

/* ---- Key spaces -------------------------------------------------------------------------- */

static int judge_other(struct ldb_fsck *f, struct wcs_slice key, struct wcs_slice value,
		       const char **what)
{
	(void)f;
	(void)key;
	(void)value;
	*what = "a key of an unknown kind";
	return 0;
}

/* The notes among the tables' descriptions. Number 0 is the collector's, as
 * store/collect/collector_pass.c writes it. Others are records of the heat map: a mount passes over
 * a wrong one. */
static int judge_note(struct ldb_fsck *f, struct wcs_slice key, struct wcs_slice value,
		      const char **what)
{
	const unsigned char *data = value.data;
	uint16_t number;

	if (ldb_fsck_tables_has(key))
		return 0;
	if (!ldb_key_note_decode(key.data, key.len, &number))
		return judge_other(f, key, value, what);
	if (number == 0 &&
	    !(value.len >= 9 && data[8] <= WCS_TABLE_NAME_MAX && value.len - 9 >= data[8] &&
	      value.len - 9 - data[8] <= LDB_KEY_MAX && get_be64(data) <= INT64_MAX))
		*what = "the note of where the collector was is damaged";
	return 0;
}

/* A drop that was not finished stays for a mount to finish it. */
static int judge_drop(struct ldb_fsck *f, struct wcs_slice key, struct wcs_slice value,
		      const char **what)
{
	const struct ldb_fsck_table *table;
	struct ldb_drop drop;
	uint64_t id;

	if (!ldb_key_drop_decode(key.data, key.len, &id) ||
	    ldb_record_drop_decode(value.data, value.len, &drop)) {
		*what = "the record of a drop is damaged";
		return 0;
	}
	table = ldb_fsck_find(f, drop.table);
	if (!table || table->id > LDB_FSCK_TABLE_MAX)
		*what = "a drop of rows of a table that is gone";
	else if (!f->repairs)
		wcs_fsck_found(f->fsck, WCS_FOUND_NOTICE,
			       "a drop of rows was not finished; a mount finishes it", NULL,
			       "table %s", table->schema.name);
	return 0;
}

static const struct fsck_judge {
	unsigned char space; /* the first byte of its keys */
	const char *what;
	int (*one)(struct ldb_fsck *f, struct wcs_slice key, struct wcs_slice value,
		   const char **what);
} fsck_judge[] = {
	{'c', "cells", ldb_fsck_cells_one}, {'g', "values", ldb_fsck_garbage_one},
	{'m', "tables", judge_note},	    {'v', "values", ldb_fsck_extents_one},
	{'x', "drops", judge_drop},	    {0, "keys", judge_other}, /* all others; the last */
};

/* ---- The walk ---------------------------------------------------------------------------- */

static int judge_one(struct ldb_fsck *f, struct wcs_slice key, struct wcs_slice value)
{
	const struct fsck_judge *judge = fsck_judge;
	const char *what = NULL;
	int rc;

	while (judge->space != 0 &&
	       (key.len == 0 || *(const unsigned char *)key.data != judge->space))
		judge++;
	f->place[0] = '\0';
	rc = judge->one(f, key, value, &what);
	if (!rc && what)
		rc = ldb_fsck_found(f, WCS_FOUND_DAMAGE, what, LDB_FSCK_TAKEN,
				    f->place[0] ? f->place : ldb_fsck_key_place(f, key));
	if (!rc && what)
		rc = ldb_fsck_delete(f, key);
	return rc ? rc : ldb_fsck_looked(f, judge->what);
}

static int judge_walk(struct ldb_fsck *f)
{
	leveldb_iterator_t *iter = ldb_db_iterate(f->db);
	struct wcs_slice key, value;
	int rc = 0;

	f->extents = ldb_db_iterate(f->db);
	leveldb_iter_seek_to_first(iter);
	while (!rc && leveldb_iter_valid(iter)) {
		key.data = ldb_iter_key(iter, &key.len);
		value.data = leveldb_iter_value(iter, &value.len);
		f->skip.len = 0;
		rc = judge_one(f, key, value);
		if (f->skip.len > 0)
			leveldb_iter_seek(iter, (const char *)f->skip.data, f->skip.len);
		else
			leveldb_iter_next(iter);
	}
	leveldb_iter_destroy(f->extents);
	return ldb_db_iter_end(f->db, iter, rc);
}

int ldb_fsck_judge(struct ldb_fsck *f)
{
	struct wcs_check_result *result = f->fsck->result;
	int rc = ldb_fsck_cells_start(f);

	result->rows = result->cells = result->values = 0;
	f->looked = f->pending = f->last_value = f->copied_value = f->value.id = 0;
	if (!rc)
		rc = judge_walk(f);
	if (!rc)
		rc = ldb_fsck_tables_write(f);
	if (!rc && f->to)
		rc = ldb_fsck_flush(f);
	result->counted = rc == 0;
	return rc;
}
