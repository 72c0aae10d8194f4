/* SPDX-License-Identifier: MIT */
/*
 * The bytes of a chunk:
 *
 *   row   chunk_row key cell…
 *   cell  chunk_cell family qualifier value
 *
 * A cell has its family and qualifier only where they differ from those of the cell before. Each
 * part begins at a multiple of 8.
 */
#include <stdlib.h>
#include <string.h>

#include "store/salt/salt_chunk.h"

enum { CHUNK_LEAST = 1 << 10 };

struct chunk_row {
	uint32_t end; /* where the row ends in the chunk */
	uint32_t key_len;
};

struct chunk_cell {
	struct wcs_cell_info info;
	uint32_t value_len;
	uint16_t qualifier_len;
	uint8_t family_len;
	uint8_t differs;
};

static size_t chunk_rounded(size_t len)
{
	return (len + 7) / 8 * 8;
}

/* Makes room for so many bytes more. */
static bool chunk_reserve(struct salt_chunk *chunk, size_t len)
{
	size_t room = chunk->room > 0 ? chunk->room : CHUNK_LEAST;
	unsigned char *bytes;

	if (len > chunk->most - chunk->len)
		return false;
	if (len <= chunk->room - chunk->len)
		return true;
	while (room < chunk->len + len)
		room *= 2;
	bytes = realloc(chunk->bytes, room < chunk->most ? room : chunk->most);
	if (bytes == NULL) {
		chunk->failed = true;
		return false;
	}
	chunk->bytes = bytes;
	chunk->room = room < chunk->most ? room : chunk->most;
	return true;
}

static void chunk_put(struct salt_chunk *chunk, const void *data, size_t len)
{
	if (len > 0)
		memcpy(chunk->bytes + chunk->len, data, len);
	chunk->len += len;
}

void salt_chunk_clear(struct salt_chunk *chunk)
{
	chunk->len = chunk->next = chunk->rows = 0;
	chunk->open = chunk->cut = false;
}

void salt_chunk_free(struct salt_chunk *chunk)
{
	free(chunk->bytes);
}

bool salt_chunk_row(struct salt_chunk *chunk, struct wcs_slice key)
{
	struct chunk_row row = {.key_len = (uint32_t)key.len};

	if (!chunk_reserve(chunk, sizeof(row) + chunk_rounded(key.len)))
		return false;
	chunk->start = chunk->len;
	chunk->open = true;
	chunk_put(chunk, &row, sizeof(row));
	chunk_put(chunk, key.data, key.len);
	chunk->len = chunk_rounded(chunk->len);
	return true;
}

bool salt_chunk_cell(struct salt_chunk *chunk, const struct wcs_cell *cell)
{
	struct chunk_cell copy = {
		.info = cell->info,
		.value_len = cell->info.size <= WCS_VALUE_INLINE ? (uint32_t)cell->value.len : 0,
		.qualifier_len =
			(uint16_t)(cell->differs <= WCS_PART_QUALIFIER ? cell->qualifier.len : 0),
		.family_len = (uint8_t)(cell->differs <= WCS_PART_FAMILY ? cell->family.len : 0),
		.differs = (uint8_t)cell->differs};
	size_t len =
		chunk_rounded(sizeof(copy) + copy.family_len + copy.qualifier_len + copy.value_len);

	if (!chunk_reserve(chunk, len)) {
		chunk->cut = chunk->rows == 0;
		if (chunk->cut)
			salt_chunk_end_row(chunk);
		else
			chunk->len = chunk->start;
		chunk->open = false;
		return false;
	}
	chunk_put(chunk, &copy, sizeof(copy));
	chunk_put(chunk, cell->family.data, copy.family_len);
	chunk_put(chunk, cell->qualifier.data, copy.qualifier_len);
	chunk_put(chunk, cell->value.data, copy.value_len);
	chunk->len = chunk_rounded(chunk->len);
	return true;
}

void salt_chunk_end_row(struct salt_chunk *chunk)
{
	uint32_t end = (uint32_t)chunk->len;

	if (!chunk->open)
		return;
	memcpy(chunk->bytes + chunk->start + offsetof(struct chunk_row, end), &end, sizeof(end));
	chunk->last = chunk->start;
	chunk->open = false;
	chunk->rows++;
}

/* ---- Reading ----------------------------------------------------------------------------- */

static struct chunk_row chunk_row(const struct salt_chunk *chunk, size_t at)
{
	struct chunk_row row;

	memcpy(&row, chunk->bytes + at, sizeof(row));
	return row;
}

static struct wcs_slice chunk_key(const struct salt_chunk *chunk, size_t at)
{
	return (struct wcs_slice){chunk->bytes + at + sizeof(struct chunk_row),
				  chunk_row(chunk, at).key_len};
}

bool salt_chunk_next(struct salt_chunk *chunk)
{
	if (chunk->next == chunk->len)
		return false;
	chunk->row = chunk_key(chunk, chunk->next);
	chunk->next = chunk_row(chunk, chunk->next).end;
	return true;
}

struct wcs_slice salt_chunk_last(const struct salt_chunk *chunk)
{
	return chunk_key(chunk, chunk->last);
}

void salt_chunk_start(const struct salt_chunk *chunk, struct salt_chunk_reader *reader)
{
	reader->at = chunk_rounded((size_t)((const unsigned char *)chunk->row.data - chunk->bytes) +
				   chunk->row.len);
	reader->taken = 0;
}

bool salt_chunk_read(const struct salt_chunk *chunk, struct salt_chunk_reader *reader,
		     struct wcs_cell *cell)
{
	const unsigned char *from = chunk->bytes + reader->at;
	struct chunk_cell copy;

	if (reader->at == chunk->next)
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
	reader->at = chunk_rounded((size_t)(from - chunk->bytes) + copy.value_len);
	reader->taken++;
	*cell = reader->cell;
	return true;
}

bool salt_chunk_enter(const struct salt_chunk *chunk, struct salt_chunk_reader *reader,
		      struct wcs_slice family, struct wcs_slice qualifier)
{
	struct salt_chunk_reader before;
	struct wcs_cell cell;
	int order;

	salt_chunk_start(chunk, reader);
	do {
		before = *reader;
		if (!salt_chunk_read(chunk, reader, &cell))
			return false;
		order = wcs_slice_compare(cell.family, family);
		if (order == 0)
			order = wcs_slice_compare(cell.qualifier, qualifier);
	} while (order < 0);
	*reader = before;
	return true;
}
