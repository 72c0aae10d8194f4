/* SPDX-License-Identifier: MIT */
/*
 * The cells that another policy would collect, without a change of the policy. A scan gives the
 * cells that the present policy shows. These are the newest ones of each column, so their ranks
 * count from 1; the other policy is evaluated with these ranks, as the collector does after a
 * change.
 */
#include "store/table/table.h"

/* The other policy, and the counts of the cells that it would hide. */
struct explain {
	const struct wcs_gc *gc;
	struct wcs_view view; /* its time */
	uint64_t rank;	      /* of the present cell */
	bool counted;	      /* the present row is */
	struct wcs_count count;
};

/* Does the policy hide the next cell of the scan? */
static bool explain_hides(struct explain *explain, const struct wcs_cell *cell)
{
	explain->rank = cell->differs == WCS_PART_TS ? explain->rank + 1 : 1;
	explain->counted = explain->counted && cell->differs != WCS_PART_ROW;
	if (!wcs_view_hides(&explain->view,
			    wcs_view_expiry(explain->gc, explain->rank, cell->info.ts)))
		return false;
	explain->count.rows += !explain->counted;
	explain->counted = true;
	explain->count.cells++;
	explain->count.bytes += cell->info.size;
	return true;
}

int wcs_family_explain(struct wcs_table *table, const char *name, const char *policy,
		       int (*each)(void *ctx, const struct wcs_cell *cell), void *ctx,
		       struct wcs_count *count, struct wcs_fault *fault)
{
	const struct wcs_filter filter = {.families = &name, .family_count = 1};
	const struct wcs_range all = {.start = {NULL, 0}};
	struct explain explain = {.view = {.now = store_now(table->store)}};
	struct wcs_scan *scan = NULL;
	struct wcs_gc *gc = NULL;
	struct wcs_cell cell;
	int rc = wcs_gc_parse(policy, &gc, fault);

	explain.gc = gc;
	if (rc == 0)
		rc = wcs_scan_open(table, &all, 1, &filter, &scan);
	while (rc == 0 && (rc = wcs_scan_next(scan, &cell)) > 0)
		rc = explain_hides(&explain, &cell) ? each(ctx, &cell) : 0;
	wcs_scan_close(scan);
	wcs_gc_free(gc);
	if (rc == 0)
		*count = explain.count;
	return rc;
}

int wcs_family_newer(struct wcs_table *table, const char *name, int64_t ts, uint64_t *newer)
{
	struct wcs_view view;
	const struct wcs_gc *gc;
	int rc = table_enter(table);

	if (rc != 0)
		return rc;
	view = table_view(table);
	gc = wcs_view_gc(&view, name);
	*newer = gc != NULL ? wcs_gc_newer(gc, ts) : 0;
	table_leave(table);
	return 0;
}
