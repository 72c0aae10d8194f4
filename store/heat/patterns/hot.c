/* SPDX-License-Identifier: MIT */
/* Hot rows and hot prefixes. */
#include "store/heat/patterns/patterns_private.h"

/* See patterns.h. Shares are percent. */
#define PREFIX_FACTOR 4u
#define PREFIX_KEEPS  90u /* of the prefix around it */

/* ---- Hot rows ---------------------------------------------------------------------------- */

/* A row with so much is a finding of its own, and no part of a hot prefix. */
static bool row_is_hot(const struct diagnosis *in, size_t range)
{
	return in->map->ranges[range].row &&
	       pattern_percent(in->of_range[range], in->total) > WCS_HEAT_HOT_ROW_SHARE;
}

/* The order of hot rows: the hottest first. */
static bool row_is_before(const struct diagnosis *in, size_t range, size_t other)
{
	if (in->of_range[range] != in->of_range[other])
		return in->of_range[range] > in->of_range[other];
	return range < other;
}

void pattern_hot_rows(struct diagnosis *in)
{
	const struct wcs_heat_map *map = in->map;
	struct wcs_heat_finding *finding;

	for (size_t known = 0; known < WCS_HEAT_HOT_MAX; known++) {
		size_t best = map->rows;

		for (size_t r = 0; r < map->rows; r++)
			if (row_is_hot(in, r) &&
			    (known == 0 || row_is_before(in, in->findings[known - 1].first, r)) &&
			    (best == map->rows || row_is_before(in, r, best)))
				best = r;
		if (best == map->rows)
			return;
		finding =
			pattern_found_ranges(in, WCS_HEAT_HOT_ROW, best, best, in->of_range[best]);
		PATTERN_SAY(finding,
			    "it has %u %% of all %s; a salt does not spread a single row: divide "
			    "it into several rows, or cache it.",
			    finding->share, pattern_metric(map));
	}
}

/* ---- Hot prefixes ------------------------------------------------------------------------ */

/* Is the range a hot row, or in a hot prefix that was found? */
static bool prefix_leaves_out(const struct diagnosis *in, size_t range)
{
	for (size_t i = 0; i < in->count; i++)
		if (in->findings[i].pattern == WCS_HEAT_HOT_PREFIX &&
		    range >= in->findings[i].first && range <= in->findings[i].last)
			return true;
	return row_is_hot(in, range);
}

/* Do the ranges have half of their share in half of the columns with values? */
static bool prefix_lasts(const struct diagnosis *in, size_t first, size_t last, uint64_t sum)
{
	double half = 0.5 * (double)sum / (double)in->total;
	size_t with = 0;

	for (size_t c = 0; c < in->columns; c++) {
		uint64_t of = 0;

		for (size_t r = first; r <= last; r++)
			of += prefix_leaves_out(in, r) ? 0 : pattern_value(in, r, c);
		with += of > 0 && (double)of >= half * (double)in->of_column[c];
	}
	return 2 * with >= in->busy;
}

/* Ranges whose starts begin with the same bytes or segments. */
struct prefix {
	size_t first, end;
	uint64_t sum; /* without what is left out */
	double even;  /* the part of the total that it has if each prefix has as much as those
		       * beside it */
};

/* What a prefix consists of. */
enum unit { SEGMENTS, BYTES };

/* The units at the start that both have. */
static size_t units_shared(const struct diagnosis *in, enum unit unit, struct wcs_slice a,
			   struct wcs_slice b)
{
	return unit == BYTES ? wcs_slice_shared(a, b)
			     : wcs_slice_shared_segments(a, b, in->map->delimiter);
}

/* The part of the prefix with the largest sum that begins with one more unit. */
static struct prefix prefix_heaviest(const struct diagnosis *in, enum unit unit,
				     const struct prefix *of)
{
	const struct wcs_heat_range *ranges = in->map->ranges;
	struct wcs_slice from = ranges[of->first].start;
	size_t shared = units_shared(in, unit, from, ranges[of->end - 1].start), parts = 0;
	struct prefix best = {0, 0, 0, 0}, part = {of->first, of->first, 0, 0};

	for (size_t r = of->first; r < of->end; r++) {
		struct wcs_slice start = ranges[r].start;

		if (r > of->first && units_shared(in, unit, ranges[r - 1].start, start) <= shared)
			part = (struct prefix){r, r, 0, 0};
		parts += part.first == r && start.len > 0 &&
			 units_shared(in, unit, start, start) > shared;
		part.end = r + 1;
		part.sum += prefix_leaves_out(in, r) ? 0 : in->of_range[r];
		if (part.sum >= best.sum)
			best = part;
	}
	best.even = of->even / (double)(parts > 0 ? parts : 1);
	return best;
}

static bool prefix_is_hot(const struct diagnosis *in, const struct prefix *prefix)
{
	return (double)prefix->sum >= PREFIX_FACTOR * prefix->even * (double)in->total;
}

/* Follows the largest sums down to a prefix that is hot, and on while a longer one has nearly all
 * of it. Sum 0: none is hot. */
static struct prefix prefix_find(const struct diagnosis *in, enum unit unit)
{
	struct prefix at = {0, in->map->rows, in->total, 1}, hot = {0, 0, 0, 0};

	while (at.end - at.first > 1) {
		at = prefix_heaviest(in, unit, &at);
		if (pattern_percent(at.sum, in->total) <= WCS_HEAT_HOT_PREFIX_SHARE ||
		    (hot.sum > 0 && pattern_percent(at.sum, hot.sum) < PREFIX_KEEPS))
			break;
		if (hot.sum > 0 || prefix_is_hot(in, &at))
			hot = at;
	}
	return hot;
}

/* Adds the finding of a prefix; false: it is none. */
static bool prefix_found(struct diagnosis *in, const struct prefix *hot)
{
	struct wcs_heat_finding *finding = NULL;

	if (hot->sum > 0 && prefix_lasts(in, hot->first, hot->end - 1, hot->sum))
		finding = pattern_found_ranges(in, WCS_HEAT_HOT_PREFIX, hot->first, hot->end - 1,
					       hot->sum);
	if (!finding)
		return false;
	PATTERN_SAY(finding,
		    "its keys have %u %% of all %s, %.0f times their even share; a segment "
		    "that varies before the prefix, or a salt over more segments, spreads "
		    "them.",
		    finding->share, pattern_metric(in->map),
		    (double)hot->sum / (double)in->total / hot->even);
	return true;
}

/* Whole segments have a meaning; bytes also find a hot part of the values of one segment. */
void pattern_hot_prefix(struct diagnosis *in)
{
	struct prefix hot = prefix_find(in, SEGMENTS);
	enum unit unit = hot.sum > 0 ? SEGMENTS : BYTES;

	if (unit == BYTES)
		hot = prefix_find(in, BYTES);
	while (prefix_found(in, &hot))
		hot = prefix_find(in, unit);
}
