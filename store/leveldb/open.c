/* SPDX-License-Identifier: MIT */
/*
 * Making, opening and closing a database, and the engine's table of operations.
 *
 * Opening ends what a crash interrupted before anything else is served: drops are finished, and
 * what the last session left of chunks is told apart by first_id (see reclaim.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "bytes.h"
#include "engine.h"

#define OPEN_CACHE_DEFAULT (64u << 20)
#define OPEN_WRITE_BUFFER  (16u << 20)
#define OPEN_BLOOM_BITS	   10

const struct wcs_backend wcs_backend_leveldb = {
	.name = "leveldb",
	.create = ldb_open_create,
	.open = ldb_open_store,
	.close = ldb_open_close,
	.sync = ldb_db_sync,
	.failed = ldb_db_failed,
	.stats = ldb_stats_get,
	.text = ldb_stats_text,
	.tables_load = ldb_admin_load,
	.table_put = ldb_admin_put,
	.table_remove = ldb_admin_remove,
	.cell_get = ldb_read_cell,
	.value_open = ldb_read_open,
	.value_read = ldb_read_value,
	.value_close = ldb_read_close,
	.key_get = ldb_read_key,
	.scan_open = ldb_scan_open,
	.scan_next = ldb_scan_next,
	.scan_seek = ldb_scan_seek,
	.scan_read = ldb_scan_read,
	.scan_close = ldb_scan_close,
	.list_open = ldb_list_open,
	.list_next = ldb_list_next,
	.list_close = ldb_list_close,
	.mutate = ldb_mutate_row,
	.mutate_many = ldb_batch_rows,
	.move = ldb_move_cells,
	.drop = ldb_drop_rows,
	.collect = ldb_collect_slice,
	.collected = ldb_collect_settle,
	.busy = ldb_db_busy,
	.note_put = ldb_admin_note_put,
	.note_get = ldb_admin_note_get,
};

static int open_path(const char *path, char **data, struct wcs_fault *fault)
{
	char *made = malloc(strlen(path) + sizeof("/data"));

	if (!made)
		return wcs_fault_set(fault, -ENOMEM, "no memory");
	strcpy(made, path);
	strcat(made, "/data");
	*data = made;
	return 0;
}

size_t ldb_open_cache_bytes(const struct wcs_options *options)
{
	return options && options->cache_bytes ? options->cache_bytes : OPEN_CACHE_DEFAULT;
}

static struct ldb *open_new(const struct wcs_options *options)
{
	struct ldb *db = calloc(1, sizeof(*db));

	if (!db)
		return NULL;
	db->dir = -1;
	db->options = options;
	db->filter = leveldb_filterpolicy_create_bloom(OPEN_BLOOM_BITS);
	db->cache = leveldb_cache_create_lru(ldb_open_cache_bytes(options));
	db->open_options = leveldb_options_create();
	leveldb_options_set_filter_policy(db->open_options, db->filter);
	leveldb_options_set_cache(db->open_options, db->cache);
	leveldb_options_set_paranoid_checks(db->open_options, 1);
	leveldb_options_set_write_buffer_size(db->open_options, OPEN_WRITE_BUFFER);
	leveldb_options_set_compression(db->open_options, leveldb_snappy_compression);
	db->read = leveldb_readoptions_create();
	leveldb_readoptions_set_verify_checksums(db->read, 1);
	db->write = leveldb_writeoptions_create();
	db->write_sync = leveldb_writeoptions_create();
	leveldb_writeoptions_set_sync(db->write_sync, 1);
	pthread_mutex_init(&db->write_lock, NULL);
	pthread_mutex_init(&db->admin_lock, NULL);
	pthread_mutex_init(&db->ids_lock, NULL);
	for (size_t i = 0; i < LDB_STRIPES; i++)
		pthread_mutex_init(&db->rows[i], NULL);
	return db;
}

static void open_free(struct ldb *db)
{
	if (db->db)
		leveldb_close(db->db);
	if (db->dir >= 0)
		close(db->dir);
	leveldb_writeoptions_destroy(db->write_sync);
	leveldb_writeoptions_destroy(db->write);
	leveldb_readoptions_destroy(db->read);
	leveldb_options_destroy(db->open_options);
	leveldb_cache_destroy(db->cache);
	leveldb_filterpolicy_destroy(db->filter);
	for (size_t i = 0; i < LDB_STRIPES; i++)
		pthread_mutex_destroy(&db->rows[i]);
	pthread_mutex_destroy(&db->ids_lock);
	pthread_mutex_destroy(&db->admin_lock);
	pthread_mutex_destroy(&db->write_lock);
	free(db);
}

static int open_data(struct ldb *db, const char *path, struct wcs_fault *fault)
{
	char *text = NULL;
	char *data = NULL;
	int err = open_path(path, &data, fault);

	if (err)
		return err;
	db->db = leveldb_open(db->open_options, data, &text);
	if (text) {
		err = ldb_db_errno(text);
		wcs_fault_set(fault, err, "%s", text);
		leveldb_free(text);
	} else {
		db->dir = open(data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (db->dir < 0)
			err = wcs_fault_set(fault, -EIO, "%s: %s", data, strerror(errno));
	}
	free(data);
	return err;
}

/* The first records: what numbers come next. Without them a store is damaged, not young. */
static int open_make_counters(struct ldb *db, struct wcs_fault *fault)
{
	leveldb_writebatch_t *batch = leveldb_writebatch_create();
	unsigned char one[8];
	struct ldb_id_key key;
	char *text = NULL;
	int err = 0;

	ldb_key_next_table(&key);
	ldb_put32(one, 1);
	ldb_db_batch_put(batch, &key, one, 4);
	ldb_key_next_value(&key);
	ldb_put64(one, 1);
	ldb_db_batch_put(batch, &key, one, 8);
	leveldb_write(db->db, db->write_sync, batch, &text);
	leveldb_writebatch_destroy(batch);
	if (text) {
		err = wcs_fault_set(fault, ldb_db_errno(text), "%s", text);
		leveldb_free(text);
	} else if (fsync(db->dir)) {
		err = wcs_fault_set(fault, -EIO, "%s", strerror(errno));
	}
	return err;
}

