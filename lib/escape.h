/* SPDX-License-Identifier: MIT */
/* Escapes with backslashes. */
#ifndef FS_ESCAPE_H
#define FS_ESCAPE_H

/* The text with a backslash before each byte that special has. The caller frees it. NULL: no
 * memory. */
char *escape_bytes(const char *text, const char *special);

#endif
