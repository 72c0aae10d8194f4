/* SPDX-License-Identifier: MIT */
/*
 * Giving back the space of what was deleted, all over the store, on a medium that is full.
 *
 * A compaction writes anew what it merges before it deletes the old, and one that finds no room
 * ends all writing. What it merges are the tables of one level in a range and all of the next level
 * between them, so one over everything can merge everything. So it goes piece by piece, each small
 * beside the room that there is, and not where there is too little for the least of them.
 */
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

#include "directory.h"
#include "engine.h"
#include "manifest.h"

#define SHRINK_PIECE 8u	   /* tables, at most */
#define SHRINK_SPLIT 1024u /* bytes of a key that tell one piece from the next, at most */

/* Where pieces begin and end: a key, zeros behind it. */
struct shrink_key {
	unsigned char bytes[SHRINK_SPLIT];
};

static uint64_t shrink_free(struct ldb *db)
{
	struct statvfs space;

	return fstatvfs(db->dir, &space) == 0 ? (uint64_t)space.f_bavail * space.f_frsize : 0;
}

/* Its bytes but for the zeros behind it. LevelDB's LOG has them for every piece. */
static size_t shrink_len(const struct shrink_key *key)
{
	size_t len = SHRINK_SPLIT;

	while (len > 0 && key->bytes[len - 1] == 0)
		len--;
	return len;
}

/* The key halfway. */
static struct shrink_key shrink_between(const struct shrink_key *from, const struct shrink_key *to)
{
	unsigned int sum[SHRINK_SPLIT], carry = 0;
	struct shrink_key half;

	for (size_t i = SHRINK_SPLIT; i-- > 0;) {
		sum[i] = from->bytes[i] + to->bytes[i] + carry;
		carry = sum[i] >> 8;
		sum[i] &= 0xFF;
	}
	for (size_t i = 0; i < SHRINK_SPLIT; i++) {
		half.bytes[i] = (unsigned char)(carry << 7 | sum[i] >> 1);
		carry = sum[i] & 1;
	}
	return half;
}

static uint64_t shrink_size(struct ldb *db, const struct shrink_key *from,
			    const struct shrink_key *to)
{
	const char *start = (const char *)from->bytes, *limit = (const char *)to->bytes;
	size_t start_len = shrink_len(from), limit_len = shrink_len(to);
	uint64_t size;

	leveldb_approximate_sizes(db->db, 1, &start, &start_len, &limit, &limit_len, &size);
	return size;
}

/* A key from low on and below high, of no more bytes than that takes. */
static struct shrink_key shrink_short(const struct shrink_key *low, const struct shrink_key *high)
{
	struct shrink_key key = {{0}};
	size_t len = 0;

	while (len < SHRINK_SPLIT && low->bytes[len] == high->bytes[len])
		len++;
	for (len++; len < SHRINK_SPLIT && low->bytes[len] == 0xFF; len++)
		;
	if (len >= SHRINK_SPLIT)
		return *low;
	memcpy(key.bytes, low->bytes, len);
	key.bytes[len] = (unsigned char)(low->bytes[len] + 1);
	return key;
}

/* Where a piece of about that many bytes ends that starts at from; of more, where these keys cannot
 * be told apart. */
static struct shrink_key shrink_end(struct ldb *db, const struct shrink_key *from,
				    struct shrink_key end, uint64_t piece)
{
	struct shrink_key low = *from, high = end, half;
	uint64_t size = shrink_size(db, from, &end);

	if (size <= piece)
		return end;
	for (size = 0; size < piece / 2;) {
		uint64_t half_size;

		half = shrink_between(&low, &high);
		if (memcmp(&half, &low, sizeof(half)) == 0)
			break;
		half = shrink_short(&half, &high);
		half_size = shrink_size(db, from, &half);
		if (half_size <= piece) {
			low = half;
			size = half_size;
		} else {
			high = half;
		}
	}
	return memcmp(&low, from, sizeof(low)) > 0 ? low : high;
}

/* How much one piece may have, so that merging it, after all of the first two levels and what is in
 * memory, leaves room for as much again. 0: there is no room for any. The levels are measured,
 * since their tables can be many and small: counted as full ones they could leave no room for ever.
 */
static uint64_t shrink_piece(struct ldb *db)
{
	uint64_t taken = ldb_stats_level(db, 0) + ldb_stats_level(db, 1) + db->buffer_bytes;
	uint64_t piece = SHRINK_PIECE * db->table_bytes;
	uint64_t free = shrink_free(db);

	if (free < taken + 4 * db->table_bytes)
		return 0;
	return (free - taken) / 4 < piece ? (free - taken) / 4 : piece;
}

static int shrink_count(void *ctx, int dir, const char *name)
{
	uint64_t *tables = ctx, number;

	(void)dir;
	*tables += ldb_file_parse(name, &number) == LDB_FILE_TABLE;
	return 0;
}

/* LevelDB looks for what it can remove when it moves what is in memory into a table, and keeps what
 * a reader has then. */
void ldb_shrink_left(struct ldb *db)
{
	uint64_t there = 0, used = 0;

	if (shrink_piece(db) == 0)
		return;
	for (unsigned int level = 0; level < WCS_LEVELS_MAX; level++) {
		char name[40];

		snprintf(name, sizeof(name), "leveldb.num-files-at-level%u", level);
		used += ldb_stats_number(db, name);
	}
	if (directory_each(db->dir, shrink_count, &there) == 0 && there > used)
		ldb_manual_flush(db);
}

bool ldb_shrink_run(struct ldb *db)
{
	struct shrink_key at = {{0}}, end = {{0x7F}}, next;

	while (memcmp(&at, &end, sizeof(at)) < 0) {
		uint64_t piece = shrink_piece(db);

		if (piece == 0 || atomic_load(&db->failed) || ldb_compact_stopped(db))
			return false;
		next = shrink_end(db, &at, end, piece);
		if (shrink_size(db, &at, &next) <= 4 * piece)
			ldb_manual_run(db, (struct wcs_slice){at.bytes, shrink_len(&at)},
				       (struct wcs_slice){next.bytes, shrink_len(&next)});
		at = next;
	}
	return true;
}
