/* SPDX-License-Identifier: MIT */
/* Reads CSV as RFC 4180 has it, or with another separator and escapes, in pieces: records of fields
 * of any bytes. */
#ifndef CSV_H
#define CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where a field begins: line from 1, column in characters from 1. */
struct csv_place {
	uint64_t line;
	uint64_t column;
};

struct csv_field {
	size_t start, len; /* in csv->bytes */
	struct csv_place place;
	bool quoted; /* or it has an escape */
	bool null;   /* an escape says so; it has no bytes */
};

/* The caller sets max, separator, escape, literal and place (1, 1), and frees bytes and fields at
 * the end; all else is zero at first. */
struct csv {
	size_t max;	/* bytes of a record */
	char separator; /* of fields */
	char escape;	/* begins an escape, as a backslash; 0: no byte does */
	bool literal;	/* with an escape: quotes are ordinary bytes */
	int state;
	bool escaped;		/* the last byte was that of an escape */
	bool cr;		/* the last byte was a CR that ended a line */
	struct csv_place place; /* of the next byte */
	/* The record: complete when csv_read or csv_end returned 1, valid until the next call. */
	char *bytes;
	size_t len, room;
	struct csv_field *fields;
	size_t count, fields_room;
	const char *why; /* the reason and the place */
	struct csv_place wrong;
};

/* Reads bytes up to the end of a record; *used: how many. 1: a record is complete; 0: all bytes are
 * used; -EINVAL, -EFBIG, -ENOMEM: why and wrong are set. Empty lines are no records. */
int csv_read(struct csv *csv, const char *text, size_t len, size_t *used);
/* Ends the text: the last record may lack its newline. Returns as csv_read. */
int csv_end(struct csv *csv);
/* Forgets the record that is not complete and any fault: the next byte begins a line. cr: the byte
 * before it is a CR. */
void csv_restart(struct csv *csv, uint64_t line, bool cr);
/* The place of the record that is not complete yet. */
struct csv_place csv_next(const struct csv *csv);

/* The number of bytes before the first quote, newline, separator or other byte. */
size_t csv_plain(const char *text, size_t len, char separator, char other);

#endif
