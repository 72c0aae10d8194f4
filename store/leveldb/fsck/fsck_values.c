/* SPDX-License-Identifier: MIT */
/*
 * Checks the large values by reading three streams side by side, each in order of the values' ids:
 *
 *   index    the cells that have the value (fsck_scratch.c)
 *   'g'      its garbage record: its space is to be reclaimed
 *   'v'      its extents
 *
 * A value is right if it has one cell, all of its extents and no record, or a record and any of the
 * extents that it counts. Anything else is reported; the extents of a cell stay.
 */
#include "lib/system/message.h"
#include "store/leveldb/fsck/fsck_keys.h"

#include <inttypes.h>
#include <stdio.h>

struct values {
	struct ldb_fsck *f;
	leveldb_iterator_t *refs, *garbage, *chunks;
	uint64_t garbage_id, chunk_id; /* at which these are; 0: at their ends */
	uint32_t garbage_count, chunk_index;
	/* of the present id */
	uint64_t id;
	size_t cells, lost;	/* that have it and stay; of lost families */
	bool raw;		/* a cell of it went to the quarantine without the value */
	uint64_t size;		/* by the first of the cells, else of the lost ones */
	struct ldb_buffer cell; /* that cell's key */
	bool record;		/* it has a garbage record */
	uint32_t count;		/* chunks by the size, else by the garbage record */
	uint64_t good, extra;	/* chunks that belong to it; others */
	char wrong[96];		/* what is wrong with the value; "": nothing */
};

/* ---- Reading one id ---------------------------------------------------------------------- */

/* Takes out damaged garbage records up to the next good one. */
static int values_skip_garbage(struct values *v)
{
	struct ldb_id_key space = ldb_key_garbage(0);
	int rc = 0;

	for (; !rc && ldb_iter_in_space(v->garbage, space); leveldb_iter_next(v->garbage)) {
		struct wcs_slice key = ldb_fsck_key(v->garbage);
		struct wcs_slice record = ldb_fsck_value(v->garbage);
		enum ldb_garbage_kind kind;

		if (ldb_key_garbage_decode(key.data, key.len, &v->garbage_id) &&
		    v->garbage_id != 0 &&
		    ldb_record_garbage_decode(record.data, record.len, &kind, &v->garbage_count) ==
			    0)
			return 0;
		rc = ldb_fsck_take(v->f, WCS_FOUND_DAMAGE, "a record of garbage is damaged",
				   ldb_fsck_key_place(v->f, key), key, record);
	}
	v->garbage_id = 0;
	return rc;
}

/* The same of the extents. */
static int values_skip_chunks(struct values *v)
{
	struct ldb_id_key space = ldb_key_extent(0, 0);
	int rc = 0;

	for (; !rc && ldb_iter_in_space(v->chunks, space); leveldb_iter_next(v->chunks)) {
		struct wcs_slice key = ldb_fsck_key(v->chunks);

		if (ldb_key_extent_decode(key.data, key.len, &v->chunk_id, &v->chunk_index) &&
		    v->chunk_id != 0)
			return 0;
		rc = ldb_fsck_take(v->f, WCS_FOUND_DAMAGE, "a key that is no chunk's",
				   ldb_fsck_key_place(v->f, key), key, ldb_fsck_value(v->chunks));
	}
	v->chunk_id = 0;
	return rc;
}

/* The lowest id of the three streams; 0: they are at their ends. */
static uint64_t values_next_id(struct values *v)
{
	struct ldb_fsck_entry entry;
	uint64_t id = ldb_fsck_ref_get(v->refs, &entry) ? entry.id : 0;

	if (v->garbage_id != 0 && (id == 0 || v->garbage_id < id))
		id = v->garbage_id;
	if (v->chunk_id != 0 && (id == 0 || v->chunk_id < id))
		id = v->chunk_id;
	return id;
}

static int values_read_cells(struct values *v)
{
	struct ldb_fsck_entry entry;
	int rc = 0;

	v->cells = v->lost = 0;
	v->raw = false;
	for (; !rc && ldb_fsck_ref_get(v->refs, &entry) && entry.id == v->id;
	     leveldb_iter_next(v->refs)) {
		v->raw |= entry.ref == LDB_REF_RAW;
		if (entry.ref == LDB_REF_RAW ||
		    (entry.ref == LDB_REF_LOST ? v->cells + v->lost++ : v->cells++) > 0)
			continue;
		v->size = entry.size;
		rc = ldb_buffer_set(&v->cell, entry.cell);
	}
	return rc;
}

