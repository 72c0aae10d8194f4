/* SPDX-License-Identifier: MIT */
/*
 * Counts the distinct keys of a load in about 3 MiB: exactly up to DISTINCT_KEYS, beyond them from
 * a sample, with a standard error of 0.5 %. All zero is empty; the owner frees hashes.
 */
#ifndef DISTINCT_H
#define DISTINCT_H

#include "store/store.h"

#define DISTINCT_KEYS (64u << 10)

struct distinct {
	uint64_t *hashes;   /* a hash table of room places, a power of two; 0: a free one */
	size_t room, count; /* count: of hashes */
	unsigned int level; /* only hashes whose first `level` bits are zero are kept */
	bool failed;	    /* the number is not known */
};

void distinct_add(struct distinct *distinct, struct wcs_slice key);
/* Describes the number of keys: "3" or "about 3000000". Returns false if each of the rows has its
 * own key, as far as is known, or no key was added. */
bool distinct_text(const struct distinct *distinct, uint64_t rows, char text[static 32]);

#endif
