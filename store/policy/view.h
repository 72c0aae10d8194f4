/* SPDX-License-Identifier: MIT */
/*
 * What may be seen of a table at one moment: the policies of its families and the time. Private
 * to store/ and the engines.
 *
 * A policy hides an end of a column: when it hides a cell, it hides the older ones too, for they
 * have a higher rank and a higher age. So a column is looked at from its newest cell on, up to the
 * first that is hidden.
 */
#ifndef WCS_VIEW_H
#define WCS_VIEW_H

#include "store/policy/gc.h"

/* The policies of a table's families, those that never hide anything left out. Does not change;
 * freed when nobody holds it. */
struct wcs_policies;

/* Of families sorted by name. *policies NULL: none of them hides anything. -EINVAL: one is no
 * policy. */
int wcs_policies_new(const struct wcs_family *const *families, size_t count,
		     struct wcs_policies **policies);
/* Of one family, of which everything is hidden. */
int wcs_policies_all(const char *family, struct wcs_policies **policies);
/* One holder more; returns policies. Both take NULL. */
struct wcs_policies *wcs_policies_hold(struct wcs_policies *policies);
void wcs_policies_drop(struct wcs_policies *policies);

struct wcs_view {
	const struct wcs_policies *policies; /* NULL: everything is seen */
	int64_t now;			     /* microseconds since 1970; with policies only */
};

/* The family's policy; NULL: it hides nothing. */
const struct wcs_gc *wcs_view_gc(const struct wcs_view *view, const char *family);

/* Can a family's newest cell be hidden, so that a row has cells and yet does not exist? */
bool wcs_view_hides_rows(const struct wcs_view *view);

/* Is what expires then hidden from it? */
static inline bool wcs_view_hides(const struct wcs_view *view, int64_t expires)
{
	return expires != WCS_TS_MAX && expires <= view->now;
}

/* When the view hides the rank-th newest cell of a column (from 1): WCS_TS_MAX: never. */
static inline int64_t wcs_view_expiry(const struct wcs_gc *gc, uint64_t rank, int64_t ts)
{
	return gc ? wcs_gc_expiry(gc, rank, ts) : WCS_TS_MAX;
}

#endif
