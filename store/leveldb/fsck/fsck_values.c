/* SPDX-License-Identifier: MIT */
/*
 * Judges the large values by reading three streams side by side, each in order of the values' ids:
 *
 *   cells    that have the value (fsck_scratch.c)
 *   'g'      its garbage record: its space is to be reclaimed
 *   'v'      its extents
 *
 * A value is right if it has one cell, all of its extents and no record, or a record and any of the
 * extents that it counts. While the new database is built, the extents of cells are written as they
 * are read, and deleted again if they turn out not to be a whole value; garbage is left behind.
 */
#include "store/leveldb/fsck/fsck_keys.h"

#include <inttypes.h>
#include <stdio.h>

#include "lib/system/message.h"

struct values {
	struct ldb_fsck *f;
	leveldb_iterator_t *refs;
	struct ldb_merge garbage, extents;
	uint64_t garbage_id, extent_id; /* at which these are; 0: at their ends */
	uint32_t garbage_count, extent_index;
	/* of the present id */
	uint64_t id;
	size_t cells;  /* that have it and stay */
	bool gone;     /* a cell that does not stay has it */
	uint64_t size; /* by the first of the cells, as the type */
	enum wcs_type type;
	struct ldb_buffer cell; /* that cell's key */
	uint64_t copies;	/* id of the second cell's own copy; those of others follow */
	bool record;		/* it has a garbage record */
	uint32_t count;		/* extents by the size, else by the garbage record */
	uint64_t good, extra;	/* extents that belong to it; others */
	char wrong[96];		/* what is wrong with the value; "": nothing */
};

/* ---- Reading one id ---------------------------------------------------------------------- */

/* Moves to the next good garbage record. */
static int values_next_garbage(struct values *v)
{
	struct ldb_merge *garbage = &v->garbage;
	struct wcs_slice *record = &garbage->value;
	enum ldb_garbage_kind kind;
	int rc;

	v->garbage_id = 0;
	while ((rc = ldb_merge_next(garbage)) == 1 && *(const char *)garbage->key.data == 'g') {
		if (ldb_key_garbage_decode(garbage->key.data, garbage->key.len, &v->garbage_id) &&
		    v->garbage_id != 0 &&
		    ldb_record_garbage_decode(record->data, record->len, &kind,
					      &v->garbage_count) == 0)
			return 0;
		v->garbage_id = 0;
		rc = ldb_fsck_found(v->f, WCS_FOUND_DAMAGE, "a record of garbage is damaged",
				    LDB_FSCK_TAKEN, ldb_fsck_key_place(v->f, garbage->key));
		if (rc)
			return rc;
	}
	return rc == 1 ? 0 : rc;
}

/* Moves to the next extent. */
static int values_next_extent(struct values *v)
{
	struct ldb_merge *extents = &v->extents;
	int rc;

	v->extent_id = 0;
	while ((rc = ldb_merge_next(extents)) == 1 && *(const char *)extents->key.data == 'v') {
		if (ldb_key_extent_decode(extents->key.data, extents->key.len, &v->extent_id,
					  &v->extent_index) &&
		    v->extent_id != 0)
			return 0;
		v->extent_id = 0;
		rc = ldb_fsck_found(v->f, WCS_FOUND_DAMAGE, "a key that is no chunk's",
				    LDB_FSCK_TAKEN, ldb_fsck_key_place(v->f, extents->key));
		if (rc)
			return rc;
	}
	return rc == 1 ? 0 : rc;
}

/* The lowest id of the three streams; 0: they are at their ends. */
static uint64_t values_next_id(struct values *v)
{
	struct ldb_fsck_ref ref;
	uint64_t id = ldb_fsck_scratch_ref(v->f, v->refs, &ref) ? ref.id : 0;

	if (v->garbage_id != 0 && (id == 0 || v->garbage_id < id))
		id = v->garbage_id;
	if (v->extent_id != 0 && (id == 0 || v->extent_id < id))
		id = v->extent_id;
	return id;
}

