/* SPDX-License-Identifier: MIT */
/* The patterns of a heat map. Each has one function, which adds its findings. */
#include "store/advice/diagnose.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The thresholds, see diagnose.h. Shares are percent. */
#define LITTLE_TOTAL	   100u
#define LITTLE_COLUMNS	   5u
#define FEW_RANGES	   8u /* too few to tell even load, or a scan, from other patterns */
#define HOT_ROWS	   3u
#define SEQUENTIAL_COLUMNS 5u
#define SEQUENTIAL_RANGES  32u /* a 32nd of the ranges on each side of the median */
#define SEQUENTIAL_PLACES  5u
#define SEQUENTIAL_LINE	   0.9 /* correlation */
#define PREFIX_FACTOR	   4u
#define PREFIX_KEEPS	   90u /* of the prefix around it */
#define SCAN_COUNT	   3u
#define SCAN_FACTOR	   3u
#define SCAN_RANGES	   60u
#define SCAN_RANGE_FACTOR  2u
#define SCAN_REGULAR	   70u
#define SCAN_SHARE	   25u
#define UNEVEN_FACTOR	   4u
#define UNEVEN_SHARE	   25u

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
	size_t *order;	/* room for a number for each column */
	struct wcs_heat_finding *findings;
	size_t count;
};

static uint64_t value(const struct diagnosis *in, size_t range, size_t column)
{
	return in->map->values[range * in->map->columns + in->first + column];
}

static unsigned int percent(uint64_t part, uint64_t whole)
{
	return whole > 0 ? (unsigned int)(100.0 * (double)part / (double)whole + 0.5) : 0;
}

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

/* The metric as the object of a sentence. */
static const char *of_metric(const struct wcs_heat_map *map)
{
	static const char *const names[] = {"operations", "rows read", "cells written",
					    "bytes written", "latency"};

	return names[map->metric];
}

/* Adds a finding about all ranges; NULL: there are too many. */
static struct wcs_heat_finding *found(struct diagnosis *in, enum wcs_heat_pattern pattern)
{
	struct wcs_heat_finding *finding = &in->findings[in->count];

	if (in->count == WCS_HEAT_FINDINGS_MAX)
		return NULL;
	*finding = (struct wcs_heat_finding){.pattern = pattern, .last = in->map->rows - 1};
	in->count++;
	return finding;
}

static struct wcs_heat_finding *found_ranges(struct diagnosis *in, enum wcs_heat_pattern pattern,
					     size_t first, size_t last, uint64_t sum)
{
	struct wcs_heat_finding *finding = found(in, pattern);

	if (finding) {
		finding->warning = finding->ranges = true;
		finding->first = first;
		finding->last = last;
		finding->share = percent(sum, in->total);
	}
	return finding;
}

#define SAY(finding, ...) snprintf((finding)->words, sizeof((finding)->words), __VA_ARGS__)

/* A row with so much is a finding of its own, and no part of a hot prefix. */
static bool row_is_hot(const struct diagnosis *in, size_t range)
{
	return in->map->ranges[range].row &&
	       percent(in->of_range[range], in->total) > WCS_HEAT_HOT_ROW_SHARE;
}

/* ---- Hot rows ---------------------------------------------------------------------------- */

/* The order of hot rows: the hottest first. */
static bool row_is_before(const struct diagnosis *in, size_t range, size_t other)
{
	if (in->of_range[range] != in->of_range[other])
		return in->of_range[range] > in->of_range[other];
	return range < other;
}

static void hot_rows(struct diagnosis *in)
{
	const struct wcs_heat_map *map = in->map;
	struct wcs_heat_finding *finding;

	for (size_t known = 0; known < HOT_ROWS; known++) {
		size_t best = map->rows;

		for (size_t r = 0; r < map->rows; r++)
			if (row_is_hot(in, r) &&
			    (known == 0 || row_is_before(in, in->findings[known - 1].first, r)) &&
			    (best == map->rows || row_is_before(in, r, best)))
				best = r;
		if (best == map->rows)
			return;
		finding = found_ranges(in, WCS_HEAT_HOT_ROW, best, best, in->of_range[best]);
		SAY(finding,
		    "it has %u %% of all %s; a salt does not spread a single row: divide it into "
		    "several rows, or cache it.",
		    finding->share, of_metric(map));
	}
}

