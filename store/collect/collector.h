/* SPDX-License-Identifier: MIT */
/*
 * The collector: deletes what policies hide, in a thread of its own. Private to store*.c.
 *
 * A pass goes through all tables, in slices, from where the one before it was when the store was
 * closed. What policies hide since less than the grace, because a policy changed or the clock
 * jumped, it leaves alone; a pass that somebody asked for does not.
 */
#ifndef WCS_COLLECTOR_H
#define WCS_COLLECTOR_H

#include "store/store.h"

/* Starts the thread of an open store. 0 or -ENOMEM. */
int collector_start(struct wcs_store *store);
/* Ends the slice under way and the thread; nobody may wait for a pass any more (wcs_gc_end). A
 * store that has no collector is left as it is. */
void collector_stop(struct wcs_store *store);

#endif
