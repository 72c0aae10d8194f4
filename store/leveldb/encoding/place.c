/* SPDX-License-Identifier: MIT */
/*
 * Places, and the records of the file DEAD:
 *
 *   from-length(2) from to-length(2) to keys(8) bytes(8)
 */
#include "store/leveldb/encoding/place.h"

struct ldb_place ldb_place_before(struct wcs_slice key)
{
	struct ldb_place place = {{0}};

	if (key.len > 0)
		memcpy(place.bytes, key.data,
		       key.len < LDB_PLACE_BYTES ? key.len : LDB_PLACE_BYTES);
	return place;
}

struct ldb_place ldb_place_behind(struct wcs_slice key)
{
	struct ldb_place place = ldb_place_before(key);

	for (size_t i = LDB_PLACE_BYTES; key.len > LDB_PLACE_BYTES && i-- > 0;)
		if (++place.bytes[i] != 0)
			break;
	return place;
}

struct wcs_slice ldb_place_key(const struct ldb_place *place)
{
	size_t len = LDB_PLACE_BYTES;

	while (len > 0 && place->bytes[len - 1] == 0)
		len--;
	return (struct wcs_slice){place->bytes, len};
}

static size_t place_encode(unsigned char *to, const struct ldb_place *place)
{
	struct wcs_slice key = ldb_place_key(place);

	put_be16(to, (uint16_t)key.len);
	memcpy(to + 2, key.data, key.len);
	return 2 + key.len;
}

size_t ldb_dead_encode(unsigned char *to, const struct ldb_dead *dead)
{
	size_t len;

	if (dead->keys == 0)
		return 0;
	len = place_encode(to, &dead->from);
	len += place_encode(to + len, &dead->to);
	put_be64(to + len, dead->keys);
	put_be64(to + len + 8, dead->bytes);
	return len + 16;
}

static bool place_decode(struct ldb_rest *rest, struct ldb_place *place)
{
	const unsigned char *len = ldb_rest_take(rest, 2);
	const unsigned char *key = len ? ldb_rest_take(rest, get_be16(len)) : NULL;

	if (!key || get_be16(len) > LDB_PLACE_BYTES)
		return false;
	*place = ldb_place_before((struct wcs_slice){key, get_be16(len)});
	return true;
}

bool ldb_dead_decode(struct ldb_rest *rest, struct ldb_dead *dead)
{
	const unsigned char *counts;

	if (!place_decode(rest, &dead->from) || !place_decode(rest, &dead->to) ||
	    ldb_place_compare(&dead->from, &dead->to) > 0)
		return false;
	counts = ldb_rest_take(rest, 16);
	if (!counts)
		return false;
	dead->keys = get_be64(counts);
	dead->bytes = get_be64(counts + 8);
	return dead->keys > 0;
}
