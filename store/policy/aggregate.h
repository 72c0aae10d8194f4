/* SPDX-License-Identifier: MIT */
/* The arithmetic of aggregate families: a write and the old value make the new value. Private to
 * store/ and the engines. */
#ifndef WCS_AGGREGATE_H
#define WCS_AGGREGATE_H

#include "store/mutation.h"

/* The reason, a static text, for which a family of this type refuses the write or condition; NULL:
 * it takes it. Its error: 0; -EINVAL; -EOVERFLOW: digits of an integer beyond 64 bits. */
const char *wcs_aggregate_refuses(const struct wcs_write *write);
const char *wcs_aggregate_refuses_if(const struct wcs_condition *condition);
int wcs_aggregate_error(const char *reason);

/* Sets the value to expect of a condition that is not refused. */
void wcs_aggregate_expect(struct wcs_condition *condition);

/* The value that the write leaves in its cell; old.data NULL: there is no old value, or the write
 * sets. value has room for WCS_AGGREGATE_VALUE_MAX bytes and does not overlap old. -EOVERFLOW;
 * -EINVAL: old is no value of the family. */
int wcs_aggregate_apply(const struct wcs_write *write, struct wcs_slice old, unsigned char *value,
			size_t *len);

#endif
