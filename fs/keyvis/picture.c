/* SPDX-License-Identifier: MIT */
/* Prepares a map for all formats. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs/keyvis/picture.h"

#define PICTURE_NAME  64u /* columns of a name in a sentence */
#define PICTURE_SHARE 5u  /* percent that a range in a hot prefix needs to be named, too */

const struct keyvis_words keyvis_words[WCS_HEAT_METRICS] = {
	[WCS_HEAT_OPS] = {"ops", "operations", "operations",
			  "Operations are rows read and cells written."},
	[WCS_HEAT_READS] = {"reads", "reads", "rows read",
			    "Rows read by gets, scans and listings; the kernel answers some reads "
			    "from its caches, and these are not counted."},
	[WCS_HEAT_WRITES] = {"writes", "writes", "cells written", "Cells written."},
	[WCS_HEAT_BYTES] = {"bytes", "bytes written", "bytes", "Bytes of the values written."},
	[WCS_HEAT_LATENCY] = {"latency", "latency", "microseconds",
			      "The mean time of a get or a mutation in the store."},
};

const char keyvis_note[] = "A label is the range's first key. Totals are exact, their division "
			   "among ranges rests on a sample.";

/* ---- Words ------------------------------------------------------------------------------- */

static void picture_titles(struct keyvis_picture *picture)
{
	const struct wcs_heat_map *map = picture->map;
	bool mean = map->metric == WCS_HEAT_LATENCY;
	char from[20], to[20], step[32], rows[64];

	snprintf(picture->title, sizeof(picture->title), "%s: %s by key and time",
		 picture->table->name, picture->words->title);
	keyvis_time(picture->start, true, from);
	keyvis_time(picture->end, true, to);
	keyvis_span(map->step, step);
	snprintf(rows, sizeof(rows), "a row one of %zu ranges of keys", map->rows);
	snprintf(picture->when, sizeof(picture->when), "%s to %s UTC; a column is %s, %s", from, to,
		 step, map->rows > 1 ? rows : "the one row all keys");
	snprintf(picture->unit, sizeof(picture->unit), mean ? "%s%s" : "%s in %s",
		 mean ? "mean " : picture->words->unit, mean ? picture->words->unit : step);
}

/* Explains an empty map, and one that begins later than its window. */
static void picture_history(struct keyvis_picture *picture)
{
	const struct wcs_heat_map *map = picture->map;
	char from[20], have[32], window[32];
	size_t used = 0, room = sizeof(picture->history);

	keyvis_time(picture->start, true, from);
	keyvis_span(picture->end - picture->start, have);
	keyvis_span(map->step * (int64_t)map->columns, window);
	if (picture->columns == 0)
		snprintf(picture->history, room,
			 "Counting has just begun: the first column appears within a minute.");
	else if (map->largest == 0)
		used = (size_t)snprintf(picture->history, room,
					"The map is empty: no %s were counted in this time.",
					picture->words->unit);
	if (picture->columns > 0 && picture->first > 0)
		snprintf(picture->history + used, room - used,
			 "%sCounting began at %s UTC, so the map has %s instead of %s.",
			 used > 0 ? " " : "", from, have, window);
}

/* Neighbouring ranges as one, from the first one's start to the last one's end; of a prefix, to
 * which all their starts belong, to the last one's start. */
static struct wcs_heat_range picture_join(const struct wcs_heat_map *map, size_t first, size_t last,
					  bool prefix)
{
	struct wcs_heat_range range = map->ranges[first];

	if (first < last) {
		range.end = prefix ? map->ranges[last].start : map->ranges[last].end;
		range.row = false;
	}
	return range;
}

/* Composes "Hot row STC#22: it has …". */
static char *picture_sentence(const struct keyvis_table *table, const struct wcs_heat_map *map,
			      const struct wcs_heat_finding *finding)
{
	bool prefix = finding->pattern == WCS_HEAT_HOT_PREFIX;
	struct wcs_heat_range range = picture_join(map, finding->first, finding->last, prefix);
	const char *pattern = wcs_heat_pattern_name(finding->pattern);
	char *name, *fitting, *text = NULL;

	name = finding->ranges ? (prefix ? keyvis_prefix : keyvis_name)(table, &range) : strdup("");
	fitting = name ? keyvis_fit(name, PICTURE_NAME) : NULL;
	if (fitting && asprintf(&text, "%c%s%s%s: %s", pattern[0] & ~0x20, pattern + 1,
				*fitting ? " " : "", fitting, finding->words) < 0)
		text = NULL;
	free(fitting);
	free(name);
	return text;
}

static int picture_findings(const struct wcs_heat_map *full, struct keyvis_picture *picture)
{
	int count = wcs_heat_diagnose(full, picture->found);

	for (int i = 0; i < count; i++) {
		picture->findings[i] = picture_sentence(picture->table, full, &picture->found[i]);
		if (picture->findings[i] == NULL)
			return -ENOMEM;
		picture->finding_count++;
	}
	return count < 0 ? count : 0;
}

