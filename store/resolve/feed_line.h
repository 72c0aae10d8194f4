/* SPDX-License-Identifier: MIT */
/* A line of a feed of changes, in memory. Private to this room; rows.h has its public calls. */
#ifndef WCS_FEED_LINE_H
#define WCS_FEED_LINE_H

#include <stdatomic.h>

#include "store/json/row_json_write.h"
#include "store/rows.h"

struct feed_value {
	size_t at; /* its place in the text */
	struct wcs_value *value;
	_Atomic enum wcs_row_text text; /* its first reader finds it out */
};

struct wcs_change {
	atomic_size_t holders;
	struct wcs_text text;
	struct feed_value *values; /* the large ones, in order */
	size_t value_count, value_room;
	uint64_t size; /* of these values */
	bool keyed;
	size_t key_len;
	unsigned char key[];
};

/* An empty line about that key. NULL: no memory. */
struct wcs_change *feed_line_new(struct wcs_slice key);

#endif
