/* SPDX-License-Identifier: MIT */
/* Cells as text: row objects in JSON, row keys, values in pieces. Private. */
#ifndef WCS_ROW_JSON_WRITE_H
#define WCS_ROW_JSON_WRITE_H

#include "store/keys/keys.h"

/* The most bytes that a call writes: before a value (a byte of a name becomes three), and of len
 * bytes of a value (a byte becomes six). */
#define WCS_ROW_WRITE_HEAD                                                                         \
	(2 * WCS_KEYS_TEXT_MAX(WCS_ROW_KEY_MAX) + 3u * WCS_QUALIFIER_MAX + WCS_FAMILY_NAME_MAX +   \
	 256u)
#define WCS_ROW_WRITE_VALUE(len) (6u * (size_t)(len) + 8u)

/*
 * Writes the cells of rows, in the order of a scan, as lines of JSON. The caller provides the room
 * behind `to`, which every call advances. All zero: nothing is written yet.
 */
struct wcs_row_writer {
	const struct wcs_keys *keys; /* the design of the table whose keys are shown; NULL: none */
	unsigned char *to;	     /* set by wcs_row_write_to */
	const unsigned char *from;   /* start of the line's part in the room */
	uint64_t passed;	     /* bytes of the line before that part */
	uint64_t line_max;  /* a line of more bytes ends before the next cell; 0: with its row */
	uint64_t row_bytes; /* of the row's values so far */
	bool in_row;
	bool opened;		   /* wcs_row_write_open began the line */
	unsigned char ts_text[24]; /* of the last cell, with a comma */
	size_t ts_len;
	int64_t ts;
};

/* The bytes that it writes before the value of that cell, at most. */
static inline size_t wcs_row_write_head(const struct wcs_row_writer *writer,
					const struct wcs_cell *cell)
{
	size_t key = writer->keys ? 2 * WCS_KEYS_TEXT_MAX(cell->row.len) : 3 * cell->row.len;

	return key + 3 * cell->qualifier.len + cell->family.len + 256;
}

/* Moves `to` to the start of a room. */
void wcs_row_write_to(struct wcs_row_writer *writer, unsigned char *room);

/* Writes the part before the cell's value, `{"ts":T,`; before it the row, family and qualifier from
 * the part on that differs from the last cell's, and all three on a new line. Needs
 * wcs_row_write_head bytes of room. Returns whether it began a family. */
bool wcs_row_write_cell(struct wcs_row_writer *writer, const struct wcs_cell *cell,
			enum wcs_part differs);

/* Begins a line with its row's key, `{"key":K`, behind which the caller may write members. The next
 * wcs_row_write_cell, of that row, or wcs_row_write_finish goes on. Needs wcs_row_write_head bytes.
 */
void wcs_row_write_open(struct wcs_row_writer *writer, struct wcs_slice row);
/* Writes a qualifier as a JSON string. Needs 3 bytes for each byte, and 16. */
void wcs_row_write_name(struct wcs_row_writer *writer, struct wcs_slice qualifier);

/* Writes a whole value of a family of that type (no inthll), and closes its cell. Needs
 * WCS_ROW_WRITE_VALUE + 16. */
void wcs_row_write_value(struct wcs_row_writer *writer, struct wcs_slice value, enum wcs_type type);

/* Writes the estimate and the state of an inthll, and closes its cell. Needs WCS_ROW_WRITE_VALUE
 * + 64.
 */
void wcs_row_write_state(struct wcs_row_writer *writer, int64_t estimate, struct wcs_slice state);

/* A value that is read and written in pieces, twice: the first time to find out whether it is
 * UTF-8, which its member's name depends on. */
#define WCS_ROW_VALUE_READ  (64u << 10) /* bytes of one read: a chunk of the store */
#define WCS_ROW_VALUE_PIECE (16u << 10) /* bytes of one piece */
enum wcs_row_text { WCS_TEXT_UNKNOWN, WCS_TEXT_UTF8, WCS_TEXT_BINARY };
struct wcs_row_value {
	int (*read)(void *ctx, void *buf, size_t len, uint64_t offset, size_t *got);
	void *ctx;
	uint64_t size;
	enum wcs_row_text text; /* where it is known, the value is read once */
	unsigned char *bytes;	/* room for WCS_ROW_VALUE_READ + 3 */
	uint64_t at;		/* the offset of the next read */
	size_t start, end;	/* bytes read and not yet written */
};
/* Begins to write it, of which ctx, read, size, text and bytes are set; sets text. Errors of read;
 * -EIO: it is shorter than its size. */
int wcs_row_value_begin(struct wcs_row_writer *writer, struct wcs_row_value *value);
/* Writes the next piece, and closes the cell behind the last one. Needs WCS_ROW_WRITE_VALUE of
 * WCS_ROW_VALUE_PIECE. 1: more follow; 0: it is complete; or an error as above. */
int wcs_row_value_piece(struct wcs_row_writer *writer, struct wcs_row_value *value);

/* Closes the last row's line. */
void wcs_row_write_finish(struct wcs_row_writer *writer);

/* Writes a row key as a line of text with %XX, not JSON. Needs three bytes for each byte, and one.
 */
void wcs_row_write_key(struct wcs_row_writer *writer, struct wcs_slice key);

#endif