int ldb_open_create(const char *path, struct wcs_fault *fault)
{
	struct ldb *db = open_new(NULL);
	int err;

	if (!db)
		return wcs_fault_set(fault, -ENOMEM, "no memory");
	leveldb_options_set_create_if_missing(db->open_options, 1);
	leveldb_options_set_error_if_exists(db->open_options, 1);
	err = open_data(db, path, fault);
	if (!err)
		err = open_make_counters(db, fault);
	open_free(db);
	return err;
}

static int open_read_counters(struct ldb *db)
{
	struct ldb_id_key key;
	unsigned char *value;
	size_t len;
	bool found;
	int err;

	ldb_key_next_value(&key);
	err = ldb_db_get(db, &key, &value, &len, &found);
	if (err)
		return err;
	if (found && len == 8)
		db->first_id = ldb_get64(value);
	leveldb_free(value);
	if (db->first_id == 0)
		return ldb_db_damaged(db, "the counter of values is missing");
	db->next_id = db->reserved_id = db->first_id;
	return 0;
}

int ldb_open_store(const char *path, const struct wcs_options *options, void **engine,
		   struct wcs_fault *fault)
{
	struct ldb *db = open_new(options);
	uint32_t etag = 0;
	int err;

	if (!db)
		return wcs_fault_set(fault, -ENOMEM, "no memory");
	if (getrandom(&etag, sizeof(etag), 0) < 0)
		etag = (uint32_t)options->now(options->now_ctx);
	atomic_init(&db->etag, etag);
	atomic_init(&db->next_drop, 1);
	atomic_init(&db->drops, 0);
	atomic_init(&db->failed, false);
	err = open_data(db, path, fault);
	if (err)
		goto fail;
	err = open_read_counters(db);
	if (!err)
		err = ldb_compact_start(db);
	if (err)
		goto fail_unread;
	err = ldb_drop_resume(db);
	if (!err)
		err = ldb_reclaim_start(db);
	if (err)
		goto fail_compact;
	*engine = db;
	return 0;
fail_compact:
	ldb_compact_stop(db);
fail_unread:
	wcs_fault_set(fault, err, "the store cannot be read: %s", strerror(-err));
fail:
	open_free(db);
	return err;
}

void ldb_open_close(void *engine)
{
	struct ldb *db = engine;

	ldb_compact_cancel(db);
	ldb_reclaim_stop(db);
	ldb_compact_stop(db);
	open_free(db);
}
