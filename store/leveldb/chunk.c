/* SPDX-License-Identifier: MIT */
/*
 * Large values as chunks of LDB_CHUNK bytes under an id.
 *
 * - An id is never used again, also after a crash: ids come out of blocks that were reserved with
 *   a synced write before. So chunks under an id are of one value, whole or being written.
 * - The intent of streamed chunks is in the batch of the first of them: no chunk is ever without
 *   an intent, a garbage record or a cell that leads to it.
 */
#include "chunk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"

#define CHUNK_IDS (1u << 20) /* reserved at a time */

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
			size_t room = source->room ? 2 * source->room : 4;
			struct ldb_part *more = realloc(source->more, room * sizeof(*more));

			if (!more)
				return NULL;
			source->more = more;
			source->room = room;
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
	int err;

	if (part->id == 0) {
		memcpy(to, (part->data ? part->data : part->own) + offset, len);
		return 0;
	}
	err = ldb_chunk_read(db, &cell, to, len, offset, &got);
	if (!err && got < len)
		err = ldb_db_damaged(db, "a value is shorter than its cell says");
	return err;
}

int ldb_source_view(struct ldb *db, const struct ldb_source *source, uint64_t offset, size_t len,
		    unsigned char *scratch, const unsigned char **data)
{
	size_t made = 0;

	for (size_t i = 0; i < source->count && made < len; i++) {
		const struct ldb_part *part = source_part(source, i);
		size_t want = len - made;
		int err;

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
		err = source_copy(db, part, offset, want, scratch + made);
		if (err)
			return err;
		made += want;
		offset = 0;
	}
	*data = scratch;
	return 0;
}

/* ---- Chunks ------------------------------------------------------------------------------ */

static int chunk_reserve_block(struct ldb *db)
{
	leveldb_writebatch_t *batch = leveldb_writebatch_create();
	uint64_t reserved = db->reserved_id + CHUNK_IDS;
	unsigned char record[8];
	struct ldb_id_key key;
	int err;

	ldb_key_next_value(&key);
	ldb_put64(record, reserved);
	ldb_db_batch_put(batch, &key, record, sizeof(record));
	err = ldb_db_write(db, batch, true);
	leveldb_writebatch_destroy(batch);
	if (!err)
		db->reserved_id = reserved;
	return err;
}

int ldb_chunk_reserve(struct ldb *db, uint64_t *id)
{
	int err = 0;

	pthread_mutex_lock(&db->ids_lock);
	if (db->next_id == db->reserved_id)
		err = chunk_reserve_block(db);
	if (!err)
		*id = db->next_id++;
	pthread_mutex_unlock(&db->ids_lock);
	return err;
}

/* One chunk into the batch; *offset moves behind it. */
static int chunk_put(struct ldb *db, leveldb_writebatch_t *batch, uint64_t id,
		     const struct ldb_source *source, uint64_t *offset)
{
	unsigned char scratch[LDB_CHUNK];
	uint64_t left = source->size - *offset;
	size_t len = left < LDB_CHUNK ? (size_t)left : LDB_CHUNK;
	const unsigned char *data;
	struct ldb_id_key key;
	int err = ldb_source_view(db, source, *offset, len, scratch, &data);

	if (err)
		return err;
	ldb_key_chunk(&key, id, (uint32_t)(*offset / LDB_CHUNK));
	ldb_db_batch_put(batch, &key, data, len);
	*offset += len;
	return 0;
}

int ldb_chunk_batch(struct ldb *db, leveldb_writebatch_t *batch, uint64_t id,
		    const struct ldb_source *source)
{
	int err = 0;

	for (uint64_t offset = 0; !err && offset < source->size;)
		err = chunk_put(db, batch, id, source, &offset);
	return err;
}

int ldb_chunk_stream(struct ldb *db, uint64_t id, const struct ldb_source *source)
{
	leveldb_writebatch_t *batch = leveldb_writebatch_create();
	uint64_t offset = 0;
	int err = 0;

	ldb_db_batch_garbage(batch, id, LDB_INTENT, ldb_record_chunks(source->size));
	while (!err && offset < source->size) {
		uint64_t end = offset + LDB_BATCH_BYTES;

		while (!err && offset < source->size && offset < end)
			err = chunk_put(db, batch, id, source, &offset);
		if (!err)
			err = ldb_db_write(db, batch, false);
		leveldb_writebatch_clear(batch);
	}
	leveldb_writebatch_destroy(batch);
	return err;
}

/* Copies from one chunk; *copied is less than len only at the chunk's end. */
static int chunk_copy(struct ldb *db, uint64_t id, uint64_t size, unsigned char *to, size_t len,
		      uint64_t offset, size_t *copied)
{
	uint32_t index = (uint32_t)(offset / LDB_CHUNK);
	uint64_t start = (uint64_t)index * LDB_CHUNK;
	uint64_t expected = size - start < LDB_CHUNK ? size - start : LDB_CHUNK;
	size_t skip = (size_t)(offset - start);
	struct ldb_id_key key;
	unsigned char *chunk;
	size_t chunk_len;
	bool found;
	int err;

	ldb_key_chunk(&key, id, index);
	err = ldb_db_get(db, &key, &chunk, &chunk_len, &found);
	if (err)
		return err;
	if (!found || chunk_len != expected) {
		leveldb_free(chunk);
		return ldb_db_damaged(db, "a chunk of a value is missing or of wrong length");
	}
	if (len > chunk_len - skip)
		len = chunk_len - skip;
	memcpy(to, chunk + skip, len);
	leveldb_free(chunk);
	*copied = len;
	return 0;
}

int ldb_chunk_read(struct ldb *db, const struct ldb_cell *cell, void *buf, size_t len,
		   uint64_t offset, size_t *got)
{
	uint64_t left = offset < cell->size ? cell->size - offset : 0;
	unsigned char *to = buf;
	size_t made = 0;

	if (len > left)
		len = (size_t)left;
	if (cell->id == 0 && len > 0) {
		memcpy(buf, cell->data + offset, len);
		made = len;
	}
	while (made < len) {
		size_t copied = 0;
		int err = chunk_copy(db, cell->id, cell->size, to + made, len - made, offset + made,
				     &copied);

		if (err)
			return err;
		made += copied;
	}
	*got = made;
	return 0;
}
