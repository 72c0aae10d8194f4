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
	size_t i = 0;

	while (i < count && point > ranges[i].to)
		i++;
	return i < count && point >= ranges[i].from;
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

static const char utf8_digits[] = "0123456789ABCDEF";

char *utf8_escape(unsigned char byte, char *to)
{
	*to++ = '%';
	*to++ = utf8_digits[byte >> 4];
	*to++ = utf8_digits[byte & 15];
	return to;
}

size_t utf8_unescape_hex(const char *text, size_t len, unsigned char *byte)
{
	const char *high = len < 3 ? NULL : memchr(utf8_digits, text[1], 16);
	const char *low = len < 3 ? NULL : memchr(utf8_digits, text[2], 16);

	if (!high || !low)
		return 0;
	*byte = (unsigned char)((high - utf8_digits) << 4 | (low - utf8_digits));
	return 3;
}

/* Writes the safe form of the character, or byte of none, at the start of a text, at most 12 bytes.
 * Returns its length, that of the character to *len. */
static size_t utf8_spell(const char *text, char spelled[12], size_t *len)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t count = utf8_character(at, strnlen(text, 4));
	bool hostile = count == 0 || utf8_hostile(utf8_point(at, count));
	char *to = spelled;

	*len = count > 0 ? count : 1;
	for (size_t i = 0; hostile && i < *len; i++)
		to = utf8_escape(at[i], to);
	if (!hostile)
		to = mempcpy(to, text, *len);
	return (size_t)(to - spelled);
}

size_t utf8_safe_copy(const char *text, char *safe, size_t room)
{
	size_t used = 0, len, count;
	char spelled[12];

	for (; *text; text += len) {
		count = utf8_spell(text, spelled, &len);
		if (used + count >= room)
			break;
		memcpy(safe + used, spelled, count);
		used += count;
	}
	safe[used] = '\0';
	return used;
}

char *utf8_safe(char *text)
{
	size_t room = text ? 3 * strlen(text) + 1 : 0;
	char *safe = text ? malloc(room) : NULL;

	if (safe)
		utf8_safe_copy(text, safe, room);
	free(text);
	return safe;
}

int utf8_print(FILE *to, const char *text)
{
	char spelled[12];
	size_t len;

	for (; *text; text += len)
		fwrite(spelled, utf8_spell(text, spelled, &len), 1, to);
	return ferror(to) ? -1 : 0;
}

unsigned char *utf8_json(uint32_t point, unsigned char *to)
{
	static const char digits[] = "0123456789abcdef";
	uint32_t low = point > 0xffff ? 0xdc00 + (point & 0x3ff) : 0;

	if (low > 0)
		point = 0xd7c0 + (point >> 10);
	*to++ = '\\';
	*to++ = 'u';
	for (int shift = 12; shift >= 0; shift -= 4)
		*to++ = (unsigned char)digits[point >> shift & 15];
	return low > 0 ? utf8_json(low, to) : to;
}
