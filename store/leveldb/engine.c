/* SPDX-License-Identifier: MIT */
/*
 * Makes, opens and closes a database; its statistics; the engine's table of operations.
 *
 * Before the store serves, opening finishes the drops that a crash interrupted, and sets first_id,
 * by which reclaim.c recognises intents of earlier sessions.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "store/disk/directory.h"
#include "store/leveldb/compaction/compaction.h"
#include "store/leveldb/files/copy.h"
#include "store/leveldb/files/files.h"
#include "store/leveldb/formats/file.h"

#define ENGINE_CACHE	    (64u << 20)
#define ENGINE_BUFFER_LEAST (256u << 10)
#define ENGINE_BUFFER_MOST  (16u << 20)
#define ENGINE_BUFFER_CACHE (4u << 20) /* a memtable that fits into a processor's cache */
#define ENGINE_TABLE_LEAST  (1u << 20) /* LevelDB makes none smaller */
#define ENGINE_TABLE_MOST   (2u << 20)
#define ENGINE_SHARE	    256 /* one part of the medium in so many is the most for either */
#define ENGINE_BLOOM_BITS   10

static int engine_path(const char *path, char **data, struct wcs_fault *fault)
{
	if (asprintf(data, "%s/data", path) >= 0)
		return 0;
	*data = NULL;
	return wcs_fault_set(fault, -ENOMEM, "no memory");
}

static uint64_t engine_share(uint64_t total, uint64_t least, uint64_t most)
{
	uint64_t size = total / ENGINE_SHARE;

	return size < least ? least : size > most ? most : size;
}

/* A compaction writes up to 25 tables before it deletes the old ones: they must fit into the room
 * that is kept free on the medium (store/table/room.c). The memtable and the merged tables are
 * therefore smaller on a small medium. */
static struct ldb *engine_new(const struct wcs_options *options, const char *path)
{
	struct ldb *db = calloc(1, sizeof(*db));
	uint64_t total = UINT64_MAX;
	struct statvfs space;

	if (!db)
		return NULL;
	if (statvfs(path, &space) == 0)
		total = (uint64_t)space.f_blocks * space.f_frsize;
	db->buffer_bytes = engine_share(total, ENGINE_BUFFER_LEAST,
					options ? ENGINE_BUFFER_MOST : ENGINE_BUFFER_CACHE);
	db->table_bytes = engine_share(total, ENGINE_TABLE_LEAST, ENGINE_TABLE_MOST);
	ldb_replace_start(options ? options->fatal : NULL);
	db->dir = -1;
	db->options = options;
	db->filter = leveldb_filterpolicy_create_bloom(ENGINE_BLOOM_BITS);
	db->cache_bytes = options && options->cache_bytes ? options->cache_bytes : ENGINE_CACHE;
	db->cache = leveldb_cache_create_lru(db->cache_bytes);
	db->open_options = leveldb_options_create();
	leveldb_options_set_filter_policy(db->open_options, db->filter);
	leveldb_options_set_cache(db->open_options, db->cache);
	leveldb_options_set_paranoid_checks(db->open_options, 1);
	leveldb_options_set_compression(db->open_options, leveldb_snappy_compression);
	leveldb_options_set_write_buffer_size(db->open_options, (size_t)db->buffer_bytes);
	leveldb_options_set_max_file_size(db->open_options, (size_t)db->table_bytes);
	db->read = leveldb_readoptions_create();
	leveldb_readoptions_set_verify_checksums(db->read, 1);
	db->write = leveldb_writeoptions_create();
	pthread_mutex_init(&db->write_lock, NULL);
	ldb_sync_init(&db->sync);
	pthread_cond_init(&db->unbounded, NULL);
	pthread_mutex_init(&db->manual_lock, NULL);
	pthread_mutex_init(&db->admin_lock, NULL);
	pthread_mutex_init(&db->ids_lock, NULL);
	pthread_mutex_init(&db->erase_lock, NULL);
	pthread_mutex_init(&db->erased_lock, NULL);
	for (size_t i = 0; i < LDB_STRIPES; i++)
		pthread_mutex_init(&db->rows[i], NULL);
	return db;
}

