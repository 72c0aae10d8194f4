/* SPDX-License-Identifier: MIT */
/*
 * Pushes the range that the collector deleted to the queue, once that is worth a compaction.
 *
 * The compaction is for readers, who step over every tombstone. A range with many other keys is not
 * pushed: it would be written anew as a whole, for readers who hardly notice the few tombstones;
 * space.c sees to its bytes. The collector never waits for LevelDB: while a range is in the queue,
 * the next one grows.
 */
#include "store/leveldb/compaction/compaction.h"

enum {
	TOMBSTONES_END = 1000,	 /* are worth it at the end of a table */
	TOMBSTONES_DENSITY = 10, /* the range has at most so many times the deleted bytes */
};

static struct ldb_dead tombstones_dead(const struct ldb_key *from, const struct ldb_key *to,
				       uint64_t cells, uint64_t bytes)
{
	return ldb_dead_range((struct wcs_slice){from->data, from->len},
			      (struct wcs_slice){to->data, to->len}, cells, bytes);
}

void ldb_tombstones_forget(struct ldb *db)
{
	db->tombstones.cells = db->tombstones.bytes = 0;
}

void ldb_tombstones_add(struct ldb *db, const struct ldb_key *from, const struct ldb_key *to,
			uint64_t cells, uint64_t bytes)
{
	struct ldb_tombstones *tombstones = &db->tombstones;
	struct ldb_dead dead;

	if (cells == 0)
		return;
	if (tombstones->cells == 0)
		tombstones->from = *from;
	tombstones->to = *to;
	tombstones->cells += cells;
	tombstones->bytes += bytes;
	dead = tombstones_dead(from, to, cells, bytes);
	ldb_space_dead(db, &dead);
}

void ldb_tombstones_settle(void *engine, bool end)
{
	struct ldb *db = engine;
	struct ldb_tombstones *tombstones = &db->tombstones;
	uint64_t finished, pending;
	struct ldb_dead dead;
	bool enough;

	/* Behind the last range that the collector pushed there is room for one more. */
	ldb_queue_count(db, &finished, &pending);
	enough =
		end ? tombstones->cells >= TOMBSTONES_END
		    : tombstones->cells >= tombstones->enough && finished + 1 >= tombstones->number;
	if (enough) {
		dead = tombstones_dead(&tombstones->from, &tombstones->to, tombstones->cells,
				       tombstones->bytes);
		if (ldb_slice_size(db, &dead.from, &dead.to) / TOMBSTONES_DENSITY <= dead.bytes)
			tombstones->number = ldb_queue_push(db, &dead);
	}
	if (enough || end)
		ldb_tombstones_forget(db);
}