static void values_wrong(struct values *v, uint32_t index, const char *what)
{
	if (v->wrong[0] == '\0')
		snprintf(v->wrong, sizeof(v->wrong), "chunk %" PRIu32 " of its value is %s", index,
			 what);
}

static int values_read_chunks(struct values *v)
{
	bool known = v->cells + v->lost > 0;
	int rc = 0;

	if (known)
		v->count = ldb_extent_count(v->size);
	v->good = v->extra = 0;
	v->wrong[0] = '\0';
	while (!rc && v->chunk_id == v->id) {
		uint64_t left = v->size - (uint64_t)v->chunk_index * LDB_EXTENT;
		size_t len = ldb_fsck_value(v->chunks).len;

		if (v->chunk_index >= v->count) {
			v->extra++;
		} else {
			if (known && len != (left < LDB_EXTENT ? left : LDB_EXTENT))
				values_wrong(v, v->chunk_index, "not as long as it must be");
			else if (known && v->chunk_index != v->good)
				values_wrong(v, (uint32_t)v->good, "missing");
			v->good++;
		}
		rc = ldb_fsck_looked(v->f, "values");
		leveldb_iter_next(v->chunks);
		if (!rc)
			rc = values_skip_chunks(v);
	}
	if (known && v->good < v->count)
		values_wrong(v, (uint32_t)v->good, "missing");
	return rc;
}

/* ---- Correcting -------------------------------------------------------------------------- */

/* Deletes the extents from an index on; why: copies them to the quarantine before, if not NULL. */
static int values_delete_chunks(struct values *v, uint32_t from, const char *why)
{
	leveldb_iterator_t *iter = ldb_fsck_iterate(v->f);
	struct ldb_id_key first = ldb_key_extent(v->id, from);
	uint32_t index;
	uint64_t id;
	int rc = 0;

	leveldb_iter_seek(iter, (const char *)first.data, first.len);
	for (; !rc && leveldb_iter_valid(iter); leveldb_iter_next(iter)) {
		struct wcs_slice key = ldb_fsck_key(iter);

		if (!ldb_key_extent_decode(key.data, key.len, &id, &index) || id != v->id)
			break;
		rc = why ? ldb_fsck_move(v->f, why, key, ldb_fsck_value(iter))
			 : ldb_fsck_delete(v->f, key);
	}
	return ldb_fsck_end(v->f, iter, rc);
}

/* Takes out a cell. whole: as a row, if its value can be read. what: the finding; NULL: it was
 * reported. */
static int values_take_cell(struct values *v, struct wcs_slice key, bool whole, const char *what)
{
	struct ldb_fsck *f = v->f;
	bool may = ldb_fsck_may(f);
	struct ldb_key_parts parts;
	const char *done = LDB_FSCK_ROWS;
	struct ldb_cell cell;
	char *text = NULL;
	struct wcs_slice record;
	int rc = 1;

	ldb_key_split(key.data, key.len, &parts);
	if (!may) {
		wcs_fsck_found(f->fsck, WCS_FOUND_DAMAGE, what, NULL, "%s",
			       ldb_fsck_cell_place(f, key, &parts));
		return 0;
	}
	record.data = leveldb_get(f->db->db, f->read, key.data, key.len, &record.len, &text);
	if (text || !record.data || ldb_record_cell_decode(record.data, record.len, &cell)) {
		rc = text ? ldb_db_tell(f->db, text, f->fsck->fault)
			  : wcs_fault_set(f->fsck->fault, -EIO, "a cell is gone");
		goto out;
	}
	if (whole)
		rc = ldb_fsck_keep_cell(f, key, &parts, &cell);
	if (rc > 0) {
		done = LDB_FSCK_RAW;
		v->raw = true;
		rc = ldb_fsck_move(f, "a cell whose value is not whole", key, record);
	} else if (!rc) {
		rc = ldb_fsck_delete(f, key);
	}
	if (!rc && what)
		wcs_fsck_found(f->fsck, WCS_FOUND_DAMAGE, what, done, "%s",
			       ldb_fsck_cell_place(f, key, &parts));
out:
	leveldb_free((void *)(uintptr_t)record.data);
	return rc;
}

