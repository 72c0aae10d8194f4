/* SPDX-License-Identifier: MIT */
/*
 * The range that the collector emptied, which is compacted once it is worth it.
 *
 * A range is not that holds much else: all of it would be written anew, and a reader hardly notices
 * the few deletes. Nobody waits for LevelDB here: while it is left with a range, the next one
 * grows.
 */
#include "engine.h"

enum {
	EMPTIED_END = 1000,   /* deletes that are worth it at the end of a table */
	EMPTIED_DENSITY = 10, /* the range is not larger than so many times what went */
};

void ldb_emptied_forget(struct ldb *db)
{
	db->emptied.cells = db->emptied.bytes = 0;
}

void ldb_emptied_add(struct ldb *db, const struct ldb_key *from, const struct ldb_key *to,
		     uint64_t cells, uint64_t bytes)
{
	struct ldb_emptied *emptied = &db->emptied;

	if (cells == 0)
		return;
	if (emptied->cells == 0)
		emptied->from = *from;
	emptied->to = *to;
	emptied->cells += cells;
	emptied->bytes += bytes;
}

static bool emptied_dense(struct ldb *db)
{
	const struct ldb_emptied *emptied = &db->emptied;
	const char *start = (const char *)emptied->from.data;
	const char *limit = (const char *)emptied->to.data;
	uint64_t size = 0;

	leveldb_approximate_sizes(db->db, 1, &start, &emptied->from.len, &limit, &emptied->to.len,
				  &size);
	return size / EMPTIED_DENSITY <= emptied->bytes;
}

/* Is LevelDB left with one range at the most? */
static bool emptied_keeps_up(struct ldb *db)
{
	uint64_t finished, pending;

	ldb_compact_count(db, &finished, &pending);
	return finished + 1 >= db->emptied.number;
}

static bool emptied_enough(struct ldb *db, bool end)
{
	if (end)
		return db->emptied.cells >= EMPTIED_END;
	return db->emptied.cells >= db->emptied.enough && emptied_keeps_up(db);
}

void ldb_emptied_settle(void *engine, bool end)
{
	struct ldb *db = engine;
	struct ldb_emptied *emptied = &db->emptied;
	bool enough = emptied_enough(db, end);

	if (enough && emptied_dense(db))
		emptied->number = ldb_compact_push(
			db, (struct wcs_slice){emptied->from.data, emptied->from.len},
			(struct wcs_slice){emptied->to.data, emptied->to.len});
	if (enough || end)
		ldb_emptied_forget(db);
}
