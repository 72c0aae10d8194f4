/* SPDX-License-Identifier: MIT */
/* Snappy, the compression of LevelDB's blocks: decoding only. */
#ifndef WCS_LEVELDB_SNAPPY_H
#define WCS_LEVELDB_SNAPPY_H

#include <stddef.h>

/* How many bytes it decodes to. -EIO: not Snappy, or more than any bytes of that length can. */
int ldb_snappy_size(const unsigned char *data, size_t len, size_t *size);
/* to has room for just that many, NULL for none. -EIO: it does not decode. */
int ldb_snappy_decode(const unsigned char *data, size_t len, unsigned char *to, size_t size);

#endif
