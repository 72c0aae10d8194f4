/* SPDX-License-Identifier: MIT */
/* Escapes with backslashes. */
#ifndef LIB_ESCAPE_H
#define LIB_ESCAPE_H

#include <stdlib.h>
#include <string.h>

/* The text with a backslash before each byte that special has. The caller frees it. NULL: no
 * memory. */
static inline char *escape_bytes(const char *text, const char *special)
{
	char *escaped = malloc(2 * strlen(text) + 1), *to = escaped;

	if (!escaped)
		return NULL;
	for (; *text; text++) {
		if (strchr(special, *text))
			*to++ = '\\';
		*to++ = *text;
	}
	*to = 0;
	return escaped;
}

#endif
