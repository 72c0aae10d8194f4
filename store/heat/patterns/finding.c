/* SPDX-License-Identifier: MIT */
/* Findings, and the words and numbers that the patterns share. */
#include "store/heat/patterns/patterns_private.h"

unsigned int pattern_percent(uint64_t part, uint64_t whole)
{
	return whole > 0 ? (unsigned int)(100.0 * (double)part / (double)whole + 0.5) : 0;
}

const char *pattern_metric(const struct wcs_heat_map *map)
{
	static const char *const names[] = {"operations", "rows read", "cells written",
					    "bytes written", "latency"};

	return names[map->metric];
}

struct wcs_heat_finding *pattern_found(struct diagnosis *in, enum wcs_heat_pattern pattern)
{
	struct wcs_heat_finding *finding = &in->findings[in->count];

	if (in->count == WCS_HEAT_FINDINGS_MAX)
		return NULL;
	*finding = (struct wcs_heat_finding){.pattern = pattern, .last = in->map->rows - 1};
	in->count++;
	return finding;
}

struct wcs_heat_finding *pattern_found_ranges(struct diagnosis *in, enum wcs_heat_pattern pattern,
					      size_t first, size_t last, uint64_t sum)
{
	struct wcs_heat_finding *finding = pattern_found(in, pattern);

	if (finding) {
		finding->warning = finding->ranges = true;
		finding->first = first;
		finding->last = last;
		finding->share = pattern_percent(sum, in->total);
	}
	return finding;
}
