/* SPDX-License-Identifier: MIT */
/* The key ranges that are counted at a time. An axis takes further tables; its ranges never change.
 */
#include "store/heat/heat_private.h"

#include <stdlib.h>
#include <string.h>

struct heat_axis *heat_axis_new(void)
{
	struct heat_axis *axis = calloc(1, sizeof(*axis));

	if (axis != NULL)
		axis->references = 1;
	return axis;
}

void heat_axis_drop(struct heat_axis *axis)
{
	if (axis == NULL || atomic_fetch_sub(&axis->references, 1) > 1)
		return;
	heat_arena_free(&axis->bytes);
	free(axis);
}

/* The first part of that table or a greater one. */
static size_t axis_at(const struct heat_axis *axis, uint32_t table)
{
	size_t low = 0, high = axis->part_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (axis->parts[middle].table < table)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct heat_part *heat_axis_part(const struct heat_axis *axis, uint32_t table)
{
	size_t at = axis_at(axis, table);

	return at < axis->part_count && axis->parts[at].table == table ? &axis->parts[at] : NULL;
}

void heat_axis_add(struct heat_axis *axis, uint32_t table, const struct heat_rows *rows)
{
	size_t at = axis_at(axis, table), count = axis->count;
	struct heat_part *part = &axis->parts[at];

	if (axis->part_count == WCS_TABLES_MAX || count == HEAT_RANGES)
		return;
	for (size_t i = 0; i < rows->count && count < HEAT_RANGES; i++) {
		struct heat_row *range = &axis->ranges[count];

		range->weight = rows->rows[i].weight;
		range->start = heat_arena_copy(&axis->bytes, rows->rows[i].start, 0);
		if (range->start.data == NULL)
			break;
		count++;
	}
	if (count == axis->count)
		return;
	memmove(part + 1, part, (axis->part_count - at) * sizeof(*part));
	*part = (struct heat_part){table, (uint32_t)axis->count, (uint32_t)(count - axis->count),
				   rows->delimiter};
	axis->part_count++;
	axis->count = count;
}

size_t heat_axis_find(const struct heat_axis *axis, const struct heat_part *part,
		      struct wcs_slice key)
{
	size_t low = part->first, high = part->first + part->count;

	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		if (wcs_slice_compare(axis->ranges[middle].start, key) <= 0)
			low = middle;
		else
			high = middle;
	}
	return low;
}

struct wcs_slice heat_axis_end(const struct heat_axis *axis, const struct heat_part *part,
			       size_t at)
{
	return at + 1 < part->first + part->count ? axis->ranges[at + 1].start
						  : (struct wcs_slice){NULL, 0};
}
