/* SPDX-License-Identifier: MIT */
/*
 * Judges large values, each with its cell: it must have all of its extents ('v'), and neither a
 * garbage record ('g') nor another cell. The extents that it may have are noted by its id, also
 * those of a garbage record; extents that are met behind all cells and belong to no value are left
 * over. A repair deletes garbage, whose space else a mount reclaims.
 */
#include "store/leveldb/fsck/fsck_keys.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- Values of cells --------------------------------------------------------------------- */

/* Why the value under the iterator is not extent `index` of the cell; NULL: it is. */
static const char *values_wrong(struct ldb_fsck *f, const struct ldb_cell *cell, uint32_t index,
				struct wcs_slice *value)
{
	uint64_t left = cell->size - (uint64_t)index * LDB_EXTENT, id;
	const char *key;
	size_t len;
	uint32_t at;

	if (!leveldb_iter_valid(f->extents))
		return "missing";
	key = leveldb_iter_key(f->extents, &len);
	if (!ldb_key_extent_decode(key, len, &id, &at) || id != cell->id || at != index)
		return "missing";
	value->data = leveldb_iter_value(f->extents, &value->len);
	return value->len == (left < LDB_EXTENT ? left : LDB_EXTENT) ? NULL
								     : "not as long as it must be";
}

/* Reads the extents, and copies them to that id, if it is not 0. */
static int values_read(struct ldb_fsck *f, const struct ldb_cell *cell, enum wcs_type type,
		       uint64_t to, const char **what)
{
	struct ldb_id_key key = ldb_key_extent(cell->id, 0);
	uint32_t count = ldb_extent_count(cell->size);
	struct wcs_slice value;
	int64_t number;
	int rc = 0;

	leveldb_iter_seek(f->extents, (const char *)key.data, key.len);
	for (uint32_t i = 0; !rc && i < count; i++, leveldb_iter_next(f->extents)) {
		const char *wrong = values_wrong(f, cell, i, &value);

		if (wrong) {
			snprintf(f->what, sizeof(f->what), "chunk %" PRIu32 " of its value is %s",
				 i, wrong);
			*what = f->what;
			return ldb_db_iter_error(f->db, f->extents);
		}
		if (type != WCS_BYTES && wcs_aggregate_number(type, value, &number) != 0)
			*what = "its value is none of its family's type";
		key = ldb_key_extent(to, i);
		if (to != 0)
			rc = ldb_fsck_put(f, (struct wcs_slice){key.data, key.len}, value);
		if (!rc)
			rc = ldb_fsck_looked(f, "values");
	}
	return rc;
}

/* Sets copied_value to the highest id of a value, below which no copy may be. */
static int values_highest(struct ldb_fsck *f)
{
	struct ldb_id_key key = ldb_key_extent(LDB_FSCK_VALUE_MAX + 1, 0);
	const char *last;
	uint32_t index;
	size_t len;

	leveldb_iter_seek(f->extents, (const char *)key.data, key.len);
	if (leveldb_iter_valid(f->extents))
		leveldb_iter_prev(f->extents);
	else
		leveldb_iter_seek_to_last(f->extents);
	last = leveldb_iter_valid(f->extents) ? leveldb_iter_key(f->extents, &len) : NULL;
	if (!last || !ldb_key_extent_decode(last, len, &f->copied_value, &index))
		f->copied_value = 0;
	if (f->copied_value + 1 < f->next_value && f->next_value <= LDB_FSCK_VALUE_MAX)
		f->copied_value = f->next_value - 1;
	return ldb_db_iter_error(f->db, f->extents);
}

/* Gives a cell its own copy of its value. why: what is wrong with that. */
static int values_copy(struct ldb_fsck *f, struct wcs_slice key, const struct ldb_cell *cell,
		       struct ldb_buffer *record, const char *why)
{
	int rc = ldb_fsck_found(f, WCS_FOUND_DAMAGE, why, "it has its own copy of that",
				ldb_fsck_cell_place(f, key));
	const char *what;

	if (rc || !f->to)
		return rc;
	if (f->copied_value == 0)
		rc = values_highest(f);
	f->copied_value++;
	if (!rc)
		rc = ldb_buffer_room(record, 32);
	if (rc)
		return rc;
	record->len = ldb_record_extents(record->data, cell->etag, cell->size, f->copied_value);
	return values_read(f, cell, WCS_BYTES, f->copied_value, &what);
}