/* ---- Sequential keys --------------------------------------------------------------------- */

/* The places of the columns' medians, and their correlation with time. */
struct line {
	size_t side;			   /* ranges on each side of a median */
	size_t columns;			   /* that are concentrated */
	double t, tt, p, pp, tp;	   /* sums */
	uint64_t sum;			   /* of the values around the medians */
	size_t least, most, place, places; /* of the medians; places counts changes */
};

/* The range in which the middle of a column's sum lies. */
static size_t line_median(const struct diagnosis *in, size_t column)
{
	uint64_t sum = 0;
	size_t r = 0;

	while (r + 1 < in->map->rows) {
		sum += value(in, r, column);
		if (2 * sum >= in->of_column[column])
			break;
		r++;
	}
	return r;
}

static void line_add(const struct diagnosis *in, size_t column, struct line *line)
{
	size_t place = line_median(in, column), rows = in->map->rows;
	size_t side = line->side, end = place + side < rows ? place + side : rows - 1;
	uint64_t near = 0;

	for (size_t r = place > side ? place - side : 0; r <= end; r++)
		near += value(in, r, column);
	if (2 * near < in->of_column[column])
		return;
	if (line->columns == 0 || place != line->place)
		line->places++;
	if (line->columns == 0 || place < line->least)
		line->least = place;
	if (line->columns == 0 || place > line->most)
		line->most = place;
	line->place = place;
	line->columns++;
	line->sum += near;
	line->t += (double)column;
	line->tt += (double)column * (double)column;
	line->p += (double)place;
	line->pp += (double)place * (double)place;
	line->tp += (double)column * (double)place;
}

/* The correlation of place and time, -1 to 1; 0: the place does not change. */
static double line_correlation(const struct line *line)
{
	double n = (double)line->columns, time = n * line->tt - line->t * line->t,
	       place = n * line->pp - line->p * line->p;

	if (time <= 0 || place <= 0)
		return 0;
	return (n * line->tp - line->t * line->p) / sqrt(time * place);
}

static void sequential(struct diagnosis *in)
{
	struct wcs_heat_finding *finding;
	struct line line = {0};
	double correlation;
	size_t parts = 0;

	for (size_t c = 0; c < in->columns; c++)
		parts += in->of_column[c] > 0 ? 2 : 0;
	if (parts == 0)
		return;
	if (parts > SEQUENTIAL_RANGES) /* in few columns each has more ranges to itself */
		parts = SEQUENTIAL_RANGES;
	line.side = in->map->rows / parts > 1 ? in->map->rows / parts : 1;
	for (size_t c = 0; c < in->columns; c++)
		if (in->of_column[c] > 0)
			line_add(in, c, &line);
	correlation = line_correlation(&line);
	if (line.columns < SEQUENTIAL_COLUMNS ||
	    percent(line.sum, in->total) <= WCS_HEAT_SEQUENTIAL_SHARE ||
	    line.places < SEQUENTIAL_PLACES || fabs(correlation) < SEQUENTIAL_LINE)
		return;
	finding = found_ranges(in, WCS_HEAT_SEQUENTIAL, line.least, line.most, line.sum);
	if (finding)
		SAY(finding,
		    "the hot range moves %s through the keys with time and has %u %% of all %s, as "
		    "sequential %s do; begin the keys with a segment that varies, or give the "
		    "table a salt.",
		    correlation > 0 ? "forward" : "backward", finding->share, of_metric(in->map),
		    in->map->metric == WCS_HEAT_READS ? "reads" : "writes");
}

/* ---- Hot prefixes ------------------------------------------------------------------------ */

/* Do the ranges have half of their share in half of the columns with values? */
static bool prefix_lasts(const struct diagnosis *in, size_t first, size_t last, uint64_t sum)
{
	double half = 0.5 * (double)sum / (double)in->total;
	size_t with = 0;

	for (size_t c = 0; c < in->columns; c++) {
		uint64_t of = 0;

		for (size_t r = first; r <= last; r++)
			of += row_is_hot(in, r) ? 0 : value(in, r, c);
		with += of > 0 && (double)of >= half * (double)in->of_column[c];
	}
	return 2 * with >= in->busy;
}

/* Ranges whose starts begin with the same bytes. */
struct prefix {
	size_t first, end;
	uint64_t sum; /* of those that are no hot rows */
	double even;  /* the part of the total that it has if each prefix has as much as those
		       * beside it */
};

