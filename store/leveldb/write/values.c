/* SPDX-License-Identifier: MIT */
/*
 * A mutation's values in extents.
 *
 * Values too large for the batch are streamed beforehand, mostly before the row's lock is taken,
 * under intents; the batch holds the cell and the end of the intent. The logs are synced in
 * between, so that a power cut cannot keep the cell and lose extents. A mutation that fails turns
 * its intents into garbage.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/leveldb/encoding/buffer.h"
#include "store/leveldb/write/mutate.h"

/* Writes a value's extents: at once, under an intent (stream), or into the batch. *index: of
 * m->made. */
static int values_put(struct ldb_mutate *m, const struct wcs_write *write,
		      const struct ldb_source *source, bool stream, size_t *index)
{
	struct ldb_made *made;
	uint64_t id;
	int rc;

	if (m->made_count == m->made_room) {
		made = ldb_buffer_more(m->made, &m->made_room, 8, sizeof(*made));
		if (!made)
			return -ENOMEM;
		m->made = made;
	}
	rc = ldb_extent_reserve(m->db, &id);
	if (rc)
		return rc;
	*index = m->made_count++;
	m->made[*index] = (struct ldb_made){.write = write,
					    .ts = -1,
					    .id = id,
					    .extents = ldb_extent_count(source->size),
					    .streamed = stream};
	if (!stream)
		return ldb_extent_batch(m->db, m->batch, id, source);
	m->unsynced = true;
	return ldb_extent_stream(m->db, id, source);
}

/* Whether the write's value is the one that its cell gets; else it depends on the present cell. */
static bool values_is_given(const struct wcs_write *write)
{
	bool sets = write->kind == WCS_WRITE_SET || write->kind == WCS_WRITE_SET_NEWEST;

	return sets && !wcs_type_aggregates(write->type);
}

int ldb_values_extents(struct ldb_mutate *m, const struct wcs_write *write,
		       const struct ldb_source *source, size_t *index)
{
	bool stream = false;

	if (m->prepared_used < m->prepared && m->made[m->prepared_used].write == write) {
		*index = m->prepared_used++;
		return 0;
	}
	if (!values_is_given(write)) { /* the others are in batch_extents already */
		stream = m->batch_extents + source->size > LDB_BATCH_BYTES;
		m->batch_extents += stream ? 0 : (size_t)source->size;
	}
	return values_put(m, write, source, stream, index);
}

int ldb_values_sync(struct ldb_mutate *m)
{
	if (!m->unsynced)
		return 0;
	m->unsynced = false;
	return ldb_sync_logs(m->db);
}

int ldb_values_prepare(struct ldb_mutate *m)
{
	int rc = 0;

	for (size_t i = 0; i < m->mutation->write_count && !rc; i++) {
		const struct wcs_write *write = &m->mutation->writes[i];
		struct ldb_source source = {0};
		size_t index;

		if (!values_is_given(write) || write->value.len <= WCS_VALUE_INLINE)
			continue;
		if (m->batch_extents + write->value.len <= LDB_BATCH_BYTES) {
			m->batch_extents += write->value.len;
			continue;
		}
		rc = ldb_source_add(&source, write->value);
		if (!rc)
			rc = values_put(m, write, &source, true, &index);
		free(source.more);
	}
	m->prepared = m->made_count;
	return rc ? rc : ldb_values_sync(m);
}

void ldb_values_end(struct ldb_mutate *m)
{
	for (size_t i = 0; i < m->made_count; i++) {
		const struct ldb_made *made = &m->made[i];

		if (made->replaced) {
			ldb_db_batch_garbage(m->batch, made->id, LDB_GARBAGE, made->extents);
			m->garbage = true;
		} else if (made->streamed) {
			ldb_db_batch_delete(m->batch, ldb_key_garbage(made->id));
		}
	}
}

/* If the write fails too, the next open takes the intents for garbage. */
void ldb_values_abandon(struct ldb_mutate *m)
{
	bool streamed = false;

	leveldb_writebatch_clear(m->batch);
	for (size_t i = 0; i < m->made_count; i++) {
		if (!m->made[i].streamed)
			continue;
		ldb_db_batch_garbage(m->batch, m->made[i].id, LDB_GARBAGE, m->made[i].extents);
		streamed = true;
	}
	if (streamed && ldb_commit(m->db, m->batch, false) == 0)
		ldb_reclaim_wake(m->db);
}
