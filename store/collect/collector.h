/* SPDX-License-Identifier: MIT */
/*
 * The collector: a thread that deletes hidden cells. Private to store/.
 *
 * A pass goes through all tables in slices, from the place at which the store was closed. It spares
 * cells in their grace, unless the pass was requested.
 */
#ifndef WCS_COLLECTOR_H
#define WCS_COLLECTOR_H

#include "store/store.h"

/* Starts the thread of an open store. 0 or -ENOMEM. */
int collector_start(struct wcs_store *store);
/* Ends the slice under way and joins the thread. No thread may wait in wcs_gc_run. The store may
 * have no collector. */
void collector_stop(struct wcs_store *store);

#endif
