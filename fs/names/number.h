/* SPDX-License-Identifier: MIT */
/*
 * Cells of aggregate families as files: the store keeps 8 bytes or a sketch, the file shows a
 * decimal number and a newline, and takes lines. Any thread.
 */
#ifndef FS_NUMBER_H
#define FS_NUMBER_H

#include "fs/names/pos.h"

#define NUMBER_TEXT 24 /* bytes: any number, a newline and a NUL */

/* The text of a cell of that type. info: with the text's size; text may be NULL. Loads the sketch
 * of an inthll. -ENOENT; -EIO: the stored bytes are no value of the type. */
int number_text(const struct pos *pos, enum wcs_type type, char *text, struct wcs_cell_info *info);

/* The size of that text for a cell's value. -EOPNOTSUPP: an inthll; -EIO as above. */
int number_size(enum wcs_type type, struct wcs_slice value, uint64_t *size);

/* Turns the bytes of a whole file into the bytes to store in a cell at that position: one line,
 * whose newline may be missing. *bytes then points to value, which has room for
 * WCS_AGGREGATE_LINE_MAX bytes; in a family of bytes it stays. -EINVAL: no such line; -EOPNOTSUPP:
 * an inthll, whose sketch is not in the file; -ENOENT: the family. */
int number_to_store(const struct pos *pos, struct wcs_slice *bytes, unsigned char *value);

/* The reason for -EINVAL and -EOPNOTSUPP, in words. */
const char *number_refusal(enum wcs_type type);

#endif
