/* SPDX-License-Identifier: MIT */
/* The key ranges that are counted at a time. An axis takes further tables; its ranges never change.
 */
#include "store/heat/heat_private.h"

#include <stdlib.h>
#include <string.h>

void heat_axis_free(struct heat_axis *axis)
{
	if (axis != NULL)
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

bool heat_axis_full(const struct heat_axis *axis)
{
	return axis->part_count == WCS_TABLES_MAX || axis->count == HEAT_RANGES;
}

void heat_axis_add(struct heat_axis *axis, uint32_t table, unsigned char delimiter,
		   const struct heat_rows *rows)
{
	size_t at = axis_at(axis, table), first = axis->count;
	size_t count = rows != NULL ? rows->count : 1;
	struct heat_part *part = &axis->parts[at];

	if (heat_axis_full(axis) || heat_axis_part(axis, table) != NULL)
		return;
	for (size_t i = 0; i < count && axis->count < HEAT_RANGES; i++) {
		struct heat_row *range = &axis->ranges[axis->count];

		range->weight = rows != NULL ? rows->rows[i].weight : 0;
		range->start = i > 0 ? heat_arena_copy(&axis->bytes, rows->rows[i].start, 0)
				     : (struct wcs_slice){"", 0};
		if (range->start.data == NULL)
			break;
		axis->count++;
	}
	memmove(part + 1, part, (axis->part_count++ - at) * sizeof(*part));
	*part = (struct heat_part){table, (uint32_t)first, (uint32_t)(axis->count - first),
				   delimiter};
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
