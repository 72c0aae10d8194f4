/* SPDX-License-Identifier: MIT */
/*
 * Reads CSV byte by byte. A record ends with LF or CR LF; a CR elsewhere is a byte of its field. A
 * field in quotes may hold any bytes, a quote as two. A quote within a field without quotes is an
 * error, as are bytes behind the closing quote: programs disagree about such files.
 */
#include "mkfs/text/csv.h"

#include <errno.h>
#include <stdlib.h>

#include "lib/grow.h"

enum {
	CSV_DONE,     /* the record is complete, or there is none yet */
	CSV_FIELD,    /* before a field */
	CSV_PLAIN,    /* in a field without quotes */
	CSV_QUOTED,   /* in a field with quotes */
	CSV_QUOTE,    /* behind a quote in it: the end, or the first of two */
	CSV_QUOTE_CR, /* behind that and a CR */
};

static int csv_fail(struct csv *csv, int rc, struct csv_place at, const char *why)
{
	csv->why = why;
	csv->wrong = at;
	return rc;
}

/* Room for one byte, and for one field. */
static int csv_grow(struct csv *csv)
{
	if (grow(&csv->bytes, &csv->room, csv->len + 1, 4096, 1) ||
	    grow(&csv->fields, &csv->fields_room, csv->count + 1, 64, sizeof(*csv->fields)))
		return csv_fail(csv, -ENOMEM, csv->place, "no memory");
	return 0;
}

static void csv_field_begin(struct csv *csv)
{
	csv->fields[csv->count++] = (struct csv_field){.start = csv->len, .place = csv->place};
}

static void csv_byte(struct csv *csv, char byte)
{
	csv->bytes[csv->len++] = byte;
	csv->fields[csv->count - 1].len++;
}

/* The end of a record, whose last field has none of the CR before the LF. */
static void csv_record_end(struct csv *csv)
{
	struct csv_field *last = &csv->fields[csv->count - 1];

	if (csv->state == CSV_PLAIN && last->len > 0 && csv->bytes[csv->len - 1] == '\r')
		last->len--;
	csv->state = CSV_DONE;
}

/* Is the record an empty line? */
static bool csv_is_blank(const struct csv *csv)
{
	return csv->count == 1 && csv->fields[0].len == 0 && !csv->fields[0].quoted;
}

static int csv_take(struct csv *csv, char byte)
{
	if (csv->state == CSV_QUOTED) {
		if (byte == '"')
			csv->state = CSV_QUOTE;
		else
			csv_byte(csv, byte);
		return 0;
	}
	if (csv->state == CSV_QUOTE || csv->state == CSV_QUOTE_CR) {
		if (byte == '\n') {
			csv_record_end(csv);
		} else if (csv->state == CSV_QUOTE && byte == '"') {
			csv_byte(csv, byte);
			csv->state = CSV_QUOTED;
		} else if (csv->state == CSV_QUOTE && byte == csv->separator) {
			csv->state = CSV_FIELD;
		} else if (csv->state == CSV_QUOTE && byte == '\r') {
			csv->state = CSV_QUOTE_CR;
		} else {
			return csv_fail(
				csv, -EINVAL, csv->place,
				"a field in quotes goes on behind them; a quote in it is two");
		}
		return 0;
	}
	if (csv->state == CSV_FIELD) {
		csv_field_begin(csv);
		csv->fields[csv->count - 1].quoted = byte == '"';
		csv->state = byte == '"' ? CSV_QUOTED : CSV_PLAIN;
		if (byte == '"')
			return 0;
	}
	if (byte == '"')
		return csv_fail(csv, -EINVAL, csv->place,
				"a quote in a field that does not begin with one");
	if (byte == '\n')
		csv_record_end(csv);
	else if (byte == csv->separator)
		csv->state = CSV_FIELD;
	else
		csv_byte(csv, byte);
	return 0;
}

static void csv_begin(struct csv *csv)
{
	if (csv->state != CSV_DONE)
		return;
	csv->len = csv->count = 0;
	csv->state = CSV_FIELD;
}

int csv_read(struct csv *csv, const char *text, size_t len, size_t *used)
{
	*used = 0;
	csv_begin(csv);
	while (*used < len) {
		char byte = text[*used];
		int rc = csv_grow(csv);

		if (!rc && csv->len >= csv->max)
			rc = csv_fail(csv, -EFBIG, csv->place, "the record is too long");
		if (!rc)
			rc = csv_take(csv, byte);
		if (rc)
			return rc;
		++*used;
		if (byte == '\n')
			csv->place = (struct csv_place){csv->place.line + 1, 1};
		else if (((unsigned char)byte & 0xc0) != 0x80)
			csv->place.column++;
		if (csv->state != CSV_DONE)
			continue;
		if (!csv_is_blank(csv))
			return 1;
		csv_begin(csv);
	}
	return 0;
}

int csv_end(struct csv *csv)
{
	bool begun = csv->count > 0 && csv->state != CSV_DONE;
	int rc = csv_grow(csv);

	if (rc)
		return rc;
	if (csv->state == CSV_QUOTED)
		return csv_fail(csv, -EINVAL, csv->fields[csv->count - 1].place,
				"the quotes of this field are not closed");
	if (!begun)
		return 0;
	if (csv->state == CSV_FIELD) /* behind a separator */
		csv_field_begin(csv);
	csv_record_end(csv);
	return !csv_is_blank(csv);
}

struct csv_place csv_next(const struct csv *csv)
{
	return csv->count > 0 && csv->state != CSV_DONE ? csv->fields[0].place : csv->place;
}
