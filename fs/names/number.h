/* SPDX-License-Identifier: MIT */
/*
 * Cells of aggregate families as files: what is stored is 8 bytes or a state, what a file shows is
 * a decimal number and a newline, and what is written to one are lines. Any thread.
 */
#ifndef FS_NUMBER_H
#define FS_NUMBER_H

#include "fs/names/pos.h"

#define NUMBER_TEXT 24 /* bytes: any number, a newline and a NUL */

/* The text that a cell of such a type shows; info: with the size of that, and text may be NULL. For
 * an inthll its state is loaded. -ENOENT; -EIO: what is stored is no value of the type. */
int number_text(const struct pos *pos, enum wcs_type type, char *text, struct wcs_cell_info *info);

/* The size of that text, of the value of a cell. -EOPNOTSUPP: an inthll; -EIO as above. */
int number_size(enum wcs_type type, struct wcs_slice value, uint64_t *size);

/* What is to be stored in a cell of that position for the text of a whole file: one line, its
 * newline may be left out. *bytes becomes that, in value, which has room for WCS_AGGREGATE_LINE_MAX
 * bytes; in a family of bytes it stays. -EINVAL: no such line; -EOPNOTSUPP: an inthll, of which a
 * file does not have the state; -ENOENT: the family. */
int number_to_store(const struct pos *pos, struct wcs_slice *bytes, unsigned char *value);

/* Why that is so, in words. */
const char *number_refusal(enum wcs_type type);

#endif
