/* SPDX-License-Identifier: MIT */
/* The log: standard error in the foreground, syslog otherwise. */
#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>

static bool to_syslog;
static enum wcs_log_level highest = WCS_LOG_INFO;

void log_init(bool syslog_too, bool debug)
{
	to_syslog = syslog_too;
	highest = debug ? WCS_LOG_DEBUG : WCS_LOG_INFO;
	if (to_syslog)
		openlog("rowfs", LOG_PID, LOG_DAEMON);
}

void fs_log(void *ctx, enum wcs_log_level level, const char *text)
{
	static const int priorities[] = {LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG};
	static const char *const names[] = {"error", "warning", "info", "debug"};

	(void)ctx;
	if (level > highest)
		return;
	if (to_syslog)
		syslog(priorities[level], "%s", text);
	else
		fprintf(stderr, "rowfs: %s: %s\n", names[level], text);
}

void log_fuse(enum fuse_log_level level, const char *format, va_list args)
{
	char text[512];

	vsnprintf(text, sizeof(text), format, args);
	text[strcspn(text, "\n")] = 0;
	fs_log(NULL, level <= FUSE_LOG_ERR ? WCS_LOG_ERROR : WCS_LOG_INFO, text);
}
