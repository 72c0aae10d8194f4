/* SPDX-License-Identifier: MIT */
/*
 * Judges the entries of each key space, tables first, since all others depend on them, and writes
 * those that stay to the new database while it is built.
 */
#include "store/leveldb/fsck/fsck_keys.h"

/* ---- Key spaces -------------------------------------------------------------------------- */

/* A drop that was not finished stays for a mount to finish it. */
static int judge_drop(struct ldb_fsck *f, struct wcs_slice key, struct wcs_slice value,
		      struct ldb_verdict *verdict)
{
	const struct ldb_fsck_table *table;
	struct ldb_drop drop;
	uint64_t id;

	verdict->place = ldb_fsck_key_place(f, key);
	verdict->drop = true;
	if (!ldb_key_drop_decode(key.data, key.len, &id) ||
	    ldb_record_drop_decode(value.data, value.len, &drop)) {
		verdict->what = "the record of a drop is damaged";
		return 0;
	}
	table = ldb_fsck_find(f, drop.table);
	verdict->drop = !table || table->id > LDB_TABLE_ID_MAX;
	if (verdict->drop) {
		verdict->kind = WCS_FOUND_LEFTOVER;
		verdict->what = "a drop of rows of a table that is gone";
	} else if (f->mode == LDB_FSCK_LOOK) {
		wcs_fsck_found(f->fsck, WCS_FOUND_NOTICE,
			       "a drop of rows was not finished; a mount finishes it", NULL,
			       "table %s", table->schema.name);
	}
	return 0;
}

static int judge_other(struct ldb_fsck *f, struct wcs_slice key, struct wcs_slice value,
		       struct ldb_verdict *verdict)
{
	(void)value;
	verdict->place = ldb_fsck_key_place(f, key);
	verdict->what = "a key of no kind that there is";
	verdict->drop = true;
	return 0;
}

/* Ranges of keys, from the byte `from` on and before the byte `to` (0: to the end). */
static const struct fsck_judge {
	unsigned char from, to;
	const char *what;
	int (*start)(struct ldb_fsck *f);
	int (*one)(struct ldb_fsck *f, struct wcs_slice key, struct wcs_slice value,
		   struct ldb_verdict *verdict);
	int (*end)(struct ldb_fsck *f);
} fsck_judge[] = {
	{'m', 'm' + 1, "tables", ldb_fsck_tables_start, ldb_fsck_tables_one, ldb_fsck_tables_end},
	{'x', 'x' + 1, "drops", NULL, judge_drop, NULL},
	{'c', 'c' + 1, "cells", ldb_fsck_cells_start, ldb_fsck_cells_one, ldb_fsck_cells_end},
	{'g', 'g', "values", NULL, NULL, ldb_fsck_values}, /* and 'v' */
	{0, 'c', "keys", NULL, judge_other, NULL},
	{'c' + 1, 'g', "keys", NULL, judge_other, NULL},
	{'g' + 1, 'm', "keys", NULL, judge_other, NULL},
	{'m' + 1, 'v', "keys", NULL, judge_other, NULL},
	{'v' + 1, 'x', "keys", NULL, judge_other, NULL},
	{'x' + 1, 0, "keys", NULL, judge_other, ldb_fsck_tables_write},
};

static int judge_one(struct ldb_fsck *f, const struct fsck_judge *judge,
		     const struct ldb_merge *merge)
{
	struct ldb_verdict verdict = {.kind = WCS_FOUND_DAMAGE};
	int rc = judge->one(f, merge->key, merge->value, &verdict);

	if (!rc && verdict.what)
		rc = ldb_fsck_found(f, verdict.kind, verdict.what, LDB_FSCK_TAKEN, verdict.place);
	if (!rc && !verdict.drop)
		rc = ldb_fsck_put(f, verdict.key.data ? verdict.key : merge->key, merge->value);
	return rc ? rc : ldb_fsck_looked(f, judge->what);
}

static int judge_space(struct ldb_fsck *f, const struct fsck_judge *judge)
{
	struct ldb_merge merge;
	int rc = judge->start ? judge->start(f) : 0, more = 0;

	if (!rc && judge->one) {
		rc = ldb_merge_open(&merge, f, (struct wcs_slice){&judge->from, judge->from != 0});
		while (!rc && (more = ldb_merge_next(&merge)) == 1 &&
		       (judge->to == 0 || merge.key.len == 0 ||
			*(const unsigned char *)merge.key.data < judge->to))
			rc = judge_one(f, judge, &merge);
		rc = ldb_merge_close(&merge, rc || more == 1 ? rc : more);
	}
	return rc || !judge->end ? rc : judge->end(f);
}

int ldb_fsck_judge(struct ldb_fsck *f)
{
	struct wcs_check_result *result = f->fsck->result;
	int rc = 0;

	result->rows = result->cells = result->values = 0;
	f->looked = f->refs = f->pending = 0;
	for (size_t i = 0; !rc && i < sizeof(fsck_judge) / sizeof(fsck_judge[0]); i++) {
		rc = judge_space(f, &fsck_judge[i]);
		if (!rc && i == 0 && f->mode == LDB_FSCK_BUILD)
			ldb_fsck_lost_tell(f);
	}
	if (!rc && f->to)
		rc = ldb_fsck_flush(f);
	result->counted = rc == 0;
	return rc;
}

int ldb_fsck_newer(struct ldb_fsck *f)
{
	int rc;

	f->quiet = true;
	rc = judge_space(f, &fsck_judge[0]);
	f->quiet = false;
	return rc;
}
