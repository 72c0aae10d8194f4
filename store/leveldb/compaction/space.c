/* SPDX-License-Identifier: MIT */
/*
 * Dead bytes: what deletes left in the tables, by ranges of keys, and which range to compact next.
 *
 * Every deleter adds the size of what it deleted at the range of its keys. The key space is divided
 * into at most SPACE_PARTS parts, each with a count of dead bytes and the range that contains them.
 * The densest part is compacted while the sum is over a bound. So dead bytes stay a share of the
 * store, and a compaction rewrites a few times as much as was deleted, whatever the order of
 * deletes. Only the compactor divides parts, and joins them when there are too many.
 *
 * The counts are estimates. Chunks and cells are counted uncompressed, so a part never counts for
 * more than the size of its tables. LevelDB's own compactions drop dead bytes unnoticed; that costs
 * at most one needless compaction of the part.
 *
 * The counts are in a file, which is written after 8 MiB of deletes and a few seconds after the
 * last. A kill loses what came later. Without the file, or where it is damaged, all of the store
 * counts as dead. As a key of LevelDB they would make tables of deletes overlap far more of the
 * store.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "store/disk/crc.h"
#include "store/leveldb/encoding/bytes.h"
#include "store/leveldb/engine.h"
#include "store/leveldb/formats/file.h"

enum {
	SPACE_SHARE = 5, /* of the tables one part in so many may be dead */
	SPACE_BUSY = 2,	 /* write buffers of dead bytes beyond that, while there are deletes */
	SPACE_PART_PIECES = 4,	 /* a part is larger before it is divided */
	SPACE_CHECK = 4,	 /* bytes of the checksum */
	SPACE_CHUNK_KNOWN = 100, /* chunks, from which on their mean size is used */
};

/* ---- Parts; the caller holds the lock ---------------------------------------------------- */

