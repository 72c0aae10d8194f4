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

#include <errno.h>
#include <stdlib.h>

#include "store/leveldb/encoding/buffer.h"

#define EXTENT_IDS (1u << 20) /* reserved at a time */

/* ---- Sources ----------------------------------------------------------------------------- */

void ldb_source_init(struct ldb_source *source)
{
	source->more = NULL;
	source->room = 0;
	ldb_source_clear(source);
}

void ldb_source_clear(struct ldb_source *source)
{
	source->size = 0;
	source->count = 0;
}

void ldb_source_free(struct ldb_source *source)
{
	free(source->more);
}

static struct ldb_part *source_grow(struct ldb_source *source, uint64_t len)
{
	struct ldb_part *part = &source->first;

	if (source->count > 0) {
		if (source->count > source->room) {
			struct ldb_part *more =
				ldb_buffer_more(source->more, &source->room, 4, sizeof(*more));

			if (!more)
				return NULL;
			source->more = more;
		}
		part = &source->more[source->count - 1];
	}
	source->count++;
	source->size += len;
	*part = (struct ldb_part){.len = len};
	return part;
}

int ldb_source_add(struct ldb_source *source, struct wcs_slice data)
{
	struct ldb_cell cell = {.size = data.len, .data = data.data};

	return ldb_source_add_cell(source, &cell);
}

int ldb_source_add_cell(struct ldb_source *source, const struct ldb_cell *cell)
{
	struct ldb_part *part;

	if (cell->size == 0)
		return 0;
	part = source_grow(source, cell->size);
	if (!part)
		return -ENOMEM;
	part->id = cell->id;
	part->data = cell->id == 0 ? cell->data : NULL;
	return 0;
}

void ldb_source_set_number(struct ldb_source *source, const unsigned char number[8])
{
	ldb_source_clear(source);
	memcpy(source_grow(source, 8)->own, number, 8);
}

int ldb_source_view(struct ldb *db, const struct ldb_source *source, uint64_t offset, size_t len,
		    unsigned char *scratch, const unsigned char **data)
{
	size_t made = 0;

	for (size_t i = 0; i < source->count && made < len; i++) {
		const struct ldb_part *part = i == 0 ? &source->first : &source->more[i - 1];
		struct ldb_cell cell = {.size = part->len,
					.id = part->id,
					.data = part->data ? part->data : part->own};
		size_t got;
		int rc;

		if (offset >= part->len) {
			offset -= part->len;
			continue;
		}
		if (part->id == 0 && made == 0 && part->len - offset >= len) {
			*data = cell.data + offset;
			return 0;
		}
		rc = ldb_extent_read(db, &cell, scratch + made, len - made, offset, &got);
		if (rc)
			return rc;
		made += got;
		offset = 0;
	}
	*data = scratch;
	return 0;
}

/* ---- Extents ------------------------------------------------------------------------------ */

