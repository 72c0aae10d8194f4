/* SPDX-License-Identifier: MIT */
/* Text that is printed: its width, its breaks, its escapes. */
#include <stdlib.h>
#include <string.h>

#include "fs/keyvis/picture.h"
#include "lib/utf8.h"

#define WORDS_LONG 40u /* columns; shorter texts keep only their end, where keys differ */

/* Two columns on a terminal (Unicode's East Asian Width). */
static const struct utf8_range words_wide[] = {
	{0x1100, 0x115f}, {0x2e80, 0x303e},   {0x3041, 0xa4cf},	  {0xa960, 0xa97f},
	{0xac00, 0xd7a3}, {0xf900, 0xfaff},   {0xfe30, 0xfe6f},	  {0xff00, 0xff60},
	{0xffe0, 0xffe6}, {0x1f300, 0x1f64f}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};

/* A character: its bytes (also of what is none: 1) and its columns. */
struct words_character {
	size_t len, columns;
};

static struct words_character words_next(const char *text)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t len = utf8_character(at, strnlen(text, 4));

	if (len == 0)
		return (struct words_character){1, 1};
	return (struct words_character){
		len,
		utf8_in(words_wide, sizeof(words_wide) / sizeof(*words_wide), utf8_point(at, len))
			? 2
			: 1};
}

size_t keyvis_width(const char *text)
{
	struct words_character character;
	size_t columns = 0;

	for (; *text; text += character.len) {
		character = words_next(text);
		columns += character.columns;
	}
	return columns;
}

char *keyvis_fit(const char *text, size_t width)
{
	size_t columns = keyvis_width(text), head = width < WORDS_LONG ? 0 : width / 3, used = 0,
	       left = columns;
	char *fitting = malloc(strlen(text) + 3), *to = fitting;
	struct words_character character;
	bool cut = false;

	for (; fitting && *text; text += character.len) {
		character = words_next(text);
		if (columns <= width || used + character.columns <= head ||
		    left <= width - head - 2) {
			memcpy(to, text, character.len);
			to += character.len;
		} else if (!cut) {
			*to++ = '.';
			*to++ = '.';
			cut = true;
		}
		used += character.columns;
		left -= character.columns;
	}
	if (fitting)
		*to = '\0';
	return fitting;
}

size_t keyvis_line(const char *text, size_t width)
{
	struct words_character character;
	size_t columns = 0, at = 0, space = 0;

	for (; text[at]; at += character.len) {
		character = words_next(text + at);
		if (text[at] == ' ')
			space = at;
		columns += character.columns;
		if (columns > width)
			return space > 0 ? space : at;
	}
	return at;
}

void keyvis_put_json(FILE *to, const char *before, const char *text, const char *after)
{
	uint32_t point;
	size_t len;

	fprintf(to, "%s\"", before);
	for (; *text; text += len) {
		const unsigned char *at = (const unsigned char *)text;

		len = utf8_character(at, strnlen(text, 4));
		point = len > 0 ? utf8_point(at, len) : 0xfffd;
		len = len > 0 ? len : 1;
		if (point > 0xffff && utf8_hostile(point))
			fprintf(to, "\\u%04x\\u%04x", 0xd7c0 + (point >> 10),
				0xdc00 + (point & 0x3ff));
		else if (utf8_hostile(point) || strchr("\"\\<>&", *text))
			fprintf(to, "\\u%04x", point);
		else
			fwrite(text, len, 1, to);
	}
	fprintf(to, "\"%s", after);
}

void keyvis_put_xml(FILE *to, const char *text)
{
	for (; *text; text++) {
		if (strchr("<>&\"'", *text))
			fprintf(to, "&#%d;", *text);
		else
			fputc(*text, to);
	}
}
