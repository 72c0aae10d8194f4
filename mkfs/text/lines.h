/* SPDX-License-Identifier: MIT */
/* Reads a file in pieces of whole lines, in memory that the longest line decides. */
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
	bool pieces;	   /* lines_next returns any 4 bytes or more, for lines_mark */
	bool ended;
};

/* 1: the next lines, at least one, good until the next call; only the last of the file may be
 * without a newline. 0: the end; -EFBIG: a line is longer than max; or what read(2) gave, also
 * -EINTR. */
int lines_next(struct lines *lines, const char **text, size_t *len);

/* The bytes of a byte order mark at the start of an input, which some programs put before UTF-8.
 * -EILSEQ: it is UTF-16 or UTF-32, with a mark or with ASCII in its first 4 bytes; *why, which is
 * static, says so. */
int lines_mark(const char *text, size_t len, const char **why);

#endif
