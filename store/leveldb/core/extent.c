/* SPDX-License-Identifier: MIT */
/*
 * Stores large values as extents of LDB_EXTENT bytes under an id.
 *
 * - An id is never used again, not even after a crash: ids come from blocks that were reserved with
 *   a synced write. So the extents under an id are of one value, complete or being written.
 * - Every extent has an intent, a garbage record or a cell that leads to it, even if a power cut
 *   keeps only the newer of two logs. Therefore every batch of streamed extents has the intent; of
 *   a value larger than LevelDB's write buffer the intent is alone and synced before. A table from
 *   the value's middle then has only its extents, overlaps no other table, and is not merged again.
 */
#include "store/leveldb/extent.h"

#define EXTENT_IDS (1u << 20) /* reserved at a time */

/* ---- Extents ------------------------------------------------------------------------------ */

int ldb_extent_reserve(struct ldb *db, uint64_t *id)
{
	leveldb_writebatch_t *batch;
	unsigned char record[8];
	int rc = 0;

	pthread_mutex_lock(&db->ids_lock);
	if (db->next_id == db->reserved_id) {
		batch = leveldb_writebatch_create();
		put_be64(record, db->reserved_id + EXTENT_IDS);
		ldb_db_batch_put(batch, ldb_key_next_value, record, sizeof(record));
		rc = ldb_commit(db, batch, true);
		leveldb_writebatch_destroy(batch);
		if (!rc)
			db->reserved_id += EXTENT_IDS;
	}
	if (!rc)
		*id = db->next_id++;
	pthread_mutex_unlock(&db->ids_lock);
	return rc;
}

int ldb_extent_view(struct ldb *db, const struct wcs_content *value, uint64_t offset, size_t len,
		    unsigned char *scratch, const unsigned char **data)
{
	size_t made = 0, got;

	for (size_t i = 0; i <= value->part_count && made < len; i++) {
		struct ldb_cell part = {0};
		int rc;

		if (i > 0)
			part = (struct ldb_cell){.size = value->parts[i - 1].len,
						 .data = value->parts[i - 1].data};
		else if (value->from)
			part = (struct ldb_cell){.size = value->from->size, .id = value->from->id};
		if (offset >= part.size) {
			offset -= part.size;
			continue;
		}
		if (part.id == 0 && made == 0 && part.size - offset >= len) {
			*data = part.data + offset;
			return 0;
		}
		rc = ldb_extent_read(db, &part, scratch + made, len - made, offset, &got);
		if (rc)
			return rc;
		made += got;
		offset = 0;
	}
	*data = scratch;
	return 0;
}

/* Puts one extent into the batch; *offset moves behind it. */
static int extent_put(struct ldb *db, leveldb_writebatch_t *batch, uint64_t id,
		      const struct wcs_content *value, uint64_t *offset)
{
	unsigned char scratch[LDB_EXTENT];
	uint64_t left = value->size - *offset;
	size_t len = left < LDB_EXTENT ? (size_t)left : LDB_EXTENT;
	const unsigned char *data;
	int rc = ldb_extent_view(db, value, *offset, len, scratch, &data);

	if (rc)
		return rc;
	ldb_db_batch_put(batch, ldb_key_extent(id, (uint32_t)(*offset / LDB_EXTENT)), data, len);
	*offset += len;
	return 0;
}

int ldb_extent_batch(struct ldb *db, leveldb_writebatch_t *batch, uint64_t id,
		     const struct wcs_content *value)
{
	int rc = 0;

	for (uint64_t offset = 0; !rc && offset < value->size;)
		rc = extent_put(db, batch, id, value, &offset);
	return rc;
}