static int values_read_cells(struct values *v)
{
	struct ldb_fsck_ref ref;
	int rc = 0;

	v->cells = 0;
	v->gone = false;
	for (; !rc && ldb_fsck_scratch_ref(v->f, v->refs, &ref) && ref.id == v->id;
	     leveldb_iter_next(v->refs)) {
		v->gone |= ref.gone;
		if (ref.gone || v->cells++ > 0)
			continue;
		v->size = ref.size;
		v->type = ref.type;
		rc = ldb_buffer_set(&v->cell, ref.cell);
	}
	v->copies = v->f->last_value + 1;
	if (v->cells > 1)
		v->f->last_value += v->cells - 1;
	return rc;
}

static void values_wrong(struct values *v, uint32_t index, const char *what)
{
	if (v->wrong[0] == '\0')
		snprintf(v->wrong, sizeof(v->wrong), "chunk %" PRIu32 " of its value is %s", index,
			 what);
}

/* Puts an extent, and those of copies; NULL: deletes them. */
static int values_put(struct values *v, uint32_t index, const struct wcs_slice *value)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < v->cells; i++) {
		struct ldb_id_key id = ldb_key_extent(i > 0 ? v->copies + i - 1 : v->id, index);
		struct wcs_slice key = {id.data, id.len};

		rc = value ? ldb_fsck_put(v->f, key, *value) : ldb_fsck_delete(v->f, key);
	}
	return rc;
}

/* An extent of a cell's value. */
static int values_extent(struct values *v)
{
	uint64_t left = v->size - (uint64_t)v->extent_index * LDB_EXTENT;
	struct wcs_slice value = v->extents.value;
	int64_t number;

	if (value.len != (left < LDB_EXTENT ? left : LDB_EXTENT))
		values_wrong(v, v->extent_index, "not as long as it must be");
	else if (v->extent_index != v->good)
		values_wrong(v, (uint32_t)v->good, "missing");
	else if (v->type != WCS_BYTES && wcs_aggregate_number(v->type, value, &number) != 0)
		snprintf(v->wrong, sizeof(v->wrong), "its value is none of its family's type");
	return values_put(v, v->extent_index, &value);
}

static int values_read_extents(struct values *v)
{
	bool known = v->cells > 0;
	int rc = 0;

	if (known)
		v->count = ldb_extent_count(v->size);
	v->good = v->extra = 0;
	v->wrong[0] = '\0';
	while (!rc && v->extent_id == v->id) {
		if (v->extent_index >= v->count) {
			v->extra++;
		} else {
			if (known)
				rc = values_extent(v);
			v->good++;
		}
		if (!rc)
			rc = ldb_fsck_looked(v->f, "values");
		if (!rc)
			rc = values_next_extent(v);
	}
	if (known && v->good < v->count)
		values_wrong(v, (uint32_t)v->good, "missing");
	return rc;
}

/* ---- Judging ----------------------------------------------------------------------------- */

static int values_orphans(struct values *v)
{
	char what[64], place[40];

	snprintf(what, sizeof(what), "%" PRIu64 " chunk%s that no cell has", v->extra,
		 message_plural(v->extra));
	snprintf(place, sizeof(place), "value %" PRIu64, v->id);
	return ldb_fsck_found(v->f, WCS_FOUND_LEFTOVER, what, LDB_FSCK_TAKEN, place);
}

/* A cell whose value is another cell's, too, gets its own copy of that. */
static int values_copy(struct values *v, size_t number, const struct ldb_fsck_ref *ref)
{
	unsigned char record[32];
	struct wcs_slice key = ref->cell, value = {record, 0};
	int rc =
		ldb_fsck_found(v->f, WCS_FOUND_DAMAGE, "its value is another cell's, too",
			       "it has its own copy of that", ldb_fsck_cell_place(v->f, ref->cell));

	value.len = ldb_record_extents(record, 0, v->size, v->copies + number - 1);
	if (!rc)
		rc = ldb_fsck_cell_key(v->f, &key);
	return rc ? rc : ldb_fsck_put(v->f, key, value);
}

