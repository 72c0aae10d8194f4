/* SPDX-License-Identifier: MIT */
/*
 * A chunk: rows of one bucket, copied ahead. It is filled row by row and cell by cell, and then
 * read in the same order. Its memory grows up to a limit. Private to store/salt/.
 *
 * The first row is cut where it does not fit; a later one is left out. Large values are not copied.
 */
#ifndef WCS_SALT_CHUNK_H
#define WCS_SALT_CHUNK_H

#include "store/salt/salt.h"

/* Zero, but for most, is empty. */
struct salt_chunk {
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

static inline bool salt_chunk_is_cut(const struct salt_chunk *chunk)
{
	return chunk->cut;
}

/* ---- Filling ---- */
void salt_chunk_clear(struct salt_chunk *chunk);
void salt_chunk_free(struct salt_chunk *chunk);
/* Begins a row. False: there is no room. */
bool salt_chunk_row(struct salt_chunk *chunk, struct wcs_slice key);
/* Adds a cell to the row. False: there is no room, and the row is cut or left out. */
bool salt_chunk_cell(struct salt_chunk *chunk, const struct wcs_cell *cell);
/* Ends the row, if there is one. */
void salt_chunk_end_row(struct salt_chunk *chunk);

/* ---- Reading ---- */
/* Makes the next row the present one, first the first. False: there is none. */
bool salt_chunk_next(struct salt_chunk *chunk);
/* The key of the last row; there is one. */
struct wcs_slice salt_chunk_last(const struct salt_chunk *chunk);

/* The place in the present row of a chunk. */
struct salt_chunk_reader {
	size_t at;
	size_t taken;	      /* cells */
	struct wcs_cell cell; /* the last one taken, without its row */
};
void salt_chunk_start(const struct salt_chunk *chunk, struct salt_chunk_reader *reader);
/* Takes the row's next cell, without its row. False: there is none in the chunk. */
bool salt_chunk_read(const struct salt_chunk *chunk, struct salt_chunk_reader *reader,
		     struct wcs_cell *cell);
/* Puts the reader before the row's first cell from that column on. False: the chunk has none. */
bool salt_chunk_enter(const struct salt_chunk *chunk, struct salt_chunk_reader *reader,
		      struct wcs_slice family, struct wcs_slice qualifier);

#endif
