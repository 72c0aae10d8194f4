/* SPDX-License-Identifier: MIT */
/* CRC-32C, as the engine's files and a store's marker have it. Private to store/. */
#ifndef WCS_CRC_H
#define WCS_CRC_H

#include <stddef.h>
#include <stdint.h>

/* Returns the checksum of earlier bytes followed by data; crc is the checksum of the earlier bytes,
 * 0 if there are none. Any thread. */
uint32_t wcs_crc_extend(uint32_t crc, const void *data, size_t len);
/* The same in portable C, for processors without the CRC instruction. */
uint32_t wcs_crc_extend_plain(uint32_t crc, const void *data, size_t len);

/* Masks a checksum as LevelDB's files store it, so that a checksum over bytes with embedded
 * checksums never covers their plain form. */
static inline uint32_t wcs_crc_mask(uint32_t crc)
{
	return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

#endif
