/* SPDX-License-Identifier: MIT */
/* The classes of segments, by their characters alone: a domain is not looked up. */
#include "store/advice/segment.h"

#include <ctype.h>
#include <string.h>

#include <arpa/inet.h>

#include "lib/times.h"
#include "lib/utf8.h"

#define SEGMENT_HASH_MIN 16u
/* Bytes of a domain; of a longer segment only the bytes are looked at. */
#define SEGMENT_TEXT_MAX 253u

/* Microseconds: the start of 2001 and of 2100. */
#define SEGMENT_YEAR_2001 INT64_C(978307200000000)
#define SEGMENT_YEAR_2100 INT64_C(4102444800000000)

static size_t count_of(const char *text, int (*is)(int))
{
	size_t count = 0;

	for (; *text; text++)
		count += is((unsigned char)*text) != 0;
	return count;
}

/* ---- Numbers and times ------------------------------------------------------------------- */

static bool is_present(int64_t ts)
{
	return ts >= SEGMENT_YEAR_2001 && ts < SEGMENT_YEAR_2100;
}

/* Digits as YYYYMMDD, with hours, minutes and seconds behind them. */
static bool is_date(const char *digits, size_t len)
{
	char date[] = "YYYY-MM-DD";
	int64_t ts;

	if (len < 8 || len > 14 || len % 2)
		return false;
	memcpy(date, digits, 4);
	memcpy(date + 5, digits + 4, 2);
	memcpy(date + 8, digits + 6, 2);
	return times_parse(date, strlen(date), &ts) == 0 && is_present(ts);
}

/* Digits as a time in seconds, milliseconds, microseconds or nanoseconds, or as the distance of one
 * from the largest int64. */
static bool is_time(const char *digits, size_t len)
{
	int64_t number, scale = 1;

	if (is_date(digits, len))
		return true;
	if (wcs_integer_parse(digits, len, &number))
		return false;
	if (number > INT64_MAX - SEGMENT_YEAR_2100)
		number = INT64_MAX - number;
	if (number >= SEGMENT_YEAR_2001 * 1000)
		return is_present(number / 1000);
	while (number > 0 && number * scale < SEGMENT_YEAR_2001 && scale < 1000000)
		scale *= 1000;
	return is_present(number * scale);
}

static enum segment_class class_of_number(const char *text, size_t len)
{
	int64_t ts;

	if (len <= 19 && count_of(text, isdigit) == len)
		return is_time(text, len) ? SEGMENT_TIME : SEGMENT_NUMBER;
	return times_parse(text, len, &ts) == 0 ? SEGMENT_TIME : SEGMENT_TEXT;
}

/* ---- Hashes ------------------------------------------------------------------------------ */

static bool is_uuid(const char *text, size_t len)
{
	static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

	if (len != strlen(form))
		return false;
	for (size_t i = 0; i < len; i++)
		if (form[i] == 'x' ? !isxdigit((unsigned char)text[i]) : text[i] != '-')
			return false;
	return true;
}

/* 0: neither a letter nor a digit. */
static int kind_of(char c)
{
	if (isdigit((unsigned char)c))
		return 1;
	return islower((unsigned char)c) ? 2 : isupper((unsigned char)c) ? 3 : 0;
}

/* Letters and digits in a mix that no words have: one of four is of another kind than the one
 * before. */
static bool is_mixed(const char *text, size_t len)
{
	size_t changes = 0;

	if (strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_+/=") <
	    len)
		return false;
	for (size_t i = 1; i < len; i++)
		changes += kind_of(text[i]) && kind_of(text[i - 1]) &&
			   kind_of(text[i]) != kind_of(text[i - 1]);
	return changes * 4 >= len;
}

static bool is_hash(const char *text, size_t len)
{
	size_t digits = count_of(text, isdigit);

	if (len < SEGMENT_HASH_MIN)
		return false;
	if (count_of(text, isxdigit) == len)
		return digits > 0 && digits < len;
	return is_uuid(text, len) || is_mixed(text, len);
}

/* ---- Names and addresses ----------------------------------------------------------------- */

/* Is the label a top-level one? Two letters are a country. */
static bool is_top(const char *label, size_t len)
{
	static const char *const tops[] = {"com", "org", "net",	 "edu",	 "gov", "mil",
					   "int", "biz", "info", "arpa", "dev", "app"};

	for (size_t i = 0; i < sizeof(tops) / sizeof(*tops); i++)
		if (strlen(tops[i]) == len && strncasecmp(tops[i], label, len) == 0)
			return true;
	return len == 2 && isalpha((unsigned char)label[0]) && isalpha((unsigned char)label[1]);
}

static bool is_domain(const char *text, size_t len)
{
	const char *last = memrchr(text, '.', len);
	size_t first = strcspn(text, ".");

	if (!last || first == 0 || text[len - 1] == '.' || strstr(text, "..") ||
	    strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.") < len)
		return false;
	return is_top(last + 1, (size_t)(text + len - last - 1)) && !is_top(text, first);
}

static bool is_mail(const char *text, size_t len)
{
	const char *at = memchr(text, '@', len);

	if (!at || at == text || strchr(at + 1, '@') || strpbrk(text, " /\\"))
		return false;
	return is_domain(at + 1, (size_t)(text + len - at - 1));
}

static bool is_address(const char *text)
{
	unsigned char address[16];

	if (inet_pton(AF_INET, text, address) == 1)
		return true;
	return inet_pton(AF_INET6, text, address) == 1;
}

/* ---- All --------------------------------------------------------------------------------- */

static bool is_binary(struct wcs_slice segment)
{
	const unsigned char *bytes = segment.data;

	for (size_t i = 0; i < segment.len; i++)
		if (bytes[i] < 0x20 || bytes[i] == 0x7f)
			return true;
	return segment.len > 0 && utf8_prefix(bytes, segment.len) < segment.len;
}

enum segment_class segment_class(struct wcs_slice segment)
{
	char text[SEGMENT_TEXT_MAX + 1];
	enum segment_class class;

	if (is_binary(segment))
		return SEGMENT_BINARY;
	if (segment.len == 0 || segment.len > SEGMENT_TEXT_MAX)
		return SEGMENT_TEXT;
	memcpy(text, segment.data, segment.len);
	text[segment.len] = 0;
	class = class_of_number(text, segment.len);
	if (class != SEGMENT_TEXT)
		return class;
	if (is_address(text))
		return SEGMENT_ADDRESS;
	if (is_mail(text, segment.len))
		return SEGMENT_MAIL;
	if (is_domain(text, segment.len))
		return SEGMENT_DOMAIN;
	return is_hash(text, segment.len) ? SEGMENT_HASH : SEGMENT_TEXT;
}