/* The part that has the place. */
static size_t space_find(const struct ldb_space *space, const struct ldb_place *at)
{
	size_t low = 0, high = space->count;

	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		if (ldb_place_compare(&space->parts[middle]->start, at) <= 0)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static void space_widen(struct ldb_dead *dead, const struct ldb_place *from,
			const struct ldb_place *to)
{
	if (dead->keys == 0 || ldb_place_compare(from, &dead->from) < 0)
		dead->from = *from;
	if (dead->keys == 0 || ldb_place_compare(to, &dead->to) > 0)
		dead->to = *to;
}

/* Joins the two neighbours that have the least dead bytes. */
static void space_join(struct ldb_space *space)
{
	size_t best = 0;
	uint64_t least = UINT64_MAX;
	struct ldb_space_part *gone;

	for (size_t i = 0; i + 1 < space->count; i++) {
		uint64_t sum = space->parts[i]->dead.bytes + space->parts[i + 1]->dead.bytes;

		if (sum < least) {
			least = sum;
			best = i;
		}
	}
	gone = space->parts[best + 1];
	if (gone->dead.keys > 0) {
		struct ldb_dead *dead = &space->parts[best]->dead;

		space_widen(dead, &gone->dead.from, &gone->dead.to);
		dead->keys += gone->dead.keys;
		dead->bytes += gone->dead.bytes;
	}
	free(gone);
	space->count--;
	memmove(&space->parts[best + 1], &space->parts[best + 2],
		(space->count - best - 1) * sizeof(*space->parts));
}

/* A part begins at the place from now on. Of dead bytes around it each side gets half. */
static void space_cut(struct ldb_space *space, const struct ldb_place *at)
{
	struct ldb_space_part *part = malloc(sizeof(*part)), *left;
	size_t index;

	if (!part)
		return;
	if (space->count == LDB_SPACE_PARTS)
		space_join(space);
	index = space_find(space, at);
	left = space->parts[index];
	if (ldb_place_compare(&left->start, at) == 0) {
		free(part);
		return;
	}
	*part = (struct ldb_space_part){.start = *at};
	if (left->dead.keys > 0 && ldb_place_compare(&left->dead.to, at) > 0) {
		part->dead = left->dead;
		if (ldb_place_compare(&left->dead.from, at) < 0) {
			part->dead.from = left->dead.to = *at;
			part->dead.keys = left->dead.keys = left->dead.keys / 2 + 1;
			part->dead.bytes = left->dead.bytes = left->dead.bytes / 2;
		} else {
			left->dead.keys = left->dead.bytes = 0;
		}
	}
	memmove(&space->parts[index + 2], &space->parts[index + 1],
		(space->count - index - 1) * sizeof(*space->parts));
	space->parts[index + 1] = part;
	space->count++;
}

/* Spreads it over the parts that the range crosses. */
static void space_add(struct ldb_space *space, const struct ldb_dead *dead)
{
	size_t first = space_find(space, &dead->from), last = space_find(space, &dead->to);

	for (size_t i = first; i <= last; i++) {
		struct ldb_dead *to = &space->parts[i]->dead;

		space_widen(to, i > first ? &space->parts[i]->start : &dead->from,
			    i < last ? &space->parts[i + 1]->start : &dead->to);
		to->keys += dead->keys / (last - first + 1) + 1;
		to->bytes += dead->bytes / (last - first + 1);
	}
}

/* ---- Counting ---------------------------------------------------------------------------- */

void ldb_space_dead(struct ldb *db, const struct ldb_dead *dead)
{
	struct ldb_space *space = &db->space;
	bool wake;

	pthread_mutex_lock(&space->lock);
	space_add(space, dead);
	space->changes++;
	space->unsaved += dead->bytes;
	wake = !space->awake || space->unsaved >= LDB_SPACE_UNSAVED;
	space->awake = true;
	pthread_mutex_unlock(&space->lock);
	if (wake)
		ldb_compact_wake(db);
}

void ldb_space_dead_key(struct ldb *db, const void *key, size_t len, uint64_t value)
{
	struct wcs_slice bytes = {key, len};
	struct ldb_dead dead = {ldb_place_before(bytes), ldb_place_behind(bytes), 1, len + value};

	ldb_space_dead(db, &dead);
}

/* The record of garbage has the number of chunks only; most values have a last one that is short.
 */
uint64_t ldb_space_chunks(struct ldb *db, uint64_t chunks)
{
	uint64_t known = atomic_load(&db->counters.garbage_chunks);

	if (known < SPACE_CHUNK_KNOWN)
		return chunks * LDB_CHUNK / 2;
	return (uint64_t)((double)atomic_load(&db->counters.garbage_bytes) / (double)known *
			  (double)chunks);
}

/* Dead bytes of a range as far as they can be: LevelDB has no more there. */
static uint64_t space_least(struct ldb *db, const struct ldb_dead *dead, uint64_t *size)
{
	*size = dead->keys > 0 ? ldb_place_size(db, &dead->from, &dead->to) : 0;
	return dead->bytes < *size ? dead->bytes : *size;
}

/* Copies the dead of part i; false: there is no such part. */
static bool space_copy(struct ldb_space *space, size_t i, struct ldb_dead *dead)
{
	bool there;

	pthread_mutex_lock(&space->lock);
	there = i < space->count;
	if (there)
		*dead = space->parts[i]->dead;
	pthread_mutex_unlock(&space->lock);
	return there;
}

uint64_t ldb_space_bytes(struct ldb *db)
{
	uint64_t sum, size;
	struct ldb_dead dead;

	pthread_mutex_lock(&db->space.lock);
	dead = db->space.taken;
	pthread_mutex_unlock(&db->space.lock);
	sum = space_least(db, &dead, &size);
	for (size_t i = 0; space_copy(&db->space, i, &dead); i++)
		sum += space_least(db, &dead, &size);
	return sum;
}

/* ---- What to compact --------------------------------------------------------------------- */

static uint64_t space_total(struct ldb *db)
{
	static const struct ldb_place first, last = {{0x7F}};

	return ldb_place_size(db, &first, &last);
}

/* The part with the largest share of dead bytes; with `all`, every one that has any. False: the sum
 * is below the bound. */
static bool space_densest(struct ldb *db, bool all, bool quiet, size_t *best, uint64_t *size)
{
	uint64_t total = space_total(db), sum = 0;
	double most = -1;
	struct ldb_dead dead;

	for (size_t i = 0; space_copy(&db->space, i, &dead); i++) {
		uint64_t here, bytes = space_least(db, &dead, &here);
		double share = here > 0 ? (double)bytes / (double)here : 0;

		sum += bytes;
		if (dead.keys == 0 || share <= most || (bytes == 0 && !all))
			continue;
		most = share;
		*best = i;
		*size = here;
	}
	return most >= 0 &&
	       (all || sum > total / SPACE_SHARE + (quiet ? 1 : SPACE_BUSY) * db->buffer_bytes);
}

/* A part whose dead range is large is divided before it is taken. True: it was. */
static bool space_divide(struct ldb *db, size_t i, uint64_t size)
{
	struct ldb_space *space = &db->space;
	uint64_t part = space_total(db) / (LDB_SPACE_PARTS / 2);
	struct ldb_dead dead;
	struct ldb_place at;

	if (part < SPACE_PART_PIECES * LDB_PIECE_TABLES * db->table_bytes)
		part = SPACE_PART_PIECES * LDB_PIECE_TABLES * db->table_bytes;
	if (size <= 2 * part || !space_copy(space, i, &dead))
		return false;
	at = ldb_place_end(db, &dead.from, dead.to, size / 2);
	if (ldb_place_compare(&at, &dead.from) <= 0 || ldb_place_compare(&at, &dead.to) >= 0)
		return false;
	pthread_mutex_lock(&space->lock);
	space_cut(space, &at);
	pthread_mutex_unlock(&space->lock);
	return true;
}

bool ldb_space_take(struct ldb *db, bool all, struct ldb_dead *dead)
{
	struct ldb_space *space = &db->space;
	uint64_t size = 0;
	size_t best = 0;
	bool quiet;

	pthread_mutex_lock(&space->lock);
	quiet = space->quiet;
	pthread_mutex_unlock(&space->lock);
	for (unsigned int cuts = 0; space_densest(db, all, quiet, &best, &size); cuts++) {
		if (cuts < LDB_SPACE_PARTS && space_divide(db, best, size))
			continue;
		pthread_mutex_lock(&space->lock);
		*dead = space->taken = space->parts[best]->dead;
		space->parts[best]->dead.keys = space->parts[best]->dead.bytes = 0;
		pthread_mutex_unlock(&space->lock);
		return true;
	}
	return false;
}

void ldb_space_taken(struct ldb *db, const struct ldb_dead *rest)
{
	pthread_mutex_lock(&db->space.lock);
	if (rest->keys > 0)
		space_add(&db->space, rest);
	else
		db->space.changes++;
	db->space.taken.keys = db->space.taken.bytes = 0;
	pthread_mutex_unlock(&db->space.lock);
}

void ldb_space_forget(struct ldb *db, const struct ldb_dead *dead)
{
	struct ldb_space *space = &db->space;
	size_t first, last;

	pthread_mutex_lock(&space->lock);
	first = space_find(space, &dead->from);
	last = space_find(space, &dead->to);
	for (size_t i = first; i <= last; i++) {
		struct ldb_dead *from = &space->parts[i]->dead;
		uint64_t bytes = dead->bytes / (last - first + 1);

		from->bytes -= bytes < from->bytes ? bytes : from->bytes;
		if (from->bytes == 0)
			from->keys = 0;
	}
	space->changes++;
	pthread_mutex_unlock(&space->lock);
}

/* ---- The record -------------------------------------------------------------------------- */

/* Of all parts, with a checksum at the end. 0: no memory. */
static size_t space_encode(struct ldb_space *space, unsigned char **record)
{
	size_t len;

	*record = malloc((LDB_SPACE_PARTS + 1) * LDB_DEAD_MAX + SPACE_CHECK);
	if (!*record)
		return 0;
	pthread_mutex_lock(&space->lock);
	len = ldb_record_dead(*record, &space->taken);
	for (size_t i = 0; i < space->count; i++)
		len += ldb_record_dead(*record + len, &space->parts[i]->dead);
	space->unsaved = 0;
	space->saved = space->changes;
	pthread_mutex_unlock(&space->lock);
	ldb_put32(*record + len, wcs_crc_extend(0, *record, len));
	return len + SPACE_CHECK;
}

/* Where it fails there is none. */
static void space_write(struct ldb *db)
{
	unsigned char *record;
	size_t len = space_encode(&db->space, &record);
	uint64_t at = 0;
	int fd = openat(db->dir, LDB_FILE_DEAD_NEW,
			O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (len == 0 || fd < 0 || ldb_file_write(fd, record, len, &at) != 0 ||
	    renameat(db->dir, LDB_FILE_DEAD_NEW, db->dir, LDB_FILE_DEAD) != 0) {
		unlinkat(db->dir, LDB_FILE_DEAD_NEW, 0);
		unlinkat(db->dir, LDB_FILE_DEAD, 0);
	}
	if (fd >= 0)
		close(fd);
	free(record);
}

void ldb_space_save(struct ldb *db, uint64_t least)
{
	struct ldb_space *space = &db->space;
	bool due;

	pthread_mutex_lock(&space->lock);
	due = space->changes != space->saved && space->unsaved >= least;
	pthread_mutex_unlock(&space->lock);
	if (due)
		space_write(db);
}

bool ldb_space_look(struct ldb *db, unsigned int looks)
{
	struct ldb_space *space = &db->space;
	unsigned int still;
	bool quiet;

	pthread_mutex_lock(&space->lock);
	quiet = space->quiet;
	space->still = space->changes == space->seen ? space->still + 1 : 0;
	space->seen = space->changes;
	space->quiet = space->still >= looks;
	still = space->still;
	pthread_mutex_unlock(&space->lock);
	ldb_space_save(db, still > 0 ? 0 : LDB_SPACE_UNSAVED);
	pthread_mutex_lock(&space->lock);
	quiet = quiet && space->changes == space->seen && space->changes == space->saved;
	space->awake = !quiet;
	pthread_mutex_unlock(&space->lock);
	return quiet;
}

/* Returns its length without the checksum; SIZE_MAX: it is missing or damaged. */
static size_t space_read(struct ldb *db, unsigned char *record, size_t room)
{
	int fd = openat(db->dir, LDB_FILE_DEAD, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t got = fd >= 0 ? pread(fd, record, room, 0) : -1;
	size_t len = got < SPACE_CHECK ? 0 : (size_t)got - SPACE_CHECK;
	bool good = got >= SPACE_CHECK && ldb_get32(record + len) == wcs_crc_extend(0, record, len);

	if (fd >= 0)
		close(fd);
	return good ? len : SIZE_MAX;
}

/* Without a record all may be dead. */
static int space_load(struct ldb *db)
{
	struct ldb_dead dead = {{{0}}, {{0x7F}}, 1, 0};
	size_t room = (LDB_SPACE_PARTS + 1) * LDB_DEAD_MAX + SPACE_CHECK;
	unsigned char *record = malloc(room);
	struct ldb_rest rest = {record, 0};

	if (!record)
		return -ENOMEM;
	rest.len = space_read(db, record, room);
	if (rest.len == SIZE_MAX) {
		dead.bytes = space_total(db) * db->space.count;
		if (dead.bytes > 0)
			space_add(&db->space, &dead);
		db->space.changes++;
		rest.len = 0;
	}
	while (rest.len > 0 && ldb_record_dead_decode(&rest, &dead)) {
		if (db->space.count < LDB_SPACE_PARTS)
			space_cut(&db->space, &dead.from);
		space_add(&db->space, &dead);
	}
	free(record);
	return 0;
}

int ldb_space_start(struct ldb *db)
{
	static const struct ldb_place spaces[] = {{{'g'}}, {{'h'}}, {{'v'}}};
	struct ldb_space *space = &db->space;

	space->parts[0] = calloc(1, sizeof(*space->parts[0]));
	if (!space->parts[0])
		return -ENOMEM;
	space->count = 1;
	for (size_t i = 0; i < sizeof(spaces) / sizeof(*spaces); i++)
		space_cut(space, &spaces[i]);
	pthread_mutex_init(&space->lock, NULL);
	space->awake = true;
	return space_load(db);
}

void ldb_space_stop(struct ldb *db)
{
	struct ldb_space *space = &db->space;

	if (space->count == 0)
		return;
	for (size_t i = 0; i < space->count; i++)
		free(space->parts[i]);
	pthread_mutex_destroy(&space->lock);
}
