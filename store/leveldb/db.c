/* SPDX-License-Identifier: MIT */
/*
 * The database below the engine: reading, writing, syncing, and its errors.
 *
 * - Every write goes through ldb_db_write, one at a time. LevelDB loses what it is given after a
 *   failed append to its log though it reports success, so no write may return success that came
 *   behind a failed one: the failure is seen under the same lock as the next write's begin.
 * - LevelDB does not sync a log that it closes when it starts the next. Where one write must not
 *   survive a power cut without an earlier one, ldb_db_sync_logs stands between them.
 * - LevelDB's explicit snapshots are not used; an iterator is one consistent view by itself.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine.h"

enum { DB_BUSY_FILES = 6 }; /* in level 0; LevelDB slows writers from 8 on, and stops them at 12 */

int ldb_db_errno(const char *text)
{
	if (strncmp(text, "IO error: lock ", 15) == 0)
		return -EBUSY;
	if (strstr(text, "No space left on device") || strstr(text, "Disk quota exceeded"))
		return -ENOSPC;
	return -EIO;
}

void ldb_db_log(struct ldb *db, enum wcs_log_level level, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	db->options->log(db->options->log_ctx, level, text);
}

int ldb_db_error(struct ldb *db, const char *what, char *text)
{
	int err = ldb_db_errno(text);

	ldb_db_log(db, WCS_LOG_ERROR, "%s: %s", what, text);
	leveldb_free(text);
	return err;
}

int ldb_db_damaged(struct ldb *db, const char *what)
{
	ldb_db_log(db, WCS_LOG_ERROR, "damaged store: %s", what);
	return -EIO;
}

/* The first failed write ends writing. Called with write_lock held, or without any lock where
 * the failed call wrote nothing itself. */
static int db_fail(struct ldb *db, int err, const char *why)
{
	if (!atomic_exchange(&db->failed, true))
		ldb_db_log(db, WCS_LOG_ERROR,
			   "a write failed, the store is read-only until it is opened anew: %s",
			   why);
	return err;
}

static int db_write_locked(struct ldb *db, leveldb_writebatch_t *batch, bool sync)
{
	char *text = NULL;
	int err;

	if (atomic_load(&db->failed))
		return -EROFS;
	leveldb_write(db->db, sync ? db->write_sync : db->write, batch, &text);
	if (!text)
		return 0;
	err = db_fail(db, ldb_db_errno(text), text);
	leveldb_free(text);
	return err;
}

int ldb_db_write(struct ldb *db, leveldb_writebatch_t *batch, bool sync)
{
	int err;

	pthread_mutex_lock(&db->write_lock);
	err = db_write_locked(db, batch, sync);
	pthread_mutex_unlock(&db->write_lock);
	if (!err)
		ldb_stats_batch(db, batch);
	return err;
}

/* A log may be gone by now: LevelDB deletes it once a synced table holds what it held. */
static int db_sync_log(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
	int err;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	err = fdatasync(fd) ? -errno : 0;
	close(fd);
	return err;
}

static int db_sync_files(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	int err = 0;

	if (!stream) {
		err = -errno;
		if (fd >= 0)
			close(fd);
		return err;
	}
	while (!err && (errno = 0, entry = readdir(stream))) {
		size_t len = strlen(entry->d_name);

		if (len > 4 && strcmp(entry->d_name + len - 4, ".log") == 0)
			err = db_sync_log(dir, entry->d_name);
	}
	if (!err && errno)
		err = -errno;
	closedir(stream);
	if (!err && fsync(dir))
		err = -errno;
	return err;
}

void ldb_db_lock_rows(struct ldb *db)
{
	for (size_t i = 0; i < LDB_STRIPES; i++)
		pthread_mutex_lock(&db->rows[i]);
}

void ldb_db_unlock_rows(struct ldb *db)
{
	for (size_t i = LDB_STRIPES; i > 0; i--)
		pthread_mutex_unlock(&db->rows[i - 1]);
}

int ldb_db_sync_logs(struct ldb *db)
{
	int err;

	if (atomic_load(&db->failed))
		return -EROFS;
	err = db_sync_files(db->dir);
	if (!err)
		return 0;
	if (err == -EMFILE || err == -ENFILE || err == -ENOMEM) {
		ldb_db_log(db, WCS_LOG_ERROR, "sync: %s", strerror(-err));
		return -EIO; /* nothing was tried, so nothing is lost */
	}
	return db_fail(db, err == -ENOSPC ? err : -EIO, strerror(-err));
}

/* Nothing is written: LevelDB keeps no acknowledged write in the process, and on a full disk a
 * write would fail and close the store to writing though all was safe. */
bool ldb_db_failed(void *engine)
{
	struct ldb *db = engine;

	return atomic_load(&db->failed);
}

int ldb_db_sync(void *engine)
{
	return ldb_db_sync_logs(engine);
}

int ldb_db_get(struct ldb *db, const struct ldb_id_key *key, unsigned char **value, size_t *len,
	       bool *found)
{
	char *text = NULL;
	size_t size;
	char *got = leveldb_get(db->db, db->read, (const char *)key->data, key->len, &size, &text);

	if (text)
		return ldb_db_error(db, "read", text);
	*found = got != NULL;
	*value = (unsigned char *)got;
	*len = got ? size : 0;
	return 0;
}

bool ldb_db_busy(void *engine)
{
	struct ldb *db = engine;
	char *files = leveldb_property_value(db->db, "leveldb.num-files-at-level0");
	bool busy = files && atoi(files) >= DB_BUSY_FILES;

	leveldb_free(files);
	return busy;
}

leveldb_iterator_t *ldb_db_iterate(struct ldb *db)
{
	return leveldb_create_iterator(db->db, db->read);
}

int ldb_db_iter_error(struct ldb *db, leveldb_iterator_t *iter)
{
	char *text = NULL;

	leveldb_iter_get_error(iter, &text);
	return text ? ldb_db_error(db, "read", text) : 0;
}

void ldb_db_batch_put(leveldb_writebatch_t *batch, const struct ldb_id_key *key,
		      const unsigned char *value, size_t len)
{
	leveldb_writebatch_put(batch, (const char *)key->data, key->len,
			       value ? (const char *)value : "", len);
}

void ldb_db_batch_delete(leveldb_writebatch_t *batch, const struct ldb_id_key *key)
{
	leveldb_writebatch_delete(batch, (const char *)key->data, key->len);
}

void ldb_db_batch_garbage(leveldb_writebatch_t *batch, uint64_t id, enum ldb_garbage_kind kind,
			  uint32_t chunks)
{
	unsigned char record[LDB_GARBAGE_LEN];
	struct ldb_id_key key;

	ldb_key_garbage(&key, id);
	ldb_record_garbage(record, kind, chunks);
	ldb_db_batch_put(batch, &key, record, sizeof(record));
}