int ldb_extent_stream(struct ldb *db, uint64_t id, const struct wcs_content *value)
{
	leveldb_writebatch_t *batch = leveldb_writebatch_create();
	bool first = value->size > db->buffer_bytes;
	uint64_t offset = 0;
	int rc = 0;

	if (first) {
		ldb_db_batch_garbage(batch, id, LDB_INTENT, ldb_extent_count(value->size));
		rc = ldb_commit(db, batch, true);
		leveldb_writebatch_clear(batch);
	}
	while (!rc && offset < value->size) {
		uint64_t end = offset + LDB_BATCH_BYTES;

		if (!first)
			ldb_db_batch_garbage(batch, id, LDB_INTENT, ldb_extent_count(value->size));
		while (!rc && offset < value->size && offset < end)
			rc = extent_put(db, batch, id, value, &offset);
		if (!rc)
			rc = ldb_commit(db, batch, false);
		leveldb_writebatch_clear(batch);
	}
	leveldb_writebatch_destroy(batch);
	return rc;
}

/* The part of a read that one extent has. */
struct extent_part {
	struct ldb_id_key key;
	size_t extent_len, skip, len;
};

static struct extent_part extent_part_at(const struct ldb_cell *cell, uint64_t offset, size_t len)
{
	uint32_t index = (uint32_t)(offset / LDB_EXTENT);
	uint64_t start = (uint64_t)index * LDB_EXTENT, left = cell->size - start;
	struct extent_part part = {.key = ldb_key_extent(cell->id, index),
				   .extent_len = left < LDB_EXTENT ? (size_t)left : LDB_EXTENT,
				   .skip = (size_t)(offset - start)};

	part.len = len < part.extent_len - part.skip ? len : part.extent_len - part.skip;
	return part;
}

/* Copies the part of the read that an extent has. extent NULL: it is missing. */
static int extent_take(struct ldb *db, const struct extent_part *part, const void *extent,
		       size_t len, unsigned char *to)
{
	if (!extent || len != part->extent_len)
		return ldb_db_damaged(db, "an extent of a value is missing or of wrong length");
	memcpy(to, (const unsigned char *)extent + part->skip, part->len);
	return 0;
}

/* Reads from several extents, with an iterator: a Get copies a value twice. */
static int extent_walk(struct ldb *db, const struct ldb_cell *cell, unsigned char *to, size_t len,
		       uint64_t offset)
{
	leveldb_iterator_t *iter = ldb_db_iterate(db);
	struct extent_part part = extent_part_at(cell, offset, len);
	int rc = 0;

	ldb_iter_seek_id(iter, part.key);
	for (size_t made = 0; !rc && made < len; made += part.len) {
		const char *key = NULL, *extent = NULL;
		size_t key_len, extent_len = 0;

		part = extent_part_at(cell, offset + made, len - made);
		if (made > 0)
			leveldb_iter_next(iter);
		if (leveldb_iter_valid(iter))
			key = leveldb_iter_key(iter, &key_len);
		if (key && key_len == part.key.len && memcmp(key, part.key.data, key_len) == 0)
			extent = leveldb_iter_value(iter, &extent_len);
		else
			rc = ldb_db_iter_error(db, iter);
		if (!rc)
			rc = extent_take(db, &part, extent, extent_len, to + made);
	}
	leveldb_iter_destroy(iter);
	return rc;
}

int ldb_extent_read(struct ldb *db, const struct ldb_cell *cell, void *buf, size_t len,
		    uint64_t offset, size_t *got)
{
	uint64_t left = offset < cell->size ? cell->size - offset : 0;
	struct extent_part part;
	unsigned char *extent = NULL;
	size_t extent_len = 0;
	int rc = 0;

	if (len > left)
		len = (size_t)left;
	if (len > 0 && cell->id == 0) {
		memcpy(buf, cell->data + offset, len);
	} else if (len > 0) {
		part = extent_part_at(cell, offset, len);
		if (part.len < len) {
			rc = extent_walk(db, cell, buf, len, offset);
		} else { /* a Get uses the Bloom filters */
			rc = ldb_db_get(db, part.key, &extent, &extent_len);
			if (!rc)
				rc = extent_take(db, &part, extent, extent_len, buf);
			leveldb_free(extent);
		}
	}
	if (!rc)
		*got = len;
	return rc;
}
