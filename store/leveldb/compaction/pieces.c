/* SPDX-License-Identifier: MIT */
/*
 * A range of keys in pieces of about so many bytes, so that what is done with each is short, or
 * takes little room.
 *
 * A place is a key with zeros behind it. Of a longer key it is the beginning, which comes before
 * the key; so a range may begin a little early, and ends a little late.
 */
#include <string.h>

#include "store/leveldb/engine.h"

/* Its bytes but for the zeros behind it. LevelDB's LOG has them for every piece. */
static size_t place_len(const struct ldb_place *key)
{
	size_t len = LDB_PLACE_BYTES;

	while (len > 0 && key->bytes[len - 1] == 0)
		len--;
	return len;
}

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
	return (struct wcs_slice){place->bytes, place_len(place)};
}

/* The key halfway. */
static struct ldb_place place_between(const struct ldb_place *from, const struct ldb_place *to)
{
	unsigned int sum[LDB_PLACE_BYTES], carry = 0;
	struct ldb_place half;

	for (size_t i = LDB_PLACE_BYTES; i-- > 0;) {
		sum[i] = from->bytes[i] + to->bytes[i] + carry;
		carry = sum[i] >> 8;
		sum[i] &= 0xFF;
	}
	for (size_t i = 0; i < LDB_PLACE_BYTES; i++) {
		half.bytes[i] = (unsigned char)(carry << 7 | sum[i] >> 1);
		carry = sum[i] & 1;
	}
	return half;
}

uint64_t ldb_place_size(struct ldb *db, const struct ldb_place *from, const struct ldb_place *to)
{
	const char *start = (const char *)from->bytes, *limit = (const char *)to->bytes;
	size_t start_len = place_len(from), limit_len = place_len(to);
	uint64_t size;

	leveldb_approximate_sizes(db->db, 1, &start, &start_len, &limit, &limit_len, &size);
	return size;
}

/* A key from low on and below high, of no more bytes than that takes. */
static struct ldb_place place_short(const struct ldb_place *low, const struct ldb_place *high)
{
	struct ldb_place key = {{0}};
	size_t len = 0;

	while (len < LDB_PLACE_BYTES && low->bytes[len] == high->bytes[len])
		len++;
	for (len++; len < LDB_PLACE_BYTES && low->bytes[len] == 0xFF; len++)
		;
	if (len >= LDB_PLACE_BYTES)
		return *low;
	memcpy(key.bytes, low->bytes, len);
	key.bytes[len] = (unsigned char)(low->bytes[len] + 1);
	return key;
}

struct ldb_place ldb_place_end(struct ldb *db, const struct ldb_place *from, struct ldb_place end,
			       uint64_t piece)
{
	struct ldb_place low = *from, high = end, half;
	uint64_t size = ldb_place_size(db, from, &end);

	if (size <= piece)
		return end;
	for (size = 0; size < piece / 2;) {
		uint64_t half_size;

		half = place_between(&low, &high);
		if (memcmp(&half, &low, sizeof(half)) == 0)
			break;
		half = place_short(&half, &high);
		half_size = ldb_place_size(db, from, &half);
		if (half_size <= piece) {
			low = half;
			size = half_size;
		} else {
			high = half;
		}
	}
	return memcmp(&low, from, sizeof(low)) > 0 ? low : high;
}
