/* SPDX-License-Identifier: MIT */
/* Cuts a key range into slices of about a given size, so that work on each takes little time or
 * room. */
#include "store/leveldb/compaction/compaction.h"

/* The place halfway. */
static struct ldb_place slice_middle(const struct ldb_place *from, const struct ldb_place *to)
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

uint64_t ldb_slice_size(struct ldb *db, const struct ldb_place *from, const struct ldb_place *to)
{
	struct wcs_slice first = ldb_place_key(from), last = ldb_place_key(to);
	const char *start = first.data, *limit = last.data;
	uint64_t size;

	leveldb_approximate_sizes(db->db, 1, &start, &first.len, &limit, &last.len, &size);
	return size;
}

/* The shortest place from low on and below high. */
static struct ldb_place slice_short(const struct ldb_place *low, const struct ldb_place *high)
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

struct ldb_place ldb_slice_end(struct ldb *db, const struct ldb_place *from, struct ldb_place end,
			       uint64_t bytes)
{
	struct ldb_place low = *from, high = end, half;
	uint64_t size = ldb_slice_size(db, from, &end);

	if (size <= bytes)
		return end;
	for (size = 0; size < bytes / 2;) {
		uint64_t half_size;

		half = slice_middle(&low, &high);
		if (ldb_place_compare(&half, &low) == 0)
			break;
		half = slice_short(&half, &high);
		half_size = ldb_slice_size(db, from, &half);
		if (half_size <= bytes) {
			low = half;
			size = half_size;
		} else {
			high = half;
		}
	}
	return ldb_place_compare(&low, from) > 0 ? low : high;
}
