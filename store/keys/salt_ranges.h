/* SPDX-License-Identifier: MIT */
/* Rows, bounds and ranges of keys as stored keys. Private to store/. */
#ifndef WCS_SALT_RANGES_H
#define WCS_SALT_RANGES_H

#include "store/keys/keys.h"

/* The bound among the stored keys of a bucket (data NULL: the bucket's end), in bytes, which have
 * room for WCS_ROW_KEY_MAX + 1. */
struct wcs_slice salt_bound(const struct wcs_keys *keys, unsigned int bucket,
			    struct wcs_slice bound, unsigned char *bytes);
/* Has the stored key its own salt? */
static inline bool salt_is_right(const struct wcs_keys *keys, struct wcs_slice stored)
{
	return wcs_keys_unsalted(keys, stored).len < stored.len;
}
/* The key of a stored key that has a salt. */
static inline struct wcs_slice salt_stripped(struct wcs_slice stored)
{
	return (struct wcs_slice){(const unsigned char *)stored.data + WCS_KEYS_SALT,
				  stored.len - WCS_KEYS_SALT};
}
/* The bucket of a stored key's salt, as its two digits say. */
unsigned int salt_bucket(struct wcs_slice stored);

/* The ranges of stored keys that have the keys of some ranges, ascending. */
struct salt_ranges {
	struct wcs_range *ranges; /* and their bytes: the owner frees it */
	size_t count;
	int bucket; /* that has all of them, or -1: several */
};
/* The table has a salt, and there is a range. An engine gets at most buckets times count of them.
 * After an error there is nothing to free. -ENOMEM. */
int salt_ranges_init(struct salt_ranges *made, const struct wcs_keys *keys,
		     const struct wcs_range *ranges, size_t count);

#endif
