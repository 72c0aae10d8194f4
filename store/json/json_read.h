/* SPDX-License-Identifier: MIT */
/*
 * Reads JSON text token by token, without a tree: strictly RFC 8259, integers of 64 bits, and no
 * NUL in a member's name. The caller follows the nesting, and refuses repeated members. Private to
 * store/json.
 *
 * -EBADMSG: not JSON; the reader is at the first wrong byte. Any thread; a reader belongs to one at
 * a time.
 */
#ifndef WCS_JSON_READ_H
#define WCS_JSON_READ_H

#include "store/store.h"

struct wcs_json_reader {
	const unsigned char *at, *end; /* the text that is not read */
	const char *why; /* the reason of an error, if the first wrong byte does not show it */
};

/* Skips white space and returns the next byte; -1: the text's end. */
int wcs_json_read_space(struct wcs_json_reader *reader);

/* The same, fast if there is no white space. One of {["-tfn or a digit starts a value. */
static inline int wcs_json_read_peek(struct wcs_json_reader *reader)
{
	return reader->end > reader->at && ' ' < *reader->at ? *reader->at
							     : wcs_json_read_space(reader);
}

/* Skips white space and that byte; false: another comes. */
static inline bool wcs_json_read_byte(struct wcs_json_reader *reader, char byte)
{
	bool same = wcs_json_read_peek(reader) == byte;

	reader->at += same;
	return same;
}

/* Skips white space and that word; false: other text comes. */
bool wcs_json_read_word(struct wcs_json_reader *reader, const char *word);

/* Goes to the next element of a list (close is ']') or to the next name of an object ('}') whose
 * opening bracket is read. *count is 0 at first, and is counted up. 1: there is one; 0: the closing
 * bracket is read; -EBADMSG. */
int wcs_json_read_next(struct wcs_json_reader *reader, char close, size_t *count);

/* Reads a string whose opening quote is read. *string lies in the text, or, if it has escapes, at
 * *to, which moves behind it; it takes no more bytes there than in the text. -EBADMSG. */
int wcs_json_read_string(struct wcs_json_reader *reader, unsigned char **to,
			 struct wcs_slice *string);

/* Reads a number; *whole is false for one with a fraction or exponent, and *number undefined then.
 * -EBADMSG; -EOVERFLOW: an integer beyond 64 bits. */
int wcs_json_read_number(struct wcs_json_reader *reader, int64_t *number, bool *whole);

#endif
