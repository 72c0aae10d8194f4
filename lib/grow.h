/* SPDX-License-Identifier: MIT */
/* Growing arrays. */
#ifndef LIB_GROW_H
#define LIB_GROW_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for `needed` elements of that size in an array with room for *room; doubles `first`
 * until they fit. array: the address of the pointer to it. -ENOMEM: nothing has changed. */
static inline int grow(void *array, size_t *room, size_t needed, size_t first, size_t size)
{
	size_t more = *room > 0 ? *room : first;
	void *grown;

	if (needed <= *room)
		return 0;
	while (more < needed)
		more *= 2;
	memcpy(&grown, array, sizeof(grown));
	grown = realloc(grown, more * size);
	if (!grown)
		return -ENOMEM;
	memcpy(array, &grown, sizeof(grown));
	*room = more;
	return 0;
}

#endif
