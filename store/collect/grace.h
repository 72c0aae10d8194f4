/* SPDX-License-Identifier: MIT */
/*
 * What the collector leaves alone for a while: what a policy hides that was changed, and, since the
 * clock jumped by more than a day, what any policy hides. Private to store/.
 *
 * The clock is compared with one that never jumps: where the difference between the two changed by
 * more than a day since the last look, or the clock is a day away from when the store was last
 * open, it jumped. All of it belongs to one thread.
 */
#ifndef WCS_GRACE_H
#define WCS_GRACE_H

#include "lib/clock.h"
#include "store/store.h"

#define GRACE_SECOND INT64_C(1000000)

struct grace {
	int64_t length; /* microseconds; 0: there is none */
	int64_t offset; /* the clock less the one that never jumps, at the last look */
	int64_t jumped; /* when the clock jumped, by the one that never does; 0: it did not */
};

/* The monotonic clock in microseconds. */
static inline int64_t grace_steady(void)
{
	return clock_ns() / 1000;
}

/* now: what the clock says. */
void grace_init(struct grace *grace, int64_t length, int64_t now);
/* The store was last open when the clock said so. */
void grace_since(struct grace *grace, int64_t last, int64_t now);
/* Looks at the clock. True: it jumped since the last look. */
bool grace_look(struct grace *grace, int64_t now);
/* Is what that family's policy hides to be left alone? */
bool grace_covers(const struct grace *grace, const struct wcs_family *family, int64_t now);

#endif
