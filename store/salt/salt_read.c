/* SPDX-License-Identifier: MIT */
/* Looks at one key of a salted table, and drops its rows. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "store/salt/salt.h"

/* ---- Keys -------------------------------------------------------------------------------- */

/* A search for a row and the rows below it, in all buckets, with one scan of the first cell of each
 * row. It begins in the row's own bucket, goes on through those behind, and then through those
 * before. */
struct key_search {
	const struct wcs_engine *engine;
	const struct wcs_keys *keys;
	struct wcs_scan *scan;
	struct wcs_slice stored; /* the row */
	struct wcs_key_info info;
};

/* Takes the scan's rows until one is below the key. end: before the stored key only. 0 or an error.
 */
static int key_search_run(struct key_search *search, bool end)
{
	struct wcs_cell cell;
	int rc = 0;

	while (!search->info.prefix && (rc = search->scan->ops->next(search->scan, &cell)) > 0) {
		int order = wcs_slice_compare(cell.row, search->stored);

		if (end && order >= 0)
			return 0;
		if (!salt_is_right(search->keys, cell.row)) {
			atomic_fetch_add_explicit(search->engine->wrong_salt, 1,
						  memory_order_relaxed);
			continue;
		}
		if (order == 0)
			search->info.row = true;
		else
			search->info.prefix = true;
		if (cell.info.expires < search->info.expires)
			search->info.expires = cell.info.expires;
	}
	return rc < 0 ? rc : 0;
}

/* The key's own range and the one below it, in order. */
static int key_search(struct key_search *search, const struct wcs_view *view, uint32_t table,
		      const struct wcs_range *ranges, size_t count)
{
	static const struct wcs_filter first = {.each = WCS_EACH_ROW};
	struct salt_ranges stored;
	int rc = salt_ranges_init(&stored, search->keys, ranges, count);

	if (rc == 0)
		rc = engine_scan(search->engine, view, table, stored.ranges, stored.count, &first,
				 &search->scan);
	free(stored.ranges);
	if (rc != 0)
		return rc;
	rc = search->scan->ops->seek(search->scan, search->stored);
	if (rc == 0)
		rc = key_search_run(search, false);
	if (rc == 0 && !search->info.prefix)
		rc = search->scan->ops->seek(search->scan, (struct wcs_slice){"", 0});
	if (rc == 0)
		rc = key_search_run(search, true);
	search->scan->ops->close(search->scan);
	return rc;
}

int salt_key(const struct wcs_engine *engine, const struct wcs_keys *keys,
	     const struct wcs_view *view, uint32_t table, struct wcs_slice key,
	     unsigned char delimiter, struct wcs_key_info *info)
{
	unsigned char bytes[WCS_ROW_KEY_MAX], bounds[3][WCS_ROW_KEY_MAX + 1];
	struct wcs_range ranges[2];
	struct key_search search = {
		.engine = engine, .keys = keys, .info = {false, false, WCS_TS_MAX}};
	size_t len = key.len;
	int rc;

	if (!wcs_keys_salted(keys))
		return engine_key(engine, view, table, key, delimiter, info);
	for (int i = 0; i < 3 && len > 0; i++)
		memcpy(bounds[i], key.data, len);
	bounds[0][len] = '\0';
	bounds[1][len] = delimiter;
	bounds[2][len] = (unsigned char)(delimiter + 1);
	ranges[0] = (struct wcs_range){{bounds[0], len}, {bounds[0], len + 1}};
	ranges[1] = (struct wcs_range){{bounds[1], len + 1}, {bounds[2], len + 1}};
	search.stored = wcs_keys_stored(keys, key, bytes);
	if (wcs_keys_range_bucket(keys, &ranges[1]) >= 0) { /* it is the row's own, too */
		rc = engine_key(engine, view, table, search.stored, delimiter, &search.info);
		search.info.row = search.info.row && len > 0;
	} else {
		rc = key_search(&search, view, table, ranges + (len == 0), 2 - (len == 0));
	}
	if (rc == 0)
		*info = search.info;
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
