/* SPDX-License-Identifier: MIT */
/* Shared by the files of this room only. */
#ifndef WCS_COLLECTOR_PRIVATE_H
#define WCS_COLLECTOR_PRIVATE_H

#include "lib/clock.h"
#include "store/collect/collector.h"
#include "store/table/table.h"

#define COLLECTOR_SECOND INT64_C(1000000)

struct wcs_collector {
	struct wcs_store *store;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake; /* for the thread: a field below changed */
	pthread_cond_t done; /* for callers of wcs_gc_run */
	bool stop;	     /* Lock: lock, as all below */
	bool paused;
	bool halted;	  /* the store takes no more writes: no pass but those asked for */
	uint64_t asked;	  /* passes that were asked for */
	uint64_t granted; /* of these, done, or given up with `error` */
	int error;
	struct wcs_gc_status status; /* written by the thread, which reads it without the lock */

	/* The thread's own. Times are of the monotonic clock, in microseconds. */
	bool fast;
	struct wcs_collect slice; /* its place is in status.table; its counts are of the session */
	uint64_t before;	  /* cells that were collected before this pass */
	uint64_t left;		  /* families that the pass spares */
	int failed;		  /* the first error of a table of the pass */
	int64_t stored;		  /* when the place was stored */
	int64_t last_start;	  /* of the last pass */
	/*
	 * The grace: for a while the collector spares the cells that a changed policy hides, and
	 * all cells after the clock jumped by more than a day. The clock jumped if
	 * CLOCK_REALTIME - CLOCK_MONOTONIC changed by more than a day since the last look, or if it
	 * is more than a day away from the time when the store was last open.
	 */
	int64_t offset; /* the clock less the monotonic one, at the last look */
	int64_t jumped; /* when the clock jumped; 0: it did not */
};

static inline int64_t collector_steady(void)
{
	return clock_ns() / 1000;
}

/* ---- collector_pass.c ---- */
/* Sleeps until then, or until `wake` is signalled. The caller holds the lock. */
void collector_sleep(struct wcs_collector *collector, int64_t microseconds);
/* Stores where the pass is; at the start it is read again. */
void collector_store_place(struct wcs_collector *collector);
void collector_load_place(struct wcs_collector *collector);
/* Goes through all tables from the place on. 0: it is complete; 1: it was interrupted; or the first
 * error. The caller does not hold the lock. */
int collector_pass(struct wcs_collector *collector);

#endif
