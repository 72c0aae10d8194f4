/* SPDX-License-Identifier: MIT */
/* Looks at one key of a salted table, and drops its rows. */
#include <stdlib.h>
#include <string.h>

#include "store/salt/salt.h"

/* ---- Keys -------------------------------------------------------------------------------- */

/* Searches all buckets for the row and the rows below it, whose ranges are given, with one scan of
 * the first cell of each row: from the row's own bucket on, and then from the first one on. 0 or an
 * error. */
static int key_search(const struct wcs_engine *engine, const struct wcs_keys *keys,
		      const struct wcs_view *view, uint32_t table, struct wcs_slice row,
		      const struct salt_ranges *ranges, struct wcs_key_info *info)
{
	static const struct wcs_filter first = {.each = WCS_EACH_ROW};
	const struct wcs_slice from[] = {row, {"", 0}};
	struct wcs_scan *scan;
	struct wcs_cell cell;
	int rc = engine_scan(engine, view, table, ranges->ranges, ranges->count, &first, &scan);

	if (rc != 0)
		return rc;
	for (int run = 0; run < 2 && rc >= 0 && !info->prefix; run++) {
		rc = scan->ops->seek(scan, from[run]);
		while (rc >= 0 && !info->prefix && (rc = scan->ops->next(scan, &cell)) > 0) {
			int order = wcs_slice_compare(cell.row, row);

			if (run > 0 && order >= 0)
				break;
			if (!salt_passes(engine, keys, cell.row))
				continue;
			*(order == 0 ? &info->row : &info->prefix) = true;
			if (cell.info.expires < info->expires)
				info->expires = cell.info.expires;
		}
	}
	scan->ops->close(scan);
	return rc < 0 ? rc : 0;
}

int salt_key(const struct wcs_engine *engine, const struct wcs_keys *keys,
	     const struct wcs_view *view, uint32_t table, struct wcs_slice key,
	     unsigned char delimiter, struct wcs_key_info *info)
{
	unsigned char bytes[WCS_ROW_KEY_MAX];
	struct wcs_key_info found = {false, false, WCS_TS_MAX};
	bool none = key.len == 0; /* the empty key is no row */
	struct wcs_subtree subtree;
	struct salt_ranges stored;
	struct wcs_slice row;
	int rc;

	if (!wcs_keys_salted(keys))
		return engine_key(engine, view, table, key, delimiter, info);
	row = wcs_keys_stored(keys, key, bytes);
	rc = wcs_subtree_init(&subtree, &key, delimiter);
	if (rc == 0)
		rc = salt_ranges_init(&stored, keys, subtree.ranges + none, subtree.count - none);
	if (rc != 0)
		return rc;
	if (stored.bucket >= 0)
		rc = engine_key(engine, view, table, row, delimiter, &found);
	else
		rc = key_search(engine, keys, view, table, row, &stored, &found);
	free(stored.ranges);
	found.row = found.row && !none;
	if (rc == 0)
		*info = found;
	return rc;
}

/* ---- Drops ------------------------------------------------------------------------------- */

int salt_drop(const struct wcs_engine *engine, const struct wcs_keys *keys, uint32_t table,
	      const struct wcs_range *given, size_t count)
{
	struct salt_ranges ranges;
	int rc;

	if (!wcs_keys_salted(keys) || (given->start.len == 0 && given->end.data == NULL))
		return engine_drop(engine, table, given, count);
	rc = salt_ranges_init(&ranges, keys, given, count);
	if (rc != 0)
		return rc;
	rc = engine_drop(engine, table, ranges.ranges, ranges.count);
	free(ranges.ranges);
	return rc;
}
