/* SPDX-License-Identifier: MIT */
/* Sequential keys: the places of the columns' medians are on a line, or go one way. */
#include <math.h>

#include "store/heat/patterns/patterns_private.h"

/* See patterns.h. */
#define SEQUENTIAL_COLUMNS 5u
#define SEQUENTIAL_RANGES  32u /* a 32nd of the ranges on each side of the median */
#define SEQUENTIAL_PLACES  5u
#define SEQUENTIAL_LINE	   0.9 /* correlation */
#define SEQUENTIAL_STEPS   10u /* or more, of which */
#define SEQUENTIAL_WAY	   80u /* percent go one way */
#define SEQUENTIAL_VALUES  32u /* of a column; fewer are at one place by chance */

/* The places of the columns' medians, and their correlation with time. */
struct line {
	size_t side;			   /* ranges on each side of a median */
	size_t columns;			   /* that are concentrated */
	double t, tt, p, pp, tp;	   /* sums */
	uint64_t sum;			   /* of the values around the medians */
	uint64_t near;			   /* of all values of these columns, if not too few */
	size_t least, most, place, places; /* of the medians; places counts changes */
	size_t up, down;		   /* of the changes */
};

/* The range in which the middle of a column's sum lies. */
static size_t line_median(const struct diagnosis *in, size_t column)
{
	uint64_t sum = 0;
	size_t r = 0;

	while (r + 1 < in->map->rows) {
		sum += pattern_value(in, r, column);
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
		near += pattern_value(in, r, column);
	if (2 * near < in->of_column[column])
		return;
	if (in->of_column[column] >= SEQUENTIAL_VALUES)
		line->near += in->of_column[column];
	if (line->columns == 0 || place != line->place)
		line->places++;
	line->up += line->columns > 0 && place > line->place;
	line->down += line->columns > 0 && place < line->place;
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

/* 1: the places go forward with time, -1: backward; 0: neither. Keys that begin anew, such as those
 * of a ring, are on no line, but most of their steps go one way. */
static int line_direction(const struct line *line)
{
	double correlation = line_correlation(line);
	size_t steps = line->up + line->down;

	if (line->places < SEQUENTIAL_PLACES)
		return 0;
	if (fabs(correlation) >= SEQUENTIAL_LINE)
		return correlation > 0 ? 1 : -1;
	if (steps < SEQUENTIAL_STEPS) /* fewer may be in order by chance */
		return 0;
	if (100 * line->up >= SEQUENTIAL_WAY * steps)
		return 1;
	return 100 * line->down >= SEQUENTIAL_WAY * steps ? -1 : 0;
}

void pattern_sequential(struct diagnosis *in)
{
	struct wcs_heat_finding *finding;
	struct line line = {0};
	size_t parts = 0;
	int direction;

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
	if (line.columns < SEQUENTIAL_COLUMNS)
		return;
	if (line.places > 1)
		in->near = line.near;
	direction = line_direction(&line);
	if (pattern_percent(line.sum, in->total) <= WCS_HEAT_SEQUENTIAL_SHARE || direction == 0)
		return;
	finding = pattern_found_ranges(in, WCS_HEAT_SEQUENTIAL, line.least, line.most, line.sum);
	if (finding)
		PATTERN_SAY(
			finding,
			"the hot range moves %s through the keys with time and has %u %% of all "
			"%s, as sequential %s do; begin the keys with a segment that varies, or "
			"give the table a salt.",
			direction > 0 ? "forward" : "backward", finding->share,
			pattern_metric(in->map),
			in->map->metric == WCS_HEAT_READS ? "reads" : "writes");
}