/* A garbage record would delete the value of the cell. */
static int values_spare(struct ldb_fsck *f, struct wcs_slice key, uint64_t id)
{
	struct ldb_id_key garbage = ldb_key_garbage(id);
	enum ldb_garbage_kind kind;
	unsigned char *record;
	uint32_t count;
	size_t len;
	int rc = ldb_db_get(f->db, garbage, &record, &len);
	bool good = !rc && record && ldb_record_garbage_decode(record, len, &kind, &count) == 0;

	if (rc)
		return rc;
	leveldb_free(record);
	if (!good)
		return 0;
	rc = ldb_fsck_found(f, WCS_FOUND_DAMAGE,
			    "its value would be deleted as garbage at the next mount",
			    "the record of garbage was deleted", ldb_fsck_cell_place(f, key));
	return rc ? rc : ldb_fsck_delete(f, (struct wcs_slice){garbage.data, garbage.len});
}

int ldb_fsck_value(struct ldb_fsck *f, struct wcs_slice key, const struct ldb_cell *cell,
		   enum wcs_type type, struct ldb_buffer *record, const char **what)
{
	struct ldb_fsck_claim claim = {.count = ldb_extent_count(cell->size)}, other;
	bool known;
	int rc = ldb_fsck_claimed(f, cell->id, &other, &known);

	if (!rc && !*what)
		rc = values_read(f, cell, type, 0, what);
	if (rc)
		return rc;
	if (*what) {
		claim = (struct ldb_fsck_claim){.count = UINT32_MAX, .gone = true};
		return known ? 0 : ldb_fsck_claim(f, cell->id, &claim);
	}
	f->fsck->result->values++;
	if (known && !other.gone)
		return values_copy(f, key, cell, record, "its value is another cell's, too");
	claim.gone = cell->id > LDB_FSCK_VALUE_MAX; /* once it is copied */
	rc = ldb_fsck_claim(f, cell->id, &claim);
	if (!rc && claim.gone)
		return values_copy(f, key, cell, record,
				   "the number of its value leaves no room for more");
	return rc ? rc : values_spare(f, key, cell->id);
}

/* ---- Behind the cells -------------------------------------------------------------------- */

int ldb_fsck_garbage_one(struct ldb_fsck *f, struct wcs_slice key, struct wcs_slice record,
			 const char **what)
{
	struct ldb_fsck_claim claim = {.gone = true}, other;
	enum ldb_garbage_kind kind;
	uint64_t id;
	bool known;
	int rc;

	if (!ldb_key_garbage_decode(key.data, key.len, &id) || id == 0 ||
	    ldb_record_garbage_decode(record.data, record.len, &kind, &claim.count)) {
		*what = "a record of garbage is damaged";
		return 0;
	}
	rc = ldb_fsck_claimed(f, id, &other, &known);
	if (rc || (known && !other.gone))
		return rc;
	f->pending++;
	rc = known ? 0 : ldb_fsck_claim(f, id, &claim);
	return rc ? rc : ldb_fsck_delete(f, key);
}

int ldb_fsck_extents_one(struct ldb_fsck *f, struct wcs_slice key, struct wcs_slice value,
			 const char **what)
{
	const struct ldb_fsck_claim *claim = &f->value.claim;
	uint32_t index;
	uint64_t id;
	bool known;
	int rc = 0;

	(void)value;
	if (!ldb_key_extent_decode(key.data, key.len, &id, &index) || id == 0) {
		*what = "a key that is no chunk's";
		return 0;
	}
	if (id != f->value.id)
		rc = ldb_fsck_claimed(f, id, &f->value.claim, &known);
	f->value.told &= id == f->value.id;
	f->value.id = id;
	if (rc)
		return rc;
	if (index < claim->count && !claim->gone) {
		f->skip = ldb_key_extent(id, claim->count); /* they were read with the cell */
		return 0;
	}
	if (index >= claim->count && !f->value.told) {
		f->value.told = true;
		snprintf(f->place, sizeof(f->place), "value %" PRIu64, id);
		rc = ldb_fsck_found(f, WCS_FOUND_LEFTOVER, "it has chunks that no cell has",
				    LDB_FSCK_TAKEN, f->place);
	}
	return rc ? rc : ldb_fsck_delete(f, key);
}
