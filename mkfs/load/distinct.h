/* SPDX-License-Identifier: MIT */
/*
 * Counts the distinct keys of a load in about 3 MiB: exactly up to DISTINCT_KEYS, beyond them from
 * a sample, with a standard error of 0.5 %. A row counts when it is applied; rows are applied in
 * the order in which they are given. All zero is empty; the owner frees hashes and waiting.
 */
#ifndef DISTINCT_H
#define DISTINCT_H

#include "store/store.h"

#define DISTINCT_KEYS (64u << 10)

struct distinct {
	uint64_t *hashes;   /* a hash table of room places, a power of two; 0: a free one */
	size_t room, count; /* count: of hashes */
	unsigned int level; /* only hashes whose first `level` bits are zero are kept */
	bool failed;	    /* there was no memory */
	uint64_t *waiting;  /* hashes of rows that are not applied */
	size_t waits, waiting_room;
	uint64_t applied; /* rows that are counted */
};

/* A row with that key is given to a sink, which has applied so many rows. */
void distinct_add(struct distinct *distinct, struct wcs_slice key, uint64_t applied);
/* So many rows are applied; the others never will be. */
void distinct_settle(struct distinct *distinct, uint64_t applied);

/* Describes the number of keys: "3" or "about 3000000". Returns false if each row has its own key,
 * as far as is known. */
bool distinct_text(const struct distinct *distinct, char text[static 32]);

#endif
