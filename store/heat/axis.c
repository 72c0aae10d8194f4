/* SPDX-License-Identifier: MIT */
/*
 * The key ranges that are counted at a time. An axis takes further tables; its ranges never change.
 * Each fold puts another axis in its place, by the operations that were seen.
 */
#include "store/heat/heat_private.h"

#include <errno.h>
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

/* ---- The next axis ----------------------------------------------------------------------- */

void heat_live_read(struct heat_live *live, struct wcs_store *store)
{
	pthread_rwlock_rdlock(&store->lock);
	live->count = store->table_count;
	for (size_t i = 0; i < live->count; i++)
		live->tables[i] = store->tables[i]->id;
	pthread_rwlock_unlock(&store->lock);
}

static bool live_has(const struct heat_live *live, uint32_t table)
{
	for (size_t i = 0; i < live->count; i++)
		if (live->tables[i] == table)
			return true;
	return false;
}

/* The ranges of a table: those it has, and the spans seen. */
static int axis_rows(const struct heat_axis *axis, const struct heat_part *part,
		     const struct heat_spans *seen, double decay, struct heat_rows *rows)
{
	struct heat_spans old = {NULL, 0, 0};
	int rc = heat_rows_init(rows, part->delimiter);

	for (size_t at = part->first; at < part->first + part->count && rc == 0; at++) {
		struct heat_span span = {
			axis->ranges[at].start, heat_axis_end(axis, part, at), {.reads = 0}};

		span.counts.reads = (uint64_t)(axis->ranges[at].weight * decay);
		rc = heat_spans_add(&old, &span);
	}
	if (rc == 0)
		rc = heat_rows_add(rows, &old, 1);
	if (rc == 0 && seen != NULL)
		rc = heat_rows_add(rows, seen, 1);
	heat_spans_free(&old);
	return rc;
}

/* Puts the counts of a shard, which came meanwhile, into the ranges of the next axis. room: zeros
 * for as many ranges, before and afterwards. */
static void axis_move(union heat_counts *counts, const struct heat_axis *axis,
		      struct heat_axis *next, union heat_counts *room)
{
	size_t used;

	for (size_t p = 0; p < axis->part_count; p++) {
		const struct heat_part *from = &axis->parts[p], *part;

		for (size_t at = from->first; at < from->first + from->count; at++) {
			if (heat_counts_ops(&counts[at]) == 0)
				continue;
			heat_axis_add(next, from->table, from->delimiter, NULL);
			part = heat_axis_part(next, from->table);
			if (part != NULL)
				heat_counts_add(
					&room[heat_axis_find(next, part, axis->ranges[at].start)],
					&counts[at]);
		}
	}
	used = axis->count > next->count ? axis->count : next->count;
	memcpy(counts, room, used * sizeof(*room));
	memset(room, 0, used * sizeof(*room));
}

/* Adds the ranges that a table has in the next axis. total: of the weights of all tables. */
static int axis_take(struct heat_axis *next, const struct heat_axis *axis,
		     const struct heat_part *part, const struct heat_spans *seen, double decay,
		     double total)
{
	double weight = 0, room = HEAT_RANGES - WCS_TABLES_MAX;
	struct heat_rows rows;
	int rc = axis_rows(axis, part, seen, decay, &rows);

	for (size_t at = 0; at < rows.count && rc == 0; at++)
		weight += rows.rows[at].weight;
	if (rc == 0 && weight > 0) { /* else it is idle; a count adds it again */
		room *= weight / total;
		heat_rows_reduce(&rows,
				 room < HEAT_TABLE_RANGES ? 1 + (size_t)room : HEAT_TABLE_RANGES,
				 true);
		heat_axis_add(next, part->table, part->delimiter, &rows);
	}
	heat_rows_free(&rows);
	return rc;
}

int heat_axis_divide(struct heat *heat, const struct heat_live *live,
		     const struct heat_record *seen, uint64_t ops, double decay)
{
	struct heat_axis *axis = heat->axis, *next = calloc(1, sizeof(*next));
	union heat_counts *room = calloc(HEAT_RANGES, sizeof(*room));
	double total = (double)ops;
	int rc = next != NULL && room != NULL ? 0 : -ENOMEM;

	for (size_t i = 0; i < axis->count; i++)
		total += axis->ranges[i].weight * decay;
	for (size_t i = 0; i < axis->part_count && rc == 0; i++) {
		const struct heat_part *part = &axis->parts[i];

		if (live_has(live, part->table))
			rc = axis_take(next, axis, part, heat_record_find(seen, part->table), decay,
				       total);
	}
	if (rc == 0) {
		next->number = axis->number + 1;
		heat_shards_lock(heat);
		for (size_t i = 0; i < HEAT_SHARDS; i++)
			axis_move(heat->shards[i].counts, axis, next, room);
		heat->axis = next;
		heat_shards_unlock(heat);
		next = axis;
	}
	heat_axis_free(next);
	free(room);
	return rc;
}
