/* SPDX-License-Identifier: MIT */
/* The message of a failed sink. */
#include "mkfs/load/sink.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int sink_fail(struct sink *sink, int rc, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(sink->why, sizeof(sink->why), format, args);
	va_end(args);
	return rc;
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
