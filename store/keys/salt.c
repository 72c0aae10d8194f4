/* SPDX-License-Identifier: MIT */
/* The salt of a key: a hash of its first segments, modulo the buckets, as two digits. */
#include "store/keys/keys.h"

#include <string.h>

#include "lib/hash.h"

/* The length of the part of a key that its salt is a hash of. */
static size_t salt_end(const struct wcs_keys *keys, struct wcs_slice key)
{
	const unsigned char *bytes = key.data, *delimiter;
	size_t at = 0;

	for (unsigned int i = 0; i < keys->salt_segments; i++) {
		delimiter = at < key.len ? memchr(bytes + at, keys->delimiter, key.len - at) : NULL;
		if (delimiter == NULL)
			return key.len;
		at = (size_t)(delimiter - bytes) + 1;
	}
	return at > 0 ? at - 1 : key.len;
}

static unsigned int salt_of(const struct wcs_keys *keys, const void *bytes, size_t len)
{
	uint64_t hash = hash_bytes(HASH_START, bytes, len);

	return (uint32_t)(hash >> 32 ^ hash) % keys->buckets;
}

unsigned int wcs_keys_bucket(const struct wcs_keys *keys, struct wcs_slice key)
{
	return salt_of(keys, key.data, salt_end(keys, key));
}

void wcs_keys_salt(const struct wcs_keys *keys, unsigned int bucket, unsigned char *salt)
{
	static const char digits[] = "0123456789abcdef";

	salt[0] = (unsigned char)digits[bucket >> 4];
	salt[1] = (unsigned char)digits[bucket & 15];
	salt[2] = keys->delimiter;
}

struct wcs_slice wcs_keys_unsalted(const struct wcs_keys *keys, struct wcs_slice stored)
{
	unsigned char salt[WCS_KEYS_SALT];
	struct wcs_slice key;

	if (keys == NULL || keys->buckets == 0 || stored.len <= WCS_KEYS_SALT)
		return stored;
	key = (struct wcs_slice){(const char *)stored.data + WCS_KEYS_SALT,
				 stored.len - WCS_KEYS_SALT};
	wcs_keys_salt(keys, wcs_keys_bucket(keys, key), salt);
	return memcmp(stored.data, salt, WCS_KEYS_SALT) == 0 ? key : stored;
}

struct wcs_slice wcs_keys_stored(const struct wcs_keys *keys, struct wcs_slice key,
				 unsigned char *bytes)
{
	if (!wcs_keys_salted(keys))
		return key;
	wcs_keys_salt(keys, wcs_keys_bucket(keys, key), bytes);
	if (key.len > 0)
		memcpy(bytes + WCS_KEYS_SALT, key.data, key.len);
	return (struct wcs_slice){bytes, WCS_KEYS_SALT + key.len};
}

bool wcs_keys_one(struct wcs_slice start, struct wcs_slice end)
{
	return end.data != NULL && end.len == start.len + 1 &&
	       ((const unsigned char *)end.data)[start.len] == 0 &&
	       (start.len == 0 || memcmp(start.data, end.data, start.len) == 0);
}

/* Keys that begin with the salted segments and a delimiter stand together, but others that begin
 * with those segments may stand before them: "a!b" is before "a#b". */
int wcs_keys_range_bucket(const struct wcs_keys *keys, const struct wcs_range *range)
{
	size_t len = salt_end(keys, range->start);
	const unsigned char *end = range->end.data;
	int order;

	if (end == NULL)
		return -1;
	if (wcs_keys_one(range->start, range->end))
		return (int)salt_of(keys, range->start.data, len);
	if (len == range->start.len)
		return -1;
	/* The end is at most those segments with the byte behind the delimiter. */
	order = memcmp(end, range->start.data, range->end.len < len ? range->end.len : len);
	if (order > 0 || (order == 0 && range->end.len > len &&
			  (end[len] > keys->delimiter + 1 ||
			   (end[len] == keys->delimiter + 1 && range->end.len > len + 1))))
		return -1;
	return (int)salt_of(keys, range->start.data, len);
}
