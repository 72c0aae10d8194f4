/* SPDX-License-Identifier: MIT */
/*
 * Counts dead bytes, that is deleted and replaced keys with their values, and chooses the table to
 * compact next.
 *
 * There is one count for each table, and one for all other keys, with the values in extents. While
 * the sum exceeds a fifth of the store, the table with the largest share of dead bytes is
 * compacted, from its first to its last dead key. Behind that nothing of it is dead but the keys
 * that were deleted meanwhile. A compaction meets at most four live bytes for each dead one;
 * LevelDB writes each of them once or twice.
 *
 * The counts are estimates. Extents and cells are counted uncompressed, so a table never counts for
 * more than the size of its range. LevelDB's own compactions drop dead bytes unnoticed, which costs
 * at most one needless compaction of the table.
 *
 * The counts are in the file DEAD, written after 8 MiB of deletes and some seconds after the last
 * one. A kill loses later counts. The next session does not know where in the table its dead keys
 * are. All of the store counts as dead if the file is missing, damaged, or of the form of an
 * earlier build, whose checksum starts at 0.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/disk/crc.h"
#include "store/disk/directory.h"
#include "store/leveldb/compaction/compaction.h"
#include "store/leveldb/formats/file.h"

enum {
	SPACE_SHARE = 5, /* of the tables one part in so many may be dead */
	SPACE_BUSY = 2,	 /* write buffers of dead bytes beyond that, while there are deletes */
	SPACE_QUIET = 5, /* looks without a delete in between, after which there are none */
	SPACE_EXTENT_KNOWN = 100, /* extents from which on their mean size is used */
	SPACE_BUCKETS = 256,
	SPACE_COUNT = 12, /* bytes of a count in the file */
	SPACE_CHECK = 4,  /* bytes of the checksum */
	SPACE_FORM = 2,	  /* the checksum starts with it */
};
/* In place of a table's id: all keys that are not of cells, and all keys. */
#define SPACE_OTHERS 0u
#define SPACE_ALL    UINT32_MAX
#define SPACE_MOST   (1 << 20) /* bytes of a file that is read */

struct space_table {
	struct space_table *next; /* in its bucket */
	uint32_t id;
	struct ldb_dead dead;
};

struct ldb_space {
	pthread_mutex_t lock; /* of all below */
	struct space_table *tables[SPACE_BUCKETS];
	struct space_table *taken; /* is being compacted; its bytes are those not freed yet */
	uint64_t sum;		   /* bytes of all tables */
	size_t count;
	uint64_t changes, saved; /* how many, and how many when the file was written */
	uint64_t unsaved;	 /* dead bytes since then */
	uint64_t seen;		 /* changes at the last look */
	unsigned int still;	 /* looks without a change */
	bool awake;		 /* the thread of compact.c looks now and then */
};

/* ---- Counting ---------------------------------------------------------------------------- */

static uint32_t space_id(const struct ldb_range *range)
{
	return range->from.bytes[0] == 'c' ? get_be32(range->from.bytes + 1) : SPACE_OTHERS;
}

/* The link to the table; to NULL: it has no dead bytes. The caller holds the lock. */
static struct space_table **space_find(struct ldb_space *space, uint32_t id)
{
	struct space_table **link = &space->tables[id % SPACE_BUCKETS];

	while (*link && (*link)->id != id)
		link = &(*link)->next;
	return link;
}

/* Adds dead bytes of a table; if there is no memory, only to a table that has some. The caller
 * holds the lock. */
static void space_add(struct ldb_space *space, uint32_t id, const struct ldb_dead *dead)
{
	struct space_table **link = space_find(space, id), *table = *link;

	if (!table) {
		table = calloc(1, sizeof(*table));
		if (!table)
			return;
		*table = (struct space_table){NULL, id, {dead->range, 0}};
		*link = table;
		space->count++;
	}
	if (ldb_place_compare(&dead->range.from, &table->dead.range.from) < 0)
		table->dead.range.from = dead->range.from;
	if (ldb_place_compare(&dead->range.to, &table->dead.range.to) > 0)
		table->dead.range.to = dead->range.to;
	table->dead.bytes += dead->bytes;
	space->sum += dead->bytes;
	space->changes++;
}

