/* SPDX-License-Identifier: MIT */
/* FNV-1a, 64 bits (public domain). Its high bits are poor: a user of those mixes them. */
#ifndef LIB_HASH_H
#define LIB_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HASH_START UINT64_C(0xcbf29ce484222325) /* the hash of no bytes */

/* Continues a hash (HASH_START, or any seed) with len bytes. Stored inode numbers and sketches
 * depend on the result: it must never change. */
static inline uint64_t hash_bytes(uint64_t hash, const void *data, size_t len)
{
	const unsigned char *byte = data;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ byte[i]) * 0x100000001b3u;
	return hash;
}

#endif
