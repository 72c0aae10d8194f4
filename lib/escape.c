/* SPDX-License-Identifier: MIT */
/* Escapes: with backslashes, in strings of JSON, and as words of a shell. */
#include "lib/escape.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/utf8.h"

/* Bytes that no shell changes at any place of a word. */
#define ESCAPE_PLAIN "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789%+,-./:@_"

char *escape_bytes(const char *text, const char *special)
{
	char *escaped = malloc(2 * strlen(text) + 1), *to = escaped;

	if (!escaped)
		return NULL;
	for (; *text; text++) {
		if (strchr(special, *text))
			*to++ = '\\';
		*to++ = *text;
	}
	*to = 0;
	return escaped;
}

size_t escape_json(const char *text, size_t len, char *to)
{
	unsigned char *end = (unsigned char *)to;
	size_t count;

	for (const unsigned char *at = (const unsigned char *)text; len > 0; at += count) {
		uint32_t point = 0xfffd;

		count = utf8_character(at, len);
		if (count > 0)
			point = utf8_point(at, count);
		if (count == 0 || utf8_hostile(point)) {
			count = count > 0 ? count : 1;
			end = utf8_json(point, end);
		} else {
			if (*at == '"' || *at == '\\')
				*end++ = '\\';
			end = mempcpy(end, at, count);
		}
		len -= count;
	}
	return (size_t)((char *)end - to);
}

char *escape_json_string(const char *text)
{
	size_t len = strlen(text), used = 0;
	char *string = malloc(6 * len + 3);

	if (!string)
		return NULL;
	string[used++] = '"';
	used += escape_json(text, len, string + used);
	strcpy(string + used, "\"");
	return string;
}

/* Writes a quote of the shell's, or $' and the bytes in octal, between two parts in quotes. */
static char *escape_quoted(char *to, const unsigned char *from, size_t len)
{
	if (*from == '\'')
		return stpcpy(to, "'\\''");
	to = stpcpy(to, "'$'");
	for (size_t i = 0; i < len; i++) {
		*to++ = '\\';
		*to++ = (char)('0' + (from[i] >> 6));
		*to++ = (char)('0' + (from[i] >> 3 & 7));
		*to++ = (char)('0' + (from[i] & 7));
	}
	return stpcpy(to, "''");
}

char *escape_word(const char *word)
{
	char *escaped = malloc(10 * strlen(word) + 3), *to = escaped;
	const unsigned char *from = (const unsigned char *)word;
	size_t len;

	if (!escaped)
		return NULL;
	if (*word && word[strspn(word, ESCAPE_PLAIN)] == 0)
		return strcpy(escaped, word);
	*to++ = '\'';
	for (; *from; from += len) {
		len = utf8_character(from, strnlen((const char *)from, 4));
		if (len == 0 || *from == '\'' || utf8_hostile(utf8_point(from, len))) {
			len = len > 0 ? len : 1;
			to = escape_quoted(to, from, len);
		} else {
			to = mempcpy(to, from, len);
		}
	}
	strcpy(to, "'");
	return escaped;
}

char *escape_path(const char *path)
{
	char *word = escape_word(path), *escaped = NULL;

	if (!word || *path != '-')
		return word;
	escaped = malloc(strlen(word) + 3);
	if (escaped)
		stpcpy(stpcpy(escaped, "./"), word);
	free(word);
	return escaped;
}
