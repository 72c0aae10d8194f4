/* SPDX-License-Identifier: MIT */
/* Tells a directory of a mount from a store. */
#include "mkfs/load/sink.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "mkfs/mounted.h"

int sink_fail(struct sink *sink, int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(sink->why, sizeof(sink->why), format, args);
	va_end(args);
	return error;
}

void sink_applied(struct sink *sink)
{
	char *end = strstr(sink->why, " applied before it)");
	size_t n;

	if (end) {
		*end = '\0';
		end = strrchr(sink->why, '(');
		if (end)
			*end = '\0';
	}
	n = strlen(sink->why);
	while (n > 0 && sink->why[n - 1] == ' ')
		n--;
	snprintf(sink->why + n, sizeof(sink->why) - n, " (%" PRIu64 " line%s applied before it)",
		 sink->rows, sink->rows == 1 ? "" : "s");
}

int sink_open(const struct program *program, const char *path, struct sink **sink)
{
	struct mounted mounted;
	int exit_code, error = mounted_is_store(path) ? -ENOENT : mounted_find(path, &mounted);

	if (error == -EINVAL)
		return program_fail(
			program, "%s: holds no rows: name the mount, a table, or a directory of it",
			path);
	if (error) /* the store says what is wrong */
		return sink_store_open(program, path, sink);
	exit_code = sink_mount_open(program, &mounted, sink);
	mounted_free(&mounted);
	return exit_code;
}
