/* SPDX-License-Identifier: MIT */
/*
 * Bytes as text. Row keys and qualifiers may be any bytes, JSON strings only UTF-8: %XX bridges
 * the two. Invariant: decoding what encode wrote gives the same bytes.
 */
#include "store/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/utf8.h"
#include "store/store.h"

static bool text_is_special(unsigned char c)
{
	return c < 0x20 || c == 0x7f || c == '%';
}

bool wcs_text_is_plain(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text_is_special((unsigned char)text[i]))
			return false;
	return true;
}

char *wcs_text_encode(struct wcs_slice bytes)
{
	static const char hex[] = "0123456789ABCDEF";
	const unsigned char *b = bytes.data;
	char *text = malloc(bytes.len * 3 + 1);
	char *out = text;

	if (!text)
		return NULL;
	for (size_t i = 0; i < bytes.len;) {
		size_t n = utf8_character(b + i, bytes.len - i);

		if (n == 0 || text_is_special(b[i])) {
			*out++ = '%';
			*out++ = hex[b[i] >> 4];
			*out++ = hex[b[i] & 15];
			i++;
			continue;
		}
		while (n--)
			*out++ = (char)b[i++];
	}
	*out = '\0';
	return text;
}

static int text_hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int wcs_text_decode(const char *text, size_t len, unsigned char *out, size_t *out_len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		if (text[i] != '%') {
			out[n++] = (unsigned char)text[i];
			continue;
		}
		if (len - i < 3 || text_hex(text[i + 1]) < 0 || text_hex(text[i + 2]) < 0)
			return -EINVAL;
		out[n++] = (unsigned char)(text_hex(text[i + 1]) << 4 | text_hex(text[i + 2]));
		i += 2;
	}
	*out_len = n;
	return 0;
}

unsigned char *wcs_text_base64(unsigned char *to, const unsigned char *from, size_t groups)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				     "0123456789+/";

	for (; groups > 0; groups--, from += 3) {
		uint32_t group = (uint32_t)from[0] << 16 | (uint32_t)from[1] << 8 | from[2];

		*to++ = (unsigned char)digits[group >> 18];
		*to++ = (unsigned char)digits[group >> 12 & 63];
		*to++ = (unsigned char)digits[group >> 6 & 63];
		*to++ = (unsigned char)digits[group & 63];
	}
	return to;
}

static int text_base64_digit(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+')
		return 62;
	return c == '/' ? 63 : -1;
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
			int digit = k < digits ? text_base64_digit(text[i + k]) : 0;

			if (digit < 0)
				return -EINVAL;
			group = group << 6 | (uint32_t)digit;
		}
		if (digits < 4 && group & (digits == 3 ? 0xffu : 0xffffu))
			return -EINVAL;
		for (size_t k = 0; k + 1 < digits; k++)
			out[n++] = (unsigned char)(group >> (16 - 8 * k));
	}
	*out_len = n;
	return 0;
}
