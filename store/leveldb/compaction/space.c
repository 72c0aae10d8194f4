/* SPDX-License-Identifier: MIT */
/*
 * The work of the thread of compact.c: ranges that callers push, and tables with dead bytes. Dead
 * bytes are those of deleted and replaced keys, with their values.
 *
 * There is one count for each table, and one for all other keys, with the values in extents. While
 * the sum exceeds a fifth of the store, the table with the largest share of dead bytes is
 * compacted, from its first to its last dead key. Afterwards only keys that were deleted
 * meanwhile are dead. A compaction meets at most four live bytes for each dead one;
 * LevelDB writes each of them once or twice.
 *
 * The counts are estimates. Extents and cells are counted uncompressed, so a table never counts for
 * more than the size of its range. LevelDB's own compactions drop dead bytes unnoticed, which costs
 * at most one needless compaction of the table.
 *
 * The counts are in a note. The thread whose delete makes 4 MiB of them writes it, since the thread
 * that compacts may be busy for long; so do a rest of some seconds and the end of a session. A kill
 * loses later counts. The next session does not know where in the table its dead keys are. All
 * of the store counts as dead if the note is missing or damaged.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/leveldb/compaction/compaction.h"

enum {
	SPACE_SHARE = 5, /* of the tables one part in so many may be dead */
	SPACE_BUSY = 2,	 /* write buffers of dead bytes beyond that, while there are deletes */
	SPACE_EXTENT_KNOWN = 100, /* extents from which on their mean size is used */
	SPACE_COUNT = 12,	  /* bytes of a count in the note */
	SPACE_FULL_S = 5,	  /* from one compaction of all dead bytes to the next, at least */
	SPACE_REST_MS = 50,
	SPACE_RESTS = 40, /* at most, while LevelDB lags behind */
};
#define SPACE_UNSAVED (4u << 20) /* dead bytes that a kill may forget */
/* In place of a table's id: all keys that are not of cells, and all keys. */
#define SPACE_OTHERS 0u
#define SPACE_ALL    UINT32_MAX

/* ---- Counting ---------------------------------------------------------------------------- */

static uint32_t space_id(const struct ldb_range *range)
{
	return range->from.bytes[0] == 'c' ? get_be32(range->from.bytes + 1) : SPACE_OTHERS;
}

/* The link to the table; to NULL: it has no dead bytes. The caller holds the lock. */
static struct ldb_dead **space_find(struct ldb_space *space, uint32_t id)
{
	struct ldb_dead **link = &space->tables[id % LDB_SPACE_BUCKETS];

	while (*link && (*link)->id != id)
		link = &(*link)->next;
	return link;
}

/* Adds dead bytes of a table; if there is no memory, only to a table that has some. The caller
 * holds the lock. */
static void space_add(struct ldb_space *space, uint32_t id, const struct ldb_range *range,
		      uint64_t bytes)
{
	struct ldb_dead **link = space_find(space, id), *table = *link;

	if (!table) {
		table = malloc(sizeof(*table));
		if (!table)
			return;
		*table = (struct ldb_dead){NULL, id, *range, 0};
		*link = table;
		space->count++;
	}
	if (ldb_place_compare(&range->from, &table->range.from) < 0)
		table->range.from = range->from;
	if (ldb_place_compare(&range->to, &table->range.to) > 0)
		table->range.to = range->to;
	table->bytes += bytes;
	space->sum += bytes;
}

void ldb_space_dead(struct ldb *db, struct wcs_slice from, struct wcs_slice to, uint64_t bytes)
{
	struct ldb_range range = ldb_range(from, to);
	struct ldb_space *space = db->space;
	bool many;

	pthread_mutex_lock(&space->lock);
	space_add(space, space_id(&range), &range, bytes);
	space->unsaved += bytes;
	space->dirty = true;
	many = space->unsaved >= SPACE_UNSAVED;
	if (space->looks == 0) {
		space->woken = true;
		pthread_cond_signal(&space->wake);
	}
	space->looks = LDB_SPACE_LOOKS;
	pthread_mutex_unlock(&space->lock);
	if (many)
		ldb_space_save(db);
}

void ldb_space_dead_key(struct ldb *db, const void *key, size_t len, uint64_t value)
{
	ldb_space_dead(db, (struct wcs_slice){key, len}, (struct wcs_slice){key, len}, len + value);
}

