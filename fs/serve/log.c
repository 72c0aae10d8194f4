/* SPDX-License-Identifier: MIT */
/* The log: standard error in the foreground, syslog otherwise; with hostile characters as %XX. */
#include "fs/fs.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "lib/system/connector.h"
#include "lib/utf8.h"

enum { LOG_LINE = 8192 }; /* bytes of a message; the rest is cut */

/* Set by fs_log_init, in the main thread and then in the one that answers the first request, while
 * threads of the store may log. */
static atomic_bool into_syslog;
static _Atomic(enum wcs_log_level) highest = WCS_LOG_INFO;

void fs_log_init(bool to_syslog, bool debug)
{
	atomic_store(&highest, debug ? WCS_LOG_DEBUG : WCS_LOG_INFO);
	atomic_store(&into_syslog, to_syslog);
}

/* syslog(3) would connect by itself, which this process may not. */
static pthread_mutex_t syslog_lock = PTHREAD_MUTEX_INITIALIZER;
static int syslog_fd = -1; /* Lock: syslog_lock, as of the next */
static bool syslog_stream;

/* Sends a message, with a new connection if the old one has ended. */
static void log_send(const char *message, size_t len)
{
	for (int tries = 0; tries < 2; tries++) {
		if (syslog_fd < 0)
			syslog_fd = connector_syslog(&syslog_stream);
		if (syslog_fd < 0)
			return;
		if (send(syslog_fd, message, len + syslog_stream, MSG_NOSIGNAL) >= 0)
			return;
		close(syslog_fd);
		syslog_fd = -1;
	}
}

static void log_to_syslog(int priority, const char *text)
{
	char message[LOG_LINE], stamp[32] = "";
	time_t now = time(NULL);
	struct tm tm;
	int len;

	if (localtime_r(&now, &tm))
		strftime(stamp, sizeof(stamp), "%b %e %T", &tm);
	len = snprintf(message, sizeof(message), "<%d>%s rowfs[%d]: %s", LOG_DAEMON | priority,
		       stamp, (int)getpid(), text);
	if (len < 0)
		return;
	pthread_mutex_lock(&syslog_lock);
	log_send(message, (size_t)len < sizeof(message) ? (size_t)len : sizeof(message) - 1);
	pthread_mutex_unlock(&syslog_lock);
}

void fs_log(void *ctx, enum wcs_log_level level, const char *text)
{
	static const int priorities[] = {LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG};
	static const char *const names[] = {"error", "warning", "info", "debug"};

	char safe[LOG_LINE];

	(void)ctx;
	if (level > atomic_load(&highest))
		return;
	utf8_safe_copy(text, safe, sizeof(safe));
	if (atomic_load(&into_syslog))
		log_to_syslog(priorities[level], safe);
	else
		fprintf(stderr, "rowfs: %s: %s\n", names[level], safe);
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
