/* SPDX-License-Identifier: MIT */
/* Dates and RFC 3339 times as text. */
#include "lib/times.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

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
	struct tm tm = {0};
	int year, month, day;
	int64_t us = 0;

	if (!text_number(&text, 4, 1, 9999, &year) || !text_is(&text, "-") ||
	    !text_number(&text, 2, 1, 12, &month) || !text_is(&text, "-") ||
	    !text_number(&text, 2, 1, 31, &day))
		return -EINVAL;
	tm.tm_year = year - 1900;
	tm.tm_mon = month - 1;
	tm.tm_mday = day;
	if (text_is(&text, "Tt ") && !text_clock(&text, &us))
		return -EINVAL;
	us += timegm(&tm) * INT64_C(1000000);
	/* timegm makes February 30 a day in March. */
	if (tm.tm_mday != day || text.at != text.end || us < 0)
		return -EINVAL;
	*ts = us;
	return 0;
}
