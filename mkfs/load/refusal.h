/* SPDX-License-Identifier: MIT */
/*
 * Why a mount refused a write to one of its control files, as /.rowfs/errors tells it. That list is
 * of all who write there and of all times, and its entries do not say whose they are; so one counts
 * only where it can be that of the write alone.
 */
#ifndef REFUSAL_H
#define REFUSAL_H

#include <stdbool.h>
#include <stdint.h>

struct refusal {
	char since[48];	      /* when the write began, as entries have it */
	char until[48];	      /* when it failed */
	uint64_t first, last; /* lines of the file that it may be of; an entry without one has 0 */
	char why[512];
};

/* A write is to begin. */
void refusal_begin(struct refusal *refusal);
/* It has failed. */
void refusal_end(struct refusal *refusal);

/* Gives each failed write of this error an entry? Where it may as well be the kernel's own, no. */
bool refusal_is_told(int error);

/* Looks for the entry of a write that has begun as above and failed with an error that is told;
 * path is that of the file, from the mount's root on. True: why is its reason, first and last its
 * line. False: the list cannot be read, or does not say; where several entries may be the one,
 * first and last become the range of these. */
bool refusal_find(struct refusal *refusal, const char *root, const char *path);

#endif
