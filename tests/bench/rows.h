/* SPDX-License-Identifier: MIT */
/* The rows of the table of ratios: what is done, how often, and by whom besides rowfs. */
#ifndef BENCH_ROWS_H
#define BENCH_ROWS_H

#include "tests/bench/client.h"
#include "tests/bench/peer.h"
#include "tests/bench/raw.h"

enum { ROWS_RAW = PEER_MOUNTS, ROWS_PEERS }; /* behind the peers that are mounted */

enum rows_start {
	ROWS_COLD, /* the kernel has no names, attributes and pages of it */
	ROWS_WARM, /* the same was done just before */
	ROWS_NEW   /* it is done with what is not there yet */
};

/* How much one size of the table is. */
struct rows_size {
	struct tree tree;
	uint32_t ops;  /* on single files of c */
	uint32_t made; /* files that are made, one by one or by tar */
};

struct rows_row {
	const char *what;
	const char *unit;
	const char *aim;
	bool peers[ROWS_PEERS];
	enum rows_start start;
	unsigned int clients;
	uint32_t (*many)(const struct rows_size *size);	 /* how much there is */
	uint32_t (*units)(const struct rows_size *size); /* what is done, by all clients together */
	void (*work)(const struct client *client);
	void (*raw)(struct raw *raw, const struct rows_size *size, unsigned int round);
};

extern const struct rows_row rows_all[];
extern const unsigned int rows_count;

#endif
