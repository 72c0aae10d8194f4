/* SPDX-License-Identifier: MIT */
/* The rows of the table of ratios: the work, how often it is done, and by which peers besides
 * rowfs. */
#ifndef BENCH_ROWS_H
#define BENCH_ROWS_H

#include "tests/bench/client.h"
#include "tests/bench/peer.h"
#include "tests/bench/raw.h"

enum { ROWS_RAW = PEER_MOUNTS, ROWS_PEERS }; /* behind the peers that are mounted */

enum rows_start {
	ROWS_COLD, /* the kernel has no names, attributes and pages of it */
	ROWS_WARM, /* the same was done just before */
	ROWS_NEW   /* the work is done on files that do not exist yet */
};

/* How much one size of the table is. */
struct rows_size {
	struct tree tree;
	uint32_t ops;			  /* on single files of c */
	uint32_t made;			  /* files that are made, one by one or by tar */
	uint32_t segments, cells, firsts; /* of d; of l and e; listings that are begun */
	uint32_t large_kib, big_mib;	  /* of a cell */
};

struct rows_row {
	const char *what;
	const char *unit;
	const char *aim;
	bool peers[ROWS_PEERS];
	enum rows_start start;
	unsigned int clients;
	size_t many, units; /* members of struct rows_size: the size of the whole; the work of all
			       clients */
	const char *path;   /* the directory that is listed */
	void (*work)(const struct client *client);
	void (*raw)(struct raw *raw, const struct rows_row *row, const struct rows_size *size,
		    unsigned int round);
};

uint32_t rows_number(const struct rows_size *size, size_t member);

extern const struct rows_row rows_all[];
extern const unsigned int rows_count;

#endif
