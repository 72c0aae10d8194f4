/* SPDX-License-Identifier: MIT */
/*
 * A table for awk, sort and spreadsheets: a line for each range, a column for each time:
 *
 *   start<TAB>end<TAB>row<TAB>total<TAB>2026-11-26T08:02:00Z<TAB>2026-11-26T08:03:00Z…
 *   STC#22<TAB>STC#23<TAB>0<TAB>420<TAB>120<TAB>300…
 *
 * An empty start is the first key, an empty end is behind the last one; row is 1 if the range is
 * one row. The total of latency is the mean.
 */
#include <errno.h>
#include <stdlib.h>

#include "fs/keyvis/picture.h"
#include "lib/times.h"

static void tsv_head(const struct keyvis_picture *picture, FILE *to)
{
	char time[TIMES_MAX];
	size_t len;

	fputs("start\tend\trow\ttotal", to);
	for (size_t c = 0; c < picture->columns; c++) {
		len = times_format(picture->start + (int64_t)c * picture->map->step, 0, time);
		fprintf(to, "\t%.*s", (int)len, time);
	}
	fputc('\n', to);
}

int keyvis_put_tsv(const struct keyvis_picture *picture, FILE *to)
{
	const struct wcs_heat_map *map = picture->map;
	int rc = 0;

	tsv_head(picture, to);
	for (size_t r = 0; r < map->rows && rc == 0; r++) {
		const struct wcs_heat_range *range = &map->ranges[r];
		char *start = keyvis_key(picture->table, range->start),
		     *end = keyvis_key(picture->table, range->end);

		if (start && end)
			fprintf(to, "%s\t%s\t%d\t%llu", start, end, range->row,
				(unsigned long long)range->total);
		else
			rc = -ENOMEM;
		for (size_t c = 0; c < picture->columns; c++)
			fprintf(to, "\t%llu", (unsigned long long)keyvis_value(picture, r, c));
		fputc('\n', to);
		free(start);
		free(end);
	}
	return rc;
}
