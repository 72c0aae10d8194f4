/* SPDX-License-Identifier: MIT */
/* Numbers as bytes: put_be16(to, n) stores n at to, and get_be16(from) reads it; likewise others.
 */
#ifndef LIB_BYTES_H
#define LIB_BYTES_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

#define BYTES_NUMBER(order, bits)                                                                  \
	static inline void put_##order##bits(unsigned char *to, uint##bits##_t n)                  \
	{                                                                                          \
		n = hto##order##bits(n);                                                           \
		memcpy(to, &n, sizeof(n));                                                         \
	}                                                                                          \
	static inline uint##bits##_t get_##order##bits(const unsigned char *from)                  \
	{                                                                                          \
		uint##bits##_t n;                                                                  \
                                                                                                   \
		memcpy(&n, from, sizeof(n));                                                       \
		return order##bits##toh(n);                                                        \
	}
BYTES_NUMBER(be, 16)
BYTES_NUMBER(be, 32)
BYTES_NUMBER(be, 64)
BYTES_NUMBER(le, 32)
BYTES_NUMBER(le, 64)

#endif