/* Takes out all cells of the id; whole: the lost ones, and all others but the first. */
static int values_take_cells(struct values *v, bool whole)
{
	leveldb_iterator_t *iter = leveldb_create_iterator(v->f->index->db, v->f->read);
	struct ldb_fsck_entry entry;
	struct ldb_id_key at = ldb_key_garbage(v->id); /* its id alone, behind one byte */
	size_t seen = 0;
	int rc = 0;

	leveldb_iter_seek(iter, (const char *)at.data + 1, at.len - 1);
	for (; !rc && ldb_fsck_ref_get(iter, &entry) && entry.id == v->id;
	     leveldb_iter_next(iter)) {
		bool lost = entry.ref == LDB_REF_LOST;

		if (entry.ref == LDB_REF_RAW || (whole && !lost && seen++ == 0))
			continue;
		rc = values_take_cell(v, entry.cell, whole,
				      !whole ? v->wrong
				      : lost ? NULL
					     : "its value is another cell's, too");
	}
	return ldb_fsck_end(v->f, iter, rc);
}

static int values_orphans(struct values *v, uint32_t from)
{
	bool may = ldb_fsck_may(v->f);
	char what[64];
	int rc = may ? values_delete_chunks(v, from, "a chunk that no cell has") : 0;

	snprintf(what, sizeof(what), "%" PRIu64 " chunk%s that no cell has", v->extra,
		 message_plural(v->extra));
	if (!rc)
		wcs_fsck_found(v->f->fsck, WCS_FOUND_LEFTOVER, what, may ? LDB_FSCK_RAW : NULL,
			       "value %" PRIu64, v->id);
	return rc;
}

static int values_of_cells(struct values *v)
{
	struct ldb_id_key record = ldb_key_garbage(v->id);
	struct wcs_slice key = ldb_buffer_slice(&v->cell);
	bool whole = v->wrong[0] == '\0', stays = whole && v->cells > 0;
	bool may = (!stays || v->record) && ldb_fsck_may(v->f);
	struct ldb_key_parts parts;
	int rc = 0;

	v->f->fsck->result->values += v->cells > 0;
	if (!whole || v->cells > 1 || v->lost > 0)
		rc = values_take_cells(v, whole);
	if (!rc && v->record && may)
		rc = ldb_fsck_delete(v->f, (struct wcs_slice){record.data, record.len});
	if (!rc && v->record && stays) {
		ldb_key_split(key.data, key.len, &parts);
		wcs_fsck_found(v->f->fsck, WCS_FOUND_DAMAGE,
			       "its value would be deleted as garbage at the next mount",
			       may ? "the record of garbage was deleted" : NULL, "%s",
			       ldb_fsck_cell_place(v->f, key, &parts));
	}
	if (!rc && v->extra > 0 && whole && (stays || !v->raw))
		rc = values_orphans(v, v->count);
	if (!rc && !stays && may)
		rc = values_delete_chunks(v, 0,
					  v->raw ? "a chunk of a value that is not whole" : NULL);
	return rc;
}

static int values_one(struct values *v)
{
	int rc = values_read_cells(v);

	v->record = v->garbage_id == v->id;
	v->count = v->record ? v->garbage_count : 0;
	if (!rc && v->record) {
		leveldb_iter_next(v->garbage);
		rc = values_skip_garbage(v);
	}
	if (!rc)
		rc = values_read_chunks(v);
	if (rc)
		return rc;
	if (v->id > v->f->last_value)
		v->f->last_value = v->id;
	if (v->raw || v->cells + v->lost > 0)
		return values_of_cells(v);
	v->f->pending += v->record;
	return v->extra > 0 ? values_orphans(v, v->count) : 0;
}

int ldb_fsck_values(struct ldb_fsck *f)
{
	struct values v = {.f = f};
	int rc, end;

	v.refs = leveldb_create_iterator(f->index->db, f->read);
	v.garbage = ldb_fsck_iterate(f);
	v.chunks = ldb_fsck_iterate(f);
	leveldb_iter_seek_to_first(v.refs);
	leveldb_iter_seek(v.garbage, "g", 1);
	leveldb_iter_seek(v.chunks, "v", 1);
	rc = values_skip_garbage(&v);
	if (!rc)
		rc = values_skip_chunks(&v);
	while (!rc && (v.id = values_next_id(&v)) != 0)
		rc = values_one(&v);
	end = ldb_fsck_end(f, v.refs, rc);
	end = ldb_fsck_end(f, v.garbage, end);
	end = ldb_fsck_end(f, v.chunks, end);
	free(v.cell.data);
	return end;
}
