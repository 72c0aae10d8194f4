/* SPDX-License-Identifier: MIT */
/*
 * The range that the collector emptied, which is compacted once it is worth it.
 *
 * This is for readers, who step over every delete. A range that holds much else is not: all of it
 * would be written anew, and a reader hardly notices the few deletes; its space is left to space.c.
 * Nobody waits for LevelDB here: while it is left with a range, the next one grows.
 */
#include "store/leveldb/engine.h"

enum {
	EMPTIED_END = 1000,   /* deletes that are worth it at the end of a table */
	EMPTIED_DENSITY = 10, /* the range is not larger than so many times what went */
};

void ldb_emptied_forget(struct ldb *db)
{
	db->emptied.cells = db->emptied.bytes = 0;
}

static struct ldb_dead emptied_dead(const struct ldb_key *from, const struct ldb_key *to,
				    uint64_t cells, uint64_t bytes)
{
	return (struct ldb_dead){ldb_place_before((struct wcs_slice){from->data, from->len}),
				 ldb_place_behind((struct wcs_slice){to->data, to->len}), cells,
				 bytes};
}

void ldb_emptied_add(struct ldb *db, const struct ldb_key *from, const struct ldb_key *to,
		     uint64_t cells, uint64_t bytes)
{
	struct ldb_emptied *emptied = &db->emptied;
	struct ldb_dead dead;

	if (cells == 0)
		return;
	if (emptied->cells == 0)
		emptied->from = *from;
	emptied->to = *to;
	emptied->cells += cells;
	emptied->bytes += bytes;
	dead = emptied_dead(from, to, cells, bytes);
	ldb_space_dead(db, &dead);
}

static bool emptied_dense(struct ldb *db, const struct ldb_dead *dead)
{
	return ldb_place_size(db, &dead->from, &dead->to) / EMPTIED_DENSITY <= dead->bytes;
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
	struct ldb_dead dead;

	if (enough) {
		dead = emptied_dead(&emptied->from, &emptied->to, emptied->cells, emptied->bytes);
		if (emptied_dense(db, &dead))
			emptied->number = ldb_compact_push(db, &dead);
	}
	if (enough || end)
		ldb_emptied_forget(db);
}