void ldb_space_dead(struct ldb *db, struct wcs_slice from, struct wcs_slice to, uint64_t bytes)
{
	struct ldb_dead dead = {ldb_range(from, to), bytes};
	struct ldb_space *space = db->space;
	bool wake;

	pthread_mutex_lock(&space->lock);
	space_add(space, space_id(&dead.range), &dead);
	space->unsaved += bytes;
	wake = !space->awake || space->unsaved >= LDB_SPACE_UNSAVED;
	space->awake = true;
	pthread_mutex_unlock(&space->lock);
	if (wake)
		ldb_queue_wake(db);
}

void ldb_space_dead_key(struct ldb *db, const void *key, size_t len, uint64_t value)
{
	ldb_space_dead(db, (struct wcs_slice){key, len}, (struct wcs_slice){key, len}, len + value);
}

void ldb_space_freed(struct ldb *db, const struct ldb_range *range, uint64_t bytes)
{
	struct ldb_space *space = db->space;
	struct space_table *table;

	pthread_mutex_lock(&space->lock);
	table = range ? *space_find(space, space_id(range)) : space->taken;
	if (table) {
		bytes = bytes < table->dead.bytes ? bytes : table->dead.bytes;
		table->dead.bytes -= bytes;
		space->sum -= bytes;
		space->changes++;
	}
	pthread_mutex_unlock(&space->lock);
}

/* A garbage record has only the number of extents, and the last one of most values is short. */
uint64_t ldb_space_extents(struct ldb *db, uint64_t extents)
{
	uint64_t known = atomic_load(&db->counters.garbage_extents);

	if (known < SPACE_EXTENT_KNOWN)
		return extents * LDB_EXTENT / 2;
	return (uint64_t)((double)atomic_load(&db->counters.garbage_bytes) / (double)known *
			  (double)extents);
}

static uint64_t space_total(struct ldb *db)
{
	static const struct ldb_place first, last = {{0x7F}};

	return ldb_slice_size(db, &first, &last);
}

uint64_t ldb_space_bytes(struct ldb *db)
{
	uint64_t total = space_total(db), sum;

	pthread_mutex_lock(&db->space->lock);
	sum = db->space->sum;
	pthread_mutex_unlock(&db->space->lock);
	return sum < total ? sum : total;
}

/* ---- The next compaction ----------------------------------------------------------------- */

/* The link to the table with the largest share of dead bytes; NULL: the sum is below the bound. The
 * caller holds the lock, for as long as LevelDB measures the tables. */
static struct space_table **space_densest(struct ldb *db, uint64_t bound)
{
	struct space_table **best = NULL;
	uint64_t sum = 0;
	double most = -1;

	for (size_t i = 0; db->space->sum > bound && i < SPACE_BUCKETS; i++) {
		for (struct space_table **link = &db->space->tables[i]; *link;
		     link = &(*link)->next) {
			const struct ldb_dead *dead = &(*link)->dead;
			uint64_t size = ldb_slice_size(db, &dead->range.from, &dead->range.to);
			uint64_t bytes = dead->bytes < size ? dead->bytes : size;
			double share = size > 0 ? (double)bytes / (double)size : 0;

			sum += bytes;
			if (share <= most)
				continue;
			most = share;
			best = link;
		}
	}
	return sum > bound || bound == 0 ? best : NULL;
}

bool ldb_space_take(struct ldb *db, bool all, struct ldb_range *range)
{
	struct ldb_space *space = db->space;
	uint64_t bound = space_total(db) / SPACE_SHARE;
	struct space_table **link;

	pthread_mutex_lock(&space->lock);
	bound += (space->still >= SPACE_QUIET ? 1 : SPACE_BUSY) * db->buffer_bytes;
	link = space_densest(db, all ? 0 : bound);
	if (link) {
		space->taken = *link;
		*link = space->taken->next;
		*range = space->taken->dead.range;
	}
	pthread_mutex_unlock(&space->lock);
	return link != NULL;
}

void ldb_space_taken(struct ldb *db, bool done)
{
	struct ldb_space *space = db->space;

	pthread_mutex_lock(&space->lock);
	space->sum -= space->taken->dead.bytes;
	space->count--;
	space->changes++;
	if (!done)
		space_add(space, space->taken->id, &space->taken->dead);
	free(space->taken);
	space->taken = NULL;
	pthread_mutex_unlock(&space->lock);
}

/* ---- The file ---------------------------------------------------------------------------- */

