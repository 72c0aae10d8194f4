/* SPDX-License-Identifier: MIT */
/*
 * Large values as extents of LDB_EXTENT bytes under an id.
 *
 * - An id is never used again, also after a crash: ids come out of blocks that were reserved with
 *   a synced write before. So extents under an id are of one value, whole or being written.
 * - No extent is ever without an intent, a garbage record or a cell that leads to it, also where a
 *   power cut keeps only the newer of two logs. So the intent of streamed extents is in every batch
 *   of them; that of a value larger than LevelDB's write buffer is alone and synced before. For
 *   then a table of the value's middle has nothing but its extents, overlaps no other, and is not
 *   merged again.
 */
#include "store/leveldb/extent.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/leveldb/encoding/buffer.h"
#include "store/leveldb/encoding/bytes.h"

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

static const struct ldb_part *source_part(const struct ldb_source *source, size_t i)
{
	return i == 0 ? &source->first : &source->more[i - 1];
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
	part->len = len;
	part->id = 0;
	part->data = NULL;
	return part;
}

int ldb_source_add(struct ldb_source *source, struct wcs_slice data)
{
	struct ldb_part *part;

	if (data.len == 0)
		return 0;
	part = source_grow(source, data.len);
	if (!part)
		return -ENOMEM;
	part->data = data.data;
	return 0;
}

int ldb_source_add_cell(struct ldb_source *source, const struct ldb_cell *cell)
{
	struct ldb_part *part;

	if (cell->id == 0)
		return ldb_source_add(source, (struct wcs_slice){cell->data, (size_t)cell->size});
	part = source_grow(source, cell->size);
	if (!part)
		return -ENOMEM;
	part->id = cell->id;
	return 0;
}

void ldb_source_set_number(struct ldb_source *source, const unsigned char number[8])
{
	ldb_source_clear(source);
	memcpy(source_grow(source, 8)->own, number, 8);
}

static int source_copy(struct ldb *db, const struct ldb_part *part, uint64_t offset, size_t len,
		       unsigned char *to)
{
	struct ldb_cell cell = {.id = part->id, .size = part->len};
	size_t got;
	int rc;

	if (part->id == 0) {
		memcpy(to, (part->data ? part->data : part->own) + offset, len);
		return 0;
	}
	rc = ldb_extent_read(db, &cell, to, len, offset, &got);
	if (!rc && got < len)
		rc = ldb_db_damaged(db, "a value is shorter than its cell says");
	return rc;
}

int ldb_source_view(struct ldb *db, const struct ldb_source *source, uint64_t offset, size_t len,
		    unsigned char *scratch, const unsigned char **data)
{
	size_t made = 0;

	for (size_t i = 0; i < source->count && made < len; i++) {
		const struct ldb_part *part = source_part(source, i);
		size_t want = len - made;
		int rc;

		if (offset >= part->len) {
			offset -= part->len;
			continue;
		}
		if (part->id == 0 && made == 0 && part->len - offset >= len) {
			*data = (part->data ? part->data : part->own) + offset;
			return 0;
		}
		if (want > part->len - offset)
			want = (size_t)(part->len - offset);
		rc = source_copy(db, part, offset, want, scratch + made);
		if (rc)
			return rc;
		made += want;
		offset = 0;
	}
	*data = scratch;
	return 0;
}

/* ---- Extents ------------------------------------------------------------------------------ */

static int extent_reserve_block(struct ldb *db)
{
	leveldb_writebatch_t *batch = leveldb_writebatch_create();
	uint64_t reserved = db->reserved_id + EXTENT_IDS;
	unsigned char record[8];
	struct ldb_id_key key;
	int rc;

	ldb_key_next_value(&key);
	ldb_put64(record, reserved);
	ldb_db_batch_put(batch, &key, record, sizeof(record));
	rc = ldb_commit(db, batch, true);
	leveldb_writebatch_destroy(batch);
	if (!rc)
		db->reserved_id = reserved;
	return rc;
}

int ldb_extent_reserve(struct ldb *db, uint64_t *id)
{
	int rc = 0;

	pthread_mutex_lock(&db->ids_lock);
	if (db->next_id == db->reserved_id)
		rc = extent_reserve_block(db);
	if (!rc)
		*id = db->next_id++;
	pthread_mutex_unlock(&db->ids_lock);
	return rc;
}

/* One extent into the batch; *offset moves behind it. */
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
	return ldb_db_damaged(db, "a extent of a value is missing or of wrong length");
}

/* What of a read is to be had from one extent. */
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

/* Of one extent, which a Get finds without looking into tables that do not have it. */
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

/* Is this extent the one under the iterator? */
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

/* Of the extent under the iterator. */
static int extent_take(struct ldb *db, leveldb_iterator_t *iter, const struct extent_part *part,
		       unsigned char *to)
{
	size_t len;
	int rc;

	if (!extent_is_at(iter, part)) {
		rc = ldb_db_iter_error(db, iter);
		return rc ? rc : extent_damaged(db);
	}
	memcpy(to, leveldb_iter_value(iter, &len) + part->skip, part->len);
	return 0;
}

/* Of several extents, one behind the other: an iterator shows what a Get copies twice. */
static int extent_walk(struct ldb *db, const struct ldb_cell *cell, unsigned char *to, size_t len,
		       uint64_t offset)
{
	leveldb_iterator_t *iter = ldb_db_iterate(db);
	struct extent_part part = extent_part_at(cell, offset, len);
	int rc = 0;

	leveldb_iter_seek(iter, (const char *)part.key.data, part.key.len);
	for (size_t made = 0; !rc && made < len; made += part.len) {
		part = extent_part_at(cell, offset + made, len - made);
		if (made > 0)
			leveldb_iter_next(iter);
		rc = extent_take(db, iter, &part, to + made);
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
