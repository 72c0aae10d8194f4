/* SPDX-License-Identifier: MIT */
/* Garbage-collection policies: they say when each cell of a column expires. Private. */
#ifndef WCS_GC_H
#define WCS_GC_H

#include "store/store.h"

#define WCS_GC_TEXT_MAX	 1024u /* bytes of a policy, as given and in canonical spelling */
#define WCS_GC_DEPTH_MAX 32u   /* parentheses inside each other */

struct wcs_gc; /* a parsed policy; does not change, any thread may evaluate it */

/* Parses a policy. -EINVAL: fault has the column, from 1. */
int wcs_gc_parse(const char *text, struct wcs_gc **gc, struct wcs_fault *fault);
/* The policy that collects every cell; it has no spelling. NULL: no memory. */
struct wcs_gc *wcs_gc_all(void);
void wcs_gc_free(struct wcs_gc *gc);

/* The canonical spelling, one for all spellings of a policy. The caller frees it; NULL: no memory.
 */
char *wcs_gc_format(const struct wcs_gc *gc);

/* The time from which on the policy collects the cell that is the rank-th newest of its column
 * (from 1), with timestamp ts (>= 0, microseconds since 1970). INT64_MIN: at any time; INT64_MAX:
 * never. It falls with the rank and grows with the timestamp. */
int64_t wcs_gc_expiry(const struct wcs_gc *gc, uint64_t rank, int64_t ts);

/* The least number of newer cells of its column, from 1, behind which the policy collects a cell of
 * that timestamp, at once or at some age; 0: behind no number of them. */
uint64_t wcs_gc_newer(const struct wcs_gc *gc, int64_t ts);

/* The rank from which on the policy treats all ranks alike; 1: it ignores the rank. */
uint64_t wcs_gc_last_rank(const struct wcs_gc *gc);

/* Does the other policy collect every cell that this one collects, at any rank and time? */
bool wcs_gc_is_within(const struct wcs_gc *gc, const struct wcs_gc *other);

/* Can it collect any cell, the newest one of a column? */
bool wcs_gc_hides(const struct wcs_gc *gc);
bool wcs_gc_hides_newest(const struct wcs_gc *gc);

#endif
