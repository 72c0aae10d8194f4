/* SPDX-License-Identifier: MIT */
/*
 * Resolves chains: FIRST and LAST become bounds of keys. All views of rows of a resolved chain may
 * be evaluated in any order.
 */
#include <errno.h>
#include <string.h>

#include "store/chain/chain_private.h"

/* Finds the last row that a limit lets through, and makes *bound FROM or TO of it. 1: made, with
 * bytes in key; 0: there are no more rows than the limit; or an error. */
static int limit_find(struct wcs_table *table, struct wcs_chain *before,
		      const struct wcs_step *limit, unsigned char *key, struct wcs_step *bound)
{
	struct wcs_filter filter = {
		.each = WCS_EACH_ROW, .chain = before, .reverse = limit->kind == WCS_STEP_LAST};
	struct wcs_subtree subtree;
	struct wcs_scan *scan;
	struct wcs_cell cell;
	int rc = wcs_subtree_init(&subtree, limit->within, wcs_table_delimiter(table));

	*bound = (struct wcs_step){.kind = WCS_STEP_TO, .bytes = {key, 0}};
	if (rc != 0 || limit->number == 0)
		return rc != 0 ? rc : 1;
	rc = wcs_scan_open(table, subtree.ranges, subtree.count, &filter, &scan);
	if (rc != 0)
		return rc;
	for (uint64_t rows = 0; rows < limit->number; rows++) {
		rc = wcs_scan_next(scan, &cell);
		if (rc <= 0)
			break;
	}
	if (rc > 0) {
		memcpy(key, cell.row.data, cell.row.len);
		key[cell.row.len] = '\0';
		bound->bytes.len = cell.row.len + 1;
		if (chain_reversed(before) ^ filter.reverse) {
			bound->kind = WCS_STEP_FROM;
			bound->bytes.len = cell.row.len;
		}
	}
	wcs_scan_close(scan);
	return rc;
}

/* The view as it is now. *now NULL: it lets all rows through. */
static int view_resolve(struct wcs_table *table, struct wcs_chain *before, struct chain_view *view,
			struct chain_view **now)
{
	unsigned char key[WCS_ROW_KEY_MAX + 1];
	struct wcs_step bound;
	int rc;

	*now = NULL;
	if (!chain_view_is_limit(view)) {
		*now = chain_view_hold(view);
		return 0;
	}
	rc = limit_find(table, before, &view->step, key, &bound);
	if (rc <= 0)
		return rc;
	*now = chain_view_new(&bound);
	return *now != NULL ? 0 : -ENOMEM;
}

int wcs_chain_resolve(struct wcs_table *table, struct wcs_chain *chain, struct wcs_chain **resolved)
{
	struct wcs_chain *before = NULL;
	struct chain_view *view = NULL;
	int rc;

	if (!wcs_chain_moves(chain)) {
		*resolved = wcs_chain_hold(chain);
		return 0;
	}
	rc = wcs_chain_resolve(table, chain->before, &before);
	if (rc == 0)
		rc = view_resolve(table, before, chain->view, &view);
	if (rc != 0) {
		wcs_chain_free(before);
		return rc;
	}
	if (view == NULL) {
		*resolved = before;
		return 0;
	}
	before = chain_new(before, view);
	if (before == NULL)
		return -ENOMEM;
	*resolved = before;
	return 0;
}
