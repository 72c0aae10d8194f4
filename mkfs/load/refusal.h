/* SPDX-License-Identifier: MIT */
/*
 * Finds the reason of a refused write to a control file in the mount's /.rowfs/errors. That list
 * has the errors of all processes without their names, so an entry counts only if no other write
 * can have caused it.
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

/* Call before the write. */
void refusal_begin(struct refusal *refusal);
/* Call after the failed write. */
void refusal_end(struct refusal *refusal);

/* Does every write that fails with this error leave an entry? No, if the kernel returns it, too. */
bool refusal_is_told(int rc);

/* Looks for the entry of a write that has begun as above and failed with an error that is told;
 * path is that of the file, from the mount's root on. True: why is its reason, first and last its
 * line. False: the list cannot be read, or does not say; where several entries may be the one,
 * first and last become the range of these. */
bool refusal_find(struct refusal *refusal, const char *root, const char *path);

#endif
