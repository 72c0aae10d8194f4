/* SPDX-License-Identifier: MIT */
/* Growing buffers and arrays. All zero is the empty buffer; its owner frees data. */
#ifndef WCS_LEVELDB_BUFFER_H
#define WCS_LEVELDB_BUFFER_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/store.h"

struct ldb_buffer {
	unsigned char *data;
	size_t len, room;
};

/* Makes room for len bytes in all. -ENOMEM. */
static inline int ldb_buffer_room(struct ldb_buffer *buffer, size_t len)
{
	unsigned char *data;

	if (len <= buffer->room)
		return 0;
	data = realloc(buffer->data, len + len / 2 + 64);
	if (!data)
		return -ENOMEM;
	buffer->data = data;
	buffer->room = len + len / 2 + 64;
	return 0;
}

static inline int ldb_buffer_append(struct ldb_buffer *buffer, const void *data, size_t len)
{
	int err = ldb_buffer_room(buffer, buffer->len + len);

	if (err || len == 0)
		return err;
	memcpy(buffer->data + buffer->len, data, len);
	buffer->len += len;
	return 0;
}

static inline int ldb_buffer_set(struct ldb_buffer *buffer, struct wcs_slice bytes)
{
	buffer->len = 0;
	return ldb_buffer_append(buffer, bytes.data, bytes.len);
}

static inline struct wcs_slice ldb_buffer_slice(const struct ldb_buffer *buffer)
{
	return (struct wcs_slice){buffer->data, buffer->len};
}

/* Gives an array of *room elements of that size twice as many, or `first`, its first ones. NULL: no
 * memory, and it is as it was. */
static inline void *ldb_buffer_more(void *array, size_t *room, size_t first, size_t size)
{
	size_t more = *room > 0 ? 2 * *room : first;
	void *made = realloc(array, more * size);

	if (made)
		*room = more;
	return made;
}

#endif
