/* SPDX-License-Identifier: MIT */
/* Text for a parser that takes a backslash as the beginning of an escape. */
#ifndef FS_ESCAPE_H
#define FS_ESCAPE_H

/* The text with a backslash before each byte that special has. The caller frees it. NULL: no
 * memory. */
char *escape_bytes(const char *text, const char *special);

#endif
