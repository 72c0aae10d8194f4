/* SPDX-License-Identifier: MIT */
/* The state of a diagnosis, and what the patterns share. */
#ifndef WCS_HEAT_PATTERNS_PRIVATE_H
#define WCS_HEAT_PATTERNS_PRIVATE_H

#include <stdio.h>

#include "store/heat/patterns/patterns.h"

/* Fewer are too few to tell even load, or a scan, from other patterns. */
#define PATTERN_RANGES 8u

/* The counted part of a map, with its sums. */
struct diagnosis {
	const struct wcs_heat_map *map;
	size_t first, columns;
	size_t busy;	/* columns with values */
	uint64_t total; /* of latency the sum of means, which only tells whether there are any */
	uint64_t *of_range; /* sums of the map's ranges */
	uint64_t *of_column;
	uint64_t *rest; /* sums of the map's ranges outside scans */
	uint64_t usual; /* the lower quartile of of_column */
	uint64_t near;	/* sum of the columns that have half of theirs at a place that changes */
	size_t *order;	/* room for a number for each column */
	struct wcs_heat_finding *findings;
	size_t count;
};

/* The value of a range in a counted column. */
static inline uint64_t pattern_value(const struct diagnosis *in, size_t range, size_t column)
{
	return in->map->values[range * in->map->columns + in->first + column];
}

/* ---- finding.c ---- */
/* 0 to 100, rounded; of nothing 0. */
unsigned int pattern_percent(uint64_t part, uint64_t whole);
/* The metric as the object of a sentence. */
const char *pattern_metric(const struct wcs_heat_map *map);
/* Adds a finding about all ranges; NULL: there are too many. */
struct wcs_heat_finding *pattern_found(struct diagnosis *in, enum wcs_heat_pattern pattern);
/* Adds a finding about some ranges, which have that sum. */
struct wcs_heat_finding *pattern_found_ranges(struct diagnosis *in, enum wcs_heat_pattern pattern,
					      size_t first, size_t last, uint64_t sum);
#define PATTERN_SAY(finding, ...) snprintf((finding)->words, sizeof((finding)->words), __VA_ARGS__)

/* ---- hot.c, sequential.c, scans.c: add the findings of a pattern ---- */
void pattern_hot_rows(struct diagnosis *in);
void pattern_sequential(struct diagnosis *in);
void pattern_hot_prefix(struct diagnosis *in);
void pattern_scans(struct diagnosis *in);

#endif
