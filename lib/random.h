/* SPDX-License-Identifier: MIT */
/* Random numbers for samples: fast, repeatable, and no secret. */
#ifndef LIB_RANDOM_H
#define LIB_RANDOM_H

#include <stdint.h>

/* The next number, of 64 bits, of which the high ones are the better: xorshift64* (Vigna, "An
 * experimental exploration of Marsaglia's xorshift generators", 2016). *state is the caller's, and
 * begins with any number but 0. */
static inline uint64_t random_next(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	*state = x;
	return x * UINT64_C(0x2545f4914f6cdd1d);
}

#endif
