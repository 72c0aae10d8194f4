/* SPDX-License-Identifier: MIT */
/* Spans: key ranges with counts, and the memory of their keys. */
#include "store/heat/heat_private.h"

#include "lib/grow.h"

#define ARENA_BLOCK (16u << 10)

struct heat_block {
	struct heat_block *next;
	size_t size;
	unsigned char bytes[];
};

union heat_counts heat_counts_part(const union heat_counts *counts, uint64_t from, uint64_t to,
				   uint64_t parts)
{
	union heat_counts part;

	for (size_t i = 0; i < HEAT_COUNTS; i++) {
		uint64_t n = counts->each[i], rest = n % parts;

		part.each[i] = n / parts * (to - from) + rest * to / parts - rest * from / parts;
	}
	return part;
}

struct wcs_slice heat_arena_copy(struct heat_arena *arena, struct wcs_slice bytes, size_t behind)
{
	size_t len = bytes.len + behind, size = len > ARENA_BLOCK ? len : ARENA_BLOCK;
	struct heat_block *block = arena->blocks;
	unsigned char *to;

	if (block == NULL || arena->left < len) {
		block = malloc(sizeof(*block) + size);
		if (block == NULL)
			return (struct wcs_slice){NULL, 0};
		block->next = arena->blocks;
		block->size = size;
		arena->blocks = block;
		arena->left = size;
	}
	to = block->bytes + block->size - arena->left;
	arena->left -= len;
	if (bytes.len > 0)
		memcpy(to, bytes.data, bytes.len);
	memset(to + bytes.len, 0, behind);
	return (struct wcs_slice){to, len};
}

void heat_arena_free(struct heat_arena *arena)
{
	while (arena->blocks != NULL) {
		struct heat_block *next = arena->blocks->next;

		free(arena->blocks);
		arena->blocks = next;
	}
	arena->left = 0;
}

int heat_spans_add(struct heat_spans *spans, const struct heat_span *span)
{
	int rc = grow(&spans->spans, &spans->room, spans->count + 1, 16, sizeof(*span));

	if (rc == 0)
		spans->spans[spans->count++] = *span;
	return rc;
}

uint64_t heat_spans_ops(const struct heat_spans *spans)
{
	uint64_t ops = 0;

	for (size_t i = 0; i < spans->count; i++)
		ops += heat_counts_ops(&spans->spans[i].counts);
	return ops;
}

void heat_spans_free(struct heat_spans *spans)
{
	free(spans->spans);
	*spans = (struct heat_spans){NULL, 0, 0};
}

int heat_compare_ends(struct wcs_slice a, struct wcs_slice b)
{
	if (a.data == NULL || b.data == NULL)
		return (a.data == NULL) - (b.data == NULL);
	return wcs_slice_compare(a, b);
}
