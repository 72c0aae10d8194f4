/* SPDX-License-Identifier: MIT */
/* Valid UTF-8, escapes %XX, and text that does no harm on a terminal. Any thread. */
#ifndef LIB_UTF8_H
#define LIB_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The length, 1 to 4, of the character at the start of left bytes; 0: there is none. */
size_t utf8_character(const unsigned char *at, size_t left);

/* The number of bytes from the start on that are whole characters. If four or more bytes are left
 * behind them, those are not UTF-8. */
size_t utf8_prefix(const unsigned char *bytes, size_t len);

/* The code point of a character of that many bytes. */
uint32_t utf8_point(const unsigned char *at, size_t len);

/* Code points, both in it; a table of ranges is in ascending order. */
struct utf8_range {
	uint32_t from, to;
};
bool utf8_in(const struct utf8_range *ranges, size_t count, uint32_t point);
/* Can the character act on a terminal, hide or reorder text, or not be in XML? */
bool utf8_hostile(uint32_t point);
/* Writes a byte as %XX, without a NUL. Returns its end. */
char *utf8_escape(unsigned char byte, char *to);
/* The byte that the start of len >= 1 bytes of text with such escapes stands for. Returns how many
 * bytes of the text it takes; 0: a '%' without two upper-case hex digits behind it. */
size_t utf8_unescape_hex(const char *text, size_t len, unsigned char *byte);
static inline size_t utf8_unescape(const char *text, size_t len, unsigned char *byte)
{
	if (text[0] == '%')
		return utf8_unescape_hex(text, len, byte);
	*byte = (unsigned char)text[0];
	return 1;
}

/* The text with the bytes of hostile characters, and those that are not UTF-8, as %XX. Frees the
 * text; the caller frees the result. NULL: no memory, or text is NULL. */
char *utf8_safe(char *text);
/* Writes as much of such a text as fits into room bytes, and a NUL. Returns its length. */
size_t utf8_safe_copy(const char *text, char *safe, size_t room);
/* Prints the text as utf8_safe gives it. -1: the stream has an error. */
int utf8_print(FILE *to, const char *text);

/* Writes the escape \uXXXX of JSON, above U+FFFF two: 12 bytes at most. Returns its end. */
unsigned char *utf8_json(uint32_t point, unsigned char *to);

#endif
