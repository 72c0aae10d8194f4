/* SPDX-License-Identifier: MIT */
/* Escapes: with backslashes, in strings of JSON, and as words of a shell. */
#include "lib/escape.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "lib/utf8.h"

/* Where JSON goes, and the characters of ASCII that are escaped, too. */
struct escape_json {
	FILE *to;
	const char *special;
};

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

/* Takes a piece of jansson's text, which ends behind a whole character. */
static int escape_json_piece(const char *text, size_t len, void *ctx)
{
	const struct escape_json *json = ctx;
	const unsigned char *at = (const unsigned char *)text, *end = at + len, *plain = at;
	unsigned char escape[12];
	size_t count;

	for (; at < end; at += count) {
		count = *at < 0x80 ? 1 : utf8_character(at, (size_t)(end - at));
		if (*at < 0x7f ? !*json->special || !strchr(json->special, *at)
			       : !utf8_hostile(utf8_point(at, count)))
			continue;
		fwrite_unlocked(plain, (size_t)(at - plain), 1, json->to);
		fwrite_unlocked(escape, (size_t)(utf8_json(utf8_point(at, count), escape) - escape),
				1, json->to);
		plain = at + count;
	}
	fwrite_unlocked(plain, (size_t)(end - plain), 1, json->to);
	return ferror_unlocked(json->to) ? -1 : 0;
}

int escape_json_put(FILE *to, json_t *value, size_t flags)
{
	struct escape_json json = {to, flags & ESCAPE_HTML ? "<>&" : ""};
	int rc = json_dump_callback(value, escape_json_piece, &json,
				    JSON_COMPACT | (flags & ~ESCAPE_HTML));

	json_decref(value);
	if (!(flags & JSON_EMBED))
		fputc('\n', to);
	return rc == 0 ? 0 : -ENOMEM;
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
