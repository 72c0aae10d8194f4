/* SPDX-License-Identifier: MIT */
/* CRC-32C, as the engine's files and a store's marker have it. Private to store/. */
#ifndef WCS_CRC_H
#define WCS_CRC_H

#include <stddef.h>
#include <stdint.h>

/* Of bytes behind others of which the checksum is crc; 0: behind none. Any thread. */
uint32_t wcs_crc_extend(uint32_t crc, const void *data, size_t len);
/* The same without the processor's instruction for it. */
uint32_t wcs_crc_extend_plain(uint32_t crc, const void *data, size_t len);

/* A checksum as the engine's files spell it: no checksum then covers bytes that hold checksums. */
static inline uint32_t wcs_crc_mask(uint32_t crc)
{
	return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

#endif
