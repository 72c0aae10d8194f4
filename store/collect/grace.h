/* SPDX-License-Identifier: MIT */
/*
 * The grace: for a while the collector spares the cells that a changed policy hides, and all cells
 * after the clock jumped by more than a day. Private to the collector's thread.
 *
 * The clock jumped if CLOCK_REALTIME - CLOCK_MONOTONIC changed by more than a day since the last
 * look, or if it is more than a day away from the time when the store was last open.
 */
#ifndef WCS_GRACE_H
#define WCS_GRACE_H

#include "lib/clock.h"
#include "store/store.h"

#define GRACE_SECOND INT64_C(1000000)

struct grace {
	int64_t length; /* microseconds; 0: there is none */
	int64_t offset; /* the clock less the monotonic one, at the last look */
	int64_t jumped; /* when the clock jumped, by the monotonic one; 0: it did not */
};

/* The monotonic clock in microseconds. */
static inline int64_t grace_steady(void)
{
	return clock_ns() / 1000;
}

/* Starts the grace; now is the present by the clock, here and below. */
void grace_init(struct grace *grace, int64_t length, int64_t now);
/* The store was last open when the clock said so. */
void grace_since(struct grace *grace, int64_t last, int64_t now);
/* Looks at the clock. Has it jumped since the last look? */
bool grace_look(struct grace *grace, int64_t now);
/* Must the collector spare the cells that this family's policy hides? */
bool grace_covers(const struct grace *grace, const struct wcs_family *family, int64_t now);

#endif