static size_t space_put(unsigned char *to, const struct space_table *table)
{
	put_be32(to, table->id);
	put_be64(to + 4, table->dead.bytes);
	return SPACE_COUNT;
}

/* A failure leaves no file. */
static void space_write(struct ldb *db, unsigned char *record, size_t len)
{
	put_be32(record + len, wcs_crc_extend(SPACE_FORM, record, len));
	if (directory_replace(db->dir, LDB_FILE_DEAD_NEW, LDB_FILE_DEAD, record,
			      len + SPACE_CHECK) != 0)
		unlinkat(db->dir, LDB_FILE_DEAD, 0);
}

void ldb_space_save(struct ldb *db, uint64_t least)
{
	struct ldb_space *space = db->space;
	unsigned char *record = NULL;
	size_t len = 0;

	pthread_mutex_lock(&space->lock);
	if (space->changes != space->saved && space->unsaved >= least)
		record = malloc(space->count * SPACE_COUNT + SPACE_CHECK);
	if (record) {
		len = space->taken ? space_put(record, space->taken) : 0;
		for (size_t i = 0; i < SPACE_BUCKETS; i++)
			for (struct space_table *t = space->tables[i]; t; t = t->next)
				len += space_put(record + len, t);
		space->unsaved = 0;
		space->saved = space->changes;
	}
	pthread_mutex_unlock(&space->lock);
	if (record)
		space_write(db, record, len);
	free(record);
}

bool ldb_space_look(struct ldb *db)
{
	struct ldb_space *space = db->space;
	bool awake;

	pthread_mutex_lock(&space->lock);
	space->still = space->changes == space->seen ? space->still + 1 : 0;
	space->seen = space->changes;
	awake = space->still == 0;
	pthread_mutex_unlock(&space->lock);
	ldb_space_save(db, awake ? LDB_SPACE_UNSAVED : 0);
	pthread_mutex_lock(&space->lock);
	awake = space->awake = space->still <= SPACE_QUIET || space->changes != space->seen;
	pthread_mutex_unlock(&space->lock);
	return !awake;
}

/* Adds dead bytes anywhere in the table. */
static void space_load(struct ldb_space *space, uint32_t id, uint64_t bytes)
{
	struct ldb_dead dead = {{{{0}}, {{0x7F}}}, bytes};

	if (id == SPACE_OTHERS)
		dead.range.from.bytes[0] = 'd';
	if (id != SPACE_OTHERS && id != SPACE_ALL) {
		dead.range.from.bytes[0] = dead.range.to.bytes[0] = 'c';
		put_be32(dead.range.from.bytes + 1, id);
		put_be32(dead.range.to.bytes + 1, id + 1);
	}
	space_add(space, id, &dead);
}

/* Loads the file. False: it is missing or damaged. */
static bool space_read(struct ldb *db)
{
	size_t len = 0;
	char *data = NULL;
	const unsigned char *record;
	bool good = directory_load(db->dir, LDB_FILE_DEAD, SPACE_MOST, &data, &len) == 0 &&
		    len % SPACE_COUNT == SPACE_CHECK;

	record = (const unsigned char *)data;
	len -= good ? SPACE_CHECK : 0;
	good = good && get_be32(record + len) == wcs_crc_extend(SPACE_FORM, record, len);
	for (size_t at = 0; good && at < len; at += SPACE_COUNT)
		space_load(db->space, get_be32(record + at), get_be64(record + at + 4));
	free(data);
	return good;
}

int ldb_space_start(struct ldb *db)
{
	struct ldb_space *space = calloc(1, sizeof(*space));
	uint64_t total;

	if (!space)
		return -ENOMEM;
	pthread_mutex_init(&space->lock, NULL);
	space->awake = true;
	db->space = space;
	if (space_read(db)) {
		space->changes = 0;
		return 0;
	}
	total = space_total(db);
	if (total > 0)
		space_load(space, SPACE_ALL, total);
	space->changes++;
	return 0;
}

void ldb_space_stop(struct ldb *db)
{
	struct ldb_space *space = db->space;

	if (!space)
		return;
	for (size_t i = 0; i < SPACE_BUCKETS; i++) {
		struct space_table *table = space->tables[i], *next;

		for (; table; table = next) {
			next = table->next;
			free(table);
		}
	}
	pthread_mutex_destroy(&space->lock);
	free(space);
}
