/* SPDX-License-Identifier: MIT */
/* Values of aggregate families: what a write makes of the one that is there. Private to store/ and
 * the engines, both of which leave the arithmetic to this. */
#ifndef WCS_AGGREGATE_H
#define WCS_AGGREGATE_H

#include "store/mutation.h"

/* Of a write whose type is set: does a family of that type take it? -EINVAL, -EOVERFLOW (digits of
 * an integer beyond 64 bits): *why says why not; why may be NULL. */
int wcs_aggregate_refuses(const struct wcs_write *write, const char **why);

/* The same of a condition. */
int wcs_aggregate_refuses_if(const struct wcs_condition *condition, const char **why);

/* Of a condition that is not refused: makes what was given the value to expect. */
void wcs_aggregate_expect(struct wcs_condition *condition);

/* The value that the write leaves in its cell; old.data NULL: there is none, or it sets. value has
 * room for WCS_AGGREGATE_VALUE_MAX bytes and is not old's. -EOVERFLOW; -EINVAL: old is no value of
 * the family. */
int wcs_aggregate_apply(const struct wcs_write *write, struct wcs_slice old, unsigned char *value,
			size_t *len);

#endif
