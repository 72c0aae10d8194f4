/* SPDX-License-Identifier: MIT */
/*
 * Divides the rows of a salted table. The engine divides the stored rows of all buckets together
 * into equal parts, so a bucket's number of splits is in proportion to its rows. Sorted by their
 * keys the splits of all buckets are a sample of the rows, and every n-th of them is a split of the
 * table.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/salt/salt.h"

enum {
	SPLITS_MOST = 6400, /* of the engine */
	SPLITS_MANY = 100,  /* in a part, at least, where there are so many buckets */
};

struct splits {
	size_t count, room;
	struct wcs_slice *rows; /* without salt; each owned */
};

static int splits_take(void *ctx, struct wcs_slice row)
{
	struct splits *splits = ctx;
	struct wcs_slice key = salt_stripped(row);
	void *copy = splits->count < splits->room ? malloc(key.len + 1) : NULL;

	if (copy == NULL)
		return -ENOMEM;
	memcpy(copy, key.data, key.len);
	splits->rows[splits->count++] = (struct wcs_slice){copy, key.len};
	return 0;
}

static int splits_compare(const void *a, const void *b)
{
	return wcs_slice_compare(*(const struct wcs_slice *)a, *(const struct wcs_slice *)b);
}

/* Gives every n-th of the sorted rows. */
static int splits_give(struct splits *splits, size_t buckets, size_t max,
		       int (*each)(void *ctx, struct wcs_slice row), void *ctx)
{
	size_t parts = splits->count / (buckets < SPLITS_MANY ? buckets : SPLITS_MANY);
	int rc = 0;

	if (parts > max + 1)
		parts = max + 1;
	if (splits->count > 1)
		qsort(splits->rows, splits->count, sizeof(*splits->rows), splits_compare);
	for (size_t i = 1; i < parts && rc == 0; i++)
		rc = each(ctx, splits->rows[i * splits->count / parts]);
	return rc;
}

int salt_splits(const struct wcs_engine *engine, const struct wcs_keys *keys, uint32_t table,
		const struct wcs_range *range, size_t max,
		int (*each)(void *ctx, struct wcs_slice row), void *ctx)
{
	const struct wcs_backend *backend = engine->backend;
	struct splits splits = {.count = 0};
	struct salt_ranges ranges;
	int rc;

	if (backend->splits == NULL)
		return 0;
	if (!wcs_keys_salted(keys))
		return backend->splits(engine->db, table, range, 1, max, each, ctx);
	rc = salt_ranges_init(&ranges, keys, range, 1);
	if (rc != 0)
		return rc;
	splits.room = ranges.count * max < SPLITS_MOST ? ranges.count * max : SPLITS_MOST;
	splits.rows = calloc(splits.room, sizeof(*splits.rows));
	if (splits.rows == NULL)
		rc = -ENOMEM;
	if (rc == 0)
		rc = backend->splits(engine->db, table, ranges.ranges, ranges.count, splits.room,
				     splits_take, &splits);
	if (rc == 0)
		rc = splits_give(&splits, ranges.count, max, each, ctx);
	for (size_t i = 0; i < splits.count; i++)
		free((void *)(uintptr_t)splits.rows[i].data);
	free(splits.rows);
	free(ranges.ranges);
	return rc;
}
