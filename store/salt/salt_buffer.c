/* SPDX-License-Identifier: MIT */
/* Rows copied ahead: see salt_buffer.h. Cells share the bytes of the parts in which they agree. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/salt/salt_buffer.h"

enum { BUFFER_LEAST = 1 << 10 };

/* A cell; family, qualifier and value are offsets in the buffer's bytes. The key of a row stands
 * there before the family of its first cell, which also has the index of the next row's first. */
struct salt_copy {
	struct wcs_cell_info info;
	uint32_t row_end, family, qualifier, value;
	uint16_t row_len, qualifier_len;
	uint8_t family_len, differs;
};

static size_t copy_value_len(const struct wcs_cell_info *info)
{
	return info->size <= WCS_VALUE_INLINE ? (size_t)info->size : 0;
}

void salt_buffer_clear(struct salt_buffer *buffer)
{
	buffer->count = buffer->len = buffer->last = buffer->first = buffer->end = 0;
}

void salt_buffer_free(struct salt_buffer *buffer)
{
	free(buffer->cells);
	free(buffer->bytes);
}

/* Makes room for so many bytes. NULL: no memory, and the old ones stay. */
static void *buffer_grow(void *old, size_t *room, size_t wanted)
{
	size_t grown = *room > 0 ? *room : BUFFER_LEAST;
	void *made;

	if (wanted <= *room)
		return old;
	while (grown < wanted)
		grown *= 2;
	made = realloc(old, grown);
	if (made != NULL)
		*room = grown;
	return made;
}

static uint32_t buffer_put(struct salt_buffer *buffer, struct wcs_slice slice)
{
	size_t at = buffer->len;

	if (slice.len > 0)
		memcpy(buffer->bytes + at, slice.data, slice.len);
	buffer->len += slice.len;
	return (uint32_t)at;
}

/* Puts the parts of the cell's address that differ from those of the cell before. */
static void buffer_put_address(struct salt_buffer *buffer, struct salt_copy *copy,
			       const struct wcs_cell *cell)
{
	if (cell->differs == WCS_PART_ROW) {
		buffer_put(buffer, cell->row);
		copy->row_len = (uint16_t)cell->row.len;
	}
	if (cell->differs <= WCS_PART_FAMILY) {
		copy->family = buffer_put(buffer, cell->family);
		copy->family_len = (uint8_t)cell->family.len;
	}
	if (cell->differs <= WCS_PART_QUALIFIER) {
		copy->qualifier = buffer_put(buffer, cell->qualifier);
		copy->qualifier_len = (uint16_t)cell->qualifier.len;
	}
}

int salt_buffer_add(struct salt_buffer *buffer, const struct wcs_cell *cell)
{
	struct wcs_slice value = cell->value;
	size_t len, cells_len = (buffer->count + 1) * sizeof(struct salt_copy);
	struct salt_copy *cells, *copy;
	unsigned char *bytes;

	value.len = copy_value_len(&cell->info);
	len = buffer->len + cell->row.len + cell->family.len + cell->qualifier.len + value.len;
	if (buffer->count > 0 && cells_len + len > buffer->most)
		return 0;
	cells = buffer_grow(buffer->cells, &buffer->cells_room, cells_len);
	if (cells != NULL)
		buffer->cells = cells;
	bytes = buffer_grow(buffer->bytes, &buffer->bytes_room, len);
	if (bytes != NULL)
		buffer->bytes = bytes;
	if (cells == NULL || bytes == NULL)
		return -ENOMEM;
	copy = &buffer->cells[buffer->count];
	if (cell->differs == WCS_PART_ROW)
		buffer->last = buffer->count;
	else
		*copy = copy[-1];
	buffer_put_address(buffer, copy, cell);
	copy->info = cell->info;
	copy->value = buffer_put(buffer, value);
	copy->differs = (uint8_t)cell->differs;
	buffer->count++;
	buffer->cells[buffer->last].row_end = (uint32_t)buffer->count;
	return 1;
}

bool salt_buffer_next(struct salt_buffer *buffer)
{
	const struct salt_copy *first;

	buffer->first = buffer->end;
	if (buffer->first == buffer->count)
		return false;
	first = &buffer->cells[buffer->first];
	buffer->end = first->row_end;
	buffer->row =
		(struct wcs_slice){buffer->bytes + first->family - first->row_len, first->row_len};
	return true;
}

void salt_buffer_get(const struct salt_buffer *buffer, size_t index, struct wcs_cell *cell)
{
	const struct salt_copy *copy = &buffer->cells[index];
	const unsigned char *bytes = buffer->bytes;

	*cell = (struct wcs_cell){
		.differs = (enum wcs_part)copy->differs,
		.family = {bytes + copy->family, copy->family_len},
		.qualifier = {bytes + copy->qualifier, copy->qualifier_len},
		.info = copy->info,
		.value = {bytes + copy->value, copy_value_len(&copy->info)},
	};
}