int ldb_extent_reserve(struct ldb *db, uint64_t *id)
{
	leveldb_writebatch_t *batch;
	unsigned char record[8];
	struct ldb_id_key key;
	int rc = 0;

	pthread_mutex_lock(&db->ids_lock);
	if (db->next_id == db->reserved_id) {
		batch = leveldb_writebatch_create();
		ldb_key_next_value(&key);
		ldb_put64(record, db->reserved_id + EXTENT_IDS);
		ldb_db_batch_put(batch, &key, record, sizeof(record));
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

/* Puts one extent into the batch; *offset moves behind it. */
static int extent_put(struct ldb *db, leveldb_writebatch_t *batch, uint64_t id,
		      const struct ldb_source *source, uint64_t *offset)
{
	unsigned char scratch[LDB_EXTENT];
	uint64_t left = source->size - *offset;
	size_t len = left < LDB_EXTENT ? (size_t)left : LDB_EXTENT;
	const unsigned char *data;
	struct ldb_id_key key;
	int rc = ldb_source_view(db, source, *offset, len, scratch, &data);

	if (rc)
		return rc;
	ldb_key_extent(&key, id, (uint32_t)(*offset / LDB_EXTENT));
	ldb_db_batch_put(batch, &key, data, len);
	*offset += len;
	return 0;
}

int ldb_extent_batch(struct ldb *db, leveldb_writebatch_t *batch, uint64_t id,
		     const struct ldb_source *source)
{
	int rc = 0;

	for (uint64_t offset = 0; !rc && offset < source->size;)
		rc = extent_put(db, batch, id, source, &offset);
	return rc;
}

int ldb_extent_stream(struct ldb *db, uint64_t id, const struct ldb_source *source)
{
	leveldb_writebatch_t *batch = leveldb_writebatch_create();
	bool first = source->size > db->buffer_bytes;
	uint64_t offset = 0;
	int rc = 0;

	if (first) {
		ldb_db_batch_garbage(batch, id, LDB_INTENT, ldb_extent_count(source->size));
		rc = ldb_commit(db, batch, true);
		leveldb_writebatch_clear(batch);
	}
	while (!rc && offset < source->size) {
		uint64_t end = offset + LDB_BATCH_BYTES;

		if (!first)
			ldb_db_batch_garbage(batch, id, LDB_INTENT, ldb_extent_count(source->size));
		while (!rc && offset < source->size && offset < end)
			rc = extent_put(db, batch, id, source, &offset);
		if (!rc)
			rc = ldb_commit(db, batch, false);
		leveldb_writebatch_clear(batch);
	}
	leveldb_writebatch_destroy(batch);
	return rc;
}

static int extent_damaged(struct ldb *db)
{
	return ldb_db_damaged(db, "an extent of a value is missing or of wrong length");
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
	struct extent_part part = {.extent_len = left < LDB_EXTENT ? (size_t)left : LDB_EXTENT,
				   .skip = (size_t)(offset - start)};

	ldb_key_extent(&part.key, cell->id, index);
	part.len = len < part.extent_len - part.skip ? len : part.extent_len - part.skip;
	return part;
}

/* Reads from one extent, with a Get, which uses the Bloom filters. */
static int extent_get(struct ldb *db, const struct extent_part *part, unsigned char *to)
{
	unsigned char *extent;
	size_t len;
	bool found;
	int rc = ldb_db_get(db, &part->key, &extent, &len, &found);

	if (rc)
		return rc;
	if (found && len == part->extent_len)
		memcpy(to, extent + part->skip, part->len);
	else
		rc = extent_damaged(db);
	leveldb_free(extent);
	return rc;
}

/* Whether the iterator is at this extent. */
static bool extent_is_at(leveldb_iterator_t *iter, const struct extent_part *part)
{
	const char *key;
	size_t len;

	if (!leveldb_iter_valid(iter))
		return false;
	key = leveldb_iter_key(iter, &len);
	if (len != part->key.len || memcmp(key, part->key.data, len) != 0)
		return false;
	leveldb_iter_value(iter, &len);
	return len == part->extent_len;
}

/* Reads from several extents, with an iterator: a Get copies a value twice. */
static int extent_walk(struct ldb *db, const struct ldb_cell *cell, unsigned char *to, size_t len,
		       uint64_t offset)
{
	leveldb_iterator_t *iter = ldb_db_iterate(db);
	struct extent_part part = extent_part_at(cell, offset, len);
	int rc = 0;

	ldb_iter_seek_id(iter, &part.key);
	for (size_t made = 0; !rc && made < len; made += part.len) {
		size_t value_len;

		part = extent_part_at(cell, offset + made, len - made);
		if (made > 0)
			leveldb_iter_next(iter);
		if (extent_is_at(iter, &part)) {
			memcpy(to + made, leveldb_iter_value(iter, &value_len) + part.skip,
			       part.len);
			continue;
		}
		rc = ldb_db_iter_error(db, iter);
		if (!rc)
			rc = extent_damaged(db);
	}
	leveldb_iter_destroy(iter);
	return rc;
}

int ldb_extent_read(struct ldb *db, const struct ldb_cell *cell, void *buf, size_t len,
		    uint64_t offset, size_t *got)
{
	uint64_t left = offset < cell->size ? cell->size - offset : 0;
	struct extent_part part;
	int rc = 0;

	if (len > left)
		len = (size_t)left;
	if (len > 0 && cell->id == 0) {
		memcpy(buf, cell->data + offset, len);
	} else if (len > 0) {
		part = extent_part_at(cell, offset, len);
		rc = part.len == len ? extent_get(db, &part, buf)
				     : extent_walk(db, cell, buf, len, offset);
	}
	if (!rc)
		*got = len;
	return rc;
}
