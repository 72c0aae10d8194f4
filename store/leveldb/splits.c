/* SPDX-License-Identifier: MIT */
/*
 * Finds rows that divide ranges into parts of about equal size, by LevelDB's estimate of the bytes
 * that its files have before a key. No row is scanned; bytes in memory do not count.
 *
 * Each bound is searched between two rows, below and above it, whose offsets are known. The key
 * that is looked up next lies between their keys as the bound lies between their offsets, or, every
 * second time, in the middle. The row that the iterator finds there takes the place of one of the
 * two: the keys between two rows may be far from evenly spread, but a row there is again close to
 * others. Rows above a bound stay for the bounds to come.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/leveldb/encoding/bytes.h"
#include "store/leveldb/engine.h"

#define SPLITS_PART  (32u << 10) /* bytes of a part at least: some blocks of a table file */
#define SPLITS_STEPS 48		 /* rows looked up for a bound at most */

struct split_row {
	uint64_t offset;
	size_t len;
	unsigned char row[WCS_ROW_KEY_MAX];
};

struct splits {
	struct ldb *db;
	uint32_t table;
	leveldb_iterator_t *iter;
	struct ldb_key key, end;
	uint64_t part;	 /* bytes */
	uint64_t bound;	 /* the next, as bytes of the ranges before it */
	uint64_t bounds; /* left */
	struct split_row low, found, given;
	/* The rows above the bound, the nearest one last. */
	struct split_row high[SPLITS_STEPS];
	size_t high_count;
};

static struct wcs_slice split_slice(const struct split_row *row)
{
	return (struct wcs_slice){row->row, row->len};
}

static uint64_t splits_offset(struct splits *splits, const struct ldb_key *key)
{
	const char *start = "", *limit = (const char *)key->data;
	size_t start_len = 0;
	uint64_t size = 0;

	leveldb_approximate_sizes(splits->db->db, 1, &start, &start_len, &limit, &key->len, &size);
	return size;
}

/* Takes the row under the iterator. */
static int splits_take(struct splits *splits, struct split_row *row)
{
	struct ldb_key_parts parts;
	size_t len;
	const unsigned char *data = ldb_iter_key(splits->iter, &len);

	if (ldb_key_split(data, len, &parts))
		return ldb_db_damaged(splits->db, "a cell's key");
	row->len = ldb_key_get_row(data, &parts, row->row);
	ldb_key_row(&splits->key, splits->table, split_slice(row));
	row->offset = splits_offset(splits, &splits->key);
	return 0;
}

/* Moves the iterator to the last key before the present one, or the last of all. */
static void splits_back(struct splits *splits)
{
	if (leveldb_iter_valid(splits->iter))
		leveldb_iter_prev(splits->iter);
	else
		leveldb_iter_seek_to_last(splits->iter);
}

/* Takes the first and the last row from the key on and before the end. 1: taken; 0: there is none;
 * or an error. */
static int splits_ends(struct splits *splits)
{
	int rc;

	ldb_iter_seek(splits->iter, &splits->key);
	if (!ldb_iter_before(splits->iter, &splits->end))
		return 0;
	rc = splits_take(splits, &splits->low);
	if (rc)
		return rc;
	ldb_iter_seek(splits->iter, &splits->end);
	splits_back(splits);
	if (!leveldb_iter_valid(splits->iter))
		return 0; /* a block cannot be read */
	rc = splits_take(splits, &splits->high[0]);
	splits->high_count = 1;
	return rc ? rc : 1;
}

/* The first 8 bytes of a row from there on, as a number. */
static uint64_t split_number(const struct split_row *row, size_t from)
{
	unsigned char bytes[8] = {0};
	size_t rest = row->len > from ? row->len - from : 0;

	memcpy(bytes, row->row + from, rest < sizeof(bytes) ? rest : sizeof(bytes));
	return get_be64(bytes);
}

/* Seeks a row between two others, at that part of the way. False: there is no such key. */
static bool splits_seek(struct splits *splits, const struct split_row *high, double way)
{
	const struct split_row *low = &splits->low;
	unsigned char bytes[WCS_ROW_KEY_MAX + 8];
	size_t same = wcs_slice_shared(split_slice(low), split_slice(high));
	uint64_t from, to, at;

	from = split_number(low, same);
	to = split_number(high, same);
	if (from == to)
		return false;
	at = from + (uint64_t)((double)(to - from) * way);
	if (at == from)
		at++;
	memcpy(bytes, low->row, same);
	put_be64(bytes + same, at);
	ldb_key_row(&splits->key, splits->table, (struct wcs_slice){bytes, same + 8});
	ldb_iter_seek(splits->iter, &splits->key);
	return true;
}

/* Finds a row between the two around the bound. 1: found; 0: there is none; or an error. */
static int splits_find(struct splits *splits, double way)
{
	const struct split_row *high = &splits->high[splits->high_count - 1];
	int rc;

	if (!splits_seek(splits, high, way))
		return 0;
	ldb_key_row(&splits->key, splits->table, split_slice(high));
	if (!ldb_iter_before(splits->iter, &splits->key))
		splits_back(splits);
	if (!leveldb_iter_valid(splits->iter))
		return 0; /* a block cannot be read */
	rc = splits_take(splits, &splits->found);
	if (rc)
		return rc;
	return wcs_slice_compare(split_slice(&splits->found), split_slice(&splits->low)) > 0;
}

