/* SPDX-License-Identifier: MIT */
/* Rows, bounds and ranges of keys as stored keys: see salt_ranges.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/keys/salt_ranges.h"

/* No key is longer than wcs_keys_row_max: a longer bound comes behind its beginning of that length,
 * and before all longer keys of that beginning. */
struct wcs_slice salt_bound(const struct wcs_keys *keys, unsigned int bucket,
			    struct wcs_slice bound, unsigned char *bytes)
{
	size_t len = bound.len, max = wcs_keys_row_max(keys);

	wcs_keys_salt(keys, bucket, bytes);
	if (bound.data == NULL) {
		bytes[WCS_KEYS_SALT - 1]++;
		return (struct wcs_slice){bytes, WCS_KEYS_SALT};
	}
	if (len > max)
		len = max;
	if (len > 0)
		memcpy(bytes + WCS_KEYS_SALT, bound.data, len);
	if (bound.len > max)
		bytes[WCS_KEYS_SALT + len++] = '\0';
	return (struct wcs_slice){bytes, WCS_KEYS_SALT + len};
}

static unsigned int salt_digit(unsigned char digit)
{
	return (unsigned int)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

unsigned int salt_bucket(struct wcs_slice stored)
{
	const unsigned char *bytes = stored.data;

	return salt_digit(bytes[0]) << 4 | salt_digit(bytes[1]);
}

/* ---- Ranges ------------------------------------------------------------------------------ */

/* The range in a bucket; the bytes of its bounds are added at *to. */
static struct wcs_range range_in(const struct wcs_keys *keys, unsigned int bucket,
				 const struct wcs_range *range, unsigned char **to)
{
	static const struct wcs_slice first = {"", 0};
	struct wcs_range made;

	made.start =
		salt_bound(keys, bucket, range->start.data != NULL ? range->start : first, *to);
	*to += made.start.len;
	made.end = salt_bound(keys, bucket, range->end, *to);
	*to += made.end.len;
	return made;
}

int salt_ranges_init(struct salt_ranges *made, const struct wcs_keys *keys,
		     const struct wcs_range *ranges, size_t count)
{
	int *bucket_of = malloc((count + 1) * sizeof(*bucket_of));
	size_t bytes = 0;
	unsigned char *to;

	*made = (struct salt_ranges){.count = 0};
	if (bucket_of == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		size_t times;

		bucket_of[i] = wcs_keys_range_bucket(keys, &ranges[i]);
		made->bucket = i == 0 || made->bucket == bucket_of[i] ? bucket_of[i] : -1;
		times = bucket_of[i] < 0 ? keys->buckets : 1;
		bytes += times * (sizeof(*ranges) + ranges[i].start.len + ranges[i].end.len +
				  2 * (WCS_KEYS_SALT + 1));
		made->count += times;
	}
	made->ranges = malloc(bytes + 1);
	to = (unsigned char *)(made->ranges + made->count);
	for (size_t bucket = 0, n = 0; bucket < keys->buckets && made->ranges != NULL; bucket++)
		for (size_t i = 0; i < count; i++)
			if (bucket_of[i] < 0 || bucket_of[i] == (int)bucket)
				made->ranges[n++] =
					range_in(keys, (unsigned int)bucket, &ranges[i], &to);
	free(bucket_of);
	return made->ranges != NULL ? 0 : -ENOMEM;
}
