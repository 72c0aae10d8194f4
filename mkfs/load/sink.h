/* SPDX-License-Identifier: MIT */
/*
 * Where rowfs-load puts its lines: a store, or a directory of a mount. Lines of row JSON, of
 * {"table":T} and of schemas.
 */
#ifndef SINK_H
#define SINK_H

#include <stdint.h>

#include "mkfs/program.h"

struct mounted;

struct sink {
	const struct sink_kind *kind;
	uint64_t lines; /* taken before the present call; a failed line's number counts on */
	uint64_t rows;	/* applied so far */
	char table[WCS_TABLE_NAME_MAX + 1]; /* that a line named last; empty: none */
	size_t line_max;		    /* bytes of a line */
	/* Set by what fails. */
	uint64_t failed; /* number of the bad line, from 1; 0: none in particular */
	char why[512];	 /* what is wrong */
};

struct sink_kind {
	/* The next lines, whole; the last of all may be without a newline. Applied when it returns;
	 * where it fails, those before the failed line are, and nothing more may be given. */
	int (*write)(struct sink *sink, const char *text, size_t len);
	/* Returns when all that was applied survives a power cut. Sets why only. */
	int (*sync)(struct sink *sink);
	/* Cells that were written so far, into a mount also by others. */
	uint64_t (*cells)(struct sink *sink);
	/* Has the table the family? -ENOENT: no, and why says which it has. */
	int (*family)(struct sink *sink, const char *table, const char *family);
	void (*close)(struct sink *sink);
};

/* Opens a store, or a directory of a mount. PROGRAM_FAILED: it has printed why. */
int sink_store_open(const struct program *program, const char *path, struct sink **sink);
int sink_mount_open(const struct program *program, const struct mounted *mounted,
		    struct sink **sink);

/* Fills why, printf-like; failed stays as it is. Returns error. */
int sink_fail(struct sink *sink, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Ends why with the number of lines applied. What a mount says of that is of one open file: it
 * goes. */
void sink_applied(struct sink *sink);

/* The line has no meaning until a table is named. */
#define SINK_NO_TABLE "a row, but no line {\"table\": NAME} came before it"

/* The end of the message that the table of --csv is missing. */
#define SINK_CREATE "; --create makes it"

#endif