/* The part of the prefix with the largest sum that begins with one more byte. */
static struct prefix prefix_heaviest(const struct diagnosis *in, const struct prefix *of)
{
	const struct wcs_heat_range *ranges = in->map->ranges;
	size_t shared = wcs_slice_shared(ranges[of->first].start, ranges[of->end - 1].start),
	       parts = 0;
	struct prefix best = {0, 0, 0, 0}, part = {of->first, of->first, 0, 0};

	for (size_t r = of->first; r < of->end; r++) {
		if (r > of->first &&
		    wcs_slice_shared(ranges[r - 1].start, ranges[r].start) <= shared)
			part = (struct prefix){r, r, 0, 0};
		parts += part.first == r && ranges[r].start.len > shared;
		part.end = r + 1;
		part.sum += row_is_hot(in, r) ? 0 : in->of_range[r];
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
 * of it. */
static void hot_prefix(struct diagnosis *in)
{
	struct prefix at = {0, in->map->rows, in->total, 1}, hot = {0, 0, 0, 0};
	struct wcs_heat_finding *finding = NULL;

	while (at.end - at.first > 1) {
		at = prefix_heaviest(in, &at);
		if (percent(at.sum, in->total) <= WCS_HEAT_HOT_PREFIX_SHARE ||
		    (hot.sum > 0 && percent(at.sum, hot.sum) < PREFIX_KEEPS))
			break;
		if (hot.sum > 0 || prefix_is_hot(in, &at))
			hot = at;
	}
	if (hot.sum > 0 && prefix_lasts(in, hot.first, hot.end - 1, hot.sum))
		finding = found_ranges(in, WCS_HEAT_HOT_PREFIX, hot.first, hot.end - 1, hot.sum);
	if (finding)
		SAY(finding,
		    "its keys have %u %% of all %s, %.0f times their even share; a segment that "
		    "varies before the prefix, or a salt over more segments, spreads them.",
		    finding->share, of_metric(in->map),
		    (double)hot.sum / (double)in->total / hot.even);
}

/* ---- Periodic scans ---------------------------------------------------------------------- */

static int compare_numbers(const void *a, const void *b)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return x < y ? -1 : x > y;
}

static void sort(size_t *numbers, size_t count)
{
	qsort(numbers, count, sizeof(*numbers), compare_numbers);
}

/* May the column be part of a scan? */
static bool scan_has(const struct diagnosis *in, size_t column)
{
	return in->of_column[column] > 0 && in->of_column[column] / SCAN_FACTOR >= in->usual;
}

/* Sums up the columns outside scans. */
static size_t scan_rest(const struct diagnosis *in)
{
	size_t columns = 0;

	for (size_t c = 0; c < in->columns; c++) {
		if (scan_has(in, c))
			continue;
		columns++;
		for (size_t r = 0; r < in->map->rows; r++)
			in->rest[r] += value(in, r, c);
	}
	return columns;
}

/* Have most ranges twice as much in one of these columns as on average in the others, which are
 * outside scans? */
static bool scan_covers(const struct diagnosis *in, size_t column, size_t end, size_t others)
{
	size_t covered = 0;

	for (size_t r = 0; r < in->map->rows; r++) {
		bool high = false;

		for (size_t c = column; c < end && !high; c++)
			high = value(in, r, c) > 0 &&
			       (double)value(in, r, c) * (double)others >=
				       SCAN_RANGE_FACTOR * (double)in->rest[r];
		covered += high;
	}
	return percent(covered, in->map->rows) >= SCAN_RANGES;
}

/* Writes the starts of the scans to in->order. A scan is one or more neighbouring columns. Returns
 * how many; *sum: their values. */
static size_t scan_starts(struct diagnosis *in, uint64_t *sum)
{
	uint64_t of;
	size_t count = 0, end, others;

	for (size_t c = 0; c < in->columns; c++)
		in->order[c] = (size_t)in->of_column[c];
	sort(in->order, in->columns);
	in->usual = in->order[in->columns / 4];
	others = scan_rest(in);
	for (size_t c = 0; c < in->columns; c = end + 1) {
		for (end = c, of = 0; end < in->columns && scan_has(in, end); end++)
			of += in->of_column[end];
		if (end > c && scan_covers(in, c, end, others)) {
			in->order[count++] = c;
			*sum += of;
		}
	}
	return count;
}

/* The period of times between scans, in columns; 0: they are not regular. A time is in whole
 * columns, so it is that of the period, rounded up or down, or within a quarter of it. */
static double scan_period(const size_t *gaps, size_t count)
{
	size_t middle = gaps[count / 2], regular = 0;
	double period = (double)middle, sum = 0;

	for (size_t i = 0; i < count; i++)
		if (fabs((double)gaps[i] - period) <= fmax(1, period / 4)) {
			sum += (double)gaps[i];
			regular++;
		}
	period = sum / (double)regular;
	regular = 0;
	for (size_t i = 0; i < count; i++) {
		double off = fabs((double)gaps[i] - period);

		regular += off < 1 || 4 * off <= period;
	}
	return percent(regular, count) >= SCAN_REGULAR ? period : 0;
}

static void scans(struct diagnosis *in)
{
	struct wcs_heat_finding *finding;
	uint64_t sum = 0;
	size_t count = in->map->rows >= FEW_RANGES ? scan_starts(in, &sum) : 0;
	double period;

	if (count < SCAN_COUNT || percent(sum, in->total) < SCAN_SHARE)
		return;
	for (size_t i = 0; i + 1 < count; i++)
		in->order[i] = in->order[i + 1] - in->order[i];
	sort(in->order, count - 1);
	period = scan_period(in->order, count - 1);
	finding = period > 0 ? found(in, WCS_HEAT_SCANS) : NULL;
	if (!finding)
		return;
	finding->share = percent(sum, in->total);
	finding->period = (int64_t)(period * (double)in->map->step);
	SAY(finding,
	    "%zu times, about every %lld minutes, a job passes over most of the table, with "
	    "%u %% of all %s; a range of keys, or a view such as .since/1h, may be enough for "
	    "it.",
	    count, (long long)((finding->period + 30000000) / 60000000), finding->share,
	    of_metric(in->map));
}

/* ---- The rest ---------------------------------------------------------------------------- */

/* Of latency, whose values are means and have no shares. */
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
	finding = found_ranges(in, WCS_HEAT_SLOW, worst, worst, 0);
	SAY(finding,
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
	return in->map->rows >= FEW_RANGES && in->busy >= LITTLE_COLUMNS &&
	       (double)*most <= UNEVEN_FACTOR * mean &&
	       100 * above <= UNEVEN_SHARE * (double)in->total;
}

static void other(struct diagnosis *in)
{
	bool latency = in->map->metric == WCS_HEAT_LATENCY;
	uint64_t most = 0;
	bool even = latency || ranges_are_even(in, &most);
	struct wcs_heat_finding *finding = found(in, even ? WCS_HEAT_EVEN : WCS_HEAT_MIXED);

	finding->share = latency ? 0 : percent(most, in->total);
	if (latency)
		SAY(finding, "no range of keys is much slower than the others.");
	else if (even)
		SAY(finding, "the keys spread %s well; no range has more than %u %% of them.",
		    of_metric(in->map), finding->share > 0 ? finding->share : 1);
	else
		SAY(finding,
		    "the hottest of %zu ranges has %u %% of all %s; %zu of %zu columns have any.",
		    in->map->rows, finding->share, of_metric(in->map), in->busy, in->columns);
}

/* Is there too little to judge? */
static bool little(struct diagnosis *in)
{
	struct wcs_heat_finding *finding;

	if (in->total == 0) {
		finding = found(in, WCS_HEAT_NONE);
		SAY(finding, "nothing was counted.");
	} else if (in->columns < LITTLE_COLUMNS || in->total < LITTLE_TOTAL) {
		finding = found(in, WCS_HEAT_LITTLE);
		SAY(finding, "a diagnosis needs %u columns of time and %u %s.", LITTLE_COLUMNS,
		    LITTLE_TOTAL, of_metric(in->map));
	}
	return in->count > 0;
}

static void sum_up(struct diagnosis *in)
{
	for (size_t r = 0; r < in->map->rows; r++)
		for (size_t c = 0; c < in->columns; c++) {
			in->of_range[r] += value(in, r, c);
			in->of_column[c] += value(in, r, c);
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
			hot_rows(&in);
			sequential(&in);
			hot_prefix(&in);
			scans(&in);
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
