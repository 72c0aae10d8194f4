/* SPDX-License-Identifier: MIT */
/*
 * The heat map of a table: how often the rows of its key ranges are read and written, by time.
 *
 * A store opened with wcs_options.heat counts the rows that gets, scans and listings read, and the
 * cells and value bytes that mutations write, in fixed memory. Once a minute a thread folds the
 * counts into records, which the engine keeps if it is local and takes them, else memory does, in a
 * shorter form and until the store is closed. Not counted are gets of cells that do not exist,
 * wcs_key_get, drops, reads that only look (wcs_heat_look), and requests that the kernel answers
 * from its caches.
 *
 * Ranges are of stored keys (with their salt), because the store's load lies in their order.
 */
#ifndef WCS_HEAT_H
#define WCS_HEAT_H

#include "store/store.h"

enum wcs_heat_metric {
	WCS_HEAT_OPS,	  /* rows read and cells written */
	WCS_HEAT_READS,	  /* rows */
	WCS_HEAT_WRITES,  /* cells */
	WCS_HEAT_BYTES,	  /* of values written */
	WCS_HEAT_LATENCY, /* mean microseconds of a get or a mutation in the store */
	WCS_HEAT_METRICS,
};

enum wcs_heat_window {
	WCS_HEAT_6H,  /* a column a minute */
	WCS_HEAT_4D,  /* ten minutes */
	WCS_HEAT_28D, /* an hour */
	WCS_HEAT_WINDOWS,
};

#define WCS_HEAT_ROWS_MAX 1000u /* ranges of a map */

/* A range of stored keys. */
struct wcs_heat_range {
	struct wcs_slice start; /* empty: the table's first row */
	struct wcs_slice end;	/* not in it; data NULL: behind the table's last row */
	bool row;		/* it holds one row, which is hot: end is start and a NUL byte */
	uint64_t total;		/* of the range's values; of WCS_HEAT_LATENCY the mean */
};

struct wcs_heat_map {
	enum wcs_heat_window window;
	enum wcs_heat_metric metric;
	unsigned char delimiter; /* of the table's keys */
	int64_t start;		 /* of the first column, microseconds since 1970; a multiple of the
				  * window's step */
	int64_t step;		 /* of a column, microseconds; the last one may be under way */
	int64_t counting; /* the first moment known to be counted in the window; before it, and
			   * while no process counted, values are 0 because nothing counted */
	size_t columns;
	size_t rows;		       /* 1 or more: together they are all keys, ascending */
	struct wcs_heat_range *ranges; /* rows of them */
	uint64_t *values;	       /* of range r in column c: values[r * columns + c] */
	uint64_t total, largest;       /* sum (of latency: mean) and largest of the values */
};

/*
 * Makes the map of a table as of now. Neighbouring ranges and columns are joined until there are at
 * most so many (0: WCS_HEAT_ROWS_MAX, and one column for each step of the window). A column's
 * values are sums of its time; those of latency are means. A range's counts of a time when its
 * bounds were others are divided among the ranges that it covered, so they are about right.
 * -EOPNOTSUPP: the store does not count; -EINTR; -ENOMEM. Any thread; the caller frees it.
 */
int wcs_heat_map(struct wcs_table *table, enum wcs_heat_window window, enum wcs_heat_metric metric,
		 size_t rows_max, size_t columns_max, struct wcs_heat_map **map);
/* From true to false, the calling thread's reads are no traffic: a lookup, or attributes. Scans
 * that it opens meanwhile must be closed before. */
void wcs_heat_look(bool looks);
/* Counts a row as read that an uncounted scan gave; raw: row is a stored key. Any thread. */
void wcs_heat_row(struct wcs_table *table, bool raw, struct wcs_slice row);
/* Records the counts since the last fold, as the store's thread does every minute. A failed
 * write is no error: memory has the record then. -EOPNOTSUPP; -ENOMEM: counts are lost. Any thread.
 */
int wcs_heat_fold(struct wcs_store *store);
void wcs_heat_map_free(struct wcs_heat_map *map);

#endif
