/* SPDX-License-Identifier: MIT */
/*
 * Reads lines of a file. The buffer grows only when a line does not fit, and no byte is
 * searched twice for a newline.
 */
#include "mkfs/text/lines.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/grow.h"

#define LINES_ROOM (1u << 20)

#define LINES_REFUSAL(encoding)                                                                    \
	"this is " encoding "; iconv -f " encoding " -t UTF-8 makes UTF-8 of it, which can be "    \
	"read"

/* The bytes of a byte order mark at the start of an input. -EILSEQ: it is UTF-16 or UTF-32, with a
 * mark or with ASCII in its first 4 bytes; *why says so. */
static int lines_mark(const char *text, size_t len, const char **why)
{
	const char *found = NULL;

	if (len >= 4 && !text[2] && !text[3])
		found = LINES_REFUSAL("UTF-32LE");
	else if (len >= 4 && !text[0] && !text[1])
		found = LINES_REFUSAL("UTF-32BE");
	else if ((len >= 2 && memcmp(text, "\xff\xfe", 2) == 0) ||
		 (len >= 4 && !text[1] && !text[3]))
		found = LINES_REFUSAL("UTF-16LE");
	else if ((len >= 2 && memcmp(text, "\xfe\xff", 2) == 0) ||
		 (len >= 4 && !text[0] && !text[2]))
		found = LINES_REFUSAL("UTF-16BE");
	if (found) {
		*why = found;
		return -EILSEQ;
	}
	return len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

int lines_next(struct lines *lines, const char **text, size_t *len)
{
	size_t searched = 0, room;
	ssize_t got;

	for (;;) {
		const char *start = lines->buffer ? lines->buffer + lines->start : NULL;
		const char *newline = NULL;
		size_t have = lines->end - lines->start;

		if (have > searched)
			newline = memrchr(start + searched, '\n', have - searched);
		searched = have;
		if (!lines->begun && (have > 3 || lines->ended)) {
			int mark = lines_mark(start, have, &lines->why);

			if (mark < 0)
				return mark;
			lines->start += (size_t)mark;
			lines->begun = true;
			searched = 0;
			continue;
		}
		if (lines->begun && have > 0 && (newline || lines->ended || lines->pieces)) {
			*text = start;
			*len = newline && !lines->pieces ? (size_t)(newline + 1 - start) : have;
			lines->start += *len;
			return 1;
		}
		if (lines->ended)
			return 0;
		if (lines->start > 0)
			memmove(lines->buffer, start, have);
		lines->start = 0;
		lines->end = have;
		if (have >= lines->max)
			return -EFBIG;
		if (grow(&lines->buffer, &lines->room, have + 1, LINES_ROOM, 1))
			return -ENOMEM;
		room = lines->room < lines->max ? lines->room : lines->max;
		got = read(lines->fd, lines->buffer + have, room - have);
		if (got < 0)
			return -errno;
		lines->ended = got == 0;
		lines->end += (size_t)got;
	}
}

const char *lines_fault(struct lines *lines, int rc)
{
	if (rc == -EILSEQ)
		return lines->why;
	if (rc != -EFBIG)
		return strerror(-rc);
	snprintf(lines->text, sizeof(lines->text), "the line is longer than %zu MiB",
		 lines->max >> 20);
	return lines->text;
}
