/* SPDX-License-Identifier: MIT */
/* Garbage-collection policies: which cells of a column are no longer shown. Private. */
#ifndef WCS_GC_H
#define WCS_GC_H

#include "store.h"

#define WCS_GC_TEXT_MAX	 1024u /* bytes of a policy, as given and in canonical spelling */
#define WCS_GC_DEPTH_MAX 32u   /* parentheses inside each other */

struct wcs_gc; /* a parsed policy; does not change, any thread may evaluate it */

/* Parses a policy. -EINVAL: fault has the column, from 1. */
int wcs_gc_parse(const char *text, struct wcs_gc **gc, struct wcs_fault *fault);
void wcs_gc_free(struct wcs_gc *gc);

/* Its canonical spelling, the same for policies that differ only in how they are written. The
 * caller frees it; NULL: no memory. */
char *wcs_gc_format(const struct wcs_gc *gc);

/* Does the policy collect the cell that is the rank-th newest of its column (from 1), with
 * timestamp ts, at the time now (both >= 0, microseconds since 1970)? */
bool wcs_gc_collects(const struct wcs_gc *gc, uint64_t rank, int64_t ts, int64_t now);

#endif
