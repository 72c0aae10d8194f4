/* SPDX-License-Identifier: MIT */
/*
 * Reads CSV by runs of plain bytes. A record ends with LF, CR or CR LF, as for Python's csv. A
 * field in quotes may hold any bytes, a quote as two. A quote within a field without quotes is an
 * error, as are bytes behind the closing quote: programs disagree about such files.
 *
 * Escapes, also in quotes, are those of PostgreSQL's and MySQL's exports: 0 b f n r t v for a byte,
 * N for a null field, and any other byte but a letter or digit for itself. The text formats of both
 * know no quotes.
 */
#include "mkfs/text/csv.h"

#include <ctype.h>
#include <errno.h>

#include "lib/grow.h"
#include "lib/words.h"

enum {
	CSV_DONE,   /* the record is complete, or there is none yet */
	CSV_FIELD,  /* before a field */
	CSV_PLAIN,  /* in a field without quotes */
	CSV_QUOTED, /* in a field with quotes */
	CSV_QUOTE,  /* behind a quote in it: the end, or the first of two */
};

/* The number of bytes before the first of these, of which some may be the same. */
static inline __attribute__((always_inline)) size_t csv_span(const char *text, size_t len, char a,
							     char b, char c, char d, char e)
{
	size_t at = 0;

	for (; at + 8 <= len; at += 8) {
		uint64_t word = get_le64((const unsigned char *)text + at);
		uint64_t marks =
			word_equal(word, (unsigned char)a) | word_equal(word, (unsigned char)b) |
			word_equal(word, (unsigned char)c) | word_equal(word, (unsigned char)d) |
			word_equal(word, (unsigned char)e);

		if (marks)
			return at + word_first(marks);
	}
	while (at < len && text[at] != a && text[at] != b && text[at] != c && text[at] != d &&
	       text[at] != e)
		at++;
	return at;
}

size_t csv_plain(const char *text, size_t len, char separator, char other)
{
	return csv_span(text, len, '"', '\n', separator, other, other);
}

static int csv_fail(struct csv *csv, int rc, struct csv_place at, const char *why)
{
	csv->why = why;
	csv->wrong = at;
	return rc;
}

/* Room for so many bytes more, and for one field. */
static int csv_grow(struct csv *csv, size_t bytes)
{
	if (grow(&csv->bytes, &csv->room, csv->len + bytes, 4096, 1) ||
	    grow(&csv->fields, &csv->fields_room, csv->count + 1, 64, sizeof(*csv->fields)))
		return csv_fail(csv, -ENOMEM, csv->place, "no memory");
	return 0;
}

static void csv_field_begin(struct csv *csv, bool quoted)
{
	csv->fields[csv->count++] =
		(struct csv_field){.start = csv->len, .place = csv->place, .quoted = quoted};
	csv->state = quoted ? CSV_QUOTED : CSV_PLAIN;
}

/* Is the record an empty line? */
static bool csv_is_blank(const struct csv *csv)
{
	return csv->count == 1 && csv->fields[0].len == 0 && !csv->fields[0].quoted &&
	       !csv->fields[0].null;
}

/* ---- Runs -------------------------------------------------------------------------------- */

/* Moves the place behind an LF or a CR: an LF behind a CR begins no other line. */
static void csv_pass_end(struct csv *csv, char byte)
{
	if (byte == '\r' || !csv->cr)
		csv->place = (struct csv_place){csv->place.line + 1, 1};
	csv->cr = byte == '\r';
}

/* Moves the place behind the bytes of a run. */
static void csv_pass(struct csv *csv, const char *text, size_t len)
{
	size_t at = 0, end;

	while ((csv->state == CSV_QUOTED || csv->escaped) &&
	       (end = csv_span(text, len, '\r', '\n', '\n', '\n', '\n')) < len) {
		csv->cr = csv->cr && end == 0;
		csv_pass_end(csv, text[end]);
		len -= end + 1;
		text += end + 1;
	}
	csv->cr = csv->cr && len == 0;
	csv->place.column += len;
	while (at + 8 <= len && !(get_le64((const unsigned char *)text + at) & WORD_HIGH))
		at += 8;
	for (; at < len; at++) /* a character counts once */
		csv->place.column -= ((unsigned char)text[at] & 0xc0) == 0x80;
}

/* Adds bytes to the field; `text` is how they are spelled. */
static int csv_put(struct csv *csv, const char *bytes, const char *text, size_t len)
{
	struct csv_field *field = &csv->fields[csv->count - 1];
	int rc = csv_grow(csv, len);

	if (rc)
		return rc;
	if (field->null)
		return csv_fail(csv, -EINVAL, csv->place, "a null field, \\N, has other bytes");
	memcpy(csv->bytes + csv->len, bytes, len);
	csv->len += len;
	field->len += len;
	csv_pass(csv, text, len);
	return 0;
}

static int csv_add(struct csv *csv, const char *text, size_t len)
{
	return csv_put(csv, text, text, len);
}

