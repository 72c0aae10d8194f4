/* SPDX-License-Identifier: MIT */
/* Bytes eight at a time, as words of get_le64: the first byte in memory is the lowest. A mark is
 * the high bit of a byte. Marks behind the first one may be wrong. */
#ifndef LIB_WORDS_H
#define LIB_WORDS_H

#include <stddef.h>

#include "lib/bytes.h"

#define WORD_ONES 0x0101010101010101u
#define WORD_HIGH 0x8080808080808080u

/* Marks the bytes below n, which is at most 0x80. */
static inline uint64_t word_below(uint64_t word, unsigned char n)
{
	return (word - WORD_ONES * n) & ~word & WORD_HIGH;
}

static inline uint64_t word_equal(uint64_t word, unsigned char byte)
{
	return word_below(word ^ (WORD_ONES * byte), 1);
}

/* The number of bytes before the first one that is not 0, of marks: before the first mark. */
static inline size_t word_first(uint64_t word)
{
	return (size_t)__builtin_ctzll(word) / 8;
}

#endif
