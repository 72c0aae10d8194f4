/* SPDX-License-Identifier: MIT */
/*
 * The diagnosis of a heat map: the known patterns that its values show. It looks at the map alone,
 * and only at the time that was counted. A map of full resolution gives the best one.
 *
 * The thresholds are rowfs's own; tests/unit/test_heat_diagnose.c has maps on both sides of them.
 * Shares are of the map's total:
 *
 *   little      fewer than 100 operations (not of latency), or than 5 columns counted; there is no
 *               other finding
 *   hot row     one row has more than 20 %
 *   sequential  5 columns or more have half of their values around their median: within a 32nd
 *               of the ranges on each side, or with C < 16 columns a 2C-th; these medians
 *               change 4 times or more, and have a correlation with time of 0.9 or more, or
 *               change 10 times or more, of which 80 % one way; the values around them are
 *               more than 50 %
 *   hot prefix  keys that begin with the same segments, or else bytes, have more than 30 %, hot
 *               rows left out; that is four times as much as if each prefix, segment by segment
 *               or byte by byte, had as much as those beside it; in half
 *               of the columns they have at least half of that share. The search goes on in
 *               the rest, until it finds none
 *   scans       3 times or more, neighbouring columns have three times the lower quartile of all
 *               columns, and 60 % of the ranges have in one of them twice their average of the
 *               columns outside scans; 70 % of the times between are those of one period, rounded
 *               to columns, or within a quarter of it; together they have 25 %; the map has 8
 *               ranges or more
 *   slow        of latency: a range has four times the mean
 *   even        none of these; no range has more than four times the mean, and all that ranges
 *               have above the mean is 25 % or less; there are 8 ranges or more, and 5 columns
 *               with values; columns of 32 or more, half of them around the median, have at
 *               most 50 %
 *   mixed       none of these
 */
#ifndef WCS_HEAT_PATTERNS_H
#define WCS_HEAT_PATTERNS_H

#include "store/heat/heat.h"

enum wcs_heat_pattern {
	WCS_HEAT_NONE, /* no traffic */
	WCS_HEAT_LITTLE,
	WCS_HEAT_HOT_ROW,
	WCS_HEAT_SEQUENTIAL,
	WCS_HEAT_HOT_PREFIX,
	WCS_HEAT_SCANS,
	WCS_HEAT_SLOW,
	WCS_HEAT_EVEN,
	WCS_HEAT_MIXED,
	WCS_HEAT_PATTERNS
};

struct wcs_heat_finding {
	enum wcs_heat_pattern pattern;
	bool warning;	    /* else for information */
	bool ranges;	    /* it is about some ranges of the map, not about all: */
	size_t first, last; /* these */
	unsigned int share; /* of the map's total, percent; 0: without a meaning */
	int64_t period;	    /* of scans: microseconds from one to the next */
	char words[320];    /* for a person, to stand behind "hot row STC#22: " */
};

#define WCS_HEAT_FINDINGS_MAX 8u
#define WCS_HEAT_HOT_MAX      3u /* hot rows, and hot prefixes, at most */

/* Thresholds that the rules of advice.h have, too, in percent. */
#define WCS_HEAT_HOT_ROW_SHARE	  20u
#define WCS_HEAT_HOT_PREFIX_SHARE 30u
#define WCS_HEAT_SEQUENTIAL_SHARE 50u

/* Writes the findings, one or more, the most important first. Returns how many, or -ENOMEM. Any
 * thread. */
int wcs_heat_diagnose(const struct wcs_heat_map *map,
		      struct wcs_heat_finding findings[WCS_HEAT_FINDINGS_MAX]);

/* The pattern in two or three words, "hot row"; static. */
const char *wcs_heat_pattern_name(enum wcs_heat_pattern pattern);

/* The first column of the map that was counted; at most columns. */
size_t wcs_heat_counted(const struct wcs_heat_map *map);

#endif
