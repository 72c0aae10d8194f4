/* SPDX-License-Identifier: MIT */
/*
 * Takes stored bytes apart. The engine stores big-endian numbers only; LevelDB's own files have
 * little-endian ones and varints.
 */
#ifndef WCS_LEVELDB_BYTES_H
#define WCS_LEVELDB_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/bytes.h"

/* The rest of bytes that a decoder takes apart. */
struct ldb_rest {
	const unsigned char *data;
	size_t len;
};

/* The next len bytes; NULL: there are fewer. */
static inline const unsigned char *ldb_rest_take(struct ldb_rest *rest, size_t len)
{
	const unsigned char *data = rest->data;

	if (rest->len < len)
		return NULL;
	rest->data += len;
	rest->len -= len;
	return data;
}

/* A varint of LevelDB. False: there is none of at most 64 bits. */
static inline bool ldb_rest_varint(struct ldb_rest *rest, uint64_t *to)
{
	uint64_t n = 0;

	for (unsigned int shift = 0; shift < 64 && rest->len > 0; shift += 7) {
		unsigned char byte = *rest->data++;

		rest->len--;
		n |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*to = n;
			return true;
		}
	}
	return false;
}

/* A varint as LevelDB reads one of 32 bits; mostly it is one byte. */
static inline bool ldb_rest_varint32(struct ldb_rest *rest, uint64_t *to)
{
	const unsigned char *from = rest->data;

	if (rest->len > 0 && *from < 0x80) {
		*to = *from;
		rest->data++;
		rest->len--;
		return true;
	}
	return ldb_rest_varint(rest, to) && rest->data - from <= 5;
}

/* Bytes behind their length, a varint. False: there are fewer. */
static inline bool ldb_rest_text(struct ldb_rest *rest, struct ldb_rest *text)
{
	uint64_t len;

	if (!ldb_rest_varint32(rest, &len) || len > rest->len)
		return false;
	*text = (struct ldb_rest){ldb_rest_take(rest, (size_t)len), (size_t)len};
	return true;
}

#endif
