/* SPDX-License-Identifier: MIT */
/* Reads a file in pieces of whole lines, in memory that the longest line decides. A byte order mark
 * at its start, which some programs put before UTF-8, is skipped. */
#ifndef LINES_H
#define LINES_H

#include <stdbool.h>
#include <stddef.h>

/* The caller sets fd and max, and frees buffer at the end; all else is zero at first. */
struct lines {
	int fd;
	size_t max; /* bytes of a line, with its newline */
	char *buffer;
	size_t room;
	size_t start, end; /* text that was read and not yet returned */
	bool pieces;	   /* lines_next returns any bytes, not whole lines */
	bool begun, ended;
	const char *why; /* -EILSEQ */
	char text[64];	 /* of lines_fault */
};

/* 1: the next lines, at least one, good until the next call; only the last of the file may be
 * without a newline. 0: the end; -EFBIG: a line is longer than max; -EILSEQ: the file is UTF-16 or
 * UTF-32; or what read(2) gave, also -EINTR. */
int lines_next(struct lines *lines, const char **text, size_t *len);
/* The reason of such an error. */
const char *lines_fault(struct lines *lines, int rc);

#endif
