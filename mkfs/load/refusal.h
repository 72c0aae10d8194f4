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

#define REFUSAL_TIME 48 /* bytes of a time as entries have it */

struct refusal {
	char since[REFUSAL_TIME]; /* when the write began */
	char until[REFUSAL_TIME]; /* when it failed */
	uint64_t first, last;	  /* its lines of the file; an entry without a line has 0 */
	char why[512];
};

/* The present time. */
void refusal_now(char text[REFUSAL_TIME]);

/* Does every write that fails with this error leave an entry? No, if the kernel returns it, too. */
bool refusal_is_told(int rc);

/* Looks for the entry of a write that failed with an error that is told; since, until, first and
 * last describe the write. path is that of the file, from the mount's root on. True: why is the
 * reason, first and last the line. False: no single entry fits; if several do, first and last
 * become their range. */
bool refusal_find(struct refusal *refusal, const char *root, const char *path);

#endif
