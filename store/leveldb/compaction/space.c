/* SPDX-License-Identifier: MIT */
/*
 * Counts dead bytes, that is deleted and replaced keys with their values, by ranges of keys, and
 * chooses the range to compact next.
 *
 * The key space is divided into at most SPACE_PARTS parts, each with a count of dead bytes and the
 * range that contains them. The part with the largest share of dead bytes is compacted while the
 * sum exceeds a bound. Hence dead bytes remain a share of the store, and a compaction rewrites a
 * few times as much as was deleted, whatever the order of deletes. Only the thread of compact.c
 * divides parts, and joins them when there are too many.
 *
 * The counts are estimates. Extents and cells are counted uncompressed, so a part never counts for
 * more than the size of its tables. LevelDB's own compactions drop dead bytes unnoticed, which
 * costs at most one needless compaction of the part.
 *
 * The counts are in the file DEAD, written after 8 MiB of deletes and some seconds after the last.
 * A kill loses later counts. Without the file, or if it is damaged, the whole store counts as dead.
 * A key of LevelDB for them would make tables of tombstones overlap far more of the store.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "store/disk/crc.h"
#include "store/leveldb/compaction/compaction.h"
#include "store/leveldb/formats/file.h"

enum {
	SPACE_PARTS = 64,
	SPACE_SHARE = 5, /* of the tables one part in so many may be dead */
	SPACE_BUSY = 2,	 /* write buffers of dead bytes beyond that, while there are deletes */
	SPACE_PART_SLICES = 4,	  /* a part is larger before it is divided */
	SPACE_CHECK = 4,	  /* bytes of the checksum */
	SPACE_EXTENT_KNOWN = 100, /* extents from which on their mean size is used */
	SPACE_RECORD = (SPACE_PARTS + 1) * LDB_DEAD_MAX + SPACE_CHECK,
};

struct ldb_space {
	pthread_mutex_t lock; /* of all below */
	struct space_part {
		struct ldb_place start; /* up to the next part's */
		struct ldb_dead dead;
	} parts[SPACE_PARTS];
	size_t count;
	struct ldb_dead taken;	 /* the range that is being compacted */
	uint64_t changes, saved; /* how many, and how many when the file was written */
	uint64_t unsaved;	 /* dead bytes since then */
	uint64_t seen;		 /* changes at the last look */
	unsigned int still;	 /* looks without a change */
	bool awake;		 /* the thread of compact.c looks now and then */
	bool quiet;		 /* nothing was deleted for a while */
};

/* ---- Parts; the caller holds the lock ---------------------------------------------------- */