static int values_take(struct values *v, const struct ldb_fsck_ref *ref)
{
	struct wcs_slice key = ref->cell;
	int rc = ldb_fsck_found(v->f, WCS_FOUND_DAMAGE,
				v->wrong[0] ? v->wrong : "its value has another size",
				LDB_FSCK_TAKEN, ldb_fsck_cell_place(v->f, ref->cell));

	if (!rc)
		rc = ldb_fsck_cell_key(v->f, &key);
	return rc ? rc : ldb_fsck_delete(v->f, key);
}

/* Takes out all cells of a value that is not whole; of a whole one, copies it for the others. */
static int values_each_cell(struct values *v, bool whole)
{
	leveldb_iterator_t *iter = ldb_fsck_scratch_iterate(v->f, NULL);
	struct ldb_fsck_ref ref;
	size_t number = 0;
	int rc = 0;

	if (!iter)
		return -ENOMEM;
	ldb_fsck_scratch_seek(v->f, iter, v->id);
	for (; !rc && ldb_fsck_scratch_ref(v->f, iter, &ref) && ref.id == v->id;
	     leveldb_iter_next(iter)) {
		if (ref.gone)
			continue;
		if (!whole || ref.size != v->size)
			rc = values_take(v, &ref);
		else if (number > 0)
			rc = values_copy(v, number, &ref);
		number++;
	}
	return ldb_fsck_scratch_end(v->f, iter, rc);
}

static int values_of_cells(struct values *v)
{
	struct wcs_slice key = ldb_buffer_slice(&v->cell);
	bool whole = v->wrong[0] == '\0';
	int rc = 0;

	v->f->fsck->result->values++;
	if (!whole || v->cells > 1)
		rc = values_each_cell(v, whole);
	for (uint32_t i = 0; !rc && !whole && v->f->to && i < v->count; i++)
		rc = values_put(v, i, NULL);
	if (!rc && whole && v->record)
		rc = ldb_fsck_found(v->f, WCS_FOUND_DAMAGE,
				    "its value would be deleted as garbage at the next mount",
				    "the record of garbage was deleted",
				    ldb_fsck_cell_place(v->f, key));
	if (!rc && whole && v->extra > 0)
		rc = values_orphans(v);
	return rc;
}

static int values_one(struct values *v)
{
	int rc = values_read_cells(v);

	v->record = v->garbage_id == v->id;
	v->count = v->record ? v->garbage_count : 0;
	if (!rc && v->record)
		rc = values_next_garbage(v);
	if (!rc)
		rc = values_read_extents(v);
	if (rc || v->cells > 0)
		return rc ? rc : values_of_cells(v);
	v->f->pending += v->record;
	return v->extra > 0 && !v->gone ? values_orphans(v) : 0;
}

int ldb_fsck_values(struct ldb_fsck *f)
{
	struct values v = {.f = f};
	int rc = ldb_merge_open(&v.garbage, f, (struct wcs_slice){"g", 1});
	int opened = ldb_merge_open(&v.extents, f, (struct wcs_slice){"v", 1});

	v.refs = ldb_fsck_scratch_iterate(f, NULL);
	if (!rc)
		rc = v.refs ? opened : -ENOMEM;
	if (!rc)
		rc = values_next_garbage(&v);
	if (!rc)
		rc = values_next_extent(&v);
	while (!rc && (v.id = values_next_id(&v)) != 0)
		rc = values_one(&v);
	rc = ldb_fsck_scratch_end(f, v.refs, rc);
	rc = ldb_merge_close(&v.garbage, rc);
	rc = ldb_merge_close(&v.extents, rc);
	free(v.cell.data);
	return rc;
}
