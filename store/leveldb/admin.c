/* SPDX-License-Identifier: MIT */
/*
 * The tables' descriptions. Ids count from 1 and are never used again, so cells that a removed
 * table might have left would never show in another. A description is made durable behind all
 * that was written before: a family must not be gone after a power cut while its cells are back.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/leveldb/encoding/bytes.h"
#include "store/leveldb/engine.h"
#include "store/leveldb/files/copy.h"

int ldb_admin_load(void *engine,
		   int (*each)(void *ctx, uint32_t id, const struct wcs_table_schema *schema),
		   void *ctx)
{
	struct ldb *db = engine;
	leveldb_iterator_t *iter = ldb_db_iterate(db);
	struct wcs_table_schema schema;
	struct ldb_id_key first;
	int err = 0;

	ldb_key_description(&first, 0);
	leveldb_iter_seek(iter, (const char *)first.data, first.len);
	for (; !err && ldb_iter_in_space(iter, &first); leveldb_iter_next(iter)) {
		size_t len;
		const char *data = leveldb_iter_key(iter, &len);
		uint32_t id;

		if (!ldb_key_description_decode(data, len, &id)) {
			err = ldb_db_damaged(db, "the key of a table");
			break;
		}
		data = leveldb_iter_value(iter, &len);
		err = ldb_record_table_decode(data, len, &schema);
		if (err == -EIO)
			ldb_db_damaged(db, "the description of a table");
		if (err)
			break;
		err = each(ctx, id, &schema);
		ldb_record_table_clear(&schema);
	}
	if (!err)
		err = ldb_db_iter_error(db, iter);
	leveldb_iter_destroy(iter);
	return err;
}

int ldb_admin_next_id(struct ldb *db, uint32_t *id)
{
	struct ldb_id_key key;
	unsigned char *value;
	uint32_t next = 0;
	size_t len;
	bool found;
	int err;

	ldb_key_next_table(&key);
	err = ldb_db_get(db, &key, &value, &len, &found);
	if (err)
		return err;
	if (found && len == 4)
		next = ldb_get32(value);
	leveldb_free(value);
	if (next == 0)
		return ldb_db_damaged(db, "the counter of tables is missing");
	if (next == UINT32_MAX)
		return -EMFILE;
	*id = next;
	return 0;
}

/* With admin_lock held. */
static int admin_write(struct ldb *db, leveldb_writebatch_t *batch)
{
	int err = atomic_load(&db->failed) ? -EROFS : ldb_copy_remove(db);

	if (!err)
		err = ldb_sync_logs(db);
	if (!err)
		err = ldb_db_write(db, batch, true);
	if (!err)
		ldb_copy_write(db);
	return err;
}

static int admin_put_locked(struct ldb *db, uint32_t *id, const unsigned char *record, size_t len)
{
	leveldb_writebatch_t *batch = leveldb_writebatch_create();
	unsigned char counter[4];
	struct ldb_id_key key;
	uint32_t table = *id;
	int err = 0;

	if (table == 0) {
		err = ldb_admin_next_id(db, &table);
		if (err)
			goto out;
		ldb_key_next_table(&key);
		ldb_put32(counter, table + 1);
		ldb_db_batch_put(batch, &key, counter, sizeof(counter));
	}
	ldb_key_description(&key, table);
	ldb_db_batch_put(batch, &key, record, len);
	err = admin_write(db, batch);
	if (!err)
		*id = table;
out:
	leveldb_writebatch_destroy(batch);
	return err;
}

int ldb_admin_put(void *engine, uint32_t *id, const struct wcs_table_schema *schema)
{
	struct ldb *db = engine;
	size_t len;
	unsigned char *record = ldb_record_table(schema, &len);
	int err;

	if (!record)
		return -ENOMEM;
	pthread_mutex_lock(&db->admin_lock);
	err = admin_put_locked(db, id, record, len);
	pthread_mutex_unlock(&db->admin_lock);
	free(record);
	return err;
}

int ldb_admin_remove(void *engine, uint32_t id)
{
	struct ldb *db = engine;
	leveldb_writebatch_t *batch = leveldb_writebatch_create();
	struct ldb_id_key key;
	int err;

	ldb_key_description(&key, id);
	ldb_db_batch_delete(batch, &key);
	pthread_mutex_lock(&db->admin_lock);
	err = admin_write(db, batch);
	pthread_mutex_unlock(&db->admin_lock);
	leveldb_writebatch_destroy(batch);
	return err;
}

int ldb_admin_note_put(void *engine, const unsigned char *bytes, size_t len)
{
	struct ldb *db = engine;
	leveldb_writebatch_t *batch = leveldb_writebatch_create();
	struct ldb_id_key key;
	int err;

	ldb_key_note(&key);
	ldb_db_batch_put(batch, &key, bytes, len);
	err = ldb_db_write(db, batch, false);
	leveldb_writebatch_destroy(batch);
	return err;
}

int ldb_admin_note_get(void *engine, unsigned char **bytes, size_t *len)
{
	struct ldb_id_key key;
	bool found;
	int err;

	ldb_key_note(&key);
	err = ldb_db_get(engine, &key, bytes, len, &found);
	return err || found ? err : -ENOENT;
}
