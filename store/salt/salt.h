/* SPDX-License-Identifier: MIT */
/*
 * Reads and drops of a salted table: keys in the place of the engine's stored keys. Private to
 * store/. A design of NULL or without a salt is passed on to the engine unchanged. Arguments are as
 * backend.h and engine.h have them, but for rows and ranges, which are keys.
 */
#ifndef WCS_SALT_H
#define WCS_SALT_H

#include <stdatomic.h>

#include "store/engine/engine.h"
#include "store/keys/salt_ranges.h"

/* Has the stored key its own salt? One that has not is counted. */
static inline bool salt_passes(const struct wcs_engine *engine, const struct wcs_keys *keys,
			       struct wcs_slice stored)
{
	bool right = salt_is_right(keys, stored);

	if (!right)
		atomic_fetch_add_explicit(engine->wrong_salt, 1, memory_order_relaxed);
	return right;
}

/* ---- salt_scan.c ---- */
/* As engine_scan. The filter and keys stay valid until the scan is closed. */
int salt_scan(const struct wcs_engine *engine, const struct wcs_keys *keys,
	      const struct wcs_view *view, uint32_t table, const struct wcs_range *ranges,
	      size_t range_count, const struct wcs_filter *filter, struct wcs_scan **scan);

/* ---- salt_merge.c ---- */
/* A filter over the engine's scan with that filter of several buckets. NULL: no memory, and `below`
 * stays the caller's. */
struct wcs_scan *salt_merge(const struct wcs_engine *engine, const struct wcs_keys *keys,
			    const struct wcs_filter *filter, struct wcs_scan *below);

/* ---- salt_read.c ---- */
/* As engine_key, of a row within wcs_keys_row_max. */
int salt_key(const struct wcs_engine *engine, const struct wcs_keys *keys,
	     const struct wcs_view *view, uint32_t table, struct wcs_slice key,
	     unsigned char delimiter, struct wcs_key_info *info);
/* Drops ranges, as engine_drop; a range without bounds is every stored key of the table. Rows
 * without their own salt go with the range that they lie in. */
int salt_drop(const struct wcs_engine *engine, const struct wcs_keys *keys, uint32_t table,
	      const struct wcs_range *ranges, size_t count);

/* ---- salt_splits.c ---- */
/* As splits of the engines, which may lack it, for one range. */
int salt_splits(const struct wcs_engine *engine, const struct wcs_keys *keys, uint32_t table,
		const struct wcs_range *range, size_t max,
		int (*each)(void *ctx, struct wcs_slice row), void *ctx);

#endif
