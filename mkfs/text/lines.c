/* SPDX-License-Identifier: MIT */
/*
 * Reads whole lines of a file. The buffer grows only when a line does not fit, and no byte is
 * searched twice for a newline.
 */
#include "mkfs/text/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINES_ROOM (256u << 10)

void lines_open(struct lines *lines, int fd, size_t max)
{
	*lines = (struct lines){.fd = fd, .max = max};
}

void lines_close(struct lines *lines)
{
	free(lines->buffer);
}

static int lines_grow(struct lines *lines)
{
	size_t room = lines->room ? lines->room * 2 : LINES_ROOM;
	char *grown = realloc(lines->buffer, room);

	if (!grown)
		return -ENOMEM;
	lines->buffer = grown;
	lines->room = room;
	return 0;
}

/* Reads more text after the present one. */
static int lines_fill(struct lines *lines)
{
	size_t room;
	ssize_t got;
	int rc;

	if (lines->start > 0) {
		memmove(lines->buffer, lines->buffer + lines->start, lines->end - lines->start);
		lines->end -= lines->start;
		lines->start = 0;
	}
	if (lines->end >= lines->max)
		return -EFBIG;
	if (lines->end == lines->room) {
		rc = lines_grow(lines);
		if (rc)
			return rc;
	}
	room = lines->room < lines->max ? lines->room : lines->max;
	got = read(lines->fd, lines->buffer + lines->end, room - lines->end);
	if (got < 0)
		return -errno;
	lines->ended = got == 0;
	lines->end += (size_t)got;
	return 0;
}

/* Behind the last newline of what was read, searched no further back than from `searched` on. */
static size_t lines_whole(const struct lines *lines, size_t searched)
{
	const char *from = lines->buffer + lines->start + searched;
	size_t have = lines->end - lines->start - searched;
	const char *newline = have ? memrchr(from, '\n', have) : NULL;

	return newline ? (size_t)(newline + 1 - (lines->buffer + lines->start)) : 0;
}

int lines_next(struct lines *lines, const char **text, size_t *len)
{
	size_t searched = 0;

	for (;;) {
		size_t whole = lines_whole(lines, searched);
		int rc;

		searched = lines->end - lines->start;
		if (whole == 0 && lines->ended)
			whole = searched;
		if (whole > 0) {
			*text = lines->buffer + lines->start;
			*len = whole;
			lines->start += whole;
			return 1;
		}
		if (lines->ended)
			return 0;
		rc = lines_fill(lines);
		if (rc)
			return rc;
	}
}
