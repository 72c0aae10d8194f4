/* SPDX-License-Identifier: MIT */
/* Big-endian numbers in bytes: the only form in which a number is stored. LevelDB's own files have
 * little-endian ones. */
#ifndef WCS_LEVELDB_BYTES_H
#define WCS_LEVELDB_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline void ldb_put16(unsigned char *to, uint16_t n)
{
	to[0] = (unsigned char)(n >> 8);
	to[1] = (unsigned char)n;
}

static inline void ldb_put32(unsigned char *to, uint32_t n)
{
	for (int i = 0; i < 4; i++)
		to[i] = (unsigned char)(n >> (24 - 8 * i));
}

static inline void ldb_put64(unsigned char *to, uint64_t n)
{
	for (int i = 0; i < 8; i++)
		to[i] = (unsigned char)(n >> (56 - 8 * i));
}

static inline uint16_t ldb_get16(const unsigned char *from)
{
	return (uint16_t)((unsigned)from[0] << 8 | from[1]);
}

static inline uint32_t ldb_get32(const unsigned char *from)
{
	uint32_t n = 0;

	for (int i = 0; i < 4; i++)
		n = n << 8 | from[i];
	return n;
}

static inline uint64_t ldb_get64(const unsigned char *from)
{
	uint64_t n = 0;

	for (int i = 0; i < 8; i++)
		n = n << 8 | from[i];
	return n;
}

static inline void ldb_put32le(unsigned char *to, uint32_t n)
{
	for (int i = 0; i < 4; i++)
		to[i] = (unsigned char)(n >> (8 * i));
}

static inline void ldb_put64le(unsigned char *to, uint64_t n)
{
	for (int i = 0; i < 8; i++)
		to[i] = (unsigned char)(n >> (8 * i));
}

static inline uint32_t ldb_get32le(const unsigned char *from)
{
	uint32_t n = 0;

	for (int i = 3; i >= 0; i--)
		n = n << 8 | from[i];
	return n;
}

static inline uint64_t ldb_get64le(const unsigned char *from)
{
	uint64_t n = 0;

	for (int i = 7; i >= 0; i--)
		n = n << 8 | from[i];
	return n;
}

/* What is left of bytes that are taken apart. */
struct ldb_rest {
	const unsigned char *data;
	size_t len;
};

/* A varint of LevelDB's, which *to is then. False: there is none of at most 64 bits. */
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

/* Bytes behind their length, a varint. False: there are less. */
static inline bool ldb_rest_text(struct ldb_rest *rest, struct ldb_rest *text)
{
	uint64_t len;

	if (!ldb_rest_varint(rest, &len) || len > rest->len)
		return false;
	*text = (struct ldb_rest){rest->data, (size_t)len};
	rest->data += len;
	rest->len -= (size_t)len;
	return true;
}

static inline size_t ldb_put_varint(unsigned char *to, uint64_t n)
{
	size_t len = 0;

	for (; n >= 0x80; n >>= 7)
		to[len++] = (unsigned char)(n | 0x80);
	to[len++] = (unsigned char)n;
	return len;
}

#endif
