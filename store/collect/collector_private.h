/* SPDX-License-Identifier: MIT */
/* Shared by the files of this room only. */
#ifndef WCS_COLLECTOR_PRIVATE_H
#define WCS_COLLECTOR_PRIVATE_H

#include "lib/clock.h"
#include "store/collect/collector.h"
#include "store/table/table.h"

/* ---- grace.c ---- */
/*
 * The grace: for a while the collector spares the cells that a changed policy hides, and all cells
 * after the clock jumped by more than a day. Private to the collector's thread.
 *
 * The clock jumped if CLOCK_REALTIME - CLOCK_MONOTONIC changed by more than a day since the last
 * look, or if it is more than a day away from the time when the store was last open.
 */

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

/* The store was last open when the clock said so. now: the present by the clock, here and below. */
void grace_since(struct grace *grace, int64_t last, int64_t now);
/* Looks at the clock. Has it jumped since the last look? */
bool grace_look(struct grace *grace, int64_t now);
/* Must the collector spare the cells that this family's policy hides? */
bool grace_covers(const struct grace *grace, const struct wcs_family *family, int64_t now);

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
	struct wcs_slice row; /* the key of the row at its place */
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
