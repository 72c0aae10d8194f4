/* SPDX-License-Identifier: MIT */
/*
 * Reads LevelDB, reports its errors, and puts the engine's records into batches.
 *
 * The engine never creates an explicit snapshot: an iterator is a consistent view by itself.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/disk/directory.h"
#include "store/leveldb/engine.h"

enum { DB_LEVELS = 7, DB_WORDS = 512 };

#define DB_ADVICE "; fsck.rowfs, once nobody uses the store, says where (-n) and repairs (-y)"
#define DB_GONE	  "the store was removed while it was open; unmount it, and restore a copy or a dump"

/* ---- Errors ------------------------------------------------------------------------------ */

int ldb_db_errno(const char *text)
{
	if (strncmp(text, "IO error: lock ", 15) == 0)
		return -EBUSY;
	if (strstr(text, "No space left on device") || strstr(text, "Disk quota exceeded"))
		return -ENOSPC;
	if (strstr(text, "Permission denied") || strstr(text, "Operation not permitted"))
		return -EACCES;
	return -EIO;
}

bool ldb_db_is_limit(const char *text)
{
	return strstr(text, "File too large") || strstr(text, "Too many open files");
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

bool ldb_db_is_gone(void *engine)
{
	const struct ldb *db = engine;

	/* LevelDB replaces CURRENT by a rename. A link count of 0 proves nothing: some network
	 * filesystems report it for every directory. */
	return faccessat(db->dir, "CURRENT", F_OK, 0) != 0 && errno == ENOENT;
}

void ldb_db_path(int dir, char path[LDB_DB_PATH])
{
	snprintf(path, LDB_DB_PATH, "/proc/self/fd/%d", dir);
}

/* LevelDB's text, with the present path of its directory. */
static void db_spell(const struct ldb *db, const char *text, char words[DB_WORDS])
{
	char held[LDB_DB_PATH], path[4096];
	const char *at;
	ssize_t len = -1;

	ldb_db_path(db->dir, held);
	at = strstr(text, held);
	if (at)
		len = readlink(held, path, sizeof(path) - 1);
	if (len < 0) {
		snprintf(words, DB_WORDS, "%s", text);
		return;
	}
	path[len] = '\0';
	snprintf(words, DB_WORDS, "%.*s%s%s", (int)(at - text), text, directory_name(path),
		 at + strlen(held));
}

int ldb_db_tell(const struct ldb *db, char *text, struct wcs_fault *fault)
{
	int rc = ldb_db_errno(text);
	char words[DB_WORDS];

	db_spell(db, text, words);
	leveldb_free(text);
	return wcs_fault_set(fault, rc, "%s", words);
}

/* Advice for an error of LevelDB. */
static const char *db_advice(struct ldb *db, int rc, const char *text)
{
	if (rc == -EACCES)
		return "; ls -l shows the file's owner and mode; chown (as root) or chmod opens it";
	if (rc != -EIO || ldb_db_is_limit(text))
		return "";
	return ldb_db_is_gone(db) ? "; " DB_GONE : DB_ADVICE;
}

int ldb_db_error(struct ldb *db, const char *what, char *text)
{
	int rc = ldb_db_errno(text);
	char words[DB_WORDS];

	db_spell(db, text, words);
	ldb_db_log(db, WCS_LOG_ERROR, "%s: %s%s", what, words, db_advice(db, rc, text));
	leveldb_free(text);
	return rc;
}

int ldb_db_damaged(struct ldb *db, const char *what)
{
	if (ldb_db_is_gone(db))
		ldb_db_log(db, WCS_LOG_ERROR, "read: " DB_GONE);
	else
		ldb_db_log(db, WCS_LOG_ERROR, "damaged store: %s%s", what, DB_ADVICE);
	return -EIO;
}

int ldb_db_fail(struct ldb *db, int rc, const char *why)
{
	char words[DB_WORDS] = DB_GONE;

	if (!ldb_db_is_gone(db))
		db_spell(db, why, words);
	if (!atomic_exchange(&db->failed, true))
		ldb_db_log(db, WCS_LOG_ERROR,
			   "a write failed, the store is read-only until it is opened again: %s",
			   words);
	return rc;
}

bool ldb_db_failed(void *engine)
{
	struct ldb *db = engine;

	return atomic_load(&db->failed);
}

/* ---- Reads ------------------------------------------------------------------------------- */

int ldb_db_get(struct ldb *db, struct ldb_id_key key, unsigned char **value, size_t *len)
{
	char *text = NULL;
	size_t size;
	char *got = leveldb_get(db->db, db->read, (const char *)key.data, key.len, &size, &text);

	if (text)
		return ldb_db_error(db, "read", text);
	*value = (unsigned char *)got;
	*len = got ? size : 0;
	return 0;
}

int ldb_db_counter(struct ldb *db, struct ldb_id_key key, size_t len, const char *what,
		   uint64_t *number)
{
	unsigned char *value = NULL;
	uint64_t found = 0;
	size_t size = 0;
	int rc = ldb_db_get(db, key, &value, &size);

	if (rc)
		return rc;
	if (size == len)
		found = len == 4 ? get_be32(value) : get_be64(value);
	leveldb_free(value);
	if (found == 0)
		return ldb_db_damaged(db, what);
	if (found > (len == 4 ? LDB_TABLE_ID_MAX : LDB_VALUE_ID_MAX))
		return ldb_db_damaged(db, "a counter leaves no room for more");
	*number = found;
	return 0;
}

int ldb_db_next_table(struct ldb *db, uint32_t *id)
{
	uint64_t next = 0;
	int rc = ldb_db_counter(db, ldb_key_next_table, 4, "the counter of tables is missing",
				&next);

	if (!rc)
		*id = (uint32_t)next;
	return rc;
}

leveldb_iterator_t *ldb_db_iterate(struct ldb *db)
{
	return leveldb_create_iterator(db->db, db->read);
}

/* ---- The erased range ----------------------------------------------------------------------- */

void ldb_erased_set(struct ldb *db, struct ldb_erased *erased)
{
	struct ldb_erased *old;

	pthread_mutex_lock(&db->erased_lock);
	old = db->erased;
	db->erased = erased;
	atomic_fetch_add(&db->erasing, 1);
	pthread_mutex_unlock(&db->erased_lock);
	ldb_erased_put(old);
}

void ldb_erased_put(struct ldb_erased *erased)
{
	if (erased && atomic_fetch_sub(&erased->refs, 1) == 1)
		free(erased);
}

/* Takes the range that is set, and makes an iterator, between two changes of it. */
static leveldb_iterator_t *erased_iterate(struct ldb *db, struct ldb_erased **erased)
{
	leveldb_iterator_t *iter;

	pthread_mutex_lock(&db->erased_lock);
	*erased = db->erased;
	if (*erased)
		atomic_fetch_add(&(*erased)->refs, 1);
	iter = ldb_db_iterate(db);
	pthread_mutex_unlock(&db->erased_lock);
	return iter;
}

/* The range is set from before the change's batch until after the delete of its record. An iterator
 * made in this time belongs to the change if it finds the record. The iterator keeps
 * a read error, so the reader meets it. */
leveldb_iterator_t *ldb_db_iterate_cells(struct ldb *db, struct ldb_erased **erased)
{
	uint64_t erasing = atomic_load(&db->erasing);
	struct ldb_id_key record;
	leveldb_iterator_t *iter;
	const unsigned char *key;
	size_t len;

	*erased = NULL;
	if (erasing % 2 == 0) {
		iter = ldb_db_iterate(db);
		if (atomic_load(&db->erasing) == erasing)
			return iter;
		leveldb_iter_destroy(iter);
	}
	iter = erased_iterate(db, erased);
	if (!*erased)
		return iter;
	record = ldb_key_drop((*erased)->id);
	ldb_iter_seek_id(iter, record);
	key = leveldb_iter_valid(iter) ? ldb_iter_key(iter, &len) : NULL;
	if (key && len == record.len && memcmp(key, record.data, len) == 0)
		return iter;
	ldb_erased_put(*erased);
	*erased = NULL;
	return iter;
}

static bool erased_contains(const struct ldb_erased *erased, const void *key, size_t len)
{
	struct wcs_slice at = {key, len};

	return erased && wcs_slice_compare(erased->from, at) <= 0 &&
	       wcs_slice_compare(at, erased->to) < 0;
}

bool ldb_erased_at(const struct ldb_erased *erased, leveldb_iterator_t *iter)
{
	const unsigned char *key;
	size_t len;

	if (!erased || !leveldb_iter_valid(iter))
		return false;
	key = ldb_iter_key(iter, &len);
	return erased_contains(erased, key, len);
}

void ldb_erased_pass(const struct ldb_erased *erased, leveldb_iterator_t *iter)
{
	if (ldb_erased_at(erased, iter))
		ldb_iter_seek_bytes(iter, erased->to.data, erased->to.len);
}

bool ldb_erased_has(struct ldb *db, const struct ldb_key *key)
{
	struct ldb_erased *erased;
	bool found;

	if (atomic_load(&db->erasing) % 2 == 0)
		return false;
	leveldb_iter_destroy(ldb_db_iterate_cells(db, &erased));
	found = erased_contains(erased, key->data, key->len);
	ldb_erased_put(erased);
	return found;
}

/* ---- Errors of iterators ----------------------------------------------------------------- */

int ldb_db_iter_error(struct ldb *db, leveldb_iterator_t *iter)
{
	char *text = NULL;

	leveldb_iter_get_error(iter, &text);
	return text ? ldb_db_error(db, "read", text) : 0;
}

int ldb_db_iter_end(struct ldb *db, leveldb_iterator_t *iter, int rc)
{
	int unread = ldb_db_iter_error(db, iter);

	leveldb_iter_destroy(iter);
	return unread ? unread : rc;
}

uint64_t ldb_db_property(struct ldb *db, const char *name)
{
	char *text = leveldb_property_value(db->db, name);
	uint64_t number = text ? strtoull(text, NULL, 10) : 0;

	leveldb_free(text);
	return number;
}

/* The lines of leveldb.stats that start with a level, its files and their size in MiB. LevelDB
 * leaves out the levels that it never used. */
void ldb_db_levels(struct ldb *db, struct wcs_stats *stats)
{
	char *text = leveldb_property_value(db->db, "leveldb.stats");

	stats->level_count = DB_LEVELS;
	for (const char *line = text; line; line = strchr(line, '\n')) {
		uint64_t level, files, mib;

		line += *line == '\n';
		if (sscanf(line, "%" SCNu64 " %" SCNu64 " %" SCNu64, &level, &files, &mib) != 3 ||
		    level >= DB_LEVELS)
			continue;
		stats->levels[level].files = files;
		stats->levels[level].bytes = mib << 20;
	}
	leveldb_free(text);
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

/* ---- Batches ----------------------------------------------------------------------------- */

void ldb_db_batch_put(leveldb_writebatch_t *batch, struct ldb_id_key key,
		      const unsigned char *value, size_t len)
{
	leveldb_writebatch_put(batch, (const char *)key.data, key.len,
			       value ? (const char *)value : "", len);
}

void ldb_db_batch_delete(leveldb_writebatch_t *batch, struct ldb_id_key key)
{
	leveldb_writebatch_delete(batch, (const char *)key.data, key.len);
}

void ldb_db_batch_garbage(leveldb_writebatch_t *batch, uint64_t id, enum ldb_garbage_kind kind,
			  uint32_t extents)
{
	unsigned char record[LDB_GARBAGE_LEN];

	ldb_record_garbage(record, kind, extents);
	ldb_db_batch_put(batch, ldb_key_garbage(id), record, sizeof(record));
}

void ldb_db_batch_value(struct ldb *db, leveldb_writebatch_t *batch, const struct ldb_cell *cell)
{
	uint32_t extents = ldb_extent_count(cell->size);

	ldb_count(&db->counters.garbage_extents, extents);
	ldb_count(&db->counters.garbage_bytes, cell->size);
	ldb_db_batch_garbage(batch, cell->id, LDB_GARBAGE, extents);
}

int ldb_db_batch_cell(struct ldb *db, leveldb_writebatch_t *batch, leveldb_iterator_t *iter,
		      struct ldb_cell *cell, size_t *key_len)
{
	int rc = ldb_iter_cell(db, iter, cell);
	const char *key;

	if (rc)
		return rc;
	key = leveldb_iter_key(iter, key_len);
	leveldb_writebatch_delete(batch, key, *key_len);
	if (cell->id != 0)
		ldb_db_batch_value(db, batch, cell);
	return 0;
}
