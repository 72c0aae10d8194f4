/* SPDX-License-Identifier: MIT */
/* The message of a failed sink. */
#include "mkfs/load/sink.h"

#include <stdarg.h>
#include <stdio.h>

int sink_fail(struct sink *sink, int rc, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(sink->why, sizeof(sink->why), format, args);
	va_end(args);
	return rc;
}
