/* SPDX-License-Identifier: MIT */
/*
 * Bytes as text. Row keys and qualifiers may be any bytes, JSON strings only UTF-8: %XX bridges
 * the two. Invariant: decoding what encode wrote gives the same bytes.
 */
#include "store/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/utf8.h"

static const char text_base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				  "0123456789+/";

static bool text_is_special(unsigned char c)
{
	return c < 0x20 || c == 0x7f || c == '%';
}

size_t wcs_text_spell(struct wcs_slice bytes, char *text)
{
	const unsigned char *b = bytes.data;
	char *out = text;

	for (size_t i = 0; i < bytes.len;) {
		size_t n;

		if (b[i] >= 0x20 && b[i] < 0x7f && b[i] != '%') { /* mostly */
			*out++ = (char)b[i++];
			continue;
		}
		n = utf8_character(b + i, bytes.len - i);
		if (n == 0 || text_is_special(b[i])) {
			out = utf8_escape(b[i++], out);
			continue;
		}
		while (n--)
			*out++ = (char)b[i++];
	}
	return (size_t)(out - text);
}

char *wcs_text_encode(struct wcs_slice bytes)
{
	char *text = malloc(bytes.len * 3 + 1);

	if (text)
		text[wcs_text_spell(bytes, text)] = '\0';
	return text;
}

int wcs_text_decode(const char *text, size_t len, unsigned char *out, size_t *out_len)
{
	size_t n = 0, step;

	for (size_t i = 0; i < len; i += step) {
		step = utf8_unescape(text + i, len - i, &out[n++]);
		if (step == 0)
			return -EINVAL;
	}
	*out_len = n;
	return 0;
}

unsigned char *wcs_text_base64(unsigned char *to, const unsigned char *from, size_t groups)
{
	for (; groups > 0; groups--, from += 3) {
		uint32_t group = (uint32_t)from[0] << 16 | (uint32_t)from[1] << 8 | from[2];

		*to++ = (unsigned char)text_base64[group >> 18];
		*to++ = (unsigned char)text_base64[group >> 12 & 63];
		*to++ = (unsigned char)text_base64[group >> 6 & 63];
		*to++ = (unsigned char)text_base64[group & 63];
	}
	return to;
}

int wcs_text_base64_decode(const char *text, size_t len, unsigned char *out, size_t *out_len)
{
	size_t pad = 0, n = 0;

	if (len % 4)
		return -EINVAL;
	while (pad < 2 && pad < len && text[len - 1 - pad] == '=')
		pad++;
	for (size_t i = 0; i < len; i += 4) {
		size_t digits = i + 4 == len ? 4 - pad : 4;
		uint32_t group = 0;

		for (size_t k = 0; k < 4; k++) {
			const char *digit =
				k < digits ? memchr(text_base64, text[i + k], 64) : text_base64;

			if (digit == NULL)
				return -EINVAL;
			group = group << 6 | (uint32_t)(digit - text_base64);
		}
		if (digits < 4 && group & (digits == 3 ? 0xffu : 0xffffu))
			return -EINVAL;
		for (size_t k = 0; k + 1 < digits; k++)
			out[n++] = (unsigned char)(group >> (16 - 8 * k));
	}
	*out_len = n;
	return 0;
}
