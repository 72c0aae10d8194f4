/* SPDX-License-Identifier: MIT */
/* Periodic scans: columns in which most ranges have more than in the others. */
#include <math.h>
#include <stdlib.h>

#include "store/heat/patterns/patterns_private.h"

/* See patterns.h. Shares are percent. */
#define SCAN_COUNT	  3u
#define SCAN_FACTOR	  3u
#define SCAN_RANGES	  60u
#define SCAN_RANGE_FACTOR 2u
#define SCAN_REGULAR	  70u
#define SCAN_SHARE	  25u

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
			in->rest[r] += pattern_value(in, r, c);
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
			high = pattern_value(in, r, c) > 0 &&
			       (double)pattern_value(in, r, c) * (double)others >=
				       SCAN_RANGE_FACTOR * (double)in->rest[r];
		covered += high;
	}
	return pattern_percent(covered, in->map->rows) >= SCAN_RANGES;
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
	return pattern_percent(regular, count) >= SCAN_REGULAR ? period : 0;
}

void pattern_scans(struct diagnosis *in)
{
	struct wcs_heat_finding *finding;
	uint64_t sum = 0;
	size_t count = in->map->rows >= PATTERN_RANGES ? scan_starts(in, &sum) : 0;
	double period;

	if (count < SCAN_COUNT || pattern_percent(sum, in->total) < SCAN_SHARE)
		return;
	for (size_t i = 0; i + 1 < count; i++)
		in->order[i] = in->order[i + 1] - in->order[i];
	sort(in->order, count - 1);
	period = scan_period(in->order, count - 1);
	finding = period > 0 ? pattern_found(in, WCS_HEAT_SCANS) : NULL;
	if (!finding)
		return;
	finding->share = pattern_percent(sum, in->total);
	finding->period = (int64_t)(period * (double)in->map->step);
	PATTERN_SAY(
		finding,
		"%zu times, about every %lld minutes, a job passes over most of the table, with "
		"%u %% of all %s; a range of keys, or a view such as .since/1h, may be enough for "
		"it.",
		count, (long long)((finding->period + 30000000) / 60000000), finding->share,
		pattern_metric(in->map));
}
