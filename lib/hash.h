/* SPDX-License-Identifier: MIT */
/* FNV-1a, 64 bits (public domain). The last input bytes change few of its bits: pass it through
 * hash_mix to use the high ones. */
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

/* Spreads a hash over all its bits: the finalizer of MurmurHash3 (public domain), a bijection.
 * Sketches and samples depend on the result: it must never change. */
static inline uint64_t hash_mix(uint64_t hash)
{
	hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccdu;
	hash = (hash ^ hash >> 33) * 0xc4ceb9fe1a85ec53u;
	return hash ^ hash >> 33;
}

#endif
