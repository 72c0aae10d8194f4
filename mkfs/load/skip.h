/* SPDX-License-Identifier: MIT */
/*
 * Bad records of CSV go to a file, each behind a line "INPUT:LINE: reason", and the load goes on.
 * The text that is not applied yet stays in memory: records behind a bad one are read again from
 * there.
 */
#ifndef SKIP_H
#define SKIP_H

#include <stdio.h>

#include "mkfs/text/csv.h"

struct skip_place {
	size_t at; /* in bytes */
	uint64_t line;
	bool cr; /* the byte before is a CR, whose LF may follow */
};

/* All zero but source: no record is skipped. The owner frees bytes and closes file. */
struct skip {
	FILE *file;	    /* NULL: none */
	const char *source; /* the input, as messages name it */
	char *bytes;	    /* text of the input */
	size_t len, room;
	struct skip_place start; /* of the first record that may not be applied */
	size_t read;		 /* how many bytes csv has read */
	uint64_t count;		 /* of bad records */
};

/* Appends to a file of that name. A negative errno; -EINVAL: the file is the input. */
int skip_open(struct skip *skip, const char *name, int input);
/* Adds text of the input. -ENOMEM. */
int skip_add(struct skip *skip, const char *text, size_t len);
/* The end of the text that can be read: of its last whole line, or of all if the input has ended or
 * the line is longer than a record may be. A bad record is whole then, too. added: the bytes that
 * are new, 0: the input has ended; the bytes between `read` and them are of one line. */
size_t skip_whole(const struct skip *skip, size_t added);
/* Puts the record that begins at `line`, and its fault (column 0: all of the line), into the file,
 * and makes csv go on behind it; one that is no CSV ends with the line of its fault. A failed write
 * is a negative errno. */
int skip_record(struct skip *skip, struct csv *csv, uint64_t line, struct csv_place wrong,
		const char *why);
/* Forgets the text before the record that csv reads. */
void skip_applied(struct skip *skip, const struct csv *csv);

#endif
