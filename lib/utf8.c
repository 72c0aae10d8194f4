/* SPDX-License-Identifier: MIT */
/* Valid UTF-8: no overlong forms, no surrogates, nothing past U+10FFFF. */
#include "lib/utf8.h"

#include <stdlib.h>
#include <string.h>

#include "lib/words.h"

size_t utf8_character(const unsigned char *at, size_t left)
{
	unsigned char low = 0x80, high = 0xBF; /* limits of the second byte */
	size_t len;

	if (left == 0)
		return 0;
	if (at[0] < 0x80)
		return 1;
	if (at[0] < 0xC2 || at[0] > 0xF4)
		return 0;
	len = at[0] < 0xE0 ? 2 : at[0] < 0xF0 ? 3 : 4;
	if (len > left)
		return 0;
	if (at[0] == 0xE0)
		low = 0xA0; /* below: overlong */
	else if (at[0] == 0xED)
		high = 0x9F; /* above: surrogates */
	else if (at[0] == 0xF0)
		low = 0x90; /* below: overlong */
	else if (at[0] == 0xF4)
		high = 0x8F; /* above: past U+10FFFF */
	if (at[1] < low || at[1] > high)
		return 0;
	for (size_t i = 2; i < len; i++)
		if ((at[i] & 0xC0) != 0x80)
			return 0;
	return len;
}

size_t utf8_prefix(const unsigned char *bytes, size_t len)
{
	size_t at = 0;

	while (at < len) {
		size_t n = 8;

		if (len - at < 8 || get_le64(bytes + at) & WORD_HIGH) {
			n = utf8_character(bytes + at, len - at);
			if (n == 0)
				return at;
		}
		at += n;
	}
	return at;
}

uint32_t utf8_point(const unsigned char *at, size_t len)
{
	uint32_t point = len == 1 ? at[0] : at[0] & (0xffu >> (len + 1));

	for (size_t i = 1; i < len; i++)
		point = point << 6 | (at[i] & 0x3fu);
	return point;
}

bool utf8_in(const struct utf8_range *ranges, size_t count, uint32_t point)
{
	for (size_t i = 0; i < count; i++)
		if (point >= ranges[i].from && point <= ranges[i].to)
			return true;
	return false;
}

/* Control characters, marks that have no width or change the direction, and characters that
 * XML does not take. */
static const struct utf8_range utf8_hostiles[] = {
	{0, 0x1f},	  {0x7f, 0x9f},	    {0xad, 0xad},     {0x61c, 0x61c},	  {0x115f, 0x1160},
	{0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},	  {0xfe00, 0xfe0f},
	{0xfeff, 0xfeff}, {0xfff0, 0xfffb}, {0xfffe, 0xffff}, {0xe0000, 0x10ffff}};

bool utf8_hostile(uint32_t point)
{
	return utf8_in(utf8_hostiles, sizeof(utf8_hostiles) / sizeof(*utf8_hostiles), point);
}

char *utf8_safe(char *text)
{
	static const char digits[] = "0123456789ABCDEF";
	char *safe = text ? malloc(3 * strlen(text) + 1) : NULL, *to = safe;
	size_t len;

	for (const char *from = text; safe && *from; from += len) {
		const unsigned char *at = (const unsigned char *)from;
		bool hostile;

		len = utf8_character(at, strnlen(from, 4));
		hostile = len == 0 || utf8_hostile(utf8_point(at, len));
		len = len > 0 ? len : 1;
		for (size_t i = 0; i < len; i++) {
			if (hostile) {
				*to++ = '%';
				*to++ = digits[at[i] >> 4];
				*to++ = digits[at[i] & 15];
			} else {
				*to++ = from[i];
			}
		}
	}
	if (safe)
		*to = '\0';
	free(text);
	return safe;
}
