/* SPDX-License-Identifier: MIT */
/* Big-endian numbers in bytes: the only form in which a number is stored. */
#ifndef WCS_LEVELDB_BYTES_H
#define WCS_LEVELDB_BYTES_H

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

#endif