void ldb_engine_close_raw(struct ldb *db)
{
	if (!db)
		return;
	if (db->db)
		leveldb_close(db->db);
	if (db->dir >= 0)
		close(db->dir);
	leveldb_writeoptions_destroy(db->write);
	leveldb_readoptions_destroy(db->read);
	leveldb_options_destroy(db->open_options);
	leveldb_cache_destroy(db->cache);
	leveldb_filterpolicy_destroy(db->filter);
	free(atomic_load(&db->spare));
	for (size_t i = 0; i < LDB_STRIPES; i++)
		pthread_mutex_destroy(&db->rows[i]);
	ldb_erased_put(db->erased);
	pthread_mutex_destroy(&db->erased_lock);
	pthread_mutex_destroy(&db->erase_lock);
	pthread_mutex_destroy(&db->ids_lock);
	pthread_mutex_destroy(&db->admin_lock);
	ldb_reclaim_stop(db);
	ldb_space_stop(db);
	pthread_mutex_destroy(&db->manual_lock);
	pthread_cond_destroy(&db->unbounded);
	ldb_sync_clear(&db->sync);
	pthread_mutex_destroy(&db->write_lock);
	free(db);
}

/* The end of an error message: advice to the user. */
static const char *engine_advice(int rc, const char *text)
{
	switch (rc) {
	case -EIO:
		return ldb_db_is_limit(text) ? ""
					     : "; fsck.rowfs -n names what is damaged, -y repairs";
	case -ENOSPC:
		return "; make some room on that medium, which the engine needs to start, and try "
		       "again";
	default:
		return "";
	}
}

int ldb_engine_open_raw(const char *data, bool create, const struct wcs_options *options,
			struct ldb **made, struct wcs_fault *fault)
{
	struct ldb *db = engine_new(options, data);
	char *text = NULL, held[LDB_DB_PATH], where[128] = "";
	struct wcs_fault said;
	const char *advice;
	int rc;

	if (!db)
		return wcs_fault_set(fault, -ENOMEM, "no memory");
	leveldb_options_set_create_if_missing(db->open_options, create);
	leveldb_options_set_error_if_exists(db->open_options, create);
	rc = create ? 0 : ldb_files_check(data, options, fault);
	if (rc)
		goto fail;
	if (!create || mkdir(data, 0700) == 0 || errno == EEXIST)
		db->dir = open(data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (db->dir < 0) {
		rc = wcs_fault_set(fault, directory_error(errno), "%s: %s", directory_name(data),
				   strerror(errno));
		goto fail;
	}
	/* A store may be moved while it is open. Without /proc LevelDB gets the path. */
	ldb_db_path(db->dir, held);
	db->db = leveldb_open(db->open_options, access(held, F_OK) == 0 ? held : data, &text);
	if (text) {
		if (strstr(text, held) == NULL && strstr(text, data) == NULL)
			snprintf(where, sizeof(where), "%s: ", directory_name(data));
		advice = engine_advice(ldb_db_errno(text), text);
		rc = ldb_db_tell(db, text, &said);
		wcs_fault_set(fault, rc, "%s%s%s", where, said.text, advice);
		goto fail;
	}
	*made = db;
	return 0;
fail:
	ldb_engine_close_raw(db);
	return rc;
}

/* Writes the counters. A store without them is damaged, not new. */
static int engine_create(const char *path, struct wcs_fault *fault)
{
	leveldb_writebatch_t *batch = leveldb_writebatch_create();
	unsigned char one[8];
	struct ldb *db = NULL;
	char *data = NULL, *text = NULL;
	int rc = engine_path(path, &data, fault);

	if (!rc)
		rc = ldb_engine_open_raw(data, true, NULL, &db, fault);
	if (rc)
		goto out;
	put_be32(one, 1);
	ldb_db_batch_put(batch, ldb_key_next_table, one, 4);
	put_be64(one, 1);
	ldb_db_batch_put(batch, ldb_key_next_value, one, 8);
	leveldb_writeoptions_set_sync(db->write, 1);
	leveldb_write(db->db, db->write, batch, &text);
	if (text)
		rc = ldb_db_tell(db, text, fault);
	else if (fsync(db->dir))
		rc = wcs_fault_set(fault, -EIO, "%s", strerror(errno));
out:
	leveldb_writebatch_destroy(batch);
	ldb_engine_close_raw(db);
	free(data);
	return rc;
}

static int engine_no_table(void *ctx, uint32_t id, const struct wcs_table_schema *schema)
{
	(void)ctx;
	(void)id;
	(void)schema;
	return 0;
}

static int engine_start(struct ldb *db)
{
	static atomic_bool background;
	int rc;

	/* LevelDB starts its thread, one for the process, when it first has work for it, and throws
	 * if it cannot: replace.c then ends the process, better now than during a write. */
	if (!atomic_exchange(&background, true))
		ldb_manual_flush(db);
	rc = ldb_space_start(db);
	if (!rc)
		rc = ldb_reclaim_start(db);
	if (!rc)
		rc = ldb_compact_start(db);
	if (rc)
		return rc;
	rc = ldb_drop_resume(db);
	if (rc)
		ldb_compact_stop(db);
	return rc;
}

static int engine_open(const char *path, const struct wcs_options *options, void **engine,
		       struct wcs_fault *fault)
{
	struct ldb *db = NULL;
	char *data = NULL;
	uint32_t etag = 0;
	int rc = engine_path(path, &data, fault);

