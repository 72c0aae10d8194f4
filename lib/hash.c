/* SPDX-License-Identifier: MIT */
/* FNV-1a. */
#include "lib/hash.h"

uint64_t hash_bytes(uint64_t hash, const void *data, size_t len)
{
	const unsigned char *byte = data;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ byte[i]) * 0x100000001b3u;
	return hash;
}
