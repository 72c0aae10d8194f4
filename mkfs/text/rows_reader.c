/* SPDX-License-Identifier: MIT */
/*
 * Reads rows of text byte by byte, in constant memory. The only accepted spelling is that of rowfs,
 *
 *   {"key":K,"families":{F:{Q:[{"ts":T,"value":V},…],…},…}}
 *
 * one object a line; "value" may be "base64", and its text a number. A long row takes several
 * lines: each continues where the last one ended, maybe within a column.
 */
#include "mkfs/text/rows_reader.h"

#include <string.h>

enum { READER_END = -1 };

/* ---- Bytes ------------------------------------------------------------------------------- */

static inline int reader_peek(struct rows_reader *reader)
{
	if (reader->at == reader->end && !reader->exit_code) {
		reader->at = reader->end = 0;
		reader->exit_code =
			rows_read(reader->rows, reader->room, sizeof(reader->room), &reader->end);
	}
	if (reader->at == reader->end || reader->exit_code)
		return READER_END;
	return reader->room[reader->at];
}

static inline int reader_get(struct rows_reader *reader)
{
	int byte = reader_peek(reader);

	if (byte != READER_END)
		reader->at++;
	return byte;
}

/* Nothing more is read. Returns false. */
static bool reader_wrong(struct rows_reader *reader)
{
	if (!reader->exit_code)
		reader->exit_code = rows_fail(reader->rows, "not rows as this program knows them");
	reader->at = reader->end = 0;
	reader->value = ROWS_VALUE_NONE;
	return false;
}

static bool reader_expect(struct rows_reader *reader, const char *text)
{
	for (; *text; text++)
		if (reader_get(reader) != *text)
			return reader_wrong(reader);
	return true;
}

/* ---- Strings ----------------------------------------------------------------------------- */

