/* SPDX-License-Identifier: MIT */
/*
 * Reads CSV by runs of plain bytes. A record ends with LF, CR or CR LF, as for Python's csv. A
 * field in quotes may hold any bytes, a quote as two. A quote within a field without quotes is an
 * error, as are bytes behind the closing quote: programs disagree about such files.
 */
#include "mkfs/text/csv.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/grow.h"
#include "lib/words.h"

enum {
	CSV_DONE,   /* the record is complete, or there is none yet */
	CSV_FIELD,  /* before a field */
	CSV_PLAIN,  /* in a field without quotes */
	CSV_QUOTED, /* in a field with quotes */
	CSV_QUOTE,  /* behind a quote in it: the end, or the first of two */
};

size_t csv_plain(const char *text, size_t len, char separator, char other)
{
	size_t at = 0;

	for (; at + 8 <= len; at += 8) {
		uint64_t word = get_le64((const unsigned char *)text + at);
		uint64_t marks = word_equal(word, '"') | word_equal(word, '\n') |
				 word_equal(word, (unsigned char)separator) |
				 word_equal(word, (unsigned char)other);

		if (marks)
			return at + word_first(marks);
	}
	while (at < len && text[at] != '"' && text[at] != '\n' && text[at] != separator &&
	       text[at] != other)
		at++;
	return at;
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
	return csv->count == 1 && csv->fields[0].len == 0 && !csv->fields[0].quoted;
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

	while (csv->state == CSV_QUOTED && (end = csv_plain(text, len, '\r', '\r')) < len) {
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

/* Adds bytes to the field. */
static int csv_add(struct csv *csv, const char *text, size_t len)
{
	int rc = csv_grow(csv, len);

	if (rc)
		return rc;
	memcpy(csv->bytes + csv->len, text, len);
	csv->len += len;
	csv->fields[csv->count - 1].len += len;
	csv_pass(csv, text, len);
	return 0;
}

/* ---- Records ----------------------------------------------------------------------------- */

/* Takes a byte that ends a run, or one behind a quote. */
static int csv_take(struct csv *csv, char byte)
{
	bool cr = csv->cr;
	int rc;

	csv->cr = false;
	if (csv->state == CSV_QUOTED) {
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
	size_t used = csv->len + csv->count * sizeof(*csv->fields), run;
	int rc = csv_grow(csv, 1);
	const char *quote;

	if (rc)
		return rc;
	if (used >= csv->max)
		return csv_fail(csv, -EFBIG, csv->place, "the record is too long");
	if (csv->state == CSV_FIELD) {
		*taken = *text == '"';
		csv_field_begin(csv, *taken > 0);
		csv->place.column += *taken;
		csv->cr = csv->cr && *taken == 0;
		return 0;
	}
	/* A run ends where the record is too long, so that pieces do not move that place. */
	run = len < csv->max - used ? len : csv->max - used;
	if (csv->state == CSV_QUOTED) {
		quote = memchr(text, '"', run);
		run = quote ? (size_t)(quote - text) : run;
	} else {
		run = csv->state == CSV_PLAIN ? csv_plain(text, run, csv->separator, '\r') : 0;
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
	if (csv->count == 0 || csv->state == CSV_DONE)
		return 0;
	return csv_read(csv, "\n", 1, &(size_t){0});
}

struct csv_place csv_next(const struct csv *csv)
{
	return csv->count > 0 && csv->state != CSV_DONE ? csv->fields[0].place : csv->place;
}
