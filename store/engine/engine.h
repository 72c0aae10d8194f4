/* SPDX-License-Identifier: MIT */
/*
 * Uses the engine's fast function, or else the functions that every engine has. Private to store/.
 * Arguments are as backend.h has them.
 */
#ifndef WCS_ENGINE_H
#define WCS_ENGINE_H

#include "store/backend.h"
#include "store/policy/view.h"

static inline bool engine_bounds_empty(struct wcs_slice from, struct wcs_slice to)
{
	return to.data != NULL && wcs_slice_compare(from, to) >= 0;
}

/* Makes bytes the first key behind all that start with them. Returns its length; 0: there is none.
 */
static inline size_t engine_past(unsigned char *bytes, size_t len)
{
	while (len > 0 && bytes[len - 1] == 0xFF)
		len--;
	if (len > 0)
		bytes[len - 1]++;
	return len;
}

/* Does no cell pass it? Such a filter never reaches an engine. */
static inline bool engine_filter_empty(const struct wcs_filter *filter)
{
	return engine_bounds_empty(filter->qualifier_from, filter->qualifier_to) ||
	       (filter->ts_to != 0 && filter->ts_from >= filter->ts_to) ||
	       (filter->families != NULL && filter->family_count == 0);
}

/* ---- filter.c ---- */
/* Has the filter the family, qualifier and time of the cell? */
bool engine_filter_has(const struct wcs_filter *filter, const struct wcs_cell *cell);
/* Sorts families by name, as a filter has them. */
void engine_sort_families(const char **families, size_t count);
/* Opens a scan of the cells that pass view and filter. The view's policies and the filter stay
 * valid until (*scan)->ops->close. */
int engine_scan(const struct wcs_engine *engine, const struct wcs_view *view, uint32_t table,
		const struct wcs_range *ranges, size_t range_count, const struct wcs_filter *filter,
		struct wcs_scan **scan);
/* The first cell of such a scan, without its slices. 1, 0 or an error. */
int engine_first(const struct wcs_engine *engine, const struct wcs_view *view, uint32_t table,
		 const struct wcs_range *ranges, size_t range_count,
		 const struct wcs_filter *filter, struct wcs_cell *cell);

/* ---- key.c ---- */
/*
 * Below a row are the keys that start with its key and the delimiter. Other keys may lie between
 * ("a!b" is between "a" and "a#b"): a subtree has two ranges, in order, a whole table one.
 */
struct wcs_subtree {
	struct wcs_range ranges[2]; /* borrow from here: a subtree must not be copied or moved */
	size_t count;		    /* 1 or 2 */
	unsigned char start[WCS_ROW_KEY_MAX + 1]; /* the key and the delimiter */
	unsigned char end[WCS_ROW_KEY_MAX + 1];	  /* the first key behind that prefix */
	unsigned char past[WCS_ROW_KEY_MAX + 1];  /* the first key behind the row's own */
};

/*
 * key NULL: all rows. An empty key is that of no row, but rows may be below it. -EINVAL,
 * -ENAMETOOLONG: key.
 */
int wcs_subtree_init(struct wcs_subtree *subtree, const struct wcs_slice *key,
		     unsigned char delimiter);
int engine_key(const struct wcs_engine *engine, const struct wcs_view *view, uint32_t table,
	       struct wcs_slice key, unsigned char delimiter, struct wcs_key_info *info);

/* ---- cell.c ---- */
int engine_cell(const struct wcs_engine *engine, const struct wcs_view *view,
		const struct wcs_address *at, struct wcs_cell_info *info, struct wcs_value **value);

/* ---- drop.c ---- */
int engine_drop(const struct wcs_engine *engine, uint32_t table, const struct wcs_range *ranges,
		size_t count);

#endif
