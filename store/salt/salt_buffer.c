/* SPDX-License-Identifier: MIT */
/*
 * The bytes of a buffer:
 *
 *   row   buffer_row key cell…
 *   cell  buffer_cell family qualifier value
 *
 * A cell has its family and qualifier only where they differ from those of the cell before.
 */
#include <stdlib.h>
#include <string.h>

#include "store/salt/salt_buffer.h"

enum { BUFFER_LEAST = 1 << 10 };

struct buffer_row {
	uint32_t end; /* where the row ends in the buffer */
	uint32_t key_len;
};

struct buffer_cell {
	struct wcs_cell_info info;
	uint32_t value_len;
	uint16_t qualifier_len;
	uint8_t family_len;
	uint8_t differs;
};

/* Makes room for so many bytes more. */
static bool buffer_reserve(struct salt_buffer *buffer, size_t len)
{
	size_t room = buffer->room > 0 ? buffer->room : BUFFER_LEAST;
	unsigned char *bytes;

	if (len > buffer->most - buffer->len)
		return false;
	if (len <= buffer->room - buffer->len)
		return true;
	while (room < buffer->len + len)
		room *= 2;
	bytes = realloc(buffer->bytes, room < buffer->most ? room : buffer->most);
	if (bytes == NULL) {
		buffer->failed = true;
		return false;
	}
	buffer->bytes = bytes;
	buffer->room = room < buffer->most ? room : buffer->most;
	return true;
}

static void buffer_put(struct salt_buffer *buffer, const void *data, size_t len)
{
	if (len > 0)
		memcpy(buffer->bytes + buffer->len, data, len);
	buffer->len += len;
}

void salt_buffer_clear(struct salt_buffer *buffer)
{
	buffer->len = buffer->next = buffer->rows = 0;
	buffer->open = buffer->cut = false;
}

void salt_buffer_free(struct salt_buffer *buffer)
{
	free(buffer->bytes);
}

bool salt_buffer_row(struct salt_buffer *buffer, struct wcs_slice key)
{
	struct buffer_row row = {.key_len = (uint32_t)key.len};

	if (!buffer_reserve(buffer, sizeof(row) + key.len))
		return false;
	buffer->start = buffer->len;
	buffer->open = true;
	buffer_put(buffer, &row, sizeof(row));
	buffer_put(buffer, key.data, key.len);
	return true;
}

bool salt_buffer_cell(struct salt_buffer *buffer, const struct wcs_cell *cell)
{
	struct buffer_cell copy = {
		.info = cell->info,
		.value_len = cell->info.size <= WCS_VALUE_INLINE ? (uint32_t)cell->value.len : 0,
		.qualifier_len =
			(uint16_t)(cell->differs <= WCS_PART_QUALIFIER ? cell->qualifier.len : 0),
		.family_len = (uint8_t)(cell->differs <= WCS_PART_FAMILY ? cell->family.len : 0),
		.differs = (uint8_t)cell->differs};
	size_t len = sizeof(copy) + copy.family_len + copy.qualifier_len + copy.value_len;

	if (!buffer_reserve(buffer, len)) {
		buffer->cut = buffer->rows == 0;
		if (buffer->cut)
			salt_buffer_end_row(buffer);
		else
			buffer->len = buffer->start;
		buffer->open = false;
		return false;
	}
	buffer_put(buffer, &copy, sizeof(copy));
	buffer_put(buffer, cell->family.data, copy.family_len);
	buffer_put(buffer, cell->qualifier.data, copy.qualifier_len);
	buffer_put(buffer, cell->value.data, copy.value_len);
	return true;
}

void salt_buffer_end_row(struct salt_buffer *buffer)
{
	uint32_t end = (uint32_t)buffer->len;

	if (!buffer->open)
		return;
	memcpy(buffer->bytes + buffer->start + offsetof(struct buffer_row, end), &end, sizeof(end));
	buffer->last = buffer->start;
	buffer->open = false;
	buffer->rows++;
}

/* ---- Reading ----------------------------------------------------------------------------- */

static struct buffer_row buffer_row(const struct salt_buffer *buffer, size_t at)
{
	struct buffer_row row;

	memcpy(&row, buffer->bytes + at, sizeof(row));
	return row;
}

static struct wcs_slice buffer_key(const struct salt_buffer *buffer, size_t at)
{
	return (struct wcs_slice){buffer->bytes + at + sizeof(struct buffer_row),
				  buffer_row(buffer, at).key_len};
}

bool salt_buffer_next(struct salt_buffer *buffer)
{
	if (buffer->next == buffer->len)
		return false;
	buffer->row = buffer_key(buffer, buffer->next);
	buffer->next = buffer_row(buffer, buffer->next).end;
	return true;
}

struct wcs_slice salt_buffer_last(const struct salt_buffer *buffer)
{
	return buffer_key(buffer, buffer->last);
}

void salt_buffer_start(const struct salt_buffer *buffer, struct salt_buffer_reader *reader)
{
	reader->at =
		(size_t)((const unsigned char *)buffer->row.data - buffer->bytes) + buffer->row.len;
	reader->taken = 0;
}

bool salt_buffer_read(const struct salt_buffer *buffer, struct salt_buffer_reader *reader,
		      struct wcs_cell *cell)
{
	const unsigned char *from = buffer->bytes + reader->at;
	struct buffer_cell copy;

	if (reader->at == buffer->next)
		return false;
	memcpy(&copy, from, sizeof(copy));
	from += sizeof(copy);
	reader->cell.info = copy.info;
	reader->cell.differs = (enum wcs_part)copy.differs;
	if (copy.differs <= WCS_PART_FAMILY)
		reader->cell.family = (struct wcs_slice){from, copy.family_len};
	from += copy.family_len;
	if (copy.differs <= WCS_PART_QUALIFIER)
		reader->cell.qualifier = (struct wcs_slice){from, copy.qualifier_len};
	from += copy.qualifier_len;
	reader->cell.value = (struct wcs_slice){from, copy.value_len};
	reader->at = (size_t)(from - buffer->bytes) + copy.value_len;
	reader->taken++;
	*cell = reader->cell;
	return true;
}

bool salt_buffer_enter(const struct salt_buffer *buffer, struct salt_buffer_reader *reader,
		       struct wcs_slice family, struct wcs_slice qualifier)
{
	struct salt_buffer_reader before;
	struct wcs_cell cell;
	int order;

	salt_buffer_start(buffer, reader);
	do {
		before = *reader;
		if (!salt_buffer_read(buffer, reader, &cell))
			return false;
		order = wcs_slice_compare(cell.family, family);
		if (order == 0)
			order = wcs_slice_compare(cell.qualifier, qualifier);
	} while (order < 0);
	*reader = before;
	return true;
}