static int reader_hex(int c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Two hex digits. */
static int reader_byte(struct rows_reader *reader)
{
	int high = reader_hex(reader_get(reader)), low = reader_hex(reader_get(reader));

	if (high >= 0 && low >= 0)
		return high << 4 | low;
	reader_wrong(reader);
	return READER_END;
}

/* The next byte of a string; READER_END: its end, or a failure. */
static int reader_string(struct rows_reader *reader)
{
	static const char letters[] = "btnfr\"\\", bytes[] = "\b\t\n\f\r\"\\";
	int c = reader_get(reader);
	const char *letter;

	if (c == '"')
		return READER_END;
	if (c != '\\') {
		if (c < 0x20)
			reader_wrong(reader);
		return c < 0x20 ? READER_END : c;
	}
	c = reader_get(reader);
	if (c == 'u')
		return reader_expect(reader, "00") ? reader_byte(reader) : READER_END;
	letter = c > 0 ? strchr(letters, c) : NULL;
	if (letter)
		return bytes[letter - letters];
	reader_wrong(reader);
	return READER_END;
}

/* Adds the rest of a key's, family's or qualifier's string, with its escapes undone. */
static bool reader_name(struct rows_reader *reader, struct rows_name *name)
{
	int c;

	while ((c = reader_string(reader)) != READER_END) {
		if (c == '%')
			c = reader_byte(reader);
		if (c == READER_END || name->len == sizeof(name->bytes))
			return reader_wrong(reader);
		name->bytes[name->len++] = (unsigned char)c;
	}
	return reader->exit_code == PROGRAM_OK;
}

/* ---- Values ------------------------------------------------------------------------------ */

/* Decodes a group of four digits to up to three bytes; 0: the end, or a failure. */
static size_t reader_base64(struct rows_reader *reader, unsigned char *to)
{
	char group[4];
	size_t len;

	for (size_t i = 0; i < sizeof(group); i++) {
		int c = reader_get(reader);

		if (c == '"' && i == 0)
			return 0;
		group[i] = (char)c; /* READER_END is no digit */
	}
	if (!wcs_text_base64_decode(group, sizeof(group), to, &len))
		return len;
	reader_wrong(reader);
	return 0;
}

size_t rows_reader_value(struct rows_reader *reader, void *buf, size_t len)
{
	unsigned char *to = buf;
	size_t made = 0;

	/* A group of base64 has to fit. */
	while (reader->value != ROWS_VALUE_NONE && made + 3 <= len) {
		size_t n = 1;
		int c = 0;

		if (reader->value == ROWS_VALUE_BASE64) {
			n = reader_base64(reader, to + made);
		} else if (reader->value == ROWS_VALUE_TEXT) {
			c = reader_string(reader);
			n = c != READER_END;
		} else {
			c = reader_peek(reader);
			n = c == '-' || (c >= '0' && c <= '9');
			reader->at += n;
		}
		if (n == 0)
			reader->value = ROWS_VALUE_NONE;
		else if (reader->value != ROWS_VALUE_BASE64)
			to[made] = (unsigned char)c;
		made += n;
	}
	return reader->exit_code ? 0 : made;
}

/* Skips the unread rest of the value, and the state of an inthll. */
static bool reader_skip_value(struct rows_reader *reader)
{
	unsigned char rest[4096];

	while (rows_reader_value(reader, rest, sizeof(rest)) > 0)
		;
	if (reader_peek(reader) == ',') {
		if (!reader_expect(reader, ",\"state\":\""))
			return false;
		reader->value = ROWS_VALUE_BASE64;
		while (rows_reader_value(reader, rest, sizeof(rest)) > 0)
			;
	}
	return reader_expect(reader, "}");
}

/* ---- Rows -------------------------------------------------------------------------------- */

/* Goes to the families of the next line. False: there is none, or a failure. */
static bool reader_line(struct rows_reader *reader)
{
	if (reader_peek(reader) == READER_END)
		return false;
	reader->next.len = 0;
	reader->ahead = reader_expect(reader, "{\"key\":\"") &&
			reader_name(reader, &reader->next) &&
			reader_expect(reader, ",\"families\":{");
	return reader->ahead;
}

static bool reader_same(const struct rows_name *a, const struct rows_name *b)
{
	return a->len == b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

bool rows_reader_row(struct rows_reader *reader)
{
	while (reader->in_row)
		if (!rows_reader_column(reader))
			break;
	if (reader->exit_code || (!reader->ahead && !reader_line(reader)))
		return false;
	reader->ahead = false;
	reader->in_row = true;
	reader->key.len = reader->next.len;
	memcpy(reader->key.bytes, reader->next.bytes, reader->next.len);
	return true;
}

/* Goes from a cell's '{' to its value. */
static bool reader_cell(struct rows_reader *reader)
{
	size_t len = 0;
	int c;

	if (!reader_expect(reader, "\"ts\":"))
		return false;
	while ((c = reader_get(reader)) >= '0' && c <= '9' && len < sizeof(reader->ts) - 1)
		reader->ts[len++] = (char)c;
	reader->ts[len] = '\0';
	if (len == 0 || c != ',' || !reader_expect(reader, "\""))
		return reader_wrong(reader);
	if (reader_get(reader) == 'b') {
		reader->value = ROWS_VALUE_BASE64;
		return reader_expect(reader, "ase64\":\"");
	}
	if (!reader_expect(reader, "alue\":"))
		return false;
	reader->value = reader_peek(reader) == '"' ? ROWS_VALUE_TEXT : ROWS_VALUE_NUMBER;
	reader->at += reader->value == ROWS_VALUE_TEXT;
	return true;
}

static bool reader_family(struct rows_reader *reader)
{
	struct rows_name *column = &reader->column;

	column->len = 0;
	reader->in_family = reader_expect(reader, "\"") && reader_name(reader, column) &&
			    reader_expect(reader, ":{");
	if (column->len > WCS_FAMILY_NAME_MAX)
		return reader_wrong(reader);
	column->bytes[column->len++] = '\0';
	reader->family_len = column->len;
	return reader->in_family;
}

/* Goes from the end of a line's families to those of the next line of the row, if there is one. */
static bool reader_go_on(struct rows_reader *reader)
{
	reader->in_row = false;
	if (!reader_expect(reader, "}\n") || !reader_line(reader) ||
	    !reader_same(&reader->key, &reader->next))
		return false;
	reader->ahead = false;
	reader->in_row = reader->again = true;
	reader->last = reader->column;
	return reader_family(reader);
}

/* Goes to the next column. False: the row has none. */
static bool reader_step(struct rows_reader *reader)
{
	int c;

	if (!reader->in_family)
		return reader_family(reader);
	if (!reader_skip_value(reader))
		return false;
	while ((c = reader_get(reader)) == ',') /* an older cell */
		if (!reader_expect(reader, "{") || !reader_cell(reader) ||
		    !reader_skip_value(reader))
			return false;
	if (c != ']')
		return reader_wrong(reader);
	c = reader_get(reader);
	if (c == ',')
		return true;
	if (c != '}')
		return reader_wrong(reader);
	reader->in_family = false;
	c = reader_get(reader);
	if (c == ',')
		return reader_family(reader);
	return c == '}' ? reader_go_on(reader) : reader_wrong(reader);
}

bool rows_reader_column(struct rows_reader *reader)
{
	do {
		reader->again = false;
		if (!reader->in_row || reader->exit_code || !reader_step(reader))
			return false;
		reader->column.len = reader->family_len;
		if (!reader_expect(reader, "\"") || !reader_name(reader, &reader->column) ||
		    !reader_expect(reader, ":[{") || !reader_cell(reader))
			return false;
	} while (reader->again && reader_same(&reader->column, &reader->last)); /* older cells */
	return true;
}
