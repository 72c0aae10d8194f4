/* SPDX-License-Identifier: MIT */
/* HyperLogLog++: how many distinct elements there were, in a state of bounded size. Private.
 * docs/format.md has a state's bytes. */
#ifndef WCS_HLL_H
#define WCS_HLL_H

#include "store/store.h"

#define WCS_HLL_ELEMENT 6u	      /* bytes of the state of one element */
#define WCS_HLL_MAX	(2u + 24576u) /* bytes of any */

/* Are these bytes a state, exactly? The other functions take nothing else. */
bool wcs_hll_valid(struct wcs_slice state);

/* The state of one element, any bytes. */
void wcs_hll_element(struct wcs_slice element, unsigned char state[WCS_HLL_ELEMENT]);

/* The state of the elements of both; the same bytes in whatever order elements and states came
 * together. merged has room for WCS_HLL_MAX bytes and is neither a's nor b's. Returns its length.
 */
size_t wcs_hll_merge(struct wcs_slice a, struct wcs_slice b, unsigned char *merged);

/* How many distinct elements there are, about: with a standard error of 0.6 %, and next to none up
 * to 6,000 of them. At most INT64_MAX. */
int64_t wcs_hll_estimate(struct wcs_slice state);

#endif
