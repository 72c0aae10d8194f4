/* SPDX-License-Identifier: MIT */
/*
 * Tells rows from other lines, for a mount. A line is a row unless its object has "table",
 * "version" or "tables"; a line is parsed only if its text may have one of these names.
 */
#include "mkfs/load/sink_run.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

size_t sink_run_line(const char *text, size_t len)
{
	const char *newline = memchr(text, '\n', len);

	return newline ? (size_t)(newline - text) : len;
}

static bool sink_run_has(const char *text, size_t len, const char *what)
{
	return memmem(text, len, what, strlen(what)) != NULL;
}

struct wcs_line *sink_run_other(const char *text, size_t len)
{
	struct wcs_line *line;

	if (!sink_run_has(text, len, "\"table") && !sink_run_has(text, len, "\"version") &&
	    !sink_run_has(text, len, "\\u"))
		return NULL;
	if (wcs_line_parse(text, len, &line, NULL))
		return NULL;
	if (line->kind != WCS_LINE_ROW)
		return line;
	wcs_line_free(line);
	return NULL;
}

uint64_t sink_run_pass(struct sink_run *run, uint64_t lines)
{
	uint64_t rows = 0;

	for (; lines > 0 && run->lines > 0; lines--, run->lines--, run->first++) {
		size_t n = sink_run_line(run->text, run->len);
		struct wcs_line *other = sink_run_other(run->text, n);

		rows += strspn(run->text, " \t\r") < n && !other;
		wcs_line_free(other);
		n += n < run->len ? 1 : 0;
		run->text += n;
		run->len -= n;
	}
	return rows;
}

uint64_t sink_run_ended(const struct sink_run *run, size_t len, size_t *rest)
{
	const char *at = run->text, *end = run->text + len, *newline;
	uint64_t lines = 0;

	for (; (newline = memchr(at, '\n', (size_t)(end - at))) != NULL; lines++)
		at = newline + 1;
	while (at < end && strchr(" \t\r", *at))
		at++;
	*rest = (size_t)(end - at);
	return lines;
}

int sink_run_put(int fd, const char *text, size_t len, size_t *taken)
{
	while (len > 0) {
		ssize_t put = write(fd, text, len);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		text += put;
		len -= (size_t)put;
		*taken += (size_t)put;
	}
	return 0;
}

bool sink_run_is_limit(int fd)
{
	struct rlimit limit;
	off_t at = lseek(fd, 0, SEEK_CUR);

	return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && at >= 0 &&
	       (uint64_t)at >= limit.rlim_cur;
}
