/* SPDX-License-Identifier: MIT */
/*
 * Rules about traffic, by heat maps. A hot row is a range of its own in a map. The ranges of one
 * first segment are added up: a map splits a hot prefix. Writes at the end are minutes whose writes
 * met mostly one range, which moved in one direction or was always the last one.
 */
#include "store/advice/advice_private.h"

#include <stdlib.h>
#include <string.h>

#define TRAFFIC_OPERATIONS 10000u /* from which on a map means something */
#define TRAFFIC_PREFIXES   8u	  /* first segments that a table has, if one of them can be hot */
#define TRAFFIC_MINUTES	   10u	  /* with writes */
#define TRAFFIC_WRITES	   100u	  /* in such a minute */

/* ---- Rows and prefixes ------------------------------------------------------------------- */

struct prefix {
	struct wcs_slice first; /* segment of the ranges' starts, behind the salt that it has */
	uint64_t total;
};

static int prefix_compare(const void *left, const void *right)
{
	const struct prefix *a = left, *b = right;

	return wcs_slice_compare(a->first, b->first);
}

/* The bytes of the salt of a stored key or bound. */
static size_t salt_len(const struct wcs_advice *advice, struct wcs_slice stored)
{
	return wcs_keys_salted(advice->keys) && stored.len > WCS_KEYS_SALT ? WCS_KEYS_SALT : 0;
}

/* The salt and the first segment of a stored key: a salt that divides the rows of a segment spreads
 * their load. */
static struct wcs_slice first_segment(const struct wcs_advice *advice, struct wcs_slice stored)
{
	const char *start = stored.data, *end = NULL;
	size_t salt = salt_len(advice, stored);

	if (stored.len > 0)
		end = memchr(start + salt, advice->delimiter, stored.len - salt);
	return (struct wcs_slice){start, end ? (size_t)(end - start) : stored.len};
}

/* Sums the ranges up by first segment. Returns the number of these. */
static size_t add_prefixes(struct prefix *prefixes, size_t count)
{
	size_t last = 0;

	qsort(prefixes, count, sizeof(*prefixes), prefix_compare);
	for (size_t i = 1; i < count; i++) {
		if (prefix_compare(&prefixes[last], &prefixes[i]) == 0)
			prefixes[last].total += prefixes[i].total;
		else
			prefixes[++last] = prefixes[i];
	}
	return last + 1;
}

static void set_hottest_prefix(struct wcs_advice *advice, const struct wcs_heat_map *map,
			       struct prefix *prefixes, size_t count)
{
	struct advice_traffic *traffic = &advice->stats->traffic;
	const struct prefix *hottest = prefixes;
	size_t salt;

	count = add_prefixes(prefixes, count);
	for (size_t i = 1; i < count; i++)
		if (prefixes[i].total > hottest->total)
			hottest = &prefixes[i];
	if (count < TRAFFIC_PREFIXES || hottest->first.len == 0)
		return;
	traffic->prefix = (double)hottest->total / (double)map->total;
	salt = salt_len(advice, hottest->first);
	advice_key_set(&traffic->prefix_key,
		       (struct wcs_slice){(const char *)hottest->first.data + salt,
					  hottest->first.len - salt});
}

static void set_operations(struct wcs_advice *advice, const struct wcs_heat_map *map)
{
	struct advice_traffic *traffic = &advice->stats->traffic;
	struct prefix *prefixes = calloc(map->rows, sizeof(*prefixes));
	size_t count = 0;
	double share;

	for (size_t i = 0; i < map->rows && prefixes; i++) {
		const struct wcs_heat_range *range = &map->ranges[i];

		if (!range->row) {
			prefixes[count++] =
				(struct prefix){first_segment(advice, range->start), range->total};
			continue;
		}
		share = (double)range->total / (double)map->total;
		if (share <= traffic->row)
			continue;
		traffic->row = share;
		advice_key_set(&traffic->row_key, wcs_keys_unsalted(advice->keys, range->start));
	}
	if (count > 0)
		set_hottest_prefix(advice, map, prefixes, count);
	free(prefixes);
}

bool rules_hot_row(const struct wcs_advice *advice, size_t at, struct advice_finding *finding)
{
	(void)at;
	finding->value = advice->stats->traffic.row;
	finding->key = &advice->stats->traffic.row_key;
	return true;
}

bool rules_hot_prefix(const struct wcs_advice *advice, size_t at, struct advice_finding *finding)
{
	(void)at;
	finding->value = advice->stats->traffic.prefix;
	finding->key = &advice->stats->traffic.prefix_key;
	return true;
}

/* ---- Writes at the end ------------------------------------------------------------------- */

/* The minutes of a map of writes. */
struct minutes {
	uint64_t active, focused; /* that have writes; most of these in one range */
	uint64_t up, down;	  /* moves of that range since the minute before */
	uint64_t last;		  /* where it was the last of the table */
	size_t top;		  /* the range of the minute before */
};

static void add_minute(struct minutes *minutes, const struct wcs_heat_map *map, size_t column)
{
	uint64_t total = 0, most = 0;
	size_t top = 0;

	for (size_t row = 0; row < map->rows; row++) {
		uint64_t value = map->values[row * map->columns + column];

		total += value;
		if (value > most) {
			most = value;
			top = row;
		}
	}
	if (total < TRAFFIC_WRITES)
		return;
	minutes->focused += most * 2 > total;
	minutes->last += top == map->rows - 1;
	minutes->up += minutes->active > 0 && top > minutes->top;
	minutes->down += minutes->active > 0 && top < minutes->top;
	minutes->active++;
	minutes->top = top;
}

static void set_writes(struct wcs_advice *advice, const struct wcs_heat_map *map)
{
	struct advice_traffic *traffic = &advice->stats->traffic;
	struct minutes minutes = {.active = 0};
	uint64_t moves, most;
	bool moving;

	for (size_t column = 0; column < map->columns; column++)
		add_minute(&minutes, map, column);
	moves = minutes.up + minutes.down;
	most = minutes.up > minutes.down ? minutes.up : minutes.down;
	moving = moves * 2 >= minutes.active && (double)most > RULES_ORDER * (double)moves;
	if (minutes.active < TRAFFIC_MINUTES || map->ranges[minutes.top].row ||
	    (!moving && (map->rows == 1 || minutes.last < minutes.active)))
		return;
	traffic->end = (double)minutes.focused / (double)minutes.active;
	advice_key_set(&traffic->end_key,
		       wcs_keys_unsalted(advice->keys, map->ranges[minutes.top].start));
}

bool rules_hot_end(const struct wcs_advice *advice, size_t at, struct advice_finding *finding)
{
	(void)at;
	finding->value = advice->stats->traffic.end;
	finding->key = &advice->stats->traffic.end_key;
	return !wcs_keys_salted(advice->keys);
}

void wcs_advice_traffic(struct wcs_advice *advice, const struct wcs_heat_map *operations,
			const struct wcs_heat_map *writes)
{
	memset(&advice->stats->traffic, 0, sizeof(advice->stats->traffic));
	if (operations->total >= TRAFFIC_OPERATIONS)
		set_operations(advice, operations);
	if (writes->total >= TRAFFIC_OPERATIONS)
		set_writes(advice, writes);
}
