/* SPDX-License-Identifier: MIT */
/* Growing buffers. All zero is the empty buffer; its owner frees data. */
#ifndef WCS_LEVELDB_BUFFER_H
#define WCS_LEVELDB_BUFFER_H

#include "lib/grow.h"
#include "store/store.h"

struct ldb_buffer {
	unsigned char *data;
	size_t len, room;
};

/* Makes room for len bytes in all. -ENOMEM. */
static inline int ldb_buffer_room(struct ldb_buffer *buffer, size_t len)
{
	return grow(&buffer->data, &buffer->room, len, 64, 1);
}

static inline int ldb_buffer_append(struct ldb_buffer *buffer, const void *data, size_t len)
{
	int rc = ldb_buffer_room(buffer, buffer->len + len);

	if (rc || len == 0)
		return rc;
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

#endif
