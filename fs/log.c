/* SPDX-License-Identifier: MIT */
/* The log: standard error in the foreground, syslog otherwise. */
#include "fs/fs.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>

/* Set by fs_log_init, in the main thread and then in the one that answers the first request, while
 * threads of the store may log. */
static atomic_bool into_syslog;
static _Atomic(enum wcs_log_level) highest = WCS_LOG_INFO;

void fs_log_init(bool to_syslog, bool debug)
{
	if (to_syslog)
		openlog("rowfs", LOG_PID, LOG_DAEMON);
	atomic_store(&highest, debug ? WCS_LOG_DEBUG : WCS_LOG_INFO);
	atomic_store(&into_syslog, to_syslog);
}

void fs_log(void *ctx, enum wcs_log_level level, const char *text)
{
	static const int priorities[] = {LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG};
	static const char *const names[] = {"error", "warning", "info", "debug"};

	(void)ctx;
	if (level > atomic_load(&highest))
		return;
	if (atomic_load(&into_syslog))
		syslog(priorities[level], "%s", text);
	else
		fprintf(stderr, "rowfs: %s: %s\n", names[level], text);
}

/* libfuse composes some lines of several messages. */
static pthread_mutex_t line_lock = PTHREAD_MUTEX_INITIALIZER;
static char line[512]; /* the incomplete line. Lock: line_lock */

void fs_log_fuse(enum fuse_log_level level, const char *format, va_list args)
{
	size_t len;

	pthread_mutex_lock(&line_lock);
	len = strlen(line);
	vsnprintf(line + len, sizeof(line) - len, format, args);
	len = strcspn(line, "\n");
	if (line[len] == '\n' || len + 1 == sizeof(line)) {
		line[len] = 0;
		fs_log(NULL, level <= FUSE_LOG_ERR ? WCS_LOG_ERROR : WCS_LOG_INFO, line);
		line[0] = 0;
	}
	pthread_mutex_unlock(&line_lock);
}
