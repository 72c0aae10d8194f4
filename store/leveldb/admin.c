/* SPDX-License-Identifier: MIT */
/*
 * Loads and changes the tables' descriptions.
 *
 * Ids count from 1 and are never used again, so that cells which a removed table left could never
 * show in another. All earlier writes become durable before a description: after a power cut a
 * family must not be gone while its cells are back.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/leveldb/engine.h"
#include "store/leveldb/files/copy.h"

int ldb_admin_load(void *engine,
		   int (*each)(void *ctx, uint32_t id, const struct wcs_table_schema *schema),
		   void *ctx)
{
	struct ldb *db = engine;
	leveldb_iterator_t *iter = ldb_db_iterate(db);
	struct ldb_id_key first = ldb_key_description(0);
	struct wcs_table_schema schema;
	size_t count = 0;
	int rc = 0;

	ldb_iter_seek_id(iter, first);
	for (; !rc && ldb_iter_in_space(iter, first); leveldb_iter_next(iter)) {
		size_t len;
		const char *data = leveldb_iter_key(iter, &len);
		uint32_t id;

		if (!ldb_key_description_decode(data, len, &id))
			rc = ldb_db_damaged(db, "the key of a table");
		else if (id > LDB_TABLE_ID_MAX)
			rc = ldb_db_damaged(db, "the number of a table leaves no room for more");
		else if (++count > WCS_TABLES_MAX)
			rc = ldb_db_damaged(db, "it has more tables than a store can have");
		if (rc)
			break;
		data = leveldb_iter_value(iter, &len);
		rc = ldb_record_table_decode(data, len, &schema);
		if (rc == -EIO)
			ldb_db_damaged(db, "the description of a table");
		if (rc == -EPROTO)
			ldb_record_newer(data, len, id, db->newer);
		if (rc)
			break;
		rc = each(ctx, id, &schema);
		wcs_table_schema_clear(&schema);
	}
	return ldb_db_iter_end(db, iter, rc);
}

/* The caller holds admin_lock. */
static int admin_write(struct ldb *db, leveldb_writebatch_t *batch)
{
	int rc = ldb_db_failed(db) ? -EROFS : ldb_copy_remove(db);

	if (!rc)
		rc = ldb_sync_logs(db);
	if (!rc)
		rc = ldb_commit(db, batch, true);
	if (!rc)
		ldb_copy_write(db);
	return rc;
}

int ldb_admin_put(void *engine, uint32_t *id, const struct wcs_table_schema *schema)
{
	struct ldb *db = engine;
	size_t len = 0;
	unsigned char counter[4], *record = schema ? ldb_record_table(schema, &len) : NULL;
	leveldb_writebatch_t *batch;
	uint32_t table = *id;
	int rc = 0;

	if (schema && !record)
		return -ENOMEM;
	batch = leveldb_writebatch_create();
	pthread_mutex_lock(&db->admin_lock);
	if (*id == 0)
		rc = ldb_db_next_table(db, &table);
	if (!rc && *id == 0) {
		put_be32(counter, table + 1);
		ldb_db_batch_put(batch, ldb_key_next_table, counter, sizeof(counter));
	}
	if (schema)
		ldb_db_batch_put(batch, ldb_key_description(table), record, len);
	else
		ldb_db_batch_delete(batch, ldb_key_description(table));
	if (!rc)
		rc = admin_write(db, batch);
	pthread_mutex_unlock(&db->admin_lock);
	if (!rc && *id == 0) /* others read that of a table without a lock */
		*id = table;
	leveldb_writebatch_destroy(batch);
	free(record);
	return rc;
}
