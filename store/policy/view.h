/* SPDX-License-Identifier: MIT */
/*
 * A view: the cells of a table that a reader may see at one moment, by the policies of the families
 * and the time. Private to store/ and the engines.
 *
 * A policy that hides a cell also hides the older cells of its column, since they have a higher
 * rank and a higher age. A reader of a column therefore goes from the newest cell to the first
 * hidden one.
 */
#ifndef WCS_VIEW_H
#define WCS_VIEW_H

#include "store/policy/gc.h"

/* The policies of a table's families, but for those that never hide a cell. Immutable, counted;
 * any thread. */
struct wcs_policies;

/* Parses the policies of families; an open one is none. *policies NULL: none of them hides a cell.
 * -EINVAL: one is no policy; -ENOMEM. */
int wcs_policies_new(const struct wcs_family *families, size_t count,
		     struct wcs_policies **policies);
/* The policy that hides every cell of this one family. -ENOMEM. */
int wcs_policies_all(const char *family, struct wcs_policies **policies);
/* The policies of those families that takes() agrees to, without parsing them again. *policies
 * NULL: of none. -ENOMEM. */
int wcs_policies_some(struct wcs_policies *all, bool (*takes)(void *ctx, const char *family),
		      void *ctx, struct wcs_policies **policies);
/* Takes a reference, and returns policies; releases one. Both take NULL. */
struct wcs_policies *wcs_policies_hold(struct wcs_policies *policies);
void wcs_policies_drop(struct wcs_policies *policies);

struct wcs_view {
	const struct wcs_policies *policies; /* NULL: every cell is seen */
	int64_t now;			     /* microseconds since 1970; with policies only */
};

/* The family's policy; NULL: it hides no cell. */
const struct wcs_gc *wcs_view_gc(const struct wcs_view *view, const char *family);

/* Can a policy hide a column's newest cell? Then a row may have cells and yet not exist. */
bool wcs_view_hides_rows(const struct wcs_view *view);

/* Does the view hide a cell that expires then? */
static inline bool wcs_view_hides(const struct wcs_view *view, int64_t expires)
{
	return expires != WCS_TS_MAX && expires <= view->now;
}

/* When a column's rank-th newest cell (from 1) expires; WCS_TS_MAX: never. gc may be NULL. */
static inline int64_t wcs_view_expiry(const struct wcs_gc *gc, uint64_t rank, int64_t ts)
{
	return gc ? wcs_gc_expiry(gc, rank, ts) : WCS_TS_MAX;
}

#endif