/* Narrows the rows around the bound to a quarter of a part. */
static int splits_narrow(struct splits *splits, uint64_t bound)
{
	int rc;

	while (splits->high_count > 1 && splits->high[splits->high_count - 1].offset <= bound)
		splits->low = splits->high[--splits->high_count];
	for (int i = 0; i < SPLITS_STEPS; i++) {
		uint64_t low = splits->low.offset;
		uint64_t high = splits->high[splits->high_count - 1].offset;
		double way = 0.5;

		if (high <= low || high - low <= splits->part / 4)
			return 0;
		if (i % 2 == 0 && bound < high)
			way = (double)(bound - low) / (double)(high - low);
		rc = splits_find(splits, way);
		if (rc <= 0)
			return rc;
		if (splits->found.offset <= bound)
			splits->low = splits->found;
		else if (splits->high_count < SPLITS_STEPS)
			splits->high[splits->high_count++] = splits->found;
		else
			splits->high[splits->high_count - 1] = splits->found;
	}
	return 0;
}

/* The row nearest to the bound. */
static const struct split_row *splits_nearest(const struct splits *splits, uint64_t bound)
{
	const struct split_row *low = &splits->low, *high = &splits->high[splits->high_count - 1];

	return high->offset <= bound || high->offset - bound < bound - low->offset ? high : low;
}

/* How many parts to make of those bytes. The end of a table file, about a tenth, has no rows but
 * filters and the index: if there are several files, a part is not smaller than half of one. The
 * caller of several ranges puts their parts together, which evens that out. */
static uint64_t splits_parts(const struct splits *splits, uint64_t size, size_t ranges, size_t max)
{
	uint64_t half = splits->db->table_bytes / 2;
	uint64_t least = size < 2 * half || ranges > 1 || half == 0 ? SPLITS_PART : half;

	return size / least > max ? max + 1 : size / least;
}

/* Finds the ends of a range, and its size. 1: found; 0: it has no row; or an error. */
static int splits_begin(struct splits *splits, const struct wcs_range *range, uint64_t *size)
{
	int rc;

	ldb_key_row(&splits->key, splits->table, range->start);
	if (range->end.data)
		ldb_key_row(&splits->end, splits->table, range->end);
	else
		ldb_key_table_past(&splits->end, splits->table);
	rc = splits_ends(splits);
	if (rc > 0)
		*size = splits->high[0].offset - splits->low.offset;
	return rc;
}

/* Gives the bounds that lie in the range; `before` are the bytes of the ranges before it. */
static int splits_give(struct splits *splits, uint64_t before, uint64_t size,
		       int (*each)(void *ctx, struct wcs_slice row), void *ctx)
{
	uint64_t start = splits->low.offset;
	int rc = 0;

	splits->given = splits->low;
	for (; rc == 0 && splits->bounds > 0 && splits->bound < before + size; splits->bounds--) {
		uint64_t bound = start + splits->bound - before;
		const struct split_row *row;

		splits->bound += splits->part;
		rc = splits_narrow(splits, bound);
		if (rc)
			break;
		row = splits_nearest(splits, bound);
		if (wcs_slice_compare(split_slice(row), split_slice(&splits->given)) <= 0)
			continue;
		splits->given = *row;
		rc = each(ctx, split_slice(row));
	}
	return rc;
}

static int splits_run(struct splits *splits, const struct wcs_range *ranges, size_t count,
		      size_t max, int (*each)(void *ctx, struct wcs_slice row), void *ctx)
{
	uint64_t total = 0, before = 0, size, parts;
	int rc;

	for (size_t i = 0; i < count; i++) {
		rc = splits_begin(splits, &ranges[i], &size);
		if (rc < 0)
			return rc;
		total += rc > 0 ? size : 0;
	}
	parts = splits_parts(splits, total, count, max);
	if (parts < 2)
		return 0;
	splits->part = splits->bound = total / parts;
	splits->bounds = parts - 1;
	for (size_t i = 0; i < count; i++) {
		rc = splits_begin(splits, &ranges[i], &size);
		if (rc == 0)
			continue;
		if (rc > 0)
			rc = splits_give(splits, before, size, each, ctx);
		if (rc != 0)
			return rc;
		before += size;
	}
	return 0;
}

int ldb_splits(void *db, uint32_t table, const struct wcs_range *ranges, size_t count, size_t max,
	       int (*each)(void *ctx, struct wcs_slice row), void *ctx)
{
	struct splits *splits = malloc(sizeof(*splits));
	int rc;

	if (!splits)
		return -ENOMEM;
	splits->db = db;
	splits->table = table;
	splits->iter = ldb_db_iterate(db);
	rc = splits_run(splits, ranges, count, max, each, ctx);
	rc = ldb_db_iter_end(db, splits->iter, rc);
	free(splits);
	return rc;
}
