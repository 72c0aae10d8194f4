/* SPDX-License-Identifier: MIT */
/* Rows, bounds and ranges of keys as stored keys. Private to store/. */
#ifndef WCS_SALT_RANGES_H
#define WCS_SALT_RANGES_H

#include "store/keys/keys.h"

static inline bool keys_salted(const struct wcs_keys *keys)
{
	return keys != NULL && keys->buckets > 0;
}

/* The bytes of the longest key, whose stored key is within WCS_ROW_KEY_MAX. */
static inline size_t keys_row_max(const struct wcs_keys *keys)
{
	return keys_salted(keys) ? WCS_ROW_KEY_MAX - WCS_KEYS_SALT : WCS_ROW_KEY_MAX;
}

/* The stored key of a row, which is within keys_row_max: in bytes, which have room for
 * WCS_ROW_KEY_MAX, or the key itself, if there is no salt. */
struct wcs_slice salt_stored(const struct wcs_keys *keys, struct wcs_slice key,
			     unsigned char *bytes);
/* The bound among the stored keys of a bucket (data NULL: the bucket's end), in bytes, which have
 * room for WCS_ROW_KEY_MAX + 1. */
struct wcs_slice salt_bound(const struct wcs_keys *keys, unsigned int bucket,
			    struct wcs_slice bound, unsigned char *bytes);
/* Has the stored key its own salt? */
bool salt_is_right(const struct wcs_keys *keys, struct wcs_slice stored);
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
	size_t bucket_count;
	unsigned char buckets[WCS_KEYS_BUCKETS_MAX]; /* that have ranges, ascending */
};
/* The table has a salt, and there is a range. An engine gets at most buckets times count of them.
 * After an error there is nothing to free. -ENOMEM. */
int salt_ranges_init(struct salt_ranges *made, const struct wcs_keys *keys,
		     const struct wcs_range *ranges, size_t count);

#endif
