/* SPDX-License-Identifier: MIT */
/*
 * Scans of a salted table. If all keys of the ranges belong to one bucket, the engine's scan of
 * that bucket gives them in order, and only the salt has to go: such a scan is here. salt_merge.c
 * has the scan of several buckets.
 *
 * A key within such ranges decides its bucket, so each row of the scan has its own salt.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/salt/salt.h"

struct one_scan {
	struct wcs_scan base;
	const struct wcs_keys *keys;
	unsigned int bucket;
};

static int one_next(struct wcs_scan *base, struct wcs_cell *cell)
{
	struct wcs_scan *of = base->below;
	int rc = of->ops->next(of, cell);

	if (rc > 0)
		cell->row = salt_stripped(cell->row);
	return rc;
}

static int one_seek(struct wcs_scan *base, struct wcs_slice row)
{
	static const struct wcs_slice first = {"", 0};
	struct one_scan *scan = (struct one_scan *)base;
	unsigned char bytes[WCS_ROW_KEY_MAX + 1];

	return base->below->ops->seek(
		base->below,
		salt_bound(scan->keys, scan->bucket, row.data != NULL ? row : first, bytes));
}

static int one_enter(struct wcs_scan *base, struct wcs_slice row, const char *family,
		     struct wcs_slice qualifier)
{
	struct one_scan *scan = (struct one_scan *)base;
	unsigned char bytes[WCS_ROW_KEY_MAX + 1];

	return base->below->ops->enter(
		base->below, salt_bound(scan->keys, scan->bucket, row, bytes), family, qualifier);
}

static const struct scan_ops one_ops = {one_next,  one_seek,	   scan_pass_read,
					one_enter, scan_pass_skip, scan_pass_close};

static struct wcs_scan *one_new(const struct wcs_keys *keys, unsigned int bucket,
				struct wcs_scan *below)
{
	struct one_scan *scan = malloc(sizeof(*scan));

	if (scan == NULL)
		return NULL;
	*scan = (struct one_scan){
		.base = {.ops = &one_ops, .below = below}, .keys = keys, .bucket = bucket};
	return &scan->base;
}

int salt_scan(const struct wcs_engine *engine, const struct wcs_keys *keys,
	      const struct wcs_view *view, uint32_t table, const struct wcs_range *ranges,
	      size_t range_count, const struct wcs_filter *filter, struct wcs_scan **made)
{
	struct salt_ranges stored;
	struct wcs_scan *below, *scan;
	int rc;

	if (!wcs_keys_salted(keys))
		return engine_scan(engine, view, table, ranges, range_count, filter, made);
	rc = salt_ranges_init(&stored, keys, ranges, range_count);
	if (rc != 0)
		return rc;
	rc = engine_scan(engine, view, table, stored.ranges, stored.count, filter, &below);
	free(stored.ranges);
	if (rc != 0)
		return rc;
	scan = stored.bucket >= 0 ? one_new(keys, (unsigned int)stored.bucket, below)
				  : salt_merge(engine, keys, filter, below);
	if (scan == NULL) {
		below->ops->close(below);
		return -ENOMEM;
	}
	*made = scan;
	return 0;
}
