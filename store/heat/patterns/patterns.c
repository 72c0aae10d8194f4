/* SPDX-License-Identifier: MIT */
/* The diagnosis: the order of the patterns, and what is said where there is none. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "store/heat/patterns/patterns_private.h"

/* See patterns.h. Shares are percent. */
#define LITTLE_TOTAL   100u
#define LITTLE_COLUMNS 5u
#define UNEVEN_FACTOR  4u
#define UNEVEN_SHARE   25u

size_t wcs_heat_counted(const struct wcs_heat_map *map)
{
	int64_t before = map->step > 0 ? (map->counting - map->start) / map->step : 0;

	if (before <= 0)
		return 0;
	return (uint64_t)before < map->columns ? (size_t)before : map->columns;
}

static const char *const pattern_names[WCS_HEAT_PATTERNS] = {
	[WCS_HEAT_NONE] = "no traffic",	      [WCS_HEAT_LITTLE] = "little traffic",
	[WCS_HEAT_HOT_ROW] = "hot row",	      [WCS_HEAT_SEQUENTIAL] = "sequential keys",
	[WCS_HEAT_HOT_PREFIX] = "hot prefix", [WCS_HEAT_SCANS] = "periodic scans",
	[WCS_HEAT_SLOW] = "slow range",	      [WCS_HEAT_EVEN] = "even load",
	[WCS_HEAT_MIXED] = "no known pattern"};

const char *wcs_heat_pattern_name(enum wcs_heat_pattern pattern)
{
	return pattern_names[pattern];
}

/* ---- The rest ---------------------------------------------------------------------------- */

/* Finds the slow ranges of latency, whose values are means and have no shares. */
static void slow_ranges(struct diagnosis *in)
{
	const struct wcs_heat_map *map = in->map;
	struct wcs_heat_finding *finding;
	size_t worst = 0;

	for (size_t r = 0; r < map->rows; r++)
		if (map->ranges[r].total > map->ranges[worst].total)
			worst = r;
	if (map->ranges[worst].total / UNEVEN_FACTOR < map->total || map->total == 0)
		return;
	finding = pattern_found_ranges(in, WCS_HEAT_SLOW, worst, worst, 0);
	PATTERN_SAY(finding,
		    "its requests take %llu microseconds on average, those of all ranges %llu; the "
		    "usual reasons are large values, long histories and wide rows.",
		    (unsigned long long)map->ranges[worst].total, (unsigned long long)map->total);
}

/* Has each range about the same? *most: the sum of the hottest. */
static bool ranges_are_even(const struct diagnosis *in, uint64_t *most)
{
	double mean = (double)in->total / (double)in->map->rows, above = 0;

	for (size_t r = 0; r < in->map->rows; r++) {
		above += fmax(0, (double)in->of_range[r] - mean);
		*most = in->of_range[r] > *most ? in->of_range[r] : *most;
	}
	return in->map->rows >= PATTERN_RANGES && in->busy >= LITTLE_COLUMNS &&
	       (double)*most <= UNEVEN_FACTOR * mean &&
	       100 * above <= UNEVEN_SHARE * (double)in->total;
}

/* Is most of the traffic of each time at one place of the keys? Bytes are too many to tell. */
static bool moves(const struct diagnosis *in)
{
	return in->map->metric != WCS_HEAT_BYTES &&
	       pattern_percent(in->near, in->total) > WCS_HEAT_SEQUENTIAL_SHARE;
}

static void other(struct diagnosis *in)
{
	bool latency = in->map->metric == WCS_HEAT_LATENCY;
	uint64_t most = 0;
	bool even = latency || (ranges_are_even(in, &most) && !moves(in));
	struct wcs_heat_finding *finding = pattern_found(in, even ? WCS_HEAT_EVEN : WCS_HEAT_MIXED);

	finding->share = latency ? 0 : pattern_percent(most, in->total);
	if (latency)
		PATTERN_SAY(finding, "no range of keys is much slower than the others.");
	else if (even)
		PATTERN_SAY(finding,
			    "the keys spread %s well; no range has more than %u %% of them.",
			    pattern_metric(in->map), finding->share > 0 ? finding->share : 1);
	else if (moves(in))
		PATTERN_SAY(finding,
			    "most columns have half of their %s or more at one place of the keys, "
			    "which changes.",
			    pattern_metric(in->map));
	else
		PATTERN_SAY(finding,
			    "the hottest of %zu ranges has %s%u %% of all %s; %zu of %zu columns "
			    "have any.",
			    in->map->rows, finding->share > 0 ? "" : "less than ",
			    finding->share > 0 ? finding->share : 1, pattern_metric(in->map),
			    in->busy, in->columns);
}

/* Is there too little to judge? */
static bool little(struct diagnosis *in)
{
	bool latency = in->map->metric == WCS_HEAT_LATENCY;
	struct wcs_heat_finding *finding;

	if (in->total == 0) {
		finding = pattern_found(in, WCS_HEAT_NONE);
		PATTERN_SAY(finding, "nothing was counted.");
	} else if (in->columns < LITTLE_COLUMNS || (!latency && in->total < LITTLE_TOTAL)) {
		finding = pattern_found(in, WCS_HEAT_LITTLE);
		if (latency)
			PATTERN_SAY(finding, "a diagnosis needs %u columns of time.",
				    LITTLE_COLUMNS);
		else
			PATTERN_SAY(finding, "a diagnosis needs %u columns of time and %u %s.",
				    LITTLE_COLUMNS, LITTLE_TOTAL, pattern_metric(in->map));
	}
	return in->count > 0;
}

static void sum_up(struct diagnosis *in)
{
	for (size_t r = 0; r < in->map->rows; r++)
		for (size_t c = 0; c < in->columns; c++) {
			in->of_range[r] += pattern_value(in, r, c);
			in->of_column[c] += pattern_value(in, r, c);
		}
	for (size_t c = 0; c < in->columns; c++) {
		in->busy += in->of_column[c] > 0;
		in->total += in->of_column[c];
	}
}

int wcs_heat_diagnose(const struct wcs_heat_map *map,
		      struct wcs_heat_finding findings[WCS_HEAT_FINDINGS_MAX])
{
	size_t first = wcs_heat_counted(map), columns = map->columns - first;
	struct diagnosis in = {.map = map,
			       .first = first,
			       .columns = columns,
			       .of_range = calloc(map->rows, sizeof(uint64_t)),
			       .rest = calloc(map->rows, sizeof(uint64_t)),
			       .of_column = calloc(columns + 1, sizeof(uint64_t)),
			       .order = calloc(columns + 1, sizeof(size_t)),
			       .findings = findings};
	bool memory = in.of_range && in.rest && in.of_column && in.order;

	if (memory) {
		sum_up(&in);
		if (!little(&in) && map->metric == WCS_HEAT_LATENCY) {
			slow_ranges(&in);
		} else if (in.count == 0) {
			pattern_hot_rows(&in);
			pattern_sequential(&in);
			pattern_hot_prefix(&in);
			pattern_scans(&in);
		}
		if (in.count == 0)
			other(&in);
	}
	free(in.of_range);
	free(in.rest);
	free(in.of_column);
	free(in.order);
	return memory ? (int)in.count : -ENOMEM;
}
