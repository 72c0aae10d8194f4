/* SPDX-License-Identifier: MIT */
/*
 * Counting for the heat map. Private to store/. Any thread; a call takes the lock of the thread's
 * shard for a moment. Without a heat map a call costs one comparison.
 */
#ifndef WCS_HEAT_COUNT_H
#define WCS_HEAT_COUNT_H

#include "lib/clock.h"
#include "store/table/table.h"

/* Starts counting of an open store as its options say. -ENOMEM. */
int heat_start(struct wcs_store *store);
/* Folds the last counts and ends the thread. The store may count nothing. */
void heat_stop(struct wcs_store *store);

extern _Thread_local bool heat_looks; /* this thread's reads are no traffic */

/* When a get or mutation begins, by clock_ns; 0: the store does not count. */
static inline int64_t heat_begin(const struct wcs_table *table)
{
	return table->store->heat != NULL ? clock_ns() : 0;
}
/* A get or a move that began then read a row, or wrote so many of its cells; keys NULL: row is the
 * stored key. */
void heat_count_cells(struct wcs_table *table, const struct wcs_keys *keys, struct wcs_slice row,
		      unsigned int reads, unsigned int writes, int64_t began);
/* Mutations were applied, in one call. */
void heat_count_mutations(struct wcs_table *table, const struct wcs_entry *entries, size_t count,
			  int64_t began);

/* The rows of a scan that are not counted yet: they are in one range. */
struct heat_scan {
	uint64_t rows;
	uint64_t left;	 /* further ones up to the one that is offered */
	uint64_t weight; /* the rows that it is offered for; 0: none was chosen yet */
	uint64_t axis;	 /* the number of the axis with the range at that index */
	size_t range;
	struct wcs_slice start, end; /* of the range, in bytes; end.data NULL: the table's */
	unsigned char bytes[2][WCS_ROW_KEY_MAX + 1];
};
/* A scan, which one thread uses at a time, read another row; keys as above. */
void heat_count_scanned(struct wcs_scan *scan, const struct wcs_keys *keys, struct wcs_slice row);
static inline void heat_count_row(struct wcs_scan *scan, const struct wcs_keys *keys,
				  struct wcs_slice row)
{
	if (scan->table->store->heat != NULL && !heat_looks)
		heat_count_scanned(scan, keys, row);
}
/* The scan is closed. */
void heat_count_close(struct wcs_scan *scan);

#endif
