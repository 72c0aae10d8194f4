/* SPDX-License-Identifier: MIT */
/*
 * A scan of several buckets: its state, and its next row. Private to store/salt/: see salt_merge.c.
 */
#ifndef WCS_SALT_MERGE_H
#define WCS_SALT_MERGE_H

#include "store/salt/salt_buffer.h"

enum {
	MERGE_MEMORY = 2 << 20,	 /* bytes of all buffers */
	MERGE_BUFFER = 64 << 10, /* bytes of one, at most */
	MERGE_FIRST = 8,	 /* rows of the first one, of a scan that reads whole rows */
	MERGE_ROWS = 1 << 16,	 /* of one, at most */
	MERGE_BOUND = WCS_ROW_KEY_MAX + 1,
};

/* The next row of a bucket. */
enum merge_state {
	MERGE_UNKNOWN, /* it is the first row from the scan's target on */
	MERGE_READY,   /* it is in the buffer */
	MERGE_DONE,    /* there is none */
	MERGE_EMPTY,   /* there is no row in the bucket at all */
};

struct merge_bucket {
	enum merge_state state;
	unsigned int number;
	bool last;	   /* no row is behind those of the buffer */
	unsigned int rows; /* that the buffer takes next time */
	struct salt_buffer buffer;
};

/* The source of the present row's cells. */
enum merge_row {
	MERGE_NONE,  /* no row is being given */
	MERGE_ROOT,  /* the buffer of the heap's root */
	MERGE_REST,  /* the engine, of the same row */
	MERGE_ALONE, /* the engine, of a row that was entered */
};

struct merge {
	struct wcs_scan base; /* over one of the engine, of all buckets */
	const struct wcs_keys *keys;
	_Atomic uint64_t *wrong_salt;
	enum wcs_each each;
	bool reverse;
	int state; /* 1: under way; else the result of every further call */

	enum merge_row from;
	struct salt_buffer_reader reader; /* of the row of the root */
	bool given;			  /* `cell` is the last one given */
	bool entering;			  /* the row and column below are next */
	bool hand;			  /* hand_cell is the engine's last, or its end */
	bool placed;			  /* there is a target */
	bool positioned;		  /* there is a position */
	bool passed;			  /* it is a row that was given to its end */
	bool unknown;			  /* buckets may be MERGE_UNKNOWN */
	enum wcs_part skip;		  /* the next cell differs in it; WCS_PART_TS: any cell */
	enum wcs_part differs;		  /* from the last cell given */
	struct wcs_cell cell, hand_cell;
	size_t hand_from, hand_at; /* places of buckets in the scan's order: where the engine's run
				    * began, and where it is; count: at the end */
	size_t place;		   /* of the present row's bucket */
	size_t heap_count, row_len, target_len, enter_len;
	struct wcs_slice column; /* to enter */
	char family[WCS_FAMILY_NAME_MAX + 1];
	/* The position: the present row, or the last one, or the last target if it came behind. The
	 * next row of each bucket is its first one from there on, or behind there. */
	unsigned char row[MERGE_BOUND];
	unsigned char target[MERGE_BOUND];    /* of the last seek */
	unsigned char bytes[MERGE_BOUND];     /* of a call of the engine */
	unsigned char enter[WCS_ROW_KEY_MAX]; /* the row to enter */
	unsigned char qualifier[WCS_QUALIFIER_MAX];

	size_t place_of[WCS_KEYS_BUCKETS_MAX];	   /* by number */
	unsigned short heap[WCS_KEYS_BUCKETS_MAX]; /* places */
	size_t count;
	struct merge_bucket buckets[]; /* in the scan's order */
};

static inline struct wcs_slice merge_row_key(const struct merge *merge)
{
	return (struct wcs_slice){merge->row, merge->row_len};
}

/* The order of two keys in the scan. */
static inline int merge_compare(const struct merge *merge, struct wcs_slice a, struct wcs_slice b)
{
	int order = wcs_slice_compare(a, b);

	return merge->reverse ? -order : order;
}

/* Does a seek to the target pass over the row? */
static inline bool merge_passes(const struct merge *merge, struct wcs_slice row,
				struct wcs_slice target)
{
	int order = wcs_slice_compare(row, target);

	return merge->reverse ? order >= 0 : order < 0;
}

/* The engine's next cell, which is not in hand then. 1, 0 or an error. */
int merge_step(struct merge *merge, struct wcs_cell *cell);
/* Keeps the engine's cell (NULL: its end) in hand. from: the place of the bucket where its run
 * began. */
void merge_take(struct merge *merge, size_t from, const struct wcs_cell *cell);

/* The buffer of the heap's root. */
static inline struct salt_buffer *merge_root(struct merge *merge)
{
	return &merge->buckets[merge->heap[0]].buffer;
}
/* Finds the next row of each bucket, and makes the heap of them. 0 or an error. */
int merge_make_heap(struct merge *merge);
/* Moves the root's bucket to its next row. 0 or an error. */
int merge_advance(struct merge *merge);

#endif
