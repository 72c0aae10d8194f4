/* SPDX-License-Identifier: MIT */
/*
 * Reads JSON text token by token. A run of plain bytes in a string is found eight bytes at a time;
 * a byte of 0x80 or more is checked as part of a character of UTF-8.
 */
#include "store/json/json_read.h"

#include <errno.h>
#include <string.h>

#include "lib/utf8.h"
#include "lib/words.h"

/* Is there so much unread text? */
static inline bool json_read_has(const struct wcs_json_reader *reader, size_t len)
{
	return (size_t)(reader->end - reader->at) >= len;
}

/* The next byte; -1: the end. */
static inline int json_read_look(const struct wcs_json_reader *reader)
{
	return json_read_has(reader, 1) ? *reader->at : -1;
}

int wcs_json_read_space(struct wcs_json_reader *reader)
{
	int c;

	while ((c = json_read_look(reader)) == ' ' || c == '\t' || c == '\n' || c == '\r')
		reader->at++;
	return c;
}

bool wcs_json_read_word(struct wcs_json_reader *reader, const char *word)
{
	size_t len = strlen(word);
	bool same = wcs_json_read_peek(reader) == *word && json_read_has(reader, len) &&
		    memcmp(reader->at, word, len) == 0;

	reader->at += same ? len : 0;
	return same;
}

int wcs_json_read_next(struct wcs_json_reader *reader, char close, size_t *count)
{
	if (wcs_json_read_byte(reader, close))
		return 0;
	if (*count > 0 && !wcs_json_read_byte(reader, ','))
		return -EBADMSG;
	++*count;
	return close == ']' || wcs_json_read_byte(reader, '"') ? 1 : -EBADMSG;
}

/* ---- Strings ----------------------------------------------------------------------------- */

/* The first byte that is no plain ASCII of a string, or an earlier one near the end. */
static const unsigned char *json_read_plain(const unsigned char *at, const unsigned char *end)
{
	for (; end - at >= 8; at += 8) {
		uint64_t word = get_le64(at);
		uint64_t marks = (word & WORD_HIGH) | word_below(word, 0x20) |
				 word_equal(word, '"') | word_equal(word, '\\');

		if (marks)
			return at + word_first(marks);
	}
	while (at < end && *at >= 0x20 && *at < 0x80 && *at != '"' && *at != '\\')
		at++;
	return at;
}

/* Four hex digits; -1: other text. */
static int32_t json_read_hex(struct wcs_json_reader *reader)
{
	int32_t unit = 0;

	if (!json_read_has(reader, 4))
		return -1;
	for (int i = 0; i < 4; i++) {
		int c = *reader->at++, letter = c | 0x20;

		if (c >= '0' && c <= '9')
			unit = unit << 4 | (c - '0');
		else if (letter >= 'a' && letter <= 'f')
			unit = unit << 4 | (letter - 'a' + 10);
		else
			return -1;
	}
	return unit;
}

/* The code point of an escape behind its \u; -1: none. */
static int32_t json_read_code(struct wcs_json_reader *reader)
{
	int32_t code = json_read_hex(reader), low = -1;

	if (code < 0xd800 || code > 0xdfff)
		return code;
	if (code <= 0xdbff && json_read_has(reader, 2) && memcmp(reader->at, "\\u", 2) == 0) {
		reader->at += 2;
		low = json_read_hex(reader);
	}
	if (low >= 0xdc00 && low <= 0xdfff)
		return 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
	reader->why = "a lone surrogate, which is no character";
	return -1;
}

/* Writes a code point as UTF-8. Returns its length. */
static size_t json_read_encode(int32_t code, unsigned char *to)
{
	static const unsigned char leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
	size_t len = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

	for (size_t i = len - 1; i > 0; i--, code >>= 6)
		to[i] = (unsigned char)(0x80 | (code & 0x3f));
	to[0] = (unsigned char)(leads[len] | code);
	return len;
}

/* An escape, at its backslash, whose bytes go to *to. */
static bool json_read_escape(struct wcs_json_reader *reader, unsigned char **to)
{
	static const char letters[] = "\"\\/bfnrtu", bytes[] = "\"\\/\b\f\n\r\t";
	const char *letter;
	int32_t code;

	if (!json_read_has(reader, 2))
		return false;
	letter = memchr(letters, reader->at[1], sizeof(letters) - 1);
	if (!letter)
		return false;
	reader->at += 2;
	code = *letter == 'u' ? json_read_code(reader) : bytes[letter - letters];
	if (code >= 0)
		*to += json_read_encode(code, *to);
	return code >= 0;
}

int wcs_json_read_string(struct wcs_json_reader *reader, unsigned char **to,
			 struct wcs_slice *string)
{
	unsigned char *copy = *to;
	bool escaped = false;

	for (;;) {
		const unsigned char *at = reader->at;
		size_t n = 1;

		for (; n > 0; at += n) {
			at = json_read_plain(at, reader->end);
			n = at < reader->end && *at >= 0x80
				    ? utf8_character(at, (size_t)(reader->end - at))
				    : 0;
		}
		n = (size_t)(at - reader->at);
		*string = (struct wcs_slice){reader->at, n};
		reader->at = at;
		if (escaped || json_read_look(reader) == '\\') {
			copy = mempcpy(copy, string->data, n);
			escaped = true;
		}
		if (json_read_look(reader) != '\\')
			break;
		if (!json_read_escape(reader, &copy))
			return -EBADMSG;
	}
	if (escaped)
		*string = (struct wcs_slice){*to, (size_t)(copy - *to)};
	*to = copy;
	if (json_read_look(reader) != '"')
		return -EBADMSG;
	reader->at++;
	return 0;
}

/* ---- Numbers ----------------------------------------------------------------------------- */

/* Reads digits into *value, one or more; beyond: they exceed it. */
static bool json_read_digits(struct wcs_json_reader *reader, uint64_t *value, bool *beyond)
{
	bool any = false;
	int c;

	*value = 0;
	*beyond = false;
	for (; (c = json_read_look(reader)) >= '0' && c <= '9'; any = true, reader->at++)
		*beyond |= __builtin_mul_overflow(*value, 10, value) ||
			   __builtin_add_overflow(*value, (uint64_t)(c - '0'), value);
	return any;
}

int wcs_json_read_number(struct wcs_json_reader *reader, int64_t *number, bool *whole)
{
	bool negative = wcs_json_read_byte(reader, '-'), beyond = false;
	uint64_t value = 0, rest;

	*whole = true;
	if (json_read_look(reader) == '0')
		reader->at++;
	else if (!json_read_digits(reader, &value, &beyond))
		return -EBADMSG;
	beyond = beyond || value > (uint64_t)INT64_MAX + negative;
	*number = (int64_t)(negative ? -value : value);
	if (json_read_look(reader) == '.') {
		reader->at++;
		*whole = false;
		if (!json_read_digits(reader, &rest, &(bool){false}))
			return -EBADMSG;
	}
	if ((json_read_look(reader) | 0x20) == 'e') {
		reader->at++;
		*whole = false;
		if (json_read_look(reader) == '+' || json_read_look(reader) == '-')
			reader->at++;
		if (!json_read_digits(reader, &rest, &(bool){false}))
			return -EBADMSG;
	}
	return *whole && beyond ? -EOVERFLOW : 0;
}