void ldb_space_freed(struct ldb *db, const struct ldb_range *range, uint64_t before, uint64_t after)
{
	struct ldb_space *space = db->space;
	uint64_t bytes = before > after ? before - after : 0;
	uint32_t id = space_id(range);
	struct ldb_dead *table;

	pthread_mutex_lock(&space->lock);
	table = space->taken;
	if (!table || (table->id != id && table->id != SPACE_ALL))
		table = *space_find(space, id);
	if (table) {
		if (table->id == SPACE_ALL) /* what is left of the slice is not dead */
			bytes = before;
		bytes = bytes < table->bytes ? bytes : table->bytes;
		table->bytes -= bytes;
		space->sum -= bytes;
		space->dirty = true;
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

uint64_t ldb_space_size(struct ldb *db, const struct ldb_range *range)
{
	struct wcs_slice first = ldb_place_key(&range->from), last = ldb_place_key(&range->to);
	const char *start = first.data, *limit = last.data;
	uint64_t size;

	leveldb_approximate_sizes(db->db, 1, &start, &first.len, &limit, &last.len, &size);
	return size;
}

static uint64_t space_total(struct ldb *db)
{
	static const struct ldb_range all = {{{0}}, {{0x7F}}};

	return ldb_space_size(db, &all);
}

uint64_t ldb_space_bytes(struct ldb *db)
{
	uint64_t total = space_total(db), sum;

	pthread_mutex_lock(&db->space->lock);
	sum = db->space->sum;
	pthread_mutex_unlock(&db->space->lock);
	return sum < total ? sum : total;
}

/* ---- The next table ---------------------------------------------------------------------- */

/* The link to the table with the largest share of dead bytes; NULL: the sum is below the bound. The
 * caller holds the lock, for as long as LevelDB measures the tables. */
static struct ldb_dead **space_densest(struct ldb *db, uint64_t bound)
{
	struct ldb_dead **best = NULL;
	uint64_t sum = 0;
	double most = -1;

	for (size_t i = 0; db->space->sum > bound && i < LDB_SPACE_BUCKETS; i++) {
		for (struct ldb_dead **link = &db->space->tables[i]; *link; link = &(*link)->next) {
			uint64_t size = ldb_space_size(db, &(*link)->range);
			uint64_t bytes = (*link)->bytes < size ? (*link)->bytes : size;
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
	struct ldb_dead **link;

	pthread_mutex_lock(&space->lock);
	bound += (space->looks == 0 ? 1 : SPACE_BUSY) * db->buffer_bytes;
	link = space_densest(db, all ? 0 : bound);
	if (link) {
		space->taken = *link;
		*link = space->taken->next;
		*range = space->taken->range;
	}
	pthread_mutex_unlock(&space->lock);
	return link != NULL;
}

void ldb_space_taken(struct ldb *db, const struct ldb_range *left, bool done)
{
	struct ldb_space *space = db->space;
	struct ldb_dead *taken = space->taken;

	pthread_mutex_lock(&space->lock);
	space->taken = NULL;
	space->sum -= taken->bytes;
	space->count--;
	space->dirty |= done;
	if (!done)
		space_add(space, taken->id, left, taken->bytes);
	space->compacted++;
	pthread_mutex_unlock(&space->lock);
	free(taken);
}

/* ---- Ranges that callers push ------------------------------------------------------------ */

uint64_t ldb_space_push(struct ldb *db, const struct ldb_range *range, unsigned int most,
			bool waits)
{
	struct ldb_space *space = db->space;
	uint64_t number = 0;

	pthread_mutex_lock(&space->lock);
	while (waits && !space->stop && space->pushed - space->finished >= most)
		pthread_cond_wait(&space->done, &space->lock);
	if (!space->stop && space->pushed - space->finished < most) {
		number = ++space->pushed;
		space->ranges[number % LDB_SPACE_RANGES] = *range;
		pthread_cond_signal(&space->wake);
	}
	pthread_mutex_unlock(&space->lock);
	return number;
}

void ldb_space_wait(struct ldb *db, uint64_t number)
{
	struct ldb_space *space = db->space;

	pthread_mutex_lock(&space->lock);
	while (!space->stop && space->finished < number)
		pthread_cond_wait(&space->done, &space->lock);
	pthread_mutex_unlock(&space->lock);
}

void ldb_space_full(void *engine)
{
	struct ldb_space *space = ((struct ldb *)engine)->space;
	int64_t now = clock_ns();

	pthread_mutex_lock(&space->lock);
	if (!space->full && now >= space->next_full) {
		space->full = space->woken = true;
		space->next_full = now + SPACE_FULL_S * CLOCK_SECOND;
		pthread_cond_signal(&space->wake);
	}
	pthread_mutex_unlock(&space->lock);
}

void ldb_space_compactions(struct ldb *db, uint64_t *finished, uint64_t *pending)
{
	struct ldb_space *space = db->space;

	pthread_mutex_lock(&space->lock);
	*finished = space->finished + space->compacted;
	*pending = space->pushed - space->finished + (space->taken != NULL);
	pthread_mutex_unlock(&space->lock);
}

/* ---- The thread's sleep ------------------------------------------------------------------ */

void ldb_space_wake(struct ldb *db)
{
	pthread_mutex_lock(&db->space->lock);
	db->space->woken = true;
	pthread_cond_signal(&db->space->wake);
	pthread_mutex_unlock(&db->space->lock);
}

bool ldb_space_sleep(struct ldb_space *space, long ms, bool until_woken)
{
	const struct timespec until = clock_deadline(ms * (CLOCK_SECOND / 1000));
	int rc = 0;

	while (rc == 0 && !space->stop &&
	       !(until_woken && (space->finished < space->pushed || space->woken)))
		rc = ms > 0 ? pthread_cond_timedwait(&space->wake, &space->lock, &until)
			    : pthread_cond_wait(&space->wake, &space->lock);
	return rc == ETIMEDOUT;
}

void ldb_space_rest(struct ldb *db)
{
	pthread_mutex_lock(&db->space->lock);
	ldb_space_sleep(db->space, SPACE_REST_MS, false);
	pthread_mutex_unlock(&db->space->lock);
}

bool ldb_space_yield(struct ldb *db, bool to_ranges)
{
	struct ldb_space *space = db->space;

	pthread_mutex_lock(&space->lock);
	for (int i = 0; i < SPACE_RESTS && !space->stop && ldb_commit_busy(db) &&
			!(to_ranges && space->finished < space->pushed);
	     i++)
		ldb_space_sleep(space, SPACE_REST_MS, false);
	pthread_mutex_unlock(&space->lock);
	return !space->stop;
}

/* ---- The note ---------------------------------------------------------------------------- */

static size_t space_put(unsigned char *to, const struct ldb_dead *table)
{
	put_be32(to, table->id);
	put_be64(to + 4, table->bytes);
	return SPACE_COUNT;
}

void ldb_space_save(struct ldb *db)
{
	struct ldb_space *space = db->space;
	unsigned char *record = NULL;
	size_t len = 0;

	pthread_mutex_lock(&space->lock);
	if (space->dirty)
		record = malloc((space->count + 1) * SPACE_COUNT);
	if (record) {
		len = space->taken ? space_put(record, space->taken) : 0;
		for (size_t i = 0; i < LDB_SPACE_BUCKETS; i++)
			for (struct ldb_dead *t = space->tables[i]; t; t = t->next)
				len += space_put(record + len, t);
		space->unsaved = 0;
		space->dirty = false;
	}
	pthread_mutex_unlock(&space->lock);
	if (record)
		ldb_note_put(db, LDB_NOTE_DEAD, record, len);
	free(record);
}

/* Adds dead bytes anywhere in the table. */
static void space_load(struct ldb_space *space, uint32_t id, uint64_t bytes)
{
	struct ldb_range range = {{{0}}, {{0x7F}}};

	if (id == SPACE_OTHERS)
		range.from.bytes[0] = 'd';
	if (id != SPACE_OTHERS && id != SPACE_ALL) {
		range.from.bytes[0] = range.to.bytes[0] = 'c';
		put_be32(range.from.bytes + 1, id);
		put_be32(range.to.bytes + 1, id + 1);
	}
	space_add(space, id, &range, bytes);
}

int ldb_space_start(struct ldb *db)
{
	struct ldb_space *space = calloc(1, sizeof(*space));
	unsigned char *record = NULL;
	size_t len = 0;
	int rc;

	if (!space)
		return -ENOMEM;
	pthread_mutex_init(&space->lock, NULL);
	pthread_cond_init(&space->done, NULL);
	clock_cond_init(&space->wake);
	space->looks = LDB_SPACE_LOOKS;
	db->space = space;
	rc = ldb_note_get(db, LDB_NOTE_DEAD, &record, &len);
	space->dirty = rc || len % SPACE_COUNT != 0;
	if (space->dirty)
		space_load(space, SPACE_ALL, space_total(db));
	else
		for (size_t at = 0; at < len; at += SPACE_COUNT)
			space_load(space, get_be32(record + at), get_be64(record + at + 4));
	leveldb_free(record);
	return 0;
}

void ldb_space_stop(struct ldb *db)
{
	struct ldb_space *space = db->space;

	if (!space)
		return;
	for (size_t i = 0; i < LDB_SPACE_BUCKETS; i++) {
		for (struct ldb_dead *table = space->tables[i], *next; table; table = next) {
			next = table->next;
			free(table);
		}
	}
	pthread_cond_destroy(&space->wake);
	pthread_cond_destroy(&space->done);
	pthread_mutex_destroy(&space->lock);
	free(space);
}