/* Takes the byte behind that of an escape. */
static int csv_unescape(struct csv *csv, char byte)
{
	static const char letters[] = "0bfnrtv", bytes[] = "\0\b\f\n\r\t\v";
	struct csv_field *field = &csv->fields[csv->count - 1];
	const char *letter = memchr(letters, byte, sizeof(letters) - 1);
	int rc = 0;

	if (letter) {
		rc = csv_put(csv, bytes + (letter - letters), &byte, 1);
	} else if (byte == 'N' && !field->quoted && field->len == 0 && !field->null) {
		field->null = true;
		csv->place.column++;
	} else if (isalnum((unsigned char)byte)) {
		return csv_fail(csv, -EINVAL, csv->place,
				"unknown escape; write a backslash as \\\\");
	} else {
		rc = csv_add(csv, &byte, 1);
	}
	field->quoted = field->quoted || !field->null;
	csv->escaped = false;
	return rc;
}

/* ---- Records ----------------------------------------------------------------------------- */

/* Takes a byte that ends a run, or one behind a quote. */
static int csv_take(struct csv *csv, char byte)
{
	bool cr = csv->cr;
	int rc;

	csv->cr = false;
	if (csv->escape && byte == csv->escape && csv->state != CSV_QUOTE) {
		csv->escaped = true;
	} else if (csv->state == CSV_QUOTED) {
		csv->state = CSV_QUOTE;
	} else if (byte == '\n' || byte == '\r') {
		csv->cr = cr;
		csv->state = CSV_DONE;
		csv_pass_end(csv, byte);
		return 0;
	} else if (csv->state == CSV_PLAIN && byte == '"') {
		return csv_fail(csv, -EINVAL, csv->place,
				"a quote in a field that does not begin with one");
	} else if (byte == csv->separator) {
		csv->state = CSV_FIELD;
	} else if (csv->state == CSV_QUOTE && byte == '"') {
		rc = csv_add(csv, &byte, 1);
		csv->state = CSV_QUOTED;
		return rc;
	} else {
		return csv_fail(csv, -EINVAL, csv->place,
				"a field in quotes goes on behind them; a quote in it is two");
	}
	csv->place.column++;
	return 0;
}

static void csv_begin(struct csv *csv)
{
	if (csv->state != CSV_DONE)
		return;
	csv->len = csv->count = 0;
	csv->state = CSV_FIELD;
}

/* Takes the next bytes, *taken of them. */
static int csv_step(struct csv *csv, const char *text, size_t len, size_t *taken)
{
	char escape = csv->escape;
	int rc = csv_grow(csv, 1);
	const char *quote;
	size_t used, run;

	if (rc)
		return rc;
	if (csv->state == CSV_FIELD) {
		csv_field_begin(csv, *text == '"' && !csv->literal);
		if (csv->state == CSV_QUOTED) {
			csv->cr = false;
			csv->place.column++;
			*taken = 1;
			return 0;
		}
	}
	used = csv->len + csv->count * sizeof(*csv->fields);
	if (used >= csv->max)
		return csv_fail(csv, -EFBIG, csv->place, "the record is too long");
	if (csv->escaped) {
		*taken = 1;
		return csv_unescape(csv, *text);
	}
	/* A run ends where the record is too long, so that pieces do not move that place. */
	run = len < csv->max - used ? len : csv->max - used;
	if (csv->state == CSV_QUOTED && escape) {
		run = csv_span(text, run, '"', escape, escape, escape, escape);
	} else if (csv->state == CSV_QUOTED) {
		quote = memchr(text, '"', run);
		run = quote ? (size_t)(quote - text) : run;
	} else if (csv->state == CSV_PLAIN) {
		run = escape ? csv_span(text, run, csv->literal ? escape : '"', '\n', '\r',
					csv->separator, escape)
			     : csv_plain(text, run, csv->separator, '\r');
	} else {
		run = 0;
	}
	*taken = run > 0 ? run : 1;
	return run > 0 ? csv_add(csv, text, run) : csv_take(csv, *text);
}

int csv_read(struct csv *csv, const char *text, size_t len, size_t *used)
{
	size_t taken;
	int rc;

	csv_begin(csv);
	for (*used = 0; *used < len; *used += taken) {
		rc = csv_step(csv, text + *used, len - *used, &taken);
		if (rc)
			return rc;
		if (csv->state != CSV_DONE)
			continue;
		if (!csv_is_blank(csv)) {
			*used += taken;
			return 1;
		}
		csv_begin(csv);
	}
	return 0;
}

int csv_end(struct csv *csv)
{
	if (csv->state == CSV_QUOTED)
		return csv_fail(csv, -EINVAL, csv->fields[csv->count - 1].place,
				"the quotes of this field are not closed");
	if (csv->escaped)
		return csv_fail(csv, -EINVAL, csv->place, "the last field ends in an escape");
	if (csv->count == 0 || csv->state == CSV_DONE)
		return 0;
	return csv_read(csv, "\n", 1, &(size_t){0});
}

void csv_restart(struct csv *csv, uint64_t line, bool cr)
{
	csv->state = CSV_DONE;
	csv->escaped = false;
	csv->cr = cr;
	csv->place = (struct csv_place){line, 1};
	csv->why = NULL;
}

struct csv_place csv_next(const struct csv *csv)
{
	return csv->count > 0 && csv->state != CSV_DONE ? csv->fields[0].place : csv->place;
}
