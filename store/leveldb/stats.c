/* SPDX-License-Identifier: MIT */
/*
 * What the engine counts, and what LevelDB tells of itself.
 *
 * Written cells are counted where every batch passes (db.c), read values where they are copied
 * out. The counters only go up, each for itself: relaxed atomics, read without a lock.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/leveldb/engine.h"

enum {
	STATS_LEVELS = 7,
	STATS_ROUNDED = 1 << 20, /* as much as LevelDB's text may say too little */
};

static void stats_add(_Atomic uint64_t *counter, uint64_t more)
{
	atomic_fetch_add_explicit(counter, more, memory_order_relaxed);
}

/* ---- Counting ---------------------------------------------------------------------------- */

struct stats_batch {
	struct ldb *db;
	uint64_t written, deleted, bytes;
};

size_t ldb_stats_column(const void *key, size_t len)
{
	const unsigned char *data = key;
	uint64_t hash = len, word = 0;

	len = len > LDB_KEY_TS_LEN ? len - LDB_KEY_TS_LEN : 0;
	for (; len >= sizeof(word); len -= sizeof(word)) {
		memcpy(&word, data, sizeof(word));
		hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 32;
		data += sizeof(word);
	}
	word = 0;
	memcpy(&word, data, len);
	hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
	return (hash >> 32) % LDB_STRIPES;
}

static void stats_put(void *arg, const char *key, size_t key_len, const char *value, size_t len)
{
	struct stats_batch *batch = arg;

	(void)value;
	batch->written += ldb_key_is_cell(key, key_len);
	batch->bytes += key_len + len;
}

static void stats_delete(void *arg, const char *key, size_t key_len)
{
	struct stats_batch *batch = arg;

	batch->bytes += key_len;
	if (!ldb_key_is_cell(key, key_len))
		return;
	batch->deleted++;
	stats_add(&batch->db->counters.deletes[ldb_stats_column(key, key_len)], 1);
}

void ldb_stats_batch(struct ldb *db, leveldb_writebatch_t *batch)
{
	struct stats_batch found = {.db = db};

	leveldb_writebatch_iterate(batch, &found, stats_put, stats_delete);
	stats_add(&db->counters.cells_written, found.written);
	stats_add(&db->counters.cells_deleted, found.deleted);
	stats_add(&db->counters.bytes_written, found.bytes);
}

void ldb_stats_read(struct ldb *db, uint64_t bytes)
{
	stats_add(&db->counters.bytes_read, bytes);
}

void ldb_stats_reclaimed(struct ldb *db, uint64_t values)
{
	stats_add(&db->counters.values_reclaimed, values);
}

/* ---- What LevelDB tells ------------------------------------------------------------------ */

uint64_t ldb_stats_number(struct ldb *db, const char *name)
{
	char *text = leveldb_property_value(db->db, name);
	uint64_t number = text ? strtoull(text, NULL, 10) : 0;

	leveldb_free(text);
	return number;
}

/* The lines of leveldb.stats that start with a level, its files and their size in MiB. Levels that
 * were never of use are not in it. */
static void stats_levels(const char *text, struct wcs_stats *stats)
{
	for (; text; text = strchr(text, '\n')) {
		uint64_t level, files, mib;

		text += *text == '\n';
		if (sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &level, &files, &mib) != 3 ||
		    level >= STATS_LEVELS)
			continue;
		stats->levels[level].files = files;
		stats->levels[level].bytes = mib << 20;
	}
}

uint64_t ldb_stats_level(struct ldb *db, unsigned int level)
{
	char *text = leveldb_property_value(db->db, "leveldb.stats");
	struct wcs_stats stats = {0};

	stats_levels(text, &stats);
	leveldb_free(text);
	return stats.levels[level].files == 0 ? 0 : stats.levels[level].bytes + STATS_ROUNDED;
}

int ldb_stats_get(void *engine, struct wcs_stats *stats)
{
	struct ldb *db = engine;
	char *text = leveldb_property_value(db->db, "leveldb.stats");
	uint64_t chunks = 0;
	int err;

	stats->cells_written = atomic_load(&db->counters.cells_written);
	stats->cells_deleted = atomic_load(&db->counters.cells_deleted);
	stats->bytes_written = atomic_load(&db->counters.bytes_written);
	stats->value_bytes_read = atomic_load(&db->counters.bytes_read);
	stats->values_reclaimed = atomic_load(&db->counters.values_reclaimed);
	stats->drops = atomic_load(&db->drops);
	stats->cache_bytes = ldb_open_cache_bytes(db->options);
	stats->memory_bytes = ldb_stats_number(db, "leveldb.approximate-memory-usage");
	ldb_compact_count(db, &stats->compactions, &stats->compactions_pending);
	stats->level_count = STATS_LEVELS;
	stats_levels(text, stats);
	leveldb_free(text);
	err = ldb_reclaim_pending(db, WCS_STATS_PENDING_MAX, &stats->values_pending, &chunks);
	stats->bytes_pending = ldb_space_bytes(db) + ldb_space_chunks(db, chunks);
	return err;
}

char *ldb_stats_text(void *engine)
{
	struct ldb *db = engine;
	char *own = leveldb_property_value(db->db, "leveldb.stats"), *text;

	if (asprintf(&text, "LevelDB %d.%d\nblock cache %zu bytes\n\n%s", leveldb_major_version(),
		     leveldb_minor_version(), ldb_open_cache_bytes(db->options),
		     own ? own : "") < 0)
		text = NULL;
	leveldb_free(own);
	return text;
}
