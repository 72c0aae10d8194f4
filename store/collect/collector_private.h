/* SPDX-License-Identifier: MIT */
/* Shared by collector*.c only. */
#ifndef WCS_COLLECTOR_PRIVATE_H
#define WCS_COLLECTOR_PRIVATE_H

#include "store/collect/collector.h"
#include "store/collect/grace.h"
#include "store/table/table.h"

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
	struct wcs_gc_status status;

	/* The thread's own. */
	bool fast;
	char table[WCS_TABLE_NAME_MAX + 1]; /* the pass is there; "": at the start */
	struct wcs_collect slice;
	struct grace grace;
	int64_t stored;	    /* when the place was stored, by the monotonic clock */
	int64_t last_start; /* of the last pass, by the same */
	uint64_t left;	    /* families that the pass spares */
	int failed;	    /* the first error of a table of the pass */
};

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
