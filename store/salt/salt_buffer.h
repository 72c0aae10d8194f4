/* SPDX-License-Identifier: MIT */
/*
 * A buffer: rows of one bucket, copied ahead. It is filled row by row and cell by cell, and then
 * read in the same order. Its memory grows up to a limit. Private to store/salt/.
 *
 * The first row is cut where it does not fit; a later one is left out. Large values are not copied.
 */
#ifndef WCS_SALT_BUFFER_H
#define WCS_SALT_BUFFER_H

#include "store/salt/salt.h"

/* Zero, but for most, is empty. */
struct salt_buffer {
	unsigned char *bytes;
	size_t most; /* bytes */
	size_t room, len;
	size_t start; /* of the row that is being copied */
	size_t last;  /* the start of the last row */
	size_t next;  /* the start of the row behind the present one */
	unsigned int rows;
	bool open;	      /* a row is being copied */
	bool cut;	      /* the only row lacks cells */
	bool failed;	      /* there was no memory */
	struct wcs_slice row; /* the key of the present row */
};

/* ---- Filling ---- */
void salt_buffer_clear(struct salt_buffer *buffer);
void salt_buffer_free(struct salt_buffer *buffer);
/* Begins a row. False: there is no room. */
bool salt_buffer_row(struct salt_buffer *buffer, struct wcs_slice key);
/* Adds a cell to the row. False: there is no room, and the row is cut or left out. */
bool salt_buffer_cell(struct salt_buffer *buffer, const struct wcs_cell *cell);
/* Ends the row, if there is one. */
void salt_buffer_end_row(struct salt_buffer *buffer);

/* ---- Reading ---- */
/* Makes the next row the present one, first the first. False: there is none. */
bool salt_buffer_next(struct salt_buffer *buffer);
/* The key of the last row; there is one. */
struct wcs_slice salt_buffer_last(const struct salt_buffer *buffer);

/* The place in the present row of a buffer. */
struct salt_buffer_reader {
	size_t at;
	size_t taken;	      /* cells */
	struct wcs_cell cell; /* the last one taken, without its row */
};
void salt_buffer_start(const struct salt_buffer *buffer, struct salt_buffer_reader *reader);
/* Takes the row's next cell, without its row. False: there is none in the buffer. */
bool salt_buffer_read(const struct salt_buffer *buffer, struct salt_buffer_reader *reader,
		      struct wcs_cell *cell);
/* Puts the reader before the row's first cell from that column on. False: the buffer has none. */
bool salt_buffer_enter(const struct salt_buffer *buffer, struct salt_buffer_reader *reader,
		       struct wcs_slice family, struct wcs_slice qualifier);

#endif
