/* SPDX-License-Identifier: MIT */
/* Reports the engine's counters and LevelDB's properties. */
#include <stdio.h>

#include "store/leveldb/compaction/compaction.h"

int ldb_stats_get(void *engine, struct wcs_stats *stats)
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

char *ldb_stats_text(void *engine)
{
	struct ldb *db = engine;
	char *own = leveldb_property_value(db->db, "leveldb.stats"), *text;

	if (asprintf(&text, "LevelDB %d.%d\nblock cache %zu bytes\n\n%s", leveldb_major_version(),
		     leveldb_minor_version(), db->cache_bytes, own ? own : "") < 0)
		text = NULL;
	leveldb_free(own);
	return text;
}
