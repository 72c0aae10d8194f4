/* SPDX-License-Identifier: MIT */
/*
 * CRC-32C (polynomial 0x1EDC6F41, reflected), eight bytes at a time: with the processor's
 * instruction for it, or with tables, where table[k][b] is the checksum of the byte b with k zero
 * bytes behind it.
 */
#include "store/disk/crc.h"

#include <pthread.h>
#include <string.h>
#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

static uint32_t crc_table[8][256];
static pthread_once_t crc_made = PTHREAD_ONCE_INIT;

static void crc_make(void)
{
	for (uint32_t byte = 0; byte < 256; byte++) {
		uint32_t crc = byte;

		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
		crc_table[0][byte] = crc;
	}
	for (int k = 1; k < 8; k++)
		for (int byte = 0; byte < 256; byte++)
			crc_table[k][byte] = crc_table[k - 1][byte] >> 8 ^
					     crc_table[0][crc_table[k - 1][byte] & 0xff];
}

uint32_t wcs_crc_extend_plain(uint32_t crc, const void *data, size_t len)
{
	const unsigned char *at = data;

	pthread_once(&crc_made, crc_make);
	crc = ~crc;
	for (; len >= 8; len -= 8, at += 8)
		crc = crc_table[7][(crc ^ at[0]) & 0xff] ^ crc_table[6][(crc >> 8 ^ at[1]) & 0xff] ^
		      crc_table[5][(crc >> 16 ^ at[2]) & 0xff] ^
		      crc_table[4][(crc >> 24 ^ at[3]) & 0xff] ^ crc_table[3][at[4]] ^
		      crc_table[2][at[5]] ^ crc_table[1][at[6]] ^ crc_table[0][at[7]];
	while (len-- > 0)
		crc = crc >> 8 ^ crc_table[0][(crc ^ *at++) & 0xff];
	return ~crc;
}

#if defined(__x86_64__)

__attribute__((target("sse4.2"))) static uint32_t crc_extend_fast(uint32_t crc, const void *data,
								  size_t len)
{
	const unsigned char *at = data;
	uint64_t sum = ~crc, word;

	for (; len >= 8; len -= 8, at += 8) {
		memcpy(&word, at, 8);
		sum = _mm_crc32_u64(sum, word);
	}
	while (len-- > 0)
		sum = _mm_crc32_u8((uint32_t)sum, *at++);
	return ~(uint32_t)sum;
}

#endif

uint32_t wcs_crc_extend(uint32_t crc, const void *data, size_t len)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("sse4.2"))
		return crc_extend_fast(crc, data, len);
#endif
	return wcs_crc_extend_plain(crc, data, len);
}
