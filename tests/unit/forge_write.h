/* SPDX-License-Identifier: MIT */
/* Writes files in LevelDB's formats. Each returns 0 or a negative errno. */
#ifndef TEST_FORGE_WRITE_H
#define TEST_FORGE_WRITE_H

#include <stddef.h>
#include <stdint.h>

/* Appends a record to a log or MANIFEST at *at, its length, and advances *at. */
int write_record(int fd, uint64_t *at, const void *data, size_t len);
/* Writes the entries of a table to a new one, `to`, without compression and filter. */
int write_table(int dir, const char *from, const char *to, uint64_t *size);

/* Writes a varint of LevelDB. Returns its length, at most 10. */
static inline size_t write_varint(unsigned char *to, uint64_t n)
{
	size_t len = 0;

	for (; n >= 0x80; n >>= 7)
		to[len++] = (unsigned char)(n | 0x80);
	to[len++] = (unsigned char)n;
	return len;
}

#endif
