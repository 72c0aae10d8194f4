/* SPDX-License-Identifier: MIT */
/*
 * A mutation's values that become chunks.
 *
 * Values too large for the batch are streamed before, mostly before the lock is taken, under
 * intents; the batch holds the cell and the end of the intent. The logs are synced in between, so
 * that a power cut cannot keep the cell and lose chunks. A mutation that fails turns its intents
 * into garbage.
 */
#include "store/leveldb/write/mutate.h"

#include <errno.h>
#include <stdlib.h>

#include "store/leveldb/encoding/buffer.h"

static struct ldb_made *mutate_made_grow(struct ldb_mutate *m)
{
	if (m->made_count == m->made_room) {
		struct ldb_made *made = ldb_buffer_more(m->made, &m->made_room, 8, sizeof(*made));

		if (!made)
			return NULL;
		m->made = made;
	}
	return &m->made[m->made_count];
}

int ldb_mutate_chunks(struct ldb_mutate *m, const struct wcs_write *write,
		      const struct ldb_source *source, bool stream, size_t *index)
{
	struct ldb_made *made = mutate_made_grow(m);
	uint64_t id;
	int err;

	if (!made)
		return -ENOMEM;
	err = ldb_chunk_reserve(m->db, &id);
	if (err)
		return err;
	*made = (struct ldb_made){.write = write,
				  .ts = -1,
				  .id = id,
				  .chunks = ldb_record_chunks(source->size),
				  .streamed = stream};
	*index = m->made_count++;
	if (!stream)
		return ldb_chunk_batch(m->db, m->batch, id, source);
	m->unsynced = true;
	return ldb_chunk_stream(m->db, id, source);
}

bool ldb_mutate_is_given(const struct wcs_write *write)
{
	bool sets = write->kind == WCS_WRITE_SET || write->kind == WCS_WRITE_SET_NEWEST;

	return sets && !wcs_type_aggregates(write->type);
}

static int mutate_prepare_write(struct ldb_mutate *m, const struct wcs_write *write)
{
	struct ldb_source source;
	size_t index;
	int err;

	if (!ldb_mutate_is_given(write))
		return 0;
	if (write->value.len <= WCS_VALUE_INLINE)
		return 0;
	if (m->batch_chunks + write->value.len <= LDB_BATCH_BYTES) {
		m->batch_chunks += write->value.len;
		return 0;
	}
	ldb_source_init(&source);
	err = ldb_source_add(&source, write->value);
	if (!err)
		err = ldb_mutate_chunks(m, write, &source, true, &index);
	ldb_source_free(&source);
	return err;
}

int ldb_mutate_sync(struct ldb_mutate *m)
{
	if (!m->unsynced)
		return 0;
	m->unsynced = false;
	return ldb_sync_logs(m->db);
}

int ldb_mutate_prepare(struct ldb_mutate *m)
{
	int err = 0;

	for (size_t i = 0; i < m->mutation->write_count && !err; i++)
		err = mutate_prepare_write(m, &m->mutation->writes[i]);
	m->prepared = m->made_count;
	return err ? err : ldb_mutate_sync(m);
}

void ldb_mutate_end_intents(struct ldb_mutate *m)
{
	for (size_t i = 0; i < m->made_count; i++) {
		const struct ldb_made *made = &m->made[i];
		struct ldb_id_key key;

		if (made->replaced) {
			ldb_db_batch_garbage(m->batch, made->id, LDB_GARBAGE, made->chunks);
			m->garbage = true;
		} else if (made->streamed) {
			ldb_key_garbage(&key, made->id);
			ldb_db_batch_delete(m->batch, &key);
		}
	}
}

/* Where this fails too, the next open does it. */
void ldb_mutate_abandon(struct ldb_mutate *m)
{
	bool streamed = false;

	leveldb_writebatch_clear(m->batch);
	for (size_t i = 0; i < m->made_count; i++) {
		if (!m->made[i].streamed)
			continue;
		ldb_db_batch_garbage(m->batch, m->made[i].id, LDB_GARBAGE, m->made[i].chunks);
		streamed = true;
	}
	if (streamed && ldb_db_write(m->db, m->batch, false) == 0)
		ldb_reclaim_wake(m->db);
}
