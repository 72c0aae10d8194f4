/* SPDX-License-Identifier: MIT */
/* Escapes. */
#include "lib/escape.h"

#include <stdlib.h>
#include <string.h>

char *escape_bytes(const char *text, const char *special)
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
