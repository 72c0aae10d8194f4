/* SPDX-License-Identifier: MIT */
/*
 * A buffer: rows of one bucket, copied ahead, cell by cell. Its memory grows up to a limit, which
 * only a single cell may exceed. Large values are not copied. Private to store/salt/.
 */
#ifndef WCS_SALT_BUFFER_H
#define WCS_SALT_BUFFER_H

#include "store/salt/salt.h"

struct salt_copy;

/* Zero, but for most, is empty. */
struct salt_buffer {
	size_t most; /* bytes */
	struct salt_copy *cells;
	size_t cells_room, count;
	unsigned char *bytes; /* of the cells' slices */
	size_t bytes_room, len;
	size_t last;	      /* index of the last row's first cell */
	size_t first, end;    /* the present row's cells, by index; none before salt_buffer_next */
	struct wcs_slice row; /* key of the present row */
};

void salt_buffer_clear(struct salt_buffer *buffer);
void salt_buffer_free(struct salt_buffer *buffer);
/* Adds a cell, which differs in its row from the cell before if it is the buffer's first. 1: added;
 * 0: there is no room; -ENOMEM. */
int salt_buffer_add(struct salt_buffer *buffer, const struct wcs_cell *cell);
/* Makes the next row the present one, first the first. False: there is none. */
bool salt_buffer_next(struct salt_buffer *buffer);
/* The cell at that index, but for its row. Its slices hold until the buffer is cleared. */
void salt_buffer_get(const struct salt_buffer *buffer, size_t index, struct wcs_cell *cell);

#endif
