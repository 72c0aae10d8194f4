/* SPDX-License-Identifier: MIT */
/* Valid UTF-8: no overlong forms, no surrogates, nothing past U+10FFFF. */
#include "lib/utf8.h"

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
