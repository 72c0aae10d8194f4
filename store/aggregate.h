/* SPDX-License-Identifier: MIT */
/* Values of aggregate families: what a write makes of the one that is there. Private to store/ and
 * the engines, both of which leave the arithmetic to this. */
#ifndef WCS_AGGREGATE_H
#define WCS_AGGREGATE_H

#include "mutation.h"

/* Of a write whose type is set: why a family of that type does not take it. NULL: it does. */
const char *wcs_aggregate_refuses(const struct wcs_write *write);

/* The same of a condition. */
const char *wcs_aggregate_refuses_if(const struct wcs_condition *condition);

/* Of a condition that is not refused: makes what was given the value to expect. */
void wcs_aggregate_expect(struct wcs_condition *condition);

/* The value that the write leaves in its cell; old.data NULL: there is none, or it sets. value has
 * room for WCS_AGGREGATE_VALUE_MAX bytes and is not old's. -EOVERFLOW; -EINVAL: old is no value of
 * the family. */
int wcs_aggregate_apply(const struct wcs_write *write, struct wcs_slice old, unsigned char *value,
			size_t *len);

#endif
