/* SPDX-License-Identifier: MIT */
/* The classes of segments, by their characters alone: a domain is not looked up. */
#include "store/advice/advice_private.h"

#include <ctype.h>
#include <stdlib.h>
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

/* Digits as of is_date, or a year and a month, with separators behind the year: 2026-11,
 * 20261127T0011Z, 2026/11/27/00. */
static bool is_separated_date(const char *text, size_t len)
{
	char digits[15] = "";
	size_t count = 0;

	len -= len > 0 && text[len - 1] == 'Z';
	if (strspn(text, "0123456789") < 4 || len > 19)
		return false;
	for (size_t i = 0; i < len; i++) {
		if (isdigit((unsigned char)text[i]) && count < sizeof(digits) - 1)
			digits[count++] = text[i];
		else if (!strchr("-/.:_T ", text[i]))
			return false;
	}
	if (count == len)
		return false;
	if (count == 6)
		count = (size_t)(stpcpy(digits + 6, "01") - digits);
	return is_date(digits, count);
}

/* A ULID: ten characters of Crockford's base 32 are milliseconds; see github.com/ulid/spec. */
static bool is_ulid(const char *text, size_t len)
{
	static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
	int64_t ms = 0;

	if (len != 26 || text[0] > '7' || strspn(text, digits) < len)
		return false;
	for (size_t i = 0; i < 10; i++)
		ms = ms * 32 + (strchr(digits, text[i]) - digits);
	return ms < SEGMENT_YEAR_2100 / 1000 && is_present(ms * 1000);
}

static enum segment_class class_of_number(const char *text, size_t len)
{
	int64_t ts;

	if (len <= 19 && count_of(text, isdigit) == len)
		return is_time(text, len) ? SEGMENT_TIME : SEGMENT_NUMBER;
	return times_parse(text, len, &ts) == 0 || is_separated_date(text, len) ||
			       is_ulid(text, len)
		       ? SEGMENT_TIME
		       : SEGMENT_TEXT;
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

/* Version 7 begins with 48 bits of milliseconds (RFC 9562). */
static bool is_uuid_of_time(const char *text)
{
	char digits[13];
	int64_t ms;

	memcpy(digits, text, 8);
	memcpy(digits + 8, text + 9, 4);
	digits[12] = 0;
	ms = strtoll(digits, NULL, 16);
	return text[14] == '7' && ms < SEGMENT_YEAR_2100 / 1000 && is_present(ms * 1000);
}

/* 0: neither a letter nor a digit. */
static int kind_of(char c)
{
	if (isdigit((unsigned char)c))
		return 1;
	return islower((unsigned char)c) ? 2 : isupper((unsigned char)c) ? 3 : 0;
}

/* Letters and digits in a mix that no words have: one of four is of another kind than the one
 * before. A small letter behind a capital one is no change: words begin so. */
static bool is_mixed(const char *text, size_t len)
{
	size_t changes = 0;

	if (strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_+/=") <
	    len)
		return false;
	for (size_t i = 1; i < len; i++)
		changes +=
			kind_of(text[i]) && kind_of(text[i - 1]) &&
			kind_of(text[i]) != kind_of(text[i - 1]) &&
			!(isupper((unsigned char)text[i - 1]) && islower((unsigned char)text[i]));
	return changes * 4 >= len;
}

static bool is_hash(const char *text, size_t len)
{
	const char *label = strrchr(text, ':');
	size_t digits = count_of(text, isdigit);

	if (label) /* sha256:, urn:uuid: */
		return is_hash(label + 1, len - (size_t)(label + 1 - text));
	if (len < SEGMENT_HASH_MIN)
		return false;
	if (count_of(text, isxdigit) == len)
		return digits > 0 && digits * 8 <= len * 7;
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

/* Two words of which the second one is a suffix of files of source text: rather that than the
 * country. */
static bool is_file(const char *text)
{
	static const char *const suffixes[] = {"py", "rs", "md", "sh", "js", "ts", "cc", "so",
					       "gz", "xz", "go", "rb", "cs", "hs", "pl"};
	const char *dot = strchr(text, '.');

	for (size_t i = 0; dot && i < sizeof(suffixes) / sizeof(*suffixes); i++)
		if (strcasecmp(dot + 1, suffixes[i]) == 0)
			return true;
	return false;
}

static bool is_mail(const char *text, size_t len)
{
	const char *at = memchr(text, '@', len);

	if (!at || at == text || strchr(at + 1, '@') || strpbrk(text, " /\\"))
		return false;
	return is_domain(at + 1, (size_t)(text + len - at - 1));
}

/* Of IPv6 only what is in use (RFC 4291): "12::0" has another meaning. */
static bool is_address(const char *text)
{
	struct in6_addr address;

	if (inet_pton(AF_INET, text, &address) == 1)
		return true;
	if (inet_pton(AF_INET6, text, &address) != 1)
		return false;
	return address.s6_addr[0] >> 5 == 1 || address.s6_addr[0] >= 0xfc ||
	       IN6_IS_ADDR_V4MAPPED(&address);
}

/* Digits at the end alone. */
static bool is_counted(const char *text)
{
	const char *digits = text + strcspn(text, "0123456789");

	return digits > text && *digits && digits[strspn(digits, "0123456789")] == 0;
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
	if (is_domain(text, segment.len) && !is_file(text))
		return SEGMENT_DOMAIN;
	if (is_uuid(text, segment.len) && is_uuid_of_time(text))
		return SEGMENT_TIME;
	if (is_hash(text, segment.len))
		return SEGMENT_HASH;
	return is_counted(text) ? SEGMENT_COUNTED : SEGMENT_TEXT;
}
