/* SPDX-License-Identifier: MIT */
/*
 * A varint, the decoded length; then elements, told by the low two bits of their first byte:
 *
 *   00  literal: length - 1 in the upper six bits; 60 to 63: in 1 to 4 bytes that follow
 *   01  copy of 4 to 11 bytes, offset of 11 bits
 *   10  copy of 1 to 64 bytes, offset of 16 bits
 *   11  the same, of 32 bits
 *
 * Nothing of it is taken on trust: damaged bytes give an error.
 */
#include "store/leveldb/formats/snappy.h"

#include <errno.h>
#include <string.h>

#include "store/leveldb/encoding/bytes.h"

#define SNAPPY_RATIO 64u /* a copy of three bytes stands for 64 at most */

int ldb_snappy_size(const unsigned char *data, size_t len, size_t *size)
{
	struct ldb_rest rest = {data, len};
	uint64_t n;

	if (!ldb_rest_varint(&rest, &n) || n > (uint64_t)len * SNAPPY_RATIO)
		return -EIO;
	*size = (size_t)n;
	return 0;
}

/* A little-endian number of so many bytes. */
static bool snappy_number(struct ldb_rest *rest, size_t bytes, size_t *n)
{
	if (rest->len < bytes)
		return false;
	*n = 0;
	for (size_t i = bytes; i > 0; i--)
		*n = *n << 8 | rest->data[i - 1];
	rest->data += bytes;
	rest->len -= bytes;
	return true;
}

static bool snappy_literal(struct ldb_rest *rest, unsigned char tag, unsigned char *to, size_t room,
			   size_t *len)
{
	size_t n = tag >> 2;

	if (n >= 60 && !snappy_number(rest, n - 59, &n))
		return false;
	n++;
	if (n > rest->len || n > room)
		return false;
	memcpy(to, rest->data, n);
	rest->data += n;
	rest->len -= n;
	*len = n;
	return true;
}

/* made bytes stand before `to`. The copy may reach into itself. */
static bool snappy_copy(struct ldb_rest *rest, unsigned char tag, unsigned char *to, size_t made,
			size_t room, size_t *len)
{
	size_t n = (tag >> 2) + 1u, offset;

	if ((tag & 3) == 1) {
		n = (tag >> 2 & 7) + 4u;
		if (!snappy_number(rest, 1, &offset))
			return false;
		offset |= (size_t)(tag >> 5) << 8;
	} else if (!snappy_number(rest, (tag & 3) == 2 ? 2 : 4, &offset)) {
		return false;
	}
	if (offset == 0 || offset > made || n > room)
		return false;
	for (size_t i = 0; i < n; i++)
		to[i] = *(to + i - offset);
	*len = n;
	return true;
}

int ldb_snappy_decode(const unsigned char *data, size_t len, unsigned char *to, size_t size)
{
	struct ldb_rest rest = {data, len};
	size_t made = 0, some = 0;
	uint64_t expected;

	if (!ldb_rest_varint(&rest, &expected) || expected != size)
		return -EIO;
	if (size == 0) /* to may be NULL, and every element is a byte at least */
		return rest.len == 0 ? 0 : -EIO;
	while (rest.len > 0) {
		unsigned char tag = *rest.data;
		bool good;

		rest.data++;
		rest.len--;
		if ((tag & 3) == 0)
			good = snappy_literal(&rest, tag, to + made, size - made, &some);
		else
			good = snappy_copy(&rest, tag, to + made, made, size - made, &some);
		if (!good)
			return -EIO;
		made += some;
	}
	return made == size ? 0 : -EIO;
}