/* ---- Hot ranges -------------------------------------------------------------------------- */

/* The range of the picture's map in which a key lies. */
static size_t picture_range(const struct wcs_heat_map *map, struct wcs_slice key)
{
	size_t low = 0, high = map->rows;

	while (low + 1 < high) {
		size_t middle = (low + high) / 2;

		if (wcs_slice_compare(map->ranges[middle].start, key) <= 0)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* Adds ranges of the full map. */
static int picture_add_hot(struct keyvis_picture *picture, const struct wcs_heat_map *full,
			   size_t first, size_t last, unsigned int share)
{
	struct keyvis_hot *hot = &picture->hot[picture->hot_count];
	struct wcs_heat_range range = picture_join(full, first, last, true);
	uint64_t total = 0;

	for (size_t r = first; r <= last; r++)
		total += full->ranges[r].total;
	*hot = (struct keyvis_hot){
		.first = picture_range(picture->map, range.start),
		.last = picture_range(picture->map, full->ranges[last].start),
		.share = share,
		.total = total,
		.name = (first < last ? keyvis_prefix : keyvis_name)(picture->table, &range),
		.path = keyvis_path(picture->table, &range),
	};
	picture->hot_count++;
	return hot->name && hot->path ? 0 : -ENOMEM;
}

/* Is the range in those of a finding, without much of its own? */
static bool picture_is_found(const struct keyvis_picture *picture, size_t range, double share)
{
	for (size_t i = 0; i < picture->finding_count; i++) {
		const struct wcs_heat_finding *found = &picture->found[i];

		if (found->ranges && found->pattern != WCS_HEAT_SEQUENTIAL &&
		    found->first <= range && range <= found->last &&
		    (found->first == found->last || share < PICTURE_SHARE))
			return true;
	}
	return false;
}

struct picture_order {
	uint64_t total;
	size_t range;
};

static int picture_compare(const void *a, const void *b)
{
	const struct picture_order *x = a, *y = b;

	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return x->range < y->range ? -1 : x->range > y->range;
}

/* The ranges with most of the total, from 1 % on; of latency those of twice the mean. */
static int picture_hottest(struct keyvis_picture *picture, const struct wcs_heat_map *full)
{
	bool mean = full->metric == WCS_HEAT_LATENCY;
	struct picture_order *order = calloc(full->rows, sizeof(*order));
	int rc = order ? 0 : -ENOMEM;

	for (size_t r = 0; rc == 0 && r < full->rows; r++)
		order[r] = (struct picture_order){full->ranges[r].total, r};
	if (rc == 0)
		qsort(order, full->rows, sizeof(*order), picture_compare);
	for (size_t i = 0; rc == 0 && i < full->rows && picture->hot_count < KEYVIS_HOT_MAX; i++) {
		double share =
			full->total > 0 ? (double)order[i].total / (double)full->total * 100 : 0;

		if (share < (mean ? 200 : 1))
			break;
		if (!picture_is_found(picture, order[i].range, share))
			rc = picture_add_hot(picture, full, order[i].range, order[i].range,
					     mean ? 0 : (unsigned int)(share + 0.5));
	}
	free(order);
	return rc;
}

static int picture_hot(struct keyvis_picture *picture, const struct wcs_heat_map *full)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < picture->finding_count; i++) {
		const struct wcs_heat_finding *found = &picture->found[i];

		if (found->ranges && found->pattern != WCS_HEAT_SEQUENTIAL)
			rc = picture_add_hot(picture, full, found->first, found->last,
					     found->share);
	}
	return rc == 0 ? picture_hottest(picture, full) : rc;
}

/* ------------------------------------------------------------------------------------------ */

int keyvis_picture(const struct keyvis_table *table, const struct wcs_heat_map *full,
		   const struct wcs_heat_map *map, struct keyvis_picture *picture)
{
	size_t first = wcs_heat_counted(map);
	int rc;

	*picture = (struct keyvis_picture){
		.table = table,
		.map = map,
		.words = &keyvis_words[map->metric],
		.scale = keyvis_scale(map),
		.first = first,
		.columns = map->columns - first,
		.start = map->start + (int64_t)first * map->step,
		.end = map->start + (int64_t)map->columns * map->step,
	};
	picture_titles(picture);
	picture_history(picture);
	rc = picture_findings(full, picture);
	if (rc == 0)
		rc = picture_hot(picture, full);
	if (rc == 0)
		rc = keyvis_nodes(table, map, &picture->nodes, &picture->node_count);
	if (rc)
		keyvis_picture_free(picture);
	return rc;
}

void keyvis_picture_free(struct keyvis_picture *picture)
{
	for (size_t i = 0; i < picture->finding_count; i++)
		free(picture->findings[i]);
	for (size_t i = 0; i < picture->hot_count; i++) {
		free(picture->hot[i].name);
		free(picture->hot[i].path);
	}
	keyvis_nodes_free(picture->nodes, picture->node_count);
}