/* The part that contains the place. */
static size_t space_find(const struct ldb_space *space, const struct ldb_place *at)
{
	size_t low = 0, high = space->count;

	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		if (ldb_place_compare(&space->parts[middle].start, at) <= 0)
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

/* Moves the parts from index `from` on to index `to` on. */
static void space_shift(struct ldb_space *space, size_t to, size_t from)
{
	memmove(&space->parts[to], &space->parts[from],
		(space->count - from) * sizeof(*space->parts));
	space->count = space->count + to - from;
}

/* Joins the two neighbours that have the least dead bytes. */
static void space_join(struct ldb_space *space)
{
	size_t best = 0;
	uint64_t least = UINT64_MAX;
	struct ldb_dead *dead, *gone;

	for (size_t i = 0; i + 1 < space->count; i++) {
		uint64_t sum = space->parts[i].dead.bytes + space->parts[i + 1].dead.bytes;

		if (sum < least) {
			least = sum;
			best = i;
		}
	}
	dead = &space->parts[best].dead;
	gone = &space->parts[best + 1].dead;
	if (gone->keys > 0) {
		space_widen(dead, &gone->from, &gone->to);
		dead->keys += gone->keys;
		dead->bytes += gone->bytes;
	}
	space_shift(space, best + 1, best + 2);
}

/* Lets a part begin at the place. Each side gets half of the dead bytes around it. */
static void space_cut(struct ldb_space *space, const struct ldb_place *at)
{
	struct ldb_dead *left, *right;
	size_t index;

	if (space->count == SPACE_PARTS)
		space_join(space);
	index = space_find(space, at);
	if (ldb_place_compare(&space->parts[index].start, at) == 0)
		return;
	space_shift(space, index + 2, index + 1);
	space->parts[index + 1] = (struct space_part){.start = *at};
	left = &space->parts[index].dead;
	right = &space->parts[index + 1].dead;
	if (left->keys == 0 || ldb_place_compare(&left->to, at) <= 0)
		return;
	*right = *left;
	if (ldb_place_compare(&left->from, at) < 0) {
		right->from = left->to = *at;
		right->keys = left->keys = left->keys / 2 + 1;
		right->bytes = left->bytes = left->bytes / 2;
	} else {
		left->keys = left->bytes = 0;
	}
}

/* Spreads dead bytes over the parts that their range crosses. */
static void space_add(struct ldb_space *space, const struct ldb_dead *dead)
{
	size_t first = space_find(space, &dead->from), last = space_find(space, &dead->to);

	for (size_t i = first; i <= last; i++) {
		struct ldb_dead *to = &space->parts[i].dead;

		space_widen(to, i > first ? &space->parts[i].start : &dead->from,
			    i < last ? &space->parts[i + 1].start : &dead->to);
		to->keys += dead->keys / (last - first + 1) + 1;
		to->bytes += dead->bytes / (last - first + 1);
	}
}

/* ---- Counting ---------------------------------------------------------------------------- */

void ldb_space_dead(struct ldb *db, const struct ldb_dead *dead)
{
	struct ldb_space *space = db->space;
	bool wake;

	pthread_mutex_lock(&space->lock);
	space_add(space, dead);
	space->changes++;
	space->unsaved += dead->bytes;
	wake = !space->awake || space->unsaved >= LDB_SPACE_UNSAVED;
	space->awake = true;
	pthread_mutex_unlock(&space->lock);
	if (wake)
		ldb_queue_wake(db);
}

void ldb_space_dead_key(struct ldb *db, const void *key, size_t len, uint64_t value)
{
	struct wcs_slice bytes = {key, len};
	struct ldb_dead dead = ldb_dead_range(bytes, bytes, 1, len + value);

	ldb_space_dead(db, &dead);
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

/* The dead bytes of a range, at most the *size that it has. */
static uint64_t space_least(struct ldb *db, const struct ldb_dead *dead, uint64_t *size)
{
	*size = dead->keys > 0 ? ldb_slice_size(db, &dead->from, &dead->to) : 0;
	return dead->bytes < *size ? dead->bytes : *size;
}

/* Copies the dead range of part i, or, behind the last part, the one that was taken. False: i is
 * behind that. */
static bool space_copy(struct ldb_space *space, size_t i, struct ldb_dead *dead)
{
	bool there;

	pthread_mutex_lock(&space->lock);
	there = i <= space->count;
	if (there)
		*dead = i < space->count ? space->parts[i].dead : space->taken;
	pthread_mutex_unlock(&space->lock);
	return there;
}

uint64_t ldb_space_bytes(struct ldb *db)
{
	uint64_t sum = 0, size;
	struct ldb_dead dead;

	for (size_t i = 0; space_copy(db->space, i, &dead); i++)
		sum += space_least(db, &dead, &size);
	return sum;
}

/* ---- The next compaction ----------------------------------------------------------------- */

static uint64_t space_total(struct ldb *db)
{
	static const struct ldb_place first, last = {{0x7F}};

	return ldb_slice_size(db, &first, &last);
}

/* Finds the part with the largest share of dead bytes; with `all`, every part that has any counts.
 * False: the sum is below the bound. */
static bool space_densest(struct ldb *db, bool all, size_t *best, uint64_t *size)
{
	struct ldb_space *space = db->space;
	uint64_t total = space_total(db), sum = 0;
	double most = -1;
	struct ldb_dead dead;
	bool quiet;

	for (size_t i = 0; i < SPACE_PARTS && space_copy(space, i, &dead); i++) {
		uint64_t here, bytes = space_least(db, &dead, &here);
		double share = here > 0 ? (double)bytes / (double)here : 0;

		sum += bytes;
		if (dead.keys == 0 || share <= most || (bytes == 0 && !all))
			continue;
		most = share;
		*best = i;
		*size = here;
	}
	pthread_mutex_lock(&space->lock);
	quiet = space->quiet;
	pthread_mutex_unlock(&space->lock);
	return most >= 0 &&
	       (all || sum > total / SPACE_SHARE + (quiet ? 1 : SPACE_BUSY) * db->buffer_bytes);
}

/* Divides a part whose dead range is large. False: it is not large. */
static bool space_divide(struct ldb *db, size_t i, uint64_t size)
{
	struct ldb_space *space = db->space;
	uint64_t part = space_total(db) / (SPACE_PARTS / 2);
	struct ldb_dead dead;
	struct ldb_place at;

	if (part < SPACE_PART_SLICES * LDB_SLICE_TABLES * db->table_bytes)
		part = SPACE_PART_SLICES * LDB_SLICE_TABLES * db->table_bytes;
	if (size <= 2 * part || !space_copy(space, i, &dead))
		return false;
	at = ldb_slice_end(db, &dead.from, dead.to, size / 2);
	if (ldb_place_compare(&at, &dead.from) <= 0 || ldb_place_compare(&at, &dead.to) >= 0)
		return false;
	pthread_mutex_lock(&space->lock);
	space_cut(space, &at);
	pthread_mutex_unlock(&space->lock);
	return true;
}

bool ldb_space_take(struct ldb *db, bool all, struct ldb_dead *dead)
{
	struct ldb_space *space = db->space;
	uint64_t size = 0;
	size_t best = 0;

	for (unsigned int cuts = 0; space_densest(db, all, &best, &size); cuts++) {
		if (cuts < SPACE_PARTS && space_divide(db, best, size))
			continue;
		pthread_mutex_lock(&space->lock);
		*dead = space->taken = space->parts[best].dead;
		space->parts[best].dead.keys = space->parts[best].dead.bytes = 0;
		pthread_mutex_unlock(&space->lock);
		return true;
	}
	return false;
}

void ldb_space_taken(struct ldb *db, const struct ldb_dead *rest)
{
	pthread_mutex_lock(&db->space->lock);
	if (rest->keys > 0)
		space_add(db->space, rest);
	else
		db->space->changes++;
	db->space->taken.keys = db->space->taken.bytes = 0;
	pthread_mutex_unlock(&db->space->lock);
}

void ldb_space_forget(struct ldb *db, const struct ldb_dead *dead)
{
	struct ldb_space *space = db->space;
	size_t first, last;

	pthread_mutex_lock(&space->lock);
	first = space_find(space, &dead->from);
	last = space_find(space, &dead->to);
	for (size_t i = first; i <= last; i++) {
		struct ldb_dead *from = &space->parts[i].dead;
		uint64_t bytes = dead->bytes / (last - first + 1);

		from->bytes -= bytes < from->bytes ? bytes : from->bytes;
		if (from->bytes == 0)
			from->keys = 0;
	}
	space->changes++;
	pthread_mutex_unlock(&space->lock);
}

/* ---- The file ---------------------------------------------------------------------------- */

/* A failure leaves no file. */
void ldb_space_save(struct ldb *db, uint64_t least)
{
	struct ldb_space *space = db->space;
	unsigned char *record = malloc(SPACE_RECORD);
	size_t len = 0;
	uint64_t at = 0;
	bool due;
	int fd;

	pthread_mutex_lock(&space->lock);
	due = space->changes != space->saved && space->unsaved >= least;
	if (due && record) {
		len = ldb_dead_encode(record, &space->taken);
		for (size_t i = 0; i < space->count; i++)
			len += ldb_dead_encode(record + len, &space->parts[i].dead);
		space->unsaved = 0;
		space->saved = space->changes;
	}
	pthread_mutex_unlock(&space->lock);
	if (!due)
		goto out;
	if (record)
		put_be32(record + len, wcs_crc_extend(0, record, len));
	fd = openat(db->dir, LDB_FILE_DEAD_NEW,
		    O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (!record || fd < 0 || ldb_file_write(fd, record, len + SPACE_CHECK, &at) != 0 ||
	    renameat(db->dir, LDB_FILE_DEAD_NEW, db->dir, LDB_FILE_DEAD) != 0) {
		unlinkat(db->dir, LDB_FILE_DEAD_NEW, 0);
		unlinkat(db->dir, LDB_FILE_DEAD, 0);
	}
	if (fd >= 0)
		close(fd);
out:
	free(record);
}

bool ldb_space_look(struct ldb *db, unsigned int looks)
{
	struct ldb_space *space = db->space;
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

/* The length of the ranges read, without the checksum; SIZE_MAX: missing or damaged. */
static size_t space_read(struct ldb *db, unsigned char *record)
{
	int fd = openat(db->dir, LDB_FILE_DEAD, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t got = fd >= 0 ? pread(fd, record, SPACE_RECORD, 0) : -1;
	size_t len = got < SPACE_CHECK ? 0 : (size_t)got - SPACE_CHECK;
	bool good = got >= SPACE_CHECK && get_be32(record + len) == wcs_crc_extend(0, record, len);

	if (fd >= 0)
		close(fd);
	return good ? len : SIZE_MAX;
}

int ldb_space_start(struct ldb *db)
{
	static const struct ldb_place spaces[] = {{{'g'}}, {{'h'}}, {{'v'}}};
	struct ldb_dead dead = {{{0}}, {{0x7F}}, 1, 0};
	struct ldb_space *space = calloc(1, sizeof(*space));
	unsigned char *record = malloc(SPACE_RECORD);
	struct ldb_rest rest = {record, 0};

	if (!space || !record) {
		free(space);
		free(record);
		return -ENOMEM;
	}
	space->count = 1;
	for (size_t i = 0; i < sizeof(spaces) / sizeof(*spaces); i++)
		space_cut(space, &spaces[i]);
	pthread_mutex_init(&space->lock, NULL);
	space->awake = true;
	db->space = space;
	rest.len = space_read(db, record);
	if (rest.len == SIZE_MAX) {
		dead.bytes = space_total(db) * space->count;
		if (dead.bytes > 0)
			space_add(space, &dead);
		space->changes++;
		rest.len = 0;
	}
	while (rest.len > 0 && ldb_dead_decode(&rest, &dead)) {
		if (space->count < SPACE_PARTS)
			space_cut(space, &dead.from);
		space_add(space, &dead);
	}
	free(record);
	return 0;
}

void ldb_space_stop(struct ldb *db)
{
	if (!db->space)
		return;
	pthread_mutex_destroy(&db->space->lock);
	free(db->space);
}
