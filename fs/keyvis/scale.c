/* SPDX-License-Identifier: MIT */
/* Values as levels and colours; numbers and times as text. */
#include <math.h>
#include <string.h>

#include "fs/keyvis/picture.h"
#include "lib/times.h"

#define SCALE_DECADES 2.5 /* from the last level down to the first */
#define SCALE_EVEN    8u  /* times the mean is in the last level */
#define MINUTE	      INT64_C(60000000)

/* Even steps of lightness in OKLCH, with hues from violet over red to yellow. */
const struct keyvis_colour keyvis_colours[KEYVIS_LEVELS + 1] = {
	{0x17171f, 234}, {0x371c7c, 18},  {0x591e89, 54},  {0x7d1f8e, 90},  {0xa12089, 126},
	{0xc4257b, 162}, {0xe23466, 161}, {0xf94d49, 203}, {0xfe7638, 202}, {0xff993b, 208},
	{0xfeb847, 214}, {0xffd54a, 220}, {0xf5f372, 227}};

struct keyvis_scale keyvis_scale(const struct wcs_heat_map *map)
{
	size_t first = wcs_heat_counted(map), cells = map->rows * (map->columns - first);
	uint64_t most = 0;
	double sum = 0, high;

	for (size_t r = 0; r < map->rows; r++)
		for (size_t c = first; c < map->columns; c++) {
			uint64_t value = map->values[r * map->columns + c];

			sum += (double)value;
			most = value > most ? value : most;
		}
	high = cells > 0 ? SCALE_EVEN * sum / (double)cells : 1;
	high = high > (double)most ? high : (double)most;
	high = high > 1 ? high : 1;
	return (struct keyvis_scale){.low = (uint64_t)ceil(high / pow(10, SCALE_DECADES)),
				     .high = (uint64_t)high};
}

/* The number of levels between the bounds. */
static double scale_position(const struct keyvis_scale *scale, uint64_t value, unsigned int levels)
{
	if (scale->high <= scale->low)
		return value < scale->high ? 0 : levels;
	return (levels - 1) * log((double)value / (double)scale->low) /
	       log((double)scale->high / (double)scale->low);
}

unsigned int keyvis_level(const struct keyvis_scale *scale, uint64_t value, unsigned int levels)
{
	double at = value > 0 ? scale_position(scale, value, levels) : 0;

	if (value == 0)
		return 0;
	if (at <= 0)
		return 1;
	return at + 1e-9 >= levels - 1 ? levels : 1 + (unsigned int)(at + 1e-9);
}

uint64_t keyvis_level_start(const struct keyvis_scale *scale, unsigned int level,
			    unsigned int levels)
{
	if (level <= 1)
		return level;
	return (uint64_t)ceil((double)scale->low * pow((double)scale->high / (double)scale->low,
						       (double)(level - 1) / (levels - 1)) -
			      1e-6);
}

void keyvis_number(uint64_t number, char text[8])
{
	static const char units[] = {0, 'k', 'M', 'G', 'T', 'P', 'E'};
	double value = (double)number;
	size_t unit = 0;

	while (value >= 999.5) {
		value /= 1000;
		unit++;
	}
	snprintf(text, 8, "%.*f%.1s", unit > 0 && value < 9.95 ? 1 : 0, value, &units[unit]);
}

void keyvis_span(int64_t microseconds, char text[32])
{
	static const struct {
		int64_t minutes;
		const char *name;
	} units[] = {{1440, "day"}, {60, "hour"}, {1, "minute"}};
	int64_t minutes = microseconds / MINUTE;
	size_t unit = 0;

	while (unit < 2 && (minutes < units[unit].minutes || minutes % units[unit].minutes != 0))
		unit++;
	snprintf(text, 32, "%lld %s%s", (long long)(minutes / units[unit].minutes),
		 units[unit].name, minutes == units[unit].minutes ? "" : "s");
}

void keyvis_time(int64_t at, bool date, char text[20])
{
	char whole[TIMES_MAX];
	size_t from = date ? 0 : 11;

	times_format(at, 0, whole);
	whole[10] = ' ';
	memcpy(text, whole + from, 16 - from);
	text[16 - from] = '\0';
}

size_t keyvis_ticks(int64_t start, int64_t step, size_t columns, size_t most,
		    struct keyvis_tick ticks[KEYVIS_TICKS_MAX])
{
	static const short minutes[] = {1,   5,	  10,  15,   30,   60,	 120,
					180, 360, 720, 1440, 2880, 5760, 10080};
	int64_t end = start + step * (int64_t)columns, every = 0, at;
	size_t count = 0;
	char whole[20];

	for (size_t i = 0; i < sizeof(minutes) / sizeof(minutes[0]); i++) {
		every = minutes[i] * MINUTE;
		if ((end - start) / every + 1 <= (int64_t)most)
			break;
	}
	for (at = (start + every - 1) / every * every; at < end && count < most; at += every) {
		keyvis_time(at, true, whole);
		ticks[count].column = (size_t)((at - start) / step);
		memcpy(ticks[count].text, whole + (at % (1440 * MINUTE) == 0 ? 5 : 11), 5);
		ticks[count].text[5] = '\0';
		count++;
	}
	return count;
}
