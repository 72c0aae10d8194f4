/* SPDX-License-Identifier: MIT */
/* Dates and RFC 3339 times as text. */
#include "lib/times.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/names.h"

#define TIMES_SECOND INT64_C(1000000) /* microseconds */
#define TIMES_DAY    (86400 * TIMES_SECOND)
#define TIMES_1970   719468 /* days from March 1 of year 0 to 1970 */

/* ---- Days -------------------------------------------------------------------------------- */

/* A year begins in March here, so that the day of a leap year comes last. */
struct day {
	int year, month, day;
};

/* Days from 1970 to this day, which may be one that its month does not have. */
static int64_t day_number(const struct day *day)
{
	int64_t year = day->year - (day->month <= 2);
	int month = day->month + (day->month <= 2 ? 9 : -3);

	return 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day->day -
	       1 - TIMES_1970;
}

/* The day of such a number. */
static struct day day_of(int64_t number)
{
	int64_t days = number + TIMES_1970, era = days / 146097, left = days % 146097;
	int64_t year = (left - left / 1460 + left / 36524 - left / 146096) / 365;
	int in_year = (int)(left - (365 * year + year / 4 - year / 100));
	int month = (5 * in_year + 2) / 153;

	return (struct day){(int)(400 * era + year) + (month >= 10), month + (month < 10 ? 3 : -9),
			    in_year - (153 * month + 2) / 5 + 1};
}

/* ---- Reading ----------------------------------------------------------------------------- */

/* The unread text. */
struct text {
	const char *at, *end;
};

static bool text_is(struct text *text, const char *any)
{
	if (text->at == text->end || !memchr(any, *text->at, strlen(any)))
		return false;
	text->at++;
	return true;
}

/* Reads count digits, of a number from min to max. */
static bool text_number(struct text *text, int count, int min, int max, int *number)
{
	int value = 0;

	for (; count > 0; count--, text->at++) {
		if (text->at == text->end || *text->at < '0' || *text->at > '9')
			return false;
		value = 10 * value + (*text->at - '0');
	}
	*number = value;
	return value >= min && value <= max;
}

/* Reads the fraction of a second; digits beyond microseconds must be 0. */
static bool text_fraction(struct text *text, int64_t *us)
{
	const char *start = text->at;

	for (int64_t unit = 100000; text->at < text->end && *text->at >= '0' && *text->at <= '9';
	     unit /= 10) {
		if (unit == 0 && *text->at != '0')
			return false;
		*us += (*text->at++ - '0') * unit;
	}
	return text->at > start;
}

/* Reads a time of day with its offset. */
static bool text_clock(struct text *text, int64_t *us)
{
	int hour, minute, second = 0, hours = 0, minutes = 0;
	bool west = false;

	*us = 0;
	if (!text_number(text, 2, 0, 23, &hour) || !text_is(text, ":") ||
	    !text_number(text, 2, 0, 59, &minute))
		return false;
	if (text_is(text, ":") && !text_number(text, 2, 0, 59, &second))
		return false;
	if (text_is(text, ".") && !text_fraction(text, us))
		return false;
	if (!text_is(text, "Zz") && text->at < text->end) {
		west = *text->at == '-';
		if (!text_is(text, "+-") || !text_number(text, 2, 0, 23, &hours) ||
		    !text_is(text, ":") || !text_number(text, 2, 0, 59, &minutes))
			return false;
	}
	minutes += 60 * hours;
	*us += ((hour * 60 + minute - (west ? -minutes : minutes)) * 60 + second) *
	       (int64_t)1000000;
	return true;
}

int times_parse(const char *at, size_t len, int64_t *ts)
{
	struct text text = {at, at + len};
	struct day day;
	int64_t number, us = 0;

	if (!text_number(&text, 4, 1, 9999, &day.year) || !text_is(&text, "-") ||
	    !text_number(&text, 2, 1, 12, &day.month) || !text_is(&text, "-") ||
	    !text_number(&text, 2, 1, 31, &day.day))
		return -EINVAL;
	if (text_is(&text, "Tt ") && !text_clock(&text, &us))
		return -EINVAL;
	number = day_number(&day);
	us += number * TIMES_DAY;
	/* The number of February 30 is that of a day in March. */
	if (day_of(number).day != day.day || text.at != text.end || us < 0)
		return -EINVAL;
	*ts = us;
	return 0;
}

/* Reads a number and its unit. */
static bool times_span(const char *at, size_t len, int64_t *span)
{
	static const struct {
		char unit;
		int64_t us;
	} units[] = {{'s', TIMES_SECOND},
		     {'m', 60 * TIMES_SECOND},
		     {'h', 3600 * TIMES_SECOND},
		     {'d', TIMES_DAY}};
	int64_t number;

	if (len == 0 || names_ts_parse(at, len - 1, &number) != 0)
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (at[len - 1] == units[i].unit && number <= INT64_MAX / units[i].us) {
			*span = number * units[i].us;
			return true;
		}
	return false;
}

int times_parse_any(const char *at, size_t len, int64_t *time, bool *ago)
{
	*ago = len == 3 && memcmp(at, "now", 3) == 0;
	if (*ago)
		*time = 0;
	else
		*ago = times_span(at, len, time);
	return *ago || names_ts_parse(at, len, time) == 0 ? 0 : times_parse(at, len, time);
}

bool times_ask(const char *at, size_t len, char *words)
{
	char text[TIMES_MAX];
	int64_t ts;

	if (names_ts_parse(at, len, &ts) != 0 || ts >= TIMES_PLAIN)
		return false;
	snprintf(words, TIMES_ASK_MAX, "%.*s is microseconds, %.*s: " TIMES_ASK, (int)len, at,
		 (int)times_format(ts, 6, text), text);
	return true;
}

/* ---- Writing ----------------------------------------------------------------------------- */

void times_digits(uint64_t number, size_t count, char *text)
{
	for (; count > 0; number /= 10)
		text[--count] = (char)('0' + number % 10);
}

size_t times_format(int64_t ts, unsigned int decimals, char *text)
{
	static const char form[] = "0000-00-00T00:00:00.000000Z";
	struct day day = day_of(ts / TIMES_DAY);
	int64_t us = ts % TIMES_DAY, second = us / TIMES_SECOND;
	size_t len = decimals > 0 ? 20 + decimals : 19;

	memcpy(text, form, len);
	times_digits((uint64_t)day.year, 4, text);
	times_digits((uint64_t)day.month, 2, text + 5);
	times_digits((uint64_t)day.day, 2, text + 8);
	times_digits((uint64_t)(second / 3600), 2, text + 11);
	times_digits((uint64_t)(second / 60 % 60), 2, text + 14);
	times_digits((uint64_t)(second % 60), 2, text + 17);
	us %= TIMES_SECOND;
	for (unsigned int i = 6; i > decimals; i--)
		us /= 10;
	if (decimals > 0)
		times_digits((uint64_t)us, decimals, text + 20);
	text[len] = 'Z';
	return len + 1;
}