	if (!rc)
		rc = ldb_engine_open_raw(data, false, options, &db, fault);
	if (rc)
		goto out;
	if (getrandom(&etag, sizeof(etag), 0) < 0)
		etag = (uint32_t)options->now(options->now_ctx);
	atomic_init(&db->etag, etag);
	atomic_init(&db->next_drop, 1);
	/* The counters and the descriptions are read, so that damage of them is an error here. */
	rc = ldb_db_counter(db, ldb_key_next_value, 8, "the counter of values is missing",
			    &db->first_id);
	db->next_id = db->reserved_id = db->first_id;
	if (!rc)
		rc = ldb_admin_load(db, engine_no_table, NULL);
	if (!rc)
		rc = ldb_copy_open(db);
	if (!rc)
		rc = engine_start(db);
	if (!rc) {
		*engine = db;
		goto out;
	}
	if (rc == -EPROTO)
		wcs_fault_set(fault, rc, "%s: %s", directory_name(data), db->newer);
	else
		wcs_fault_set(fault, rc, "%s: cannot be read: %s%s", directory_name(data),
			      strerror(-rc), engine_advice(rc, ""));
	ldb_engine_close_raw(db);
	ldb_files_blame(data, rc, fault);
out:
	free(data);
	return rc;
}

static void engine_close(void *engine)
{
	struct ldb *db = engine;

	ldb_compact_stop(db);
	ldb_space_save(db);
	ldb_engine_close_raw(db);
}

static int engine_stats(void *engine, struct wcs_stats *stats)
{
	struct ldb *db = engine;
	uint64_t extents = 0;
	int rc;

	stats->cells_written = atomic_load(&db->counters.cells_written);
	stats->cells_deleted = atomic_load(&db->counters.cells_deleted);
	stats->bytes_written = atomic_load(&db->counters.bytes_written);
	stats->value_bytes_read = atomic_load(&db->counters.bytes_read);
	stats->values_reclaimed = atomic_load(&db->counters.values_reclaimed);
	stats->drops = atomic_load(&db->drops);
	stats->cache_bytes = db->cache_bytes;
	stats->memory_bytes = ldb_db_property(db, "leveldb.approximate-memory-usage");
	ldb_space_compactions(db, &stats->compactions, &stats->compactions_pending);
	ldb_db_levels(db, stats);
	rc = ldb_reclaim_pending(db, WCS_STATS_PENDING_MAX, &stats->values_pending, &extents);
	stats->bytes_pending = ldb_space_bytes(db) + ldb_space_extents(db, extents);
	return rc;
}

static char *engine_text(void *engine)
{
	struct ldb *db = engine;
	char *own = leveldb_property_value(db->db, "leveldb.stats"), *text;

	if (asprintf(&text, "LevelDB %d.%d\nblock cache %zu bytes\n\n%s", leveldb_major_version(),
		     leveldb_minor_version(), db->cache_bytes, own ? own : "") < 0)
		text = NULL;
	leveldb_free(own);
	return text;
}

static const struct wcs_local engine_local = {
	.create = engine_create,
	.owns = ldb_file_owns,
	.fixed = ldb_file_is_fixed,
	.check_unused = ldb_fsck_unused,
	.check = ldb_fsck_store,
	.sync = ldb_sync_logs,
	.failed = ldb_db_failed,
	.gone = ldb_db_is_gone,
	.stats = engine_stats,
	.text = engine_text,
	.collect = ldb_collect_slice,
	.busy = ldb_commit_busy,
	.shrink = ldb_space_full,
	.note_put = ldb_note_put,
	.note_get = ldb_note_get,
};

const struct wcs_backend wcs_backend_leveldb = {
	.name = "leveldb",
	.can = {.filter = true, .reverse = true},
	.open = engine_open,
	.close = engine_close,
	.tables_load = ldb_admin_load,
	.table_put = ldb_admin_put,
	.scan_open = ldb_scan_open,
	.rows_open = ldb_rows_open,
	.rows_find = ldb_rows_find,
	.rows_read = ldb_rows_read,
	.rows_purge = ldb_rows_purge,
	.rows_apply = ldb_rows_apply,
	.rows_close = ldb_rows_close,
	.cell_open = ldb_read_open,
	.key_get = ldb_read_key,
	.splits = ldb_splits,
	.drop = ldb_drop_rows,
	.local = &engine_local,
};
